//! Tables of labels and values. Whatever is in them may come from others, so nothing is shown that a terminal obeys.

use recast_pack::text::shown;

/// A short report shows at most this many rows of a list: they fit a terminal of 24 lines.
const MOST_LISTED: usize = 18;

/// Lines of a label and a text, aligned.
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Row>);

#[derive(Debug)]
struct Row {
    label: String,
    lines: Vec<String>,
    /// Whether only the whole report has it.
    is_detail: bool,
}

impl Row {
    fn new<T: AsRef<str>>(
        label: &str,
        lines: impl IntoIterator<Item = T>,
        is_detail: bool,
    ) -> Self {
        let lines = lines.into_iter().map(|line| shown(line.as_ref())).collect();
        Self { label: shown(label), lines, is_detail }
    }
}

impl Table {
    /// Adds a row.
    pub(crate) fn row(&mut self, label: impl AsRef<str>, text: impl AsRef<str>) -> &mut Self {
        self.lines(label, [text])
    }

    /// Adds a row of several lines.
    pub(crate) fn lines<T: AsRef<str>>(
        &mut self,
        label: impl AsRef<str>,
        lines: impl IntoIterator<Item = T>,
    ) -> &mut Self {
        self.0.push(Row::new(label.as_ref(), lines, false));
        self
    }

    /// Adds a row that only the whole report has.
    pub(crate) fn detail(&mut self, label: impl AsRef<str>, text: impl AsRef<str>) -> &mut Self {
        self.detailed_lines(label, [text])
    }

    /// Adds a row of several lines that only the whole report has.
    pub(crate) fn detailed_lines<T: AsRef<str>>(
        &mut self,
        label: impl AsRef<str>,
        lines: impl IntoIterator<Item = T>,
    ) -> &mut Self {
        self.0.push(Row::new(label.as_ref(), lines, true));
        self
    }

    /// Adds a row for each of several things. If a short report has no room for all, they are details, and a row says so.
    pub(crate) fn list(&mut self, rows: impl ExactSizeIterator<Item = (String, String)>) {
        let number = rows.len();
        let is_detail = number > MOST_LISTED;
        self.0.extend(rows.map(|(label, text)| Row::new(&label, [text], is_detail)));
        if is_detail {
            self.row("", format!("-v lists all {number}"));
        }
    }

    /// Labels and lines, details too.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.0.iter().map(|row| (row.label.as_str(), row.lines.as_slice()))
    }

    /// The table as lines, with or without details.
    pub(crate) fn text(&self, with_details: bool) -> String {
        let rows = || self.0.iter().filter(|row| with_details || !row.is_detail);
        let width = rows().map(|row| row.label.chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        for Row { label, lines, .. } in rows() {
            let mut lines = lines.iter().map(String::as_str);
            let first = lines.next().unwrap_or_default();
            text.push_str(format!("{label:width$}  {first}").trim_end());
            text.push('\n');
            for line in lines {
                text.push_str(&" ".repeat(width + 2));
                text.push_str(line);
                text.push('\n');
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_and_have_details_if_they_are_wanted() {
        let mut table = Table::default();
        table.row("a", "1").detail("longest", "4").lines("long", ["2", "3"]);
        assert_eq!(table.text(false), "a     1\nlong  2\n      3\n");
        assert_eq!(table.text(true), "a        1\nlongest  4\nlong     2\n         3\n");
    }

    #[test]
    fn nothing_of_others_ends_a_line_or_reaches_a_terminal() {
        let mut table = Table::default();
        table.row("a\nb", "1\r2\u{1b}[2J").detail("\u{202e}", "\u{9b}");
        table.list([("x\u{7}".to_owned(), "\u{7f}".to_owned())].into_iter());
        let text = table.text(true);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(!text.replace('\n', "").contains(recast_pack::text::is_hidden), "{text}");
    }
}

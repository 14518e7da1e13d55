//! Tables of labels and values.

/// A short report shows at most this many rows of a list.
const MOST_LISTED: usize = 6;

/// Lines of a label and a text, aligned.
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Row>);

#[derive(Debug)]
struct Row {
    label: String,
    text: String,
    /// Whether only the whole report has it.
    is_detail: bool,
}

impl Table {
    /// Adds a row.
    pub(crate) fn row(&mut self, label: impl Into<String>, text: impl Into<String>) -> &mut Self {
        self.0.push(Row { label: label.into(), text: text.into(), is_detail: false });
        self
    }

    /// Adds a row that only the whole report has.
    pub(crate) fn detail(
        &mut self,
        label: impl Into<String>,
        text: impl Into<String>,
    ) -> &mut Self {
        self.0.push(Row { label: label.into(), text: text.into(), is_detail: true });
        self
    }

    /// Adds a row for each of several things. If a short report has no room for all, they are details.
    pub(crate) fn list(&mut self, rows: Vec<(String, String)>) {
        let is_detail = rows.len() > MOST_LISTED;
        self.0.extend(rows.into_iter().map(|(label, text)| Row { label, text, is_detail }));
    }

    /// Labels and texts, details too.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|row| (row.label.as_str(), row.text.as_str()))
    }

    /// The table as lines, with or without details.
    pub(crate) fn text(&self, with_details: bool) -> String {
        let shown = || self.0.iter().filter(|row| with_details || !row.is_detail);
        let width = shown().map(|row| row.label.chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        for Row { label, text: value, .. } in shown() {
            let mut lines = value.lines();
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
        table.row("a", "1").detail("longest", "4").row("long", "2\n3");
        assert_eq!(table.text(false), "a     1\nlong  2\n      3\n");
        assert_eq!(table.text(true), "a        1\nlongest  4\nlong     2\n         3\n");
    }
}

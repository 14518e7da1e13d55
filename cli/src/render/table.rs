//! Tables of labels and values.

use std::fmt::Display;
use std::io::Write as _;

use anyhow::Result;
use serde::Serialize;

use crate::stream::standard_output;

/// Prints a report: as JSON if that is asked for, else for people unless they want quiet.
pub(crate) fn print<T: Display>(
    report: &impl Serialize,
    json: bool,
    quiet: bool,
    to_text: impl FnOnce() -> T,
) -> Result<()> {
    let mut stdout = standard_output();
    if json {
        writeln!(stdout, "{}", serde_json::to_string_pretty(report)?)?;
    } else if !quiet {
        write!(stdout, "{}", to_text())?;
    }
    stdout.flush()?;
    Ok(())
}

/// Lines of a label and a text, aligned.
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<(String, String)>);

impl Table {
    pub(crate) fn row(&mut self, label: impl Into<String>, text: impl Into<String>) -> &mut Self {
        self.0.push((label.into(), text.into()));
        self
    }

    /// Labels and texts.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(label, text)| (label.as_str(), text.as_str()))
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = self.0.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
        for (label, text) in &self.0 {
            let mut lines = text.lines();
            writeln!(f, "{label:width$}  {}", lines.next().unwrap_or_default())?;
            for line in lines {
                writeln!(f, "{:width$}  {line}", "")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned() {
        let mut table = Table::default();
        table.row("a", "1").row("long", "2\n3");
        assert_eq!(table.to_string(), "a     1\nlong  2\n      3\n");
    }
}

//! Tables of labels and values, and numbers in them.

use std::fmt::{Display, Write};
use std::io::Write as _;

use anyhow::Result;
use serde_json::Value;

/// Prints a report: as JSON if that is asked for, else for people unless they want quiet.
pub(crate) fn print<T: Display>(
    json: bool,
    quiet: bool,
    to_json: impl FnOnce() -> Value,
    to_text: impl FnOnce() -> T,
) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    if json {
        writeln!(stdout, "{:#}", to_json())?;
    } else if !quiet {
        write!(stdout, "{}", to_text())?;
    }
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

/// A number of bytes, in the unit that leaves one to four digits before the point.
pub(crate) fn bytes(count: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut count = count;
    let mut units = UNITS.into_iter();
    let mut unit = units.next().unwrap_or_default();
    for next in units {
        if count < 1024.0 {
            break;
        }
        count /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{count:.0} B") } else { format!("{count:.1} {unit}") }
}

/// A whole number in groups of three digits.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A measured number: four significant digits.
pub(crate) fn measured(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let magnitude = number.abs().log10().floor();
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = if (-5.0..6.0).contains(&magnitude) {
        write!(text, "{number:.*}", (3.0 - magnitude).max(0.0) as usize)
    } else {
        write!(text, "{number:.3e}")
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_readable() {
        assert_eq!(bytes(999.0), "999 B");
        assert_eq!(bytes(64_800.0), "63.3 KiB");
        assert_eq!(count(16_200), "16 200");
        assert_eq!(count(7), "7");
        assert_eq!(measured(0.0), "0");
        assert_eq!(measured(0.004_999_9), "0.005000");
        assert_eq!(measured(1234.5), "1234");
        assert_eq!(measured(1.5e-9), "1.500e-9");
    }

    #[test]
    fn tables_are_aligned() {
        let mut table = Table::default();
        table.row("a", "1").row("long", "2\n3");
        assert_eq!(table.to_string(), "a     1\nlong  2\n      3\n");
    }
}

//! Formats numbers for messages and reports.

use std::fmt::Write;

use recast_kernels::Scalar;
use zarr_recast::fill_value::to_json;

/// Formats a number of bytes in the unit that leaves one to four digits before the point.
#[must_use]
pub fn bytes(count: f64) -> String {
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
#[must_use]
pub fn count(number: u64) -> String {
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

/// A number of arrays.
pub(crate) fn arrays(number: usize) -> String {
    format!("{} array{}", count(number as u64), if number == 1 { "" } else { "s" })
}

/// Arrays with reasons; none without any.
pub(crate) fn with_reasons<'a>(
    arrays: impl Iterator<Item = (&'a String, &'a String)>,
) -> Vec<String> {
    arrays.map(|(array, reason)| format!("{array} ({reason})")).collect()
}

/// A measured number: four significant digits.
#[must_use]
pub fn measured(number: f64) -> String {
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

/// A scale or an offset as in metadata; 1 if there is none.
#[must_use]
pub fn scalar_text(value: Option<Scalar>) -> String {
    value.map_or_else(|| "1".to_owned(), |value| to_json(value).to_string())
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
}

//! Formats numbers, places and the texts of others for messages and reports.

use std::fmt::Write;
use std::ops::Deref;
use std::path::Path;

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

/// How sizes compare, given how many times smaller the new one is.
///
/// ```
/// use recast_pack::text::times_smaller;
/// assert_eq!(times_smaller(4.83), "4.83 times smaller");
/// assert_eq!(times_smaller(0.4), "2.50 times larger");
/// ```
#[must_use]
pub fn times_smaller(ratio: f64) -> String {
    if ratio < 1.0 {
        return format!("{:.2} times larger", 1.0 / ratio);
    }
    format!("{ratio:.2} times smaller")
}

/// A number of things, whose plural ends in *s*.
#[must_use]
pub fn number_of(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", count(number), if number == 1 { "" } else { "s" })
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

/// The bits of a NaN, which tell its kind.
#[must_use]
pub fn nan_pattern(nan: Scalar) -> String {
    let digits = 2 * nan.element_type().size();
    format!("0x{:0digits$x}", nan.bits())
}

/// A place as messages and reports show it: without secrets of a URL.
#[must_use]
pub fn as_shown(path: &Path) -> String {
    let text = path.display().to_string();
    match text.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{}", public(rest)),
        None => text,
    }
}

/// A text, with `…` in place of user, password and query of each URL in it.
#[must_use]
pub fn without_secrets(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        let is_end =
            |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | '<' | '>' | '`');
        let (url, after) = after.split_at(after.find(is_end).unwrap_or(after.len()));
        let (url, after_url) = url.split_at(url.trim_end_matches([':', ',', ';', '.', ')']).len());
        shown.extend([before, "://", &public(url), after_url]);
        rest = after;
    }
    shown.push_str(rest);
    shown
}

/// The part of a URL after `://`, without secrets.
fn public(rest: &str) -> String {
    let end = |text: &str| text.find(['/', '?', '#']).unwrap_or(text.len());
    let at = rest.rfind('@').filter(|&at| {
        let before = &rest[..at];
        // A password may hold a slash, though it should not; a path follows a port.
        let after_colon = before.split_once(':').map_or("", |(_, after)| after);
        let port = &after_colon[..end(after_colon)];
        end(before) == at || port.bytes().any(|byte| !byte.is_ascii_digit())
    });
    let (user, rest) = at.map_or(("", rest), |at| ("…@", &rest[at + 1..]));
    match rest.split_once('?') {
        Some((rest, _)) => format!("{user}{rest}?…"),
        None => format!("{user}{rest}"),
    }
}

/// Whether a character changes the state of a terminal, or the places of the characters around it.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text on one line, in which characters that a terminal would obey are written as escapes.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// JSON or TOML with `\uXXXX` in place of each character that [`is_hidden`] but line breaks, which stand between values only.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && c != '\n' {
            shown.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A text; a long one is cut.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The first names of a list, and `…` if there are more.
pub(crate) fn first_of<T: Deref<Target = str>>(names: &[T], most: usize) -> String {
    let more = if names.len() > most { " …" } else { "" };
    let names: Vec<&str> = names.iter().take(most).map(|name| &**name).collect();
    format!("{}{more}", names.join(", "))
}

/// A text of others, such as an error that quotes a server, as messages and reports show it.
#[must_use]
pub fn shown(text: &str) -> String {
    visible(&without_secrets(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_secrets() {
        for (url, shown) in [
            ("http://u:p@host:80/a/b?token=s", "http://…@host:80/a/b?…"),
            ("https://host/a.zarr", "https://host/a.zarr"),
            ("https://host:8080/a@1/b", "https://host:8080/a@1/b"),
            ("http://u:p/w@host/a", "http://…@host/a"),
            ("http://u:p@w?x@host/a?k", "http://…@host/a?…"),
            ("http://token@host", "http://…@host"),
            ("s3://bucket/a#b", "s3://bucket/a#b"),
            ("dir/a?b@c", "dir/a?b@c"),
        ] {
            assert_eq!(as_shown(Path::new(url)), shown);
            let text = format!("{url}: chunk [0] ({url}), \"{url}\"");
            assert_eq!(
                without_secrets(&text),
                format!("{shown}: chunk [0] ({shown}), \"{shown}\"")
            );
        }
        assert_eq!(as_shown(Path::new("http://host/a?k=a b")), "http://host/a?…");
    }

    #[test]
    fn nothing_hidden_is_shown() {
        let all: String = (0..=0x2_ffff).filter_map(char::from_u32).collect();
        let shown = visible(&all);
        assert!(!shown.contains(is_hidden));
        assert_eq!(visible("t2m é 温 \u{1f300}"), "t2m é 温 \u{1f300}");
        assert_eq!(
            visible("a\u{1b}]0;x\u{7}\n\u{9b}b\u{202e}"),
            "a\\u{1b}]0;x\\u{7}\\n\\u{9b}b\\u{202e}"
        );
    }

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

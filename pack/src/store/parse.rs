//! Reads the text of metadata documents.

use serde_json::Value;

/// A document as JSON; null if it is not JSON. NaN and infinities may be bare, as Python's json writes and reads them,
/// and become strings, as which Zarr has them.
pub(crate) fn parse(text: &[u8]) -> Value {
    let mut rest = std::str::from_utf8(text).unwrap_or_default();
    let mut json = String::with_capacity(rest.len());
    while let Some((token, after)) = first_token(rest) {
        match token {
            "NaN" | "Infinity" | "-Infinity" => json.extend(["\"", token, "\""]),
            _ => json.push_str(token),
        }
        rest = after;
    }
    serde_json::from_str(&json).unwrap_or_default()
}

/// The first token of a text, and what is after it: a string, a number or a word, or all that is before the next of these.
fn first_token(text: &str) -> Option<(&str, &str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let first = text.chars().next()?;
    let end = if first == '"' {
        let mut is_escaped = true; // what begins the string does not end it
        text.find(|c| {
            let is_end = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        })
        .map(|quote| quote + 1)
    } else if is_word(first) {
        text.find(|c| !is_word(c))
    } else {
        text.find(|c| c == '"' || is_word(c))
    };
    text.split_at_checked(end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_bare_words_become_strings() {
        let text =
            r#"{"a": NaN, "b": [Infinity,-Infinity], "NaN": "NaN, \"NaN\\", "c": "\\", "d": NaN}"#;
        let expected = json!({"a": "NaN", "b": ["Infinity", "-Infinity"], "NaN": "NaN, \"NaN\\", "c": "\\", "d": "NaN"});
        assert_eq!(parse(text.as_bytes()), expected);
        assert_eq!(parse("[\"µ\", NaN]".as_bytes()), json!(["µ", "NaN"]));
        for invalid in [
            "{\"a\": nan}",
            "[NaN1]",
            "[1NaN]",
            "{\"a: NaN}",
            "",
            "[+Infinity]",
            "{NaN: 1",
            "from 18446744073709551617",
        ] {
            assert_eq!(parse(invalid.as_bytes()), Value::Null, "{invalid}");
        }
        assert_eq!(parse(b"\"\xff\""), Value::Null);
    }
}

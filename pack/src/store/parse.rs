//! Reads the text of metadata documents.

use anyhow::bail;
use recast_kernels::in_default_environment;
use serde_json::Value;

use super::bare;
use crate::error::Result;

/// A document as JSON, or why it is none: other files may have its name.
pub(crate) type Document = serde_json::Result<Value>;

/// The most names and values of a document: each takes a hundred bytes of memory, and documents are copied some times.
const MOST_PARTS: usize = 1 << 21;

/// The most lists and objects inside one another; `serde_json` reads no deeper ones.
const DEEPEST: usize = 127;

/// Reads a document, which may be all attributes. NaN and infinities may be bare, and become strings, as which Zarr has them;
/// attributes stay bare in outputs (see [`bare`]).
///
/// # Errors
/// A number that would change: an integer of more than 64 bits that is no float64 either, or a number beyond float64; too many
/// values, or lists and objects that are too deep inside one another.
pub(crate) fn parse(text: &[u8], is_attributes: bool) -> Result<Document> {
    in_default_environment((text, is_attributes), |(text, is_attributes)| {
        parse_in_default_environment(text, is_attributes)
    })
}

fn parse_in_default_environment(text: &[u8], is_attributes: bool) -> Result<Document> {
    // Some editors begin a file with this mark, and Python's json reads past it.
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let Ok(mut rest) = std::str::from_utf8(text) else { return Ok(serde_json::from_slice(text)) };
    let mut json = String::with_capacity(rest.len());
    let (mut changed, mut string, mut member) = (None, "", "");
    let (mut parts, mut depth) = (0, 0_usize);
    // Where bare numbers are, in quotes.
    let mut bare = Vec::new();
    while let Some((token, after)) = first_token(rest) {
        let problem = problem(token);
        match token {
            _ if bare::is_bare(token) => {
                bare.push(json.len()..json.len() + token.len() + 2);
                json.extend(["\"", token, "\""]);
            }
            // A number in its place shows whether all else is JSON.
            _ if problem.is_some() => json.push('0'),
            _ => json.push_str(token),
        }
        if token.starts_with('"') {
            string = token;
        } else if token.trim_start().starts_with(':') {
            member = string;
        }
        parts += match token.chars().next() {
            Some('"') => 1,
            Some(first) if is_word(first) => 1,
            _ => token.bytes().filter(|byte| b"[{".contains(byte)).count(),
        };
        let mut steps = token.bytes().filter(|_| !token.starts_with('"'));
        let is_too_deep = steps.any(|byte| {
            match byte {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth > DEEPEST
        });
        if is_too_deep {
            bail!(
                "it has lists and objects more than {DEEPEST} levels deep inside one another, which are the most that are read; \
                 make it flatter"
            );
        }
        if parts > MOST_PARTS {
            bail!(
                "it has more than {MOST_PARTS} names and values, which is too many to hold; write less into it"
            );
        }
        changed = changed.or_else(|| Some((problem?, token, member)));
        rest = after;
    }
    let mut document: Document = serde_json::from_str(&json);
    // A name for notes has a NUL, which has no other form in JSON.
    if let Ok(document) = &mut document
        && (!bare.is_empty() || json.contains("\\u0000"))
    {
        let (mut nulls, mut end) = (String::with_capacity(json.len()), 0);
        for place in bare {
            nulls.extend([&json[end..place.start], "null"]);
            end = place.end;
        }
        nulls.push_str(&json[end..]);
        bare::note(document, &serde_json::from_str(&nulls)?, is_attributes)?;
    }
    if let Some((problem, token, member)) = changed.filter(|_| document.is_ok()) {
        let place = if member.is_empty() { String::new() } else { format!("{member}: ") };
        bail!("{place}the number {token} {problem}");
    }
    Ok(document)
}

/// Why a number would change: it is infinite as a float64, or an integer of more than 64 bits that is not a float64, all of whose
/// digits may be there, or the shortest that name it. `None` for any other token.
fn problem(token: &str) -> Option<&'static str> {
    let digits = token.strip_prefix('-').unwrap_or(token);
    let number =
        token.parse::<f64>().ok().filter(|_| digits.starts_with(|c: char| c.is_ascii_digit()))?;
    if number.is_infinite() {
        return Some("is out of range for every type; correct it, or write it as a string");
    }
    let is_integer = digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_kept = !is_integer
        || token.parse::<i64>().is_ok()
        || token.parse::<u64>().is_ok()
        || number.to_string() == token
        || format!("{number:.0}") == token;
    (!is_kept).then_some("has more than 64 bits and would change; write it as a string")
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')
}

/// The first token of a text, and what is after it: a string, a number or a word, or all that is before the next of these.
fn first_token(text: &str) -> Option<(&str, &str)> {
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

    use super::parse as parse_document;
    use super::*;

    fn parse(text: &[u8]) -> Result<Document> {
        parse_document(text, false)
    }

    #[test]
    fn only_bare_words_become_strings() {
        let text =
            r#"{"a": NaN, "b": [Infinity,-Infinity], "NaN": "NaN, \"NaN\\", "c": "\\", "d": NaN}"#;
        let expected = json!({"a": "NaN", "b": ["Infinity", "-Infinity"], "NaN": "NaN, \"NaN\\", "c": "\\", "d": "NaN"});
        assert_eq!(parse(text.as_bytes()).unwrap().unwrap(), expected);
        assert_eq!(parse("\u{feff}[NaN]".as_bytes()).unwrap().unwrap(), json!(["NaN"]));
        assert_eq!(parse("[\"µ\", NaN]".as_bytes()).unwrap().unwrap(), json!(["µ", "NaN"]));
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
            assert!(parse(invalid.as_bytes()).unwrap().is_err(), "{invalid}");
        }
        assert!(parse(b"\"\xff\"").unwrap().is_err());
        assert!(parse(b"1\xff").unwrap().is_err());
    }

    #[test]
    fn a_document_has_a_limited_depth() {
        for (start, end) in [("[", "]"), ("{\"a\": ", "}"), ("[0, ", ", 1]"), ("\n[", " ]")] {
            let text =
                |depth: usize| [start.repeat(depth), "\"]\"".into(), end.repeat(depth)].concat();
            assert!(parse(text(DEEPEST).as_bytes()).unwrap().is_ok(), "{start}");
            for depth in [DEEPEST + 1, 5000, 1_000_000] {
                let error = parse(text(depth).as_bytes()).unwrap_err().to_string();
                assert!(error.contains("more than 127 levels"), "{start}: {error}");
            }
        }
        assert!(parse("[]".repeat(500).as_bytes()).unwrap().is_err());
    }

    #[test]
    fn integers_stay_what_they_are_or_are_refused() {
        let kept = [
            "18446744073709551615",
            "-9223372036854775808",
            "18446744073709551616",
            "100000000000000000000",
            "123456789012345680000",
            "-0",
            "0.12345678901234567890",
            "1e25",
            "\"18446744073709551617\"",
        ];
        for text in kept {
            assert_eq!(
                parse(text.as_bytes()).unwrap().unwrap(),
                serde_json::from_str::<Value>(text).unwrap()
            );
        }
        for text in ["18446744073709551617", "-9223372036854775809", "123456789012345678901"] {
            let error = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("write it as a string"), "{error}");
        }
        for number in ["1e400", "-1.5E+309", "123456789012345678901"] {
            let text =
                format!(r#"{{"a": 1, "b": {{"x: \"y": "z", "valid": [1, {number}], "c": 2}}}}"#);
            let error = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("\"valid\": the number {number} ")), "{error}");
        }
    }
}

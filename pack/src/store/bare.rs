//! NaN and infinities that stand bare in attributes, as Python's json writes and reads them. JSON has no such numbers: here they are
//! texts, and the objects that have them say so, for outputs to have what the input has.

use serde_json::{Map, Value};

use super::names::ZATTRS;

/// A member that no document has: the names of its object's members in which numbers stand bare.
const BARE: &str = "\u{0}bare";

/// The words that are such numbers.
const WORDS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// A word as a text of JSON, which [`settle`] recognises; as it is if it is no such number.
pub(super) fn quoted(word: &str) -> Option<String> {
    WORDS.contains(&word).then(|| format!("\"\\u0000bare {word}\""))
}

/// Turns such texts into those of Zarr, and notes them where they are attributes. Returns whether there are any outside objects.
pub(super) fn settle(value: &mut Value, is_attribute: bool) -> bool {
    match value {
        Value::String(text) => {
            let word = text.strip_prefix(BARE).map(|word| word.trim_start().to_owned());
            word.map(|word| *text = word).is_some()
        }
        Value::Array(values) => {
            values.iter_mut().fold(false, |any, value| settle(value, is_attribute) | any)
        }
        Value::Object(members) => {
            let mut bare = Vec::new();
            for (name, value) in members.iter_mut() {
                let is_attribute = is_attribute || name == "attributes" || name.ends_with(ZATTRS);
                if settle(value, is_attribute) {
                    bare.push(Value::from(name.as_str()));
                }
            }
            if is_attribute && !bare.is_empty() {
                members.insert(BARE.to_owned(), bare.into());
            }
            false
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The text of a document, with bare numbers where they were.
pub(crate) fn text(document: &Map<String, Value>) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(document)?;
    if !text.contains("\\u0000bare") {
        return Ok(text);
    }
    let text = serde_json::to_string_pretty(&Value::Object(bared(document)))?;
    let word = |text: String, word| text.replace(&format!("\"\\u0000bare {word}\""), word);
    Ok(WORDS.into_iter().fold(text, word))
}

/// The same attributes, without what is noted about bare numbers.
pub(crate) fn without_notes(attributes: &Map<String, Value>) -> Map<String, Value> {
    let members = attributes.iter().filter(|(name, _)| *name != BARE);
    let member = |(name, value): (&String, &Value)| {
        let value =
            value.as_object().map_or_else(|| value.clone(), |value| without_notes(value).into());
        (name.clone(), value)
    };
    members.map(member).collect()
}

fn bared(members: &Map<String, Value>) -> Map<String, Value> {
    let bare = members.get(BARE).and_then(Value::as_array);
    let is_bare = |name: &str| bare.is_some_and(|bare| bare.iter().any(|one| one == name));
    let others = members.iter().filter(|(name, _)| *name != BARE);
    others.map(|(name, value)| (name.clone(), in_place(value, is_bare(name)))).collect()
}

fn in_place(value: &Value, is_bare: bool) -> Value {
    match value {
        Value::Object(members) => bared(members).into(),
        Value::Array(values) => values.iter().map(|value| in_place(value, is_bare)).collect(),
        Value::String(word) if is_bare && WORDS.contains(&word.as_str()) => {
            format!("{BARE} {word}").into()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::parse::parse;
    use super::*;

    #[test]
    fn attributes_are_written_as_they_were() {
        let attributes =
            r#"{"a": NaN, "b": ["NaN", 1], "c": {"d": [[-Infinity, 2]], "e": "Infinity"}}"#;
        let found = parse(attributes.as_bytes(), true).unwrap().unwrap();
        let plain =
            json!({"a": "NaN", "b": ["NaN", 1], "c": {"d": [["-Infinity", 2]], "e": "Infinity"}});
        assert_eq!(Value::Object(without_notes(found.as_object().unwrap())), plain);
        let compact = |text: &str| text.split_whitespace().collect::<String>();
        let again = text(found.as_object().unwrap()).unwrap();
        assert_eq!(compact(&again), compact(attributes));
        // What is no attribute is as Zarr has it; attributes inside are as they were.
        for (before, after) in [
            (r#"{"fill_value": NaN}"#, r#"{"fill_value": "NaN"}"#),
            (r#"{"attributes": {"a": NaN}}"#, r#"{"attributes": {"a": NaN}}"#),
            (
                r#"{"x/.zattrs": {"a": [NaN]}, "x/.zarray": {"fill_value": NaN}}"#,
                r#"{"x/.zattrs": {"a": [NaN]}, "x/.zarray": {"fill_value": "NaN"}}"#,
            ),
        ] {
            let found = parse(before.as_bytes(), false).unwrap().unwrap();
            assert_eq!(compact(&text(found.as_object().unwrap()).unwrap()), compact(after));
        }
    }
}

//! NaN and infinities that stand bare in attributes, as Python's json writes and reads them. JSON has no such numbers: here they are
//! texts, and the attributes say which, for outputs to have what the input has.

use std::collections::HashSet;

use anyhow::bail;
use serde_json::{Map, Value};

use super::names::ZATTRS;
use crate::error::Result;

/// The member of attributes that has the JSON pointers of their bare numbers.
const BARE: &str = "\u{0}bare";

/// The words that are such numbers.
const WORDS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

pub(super) fn is_bare(token: &str) -> bool {
    WORDS.contains(&token)
}

/// Notes which texts in the attributes of a document are bare numbers: where `other`, the same document, has null in their place.
/// The document may be attributes itself.
///
/// # Errors
/// Attributes with a member of the note's name.
pub(super) fn note(document: &mut Value, other: &Value, is_attributes: bool) -> Result<()> {
    let mut is_taken = false;
    each_attributes(document, Some(other), is_attributes, &mut |attributes, other| {
        if attributes.contains_key(BARE) {
            is_taken = true;
            return;
        }
        let (mut pointers, mut place) = (Vec::new(), String::new());
        for (name, value) in attributes.iter() {
            let other = other.and_then(|other| other.get(name));
            collect(value, other, &mut place, name, &mut pointers);
        }
        if !pointers.is_empty() {
            attributes.insert(BARE.to_owned(), pointers.into());
        }
    });
    if is_taken {
        bail!("attributes have a member {BARE:?}, which is a name for notes here; rename it");
    }
    Ok(())
}

/// Adds the pointers of a value's texts that are null in the other one.
fn collect(
    value: &Value,
    other: Option<&Value>,
    place: &mut String,
    name: &str,
    pointers: &mut Vec<Value>,
) {
    let length = place.len();
    place.push('/');
    place.push_str(&name.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::String(_) if other.is_some_and(Value::is_null) => {
            pointers.push(place.as_str().into());
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                let other = other.and_then(|other| other.get(index));
                collect(value, other, place, &index.to_string(), pointers);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                let other = other.and_then(|other| other.get(name));
                collect(value, other, place, name, pointers);
            }
        }
        _ => {}
    }
    place.truncate(length);
}

/// A visit of attributes, beside the attributes of another document.
type Visit<'a> = dyn FnMut(&mut Map<String, Value>, Option<&Value>) + 'a;

/// Goes through all attributes of a document of Zarr v2 or v3, also those of consolidated metadata, with those of another one.
fn each_attributes(
    document: &mut Value,
    other: Option<&Value>,
    is_attributes: bool,
    visit: &mut Visit,
) {
    let Some(members) = document.as_object_mut() else { return };
    if is_attributes {
        visit(members, other);
        return;
    }
    let of = |name: &str| other.and_then(|other| other.get(name));
    if let Some(attributes) = members.get_mut("attributes").and_then(Value::as_object_mut) {
        visit(attributes, of("attributes"));
    }
    for name in ["consolidated_metadata", "metadata"] {
        if let Some(Value::Object(nodes)) = members.get_mut(name) {
            for (key, node) in nodes {
                let other = of(name).and_then(|nodes| nodes.get(key));
                if key == "metadata" {
                    let nodes = node.as_object_mut().into_iter().flatten();
                    for (path, node) in nodes {
                        let other = other.and_then(|nodes| nodes.get(path));
                        each_attributes(node, other, false, visit);
                    }
                } else {
                    each_attributes(node, other, key.ends_with(ZATTRS), visit);
                }
            }
        }
    }
}

/// The text of a node's document, with bare numbers where they were.
pub(crate) fn text(document: &Map<String, Value>) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(document)?;
    if !text.contains("\"\\u0000bare\":") {
        return Ok(text);
    }
    // Eight digits that the document has nowhere.
    let taken: HashSet<_> = text.as_bytes().windows(8).filter(|part| is_number(part)).collect();
    let mut marks = (0_u64..).map(|number| format!("{number:08}"));
    let mark = marks.find(|mark| !taken.contains(mark.as_bytes())).unwrap_or_default();
    let mut document = Value::Object(document.clone());
    each_attributes(&mut document, None, false, &mut |attributes, _| {
        let pointers = attributes.remove(BARE);
        let pointers = pointers.iter().filter_map(Value::as_array).flatten();
        let mut all = Value::Object(std::mem::take(attributes));
        for pointer in pointers.filter_map(Value::as_str) {
            match all.pointer_mut(pointer) {
                Some(Value::String(word)) if is_bare(word) => *word = format!("{mark}{word}"),
                _ => {}
            }
        }
        if let Value::Object(all) = all {
            *attributes = all;
        }
    });
    let text = serde_json::to_string_pretty(&document)?;
    let bared = |text: String, word| text.replace(&format!("\"{mark}{word}\""), word);
    Ok(WORDS.into_iter().fold(text, bared))
}

fn is_number(part: &[u8]) -> bool {
    part.iter().all(u8::is_ascii_digit)
}

/// The same attributes, without the notes about bare numbers.
pub(crate) fn without_notes(attributes: &Map<String, Value>) -> Map<String, Value> {
    let members = attributes.iter().filter(|(name, _)| *name != BARE);
    members.map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::parse::parse;
    use super::*;

    fn compact(text: &str) -> String {
        text.split_whitespace().collect()
    }

    #[test]
    fn attributes_are_written_as_they_were() {
        for attributes in [
            r#"{"a": NaN, "b": ["NaN", 1], "c": {"d": [[-Infinity, 2]], "e": "Infinity"}}"#,
            // Texts beside numbers, objects in lists, names with the signs of pointers, marks of outputs in texts.
            r#"{"a": [NaN, "NaN", [["NaN"], NaN]], "b": [{"c": NaN, "d": "NaN"}], "e~/f": {"~1": Infinity}}"#,
            r#"{"00000000NaN": "00000000NaN", "000000010": "00000001NaN", "a": NaN, "b": "\u0000bare NaN"}"#,
            r#"{"attributes": {"a": NaN}, "": [NaN], "metadata": {"x/.zattrs": {"b": "NaN"}}}"#,
        ] {
            let found = parse(attributes.as_bytes(), true).unwrap().unwrap();
            let plain: Map<_, _> = without_notes(found.as_object().unwrap());
            assert!(!Value::from(plain).to_string().contains("\\u0000bare\""), "{attributes}");
            let document = format!(r#"{{"zarr_format": 3, "attributes": {attributes}}}"#);
            let same = parse(document.as_bytes(), false).unwrap().unwrap();
            for found in [json!({"zarr_format": 3, "attributes": found}), same] {
                let again = text(found.as_object().unwrap()).unwrap();
                assert_eq!(compact(&again), compact(&document));
            }
        }
    }

    #[test]
    fn what_is_no_attribute_is_as_zarr_has_it() {
        for (before, after) in [
            (
                r#"{"zarr_format": 3, "fill_value": NaN}"#,
                r#"{"zarr_format": 3, "fill_value": "NaN"}"#,
            ),
            (
                r#"{"zarr_format": 3, "codecs": [{"attributes": NaN}]}"#,
                r#"{"zarr_format": 3, "codecs": [{"attributes": "NaN"}]}"#,
            ),
            (
                r#"{"metadata": {"x/.zattrs": {"a": [NaN]}, "x/.zarray": {"fill_value": NaN}}}"#,
                r#"{"metadata": {"x/.zattrs": {"a": [NaN]}, "x/.zarray": {"fill_value": "NaN"}}}"#,
            ),
            (
                r#"{"zarr_format": 3, "consolidated_metadata": {"metadata": {"x": {"fill_value": NaN, "attributes": {"a": NaN}}}}}"#,
                r#"{"zarr_format": 3, "consolidated_metadata": {"metadata": {"x": {"fill_value": "NaN", "attributes": {"a": NaN}}}}}"#,
            ),
        ] {
            let found = parse(before.as_bytes(), false).unwrap().unwrap();
            assert_eq!(compact(&text(found.as_object().unwrap()).unwrap()), compact(after));
        }
    }

    #[test]
    fn hostile_names_change_nothing_or_are_named() {
        let note = r#"{"a": NaN, "\u0000bare": ["/a"]}"#;
        let error = parse(note.as_bytes(), true).unwrap_err().to_string();
        assert!(error.contains("\\0bare") && error.contains("rename"), "{error}");
        for same in [r#"{"\u0000bareNaN": 1}"#, r#"{"a": "\u0000bareNaN", "b": ["NaN"]}"#] {
            let found = parse(same.as_bytes(), true).unwrap().unwrap();
            let document = json!({"attributes": found});
            let again = text(document.as_object().unwrap()).unwrap();
            assert_eq!(compact(&again), compact(&format!(r#"{{"attributes": {same}}}"#)));
        }
        assert_eq!(parse(b"{\"a\": NaN}", true).unwrap().unwrap()["a"], json!("NaN"));
    }
}

//! Metadata documents of Zarr v3: codecs as objects, dimension names, and their text.

use anyhow::bail;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;

use super::destination::unwritten;
use crate::error::Result;

/// The attribute with the provenance.
pub(crate) const PROVENANCE: &str = "recast";

/// Its member with the grid on which values must be to keep the bound.
pub(crate) const GRID: &str = "grid";

/// Where xarray keeps the names of dimensions in Zarr v2.
pub(crate) const ARRAY_DIMENSIONS: &str = "_ARRAY_DIMENSIONS";

/// Codecs without a configuration as objects, which every reader accepts; zarrs writes bare names. zarr-python wants a
/// configuration of those of numcodecs, even an empty one.
pub(crate) fn as_objects(codecs: &mut Value) {
    for codec in codecs.as_array_mut().into_iter().flatten() {
        if codec.is_string() {
            *codec = json!({"name": codec.take()});
        }
        let is_of_numcodecs = |name: &str| name.starts_with("numcodecs.");
        if codec.get("name").and_then(Value::as_str).is_some_and(is_of_numcodecs)
            && let Some(codec) = codec.as_object_mut()
        {
            codec.entry("configuration").or_insert_with(|| json!({}));
        }
        for inner in ["/configuration/codecs", "/configuration/index_codecs"] {
            if let Some(inner) = codec.pointer_mut(inner) {
                as_objects(inner);
            }
        }
    }
}

/// Moves xarray's attribute of Zarr v2 to its member of Zarr v3.
pub(crate) fn name_dimensions(document: &mut Map<String, Value>) {
    let names = |value: &Value| -> Option<Vec<Value>> {
        let names = value.as_array()?;
        names.iter().all(Value::is_string).then(|| names.clone())
    };
    let rank = document.get("shape").and_then(Value::as_array).map(Vec::len);
    let Some(attributes) = document.get_mut("attributes").and_then(Value::as_object_mut) else {
        return;
    };
    let Some(names) = attributes.get(ARRAY_DIMENSIONS).and_then(names) else { return };
    if Some(names.len()) != rank {
        return;
    }
    attributes.remove(ARRAY_DIMENSIONS);
    if document.get("dimension_names").is_none_or(Value::is_null) {
        document.insert("dimension_names".into(), names.into());
    }
}

/// A document as an object; errors call it `name`.
pub(crate) fn object(document: Value, name: &str) -> Result<Map<String, Value>> {
    match document {
        Value::Object(object) => Ok(object),
        _ => bail!(
            "{name} is not a JSON object; NaN and Infinity are not JSON either, write \"NaN\" and \
             \"Infinity\""
        ),
    }
}

/// The text of a document.
pub(crate) fn text(document: &Map<String, Value>) -> Result<String> {
    let mut text = serde_json::to_string_pretty(document)?;
    text.push('\n');
    Ok(text)
}

pub(crate) fn write_document(place: &Path, document: &Map<String, Value>) -> Result<()> {
    fs::write(place.join("zarr.json"), text(document)?)
        .map_err(|error| unwritten(error.into(), &"zarr.json"))
}

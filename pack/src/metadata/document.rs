//! Metadata documents of Zarr v3.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use recast_kernels::{ElementType, Scalar};
use serde_json::{Map, Value, json};
use zarr_recast::fill_value;
use zarrs::array::ArrayMetadata;
use zarrs::metadata::v3::ArrayMetadataV3;

use crate::error::{Result, unwritten};
use crate::store::bare;
use crate::store::names::ZARR_JSON;
use crate::store::parse::Document;
use crate::text::shortened;

/// The attribute with the provenance.
pub(crate) const PROVENANCE: &str = "recast";
/// Its values that `--missing` named and no attribute of the array.
pub(crate) const MISSING: &str = "missing";

/// Its member with the grid on which values must be to keep the bound.
pub(crate) const GRID: &str = "grid";

/// Where xarray keeps the names of dimensions in Zarr v2.
pub(crate) const ARRAY_DIMENSIONS: &str = "_ARRAY_DIMENSIONS";

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

/// The metadata of an array with elements of a type, its chunks under the keys that Zarr v3 has by default.
pub(crate) fn array_document(
    shape: &[u64],
    element_type: ElementType,
    grid: Value,
    fill: Scalar,
    codecs: Value,
) -> Map<String, Value> {
    with_members([
        ("zarr_format", 3.into()),
        ("node_type", "array".into()),
        ("shape", shape.into()),
        ("data_type", element_type.name().into()),
        ("chunk_grid", grid),
        ("chunk_key_encoding", default_keys()),
        ("fill_value", fill_value::to_json(fill)),
        ("codecs", codecs),
    ])
}

/// An object with these members.
pub(crate) fn with_members<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

/// The keys that chunks have in Zarr v3 by default.
pub(crate) fn default_keys() -> Value {
    json!({"name": "default", "configuration": {"separator": "/"}})
}

/// The name of a codec or a type, which stands alone or has a configuration.
pub(crate) fn name_of(json: &Value) -> &str {
    json.get("name").unwrap_or(json).as_str().unwrap_or_default()
}

/// The values of an attribute: one by itself, or an array of them; netCDF may store one value as an array.
pub(crate) fn values(attribute: Option<&Value>) -> &[Value] {
    match attribute {
        None => &[],
        Some(Value::Array(values)) => values,
        Some(value) => std::slice::from_ref(value),
    }
}

/// A document as an object; errors call it `name`.
pub(crate) fn object(document: Document, name: &str) -> Result<Map<String, Value>> {
    match document {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => bail!("{name} is not a JSON object; correct it, or write the data again"),
        Err(error) => bail!("{name} is not JSON: {error}; correct it, or write the data again"),
    }
}

/// A member that metadata must have: its name, a test of its value, and the valid values in words.
type Mandatory = (&'static str, fn(&Value) -> bool, &'static str);

/// The mandatory members of every node of Zarr v3.
const OF_NODES: [Mandatory; 2] = [
    ("zarr_format", |value| value == 3, "3"),
    ("node_type", |value| value == "array" || value == "group", "\"array\" or \"group\""),
];

/// The mandatory members of an array of Zarr v2 that its metadata as Zarr v3 do not come from.
const OF_V2: [Mandatory; 2] = [
    ("zarr_format", |value| value == 2, "2"),
    ("order", |value| value == "C" || value == "F", "\"C\" or \"F\""),
];

const MANDATORY: [Mandatory; 8] = [
    ("zarr_format", |value| value == 3, "3"),
    ("node_type", |value| value == "array", "\"array\""),
    ("shape", is_shape, "a list of whole numbers from 0 to 2^64 - 1"),
    ("data_type", is_extension, EXTENSION),
    ("chunk_grid", is_extension, EXTENSION),
    ("chunk_key_encoding", is_extension, EXTENSION),
    ("fill_value", |_| true, "a value of the data type"),
    (
        "codecs",
        |value| value.as_array().is_some_and(|codecs| codecs.iter().all(is_extension)),
        "a list of codecs, each a name or an object with a name",
    ),
];

const EXTENSION: &str = "a name, or an object with a name";

fn is_shape(value: &Value) -> bool {
    value.as_array().is_some_and(|extents| extents.iter().all(Value::is_u64))
}

fn is_extension(value: &Value) -> bool {
    let is_configuration = |value: &Value| value.is_null() || value.is_object();
    value.is_string()
        || value.get("name").is_some_and(Value::is_string)
            && value.get("configuration").is_none_or(is_configuration)
}

/// The metadata of an array of Zarr v3.
///
/// # Errors
/// A member that is missing or has an invalid value.
pub(crate) fn array_metadata(document: &Map<String, Value>) -> Result<ArrayMetadata> {
    has_members(document, &MANDATORY)?;
    let metadata = serde_json::from_value::<ArrayMetadataV3>(document.clone().into());
    Ok(metadata.with_context(|| format!("invalid metadata; {WAY_OUT}"))?.into())
}

/// Refuses a document that makes no node of Zarr v3, which readers would pass over or fail at.
pub(crate) fn refuse_no_node(document: &Map<String, Value>) -> Result<()> {
    has_members(document, &OF_NODES)
}

/// Refuses the metadata of an array that are not Zarr v2.
pub(crate) fn refuse_no_v2(document: &Map<String, Value>) -> Result<()> {
    has_members(document, &OF_V2)
}

const WAY_OUT: &str = "correct it, or write the array again";

fn has_members(document: &Map<String, Value>, members: &[Mandatory]) -> Result<()> {
    for (name, may_be, needed) in members {
        match document.get(*name) {
            None => bail!(
                "the metadata have no {name}, which is {needed}; add it, or write the array again"
            ),
            Some(value) if !may_be(value) => {
                let value = shortened(&value.to_string());
                bail!("{name} is {value}, and must be {needed}; {WAY_OUT}");
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// The text of a document.
pub(crate) fn text(document: &Map<String, Value>) -> Result<String> {
    let mut text = bare::text(document)?;
    text.push('\n');
    Ok(text)
}

/// Writes the metadata that make a directory a node.
pub(crate) fn write_document(directory: &Path, document: &Map<String, Value>) -> Result<()> {
    fs::write(directory.join(ZARR_JSON), text(document)?)
        .map_err(|error| unwritten(error.into(), &ZARR_JSON))
}

//! Metadata documents: Zarr v1 and v2 as Zarr v3, dimension names, and their text.

use anyhow::{Context, anyhow};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;
use zarr_recast::Codec;
use zarr_recast::data_type::ByteOrder;
use zarrs::array::ArrayMetadataV2;
use zarrs::convert::array_metadata_v2_to_v3;

use super::destination::unwritten;
use crate::error::Result;

/// The attribute with the provenance.
pub(crate) const PROVENANCE: &str = "recast";

/// Its member with the grid on which values must be to keep the bound.
pub(crate) const GRID: &str = "grid";

/// Where xarray keeps the names of dimensions in Zarr v2.
pub(crate) const ARRAY_DIMENSIONS: &str = "_ARRAY_DIMENSIONS";

/// Codecs without a configuration as objects, which every reader accepts; zarrs writes bare names.
pub(crate) fn as_objects(codecs: &mut Value) {
    for codec in codecs.as_array_mut().into_iter().flatten() {
        if codec.is_string() {
            *codec = json!({"name": codec.take()});
        }
        for inner in ["/configuration/codecs", "/configuration/index_codecs"] {
            if let Some(inner) = codec.pointer_mut(inner) {
                as_objects(inner);
            }
        }
    }
}

/// The metadata of Zarr v2 as Zarr v3. zarrs would round the numbers of value codecs, so these are converted
/// here.
pub(crate) fn translated(metadata: &ArrayMetadataV2) -> Result<Value> {
    let mut others = metadata.clone();
    let filters = others.filters.take().unwrap_or_default();
    let is_value = |id: &str| Codec::is_known(&format!("numcodecs.{id}"));
    let rest: Vec<_> = filters.iter().filter(|filter| !is_value(filter.id())).cloned().collect();
    let count = rest.len();
    others.filters = (!rest.is_empty()).then_some(rest);
    let translated =
        array_metadata_v2_to_v3(&others).context("the metadata cannot be expressed in Zarr v3")?;
    let mut document = serde_json::to_value(translated)?;
    let Some(codecs) = document.get_mut("codecs").and_then(Value::as_array_mut) else {
        return Ok(document);
    };
    // zarrs puts the codec for `order` before the filters, and `bytes` and the compressor after them.
    let behind = 1 + usize::from(metadata.compressor.is_some());
    let before = codecs.len().saturating_sub(count + behind);
    for (index, filter) in filters.iter().enumerate().filter(|(_, filter)| is_value(filter.id())) {
        let codec = json!({
            "name": format!("numcodecs.{}", filter.id()),
            "configuration": filter.configuration(),
        });
        codecs.insert((before + index).min(codecs.len()), codec);
    }
    Ok(document)
}

/// The metadata of a Zarr v2 array of any type as Zarr v3, over the same files.
pub(crate) fn document_of_v2(metadata: &ArrayMetadataV2) -> Result<Map<String, Value>> {
    let Value::Object(mut document) = translated(metadata)? else {
        return Err(anyhow!("the metadata are not a JSON object"));
    };
    name_dimensions(&mut document);
    if let Some(codecs) = document.get_mut("codecs") {
        as_objects(codecs);
    }
    Ok(document)
}

pub(crate) fn set(document: &mut Value, member: &str, value: Value) {
    if let Some(object) = document.as_object_mut() {
        object.insert(member.to_owned(), value);
    }
}

/// In Zarr v2, elements are stored in the byte order of the last filter's output, not of the array.
pub(crate) fn set_byte_order(document: &mut Value, order: ByteOrder) {
    let name = match order {
        ByteOrder::Little => "little",
        ByteOrder::Big => "big",
    };
    let codecs = document.get_mut("codecs").and_then(Value::as_array_mut);
    for codec in codecs.into_iter().flatten() {
        if codec.get("name").is_some_and(|name| name == "bytes") {
            set(codec, "configuration", json!({"endian": name}));
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

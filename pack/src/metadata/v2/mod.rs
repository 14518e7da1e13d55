//! The metadata of a Zarr v2 array as Zarr v3, over the same files: the types, fill values and codecs that zarr-python
//! 3.4.2 reads there.

mod codecs;
mod data_type;
mod invalid;

use anyhow::{Context, Error};
use serde_json::{Map, Value, json};

use super::document::{name_dimensions, object, refuse_no_v2, with_members};
use super::fill_attribute::name_fill_value;
use crate::error::Result;
use crate::store::location::Location;
use crate::store::names::{META, ZARRAY};
use crate::store::parse::Document;

use codecs::{codecs, object_codec};
use data_type::DataType;

pub(crate) use invalid::InvalidV2;

/// The attributes of a node of Zarr v1 or v2, from the document with this name.
pub(crate) fn older_attributes(location: &Location, name: &str) -> Result<Map<String, Value>> {
    let document = location.document(name)?;
    document.map_or_else(|| Ok(Map::new()), |document| object(document, name))
}

/// `.zarray` of an array of Zarr v2, or its counterpart in Zarr v1.
pub(crate) fn older_array(name: &str, document: Document) -> Result<Value> {
    if name == META {
        return Ok(serde_json::to_value(zarrs_recast::metadata_v2_from_v1(&document?)?)?);
    }
    let array = object(document, name)?;
    refuse_no_v2(&array).context(ZARRAY)?;
    Ok(array.into())
}

/// The metadata of a Zarr v2 array as Zarr v3, from `.zarray` and its attributes.
///
/// # Errors
/// Metadata that Zarr v3 cannot express, or [`InvalidV2`].
pub(crate) fn document_of_v2(
    array: &Value,
    mut attributes: Map<String, Value>,
) -> Result<Map<String, Value>> {
    let member = |name: &str| array.get(name).filter(|value| !value.is_null());
    let invalid = |error: Error| Error::from(InvalidV2(format!("{error:#}")));
    let extents = |name| -> Result<Vec<u64>> {
        let list = member(name)
            .with_context(|| format!("{name} is missing; add it, or write the array again"))?;
        serde_json::from_value(list.clone()).with_context(|| {
            format!("{name} is {list}, and must be a list of whole numbers from 0 to 2^64 - 1; correct it")
        })
    };
    let shape = extents("shape").map_err(invalid)?;
    let mut chunks = extents("chunks").map_err(invalid)?;
    if shape.len() != chunks.len() {
        let text = format!("shape has {} extents, chunks has {}", shape.len(), chunks.len());
        return Err(InvalidV2(text).into());
    }
    // Some writers make the chunks of an array without elements empty, too.
    for extent in &mut chunks {
        *extent = (*extent).max(1);
    }

    let filters = match member("filters") {
        None => &[],
        Some(Value::Array(filters)) => filters.as_slice(),
        Some(other) => {
            return Err(InvalidV2(format!("filters is {other}, which is not a list")).into());
        }
    };
    let steps: Vec<&Value> = filters.iter().chain(member("compressor")).collect();
    let dtype = member("dtype").context("dtype is missing; add it, or write the array again");
    let dtype = dtype.map_err(invalid)?;
    let (data_type, order) = DataType::parse(dtype, object_codec(&steps))?;
    let fill = member("fill_value");
    let fill_value = data_type.fill_value(fill, order);
    let fill_value =
        fill_value.map_err(|error| if fill.is_some() { invalid(error) } else { error })?;
    name_fill_value(&mut attributes, &data_type.to_json(), fill.and(Some(&fill_value)));
    let separator = member("dimension_separator").cloned().unwrap_or_else(|| ".".into());
    let is_transposed = member("order").is_some_and(|order| order == "F") && shape.len() > 1;

    let mut all = Vec::new();
    if is_transposed {
        let order: Vec<usize> = (0..shape.len()).rev().collect();
        all.push(json!({"name": "transpose", "configuration": {"order": order}}));
    }
    all.extend(codecs(&steps, &data_type, order)?);
    let grid = json!({"name": "regular", "configuration": {"chunk_shape": chunks}});
    let keys = json!({"name": "v2", "configuration": {"separator": separator}});
    let mut document = with_members([
        ("zarr_format", 3.into()),
        ("node_type", "array".into()),
        ("shape", shape.into()),
        ("data_type", data_type.to_json()),
        ("chunk_grid", grid),
        ("chunk_key_encoding", keys),
        ("fill_value", fill_value),
        ("codecs", all.into()),
    ]);
    if !attributes.is_empty() {
        document.insert("attributes".into(), attributes.into());
    }
    name_dimensions(&mut document);
    Ok(document)
}

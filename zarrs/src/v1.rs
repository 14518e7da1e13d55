//! Zarr v1: arrays described by a key `meta`, read as Zarr v2.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use thiserror::Error;
use zarrs::array::{Array, ArrayCreateError, ArrayMetadataV2};
use zarrs::storage::{ReadableStorageTraits, StorageError, StoreKey};

/// A Zarr v1 array cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum V1Error {
    /// A member of `meta` is missing or invalid.
    #[error("meta: {field}: {problem}")]
    Field {
        /// The name of the member; empty for the whole document.
        field: &'static str,
        /// The problem with it.
        problem: String,
    },
    /// There is no `meta`.
    #[error("{0}: no such key; this is not a Zarr v1 array")]
    Missing(StoreKey),
    /// The path is invalid.
    #[error("{0}: not the path of an array; it starts with / and does not end with it")]
    Path(String),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// zarrs cannot open the array that the metadata describe.
    #[error(transparent)]
    Create(#[from] ArrayCreateError),
}

/// Opens a Zarr v1 array: maps its `meta` and `attrs` to Zarr v2 in memory. The store is not changed;
/// chunks have the same keys in both versions.
///
/// # Errors
/// No such array, metadata that are not Zarr v1, or a data type or compressor that zarrs lacks.
pub fn open_v1<TStorage: ReadableStorageTraits + ?Sized + 'static>(
    storage: Arc<TStorage>,
    path: &str,
) -> Result<Array<TStorage>, V1Error> {
    let folder = match path {
        "/" => "",
        _ => path.strip_prefix('/').ok_or_else(|| V1Error::Path(path.to_owned()))?,
    };
    let key = |name: &str| {
        let key = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        StoreKey::new(key).map_err(|_| V1Error::Path(path.to_owned()))
    };
    let meta = key("meta")?;
    let text = storage.get(&meta)?.ok_or(V1Error::Missing(meta))?;
    let meta = serde_json::from_slice(&text).map_err(|error| field("", error.to_string()))?;
    let mut metadata = metadata_v2_from_v1(&meta)?;
    if let Some(text) = storage.get(&key("attrs")?)? {
        metadata.attributes = serde_json::from_slice(&text)
            .map_err(|error| field("", format!("the attributes in attrs: {error}")))?;
    }
    Ok(Array::new_with_metadata(storage, path, metadata.into())?)
}

/// The Zarr v2 metadata for a Zarr v1 document `meta`.
///
/// ```
/// let meta = serde_json::json!({
///     "zarr_format": 1, "shape": [100], "chunks": [10], "dtype": "<f8", "fill_value": 0.5,
///     "order": "C", "compression": "zlib", "compression_opts": 1,
/// });
/// let metadata = zarrs_recast::metadata_v2_from_v1(&meta)?;
/// assert_eq!(metadata.compressor.unwrap().id(), "zlib");
/// # Ok::<(), zarrs_recast::V1Error>(())
/// ```
///
/// # Errors
/// A member that is missing or invalid.
pub fn metadata_v2_from_v1(meta: &Value) -> Result<ArrayMetadataV2, V1Error> {
    let meta = meta.as_object().ok_or_else(|| field("", "not a JSON object"))?;
    let member = |name: &'static str| meta.get(name).ok_or_else(|| field(name, "missing"));
    if member("zarr_format")? != 1 {
        return Err(field("zarr_format", format!("{}; it must be 1", meta["zarr_format"])));
    }
    let options = meta.get("compression_opts").unwrap_or(&Value::Null);
    let mut order = member("order")?.clone();
    // Without dimensions the order does nothing, and zarrs 0.23 has undefined behaviour with that of Fortran.
    if order == "F" && member("shape")?.as_array().is_some_and(Vec::is_empty) {
        order = "C".into();
    }
    let v2 = json!({
        "zarr_format": 2,
        "shape": member("shape")?,
        "chunks": member("chunks")?,
        "dtype": member("dtype")?,
        "fill_value": member("fill_value")?,
        "order": order,
        "compressor": compressor(member("compression")?, options)?,
        "filters": null,
    });
    // Each member is tried alone in an otherwise valid document, so that an error can name it.
    let right = json!({
        "zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|u1", "fill_value": 0, "order": "C",
        "compressor": null, "filters": null,
    });
    for name in ["shape", "chunks", "dtype", "fill_value", "order"] {
        let mut one = right.clone();
        one[name] = v2[name].clone();
        if let Err(error) = serde_json::from_value::<ArrayMetadataV2>(one) {
            return Err(field(name, format!("{}: {error}", v2[name])));
        }
    }
    serde_json::from_value(v2).map_err(|error| field("", error.to_string()))
}

/// The Zarr v2 compressor for the compression library of Zarr v1 and its options.
fn compressor(name: &Value, options: &Value) -> Result<Value, V1Error> {
    let name = match name {
        Value::Null => return Ok(Value::Null),
        Value::String(name) => name.as_str(),
        other => return Err(field("compression", format!("{other}; it must be a name or null"))),
    };
    let refused = || field("compression_opts", format!("{options}; not the options of {name}"));
    let mut compressor = match (name, options) {
        ("none", _) => return Ok(Value::Null),
        ("zlib" | "bz2", Value::Number(level)) => {
            Map::from_iter([("level".into(), level.clone().into())])
        }
        ("zlib" | "bz2", Value::Null) => Map::from_iter([("level".into(), 1.into())]),
        ("blosc", Value::Object(given)) => {
            let mut options = Map::from_iter([
                ("cname".into(), "blosclz".into()),
                ("clevel".into(), 5.into()),
                ("shuffle".into(), 1.into()),
                ("blocksize".into(), 0.into()),
            ]);
            for (key, value) in given {
                *options.get_mut(key).ok_or_else(refused)? = value.clone();
            }
            options
        }
        ("zlib" | "bz2" | "blosc", _) => return Err(refused()),
        _ => {
            let problem = format!("{name:?}; the ones read here are blosc, zlib, bz2 and null");
            return Err(field("compression", problem));
        }
    };
    compressor.insert("id".into(), name.into());
    Ok(compressor.into())
}

fn field(field: &'static str, problem: impl Into<String>) -> V1Error {
    V1Error::Field { field, problem: problem.into() }
}

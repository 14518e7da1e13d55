//! Compares arrays whatever their type is: the values that readers get, or, for types and codecs that are not decoded
//! here, the stored bytes and all that gives them their meaning.

use std::collections::BTreeSet;

use anyhow::{Context, bail};
use serde_json::Value;
use zarrs::array::{ArrayBytes, CodecOptions};

use crate::array::source::{AnyArray, array_of};
use crate::error::{Result, guarded};
use crate::metadata::tree::Node;
use crate::runtime::{ChunkMemory, Runtime, Workers};
use crate::store::names::SafePath;

/// What two arrays have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Same {
    /// Every value, as readers get them.
    Values,
    /// The stored bytes, type, fill value and codecs. The values were not decoded.
    StoredBytes,
}

/// What gives stored bytes their meaning, in Zarr v3, and in Zarr v2 that Zarr v3 cannot express.
const MEANING: [&str; 12] = [
    "zarr_format",
    "shape",
    "data_type",
    "fill_value",
    "chunk_grid",
    "chunk_key_encoding",
    "codecs",
    "chunks",
    "order",
    "filters",
    "compressor",
    "dimension_separator",
];

fn open(node: &Node) -> Result<AnyArray> {
    node.caveat().map_or_else(|| array_of(node), |caveat| bail!(caveat))
}

/// Compares two arrays.
///
/// # Errors
/// The first difference; a node that cannot be read.
pub(crate) fn compare(a: &Node, b: &Node, runtime: &Runtime) -> Result<Same> {
    for member in ["shape", "data_type"] {
        let of = |node: &Node| node.document.get(member).map(plain).unwrap_or_default();
        let (a, b) = (of(a), of(b));
        if a != b {
            bail!("{member} is {a} in A and {b} in B");
        }
    }
    match (open(a), open(b)) {
        (Ok(first), Ok(second)) => {
            compare_values(&first, &second, runtime)?;
            Ok(Same::Values)
        }
        (Err(reason), _) | (_, Err(reason)) => {
            compare_stored(a, b, runtime).with_context(|| format!("not decoded ({reason:#})"))?;
            Ok(Same::StoredBytes)
        }
    }
}

/// Metadata without members that may be left out.
fn plain(json: &Value) -> Value {
    match json.as_object() {
        Some(object) if object.len() == 1 => object.get("name").unwrap_or(json).clone(),
        _ => json.clone(),
    }
}

fn compare_values(a: &AnyArray, b: &AnyArray, runtime: &Runtime) -> Result<()> {
    let options = CodecOptions::default().with_concurrent_target(1);
    let grid = a.chunk_grid_shape();
    let count = if grid.contains(&0) { 0 } else { grid.iter().product() };
    let work = |number| -> Result<()> {
        let chunk = zarrs::array::unravel_index(number, grid);
        let chunk = chunk.with_context(|| format!("there is no chunk {number}"))?;
        let compare = || -> Result<()> {
            let whole = |array: &AnyArray| -> Result<ArrayBytes<'static>> {
                Ok(array.retrieve_chunk_opt(&chunk, &options)?)
            };
            // zarrs 0.23 cannot read a part of a transposed chunk of texts.
            let is_same_grid = b.chunk_grid().metadata() == a.chunk_grid().metadata();
            if is_same_grid && whole(a)? == whole(b)? {
                return Ok(());
            }
            // What lies beyond the edge of the array does not count.
            let part = a.chunk_subset_bounded(&chunk)?;
            let inside = |array: &AnyArray| -> Result<ArrayBytes<'static>> {
                Ok(array.retrieve_array_subset_opt(&part, &options)?)
            };
            if inside(a)? != inside(b)? {
                bail!("the values differ");
            }
            Ok(())
        };
        guarded(compare).with_context(|| format!("chunk {:?}", chunk.as_slice()))
    };
    Workers::within(runtime, [memory(a), memory(b)])?.run("compare", count, work, |()| Ok(()))
}

/// The memory for the first chunk; `None` without chunks, and for elements whose size only the chunk tells.
fn memory(array: &AnyArray) -> Result<Option<ChunkMemory>> {
    let Some(size) = array.data_type().fixed_size() else { return Ok(None) };
    if array.chunk_grid_shape().contains(&0) {
        return Ok(None);
    }
    let first = vec![0; array.dimensionality()];
    let shape: Vec<u64> = array.chunk_shape(&first)?.iter().map(|extent| extent.get()).collect();
    let decoded = shape.iter().product::<u64>() * size as u64;
    Ok(Some(ChunkMemory { array: array.path().to_string().into(), shape, decoded }))
}

fn compare_stored(a: &Node, b: &Node, runtime: &Runtime) -> Result<()> {
    let differs = |name: &&&str| a.document.get(**name) != b.document.get(**name);
    if let Some(name) = MEANING.iter().find(differs) {
        bail!("{name} differs");
    }
    let keys: BTreeSet<SafePath> = a.chunk_keys()?.into_iter().chain(b.chunk_keys()?).collect();
    for key in keys {
        runtime.check_interrupt()?;
        match (a.location.bytes(&key)?, b.location.bytes(&key)?) {
            (Some(a), Some(b)) if a != b => bail!("the stored bytes of {key} differ"),
            (Some(_), None) | (None, Some(_)) => bail!("{key} is stored in one of them alone"),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
    Ok(())
}

//! Stores before anything is wrong with them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use arbitrary::{Result, Unstructured};
use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use serde_json::{Value, json};
use zarrs::array::{Array, ArrayBytes};
use zarrs::storage::store::MemoryStore;
use zarrs::storage::{ListableStorageTraits, ReadableStorageTraits};

use super::documents;
use crate::input;

/// The entries of a folder or of a zip file, by name.
pub(super) type Store = BTreeMap<String, Entry>;

#[derive(Clone)]
pub(super) enum Entry {
    File(Vec<u8>),
    /// A file of so many zeros, which take no space.
    Sparse(u64),
    Fifo,
    Link(String),
    Folder,
}

/// Elements of a generated array are no more than these.
const MOST_ELEMENTS: u64 = 1 << 10;

pub(super) fn store(u: &mut Unstructured) -> Result<Store> {
    match u.int_in_range(0..=2)? {
        0 => u.choose(goldens()).cloned(),
        1 => {
            let mut store = Store::new();
            array(u, "", &mut store)?;
            Ok(store)
        }
        _ => group(u),
    }
}

/// Small stores of the repository's tests, most written by zarr-python and xarray.
pub(super) fn goldens() -> &'static [Store] {
    static GOLDENS: OnceLock<Vec<Store>> = OnceLock::new();
    GOLDENS.get_or_init(|| {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folders = ["zarrs/tests/goldens", "pack/tests/data/cf", "pack/tests/data/kinds"];
        let mut stores = Vec::new();
        for folder in folders {
            let entries = fs::read_dir(repository.join(folder)).unwrap();
            let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
            paths.sort();
            for path in paths {
                let inner = path.join("array.zarr");
                let path = if inner.is_dir() { inner } else { path };
                let mut store = Store::new();
                read(&path, "", &mut store);
                let has = |name: &str| store.contains_key(name);
                if has("zarr.json") || has(".zarray") || has(".zgroup") {
                    stores.push(store);
                }
            }
        }
        stores
    })
}

fn read(folder: &Path, prefix: &str, store: &mut Store) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            read(&path, &format!("{name}/"), store);
        } else {
            store.insert(name, Entry::File(fs::read(path).unwrap()));
        }
    }
}

/// A group of a few arrays, with or without consolidated metadata.
fn group(u: &mut Unstructured) -> Result<Store> {
    let mut store = Store::new();
    let is_v2: bool = u.arbitrary()?;
    for path in ["a/", "b/", "deep/c/"].iter().take(u.int_in_range(1..=3)?) {
        array(u, path, &mut store)?;
    }
    let is_consolidated = u.arbitrary()?;
    let documents: Vec<(String, Value)> = store
        .iter()
        .filter_map(|(name, entry)| Some((name.clone(), documents::parsed(name, entry)?)))
        .collect();
    let mut put = |name: &str, document: Value| {
        store.insert(name.to_owned(), Entry::File(document.to_string().into_bytes()));
    };
    if is_v2 {
        put(".zgroup", json!({"zarr_format": 2}));
        put("deep/.zgroup", json!({"zarr_format": 2}));
        if is_consolidated {
            let copies: serde_json::Map<_, _> = documents.into_iter().collect();
            put(".zmetadata", json!({"zarr_consolidated_format": 1, "metadata": copies}));
        }
        return Ok(store);
    }
    let mut root = json!({"zarr_format": 3, "node_type": "group", "attributes": {}});
    put("deep/zarr.json", root.clone());
    if is_consolidated {
        let copies: serde_json::Map<_, _> = documents
            .into_iter()
            .filter_map(|(name, document)| {
                Some((name.strip_suffix("/zarr.json")?.to_owned(), document))
            })
            .collect();
        root["consolidated_metadata"] =
            json!({"kind": "inline", "must_understand": false, "metadata": copies});
    }
    put("zarr.json", root);
    Ok(store)
}

/// An array with its chunks, as zarrs writes them. What zarrs refuses has no chunks.
fn array(u: &mut Unstructured, prefix: &str, store: &mut Store) -> Result<()> {
    let format: usize = u.int_in_range(1..=3)?;
    let shape: Vec<u64> = extents(u, &[4, 1, 3, 9, 0, 2])?;
    let chunks: Vec<u64> =
        shape.iter().map(|_| u.choose(&[2, 1, 4]).copied()).collect::<Result<_>>()?;
    let element_type = input::element_type(u)?;
    let (document, name) = match format {
        1 => (documents::v1(u, &shape, &chunks)?, "meta"),
        2 => (documents::v2(u, element_type, &shape, &chunks)?, ".zarray"),
        _ => (documents::v3(u, element_type, &shape, &chunks)?, "zarr.json"),
    };
    let seed = u.arbitrary()?;
    if format == 1 {
        // zarrs writes none of these; with `compression` "none" the bytes are those of the elements.
        for chunk in 0..u.int_in_range(0..=3)? {
            store.insert(format!("{prefix}{chunk}"), Entry::File(vec![seed; 16]));
        }
    } else {
        let memory = Arc::new(MemoryStore::new());
        write(document.clone(), element_type, &memory, seed);
        for key in memory.list().unwrap_or_default() {
            let bytes = memory.get(&key).unwrap().unwrap_or_default();
            store.insert(format!("{prefix}{key}"), Entry::File(bytes.to_vec()));
        }
    }
    store.insert(format!("{prefix}{name}"), Entry::File(document.to_string().into()));
    if format < 3 {
        let name = ["attrs", ".zattrs"][format - 1];
        let attributes = documents::attributes(u)?;
        store.insert(format!("{prefix}{name}"), Entry::File(attributes.to_string().into()));
    }
    Ok(())
}

fn extents(u: &mut Unstructured, of: &[u64]) -> Result<Vec<u64>> {
    let rank = *u.choose(&[1, 2, 0])?;
    (0..rank).map(|_| u.choose(of).copied()).collect()
}

fn write(document: Value, element_type: ElementType, memory: &Arc<MemoryStore>, seed: u8) {
    // zarrs 0.23.14 has undefined behaviour for Zarr v2 with order F and no dimension.
    if document["order"] == "F" && document["shape"] == json!([]) {
        return;
    }
    zarrs_recast::register();
    let Ok(metadata) = serde_json::from_value(document) else { return };
    let Ok(array) = Array::new_with_metadata(Arc::clone(memory), "/", metadata) else { return };
    if array.data_type().fixed_size() != Some(element_type.size()) {
        return;
    }
    let chunks = array.chunk_grid_shape().to_vec();
    let chunks = zarrs::array::ArraySubset::new_with_shape(chunks);
    for (number, chunk) in chunks.indices().iter().enumerate().skip(usize::from(seed % 2)) {
        let Ok(shape) = array.chunk_shape(&chunk) else { continue };
        let count: u64 = shape.iter().map(|extent| extent.get()).product();
        if count > MOST_ELEMENTS {
            return;
        }
        let elements: Vec<u8> = (0..count)
            .flat_map(|index| element(element_type, seed, index + 7 * number as u64).to_ne_bytes())
            .collect();
        let _refused = array.store_chunk(&chunk, ArrayBytes::new_flen(elements));
    }
}

/// A quarter; now and then NaN, or an end of the type.
fn element(element_type: ElementType, seed: u8, index: u64) -> Scalar {
    let special = match (index + u64::from(seed)) % 11 {
        9 if seed >= 64 => Scalar::nan(element_type),
        10 if seed >= 128 => Some(Scalar::max(element_type)),
        _ => None,
    };
    let number = (index % 40) as f64 / 4.0 - f64::from(seed % 3);
    let usual =
        || Scalar::from(number).cast(element_type, Rounding::TowardsZero, OutOfRange::Clamp).ok();
    special.or_else(usual).unwrap_or(Scalar::zero(element_type))
}

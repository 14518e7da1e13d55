//! Helpers: arrays on a filesystem store, `.npy` files, and comparison to the bit.
#![allow(dead_code, missing_docs, unreachable_pub)] // each test binary uses its own part

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recast_kernels::{ElementType, Scalar};
use serde_json::{Value, json};
use zarrs::array::{Array, ArrayBytes, ArrayError, ArrayMetadata, ArraySubset};
use zarrs::filesystem::FilesystemStore;

pub type Store = FilesystemStore;

/// The committed stores of zarr-python.
pub fn goldens() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens")
}

/// An empty store in a folder that goes away with the first value.
pub fn empty_store() -> (tempfile::TempDir, Arc<Store>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Arc::new(FilesystemStore::new(folder.path()).expect("a store"));
    (folder, store)
}

pub fn open(folder: &Path) -> Result<Array<Store>, String> {
    let store = FilesystemStore::new(folder).map_err(|error| error.to_string())?;
    Array::open(Arc::new(store), "/").map_err(|error| zarrs_recast::explain(&error))
}

/// Zarr v3 metadata with the default chunk keys.
pub fn metadata(
    data_type: &str,
    fill_value: impl Into<Value>,
    shape: &[u64],
    chunks: &[u64],
    codecs: &Value,
) -> Value {
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill_value.into(),
        "codecs": codecs,
        "attributes": {},
    })
}

/// Creates an array from its metadata document, and writes that document.
pub fn create(store: &Arc<Store>, metadata: &Value) -> Result<Array<Store>, String> {
    let metadata: ArrayMetadata =
        serde_json::from_value(metadata.clone()).map_err(|error| error.to_string())?;
    let array = Array::new_with_metadata(store.clone(), "/", metadata)
        .map_err(|error| zarrs_recast::explain(&error))?;
    array.store_metadata().map_err(|error| error.to_string())?;
    Ok(array)
}

pub fn read(array: &Array<Store>, subset: &ArraySubset) -> Result<Vec<u8>, ArrayError> {
    let bytes: ArrayBytes = array.retrieve_array_subset(subset)?;
    Ok(bytes.into_fixed().expect("elements of fixed size").into_owned())
}

pub fn read_all(array: &Array<Store>) -> Result<Vec<u8>, ArrayError> {
    read(array, &array.subset_all())
}

pub fn write(array: &Array<Store>, subset: &ArraySubset, bytes: &[u8]) -> Result<(), ArrayError> {
    array.store_array_subset(subset, ArrayBytes::new_flen(bytes.to_vec()))
}

pub fn write_all(array: &Array<Store>, bytes: &[u8]) -> Result<(), ArrayError> {
    write(array, &array.subset_all(), bytes)
}

pub fn element_type(array: &Array<Store>) -> ElementType {
    use zarrs::plugin::ExtensionName;
    let name = array.data_type().name_v3().expect("a name");
    ElementType::from_name(&name).expect("one of the 27 types")
}

/// The part of the C-order array `bytes` that `subset` selects.
pub fn part(bytes: &[u8], size: usize, shape: &[u64], subset: &ArraySubset) -> Vec<u8> {
    subset
        .linearised_indices(shape)
        .expect("a subset of the array")
        .iter()
        .flat_map(|index| {
            let start = usize::try_from(index).expect("small") * size;
            bytes[start..start + size].to_vec()
        })
        .collect()
}

/// Fails unless both hold the same elements to the bit, where any NaN equals any NaN.
#[track_caller]
pub fn assert_same(what: &str, element_type: ElementType, found: &[u8], expected: &[u8]) {
    assert_eq!(found.len(), expected.len(), "{what}: bytes");
    let size = element_type.size();
    let pairs = found.chunks_exact(size).zip(expected.chunks_exact(size));
    for (index, (found, expected)) in pairs.enumerate() {
        let scalar = |bytes| Scalar::from_ne_bytes(element_type, bytes).expect("an element");
        let (one, other) = (scalar(found), scalar(expected));
        assert!(
            found == expected || (one.is_nan() && other.is_nan()),
            "{what}: element {index} is {one} ({found:02x?}), expected {other} ({expected:02x?})"
        );
    }
}

/// Bytes given as hexadecimal digits.
pub fn bytes(hex: &Value) -> Vec<u8> {
    let digits = hex.as_str().expect("digits").as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16);
    digits.map(|pair| byte(pair).expect("a hexadecimal byte")).collect()
}

/// The same elements in this machine's byte order.
pub fn native(little: &[u8], size: usize) -> Vec<u8> {
    if cfg!(target_endian = "little") {
        return little.to_vec();
    }
    little.chunks(size).flat_map(|element| element.iter().rev().copied()).collect()
}

/// Shape and elements of a `.npy` file, the elements in native byte order.
pub fn npy(path: &Path) -> (Vec<u64>, Vec<u8>) {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = BufReader::new(file);
    let header = npyz::NpyHeader::from_reader(&mut reader).expect("a header");
    let npyz::DType::Plain(kind) = header.dtype() else {
        panic!("{}: a structure", path.display())
    };
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).expect("elements");
    let size = usize::try_from(kind.size_field()).expect("small");
    let foreign = if cfg!(target_endian = "little") {
        npyz::Endianness::Big
    } else {
        npyz::Endianness::Little
    };
    if kind.endianness() == foreign {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    let shape = header.shape().to_vec();
    if header.order() == npyz::Order::Fortran {
        bytes = to_c_order(&bytes, size, &shape);
    }
    (shape, bytes)
}

/// The elements of a Fortran-order array in C order.
fn to_c_order(bytes: &[u8], size: usize, shape: &[u64]) -> Vec<u8> {
    let all = ArraySubset::new_with_shape(shape.to_vec());
    let mut ordered = Vec::with_capacity(bytes.len());
    for at in &all.indices() {
        let index = at.iter().zip(shape).rev().fold(0, |index, (&at, &n)| index * n + at);
        let start = usize::try_from(index).expect("small") * size;
        ordered.extend_from_slice(&bytes[start..start + size]);
    }
    ordered
}

pub fn json_file(path: &Path) -> Value {
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The folders in `folder` that hold a case, by name.
pub fn cases(folder: &Path) -> Vec<PathBuf> {
    let mut cases: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder of goldens")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("case.json").is_file())
        .collect();
    cases.sort();
    cases
}

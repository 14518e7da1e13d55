//! Arrays on the filesystem for tests, and what became of them.

#![allow(dead_code)] // each test file uses its part

use std::path::{Path, PathBuf};
use std::sync::Arc;

use recast_kernels::{ElementType, Scalar};
use recast_pack::{CatFormat, Job, PackJob, PackOptions, PackReport, Runtime, cat};
use serde_json::{Value, json};
use tempfile::TempDir;
use zarrs::array::{Array, ArrayBytes};
use zarrs::filesystem::FilesystemStore;

/// A folder with an array to pack, and what it is packed as.
pub(crate) struct Trial {
    folder: TempDir,
}

impl Trial {
    /// An array of one dimension, little-endian and not compressed, with these members of its metadata.
    #[allow(clippy::needless_pass_by_value)] // what callers write with json!
    pub(crate) fn new<T: Copy + Into<Scalar>>(values: &[T], chunk: usize, more: Value) -> Self {
        let element_type =
            values.first().map_or(ElementType::Float32, |&one| one.into().element_type());
        let bytes = bytes(values);
        let trial = Self { folder: tempfile::tempdir().unwrap() };
        let mut metadata = json!({
            "zarr_format": 3, "node_type": "array", "shape": [values.len()],
            "data_type": element_type.name(),
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [chunk]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "fill_value": 0,
        });
        for (name, value) in more.as_object().unwrap() {
            metadata[name] = value.clone();
        }
        std::fs::create_dir_all(trial.input()).unwrap();
        std::fs::write(trial.input().join("zarr.json"), metadata.to_string()).unwrap();
        store(&trial.input(), 0, &bytes);
        trial
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn input(&self) -> PathBuf {
        self.folder.path().join("in.zarr")
    }

    pub(crate) fn output(&self) -> PathBuf {
        self.folder.path().join("out.zarr")
    }

    pub(crate) fn pack(&self, options: PackOptions) -> Result<PackReport, String> {
        let job = PackJob { overwrite: true, ..PackJob::new(self.input(), self.output(), options) };
        job.run(&one_thread()).map_err(|error| format!("{:#}", anyhow::Error::from(error)))
    }

    /// What the packed array decodes to, as it lies in memory.
    pub(crate) fn decoded(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        cat(self.output(), CatFormat::Raw, &one_thread(), &mut bytes).unwrap();
        bytes
    }

    pub(crate) fn metadata(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.output().join("zarr.json")).unwrap()).unwrap()
    }
}

pub(crate) fn one_thread() -> Runtime {
    Runtime { threads: Some(1), ..Runtime::default() }
}

/// Elements in native byte order.
pub(crate) fn bytes<T: Copy + Into<Scalar>>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|&value| value.into().to_ne_bytes()).collect()
}

pub(crate) fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&one| f32::from_ne_bytes(one)).collect()
}

/// Writes elements into an array from a place on; the array grows where they lie beyond it.
pub(crate) fn store(path: &Path, start: u64, elements: &[u8]) {
    zarrs_recast::register();
    let mut array = Array::open(Arc::new(FilesystemStore::new(path).unwrap()), "/").unwrap();
    let end = start + (elements.len() / array.data_type().fixed_size().unwrap()) as u64;
    if array.shape()[0] < end {
        array.set_shape(vec![end]).unwrap();
        array.store_metadata().unwrap();
    }
    #[allow(clippy::single_range_in_vec_init)] // one dimension
    array.store_array_subset(&[start..end], ArrayBytes::new_flen(elements)).unwrap();
}

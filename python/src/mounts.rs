//! Stores of Python objects, as storages of the jobs. Each access calls a method of `zarr_recast._stores.Calls`; the GIL is
//! held for no longer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use recast_pack::storage::byte_range::{ByteRange, ByteRangeIterator};
use recast_pack::storage::{
    Bytes, ListableStorageTraits, MaybeBytesIterator, OffsetBytesIterator, ReadableStorageTraits,
    StorageError, StoreKey, StoreKeys, StoreKeysPrefixes, StorePrefix, WritableStorageTraits,
};
use recast_pack::text::shown;
use recast_pack::{Mount, Visibility};

/// The stores that a job uses, while it runs.
#[pyclass(frozen, module = "zarr_recast._core")]
#[derive(Default)]
pub(crate) struct Mounts {
    held: Mutex<Vec<Mount>>,
    /// Whether Python asked the job to stop.
    pub(crate) interrupt: Arc<AtomicBool>,
    /// The first exception of a store.
    failure: Failure,
}

/// No mutex: whoever waits for one may hold the GIL, which dropping an exception under it may need.
type Failure = Arc<OnceLock<PyErr>>;

#[pymethods]
impl Mounts {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Mount a store; returns its URL. `visibility` says when readers see what is written; with None, it is only read.
    fn mount(&self, calls: Py<PyAny>, visibility: Option<&str>, is_listable: bool) -> String {
        let storage = Arc::new(Storage { calls, failure: Arc::clone(&self.failure) });
        let mount = match visibility {
            None => Mount::read_only(storage, is_listable),
            Some("on commit") => Mount::new(storage, Visibility::OnCommit),
            Some("forever") => Mount::new(storage, Visibility::Forever),
            Some(_) => Mount::new(storage, Visibility::AtOnce),
        };
        let url = mount.at("");
        self.held.lock().unwrap_or_else(PoisonError::into_inner).push(mount);
        url
    }

    /// Whether Python asked the job to stop.
    #[getter]
    fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }
}

impl Mounts {
    /// The exception of a job, with that of the store as its cause, if that is why the job failed.
    pub(crate) fn with_cause(&self, py: Python<'_>, error: PyErr) -> PyErr {
        if let Some(failure) = self.failure.get()
            && error.to_string().contains(&shown(&failure.to_string()))
        {
            error.set_cause(py, Some(failure.clone_ref(py)));
        }
        error
    }
}

/// A store of Python.
struct Storage {
    calls: Py<PyAny>,
    failure: Failure,
}

impl Storage {
    /// Calls a method of the store.
    fn call<T>(
        &self,
        work: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
    ) -> Result<T, StorageError> {
        Python::attach(|py| {
            work(self.calls.bind(py)).map_err(|error| {
                let text = error.to_string();
                // Later ones follow from the first, or add nothing.
                drop(self.failure.set(error));
                StorageError::Other(text)
            })
        })
    }
}

/// Start and length of a range; a negative start counts from the end.
fn start_and_length(range: ByteRange) -> (i128, Option<u64>) {
    match range {
        ByteRange::FromStart(start, length) => (start.into(), length),
        ByteRange::Suffix(length) => (-i128::from(length), None),
    }
}

impl ReadableStorageTraits for Storage {
    fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        byte_ranges: ByteRangeIterator<'a>,
    ) -> Result<MaybeBytesIterator<'a>, StorageError> {
        let mut parts = Vec::new();
        for range in byte_ranges {
            let (start, length) = start_and_length(range);
            let part: Option<PyBackedBytes> = self.call(|calls| {
                Ok(calls.call_method1("get", (key.as_str(), start, length))?.extract()?)
            })?;
            let Some(part) = part else { return Ok(None) };
            parts.push(Ok(Bytes::from_owner(part)));
        }
        Ok(Some(Box::new(parts.into_iter())))
    }

    fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        self.call(|calls| calls.call_method1("size", (key.as_str(),))?.extract())
    }

    fn supports_get_partial(&self) -> bool {
        true
    }
}

impl ListableStorageTraits for Storage {
    fn list(&self) -> Result<StoreKeys, StorageError> {
        self.list_prefix(&StorePrefix::root())
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<StoreKeys, StorageError> {
        let keys: Vec<String> =
            self.call(|calls| calls.call_method1("list", (prefix.as_str(),))?.extract())?;
        Ok(keys.into_iter().map(StoreKey::new).collect::<Result<_, _>>()?)
    }

    fn list_dir(&self, prefix: &StorePrefix) -> Result<StoreKeysPrefixes, StorageError> {
        let (keys, prefixes): (Vec<String>, Vec<String>) =
            self.call(|calls| calls.call_method1("list_dir", (prefix.as_str(),))?.extract())?;
        let keys = keys.into_iter().map(StoreKey::new).collect::<Result<_, _>>()?;
        let prefixes = prefixes.into_iter().map(StorePrefix::new).collect::<Result<_, _>>()?;
        Ok(StoreKeysPrefixes::new(keys, prefixes))
    }

    fn size_prefix(&self, prefix: &StorePrefix) -> Result<u64, StorageError> {
        self.call(|calls| calls.call_method1("size_below", (prefix.as_str(),))?.extract())
    }
}

impl WritableStorageTraits for Storage {
    fn set(&self, key: &StoreKey, value: Bytes) -> Result<(), StorageError> {
        self.call(|calls| {
            let value = PyBytes::new(calls.py(), &value);
            calls.call_method1("set", (key.as_str(), value)).map(drop)
        })
    }

    fn set_partial_many(&self, key: &StoreKey, _: OffsetBytesIterator) -> Result<(), StorageError> {
        Err(StorageError::Unsupported(format!("{key}: parts of objects are not written")))
    }

    fn erase(&self, key: &StoreKey) -> Result<(), StorageError> {
        self.call(|calls| calls.call_method1("delete", (key.as_str(),)).map(drop))
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StorageError> {
        self.list_prefix(prefix)?.iter().try_for_each(|key| self.erase(key))
    }

    fn supports_set_partial(&self) -> bool {
        false
    }
}

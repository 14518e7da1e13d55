//! Storages that a program hands over: places under URLs, like all others.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use zarrs::storage::{
    ReadableListableStorageTraits, ReadableWritableListableStorageTraits, WritableStorageTraits,
};

use crate::error::Result;

/// The beginning of the URLs of mounted storages.
const SCHEME: &str = "store://";

static MOUNTED: Mutex<BTreeMap<u64, Mounted>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

/// When readers of a store see new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// At once. Chunks come first and metadata last, so that an unfinished array does not open.
    AtOnce,
    /// As `AtOnce`, and nothing can be removed, as in a zip file.
    Forever,
    /// When the caller commits a transaction. Metadata come first: such stores take chunks of known arrays only.
    OnCommit,
}

/// A storage that jobs of this process reach under a URL, until this value is dropped.
///
/// ```
/// # use std::sync::Arc;
/// # use recast_pack::{Job, Mount, PackJob, PackOptions, Runtime, Visibility};
/// # use recast_pack::storage::store::MemoryStore;
/// # use recast_pack::storage::{ReadableStorageTraits, StoreKey, WritableStorageTraits};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let storage = Arc::new(MemoryStore::new());
/// # let metadata = r#"{"zarr_format": 3, "node_type": "array",
/// #     "shape": [4], "data_type": "float32", "fill_value": "NaN",
/// #     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
/// #     "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
/// #     "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}"#;
/// # let values = [271.25_f32, 280.5, f32::NAN, 301.75].map(f32::to_le_bytes);
/// # storage.set(&StoreKey::new("t2m/zarr.json")?, metadata.into())?;
/// # storage.set(&StoreKey::new("t2m/c/0")?, values.concat().into())?;
/// let mount = Mount::new(storage.clone(), Visibility::AtOnce);
/// let (input, output) = (mount.at("t2m"), mount.at("packed"));
///
/// let options = PackOptions { max_abs_error: Some(0.01), ..PackOptions::default() };
/// PackJob::new(input, output, options).run(&Runtime::default())?;
/// assert!(storage.get(&StoreKey::new("packed/zarr.json")?)?.is_some());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Mount {
    number: u64,
}

impl Mount {
    /// Mounts a storage that can be written to.
    #[must_use]
    pub fn new(
        storage: Arc<dyn ReadableWritableListableStorageTraits>,
        visibility: Visibility,
    ) -> Self {
        let readable = Arc::clone(&storage).readable_listable();
        let writable: Arc<dyn WritableStorageTraits> = storage;
        Self::of(Mounted { readable, writable: Some((writable, visibility)), is_listable: true })
    }

    /// Mounts a storage for reading. Without `is_listable`, arrays of a group are found in its consolidated metadata.
    #[must_use]
    pub fn read_only(readable: Arc<dyn ReadableListableStorageTraits>, is_listable: bool) -> Self {
        Self::of(Mounted { readable, writable: None, is_listable })
    }

    fn of(mounted: Mounted) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        MOUNTED.lock().unwrap_or_else(PoisonError::into_inner).insert(number, mounted);
        Self { number }
    }

    /// The URL of a path inside the storage; the storage itself for an empty path.
    #[must_use]
    pub fn at(&self, path: &str) -> String {
        let Self { number } = self;
        let path = path.trim_matches('/');
        let slash = if path.is_empty() { "" } else { "/" };
        format!("{SCHEME}{number}{slash}{path}")
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        MOUNTED.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

/// A storage, as it is mounted.
#[derive(Clone)]
pub(super) struct Mounted {
    pub(super) readable: Arc<dyn ReadableListableStorageTraits>,
    pub(super) writable: Option<(Arc<dyn WritableStorageTraits>, Visibility)>,
    pub(super) is_listable: bool,
}

/// The storage of a URL, and the path inside it; none if it is a URL of another kind.
pub(super) fn mounted(url: &str) -> Result<Option<(Mounted, &str)>> {
    let Some(rest) = url.strip_prefix(SCHEME) else { return Ok(None) };
    let (number, path) = rest.split_once('/').unwrap_or((rest, ""));
    let all = MOUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    let found = number.parse().ok().and_then(|number: u64| all.get(&number));
    let found = found.context("no storage is mounted there any more")?;
    Ok(Some((found.clone(), path)))
}

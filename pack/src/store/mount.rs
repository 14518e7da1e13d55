//! Storages that a program hands over: places under URLs, like all others.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use zarrs::storage::{
    ReadableListableStorageTraits, ReadableWritableListableStorageTraits, StoreKey, StorePrefix,
};

use super::objects::{Objects, Visibility};
use crate::error::{Interrupted, Result};

/// What the URLs of mounted storages begin with.
const SCHEME: &str = "store://";

static MOUNTED: Mutex<BTreeMap<u64, Mounted>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

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
        Self::of(Mounted { readable, writable: Some((storage, visibility)), is_listable: true })
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
    writable: Option<(Arc<dyn ReadableWritableListableStorageTraits>, Visibility)>,
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

impl Mounted {
    /// A path in it, as the place of an output.
    pub(super) fn output(self, path: &str) -> Result<Box<dyn Objects>> {
        let Some((storage, visibility)) = self.writable else {
            bail!("this store can only be read; write to another one");
        };
        let path = path.trim_matches('/');
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        Ok(Box::new(Output { storage, visibility, prefix }))
    }
}

/// The place of an output.
struct Output {
    storage: Arc<dyn ReadableWritableListableStorageTraits>,
    visibility: Visibility,
    /// Empty, or with a slash at its end.
    prefix: String,
}

impl Output {
    fn key(&self, below: &str) -> Result<StoreKey> {
        Ok(StoreKey::new(format!("{}{below}", self.prefix))?)
    }
}

impl Objects for Output {
    fn visibility(&self) -> Visibility {
        self.visibility
    }

    fn keys(&self) -> Result<Vec<String>> {
        let keys = self.storage.list_prefix(&StorePrefix::new(self.prefix.as_str())?)?;
        let below = keys.iter().filter_map(|key| key.as_str().strip_prefix(&self.prefix));
        Ok(below.map(str::to_owned).collect())
    }

    fn put(&self, key: &str, bytes: Vec<u8>, interrupt: &AtomicBool) -> Result<()> {
        if interrupt.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
        Ok(self.storage.set(&self.key(key)?, bytes.into())?)
    }

    fn remove(&self, keys: &[String]) -> Result<()> {
        keys.iter().try_for_each(|key| Ok(self.storage.erase(&self.key(key)?)?))
    }
}

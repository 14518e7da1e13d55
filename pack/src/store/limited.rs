//! Refuses files that are larger than possible, before reading them.

use std::sync::Arc;

use zarrs::storage::byte_range::ByteRangeIterator;
use zarrs::storage::{
    ListableStorageTraits, MaybeBytesIterator, ReadableListableStorageTraits,
    ReadableStorageTraits, StorageError, StoreKey, StoreKeys, StoreKeysPrefixes, StorePrefix,
};

use crate::text::bytes;

/// Memory that is there if anything works at all.
const SURE: u64 = 64 << 20;

/// A storage that knows the sizes of its values, none of which may be larger than a limit.
pub(super) struct Limited {
    pub(super) storage: Arc<dyn ReadableListableStorageTraits>,
    pub(super) most: u64,
}

/// Refuses a size above a limit, or beyond the memory of the process.
pub(super) fn refuse_size(key: &str, size: u64, most: u64) -> Result<(), StorageError> {
    if size > most {
        let (size, most) = (bytes(size as f64), bytes(most as f64));
        return Err(StorageError::Other(format!(
            "{key} has {size}, and {most} are the most that it can need; restore it, or write it again"
        )));
    }
    if !is_affordable(size) {
        let size = bytes(size as f64);
        return Err(StorageError::Other(format!(
            "{key} has {size}, more than memory has room for"
        )));
    }
    Ok(())
}

/// Whether memory has room for so many bytes. A failed allocation would end the process.
pub(crate) fn is_affordable(size: u64) -> bool {
    size <= SURE
        || usize::try_from(size).is_ok_and(|size| Vec::<u8>::new().try_reserve_exact(size).is_ok())
}

impl ReadableStorageTraits for Limited {
    fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        byte_ranges: ByteRangeIterator<'a>,
    ) -> Result<MaybeBytesIterator<'a>, StorageError> {
        if let Some(size) = self.storage.size_key(key)? {
            refuse_size(key.as_str(), size, self.most)?;
        }
        self.storage.get_partial_many(key, byte_ranges)
    }

    fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        self.storage.size_key(key)
    }

    fn supports_get_partial(&self) -> bool {
        self.storage.supports_get_partial()
    }
}

impl ListableStorageTraits for Limited {
    fn list(&self) -> Result<StoreKeys, StorageError> {
        self.storage.list()
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<StoreKeys, StorageError> {
        self.storage.list_prefix(prefix)
    }

    fn list_dir(&self, prefix: &StorePrefix) -> Result<StoreKeysPrefixes, StorageError> {
        self.storage.list_dir(prefix)
    }

    fn size_prefix(&self, prefix: &StorePrefix) -> Result<u64, StorageError> {
        self.storage.size_prefix(prefix)
    }
}

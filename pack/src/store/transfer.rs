//! Copies or links what is stored, unchanged.

use std::fs;
use std::path::Path;

use zarrs::storage::StoreKey;

use super::local::file_of;
use super::location::Location;
use crate::error::Result;

/// How a chunk gets from one array to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// As a copy.
    Copy,
    /// As another name of the same file, if the filesystem supports it.
    Link,
}

/// What was transferred.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transferred {
    pub(crate) copied: u64,
    pub(crate) linked: u64,
    pub(crate) bytes: u64,
}

/// Transfers a key of a storage to a file, if it exists: its file, if it has one, or else its bytes.
pub(crate) fn transferred(
    from: &Location,
    key: &StoreKey,
    place: &Path,
    transfer: Transfer,
) -> Result<Transferred> {
    let none = Transferred::default();
    let make_parent = || place.parent().map_or(Ok(()), fs::create_dir_all);
    let Some(file) = from.file(key) else {
        let Some(bytes) = from.storage().get(key)? else { return Ok(none) };
        make_parent()?;
        fs::write(place, &bytes)?;
        return Ok(Transferred { copied: 1, bytes: bytes.len() as u64, ..none });
    };
    // A link would lead elsewhere from its new place.
    let Some(file) = file_of(&file)? else { return Ok(none) };
    let bytes = fs::metadata(&file)?.len();
    make_parent()?;
    // Without links, or across filesystems, copy instead.
    if transfer == Transfer::Link && fs::hard_link(&file, place).is_ok() {
        return Ok(Transferred { linked: 1, bytes, ..none });
    }
    fs::copy(&file, place)?;
    Ok(Transferred { copied: 1, bytes, ..none })
}

//! A directory as a store. Links are followed, and what a link has lost, or what cannot be listed, is an error: in Zarr, a
//! missing file is a chunk of fill values.

use std::collections::HashSet;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use zarrs::filesystem::{FilesystemStore, FilesystemStoreCreateError};
use zarrs::storage::byte_range::ByteRangeIterator;
use zarrs::storage::{
    ListableStorageTraits, MaybeBytesIterator, ReadableStorageTraits, StorageError, StoreKey,
    StoreKeys, StoreKeysPrefixes, StorePrefix,
};

use super::staging::is_beside;
use crate::error::Result;

/// A directory.
pub(crate) struct Local {
    files: FilesystemStore,
    root: PathBuf,
}

impl Local {
    pub(crate) fn new(root: &Path) -> Result<Self, FilesystemStoreCreateError> {
        Ok(Self { files: FilesystemStore::new(root)?, root: root.to_owned() })
    }
}

/// Visits each file and each link below a directory, with a name that tells it from the others. A folder that links lead to
/// is entered once, under its real path. What cannot be listed is left out.
pub(super) fn visit_below(
    root: &Path,
    mut visit: impl FnMut(&Path, &str, FileType) -> Result<()>,
) -> Result<()> {
    let mut entered: HashSet<PathBuf> = root.canonicalize().into_iter().collect();
    let mut todo = vec![(root.to_owned(), String::new())];
    while let Some((directory, prefix)) = todo.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            let Ok(kind) = entry.file_type() else { continue };
            if is_beside(&name) {
                continue;
            }
            let name = format!("{prefix}/{name}");
            if !kind.is_dir() {
                visit(&path, &name, kind)?;
            }
            if kind.is_dir() {
                todo.push((path, name));
            } else if kind.is_symlink()
                && path.is_dir()
                && refuse_circle(&path).is_ok()
                && let Ok(real) = path.canonicalize()
                && entered.insert(real.clone())
            {
                todo.push((path, real.to_string_lossy().into_owned()));
            }
        }
    }
    Ok(())
}

/// The error for a name that no key of a store can be.
pub(crate) fn not_utf8(path: &Path) -> String {
    format!("{}: this name is not UTF-8, as the keys of Zarr are; rename it", path.display())
}

/// Refuses a link to a directory around itself.
fn refuse_circle(directory: &Path) -> Result<(), StorageError> {
    if !directory.is_symlink() {
        return Ok(());
    }
    let real = directory.canonicalize()?;
    let above = directory.parent().map(Path::canonicalize).transpose()?;
    if above.is_some_and(|above| above.starts_with(&real)) {
        let (link, real) = (directory.display(), real.display());
        return Err(StorageError::Other(format!("{link}: a link to {real}, which it is in")));
    }
    Ok(())
}

/// Refuses a path that exists as a link only, or lies behind such a link.
fn refuse_lost(path: &Path) -> Result<(), StorageError> {
    for place in path.ancestors() {
        let Ok(metadata) = fs::symlink_metadata(place) else { continue };
        if metadata.is_symlink() && fs::metadata(place).is_err() {
            let (link, to) = (place.display(), fs::read_link(place).unwrap_or_default());
            return Err(StorageError::Other(format!(
                "{link}: a link to {}, which is not there; restore that first (with git-annex or DataLad: \
                 get)",
                to.display()
            )));
        }
        break;
    }
    Ok(())
}

/// The file that a path leads to through all links; `None` if there is none.
///
/// # Errors
/// A link to what does not exist.
pub(crate) fn file_of(path: &Path) -> Result<Option<PathBuf>> {
    match path.canonicalize() {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            refuse_lost(path)?;
            Ok(None)
        }
        Err(error) => Err(anyhow!("{}: {error}", path.display())),
    }
}

impl ReadableStorageTraits for Local {
    fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        byte_ranges: ByteRangeIterator<'a>,
    ) -> Result<MaybeBytesIterator<'a>, StorageError> {
        let parts = self.files.get_partial_many(key, byte_ranges)?;
        if parts.is_none() {
            refuse_lost(&self.root.join(key.as_str()))?;
        }
        Ok(parts)
    }

    fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        let size = self.files.size_key(key)?;
        if size.is_none() {
            refuse_lost(&self.root.join(key.as_str()))?;
        }
        Ok(size)
    }

    fn supports_get_partial(&self) -> bool {
        true
    }
}

impl ListableStorageTraits for Local {
    fn list(&self) -> Result<StoreKeys, StorageError> {
        self.list_prefix(&StorePrefix::root())
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<StoreKeys, StorageError> {
        let mut keys = Vec::new();
        let mut todo = vec![prefix.clone()];
        while let Some(prefix) = todo.pop() {
            let below = self.list_dir(&prefix)?;
            keys.extend_from_slice(below.keys());
            todo.extend(below.prefixes().iter().rev().cloned());
        }
        Ok(keys)
    }

    /// By name; nothing if there is no such directory.
    fn list_dir(&self, prefix: &StorePrefix) -> Result<StoreKeysPrefixes, StorageError> {
        let directory = &self.root.join(prefix.as_str().trim_end_matches('/'));
        let unlisted = |error: io::Error| {
            let shown = directory.display();
            StorageError::Other(format!("{shown}: cannot be listed: {error}"))
        };
        let (mut keys, mut prefixes) = (Vec::new(), Vec::new());
        let list = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                refuse_lost(directory)?;
                return Ok(StoreKeysPrefixes::new(keys, prefixes));
            }
            list => list.map_err(unlisted)?,
        };
        let paths = list.map(|entry| Ok(entry.map_err(unlisted)?.path()));
        let mut paths = paths.collect::<Result<Vec<PathBuf>, StorageError>>()?;
        paths.sort_unstable();
        for path in paths {
            let is_directory = match fs::metadata(&path) {
                Ok(metadata) => metadata.is_dir(),
                Err(error) => {
                    refuse_lost(&path)?;
                    // It is gone since it was listed.
                    if error.kind() == io::ErrorKind::NotFound {
                        continue;
                    }
                    return Err(unlisted(error));
                }
            };
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.ok_or_else(|| StorageError::Other(not_utf8(&path)))?;
            let name = format!("{}{name}", prefix.as_str());
            if is_directory {
                refuse_circle(&path)?;
                prefixes.push(StorePrefix::new(format!("{name}/"))?);
            } else {
                keys.push(StoreKey::new(name)?);
            }
        }
        Ok(StoreKeysPrefixes::new(keys, prefixes))
    }

    fn size_prefix(&self, prefix: &StorePrefix) -> Result<u64, StorageError> {
        let keys = self.list_prefix(prefix)?;
        keys.iter().map(|key| Ok(fs::metadata(self.root.join(key.as_str()))?.len())).sum()
    }
}

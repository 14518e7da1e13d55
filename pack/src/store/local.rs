//! A directory as a store. Links are followed, and what a link has lost, or what cannot be listed, is an error: in Zarr, a
//! missing file is a chunk of fill values.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, FileType};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::anyhow;
use zarrs::storage::byte_range::ByteRangeIterator;
use zarrs::storage::{
    ListableStorageTraits, MaybeBytesIterator, ReadableStorageTraits, StorageError, StoreKey,
    StoreKeys, StoreKeysPrefixes, StorePrefix,
};

use super::files::{open_regular, range_of, read_range};
use super::names::SafePath;
use super::staging::is_beside;
use crate::error::Result;

/// A directory.
pub(crate) struct Local {
    root: PathBuf,
    /// By the link that leads to a part of it, and a real folder behind that: the link by which the folder was entered.
    entered: Mutex<HashMap<(PathBuf, PathBuf), PathBuf>>,
}

impl Local {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), entered: Mutex::default() }
    }

    /// The file of a key, which may not be there.
    fn path(&self, key: &StoreKey) -> Result<PathBuf, StorageError> {
        // Chunks have keys that metadata name.
        let key =
            SafePath::new(key.as_str()).map_err(|error| StorageError::Other(error.to_string()))?;
        Ok(self.root.join(&*key))
    }

    /// Opens the file of a key, and says how long it is.
    fn open(&self, key: &StoreKey) -> Result<Option<(File, u64)>, StorageError> {
        let path = self.path(key)?;
        match open_regular(&path) {
            Ok(opened) => Ok(Some(opened)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                refuse_lost(&path)?;
                Ok(None)
            }
            Err(error) => Err(StorageError::Other(format!("{}: {error}", path.display()))),
        }
    }

    /// Refuses a link to a folder that another link has led to, if both are behind a link: such links multiply, and what is
    /// behind them is read for each way that leads there. Several links to a folder are welcome.
    fn refuse_multiplied(&self, link: &Path) -> Result<(), StorageError> {
        let inside = link.strip_prefix(&self.root).unwrap_or(link);
        let mut above = self.root.clone();
        let first = inside.components().map(|part| {
            above.push(part);
            above.clone()
        });
        let first = first.into_iter().find(|place| place.is_symlink());
        let Some(first) = first.filter(|first| first != link) else { return Ok(()) };
        let real = link.canonicalize()?;
        let mut entered = self.entered.lock().unwrap_or_else(PoisonError::into_inner);
        let other = entered.entry((first, real.clone())).or_insert_with(|| link.to_owned());
        if other == link {
            return Ok(());
        }
        Err(StorageError::Other(format!(
            "{}: a link to {}, as is {}, behind a link both; what such links lead to multiplies; remove one of them",
            link.display(),
            real.display(),
            other.display()
        )))
    }
}

/// Visits each file and each link below a directory, with a name that tells it from the others. A folder that links lead to
/// is entered once, under its real path. What cannot be listed is left out.
pub(crate) fn visit_below(
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
        if metadata.is_symlink()
            && let Err(error) = fs::metadata(place)
        {
            let (link, to) = (place.display(), fs::read_link(place).unwrap_or_default());
            let why = if error.kind() == io::ErrorKind::NotFound {
                "which is not there; restore that first (with git-annex or DataLad: get)".to_owned()
            } else {
                // Links that lead to one another, for instance.
                format!("which cannot be followed: {error}")
            };
            return Err(StorageError::Other(format!("{link}: a link to {}, {why}", to.display())));
        }
        break;
    }
    Ok(())
}

/// The file that a path leads to through all links; `None` if there is none.
///
/// # Errors
/// A link whose target does not exist.
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
        let Some((file, size)) = self.open(key)? else { return Ok(None) };
        let part = move |range| Ok(read_range(&file, &range_of(range, size)?)?);
        Ok(Some(Box::new(byte_ranges.map(part))))
    }

    fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        let path = self.path(key)?;
        match fs::metadata(&path) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                refuse_lost(&path)?;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
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
        let paths = list.map(|entry| {
            let entry = entry.map_err(unlisted)?;
            Ok((entry.path(), entry.file_type().ok()))
        });
        let mut paths =
            paths.collect::<Result<Vec<(PathBuf, Option<FileType>)>, StorageError>>()?;
        paths.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        for (path, kind) in paths {
            let is_link = kind.is_none_or(|kind| kind.is_symlink());
            let is_directory = match kind.filter(|_| !is_link).map_or_else(
                || fs::metadata(&path).map(|one| one.is_dir()),
                |kind| Ok(kind.is_dir()),
            ) {
                Ok(is_directory) => is_directory,
                Err(error) => {
                    refuse_lost(&path)?;
                    // The entry was removed after it was listed.
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
                if is_link {
                    refuse_circle(&path)?;
                    self.refuse_multiplied(&path)?;
                }
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

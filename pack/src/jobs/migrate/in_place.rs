//! Replaces metadata in place; the chunks stay. At every moment there are metadata that match the chunks, the old ones
//! or the new ones.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tempfile::NamedTempFile;

use crate::error::Result;
use crate::store::location::{Kind, Location, kind, refuse_hidden, refuse_outdated_copy};
use crate::store::names::{ATTRS, DOCUMENTS, GROUP_DOCUMENTS, ZARR_JSON, ZATTRS};
use crate::store::staging::{clear, temporary_file};

/// The beginning of the names of unfinished files.
const STAGED: &str = ".zarr.json";

/// The folder of an array or a group.
///
/// # Errors
/// A zip file or a URL; a group around it that stays as it is and would no longer match.
pub(super) fn folder(location: &Location) -> Result<PathBuf> {
    const WAY_OUT: &str = "migrate that group as a whole";
    let folder = location
        .directory()
        .context("not a directory, so it cannot be changed in place; name an OUTPUT")?;
    refuse_outdated_copy(&folder, WAY_OUT)?;
    refuse_hidden(&folder, WAY_OUT)?;
    Ok(folder)
}

/// A folder whose documents are replaced.
struct Replacement<'a> {
    folder: &'a Path,
    text: &'a str,
    /// The documents that are there.
    old: Vec<&'static str>,
    is_written: bool,
}

/// The names that documents in a folder may have. Other files of a group may have those of Zarr v1.
fn names(folder: &Path) -> &'static [&'static str] {
    if kind(folder) == Kind::Array { &DOCUMENTS } else { &GROUP_DOCUMENTS }
}

/// The documents in a folder.
fn documents(folder: &Path) -> Vec<&'static str> {
    names(folder).iter().copied().filter(|name| folder.join(name).is_file()).collect()
}

/// The place at which a document is kept.
fn backup(folder: &Path, name: &str) -> PathBuf {
    folder.join(kept_name(name))
}

/// Whether a regular file has these bytes.
fn has(path: &Path, bytes: &[u8]) -> bool {
    let is_file = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    is_file && fs::read(path).is_ok_and(|found| found == bytes)
}

/// Whether a document has been kept as it is.
fn is_kept(folder: &Path, name: &str) -> bool {
    fs::read(folder.join(name)).is_ok_and(|bytes| has(&backup(folder, name), &bytes))
}

/// Refuses to replace documents that another migration has kept. A document that a killed run has kept is the current one.
fn refuse_other_backup(folder: &Path, name: &str) -> Result<()> {
    let kept = backup(folder, name);
    if kept.symlink_metadata().is_err() || is_kept(folder, name) {
        return Ok(());
    }
    bail!(
        "{} exists, from another migration, and is not {name} as it is now; to go back to before that migration, remove \
         {ZARR_JSON} and rename what ends in .bak; to migrate {name}, move the file away",
        kept.display()
    );
}

/// Refuses older metadata without the attributes that another migration has kept: whoever went back has forgotten them.
fn refuse_kept_attributes(folder: &Path, old: &[&str]) -> Result<()> {
    let is_forgotten = |name: &str| {
        let kept = backup(folder, name).symlink_metadata();
        names(folder).contains(&name) && !old.contains(&name) && kept.is_ok()
    };
    let attributes = [ZATTRS, ATTRS].into_iter().find(|name| is_forgotten(name));
    let Some(name) = attributes.filter(|_| !folder.join(ZARR_JSON).is_file()) else {
        return Ok(());
    };
    bail!(
        "{} exists, from another migration, and {name} does not, so the attributes would be lost; rename the file to {name}, or \
         move it away",
        backup(folder, name).display()
    );
}

/// Removes the documents that a killed run has kept and replaced, but not yet removed, and its unfinished files. The names that
/// the documents have now.
pub(super) fn finish(folder: &Path) -> Result<Vec<String>> {
    let mut old = documents(folder);
    if !old.contains(&ZARR_JSON) {
        return Ok(Vec::new());
    }
    clear(folder, STAGED);
    old.retain(|name| *name != ZARR_JSON && is_kept(folder, name));
    for name in &old {
        remove(&folder.join(name))?;
    }
    Ok(old.into_iter().map(kept_name).collect())
}

/// The name that a document gets when it is kept.
fn kept_name(name: &str) -> String {
    format!("{name}.bak")
}

fn remove(path: &Path) -> Result<()> {
    fs::remove_file(path).with_context(|| format!("removing {}", path.display()))
}

/// Writes a new `zarr.json` into each folder, and renames the old documents to names that readers ignore. Returns
/// these names. If anything fails, all folders are restored. A folder that links name again is replaced once.
pub(super) fn replace(folders: &[(PathBuf, String)]) -> Result<Vec<Vec<String>>> {
    let mut replacements: Vec<Replacement<'_>> = Vec::new();
    let (mut places, mut numbers) = (HashMap::new(), Vec::new());
    for (folder, text) in folders {
        let real = folder.canonicalize().with_context(|| folder.display().to_string())?;
        let number = *places.entry(real).or_insert(replacements.len());
        numbers.push(number);
        if number < replacements.len() {
            continue;
        }
        let mut old = documents(folder);
        // A run that was killed may have written the new one.
        old.retain(|name| *name != ZARR_JSON || !has(&folder.join(name), text.as_bytes()));
        for name in &old {
            refuse_other_backup(folder, name)?;
        }
        refuse_kept_attributes(folder, &old)?;
        replacements.push(Replacement { folder, text, old, is_written: false });
    }
    for replacement in &replacements {
        clear(replacement.folder, STAGED);
    }
    let result = all(&mut replacements);
    if let Err(error) = result {
        for replacement in &replacements {
            replacement.undo().with_context(|| format!("{error:#}; and going back failed"))?;
        }
        return Err(error);
    }
    let kept = |&number: &usize| replacements.get(number).map_or_else(Vec::new, Replacement::kept);
    Ok(numbers.iter().map(kept).collect())
}

/// Each step is done in all folders before the next one begins. New documents are written from the last folder to the first, a
/// group's own: until then readers of the group see the old ones of all that is in it, which are removed at the end.
fn all(replacements: &mut [Replacement<'_>]) -> Result<()> {
    let files = replacements.iter().map(Replacement::prepare).collect::<Result<Vec<_>>>()?;
    for (replacement, file) in replacements.iter_mut().zip(files).rev() {
        let shown = replacement.folder.join(ZARR_JSON);
        file.persist(&shown).with_context(|| format!("writing {}", shown.display()))?;
        replacement.is_written = true;
    }
    for replacement in replacements.iter() {
        for name in replacement.old.iter().filter(|name| **name != ZARR_JSON) {
            remove(&replacement.folder.join(name))?;
        }
    }
    Ok(())
}

impl Replacement<'_> {
    fn kept(&self) -> Vec<String> {
        self.old.iter().copied().map(kept_name).collect()
    }

    /// Copies the old documents, and writes the new one beside them.
    fn prepare(&self) -> Result<NamedTempFile> {
        for name in &self.old {
            let backup = backup(self.folder, name);
            let copy = || -> Result<()> {
                let document = self.folder.join(name);
                self.staged(&fs::read(&document)?, Some(&document))?.persist(&backup)?;
                Ok(())
            };
            copy().with_context(|| format!("writing {}", backup.display()))?;
        }
        let first = self.old.first().map(|name| self.folder.join(name));
        self.staged(self.text.as_bytes(), first.as_deref())
    }

    /// A file in the folder that is whole before it gets its name, as private as another one.
    fn staged(&self, bytes: &[u8], like: Option<&Path>) -> Result<NamedTempFile> {
        let mut new = temporary_file(self.folder, STAGED)?;
        #[cfg(unix)]
        if let Some(Ok(metadata)) = like.map(fs::metadata) {
            new.as_file().set_permissions(metadata.permissions())?;
        }
        #[cfg(not(unix))]
        let _ = like;
        new.write_all(bytes)?;
        new.as_file().sync_all()?;
        Ok(new)
    }

    /// Restores the folder. If an old document is gone or replaced, its copy is complete.
    fn undo(&self) -> Result<()> {
        for name in &self.old {
            let (backup, document) = (backup(self.folder, name), self.folder.join(name));
            let is_changed = !document.exists() || (*name == ZARR_JSON && self.is_written);
            if is_changed {
                fs::rename(&backup, &document)
                    .with_context(|| format!("renaming {}", backup.display()))?;
            } else if backup.symlink_metadata().is_ok() {
                remove(&backup)?;
            }
        }
        if self.is_written && !self.old.contains(&ZARR_JSON) {
            remove(&self.folder.join(ZARR_JSON))?;
        }
        Ok(())
    }
}

//! Replaces metadata in place; the chunks stay. At every moment there are metadata that match the chunks, the old ones
//! or the new ones.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tempfile::NamedTempFile;

use crate::error::Result;
use crate::store::location::{Kind, Location, kind, refuse_hidden, refuse_outdated_copy};
use crate::store::names::{DOCUMENTS, GROUP_DOCUMENTS, ZARR_JSON};

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
        // Other files of a group may have the names of Zarr v1.
        let documents =
            if kind(folder) == Kind::Array { &DOCUMENTS[..] } else { &GROUP_DOCUMENTS[..] };
        let is_there = |name: &&str| folder.join(name).is_file();
        let old: Vec<&str> = documents.iter().copied().filter(is_there).collect();
        let replacement = Replacement { folder, text, old, is_written: false };
        for name in &replacement.old {
            if replacement.backup(name).symlink_metadata().is_ok() {
                let shown = replacement.backup(name).display().to_string();
                bail!("{shown} exists, from another migration; move it away first");
            }
        }
        replacements.push(replacement);
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

/// Each step is done in all folders before the next one begins.
fn all(replacements: &mut [Replacement<'_>]) -> Result<()> {
    let files = replacements.iter().map(Replacement::prepare).collect::<Result<Vec<_>>>()?;
    for (replacement, file) in replacements.iter_mut().zip(files) {
        let shown = replacement.folder.join(ZARR_JSON);
        file.persist(&shown).with_context(|| format!("writing {}", shown.display()))?;
        replacement.is_written = true;
    }
    for replacement in replacements.iter() {
        for name in replacement.old.iter().filter(|name| **name != ZARR_JSON) {
            let old = replacement.folder.join(name);
            fs::remove_file(&old).with_context(|| format!("removing {}", old.display()))?;
        }
    }
    Ok(())
}

impl Replacement<'_> {
    fn backup(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.bak"))
    }

    fn kept(&self) -> Vec<String> {
        self.old.iter().map(|name| format!("{name}.bak")).collect()
    }

    /// Copies the old documents, and writes the new one beside them.
    fn prepare(&self) -> Result<NamedTempFile> {
        for name in &self.old {
            let backup = self.backup(name);
            let copy = || -> Result<()> {
                fs::copy(self.folder.join(name), &backup)?;
                Ok(File::open(&backup)?.sync_all()?)
            };
            copy().with_context(|| format!("writing {}", backup.display()))?;
        }
        let mut new = tempfile::Builder::new().prefix(".zarr.json.").tempfile_in(self.folder)?;
        new.write_all(self.text.as_bytes())?;
        new.as_file().sync_all()?;
        #[cfg(unix)]
        {
            let permissions = self.old.first().map(|name| fs::metadata(self.folder.join(name)));
            if let Some(Ok(metadata)) = permissions {
                new.as_file().set_permissions(metadata.permissions())?;
            }
        }
        Ok(new)
    }

    /// Restores the folder. If an old document is gone or replaced, its copy is complete.
    fn undo(&self) -> Result<()> {
        for name in &self.old {
            let (backup, document) = (self.backup(name), self.folder.join(name));
            let is_changed = !document.exists() || (*name == ZARR_JSON && self.is_written);
            if is_changed {
                fs::rename(&backup, &document)
                    .with_context(|| format!("renaming {}", backup.display()))?;
            } else if backup.symlink_metadata().is_ok() {
                fs::remove_file(&backup)
                    .with_context(|| format!("removing {}", backup.display()))?;
            }
        }
        let new = self.folder.join(ZARR_JSON);
        if self.is_written && !self.old.contains(&ZARR_JSON) {
            fs::remove_file(&new).with_context(|| format!("removing {}", new.display()))?;
        }
        Ok(())
    }
}

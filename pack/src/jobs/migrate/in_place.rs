//! Replaces metadata in place; the chunks stay. At every moment there are metadata that match the chunks, the old ones
//! or the new ones.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tempfile::NamedTempFile;

use crate::error::Result;
use crate::io::metadata::{DOCUMENTS, ZARR_JSON};

/// For a folder below a group whose consolidated metadata would become outdated.
pub(super) const WAY_OUT: &str = "migrate that group as a whole";

/// A folder whose documents are replaced.
struct Place<'a> {
    folder: &'a Path,
    text: &'a str,
    /// The documents that are there.
    old: Vec<&'static str>,
    is_written: bool,
}

/// Writes a new `zarr.json` into each folder, and renames the old documents to names that readers ignore. Returns
/// these names. If anything fails, all folders are restored.
pub(super) fn replace(folders: &[(PathBuf, String)]) -> Result<Vec<Vec<String>>> {
    let mut places = Vec::new();
    for (folder, text) in folders {
        let is_there = |name: &&str| folder.join(name).is_file();
        let old: Vec<&str> = DOCUMENTS.into_iter().filter(is_there).collect();
        let place = Place { folder, text, old, is_written: false };
        for name in &place.old {
            if place.backup(name).symlink_metadata().is_ok() {
                let shown = place.backup(name).display().to_string();
                bail!("{shown} exists, from another migration; move it away first");
            }
        }
        places.push(place);
    }
    let result = all(&mut places);
    if let Err(error) = result {
        for place in &places {
            place.undo().with_context(|| format!("{error:#}; and going back failed"))?;
        }
        return Err(error);
    }
    Ok(places.iter().map(Place::kept).collect())
}

/// Each step is done in all folders before the next one begins.
fn all(places: &mut [Place<'_>]) -> Result<()> {
    let files = places.iter().map(Place::prepare).collect::<Result<Vec<_>>>()?;
    for (place, file) in places.iter_mut().zip(files) {
        let shown = place.folder.join(ZARR_JSON);
        file.persist(&shown).with_context(|| format!("writing {}", shown.display()))?;
        place.is_written = true;
    }
    for place in places.iter() {
        for name in place.old.iter().filter(|name| **name != ZARR_JSON) {
            let old = place.folder.join(name);
            fs::remove_file(&old).with_context(|| format!("removing {}", old.display()))?;
        }
    }
    Ok(())
}

impl Place<'_> {
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

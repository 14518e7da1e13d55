//! Files for people, which are written beside their place like outputs.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tempfile::NamedTempFile;

use super::names::folder_of;
use super::nearest::real_folder;
use super::staging::{clear, temporary_file};
use crate::error::{Error, ErrorKind, Result};

/// A file that appears at its place whole, or not at all. Until then, an old file stays.
#[derive(Debug)]
pub struct StagedFile {
    path: PathBuf,
    overwrite: bool,
    file: NamedTempFile,
}

impl StagedFile {
    /// Checks that a file may be written to a path, and makes a temporary one beside it.
    ///
    /// # Errors
    /// A place that cannot be written to; a place that is taken, without `overwrite`; a place with anything but a regular file.
    pub fn new(path: &Path, overwrite: bool) -> std::result::Result<Self, Error> {
        Ok(Self::beside(path, overwrite)?)
    }

    fn beside(path: &Path, overwrite: bool) -> Result<Self> {
        let place = file_place(path, overwrite)?;
        let parent = folder_of(&place);
        real_folder(parent)?;
        let name = place.file_name().context("the path must end in the name of a file")?;
        let name = name.to_string_lossy();
        clear(parent, &name);
        Ok(Self { path: path.to_owned(), overwrite, file: temporary_file(parent, &name)? })
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// A full disk, for instance.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        self.file.as_file_mut().write_all(text.as_bytes())?;
        self.file.as_file().sync_all()
    }

    /// Moves the file to its place.
    ///
    /// # Errors
    /// The place has changed meanwhile.
    pub fn commit(self) -> std::result::Result<(), Error> {
        Ok(self.put()?)
    }

    fn put(self) -> Result<()> {
        let place = file_place(&self.path, self.overwrite)?;
        let moved = if self.overwrite {
            self.file.persist(&place)
        } else {
            self.file.persist_noclobber(&place)
        };
        moved.map(|_| ()).map_err(|error| error.error.into())
    }
}

/// Where a file is written: a free place, or the regular file that a path leads to.
fn file_place(path: &Path, overwrite: bool) -> Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path.to_owned()),
        Err(error) => return Err(error.into()),
        Ok(_) if !overwrite => {
            return Err(ErrorKind::Exists.error("exists; --overwrite replaces it"));
        }
        Ok(_) => {}
    }
    let place = path.canonicalize().context("a link that leads nowhere; remove it first")?;
    let kind = fs::metadata(&place)?.file_type();
    if kind.is_dir() {
        bail!("is a directory; name a file");
    }
    if !kind.is_file() {
        bail!("is a device, a pipe or a socket, which --overwrite does not replace; name a file");
    }
    Ok(place)
}

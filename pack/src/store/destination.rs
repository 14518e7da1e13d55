//! The place of an output. It is written to a temporary directory beside it, which is moved there when it is
//! complete. For a URL, the system's temporary directory is used and uploaded.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::links::OutsideLinks;
use super::location::{
    EXISTS, Kind, OUTSIDE, archive, kind, refuse_in_array, refuse_into_group, refuse_outdated_copy,
    refuse_overlap, url,
};
use super::names::folder_of;
use super::nearest::real_folder;
use super::staging::{self, ASIDE, Staged};
use super::upload::Upload;
use crate::error::{ErrorKind, Result, unwritten};
use crate::runtime::Runtime;

/// A checked place for an array or a group.
#[derive(Debug)]
pub struct Destination {
    /// As errors show it; of a directory, without links above it.
    place: PathBuf,
    target: Target,
    outside_links: OutsideLinks,
}

#[derive(Debug)]
enum Target {
    Directory {
        overwrite: bool,
        /// Whether a disk has all of it before it replaces anything.
        sync: bool,
    },
    Url(Upload),
}

impl Destination {
    /// Checks that an output may be written to `output` while `input` is read.
    pub(crate) fn new(
        input: &Path,
        output: &Path,
        overwrite: bool,
        runtime: &Runtime,
    ) -> Result<Self> {
        let checked = match url(output) {
            Some(url) => Self::remote(input, url, overwrite, runtime),
            None => Self::directory(input, output, overwrite, runtime),
        };
        checked.with_context(|| output.display().to_string())
    }

    fn directory(input: &Path, output: &Path, overwrite: bool, runtime: &Runtime) -> Result<Self> {
        let is_zip = output.extension().is_some_and(|extension| extension == "zip");
        if is_zip || archive(output).is_some() {
            bail!("zip files can only be read; write to a directory");
        }
        let place = real_place(output)?;
        // A zip file lies in the directories that its path begins with.
        let file = archive(input).map(|(archive, _)| archive);
        let output = place.canonicalize().unwrap_or_else(|_| place.clone());
        let input_place = file.as_deref().unwrap_or(input).canonicalize().ok();
        if let Some(input) = &input_place {
            refuse_overlap(input, &output)?;
        }
        let outside_links = OutsideLinks::of(input, |target| {
            refuse_overlap(target, &output)
                .with_context(|| format!("INPUT has a link to {}", target.display()))
        })?;
        if is_there(&place)? {
            if !overwrite {
                return Err(ErrorKind::Exists.error(EXISTS));
            }
            refuse_other(&place, kind(input))?;
        } else if let Some(input) = input_place.filter(|_| !runtime.into_group) {
            refuse_into_group(&input, &place)?;
        }
        refuse_in_array(&place)?;
        refuse_outdated_copy(&place, OUTSIDE)?;
        let target = Target::Directory { overwrite, sync: runtime.sync };
        let destination = Self { place, target, outside_links };
        // A folder that cannot be written to is an error before all of INPUT is read.
        destination.stage()?;
        Ok(destination)
    }

    /// A directory where nothing is, and to which nothing leads that is read.
    pub(crate) fn free(path: &Path) -> Result<Self> {
        let place = real_place(path).with_context(|| path.display().to_string())?;
        let target = Target::Directory { overwrite: false, sync: false };
        Ok(Self { place, target, outside_links: OutsideLinks::default() })
    }

    /// A place at a URL.
    fn remote(input: &Path, url: &str, overwrite: bool, runtime: &Runtime) -> Result<Self> {
        let upload = Upload::new(input, url, overwrite, runtime)?;
        let (place, target) = (url.trim_end_matches('/').into(), Target::Url(upload));
        Ok(Self { place, target, outside_links: OutsideLinks::of(input, |_| Ok(()))? })
    }

    /// The links that lead out of the input.
    pub(crate) fn outside_links(&self) -> &OutsideLinks {
        &self.outside_links
    }

    /// Whether it takes files that are no part of an array or a group.
    pub(crate) fn takes_files(&self) -> bool {
        match &self.target {
            Target::Directory { .. } => true,
            Target::Url(upload) => upload.takes_files(),
        }
    }

    /// A new temporary directory beside the place, removed when the value is dropped. Directories of killed
    /// runs are removed first.
    pub(crate) fn stage(&self) -> Result<Staged> {
        let (parent, is_shared) = match &self.target {
            // With the user's umask, as for every directory; by default only the user would have access.
            Target::Directory { .. } => (folder_of(&self.place).to_owned(), true),
            Target::Url(upload) => {
                upload.probe().with_context(|| self.place.display().to_string())?;
                (std::env::temp_dir(), false)
            }
        };
        let name = self.place.file_name().and_then(OsStr::to_str).unwrap_or_default();
        staging::clear(&parent, name);
        let staged = Staged::new(&parent, name, is_shared);
        staged.map_err(|error| unwritten(error, &parent.display()))
    }

    /// Moves what is staged to its place. At every moment, a directory holds either the complete output or the old
    /// content.
    pub(crate) fn commit(&self, staged: Staged) -> Result<()> {
        staged.refuse_if_gone()?;
        let committed = match &self.target {
            Target::Directory { overwrite, sync: false } => put(staged, &self.place, *overwrite),
            Target::Directory { overwrite, sync: true } => {
                put_synced(staged, &self.place, *overwrite)
            }
            Target::Url(upload) => upload.commit(staged.path()),
        };
        committed.with_context(|| self.place.display().to_string())
    }
}

/// The path of a directory that need not be there, without links above it.
fn real_place(path: &Path) -> Result<PathBuf> {
    let name = path.file_name().context("OUTPUT must end in the name of a directory")?;
    let name = name.to_str().context("the name is not UTF-8")?;
    Ok(real_folder(folder_of(path))?.join(name))
}

/// Moves a staged output to a place, which another run may fill or empty at any moment.
fn put(staged: Staged, path: &Path, overwrite: bool) -> Result<()> {
    loop {
        match rename_to_free(staged.path(), path) {
            Ok(()) => {
                staged.keep();
                return Ok(());
            }
            Err(error) if is_taken(&error) => {}
            Err(error) => return Err(error.into()),
        }
        if !overwrite {
            bail!("has appeared during the run; --overwrite replaces it, or name another OUTPUT");
        }
        refuse_other(path, kind(staged.path()))?;
        match exchange(staged.path(), path) {
            // The old content is gone.
            Err(error) if error.kind() == io::ErrorKind::NotFound => staged.refuse_if_gone()?,
            // The old content is removed with the temporary directory.
            result => return Ok(result?),
        }
    }
}

/// As `put`, and a disk has the output before anything is replaced, and its place afterwards.
fn put_synced(staged: Staged, path: &Path, overwrite: bool) -> Result<()> {
    staged.sync().map_err(|error| unwritten(error.into(), &"the output to disk"))?;
    put(staged, path, overwrite)?;
    staging::sync_folder(folder_of(path))
        .context("OUTPUT is in place, but may be lost in a power cut")
}

fn is_there(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Refuses to replace anything but a node of the written kind.
fn refuse_other(path: &Path, written: Kind) -> Result<()> {
    if !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        bail!("exists and is not a directory; --overwrite replaces arrays and groups only");
    }
    kind(path).refuse_replacing(written)
}

/// Whether a rename failed because something is at its target.
fn is_taken(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotADirectory};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | NotADirectory)
}

/// Renames a directory; never replaces anything.
#[cfg(target_os = "linux")]
fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems do not support it.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => rename_if_free(from, to),
        result => Ok(result?),
    }
}

#[cfg(not(target_os = "linux"))]
use rename_if_free as rename_to_free;

/// As `rename_to_free`, but an empty directory that appears at this moment is replaced.
fn rename_if_free(from: &Path, to: &Path) -> io::Result<()> {
    if to.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

/// Exchanges two directories.
#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        // Some file systems do not support it.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => exchange_in_steps(one, other),
        result => Ok(result?),
    }
}

#[cfg(not(target_os = "linux"))]
use exchange_in_steps as exchange;

/// As `exchange`, but for a moment nothing is at the place, and the old content is beside it under a name that no
/// run removes.
fn exchange_in_steps(one: &Path, other: &Path) -> io::Result<()> {
    let mut aside = other.as_os_str().to_owned();
    aside.push(format!("{ASIDE}{}", std::process::id()));
    let aside = Path::new(&aside);
    fs::rename(other, aside)?;
    if let Err(error) = fs::rename(one, other) {
        if rename_if_free(aside, other).is_err() {
            let text = format!("{error}; the old content is in {}", aside.display());
            return Err(io::Error::other(text));
        }
        return Err(error);
    }
    fs::rename(aside, one)
}

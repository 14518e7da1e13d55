//! The place of an output. The array is written to a temporary directory beside it, which is moved there when it is
//! complete. For a URL, the system's temporary directory is used and uploaded.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tempfile::TempDir;

use super::store::{Kind, archive, kind, url};
#[cfg(feature = "object-store")]
use super::upload::Upload;
use crate::error::Result;
use crate::runtime::Runtime;

/// A checked place for an array.
#[derive(Debug)]
pub struct Destination {
    target: Target,
    /// Where the temporary directory goes, and how its name begins.
    parent: PathBuf,
    name: String,
}

#[derive(Debug)]
enum Target {
    Directory {
        path: PathBuf,
        replaces: bool,
    },
    #[cfg(feature = "object-store")]
    Url(Upload),
}

impl Destination {
    /// Checks that an array may be written to `output` while `input` is read.
    pub(crate) fn new(input: &Path, output: &Path, overwrite: bool) -> Result<Self> {
        Self::check(input, output, overwrite).with_context(|| output.display().to_string())
    }

    fn check(input: &Path, output: &Path, overwrite: bool) -> Result<Self> {
        if let Some(url) = url(output) {
            return Self::remote(input, url, overwrite);
        }
        let is_zip = output.extension().is_some_and(|extension| extension == "zip");
        if is_zip || archive(output).is_some() {
            bail!("zip files can only be read; write to a directory");
        }
        let name = output.file_name().context("OUTPUT must end in the name of a directory")?;
        let name = name.to_str().context("the name is not UTF-8")?.to_owned();
        let parent = match output.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let parent = parent.canonicalize().context("the directory above it cannot be found")?;
        let path = parent.join(&name);
        if let Ok(input) = input.canonicalize() {
            let output = path.canonicalize().unwrap_or_else(|_| path.clone());
            if output == input {
                bail!("OUTPUT is INPUT; write to another place");
            }
            if output.starts_with(&input) {
                bail!("OUTPUT lies inside INPUT; write to another place");
            }
            if input.starts_with(&output) {
                bail!("INPUT lies inside OUTPUT; write to another place");
            }
        }
        let replaces = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
            Err(error) => return Err(error.into()),
            Ok(_) if !overwrite => bail!("exists; --overwrite replaces an array"),
            Ok(metadata) if !metadata.is_dir() => {
                bail!("exists and is not a directory; --overwrite replaces arrays only");
            }
            Ok(_) if kind(&path) == Kind::Array => true,
            Ok(_) => bail!("exists and is not an array; --overwrite replaces arrays only"),
        };
        Ok(Self { target: Target::Directory { path, replaces }, parent, name })
    }

    /// A place at a URL.
    #[cfg(feature = "object-store")]
    fn remote(input: &Path, url: &str, overwrite: bool) -> Result<Self> {
        let upload = Upload::new(input, url, overwrite)?;
        let name = upload.name().to_owned();
        Ok(Self { target: Target::Url(upload), parent: std::env::temp_dir(), name })
    }

    #[cfg(not(feature = "object-store"))]
    fn remote(_: &Path, _: &str, _: bool) -> Result<Self> {
        bail!(
            "this recast cannot write to URLs; build it with --features object-store, or write to \
             a directory"
        );
    }

    /// A new temporary directory beside the place, removed when the value is dropped. Directories of killed
    /// runs are removed first.
    pub(crate) fn stage(&self) -> Result<Staged> {
        #[cfg(feature = "object-store")]
        if let Target::Url(upload) = &self.target {
            upload.probe()?;
        }
        let prefix = format!("{}.recast-tmp-", self.name);
        self.clear(&prefix);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix);
        // With the user's umask, as for every directory; by default only the user would have access.
        #[cfg(unix)]
        if matches!(self.target, Target::Directory { .. }) {
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        }
        let staged = builder.tempdir_in(&self.parent).map_err(anyhow::Error::from);
        let directory = staged.map_err(|error| unwritten(error, &self.parent.display()))?;
        // If directories cannot be locked, those of killed runs stay.
        let lock = File::open(directory.path()).ok().filter(|file| file.try_lock().is_ok());
        Ok(Staged { directory, _lock: lock })
    }

    /// Removes the directories beside the place that have this prefix and that no run holds locked.
    fn clear(&self, prefix: &str) {
        for entry in fs::read_dir(&self.parent).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(prefix))
                && entry.file_type().is_ok_and(|kind| kind.is_dir())
                && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
            {
                // A directory that cannot be removed does no harm.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Moves the staged array to its place. At every moment, a directory holds either the complete array or the
    /// old content.
    #[cfg_attr(not(feature = "object-store"), allow(unused_variables))]
    pub(crate) fn commit(&self, staged: Staged, runtime: &Runtime) -> Result<()> {
        let (path, replaces) = match &self.target {
            Target::Directory { path, replaces } => (path, *replaces),
            #[cfg(feature = "object-store")]
            Target::Url(upload) => return upload.commit(staged.path(), runtime),
        };
        let shown = || path.display().to_string();
        let from = staged.path();
        if replaces {
            // The old array is removed with the temporary directory.
            return exchange(from, path).with_context(shown);
        }
        // Keep anything that appeared there meanwhile: an empty directory would be replaced silently.
        if path.symlink_metadata().is_ok() {
            bail!("{} has appeared during the run; --overwrite replaces an array", shown());
        }
        fs::rename(from, path).with_context(shown)?;
        let _ = staged.directory.keep();
        Ok(())
    }
}

/// A temporary directory, locked while this process lives, so that other runs recognise directories of killed
/// runs.
#[derive(Debug)]
pub struct Staged {
    directory: TempDir,
    _lock: Option<File>,
}

impl Staged {
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Exchanges two directories.
#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> Result<()> {
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
fn exchange_in_steps(one: &Path, other: &Path) -> Result<()> {
    let mut aside = other.as_os_str().to_owned();
    aside.push(format!(".recast-old-{}", std::process::id()));
    let aside = Path::new(&aside);
    fs::rename(other, aside)?;
    if let Err(error) = fs::rename(one, other) {
        if fs::rename(aside, other).is_err() {
            bail!("{error}; the old array is in {}", aside.display());
        }
        return Err(error.into());
    }
    Ok(fs::rename(aside, one)?)
}

/// Says what could not be written; if the disk is full, also the way out.
pub(crate) fn unwritten(error: anyhow::Error, what: &dyn std::fmt::Display) -> anyhow::Error {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let full = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| matches!(cause.kind(), FileTooLarge | QuotaExceeded | StorageFull));
    let hint = if full { " (make room, or name an OUTPUT elsewhere)" } else { "" };
    error.context(format!("writing {what}{hint}"))
}

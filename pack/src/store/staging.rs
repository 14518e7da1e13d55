//! Temporary directories and files in which outputs are written, and what killed runs leave of them.

use std::fs::{self, File, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;

use anyhow::bail;
use tempfile::{NamedTempFile, TempDir};

use crate::error::Result;

/// The mark in the names of temporary directories, after the name of the output.
const MARK: &str = ".recast-tmp-";
/// The mark in the names of old contents that are moved away for a moment.
pub(super) const ASIDE: &str = ".recast-old-";

/// Another run may take a new directory for one of a killed run before it is locked. Each run clears up once, so that a
/// directory is lost this often only if something else removes it.
const ATTEMPTS: usize = 1000;

/// Whether a name is that of a directory beside outputs, which is no node of a group.
pub(super) fn is_beside(name: &str) -> bool {
    name.contains(MARK) || name.contains(ASIDE)
}

/// A temporary directory, locked while this process lives, so that other runs recognise directories of killed
/// runs.
#[derive(Debug)]
pub struct Staged {
    directory: TempDir,
    /// The directory itself, whatever its path is; none if directories cannot be opened. If they cannot be locked, those
    /// of killed runs stay.
    handle: Option<File>,
}

impl Staged {
    /// A new directory for an output with this name, which others may read if `is_shared`.
    pub(super) fn new(parent: &Path, name: &str, is_shared: bool) -> Result<Self> {
        for _ in 0..ATTEMPTS {
            let directory = temporary(parent, name, is_shared)?;
            let handle = File::open(directory.path()).ok();
            let lock = handle.as_ref().map(File::try_lock);
            let staged = Self { directory, handle };
            // Once it is locked and still there, no other run removes it.
            if !matches!(lock, Some(Err(TryLockError::WouldBlock))) && staged.is_there() {
                return Ok(staged);
            }
        }
        bail!("temporary directories disappear there as soon as they are made");
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Whether its path still leads to it.
    fn is_there(&self) -> bool {
        is_there(self.path(), self.handle.as_ref())
    }

    /// Waits until a disk has all of it, so that a power cut after it is moved loses nothing.
    pub(super) fn sync(&self) -> io::Result<()> {
        sync_below(self.path(), self.handle.as_ref())
    }

    /// An error if something else has removed it. Chunks written before are lost then, and those written after it
    /// may be in a new directory at its path.
    pub(super) fn refuse_if_gone(&self) -> Result<()> {
        if self.is_there() {
            return Ok(());
        }
        bail!(
            "{}: another program has removed this temporary directory during the run; run again",
            self.path().display()
        );
    }

    /// Leaves it where it is now.
    pub(super) fn keep(self) {
        let _ = self.directory.keep();
    }
}

/// Whether a path still leads to the file that was opened there.
fn is_there(path: &Path, own: Option<&File>) -> bool {
    let Ok(there) = fs::symlink_metadata(path) else { return false };
    own.is_none_or(|own| own.metadata().is_ok_and(|own| is_same(&own, &there)))
}

/// One request for the whole filesystem: one request for each of many chunks takes far longer.
#[cfg(target_os = "linux")]
fn sync_below(_: &Path, directory: Option<&File>) -> io::Result<()> {
    directory.map_or(Ok(()), |directory| Ok(rustix::fs::syncfs(directory)?))
}

#[cfg(not(target_os = "linux"))]
fn sync_below(path: &Path, _: Option<&File>) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
        if kind.is_dir() {
            sync_below(&path, None)?;
        } else if kind.is_file() {
            File::open(&path)?.sync_all()?;
        }
    }
    sync_folder(path)
}

/// Waits until a disk has the names in a folder, where folders can be opened.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path).map_or(Ok(()), |folder| folder.sync_all())
}

#[cfg(unix)]
fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    true
}

/// A new directory, not yet locked.
fn temporary(parent: &Path, name: &str, is_shared: bool) -> io::Result<TempDir> {
    let prefix = prefix(name);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    #[cfg(unix)]
    if is_shared {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    }
    builder.tempdir_in(parent)
}

/// A new file for an output with this name, locked while it is open, which others may read.
pub(crate) fn temporary_file(parent: &Path, name: &str) -> Result<NamedTempFile> {
    let prefix = prefix(name);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    for _ in 0..ATTEMPTS {
        let file = builder.tempfile_in(parent)?;
        let lock = file.as_file().try_lock();
        if !matches!(lock, Err(TryLockError::WouldBlock))
            && is_there(file.path(), Some(file.as_file()))
        {
            return Ok(file);
        }
    }
    bail!("temporary files disappear there as soon as they are made");
}

/// The beginning of the names of an output's temporary directories on this machine.
fn prefix(name: &str) -> String {
    format!("{}{}", shortened(name), mark_of_machine())
}

/// Names have at most 255 bytes; a temporary one is longer than its output's.
fn shortened(name: &str) -> &str {
    name.get(..name.floor_char_boundary(200)).unwrap_or_default()
}

/// [`MARK`], and a number for this machine. Locks of some cluster filesystems hold on one machine only, so another machine
/// cannot tell whether a run still lives.
fn mark_of_machine() -> String {
    let name = fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    format!("{MARK}{:08x}-", hasher.finish() as u32)
}

/// Removes what killed runs have left in a directory: those that wrote an output of this name, and on this machine those of
/// any other. What a run holds locked stays.
pub(crate) fn clear(parent: &Path, name: &str) {
    let (own, any) = (format!("{}{MARK}", shortened(name)), mark_of_machine());
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_left = |name: &str| name.starts_with(&own) || name.contains(&any);
        if !entry.file_name().to_str().is_some_and(is_left)
            || !entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_file())
        {
            continue;
        }
        let Ok(handle) = File::open(entry.path()) else { continue };
        if handle.try_lock().is_err() {
            continue;
        }
        if handle.metadata().is_ok_and(|metadata| metadata.is_file()) {
            let _ = fs::remove_file(entry.path());
            continue;
        }
        // The directory is moved away whole, so that a run which still writes there notices, and without a new directory for it, so
        // that a run killed here leaves no more than it found.
        let moved = tempfile::Builder::new()
            .prefix(&prefix(name))
            .make_in(parent, |aside| fs::rename(entry.path(), aside));
        if let Ok(aside) = moved.and_then(|moved| Ok(moved.into_temp_path().keep()?)) {
            let _ = fs::remove_dir_all(aside);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn of_runs_that_begin_at_the_same_time_none_removes_the_directory_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let run = |name: &'static str| {
            for _ in 0..200 {
                clear(folder.path(), name);
                let staged = Staged::new(folder.path(), name, true).unwrap();
                fs::write(staged.path().join("chunk"), "1").unwrap();
                clear(folder.path(), name);
                assert!(staged.is_there() && staged.path().join("chunk").exists());
            }
        };
        thread::scope(|scope| {
            for name in ["one", "one", "one", "two", "two", "two"] {
                scope.spawn(move || run(name));
            }
        });
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn a_directory_that_is_removed_or_replaced_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        for is_made_again in [false, true] {
            let staged = Staged::new(folder.path(), "one", true).unwrap();
            staged.refuse_if_gone().unwrap();
            // The directory stays open, so that the new one is another.
            fs::remove_dir(staged.path()).unwrap();
            if is_made_again {
                fs::create_dir(staged.path()).unwrap();
            }
            let error = staged.refuse_if_gone().unwrap_err().to_string();
            assert!(error.contains("removed this temporary directory during the run"), "{error}");
        }
    }

    #[test]
    fn what_killed_runs_left_goes_away_whatever_they_wrote_but_not_that_of_other_machines() {
        let folder = tempfile::tempdir().unwrap();
        let left = |name: &str| {
            fs::create_dir_all(folder.path().join(name).join("c/0")).unwrap();
        };
        let other = format!("other.zarr{}abcdef", mark_of_machine());
        let foreign = format!("other.zarr{MARK}00000000-abcdef");
        for name in ["own.zarr.recast-tmp-abcdef", &other, &foreign, "other.zarr", "own.zarr"] {
            left(name);
        }
        let living = Staged::new(folder.path(), "living.zarr", true).unwrap();
        clear(folder.path(), "own.zarr");
        let living = living.path().file_name().unwrap().to_str().unwrap();
        let mut expected = vec![living, &foreign, "other.zarr", "own.zarr"];
        expected.sort_unstable();
        let mut found = names(folder.path());
        found.sort();
        assert_eq!(found, expected);
    }
}

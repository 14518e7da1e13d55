//! Copies or links stored bytes, unchanged.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use anyhow::Context;
use zarrs::storage::StoreKey;

use super::files::open_regular;
use super::local::file_of;
use super::location::Location;
use super::names::SafePath;
use crate::error::Result;
use crate::runtime::Runtime;

/// How a chunk gets from one array to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// As a copy.
    Copy,
    /// As another name of the same file, if the filesystem supports it. What a link leads to is copied: it belongs to others.
    Link,
}

/// What was transferred.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transferred {
    pub(crate) copied: u64,
    pub(crate) linked: u64,
    pub(crate) bytes: u64,
}

/// Bytes that are copied before an interruption is noticed.
const NOTICED_AFTER: u64 = 16 << 20;

/// A copy that is written until the job is to end.
struct Interruptible<'a> {
    copy: File,
    runtime: &'a Runtime,
}

impl Write for Interruptible<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.runtime.check_interrupt().map_err(io::Error::other)?;
        self.copy.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.copy.flush()
    }
}

/// Transfers a key of a storage to a path in a folder, if it exists: its file, if it has one, or else its bytes.
pub(crate) fn transferred(
    from: &Location,
    key: &StoreKey,
    folder: &Path,
    path: &SafePath,
    transfer: Transfer,
    runtime: &Runtime,
) -> Result<Transferred> {
    let none = Transferred::default();
    let place = &path.inside(folder)?;
    let make_parent = || place.parent().map_or(Ok(()), fs::create_dir_all);
    // Two names may be one to the filesystem, which must not lose the first.
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let Some(file) = from.file(key) else {
        let make = || -> Result<Interruptible<'_>> {
            make_parent()?;
            Ok(Interruptible { copy: options.open(place)?, runtime })
        };
        let copied = from.copy(key, runtime.max_memory.is_some(), make);
        let copied = copied.or_else(|error| runtime.check_interrupt().and(Err(error)))?;
        return Ok(copied.map_or(none, |bytes| Transferred { copied: 1, bytes, ..none }));
    };
    // A link would lead elsewhere from its new place.
    let Some(file) = file_of(&file)? else { return Ok(none) };
    let (mut source, bytes) = open_regular(&file).with_context(|| file.display().to_string())?;
    make_parent()?;
    // Without links, or across filesystems, copy instead.
    if transfer == Transfer::Link
        && !from.is_behind_link(key)
        && fs::hard_link(&file, place).is_ok()
    {
        return Ok(Transferred { linked: 1, bytes, ..none });
    }
    // The copy belongs to the caller: it is as private as the file, and runs as nobody else.
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(source.metadata()?.permissions().mode() & 0o777);
    }
    let mut copy = options.open(place)?;
    while let Some(length) = next_piece(&source, &copy)? {
        runtime.check_interrupt()?;
        if io::copy(&mut (&source).take(length), &mut copy)? < length {
            break;
        }
    }
    // The file may end in a hole.
    let end = source.stream_position()?;
    if copy.metadata()?.len() < end {
        copy.set_len(end)?;
    }
    Ok(Transferred { copied: 1, bytes, ..none })
}

/// The length of the next piece of a file, to which it and its copy are moved; `None` at the end. Holes are left out: a
/// sparse file of any size takes few blocks of a disk, and so does its copy.
#[cfg(target_os = "linux")]
fn next_piece(mut source: &File, mut copy: &File) -> io::Result<Option<u64>> {
    use rustix::fs::{SeekFrom, seek};
    use rustix::io::Errno;

    let at = source.stream_position()?;
    let data = match seek(source, SeekFrom::Data(at)) {
        Ok(data) => data,
        Err(Errno::NXIO) => {
            source.seek(io::SeekFrom::End(0))?;
            return Ok(None);
        }
        // The file system knows of no holes.
        Err(_) => return Ok(Some(NOTICED_AFTER)),
    };
    let hole = seek(source, SeekFrom::Hole(data)).map_err(io::Error::from)?;
    source.seek(io::SeekFrom::Start(data))?;
    copy.seek(io::SeekFrom::Start(data))?;
    Ok(Some(hole.saturating_sub(data).min(NOTICED_AFTER)))
}

/// The length of the next piece of a file.
#[cfg(not(target_os = "linux"))]
fn next_piece(_: &File, _: &File) -> io::Result<Option<u64>> {
    Ok(Some(NOTICED_AFTER))
}

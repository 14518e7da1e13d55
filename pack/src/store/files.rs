//! Files that a store consists of: regular ones. A pipe would keep its reader waiting, a device may do anything.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use zarrs::storage::byte_range::{ByteRange, InvalidByteRangeError};
use zarrs::storage::{Bytes, StorageError};

fn refuse_special(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let text = format!("{} where a file should be; remove it", special(kind));
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

/// What something is that is no file.
fn special(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a pipe (FIFO)";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_block_device() || kind.is_char_device() {
            return "a device";
        }
    }
    if kind.is_dir() { "a directory" } else { "something else" }
}

/// Opens a regular file for reading, through links. Its length comes with it.
///
/// # Errors
/// Anything else, for which nobody waits.
pub(crate) fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // For a pipe, the wait for a writer would never end.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    #[cfg(not(unix))]
    refuse_special(fs::metadata(path)?.file_type())?;
    let file = options.open(path).or_else(|error| {
        // A socket cannot be opened at all.
        refuse_special(fs::metadata(path).map_or(Err(error), |one| Ok(one.file_type()))?)?;
        options.open(path)
    })?;
    let metadata = file.metadata()?;
    refuse_special(metadata.file_type())?;
    Ok((file, metadata.len()))
}

/// The bytes of a range of a file.
pub(super) fn read_range(mut file: impl Read + Seek, range: &Range<u64>) -> io::Result<Bytes> {
    file.seek(SeekFrom::Start(range.start))?;
    let length = range.end - range.start;
    let mut bytes = Vec::new();
    let allocated =
        usize::try_from(length).is_ok_and(|length| bytes.try_reserve_exact(length).is_ok());
    if !allocated {
        let text = format!("there is no memory for the {length} bytes of it");
        return Err(io::Error::new(io::ErrorKind::OutOfMemory, text));
    }
    if file.take(length).read_to_end(&mut bytes)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes.into())
}

/// A range of something with this many bytes.
///
/// # Errors
/// The range ends beyond it.
pub(super) fn range_of(range: ByteRange, size: u64) -> Result<Range<u64>, StorageError> {
    let ends = match range {
        ByteRange::FromStart(start, None) => Some((start, size)),
        ByteRange::FromStart(start, Some(length)) => {
            start.checked_add(length).map(|end| (start, end))
        }
        ByteRange::Suffix(length) => size.checked_sub(length).map(|start| (start, size)),
    };
    match ends {
        Some((start, end)) if start <= end && end <= size => Ok(start..end),
        _ => Err(InvalidByteRangeError::new(range, size).into()),
    }
}

/// A range of bytes that are in memory.
pub(super) fn part_of(all: &Bytes, range: ByteRange) -> Result<Bytes, StorageError> {
    let range = range_of(range, all.len() as u64)?;
    Ok(all.slice(range.start as usize..range.end as usize))
}

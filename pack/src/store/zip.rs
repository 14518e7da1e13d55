//! A zip file as a store.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::{Bound, Range};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, anyhow, bail};
use positioned_io::SizeCursor;
use zarrs::storage::byte_range::ByteRangeIterator;
use zarrs::storage::{
    Bytes, ListableStorageTraits, MaybeBytesIterator, ReadableStorageTraits, StorageError,
    StoreKey, StoreKeys, StoreKeysPrefixes, StorePrefix,
};
use zip::read::{ZipArchiveMetadata, ZipFileEntry};
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive, ZipReadOptions};

use super::files::{open_regular, part_of, range_of, read_range};
use super::names::{DOCUMENTS, SafePath};
use crate::error::Result;

/// Deflate makes no more of a byte.
const MOST_OF_A_BYTE: u64 = 1032;

/// The parts of a local header that have a fixed size, and where the length of the name stands among them, before that of the
/// extra fields.
const LEAST_HEADER: u64 = 30;
const NAME_LENGTH: u64 = 26;

/// Those of a header in the list of entries, and what it begins with.
const LEAST_LISTED: u64 = 46;
const LISTED_NAME_LENGTH: u64 = 28;
const LISTED: &[u8] = b"PK\x01\x02";

/// A zip file. Several threads read it at the same time, each at its own position.
pub(crate) struct Zip {
    file: File,
    metadata: Arc<ZipArchiveMetadata>,
    /// The numbers of the entries that are no folders, by their names.
    entries: BTreeMap<String, usize>,
    /// What is wrong with a name, once all are checked: that takes a read for each entry.
    wrong_name: OnceLock<Option<String>>,
}

impl Zip {
    /// Reads the list of entries.
    ///
    /// # Errors
    /// No zip file; entries whose names lead elsewhere, that share bytes, or claim more bytes than can be in them; more entries
    /// than it says.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let (file, _) = open_regular(path)?;
        let archive = ZipArchive::new(BufReader::new(SizeCursor::new(&file)));
        let archive = archive.map_err(|error| match error {
            // Or "Could not find EOCD", which users cannot know.
            ZipError::InvalidArchive(text) if text.contains("EOCD") => {
                anyhow!("not a readable zip file, or the beginning of one: the list of entries at its end is missing")
            }
            error => anyhow!(error).context("not a readable zip file"),
        })?;
        let (metadata, end) = (archive.metadata(), archive.central_directory_start());
        let (mut entries, mut places) = (BTreeMap::new(), Vec::new());
        let mut last = None;
        for number in 0..metadata.len() {
            let entry = metadata.entry(number)?;
            last = last.max(Some(entry.central_header_start()));
            let name = name(&entry)?;
            // A folder is where its files are.
            if name.ends_with('/') {
                continue;
            }
            let path = SafePath::new(&name).context("not a readable zip file")?;
            let length_at = entry.central_header_start().saturating_add(LISTED_NAME_LENGTH);
            let header = LEAST_HEADER + name_length(&file, length_at)?;
            places.push((
                entry.header_start(),
                header.saturating_add(entry.compressed_size()),
                path.clone(),
            ));
            let most = match entry.compression() {
                CompressionMethod::Stored => entry.compressed_size(),
                _ => entry.compressed_size().saturating_mul(MOST_OF_A_BYTE),
            };
            if entry.size() > most {
                let (claimed, stored) = (entry.size(), entry.compressed_size());
                bail!(
                    "damaged zip file: the entry {name:?} claims to have {claimed} bytes in {stored}"
                );
            }
            if entries.insert(path.to_string(), number).is_some() {
                bail!(
                    "damaged zip file: it has two entries {name:?}, with different bytes for their name"
                );
            }
        }
        if last.map_or(Ok(false), |last| is_followed(&file, last))? {
            let count = metadata.len();
            bail!(
                "damaged zip file: it says that it has {count} entries, and has more (some programs cannot count beyond \
                 65535); make it anew, with Zip64"
            );
        }
        places.sort_unstable();
        places.push((end, 0, SafePath::default()));
        for pair in places.windows(2) {
            if let [(start, length, name), (next, _, other)] = pair
                && start.saturating_add(*length) > *next
            {
                let other = if other.is_empty() { "the list of entries" } else { other };
                bail!("damaged zip file: the entry {name} reaches into {other}");
            }
        }
        Ok(Self { file, metadata, entries, wrong_name: OnceLock::new() })
    }

    /// The entry of a key.
    ///
    /// # Errors
    /// An entry that is no file, cannot be read, or has another name in its header; one behind a link.
    fn entry(&self, key: &str) -> Result<Option<ZipFileEntry<'_>>, StorageError> {
        let Some(number) = self.entries.get(key) else {
            let above = key.match_indices('/').filter_map(|(end, _)| key.get(..end));
            for name in above {
                if let Some(number) = self.entries.get(name) {
                    refuse_link(name, &self.numbered(*number)?)?;
                }
            }
            // A chunk may be there by another name. Documents are looked for that no store has.
            if !DOCUMENTS.iter().any(|document| key.ends_with(document)) {
                self.check_names()?;
            }
            return Ok(None);
        };
        let entry = self.numbered(*number)?;
        refuse_link(key, &entry)?;
        let method = entry.compression();
        if entry.encrypted() {
            return Err(unread(key, "it is encrypted; make the zip file without a password"));
        }
        if ![CompressionMethod::Stored, CompressionMethod::Deflated].contains(&method) {
            let text = format!(
                "it is compressed as {method}; make the zip file with stored or deflated entries"
            );
            return Err(unread(key, text));
        }
        self.refuse_other_name(key, &entry)?;
        Ok(Some(entry))
    }

    /// Refuses a zip file in which an entry has another name than its header.
    fn check_names(&self) -> Result<(), StorageError> {
        let wrong = self.wrong_name.get_or_init(|| {
            self.entries.iter().find_map(|(key, number)| {
                let checked = self.numbered(*number);
                let checked = checked.and_then(|entry| self.refuse_other_name(key, &entry));
                checked.err().map(|error| error.to_string())
            })
        });
        wrong.as_ref().map_or(Ok(()), |wrong| Err(StorageError::Other(wrong.clone())))
    }

    /// Refuses an entry whose header has another name than the list of entries.
    fn refuse_other_name(&self, key: &str, entry: &ZipFileEntry<'_>) -> Result<(), StorageError> {
        let names = |start, lengths_at, size| {
            names(&self.file, start, lengths_at, size).map_err(|error| unread(key, error))
        };
        let listed = names(entry.central_header_start(), LISTED_NAME_LENGTH, LEAST_LISTED)?;
        let local = names(entry.header_start(), NAME_LENGTH, LEAST_HEADER)?;
        let is_same = listed.name == local.name
            && match (&listed.unicode_path, &local.unicode_path) {
                (Some(listed), Some(local)) => listed == local,
                // Then the name itself is in the encoding of some system.
                (Some(listed_path), None) => !local.name.is_ascii() || *listed_path == local.name,
                (None, _) => true,
            };
        // Readers take no Unicode path of another name.
        if is_same || listed.name == local.name && listed.name == entry.name_raw() {
            return Ok(());
        }
        Err(unread(key, "damaged zip file: the header of its bytes has another name"))
    }

    fn numbered(&self, number: usize) -> Result<ZipFileEntry<'_>, StorageError> {
        self.metadata.entry(number).map_err(|error| StorageError::Other(error.to_string()))
    }

    /// The bytes of an entry, as they are unpacked and compared with their checksum.
    fn unpack<T>(
        &self,
        key: &str,
        entry: ZipFileEntry<'_>,
        work: impl FnOnce(&mut dyn Read) -> io::Result<T>,
    ) -> Result<T, StorageError> {
        let mut reader = SizeCursor::new(&self.file);
        let unpacked = entry.with_reader(&mut reader, ZipReadOptions::new());
        let mut unpacked = unpacked.map_err(|error| unread(key, error))?;
        work(&mut unpacked).map_err(|error| unread(key, error))
    }

    fn whole(&self, key: &str, entry: ZipFileEntry<'_>) -> Result<Bytes, StorageError> {
        // What is claimed is not trusted with memory before it has come.
        const MOST_AT_ONCE: u64 = 16 << 20;
        let size = entry.size();
        let bytes = self.unpack(key, entry, |unpacked| {
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(size.min(MOST_AT_ONCE) as usize)?;
            unpacked.read_to_end(&mut bytes)?;
            Ok(bytes)
        })?;
        complete(key, bytes.len() as u64, size)?;
        Ok(bytes.into())
    }

    /// Where the bytes of a stored entry begin in the zip file.
    fn start(&self, key: &str, entry: ZipFileEntry<'_>) -> Result<u64, StorageError> {
        let mut reader = SizeCursor::new(&self.file);
        let file = entry.with_reader(&mut reader, ZipReadOptions::new());
        let start = file.map_err(|error| unread(key, error))?.data_start();
        start.ok_or_else(|| unread(key, "its place is not known"))
    }

    /// Copies a key, which may be larger than memory. Returns its bytes; `None` if it is not there.
    pub(super) fn copy(&self, key: &StoreKey, to: &mut dyn Write) -> Result<Option<u64>> {
        let Some(entry) = self.entry(key.as_str())? else { return Ok(None) };
        let size = entry.size();
        // An error in writing is none of the zip file.
        let mut written = Ok(0);
        self.unpack(key.as_str(), entry, |unpacked| {
            let mut buffer = vec![0; 1 << 16];
            let mut length = 0_u64;
            loop {
                let part = match unpacked.read(&mut buffer)? {
                    0 => break,
                    length => buffer.get(..length).unwrap_or_default(),
                };
                length += part.len() as u64;
                written = to.write_all(part).map(|()| length);
                if written.is_err() {
                    break;
                }
            }
            Ok(())
        })?;
        let written = written?;
        complete(key.as_str(), written, size)?;
        Ok(Some(written))
    }

    /// The names that begin with a text, in order.
    fn below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a String, &'a usize)> {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let all = self.entries.range::<str, _>(from);
        all.take_while(move |(name, _)| name.starts_with(prefix))
    }
}

/// The length of a name, which stands in two bytes at a place.
fn name_length(file: &File, place: u64) -> io::Result<u64> {
    let bytes = read_range(SizeCursor::new(file), &(place..place.saturating_add(2)))?;
    Ok(little_endian(&bytes))
}

/// The names that a header has for an entry.
struct Names {
    name: Vec<u8>,
    unicode_path: Option<Vec<u8>>,
}

/// Those of the header at `start`, in which their lengths stand at `lengths_at` and the names behind `size` bytes.
fn names(file: &File, start: u64, lengths_at: u64, size: u64) -> io::Result<Names> {
    let read = |start: u64, length: u64| {
        read_range(SizeCursor::new(file), &(start..start.saturating_add(length)))
    };
    let lengths = read(start.saturating_add(lengths_at), 4)?;
    let (of_name, of_extra) = lengths.split_at_checked(2).unwrap_or_default();
    let of_name = little_endian(of_name);
    let all = read(start.saturating_add(size), of_name + little_endian(of_extra))?;
    let (name, extra) = all.split_at_checked(of_name as usize).unwrap_or_default();
    Ok(Names { name: name.to_vec(), unicode_path: unicode_path(extra).map(<[u8]>::to_vec) })
}

/// The path in Info-ZIP's extra field 0x7075, behind a version and the checksum of the name that the path stands for.
fn unicode_path(mut extra: &[u8]) -> Option<&[u8]> {
    loop {
        let (head, rest) = extra.split_at_checked(4)?;
        let (tag, size) = head.split_at_checked(2)?;
        let (field, rest) = rest.split_at_checked(little_endian(size) as usize)?;
        if little_endian(tag) == 0x7075 {
            return field.get(5..);
        }
        extra = rest;
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rfold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// Whether the header of an entry is followed by another one.
fn is_followed(file: &File, start: u64) -> io::Result<bool> {
    let header = read_range(SizeCursor::new(file), &(start..start.saturating_add(LEAST_LISTED)))?;
    // Those of the name, of extra fields and of a comment.
    let lengths = header.get(28..34).unwrap_or_default().chunks_exact(2);
    let lengths = lengths.map(little_endian);
    let mut reader = SizeCursor::new(file);
    reader.seek(SeekFrom::Start(start + LEAST_LISTED + lengths.sum::<u64>()))?;
    let mut next = Vec::new();
    reader.take(LISTED.len() as u64).read_to_end(&mut next)?;
    Ok(next == LISTED)
}

/// The name of an entry. Programs that write UTF-8 need not say so.
fn name(entry: &ZipFileEntry<'_>) -> Result<String> {
    if let Ok(name) = std::str::from_utf8(entry.name_raw()) {
        return Ok(name.to_owned());
    }
    Ok(entry.name().context("not a readable zip file")?.into_owned())
}

/// In Zarr, a chunk that is not there has the fill value, so a link is an error.
fn refuse_link(name: &str, entry: &ZipFileEntry<'_>) -> Result<(), StorageError> {
    if entry.is_symlink() {
        let text = "it is a link; make the zip file with what the link leads to (zip without -y)";
        return Err(unread(name, text));
    }
    Ok(())
}

fn unread(key: &str, reason: impl std::fmt::Display) -> StorageError {
    StorageError::Other(format!("the entry {key:?} of the zip file cannot be read: {reason}"))
}

fn complete(key: &str, length: u64, size: u64) -> Result<(), StorageError> {
    if length == size {
        return Ok(());
    }
    Err(unread(key, format_args!("it has {length} bytes instead of {size}; it is damaged")))
}

impl ReadableStorageTraits for Zip {
    fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        byte_ranges: ByteRangeIterator<'a>,
    ) -> Result<MaybeBytesIterator<'a>, StorageError> {
        let key = key.as_str();
        let Some(entry) = self.entry(key)? else { return Ok(None) };
        let size = entry.size();
        let ranges = byte_ranges.map(|range| Ok((range, range_of(range, size)?)));
        let ranges = ranges.collect::<Result<Vec<_>, StorageError>>()?;
        let is_whole = ranges.iter().any(|(_, range)| *range == (0..size));
        if entry.compression() != CompressionMethod::Stored || is_whole {
            let all = self.whole(key, entry)?;
            return Ok(Some(Box::new(
                ranges.into_iter().map(move |(range, _)| part_of(&all, range)),
            )));
        }
        let start = self.start(key, entry)?;
        let part = move |(_, range): (_, Range<u64>)| {
            let range = start.saturating_add(range.start)..start.saturating_add(range.end);
            let bytes = read_range(SizeCursor::new(&self.file), &range);
            bytes.map_err(|error| {
                StorageError::Other(format!("the zip file cannot be read: {error}"))
            })
        };
        Ok(Some(Box::new(ranges.into_iter().map(part))))
    }

    fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        Ok(self.entry(key.as_str())?.map(|entry| entry.size()))
    }

    fn supports_get_partial(&self) -> bool {
        true
    }
}

impl ListableStorageTraits for Zip {
    fn list(&self) -> Result<StoreKeys, StorageError> {
        self.list_prefix(&StorePrefix::root())
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<StoreKeys, StorageError> {
        self.check_names()?;
        self.below(prefix.as_str()).map(|(name, _)| Ok(StoreKey::new(name)?)).collect()
    }

    fn list_dir(&self, prefix: &StorePrefix) -> Result<StoreKeysPrefixes, StorageError> {
        self.check_names()?;
        let (mut keys, mut folders) = (Vec::new(), BTreeSet::new());
        for (name, _) in self.below(prefix.as_str()) {
            match name.get(prefix.as_str().len()..).unwrap_or_default().split_once('/') {
                None => keys.push(StoreKey::new(name)?),
                Some((folder, _)) => {
                    folders.insert(folder);
                }
            }
        }
        let folder = |name| Ok(StorePrefix::new(format!("{}{name}/", prefix.as_str()))?);
        let folders = folders.into_iter().map(folder).collect::<Result<_, StorageError>>()?;
        Ok(StoreKeysPrefixes::new(keys, folders))
    }

    /// As in `size_key`, before the zip file's own compression.
    fn size_prefix(&self, prefix: &StorePrefix) -> Result<u64, StorageError> {
        // What the file claims may be beyond all numbers.
        self.below(prefix.as_str()).try_fold(0_u64, |sum, (_, number)| {
            Ok(sum.saturating_add(self.numbered(*number)?.size()))
        })
    }
}

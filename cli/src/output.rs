//! Writing an array: to a temporary directory beside its place, and there when it is whole.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use recast_kernels::{ElementType, Scalar};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use zarr_recast::{Codec, fill_value};
use zarrs::array::{
    Array, ArrayBytes, ArrayMetadata, ArrayShardedExt, ArrayToBytesCodecTraits, CodecOptions,
};

use crate::args::Compressor;
use crate::array::{Region, Source};
use crate::carry::name_dimensions;
use crate::store::{Kind, archive, kind, url};

/// A place for an array, found fit for it.
#[derive(Debug)]
pub(crate) struct Destination {
    path: PathBuf,
    parent: PathBuf,
    name: String,
    replaces: bool,
}

impl Destination {
    /// Checks that an array may be written to `output` while `input` is read.
    pub(crate) fn new(input: &Path, output: &Path, overwrite: bool) -> Result<Self> {
        Self::check(input, output, overwrite).with_context(|| output.display().to_string())
    }

    fn check(input: &Path, output: &Path, overwrite: bool) -> Result<Self> {
        let is_zip = output.extension().is_some_and(|extension| extension == "zip");
        if is_zip || url(output).is_some() || archive(output).is_some() {
            bail!("URLs and zip files can only be read; write to a directory");
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
        Ok(Self { path, parent, name, replaces })
    }

    /// A new temporary directory beside the place; it goes away with the value. What runs that were
    /// killed have left there goes away before.
    pub(crate) fn stage(&self) -> Result<Staged> {
        let prefix = format!("{}.recast-tmp-", self.name);
        self.clear(&prefix);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix);
        // Less the user's umask, as for every directory; the default would be for the user alone.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let staged = builder.tempdir_in(&self.parent).map_err(anyhow::Error::from);
        let directory = staged.map_err(|error| unwritten(error, &self.parent.display()))?;
        // Where directories cannot be locked, what is left of a killed run stays.
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
                // What cannot be removed stands in nobody's way.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Moves what was staged to its place; at any moment that is the whole array, or what was there.
    pub(crate) fn commit(&self, staged: Staged) -> Result<()> {
        let shown = || self.path.display().to_string();
        let from = staged.path();
        if self.replaces {
            // The old array goes away with the temporary directory.
            return exchange(from, &self.path).with_context(shown);
        }
        // What appeared there meanwhile stays: an empty directory would be replaced silently.
        if self.path.symlink_metadata().is_ok() {
            bail!("{} has appeared meanwhile; --overwrite replaces an array", shown());
        }
        fs::rename(from, &self.path).with_context(shown)?;
        let _ = staged.directory.keep();
        Ok(())
    }
}

/// A temporary directory, locked as long as this process lives: so others know what is left of one
/// that was killed.
#[derive(Debug)]
pub(crate) struct Staged {
    directory: TempDir,
    _lock: Option<File>,
}

impl Staged {
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Puts one directory in the place of another, which then is the first's.
#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        // Not on every file system.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => exchange_in_steps(one, other),
        result => Ok(result?),
    }
}

#[cfg(not(target_os = "linux"))]
use exchange_in_steps as exchange;

/// As `exchange`, but for a moment nothing is in the place, and what was there is beside it under a
/// name that no run clears.
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

/// Says what could not be written, and where the disk is the reason, the way out.
pub(crate) fn unwritten(error: anyhow::Error, what: &dyn std::fmt::Display) -> anyhow::Error {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let full = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| matches!(cause.kind(), FileTooLarge | QuotaExceeded | StorageFull));
    let hint = if full { " (make room, or name an OUTPUT elsewhere)" } else { "" };
    error.context(format!("writing {what}{hint}"))
}

/// Writes the chunks of an array that another one is the model of.
pub(crate) struct Writer {
    /// The array as the codecs after the value codecs see it; it lies nowhere.
    stored: Array<()>,
    fill: Scalar,
    document: Value,
    options: CodecOptions,
}

/// What becomes of an array's elements on their way to the writer.
pub(crate) struct Encoding<'a> {
    /// Their type and the fill value, after the value codecs.
    pub(crate) element_type: ElementType,
    pub(crate) fill_value: Scalar,
    /// The value codecs.
    pub(crate) codecs: &'a [Codec],
    pub(crate) compressor: Compressor,
}

impl Writer {
    /// Prepares to write an array with shape, chunks and names like those of `model`.
    pub(crate) fn new(
        model: &Source,
        encoding: &Encoding<'_>,
        attributes: Map<String, Value>,
    ) -> Result<Self> {
        let Encoding { element_type, fill_value, codecs, compressor } = *encoding;
        let array = model.array();
        let inner = plain_codecs(element_type, compressor);
        let inner = match array.is_sharded().then(|| array.effective_subchunk_shape()).flatten() {
            Some(shape) => vec![json!({"name": "sharding_indexed", "configuration": {
                "chunk_shape": shape,
                "codecs": inner,
                "index_codecs": [
                    {"name": "bytes", "configuration": {"endian": "little"}},
                    {"name": "crc32c"},
                ],
                "index_location": "end",
            }})],
            None => inner,
        };
        let mut document = json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": array.shape(),
            "data_type": element_type.name(),
            "chunk_grid": array.chunk_grid().metadata(),
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": fill_value::to_json(fill_value),
            "codecs": inner.clone(),
        });
        let metadata: ArrayMetadata = serde_json::from_value(document.clone())?;
        let stored = Array::new_with_metadata(Arc::new(()), "/", metadata)?;

        let all: Vec<Value> = codecs.iter().map(Codec::to_json).chain(inner).collect();
        if let Some(object) = document.as_object_mut() {
            object.insert("data_type".into(), model.element_type().name().into());
            object.insert("fill_value".into(), fill_value::to_json(model.fill_value()));
            object.insert("codecs".into(), all.into());
            if let Some(names) = array.dimension_names() {
                object.insert("dimension_names".into(), serde_json::to_value(names)?);
            }
            object.insert("attributes".into(), attributes.into());
            name_dimensions(object);
        }
        let options = CodecOptions::default().with_concurrent_target(1);
        Ok(Self { stored, fill: fill_value, document, options })
    }

    /// The codecs of the array, all of them.
    pub(crate) fn codecs(&self) -> &Value {
        self.document.get("codecs").unwrap_or(&Value::Null)
    }

    /// Writes the encoded elements of a region into the directory of the array, unless all are the fill
    /// value. Returns the bytes stored.
    pub(crate) fn write(&self, directory: &Path, region: &Region, elements: &[u8]) -> Result<u64> {
        let write = || -> Result<u64> {
            let Some(encoded) = self.encode(region, elements)? else { return Ok(0) };
            let path = directory.join(self.stored.chunk_key(&region.chunk).as_str());
            let file = File::create(&path).or_else(|error| match path.parent() {
                Some(parent) if error.kind() == io::ErrorKind::NotFound => {
                    fs::create_dir_all(parent)?;
                    File::create(&path)
                }
                _ => Err(error),
            });
            file?.write_all(&encoded)?;
            Ok(encoded.len() as u64)
        };
        write().map_err(|error| unwritten(error, &format_args!("chunk {:?}", region.chunk)))
    }

    /// The bytes that [`Self::write`] would store.
    pub(crate) fn size(&self, region: &Region, elements: &[u8]) -> Result<u64> {
        Ok(self.encode(region, elements)?.map_or(0, |encoded| encoded.len() as u64))
    }

    /// A chunk as it is stored; none if all its elements are the fill value.
    fn encode<'a>(&self, region: &Region, elements: &'a [u8]) -> Result<Option<Cow<'a, [u8]>>> {
        let elements: ArrayBytes<'a> = ArrayBytes::new_flen(region.pad(elements, self.fill)?);
        if elements.is_fill_value(self.stored.fill_value()) {
            return Ok(None);
        }
        let shape = self.stored.chunk_shape(&region.chunk)?;
        let (data_type, fill) = (self.stored.data_type(), self.stored.fill_value());
        let codecs = self.stored.codecs();
        let encoded = codecs.encode(elements, &shape, data_type, fill, &self.options)?;
        Ok(Some(encoded))
    }

    /// Writes the metadata, which makes the directory an array.
    pub(crate) fn finish(&self, directory: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(&self.document)?;
        text.push('\n');
        fs::write(directory.join("zarr.json"), text)
            .map_err(|error| unwritten(error.into(), &"zarr.json"))
    }
}

/// The codecs after the value codecs.
fn plain_codecs(element_type: ElementType, compressor: Compressor) -> Vec<Value> {
    let size = element_type.size();
    let bytes = if size == 1 {
        json!({"name": "bytes"})
    } else {
        json!({"name": "bytes", "configuration": {"endian": "little"}})
    };
    let compressor = match compressor {
        Compressor::None => return vec![bytes],
        Compressor::Zstd(level) => {
            json!({"name": "zstd", "configuration": {"level": level, "checksum": false}})
        }
        Compressor::Gzip(level) => json!({"name": "gzip", "configuration": {"level": level}}),
        Compressor::Blosc(level) => json!({"name": "blosc", "configuration": {
            "cname": "zstd", "clevel": level, "shuffle": "shuffle", "typesize": size, "blocksize": 0,
        }}),
    };
    vec![bytes, compressor]
}

/// The bytes of all files below a directory.
pub(crate) fn size_on_disk(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => size_on_disk(&entry.path()),
            Ok(_) => entry.metadata().map_or(0, |metadata| metadata.len()),
            Err(_) => 0,
        })
        .sum()
}

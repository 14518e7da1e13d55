//! Writing an array: to a temporary directory beside its place, and there when it is whole.

use std::fs;
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
use zarrs::filesystem::FilesystemStore;

use crate::array::{Kind, Region, Source, kind};

/// Fast to write, and fast to read at any level.
const ZSTD_LEVEL: i32 = 5;

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

    /// A new temporary directory beside the place; it goes away with the value.
    pub(crate) fn stage(&self) -> Result<TempDir> {
        self.temporary("recast-tmp")
    }

    fn temporary(&self, purpose: &str) -> Result<TempDir> {
        let prefix = format!("{}.{purpose}-", self.name);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix);
        // Less the user's umask, as for every directory; the default would be for the user alone.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        builder
            .tempdir_in(&self.parent)
            .with_context(|| format!("nothing can be written to {}", self.parent.display()))
    }

    /// Moves what was staged to its place.
    pub(crate) fn commit(&self, staged: TempDir) -> Result<()> {
        let shown = || self.path.display().to_string();
        if !self.replaces {
            // What appeared there meanwhile stays: an empty directory would be replaced silently.
            if self.path.symlink_metadata().is_ok() {
                bail!("{} has appeared meanwhile; --overwrite replaces an array", shown());
            }
            fs::rename(staged.path(), &self.path).with_context(shown)?;
            let _ = staged.keep();
            return Ok(());
        }
        let old = self.temporary("recast-old")?;
        let aside = old.path().join(&self.name);
        fs::rename(&self.path, &aside).with_context(shown)?;
        if let Err(error) = fs::rename(staged.path(), &self.path) {
            let restored = fs::rename(&aside, &self.path);
            if restored.is_err() {
                // The old array must not go away with its temporary directory.
                let kept = old.keep();
                bail!("{}: {error}; the old array is in {}", shown(), kept.display());
            }
            return Err(error).with_context(shown);
        }
        let _ = staged.keep();
        Ok(())
    }
}

/// Writes the chunks of an array that another one is the model of.
pub(crate) struct Writer {
    directory: PathBuf,
    /// The array as the codecs after the value codecs see it.
    stored: Array<FilesystemStore>,
    store: Arc<FilesystemStore>,
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
}

impl Writer {
    /// Prepares to write into a directory, with shape, chunks and names like those of `model`.
    pub(crate) fn new(
        directory: &Path,
        model: &Source,
        encoding: &Encoding<'_>,
        attributes: Map<String, Value>,
    ) -> Result<Self> {
        let Encoding { element_type, fill_value, codecs } = *encoding;
        let array = model.array();
        let inner = plain_codecs(element_type);
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
        let store = Arc::new(FilesystemStore::new(directory)?);
        let metadata: ArrayMetadata = serde_json::from_value(document.clone())?;
        let stored = Array::new_with_metadata(Arc::clone(&store), "/", metadata)?;

        let all: Vec<Value> = codecs.iter().map(Codec::to_json).chain(inner).collect();
        if let Some(object) = document.as_object_mut() {
            object.insert("data_type".into(), model.element_type().name().into());
            object.insert("fill_value".into(), fill_value::to_json(model.fill_value()));
            object.insert("codecs".into(), all.into());
            if let Some(names) = array.dimension_names() {
                object.insert("dimension_names".into(), serde_json::to_value(names)?);
            }
            object.insert("attributes".into(), attributes.into());
        }
        let options = CodecOptions::default().with_concurrent_target(1);
        let directory = directory.to_owned();
        Ok(Self { directory, stored, store, fill: fill_value, document, options })
    }

    /// The codecs of the array, all of them.
    pub(crate) fn codecs(&self) -> &Value {
        self.document.get("codecs").unwrap_or(&Value::Null)
    }

    /// Writes the encoded elements of a region, unless all are the fill value. Returns the bytes
    /// stored.
    pub(crate) fn write(&self, region: &Region, elements: Vec<u8>) -> Result<u64> {
        let write = || -> Result<u64> {
            let elements: ArrayBytes<'_> = ArrayBytes::new_flen(region.pad(elements, self.fill)?);
            if elements.is_fill_value(self.stored.fill_value()) {
                return Ok(0);
            }
            let shape = self.stored.chunk_shape(&region.chunk)?;
            let (data_type, fill) = (self.stored.data_type(), self.stored.fill_value());
            let codecs = self.stored.codecs();
            let encoded = codecs.encode(elements, &shape, data_type, fill, &self.options)?;
            let path = self.store.key_to_fspath(&self.stored.chunk_key(&region.chunk));
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(path, &encoded)?;
            Ok(encoded.len() as u64)
        };
        write().with_context(|| format!("writing chunk {:?}", region.chunk))
    }

    /// Writes the metadata, which makes the directory an array.
    pub(crate) fn finish(&self) -> Result<()> {
        let mut text = serde_json::to_string_pretty(&self.document)?;
        text.push('\n');
        fs::write(self.directory.join("zarr.json"), text).context("writing zarr.json")
    }
}

/// The codecs after the value codecs.
fn plain_codecs(element_type: ElementType) -> Vec<Value> {
    let bytes = if element_type.size() == 1 {
        json!({"name": "bytes"})
    } else {
        json!({"name": "bytes", "configuration": {"endian": "little"}})
    };
    let zstd = json!({"name": "zstd", "configuration": {"level": ZSTD_LEVEL, "checksum": false}});
    vec![bytes, zstd]
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

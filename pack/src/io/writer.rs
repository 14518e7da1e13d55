//! Writes the chunks and the metadata of an array.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use recast_kernels::{ElementType, Scalar};
use serde_json::{Map, Value, json};
use zarr_recast::{Codec, fill_value};
use zarrs::array::{
    Array, ArrayBytes, ArrayMetadata, ArrayShardedExt, ArrayToBytesCodecTraits, CodecOptions,
};

use super::destination::unwritten;
use super::metadata::name_dimensions;
use super::region::Region;
use super::shard_codecs::with_value_codecs;
use super::source::Source;
use super::storage::Storage;
use crate::error::Result;
use crate::options::ShardCodecs;

/// Writes the chunks of an array that is modelled on another one.
pub(crate) struct Writer {
    /// The array as the codecs after the value codecs see it; it is not stored.
    stored: Array<()>,
    fill: Scalar,
    document: Value,
    /// Whether each chunk is decoded again.
    checks: bool,
    options: CodecOptions,
}

/// The conversion of an array's elements before the writer.
pub(crate) struct Encoding<'a> {
    /// Their type and the fill value, after the value codecs.
    pub(crate) element_type: ElementType,
    pub(crate) fill_value: Scalar,
    /// The value codecs.
    pub(crate) codecs: &'a [Codec],
    /// The codecs after them.
    pub(crate) storage: Storage,
    /// Where the value codecs go if the model has shards.
    pub(crate) shard_codecs: ShardCodecs,
}

impl Writer {
    /// Prepares to write an array with shape, chunks and names like those of `model`.
    pub(crate) fn new(
        model: &Source,
        encoding: &Encoding<'_>,
        attributes: Map<String, Value>,
    ) -> Result<Self> {
        let Encoding { element_type, fill_value, codecs, ref storage, shard_codecs } = *encoding;
        let array = model.array();
        let inner = storage.codecs(element_type, array.dimensionality());
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

        let all = with_value_codecs(codecs, inner, model.element_type(), shard_codecs);
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
        let checks = !storage.differences.axes.is_empty();
        Ok(Self { stored, fill: fill_value, document, checks, options })
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
        if !self.checks {
            return Ok(Some(codecs.encode(elements, &shape, data_type, fill, &self.options)?));
        }
        let encoded = codecs.encode(elements.clone(), &shape, data_type, fill, &self.options)?;
        let decoded = codecs.decode(encoded.clone(), &shape, data_type, fill, &self.options)?;
        if decoded != elements {
            bail!("its differences do not add up to its codes again; use --compressor auto");
        }
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

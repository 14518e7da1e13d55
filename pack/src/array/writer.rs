//! Writes the chunks and the metadata of an array.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use recast_kernels::{ElementType, Scalar};
use serde_json::{Map, Value, json};
use zarr_recast::data_type::ByteOrder;
use zarr_recast::{Codec, FillCheck};
use zarrs::array::ArrayBytes;

use super::byte_encoder::ByteEncoder;
use super::region::Region;
use super::source::Source;
use crate::error::{Result, unwritten};
use crate::metadata::byte_codecs::Storage;
use crate::metadata::codecs::{SHARDING, bytes_codec};
use crate::metadata::document::{array_document, name_dimensions, write_document};
use crate::metadata::fill_attribute::write_for_xarray;
use crate::metadata::shard_codecs::with_value_codecs;
use crate::options::ShardCodecs;
use crate::runtime::Workers;

/// Writes the chunks of an array that is modelled on another one.
pub(crate) struct Writer {
    encoder: ByteEncoder,
    fill: Scalar,
    document: Map<String, Value>,
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
        mut attributes: Map<String, Value>,
    ) -> Result<Self> {
        let Encoding { element_type, fill_value, codecs, ref storage, shard_codecs } = *encoding;
        let array = model.array();
        let inner = storage.codecs(element_type, array.dimensionality());
        let inner = match model.inner_chunk_shape() {
            Some(shape) => json!([{"name": SHARDING, "configuration": {
                "chunk_shape": shape,
                "codecs": inner,
                "index_codecs": [bytes_codec(Some(ByteOrder::Little)), {"name": "crc32c"}],
                "index_location": "end",
            }}]),
            None => inner.into(),
        };
        let grid = serde_json::to_value(array.chunk_grid().metadata())?;
        let document = |element_type, fill, codecs| {
            array_document(array.shape(), element_type, grid.clone(), fill, codecs)
        };
        let is_checked = !storage.axes.is_empty();
        let encoder =
            ByteEncoder::new(document(element_type, fill_value, inner.clone()), is_checked)?;

        let all = with_value_codecs(codecs, inner.into(), model.element_type(), shard_codecs);
        let mut document = document(model.element_type(), model.fill_value(), all.into_json());
        if let Some(names) = array.dimension_names() {
            document.insert("dimension_names".into(), serde_json::to_value(names)?);
        }
        write_for_xarray(&mut attributes, &model.element_type().name().into());
        document.insert("attributes".into(), attributes.into());
        name_dimensions(&mut document);
        Ok(Self { encoder, fill: fill_value, document })
    }

    /// Replaces a member of an attribute that the array has.
    pub(crate) fn record(&mut self, attribute: &str, member: &str, value: Value) {
        let attributes = self.document.get_mut("attributes");
        let object = attributes.and_then(|attributes| attributes.get_mut(attribute));
        if let Some(place) = object.and_then(|object| object.get_mut(member)) {
            *place = value;
        }
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
            let path = directory.join(self.encoder.array.chunk_key(&region.chunk).as_str());
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
        if elements.is_fill_value(self.encoder.array.fill_value()) {
            return Ok(None);
        }
        let shape = self.encoder.array.chunk_shape(&region.chunk)?;
        Ok(Some(self.encoder.encode(elements, &shape)?))
    }

    /// Writes all chunks of the model, whose elements `encode` turns into those to store, and the metadata. Returns the bytes
    /// stored.
    pub(crate) fn write_all(
        &self,
        model: &Source,
        directory: &Path,
        pass: &'static str,
        workers: &Workers,
        encode: impl Fn(&Region, Vec<u8>) -> Result<Vec<u8>> + Sync,
    ) -> Result<u64> {
        let work = |number| -> Result<u64> {
            let region = model.region(number)?;
            // A chunk that is not stored holds the fill value, here too.
            let Some(elements) = model.read(&region)? else { return Ok(0) };
            self.write(directory, &region, &encode(&region, elements)?)
        };
        let stored = workers.merge(model.pass(pass), model.chunks(), work, |all, one| all + one)?;
        self.finish(directory)?;
        Source::written(directory, FillCheck::Create)?;
        Ok(stored)
    }

    /// Writes the metadata, which makes the directory an array.
    pub(crate) fn finish(&self, directory: &Path) -> Result<()> {
        write_document(directory, &self.document)
    }
}

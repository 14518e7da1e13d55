//! New metadata over unchanged chunks. Nothing is decoded, so only the meaning of the bytes can change.

use std::path::Path;
use std::sync::Arc;

use recast_kernels::{ElementType, Scalar};
use serde_json::{Map, Value};
use zarr_recast::{Codec, FillCheck, fill_value};
use zarrs::array::{Array, ArrayMetadata};

use super::source::Source;
use crate::error::{Result, unwritten};
use crate::metadata::codecs::CodecList;
use crate::metadata::document::{default_keys, name_dimensions, object, write_document};
use crate::metadata::fill_attribute::write_for_xarray;
use crate::metadata::shard_codecs::with_value_codecs;
use crate::options::ShardCodecs;
use crate::runtime::Workers;
use crate::store::names::{SafePath, ZARR_JSON};
use crate::store::transfer::{Transfer, Transferred, transferred};

/// The metadata of an array as Zarr v3, to be changed and written over the same chunks.
#[derive(Clone, Debug)]
pub(crate) struct RewrittenMetadata {
    document: Map<String, Value>,
}

impl RewrittenMetadata {
    /// The array's own metadata; Zarr v1 and v2 are translated. The chunks keep their keys.
    pub(crate) fn new(source: &Source) -> Result<Self> {
        let mut document = object(serde_json::to_value(source.array().metadata()), ZARR_JSON)?;
        name_dimensions(&mut document);
        let data_type = document.get("data_type").cloned().unwrap_or_default();
        if let Some(attributes) = document.get_mut("attributes").and_then(Value::as_object_mut) {
            write_for_xarray(attributes, &data_type);
        }
        let mut codecs = CodecList::of(&document);
        codecs.make_objects();
        document.insert("codecs".into(), codecs.into_json());
        Ok(Self { document })
    }

    pub(crate) fn document(&self) -> &Map<String, Value> {
        &self.document
    }

    /// The codecs of the array, all of them.
    pub(crate) fn codecs(&self) -> &Value {
        self.document.get("codecs").unwrap_or(&Value::Null)
    }

    /// Sets the type and the fill value of the array's elements.
    pub(crate) fn set_values(&mut self, element_type: ElementType, fill: Scalar) {
        self.document.insert("data_type".into(), element_type.name().into());
        self.document.insert("fill_value".into(), fill_value::to_json(fill));
    }

    pub(crate) fn set_attributes(&mut self, attributes: Map<String, Value>) {
        if attributes.is_empty() {
            self.document.remove("attributes");
        } else {
            self.document.insert("attributes".into(), attributes.into());
        }
    }

    /// Puts value codecs before all others; in an array with shards, before those of the inner chunks.
    /// `element_type` is the type that reaches them.
    pub(crate) fn prepend(
        &mut self,
        codecs: &[Codec],
        element_type: ElementType,
        place: ShardCodecs,
    ) {
        let rest = CodecList::of(&self.document);
        let all = with_value_codecs(codecs, rest, element_type, place);
        self.document.insert("codecs".into(), all.into_json());
    }

    /// As [`CodecList::replace_value_codecs`].
    pub(crate) fn replace_value_codecs(
        &mut self,
        mut replace: impl FnMut(&[Codec]) -> Result<Vec<Codec>>,
    ) -> Result<()> {
        let mut codecs = CodecList::of(&self.document);
        codecs.replace_value_codecs(&mut replace)?;
        self.document.insert("codecs".into(), codecs.into_json());
        Ok(())
    }

    /// The chunks of `source` with these metadata, which are not stored.
    pub(crate) fn over(&self, source: &Source, fill_check: FillCheck) -> Result<Source> {
        let metadata = serde_json::from_value(self.document.clone().into())?;
        Source::in_memory(source.location().clone(), metadata, fill_check)
    }

    /// Writes the array into a directory: the chunks of `source` under the keys that Zarr v3 has by default, then the
    /// metadata.
    pub(crate) fn write(
        &self,
        source: &Source,
        directory: &Path,
        transfer: Transfer,
        workers: &Workers,
    ) -> Result<Transferred> {
        let mut document = self.document.clone();
        document.insert("chunk_key_encoding".into(), default_keys());
        let metadata: ArrayMetadata = serde_json::from_value(document.clone().into())?;
        let target = Array::new_with_metadata(Arc::new(()), "/", metadata)?;
        let work = |number| -> Result<Transferred> {
            let chunk = source.region(number)?.chunk;
            let path = SafePath::new(target.chunk_key(&chunk).as_str())?;
            let key = source.array().chunk_key(&chunk);
            transferred(source.location(), &key, directory, &path, transfer, workers.runtime())
                .map_err(|error| unwritten(error, &format_args!("chunk {chunk:?}")))
        };
        let total = workers.merge("chunks", source.chunks(), work, |all, one| Transferred {
            copied: all.copied + one.copied,
            linked: all.linked + one.linked,
            bytes: all.bytes + one.bytes,
        })?;
        write_document(directory, &document)?;
        Ok(total)
    }
}

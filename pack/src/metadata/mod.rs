//! What metadata say: codecs, types, fill values and attributes of all versions, as Zarr v3.

pub(crate) mod bound_codecs;
pub(crate) mod byte_codecs;
pub(crate) mod cf_names;
mod chunk_names;
pub(crate) mod codecs;
pub(crate) mod coordinates;
pub(crate) mod document;
pub(crate) mod element_types;
pub(crate) mod fill_attribute;
pub(crate) mod shard_codecs;
pub(crate) mod tree;
pub(crate) mod v2;

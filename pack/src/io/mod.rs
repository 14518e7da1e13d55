//! Where arrays are, and how they are read and written.

pub(crate) mod bound_codecs;
pub(crate) mod byte_encoder;
pub(crate) mod codecs;
pub(crate) mod destination;
pub(crate) mod element_types;
pub(crate) mod fill_attribute;
pub(crate) mod local;
pub(crate) mod metadata;
pub(crate) mod region;
#[cfg(feature = "object-store")]
mod remote;
pub(crate) mod rewrite_metadata;
pub(crate) mod shard_codecs;
pub(crate) mod source;
pub(crate) mod staging;
pub(crate) mod storage;
pub(crate) mod store;
pub(crate) mod transfer;
pub(crate) mod tree;
pub(crate) mod unchanged;
#[cfg(feature = "object-store")]
mod upload;
pub(crate) mod v2;
pub(crate) mod writer;

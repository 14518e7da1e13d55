//! Arrays as chunks of elements: read, written, or kept under other metadata.

pub(crate) mod byte_encoder;
pub(crate) mod region;
pub(crate) mod rewrite_metadata;
pub(crate) mod source;
pub(crate) mod writer;

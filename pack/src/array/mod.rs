//! Arrays as chunks of elements: read, written, or kept under other metadata.

pub(crate) mod byte_encoder;
mod decoders;
pub(crate) mod pairs;
#[cfg(feature = "pcodec")]
mod pcodec;
pub(crate) mod region;
pub(crate) mod rewrite_metadata;
pub(crate) mod source;
mod stored;
pub(crate) mod writer;

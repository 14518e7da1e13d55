//! Metadata that are invalid in Zarr v2 itself.

/// Metadata that every reader of Zarr v2 refuses, as opposed to valid metadata that Zarr v3 cannot express.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct InvalidV2(pub(super) String);

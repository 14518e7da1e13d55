//! Metadata that are invalid in Zarr v2 itself.

/// What no reader of Zarr v2 takes, as opposed to what Zarr v3 cannot express.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct InvalidV2(pub(super) String);

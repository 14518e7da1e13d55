//! The Zarr layer.

//! The names of metadata files.

/// The metadata of a node of Zarr v3.
pub(crate) const ZARR_JSON: &str = "zarr.json";
/// Those of an array, of a group, their attributes, and a copy of all in a group, in Zarr v2.
pub(crate) const ZARRAY: &str = ".zarray";
pub(crate) const ZGROUP: &str = ".zgroup";
pub(crate) const ZATTRS: &str = ".zattrs";
pub(crate) const ZMETADATA: &str = ".zmetadata";
/// Those of an array and its attributes, in Zarr v1.
pub(crate) const META: &str = "meta";
pub(crate) const ATTRS: &str = "attrs";

/// The metadata files of a node, in all versions.
pub(crate) const DOCUMENTS: [&str; 7] = [ZARR_JSON, ZARRAY, ZGROUP, ZATTRS, ZMETADATA, META, ATTRS];

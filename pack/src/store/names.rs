//! The names of metadata files, and of what is no content of a group.

use super::staging::is_beside;

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

/// Those in the folder of a group: Zarr v1 has none.
pub(crate) const GROUP_DOCUMENTS: [&str; 5] = [ZARR_JSON, ZARRAY, ZGROUP, ZATTRS, ZMETADATA];

/// The object beside the chunks of an unfinished output.
pub(crate) const UNFINISHED: &str = ".recast-unfinished";

/// Whether a path in a group is of its content: not of what runs leave, nor of the repository of a dataset under version
/// control, which may hold all files once more.
pub(crate) fn is_content(path: &str) -> bool {
    let is_other = |name: &str| is_beside(name) || [UNFINISHED, ".git"].contains(&name);
    !path.split('/').any(is_other)
}

//! The properties of the arrays of a group before any rule applies.

use std::collections::BTreeSet;
use std::iter;

use recast_kernels::ElementType;
use serde_json::Value;
use zarr_recast::data_type;

use crate::jobs::cf::attributes::is_packed;
use crate::metadata::tree::{Node, path_in};
use crate::store::location::Kind;

/// The properties of an array before any rule applies.
pub(crate) struct Properties {
    /// Why it cannot be packed, if it cannot.
    pub(crate) unfit: Option<String>,
    /// Its type, if it is an integer type: flags, classes and counts, for which an error bound is not meant.
    pub(crate) integers: Option<ElementType>,
    pub(crate) is_coordinate: bool,
}

/// Coordinates: one-dimensional arrays named like their dimension, and arrays that attributes of others name as
/// coordinates or bounds. As CF says, a name leads to the array in the nearest group that has one, from the one where the
/// attribute stands up to the root; with a slash before it, to that of the root.
pub(crate) fn coordinates(nodes: &[Node]) -> Vec<String> {
    let arrays = nodes.iter().filter(|node| node.kind == Kind::Array);
    let arrays: BTreeSet<&str> = arrays.map(|node| &*node.path).collect();
    let mut coordinates = Vec::new();
    for node in nodes {
        let (folder, name) = node.path.rsplit_once('/').unwrap_or(("", &node.path));
        let dimensions = node.document.get("dimension_names").and_then(Value::as_array);
        if dimensions.is_some_and(|names| names.len() == 1 && names.iter().all(|n| n == name)) {
            coordinates.push(node.path.to_string());
        }
        let folder = if node.kind == Kind::Group { &node.path } else { folder };
        for attribute in ["coordinates", "bounds"] {
            let attributes = node.document.get("attributes");
            let names = attributes.and_then(|all| all.get(attribute)?.as_str()).unwrap_or_default();
            for name in names.split_whitespace() {
                let of_root = name.strip_prefix('/').map(|name| ("", name));
                let (folder, name) = of_root.unwrap_or((folder, name));
                let mut paths = from_below(folder).map(|folder| path_in(folder, name));
                coordinates.extend(paths.find(|path| arrays.contains(path.as_str())));
            }
        }
    }
    coordinates
}

/// A group and those around it, the root last.
fn from_below(group: &str) -> impl Iterator<Item = &str> {
    iter::successors(Some(group), |group| match group.rsplit_once('/') {
        Some((above, _)) => Some(above),
        None => (!group.is_empty()).then_some(""),
    })
}

/// Whether an array can be packed at all, and if not, why; if it has value codecs, it can if it is to be packed again.
pub(crate) fn properties(
    node: &Node,
    coordinates: &[String],
    from_cf: bool,
    repack: bool,
) -> Properties {
    let name = node.document.get("data_type").cloned().unwrap_or_default();
    let element_type = data_type::from_json(&name).ok();
    let unfit = match element_type {
        None => {
            let name = node.type_without_numbers();
            name.map(|name| format!("{name} is not a type that can be packed"))
        }
        Some(element_type) if from_cf => {
            let attributes = node.document.get("attributes").and_then(Value::as_object);
            let is_packed = attributes.is_some_and(|all| is_packed(element_type, all));
            (!is_packed).then(|| "no integers with scale_factor or add_offset".to_owned())
        }
        Some(_) if node.has_value_codecs() && !repack => {
            Some("has value codecs already; pack it again with --repack".to_owned())
        }
        Some(_) => None,
    };
    let integers = element_type.filter(|one| one.is_integer() && !from_cf);
    Properties {
        unfit,
        integers,
        is_coordinate: !from_cf && coordinates.iter().any(|one| **one == *node.path),
    }
}

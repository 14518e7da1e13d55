//! The properties of the arrays of a group before any rule applies.

use std::collections::BTreeMap;

use recast_kernels::ElementType;
use serde_json::Value;
use zarr_recast::data_type;

use crate::jobs::cf::attributes::is_packed;
use crate::metadata::coordinates::Described;
use crate::metadata::tree::Node;
use crate::store::location::Kind;

/// The properties of an array before any rule applies.
pub(crate) struct Properties {
    /// Why it cannot be packed, if it cannot.
    pub(crate) unfit: Option<String>,
    /// Its type, if it is an integer type: flags, classes and counts, for which an error bound is not meant.
    pub(crate) integers: Option<ElementType>,
    /// Whether CF's attributes pack it.
    pub(crate) is_packed_by_cf: bool,
    /// Why it is a coordinate, if it is one.
    pub(crate) coordinate: Option<String>,
}

/// The nodes, as [`coordinates`](crate::coordinates) takes them.
pub(crate) fn described(nodes: &[Node]) -> Vec<Described<'_>> {
    nodes.iter().map(describe).collect()
}

fn describe(node: &Node) -> Described<'_> {
    let names = node.document.get("dimension_names").and_then(Value::as_array);
    let names = || names.into_iter().flatten().filter_map(Value::as_str).collect();
    Described {
        path: &node.path,
        dimensions: (node.kind == Kind::Array).then(names),
        attributes: node.document.get("attributes").and_then(Value::as_object),
    }
}

/// Whether an array can be packed at all, and if not, why; if it has value codecs, it can if it is to be packed again.
pub(crate) fn properties(
    node: &Node,
    coordinates: &BTreeMap<String, String>,
    from_cf: bool,
    repack: bool,
) -> Properties {
    let name = node.document.get("data_type").cloned().unwrap_or_default();
    let element_type = data_type::from_json(&name).ok();
    let attributes = node.document.get("attributes").and_then(Value::as_object);
    let is_packed_by_cf =
        element_type.zip(attributes).is_some_and(|(one, attributes)| is_packed(one, attributes));
    let unfit = match element_type {
        None => {
            let name = node.type_without_numbers();
            name.map(|name| format!("{name} is not a type that can be packed"))
        }
        Some(_) if from_cf => {
            (!is_packed_by_cf).then(|| "no integers with scale_factor or add_offset".to_owned())
        }
        Some(_) if node.has_value_codecs() && !repack => {
            Some("has value codecs already; pack it again with --repack".to_owned())
        }
        Some(_) => None,
    };
    let integers = element_type.filter(|one| one.is_integer() && !from_cf);
    let coordinate = coordinates.get(&*node.path).filter(|_| !from_cf).cloned();
    Properties { unfit, integers, is_packed_by_cf, coordinate }
}

//! The arrays of a group that say where and when the values of others are, or how to compute that. Rounding them moves data, so CF
//! forbids to quantise them (section 8.4 of the CF conventions 1.12).

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use serde_json::{Map, Value};

use super::tree::{Node, path_in};
use crate::store::location::Kind;

/// An array or a group, as far as it says which arrays are coordinates.
#[derive(Clone, Debug)]
pub struct Described<'a> {
    /// The path, without slashes at its ends; empty for the root.
    pub path: &'a str,
    /// The names of an array's dimensions, where it has them; `None` for a group.
    pub dimensions: Option<Vec<&'a str>>,
    /// The attributes, if there are any.
    pub attributes: Option<&'a Map<String, Value>>,
}

impl<'a> Described<'a> {
    pub(crate) fn of(node: &'a Node) -> Self {
        let names = node.document.get("dimension_names").and_then(Value::as_array);
        let names = || names.into_iter().flatten().filter_map(Value::as_str).collect();
        Self {
            path: &node.path,
            dimensions: (node.kind == Kind::Array).then(names),
            attributes: node.document.get("attributes").and_then(Value::as_object),
        }
    }
}

/// The nodes, as [`coordinates`] takes them.
pub(crate) fn described(nodes: &[Node]) -> Vec<Described<'_>> {
    nodes.iter().map(Described::of).collect()
}

/// The attributes that name coordinates.
const NAMING: [(&str, Naming); 12] = [
    ("coordinates", Naming::Names),
    ("bounds", Naming::Names),
    ("climatology", Naming::Names),
    ("geometry", Naming::Names),
    ("node_coordinates", Naming::Names),
    ("node_count", Naming::Names),
    ("nodes", Naming::Names),
    ("part_node_count", Naming::Names),
    ("interior_ring", Naming::Names),
    ("grid_mapping", Naming::Names),
    ("cell_measures", Naming::Terms),
    ("formula_terms", Naming::Terms),
];

/// How an attribute names arrays.
#[derive(Clone, Copy, PartialEq)]
enum Naming {
    /// By their names, of which some may end in a colon.
    Names,
    /// By their names, each after a term that ends in a colon.
    Terms,
}

/// Standard names of coordinates. (`air_pressure` is one of many fields, too.)
const STANDARD_NAMES: [&str; 14] = [
    "altitude",
    "depth",
    "forecast_period",
    "forecast_reference_time",
    "grid_latitude",
    "grid_longitude",
    "height",
    "latitude",
    "longitude",
    "projection_x_angular_coordinate",
    "projection_x_coordinate",
    "projection_y_angular_coordinate",
    "projection_y_coordinate",
    "time",
];

/// Standard names of dimensionless vertical coordinates begin so, and end in `_coordinate`.
const VERTICAL: [&str; 2] = ["atmosphere_", "ocean_"];

/// Units that CF keeps for latitudes, longitudes and levels.
const OF_PLACES: [&str; 15] = [
    "degree_E",
    "degree_N",
    "degree_east",
    "degree_north",
    "degreeE",
    "degreeN",
    "degrees_E",
    "degrees_N",
    "degrees_east",
    "degrees_north",
    "degreesE",
    "degreesN",
    "layer",
    "level",
    "sigma_level",
];

/// The paths of all coordinates, each with the reason. The arrays that another one names are those in the nearest group, from
/// that of the other one up to the root; with a slash before the name, those of the root; with `../`, from groups above.
#[must_use]
pub fn coordinates(nodes: &[Described<'_>]) -> BTreeMap<String, String> {
    let mut coordinates = BTreeMap::new();
    for node in nodes.iter().filter(|node| node.dimensions.is_some()) {
        if let Some(reason) = own_reason(node) {
            coordinates.insert(node.path.to_owned(), reason);
        }
    }
    for (path, attribute, from) in named(nodes, &NAMING) {
        coordinates.entry(path).or_insert_with(|| match attribute {
            "coordinates" => "a coordinate".to_owned(),
            _ => format!("a coordinate: in {attribute} of {}", shown(from)),
        });
    }
    coordinates
}

/// A sentence about each array that is rounded like data but used together with another array: weights, and arrays that
/// `ancillary_variables` names. By path.
#[must_use]
pub(crate) fn companions(nodes: &[Described<'_>]) -> BTreeMap<String, String> {
    let weights = nodes.iter().filter(|node| node.dimensions.is_some()).filter(|node| {
        let name = node.path.rsplit('/').next().unwrap_or(node.path);
        [Some(name), text(node, "standard_name"), text(node, "long_name")]
            .into_iter()
            .flatten()
            .any(|text| text.to_lowercase().contains("weight"))
    });
    let mut companions: BTreeMap<_, _> =
        weights.map(|node| (node.path.to_owned(), "weights by its name".to_owned())).collect();
    for (path, attribute, from) in named(nodes, &[("ancillary_variables", Naming::Names)]) {
        companions.insert(path, format!("in {attribute} of {}", shown(from)));
    }
    companions
}

/// Why an array's own metadata make it a coordinate.
fn own_reason(node: &Described<'_>) -> Option<String> {
    let name = node.path.rsplit('/').next().unwrap_or(node.path);
    if node.dimensions.as_deref() == Some(&[name]) {
        return Some("a coordinate".to_owned());
    }
    let of =
        |attribute: &str, value: &str| Some(format!("a coordinate by its {attribute}, {value}"));
    if let Some(units) = text(node, "units") {
        // "days since 1970-01-01"
        if units.split_whitespace().nth(1).is_some_and(|word| word.eq_ignore_ascii_case("since"))
            || OF_PLACES.contains(&units.trim())
        {
            return of("units", units);
        }
    }
    if let Some(name) = text(node, "standard_name")
        && (STANDARD_NAMES.contains(&name)
            || VERTICAL.iter().any(|start| name.starts_with(start))
                && name.ends_with("_coordinate"))
    {
        return of("standard_name", name);
    }
    // CF has `positive` for vertical coordinates only; some fields of several dimensions have it all the same.
    let is_line = node.dimensions.as_ref().is_some_and(|names| names.len() == 1);
    ["axis", "_CoordinateAxisType"]
        .into_iter()
        .chain(is_line.then_some("positive"))
        .find_map(|attribute| of(attribute, text(node, attribute)?))
}

/// The arrays that attributes name: the path, the attribute, and the path of the node that has the attribute.
fn named<'a>(
    nodes: &'a [Described<'a>],
    naming: &'static [(&'static str, Naming)],
) -> impl Iterator<Item = (String, &'static str, &'a str)> {
    let arrays: BTreeSet<&str> =
        nodes.iter().filter(|node| node.dimensions.is_some()).map(|node| node.path).collect();
    nodes.iter().flat_map(move |node| {
        let folder = match node.dimensions {
            None => node.path,
            Some(_) => node.path.rsplit_once('/').map_or("", |(folder, _)| folder),
        };
        let mut found = Vec::new();
        for &(attribute, kind) in naming {
            for word in text(node, attribute).unwrap_or_default().split_whitespace() {
                let (name, is_term) = match word.strip_suffix(':') {
                    Some(name) => (name, kind == Naming::Terms),
                    None => (word, false),
                };
                if is_term {
                    continue;
                }
                let (folder, name) = resolved(folder, name);
                let mut paths = from_below(folder).map(|folder| path_in(folder, name));
                let path = paths.find(|path| arrays.contains(path.as_str()));
                found.extend(path.map(|path| (path, attribute, node.path)));
            }
        }
        found
    })
}

/// The group in which a name is looked for, and the rest of the name: as CF has paths (section 2.7), from the root after a slash, one
/// group up for each `../`.
fn resolved<'a>(mut folder: &'a str, mut name: &'a str) -> (&'a str, &'a str) {
    if let Some(name) = name.strip_prefix('/') {
        return ("", name);
    }
    while let Some((start @ ("." | ".."), rest)) = name.split_once('/') {
        if start == ".." {
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        }
        name = rest;
    }
    (folder, name)
}

/// A group and those around it, the root last.
fn from_below(group: &str) -> impl Iterator<Item = &str> {
    iter::successors(Some(group), |group| match group.rsplit_once('/') {
        Some((above, _)) => Some(above),
        None => (!group.is_empty()).then_some(""),
    })
}

fn text<'a>(node: &Described<'a>, attribute: &str) -> Option<&'a str> {
    node.attributes?.get(attribute)?.as_str()
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "the group" } else { path }
}

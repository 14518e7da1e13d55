//! What an array says of itself, for filters: its names, and the kind of its vertical levels.

use std::fmt;

use serde_json::{Map, Value};

use crate::metadata::coordinates::Described;
use crate::metadata::tree::path_in;

/// The kind of the vertical levels of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LevelKind {
    /// The surface, a height above it, or all levels together.
    Single,
    Pressure,
}

impl LevelKind {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Self::Single, Self::Pressure].into_iter().find(|kind| kind.to_string() == name)
    }
}

impl fmt::Display for LevelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Single => "single",
            Self::Pressure => "pressure",
        })
    }
}

/// The metadata of an array by which recommendations know it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    /// The array's name, and its attributes `GRIB_cfVarName`, `cfVarName` and `short_name`.
    pub(super) short_names: Vec<String>,
    /// `GRIB_shortName`
    pub(super) grib: Option<String>,
    /// `standard_name`
    pub(super) standard: Option<String>,
    /// None if nothing tells.
    pub(super) level: Option<LevelKind>,
}

/// Attributes with short names.
const SHORT_NAMES: [&str; 3] = ["GRIB_cfVarName", "cfVarName", "short_name"];
/// Kinds of levels of GRIB that are neither single nor of pressure: those of models, and surfaces in the atmosphere.
const OTHER_LEVELS: [&str; 5] = ["hybrid", "hybridLayer", "potentialVorticity", "sigma", "theta"];
/// Units of pressure, in lower case.
const PRESSURE: [&str; 10] =
    ["pa", "hpa", "kpa", "bar", "dbar", "mb", "mbar", "millibar", "millibars", "pascal"];
/// Names of dimensions that are vertical, in lower case, if no coordinate says what they are.
const VERTICAL: [&str; 17] = [
    "alt",
    "altitude",
    "depth",
    "height",
    "isobaricinhpa",
    "isobaricinpa",
    "lev",
    "level",
    "levels",
    "model_level",
    "plev",
    "pressure",
    "pressure_level",
    "sigma",
    "vertical",
    "z",
    "zlev",
];

impl Labels {
    /// The labels of an array among the nodes of its group, or alone.
    pub(crate) fn of(array: &Described<'_>, nodes: &[Described<'_>]) -> Self {
        let name = array.path.rsplit('/').next().unwrap_or(array.path);
        let named = SHORT_NAMES.iter().filter_map(|name| text(array, name));
        let own = Some(name).filter(|name| !name.is_empty());
        Self {
            short_names: own.into_iter().chain(named).map(str::to_owned).collect(),
            grib: text(array, "GRIB_shortName").map(str::to_owned),
            standard: text(array, "standard_name").map(str::to_owned),
            level: level(array, nodes),
        }
    }
}

fn text<'a>(node: &Described<'a>, attribute: &str) -> Option<&'a str> {
    text_in(node.attributes?, attribute)
}

fn text_in<'a>(attributes: &'a Map<String, Value>, attribute: &str) -> Option<&'a str> {
    attributes.get(attribute)?.as_str().map(str::trim)
}

fn level(array: &Described<'_>, nodes: &[Described<'_>]) -> Option<LevelKind> {
    if let Some(kind) = text(array, "GRIB_typeOfLevel") {
        return match kind {
            _ if kind.starts_with("isobaric") => Some(LevelKind::Pressure),
            _ if OTHER_LEVELS.contains(&kind) => None,
            _ => Some(LevelKind::Single),
        };
    }
    let coordinate = |name: &str| {
        let (folder, _) = array.path.rsplit_once('/').unwrap_or(("", array.path));
        let mut folders = std::iter::successors(Some(folder), |folder| {
            (!folder.is_empty()).then(|| folder.rsplit_once('/').map_or("", |(above, _)| above))
        });
        folders.find_map(|folder| {
            let path = path_in(folder, name);
            nodes.iter().find(|node| node.path == path && node.dimensions.is_some())
        })
    };
    let dimensions = array.dimensions.as_deref().unwrap_or_default();
    let of_one_value = text(array, "coordinates").into_iter().flat_map(str::split_whitespace);
    let mut level = Some(LevelKind::Single);
    for name in dimensions.iter().copied().chain(of_one_value) {
        match level_on(name, coordinate(name)) {
            Some(LevelKind::Pressure) => return Some(LevelKind::Pressure),
            None if dimensions.contains(&name) => level = None,
            None | Some(LevelKind::Single) => {}
        }
    }
    // Dimensions without names may be anything.
    level.filter(|_| !dimensions.is_empty())
}

/// The kind of levels along a coordinate, which are single if the coordinate is not vertical; none if the kind is another.
fn level_on(name: &str, coordinate: Option<&Described<'_>>) -> Option<LevelKind> {
    let of = |attribute| coordinate.and_then(|coordinate| text(coordinate, attribute));
    let is_vertical = of("axis") == Some("Z") || of("positive").is_some();
    let is_pressure = of("units").is_some_and(|units| PRESSURE.contains(&&*units.to_lowercase()));
    if of("standard_name") == Some("air_pressure") || (is_vertical && is_pressure) {
        return Some(LevelKind::Pressure);
    }
    // A coordinate that says what it is needs no name.
    let says = ["axis", "standard_name"].iter().any(|attribute| of(attribute).is_some());
    let is_named = !says && VERTICAL.contains(&&*name.to_lowercase());
    let standard = of("standard_name").unwrap_or_default();
    let is_standard = ["altitude", "depth", "height", "model_level_number"].contains(&standard)
        || standard.starts_with("atmosphere_")
        || standard.starts_with("ocean_");
    (!is_vertical && !is_named && !is_standard).then_some(LevelKind::Single)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn levels_are_those_of_grib_or_of_the_coordinates() {
        let coordinates = json!({
            "plev": {"standard_name": "air_pressure", "units": "Pa"},
            "isobaricInhPa": {"units": "hPa", "positive": "down"},
            "height": {"axis": "Z", "units": "m"},
            "level": {"long_name": "pressure_level"},
            "lat": {"units": "degrees_north"},
        });
        let single = Some(LevelKind::Single);
        let pressure = Some(LevelKind::Pressure);
        for (dimensions, attributes, expected) in [
            (vec!["time", "lat"], json!({}), single),
            (vec!["plev", "lat"], json!({}), pressure),
            (vec!["isobaricInhPa", "lat"], json!({}), pressure),
            (vec!["lat"], json!({"coordinates": "time plev"}), pressure),
            (vec!["lat"], json!({"coordinates": "time height"}), single),
            (vec!["height", "lat"], json!({}), None),
            (vec!["level", "lat"], json!({}), None),
            (vec!["level", "lat"], json!({"GRIB_typeOfLevel": "isobaricInhPa"}), pressure),
            (vec!["lat"], json!({"GRIB_typeOfLevel": "heightAboveGround"}), single),
            (vec!["lat"], json!({"GRIB_typeOfLevel": "hybrid"}), None),
            (vec![], json!({}), None),
        ] {
            let mut nodes: Vec<Described<'_>> = coordinates
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, attributes)| Described {
                    path: name,
                    dimensions: Some(vec![name]),
                    attributes: attributes.as_object(),
                })
                .collect();
            let array = Described {
                path: "deep/t",
                dimensions: Some(dimensions.clone()),
                attributes: attributes.as_object(),
            };
            nodes.push(array.clone());
            assert_eq!(Labels::of(&array, &nodes).level, expected, "{dimensions:?} {attributes}");
        }
    }
}

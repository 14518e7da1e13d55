//! What the axes of a map count: the names of dimensions, and the numbers along them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::number::NumberReader;
use crate::array::source::Source;
use crate::error::{Result, guarded};
use crate::metadata::cf_names::{ADD_OFFSET, SCALE_FACTOR};
use crate::metadata::document::ARRAY_DIMENSIONS;
use crate::runtime::Runtime;
use crate::store::location::{Kind, beside, is_group, kind};

/// Longer coordinates, or those in more chunks, are not read: a map has far fewer ticks.
const MOST_NUMBERS: u64 = 1 << 16;
const MOST_CHUNKS: u64 = 64;

/// A dimension, and the coordinate along it.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// The dimension's name, if it has one.
    pub name: Option<String>,
    /// The coordinate's attribute `units`.
    pub units: Option<String>,
    /// The coordinate's numbers, which all increase or all decrease; empty if there are none.
    pub numbers: Vec<f64>,
    /// Whether larger numbers lie lower, as those of a depth do: `positive` is `down`, as CF has it.
    pub is_down: bool,
}

/// The dimensions of an array. Those in `plotted` have their coordinates: the 1-D array of the dimension's name and extent in
/// the same group, or else in the nearest group above that has an array of this name, as xarray's `DataTree` inherits it.
pub(crate) fn axes(source: &Source, plotted: &[usize], runtime: &Runtime) -> Vec<Axis> {
    let mut names = dimension_names(source).into_iter();
    let extents = source.array().shape().iter().enumerate();
    let axis = |(dimension, &extent): (usize, &u64)| {
        let name = names.next().flatten();
        // With `no_outside_links`, only places that the caller has named are read.
        let is_read = plotted.contains(&dimension) && !runtime.no_outside_links;
        let coordinate = name.as_deref().filter(|_| is_read).and_then(|name| {
            // A coordinate that cannot be read labels nothing; the array itself is none the worse.
            coordinate(source, name, extent, runtime).ok().flatten()
        });
        Axis { name, ..coordinate.unwrap_or_default() }
    };
    extents.map(axis).collect()
}

/// The names of an array's dimensions; empty if they have none.
pub(crate) fn dimension_names(source: &Source) -> Vec<Option<String>> {
    let array = source.array();
    // Zarr v2 has them as an attribute.
    let named = array.attributes().get(ARRAY_DIMENSIONS).and_then(Value::as_array);
    let named = named.into_iter().flatten().map(|name| name.as_str().map(str::to_owned));
    array.dimension_names().clone().unwrap_or_else(|| named.collect())
}

/// An array's attribute `units`.
pub(crate) fn units(source: &Source) -> Option<String> {
    source.text_attribute("units").filter(|units| !units.is_empty()).map(str::to_owned)
}

/// The nearest array of a name, in the group of an array or above.
fn nearest(array: &Path, name: &str) -> Option<PathBuf> {
    let (group, path) = beside(array, name).filter(|(group, _)| is_group(group))?;
    if kind(&path) == Kind::Array {
        return Some(path);
    }
    // What lies above `.` and `..` is not in their names.
    group.file_name().and_then(|_| nearest(&group, name))
}

fn coordinate(source: &Source, name: &str, extent: u64, runtime: &Runtime) -> Result<Option<Axis>> {
    if extent > MOST_NUMBERS {
        return Ok(None);
    }
    let Some(path) = nearest(source.path(), name) else { return Ok(None) };
    let variable = Source::open_for(runtime, &path)?;
    let attributes = variable.array().attributes();
    let is_packed = [SCALE_FACTOR, ADD_OFFSET].iter().any(|name| attributes.contains_key(*name));
    if variable.array().shape() != [extent] || variable.chunks() > MOST_CHUNKS || is_packed {
        return Ok(None);
    }
    let reader = NumberReader::new(variable.element_type())?;
    let mut numbers = Vec::new();
    for number in 0..variable.chunks() {
        let region = variable.region(number)?;
        if region.chunk_shape.iter().any(|&extent| extent > MOST_NUMBERS) {
            return Ok(None);
        }
        numbers.extend(reader.read::<f64>(&guarded(|| variable.read_or_fill(&region))?)?);
    }
    let is_monotonic = numbers.is_sorted_by(|a, b| a < b) || numbers.is_sorted_by(|a, b| a > b);
    if !is_monotonic || numbers.iter().any(|number| !number.is_finite()) {
        return Ok(None);
    }
    Ok(Some(Axis {
        name: None,
        units: units(&variable),
        numbers,
        is_down: variable.text_attribute("positive") == Some("down"),
    }))
}

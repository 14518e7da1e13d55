//! An array alone, as recommendations see it.

use crate::array::source::Source;
use crate::metadata::coordinates::Described;
use crate::recommend::markers::Markers;
use crate::scan::axes::dimension_names;

/// What an array says of itself, without the others of its group.
pub(crate) fn markers_alone(source: &Source) -> Markers {
    let dimensions = dimension_names(source);
    let array = Described {
        path: &source.path().file_name().unwrap_or_default().to_string_lossy(),
        dimensions: Some(dimensions.iter().flatten().map(String::as_str).collect()),
        attributes: Some(source.array().attributes()),
    };
    Markers::of(&array, &[])
}

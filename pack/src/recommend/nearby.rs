//! An array alone, as recommendations see it.

use std::iter;
use std::path::Path;

use crate::array::source::Source;
use crate::metadata::coordinates::{Described, described};
use crate::metadata::tree::{self, Node};
use crate::recommend::labels::Labels;
use crate::runtime::Runtime;
use crate::scan::axes::dimension_names;
use crate::store::location::{Kind, Location, beside, is_group};
use crate::store::names::SafePath;

/// The most coordinates that are looked for, and the most groups above an array.
const MOST: usize = 32;

/// The labels of an array, from its own metadata and from the coordinates of its group.
pub(crate) fn labels_alone(source: &Source, runtime: &Runtime) -> Labels {
    let dimensions = dimension_names(source);
    let of_one_value = source.text_attribute("coordinates").unwrap_or_default();
    let dimensions: Vec<&str> = dimensions.iter().flatten().map(String::as_str).collect();
    let names = dimensions.iter().copied().chain(of_one_value.split_whitespace()).take(MOST);
    // With `no_outside_links`, only places that the caller has named are read.
    let names = names.filter(|_| !runtime.no_outside_links);
    let nodes: Vec<Node> = names.filter_map(|name| coordinate(source.path(), name)).collect();
    let array = Described {
        path: &source.path().file_name().unwrap_or_default().to_string_lossy(),
        dimensions: Some(dimensions),
        attributes: Some(source.array().attributes()),
    };
    Labels::of(&array, &described(&nodes))
}

/// The nearest array of a name in the groups that an array is in. One that cannot be read tells nothing.
fn coordinate(array: &Path, name: &str) -> Option<Node> {
    let path = SafePath::new(name).ok()?;
    let above = iter::successors(beside(array, name), |(group, _)| beside(group, name));
    let mut found = above.take(MOST).take_while(|(group, _)| is_group(group));
    let location = found.find_map(|(_, place)| {
        let location = Location::new(&place).ok()?;
        (location.kind().ok()? == Kind::Array).then_some(location)
    })?;
    tree::node(path, location).ok()
}

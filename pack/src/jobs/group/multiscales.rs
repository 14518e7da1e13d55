//! Pyramids of a group: arrays that are one image at several resolutions, as the attribute `multiscales` says.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::jobs::tree::arrays_of;
use crate::metadata::document::values;
use crate::metadata::tree::Node;
use crate::store::location::Kind;

/// The arrays of each pyramid, finest first, if there are several of one type.
///
/// Levels are arrays, as in [OME-Zarr], or groups with an array of each variable, as in [GeoZarr] and ndpyramid.
///
/// [OME-Zarr]: https://ngff.openmicroscopy.org/0.5/#multiscale-md
/// [GeoZarr]: https://github.com/zarr-conventions/multiscales
pub(super) fn pyramids(nodes: &[Node]) -> Vec<Vec<&str>> {
    let arrays: BTreeMap<&str, &Node> = arrays_of(nodes).map(|node| (&*node.path, node)).collect();
    let mut pyramids = Vec::new();
    for group in nodes.iter().filter(|node| node.kind == Kind::Group) {
        for levels in levels_of_images(&group.document) {
            // By what they are called in their level, and by type, as only arrays of one type can have the same codecs.
            let mut images: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
            for level in levels {
                let level = format!("{}/{level}", group.path);
                let level = level.trim_matches('/');
                let below = arrays.range(level..).take_while(|(path, _)| path.starts_with(level));
                for (_, array) in below {
                    let Some(rest) = array.path.strip_prefix(level) else { continue };
                    if rest.is_empty() || rest.starts_with('/') {
                        let data_type = array.document.get("data_type").map(Value::to_string);
                        let of_image = images.entry((rest, data_type.unwrap_or_default()));
                        of_image.or_default().push(&array.path);
                    }
                }
            }
            pyramids.extend(images.into_values().filter(|arrays| arrays.len() > 1));
        }
    }
    pyramids
}

/// The paths of the levels of each image of a group, below it.
fn levels_of_images(document: &Map<String, Value>) -> Vec<Vec<String>> {
    let Some(attributes) = document.get("attributes") else { return Vec::new() };
    // OME-Zarr 0.5 has a member of its own for it.
    let images = attributes.pointer("/ome/multiscales").or_else(|| attributes.get("multiscales"));
    values(images).iter().map(levels).collect()
}

fn levels(image: &Value) -> Vec<String> {
    let listed = |list: &str, name: &str| -> Option<Vec<String>> {
        let levels = image.get(list)?.as_array()?.iter();
        Some(levels.filter_map(|level| Some(level.get(name)?.as_str()?.to_owned())).collect())
    };
    let of_tiles = || Some(image.get("tile_matrix_limits")?.as_object()?.keys().cloned().collect());
    let levels = listed("datasets", "path").or_else(|| listed("layout", "asset")).or_else(of_tiles);
    levels.unwrap_or_default()
}

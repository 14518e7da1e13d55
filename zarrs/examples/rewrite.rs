//! Reads an array and writes its elements to another with the same metadata:
//! `cargo run -p zarrs-recast --example rewrite -- INPUT OUTPUT`

use std::error::Error;
use std::sync::Arc;

use serde_json::{Value, json};
use zarrs::array::{Array, ArrayBytes, ArrayMetadata};
use zarrs::filesystem::FilesystemStore;

/// Gives codecs without a configuration an empty one. zarrs writes them as objects then and not as bare
/// names, which zarr-python 3.4.2 cannot read.
fn with_configurations(codecs: &mut Value) {
    for codec in codecs.as_array_mut().into_iter().flatten() {
        if codec.is_string() {
            *codec = json!({"name": codec, "configuration": {}});
        } else {
            for inner in ["codecs", "index_codecs"] {
                if let Some(codecs) = codec.pointer_mut(&format!("/configuration/{inner}")) {
                    with_configurations(codecs);
                }
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    zarrs_recast::register();
    let mut arguments = std::env::args().skip(1);
    let (Some(input), Some(output)) = (arguments.next(), arguments.next()) else {
        return Err("usage: rewrite INPUT OUTPUT".into());
    };
    let input = Array::open(Arc::new(FilesystemStore::new(input)?), "/")?;
    let elements: ArrayBytes<'static> = input.retrieve_array_subset(&input.subset_all())?;

    let mut metadata = serde_json::to_value(input.metadata())?;
    if metadata["zarr_format"] == 3 {
        with_configurations(&mut metadata["codecs"]);
    }
    let metadata: ArrayMetadata = serde_json::from_value(metadata)?;
    let copy = Array::new_with_metadata(Arc::new(FilesystemStore::new(output)?), "/", metadata)?;
    copy.store_metadata()?;
    copy.store_array_subset(&copy.subset_all(), elements)?;
    Ok(())
}

//! Writes sea-surface temperatures as int16 in steps of 0.01 degrees:
//! `cargo run -p zarrs-recast --example write_packed -- examples/data/oisst_sst.zarr /tmp/packed.zarr`

use std::error::Error;
use std::sync::Arc;

use serde_json::json;
use zarrs::array::{Array, ArrayMetadata};
use zarrs::filesystem::FilesystemStore;

fn main() -> Result<(), Box<dyn Error>> {
    zarrs_recast::register();
    let mut arguments = std::env::args().skip(1);
    let (Some(input), Some(output)) = (arguments.next(), arguments.next()) else {
        return Err("usage: write_packed INPUT OUTPUT".into());
    };
    let input = Array::open(Arc::new(FilesystemStore::new(input)?), "/")?;
    let elements: Vec<f32> = input.retrieve_array_subset(&input.subset_all())?;

    let mut metadata = serde_json::to_value(input.metadata())?;
    metadata["codecs"] = json!([
        {"name": "scale_offset", "configuration": {"scale": 100}},
        {"name": "cast_value", "configuration": {
            "data_type": "int16",
            // Missing values take a code that no temperature has.
            "scalar_map": {"encode": [["NaN", -32768]], "decode": [[-32768, "NaN"]]},
        }},
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "zstd", "configuration": {"level": 5, "checksum": false}},
    ]);
    let metadata: ArrayMetadata = serde_json::from_value(metadata)?;
    let packed = Array::new_with_metadata(Arc::new(FilesystemStore::new(&output)?), "/", metadata)?;
    let packed = zarrs_recast::fused(packed); // both codecs in one pass
    packed.store_metadata()?;
    packed.store_array_subset(&packed.subset_all(), elements.as_slice())?;

    let read: Vec<f32> = packed.retrieve_array_subset(&packed.subset_all())?;
    let errors = elements.iter().zip(&read).map(|(x, y)| (x - y).abs()).filter(|e| !e.is_nan());
    println!("{output}: the greatest error is {}", errors.fold(0.0, f32::max));
    Ok(())
}

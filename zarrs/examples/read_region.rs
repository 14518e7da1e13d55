//! Reads a region of an array, whatever codecs it has, and says what is in it:
//! `cargo run -p zarrs-recast --example read_region -- examples/data/oisst_sst.zarr 40..50 90..120`

use std::error::Error;
use std::sync::Arc;

use zarrs::array::{Array, ArraySubset};
use zarrs::filesystem::FilesystemStore;

fn main() -> Result<(), Box<dyn Error>> {
    zarrs_recast::register();
    let mut arguments = std::env::args().skip(1);
    let path =
        arguments.next().ok_or("usage: read_region ARRAY [START..END for each dimension]")?;
    let array = Array::open(Arc::new(FilesystemStore::new(path)?), "/")?;
    let ranges = arguments.map(|range| {
        let (start, end) =
            range.split_once("..").ok_or_else(|| format!("{range}: not START..END"))?;
        Ok::<_, Box<dyn Error>>(start.parse()?..end.parse()?)
    });
    let ranges = ranges.collect::<Result<Vec<_>, _>>()?;
    let region = if ranges.is_empty() { array.subset_all() } else { ArraySubset::from(ranges) };

    let elements: Vec<f32> = array.retrieve_array_subset(&region)?;
    let valid: Vec<f32> = elements.iter().copied().filter(|x| !x.is_nan()).collect();
    let least = valid.iter().copied().fold(f32::INFINITY, f32::min);
    let greatest = valid.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    println!("{} elements, {} of them missing", elements.len(), elements.len() - valid.len());
    println!("from {least} to {greatest}");
    Ok(())
}

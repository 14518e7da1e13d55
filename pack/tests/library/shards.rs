//! Arrays with shards: what is packed stays readable part by part.

use std::path::Path;
use std::sync::Arc;

use crate::common::{
    Random, Sample, Trial, assert_within, bytes, chunks, codec_names, create_group, f32s,
    little_endian, metadata, one_thread, options, read, read_by_zarrs, sharding, told, within,
};
use recast_pack::report::Reading;
use recast_pack::{ArrayInfo, Job, PackOptions, PackReport, ShardCodecs, UnpackJob};
use serde_json::json;
use zarrs::array::{Array, ArrayBytes, ArraySubset};
use zarrs::filesystem::FilesystemStore;
use zarrs::storage::storage_adapter::performance_metrics::PerformanceMetricsStorageAdapter;

/// Extents that end inside a shard and inside a part.
const SHAPE: [u64; 2] = [100, 90];
const FILL: f32 = 2.0;

/// An array of shards of 4 × 4 parts: one shard is not stored, and another lacks some of its parts.
fn sharded(index_location: &str) -> Sample {
    let zstd = json!({"name": "zstd", "configuration": {"level": 1, "checksum": false}});
    let mut shard = sharding(&[8, 8], json!([little_endian(), zstd]));
    shard["configuration"]["index_location"] = index_location.into();
    Sample::new("float32", &SHAPE, &[32, 32], json!(FILL)).with("codecs", json!([shard]))
}

/// Values from `offset` to `offset` + 3.
fn values(offset: f32) -> Vec<f32> {
    let mut random = Random(1);
    (0..SHAPE[0] * SHAPE[1])
        .map(|index| {
            let (row, column) = (index / SHAPE[1], index % SHAPE[1]);
            let noise = random.number() as f32;
            let is_absent = row < 32 && (32..64).contains(&column) || (40..64).contains(&row);
            if is_absent { FILL } else { offset + noise * 3.0 }
        })
        .collect()
}

/// Writes an array with zarrs, and packs it.
fn packed(offset: f32, place: ShardCodecs) -> (Trial, PackReport) {
    let trial = Trial::of(&sharded("end"), &bytes(&values(offset)));
    assert!(!trial.input().join("c/0/1").exists() && trial.input().join("c/1/0").exists());
    let report = trial.pack(PackOptions { shard_codecs: place, ..within(0.01) }).unwrap();
    (trial, report)
}

fn names(path: &Path) -> Vec<String> {
    codec_names(&metadata(path)["codecs"]).into_iter().map(ToOwned::to_owned).collect()
}

/// The elements of a part, and the bytes that zarrs reads for them.
fn part(path: &Path, subset: &ArraySubset) -> (Vec<f32>, usize) {
    zarrs_recast::register();
    let store = Arc::new(FilesystemStore::new(path).unwrap());
    let store = Arc::new(PerformanceMetricsStorageAdapter::new(store));
    let array = Array::open(store.clone(), "/").unwrap();
    store.reset();
    let bytes: ArrayBytes<'static> = array.retrieve_array_subset(subset).unwrap();
    (f32s(&bytes.into_fixed().unwrap()), store.bytes_read())
}

fn assert_parts_are_read_alone(path: &Path, original: &[f32]) {
    for ranges in
        [[3..5, 6..10], [30..34, 20..40], [96..100, 88..90], [45..50, 0..7], [0..32, 32..64]]
    {
        let [rows, columns] = ranges.clone();
        let expected = rows.flat_map(|row| {
            columns.clone().map(move |column| original[(row * SHAPE[1] + column) as usize])
        });
        let (found, _) = part(path, &ArraySubset::from(ranges.clone()));
        let expected: Vec<f32> = expected.collect();
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() <= 0.01, "{found} for {expected} in {ranges:?}");
        }
    }
    let shard = std::fs::metadata(path.join("c/0/0")).unwrap().len() as usize;
    let (_, bytes) = part(path, &ArraySubset::from([3..4, 3..4]));
    // The index has 16 bytes for each of the 16 parts, and a checksum.
    assert!(bytes > 0 && bytes < 16 * 16 + 4 + shard / 8, "{bytes} of {shard}");
}

#[test]
fn codecs_that_encode_zero_go_inside_and_zarrs_reads_parts_alone() {
    for (location, endian) in [("start", "big"), ("end", "little")] {
        let original = values(1.0);
        let mut sample = sharded(location);
        sample.metadata["codecs"][0]["configuration"]["codecs"][0]["configuration"]["endian"] =
            endian.into();
        let trial = Trial::of(&sample, &bytes(&original));
        let report = trial.pack(within(0.01)).unwrap();
        assert_eq!(names(&trial.output()), ["sharding_indexed"]);
        assert_eq!(report.codecs, trial.metadata()["codecs"]);
        assert_eq!(report.codecs[0]["configuration"]["chunk_shape"], json!([8, 8]));
        assert_within(0.01, &original, &f32s(&trial.decoded()));
        assert_eq!(read_by_zarrs(&trial.output()), trial.decoded());
        assert_eq!(report.readers.unwrap().zarr_python, Reading::PartsOfShards);
        assert_parts_are_read_alone(&trial.output(), &original);
    }
}

#[test]
fn codecs_that_do_not_encode_zero_go_outside_and_zarrs_still_reads_parts_alone() {
    let (trial, report) = packed(280.0, ShardCodecs::Auto);
    assert_eq!(names(&trial.output()), ["scale_offset", "cast_value", "sharding_indexed"]);
    let readers = report.readers.unwrap();
    assert_eq!(readers.zarr_python, Reading::WholeShards);
    assert_eq!(readers.zarrs, Reading::PartsOfShards);
    assert_parts_are_read_alone(&trial.output(), &values(280.0));
    // Clamping codecs encode 0, and inside none would be opened.
    let clamping = options(json!({"max-abs-error": 0.01, "out-of-range": "clamp"}));
    let readers = trial.pack(clamping).unwrap().readers.unwrap();
    assert_eq!(readers.zarr_python, Reading::PartsOfShards);
    let (_, report) = packed(280.0, ShardCodecs::Inside);
    assert_eq!(report.readers.unwrap().zarr_python, Reading::Nothing);
}

#[test]
fn the_place_changes_metadata_only() {
    for offset in [1.0, 280.0] {
        let (inside, _) = packed(offset, ShardCodecs::Inside);
        let (outside, report) = packed(offset, ShardCodecs::Outside);
        assert_eq!(names(&inside.output()), ["sharding_indexed"]);
        let expected = ["scale_offset", "cast_value", "sharding_indexed"];
        assert_eq!(names(&outside.output()), expected);
        assert_eq!(report.readers.unwrap().zarr_python, Reading::WholeShards);
        assert_eq!(chunks(&inside.output()), chunks(&outside.output()));
        assert_eq!(inside.decoded(), outside.decoded());
        // The shard that was not stored is not, and the parts that were not are the fill value.
        assert!(!inside.output().join("c/0/1").exists());
    }
}

#[test]
fn arrays_without_shards_are_read_by_chunks_and_types_that_numpy_lacks_need_ml_dtypes() {
    let trial = Trial::new(&[1.5_f32; 8], 8, json!({}));
    for name in ["float8_e4m3", "float8_e4m3fn"] {
        let float8 = options(json!({"data-type": name, "max-abs-error": 0.01}));
        let readers = trial.pack(float8).unwrap().readers.unwrap();
        assert!(readers.needs_ml_dtypes && readers.needs_zarr_recast, "{name}");
        assert_eq!((readers.zarrs, readers.gdal), (Reading::Chunks, None), "{name}");
    }
    let readers = trial.pack(within(0.01)).unwrap().readers.unwrap();
    assert!(!readers.needs_ml_dtypes);
    assert_eq!((readers.zarr_python, readers.zarrs), (Reading::Chunks, Reading::Chunks));
}

#[test]
fn unpacked_arrays_have_the_shards_and_the_values() {
    for place in [ShardCodecs::Inside, ShardCodecs::Outside] {
        let (trial, _) = packed(280.0, place);
        let (output, plain) = (trial.output(), trial.place("plain.zarr"));
        told(UnpackJob::new(&output, &plain).run(&one_thread())).unwrap();
        assert_eq!(names(&plain), ["sharding_indexed"]);
        assert!(!metadata(&plain)["codecs"].to_string().contains("cast_value"));
        assert_eq!(read(&plain), read(&output));
        let info = ArrayInfo::read(&output).unwrap();
        let cast = info.codecs.iter().find(|codec| codec.name == "cast_value").unwrap();
        assert_eq!(cast.data_type.as_deref(), Some("int8"));
    }
}

#[test]
fn a_place_in_shards_is_refused_where_there_are_none_but_not_for_groups() {
    let trial = Trial::new(&[1.5_f32; 8], 8, json!({}));
    let at = |place: &str| options(json!({"max-abs-error": 0.01, "shard-codecs": place}));
    let error = trial.refuses(at("inside"));
    assert!(error.contains("--shard-codecs is for arrays with shards"), "{error}");

    let group = Trial::empty();
    create_group(&group.input());
    std::fs::rename(trial.input(), group.input().join("plain")).unwrap();
    sharded("end").write(&group.input().join("sharded"), &bytes(&values(1.0)));
    told(group.group_job(at("outside")).run(&one_thread())).unwrap();
    assert_eq!(names(&group.output().join("plain"))[..2], ["scale_offset", "cast_value"]);
    assert_eq!(names(&group.output().join("sharded")).last().unwrap(), "sharding_indexed");
}

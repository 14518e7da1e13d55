//! Arrays with shards: what is packed stays readable part by part.

use std::path::Path;
use std::sync::Arc;

use crate::common::{Folder, Sample, contents, f32s, metadata, recast};
use serde_json::{Value, json};
use zarrs::array::{Array, ArrayBytes, ArraySubset};
use zarrs::filesystem::FilesystemStore;
use zarrs::storage::storage_adapter::performance_metrics::PerformanceMetricsStorageAdapter;

/// Extents that end inside a shard and inside a part.
const SHAPE: [u64; 2] = [100, 90];
const FILL: f32 = 2.0;

/// An array of shards of 4 × 4 parts: one shard is not stored, and another lacks some of its parts.
fn sharded(index_location: &str) -> Sample {
    let codecs = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [8, 8],
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
                   {"name": "zstd", "configuration": {"level": 1, "checksum": false}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
        "index_location": index_location,
    }}]);
    Sample::new("float32", &SHAPE, &[32, 32], json!(FILL)).with("codecs", codecs)
}

/// Values from `offset` to `offset` + 3.
fn values(offset: f32) -> Vec<f32> {
    let mut state = 1_u32;
    (0..SHAPE[0] * SHAPE[1])
        .map(|index| {
            let (row, column) = (index / SHAPE[1], index % SHAPE[1]);
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let is_absent = row < 32 && (32..64).contains(&column) || (40..64).contains(&row);
            if is_absent { FILL } else { offset + (state >> 8) as f32 / (1 << 24) as f32 * 3.0 }
        })
        .collect()
}

/// Writes an array with zarrs, and packs it.
fn packed(offset: f32, more: &[&str]) -> (Folder, Value) {
    let folder = Folder::new();
    sharded("end").write(&folder.input(), &f32s(&values(offset)));
    assert!(!folder.input().join("c/0/1").exists() && folder.input().join("c/1/0").exists());
    let report = folder.pack(&[&["-e", "0.01"], more].concat());
    (folder, report)
}

fn names(path: &Path) -> Vec<String> {
    let codecs = metadata(path)["codecs"].as_array().unwrap().clone();
    codecs.iter().map(|codec| codec["name"].as_str().unwrap().to_owned()).collect()
}

/// The elements of a part, and the bytes that zarrs reads for them.
fn part(path: &Path, subset: &ArraySubset) -> (Vec<f32>, usize) {
    zarrs_recast::register();
    let store = Arc::new(FilesystemStore::new(path).unwrap());
    let store = Arc::new(PerformanceMetricsStorageAdapter::new(store));
    let array = Array::open(store.clone(), "/").unwrap();
    store.reset();
    let bytes: ArrayBytes<'static> = array.retrieve_array_subset(subset).unwrap();
    let bytes = bytes.into_fixed().unwrap();
    let values = bytes.as_chunks().0.iter().map(|&bytes| f32::from_ne_bytes(bytes)).collect();
    (values, store.bytes_read())
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
    for location in ["start", "end"] {
        let folder = Folder::new();
        let original = values(1.0);
        sharded(location).write(&folder.input(), &f32s(&original));
        let report = folder.pack(&["-e", "0.01"]);
        assert_eq!(names(&folder.output()), ["sharding_indexed"]);
        assert_eq!(report["codecs"], metadata(&folder.output())["codecs"]);
        assert_eq!(report["readers"]["zarr_python"], "parts_of_shards");
        assert_parts_are_read_alone(&folder.output(), &original);
    }
}

#[test]
fn codecs_that_do_not_encode_zero_go_outside_and_zarrs_still_reads_parts_alone() {
    let (folder, report) = packed(280.0, &[]);
    assert_eq!(names(&folder.output()), ["scale_offset", "cast_value", "sharding_indexed"]);
    assert_eq!(report["readers"]["zarr_python"], "whole_shards");
    assert_eq!(report["readers"]["zarrs"], "parts_of_shards");
    assert_parts_are_read_alone(&folder.output(), &values(280.0));
}

#[test]
fn the_place_changes_metadata_only() {
    for offset in [1.0, 280.0] {
        let (inside, _) = packed(offset, &["--shard-codecs", "inside"]);
        let (outside, _) = packed(offset, &["--shard-codecs", "outside"]);
        assert_eq!(names(&inside.output()), ["sharding_indexed"]);
        assert_eq!(names(&outside.output()).last().unwrap(), "sharding_indexed");
        let chunks = |folder: &Folder| {
            let mut files = contents(&folder.output());
            files.remove(Path::new("zarr.json")).unwrap();
            files
        };
        assert_eq!(chunks(&inside), chunks(&outside));
        let cat = |folder: &Folder| recast(&["cat", folder.output().to_str().unwrap()]).succeeds();
        assert_eq!(cat(&inside), cat(&outside));
        // The shard that was not stored is not, and the parts that were not are the fill value.
        assert!(!inside.output().join("c/0/1").exists());
    }
}

#[test]
fn the_readers_line_says_who_reads_what_of_the_chain_that_was_written() {
    let line = |offset: f32, more: &[&str]| {
        let folder = Folder::new();
        sharded("end").write(&folder.input(), &f32s(&values(offset)));
        let (input, output) = (folder.input(), folder.output());
        let mut arguments = vec!["pack", "-e", "0.01"];
        arguments.extend(more);
        arguments.extend([input.to_str().unwrap(), output.to_str().unwrap()]);
        let report = String::from_utf8(recast(&arguments).succeeds()).unwrap();
        let start = report.find("readers").unwrap_or_else(|| panic!("{report}"));
        report[start..].to_owned()
    };
    let inside = line(1.0, &[]);
    assert!(inside.contains("both of which decode only the parts of shards they need"), "{inside}");
    let outside = line(1.0, &["--shard-codecs", "outside"]);
    assert!(outside.contains("which decodes whole shards, zarrs"), "{outside}");
    let refused = line(280.0, &["--shard-codecs", "inside"]);
    assert!(refused.contains("not zarr-python 3.4.2, which opens no array"), "{refused}");
    assert!(refused.contains("--shard-codecs outside"), "{refused}");
    // Clamping codecs encode 0.
    let clamping = line(280.0, &["--out-of-range", "clamp"]);
    assert!(clamping.contains("both of which decode only the parts"), "{clamping}");
}

#[test]
fn types_that_numpy_lacks_need_ml_dtypes_and_the_readers_line_says_so() {
    let folder = Folder::new();
    Sample::new("float32", &[8], &[8], json!(0)).write(&folder.input(), &f32s(&[1.5; 8]));
    let report = folder.pack(&["-t", "float8_e4m3", "-e", "0.01"]);
    assert_eq!(report["readers"]["needs_ml_dtypes"], true);
    assert_eq!(report["readers"]["zarr_python"], "chunks");
}

#[test]
fn unpacked_arrays_have_the_shards_and_the_values() {
    for place in ["inside", "outside"] {
        let (folder, _) = packed(280.0, &["--shard-codecs", place]);
        let (output, plain) = (folder.output(), folder.path().join("plain.zarr"));
        let [output, plain_text] = [&output, &plain].map(|path| path.to_str().unwrap());
        recast(&["unpack", output, plain_text]).succeeds();
        assert_eq!(names(&plain), ["sharding_indexed"]);
        assert!(!metadata(&plain)["codecs"].to_string().contains("cast_value"));
        recast(&["verify", output, plain_text]).succeeds();
        let info = String::from_utf8(recast(&["info", output]).succeeds()).unwrap();
        assert!(info.contains("cast_value") && info.contains("-> int8"), "{info}");
    }
}

#[test]
fn codes_packed_by_cf_get_codecs_inside_and_go_back_to_the_same_files() {
    let folder = Folder::new();
    let sample = sharded("end")
        .with("data_type", json!("int16"))
        .with("fill_value", json!(-1))
        .with("attributes", json!({"scale_factor": 0.01, "add_offset": 5.0, "_FillValue": -1}));
    let codes: Vec<u8> =
        (0..SHAPE[0] * SHAPE[1]).flat_map(|code| (code as i16).to_ne_bytes()).collect();
    sample.write(&folder.input(), &codes);
    let report = folder.pack(&["--from-cf"]);
    assert_eq!(names(&folder.output()), ["sharding_indexed"]);
    assert_eq!(report["readers"]["zarr_python"], "parts_of_shards");
    let back = folder.path().join("back.zarr");
    let arguments = [folder.output(), back.clone()].map(|path| path.display().to_string());
    recast(&["unpack", "--to-cf", &arguments[0], &arguments[1]]).succeeds();
    let chunks = |path: &Path| {
        let mut files = contents(path);
        files.remove(Path::new("zarr.json")).unwrap();
        files
    };
    assert_eq!(chunks(&back), chunks(&folder.input()));
    assert_eq!(recast(&["cat", &arguments[1]]).succeeds(), codes);
}

#[test]
fn a_place_in_shards_is_refused_where_there_are_none_but_not_for_groups() {
    let folder = Folder::new();
    let plain = || Sample::new("float32", &[8], &[8], json!(0));
    plain().write(&folder.input(), &f32s(&[1.5; 8]));
    let error = folder.refuses(&["-e", "0.01", "--shard-codecs", "inside"]);
    assert!(error.contains("--shard-codecs is for arrays with shards"), "{error}");
    let error = folder.usage(&["-e", "0.01", "--shard-codecs", "middle"]);
    assert!(error.contains("auto, inside or outside"), "{error}");

    let folder = Folder::new();
    plain().write(&folder.input().join("plain"), &f32s(&[1.5; 8]));
    sharded("end").write(&folder.input().join("sharded"), &f32s(&values(1.0)));
    let group = r#"{"zarr_format":3,"node_type":"group"}"#;
    std::fs::write(folder.input().join("zarr.json"), group).unwrap();
    folder.pack(&["-e", "0.01", "--shard-codecs", "outside"]);
    assert_eq!(names(&folder.output().join("plain"))[..2], ["scale_offset", "cast_value"]);
    assert_eq!(names(&folder.output().join("sharded")).last().unwrap(), "sharding_indexed");
}

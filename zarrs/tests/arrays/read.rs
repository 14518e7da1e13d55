//! `zarrs_recast::read` gives what `Array::retrieve_array_subset` gives.

use std::sync::Arc;

use serde_json::{Value, json};
use zarrs::array::{Array, ArrayBuilder, ArrayMetadata, ArraySubset, data_type};
use zarrs::storage::storage_adapter::performance_metrics::PerformanceMetricsStorageAdapter;
use zarrs::storage::store::MemoryStore;

use crate::common::{Store, create, empty_store, metadata, write};

fn codecs() -> [Value; 3] {
    let scale = json!({"name": "scale_offset", "configuration": {"offset": -3, "scale": 4}});
    let cast = json!({"name": "cast_value", "configuration": {
        "data_type": "int16", "scalar_map": {"encode": [["NaN", -1]], "decode": [[-1, "NaN"]]}}});
    [scale, cast, json!({"name": "bytes", "configuration": {"endian": "big"}})]
}

/// Fails unless both ways of reading give the same, in a pool of two threads whatever this machine has.
#[track_caller]
fn assert_reads(array: &Array<Store>, subset: &ArraySubset) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
    let (found, expected): (Vec<f32>, Vec<f32>) = pool.install(|| {
        let found = zarrs_recast::read(array, subset).expect("read");
        (found, array.retrieve_array_subset(subset).expect("read"))
    });
    assert_eq!(found.len(), expected.len(), "{subset}");
    for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found.to_bits(), expected.to_bits(), "{subset}: element {index}");
    }
}

/// Numbers that survive the codecs, with NaNs among them.
fn elements(count: u64) -> Vec<u8> {
    let number = |i: u64| if i % 97 == 5 { f32::NAN } else { (i % 3001) as f32 / 4.0 };
    (0..count).flat_map(|i| number(i).to_ne_bytes()).collect()
}

/// An array of this shape with everything written but a hole, whose chunks stay missing.
fn array(shape: &[u64], chunks: &[u64], codecs: &Value) -> (tempfile::TempDir, Array<Store>) {
    zarrs_recast::register();
    let (folder, store) = empty_store();
    let array = create(&store, &metadata("float32", 8, shape, chunks, codecs)).expect("created");
    let third = shape[0].div_ceil(3);
    for rows in [0..third, 2 * third..shape[0]] {
        let mut ranges = array.subset_all().to_ranges();
        ranges[0] = rows;
        let part = ArraySubset::from(ranges);
        write(&array, &part, &elements(part.num_elements())).expect("written");
    }
    (folder, array)
}

#[test]
fn whole_arrays_and_parts_of_them_in_every_number_of_dimensions() {
    let [scale, cast, bytes] = codecs();
    let codecs = json!([scale, cast, bytes]);
    for (shape, chunks) in [
        (vec![2_000_003], vec![100_000]),
        (vec![30, 40], vec![7, 40]),
        (vec![31, 45], vec![7, 8]),
        (vec![9, 10, 11], vec![2, 10, 4]),
        (vec![6, 5, 4, 3], vec![1, 5, 2, 3]),
    ] {
        let (_folder, array) = array(&shape, &chunks, &codecs);
        let fused = zarrs_recast::fused(array.with_storage(array.storage()));
        let part = shape.iter().map(|&n| n / 5..n - n / 7).collect::<Vec<_>>();
        let thin = shape.iter().map(|&n| n / 2..n / 2 + 1).collect::<Vec<_>>();
        let none = shape.iter().map(|&n| n / 2..n / 2).collect::<Vec<_>>();
        for ranges in [array.subset_all().to_ranges(), part, thin, none] {
            assert_reads(&array, &ArraySubset::from(ranges.clone()));
            assert_reads(&fused, &ArraySubset::from(ranges));
        }
    }
}

#[test]
fn in_front_of_every_kind_of_codec() {
    let [scale, cast, bytes] = codecs();
    let transpose = json!({"name": "transpose", "configuration": {"order": [1, 0]}});
    let zstd = json!({"name": "zstd", "configuration": {"level": 1, "checksum": false}});
    let index =
        json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
    let shards = |chunk_shape: [u64; 2], codecs: Value| {
        json!({"name": "sharding_indexed", "configuration": {
            "chunk_shape": chunk_shape, "codecs": codecs, "index_codecs": index}})
    };
    for codecs in [
        json!([scale, cast, transpose, bytes, zstd]),
        json!([transpose, scale, cast, bytes]),
        json!([scale, transpose, cast, bytes]),
        json!([cast, bytes, {"name": "crc32c"}]),
        json!([scale, cast, shards([5, 10], json!([bytes, zstd]))]),
        json!([shards([5, 10], json!([scale, cast, bytes]))]),
        json!([bytes]),
    ] {
        let (_folder, array) = array(&[60, 40], &[10, 20], &codecs);
        assert_reads(&array, &array.subset_all());
        assert_reads(&array, &ArraySubset::from([3..57, 0..33]));
    }
}

#[test]
fn every_chunk_is_asked_for_once_and_a_missing_one_too() {
    zarrs_recast::register();
    let [scale, cast, bytes] = codecs();
    let document = metadata("float32", "NaN", &[40, 6], &[2, 3], &json!([scale, cast, bytes]));
    let document: ArrayMetadata = serde_json::from_value(document).expect("metadata");
    let store = PerformanceMetricsStorageAdapter::new(Arc::new(MemoryStore::new()));
    let store = Arc::new(store);
    let array = Array::new_with_metadata(store.clone(), "/", document).expect("an array");
    array.store_array_subset(&ArraySubset::from([0..20, 0..6]), &[1.5_f32; 120]).expect("written");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
    store.reset();
    let read = pool.install(|| zarrs_recast::read::<f32, _>(&array, &array.subset_all()));
    let read = read.expect("read");
    assert!(read[..120].iter().all(|&x| x == 1.5) && read[120..].iter().all(|x| x.is_nan()));
    assert_eq!(store.reads(), 20 * 2);

    // One that is wrong is not asked for again to say so.
    let plain = ArrayBuilder::new([40, 6], [2, 3], data_type::uint8(), 0_u8);
    let plain = plain.build(store.clone(), "/").expect("an array");
    plain.store_chunk(&[0, 0], vec![7_u8; 6]).expect("written");
    store.reset();
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let read = one.install(|| zarrs_recast::read::<f32, _>(&array, &array.subset_all()));
    let error = read.expect_err("6 bytes").to_string();
    assert!(error.contains("12"), "{error}");
    assert_eq!(store.reads(), 1, "{error}");
}

#[test]
fn errors_are_those_of_zarrs_with_chunk_and_element_named() {
    let [_, _, bytes] = codecs();
    let scale = json!({"name": "scale_offset", "configuration": {"scale": 3}});
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
    zarrs_recast::register();
    let (folder, store) = empty_store();
    let document = metadata("int32", 3, &[4, 6], &[2, 3], &json!([scale, bytes]));
    let array = create(&store, &document).expect("created");
    let both = |subset: &ArraySubset| {
        let found: Result<Vec<i32>, _> = pool.install(|| zarrs_recast::read(&array, subset));
        let expected: Result<Vec<i32>, _> = array.retrieve_array_subset(subset);
        (found.expect_err("wrong").to_string(), expected.expect_err("wrong").to_string())
    };

    // 4 is no multiple of the scale.
    let chunk = [3_i32, 4, 6, 9, 12, 15].map(i32::to_be_bytes).concat();
    std::fs::create_dir_all(folder.path().join("c/1")).expect("a folder");
    std::fs::write(folder.path().join("c/1/0"), chunk).expect("a chunk");
    let (found, expected) = both(&array.subset_all());
    let place = "(at [0, 1] of the elements that reach scale_offset)";
    assert_eq!(found, expected.replace(place, "(at [2, 1] of the array, in chunk [1, 0])"));
    assert!(found.contains("element 1: int32 4 is not a multiple of the scale"), "{found}");

    // A chunk that was cut off.
    std::fs::write(folder.path().join("c/1/0"), [0; 7]).expect("a chunk");
    let (found, expected) = both(&array.subset_all());
    assert!(found.contains('7') && expected.contains('7'), "{found}, {expected}");

    std::fs::remove_file(folder.path().join("c/1/0")).expect("no chunk");

    // A subset of other dimensions, and elements of another type.
    let (found, expected) = both(&ArraySubset::from([0..4, 0..6, 0..1]));
    assert_eq!(found, expected);
    let all = array.subset_all();
    let found = zarrs_recast::read::<f32, _>(&array, &all).expect_err("wrong");
    let expected = array.retrieve_array_subset::<Vec<f32>>(&all).expect_err("wrong");
    assert_eq!(found.to_string(), expected.to_string());
}

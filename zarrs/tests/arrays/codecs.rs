//! How the codecs behave inside zarrs: registration, data types, fill values, errors, and how much of
//! a chunk they touch.

// One range is the subset of an array with one dimension.
#![allow(clippy::single_range_in_vec_init)]

use std::sync::Arc;

use recast_kernels::ElementType;
use serde_json::{Value, json};
use zarrs::array::codec::api::CodecSpecificOptions;
use zarrs::array::{Array, ArrayMetadata, ArraySubset, CodecOptions};
use zarrs::storage::storage_adapter::performance_metrics::PerformanceMetricsStorageAdapter;
use zarrs::storage::store::MemoryStore;
use zarrs_recast::{BindOptions, FillCheck};

use crate::common::{self, create, empty_store, metadata, read, read_all, write, write_all};

#[allow(clippy::needless_pass_by_value)] // takes a literal
fn cast(configuration: Value) -> Value {
    json!({"name": "cast_value", "configuration": configuration})
}

fn little() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

fn to_bytes<const N: usize, T: Copy>(values: &[T], bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&value| bytes(value)).collect()
}

fn floats(values: &[f32]) -> Vec<u8> {
    to_bytes(values, f32::to_ne_bytes)
}

#[test]
fn every_data_type_is_known_to_zarrs_and_is_cast() {
    zarrs_recast::register();
    for &data_type in ElementType::ALL {
        let (_folder, store) = empty_store();
        let codecs = json!([cast(json!({"data_type": data_type.name()})), little()]);
        let document = metadata("float64", 1, &[3], &[2], &codecs);
        let array = create(&store, &document).unwrap_or_else(|e| panic!("{data_type}: {e}"));
        let ones = to_bytes(&[1.0; 3], f64::to_ne_bytes);
        write_all(&array, &ones).unwrap_or_else(|e| panic!("{data_type}: {e}"));
        assert_eq!(read_all(&array).expect("read"), ones, "{data_type}");

        // And as the type of the array; its fill value 1 is the number, not the bits.
        let (_folder, store) = empty_store();
        let codecs = json!([cast(json!({"data_type": "float64"})), little()]);
        let document = metadata(data_type.name(), 1, &[3], &[2], &codecs);
        let array = create(&store, &document).unwrap_or_else(|e| panic!("{data_type}: {e}"));
        let one = recast_kernels::Scalar::from(1_u8)
            .cast(data_type, <_>::default(), recast_kernels::OutOfRange::Error)
            .expect("every type has a one");
        assert_eq!(array.fill_value().as_ne_bytes(), one.to_ne_bytes(), "{data_type}");
        let ones = one.to_ne_bytes().repeat(3);
        write(&array, &ArraySubset::from([1..2]), &one.to_ne_bytes()).expect("written");
        assert_eq!(read_all(&array).expect("read"), ones, "{data_type}");
    }
}

#[test]
fn the_metadata_are_stored_as_they_were_given() {
    zarrs_recast::register();
    let codecs = json!([
        {"name": "scale_offset", "configuration": {"scale": 0.1}},
        cast(json!({"data_type": "int16", "scalar_map": {"encode": [["NaN", -1], ["Infinity", 7]]}})),
        little(),
    ]);
    let (folder, store) = empty_store();
    create(&store, &metadata("float32", 0, &[3], &[2], &codecs)).expect("an array");
    let stored = common::json_file(&folder.path().join("zarr.json"));
    assert_eq!(stored["codecs"], codecs);
    let rebuilt = common::open(folder.path()).expect("an array");
    let rebuilt = rebuilt.builder().build(store, "/copy").expect("a copy");
    let rebuilt = serde_json::to_value(rebuilt.metadata()).expect("JSON");
    assert_eq!(rebuilt["codecs"], codecs);
}

#[test]
fn fixedscaleoffset_rounds_as_numcodecs_does_once_registered() {
    zarrs_recast::register();
    let codecs = json!([
        {"name": "numcodecs.fixedscaleoffset", "configuration": {
            "offset": 0, "scale": 1, "dtype": "<f4", "astype": "<i2",
        }},
        little(),
    ]);
    let (folder, store) = empty_store();
    let array = create(&store, &metadata("float32", 0, &[2], &[2], &codecs)).expect("an array");
    write_all(&array, &floats(&[2.5, -0.5])).expect("written");
    // zarrs' own codec of that name rounds ties away from zero: 3 and -1.
    assert_eq!(std::fs::read(folder.path().join("c/0")).expect("a chunk"), [2, 0, 0, 0]);
}

#[test]
fn a_0_d_array_keeps_its_byte_order() {
    zarrs_recast::register();
    let big = json!({"name": "bytes", "configuration": {"endian": "big"}});
    let codecs = json!([{"name": "scale_offset", "configuration": {"scale": 1}}, big]);
    let (folder, store) = empty_store();
    let array = create(&store, &metadata("uint16", 0, &[], &[], &codecs)).expect("an array");
    let element = 512_u16.to_ne_bytes();
    write_all(&array, &element).expect("written");
    assert_eq!(std::fs::read(folder.path().join("c")).expect("a chunk"), [2, 0]);
    assert_eq!(read_all(&array).expect("read"), element);
}

#[test]
fn the_byte_order_of_a_v3_fixedscaleoffset_is_that_of_the_bytes_codec() {
    zarrs_recast::register();
    let codecs = json!([
        {"name": "numcodecs.fixedscaleoffset", "configuration": {
            "offset": 0, "scale": 1, "dtype": ">f8", "astype": ">i2",
        }},
        little(),
    ]);
    let (folder, store) = empty_store();
    let array = create(&store, &metadata("float64", 0, &[2], &[2], &codecs)).expect("an array");
    let elements = to_bytes(&[513.0, -1.0], f64::to_ne_bytes);
    write_all(&array, &elements).expect("written");
    assert_eq!(std::fs::read(folder.path().join("c/0")).expect("a chunk"), [1, 2, 255, 255]);
    assert_eq!(read_all(&array).expect("read"), elements);
}

#[test]
fn filters_of_zarr_v2_store_their_own_byte_order() {
    zarrs_recast::register();
    for (filter, dtype, expected) in [
        (json!({"id": "astype", "encode_dtype": "<i2", "decode_dtype": ">f4"}), ">f4", [1, 2]),
        (json!({"id": "astype", "encode_dtype": ">i2", "decode_dtype": "<f4"}), "<f4", [2, 1]),
        (json!({"id": "astype", "encode_dtype": "<i2", "decode_dtype": "<f4"}), "<f4", [1, 2]),
        (
            json!({"id": "fixedscaleoffset", "offset": 0, "scale": 1, "dtype": "<f4", "astype": ">i2"}),
            "<f4",
            [2, 1],
        ),
    ] {
        let document = json!({
            "zarr_format": 2, "shape": [3], "chunks": [3], "dtype": dtype, "fill_value": 0,
            "order": "C", "compressor": null, "filters": [filter],
        });
        let (folder, store) = empty_store();
        let array = create(&store, &document).expect("an array");
        let elements = floats(&[513.0, 0.0, 513.0]);
        write_all(&array, &elements).expect("written");
        let stored = std::fs::read(folder.path().join("0")).expect("a chunk");
        assert_eq!(stored, [expected, [0, 0], expected].concat(), "{filter}");
        assert_eq!(read_all(&array).expect("read"), elements, "{filter}");
        let last = read(&array, &ArraySubset::from([2..3])).expect("read");
        assert_eq!(last, floats(&[513.0]), "{filter}");
    }
}

#[test]
fn an_error_names_the_codec_the_element_and_its_place_in_the_chunk() {
    zarrs_recast::register();
    let codecs = json!([cast(json!({"data_type": "uint8"})), little()]);
    let (_folder, store) = empty_store();
    let array =
        create(&store, &metadata("float32", 0, &[4, 4], &[4, 4], &codecs)).expect("an array");
    let mut elements = vec![1.0; 16];
    elements[6] = 300.0;
    let error = write_all(&array, &floats(&elements)).expect_err("300").to_string();
    assert_eq!(
        error,
        "cast_value, encoding: element 6: float32 300.0 is out of range for uint8 (0 to 255); set \
         out_of_range, or name the value in scalar_map (at [1, 2] of the elements that reach cast_value)"
    );

    let options = CodecOptions::default().with_experimental_partial_encoding(true);
    let subset = ArraySubset::from([1..3, 2..4]);
    let error = array.store_array_subset_opt(&subset, &[1.0_f32, 2.0, 3.0, -1.0], &options);
    let error = error.expect_err("-1").to_string();
    assert!(error.contains("element 3: float32 -1.0 "), "{error}");
    assert!(error.contains("(at [2, 3] of the elements that reach cast_value)"), "{error}");
}

#[test]
fn a_fill_value_that_cannot_be_encoded_is_refused_whatever_zarrs_asks_first() {
    zarrs_recast::register();
    let codecs = json!([cast(json!({"data_type": "uint8"})), little()]);
    let (_folder, store) = empty_store();
    let array = create(&store, &metadata("float32", "NaN", &[4], &[2], &codecs)).expect("an array");
    let error = write_all(&array, &floats(&[1.0; 4])).expect_err("NaN").to_string();
    assert!(error.contains("fill_value: float32 NaN cannot be encoded"), "{error}");
    assert!(error.contains("scalar_map"), "{error}");
}

/// zarrs asks every codec what becomes of a fill value of zero before it reads chunks in parallel.
#[test]
fn a_zero_that_the_codecs_cannot_encode_is_no_obstacle_to_another_fill_value() {
    zarrs_recast::register();
    let codecs = json!([
        {"name": "scale_offset", "configuration": {"offset": 1000}},
        cast(json!({"data_type": "uint8"})),
        {"name": "sharding_indexed", "configuration": {
            "chunk_shape": [2], "codecs": [little()], "index_codecs": [little()],
        }},
    ]);
    let (_folder, store) = empty_store();
    let array = create(&store, &metadata("uint16", 1000, &[8], &[4], &codecs)).expect("an array");
    let elements =
        to_bytes(&[1000, 1001, 1255, 1000, 1000, 1000, 1000, 1009_u16], u16::to_ne_bytes);
    write_all(&array, &elements).expect("written");
    assert_eq!(read_all(&array).expect("read"), elements);
}

#[test]
fn a_fill_value_that_a_cast_changes_is_read_but_not_written() {
    zarrs_recast::register();
    let codecs = json!([cast(json!({"data_type": "int32"})), little()]);
    let document = metadata("float32", 0.5, &[4], &[4], &codecs);
    let (folder, store) = empty_store();
    let array = create(&store, &document).expect("an array");
    let error = write_all(&array, &floats(&[1.0; 4])).expect_err("0.5").to_string();
    assert!(error.contains("fill_value: float32 0.5 does not survive"), "{error}");

    // A missing chunk is the fill value, whole and in part; a stored one is what it holds.
    assert_eq!(read_all(&array).expect("read"), floats(&[0.5; 4]));
    let some = ArraySubset::from([1..3]);
    assert_eq!(read(&array, &some).expect("read"), floats(&[0.5; 2]));
    std::fs::create_dir(folder.path().join("c")).expect("a folder");
    std::fs::write(folder.path().join("c/0"), [7_i32, 0, 0, 9].map(i32::to_le_bytes).concat())
        .expect("a chunk");
    assert_eq!(read_all(&array).expect("read"), floats(&[7.0, 0.0, 0.0, 9.0]));
    assert_eq!(read(&array, &some).expect("read"), floats(&[0.0; 2]));

    let report = BindOptions::default().fill_check(FillCheck::ReportOnly);
    let options = CodecSpecificOptions::default().with_option(report);
    let array = array.with_codec_specific_options(&options);
    write(&array, &some, &floats(&[1.0, 2.0])).expect("written, as was asked for");
    assert_eq!(read_all(&array).expect("read"), floats(&[7.0, 1.0, 2.0, 9.0]));
}

#[test]
fn a_missing_chunk_keeps_the_bits_of_a_nan() {
    zarrs_recast::register();
    let scale = json!({"name": "scale_offset", "configuration": {"scale": 2}});
    let cast = cast(json!({"data_type": "uint8", "scalar_map": {
        "encode": [["NaN", 0]], "decode": [[0, "NaN"]]}}));
    let delta = json!({"name": "numcodecs.delta", "configuration": {"dtype": "|u1"}});
    for codecs in [json!([scale, cast, little()]), json!([scale, cast, delta, little()])] {
        let (_folder, store) = empty_store();
        let document = metadata("float32", "0x7fc01234", &[8], &[4], &codecs);
        let array = create(&store, &document).expect("an array");
        array.store_chunk(&[1], vec![1.5_f32, 2.0, 2.5, 3.0]).expect("written");
        let nan = 0x7fc0_1234_u32.to_ne_bytes();
        let all = [nan.repeat(4), [1.5_f32, 2.0, 2.5, 3.0].map(f32::to_ne_bytes).concat()].concat();
        assert_eq!(read_all(&array).expect("read"), all, "{codecs}");
        for part in [1..3, 2..6, 5..8] {
            let found = read(&array, &ArraySubset::from([part.clone()])).expect("read");
            let bytes = 4 * part.start as usize..4 * part.end as usize;
            assert_eq!(found, all[bytes], "{codecs}: {part:?}");
        }
    }
}

#[test]
fn a_part_of_a_chunk_touches_only_its_bytes() {
    zarrs_recast::register();
    let storage = PerformanceMetricsStorageAdapter::new(Arc::new(MemoryStore::new()));
    let storage = Arc::new(storage);
    let codecs = json!([
        {"name": "scale_offset", "configuration": {"scale": 2}},
        cast(json!({"data_type": "int16"})),
        little(),
    ]);
    let document = metadata("float32", 0, &[1000, 1000], &[1000, 1000], &codecs);
    let document: ArrayMetadata = serde_json::from_value(document).expect("metadata");
    let array = Array::new_with_metadata(storage.clone(), "/", document).expect("an array");
    array.store_chunk(&[0, 0], vec![1.5_f32; 1_000_000]).expect("written");
    assert_eq!(storage.bytes_written(), 2_000_000);

    storage.reset();
    let subset = ArraySubset::from([10..20, 30..35]);
    let found: Vec<f32> = array.retrieve_array_subset(&subset).expect("read");
    assert_eq!(found, [1.5; 50]);
    assert_eq!(storage.bytes_read(), 100);

    storage.reset();
    let options = CodecOptions::default().with_experimental_partial_encoding(true);
    array.store_array_subset_opt(&subset, vec![2.5_f32; 50], &options).expect("written");
    let found: Vec<f32> =
        array.retrieve_array_subset(&ArraySubset::from([10..11, 29..32])).expect("read");
    assert_eq!(found, [1.5, 2.5, 2.5]);
}

#[test]
fn what_zarrs_does_not_know_is_named() {
    zarrs_recast::register();
    let known = json!([cast(json!({"data_type": "uint8"})), little()]);
    let plain = metadata("float32", 0, &[4], &[2], &known);
    let with_codecs = |codecs: Value| metadata("float32", 0, &[4], &[2], &codecs);
    let with_field = |field: Value| {
        let mut document = plain.clone();
        document["packing"] = field;
        document
    };
    // What an error must name, and what to do.
    for (document, named) in [
        (
            with_codecs(json!([{"name": "scale_ofset"}, little()])),
            &["codec", "scale_ofset", "correct its name"][..],
        ),
        (
            with_codecs(json!([cast(json!({"data_type": "uint8", "clip": true})), little()])),
            &["clip"],
        ),
        (
            with_codecs(json!([cast(json!({"data_type": "bool"})), little()])),
            &["bool", "int2", "float8_e5m2", "float64"],
        ),
        (
            with_codecs(
                json!([{"name": "scale_offset", "configuration": {"scale": null}}, little()]),
            ),
            &["scale"],
        ),
        (metadata("int3", 0, &[4], &[2], &known), &["data type", "int3", "correct its name"]),
        (with_field(json!({"must_understand": true})), &["packing", "\"must_understand\": false"]),
        (with_field(json!({"name": "cf"})), &["packing"]),
    ] {
        let (folder, store) = empty_store();
        let opened = create(&store, &document).and_then(|_| common::open(folder.path()));
        let error = opened.err().unwrap_or_else(|| panic!("{named:?}"));
        println!("{error}");
        for name in named {
            assert!(error.contains(name), "{name}: {error}");
        }
        assert!(!error.contains('\n'), "{error}");
    }
    let (folder, store) = empty_store();
    create(&store, &with_field(json!({"must_understand": false}))).expect("an array");
    common::open(folder.path()).expect("need not be understood");
}

#[test]
fn a_fused_array_judges_the_fill_value_and_names_the_first_element_of_all_its_codecs() {
    zarrs_recast::register();
    // (2.1 - 0.1) * 10 is 19.999998 in float32: the cast rounds it to 20, which decodes to 2.1 again.
    let codecs = json!([
        {"name": "scale_offset", "configuration": {"offset": 0.1, "scale": 10}},
        cast(json!({"data_type": "int16"})),
        little(),
    ]);
    let (_folder, store) = empty_store();
    let array = create(&store, &metadata("float32", 2.1, &[4], &[4], &codecs)).expect("an array");
    let elements = floats(&[2.1, 0.1, 1.1, 3.1]);
    let error = write_all(&array, &elements).expect_err("the cast alone changes it").to_string();
    assert!(error.contains("zarrs_recast::fused"), "{error}");

    let array = zarrs_recast::fused(array);
    write_all(&array, &elements).expect("written");
    assert_eq!(read_all(&array).expect("read"), elements);
    let error = write_all(&array, &floats(&[2.1, 0.1, 1e6, 3e38])).expect_err("1e6").to_string();
    let expected = "scale_offset + cast_value, encoding: element 2: float32 1000000.0 (by then ";
    assert!(error.starts_with(expected), "{error}");
}

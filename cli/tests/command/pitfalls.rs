//! Mistakes that packing and casting have been bitten by elsewhere, and what the command does instead.
//! 1 and 8, which are about CF, are in `cf.rs`.

use std::path::Path;

use crate::common::{
    self, Folder, Sample, configuration, f32s, field, metadata, open, read_f32, recast,
    stored_codes,
};
use serde_json::{Value, json};
use zarrs::array::{ArrayBytes, ArraySubset};

fn kelvin(count: usize) -> Vec<f32> {
    field(count).into_iter().map(|value| value as f32).collect()
}

fn folder_with(values: &[f32], fill: Value) -> Folder {
    let folder = Folder::new();
    let count = values.len() as u64;
    Sample::new("float32", &[count], &[100], fill).write(&folder.input(), &f32s(values));
    folder
}

/// `recast raw`, with elements in little-endian order.
fn raw(direction: &str, data_type: &str, codecs: &Value, input: &[u8]) -> common::Recast {
    let codecs = codecs.to_string();
    recast(&["raw", direction, "-t", data_type, "--codecs", &codecs]).stdin(input)
}

fn cast_to(data_type: &str) -> Value {
    json!([{"name": "cast_value", "configuration": {"data_type": data_type}}])
}

fn cast_with(data_type: &str, member: &str, value: Value) -> Value {
    let mut codecs = cast_to(data_type);
    codecs[0]["configuration"][member] = value;
    codecs
}

fn little<const N: usize, T: Copy>(values: &[T], bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&value| bytes(value)).collect()
}

fn scale_and_offset(path: &Path) -> (f32, f32) {
    let document = metadata(path);
    let codec = configuration(&document, "scale_offset").unwrap().clone();
    let number = |name: &str, or: f32| codec[name].as_f64().map_or(or, |number| number as f32);
    (number("scale", 1.0), number("offset", 0.0))
}

/// Arithmetic is in the array's type: neither in float64 nor with fewer roundings.
#[test]
fn pitfall_2_arithmetic_in_another_type() {
    let values = kelvin(2000);
    let folder = folder_with(&values, json!("NaN"));
    folder.pack(&["--auto", "-t", "uint16"]);
    let (scale, offset) = scale_and_offset(&folder.output());
    let decoded = read_f32(&folder.output());
    let mut others = 0;
    for (code, decoded) in stored_codes(&folder.output()).into_iter().zip(decoded) {
        assert_eq!(decoded, code as f32 / scale + offset);
        let wide = (code as f64 / f64::from(scale) + f64::from(offset)) as f32;
        others += usize::from(wide != decoded);
    }
    assert!(others > 0, "float64 would do the same here, so the test shows nothing");
}

/// A scale of 0 in any spelling, NaN and infinity are refused; integers are divided exactly or not.
#[test]
fn pitfall_3_scales_that_destroy_data_and_inexact_division() {
    let one = 1.0_f32.to_le_bytes();
    for scale in [
        json!(0),
        json!(0.0),
        json!(-0.0),
        json!("0x00000000"),
        json!("NaN"),
        json!("Infinity"),
        json!(1e-60),
    ] {
        let codecs = json!([{"name": "scale_offset", "configuration": {"scale": scale}}]);
        let error = raw("encode", "float32", &codecs, &one).fails(1);
        assert!(error.contains("scale"), "{scale}: {error}");
    }
    let folder = folder_with(&kelvin(10), json!("NaN"));
    folder.refuses(&["--scale", "0", "-t", "int16"]);
    let codecs = json!([{"name": "scale_offset", "configuration": {"scale": 10}}]);
    let input = little(&[50_i32, 57], i32::to_le_bytes);
    let error = raw("decode", "int32", &codecs, &input).fails(1);
    assert!(error.contains("element 1") && error.contains("57"), "{error}");
    assert_eq!(raw("decode", "int32", &codecs, &input[..4]).succeeds(), 5_i32.to_le_bytes());
}

/// Maps are read with hexadecimal numbers and with "+Infinity", and written with "Infinity".
#[test]
fn pitfall_4_numbers_in_maps() {
    let map = json!({"encode": [["+Infinity", 254], ["0x7fc00000", 255]]});
    let codecs = cast_with("uint8", "scalar_map", map);
    let input = little(&[f32::INFINITY, f32::NAN, 1.0], f32::to_le_bytes);
    assert_eq!(raw("encode", "float32", &codecs, &input).succeeds(), [254, 255, 1]);
    let folder = folder_with(&[1.0, f32::INFINITY, 3.0], json!("Infinity"));
    folder.pack(&["-e", "0.1"]);
    let text = metadata(&folder.output()).to_string();
    assert!(text.contains("\"Infinity\"") && !text.contains("+Infinity"), "{text}");
}

/// Wrapping is a matter of the stored type.
#[test]
fn pitfall_5_wrap_is_checked_against_the_target() {
    let wrap = |target| cast_with(target, "out_of_range", json!("wrap"));
    let input = little(&[300.0_f32, -1.0], f32::to_le_bytes);
    assert_eq!(raw("encode", "float32", &wrap("uint8"), &input).succeeds(), [44, 255]);
    let error = raw("encode", "int16", &wrap("float32"), &[1, 0]).fails(1);
    assert!(error.contains("wrap") && error.contains("float32"), "{error}");
}

/// NaN goes both ways; where it cannot go, the error has the line that is missing.
#[test]
fn pitfall_6_nan_in_one_direction_only() {
    let mut values = kelvin(300);
    values[7] = f32::NAN;
    let folder = folder_with(&values, json!(0.0));
    folder.pack(&["-e", "0.01"]);
    let document = metadata(&folder.output());
    let map = &configuration(&document, "cast_value").unwrap()["scalar_map"];
    let pairs = |direction: &str| map[direction].as_array().unwrap().clone();
    let turned: Vec<Value> = pairs("encode").iter().map(|pair| json!([pair[1], pair[0]])).collect();
    assert_eq!(pairs("decode"), turned);
    assert!(read_f32(&folder.output())[7].is_nan());
    let arguments = ["raw", "encode", "-t", "float32", "--fill-value", "\"NaN\"", "--codecs"];
    let codecs = cast_to("uint8").to_string();
    let error = recast(&[&arguments[..], &[&codecs]].concat()).fails(1);
    assert!(error.contains("scalar_map") && error.contains("NaN"), "{error}");
}

/// Chunks that are not stored decode to the fill value itself.
#[test]
fn pitfall_7_the_fill_value_goes_the_way_of_the_data() {
    for fill in [json!(0.0), json!(-999.0), json!(1e20), json!(288.123), json!("NaN")] {
        let folder = Folder::new();
        let array = Sample::new("float32", &[200], &[100], fill).create(&folder.input());
        let first = ArraySubset::new_with_shape(vec![100]);
        let bytes = f32s(&kelvin(100));
        array.store_array_subset(&first, ArrayBytes::new_flen(bytes)).unwrap();
        for goal in [&["-e", "0.01"][..], &["--auto", "-t", "int16"]] {
            folder.pack(&[goal, &["--overwrite"]].concat());
            assert!(!folder.output().join("c/1").exists());
            let before = read_f32(&folder.input())[150];
            let after = read_f32(&folder.output())[150];
            assert!(before == after || before.is_nan() && after.is_nan(), "{before} {after}");
        }
    }
}

/// One scale for all chunks, from all of them; what does not fit is an error and never folded.
#[test]
fn pitfall_9_a_range_of_one_chunk_only() {
    // Each chunk has a range of its own.
    let values: Vec<f32> = (0..500).map(|i| ((i / 100) * 1000) as f32 + (i % 100) as f32).collect();
    let folder = folder_with(&values, json!("NaN"));
    let report = folder.pack(&["--auto", "-t", "uint16"]);
    assert_eq!(report["range"], json!([0.0, 4099.0]));
    let decoded = read_f32(&folder.output());
    assert!(values.iter().zip(decoded).all(|(a, b)| (a - b).abs() < 0.04));
    std::fs::remove_dir_all(folder.output()).unwrap();
    let error = folder.refuses(&["--scale", "1", "-t", "uint8"]);
    assert!(error.contains("out of range for uint8"), "{error}");
}

/// Rounding is to nearest, so that packing has no bias; ties and large integers are rounded once.
#[test]
fn pitfall_10_truncation_and_double_rounding() {
    let folder = folder_with(&kelvin(20_000), json!("NaN"));
    let bias = |report: &Value| report["error"]["bias"].as_f64().unwrap().abs();
    let arguments = ["--scale", "10", "--offset", "270", "-t", "int16"];
    assert!(bias(&folder.pack(&arguments)) < 0.001);
    let truncated = [&arguments[..], &["--rounding", "towards-zero", "--overwrite"]].concat();
    assert!(bias(&folder.pack(&truncated)) > 0.04);
    let away = cast_with("int32", "rounding", json!("nearest-away"));
    let input = little(&[0.499_999_999_999_999_94, 0.5, -2.5], f64::to_le_bytes);
    let expected = little(&[0_i32, 1, -3], i32::to_le_bytes);
    assert_eq!(raw("encode", "float64", &away, &input).succeeds(), expected);
    // Through float64 this would become a tie, and then 2^60.
    let input = ((1_i64 << 60) + (1 << 36) + 1).to_le_bytes();
    let expected = (2_f32.powi(60) + 2_f32.powi(37)).to_le_bytes();
    assert_eq!(raw("encode", "int64", &cast_to("float32"), &input).succeeds(), expected);
}

/// Elements stay where they are whatever the order in which they are stored.
#[test]
fn pitfall_11_transposed_arrays() {
    let values = kelvin(30 * 20);
    let transpose = json!({"name": "transpose", "configuration": {"order": [1, 0]}});
    let cast = json!({"name": "cast_value", "configuration": {"data_type": "float64"}});
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    for codecs in [json!([transpose, cast, bytes]), json!([cast, transpose, bytes])] {
        let folder = Folder::new();
        Sample::new("float32", &[30, 20], &[7, 20], json!(0.0))
            .with("codecs", codecs)
            .write(&folder.input(), &f32s(&values));
        folder.pack(&["-e", "0.001"]);
        let decoded = read_f32(&folder.output());
        assert!(values.iter().zip(decoded).all(|(a, b)| (a - b).abs() <= 0.001));
    }
}

/// What clamping gives is fixed for each type, with infinity or without.
#[test]
fn pitfall_12_clamping_in_types_without_infinity() {
    for (data_type, largest, infinity) in [
        ("float8_e4m3", 0x78, 0x78),
        ("float8_e5m2", 0x7c, 0x7c),
        ("float8_e4m3fnuz", 0x7f, -1),
        ("float8_e5m2fnuz", 0x7f, -1),
        ("float6_e2m3fn", 0x1f, -1),
        ("float4_e2m1fn", 0x07, -1),
    ] {
        let clamp = cast_with(data_type, "out_of_range", json!("clamp"));
        let beyond = 1e6_f32.to_le_bytes();
        assert_eq!(raw("encode", "float32", &clamp, &beyond).succeeds(), [largest], "{data_type}");
        let result = raw("encode", "float32", &clamp, &f32::INFINITY.to_le_bytes());
        if infinity < 0 {
            result.fails(1);
        } else {
            assert_eq!(result.succeeds(), [infinity as u8], "{data_type}");
        }
    }
    // The number of elements that were clamped is told.
    let folder = folder_with(&kelvin(100), json!("NaN"));
    let arguments = ["-t", "float8_e4m3fnuz", "--scale", "1", "--out-of-range", "clamp"];
    let report = folder.pack(&arguments);
    assert_eq!(report["counts"]["clamped"], 100);
    assert!(read_f32(&folder.output()).iter().all(|&value| value == 240.0));
}

/// Sentinels of 64 bits are compared with every bit.
#[test]
fn pitfall_13_sentinels_beside_the_largest_integers() {
    let map = json!({"encode": [[i64::MAX, -1]], "decode": [[-1, i64::MAX]]});
    let mut codecs = cast_with("int32", "scalar_map", map);
    codecs[0]["configuration"]["out_of_range"] = json!("clamp");
    let input = little(&[i64::MAX, i64::MAX - 1, 5], i64::to_le_bytes);
    let expected = little(&[-1_i32, i32::MAX, 5], i32::to_le_bytes);
    assert_eq!(raw("encode", "int64", &codecs, &input).succeeds(), expected);
    let folder = Folder::new();
    let values = [i64::MAX, i64::MAX - 1, i64::MAX - 2];
    Sample::new("int64", &[3], &[3], json!(i64::MAX))
        .write(&folder.input(), &little(&values, i64::to_ne_bytes));
    let report = folder.pack(&["-e", "0"]);
    assert_eq!([&report["counts"]["fill"], &report["data_type"]], [&json!(1), &json!("int8")]);
    let array = open(&folder.output());
    let read: ArrayBytes<'static> = array.retrieve_array_subset(&array.subset_all()).unwrap();
    assert_eq!(read.into_fixed().unwrap(), little(&values, i64::to_ne_bytes));
}

/// The report says who can read the result, and there is a way back for everybody else.
#[test]
fn pitfall_14_readers_without_the_codecs() {
    let values = kelvin(300);
    let folder = folder_with(&values, json!("NaN"));
    let [input, output, plain] = ["in.zarr", "out.zarr", "plain.zarr"]
        .map(|name| folder.path().join(name).display().to_string());
    let table = recast(&["pack", &input, &output, "-e", "0.01"]).succeeds();
    let table = String::from_utf8(table).unwrap();
    assert!(table.contains("zarr-python 3.4.2") && table.contains("not GDAL"), "{table}");
    recast(&["unpack", &output, &plain]).succeeds();
    let document = metadata(Path::new(&plain));
    for name in ["cast_value", "scale_offset"] {
        assert_eq!(configuration(&document, name), None);
    }
    assert_eq!(read_f32(Path::new(&plain)), read_f32(Path::new(&output)));
}

/// Missing values and infinities are no part of the range; for one hot pixel there is `--src-max`.
#[test]
fn pitfall_15_one_value_ruins_the_range() {
    let mut values = kelvin(10_000);
    (values[3], values[4], values[5]) = (1e20, f32::NAN, 1e20);
    let folder = folder_with(&values, json!(1e20));
    let report = folder.pack(&["--auto", "-t", "uint8"]);
    assert!(report["range"][1].as_f64().unwrap() < 400.0);
    let counts = &report["counts"];
    assert_eq!([&counts["fill"], &counts["nan"]], [2, 1]);
    // A pixel that is no fill value.
    values[6] = 65_535.0;
    let folder = folder_with(&values, json!(1e20));
    let coarse = folder.pack(&["--auto", "-t", "uint8"])["error"]["mean"].as_f64().unwrap();
    let clamped = ["--auto", "-t", "uint8", "--src-max", "400", "--overwrite"];
    let report = folder.pack(&clamped);
    assert!(report["error"]["mean"].as_f64().unwrap() < coarse / 100.0);
    assert_eq!(report["counts"]["clamped"], 1);
    values[6] = f32::INFINITY;
    let folder = folder_with(&values, json!(1e20));
    let error = folder.refuses(&["--auto", "-t", "uint8"]);
    assert!(error.contains("element [6]") && error.contains("1 in all"), "{error}");
}

//! `recast pack`: every element within the bound, and nothing left behind where that cannot be.

use std::fs;
use std::path::Path;

use crate::common::{
    self, Folder, Sample, configuration, f32s, f64s, field, metadata, names, open, read_f32,
    recast, stored_codes,
};
use serde_json::{Value, json};
use zarrs::array::ArrayBytes;

/// Scale and offset in a metadata document, absent ones as what changes nothing.
fn affine(document: &Value) -> (f64, f64) {
    let configuration = configuration(document, "scale_offset").cloned().unwrap_or(json!({}));
    let number = |name: &str, or: f64| configuration.get(name).map_or(or, |v| v.as_f64().unwrap());
    (number("scale", 1.0), number("offset", 0.0))
}

/// The stored code of a value in the decode map.
fn mapped(document: &Value, value: &Value) -> Option<i64> {
    let cast = configuration(document, "cast_value").unwrap();
    let pairs = cast["scalar_map"]["decode"].as_array()?;
    pairs.iter().find(|pair| pair[1] == *value)?[0].as_i64()
}

/// Decodes a packed float32 array with plain f32 arithmetic, from its codes and its metadata.
fn decoded_by_hand(path: &Path) -> Vec<f32> {
    let document = metadata(path);
    let (scale, offset) = affine(&document);
    let has = |name: &str| {
        configuration(&document, "scale_offset").is_some_and(|codec| codec.get(name).is_some())
    };
    let nan = mapped(&document, &json!("NaN"));
    stored_codes(path)
        .into_iter()
        .map(|code| {
            if Some(code) == nan {
                return f32::NAN;
            }
            let mut value = code as f32;
            if has("scale") {
                value /= scale as f32;
            }
            if has("offset") {
                value += offset as f32;
            }
            value
        })
        .collect()
}

#[test]
fn every_element_of_a_real_array_is_within_the_bound() {
    let folder = Folder::new();
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/data/oisst_sst.zarr");
    let values = read_f32(&original);
    assert!(values.iter().filter(|value| value.is_nan()).count() > 4000);
    for bound in ["0.5", "0.05", "0.005", "0.0005", "0.00003"] {
        let output = folder.path().join(bound);
        let arguments = ["pack", original.to_str().unwrap(), output.to_str().unwrap(), "-e", bound];
        recast(&arguments).succeeds();
        let bound: f64 = bound.parse().unwrap();
        let decoded = decoded_by_hand(&output);
        assert_eq!(decoded.len(), values.len());
        for (index, (&before, &after)) in values.iter().zip(&decoded).enumerate() {
            assert_eq!(before.is_nan(), after.is_nan(), "element {index}");
            let error = (f64::from(before) - f64::from(after)).abs();
            assert!(before.is_nan() || error <= bound, "element {index}: {error} > {bound}");
        }
        let through_codecs = read_f32(&output);
        assert!(
            through_codecs.iter().zip(&decoded).all(|(a, b)| a == b || a.is_nan() & b.is_nan())
        );
    }
}

#[test]
fn the_smallest_type_is_chosen() {
    let folder = Folder::new();
    let values: Vec<f32> = field(6000).into_iter().map(|value| value as f32).collect();
    Sample::new("float32", &[60, 100], &[16, 33], json!("NaN"))
        .write(&folder.input(), &f32s(&values));
    // About 30 units of extent: 2·E steps each.
    for (bound, data_type) in [("0.08", "int8"), ("0.005", "int16"), ("0.00011", "int32")] {
        let report = folder.pack(&["-e", bound, "--overwrite"]);
        assert_eq!(report["data_type"], data_type, "{bound}");
        let bound: f64 = bound.parse().unwrap();
        let decoded = decoded_by_hand(&folder.output());
        let errors = values.iter().zip(decoded).map(|(&a, b)| (f64::from(a) - f64::from(b)).abs());
        let largest = errors.fold(0.0, f64::max);
        assert!(largest <= bound, "{largest} > {bound}");
        assert_eq!(report["error"]["max"].as_f64(), Some(largest));
    }
}

#[test]
fn the_report_counts_what_is_there() {
    let folder = Folder::new();
    let mut values: Vec<f32> = field(1000).into_iter().map(|value| value as f32).collect();
    for index in [0, 17, 999] {
        values[index] = f32::NAN;
    }
    for index in [3, 4] {
        values[index] = 1e20;
    }
    let sample = Sample::new("float32", &[1000], &[300], json!(1e20));
    sample.write(&folder.input(), &f32s(&values));
    let report = folder.pack(&["--max-abs-error", "0.01"]);
    let counts = &report["counts"];
    assert_eq!([&counts["elements"], &counts["nan"], &counts["fill"]], [1000, 3, 2]);
    assert_eq!(counts["mapped"], 5);
    let real = || values.iter().zip(read_f32(&folder.output())).filter(|(a, _)| **a < 1e19);
    let errors: Vec<f64> = real().map(|(&a, b)| (f64::from(a) - f64::from(b)).abs()).collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let square = errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64;
    let close = |value: &Value, expected: f64| {
        let value = value.as_f64().unwrap();
        assert!((value / expected - 1.0).abs() < 1e-9, "{value} {expected}");
    };
    close(&report["error"]["mean"], mean);
    close(&report["error"]["rmse"], square.sqrt());
    close(&report["bytes"]["source"], 4000.0);
    // Chunks are compared with chunks.
    let chunks = |array: &Path| {
        common::bytes_below(array) - fs::metadata(array.join("zarr.json")).unwrap().len()
    };
    assert_eq!(report["bytes"]["stored"], chunks(&folder.output()));
    assert_eq!(report["bytes"]["source_stored"], chunks(&folder.input()));
}

#[test]
fn float64_stays_within_tight_bounds() {
    let folder = Folder::new();
    let values = field(5000);
    Sample::new("float64", &[50, 100], &[50, 100], json!(0.0))
        .write(&folder.input(), &f64s(&values));
    for bound in ["1e-3", "1e-7", "1e-12"] {
        let report = folder.pack(&["-e", bound, "--overwrite"]);
        let document = metadata(&folder.output());
        let (scale, offset) = affine(&document);
        let bound: f64 = bound.parse().unwrap();
        for (&value, code) in values.iter().zip(stored_codes(&folder.output())) {
            let decoded = code as f64 / scale + offset;
            assert!((value - decoded).abs() <= bound, "{value} {decoded}");
        }
        assert!(report["error"]["max"].as_f64().unwrap() <= bound);
    }
}

#[test]
fn multiples_of_something_round_are_found() {
    let folder = Folder::new();
    let values: Vec<f32> = (0..2000).map(|i| (i * 7 % 1999 - 300) as f32 / 10.0).collect();
    Sample::new("float32", &[2000], &[512], json!("NaN")).write(&folder.input(), &f32s(&values));
    let report = folder.pack(&["-e", "0.001"]);
    assert_eq!(report["scale"], 10.0);
    // What is left is rounding of the type, far below the bound: half a unit in the last place of 170.
    assert!(report["error"]["max"].as_f64().unwrap() <= 2_f64.powi(-17), "{report}");
    // A bound of zero allows not even that.
    let report = folder.pack(&["-e", "0", "--overwrite"]);
    assert_eq!(report["scale"], 10.0);
    assert_eq!(report["error"]["max"], 0.0);
    assert_eq!(read_f32(&folder.output()), values);
}

#[test]
fn a_bound_of_zero_keeps_whole_numbers_unchanged() {
    let folder = Folder::new();
    let values: Vec<f32> = (0..2000).map(|i| (i * i % 9643 - 934) as f32).collect();
    Sample::new("float32", &[2000], &[512], json!("NaN")).write(&folder.input(), &f32s(&values));
    let report = folder.pack(&["-e", "0"]);
    assert_eq!(report["error"]["max"], 0.0);
    assert!(["int16", "uint16"].contains(&report["data_type"].as_str().unwrap()));
    assert_eq!(read_f32(&folder.output()), values);
}

#[test]
fn a_bound_below_the_arithmetic_of_the_type_is_refused() {
    let folder = Folder::new();
    // Around 300 float32 itself has steps of 3e-5, but small values have finer ones.
    let values: Vec<f32> =
        field(3000).into_iter().map(|value| (value / 50.0).exp() as f32).collect();
    let values: Vec<f32> =
        values.iter().enumerate().map(|(i, v)| if i % 2 == 0 { *v } else { 1.0 / v }).collect();
    Sample::new("float32", &[3000], &[1000], json!(0.0)).write(&folder.input(), &f32s(&values));
    let error = folder.refuses(&["-e", "1e-9"]);
    assert!(error.contains("within 1e-9") && error.contains("--max-abs-error"), "{error}");
    assert!(error.contains("in.zarr"), "{error}");
}

#[test]
fn a_type_too_small_for_the_bound_is_refused() {
    let folder = Folder::new();
    let values: Vec<f32> = field(3000).into_iter().map(|value| value as f32).collect();
    Sample::new("float32", &[3000], &[1000], json!("NaN")).write(&folder.input(), &f32s(&values));
    let error = folder.refuses(&["-e", "0.001", "--data-type", "uint8"]);
    assert!(error.contains("uint8") && error.contains("wider --data-type"), "{error}");
}

#[test]
fn fill_values_survive_exactly() {
    // (fill value, values): a default of zero among the data and outside them, the usual sentinels of
    // netCDF and GDAL, one inside the data, and infinity.
    let around_zero: Vec<f32> = (0..999).map(|i| (i as f32 - 500.0) * 0.0173).collect();
    let kelvin: Vec<f32> = field(999).into_iter().map(|value| value as f32).collect();
    for (fill, values) in [
        (json!(0.0), &around_zero),
        (json!(0.0), &kelvin),
        (json!(1e20), &kelvin),
        (json!(9.969_209_968_386_869e36), &kelvin),
        (json!(-3.402_823_466_385_288_6e38), &kelvin),
        (json!(-9999.0), &kelvin),
        (json!(290.125), &kelvin),
        (json!("Infinity"), &kelvin),
        (json!("NaN"), &kelvin),
    ] {
        for data_type in [None, Some("int16"), Some("uint16")] {
            let folder = Folder::new();
            let sample = Sample::new("float32", &[2000], &[500], fill.clone());
            let array = sample.create(&folder.input());
            // The second half is not stored; the first has the fill value among other values.
            let fill_value =
                f32::from_ne_bytes(array.fill_value().as_ne_bytes().try_into().unwrap());
            let mut stored = values.clone();
            stored[7] = fill_value;
            stored.push(fill_value);
            let stored_bytes = ArrayBytes::new_flen(f32s(&stored));
            array.store_array_subset(&subset(0..1000), stored_bytes).unwrap();
            let mut arguments = vec!["-e", "0.002"];
            arguments.extend(data_type.into_iter().flat_map(|name| ["-t", name]));
            let report = folder.pack(&arguments);
            let decoded = read_f32(&folder.output());
            for index in [7, 999, 1000, 1999] {
                let (before, after) = (fill_value, decoded[index]);
                assert!(before == after || (before.is_nan() && after.is_nan()), "{fill} {after}");
            }
            for (index, (&before, &after)) in stored.iter().zip(&decoded).enumerate() {
                let error = (f64::from(before) - f64::from(after)).abs();
                assert!(index == 7 || index == 999 || error <= 0.002, "{fill} {index} {error}");
            }
            let (least, greatest) = (&report["range"][0], &report["range"][1]);
            assert!(least.as_f64() > Some(-10.0) && greatest.as_f64() < Some(400.0), "{report}");
            // Chunks that are not stored stay so.
            assert!(!folder.output().join("c/2").exists());
        }
    }
}

fn subset(range: std::ops::Range<u64>) -> zarrs::array::ArraySubset {
    zarrs::array::ArraySubset::new_with_ranges(&[range])
}

#[test]
fn no_real_value_lands_on_the_code_of_nan() {
    let folder = Folder::new();
    let mut values: Vec<f32> = (0..=255).map(|i| i as f32).collect();
    values[100] = f32::NAN;
    Sample::new("float32", &[256], &[64], json!("NaN")).write(&folder.input(), &f32s(&values));
    // All 256 codes but one are taken, and that one is in the middle.
    let report = folder.pack(&["-e", "0.25"]);
    assert_eq!(report["data_type"], "int16");
    for (nan_to, expected) in [("min", 0), ("max", 65535), ("40000", 40000), ("17", 17)] {
        let report =
            folder.pack(&["-e", "0.25", "-t", "uint16", "--nan-to", nan_to, "--overwrite"]);
        assert_eq!(report["nan"], expected);
        let codes = stored_codes(&folder.output());
        let with_it: Vec<usize> = (0..256).filter(|&i| codes[i] == expected).collect();
        assert_eq!(with_it, [100]);
    }
    // With a given scale, the elements tell.
    fs::remove_dir_all(folder.output()).unwrap();
    let explicit = ["--scale", "1", "--data-type", "uint8"];
    let error = folder.refuses(&[&explicit[..], &["--nan-to", "77"]].concat());
    assert!(error.contains("element [77] (chunk [1])") && error.contains("--nan-to"), "{error}");
    assert!(folder.refuses(&explicit).contains("--nan-to"));
    let report = folder.pack(&[&explicit[..], &["--nan-to", "100"]].concat());
    assert_eq!(report["counts"]["nan"], 1);
}

#[test]
fn infinities_are_refused_by_their_place() {
    let folder = Folder::new();
    let mut values: Vec<f32> = field(400).into_iter().map(|value| value as f32).collect();
    values[237] = f32::NEG_INFINITY;
    values[399] = f32::INFINITY;
    Sample::new("float32", &[20, 20], &[7, 7], json!(0.0)).write(&folder.input(), &f32s(&values));
    let error = folder.refuses(&["-e", "0.1"]);
    // Of the elements in chunk order, the first.
    assert!(error.contains("element [11, 17] (chunk [1, 2]) is -Infinity"), "{error}");
    assert!(error.contains("2 in all"), "{error}");
}

#[test]
fn scale_and_offset_can_be_given() {
    let folder = Folder::new();
    let values: Vec<f32> = (0..100).map(|i| 20.0 + i as f32 * 0.25).collect();
    Sample::new("float32", &[100], &[30], json!("NaN")).write(&folder.input(), &f32s(&values));
    let report = folder.pack(&["--scale", "4", "--offset", "-10", "--data-type", "int16"]);
    assert_eq!(report["error"]["bound"], Value::Null);
    let document = metadata(&folder.output());
    assert_eq!(affine(&document), (4.0, -10.0));
    let codes: Vec<i64> = (0..100).map(|i| 120 + i).collect();
    assert_eq!(stored_codes(&folder.output()), codes);
    // Without a type, the smallest that holds the codes; they reach 219.
    assert_eq!(
        folder.pack(&["--scale", "4", "--offset", "-10", "--overwrite"])["data_type"],
        "uint8"
    );
    // A bound is checked, if there is one.
    let _ = fs::remove_dir_all(folder.output());
    let error = folder.refuses(&["--scale", "1", "--offset", "0", "-e", "0.3"]);
    assert!(error.contains("element [2] (chunk [0]) is 20.5 and decodes to 20.0"), "{error}");
}

#[test]
fn values_out_of_range_are_refused_clamped_or_wrapped() {
    let folder = Folder::new();
    let values: Vec<f32> = (0..300).map(|i| i as f32).collect();
    Sample::new("float32", &[300], &[100], json!(0.0)).write(&folder.input(), &f32s(&values));
    let arguments = ["--scale", "1", "--data-type", "uint8"];
    let error = folder.refuses(&arguments);
    assert!(error.contains("299") && error.contains("--out-of-range clamp"), "{error}");
    let report = folder.pack(&[&arguments[..], &["--out-of-range", "clamp"]].concat());
    assert_eq!(report["counts"]["clamped"], 44);
    assert_eq!(stored_codes(&folder.output())[256..], [255; 44]);
    let wrapped = [&arguments[..], &["--out-of-range", "wrap", "--overwrite"]].concat();
    let report = folder.pack(&wrapped);
    assert_eq!([&report["counts"]["wrapped"], &report["counts"]["clamped"]], [44, 0]);
    assert_eq!(stored_codes(&folder.output())[256..260], [0, 1, 2, 3]);
    let document = metadata(&folder.output());
    assert_eq!(configuration(&document, "cast_value").unwrap()["out_of_range"], "wrap");
}

#[test]
fn every_rounding_keeps_the_bound() {
    let folder = Folder::new();
    let values: Vec<f32> = field(2000).into_iter().map(|value| value as f32).collect();
    Sample::new("float32", &[2000], &[2000], json!("NaN")).write(&folder.input(), &f32s(&values));
    for rounding in
        ["nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"]
    {
        folder.pack(&["-e", "0.01", "--rounding", rounding, "--overwrite"]);
        let decoded = decoded_by_hand(&folder.output());
        let within = |(&a, b): (&f32, f32)| (f64::from(a) - f64::from(b)).abs() <= 0.01;
        assert!(values.iter().zip(decoded).all(within), "{rounding}");
        let document = metadata(&folder.output());
        let cast = configuration(&document, "cast_value").unwrap();
        let written = cast.get("rounding").and_then(Value::as_str);
        assert_eq!(written.unwrap_or("nearest-even"), rounding);
    }
}

#[test]
fn float_types_can_be_asked_for() {
    let folder = Folder::new();
    let values: Vec<f32> = field(500).into_iter().map(|value| value as f32).collect();
    Sample::new("float32", &[500], &[100], json!("NaN")).write(&folder.input(), &f32s(&values));
    let report = folder.pack(&["-t", "float16", "-e", "0.13"]);
    assert_eq!(report["data_type"], "float16");
    let _ = fs::remove_dir_all(folder.output());
    folder.refuses(&["-t", "float16", "-e", "0.001"]);
}

#[test]
fn integers_are_packed_without_loss_or_within_the_bound() {
    let folder = Folder::new();
    let values: Vec<i32> = (0..1000).map(|i| 1_000_000 + (i * 37) % 251).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    Sample::new("int32", &[1000], &[128], json!(-1)).write(&folder.input(), &bytes);
    let read = |path: &Path| -> Vec<i32> {
        let array = open(path);
        let bytes: ArrayBytes<'static> = array.retrieve_array_subset(&array.subset_all()).unwrap();
        let bytes = bytes.into_fixed().unwrap();
        bytes.as_chunks().0.iter().map(|&bytes| i32::from_ne_bytes(bytes)).collect()
    };
    let report = folder.pack(&["-e", "0"]);
    assert_eq!([&report["data_type"], &report["error"]["max"]], [&json!("int8"), &json!(0.0)]);
    assert_eq!(read(&folder.output()), values);
    let wide: Vec<i32> = values.iter().map(|value| value * 20).collect();
    let bytes: Vec<u8> = wide.iter().flat_map(|value| value.to_ne_bytes()).collect();
    Sample::new("int32", &[1000], &[128], json!(0)).write(&folder.input(), &bytes);
    let report = folder.pack(&["-e", "10", "--overwrite"]);
    assert_eq!(report["data_type"], "int8");
    let decoded = read(&folder.output());
    assert!(wide.iter().zip(decoded).all(|(a, b)| (a - b).abs() <= 10));
}

#[test]
fn integers_of_64_bits_keep_every_bit() {
    let folder = Folder::new();
    let values: Vec<u64> = (0..500).map(|i| u64::MAX - 3 * i).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    Sample::new("uint64", &[500], &[100], json!(u64::MAX)).write(&folder.input(), &bytes);
    let report = folder.pack(&["-e", "0"]);
    assert_eq!(report["data_type"], "uint16");
    let array = open(&folder.output());
    let read: ArrayBytes<'static> = array.retrieve_array_subset(&array.subset_all()).unwrap();
    assert_eq!(read.into_fixed().unwrap(), bytes);
}

#[test]
fn shape_names_attributes_and_chunks_stay() {
    let folder = Folder::new();
    let values: Vec<f32> = field(600).into_iter().map(|value| value as f32).collect();
    let attributes = json!({"units": "K", "nested": {"list": [1, 2.5, null]}});
    Sample::new("float32", &[20, 30], &[8, 16], json!("NaN"))
        .with("attributes", attributes.clone())
        .with("dimension_names", json!(["y", null]))
        .write(&folder.input(), &f32s(&values));
    folder.pack(&["-e", "0.01"]);
    let document = metadata(&folder.output());
    for member in ["shape", "chunk_grid", "dimension_names", "data_type", "fill_value"] {
        assert_eq!(document[member], metadata(&folder.input())[member], "{member}");
    }
    let names: Vec<&str> = document["codecs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["scale_offset", "cast_value", "bytes", "blosc"]);
    let mut expected = attributes.clone();
    expected["recast"] = json!({
        "version": env!("CARGO_PKG_VERSION"), "source_data_type": "float32", "max_abs_error": 0.01
    });
    assert_eq!(document["attributes"], expected);
    folder.pack(&["-e", "0.01", "--no-provenance", "--overwrite"]);
    assert_eq!(metadata(&folder.output())["attributes"], attributes);
}

#[test]
fn shards_stay_shards() {
    let folder = Folder::new();
    let values: Vec<f32> = field(64 * 64).into_iter().map(|value| value as f32).collect();
    let codecs = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [8, 16],
        "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
        "index_location": "end",
    }}]);
    Sample::new("float32", &[64, 64], &[32, 32], json!("NaN"))
        .with("codecs", codecs)
        .write(&folder.input(), &f32s(&values));
    folder.pack(&["-e", "0.01"]);
    let document = metadata(&folder.output());
    let sharding = configuration(&document, "sharding_indexed").unwrap();
    assert_eq!(sharding["chunk_shape"], json!([8, 16]));
    let decoded = read_f32(&folder.output());
    assert!(values.iter().zip(decoded).all(|(a, b)| (a - b).abs() <= 0.010_001));
}

#[test]
fn packed_arrays_can_be_packed_again_and_v2_arrays_read() {
    let folder = Folder::new();
    let values: Vec<f32> = (0..100).map(|i| i as f32 / 8.0).collect();
    fs::create_dir(folder.input()).unwrap();
    let document = json!({"zarr_format": 2, "shape": [100], "chunks": [100], "dtype": "<f4",
        "compressor": null, "fill_value": null, "order": "C", "filters": null});
    fs::write(folder.input().join(".zarray"), document.to_string()).unwrap();
    fs::write(folder.input().join(".zattrs"), r#"{"units": "m"}"#).unwrap();
    let little: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(folder.input().join("0"), little).unwrap();
    let report = folder.pack(&["-e", "0.001"]);
    assert_eq!([&report["data_type"], &report["error"]["max"]], [&json!("int8"), &json!(0.0)]);
    assert_eq!(read_f32(&folder.output()), values);
    let document = metadata(&folder.output());
    assert_eq!(document["attributes"]["units"], "m");

    let again = folder.path().join("again.zarr");
    let paths = [folder.output(), again.clone()].map(|path| path.display().to_string());
    recast(&["pack", &paths[0], &paths[1], "-e", "0.001"]).succeeds();
    assert_eq!(read_f32(&again), values);
    assert_eq!(metadata(&again)["codecs"], document["codecs"]);
}

#[test]
fn arrays_without_values_are_packed() {
    for (shape, chunks, elements) in
        [(&[][..], &[][..], 1), (&[0, 5], &[1, 5], 0), (&[6], &[4], 6), (&[3, 2], &[3, 2], 6)]
    {
        let folder = Folder::new();
        let sample = Sample::new("float32", shape, chunks, json!("NaN"));
        sample.write(&folder.input(), &f32s(&vec![f32::NAN; elements]));
        let report = folder.pack(&["-e", "0.1"]);
        assert_eq!(report["counts"]["nan"], elements, "{shape:?}");
        assert_eq!(report["range"], Value::Null);
        assert!(read_f32(&folder.output()).iter().all(|value| value.is_nan()));
        let [input, output] =
            [folder.input(), folder.output()].map(|path| path.display().to_string());
        let table = recast(&["pack", &input, &output, "-e", "0.1", "--overwrite"]).succeeds();
        let table = String::from_utf8(table).unwrap();
        assert_eq!(table.contains("all values are the same"), elements > 0, "{table}");
    }
    let folder = Folder::new();
    Sample::new("float32", &[], &[], json!(0.0)).write(&folder.input(), &f32s(&[3.25]));
    folder.pack(&["-e", "0.1"]);
    assert!((read_f32(&folder.output())[0] - 3.25).abs() <= 0.1);
}

#[test]
fn the_output_does_not_depend_on_the_threads() {
    let folder = Folder::new();
    let values: Vec<f32> = field(40_000).into_iter().map(|value| value as f32).collect();
    let sample = Sample::new("float32", &[200, 200], &[9, 11], json!(0.0));
    sample.write(&folder.input(), &f32s(&values));
    let mut reports = ["1", "4"].map(|threads| {
        let mut report = folder.pack(&["-e", "0.003", "--threads", threads, "--overwrite"]);
        for member in ["seconds", "bytes_per_second"] {
            report[member] = Value::Null;
        }
        (report, common::contents(&folder.output()))
    });
    let [first, second] = &mut reports;
    assert_eq!(first, second);
}

#[test]
fn an_existing_output_is_replaced_only_when_asked_and_by_a_whole_array() {
    let folder = Folder::new();
    let mut values: Vec<f32> = field(100).into_iter().map(|value| value as f32).collect();
    values[50] = 1.234_567e-9;
    Sample::new("float32", &[100], &[10], json!("NaN")).write(&folder.input(), &f32s(&values));
    folder.pack(&["-e", "0.01"]);
    let first = common::contents(&folder.output());
    let error = folder.refuses(&["-e", "1"]);
    assert!(error.contains("exists") && error.contains("--overwrite"), "{error}");
    folder.refuses(&["-e", "1e-9", "--overwrite"]);
    assert_eq!(common::contents(&folder.output()), first);
    folder.pack(&["-e", "1", "--overwrite"]);
    assert_ne!(common::contents(&folder.output()), first);
    assert_eq!(names(folder.path()), ["in.zarr", "out.zarr"]);

    fs::remove_dir_all(folder.output()).unwrap();
    fs::create_dir(folder.output()).unwrap();
    fs::write(folder.output().join("precious"), "text").unwrap();
    let error = folder.refuses(&["-e", "1", "--overwrite"]);
    assert!(error.contains("not an array"), "{error}");
    assert_eq!(names(&folder.output()), ["precious"]);
}

#[test]
fn an_output_that_would_harm_the_input_is_refused() {
    let folder = Folder::new();
    let values = vec![1.0_f32; 10];
    Sample::new("float32", &[10], &[10], json!("NaN")).write(&folder.input(), &f32s(&values));
    let input = folder.input().display().to_string();
    for output in [
        input.clone(),
        format!("{input}/out.zarr"),
        format!("{input}/c/../x"),
        folder.path().display().to_string(),
        format!("{}/none/out.zarr", folder.path().display()),
    ] {
        let error = recast(&["pack", &input, &output, "-e", "1", "--overwrite"]).fails(1);
        assert!(error.contains(output.as_str()), "{error}");
    }
    assert_eq!(read_f32(&folder.input()), values);
}

#[test]
fn wrong_usage_has_status_2() {
    for arguments in [
        &["pack"][..],
        &["pack", "a", "b"],
        &["pack", "a", "b", "-e", "-1"],
        &["pack", "a", "b", "-e", "inf"],
        &["pack", "a", "b", "-e", "x"],
        &["pack", "a", "b", "-e", "1", "--data-type", "bool"],
        &["pack", "a", "b", "-e", "1", "--rounding", "up"],
        &["pack", "a", "b", "-e", "1", "--out-of-range", "saturate"],
        &["pack", "a", "b", "-e", "1", "--nan-to", "somewhere"],
        &["pack", "a", "b", "-e", "1", "--threads", "0"],
        &["pack", "a", "b", "-e", "1", "--scale", "one"],
    ] {
        recast(arguments).fails(2);
    }
}

#[test]
fn the_table_is_for_people_and_quiet_is_quiet() {
    let folder = Folder::new();
    let values: Vec<f32> = field(100).into_iter().map(|value| value as f32).collect();
    Sample::new("float32", &[100], &[10], json!("NaN")).write(&folder.input(), &f32s(&values));
    let paths = [folder.input(), folder.output()].map(|path| path.display().to_string());
    let run = recast(&["pack", &paths[0], &paths[1], "-e", "0.01"]).run();
    let table = String::from_utf8(run.stdout).unwrap();
    for label in ["float32 -> int16", "max error", "(bound 0.01)", "times smaller than"] {
        assert!(table.contains(label), "{table}");
    }
    // No progress where standard error is no terminal.
    assert_eq!(run.stderr, "");
    let arguments = ["pack", &paths[0], &paths[1], "-e", "0.01", "--overwrite", "--quiet"];
    assert!(recast(&arguments).succeeds().is_empty());
}

#[test]
fn broken_arrays_are_an_error() {
    let folder = Folder::new();
    let error = folder.refuses(&["-e", "1"]);
    assert!(error.contains("in.zarr"), "{error}");
    fs::create_dir(folder.input()).unwrap();
    assert!(folder.refuses(&["-e", "1"]).contains("no array here"));
    let document = folder.input().join("zarr.json");
    fs::write(&document, r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
    assert!(folder.refuses(&["-e", "1"]).contains("group"));
    fs::write(&document, "[".repeat(1 << 20)).unwrap();
    assert!(folder.refuses(&["-e", "1"]).len() < 2000);
    let nested =
        format!(r#"{{"zarr_format":3,"node_type":"array","attributes":{}"#, "[".repeat(1 << 20));
    fs::write(&document, nested).unwrap();
    assert!(folder.refuses(&["-e", "1"]).len() < 2000);
    for (data_type, needle) in [("bool", "bool"), ("string", "string"), ("complex64", "complex64")]
    {
        let fill = match data_type {
            "bool" => json!(false),
            "string" => json!(""),
            _ => json!([0.0, 0.0]),
        };
        let sample = Sample::new(data_type, &[1], &[1], fill).with("codecs", json!(["bytes"]));
        fs::write(&document, sample.metadata.to_string()).unwrap();
        let error = folder.refuses(&["-e", "1"]);
        assert!(error.contains(needle), "{error}");
    }
}

#[test]
fn shapes_that_cannot_be_gone_through_are_refused_at_once() {
    let folder = Folder::new();
    fs::create_dir(folder.input()).unwrap();
    for (shape, chunks) in [
        (vec![1_u64 << 63], vec![1_u64]),
        (vec![1 << 63], vec![1 << 63]),
        (vec![1 << 63], vec![1 << 20]),
        (vec![1 << 63], vec![1 << 62]),
        (vec![u64::MAX, u64::MAX], vec![1, 1]),
        (vec![u64::MAX, u64::MAX, 3], vec![u64::MAX, u64::MAX, 3]),
        (vec![1 << 40; 4], vec![1 << 40; 4]),
    ] {
        let sample = Sample::new("float32", &shape, &chunks, json!(0.0));
        fs::write(folder.input().join("zarr.json"), sample.metadata.to_string()).unwrap();
        let error = folder.refuses(&["-e", "1"]);
        assert!(error.contains("chunk"), "{error}");
        let input = folder.input().display().to_string();
        recast(&["cat", &input]).fails(1);
        recast(&["info", &input]).fails(1);
    }
}

#[test]
fn a_chunk_cut_short_is_an_error() {
    for codecs in [
        json!([{"name": "bytes", "configuration": {"endian": "little"}}]),
        json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": 1}}]),
        json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {"level": 1, "checksum": true}}]),
        json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]),
        json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "blosc", "configuration": {
            "cname": "lz4", "clevel": 1, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}}]),
    ] {
        let folder = Folder::new();
        let values: Vec<f32> = field(400).into_iter().map(|value| value as f32).collect();
        Sample::new("float32", &[400], &[100], json!("NaN"))
            .with("codecs", codecs.clone())
            .write(&folder.input(), &f32s(&values));
        let chunk = folder.input().join("c/2");
        let bytes = fs::read(&chunk).unwrap();
        for length in [0, 1, 7, bytes.len() / 2, bytes.len() - 1] {
            fs::write(&chunk, &bytes[..length]).unwrap();
            let error = folder.refuses(&["-e", "0.1"]);
            assert!(error.contains("chunk [2]"), "{codecs} {length}: {error}");
        }
    }
}

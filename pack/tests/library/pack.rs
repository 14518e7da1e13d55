//! Packing an array: every element within the bound, and nothing left behind where that cannot be.

use std::fs;
use std::path::Path;

use crate::common::{
    Sample, Trial, assert_within, bytes, configuration, contents, field, kelvin, metadata, numbers,
    one_thread, options, read_f32, repository, stored_codes, told, trial, within,
};
use recast_kernels::{ElementType, Scalar};
use recast_pack::{ArrayInfo, CatFormat, DryRun, Job, PackJob, PackOptions, Runtime, cat, scalar};
use serde_json::{Value, json};
use zarrs::array::{ArrayBytes, ArraySubset};

/// Scale and offset in a metadata document, absent ones as what changes nothing.
fn affine(document: &Value) -> (f64, f64) {
    let configuration = configuration(document, "scale_offset").cloned().unwrap_or(json!({}));
    let number = |name: &str, or: f64| configuration.get(name).map_or(or, |v| v.as_f64().unwrap());
    (number("scale", 1.0), number("offset", 0.0))
}

/// The stored code of NaN in the decode map.
fn code_of_nan(document: &Value) -> Option<i64> {
    let cast = configuration(document, "cast_value").unwrap();
    let pairs = cast["scalar_map"]["decode"].as_array()?;
    pairs.iter().find(|pair| pair[1] == "NaN")?[0].as_i64()
}

/// Decodes a packed float32 array with plain f32 arithmetic, from its codes and its metadata.
fn decoded_by_hand(path: &Path) -> Vec<f32> {
    let document = metadata(path);
    let (scale, offset) = affine(&document);
    let has = |name: &str| {
        configuration(&document, "scale_offset").is_some_and(|codec| codec.get(name).is_some())
    };
    let nan = code_of_nan(&document);
    let decode = |code: i64| {
        if Some(code) == nan {
            return f32::NAN;
        }
        let value = code as f32;
        let value = if has("scale") { value / scale as f32 } else { value };
        if has("offset") { value + offset as f32 } else { value }
    };
    stored_codes(path).into_iter().map(decode).collect()
}

#[test]
fn every_element_of_a_real_array_is_within_the_bound() {
    let trial = Trial::empty();
    let original = repository().join("examples/data/oisst_sst.zarr");
    let values = read_f32(&original);
    assert!(values.iter().filter(|value| value.is_nan()).count() > 4000);
    for bound in [0.5, 0.05, 0.005, 0.0005, 0.00003] {
        let output = trial.place(&bound.to_string());
        told(PackJob::new(&original, &output, within(bound)).run(&one_thread())).unwrap();
        let decoded = decoded_by_hand(&output);
        assert_within(bound, &values, &decoded);
        assert_within(0.0, &decoded, &read_f32(&output));
    }
}

/// Neither in float64 nor with fewer roundings.
#[test]
fn arithmetic_is_in_the_type_of_the_array() {
    let trial = trial(&kelvin(2000), json!("NaN"));
    trial.pack(options(json!({"auto": true, "data-type": "uint16"}))).unwrap();
    let (scale, offset) = affine(&trial.metadata());
    let decoded = read_f32(&trial.output());
    assert_within(0.0, &decoded, &decoded_by_hand(&trial.output()));
    let codes = stored_codes(&trial.output()).into_iter().zip(decoded);
    let (scale, offset) = (f64::from(scale as f32), f64::from(offset as f32));
    let differs = |&(code, decoded): &(i64, f32)| (code as f64 / scale + offset) as f32 != decoded;
    assert!(codes.filter(differs).count() > 0, "the test shows nothing");
}

#[test]
fn the_smallest_type_is_chosen() {
    let values = kelvin(6000);
    let sample = Sample::new("float32", &[60, 100], &[16, 33], json!("NaN"));
    let trial = Trial::of(&sample, &bytes(&values));
    // About 30 units of extent: 2·E steps each.
    for (bound, data_type) in
        [(0.08, ElementType::Int8), (0.005, ElementType::Int16), (0.00011, ElementType::Int32)]
    {
        let report = trial.pack(within(bound)).unwrap();
        assert_eq!(report.data_type, data_type, "{bound}");
        let decoded = decoded_by_hand(&trial.output());
        assert_within(bound, &values, &decoded);
        let errors = values.iter().zip(decoded).map(|(&a, b)| (f64::from(a) - f64::from(b)).abs());
        assert_eq!(report.error.errors.max, errors.fold(0.0, f64::max));
    }
}

#[test]
fn the_report_counts_what_is_there() {
    let mut values = kelvin(1000);
    for index in [0, 17, 999] {
        values[index] = f32::NAN;
    }
    for index in [3, 4] {
        values[index] = 1e20;
    }
    let trial = trial(&values, json!(1e20));
    let report = trial.pack(within(0.01)).unwrap();
    let counts = &report.counts;
    let found = [counts.elements, counts.special.nan, counts.special.fill, counts.mapped];
    assert_eq!(found, [1000, 3, 2, 5]);
    let decoded = read_f32(&trial.output());
    let real = values.iter().zip(&decoded).filter(|(a, _)| **a < 1e19);
    let errors: Vec<f64> = real.map(|(&a, &b)| (f64::from(a) - f64::from(b)).abs()).collect();
    let count = errors.len() as f64;
    let mean = errors.iter().sum::<f64>() / count;
    let square = errors.iter().map(|error| error * error).sum::<f64>() / count;
    for (found, expected) in
        [(report.error.errors.mean, mean), (report.error.errors.rmse, square.sqrt())]
    {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }
    assert_eq!(report.bytes.source, 4000);
    // Chunks are compared with chunks.
    let stored =
        |array: &Path| -> usize { crate::common::chunks(array).values().map(Vec::len).sum() };
    assert_eq!(report.bytes.stored, stored(&trial.output()) as u64);
    assert_eq!(report.bytes.source_stored, Some(stored(&trial.input()) as u64));
}

#[test]
fn float64_stays_within_tight_bounds() {
    let values = field(5000);
    let trial = Trial::new(&values, 5000, json!({}));
    for bound in [1e-3, 1e-7, 1e-12] {
        let report = trial.pack(within(bound)).unwrap();
        let (scale, offset) = affine(&trial.metadata());
        for (&value, code) in values.iter().zip(stored_codes(&trial.output())) {
            let decoded = code as f64 / scale + offset;
            assert!((value - decoded).abs() <= bound, "{value} {decoded}");
        }
        assert!(report.error.errors.max <= bound);
    }
}

#[test]
fn multiples_of_something_round_are_found_and_a_bound_of_zero_keeps_them() {
    let tenths: Vec<f32> = (0..2000).map(|i| (i * 7 % 1999 - 300) as f32 / 10.0).collect();
    let trial_of_tenths = trial(&tenths, json!("NaN"));
    let report = trial_of_tenths.pack(within(0.001)).unwrap();
    assert_eq!(report.scale, Some(10.0_f32.into()));
    // What is left is rounding of the type, far below the bound: half a unit in the last place of 170.
    assert!(report.error.errors.max <= 2_f64.powi(-17), "{report:?}");
    let whole: Vec<f32> = (0..2000).map(|i| (i * i % 9643 - 934) as f32).collect();
    for (values, scale) in [(tenths, 10.0), (whole, 1.0)] {
        let trial = trial(&values, json!("NaN"));
        let report = trial.pack(within(0.0)).unwrap();
        assert_eq!((report.error.errors.max, report.data_type.size()), (0.0, 2));
        assert_eq!(report.scale.map_or(1.0, Scalar::to_f64), scale);
        assert_eq!(read_f32(&trial.output()), values);
    }
}

#[test]
fn a_bound_below_the_arithmetic_of_the_type_is_refused() {
    // Around 300 float32 itself has steps of 3e-5, but small values have finer ones.
    let values = field(3000).into_iter().map(|value| (value / 50.0).exp() as f32);
    let values: Vec<f32> =
        values.enumerate().map(|(i, v)| if i % 2 == 0 { v } else { 1.0 / v }).collect();
    let error = trial(&values, json!(0.0)).refuses(within(1e-9));
    assert!(error.contains("within 1e-9") && error.contains("--max-abs-error"), "{error}");
    assert!(error.contains("in.zarr"), "{error}");
}

#[test]
fn fill_values_survive_exactly() {
    // (fill value, values): a default of zero among the data and outside them, the usual sentinels of
    // netCDF and GDAL, one inside the data, and infinity.
    let around_zero: Vec<f32> = (0..999).map(|i| (i as f32 - 500.0) * 0.0173).collect();
    let kelvin = kelvin(999);
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
        for goal in [
            json!({"max-abs-error": 0.002}),
            json!({"max-abs-error": 0.002, "data-type": "int16"}),
            json!({"max-abs-error": 0.002, "data-type": "uint16"}),
            json!({"auto": true, "data-type": "int16"}),
        ] {
            let trial = Trial::empty();
            let sample = Sample::new("float32", &[2000], &[500], fill.clone());
            let array = sample.create(&trial.input());
            // The second half is not stored; the first has the fill value among other values.
            let fill_value =
                f32::from_ne_bytes(array.fill_value().as_ne_bytes().try_into().unwrap());
            let mut stored = values.clone();
            stored[7] = fill_value;
            stored.push(fill_value);
            let first = ArraySubset::new_with_shape(vec![1000]);
            array.store_array_subset(&first, ArrayBytes::new_flen(bytes(&stored))).unwrap();
            let report = trial.pack(options(goal.clone()));
            let report = report.unwrap_or_else(|error| panic!("{fill} {goal}: {error}"));
            let decoded = read_f32(&trial.output());
            for index in [7, 999, 1000, 1999] {
                let (before, after) = (fill_value, decoded[index]);
                assert!(before == after || (before.is_nan() && after.is_nan()), "{fill} {after}");
            }
            for (index, (&before, &after)) in stored.iter().zip(&decoded).enumerate() {
                let error = (f64::from(before) - f64::from(after)).abs();
                assert!(index == 7 || index == 999 || error <= 0.002, "{fill} {index} {error}");
            }
            let (least, greatest) = numbers(report.range);
            assert!(least > -10.0 && greatest < 400.0, "{report:?}");
            // Chunks that are not stored stay so.
            assert!(!trial.output().join("c/2").exists());
        }
    }
}

#[test]
fn an_infinite_fill_value_is_written_as_the_specification_spells_it() {
    let trial = trial(&[1.0, f32::INFINITY, 3.0], json!("Infinity"));
    trial.pack(within(0.1)).unwrap();
    let text = trial.metadata().to_string();
    assert!(text.contains("\"Infinity\"") && !text.contains("+Infinity"), "{text}");
}

#[test]
fn nan_is_mapped_in_both_directions() {
    let mut values = kelvin(300);
    values[7] = f32::NAN;
    let trial = trial(&values, json!(0.0));
    trial.pack(within(0.01)).unwrap();
    let document = trial.metadata();
    let map = &configuration(&document, "cast_value").unwrap()["scalar_map"];
    let pairs = |direction: &str| map[direction].as_array().unwrap().clone();
    let turned: Vec<Value> = pairs("encode").iter().map(|pair| json!([pair[1], pair[0]])).collect();
    assert_eq!(pairs("decode"), turned);
    assert!(read_f32(&trial.output())[7].is_nan());
}

#[test]
fn no_real_value_lands_on_the_code_of_nan() {
    let mut values: Vec<f32> = (0..=255).map(|i| i as f32).collect();
    values[100] = f32::NAN;
    let trial = Trial::new(&values, 64, json!({"fill_value": "NaN"}));
    // All 256 codes but one are taken, and that one is in the middle.
    let report = trial.pack(within(0.25)).unwrap();
    assert_eq!(report.data_type, ElementType::Int16);
    for (nan_to, expected) in
        [(json!("min"), 0), (json!("max"), 65535), (json!(40000), 40000), (json!(17), 17)]
    {
        let into = json!({"max-abs-error": 0.25, "data-type": "uint16", "nan-to": nan_to});
        let report = trial.pack(options(into)).unwrap();
        assert_eq!(report.nan.map(Scalar::to_f64), Some(f64::from(expected)));
        let codes = stored_codes(&trial.output());
        let with_it: Vec<usize> = (0..256).filter(|&i| codes[i] == i64::from(expected)).collect();
        assert_eq!(with_it, [100]);
    }
    // With a given scale, the elements tell.
    let explicit =
        |nan_to: &str| options(json!({"scale": 1, "data-type": "uint8", "nan-to": nan_to}));
    let error = trial.refuses(explicit("77"));
    assert!(error.contains("element [77] (chunk [1])") && error.contains("--nan-to"), "{error}");
    assert!(error.contains("--allow-collisions"), "{error}");
    let error = trial.refuses(options(json!({"scale": 1, "data-type": "uint8"})));
    assert!(error.contains("--nan-to"), "{error}");
    assert_eq!(trial.pack(explicit("100")).unwrap().counts.special.nan, 1);
    // Those who accept it are told how often.
    let report = trial.pack(PackOptions { allow_collisions: true, ..explicit("77") }).unwrap();
    assert_eq!([report.counts.collisions, report.counts.became_nan], [1, 1]);
    let decoded = read_f32(&trial.output());
    assert!(decoded[77].is_nan() && decoded[100].is_nan() && decoded[78] == 78.0);
    // Where the scale is chosen, too.
    let chosen = json!({"max-abs-error": 0.1, "data-type": "uint8", "nan-to": 77,
        "allow-collisions": true});
    assert_eq!(trial.pack(options(chosen)).unwrap().counts.collisions, 1);
}

#[test]
fn infinities_are_refused_by_their_place() {
    let mut values = kelvin(400);
    values[237] = f32::NEG_INFINITY;
    values[399] = f32::INFINITY;
    let sample = Sample::new("float32", &[20, 20], &[7, 7], json!(0.0));
    let trial = Trial::of(&sample, &bytes(&values));
    for goal in [within(0.1), options(json!({"auto": true, "data-type": "uint8"}))] {
        let error = trial.refuses(goal);
        // Of the elements in chunk order, the first.
        assert!(error.contains("element [11, 17] (chunk [1, 2]) is -Infinity"), "{error}");
        assert!(error.contains("2 in all"), "{error}");
    }
}

#[test]
fn missing_values_are_no_part_of_the_range() {
    let uint8 = options(json!({"auto": true, "data-type": "uint8"}));
    let mut values = kelvin(1000);
    (values[3], values[4], values[5]) = (1e20, f32::NAN, 1e20);
    let report = trial(&values, json!(1e20)).pack(uint8.clone()).unwrap();
    assert!(numbers(report.range).1 < 400.0);
    assert_eq!([report.counts.special.fill, report.counts.special.nan], [2, 1]);
    // For one hot pixel, which is no fill value, there is a limit.
    values[6] = 65_535.0;
    let trial = trial(&values, json!(1e20));
    let coarse = trial.pack(uint8.clone()).unwrap().error.errors.mean;
    let report = trial.pack(PackOptions { src_max: scalar("400").ok(), ..uint8 }).unwrap();
    assert!(report.error.errors.mean < coarse / 100.0);
    assert_eq!(report.counts.clamped, 1);
}

#[test]
fn scale_and_offset_can_be_given() {
    let values: Vec<f32> = (0..100).map(|i| 20.0 + i as f32 * 0.25).collect();
    let trial = Trial::new(&values, 30, json!({"fill_value": "NaN"}));
    let given = |more: &Value| {
        let mut json = json!({"scale": 4, "offset": -10});
        for (name, value) in more.as_object().unwrap() {
            json[name] = value.clone();
        }
        options(json)
    };
    let report = trial.pack(given(&json!({"data-type": "int16"}))).unwrap();
    assert_eq!(report.error.bound, None);
    assert_eq!(affine(&trial.metadata()), (4.0, -10.0));
    let codes: Vec<i64> = (0..100).map(|i| 120 + i).collect();
    assert_eq!(stored_codes(&trial.output()), codes);
    // Without a type, the smallest that holds the codes; they reach 219.
    assert_eq!(trial.pack(given(&json!({}))).unwrap().data_type, ElementType::UInt8);
    // A bound is checked, if there is one.
    let error = trial.refuses(given(&json!({"scale": 1, "offset": 0, "max-abs-error": 0.3})));
    assert!(error.contains("element [2] (chunk [0]) is 20.5 and decodes to 20.0"), "{error}");
    let error = trial.refuses(given(&json!({"scale": 0, "data-type": "int16"})));
    assert!(error.contains("scale"), "{error}");
}

#[test]
fn values_out_of_range_are_refused_clamped_or_wrapped() {
    let values: Vec<f32> = (0..300).map(|i| i as f32).collect();
    let trial = Trial::new(&values, 100, json!({}));
    let uint8 = |out_of_range: &str| {
        options(json!({"scale": 1, "data-type": "uint8", "out-of-range": out_of_range}))
    };
    let error = trial.refuses(uint8("error"));
    assert!(error.contains("299 is out of range for uint8") || error.contains("299"), "{error}");
    assert!(error.contains("--out-of-range clamp"), "{error}");
    let report = trial.pack(uint8("clamp")).unwrap();
    assert_eq!(report.counts.clamped, 44);
    assert_eq!(stored_codes(&trial.output())[256..], [255; 44]);
    let report = trial.pack(uint8("wrap")).unwrap();
    assert_eq!([report.counts.wrapped, report.counts.clamped], [44, 0]);
    assert_eq!(stored_codes(&trial.output())[256..260], [0, 1, 2, 3]);
    let document = trial.metadata();
    assert_eq!(configuration(&document, "cast_value").unwrap()["out_of_range"], "wrap");
    // A type without infinity holds its greatest value instead.
    for (name, scale, greatest) in [("float8_e4m3fnuz", 1, 240.0), ("float8_e4m3fn", 2, 224.0)] {
        let kelvin = crate::common::trial(&kelvin(100), json!("NaN"));
        let report = kelvin
            .pack(options(json!({"scale": scale, "data-type": name, "out-of-range": "clamp"})));
        assert_eq!(report.unwrap().counts.clamped, 100, "{name}");
        assert!(read_f32(&kelvin.output()).iter().all(|&value| value == greatest), "{name}");
    }
}

/// A type alone is no request to cast: integers that do not fit are refused, whatever is done with values out of range.
#[test]
fn integers_are_cast_as_they_are_only_on_request() {
    let mut values: Vec<u16> = (1..=1000).map(|step| step * 5).collect();
    values.push(12_978);
    let trial = Trial::new(&values, 100, json!({}));
    let clamped = |more: Value| {
        let mut asked = json!({"data-type": "uint8", "out-of-range": "clamp"});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        options(asked)
    };
    let error = trial.refuses(clamped(json!({"src-min": 1000, "src-max": 4080})));
    assert!(error.contains("from 1000 to 4080") && error.contains("with --scale 1"), "{error}");
    // What the range to keep and the type both clamp counts once, with its distance from the original.
    let outside =
        |low: u16, high: u16| values.iter().filter(|&&one| one < low || one > high).count() as u64;
    let more = json!({"scale": 1, "src-min": 100, "src-max": 4080});
    let report = trial.pack(clamped(more)).unwrap();
    assert_eq!(report.counts.clamped, outside(100, 255));
    assert_eq!(report.largest_clamping(), 12_978.0 - 255.0);
    assert_eq!(numbers(report.storable_range), (0.0, 255.0));
    let report = trial.pack(options(json!({"src-min": 100, "src-max": 300}))).unwrap();
    assert_eq!((report.counts.clamped, report.data_type.size()), (outside(100, 300), 1));
    assert_eq!(report.largest_clamping(), 12_978.0 - 300.0);
}

/// One scale is for all chunks, from all of them.
#[test]
fn the_range_is_that_of_all_chunks() {
    let values: Vec<f32> = (0..500).map(|i| ((i / 100) * 1000) as f32 + (i % 100) as f32).collect();
    let trial = trial(&values, json!("NaN"));
    let report = trial.pack(options(json!({"auto": true, "data-type": "uint16"}))).unwrap();
    assert_eq!(numbers(report.range), (0.0, 4099.0));
    assert_within(0.04, &values, &read_f32(&trial.output()));
}

#[test]
fn every_rounding_keeps_the_bound() {
    let values = kelvin(2000);
    let trial = trial(&values, json!("NaN"));
    for rounding in
        ["nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"]
    {
        trial.pack(options(json!({"max-abs-error": 0.01, "rounding": rounding}))).unwrap();
        assert_within(0.01, &values, &decoded_by_hand(&trial.output()));
        let document = trial.metadata();
        let cast = configuration(&document, "cast_value").unwrap();
        let written = cast.get("rounding").and_then(Value::as_str);
        assert_eq!(written.unwrap_or("nearest-even"), rounding);
    }
}

#[test]
fn rounding_to_nearest_has_no_bias() {
    let trial = trial(&kelvin(20_000), json!("NaN"));
    let bias = |rounding: &str| {
        let given = json!({"scale": 10, "offset": 270, "data-type": "int16", "rounding": rounding});
        trial.pack(options(given)).unwrap().error.errors.bias.abs()
    };
    assert!(bias("nearest-even") < 0.001);
    assert!(bias("towards-zero") > 0.04);
}

#[test]
fn shape_names_attributes_and_chunks_stay() {
    let attributes = json!({"units": "K", "nested": {"list": [1, 2.5, null]}});
    let sample = Sample::new("float32", &[20, 30], &[8, 16], json!("NaN"))
        .with("attributes", attributes.clone())
        .with("dimension_names", json!(["y", null]));
    let trial = Trial::of(&sample, &bytes(&kelvin(600)));
    trial.pack(within(0.01)).unwrap();
    let document = trial.metadata();
    for member in ["shape", "chunk_grid", "dimension_names", "data_type", "fill_value"] {
        assert_eq!(document[member], metadata(&trial.input())[member], "{member}");
    }
    let names = crate::common::codec_names(&document["codecs"]);
    assert_eq!(names, ["scale_offset", "cast_value", "bytes", "blosc"]);
    let mut expected = attributes.clone();
    expected["recast"] = json!({
        "version": env!("CARGO_PKG_VERSION"), "source_data_type": "float32", "max_abs_error": 0.01
    });
    assert_eq!(document["attributes"], expected);
    let job = PackJob { provenance: false, ..trial.job(within(0.01)) };
    told(job.run(&one_thread())).unwrap();
    assert_eq!(trial.metadata()["attributes"], attributes);
}

/// Elements stay where they are whatever the order in which they are stored.
#[test]
fn transposed_chunks_are_packed() {
    let values = kelvin(30 * 20);
    let transpose = json!({"name": "transpose", "configuration": {"order": [1, 0]}});
    let cast = json!({"name": "cast_value", "configuration": {"data_type": "float64"}});
    let little = crate::common::little_endian();
    for codecs in [json!([transpose, cast, little]), json!([cast, transpose, little])] {
        let sample = Sample::new("float32", &[30, 20], &[7, 20], json!(0.0)).with("codecs", codecs);
        let trial = Trial::of(&sample, &bytes(&values));
        trial.pack(within(0.001)).unwrap();
        assert_within(0.001, &values, &read_f32(&trial.output()));
    }
}

#[test]
fn packed_arrays_can_be_packed_again_and_arrays_of_older_formats_read() {
    let values: Vec<f32> = (0..100).map(|i| i as f32 / 8.0).collect();
    let stored: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let v1 = json!({"zarr_format": 1, "shape": [100], "chunks": [100], "dtype": "<f4",
        "compression": null, "compression_opts": null, "fill_value": -1, "order": "C"});
    let v2 = json!({"zarr_format": 2, "shape": [100], "chunks": [100], "dtype": "<f4",
        "compressor": null, "fill_value": null, "order": "C", "filters": null});
    for (names, document) in [(["meta", "attrs"], v1), ([".zarray", ".zattrs"], v2)] {
        let trial = Trial::empty();
        let input = trial.input();
        fs::create_dir(&input).unwrap();
        fs::write(input.join(names[0]), document.to_string()).unwrap();
        fs::write(input.join(names[1]), r#"{"units": "m"}"#).unwrap();
        fs::write(input.join("0"), &stored).unwrap();
        assert_eq!(crate::common::read(&input), bytes(&values));
        let report = trial.pack(within(0.001)).unwrap();
        assert_eq!((report.data_type, report.error.errors.max), (ElementType::Int8, 0.0));
        assert_eq!(read_f32(&trial.output()), values);
        let document = trial.metadata();
        assert_eq!(document["attributes"]["units"], "m");

        let again = trial.place("again.zarr");
        told(PackJob::new(trial.output(), &again, within(0.001)).run(&one_thread())).unwrap();
        assert_eq!(read_f32(&again), values);
        assert_eq!(metadata(&again)["codecs"], document["codecs"]);
    }
}

#[test]
fn arrays_without_values_are_packed() {
    for (shape, chunks, elements) in
        [(&[][..], &[][..], 1), (&[0, 5], &[1, 5], 0), (&[6], &[4], 6), (&[3, 2], &[3, 2], 6)]
    {
        let sample = Sample::new("float32", shape, chunks, json!("NaN"));
        let trial = Trial::of(&sample, &bytes(&vec![f32::NAN; elements]));
        let report = trial.pack(within(0.1)).unwrap();
        assert_eq!(report.counts.special.nan, elements as u64, "{shape:?}");
        assert!(report.range.is_none() && report.ratio.is_none());
        assert!(read_f32(&trial.output()).iter().all(|value| value.is_nan()));
    }
    let sample = Sample::new("float32", &[], &[], json!(0.0));
    let trial = Trial::of(&sample, &bytes(&[3.25_f32]));
    trial.pack(within(0.1)).unwrap();
    assert!((read_f32(&trial.output())[0] - 3.25).abs() <= 0.1);
}

#[test]
fn the_output_does_not_depend_on_the_threads() {
    let sample = Sample::new("float32", &[200, 200], &[9, 11], json!(0.0));
    let trial = Trial::of(&sample, &bytes(&kelvin(40_000)));
    let [first, second] = [1, 4].map(|threads| {
        let runtime = Runtime { threads: Some(threads), ..Runtime::default() };
        let mut report = told(trial.job(within(0.003)).run(&runtime)).unwrap();
        (report.seconds, report.bytes_per_second) = (0.0, 0);
        (serde_json::to_value(&report).unwrap(), contents(&trial.output()))
    });
    assert_eq!(first, second);
}

#[test]
fn broken_arrays_are_an_error() {
    let trial = Trial::empty();
    let error = trial.refuses(within(1.0));
    assert!(error.contains("in.zarr"), "{error}");
    fs::create_dir(trial.input()).unwrap();
    assert!(trial.refuses(within(1.0)).contains("no array here"));
    let document = trial.input().join("zarr.json");
    fs::write(&document, r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
    assert!(trial.refuses(within(1.0)).contains("group"));
    fs::write(&document, "[".repeat(1 << 20)).unwrap();
    assert!(trial.refuses(within(1.0)).len() < 2000);
    let nested =
        format!(r#"{{"zarr_format":3,"node_type":"array","attributes":{}"#, "[".repeat(1 << 20));
    fs::write(&document, nested).unwrap();
    assert!(trial.refuses(within(1.0)).len() < 2000);
    for (json, why) in [
        (&b"{\"zarr_format\": 3,\n \"shape\" [1]}"[..], "expected `:` at line 2"),
        (b"{\"attributes\": {\"name\": \"\\ud800\"}}", "hex escape at line 1"),
        (b"{\"attributes\": {\"name\": \"\xff\"}}", "invalid unicode code point at line 1"),
        (b"", "EOF while parsing"),
    ] {
        fs::write(&document, json).unwrap();
        let error = trial.refuses(within(1.0));
        assert!(error.contains("zarr.json is not JSON: ") && error.contains(why), "{error}");
    }
    fs::write(&document, "{\"attributes\": {\"limit\": 1e400}}").unwrap();
    let error = trial.refuses(within(1.0));
    assert!(error.contains("zarr.json: \"limit\": the number 1e400 is out of range"), "{error}");
    for (data_type, fill) in [
        ("bool", json!(false)),
        ("string", json!("")),
        ("complex64", json!([0.0, 0.0])),
        ("texts", json!("")),
    ] {
        let sample = Sample::new(data_type, &[1], &[1], fill).with("codecs", json!(["bytes"]));
        sample.create_metadata(&trial.input());
        let error = trial.refuses(within(1.0));
        assert!(error.contains(data_type) && !error.contains("link"), "{error}");
    }
}

/// Chunks are surveyed piece by piece.
#[test]
fn an_element_that_cannot_be_stored_is_named_wherever_it_is_in_its_chunk() {
    for index in [0, 8191, 8192, 29_999, 30_000, 59_999] {
        let mut values: Vec<f32> = (0..60_000).map(|number| (number % 100) as f32).collect();
        values[index] = f32::INFINITY;
        let trial = Trial::new(&values, 30_000, json!({}));
        let error = trial.refuses(within(0.5));
        assert!(error.contains(&format!("element [{index}]")), "{error}");
    }
}

#[test]
fn shapes_that_cannot_be_gone_through_are_refused_at_once() {
    let trial = Trial::empty();
    for (shape, chunks) in [
        (vec![1_u64 << 63], vec![1_u64]),
        (vec![1 << 63], vec![1 << 63]),
        (vec![1 << 63], vec![1 << 20]),
        (vec![1 << 63], vec![1 << 62]),
        (vec![u64::MAX, u64::MAX], vec![1, 1]),
        (vec![u64::MAX, u64::MAX, 3], vec![u64::MAX, u64::MAX, 3]),
        (vec![1 << 40; 4], vec![1 << 40; 4]),
    ] {
        Sample::new("float32", &shape, &chunks, json!(0.0)).create_metadata(&trial.input());
        let error = trial.refuses(within(1.0));
        assert!(error.contains("chunk"), "{error}");
        cat(trial.input(), CatFormat::Raw, &one_thread(), &mut Vec::new()).unwrap_err();
        ArrayInfo::read(trial.input()).unwrap_err();
    }
}

#[test]
fn memory_is_limited() {
    let trial = Trial::new(&kelvin(100_000), 10_000, json!({"fill_value": "NaN"}));
    trial.pack(within(0.01)).unwrap();
    let expected = contents(&trial.output());
    let limited = |max_memory| Runtime { max_memory: Some(max_memory), ..Runtime::default() };
    // A chunk has 40 000 bytes, and is held four times.
    for size in [160_000, 161_000, 2 << 30] {
        told(trial.job(within(0.01)).run(&limited(size))).unwrap();
        assert_eq!(contents(&trial.output()), expected, "{size}");
    }
    let refused = told(trial.job(within(0.01)).run(&limited(159_999)));
    let error = refused.map(|report| report.codecs).unwrap_err();
    assert!(error.contains("[10000]") && error.contains("--max-memory"), "{error}");
}

#[test]
fn a_dry_run_writes_nothing_and_tells_what_would_be() {
    let mut values = kelvin(60 * 50);
    values[77] = f32::NAN;
    let sample = Sample::new("float32", &[60, 50], &[10, 50], json!("NaN"));
    let trial = Trial::of(&sample, &bytes(&values));
    let before = contents(trial.path());
    let mut planned = told(trial.job(within(0.01)).dry_run(&one_thread())).unwrap();
    let narrow = options(json!({"max-abs-error": 0.001, "data-type": "uint8"}));
    let error = told(trial.job(narrow).dry_run(&one_thread())).map(drop).unwrap_err();
    assert!(error.contains("wider --data-type"), "{error}");
    assert_eq!(contents(trial.path()), before);
    let report = trial.pack(within(0.01)).unwrap();
    assert_eq!(planned.codecs, trial.metadata()["codecs"]);
    assert_eq!([planned.dry_run, report.dry_run], [true, false]);
    // All six chunks are few enough to try them all, so the prediction is what came.
    assert_eq!(planned.sampled_chunks, Some(6));
    (planned.dry_run, planned.sampled_chunks) = (false, None);
    (planned.seconds, planned.bytes_per_second) = (report.seconds, report.bytes_per_second);
    assert_eq!(serde_json::to_value(&planned).unwrap(), serde_json::to_value(&report).unwrap());
}

#[test]
fn the_size_of_an_array_is_predicted_from_some_of_its_chunks() {
    let sample = Sample::new("float32", &[600, 40], &[1, 40], json!("NaN"));
    let trial = Trial::of(&sample, &bytes(&kelvin(600 * 40)));
    let planned = told(trial.job(within(0.01)).dry_run(&one_thread())).unwrap();
    assert_eq!(planned.sampled_chunks, Some(256));
    let stored = trial.pack(within(0.01)).unwrap().bytes.stored as f64;
    let ratio = planned.bytes.stored as f64 / stored;
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
}

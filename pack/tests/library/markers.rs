//! Missing markers and other facts of data on their way through other jobs than packing, and what reports say
//! of them.

use std::path::Path;

use crate::common::{
    Sample, Trial, bytes, comparison, create_v2, f32s, integers, little_endian, metadata,
    one_thread, options, read, relative, sharding, to_cf, within,
};
use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use recast_pack::{
    AllClose, ArrayInfo, CompareJob, CompareReport, Job, MigrateJob, PackOptions, UnpackJob,
    UnpackedArray, scalar,
};
use serde_json::{Value, json};

const MARKER: f32 = -9999.0;
/// As xarray writes -9999.0 for Zarr v3.
const IN_BASE64: &str = "AAAAAICHw8A=";

fn values() -> Vec<f32> {
    let mut values: Vec<f32> =
        (0..300).map(|step| 280.0 + (step * 7 % 100) as f32 / 10.0).collect();
    (values[4], values[5], values[250]) = (MARKER, f32::NAN, MARKER);
    values
}

/// An array of Zarr v2 whose fill value is the marker, which xarray masks without an attribute.
#[allow(clippy::needless_pass_by_value)] // what callers write with json!
fn zarr_v2(path: &Path, filters: Value, stored: &[u8]) {
    let members = json!({"shape": [300], "chunks": [300], "dtype": "<f4", "filters": filters,
        "fill_value": MARKER});
    create_v2(path, members);
    std::fs::write(path.join("0"), stored).unwrap();
}

fn verified(a: &Path, b: &Path) -> CompareReport {
    comparison(a, b, 0.01).run(&one_thread()).unwrap()
}

#[test]
fn the_fill_value_of_zarr_v2_stays_a_marker_where_it_is_unpacked_or_migrated() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("v2.zarr");
    zarr_v2(&input, Value::Null, &bytes(&values()));
    let outputs = ["unpacked", "migrated", "again"].map(|name| folder.path().join(name));
    let [unpacked, migrated, again] = &outputs;
    UnpackJob::new(&input, unpacked).run(&one_thread()).unwrap();
    MigrateJob::new(&input, Some(migrated.clone())).run(&one_thread()).unwrap();
    let reencoded = MigrateJob { reencode: true, ..MigrateJob::new(&input, Some(again.clone())) };
    reencoded.run(&one_thread()).unwrap();
    for output in &outputs {
        assert_eq!(metadata(output)["attributes"]["_FillValue"], IN_BASE64, "{output:?}");
        let report = verified(&input, output);
        assert_eq!((report.failure(), report.counts.special.missing), (None, 2), "{output:?}");
    }
    // As in xarray, an attribute beside it says nothing, and one alone does; in Zarr v3, xarray reads it in base64 only.
    for (fill, expected) in [(json!(MARKER), IN_BASE64), (Value::Null, "AAAAAAAAHEA=")] {
        let input = folder.path().join(format!("with {fill}"));
        zarr_v2(&input, Value::Null, &bytes(&values()));
        let mut array: Value =
            serde_json::from_slice(&std::fs::read(input.join(".zarray")).unwrap()).unwrap();
        array["fill_value"] = fill;
        std::fs::write(input.join(".zarray"), array.to_string()).unwrap();
        std::fs::write(input.join(".zattrs"), r#"{"_FillValue": 7}"#).unwrap();
        let other = input.with_extension("other");
        MigrateJob::new(&input, Some(other.clone())).run(&one_thread()).unwrap();
        assert_eq!(metadata(&other)["attributes"]["_FillValue"], expected);
        MigrateJob::new(&input, None).run(&one_thread()).unwrap();
        assert_eq!(metadata(&input)["attributes"]["_FillValue"], expected);
    }
}

#[test]
fn a_marker_that_is_not_the_same_bits_or_has_no_name_any_more_fails_verification() {
    let attributes = json!({"attributes": {"_FillValue": MARKER}});
    let a = Trial::new(&values(), 100, attributes.clone());
    let same = Trial::new(&values(), 300, attributes.clone());
    assert_eq!(verified(&a.input(), &same.input()).failure(), None);
    let mut moved = values();
    moved[4] += 0.001;
    let moved = Trial::new(&moved, 300, attributes.clone());
    let failure = verified(&a.input(), &moved.input()).failure().unwrap();
    assert!(failure.contains("[4]") && failure.contains("missing value"), "{failure}");
    // Within the tolerance, but readers of B would mask it.
    let mut with_marks = values();
    with_marks[7] = 288.88;
    let valid = Trial::new(&with_marks, 300, attributes.clone());
    let both = json!({"attributes": {"_FillValue": MARKER, "missing_value": 288.88}});
    let masked = Trial::new(&with_marks, 300, both);
    let failure = verified(&valid.input(), &masked.input()).failure().unwrap();
    assert!(failure.contains("[7]") && failure.contains("missing value"), "{failure}");
    // Readers of B would take it for data.
    let unnamed = Trial::new(&values(), 300, json!({}));
    let failure = verified(&a.input(), &unnamed.input()).failure().unwrap();
    assert!(
        failure.contains("-9999") && failure.contains("missing_value names it here"),
        "{failure}"
    );
}

#[test]
fn markers_of_a_packed_array_become_codes_that_cf_masks() {
    let attributes =
        json!({"_FillValue": IN_BASE64, "missing_value": [-9999.0, -1e30], "units": "K"});
    let mut values = values();
    values[9] = -1e30;
    let trial = Trial::new(&values, 100, json!({"fill_value": "NaN", "attributes": attributes}));
    trial.pack(within(0.01)).unwrap();
    let cf = trial.path().join("cf.zarr");
    let report = to_cf(trial.output(), &cf).run(&one_thread()).unwrap().array();
    let UnpackedArray::ToCf(report) = report.unwrap() else { panic!("plain values") };
    assert!(report.differences.is_none(), "{report:?}");
    let attributes = metadata(&cf)["attributes"].clone();
    let one = attributes["_FillValue"].as_i64().unwrap();
    let others = attributes["missing_value"].as_array().unwrap().iter();
    let masked: Vec<i64> = others.map(|code| code.as_i64().unwrap()).chain([one]).collect();
    assert_eq!(masked.len(), 3, "{attributes}");
    assert_eq!(attributes["units"], "K");
    let codes = integers(&read(&cf), metadata(&cf)["data_type"].as_str().unwrap());
    for (index, (&value, code)) in values.iter().zip(codes).enumerate() {
        let is_missing = value.is_nan() || value == MARKER || value == -1e30;
        assert_eq!(masked.contains(&code), is_missing, "{index}: {value} {code}");
    }
}

/// What a reader of CF gets: stored codes are masked, and then scaled.
fn read_by_cf(path: &Path) -> Vec<f64> {
    let document = metadata(path);
    let attributes = &document["attributes"];
    let masked: Vec<i64> = ["_FillValue", "missing_value"]
        .into_iter()
        .flat_map(|name| match &attributes[name] {
            Value::Array(values) => values.clone(),
            other => vec![other.clone()],
        })
        .filter_map(|code| code.as_i64())
        .collect();
    let number = |name: &str| attributes[name].as_f64().unwrap();
    let codes = integers(&read(path), document["data_type"].as_str().unwrap()).into_iter();
    let decode = |code: i64| code as f64 * number("scale_factor") + number("add_offset");
    codes.map(|code| if masked.contains(&code) { f64::NAN } else { decode(code) }).collect()
}

/// Beyond 16 bits only some codes are compared, and those of missing values lie between these.
#[test]
fn codes_of_markers_are_masked_in_every_type() {
    let ways = [
        json!({"scale": 1000, "data-type": "int32"}),
        json!({"scale": 1000, "offset": -7, "data-type": "uint32"}),
        json!({"scale": 1e6, "data-type": "int64"}),
        json!({"scale": 100, "data-type": "int16"}),
        json!({"max-abs-error": 1e-6}),
        json!({"max-abs-error": 0.01}),
    ];
    for markers in [&[-9999.0][..], &[-9999.0, 1e20], &[9.969_209_968_386_869e36], &[2.25], &[]] {
        for (has_nan, way) in
            [true, false].into_iter().flat_map(|nan| ways.iter().map(move |way| (nan, way)))
        {
            let mut values = vec![1.5, 2.25, 0.75, 30.0];
            values.extend(markers);
            values.extend(has_nan.then_some(f64::NAN));
            let trial = Trial::new(&values, 4, json!({"attributes": {"missing_value": markers}}));
            let what = format!("{markers:?} {has_nan} {way}");
            trial.pack(options(way.clone())).unwrap_or_else(|error| panic!("{what}: {error}"));
            let cf = trial.place("cf.zarr");
            to_cf(trial.output(), &cf).run(&one_thread()).unwrap();
            for (value, found) in values.iter().zip(read_by_cf(&cf)) {
                let is_missing = value.is_nan() || markers.contains(value);
                assert_eq!(found.is_nan(), is_missing, "{what}: {value} {found}");
                assert!(is_missing || (found - value).abs() <= 0.01, "{what}: {value} {found}");
            }
        }
    }
}

/// Two int32 codes round to the marker in float32, and a map names none of them.
#[test]
fn an_element_that_cf_would_not_mask_is_an_error() {
    let codecs = json!([
        {"name": "scale_offset", "configuration": {"offset": 0, "scale": 1}},
        {"name": "cast_value", "configuration": {"data_type": "int32"}},
        little_endian(),
    ]);
    let sample = Sample::new("float32", &[2], &[2], json!(0)).with("codecs", codecs);
    let sample = sample.with("attributes", json!({"missing_value": 20_000_000}));
    let trial = Trial::empty();
    sample.create(&trial.output());
    std::fs::create_dir(trial.output().join("c")).unwrap();
    let stored = [20_000_000_i32, 20_000_001].map(i32::to_le_bytes).concat();
    std::fs::write(trial.output().join("c/0"), stored).unwrap();
    let error = to_cf(trial.output(), trial.place("cf.zarr")).run(&one_thread()).unwrap_err();
    let error = format!("{:#}", anyhow::Error::from(error));
    assert!(error.contains("chunk [0]") && error.contains("20000000.0"), "{error}");
    assert!(error.contains("use recast unpack without --to-cf"), "{error}");
}

#[test]
fn a_valid_range_of_values_has_two_ways_out_of_cf() {
    let sample = Sample::new("float32", &[4], &[4], json!("NaN"));
    let sample = sample.with("attributes", json!({"valid_range": [0.0, 3.0]}));
    let trial = Trial::of(&sample, &[0.0_f32, 1.0, 2.0, 3.0].map(f32::to_ne_bytes).concat());
    trial.pack(within(0.01)).unwrap();
    let error = to_cf(trial.output(), trial.place("cf.zarr")).run(&one_thread()).unwrap_err();
    let error = format!("{:#}", anyhow::Error::from(error));
    for way in ["valid_range", "remove it first", "use recast unpack without --to-cf"] {
        assert!(error.contains(way), "{error}");
    }
}

/// xarray opens float arrays of Zarr v3 only with base64, whatever the attribute was before.
#[test]
fn the_fill_attribute_is_written_as_xarray_reads_it() {
    for (given, data_type, expected) in [
        (json!(-9999.0), "float32", json!(IN_BASE64)),
        (json!(-9999), "float64", json!(IN_BASE64)),
        (json!("-9999.0"), "float32", json!(IN_BASE64)),
        (json!([-9999.0]), "float32", json!(IN_BASE64)),
        (json!(IN_BASE64), "float32", json!(IN_BASE64)),
        (json!("NaN"), "float32", json!("AAAAAAAA+H8=")),
        (json!("nan"), "float64", json!("AAAAAAAA+H8=")),
        (json!("none"), "float32", json!("none")),
        (json!(-9999), "int16", json!(-9999)),
        (json!("-9999"), "int16", json!(-9999)),
    ] {
        let attributes = json!({"_FillValue": given});
        let sample = Sample::new(data_type, &[16], &[16], json!(0)).with("attributes", attributes);
        let size = data_type.parse::<ElementType>().unwrap().size();
        let trial = Trial::of(&sample, &vec![0; 16 * size]);
        let plain = trial.place("plain.zarr");
        trial.pack(within(1.0)).unwrap();
        UnpackJob::new(trial.input(), &plain).run(&one_thread()).unwrap();
        for place in [trial.output(), plain] {
            assert_eq!(metadata(&place)["attributes"]["_FillValue"], expected, "{given} {place:?}");
        }
    }
}

#[test]
fn what_looks_missing_and_is_packed_as_data_is_counted_in_the_report() {
    let mut values: Vec<f32> = (0..300).map(|step| step as f32 / 10.0).collect();
    (values[3], values[200]) = (1e20, 1e20);
    let trial = Trial::new(&values, 100, json!({}));
    let wide = within(1e18);
    let auto = PackOptions {
        auto: true,
        data_type: Some(recast_kernels::ElementType::UInt16),
        ..PackOptions::default()
    };
    for options in [wide, auto] {
        let options = PackOptions { allow_constant: true, ..options };
        let suspects = trial.pack(options.clone()).unwrap().suspects;
        assert_eq!(suspects.len(), 1, "{options:?}");
        assert_eq!((suspects[0].value.to_f64(), suspects[0].count), (f64::from(1e20_f32), 2));
        // What is named is no suspect.
        let named = PackOptions { missing: vec![scalar("1e20").unwrap()], ..options };
        assert!(trial.pack(named).unwrap().suspects.is_empty());
    }
    // An end that its neighbours lead to is none.
    let values: Vec<f32> = (-999..500).map(|step| step as f32).collect();
    let options = within(0.5);
    assert!(Trial::new(&values, 100, json!({})).pack(options).unwrap().suspects.is_empty());
}

#[test]
fn a_relative_bound_has_relative_errors() {
    let values: Vec<f32> = (0..2000).map(|step| 1.01_f32.powi(step % 900) - 1.0).collect();
    let trial = Trial::new(&values, 500, json!({}));
    let options = relative(0.001);
    let errors = trial.pack(options).unwrap().error.errors;
    let decoded = f32s(&trial.decoded());
    let error = |(&x, &y): (&f32, &f32)| f64::from((y - x).abs()) / f64::from(x);
    let pairs = values.iter().zip(&decoded).filter(|(x, _)| **x != 0.0);
    let (worst, most) = pairs
        .map(|pair| (*pair.0, error(pair)))
        .fold((0.0, 0.0), |a: (f32, f64), b| if b.1 > a.1 { b } else { a });
    assert_eq!(errors.max_relative, Some(most));
    assert_eq!(errors.worst_relative.unwrap().before.to_f64(), f64::from(worst));
    assert!(most <= 0.001 && errors.max > 0.001);
    let tolerance = Some(AllClose { atol: 0.0, rtol: 1e-5 });
    let job = CompareJob { tolerance, ..CompareJob::new(trial.input(), trial.output()) };
    let report = job.run(&one_thread()).unwrap();
    assert_eq!(report.error.max_relative, Some(most));
    assert!(report.failure().unwrap().contains(&format!("off by {most:?} of the value")));
    let absolute = trial.pack(within(1.0));
    assert_eq!(absolute.unwrap().error.errors.max_relative, None);
}

#[test]
fn info_knows_the_precision_of_each_codec_in_the_type_of_the_values() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("v2.zarr");
    let filters = json!([{"id": "fixedscaleoffset", "dtype": "<f4", "astype": "<i2", "scale": 100, "offset": 273}]);
    zarr_v2(&input, filters, &[0; 600]);
    let precision = |path: &Path| ArrayInfo::read(path).unwrap().precision.unwrap();
    assert_eq!(precision(&input).to_string(), "0.01");
    let cast = |data_type| json!({"name": "cast_value", "configuration": {"data_type": data_type}});
    for (scale, expected) in [("0.1", "10.0"), ("100", "0.01"), ("3", "0.33333334")] {
        let scale: Value = serde_json::from_str(scale).unwrap();
        let codecs = json!([{"name": "scale_offset", "configuration": {"scale": scale}}, cast("int16"), little_endian()]);
        let trial = Trial::new(&[0.0_f32], 1, json!({"codecs": codecs}));
        assert_eq!(precision(&trial.input()).to_string(), expected);
        let info = serde_json::to_value(ArrayInfo::read(trial.input()).unwrap()).unwrap();
        assert_eq!(info["precision"].to_string(), expected);
    }
}

#[test]
fn bytes_without_an_endian_behind_several_bytes_are_refused_by_the_name_of_the_field() {
    let bare = json!({"name": "bytes"});
    let shard = sharding(&[1], json!([bare]));
    let read = |data_type: &str, codecs: Value| {
        let folder = tempfile::tempdir().unwrap();
        let document = json!({"zarr_format": 3, "node_type": "array", "shape": [1], "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
            "chunk_key_encoding": {"name": "default"}, "codecs": codecs, "fill_value": 0});
        std::fs::write(folder.path().join("zarr.json"), document.to_string()).unwrap();
        ArrayInfo::read(folder.path()).map_err(|error| format!("{:#}", anyhow::Error::from(error)))
    };
    let error = read("float32", json!([bare])).unwrap_err();
    assert!(error.contains("codecs[0].configuration.endian"), "{error}");
    assert!(error.contains("float32") && error.contains("little"), "{error}");
    let error = read("int16", json!([shard])).unwrap_err();
    assert!(error.contains("codecs[0].configuration.codecs[0].configuration.endian"), "{error}");
    // One byte has no order, and what reaches the codec counts.
    read("uint8", json!([bare])).unwrap();
    let cast = json!({"name": "cast_value", "configuration": {"data_type": "uint8"}});
    read("float32", json!([cast, bare])).unwrap();
}

#[test]
fn repeated_inputs_of_a_map_are_a_warning() {
    let map = json!({"encode": [["NaN", 0], [0.0, 1], [-0.0, 2], ["NaN", 3]], "decode": [[0, "NaN"], [1, 0.0]]});
    let cast =
        json!({"name": "cast_value", "configuration": {"data_type": "uint8", "scalar_map": map}});
    let codecs = json!([cast, {"name": "bytes"}]);
    let trial = Trial::new(&[5.0_f32], 1, json!({"codecs": codecs, "fill_value": 5.0}));
    let warnings = ArrayInfo::read(trial.input()).unwrap().warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("codecs[0].configuration.scalar_map.encode"), "{warnings:?}");
    assert!(warnings[0].contains("again"), "{warnings:?}");
}

/// Codes go to markers, to the fill value and to NaN as long as there are any; none is left over here.
#[test]
fn many_markers_do_not_make_the_type_wider_while_codes_are_left() {
    let all: [f32; 9] = [-9999.0, 1e20, -32768.0, -999.5, 9.96921e36, 77.7, -1e30, 12345.6, 0.1];
    for count in 0..=all.len() {
        // One code is for NaN, and one for the fill value.
        let steps = 256 - 2 - count;
        let markers = &all[..count];
        let mut values: Vec<f32> =
            (0..3 * steps).map(|step| 211.3 + (step % steps) as f32 * 0.4713).collect();
        values[7..7 + count].copy_from_slice(markers);
        let more = json!({"fill_value": -5.5, "attributes": {"missing_value": markers}});
        let trial = Trial::new(&values, 100, more);
        let options = within(0.4713 / 2.0);
        let report = trial.pack(options).unwrap();
        assert_eq!(report.data_type.size(), 1, "{count}: {report:?}");
        for (before, after) in values.iter().zip(f32s(&trial.decoded())) {
            let is_right = if markers.contains(before) {
                before.to_bits() == after.to_bits()
            } else {
                (before - after).abs() <= 0.4713 / 2.0
            };
            assert!(is_right, "{count}: {before} {after}");
        }
    }
}

/// Searches that begin anew for each marker, offset and scale would not end.
#[test]
fn thousands_of_markers_are_packed_and_compared_in_the_time_of_some() {
    const MARKERS: i32 = 3_000;
    let elements = |numbers: &[i32], name: &str| -> Vec<u8> {
        let bytes = |&number: &i32| match name {
            "int32" => number.to_ne_bytes().to_vec(),
            _ => (number as f32).to_ne_bytes().to_vec(),
        };
        numbers.iter().flat_map(bytes).collect()
    };
    for (name, first_marker, way) in [
        ("float32", -1_000_000, json!({"max-abs-error": 0.25})),
        ("float32", 30, json!({"max-abs-error": 0.25})),
        ("float32", -1_000_000, json!({"auto": true, "data-type": "int16"})),
        ("int32", -1_000_000, json!({"max-abs-error": 2})),
        ("int32", 30, json!({"data-type": "int16"})),
    ] {
        let markers: Vec<i32> = (0..MARKERS).map(|number| first_marker - number).collect();
        let mut numbers: Vec<i32> = (0..60).map(|step| 20 + 3 * step).collect();
        numbers.extend(&markers[MARKERS as usize - 4..]);
        let sample = Sample::new(name, &[64], &[64], json!(0))
            .with("attributes", json!({"missing_value": markers}));
        let trial = Trial::of(&sample, &elements(&numbers, name));
        let what = format!("{name} {first_marker} {way}");
        let report = trial.pack(options(way)).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(report.counts.became_missing, 0, "{what}");
        assert!(report.counts.special.missing >= 4, "{what}");
        let compared = CompareJob::new(trial.input(), trial.output()).run(&one_thread()).unwrap();
        assert_eq!(compared.counts.special.missing, report.counts.special.missing, "{what}");
    }
}

/// Where scale and type are given, codes are left at one end of the type only. NaN gets one, too, if only later values have it.
#[test]
fn markers_and_nan_get_the_last_codes_that_values_from_one_end_on_leave() {
    for (target, least, greatest) in [("uint8", 0_i16, 255), ("int8", -128, 127)] {
        let given = json!({"scale": 1, "data-type": target});
        for case in 0..4 * 7 {
            let (is_from_least, has_nan, count) = (case % 2 == 0, case % 4 < 2, case / 4);
            let markers: Vec<f32> = (0..count).map(|number| f32::from(-9999 - number)).collect();
            let left = count + 1;
            let range =
                if is_from_least { least..=greatest - left } else { least + left..=greatest };
            let mut values: Vec<f32> = range.map(f32::from).collect();
            values.extend_from_slice(&markers);
            values.extend(has_nan.then_some(f32::NAN));
            let more = json!({"fill_value": 9, "attributes": {"missing_value": markers}});
            let trial = Trial::new(&values, 100, more);
            let what = format!("{target} {is_from_least} {has_nan} {count}");
            trial.pack(options(given.clone())).unwrap_or_else(|error| panic!("{what}: {error}"));
            let codecs = metadata(&trial.output())["codecs"].to_string();
            assert!(codecs.contains("[\"NaN\","), "{what}: {codecs}");
            let decoded = f32s(&trial.decoded());
            let is_same = |(a, b): (&f32, &f32)| a == b || (a.is_nan() && b.is_nan());
            assert!(values.iter().zip(&decoded).all(is_same), "{what}: {decoded:?}");
        }
    }
}

/// A value that the bound's own step would move to the marker needs a finer one.
#[test]
fn values_on_both_sides_of_a_marker_are_kept_with_a_coarse_bound() {
    let around = |marker: f64, step: f64, count: i32| -> Vec<f64> {
        (-count..=count).map(|number| marker + step * f64::from(number)).collect()
    };
    for (name, numbers, marker, bound) in [
        ("uint8", (1..12).map(f64::from).collect(), 0.0, 8.0),
        ("int16", around(0.0, 1.0, 530), 0.0, 2.0),
        ("int32", around(7.0, 1.0, 4), 7.0, 64.0),
        ("float32", (1..12).map(|number| 1.04 * f64::from(number)).collect(), 0.0, 8.0),
        ("float64", around(100.0, 0.5, 65), 100.0, 0.5),
        ("float16", (1..5).map(f64::from).collect(), 0.0, 1.0),
    ] {
        let element_type: ElementType = name.parse().unwrap();
        let scalar = |number: f64| {
            Scalar::from(number).cast(element_type, Rounding::NearestEven, OutOfRange::Error)
        };
        let elements: Vec<u8> = numbers
            .iter()
            .chain([&marker])
            .flat_map(|&x| scalar(x).unwrap().to_ne_bytes())
            .collect();
        let count = numbers.len() as u64 + 1;
        let missing = [&numbers[..], &[marker]].concat();
        let expected = missing.iter().filter(|&&number| number == marker).count() as u64;
        for pow2 in [false, true] {
            let trial = Trial::of(&Sample::new(name, &[count], &[count], json!(1)), &elements);
            let asked = json!({"max-abs-error": bound, "missing": [marker], "pow2": pow2,
                "allow-constant": true});
            let report =
                trial.pack(options(asked)).map_err(|error| format!("{name} {pow2}: {error}"));
            let report = report.unwrap();
            assert_eq!(
                (report.counts.special.missing, report.counts.became_missing),
                (expected, 0),
                "{name}"
            );
            assert!(report.error.errors.max <= bound, "{name} {pow2}");
        }
    }
}

/// A marker inside the range of the data gets a code apart; the codes of the data have the offset that compresses best and stays in
/// their range, as without it.
#[test]
fn a_marker_among_the_data_costs_nothing_and_the_range_stays() {
    let values: Vec<f32> = (0..40_000_u32)
        .map(|i| 250.0 + (i.wrapping_mul(0x9e37_79b1) >> 8) as f32 / 279_620.3)
        .collect();
    let trial = Trial::new(&values, 20_000, json!({"fill_value": "NaN"}));
    for bound in [0.18, 0.09, 3.0] {
        let plain = trial.pack(within(bound)).unwrap();
        let marked = options(json!({"max-abs-error": bound, "missing": [255]}));
        let marked = trial.pack(marked).unwrap();
        assert_eq!((plain.decoded_range, marked.decoded_range), (None, None), "{bound}");
        let (plain, marked) = (plain.bytes.stored as f64, marked.bytes.stored as f64);
        assert!(marked <= plain * 1.01, "{bound}: {marked} bytes, {plain} without a marker");
    }
}

//! What can be asked for instead of an absolute error, and what the values become.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::common::{
    Sample, Trial, assert_within, bytes, codec_names, configuration, create_group, field, kelvin,
    metadata, names, numbers, one_thread, options, read, read_f32, relative, stored_codes, told,
    trial, within,
};
use recast_kernels::ElementType;
use recast_pack::{DryRun, ErrorKind, Job, PackJob, PackOptions, PackReport, scalar};
use serde_json::{Value, json};

/// The error of options that make no sense, whatever the array.
fn invalid(trial: &Trial, json: Value) -> String {
    let error = trial.job(options(json)).run(&one_thread()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Options, "{error}");
    error.to_string()
}

fn scale(path: &Path) -> f64 {
    let document = metadata(path);
    let codec = configuration(&document, "scale_offset");
    codec
        .and_then(|codec| codec.get("scale"))
        .map_or(1.0, |scale| f64::from(scale.as_f64().unwrap() as f32))
}

#[test]
fn auto_uses_the_whole_range_of_the_type() {
    let mut values = kelvin(4000);
    for (nan, data_type, codes) in [
        (false, "uint8", 256),
        (false, "int8", 256),
        (true, "uint8", 255),
        (true, "int16", 65535),
        (true, "uint16", 65535),
        (true, "uint32", u32::MAX.into()),
    ] {
        values[700] = if nan { f32::NAN } else { 300.0 };
        let trial = trial(&values, json!(if nan { 1e20 } else { 0.0 }));
        let report = trial.pack(options(json!({"auto": true, "data-type": data_type}))).unwrap();
        let stored = stored_codes(&trial.output());
        let nan = report.nan.map(|code| code.to_f64() as i64);
        let used = || stored.iter().copied().filter(|code| Some(*code) != nan);
        let extent = used().max().unwrap() - used().min().unwrap() + 1;
        // The fill value takes a code, too.
        assert!(extent < codes, "{data_type} {extent} {codes}");
        assert!(extent as f64 >= codes as f64 * 0.999 - 3.0, "{data_type} {extent} {codes}");
        let decoded = read_f32(&trial.output());
        let step = 30.0 / extent as f32 + 6e-5;
        let is_near = |(a, b): (&f32, &f32)| (a - b).abs() <= step || a.is_nan() & b.is_nan();
        assert!(values.iter().zip(&decoded).all(is_near), "{data_type}");
    }
}

#[test]
fn auto_keeps_constants_and_integers_that_fit() {
    let constant = trial(&[288.7; 50], json!("NaN"));
    let into = |data_type: &str| options(json!({"auto": true, "data-type": data_type}));
    assert_eq!(constant.pack(into("int16")).unwrap().error.errors.max, 0.0);
    let of_integers = |value: fn(i32) -> i32| {
        let values: Vec<i32> = (0..200).map(value).collect();
        Trial::new(&values, 50, json!({})).pack(into("uint8")).unwrap()
    };
    let report = of_integers(|i| 70_000 + i);
    assert!(report.error.errors.max == 0.0 && report.scale.is_none(), "{report:?}");
    let worst = of_integers(|i| i * 1000).error.errors.max;
    assert!(worst > 300.0 && worst <= 396.0, "{worst}");
    assert!(invalid(&constant, json!({"auto": true})).contains("--data-type"));
}

#[test]
fn precision_makes_multiples() {
    for (step, size) in [(0.01, 2), (0.25, 1), (1.0, 1), (10.0, 1)] {
        let values: Vec<f32> = kelvin(3000).iter().map(|value| value - 280.0).collect();
        let trial = trial(&values, json!("NaN"));
        let report = trial.pack(options(json!({"precision": step}))).unwrap();
        assert!(report.data_type.is_integer() && report.data_type.size() == size, "{report:?}");
        for (before, after) in values.iter().zip(read_f32(&trial.output())) {
            let multiple = (f64::from(after) / step).round() * step;
            assert!((f64::from(after) - multiple).abs() < 4e-6, "{after} {multiple}");
            assert!((f64::from(before - after)).abs() <= step / 2.0 + 4e-6, "{before} {after}");
        }
        assert_eq!(report.error.precision, Some(step));
    }
    let trial = trial(&[1.0, 2.0], json!("NaN"));
    for (options, needle) in [
        (json!({"precision": 0}), "above 0"),
        (json!({"precision": 0.1, "data-type": "float16"}), "integer type"),
        (json!({"precision": 0.1, "max-abs-error": 0.1}), "--max-abs-error"),
    ] {
        let error = invalid(&trial, options);
        assert!(error.contains(needle), "{error}");
    }
}

#[test]
fn a_scale_that_is_a_power_of_two_decodes_exactly() {
    let trial = trial(&kelvin(3000), json!("NaN"));
    for (goal, bound) in [
        (json!({"max-abs-error": 0.013, "pow2": true}), Some(0.013)),
        (json!({"auto": true, "data-type": "int16", "pow2": true}), None),
        (json!({"precision": 0.007_812_5, "pow2": true}), None),
    ] {
        let report = trial.pack(options(goal.clone())).unwrap();
        let scale = scale(&trial.output());
        assert_eq!(scale.log2().fract(), 0.0, "{goal}: {scale}");
        // Decoded values are whole multiples of 1 / scale: nothing was rounded.
        let decoded = read_f32(&trial.output());
        assert!(decoded.iter().all(|&value| (f64::from(value) * scale).fract() == 0.0), "{goal}");
        assert!(report.error.errors.max <= bound.unwrap_or(1.0 / scale));
    }
    for (options, needle) in [
        (json!({"precision": 0.01, "pow2": true}), "0.0078125"),
        (json!({"data-type": "int16", "pow2": true}), "--max-abs-error"),
        (json!({"offset": 1, "pow2": true}), "--pow2"),
    ] {
        let error = invalid(&trial, options);
        assert!(error.contains(needle), "{error}");
    }
}

#[test]
fn a_relative_error_is_for_floating_point_types() {
    let values: Vec<f32> =
        (0..4000).map(|i| (i as f32 * 0.01).sin() * (0.002 * i as f32).exp()).collect();
    let trial = trial(&values, json!("NaN"));
    for (bound, data_type) in
        [(0.063, None), (0.0005, Some(ElementType::Float16)), (0.004, Some(ElementType::Float16))]
    {
        let report = trial.pack(relative(bound)).unwrap();
        let small = |(&a, b): (&f32, f32)| {
            (f64::from(a) - f64::from(b)).abs() <= bound * f64::from(a.abs())
        };
        assert!(values.iter().zip(read_f32(&trial.output())).all(small), "{bound}");
        assert!(data_type.is_none_or(|data_type| report.data_type == data_type), "{report:?}");
    }
    let error = invalid(&trial, json!({"max-rel-error": 0.01, "data-type": "int16"}));
    assert!(error.contains("equally far apart") && error.contains("--max-abs-error"), "{error}");
    // The type that is named is checked.
    let bfloat16 = |bound: f64| options(json!({"max-rel-error": bound, "data-type": "bfloat16"}));
    trial.pack(bfloat16(0.004)).unwrap();
    let error = trial.refuses(bfloat16(0.003));
    assert!(error.contains("bfloat16") && error.contains("--max-rel-error"), "{error}");
    // No smaller type has so many digits.
    let error = trial.refuses(relative(1e-6));
    assert!(error.contains("smaller floating-point type"), "{error}");
}

#[test]
fn a_relative_error_reaches_beyond_the_range_of_the_type() {
    // float16 ends at 65504 and at 6e-8, float8_e5m2 at 57344; a scale brings the values there.
    let values: Vec<f32> = (0..1000).map(|i| 1e9 * 1.01_f32.powi(i % 300)).collect();
    let trial = trial(&values, json!(1e20));
    let report = trial.pack(options(json!({"max-rel-error": 0.0005}))).unwrap();
    assert_eq!(report.data_type, ElementType::Float16);
    assert_eq!(scale(&trial.output()).log2().fract(), 0.0);
    let near = |(&a, b): (&f32, f32)| (a - b).abs() <= 0.0005 * a;
    assert!(values.iter().zip(read_f32(&trial.output())).all(near));
    let doubles = Trial::new(&field(500), 100, json!({"fill_value": "NaN"}));
    let report = doubles.pack(options(json!({"max-rel-error": 1e-7}))).unwrap();
    assert_eq!(report.data_type, ElementType::Float32);
}

/// A missing value that no attribute names must not hide that the data are lost.
#[test]
fn a_bound_that_leaves_one_value_beside_an_unnamed_marker_is_refused() {
    let mut values: Vec<f32> = (0..3000).map(|i| (i % 1000) as f32 / 10.0).collect();
    for value in values.iter_mut().step_by(50) {
        *value = 1e20;
    }
    let trial = trial(&values, json!("NaN"));
    for goal in
        [json!({"error-over-range": 1e-3}), json!({"max-abs-error": 1e17, "readers": ["any"]})]
    {
        let error = trial.refuses(options(goal));
        for part in ["--missing 1e+20", "all from 0.1 to 99.9 become equal"] {
            assert!(error.contains(part), "{error}");
        }
    }
    trial.pack(options(json!({"error-over-range": 1e-3, "missing": [1e20]}))).unwrap();
    assert!(values.iter().zip(read_f32(&trial.output())).all(|(a, b)| (a - b).abs() <= 0.1));
}

/// Codes of a float have no steps that a report could name, so every integer of the range keeps the bound.
#[test]
fn integers_in_a_float_keep_the_bound_between_those_at_hand() {
    let trial = Trial::new(&[0_u8, 255], 2, json!({}));
    trial.refuses(options(json!({"max-abs-error": 6, "data-type": "float8_e5m2"})));
    trial.pack(options(json!({"max-abs-error": 16, "data-type": "float8_e5m2"}))).unwrap();
}

#[test]
fn floating_point_targets_go_with_an_absolute_error_and_a_scale() {
    let values = kelvin(1000);
    // float16 has steps of 0.25 here, and 0.0078 around the middle of the range.
    let float16 = |bound: f64| options(json!({"max-abs-error": bound, "data-type": "float16"}));
    let trial_of_nan = trial(&values, json!("NaN"));
    let report = trial_of_nan.pack(float16(0.004)).unwrap();
    assert_eq!(report.data_type, ElementType::Float16);
    assert!(report.offset.unwrap().to_f64() > 270.0);
    trial_of_nan.refuses(float16(0.001));
    let trial = trial(&values, json!(0.0));
    for goal in [
        json!({"data-type": "float8_e4m3", "auto": true}),
        json!({"data-type": "float8_e4m3fn", "auto": true}),
        json!({"data-type": "float8_e4m3fn", "scale": 1}),
        json!({"data-type": "float8_e5m2fnuz", "auto": true}),
        json!({"data-type": "float4_e2m1fn", "auto": true}),
        json!({"data-type": "bfloat16", "scale": 1}),
        json!({"data-type": "float8_e5m2", "scale": 0.5}),
    ] {
        let report = trial.pack(options(goal.clone())).unwrap();
        assert_eq!(report.data_type.name(), goal["data-type"]);
        let decoded = read_f32(&trial.output());
        assert!(values.iter().zip(&decoded).all(|(a, b)| (a - b).abs() <= a / 3.0), "{goal}");
    }
    let error = trial.refuses(options(json!({"data-type": "float8_e4m3", "scale": 1})));
    assert!(error.contains("out of range for float8_e4m3") && error.contains("--scale"), "{error}");
}

#[test]
fn the_fill_value_becomes_infinity_where_a_float_type_is_too_small_for_it() {
    let mut values = kelvin(1000);
    values[3] = 1e20;
    let trial = trial(&values, json!(1e20));
    trial.pack(options(json!({"data-type": "float16", "scale": 1}))).unwrap();
    let decoded = read_f32(&trial.output());
    let found = decoded.iter().enumerate().filter(|(_, value)| **value == 1e20);
    assert_eq!(found.map(|(index, _)| index).collect::<Vec<_>>(), [3]);
}

#[test]
fn values_outside_the_source_range_are_clamped_and_counted() {
    let mut values = kelvin(2000);
    (values[17], values[1100], values[5]) = (5e9, -1000.0, f32::NAN);
    let trial = trial(&values, json!("NaN"));
    let is_outside = |value: &&f32| !(280.0..=300.0).contains(*value) && !value.is_nan();
    let outside = values.iter().filter(is_outside).count() as u64;
    for goal in [
        json!({"max-abs-error": 0.01}),
        json!({"auto": true, "data-type": "uint16"}),
        json!({"precision": 0.01}),
    ] {
        let range = PackOptions {
            src_min: scalar("280").ok(),
            src_max: scalar("300").ok(),
            verify: true,
            ..options(goal)
        };
        let report = trial.pack(range).unwrap();
        assert_eq!(report.counts.clamped, outside);
        assert_eq!(numbers(report.kept_range), (280.0, 300.0));
        assert_eq!(numbers(report.range), (-1000.0, 5e9));
        assert_eq!(report.error.largest_clamping, 5e9 - 300.0);
        for (&before, after) in values.iter().zip(read_f32(&trial.output())) {
            let expected = before.clamp(280.0, 300.0);
            let is_near = (expected - after).abs() <= 0.010_01;
            assert!(is_near || before.is_nan() && after.is_nan(), "{before} {after}");
        }
    }
    let empty =
        PackOptions { src_min: scalar("10").ok(), src_max: scalar("5").ok(), ..within(1.0) };
    let error = trial.refuses(empty);
    assert!(error.contains("empty"), "{error}");
}

#[test]
fn chunks_are_compressed_as_asked() {
    let values = kelvin(5000);
    let trial = trial(&values, json!("NaN"));
    for (compressor, name) in [
        ("none", "bytes"),
        ("zstd", "zstd"),
        ("zstd:19", "zstd"),
        ("gzip:6", "gzip"),
        ("blosc:9", "blosc"),
    ] {
        trial.pack(options(json!({"max-abs-error": 0.01, "compressor": compressor}))).unwrap();
        let document = trial.metadata();
        assert_eq!(codec_names(&document["codecs"]).last(), Some(&name), "{compressor}");
        assert_within(0.010_01, &values, &read_f32(&trial.output()));
    }
    for wrong in ["lz4", "none:1", "zstd:99", "gzip:x"] {
        let json = json!({"max-abs-error": 1, "compressor": wrong});
        serde_json::from_value::<PackOptions>(json).unwrap_err();
    }
}

/// Three arrays of one kind: each has its own range, fill value, chunks, and a few odd elements, which
/// do not count.
fn three_of_a_kind(folder: &Trial) -> [(PathBuf, Vec<f32>, f32); 3] {
    let mut a = kelvin(1000);
    let mut b: Vec<f32> = kelvin(700).iter().map(|value| value + 20.0).collect();
    let mut c: Vec<f32> = kelvin(400).iter().map(|value| value - 9.5).collect();
    // Each fill value is left out of its own array only.
    (a[3], b[5], c[7]) = (f32::NAN, -1e30, 500.0);
    c[8] = f32::NAN;
    let arrays = [("a", a, f32::NAN), ("b", b, -1e30), ("c", c, 500.0)];
    arrays.map(|(name, values, fill)| {
        let path = folder.place(name);
        let json = if fill.is_nan() { json!("NaN") } else { json!(fill) };
        let count = values.len() as u64;
        Sample::new("float32", &[count], &[count / 3], json).write(&path, &bytes(&values));
        (path, values, fill)
    })
}

/// Packs an array with the codecs that others get, too.
fn pack_with(
    others: &[&PathBuf],
    input: &Path,
    output: &Path,
    options: &PackOptions,
) -> Result<PackReport, String> {
    let scale_from = others.iter().map(|&path| path.clone()).collect();
    let job = PackJob::new(input, output, options.clone());
    told(PackJob { scale_from, overwrite: true, ..job }.run(&one_thread()))
}

#[test]
fn arrays_of_one_scale_have_the_same_codecs_and_each_keeps_the_bound() {
    let trial = Trial::empty();
    let arrays = three_of_a_kind(&trial);
    for (goal, bound) in [
        (json!({"max-abs-error": 0.01}), Some(0.01)),
        (json!({"max-abs-error": 0.01, "compressor": "none"}), Some(0.01)),
        (json!({"max-abs-error": 0.3}), Some(0.3)),
        (json!({"data-type": "uint16", "auto": true}), Some(0.01)),
        (json!({"max-abs-error": 0.02, "src-min": 270}), None),
        (json!({"max-abs-error": 0.02, "src-max": 280}), None),
        (json!({"max-rel-error": 0.01}), None),
    ] {
        let is_relative = goal.get("max-rel-error").is_some();
        let mut all_codecs = Vec::new();
        for (one, (path, values, fill)) in arrays.iter().enumerate() {
            // Whose it is, and in what order they are named, makes no difference.
            let turned = (0..3).map(|number| &arrays[(number + one) % 3].0);
            let output = trial.place(&format!("packed_{one}"));
            let turned: Vec<&PathBuf> = turned.collect();
            let report = pack_with(&turned, path, &output, &options(goal.clone())).unwrap();
            all_codecs.push(metadata(&output)["codecs"].clone());
            assert_eq!(report.scale_from.unwrap().arrays.len(), 3);
            for (index, (&x, &y)) in values.iter().zip(&read_f32(&output)).enumerate() {
                let place = format!("{goal} {one}: element {index}, {x}, {y}");
                if x.is_nan() || x == *fill {
                    assert!(x == y || x.is_nan() && y.is_nan(), "{place}");
                } else if is_relative {
                    assert!((x - y).abs() <= 0.01 * x, "{place}");
                } else {
                    assert!(bound.is_none_or(|bound| (x - y).abs() <= bound), "{place}");
                }
            }
        }
        assert!(all_codecs.iter().all(|codecs| codecs == &all_codecs[0]), "{goal} {all_codecs:?}");
    }
}

#[test]
fn input_is_among_the_arrays_of_one_scale_whether_it_is_named_or_not() {
    let trial = Trial::empty();
    let [a, b, c] = three_of_a_kind(&trial).map(|(path, ..)| path);
    let codecs = |others: &[&PathBuf]| {
        pack_with(others, &a, &trial.output(), &within(0.01)).unwrap();
        trial.metadata()["codecs"].clone()
    };
    let all = codecs(&[&a, &b, &c]);
    assert_eq!(codecs(&[&c, &b]), all);
    assert_ne!(codecs(&[]), all);
    let job = PackJob::new(&b, trial.place("x"), within(0.01));
    let job = PackJob { scale_from: vec![a.clone(), c.clone()], ..job };
    assert_eq!(told(job.dry_run(&one_thread())).unwrap().codecs, all);
}

#[test]
fn arrays_that_cannot_share_a_scale_are_refused() {
    let trial = trial(&kelvin(50), json!(0.0));
    let refuses = |options: &PackOptions, other: &PathBuf| {
        let before = names(trial.path());
        let outcome = pack_with(&[other], &trial.input(), &trial.output(), options);
        assert_eq!(names(trial.path()), before);
        outcome.map(|report| report.codecs).unwrap_err()
    };
    let other = trial.place("other");
    Sample::new("float64", &[3], &[3], json!(0.0)).write(&other, &bytes(&[1.0, 2.0, 3.0]));
    let error = refuses(&within(0.1), &other);
    assert!(error.contains("other is float64") && error.contains("in.zarr is float32"), "{error}");
    std::fs::write(other.join("zarr.json"), "{").unwrap();
    let error = refuses(&within(0.1), &other);
    assert!(error.contains("--scale-from") && error.contains("other"), "{error}");
    let error = refuses(&within(0.1), &"nowhere".into());
    assert!(error.contains("--scale-from") && error.contains("nowhere"), "{error}");
    // One array's range may be too wide for what suffices for the other.
    let wide = trial.place("wide");
    Sample::new("float32", &[2], &[2], json!(0.0)).write(&wide, &bytes(&[-1e6_f32, 1e6]));
    let uint16 = options(json!({"max-abs-error": 0.1, "data-type": "uint16"}));
    refuses(&uint16, &wide);
    trial.pack(uint16).unwrap();
}

#[test]
fn a_stored_value_for_nan_is_refused_where_there_is_no_nan() {
    let trial = Trial::new(&(0..10).collect::<Vec<i32>>(), 10, json!({}));
    let error = trial.refuses(options(json!({"max-abs-error": 0, "nan-to": 200})));
    assert!(error.contains("int32 has no NaN") && error.contains("--nan-to"), "{error}");
}

/// zarr-python's default fill value, 0, is a value like any other.
#[test]
fn a_fill_value_that_elements_have_counts_in_the_range() {
    let values: Vec<f32> =
        (0..600).map(|index| (index % 2) as f32 + 100.0 * (index % 3) as f32).collect();
    let over_range = options(json!({"error-over-range": 1e-3}));
    let bounds = [json!(0.0), json!("NaN"), json!(1e20)].map(|fill| {
        let report = trial(&values, fill).pack(over_range.clone()).unwrap();
        assert_eq!(numbers(report.range), (0.0, 201.0));
        report.error.bound
    });
    assert_eq!(bounds, [Some(0.201); 3]);
    // If it marks missing values it does not count, nor if no element has it.
    let missing = PackOptions { missing: vec![scalar("0").unwrap()], ..over_range };
    let report = trial(&values, json!(0.0)).pack(missing).unwrap();
    assert_eq!(numbers(report.range), (1.0, 201.0));
    let report = trial(&[0.0, 1.0, 0.0], json!(0.0)).pack(within(0.01)).unwrap();
    assert!(report.ratio.is_some(), "two values");
}

#[test]
fn infinities_that_get_codes_are_counted_as_infinite() {
    let values = [1.0, 2.0, f32::INFINITY, f32::NEG_INFINITY, 5.0, f32::NAN];
    let report = trial(&values, json!("NaN")).pack(PackOptions { infinity: true, ..within(0.5) });
    let counts = report.unwrap().counts;
    assert_eq!([counts.special.nan, counts.special.infinite, counts.special.missing], [1, 2, 0]);
}

#[test]
fn a_bound_that_leaves_one_value_of_several_is_refused_unless_that_is_allowed() {
    let small: Vec<f32> = (0..500).map(|n| n as f32 * 2e-8).collect();
    let trial = trial(&small, json!("NaN"));
    let plain = json!({"max-abs-error": 0.01, "readers": ["any"]});
    for options in [within(0.01), options(json!({"precision": 0.01})), options(plain)] {
        let error = trial.refuses(options.clone());
        for part in ["in.zarr", "leaves one value", "--error-over-range", "--exclude"] {
            assert!(error.contains(part), "{error}");
        }
        let report = trial.pack(PackOptions { allow_constant: true, ..options }).unwrap();
        assert!(report.coarse.is_some());
        assert!(read_f32(&trial.output()).iter().all(|value| *value == 0.0));
    }
    // Two values are left, or there is one only.
    trial.pack(within(4e-6)).unwrap();
    Trial::new(&[1e-5_f32; 9], 3, json!({})).pack(within(0.01)).unwrap();
    // A fill value that elements have is a value, unless it marks missing ones: 0, as of masks, or another one.
    for (values, fill, bound, may_be_refused) in [
        (&[1.0_f32, 0.0, 1.0][..], 0.0, 1.0, true),
        (&[5.0, 0.0], 0.0, 10.0, true),
        (&[5.0, 6.0, 5.0], 5.0, 2.0, true),
        (&[10.0, 11.0], 0.0, 2.0, true),
        (&[0.0, 10.0, 11.0], 0.0, 2.0, false),
        (&[7.0, 7.0], 0.0, 2.0, false),
        (&[f32::NAN, 7.0], 0.0, 2.0, false),
    ] {
        for element_type in ["float32", "float64", "int16"] {
            if element_type == "int16" && values.iter().any(|value| value.is_nan()) {
                continue;
            }
            let elements = match element_type {
                "float32" => bytes(values),
                "float64" => bytes(&values.iter().copied().map(f64::from).collect::<Vec<_>>()),
                _ => bytes(&values.iter().map(|&value| value as i16).collect::<Vec<_>>()),
            };
            let fill = if element_type == "int16" { json!(fill as i16) } else { json!(fill) };
            let length = values.len() as u64;
            let sample = Sample::new(element_type, &[length], &[length], fill);
            let trial = Trial::of(&sample, &elements);
            let case = format!("{element_type} {values:?}");
            if let Err(error) = trial.pack(within(bound)) {
                assert!(may_be_refused && error.contains("leaves one value"), "{case}: {error}");
                continue;
            }
            let size = elements.len() / values.len();
            let distinct = |bytes: &[u8]| bytes.chunks(size).collect::<BTreeSet<_>>().len();
            assert!(distinct(&read(&trial.output())) >= distinct(&elements).min(2), "{case}");
        }
    }
    // A bound beside a given scale or offset is one, too.
    let near = Trial::new(&[1.0_f32, 1.1, 1.2, 1.3], 4, json!({}));
    for given in [json!({"offset": 1}), json!({"offset": 0}), json!({"scale": 1})] {
        let mut all = json!({"max-abs-error": 1});
        all.as_object_mut().unwrap().extend(given.as_object().unwrap().clone());
        let error = near.pack(options(all)).map(drop).unwrap_err();
        assert!(error.contains("leaves one value"), "{error}");
    }
    // In a group the array is named, and nothing is written.
    let group = Trial::empty();
    create_group(&group.input());
    for (name, values) in [("pr", small), ("t", kelvin(500))] {
        let sample = Sample::new("float32", &[500], &[500], json!("NaN"));
        sample.write(&group.input().join(name), &bytes(&values));
    }
    let error = told(group.group_job(within(0.01)).run(&one_thread())).map(drop).unwrap_err();
    assert!(error.contains("pr") && error.contains("--exclude"), "{error}");
    assert!(!group.output().exists());
}

#[test]
fn a_scale_that_is_0_in_the_type_of_the_arithmetic_is_refused() {
    let trial = trial(&kelvin(100), json!("NaN"));
    for scale in [0.0, 1e-60] {
        let error = trial.refuses(options(json!({"scale": scale, "data-type": "int16"})));
        let expected = "--scale is 0.0 in float32; it must be finite and not 0";
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn an_error_about_a_precision_names_the_bound_it_comes_to() {
    let trial = trial(&[-5.98, -5.03, -5.5], json!(0));
    let error = trial.refuses(options(json!({"precision": 10})));
    assert!(error.contains("the bound 5.0000"), "{error}");
}

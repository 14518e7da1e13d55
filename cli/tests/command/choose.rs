//! `recast pack`: what can be asked for instead of an absolute error, and what the values become.

use std::path::Path;

use crate::common::{
    Folder, Sample, configuration, f32s, f64s, field, metadata, read_f32, recast, stored_codes,
};
use serde_json::{Value, json};

fn folder_with(values: &[f32], fill: Value) -> Folder {
    let folder = Folder::new();
    let count = values.len() as u64;
    Sample::new("float32", &[count], &[count.div_ceil(5).max(1)], fill)
        .write(&folder.input(), &f32s(values));
    folder
}

fn kelvin(count: usize) -> Vec<f32> {
    field(count).into_iter().map(|value| value as f32).collect()
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
        let folder = folder_with(&values, json!(if nan { 1e20 } else { 0.0 }));
        let report = folder.pack(&["--auto", "-t", data_type]);
        let stored = stored_codes(&folder.output());
        let used = || {
            let code_of_nan = report["nan"].as_i64();
            stored.iter().copied().filter(move |code| Some(*code) != code_of_nan)
        };
        let extent = used().max().unwrap() - used().min().unwrap() + 1;
        // The fill value takes a code, too.
        assert!(extent < codes, "{data_type} {extent} {codes}");
        assert!(extent as f64 >= codes as f64 * 0.999 - 3.0, "{data_type} {extent} {codes}");
        let decoded = read_f32(&folder.output());
        let step = 30.0 / extent as f32 + 6e-5;
        let is_near = |(a, b): (&f32, &f32)| (a - b).abs() <= step || a.is_nan() & b.is_nan();
        assert!(values.iter().zip(&decoded).all(is_near), "{data_type}");
    }
}

#[test]
fn auto_keeps_constants_and_integers_that_fit() {
    let folder = folder_with(&[288.7; 50], json!("NaN"));
    assert_eq!(folder.pack(&["--auto", "-t", "int16"])["error"]["max"], 0.0);
    let integers: Vec<u8> = (0..200_i32).flat_map(|i| (70_000 + i).to_ne_bytes()).collect();
    let folder = Folder::new();
    Sample::new("int32", &[200], &[50], json!(0)).write(&folder.input(), &integers);
    let report = folder.pack(&["--auto", "-t", "uint8"]);
    assert_eq!([&report["error"]["max"], &report["scale"]], [&json!(0.0), &Value::Null]);
    let wide: Vec<u8> = (0..200_i32).flat_map(|i| (i * 1000).to_ne_bytes()).collect();
    Sample::new("int32", &[200], &[50], json!(0)).write(&folder.input(), &wide);
    let report = folder.pack(&["--auto", "-t", "uint8", "--overwrite"]);
    let worst = report["error"]["max"].as_f64().unwrap();
    assert!(worst > 300.0 && worst <= 396.0, "{worst}");
    assert!(folder.usage(&["--auto"]).contains("--data-type"));
}

#[test]
fn precision_makes_multiples() {
    for (step, data_type) in
        [("0.01", "uint16"), ("0.25", "uint8"), ("1", "uint8"), ("10", "uint8")]
    {
        let values: Vec<f32> = kelvin(3000).iter().map(|value| value - 280.0).collect();
        let folder = folder_with(&values, json!("NaN"));
        let report = folder.pack(&["--precision", step]);
        let types = [data_type.to_owned(), data_type.replace('u', "")];
        assert!(types.iter().any(|name| report["data_type"] == name.as_str()), "{report}");
        let step: f64 = step.parse().unwrap();
        for (before, after) in values.iter().zip(read_f32(&folder.output())) {
            let multiple = (f64::from(after) / step).round() * step;
            assert!((f64::from(after) - multiple).abs() < 4e-6, "{after} {multiple}");
            assert!((f64::from(before - after)).abs() <= step / 2.0 + 4e-6, "{before} {after}");
        }
        assert_eq!(report["error"]["precision"], step);
    }
    let folder = folder_with(&[1.0, 2.0], json!("NaN"));
    assert!(folder.usage(&["--precision", "0"]).contains("above 0"));
    assert!(folder.usage(&["--precision", "0.1", "-t", "float16"]).contains("integer type"));
    assert!(folder.usage(&["--precision", "0.1", "-e", "0.1"]).contains("--max-abs-error"));
}

#[test]
fn a_scale_that_is_a_power_of_two_decodes_exactly() {
    let values = kelvin(3000);
    for goal in [&["-e", "0.013"][..], &["--auto", "-t", "int16"], &["--precision", "0.0078125"]] {
        let folder = folder_with(&values, json!("NaN"));
        let report = folder.pack(&[goal, &["--pow2"]].concat());
        let scale = scale(&folder.output());
        assert_eq!(scale.log2().fract(), 0.0, "{goal:?}: {scale}");
        // Decoded values are whole multiples of 1 / scale: nothing was rounded.
        let decoded = read_f32(&folder.output());
        assert!(decoded.iter().all(|&value| (f64::from(value) * scale).fract() == 0.0), "{goal:?}");
        let bound = if goal[0] == "-e" { 0.013 } else { 1.0 / scale };
        assert!(report["error"]["max"].as_f64().unwrap() <= bound);
    }
    let folder = folder_with(&values, json!("NaN"));
    assert!(folder.usage(&["--precision", "0.01", "--pow2"]).contains("0.0078125"));
    assert!(folder.usage(&["-t", "int16", "--pow2"]).contains("--max-abs-error"));
    assert!(folder.usage(&["--offset", "1", "--pow2"]).contains("--pow2"));
}

#[test]
fn a_relative_error_is_for_floating_point_types() {
    let values: Vec<f32> =
        (0..4000).map(|i| (i as f32 * 0.01).sin() * (0.002 * i as f32).exp()).collect();
    for (bound, data_type) in
        [("0.063", "float8_e4m3"), ("0.0005", "float16"), ("0.004", "float16")]
    {
        let folder = folder_with(&values, json!("NaN"));
        let report = folder.pack(&["--max-rel-error", bound]);
        let bound: f64 = bound.parse().unwrap();
        let small = |(&a, b): (&f32, f32)| {
            (f64::from(a) - f64::from(b)).abs() <= bound * f64::from(a.abs())
        };
        assert!(values.iter().zip(read_f32(&folder.output())).all(small), "{data_type}");
        if data_type == "float16" {
            assert_eq!(report["data_type"], data_type);
        }
    }
    let folder = folder_with(&values, json!("NaN"));
    let error = folder.usage(&["--max-rel-error", "0.01", "-t", "int16"]);
    assert!(error.contains("equally far apart") && error.contains("--max-abs-error"), "{error}");
    // The type that is named is checked.
    folder.pack(&["--max-rel-error", "0.004", "-t", "bfloat16"]);
    std::fs::remove_dir_all(folder.output()).unwrap();
    let error = folder.refuses(&["--max-rel-error", "0.003", "-t", "bfloat16"]);
    assert!(error.contains("bfloat16") && error.contains("--max-rel-error"), "{error}");
    // No smaller type has so many digits.
    let error = folder.refuses(&["--max-rel-error", "1e-6"]);
    assert!(error.contains("smaller floating-point type"), "{error}");
}

#[test]
fn a_relative_error_reaches_beyond_the_range_of_the_type() {
    // float16 ends at 65504 and at 6e-8, float8_e5m2 at 57344; a scale brings the values there.
    let values: Vec<f32> = (0..1000).map(|i| 1e9 * 1.01_f32.powi(i % 300)).collect();
    let folder = folder_with(&values, json!(1e20));
    let report = folder.pack(&["--max-rel-error", "0.0005"]);
    assert_eq!(report["data_type"], "float16");
    assert_eq!(scale(&folder.output()).log2().fract(), 0.0);
    let near = |(&a, b): (&f32, f32)| (a - b).abs() <= 0.0005 * a;
    assert!(values.iter().zip(read_f32(&folder.output())).all(near));
    let doubles = field(500);
    let folder = Folder::new();
    Sample::new("float64", &[500], &[100], json!("NaN")).write(&folder.input(), &f64s(&doubles));
    assert_eq!(folder.pack(&["--max-rel-error", "1e-7"])["data_type"], "float32");
}

#[test]
fn floating_point_targets_go_with_an_absolute_error_and_a_scale() {
    let values = kelvin(1000);
    // float16 has steps of 0.25 here, and 0.0078 around the middle of the range.
    let folder = folder_with(&values, json!("NaN"));
    let report = folder.pack(&["-e", "0.004", "-t", "float16"]);
    assert!(report["offset"].as_f64().unwrap() > 270.0);
    for (data_type, arguments) in [
        ("float8_e4m3", &["--auto"][..]),
        ("float8_e5m2fnuz", &["--auto"]),
        ("float4_e2m1fn", &["--auto"]),
        ("bfloat16", &["--scale", "1"]),
        ("float8_e5m2", &["--scale", "0.5"]),
    ] {
        let folder = folder_with(&values, json!(0.0));
        let report = folder.pack(&[&["-t", data_type], arguments].concat());
        assert_eq!(report["data_type"], data_type);
        let decoded = read_f32(&folder.output());
        assert!(values.iter().zip(&decoded).all(|(a, b)| (a - b).abs() <= a / 3.0), "{data_type}");
    }
    let folder = folder_with(&values, json!(0.0));
    let error = folder.refuses(&["-t", "float8_e4m3", "--scale", "1"]);
    assert!(error.contains("out of range for float8_e4m3") && error.contains("--scale"), "{error}");
}

#[test]
fn the_fill_value_becomes_infinity_where_a_float_type_is_too_small_for_it() {
    let mut values = kelvin(1000);
    values[3] = 1e20;
    let folder = folder_with(&values, json!(1e20));
    folder.pack(&["-t", "float16", "--scale", "1"]);
    let decoded = read_f32(&folder.output());
    assert_eq!(decoded[3], 1e20);
    assert!(decoded.iter().filter(|&&value| value == 1e20).count() == 1);
}

#[test]
fn values_outside_the_source_range_are_clamped_and_counted() {
    let mut values = kelvin(2000);
    (values[17], values[1100], values[5]) = (5e9, -1000.0, f32::NAN);
    let expected = |value: f32| if value.is_nan() { value } else { value.clamp(280.0, 300.0) };
    let outside =
        values.iter().filter(|value| !(280.0..=300.0).contains(*value) && !value.is_nan());
    let outside = outside.count();
    for goal in [&["-e", "0.01"][..], &["--auto", "-t", "uint16"], &["--precision", "0.01"]] {
        let folder = folder_with(&values, json!("NaN"));
        let report =
            folder.pack(&[goal, &["--src-min", "280", "--src-max", "300", "--verify"]].concat());
        assert_eq!(report["counts"]["clamped"], outside);
        assert_eq!(report["kept_range"], json!([280.0, 300.0]));
        assert_eq!(report["range"], json!([-1000.0, 5e9]));
        assert_eq!(report["error"]["largest_clamping"], 5e9 - 300.0);
        for (before, after) in values.iter().zip(read_f32(&folder.output())) {
            let before = expected(*before);
            assert!((before - after).abs() <= 0.010_01 || before.is_nan() & after.is_nan());
        }
    }
    let folder = folder_with(&values, json!("NaN"));
    let error = folder.refuses(&["-e", "1", "--src-min", "10", "--src-max", "5"]);
    assert!(error.contains("empty"), "{error}");
}

#[test]
fn collisions_are_refused_unless_they_are_accepted() {
    let mut values: Vec<f32> = (0..=255).map(|i| i as f32).collect();
    values[100] = f32::NAN;
    let folder = folder_with(&values, json!("NaN"));
    let arguments = ["--scale", "1", "-t", "uint8", "--nan-to", "77"];
    let error = folder.refuses(&arguments);
    assert!(error.contains("element [77]") && error.contains("--allow-collisions"), "{error}");
    let report = folder.pack(&[&arguments[..], &["--allow-collisions"]].concat());
    assert_eq!([&report["counts"]["collisions"], &report["counts"]["became_nan"]], [1, 1]);
    let decoded = read_f32(&folder.output());
    assert!(decoded[77].is_nan() && decoded[100].is_nan() && decoded[78] == 78.0);
    // Where the scale is chosen, too.
    let arguments = ["-e", "0.1", "-t", "uint8", "--nan-to", "77", "--overwrite"];
    let report = folder.pack(&[&arguments[..], &["--allow-collisions"]].concat());
    assert_eq!(report["counts"]["collisions"], 1);
}

#[test]
fn chunks_are_compressed_as_asked() {
    let values = kelvin(5000);
    let folder = folder_with(&values, json!("NaN"));
    for (compressor, name) in [
        ("none", None),
        ("zstd", Some("zstd")),
        ("zstd:19", Some("zstd")),
        ("gzip:6", Some("gzip")),
        ("blosc:9", Some("blosc")),
    ] {
        folder.pack(&["-e", "0.01", "--compressor", compressor, "--overwrite"]);
        let document = metadata(&folder.output());
        let last = document["codecs"].as_array().unwrap().last().unwrap()["name"].clone();
        assert_eq!(last, name.unwrap_or("bytes"), "{compressor}");
        let decoded = read_f32(&folder.output());
        assert!(values.iter().zip(decoded).all(|(a, b)| (a - b).abs() <= 0.010_01));
    }
    for wrong in ["lz4", "none:1", "zstd:99", "gzip:x"] {
        folder.usage(&["-e", "1", "--compressor", wrong]);
    }
    recast(&[
        "unpack",
        &folder.path().join("out.zarr").display().to_string(),
        &folder.path().join("plain.zarr").display().to_string(),
        "--compressor",
        "none",
    ])
    .succeeds();
    assert_eq!(metadata(&folder.path().join("plain.zarr"))["codecs"].as_array().unwrap().len(), 1);
}

/// Three arrays of one kind: each has its own range, fill value, chunks, and a few odd elements, which
/// do not count.
fn three_of_a_kind(folder: &Path) -> [(std::path::PathBuf, Vec<f32>, f32); 3] {
    let mut a = kelvin(1000);
    let mut b: Vec<f32> = kelvin(700).iter().map(|value| value + 20.0).collect();
    let mut c: Vec<f32> = kelvin(400).iter().map(|value| value - 9.5).collect();
    // Each fill value is left out of its own array only.
    (a[3], b[5], c[7]) = (f32::NAN, -1e30, 500.0);
    c[8] = f32::NAN;
    let arrays = [("a", a, f32::NAN), ("b", b, -1e30), ("c", c, 500.0)];
    arrays.map(|(name, values, fill)| {
        let path = folder.join(name);
        let json = if fill.is_nan() { json!("NaN") } else { json!(fill) };
        let count = values.len() as u64;
        Sample::new("float32", &[count], &[count / 3], json).write(&path, &f32s(&values));
        (path, values, fill)
    })
}

/// Packs one of the arrays together with all of them, and returns the report.
fn pack_of_one_scale(
    folder: &Folder,
    one: usize,
    arrays: &[(std::path::PathBuf, Vec<f32>, f32)],
    more: &[&str],
) -> Value {
    let output = folder.path().join(format!("packed_{one}"));
    let mut command = vec!["pack", arrays[one].0.to_str().unwrap(), output.to_str().unwrap()];
    command.extend(["--json", "--overwrite", "--scale-from"]);
    // Whose it is, and in what order they are named, makes no difference.
    let turned = (0..arrays.len()).map(|number| (number + one) % arrays.len());
    command.extend(turned.map(|number| arrays[number].0.to_str().unwrap()));
    command.extend(more);
    serde_json::from_slice(&recast(&command).succeeds()).unwrap()
}

#[test]
fn arrays_of_one_scale_have_the_same_codecs_and_each_keeps_the_bound() {
    let folder = Folder::new();
    let arrays = three_of_a_kind(folder.path());
    for more in [
        &["-e", "0.01"][..],
        &["-e", "0.01", "--compressor", "none"],
        &["-e", "0.3"],
        &["-t", "uint16", "--auto"],
        &["-e", "0.02", "--src-max", "280"],
        &["-e", "0.02", "--src-min", "270"],
        &["--max-rel-error", "0.01"],
    ] {
        let mut all_codecs = Vec::new();
        for (one, (_, values, fill)) in arrays.iter().enumerate() {
            let report = pack_of_one_scale(&folder, one, &arrays, more);
            let output = folder.path().join(format!("packed_{one}"));
            all_codecs.push(metadata(&output)["codecs"].clone());
            assert_eq!(report["scale_from"]["arrays"].as_array().unwrap().len(), 3, "{report}");
            let is_limited = more.contains(&"--src-max") || more.contains(&"--src-min");
            let bound = more[1].parse::<f32>().unwrap_or(0.01);
            let decoded = read_f32(&output);
            for (index, (&x, &y)) in values.iter().zip(&decoded).enumerate() {
                let place = format!("{more:?} {one}: element {index}, {x}, {y}");
                if x.is_nan() || x == *fill {
                    assert!(x == y || x.is_nan() && y.is_nan(), "{place}");
                } else if more[0] == "--max-rel-error" {
                    assert!((x - y).abs() <= 0.01 * x, "{place}");
                } else if !is_limited {
                    assert!((x - y).abs() <= bound, "{place}");
                }
            }
        }
        assert!(
            all_codecs.iter().all(|codecs| codecs == &all_codecs[0]),
            "{more:?} {all_codecs:?}"
        );
    }
}

#[test]
fn input_is_among_the_arrays_of_one_scale_whether_it_is_named_or_not() {
    let folder = Folder::new();
    let arrays = three_of_a_kind(folder.path());
    let [a, b, c] = [0, 1, 2].map(|one| arrays[one].0.to_str().unwrap());
    let out = folder.path().join("out");
    let codecs = |flags: &[&str]| {
        let command = ["pack", a, out.to_str().unwrap(), "-e", "0.01", "--overwrite"];
        recast(&[&command[..], flags].concat()).succeeds();
        metadata(&out)["codecs"].clone()
    };
    let all = codecs(&["--scale-from", a, b, c]);
    assert_eq!(codecs(&["--scale-from", c, "--scale-from", b]), all);
    assert_ne!(codecs(&[]), all);
    let planned: Value = serde_json::from_slice(
        &recast(&["pack", b, "x", "-e", "0.01", "--dry-run", "--json", "--scale-from", a, c])
            .succeeds(),
    )
    .unwrap();
    assert_eq!(planned["codecs"], all);
}

#[test]
fn arrays_that_cannot_share_a_scale_are_refused() {
    let folder = folder_with(&kelvin(50), json!(0.0));
    let other = folder.path().join("other");
    let other = other.to_str().unwrap();
    Sample::new("float64", &[3], &[3], json!(0.0)).write(Path::new(other), &f64s(&[1.0, 2.0, 3.0]));
    let error = folder.refuses(&["-e", "0.1", "--scale-from", other]);
    assert!(error.contains("other is float64") && error.contains("in.zarr is float32"), "{error}");
    std::fs::write(folder.path().join("other/zarr.json"), "{").unwrap();
    let error = folder.refuses(&["-e", "0.1", "--scale-from", other]);
    assert!(error.contains("--scale-from") && error.contains("other"), "{error}");
    let error = folder.refuses(&["-e", "0.1", "--scale-from", "nowhere"]);
    assert!(error.contains("--scale-from") && error.contains("nowhere"), "{error}");
    // One array's range may be too wide for what suffices for the other.
    let wide = folder.path().join("wide");
    let wide = wide.to_str().unwrap();
    Sample::new("float32", &[2], &[2], json!(0.0)).write(Path::new(wide), &f32s(&[-1e6, 1e6]));
    folder.refuses(&["-e", "0.1", "-t", "uint16", "--scale-from", wide]);
    folder.pack(&["-e", "0.1", "-t", "uint16"]);
}

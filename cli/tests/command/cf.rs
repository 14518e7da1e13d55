//! `recast pack --from-cf` and `recast unpack --to-cf`: the same codes, and values that are CF's or
//! known to differ.

use std::path::{Path, PathBuf};

use crate::common::{Folder, Sample, contents, metadata, open, recast};
use serde_json::{Value, json};
use zarrs::array::ArrayBytes;

/// See [`a_few_codes_get_their_last_bit_from_the_map`].
const FACTOR: f32 = 3.265_089e-5;

/// Writes int16 codes with attributes.
fn int16(folder: &Folder, codes: &[i16], fill: i16, attributes: &Value) -> PathBuf {
    let path = folder.input();
    Sample::new("int16", &[codes.len() as u64], &[8.max(codes.len() as u64 / 4)], json!(fill))
        .with("attributes", attributes.clone())
        .write(&path, &codes.iter().flat_map(|code| code.to_ne_bytes()).collect::<Vec<u8>>());
    path
}

fn from_cf(input: &Path, output: &Path, more: &[&str]) -> Value {
    let paths = [input.to_str().unwrap(), output.to_str().unwrap()];
    let arguments = [&["pack", "--from-cf", "--json"], &paths[..], more].concat();
    serde_json::from_slice(&recast(&arguments).succeeds()).unwrap()
}

fn refuses(input: &Path, more: &[&str]) -> String {
    let folder = Folder::new();
    let output = folder.output();
    let paths = [input.to_str().unwrap(), output.to_str().unwrap()];
    let error = recast(&[&["pack"], &paths[..], more].concat()).fails(1);
    assert!(contents(folder.path()).is_empty());
    error
}

fn to_cf(input: &Path, output: &Path) -> String {
    let paths = [input.to_str().unwrap(), output.to_str().unwrap()];
    let table = recast(&[&["unpack", "--to-cf"], &paths[..]].concat()).succeeds();
    String::from_utf8(table).unwrap()
}

/// All elements, in native byte order.
fn bytes(path: &Path) -> Vec<u8> {
    let array = open(path);
    let bytes: ArrayBytes<'static> = array.retrieve_array_subset(&array.subset_all()).unwrap();
    bytes.into_fixed().unwrap().into_owned()
}

/// All elements of an array of float32 or float64.
fn values(path: &Path) -> Vec<f64> {
    let bytes = bytes(path);
    if metadata(path)["data_type"] == "float32" {
        bytes.as_chunks().0.iter().map(|&bytes| f64::from(f32::from_ne_bytes(bytes))).collect()
    } else {
        bytes.as_chunks().0.iter().map(|&bytes| f64::from_ne_bytes(bytes)).collect()
    }
}

fn int16s(path: &Path) -> Vec<i16> {
    bytes(path).as_chunks().0.iter().map(|&bytes| i16::from_ne_bytes(bytes)).collect()
}

/// Files but the metadata.
fn chunks(path: &Path) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
    let mut files = contents(path);
    files.remove(Path::new("zarr.json"));
    files
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cf").join(name)
}

#[test]
fn real_arrays_decode_to_what_xarray_gives_bit_for_bit_and_come_back() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/data");
    for (name, expected, missing) in [
        ("sst", examples.join("oisst_sst.zarr"), 4448),
        // One code lies below the missing value, so no range tells which are missing.
        ("anom", data("anom_xarray.zarr"), 4448),
        ("reflectivity", data("reflectivity_xarray.zarr"), 0),
    ] {
        let folder = Folder::new();
        let input = data(&format!("{name}_packed.zarr"));
        let report = from_cf(&input, &folder.output(), &[]);
        assert_eq!(report["bit_identical"], true, "{name}");
        assert_eq!(report["codes"]["compared"], 65_536, "{name}");
        assert_eq!(report["missing"], missing, "{name}");
        let output = folder.output();
        assert_eq!(metadata(&output)["data_type"], "float32");
        let (found, expected) = (values(&output), values(&expected));
        assert_eq!(found.len(), expected.len());
        for (index, (x, y)) in found.iter().zip(&expected).enumerate() {
            assert!(
                x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(),
                "{name} {index}: {x} {y}"
            );
        }
        assert_eq!(chunks(&output), chunks(&input), "{name}");

        let back = folder.path().join("back.zarr");
        let table = to_cf(&output, &back);
        assert!(table.contains("bit-identical"), "{table}");
        assert_eq!(chunks(&back), chunks(&input), "{name}");
        let (back, input) = (metadata(&back), metadata(&input));
        for member in ["attributes", "data_type", "fill_value"] {
            assert_eq!(back[member], input[member], "{name}");
        }
    }
}

#[test]
fn pitfall_1_a_scale_factor_is_inverted_and_what_differs_is_said_truly() {
    let folder = Folder::new();
    let codes: Vec<i16> = (-600..600).collect();
    let attributes = json!({"scale_factor": 0.01, "add_offset": 0.5});
    let input = int16(&folder, &codes, 0, &attributes);
    let report = from_cf(&input, &folder.output(), &["--decoded-type", "float64"]);
    assert_eq!(report["data_type"], "float64");
    let document = metadata(&folder.output());
    let affine = &document["codecs"][0]["configuration"];
    let (scale, offset) = (affine["scale"].as_f64().unwrap(), affine["offset"].as_f64().unwrap());
    assert!((scale - 100.0).abs() < 1e-9 && offset == 0.5, "{affine}");

    // Counted here by the two formulas themselves.
    let pairs = |code: i16| {
        let code = f64::from(code);
        (code * 0.01 + 0.5, code / scale + offset)
    };
    let count = |codes: &mut dyn Iterator<Item = i16>| {
        let (mut differing, mut ulps, mut largest) = (0_u64, 0, 0.0_f64);
        for (cf, ours) in codes.map(pairs) {
            let (x, y) = (cf.to_bits() as i64, ours.to_bits() as i64);
            let distance = if (x < 0) == (y < 0) { x.abs_diff(y) } else { u64::MAX };
            differing += u64::from(x != y);
            ulps = ulps.max(distance);
            largest = largest.max((cf - ours).abs());
        }
        json!({"differing": differing, "max_ulps": ulps, "max_difference": largest})
    };
    for (place, expected) in [
        ("codes", count(&mut (i16::MIN..=i16::MAX))),
        ("elements", count(&mut codes.iter().copied())),
    ] {
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(report[place][name], *value, "{place} {name}");
        }
        assert!(report[place]["differing"].as_u64().unwrap() > 0);
    }
    assert_eq!(report["bit_identical"], false);
    // 3 · 0.1 is 0.30000000000000004, and 3 / 10 is 0.3.
    let found = values(&folder.output());
    assert!(codes.iter().zip(&found).all(|(&code, &value)| value == pairs(code).1));
}

#[test]
fn the_type_is_the_one_that_is_cf_to_the_last_bit_and_the_cost_of_the_other_is_told() {
    let folder = Folder::new();
    let codes: Vec<i16> = (-600..600).collect();
    // No float32 number is 0.01, so xarray would take float64, where a third of the codes differ.
    let input = int16(&folder, &codes, 0, &json!({"scale_factor": 0.01, "add_offset": 0.5}));
    let report = from_cf(&input, &folder.output(), &[]);
    assert_eq!([&report["data_type"], &report["bit_identical"]], [&json!("float32"), &json!(true)]);
    assert_eq!(report["decoded_bytes"], 4800);
    for (&code, value) in codes.iter().zip(values(&folder.output())) {
        assert_eq!(value, f64::from(f32::from(code) * 0.01_f32 + 0.5), "{code}");
    }
    let other = &report["alternative"];
    assert_eq!([&other["data_type"], &other["decoded_bytes"]], [&json!("float64"), &json!(9600)]);
    // The differences are those that the report has if that type is asked for.
    let wide = folder.path().join("wide.zarr");
    let asked = from_cf(&input, &wide, &["--decoded-type", "float64"]);
    assert_eq!(other["codes"], asked["codes"]);
    assert!(other["codes"]["differing"].as_u64().unwrap() > 0, "{other}");
    assert_eq!(asked["alternative"]["data_type"], "float32");
    let distance = |code: i16| {
        let wide = f64::from(code) * 0.01 + 0.5;
        (wide - f64::from(f32::from(code) * 0.01_f32 + 0.5)).abs()
    };
    let largest = (i16::MIN..=i16::MAX).map(distance).fold(0.0, f64::max);
    for report in [&report, &asked] {
        assert_eq!(report["alternative"]["largest_distance"], largest);
    }
    let paths = [input.to_str().unwrap(), wide.to_str().unwrap()];
    let table = recast(&[&["pack", "--from-cf", "--overwrite"], &paths[..]].concat()).succeeds();
    let table = String::from_utf8(table).unwrap();
    let instead = table.lines().find(|line| line.starts_with("instead")).unwrap();
    for part in
        ["float64: ", " of 65 536 codes of int16 differ", "9.4 KiB decoded rather than 4.7 KiB"]
    {
        assert!(instead.contains(part), "{part}: {instead}");
    }
    assert!(table.lines().count() <= 10, "{table}");
}

#[test]
fn a_few_codes_get_their_last_bit_from_the_map() {
    // With this factor no scale does it for all codes: some products lie in the middle between two
    // float32 numbers, and want to be rounded to different sides.
    let factor = f64::from(FACTOR);
    let folder = Folder::new();
    let codes: Vec<i16> = (i16::MIN..=i16::MAX).collect();
    let attributes = json!({"scale_factor": factor, "add_offset": 0.5});
    let input = int16(&folder, &codes, 0, &attributes);
    let report = from_cf(&input, &folder.output(), &[]);
    assert_eq!((&report["bit_identical"], &report["data_type"]), (&json!(true), &json!("float32")));
    let patched = report["patched_codes"].as_u64().unwrap();
    assert!((1..=256).contains(&patched), "{patched}");
    assert_eq!(report["codes_not_encoded_back"], 0);
    for (code, value) in codes.into_iter().zip(values(&folder.output())) {
        assert_eq!(value, f64::from(f32::from(code) * FACTOR + 0.5), "{code}");
    }
}

#[test]
fn pitfall_8_what_would_be_applied_twice_is_gone() {
    let folder = Folder::new();
    let attributes = json!({
        "scale_factor": -0.5, "add_offset": 10, "_FillValue": -1, "missing_value": [-2, -3],
        "valid_range": [-100, 200], "valid_min": -100, "units": "K", "recast": {"version": "0"},
    });
    let codes = [0, 1, -1, -2, -3, 30_000, -4, -100];
    let input = int16(&folder, &codes, -2, &attributes);
    let report = from_cf(&input, &folder.output(), &["--no-provenance"]);
    let expected = json!({"units": "K", "valid_range": [-90.0, 60.0], "valid_max": 60.0});
    assert_eq!(metadata(&folder.output())["attributes"], expected);
    assert_eq!((&report["missing"], &report["bit_identical"]), (&json!(3), &json!(true)));
    let found = values(&folder.output());
    assert!(found[2..5].iter().all(|value| value.is_nan()));
    assert_eq!(
        [found[0], found[1], found[5], found[6], found[7]],
        [10.0, 9.5, -14_990.0, 12.0, 60.0]
    );
}

#[test]
fn pitfall_7_chunks_that_are_not_stored_are_what_cf_makes_of_them() {
    for (fill, expected) in [(-999_i16, None), (50, Some(0.01_f32 * 50.0 + 2.5))] {
        let folder = Folder::new();
        let input = folder.input();
        let factor = f64::from(0.01_f32);
        let attributes = json!({"scale_factor": factor, "add_offset": 2.5, "_FillValue": -999});
        let array = Sample::new("int16", &[20], &[8], json!(fill))
            .with("attributes", attributes)
            .create(&input);
        // The last chunk is stored, and padded with the fill value beyond the array.
        array.store_chunk(&[2], [-999_i16, 1, 2, fill, 0, 0, 0, 0].to_vec()).unwrap();
        from_cf(&input, &folder.output(), &[]);
        assert_eq!(chunks(&folder.output()).len(), 1);
        let found = values(&folder.output());
        for value in &found[..16] {
            match expected {
                Some(expected) => assert_eq!(*value, f64::from(expected)),
                None => assert!(value.is_nan()),
            }
        }
        assert!(found[16].is_nan());
        assert_eq!(found[17], f64::from(0.01_f32 + 2.5));
        // Missing chunks stay so on the way back, and are the same code.
        let back = folder.path().join("back.zarr");
        to_cf(&folder.output(), &back);
        assert_eq!(metadata(&back)["fill_value"], fill);
        assert_eq!(int16s(&back), int16s(&input));
    }
}

#[test]
fn unsigned_takes_the_codes_for_what_they_are() {
    let folder = Folder::new();
    let attributes = json!({
        "scale_factor": 0.5, "_Unsigned": "true", "_FillValue": -1, "valid_range": [0, -2],
    });
    let input = int16(&folder, &[0, 1, -1, -2, i16::MIN], -1, &attributes);
    let report = from_cf(&input, &folder.output(), &[]);
    assert_eq!(report["stored_data_type"], "uint16");
    let found = values(&folder.output());
    assert!(found[2].is_nan());
    assert_eq!([found[0], found[1], found[3], found[4]], [0.0, 0.5, 32_767.0, 16_384.0]);
    let attributes = &metadata(&folder.output())["attributes"];
    assert_eq!(attributes["valid_range"], json!([0.0, 32_767.0]));
    let back = folder.path().join("back.zarr");
    to_cf(&folder.output(), &back);
    assert_eq!(metadata(&back)["attributes"], metadata(&input)["attributes"]);
    assert_eq!(int16s(&back), int16s(&input));
}

#[test]
fn integers_of_32_bits_are_compared_over_the_range_that_is_there() {
    let folder = Folder::new();
    let input = folder.input();
    let codes = [-70_000_i32, 5, 80_000, 0];
    Sample::new("int32", &[4], &[4], json!(0))
        .with("attributes", json!({"scale_factor": 0.25, "add_offset": 1.0}))
        .write(&input, &codes.iter().flat_map(|code| code.to_ne_bytes()).collect::<Vec<u8>>());
    let report = from_cf(&input, &folder.output(), &[]);
    assert_eq!(report["data_type"], "float64");
    assert_eq!(report["codes"]["which"], "codes of int32 from -70000 to 80000");
    assert_eq!(report["codes"]["compared"], 150_001);
    // float32 does not tell such codes apart.
    assert_eq!(report["alternative"], Value::Null);
    assert_eq!(report["bit_identical"], true);
    assert_eq!(values(&folder.output()), [-17_499.0, 2.25, 20_001.0, 1.0]);
}

#[test]
fn zero_keeps_the_sign_that_cf_gives_it() {
    for (attributes, negative) in [
        (json!({"scale_factor": -0.5}), true),
        (json!({"scale_factor": -0.5, "add_offset": 0}), false),
        (json!({"scale_factor": 0.5}), false),
    ] {
        let folder = Folder::new();
        let input = int16(&folder, &[0, 2], 2, &attributes);
        assert_eq!(from_cf(&input, &folder.output(), &[])["bit_identical"], true, "{attributes}");
        assert_eq!(values(&folder.output())[0].is_sign_negative(), negative, "{attributes}");
    }
}

#[test]
fn the_fill_value_of_zarr_v2_is_a_missing_value() {
    let folder = Folder::new();
    let input = folder.input();
    std::fs::create_dir_all(&input).unwrap();
    let document = json!({
        "zarr_format": 2, "shape": [3, 1], "chunks": [3, 1], "dtype": ">i2", "fill_value": -5,
        "order": "C", "compressor": null, "filters": null,
    });
    std::fs::write(input.join(".zarray"), document.to_string()).unwrap();
    let attributes = json!({"scale_factor": 0.5, "_ARRAY_DIMENSIONS": ["time", "x"], "units": "m"});
    std::fs::write(input.join(".zattrs"), attributes.to_string()).unwrap();
    let codes = [1_i16, -5, -300];
    let stored: Vec<u8> = codes.iter().flat_map(|code| code.to_be_bytes()).collect();
    std::fs::write(input.join("0.0"), &stored).unwrap();
    let report = from_cf(&input, &folder.output(), &[]);
    assert_eq!(report["missing"], 1);
    let found = values(&folder.output());
    assert!(found[1].is_nan());
    assert_eq!([found[0], found[2]], [0.5, -150.0]);
    let output = folder.output();
    let document = metadata(&output);
    assert_eq!(document["dimension_names"], json!(["time", "x"]));
    assert!(document["attributes"].get("_ARRAY_DIMENSIONS").is_none());
    assert_eq!(std::fs::read(output.join("c/0/0")).unwrap(), stored);
    // In Zarr v3 a reader needs to be told.
    let back = folder.path().join("back.zarr");
    to_cf(&output, &back);
    let expected = json!({"scale_factor": 0.5, "units": "m", "_FillValue": -5});
    assert_eq!(metadata(&back)["attributes"], expected);
}

#[test]
fn what_pack_wrote_becomes_cf_with_its_differences() {
    let folder = Folder::new();
    let input = folder.input();
    let values: Vec<f32> =
        (0..500).map(|i| if i == 3 { f32::NAN } else { i as f32 / 8.0 }).collect();
    Sample::new("float32", &[500], &[100], json!("NaN"))
        .write(&input, &values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>());
    let (packed, back) = (folder.path().join("packed.zarr"), folder.path().join("back.zarr"));
    let paths = [input.to_str().unwrap(), packed.to_str().unwrap()];
    recast(&[&["pack", "-e", "0.01"], &paths[..]].concat()).succeeds();
    let table = to_cf(&packed, &back);
    assert!(table.contains("bit-identical"), "{table}");
    let attributes = &metadata(&back)["attributes"];
    let number = |name: &str| attributes[name].as_f64().unwrap();
    let missing = number("_FillValue");
    let array = open(&back);
    let codes: ArrayBytes<'static> = array.retrieve_array_subset(&array.subset_all()).unwrap();
    let codes = codes.into_fixed().unwrap().into_owned();
    let size = array.data_type().fixed_size().unwrap();
    for (code, value) in codes.chunks_exact(size).zip(values) {
        // The type is a signed one.
        let bits = code.iter().rev().fold(0_i64, |sum, &byte| sum << 8 | i64::from(byte));
        let unused = 64 - 8 * size as u32;
        let code = (bits << unused >> unused) as f64;
        if code == missing {
            assert!(value.is_nan());
        } else {
            let cf = code * number("scale_factor") + number("add_offset");
            assert!((cf - f64::from(value)).abs() <= 0.01, "{code}: {cf} {value}");
        }
    }
}

#[test]
fn what_is_not_packed_as_cf_does_it_is_refused_with_the_reason() {
    let folder = Folder::new();
    let float = folder.path().join("float.zarr");
    Sample::new("float32", &[2], &[2], json!(0)).write(&float, &[0; 8]);
    assert!(
        refuses(&float, &["--from-cf"]).contains("the elements are float32; CF packs integers")
    );
    for (attributes, expected) in [
        (json!({}), "none of the attributes scale_factor,"),
        (
            json!({"scale_factor": "0.01"}),
            r#"attribute scale_factor is "0.01"; it must be a finite"#,
        ),
        (json!({"scale_factor": [1, 2]}), "attribute scale_factor is [1,2]; it must be one number"),
        (json!({"scale_factor": 0}), "scale_factor is 0.0, which makes all values equal"),
        (json!({"_FillValue": 40_000}), "_FillValue is 40000, which is not a value of int16"),
        (json!({"_FillValue": "NaN"}), r#"_FillValue is "NaN", which is not a value of int16"#),
        (json!({"_Unsigned": 1}), "attribute _Unsigned is 1; it must be"),
    ] {
        let input = int16(&folder, &[1, 2], 0, &attributes);
        let error = refuses(&input, &["--from-cf"]);
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("in.zarr"), "{error}");
    }
    let input = int16(&folder, &[1, 2], 0, &json!({"scale_factor": 2}));
    let output = folder.output();
    let paths = [input.to_str().unwrap(), output.to_str().unwrap()];
    recast(&[&["pack", "--from-cf", "--scale", "2"], &paths[..]].concat()).fails(2);
    recast(&[&["pack", "-e", "1", "--decoded-type", "float32"], &paths[..]].concat()).fails(2);
    let error = recast(&[&["unpack", "--to-cf"], &paths[..]].concat()).fails(1);
    assert!(error.contains("no cast_value or scale_offset among the codecs"), "{error}");
}

#[test]
fn a_dry_run_of_cf_writes_nothing_and_says_what_would_be() {
    let folder = Folder::new();
    let attributes = json!({"scale_factor": 0.01, "add_offset": 20.0, "_FillValue": -1});
    int16(&folder, &[0, 1, -1, 300, i16::MIN], -1, &attributes);
    let before = contents(folder.path());
    let mut planned = folder.pack(&["--from-cf", "--dry-run"]);
    assert_eq!(contents(folder.path()), before);
    let mut report = folder.pack(&["--from-cf"]);
    assert_eq!(planned["codecs"], metadata(&folder.output())["codecs"]);
    assert_eq!([&planned["dry_run"], &report["dry_run"]], [true, false]);
    assert_eq!([&planned["chunks"], &planned["bytes"]], [&Value::Null; 2]);
    for document in [&mut planned, &mut report] {
        let object = document.as_object_mut().unwrap();
        object.retain(|member, _| !["dry_run", "chunks", "bytes"].contains(&member.as_str()));
    }
    assert_eq!(planned, report);
    let paths = [folder.input(), folder.path().join("other")];
    let paths = paths.each_ref().map(|path| path.to_str().unwrap());
    let text = recast(&[&["pack", "--from-cf", "--dry-run"], &paths[..]].concat()).succeeds();
    let text = String::from_utf8(text).unwrap();
    let (table, codecs) = text.split_once("\n\"codecs\": ").unwrap();
    assert!(table.contains("nothing written"), "{table}");
    assert_eq!(serde_json::from_str::<Value>(codecs).unwrap(), planned["codecs"]);
}

#[test]
fn a_page_shows_how_far_the_decoding_is_from_cf() {
    let folder = Folder::new();
    let attributes = json!({"scale_factor": 0.01, "_FillValue": -1});
    int16(&folder, &(-1..1000).collect::<Vec<i16>>(), -1, &attributes);
    let page = folder.path().join("page.html");
    folder.pack(&["--from-cf", "--decoded-type", "float64", "--report", page.to_str().unwrap()]);
    let text = std::fs::read_to_string(&page).unwrap();
    for part in ["in.zarr packed as", "Values", "Stored values", "decoded − original", "ULP"] {
        assert!(text.contains(part), "{part}");
    }
    assert_eq!(text.matches("<svg").count(), 6);
    // One that is there stays.
    let again = ["--from-cf", "--report", page.to_str().unwrap()];
    std::fs::remove_dir_all(folder.output()).unwrap();
    let error = folder.refuses(&again);
    assert!(error.contains("--report") && error.contains("--overwrite"), "{error}");
    assert_eq!(std::fs::read_to_string(&page).unwrap(), text);
}

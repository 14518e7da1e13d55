//! `recast cat`, `info`, `unpack` and `migrate`: what they print.

use std::path::Path;

use crate::common::{
    Sample, Trial, bytes, codec_names, contents, create_group, kelvin, little_endian, metadata,
    path, recast, repository,
};
use serde_json::json;

#[test]
fn cat_streams_what_does_not_fit_at_once() {
    // 300 MB in one row of chunks: more than cat holds at once; nothing of it is stored.
    let trial = Trial::empty();
    let sample = Sample::new("uint8", &[3, 10_000, 10_000], &[3, 4_000, 4_000], json!(7));
    sample.create(&trial.input());
    let input = path(&trial.input());
    let output = recast(&["cat", &input]).succeeds();
    assert_eq!(output.len(), 300_000_000);
    assert!(output.iter().all(|&byte| byte == 7));
    let run = recast(&["cat", &input]).reading(1000);
    assert!(run.status.success() && run.stderr.is_empty(), "{}", run.stderr);
}

#[test]
fn cat_writes_npy_files_and_elements_on_threads() {
    let values = kelvin(60);
    let trial = Trial::new(&values, 7, json!({}));
    let input = path(&trial.input());
    let elements = recast(&["cat", &input, "--threads", "3"]).succeeds();
    assert_eq!(elements, values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
    let file = recast(&["cat", "--npy", &input]).succeeds();
    assert!(file.starts_with(b"\x93NUMPY") && file.ends_with(&elements));
}

#[test]
fn info_explains_every_step() {
    let codecs = json!([
        {"name": "scale_offset", "configuration": {"offset": -10, "scale": 4}},
        {"name": "transpose", "configuration": {"order": [1, 0]}},
        {"name": "cast_value", "configuration": {"data_type": "uint8",
            "scalar_map": {"encode": [["NaN", 255]], "decode": [[255, "NaN"]]}}},
        {"name": "bytes"},
        {"name": "gzip", "configuration": {"level": 5}},
    ]);
    let trial = Trial::empty();
    let sample = Sample::new("float32", &[4, 6], &[2, 3], json!("NaN"));
    sample.with("codecs", codecs).create(&trial.input());
    let input = path(&trial.input());
    let json = recast(&["info", &input, "--json"]).reports();
    assert_eq!([&json["encoded_data_type"], &json["precision"]], [&json!("uint8"), &json!(0.25)]);
    assert_eq!(json["range"], json!([-10.0, 53.5]));
    assert_eq!(json["codecs"][2]["fill_value"], 255);
    let table = recast(&["info", &input]).prints();
    for line in ["scale_offset", "-> uint8, fill value 255", "precision", "-10.0 to 53.5", "gzip"] {
        assert!(table.contains(line), "{table}");
    }
    Sample::new("int16", &[0, 4], &[1, 4], json!(3)).create(&trial.input());
    let table = recast(&["info", &input]).prints();
    assert!(table.contains("[0, 4]") && table.contains("none"), "{table}");
}

#[test]
fn info_names_dimensions_and_units_and_attributes_on_request() {
    let group = Trial::empty();
    create_group(&group.input());
    let attributes = json!({"units": "K", "long_name": "temperature"});
    let array = Sample::new("float32", &[2, 3], &[2, 3], json!(0)).with("attributes", attributes);
    array.with("dimension_names", json!(["lat", null])).create(&group.input().join("t2m"));
    let (store, array) = (path(&group.input()), path(&group.input().join("t2m")));
    let table = recast(&["info", &array]).prints();
    for line in ["[2, 3] (lat, _)\n", "float32 in \"K\", fill value 0"] {
        assert!(table.contains(line), "{table}");
    }
    let listed = recast(&["info", &store]).prints();
    assert!(listed.contains("float32 [2, 3] (lat, _) in \"K\""), "{listed}");
    for (place, short) in [(&array, &table), (&store, &listed)] {
        assert!(!short.contains("long_name"), "{short}");
        let whole = recast(&["info", "-v", place]).prints();
        assert!(whole.contains("long_name: \"temperature\""), "{whole}");
    }
    let json = recast(&["info", "--json", &array]).reports();
    assert_eq!(json["dimension_names"], json!(["lat", null]));
    assert_eq!([&json["units"], &json["attributes"]["units"]], ["K", "K"]);
}

#[test]
fn info_warns_of_a_fill_value_that_does_not_survive() {
    let codecs =
        json!([{"name": "cast_value", "configuration": {"data_type": "int32"}}, little_endian()]);
    let trial = Trial::empty();
    let sample = Sample::new("float32", &[4], &[2], json!(0.5));
    sample.with("codecs", codecs).create_metadata(&trial.input());
    let input = path(&trial.input());
    let table = recast(&["info", &input]).prints();
    let mut lines = table.lines();
    assert!(lines.any(|line| line.starts_with("warning") && line.contains("0.5")), "{table}");
    let error = recast(&["cat", &input]).fails(1);
    assert!(error.contains("fill_value") && error.contains("--accept-fill-value"), "{error}");
    let output = recast(&["cat", &input, "--accept-fill-value"]).succeeds();
    assert_eq!(output, [0.5_f32; 4].map(f32::to_le_bytes).concat());
}

#[test]
fn unpack_reports_what_it_did() {
    let sample = Sample::new("float32", &[60, 50], &[20, 50], json!("NaN"));
    let trial = Trial::of(&sample, &bytes(&kelvin(3000)));
    trial.packs(&["-e", "0.01"]);
    let [output, plain] = [trial.output(), trial.place("plain.zarr")].map(|place| path(&place));
    let report = recast(&["unpack", &output, &plain]).prints();
    for part in ["unpacked", "plain.zarr", "float32", "[60, 50]", "stored"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let error = recast(&["unpack", &output, &plain]).fails(1);
    assert!(error.contains("--overwrite"), "{error}");
    let report = recast(&["unpack", &output, &plain, "--overwrite", "--json"]).reports();
    assert_eq!([&report["input"], &report["output"]], [&json!(output), &json!(plain)]);
    assert_eq!([&report["data_type"], &report["shape"]], [&json!("float32"), &json!([60, 50])]);
    let chunks = contents(Path::new(&plain)).into_iter().filter(|(path, _)| path.starts_with("c"));
    let stored: usize = chunks.map(|(_, bytes)| bytes.len()).sum();
    assert_eq!(report["stored"], stored);
    let bare = ["unpack", &output, &plain, "--overwrite", "--quiet", "--compressor", "none"];
    assert!(recast(&bare).succeeds().is_empty());
    assert_eq!(codec_names(&metadata(Path::new(&plain))["codecs"]), ["bytes"]);
    let cf = recast(&["unpack", "--to-cf", &output, &plain, "--overwrite", "--json"]).reports();
    assert_eq!(cf["data_type"], "float32");
    assert!(cf["attributes"]["scale_factor"].is_number(), "{cf}");
}

#[test]
fn migrate_reports_what_it_did() {
    let trial = Trial::empty();
    let golden = repository().join("zarrs/tests/goldens/v2_fso_f8_u1_gzip/array.zarr");
    let [input, output] = [golden, trial.output()].map(|place| path(&place));
    let report = recast(&["migrate", "--json", "--copy", &input, &output]).reports();
    for member in ["metadata_only", "bit_identical"] {
        assert_eq!(report[member], true, "{report}");
    }
    assert_eq!(report["elements"]["differing"], 0);
    let error = recast(&["migrate", "--in-place", &output]).fails(1);
    assert!(error.contains("there is nothing to migrate"), "{error}");
    let arguments =
        ["migrate", &input, &output, "--reencode", "--compressor", "gzip", "--overwrite"];
    let text = recast(&arguments).prints();
    assert!(text.contains("encoded again, because --reencode asks for it"), "{text}");
    assert_eq!(codec_names(&metadata(&trial.output())["codecs"]).last(), Some(&"gzip"));
    // A group of Zarr v2, and an array in place.
    crate::common::copy(Path::new(&input), &trial.place("group/one"));
    std::fs::write(trial.place("group/.zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    let text =
        recast(&["migrate", &path(&trial.place("group")), &path(&trial.place("new"))]).prints();
    assert!(text.contains("1 migrated"), "{text}");
    // In the group it would be hidden.
    let array = path(&trial.place("group/one"));
    let error = recast(&["migrate", "--in-place", &array]).fails(1);
    assert!(error.contains("migrate that group as a whole"), "{error}");
    std::fs::remove_file(trial.place("group/.zgroup")).unwrap();
    assert_eq!(
        recast(&["migrate", "--in-place", "--json", &array]).reports()["metadata_only"],
        true
    );
    assert!(trial.place("group/one/.zarray.bak").is_file());
    // What try nothing ask for a name.
    for command in [&["unpack"][..], &["migrate", "--reencode"]] {
        for compressor in ["auto", "smallest"] {
            let flags = [input.as_str(), "x.zarr", "--compressor", compressor];
            let error = recast(&[command, &flags].concat()).fails(2);
            let expected = format!("--compressor {compressor} is for recast pack");
            assert!(error.contains(&expected), "{error}");
        }
    }
}

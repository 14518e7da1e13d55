//! Migrating arrays and groups: the same bytes under new metadata, and the same values.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{
    codec_names, contents, copy, create_v2, done, f32s, kept, metadata, one_thread, repository,
    told,
};
use recast_pack::{
    ArrayMigration, ArrayOutcome, CatFormat, GroupReport, MigrateJob, PathReport, Runtime, cat,
};
use serde_json::{Value, json};

fn goldens() -> PathBuf {
    repository().join("zarrs/tests/goldens")
}

/// The decoded elements.
fn values(path: &Path) -> Vec<u8> {
    let runtime = Runtime { accept_fill_value: true, ..one_thread() };
    let mut values = Vec::new();
    cat(path, CatFormat::Raw, &runtime, &mut values).unwrap();
    values
}

/// The job from one place to another, or in place.
fn job(input: &Path, output: Option<&Path>) -> MigrateJob {
    MigrateJob::new(input, output.map(Path::to_owned))
}

fn run(job: &MigrateJob) -> Result<PathReport<ArrayMigration>, String> {
    told(job.run(&one_thread()))
}

fn array(job: &MigrateJob) -> ArrayMigration {
    run(job).unwrap().array().unwrap()
}

fn migrated(job: &MigrateJob) -> GroupReport<ArrayMigration> {
    run(job).unwrap().group().unwrap()
}

fn refuses(job: &MigrateJob) -> String {
    run(job).map(|_| ()).unwrap_err()
}

/// Migrates in place what must stay as it is.
fn stays(place: &Path) -> String {
    let before = contents(place);
    let error = refuses(&job(place, None));
    assert_eq!(contents(place), before, "{error}");
    error
}

/// The bytes of all chunks, whatever their names.
fn chunks(path: &Path) -> Vec<Vec<u8>> {
    let files = contents(path).into_iter();
    let is_metadata = |name: &Path| {
        let name = name.file_name().unwrap().to_str().unwrap();
        ["zarr.json", ".zarray", ".zattrs", "meta", "attrs"]
            .contains(&name.trim_end_matches(".bak"))
    };
    let mut chunks: Vec<Vec<u8>> =
        files.filter(|(name, _)| !is_metadata(name)).map(|(_, bytes)| bytes).collect();
    chunks.sort();
    chunks
}

/// A Zarr v2 array of 6 elements in chunks of 4.
fn v2(folder: &Path, dtype: &str, fill: &Value, filters: &Value, chunks: [Option<Vec<u8>>; 2]) {
    let members = json!({"shape": [6], "chunks": [4], "dtype": dtype, "fill_value": fill,
        "filters": filters});
    create_v2(folder, members);
    fs::write(folder.join(".zattrs"), r#"{"units": "K", "_ARRAY_DIMENSIONS": ["time"]}"#).unwrap();
    for (key, bytes) in chunks.into_iter().enumerate() {
        if let Some(bytes) = bytes {
            fs::write(folder.join(key.to_string()), bytes).unwrap();
        }
    }
}

/// The filter of Zarr v2 that stores float32 as int16.
fn scaled(scale: u8, offset: f64) -> Value {
    json!([{"id": "fixedscaleoffset", "scale": scale, "offset": offset, "dtype": "<f4", "astype": "<i2"}])
}

fn int16s(codes: [i16; 4]) -> Vec<u8> {
    codes.iter().flat_map(|code| code.to_le_bytes()).collect()
}

#[test]
fn arrays_of_zarr_python_keep_their_chunks_and_their_values() {
    for name in [
        "v2_fso_f4be_i2_blosc",
        "v2_fso_f8_u1_gzip",
        "v2_fso_i4_i2_order_f",
        "v2_blosc_no_filter",
        "fso_v3_f32_i2_big",
        "fso_v3_f64_u8",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let input = goldens().join(name).join("array.zarr");
        let output = folder.path().join("out.zarr");
        let report = array(&job(&input, Some(&output)));
        assert!(report.metadata_only && report.bit_identical, "{name}: {report:?}");
        assert_eq!(chunks(&output), chunks(&input), "{name}");
        assert_eq!(values(&output), values(&input), "{name}");
        let document = metadata(&output);
        assert_eq!(document["zarr_format"], 3);
        assert!(!document.to_string().contains("numcodecs"), "{name}: {document}");
        // Bare names are right, but zarr-python does not read them.
        assert!(document["codecs"].as_array().unwrap().iter().all(Value::is_object));

        let other = folder.path().join("encoded.zarr");
        let report = array(&MigrateJob { reencode: true, ..job(&input, Some(&other)) });
        assert!(!report.metadata_only, "{name}");
        assert_eq!(values(&other), values(&input), "{name}");
        assert_eq!(codec_names(&metadata(&other)["codecs"]).last(), Some(&"zstd"), "{name}");
    }
}

#[test]
fn integers_are_decoded_through_float64_where_that_makes_a_difference() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    let codes = [Some(int16s([-48, 1, 2, 3])), Some(int16s([i16::MAX, i16::MIN, 0, 0]))];
    v2(&input, "<f4", &json!(0), &scaled(100, 273.15), codes.clone());
    let report = array(&job(&input, Some(&output)));
    assert!(report.bit_identical);
    let found = values(&output);
    // 272.67001, where float32 arithmetic gives 0x438855c2.
    assert_eq!(found[..4], 0x4388_55c3_u32.to_le_bytes());
    assert_eq!(found, values(&input));
    let document = metadata(&output);
    assert_eq!(
        codec_names(&document["codecs"]),
        ["cast_value", "scale_offset", "cast_value", "bytes"]
    );
    assert_eq!(document["dimension_names"], json!(["time"]));
    // xarray masks the fill value of Zarr v2, 0 here, and that of Zarr v3 by the attribute only.
    assert_eq!(document["attributes"], json!({"units": "K", "_FillValue": "AAAAAAAAAAA="}));

    // Powers of two are exact in float32.
    let (input, output) = (folder.path().join("in2"), folder.path().join("out2"));
    let filter = scaled(64, 0.0);
    v2(&input, "<f4", &json!(0), &filter, codes);
    array(&job(&input, Some(&output)));
    assert_eq!(codec_names(&metadata(&output)["codecs"]), ["scale_offset", "cast_value", "bytes"]);
    assert_eq!(values(&output), values(&input));
}

#[test]
fn a_fill_value_that_the_codecs_lose_gets_a_code_that_no_element_has() {
    let filter = scaled(10, 0.0);
    for fill in [json!("NaN"), json!(1e20), json!(0.25)] {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("in"), folder.path().join("out"));
        v2(&input, "<f4", &fill, &filter, [Some(int16s([i16::MIN, 1, 2, 3])), None]);
        let report = array(&job(&input, Some(&output)));
        assert!(report.metadata_only && report.bit_identical, "{report:?}");
        assert_eq!(values(&output), values(&input));
        let map = &report.codecs.last().unwrap()["configuration"]["scalar_map"];
        // The lowest code is taken.
        assert_eq!(map["decode"][0][0], i16::MAX, "{fill}: {map}");
    }
}

#[test]
fn astype_becomes_one_cast_as_numpy_does_it() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    let filter = json!([{"id": "astype", "encode_dtype": "<i2", "decode_dtype": "<f8"}]);
    v2(&input, "<f8", &json!(7), &filter, [Some(int16s([-5, 1, 2, 3])), None]);
    let report = array(&job(&input, Some(&output)));
    assert!(report.bit_identical);
    assert_eq!(values(&output), values(&input));
    let expected = json!([{"name": "cast_value", "configuration": {
        "data_type": "int16", "rounding": "towards-zero", "out_of_range": "wrap"}}]);
    assert_eq!(json!(report.codecs), expected);
}

#[test]
fn unknown_compressors_are_refused_with_the_reason_and_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    let members = json!({"shape": [6], "chunks": [4], "dtype": "<i2", "fill_value": 0,
        "compressor": {"id": "lz4", "acceleration": 1}});
    create_v2(&input, members);
    let error = refuses(&job(&input, Some(&output)));
    let parts = ["numcodecs.lz4", "another compressor", "zarr-python"];
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
}

/// A filter of Zarr v2 between two data types.
fn filter(offset: i64, scale: i64, dtype: &str, astype: &str) -> Value {
    json!([{"id": "fixedscaleoffset", "offset": offset, "scale": scale, "dtype": dtype, "astype": astype}])
}

#[test]
fn stored_types_with_values_out_of_range_for_the_array_are_migrated() {
    let as_type = json!([{"id": "astype", "encode_dtype": "<i4", "decode_dtype": "<f2"}]);
    let float64s = [0.0_f64, 2.0, -5.0, 1e6].map(f64::to_le_bytes).concat();
    let float32s = [0.0_f32, 2.0, -5.0, 1e4].map(f32::to_le_bytes).concat();
    let int32s = [1, -2, 4097, 70_000].map(i32::to_le_bytes).concat();
    for (dtype, filter, chunk) in [
        ("<i4", filter(0, 2, "<i4", "<f8"), float64s),
        ("<i2", filter(0, 2, "<i2", "<f4"), float32s),
        ("|u1", filter(0, 2, "|u1", "<i2"), int16s([0, 2, 5, 510])),
        ("<f2", filter(0, 2, "<f2", "<i4"), int32s.clone()),
        ("<f2", as_type, int32s),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("in"), folder.path().join("out"));
        v2(&input, dtype, &json!(0), &filter, [Some(chunk), None]);
        let report = array(&job(&input, Some(&output)));
        assert!(report.metadata_only && report.bit_identical, "{filter}: {report:?}");
        assert_eq!(values(&output), values(&input), "{filter}");
    }
}

#[test]
fn values_that_no_codecs_decode_are_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    // numcodecs has added 65 536 to −832, and takes it off when it casts 64 984 to int16.
    let codes = int16s([-832, 3, 2, 1]);
    v2(&input, "<i2", &json!(280), &filter(280, 1, "<i2", "<u2"), [Some(codes), None]);
    assert_eq!(values(&input)[..2], (-552_i16).to_ne_bytes());
    let error = stays(&input);
    assert!(error.contains("to other values: 1 of 6 elements differ"), "{error}");
    for reencode in [false, true] {
        let error = refuses(&MigrateJob { reencode, ..job(&input, Some(&output)) });
        assert!(error.contains("does not come back") && error.contains("zarr-python"), "{error}");
        assert!(!output.exists());
    }
}

#[test]
fn the_report_says_who_reads_the_new_codecs() {
    let folder = tempfile::tempdir().unwrap();
    let half = json!([{"id": "fixedscaleoffset", "offset": 0.5, "scale": 1, "dtype": "<i4", "astype": "<f8"}]);
    let cases = [
        ("floats", "<f4", scaled(100, 273.15), vec![0; 8], Some(false)),
        ("integers", "<i4", half, vec![0; 32], Some(true)),
        ("none", "<i4", json!(null), vec![0; 16], None),
    ];
    for (name, dtype, filters, chunk, needs_zarr_recast) in cases {
        let input = folder.path().join(name);
        v2(&input, dtype, &json!(0), &filters, [Some(chunk.clone()), Some(chunk)]);
        for reencode in [false, true] {
            let output = folder.path().join(format!("{name}{reencode}"));
            let report = array(&MigrateJob { reencode, ..job(&input, Some(&output)) });
            let readers = report.readers;
            assert_eq!(readers.map(|one| one.needs_zarr_recast), needs_zarr_recast, "{report:?}");
        }
        assert_eq!(array(&job(&input, None)).readers.is_some(), needs_zarr_recast.is_some());
    }
}

#[test]
fn a_fill_value_that_elements_would_become_is_not_encoded_again() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    let filters = json!([{"id": "astype", "encode_dtype": "|i1", "decode_dtype": "<f4"}]);
    // The codes of the first chunk are 0, to which the integers take a fill value of −0.
    v2(&input, "<f4", &json!(-0.0), &filters, [Some(vec![0; 4]), Some(vec![1; 4])]);
    let error = refuses(&MigrateJob { reencode: true, ..job(&input, Some(&output)) });
    assert!(error.contains("the fill value -0.0 does not come back"), "{error}");
    assert!(!output.exists());
    let report = array(&job(&input, Some(&output)));
    assert!(report.metadata_only && report.bit_identical, "{report:?}");
    assert_eq!(values(&output), values(&input));
}

#[test]
fn integers_of_64_bits_are_decoded_through_float64_as_numcodecs_does() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    // float64 does not hold these numbers.
    let codes = [1_u64, 2, 3, 4].map(|number| (number << 58) + 3).map(u64::to_le_bytes).concat();
    v2(&input, "<u8", &json!(0), &filter(0, 1, "<u8", "<u8"), [Some(codes), None]);
    let report = array(&job(&input, Some(&output)));
    assert!(report.bit_identical, "{report:?}");
    assert_eq!(values(&output), values(&input));
    let names = ["cast_value", "scale_offset", "cast_value", "bytes"];
    assert_eq!(codec_names(&metadata(&output)["codecs"]), names);
}

#[test]
fn a_fill_value_that_no_code_stands_for_is_refused_by_the_name_of_the_array() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    v2(&input, "<u4", &json!(0), &filter(3, 1, "<u4", "<i4"), [None, None]);
    let error = refuses(&job(&input, Some(&output)));
    assert!(error.contains("fill_value: uint32 0 cannot be encoded"), "{error}");
    assert!(error.starts_with(input.to_str().unwrap()) && !output.exists(), "{error}");
}

/// numcodecs takes the bytes of such elements for other numbers.
#[test]
fn a_filter_in_another_byte_order_than_its_elements_is_refused() {
    let delta = |dtype: &str| json!({"id": "delta", "dtype": dtype});
    let as_big = json!({"id": "astype", "encode_dtype": ">i2", "decode_dtype": "<i4"});
    for (dtype, filters, named) in
        [(">i4", json!([delta("<i4")]), "<i4"), ("<i4", json!([as_big, delta("<i2")]), "<i2")]
    {
        let folder = tempfile::tempdir().unwrap();
        v2(&folder.path().join("in"), dtype, &json!(0), &filters, [None, None]);
        let error = refuses(&job(&folder.path().join("in"), Some(&folder.path().join("out"))));
        assert!(
            error.contains(&format!("no counterpart of delta with the dtype {named}")),
            "{error}"
        );
    }
}

#[cfg(unix)]
#[test]
fn chunks_are_linked_unless_copies_are_asked_for() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in");
    v2(&input, "<i2", &json!(0), &Value::Null, [Some(int16s([1, 2, 3, 4])), None]);
    let file = |path: &Path| fs::metadata(path).unwrap().ino();
    for copy in [false, true] {
        let output = folder.path().join(if copy { "copied" } else { "linked" });
        array(&MigrateJob { copy, ..job(&input, Some(&output)) });
        assert_eq!(file(&input.join("0")) == file(&output.join("c/0")), !copy);
        assert!(!output.join("c/1").exists());
    }
}

#[test]
fn in_place_the_old_metadata_are_kept_and_the_chunks_are_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let original = goldens().join("v2_fso_f8_u1_gzip/array.zarr");
    let place = folder.path().join("group/array.zarr");
    copy(&original, &place);
    let before = (values(&place), chunks(&place));

    // A copy of the metadata elsewhere would be wrong afterwards.
    let consolidated = folder.path().join("group/.zmetadata");
    fs::write(&consolidated, r#"{"metadata": {"array.zarr/.zarray": {}}}"#).unwrap();
    let error = stays(&place);
    assert!(
        error.contains("has consolidated metadata with a copy of the metadata here"),
        "{error}"
    );
    fs::remove_file(consolidated).unwrap();

    assert!(array(&job(&place, None)).metadata_only);
    assert_eq!((values(&place), chunks(&place)), before);
    assert!(place.join("zarr.json").is_file() && !place.join(".zarray").exists());
    let kept = fs::read(place.join(".zarray.bak")).unwrap();
    assert_eq!(kept, fs::read(original.join(".zarray")).unwrap());

    let error = stays(&place);
    assert!(error.contains("there is nothing to migrate"), "{error}");
    // Back again.
    fs::remove_file(place.join("zarr.json")).unwrap();
    for name in [".zarray", ".zattrs"] {
        if place.join(format!("{name}.bak")).exists() {
            fs::rename(place.join(format!("{name}.bak")), place.join(name)).unwrap();
        }
    }
    assert_eq!(contents(&place), contents(&original));
}

#[test]
fn zarr_v1_becomes_zarr_v3() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    fs::create_dir(&input).unwrap();
    let meta = json!({
        "zarr_format": 1, "shape": [2, 3], "chunks": [2, 2], "dtype": ">f4", "fill_value": 42,
        "order": "F", "compression": null, "compression_opts": null,
    });
    fs::write(input.join("meta"), meta.to_string()).unwrap();
    fs::write(input.join("attrs"), r#"{"units": "K"}"#).unwrap();
    let chunk: Vec<u8> = [1.0_f32, 2.0, 3.0, 4.0].iter().flat_map(|x| x.to_be_bytes()).collect();
    fs::write(input.join("0.0"), &chunk).unwrap();
    assert!(array(&job(&input, Some(&output))).metadata_only);
    assert_eq!(f32s(&values(&output)), [1.0, 3.0, 42.0, 2.0, 4.0, 42.0]);
    assert_eq!(metadata(&output)["attributes"]["units"], "K");
    assert!(array(&job(&input, None)).metadata_only);
    assert_eq!(values(&input), values(&output));
    assert!(input.join("meta.bak").is_file() && !input.join("meta").exists());
}

#[test]
fn what_needs_no_migration_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let input = goldens().join("so_cv_f64_nan_to_u8/array.zarr");
    let output = folder.path().join("out");
    let error = refuses(&job(&input, Some(&output)));
    assert!(error.contains("there is nothing to migrate"), "{error}");
    assert!(!output.exists());
}

/// A group of Zarr v2 with consolidated metadata: arrays at its root and in a group, one of them of
/// Zarr v1, one of no numbers.
fn group(folder: &Path) {
    fs::create_dir_all(folder.join("inner/deep")).unwrap();
    let filter = scaled(64, 0.0);
    let codes = |first| [Some(int16s([first, 1, 2, 3])), None];
    v2(&folder.join("scaled"), "<f4", &json!(0), &filter, codes(-9));
    let filter = json!([{"id": "astype", "encode_dtype": "<i2", "decode_dtype": "<f8"}]);
    v2(&folder.join("inner/deep/cast"), "<f8", &json!(7), &filter, codes(-5));
    v2(&folder.join("inner/plain"), "<i2", &json!(1), &Value::Null, codes(4));
    v2(&folder.join("mask"), "|b1", &json!(false), &Value::Null, [Some(vec![0, 1, 1, 0]), None]);
    fs::create_dir(folder.join("inner/first")).unwrap();
    let meta = json!({
        "zarr_format": 1, "shape": [4], "chunks": [4], "dtype": "<i2", "fill_value": 0,
        "order": "C", "compression": null, "compression_opts": null,
    });
    fs::write(folder.join("inner/first/meta"), meta.to_string()).unwrap();
    fs::write(folder.join("inner/first/attrs"), r#"{"units": "1"}"#).unwrap();
    fs::write(folder.join("inner/first/0"), int16s([1, 2, 3, 4])).unwrap();
    let mut all = serde_json::Map::new();
    for path in ["", "inner/", "inner/deep/"] {
        fs::write(folder.join(path).join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
        fs::write(folder.join(path).join(".zattrs"), r#"{"title": "a group"}"#).unwrap();
    }
    for name in contents(folder).keys().filter(|name| name.to_str().unwrap().contains(".z")) {
        let document: Value =
            serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap();
        all.insert(name.to_str().unwrap().to_owned(), document);
    }
    let copy = json!({"zarr_consolidated_format": 1, "metadata": all});
    fs::write(folder.join(".zmetadata"), copy.to_string()).unwrap();
}

const ARRAYS: [&str; 4] = ["scaled", "inner/deep/cast", "inner/plain", "inner/first"];

/// The values of all arrays of the group, and those that are no numbers as they are stored.
fn all_values(folder: &Path) -> Vec<Vec<u8>> {
    let numeric = ARRAYS.iter().map(|name| values(&folder.join(name)));
    numeric.chain([fs::read(folder.join("mask/0")).unwrap()]).collect()
}

/// Everything is Zarr v3, the attributes are there, and the copy of the metadata is true.
fn is_migrated(folder: &Path) {
    let root = metadata(folder);
    assert_eq!(root["attributes"], json!({"title": "a group"}));
    let copy = root["consolidated_metadata"]["metadata"].as_object().unwrap();
    let paths: Vec<&str> = copy.keys().map(String::as_str).collect();
    let all =
        ["inner", "inner/deep", "inner/deep/cast", "inner/first", "inner/plain", "mask", "scaled"];
    assert_eq!(paths, all);
    for (path, document) in copy {
        assert_eq!(document, &metadata(&folder.join(path)), "{path}");
        assert_eq!(document["zarr_format"], 3, "{path}");
    }
    assert!(!root.to_string().contains("numcodecs"), "{root}");
    assert!(!root.to_string().contains("_ARRAY_DIMENSIONS"), "{root}");
    assert_eq!(copy["scaled"]["dimension_names"], json!(["time"]));
    assert_eq!(codec_names(&copy["scaled"]["codecs"]), ["scale_offset", "cast_value", "bytes"]);
    assert_eq!(codec_names(&copy["inner/deep/cast"]["codecs"]), ["cast_value", "bytes"]);
    // xarray masks the fill value of Zarr v2.
    assert_eq!(copy["inner/first"]["attributes"], json!({"units": "1", "_FillValue": 0}));
    let old =
        |name: &Path| [".zarray", ".zgroup", ".zattrs", "meta"].iter().any(|o| name.ends_with(o));
    assert_eq!(contents(folder).keys().find(|name| old(name)), None);
}

#[test]
fn a_group_becomes_zarr_v3_with_all_that_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    group(&input);
    let before = (contents(&input), all_values(&input));
    let report = migrated(&job(&input, Some(&output)));
    for report in report.arrays.iter().filter_map(ArrayOutcome::report) {
        assert!(report.metadata_only && report.bit_identical, "{report:?}");
    }
    assert_eq!(kept(&report.arrays), ["mask"]);
    assert_eq!(done(&report.arrays), ["inner/deep/cast", "inner/first", "inner/plain", "scaled"]);
    is_migrated(&output);
    assert_eq!(all_values(&output), before.1);
    assert_eq!(contents(&input), before.0);

    let encoded = folder.path().join("encoded");
    let report = migrated(&MigrateJob { reencode: true, ..job(&input, Some(&encoded)) });
    for report in report.arrays.iter().filter_map(ArrayOutcome::report) {
        let how = &report.how;
        assert!(how.contains("encoded again, because --reencode asks for it"), "{how}");
    }
    assert_eq!(all_values(&encoded), before.1);
}

#[test]
fn a_group_is_migrated_in_place_and_the_old_metadata_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    group(folder.path());
    let before = (contents(folder.path()), all_values(folder.path()));
    assert_eq!(migrated(&job(folder.path(), None)).arrays.len(), 5);
    is_migrated(folder.path());
    assert_eq!(all_values(folder.path()), before.1);

    let error = stays(folder.path());
    assert!(
        error.contains("none of 5 arrays has") && error.contains("nothing to migrate"),
        "{error}"
    );
    assert!(stays(&folder.path().join("scaled")).contains("nothing to migrate"));
    // Back again.
    for (name, bytes) in contents(folder.path()) {
        let path = folder.path().join(&name);
        if name.ends_with("zarr.json") {
            fs::remove_file(&path).unwrap();
        } else if let Some(old) = path.to_str().unwrap().strip_suffix(".bak") {
            assert_eq!(before.0[&name.with_extension("")], bytes);
            fs::rename(&path, old).unwrap();
        }
    }
    assert_eq!(contents(folder.path()), before.0);
}

/// What no reader takes would vanish from the group; what Zarr v3 cannot express is documented to stay behind.
#[test]
fn an_invalid_array_is_an_error_before_anything_changes_in_place() {
    for (member, value, reason) in [
        ("shape", json!([-1, 40]), "shape is [-1,40]"),
        ("chunks", json!([4, 4]), "chunks has 2"),
        ("dtype", json!(17), "the dtype 17"),
        ("filters", json!(17), "filters is 17"),
        ("fill_value", json!({}), "the fill value {} is no float32"),
        ("fill_value", json!("x"), "the fill value \"x\" is no float32"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        group(folder.path());
        let array = folder.path().join("scaled/.zarray");
        let mut document: Value = serde_json::from_slice(&fs::read(&array).unwrap()).unwrap();
        document[member] = value;
        fs::write(&array, document.to_string()).unwrap();
        let error = stays(folder.path());
        assert!(error.contains("scaled") && error.contains(reason), "{error}");
        assert!(error.contains("name an OUTPUT"), "{error}");
    }
    // To Python, true is a number.
    let folder = tempfile::tempdir().unwrap();
    v2(folder.path(), "<f4", &json!(true), &Value::Null, [None, None]);
    array(&job(folder.path(), None));
    assert_eq!(metadata(folder.path())["fill_value"], 1.0);
}

/// Every state in which a run can be killed: some documents kept, or replaced, or removed.
#[test]
fn a_group_whose_migration_in_place_was_killed_is_migrated_by_another_run() {
    for is_consolidated in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let (before, after) = (folder.path().join("before"), folder.path().join("after"));
        group(&before);
        if !is_consolidated {
            fs::remove_file(before.join(".zmetadata")).unwrap();
        }
        copy(&before, &after);
        migrated(&job(&after, None));
        let (old, new) = (contents(&before), contents(&after));
        let with = |end: &str| {
            let files = new.iter().filter(|(name, _)| name.to_str().unwrap().ends_with(end));
            files.map(|(name, bytes)| (name, Some(bytes))).collect::<Vec<_>>()
        };
        let removed = old.keys().filter(|name| !new.contains_key(*name)).map(|name| (name, None));
        let steps = [with(".bak"), with("zarr.json"), removed.collect()].concat();
        assert!(steps.len() > 20, "{steps:?}");
        for number in 0..steps.len() {
            let place = folder.path().join("killed");
            copy(&before, &place);
            for (name, bytes) in &steps[..number] {
                let file = place.join(name);
                match bytes {
                    Some(bytes) => fs::write(file, bytes).unwrap(),
                    None => fs::remove_file(file).unwrap(),
                }
            }
            let outcome = run(&job(&place, None));
            let error = outcome.as_ref().err();
            assert!(error.is_none(), "{number} of {}: {error:?}", steps.len());
            assert!(contents(&place) == new, "{number} of {}", steps.len());
            assert!(run(&job(&place, None)).unwrap_err().contains("nothing to migrate"));
            fs::remove_dir_all(place).unwrap();
        }
    }
}

/// The state in which a run is killed before it removes the last old document; and unfinished files of it.
#[test]
fn what_a_killed_run_left_of_a_migration_in_place_is_finished_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (before, place) = (folder.path().join("before"), folder.path().join("array"));
    let chunks = [Some(int16s([1, 2, 3, 4])), None];
    v2(&before, "<f4", &json!(0), &scaled(10, 0.0), chunks);
    copy(&before, &place);
    array(&job(&place, None));
    let new = contents(&place);
    let unfinished = place.join(".zarr.json.recast-tmp-a1b2c3");
    for document in [".zarray", ".zattrs"] {
        fs::copy(before.join(document), place.join(document)).unwrap();
        fs::write(&unfinished, "{").unwrap();
        let report = array(&job(&place, None));
        assert!(report.how.contains("already Zarr v3") && report.how.contains(document));
        assert_eq!(contents(&place), new);
    }
    // Killed before the new metadata were written, alone and in a group.
    fs::remove_dir_all(&place).unwrap();
    copy(&before, &place);
    fs::write(&unfinished, "{").unwrap();
    array(&job(&place, None));
    assert_eq!(contents(&place), new);
    let group = folder.path().join("group");
    copy(&before, &group.join("array"));
    fs::write(group.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    let names = ["", "array"].map(|name| group.join(name).join(".zarr.json.recast-tmp-a1b2c3"));
    for name in &names {
        fs::write(name, "{").unwrap();
    }
    migrated(&job(&group, None));
    assert!(names.iter().all(|name| !name.exists()));
}

#[test]
fn attributes_that_another_migration_has_kept_are_not_lost_by_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("array");
    v2(&place, "<f4", &json!(0), &scaled(10, 0.0), [None, None]);
    array(&job(&place, None));
    // Back again, but for the attributes.
    fs::remove_file(place.join("zarr.json")).unwrap();
    fs::rename(place.join(".zarray.bak"), place.join(".zarray")).unwrap();
    let error = stays(&place);
    assert!(error.contains(".zattrs.bak exists") && error.contains("would be lost"), "{error}");
    fs::rename(place.join(".zattrs.bak"), place.join(".zattrs")).unwrap();
    array(&job(&place, None));
    assert_eq!(metadata(&place)["attributes"]["units"], "K");
}

#[test]
fn what_another_migration_has_kept_stays_and_the_error_says_how_to_go_back() {
    let folder = tempfile::tempdir().unwrap();
    group(folder.path());
    let before = contents(folder.path());
    migrated(&job(folder.path(), None));
    let other = json!({"zarr_format": 2, "attributes": {}}).to_string();
    fs::write(folder.path().join(".zgroup"), other).unwrap();
    fs::remove_file(folder.path().join("zarr.json")).unwrap();
    let error = stays(folder.path());
    for part in [".zgroup.bak exists", "remove zarr.json and rename", "move the file away"] {
        assert!(error.contains(part), "{error}");
    }
    // As it says.
    for name in contents(folder.path()).into_keys() {
        let path = folder.path().join(&name);
        if name.ends_with("zarr.json") {
            fs::remove_file(&path).unwrap();
        } else if let Some(old) = path.to_str().unwrap().strip_suffix(".bak") {
            fs::rename(&path, old).unwrap();
        }
    }
    assert_eq!(contents(folder.path()), before);
}

#[cfg(unix)]
#[test]
fn an_array_and_a_group_that_a_link_names_again_are_migrated_in_place() {
    let folder = tempfile::tempdir().unwrap();
    group(folder.path());
    for (link, to) in [("again", "scaled"), ("inner/again", "plain"), ("all", "inner")] {
        std::os::unix::fs::symlink(to, folder.path().join(link)).unwrap();
    }
    let before = all_values(folder.path());
    let report = migrated(&job(folder.path(), None));
    assert_eq!(report.arrays.len(), 11);
    assert_eq!(all_values(folder.path()), before);
    for path in ["scaled", "again", "inner/again", "all/again", "all/deep/cast"] {
        let copies = &metadata(folder.path())["consolidated_metadata"]["metadata"];
        assert_eq!(copies[path], metadata(&folder.path().join(path)), "{path}");
    }
}

#[test]
fn nothing_in_a_group_of_zarr_v2_becomes_zarr_v3_without_the_group() {
    let folder = tempfile::tempdir().unwrap();
    group(folder.path());
    // Without consolidated metadata.
    fs::remove_file(folder.path().join(".zmetadata")).unwrap();
    for inside in ["scaled", "inner/plain", "inner/deep", "inner"] {
        let error = stays(&folder.path().join(inside));
        assert!(error.contains("is Zarr v2, and its readers would not see"), "{inside}: {error}");
        assert!(error.contains("migrate that group as a whole"), "{inside}: {error}");
    }
    migrated(&job(folder.path(), None));
}

#[test]
fn a_group_of_which_one_array_cannot_stay_is_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in");
    group(&input);
    // No code is left for the fill value, and so no metadata fit these chunks.
    let filter = scaled(10, 0.0);
    let all = int16s([i16::MIN, i16::MIN + 1, i16::MAX - 1, i16::MAX]);
    v2(&input.join("full"), "<f4", &json!("NaN"), &filter, [Some(all), None]);
    let error = stays(&input);
    assert!(error.contains("in/full: ") && error.contains("name an OUTPUT"), "{error}");

    // Nor is anything changed where writing fails: this name is taken by a folder.
    fs::remove_dir_all(input.join("full")).unwrap();
    fs::create_dir(input.join("mask/zarr.json")).unwrap();
    let error = stays(&input);
    assert!(error.contains("writing") && error.contains("mask/zarr.json"), "{error}");
}

/// numcodecs has defaults for the levels that Zarr v2 may leave out.
#[test]
fn compressors_of_zarr_v2_need_no_level() {
    let folder = tempfile::tempdir().unwrap();
    for id in ["zlib", "bz2", "gzip", "zstd"] {
        let input = folder.path().join(id);
        let members = json!({"shape": [4], "chunks": [4], "dtype": "<f4", "fill_value": 1.5});
        create_v2(&input, members);
        let document = std::fs::read_to_string(input.join(".zarray")).unwrap();
        let compressor = format!(r#""compressor":{{"id":"{id}"}}"#);
        let document = document.replace(r#""compressor":null"#, &compressor);
        assert!(document.contains(id));
        std::fs::write(input.join(".zarray"), document).unwrap();
        let mut values = Vec::new();
        told(cat(&input, CatFormat::Raw, &one_thread(), &mut values)).unwrap();
        assert_eq!(f32s(&values), [1.5; 4], "{id}");
    }
}

//! `recast cat`, `info` and `unpack`: arrays that others wrote, and arrays of our own.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Sample, metadata, recast};
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The elements of an `.npy` file in C order, and its header.
fn npy(path: &Path) -> (Vec<u8>, String) {
    let bytes = fs::read(path).unwrap();
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00", "{}", path.display());
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = String::from_utf8(bytes[10..start].to_vec()).unwrap();
    assert!(!header.contains("'>"), "{header}");
    let elements = &bytes[start..];
    if header.contains("'fortran_order': False") {
        return (elements.to_vec(), header);
    }
    let shape = header.split(['(', ')']).nth(1).unwrap();
    let shape: Vec<usize> = shape.split(',').filter_map(|n| n.trim().parse().ok()).collect();
    let count: usize = shape.iter().product();
    let size = elements.len() / count;
    let mut c_order = Vec::new();
    for index in 0..count {
        let (mut rest, mut place, mut stride) = (index, 0, count);
        for &extent in shape.iter().rev() {
            stride /= extent;
            place += rest % extent * stride;
            rest /= extent;
        }
        c_order.extend_from_slice(&elements[place * size..(place + 1) * size]);
    }
    (c_order, header)
}

/// Whether two runs of elements are the same, any NaN being the same as any other.
fn same(header: &str, a: &[u8], b: &[u8]) -> bool {
    let is_nan = |bytes: &[u8]| match bytes.len() {
        2 => u16::from_le_bytes(bytes.try_into().unwrap()) & 0x7fff > 0x7c00,
        4 => f32::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        8 => f64::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        _ => false,
    };
    let size = ["1'", "2'", "4'", "8'"].iter().position(|size| header.contains(size)).unwrap();
    let is_float = header.contains("f2'") || header.contains("f4'") || header.contains("f8'");
    a.len() == b.len()
        && a.chunks(1 << size)
            .zip(b.chunks(1 << size))
            .all(|(a, b)| a == b || is_float && is_nan(a) && is_nan(b))
}

#[test]
fn stores_of_zarr_python_read_back_exactly() {
    let mut read = 0;
    for entry in fs::read_dir(root().join("zarrs/tests/goldens")).unwrap() {
        let case = entry.unwrap().path();
        if !case.join("decoded.npy").exists() {
            continue;
        }
        let array = text(&case.join("array.zarr"));
        let (expected, header) = npy(&case.join("decoded.npy"));
        // Its fill value decodes to NaN, which the specification forbids and zarr-python writes.
        let is_lossy = case.ends_with("transpose_so_cv_big_gzip");
        if is_lossy {
            let error = recast(&["cat", &array]).fails(1);
            assert!(
                error.contains("fill_value") && error.contains("--accept-fill-value"),
                "{error}"
            );
        }
        let arguments = ["cat", &array, "--accept-fill-value"];
        let output = recast(&arguments[..if is_lossy { 3 } else { 2 }]).succeeds();
        assert!(same(&header, &output, &expected), "{array}");
        read += 1;
    }
    assert!(read >= 50, "{read} stores found");
}

#[test]
fn every_document_that_must_be_refused_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let array = folder.path().join("array.zarr");
    fs::create_dir(&array).unwrap();
    // What an error must name: a word of the member that is wrong.
    let named = |file: &str| match file {
        "cv_after_bytes" => "cast_value comes after bytes",
        "cv_bad_out_of_range_saturate" => "saturate",
        "cv_bad_rounding_case" | "cv_bad_rounding_up" | "shard_inner_bad_rounding" => "rounding",
        "cv_map_decode_value_range" => "decode",
        "cv_map_unknown_direction" => "scalar_map",
        "cv_missing_configuration" => "cast_value",
        "cv_missing_data_type" => "data_type",
        "cv_source_bool" | "cv_target_bool" | "so_source_bool" => "bool",
        "cv_source_complex" | "so_source_complex" => "complex",
        "cv_unknown_key" | "so_unknown_key" => "unknown key",
        "cv_wrap_float_target" => "wrap",
        "no_bytes_codec" => "codec",
        "so_after_cv_type" => "codecs[1]",
        "so_offset_fraction" | "so_offset_range" => "offset",
        "fso_missing_scale"
        | "so_scale_fraction_int"
        | "so_scale_zero_float"
        | "so_scale_zero_int" => "scale",
        name if name.starts_with("cv_map") => "encode",
        _ => "fill",
    };
    let mut refused = 0;
    for entry in fs::read_dir(root().join("tests/metadata/invalid")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if name == "expected" {
            continue;
        }
        fs::copy(&path, array.join("zarr.json")).unwrap();
        let error = recast(&["cat", &text(&array)]).fails(1);
        assert!(error.contains(named(&name)), "{name}: {error}");
        refused += 1;
    }
    assert!(refused >= 30, "{refused} documents found");
}

#[test]
fn cat_writes_c_order_whatever_the_chunks() {
    let values: Vec<f32> = (0..7 * 11 * 5).map(|i| i as f32).collect();
    for chunks in [[7, 11, 5], [2, 3, 4], [1, 1, 1], [8, 2, 9]] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zarr");
        let native: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        Sample::new("float32", &[7, 11, 5], &chunks, json!(0.0)).write(&path, &native);
        for threads in ["1", "3"] {
            let output = recast(&["cat", &text(&path), "--threads", threads]).succeeds();
            assert!(output == f32s(&values), "{chunks:?}");
        }
    }
}

#[test]
fn cat_streams_what_does_not_fit_at_once() {
    // 300 MB in one row of chunks: more than cat holds at once; nothing of it is stored.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    let sample = Sample::new("uint8", &[3, 10_000, 10_000], &[3, 4_000, 4_000], json!(7));
    sample.create(&path);
    let output = recast(&["cat", &text(&path)]).succeeds();
    assert_eq!(output.len(), 300_000_000);
    assert!(output.iter().all(|&byte| byte == 7));
    let run = recast(&["cat", &text(&path)]).reading(1000);
    assert!(run.status.success() && run.stderr.is_empty(), "{}", run.stderr);
}

#[test]
fn cat_of_nothing_and_of_one_element() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    Sample::new("int16", &[0, 4], &[1, 4], json!(3)).create(&path);
    assert!(recast(&["cat", &text(&path)]).succeeds().is_empty());
    Sample::new("int16", &[], &[], json!(300)).create(&path);
    assert_eq!(recast(&["cat", &text(&path)]).succeeds(), 300_i16.to_le_bytes());
}

#[test]
fn unpack_gives_plain_values_back() {
    let folder = tempfile::tempdir().unwrap();
    let [input, packed, plain] =
        ["in.zarr", "packed.zarr", "plain.zarr"].map(|name| text(&folder.path().join(name)));
    let values: Vec<f32> =
        (0..500).map(|i| if i % 9 == 0 { f32::NAN } else { i as f32 * 0.3 }).collect();
    let native: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    Sample::new("float32", &[20, 25], &[6, 7], json!("NaN"))
        .with("attributes", json!({"units": "m"}))
        .with("dimension_names", json!(["a", "b"]))
        .write(Path::new(&input), &native);
    recast(&["pack", &input, &packed, "-e", "0.01"]).succeeds();
    recast(&["unpack", &packed, &plain]).succeeds();
    let document = metadata(Path::new(&plain));
    let original = metadata(Path::new(&input));
    for member in
        ["shape", "data_type", "fill_value", "chunk_grid", "attributes", "dimension_names"]
    {
        assert_eq!(document[member], original[member], "{member}");
    }
    let names: Vec<&Value> =
        document["codecs"].as_array().unwrap().iter().map(|codec| &codec["name"]).collect();
    assert_eq!(names, ["bytes", "zstd"]);
    assert_eq!(recast(&["cat", &plain]).succeeds(), recast(&["cat", &packed]).succeeds());
    let error = recast(&["unpack", &packed, &plain]).fails(1);
    assert!(error.contains("--overwrite"), "{error}");
    recast(&["unpack", &packed, &plain, "--overwrite"]).succeeds();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn info_explains_every_step() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    let codecs = json!([
        {"name": "scale_offset", "configuration": {"offset": -10, "scale": 4}},
        {"name": "transpose", "configuration": {"order": [1, 0]}},
        {"name": "cast_value", "configuration": {"data_type": "uint8",
            "scalar_map": {"encode": [["NaN", 255]], "decode": [[255, "NaN"]]}}},
        {"name": "bytes"},
        {"name": "gzip", "configuration": {"level": 5}},
    ]);
    Sample::new("float32", &[4, 6], &[2, 3], json!("NaN")).with("codecs", codecs).create(&path);
    let json: Value =
        serde_json::from_slice(&recast(&["info", &text(&path), "--json"]).succeeds()).unwrap();
    assert_eq!(json["encoded_data_type"], "uint8");
    assert_eq!(json["precision"], 0.25);
    // 255 is NaN, so 254 stands for the largest value.
    assert_eq!(json["range"], json!([-10.0, 53.5]));
    assert_eq!(json["codecs"][2]["fill_value"], 255);
    let table = String::from_utf8(recast(&["info", &text(&path)]).succeeds()).unwrap();
    for line in ["scale_offset", "-> uint8, fill value 255", "precision", "-10.0 to 53.5", "gzip"] {
        assert!(table.contains(line), "{table}");
    }
}

#[test]
fn info_warns_of_a_fill_value_that_does_not_survive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    let codecs = json!([
        {"name": "cast_value", "configuration": {"data_type": "int32"}},
        {"name": "bytes", "configuration": {"endian": "little"}},
    ]);
    let sample = Sample::new("float32", &[4], &[2], json!(0.5)).with("codecs", codecs);
    fs::create_dir(&path).unwrap();
    fs::write(path.join("zarr.json"), sample.metadata.to_string()).unwrap();
    let table = String::from_utf8(recast(&["info", &text(&path)]).succeeds()).unwrap();
    assert!(table.contains("warning") && table.contains("0.5"), "{table}");
    recast(&["cat", &text(&path)]).fails(1);
    let output = recast(&["cat", &text(&path), "--accept-fill-value"]).succeeds();
    assert_eq!(output, f32s(&[0.5; 4]));
}

#[test]
fn arrays_of_zarr_v1_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    fs::create_dir(&path).unwrap();
    let meta = json!({"zarr_format": 1, "shape": [5], "chunks": [3], "dtype": "<f4",
        "fill_value": -1.0, "order": "C", "compression": null, "compression_opts": null});
    fs::write(path.join("meta"), meta.to_string()).unwrap();
    fs::write(path.join("attrs"), r#"{"units": "m"}"#).unwrap();
    fs::write(path.join("0"), f32s(&[1.5, 2.5, 3.5])).unwrap();
    let expected = f32s(&[1.5, 2.5, 3.5, -1.0, -1.0]);
    assert_eq!(recast(&["cat", &text(&path)]).succeeds(), expected);
    let packed = folder.path().join("b.zarr");
    recast(&["pack", &text(&path), &text(&packed), "-e", "0.001"]).succeeds();
    assert_eq!(recast(&["cat", &text(&packed)]).succeeds(), expected);
    assert_eq!(metadata(&packed)["attributes"]["units"], "m");
}

#[test]
fn info_shows_arrays_without_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    Sample::new("int16", &[0, 4], &[1, 4], json!(3)).create(&path);
    let table = String::from_utf8(recast(&["info", &text(&path)]).succeeds()).unwrap();
    assert!(table.contains("[0, 4]") && table.contains("none"), "{table}");
}

#[test]
fn a_shard_whose_index_points_nowhere_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    let codecs = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2],
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "index_location": "end",
    }}]);
    let elements: Vec<u8> = (0..8_i16).flat_map(i16::to_ne_bytes).collect();
    Sample::new("int16", &[8], &[8], json!(-1)).with("codecs", codecs).write(&path, &elements);
    let shard = path.join("c/0");
    let whole = fs::read(&shard).unwrap();
    for offset in [u64::MAX - 1, 1 << 63, 1 << 40, 1 << 20] {
        for at in [0, 8] {
            let mut broken = whole.clone();
            let index = broken.len() - 64 + at;
            broken[index..index + 8].copy_from_slice(&offset.to_le_bytes());
            fs::write(&shard, broken).unwrap();
            for arguments in [
                &["cat", &text(&path)][..],
                &["unpack", &text(&path), &text(&folder.path().join("b.zarr"))],
            ] {
                let error = recast(arguments).fails(1);
                assert!(error.contains("a.zarr"), "{error}");
            }
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }
}

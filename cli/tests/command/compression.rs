//! `--compressor auto` and `smallest`: the codecs after the value codecs are those that make a sample smallest.

use std::path::Path;

use crate::common::{Folder, Sample, contents, f32s, metadata, read_f32, recast};
use serde_json::{Value, json};
use zarrs::array::{ArrayBytes, ArraySubset};

/// Random numbers from 0 to 1, by Marsaglia's xorshift.
fn random() -> impl FnMut() -> f32 {
    let mut state = 2_463_534_242_u32;
    move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 8) as f32 / (1 << 24) as f32
    }
}

/// A smooth field with noise and, if `with_nan`, a patch of NaN; 120 × 100.
fn with_noise(with_nan: bool, mut noise: impl FnMut(u32, u32) -> f32) -> Vec<f32> {
    let value = |index: u32| {
        let (row, column) = (index / 100, index % 100);
        let noise = 0.02 * noise(row, column);
        let is_missing = with_nan && row > 40 && column < 30;
        let (row, column) = (row as f32, column as f32);
        let field = 280.0 + 9.0 * (row / 17.0).sin() + 5.0 * (column / 11.0).cos() + noise;
        if is_missing { f32::NAN } else { field }
    };
    (0..12_000).map(value).collect()
}

fn smooth(with_nan: bool) -> Vec<f32> {
    let mut random = random();
    with_noise(with_nan, |_, _| random())
}

/// In chunks of 50 × 40.
fn stored_field(values: Vec<f32>) -> (Folder, Vec<f32>) {
    let folder = Folder::new();
    Sample::new("float32", &[120, 100], &[50, 40], json!("NaN"))
        .write(&folder.input(), &f32s(&values));
    (folder, values)
}

fn field(with_nan: bool) -> (Folder, Vec<f32>) {
    stored_field(smooth(with_nan))
}

fn assert_within(bound: f32, path: &Path, values: &[f32]) {
    for (found, value) in read_f32(path).iter().zip(values) {
        assert!(
            (found - value).abs() <= bound || (found.is_nan() && value.is_nan()),
            "{found} for {value}"
        );
    }
}

fn names(codecs: &Value) -> Vec<&str> {
    codecs.as_array().unwrap().iter().map(|codec| codec["name"].as_str().unwrap()).collect()
}

fn stored(report: &Value) -> u64 {
    report["bytes"]["stored"].as_u64().unwrap()
}

#[test]
fn smallest_stores_differences_of_smooth_values_and_auto_takes_the_best_common_compressor() {
    for with_nan in [false, true] {
        // Zstandard finds what comes again after 37 elements of a chunk; pcodec does not.
        let mut random = random();
        let noise: Vec<f32> = (0..37).map(|_| random()).collect();
        let again = |row: u32, column: u32| noise[(row % 50 * 40 + column % 40) as usize % 37];
        let (folder, values) = stored_field(with_noise(with_nan, again));
        let pack = |compressor: &str| {
            folder.pack(&["-e", "0.002", "--overwrite", "--verify", "--compressor", compressor])
        };
        let zstd = pack("zstd:5");
        let auto = pack("auto");
        assert!(stored(&auto) <= stored(&zstd), "{auto}");
        let last =
            metadata(&folder.output())["codecs"].as_array().unwrap().last().cloned().unwrap();
        assert!(["zstd", "gzip", "blosc"].contains(&last["name"].as_str().unwrap()), "{last}");
        assert!(!names(&auto["codecs"]).contains(&"numcodecs.delta"));

        let smallest = pack("smallest");
        assert!(stored(&smallest) * 4 < stored(&zstd) * 3, "{smallest} {zstd}");
        let codecs = &smallest["codecs"];
        assert_eq!(
            names(codecs)[..7],
            [
                "scale_offset",
                "cast_value",
                "numcodecs.delta",
                "cast_value",
                "transpose",
                "numcodecs.delta",
                "scale_offset"
            ],
            "{codecs}"
        );
        assert_eq!(codecs[3]["configuration"], json!({"data_type": "int16"}));
        assert_eq!(codecs[4]["configuration"], json!({"order": [1, 0]}));
        assert_eq!(codecs[6]["configuration"], json!({"offset": -128}));
        assert!(smallest["compression"].as_str().unwrap().starts_with("delta (axes 1, 0) + 128, "));
        assert_eq!(*codecs, metadata(&folder.output())["codecs"]);
        assert_within(0.002_001, &folder.output(), &values);
        assert_eq!(zstd["error"]["max"], smallest["error"]["max"]);
    }
}

#[test]
fn the_report_and_the_dry_run_name_the_chain() {
    let (folder, _) = field(true);
    let (input, output) = (folder.input(), folder.output());
    let [input, output] = [&input, &output].map(|path| path.to_str().unwrap());
    let text = |more: &[&str]| {
        let arguments = ["pack", input, output, "-e", "0.002", "--compressor", "smallest"];
        String::from_utf8(recast(&[&arguments, more].concat()).succeeds()).unwrap()
    };
    let dry = text(&["--dry-run"]);
    assert!(!folder.output().exists() && dry.contains("\"numcodecs.delta\""), "{dry}");
    for report in [dry, text(&[])] {
        let line = report.lines().find(|line| line.starts_with("compression")).unwrap();
        assert!(line.contains("delta (axes 1, 0) + 128, "), "{line}");
    }
}

#[test]
fn zarrita_gets_no_differences_of_transposed_chunks() {
    let (folder, values) = field(true);
    let pack = |more: &[&str]| {
        let all = [&["-e", "0.002", "--overwrite", "--compressor", "smallest"], more].concat();
        folder.pack(&all)
    };
    let all = pack(&[]);
    assert!(names(&all["codecs"]).contains(&"transpose"), "{all}");
    assert_eq!(pack(&["--readers", "zarr-python,zarrs"])["codecs"], all["codecs"]);
    let fewer = pack(&["--readers", "zarrita,zarrs"]);
    assert!(fewer["compression"].as_str().unwrap().starts_with("delta (ax"), "{fewer}");
    assert!(!names(&fewer["codecs"]).contains(&"transpose"), "{fewer}");
    assert!(stored(&all) < stored(&fewer), "{fewer}");
    assert_within(0.002_001, &folder.output(), &values);
    let error = folder.usage(&["-e", "0.002", "--readers", "zarrs,gdal"]);
    assert!(error.contains("'gdal'") && error.contains("zarr-python, zarrs or zarrita"), "{error}");
}

#[test]
fn arrays_of_any_shape_come_back() {
    // Of one element, without elements, lines, thin ones, cubes, chunks beyond the array.
    let shapes: [(&[u64], &[u64]); 8] = [
        (&[], &[]),
        (&[1], &[1]),
        (&[0, 3], &[2, 3]),
        (&[500], &[7]),
        (&[1, 300], &[1, 100]),
        (&[300, 1], &[50, 1]),
        (&[9, 20, 30], &[4, 7, 30]),
        (&[3, 1, 20, 20], &[2, 1, 64, 16]),
    ];
    for (shape, chunks) in shapes {
        for compressor in ["auto", "smallest"] {
            let count = shape.iter().product::<u64>() as usize;
            let values: Vec<f32> = smooth(true)[4000..4000 + count].to_vec();
            let folder = Folder::new();
            Sample::new("float32", shape, chunks, json!("NaN"))
                .write(&folder.input(), &f32s(&values));
            let flags = ["-e", "0.002", "--verify", "--compressor", compressor];
            let report = folder.pack(&flags);
            assert_within(0.002_001, &folder.output(), &values);
            assert_eq!(read_f32(&folder.output()).len(), count, "{report}");
        }
    }
}

#[test]
fn a_dry_run_says_what_longer_chunks_would_save() {
    let values = smooth(true);
    let advice = |chunks: &[u64]| {
        let folder = Folder::new();
        Sample::new("float32", &[120, 100], chunks, json!("NaN"))
            .write(&folder.input(), &f32s(&values));
        let report = folder.pack(&["-e", "0.002", "--dry-run"]);
        let text = recast(&[
            "pack",
            folder.input().to_str().unwrap(),
            folder.output().to_str().unwrap(),
            "-e",
            "0.002",
            "--dry-run",
        ]);
        let text = String::from_utf8(text.succeeds()).unwrap();
        assert_eq!(report["chunk_advice"].is_object(), text.contains("would take"), "{text}");
        report["chunk_advice"].clone()
    };
    let small = advice(&[5, 5]);
    assert_eq!(small["present_chunk_shape"], json!([5, 5]));
    let saved = small["saved"].as_f64().unwrap();
    assert!((0.1..1.0).contains(&saved), "{small}");
    // It holds: the array in that shape takes less by more than half of what was said.
    let shape: Vec<u64> = serde_json::from_value(small["chunk_shape"].clone()).unwrap();
    let [before, after] = [&[5, 5][..], &shape].map(|chunks| {
        let folder = Folder::new();
        Sample::new("float32", &[120, 100], chunks, json!("NaN"))
            .write(&folder.input(), &f32s(&values));
        stored(&folder.pack(&["-e", "0.002"])) as f64
    });
    assert!(after < before * (1.0 - saved / 2.0), "{before} {after} {small}");
    assert!(advice(&[120, 100]).is_null());
}

#[test]
fn codes_whose_differences_leave_no_room_for_the_bias_come_back_too() {
    // From one end of int16 to the other, and one step from it.
    let jumps: Vec<i16> = (0..4000_i32)
        .map(|index| match index % 4 {
            0 => i16::MIN,
            1 => i16::MAX,
            2 => (index * 7 % 300) as i16,
            _ => i16::MAX - 1,
        })
        .collect();
    let elements: Vec<u8> = jumps.iter().flat_map(|jump| jump.to_ne_bytes()).collect();
    let folder = Folder::new();
    Sample::new("int16", &[4000], &[900], json!(0)).write(&folder.input(), &elements);
    let report = folder.pack(&["--compressor", "smallest", "--verify"]);
    assert!(!report["compression"].as_str().unwrap().contains("128"), "{report}");
    let cat = recast(&["cat", folder.output().to_str().unwrap()]).succeeds();
    assert_eq!(cat, jumps.iter().flat_map(|jump| jump.to_le_bytes()).collect::<Vec<u8>>());
}

#[test]
fn an_unsigned_array_gets_differences_without_a_bias_which_zarr_python_would_refuse() {
    let ramp: Vec<u16> = (0..4000_u32).map(|index| (index * 13 % 9000) as u16 + 3).collect();
    let elements: Vec<u8> = ramp.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let folder = Folder::new();
    Sample::new("uint16", &[4000], &[900], json!(3)).write(&folder.input(), &elements);
    let report = folder.pack(&["--compressor", "smallest", "--verify"]);
    assert!(report["compression"].as_str().unwrap().starts_with("delta (axis 0), "), "{report}");
    let cat = recast(&["cat", folder.output().to_str().unwrap()]).succeeds();
    assert_eq!(cat, ramp.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
}

#[test]
fn shards_keep_their_parts_and_parts_of_them_are_read() {
    let values = smooth(true);
    let folder = Folder::new();
    let codecs = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [20, 50],
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
    }}]);
    Sample::new("float32", &[120, 100], &[80, 100], json!("NaN"))
        .with("codecs", codecs)
        .write(&folder.input(), &f32s(&values));
    for place in ["inside", "outside"] {
        let report = folder.pack(&[
            "-e",
            "0.002",
            "--compressor",
            "smallest",
            "--overwrite",
            "--verify",
            "--shard-codecs",
            place,
        ]);
        let inner = report["codecs"].as_array().unwrap().last().unwrap();
        let inner = &inner["configuration"]["codecs"];
        assert!(names(inner).contains(&"numcodecs.delta"), "{place}: {inner}");
        assert_within(0.002_001, &folder.output(), &values);
        let array = crate::common::open(&folder.output());
        let part: ArrayBytes<'static> =
            array.retrieve_array_subset(&ArraySubset::from([33..47, 41..63])).unwrap();
        let part = part.into_fixed().unwrap();
        let whole = read_f32(&folder.output());
        let expected = (33..47).flat_map(|row| &whole[row * 100 + 41..row * 100 + 63]);
        let found = part.as_chunks().0.iter().map(|&bytes| f32::from_ne_bytes(bytes));
        assert!(found.zip(expected).all(|(a, b)| a.to_bits() == b.to_bits()), "{place}");
    }
}

#[test]
fn differences_stay_where_the_codecs_before_them_become_attributes() {
    let (folder, _) = field(true);
    folder.pack(&["-e", "0.002", "--compressor", "smallest"]);
    let (packed, cf) = (folder.output(), folder.path().join("cf.zarr"));
    let [packed_text, cf_text] = [&packed, &cf].map(|path| path.to_str().unwrap());
    recast(&["unpack", "--to-cf", packed_text, cf_text]).succeeds();
    let after = metadata(&cf);
    let packed_codecs = &metadata(&packed)["codecs"];
    assert_eq!(names(&after["codecs"]), names(packed_codecs)[2..], "{packed_codecs}");
    let chunks = |path: &Path| {
        let mut files = contents(path);
        files.remove(Path::new("zarr.json")).unwrap();
        files
    };
    assert_eq!(chunks(&packed), chunks(&cf));
    // The codes are those that the value codecs store.
    let codes = recast(&["cat", cf_text]).succeeds();
    let codes = codes.as_chunks().0.iter().map(|&bytes| f32::from(i16::from_le_bytes(bytes)));
    let document = metadata(&packed);
    let affine = crate::common::configuration(&document, "scale_offset").unwrap();
    let [scale, offset] = ["scale", "offset"].map(|key| affine[key].as_f64().unwrap() as f32);
    for (code, value) in codes.zip(read_f32(&packed)) {
        assert!(
            value.is_nan() || ((value - offset) * scale - code).abs() < 0.1,
            "{value} is {code}"
        );
    }
    let info = String::from_utf8(recast(&["info", packed_text]).succeeds()).unwrap();
    assert!(info.contains("numcodecs.delta") && info.contains("int16"), "{info}");
}

#[test]
fn arrays_that_share_a_scale_share_their_codes() {
    let (folder, values) = field(true);
    let second = folder.path().join("second.zarr");
    let shifted: Vec<f32> = values.iter().map(|value| value + 3.0).collect();
    Sample::new("float32", &[120, 100], &[50, 40], json!("NaN")).write(&second, &f32s(&shifted));
    let pack = |array: &Path| {
        let out = folder.path().join("shared.zarr");
        let (a, b) = (folder.input(), second.clone());
        recast(&[
            "pack",
            array.to_str().unwrap(),
            out.to_str().unwrap(),
            "-e",
            "0.002",
            "--overwrite",
            "--compressor",
            "smallest",
            "--scale-from",
            a.to_str().unwrap(),
            b.to_str().unwrap(),
        ])
        .succeeds();
        metadata(&out)["codecs"].clone()
    };
    assert_eq!(pack(&folder.input()), pack(&second));
}

#[test]
fn a_group_and_its_tables_take_them() {
    let folder = Folder::new();
    crate::common::weather(&folder.input());
    let config = folder.path().join("recast.toml");
    std::fs::write(
        &config,
        "[[array]]\nname = \"wind\"\nmax-abs-error = 0.01\ncompressor = \"smallest\"\n",
    )
    .unwrap();
    folder.pack(&["-e", "0.01", "--compressor", "auto", "--config", config.to_str().unwrap()]);
    let codecs = |name: &str| metadata(&folder.output().join(name))["codecs"].to_string();
    assert!(codecs("wind").contains("numcodecs.delta"), "{}", codecs("wind"));
    assert!(!codecs("t2m").contains("numcodecs"), "{}", codecs("t2m"));
}

#[test]
fn commands_that_try_nothing_ask_for_a_name() {
    let folder = Folder::new();
    std::fs::create_dir(folder.input()).unwrap();
    let document = json!({"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<f4", "order": "C",
        "fill_value": null, "filters": null, "compressor": null});
    std::fs::write(folder.input().join(".zarray"), document.to_string()).unwrap();
    std::fs::write(folder.input().join("0"), f32s(&[1.0, 2.0])).unwrap();
    let (input, output) = (folder.input(), folder.output());
    let [input, output_text] = [&input, &output].map(|path| path.to_str().unwrap());
    for command in [&["unpack"][..], &["migrate", "--reencode"]] {
        for compressor in ["auto", "smallest"] {
            let flags = [input, output_text, "--compressor", compressor];
            let error = recast(&[command, &flags].concat()).fails(2);
            let expected = format!("--compressor {compressor} is for recast pack");
            assert!(error.contains(&expected) && !output.exists(), "{error}");
        }
    }
}

/// Whole numbers around 0 with this deviation.
fn noise(deviation: f32) -> Vec<f32> {
    let mut random = random();
    let mut normal = || (0..12).map(|_| random() - 0.5).sum::<f32>();
    (0..60_000).map(|_| (normal() * deviation).round()).collect()
}

#[test]
fn smallest_takes_pcodec_for_noise_and_says_what_readers_need() {
    // Codes of 16 and 8 bits. pcodec stands in place of `bytes` and knows no bytes, so the second are widened.
    for (deviation, encoded, stored_as) in
        [(900.0, "int16", vec!["int16", "int16"]), (0.7, "int8", vec!["int8", "int16", "int16"])]
    {
        let (folder, values) = (Folder::new(), noise(deviation));
        Sample::new("float32", &[60_000], &[20_000], json!("NaN"))
            .write(&folder.input(), &f32s(&values));
        let pack = |more: &[&str]| {
            let flags = ["-e", "0.25", "--compressor", "smallest", "--overwrite", "--verify"];
            folder.pack(&[&flags, more].concat())
        };
        let others = pack(&["--readers", "zarrita"]);
        assert!(!names(&others["codecs"]).contains(&"numcodecs.pcodec"), "{others}");
        assert_eq!(others["readers"]["needs_pcodec"], false);
        let report = pack(&[]);
        assert!(stored(&report) < stored(&others), "{report} {others}");
        assert_eq!(report["data_type"], encoded);
        assert_eq!(names(&report["codecs"]).last(), Some(&"numcodecs.pcodec"), "{report}");
        assert_eq!(report["readers"]["needs_pcodec"], true);
        let casts = report["codecs"].as_array().unwrap().iter();
        let casts = casts.filter_map(|codec| codec["configuration"]["data_type"].as_str());
        assert_eq!(casts.collect::<Vec<_>>(), stored_as, "{report}");
        // Also by zarrs itself, which caches chunks that are read in parts.
        assert_eq!(read_f32(&folder.output()), values);
        let cf = folder.path().join("cf.zarr");
        let [packed, cf_text] =
            [&folder.output(), &cf].map(|path| path.to_str().unwrap().to_owned());
        recast(&["unpack", "--to-cf", &packed, &cf_text]).succeeds();
        assert_eq!(names(&metadata(&cf)["codecs"]), ["numcodecs.pcodec"]);
        let back = folder.path().join("back.zarr");
        recast(&["pack", "--from-cf", &cf_text, back.to_str().unwrap()]).succeeds();
        let cat = recast(&["cat", back.to_str().unwrap()]).succeeds();
        let cat = cat.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes));
        assert!(cat.eq(values), "{back:?}");
    }
}

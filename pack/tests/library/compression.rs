//! The compressors `auto` and `smallest`: the codecs after the value codecs are those that make a sample smallest.

use std::path::Path;

use crate::common::{
    Random, Sample, Trial, assert_within, bytes, chunks, codec_names, configuration, f32s,
    integers, little_endian, metadata, one_thread, open, options, read, read_f32, sharding, to_cf,
    told, weather, within,
};
use recast_pack::report::ChunkAdvice;
use recast_pack::{ArrayInfo, ArrayRule, DryRun, GroupJob, Job, PackJob, PackOptions};
use serde_json::json;
use zarrs::array::{ArrayBytes, ArraySubset};

/// Random numbers below 1.
fn random() -> impl FnMut() -> f32 {
    let mut random = Random(2_463_534_242);
    move || random.number() as f32
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

/// In chunks of this shape.
fn stored_in(chunks: &[u64], values: &[f32]) -> Trial {
    Trial::of(&Sample::new("float32", &[120, 100], chunks, json!("NaN")), &bytes(values))
}

fn field(with_nan: bool) -> (Trial, Vec<f32>) {
    let values = smooth(with_nan);
    (stored_in(&[50, 40], &values), values)
}

/// Options that most tests have.
fn by(compressor: &str) -> PackOptions {
    options(json!({"max-abs-error": 0.002, "verify": true, "compressor": compressor}))
}

fn for_readers(readers: &[&str]) -> PackOptions {
    options(json!({"max-abs-error": 0.002, "compressor": "smallest", "readers": readers}))
}

#[test]
fn smallest_stores_differences_of_smooth_values_and_auto_takes_the_best_common_compressor() {
    for with_nan in [false, true] {
        // Zstandard finds what comes again after 37 elements of a chunk; pcodec does not.
        let mut random = random();
        let noise: Vec<f32> = (0..37).map(|_| random()).collect();
        let again = |row: u32, column: u32| noise[(row % 50 * 40 + column % 40) as usize % 37];
        let values = with_noise(with_nan, again);
        let trial = stored_in(&[50, 40], &values);
        let zstd = trial.pack(by("zstd:5")).unwrap();
        let auto = trial.pack(by("auto")).unwrap();
        assert!(auto.bytes.stored <= zstd.bytes.stored, "{auto:?}");
        let names = codec_names(&auto.codecs);
        assert!(["zstd", "gzip", "blosc"].contains(names.last().unwrap()), "{names:?}");
        assert!(!names.contains(&"numcodecs.delta"));

        let smallest = trial.pack(by("smallest")).unwrap();
        assert!(smallest.bytes.stored * 4 < zstd.bytes.stored * 3, "{smallest:?} {zstd:?}");
        let codecs = &smallest.codecs;
        assert_eq!(
            codec_names(codecs)[..7],
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
        assert!(smallest.compression.starts_with("delta (axes 1, 0) + 128, "));
        assert_eq!(*codecs, trial.metadata()["codecs"]);
        assert_within(0.002_001, &values, &read_f32(&trial.output()));
        assert_eq!(zstd.error.errors.max, smallest.error.errors.max);
    }
}

#[test]
fn zarrita_gets_no_differences_of_transposed_chunks() {
    let (trial, values) = field(true);
    let all = trial.pack(for_readers(&[])).unwrap();
    assert!(codec_names(&all.codecs).contains(&"transpose"), "{all:?}");
    let most = trial.pack(for_readers(&["zarr-python", "zarrs"])).unwrap();
    assert_eq!(most.codecs, all.codecs);
    let fewer = trial.pack(for_readers(&["zarrita", "zarrs"])).unwrap();
    assert!(fewer.compression.starts_with("delta (ax"), "{fewer:?}");
    assert!(!codec_names(&fewer.codecs).contains(&"transpose"), "{fewer:?}");
    assert!(all.bytes.stored < fewer.bytes.stored, "{fewer:?}");
    assert_within(0.002_001, &values, &read_f32(&trial.output()));
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
        let count = shape.iter().product::<u64>() as usize;
        let values: Vec<f32> = smooth(true)[4000..4000 + count].to_vec();
        let trial =
            Trial::of(&Sample::new("float32", shape, chunks, json!("NaN")), &bytes(&values));
        for compressor in ["auto", "smallest"] {
            let report = trial.pack(by(compressor)).unwrap();
            assert_within(0.002_001, &values, &read_f32(&trial.output()));
            assert_eq!(read_f32(&trial.output()).len(), count, "{report:?}");
        }
    }
}

#[test]
fn a_dry_run_says_what_longer_chunks_would_save() {
    let values = smooth(true);
    let advice = |chunks: &[u64]| -> Option<ChunkAdvice> {
        let trial = stored_in(chunks, &values);
        told(trial.job(within(0.002)).dry_run(&one_thread())).unwrap().chunk_advice
    };
    let small = advice(&[5, 5]).unwrap();
    assert_eq!(small.present_chunk_shape, [5, 5]);
    assert!((0.1..1.0).contains(&small.saved), "{small:?}");
    // It holds: the array in that shape takes less by more than half of what was said.
    let [before, after] = [&[5, 5][..], &small.chunk_shape]
        .map(|chunks| stored_in(chunks, &values).pack(within(0.002)).unwrap().bytes.stored as f64);
    assert!(after < before * (1.0 - small.saved / 2.0), "{before} {after} {small:?}");
    assert_eq!(advice(&[120, 100]), None);
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
    let trial = Trial::new(&jumps, 900, json!({}));
    let smallest = options(json!({"compressor": "smallest", "verify": true}));
    let report = trial.pack(smallest.clone()).unwrap();
    assert!(!report.compression.contains("128"), "{report:?}");
    assert_eq!(trial.decoded(), bytes(&jumps));
    // Unsigned ones get no bias, which zarr-python would refuse.
    let ramp: Vec<u16> = (0..4000_u32).map(|index| (index * 13 % 9000) as u16 + 3).collect();
    let trial = Trial::new(&ramp, 900, json!({"fill_value": 3}));
    let report = trial.pack(smallest).unwrap();
    assert!(report.compression.starts_with("delta (axis 0), "), "{report:?}");
    assert_eq!(trial.decoded(), bytes(&ramp));
}

#[test]
fn shards_keep_their_parts_and_parts_of_them_are_read() {
    let values = smooth(true);
    let codecs = json!([sharding(&[20, 50], json!([little_endian()]))]);
    let sample =
        Sample::new("float32", &[120, 100], &[80, 100], json!("NaN")).with("codecs", codecs);
    let trial = Trial::of(&sample, &bytes(&values));
    for place in ["inside", "outside"] {
        let shard_codecs = place.parse().unwrap();
        let report = trial.pack(PackOptions { shard_codecs, ..by("smallest") }).unwrap();
        let inner = report.codecs.as_array().unwrap().last().unwrap();
        let inner = &inner["configuration"]["codecs"];
        assert!(codec_names(inner).contains(&"numcodecs.delta"), "{place}: {inner}");
        assert_within(0.002_001, &values, &read_f32(&trial.output()));
        let array = open(&trial.output());
        let part: ArrayBytes<'static> =
            array.retrieve_array_subset(&ArraySubset::from([33..47, 41..63])).unwrap();
        let part = part.into_fixed().unwrap();
        let whole = read_f32(&trial.output());
        let expected = (33..47).flat_map(|row| &whole[row * 100 + 41..row * 100 + 63]);
        let found = f32s(&part);
        assert!(found.iter().zip(expected).all(|(a, b)| a.to_bits() == b.to_bits()), "{place}");
    }
}

#[test]
fn differences_stay_where_the_codecs_before_them_become_attributes() {
    let (trial, _) = field(true);
    trial.pack(by("smallest")).unwrap();
    let (packed, cf) = (trial.output(), trial.place("cf.zarr"));
    told(to_cf(&packed, &cf).run(&one_thread())).unwrap();
    let document = metadata(&packed);
    let names = codec_names(&document["codecs"]);
    assert_eq!(codec_names(&metadata(&cf)["codecs"]), names[2..], "{names:?}");
    assert_eq!(chunks(&packed), chunks(&cf));
    // The codes are those that the value codecs store.
    let codes = integers(&read(&cf), "int16").into_iter().map(|code| code as f32);
    let affine = configuration(&document, "scale_offset").unwrap();
    let [scale, offset] = ["scale", "offset"].map(|key| affine[key].as_f64().unwrap() as f32);
    for (code, value) in codes.zip(read_f32(&packed)) {
        assert!(
            value.is_nan() || ((value - offset) * scale - code).abs() < 0.1,
            "{value} is {code}"
        );
    }
    let info = ArrayInfo::read(&packed).unwrap();
    assert!(info.codecs.iter().any(|codec| codec.name == "numcodecs.delta"), "{info:?}");
    assert!(
        info.codecs.iter().any(|codec| codec.data_type.as_deref() == Some("int16")),
        "{info:?}"
    );
}

#[test]
fn arrays_that_share_a_scale_share_their_codes() {
    let (trial, values) = field(true);
    let shifted: Vec<f32> = values.iter().map(|value| value + 3.0).collect();
    let second = trial.place("second.zarr");
    let sample = Sample::new("float32", &[120, 100], &[50, 40], json!("NaN"));
    sample.write(&second, &bytes(&shifted));
    let pack = |array: &Path| {
        let job = PackJob::new(array, trial.output(), by("smallest"));
        let scale_from = vec![trial.input(), second.clone()];
        let job = PackJob { scale_from, overwrite: true, ..job };
        told(job.run(&one_thread())).unwrap();
        trial.metadata()["codecs"].clone()
    };
    assert_eq!(pack(&trial.input()), pack(&second));
}

#[test]
fn a_group_and_its_tables_take_them() {
    let trial = Trial::empty();
    weather(&trial.input());
    let rules = ArrayRule::list_from_toml(
        "[[array]]\nname = 'wind'\nmax-abs-error = 0.01\ncompressor = 'smallest'\n",
    );
    let options = options(json!({"max-abs-error": 0.01, "compressor": "auto"}));
    let job = GroupJob { rules: rules.unwrap(), ..trial.group_job(options) };
    told(job.run(&one_thread())).unwrap();
    let codecs = |name: &str| metadata(&trial.output().join(name))["codecs"].to_string();
    assert!(codecs("wind").contains("numcodecs.delta"), "{}", codecs("wind"));
    assert!(!codecs("t2m").contains("numcodecs"), "{}", codecs("t2m"));
}

/// Whole numbers around 0 with this deviation.
#[cfg(feature = "pcodec")]
fn noise(deviation: f32) -> Vec<f32> {
    let mut random = random();
    let mut normal = || (0..12).map(|_| random() - 0.5).sum::<f32>();
    (0..60_000).map(|_| (normal() * deviation).round()).collect()
}

// The tests of the workspace have the feature, because those of the command do.
#[cfg(feature = "pcodec")]
#[test]
fn smallest_takes_pcodec_for_noise_and_says_what_readers_need() {
    use crate::common::from_cf;
    use recast_kernels::ElementType;
    use recast_pack::PackReport;

    // Codes of 16 and 8 bits. pcodec stands in place of `bytes` and knows no bytes, so the second are widened.
    for (deviation, encoded, stored_as) in [
        (900.0, ElementType::Int16, vec!["int16", "int16"]),
        (0.7, ElementType::Int8, vec!["int8", "int16", "int16"]),
    ] {
        let values = noise(deviation);
        let trial = Trial::new(&values, 20_000, json!({"fill_value": "NaN"}));
        let pack = |readers: &[&str]| -> PackReport {
            let options = for_readers(readers);
            trial.pack(PackOptions { max_abs_error: Some(0.25), verify: true, ..options }).unwrap()
        };
        let others = pack(&["zarrita"]);
        assert!(!codec_names(&others.codecs).contains(&"numcodecs.pcodec"), "{others:?}");
        assert!(!others.readers.unwrap().needs_pcodec);
        let report = pack(&[]);
        assert!(report.bytes.stored < others.bytes.stored, "{report:?}");
        assert_eq!(report.data_type, encoded);
        assert_eq!(codec_names(&report.codecs).last(), Some(&"numcodecs.pcodec"), "{report:?}");
        assert!(report.readers.unwrap().needs_pcodec);
        let casts = report.codecs.as_array().unwrap().iter();
        let casts = casts.filter_map(|codec| codec["configuration"]["data_type"].as_str());
        assert_eq!(casts.collect::<Vec<_>>(), stored_as);
        // Also by zarrs itself, which caches chunks that are read in parts.
        assert_eq!(read_f32(&trial.output()), values);
        let (cf, back) = (trial.place("cf.zarr"), trial.place("back.zarr"));
        told(to_cf(trial.output(), &cf).run(&one_thread())).unwrap();
        let document = metadata(&cf);
        assert_eq!(codec_names(&document["codecs"]), ["numcodecs.pcodec"]);
        told(from_cf(&cf, &back).run(&one_thread())).unwrap();
        assert_eq!(f32s(&read(&back)), values);
    }
}

//! Damaged inputs: an error that names the chunk, or an array within the bound of what the input reads as now.

use std::fs;

use crate::common::{
    Sample, Trial, bytes, contents, f32s, fraction, little_endian, names, one_thread, read, told,
    within,
};
use recast_pack::Job;
use serde_json::{Value, json};

/// The largest error asked for.
const BOUND: f64 = 0.001;

/// An array of 64 chunks.
fn trial(codecs: Value) -> Trial {
    let values = (0..1_u32 << 14).map(|i| ((i / 100) as f32 * 0.01).sin() + (i % 7) as f32);
    let sample =
        Sample::new("float32", &[128, 128], &[16, 16], json!("NaN")).with("codecs", codecs);
    Trial::of(&sample, &bytes(&values.collect::<Vec<f32>>()))
}

/// Packing either fails with a message that has `what` in it and leaves nothing, or gives an array
/// within the bound of what the input reads as now. True if it fails.
fn fails_or_is_right(trial: &Trial, what: &str) -> bool {
    let outcome = told(trial.job(within(BOUND)).run(&one_thread())).map(drop);
    match &outcome {
        Ok(()) => {
            let [input, output] = [trial.input(), trial.output()].map(|path| f32s(&read(&path)));
            let is_right = |(&a, &b): (&f32, &f32)| {
                f64::from((a - b).abs()) <= BOUND || a.is_nan() && b.is_nan()
            };
            assert!(input.iter().zip(&output).all(is_right));
            fs::remove_dir_all(trial.output()).unwrap();
        }
        Err(error) => assert!(error.contains(what) && error.lines().count() == 1, "{error}"),
    }
    assert_eq!(names(trial.path()), ["in.zarr"]);
    outcome.is_err()
}

#[test]
fn a_chunk_cut_short_or_with_another_bit_never_gives_a_wrong_array() {
    let bytes = little_endian();
    let gzip = json!({"name": "gzip", "configuration": {"level": 1}});
    let zstd = |checksum: bool| json!({"name": "zstd", "configuration": {"level": 1, "checksum": checksum}});
    let blosc = json!({"name": "blosc", "configuration": {
        "cname": "lz4", "clevel": 1, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}});
    for (codecs, is_checked) in [
        (json!([bytes]), false),
        (json!([bytes, {"name": "crc32c"}]), true),
        (json!([bytes, zstd(false)]), false),
        (json!([bytes, zstd(true)]), false),
        (json!([bytes, zstd(false), {"name": "crc32c"}]), true),
        (json!([bytes, gzip]), false),
        (json!([bytes, blosc]), false),
    ] {
        let trial = trial(codecs.clone());
        let before = contents(&trial.input());
        let chunk = trial.input().join("c/3/5");
        let whole = fs::read(&chunk).unwrap();
        let mut refused = 0;
        for n in 0..40 {
            let bit = (fraction(n) * 8.0 * whole.len() as f64) as usize;
            let mut broken = whole.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            fs::write(&chunk, broken).unwrap();
            // Without a checksum other values may come of it, and those may be beyond the bound.
            let what = if is_checked { "chunk [3, 5]" } else { "in.zarr" };
            refused += usize::from(fails_or_is_right(&trial, what));
        }
        assert!(!is_checked || refused == 40, "{codecs}");
        let lengths = (0..10).map(|n| (fraction(n) * whole.len() as f64) as usize);
        for length in lengths.chain([1, 7, whole.len() - 1]) {
            fs::write(&chunk, &whole[..length]).unwrap();
            let error = trial.refuses(within(BOUND));
            let hint = "chunk [3, 5] (c/3/5; restore it if it is damaged)";
            assert!(error.contains(hint), "{codecs}, {length} bytes: {error}");
        }
        fs::write(&chunk, &whole).unwrap();
        assert_eq!(contents(&trial.input()), before);
    }
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_is_an_error_and_no_missing_chunk() {
    let trial = trial(json!([little_endian()]));
    let (input, aside) = (trial.input(), trial.place("in.zarr/aside"));
    let before = contents(&input);
    let refuses = || told(trial.job(within(BOUND)).run(&one_thread())).map(drop).unwrap_err();

    // A file where there should be a folder, and the other way round: what also root cannot read.
    fs::rename(input.join("c/2"), &aside).unwrap();
    fs::write(input.join("c/2"), "").unwrap();
    let error = refuses();
    assert!(error.contains("chunk [2, 0]") && error.contains("directory"), "{error}");
    fs::remove_file(input.join("c/2")).unwrap();
    fs::rename(&aside, input.join("c/2")).unwrap();

    fs::rename(input.join("c/2/1"), &aside).unwrap();
    fs::create_dir(input.join("c/2/1")).unwrap();
    let error = refuses();
    assert!(error.contains("chunk [2, 1]"), "{error}");
    fs::remove_dir(input.join("c/2/1")).unwrap();
    fs::rename(&aside, input.join("c/2/1")).unwrap();

    // A link that leads back to itself.
    fs::rename(input.join("c/2"), &aside).unwrap();
    std::os::unix::fs::symlink("2", input.join("c/2")).unwrap();
    let error = refuses();
    assert!(error.contains("chunk [2, 0]"), "{error}");
    fs::remove_file(input.join("c/2")).unwrap();
    fs::rename(&aside, input.join("c/2")).unwrap();

    assert_eq!(contents(&input), before);
    assert_eq!(names(trial.path()), ["in.zarr"]);
    trial.pack(within(BOUND)).unwrap();
}

#[cfg(unix)]
#[test]
fn a_folder_without_permission_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let trial = trial(json!([little_endian()]));
    let locked = trial.input().join("c/2");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o0)).unwrap();
    // Root reads it all the same.
    let is_readable = fs::read_dir(&locked).is_ok();
    let outcome = told(trial.job(within(BOUND)).run(&one_thread())).map(drop);
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
    match outcome {
        Ok(()) => assert!(is_readable),
        Err(error) => assert!(!is_readable && error.contains("chunk [2, 0]"), "{error}"),
    }
}

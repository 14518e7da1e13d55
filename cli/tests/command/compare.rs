//! `recast verify` and `recast compare`: any two arrays of one shape.

use std::fs;

use crate::common::{Folder, Run, Sample, f32s, f64s, field, quarters, recast};
use serde_json::{Value, json};

fn paths(folder: &Folder) -> [String; 2] {
    [folder.input(), folder.output()].map(|path| path.display().to_string())
}

fn compare(folder: &Folder) -> Value {
    let [a, b] = paths(folder);
    serde_json::from_slice(&recast(&["compare", &a, &b, "--json"]).succeeds()).unwrap()
}

#[test]
fn the_statistics_are_those_of_the_elements() {
    // Other type, other chunks, NaN and the fill value in both.
    let mut before: Vec<f32> = field(2000).into_iter().map(|value| value as f32).collect();
    let mut after: Vec<f64> = before
        .iter()
        .enumerate()
        .map(|(i, &value)| f64::from(value) + (i as f64).sin() * 0.01 + 0.001)
        .collect();
    (before[11], after[11]) = (f32::NAN, f64::NAN);
    (before[12], after[12]) = (1e20, 1e20_f32.into());
    (before[13], after[13]) = (f32::INFINITY, f64::INFINITY);
    let folder = Folder::new();
    Sample::new("float32", &[40, 50], &[7, 20], json!(1e20)).write(&folder.input(), &f32s(&before));
    Sample::new("float64", &[40, 50], &[40, 11], json!(0.0)).write(&folder.output(), &f64s(&after));
    let report = compare(&folder);
    let pairs = || before.iter().zip(&after).map(|(&a, &b)| (f64::from(a), b));
    let differences: Vec<f64> =
        pairs().filter(|(a, _)| a.abs() < 1e19).map(|(a, b)| b - a).collect();
    let count = differences.len() as f64;
    let close = |member: &str, expected: f64| {
        let found = report["error"][member].as_f64().unwrap();
        assert!((found / expected - 1.0).abs() < 1e-9, "{member} {found} {expected}");
    };
    let rmse = (differences.iter().map(|d| d * d).sum::<f64>() / count).sqrt();
    let largest = differences.iter().fold(0.0, |largest: f64, d| largest.max(d.abs()));
    close("max", largest);
    close("mean", differences.iter().map(|d| d.abs()).sum::<f64>() / count);
    close("bias", differences.iter().sum::<f64>() / count);
    close("rmse", rmse);
    let values = || before.iter().copied().filter(|value| value.abs() < 1e19).map(f64::from);
    let extent = values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min);
    close("psnr", 20.0 * (extent / rmse).log10());
    let counts = &report["counts"];
    assert_eq!([&counts["nan"], &counts["infinite"], &counts["fill"]], [1, 1, 1]);
    assert_eq!(counts["compared"], 1997);
    let worst = pairs().position(|(a, b)| (b - a).abs() == largest).unwrap();
    assert_eq!(report["error"]["worst"]["element"], json!([worst / 50, worst % 50]));
    assert_eq!(report["error"]["worst"]["chunk"], json!([worst / 50 / 7, worst % 50 / 20]));
}

#[test]
fn verify_tells_first_and_worst_and_fails() {
    let values: Vec<f32> = (0..100).map(|i| 10.0 + i as f32).collect();
    let mut other = values.clone();
    (other[42], other[77], other[90]) = (52.25, 87.0 + 3.0, f32::NAN);
    let folder = Folder::new();
    Sample::new("float32", &[10, 10], &[4, 4], json!(0.0)).write(&folder.input(), &f32s(&values));
    Sample::new("float32", &[10, 10], &[4, 4], json!(0.0)).write(&folder.output(), &f32s(&other));
    let [a, b] = paths(&folder);
    recast(&["verify", &a, &a]).succeeds();
    let Run { status, stdout, stderr } = recast(&["verify", &a, &b, "--atol", "0.25"]).run();
    assert_eq!(status.code(), Some(1));
    assert!(String::from_utf8(stdout).unwrap().contains("over"));
    assert!(stderr.contains("2 of 100 elements"), "{stderr}");
    assert!(stderr.contains("first element [7, 7] (chunk [1, 1]) is 87.0"), "{stderr}");
    assert!(stderr.contains("worst element [7, 7]") && stderr.contains("off by 3.0"), "{stderr}");
    let error = recast(&["verify", &a, &b, "--quiet"]).fails(1);
    assert!(error.contains("first element [4, 2] (chunk [1, 0]) is 52.0"), "{error}");
    // The tolerances add up; NaN is never within them.
    let error = recast(&["verify", &a, &b, "--atol", "1.26", "--rtol", "0.02", "-q"]).fails(1);
    assert!(error.contains("1 of 100 elements") && error.contains("NaN"), "{error}");
    recast(&["verify", &b, &b]).succeeds();
    recast(&["verify", &a, &b, "--atol", "-1"]).fails(2);
}

#[test]
fn what_was_packed_verifies_within_its_bound_and_not_below() {
    let values: Vec<f32> = field(3000).into_iter().map(|value| value as f32).collect();
    let folder = Folder::new();
    Sample::new("float32", &[3000], &[700], json!("NaN")).write(&folder.input(), &f32s(&values));
    let report = folder.pack(&["-e", "0.01", "--verify"]);
    assert_eq!(report["verified"], true);
    let [a, b] = paths(&folder);
    recast(&["verify", &a, &b, "--atol", "0.01", "-q"]).succeeds();
    recast(&["verify", &a, &b, "--atol", "0.009", "-q"]).fails(1);
    // The report of both commands is the same.
    for member in ["max", "mean", "bias", "rmse", "psnr", "worst"] {
        assert_eq!(compare(&folder)["error"][member], report["error"][member], "{member}");
    }
}

#[test]
fn integers_of_64_bits_are_compared_exactly() {
    let folder = Folder::new();
    let one = (1_u64 << 60).to_ne_bytes();
    let other = ((1_u64 << 60) + 1).to_ne_bytes();
    Sample::new("uint64", &[1], &[1], json!(0)).write(&folder.input(), &one);
    Sample::new("uint64", &[1], &[1], json!(0)).write(&folder.output(), &other);
    let [a, b] = paths(&folder);
    recast(&["verify", &a, &b, "-q"]).fails(1);
    recast(&["verify", &a, &b, "-q", "--atol", "1"]).succeeds();
    assert_eq!(compare(&folder)["error"]["max"], 1.0);
    Sample::new("int8", &[1], &[1], json!(0)).write(&folder.output(), &[5]);
    let error = recast(&["compare", &a, &b]).fails(1);
    assert!(error.contains("uint64 and int8"), "{error}");
    std::fs::remove_dir_all(folder.output()).unwrap();
    Sample::new("int8", &[1, 1], &[1, 1], json!(0)).write(&folder.output(), &[5]);
    let error = recast(&["compare", &a, &b]).fails(1);
    assert!(error.contains("shape"), "{error}");
}

/// Whoever reads the output, or nobody: a failed check exits 1, a passed one 0.
#[cfg(unix)]
#[test]
fn a_failed_check_exits_1_whoever_reads_the_output() {
    let folder = Folder::new();
    let values = |last: f32| f32s(&[1.0, 2.0, last]);
    Sample::new("float32", &[3], &[3], json!("NaN")).write(&folder.input(), &values(3.0));
    Sample::new("float32", &[3], &[3], json!("NaN")).write(&folder.output(), &values(3.5));
    let program = env!("CARGO_BIN_EXE_recast");
    let status = |how: &str, atol: &str| {
        let [a, b] = paths(&folder);
        let line = how.replace("CHECK", "\"$0\" verify \"$1\" \"$2\" --atol \"$3\"");
        let mut shell = std::process::Command::new("bash");
        shell.args(["-c", &line, program, &a, &b, atol]).stderr(std::process::Stdio::null());
        shell.status().unwrap().code()
    };
    // The first gives the status of the command in front of the pipe, once its reader has gone.
    let ways = [
        "(sleep 0.2; CHECK) | true; exit ${PIPESTATUS[0]}",
        "CHECK | true; exit ${PIPESTATUS[0]}",
        "CHECK >&-",
        "CHECK --json >&-",
        "CHECK >/dev/full",
        "CHECK --json >/dev/full",
        "CHECK --quiet",
        "CHECK 2>/dev/full",
        "CHECK >/dev/full 2>/dev/full",
        "CHECK >&- 2>&-",
    ];
    for way in ways {
        assert_eq!(status(way, "0.1"), Some(1), "{way}");
    }
    for way in ["(sleep 0.2; CHECK) | true; exit ${PIPESTATUS[0]}", "CHECK --quiet >/dev/full"] {
        assert_eq!(status(way, "0.5"), Some(0), "{way}");
    }
    // A table that cannot be written is a failure of its own.
    assert_eq!(status("CHECK >/dev/full", "0.5"), Some(1));
}

/// Chunks that neither array has stored are compared by their fill values, as if they were stored.
#[test]
fn chunks_that_are_not_stored_count_as_those_that_are() {
    let folder = Folder::new();
    let place = |name: &str| folder.path().join(name).display().to_string();
    for (fills, tolerance) in
        [([0.0, 0.0], "0"), ([1.5, 1.5], "0"), ([1.5, 1.75], "0"), ([1.5, 1.75], "1")]
    {
        let mut reports = Vec::new();
        for is_stored in [false, true] {
            for (name, fill) in ["a.zarr", "b.zarr"].into_iter().zip(fills) {
                let path = folder.path().join(name);
                let _ = fs::remove_dir_all(&path);
                // The last chunks are cut; one chunk of each array has other values.
                let sample = Sample::new("float32", &[50, 10], &[4, 4], json!(fill));
                let array = sample.create(&path);
                if is_stored {
                    let options =
                        zarrs::array::CodecOptions::default().with_store_empty_chunks(true);
                    for chunk in 0..39 {
                        let chunk = [chunk / 3, chunk % 3];
                        let elements = f32s(&[fill as f32; 16]);
                        let elements = zarrs::array::ArrayBytes::new_flen(elements);
                        array.store_chunk_opt(&chunk, elements, &options).unwrap();
                    }
                }
                let elements = zarrs::array::ArrayBytes::new_flen(f32s(&[7.0; 16]));
                array.store_chunk(&[2, 1], elements).unwrap();
            }
            let run = recast(&[
                "verify",
                "--json",
                "--atol",
                tolerance,
                &place("a.zarr"),
                &place("b.zarr"),
            ]);
            let run = run.run();
            reports.push((run.status.code(), String::from_utf8(run.stdout).unwrap(), run.stderr));
        }
        assert_eq!(reports[0], reports[1]);
        assert_eq!(reports[0].0, Some(i32::from(tolerance == "0" && fills[0] != fills[1])));
    }
}

#[test]
fn memory_is_limited() {
    let folder = Folder::new();
    Sample::new("float32", &[64], &[32], json!(0)).write(&folder.input(), &quarters(64));
    let input = folder.input().display().to_string();
    for command in ["verify", "compare"] {
        recast(&[command, "--max-memory", "1kB", &input, &input]).succeeds();
        let error = recast(&[command, "--max-memory", "500B", &input, &input]).fails(1);
        assert!(error.contains("more than --max-memory"), "{error}");
    }
}

//! `recast verify` and `recast compare`: what they say, and their status.

use crate::common::{Run, Sample, Trial, bash, bytes, recast};
use serde_json::json;

#[test]
fn verify_tells_first_and_worst_and_fails() {
    let values: Vec<f32> = (0..100).map(|i| 10.0 + i as f32).collect();
    let mut other = values.clone();
    (other[42], other[77], other[90]) = (52.25, 87.0 + 3.0, f32::NAN);
    let sample = Sample::new("float32", &[10, 10], &[4, 4], json!(0.0));
    let trial = Trial::of(&sample, &bytes(&values));
    sample.write(&trial.output(), &bytes(&other));
    let [a, b] = trial.places();
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
    for command in ["verify", "compare"] {
        // A chunk has 64 bytes, and is held four times.
        recast(&[command, "--max-memory", "256B", &a, &a]).succeeds();
        let error = recast(&[command, "--max-memory", "255B", &a, &a]).fails(1);
        assert!(error.contains("more than --max-memory"), "{error}");
    }
    let report = recast(&["compare", &a, &b, "--json"]).reports();
    assert_eq!(report["error"]["max"], 3.0);
    assert_eq!(report["error"]["worst"]["element"], json!([7, 7]));
    assert_eq!(report["error"]["worst"]["chunk"], json!([1, 1]));
    assert_eq!([&report["counts"]["compared"], &report["counts"]["became_nan"]], [100, 1]);
    for member in ["mean", "bias", "rmse", "psnr"] {
        assert!(report["error"][member].is_f64(), "{member}: {report}");
    }
}

/// `compare` shows what is reached of requirements, and `verify` fails, too, if one is not kept.
#[test]
fn requirements_are_measured_or_judged() {
    let trial = Trial::new(&[0.0_f32, 1.0, 2.0, 4.0], 4, json!({"fill_value": "NaN"}));
    let sample = Sample::new("float32", &[4], &[4], json!("NaN"));
    sample.write(&trial.output(), &bytes(&[-0.5_f32, 1.0, 2.0, 4.0]));
    let [a, b] = trial.places();
    let asked = ["--max-mean-error", "0.2", "-e", "0.25", "--limits", "none", "4", "--keep-sign"];
    let expected = [
        "max error 0.5000, of 0.25: not kept",
        "mean error 0.1250, of 0.2",
        "within 4.0 and less where the original is",
        "signs and zeros: not kept",
    ];
    let table = recast(&[&["compare", &a, &b], &asked[..]].concat()).prints();
    let run = recast(&[&["verify", &a, &b], &asked[..]].concat()).run();
    assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
    for text in [table, String::from_utf8(run.stdout).unwrap()] {
        for (line, expected) in
            text.lines().skip_while(|line| !line.contains("required")).zip(expected)
        {
            assert!(line.ends_with(expected), "{text}");
        }
        assert!(text.contains("over"), "{text}");
    }
    recast(&["verify", &a, &b, "--max-mean-error", "0.125", "--limits", "none", "4"]).succeeds();
}

/// Whoever reads the output, or nobody: a failed check exits 1, a passed one 0.
#[cfg(unix)]
#[test]
fn a_failed_check_exits_1_whoever_reads_the_output() {
    let trial = Trial::new(&[1.0_f32, 2.0, 3.0], 3, json!({}));
    let sample = Sample::new("float32", &[3], &[3], json!(0));
    sample.write(&trial.output(), &bytes(&[1.0_f32, 2.0, 3.5]));
    let status = |how: &str, atol: &str| {
        let [a, b] = trial.places();
        let line = how.replace("CHECK", "\"$0\" verify \"$1\" \"$2\" --atol \"$3\"");
        bash(&line, &[&a, &b, atol]).status.code()
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

/// VCF's "missing" and "end of vector".
#[test]
fn kinds_of_nan_are_told_apart_in_a_line() {
    let mut values: Vec<f32> = (0..100).map(|step| step as f32 / 4.0).collect();
    (values[4], values[77]) = (f32::from_bits(0x7f80_0001), f32::from_bits(0x7f80_0002));
    let trial = Trial::new(&values, 50, json!({"fill_value": 0.0}));
    let [a, b] = trial.places();
    let text = recast(&["pack", &a, &b, "-e", "0.01"]).prints();
    let line = "2 (0x7f800001, 0x7f800002) become 0x7fc00000; --readers any keeps them";
    assert!(text.contains("kinds of NaN") && text.contains(line), "{text}");
    for command in ["verify", "compare"] {
        let text = recast(&[command, &a, &b]).prints();
        let line = "2 are NaN of another kind in B; first element [4], 0x7f800001 in A and 0x7fc00000 in B";
        assert!(text.contains(line), "{text}");
    }
    let error = trial.fails(&["--overwrite", "-e", "0.01", "--missing", "0x7F800001"]);
    assert!(error.contains("the NaN 0x7f800002 (1 times)"), "{error}");
}

#[test]
fn metrics_are_rows_of_the_report_and_of_the_page() {
    let values: Vec<f32> = (0..400).map(|i| (i as f32 / 9.0).sin()).collect();
    let other: Vec<f32> = values.iter().map(|value| value + 0.01).collect();
    let sample = Sample::new("float32", &[20, 20], &[7, 20], json!(0.0));
    let trial = Trial::of(&sample, &bytes(&values));
    sample.write(&trial.output(), &bytes(&other));
    let ([a, b], page) = (trial.places(), trial.place("page.html").display().to_string());
    let text = recast(&["compare", &a, &b, "--metrics", "--report", &page]).succeeds();
    let text = String::from_utf8(text).unwrap();
    let page = std::fs::read_to_string(page).unwrap();
    for label in ["mean error", "bias", "RMSE", "PSNR", "correlation", "along axis 1", "DSSIM"] {
        assert!(text.contains(label) && page.contains(label), "{label}: {text}");
    }
    assert!(text.lines().count() <= 12, "{text}");
    let report = recast(&["compare", &a, &b, "--metrics", "--json"]).reports();
    assert!(report["metrics"]["correlation"].as_f64().unwrap() > 0.999_999, "{report}");
    assert_eq!(report["metrics"]["dssim"]["fields"], 1);
    // One thread or three, the numbers are the same.
    let threads = |number| recast(&["compare", &a, &b, "--metrics", "--json", "--threads", number]);
    assert_eq!(threads("1").reports()["metrics"], threads("3").reports()["metrics"]);
    let without = recast(&["compare", &a, &b, "--json"]).reports();
    assert_eq!(without.get("metrics"), None);
}

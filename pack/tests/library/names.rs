//! Names of arrays in a group: one that no array has is an error, and a pattern without arrays a warning.

use std::fs;
use std::path::Path;

use crate::common::{Trial, create_group, list, of_group, one_thread, packed, within};
use recast_pack::{ArrayReport, ArrayRule, GroupJob, GroupReport, Job};
use serde_json::json;

/// A group as OME-Zarr has it: images at the top and labels below, with the same names.
fn image(folder: &Path) {
    for path in ["", "labels", "labels/cells"] {
        create_group(&folder.join(path));
    }
    for path in ["0", "1", "t2m", "a[1]", "labels/cells/0", "labels/cells/t2m"] {
        let values: Vec<f32> = (0..50).map(|index| index as f32 / 7.0).collect();
        let trial = Trial::new(&values, 50, json!({}));
        fs::rename(trial.input(), folder.join(path)).unwrap();
    }
}

fn run(change: impl FnOnce(&mut GroupJob)) -> Result<GroupReport<ArrayReport>, String> {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.zarr");
    fs::create_dir(&input).unwrap();
    image(&input);
    let mut job = GroupJob::new(input, folder.path().join("out.zarr"), within(0.01));
    change(&mut job);
    of_group(job.run(&one_thread()))
}

#[test]
fn a_name_is_a_path_and_a_pattern_is_for_paths() {
    for (include, expected) in [
        (&["0"][..], &["0"][..]),
        (&["/t2m/", "labels/cells/0"], &["labels/cells/0", "t2m"]),
        (&["?"], &["0", "1"]),
        (&["**/0"], &["0", "labels/cells/0"]),
        (&["labels/**"], &["labels/cells/0", "labels/cells/t2m"]),
        (&["a[[]1]"], &["a[1]"]),
    ] {
        let report = run(|job| job.include = list(include)).unwrap();
        assert_eq!(packed(&report), expected, "{include:?}");
        assert!(report.warnings.is_empty());
    }
    let rest = run(|job| job.exclude = list(&["0", "labels/*/t2m"])).unwrap();
    assert_eq!(packed(&rest), ["1", "a[1]", "labels/cells/0", "t2m"]);
    // A path may look like a pattern.
    let rule = |name: &str, is_path| ArrayRule { name: name.to_owned(), is_path, options: None };
    let report = run(|job| job.rules = vec![rule("a[1]", true)]).unwrap();
    assert!(!packed(&report).contains(&"a[1]"));
    let report = run(|job| job.rules = vec![rule("a[1]", false)]).unwrap();
    assert!(packed(&report).contains(&"a[1]"));
    assert_eq!(report.warnings, ["the rule for a[1] matches no array"]);
}

#[test]
fn a_name_that_no_array_has_is_an_error_with_the_nearest_ones() {
    let rule = |name: &str| ArrayRule {
        name: name.to_owned(),
        is_path: false,
        options: Some(within(0.1).into()),
    };
    for (error, expected) in [
        (run(|job| job.include = list(&["t2n"])), ["--include t2n", "t2m, labels/cells/t2m"]),
        (run(|job| job.exclude = list(&["T2M"])), ["--exclude T2M", "t2m"]),
        (run(|job| job.rules = vec![rule("t2m"), rule("tm2")]), ["the rule for tm2", "t2m"]),
        (run(|job| job.exclude = list(&["labels"])), ["a group", "labels/**"]),
        (
            run(|job| job.pack.scale_from = vec!["2".into()]),
            ["--scale-from 2", "the nearest names are"],
        ),
    ] {
        let error = error.unwrap_err();
        assert!(expected.iter().all(|text| error.contains(text)), "{error}");
    }
    let report = run(|job| job.exclude = list(&["x*", "0"])).unwrap();
    assert_eq!(report.warnings, ["--exclude x* matches no array"]);
    assert_eq!(serde_json::to_value(&report).unwrap()["warnings"], json!(report.warnings));
}

//! Runs beside one another, and what killed ones leave.

use std::fs;
use std::path::Path;
use std::process::Child;

use crate::common::{
    Sample, Trial, contents, holds_something, little_endian, names, path, quarters, quarters_as,
    recast, weather,
};
use serde_json::json;

fn array(place: &Path) {
    Sample::new("float32", &[64], &[16], json!(0)).write(place, &quarters(64));
}

/// `RECAST_TEST_RUNS` sets how many runs there are.
#[test]
fn runs_to_one_folder_at_the_same_time_all_end_well() {
    let runs = std::env::var("RECAST_TEST_RUNS").map_or(64, |runs| runs.parse().unwrap());
    let trial = Trial::empty();
    array(&trial.input());
    let group = trial.place("group.zarr");
    weather(&group);
    trial.packs(&["-e", "0.1"]);
    let expected = contents(&trial.output());
    fs::remove_dir_all(trial.output()).unwrap();
    let (input, group) = (path(&trial.input()), path(&group));
    // Most write the same array; some beside it another one, or a group.
    let places = ["out.zarr", "out.zarr", "out.zarr", "second.zarr", "all.zarr", "out.zarr"];
    let mut failures = Vec::new();
    for round in 0..runs / 16 {
        if round % 2 == 0 {
            // The runs also compete to be the first.
            let _ = fs::remove_dir_all(trial.output());
        }
        let one = |number: usize| {
            let place = places[number % places.len()];
            let input = if place == "all.zarr" { &group } else { &input };
            let output = path(&trial.place(place));
            let arguments = ["pack", input, &output, "-e", "0.1", "--overwrite", "--quiet"];
            recast(&[&arguments[..], &["--threads", "1"]].concat()).start()
        };
        let children: Vec<Child> = (0..16).map(one).collect();
        for child in children {
            let ended = child.wait_with_output().unwrap();
            if !ended.status.success() {
                failures.push(String::from_utf8(ended.stderr).unwrap());
            }
        }
        assert_eq!(contents(&trial.output()), expected);
    }
    assert!(failures.is_empty(), "{} of {runs} runs: {failures:#?}", failures.len());
    assert_eq!(
        names(trial.path()),
        ["all.zarr", "group.zarr", "in.zarr", "out.zarr", "second.zarr"]
    );
}

/// A run killed while it writes; it has more chunks to go through than it could. Returns the name of what it has left.
#[cfg(target_os = "linux")]
fn killed(trial: &Trial, arguments: &[&str]) -> String {
    let before = names(trial.path());
    let mut child = recast(arguments).start();
    let left = loop {
        let left = names(trial.path()).into_iter().find(|name| !before.contains(name));
        // Whether the folder can be written to is tried before, with an empty directory that goes away again.
        if let Some(left) = left.filter(|left| holds_something(&trial.place(left))) {
            break left;
        }
        assert!(child.try_wait().unwrap().is_none(), "{arguments:?} has ended");
        std::thread::sleep(std::time::Duration::from_millis(2));
    };
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(left.contains(".recast-tmp-"), "{left}");
    left
}

#[cfg(target_os = "linux")]
#[test]
fn what_killed_runs_left_is_removed_by_any_later_run_in_that_folder() {
    let trial = Trial::empty();
    array(&trial.place("small.zarr"));
    let endless = |name: &str, more: serde_json::Value, first: &[u8]| {
        let mut sample = Sample::new("float32", &[90_000_000], &[1], json!(1.5));
        for (member, value) in more.as_object().unwrap() {
            sample = sample.with(member, value.clone());
        }
        sample.create(&trial.place(name));
        // A run writes the first chunk at once, and no other: they are the fill value.
        fs::create_dir(trial.place(name).join("c")).unwrap();
        fs::write(trial.place(name).join("c/0"), first).unwrap();
    };
    endless("in.zarr", json!({}), &[0; 4]);
    let cast = json!([
        {"name": "cast_value", "configuration": {"data_type": "int16", "rounding": "towards-zero",
            "out_of_range": "clamp"}},
        little_endian(),
    ]);
    endless("packed.zarr", json!({"codecs": cast, "fill_value": 1.0}), &[0; 2]);
    endless("old.zarr", json!({"codecs": [quarters_as("<i2"), little_endian()]}), &[0; 2]);
    let place = |name: &str| path(&trial.place(name));
    let before = names(trial.path());
    for (command, input, more) in [
        ("unpack", "in.zarr", &[][..]),
        ("unpack", "packed.zarr", &["--to-cf"]),
        ("migrate", "old.zarr", &["--reencode"]),
    ] {
        let (input, output) = (place(input), place("never.zarr"));
        let left = killed(&trial, &[&[command, &input, &output], more].concat());
        assert!(left.starts_with("never.zarr.recast-tmp-"), "{left}");
        assert_eq!(names(trial.path()).len(), before.len() + 1);
        recast(&["pack", &place("small.zarr"), &place("next.zarr"), "-e", "0.1"]).succeeds();
        fs::remove_dir_all(place("next.zarr")).unwrap();
        assert_eq!(names(trial.path()), before, "{command}");
    }
}

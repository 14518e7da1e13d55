//! Runs beside one another, what killed ones leave, and what `--overwrite` replaces.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::common::{Folder, Sample, contents, metadata, names, open, quarters, recast, weather};
use serde_json::json;

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_recast"))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn array(path: &Path) {
    Sample::new("float32", &[64], &[16], json!(0)).write(path, &quarters(64));
}

/// `RECAST_TEST_RUNS` sets how many runs there are.
#[test]
fn runs_to_one_folder_at_the_same_time_all_end_well() {
    let runs = std::env::var("RECAST_TEST_RUNS").map_or(64, |runs| runs.parse().unwrap());
    let folder = Folder::new();
    array(&folder.input());
    let group = folder.path().join("group.zarr");
    weather(&group);
    folder.pack(&["-e", "0.1"]);
    let expected = contents(&folder.output());
    fs::remove_dir_all(folder.output()).unwrap();
    let (input, group) = (text(&folder.input()), text(&group));
    // Most write the same array; some beside it another one, or a group.
    let places = ["out.zarr", "out.zarr", "out.zarr", "second.zarr", "all.zarr", "out.zarr"];
    let mut failures = Vec::new();
    for round in 0..runs / 16 {
        if round % 2 == 0 {
            // The runs also compete to be the first.
            let _ = fs::remove_dir_all(folder.output());
        }
        let one = |number: usize| {
            let place = places[number % places.len()];
            let input = if place == "all.zarr" { &group } else { &input };
            let output = text(&folder.path().join(place));
            let arguments = ["pack", input, &output, "-e", "0.1", "--overwrite", "--quiet"];
            start(&[&arguments[..], &["--threads", "1"]].concat())
        };
        let children: Vec<Child> = (0..16).map(one).collect();
        for child in children {
            let ended = child.wait_with_output().unwrap();
            if !ended.status.success() {
                failures.push(String::from_utf8(ended.stderr).unwrap());
            }
        }
        assert_eq!(contents(&folder.output()), expected);
    }
    assert!(failures.is_empty(), "{} of {runs} runs: {failures:#?}", failures.len());
    assert_eq!(
        names(folder.path()),
        ["all.zarr", "group.zarr", "in.zarr", "out.zarr", "second.zarr"]
    );
}

/// A run killed while it writes; it has more chunks to go through than it could. Returns the name of what it has left.
#[cfg(target_os = "linux")]
fn killed(folder: &Folder, arguments: &[&str]) -> String {
    let before = names(folder.path());
    let mut child = start(arguments);
    let left = loop {
        let left = names(folder.path()).into_iter().find(|name| !before.contains(name));
        if let Some(left) = left {
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
    let folder = Folder::new();
    array(&folder.path().join("small.zarr"));
    let endless = |name: &str, more: serde_json::Value| {
        let mut sample = Sample::new("float32", &[90_000_000], &[1], json!(1.5));
        for (member, value) in more.as_object().unwrap() {
            sample = sample.with(member, value.clone());
        }
        sample.create(&folder.path().join(name));
    };
    endless("in.zarr", json!({}));
    let cast = json!([
        {"name": "cast_value", "configuration": {"data_type": "int16", "rounding": "towards-zero",
            "out_of_range": "clamp"}},
        {"name": "bytes", "configuration": {"endian": "little"}},
    ]);
    endless("packed.zarr", json!({"codecs": cast, "fill_value": 1.0}));
    let legacy = json!([
        {"name": "numcodecs.fixedscaleoffset", "configuration": {
            "scale": 4.0, "offset": 0.0, "dtype": "<f4", "astype": "<i2"}},
        {"name": "bytes", "configuration": {"endian": "little"}},
    ]);
    endless("old.zarr", json!({"codecs": legacy}));
    let place = |name: &str| text(&folder.path().join(name));
    let before = names(folder.path());
    for (command, input, more) in [
        ("unpack", "in.zarr", &[][..]),
        ("unpack", "packed.zarr", &["--to-cf"]),
        ("migrate", "old.zarr", &["--reencode"]),
    ] {
        let (input, output) = (place(input), place("never.zarr"));
        let left = killed(&folder, &[&[command, &input, &output], more].concat());
        assert!(left.starts_with("never.zarr.recast-tmp-"), "{left}");
        assert_eq!(names(folder.path()).len(), before.len() + 1);
        recast(&["pack", &place("small.zarr"), &place("next.zarr"), "-e", "0.1"]).succeeds();
        fs::remove_dir_all(place("next.zarr")).unwrap();
        assert_eq!(names(folder.path()), before, "{command}");
    }
}

#[test]
fn temporary_directories_inside_a_group_are_no_arrays_of_it() {
    let folder = Folder::new();
    weather(&folder.input());
    for name in ["t2m.recast-tmp-abcdef", "deep/t2m.recast-old-123"] {
        array(&folder.input().join(name));
    }
    let report = folder.pack(&["-e", "0.1"]);
    assert_eq!(report["arrays"].as_array().unwrap().len(), 7, "{report}");
    assert!(!folder.output().join("t2m.recast-tmp-abcdef").exists());
}

#[test]
fn overwrite_replaces_groups_as_it_replaces_arrays_in_every_command() {
    let folder = Folder::new();
    weather(&folder.input());
    let place = |name: &str| text(&folder.path().join(name));
    let packed = place("packed.zarr");
    recast(&["pack", &place("in.zarr"), &packed, "-e", "0.1"]).succeeds();
    let old = folder.path().join("old.zarr");
    fs::create_dir_all(old.join("one")).unwrap();
    fs::write(old.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    let document = json!({"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<f4",
        "fill_value": 0, "order": "C", "compressor": null, "filters": null});
    fs::write(old.join("one/.zarray"), document.to_string()).unwrap();
    fs::write(old.join("one/0"), quarters(4)).unwrap();
    let output = place("out.zarr");
    for arguments in [
        &["pack", &place("in.zarr"), &output, "-e", "0.1"][..],
        &["unpack", &packed, &output],
        &["unpack", &packed, &output, "--to-cf"],
        &["migrate", &text(&old), &output],
        &["migrate", &text(&old), &output, "--reencode"],
    ] {
        recast(arguments).succeeds();
        let expected = contents(&folder.output());
        fs::remove_dir_all(folder.output()).unwrap();
        // The old group has an array that the new one has not.
        weather(&folder.output());
        array(&folder.output().join("more"));
        let before = contents(&folder.output());
        let error = recast(arguments).fails(1);
        assert!(error.contains("exists; --overwrite replaces it"), "{error}");
        assert_eq!(contents(&folder.output()), before);
        recast(&[arguments, &["--overwrite"]].concat()).succeeds();
        assert_eq!(contents(&folder.output()), expected, "{arguments:?}");
        assert_eq!(names(folder.path()), ["in.zarr", "old.zarr", "out.zarr", "packed.zarr"]);
        // A job that fails leaves the old one.
        let none = place("none.zarr");
        let mut failing = arguments.to_vec();
        failing[1] = &none;
        failing.push("--overwrite");
        recast(&failing).fails(1);
        assert_eq!(contents(&folder.output()), expected, "{arguments:?}");
        fs::remove_dir_all(folder.output()).unwrap();
    }
}

#[test]
fn overwrite_replaces_no_group_by_an_array_and_no_array_by_a_group() {
    let folder = Folder::new();
    weather(&folder.input());
    array(&folder.path().join("array.zarr"));
    array(&folder.path().join("out.zarr"));
    let place = |name: &str| text(&folder.path().join(name));
    let before = contents(folder.path());
    let pack = |input: &str, output: &str| {
        recast(&["pack", &place(input), &place(output), "-e", "0.1", "--overwrite"])
    };
    let error = pack("in.zarr", "out.zarr").fails(1);
    assert!(error.contains("out.zarr: is an array, and a group would replace it"), "{error}");
    let error = pack("array.zarr", "in.zarr").fails(1);
    assert!(error.contains("in.zarr: is a group, and an array would replace"), "{error}");
    assert_eq!(contents(folder.path()), before);
    // An array of the group is another thing, once no consolidated metadata hold a copy of what it is now.
    let error = pack("array.zarr", "in.zarr/deep/t2m").fails(1);
    assert!(error.contains("in.zarr has consolidated metadata with a copy"), "{error}");
    assert_eq!(contents(folder.path()), before);
    let mut root = metadata(&folder.input());
    root.as_object_mut().unwrap().remove("consolidated_metadata").unwrap();
    fs::write(folder.input().join("zarr.json"), root.to_string()).unwrap();
    pack("array.zarr", "in.zarr/deep/t2m").succeeds();
    assert_eq!(open(&folder.input().join("deep/t2m")).shape(), [64]);
}

#[test]
fn an_output_is_the_input_however_it_is_spelled() {
    let folder = Folder::new();
    weather(&folder.input());
    let link = folder.path().join("link.zarr");
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.input(), &link).unwrap();
    let place = |name: &str| text(&folder.path().join(name));
    let before = contents(&folder.input());
    for (input, output) in [
        ("in.zarr", "in.zarr/"),
        ("in.zarr", "./in.zarr/../in.zarr"),
        ("in.zarr/t2m", "in.zarr/deep/../t2m"),
        ("link.zarr", "in.zarr"),
        ("link.zarr/t2m", "in.zarr/t2m"),
        ("in.zarr", "in.zarr/deep/new"),
        ("in.zarr/t2m", "in.zarr"),
    ] {
        if input.starts_with("link") && !link.exists() {
            continue;
        }
        let error =
            recast(&["pack", &place(input), &place(output), "-e", "0.1", "--overwrite"]).fails(1);
        assert!(error.contains("write to another place"), "{input} {output}: {error}");
    }
    assert_eq!(contents(&folder.input()), before);
}

//! `suggest`: what it prints, its page and its recast.toml, and its status.

use std::fs;

use crate::common::{Sample, Trial, bytes, create_group, kelvin, path, recast, weather};
use serde_json::{Value, json};

/// 60 × 250 temperatures in hundredths.
fn trial() -> Trial {
    let values: Vec<f32> = kelvin(15_000)
        .into_iter()
        .map(|value| ((f64::from(value) * 100.0).round() / 100.0) as f32)
        .collect();
    Trial::of(&Sample::new("float32", &[60, 250], &[60, 250], json!("NaN")), &bytes(&values))
}

/// The words of the command with a comment.
fn command_that(does: &str, text: &str) -> Vec<String> {
    let mut commands = text.lines().filter_map(|line| line.split_once("  # "));
    let (command, _) = commands.find(|(_, comment)| *comment == does).unwrap();
    command.split(' ').map(str::to_owned).collect()
}

#[test]
fn the_table_says_the_steps_and_ends_with_a_command_that_packs_without_loss() {
    let trial = trial();
    let [input, output] = trial.places();
    let text = recast(&["suggest", &input]).prints();
    for expected in ["all values are multiples of 0.01", "all elements", "loses nothing", "bound "]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let command = command_that("loses nothing", &text);
    assert!(text.lines().last().unwrap().starts_with(&command.join(" ")), "{text}");
    assert_eq!(command[..3], ["recast".to_owned(), "pack".to_owned(), input.clone()]);
    recast(&command[1..]).succeeds();
    assert_eq!(command[3], path(&trial.place("in_packed.zarr")));
    recast(&["verify", &input, &command[3]]).succeeds();
    assert!(!trial.output().exists() && !output.is_empty());
    let quiet = recast(&["suggest", &input, "--quiet"]).prints();
    assert_eq!(quiet, "");
}

/// Codes times step in float32, as xarray decodes CF: many are a last digit away from the nearest float32.
#[test]
fn the_command_that_loses_nothing_returns_every_bit_of_products() {
    for step in [0.01_f32, 0.005, 1.0 / 3.0] {
        let codes = kelvin(15_000).into_iter().map(|value| ((value - 273.15) / step).round());
        let values: Vec<f32> = codes.map(|code| code * step).collect();
        let sample = Sample::new("float32", &[60, 250], &[60, 250], json!("NaN"));
        let trial = Trial::of(&sample, &bytes(&values));
        let text = recast(&["suggest", &path(&trial.input())]).prints();
        let command = command_that("loses nothing", &text);
        recast(&command[1..]).succeeds();
        assert_eq!(recast(&["cat", &command[3]]).succeeds(), bytes(&values), "{step}");
    }
}

#[test]
fn the_json_has_a_ladder_with_the_figures_of_packing() {
    let trial = trial();
    let [input, _] = trial.places();
    let report = recast(&["suggest", &input, "--json", "--compressor", "gzip:1"]).reports();
    let ladder = report["ladder"].as_array().unwrap();
    assert!(ladder.len() >= 8);
    for rung in ladder {
        for member in [
            "max_abs_error",
            "bits",
            "stored_bytes",
            "ratio",
            "error_over_range",
            "snr_db",
            "information",
            "mark",
        ] {
            assert!(rung.get(member).is_some(), "{member}: {rung}");
        }
    }
    let marks: Vec<&str> = ladder.iter().filter_map(|rung| rung["mark"].as_str()).collect();
    assert!(marks.contains(&"loses nothing"), "{marks:?}");
    let rung = &ladder[3];
    let bound = rung["max_abs_error"].to_string();
    let packed = trial.packs(&["-e", &bound, "--compressor", "gzip:1"]);
    assert_eq!(packed["bytes"]["stored"], rung["stored_bytes"]);
    // What bounds cost where values stay plain numbers.
    let plain = recast(&["suggest", &input, "--json", "--readers", "any"]).reports();
    let types = plain["ladder"].as_array().unwrap().iter().map(|rung| &rung["data_type"]);
    assert!(types.into_iter().all(|one| one == "float32"), "{plain}");
    let command = plain["suggestions"][0]["arguments"].as_array().unwrap();
    assert!(command.contains(&json!("any")), "{command:?}");
}

#[test]
fn the_page_has_the_ladder_a_curve_and_the_information() {
    let trial = trial();
    let [input, _] = trial.places();
    let file = path(&trial.place("page.html"));
    recast(&["suggest", &input, "--report", &file]).succeeds();
    let page = fs::read_to_string(&file).unwrap();
    assert_eq!(page.matches("<svg ").count(), 2);
    for expected in [
        "Estimated size over the bound",
        "Information of each bit",
        "<th scope=\"col\">ratio</th>",
        "<td>loses nothing</td>",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    let error = recast(&["suggest", &input, "--report", &file]).fails(1);
    assert!(error.contains("exists") && error.contains("--overwrite"), "{error}");
}

#[test]
fn the_file_for_a_group_is_what_packing_takes() {
    let trial = Trial::empty();
    weather(&trial.input());
    let [input, output] = trial.places();
    let file = path(&trial.place("recast.toml"));
    let text = recast(&["suggest", &input, "--write", &file, "--missing", "-5000"]).prints();
    assert!(text.lines().any(|line| line.starts_with("t2m ")), "{text}");
    let command = command_that("packs the group by that file", &text);
    assert_eq!(command[4..], ["--config".to_owned(), file.clone()]);
    let tables = fs::read_to_string(&file).unwrap();
    assert!(
        tables.contains("name = \"deep/t2m\"") && tables.contains("missing = [-5000"),
        "{tables}"
    );
    let report = recast(&["pack", &input, &output, "--config", &file, "--json"]).reports();
    let suggested = recast(&["suggest", &input, "--json", "--missing", "-5000"]).reports();
    let outcome = |report: &Value, name: &str| {
        let arrays = report["arrays"].as_array().unwrap().iter();
        let mut found = arrays.filter(|one| one["array"] == name);
        found.next().unwrap()["outcome"].clone()
    };
    for name in ["t2m", "deep/t2m"] {
        assert_eq!(
            (outcome(&report, name), outcome(&suggested, name)),
            (json!("done"), json!("done"))
        );
    }
    assert_eq!(
        (outcome(&report, "lat"), outcome(&suggested, "lat")),
        (json!("kept"), json!("kept"))
    );
    let error = recast(&["suggest", &input, "--write", &file]).fails(1);
    assert!(error.contains("exists; --overwrite"), "{error}");
    // A page would replace it.
    for (name, page) in [("recast.toml", "recast.toml"), ("new.toml", "in.zarr/../new.toml")] {
        let [file, page] = [name, page].map(|name| path(&trial.place(name)));
        let run =
            recast(&["suggest", &input, "--write", &file, "--report", &page, "--overwrite"]).run();
        assert_eq!(run.status.code(), Some(2), "{}", run.stderr);
        assert!(run.stderr.contains("name two"), "{}", run.stderr);
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), tables);
    assert!(!trial.place("new.toml").exists());
}

#[test]
fn what_cannot_be_suggested_is_said_in_one_line() {
    let trial = Trial::new(&[1.0_f32, f32::INFINITY], 2, json!({}));
    let [input, _] = trial.places();
    let error = recast(&["suggest", &input]).fails(1);
    assert!(error.contains("Infinity") && error.contains("--infinity"), "{error}");
    let usage = recast(&["suggest", &input, "--write", "recast.toml"]).run();
    assert_eq!(usage.status.code(), Some(2), "{}", usage.stderr);
    for (values, sentence) in [(&[][..], "no elements"), (&[2.5_f32][..], "all values are equal")] {
        let trial = Trial::new(values, 1, json!({"fill_value": "NaN"}));
        let text = recast(&["suggest", &trial.places()[0]]).prints();
        assert!(text.contains(sentence), "{text}");
    }
    let trial = Trial::empty();
    create_group(&trial.input());
    Sample::new("float32", &[2], &[2], json!(0.0))
        .write(&trial.input().join("a"), &bytes(&[1.0_f32, f32::NEG_INFINITY]));
    Sample::new("float32", &[3], &[3], json!(0.0))
        .write(&trial.input().join("b"), &bytes(&[1.0_f32, 7.0, 9.0]));
    let run = recast(&["suggest", &trial.places()[0]]).run();
    assert_eq!(run.status.code(), Some(1));
    assert!(run.stderr.contains("nothing to suggest for 1 of 2 arrays: a ("), "{}", run.stderr);
}

/// The output of the suggested command is in no group of the input, whatever the words of the path.
#[test]
fn suggested_outputs_lie_beside_the_outermost_group() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let group = root.join("raw.zarr");
    for path in ["", "deep"] {
        fs::create_dir_all(group.join(path)).unwrap();
        create_group(&group.join(path));
    }
    let values = bytes(&kelvin(500));
    for path in ["u10", "deep/t2m"] {
        Sample::new("float32", &[500], &[500], json!("NaN")).write(&group.join(path), &values);
    }
    let beside = |name: &str| path(&root.join(name));
    for (from, input, output) in [
        (&root, "raw.zarr/u10", "u10_packed.zarr".to_owned()),
        (&root, "./raw.zarr/deep/t2m/", "./t2m_packed.zarr".to_owned()),
        (&root, "raw.zarr", "raw_packed.zarr".to_owned()),
        (&root, "raw.zarr/deep", "deep_packed.zarr".to_owned()),
        (&group, "u10", beside("u10_packed.zarr")),
        (&group, ".", beside("raw_packed.zarr")),
        (&group, "../raw.zarr/u10", "../u10_packed.zarr".to_owned()),
        (&group.join("deep"), "../u10", beside("u10_packed.zarr")),
    ] {
        let text = recast(&["suggest", input]).inside(from).prints();
        let packs = |line: &&str| line.trim_start().starts_with("recast pack");
        let line = text.lines().find(packs).unwrap();
        assert_eq!(line.split_whitespace().nth(3), Some(output.as_str()), "{input}: {line}");
    }
    let input = path(&group.join("u10"));
    let command = ["pack", &input, &path(&group.join("packed")), "-e", "0.1"];
    let error = recast(&command).fails(1);
    assert!(error.contains("--into-group") && error.contains(&path(&group)), "{error}");
    recast(&[&command[..], &["--into-group"]].concat()).succeeds();
}

/// From wherever they are printed, lines to copy neither write into what is read nor fail.
#[test]
fn lines_to_copy_run_as_printed_from_inside_of_what_they_name() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (array, group) = (root.join("rel"), root.join("grp.zarr"));
    let values = bytes(&kelvin(500));
    let sample = Sample::new("float32", &[500], &[500], json!("NaN"));
    sample.write(&array, &values);
    fs::create_dir(&group).unwrap();
    create_group(&group);
    sample.write(&group.join("t2m"), &values);
    for (from, input) in
        [(&array, "."), (&array.join("c"), ".."), (&group, "."), (&group, "../grp.zarr")]
    {
        let text = recast(&["suggest", input]).inside(from).prints();
        let lines =
            text.lines().filter_map(|line| line.split("  # ").next()?.strip_prefix("recast "));
        let lines: Vec<&str> = lines.collect();
        assert!(!lines.is_empty(), "{text}");
        for line in lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            recast(&words).inside(from).succeeds();
            let output = words.iter().find(|word| word.ends_with("_packed.zarr"));
            if let Some(output) = output {
                fs::remove_dir_all(from.join(output)).unwrap();
            }
        }
        let _ = fs::remove_file(root.join("recast.toml"));
    }
    // A group without anything to pack has none.
    fs::remove_dir_all(group.join("t2m")).unwrap();
    Sample::new("int32", &[2], &[2], json!(0)).write(&group.join("flag"), &[0; 8]);
    let text = recast(&["suggest", "grp.zarr"]).inside(&root).prints();
    assert!(!text.contains("recast "), "{text}");
}

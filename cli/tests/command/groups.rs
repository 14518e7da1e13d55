//! `unpack`, `verify`, `compare`, `info` and `cat` with groups.

use std::fs;
use std::path::Path;

use crate::common::{self, Folder, Sample, contents, metadata, quarters, recast, weather};
use serde_json::{Value, json};

/// The arrays of `weather`.
const ARRAYS: [&str; 7] = ["deep/t2m", "flag", "lat", "lat_bounds", "lon", "t2m", "wind"];

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn json_of(arguments: &[&str]) -> Value {
    serde_json::from_slice(&recast(arguments).succeeds()).unwrap()
}

/// The elements of an array in a group.
fn cat(group: &Path, array: &str) -> Vec<u8> {
    recast(&["cat", &text(&group.join(array))]).succeeds()
}

/// A group, and the same packed.
fn packed() -> (Folder, String, String) {
    let folder = Folder::new();
    weather(&folder.input());
    names(&folder.input());
    folder.pack(&["-e", "0.01"]);
    let (input, output) = (text(&folder.input()), text(&folder.output()));
    (folder, input, output)
}

/// Puts an array into the group whose type has no numbers.
fn names(group: &Path) {
    fs::create_dir_all(group.join("names/c")).unwrap();
    let document = json!({
        "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "string",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": "", "codecs": [{"name": "vlen-utf8"}], "attributes": {},
    });
    fs::write(group.join("names/zarr.json"), document.to_string()).unwrap();
    fs::write(group.join("names/c/0"), b"\x02\0\0\0\x01\0\0\0a\x01\0\0\0b").unwrap();
}

fn outcomes(report: &Value) -> Vec<(&str, &str)> {
    let arrays = report["arrays"].as_array().unwrap().iter();
    arrays.map(|one| (one["array"].as_str().unwrap(), one["outcome"].as_str().unwrap())).collect()
}

#[test]
fn an_unpacked_group_has_plain_values_and_all_its_metadata() {
    let (folder, input, packed) = packed();
    let plain = folder.path().join("plain.zarr");
    let report = json_of(&["unpack", "--json", &packed, &text(&plain)]);
    let actions: Vec<(&str, &str)> = report["arrays"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["array"].as_str().unwrap(), one["action"].as_str().unwrap()))
        .collect();
    let unpacked = ["deep/t2m", "t2m", "wind"];
    assert_eq!(actions.len(), 8, "{report}");
    for (array, action) in actions {
        let expected = if unpacked.contains(&array) { "unpacked" } else { "copied" };
        assert_eq!(action, expected, "{array}");
    }
    for array in ARRAYS {
        assert_eq!(cat(&plain, array), cat(Path::new(&packed), array), "{array}");
        let (plain, input) =
            (metadata(&plain.join(array)), metadata(&Path::new(&input).join(array)));
        assert!(!plain["codecs"].to_string().contains("cast_value"), "{array}");
        assert_eq!(plain["dimension_names"], input["dimension_names"], "{array}");
        assert_eq!(plain["attributes"], input["attributes"], "{array}");
    }
    for array in ["flag", "lat", "names"] {
        let original = contents(&Path::new(&input).join(array));
        assert_eq!(contents(&plain.join(array)), original, "{array}");
    }
    let root = metadata(&plain);
    assert_eq!(root["attributes"], json!({"title": "weather"}));
    let copies = root["consolidated_metadata"]["metadata"].as_object().unwrap();
    assert_eq!(copies.len(), 9);
    for (path, copy) in copies {
        assert_eq!(*copy, metadata(&plain.join(path)), "{path}");
    }
    assert!(metadata(&plain.join("deep")).get("consolidated_metadata").is_none());
}

#[test]
fn the_report_of_an_unpacked_group_has_a_line_for_each_array() {
    let (folder, _, packed) = packed();
    let plain = text(&folder.path().join("plain.zarr"));
    let report = String::from_utf8(recast(&["unpack", &packed, &plain, "-v"]).succeeds()).unwrap();
    assert!(report.contains("3 unpacked, 5 copied"), "{report}");
    let line = |array: &str| {
        let found = report.lines().find(|line| line.split_whitespace().next() == Some(array));
        found.unwrap_or_else(|| panic!("{array} in {report}"))
    };
    assert!(line("t2m").contains("float32"), "{report}");
    assert!(line("flag").contains("no value codecs"), "{report}");
}

#[test]
fn a_group_is_unpacked_to_cf_and_its_integers_stay_the_same_files() {
    let (folder, _, packed) = packed();
    let cf = folder.path().join("cf.zarr");
    let report = json_of(&["unpack", "--to-cf", "--json", &packed, &text(&cf)]);
    let one = report["arrays"].as_array().unwrap().iter().find(|one| one["array"] == "t2m");
    assert_eq!(one.unwrap()["action"], "to_cf", "{report}");
    let document = metadata(&cf.join("t2m"));
    assert!(document["attributes"]["scale_factor"].is_number(), "{document}");
    assert_eq!(document["attributes"]["units"], "K");
    let chunk = |group: &Path| fs::read(group.join("t2m/c/0/0")).unwrap();
    assert_eq!(chunk(&cf), chunk(Path::new(&packed)));
}

#[test]
fn an_array_that_cf_cannot_say_is_named_and_nothing_is_left_behind() {
    let folder = Folder::new();
    weather(&folder.input());
    folder.pack(&["-e", "0.1", "-t", "float16"]);
    let before = common::names(folder.path());
    let place = text(&folder.path().join("cf.zarr"));
    let error = recast(&["unpack", "--to-cf", &text(&folder.output()), &place]).fails(1);
    assert!(error.contains("deep/t2m") && error.contains("without --to-cf"), "{error}");
    assert_eq!(common::names(folder.path()), before);
}

#[test]
fn groups_within_the_tolerance_pass_and_the_table_has_a_line_for_each_array_and_a_total() {
    let (_folder, input, packed) = packed();
    let table = recast(&["verify", "--atol", "0.01", &input, &packed, "-v"]).succeeds();
    let table = String::from_utf8(table).unwrap();
    for array in ARRAYS {
        assert!(table.lines().any(|line| line.split_whitespace().next() == Some(array)), "{table}");
    }
    assert!(table.contains("no numbers; the same values"), "{table}");
    assert!(table.lines().any(|line| line == "total       8 arrays compared"), "{table}");
    assert!(table.contains("0 elements, in 0 arrays"), "{table}");
}

/// As [`packed`], but an element of `wind` is 7.5.
fn with_one_element_off() -> (Folder, String, String) {
    let (folder, input, packed) = packed();
    let mut elements = quarters(12);
    elements[4..8].copy_from_slice(&7.5_f32.to_ne_bytes());
    let wind = Path::new(&packed).join("wind");
    fs::remove_dir_all(&wind).unwrap();
    Sample::new("float32", &[3, 4], &[3, 4], json!(0)).write(&wind, &elements);
    (folder, input, packed)
}

#[test]
fn a_group_with_one_array_over_the_tolerance_fails_and_it_is_named() {
    let (_folder, input, packed) = with_one_element_off();
    let run = recast(&["verify", "--atol", "0.01", "--json", &input, &packed]).run();
    assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("1 of 8 arrays fail: wind;"), "{}", run.stderr);
    assert!(run.stderr.contains("1 of 12 elements differ") && run.stderr.contains("[0, 1]"));
    let report: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(report["total"]["over"], 1);
    assert_eq!(report["total"]["arrays_over"], 1);
    assert_eq!(report["total"]["compared"], 8);
    // To see how far they differ is no failure.
    let report = json_of(&["compare", "--json", &input, &packed]);
    assert_eq!(report["total"]["over"], Value::Null);
    let wind = report["arrays"].as_array().unwrap().iter().find(|one| one["array"] == "wind");
    assert_eq!(wind.unwrap()["report"]["error"]["max"], 7.25);
}

/// Whoever reads the table, or nobody.
#[cfg(unix)]
#[test]
fn a_group_that_fails_exits_1_whoever_reads_the_output() {
    let (_folder, input, packed) = with_one_element_off();
    for (way, expected) in [
        ("CHECK | true; exit ${PIPESTATUS[0]}", 1),
        ("CHECK >&-", 1),
        ("CHECK >/dev/full 2>/dev/full", 1),
        ("CHECK --atol 100 | true; exit ${PIPESTATUS[0]}", 0),
    ] {
        let line = way.replace("CHECK", "\"$0\" verify \"$1\" \"$2\"");
        let program = env!("CARGO_BIN_EXE_recast");
        let mut shell = std::process::Command::new("bash");
        shell.args(["-c", &line, program, &input, &packed]).stderr(std::process::Stdio::null());
        assert_eq!(shell.status().unwrap().code(), Some(expected), "{way}");
    }
}

#[test]
fn arrays_of_one_side_are_named_and_fail_only_a_check() {
    let (_folder, input, packed) = packed();
    fs::remove_dir_all(Path::new(&packed).join("wind")).unwrap();
    fs::remove_dir_all(Path::new(&input).join("deep/t2m")).unwrap();
    let report = json_of(&["compare", "--json", &input, &packed]);
    let sides: Vec<_> =
        outcomes(&report).into_iter().filter(|(_, outcome)| outcome.starts_with("only")).collect();
    assert_eq!(sides, [("deep/t2m", "only_in_b"), ("wind", "only_in_a")]);
    assert_eq!(
        (&report["total"]["only_in_a"], &report["total"]["only_in_b"]),
        (&json!(1), &json!(1))
    );
    let table = String::from_utf8(recast(&["compare", &input, &packed]).succeeds()).unwrap();
    assert!(table.contains("6 arrays compared, 1 only in A, 1 only in B"), "{table}");
    let error = recast(&["verify", "--atol", "0.01", &input, &packed]).fails(1);
    assert!(error.contains("2 of 8 arrays fail: deep/t2m, wind"), "{error}");
}

#[test]
fn an_array_that_cannot_be_compared_fails_and_the_others_are_compared() {
    let (_folder, input, packed) = packed();
    let lat = Path::new(&packed).join("lat");
    fs::remove_dir_all(&lat).unwrap();
    Sample::new("float32", &[5], &[5], json!(0)).write(&lat, &quarters(5));
    fs::write(Path::new(&packed).join("names/c/0"), "other bytes").unwrap();
    for command in ["compare", "verify"] {
        let mut arguments = vec![command, "--json", &input, &packed];
        if command == "verify" {
            arguments.extend(["--atol", "0.01"]);
        }
        let run = recast(&arguments).run();
        assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
        assert!(run.stderr.contains("2 of 8 arrays fail: lat, names"), "{}", run.stderr);
        assert!(run.stderr.contains("the shape is [5]"), "{}", run.stderr);
        let report: Value = serde_json::from_slice(&run.stdout).unwrap();
        let failed: Vec<_> =
            outcomes(&report).into_iter().filter(|(_, outcome)| *outcome == "failed").collect();
        assert_eq!(failed, [("lat", "failed"), ("names", "failed")]);
        assert_eq!(report["total"]["compared"], 6);
    }
}

#[test]
fn a_group_beside_an_array_is_an_error_that_says_what_to_name() {
    let (_folder, input, packed) = packed();
    let array = format!("{packed}/t2m");
    for pair in [[input.as_str(), &array], [&array, &input]] {
        let error = recast(&["verify", pair[0], pair[1]]).fails(1);
        assert!(error.contains(&array) && error.contains("name an array in it"), "{error}");
    }
}

#[test]
fn a_page_about_two_groups_has_a_part_for_each_array_that_was_compared() {
    let (folder, input, packed) = packed();
    let page = folder.path().join("page.html");
    recast(&["compare", "--report", &text(&page), &input, &packed]).succeeds();
    let page = fs::read_to_string(page).unwrap();
    for array in ARRAYS {
        assert!(page.contains(&format!("<h2>{array}</h2>")), "{array}");
    }
    assert_eq!(page.matches("<h2>").count(), ARRAYS.len());
}

#[test]
fn info_lists_the_arrays_of_a_group_and_their_sizes() {
    let (_folder, _, packed) = packed();
    let table = String::from_utf8(recast(&["info", &packed]).succeeds()).unwrap();
    let line = |array: &str| {
        let found = table.lines().find(|line| line.split_whitespace().next() == Some(array));
        found.unwrap_or_else(|| panic!("{array} in {table}")).to_owned()
    };
    assert!(line("t2m").contains("float32 [3, 4], stored as int8"), "{table}");
    assert!(line("flag").contains("uint8 [3, 4], "), "{table}");
    assert!(line("names").ends_with("string has no numbers to show"), "{table}");
    assert!(line("total").contains("8 arrays and 1 group, "), "{table}");

    let info = json_of(&["info", "--json", &packed]);
    assert_eq!(info["attributes"], json!({"title": "weather"}));
    assert_eq!(info["consolidated"], true);
    assert_eq!(info["groups"], json!(["deep"]));
    let arrays = info["arrays"].as_array().unwrap();
    let paths: Vec<&str> = arrays.iter().map(|one| one["path"].as_str().unwrap()).collect();
    assert_eq!(paths.len(), 8, "{paths:?}");
    for one in arrays {
        let path = one["path"].as_str().unwrap();
        if path == "names" {
            assert_eq!(one["error"], "string has no numbers to show");
            continue;
        }
        let alone = json_of(&["info", "--json", &format!("{packed}/{path}")]);
        assert_eq!(one["codecs"], alone["codecs"], "{path}");
        let chunks = contents(&Path::new(&packed).join(path)).into_iter();
        let chunks = chunks.filter(|(name, _)| name != Path::new("zarr.json"));
        let size: usize = chunks.map(|(_, bytes)| bytes.len()).sum();
        assert_eq!(one["stored"], size, "{path}");
    }
}

#[test]
fn cat_names_an_array_in_a_group() {
    let (_folder, _, packed) = packed();
    let expected = cat(Path::new(&packed), "deep/t2m");
    assert!(!expected.is_empty());
    for array in ["deep/t2m", "/deep/t2m/"] {
        assert_eq!(recast(&["cat", &packed, array]).succeeds(), expected, "{array}");
    }
    for array in ["../in.zarr/t2m", "", "deep//t2m"] {
        let error = recast(&["cat", &packed, array]).fails(1);
        assert!(error.contains("not the path of an array in a group"), "{error}");
    }
    let error = recast(&["cat", &packed]).fails(1);
    assert!(error.contains("name one of the arrays in it: deep, flag, lat"), "{error}");
}

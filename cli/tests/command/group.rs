//! `recast pack` of a group: what is picked is packed, what is not stays as it is.

use std::fs;
use std::path::Path;

use crate::common::{Folder, Sample, contents, f32s, metadata, quarters, recast, weather};
use serde_json::{Value, json};

/// The names of the arrays that were packed.
fn packed(report: &Value) -> Vec<&str> {
    let arrays = report["arrays"].as_array().unwrap();
    let packed = arrays.iter().filter(|array| array["action"] == "packed");
    packed.map(|array| array["array"].as_str().unwrap()).collect()
}

fn is_packed(path: &Path) -> bool {
    metadata(path)["codecs"].to_string().contains("cast_value")
}

#[test]
fn fields_are_packed_and_everything_else_is_the_same_files() {
    let folder = Folder::new();
    weather(&folder.input());
    let report = folder.pack(&["-e", "0.01"]);
    assert_eq!(packed(&report), ["deep/t2m", "t2m", "wind"]);
    let (input, output) = (folder.input(), folder.output());
    for name in ["flag", "lat", "lat_bounds", "lon"] {
        assert_eq!(contents(&output.join(name)), contents(&input.join(name)), "{name}");
    }
    assert!(is_packed(&output.join("t2m")) && is_packed(&output.join("deep/t2m")));
    let before = recast(&["cat", input.join("t2m").to_str().unwrap()]).succeeds();
    let after = recast(&["cat", output.join("t2m").to_str().unwrap()]).succeeds();
    assert_eq!(before, after);
    let attributes = &metadata(&output.join("t2m"))["attributes"];
    assert_eq!(attributes["coordinates"], "height lon");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn the_copies_of_metadata_in_a_group_are_those_of_what_is_there() {
    let folder = Folder::new();
    weather(&folder.input());
    folder.pack(&["-e", "0.01"]);
    let output = folder.output();
    let root = metadata(&output);
    assert_eq!(root["attributes"], json!({"title": "weather"}));
    let copies = root["consolidated_metadata"]["metadata"].as_object().unwrap();
    assert_eq!(copies.len(), 8);
    for (path, copy) in copies {
        assert_eq!(*copy, metadata(&output.join(path)), "{path}");
    }
    // A group that had none has none.
    assert!(metadata(&output.join("deep")).get("consolidated_metadata").is_none());
}

#[test]
fn nothing_replaces_an_array_whose_metadata_a_group_above_holds_a_copy_of() {
    let folder = Folder::new();
    weather(&folder.input());
    folder.pack(&["-e", "0.01"]);
    let before = contents(&folder.output());
    let input = folder.input().join("t2m");
    for (place, is_free) in [("t2m", false), ("deep/t2m", false), ("deep/new", true)] {
        let output = folder.output().join(place);
        let pack =
            ["pack", "-e", "0.1", "--overwrite", input.to_str().unwrap(), output.to_str().unwrap()];
        if is_free {
            recast(&pack).succeeds();
            fs::remove_dir_all(output).unwrap();
        } else {
            let error = recast(&pack).fails(1);
            assert!(error.contains("out.zarr has consolidated metadata with a copy"), "{error}");
            assert!(
                error.contains("write that group as a whole, or to a place outside"),
                "{error}"
            );
        }
        assert_eq!(contents(&folder.output()), before, "{place}");
    }
}

#[test]
fn names_and_paths_pick_arrays() {
    for (flags, expected) in [
        (&["--include", "t2m"][..], &["t2m"][..]),
        (&["--include", "**/t2m"], &["deep/t2m", "t2m"]),
        (&["--include", "deep/*"], &["deep/t2m"]),
        (&["--include", "lat", "--include", "w*"], &["lat", "wind"]),
        (&["--exclude", "t2m"], &["deep/t2m", "wind"]),
        (&["--exclude", "**/t2m", "--include", "t2m"], &[]),
        (&["--all"], &["deep/t2m", "lat", "lat_bounds", "lon", "t2m", "wind"]),
    ] {
        let folder = Folder::new();
        weather(&folder.input());
        let flags = [flags, &["-e", "0.01"]].concat();
        if expected.is_empty() {
            let error = folder.refuses(&flags);
            assert!(error.contains("none of 7 arrays is to be packed"), "{error}");
        } else {
            assert_eq!(packed(&folder.pack(&flags)), expected, "{flags:?}");
        }
    }
}

#[test]
fn names_that_match_nothing_are_errors_and_patterns_warnings() {
    let folder = Folder::new();
    weather(&folder.input());
    for (flags, expected) in [
        (["--include", "t2n"], "--include t2n: no such array; the nearest names are t2m, deep/t2m"),
        (["--exclude", "winds"], "--exclude winds: no such array; the nearest names are wind"),
        (["--exclude", "deep"], "--exclude deep: a group, and no array; deep/** is for all"),
    ] {
        let error = folder.refuses(&[&["-e", "0.01"], &flags[..]].concat());
        assert!(error.contains(expected), "{error}");
    }
    let (input, output) = (folder.input(), folder.output());
    let [input, output] = [&input, &output].map(|path| path.to_str().unwrap());
    let report = recast(&["pack", "-e", "0.01", input, output, "--exclude", "x*"]).succeeds();
    let report = String::from_utf8(report).unwrap();
    assert!(
        report.lines().any(|line| line == "warning  --exclude x* matches no array"),
        "{report}"
    );
}

/// One bound for all arrays of a group leaves nothing of those with small numbers.
#[test]
fn a_bound_that_leaves_little_of_an_array_is_in_the_headline() {
    let folder = Folder::new();
    weather(&folder.input());
    let rain: Vec<u8> = (0..12).flat_map(|i| (1e-5 * i as f32).to_ne_bytes()).collect();
    let wind = folder.input().join("wind");
    Sample::new("float32", &[3, 4], &[3, 4], json!(-1)).write(&wind, &rain);
    let (input, output) = (folder.input(), folder.output());
    let [input, output] = [&input, &output].map(|path| path.to_str().unwrap());
    let sentence = "the bound 0.01 is 90.91 times the range of the values";
    let run = |flags: &[&str], input: &str| {
        let report = recast(&[&["pack", "-e", "0.01", input, output], flags].concat()).succeeds();
        String::from_utf8(report).unwrap()
    };
    let page = folder.path().join("page.html");
    for flags in [&["--dry-run"][..], &["--report", page.to_str().unwrap()]] {
        let report = run(flags, input);
        let first = report.lines().next().unwrap();
        assert!(first.ends_with("; the bound is coarse for 1 array"), "{report}");
        let line = report.lines().find(|line| line.starts_with("coarse")).unwrap();
        assert!(line.contains("wind: ") && line.contains(sentence), "{report}");
    }
    assert!(fs::read_to_string(page).unwrap().contains(sentence));
    for flags in [&["--dry-run"][..], &["--overwrite"]] {
        fs::remove_dir_all(output).unwrap_or_default();
        let report = run(flags, wind.to_str().unwrap());
        assert!(report.lines().next().unwrap().contains(sentence), "{report}");
    }
    fs::remove_dir_all(output).unwrap();
    let report = folder.pack(&["--error-over-range", "1e-3"]);
    for entry in report["arrays"].as_array().unwrap() {
        assert!(entry["report"]["coarse"].is_null(), "{entry}");
    }
}

#[test]
fn a_configuration_says_how_for_each() {
    let folder = Folder::new();
    weather(&folder.input());
    let config = folder.path().join("recast.toml");
    let text = r#"
        [[array]]
        name = "deep/*"
        skip = true
        [[array]]
        name = "t2m"
        max-abs-error = 0.2
        data-type = "uint16"
        [[array]]
        name = "w?nd"
        precision = 0.25
    "#;
    fs::write(&config, text).unwrap();
    let report = folder.pack(&["--config", config.to_str().unwrap()]);
    assert_eq!(packed(&report), ["t2m", "wind"]);
    let cast = |path: &str| {
        let codecs = metadata(&folder.output().join(path))["codecs"].clone();
        let mut codecs = codecs.as_array().unwrap().iter();
        let cast = codecs.rfind(|codec| codec["name"] == "cast_value").unwrap().clone();
        cast["configuration"]["data_type"].as_str().unwrap().to_owned()
    };
    assert_eq!(cast("t2m"), "uint16");
    assert_eq!(cast("wind"), "int8");
    for (text, expected) in [
        (
            "[[array]]\nname = \"x\"\nmax_error = 1",
            "array 1: unknown field `max_error`, expected one of",
        ),
        ("[[array]]\nmax-abs-error = 1", "array 1: name is missing"),
        ("[[array]]\nname = \"x\"\nmax-abs-error = \"many\"", "a finite number"),
        (
            "[[array]]\nname = \"names\"\nmax-abs-error = 1",
            "is not a type that can be packed, and --config has a table",
        ),
        ("[arrays]", "no [[array]] in it"),
        ("= 1", "recast.toml"),
    ] {
        let other = Folder::new();
        weather(&other.input());
        let strings =
            json!({"zarr_format": 3, "node_type": "array", "data_type": "string", "shape": [1]});
        fs::create_dir(other.input().join("names")).unwrap();
        fs::write(other.input().join("names/zarr.json"), strings.to_string()).unwrap();
        let config = other.path().join("recast.toml");
        fs::write(&config, text).unwrap();
        let error = other.refuses(&["--config", config.to_str().unwrap()]);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn groups_of_zarr_v2_become_zarr_v3() {
    let folder = Folder::new();
    let input = folder.input();
    let array = |name: &str, dtype: &str, dimensions: &Value, bytes: &[u8]| {
        let array = input.join(name);
        fs::create_dir_all(&array).unwrap();
        let rank = dimensions.as_array().unwrap().len();
        let document = json!({
            "zarr_format": 2, "shape": vec![2; rank], "chunks": vec![2; rank], "dtype": dtype,
            "fill_value": null, "order": "C", "compressor": null, "filters": null,
        });
        fs::write(array.join(".zarray"), document.to_string()).unwrap();
        let attributes = json!({"_ARRAY_DIMENSIONS": dimensions});
        fs::write(array.join(".zattrs"), attributes.to_string()).unwrap();
        fs::write(array.join(vec!["0"; rank].join(".")), bytes).unwrap();
    };
    let big: Vec<u8> = [1.0_f32, 2.0, 3.0, 4.5].iter().flat_map(|x| x.to_be_bytes()).collect();
    array("field", ">f4", &json!(["x", "y"]), &big);
    array("x", ">f4", &json!(["x"]), &big[..8]);
    array("mask", "|b1", &json!(["x"]), &[0, 1]);
    fs::write(input.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    fs::write(input.join(".zattrs"), r#"{"title": "old"}"#).unwrap();
    fs::write(input.join(".zmetadata"), r#"{"metadata": {}}"#).unwrap();

    let report = folder.pack(&["-e", "0.1"]);
    assert_eq!(packed(&report), ["field"]);
    let output = folder.output();
    let names: Vec<String> =
        contents(&output).into_keys().map(|path| path.display().to_string()).collect();
    assert!(names.iter().all(|name| !name.contains(".z")), "{names:?}");
    assert_eq!(fs::read(output.join("x/0")).unwrap(), big[..8]);
    assert_eq!(metadata(&output.join("x"))["dimension_names"], json!(["x"]));
    // The attribute is a member now, also in what is packed and unpacked from there.
    let unpacked = folder.path().join("unpacked");
    recast(&["unpack", input.join("field").to_str().unwrap(), unpacked.to_str().unwrap()])
        .succeeds();
    for written in [output.join("field"), unpacked] {
        let document = metadata(&written);
        assert_eq!(document["dimension_names"], json!(["x", "y"]));
        assert_eq!(document["attributes"].get("_ARRAY_DIMENSIONS"), None);
    }
    assert_eq!(metadata(&output.join("mask"))["data_type"], "bool");
    assert_eq!(metadata(&output)["attributes"], json!({"title": "old"}));
    let copies = &metadata(&output)["consolidated_metadata"]["metadata"];
    assert_eq!(copies["x"], metadata(&output.join("x")));
    let values = recast(&["cat", output.join("x").to_str().unwrap()]).succeeds();
    assert_eq!(values, [1.0_f32, 2.0].map(f32::to_le_bytes).concat());
}

#[test]
fn cf_attributes_are_converted_all_over_a_group() {
    let folder = Folder::new();
    let input = folder.input();
    for (name, attributes) in [("a", json!({"scale_factor": 0.5})), ("b", json!({"units": "1"}))] {
        Sample::new("int8", &[3], &[3], json!(0))
            .with("attributes", attributes)
            .write(&input.join(name), &[1, 2, 3]);
    }
    fs::write(input.join("zarr.json"), r#"{"zarr_format":3,"node_type":"group"}"#).unwrap();
    let report = folder.pack(&["--from-cf"]);
    assert_eq!(packed(&report), ["a"]);
    assert_eq!(contents(&folder.output().join("b")), contents(&input.join("b")));
    let values = recast(&["cat", folder.output().join("a").to_str().unwrap()]).succeeds();
    assert_eq!(values, [0.5_f32, 1.0, 1.5].map(f32::to_le_bytes).concat());
}

#[test]
fn one_array_that_fails_leaves_nothing_behind() {
    let folder = Folder::new();
    weather(&folder.input());
    let error = folder.refuses(&["-e", "0.001", "-t", "uint2"]);
    assert!(error.contains("deep/t2m") && error.contains("--exclude"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let array = folder.input().join("t2m");
    let out = folder.output();
    let paths = [array.to_str().unwrap(), out.to_str().unwrap()];
    let error = recast(&[&["pack", "-e", "1", "--all"], &paths[..]].concat()).fails(2);
    assert!(error.contains("is not a group"), "{error}");
}

#[test]
fn named_arrays_of_a_group_have_one_scale() {
    let high: Vec<u8> = (0..12).flat_map(|i| (90.0 + i as f32 / 7.0).to_ne_bytes()).collect();
    for (names, of_one_scale, apart) in [
        (["**/t2m", "wind"], &["t2m", "wind", "deep/t2m"][..], None),
        (["deep/*", "wind"], &["wind", "deep/t2m"], Some("t2m")),
    ] {
        let folder = Folder::new();
        weather(&folder.input());
        let wind = folder.input().join("wind");
        Sample::new("float32", &[3, 4], &[3, 4], json!(0)).write(&wind, &high);
        folder.pack(&["-e", "0.01", "--scale-from", names[0], names[1]]);
        let codecs = |path: &str| metadata(&folder.output().join(path))["codecs"].clone();
        for path in of_one_scale {
            assert_eq!(codecs(path), codecs("wind"), "{names:?} {path}");
        }
        assert!(apart.is_none_or(|path| codecs(path) != codecs("wind")), "{names:?}");
    }
    let folder = Folder::new();
    weather(&folder.input());
    let error = folder.refuses(&["-e", "0.01", "--scale-from", "flag"]);
    assert!(error.contains("--scale-from flag: not to be packed"), "{error}");
}

#[test]
fn a_dry_run_of_a_group_writes_nothing_and_says_what_would_become_of_each_array() {
    let folder = Folder::new();
    weather(&folder.input());
    let before = contents(folder.path());
    let planned = folder.pack(&["-e", "0.01", "--dry-run"]);
    assert_eq!(contents(folder.path()), before);
    let paths = [folder.input(), folder.output()].map(|path| path.display().to_string());
    let text = recast(&["pack", &paths[0], &paths[1], "-e", "0.01", "--dry-run"]).succeeds();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("nothing written"), "{text}");
    let report = folder.pack(&["-e", "0.01"]);
    assert_eq!([&planned["dry_run"], &report["dry_run"]], [true, false]);
    assert_eq!(packed(&planned), packed(&report));
    for (planned, made) in
        planned["arrays"].as_array().unwrap().iter().zip(report["arrays"].as_array().unwrap())
    {
        assert_eq!(planned["report"]["codecs"], made["report"]["codecs"]);
        assert_eq!(planned["report"]["output"], made["report"]["output"]);
        if planned["action"] == "packed" {
            let codecs = format!("{}: \"codecs\": [", planned["array"].as_str().unwrap());
            assert!(text.contains(&codecs), "{text}");
        }
    }
}

#[test]
fn the_page_of_a_group_has_a_part_for_each_array_that_is_packed() {
    let folder = Folder::new();
    weather(&folder.input());
    let page = folder.path().join("page.html");
    folder.pack(&["-e", "0.01", "--report", page.to_str().unwrap()]);
    let text = fs::read_to_string(&page).unwrap();
    for name in ["deep/t2m", "t2m", "wind"] {
        assert!(text.contains(&format!("<h2>{name}</h2>")), "{name}");
        let output = folder.output().join(name);
        assert!(text.contains(&format!("<td>{}</td>", output.display())), "{name}");
    }
    assert_eq!(text.matches("<svg").count(), 3 * 6);
    assert_eq!(text.matches("<h1>").count(), 1);
    assert!(text.contains("3 packed, 4 copied"), "{text}");
}

/// A group whose fields are packed as CF does it, and its coordinate.
fn packed_by_cf(root: &Path) {
    for (name, scale) in [("sst", 0.01), ("ice", 0.5)] {
        let elements: Vec<u8> = (0..12_i16).flat_map(i16::to_ne_bytes).collect();
        Sample::new("int16", &[3, 4], &[3, 4], json!(-1))
            .with("attributes", json!({"scale_factor": scale, "_FillValue": -1}))
            .write(&root.join(name), &elements);
    }
    Sample::new("float32", &[4], &[4], json!(0)).write(&root.join("lat"), &quarters(4));
    fs::write(root.join("zarr.json"), r#"{"zarr_format":3,"node_type":"group"}"#).unwrap();
}

#[test]
fn a_group_packed_by_cf_has_a_dry_run_and_a_page() {
    let folder = Folder::new();
    packed_by_cf(&folder.input());
    let before = contents(folder.path());
    let planned = folder.pack(&["--from-cf", "--dry-run"]);
    assert_eq!(contents(folder.path()), before);
    let page = folder.path().join("page.html");
    let report = folder.pack(&["--from-cf", "--report", page.to_str().unwrap()]);
    assert_eq!(packed(&planned), ["ice", "sst"]);
    assert_eq!(packed(&report), ["ice", "sst"]);
    for (planned, made) in
        planned["arrays"].as_array().unwrap().iter().zip(report["arrays"].as_array().unwrap())
    {
        assert_eq!(planned["report"]["codecs"], made["report"]["codecs"]);
        assert_eq!(planned["report"]["bit_identical"], made["report"]["bit_identical"]);
    }
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.contains("<h2>ice</h2>") && text.contains("<h2>sst</h2>"), "{text}");
    assert_eq!(text.matches("<svg").count(), 2 * 6);
    // A page that is there stays, and nothing is written beside it.
    fs::remove_dir_all(folder.output()).unwrap();
    let error = folder.refuses(&["--from-cf", "--report", page.to_str().unwrap()]);
    assert!(error.contains("--report") && error.contains("--overwrite"), "{error}");
    assert!(!folder.output().exists());
}

/// A weather group in which `wind` has infinities, and `t2m` values that need more codes than there are.
fn with_arrays_that_fail(folder: &Folder) {
    weather(&folder.input());
    let mut wind = quarters(12);
    for place in [3, 7] {
        wind[4 * place..4 * place + 4].copy_from_slice(&f32::INFINITY.to_ne_bytes());
    }
    let plane = json!(["time", "lat"]);
    let sample = || {
        Sample::new("float32", &[3, 4], &[3, 4], json!(0))
            .with("dimension_names", plane.clone())
            .with("attributes", json!({"coordinates": "lon"}))
    };
    sample().write(&folder.input().join("wind"), &wind);
    let wide: Vec<f32> = (0..12).map(|i| 1e30 * i as f32).collect();
    sample().write(&folder.input().join("t2m"), &f32s(&wide));
}

#[test]
fn an_infinity_in_a_group_is_an_error_with_the_array_its_count_and_the_ways_out() {
    let folder = Folder::new();
    with_arrays_that_fail(&folder);
    let error = folder.refuses(&["-e", "0.1", "--exclude", "t2m"]);
    for part in ["wind", "as 2 in all", "--infinity gives", "--exclude \"wind\"", "--keep-going"] {
        assert!(error.contains(part), "{part} in {error}");
    }
    let report = folder.pack(&["-e", "0.1", "--exclude", "t2m", "--infinity"]);
    let wind = report["arrays"].as_array().unwrap().iter().find(|one| one["array"] == "wind");
    assert_eq!(wind.unwrap()["action"], "packed");
}

#[test]
fn with_keep_going_arrays_that_fail_are_copied_and_listed_and_the_others_are_packed() {
    let folder = Folder::new();
    with_arrays_that_fail(&folder);
    let (input, output) =
        (folder.input().display().to_string(), folder.output().display().to_string());
    let arguments = ["pack", &input, &output, "-e", "0.1", "--keep-going", "--json"];
    let check = |run: crate::common::Run| {
        assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
        assert_eq!(run.stderr.trim_end().lines().count(), 1, "{}", run.stderr);
        let named = "2 of 7 arrays could not be packed and are copied as they are: ";
        assert!(run.stderr.contains(named), "{}", run.stderr);
        for part in ["t2m (", "wind (", "as 2 in all", "; "] {
            assert!(run.stderr.contains(part), "{part} in {}", run.stderr);
        }
        let report: Value = serde_json::from_slice(&run.stdout).unwrap();
        let of = |action: &str| -> Vec<&str> {
            let arrays = report["arrays"].as_array().unwrap().iter();
            arrays
                .filter(|one| one["action"] == action)
                .filter_map(|one| one["array"].as_str())
                .collect()
        };
        assert_eq!(of("failed"), ["t2m", "wind"]);
        assert_eq!(of("packed"), ["deep/t2m"]);
        assert_eq!(of("copied"), ["flag", "lat", "lat_bounds", "lon"]);
    };
    let run = recast(&[&arguments[..], &["--dry-run"]].concat()).run();
    check(run);
    assert!(!folder.output().exists());
    check(recast(&arguments).run());
    for array in ["t2m", "wind"] {
        let [a, b] = [folder.input(), folder.output()].map(|place| contents(&place.join(array)));
        assert_eq!(a, b, "{array}");
    }
    assert!(metadata(&folder.output().join("deep/t2m")).to_string().contains("cast_value"));
    recast(&["verify", "--atol", "0.1", &input, &output]).succeeds();

    // If none can be packed, there is no output.
    let folder = Folder::new();
    with_arrays_that_fail(&folder);
    let error = folder.refuses(&["-e", "0.1", "--keep-going", "--exclude", "deep/*"]);
    assert!(error.contains("none of 7 arrays could be packed: "), "{error}");
    assert!(error.contains("t2m (") && error.contains("wind ("), "{error}");
    // Options that make no sense are no failure of one array.
    folder.usage(&["--keep-going"]);
}

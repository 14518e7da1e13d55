//! Errors about places: nothing there, a file of another format, a full disk; and names of arrays with a leading slash.

use std::fs;

use crate::common::{Sample, Trial, bash, create_group, path, quarters, recast, zip};
use serde_json::json;

/// A group with three arrays, one of which CF's attributes pack.
fn of_three() -> Trial {
    let group = Trial::empty();
    for folder in ["", "surface"] {
        create_group(&group.input().join(folder));
    }
    for name in ["t2m", "surface/wind"] {
        Sample::new("float32", &[12], &[4], json!(0))
            .write(&group.input().join(name), &quarters(12));
    }
    cf(&group, "in.zarr/precip");
    group
}

fn cf(trial: &Trial, name: &str) {
    let array = Sample::new("int16", &[4], &[4], json!(0));
    let array = array.with("attributes", json!({"scale_factor": 0.01, "add_offset": 270.0}));
    array.write(&trial.place(name), &[1, 0, 2, 0, 3, 0, 4, 0]);
}

#[test]
fn a_path_that_is_missing_is_told_with_the_nearest_names() {
    let trial = of_three();
    let output = path(&trial.output());
    for (missing, expected) in [
        ("im.zarr", "has no im.zarr; the nearest name is in.zarr"),
        ("im.zarr/t2m", "has no im.zarr; the nearest name is in.zarr"),
        ("in.zarr/t3m", "in.zarr has no t3m; the nearest name is t2m"),
        ("in.zarr/surfaces/wind", "in.zarr has no surfaces; the nearest name is surface"),
        ("in.zarr/humidity", "in.zarr has no humidity\n"),
    ] {
        let missing = path(&trial.place(missing));
        let input = path(&trial.input());
        for arguments in [
            &["pack", "-e", "1", &missing, &output][..],
            &["unpack", &missing, &output],
            &["migrate", &missing, &output],
            &["info", &missing],
            &["suggest", &missing],
            &["cat", &missing],
            &["compare", &input, &missing],
            &["verify", &missing, &input],
        ] {
            let error = recast(arguments).fails(1);
            assert!(error.contains(expected), "{arguments:?}: {error}");
            assert!(!error.contains("os error"), "{arguments:?}: {error}");
        }
    }
    let error = recast(&["info", "im.zarr"]).inside(trial.path()).fails(1);
    assert!(error.contains("the current directory has no im.zarr; the nearest"), "{error}");
}

#[test]
fn files_of_other_formats_are_told_with_the_line_that_writes_zarr() {
    let trial = Trial::empty();
    for (name, package, call) in [
        ("x.nc", "netCDF4 or h5netcdf", "open_dataset('x.nc').to_zarr('x.zarr')"),
        ("x.h5", "h5netcdf", "engine='h5netcdf', phony_dims='sort').to_zarr('x.zarr')"),
        ("x.grib", "cfgrib", "open_dataset('x.grib').to_zarr('x.zarr')"),
        ("x.TIF", "rioxarray", "open_dataset('x.TIF').to_zarr('x.zarr')"),
        // A shell would run what is in the name.
        ("$(rm x).nc", "netCDF4", "open_dataset('FILE.nc').to_zarr('FILE.zarr')"),
    ] {
        fs::write(trial.place(name), "no Zarr").unwrap();
        for input in [name, &format!("{name}/t2m")] {
            let arguments = ["pack", "-e", "1", input, "out.zarr"];
            let error = recast(&arguments).inside(trial.path()).fails(1);
            for expected in ["python -c \"import xarray as xr; xr.", package, call] {
                assert!(error.contains(expected), "{input}: {error}");
            }
        }
    }
    fs::write(trial.place("x.txt"), "no Zarr").unwrap();
    let error = recast(&["info", "x.txt"]).inside(trial.path()).fails(1);
    assert!(error.contains("not a directory; an array is a directory with zarr.json"), "{error}");
}

#[test]
fn a_bound_for_integers_that_cf_packs_names_from_cf() {
    let group = of_three();
    let reasons = group.packs(&["-e", "0.01"])["arrays"].clone();
    let precip = reasons.as_array().unwrap().iter().find(|one| one["array"] == "precip").unwrap();
    assert!(precip["reason"].as_str().unwrap().contains("--from-cf"), "{precip}");
    // Named, the integers are packed, and the report of the group names them.
    for bound in ["-e", "--error-over-range"] {
        let flags = [bound, "0.01", "--include", "precip", "--overwrite"];
        let report = group.command(&flags).prints();
        let hint = report.lines().find(|line| line.starts_with("hint")).unwrap();
        assert!(hint.contains("precip: ") && hint.contains("--from-cf"), "{report}");
    }
    // A group of nothing else.
    let other = Trial::empty();
    create_group(&other.input());
    cf(&other, "in.zarr/precip");
    let error = other.fails(&["-e", "0.01"]);
    assert!(error.contains("precip") && error.contains("--from-cf"), "{error}");
    // An array is packed, as its integers, and the report says so.
    let array = Trial::empty();
    cf(&array, "in.zarr");
    let report = array.command(&["-e", "0.01"]).prints();
    assert!(report.contains("--from-cf") && report.lines().count() <= 10, "{report}");
    let report = array.packs(&["-e", "0.01", "--overwrite"]);
    assert!(report["hint"].as_str().unwrap().contains("--from-cf"), "{report}");
}

#[test]
fn paths_in_zip_files_are_told_with_the_nearest_names_and_folders_above_a_store_with_the_store() {
    let group = of_three();
    // The zip file would be in itself.
    let elsewhere = Trial::empty();
    let place = elsewhere.place("all.zip");
    zip(group.path(), &place);
    let archive = path(&place);
    let fails = |name: &str| recast(&["info", &format!("{archive}{name}")]).fails(1);
    let above = fails("");
    assert!(
        above.contains(&format!(
            "no array here: none of zarr.json, .zarray and meta; {archive}/in.zarr is a group"
        )),
        "{above}"
    );
    recast(&["info", &format!("{archive}/in.zarr/t2m")]).succeeds();
    for (name, expected) in [
        ("/in.zar", format!("{archive} has no in.zar; the nearest name is in.zarr")),
        ("/in.zarr/t2n", format!("{archive}/in.zarr has no t2n; the nearest name is t2m")),
        (
            "/in.zarr/surface/wynd",
            format!("{archive}/in.zarr/surface has no wynd; the nearest name is wind"),
        ),
        (
            "/in.zarr/srface/wind",
            format!("{archive}/in.zarr has no srface; the nearest name is surface"),
        ),
    ] {
        let error = fails(name);
        assert!(error.contains(&expected), "{error}");
    }
    // A directory above a store is told, too.
    let error = recast(&["pack", "-e", "1", &path(group.path()), "out.zarr"]).fails(1);
    assert!(error.contains("in.zarr is a group"), "{error}");
}

#[test]
fn stores_far_below_a_path_and_above_it_are_told_and_files_of_other_formats_in_a_zip_file() {
    let group = of_three();
    let folder = group.place("folder");
    let deep = folder.join("a/b");
    fs::create_dir_all(&deep).unwrap();
    fs::rename(group.input(), deep.join("in.zarr")).unwrap();
    let elsewhere = Trial::empty();
    let archive = elsewhere.place("all.zip");
    zip(&folder, &archive);
    for place in [path(&folder), path(&archive)] {
        let store = format!("{place}/a/b/in.zarr is a group");
        for place in [&place, &format!("{place}/a")] {
            let error = recast(&["info", place]).fails(1);
            assert!(error.contains(&store), "{error}");
        }
    }
    let array = path(&deep.join("in.zarr/t2m"));
    for part in ["c", "c/0", "zarr.json"] {
        let error = recast(&["info", &format!("{array}/{part}")]).fails(1);
        assert!(
            error.contains(&format!("the array {array}"))
                || error.contains(&format!("{array} is an array")),
            "{error}"
        );
    }
    let array = format!("{}/a/b/in.zarr/t2m", path(&archive));
    let error = recast(&["info", &format!("{array}/c")]).fails(1);
    assert!(error.contains(&format!("{array} is an array")), "{error}");
    let other = Trial::empty();
    fs::create_dir_all(other.place("zipped/data")).unwrap();
    fs::write(other.place("zipped/data/x.nc"), "no Zarr").unwrap();
    fs::write(other.place("zipped/data/x.txt"), "no Zarr").unwrap();
    let archive = elsewhere.place("other.zip");
    zip(&other.place("zipped"), &archive);
    let archive = path(&archive);
    for inside in ["", "/data", "/data/x.nc", "/data/x.nc/t2m"] {
        let error =
            recast(&["pack", "-e", "1", &format!("{archive}{inside}"), "out.zarr"]).fails(1);
        let expected = format!("{archive}/data/x.nc is a file, and not Zarr; unzip it");
        assert!(error.contains(&expected), "{inside}: {error}");
    }
    let error = recast(&["info", &format!("{archive}/data/x.txt")]).fails(1);
    assert!(error.contains("data/x.txt is not a directory; an array is"), "{error}");
}

#[test]
fn names_in_errors_keep_their_spaces_and_line_breaks_are_seen() {
    let trial = Trial::empty();
    for (name, shown) in
        [("two  spaces.zarr", "two  spaces.zarr"), ("new\nline.zarr", "new\\nline.zarr")]
    {
        let error = recast(&["info", name]).inside(trial.path()).fails(1);
        assert!(error.starts_with(&format!("recast: {shown}: no such")), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn an_output_in_a_folder_that_is_missing_names_the_part_that_is_missing() {
    let group = of_three();
    let (input, output) = (path(&group.input()), path(&group.place("filder/deep/out.zarr")));
    fs::create_dir(group.place("folder")).unwrap();
    let expected = "has no filder; the nearest name is folder";
    let error = recast(&["pack", "-e", "1", &input, &output]).fails(1);
    assert!(error.contains("make it first") && error.contains(expected), "{error}");
    for flags in [["suggest", &input, "--write", &output], ["suggest", &input, "--report", &output]]
    {
        let error = recast(&flags).fails(1);
        assert!(error.contains("make it first") && error.contains(expected), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_names_the_file_of_a_report_which_is_printed_all_the_same() {
    let group = of_three();
    let [input, output] = group.places();
    group.command(&["-e", "0.01"]).succeeds();
    let [page, config] =
        [group.place("page.html"), group.place("recast.toml")].map(|one| path(&one));
    let (report, write) = (["--report", page.as_str()], ["--write", config.as_str()]);
    for (command, flags, printed) in [
        (&["suggest", &input][..], &report[..], "surface/wind"),
        (&["suggest", &input], &write, "surface/wind"),
        (&["compare", &input, &output], &report, "surface/wind"),
    ] {
        // No file may have a byte, as on a full disk.
        let arguments = [command, flags].concat();
        let run = bash("trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"", &arguments);
        let [shown, error] = [run.stdout, run.stderr].map(|text| String::from_utf8(text).unwrap());
        assert_eq!(run.status.code(), Some(1), "{error}");
        assert!(error.starts_with(&format!("recast: {}: ", flags.join(" "))), "{error}");
        assert!(shown.contains(printed), "{arguments:?}: {shown}");
        assert!(!group.place("page.html").exists() && !group.place("recast.toml").exists());
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_names_the_array_that_was_being_written() {
    use std::process::Command;

    let group = Trial::empty();
    create_group(&group.input());
    let large = Sample::new("float32", &[4000], &[4000], json!(0));
    let small = Sample::new("float32", &[4], &[4], json!(0));
    large.write(&group.input().join("large"), &quarters(4000));
    small.write(&group.input().join("small"), &quarters(4));
    let [input, output] = group.places();
    let packed = path(&group.place("packed.zarr"));
    recast(&["pack", "-e", "0", &input, &packed]).succeeds();
    // A limit of the size of files fails as a full disk does: within a write.
    let limited = |arguments: &[&str]| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"]);
        let run = shell.arg(env!("CARGO_BIN_EXE_recast")).args(arguments).output().unwrap();
        assert_eq!(run.status.code(), Some(1), "{arguments:?}");
        String::from_utf8(run.stderr).unwrap()
    };
    let flags = ["--compressor", "none"];
    let array = format!("{output}/large");
    for (arguments, place) in [
        (&["pack", "-e", "0", "--keep-going", &input, &output][..], &array),
        (&["pack", "-e", "0", &format!("{input}/large"), &output], &output),
        (&["unpack", &packed, &output], &array),
    ] {
        let error = limited(&[arguments, &flags].concat());
        let expected = format!("recast: {place}: writing chunk [0] (make room");
        assert!(error.starts_with(&expected), "{arguments:?}: {error}");
        // Another array would not fare better.
        assert!(!error.contains("--exclude"), "{error}");
    }
}

#[test]
fn names_of_arrays_may_begin_with_a_slash() {
    let group = of_three();
    let flags = ["-e", "/t2m=0.01", "-e", "/surface/*=0.1", "-e", "1", "--include", "/t2m"];
    let report = group.packs(&[&flags[..], &["--include", "/surface/wind"]].concat());
    let bounds = report["arrays"].as_array().unwrap().iter();
    let bounds: Vec<_> = bounds.map(|one| one["report"]["error"]["bound"].as_f64()).collect();
    // Quarters are on a grid.
    assert_eq!(bounds.len(), 3, "{report}");
    assert_eq!(bounds.iter().flatten().count(), 2, "{report}");
    let error = group.fails(&["-e", "t2m=1", "-e", "/t2m=2", "--overwrite"]);
    assert!(error.contains("this name has two bounds"), "{error}");
    let store = path(&group.input());
    assert_eq!(recast(&["cat", &store, "/surface/wind"]).succeeds(), quarters(12));
    let table = "[[array]]\nname = '/t2m'\nmax-abs-error = 0.5\n";
    let config = path(&group.place("recast.toml"));
    fs::write(&config, table).unwrap();
    let report = group.packs(&["--config", &config, "--overwrite"]);
    let packed = report["arrays"].as_array().unwrap().iter();
    assert_eq!(packed.filter(|one| one["outcome"] == "done").count(), 1, "{report}");
}

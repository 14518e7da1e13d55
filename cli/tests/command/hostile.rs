//! What strangers write, and machines that lack something: nothing is lost, no secret is shown, and no terminal obeys.

use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use crate::common::{
    Sample, Trial, bash, bytes, contents, create_group, kelvin, names, path, read_f32, recast,
    trial,
};
use serde_json::{Value, json};

/// A pipe, which stands for all that is no regular file. Nobody reads it, so what opens it waits for ever.
fn pipe(place: &Path) {
    assert!(Command::new("mkfifo").arg(place).status().unwrap().success());
}

fn array() -> Trial {
    trial(&kelvin(500), json!("NaN"))
}

/// Standard error of a line of bash, which must fail with this status.
fn fails(line: &str, arguments: &[&str], status: i32) -> String {
    let Output { status: found, stderr, .. } = bash(line, arguments);
    let error = String::from_utf8(stderr).unwrap();
    assert_eq!(found.code(), Some(status), "{line}: {error}");
    assert!(!error.contains("a bug in recast"), "{error}");
    error
}

#[test]
fn no_pipe_and_no_link_to_one_is_replaced_by_a_page_or_a_file() {
    let trial = array();
    create_group(&trial.place("group"));
    let [input, output] = trial.places();
    let (fifo, link) = (trial.place("fifo"), trial.place("link"));
    pipe(&fifo);
    symlink(&fifo, &link).unwrap();
    let group = path(&trial.place("group"));
    for place in [&fifo, &link] {
        let place = path(place);
        for arguments in [
            ["pack", &input, &output, "-e", "1", "--report", &place].as_slice(),
            &["compare", &input, &input, "--report", &place],
            &["suggest", &input, "--report", &place],
            &["suggest", &group, "--write", &place],
        ] {
            let error = recast(&[arguments, &["--overwrite"]].concat()).fails(1);
            assert!(error.contains("a device, a pipe or a socket"), "{error}");
            assert!(!trial.output().exists());
        }
    }
    assert!(fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    // What a link leads to is replaced, and not the link.
    let (file, link) = (trial.place("page.html"), trial.place("to_page"));
    fs::write(&file, "old").unwrap();
    symlink(&file, &link).unwrap();
    recast(&["compare", &input, &input, "--report", &path(&link), "--overwrite"]).succeeds();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&file).unwrap().starts_with("<!DOCTYPE html>"));
}

#[test]
fn numbers_of_every_spelling_arrive() {
    let trial = array();
    let offset = |number: &str| {
        let flags = ["--offset", number, "--scale", "1", "--dry-run"];
        let codecs = trial.packs(&flags)["codecs"].clone();
        let mut codecs = codecs.as_array().unwrap().iter();
        let scaled = codecs.find(|codec| codec["name"] == "scale_offset").unwrap();
        scaled["configuration"]["offset"].as_f64().unwrap()
    };
    for (number, expected) in [
        ("-1e+1", -10.0),
        ("-2.5E-1", -0.25),
        ("-1e-99999999999999999999", -0.0),
        ("-1e-18446744073709551615", -0.0),
        ("-1e-3000000000", -0.0),
    ] {
        assert_eq!(offset(number), expected, "{number}");
    }
    let suggest =
        recast(&["suggest", &path(&trial.input()), "--missing", "-1e+20", "-inf", "--json"]);
    let first = &suggest.reports()["suggestions"][0]["arguments"];
    assert!(first.to_string().contains("\"--missing\",\"-1e+20\""), "{first}");
    trial.fails(&["--offset", "-1e99999999999999999999", "-t", "int8"]);
}

#[test]
fn secrets_of_urls_are_shown_nowhere() {
    let trial = array();
    let [input, output] = trial.places();
    for url in
        ["http://USER:PASSWORD@127.0.0.1:9/a.zarr?token=HIDDEN", "s3://USER:PASSWORD@b/a?k=HIDDEN"]
    {
        for arguments in [
            ["info", url].as_slice(),
            &["info", url, "--json"],
            &["pack", url, &output, "-e", "1"],
            &["pack", &input, url, "-e", "1"],
            &["pack", &input, &output, "-e", "1", "--scale-from", url],
            &["suggest", url, "--json"],
            &["verify", &input, url],
            &["pack", &input, &output, url],
        ] {
            let run = recast(arguments).without("AWS_ACCESS_KEY_ID").run();
            let shown = run.stderr + &String::from_utf8(run.stdout).unwrap();
            assert!(shown.contains("://…@"), "{shown}");
            for secret in ["USER", "PASSWORD", "HIDDEN"] {
                assert!(!shown.contains(secret), "{shown}");
            }
        }
    }
}

/// Whatever a terminal would obey.
const TRAP: &str = "a\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\nforged\r";

#[test]
fn no_name_and_no_text_of_others_reaches_a_terminal_as_it_is() {
    let trial = Trial::empty();
    let sample = Sample::new("float32", &[500], &[500], json!("NaN"));
    sample.write(&trial.input().join(TRAP), &bytes(&kelvin(500)));
    Sample::new(TRAP, &[1], &[1], json!(0)).create_metadata(&trial.input().join("other"));
    fs::write(
        trial.input().join("zarr.json"),
        r#"{"zarr_format": 3, "node_type": "group", "attributes": {}}"#,
    )
    .unwrap();
    let [input, output] = trial.places();
    let trapped = path(&trial.input().join(TRAP));
    let page = path(&trial.place("page.html"));
    for arguments in [
        ["info", &input].as_slice(),
        &["info", &input, "--json"],
        &["info", &trapped],
        &["info", &format!("{input}/other")],
        &["pack", &input, &output, "-e", "1", "--dry-run"],
        &["pack", &input, &output, "-e", "1", "--report", &page],
        &["suggest", &input],
        &["suggest", &trapped],
        &["suggest", &trapped, "--json"],
        &["compare", &input, &output],
        &["compare", &input, &input, "--json"],
        &["verify", &trapped, &output],
        &["unpack", &output, &path(&trial.place("plain"))],
        &["pack", &trapped, &trapped, "-e", "1"],
    ] {
        let run = recast(arguments).run();
        for text in [run.stderr, String::from_utf8(run.stdout).unwrap()] {
            let hidden = |c: char| recast_pack::text::is_hidden(c) && c != '\n';
            assert!(!text.contains(hidden), "{arguments:?}: {text:?}");
            assert!(text.lines().all(|line| !line.starts_with("forged")), "{arguments:?}: {text}");
        }
    }
    let page = fs::read_to_string(page).unwrap();
    assert!(!page.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{7}']));
}

#[test]
fn a_suggestion_can_be_copied_whatever_the_path_has_in_it() {
    let trial = Trial::empty();
    for name in ["it's a $(touch owned).zarr", "-a;b.zarr", "`touch owned` #.zarr"] {
        let array = Sample::new("float32", &[500], &[500], json!("NaN"));
        array.write(&trial.place(name), &bytes(&kelvin(500)));
        let folder = path(trial.path());
        let text = bash(
            "cd \"$1\" && \"$0\" suggest \"$2\" | tail -n 1",
            &[&folder, &format!("./{name}")],
        );
        let line = String::from_utf8(text.stdout).unwrap();
        let line = line.replacen("recast ", "\"$0\" ", 1);
        let run = bash(&format!("cd \"$1\" && {line}"), &[&folder]);
        assert!(run.status.success(), "{line}: {}", String::from_utf8_lossy(&run.stderr));
    }
    assert!(!trial.place("owned").exists());
}

#[test]
fn files_for_people_are_whole_or_not_there() {
    let trial = Trial::empty();
    create_group(&trial.input());
    Sample::new("float32", &[500], &[500], json!("NaN"))
        .write(&trial.input().join("t"), &bytes(&kelvin(500)));
    let (input, file) = (path(&trial.input()), trial.place("recast.toml"));
    fs::write(&file, "old").unwrap();
    let line = "ulimit -f 0; \"$0\" suggest \"$1\" --write \"$2\" --overwrite";
    let error = fails(line, &[&input, &path(&file)], 1);
    assert!(error.contains("--write") && error.contains("too large"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    // What a killed run has left goes; what a run holds stays.
    let mark = |text: &str| text.contains(".recast-tmp-");
    let held = bash("\"$0\" suggest \"$1\" --write \"$2\" --overwrite", &[&input, &path(&file)]);
    assert!(held.status.success());
    assert!(!names(trial.path()).iter().any(|name| mark(name)));
    assert!(fs::read_to_string(&file).unwrap().contains("[[array]]"));
    let left = trial.place("recast.toml.recast-tmp-0123ab");
    fs::write(&left, "cut").unwrap();
    recast(&["suggest", &input, "--write", &path(&file), "--overwrite"]).succeeds();
    assert!(!left.exists());
}

#[test]
fn a_page_inside_input_or_output_is_refused_before_anything_is_written() {
    let trial = array();
    let [input, output] = trial.places();
    for place in [&output, &input, &format!("{input}/page.html")] {
        let error = trial.usage(&["-e", "1", "--report", place, "--overwrite"]);
        assert!(error.contains("--report") && error.contains("lies in"), "{error}");
    }
    recast(&["pack", &input, &output, "-e", "1"]).succeeds();
    let before = read_f32(&trial.output());
    trial.usage(&["-e", "2", "--overwrite", "--report", &format!("{output}/page.html")]);
    assert_eq!(read_f32(&trial.output()), before);
}

#[test]
fn a_limit_on_the_size_of_files_is_an_ordinary_error() {
    let trial = array();
    let [input, output] = trial.places();
    let before = names(trial.path());
    let error = fails("ulimit -f 0; \"$0\" pack \"$1\" \"$2\" -e 1", &[&input, &output], 1);
    assert!(error.contains("ulimit -f"), "{error}");
    assert_eq!(names(trial.path()), before);
}

#[test]
fn threads_that_cannot_be_started_are_an_error_with_a_way_out() {
    let trial = array();
    let [input, output] = trial.places();
    // A thread's stack takes 2 MiB of addresses. Where a thread that has begun finds none for its signal stack, the standard
    // library ends the process, which no program can prevent: such a run is repeated.
    let line = "ulimit -v 1000000; RAYON_NUM_THREADS=1000 \"$0\" pack \"$1\" \"$2\" -e 1";
    let mut runs = std::iter::repeat_with(|| bash(line, &[&input, &output])).take(50);
    let run = runs.find(|run| run.status.code().is_some()).unwrap();
    let error = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(1), "{error}");
    assert!(error.contains("threads cannot be started") && error.contains("ulimit"), "{error}");
    let line = "ulimit -v 1000000; RAYON_NUM_THREADS=1 \"$0\" pack \"$1\" \"$2\" -e 1 --threads 1";
    assert!(bash(line, &[&input, &output]).status.success());
    // Any number is cut to what is of use.
    recast(&["info", &input]).with("RAYON_NUM_THREADS", "100000000000").succeeds();
}

#[test]
fn too_few_open_files_are_not_called_damage() {
    let trial = array();
    let input = path(&trial.input());
    for open in 4..12 {
        let run = bash(
            &format!("ulimit -n {open}; \"$0\" info \"$1\" && \"$0\" cat \"$1\" | cat"),
            &[&input],
        );
        let error = String::from_utf8(run.stderr).unwrap();
        assert!(!error.contains("damaged") && !error.contains("a bug"), "{open}: {error}");
    }
}

#[test]
fn places_that_cannot_be_written_are_refused_before_the_array_is_read() {
    let trial = array();
    // A chunk that cannot be read would be the error, if it were read.
    fs::write(trial.input().join("c/0"), "cut").unwrap();
    for name in ["x".repeat(256), format!("none/{}", "x".repeat(5))] {
        let error = recast(&["pack", &path(&trial.input()), &path(&trial.place(&name)), "-e", "1"])
            .fails(1);
        assert!(!error.contains("chunk"), "{error}");
    }
    let whole = array();
    let long = whole.place(&"x".repeat(255));
    recast(&["pack", &path(&whole.input()), &path(&long), "-e", "1"]).succeeds();
    assert_eq!(read_f32(&long).len(), 500);
}

#[test]
fn no_tolerance_reaches_infinity() {
    let array = |value: f64| Trial::new(&[value, 0.0], 2, json!({}));
    let largest = f64::MAX;
    for (a, b, atol, rtol, is_within) in [
        (1.0, f64::INFINITY, "1e308", "1e308", false),
        (largest, f64::INFINITY, "1e308", "1e308", false),
        (f64::INFINITY, f64::INFINITY, "1e308", "1e308", true),
        (largest, -largest, "1e308", "1e308", true),
        (largest, -largest, "1e308", "1.5", true),
        (largest, -largest, "1e308", "1", false),
        (largest, -largest, "0", "2", true),
        (1.0, 1e308, "1e308", "1e308", true),
    ] {
        let (before, after) = (array(a), array(b));
        let (before_path, after_path) = (path(&before.input()), path(&after.input()));
        let run =
            recast(&["verify", &before_path, &after_path, "--atol", atol, "--rtol", rtol]).run();
        assert_eq!(run.status.success(), is_within, "{a} {b} {atol} {rtol}: {}", run.stderr);
        assert!(!run.stderr.contains("of inf"), "{}", run.stderr);
    }
}

#[test]
fn each_mandatory_member_of_metadata_is_named_with_its_value_and_a_way_out() {
    let trial = array();
    let document = trial.input().join("zarr.json");
    let good: Value = serde_json::from_slice(&fs::read(&document).unwrap()).unwrap();
    let members =
        ["shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs"];
    let mut cases: Vec<(&str, Option<Value>)> = members.map(|name| (name, None)).into();
    cases.extend(
        ["shape", "data_type", "chunk_grid", "chunk_key_encoding", "codecs"]
            .map(|name| (name, Some(json!(17)))),
    );
    cases.extend([
        ("shape", Some(json!([-1]))),
        ("shape", Some(json!([18_446_744_073_709_551_616.0]))),
        ("shape", Some(json!([1.5]))),
        ("shape", Some(json!("500"))),
        ("codecs", Some(json!([{"configuration": {}}]))),
        ("zarr_format", Some(json!(4))),
        ("zarr_format", None),
    ]);
    let input = path(&trial.input());
    for (name, value) in cases {
        let mut bad = good.clone();
        match &value {
            Some(value) => bad[name] = value.clone(),
            None => drop(bad.as_object_mut().unwrap().remove(name)),
        }
        fs::write(&document, bad.to_string()).unwrap();
        let error = recast(&["info", &input]).fails(1);
        assert!(error.contains(name), "{name} {value:?}: {error}");
        assert!(error.contains("write the array again"), "{name} {value:?}: {error}");
        if let Some(value) = value {
            assert!(error.contains(&value.to_string()), "{name} {value}: {error}");
        }
        assert!(!error.contains("untagged"), "{error}");
    }
}

#[test]
fn each_mandatory_member_of_zarr_v2_is_named_too() {
    let trial = Trial::empty();
    fs::create_dir(trial.input()).unwrap();
    let good = json!({"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<f4", "compressor": null,
        "fill_value": 0, "order": "C", "filters": null});
    let input = path(&trial.input());
    for (name, value) in [
        ("shape", None),
        ("chunks", None),
        ("dtype", None),
        ("shape", Some(json!([-1]))),
        ("chunks", Some(json!([18_446_744_073_709_551_616.0]))),
        ("dtype", Some(json!(17))),
        ("filters", Some(json!(17))),
        ("compressor", Some(json!(17))),
        ("fill_value", Some(json!({}))),
    ] {
        let mut bad = good.clone();
        match &value {
            Some(value) => bad[name] = value.clone(),
            None => drop(bad.as_object_mut().unwrap().remove(name)),
        }
        fs::write(trial.input().join(".zarray"), bad.to_string()).unwrap();
        let error = recast(&["info", &input]).fails(1);
        assert!(error.contains(name) || value.is_some(), "{name} {value:?}: {error}");
        if let Some(value) = value {
            assert!(error.contains(&value.to_string()), "{name} {value}: {error}");
        }
    }
}

#[test]
fn an_output_that_is_synced_is_the_same() {
    let trial = array();
    let [input, output] = trial.places();
    recast(&["pack", &input, &output, "-e", "1"]).succeeds();
    let before = contents(&trial.output());
    recast(&["pack", &input, &output, "-e", "1", "--overwrite", "--sync"]).succeeds();
    assert_eq!(contents(&trial.output()), before);
}

#[test]
fn no_file_for_people_is_written_into_what_is_read() {
    let trial = Trial::empty();
    for name in ["in.zarr", "b"] {
        create_group(&trial.place(name));
        let sample = Sample::new("float32", &[500], &[500], json!("NaN"));
        sample.write(&trial.place(name).join("t"), &bytes(&kelvin(500)));
    }
    let before = contents(trial.path());
    let [a, b] = [path(&trial.input()), path(&trial.place("b"))];
    for file in ["zarr.json", "t/c/0", "t/zarr.json", "new.html"] {
        let [in_a, in_b] = [trial.input(), trial.place("b")].map(|place| path(&place.join(file)));
        for arguments in [
            ["suggest", &a, "--write", &in_a, "--overwrite"].as_slice(),
            &["suggest", &a, "--report", &in_a, "--overwrite"],
            &["verify", &a, &b, "--report", &in_a, "--overwrite"],
            &["compare", &a, &b, "--report", &in_b, "--overwrite"],
        ] {
            let error = recast(arguments).fails(2);
            assert!(error.contains("name a file beside it"), "{error}");
        }
    }
    assert!(contents(trial.path()) == before);
}

/// What a page and a configuration show of others is escaped, too.
#[test]
fn pages_and_configurations_have_no_hidden_characters() {
    let trial = Trial::empty();
    create_group(&trial.input());
    let trap = "K\u{202e}\u{1b}]0;x\u{7}\u{7f}\u{9b}";
    let sample = Sample::new("float32", &[500], &[500], json!("NaN"))
        .with("attributes", json!({"units": trap}))
        .with("dimension_names", json!([format!("{trap} along")]));
    sample.write(&trial.input().join(trap), &bytes(&kelvin(500)));
    let [input, page, toml] =
        [trial.input(), trial.place("page.html"), trial.place("recast.toml")].map(|p| path(&p));
    let output = path(&trial.output());
    recast(&["suggest", &input, "--write", &toml]).succeeds();
    recast(&["pack", &input, &output, "-e", "0.01", "--report", &page]).succeeds();
    for file in [&page, &toml] {
        let text = fs::read_to_string(file).unwrap();
        let hidden = text.chars().find(|&c| recast_pack::text::is_hidden(c) && c != '\n');
        assert_eq!(hidden, None, "{file}");
    }
    // The name in it is still that of the array.
    let configured = path(&trial.place("configured"));
    let report = recast(&["pack", &input, &configured, "--config", &toml, "--json"]).reports();
    assert_eq!(report["arrays"][0]["outcome"], "done", "{report}");
}

#[test]
fn links_out_of_the_input_are_in_the_report_and_a_flag_refuses_them() {
    let trial = array();
    let [input, output] = trial.places();
    let private = trial.place("private");
    fs::create_dir(&private).unwrap();
    for chunk in 0..5 {
        let chunk = trial.input().join(format!("c/{chunk}"));
        let target = private.join(chunk.file_name().unwrap());
        fs::rename(&chunk, &target).unwrap();
        symlink(&target, &chunk).unwrap();
    }
    let real = path(&private.canonicalize().unwrap());
    let pack = ["pack", "-e", "1", "--overwrite", &input, &output];
    let text = String::from_utf8(recast(&pack).succeeds()).unwrap();
    for part in [
        "links",
        "5 out of INPUT; what they lead to was read",
        &format!("5 to {real}: c/0 -> {real}/0, c/1 -> {real}/1, c/2 -> {real}/2, …"),
    ] {
        assert!(text.contains(part), "{text}");
    }
    let report = recast(&[&pack[..], &["--json"]].concat()).reports();
    assert_eq!(report["outside_links"]["folders"][0]["count"], 5, "{report}");
    let before = contents(trial.path());
    for command in [&pack[..], &["unpack", "--overwrite", &input, &output]] {
        let error = recast(&[command, &["--no-outside-links"]].concat()).fails(1);
        let expected =
            format!("{input}/c/0: a link to {real}/0, which is outside of INPUT (4 more lead out)");
        assert!(error.contains(&expected), "{error}");
    }
    assert!(contents(trial.path()) == before);
}

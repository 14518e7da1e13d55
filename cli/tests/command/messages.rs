//! How the command speaks: what is wrong with arguments, what is ignored by none, and short reports.

use crate::common::{
    Sample, Trial, bytes, contents, create_group, create_v2, path, recast, repository,
};
use serde_json::{Value, json};

/// A float32 array of 3000 elements, NaN and a spike among them.
fn kelvin() -> Trial {
    let mut values = crate::common::kelvin(3000);
    (values[7], values[1500]) = (f32::NAN, 400.0);
    let sample = Sample::new("float32", &[60, 50], &[20, 50], json!("NaN"))
        .with("attributes", json!({"units": "K"}));
    Trial::of(&sample, &bytes(&values))
}

fn text(arguments: &[&str]) -> String {
    recast(arguments).prints()
}

#[test]
fn a_goal_is_needed_and_the_error_says_which_there_are() {
    let trial = kelvin();
    let error = trial.usage(&[]);
    assert!(error.lines().count() > 3, "{error}");
    for part in [
        "nothing says what to keep",
        "--max-abs-error, --error-over-range, --max-rel-error, --max-mean-error",
        "--lossless, --precision or --auto, or --scale and",
        "\nUsage: recast pack ",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn bounds_hold_together_and_other_goals_are_one_too_many() {
    let trial = kelvin();
    let bounds = [
        &["--max-abs-error", "0.1"][..],
        &["--max-rel-error", "0.1"],
        &["--error-over-range", "0.1"],
        &["--max-mean-error", "0.1"],
        &["--mean-error-over-range", "0.1"],
        &["--max-mean-rel-error", "0.1"],
    ];
    let (input, output) = (path(&trial.input()), path(&trial.place("all.zarr")));
    recast(&[&["pack", &input, &output], &*bounds.concat()].concat()).succeeds();
    let others = [&["--precision", "0.1"][..], &["--auto"]];
    for (index, one) in bounds.iter().chain(&others).enumerate() {
        for other in others.iter().skip((index + 1).saturating_sub(bounds.len())) {
            let error = trial.usage(&[*one, *other, &["-t", "int16"]].concat());
            assert!(error.contains("cannot be used with"), "{error}");
            assert!(error.contains(one[0]) && error.contains(other[0]), "{error}");
            assert!(error.contains("\nUsage: recast pack "), "{error}");
        }
    }
}

#[test]
fn a_misspelt_flag_is_answered_with_the_right_one() {
    let trial = kelvin();
    let error = trial.usage(&["--max-abs-eror", "0.1"]);
    assert!(error.contains("tip: a similar argument exists: '--max-abs-error'"), "{error}");
    let error = recast(&["pakc", "a", "b"]).fails(2);
    assert!(error.contains("tip: ") && error.contains("'pack'"), "{error}");
}

#[test]
fn paths_behind_a_list_of_numbers_are_told_where_to_go() {
    let trial = kelvin();
    let [input, output] = trial.places();
    let error = recast(&["pack", "-e", "0.1", "--missing", "1", "-2", &input, &output]).fails(2);
    assert!(error.contains("--missing") && error.contains(&input), "{error}");
    assert!(error.contains("INPUT and OUTPUT come before the list"), "{error}");
    recast(&["pack", &input, &output, "-e", "0.1", "--missing", "1", "-2"]).succeeds();
}

#[test]
fn negative_numbers_with_an_exponent_are_no_flags() {
    // The values fit int8 only if each marker is known as one.
    let values = [1.0_f32, 2.0, -1e20, -2e30, 3.0];
    for markers in [["-1e+20", "-2E+30"], ["-1e20", "-2.0E30"]] {
        let trial = Trial::of(&Sample::new("float32", &[5], &[5], json!(0)), &bytes(&values));
        let [input, output] = trial.places();
        let numbers = ["--missing", markers[0], markers[1], "-t", "int8", "-e", "0.1"];
        recast(&[&["pack", &input, &output][..], &numbers].concat()).succeeds();
    }
    let trial = kelvin();
    let [input, output] = trial.places();
    for numbers in [
        ["--src-min", "-1.5e-5"].as_slice(),
        &["--offset", "-.5", "--scale", "1E+2"],
        &["--range", "-1e-5", "4E+2"],
    ] {
        let flags = [&["pack", &input, &output, "-e", "0.1", "--dry-run"], numbers].concat();
        recast(&flags).succeeds();
    }
}

#[test]
fn what_only_the_library_knows_is_said_in_the_same_form() {
    let trial = kelvin();
    let error = trial.usage(&["--precision", "0.1", "-t", "float16"]);
    assert!(error.contains("takes an integer type"), "{error}");
    assert!(error.contains("\nUsage: recast pack "), "{error}");
}

#[test]
fn a_type_alone_is_no_goal() {
    let trial = kelvin();
    for data_type in ["int16", "float16"] {
        let error = trial.usage(&["-t", data_type]);
        for way in ["--max-abs-error", "--precision", "--auto", "--scale"] {
            assert!(error.contains(way), "{way}: {error}");
        }
    }
    // Nor is it one in recast.toml; beside it, it is one of the settings for all arrays.
    let group = Trial::empty();
    create_group(&group.input());
    for name in ["a", "b"] {
        let array = Sample::new("float32", &[4], &[4], json!(0));
        array.write(&group.input().join(name), &bytes(&[1.0_f32, 2.0, 3.0, 4.5]));
    }
    let config = path(&group.place("recast.toml"));
    std::fs::write(&config, "[[array]]\nname = 'a'\ndata-type = 'int16'\n").unwrap();
    let error = group.fails(&["--config", &config]);
    assert!(error.contains("--data-type alone does not say what to keep"), "{error}");
    std::fs::write(&config, "[[array]]\nname = 'a'\nmax-abs-error = 0.1\n").unwrap();
    let report = group.packs(&["--config", &config, "-t", "int16"]);
    assert_eq!(report["arrays"][0]["report"]["data_type"], "int16");
    assert_eq!(report["arrays"][1]["reason"], "no options are given for it");
}

/// What no array has from a table, or from flags that say how to pack.
#[test]
fn an_error_names_flags_that_the_command_has() {
    let group = Trial::empty();
    create_group(&group.input());
    let array = Sample::new("float32", &[4], &[4], json!(0));
    array.write(&group.input().join("a"), &bytes(&[1.0_f32, 2.0, 3.0, 4.5]));
    let error = group.usage(&["--no-grid"]);
    assert!(error.contains("--no-grid alone does not say what to keep"), "{error}");
    let config = path(&group.place("recast.toml"));
    std::fs::write(&config, "[[array]]\nname = 'a'\ngrid = true\nprecision = 1\n").unwrap();
    let error = group.fails(&["--config", &config]);
    assert!(error.contains("--precision") && error.contains("grid = true cannot"), "{error}");
}

/// A group of four arrays.
fn of_four() -> Trial {
    let group = Trial::empty();
    create_group(&group.input());
    for name in ["t2m", "precip1", "precip2", "wind"] {
        let array = Sample::new("float32", &[4], &[4], json!(0));
        array.write(&group.input().join(name), &bytes(&[1.0_f32, 2.0, 3.0, 4.5]));
    }
    group
}

#[test]
fn bounds_have_names_of_arrays_of_a_group() {
    let group = of_four();
    let flags =
        ["-e", "t2m=0.01", "-e0.25", "--max-abs-error=precip1=0.125", "--precision", "p*=0.5"];
    let report = group.packs(&flags);
    let bound = |index: usize, kind: &str| report["arrays"][index]["report"]["error"][kind].clone();
    assert_eq!(bound(0, "bound"), 0.125);
    assert_eq!((bound(1, "bound"), bound(1, "precision")), (Value::Null, json!(0.5)));
    assert_eq!([bound(2, "bound"), bound(3, "bound")], [0.01, 0.25]);
    // The command and Python judge what was written by the bounds that it records.
    let [input, output] = group.places();
    let judged = recast(&["verify", &input, &output, "--json"]).reports();
    assert_eq!(judged["arrays"][2]["report"]["recorded"]["atol"], 0.01);
    let shown = text(&["verify", &format!("{input}/t2m"), &format!("{output}/t2m")]);
    assert!(shown.contains("attribute recast of B records: errors are at most 0.01"), "{shown}");
}

#[test]
fn a_bound_with_a_name_is_refused_where_it_has_no_use() {
    let group = of_four();
    for (flags, expected) in [
        (&["-e", "0.1", "-e", "0.2"][..], "--max-abs-error is given twice for all arrays"),
        (&["-e", "0.1", "--precision", "0.5"], "--max-abs-error cannot be used with --precision"),
        (&["-e", "t2m=much"], "a finite number that is not negative is needed"),
        (&["-e", "t2m=-1"], "a finite number that is not negative is needed"),
        (&["-e", "t2m:0.01"], "NAME=NUMBER is for one array of a group"),
        (&["-e", "=1"], "the name of an array is needed before ="),
    ] {
        let error = group.usage(flags);
        assert!(error.contains(expected), "{error}");
    }
    let error = recast(&["pack", &path(&group.input()), &path(&group.place("none")), "-e", "x*=1"])
        .fails(1);
    assert!(
        error.contains("none of 4 arrays") && error.contains("the bound for x* matches no array"),
        "{error}"
    );
    let error = kelvin().usage(&["-e", "t2m=0.1"]);
    assert!(error.contains("is not a group, and a bound for t2m is for groups"), "{error}");
    let missing = path(&group.place("missing"));
    let output = path(&group.place("none"));
    let table = group.place("tables.toml");
    std::fs::write(&table, "[[array]]\nname = \"t2m\"\nmax-abs-error = 1").unwrap();
    for flags in [
        &["pack", &missing, &output, "-e", "t2m=1"][..],
        &["pack", &missing, &output, "-e", "1", "--include", "t2m"],
        &["pack", &missing, &output, "--config", &path(&table), "--dry-run"],
        &["suggest", &missing, "--write", &path(&group.place("bounds.toml"))],
    ] {
        let error = recast(flags).fails(1);
        assert!(error.contains("no such file or directory"), "{flags:?}: {error}");
    }
}

/// A command without its inputs and outputs, and the flags of which some would be ignored.
type Ignored = (&'static str, &'static [&'static str]);

/// What would be ignored, or contradict itself; each but the first flag of a line stands alone behind it.
const IGNORED: &[Ignored] = &[
    (
        "pack --from-cf",
        &[
            "-e 1",
            "--error-over-range 0.1",
            "--max-rel-error 0.1",
            "--max-mean-error 1",
            "--limits 0 none",
            "--keep-sign",
            "--lossless",
            "--recommendations x.yaml",
            "--precision 1",
            "--auto -t int8",
            "--pow2",
            "--no-grid",
            "-t int16",
            "--nan-to 3",
            "--missing 3",
            "--no-nan",
            "--infinity",
            "--allow-collisions",
            "--src-min 1",
            "--src-max 2",
            "--scale-from x",
            "--rounding towards-zero",
            "--out-of-range clamp",
            "--scale 2",
            "--offset 2",
            "--verify",
            "--compressor gzip",
            "--all",
        ],
    ),
    ("pack -e 1", &["--decoded-type float32", "--include x", "--exclude x", "--all"]),
    ("pack --auto", &["-e 1 -t int8"]),
    ("pack --error-over-range 0.1", &["--precision 1", "--scale 2", "--offset 2"]),
    ("pack --lossless", &["--precision 1", "--scale 2", "--src-min 2"]),
    ("verify --max-mean-error 1", &["--atol 1"]),
    ("pack --scale 2", &["--precision 1", "--auto -t int8", "--pow2", "--scale-from x"]),
    ("pack --offset 2", &["--precision 1", "--auto -t int8", "--pow2", "--scale-from x"]),
    ("pack -e 1 --no-nan", &["--nan-to 3"]),
    ("pack -e 1 --dry-run", &["--verify", "--report x.html"]),
    ("pack -e 1 --verbose", &["--json", "--quiet"]),
    ("unpack --to-cf", &["--compressor none"]),
    ("unpack --verbose", &["--json", "--quiet"]),
    ("migrate", &["--compressor gzip"]),
    ("migrate --in-place", &["--copy", "--overwrite", "--compressor none", "--reencode"]),
    ("migrate --reencode", &["--copy"]),
    ("verify", &["--overwrite"]),
    ("compare", &["--overwrite"]),
    ("compare --verbose", &["--json", "--quiet"]),
];

#[test]
fn flags_that_would_be_ignored_are_refused_with_a_reason() {
    let trial = kelvin();
    let [input, output] = trial.places();
    let before = contents(trial.path());
    for (command, flags) in IGNORED {
        for flags in *flags {
            let mut arguments: Vec<&str> = command.split(' ').collect();
            arguments.push(&input);
            if !arguments.contains(&"--in-place") {
                arguments.push(&output);
            }
            arguments.extend(flags.split(' '));
            let error = recast(&arguments).fails(2);
            // The flag, or the one that it needs, is named.
            let named = flags.split(' ').next().unwrap();
            let named = if named == "-e" { "--max-abs-error" } else { named };
            let named = if named == "-t" { "--data-type" } else { named };
            let needed =
                ["--from-cf", "--reencode", "--report"].iter().any(|flag| error.contains(flag));
            assert!(error.contains(named) || needed, "{arguments:?}: {error}");
        }
    }
    assert_eq!(contents(trial.path()), before);
}

/// Reports that are printed for people by default.
fn short_reports(trial: &Trial) -> Vec<(Vec<String>, String)> {
    let [input, output] = trial.places();
    let [other, again] = ["other.zarr", "again.zarr"].map(|name| path(&trial.place(name)));
    let legacy = path(&repository().join("zarrs/tests/goldens/v2_fso_f8_u1_gzip/array.zarr"));
    let mut reports = Vec::new();
    for arguments in [
        &["pack", &input, &output, "-e", "0.01"][..],
        &["pack", &input, &other, "-e", "0.01", "--src-max", "290", "--missing", "300", "301"],
        &[
            "pack",
            &input,
            &other,
            "-e",
            "0.01",
            "--src-max",
            "300",
            "--allow-collisions",
            "--overwrite",
        ],
        &[
            "pack",
            &input,
            &other,
            "--scale",
            "100",
            "-t",
            "int8",
            "--out-of-range",
            "wrap",
            "--allow-collisions",
            "--overwrite",
        ],
        &[
            "pack",
            &input,
            &other,
            "--scale",
            "1",
            "-t",
            "int8",
            "--out-of-range",
            "clamp",
            "--overwrite",
        ],
        &["compare", &input, &output],
        &["verify", &input, &output, "--atol", "0.01"],
        &["unpack", &output, &other, "--overwrite"],
        &["unpack", "--to-cf", &output, &other, "--overwrite"],
        &["pack", "--from-cf", &other, &again],
        &["migrate", &legacy, &again, "--overwrite"],
    ] {
        reports.push((arguments.iter().map(ToString::to_string).collect(), text(arguments)));
    }
    reports
}

#[test]
fn a_report_has_ten_lines_at_most_unless_more_are_asked_for() {
    let trial = kelvin();
    for (arguments, report) in short_reports(&trial) {
        let lines = report.lines().count();
        assert!((2..=10).contains(&lines), "{arguments:?}: {lines}\n{report}");
    }
    let [input, output] = trial.places();
    let brief = text(&["compare", &input, &output]);
    let full = text(&["compare", &input, &output, "-v"]);
    assert!(!brief.contains("RMSE") && full.contains("RMSE"), "{full}");
    let full = text(&["pack", &input, &output, "-e", "0.01", "--overwrite", "-v"]);
    for label in ["RMSE", "stored as", "element [", "time", "in memory", "codes"] {
        assert!(full.contains(label), "{label}: {full}");
    }
}

#[test]
fn the_report_of_a_group_is_short_too() {
    let trial = Trial::empty();
    create_group(&trial.input());
    for index in 0..30 {
        let array = Sample::new("float32", &[4], &[4], json!(0));
        array.write(&trial.input().join(format!("a{index}")), &bytes(&[1.0_f32, 2.0, 3.0, 40.5]));
    }
    let [input, output] = trial.places();
    let report = text(&["pack", &input, &output, "-e", "0.01", "--src-max", "30"]);
    assert!(report.lines().count() <= 10, "{report}");
    assert!(report.contains("30 elements of 30 arrays clamped, by 10.5"), "{report}");
    let again = path(&trial.place("again.zarr"));
    let report = text(&["pack", &input, &again, "-e", "0.01", "-v"]);
    assert!(report.lines().count() > 30 && report.contains("\na29 "), "{report}");
}

#[test]
fn one_element_is_no_elements() {
    let trial = Trial::empty();
    create_group(&trial.input());
    let array = Sample::new("float32", &[4], &[4], json!(-9999));
    array.write(&trial.input().join("a"), &bytes(&[-9999.0_f32, 1.0, 2.0, 40.5]));
    let [input, output] = trial.places();
    let report = text(&["pack", &input, &output, "-e", "0.01", "--src-max", "30"]);
    assert!(report.contains("1 element of 1 array clamped"), "{report}");
    let [packed, cf] = [trial.output().join("a"), trial.place("cf.zarr")].map(|at| path(&at));
    let all = path(&trial.place("all.zarr"));
    for places in [[&packed, &cf], [&output, &all]] {
        let report = text(&["unpack", "--to-cf", places[0], places[1]]);
        assert!(report.contains("1 element with the fill value will be missing"), "{report}");
    }
}

#[test]
fn clamped_elements_and_by_how_much_stand_in_the_headline() {
    let trial = kelvin();
    let [input, output] = trial.places();
    let flags = ["pack", &input, &output, "-e", "0.01", "--src-max", "350"];
    for more in [&["--dry-run"][..], &[]] {
        let report = text(&[&flags[..], more].concat());
        let headline = report.lines().next().unwrap();
        assert!(headline.contains("1 of 3 000 elements clamped, by 50.00 at most"), "{report}");
    }
}

#[test]
fn a_constant_array_boasts_no_ratio() {
    let trial = Trial::new(&[288.7_f32; 4000], 4000, json!({}));
    let [input, output] = trial.places();
    let report = text(&["pack", &input, &output, "-e", "0.01", "-v"]);
    assert!(report.contains("all values are the same"), "{report}");
    assert!(!report.contains("times smaller"), "{report}");
}

#[test]
fn the_readers_are_those_of_the_compatibility_page() {
    let trial = kelvin();
    let [input, output] = trial.places();
    let report = text(&["pack", &input, &output, "-e", "0.01"]);
    let readers = report.lines().find(|line| line.starts_with("readers")).unwrap();
    let page = std::fs::read_to_string(repository().join("docs/compatibility.md")).unwrap();
    for reader in ["zarr-python 3.4.2", "zarrs 0.23"] {
        assert!(readers.contains(reader) && page.contains(reader), "{reader}: {readers}");
    }
    assert!(!readers.contains("or newer"), "{readers}");
}

/// Calls `check` with the name and the value of every member of a document.
fn members(value: &Value, check: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                check(name, value);
                members(value, check);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| members(value, check)),
        _ => {}
    }
}

#[test]
fn counts_of_bytes_are_integers_in_json() {
    let trial = kelvin();
    let [input, output] = trial.places();
    let [plain, cf] = ["plain.zarr", "cf.zarr"].map(|name| path(&trial.place(name)));
    let mut found = 0;
    for arguments in [
        &["pack", &input, &output, "-e", "0.01"][..],
        &["pack", &input, &plain, "-e", "0.01", "--dry-run"],
        &["unpack", &output, &plain],
        &["unpack", "--to-cf", &output, &cf],
        &["pack", "--from-cf", &cf, &plain, "--overwrite"],
        &["compare", &input, &plain],
    ] {
        let report = recast(&[arguments, &["--json"]].concat()).reports();
        members(&report, &mut |name, value| {
            let counts = match value {
                Value::Object(counts) if name == "bytes" => counts.values().collect(),
                _ if name.contains("bytes") || name.ends_with("stored") => vec![value],
                _ => Vec::new(),
            };
            for count in counts.into_iter().filter(|count| !count.is_null()) {
                assert!(count.is_u64(), "{arguments:?}: {name} {value}");
                found += 1;
            }
        });
    }
    assert!(found >= 16, "{found} counts found");
}

#[test]
fn cat_does_not_write_to_a_terminal() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let trial = kelvin();
    // script(1) runs a command on a terminal of its own.
    let command = format!("{} cat {}", env!("CARGO_BIN_EXE_recast"), trial.input().display());
    let run = std::process::Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .output()
        .unwrap();
    let shown = String::from_utf8(run.stdout).unwrap();
    assert_eq!(run.status.code(), Some(1), "{shown}");
    assert!(shown.contains("a terminal cannot show raw elements"), "{shown}");
    assert_eq!(shown.trim_end().lines().count(), 1, "{shown}");
}

#[test]
fn migrate_points_to_from_cf_where_cf_attributes_pack() {
    let trial = Trial::empty();
    let input = trial.input();
    create_v2(&input, json!({"shape": [3], "chunks": [3], "dtype": "<i2", "fill_value": -1}));
    std::fs::write(input.join(".zattrs"), r#"{"scale_factor": 0.01}"#).unwrap();
    std::fs::write(input.join("0"), [1, 0, 2, 0, 3, 0]).unwrap();
    let [input, output] = trial.places();
    let report = text(&["migrate", &input, &output]);
    assert!(report.contains("pack with --from-cf"), "{report}");
    let json = recast(&["migrate", &input, &output, "--overwrite", "--json"]).reports();
    assert!(json["hint"].as_str().unwrap().contains("--from-cf"), "{json}");
    // Zarr v3 needs no migration, and that is what the error says besides.
    let error = recast(&["migrate", &output, &path(&trial.place("again.zarr"))]).fails(1);
    assert!(error.contains("nothing to migrate") && error.contains("--from-cf"), "{error}");
}

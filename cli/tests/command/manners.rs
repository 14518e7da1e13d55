//! How the command speaks: what is wrong with arguments, what is ignored by none, and short reports.

use std::path::{Path, PathBuf};

use crate::common::{Folder, Sample, contents, f32s, field, names, recast};
use serde_json::{Value, json};

/// A folder with a float32 array of 3000 elements, NaN and a spike among them.
fn kelvin() -> Folder {
    let folder = Folder::new();
    let mut values: Vec<f32> = field(3000).into_iter().map(|value| value as f32).collect();
    (values[7], values[1500]) = (f32::NAN, 400.0);
    Sample::new("float32", &[60, 50], &[20, 50], json!("NaN"))
        .with("attributes", json!({"units": "K"}))
        .write(&folder.input(), &f32s(&values));
    folder
}

fn paths(folder: &Folder) -> [String; 2] {
    [folder.input(), folder.output()].map(|path| path.display().to_string())
}

fn text(arguments: &[&str]) -> String {
    String::from_utf8(recast(arguments).succeeds()).unwrap()
}

#[test]
fn a_goal_is_needed_and_the_error_says_which_there_are() {
    let folder = kelvin();
    let error = folder.usage(&[]);
    assert!(error.lines().count() > 3, "{error}");
    for part in [
        "nothing says what to keep",
        "--max-abs-error, --error-over-range, --max-rel-error, --precision or --auto, or --scale and",
        "\nUsage: recast pack ",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn two_goals_are_one_too_many() {
    let folder = kelvin();
    let goals = [
        &["--max-abs-error", "0.1"][..],
        &["--max-rel-error", "0.1"],
        &["--precision", "0.1"],
        &["--auto"],
    ];
    for (index, one) in goals.iter().enumerate() {
        for other in goals.iter().skip(index + 1) {
            let error = folder.usage(&[*one, *other, &["-t", "int16"]].concat());
            assert!(error.contains("cannot be used with"), "{error}");
            assert!(error.contains(one[0]) && error.contains(other[0]), "{error}");
            assert!(error.contains("\nUsage: recast pack "), "{error}");
        }
    }
}

#[test]
fn a_misspelt_flag_is_answered_with_the_right_one() {
    let folder = kelvin();
    let error = folder.usage(&["--max-abs-eror", "0.1"]);
    assert!(error.contains("tip: a similar argument exists: '--max-abs-error'"), "{error}");
    let error = recast(&["pakc", "a", "b"]).fails(2);
    assert!(error.contains("tip: ") && error.contains("'pack'"), "{error}");
}

#[test]
fn paths_behind_a_list_of_numbers_are_told_where_to_go() {
    let folder = kelvin();
    let [input, output] = paths(&folder);
    let error = recast(&["pack", "-e", "0.1", "--missing", "1", "-2", &input, &output]).fails(2);
    assert!(error.contains("--missing") && error.contains(&input), "{error}");
    assert!(error.contains("INPUT and OUTPUT come before the list"), "{error}");
    recast(&["pack", &input, &output, "-e", "0.1", "--missing", "1", "-2"]).succeeds();
}

#[test]
fn what_only_the_library_knows_is_said_in_the_same_form() {
    let folder = kelvin();
    let error = folder.usage(&["--precision", "0.1", "-t", "float16"]);
    assert!(error.contains("takes an integer type"), "{error}");
    assert!(error.contains("\nUsage: recast pack "), "{error}");
}

#[test]
fn a_type_alone_is_no_goal() {
    let folder = kelvin();
    for data_type in ["int16", "float16"] {
        let error = folder.usage(&["-t", data_type]);
        for way in ["--max-abs-error", "--precision", "--auto", "--scale"] {
            assert!(error.contains(way), "{way}: {error}");
        }
    }
    // Nor is it one in recast.toml, or beside it for the other arrays.
    let group = Folder::new();
    std::fs::create_dir(group.input()).unwrap();
    std::fs::write(group.input().join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#)
        .unwrap();
    for name in ["a", "b"] {
        let array = Sample::new("float32", &[4], &[4], json!(0));
        array.write(&group.input().join(name), &f32s(&[1.0, 2.0, 3.0, 4.5]));
    }
    let config = group.path().join("recast.toml");
    let config_path = config.to_str().unwrap();
    std::fs::write(&config, "[[array]]\nname = 'a'\ndata-type = 'int16'\n").unwrap();
    let error = group.refuses(&["--config", config_path]);
    assert!(error.contains("--data-type alone does not say what to keep"), "{error}");
    std::fs::write(&config, "[[array]]\nname = 'a'\nmax-abs-error = 0.1\n").unwrap();
    let error = group.usage(&["--config", config_path, "-t", "int16"]);
    assert!(error.contains("--data-type alone does not say what to keep"), "{error}");
    group.pack(&["--config", config_path]);
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
    ("pack --error-over-range 0.1", &["-e 1", "--precision 1", "--scale 2", "--offset 2"]),
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
    let folder = kelvin();
    let [input, output] = paths(&folder);
    let before = contents(folder.path());
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
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn a_stored_value_for_nan_is_refused_where_there_is_no_nan() {
    let folder = Folder::new();
    let elements: Vec<u8> = (0..10_i32).flat_map(i32::to_ne_bytes).collect();
    Sample::new("int32", &[10], &[10], json!(0)).write(&folder.input(), &elements);
    let error = folder.refuses(&["-e", "0", "--nan-to", "200"]);
    assert!(error.contains("int32 has no NaN") && error.contains("--nan-to"), "{error}");
}

/// Reports that are printed for people by default.
fn short_reports(folder: &Folder) -> Vec<(Vec<String>, String)> {
    let [input, output] = paths(folder);
    let [other, again] =
        ["other.zarr", "again.zarr"].map(|name| folder.path().join(name).display().to_string());
    let goldens = Path::new(env!("CARGO_MANIFEST_DIR")).join("../zarrs/tests/goldens");
    let legacy = goldens.join("v2_fso_f8_u1_gzip/array.zarr").display().to_string();
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
    let folder = kelvin();
    for (arguments, report) in short_reports(&folder) {
        let lines = report.lines().count();
        assert!((2..=10).contains(&lines), "{arguments:?}: {lines}\n{report}");
    }
    let [input, output] = paths(&folder);
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
    let folder = Folder::new();
    std::fs::create_dir(folder.input()).unwrap();
    std::fs::write(folder.input().join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#)
        .unwrap();
    for index in 0..30 {
        let array = Sample::new("float32", &[4], &[4], json!(0));
        array.write(&folder.input().join(format!("a{index}")), &f32s(&[1.0, 2.0, 3.0, 40.5]));
    }
    let [input, output] = paths(&folder);
    let report = text(&["pack", &input, &output, "-e", "0.01", "--src-max", "30"]);
    assert!(report.lines().count() <= 10, "{report}");
    assert!(report.contains("30 elements of 30 arrays clamped, by 10.5"), "{report}");
    let again = folder.path().join("again.zarr").display().to_string();
    let report = text(&["pack", &input, &again, "-e", "0.01", "-v"]);
    assert!(report.lines().count() > 30 && report.contains("\na29 "), "{report}");
}

#[test]
fn clamped_elements_and_by_how_much_stand_in_the_headline() {
    let folder = kelvin();
    let [input, output] = paths(&folder);
    let flags = ["pack", &input, &output, "-e", "0.01", "--src-max", "350"];
    for more in [&["--dry-run"][..], &[]] {
        let report = text(&[&flags[..], more].concat());
        let headline = report.lines().next().unwrap();
        assert!(headline.contains("1 of 3 000 elements clamped, by 50.00 at most"), "{report}");
    }
}

#[test]
fn a_constant_array_boasts_no_ratio() {
    let folder = Folder::new();
    Sample::new("float32", &[4000], &[4000], json!("NaN"))
        .write(&folder.input(), &f32s(&[288.7; 4000]));
    let [input, output] = paths(&folder);
    let report = text(&["pack", &input, &output, "-e", "0.01", "-v"]);
    assert!(report.contains("all values are the same"), "{report}");
    assert!(!report.contains("times smaller"), "{report}");
}

#[test]
fn the_readers_are_those_of_the_compatibility_page() {
    let folder = kelvin();
    let [input, output] = paths(&folder);
    let report = text(&["pack", &input, &output, "-e", "0.01"]);
    let readers = report.lines().find(|line| line.starts_with("readers")).unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/compatibility.md");
    let page = std::fs::read_to_string(page).unwrap();
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
    let folder = kelvin();
    let [input, output] = paths(&folder);
    let [plain, cf] =
        ["plain.zarr", "cf.zarr"].map(|name| folder.path().join(name).display().to_string());
    let mut found = 0;
    for arguments in [
        &["pack", &input, &output, "-e", "0.01"][..],
        &["pack", &input, &plain, "-e", "0.01", "--dry-run"],
        &["unpack", &output, &plain],
        &["unpack", "--to-cf", &output, &cf],
        &["pack", "--from-cf", &cf, &plain, "--overwrite"],
        &["compare", &input, &plain],
    ] {
        let report = recast(&[arguments, &["--json"]].concat()).succeeds();
        members(&serde_json::from_slice(&report).unwrap(), &mut |name, value| {
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
fn unpack_reports_what_it_did() {
    let folder = kelvin();
    let [_, output] = paths(&folder);
    let plain = folder.path().join("plain.zarr").display().to_string();
    folder.pack(&["-e", "0.01"]);
    let report = text(&["unpack", &output, &plain]);
    for part in ["unpacked", "plain.zarr", "float32", "[60, 50]", "stored"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let report = recast(&["unpack", &output, &plain, "--overwrite", "--json"]).succeeds();
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert_eq!([&report["input"], &report["output"]], [&json!(output), &json!(plain)]);
    assert_eq!([&report["data_type"], &report["shape"]], [&json!("float32"), &json!([60, 50])]);
    let chunks = contents(Path::new(&plain)).into_iter().filter(|(path, _)| path.starts_with("c"));
    let stored: usize = chunks.map(|(_, bytes)| bytes.len()).sum();
    assert_eq!(report["stored"], stored);
    let quiet = ["unpack", &output, &plain, "--overwrite", "--quiet"];
    assert!(recast(&quiet).succeeds().is_empty());
    let cf = recast(&["unpack", "--to-cf", &output, &plain, "--overwrite", "--json"]).succeeds();
    let cf: Value = serde_json::from_slice(&cf).unwrap();
    assert_eq!(cf["data_type"], "float32");
    assert!(cf["attributes"]["scale_factor"].is_number(), "{cf}");
}

#[test]
fn cat_does_not_write_to_a_terminal() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let folder = kelvin();
    // script(1) runs a command on a terminal of its own.
    let command = format!("{} cat {}", env!("CARGO_BIN_EXE_recast"), folder.input().display());
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
fn npy_files_are_those_that_numpy_writes() {
    let goldens = Path::new(env!("CARGO_MANIFEST_DIR")).join("../zarrs/tests/goldens");
    let mut compared = 0;
    for case in names(&goldens) {
        let expected: PathBuf = goldens.join(&case).join("decoded.npy");
        let Ok(expected) = std::fs::read(expected) else { continue };
        // NumPy's own files may be in Fortran's order, and hold the bits of types that it lacks.
        let array = goldens.join(&case).join("array.zarr").display().to_string();
        let run = recast(&["cat", "--npy", "--accept-fill-value", &array]).run();
        if !run.status.success() {
            assert!(run.stderr.contains("which NumPy lacks"), "{case}: {}", run.stderr);
            continue;
        }
        if String::from_utf8_lossy(&expected[..128]).contains("'fortran_order': True") {
            continue;
        }
        assert!(
            run.stdout == expected,
            "{case}: {:?}",
            String::from_utf8_lossy(&run.stdout[..128])
        );
        compared += 1;
    }
    assert!(compared >= 20, "{compared} files compared");
}

#[test]
fn migrate_points_to_from_cf_where_cf_attributes_pack() {
    let folder = Folder::new();
    let input = folder.input();
    std::fs::create_dir(&input).unwrap();
    let document = json!({"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "<i2",
        "fill_value": -1, "order": "C", "compressor": null, "filters": null});
    std::fs::write(input.join(".zarray"), document.to_string()).unwrap();
    std::fs::write(input.join(".zattrs"), r#"{"scale_factor": 0.01}"#).unwrap();
    std::fs::write(input.join("0"), [1, 0, 2, 0, 3, 0]).unwrap();
    let [input, output] = paths(&folder);
    let report = text(&["migrate", &input, &output]);
    assert!(report.contains("recast pack --from-cf"), "{report}");
    let json = recast(&["migrate", &input, &output, "--overwrite", "--json"]).succeeds();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert!(json["hint"].as_str().unwrap().contains("--from-cf"), "{json}");
    // Zarr v3 needs no migration, and that is what the error says besides.
    let again = folder.path().join("again.zarr").display().to_string();
    let error = recast(&["migrate", &output, &again]).fails(1);
    assert!(error.contains("nothing to migrate") && error.contains("--from-cf"), "{error}");
}

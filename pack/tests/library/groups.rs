//! Groups: what is picked is packed, what is not stays as it is; and the other jobs for groups.

use std::fs;
use std::path::Path;

use crate::common::{
    Sample, Trial, bytes, chunks, comparison, contents, copy, create_group, create_texts,
    create_v2, done, failed, kept, list, metadata, names, of_group, one_thread, options, outcome,
    packed, quarters, read, reports, told, waves, weather, within,
};
use recast_pack::{
    ArrayInfo, ArrayReport, ArrayRule, Compressor, DryRun, FromCfReport, GroupComparison, GroupJob,
    GroupReport, Job, MigrateJob, PackJob, PackOptions, UnpackJob, UnpackedArray, info, scalar,
};
use serde_json::{Value, json};

/// The arrays of `weather`.
const ARRAYS: [&str; 7] = ["deep/t2m", "flag", "lat", "lat_bounds", "lon", "t2m", "wind"];

/// A weather group, and a way to pack it.
fn of_weather() -> Trial {
    let trial = Trial::empty();
    weather(&trial.input());
    trial
}

fn run(job: &GroupJob) -> GroupReport<ArrayReport> {
    of_group(job.run(&one_thread())).unwrap()
}

fn pack(trial: &Trial, options: PackOptions) -> GroupReport<ArrayReport> {
    run(&trial.group_job(options))
}

/// The error of a job that leaves nothing behind.
fn refuses(trial: &Trial, job: &GroupJob) -> String {
    let before = contents(trial.path());
    let error = of_group(job.run(&one_thread())).map(|report| report.output).unwrap_err();
    assert_eq!(contents(trial.path()), before, "{error}");
    error
}

fn is_packed(path: &Path) -> bool {
    metadata(path)["codecs"].to_string().contains("cast_value")
}

#[test]
fn fields_are_packed_and_everything_else_is_the_same_files() {
    let trial = of_weather();
    let report = pack(&trial, within(0.01));
    assert_eq!(packed(&report), ["deep/t2m", "t2m", "wind"]);
    let (input, output) = (trial.input(), trial.output());
    for name in ["flag", "lat", "lat_bounds", "lon"] {
        assert_eq!(contents(&output.join(name)), contents(&input.join(name)), "{name}");
    }
    assert!(is_packed(&output.join("t2m")) && is_packed(&output.join("deep/t2m")));
    assert_eq!(read(&input.join("t2m")), read(&output.join("t2m")));
    assert_eq!(metadata(&output.join("t2m"))["attributes"]["coordinates"], "height lon");
    assert_eq!(names(trial.path()), ["in.zarr", "out.zarr"]);
    // The copies of metadata are those of what is there.
    let root = trial.metadata();
    assert_eq!(root["attributes"], json!({"title": "weather"}));
    assert_consolidated(&output, 8);
}

/// The group holds a copy of all metadata below it, and the group in it holds none.
fn assert_consolidated(group: &Path, expected: usize) {
    let root = metadata(group);
    let copies = root["consolidated_metadata"]["metadata"].as_object().unwrap();
    assert_eq!(copies.len(), expected);
    for (path, copy) in copies {
        assert_eq!(*copy, metadata(&group.join(path)), "{path}");
    }
    assert!(metadata(&group.join("deep")).get("consolidated_metadata").is_none());
}

/// Readers of the input find such an array by the copy alone, and readers of the output do not.
#[test]
fn arrays_that_only_the_copy_of_the_metadata_lists_are_named() {
    let trial = of_weather();
    let mut root = metadata(&trial.input());
    let copies = json!({"kind": "inline", "must_understand": false, "metadata": {
        "t2m": metadata(&trial.input().join("t2m")), "wind": metadata(&trial.input().join("wind")),
    }});
    root["consolidated_metadata"] = copies;
    fs::write(trial.input().join("zarr.json"), root.to_string()).unwrap();
    fs::remove_file(trial.input().join("t2m/zarr.json")).unwrap();
    let report = pack(&trial, within(0.01));
    // Nothing says any more that lon is a coordinate: t2m named it.
    assert_eq!(packed(&report), ["deep/t2m", "lon", "wind"]);
    let [warning] = &report.warnings[..] else { panic!("{:?}", report.warnings) };
    assert!(
        warning.ends_with("only the consolidated metadata of INPUT list them: t2m"),
        "{warning}"
    );
}

#[test]
fn nothing_replaces_an_array_whose_metadata_a_group_above_holds_a_copy_of() {
    let trial = of_weather();
    pack(&trial, within(0.01));
    let before = contents(&trial.output());
    let input = trial.input().join("t2m");
    for (place, is_free) in [("t2m", false), ("deep/t2m", false), ("deep/new", true)] {
        let output = trial.output().join(place);
        let job = PackJob { overwrite: true, ..PackJob::new(&input, &output, within(0.1)) };
        let outcome = told(job.run(&one_thread()));
        if is_free {
            outcome.unwrap();
            fs::remove_dir_all(output).unwrap();
        } else {
            let error = outcome.map(|report| report.output).unwrap_err();
            assert!(error.contains("out.zarr has consolidated metadata with a copy"), "{error}");
            assert!(
                error.contains("write that group as a whole, or to a place outside"),
                "{error}"
            );
        }
        assert_eq!(contents(&trial.output()), before, "{place}");
    }
}

#[test]
fn coordinates_are_packed_only_on_request() {
    let trial = of_weather();
    let named = GroupJob { include: list(&["lat", "w*"]), ..trial.group_job(within(0.01)) };
    assert_eq!(packed(&run(&named)), ["lat", "wind"]);
    let all = GroupJob { all: true, ..trial.group_job(within(0.01)) };
    assert_eq!(packed(&run(&all)), ["deep/t2m", "lat", "lat_bounds", "lon", "t2m", "wind"]);
    let job = trial.group_job(within(0.01));
    let none = GroupJob { include: list(&["t2m"]), exclude: list(&["**/t2m"]), ..job };
    let error = refuses(&trial, &none);
    assert!(error.contains("none of 7 arrays is to be packed"), "{error}");
}

#[test]
fn the_name_of_a_coordinate_leads_to_the_nearest_group_that_has_it() {
    let trial = Trial::empty();
    for group in ["", "forecast", "forecast/deep"] {
        create_group(&trial.input().join(group));
    }
    let array = |path: &str, coordinates: &str| {
        Sample::new("float32", &[4], &[4], json!(0))
            .with("attributes", json!({"coordinates": coordinates}))
            .write(&trial.input().join(path), &quarters(4));
    };
    for path in ["lat2d", "lon2d", "forecast/lon2d", "height", "forecast/height"] {
        array(path, "");
    }
    array("forecast/deep/t", "lat2d lon2d /height none");
    let report = pack(&trial, within(0.01));
    assert_eq!(packed(&report), ["forecast/deep/t", "forecast/height", "lon2d"]);
}

#[test]
fn a_bound_over_the_range_is_coarse_for_no_array() {
    let trial = of_weather();
    let report = pack(&trial, options(json!({"error-over-range": 1e-3})));
    assert!(reports(&report).iter().all(|report| report.coarse.is_none()));
}

/// A job with the tables of a `recast.toml`.
fn with_tables(trial: &Trial, text: &str) -> GroupJob {
    let rules = told(ArrayRule::list_from_toml(text)).unwrap();
    GroupJob { rules, ..trial.group_job(PackOptions::default()) }
}

/// `name = '*'` stands for the data, as a run without a table does.
#[test]
fn a_pattern_of_a_table_leaves_coordinates_alone() {
    let trial = of_weather();
    let job = |text: &str| with_tables(&trial, text);
    let table = "[[array]]\nname = '**'\nmax-abs-error = 0.01";
    let arrays = ["deep/t2m", "flag", "t2m", "wind"];
    assert_eq!(packed(&run(&job(table))), arrays);
    let named = GroupJob { include: list(&["lat"]), ..job(table) };
    assert_eq!(packed(&run(&named)), ["lat"]);
    // A path in a table is as good as --include.
    let both = format!("[[array]]\nname = 't2m'\nmax-abs-error = 0.02\n{table}");
    let named = GroupJob { include: list(&["wind"]), ..job(&both) };
    assert_eq!(packed(&run(&named)), ["t2m", "wind"]);
    let exact = job("[[array]]\nname = 'lat'\nmax-abs-error = 0.01");
    assert_eq!(packed(&run(&exact)), ["lat"]);
}

#[test]
fn a_configuration_says_how_for_each() {
    let trial = of_weather();
    let rules = |text: &str| with_tables(&trial, text);
    let job = rules(
        r#"
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
    "#,
    );
    let report = run(&job);
    assert_eq!(packed(&report), ["t2m", "wind"]);
    let types: Vec<&str> = reports(&report).iter().map(|one| one.data_type.name()).collect();
    assert_eq!(types, ["uint16", "int8"]);
    for (text, expected) in [
        (
            "[[array]]\nname = \"x\"\nmax_error = 1",
            "array 1 (x): unknown key max_error; the nearest names are max-abs-error, max-rel-error,",
        ),
        ("[[array]]\nmax-abs-error = 1", "array 1: name is missing"),
        (
            "[[array]]\nname = \"x\"\nmax-abs-error = \"many\"",
            "array 1 (x): max-abs-error: \"many\": a finite",
        ),
        (
            "[[array]]\nname = \"x\"\nlossless = true\ndata-type = 5",
            "data-type: invalid type: integer",
        ),
        ("[[array]]\nname = \"x\"\nlossless = true\ndata-type = \"\"", "data-type: "),
        ("[[array]]\nname = \"\"\nlossless = true", "name is empty"),
        ("[[array]]\nname = \"x\"\nmax-abs-error = nan", "a finite number"),
        ("[[array]]\nname = \"x\"\nmax-abs-error = 1\nsrc-min = -inf", "a finite number"),
        ("[[array]]\nname = \"x\"\nmax-abs-error = 1\nrange = [1, inf]", "two finite numbers"),
        ("[[array]]\nname = \"x\"\nskip = 1\nmax-abs-error = 1", "skip is 1; it must be true or"),
        ("[arrays]", "unknown key arrays; only [[array]] tables are known"),
        ("", "no [[array]] in it"),
        ("[[array]]\nname = \"x\"\n[[array]]\nname = \"/x\"", "two tables have the name /x"),
        ("= 1", "TOML parse error at line 1"),
        ("[[array]]\nname = \"x\"\nnan-to = \"\"", "nan-to: \"\": a number is needed"),
    ] {
        let error = told(ArrayRule::list_from_toml(text)).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let long = format!("[[array]]\nname = \"{}\" x", "y".repeat(1000));
    let error = told(ArrayRule::list_from_toml(&long)).unwrap_err();
    assert!(error.contains("at line 2, column 1011") && error.len() < 200, "{error}");
    let missing = told(ArrayRule::list_from_toml(
        "[[array]]\nname = \"x\"\nmax-abs-error = 1\nmissing = [nan, inf, -9.0]",
    ));
    let missing = missing.unwrap().remove(0).options.unwrap().options().missing.clone();
    let as_flags = ["nan", "inf", "-9.0"].map(|text| scalar(text).unwrap());
    assert_eq!(missing, as_flags);
    let error =
        refuses(&trial, &rules("[[array]]\nname = \"t2m\"\nscale = inf\ndata-type = \"int8\""));
    assert!(error.contains("scale"), "{error}");
    let strings =
        json!({"zarr_format": 3, "node_type": "array", "data_type": "string", "shape": [1]});
    fs::create_dir(trial.input().join("names")).unwrap();
    fs::write(trial.input().join("names/zarr.json"), strings.to_string()).unwrap();
    let error = refuses(&trial, &rules("[[array]]\nname = \"names\"\nmax-abs-error = 1"));
    let expected = "is not a type that can be packed, and options are given for it";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn groups_of_zarr_v2_become_zarr_v3() {
    let trial = Trial::empty();
    let input = trial.input();
    let array = |name: &str, dtype: &str, dimensions: &Value, bytes: &[u8]| {
        let array = input.join(name);
        let rank = dimensions.as_array().unwrap().len();
        let shape = vec![2; rank];
        create_v2(
            &array,
            json!({"shape": shape, "chunks": shape, "dtype": dtype, "fill_value": null}),
        );
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

    assert_eq!(packed(&pack(&trial, within(0.1))), ["field"]);
    let output = trial.output();
    let names: Vec<String> =
        contents(&output).into_keys().map(|path| path.display().to_string()).collect();
    assert!(names.iter().all(|name| !name.contains(".z")), "{names:?}");
    assert_eq!(fs::read(output.join("x/0")).unwrap(), big[..8]);
    assert_eq!(metadata(&output.join("x"))["dimension_names"], json!(["x"]));
    // The attribute is a member now, also in what is packed and unpacked from there.
    let unpacked = trial.place("unpacked");
    told(UnpackJob::new(input.join("field"), &unpacked).run(&one_thread())).unwrap();
    for written in [output.join("field"), unpacked] {
        let document = metadata(&written);
        assert_eq!(document["dimension_names"], json!(["x", "y"]));
        assert_eq!(document["attributes"].get("_ARRAY_DIMENSIONS"), None);
    }
    assert_eq!(metadata(&output.join("mask"))["data_type"], "bool");
    assert_eq!(metadata(&output)["attributes"], json!({"title": "old"}));
    let copies = &metadata(&output)["consolidated_metadata"]["metadata"];
    assert_eq!(copies["x"], metadata(&output.join("x")));
    assert_eq!(read(&output.join("x")), bytes(&[1.0_f32, 2.0]));
}

#[test]
fn cf_attributes_are_converted_all_over_a_group() {
    let trial = Trial::empty();
    let input = trial.input();
    create_group(&input);
    for (name, attributes) in [("a", json!({"scale_factor": 0.5})), ("b", json!({"units": "1"}))] {
        Sample::new("int8", &[3], &[3], json!(0))
            .with("attributes", attributes)
            .write(&input.join(name), &[1, 2, 3]);
    }
    let job = trial.group_job(options(json!({"from-cf": true})));
    let before = contents(trial.path());
    let planned = of_group(job.dry_run(&one_thread())).unwrap();
    assert_eq!(contents(trial.path()), before);
    let report = run(&job);
    assert_eq!([packed(&planned), packed(&report)], [["a"], ["a"]]);
    let of = |report: &GroupReport<ArrayReport>| match report.arrays[0].report() {
        Some(ArrayReport::FromCf(FromCfReport { codecs, bit_identical, .. })) => {
            (codecs.clone(), *bit_identical)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(of(&planned), of(&report));
    assert_eq!(contents(&trial.output().join("b")), contents(&input.join("b")));
    assert_eq!(read(&trial.output().join("a")), bytes(&[0.5_f32, 1.0, 1.5]));
}

#[test]
fn one_array_that_fails_leaves_nothing_behind() {
    let trial = of_weather();
    let narrow = options(json!({"max-abs-error": 0.001, "data-type": "uint2"}));
    let error = refuses(&trial, &trial.group_job(narrow));
    assert!(error.contains("deep/t2m") && error.contains("--exclude"), "{error}");
}

#[test]
fn named_arrays_of_a_group_have_one_scale() {
    let high: Vec<f32> = (0..12).map(|i| 90.0 + i as f32 / 7.0).collect();
    let with_scale_from = |trial: &Trial, names: &[&str]| -> GroupJob {
        let scale_from = names.iter().map(Into::into).collect();
        PackJob { scale_from, ..trial.job(within(0.01)) }.into()
    };
    for (names, of_one_scale, apart) in [
        (&["**/t2m", "wind"], &["t2m", "wind", "deep/t2m"][..], None),
        (&["deep/*", "wind"], &["wind", "deep/t2m"], Some("t2m")),
    ] {
        let trial = of_weather();
        let wind = trial.input().join("wind");
        Sample::new("float32", &[3, 4], &[3, 4], json!(0)).write(&wind, &bytes(&high));
        run(&with_scale_from(&trial, names));
        let codecs = |path: &str| metadata(&trial.output().join(path))["codecs"].clone();
        for path in of_one_scale {
            assert_eq!(codecs(path), codecs("wind"), "{names:?} {path}");
        }
        assert!(apart.is_none_or(|path| codecs(path) != codecs("wind")), "{names:?}");
    }
    let trial = of_weather();
    let error = refuses(&trial, &with_scale_from(&trial, &["flag"]));
    assert!(error.contains("--scale-from flag: not to be packed"), "{error}");
}

/// A group with attributes.
fn group_with(path: &Path, attributes: &Value) {
    fs::create_dir_all(path).unwrap();
    let document = json!({"zarr_format": 3, "node_type": "group", "attributes": attributes});
    fs::write(path.join("zarr.json"), document.to_string()).unwrap();
}

/// The levels of an image, each half as long and of smaller values than the one before.
fn pyramid(root: &Path, arrays: &[&str]) {
    for (level, array) in arrays.iter().enumerate() {
        if let Some((group, _)) = array.split_once('/') {
            create_group(&root.join(group));
        }
        let length = 64 >> level;
        let values: Vec<f32> = (0..length).map(|i| i as f32 / 7.0).collect();
        Sample::new("float32", &[length], &[8], json!(0)).write(&root.join(array), &bytes(&values));
    }
}

#[test]
fn the_levels_of_a_pyramid_have_one_scale() {
    let datasets = |paths: &[&str]| -> Value {
        let levels: Vec<Value> = paths.iter().map(|path| json!({"path": path})).collect();
        json!([{"version": "0.5", "datasets": levels}])
    };
    let arrays = ["0", "1", "2"];
    let in_groups = ["0/t", "1/t", "2/t"];
    let of_geozarr = json!([{"asset": "0"}, {"asset": "1"}, {"asset": "2", "derived_from": "1"}]);
    for (attributes, levels) in [
        (json!({"multiscales": datasets(&arrays)}), arrays),
        (json!({"ome": {"version": "0.5", "multiscales": datasets(&arrays)}}), arrays),
        (json!({"multiscales": datasets(&arrays)}), in_groups),
        (json!({"multiscales": datasets(&in_groups)}), in_groups),
        (json!({"multiscales": {"layout": of_geozarr}}), in_groups),
        (json!({"multiscales": {"tile_matrix_limits": {"0": {}, "1": {}, "2": {}}}}), in_groups),
    ] {
        let trial = Trial::empty();
        let (input, output) = (trial.input(), trial.output());
        // A plate of images: each has its own scale, and "00" is no level.
        group_with(&input, &json!({}));
        for image in ["a", "b"] {
            group_with(&input.join(image), &attributes);
            pyramid(&input.join(image), &levels);
            pyramid(&input.join(image), &["00/t"]);
        }
        let far: Vec<f32> = (0..64).map(|i| 900.0 + i as f32).collect();
        Sample::new("float32", &[64], &[8], json!(0))
            .write(&input.join("b").join(levels[2]), &bytes(&far));
        run(&trial.group_job(within(0.01)));
        let codecs = |path: String| metadata(&output.join(path))["codecs"].clone();
        for image in ["a", "b"] {
            let [first, rest @ ..] = levels.map(|level| codecs(format!("{image}/{level}")));
            assert!(rest.iter().all(|other| *other == first), "{attributes} {rest:?}");
            let attributes_of = |root: &Path| metadata(&root.join(image))["attributes"].clone();
            assert_eq!(attributes_of(&output), attributes, "{image}");
        }
        let [a, b] = ["a", "b"].map(|image| codecs(format!("{image}/{}", levels[0])));
        assert_ne!(a, b, "{attributes}");
        assert_eq!(codecs("a/00/t".into()), codecs("b/00/t".into()), "{attributes}");
        assert_ne!(codecs("b/00/t".into()), b, "{attributes}");
    }
}

/// An array by itself would get the code of NaN next to those of its range, with which differences are smaller. Arrays that
/// are packed later have to get the same codes.
#[test]
fn codes_that_levels_share_are_not_moved_for_smaller_differences() {
    let shared = |compressor: Compressor| {
        let trial = Trial::empty();
        let datasets = json!([{"path": "0"}, {"path": "1"}]);
        group_with(&trial.input(), &json!({"multiscales": [{"datasets": datasets}]}));
        for (level, width) in [("0", 30.0), ("1", 20.0)] {
            let mut values = waves(4000, 288.0, width);
            values[1000..1400].fill(f32::NAN);
            Sample::new("float32", &[4000], &[1000], json!(0))
                .write(&trial.input().join(level), &bytes(&values));
        }
        let report = pack(&trial, PackOptions { compressor, ..within(0.01) });
        let is_smallest = compressor == Compressor::Smallest;
        for one in reports(&report) {
            assert_eq!(one.compression.starts_with("delta"), is_smallest, "{}", one.compression);
        }
        let [first, second] = ["0", "1"].map(|level| {
            let codecs = metadata(&trial.output().join(level))["codecs"].clone();
            json!([codecs[0], codecs[1]])
        });
        assert_eq!(first, second);
        first
    };
    let codes = shared(Compressor::Auto);
    assert_eq!(codes[1]["name"], "cast_value");
    assert_eq!(shared(Compressor::Smallest), codes);
}

#[test]
fn what_is_no_pyramid_of_one_type_is_packed_array_by_array() {
    let levels = |value: Value| json!({"multiscales": value});
    for attributes in [
        levels(json!([{"datasets": [{"path": "0"}, {"path": "nowhere"}]}])),
        levels(json!([{"datasets": [{"path": 7}, {}]}, 3, {"datasets": {}}])),
        levels(json!("none")),
        levels(json!(null)),
        // Of two types.
        levels(json!([{"datasets": [{"path": "0"}, {"path": "double"}]}])),
    ] {
        let trial = Trial::empty();
        group_with(&trial.input(), &attributes);
        pyramid(&trial.input(), &["0", "1", "2"]);
        let wide: Vec<f64> = (0..64).map(f64::from).collect();
        Sample::new("float64", &[64], &[8], json!(0))
            .write(&trial.input().join("double"), &bytes(&wide));
        let report = pack(&trial, within(0.01));
        assert_eq!(packed(&report), ["0", "1", "2", "double"]);
        assert!(reports(&report).iter().all(|one| one.scale_from.is_none()), "{attributes}");
    }
    // A level that is left as it is, one with a bound of its own, and one with a scale of its own.
    let trial = Trial::empty();
    let datasets = json!([{"path": "0"}, {"path": "1"}, {"path": "2"}, {"path": "3"}]);
    group_with(&trial.input(), &levels(json!([{"datasets": datasets}])));
    pyramid(&trial.input(), &["0", "1", "2", "3"]);
    let rule = |name: &str, options: Value| ArrayRule {
        name: name.to_owned(),
        is_path: true,
        options: Some(self::options(options).into()),
    };
    let report = run(&GroupJob {
        exclude: list(&["3"]),
        rules: vec![
            rule("1", json!({"max-abs-error": 0.1})),
            rule("2", json!({"scale": 8, "data-type": "int16"})),
        ],
        ..trial.group_job(within(0.01))
    });
    assert_eq!(packed(&report), ["0", "1", "2"]);
    let together: Vec<Option<usize>> =
        reports(&report).iter().map(|one| Some(one.scale_from.as_ref()?.arrays.len())).collect();
    assert_eq!(together, [Some(2), Some(2), None]);
}

#[test]
fn packed_arrays_are_packed_again_on_request_and_remember_their_first_error() {
    let trial = of_weather();
    pack(&trial, within(0.001));
    let again = GroupJob::new(trial.output(), trial.path().join("again"), within(0.2));
    let error = refuses(&trial, &again);
    assert!(
        error.contains("t2m, wind (has value codecs already; pack it again with --repack)"),
        "{error}"
    );
    let report = run(&GroupJob { repack: true, ..again });
    assert_eq!(packed(&report), ["deep/t2m", "t2m", "wind"]);
    for (name, report) in ["deep/t2m", "t2m", "wind"].iter().zip(reports(&report)) {
        assert!(report.error.errors.max <= 0.2 && report.error.errors.max > 0.0, "{name}");
        let document = metadata(&trial.path().join("again").join(name));
        assert_eq!(document["codecs"].to_string().matches("cast_value").count(), 1, "{name}");
        let provenance = &document["attributes"]["recast"];
        assert_eq!(provenance["max_abs_error"], 0.2, "{name}");
        assert_eq!(provenance["source"][0]["max_abs_error"], 0.001, "{name}");
    }
}

#[test]
fn a_dry_run_of_a_group_writes_nothing_and_says_what_would_become_of_each_array() {
    let trial = of_weather();
    let before = contents(trial.path());
    let planned = of_group(trial.group_job(within(0.01)).dry_run(&one_thread())).unwrap();
    assert_eq!(contents(trial.path()), before);
    let report = pack(&trial, within(0.01));
    assert_eq!([planned.dry_run, report.dry_run], [true, false]);
    assert_eq!(packed(&planned), packed(&report));
    for (planned, made) in reports(&planned).iter().zip(reports(&report)) {
        assert_eq!((&planned.codecs, &planned.output), (&made.codecs, &made.output));
    }
}

/// A weather group in which `wind` has infinities, and `t2m` values that need more codes than there are.
fn with_arrays_that_fail() -> Trial {
    let trial = of_weather();
    let mut wind: Vec<f32> = (0..12).map(|i| i as f32 / 4.0).collect();
    (wind[3], wind[7]) = (f32::INFINITY, f32::INFINITY);
    let wide: Vec<f32> = (0..12).map(|i| 1e30 * i as f32).collect();
    for (name, values) in [("wind", wind), ("t2m", wide)] {
        Sample::new("float32", &[3, 4], &[3, 4], json!(0))
            .with("dimension_names", json!(["time", "lat"]))
            .with("attributes", json!({"coordinates": "lon"}))
            .write(&trial.input().join(name), &bytes(&values));
    }
    trial
}

#[test]
fn an_infinity_in_a_group_is_an_error_with_the_array_its_count_and_the_ways_out() {
    let trial = with_arrays_that_fail();
    let without_t2m = |options| GroupJob { exclude: list(&["t2m"]), ..trial.group_job(options) };
    let error = refuses(&trial, &without_t2m(within(0.1)));
    for part in ["wind", "as 2 in all", "--infinity gives", "--exclude \"wind\"", "--keep-going"] {
        assert!(error.contains(part), "{part} in {error}");
    }
    let report = run(&without_t2m(PackOptions { infinity: true, ..within(0.1) }));
    assert!(packed(&report).contains(&"wind"), "{report:?}");
}

#[test]
fn with_keep_going_arrays_that_fail_are_copied_and_listed_and_the_others_are_packed() {
    let trial = with_arrays_that_fail();
    let job = GroupJob { keep_going: true, ..trial.group_job(within(0.1)) };
    let check = |report: &GroupReport<ArrayReport>| {
        let failure = report.failure().unwrap();
        let named = "2 of 7 arrays failed and are copied as they are: ";
        for part in [named, "t2m (", "wind (", "as 2 in all", "; "] {
            assert!(failure.contains(part), "{part} in {failure}");
        }
        assert_eq!(failed(&report.arrays), ["t2m", "wind"]);
        assert_eq!(packed(report), ["deep/t2m"]);
        assert_eq!(kept(&report.arrays), ["flag", "lat", "lat_bounds", "lon"]);
    };
    check(&of_group(job.dry_run(&one_thread())).unwrap());
    assert!(!trial.output().exists());
    check(&run(&job));
    for array in ["t2m", "wind"] {
        let [a, b] = [trial.input(), trial.output()].map(|place| contents(&place.join(array)));
        assert_eq!(a, b, "{array}");
    }
    assert!(is_packed(&trial.output().join("deep/t2m")));
    let report = compare(&trial.input(), &trial.output(), Some(0.1));
    assert_eq!(report.failure(), None);

    // If none can be packed, there is no output.
    let trial = with_arrays_that_fail();
    let job =
        GroupJob { exclude: list(&["deep/*"]), keep_going: true, ..trial.group_job(within(0.1)) };
    let error = refuses(&trial, &job);
    assert!(error.contains("none of 7 arrays could be packed: "), "{error}");
    assert!(error.contains("t2m (") && error.contains("wind ("), "{error}");
}

/// A group with an array whose type has no numbers, and the same packed.
fn packed_weather() -> Trial {
    let trial = of_weather();
    create_texts(&trial.input().join("names"));
    pack(&trial, within(0.01));
    trial
}

fn unpack(job: &UnpackJob) -> Result<GroupReport<UnpackedArray>, String> {
    of_group(job.run(&one_thread()))
}

fn compare(a: &Path, b: &Path, atol: Option<f64>) -> GroupComparison {
    of_group(comparison(a, b, atol).run_path(&one_thread())).unwrap()
}

#[test]
fn an_unpacked_group_has_plain_values_and_all_its_metadata() {
    let trial = packed_weather();
    let plain = trial.place("plain.zarr");
    let report = unpack(&UnpackJob::new(trial.output(), &plain)).unwrap();
    assert_eq!(report.arrays.len(), 8, "{report:?}");
    assert_eq!(done(&report.arrays), ["deep/t2m", "t2m", "wind"]);
    for array in ARRAYS {
        assert_eq!(read(&plain.join(array)), read(&trial.output().join(array)), "{array}");
        let [plain, input] = [&plain, &trial.input()].map(|group| metadata(&group.join(array)));
        assert!(!plain["codecs"].to_string().contains("cast_value"), "{array}");
        assert_eq!(plain["dimension_names"], input["dimension_names"], "{array}");
        assert_eq!(plain["attributes"], input["attributes"], "{array}");
    }
    for array in ["flag", "lat", "names"] {
        let original = contents(&trial.input().join(array));
        assert_eq!(contents(&plain.join(array)), original, "{array}");
    }
    assert_eq!(metadata(&plain)["attributes"], json!({"title": "weather"}));
    assert_consolidated(&plain, 9);
}

#[test]
fn a_group_is_unpacked_to_cf_and_its_integers_stay_the_same_files() {
    let trial = packed_weather();
    let cf = trial.place("cf.zarr");
    let to_cf = UnpackJob { to_cf: true, ..UnpackJob::new(trial.output(), &cf) };
    let report = unpack(&to_cf).unwrap();
    let t2m = |report: &GroupReport<UnpackedArray>| match outcome(&report.arrays, "t2m").report() {
        Some(UnpackedArray::ToCf(_)) => {}
        other => panic!("{other:?}"),
    };
    t2m(&report);
    let document = metadata(&cf.join("t2m"));
    assert!(document["attributes"]["scale_factor"].is_number(), "{document}");
    assert_eq!(document["attributes"]["units"], "K");
    assert_eq!(chunks(&cf.join("t2m")), chunks(&trial.output().join("t2m")));
    // An array that CF cannot say is named, and gets plain values.
    let codecs = json!([
        {"name": "cast_value", "configuration": {"data_type": "float16"}},
        crate::common::little_endian(),
    ]);
    let half = Sample::new("float32", &[2], &[2], json!(0.0)).with("codecs", codecs);
    half.write(&trial.output().join("half"), &[1.5_f32, 2.5].map(f32::to_ne_bytes).concat());
    let mixed = trial.place("mixed.zarr");
    let to_cf = UnpackJob { to_cf: true, ..UnpackJob::new(trial.output(), &mixed) };
    let report = unpack(&to_cf).unwrap();
    t2m(&report);
    let Some(UnpackedArray::Values(half)) = outcome(&report.arrays, "half").report() else {
        panic!("{report:?}");
    };
    assert!(half.not_for_cf.as_ref().unwrap().contains("float16 is stored"), "{half:?}");
    assert_eq!(read(&mixed.join("half")), read(&trial.output().join("half")));
    // If there is no other, nothing is left behind.
    let trial = of_weather();
    pack(&trial, options(json!({"max-abs-error": 0.1, "data-type": "float16"})));
    let before = names(trial.path());
    let to_cf = UnpackJob::new(trial.output(), trial.place("cf.zarr"));
    let error = unpack(&UnpackJob { to_cf: true, ..to_cf }).map(|_| ()).unwrap_err();
    assert!(error.contains("deep/t2m") && error.contains("without --to-cf"), "{error}");
    assert_eq!(names(trial.path()), before);
}

#[test]
fn groups_within_the_tolerance_pass_and_every_array_is_compared() {
    let trial = packed_weather();
    let report = compare(&trial.input(), &trial.output(), Some(0.01));
    assert_eq!(report.failure(), None);
    assert_eq!(done(&report.arrays), ARRAYS);
    assert_eq!(kept(&report.arrays), ["names"]);
    let reason = outcome(&report.arrays, "names").reason();
    assert_eq!(reason, Some("no numbers; the same values"));
    assert_eq!((report.total.over, report.total.arrays_over), (Some(0), Some(0)));
    assert_eq!(report.total.compared, 8);
}

#[test]
fn an_array_that_cannot_be_compared_fails_and_the_others_are_compared() {
    let trial = packed_weather();
    let lat = trial.output().join("lat");
    fs::remove_dir_all(&lat).unwrap();
    Sample::new("float32", &[5], &[5], json!(0)).write(&lat, &quarters(5));
    fs::write(trial.output().join("names/c/0"), "other bytes").unwrap();
    for atol in [None, Some(0.01)] {
        let report = compare(&trial.input(), &trial.output(), atol);
        let failure = report.failure().unwrap();
        assert!(failure.contains("2 of 8 arrays fail: lat, names"), "{failure}");
        assert!(failure.contains("the shape is [5]"), "{failure}");
        assert_eq!(failed(&report.arrays), ["lat", "names"]);
        assert_eq!(report.total.compared, 6);
    }
}

#[test]
fn info_lists_the_arrays_of_a_group_and_their_sizes() {
    let trial = packed_weather();
    let packed = trial.output();
    let listed = of_group(info(&packed)).unwrap().arrays;
    assert_eq!(kept(&listed), ["names"]);
    for one in listed {
        if let Some(info) = one.report() {
            let alone = ArrayInfo::read(packed.join(&one.array)).unwrap();
            assert_eq!(json!(info.codecs), json!(alone.codecs), "{one:?}");
            let size: usize = chunks(&packed.join(&one.array)).values().map(Vec::len).sum();
            assert_eq!(info.stored, Some(size as u64), "{one:?}");
        }
    }
}

#[test]
fn temporary_directories_inside_a_group_are_no_arrays_of_it() {
    let trial = of_weather();
    for name in ["t2m.recast-tmp-abcdef", "deep/t2m.recast-old-123"] {
        copy(&trial.input().join("wind"), &trial.input().join(name));
    }
    assert_eq!(pack(&trial, within(0.1)).arrays.len(), 7);
    assert!(!trial.output().join("t2m.recast-tmp-abcdef").exists());
}

/// Python's json writes NaN and infinities bare, which is not JSON. zarr-python does so in attributes, for instance
/// where xarray's encoding has a `missing_value`; as a text, xarray could not write that again.
#[test]
fn bare_nan_and_infinities_are_read_and_stay_in_attributes() {
    let attributes = json!({"missing_value": "NaN", "valid_range": ["-Infinity", "Infinity"], "note": "\\\"NaN\\"});
    let bare = |path: &Path| {
        let mut text = fs::read_to_string(path).unwrap();
        for word in ["NaN", "-Infinity", "Infinity"] {
            text = text.replace(&format!(":\"{word}\""), &format!(":{word}"));
            text = text.replace(&format!("[\"{word}\""), &format!("[{word}"));
            text = text.replace(&format!(",\"{word}\"]"), &format!(",{word}]"));
        }
        assert!(serde_json::from_str::<Value>(&text).is_err());
        fs::write(path, text).unwrap();
    };
    // The attributes of a document in which they are bare.
    let attributes_in = |node: &Path| -> Value {
        let text = fs::read_to_string(node.join("zarr.json")).unwrap();
        assert!(serde_json::from_str::<Value>(&text).is_err(), "{text}");
        let quoted = |text: String, word: &str| {
            let text = text.replace(&format!(": {word}"), &format!(": \"{word}\""));
            text.replace(&format!(" {word},\n"), &format!(" \"{word}\",\n"))
                .replace(&format!(" {word}\n"), &format!(" \"{word}\"\n"))
        };
        let text = ["NaN", "-Infinity", "Infinity"].into_iter().fold(text, quoted);
        serde_json::from_str::<Value>(&text).unwrap()["attributes"].clone()
    };
    let trial = Trial::empty();
    let input = trial.input();
    group_with(&input, &attributes);
    bare(&input.join("zarr.json"));
    let values: Vec<f32> = (0..300).map(|step| step as f32 / 8.0).collect();
    for name in ["field", "kept"] {
        Sample::new("float32", &[300], &[100], json!("NaN"))
            .with("attributes", attributes.clone())
            .write(&input.join(name), &bytes(&values));
        bare(&input.join(name).join("zarr.json"));
    }
    let old = json!({"shape": [300], "chunks": [300], "dtype": "<f4", "fill_value": "NaN"});
    create_v2(&input.join("old"), old);
    fs::write(input.join("old/0"), bytes(&values)).unwrap();
    fs::write(input.join("old/.zattrs"), attributes.to_string()).unwrap();
    for document in [".zarray", ".zattrs"] {
        bare(&input.join("old").join(document));
    }

    let job = GroupJob { exclude: list(&["kept"]), ..trial.group_job(within(0.01)) };
    assert_eq!(packed(&run(&job)), ["field", "old"]);
    assert_eq!(attributes_in(&trial.output()), attributes);
    assert_eq!(of_group(info(&input)).unwrap().arrays.len(), 3);
    let migrated = trial.place("migrated.zarr");
    told(MigrateJob::new(&input, Some(migrated.clone())).run(&one_thread())).unwrap();
    for array in [trial.output().join("field"), trial.output().join("old"), migrated.join("old")] {
        let found = attributes_in(&array);
        for (name, value) in attributes.as_object().unwrap() {
            assert_eq!(found[name], *value, "{array:?}");
        }
        assert!(compare(&trial.output(), &input, Some(0.01)).failure().is_none());
    }
    let alone = PackJob::new(input.join("kept"), trial.place("alone.zarr"), within(0.01));
    assert_eq!(told(alone.run(&one_thread())).unwrap().counts.special.missing, 0);
}

#[test]
fn an_integer_that_would_change_is_refused_with_the_document_that_has_it() {
    let exact = json!({"least": i64::MIN, "greatest": u64::MAX, "zero": -0.0, "float": 1.5e300});
    let with = |big: &str| {
        let trial = Trial::empty();
        group_with(&trial.input(), &exact);
        let array = trial.input().join("field");
        Sample::new("float32", &[2], &[2], json!(0))
            .with("attributes", json!({"big": "BIG"}))
            .create_metadata(&array);
        let document = array.join("zarr.json");
        let text = fs::read_to_string(&document).unwrap().replace("\"BIG\"", big);
        fs::write(document, text).unwrap();
        trial
    };
    for big in ["18446744073709551617", "-9223372036854775809"] {
        let trial = with(big);
        let error = refuses(&trial, &trial.group_job(within(0.01)));
        assert!(error.contains("field: zarr.json") && error.contains(big), "{error}");
        let alone = PackJob::new(trial.input().join("field"), trial.output(), within(0.01));
        let error = told(alone.run(&one_thread())).map(|report| report.output).unwrap_err();
        assert!(error.contains("zarr.json") && error.contains(big), "{error}");
    }
    // JavaScript writes floats like integers.
    for (big, value) in
        [("100000000000000000000", 1e20), ("123456789012345680000", 123_456_789_012_345_680_000.0)]
    {
        let trial = with(big);
        pack(&trial, within(0.01));
        assert_eq!(trial.metadata()["attributes"], exact);
        assert_eq!(metadata(&trial.output().join("field"))["attributes"]["big"], json!(value));
    }
}

#[test]
fn an_array_of_a_group_may_have_a_name_like_that_of_a_zip_file() {
    let trial = of_weather();
    fs::rename(trial.input().join("wind"), trial.input().join("wind.zip")).unwrap();
    let report = pack(&trial, within(0.01));
    assert_eq!(packed(&report), ["deep/t2m", "t2m", "wind.zip"]);
    let unpacked = trial.path().join("unpacked.zarr");
    told(UnpackJob::new(trial.output(), &unpacked).run(&one_thread())).unwrap();
    assert_eq!(read(&unpacked.join("wind.zip")), read(&trial.output().join("wind.zip")));
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_copied_and_is_named() {
    use std::os::unix::net::UnixListener;

    let trial = of_weather();
    let sockets = ["socket", "flag/socket", "t2m/socket"];
    for name in sockets {
        UnixListener::bind(trial.input().join(name)).unwrap();
    }
    std::os::unix::fs::symlink("socket", trial.input().join("flag/link")).unwrap();
    let unpacked = trial.place("unpacked");
    let unpack = UnpackJob::new(trial.input(), &unpacked);
    for (output, warnings) in [
        (trial.output(), pack(&trial, within(0.01)).warnings),
        (unpacked, of_group(unpack.run(&one_thread())).unwrap().warnings),
    ] {
        let warning = warnings.iter().find(|one| one.contains("devices, pipes or sockets"));
        let warning = warning.unwrap_or_else(|| panic!("{warnings:?}"));
        for name in sockets.into_iter().chain(["flag/link"]) {
            assert!(!output.join(name).exists(), "{name}");
            assert!(warning.contains(name), "{name}: {warning}");
        }
    }
}

/// Zarr has no nodes below an array: those of a copied array are copied with its files, those of a packed one are named.
#[test]
fn nodes_below_an_array_are_copied_or_named() {
    let trial = of_weather();
    for array in ["flag", "t2m"] {
        let place = trial.input().join(array).join("deep/inner");
        Sample::new("int8", &[1], &[1], json!(0)).write(&place, &[5]);
    }
    let report = pack(&trial, within(0.01));
    assert!(trial.output().join("flag/deep/inner/zarr.json").exists());
    assert!(!trial.output().join("t2m/deep").exists());
    let named = "not copied, because nothing lies below an array in Zarr: t2m/deep/inner";
    assert_eq!(report.warnings, [named]);
}

/// Those of a copied array are copied.
#[test]
fn files_of_a_packed_array_that_are_neither_chunks_nor_metadata_are_named() {
    let trial = of_weather();
    // A name that no key of Zarr can be hides no other one; so does none of a chunk with another separator, or beyond the grid.
    let names = ["a\\b", "c.0", "c/9999", "more/note", "note.txt"];
    for name in names.iter().chain(&["zarr.json.bak", "../flag/note.txt"]) {
        let place = trial.input().join("t2m").join(name);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, "note").unwrap();
    }
    let names: Vec<String> = names.iter().map(|name| format!("t2m/{name}")).collect();
    let why = "not copied, because they are neither chunks nor metadata of their arrays: ";
    assert_eq!(pack(&trial, within(0.01)).warnings, [format!("{why}{}", names.join(", "))]);
    assert!(trial.output().join("flag/note.txt").exists());
    assert!(!trial.output().join("t2m/note.txt").exists());

    // In a zip file, and many.
    fs::remove_file(trial.input().join("t2m/a\\b")).unwrap();
    for number in 0..30 {
        fs::write(trial.input().join(format!("t2m/note{number}")), "note").unwrap();
    }
    let place = trial.place("in.zip");
    crate::hostile::zip(&trial.input(), &place, zip::CompressionMethod::Stored, &[]);
    let job = GroupJob::new(place, trial.place("unzipped"), within(0.01));
    let warnings = of_group(job.run(&one_thread())).unwrap().warnings;
    assert!(warnings[0].starts_with(why) && warnings[0].ends_with("(34 in all)"), "{warnings:?}");
}

/// Fill values of Zarr v2 as netCDF-C and others write them, and zarr-python reads them: as Python reads numbers.
#[test]
fn a_fill_value_of_zarr_v2_may_be_text() {
    for (dtype, text, expected) in [
        ("<f4", "Nan", json!("NaN")),
        ("<f4", "nan", json!("NaN")),
        ("<f8", "-NaN", json!("NaN")),
        ("<f4", "-inf", json!("-Infinity")),
        ("<f8", "+inf", json!("Infinity")),
        ("<f4", "INFINITY", json!("Infinity")),
        ("<f4", "-999.0", json!(-999.0)),
        ("<f8", " 1e20 ", json!(1e20)),
        ("<f4", "+.5", json!(0.5)),
        ("<f4", "007.", json!(7.0)),
        ("<f8", "1e400", json!("Infinity")),
        ("<f2", "-1e20", json!("-Infinity")),
        ("<i2", "-999", json!(-999)),
        ("<i8", "-9007199254740993", json!(-9_007_199_254_740_993_i64)),
    ] {
        let trial = Trial::empty();
        fs::create_dir_all(trial.input()).unwrap();
        fs::write(trial.input().join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
        let members = json!({"shape": [3], "chunks": [3], "dtype": dtype, "fill_value": text});
        create_v2(&trial.input().join("odd"), members);
        create_v2(
            &trial.input().join("even"),
            json!({"shape": [3], "chunks": [3], "dtype": "<f4", "fill_value": 0}),
        );
        pack(&trial, within(0.1));
        assert_eq!(metadata(&trial.output().join("odd"))["fill_value"], expected, "{text}");
    }
    // What zarr-python does not read fails under its own name.
    for (dtype, fill) in
        [("<f4", json!("none")), ("<f8", json!("1,5")), ("<f4", json!([1])), ("<f4", json!("."))]
    {
        let trial = Trial::empty();
        fs::create_dir_all(trial.input()).unwrap();
        fs::write(trial.input().join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
        create_v2(
            &trial.input().join("even"),
            json!({"shape": [3], "chunks": [3], "dtype": "<f4", "fill_value": 0}),
        );
        create_v2(
            &trial.input().join("odd"),
            json!({"shape": [3], "chunks": [3], "dtype": dtype, "fill_value": fill}),
        );
        let job = trial.group_job(within(0.1));
        let error = told(job.run(&one_thread())).map(|_| ()).unwrap_err();
        assert!(error.contains("odd") && error.contains("the fill value"), "{error}");
        assert!(!error.contains("is not a type"), "{error}");
        assert!(!trial.output().exists());
    }
}

//! Options for single arrays of a group, beside those for all.

use std::fs;
use std::path::Path;

use crate::common::{
    Sample, Trial, bytes, create_group, metadata, of_group, one_thread, options, outcome, packed,
    reports, told, waves, weather,
};
use recast_pack::{
    AllClose, ArrayInfo, ArrayReport, ArrayRule, CompareJob, GroupJob, GroupReport, Job,
    OwnOptions, PackJob, PackOptions,
};
use serde_json::{Value, json};

fn of_weather() -> Trial {
    let trial = Trial::empty();
    weather(&trial.input());
    trial
}

fn pack(trial: &Trial, for_all: Value, tables: &str) -> Result<GroupReport<ArrayReport>, String> {
    pack_within(trial, for_all, tables, &[])
}

/// As [`pack`], with bounds for some names.
fn pack_within(
    trial: &Trial,
    for_all: Value,
    tables: &str,
    bounds: &[(&str, Value)],
) -> Result<GroupReport<ArrayReport>, String> {
    let rules = if tables.is_empty() { "array = []" } else { tables };
    let rules = told(ArrayRule::list_from_toml(rules)).unwrap();
    let bound = |(name, own): &(&str, Value)| ArrayRule {
        name: (*name).to_owned(),
        is_path: false,
        options: Some(options(own.clone()).into()),
    };
    let bounds = bounds.iter().map(bound).collect();
    of_group(GroupJob { rules, bounds, ..trial.group_job(options(for_all)) }.run(&one_thread()))
}

/// Each array that was packed, and the bound of its error.
fn bounds(report: &GroupReport<ArrayReport>) -> Vec<(&str, Option<f64>)> {
    let bounds = reports(report).into_iter().map(|report| report.error.bound);
    packed(report).into_iter().zip(bounds).collect()
}

/// Members of options that are not the defaults.
fn given(options: &PackOptions) -> Value {
    let (all, defaults) = (json!(options), json!(PackOptions::default()));
    let is_given = |(name, value): &(&String, &Value)| defaults[*name] != **value;
    let given = all.as_object().unwrap().iter().filter(is_given);
    given
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
fn options_for_all_hold_unless_an_array_says_otherwise() {
    let bound = "max-abs-error";
    for (for_all, own, expected) in [
        (json!({bound: 0.1, "pow2": true}), json!({bound: 0.2}), json!({bound: 0.2, "pow2": true})),
        // A bound of any kind, and whatever says how to pack, replaces that for all.
        (json!({bound: 0.1}), json!({"error-over-range": 0.1}), json!({"error-over-range": 0.1})),
        (json!({"precision": 0.1}), json!({"scale": 8}), json!({"scale": 8})),
        (json!({"scale": 8, "offset": 1}), json!({"offset": 2}), json!({"scale": 8, "offset": 2})),
        (
            json!({bound: 0.1, "compressor": "zstd:9"}),
            json!({"from-cf": true}),
            json!({"from-cf": true}),
        ),
        (json!({"from-cf": true}), json!({bound: 0.1}), json!({bound: 0.1})),
        // So does what contradicts it.
        (json!({bound: 0.1, "pow2": true}), json!({"scale": 8}), json!({"scale": 8})),
        (
            json!({"range": [0, 1], bound: 0.1}),
            json!({"src-min": 0}),
            json!({bound: 0.1, "src-min": 0}),
        ),
        (json!({"no-nan": true}), json!({"nan-to": "min"}), json!({"nan-to": "min"})),
        (json!({bound: 0.1, "grid": true}), json!({"precision": 1.0}), json!({"precision": 1.0})),
        (
            json!({bound: 0.1, "grid": false}),
            json!({"precision": 1.0}),
            json!({"precision": 1.0, "grid": false}),
        ),
        // The defaults are settings, too.
        (
            json!({bound: 0.1, "compressor": "zstd:9", "pow2": true, "missing": [1]}),
            json!({"compressor": "auto", "pow2": false, "missing": []}),
            json!({bound: 0.1}),
        ),
        (json!({"readers": ["any"]}), json!({bound: 0.1}), json!({"readers": ["any"], bound: 0.1})),
    ] {
        let own_options: OwnOptions = serde_json::from_value(own.clone()).unwrap();
        let both = told(options(for_all.clone()).beside(&own_options)).unwrap();
        assert_eq!(given(&both), given(&options(expected)), "{for_all} and {own}");
    }
}

/// Every option that there is holds beside an array's own bound, and none is forgotten.
#[test]
fn every_option_holds_beside_a_name() {
    let defaults = json!(PackOptions::default());
    let values = [
        json!(true),
        json!(0.5),
        json!("zstd:9"),
        json!("int16"),
        json!("min"),
        json!([1, 2]),
        json!(["any"]),
        json!("towards-zero"),
        json!("clamp"),
        json!("inside"),
        json!("float64"),
    ];
    for name in defaults.as_object().unwrap().keys() {
        let read = |value: &Value| serde_json::from_value(json!({ name: value })).ok();
        let settings: Vec<PackOptions> = values.iter().filter_map(read).collect();
        let setting = settings.iter().find(|one| json!(one)[name] != defaults[name]);
        let setting = setting.unwrap_or_else(|| panic!("no value for {name}"));
        let beside = told(setting.beside(&OwnOptions::default())).unwrap();
        assert_eq!(&beside, setting, "{name}");
        let beside = told(PackOptions::default().beside(&setting.clone().into())).unwrap();
        assert_eq!(&beside, setting, "{name}");
    }
}

#[test]
fn flags_beside_tables_hold_for_arrays_of_both_kinds() {
    let trial = of_weather();
    let table = "[[array]]\nname = 't2m'\nmax-abs-error = 0.05";
    let report = pack(&trial, json!({"compressor": "gzip:9", "pow2": true}), table).unwrap();
    // Nothing says what to keep of the others.
    assert_eq!(packed(&report), ["t2m"]);
    assert_eq!(reports(&report)[0].compression, "gzip:9");
    let codecs = metadata(&trial.output().join("t2m"))["codecs"].clone();
    let scale = codecs[0]["configuration"]["scale"].as_f64().unwrap();
    assert_eq!(scale.log2().fract(), 0.0);

    // Plain numbers for every reader, in arrays with a table, too.
    fs::remove_dir_all(trial.output()).unwrap();
    let readers = json!({"readers": ["any"], "max-abs-error": 0.1});
    let report = pack(&trial, readers, table).unwrap();
    assert_eq!(packed(&report), ["deep/t2m", "t2m", "wind"]);
    for name in packed(&report) {
        let codecs = metadata(&trial.output().join(name))["codecs"].to_string();
        assert!(!codecs.contains("cast_value"), "{name}: {codecs}");
    }
    assert_eq!(reports(&report)[1].error.errors.max.max(0.05), 0.05);
}

#[test]
fn what_contradicts_a_flag_names_the_table() {
    let trial = of_weather();
    let table = "[[array]]\nname = 't2m'\ndata-type = 'int16'";
    let error = pack(&trial, json!({"readers": ["any"], "max-abs-error": 1}), table).unwrap_err();
    assert!(error.contains("the rule for t2m: --data-type is for stored codes"), "{error}");
    // What a table needs may be a flag for all.
    let report =
        pack(&trial, json!({"data-type": "uint8"}), "[[array]]\nname = 't2m'\nauto = true");
    assert_eq!(reports(&report.unwrap())[0].data_type.name(), "uint8");
}

/// A table may name a type for which a bound of the command line has no meaning alone, and the other way round.
#[test]
fn only_all_rules_for_an_array_can_contradict_each_other() {
    let trial = of_weather();
    let bound = json!({"max-abs-error": 0.05});
    let all = json!({"max-rel-error": 0.1});
    // Integers have no relative bound, and the bound for all is one.
    let named = [("t2m", bound.clone())];
    for (name, reason) in [("t2m", "no options are given for it"), ("*", "no bound is for it")] {
        let table = format!("[[array]]\nname = '{name}'\ndata-type = 'int16'");
        let report = pack_within(&trial, json!({}), &table, &named).unwrap();
        let t2m = outcome(&report.arrays, "t2m").report().unwrap();
        let ArrayReport::Packed(t2m) = t2m else { panic!("t2m was not packed") };
        assert_eq!((t2m.data_type.name(), t2m.error.bound), ("int16", Some(0.05)));
        // A table without a bound has nothing to say of other arrays that a pattern matches.
        assert_eq!(outcome(&report.arrays, "wind").reason(), Some(reason));
        fs::remove_dir_all(trial.output()).unwrap();
    }
    let table = "[[array]]\nname = 't2m'\ndata-type = 'int16'";
    pack_within(&trial, all.clone(), table, &named).unwrap();
    fs::remove_dir_all(trial.output()).unwrap();
    // Together they may be wrong, and both are named.
    let named = [("t*", all)];
    let error = pack_within(&trial, json!({}), table, &named).map(|_| ()).unwrap_err();
    let expected = "t2m: the rule for t2m and the bound for t*: --max-rel-error 0.1 is impossible";
    assert!(error.contains(expected), "{error}");
    assert!(!trial.output().exists());
}

/// A pattern is for all arrays that it does not have to know; a path is meant.
#[test]
fn a_pattern_leaves_an_array_that_cannot_be_packed() {
    let trial = of_weather();
    let text = json!({"zarr_format": 3, "node_type": "array", "data_type": "string", "shape": [1]});
    fs::create_dir(trial.input().join("names")).unwrap();
    fs::write(trial.input().join("names/zarr.json"), text.to_string()).unwrap();
    let table = |name: &str| format!("[[array]]\nname = '{name}'\nmax-abs-error = 0.1");
    let report = pack(&trial, json!({}), &table("*")).unwrap();
    assert_eq!(packed(&report), ["flag", "t2m", "wind"]);
    let reason = outcome(&report.arrays, "names").reason().unwrap();
    assert!(reason.contains("string is not a type that can be packed"), "{reason}");
    assert!(trial.output().join("names/zarr.json").exists());
    let error = pack(&trial, json!({}), &table("names")).map(|_| ()).unwrap_err();
    assert!(error.contains("names: string is not a type that can be packed"), "{error}");
}

#[test]
fn bounds_have_names_of_arrays() {
    let trial = of_weather();
    let bound = |number: f64| json!({"max-abs-error": number});
    let named = [("w*", bound(0.5)), ("t2m", bound(0.02)), ("**", bound(0.1))];
    let report = pack_within(&trial, json!({}), "", &named).unwrap();
    // A pattern picks no coordinates and no integers, and the first that matches counts.
    let expected = [("deep/t2m", Some(0.1)), ("t2m", Some(0.02)), ("wind", Some(0.5))];
    assert_eq!(bounds(&report), expected);

    // A name comes before a table, and before the bound for all, of any kind.
    fs::remove_dir_all(trial.output()).unwrap();
    let table = "[[array]]\nname = 't2m'\nprecision = 0.25\ncompressor = 'gzip:1'";
    let named = [("t2m", bound(0.02))];
    let report = pack_within(&trial, json!({"error-over-range": 0.25}), table, &named).unwrap();
    assert_eq!(bounds(&report)[1], expected[1]);
    assert_eq!(reports(&report)[1].compression, "gzip:1");
    assert_eq!(reports(&report)[2].error.over_range, Some(0.25));

    // A path picks an array that is not packed without it; arrays without a bound are copied.
    fs::remove_dir_all(trial.output()).unwrap();
    let named = [("lat", bound(0.5)), ("flag", bound(0.0))];
    let report = pack_within(&trial, json!({}), "", &named).unwrap();
    assert_eq!(packed(&report), ["flag", "lat"]);
    assert_eq!(outcome(&report.arrays, "wind").reason(), Some("no bound is for it"));
}

#[test]
fn a_bound_with_a_name_that_is_of_no_use_is_an_error() {
    let trial = of_weather();
    let bound = json!({"max-abs-error": 0.1});
    for (name, table, expected) in [
        ("t2n", "", "the bound for t2n: no such array; the nearest names are t2m"),
        ("deep", "", "the bound for deep: a group, and no array; deep/**"),
        (
            "t2m",
            "[[array]]\nname = 't*'\nskip = true",
            "t2m: a bound names it, and --config has skip",
        ),
    ] {
        let error = pack_within(&trial, bound.clone(), table, &[(name, bound.clone())]);
        let error = error.map(|report| report.output).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let twice = [("t2m", bound.clone()), ("t2m", json!({"max-abs-error": 0.2}))];
    let error = pack_within(&trial, json!({}), "", &twice).map(|report| report.output).unwrap_err();
    assert!(error.contains("the bound for t2m: this name has two bounds"), "{error}");
    let report = pack_within(&trial, bound.clone(), "", &[("x*", bound)]).unwrap();
    assert_eq!(report.warnings, ["the bound for x* matches no array"]);
}

/// Two arrays of values that no code but their own keeps exactly.
fn of_waves() -> Trial {
    let trial = Trial::empty();
    create_group(&trial.input());
    for (name, mean) in [("t2m", 280.0), ("wind", 20.0)] {
        Sample::new("float32", &[2000], &[500], json!(0))
            .write(&trial.input().join(name), &bytes(&waves(2000, mean, 30.0)));
    }
    trial
}

/// Against its original, and against what it was packed from, an array keeps the bound that it records.
#[test]
fn a_recorded_bound_is_a_tolerance() {
    for (goal, tolerance) in [
        (json!({"max-abs-error": 0.1}), Some((0.1, 0.0))),
        (json!({"error-over-range": 0.25}), None),
        (json!({"max-rel-error": 0.01}), Some((0.0, 0.01))),
        (json!({"precision": 0.5}), None),
        (json!({"readers": ["any"], "max-abs-error": 0.1}), Some((0.1, 0.0))),
    ] {
        let trial = of_waves();
        pack(&trial, goal.clone(), "").unwrap();
        let job = CompareJob { recorded: true, ..CompareJob::new(trial.input(), trial.output()) };
        let compared = of_group(job.run_path(&one_thread())).unwrap();
        assert_eq!(compared.failure(), None, "{goal}");
        let bound = outcome(&compared.arrays, "t2m").report().unwrap().recorded.unwrap().tolerance;
        if let Some(tolerance) = tolerance {
            assert_eq!((bound.atol, bound.rtol), tolerance, "{goal}");
        }
        // A smaller one is not kept.
        let smaller = AllClose { atol: bound.atol / 64.0, rtol: bound.rtol / 64.0 };
        let job = CompareJob { tolerance: Some(smaller), ..job };
        let failure = of_group(job.run_path(&one_thread())).unwrap().failure().unwrap();
        assert!(failure.contains("--atol"), "{failure}");
    }
}

/// Half a step, or what float32 cannot express; the check itself allows for more.
#[test]
fn a_step_records_the_error_that_was_measured() {
    let values: Vec<f32> = (0..5000).map(|step| step as f32 * 99.957_4).collect();
    let trial = Trial::new(&values, 1000, json!({"fill_value": "NaN"}));
    for step in [0.001, 8.0] {
        let report = trial.pack(PackOptions { precision: Some(step), ..PackOptions::default() });
        let measured = report.unwrap().error.errors.max;
        let recorded = trial.metadata()["attributes"]["recast"]["max_abs_error"].as_f64().unwrap();
        assert_eq!(recorded, measured.max(step / 2.0));
        let job = CompareJob { recorded: true, ..CompareJob::new(trial.input(), trial.output()) };
        assert_eq!(told(job.run(&one_thread())).unwrap().failure(), None);
    }
}

#[test]
fn recorded_bounds_add_up_and_their_absence_means_equality() {
    let trial = of_waves();
    let again = trial.place("again.zarr");
    let [input, output] = [trial.input(), trial.output()].map(|group| group.join("t2m"));
    let compare = |a: &Path, b: &Path| {
        told(CompareJob { recorded: true, ..CompareJob::new(a, b) }.run(&one_thread())).unwrap()
    };
    let job = |a: &Path, b: &Path, own| told(PackJob::new(a, b, options(own)).run(&one_thread()));
    fs::create_dir(trial.output()).unwrap();
    job(&input, &output, json!({"max-abs-error": 0.01})).unwrap();
    job(&output, &again, json!({"max-abs-error": 0.5})).unwrap();
    for (a, b, bound) in [(&input, &output, 0.01), (&output, &again, 0.5), (&input, &again, 0.51)] {
        let compared = compare(a, b);
        assert_eq!(compared.failure(), None);
        assert_eq!(compared.recorded.unwrap().tolerance.atol, bound);
    }
    // What is farther away than the array records is named with the bound.
    let failure = compare(&trial.input().join("wind"), &again).failure().unwrap();
    assert!(
        failure.contains("the attribute recast of it allows (errors are at most 0.51)"),
        "{failure}"
    );
    let compared = compare(&output, &input);
    assert!(compared.recorded.is_none());
    let failure = compared.failure().unwrap();
    assert!(
        failure.contains("0 (no attribute recast of it records a bound against A"),
        "{failure}"
    );
    assert_eq!(compare(&input, &input).failure(), None);
}

/// Arrays of version 0.1.0 have each attribute in the next.
#[test]
fn attributes_in_one_another_are_read_as_a_list_of_them() {
    let packing = |bound: f64, source: Value| json!({"max_abs_error": bound, "source": source});
    let nested = packing(0.5, packing(0.25, json!({"max_abs_error": 0.125})));
    let list = packing(0.5, json!([{"max_abs_error": 0.25}, {"max_abs_error": 0.125}]));
    let trial = of_waves();
    let [mut original, array] = ["t2m", "wind"].map(|name| trial.input().join(name));
    let set = |array: &Path, attribute: &Value| {
        let mut document = metadata(array);
        document["attributes"]["recast"] = attribute.clone();
        fs::write(array.join("zarr.json"), document.to_string()).unwrap();
    };
    for attribute in [&nested, &list] {
        set(&array, attribute);
        let info = told(ArrayInfo::read(&array)).unwrap();
        assert_eq!(info.bound.unwrap().tolerance.atol, 0.875);
        for (of_original, bound) in [
            (json!({"max_abs_error": 0.125}), 0.75),
            (packing(0.25, json!({"max_abs_error": 0.125})), 0.5),
            (packing(0.25, json!([{"max_abs_error": 0.125}])), 0.5),
            (json!({"max_abs_error": 0.25}), 0.875),
            (json!([]), 0.875),
        ] {
            set(&original, &of_original);
            let job = CompareJob { recorded: true, ..CompareJob::new(&original, &array) };
            let compared = told(job.run(&one_thread())).unwrap();
            assert_eq!(compared.recorded.unwrap().tolerance.atol, bound, "{of_original}");
        }
    }
    // As often as anyone likes, and old attributes become the list.
    set(&array, &nested);
    original = array;
    for number in 0..150 {
        let next = trial.place(&number.to_string());
        let own = options(json!({"max-abs-error": 0.5}));
        told(PackJob::new(&original, &next, own).run(&one_thread())).unwrap();
        original = next;
    }
    let info = told(ArrayInfo::read(&original)).unwrap();
    assert_eq!(info.bound.unwrap().tolerance.atol, 75.875);
    let earlier = metadata(&original)["attributes"]["recast"]["source"].clone();
    assert_eq!(earlier.as_array().unwrap().len(), 152);
    assert!(earlier.as_array().unwrap().iter().all(|one| one.get("source").is_none()));
}

#[test]
fn an_array_whose_elements_were_clamped_records_no_bound_for_all_of_them() {
    let trial = of_waves();
    let [input, output] = [trial.input(), trial.output()].map(|group| group.join("t2m"));
    fs::create_dir(trial.output()).unwrap();
    let own = json!({"max-abs-error": 0.01, "src-min": 270});
    told(PackJob::new(&input, &output, options(own)).run(&one_thread())).unwrap();
    let job = CompareJob { recorded: true, ..CompareJob::new(&input, &output) };
    let compared = told(job.run(&one_thread())).unwrap();
    assert!(compared.recorded.is_none() && compared.failure().is_some());
    let attribute = metadata(&output)["attributes"]["recast"].clone();
    assert_eq!([&attribute["max_abs_error"], &attribute["src_min"]], [&json!(0.01), &json!(270)]);
}

/// Nobody knows how far away the very original is, but what it was packed from is there.
#[test]
fn after_a_packing_without_a_bound_the_last_one_still_has_its_own() {
    let trial = of_waves();
    let [input, output] = [trial.input(), trial.output()].map(|group| group.join("t2m"));
    let again = trial.place("again.zarr");
    fs::create_dir(trial.output()).unwrap();
    let job = |a: &Path, b: &Path, own| told(PackJob::new(a, b, options(own)).run(&one_thread()));
    job(&input, &output, json!({"max-abs-error": 0.01, "src-min": 270})).unwrap();
    job(&output, &again, json!({"max-abs-error": 0.5})).unwrap();
    let bounds = |array: &Path| {
        let info = told(ArrayInfo::read(array)).unwrap();
        [info.bound, info.bound_of_last].map(|bound| bound.map(|bound| bound.tolerance.atol))
    };
    assert_eq!(bounds(&output), [None, None]);
    assert_eq!(bounds(&again), [None, Some(0.5)]);
    for (a, bound) in [(&input, None), (&output, Some(0.5))] {
        let job = CompareJob { recorded: true, ..CompareJob::new(a, &again) };
        let recorded = told(job.run(&one_thread())).unwrap().recorded;
        assert_eq!(recorded.map(|bound| bound.tolerance.atol), bound);
    }
}

//! Options for single arrays of a group, beside those for all.

use std::fs;

use crate::common::{Trial, metadata, one_thread, options, packed, reports, told, weather};
use recast_pack::{ArrayRule, GroupJob, GroupReport, Job, OwnOptions, PackOptions};
use serde_json::{Value, json};

fn of_weather() -> Trial {
    let trial = Trial::empty();
    weather(&trial.input());
    trial
}

fn pack(trial: &Trial, for_all: Value, tables: &str) -> Result<GroupReport, String> {
    let rules = told(ArrayRule::list_from_toml(tables)).unwrap();
    told(GroupJob { rules, ..trial.group_job(options(for_all)) }.run(&one_thread()))
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

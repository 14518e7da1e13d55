//! `unpack`, `verify`, `compare`, `info` and `cat` with groups: what they print, and their status.

use std::fs;

use crate::common::{
    Sample, Trial, bash, bytes, create_texts, path, quarters, read, recast, weather,
};
use serde_json::{Value, json};

/// A weather group and another array, whose type has no numbers; and the same packed.
fn packed() -> (Trial, [String; 2]) {
    let trial = Trial::empty();
    weather(&trial.input());
    create_texts(&trial.input().join("names"));
    trial.packs(&["-e", "0.01"]);
    let places = trial.places();
    (trial, places)
}

/// The line of a table about an array.
fn line<'a>(table: &'a str, array: &str) -> &'a str {
    let found = table.lines().find(|line| line.split_whitespace().next() == Some(array));
    found.unwrap_or_else(|| panic!("{array} in {table}"))
}

#[test]
fn the_report_of_an_unpacked_group_has_a_line_for_each_array() {
    let (trial, [_, packed]) = packed();
    let plain = path(&trial.place("plain.zarr"));
    let report = recast(&["unpack", &packed, &plain, "-v"]).prints();
    assert!(report.contains("3 unpacked, 5 copied"), "{report}");
    assert!(line(&report, "t2m").contains("float32"), "{report}");
    assert!(line(&report, "flag").contains("no value codecs"), "{report}");
    let arguments = ["unpack", "--overwrite", "--json", &packed, &plain];
    for (more, is_cf) in [(&[][..], false), (&["--to-cf"], true)] {
        let report = recast(&[&arguments[..], more].concat()).reports();
        let mut arrays = report["arrays"].as_array().unwrap().iter();
        let t2m = arrays.find(|one| one["array"] == "t2m").unwrap();
        assert_eq!(t2m["outcome"], "done", "{report}");
        assert_eq!(t2m["report"]["attributes"]["scale_factor"].is_number(), is_cf, "{report}");
    }
}

/// Their integers are not their values.
#[test]
fn arrays_that_cf_packs_are_named_where_integers_are_read_compared_or_suggested_for() {
    let (trial, [_, packed]) = packed();
    let cf = path(&trial.place("cf.zarr"));
    recast(&["unpack", "--to-cf", &packed, &cf]).succeeds();
    let t2m = format!("{cf}/t2m");
    let info = recast(&["info", &t2m]).prints();
    assert!(
        info.contains("stand for  values") && info.contains("packed by scale_factor"),
        "{info}"
    );
    assert!(!line(&info, "values").contains(" in "), "{info}");
    let suggested = recast(&["suggest", &cf]).prints();
    assert!(line(&suggested, "t2m").contains("--from-cf"), "{suggested}");
    let packed = format!("{packed}/t2m");
    for both in [[&t2m, &packed], [&packed, &t2m]] {
        let report = recast(&["compare", both[0], both[1]]).prints();
        let hint = format!("scale_factor or add_offset give the integers of {t2m} other values");
        assert!(line(&report, "hint").contains(&hint), "{report}");
        // xarray opens groups, and no arrays.
        assert!(
            line(&report, "hint").contains("two groups, and xarray.open_zarr(GROUP)"),
            "{report}"
        );
        let report = recast(&["compare", "--json", both[0], both[1]]).reports();
        assert_eq!(report["only_packed_by_cf"], t2m.as_str(), "{report}");
    }
    assert!(!recast(&["compare", &packed, &packed]).prints().contains("hint"));
}

#[test]
fn the_table_of_two_groups_has_a_line_for_each_array_and_a_total() {
    let (_trial, [input, packed]) = packed();
    let table = recast(&["verify", "--atol", "0.01", &input, &packed, "-v"]).prints();
    for array in ["deep/t2m", "flag", "lat", "lat_bounds", "lon", "t2m", "wind"] {
        line(&table, array);
    }
    assert!(table.contains("no numbers; the same values"), "{table}");
    assert!(table.contains("7 compared as numbers, 1 equal in bytes"), "{table}");
    assert!(table.contains("0 elements, in 0 arrays"), "{table}");
}

/// An array over the tolerance, arrays of one side, and one that cannot be compared.
#[test]
fn groups_that_differ_fail_a_check_and_the_report_is_printed() {
    let (trial, [input, packed]) = packed();
    let mut elements = quarters(12);
    elements[4..8].copy_from_slice(&7.5_f32.to_ne_bytes());
    let wind = trial.output().join("wind");
    fs::remove_dir_all(&wind).unwrap();
    Sample::new("float32", &[3, 4], &[3, 4], json!(0)).write(&wind, &elements);
    let run = recast(&["verify", "--atol", "0.01", "--json", &input, &packed]).run();
    assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("1 of 8 arrays fail: wind;"), "{}", run.stderr);
    assert!(run.stderr.contains("1 of 12 elements differ") && run.stderr.contains("[0, 1]"));
    let report: Value = serde_json::from_slice(&run.stdout).unwrap();
    let members = ["over", "arrays_over", "compared"].map(|member| &report["total"][member]);
    assert_eq!(members, [1, 1, 8]);
    // To see how far they differ is no failure.
    let report = recast(&["compare", "--json", &input, &packed]).reports();
    assert!(report["total"]["over"].is_null(), "{report}");
    let mut arrays = report["arrays"].as_array().unwrap().iter();
    let one = arrays.find(|one| one["array"] == "wind").unwrap();
    assert_eq!(one["report"]["error"]["max"], 7.25, "{one}");
    // Whoever reads the table, or nobody.
    #[cfg(unix)]
    for (way, expected) in [
        ("CHECK | true; exit ${PIPESTATUS[0]}", 1),
        ("CHECK >&-", 1),
        ("CHECK >/dev/full 2>/dev/full", 1),
        ("CHECK --atol 100 | true; exit ${PIPESTATUS[0]}", 0),
    ] {
        let line = way.replace("CHECK", "\"$0\" verify \"$1\" \"$2\"");
        assert_eq!(bash(&line, &[&input, &packed]).status.code(), Some(expected), "{way}");
    }
    // Nor are arrays of one side, but what cannot be compared is.
    fs::remove_dir_all(&wind).unwrap();
    fs::remove_dir_all(trial.input().join("deep/t2m")).unwrap();
    let table = recast(&["compare", &input, &packed]).prints();
    assert!(table.contains("5 compared as numbers, 1 equal in bytes"), "{table}");
    let report = recast(&["compare", "--json", &input, &packed]).reports();
    let only = [&report["only_in_a"], &report["only_in_b"]];
    assert_eq!(only, [&json!(["wind"]), &json!(["deep/t2m"])]);
    for (label, array) in [("only in A", "wind"), ("only in B", "deep/t2m")] {
        let row = table.lines().find(|line| line.starts_with(label)).unwrap();
        assert!(row.ends_with(array), "{table}");
    }
    let run = recast(&["verify", "--atol", "0.01", &input, &packed]).run();
    assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("2 of 8 arrays fail: deep/t2m, wind"), "{}", run.stderr);
    fs::write(trial.output().join("names/c/0"), "other bytes").unwrap();
    let run = recast(&["compare", "--json", &input, &packed]).run();
    assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("1 of 8 arrays fail: names"), "{}", run.stderr);
    let report: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(report["total"]["failed"], 1);
}

#[test]
fn info_lists_the_arrays_of_a_group() {
    let (_trial, [_, packed]) = packed();
    let table = recast(&["info", &packed]).prints();
    assert!(
        line(&table, "t2m").contains("float32 [3, 4] (time, lat) in \"K\", stored as int8"),
        "{table}"
    );
    assert!(line(&table, "flag").contains("uint8 [3, 4]"), "{table}");
    assert!(line(&table, "names").ends_with("string has no numbers to show"), "{table}");
    assert!(line(&table, "total").contains("8 arrays and 1 group, "), "{table}");
    let info = recast(&["info", "--json", &packed]).reports();
    assert_eq!(info["attributes"], json!({"title": "weather"}));
    assert_eq!([&info["consolidated"], &info["groups"]], [&json!(true), &json!(["deep"])]);
    for one in info["arrays"].as_array().unwrap() {
        if one["array"] == "names" {
            assert_eq!(one["reason"], "string has no numbers to show");
        } else {
            let report = &one["report"];
            assert!(report["stored"].is_u64() && report["codecs"].is_array(), "{one}");
        }
    }
}

#[test]
fn an_array_in_a_group_is_named_by_its_path() {
    let (trial, [input, packed]) = packed();
    let expected = read(&trial.output().join("deep/t2m"));
    for array in ["deep/t2m", "/deep/t2m/"] {
        assert_eq!(recast(&["cat", &packed, array]).succeeds(), expected, "{array}");
    }
    for array in ["../in.zarr/t2m", "", "deep//t2m"] {
        let error = recast(&["cat", &packed, array]).fails(1);
        assert!(error.contains("not the path of an array in a group"), "{error}");
    }
    let error = recast(&["cat", &packed]).fails(1);
    assert!(error.contains("name one of the arrays in it: deep, flag, lat"), "{error}");
    // Of what is named beside a group, an array in it is meant.
    let array = format!("{packed}/t2m");
    for pair in [[input.as_str(), &array], [&array, &input]] {
        let error = recast(&["verify", pair[0], pair[1]]).fails(1);
        let expected =
            format!("recast: {array}: an array, and {input} is a group: compare two arrays");
        assert!(error.starts_with(&expected) && error.contains("name an array of"), "{error}");
    }
}

/// Goals of tables, of patterns and of recommendations, each for its arrays; the report says which each keeps, and who
/// recommends it.
#[test]
fn arrays_of_a_group_keep_goals_of_tables_of_names_and_of_recommendations() {
    let trial = Trial::empty();
    let input = trial.input();
    let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {}});
    fs::create_dir_all(&input).unwrap();
    fs::write(input.join("zarr.json"), group.to_string()).unwrap();
    let values: Vec<f32> = (0..2000).map(|i| (i as f32 / 30.0).sin().max(0.0) * 9.0).collect();
    for array in ["table", "tp", "u10", "u100", "rest"] {
        let sample = Sample::new("float32", &[2000], &[2000], json!("NaN"));
        let sample = sample.with("attributes", json!({"GRIB_typeOfLevel": "surface"}));
        sample.write(&input.join(array), &bytes(&values));
    }
    let [file, config] = ["r.yaml", "recast.toml"].map(|name| trial.place(name));
    let one = |name: &str, needs: &str| {
        format!("- filters: [{{kind: cf-short-name, value: {name}}}]\n  requirements: [{needs}]\n")
    };
    let mean = "{kind: mean-absolute-error-bound, value: 0.01}";
    let more = format!("{mean}, {{kind: data-limits, minimum: 0}}");
    let [table, tp, u10] = [one("table", mean), one("tp", &more), one("u10", mean)];
    fs::write(&file, format!("recommendations:\n{table}{tp}{u10}version: 2.0.0\n")).unwrap();
    fs::write(&config, "[[array]]\nname = 't?ble'\nmean-error-over-range = 0.002\n").unwrap();
    let (file, config) = (path(&file), path(&config));
    let by = "compression-recommendations 2.0.0";
    let more = ["--recommendations", &file, "--config", &config, "-e", "u*=0.05", "--keep-sign"];
    let text = trial.command(&more).prints();
    let ends = [
        ("table", "of 0.002; signs and zeros"),
        ("tp", "of 0.01; within 0.0 and more where the original is; signs and zeros"),
        ("u10", " 0.05; signs and zeros"),
        ("u100", " 0.05; signs and zeros"),
    ];
    for (array, end) in ends {
        assert!(line(&text, array).ends_with(end), "{array}: {text}");
    }
    assert!(line(&text, "rest").contains("nothing is recommended for it"), "{text}");
    assert!(text.contains(&format!("for 1 array, by {by}")), "{text}");
    let [input, output] = trial.places();
    let table = recast(&["verify", &input, &output, "-v"]).prints();
    for (array, end) in ends {
        assert!(line(&table, array).ends_with(end), "{array}: {table}");
    }
    let measured = recast(&["compare", &input, &output, "--recommendations", &file]).prints();
    assert!(measured.contains(&format!("for 3 arrays, by {by}")), "{measured}");
    let means = recast(&["compare", &input, &output, "-v"]).prints();
    assert!(means.contains("tp: mean error ") && means.contains("RMSE"), "{means}");
    let metrics = recast(&["compare", &input, &output, "--metrics"]).prints();
    assert!(line(&metrics, "tp").contains("RMSE") && line(&metrics, "tp").contains("gradient"));
    let info = recast(&["info", &path(&trial.output().join("tp"))]).prints();
    assert!(info.contains("mean error of at most 0.01") && info.contains("within 0.0 and more"));
    // Recommended is less than what names and tables say.
    let run = recast(&["verify", &input, &output, "--recommendations", &file]).run();
    let others = "not for rest, u100: nothing is recommended for it";
    let shown = String::from_utf8_lossy(&run.stdout);
    assert!(shown.contains(others), "{shown}");
    assert!(run.stderr.contains("2 of 5 arrays fail: table, u10;"), "{}", run.stderr);
}

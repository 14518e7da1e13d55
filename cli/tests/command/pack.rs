//! `recast pack` as a process: every flag, what is printed, statuses.

use crate::common::{
    Sample, Trial, bytes, contents, create_group, kelvin, little_endian, metadata, names, path,
    quarters, recast, sharding, weather,
};
use recast_kernels::{ElementType, Scalar};
use serde_json::{Value, json};

/// 300 values around 290, a NaN among them.
fn trial() -> Trial {
    let mut values = kelvin(300);
    values[7] = f32::NAN;
    Trial::new(&values, 100, json!({"fill_value": "NaN", "attributes": {"units": "K"}}))
}

/// Flags, and a member of the report that says that they have come where they belong.
#[test]
fn every_flag_reaches_its_option() {
    let trial = trial();
    let flags: &[(&str, &str, Value)] = &[
        ("-e 0.01", "/error/bound", json!(0.01)),
        ("--max-abs-error 0.01", "/error/bound", json!(0.01)),
        ("--error-over-range 0.01", "/error/over_range", json!(0.01)),
        ("--max-rel-error 0.01", "/error/relative_bound", json!(0.01)),
        ("--precision 0.5", "/error/precision", json!(0.5)),
        ("--auto -t uint16", "/data_type", json!("uint16")),
        ("-e 0.1 --pow2", "/scale", json!(8.0)),
        ("-e 0.1 -t int32", "/data_type", json!("int32")),
        ("-e 0.1 --data-type int32", "/data_type", json!("int32")),
        ("-e 0.1 -t int16 --nan-to 17", "/nan", json!(17)),
        ("-e 0.1 --missing 5 -9999", "/missing/0/value", json!(-9999.0)),
        ("-e 0.1 --src-min 290", "/kept_range/0", json!(290.0)),
        ("-e 0.1 --src-max 290", "/kept_range/1", json!(290.0)),
        (
            "-e 0.1 --rounding towards-zero",
            "/codecs/1/configuration/rounding",
            json!("towards-zero"),
        ),
        (
            "--scale 4 -t int8 --out-of-range clamp --allow-collisions",
            "/codecs/1/configuration/out_of_range",
            json!("clamp"),
        ),
        ("--scale 4 --offset 280", "/scale", json!(4.0)),
        ("--scale 4 --offset 280", "/offset", json!(280.0)),
        ("--scale 1 -t int16 --nan-to 290 --allow-collisions", "/counts/nan", json!(1)),
        ("-e 0.1 --verify", "/verified", json!(true)),
        ("-e 0.1", "/verified", json!(false)),
        ("-e 0.1 --compressor gzip:6", "/compression", json!("gzip:6")),
        ("-e 0.1 --compressor none", "/compression", json!("none")),
        ("-e 0.1 --dry-run", "/dry_run", json!(true)),
        ("-e 0.1 --threads 2 --max-memory 1.5MiB", "/dry_run", json!(false)),
        ("-e 0.1 --readers zarrita,zarrs", "/readers/needs_pcodec", json!(false)),
    ];
    for (flags, member, expected) in flags {
        let flags: Vec<&str> = flags.split(' ').chain(["--overwrite"]).collect();
        let report = trial.packs(&flags);
        assert_eq!(report.pointer(member), Some(expected), "{flags:?}: {report}");
    }
    trial.packs(&["-e", "0.1", "--no-provenance", "--overwrite"]);
    assert_eq!(trial.metadata()["attributes"], json!({"units": "K"}));
    // Room for later values, and none for NaN where there is none.
    let plain = Trial::new(&[1.0_f32, 2.5, f32::INFINITY], 3, json!({}));
    let report = plain.packs(&["-e", "0.1", "--infinity", "--no-nan", "--range", "-50", "99"]);
    assert_eq!(report["nan"], Value::Null);
    assert!(report["codecs"].to_string().contains("[\"Infinity\","), "{report}");
    let ends = [0, 1].map(|end| report["storable_range"][end].as_f64().unwrap());
    assert!(ends[0] <= -50.0 && ends[1] >= 99.0, "{report}");
    let tenths: Vec<f32> = (0..300).map(|index| index as f32 / 10.0).collect();
    let tenths = Trial::new(&tenths, 300, json!({}));
    assert_eq!(tenths.packs(&["-e", "0.01"])["grid"], json!({"step": 0.1}));
    assert_eq!(tenths.packs(&["-e", "0.01", "--no-grid", "--overwrite"])["grid"], Value::Null);
    // Other arrays.
    let other = path(&tenths.input());
    let report = trial.packs(&["-e", "0.1", "--overwrite", "--scale-from", &other]);
    assert_eq!(report["scale_from"]["arrays"], json!([path(&trial.input()), other]));
}

#[test]
fn decoded_values_beyond_the_data_are_named_with_the_distance() {
    let mut values: Vec<f32> = (0..100_u8).map(|step| f32::from(step) / 99.0).collect();
    let trial = Trial::new(&values, 50, json!({"fill_value": "NaN"}));
    let [input, output] = trial.places();
    let text = recast(&["pack", &input, &output, "-e", "0.1"]).prints();
    assert!(!text.contains("beyond the data"), "{text}");
    assert_eq!(trial.packs(&["--overwrite", "-e", "0.1"])["decoded_range"], json!(null));

    // Multiples of the step that was asked for.
    (values[0], values[99]) = (0.2, 0.8);
    values.retain(|value| (0.2..=0.8).contains(value));
    let trial = Trial::new(&values, 50, json!({"fill_value": "NaN"}));
    let [input, output] = trial.places();
    let text = recast(&["pack", &input, &output, "--precision", "0.5"]).prints();
    assert!(
        text.contains("decoded 0.0 to 1.0, beyond the data by 0.2000 below and 0.2000 above"),
        "{text}"
    );
    let report = trial.packs(&["--overwrite", "--precision", "0.5"]);
    assert_eq!(report["decoded_range"], json!([0.0, 1.0]));
}

/// Scripts read these members.
#[test]
fn the_members_of_reports_in_json_keep_their_names() {
    let trial = trial();
    let has = |report: &Value, names: &[(&str, &str)]| {
        for (group, names) in names {
            for name in names.split(' ') {
                let member = report.pointer(&format!("{group}/{name}"));
                assert!(member.is_some(), "{group}/{name}: {report}");
            }
        }
    };
    let counts = "elements nan missing fill infinite mapped clamped wrapped collisions became_nan";
    let own = "data_type offset scale nan range kept_range decoded_range storable_range compression codecs \
               verified dry_run sampled_chunks seconds bytes_per_second scale_from grid coarse";
    let errors = "max mean bias rmse psnr worst bound precision largest_clamping";
    let names = [
        ("", own),
        ("/counts", counts),
        ("/bytes", "source packed source_stored stored"),
        ("/error", errors),
        ("/readers", "zarr_python zarrs needs_zarr_recast needs_ml_dtypes needs_pcodec gdal"),
    ];
    has(&trial.packs(&["-e", "0.01"]), &names);
    let [input, output] = trial.places();
    let report = recast(&["verify", "--json", "--atol", "1", &input, &output]).reports();
    let counts = "elements compared nan infinite missing fill became_nan over";
    has(&report, &[("/counts", counts), ("/error", "max mean bias rmse psnr worst")]);
    let cf = path(&trial.place("cf.zarr"));
    let report = recast(&["unpack", "--to-cf", "--json", &output, &cf]).reports();
    has(&report, &[("", "data_type stored_data_type attributes differences")]);
    let report = recast(&["pack", "--from-cf", "--json", &cf, &output, "--overwrite"]).reports();
    let own = "data_type codecs bit_identical missing patched_codes codes_not_encoded_back bytes \
               chunks decoded_bytes dry_run";
    let compared = "compared differing max_ulps max_difference";
    has(&report, &[("", own), ("/codes", compared), ("/codes", "which"), ("/elements", compared)]);
}

#[test]
fn every_flag_for_groups_reaches_its_option() {
    let trial = Trial::empty();
    weather(&trial.input());
    let packed = |flags: &[&str]| -> Vec<String> {
        let report = trial.packs(&[flags, &["--overwrite"]].concat());
        let arrays = report["arrays"].as_array().unwrap().iter();
        let packed = arrays.filter(|one| one["outcome"] == "done");
        packed.map(|one| one["array"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(packed(&["-e", "0.01"]), ["deep/t2m", "t2m", "wind"]);
    assert_eq!(packed(&["-e", "0.01", "--include", "lat", "--include", "w*"]), ["lat", "wind"]);
    assert_eq!(packed(&["-e", "0.01", "--exclude", "**/t2m"]), ["wind"]);
    assert_eq!(packed(&["-e", "0.01", "--all"]).len(), 6);
    let config = path(&trial.place("recast.toml"));
    std::fs::write(&config, "[[array]]\nname = 'wind'\nprecision = 0.25\n").unwrap();
    assert_eq!(packed(&["--config", &config]), ["wind"]);
    packed(&["-e", "0.01", "--scale-from", "**/t2m", "wind"]);
    let codecs = |array: &str| metadata(&trial.output().join(array))["codecs"].clone();
    assert_eq!(codecs("wind"), codecs("deep/t2m"));
    let (output, again) = (path(&trial.output()), path(&trial.place("again.zarr")));
    let error = recast(&["pack", "-e", "0.1", &output, &again]).fails(1);
    assert!(error.contains("pack it again with --repack"), "{error}");
    let report = recast(&["pack", "-e", "0.1", "--repack", &output, &again]).prints();
    assert!(report.contains("3 packed"), "{report}");
    // An array by itself needs no flag, and may have it.
    let (wind, alone) = (path(&trial.output().join("wind")), path(&trial.place("wind.zarr")));
    recast(&["pack", "-e", "0.1", "--repack", &wind, &alone]).prints();
    std::fs::write(&config, "= 1").unwrap();
    let error = trial.fails(&["--config", &config]);
    assert!(error.contains("recast.toml"), "{error}");
    let report = trial.command(&["-e", "0.01", "--exclude", "x*", "--overwrite"]).prints();
    let warning = "--exclude x* matches no array";
    let is_warning = |line: &str| line.starts_with("warning ") && line.ends_with(warning);
    assert!(report.lines().any(is_warning), "{report}");
    let error = trial.fails(&["-e", "0.01", "--exclude", "winds", "--overwrite"]);
    assert!(
        error.contains("--exclude winds: no such array; the nearest names are wind"),
        "{error}"
    );
    // A flag for groups, and an array.
    let array = path(&trial.input().join("t2m"));
    let error = recast(&["pack", "-e", "1", "--all", &array, "x.zarr"]).fails(2);
    assert!(error.contains("is not a group"), "{error}");
}

/// One of a group that could not be packed: the others are there, and the status says so.
#[test]
fn with_keep_going_the_status_is_1_and_the_report_is_printed() {
    let trial = Trial::empty();
    weather(&trial.input());
    let infinite = bytes(&[f32::INFINITY; 12]);
    Sample::new("float32", &[3, 4], &[3, 4], json!(0))
        .write(&trial.input().join("wind"), &infinite);
    for flags in [&["--dry-run"][..], &[]] {
        let flags = [&["-e", "0.1", "--keep-going", "--json"], flags].concat();
        let run = trial.command(&flags).run();
        assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
        assert_eq!(run.stderr.trim_end().lines().count(), 1, "{}", run.stderr);
        let named = "1 of 7 arrays failed and are copied as they are: wind (";
        assert!(run.stderr.contains(named), "{}", run.stderr);
        let report: Value = serde_json::from_slice(&run.stdout).unwrap();
        let outcomes = report["arrays"].as_array().unwrap().iter().map(|one| &one["outcome"]);
        assert_eq!(outcomes.filter(|outcome| **outcome == "failed").count(), 1, "{report}");
    }
    // Options that make no sense are no failure of one array.
    trial.usage(&["--keep-going", "--overwrite"]);
}

#[test]
fn wrong_usage_has_status_2() {
    for arguments in [
        &["pack"][..],
        &["pack", "a", "b"],
        &["pack", "a", "b", "-e", "-1"],
        &["pack", "a", "b", "-e", "inf"],
        &["pack", "a", "b", "-e", "x"],
        &["pack", "a", "b", "-e", "1", "--data-type", "bool"],
        &["pack", "a", "b", "-e", "1", "--rounding", "up"],
        &["pack", "a", "b", "-e", "1", "--out-of-range", "saturate"],
        &["pack", "a", "b", "-e", "1", "--nan-to", "somewhere"],
        &["pack", "a", "b", "-e", "1", "--threads", "0"],
        &["pack", "a", "b", "-e", "1", "--scale", "one"],
        &["pack", "a", "b", "-e", "1", "--compressor", "zstd:99"],
        &["migrate", "a"],
    ] {
        recast(arguments).fails(2);
    }
    for (flag, wrong, expected) in [
        ("--readers", "zarrs,netcdf", "any, gdal, zarr-python, zarrs or zarrita"),
        ("--shard-codecs", "middle", "auto, inside or outside"),
    ] {
        let error = recast(&["pack", "a", "b", "-e", "1", flag, wrong]).fails(2);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn the_table_is_for_people_and_quiet_is_quiet() {
    let trial = trial();
    let run = trial.command(&["-e", "0.01"]).run();
    let table = String::from_utf8(run.stdout).unwrap();
    for label in
        ["float32 -> int16", "max error", "(bound 0.01)", "times smaller than", "not netCDF"]
    {
        assert!(table.contains(label), "{table}");
    }
    // No progress where standard error is no terminal.
    assert_eq!(run.stderr, "");
    assert!(trial.command(&["-e", "0.01", "--overwrite", "--quiet"]).succeeds().is_empty());
}

#[test]
fn a_failure_has_status_1_one_line_and_leaves_nothing() {
    let trial = trial();
    let error = trial.fails(&["-e", "0.001", "-t", "uint8"]);
    for part in ["in.zarr", "uint8", "wider --data-type"] {
        assert!(error.contains(part), "{error}");
    }
    trial.packs(&["-e", "0.01"]);
    let before = contents(&trial.output());
    let error = trial.fails(&["-e", "0.1"]);
    assert!(error.contains("exists; --overwrite replaces it"), "{error}");
    assert_eq!(contents(&trial.output()), before);
    assert_eq!(names(trial.path()), ["in.zarr", "out.zarr"]);
}

/// The codecs are printed as they go into zarr.json.
#[test]
fn a_dry_run_prints_the_codecs_and_what_would_help() {
    let trial = trial();
    let text = trial.command(&["-e", "0.01", "--dry-run", "--compressor", "smallest"]).prints();
    assert!(!trial.output().exists());
    let (table, codecs) = text.split_once("\n\"codecs\": ").unwrap();
    assert!(table.contains("nothing written"), "{table}");
    let report = trial.packs(&["-e", "0.01", "--compressor", "smallest"]);
    assert_eq!(serde_json::from_str::<Value>(codecs).unwrap(), report["codecs"]);
    let line = table.lines().find(|line| line.starts_with("compression")).unwrap();
    assert!(line.contains(report["compression"].as_str().unwrap()), "{line}");
    // Longer chunks.
    let small = Trial::new(&kelvin(3000), 10, json!({}));
    let text = small.command(&["-e", "0.01", "--dry-run"]).prints();
    assert!(text.contains("would take"), "{text}");
    let advice = &small.packs(&["-e", "0.01", "--dry-run"])["chunk_advice"];
    assert_eq!(advice["present_chunk_shape"], json!([10]));
    // In a group, each array has its line.
    let group = Trial::empty();
    weather(&group.input());
    let text = group.command(&["-e", "0.01", "--dry-run"]).prints();
    assert!(text.contains("nothing written"), "{text}");
    assert!(text.contains("3 would be packed, 4 would be copied"), "{text}");
    for array in ["deep/t2m", "t2m", "wind"] {
        assert!(text.contains(&format!("{array}: \"codecs\": [")), "{text}");
    }
}

/// One bound for all arrays of a group leaves nothing of those with small numbers.
#[test]
fn a_bound_that_leaves_little_of_an_array_is_in_the_headline() {
    let trial = Trial::empty();
    weather(&trial.input());
    let rain: Vec<f32> = (0..12).map(|i| 1e-5 * i as f32).collect();
    let wind = trial.input().join("wind");
    Sample::new("float32", &[3, 4], &[3, 4], json!(-1)).write(&wind, &bytes(&rain));
    let sentence = "the bound 0.01 is 90.91 times the range of the values";
    let page = path(&trial.place("page.html"));
    let refused = trial.fails(&["-e", "0.01"]);
    assert!(refused.contains("wind: the bound 0.01") && refused.contains("--exclude"), "{refused}");
    for flags in [&["--dry-run"][..], &["--report", &page]] {
        let flags = [&["-e", "0.01", "--allow-constant"], flags].concat();
        let report = trial.command(&flags).prints();
        let first = report.lines().next().unwrap();
        assert!(first.ends_with("; the bound is coarse for 1 array"), "{report}");
        let line = report.lines().find(|line| line.starts_with("coarse")).unwrap();
        assert!(line.contains("wind: ") && line.contains(sentence), "{report}");
    }
    assert!(std::fs::read_to_string(page).unwrap().contains(sentence));
    let flags = ["-e", "0.01", "--allow-constant", "--dry-run"];
    let report = recast(&[&["pack", &path(&wind), "x.zarr"], &flags[..]].concat()).prints();
    assert!(report.lines().next().unwrap().contains(sentence), "{report}");
}

#[test]
fn the_readers_line_says_who_reads_what_of_the_chain_that_was_written() {
    let codecs = json!([sharding(&[4], json!([little_endian()]))]);
    let line = |offset: f32, more: &[&str]| {
        let values: Vec<f32> = (0..16).map(|i| offset + i as f32 / 7.0).collect();
        let trial = Trial::new(&values, 16, json!({"codecs": codecs, "fill_value": 2.0}));
        let report = trial.command(&[&["-e", "0.01"], more].concat()).prints();
        let start = report.find("readers").unwrap_or_else(|| panic!("{report}"));
        report[start..].to_owned()
    };
    let inside = line(1.0, &[]);
    assert!(inside.contains("both of which decode only the parts of shards they need"), "{inside}");
    let outside = line(1.0, &["--shard-codecs", "outside"]);
    assert!(outside.contains("which decodes whole shards, zarrs"), "{outside}");
    let refused = line(280.0, &["--shard-codecs", "inside"]);
    let sentence = "zarr-python 3.4.2 only after zarr_recast.register(), because its own classes open no array";
    assert!(refused.contains(sentence), "{refused}");
    assert!(refused.contains("--shard-codecs outside"), "{refused}");
    // Not every reader has each type.
    let trial = Trial::new(&[Scalar::max(ElementType::Float8E4M3Fn); 8], 8, json!({}));
    let plain = trial.command(&["--lossless", "--readers", "any"]).prints();
    assert!(plain.contains("every reader of Zarr v3 that has float8_e4m3fn"), "{plain}");
}

#[test]
fn the_pages_of_groups_have_a_part_for_each_array_that_is_packed() {
    let trial = Trial::empty();
    weather(&trial.input());
    let page = path(&trial.place("page.html"));
    trial.packs(&["-e", "0.01", "--report", &page]);
    let text = std::fs::read_to_string(&page).unwrap();
    for name in ["deep/t2m", "t2m", "wind"] {
        assert!(text.contains(&format!(">{name}</h2>")), "{name}");
        let output = trial.output().join(name);
        assert!(text.contains(&format!("<td>{}</td>", output.display())), "{name}");
    }
    assert_eq!(text.matches("<svg").count(), 3 * 6);
    assert_eq!(text.matches("<h1>").count(), 1);
    assert!(text.contains("3 packed, 4 copied"), "{text}");
    // And of what was compared.
    let [input, output] = trial.places();
    recast(&["compare", "--report", &page, "--overwrite", &input, &output]).succeeds();
    let text = std::fs::read_to_string(&page).unwrap();
    assert_eq!(text.matches("</h2>").count(), 7);
}

#[test]
fn cf_has_a_table_a_dry_run_and_a_page() {
    let trial = Trial::empty();
    create_group(&trial.input());
    let attributes = json!({"scale_factor": 0.01, "add_offset": 0.5, "_FillValue": -1});
    for name in ["sst", "ice"] {
        let codes = bytes(&(-1..1000).collect::<Vec<i16>>());
        Sample::new("int16", &[1001], &[1001], json!(-1))
            .with("attributes", attributes.clone())
            .write(&trial.input().join(name), &codes);
    }
    Sample::new("float32", &[4], &[4], json!(0)).write(&trial.input().join("lat"), &quarters(4));
    let [array, output] = [path(&trial.input().join("sst")), path(&trial.place("sst.zarr"))];
    let pack = |more: &[&str]| recast(&[&["pack", "--from-cf", &array, &output], more].concat());
    let text = pack(&["--dry-run"]).prints();
    let (table, codecs) = text.split_once("\n\"codecs\": ").unwrap();
    assert!(table.contains("nothing written") && table.lines().count() <= 10, "{table}");
    assert!(table.contains("would be") && !table.contains("was "), "{table}");
    let text = trial.command(&["--from-cf", "--dry-run"]).prints();
    assert!(text.contains("2 would be packed, 1 would be copied"), "{text}");
    assert!(!text.contains("estimated"), "{text}");
    let page = path(&trial.place("page.html"));
    let report = pack(&["--decoded-type", "float64", "--report", &page, "--json"]).reports();
    assert_eq!([&report["data_type"], &report["stored_data_type"]], ["float64", "int16"]);
    assert!(report["codes"]["differing"].as_u64().unwrap() > 0, "{report}");
    assert_eq!(report["missing"], 1);
    let text = std::fs::read_to_string(&page).unwrap();
    for part in ["sst packed as", "Values", "Stored values", "decoded − original", "ULP"] {
        assert!(text.contains(part), "{part}");
    }
    assert_eq!(text.matches("<svg").count(), 6);
    // A page that is there stays, and nothing is written beside it.
    std::fs::remove_dir_all(&output).unwrap();
    let error = pack(&["--report", &page]).fails(1);
    assert!(error.contains("--report") && error.contains("--overwrite"), "{error}");
    assert!(std::fs::read_to_string(&page).unwrap() == text && !trial.place("sst.zarr").exists());
    assert_eq!(
        pack(&["--json"]).reports()["codecs"],
        serde_json::from_str::<Value>(codecs).unwrap()
    );
    trial.packs(&["--from-cf", "--report", &page, "--overwrite"]);
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains(">ice</h2>") && text.contains(">sst</h2>"), "{text}");
    assert_eq!(text.matches("<svg").count(), 2 * 6);
    // And back.
    let back = path(&trial.place("back.zarr"));
    let text = recast(&["unpack", "--to-cf", &output, &back]).prints();
    assert!(text.contains("bit-identical"), "{text}");
}

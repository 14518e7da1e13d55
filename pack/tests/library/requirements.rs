//! What decoded values must keep besides the error of each: means, limits, signs, bits.

use std::path::Path;

use crate::common::{
    Sample, Trial, bytes, comparison, create_group, element, elements, f64s, kelvin, metadata,
    of_group, one_thread, options, outcome, read, read_by_zarrs, read_f32, store, told, trial,
};
use recast_kernels::ElementType;
use recast_pack::report::Recommended;
use recast_pack::{
    ArrayReport, ArrayRule, CompareJob, Compared, GroupJob, GroupReport, Job, Limits, Outcome,
    PackJob, PackReport, PathReport, Recommendations, Requirement, Surveyor, choose,
    choose_checked,
};
use serde_json::{Map, Value, json};
use zarr_recast::JsonScalar;

/// Σ|y − x| and Σ|x| of the finite ones, and how many they are.
fn sums(before: &[f32], after: &[f32]) -> (f64, f64, f64) {
    let pairs = before.iter().zip(after).filter(|(x, _)| x.is_finite());
    pairs.fold((0.0, 0.0, 0.0), |(errors, magnitudes, count), (x, y)| {
        let (x, y) = (f64::from(*x), f64::from(*y));
        (errors + (y - x).abs(), magnitudes + x.abs(), count + 1.0)
    })
}

/// Mostly zeros, as precipitation is.
fn rain(count: usize) -> Vec<f32> {
    let value = |i: usize| match i * 7919 % 10 {
        0..=6 => 0.0,
        _ => 1e-3 * ((i * 104_729 % 1000) as f32 / 1000.0).powi(4),
    };
    (0..count).map(value).collect()
}

fn reached(report: &PackReport, what: &Requirement) -> f64 {
    let one = report.requirements.iter().find(|one| one.requirement == *what).unwrap();
    assert!(one.is_kept, "{one}");
    one.reached
}

#[test]
fn a_mean_is_kept_and_nearly_used_up() {
    let bound = 0.02;
    for values in [kelvin(20_000), rain(20_000).iter().map(|x| x * 1e4).collect()] {
        for (goal, requirement) in [
            (json!({"max-mean-error": bound}), Requirement::MaxMeanError(bound)),
            (json!({"mean-error-over-range": bound}), Requirement::MeanErrorOverRange(bound)),
            (json!({"max-mean-rel-error": bound}), Requirement::MaxMeanRelError(bound)),
        ] {
            let trial = trial(&values, json!(0.0));
            let report = trial.pack(options(goal.clone())).unwrap();
            let (errors, magnitudes, count) = sums(&values, &read_f32(&trial.output()));
            let greatest = values.iter().copied().fold(f32::MIN, f32::max);
            let range = f64::from(greatest - values.iter().copied().fold(f32::MAX, f32::min));
            let found = match requirement {
                Requirement::MaxMeanError(_) => errors / count,
                Requirement::MeanErrorOverRange(_) => errors / count / range,
                _ => errors / magnitudes,
            };
            let told = reached(&report, &requirement);
            assert!(found <= bound * (1.0 + 1e-12), "{goal} {found}");
            assert!((told - found).abs() <= 1e-9 * bound, "{goal}: {told} {found}");
            // Not much finer than it must be.
            assert!(found > 0.7 * bound, "{goal}: {found} of {bound}");
        }
    }
}

/// The first guess comes from a sample that shows nothing of the last chunk.
#[test]
fn elements_that_the_sample_does_not_show_count() {
    let mut values = vec![0.0_f32; 400_000];
    let rough = values.len() - 100_000;
    for (index, value) in values.iter_mut().enumerate().skip(rough) {
        *value = (index * 7919 % 1009) as f32 / 1009.0;
    }
    // The first part is on multiples of every step.
    let trial = Trial::new(&values, 100_000, json!({"fill_value": "NaN"}));
    let report = trial.pack(options(json!({"max-mean-error": 1e-3}))).unwrap();
    let (errors, _, count) = sums(&values, &read_f32(&trial.output()));
    assert!(errors <= 1e-3 * count, "{errors}");
    assert!(reached(&report, &Requirement::MaxMeanError(1e-3)) <= 1e-3);
}

#[test]
fn several_goals_hold_together() {
    let values: Vec<f32> =
        (0..5000).map(|i| (i as f32 / 40.0).sin() * 10.0_f32.powi(i % 5 - 3)).collect();
    let trial = trial(&values, json!("NaN"));
    let both = json!({"max-abs-error": 0.01, "max-rel-error": 0.05, "max-mean-error": 1e-3});
    let report = trial.pack(options(both)).unwrap();
    let decoded = read_f32(&trial.output());
    for (x, y) in values.iter().zip(&decoded).map(|(x, y)| (f64::from(*x), f64::from(*y))) {
        assert!((y - x).abs() <= 0.01_f64.min(0.05 * x.abs()), "{x} {y}");
    }
    assert_eq!(report.requirements.len(), 3);
    let attributes = &metadata(&trial.output())["attributes"]["recast"];
    assert_eq!(attributes["requirements"], serde_json::to_value(&report.requirements).unwrap());
    // One bound of each element has its own member of the attribute.
    for (one_or_two, requirements) in [
        (json!({"max-abs-error": 0.01}), 0),
        (json!({"max-abs-error": 0.01, "max-rel-error": 0.05}), 2),
    ] {
        let trial = Trial::new(&values, 5000, json!({"fill_value": "NaN"}));
        trial.pack(options(one_or_two)).unwrap();
        let recorded = metadata(&trial.output())["attributes"]["recast"]["requirements"].clone();
        assert_eq!(recorded.as_array().map_or(0, Vec::len), requirements);
    }
}

#[test]
fn limits_signs_and_zeros_stay() {
    let inside = |values: &[f32], limits: [f32; 2]| {
        values.iter().all(|value| (limits[0]..=limits[1]).contains(value))
    };
    let cover: Vec<f32> =
        (0..5000).map(|i| ((i * 7919 % 1999) as f32 / 1500.0 - 0.1).clamp(0.0, 1.0)).collect();
    let trial = trial(&cover, json!("NaN"));
    let goal = json!({"max-abs-error": 0.011, "limits": [0, 1], "data-type": "uint8"});
    let report = trial.pack(options(goal)).unwrap();
    assert!(inside(&read_f32(&trial.output()), [0.0, 1.0]));
    let limits = Limits { least: Some(0.0), greatest: Some(1.0) };
    reached(&report, &Requirement::Limits(limits));
    // Where original values are beyond the limits, decoded ones may be.
    let trial = crate::common::trial(&[-5.0, 0.25, 0.5, 7.0], json!("NaN"));
    let goal = json!({"max-abs-error": 0.1, "limits": ["none", 0.5]});
    trial.pack(options(goal)).unwrap();
    let decoded = read_f32(&trial.output());
    assert!(decoded[1] <= 0.5 && decoded[2] <= 0.5 && decoded[3] > 6.0, "{decoded:?}");
    let signed: Vec<f32> = (0..3000).map(|i| (i * 31 % 601) as f32 / 100.0 - 3.0).collect();
    let trial = crate::common::trial(&signed, json!("NaN"));
    trial.pack(options(json!({"max-abs-error": 0.17, "keep-sign": true}))).unwrap();
    for (x, y) in signed.iter().zip(read_f32(&trial.output())) {
        assert!(x * y >= 0.0 && (*x != 0.0 || y == 0.0), "{x} {y}");
    }
}

/// A bound that a limit or a sign breaks is halved, and at last 0.
#[test]
fn limits_and_signs_take_a_part_of_a_bound() {
    let counts: Vec<u8> = (0..600_u16).map(|i| (i * 31 % 19 + 1) as u8).collect();
    let trial = Trial::new(&counts, 200, json!({}));
    trial.pack(options(json!({"max-rel-error": 0.2, "keep-sign": true}))).unwrap();
    assert_eq!(trial.decoded(), counts);
    let numbers: Vec<f64> =
        (0..600).map(|i| (f64::from(i * 31 % 601) / 200.0 - 1.5).exp()).collect();
    let [least, greatest] =
        [f64::min, f64::max].map(|end| numbers.iter().copied().reduce(end).unwrap());
    let trial = Trial::new(&numbers, 200, json!({}));
    for goal in [0.1, 0.15, 0.2] {
        let goal = json!({"mean-error-over-range": goal, "limits": [least, greatest]});
        let report = trial.pack(options(goal)).unwrap();
        assert!(report.error.errors.max > 0.0 && report.data_type == ElementType::Int8);
        let decoded = f64s(&trial.decoded(), ElementType::Float64);
        assert!(decoded.iter().all(|value| (least..=greatest).contains(value)));
    }
}

#[test]
fn limits_that_no_codecs_keep_are_an_error_that_names_them() {
    let trial = trial(&[0.3, 0.1, 0.7], json!("NaN"));
    let error =
        trial.refuses(options(json!({"scale": 1, "data-type": "int8", "limits": [0.25, 0.6]})));
    assert!(error.contains("--limits 0.25 to 0.6"), "{error}");
    for (goal, expected) in [
        (json!({"max-abs-error": 1, "limits": [1, 0]}), "the smaller number comes first"),
        (json!({"max-abs-error": 1, "limits": [1]}), "two numbers"),
        (json!({"max-abs-error": 1, "limits": ["x", 0]}), "a finite number or none"),
    ] {
        let read: Result<recast_pack::PackOptions, _> = serde_json::from_value(goal);
        let error = read.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Where no codes keep every bit, values stay plain numbers; with a type for the codes, that is an error.
#[test]
fn lossless_keeps_every_bit() {
    let whole: Vec<f32> = (0..2000).map(|i| (i % 14) as f32).collect();
    let trial = trial(&whole, json!("NaN"));
    let report = trial.pack(options(json!({"lossless": true}))).unwrap();
    assert_eq!(report.data_type.size(), 1);
    assert_eq!(read(&trial.output()), bytes(&whole));
    let noise = |i: u32| f32::from_bits(0x3f80_0000 + (i.wrapping_mul(0x9e37_79b1) >> 9));
    let kinds_of_nan = [0x7fc0_0000, 0x7fc0_0001, 0xffc0_0000].map(f32::from_bits);
    for values in [
        vec![1.0_f32, -0.0, 2.0, 3.0],
        vec![1.0, f32::INFINITY, 2.0, f32::NEG_INFINITY],
        [&kinds_of_nan[..], &[1.0, 2.0, 3.0]].concat(),
        (0..500).map(noise).collect(),
        vec![f32::MIN, f32::MAX, f32::from_bits(1), 0.0, -999.0],
    ] {
        let attributes = json!({"fill_value": "NaN", "attributes": {"missing_value": -999.0}});
        let trial = Trial::new(&values, 2, attributes);
        for more in [json!({}), json!({"readers": ["any"]}), json!({"missing": ["0x7fc00001"]})] {
            let mut asked = json!({"lossless": true});
            asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let report = trial.pack(options(asked)).unwrap();
            assert_eq!(read(&trial.output()), bytes(&values), "{values:?}, {more}");
            assert!(report.requirements.iter().all(|one| one.is_kept));
        }
        let job = CompareJob { recorded: true, ..CompareJob::new(trial.input(), trial.output()) };
        assert_eq!(told(job.run(&one_thread())).unwrap().failure(), None);
        let error = trial.refuses(options(json!({"lossless": true, "data-type": "int16"})));
        assert!(error.contains("--data-type") || error.contains("kind"), "{error}");
    }
}

/// Chunks whose codes are all that of the fill value are not stored, so no value with other bits may have that code.
#[test]
fn lossless_tells_a_fill_value_from_values_that_equal_it() {
    let nan = |bits: u32| f32::from_bits(0x7fc0_0000 + bits);
    for fill in [json!(0.0), json!(-0.0), json!("NaN"), json!("0x7fc00007")] {
        for [one, other] in [[0.0, 1.0], [-0.0, 1.0], [0.0, -0.0], [nan(0), 1.0], [nan(7), 1.0]] {
            let values: Vec<f32> = [[one; 10], [other; 10], [one; 10]].concat();
            let trial = Trial::new(&values, 10, json!({"fill_value": fill}));
            for more in [json!({}), json!({"missing": ["-0.0"]}), json!({"readers": ["any"]})] {
                let mut asked = json!({"lossless": true});
                asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                trial.pack(options(asked)).unwrap();
                let is_same = read_by_zarrs(&trial.output()) == bytes(&values);
                assert!(is_same, "{fill} {one:?} {other:?} {more}");
            }
        }
    }
}

#[test]
fn verify_judges_requirements_and_those_that_are_recorded() {
    let values = kelvin(3000);
    let trial = trial(&values, json!("NaN"));
    trial.pack(options(json!({"max-mean-error": 0.01}))).unwrap();
    let job = CompareJob::new(trial.input(), trial.output());
    let judged = |requirements: Vec<Requirement>| {
        let job = CompareJob { requirements, recorded: true, ..job.clone() };
        told(job.run(&one_thread())).unwrap()
    };
    assert_eq!(judged(vec![]).failure(), None);
    assert_eq!(judged(vec![]).requirements.len(), 1);
    assert_eq!(judged(vec![Requirement::MaxMeanError(0.01)]).failure(), None);
    let failure = judged(vec![Requirement::MaxMeanError(0.001)]).failure().unwrap();
    assert!(failure.contains("mean error") && failure.contains("of 0.001: not kept"), "{failure}");
    let failure = judged(vec![Requirement::Lossless]).failure().unwrap();
    assert!(failure.contains("its bits do not come back"), "{failure}");
    let limits = Limits { least: None, greatest: Some(f64::from(values[7])) };
    let report = judged(vec![Requirement::Limits(limits), Requirement::KeepSign]);
    assert!(report.counts.over.is_some());
    // A mean that was recorded, and that the array does not keep any more.
    let worse: Vec<f32> = values.iter().map(|value| value + 0.015).collect();
    let place = trial.place("worse.zarr");
    let sample = Sample::new("float32", &[3000], &[3000], json!("NaN"));
    let recast = metadata(&trial.output())["attributes"]["recast"].clone();
    let mut recast: Value = recast;
    recast["max_abs_error"] = json!(0.02);
    sample.with("attributes", json!({"recast": recast})).write(&place, &bytes(&worse));
    let job = CompareJob { recorded: true, ..CompareJob::new(trial.input(), place) };
    let failure = told(job.run(&one_thread())).unwrap().failure().unwrap();
    assert!(failure.contains("mean error 0.015"), "{failure}");
}

#[test]
fn an_array_gets_what_is_recommended_for_its_name() {
    let text = "
recommendations:
- filters: [{kind: cf-short-name, value: t2m}, {kind: level-kind, value: single}]
  requirements: [{kind: mean-absolute-error-bound, value: '0.01'}, {kind: data-limits, minimum: 0}]
version: 1.0.0
";
    let by = Recommendations::from_yaml(text).unwrap();
    let values = kelvin(3000);
    let sample = Sample::new("float32", &[3000], &[3000], json!("NaN"));
    let single = json!({"short_name": "t2m", "GRIB_typeOfLevel": "surface"});
    let trial = Trial::of(&sample.with("attributes", single), &bytes(&values));
    let job = trial.job(options(json!({})));
    let report = told(job.recommended(&by, &one_thread()).and_then(|job| job.run(&one_thread())));
    let report = report.unwrap();
    assert_eq!(
        report.recommended.as_ref().and_then(Recommended::by),
        Some("compression-recommendations 1.0.0")
    );
    assert!(reached(&report, &Requirement::MaxMeanError(0.01)) > 0.005);
    let job = CompareJob {
        recommendations: Some(by.clone()),
        ..CompareJob::new(trial.input(), trial.output())
    };
    assert_eq!(told(job.run(&one_thread())).unwrap().failure(), None);
    let plain = Trial::new(&values, 3000, json!({}));
    let error = told(plain.job(options(json!({}))).recommended(&by, &one_thread()).map(drop));
    assert!(error.unwrap_err().contains("nothing is recommended"));
}

/// The goals of `recommendations` and of the options hold together, in an array alone, in groups and for verify.
#[test]
fn goals_for_all_hold_beside_what_is_recommended() {
    let text = "
recommendations:
- filters: [{kind: cf-short-name, value: t2m}]
  requirements: [{kind: mean-absolute-error-bound, value: 0.05}, {kind: data-limits, minimum: 0}]
- filters: [{kind: cf-short-name, value: q}]
  requirements: [{kind: max-pointwise-relative-error-bound, value: 0.01}]
version: 1.0.0
";
    let by = Recommendations::from_yaml(text).unwrap();
    let trial = Trial::empty();
    create_group(&trial.input());
    for name in ["t2m", "q", "other"] {
        let sample = Sample::new("float32", &[3000], &[3000], json!("NaN"));
        sample.write(&trial.input().join(name), &bytes(&kelvin(3000)));
    }
    let packed = |more: Value| {
        let recommendations = Some(by.clone());
        let job = GroupJob { recommendations, ..trial.group_job(options(more)) };
        of_group(job.run(&one_thread())).unwrap()
    };
    let asked = |report: &GroupReport<ArrayReport>, array: &str| {
        let ArrayReport::Packed(report) = outcome(&report.arrays, array).report().unwrap() else {
            panic!("packed by its values");
        };
        let asked = report.requirements.iter();
        let kinds = asked.map(|one| serde_json::to_value(one.requirement).unwrap());
        let kinds = kinds.map(|one| format!("{} {}", one["kind"].as_str().unwrap(), one["value"]));
        (kinds.collect::<Vec<_>>().join(", "), report.recommended.clone().unwrap())
    };
    let source = Recommended::By("compression-recommendations 1.0.0".to_owned());
    let nothing = Recommended::Not("nothing is recommended for it".to_owned());
    // A largest error and a mean; the smaller of two means.
    for (more, t2m, other) in [
        (
            json!({"max-abs-error": 0.02, "keep-sign": true}),
            r#"max-abs-error 0.02, max-mean-error 0.05, limits [0.0,"none"], keep-sign null"#,
            "max-abs-error 0.02, keep-sign null",
        ),
        (
            json!({"max-mean-error": 0.01}),
            r#"max-mean-error 0.01, limits [0.0,"none"]"#,
            "max-mean-error 0.01",
        ),
        // A step is no goal: it is for arrays without a recommendation.
        (json!({"precision": 0.1}), r#"max-mean-error 0.05, limits [0.0,"none"]"#, ""),
    ] {
        let report = packed(more.clone());
        assert_eq!(asked(&report, "t2m"), (t2m.to_owned(), source.clone()), "{more}");
        assert_eq!(asked(&report, "other"), (other.to_owned(), nothing.clone()), "{more}");
        // The same of an array alone.
        let input = trial.input().join("t2m");
        let alone = PackJob::new(input, trial.place("alone.zarr"), options(more.clone()));
        let alone = PackJob { overwrite: true, ..alone }.recommended(&by, &one_thread());
        let report = told(alone.and_then(|job| job.run(&one_thread()))).unwrap();
        assert_eq!(report.requirements.len(), t2m.split(", ").count(), "{more}");
        assert_eq!(report.recommended, Some(source.clone()));
        // And it is judged by all.
        let requirements = Requirement::of(&options(more.clone()));
        let job = CompareJob {
            requirements,
            recommendations: Some(by.clone()),
            ..CompareJob::new(trial.input(), trial.output())
        };
        let PathReport::Group(judged) = told(job.run_path(&one_thread())).unwrap() else {
            panic!("a group");
        };
        let judged = outcome(&judged.arrays, "t2m").report().unwrap();
        assert!(judged.requirements.iter().all(|one| one.is_kept), "{:?}", judged.requirements);
        assert_eq!(judged.requirements.len(), t2m.split(", ").count());
    }
    // What cannot hold together is named, and the array is copied.
    for (more, array, expected) in [
        (
            json!({"limits": [1.0, "none"], "max-abs-error": 0.1}),
            "t2m",
            "the limits (0.0 and more) and (1.0 and more)",
        ),
        (json!({"data-type": "int16", "max-abs-error": 0.1}), "q", "impossible with int16"),
    ] {
        let report = packed(more);
        let Outcome::Kept { reason } = &outcome(&report.arrays, array).outcome else {
            panic!("{array} is copied");
        };
        assert!(
            reason.contains("what is recommended for it") && reason.contains(expected),
            "{reason}"
        );
    }
}

/// An array alone knows its levels by the coordinates of its group, and of the groups above.
#[test]
fn an_array_named_by_its_path_has_the_levels_of_its_group() {
    let text = "
recommendations:
- filters: [{kind: cf-short-name, value: t}, {kind: level-kind, value: pressure}]
  requirements: [{kind: mean-absolute-error-bound, value: 0.05}]
version: 1.0.0
";
    let by = Recommendations::from_yaml(text).unwrap();
    let trial = Trial::empty();
    let deep = trial.input().join("deep");
    for group in [trial.input(), deep.clone()] {
        create_group(&group);
    }
    let sample = Sample::new("float32", &[1, 3000], &[1, 3000], json!("NaN"));
    let sample = sample.with("dimension_names", json!(["p", "cell"]));
    sample.write(&deep.join("t"), &bytes(&kelvin(3000)));
    let job = || {
        let job = PackJob::new(deep.join("t"), trial.output(), options(json!({})));
        job.recommended(&by, &one_thread()).map(|job| job.options.max_mean_error)
    };
    assert!(told(job()).unwrap_err().contains("nothing is recommended"));
    let level = Sample::new("float64", &[1], &[1], json!(0.0));
    let level = level.with("attributes", json!({"standard_name": "air_pressure"}));
    level.write(&trial.input().join("p"), &bytes(&[500.0]));
    assert_eq!(told(job()), Ok(Some(0.05)));
}

/// Each of two bounds holds, also if one is 0 or so small that no element but an equal one keeps it.
#[test]
fn each_of_two_bounds_is_judged() {
    let least = f64::from_bits(1);
    for (x, y) in [(1.0, 1.5), (1.0, 1.0), (0.0, 31.0 * least), (1e300, 1e300_f64.next_up())] {
        let trial = Trial::new(&[x, 2.0], 2, json!({"fill_value": "NaN"}));
        Sample::new("float64", &[2], &[2], json!("NaN")).write(&trial.output(), &bytes(&[y, 2.0]));
        let (distance, size) = ((y - x).abs(), x.abs());
        for absolute in [0.0, least, 1.0, f64::MAX] {
            for relative in [0.0, least, 1e-3, 0.9] {
                let requirements =
                    vec![Requirement::MaxAbsError(absolute), Requirement::MaxRelError(relative)];
                let job = CompareJob::new(trial.input(), trial.output());
                let report = told(CompareJob { requirements, ..job }.run(&one_thread())).unwrap();
                let is_kept = distance <= absolute && distance <= relative * size;
                assert_eq!(report.failure().is_none(), is_kept, "{x} {y} {absolute} {relative}");
            }
        }
    }
}

/// Elements break some requirements and keep others, and the report says which; so do reports that only measure.
#[test]
fn the_report_says_which_requirements_are_not_kept() {
    let limits = Limits { least: Some(0.0), greatest: Some(4.0) };
    let all = [
        Requirement::MaxAbsError(0.5),
        Requirement::ErrorOverRange(0.1),
        Requirement::MaxRelError(0.3),
        Requirement::MaxMeanError(0.3),
        Requirement::MeanErrorOverRange(0.1),
        Requirement::MaxMeanRelError(0.3),
        Requirement::Limits(limits),
        Requirement::KeepSign,
        Requirement::Lossless,
    ];
    let broken = |after: [f64; 4], asked: &[Requirement]| {
        let trial = Trial::new(&[0.0, 1.0, 2.0, 4.0], 4, json!({"fill_value": "NaN"}));
        Sample::new("float64", &[4], &[4], json!("NaN")).write(&trial.output(), &bytes(&after));
        let requirements = asked.to_vec();
        let job = CompareJob { requirements, ..CompareJob::new(trial.input(), trial.output()) };
        let report = told(job.run(&one_thread())).unwrap();
        let broken = report.requirements.iter().filter(|one| !one.is_kept);
        let broken: Vec<Requirement> = broken.map(|one| one.requirement).collect();
        assert_eq!(report.failure().is_none(), broken.is_empty(), "{after:?} {asked:?}");
        let measured = told(CompareJob { measures_only: true, ..job }.run(&one_thread())).unwrap();
        assert_eq!((measured.failure(), &measured.requirements), (None, &report.requirements));
        (broken, report.counts.over)
    };
    let [abs, range, rel, mean, mean_range, mean_rel, limits, sign, lossless] = all;
    for (after, expected, over) in [
        ([0.0, 1.0, 2.0, 4.0], vec![], 0),
        ([0.0, 1.4, 2.0, 4.0], vec![rel, lossless], 1),
        ([0.0, 1.0, 2.0, 4.1], vec![limits, lossless], 1),
        ([-0.1, 1.0, 2.0, 4.0], vec![rel, mean_rel, limits, sign, lossless], 1),
        ([0.0, 1.0, 2.55, 3.4], vec![abs, range, lossless], 2),
        ([0.0, -1.0, 2.0, 4.0], vec![abs, range, rel, mean, mean_range, limits, sign, lossless], 1),
    ] {
        assert_eq!(broken(after, &all), (expected.clone(), Some(over)), "{after:?}");
        for one in all {
            let is_broken = expected.contains(&one);
            assert_eq!(broken(after, &[one]).0.contains(&one), is_broken, "{after:?} {one:?}");
        }
    }
}

/// In groups, requirements of single arrays hold in place of those for all and of recommended ones, which hold together; nothing
/// else is judged by what is recorded.
#[test]
fn arrays_of_groups_have_requirements_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    for (group, off) in [(&a, 0.0), (&b, 0.25)] {
        let json = json!({"zarr_format": 3, "node_type": "group", "attributes": {}});
        std::fs::create_dir_all(group).unwrap();
        std::fs::write(group.join("zarr.json"), json.to_string()).unwrap();
        for name in ["t2m", "tp", "u"] {
            let sample = Sample::new("float64", &[3], &[3], json!("NaN"));
            let sample = sample.with("attributes", json!({"GRIB_typeOfLevel": "surface"}));
            sample.write(&group.join(name), &bytes(&[1.0 + off, 2.0, 3.0]));
        }
    }
    let text = "
recommendations:
- filters: [{kind: cf-short-name, value: t2m}]
  requirements: [{kind: mean-absolute-error-bound, value: 0.01}]
- filters: [{kind: cf-short-name, value: tp}]
  requirements: [{kind: mean-absolute-error-bound, value: 0.01}]
version: 1.0.0
";
    let rule = |name: &str, options: Value| ArrayRule {
        name: name.to_owned(),
        is_path: true,
        options: Some(serde_json::from_value(options).unwrap()),
    };
    let job = CompareJob {
        requirements: vec![Requirement::MaxAbsError(0.2), Requirement::KeepSign],
        recommendations: Some(Recommendations::from_yaml(text).unwrap()),
        rules: vec![rule("tp", json!({"max-mean-error": 0.1}))],
        ..CompareJob::new(&a, &b)
    };
    let PathReport::Group(report) = told(job.run_path(&one_thread())).unwrap() else {
        panic!("a group");
    };
    let found = report.arrays.iter().map(|one| {
        let asked = one.report().unwrap().requirements.iter();
        (&*one.array, asked.map(|one| (one.requirement, one.is_kept)).collect::<Vec<_>>())
    });
    let sign = (Requirement::KeepSign, true);
    assert_eq!(
        found.collect::<Vec<_>>(),
        [
            (
                "t2m",
                vec![
                    (Requirement::MaxAbsError(0.2), false),
                    (Requirement::MaxMeanError(0.01), false),
                    sign,
                ],
            ),
            ("tp", vec![(Requirement::MaxMeanError(0.1), true), sign]),
            ("u", vec![(Requirement::MaxAbsError(0.2), false), sign]),
        ]
    );
    let failure = report.failure().unwrap();
    assert!(failure.contains("2 of 3 arrays fail: t2m, u"), "{failure}");
    let unknown = CompareJob { rules: vec![rule("t", json!({}))], ..job };
    let error = told(unknown.run_path(&one_thread()).map(drop)).unwrap_err();
    assert!(error.contains("the rule for t: no such array"), "{error}");
}

/// Programs that write by themselves keep a mean, if they compare all values.
#[test]
fn codecs_are_chosen_for_a_mean_of_values_that_are_all_compared() {
    let finite: Vec<f32> = rain(20_000).iter().map(|x| x * 1e4).collect();
    for (fill, last, goal) in [
        (f32::NAN, 0.5, json!({"max-mean-error": 0.02})),
        (f32::NAN, 0.5, json!({"max-mean-rel-error": 0.02, "limits": [0, 9]})),
        (0.0, f32::NAN, json!({"max-mean-error": 0.02})),
        (0.0, f32::INFINITY, json!({"max-mean-rel-error": 0.02, "data-type": "bfloat16"})),
    ] {
        let values: Vec<f32> = finite.iter().copied().chain([last]).collect();
        let options = options(goal);
        let size = values.len() as u64;
        let surveyor = Surveyor::for_array(fill.into(), &Map::new(), &options, size).unwrap();
        let survey = surveyor.survey(&bytes(&values)).unwrap();
        let blocks = || values.chunks(3000).map(bytes);
        let mut tried = 0;
        let choice = choose_checked(&survey, &options, |choice| {
            tried += 1;
            assert!(!choice.is_proven_for_surveyed);
            blocks()
                .try_fold(Compared::default(), |all, block| Ok(all.merge(choice.check(&block)?)))
        });
        assert!(choice.is_ok() && tried > 0, "{options:?}");
        // Of some of them, or of none, it is not known.
        let some =
            choose_checked(&survey, &options, |choice| choice.check(&blocks().next().unwrap()));
        for refused in [some, choose(&survey, &options)] {
            let error = refused.unwrap_err().to_string();
            assert!(
                error.contains("bounds a mean, which is not known before all values are"),
                "{error}"
            );
        }
    }
}

/// An error names the bound that was given, and not what it came to.
#[test]
fn a_mean_that_no_codecs_keep_is_named_in_the_error() {
    let mut values = rain(3000);
    values[7] = 1e12;
    let trial = trial(&values, json!("NaN"));
    let error = trial.refuses(options(json!({"max-mean-error": 1e-7, "grid": false})));
    assert!(error.contains("allow a larger --max-mean-error"), "{error}");
    // Signs are kept by parts of a bound, and at last by 0, for which nobody asked.
    let goal = json!({"max-mean-rel-error": 0.05, "data-type": "int8", "keep-sign": true,
                      "src-min": 0, "src-max": 1});
    let small: Vec<f32> = (1..30_u8).map(|step| f32::from(step) * 1e-8).collect();
    let error = crate::common::trial(&small, json!("NaN")).refuses(options(goal));
    assert!(!error.contains("within 0.0 "), "{error}");
}

/// A fill value that marks nothing is left out of a mean only where it comes back.
#[test]
fn a_fill_value_that_changes_counts_in_means() {
    let before: Vec<f32> = (0..100).map(|i| if i < 10 { i as f32 } else { 7.0 }).collect();
    let mut after = before.clone();
    after[20..].fill(0.0);
    let trial = Trial::new(&before, 100, json!({"fill_value": 7.0}));
    Sample::new("float32", &[100], &[100], json!("NaN")).write(&trial.output(), &bytes(&after));
    // All elements but those that are 7 in both.
    let (errors, magnitudes, count) = (80.0 * 7.0, 80.0 * 7.0 + 38.0, 89.0);
    for (requirement, reached) in [
        (Requirement::MaxMeanError as fn(f64) -> Requirement, errors / count),
        (Requirement::MeanErrorOverRange, errors / count / 9.0),
        (Requirement::MaxMeanRelError, errors / magnitudes),
    ] {
        for (share, is_kept) in [(0.0, false), (0.99, false), (1.01, true)] {
            let requirements = vec![requirement(share * reached)];
            let job = CompareJob::new(trial.input(), trial.output());
            let report = told(CompareJob { requirements, ..job }.run(&one_thread())).unwrap();
            let one = &report.requirements[0];
            assert!((one.reached - reached).abs() < 1e-12 * reached, "{one}: {reached}");
            assert_eq!(report.failure().is_none(), is_kept, "{one}");
        }
    }
    let requirements = vec![Requirement::Lossless];
    let job = CompareJob { requirements, ..CompareJob::new(trial.input(), trial.output()) };
    let report = told(job.run(&one_thread())).unwrap();
    assert!(report.failure().unwrap().contains("80 of 100 elements"), "{:?}", report.failure());
}

/// Sums beyond float64 are no proof of anything.
#[test]
fn means_beyond_float64_are_not_kept() {
    let before = [1e308_f64; 100];
    let after = before.map(|x| x / 2.0);
    let trial = Trial::new(&before, 100, json!({"fill_value": "NaN"}));
    Sample::new("float64", &[100], &[100], json!("NaN")).write(&trial.output(), &bytes(&after));
    for requirement in [
        Requirement::MaxMeanError(1e300),
        Requirement::MeanErrorOverRange(1e-6),
        Requirement::MaxMeanRelError(1e-6),
    ] {
        let requirements = vec![requirement];
        let job = CompareJob { requirements, ..CompareJob::new(trial.input(), trial.output()) };
        let report = told(job.run(&one_thread())).unwrap();
        assert!(report.failure().is_some(), "{:?}", report.requirements);
    }
}

/// What `recast` records is judged as it was asked for: each of two bounds, and in every order of packings.
#[test]
fn recorded_bounds_are_judged_each() {
    let values: Vec<f32> = (1..2000).map(|i| i as f32 / 1000.0).collect();
    let absolute = json!({"max-abs-error": 0.01, "max-rel-error": 0.001});
    let of_range = json!({"error-over-range": 0.005, "max-rel-error": 0.001});
    for goals in [absolute, of_range] {
        let trial = trial(&values, json!("NaN"));
        trial.pack(options(goals.clone())).unwrap();
        let decoded = read_f32(&trial.output());
        let recast = metadata(&trial.output())["attributes"].clone();
        // Beyond the relative bound alone, beyond the absolute one alone, and within both.
        for (index, error, is_kept) in
            [(0, 0.005, false), (1990, 0.0105, false), (1990, 0.0015, true)]
        {
            let mut changed = decoded.clone();
            changed[index] = values[index] + error;
            let place = trial.place("changed.zarr");
            let _ = std::fs::remove_dir_all(&place);
            Sample::new("float32", &[1999], &[1999], json!("NaN"))
                .with("attributes", recast.clone())
                .write(&place, &bytes(&changed));
            let job = CompareJob { recorded: true, ..CompareJob::new(trial.input(), place) };
            let report = told(job.run(&one_thread())).unwrap();
            assert_eq!(report.failure().is_none(), is_kept, "{goals} {index} {error}");
        }
    }
}

/// The limits are those of the data, on both sides of 0, and steps are few: finer ones keep all.
#[test]
fn limits_at_both_ends_are_kept_with_signs() {
    for (least, greatest) in [(-1.8_f32, 32.97), (-10.16, 2.99), (-0.7, 0.3), (-1.0, 999.0)] {
        let value = |i: usize| least + (greatest - least) * ((i * 7919 % 1000) as f32 / 999.0);
        let mut values: Vec<f32> = (0..1000).map(value).collect();
        values.extend([least, greatest, 0.0]);
        let values: Vec<f32> = values.iter().map(|x| x.clamp(least, greatest)).collect();
        for share in [0.02, 0.01, 0.003] {
            let bound = f64::from(greatest - least) * share;
            let goals =
                json!({"max-abs-error": bound, "keep-sign": true, "limits": [least, greatest]});
            let trial = trial(&values, json!("NaN"));
            trial.pack(options(goals)).unwrap();
            for (x, y) in values.iter().zip(read_f32(&trial.output())) {
                assert!(f64::from((x - y).abs()) <= bound, "{x} {y}");
                assert!((least..=greatest).contains(&y) && x * y >= 0.0, "{x} {y} of {greatest}");
                assert!(*x != 0.0 || y == 0.0);
            }
        }
    }
}

/// Missing values that are named or recommended, and that no attribute names, are none of the values that are judged.
#[test]
fn verify_takes_missing_values() {
    let trial = Trial::new(&[1.0, 255.0, 2.0, 4.0], 4, json!({"fill_value": "NaN"}));
    let after = bytes(&[1.5, 255.0, 2.0, 4.0]);
    Sample::new("float64", &[4], &[4], json!("NaN")).write(&trial.output(), &after);
    let judged = |job: CompareJob| told(job.run(&one_thread())).unwrap();
    let relative = vec![Requirement::MaxMeanRelError(0.01)];
    let job =
        CompareJob { requirements: relative, ..CompareJob::new(trial.input(), trial.output()) };
    assert_eq!(judged(job.clone()).failure(), None);
    let missing = vec![JsonScalar::from(255_i64)];
    let named = judged(CompareJob { missing, ..job.clone() });
    assert!(named.failure().unwrap().contains("of 0.01: not kept"));
    assert_eq!((named.counts.special.missing, named.unnamed.len()), (1, 0));
    let text = "
recommendations:
- filters: []
  requirements: [{kind: mean-relative-error-bound, value: 0.01}, {kind: missing-value, value: 255}]
version: 1.0.0
";
    let recommendations = Some(Recommendations::from_yaml(text).unwrap());
    let recommended = CompareJob { requirements: Vec::new(), recommendations, ..job };
    assert_eq!(judged(recommended).counts.special.missing, 1);
}

/// Limits are numbers of the type of the elements: of 64-bit integers exactly, of floats the nearest, as `NumPy` compares.
#[test]
fn limits_are_exact_in_the_type_of_the_elements() {
    let large = 1_i64 << 53;
    let judged = |a: &[i64], b: i64, limits: Limits| {
        let trial = Trial::new(a, a.len(), json!({}));
        let after: Vec<i64> = a.iter().map(|_| b).collect();
        Sample::new("int64", &[a.len() as u64], &[a.len() as u64], json!(0))
            .write(&trial.output(), &bytes(&after));
        let requirements = vec![Requirement::Limits(limits)];
        let job = CompareJob { requirements, ..CompareJob::new(trial.input(), trial.output()) };
        told(job.run(&one_thread())).unwrap().failure().is_none()
    };
    let at_most = |greatest: i64| Limits { least: None, greatest: Some(greatest as f64) };
    assert!(judged(&[large], large, at_most(large)));
    assert!(!judged(&[large], large + 1, at_most(large)));
    assert!(judged(&[large + 1], large + 3, at_most(large)));
    let error = serde_json::from_value::<Limits>(json!([large + 1, "none"])).unwrap_err();
    assert!(error.to_string().contains("the nearest is 9007199254740992.0"), "{error}");
    // float32 has no 0.1.
    let tenths = Trial::new(&[0.0_f32, 0.05, 0.0777, 0.1], 4, json!({"fill_value": "NaN"}));
    tenths.pack(options(json!({"max-abs-error": 0.03, "limits": [0, 0.1]}))).unwrap();
    let decoded = read_f32(&tenths.output());
    assert!(decoded.iter().all(|value| (0.0..=0.1_f32).contains(value)), "{decoded:?}");
}

/// Where a bound takes values beyond limits, finer steps keep them; at worst values come back as they are.
#[test]
fn limits_that_a_bound_breaks_take_finer_steps() {
    let random = |seed: u32, count: u32| {
        (0..count).map(move |i| ((i * 31 + seed).wrapping_mul(0x9e37_79b1) >> 22) as f64 / 10.0)
    };
    for seed in 0..12 {
        let values: Vec<f64> = random(seed, 1 + seed * 3).collect();
        let (least, greatest) =
            values.iter().fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(*x), b.max(*x)));
        let ways =
            [json!({}), json!({"readers": ["any"]}), json!({"pow2": true}), json!({"grid": false})];
        let goals = ["max-abs-error", "max-mean-error"];
        for (more, goal) in ways.iter().flat_map(|way| goals.map(|goal| (way, goal))) {
            for element_type in [ElementType::Float32, ElementType::Int16, ElementType::UInt64] {
                let sample =
                    Sample::new(element_type.name(), &[values.len() as u64], &[4], json!(0));
                let before = elements(&values, element_type);
                let trial = Trial::of(&sample, &before);
                let ends = [least, greatest].map(|end| element(end, element_type).to_f64());
                let mut asked = json!({"limits": ends, "allow-constant": true});
                asked[goal] = 5.0.into();
                asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                let report = trial.pack(options(asked.clone()));
                let report = report
                    .unwrap_or_else(|error| panic!("{element_type} {values:?} {asked}: {error}"));
                assert!(report.requirements.iter().all(|one| one.is_kept));
                let decoded = f64s(&trial.decoded(), element_type);
                for (x, y) in f64s(&before, element_type).iter().zip(&decoded) {
                    let is_near = goal != "max-abs-error" || (x - y).abs() <= 5.0;
                    assert!((ends[0]..=ends[1]).contains(y) && is_near, "{x} {y} {asked}");
                }
            }
        }
    }
}

/// What a packed array records is judged or named, never passed over.
#[test]
fn recorded_requirements_that_are_not_known_are_errors() {
    let trial = Trial::new(&[1.0, 2.0, 4.0], 3, json!({"fill_value": "NaN"}));
    for (requirements, expected) in [
        (json!([{"kind": "max-mean-error", "value": 0.5}]), None),
        (json!([{"kind": "future-goal", "value": 0.1}]), Some("future-goal")),
        (json!([{"kind": "max-mean-error", "value": "0.1"}]), Some("max-mean-error")),
        (json!([{"kind": "limits", "value": [5, 1]}]), Some("limits")),
        (json!({"kind": "lossless"}), Some("no list")),
        (json!("x"), Some("no list")),
    ] {
        let recast = json!({"max_abs_error": 5.0, "requirements": requirements});
        let sample = Sample::new("float64", &[3], &[3], json!("NaN"));
        let sample = sample.with("attributes", json!({"recast": recast}));
        let place = trial.place(&format!("{}.zarr", expected.unwrap_or("known")));
        sample.write(&place, &bytes(&[1.25, 2.0, 4.0]));
        let job = CompareJob { recorded: true, ..CompareJob::new(trial.input(), &place) };
        match (told(job.run(&one_thread())), expected) {
            (Ok(report), None) => assert_eq!(report.failure(), None),
            (Err(error), Some(expected)) => assert!(error.contains(expected), "{error}"),
            (outcome, _) => panic!("{requirements}: {:?}", outcome.map(|report| report.failure())),
        }
        std::fs::remove_dir_all(place).unwrap();
    }
}

/// Zeros of chunks that are not stored are values like others; arrays of one scale record a mean error in their own units.
#[test]
fn means_that_are_recorded_are_those_that_verify_finds() {
    let sample = Sample::new("float32", &[8], &[4], json!(0.0));
    let trial = Trial::empty();
    sample.create(&trial.input());
    store(&trial.input(), 0, &bytes(&[5.1_f32, 5.2, 5.3, 5.45]));
    let mean = json!({"mean-error-over-range": 0.05, "allow-constant": true});
    let report = trial.pack(options(mean)).unwrap();
    let found = comparison(&trial.input(), &trial.output(), None).run(&one_thread());
    let found = told(found).unwrap().error.mean;
    let [requirement] = &report.requirements[..] else { panic!("one requirement") };
    assert!((requirement.reached * 5.45_f32 as f64 - found).abs() <= 1e-6 * found, "{found}");
    // The other array has a wider range.
    let trial = Trial::new(&kelvin(3000), 1000, json!({"fill_value": "NaN"}));
    let wide: Vec<f32> = kelvin(3000).iter().map(|value| (value - 280.0) * 9.0).collect();
    let other = Trial::new(&wide, 1000, json!({"fill_value": "NaN"}));
    let job = trial.job(options(json!({"mean-error-over-range": 0.01})));
    told(PackJob { scale_from: vec![other.input()], ..job }.run(&one_thread())).unwrap();
    let job = CompareJob { recorded: true, ..CompareJob::new(trial.input(), trial.output()) };
    let judged = told(job.run(&one_thread())).unwrap();
    assert_eq!((judged.failure(), judged.requirements.len()), (None, 1));
}

/// What `--missing` named when an array was packed is missing for verify, too, and no value for arrays whose type does not have it.
#[test]
fn missing_values_that_were_named_are_missing_for_verify() {
    let values: Vec<f64> =
        (0..2000).map(|i| if i % 7 == 0 { -999.0 } else { f64::from(i) }).collect();
    let trial = Trial::new(&values, 500, json!({"fill_value": "NaN"}));
    let asked = json!({"max-mean-error": 1.0, "missing": [-999], "readers": ["any"]});
    trial.pack(options(asked)).unwrap();
    let judged = |b: &Path| {
        let job = CompareJob { recorded: true, ..CompareJob::new(trial.input(), b) };
        told(job.run(&one_thread())).unwrap()
    };
    assert_eq!(judged(&trial.output()).failure(), None);
    assert_eq!(judged(&trial.output()).counts.special.missing, 286);
    // A value that becomes missing, and a mean error that the markers would hide.
    for (off, expected) in [(0.0, "become a missing value"), (1.15, "mean error")] {
        let mut after: Vec<f64> = values
            .iter()
            .map(|value| if *value == -999.0 { *value } else { value + off })
            .collect();
        if off == 0.0 {
            after[1] = -999.0;
        }
        let place = trial.place("other.zarr");
        let mut recast = metadata(&trial.output())["attributes"]["recast"].clone();
        recast["max_abs_error"] = json!(5000.0);
        let sample = Sample::new("float64", &[2000], &[500], json!("NaN"));
        sample.with("attributes", json!({"recast": recast})).write(&place, &bytes(&after));
        let failure = judged(&place).failure().unwrap();
        assert!(failure.contains(expected), "{failure}");
        std::fs::remove_dir_all(place).unwrap();
    }
    // A group with an array that has no such value.
    let trial = Trial::empty();
    create_group(&trial.input());
    Sample::new("float64", &[4], &[4], json!("NaN"))
        .write(&trial.input().join("t"), &bytes(&[1.0, -999.0, 2.0, 3.0]));
    Sample::new("uint8", &[4], &[4], json!(0)).write(&trial.input().join("mask"), &[1, 2, 3, 4]);
    let packing = options(json!({"max-abs-error": 0.1, "missing": [-999]}));
    told(trial.group_job(packing).run(&one_thread())).unwrap();
    let missing = vec![JsonScalar::from(-999_i64)];
    let requirements = vec![Requirement::MaxAbsError(0.1)];
    let job =
        CompareJob { missing, requirements, ..CompareJob::new(trial.input(), trial.output()) };
    let PathReport::Group(judged) = told(job.run_path(&one_thread())).unwrap() else {
        panic!("a group");
    };
    assert_eq!(judged.failure(), None);
}

/// A mean that allows more must not be refused where a smaller one is kept: a step that leaves nothing of most values becomes finer.
#[test]
fn a_coarser_mean_is_kept_where_a_finer_one_is() {
    let values: Vec<f32> = (0..3000_u32)
        .map(|i| match i % 10 {
            0..3 => -999.0,
            _ => 5.0 + (i.wrapping_mul(0x9e37_79b1) >> 22) as f32 / 20_000.0,
        })
        .collect();
    let trial = Trial::new(&values, 1000, json!({"fill_value": "NaN"}));
    for mean in [0.1, 0.05, 0.02, 0.01, 0.005] {
        let report = trial.pack(options(json!({"max-mean-error": mean})));
        let report = report.unwrap_or_else(|error| panic!("{mean}: {error}"));
        assert!(reached(&report, &Requirement::MaxMeanError(mean)) <= mean);
    }
    let limits = Limits { least: Some(1.0), greatest: Some(0.0) };
    let requirements = vec![Requirement::Limits(limits)];
    let job = CompareJob { requirements, ..CompareJob::new(trial.input(), trial.output()) };
    assert!(
        told(job.run(&one_thread()).map(drop)).unwrap_err().contains("smaller number comes first")
    );
    // 2 is within the first limits only, so 2 must not become -1.
    let limits = [None, Some(1.0)].map(|greatest| Limits { least: Some(0.0), greatest });
    let requirements = limits.map(Requirement::Limits).to_vec();
    let job = CompareJob { requirements, ..CompareJob::new(trial.input(), trial.output()) };
    let error = told(job.run(&one_thread()).map(drop)).unwrap_err();
    for part in ["(0.0 and more) and (0.0 to 1.0)", "values beyond one pair", "leave one"] {
        assert!(error.contains(part), "{error}");
    }
}

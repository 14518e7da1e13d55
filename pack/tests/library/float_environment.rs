//! The floating-point environment of the calling thread changes no choice, no code and no report.

#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

use recast_pack::{
    AllClose, ArrayInfo, CompareJob, DryRun, Job, PackOptions, Recommendations, Surveyor, choose,
};
use serde::Serialize;
use serde_json::json;

use crate::common::{Trial, bytes, one_thread};
use crate::environments::{register::ENVIRONMENTS, within};

/// In units of 0.01, some below the smallest normal number of float32.
fn values() -> Vec<f32> {
    (0..900_u16)
        .map(|x| if x % 50 == 7 { f32::from(x) * 1e-42 } else { f32::from(x * 13 % 4001) * 0.01 })
        .collect()
}

/// All that is to be said about an array: what packing, its dry run and comparing report, and what there is in the output.
fn everything(trial: &Trial, options: &PackOptions) -> impl Serialize {
    let runtime = one_thread();
    let dry = trial.job(options.clone()).dry_run(&runtime).unwrap();
    let packed = trial.job(options.clone()).run(&runtime).unwrap();
    let tolerance = Some(AllClose { atol: 0.004, rtol: 0.0 });
    let compare = CompareJob::new(trial.input(), trial.output());
    let compare = CompareJob { tolerance, metrics: true, ..compare };
    let compared = compare.run(&runtime).unwrap();
    let info = ArrayInfo::read(trial.output()).unwrap();
    (dry, packed, compared, info, trial.decoded())
}

#[test]
fn jobs_give_the_same_in_every_environment() {
    let trial = Trial::new(&values(), 300, json!({"attributes": {"missing_value": 0.1}}));
    for options in [
        json!({"error-over-range": 1e-4}),
        json!({"scale": 100.1, "data-type": "int16"}),
        json!({"max-mean-error": 0.002, "keep-sign": true}),
        json!({"max-mean-rel-error": 1e-4, "limits": [0, 40.1]}),
    ] {
        let options: PackOptions = serde_json::from_value(options).unwrap();
        let text = |found| serde_json::to_string_pretty(&found).unwrap();
        let expected = text(everything(&trial, &options));
        for environment in ENVIRONMENTS {
            let found = text(within(environment, || everything(&trial, &options)).unwrap());
            let mut pairs = found.lines().zip(expected.lines());
            let differing = pairs.find(|(one, other)| one != other && !one.contains("second"));
            assert_eq!(differing, None, "{environment:?}");
        }
    }
}

#[test]
fn recommendations_are_read_the_same_in_every_environment() {
    let text = "
        recommendations:
        - filters: [{kind: cf-short-name, value: t2m}]
          requirements:
          - {kind: mean-absolute-error-bound, value: 0.1}
          - {kind: max-pointwise-relative-error-bound, value: '1e-23'}
    ";
    let read = || Recommendations::from_yaml(text).unwrap();
    let expected = read();
    for environment in ENVIRONMENTS {
        assert_eq!(within(environment, read).unwrap(), expected, "{environment:?}");
    }
}

#[test]
fn surveys_and_choices_are_the_same_in_every_environment() {
    let elements = bytes(&values());
    let options = PackOptions { max_abs_error: Some(0.003), ..PackOptions::default() };
    let chosen = || {
        let surveyor = Surveyor::new(0_f32.into(), &[0.1_f32.into()], 900).unwrap();
        let choice = choose(&surveyor.survey(&elements).unwrap(), &options).unwrap();
        choice.check(&elements).unwrap();
        format!("{:?} {:?}", choice.codecs, choice.storable_range)
    };
    let expected = chosen();
    for environment in ENVIRONMENTS {
        assert_eq!(within(environment, chosen).as_ref(), Ok(&expected), "{environment:?}");
    }
}

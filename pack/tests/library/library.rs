//! Choosing codecs from Rust: a survey of blocks, merged and sent about, leads to what `recast pack` chooses.

use crate::common::{Random, Trial, bytes, metadata, one_thread, relative, within};
use recast_kernels::Scalar;
use recast_pack::{
    Compressor, ErrorKind, Job, PackJob, PackOptions, Survey, Surveyor, choose, choose_checked,
    scalar,
};
use serde_json::{Value, json};

/// Numbers that look random, below 1.
fn noise(count: usize) -> impl Iterator<Item = f64> {
    let mut random = Random(77);
    (0..count).map(move |_| random.number())
}

/// The survey of an array whose blocks are these chunks, merged in another order than they come in.
fn surveyed<T: Copy + Into<Scalar>>(
    values: &[T],
    chunk: usize,
    fill: Scalar,
    missing: &[Scalar],
) -> Survey {
    let surveyor = Surveyor::new(fill, missing, values.len() as u64).unwrap();
    let survey = |block: &[T]| {
        let survey = surveyor.survey(&bytes(block)).unwrap();
        // As from another process.
        let text = serde_json::to_string(&survey).unwrap();
        serde_json::from_str::<Survey>(&text).unwrap()
    };
    let surveys: Vec<Survey> = values.chunks(chunk).map(survey).collect();
    let (last, others) = surveys.split_last().unwrap();
    others.iter().fold(last.clone(), |total, one| total.merge(one).unwrap())
}

/// Expects the same codecs of the command's job and of the library's function, for these values alone and for others to
/// come.
fn are_the_same<T: Copy + Into<Scalar>>(
    values: &[T],
    more: &Value,
    missing: &[T],
    options: &PackOptions,
) {
    let others = ["max_rel_error", "precision", "range"];
    let document = serde_json::to_value(options).unwrap();
    let has_no_grid = others.iter().any(|one| !document[one.replace('_', "-")].is_null());
    for grid in [Some(true).filter(|_| !has_no_grid), Some(false)] {
        are_the_same_with(values, more.clone(), missing, &PackOptions { grid, ..options.clone() });
    }
}

fn are_the_same_with<T: Copy + Into<Scalar>>(
    values: &[T],
    more: Value,
    missing: &[T],
    options: &PackOptions,
) {
    let chunk = values.len().div_ceil(3);
    let trial = Trial::new(values, chunk, more);
    let fill: Value = metadata(&trial.input())["fill_value"].clone();
    let element_type = values[0].into().element_type();
    let fill = recast_fill(&fill, element_type);
    let missing: Vec<Scalar> = missing.iter().map(|&one| one.into()).collect();
    let survey = surveyed(values, chunk, fill, &missing);
    let report = trial.pack(options.clone()).unwrap();
    let block = bytes(values);
    let choice = choose_checked(&survey, options, |choice| choice.check(&block)).unwrap();
    let codecs: Vec<Value> = choice.codecs.iter().map(zarr_recast::Codec::to_json).collect();
    let packed = report.codecs.as_array().unwrap();
    assert_eq!(codecs, packed[..codecs.len()], "{options:?}");
    assert_eq!(choice.data_type, report.data_type);
    assert_eq!(choice.storable_range, report.storable_range);
    assert!(choice.encoded_fill_value.zip(report.encoded_fill_value).is_some_and(|(a, b)| a == b));
    let first = choose(&survey, options).unwrap();
    if first.is_proven_for_surveyed {
        assert_eq!(format!("{:?}", first.codecs), format!("{:?}", choice.codecs));
    }
}

fn recast_fill(json: &Value, element_type: recast_kernels::ElementType) -> Scalar {
    zarr_recast::JsonScalar::from_json(json).unwrap().to_scalar(element_type).unwrap()
}

/// For values that are all on the grid of those surveyed.
fn on_grid(bound: f64) -> PackOptions {
    PackOptions { grid: Some(true), ..within(bound) }
}

#[test]
fn the_choice_is_the_one_of_the_command() {
    let waves: Vec<f32> = noise(9000)
        .enumerate()
        .map(|(index, noise)| (285.0 + 12.0 * (index as f64 * 0.004).sin() + noise) as f32)
        .collect();
    let hundredths: Vec<f32> = waves.iter().map(|value| (value * 100.0).round() / 100.0).collect();
    // Nearly all are tenths: only every element tells.
    let mut tenths: Vec<f32> = waves.iter().map(|value| (value * 10.0).round() / 10.0).collect();
    tenths[7321] += 0.04;
    let mut rain: Vec<f32> =
        noise(9000).map(|noise| if noise < 0.7 { 0.0 } else { (noise * 9.0) as f32 }).collect();
    (rain[7], rain[4000]) = (f32::NAN, -9999.0);
    let doubles: Vec<f64> = noise(6000).map(|noise| noise * 1e-7).collect();
    for options in [
        within(0.01),
        within(0.003),
        PackOptions { compressor: Compressor::None, ..within(0.01) },
        PackOptions { range: Some("200,350".parse().unwrap()), ..within(0.01) },
        PackOptions { precision: Some(0.05), ..PackOptions::default() },
        relative(0.001),
        PackOptions { pow2: true, ..within(0.01) },
        PackOptions { src_min: scalar("280").ok(), ..within(0.01) },
    ] {
        for values in [&waves, &hundredths, &tenths] {
            are_the_same(values, &json!({"fill_value": "NaN"}), &[], &options);
        }
    }
    let marked = json!({"attributes": {"_FillValue": -9999.0}});
    are_the_same(&rain, &marked, &[-9999.0], &within(0.01));
    are_the_same(&doubles, &json!({}), &[], &within(1e-10));
    let counts: Vec<i32> = noise(5000).map(|noise| 70_000 + (noise * 900.0) as i32).collect();
    are_the_same(&counts, &json!({}), &[], &PackOptions::default());
    let steps = PackOptions { precision: Some(10.0), ..PackOptions::default() };
    are_the_same(&counts, &json!({}), &[], &steps);
}

/// Values that are multiples of a step need no second look, and one that is not tells so.
#[test]
fn surveys_of_gridded_data_lead_in_one_pass_to_what_the_command_chooses() {
    let gridded = |step: f64| -> Vec<f32> {
        let wave = |index: usize| 2000.0 * (index as f64 * 7e-4).sin();
        let steps = noise(90_000).enumerate().map(|(index, noise)| wave(index) + 9.0 * noise);
        steps.map(|steps| ((steps + 2500.0).round() * step) as f32).collect()
    };
    // One element of many is off its grid, and no sample is likely to have it.
    let off = |mut values: Vec<f32>, by: f32| {
        values[80_123] += by;
        values
    };
    let shifted: Vec<f32> = gridded(0.1).iter().map(|value| value + 0.037).collect();
    let doubles: Vec<f64> = gridded(0.01).iter().map(|&value| f64::from(value).round()).collect();
    let missing = |mut values: Vec<f32>| {
        (values[5], values[70_000], values[70_001]) = (f32::NAN, -9999.0, f32::NAN);
        values
    };
    // The survey has the distances from round grids; of another one, only its sample tells.
    for (values, bound, scale_of_grid) in [
        (gridded(0.1), 0.01, 10.0),
        (gridded(0.01), 0.003, 100.0),
        (gridded(0.25), 0.01, 4.0),
        (gridded(10.0), 0.01, 0.1),
        (missing(gridded(0.1)), 0.01, 10.0),
        (off(gridded(0.1), 0.04), 0.01, 50.0),
        (off(gridded(0.1), 0.004), 0.01, 10.0),
        (shifted.clone(), 0.01, 10.0),
    ] {
        let chunk = 9000;
        let marked = json!({"fill_value": "NaN", "attributes": {"_FillValue": -9999.0}});
        let report = Trial::new(&values, chunk, marked).pack(within(bound)).unwrap();
        let surveyor =
            Surveyor::new(f32::NAN.into(), &[(-9999.0_f32).into()], values.len() as u64).unwrap();
        let survey = |block: &[f32]| surveyor.survey(&bytes(block)).unwrap();
        let merged = |surveys: &mut dyn Iterator<Item = Survey>| {
            surveys.reduce(|total, one| total.merge(&one).unwrap()).unwrap()
        };
        let forwards = merged(&mut values.chunks(chunk).map(survey));
        let backwards = merged(&mut values.chunks(chunk).rev().map(survey));
        let (tens, rest) = values.split_at(45_000);
        let pairs = [rest, tens].map(|half| merged(&mut half.chunks(chunk).map(survey)));
        let paired =
            merged(&mut pairs.into_iter().map(|survey| {
                serde_json::from_value(serde_json::to_value(&survey).unwrap()).unwrap()
            }));
        for survey in [forwards, backwards, paired] {
            let choice = choose(&survey, &on_grid(bound)).unwrap();
            let codecs: Vec<Value> =
                choice.codecs.iter().map(zarr_recast::Codec::to_json).collect();
            assert_eq!(codecs, report.codecs.as_array().unwrap()[..codecs.len()]);
            let scale = codecs[0]["configuration"]["scale"].as_f64();
            assert_eq!(scale, Some(scale_of_grid));
            assert_eq!(choice.is_proven_for_surveyed, values != shifted);
            assert!(choice.check(&bytes(&values)).is_ok());
        }
    }
    let survey = surveyed(&doubles, 9000, f64::NAN.into(), &[]);
    let choice = choose(&survey, &on_grid(1e-5)).unwrap();
    assert!(choice.is_proven_for_surveyed && !choice.is_proven);
}

/// More than the excerpts take, and more chunks than one.
#[test]
fn the_choice_is_the_one_of_the_command_for_large_arrays_too() {
    let large: Vec<f32> = noise(1_500_000)
        .enumerate()
        .map(|(index, noise)| (101_000.0 + 900.0 * (index as f64 * 1e-4).sin() + noise) as f32)
        .collect();
    are_the_same(&large, &json!({}), &[], &within(0.5));
}

/// The job reads no elements of a chunk of fill values, and a library is given them.
#[test]
fn the_choice_is_the_one_of_the_command_if_a_chunk_is_not_stored() {
    for (fill, name) in [(f32::NAN, json!("NaN")), (250.5, json!(250.5)), (0.0, json!(0))] {
        let mut values: Vec<f32> = noise(9000)
            .enumerate()
            .map(|(index, noise)| (285.0 + 12.0 * (index as f64 * 0.004).sin() + noise) as f32)
            .collect();
        values[3000..6000].fill(fill);
        let trial = Trial::new(&values, 3000, json!({"fill_value": name}));
        assert_eq!(std::fs::read_dir(trial.input().join("c")).unwrap().count(), 2);
        for bound in [0.3, 0.1, 0.03, 0.01, 0.003] {
            are_the_same(&values, &json!({"fill_value": name}), &[], &within(bound));
        }
    }
}

/// Nobody needs to compare the elements then.
#[test]
fn of_codecs_that_take_as_many_bytes_those_are_chosen_that_are_proven() {
    let mut random = Random(1);
    let mut value = |index: u32| {
        let noise: f64 = (0..4).map(|_| random.number() - 0.5).sum();
        280.0 + 15.0 * (index as f32 / 5000.0).sin() + noise as f32
    };
    let values: Vec<f32> = (0..1 << 21).map(&mut value).collect();
    let choice = choose(&surveyed(&values, 1 << 18, f32::NAN.into(), &[]), &within(0.005)).unwrap();
    assert!(choice.is_proven && choice.data_type.size() == 2, "{:?}", choice.codecs);
}

#[test]
fn a_survey_has_what_its_blocks_have_in_any_order() {
    let mut values: Vec<f32> = noise(4000).map(|noise| noise as f32).collect();
    (values[3], values[900], values[901], values[3999]) = (f32::NAN, -1.0, -1.0, f32::INFINITY);
    let missing = [Scalar::from(-1.0_f32)];
    let survey = surveyed(&values, 1000, f32::NAN.into(), &missing);
    assert_eq!(
        (survey.elements(), survey.nan(), survey.missing(), survey.infinite()),
        (4000, 1, 2, 1)
    );
    let valid = || values.iter().copied().filter(|value| (0.0..=1.0).contains(value));
    let range = survey.data_range().unwrap();
    assert_eq!(range.0, valid().fold(f32::MAX, f32::min).into());
    assert_eq!(range.1, valid().fold(0.0, f32::max).into());
    let whole = surveyed(&values, 4000, f32::NAN.into(), &missing);
    assert_eq!((whole.data_range(), whole.missing()), (survey.data_range(), survey.missing()));
    let other = surveyed(&[1.0_f64], 1, 0.0_f64.into(), &[]);
    assert!(survey.clone().merge(&other).unwrap_err().to_string().contains("float64"));
    let error = choose(&survey, &within(0.01)).unwrap_err();
    assert!(error.to_string().contains("Infinity"), "{error}");
}

/// What is said to be proven is: no value of the range is off by more than the bound.
#[test]
fn a_proven_choice_keeps_the_bound_of_values_that_no_survey_has_seen() {
    let seen: Vec<f32> = noise(3000).map(|noise| (-20.0 + 60.0 * noise) as f32).collect();
    let survey = surveyed(&seen, 1000, f32::NAN.into(), &[]);
    let options = PackOptions { range: Some("-20,40".parse().unwrap()), ..within(0.01) };
    let choice = choose(&survey, &options).unwrap();
    assert!(choice.is_proven);
    let (least, greatest) = seen.iter().fold((0.0_f32, 0.0_f32), |(a, b), &x| (a.min(x), b.max(x)));
    let others = (0..200_000).map(|part| least + (greatest - least) * (part as f32 / 200_000.0));
    let others = bytes(&others.collect::<Vec<f32>>());
    choice.check(&others).unwrap();
    // Multiples of a tenth need fewer codes, which an element between them does not have.
    let tenths: Vec<f32> = (0..3000).map(|index| (index % 400) as f32 / 10.0).collect();
    let choice = choose(&surveyed(&tenths, 1000, f32::NAN.into(), &[]), &on_grid(0.01)).unwrap();
    assert!(!choice.is_proven && choice.is_proven_for_surveyed);
    choice.check(&bytes(&tenths)).unwrap();
    let error = choice.check(&bytes(&[1.0_f32, 0.54])).unwrap_err();
    assert!(error.to_string().contains("element [1]"), "{error}");
}

#[test]
fn what_a_survey_cannot_answer_is_refused() {
    let survey = surveyed(&[1.0_f32, 2.0, 5.0], 3, 0.0_f32.into(), &[]);
    let refused = |options: PackOptions| choose(&survey, &options).unwrap_err();
    let from_cf = PackOptions { from_cf: true, ..PackOptions::default() };
    assert_eq!(refused(from_cf).kind(), ErrorKind::Options);
    assert_eq!(refused(PackOptions::default()).kind(), ErrorKind::Options);
    let missing = vec![scalar("2").unwrap()];
    let error = refused(PackOptions { missing, ..within(0.1) });
    assert!(error.to_string().contains("before the survey"), "{error}");
    assert!(Surveyor::new(0.0_f32.into(), &[1.0_f64.into()], 3).is_err());
    let surveyor = Surveyor::new(0.0_f32.into(), &[], 3).unwrap();
    assert!(surveyor.survey(&[1, 2, 3]).is_err());
    let mut document = serde_json::to_value(&survey).unwrap();
    document["sample"] = "AAA=".into();
    assert!(serde_json::from_value::<Survey>(document).is_err());
    // The job says the same.
    let trial = Trial::new(&[1.0_f32, 2.0], 2, json!({}));
    let job = PackJob::new(trial.input(), trial.output(), PackOptions::default());
    assert_eq!(job.run(&one_thread()).unwrap_err().kind(), ErrorKind::Options);
}

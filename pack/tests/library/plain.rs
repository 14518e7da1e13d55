//! `--readers any`: plain numbers, rounded within a bound, that every reader of Zarr v3 opens.

use std::fmt::Debug;

use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use recast_pack::report::Rounded;
use recast_pack::{PackOptions, PackReport, Reader, Rounder};
use serde_json::{Value, json};

use crate::common::{
    Random, Sample, Trial, bytes, codec_names, contents, create_group, f32s, little_endian,
    metadata, of_group, one_thread, options, packed, read_by_zarrs, relative, scalars, sharding,
    within,
};

fn any(options: PackOptions) -> PackOptions {
    PackOptions { readers: vec![Reader::Any], ..options }
}

/// What each element becomes.
fn rounded(elements: &[u8], fill: Scalar, missing: &[Scalar], options: &PackOptions) -> Vec<u8> {
    let mut rounded = vec![0; elements.len()];
    Rounder::new(fill, missing, options).unwrap().round(elements, &mut rounded);
    rounded
}

/// The elements of a floating-point type that numbers become, and others that are hard to round.
fn elements(element_type: ElementType, numbers: &[f64]) -> Vec<u8> {
    let hard = [
        0.0,
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e-45,
        -1e-40,
        1e-310,
        6e-8,
        65504.0,
        -65504.0,
        65472.0,
        f64::from(f32::MAX),
        f64::from(f32::MIN),
        f64::MAX,
        f64::MIN,
        3.3e38,
        0.5,
        1.5,
        2.5,
        -0.25,
        1.0 / 3.0,
    ];
    let scalars = numbers.iter().chain(&hard).filter_map(|&number| {
        Scalar::from(number).cast(element_type, Rounding::NearestEven, OutOfRange::Clamp).ok()
    });
    // NaNs with a payload, quiet and signaling.
    let infinity = Scalar::infinity(element_type, false).unwrap().bits();
    let nans = [1, 2, infinity & (infinity >> 1) ^ infinity]
        .map(|payload| Scalar::from_bits(element_type, infinity | payload));
    // Of short types, every element.
    let all = if element_type.size() == 2 { 0..1 << 16 } else { 0..0 };
    let all = all.map(|bits| Scalar::from_bits(element_type, bits));
    scalars.chain(nans).chain(all).flat_map(Scalar::to_ne_bytes).collect()
}

/// Numbers of many magnitudes, the same in every run.
fn noise(count: u64, scale: f64) -> Vec<f64> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let magnitude = |index| 2_f64.powi((index % 41) as i32 - 20);
    (0..count).map(|index| (random.number() - 0.5) * scale * magnitude(index)).collect()
}

const FLOATS: [ElementType; 4] =
    [ElementType::Float16, ElementType::BFloat16, ElementType::Float32, ElementType::Float64];

/// The nearest multiple of a step, by the definition; of two, the even one. None if the quotient is not exact.
fn nearest_multiple(x: f64, step: f64) -> Option<f64> {
    let steps = x / step;
    (steps.is_finite() && steps * step == x).then(|| steps.round_ties_even() * step)
}

#[test]
fn an_absolute_bound_gives_the_nearest_multiples_of_the_largest_power_of_two_that_keeps_it() {
    for element_type in FLOATS {
        let values = elements(element_type, &noise(4000, 300.0));
        for bound in [
            1e-320,
            1e-45,
            1e-9,
            0.001,
            0.01,
            1.0 / 128.0,
            0.25,
            1.0,
            20.0,
            33.0,
            1e5,
            1e30,
            3e38,
            1e300,
        ] {
            let after = rounded(&values, Scalar::zero(element_type), &[], &within(bound));
            let step = 2.0_f64.powi((2.0 * bound).log2().floor() as i32);
            for (x, y) in
                scalars(&values, element_type).into_iter().zip(scalars(&after, element_type))
            {
                let what = format!("{element_type} {bound:?}: {x} became {y}");
                let (number, after) = (x.to_f64(), y.to_f64());
                if !x.is_finite() {
                    assert_eq!(x.bits(), y.bits(), "{what}");
                    continue;
                }
                assert!((number - after).abs() <= bound, "{what}");
                assert_eq!(number.is_sign_negative(), after.is_sign_negative(), "{what}");
                let largest = Scalar::max(element_type).to_f64();
                let expected = nearest_multiple(number, step).filter(|one| one.abs() <= largest);
                if step <= largest
                    && let Some(expected) = expected
                {
                    assert_eq!(after, expected, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_relative_bound_gives_the_fewest_bits_of_the_mantissa_that_keep_it() {
    for element_type in FLOATS {
        let values = elements(element_type, &noise(4000, 300.0));
        for (bound, bits) in [(0.4, 0), (0.2, 1), (0.01, 6), (0.0011, 9), (1e-9, 29)] {
            let options = relative(bound);
            let rounder = Rounder::new(Scalar::zero(element_type), &[], &options).unwrap();
            let mantissa = match element_type {
                ElementType::BFloat16 => 7,
                ElementType::Float16 => 10,
                ElementType::Float32 => 23,
                _ => 52,
            };
            let expected = (bits < mantissa).then_some(Rounded::MantissaBits(bits));
            assert_eq!(rounder.rounded(), expected, "{element_type} {bound}");
            let after = rounded(&values, Scalar::zero(element_type), &[], &options);
            for (x, y) in
                scalars(&values, element_type).into_iter().zip(scalars(&after, element_type))
            {
                let what = format!("{element_type} {bound:?}: {x} became {y}");
                if !x.is_finite() || x.is_zero() {
                    assert_eq!(x.bits(), y.bits(), "{what}");
                    continue;
                }
                let (x, y) = (x.to_f64(), y.to_f64());
                assert!((x - y).abs() <= bound * x.abs() && y.is_finite(), "{what}");
            }
        }
    }
}

#[test]
fn integers_stay_or_become_multiples_and_never_leave_their_type() {
    fn check<T: Copy + Into<Scalar> + Debug>(all: &[T]) {
        let before = bytes(all);
        let element_type = all[0].into().element_type();
        for (bound, step) in
            [(0.0, 1), (0.9, 1), (1.0, 2), (1.5, 2), (2.0, 4), (5.0, 8), (1e6, 1 << 20)]
        {
            let options = any(within(bound));
            let after = rounded(&before, Scalar::zero(element_type), &[], &options);
            for (x, y) in
                scalars(&before, element_type).into_iter().zip(scalars(&after, element_type))
            {
                let [x, y] = [x, y].map(|one| one.to_string().parse::<i128>().unwrap());
                assert!(
                    (x - y).unsigned_abs() as f64 <= bound,
                    "{element_type} {bound}: {x} became {y}"
                );
                // Next to the end of the type, there may be no multiple.
                let is_near_end = (Scalar::max(element_type).to_f64() - x as f64) <= bound;
                let has_step = step < 1 << (element_type.bits().min(40) - 1);
                assert!(
                    y % step == 0 || is_near_end || !has_step,
                    "{element_type} {bound}: {x} became {y}"
                );
            }
        }
    }
    check(&(i8::MIN..=i8::MAX).collect::<Vec<_>>());
    check(&(u8::MIN..=u8::MAX).collect::<Vec<_>>());
    check(&(i16::MIN..=i16::MAX).collect::<Vec<_>>());
    check(&(u16::MIN..=u16::MAX).collect::<Vec<_>>());
    check(&[i32::MIN, i32::MIN + 1, -3, -1, 0, 1, 2, 3, 5, 6, i32::MAX - 1, i32::MAX]);
    check(&[0, 1, 2, 3, 5, 6, u32::MAX - 1, u32::MAX]);
    check(&[
        i64::MIN,
        i64::MIN + 1,
        -3,
        -1,
        0,
        1,
        2,
        3,
        5,
        6,
        (1 << 53) + 1,
        i64::MAX - 1,
        i64::MAX,
    ]);
    check(&[0, 1, 2, 3, 5, 6, (1 << 60) + 3, u64::MAX - 1, u64::MAX]);
}

#[test]
fn ties_of_integers_go_to_the_even_multiple() {
    let after = rounded(&bytes(&[-6_i16, -2, 2, 6, 10, 1, 3]), 0_i16.into(), &[], &within(2.0));
    assert_eq!(after, bytes(&[-8_i16, 0, 0, 8, 8, 0, 4]));
}

#[test]
fn nothing_becomes_a_missing_value_that_was_none_and_missing_values_stay() {
    let markers = [-9999.5_f32, 0.0, 273.25];
    let missing = markers.map(Scalar::from);
    let values =
        [-9999.5_f32, -9999.6, -9999.3, 0.0, -0.0, 0.001, -0.001, 273.25, 273.251, 273.1, 1.5];
    let after = f32s(&rounded(&bytes(&values), 7.3_f32.into(), &missing, &within(0.125)));
    for (&x, &y) in values.iter().zip(&after) {
        assert_eq!(markers.contains(&x), markers.contains(&y), "{x} became {y}");
        assert!((x - y).abs() <= 0.125);
        assert!(!markers.contains(&x) || x.to_bits() == y.to_bits());
    }
    // Values that would become one stay, others are rounded.
    assert_eq!(after[4..], [-0.0, 0.001, -0.001, 273.25, 273.251, 273.0, 1.5]);
    // The fill value stays, but marks nothing.
    let fills = f32s(&rounded(&bytes(&[7.3_f32, 7.31, 0.01]), 7.3_f32.into(), &[], &within(0.125)));
    assert_eq!(fills, [7.3, 7.25, 0.0]);
}

fn trial(share_of_nan: f64) -> (Trial, Vec<f32>) {
    let noise = noise(5000, 1.0);
    let values = noise.iter().enumerate().map(|(index, noise)| {
        let is_nan = (index as f64 * 0.618_034).fract() < share_of_nan;
        if is_nan {
            f32::NAN
        } else {
            (280.0 + 20.0 * (index as f64 / 700.0).sin() + noise / 1e4) as f32
        }
    });
    let values: Vec<f32> = values.collect();
    (Trial::new(&values, 700, json!({"fill_value": "NaN"})), values)
}

#[test]
fn arrays_keep_the_bound_and_have_no_codecs_that_any_reader_lacks() {
    for share in [0.0, 0.001, 0.01, 0.5, 1.0] {
        for (goal, multiples) in [(within(0.01), true), (relative(0.001), false)] {
            for compressor in ["none", "zstd:5", "auto", "smallest"] {
                let (trial, values) = trial(share);
                let options = PackOptions {
                    compressor: compressor.parse().unwrap(),
                    verify: true,
                    ..any(goal.clone())
                };
                let report = trial.pack(options).unwrap();
                let expected = if multiples {
                    Rounded::MultiplesOf(1.0 / 64.0)
                } else {
                    Rounded::MantissaBits(9)
                };
                assert_eq!(report.rounded, Some(expected));
                let after = f32s(&trial.decoded());
                for (x, y) in values.iter().zip(&after) {
                    let bound = if multiples { 0.01 } else { 0.001 * x.abs() };
                    assert!((x.is_nan() && x.to_bits() == y.to_bits()) || (x - y).abs() <= bound);
                }
                assert_eq!(f32s(&read_by_zarrs(&trial.output())).len(), after.len());
                let metadata = trial.metadata();
                assert_eq!(
                    (&metadata["data_type"], &metadata["fill_value"]),
                    (&json!("float32"), &json!("NaN"))
                );
                let known = ["bytes", "zstd", "gzip", "blosc"];
                let names = codec_names(&metadata["codecs"]);
                assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
                assert_eq!(report.readers, None);
            }
        }
    }
}

#[test]
fn a_dry_run_says_what_a_run_does() {
    let (trial, _) = trial(0.01);
    let preview =
        recast_pack::DryRun::preview(&trial.job(any(within(0.01))), &one_thread()).unwrap();
    let report = trial.pack(any(within(0.01))).unwrap();
    assert_eq!((preview.codecs, preview.rounded), (report.codecs, report.rounded));
    let (estimated, stored) = (preview.bytes.stored as f64, report.bytes.stored as f64);
    assert!((estimated / stored - 1.0).abs() < 0.2, "{estimated} {stored}");
}

#[test]
fn shards_missing_chunks_and_groups_work_as_with_codes() {
    let trial = Trial::empty();
    create_group(&trial.input());
    let values: Vec<f32> = noise(64 * 64, 100.0).into_iter().map(|x| x as f32).collect();
    let shard = json!([sharding(&[8, 8], json!([little_endian()]))]);
    let sample = Sample::new("float32", &[64, 64], &[32, 32], json!(-1.5)).with("codecs", shard);
    sample.write(&trial.input().join("t"), &bytes(&values));
    let sparse = Sample::new("float32", &[64, 64], &[32, 32], json!(-1.5));
    sparse.create(&trial.input().join("sparse"));
    let report =
        of_group(recast_pack::Job::run(&trial.group_job(any(within(0.5))), &one_thread())).unwrap();
    assert_eq!(packed(&report), ["sparse", "t"]);
    let after = f32s(&read_by_zarrs(&trial.output().join("t")));
    assert!(
        values
            .iter()
            .zip(&after)
            .all(|(x, y)| (x - y).abs() <= 0.5 && y.fract() == 0.0 || x == y && *x == -1.5)
    );
    assert_eq!(codec_names(&metadata(&trial.output().join("t"))["codecs"]), ["sharding_indexed"]);
    assert_eq!(f32s(&read_by_zarrs(&trial.output().join("sparse"))), vec![-1.5; 64 * 64]);
    assert_eq!(contents(&trial.output().join("sparse")).len(), 1);
}

#[test]
fn options_that_ask_for_codes_are_refused_with_a_way_out() {
    let (trial, _) = trial(0.0);
    let refused = |more: Value, words: &[&str]| {
        let mut all = json!({"readers": ["any"]});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let error = trial.refuses(options(all));
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    let leave = "leave one of them out";
    refused(
        json!({"max-abs-error": 0.1, "data-type": "uint8"}),
        &["--data-type", "--readers any", leave],
    );
    refused(json!({"scale": 10}), &["--scale", leave]);
    refused(json!({"offset": 10}), &["--offset", leave]);
    refused(json!({"max-abs-error": 0.1, "nan-to": "max"}), &["--nan-to", leave]);
    refused(json!({"max-abs-error": 0.1, "rounding": "towards-zero"}), &["--rounding", leave]);
    refused(json!({"max-abs-error": 0.1, "pow2": true}), &["--pow2", leave]);
    refused(
        json!({"precision": 0.01}),
        &["--precision 0.01", "0.0078125", "--max-abs-error 0.005"],
    );
    refused(json!({}), &["what to keep"]);
}

#[test]
fn a_precision_that_is_a_power_of_two_is_kept() {
    let (trial, _) = trial(0.0);
    let report: PackReport = trial
        .pack(options(
            json!({"precision": 0.25, "readers": "any,zarrita".split(',').collect::<Vec<_>>()}),
        ))
        .unwrap();
    assert_eq!(report.rounded, Some(Rounded::MultiplesOf(0.25)));
    assert!(f32s(&trial.decoded()).iter().all(|x| (x * 4.0).fract() == 0.0));
}

#[test]
fn integers_without_a_bound_are_copied_exactly() {
    let values: Vec<i32> = (0..1000).map(|index| index * index).collect();
    let trial = Trial::new(&values, 100, json!({}));
    let report = trial.pack(any(PackOptions::default())).unwrap();
    assert_eq!(trial.decoded(), bytes(&values));
    assert_eq!(
        (report.data_type, report.rounded, report.already_narrowest),
        (ElementType::Int32, None, false)
    );
    let report = trial.pack(any(within(10.0))).unwrap();
    assert_eq!(report.rounded, Some(Rounded::MultiplesOf(16.0)));
    assert!(report.error.errors.max <= 10.0);
}

#[test]
fn info_says_what_plain_values_have_in_common() {
    let (trial, values) = trial(0.1);
    let seen = |path: &std::path::Path| {
        recast_pack::ArrayInfo::read(path).unwrap().rounded.map(|rounded| rounded.to_string())
    };
    assert_eq!(seen(&trial.input()), None);
    trial.pack(any(within(0.01))).unwrap();
    let expected = "multiples of 2^-6 = 0.015625, in all chunks";
    assert_eq!(seen(&trial.output()).as_deref(), Some(expected));
    // Of many magnitudes, so that no step is common to most.
    let noise: Vec<f32> = noise(3000, 1.0).into_iter().map(|x| x as f32).collect();
    let mixed = Trial::new(&noise, 700, json!({}));
    mixed.pack(any(relative(0.001))).unwrap();
    assert_eq!(seen(&mixed.output()).as_deref(), Some("9 bits of the mantissa, in all chunks"));
    // Values behind value codecs have a precision instead.
    trial.pack(within(0.01)).unwrap();
    assert_eq!(seen(&trial.output()), None);
    // Of a long array, some chunks are read.
    let long: Vec<f32> = values.iter().map(|x| x.round()).cycle().take(3 << 20).collect();
    let long = Trial::new(&long, 1 << 18, json!({}));
    assert_eq!(seen(&long.input()).as_deref(), Some("multiples of 2^0 = 1.0, in 4 of 12 chunks"));
}

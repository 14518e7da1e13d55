//! The contract of the candidates, on small surveys.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::Ordering;

use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use zarr_recast::Codec;

use super::bind::bind;
use super::candidate::Candidate;
use super::candidates::Candidates;
use super::compression::{Level, TrialBlocks, takes_bias, with_storage};
use super::facts::Facts;
use super::goals::Goals;
use super::placement::{Promise, Scale};
use super::placements::offsets;
use super::proof::{nth, rounded_error};
use super::room::storable;
use super::sample::{has_background, tried};
use super::scales::{scales, spread};
use crate::array::region::Block;
use crate::check::comparison::Violation;
use crate::error::{ErrorKind, is_interrupted};
use crate::metadata::byte_codecs::{BIAS, Coder, Storage};
use crate::options::{Compressor, Limits, NanTo, PackOptions, ValueRange, scalar};
use crate::runtime::{Runtime, Workers};
use crate::scan::number;
use crate::scan::survey::Survey;
use crate::scan::surveyor::Surveyor;

/// Numbers that look random, from 0 to below 1.
fn noise(count: usize) -> impl Iterator<Item = f32> {
    let mut state = 1_u64;
    (0..count).map(move |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as f32 / (1 << 24) as f32
    })
}

fn bytes<T: Copy + Into<Scalar>>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|&value| value.into().to_ne_bytes()).collect()
}

fn surveyed<T: Copy + Into<Scalar>>(values: &[T], fill: T, missing: &[T]) -> Survey {
    let missing: Vec<Scalar> = missing.iter().map(|&one| one.into()).collect();
    let surveyor = Surveyor::new(fill.into(), &missing, values.len() as u64).unwrap();
    surveyor.survey(&bytes(values)).unwrap()
}

fn within(bound: f64) -> PackOptions {
    let compressor = Compressor::None;
    PackOptions { max_abs_error: Some(bound), compressor, ..PackOptions::default() }
}

/// All candidates, if each is rejected, and why there are no more.
fn all(survey: &Survey, options: &PackOptions) -> (Vec<Candidate>, String) {
    let mut survey = survey.clone();
    survey.narrow(options).unwrap();
    let options = options.for_type(survey.element_type).unwrap();
    let options = Goals::new(&options, &survey).unwrap().options();
    let facts = Facts::new("a.zarr".to_owned(), &options, &survey, None).unwrap();
    let mut candidates = Candidates::new(&facts);
    let mut found = Vec::new();
    while let Some(candidate) = candidates.next() {
        found.push(candidate.unwrap());
        candidates.reject(Violation::elsewhere("an element is lost").into()).unwrap();
    }
    (found, format!("{:#}", candidates.explained()))
}

fn first(survey: &Survey, options: &PackOptions) -> Candidate {
    let (found, reason) = all(survey, options);
    found.into_iter().next().expect(&reason)
}

fn encoded(candidate: &Candidate, value: impl Into<Scalar>) -> Scalar {
    number::encoded(&candidate.chain, value.into()).unwrap()
}

fn decoded(candidate: &Candidate, value: impl Into<Scalar>) -> Scalar {
    number::decoded(&candidate.chain, encoded(candidate, value)).unwrap()
}

fn largest_error(candidate: &Candidate, values: &[f32]) -> f64 {
    let error = |&value: &f32| (decoded(candidate, value).to_f64() - f64::from(value)).abs();
    values.iter().map(error).fold(0.0, f64::max)
}

fn scale(candidate: &Candidate) -> f64 {
    candidate.placement.scale.factor()
}

/// Temperatures without a step, and with a step of a tenth.
fn temperatures() -> [Vec<f32>; 2] {
    let smooth: Vec<f32> = noise(500).map(|x| 250.0 + 60.0 * x).collect();
    let tenths = smooth.iter().map(|x| (10.0 * x).round() / 10.0).collect();
    [smooth, tenths]
}

#[test]
fn every_candidate_keeps_the_bound_for_what_was_surveyed() {
    for values in temperatures() {
        for bound in [1.0, 0.01, 1e-4] {
            for compressor in [Compressor::None, Compressor::Zstd(1)] {
                let options = PackOptions { compressor, ..within(bound) };
                let (found, _) = all(&surveyed(&values, f32::NAN, &[]), &options);
                let errors: Vec<f64> =
                    found.iter().map(|one| largest_error(one, &values)).collect();
                assert!(!errors.is_empty() && errors.iter().all(|error| *error <= bound));
            }
        }
    }
}

#[test]
fn candidates_run_from_coarse_to_fine() {
    for values in temperatures() {
        let (found, _) = all(&surveyed(&values, f32::NAN, &[]), &within(0.01));
        let scales: Vec<f64> = found.iter().map(scale).collect();
        assert!(scales.len() > 1 && scales.is_sorted(), "{scales:?}");
    }
}

#[test]
fn multiples_of_a_step_need_fewer_codes_until_one_is_found_that_is_none() {
    let [_, tenths] = temperatures();
    let (found, _) = all(&surveyed(&tenths, f32::NAN, &[]), &within(0.01));
    assert_eq!(scale(&found[0]), 10.0);
    assert!(found[0].only.is_some());
    let has_grid = |candidate: &Candidate| candidate.placement.scale.grid.is_some();
    // Its own offset comes after the one that leaves room; after that, no other round step is tried.
    assert!(found.iter().skip_while(|one| scale(one) == 10.0).all(|one| !has_grid(one)));
}

#[test]
fn values_to_come_keep_the_bound_between_those_surveyed() {
    let [_, tenths] = temperatures();
    let options = PackOptions { grid: Some(false), ..within(0.01) };
    let candidate = first(&surveyed(&tenths, f32::NAN, &[]), &options);
    let between: Vec<f32> = noise(500).map(|x| 251.0 + 58.0 * x).collect();
    assert!(candidate.only.is_none() && largest_error(&candidate, &between) <= 0.01);
}

#[test]
fn the_bound_that_no_candidate_keeps_is_named_with_a_way_out() {
    let values: Vec<f32> = (0..300).map(|index| 1.03_f32.powi(index)).collect();
    let (found, reason) = all(&surveyed(&values, f32::NAN, &[]), &within(1e-9));
    assert!(found.is_empty());
    for part in ["a.zarr", "float32", "within 1e-9", "allow a larger --max-abs-error"] {
        assert!(reason.contains(part), "{reason}");
    }
    let (_, reason) = all(&surveyed(&values, f32::NAN, &[]), &within(0.1));
    assert!(reason.ends_with("an element is lost"), "{reason}");
}

#[test]
fn a_failure_that_is_no_wrong_element_ends_the_search() {
    let survey = surveyed(&[1.0_f32, 2.5], 0.0, &[]);
    let options = within(0.1);
    let facts = Facts::new(String::new(), &options, &survey, None).unwrap();
    let full = Candidates::new(&facts).reject(anyhow::anyhow!("the disk is full")).unwrap_err();
    assert_eq!(full.to_string(), "the disk is full");
}

#[test]
fn an_interruption_and_a_full_disk_are_told_whatever_failed_before() {
    let survey = surveyed(&[1.0_f32, 2.5, -3.0], 0.0, &[]);
    let mean = PackOptions { max_mean_error: Some(0.1), ..PackOptions::default() };
    for asked in [within(0.1), mean] {
        let asked = PackOptions { keep_sign: true, ..asked };
        let full = io::Error::from(io::ErrorKind::StorageFull);
        for why in [ErrorKind::Interrupted.error("interrupted"), full.into()] {
            let mut goals = Goals::new(&asked, &survey).unwrap();
            goals.advance(anyhow::anyhow!("no code")).unwrap();
            let expected = why.to_string();
            assert_eq!(goals.advance(why).unwrap_err().to_string(), expected);
        }
    }
}

#[test]
fn every_special_value_has_a_code_that_no_datum_has_and_comes_back() {
    let [smooth, tenths] = temperatures();
    let missing = [-9999.0_f32, 1e20, 280.05];
    for mut values in [smooth, tenths] {
        values.extend(missing);
        values.push(f32::NAN);
        for bound in [0.3, 0.01] {
            let (found, reason) = all(&surveyed(&values, 0.0, &missing), &within(bound));
            assert!(!found.is_empty(), "{reason}");
            for candidate in &found {
                let data = values.iter().filter(|x| !x.is_nan() && !missing.contains(x));
                let data: BTreeSet<u64> =
                    data.map(|&value| encoded(candidate, value).bits()).collect();
                let mut specials = BTreeSet::new();
                for special in missing.into_iter().chain([f32::NAN]) {
                    let code = encoded(candidate, special).bits();
                    assert!(!data.contains(&code) && specials.insert(code), "{special}");
                    let back = decoded(candidate, special);
                    assert!(back.equals(special.into()) || back.is_nan() && special.is_nan());
                }
            }
        }
    }
}

#[test]
fn a_value_next_to_a_marker_gets_another_candidate_in_which_it_does_not_decode_to_it() {
    // With steps of 0.2 from 0 on, 9.95 would be stored as 10.
    let values: Vec<f32> = noise(300).map(|x| 20.0 * x).collect();
    let survey = surveyed(&values, 10.0, &[10.0]);
    let (found, _) = all(&survey, &within(0.1));
    assert!(found.iter().any(|one| !one.may_decode_to_marker));
    for candidate in found.iter().filter(|one| !one.may_decode_to_marker) {
        for near in [9.9, 9.99, 10.01, 10.1_f32] {
            assert!(!decoded(candidate, near).equals(10.0_f32.into()), "{near}");
        }
    }
}

#[test]
fn fill_values_survive_those_of_other_arrays_too() {
    let [smooth, _] = temperatures();
    for fill in [0.0, 280.0, 1e30, -1.5, f32::NAN, f32::INFINITY] {
        let own = surveyed(&smooth, fill, &[]);
        let survey = own.merge(&surveyed(&smooth, -7.0, &[])).unwrap();
        let candidate = first(&survey, &within(0.01));
        for fill in [fill, -7.0] {
            let candidate = candidate.with_fill_value(fill.into()).unwrap();
            assert_eq!(candidate.chain.encoded_fill_value(), Some(encoded(&candidate, fill)));
            let back = decoded(&candidate, fill);
            assert!(back.equals(fill.into()) || back.is_nan() && fill.is_nan(), "{fill}");
        }
    }
}

#[test]
fn nan_without_a_code_is_refused_with_the_reason() {
    let mut values: Vec<f32> = (0..=255_u8).map(f32::from).collect();
    values.push(f32::NAN);
    let one = Some(scalar("1").unwrap());
    let options =
        PackOptions { scale: one, data_type: Some(ElementType::UInt8), ..PackOptions::default() };
    let (found, reason) = all(&surveyed(&values, f32::NAN, &[]), &options);
    assert!(found.is_empty());
    assert!(reason.contains("none is left for NaN") && reason.contains("--nan-to"), "{reason}");
    // Without NaN there is nothing to keep.
    let (found, _) = all(&surveyed(&values[..256], 7.0, &[]), &options);
    assert_eq!((found.len(), found[0].nan), (1, None));
}

#[test]
fn values_share_the_code_of_nan_only_where_no_other_way_is_left() {
    let mut values: Vec<f32> = (0..=255_u8).map(f32::from).collect();
    let data_type = Some(ElementType::UInt8);
    let bounded = PackOptions { allow_collisions: true, data_type, ..within(0.1) };
    let spread = PackOptions { auto: true, max_abs_error: None, ..bounded.clone() };
    let lost = |values: &[f32], fill: f32, options: &PackOptions| {
        let candidate = first(&surveyed(values, fill, &[]), options);
        values.iter().filter(|&&value| decoded(&candidate, value).is_nan()).count()
    };
    assert_eq!(lost(&values, 7.0, &bounded), 0);
    assert_eq!([lost(&values, 7.0, &spread), lost(&values, f32::NAN, &spread)], [0, 0]);
    values.push(f32::NAN);
    assert_eq!([lost(&values, 7.0, &spread), lost(&values, 7.0, &bounded)], [1, 2]);
}

#[test]
fn values_that_may_become_missing_keep_the_bound() {
    let mut values: Vec<f32> = noise(300).map(|x| 10_f32.powf(14.0 * x - 8.0)).collect();
    values.push(1e20);
    let survey = surveyed(&values, f32::NAN, &[0.0]);
    let bound = PackOptions { max_rel_error: Some(0.01), max_abs_error: None, ..within(0.0) };
    let candidate = first(&survey, &PackOptions { allow_collisions: true, ..bound });
    for value in values {
        let error = largest_error(&candidate, &[value]);
        assert!(error <= 0.01 * f64::from(value), "{value} is off by {error}");
    }
}

#[test]
fn nan_gets_the_code_that_is_named_for_it_and_one_for_later_writes() {
    let values: Vec<f32> = noise(300).map(|x| 10.0 * x).collect();
    let survey = surveyed(&values, 0.0, &[]);
    assert!(first(&survey, &within(0.01)).nan.is_some());
    assert!(first(&survey, &PackOptions { no_nan: true, ..within(0.01) }).nan.is_none());
    let named = PackOptions { nan_to: NanTo::Max, ..within(0.01) };
    let candidate = first(&survey, &named);
    assert_eq!(candidate.nan, Some(Scalar::max(candidate.chain.encoded_type())));
}

#[test]
fn infinities_are_refused_by_integer_types_unless_they_get_codes() {
    let survey = surveyed(&[1.0, 2.5, f32::INFINITY], 0.0, &[]);
    let options = within(0.1);
    let facts = Facts::new("a.zarr".to_owned(), &options, &survey, None).unwrap();
    let refused = Candidates::new(&facts).next().unwrap().unwrap_err().to_string();
    assert!(refused.contains("element 2") && refused.contains("--infinity"), "{refused}");
    let survey = surveyed(&[1.0, 2.5, f32::INFINITY], 0.0, &[f32::INFINITY, f32::NEG_INFINITY]);
    let candidate = first(&survey, &options);
    assert!(decoded(&candidate, f32::INFINITY).equals(f32::INFINITY.into()));
}

#[test]
fn explicit_options_give_exactly_one_candidate() {
    let number = |text: &str| Some(scalar(text).unwrap());
    let values: Vec<f32> = noise(300).map(|x| 10.0 * x).collect();
    let survey = surveyed(&values, 0.0, &[]);
    let given = PackOptions {
        scale: number("20"),
        offset: number("5"),
        data_type: Some(ElementType::Int16),
        ..PackOptions::default()
    };
    let (found, reason) = all(&survey, &given);
    assert_eq!(found.len(), 1, "{reason}");
    let placement = found[0].placement;
    assert_eq!(
        (placement.scale.value, placement.offset),
        (Some(20_f32.into()), Some(5_f32.into()))
    );
    assert_eq!(found[0].chain.encoded_type(), ElementType::Int16);
    // A type that is too small has none, and says why.
    let given = PackOptions { scale: number("100"), data_type: Some(ElementType::Int8), ..given };
    let (found, reason) = all(&survey, &given);
    assert!(found.is_empty() && reason.contains("out of range for int8"), "{reason}");
}

#[test]
fn room_is_the_smaller_number_of_free_codes_beside_the_data() {
    let number = |text: &str| Some(scalar(text).unwrap());
    let given = PackOptions {
        scale: number("1"),
        data_type: Some(ElementType::UInt8),
        ..PackOptions::default()
    };
    for (least, greatest, room, is_roomy) in
        [(10.0_f32, 200.0, 10, false), (10.0, 250.0, 5, true), (100.0, 180.0, 75, true)]
    {
        let candidate = first(&surveyed(&[least, greatest], 12.0, &[]), &given);
        assert_eq!((candidate.room(), candidate.is_roomy()), (room, is_roomy));
    }
}

#[test]
fn scales_that_spread_the_values_leave_room_for_the_rounding_far_from_zero() {
    for mean in [0.0, 1e4, -1e6] {
        let values: Vec<f32> = noise(300).map(|x| mean + 100.0 * x).collect();
        let survey = surveyed(&values, f32::NAN, &[]);
        let options = PackOptions { auto: true, ..PackOptions::default() };
        let facts = Facts::new(String::new(), &options, &survey, None).unwrap();
        let scales = spread(&facts, ElementType::UInt16);
        let steps = scales.iter().map(|one| one.value.unwrap().to_f64() * facts.working.extent());
        let is_spread = |steps| (60_000.0..=65_535.0).contains(&steps);
        assert!(scales.len() > 3 && steps.clone().all(is_spread), "{mean}");
    }
}

#[test]
fn the_first_offset_is_in_the_middle_of_the_data_for_a_signed_type() {
    for [least, greatest] in [[250.0_f32, 310.0], [-20.0, 3000.0], [1e6, 1.25e6]] {
        let survey = surveyed(&[least, greatest], f32::NAN, &[]);
        let options = within(0.05);
        let facts = Facts::new(String::new(), &options, &survey, None).unwrap();
        let scale = Scale::of(Some(Scalar::from(10_f32)));
        let offsets = offsets(&facts, &scale, ElementType::Int32).unwrap();
        let offsets: Vec<f64> = offsets.into_iter().flatten().map(Scalar::to_f64).collect();
        let middle = f64::midpoint(least.into(), greatest.into());
        // Before it, the least value itself; after it, those next to the ends of the type.
        assert!((offsets[1] - middle).abs() <= 0.1, "{offsets:?}");
    }
}

#[test]
fn the_scale_of_a_grid_is_its_own_whatever_the_fill_value() {
    let [_, mut tenths] = temperatures();
    tenths.push(280.0);
    for fill in [280.05, 280.0, 1e20, 251.234, 247.4] {
        for (bound, missing) in [(0.001, &[fill][..]), (0.05, &[])] {
            let (found, reason) = all(&surveyed(&tenths, fill, missing), &within(bound));
            let on_grid = found.iter().filter(|one| one.placement.scale.grid.is_some());
            assert!(on_grid.clone().count() > 0, "{reason}");
            assert!(on_grid.clone().all(|one| scale(one) == 10.0), "{fill} {bound}");
        }
    }
}

#[test]
fn a_scale_that_is_to_be_a_power_of_two_is_one_whatever_the_fill_value() {
    let [smooth, _] = temperatures();
    for fill in [280.05, 0.1, 1e20, 251.234, 1e-3, 300.0, 77.7] {
        for bound in [0.01, 1e-3] {
            let options = PackOptions { pow2: true, ..within(bound) };
            let (found, reason) = all(&surveyed(&smooth, fill, &[fill]), &options);
            assert!(!found.is_empty(), "{reason}");
            assert!(found.iter().all(|one| scale(one).log2().fract() == 0.0), "{fill} {bound}");
        }
    }
}

#[test]
fn offsets_leave_room_on_both_sides_of_the_data() {
    for values in temperatures() {
        let survey = surveyed(&values, f32::NAN, &[]);
        let candidate = first(&survey, &within(0.01));
        assert!(candidate.is_roomy());
        let (least, greatest) = storable(ElementType::Float32, &candidate.codecs).unwrap();
        let (low, high) = survey.data_range().unwrap();
        assert!(least.to_f64() < low.to_f64() - 50.0, "{least}");
        assert!(greatest.to_f64() > high.to_f64() + 50.0, "{greatest}");
    }
}

/// Near the end of a type, neighbouring codes decode to one value, which is rounded outwards.
#[test]
fn the_ends_of_what_can_be_stored_have_codes() {
    for (bound, spread) in [(1e-5, 40.0), (1e-3, 1e4), (0.01, 3.0), (2e-6, 1.0), (1e-4, 7e3)] {
        for mean in [0.0, 280.0, -7e3] {
            let values: Vec<f32> = noise(3000).map(|x| mean + spread * x).collect();
            let (found, _) = all(&surveyed(&values, f32::NAN, &[]), &within(bound));
            for candidate in found {
                let Some((least, greatest)) = storable(ElementType::Float32, &candidate.codecs)
                else {
                    continue;
                };
                for end in [least, greatest] {
                    assert!(number::comes_back(&candidate.chain, end), "{end} {bound} {mean}");
                }
            }
        }
    }
}

#[test]
fn a_promised_range_has_codes_within_the_bound() {
    let values: Vec<f32> = noise(300).map(|x| 10.0 * x).collect();
    let survey = surveyed(&values, f32::NAN, &[]);
    let number = |text: &str| scalar(text).unwrap();
    let range = Some(ValueRange { least: number("-100"), greatest: number("300") });
    let options = PackOptions { range, ..within(0.01) };
    let later: Vec<f32> = noise(300).map(|x| 400.0 * x - 100.0).chain([-100.0, 300.0]).collect();
    let (found, _) = all(&survey, &options);
    assert!(!found.is_empty());
    assert!(found.iter().all(|one| largest_error(one, &later) <= 0.01));
    let (found, reason) =
        all(&survey, &PackOptions { data_type: Some(ElementType::UInt8), ..options });
    assert!(found.is_empty() && reason.contains("or a narrower --range"), "{reason}");
}

/// What rounding takes a whole step away lies just beside a code: only every value of the range shows it.
#[test]
fn every_integer_of_a_promised_range_is_within_the_bound_in_every_rounding() {
    let values = [5804_i16, 7214, 7026, 7168, 6663];
    let number = |text: &str| scalar(text).unwrap();
    let later: Vec<i16> = (5753..=7446).collect();
    for &rounding in Rounding::ALL {
        for bound in 0..12 {
            let range = Some(ValueRange { least: number("5753"), greatest: number("7446") });
            let options = PackOptions { range, rounding, ..within(bound.into()) };
            let candidate = first(&surveyed(&values, 5804, &[]), &options);
            let off = |&value: &i16| (decoded(&candidate, value).to_f64() - f64::from(value)).abs();
            let most = later.iter().map(off).fold(0.0, f64::max);
            assert!(most <= bound.into(), "{most} above {bound}, {rounding:?}");
        }
    }
}

#[test]
fn without_values_nothing_shows_a_grid() {
    for fill in [3.25_f32, -9999.0, 1e20, 0.0] {
        for values in [vec![], vec![fill; 20]] {
            let candidate = first(&surveyed(&values, fill, &[]), &within(0.01));
            assert_eq!(candidate.only, None, "{fill} {}", values.len());
            // A value that comes is refused or kept.
            let later = 1.503_f32;
            if number::encoded(&candidate.chain, later.into()).is_some() {
                assert!(largest_error(&candidate, &[later]) <= 0.01, "{fill}");
            }
        }
    }
}

#[test]
fn an_infinity_that_is_written_later_becomes_no_marker() {
    for (seed, fill) in (0..40).flat_map(|seed| [(seed, -999.9_f32), (seed, 7e-3)]) {
        let values: Vec<f32> =
            noise(200 + seed).map(|x| 99_990.0 + (x * 2000.0).floor() / 100.0).collect();
        for missing in [&[][..], &[fill]] {
            let candidate = first(&surveyed(&values, fill, missing), &within(0.01));
            if candidate.chain.encoded_type().is_integer() {
                for infinity in [f32::INFINITY, f32::NEG_INFINITY] {
                    let code = candidate.chain.encode(&infinity.to_ne_bytes());
                    assert!(code.is_err(), "{fill} {seed}");
                }
            }
        }
    }
}

/// A decoded float may exceed an integer type by less than the bound; a float that stands in for another exceeds nothing.
#[test]
fn only_what_is_decoded_to_integers_is_clamped() {
    let mode_of_first = |candidate: &Candidate| match candidate.codecs.first() {
        Some(Codec::CastValue(first)) => Some(first.out_of_range),
        _ => None,
    };
    let integers = first(&surveyed(&[-32_768_i16, 5, 32_767], 0, &[]), &within(3.0));
    assert_eq!(mode_of_first(&integers), Some(OutOfRange::Clamp));
    let values: Vec<f32> = noise(200).map(|x| 99_990.0 + (x * 2000.0).floor() / 100.0).collect();
    let floats = first(&surveyed(&values, -999.9, &[-999.9]), &within(0.01));
    assert!(floats.specials.iter().any(|special| special.stand_in.is_some()));
    assert_eq!(mode_of_first(&floats), Some(OutOfRange::Error));
}

#[test]
fn integers_are_kept_exactly_in_the_narrowest_type() {
    let start = 9_007_199_254_740_993_i64;
    let values: Vec<i64> = (0..200).map(|index| start + index).collect();
    let exactly = PackOptions { compressor: Compressor::None, ..PackOptions::default() };
    let candidate = first(&surveyed(&values, start, &[]), &exactly);
    assert_eq!(candidate.chain.encoded_type().size(), 1);
    assert!(values.iter().all(|&value| decoded(&candidate, value) == value.into()));
}

#[test]
fn integers_have_as_much_room_below_as_above() {
    for count in 2..20 {
        let values: Vec<i16> = (0..count).map(|step| 1000 + step).collect();
        let survey = surveyed(&values, 0, &[]);
        let options = within(0.0);
        let facts = Facts::new(String::new(), &options, &survey, None).unwrap();
        let offsets = offsets(&facts, &Scale::of(None), ElementType::Int8).unwrap();
        // Codes are from -128 to 127.
        assert_eq!(offsets[1], Some(Scalar::from(1000 + count / 2)), "{offsets:?}");
    }
}

#[test]
fn limits_at_the_ends_of_the_data_take_hardly_finer_steps() {
    for (count, extent) in [(3, 19.0), (3, 1.0), (3, 7.0), (600, 1.0), (600, 3.0), (600, 700.0)] {
        let values: Vec<f32> = noise(count).map(|x| extent * (x - 0.3)).collect();
        let survey = surveyed(&values, f32::NAN, &[]);
        let (least, greatest) = survey.range().unwrap();
        let ends = [least, greatest].map(|end| Some(end.to_f64()));
        let limits = Limits { least: ends[0], greatest: ends[1] };
        let free = within(f64::from(extent) / 1000.0);
        let limited = PackOptions { limits: Some(limits), ..free.clone() };
        let (found, _) = all(&survey, &limited);
        let ratio = scale(&found[0]) / scale(&first(&survey, &free));
        assert!((1.0..1.2).contains(&ratio), "{count} {extent}: {ratio}");
        assert!(beyond(&found[0], &survey) <= 0.0, "{count} {extent}");
        // The next are no multiples of it.
        let many = found.iter().filter(|one| scale(one) < 1.5 * scale(&found[0])).count();
        assert!(many >= 8, "{count} {extent}: {many} of {}", found.len());
    }
}

#[test]
fn steps_that_hold_for_values_to_come_are_hardly_finer_than_the_bound() {
    for extent in [1.0_f32, 0.3, 40.0] {
        let bound = f64::from(extent) / 100.0;
        let options = PackOptions { grid: Some(false), ..within(bound) };
        let values = [0.0, 0.37 * extent, extent];
        let ratio = scale(&first(&surveyed(&values, 0.0, &[]), &options)) * 2.0 * bound;
        assert!((1.0..1.001).contains(&ratio), "{ratio}");
    }
}

/// Where all values are at hand, steps need no margin for roundings that do not happen.
#[test]
fn small_arrays_of_floats_take_coarser_steps() {
    let values: Vec<f32> = noise(600).map(|x| 262.0 + 48.0 * x).collect();
    let survey = surveyed(&values, f32::NAN, &[]);
    let of = |compressor| first(&survey, &PackOptions { compressor, ..within(0.056) });
    let [large, small] = [Compressor::None, Compressor::Zstd(5)].map(|one| scale(&of(one)));
    assert!(small < large, "{small} {large}");
    let survey = surveyed(&[3_i32, 40, 700, 12, 90_000], 0, &[]);
    let steps = PackOptions { compressor: Compressor::Zstd(5), ..within(2.7) };
    let steps = 1.0 / scale(&first(&survey, &steps));
    assert_eq!(steps, 5.0);
}

#[test]
fn a_relative_error_takes_the_smallest_float_type_that_keeps_it() {
    let values: Vec<f32> = (0..300).map(|index| 1.03_f32.powi(index)).collect();
    let options = PackOptions { max_rel_error: Some(0.005), ..PackOptions::default() };
    let (found, _) = all(&surveyed(&values, 0.0, &[]), &options);
    assert_eq!(found[0].chain.encoded_type(), ElementType::Float16);
    let sizes: Vec<usize> = found.iter().map(|one| one.chain.encoded_type().size()).collect();
    assert!(sizes.is_sorted(), "{sizes:?}");
}

#[test]
fn a_relative_bound_that_is_not_kept_is_told_with_an_error_in_its_own_unit() {
    let values: Vec<f32> = (0..300).map(|index| 1e-6 * 1.03_f32.powi(index)).collect();
    let options = PackOptions {
        max_rel_error: Some(0.01),
        data_type: Some(ElementType::Float8E4M3),
        ..PackOptions::default()
    };
    let (_, reason) = all(&surveyed(&values, 0.0, &[]), &options);
    let (_, error) = reason.rsplit_once("an element is off by ").expect(&reason);
    let (error, unit) = error.split_once(' ').expect(&reason);
    assert!(error.parse::<f64>().unwrap() > 0.01 && unit == "of its value", "{reason}");
    assert!(
        reason.contains("(allow a larger --max-rel-error or a wider --data-type): "),
        "{reason}"
    );
    // So are integers to come.
    let options = PackOptions { data_type: Some(ElementType::Float8E5M2), ..options };
    let (_, reason) = all(&surveyed(&[0_i16, 1, 2, 4, 16, 40], 0, &[]), &options);
    assert!(reason.contains("from 1 to 40 would be off by 0.2500 of themselves"), "{reason}");
}

/// The byte codecs for an array of one chunk, after the candidate's value codecs.
fn chosen_for(values: &[f32], compressor: Compressor) -> Storage {
    let block = Block { shape: vec![64, values.len() as u64 / 64], elements: bytes(values) };
    let trial = TrialBlocks { blocks: vec![block], may_recode: true, finalists: 1 };
    let survey = surveyed(values, 0.0, &[]);
    let options = PackOptions { compressor, ..within(0.1) };
    let facts = Facts::new(String::new(), &options, &survey, None).unwrap();
    let candidate = Candidates::new(&facts).next().unwrap().unwrap();
    with_storage(&facts, candidate, &trial).unwrap().1
}

#[test]
fn the_byte_codecs_are_those_named_or_the_smallest_of_some_blocks() {
    let values: Vec<f32> = (0..4096_u16).map(|index| f32::from(index / 64)).collect();
    let chosen = |compressor| chosen_for(&values, compressor);
    assert_eq!(chosen(Compressor::Gzip(3)), Storage::plain(Coder::Gzip(3)));
    assert_eq!(chosen(Compressor::Auto).axes, Vec::<usize>::new());
    // A staircase is nothing but differences along its first axis.
    assert!(!chosen(Compressor::Smallest).axes.is_empty());
}

/// The differences of n codes in all are at most n, those of differences twice that, and so on.
#[test]
fn differences_are_biased_as_long_as_they_stay_in_their_type() {
    let options = PackOptions { data_type: Some(ElementType::Int16), ..within(0.0) };
    let with = |lowest: i32, highest: i32| -> Candidate {
        let candidate = first(&surveyed(&[lowest, highest], lowest, &[]), &options);
        assert_eq!(candidate.all_codes(), Some((lowest.into(), highest.into())));
        candidate
    };
    let most = i32::from(i16::MAX) - BIAS as i32;
    for passes in 1..=3 {
        let most = most >> (passes - 1);
        // One code is the first one of a chunk, and stays.
        for (lowest, highest) in [(0, most), (-100, most - 100), (-most, 0), (-most / 2, most / 2)]
        {
            assert!(takes_bias(&with(lowest, highest), passes), "{lowest} {highest} {passes}");
        }
        for (lowest, highest) in [(0, most + 1), (-100, most - 99), (-most - 1, 0)] {
            assert!(!takes_bias(&with(lowest, highest), passes), "{lowest} {highest} {passes}");
        }
    }
    // zarr-python reads no negative offset of an unsigned array.
    let unsigned = first(&surveyed(&[0_u32, 9], 0, &[]), &options);
    assert!(!takes_bias(&unsigned, 1));
    let of_bytes = PackOptions { data_type: Some(ElementType::Int8), ..options };
    assert!(!takes_bias(&first(&surveyed(&[0_i32, 9], 0, &[]), &of_bytes), 1));
}

#[test]
fn the_smallest_is_at_the_slow_level_where_that_finds_more_repeats() {
    // Words of different lengths, in any order.
    let letters: Vec<f32> = noise(4000).map(|x| (x * 100.0).floor()).collect();
    let words = noise(60_000).map(|x| (x * 300.0) as usize);
    let text = words.flat_map(|word| &letters[word * 7..word * 7 + 3 + word % 9]);
    let values: Vec<f32> = text.copied().take(64 * 512).collect();
    let chosen = chosen_for(&values, Compressor::Smallest);
    assert_eq!(Level::SLOW.of(&chosen), chosen);
    assert_ne!(Level::FAST.of(&chosen), chosen);
}

/// Each part by itself: in a job, the pass before it has asked already.
#[test]
fn no_part_of_a_choice_goes_on_once_the_job_is_to_stop() {
    let runtime = Runtime { threads: Some(1), ..Runtime::default() };
    let workers = Workers::new(&runtime).unwrap();
    let values: Vec<f32> = noise(300).collect();
    let survey = surveyed(&values, f32::NAN, &[]);
    let options = PackOptions { compressor: Compressor::Smallest, ..within(0.01) };
    let facts = Facts::new(String::new(), &options, &survey, Some(&workers)).unwrap();
    let mut candidates = Candidates::new(&facts);
    let candidate = candidates.next().unwrap().unwrap();
    let block = Block { shape: vec![300], elements: bytes(&values) };
    let trial = TrialBlocks { blocks: vec![block], may_recode: false, finalists: 4 };
    with_storage(&facts, candidate.clone(), &trial).unwrap();
    let excerpts = [bytes(&values)];
    tried(&facts, &candidate, &excerpts).unwrap();

    runtime.interrupt.store(true, Ordering::Relaxed);
    for (part, stopped) in [
        ("the next candidate", candidates.next().unwrap().map(drop)),
        ("a type and an offset", bind(&facts, candidate.placement).map(drop)),
        ("an excerpt", tried(&facts, &candidate, &excerpts).map(drop)),
        ("a compressor", with_storage(&facts, candidate.clone(), &trial).map(drop)),
    ] {
        assert!(stopped.is_err_and(|error| is_interrupted(&error)), "{part}");
    }
}

#[test]
fn zeros_are_a_background_if_they_are_many() {
    let has_background = |zeros: usize| {
        let values: Vec<f32> =
            (0..800).map(|index| if index < zeros { 0.0 } else { 8.0 + index as f32 }).collect();
        let survey = surveyed(&values, f32::NAN, &[]);
        let options = within(0.1);
        let facts = Facts::new(String::new(), &options, &survey, None).unwrap();
        has_background(&facts, &Candidates::new(&facts).next().unwrap().unwrap())
    };
    assert_eq!([0, 1, 79, 80, 400].map(has_background), [false, false, false, true, true]);
}

/// 160.7 is no whole number of steps away from the values, so it would need a first cast.
#[test]
fn a_scale_is_made_finer_by_some_units_if_that_spares_the_fill_value_a_cast() {
    let [smooth, _] = temperatures();
    let survey = surveyed(&smooth, 160.7, &[]);
    let options = within(0.3);
    let facts = Facts::new(String::new(), &options, &survey, None).unwrap();
    let scales = scales(&facts, Promise::Surveyed).unwrap().into_iter();
    let own: Vec<u64> = scales.filter_map(|one| Some(one.value?.bits())).collect();
    let candidate = first(&survey, &options);
    let scale = candidate.placement.scale.value.unwrap().bits();
    assert!(!candidate.has_remapped());
    assert!(!own.contains(&scale) && own.iter().any(|own| (1..=32).contains(&(scale - own))));
}

/// With the offset 2, the codes are far above those of one byte; in the signed type they are near its end.
#[test]
fn of_two_types_with_the_same_bytes_the_one_that_leaves_more_room_comes_first() {
    let mut kept = 0;
    for more in 0..20_u8 {
        let least = 2.8 + f32::from(more) * 1.3e-5;
        let values: Vec<f32> = noise(300).map(|x| least + 0.05 * x).collect();
        let survey = surveyed(&values, f32::NAN, &[]);
        let (found, reason) = all(&survey, &within(1.0 / 64_000.0));
        let type_and_offset =
            |one: &Candidate| (one.chain.encoded_type(), one.placement.offset.map(Scalar::to_f64));
        let is_at_two = |one: &&Candidate| type_and_offset(one).1 == Some(2.0);
        // Otherwise an offset that keeps the range of the data comes first.
        if beyond(found.iter().find(is_at_two).unwrap(), &survey) > 0.0 {
            continue;
        }
        kept += 1;
        let found: Vec<_> = found.iter().take(2).map(type_and_offset).collect();
        let expected = [ElementType::UInt16, ElementType::Int16].map(|one| (one, Some(2.0)));
        assert_eq!(found, expected, "{reason}");
    }
    assert!(kept > 0);
}

/// How far decoded values leave the range of the data; less than 0 if they do not reach its ends.
fn beyond(candidate: &Candidate, survey: &Survey) -> f64 {
    let (least, greatest) = survey.data_range().unwrap();
    let below = least.to_f64() - decoded(candidate, least).to_f64();
    below.max(decoded(candidate, greatest).to_f64() - greatest.to_f64())
}

/// Multiples of a step are rounded to the values' type, and 256 codes in a byte have one position only.
fn is_movable(candidate: &Candidate) -> bool {
    candidate.placement.scale.grid.is_none() && candidate.room() > 0
}

#[test]
fn decoded_values_stay_in_the_range_of_the_data_and_zero_stays_zero() {
    let line = |count: u16, scale: f32| {
        (0..=count).map(move |index| f32::from(index) / f32::from(count) * scale)
    };
    for compressor in [Compressor::None, Compressor::Zstd(5)] {
        for (values, bound) in [
            (line(99, 1.0).collect::<Vec<f32>>(), 0.1),
            (line(2000, 1.0).collect(), 0.1),
            // Cloud cover, for which no whole number of steps is 1.
            (line(2000, 1.0).map(|x| x.powi(3)).collect(), 0.006),
            (line(2000, 100.0).map(|x| x - 30.0).collect(), 0.3),
            (line(2000, -5.0).collect(), 0.07),
        ] {
            let survey = surveyed(&values, f32::NAN, &[]);
            let candidate = first(&survey, &PackOptions { compressor, ..within(bound) });
            assert!(beyond(&candidate, &survey) <= 0.0, "{bound} {compressor:?}");
            assert_eq!(decoded(&candidate, 0.0_f32).to_f64(), 0.0, "{bound} {compressor:?}");
            assert_eq!(candidate.chain.encoded_type().size(), 1);
        }
    }
}

/// Staying in the range is worth some bytes, finer steps, or another position.
#[test]
fn values_that_crowd_somewhere_stay_in_their_range_too() {
    let shares = [0.05, 0.01, 3e-3, 1e-3, 1e-4, 0.1];
    for (case, share) in (0..24).zip(shares.into_iter().cycle()) {
        let mut state = noise(20_000).skip(173 * case);
        let mut normal = || state.by_ref().take(12).map(f64::from).sum::<f64>() - 6.0;
        for count in [3, 600] {
            let normal: Vec<f64> = (0..count).map(|_| normal()).collect();
            let log_normal = normal.iter().map(|x| (0.8 * x - 1.0).exp()).collect();
            for values in [normal, log_normal] {
                let survey = surveyed(&values, 0.0, &[]);
                let (least, greatest) = survey.data_range().unwrap();
                let bound = share * (greatest.to_f64() - least.to_f64());
                let options = PackOptions { compressor: Compressor::Zstd(5), ..within(bound) };
                let candidate = first(&survey, &options);
                let far = beyond(&candidate, &survey);
                assert!(
                    !is_movable(&candidate) || far <= 0.0,
                    "{case}, {count} values, {bound}: {far} beyond"
                );
            }
        }
    }
}

/// Whatever the bound and the range are, some position of the steps rounds both ends inwards.
#[test]
fn an_offset_with_the_same_type_that_keeps_the_ends_comes_first() {
    let mut state = noise(20_000);
    let mut next = || state.next().unwrap();
    let mut kept = 0;
    for case in 0..120 {
        let mean = [0.0, 280.0, -3.0, 1e4][case % 4];
        let spread = 10_f32.powf(4.0 * next() - 2.0);
        let values: Vec<f32> =
            noise(40 + case).map(|x| mean + spread * (x - next() / 50.0)).collect();
        let bound = f64::from(spread) * f64::from(next()).max(1e-3) / 8.0;
        let bound = bound.max(f64::from(mean.abs()) * 1e-5);
        let survey = surveyed(&values, f32::NAN, &[]);
        let compressor = [Compressor::None, Compressor::Zstd(1)][case / 4 % 2];
        let options = PackOptions { compressor, ..within(bound) };
        let candidate = first(&survey, &options);
        let is_movable = is_movable(&candidate);
        kept += u32::from(is_movable);
        let far = beyond(&candidate, &survey);
        assert!(!is_movable || far <= 0.0, "{case}: {far} beyond, {bound} {compressor:?}");
    }
    assert!(kept > 60, "{kept}");
}

/// Next to a power of two, the decoded value may be rounded to a spacing twice that of the value.
#[test]
fn the_error_of_values_rounded_to_their_own_type_is_that_of_the_worst_value() {
    let rounded = |number: f64| {
        let number = Scalar::from(number);
        number.cast(ElementType::Float16, Rounding::NearestEven, OutOfRange::Error).unwrap()
    };
    let spacing = 2_f64.powi(-10);
    for ends in [[1.0, 3.0], [1.0, 1.9], [-3.0, 3.0], [-7.0, 1.5]] {
        let [least, greatest] = ends.map(rounded);
        let survey = surveyed(&[least, greatest], rounded(0.0), &[]);
        let options = within(1.0).for_type(ElementType::Float16).unwrap();
        let facts = Facts::new("a.zarr".to_owned(), &options, &survey, None).unwrap();
        let magnitudes = (0..).map_while(|bits| nth(ElementType::Float16, bits));
        let numbers = magnitudes.take_while(|number| *number <= 7.0);
        let numbers: Vec<f64> = numbers.flat_map(|number| [number, -number]).collect();
        for tenths in 1..60 {
            let error = f64::from(tenths) * spacing / 10.0;
            let off = |number: f64, by: f64| (rounded(number + by).to_f64() - number).abs();
            let in_range = numbers.iter().filter(|number| (ends[0]..=ends[1]).contains(*number));
            let worst = in_range.map(|&one| off(one, error).max(off(one, -error)));
            let worst = worst.fold(0.0, f64::max);
            let promised = rounded_error(&facts, error);
            assert!(worst <= promised, "{ends:?} {tenths}: {worst} {promised}");
            assert!(promised <= 1.5 * worst.max(error), "{ends:?} {tenths}: {worst} {promised}");
        }
    }
}

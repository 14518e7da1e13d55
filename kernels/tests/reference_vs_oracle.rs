//! The one-element reference gives what an independent oracle gives: for every value of every type
//! of up to 16 bits, and for edge and random values of the wider ones, in all 729 pairs of types, all
//! roundings and all treatments of values out of range; and so do maps, scale and offset.

mod differential;
mod oracle;

use proptest::prelude::*;
use recast_kernels::{
    Affine, Cast, ElementType, FloatOverflow, OutOfRange, Reason, Rounding, Scalar, Step, reference,
};

use rustc_apfloat::ieee::{
    BFloatS, DoubleS, Float8E4M3FNS, Float8E5M2S, HalfS, IeeeFloat, Semantics, SingleS,
};
use rustc_apfloat::{Float, FloatConvert, Status, StatusAnd};

use differential::{in_parallel, stride};
use oracle::Value;
use oracle::edges::{Random, edges};

type Outcome = Result<u64, Reason>;

fn bits(result: Result<Scalar, Reason>) -> Outcome {
    result.map(Scalar::bits)
}

/// Compares all targets, roundings and modes on one value; returns the number of comparisons.
fn compare_casts(source: ElementType, element: u64) -> Result<u64, String> {
    let value = Value::of(source, element);
    let scalar = Scalar::from_bits(source, element);
    let mut count = 0;
    for &target in ElementType::ALL {
        for &rounding in Rounding::ALL {
            let expected = if source == target {
                [Ok(oracle::canonical(source, element)); 3]
            } else {
                oracle::cast_all_modes(value, target, rounding)
            };
            for (&mode, expected) in OutOfRange::ALL.iter().zip(expected) {
                if mode == OutOfRange::Wrap && target.is_float() {
                    continue; // no plan has this
                }
                let found = bits(reference::cast(scalar, target, rounding, mode));
                if found != expected {
                    return Err(format!(
                        "{scalar:?} to {target}, {rounding}, {mode:?}: reference {found:x?}, oracle {expected:x?}"
                    ));
                }
                count += 1;
            }
        }
    }
    Ok(count)
}

fn narrow_types() -> impl Iterator<Item = ElementType> {
    ElementType::ALL.iter().copied().filter(|each| each.bits() <= 16)
}

fn types_of_16_bits() -> impl Iterator<Item = ElementType> {
    ElementType::ALL.iter().copied().filter(|each| each.bits() == 16)
}

fn wide_types() -> impl Iterator<Item = ElementType> {
    ElementType::ALL.iter().copied().filter(|each| each.bits() > 16)
}

#[test]
fn every_value_of_every_type_of_up_to_16_bits_casts_as_the_oracle_says() {
    let jobs: Vec<_> = narrow_types()
        .flat_map(|source| {
            // Sub-byte types: every byte, for the unused bits are ignored.
            let end = 1 << (8 * source.size());
            (0..end).step_by(256).map(move |start| (source, start))
        })
        .collect();
    let count = in_parallel(&jobs, |&(source, start)| {
        (start..start + 256).map(|element| compare_casts(source, element)).sum()
    });
    assert!(stride() > 1 || count == (17 * 256 + 4 * 65536) * (12 * 15 + 15 * 10), "{count}");
}

#[test]
fn edges_of_the_wide_types_cast_as_the_oracle_says() {
    let jobs: Vec<_> = wide_types()
        .flat_map(|source| {
            let edges = edges(source);
            edges.chunks(256).map(|chunk| (source, chunk.to_vec())).collect::<Vec<_>>()
        })
        .collect();
    let count = in_parallel(&jobs, |(source, elements)| {
        elements.iter().map(|&element| compare_casts(*source, element)).sum()
    });
    assert!(count / 330 > 100_000 / stride() as u64);
}

/// Compares encoding and decoding with this offset and scale, each alone and both together.
fn compare_scale_offset(
    element_type: ElementType,
    x: u64,
    offset: u64,
    scale: u64,
) -> Result<u64, String> {
    let value = Scalar::from_bits(element_type, x);
    let offset = Some(Scalar::from_bits(element_type, offset)).filter(|y| y.is_finite());
    let scale =
        Some(Scalar::from_bits(element_type, scale)).filter(|y| y.is_finite() && !y.is_zero());
    let mut count = 0;
    for overflow in [FloatOverflow::Error, FloatOverflow::Infinity] {
        for (offset, scale) in [(offset, None), (None, scale), (offset, scale)] {
            let parameters = Affine::new(offset, scale).overflow(overflow);
            for step in [Step::Scale(parameters), Step::InverseScale(parameters)] {
                let found = bits(reference::step(value, &step));
                let expected = oracle::step(element_type, x, &step);
                if found != expected {
                    return Err(format!(
                        "{value:?}, {step:?}: reference {found:x?}, oracle {expected:x?}"
                    ));
                }
                count += 1;
            }
        }
    }
    Ok(count)
}

#[test]
fn scale_and_offset_of_every_pair_of_up_to_8_bits_compute_as_the_oracle_says() {
    let jobs: Vec<_> = narrow_types()
        .filter(|each| each.size() == 1)
        .flat_map(|element_type| (0..1 << element_type.bits()).map(move |y| (element_type, y)))
        .collect();
    let count = in_parallel(&jobs, |&(element_type, y)| {
        (0..1 << element_type.bits())
            .map(|x| compare_scale_offset(element_type, x, y, y.wrapping_mul(7)))
            .sum()
    });
    assert!(count > 7_000_000 / stride() as u64);
}

#[test]
fn scale_and_offset_of_edges_compute_as_the_oracle_says() {
    let jobs: Vec<_> = types_of_16_bits()
        .chain(wide_types())
        .flat_map(|element_type| {
            let mut random = Random::new(1);
            let edges = edges(element_type);
            let some: Vec<_> = (0..3000).map(|_| *random.pick(&edges)).collect();
            some.chunks(100).map(|chunk| (element_type, chunk.to_vec())).collect::<Vec<_>>()
        })
        .collect();
    let count = in_parallel(&jobs, |(element_type, elements)| {
        let mut random = Random::new(elements[0]);
        let mut count = 0;
        for &x in elements {
            for _ in 0..100 {
                let (offset, scale) = (random.element(*element_type), *random.pick(elements));
                count += compare_scale_offset(*element_type, x, offset, scale)?;
            }
        }
        Ok(count)
    });
    assert!(count > 20_000_000 / stride() as u64);
}

#[test]
#[ignore = "a minute: 768 million comparisons"]
fn many_random_values_of_the_wide_types_cast_as_the_oracle_says() {
    let jobs: Vec<_> =
        wide_types().flat_map(|source| (0..1000_u64).map(move |seed| (source, seed))).collect();
    in_parallel(&jobs, |&(source, seed)| {
        let mut random = Random::new(seed);
        (0..400).map(|_| compare_casts(source, random.element(source))).sum()
    });
}

#[test]
fn the_oracle_agrees_with_plain_ieee_conversions_where_nothing_overflows() {
    fn compare<S: Semantics>(target: ElementType) {
        let element_types = ElementType::ALL.iter().copied().filter(|&each| each != target);
        for source in element_types.filter(|each| each.is_float() && each.size() <= 2) {
            for element in (0..1_u64 << source.bits()).step_by(stride()) {
                let Value::Finite(value) = Value::of(source, element) else { continue };
                for &rounding in Rounding::ALL {
                    let plain: StatusAnd<IeeeFloat<S>> =
                        value.convert_r(oracle::direction(rounding), &mut false);
                    let expected = plain.value.to_bits() as u64;
                    let [error, clamp, _] =
                        oracle::cast_all_modes(Value::Finite(value), target, rounding);
                    // A type without infinities has NaN in their place.
                    let largest = !plain.value.is_finite()
                        || plain.value.abs().to_bits() == IeeeFloat::<S>::largest().to_bits();
                    match error {
                        Ok(bits) => assert_eq!(bits, expected, "{source} {element:#x} {rounding}"),
                        // IEEE 754 stops at the largest value where a rounding leads away from Inf.
                        Err(_) => assert!(largest, "{source} {element:#x} {rounding}"),
                    }
                    if plain.status.contains(Status::OVERFLOW) && plain.value.is_infinite() {
                        assert_eq!((error, clamp), (Err(Reason::OutOfRange), Ok(expected)));
                    }
                }
            }
        }
    }
    compare::<oracle::Float8E3M4S>(ElementType::Float8E3M4);
    compare::<oracle::Float8E4M3S>(ElementType::Float8E4M3);
    compare::<Float8E4M3FNS>(ElementType::Float8E4M3Fn);
    compare::<Float8E5M2S>(ElementType::Float8E5M2);
    compare::<BFloatS>(ElementType::BFloat16);
    compare::<HalfS>(ElementType::Float16);
    compare::<SingleS>(ElementType::Float32);
    compare::<DoubleS>(ElementType::Float64);
}

/// Casts with the reference and checks that the oracle says the same.
fn cast(
    value: impl Into<Scalar>,
    target: ElementType,
    rounding: Rounding,
    mode: OutOfRange,
) -> Outcome {
    let value = value.into();
    let found = bits(reference::cast(value, target, rounding, mode));
    assert_eq!(found, oracle::cast(value.element_type(), value.bits(), target, rounding, mode));
    found
}

#[test]
fn the_examples_of_the_specification_hold() {
    use ElementType::{Float16, Float32, Float64, UInt8};
    use OutOfRange::{Clamp, Error, Wrap};
    use Rounding::{NearestAway, NearestEven, TowardsZero};
    const OUT_OF_RANGE: Outcome = Err(Reason::OutOfRange);

    // Float16 ends at 65504; the next value would be 65536.
    let largest = u64::from(half::f16::MAX.to_bits());
    assert_eq!(cast(65519.99_f64, Float16, NearestEven, Error), Ok(largest));
    assert_eq!(cast(65520.0_f64, Float16, NearestEven, Error), OUT_OF_RANGE);
    assert_eq!(cast(65535.0_f64, Float16, TowardsZero, Error), Ok(largest));
    assert_eq!(cast(65535.0_f64, Float16, TowardsZero, Clamp), Ok(largest));
    assert_eq!(cast(65536.0_f64, Float16, TowardsZero, Error), OUT_OF_RANGE);
    assert_eq!(cast(65536.0_f64, Float16, TowardsZero, Clamp), Ok(0x7c00));
    assert_eq!(cast(-65536.0_f64, Float16, TowardsZero, Clamp), Ok(0xfc00));

    // Rounding comes before the range.
    assert_eq!(cast(-0.4_f32, UInt8, NearestEven, Error), Ok(0));
    assert_eq!(cast(-0.5_f32, UInt8, NearestEven, Error), Ok(0));
    assert_eq!(cast(-0.5_f32, UInt8, NearestAway, Error), OUT_OF_RANGE);
    assert_eq!(cast(-0.5_f32, UInt8, NearestAway, Clamp), Ok(0));
    assert_eq!(cast(-0.5_f32, UInt8, NearestAway, Wrap), Ok(255));
    assert_eq!(cast(255.5_f32, UInt8, NearestEven, Error), OUT_OF_RANGE);
    assert_eq!(cast(255.5_f32, UInt8, NearestEven, Clamp), Ok(255));
    assert_eq!(cast(255.5_f32, UInt8, NearestEven, Wrap), Ok(0));

    // Wrapping takes the true integer: 1e300 is a multiple of 2^944.
    assert_eq!(cast(1e300_f64, UInt8, NearestEven, Wrap), Ok(0));
    assert_eq!(cast(1e300_f64, ElementType::UInt64, NearestEven, Wrap), Ok(0));
    let odd = 9_007_199_254_740_991.0_f64; // 2^53 − 1
    assert_eq!(cast(odd, UInt8, NearestEven, Wrap), Ok(255));
    assert_eq!(cast(-odd, UInt8, NearestEven, Wrap), Ok(1));

    // One rounding, never through f64: 2^24 + 1 is a tie, and 2^63 + 2^39 + 1 just above one.
    assert_eq!(
        cast((1_i64 << 24) + 1, Float32, NearestEven, Error),
        Ok(16_777_216.0_f32.to_bits().into())
    );
    assert_eq!(
        cast((1_u64 << 63) + (1 << 39) + 1, Float32, NearestEven, Error),
        Ok(9_223_373_136_366_403_584.0_f32.to_bits().into())
    );

    // NaN and infinities are errors whatever out_of_range says; with a counterpart they stay.
    for &mode in OutOfRange::ALL {
        assert_eq!(cast(f32::NAN, UInt8, NearestEven, mode), Err(Reason::Nan));
        assert_eq!(cast(f32::INFINITY, UInt8, NearestEven, mode), Err(Reason::Infinite));
    }
    let fnuz = ElementType::Float8E4M3Fnuz;
    assert_eq!(cast(f32::INFINITY, fnuz, NearestEven, Clamp), Err(Reason::Infinite));
    assert_eq!(cast(-f32::NAN, fnuz, NearestEven, Error), Ok(0x80));
    // One NaN of each sign: it has the sign of any other, and no payload.
    let e4m3fn = ElementType::Float8E4M3Fn;
    assert_eq!(cast(f32::from_bits(0x7f80_0001), e4m3fn, NearestEven, Error), Ok(0x7f));
    assert_eq!(cast(-f32::NAN, e4m3fn, NearestEven, Error), Ok(0xff));
    let nan = Scalar::from_bits(e4m3fn, 0xff);
    assert_eq!(cast(nan, Float32, NearestEven, Error), Ok((-f32::NAN).to_bits().into()));
    assert_eq!(cast(f32::NEG_INFINITY, e4m3fn, NearestEven, Clamp), Err(Reason::Infinite));
    // It ends at 448; the next value would be 480.
    assert_eq!(cast(464.0_f32, e4m3fn, NearestEven, Error), Ok(0x7e));
    assert_eq!(cast(464.0_f32, e4m3fn, NearestAway, Error), OUT_OF_RANGE);
    assert_eq!(cast(-465.0_f32, e4m3fn, NearestEven, Error), OUT_OF_RANGE);
    assert_eq!(cast(-465.0_f32, e4m3fn, NearestEven, Clamp), Ok(0xfe));
    assert_eq!(cast(479.0_f32, e4m3fn, TowardsZero, Error), Ok(0x7e));
    assert_eq!(cast(f32::NEG_INFINITY, Float64, NearestEven, Error), {
        Ok(f64::NEG_INFINITY.to_bits())
    });
    // A signalling NaN becomes quiet, and keeps sign and payload, unless the type stays.
    let signalling = f32::from_bits(0xff80_2001);
    assert_eq!(cast(signalling, Float16, NearestEven, Error), Ok(0xfe01));
    assert_eq!(cast(signalling, Float64, NearestEven, Error), Ok(0xfff8_0400_2000_0000));
    assert_eq!(cast(signalling, Float32, NearestEven, Error), Ok(0xff80_2001));

    // −0 stays where there is one.
    assert_eq!(cast(-0.0_f32, Float16, NearestEven, Error), Ok(0x8000));
    assert_eq!(cast(-0.0_f32, fnuz, NearestEven, Error), Ok(0));
    assert_eq!(cast(-1e-30_f32, fnuz, NearestEven, Error), Ok(0));
    assert_eq!(cast(-0.0_f32, ElementType::Int8, NearestEven, Error), Ok(0));

    // float8_e8m0fnu: powers of two, no zero, no sign; ties go to the even byte.
    let e8m0 = ElementType::Float8E8M0Fnu;
    assert_eq!(cast(1.0_f32, e8m0, NearestEven, Error), Ok(127));
    assert_eq!(cast(1.5_f32, e8m0, NearestEven, Error), Ok(128));
    assert_eq!(cast(3.0_f32, e8m0, NearestEven, Error), Ok(128));
    assert_eq!(cast(3.0_f32, e8m0, NearestAway, Error), Ok(129));
    assert_eq!(cast(0.0_f32, e8m0, NearestEven, Error), OUT_OF_RANGE);
    assert_eq!(cast(-8.0_f32, e8m0, NearestEven, Clamp), Ok(0));
    assert_eq!(cast(1e300_f64, e8m0, NearestEven, Clamp), Ok(254));
    assert_eq!(cast(2_f64.powi(-128), e8m0, NearestEven, Error), OUT_OF_RANGE);
    assert_eq!(cast(2_f64.powi(-128) * 1.5, e8m0, NearestEven, Error), Ok(0));
    assert_eq!(cast(Scalar::from_bits(e8m0, 190), ElementType::UInt64, NearestEven, Error), {
        Ok(1 << 63)
    });
}

#[test]
fn the_examples_of_scale_offset_hold() {
    let with = Affine::new;
    let (five, ten) = (Scalar::from(5_u8), Scalar::from(10_u8));
    // Every intermediate must fit, even if a later step would come back.
    assert_eq!(reference::scale(five, &with(Some(ten), None)), Err(Reason::Overflow));
    assert_eq!(reference::unscale(five, &with(None, Some(ten))), Err(Reason::InexactDivision));
    let lowest = Scalar::from(i64::MIN);
    let minus_one = Some(Scalar::from(-1_i64));
    assert_eq!(reference::unscale(lowest, &with(None, minus_one)), Err(Reason::Overflow));
    assert_eq!(reference::scale(lowest, &with(None, minus_one)), Err(Reason::Overflow));
    // Division is no multiplication by the reciprocal: 3 · 0.1 ≠ 3 / 10.
    let unscaled = reference::unscale(3.0_f64.into(), &with(None, Some(10.0_f64.into())));
    assert_eq!(unscaled, Ok(0.3_f64.into()));
    // A missing parameter touches nothing, a given 0 is added: −0 + 0 is 0.
    let zero = Scalar::from(-0.0_f32);
    assert_eq!(reference::unscale(zero, &with(None, None)), Ok(zero));
    assert_eq!(reference::unscale(zero, &with(Some(0.0_f32.into()), None)), Ok(0.0_f32.into()));
    // Overflow of finite input is an error, or Inf where that is asked for and exists.
    let ieee = |scale: Scalar| with(None, Some(scale)).overflow(FloatOverflow::Infinity);
    let (max, two) = (Scalar::from(f32::MAX), Scalar::from(2.0_f32));
    assert_eq!(reference::scale(max, &with(None, Some(two))), Err(Reason::Overflow));
    assert_eq!(reference::scale(max, &ieee(two)), Ok(f32::INFINITY.into()));
    let max = Scalar::max(ElementType::Float8E4M3Fnuz);
    assert_eq!(reference::scale(max, &ieee(max)), Err(Reason::Overflow));
    assert_eq!(
        reference::scale(f32::INFINITY.into(), &with(None, Some(two))),
        Ok(f32::INFINITY.into())
    );
}

#[test]
fn the_first_map_key_that_equals_the_element_by_value_decides() {
    let nan = |bits: u32| f32::from_bits(bits).into();
    let map: Vec<(Scalar, Scalar)> = vec![
        (nan(0xffc0_0001), 1_u8.into()),
        (0.0_f32.into(), 2_u8.into()),
        (f32::INFINITY.into(), 3_u8.into()),
        (7.0_f32.into(), 4_u8.into()),
        (nan(0x7fc0_0000), 5_u8.into()),
        (7.0_f32.into(), 6_u8.into()),
        ((-0.0_f32).into(), 7_u8.into()),
    ];
    let step = Cast::new(ElementType::UInt8).map(map);
    let cases: [(f32, Outcome); 8] = [
        (f32::NAN, Ok(1)),
        (f32::from_bits(0x7f80_0001), Ok(1)),
        (0.0, Ok(2)),
        (-0.0, Ok(2)),
        (f32::INFINITY, Ok(3)),
        (f32::NEG_INFINITY, Err(Reason::Infinite)),
        (7.0, Ok(4)),
        (7.1, Ok(7)),
    ];
    for (value, expected) in cases {
        assert_eq!(bits(reference::apply_cast(value.into(), &step)), expected, "{value}");
        assert_eq!(
            oracle::cast_value(ElementType::Float32, value.to_bits().into(), &step),
            expected,
            "{value}"
        );
    }
}

#[test]
fn maps_of_every_type_match_as_the_oracle_says() {
    in_parallel(ElementType::ALL, |&source| {
        let mut random = Random::new(source.bits().into());
        let edges = edges(source);
        let mut count = 0;
        for _ in 0..2000 {
            let target = *random.pick(ElementType::ALL);
            let map = (0..random.below(12)).map(|_| {
                let (key, value) = (*random.pick(&edges), random.element(target));
                (Scalar::from_bits(source, key), Scalar::from_bits(target, value))
            });
            let step = Cast::new(target).map(map.collect::<Vec<_>>());
            let keys: Vec<u64> = step.map.iter().map(|(key, _)| key.bits()).collect();
            for element in (0..20).map(|_| *random.pick(&edges)).chain(keys) {
                let found = bits(reference::apply_cast(Scalar::from_bits(source, element), &step));
                let expected = oracle::cast_value(source, element, &step);
                if found != expected {
                    return Err(format!(
                        "{source} {element:#x}, {step:?}: reference {found:x?}, oracle {expected:x?}"
                    ));
                }
                count += 1;
            }
        }
        Ok(count)
    });
}

/// Elements of a wide type: any bits, a few significant bits, near an edge.
fn element(source: ElementType) -> impl Strategy<Value = u64> {
    let few_bits = (0_u32..52, 0_u64..4096).prop_map(|(shift, significand)| significand << shift);
    let near_edge = prop::sample::select(edges(source));
    (prop_oneof![any::<u64>(), few_bits, near_edge], -2_i64..=2)
        .prop_map(|(bits, step)| bits.wrapping_add_signed(step))
}

fn wide_or_16_bit_element() -> impl Strategy<Value = (ElementType, u64)> {
    prop::strategy::Union::new(
        types_of_16_bits()
            .chain(wide_types())
            .map(|source| element(source).prop_map(move |bits| (source, bits)).boxed()),
    )
}

fn wide_element() -> impl Strategy<Value = (ElementType, u64)> {
    prop::strategy::Union::new(
        wide_types().map(|source| element(source).prop_map(move |bits| (source, bits)).boxed()),
    )
}

proptest! {
    // A failure is printed with its input, which belongs among the examples; no file is kept.
    #![proptest_config(ProptestConfig {
        cases: (20_000 / stride()) as u32,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_values_of_the_wide_types_cast_as_the_oracle_says((source, bits) in wide_element()) {
        if let Err(message) = compare_casts(source, bits) {
            prop_assert!(false, "{message}");
        }
    }

    #[test]
    fn random_scale_offset_computes_as_the_oracle_says(
        (element_type, x) in wide_or_16_bit_element(),
        y in any::<u64>(), z in any::<u64>(), near in any::<bool>(),
    ) {
        // Operands of a like exponent, so that something is left after rounding.
        let (y, z) = if near { (x ^ y >> 40, x ^ z >> 12) } else { (y, z) };
        if let Err(message) = compare_scale_offset(element_type, x, y, z) {
            prop_assert!(false, "{message}");
        }
    }
}

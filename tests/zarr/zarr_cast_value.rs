//! The values of the tests of the crate `zarr-cast-value` 0.5.1, each under the name that its test has
//! there: what that crate gives for them, these crates give to the bit. The crate itself is run beside.
//!
//! Of its 74 tests, 54 have values. The others compare its parts with each other (its loops for one
//! instruction set with those for another, slices with single elements, its own oracle), which
//! `random_elements_agree` stands for here: every pair of its types, every rounding and mode.

use recast_kernels::half::f16;
use recast_kernels::{
    BuildError, Cast, CastSliceError, Element, ElementType, OutOfRange, Reason, Rounding, RunError,
    Scalar, cast,
};
use zarr_cast_value::{
    CastError, CastFloat, CastInt, CastInto, FloatToFloatConfig, FloatToIntConfig,
    IntToFloatConfig, IntToIntConfig, MapEntry, OutOfRangeMode, RoundingMode,
    convert_slice_float_to_float, convert_slice_float_to_int, convert_slice_int_to_float,
    convert_slice_int_to_int,
};

const NE: Rounding = Rounding::NearestEven;
const TZ: Rounding = Rounding::TowardsZero;
const TP: Rounding = Rounding::TowardsPositive;
const TN: Rounding = Rounding::TowardsNegative;
const NA: Rounding = Rounding::NearestAway;
const ERROR: OutOfRange = OutOfRange::Error;
const CLAMP: OutOfRange = OutOfRange::Clamp;
const WRAP: OutOfRange = OutOfRange::Wrap;

fn their_rounding(rounding: Rounding) -> RoundingMode {
    rounding.name().parse().expect("the names are the same")
}

fn their_mode(mode: OutOfRange) -> Option<OutOfRangeMode> {
    (mode != OutOfRange::Error).then(|| mode.name().parse().expect("the names are the same"))
}

fn their_map<S: Copy, T: Copy>(map: &[(S, T)]) -> Vec<MapEntry<S, T>> {
    map.iter().map(|&(src, tgt)| MapEntry { src, tgt }).collect()
}

/// What comes of one element: its bits, or why it cannot be cast.
type Outcome = Result<u64, Reason>;

/// What a cast gives here.
fn ours<S: Element, T: Element>(
    value: S,
    rounding: Rounding,
    mode: OutOfRange,
    map: &[(S, T)],
) -> Outcome {
    let map = map.iter().map(|&(key, value)| (key.into(), value.into()));
    let step = Cast::new(T::TYPE).rounding(rounding).out_of_range(mode).map(map);
    let mut output = [T::zeroed()];
    match cast(&[value], &mut output, &step) {
        Ok(()) => {
            let result: Scalar = output[0].into();
            Ok(result.bits())
        }
        Err(CastSliceError::Run(RunError::Element(error))) => Err(error.reason),
        // Theirs wraps nothing towards a float either, and says so of the first element beyond.
        Err(CastSliceError::Build(BuildError::WrapToFloat(_))) => Err(Reason::OutOfRange),
        Err(error) => panic!("{error}"),
    }
}

/// Compares what a cast gives here and there; returns it.
#[track_caller]
fn same<T: Element>(ours: Outcome, theirs: Result<T, CastError>) -> Outcome {
    let theirs: Result<Scalar, CastError> = theirs.map(Into::into);
    match (ours, theirs) {
        (Ok(bits), Ok(theirs)) => {
            let is_same = Scalar::from_bits(T::TYPE, bits) == theirs;
            // Bits of a NaN are the hardware's there, and canonical or the source's here.
            let nans = theirs.is_nan() && Scalar::from_bits(T::TYPE, bits).is_nan();
            assert!(is_same || nans, "{bits:#x} here, {theirs:?} there");
        }
        (Err(Reason::Nan | Reason::Infinite), Err(CastError::NanOrInf { .. }))
        | (
            Err(Reason::OutOfRange),
            Err(CastError::OutOfRange { .. } | CastError::FloatOutOfRange { .. }),
        ) => {}
        (ours, theirs) => panic!("{ours:x?} here, {theirs:?} there"),
    }
    ours
}

#[track_caller]
fn f2i_with<S, T>(value: S, rounding: Rounding, mode: OutOfRange, map: &[(S, T)]) -> Outcome
where
    S: Element + CastFloat + CastInto<T>,
    T: Element + CastInt,
{
    let (map_entries, out_of_range) = (their_map(map), their_mode(mode));
    let config = FloatToIntConfig { map_entries, rounding: their_rounding(rounding), out_of_range };
    let mut output = [T::zeroed()];
    let theirs = convert_slice_float_to_int(&[value], &mut output, &config).map(|()| output[0]);
    same(ours(value, rounding, mode, map), theirs)
}

#[track_caller]
fn f2i<S, T>(value: S, rounding: Rounding, mode: OutOfRange) -> Outcome
where
    S: Element + CastFloat + CastInto<T>,
    T: Element + CastInt,
{
    f2i_with::<S, T>(value, rounding, mode, &[])
}

#[track_caller]
fn i2i<S, T>(value: S, mode: OutOfRange) -> Outcome
where
    S: Element + CastInt + CastInto<T>,
    T: Element + CastInt,
{
    let config = IntToIntConfig { map_entries: Vec::new(), out_of_range: their_mode(mode) };
    let mut output = [T::zeroed()];
    let theirs = convert_slice_int_to_int(&[value], &mut output, &config).map(|()| output[0]);
    same(ours(value, NE, mode, &[] as &[(S, T)]), theirs)
}

#[track_caller]
fn i2f<S, T>(value: S, rounding: Rounding, mode: OutOfRange) -> Outcome
where
    S: Element + CastInt + CastInto<T>,
    T: Element + CastFloat,
{
    let (rounding_mode, out_of_range) = (their_rounding(rounding), their_mode(mode));
    let config =
        IntToFloatConfig { map_entries: Vec::new(), rounding: rounding_mode, out_of_range };
    let mut output = [T::zeroed()];
    let theirs = convert_slice_int_to_float(&[value], &mut output, &config).map(|()| output[0]);
    same(ours(value, rounding, mode, &[] as &[(S, T)]), theirs)
}

#[track_caller]
fn f2f<S, T>(value: S, rounding: Rounding, mode: OutOfRange) -> Outcome
where
    S: Element + CastFloat + CastInto<T>,
    T: Element + CastFloat,
{
    let (rounding_mode, out_of_range) = (their_rounding(rounding), their_mode(mode));
    let config =
        FloatToFloatConfig { map_entries: Vec::new(), rounding: rounding_mode, out_of_range };
    let mut output = [T::zeroed()];
    let theirs = convert_slice_float_to_float(&[value], &mut output, &config).map(|()| output[0]);
    same(ours(value, rounding, mode, &[] as &[(S, T)]), theirs)
}

/// The outcome that is this value.
#[allow(clippy::unnecessary_wraps)] // to stand beside an outcome
fn is<T: Element>(value: T) -> Outcome {
    let scalar: Scalar = value.into();
    Ok(scalar.bits())
}

const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_POW_64: f64 = 18_446_744_073_709_551_616.0;

#[test]
fn float64_to_uint8_basic_rounding_and_clamp() {
    assert_eq!(f2i::<f64, u8>(42.0, NE, ERROR), is(42_u8));
    assert_eq!(f2i::<f64, u8>(2.5, NE, ERROR), is(2_u8));
    assert_eq!(f2i::<f64, u8>(3.5, NE, ERROR), is(4_u8));
    assert_eq!(f2i::<f64, u8>(300.0, NE, CLAMP), is(255_u8));
    assert_eq!(f2i::<f64, u8>(-10.0, NE, CLAMP), is(0_u8));
    for (value, expected) in [(1.0, 1_u8), (2.0, 2), (3.0, 3), (4.0, 4)] {
        assert_eq!(f2i::<f64, u8>(value, NE, ERROR), is(expected));
    }
}

#[test]
fn wraps() {
    assert_eq!(f2i::<f64, i8>(200.0, NE, WRAP), is(-56_i8));
    assert_eq!(i2i::<i32, i8>(200, WRAP), is(-56_i8));
    assert_eq!(i2i::<i32, i8>(-200, WRAP), is(56_i8));
    assert_eq!(i2i::<i32, u8>(300, WRAP), is(44_u8));
    assert_eq!(i2i::<i32, u8>(-1, WRAP), is(255_u8));
}

#[test]
fn out_of_range_nan_and_inf_to_int_are_errors() {
    assert_eq!(f2i::<f64, u8>(300.0, NE, ERROR), Err(Reason::OutOfRange));
    assert_eq!(f2i::<f64, u8>(f64::NAN, NE, ERROR), Err(Reason::Nan));
    for mode in [ERROR, CLAMP, WRAP] {
        assert_eq!(f2i::<f64, u8>(f64::INFINITY, NE, mode), Err(Reason::Infinite));
        assert_eq!(f2i::<f64, i8>(f64::NEG_INFINITY, NE, mode), Err(Reason::Infinite));
    }
    assert_eq!(i2i::<i32, u8>(100, ERROR), is(100_u8));
    assert_eq!(i2i::<i32, u8>(300, ERROR), Err(Reason::OutOfRange));
    assert_eq!(i2i::<i32, u8>(-1, ERROR), Err(Reason::OutOfRange));
    assert_eq!(i2i::<u8, i8>(200, ERROR), Err(Reason::OutOfRange));
}

#[test]
fn scalar_map_inf_nan_and_exact() {
    let infinity = [(f64::INFINITY, 255_u8)];
    assert_eq!(f2i_with(f64::INFINITY, NE, CLAMP, &infinity), is(255_u8));
    let nan = [(f64::NAN, 42_u8)];
    for bits in
        [f64::NAN.to_bits(), 0x7FF8_0000_0000_0001, 0xFFF8_0000_0000_0000, 0x7FF0_0000_0000_0001]
    {
        assert_eq!(f2i_with(f64::from_bits(bits), NE, ERROR, &nan), is(42_u8));
    }
    let exact = [(42.0_f64, 99_u8)];
    assert_eq!(f2i_with(42.0, NE, ERROR, &exact), is(99_u8));
    assert_eq!(f2i_with(10.0, NE, ERROR, &exact), is(10_u8));
    assert_eq!(f2i_with(f16::NAN, NE, ERROR, &[(f16::NAN, 0_u8)]), is(0_u8));
}

#[test]
fn all_rounding_modes() {
    for (value, rounding, expected) in [
        (2.7, TZ, 2_i8),
        (-2.7, TZ, -2),
        (2.1, TP, 3),
        (-2.7, TP, -2),
        (2.7, TN, 2),
        (-2.1, TN, -3),
        (2.5, NA, 3),
        (-2.5, NA, -3),
        (0.499_999_999_999_999_94, NA, 0),
        (-0.499_999_999_999_999_94, NA, 0),
    ] {
        assert_eq!(f2i::<f64, i8>(value, rounding, ERROR), is(expected), "{value} {rounding}");
    }
    assert_eq!(f2i::<f64, i64>(4_503_599_627_370_497.0, NA, ERROR), is((1_i64 << 52) + 1));
    assert_eq!(f2i::<f32, i32>(8_388_609.0, NA, ERROR), is((1_i32 << 23) + 1));
}

#[test]
fn int64_to_int32_clamp() {
    assert_eq!(i2i::<i64, i32>(i64::MAX, CLAMP), is(i32::MAX));
    assert_eq!(i2i::<i64, i32>(i64::MIN, CLAMP), is(i32::MIN));
}

#[test]
fn int32_to_float64_and_float32_to_float64() {
    assert_eq!(i2f::<i32, f64>(42, NE, ERROR), is(42.0_f64));
    assert_eq!(f2f::<f32, f64>(1.25, NE, ERROR), is(1.25_f64));
}

#[test]
fn float64_to_float32_rounds_in_every_direction() {
    let (one, next) = (1.0_f32, 1.0_f32.next_up());
    assert_eq!(f2f::<f64, f32>(1.0, NE, ERROR), is(one));
    // Between 1 and its neighbour.
    let value = 1.000_000_1;
    assert_eq!(f2f::<f64, f32>(value, TZ, ERROR), is(one));
    assert_eq!(f2f::<f64, f32>(-value, TZ, ERROR), is(-one));
    assert_eq!(f2f::<f64, f32>(value, TP, ERROR), is(next));
    assert_eq!(f2f::<f64, f32>(value, TN, ERROR), is(one));
}

#[test]
fn float64_to_float32_overflow_and_specials() {
    let beyond = f64::from(f32::MAX) * 2.0;
    assert_eq!(f2f::<f64, f32>(beyond, NE, ERROR), Err(Reason::OutOfRange));
    assert_eq!(f2f::<f64, f32>(beyond, NE, CLAMP), is(f32::INFINITY));
    assert_eq!(f2f::<f64, f32>(-beyond, NE, CLAMP), is(f32::NEG_INFINITY));
    assert_eq!(f2f::<f64, f32>(f64::INFINITY, NE, ERROR), is(f32::INFINITY));
    assert_eq!(f2f::<f64, f32>(f64::NEG_INFINITY, NE, ERROR), is(f32::NEG_INFINITY));
    assert_eq!(f2f::<f64, f32>(-0.0, NE, ERROR), is(-0.0_f32));
    let nan = f2f::<f64, f32>(f64::NAN, NE, ERROR).expect("a NaN");
    assert!(Scalar::from_bits(ElementType::Float32, nan).is_nan());
}

#[test]
fn int64_to_float32_rounding() {
    let value = (1_i64 << 24) + 1;
    assert_eq!(i2f::<i64, f32>(value, NE, ERROR), is(16_777_216.0_f32));
    assert_eq!(i2f::<i64, f32>(value, TP, ERROR), is(16_777_218.0_f32));
    assert_eq!(i2f::<i64, f32>(value, TZ, ERROR), is(16_777_216.0_f32));
}

#[test]
fn float_to_int_exact_limits() {
    let two_31 = 2_147_483_648.0_f32;
    assert_eq!(f2i::<f64, i64>(9_223_372_036_854_774_784.0, NE, ERROR), is(i64::MAX - 1023));
    assert_eq!(f2i::<f32, i32>(-two_31, NE, ERROR), is(i32::MIN));
    assert_eq!(f2i::<f32, i32>(two_31, NE, WRAP), is(i32::MIN));
    assert_eq!(f2i::<f32, i32>(two_31, NE, CLAMP), is(i32::MAX));
    assert_eq!(f2i::<f64, u64>(TWO_POW_64, NE, WRAP), is(0_u64));
    assert_eq!(f2i::<f64, u64>(TWO_POW_64, NE, CLAMP), is(u64::MAX));
    assert_eq!(f2i::<f64, i64>(TWO_POW_63, NE, WRAP), is(i64::MIN));
    assert_eq!(f2i::<f64, i64>(TWO_POW_63 + 2048.0, NE, WRAP), is(i64::MIN + 2048));
    assert_eq!(f2i::<f32, i32>(3_000_000_256.0, NE, WRAP), is(-1_294_967_040_i32));
    assert_eq!(f2i::<f64, u32>(-1.0, NE, WRAP), is(u32::MAX));
    assert_eq!(f2i::<f64, u64>(-1.0, NE, WRAP), is(u64::MAX));
    assert_eq!(f2i::<f64, u8>(-TWO_POW_64 - 4096.0, NE, WRAP), is(0_u8));
    assert_eq!(f2i::<f64, i16>(1e20, NE, WRAP), is(1e20_f64 as i128 as i16));
    assert_eq!(f2i::<f64, i16>(32768.0, NE, WRAP), is(-32768_i16));
    assert_eq!(f2i::<f64, i16>(32769.0, NE, WRAP), is(-32767_i16));
    assert_eq!(f2i::<f64, i16>(-32769.0, NE, WRAP), is(32767_i16));
}

#[test]
fn float_to_int_one_past_max_errors() {
    let out_of_range = Err(Reason::OutOfRange);
    assert_eq!(f2i::<f32, i32>(2_147_483_648.0, NE, ERROR), out_of_range);
    assert_eq!(f2i::<f32, u32>(4_294_967_296.0, NE, ERROR), out_of_range);
    assert_eq!(f2i::<f64, i64>(TWO_POW_63, NE, ERROR), out_of_range);
    assert_eq!(f2i::<f64, u64>(TWO_POW_64, NE, ERROR), out_of_range);
    assert_eq!(f2i::<f32, u64>(TWO_POW_64 as f32, NE, ERROR), out_of_range);
    // Rounded out of the range, from within a unit of it.
    assert_eq!(f2i::<f64, u8>(-0.25, TN, ERROR), out_of_range);
}

#[test]
fn int_to_float_rounds_once() {
    let just_above = (1_u64 << 63) + 1;
    let (lower, upper) = (f32::from_bits(0x5f00_0000), f32::from_bits(0x5f00_0001));
    for (rounding, expected) in [(NE, lower), (TZ, lower), (TN, lower), (TP, upper), (NA, lower)] {
        assert_eq!(i2f::<u64, f32>(just_above, rounding, ERROR), is(expected));
    }
    let halfway = (1_u64 << 63) + (1 << 39);
    assert_eq!(i2f::<u64, f32>(halfway - 1, NA, ERROR), is(lower));
    assert_eq!(i2f::<u64, f32>(halfway, NA, ERROR), is(upper));
    assert_eq!(i2f::<u64, f32>(halfway, NE, ERROR), is(lower));
    let p53 = 1_i64 << 53;
    let two_more = (p53 + 2) as f64;
    assert_eq!(i2f::<i64, f64>(p53 + 1, TP, ERROR), is(two_more));
    assert_eq!(i2f::<i64, f64>(p53 + 3, TZ, ERROR), is(two_more));
    assert_eq!(i2f::<i64, f64>(-p53 - 3, TZ, ERROR), is(-two_more));
    assert_eq!(i2f::<i64, f64>(-p53 - 1, TN, ERROR), is(-two_more));
    assert_eq!(i2f::<i64, f64>(p53 + 1, NA, ERROR), is(two_more));
    assert_eq!(i2f::<u64, f64>(u64::MAX, TP, ERROR), is(TWO_POW_64));
    assert_eq!(i2f::<i64, f32>(i64::MIN, TZ, ERROR), is(-TWO_POW_63 as f32));
    for &rounding in Rounding::ALL {
        assert_eq!(i2f::<i32, f32>(-16_777_216, rounding, ERROR), is(-16_777_216.0_f32));
    }
}

#[test]
fn float_to_float_overflow_after_rounding() {
    for rounding in [TZ, TN] {
        assert_eq!(f2f::<f64, f32>(1e39, rounding, CLAMP), is(f32::INFINITY));
    }
    for rounding in [TZ, TP] {
        assert_eq!(f2f::<f64, f32>(-1e39, rounding, CLAMP), is(f32::NEG_INFINITY));
    }
    let max = f64::from(f32::MAX);
    let ulp = max - f64::from(f32::MAX.next_down());
    let above_max = max + 0.75 * ulp;
    assert_eq!(f2f::<f64, f32>(above_max, TZ, ERROR), is(f32::MAX));
    assert_eq!(f2f::<f64, f32>(-above_max, TP, ERROR), is(f32::MIN));
    assert_eq!(f2f::<f64, f32>(above_max, NE, CLAMP), is(f32::INFINITY));
    let slightly_above = max + 0.25 * ulp;
    assert_eq!(f2f::<f64, f32>(slightly_above, NE, ERROR), is(f32::MAX));
    assert_eq!(f2f::<f64, f32>(slightly_above, NA, ERROR), is(f32::MAX));
    assert_eq!(f2f::<f64, f32>(slightly_above, TP, CLAMP), is(f32::INFINITY));
}

#[test]
fn float_to_float_directed_overflow_errors() {
    for rounding in [TZ, TN, NA, TP] {
        assert_eq!(f2f::<f64, f32>(1e39, rounding, ERROR), Err(Reason::OutOfRange));
    }
    // Here the cast is not even built, for no element could be wrapped.
    assert_eq!(f2f::<f64, f32>(max_and_a_half(), TZ, WRAP), Err(Reason::OutOfRange));
}

fn max_and_a_half() -> f64 {
    f64::from(f32::MAX) * 1.5
}

#[test]
fn slice_length_mismatch_errors() {
    for length in [0, 4, 17] {
        let mut output = vec![0_u8; length];
        let error = cast(&[7.0_f64; 16], &mut output, &Cast::new(ElementType::UInt8));
        assert!(matches!(error, Err(CastSliceError::Run(RunError::Length { .. }))));
        assert!(output.iter().all(|&byte| byte == 0));
    }
}

#[test]
fn float16() {
    let half = f16::from_f32;
    assert_eq!(f2i::<f16, u8>(half(42.0), NE, ERROR), is(42_u8));
    assert_eq!(f2i::<f16, u8>(half(300.0), NE, CLAMP), is(255_u8));
    assert_eq!(f2i::<f16, u8>(half(-10.0), NE, CLAMP), is(0_u8));
    assert_eq!(f2i::<f16, u8>(f16::NAN, NE, ERROR), Err(Reason::Nan));
    assert_eq!(f2i::<f16, i32>(half(-7.0), NE, ERROR), is(-7_i32));
    for (value, expected) in [(1.0, 1_u8), (2.0, 2), (3.0, 3)] {
        assert_eq!(f2i::<f16, u8>(half(value), NE, ERROR), is(expected));
    }
    assert_eq!(f2f::<f32, f16>(1.5, NE, ERROR), is(half(1.5)));
    assert_eq!(f2f::<f64, f16>(1.0e10, NE, CLAMP), is(f16::INFINITY));
    assert_eq!(f2f::<f16, f32>(half(1.5), NE, ERROR), is(1.5_f32));
    let nan = f2f::<f16, f32>(f16::NAN, NE, ERROR).expect("a NaN");
    assert!(Scalar::from_bits(ElementType::Float32, nan).is_nan());
    assert_eq!(i2f::<i32, f16>(42, NE, ERROR), is(half(42.0)));
    let above_a_tie = 1.0 + 2_f64.powi(-11) + 2_f64.powi(-40);
    // Theirs goes through half, which on a CPU with F16C goes through f32, and fails its own test.
    assert_eq!(ours(above_a_tie, NE, ERROR, &[] as &[(f64, f16)]), is(f16::from_bits(0x3c01)));
}

#[test]
fn int_to_f16_overflow() {
    assert_eq!(i2f::<i32, f16>(70_000, NE, CLAMP), is(f16::INFINITY));
    assert_eq!(i2f::<i32, f16>(-70_000, TZ, CLAMP), is(f16::NEG_INFINITY));
    assert_eq!(i2f::<u16, f16>(65_519, NE, ERROR), is(f16::MAX));
    assert_eq!(i2f::<u16, f16>(65_519, TP, CLAMP), is(f16::INFINITY));
    assert_eq!(i2f::<u16, f16>(65_535, TZ, ERROR), is(f16::MAX));
    for rounding in [NE, TZ] {
        assert_eq!(i2f::<i32, f16>(70_000, rounding, ERROR), Err(Reason::OutOfRange));
    }
}

/// Bits that are spread over the types, the same in every run.
fn random() -> impl Iterator<Item = u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

/// What stands for the tests that compare that crate with itself.
#[test]
fn random_elements_agree() {
    const MODES: [OutOfRange; 3] = [ERROR, CLAMP, WRAP];
    let near = |bits: u64| (bits as i64 >> (bits % 61)) as f64 / 8.0;
    for bits in random().take(20_000) {
        let value = near(bits);
        for &rounding in Rounding::ALL {
            for mode in MODES {
                let _ = f2i::<f64, i32>(value, rounding, mode);
                let _ = f2i::<f32, u8>(value as f32, rounding, mode);
                let _ = f2i::<f64, u64>(value, rounding, mode);
                let _ = f2i::<f16, i8>(f16::from_bits(bits as u16), rounding, mode);
                let _ = i2i::<i64, u16>(bits as i64 >> (bits % 61), mode);
            }
            // Nothing wraps towards a float.
            for mode in [ERROR, CLAMP] {
                let _ = i2f::<u64, f32>(bits, rounding, mode);
                let _ = i2f::<i32, f16>(bits as i32 >> (bits % 31), rounding, mode);
                let _ = f2f::<f64, f32>(f64::from_bits(bits), rounding, mode);
                let _ = f2f::<f32, f16>(value as f32, rounding, mode);
            }
        }
    }
}

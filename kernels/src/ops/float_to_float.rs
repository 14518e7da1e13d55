//! Floats to narrower floats.
//!
//! A value is rounded once. Where two narrowings follow each other, the first one rounds *to odd*: an inexact
//! value goes to the neighbour whose last bit is set. Rounding that to at least two bits less gives what rounding
//! the value itself would have given (Boldo and Melquiond, 2008).

// The four units of a group have no better names than letters.
#![allow(clippy::many_single_char_names)]

use crate::Rounding;
use crate::pipeline::{Each, Store, infallible};
use crate::simd::{F32s, F64s, I32s, Round, Simd};

const INFINITY_F32: i32 = 0x7f80_0000;
const QUIET_F32: i32 = 0x0040_0000;

/// float64 to float32 in the direction of `R`; what rounds beyond the greatest value becomes infinite.
#[derive(Clone, Copy)]
pub(crate) struct ToF32<R>(pub(crate) R);

/// Bits of a float64 beyond those of a float32.
const DROPPED: u32 = f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS;

/// Where `a` is below `b`, for a unit of float64: −1 in 32-bit lanes, else 0.
#[inline(always)]
fn lt_as_i32<S: Simd>(simd: S, a: F64s<S>, b: F64s<S>) -> S::I32 {
    let ([a_low, a_high], [b_low, b_high]) = (a.0, b.0);
    let low = simd.mask_to_i64(simd.lt_f64(a_low, b_low));
    simd.low_i64_to_i32([low, simd.mask_to_i64(simd.lt_f64(a_high, b_high))])
}

/// As [`Simd::f64_to_f32`], in the direction of `R`.
#[inline(always)]
fn narrowed<S: Simd>(simd: S, x: F64s<S>, rounding: impl Round) -> S::F32 {
    if rounding.rounding() == Rounding::NearestEven {
        return simd.f64_to_f32(x.0);
    }
    if rounding.rounding() == Rounding::NearestAway {
        // A tie has an even mantissa, so the next number is beyond the tie and nothing else.
        let [low, high] = x.0;
        return simd.f64_to_f32([beyond_tie_f64(simd, low), beyond_tie_f64(simd, high)]);
    }
    let nearest = simd.f64_to_f32(x.0);
    let [low, high] = simd.f32_to_f64(nearest);
    let (back, bits) = (F64s([low, high]), simd.bits_f32(nearest));
    let magnitude = |x: F64s<S>| F64s([simd.abs_f64(x.0[0]), simd.abs_f64(x.0[1])]);
    // Where the nearest number lies on the wrong side: −1.
    let wrong = match rounding.rounding() {
        Rounding::TowardsPositive => lt_as_i32(simd, back, x),
        Rounding::TowardsNegative => lt_as_i32(simd, x, back),
        Rounding::NearestEven | Rounding::NearestAway | Rounding::TowardsZero => {
            lt_as_i32(simd, magnitude(x), magnitude(back))
        }
    };
    // Beyond the exponents of float32 nothing comes back in.
    let limit = F64s([simd.splat_f64(TWO_P128); 2]);
    let wrong = simd.and_i32(wrong, lt_as_i32(simd, magnitude(x), limit));
    // Upwards is away from zero for positive numbers, whose bits then grow.
    let upwards = simd.or_i32(simd.shr_i32::<31>(bits), simd.splat_i32(1));
    let stepped = match rounding.rounding() {
        Rounding::TowardsPositive => simd.add_i32(bits, simd.and_i32(wrong, upwards)),
        Rounding::TowardsNegative => simd.sub_i32(bits, simd.and_i32(wrong, upwards)),
        Rounding::NearestEven | Rounding::NearestAway | Rounding::TowardsZero => {
            simd.add_i32(bits, wrong)
        }
    };
    simd.f32_from_bits(stepped)
}

/// 2^128.
const TWO_P128: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0;

/// A number that rounds to nearest-even, to a shorter format, as `x` rounds to nearest-away.
#[inline(always)]
fn beyond_tie_f64<S: Simd>(simd: S, x: S::F64) -> S::F64 {
    let finite = simd.lt_f64(simd.abs_f64(x), simd.splat_f64(f64::INFINITY));
    let odd = simd.f64_from_bits(simd.or_i64(simd.bits_f64(x), simd.splat_i64(1)));
    simd.select_f64(finite, odd, x)
}

/// As [`beyond_tie_f64`].
#[inline(always)]
fn beyond_tie_f32<S: Simd>(simd: S, x: S::F32) -> S::F32 {
    let finite = simd.lt_f32(simd.abs_f32(x), simd.splat_f32(f32::INFINITY));
    let odd = simd.f32_from_bits(simd.or_i32(simd.bits_f32(x), simd.splat_i32(1)));
    simd.select_f32(finite, odd, x)
}

/// Finite float64 to float32, to odd: for integers, which stay far from the ends of its range.
#[derive(Clone, Copy)]
pub(crate) struct OddF32;

/// float64 to float32, to odd, on the way to a format of at most 11 bits of precision in the direction of `R`.
/// What is beyond float32 becomes infinite.
#[derive(Clone, Copy)]
pub(crate) struct OddForShort<R>(pub(crate) R);

/// Folds the low bits of `mask`, which are only looked at for being zero or not, into the bit above them.
#[inline(always)]
pub(super) fn fold_i64<S: Simd>(simd: S, x: S::I64, mask: S::I64) -> S::I64 {
    let carried = simd.add_i64(simd.and_i64(x, mask), mask);
    simd.andnot_i64(mask, simd.or_i64(carried, x))
}

/// As [`fold_i64`].
#[inline(always)]
pub(super) fn fold_i32<S: Simd>(simd: S, x: S::I32, mask: S::I32) -> S::I32 {
    let carried = simd.add_i32(simd.and_i32(x, mask), mask);
    simd.andnot_i32(mask, simd.or_i32(carried, x))
}

#[inline(always)]
fn fold_unit<S: Simd, const COUNT: u32>(simd: S, [low, high]: [S::F64; 2]) -> [S::F64; 2] {
    let mask = simd.splat_i64((1 << COUNT) - 1);
    let low = fold_i64(simd, simd.bits_f64(low), mask);
    let high = fold_i64(simd, simd.bits_f64(high), mask);
    [simd.f64_from_bits(low), simd.f64_from_bits(high)]
}

/// 14 bits stay, which float32 has down to 2^−136; what is less rounds as [`TINY`] does.
const DROPPED_FOR_SHORT: u32 = f64::MANTISSA_DIGITS - 14;
/// 2^−140: less than half of every short format's least subnormal, and a subnormal float32.
const TINY: f64 = f64::from_bits((1023 - 140) << 52);

/// Only a directed rounding tells a tiny number from zero, which float32 would make of it.
#[inline(always)]
fn not_vanishing<S: Simd>(simd: S, x: S::F64) -> S::F64 {
    let (magnitude, tiny) = (simd.abs_f64(x), simd.splat_f64(TINY));
    let vanishes =
        simd.and_m64(simd.lt_f64(magnitude, tiny), simd.lt_f64(simd.splat_f64(0.0), magnitude));
    let sign = simd.and_i64(simd.bits_f64(x), simd.splat_i64(i64::MIN));
    let tiny = simd.f64_from_bits(simd.or_i64(sign, simd.bits_f64(tiny)));
    simd.select_f64(vanishes, tiny, x)
}

/// Numbers clamped to those of float32; NaN and infinity stay.
#[derive(Clone, Copy)]
pub(crate) struct ClampedToF32;

#[inline(always)]
fn clamped_to_f32<S: Simd>(simd: S, x: S::F64) -> S::F64 {
    let (min, max) = (simd.splat_f64(f32::MIN.into()), simd.splat_f64(f32::MAX.into()));
    let is_number = simd.lt_f64(simd.abs_f64(x), simd.splat_f64(f64::INFINITY));
    simd.select_f64(is_number, simd.min_f64(simd.max_f64(x, min), max), x)
}

/// Signalling NaNs made quiet.
#[derive(Clone, Copy)]
pub(crate) struct Quiet;

/// float32 on the way to `float16` in the direction of `R`: infinite where the value is out of range and the
/// conversion would make it the greatest finite one, and beyond a tie for nearest-away.
#[derive(Clone, Copy)]
pub(crate) struct BeforeF16<R>(pub(crate) R);

/// float32 as bits whose upper half is the `bfloat16` that it rounds to in the direction of `R`; what rounds
/// beyond the greatest value becomes infinite.
#[derive(Clone, Copy)]
pub(crate) struct ToBf16<R>(pub(crate) R);

/// As [`ToBf16`], of finite numbers.
#[derive(Clone, Copy)]
pub(crate) struct FiniteToBf16<R>(pub(crate) R);

/// The bits of float32.
#[derive(Clone, Copy)]
pub(crate) struct Bits;

/// What is added to the bits of a float32 so that their upper half is rounded in the direction of `R`.
#[inline(always)]
fn bf16_carry<S: Simd>(simd: S, bits: S::I32, rounding: impl Round) -> S::I32 {
    let half = simd.splat_i32(0xffff);
    match rounding.rounding() {
        Rounding::NearestEven => {
            let odd = simd.and_i32(simd.shr_u32::<16>(bits), simd.splat_i32(1));
            simd.add_i32(odd, simd.splat_i32(0x7fff))
        }
        Rounding::NearestAway => simd.splat_i32(0x8000),
        Rounding::TowardsPositive => simd.andnot_i32(simd.shr_i32::<31>(bits), half),
        Rounding::TowardsNegative => simd.and_i32(simd.shr_i32::<31>(bits), half),
        Rounding::TowardsZero => simd.splat_i32(0),
    }
}

infallible! {
    [R: Round] FiniteToBf16<R>: F32s<S> => I32s<S>, |self, simd, x| {
        let bits = simd.bits_f32(x.0);
        I32s(simd.add_i32(bits, bf16_carry(simd, bits, self.0)))
    };
    [] Bits: F32s<S> => I32s<S>, |self, simd, x| I32s(simd.bits_f32(x.0));
    [R: Round] ToF32<R>: F64s<S> => F32s<S>, |self, simd, x| F32s(narrowed(simd, x, self.0));
    [] OddF32: F64s<S> => F32s<S>, |self, simd, x| {
        F32s(simd.f64_to_f32(fold_unit::<S, DROPPED>(simd, x.0)))
    };
    [R: Round] OddForShort<R>: F64s<S> => F32s<S>, |self, simd, x| {
        let [low, high] = x.0;
        let kept = match self.0.rounding() {
            Rounding::TowardsPositive | Rounding::TowardsNegative => {
                [not_vanishing(simd, low), not_vanishing(simd, high)]
            }
            Rounding::NearestEven | Rounding::NearestAway | Rounding::TowardsZero => [low, high],
        };
        F32s(simd.f64_to_f32(fold_unit::<S, DROPPED_FOR_SHORT>(simd, kept)))
    };
    [] ClampedToF32: F64s<S> => F64s<S>, |self, simd, x| {
        let [low, high] = x.0;
        F64s([clamped_to_f32(simd, low), clamped_to_f32(simd, high)])
    };
    [] Quiet: F32s<S> => F32s<S>, |self, simd, x| {
        let quiet = simd.or_i32(simd.bits_f32(x.0), simd.splat_i32(QUIET_F32));
        F32s(simd.select_f32(simd.is_nan_f32(x.0), simd.f32_from_bits(quiet), x.0))
    };
    [R: Round] BeforeF16<R>: F32s<S> => F32s<S>, |self, simd, x| match self.0.rounding() {
        // To nearest, the conversion makes infinite by itself what is out of range.
        Rounding::NearestEven => x,
        Rounding::NearestAway => F32s(beyond_tie_f32(simd, x.0)),
        Rounding::TowardsZero | Rounding::TowardsPositive | Rounding::TowardsNegative => {
            let beyond = simd.le_f32(simd.splat_f32(65_536.0), simd.abs_f32(x.0));
            // No product: of a subnormal number it takes long.
            let sign = simd.and_i32(simd.bits_f32(x.0), simd.splat_i32(i32::MIN));
            let infinite = simd.f32_from_bits(simd.or_i32(sign, simd.splat_i32(INFINITY_F32)));
            F32s(simd.select_f32(beyond, infinite, x.0))
        }
    };
    [R: Round] ToBf16<R>: F32s<S> => I32s<S>, |self, simd, x| {
        let bits = simd.bits_f32(x.0);
        let carry = bf16_carry(simd, bits, self.0);
        let quiet = simd.or_i32(bits, simd.splat_i32(QUIET_F32));
        let rounded = simd.add_i32(bits, carry);
        // A carry leaves infinity as it is: its lower half is zero, but for directed roundings.
        let infinite = simd.eq_i32(simd.and_i32(bits, simd.splat_i32(i32::MAX)), simd.splat_i32(INFINITY_F32));
        let rounded = match self.0.rounding() {
            Rounding::TowardsPositive | Rounding::TowardsNegative => {
                simd.select_i32(infinite, bits, rounded)
            }
            Rounding::NearestEven | Rounding::NearestAway | Rounding::TowardsZero => rounded,
        };
        I32s(simd.select_i32(simd.is_nan_f32(x.0), quiet, rounded))
    };
}

/// float32 as it is; a number of magnitude `limit` or more fails, and so does infinity, which the reference lets
/// pass where it may.
#[derive(Clone, Copy)]
pub(crate) struct Below {
    pub(crate) limit: f32,
}

impl<S: Simd> Each<S, F32s<S>> for Below {
    type Out = F32s<S>;
    /// The greatest magnitude of a number.
    type Fail = S::F32;

    #[inline(always)]
    fn start(self, simd: S) -> S::F32 {
        simd.splat_f32(0.0)
    }
    #[inline(always)]
    fn apply(self, simd: S, x: F32s<S>, fail: &mut S::F32) -> F32s<S> {
        *fail = simd.max_number_f32(simd.abs_f32(x.0), *fail);
        x
    }
    #[inline(always)]
    fn join(self, simd: S, a: S::F32, b: S::F32) -> S::F32 {
        simd.max_f32(a, b)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: S::F32) -> bool {
        simd.any_m32(simd.le_f32(simd.splat_f32(self.limit), fail))
    }
}

/// As [`Below`], of the upper halves of float32; infinity and beyond fails.
#[derive(Clone, Copy)]
pub(crate) struct BelowInfinity;

impl<S: Simd> Each<S, I32s<S>> for BelowInfinity {
    type Out = I32s<S>;
    type Fail = S::F32;

    #[inline(always)]
    fn start(self, simd: S) -> S::F32 {
        simd.splat_f32(0.0)
    }
    #[inline(always)]
    fn apply(self, simd: S, x: I32s<S>, fail: &mut S::F32) -> I32s<S> {
        let magnitude = simd.and_i32(x.0, simd.splat_i32(0x7fff_0000));
        *fail = simd.max_number_f32(simd.f32_from_bits(magnitude), *fail);
        x
    }
    #[inline(always)]
    fn join(self, simd: S, a: S::F32, b: S::F32) -> S::F32 {
        simd.max_f32(a, b)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: S::F32) -> bool {
        simd.any_m32(simd.le_f32(simd.splat_f32(f32::INFINITY), fail))
    }
}

/// Writes float32 as `float16`, in the direction of `R`.
#[derive(Clone, Copy)]
pub(crate) struct AsF16<R>(pub(crate) R);

impl<S: Simd, R: Round> Store<S, F32s<S>> for AsF16<R> {
    const SIZE: usize = 2;
    type Fail = ();
    #[inline(always)]
    fn start(self, _: S) {}
    #[inline(always)]
    unsafe fn store(self, simd: S, p: *mut u8, group: [F32s<S>; 4], (): &mut ()) {
        let low = simd.f32_to_f16(group[0].0, group[1].0, self.0);
        // SAFETY: the caller vouches for a group at `p`, which is two registers.
        unsafe { simd.store_i16(p, low) };
        let high = simd.f32_to_f16(group[2].0, group[3].0, self.0);
        // SAFETY: as above.
        unsafe { simd.store_i16(p.wrapping_add(S::BYTES), high) };
    }
    #[inline(always)]
    fn failed(self, _: S, (): ()) -> bool {
        false
    }
}

/// Writes the upper halves of 32 bits.
#[derive(Clone, Copy)]
pub(crate) struct UpperHalves;

impl<S: Simd> Store<S, I32s<S>> for UpperHalves {
    const SIZE: usize = 2;
    type Fail = ();
    #[inline(always)]
    fn start(self, _: S) {}
    #[inline(always)]
    unsafe fn store(self, simd: S, p: *mut u8, [a, b, c, d]: [I32s<S>; 4], (): &mut ()) {
        // SAFETY: the caller vouches for a group at `p`, which is two registers.
        unsafe { simd.store_i16(p, simd.high_i32_to_i16(a.0, b.0)) };
        // SAFETY: as above.
        unsafe { simd.store_i16(p.wrapping_add(S::BYTES), simd.high_i32_to_i16(c.0, d.0)) };
    }
    #[inline(always)]
    fn failed(self, _: S, (): ()) -> bool {
        false
    }
}

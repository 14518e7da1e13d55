//! Floats to narrower floats.
//!
//! A value is rounded once. Where two narrowings follow each other, the first one rounds *to odd*: an inexact
//! value goes to the neighbour whose last bit is set. Rounding that to at least two bits less gives what rounding
//! the value itself would have given (Boldo and Melquiond, 2008).

// The four units of a group have no better names than letters.
#![allow(clippy::many_single_char_names)]

use crate::Rounding;
use crate::evidence::GreatestNumber;
use crate::pipeline::{Each, infallible, lanewise};
use crate::simd::{
    CompareLanes, F32s, F64, F64s, Float, FloatElement, FloatLanes, I32s, Int, IntElement,
    IntLanes, Register, Round, Simd, Unit,
};

pub(super) const INFINITY_F32: i32 = 0x7f80_0000;
pub(super) const QUIET_F32: i32 = 0x0040_0000;

/// float64 to float32 in the direction of `R`; a value that rounds beyond the greatest becomes infinite.
#[derive(Clone, Copy)]
pub(crate) struct ToF32<R>(pub(crate) R);

/// Bits of a float64 beyond those of a float32.
pub(super) const DROPPED: u32 = f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS;

/// Where `a` is below `b`, for a unit of float64: −1 in 32-bit lanes, else 0.
#[inline(always)]
fn lt_as_i32<S: Simd>(simd: S, a: F64s<S>, b: F64s<S>) -> I32s<S> {
    simd.low_i64_to_i32(a.zip(
        b,
        #[inline(always)]
        |a, b| a.lt(b).to_int(),
    ))
}

/// As [`Simd::f64_to_f32`], in the direction of `R`.
#[inline(always)]
fn to_f32<S: Simd>(simd: S, x: F64s<S>, rounding: impl Round) -> F32s<S> {
    if rounding.rounding() == Rounding::NearestEven {
        return simd.f64_to_f32(x);
    }
    if rounding.rounding() == Rounding::NearestAway {
        return simd.f64_to_f32(x.map(
            #[inline(always)]
            |x| finite_beyond_tie(x),
        ));
    }
    let nearest = simd.f64_to_f32(x);
    let (back, bits) = (simd.f32_to_f64(nearest), nearest.to_bits());
    let magnitude = |x: F64s<S>| x.map(Float::abs);
    // Where the nearest number lies on the wrong side: −1.
    let wrong = match rounding.rounding() {
        Rounding::TowardsPositive => lt_as_i32(simd, back, x),
        Rounding::TowardsNegative => lt_as_i32(simd, x, back),
        Rounding::NearestEven | Rounding::NearestAway | Rounding::TowardsZero => {
            lt_as_i32(simd, magnitude(x), magnitude(back))
        }
    };
    // Beyond the exponents of float32 nothing comes back in.
    let wrong = wrong & lt_as_i32(simd, magnitude(x), Unit::splat(simd, TWO_P128));
    // Upwards is away from zero for positive numbers, whose bits then grow.
    let upwards = bits.lt(0).to_int() | 1;
    let stepped = match rounding.rounding() {
        Rounding::TowardsPositive => bits + (wrong & upwards),
        Rounding::TowardsNegative => bits - (wrong & upwards),
        Rounding::NearestEven | Rounding::NearestAway | Rounding::TowardsZero => bits + wrong,
    };
    F32s::from_bits(stepped)
}

/// 2^128.
const TWO_P128: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0;

/// As [`Register::beyond_tie`]; NaN and infinities stay as they are.
#[inline(always)]
fn finite_beyond_tie<S, T>(x: Register<S, T>) -> Register<S, T>
where
    S: FloatLanes<T> + IntLanes<T::Bits>,
    T: FloatElement<Bits: IntElement>,
{
    x.abs().lt(T::infinity()).select(x.beyond_tie(), x)
}

/// Finite float64 to float32, to odd: for integers, which stay far from the ends of its range.
#[derive(Clone, Copy)]
pub(crate) struct OddF32;

/// float64 to float32, to odd, on the way to a format of at most 11 bits of precision in the direction of `R`.
/// A value beyond float32 becomes infinite.
#[derive(Clone, Copy)]
pub(crate) struct OddForShort<R>(pub(crate) R);

/// Folds the low bits of `mask`, which are only looked at for being zero or not, into the bit above them.
#[inline(always)]
pub(super) fn fold<S, T>(x: Register<S, T>, mask: T) -> Register<S, T>
where
    S: IntLanes<T> + CompareLanes<T>,
    T: IntElement,
{
    (((x & mask) + mask) | x).and_not(mask)
}

#[inline(always)]
fn fold_unit<S: Simd, const COUNT: u32>(x: F64s<S>) -> F64s<S> {
    x.map(
        #[inline(always)]
        |x| F64::from_bits(fold(x.to_bits(), (1 << COUNT) - 1)),
    )
}

/// 14 bits stay, which float32 has down to 2^−136; a smaller value rounds as [`TINY`] does.
const DROPPED_FOR_SHORT: u32 = f64::MANTISSA_DIGITS - 14;
/// 2^−140: less than half of every short format's least subnormal, and a subnormal float32.
const TINY: f64 = f64::from_bits((1023 - 140) << 52);

/// Only a directed rounding tells a tiny number from zero, which float32 would make of it.
#[inline(always)]
fn not_vanishing<S: Simd>(simd: S, x: F64<S>) -> F64<S> {
    let magnitude = x.abs();
    let vanishes = magnitude.lt(TINY) & magnitude.gt(0.0);
    let tiny = F64::from_bits((x.to_bits() & i64::MIN) | F64::splat(simd, TINY).to_bits());
    vanishes.select(tiny, x)
}

/// Numbers clamped to those of float32; NaN and infinity stay.
#[derive(Clone, Copy)]
pub(crate) struct ClampedToF32;

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
pub(crate) struct ToBf16<R>(pub(crate) Bf16Carry<R>);

/// As [`ToBf16`], of finite numbers.
#[derive(Clone, Copy)]
pub(crate) struct FiniteToBf16<R>(pub(crate) Bf16Carry<R>);

/// The bits of float32.
#[derive(Clone, Copy)]
pub(crate) struct ToBits;

/// The number that is added to the bits of a float32, so that their upper half is rounded in the direction of `R`. Infinity stays:
/// its lower half is zero, and the number is less than one unit of the upper half.
#[derive(Clone, Copy)]
pub(crate) struct Bf16Carry<R> {
    rounding: R,
    /// For roundings other than to nearest-even: what is added to a positive number, and where the bits of that differ
    /// for a negative one.
    positive: i32,
    differing: i32,
}

impl<R: Round> Bf16Carry<R> {
    pub(crate) fn new(rounding: R) -> Self {
        let (positive, negative) = match rounding.rounding() {
            Rounding::NearestEven | Rounding::TowardsZero => (0, 0),
            Rounding::NearestAway => (0x8000, 0x8000),
            Rounding::TowardsPositive => (0xffff, 0),
            Rounding::TowardsNegative => (0, 0xffff),
        };
        Self { rounding, positive, differing: positive ^ negative }
    }

    #[inline(always)]
    fn of<S: Simd>(self, bits: I32s<S>) -> I32s<S> {
        match self.rounding.rounding() {
            Rounding::NearestEven => (bits.shr::<16>() & 1) + 0x7fff,
            Rounding::NearestAway | Rounding::TowardsZero => bits.broadcast(self.positive.into()),
            Rounding::TowardsPositive | Rounding::TowardsNegative => {
                (bits.lt(0).to_int() & self.differing) ^ self.positive
            }
        }
    }
}

lanewise! {
    [] ClampedToF32: F64s<S>, |self, x| {
        let clamped = x.max(f64::from(f32::MIN)).min(f64::from(f32::MAX));
        x.abs().lt(f64::INFINITY).select(clamped, x)
    };
    [] Quiet: F32s<S>, |self, x| {
        x.is_nan().select(F32s::from_bits(x.to_bits() | QUIET_F32), x)
    };
    [R: Round] BeforeF16<R>: F32s<S>, |self, x| match self.0.rounding() {
        // To nearest, the conversion itself makes values out of range infinite.
        Rounding::NearestEven => x,
        Rounding::NearestAway => finite_beyond_tie(x),
        Rounding::TowardsZero | Rounding::TowardsPositive | Rounding::TowardsNegative => {
            // No product: of a subnormal number it takes long.
            let infinite = F32s::from_bits((x.to_bits() & i32::MIN) | INFINITY_F32);
            x.abs().ge(65_536.0).select(infinite, x)
        }
    };
}

infallible! {
    [R: Round] FiniteToBf16<R>: F32s<S> => I32s<S>, |self, simd, x| {
        let bits = x.to_bits();
        bits + self.0.of(bits)
    };
    [] ToBits: F32s<S> => I32s<S>, |self, simd, x| x.to_bits();
    [R: Round] ToF32<R>: F64s<S> => F32s<S>, |self, simd, x| to_f32(simd, x, self.0);
    [] OddF32: F64s<S> => F32s<S>, |self, simd, x| simd.f64_to_f32(fold_unit::<S, DROPPED>(x));
    [R: Round] OddForShort<R>: F64s<S> => F32s<S>, |self, simd, x| {
        let kept = match self.0.rounding() {
            Rounding::TowardsPositive | Rounding::TowardsNegative => {
                x.map(#[inline(always)] |x| not_vanishing(simd, x))
            }
            Rounding::NearestEven | Rounding::NearestAway | Rounding::TowardsZero => x,
        };
        simd.f64_to_f32(fold_unit::<S, DROPPED_FOR_SHORT>(kept))
    };
    [R: Round] ToBf16<R>: F32s<S> => I32s<S>, |self, simd, x| {
        let bits = x.to_bits();
        let rounded = bits + self.0.of(bits);
        x.is_nan().select(bits | QUIET_F32, rounded)
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
    type Fail = GreatestNumber<F32s<S>>;

    #[inline(always)]
    fn apply(self, _: S, x: F32s<S>, fail: &Self::Fail) -> F32s<S> {
        fail.add(x.abs());
        x
    }
    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        fail.get().ge(self.limit).any()
    }
}

/// As [`Below`], of the upper halves of float32; infinity and beyond fails.
#[derive(Clone, Copy)]
pub(crate) struct BelowInfinity;

impl<S: Simd> Each<S, I32s<S>> for BelowInfinity {
    type Out = I32s<S>;
    type Fail = GreatestNumber<F32s<S>>;

    #[inline(always)]
    fn apply(self, _: S, x: I32s<S>, fail: &Self::Fail) -> I32s<S> {
        fail.add(F32s::from_bits(x & 0x7fff_0000));
        x
    }
    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        fail.get().ge(f32::INFINITY).any()
    }
}

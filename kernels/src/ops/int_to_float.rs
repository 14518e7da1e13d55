//! Integers to floats.

use super::float_to_float::{DROPPED, fold};
use crate::Rounding;
use crate::pipeline::infallible;
use crate::simd::{
    F32s, F64, F64s, Float, I32s, I64, I64s, Int, Round, Simd, TWO_P52, TWO_P63, TWO_P84,
};

/// 32 bits to float32, to nearest-even; integers of at most 24 bits exactly.
#[derive(Clone, Copy)]
pub(crate) struct I32ToF32;

/// Unsigned 32 bits to float32, to nearest-even: the halves are exact, and their sum is rounded once.
#[derive(Clone, Copy)]
pub(crate) struct U32ToF32;

/// 32 bits to float64, signed or not.
#[derive(Clone, Copy)]
pub(crate) struct I32ToF64<const SIGNED: bool>;

/// 64 bits to float64 in the direction of `R`, signed or not.
#[derive(Clone, Copy)]
pub(crate) struct I64ToF64<R, const SIGNED: bool>(pub(crate) R);

/// 32 bits, signed or not, to a float32 that rounds to `bfloat16`, and to floats of no more precision, as they do.
#[derive(Clone, Copy)]
pub(crate) struct I32ToOddF32<const SIGNED: bool>;

/// 64 bits, signed or not, to a float64 that rounds to float32 and to narrower floats as they do.
#[derive(Clone, Copy)]
pub(crate) struct I64ToOddF64<const SIGNED: bool>;

/// The upper and the lower half of 64 bits, exactly: put under an exponent at which the mantissa counts in their
/// unit. 2^84 + 2^63 makes a signed half positive.
#[inline(always)]
fn halves<S: Simd, const SIGNED: bool>(x: I64<S>) -> [F64<S>; 2] {
    // The sign bit of the half meets the bit of 2^63, which it flips.
    let base = if SIGNED { TWO_P84 + TWO_P63 } else { TWO_P84 };
    let high = x.shr::<32>() ^ base.to_bits() as i64;
    let low = (x & 0xffff_ffff) | TWO_P52.to_bits() as i64;
    [F64::from_bits(high) - base, F64::from_bits(low) - TWO_P52]
}

/// 64 bits as float64 in the direction of `R`, by way of their halves.
#[inline(always)]
fn directed<S: Simd, R: Round, const SIGNED: bool>(x: I64<S>, rounding: R) -> F64<S> {
    let [high, low] = halves::<S, SIGNED>(x);
    let sum = high + low;
    // The upper half is 0 or the greater, so the error is exact (Dekker 1971).
    in_direction(sum, low - (sum - high), rounding)
}

#[inline(always)]
fn nearest<S: Simd, const SIGNED: bool>(simd: S, x: I64s<S>) -> F64s<S> {
    x.map(
        #[inline(always)]
        |x| simd.i64_to_f64::<SIGNED>(x),
    )
}

/// `nearest + error` rounded in the direction of `R`, where `nearest` is its nearest-even, and not zero unless the
/// error is.
#[inline(always)]
fn in_direction<S: Simd>(nearest: F64<S>, error: F64<S>, rounding: impl Round) -> F64<S> {
    let bits = nearest.to_bits();
    // Masks are −1, which added to the bits steps towards zero.
    let stepped = match rounding.rounding() {
        Rounding::NearestEven => bits,
        Rounding::TowardsNegative => {
            let (below, negative) = (error.lt(0.0).to_int(), nearest.lt(0.0).to_int());
            bits + ((below ^ negative) - negative)
        }
        Rounding::TowardsPositive => {
            let (above, negative) = (error.gt(0.0).to_int(), nearest.lt(0.0).to_int());
            bits - ((above ^ negative) - negative)
        }
        Rounding::TowardsZero => {
            let outwards = F64::from_bits(error.to_bits() ^ (bits & i64::MIN));
            bits + outwards.lt(0.0).to_int()
        }
        Rounding::NearestAway => {
            // The error is half the distance to the outer neighbour: a tie that went inwards.
            let outer = F64::from_bits(bits + 1);
            let tie = (error + error).eq(outer - nearest);
            bits - tie.and_not(error.eq(0.0)).to_int()
        }
    };
    F64::from_bits(stepped)
}

/// Low bits that float64 may have no place for, folded into the one above them where there are enough others.
#[inline(always)]
fn folded<S: Simd, const SIGNED: bool>(x: I64<S>) -> I64<S> {
    // Below 2^37, float64 is exact; from there on 26 bits are left, which is two more than float32 has.
    let from_least = if SIGNED { x + (1 << 37) } else { x };
    from_least.shr::<38>().eq(0).select(x, fold(x, (1 << 11) - 1))
}

/// Unsigned 32 bits to float32, to nearest-even: the halves are exact, and their sum is rounded once.
#[inline(always)]
fn u32_to_f32<S: Simd>(simd: S, x: I32s<S>) -> F32s<S> {
    let (high, low) = (simd.i32_to_f32(x.shr::<16>()), simd.i32_to_f32(x & 0xffff));
    high.mul_add(65_536.0, low)
}

infallible! {
    [] I32ToF32: I32s<S> => F32s<S>, |self, simd, x| simd.i32_to_f32(x);
    [] U32ToF32: I32s<S> => F32s<S>, |self, simd, x| u32_to_f32(simd, x);
    [const SIGNED: bool] I32ToF64<SIGNED>: I32s<S> => F64s<S>, |self, simd, x| {
        simd.i32_to_f64::<SIGNED>(x)
    };
    [const SIGNED: bool] I32ToOddF32<SIGNED>: I32s<S> => F32s<S>, |self, simd, x| {
        // Up to 24 bits float32 is exact; of more, the low eight are folded into the one above them.
        let upper = if SIGNED { (x + (1 << 24)).shr::<25>() } else { x.shr::<24>() };
        let exact = upper.eq(0).select(x, fold(x, 0xff));
        if SIGNED { simd.i32_to_f32(exact) } else { u32_to_f32(simd, exact) }
    };
    [R: Round, const SIGNED: bool] I64ToF64<R, SIGNED>: I64s<S> => F64s<S>, |self, simd, x| {
        if self.0.rounding() == Rounding::NearestEven {
            return nearest::<S, SIGNED>(simd, x);
        }
        x.map(#[inline(always)] |x| directed::<S, _, SIGNED>(x, self.0))
    };
    [const SIGNED: bool] I64ToOddF64<SIGNED>: I64s<S> => F64s<S>, |self, simd, x| {
        nearest::<S, SIGNED>(simd, x.map(#[inline(always)] |x| folded::<S, SIGNED>(x)))
    };
}

/// float64 to float32 in the direction of `R`, for integers, which are normal numbers of both or zero: what float32
/// has no place for is rounded away first.
#[derive(Clone, Copy)]
pub(crate) struct IntegralToF32<R>(pub(crate) R);

#[inline(always)]
fn rounded_away<S: Simd>(x: F64<S>, rounding: impl Round) -> F64<S> {
    let bits = x.to_bits();
    let mask = (1 << DROPPED) - 1;
    let rounded = match rounding.rounding() {
        Rounding::NearestEven => return x,
        Rounding::TowardsZero => bits,
        Rounding::TowardsPositive => bits + bits.broadcast(mask).and_not(x.lt(0.0).to_int()),
        Rounding::TowardsNegative => bits + (x.lt(0.0).to_int() & mask),
        Rounding::NearestAway => bits + (1 << (DROPPED - 1)),
    };
    F64::from_bits(rounded.and_not(mask))
}

infallible! {
    [R: Round] IntegralToF32<R>: F64s<S> => F32s<S>, |self, simd, x| {
        simd.f64_to_f32(x.map(#[inline(always)] |x| rounded_away(x, self.0)))
    };
}

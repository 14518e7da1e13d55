//! Integers to floats.

use super::float_to_float::{fold_i32, fold_i64};
use crate::Rounding;
use crate::pipeline::infallible;
use crate::simd::{F32s, F64s, I32s, I64s, Round, Simd};

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

/// 2^52 and 2^84: numbers whose mantissas count in units of 1 and 2^32.
const TWO_P52: f64 = 4_503_599_627_370_496.0;
const TWO_P84: f64 = 4_294_967_296.0 * TWO_P52;
const TWO_P63: f64 = 9_223_372_036_854_775_808.0;

/// The upper and the lower half of 64 bits, exactly: put under an exponent at which the mantissa counts in their
/// unit. 2^84 + 2^63 makes a signed half positive.
#[inline(always)]
fn halves<S: Simd, const SIGNED: bool>(simd: S, x: S::I64) -> [S::F64; 2] {
    // The sign bit of the half meets the bit of 2^63, which it flips.
    let base = if SIGNED { TWO_P84 + TWO_P63 } else { TWO_P84 };
    let high = simd.xor_i64(simd.shr_u64::<32>(x), simd.splat_i64(base.to_bits() as i64));
    let high = simd.sub_f64(simd.f64_from_bits(high), simd.splat_f64(base));
    let low = simd.and_i64(x, simd.splat_i64(0xffff_ffff));
    let low = simd.or_i64(low, simd.splat_i64(TWO_P52.to_bits() as i64));
    [high, simd.sub_f64(simd.f64_from_bits(low), simd.splat_f64(TWO_P52))]
}

/// 64 bits as float64 in the direction of `R`, by way of their halves.
#[inline(always)]
fn directed<S: Simd, R: Round, const SIGNED: bool>(simd: S, x: S::I64, rounding: R) -> S::F64 {
    let [high, low] = halves::<S, SIGNED>(simd, x);
    let sum = simd.add_f64(high, low);
    // The upper half is 0 or the greater, so the error is exact (Dekker 1971).
    let error = simd.sub_f64(low, simd.sub_f64(sum, high));
    in_direction(simd, sum, error, rounding)
}

#[inline(always)]
fn nearest<S: Simd, const SIGNED: bool>(simd: S, x: I64s<S>) -> F64s<S> {
    let [low, high] = x.0;
    F64s(if SIGNED {
        [simd.i64_to_f64(low), simd.i64_to_f64(high)]
    } else {
        [simd.u64_to_f64(low), simd.u64_to_f64(high)]
    })
}

/// What `nearest + error` is in the direction of `R`, where `nearest` is its nearest-even, and not zero unless the
/// error is.
#[inline(always)]
fn in_direction<S: Simd>(simd: S, nearest: S::F64, error: S::F64, rounding: impl Round) -> S::F64 {
    let (zero, bits) = (simd.splat_f64(0.0), simd.bits_f64(nearest));
    // Masks are −1, which added to the bits steps towards zero.
    let stepped = match rounding.rounding() {
        Rounding::NearestEven => bits,
        Rounding::TowardsNegative => {
            let below = simd.mask_to_i64(simd.lt_f64(error, zero));
            let negative = simd.mask_to_i64(simd.lt_f64(nearest, zero));
            simd.add_i64(bits, simd.sub_i64(simd.xor_i64(below, negative), negative))
        }
        Rounding::TowardsPositive => {
            let above = simd.mask_to_i64(simd.lt_f64(zero, error));
            let negative = simd.mask_to_i64(simd.lt_f64(nearest, zero));
            simd.sub_i64(bits, simd.sub_i64(simd.xor_i64(above, negative), negative))
        }
        Rounding::TowardsZero => {
            let sign = simd.and_i64(bits, simd.splat_i64(i64::MIN));
            let outwards = simd.f64_from_bits(simd.xor_i64(simd.bits_f64(error), sign));
            simd.add_i64(bits, simd.mask_to_i64(simd.lt_f64(outwards, zero)))
        }
        Rounding::NearestAway => {
            // The error is half the distance to the outer neighbour: a tie that went inwards.
            let outer = simd.f64_from_bits(simd.add_i64(bits, simd.splat_i64(1)));
            let tie = simd.eq_f64(simd.add_f64(error, error), simd.sub_f64(outer, nearest));
            let inexact = simd.andnot_m64(simd.eq_f64(error, zero), tie);
            simd.sub_i64(bits, simd.mask_to_i64(inexact))
        }
    };
    simd.f64_from_bits(stepped)
}

/// Low bits that float64 may have no place for, folded into the one above them where there are enough others.
#[inline(always)]
fn folded<S: Simd, const SIGNED: bool>(simd: S, x: S::I64) -> S::I64 {
    let folded = fold_i64(simd, x, simd.splat_i64((1 << 11) - 1));
    // Below 2^37, float64 is exact; from there on 26 bits are left, which is two more than float32 has.
    let from_least = if SIGNED { simd.add_i64(x, simd.splat_i64(1 << 37)) } else { x };
    let short = simd.eq_i64(simd.shr_u64::<38>(from_least), simd.splat_i64(0));
    simd.select_i64(short, x, folded)
}

infallible! {
    [] I32ToF32: I32s<S> => F32s<S>, |self, simd, x| F32s(simd.i32_to_f32(x.0));
    [] U32ToF32: I32s<S> => F32s<S>, |self, simd, x| {
        let high = simd.i32_to_f32(simd.shr_u32::<16>(x.0));
        let low = simd.i32_to_f32(simd.and_i32(x.0, simd.splat_i32(0xffff)));
        F32s(simd.fma_f32(high, simd.splat_f32(65_536.0), low))
    };
    [const SIGNED: bool] I32ToF64<SIGNED>: I32s<S> => F64s<S>, |self, simd, x| {
        F64s(if SIGNED { simd.i32_to_f64(x.0) } else { simd.u32_to_f64(x.0) })
    };
    [const SIGNED: bool] I32ToOddF32<SIGNED>: I32s<S> => F32s<S>, |self, simd, x| {
        // Up to 24 bits float32 is exact; of more, the low eight are folded into the one above them.
        let folded = fold_i32(simd, x.0, simd.splat_i32(0xff));
        let from_least = if SIGNED { simd.add_i32(x.0, simd.splat_i32(1 << 24)) } else { x.0 };
        let upper =
            if SIGNED { simd.shr_u32::<25>(from_least) } else { simd.shr_u32::<24>(from_least) };
        let short = simd.eq_i32(upper, simd.splat_i32(0));
        let exact = simd.select_i32(short, x.0, folded);
        if SIGNED {
            return F32s(simd.i32_to_f32(exact));
        }
        let high = simd.i32_to_f32(simd.shr_u32::<16>(exact));
        let low = simd.i32_to_f32(simd.and_i32(exact, simd.splat_i32(0xffff)));
        F32s(simd.fma_f32(high, simd.splat_f32(65_536.0), low))
    };
    [R: Round, const SIGNED: bool] I64ToF64<R, SIGNED>: I64s<S> => F64s<S>, |self, simd, x| {
        if self.0.rounding() == Rounding::NearestEven {
            return nearest::<S, SIGNED>(simd, x);
        }
        let [low, high] = x.0;
        F64s([directed::<S, _, SIGNED>(simd, low, self.0), directed::<S, _, SIGNED>(simd, high, self.0)])
    };
    [const SIGNED: bool] I64ToOddF64<SIGNED>: I64s<S> => F64s<S>, |self, simd, x| {
        let [low, high] = x.0;
        let folded = I64s([folded::<S, SIGNED>(simd, low), folded::<S, SIGNED>(simd, high)]);
        nearest::<S, SIGNED>(simd, folded)
    };
}

/// float64 to float32 in the direction of `R`, for integers, which are normal numbers of both or zero: what float32
/// has no place for is rounded away first.
#[derive(Clone, Copy)]
pub(crate) struct IntegralToF32<R>(pub(crate) R);

/// Bits of a float64 beyond those of a float32.
const DROPPED: u32 = f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS;

#[inline(always)]
fn rounded_away<S: Simd>(simd: S, x: S::F64, rounding: impl Round) -> S::F64 {
    let bits = simd.bits_f64(x);
    let mask = simd.splat_i64((1 << DROPPED) - 1);
    let rounded = match rounding.rounding() {
        Rounding::NearestEven => return x,
        Rounding::TowardsZero => bits,
        Rounding::TowardsPositive => {
            let negative = simd.mask_to_i64(simd.lt_f64(x, simd.splat_f64(0.0)));
            simd.add_i64(bits, simd.andnot_i64(negative, mask))
        }
        Rounding::TowardsNegative => {
            let negative = simd.mask_to_i64(simd.lt_f64(x, simd.splat_f64(0.0)));
            simd.add_i64(bits, simd.and_i64(negative, mask))
        }
        Rounding::NearestAway => simd.add_i64(bits, simd.splat_i64(1 << (DROPPED - 1))),
    };
    simd.f64_from_bits(simd.andnot_i64(mask, rounded))
}

infallible! {
    [R: Round] IntegralToF32<R>: F64s<S> => F32s<S>, |self, simd, x| {
        let [low, high] = x.0;
        F32s(simd.f64_to_f32([rounded_away(simd, low, self.0), rounded_away(simd, high, self.0)]))
    };
}

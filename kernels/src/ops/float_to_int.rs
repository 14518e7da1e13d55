//! Floats to integers: rounded into 32-bit lanes, which a store then narrows, checks or holds to the range.
//!
//! Rounding is monotonic, so a value rounds into a range if it lies between the least and the greatest float
//! that do. To at most 16 bits the check is the store's: whatever does not fit 32 bits becomes the least
//! integer there ([`Simd::INVALID_IS_MIN`]), which does not fit 16 either.

use super::float::{FloatUnit, MAGIC, rounding_sum};
use crate::Rounding;
use crate::pipeline::{Each, infallible};
use crate::simd::{F32s, F64s, I32s, I64s, NearestEven, Round, Simd};

/// Rounds, for targets of at most 16 bits. What does not fit 32 bits, and NaN, becomes a value that does not
/// fit 16; where the level makes NaN 0, NaN fails.
#[derive(Clone, Copy)]
pub(crate) struct ToI32<R>(pub(crate) R);

impl<S: Simd, U: FloatUnit<S>, R: Round> Each<S, U> for ToI32<R> {
    type Out = I32s<S>;
    type Fail = U::Register;

    #[inline(always)]
    fn start(self, simd: S) -> U::Register {
        U::zero(simd)
    }
    #[inline(always)]
    fn apply(self, simd: S, x: U, fail: &mut U::Register) -> I32s<S> {
        if !S::INVALID_IS_MIN {
            *fail = x.sum_if_finite(simd, *fail);
        }
        x.to_i32(simd, self.0)
    }
    #[inline(always)]
    fn join(self, simd: S, a: U::Register, b: U::Register) -> U::Register {
        U::join_sums(simd, a, b)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: U::Register) -> bool {
        !S::INVALID_IS_MIN && U::any_not_finite(simd, fail)
    }
}

/// Rounds what lies between 0 and `last`, for levels where NaN converts to 0. All else fails, be it −0 or a
/// negative number that rounds to 0: as unsigned integers, the bits of those are greater.
#[derive(Clone, Copy)]
pub(crate) struct FromZero<R> {
    /// The greatest number that rounds into the target's range.
    pub(crate) last: f32,
    pub(crate) rounding: R,
}

impl<S: Simd, R: Round> Each<S, F32s<S>> for FromZero<R> {
    type Out = I32s<S>;
    /// The greatest bits.
    type Fail = S::I32;

    #[inline(always)]
    fn start(self, simd: S) -> S::I32 {
        simd.splat_i32(0)
    }
    #[inline(always)]
    fn apply(self, simd: S, x: F32s<S>, fail: &mut S::I32) -> I32s<S> {
        *fail = simd.max_u32(*fail, simd.bits_f32(x.0));
        x.to_i32(simd, self.rounding)
    }
    #[inline(always)]
    fn join(self, simd: S, a: S::I32, b: S::I32) -> S::I32 {
        simd.max_u32(a, b)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: S::I32) -> bool {
        let last = simd.splat_i32(self.last.to_bits() as i32);
        simd.nonzero_i32(simd.xor_i32(simd.max_u32(fail, last), last))
    }
}

/// Rounds what it [takes](ClampedToI32::takes); what does not fit 32 bits is clamped to them, and NaN becomes anything.
#[derive(Clone, Copy)]
pub(crate) struct ClampedToI32<R>(pub(crate) R);

impl<R: Round> ClampedToI32<R> {
    /// Whether [`Simd::f32_to_i32`] rounds this value right.
    pub(crate) fn takes(self, value: f64) -> bool {
        let beyond = match self.0.rounding() {
            Rounding::NearestAway => 4_194_304.0,
            Rounding::NearestEven
            | Rounding::TowardsZero
            | Rounding::TowardsPositive
            | Rounding::TowardsNegative => f64::from(TWO_P31),
        };
        (-beyond..beyond).contains(&value)
    }
}

infallible! {
    [U: FloatUnit<S>, R: Round] ClampedToI32<R>: U => I32s<S>, |self, simd, x| x.to_i32(simd, self.0);
}

/// Rounds, for levels where what does not fit 32 bits, and NaN, becomes the least integer ([`Simd::INVALID_IS_MIN`]). That
/// fails, and what becomes negative unless it is to be taken.
#[derive(Clone, Copy)]
pub(crate) struct ToI32Fitting<R> {
    pub(crate) takes_negative: bool,
    pub(crate) rounding: R,
}

impl<S: Simd, U: FloatUnit<S>, R: Round> Each<S, U> for ToI32Fitting<R> {
    type Out = I32s<S>;
    /// The least integers.
    type Fail = S::I32;

    #[inline(always)]
    fn start(self, simd: S) -> S::I32 {
        simd.splat_i32(i32::MAX)
    }
    #[inline(always)]
    fn apply(self, simd: S, x: U, fail: &mut S::I32) -> I32s<S> {
        let converted = x.to_i32(simd, self.rounding);
        *fail = simd.min_i32(*fail, converted.0);
        converted
    }
    #[inline(always)]
    fn join(self, simd: S, a: S::I32, b: S::I32) -> S::I32 {
        simd.min_i32(a, b)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: S::I32) -> bool {
        let least = if self.takes_negative { i32::MIN + 1 } else { 0 };
        simd.any_m32(simd.lt_i32(fail, simd.splat_i32(least)))
    }
}

/// Rounds into the low bits of a lane; see [`FloatUnit::low_bits`] for what fails.
#[derive(Clone, Copy)]
pub(crate) struct LowBits;

impl<S: Simd, U: FloatUnit<S>> Each<S, U> for LowBits {
    type Out = I32s<S>;
    type Fail = U::Magnitude;

    #[inline(always)]
    fn start(self, simd: S) -> U::Magnitude {
        U::no_magnitude(simd)
    }
    #[inline(always)]
    fn apply(self, simd: S, x: U, fail: &mut U::Magnitude) -> I32s<S> {
        x.low_bits(simd, fail)
    }
    #[inline(always)]
    fn join(self, simd: S, a: U::Magnitude, b: U::Magnitude) -> U::Magnitude {
        U::join_magnitudes(simd, a, b)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: U::Magnitude) -> bool {
        U::overflowed(simd, fail)
    }
}

/// `float64` to 32 bits, signed or not; what does not round into the range fails.
#[derive(Clone, Copy)]
pub(crate) struct F64ToI32Checked {
    /// The least value of the target.
    pub(crate) least: i64,
}

impl<S: Simd> Each<S, F64s<S>> for F64ToI32Checked {
    type Out = I32s<S>;
    /// Differences to the least value's sum, whose upper halves are 0 within the range.
    type Fail = S::I64;

    #[inline(always)]
    fn start(self, simd: S) -> S::I64 {
        simd.splat_i64(0)
    }
    #[inline(always)]
    fn apply(self, simd: S, x: F64s<S>, fail: &mut S::I64) -> I32s<S> {
        let [low, high] = rounding_sum(simd, x);
        let least = simd.splat_i64(MAGIC.to_bits() as i64 + self.least);
        let either = simd.or_i64(simd.sub_i64(low, least), simd.sub_i64(high, least));
        *fail = simd.or_i64(*fail, either);
        I32s(simd.low_i64_to_i32([low, high]))
    }
    #[inline(always)]
    fn join(self, simd: S, a: S::I64, b: S::I64) -> S::I64 {
        simd.or_i64(a, b)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: S::I64) -> bool {
        simd.nonzero_i64(simd.shr_u64::<32>(fail))
    }
}

/// `float64` of magnitude below 2^51 to 64 bits; others fail, and negative ones unless they are to be taken.
#[derive(Clone, Copy)]
pub(crate) struct BelowP51 {
    pub(crate) takes_negative: bool,
}

impl<S: Simd> Each<S, F64s<S>> for BelowP51 {
    type Out = I64s<S>;
    /// Bits in which a sum differed from [`MAGIC`].
    type Fail = S::I64;

    #[inline(always)]
    fn start(self, simd: S) -> S::I64 {
        simd.splat_i64(0)
    }
    #[inline(always)]
    fn apply(self, simd: S, x: F64s<S>, fail: &mut S::I64) -> I64s<S> {
        let [low, high] = rounding_sum(simd, x);
        let magic = simd.splat_i64(MAGIC.to_bits() as i64);
        let either = simd.or_i64(simd.xor_i64(low, magic), simd.xor_i64(high, magic));
        *fail = simd.or_i64(*fail, either);
        I64s([simd.sub_i64(low, magic), simd.sub_i64(high, magic)])
    }
    #[inline(always)]
    fn join(self, simd: S, a: S::I64, b: S::I64) -> S::I64 {
        simd.or_i64(a, b)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: S::I64) -> bool {
        // Negative numbers take the highest bit of the mantissa from it.
        let kept = if self.takes_negative { 52 } else { 51 };
        simd.nonzero_i64(simd.and_i64(fail, simd.splat_i64(-1 << kept)))
    }
}

/// Signed 32-bit integers to 64 bits.
#[derive(Clone, Copy)]
pub(crate) struct I32ToI64;

infallible! {
    [] I32ToI64: I32s<S> => I64s<S>, |self, simd, x| I64s(simd.i32_to_i64(x.0));
}

/// As [`LowBits`] of `float64`, for values that are clamped to ±2^51.
#[derive(Clone, Copy)]
pub(crate) struct ClampedLowBits;

infallible! {
    [] ClampedLowBits: F64s<S> => I32s<S>, |self, simd, x| {
        I32s(simd.low_i64_to_i32(rounding_sum(simd, x)))
    };
}

/// To an integral value.
#[derive(Clone, Copy)]
pub(crate) struct Integral<R>(pub(crate) R);

/// float32 to float64.
#[derive(Clone, Copy)]
pub(crate) struct Widened;

infallible! {
    [U: FloatUnit<S>, R: Round] Integral<R>: U => U, |self, simd, x| x.round(simd, self.0);
    [] Widened: F32s<S> => F64s<S>, |self, simd, x| F64s(simd.f32_to_f64(x.0));
    [] Widened: F64s<S> => F64s<S>, |self, simd, x| x;
}

/// 2^31 and 2^32, 2^63 and 2^64.
const TWO_P31: f32 = 2_147_483_648.0;
const TWO_P32: f32 = 4_294_967_296.0;
const TWO_P63: f64 = 9_223_372_036_854_775_808.0;
const TWO_P64: f64 = 18_446_744_073_709_551_616.0;

/// Lanes that are in order, as a mask that starts as all of them.
#[inline(always)]
fn all_m32<S: Simd>(simd: S) -> S::M32 {
    simd.eq_i32(simd.splat_i32(0), simd.splat_i32(0))
}

#[inline(always)]
fn all_m64<S: Simd>(simd: S) -> S::M64 {
    simd.eq_i64(simd.splat_i64(0), simd.splat_i64(0))
}

/// What an [`Each`] gathers in a mask of lanes: all at the start, and one that is missing fails.
macro_rules! passing_lanes {
    ($mask:ident, $all:ident, $and:ident, $andnot:ident, $any:ident) => {
        /// Lanes in which every value was in range.
        type Fail = S::$mask;

        #[inline(always)]
        fn start(self, simd: S) -> S::$mask {
            $all(simd)
        }
        #[inline(always)]
        fn join(self, simd: S, a: S::$mask, b: S::$mask) -> S::$mask {
            simd.$and(a, b)
        }
        #[inline(always)]
        fn failed(self, simd: S, fail: S::$mask) -> bool {
            simd.$any(simd.$andnot(fail, $all(simd)))
        }
    };
}

/// float32 to `int32`; what does not round into the range fails. From 2^24 on a float32 is integral, so the
/// range of the value is that of the rounded one.
#[derive(Clone, Copy)]
pub(crate) struct CheckedI32;

impl<S: Simd> Each<S, F32s<S>> for CheckedI32 {
    type Out = I32s<S>;
    passing_lanes!(M32, all_m32, and_m32, andnot_m32, any_m32);

    #[inline(always)]
    fn apply(self, simd: S, x: F32s<S>, fail: &mut S::M32) -> I32s<S> {
        let above = simd.le_f32(simd.splat_f32(-TWO_P31), x.0);
        let within = simd.and_m32(above, simd.lt_f32(x.0, simd.splat_f32(TWO_P31)));
        *fail = simd.and_m32(*fail, within);
        x.to_i32(simd, NearestEven)
    }
}

/// float32 to `uint32`; what does not round into the range fails.
#[derive(Clone, Copy)]
pub(crate) struct CheckedU32;

/// The converted value of a float32 below 2^32, and before 2^31 is added where it was taken away.
#[inline(always)]
fn to_u32<S: Simd>(simd: S, x: S::F32) -> (S::I32, S::I32) {
    let half = simd.splat_f32(TWO_P31);
    let is_upper = simd.le_f32(half, x);
    let lower = simd.f32_to_i32(simd.select_f32(is_upper, simd.sub_f32(x, half), x), NearestEven);
    let upper = simd.xor_i32(lower, simd.splat_i32(i32::MIN));
    (simd.select_i32(is_upper, upper, lower), lower)
}

impl<S: Simd> Each<S, F32s<S>> for CheckedU32 {
    type Out = I32s<S>;
    /// Converted values, negative where one is out of range; and lanes in which every value was below 2^32,
    /// where the level needs to be told.
    type Fail = (S::I32, S::M32);

    #[inline(always)]
    fn start(self, simd: S) -> Self::Fail {
        (simd.splat_i32(0), all_m32(simd))
    }
    #[inline(always)]
    fn apply(self, simd: S, x: F32s<S>, fail: &mut Self::Fail) -> I32s<S> {
        let (converted, lower) = to_u32(simd, x.0);
        fail.0 = simd.or_i32(fail.0, lower);
        if !S::INVALID_IS_MIN {
            fail.1 = simd.and_m32(fail.1, simd.lt_f32(x.0, simd.splat_f32(TWO_P32)));
        }
        I32s(converted)
    }
    #[inline(always)]
    fn join(self, simd: S, a: Self::Fail, b: Self::Fail) -> Self::Fail {
        (simd.or_i32(a.0, b.0), simd.and_m32(a.1, b.1))
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: Self::Fail) -> bool {
        let negative = simd.lt_i32(fail.0, simd.splat_i32(0));
        simd.any_m32(simd.or_m32(negative, simd.andnot_m32(fail.1, all_m32(simd))))
    }
}

/// float32 to `int32`, clamped to the range; NaN becomes anything.
#[derive(Clone, Copy)]
pub(crate) struct ClampedI32;

/// float32 to `uint32`, clamped to the range; NaN becomes anything.
#[derive(Clone, Copy)]
pub(crate) struct ClampedU32;

/// The remainder of `x` to the nearest multiple of twice `half`, a power of two, with its inverse; from −`half`
/// to below `half`. Exact. A fraction stays, for numbers that have one are below `half`.
#[derive(Clone, Copy)]
pub(crate) struct SignedRemainder<T> {
    pub(crate) half: T,
    pub(crate) inverse: T,
}

/// Integral float64 to `int64`, clamped to the range.
#[derive(Clone, Copy)]
pub(crate) struct ClampedI64;

/// Integral float64 to `uint64`, clamped to the range.
#[derive(Clone, Copy)]
pub(crate) struct ClampedU64;

/// Integral float64 of magnitude at most 2^63 to `int64`, −2^63 included.
#[derive(Clone, Copy)]
pub(crate) struct InRangeI64;

/// Integral float64 from 0 to below 2^64 to `uint64`.
#[derive(Clone, Copy)]
pub(crate) struct InRangeU64;

#[inline(always)]
fn each_i64<S: Simd>(x: F64s<S>, f: impl Fn(S::F64) -> S::I64) -> I64s<S> {
    let [low, high] = x.0;
    I64s([f(low), f(high)])
}

infallible! {
    [] ClampedI32: F32s<S> => I32s<S>, |self, simd, x| {
        let converted = simd.f32_to_i32(x.0, NearestEven);
        if S::INVALID_IS_MIN {
            // The least integer, with all bits flipped, is the greatest.
            let above = simd.mask_to_i32(simd.le_f32(simd.splat_f32(TWO_P31), x.0));
            I32s(simd.xor_i32(converted, above))
        } else {
            I32s(converted)
        }
    };
    [] ClampedU32: F32s<S> => I32s<S>, |self, simd, x| {
        let positive = simd.max_f32(x.0, simd.splat_f32(0.0));
        let (converted, _) = to_u32(simd, positive);
        let above = simd.mask_to_i32(simd.le_f32(simd.splat_f32(TWO_P32), x.0));
        I32s(simd.or_i32(converted, above))
    };
    [] SignedRemainder<f32>: F32s<S> => F32s<S>, |self, simd, x| {
        let half = simd.splat_f32(self.half);
        let count = simd.round_f32(simd.mul_f32(x.0, simd.splat_f32(self.inverse)), NearestEven);
        let rest = simd.nfma_f32(count, simd.splat_f32(2.0 * self.half), x.0);
        F32s(simd.select_f32(simd.lt_f32(rest, half), rest, simd.splat_f32(-self.half)))
    };
    [] SignedRemainder<f64>: F64s<S> => F64s<S>, |self, simd, x| {
        let (inverse, modulus) = (F64s::splat(simd, self.inverse), F64s::splat(simd, 2.0 * self.half));
        let count = x.mul(simd, inverse).round(simd, NearestEven);
        let [low, high] = count.neg_mul_add(simd, modulus, x).0;
        let (half, least) = (simd.splat_f64(self.half), simd.splat_f64(-self.half));
        F64s([
            simd.select_f64(simd.lt_f64(low, half), low, least),
            simd.select_f64(simd.lt_f64(high, half), high, least),
        ])
    };
    [] ClampedI64: F64s<S> => I64s<S>, |self, simd, x| each_i64(x, #[inline(always)] |x| {
        let clamped = simd.max_f64(x, simd.splat_f64(-TWO_P63));
        let above = simd.le_f64(simd.splat_f64(TWO_P63), x);
        let converted = simd.integral_f64_to_i64(clamped);
        simd.select_i64(above, simd.splat_i64(i64::MAX), converted)
    });
    [] ClampedU64: F64s<S> => I64s<S>, |self, simd, x| each_i64(x, #[inline(always)] |x| {
        let clamped = simd.max_f64(x, simd.splat_f64(0.0));
        let above = simd.le_f64(simd.splat_f64(TWO_P64), x);
        let converted = simd.integral_f64_to_u64(clamped);
        simd.select_i64(above, simd.splat_i64(-1), converted)
    });
    [] InRangeI64: F64s<S> => I64s<S>, |self, simd, x| each_i64(x, #[inline(always)] |x| {
        simd.integral_f64_to_i64(x)
    });
    [] InRangeU64: F64s<S> => I64s<S>, |self, simd, x| each_i64(x, #[inline(always)] |x| {
        simd.integral_f64_to_u64(x)
    });
}

/// Integral float64 to 64 bits, signed or not; what is out of range fails.
#[derive(Clone, Copy)]
pub(crate) struct Checked64<const SIGNED: bool>;

impl<S: Simd, const SIGNED: bool> Each<S, F64s<S>> for Checked64<SIGNED> {
    type Out = I64s<S>;
    passing_lanes!(M64, all_m64, and_m64, andnot_m64, any_m64);

    #[inline(always)]
    fn apply(self, simd: S, x: F64s<S>, fail: &mut S::M64) -> I64s<S> {
        let (least, beyond) = if SIGNED { (-TWO_P63, TWO_P63) } else { (0.0, TWO_P64) };
        let (least, beyond) = (simd.splat_f64(least), simd.splat_f64(beyond));
        let [low, high] = x.0;
        let low_fits = simd.and_m64(simd.le_f64(least, low), simd.lt_f64(low, beyond));
        let high_fits = simd.and_m64(simd.le_f64(least, high), simd.lt_f64(high, beyond));
        *fail = simd.and_m64(*fail, simd.and_m64(low_fits, high_fits));
        if SIGNED {
            I64s([simd.integral_f64_to_i64(low), simd.integral_f64_to_i64(high)])
        } else {
            I64s([simd.integral_f64_to_u64(low), simd.integral_f64_to_u64(high)])
        }
    }
}

/// Integral float32 as it is; what is out of the range of 64 bits, signed or not, fails.
#[derive(Clone, Copy)]
pub(crate) struct CheckedF32<const SIGNED: bool>;

impl<S: Simd, const SIGNED: bool> Each<S, F32s<S>> for CheckedF32<SIGNED> {
    type Out = F32s<S>;
    passing_lanes!(M32, all_m32, and_m32, andnot_m32, any_m32);

    #[inline(always)]
    fn apply(self, simd: S, x: F32s<S>, fail: &mut S::M32) -> F32s<S> {
        let (least, beyond) =
            if SIGNED { (-TWO_P63 as f32, TWO_P63 as f32) } else { (0.0, TWO_P64 as f32) };
        let above = simd.le_f32(simd.splat_f32(least), x.0);
        let within = simd.and_m32(above, simd.lt_f32(x.0, simd.splat_f32(beyond)));
        *fail = simd.and_m32(*fail, within);
        x
    }
}

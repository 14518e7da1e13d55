//! Floats to integers: rounded into 32-bit lanes, which a store then narrows, checks or holds to the range.
//!
//! Rounding is monotonic, so a value rounds into a range if it lies between the least and the greatest float
//! that do. To at most 16 bits the check is the store's: whatever does not fit 32 bits becomes the least
//! integer there ([`Simd::INVALID_IS_MIN`]), which does not fit 16 either.

use super::float::{Finite, FloatUnit, MAGIC, rounding_sum};
use crate::Rounding;
use crate::evidence::{Greatest, GreatestNumber, Least, NonFinite, Passing, SetBits};
use crate::pipeline::{Each, infallible, lanewise};
use crate::simd::{
    F32s, F64s, Float, FloatElement, FloatLanes, I32s, I64, I64s, Int, IntElement, Mask,
    NearestEven, Pair, Register, Round, Simd, TWO_P63,
};

/// Rounds, for targets of at most 16 bits. A value that does not fit 32 bits, and NaN, becomes a value that does not
/// fit 16; where the level makes NaN 0, NaN fails.
#[derive(Clone, Copy)]
pub(crate) struct ToI32<R>(pub(crate) R);

impl<S: Simd, U: FloatUnit<S>, R: Round> Each<S, U> for ToI32<R> {
    type Out = I32s<S>;
    type Fail = NonFinite<U::Register>;

    #[inline(always)]
    fn apply(self, simd: S, x: U, fail: &Self::Fail) -> I32s<S> {
        if !S::INVALID_IS_MIN {
            Finite.apply(simd, x, fail);
        }
        x.to_i32(simd, self.0)
    }
    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        !S::INVALID_IS_MIN && fail.get().any_nan()
    }
}

/// Rounds values between 0 and `last`, for levels where NaN converts to 0. All else fails, be it −0 or a
/// negative number that rounds to 0: as unsigned integers, the bits of those are greater.
#[derive(Clone, Copy)]
pub(crate) struct FromZero<R> {
    /// The greatest number that rounds into the target's range.
    pub(crate) last: f32,
    pub(crate) rounding: R,
}

impl<S: Simd, R: Round> Each<S, F32s<S>> for FromZero<R> {
    type Out = I32s<S>;
    type Fail = Greatest<I32s<S>>;

    #[inline(always)]
    fn apply(self, simd: S, x: F32s<S>, fail: &Self::Fail) -> I32s<S> {
        fail.add(x.to_bits());
        x.to_i32(simd, self.rounding)
    }
    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        let bits = fail.get();
        let last = self.last.to_bits() as i32;
        (bits.max::<false>(last) ^ last).is_nonzero()
    }
}

/// Rounds values that it [takes](ClampedToI32::takes). A value beyond 32 bits is clamped to these, and NaN becomes anything.
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

/// Rounds, for levels where a value beyond 32 bits, and NaN, becomes the least integer ([`Simd::INVALID_IS_MIN`]). Such a value
/// fails, and so does a negative result unless `takes_negative`.
#[derive(Clone, Copy)]
pub(crate) struct ToI32Fitting<R> {
    pub(crate) takes_negative: bool,
    pub(crate) rounding: R,
}

impl<S: Simd, U: FloatUnit<S>, R: Round> Each<S, U> for ToI32Fitting<R> {
    type Out = I32s<S>;
    type Fail = Least<I32s<S>>;

    #[inline(always)]
    fn apply(self, simd: S, x: U, fail: &Self::Fail) -> I32s<S> {
        let converted = x.to_i32(simd, self.rounding);
        fail.add(converted);
        converted
    }
    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        let least = if self.takes_negative { i32::MIN + 1 } else { 0 };
        fail.get().lt(least).any()
    }
}

/// Rounds, for levels where NaN becomes the least integer ([`Simd::INVALID_IS_MIN`]), which a store then clamps to the target's
/// least. Numbers beyond 32 bits would, too; they fail.
#[derive(Clone, Copy)]
pub(crate) struct ToI32OrLeast;

impl<S: Simd, U: FloatUnit<S>> Each<S, U> for ToI32OrLeast {
    type Out = I32s<S>;
    /// Of magnitudes.
    type Fail = GreatestNumber<U::Register>;

    #[inline(always)]
    fn apply(self, simd: S, x: U, fail: &Self::Fail) -> I32s<S> {
        fail.add(x.map(Float::abs));
        x.to_i32(simd, NearestEven)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: &Self::Fail) -> bool {
        // Any limit serves that float32 has and that lies between the limits of 16 and 32 bits.
        let limit = U::Scalar::from_f64(f64::from(TWO_P31 / 2.0));
        U::Register::splat(simd, limit).any_lt(fail.get())
    }
}

/// Bits in which a [`rounding_sum`] differs from [`MAGIC`].
#[inline(always)]
fn not_of_magic<S: Simd>(sum: I64s<S>) -> I64s<S> {
    sum.map(
        #[inline(always)]
        |sum| sum ^ MAGIC.to_bits() as i64,
    )
}

/// Rounds values within ±2^31, or for float64 within ±2^51, into the low bits of 32; values beyond fail, and NaN.
#[derive(Clone, Copy)]
pub(crate) struct LowBits;

impl<S: Simd> Each<S, F32s<S>> for LowBits {
    type Out = I32s<S>;
    /// Of magnitudes, as bits: NaN's are greater than infinity's.
    type Fail = Greatest<I32s<S>>;

    #[inline(always)]
    fn apply(self, simd: S, x: F32s<S>, fail: &Self::Fail) -> I32s<S> {
        fail.add(x.abs().to_bits());
        x.to_i32(simd, NearestEven)
    }
    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        fail.get().gt(TWO_P31.to_bits() as i32 - 1).any()
    }
}

impl<S: Simd> Each<S, F64s<S>> for LowBits {
    type Out = I32s<S>;
    /// Bits in which a sum differed from [`MAGIC`].
    type Fail = SetBits<I64<S>>;

    #[inline(always)]
    fn apply(self, simd: S, x: F64s<S>, fail: &Self::Fail) -> I32s<S> {
        let sum = rounding_sum(x);
        fail.add(not_of_magic(sum));
        simd.low_i64_to_i32(sum)
    }
    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        let bits = fail.get();
        // Within ±2^51 a sum has the sign and exponent of MAGIC.
        (bits & (-1 << 52)).is_nonzero()
    }
}

/// `float64` to 32 bits, signed or not; a value that does not round into the range fails.
#[derive(Clone, Copy)]
pub(crate) struct F64ToI32Checked {
    /// The least value of the target.
    pub(crate) least: i64,
}

impl<S: Simd> Each<S, F64s<S>> for F64ToI32Checked {
    type Out = I32s<S>;
    /// Of differences to the least value's sum, whose upper halves are 0 within the range.
    type Fail = SetBits<I64<S>>;

    #[inline(always)]
    fn apply(self, simd: S, x: F64s<S>, fail: &Self::Fail) -> I32s<S> {
        let sum = rounding_sum(x);
        let least = MAGIC.to_bits() as i64 + self.least;
        fail.add(sum.map(
            #[inline(always)]
            |sum| sum - least,
        ));
        simd.low_i64_to_i32(sum)
    }
    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        fail.get().shr::<32>().is_nonzero()
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
    type Fail = SetBits<I64<S>>;

    #[inline(always)]
    fn apply(self, _: S, x: F64s<S>, fail: &Self::Fail) -> I64s<S> {
        let sum = rounding_sum(x);
        fail.add(not_of_magic(sum));
        let magic = MAGIC.to_bits() as i64;
        Pair(sum.0 - magic, sum.1 - magic)
    }
    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        let bits = fail.get();
        // Negative numbers take the highest bit of the mantissa from it.
        let kept = if self.takes_negative { 52 } else { 51 };
        (bits & (-1 << kept)).is_nonzero()
    }
}

/// Signed 32-bit integers to 64 bits.
#[derive(Clone, Copy)]
pub(crate) struct I32ToI64;

infallible! {
    [] I32ToI64: I32s<S> => I64s<S>, |self, simd, x| simd.i32_to_i64(x);
}

/// As [`LowBits`] of `float64`, for values that are clamped to ±2^51.
#[derive(Clone, Copy)]
pub(crate) struct ClampedLowBits;

infallible! {
    [] ClampedLowBits: F64s<S> => I32s<S>, |self, simd, x| {
        simd.low_i64_to_i32(rounding_sum(x))
    };
}

/// To an integral value.
#[derive(Clone, Copy)]
pub(crate) struct Integral<R>(pub(crate) R);

/// float32 to float64.
#[derive(Clone, Copy)]
pub(crate) struct Widened;

lanewise! {
    [U: FloatUnit<S>, R: Round] Integral<R>: U, |self, x| x.round(self.0);
}

infallible! {
    [] Widened: F32s<S> => F64s<S>, |self, simd, x| simd.f32_to_f64(x);
    [] Widened: F64s<S> => F64s<S>, |self, simd, x| x;
}

/// 2^31 and 2^32, and 2^64.
const TWO_P31: f32 = 2_147_483_648.0;
const TWO_P32: f32 = 4_294_967_296.0;
const TWO_P64: f64 = 18_446_744_073_709_551_616.0;

/// Where `x` is from `least` to below `beyond`.
#[inline(always)]
fn in_range<S, T>(x: Register<S, T>, least: T, beyond: T) -> Mask<S, T::Bits>
where
    S: FloatLanes<T>,
    T: FloatElement<Bits: IntElement>,
{
    x.ge(least) & x.lt(beyond)
}

/// float32 to `int32`; a value that does not round into the range fails. From 2^24 on a float32 is integral, so the
/// range of the value is that of the rounded one.
#[derive(Clone, Copy)]
pub(crate) struct CheckedI32;

impl<S: Simd> Each<S, F32s<S>> for CheckedI32 {
    type Out = I32s<S>;
    type Fail = Passing<S, i32>;

    #[inline(always)]
    fn apply(self, simd: S, x: F32s<S>, fail: &Self::Fail) -> I32s<S> {
        fail.keep(in_range(x, -TWO_P31, TWO_P31));
        x.to_i32(simd, NearestEven)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: &Self::Fail) -> bool {
        fail.failing(simd).any()
    }
}

/// float32 to `uint32`; a value that does not round into the range fails.
#[derive(Clone, Copy)]
pub(crate) struct CheckedU32;

/// The converted value of a float32 below 2^32, and before 2^31 is added where it was taken away.
#[inline(always)]
fn to_u32<S: Simd>(simd: S, x: F32s<S>) -> (I32s<S>, I32s<S>) {
    let is_upper = x.ge(TWO_P31);
    let lower = is_upper.select(x - TWO_P31, x).to_i32(simd, NearestEven);
    (is_upper.select(lower ^ i32::MIN, lower), lower)
}

impl<S: Simd> Each<S, F32s<S>> for CheckedU32 {
    type Out = I32s<S>;
    /// Of converted values, negative where one is out of range; and where all were below 2^32, if the level needs to be told.
    type Fail = (SetBits<I32s<S>>, Passing<S, i32>);

    #[inline(always)]
    fn apply(self, simd: S, x: F32s<S>, fail: &Self::Fail) -> I32s<S> {
        let (converted, lower) = to_u32(simd, x);
        fail.0.add(lower);
        if !S::INVALID_IS_MIN {
            fail.1.keep(x.lt(TWO_P32));
        }
        converted
    }
    #[inline(always)]
    fn failed(self, simd: S, (converted, below): &Self::Fail) -> bool {
        (converted.get().lt(0) | below.failing(simd)).any()
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

/// Integral float64 to 64 bits, signed or not, clamped to the range.
#[derive(Clone, Copy)]
pub(crate) struct Clamped64<const SIGNED: bool>;

/// Integral float64 to 64 bits: of magnitude at most 2^63 to `int64`, −2^63 included, from 0 to below 2^64 to `uint64`.
#[derive(Clone, Copy)]
pub(crate) struct InRange64<const SIGNED: bool>;

/// The least of 64 bits, signed or not, and the least beyond them.
const fn range_64<const SIGNED: bool>() -> (f64, f64) {
    if SIGNED { (-TWO_P63, TWO_P63) } else { (0.0, TWO_P64) }
}

infallible! {
    [] ClampedI32: F32s<S> => I32s<S>, |self, simd, x| {
        let converted = x.to_i32(simd, NearestEven);
        if S::INVALID_IS_MIN {
            // The least integer, with all bits flipped, is the greatest.
            converted ^ x.ge(TWO_P31).to_int()
        } else {
            converted
        }
    };
    [] ClampedU32: F32s<S> => I32s<S>, |self, simd, x| {
        let (converted, _) = to_u32(simd, x.max(0.0));
        converted | x.ge(TWO_P32).to_int()
    };
    [const SIGNED: bool] Clamped64<SIGNED>: F64s<S> => I64s<S>, |self, simd, x| {
        let (least, beyond) = range_64::<SIGNED>();
        x.map(#[inline(always)] |x| {
            let converted = simd.integral_f64_to_i64::<SIGNED>(x.max(least));
            let greatest = if SIGNED { i64::MAX } else { -1 };
            x.ge(beyond).select(I64::splat(simd, greatest), converted)
        })
    };
    [const SIGNED: bool] InRange64<SIGNED>: F64s<S> => I64s<S>, |self, simd, x| x.map(
        #[inline(always)]
        |x| simd.integral_f64_to_i64::<SIGNED>(x),
    );
}

lanewise! {
    [U: FloatUnit<S>] SignedRemainder<U::Scalar>: U, |self, x| {
        let count = (x * self.inverse).round(NearestEven);
        let rest = count.neg_mul_add(self.half + self.half, x);
        rest.where_lt(self.half, -self.half)
    };
}

/// Integral float64 to 64 bits, signed or not; a value out of range fails.
#[derive(Clone, Copy)]
pub(crate) struct Checked64<const SIGNED: bool>;

impl<S: Simd, const SIGNED: bool> Each<S, F64s<S>> for Checked64<SIGNED> {
    type Out = I64s<S>;
    type Fail = Passing<S, i64>;

    #[inline(always)]
    fn apply(self, simd: S, x: F64s<S>, fail: &Self::Fail) -> I64s<S> {
        let (least, beyond) = range_64::<SIGNED>();
        fail.keep(in_range(x.0, least, beyond) & in_range(x.1, least, beyond));
        InRange64::<SIGNED>.apply(simd, x, &())
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: &Self::Fail) -> bool {
        fail.failing(simd).any()
    }
}

/// Integral float32 as it is; a value out of the range of 64 bits, signed or not, fails.
#[derive(Clone, Copy)]
pub(crate) struct CheckedF32<const SIGNED: bool>;

impl<S: Simd, const SIGNED: bool> Each<S, F32s<S>> for CheckedF32<SIGNED> {
    type Out = F32s<S>;
    type Fail = Passing<S, i32>;

    #[inline(always)]
    fn apply(self, _: S, x: F32s<S>, fail: &Self::Fail) -> F32s<S> {
        let (least, beyond) = range_64::<SIGNED>();
        fail.keep(in_range(x, least as f32, beyond as f32));
        x
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: &Self::Fail) -> bool {
        fail.failing(simd).any()
    }
}

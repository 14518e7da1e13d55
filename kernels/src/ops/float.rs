//! Operations on units of float32 and of float64, once for both.

use num_traits::Zero as _;

use crate::Rounding;
use crate::evidence::{GreatestNumber, LeastNumber, NonFinite};
use crate::pipeline::{Each, infallible, lanewise};
use crate::simd::{F32s, F64s, Float, FloatElement, I32s, I64s, Operand, Round, Simd, Unit};
use crate::stages::convert::NativeFloat;

/// A unit of floats.
pub(crate) trait FloatUnit<S: Simd>:
    Unit<
        S,
        Register: Float<S, Scalar = <Self as Unit<S>>::Scalar>,
        Scalar: FloatElement + Operand<<Self as Unit<S>>::Register>,
    >
{
    /// An element with this value, exactly or to nearest-even.
    fn scalar(x: f64) -> Self::Scalar {
        Self::Scalar::from_f64(x)
    }

    /// See [`Simd::f32_to_i32`].
    fn to_i32(self, simd: S, rounding: impl Round) -> I32s<S>;
}

/// 1.5 · 2^52: added to a number of magnitude below 2^51, it rounds that to an integer in the low bits of the
/// sum.
pub(crate) const MAGIC: f64 = <f64 as NativeFloat>::MAGIC;

/// The sum with [`MAGIC`], as bits, of a value rounded to nearest-even, which the addition does.
#[inline(always)]
pub(crate) fn rounding_sum<S: Simd>(x: F64s<S>) -> I64s<S> {
    x.map(
        #[inline(always)]
        |x| (x + MAGIC).to_bits(),
    )
}

impl<S: Simd> FloatUnit<S> for F32s<S> {
    #[inline(always)]
    fn to_i32(self, simd: S, rounding: impl Round) -> I32s<S> {
        simd.f32_to_i32(self, rounding)
    }
}

impl<S: Simd> FloatUnit<S> for F64s<S> {
    #[inline(always)]
    fn to_i32(self, simd: S, rounding: impl Round) -> I32s<S> {
        simd.f64_to_i32(self, rounding)
    }
}

/// `value` in place of NaN; NaN leaves it as it is.
#[derive(Clone, Copy)]
pub(crate) struct ReplaceNan {
    pub(crate) value: f64,
}

/// `(x − offset) · scale`. A finite x that overflows is infinite behind it.
#[derive(Clone, Copy)]
pub(crate) struct Scale<T> {
    /// −offset: an addition reads x from memory.
    pub(crate) shift: T,
    pub(crate) scale: T,
}

/// `(x − offset) · scale`, then values in place of a number and of NaN.
#[derive(Clone, Copy)]
pub(crate) struct ScaleAndReplace<T> {
    pub(crate) scale: Scale<T>,
    /// A number as it is scaled; none equals NaN.
    pub(crate) key: T,
    pub(crate) value: T,
    /// In place of NaN.
    pub(crate) nan: T,
}

/// `x / scale + offset`, the division as a product with the scale's reciprocal in two words (Brisebarre, Muller and Raina
/// 2004), which is the division for most scales and integers of 16 bits; whoever takes it has to compare. It needs a
/// product that is not rounded; a level that has none divides.
#[derive(Clone, Copy)]
pub(crate) struct InverseScale<T> {
    pub(crate) scale: T,
    pub(crate) reciprocal: T,
    /// The part of the inverse that the reciprocal lacks.
    pub(crate) rest: T,
    pub(crate) offset: T,
}

/// `x / scale + offset` of integers, the division as a product with the reciprocal, whose error a second product corrects: exact
/// for every x and scale, if both have an exponent far from the ends (Cornea, Harrison and Tang 2002). On a level without fused
/// products a division.
#[derive(Clone, Copy)]
pub(crate) struct Unscale<T> {
    pub(crate) scale: T,
    pub(crate) reciprocal: T,
    pub(crate) offset: T,
}

/// The results of `unscale`, but for up to two keys. The branches on them always go the same way.
#[derive(Clone, Copy)]
pub(crate) struct ReplaceAndUnscale<T> {
    pub(crate) unscale: Unscale<T>,
    pub(crate) keys: [Option<(T, T)>; 2],
}

/// The results of `unscale`, but for one key.
#[derive(Clone, Copy)]
pub(crate) struct ReplaceAndInverseScale<T> {
    pub(crate) unscale: InverseScale<T>,
    pub(crate) key: T,
    pub(crate) value: T,
}

/// As [`ReplaceAndInverseScale`], for a value that is NaN, where a blend takes longer than a difference: x − 0 is x, and x − NaN that NaN.
#[derive(Clone, Copy)]
pub(crate) struct ReplaceByNanAndInverseScale<T>(pub(crate) ReplaceAndInverseScale<T>);

/// Clamped to a greatest value. NaN may become anything.
#[derive(Clone, Copy)]
pub(crate) struct ClampedBelow<T> {
    pub(crate) max: T,
}

/// Clamped to a range. NaN may become anything.
#[derive(Clone, Copy)]
pub(crate) struct Clamped<T> {
    pub(crate) min: T,
    pub(crate) max: T,
}

/// The least value in place of NaN, and of smaller values; a number below `limit` fails.
#[derive(Clone, Copy)]
pub(crate) struct AtLeastOrNan<T> {
    pub(crate) min: T,
    /// At most `min` and 0.
    pub(crate) limit: T,
}

/// As it is; a number out of the range from which values round into a narrower format fails. Infinities are no numbers.
#[derive(Clone, Copy)]
pub(crate) struct NumberWithin<T, R> {
    pub(crate) min: T,
    pub(crate) max: T,
    /// To nearest and towards zero, the range is the same on both sides.
    pub(crate) rounding: R,
}

/// `x − count · modulus`, for the count next to zero that leaves less than the modulus, a power of two; its
/// inverse is given too. All is exact: a float beyond the modulus has no more bits than the remainder has.
#[derive(Clone, Copy)]
pub(crate) struct Remainder<T> {
    pub(crate) modulus: T,
    pub(crate) inverse: T,
}

lanewise! {
    [U: FloatUnit<S>] ReplaceNan: U, |self, x| x.replace_nan(U::Scalar::from_f64(self.value));
    [U: FloatUnit<S>] Scale<U::Scalar>: U, |self, x| (x + self.shift) * self.scale;
    [U: FloatUnit<S>] ScaleAndReplace<U::Scalar>: U, |self, x| {
        let scaled = (x + self.scale.shift) * self.scale.scale;
        scaled.select_eq(self.key, self.value, scaled.replace_nan(self.nan))
    };
    [U: FloatUnit<S>] InverseScale<U::Scalar>: U, |self, x| {
        let quotient = if S::FUSES {
            x.mul_add(self.reciprocal, x * self.rest)
        } else {
            x / self.scale
        };
        quotient + self.offset
    };
    [U: FloatUnit<S>] Unscale<U::Scalar>: U, |self, x| {
        let quotient = if S::FUSES {
            let near = x * self.reciprocal;
            near.neg_mul_add(self.scale, x).mul_add(self.reciprocal, near)
        } else {
            x / self.scale
        };
        quotient + self.offset
    };
    [U: FloatUnit<S>] ClampedBelow<U::Scalar>: U, |self, x| x.min(self.max);
    [U: FloatUnit<S>] Clamped<U::Scalar>: U, |self, x| x.max(self.min).min(self.max);
    [U: FloatUnit<S>] Remainder<U::Scalar>: U, |self, x| {
        let count = (x * self.inverse).round(Rounding::TowardsZero);
        count.neg_mul_add(self.modulus, x)
    };
}

infallible! {
    [U: FloatUnit<S>] ReplaceAndUnscale<U::Scalar>: U => U, |self, simd, x| {
        let [first, second] = self.keys;
        let mut y = self.unscale.apply(simd, x, &());
        if let Some((key, value)) = first {
            y = x.zip(y, #[inline(always)] |x, y| x.select_eq(key, value, y));
        }
        if let Some((key, value)) = second {
            y = x.zip(y, #[inline(always)] |x, y| x.select_eq(key, value, y));
        }
        y
    };
    [U: FloatUnit<S>] ReplaceAndInverseScale<U::Scalar>: U => U, |self, simd, x| {
        let y = self.unscale.apply(simd, x, &());
        x.zip(y, #[inline(always)] |x, y| x.select_eq(self.key, self.value, y))
    };
    [U: FloatUnit<S>] ReplaceByNanAndInverseScale<U::Scalar>: U => U, |self, simd, x| {
        let ReplaceAndInverseScale { unscale, key, value } = self.0;
        let y = unscale.apply(simd, x, &());
        x.zip(y, #[inline(always)] |x, y| y.sub_where_eq(x, key, value))
    };
}

/// As it is; NaN and infinities fail.
#[derive(Clone, Copy)]
pub(crate) struct Finite;

impl<S: Simd, U: FloatUnit<S>> Each<S, U> for Finite {
    type Out = U;
    type Fail = NonFinite<U::Register>;

    #[inline(always)]
    fn apply(self, _: S, x: U, fail: &Self::Fail) -> U {
        fail.add(x);
        x
    }
    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        fail.get().any_nan()
    }
}

impl<S: Simd, U: FloatUnit<S>, R: Round> Each<S, U> for NumberWithin<U::Scalar, R> {
    type Out = U;
    /// The least and the greatest numbers, or the greatest magnitudes.
    type Fail = (LeastNumber<U::Register>, GreatestNumber<U::Register>);

    #[inline(always)]
    fn apply(self, _: S, x: U, fail: &Self::Fail) -> U {
        // NaN of infinity.
        let number = x.map(
            #[inline(always)]
            |x| x.mul_add(U::Scalar::zero(), x),
        );
        match self.rounding.rounding() {
            Rounding::NearestEven | Rounding::NearestAway | Rounding::TowardsZero => {
                fail.1.add(number.map(Float::abs));
            }
            Rounding::TowardsPositive | Rounding::TowardsNegative => {
                fail.0.add(number);
                fail.1.add(number);
            }
        }
        x
    }
    #[inline(always)]
    fn failed(self, simd: S, (least, greatest): &Self::Fail) -> bool {
        least.get().any_lt(self.min) | U::Register::splat(simd, self.max).any_lt(greatest.get())
    }
}

impl<S: Simd, U: FloatUnit<S>> Each<S, U> for AtLeastOrNan<U::Scalar> {
    type Out = U;
    type Fail = LeastNumber<U::Register>;

    #[inline(always)]
    fn apply(self, _: S, x: U, fail: &Self::Fail) -> U {
        fail.add(x);
        x.map(
            #[inline(always)]
            |x| x.max_number(self.min),
        )
    }
    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        fail.get().any_lt(self.limit)
    }
}

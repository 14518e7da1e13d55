//! Operations on units of float32 and of float64, once for both.

use crate::Rounding;
use crate::pipeline::{Each, infallible};
use crate::simd::{F32s, F64s, I32s, NearestEven, Round, Simd};

/// A unit of floats.
pub(crate) trait FloatUnit<S: Simd>: Copy + 'static {
    /// One element.
    type Scalar: bytemuck::Pod + num_traits::Float + Send + Sync;
    /// A register.
    type Register: Copy;
    /// Bits that tell how great the units were that passed through `low_bits`.
    type Magnitude: Copy;

    /// An element with this value, exactly or to nearest-even.
    fn scalar(x: f64) -> Self::Scalar;
    /// The next greater element.
    fn next_up(x: Self::Scalar) -> Self::Scalar;
    fn splat(simd: S, x: Self::Scalar) -> Self;
    fn add(self, simd: S, b: Self) -> Self;
    fn sub(self, simd: S, b: Self) -> Self;
    fn mul(self, simd: S, b: Self) -> Self;
    fn div(self, simd: S, b: Self) -> Self;
    /// `self · b + c`, rounded once.
    fn fma(self, simd: S, b: Self, c: Self) -> Self;
    /// `c − self · b`, rounded once.
    fn neg_mul_add(self, simd: S, b: Self, c: Self) -> Self;
    fn min(self, simd: S, b: Self) -> Self;
    fn max(self, simd: S, b: Self) -> Self;
    /// The lesser; `b`, a number, where this is NaN.
    fn min_number(self, simd: S, b: Self) -> Self;
    /// The greater; `b`, a number, where this is NaN.
    fn max_number(self, simd: S, b: Self) -> Self;
    /// Whether any element is below `b`.
    fn any_below(self, simd: S, b: Self) -> bool;
    fn round(self, simd: S, rounding: impl Round) -> Self;
    /// `value` where this is NaN.
    fn replace_nan(self, simd: S, value: Self) -> Self;
    /// `value` where this equals `key`, else `other`.
    fn select_eq(self, simd: S, key: Self, value: Self, other: Self) -> Self;
    /// Less `b` where `x` equals `key`, else as it is.
    fn sub_where_eq(self, simd: S, x: Self, key: Self, b: Self) -> Self;
    /// This where `x` is finite, else zero.
    fn where_finite(self, simd: S, x: Self) -> Self;
    /// See [`Simd::f32_to_i32`].
    fn to_i32(self, simd: S, rounding: impl Round) -> I32s<S>;
    /// Zeros.
    fn zero(simd: S) -> Self::Register;
    fn magnitude(self, simd: S) -> Self;
    /// The greater of what is here and of numbers; where this is NaN, those.
    fn greatest(self, simd: S, numbers: Self::Register) -> Self::Register;
    /// As [`greatest`](FloatUnit::greatest), the lesser.
    fn least(self, simd: S, numbers: Self::Register) -> Self::Register;
    /// The least and the greatest numbers of both.
    fn join_ends(simd: S, a: [Self::Register; 2], b: [Self::Register; 2]) -> [Self::Register; 2];
    /// Whether any of the least numbers is below `min`, or of the greatest above `max`.
    fn any_beyond(simd: S, ends: [Self::Register; 2], min: Self::Scalar, max: Self::Scalar)
    -> bool;
    /// `sum`, and NaN in every lane that is not finite here.
    fn sum_if_finite(self, simd: S, sum: Self::Register) -> Self::Register;
    /// Whether a sum of those has a NaN.
    fn any_not_finite(simd: S, sum: Self::Register) -> bool;
    /// The sum of two sums.
    fn join_sums(simd: S, a: Self::Register, b: Self::Register) -> Self::Register;
    /// Rounds what is within ±2^31, or for float64 within ±2^51, into the low bits of 32.
    fn low_bits(self, simd: S, magnitude: &mut Self::Magnitude) -> I32s<S>;
    /// Of no unit.
    fn no_magnitude(simd: S) -> Self::Magnitude;
    /// Whether a unit was beyond what `low_bits` takes, or had a NaN.
    fn overflowed(simd: S, magnitude: Self::Magnitude) -> bool;
    /// Of the units of both.
    fn join_magnitudes(simd: S, a: Self::Magnitude, b: Self::Magnitude) -> Self::Magnitude;
}

/// 1.5 · 2^52: added to a number of magnitude below 2^51, it rounds that to an integer in the low bits of the
/// sum.
pub(crate) const MAGIC: f64 = 6_755_399_441_055_744.0;

/// The sum with [`MAGIC`], as bits, of a value rounded to nearest-even, which the addition does.
#[inline(always)]
pub(crate) fn rounding_sum<S: Simd>(simd: S, x: F64s<S>) -> [S::I64; 2] {
    let [low, high] = x.add(simd, F64s::splat(simd, MAGIC)).0;
    [simd.bits_f64(low), simd.bits_f64(high)]
}

impl<S: Simd> FloatUnit<S> for F32s<S> {
    type Scalar = f32;
    type Register = S::F32;
    /// The greatest magnitude, as bits: NaN's are greater than infinity's.
    type Magnitude = S::I32;

    #[inline(always)]
    fn scalar(x: f64) -> f32 {
        x as f32
    }
    #[inline(always)]
    fn next_up(x: f32) -> f32 {
        x.next_up()
    }
    #[inline(always)]
    fn splat(simd: S, x: f32) -> Self {
        Self(simd.splat_f32(x))
    }
    #[inline(always)]
    fn add(self, simd: S, b: Self) -> Self {
        Self(simd.add_f32(self.0, b.0))
    }
    #[inline(always)]
    fn sub(self, simd: S, b: Self) -> Self {
        Self(simd.sub_f32(self.0, b.0))
    }
    #[inline(always)]
    fn mul(self, simd: S, b: Self) -> Self {
        Self(simd.mul_f32(self.0, b.0))
    }
    #[inline(always)]
    fn div(self, simd: S, b: Self) -> Self {
        Self(simd.div_f32(self.0, b.0))
    }
    #[inline(always)]
    fn fma(self, simd: S, b: Self, c: Self) -> Self {
        Self(simd.fma_f32(self.0, b.0, c.0))
    }
    #[inline(always)]
    fn neg_mul_add(self, simd: S, b: Self, c: Self) -> Self {
        Self(simd.nfma_f32(self.0, b.0, c.0))
    }
    #[inline(always)]
    fn min(self, simd: S, b: Self) -> Self {
        Self(simd.min_f32(self.0, b.0))
    }
    #[inline(always)]
    fn max(self, simd: S, b: Self) -> Self {
        Self(simd.max_f32(self.0, b.0))
    }
    #[inline(always)]
    fn min_number(self, simd: S, b: Self) -> Self {
        Self(simd.min_number_f32(self.0, b.0))
    }
    #[inline(always)]
    fn max_number(self, simd: S, b: Self) -> Self {
        Self(simd.max_number_f32(self.0, b.0))
    }
    #[inline(always)]
    fn any_below(self, simd: S, b: Self) -> bool {
        simd.any_m32(simd.lt_f32(self.0, b.0))
    }
    #[inline(always)]
    fn round(self, simd: S, rounding: impl Round) -> Self {
        Self(simd.round_f32(self.0, rounding))
    }
    #[inline(always)]
    fn replace_nan(self, simd: S, value: Self) -> Self {
        Self(simd.select_f32(simd.is_nan_f32(self.0), value.0, self.0))
    }
    #[inline(always)]
    fn select_eq(self, simd: S, key: Self, value: Self, other: Self) -> Self {
        Self(simd.select_f32(simd.eq_f32(self.0, key.0), value.0, other.0))
    }
    #[inline(always)]
    fn sub_where_eq(self, simd: S, x: Self, key: Self, b: Self) -> Self {
        let equal = simd.mask_to_i32(simd.eq_f32(x.0, key.0));
        let b = simd.f32_from_bits(simd.and_i32(equal, simd.bits_f32(b.0)));
        Self(simd.sub_f32(self.0, b))
    }
    #[inline(always)]
    fn where_finite(self, simd: S, x: Self) -> Self {
        let finite = simd.lt_f32(simd.abs_f32(x.0), simd.splat_f32(f32::INFINITY));
        Self(simd.select_f32(finite, self.0, simd.splat_f32(0.0)))
    }
    #[inline(always)]
    fn to_i32(self, simd: S, rounding: impl Round) -> I32s<S> {
        I32s(simd.f32_to_i32(self.0, rounding))
    }
    #[inline(always)]
    fn zero(simd: S) -> S::F32 {
        simd.splat_f32(0.0)
    }
    #[inline(always)]
    fn magnitude(self, simd: S) -> Self {
        Self(simd.abs_f32(self.0))
    }
    #[inline(always)]
    fn greatest(self, simd: S, numbers: S::F32) -> S::F32 {
        simd.max_number_f32(self.0, numbers)
    }
    #[inline(always)]
    fn least(self, simd: S, numbers: S::F32) -> S::F32 {
        simd.min_number_f32(self.0, numbers)
    }
    #[inline(always)]
    fn join_ends(simd: S, a: [S::F32; 2], b: [S::F32; 2]) -> [S::F32; 2] {
        [simd.min_f32(a[0], b[0]), simd.max_f32(a[1], b[1])]
    }
    #[inline(always)]
    fn any_beyond(simd: S, [least, greatest]: [S::F32; 2], min: f32, max: f32) -> bool {
        simd.any_m32(simd.lt_f32(least, simd.splat_f32(min)))
            | simd.any_m32(simd.lt_f32(simd.splat_f32(max), greatest))
    }
    #[inline(always)]
    fn sum_if_finite(self, simd: S, sum: S::F32) -> S::F32 {
        simd.fma_f32(self.0, simd.splat_f32(0.0), sum)
    }
    #[inline(always)]
    fn any_not_finite(simd: S, sum: S::F32) -> bool {
        simd.any_m32(simd.is_nan_f32(sum))
    }
    #[inline(always)]
    fn join_sums(simd: S, a: S::F32, b: S::F32) -> S::F32 {
        simd.add_f32(a, b)
    }
    #[inline(always)]
    fn low_bits(self, simd: S, magnitude: &mut S::I32) -> I32s<S> {
        *magnitude = simd.max_u32(*magnitude, simd.bits_f32(simd.abs_f32(self.0)));
        self.to_i32(simd, NearestEven)
    }
    #[inline(always)]
    fn no_magnitude(simd: S) -> S::I32 {
        simd.splat_i32(0)
    }
    #[inline(always)]
    fn join_magnitudes(simd: S, a: S::I32, b: S::I32) -> S::I32 {
        simd.max_u32(a, b)
    }
    #[inline(always)]
    fn overflowed(simd: S, greatest: S::I32) -> bool {
        let beyond = 2_147_483_648_f32;
        simd.any_m32(simd.lt_i32(simd.splat_i32(beyond.to_bits() as i32 - 1), greatest))
    }
}

impl<S: Simd> F64s<S> {
    #[inline(always)]
    fn each(self, f: impl Fn(S::F64) -> S::F64) -> Self {
        Self([f(self.0[0]), f(self.0[1])])
    }
    #[inline(always)]
    fn with(self, b: Self, f: impl Fn(S::F64, S::F64) -> S::F64) -> Self {
        Self([f(self.0[0], b.0[0]), f(self.0[1], b.0[1])])
    }
}

impl<S: Simd> FloatUnit<S> for F64s<S> {
    type Scalar = f64;
    type Register = S::F64;
    /// Bits in which a sum differed from [`MAGIC`].
    type Magnitude = S::I64;

    #[inline(always)]
    fn scalar(x: f64) -> f64 {
        x
    }
    #[inline(always)]
    fn next_up(x: f64) -> f64 {
        x.next_up()
    }
    #[inline(always)]
    fn splat(simd: S, x: f64) -> Self {
        Self([simd.splat_f64(x); 2])
    }
    #[inline(always)]
    fn add(self, simd: S, b: Self) -> Self {
        self.with(
            b,
            #[inline(always)]
            |a, b| simd.add_f64(a, b),
        )
    }
    #[inline(always)]
    fn sub(self, simd: S, b: Self) -> Self {
        self.with(
            b,
            #[inline(always)]
            |a, b| simd.sub_f64(a, b),
        )
    }
    #[inline(always)]
    fn mul(self, simd: S, b: Self) -> Self {
        self.with(
            b,
            #[inline(always)]
            |a, b| simd.mul_f64(a, b),
        )
    }
    #[inline(always)]
    fn div(self, simd: S, b: Self) -> Self {
        self.with(
            b,
            #[inline(always)]
            |a, b| simd.div_f64(a, b),
        )
    }
    #[inline(always)]
    fn fma(self, simd: S, b: Self, c: Self) -> Self {
        let [x, y] = self.0;
        Self([simd.fma_f64(x, b.0[0], c.0[0]), simd.fma_f64(y, b.0[1], c.0[1])])
    }
    #[inline(always)]
    fn neg_mul_add(self, simd: S, b: Self, c: Self) -> Self {
        let [x, y] = self.0;
        Self([simd.nfma_f64(x, b.0[0], c.0[0]), simd.nfma_f64(y, b.0[1], c.0[1])])
    }
    #[inline(always)]
    fn min(self, simd: S, b: Self) -> Self {
        self.with(
            b,
            #[inline(always)]
            |a, b| simd.min_f64(a, b),
        )
    }
    #[inline(always)]
    fn max(self, simd: S, b: Self) -> Self {
        self.with(
            b,
            #[inline(always)]
            |a, b| simd.max_f64(a, b),
        )
    }
    #[inline(always)]
    fn min_number(self, simd: S, b: Self) -> Self {
        self.with(
            b,
            #[inline(always)]
            |a, b| simd.min_number_f64(a, b),
        )
    }
    #[inline(always)]
    fn max_number(self, simd: S, b: Self) -> Self {
        self.with(
            b,
            #[inline(always)]
            |a, b| simd.max_number_f64(a, b),
        )
    }
    #[inline(always)]
    fn any_below(self, simd: S, b: Self) -> bool {
        let ([low, high], [low_b, high_b]) = (self.0, b.0);
        simd.any_m64(simd.lt_f64(low, low_b)) | simd.any_m64(simd.lt_f64(high, high_b))
    }
    #[inline(always)]
    fn round(self, simd: S, rounding: impl Round) -> Self {
        self.each(
            #[inline(always)]
            |a| simd.round_f64(a, rounding),
        )
    }
    #[inline(always)]
    fn replace_nan(self, simd: S, value: Self) -> Self {
        self.with(
            value,
            #[inline(always)]
            |a, value| simd.select_f64(simd.is_nan_f64(a), value, a),
        )
    }
    #[inline(always)]
    fn select_eq(self, simd: S, key: Self, value: Self, other: Self) -> Self {
        let ([a, b], [key, _], [value, _], [other_a, other_b]) = (self.0, key.0, value.0, other.0);
        Self([
            simd.select_f64(simd.eq_f64(a, key), value, other_a),
            simd.select_f64(simd.eq_f64(b, key), value, other_b),
        ])
    }
    #[inline(always)]
    fn sub_where_eq(self, simd: S, x: Self, key: Self, b: Self) -> Self {
        let ([key, _], [b, _]) = (key.0, b.0);
        self.with(
            x,
            #[inline(always)]
            |a, x| {
                let equal = simd.mask_to_i64(simd.eq_f64(x, key));
                let b = simd.f64_from_bits(simd.and_i64(equal, simd.bits_f64(b)));
                simd.sub_f64(a, b)
            },
        )
    }
    #[inline(always)]
    fn where_finite(self, simd: S, x: Self) -> Self {
        self.with(
            x,
            #[inline(always)]
            |a, x| {
                let finite = simd.lt_f64(simd.abs_f64(x), simd.splat_f64(f64::INFINITY));
                simd.select_f64(finite, a, simd.splat_f64(0.0))
            },
        )
    }
    #[inline(always)]
    fn to_i32(self, simd: S, rounding: impl Round) -> I32s<S> {
        I32s(simd.f64_to_i32(self.0, rounding))
    }
    #[inline(always)]
    fn zero(simd: S) -> S::F64 {
        simd.splat_f64(0.0)
    }
    #[inline(always)]
    fn magnitude(self, simd: S) -> Self {
        self.each(
            #[inline(always)]
            |a| simd.abs_f64(a),
        )
    }
    #[inline(always)]
    fn greatest(self, simd: S, numbers: S::F64) -> S::F64 {
        simd.max_number_f64(self.0[1], simd.max_number_f64(self.0[0], numbers))
    }
    #[inline(always)]
    fn least(self, simd: S, numbers: S::F64) -> S::F64 {
        simd.min_number_f64(self.0[1], simd.min_number_f64(self.0[0], numbers))
    }
    #[inline(always)]
    fn join_ends(simd: S, a: [S::F64; 2], b: [S::F64; 2]) -> [S::F64; 2] {
        [simd.min_f64(a[0], b[0]), simd.max_f64(a[1], b[1])]
    }
    #[inline(always)]
    fn any_beyond(simd: S, [least, greatest]: [S::F64; 2], min: f64, max: f64) -> bool {
        simd.any_m64(simd.lt_f64(least, simd.splat_f64(min)))
            | simd.any_m64(simd.lt_f64(simd.splat_f64(max), greatest))
    }
    #[inline(always)]
    fn sum_if_finite(self, simd: S, sum: S::F64) -> S::F64 {
        let zero = simd.splat_f64(0.0);
        simd.fma_f64(self.0[1], zero, simd.fma_f64(self.0[0], zero, sum))
    }
    #[inline(always)]
    fn any_not_finite(simd: S, sum: S::F64) -> bool {
        simd.any_m64(simd.is_nan_f64(sum))
    }
    #[inline(always)]
    fn join_sums(simd: S, a: S::F64, b: S::F64) -> S::F64 {
        simd.add_f64(a, b)
    }
    #[inline(always)]
    fn low_bits(self, simd: S, magnitude: &mut S::I64) -> I32s<S> {
        let [low, high] = rounding_sum(simd, self);
        let magic = simd.splat_i64(MAGIC.to_bits() as i64);
        let either = simd.or_i64(simd.xor_i64(low, magic), simd.xor_i64(high, magic));
        *magnitude = simd.or_i64(*magnitude, either);
        I32s(simd.low_i64_to_i32([low, high]))
    }
    #[inline(always)]
    fn no_magnitude(simd: S) -> S::I64 {
        simd.splat_i64(0)
    }
    #[inline(always)]
    fn join_magnitudes(simd: S, a: S::I64, b: S::I64) -> S::I64 {
        simd.or_i64(a, b)
    }
    #[inline(always)]
    fn overflowed(simd: S, all: S::I64) -> bool {
        // Within ±2^51 a sum has the sign and exponent of MAGIC.
        simd.nonzero_i64(simd.and_i64(all, simd.splat_i64(!(-1_i64 as u64 >> 12) as i64)))
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

/// `x / scale + offset`, the division as a product with the scale's reciprocal in two words (Brisebarre, Muller and Raina
/// 2004), which is the division for most scales and integers of 16 bits; whoever takes it has to compare. It needs a
/// product that is not rounded; a level that has none divides.
#[derive(Clone, Copy)]
pub(crate) struct InverseScale<T> {
    pub(crate) scale: T,
    pub(crate) reciprocal: T,
    /// What the reciprocal lacks.
    pub(crate) rest: T,
    pub(crate) offset: T,
}

/// What `unscale` makes of floats, but for one.
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

/// The least value in place of NaN, and of what is below it; a number below `limit` fails.
#[derive(Clone, Copy)]
pub(crate) struct AtLeastOrNan<T> {
    pub(crate) min: T,
    /// At most `min`.
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

infallible! {
    [U: FloatUnit<S>] ReplaceNan: U => U, |self, simd, x| {
        x.replace_nan(simd, U::splat(simd, U::scalar(self.value)))
    };
    [U: FloatUnit<S>] Scale<U::Scalar>: U => U, |self, simd, x| {
        x.add(simd, U::splat(simd, self.shift)).mul(simd, U::splat(simd, self.scale))
    };
    [U: FloatUnit<S>] InverseScale<U::Scalar>: U => U, |self, simd, x| {
        let quotient = if S::FUSES {
            let rest = x.mul(simd, U::splat(simd, self.rest));
            x.fma(simd, U::splat(simd, self.reciprocal), rest)
        } else {
            x.div(simd, U::splat(simd, self.scale))
        };
        quotient.add(simd, U::splat(simd, self.offset))
    };
    [U: FloatUnit<S>] ReplaceAndInverseScale<U::Scalar>: U => U, |self, simd, x| {
        let y = self.unscale.apply(simd, x, &mut ());
        x.select_eq(simd, U::splat(simd, self.key), U::splat(simd, self.value), y)
    };
    [U: FloatUnit<S>] ReplaceByNanAndInverseScale<U::Scalar>: U => U, |self, simd, x| {
        let ReplaceAndInverseScale { unscale, key, value } = self.0;
        let y = unscale.apply(simd, x, &mut ());
        y.sub_where_eq(simd, x, U::splat(simd, key), U::splat(simd, value))
    };
    [U: FloatUnit<S>] ClampedBelow<U::Scalar>: U => U, |self, simd, x| {
        x.min(simd, U::splat(simd, self.max))
    };
    [U: FloatUnit<S>] Clamped<U::Scalar>: U => U, |self, simd, x| {
        x.max(simd, U::splat(simd, self.min)).min(simd, U::splat(simd, self.max))
    };
    [U: FloatUnit<S>] Remainder<U::Scalar>: U => U, |self, simd, x| {
        let count = x.mul(simd, U::splat(simd, self.inverse)).round(simd, Rounding::TowardsZero);
        count.neg_mul_add(simd, U::splat(simd, self.modulus), x)
    };
}

/// As it is; NaN and infinities fail.
#[derive(Clone, Copy)]
pub(crate) struct Finite;

impl<S: Simd, U: FloatUnit<S>> Each<S, U> for Finite {
    type Out = U;
    type Fail = U::Register;

    #[inline(always)]
    fn start(self, simd: S) -> U::Register {
        U::zero(simd)
    }
    #[inline(always)]
    fn apply(self, simd: S, x: U, fail: &mut U::Register) -> U {
        *fail = x.sum_if_finite(simd, *fail);
        x
    }
    #[inline(always)]
    fn join(self, simd: S, a: U::Register, b: U::Register) -> U::Register {
        U::join_sums(simd, a, b)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: U::Register) -> bool {
        U::any_not_finite(simd, fail)
    }
}

impl<S: Simd, U: FloatUnit<S>, R: Round> Each<S, U> for NumberWithin<U::Scalar, R> {
    type Out = U;
    /// The least and the greatest numbers, or the greatest magnitudes.
    type Fail = [U::Register; 2];

    #[inline(always)]
    fn start(self, simd: S) -> Self::Fail {
        [U::zero(simd); 2]
    }
    #[inline(always)]
    fn apply(self, simd: S, x: U, ends: &mut Self::Fail) -> U {
        // NaN of infinity.
        let number = x.fma(simd, U::splat(simd, U::scalar(0.0)), x);
        match self.rounding.rounding() {
            Rounding::NearestEven | Rounding::NearestAway | Rounding::TowardsZero => {
                ends[1] = number.magnitude(simd).greatest(simd, ends[1]);
            }
            Rounding::TowardsPositive | Rounding::TowardsNegative => {
                *ends = [number.least(simd, ends[0]), number.greatest(simd, ends[1])];
            }
        }
        x
    }
    #[inline(always)]
    fn join(self, simd: S, a: Self::Fail, b: Self::Fail) -> Self::Fail {
        U::join_ends(simd, a, b)
    }
    #[inline(always)]
    fn failed(self, simd: S, ends: Self::Fail) -> bool {
        U::any_beyond(simd, ends, self.min, self.max)
    }
}

impl<S: Simd, U: FloatUnit<S>> Each<S, U> for AtLeastOrNan<U::Scalar> {
    type Out = U;
    /// The least numbers.
    type Fail = U;

    #[inline(always)]
    fn start(self, simd: S) -> U {
        U::splat(simd, self.min)
    }
    #[inline(always)]
    fn apply(self, simd: S, x: U, fail: &mut U) -> U {
        *fail = x.min_number(simd, *fail);
        x.max_number(simd, U::splat(simd, self.min))
    }
    #[inline(always)]
    fn join(self, simd: S, a: U, b: U) -> U {
        a.min(simd, b)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: U) -> bool {
        fail.any_below(simd, U::splat(simd, self.limit))
    }
}

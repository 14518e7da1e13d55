//! Operations that several levels have no instruction for: each once, by those that they have.

use super::lanes::{
    CompareLanes, FloatElement, FloatLanes, IntElement, IntLanes, Lanes, MaskLanes, Raw,
};
use super::{F64, Float, I8s, I16s, I32s, I64, Register, Simd};
use crate::Rounding;

/// [`Simd::vectorize`] of a token that is proof of these features.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! vectorize_with {
    ($kernel:ident, $features:literal) => {{
        #[target_feature(enable = $features)]
        unsafe fn with_features<K: Kernel>(
            kernel: *const u8,
            input: Input<'_>,
            output: Output<'_>,
        ) -> bool {
            // SAFETY: the caller vouches for it.
            unsafe { run_kernel::<K>(kernel, input, output) }
        }
        with_features::<$kernel>
    }};
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use vectorize_with;

/// Where `a` is below `b`, as signed or unsigned integers.
#[inline(always)]
fn lt_i64<S: Simd, const SIGNED: bool>(
    simd: S,
    a: Raw<S, i64>,
    b: Raw<S, i64>,
) -> <S as MaskLanes<i64>>::Mask {
    if SIGNED {
        CompareLanes::<i64>::lt(simd, a, b)
    } else {
        // With the sign flipped, unsigned integers are in the order of signed ones.
        let sign = Lanes::<i64>::splat(simd, i64::MIN);
        let (a, b) = (IntLanes::<i64>::xor(simd, a, sign), IntLanes::<i64>::xor(simd, b, sign));
        CompareLanes::<i64>::lt(simd, a, b)
    }
}

/// [`IntLanes::min`] of 64 bits.
#[inline(always)]
pub(super) fn min_i64<S: Simd, const SIGNED: bool>(
    simd: S,
    a: Raw<S, i64>,
    b: Raw<S, i64>,
) -> Raw<S, i64> {
    CompareLanes::<i64>::select(simd, lt_i64::<S, SIGNED>(simd, a, b), a, b)
}

/// [`IntLanes::max`] of 64 bits.
#[inline(always)]
pub(super) fn max_i64<S: Simd, const SIGNED: bool>(
    simd: S,
    a: Raw<S, i64>,
    b: Raw<S, i64>,
) -> Raw<S, i64> {
    CompareLanes::<i64>::select(simd, lt_i64::<S, SIGNED>(simd, a, b), b, a)
}

/// [`FloatLanes::round`] to nearest-away, by that towards zero of the sum with the number before a half.
#[inline(always)]
pub(super) fn round_away<S, T>(simd: S, a: Raw<S, T>) -> Raw<S, T>
where
    S: FloatLanes<T> + IntLanes<T::Bits>,
    T: FloatElement<Bits: IntElement>,
{
    let a = Register::<S, T>::new(simd, a);
    let sign = a.to_bits() & Register::splat(simd, T::neg_zero()).to_bits();
    let half = Register::splat(simd, T::before_half()).to_bits();
    let sum = a + Register::from_bits(sign | half);
    sum.round(Rounding::TowardsZero).raw
}

/// 2^52, and 2^84 for upper halves: numbers whose mantissas count in units of 1 and 2^32.
pub(crate) const TWO_P52: f64 = 4_503_599_627_370_496.0;
pub(crate) const TWO_P84: f64 = 4_294_967_296.0 * TWO_P52;
pub(crate) const TWO_P63: f64 = 9_223_372_036_854_775_808.0;

/// [`Simd::i64_to_f64`]: the halves as mantissas under exponents at which they count in their unit. `blend` takes the
/// lower halves of its first lanes and the upper ones of its second.
#[inline(always)]
pub(super) fn i64_to_f64<S: Simd, const SIGNED: bool>(
    a: I64<S>,
    simd: S,
    blend: impl Fn(I64<S>, I64<S>) -> I64<S> + Copy,
) -> F64<S> {
    let low = blend(a, F64::splat(simd, TWO_P52).to_bits());
    // The sign bit of the half meets the bit of 2^63, which it flips.
    let base = if SIGNED { TWO_P84 + TWO_P63 } else { TWO_P84 };
    let high = a.shr::<32>() ^ base.to_bits() as i64;
    (F64::from_bits(high) - (base + TWO_P52)) + F64::from_bits(low)
}

/// [`Simd::integral_f64_to_i64`], signed or not: the upper and the lower 32 bits are each read from the mantissa of a sum;
/// all is exact. `blend` takes the lower halves of both.
#[inline(always)]
pub(super) fn integral_f64_to_i64<S: Simd>(
    a: F64<S>,
    blend: impl Fn(I64<S>, I64<S>) -> I64<S> + Copy,
) -> I64<S> {
    let high = (a * (1.0 / 4_294_967_296.0)).round(Rounding::TowardsNegative);
    let low = high.neg_mul_add(4_294_967_296.0, a) + TWO_P52;
    // 1.5 · 2^52: the upper half may be negative.
    let high = high + 1.5 * TWO_P52;
    blend(low.to_bits(), high.to_bits())
}

// x86: narrowing by the packing instructions, which saturate.

/// [`Simd::low_i32_to_i8`].
#[inline(always)]
pub(super) fn low_i32_to_i8<S: Simd>(simd: S, [a, b, c, d]: [I32s<S>; 4]) -> I8s<S> {
    let low = simd.pack_i32_to_i16::<false>(a & 0xff, b & 0xff);
    let high = simd.pack_i32_to_i16::<false>(c & 0xff, d & 0xff);
    simd.order_i8_packed_twice(simd.pack_i16_to_i8::<false>(low, high))
}

/// [`Simd::low_i32_to_i16`].
#[inline(always)]
pub(super) fn low_i32_to_i16<S: Simd>(simd: S, a: I32s<S>, b: I32s<S>) -> I16s<S> {
    simd.order_i16(simd.pack_i32_to_i16::<false>(a & 0xffff, b & 0xffff))
}

/// [`Simd::high_i32_to_i16`].
#[inline(always)]
pub(super) fn high_i32_to_i16<S: Simd>(simd: S, a: I32s<S>, b: I32s<S>) -> I16s<S> {
    simd.order_i16(simd.pack_i32_to_i16::<false>(a.shr::<16>(), b.shr::<16>()))
}

/// [`Simd::low_i16_to_i8`].
#[inline(always)]
pub(super) fn low_i16_to_i8<S: Simd>(simd: S, a: I16s<S>, b: I16s<S>) -> I8s<S> {
    simd.order_i8_packed_once(simd.pack_i16_to_i8::<false>(a & 0xff, b & 0xff))
}

/// A table of all bytes in rows of 16 for [`look_up_i8`]: each row of a half but the first as its difference from the
/// one before.
#[inline(always)]
pub(super) fn byte_rows(values: &[u8; 256]) -> [u8; 256] {
    core::array::from_fn(|place| match place % 128 {
        0..16 => values[place],
        _ => values[place] ^ values[place - 16],
    })
}

/// What the halves of a table have for the lower seven bits of the numbers. `shuffle` looks up in a row by the lower
/// four, and gives 0 where the highest bit is set: so the rows up to that of a number add up to it.
#[inline(always)]
pub(super) fn look_up_i8<S: Simd>(
    rows: [I8s<S>; 16],
    numbers: I8s<S>,
    shuffle: impl Fn(I8s<S>, I8s<S>) -> I8s<S> + Copy,
) -> [I8s<S>; 2] {
    let mut at = numbers & 0x7f;
    let (mut low, mut high) = (shuffle(rows[0], at), shuffle(rows[8], at));
    for row in 1..8 {
        at = at - 16;
        low = low ^ shuffle(rows[row], at);
        high = high ^ shuffle(rows[row + 8], at);
    }
    [low, high]
}

//! Rounds floating-point numbers to multiples of a power of two, ties to even.
//!
//! Adding 2^m to |x| / q, where m is the number of bits of the mantissa, leaves no room for a fraction, so the sum is
//! rounded to a whole number; subtracting 2^m and multiplying by q are exact. From 2^m · q on, every number is a multiple
//! already. For q below 1, 2^m · q itself is added, because 1 / q may be too large. Numbers keep their sign, also
//! that of 0; those that would round beyond the largest one of their type stay, as do NaN and infinities.

use num_traits::{Float, cast};
use recast_kernels::half::{bf16, f16};

use super::loops::{RoundingPass, each};

/// 2^`exponent`; 0 or infinity where `f64` has no such number.
pub(super) fn power_of_two(exponent: i32) -> f64 {
    match exponent {
        ..-1074 => 0.0,
        -1074..-1022 => f64::from_bits(1 << (exponent + 1074)),
        -1022..=1023 => f64::from_bits(((exponent + 1023) as u64) << 52),
        1024.. => f64::INFINITY,
    }
}

/// A type of elements, and the numbers as which they are rounded.
pub(super) trait RoundableFloat<const SIZE: usize> {
    type Work: Float;
    /// The bits of the mantissa of `Work`.
    const MANTISSA_BITS: i32;
    /// The largest finite number of the type.
    const MAX: Self::Work;

    fn load(bytes: [u8; SIZE]) -> Self::Work;

    /// Of a number that the type has.
    fn store(number: Self::Work) -> [u8; SIZE];
}

impl RoundableFloat<8> for f64 {
    type Work = Self;
    const MANTISSA_BITS: i32 = 52;
    const MAX: f64 = f64::MAX;

    #[inline(always)]
    fn load(bytes: [u8; 8]) -> f64 {
        f64::from_ne_bytes(bytes)
    }

    #[inline(always)]
    fn store(number: f64) -> [u8; 8] {
        number.to_ne_bytes()
    }
}

impl RoundableFloat<4> for f32 {
    type Work = f32;
    const MANTISSA_BITS: i32 = 23;
    const MAX: f32 = f32::MAX;

    #[inline(always)]
    fn load(bytes: [u8; 4]) -> f32 {
        f32::from_ne_bytes(bytes)
    }

    #[inline(always)]
    fn store(number: f32) -> [u8; 4] {
        number.to_ne_bytes()
    }
}

/// The upper half of a `float32`.
impl RoundableFloat<2> for bf16 {
    type Work = f32;
    const MANTISSA_BITS: i32 = 23;
    const MAX: f32 = f32::from_bits(0x7f7f << 16);

    #[inline(always)]
    fn load(bytes: [u8; 2]) -> f32 {
        f32::from_bits(u32::from(u16::from_ne_bytes(bytes)) << 16)
    }

    #[inline(always)]
    fn store(number: f32) -> [u8; 2] {
        ((number.to_bits() >> 16) as u16).to_ne_bytes()
    }
}

/// 2^112: the quotient of a `float16` and the `float32` with its exponent and mantissa in the same places.
const BIAS: f32 = f32::from_bits((112 + 127) << 23);

/// As a `float32`, where infinities and NaN are numbers from 65536 on: beyond the largest, so they stay.
impl RoundableFloat<2> for f16 {
    type Work = f32;
    const MANTISSA_BITS: i32 = 23;
    const MAX: f32 = 65504.0;

    #[inline(always)]
    fn load(bytes: [u8; 2]) -> f32 {
        let bits = u32::from(u16::from_ne_bytes(bytes));
        let magnitude = f32::from_bits((bits & 0x7fff) << 13) * BIAS;
        f32::from_bits(magnitude.to_bits() | (bits & 0x8000) << 16)
    }

    #[inline(always)]
    fn store(number: f32) -> [u8; 2] {
        let sign = number.to_bits() >> 16 & 0x8000;
        let magnitude = (number.abs() * (1.0 / BIAS)).to_bits() >> 13;
        ((sign | magnitude) as u16).to_ne_bytes()
    }
}

/// Rounds elements to multiples of 2^`exponent`, which `Work` has.
pub(super) fn to_multiples<T: RoundableFloat<SIZE>, const SIZE: usize>(
    exponent: i32,
    pass: RoundingPass<'_>,
) {
    // Of the smallest steps, 1 / q is infinite, and of the largest ones, 2^m · q.
    let (down, up, whole) = if exponent > 0 {
        (-exponent, exponent, T::MANTISSA_BITS)
    } else {
        (0, 0, T::MANTISSA_BITS + exponent)
    };
    let number = |power| cast(power_of_two(power)).unwrap_or_else(T::Work::infinity);
    let [down, up, whole]: [T::Work; 3] = [down, up, whole].map(number);
    each(pass, |bytes| {
        let x = T::load(bytes);
        let scaled = x.abs() * down;
        let y = ((scaled + whole) - whole) * up;
        T::store(if scaled < whole && y <= T::MAX { y.copysign(x) } else { x })
    });
}

//! Floats narrower than f32: to f32, which holds all their values, and back.
//!
//! One encoder serves all formats; it reads the format's constants from registers. `bfloat16` (a
//! truncated f32) and `float8_e8m0fnu` (no mantissa) have their own. One-byte floats are decoded by tables, so
//! only the two-byte ones have decoders.

use core::marker::PhantomData;

use bytemuck::Pod;
use num_traits::AsPrimitive;

use super::convert::{Range, Round};
use super::element_op::ElementOp;
use crate::element::BINARY16;
use crate::{FloatFormat, OutOfRange, Rounding, Specials};

const F32_MANTISSA_BITS: u32 = 23;
const F32_BIAS: i32 = 127;
const F32_INFINITY: u32 = 0x7f80_0000;
const F32_QUIET_NAN: u32 = 0x7fc0_0000;

/// One binary16 value as f32.
#[inline(always)]
pub(crate) fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff);
    let aligned = magnitude << (F32_MANTISSA_BITS - BINARY16.mantissa_bits);
    let normal = aligned + (((F32_BIAS - BINARY16.bias) as u32) << F32_MANTISSA_BITS);
    // A subnormal is its mantissa in units of 2^−24; a product with a power of two is exact.
    let subnormal = (magnitude as f32 * (1.0 / 16_777_216.0)).to_bits();
    let finite = if magnitude < 0x0400 { subnormal } else { normal };
    let not_finite = aligned | if magnitude > 0x7c00 { F32_QUIET_NAN } else { F32_INFINITY };
    f32::from_bits(sign | if magnitude >= 0x7c00 { not_finite } else { finite })
}

/// `float16` to f32.
#[derive(Clone, Copy)]
pub(crate) struct DecodeF16;

impl ElementOp for DecodeF16 {
    type Source = u16;
    type Target = f32;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: u16) -> (f32, ()) {
        (f16_to_f32(x), ())
    }
}

/// `bfloat16` to f32, NaNs made quiet.
#[derive(Clone, Copy)]
pub(crate) struct DecodeBf16;

impl ElementOp for DecodeBf16 {
    type Source = u16;
    type Target = f32;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: u16) -> (f32, ()) {
        let wide = f32::from_bits(u32::from(x) << 16);
        let quiet = if wide.is_nan() { 0x0040_0000 } else { 0 };
        (f32::from_bits(wide.to_bits() | quiet), ())
    }
}

/// Encodes f32 in a format with a sign and at most ten bits of mantissa.
///
/// The magnitude is added to the power of two whose unit in the last place is that of the result. The sum is
/// the magnitude rounded to nearest-even, and its bits minus those of the power count the units. The error of
/// the sum is known exactly, which gives the other roundings. The exponent is added, so a carry moves into
/// it.
#[derive(Clone, Copy)]
pub(crate) struct Encode<T, R, M> {
    /// Bits of f32's mantissa that the format lacks.
    dropped_bits: u32,
    /// The least normal number of the format, as f32.
    min_normal: u32,
    sign_shift: u32,
    max: u32,
    /// The result for magnitudes out of range: infinity, or the greatest finite one.
    overflow: u32,
    nan: u32,
    /// Bits of a NaN's mantissa that are kept.
    payload: u32,
    /// All ones if NaN and zero keep their sign, else 0.
    special_signs: u32,
    /// The sign bit if infinities, and if NaNs, need the reference; else 0.
    refuse_infinity: u32,
    refuse_nan: u32,
    policy: PhantomData<(T, R, M)>,
}

impl<T, R, M> Encode<T, R, M> {
    pub(crate) fn new(format: FloatFormat) -> Self {
        let FloatFormat { mantissa_bits, specials, .. } = format;
        let has_infinity = specials == Specials::Ieee;
        let refuse = |refused: bool| if refused { SIGN } else { 0 };
        Self {
            dropped_bits: F32_MANTISSA_BITS - mantissa_bits,
            min_normal: ((format.min_exponent() + F32_BIAS) as u32) << F32_MANTISSA_BITS,
            sign_shift: format.bits() - 1,
            max: format.max_bits() as u32,
            overflow: if has_infinity { format.infinity_bits() } else { format.max_bits() } as u32,
            nan: format.nan_bits().unwrap_or_default() as u32,
            payload: if has_infinity { (1 << mantissa_bits) - 1 } else { 0 },
            special_signs: if specials == Specials::Fnuz { 0 } else { u32::MAX },
            refuse_infinity: refuse(!has_infinity),
            refuse_nan: refuse(format.nan_bits().is_none()),
            policy: PhantomData,
        }
    }

    /// The same, if infinities are out of range instead of refused.
    pub(crate) fn with_infinities(self) -> Self {
        Self { refuse_infinity: 0, ..self }
    }
}

/// The sign bit of a word. Conditions gathered over a block are kept there, as signs of differences: LLVM does
/// not vectorise a reduction over selected masks.
const SIGN: u32 = 1 << 31;

impl<T: Pod + Send + Sync, R: Round, M: Range> ElementOp for Encode<T, R, M>
where
    u32: AsPrimitive<T>,
{
    type Source = f32;
    type Target = T;
    type Flags = u32;

    #[inline(always)]
    fn convert(&self, x: f32) -> (T, u32) {
        let Self { dropped_bits, min_normal, sign_shift, max, overflow, .. } = *self;
        let Self { nan, payload, special_signs, refuse_infinity, refuse_nan, .. } = *self;
        let x = x.to_bits();
        let sign = x >> 31;
        let magnitude = x & !SIGN;
        // So that the sum stays finite; it is far out of every format's range.
        let clamped = magnitude.min(F32_INFINITY - (24 << F32_MANTISSA_BITS));
        let nearest_away = R::ROUNDING == Some(Rounding::NearestAway);
        // As `away_from_tie`.
        let clamped = if nearest_away { clamped | 1 } else { clamped };
        let place = (clamped & F32_INFINITY).max(min_normal);
        let power = place + (dropped_bits << F32_MANTISSA_BITS);
        let sum = f32::from_bits(clamped) + f32::from_bits(power);
        let error = f32::from_bits(clamped) - (sum - f32::from_bits(power));
        let units = (sum.to_bits() - power).wrapping_add(correct::<R>(error, sign));
        let rounded = ((place - min_normal) >> dropped_bits) + units;

        let is_nan = magnitude > F32_INFINITY;
        let finite_or_infinite = if rounded > max { overflow } else { rounded };
        let kept = magnitude >> dropped_bits & payload;
        let bits = if is_nan { nan | kept } else { finite_or_infinite };
        let signs = if is_nan | (bits == 0) { special_signs } else { u32::MAX };

        let above_finite = (F32_INFINITY - 1).wrapping_sub(magnitude);
        let above_infinity = F32_INFINITY.wrapping_sub(magnitude);
        let mut fail = above_finite & !above_infinity & refuse_infinity;
        fail |= above_infinity & refuse_nan;
        if M::MODE == OutOfRange::Error {
            fail |= max.wrapping_sub(rounded) & !above_finite;
        }
        ((bits | (sign << sign_shift) & signs).as_(), fail)
    }

    #[inline(always)]
    fn failed(&self, flags: u32) -> bool {
        flags & SIGN != 0
    }
}

/// Turns a magnitude rounded to nearest-even with this error into one rounded in the direction of `R`: the
/// units in the last place to add.
#[inline(always)]
fn correct<R: Round>(error: f32, sign: u32) -> u32 {
    let inwards = 0_u32.wrapping_sub((error < 0.0) as u32);
    let outwards = (error > 0.0) as u32;
    let (upwards, downwards) = if sign == 0 { (outwards, inwards) } else { (inwards, outwards) };
    match R::ROUNDING {
        Some(Rounding::NearestEven | Rounding::NearestAway) | None => 0,
        Some(Rounding::TowardsZero) => inwards,
        Some(Rounding::TowardsPositive) => upwards,
        Some(Rounding::TowardsNegative) => downwards,
    }
}

/// A sum with the f32's bits whose upper half is the `bfloat16` that the f32 rounds to, unless it is NaN.
#[inline(always)]
fn carried_to_bf16<R: Round>(x: u32) -> u32 {
    let negative = (x as i32 >> 31) as u32;
    let carry = match R::ROUNDING {
        Some(Rounding::NearestEven) => 0x7fff + (x >> 16 & 1),
        Some(Rounding::NearestAway) => 0x8000,
        Some(Rounding::TowardsPositive) => 0xffff & !negative,
        Some(Rounding::TowardsNegative) => 0xffff & negative,
        Some(Rounding::TowardsZero) | None => 0,
    };
    x.wrapping_add(carry)
}

/// An f32 as bits whose upper half is the `bfloat16` that it becomes; and flags.
#[inline(always)]
fn rounded_to_bf16<R: Round, M: Range>(x: f32) -> (u32, u32) {
    let x = x.to_bits();
    let magnitude = x & !SIGN;
    let sum = carried_to_bf16::<R>(x);
    let fail = if M::MODE == OutOfRange::Error {
        // Infinite now, but not before.
        let infinite = (F32_INFINITY - 1).wrapping_sub(sum & !SIGN);
        infinite & magnitude.wrapping_sub(F32_INFINITY)
    } else {
        0
    };
    (if magnitude > F32_INFINITY { x | 0x0040_0000 } else { sum }, fail)
}

/// f32 to `bfloat16`: drops the lower half of the bits, for every exponent.
#[derive(Clone, Copy)]
pub(crate) struct EncodeBf16<R, M>(pub(crate) PhantomData<(R, M)>);

impl<R: Round, M: Range> ElementOp for EncodeBf16<R, M> {
    type Source = f32;
    type Target = u16;
    type Flags = u32;

    #[inline(always)]
    fn convert(&self, x: f32) -> (u16, u32) {
        let (word, fail) = rounded_to_bf16::<R, M>(x);
        ((word >> 16) as u16, fail)
    }

    #[inline(always)]
    fn failed(&self, flags: u32) -> bool {
        flags & SIGN != 0
    }
}

/// f32 to `float8_e8m0fnu`: powers of two, rounded between each other.
#[derive(Clone, Copy)]
pub(crate) struct EncodeE8m0<R, M>(pub(crate) PhantomData<(R, M)>);

impl<R: Round, M: Range> ElementOp for EncodeE8m0<R, M> {
    type Source = f32;
    type Target = u8;
    type Flags = u32;

    #[inline(always)]
    fn convert(&self, x: f32) -> (u8, u32) {
        let x = x.to_bits();
        let mantissa = x & 0x007f_ffff;
        let field = x >> F32_MANTISSA_BITS & 0xff;
        let up = match R::ROUNDING {
            // A tie, 1.5 · 2^k, goes to the even one of the two exponent bytes.
            Some(Rounding::NearestEven) | None => (mantissa + (field & 1) > 0x0040_0000) as u32,
            Some(Rounding::NearestAway) => (mantissa >= 0x0040_0000) as u32,
            Some(Rounding::TowardsPositive) => (mantissa != 0) as u32,
            Some(Rounding::TowardsZero | Rounding::TowardsNegative) => 0,
        };
        // Below the normal numbers of f32 is only 2^−127, byte 0. Each rounding reaches it from
        // a different value on.
        let least = match R::ROUNDING {
            Some(Rounding::NearestEven | Rounding::NearestAway) | None => 0x0030_0000,
            Some(Rounding::TowardsPositive) => 0x0020_0001,
            Some(Rounding::TowardsZero | Rounding::TowardsNegative) => 0x0040_0000,
        };
        let above_least = match R::ROUNDING {
            Some(Rounding::NearestEven | Rounding::NearestAway) | None => {
                (mantissa >= 0x0060_0000 + u32::from(R::ROUNDING == Some(Rounding::NearestEven)))
                    as u32
            }
            Some(Rounding::TowardsPositive) => (mantissa > 0x0040_0000) as u32,
            Some(Rounding::TowardsZero | Rounding::TowardsNegative) => 0,
        };
        let byte = if field == 0 { above_least } else { field + up };
        let magnitude = x & !SIGN;
        let below = (x >> 31 == 1) | ((field == 0) & (mantissa < least));
        let clamped = if below { 0 } else { byte.min(0xfe) };
        let is_nan = magnitude > F32_INFINITY;

        // As signs: infinite; and not NaN, but negative, below the least or above the greatest.
        let not_nan = !F32_INFINITY.wrapping_sub(magnitude);
        let mut fail = (F32_INFINITY - 1).wrapping_sub(magnitude) & not_nan;
        if M::MODE == OutOfRange::Error {
            let too_small = magnitude.wrapping_sub(least);
            fail |= (x | too_small | 0xfe_u32.wrapping_sub(byte)) & not_nan;
        }
        ((if is_nan { 0xff } else { clamped }) as u8, fail)
    }

    #[inline(always)]
    fn failed(&self, flags: u32) -> bool {
        flags & SIGN != 0
    }
}

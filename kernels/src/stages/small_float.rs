//! Floats narrower than f32: to f32, which holds every value of theirs, and back.
//!
//! One encoder serves all formats; it reads the format's constants from registers. `bfloat16` (a
//! truncated f32), `float8_e8m0fnu` (no mantissa) and, where the CPU converts it, `float16` have their
//! own. One-byte floats are decoded by tables, so only the two-byte ones have decoders.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use bytemuck::Pod;
use num_traits::AsPrimitive;

use super::convert::{Range, Round};
use super::{Kernel, Stage, Unaligned, elements, for_each, output_elements};
use crate::level::{Token, direction};
use crate::{ElementType, FloatFormat, Level, OutOfRange, Rounding, Specials};

const F32_MANTISSA_BITS: u32 = 23;
const F32_BIAS: i32 = 127;
const F32_INFINITY: u32 = 0x7f80_0000;
const F32_QUIET_NAN: u32 = 0x7fc0_0000;

/// One binary16 value as f32, for levels without an instruction for it.
#[inline(always)]
pub(crate) fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff);
    let aligned = magnitude << (F32_MANTISSA_BITS - F16.mantissa_bits);
    let normal = aligned + (((F32_BIAS - F16.bias) as u32) << F32_MANTISSA_BITS);
    // A subnormal is its mantissa in units of 2^−24; a product with a power of two is exact.
    let subnormal = (magnitude as f32 * (1.0 / 16_777_216.0)).to_bits();
    let finite = if magnitude < 0x0400 { subnormal } else { normal };
    let not_finite = aligned | if magnitude > 0x7c00 { F32_QUIET_NAN } else { F32_INFINITY };
    f32::from_bits(sign | if magnitude >= 0x7c00 { not_finite } else { finite })
}

const F16: FloatFormat =
    FloatFormat { exponent_bits: 5, mantissa_bits: 10, bias: 15, specials: Specials::Ieee };

/// `float16` to f32, by the level's instruction if it has one.
pub(crate) struct DecodeF16;

// SAFETY: chunks and remainder together initialise the output.
unsafe impl Kernel for DecodeF16 {
    const SIZES: (usize, usize) = (2, 4);

    #[inline(always)]
    fn run<L: Token>(&self, token: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        in_chunks(input, output, |x: [u16; 8]| token.f16_to_f32(x));
        false
    }
}

/// Applies `f` to chunks of eight, the last one filled up with copies of its first element.
#[inline(always)]
fn in_chunks<S: Pod, T: Pod>(
    input: &[u8],
    output: &mut [MaybeUninit<u8>],
    mut f: impl FnMut([S; 8]) -> [T; 8],
) {
    let (input, last_input) = elements::<S>(input).as_chunks::<8>();
    let (output, last_output) = output_elements::<T>(output).as_chunks_mut::<8>();
    for (to, from) in output.iter_mut().zip(input) {
        *to = f(from.map(|x| x.0)).map(|y| MaybeUninit::new(Unaligned(y)));
    }
    if let Some(first) = last_input.first() {
        let mut filled = [first.0; 8];
        for (to, from) in filled.iter_mut().zip(last_input) {
            *to = from.0;
        }
        for (to, from) in last_output.iter_mut().zip(f(filled)) {
            to.write(Unaligned(from));
        }
    }
}

/// `bfloat16` to f32: the upper half of its bits, NaNs made quiet.
pub(crate) struct DecodeBf16;

// SAFETY: `for_each` initialises the output.
unsafe impl Kernel for DecodeBf16 {
    const SIZES: (usize, usize) = (2, 4);

    #[inline(always)]
    fn run<L: Token>(&self, _: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        for_each(input, output, |x: u16| {
            let bits = u32::from(x) << 16;
            let is_nan = bits & 0x7fff_ffff > F32_INFINITY;
            bits | if is_nan { 0x0040_0000 } else { 0 }
        });
        false
    }
}

/// Encodes f32 in a format with a sign.
///
/// The significand, with its implicit bit, is shifted right to the format's unit in the last place,
/// by more where the result is subnormal, and rounded there. Placing exponent and significand by an
/// addition lets a carry move into the exponent.
pub(crate) struct Encode<T, R, M> {
    format: FloatFormat,
    policy: PhantomData<(T, R, M)>,
}

impl<T, R, M> Encode<T, R, M> {
    pub(crate) fn new(format: FloatFormat) -> Self {
        Self { format, policy: PhantomData }
    }
}

// SAFETY: `for_each` initialises the output.
unsafe impl<T: Pod + Send + Sync, R: Round, M: Range> Kernel for Encode<T, R, M>
where
    u32: AsPrimitive<T>,
{
    const SIZES: (usize, usize) = (4, size_of::<T>());

    #[inline(always)]
    fn run<L: Token>(&self, _: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let format = self.format;
        let mut wrong = 0;
        for_each(input, output, |x: u32| {
            let (encoded, refused) = encode::<R, M>(format, x);
            wrong |= refused;
            encoded.as_()
        });
        wrong != 0
    }
}

/// One f32, given by its bits, in a format with a sign; and whether it may be refused, as a mask.
#[inline(always)]
fn encode<R: Round, M: Range>(format: FloatFormat, x: u32) -> (u32, u32) {
    let FloatFormat { mantissa_bits, specials, .. } = format;
    let sign = x >> 31;
    let magnitude = x & 0x7fff_ffff;
    let field = (magnitude >> F32_MANTISSA_BITS) as i32;

    let implicit = if field != 0 { 1 << F32_MANTISSA_BITS } else { 0 };
    let significand = (magnitude & 0x007f_ffff) | implicit;
    let exponent = field.max(1) - F32_BIAS;
    let held = exponent.max(format.min_exponent());
    // 25 places already leave nothing but the direction of rounding.
    let shift = ((F32_MANTISSA_BITS - mantissa_bits) as i32 + held - exponent).min(25) as u32;
    let up = round_up::<R>(significand, shift, sign);
    let quotient = (significand >> shift) + up;
    let rounded = (((held - format.min_exponent()) as u32) << mantissa_bits) + quotient;

    let infinity = format.infinity_bits() as u32;
    let max = format.max_bits() as u32;
    let out_of_range = rounded > max;
    let not_finite = magnitude >= F32_INFINITY;
    let is_nan = magnitude > F32_INFINITY;

    let beyond = if matches!(specials, Specials::Ieee) { infinity } else { max };
    let bits = if out_of_range { beyond } else { rounded };
    let sign_bit = format.bits() - 1;
    let signed = sign << sign_bit;
    let mut refused =
        if M::MODE == OutOfRange::Error { mask(out_of_range & !not_finite) } else { 0 };
    let encoded = match specials {
        Specials::Ieee => {
            let payload = magnitude >> (F32_MANTISSA_BITS - mantissa_bits);
            let quiet = infinity | 1 << (mantissa_bits - 1);
            let nan = quiet | payload & ((1 << mantissa_bits) - 1);
            (if is_nan { nan } else { bits }) | signed
        }
        Specials::Fnuz => {
            refused |= mask(magnitude == F32_INFINITY);
            let nonzero = bits | if bits == 0 { 0 } else { signed };
            if is_nan { 1 << sign_bit } else { nonzero }
        }
        Specials::FiniteOnly | Specials::PowersOfTwo => {
            refused |= mask(not_finite);
            bits | signed
        }
    };
    (encoded, refused)
}

#[inline(always)]
fn mask(condition: bool) -> u32 {
    if condition { u32::MAX } else { 0 }
}

/// 1 if dropping the low `shift` bits of a significand rounds up in magnitude, else 0.
#[inline(always)]
fn round_up<R: Round>(significand: u32, shift: u32, sign: u32) -> u32 {
    let unit = 1 << shift;
    let rest = significand & (unit - 1);
    match R::ROUNDING {
        Some(Rounding::NearestEven) => {
            // More than half, or half with an odd quotient: the sum carries into the quotient.
            let odd = (significand >> shift) & 1;
            (rest + (unit >> 1) - 1 + odd) >> shift
        }
        Some(Rounding::NearestAway) => (rest + (unit >> 1)) >> shift,
        Some(Rounding::TowardsPositive) => (rest != 0) as u32 & !sign & 1,
        Some(Rounding::TowardsNegative) => (rest != 0) as u32 & sign,
        Some(Rounding::TowardsZero) | None => 0,
    }
}

/// f32 to `bfloat16`: dropping the lower half of the bits, whatever the exponent.
pub(crate) struct EncodeBf16<R, M>(pub(crate) PhantomData<(R, M)>);

// SAFETY: `for_each` initialises the output.
unsafe impl<R: Round, M: Range> Kernel for EncodeBf16<R, M> {
    const SIZES: (usize, usize) = (4, 2);

    #[inline(always)]
    fn run<L: Token>(&self, _: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let mut wrong = 0;
        for_each(input, output, |x: u32| {
            let magnitude = x & 0x7fff_ffff;
            let rounded = (x >> 16) + round_up::<R>(x & 0x7fff_ffff, 16, x >> 31);
            if M::MODE == OutOfRange::Error {
                wrong |=
                    mask((rounded & 0x7fff == F32_INFINITY >> 16) & (magnitude < F32_INFINITY));
            }
            let nan = (x >> 16) | 0x0040;
            (if magnitude > F32_INFINITY { nan } else { rounded }) as u16
        });
        wrong != 0
    }
}

/// f32 to `float8_e8m0fnu`: powers of two, rounded between each other.
pub(crate) struct EncodeE8m0<R, M>(pub(crate) PhantomData<(R, M)>);

// SAFETY: `for_each` initialises the output.
unsafe impl<R: Round, M: Range> Kernel for EncodeE8m0<R, M> {
    const SIZES: (usize, usize) = (4, 1);

    #[inline(always)]
    fn run<L: Token>(&self, _: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let mut wrong = 0;
        for_each(input, output, |x: u32| {
            let mantissa = x & 0x007f_ffff;
            let field = x >> F32_MANTISSA_BITS & 0xff;
            let up = match R::ROUNDING {
                // A tie, 1.5 · 2^k, goes to the even one of the two exponent bytes.
                Some(Rounding::NearestEven) | None => (mantissa + (field & 1) > 0x0040_0000) as u32,
                Some(Rounding::NearestAway) => (mantissa >= 0x0040_0000) as u32,
                Some(Rounding::TowardsPositive) => (mantissa != 0) as u32,
                Some(Rounding::TowardsZero | Rounding::TowardsNegative) => 0,
            };
            // Below the normal numbers of f32 lies only 2^−127, byte 0; each rounding reaches it
            // from another point on.
            let least = match R::ROUNDING {
                Some(Rounding::NearestEven | Rounding::NearestAway) | None => 0x0030_0000,
                Some(Rounding::TowardsPositive) => 0x0020_0001,
                Some(Rounding::TowardsZero | Rounding::TowardsNegative) => 0x0040_0000,
            };
            let above_least = match R::ROUNDING {
                Some(Rounding::NearestEven | Rounding::NearestAway) | None => {
                    (mantissa
                        >= 0x0060_0000 + u32::from(R::ROUNDING == Some(Rounding::NearestEven)))
                        as u32
                }
                Some(Rounding::TowardsPositive) => (mantissa > 0x0040_0000) as u32,
                Some(Rounding::TowardsZero | Rounding::TowardsNegative) => 0,
            };
            let byte = if field == 0 { above_least } else { field + up };
            let is_nan = x & 0x7fff_ffff > F32_INFINITY;
            let is_infinite = x & 0x7fff_ffff == F32_INFINITY;
            let below = (x >> 31 == 1) | ((field == 0) & (mantissa < least));
            let above = byte > 0xfe;
            wrong |= mask(is_infinite);
            if M::MODE == OutOfRange::Error {
                wrong |= mask((below | above) & !is_nan);
            }
            let held = if below { 0 } else { byte.min(0xfe) };
            (if is_nan { 0xff } else { held }) as u8
        });
        wrong != 0
    }
}

/// f32 to `float16`, by the level's instruction if it has one for the rounding.
pub(crate) struct EncodeF16<R, M>(pub(crate) PhantomData<(R, M)>);

// SAFETY: chunks and remainder together initialise the output.
unsafe impl<R: Round, M: Range> Kernel for EncodeF16<R, M> {
    const SIZES: (usize, usize) = (4, 2);

    #[inline(always)]
    fn run<L: Token>(&self, token: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let mut wrong = [0_u32; 8];
        in_chunks(input, output, |x: [f32; 8]| {
            let converted = match R::ROUNDING {
                Some(Rounding::NearestEven) => token.f32_to_f16::<{ direction::NEAREST_EVEN }>(x),
                Some(Rounding::TowardsZero) => token.f32_to_f16::<{ direction::ZERO }>(x),
                Some(Rounding::TowardsPositive) => token.f32_to_f16::<{ direction::POSITIVE }>(x),
                Some(Rounding::TowardsNegative) => token.f32_to_f16::<{ direction::NEGATIVE }>(x),
                Some(Rounding::NearestAway) | None => None,
            };
            let Some(mut converted) = converted else {
                let both = x.map(|x| encode::<R, M>(F16, x.to_bits()));
                for (wrong, (_, refused)) in wrong.iter_mut().zip(both) {
                    *wrong |= refused;
                }
                return both.map(|(encoded, _)| encoded as u16);
            };
            for lane in 0..8 {
                let magnitude = x[lane].abs();
                // What is out of range: the instruction gives Inf only to nearest, else the
                // greatest finite value; 65504 towards zero reaches to 65536.
                let limit: f32 = match R::ROUNDING {
                    Some(Rounding::NearestEven) => 65_519.996,
                    Some(Rounding::TowardsPositive) if x[lane] > 0.0 => 65_504.0,
                    Some(Rounding::TowardsNegative) if x[lane] < 0.0 => 65_504.0,
                    _ => 65_535.996,
                };
                let outside = (magnitude > limit) & (magnitude < f32::INFINITY);
                if M::MODE == OutOfRange::Error {
                    wrong[lane] |= mask(outside);
                } else if outside {
                    converted[lane] = 0x7c00 | (converted[lane] & 0x8000);
                }
            }
            converted
        });
        wrong.iter().fold(0, |any, wrong| any | wrong) != 0
    }
}

/// The stage from f32 to a narrower float, boxed for its level.
pub(crate) fn encoder<R: Round, M: Range>(
    target: ElementType,
    format: FloatFormat,
    level: Level,
) -> Box<dyn Stage> {
    match target {
        ElementType::BFloat16 => level.bind(EncodeBf16::<R, M>(PhantomData)),
        ElementType::Float16 => level.bind(EncodeF16::<R, M>(PhantomData)),
        ElementType::Float8E8M0Fnu => level.bind(EncodeE8m0::<R, M>(PhantomData)),
        _ => level.bind(Encode::<u8, R, M>::new(format)),
    }
}

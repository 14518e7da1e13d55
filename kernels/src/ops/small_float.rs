//! Floats of at most 16 bits, by arithmetic in 32-bit lanes: one decoder and one encoder for all formats, which
//! read the format's constants from registers; `float8_e8m0fnu`, which has no mantissa, has its own.

use crate::pipeline::{Each, Load, failing_lanes};
use crate::simd::{F32s, I32s, Round, Simd};
use crate::{FloatFormat, Rounding, Specials};

const MANTISSA_BITS: u32 = 23;
const BIAS: i32 = 127;
const INFINITY: i32 = 0x7f80_0000;
const QUIET: i32 = 0x0040_0000;

/// Decodes one-byte floats of sign, exponent and mantissa to float32, which holds them all. NaNs become quiet and
/// keep their sign and payload.
#[derive(Clone, Copy)]
pub(crate) struct Decode {
    /// Places of the mantissa below that of float32.
    shift: u32,
    sign_shift: u32,
    magnitude: i32,
    /// The greatest subnormal.
    subnormal: i32,
    /// One unit in the last place of a subnormal.
    unit: f32,
    /// To be added to an exponent, in place.
    rebias: i32,
    /// The magnitude of infinity; beyond all magnitudes where there is none.
    infinity: i32,
    /// The pattern of the only NaN of a format without infinity; no byte where there is none.
    nan: i32,
}

impl Decode {
    pub(crate) fn new(format: FloatFormat) -> Self {
        let FloatFormat { mantissa_bits, bias, specials, .. } = format;
        let magnitude_bits = format.bits() - 1;
        let (infinity, nan) = match specials {
            Specials::Ieee => (format.infinity_bits() as i32, -1),
            Specials::Fnuz => (i32::MAX, 1 << magnitude_bits),
            // Powers of two have a decoder of their own.
            Specials::FiniteOnly | Specials::PowersOfTwo => (i32::MAX, -1),
        };
        let unit_exponent = format.min_exponent() - mantissa_bits as i32 + BIAS;
        Self {
            shift: MANTISSA_BITS - mantissa_bits,
            sign_shift: 31 - magnitude_bits,
            magnitude: (1 << magnitude_bits) - 1,
            subnormal: (1 << mantissa_bits) - 1,
            unit: f32::from_bits((unit_exponent as u32) << MANTISSA_BITS),
            rebias: (BIAS - bias) << MANTISSA_BITS,
            infinity,
            nan,
        }
    }
}

impl<S: Simd> Load<S> for Decode {
    const SIZE: usize = 1;
    type Unit = F32s<S>;

    #[inline(always)]
    unsafe fn load<const UNIT: usize>(self, simd: S, p: *const u8) -> F32s<S> {
        // SAFETY: the caller vouches for the group, and this is a unit of it.
        let byte = unsafe { simd.load_u8_to_i32::<UNIT>(p) };
        let magnitude = simd.and_i32(byte, simd.splat_i32(self.magnitude));
        let aligned = simd.shl_i32_by(magnitude, self.shift);
        let normal = simd.add_i32(aligned, simd.splat_i32(self.rebias));
        // A subnormal is its mantissa in units; the product with a power of two is exact.
        let subnormal = simd.mul_f32(simd.i32_to_f32(magnitude), simd.splat_f32(self.unit));
        let is_normal = simd.lt_i32(simd.splat_i32(self.subnormal), magnitude);
        let finite = simd.select_i32(is_normal, normal, simd.bits_f32(subnormal));
        let infinity = simd.splat_i32(self.infinity);
        let is_nan = simd.lt_i32(infinity, magnitude);
        let is_special = simd.or_m32(is_nan, simd.eq_i32(magnitude, infinity));
        let special = simd.or_i32(aligned, simd.splat_i32(INFINITY));
        let special = simd.select_i32(is_nan, simd.or_i32(special, simd.splat_i32(QUIET)), special);
        let value = simd.select_i32(is_special, special, finite);
        let sign = simd.and_i32(simd.shl_i32_by(byte, self.sign_shift), simd.splat_i32(i32::MIN));
        let value = simd.or_i32(value, sign);
        let is_only_nan = simd.eq_i32(byte, simd.splat_i32(self.nan));
        let value = simd.select_i32(is_only_nan, simd.splat_i32(INFINITY | QUIET), value);
        F32s(simd.f32_from_bits(value))
    }
}

/// Decodes `float8_e8m0fnu`, powers of two, to float32.
#[derive(Clone, Copy)]
pub(crate) struct DecodeE8m0;

impl<S: Simd> Load<S> for DecodeE8m0 {
    const SIZE: usize = 1;
    type Unit = F32s<S>;

    #[inline(always)]
    unsafe fn load<const UNIT: usize>(self, simd: S, p: *const u8) -> F32s<S> {
        // SAFETY: the caller vouches for the group, and this is a unit of it.
        let byte = unsafe { simd.load_u8_to_i32::<UNIT>(p) };
        let power = simd.shl_i32::<23>(byte);
        // 2^−127 is subnormal; the byte that would be infinity is NaN.
        let is_least = simd.eq_i32(byte, simd.splat_i32(0));
        let power = simd.select_i32(is_least, simd.splat_i32(0x0040_0000), power);
        let is_nan = simd.eq_i32(byte, simd.splat_i32(0xff));
        let value = simd.select_i32(is_nan, simd.splat_i32(INFINITY | QUIET), power);
        F32s(simd.f32_from_bits(value))
    }
}

/// Encodes float32 in a format of sign, exponent and mantissa, in the low bits of 32. The sum with the power of two
/// that has the result's unit in the last place rounds to nearest-even, and counts those units; the error of the
/// sum says how another rounding differs. With `FAILS`, what rounds out of range fails; else it becomes infinity,
/// or the greatest finite value.
#[derive(Clone, Copy)]
pub(crate) struct Encode<R, const FAILS: bool> {
    /// Places of a mantissa of float32 beyond the format's.
    dropped: u32,
    /// The least normal number, as bits of float32.
    min_normal: i32,
    sign_shift: u32,
    /// The magnitude of the greatest finite value, and what stands for those out of range.
    max: i32,
    overflow: i32,
    nan: i32,
    /// Bits of a NaN's payload that are kept.
    payload: i32,
    /// Whether NaN and zero lose their sign.
    unsigned_specials: i32,
    /// The magnitude of float32 that fails, and the greatest one that does not because of being NaN.
    failing_infinity: i32,
    greatest: i32,
    rounding: R,
}

impl<R: Round, const FAILS: bool> Encode<R, FAILS> {
    /// `infinity_fails` says that an infinity may stand for a number beyond float32.
    pub(crate) fn new(format: FloatFormat, rounding: R, infinity_fails: bool) -> Self {
        let FloatFormat { mantissa_bits, specials, .. } = format;
        let has_infinity = specials == Specials::Ieee;
        let max = format.max_bits() as i32;
        let nan = format.nan_bits();
        Self {
            dropped: MANTISSA_BITS - mantissa_bits,
            min_normal: (format.min_exponent() + BIAS) << MANTISSA_BITS,
            sign_shift: 32 - format.bits(),
            max,
            overflow: if has_infinity { max + 1 } else { max },
            nan: nan.unwrap_or_default() as i32,
            payload: if has_infinity { (1 << mantissa_bits) - 1 } else { 0 },
            unsigned_specials: if specials == Specials::Fnuz { -1 } else { 0 },
            failing_infinity: if !has_infinity || infinity_fails { INFINITY } else { -1 },
            greatest: if nan.is_none() { INFINITY } else { i32::MAX },
            rounding,
        }
    }
}

impl<S: Simd, R: Round, const FAILS: bool> Each<S, F32s<S>> for Encode<R, FAILS> {
    type Out = I32s<S>;
    failing_lanes!();

    #[inline(always)]
    fn apply(self, simd: S, x: F32s<S>, fail: &mut S::M32) -> I32s<S> {
        let bits = simd.bits_f32(x.0);
        let negative = simd.shr_i32::<31>(bits);
        let magnitude = simd.and_i32(bits, simd.splat_i32(i32::MAX));
        // So that the sum stays finite; it is far out of every format's range.
        let held = simd.min_i32(magnitude, simd.splat_i32(INFINITY - (24 << MANTISSA_BITS)));
        let held = if self.rounding.rounding() == Rounding::NearestAway {
            // A tie has an even mantissa, so the next number is beyond the tie and nothing else.
            simd.or_i32(held, simd.splat_i32(1))
        } else {
            held
        };
        let min_normal = simd.splat_i32(self.min_normal);
        let place = simd.max_i32(simd.and_i32(held, simd.splat_i32(INFINITY)), min_normal);
        let power = simd.add_i32(place, simd.splat_i32((self.dropped << MANTISSA_BITS) as i32));
        let (value, unit) = (simd.f32_from_bits(held), simd.f32_from_bits(power));
        let sum = simd.add_f32(value, unit);
        let units = simd.sub_i32(simd.bits_f32(sum), power);
        let error = simd.sub_f32(value, simd.sub_f32(sum, unit));
        let units = simd.add_i32(units, correction(simd, error, negative, self.rounding));
        let exponent = simd.shr_u32_by(simd.sub_i32(place, min_normal), self.dropped);
        let rounded = simd.add_i32(exponent, units);

        let infinity = simd.splat_i32(INFINITY);
        let is_nan = simd.lt_i32(infinity, magnitude);
        let beyond = simd.lt_i32(simd.splat_i32(self.max), rounded);
        let payload =
            simd.and_i32(simd.shr_u32_by(magnitude, self.dropped), simd.splat_i32(self.payload));
        let nan = simd.or_i32(payload, simd.splat_i32(self.nan));
        let finite = simd.select_i32(beyond, simd.splat_i32(self.overflow), rounded);
        let unsigned = simd.select_i32(is_nan, nan, finite);
        let is_zero = simd.eq_i32(unsigned, simd.splat_i32(0));
        let special = simd.mask_to_i32(simd.or_m32(is_nan, is_zero));
        let signless = simd.and_i32(special, simd.splat_i32(self.unsigned_specials));
        let sign = simd.shr_u32_by(simd.and_i32(bits, simd.splat_i32(i32::MIN)), self.sign_shift);
        let sign = simd.andnot_i32(signless, sign);

        let failing = simd.eq_i32(magnitude, simd.splat_i32(self.failing_infinity));
        let failing = simd.or_m32(failing, simd.lt_i32(simd.splat_i32(self.greatest), magnitude));
        *fail = simd.or_m32(*fail, failing);
        if FAILS {
            let finite = simd.lt_i32(magnitude, infinity);
            *fail = simd.or_m32(*fail, simd.and_m32(beyond, finite));
        }
        I32s(simd.or_i32(unsigned, sign))
    }
}

/// What to add to a magnitude, in units in the last place, that was rounded to nearest-even with this error, to have
/// rounded it in the direction of `R` instead. `negative` is all ones where the value is.
#[inline(always)]
fn correction<S: Simd>(simd: S, error: S::F32, negative: S::I32, rounding: impl Round) -> S::I32 {
    let zero = simd.splat_f32(0.0);
    // All ones is −1.
    let inwards = simd.mask_to_i32(simd.lt_f32(error, zero));
    let outwards = simd.mask_to_i32(simd.lt_f32(zero, error));
    match rounding.rounding() {
        Rounding::NearestEven | Rounding::NearestAway => simd.splat_i32(0),
        Rounding::TowardsZero => inwards,
        Rounding::TowardsPositive => {
            let inwards = simd.and_i32(inwards, negative);
            simd.sub_i32(inwards, simd.andnot_i32(negative, outwards))
        }
        Rounding::TowardsNegative => {
            let inwards = simd.andnot_i32(negative, inwards);
            simd.sub_i32(inwards, simd.and_i32(outwards, negative))
        }
    }
}

/// Encodes float32 as `float8_e8m0fnu`: powers of two, rounded between each other. With `FAILS`, what rounds out of
/// range, or is not positive, fails; else it becomes the nearest power.
#[derive(Clone, Copy)]
pub(crate) struct EncodeE8m0<R, const FAILS: bool>(pub(crate) R);

impl<S: Simd, R: Round, const FAILS: bool> Each<S, F32s<S>> for EncodeE8m0<R, FAILS> {
    type Out = I32s<S>;
    failing_lanes!();

    #[inline(always)]
    fn apply(self, simd: S, x: F32s<S>, fail: &mut S::M32) -> I32s<S> {
        let bits = simd.bits_f32(x.0);
        let magnitude = simd.and_i32(bits, simd.splat_i32(i32::MAX));
        let mantissa = simd.and_i32(bits, simd.splat_i32(0x007f_ffff));
        let exponent = simd.shr_u32::<23>(magnitude);
        let zero = simd.splat_i32(0);
        // The greatest mantissa that rounds down; a tie, 1.5 · 2^k, goes to the even one of the two exponents.
        let down = match self.0.rounding() {
            Rounding::NearestEven => {
                let odd = simd.and_i32(exponent, simd.splat_i32(1));
                simd.sub_i32(simd.splat_i32(0x0040_0000), odd)
            }
            Rounding::NearestAway => simd.splat_i32(0x003f_ffff),
            Rounding::TowardsPositive => zero,
            Rounding::TowardsZero | Rounding::TowardsNegative => simd.splat_i32(i32::MAX),
        };
        // Below the normal numbers of float32 lies only 2^−127, byte 0; each rounding reaches it from another point
        // on, and leaves it for 2^−126 beyond another.
        let (least, down_least) = match self.0.rounding() {
            Rounding::NearestEven => (0x0030_0000, 0x0060_0000),
            Rounding::NearestAway => (0x0030_0000, 0x005f_ffff),
            Rounding::TowardsPositive => (0x0020_0001, 0x0040_0000),
            Rounding::TowardsZero | Rounding::TowardsNegative => (0x0040_0000, i32::MAX),
        };
        let is_subnormal = simd.eq_i32(exponent, zero);
        let down = simd.select_i32(is_subnormal, simd.splat_i32(down_least), down);
        let up = simd.mask_to_i32(simd.lt_i32(down, mantissa));
        let rounded = simd.sub_i32(exponent, up);
        let negative = simd.lt_i32(bits, zero);
        let below = simd.or_m32(negative, simd.lt_i32(magnitude, simd.splat_i32(least)));
        let greatest = simd.splat_i32(0xfe);
        let held = simd.select_i32(below, zero, simd.min_i32(rounded, greatest));
        let infinity = simd.splat_i32(INFINITY);
        let is_nan = simd.lt_i32(infinity, magnitude);
        let mut failing = simd.eq_i32(magnitude, infinity);
        if FAILS {
            let outside = simd.or_m32(below, simd.lt_i32(greatest, rounded));
            failing = simd.or_m32(failing, simd.andnot_m32(is_nan, outside));
        }
        *fail = simd.or_m32(*fail, failing);
        I32s(simd.select_i32(is_nan, simd.splat_i32(0xff), held))
    }
}

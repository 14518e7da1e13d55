//! Floats of at most 16 bits. One decoder and one encoder serve all formats by arithmetic in 32-bit lanes, and read the
//! format's constants from registers. Formats that `float16` has but for a power of two are faster by way of it, in
//! 16-bit lanes. `float8_e8m0fnu`, which has no mantissa, has its own.

use super::float_to_float::fold_i32;
use super::int::IntUnit;
use crate::element::BINARY16;
use crate::pipeline::{Each, Load, Store, failing_lanes, infallible};
use crate::simd::{F32s, I16s, I32s, NearestEven, Round, Simd};
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

/// Decodes one-byte floats of at most five bits of exponent by way of `float16`: with exponent and mantissa moved to
/// their places there, the bits stand for the value times a power of two, subnormals too. NaNs as in [`Decode`].
#[derive(Clone, Copy)]
pub(crate) struct DecodeByF16 {
    /// Places of the mantissa, and of the sign, below those of `float16`.
    shift: u32,
    sign_shift: u32,
    magnitude: i64,
    /// The magnitude of infinity, in place; beyond all magnitudes where there is none.
    infinity: i64,
    /// The pattern of the only NaN of a format without infinity; no byte where there is none.
    nan: i64,
    /// What the bits are to be multiplied with.
    scale: f32,
}

/// Whether `float16` has the values of a one-byte format, but for a power of two that all of them are multiplied
/// with: not of one whose greatest exponent would mean infinity there.
fn is_part_of_f16(format: FloatFormat) -> bool {
    match format.specials {
        Specials::Ieee => format.exponent_bits <= BINARY16.exponent_bits,
        Specials::FiniteOnly | Specials::Fnuz => format.exponent_bits < BINARY16.exponent_bits,
        Specials::PowersOfTwo => false,
    }
}

/// A power of two as float32.
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits(((BIAS + exponent) as u32) << MANTISSA_BITS)
}

impl DecodeByF16 {
    /// None for a format that is no part of `float16`.
    pub(crate) fn new(format: FloatFormat) -> Option<Self> {
        if !is_part_of_f16(format) {
            return None;
        }
        let FloatFormat { mantissa_bits, bias, specials, .. } = format;
        let (half, magnitude_bits) = (BINARY16, format.bits() - 1);
        let shift = half.mantissa_bits - mantissa_bits;
        let (infinity, nan) = match specials {
            Specials::Ieee => (i64::from(format.infinity_bits() as u16) << shift, -1),
            Specials::Fnuz => (0x7fff, 1 << magnitude_bits),
            Specials::FiniteOnly | Specials::PowersOfTwo => (0x7fff, -1),
        };
        Some(Self {
            shift,
            sign_shift: half.bits() - 1 - magnitude_bits,
            magnitude: (1 << magnitude_bits) - 1,
            infinity,
            nan,
            scale: power_of_two(half.bias - bias),
        })
    }
}

impl<S: Simd> Load<S> for DecodeByF16 {
    const SIZE: usize = 1;
    type Unit = F32s<S>;

    #[inline(always)]
    unsafe fn load<const UNIT: usize>(self, simd: S, p: *const u8) -> F32s<S> {
        let splat = I16s::<S>::splat;
        // SAFETY: the caller vouches for the group, and this is the half of it that has the unit.
        let byte = I16s(unsafe { simd.load_u8_to_i16(p.wrapping_add(UNIT / 2 * (S::BYTES / 2))) });
        let magnitude = byte.and(simd, splat(simd, self.magnitude));
        let aligned = I16s(simd.shl_i16_by(magnitude.0, self.shift));
        let infinity = splat(simd, self.infinity);
        let special = aligned.or(simd, splat(simd, BINARY16.infinity_bits() as i64));
        let value = aligned.max::<true>(simd, infinity).select_eq(simd, aligned, special, aligned);
        let sign = I16s(simd.shl_i16_by(byte.0, self.sign_shift));
        let value = value.or(simd, sign.and(simd, splat(simd, 0x8000)));
        let quiet = splat(simd, BINARY16.nan_bits().unwrap_or_default() as i64);
        let value = byte.select_eq(simd, splat(simd, self.nan), quiet, value);
        let unit = simd.f16_to_f32(value.0)[UNIT % 2];
        F32s(simd.mul_f32(unit, simd.splat_f32(self.scale)))
    }
}

/// Decodes `float8_e5m2`, the upper half of `float16`.
#[derive(Clone, Copy)]
pub(crate) struct DecodeE5m2;

impl<S: Simd> Load<S> for DecodeE5m2 {
    const SIZE: usize = 1;
    type Unit = F32s<S>;

    #[inline(always)]
    unsafe fn load<const UNIT: usize>(self, simd: S, p: *const u8) -> F32s<S> {
        // SAFETY: the caller vouches for the group, and this is the half of it that has the unit.
        let byte = unsafe { simd.load_u8_to_i16(p.wrapping_add(UNIT / 2 * (S::BYTES / 2))) };
        F32s(simd.f16_to_f32(simd.shl_i16_by(byte, 8))[UNIT % 2])
    }
}

/// `float8_e5m2`, widened, to `float16`. NaNs become quiet, which a conversion there and back need not make them
/// where the compiler leaves it out.
#[derive(Clone, Copy)]
pub(crate) struct E5m2ToF16;

infallible! {
    [] E5m2ToF16: I16s<S> => I16s<S>, |self, simd, x| {
        let splat = I16s::<S>::splat;
        let bits = I16s::<S>(simd.shl_i16_by(x.0, 8));
        let quiet = bits.or(simd, splat(simd, 0x0200));
        let infinity = splat(simd, BINARY16.infinity_bits() as i64);
        let magnitude = bits.and(simd, splat(simd, 0x7fff));
        magnitude.max::<true>(simd, infinity).select_eq(simd, infinity, bits, quiet)
    };
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
        let clamped = simd.min_i32(magnitude, simd.splat_i32(INFINITY - (24 << MANTISSA_BITS)));
        let clamped = if self.rounding.rounding() == Rounding::NearestAway {
            // A tie has an even mantissa, so the next number is beyond the tie and nothing else.
            simd.or_i32(clamped, simd.splat_i32(1))
        } else {
            clamped
        };
        let min_normal = simd.splat_i32(self.min_normal);
        let place = simd.max_i32(simd.and_i32(clamped, simd.splat_i32(INFINITY)), min_normal);
        let power = simd.add_i32(place, simd.splat_i32((self.dropped << MANTISSA_BITS) as i32));
        let (value, unit) = (simd.f32_from_bits(clamped), simd.f32_from_bits(power));
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

/// Writes float32 in a format of which `float16` has all values but for a power of two, to nearest-even. Two bits more
/// than the format's mantissa are kept, the last of which says whether any below was set; `float16` has those exactly,
/// and 16-bit lanes round them. With `FAILS`, what rounds out of range fails, and infinity, which the reference lets
/// pass where it may; without, infinity where the format has none.
#[derive(Clone, Copy)]
pub(crate) struct AsSmallFloat<const FAILS: bool> {
    /// Bits of float32 that are folded into the one above them.
    folded: i32,
    scale: f32,
    /// Places of a mantissa, and of the sign, of `float16` beyond the format's.
    dropped: u32,
    sign_shift: u32,
    /// One less than half a unit in the last place of the format.
    below_half: i64,
    /// The magnitude of the greatest finite value, and what stands for those out of range.
    max: i64,
    overflow: i64,
    nan: i64,
    /// Bits of a NaN's payload that are kept.
    payload: i64,
    /// The magnitude that loses its sign: zero, or none.
    unsigned: i64,
    /// The magnitude of a number from which on it fails, and the greatest of `float16` that does not because of
    /// being NaN.
    failing: f32,
    greatest: i64,
}

impl<const FAILS: bool> AsSmallFloat<FAILS> {
    /// None for a format that is no part of `float16`, or whose mantissa is too long: half of its least subnormal and
    /// the bits below it that are kept would lie beyond the least one of `float16`, 2^−24.
    pub(crate) fn new(format: FloatFormat) -> Option<Self> {
        let FloatFormat { mantissa_bits, bias, specials, .. } = format;
        if !is_part_of_f16(format) || 14 + mantissa_bits + 1 + mantissa_bits + 2 > 24 {
            return None;
        }
        let has_infinity = specials == Specials::Ieee;
        let dropped = BINARY16.mantissa_bits - mantissa_bits;
        let max = format.max_bits() as i64;
        let nan = format.nan_bits();
        Some(Self {
            folded: (1 << (MANTISSA_BITS - mantissa_bits - 2)) - 1,
            scale: power_of_two(bias - BINARY16.bias),
            dropped,
            sign_shift: BINARY16.bits() - format.bits(),
            below_half: (1 << (dropped - 1)) - 1,
            max,
            overflow: if has_infinity { max + 1 } else { max },
            nan: nan.unwrap_or_default() as i64,
            payload: if has_infinity { (1 << mantissa_bits) - 1 } else { 0 },
            unsigned: if specials == Specials::Fnuz { 0 } else { -1 },
            failing: if has_infinity { f32::NAN } else { f32::INFINITY },
            greatest: if nan.is_none() { BINARY16.infinity_bits() as i64 } else { 0x7fff },
        })
    }

    /// Two units as bytes in 16-bit lanes.
    #[inline(always)]
    fn encode<S: Simd>(self, simd: S, units: [F32s<S>; 2], seen: &mut Seen<S>) -> I16s<S> {
        let splat = I16s::<S>::splat;
        let [a, b] = units;
        let [a, b] = [self.fold(simd, a, seen), self.fold(simd, b, seen)];
        let half = I16s::<S>(simd.f32_to_f16(a.0, b.0, NearestEven));
        let magnitude = half.and(simd, splat(simd, 0x7fff));
        let kept = I16s::<S>(simd.shr_u16_by(magnitude.0, self.dropped));
        let odd = kept.and(simd, splat(simd, 1));
        let carried =
            simd.add_i16(simd.add_i16(magnitude.0, splat(simd, self.below_half).0), odd.0);
        let rounded = I16s::<S>(simd.shr_u16_by(carried, self.dropped));
        let nan = kept.and(simd, splat(simd, self.payload)).or(simd, splat(simd, self.nan));
        let infinity = splat(simd, BINARY16.infinity_bits() as i64);
        let number = magnitude.max::<true>(simd, infinity);
        let finite = rounded.min::<true>(simd, splat(simd, self.overflow));
        let unsigned = number.select_eq(simd, infinity, finite, nan);
        let sign = half.and(simd, splat(simd, 0x8000));
        let sign = I16s::<S>(simd.shr_u16_by(sign.0, self.sign_shift));
        let zero = splat(simd, 0);
        let sign = unsigned.select_eq(simd, splat(simd, self.unsigned), zero, sign);
        seen.magnitude = seen.magnitude.max::<true>(simd, magnitude);
        if FAILS {
            let rounded = number.select_eq(simd, infinity, rounded, zero);
            seen.rounded = seen.rounded.max::<true>(simd, rounded);
        }
        unsigned.or(simd, sign)
    }

    /// A unit on the scale of `float16`, with the bits that it has.
    #[inline(always)]
    fn fold<S: Simd>(self, simd: S, x: F32s<S>, seen: &mut Seen<S>) -> F32s<S> {
        if !FAILS {
            seen.number = simd.max_number_f32(simd.abs_f32(x.0), seen.number);
        }
        let folded = fold_i32(simd, simd.bits_f32(x.0), simd.splat_i32(self.folded));
        F32s(simd.mul_f32(simd.f32_from_bits(folded), simd.splat_f32(self.scale)))
    }
}

/// The greatest that [`AsSmallFloat`] has met.
#[derive(Clone, Copy)]
pub(crate) struct Seen<S: Simd> {
    /// Magnitudes of numbers.
    number: S::F32,
    /// Magnitudes as `float16`.
    magnitude: I16s<S>,
    /// Encoded magnitudes of numbers.
    rounded: I16s<S>,
}

impl<S: Simd, const FAILS: bool> Store<S, F32s<S>> for AsSmallFloat<FAILS> {
    const SIZE: usize = 1;
    type Fail = Seen<S>;

    #[inline(always)]
    fn start(self, simd: S) -> Seen<S> {
        let zero = I16s::splat(simd, 0);
        Seen { number: simd.splat_f32(0.0), magnitude: zero, rounded: zero }
    }
    #[inline(always)]
    unsafe fn store(self, simd: S, p: *mut u8, group: [F32s<S>; 4], seen: &mut Seen<S>) {
        let low = self.encode(simd, [group[0], group[1]], seen);
        let high = self.encode(simd, [group[2], group[3]], seen);
        let packed = simd.pack_i16_to_u8(low.0, high.0);
        // SAFETY: the caller vouches for a group at `p`, which is one register.
        unsafe { simd.store_i8(p, simd.order_i8(packed)) };
    }
    #[inline(always)]
    fn failed(self, simd: S, seen: Seen<S>) -> bool {
        let beyond = |greatest: I16s<S>, limit: i64| {
            let limit = I16s::splat(simd, limit);
            greatest.max::<true>(simd, limit).xor(simd, limit).nonzero(simd)
        };
        simd.any_m32(simd.le_f32(simd.splat_f32(self.failing), seen.number))
            | beyond(seen.magnitude, self.greatest)
            | beyond(seen.rounded, self.max)
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
        let clamped = simd.select_i32(below, zero, simd.min_i32(rounded, greatest));
        let infinity = simd.splat_i32(INFINITY);
        let is_nan = simd.lt_i32(infinity, magnitude);
        let mut failing = simd.eq_i32(magnitude, infinity);
        if FAILS {
            let outside = simd.or_m32(below, simd.lt_i32(greatest, rounded));
            failing = simd.or_m32(failing, simd.andnot_m32(is_nan, outside));
        }
        *fail = simd.or_m32(*fail, failing);
        I32s(simd.select_i32(is_nan, simd.splat_i32(0xff), clamped))
    }
}

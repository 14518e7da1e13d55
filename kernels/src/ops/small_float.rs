//! Floats of at most 16 bits. One decoder and one encoder serve all formats by arithmetic in 32-bit lanes, and read the
//! format's constants from registers. Formats that `float16` has but for a power of two are faster by way of it, in
//! 16-bit lanes. `float8_e8m0fnu`, which has no mantissa, has its own.

use super::float_to_float::{INFINITY_F32, QUIET_F32, fold};
use crate::element::BINARY16;
use crate::evidence::{Failing, Greatest, GreatestNumber};
use crate::pipeline::{Each, Load, Store, lanewise};
use crate::simd::{F32s, Float, I16s, I32s, Int, NearestEven, Round, Simd};
use crate::{FloatFormat, Rounding, Specials};

const MANTISSA_BITS: u32 = 23;
const BIAS: i32 = 127;
/// As [`INFINITY_F32`] and [`QUIET_F32`], of `float16`.
const F16_INFINITY: i16 = 0x7c00;
const F16_QUIET: i16 = 0x0200;

/// Decodes one-byte floats of sign, exponent and mantissa to float32, which holds them all. NaNs become quiet and
/// keep their sign and payload.
#[derive(Clone, Copy)]
pub(crate) struct DecodeSmallFloat {
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
    /// The magnitude of the greatest finite value, and that of infinity; greater ones than both are NaN.
    max: i32,
    infinity: i32,
    /// The bits in which a magnitude beyond `max`, aligned, differs from the infinity or the NaN that it stands for.
    to_special: i32,
    /// The pattern of a NaN in place of −0; no byte where there is none.
    nan: i32,
}

impl DecodeSmallFloat {
    pub(crate) fn new(format: FloatFormat) -> Self {
        let FloatFormat { mantissa_bits, bias, .. } = format;
        let magnitude_bits = format.bits() - 1;
        let shift = MANTISSA_BITS - mantissa_bits;
        let unit_exponent = format.min_exponent() - mantissa_bits as i32 + BIAS;
        Self {
            shift,
            sign_shift: 31 - magnitude_bits,
            magnitude: (1 << magnitude_bits) - 1,
            subnormal: (1 << mantissa_bits) - 1,
            unit: f32::from_bits((unit_exponent as u32) << MANTISSA_BITS),
            rebias: (BIAS - bias) << MANTISSA_BITS,
            max: format.max_bits() as i32,
            infinity: format.infinity_bits() as i32,
            to_special: (INFINITY_F32 | QUIET_F32) ^ nan_pattern(format) << shift,
            nan: nan_for_negative_zero(format).into(),
        }
    }
}

// SAFETY: the level loads a unit of the group, or the half that the unit is in.
unsafe impl<S: Simd> Load<S> for DecodeSmallFloat {
    const SIZE: usize = 1;
    type Unit = F32s<S>;

    #[inline(always)]
    unsafe fn load<const UNIT: usize>(self, simd: S, p: *const u8, _: usize) -> F32s<S> {
        // SAFETY: the caller vouches for the group, and this is a unit of it.
        let byte = unsafe { simd.load_i8_to_i32::<false, UNIT>(p) };
        let magnitude = byte & self.magnitude;
        let aligned = magnitude.shl_by(self.shift);
        let normal = aligned + self.rebias;
        // A subnormal is its mantissa in units; the product with a power of two is exact.
        let subnormal = (simd.i32_to_f32(magnitude) * self.unit).to_bits();
        let finite = magnitude.gt(self.subnormal).select(normal, subnormal);
        let special = aligned ^ self.to_special;
        let special = magnitude.gt(self.infinity).select(special | QUIET_F32, special);
        let value = magnitude.gt(self.max).select(special, finite);
        let value = value | (byte.shl_by(self.sign_shift) & i32::MIN);
        F32s::from_bits(byte.select_eq(self.nan, INFINITY_F32 | QUIET_F32, value))
    }
}

/// The pattern of the canonical NaN, which is a magnitude in all formats but `fnuz`.
fn nan_pattern(format: FloatFormat) -> i32 {
    format.nan_bits().unwrap_or_default() as i32
}

/// The pattern of a NaN in place of −0; no byte where there is none.
fn nan_for_negative_zero(format: FloatFormat) -> i16 {
    if format.specials == Specials::Fnuz { 1 << (format.bits() - 1) } else { -1 }
}

/// Decodes one-byte floats of at most five bits of exponent by way of `float16`: with exponent and mantissa moved to
/// their places there, the bits stand for the value times a power of two, subnormals too. NaNs as in [`DecodeSmallFloat`].
#[derive(Clone, Copy)]
pub(crate) struct DecodeByF16 {
    /// Places of the mantissa, and of the sign, below those of `float16`.
    shift: u32,
    sign_shift: u32,
    magnitude: i16,
    /// The least magnitude, aligned, that stands for infinity or NaN; beyond all magnitudes where there is none.
    special: i16,
    /// As in [`DecodeSmallFloat`].
    to_special: i16,
    nan: i16,
    /// The factor of the bits.
    scale: f32,
}

/// The half of the group at `p` that has the unit `UNIT`, in 16-bit lanes.
///
/// # Safety
/// `p` is valid for reading a group of bytes, `UNIT` is below four.
#[inline(always)]
unsafe fn load_half<S: Simd, const UNIT: usize>(simd: S, p: *const u8) -> I16s<S> {
    // SAFETY: the caller vouches for the group; half of it widens to one register.
    unsafe { simd.load_i8_to_i16::<false>(p.wrapping_add(UNIT / 2 * (S::BYTES / 2))) }
}

/// Whether `float16` has the values of a one-byte format, but for a power of two that all of them are multiplied
/// with: not of one whose greatest exponent would mean infinity there.
fn is_part_of_f16(format: FloatFormat) -> bool {
    match format.specials {
        Specials::Ieee => format.exponent_bits <= BINARY16.exponent_bits,
        Specials::FiniteOnly | Specials::FiniteAndNan | Specials::Fnuz => {
            format.exponent_bits < BINARY16.exponent_bits
        }
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
        let FloatFormat { mantissa_bits, bias, .. } = format;
        let (half, magnitude_bits) = (BINARY16, format.bits() - 1);
        let shift = half.mantissa_bits - mantissa_bits;
        Some(Self {
            shift,
            sign_shift: half.bits() - 1 - magnitude_bits,
            magnitude: (1 << magnitude_bits) - 1,
            special: (format.max_bits() as i16 + 1) << shift,
            to_special: (F16_INFINITY | F16_QUIET) ^ (nan_pattern(format) as i16) << shift,
            nan: nan_for_negative_zero(format),
            scale: power_of_two(half.bias - bias),
        })
    }
}

// SAFETY: the level loads a unit of the group, or the half that the unit is in.
unsafe impl<S: Simd> Load<S> for DecodeByF16 {
    const SIZE: usize = 1;
    type Unit = F32s<S>;

    #[inline(always)]
    unsafe fn load<const UNIT: usize>(self, simd: S, p: *const u8, _: usize) -> F32s<S> {
        // SAFETY: the caller vouches for the group, and this is a unit of it.
        let byte = unsafe { load_half::<S, UNIT>(simd, p) };
        let magnitude = byte & self.magnitude;
        let aligned = magnitude.shl_by(self.shift);
        let special = aligned ^ self.to_special;
        let value = aligned.max::<true>(self.special).select_eq(aligned, special, aligned);
        let value = value | (byte.shl_by(self.sign_shift) & i16::MIN);
        let value = byte.select_eq(self.nan, F16_INFINITY | F16_QUIET, value);
        simd.f16_to_f32(value)[UNIT % 2] * self.scale
    }
}

/// Decodes `float8_e5m2`, the upper half of `float16`.
#[derive(Clone, Copy)]
pub(crate) struct DecodeE5m2;

// SAFETY: the level loads a unit of the group, or the half that the unit is in.
unsafe impl<S: Simd> Load<S> for DecodeE5m2 {
    const SIZE: usize = 1;
    type Unit = F32s<S>;

    #[inline(always)]
    unsafe fn load<const UNIT: usize>(self, simd: S, p: *const u8, _: usize) -> F32s<S> {
        // SAFETY: the caller vouches for the group, and this is a unit of it.
        let byte = unsafe { load_half::<S, UNIT>(simd, p) };
        simd.f16_to_f32(byte.shl_by(8))[UNIT % 2]
    }
}

/// `float8_e5m2`, widened, to `float16`. NaNs become quiet, which a conversion there and back need not make them
/// where the compiler leaves it out.
#[derive(Clone, Copy)]
pub(crate) struct E5m2ToF16;

lanewise! {
    [] E5m2ToF16: I16s<S>, |self, x| {
        let bits = x.shl_by(8);
        let magnitude = bits & i16::MAX;
        magnitude.max::<true>(F16_INFINITY).select_eq(F16_INFINITY, bits, bits | F16_QUIET)
    };
}

/// Decodes `float8_e8m0fnu`, powers of two, to float32.
#[derive(Clone, Copy)]
pub(crate) struct DecodeE8m0;

// SAFETY: the level loads a unit of the group, or the half that the unit is in.
unsafe impl<S: Simd> Load<S> for DecodeE8m0 {
    const SIZE: usize = 1;
    type Unit = F32s<S>;

    #[inline(always)]
    unsafe fn load<const UNIT: usize>(self, simd: S, p: *const u8, _: usize) -> F32s<S> {
        // SAFETY: the caller vouches for the group, and this is a unit of it.
        let byte = unsafe { simd.load_i8_to_i32::<false, UNIT>(p) };
        // 2^−127 is subnormal; the byte that would be infinity is NaN.
        let power = byte.select_eq(0, 0x0040_0000, byte.shl::<23>());
        F32s::from_bits(byte.select_eq(0xff, INFINITY_F32 | QUIET_F32, power))
    }
}

/// Encodes float32 in a format of sign, exponent and mantissa, in the low bits of 32. The sum with the power of two
/// that has the result's unit in the last place rounds to nearest-even, and counts those units; the error of the
/// sum says how another rounding differs. With `FAILS`, a value that rounds out of range fails; else it becomes infinity,
/// or the greatest finite value.
#[derive(Clone, Copy)]
pub(crate) struct EncodeSmallFloat<R, const FAILS: bool> {
    /// Places of a mantissa of float32 beyond the format's.
    dropped: u32,
    /// The least normal number, as bits of float32.
    min_normal: i32,
    sign_shift: u32,
    /// The magnitude of the greatest finite value, and the magnitude in place of those out of range.
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

impl<R: Round, const FAILS: bool> EncodeSmallFloat<R, FAILS> {
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
            failing_infinity: if !has_infinity || infinity_fails { INFINITY_F32 } else { -1 },
            greatest: if nan.is_none() { INFINITY_F32 } else { i32::MAX },
            rounding,
        }
    }
}

impl<S: Simd, R: Round, const FAILS: bool> Each<S, F32s<S>> for EncodeSmallFloat<R, FAILS> {
    type Out = I32s<S>;
    type Fail = Failing<S, i32>;

    #[inline(always)]
    fn apply(self, simd: S, x: F32s<S>, fail: &Self::Fail) -> I32s<S> {
        let bits = x.to_bits();
        let negative = bits.lt(0).to_int();
        let magnitude = bits & i32::MAX;
        // So that the sum stays finite; it is far out of every format's range.
        let clamped = magnitude.min::<true>(INFINITY_F32 - (24 << MANTISSA_BITS));
        let clamped = if self.rounding.rounding() == Rounding::NearestAway {
            F32s::from_bits(clamped).beyond_tie().to_bits()
        } else {
            clamped
        };
        let place = (clamped & INFINITY_F32).max::<true>(self.min_normal);
        let power = place + (self.dropped << MANTISSA_BITS) as i32;
        let (value, unit) = (F32s::from_bits(clamped), F32s::from_bits(power));
        let sum = value + unit;
        let error = value - (sum - unit);
        let units = (sum.to_bits() - power) + correction(simd, error, negative, self.rounding);
        let rounded = (place - self.min_normal).shr_by(self.dropped) + units;

        let is_nan = magnitude.gt(INFINITY_F32);
        let beyond = rounded.gt(self.max);
        let nan = (magnitude.shr_by(self.dropped) & self.payload) | self.nan;
        let finite = beyond.select(I32s::splat(simd, self.overflow), rounded);
        let unsigned = is_nan.select(nan, finite);
        let signless = (is_nan | unsigned.eq(0)).to_int() & self.unsigned_specials;
        let sign = (bits & i32::MIN).shr_by(self.sign_shift).and_not(signless);

        let failing = magnitude.eq(self.failing_infinity) | magnitude.gt(self.greatest);
        fail.add(failing);
        if FAILS {
            fail.add(beyond & magnitude.lt(INFINITY_F32));
        }
        unsigned | sign
    }
    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        fail.get().any()
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
    below_half: i16,
    /// The magnitude of the greatest finite value, and the magnitude in place of those out of range.
    max: i16,
    overflow: i16,
    nan: i16,
    /// Bits of a NaN's payload that are kept.
    payload: i16,
    /// The magnitude that loses its sign: zero, or none.
    unsigned: i16,
    /// The magnitude of a number from which on it fails, and the greatest of `float16` that does not because of
    /// being NaN.
    failing: f32,
    greatest: i16,
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
        let max = format.max_bits() as i16;
        let nan = format.nan_bits();
        Some(Self {
            folded: (1 << (MANTISSA_BITS - mantissa_bits - 2)) - 1,
            scale: power_of_two(bias - BINARY16.bias),
            dropped,
            sign_shift: BINARY16.bits() - format.bits(),
            below_half: (1 << (dropped - 1)) - 1,
            max,
            overflow: if has_infinity { max + 1 } else { max },
            nan: nan.unwrap_or_default() as i16,
            payload: if has_infinity { (1 << mantissa_bits) - 1 } else { 0 },
            unsigned: if specials == Specials::Fnuz { 0 } else { -1 },
            failing: if has_infinity { f32::NAN } else { f32::INFINITY },
            greatest: if nan.is_none() { F16_INFINITY } else { i16::MAX },
        })
    }

    /// Two units as bytes in 16-bit lanes.
    #[inline(always)]
    fn encode<S: Simd>(self, simd: S, [a, b]: [F32s<S>; 2], seen: &Seen<S>) -> I16s<S> {
        let (a, b) = (self.fold(a, seen), self.fold(b, seen));
        let half = simd.f32_to_f16(a, b, NearestEven);
        let magnitude = half & i16::MAX;
        let kept = magnitude.shr_by(self.dropped);
        let carried = (magnitude + self.below_half) + (kept & 1);
        let rounded = carried.shr_by(self.dropped);
        let nan = (kept & self.payload) | self.nan;
        let number = magnitude.max::<true>(F16_INFINITY);
        let finite = rounded.min::<true>(self.overflow);
        let unsigned = number.select_eq(F16_INFINITY, finite, nan);
        let sign = (half & i16::MIN).shr_by(self.sign_shift);
        let sign = unsigned.select_eq(self.unsigned, 0, sign);
        let (_, (magnitudes, encoded)) = seen;
        magnitudes.add(magnitude);
        if FAILS {
            encoded.add(number.select_eq(F16_INFINITY, rounded, 0));
        }
        unsigned | sign
    }

    /// A unit on the scale of `float16`, with the bits that it has.
    #[inline(always)]
    fn fold<S: Simd>(self, x: F32s<S>, seen: &Seen<S>) -> F32s<S> {
        if !FAILS {
            seen.0.add(x.abs());
        }
        F32s::from_bits(fold(x.to_bits(), self.folded)) * self.scale
    }
}

/// Of [`AsSmallFloat`]: magnitudes of numbers; magnitudes as `float16`, and encoded ones of numbers.
type Seen<S> = (GreatestNumber<F32s<S>>, (Greatest<I16s<S>>, Greatest<I16s<S>>));

// SAFETY: a group is one register.
unsafe impl<S: Simd, const FAILS: bool> Store<S, F32s<S>> for AsSmallFloat<FAILS> {
    const SIZE: usize = 1;
    type Fail = Seen<S>;

    #[inline(always)]
    unsafe fn store(self, simd: S, p: *mut u8, group: [F32s<S>; 4], _: usize, seen: &Seen<S>) {
        let low = self.encode(simd, [group[0], group[1]], seen);
        let high = self.encode(simd, [group[2], group[3]], seen);
        let packed = simd.pack_i16_to_i8::<false>(low, high);
        // SAFETY: the caller vouches for a group at `p`, which is one register.
        unsafe { simd.order_i8_packed_once(packed).store(p) };
    }
    #[inline(always)]
    fn failed(self, _: S, (numbers, (magnitudes, encoded)): &Seen<S>) -> bool {
        let beyond = |all: &Greatest<I16s<S>>, limit: i16| {
            (all.get().max::<false>(limit) ^ limit).is_nonzero()
        };
        numbers.get().ge(self.failing).any()
            | beyond(magnitudes, self.greatest)
            | beyond(encoded, self.max)
    }
}

/// What to add to a magnitude, in units in the last place, that was rounded to nearest-even with this error, to have
/// rounded it in the direction of `R` instead. `negative` is all ones where the value is.
#[inline(always)]
fn correction<S: Simd>(
    simd: S,
    error: F32s<S>,
    negative: I32s<S>,
    rounding: impl Round,
) -> I32s<S> {
    // All ones is −1.
    let (inwards, outwards) = (error.lt(0.0).to_int(), error.gt(0.0).to_int());
    match rounding.rounding() {
        Rounding::NearestEven | Rounding::NearestAway => I32s::splat(simd, 0),
        Rounding::TowardsZero => inwards,
        Rounding::TowardsPositive => (inwards & negative) - outwards.and_not(negative),
        Rounding::TowardsNegative => inwards.and_not(negative) - (outwards & negative),
    }
}

/// Encodes float32 as `float8_e8m0fnu`: powers of two, rounded between each other. With `FAILS`, what rounds out of
/// range, or is not positive, fails; else it becomes the nearest power.
#[derive(Clone, Copy)]
pub(crate) struct EncodeE8m0<R, const FAILS: bool>(pub(crate) R);

impl<S: Simd, R: Round, const FAILS: bool> Each<S, F32s<S>> for EncodeE8m0<R, FAILS> {
    type Out = I32s<S>;
    type Fail = Failing<S, i32>;

    #[inline(always)]
    fn apply(self, simd: S, x: F32s<S>, fail: &Self::Fail) -> I32s<S> {
        let bits = x.to_bits();
        let magnitude = bits & i32::MAX;
        let mantissa = bits & 0x007f_ffff;
        let exponent = magnitude.shr::<23>();
        // The greatest mantissa that rounds down; a tie, 1.5 · 2^k, goes to the even one of the two exponents.
        let down = match self.0.rounding() {
            Rounding::NearestEven => bits.broadcast(0x0040_0000) - (exponent & 1),
            Rounding::NearestAway => bits.broadcast(0x003f_ffff),
            Rounding::TowardsPositive => bits.broadcast(0),
            Rounding::TowardsZero | Rounding::TowardsNegative => bits.broadcast(i32::MAX.into()),
        };
        // Below the normal numbers of float32 lies only 2^−127, byte 0; each rounding reaches it from another point
        // on, and leaves it for 2^−126 beyond another.
        let (least, down_least) = match self.0.rounding() {
            Rounding::NearestEven => (0x0030_0000, 0x0060_0000),
            Rounding::NearestAway => (0x0030_0000, 0x005f_ffff),
            Rounding::TowardsPositive => (0x0020_0001, 0x0040_0000),
            Rounding::TowardsZero | Rounding::TowardsNegative => (0x0040_0000, i32::MAX),
        };
        let down = exponent.select_eq(0, down_least, down);
        let rounded = exponent - mantissa.gt(down).to_int();
        let below = bits.lt(0) | magnitude.lt(least);
        let clamped = below.select(I32s::splat(simd, 0), rounded.min::<true>(0xfe));
        let is_nan = magnitude.gt(INFINITY_F32);
        let mut failing = magnitude.eq(INFINITY_F32);
        if FAILS {
            failing = failing | (below | rounded.gt(0xfe)).and_not(is_nan);
        }
        fail.add(failing);
        is_nan.select(I32s::splat(simd, 0xff), clamped)
    }
    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        fail.get().any()
    }
}

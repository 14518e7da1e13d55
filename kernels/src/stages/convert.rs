//! Casts between the wide types: the ten native integers and floats.

use std::marker::PhantomData;

use bytemuck::Pod;
use num_traits::{AsPrimitive, PrimInt, Zero};

use super::per_element::{Flags, PerElement};
use crate::level::Token;
use crate::{OutOfRange, Rounding};

/// A rounding as a type, so that a kernel is compiled per rounding. `Odd` is the sixth: inexact
/// values go to the neighbour whose last bit is set. Rounding the result once more, to at least two
/// bits less, gives what rounding once would have given (Boldo and Melquiond, 2008).
pub(crate) trait Round: Copy + Send + Sync + 'static {
    const ROUNDING: Option<Rounding>;
}

macro_rules! roundings {
    ($($name:ident = $rounding:expr;)*) => {$(
        #[derive(Clone, Copy)]
        pub(crate) struct $name;
        impl Round for $name {
            const ROUNDING: Option<Rounding> = $rounding;
        }
    )*};
}

roundings! {
    NearestEven = Some(Rounding::NearestEven);
    TowardsZero = Some(Rounding::TowardsZero);
    TowardsPositive = Some(Rounding::TowardsPositive);
    TowardsNegative = Some(Rounding::TowardsNegative);
    NearestAway = Some(Rounding::NearestAway);
    Odd = None;
}

/// What becomes of values out of range, as a type; see [`OutOfRange`].
pub(crate) trait Range: Copy + Send + Sync + 'static {
    const MODE: OutOfRange;
}

macro_rules! ranges {
    ($($name:ident)*) => {$(
        #[derive(Clone, Copy)]
        pub(crate) struct $name;
        impl Range for $name {
            const MODE: OutOfRange = OutOfRange::$name;
        }
    )*};
}

ranges! { Error Clamp Wrap }

/// A native integer type.
pub(crate) trait Int: Pod + PrimInt + Send + Sync {}

impl<T: Pod + PrimInt + Send + Sync> Int for T {}

/// f32 or f64.
pub(crate) trait Real: Pod + num_traits::Float + Send + Sync {
    /// The bits, as an integer of the same width.
    type Bits: Int + Flags;
    /// To the nearest integer, ties to even.
    fn round_ties_even(self) -> Self;
    /// The bits.
    fn to_bits(self) -> Self::Bits;
    /// The largest number below one half.
    const BELOW_HALF: Self;
    /// +0 for a finite number, else NaN.
    #[inline(always)]
    #[allow(clippy::eq_op)] // it is what tells infinities and NaNs
    fn zero_if_finite(self) -> Self {
        self - self
    }
}

macro_rules! reals {
    ($($t:ident: $bits:ident, $below_half:expr;)*) => {$(
        impl Real for $t {
            type Bits = $bits;
            const BELOW_HALF: Self = $below_half;
            #[inline(always)]
            fn round_ties_even(self) -> Self {
                $t::round_ties_even(self)
            }
            #[inline(always)]
            fn to_bits(self) -> $bits {
                $t::to_bits(self)
            }
        }
    )*};
}

reals! {
    f32: u32, 0.499_999_97;
    f64: u64, 0.499_999_999_999_999_94;
}

/// `x` held to `min..=max`, NaN to `min`: two selects, which are one instruction each.
#[inline(always)]
pub(crate) fn clamp<T: Copy + PartialOrd>(x: T, min: T, max: T) -> T {
    let x = if x > min { x } else { min };
    if x < max { x } else { max }
}

/// Rounds to an integral value.
#[inline(always)]
fn round_to_integral<R: Round, F: Real>(x: F) -> F {
    match R::ROUNDING {
        Some(Rounding::NearestEven) | None => x.round_ties_even(),
        Some(Rounding::TowardsZero) => x.trunc(),
        Some(Rounding::TowardsPositive) => x.ceil(),
        Some(Rounding::TowardsNegative) => x.floor(),
        // Adding one half itself would carry 0.49999997 to 1.
        Some(Rounding::NearestAway) => (x + F::BELOW_HALF.copysign(x)).trunc(),
    }
}

/// Integer to integer, where every value is representable or wraps.
#[derive(Clone, Copy)]
pub(crate) struct IntAs<S, T>(pub(crate) PhantomData<(S, T)>);

impl<S: Int + AsPrimitive<T>, T: Int> PerElement for IntAs<S, T> {
    type Source = S;
    type Target = T;
    type Flags = ();

    #[inline(always)]
    fn convert<L: Token>(&self, x: S) -> (T, ()) {
        (x.as_(), ())
    }
}

/// Integer to integer, held to the target's range; with `Error`, leaving it needs the reference.
#[derive(Clone, Copy)]
pub(crate) struct IntClamp<S, T, M, const MAPS: bool> {
    pub(crate) min: S,
    pub(crate) max: S,
    /// An element, and one whose low bits are what it becomes instead.
    pub(crate) entry: (S, S),
    pub(crate) target: PhantomData<(T, M)>,
}

impl<S: Int + Flags + AsPrimitive<T>, T: Int, M: Range, const MAPS: bool> PerElement
    for IntClamp<S, T, M, MAPS>
{
    type Source = S;
    type Target = T;
    type Flags = S;

    #[inline(always)]
    fn convert<L: Token>(&self, x: S) -> (T, S) {
        let (key, value) = self.entry;
        let is_key = MAPS & (x == key);
        let x = if is_key { self.min } else { x };
        let held = x.max(self.min).min(self.max);
        let changed = if M::MODE == OutOfRange::Error { held ^ x } else { S::zero() };
        (if is_key { value } else { held }.as_(), changed)
    }
}

/// Float to integer.
///
/// Rounding is monotonic, so "the rounded value is in range" is "the value is in `min..=max`" for
/// bounds that the plan finds with the reference: the least and greatest float that round into the
/// target's range. A clamp to them before rounding is the clamp after it.
///
/// An integer of 8 or 16 bits (32 for f64) is the low bits of the rounded value, signed or not, and
/// stands here as the unsigned one.
#[derive(Clone, Copy)]
pub(crate) struct FloatToInt<F, T, R, M> {
    pub(crate) min: F,
    pub(crate) max: F,
    /// What values above `max` become with `Clamp`: `max`, rounded, may be less than the target's
    /// greatest value, where that is no float (2^31 − 1 in f32).
    pub(crate) top: T,
    pub(crate) policy: PhantomData<(R, M)>,
}

impl<F: ToInt<T>, T: Int, R: Round, M: Range> PerElement for FloatToInt<F, T, R, M> {
    type Source = F;
    type Target = T;
    type Flags = F::Bits;

    #[inline(always)]
    fn convert<L: Token>(&self, x: F) -> (T, F::Bits) {
        let Self { min, max, top, .. } = *self;
        // A difference of floats is ±0 where nothing is wrong: x − x for finite x, and otherwise a
        // NaN or what the clamp took away.
        if M::MODE == OutOfRange::Wrap {
            return (round_to_integral::<R, F>(x).wrap(), x.zero_if_finite().to_bits());
        }
        let held = clamp(x, min, max);
        let rounded = F::convert::<R, L>(held);
        if M::MODE == OutOfRange::Error {
            return (rounded, (held - x).to_bits());
        }
        let rounded = if F::TOP_IS_EXACT || x <= max { rounded } else { top };
        (rounded, x.zero_if_finite().to_bits())
    }

    #[inline(always)]
    fn refuses(flags: F::Bits) -> bool {
        // All but the sign: the difference of equal numbers may be −0.
        (flags << 1) != F::Bits::zero()
    }
}

/// Conversion of floats to one integer type.
pub(crate) trait ToInt<T: Int>: Real {
    /// Whether the target's greatest value is a float of this type.
    const TOP_IS_EXACT: bool;
    /// Rounds a value that rounds into the target's range.
    fn convert<R: Round, L: Token>(self) -> T;
    /// An integral value modulo 2^N; anything for NaN and infinities.
    fn wrap(self) -> T;
}

/// 1.5 · 2^23: added to a float of magnitude below 2^22 it rounds it, ties to even, to an integer
/// that stands in the low bits of the sum.
const MAGIC_F32: f32 = 12_582_912.0;
/// 1.5 · 2^52, likewise below 2^51.
const MAGIC_F64: f64 = 6_755_399_441_055_744.0;

/// To at most 16 bits.
macro_rules! f32_to_short {
    ($($t:ty)*) => {$(
        impl ToInt<$t> for f32 {
            const TOP_IS_EXACT: bool = true;
            #[inline(always)]
            fn convert<R: Round, L: Token>(self) -> $t {
                f32_to_low_bits::<R>(self) as $t
            }
            #[inline(always)]
            fn wrap(self) -> $t {
                f32_modulo_low_bits(self) as $t
            }
        }
    )*};
}

f32_to_short! { u8 u16 }

/// The rounded value in the low 16 bits.
#[inline(always)]
fn f32_to_low_bits<R: Round>(x: f32) -> u32 {
    if R::ROUNDING == Some(Rounding::NearestEven) {
        return (x + MAGIC_F32).to_bits();
    }
    // SAFETY: the caller holds x to the range of an integer of at most 16 bits.
    unsafe { round_before_truncation::<R, f32>(x).to_int_unchecked::<i32>() as u32 }
}

/// An integral value modulo 2^16 in the low 16 bits. Every operation is exact: a float of 2^40 or
/// more is a multiple of 2^16.
#[inline(always)]
fn f32_modulo_low_bits(x: f32) -> u32 {
    let multiple = (x * (1.0 / 65_536.0)).floor() * 65_536.0;
    ((x - multiple) + 8_388_608.0).to_bits()
}

/// An integral value modulo 2^32, as signed. The remainder to the nearest multiple is exact.
#[inline(always)]
fn f32_modulo_32_bits(x: f32) -> i32 {
    const HALF: f32 = 2_147_483_648.0;
    let multiple = (x * (0.5 / HALF)).round_ties_even() * (2.0 * HALF);
    let remainder = x - multiple;
    let signed = if remainder < HALF { remainder } else { -HALF };
    // SAFETY: the remainder is at least −2^31, the select has kept it below 2^31 and from NaN.
    unsafe { signed.to_int_unchecked() }
}

/// What, truncated, is the rounded value.
#[inline(always)]
fn round_before_truncation<R: Round, F: Real>(x: F) -> F {
    match R::ROUNDING {
        Some(Rounding::TowardsZero) => x,
        Some(Rounding::NearestAway) => x + F::BELOW_HALF.copysign(x),
        _ => round_to_integral::<R, F>(x),
    }
}

impl ToInt<i32> for f32 {
    const TOP_IS_EXACT: bool = false;
    #[inline(always)]
    fn convert<R: Round, L: Token>(self) -> i32 {
        // SAFETY: the caller holds the value to what rounds into the range of i32.
        unsafe { round_before_truncation::<R, f32>(self).to_int_unchecked() }
    }
    #[inline(always)]
    fn wrap(self) -> i32 {
        f32_modulo_32_bits(self)
    }
}

impl ToInt<u32> for f32 {
    const TOP_IS_EXACT: bool = false;
    #[inline(always)]
    fn convert<R: Round, L: Token>(self) -> u32 {
        // SAFETY: the caller holds the value to what rounds into the range of u32; a negative one
        // rounds to −0 and truncates to 0.
        unsafe { round_before_truncation::<R, f32>(self).to_int_unchecked() }
    }
    #[inline(always)]
    fn wrap(self) -> u32 {
        f32_modulo_32_bits(self) as u32
    }
}

/// To at most 32 bits.
macro_rules! f64_to_word {
    ($($t:ty)*) => {$(
        impl ToInt<$t> for f64 {
            const TOP_IS_EXACT: bool = true;
            #[inline(always)]
            fn convert<R: Round, L: Token>(self) -> $t {
                f64_to_low_bits::<R>(self) as $t
            }
            #[inline(always)]
            fn wrap(self) -> $t {
                f64_modulo_low_bits(self) as $t
            }
        }
    )*};
}

f64_to_word! { u8 u16 u32 }

/// The rounded value in the low 32 bits.
#[inline(always)]
fn f64_to_low_bits<R: Round>(x: f64) -> u64 {
    if R::ROUNDING == Some(Rounding::NearestEven) {
        return (x + MAGIC_F64).to_bits();
    }
    (round_to_integral::<R, f64>(x) + MAGIC_F64).to_bits()
}

/// An integral value modulo 2^32 in the low 32 bits; exact, as [`f32_modulo_low_bits`] is.
#[inline(always)]
fn f64_modulo_low_bits(x: f64) -> u64 {
    let multiple = (x * TWO_M32).floor() * TWO_P32;
    ((x - multiple) + TWO_P52).to_bits()
}

const TWO_P32: f64 = 4_294_967_296.0;
const TWO_M32: f64 = 1.0 / TWO_P32;
const TWO_P52: f64 = 4_503_599_627_370_496.0;
const TWO_P63: f64 = 0.5 * TWO_P32 * TWO_P32;
const TWO_P84: f64 = TWO_P32 * TWO_P52;

impl ToInt<i64> for f64 {
    const TOP_IS_EXACT: bool = false;
    #[inline(always)]
    fn convert<R: Round, L: Token>(self) -> i64 {
        let rounded = round_to_integral::<R, f64>(self);
        if L::CONVERTS_I64 {
            // SAFETY: the caller holds the value to what rounds into the range of i64.
            return unsafe { rounded.to_int_unchecked() };
        }
        integral_to_64_bits(rounded) as i64
    }
    #[inline(always)]
    fn wrap(self) -> i64 {
        f64_modulo_64_bits(self) as i64
    }
}

impl ToInt<u64> for f64 {
    const TOP_IS_EXACT: bool = false;
    #[inline(always)]
    fn convert<R: Round, L: Token>(self) -> u64 {
        let rounded = round_to_integral::<R, f64>(self);
        if L::CONVERTS_I64 {
            // SAFETY: the caller holds the value to what rounds into the range of u64.
            return unsafe { rounded.to_int_unchecked() };
        }
        integral_to_64_bits(rounded)
    }
    #[inline(always)]
    fn wrap(self) -> u64 {
        f64_modulo_64_bits(self)
    }
}

/// An integral value of magnitude below 2^64 in two's complement, without an instruction for it: the high
/// and the low 32 bits are each read from the mantissa of a sum. Every operation is exact.
#[inline(always)]
fn integral_to_64_bits(x: f64) -> u64 {
    let high = (x * TWO_M32).floor();
    let low = x - high * TWO_P32;
    ((high + MAGIC_F64).to_bits() << 32) | ((low + TWO_P52).to_bits() & 0xffff_ffff)
}

/// An integral value modulo 2^64.
#[inline(always)]
fn f64_modulo_64_bits(x: f64) -> u64 {
    // Towards zero: a small negative number plus 2^64 would not be exact.
    integral_to_64_bits(x - (x * (TWO_M32 * TWO_M32)).trunc() * (TWO_P32 * TWO_P32))
}

/// From f32 to 64 bits, by way of f64, which holds every f32.
macro_rules! f32_to_long {
    ($($t:ty)*) => {$(
        impl ToInt<$t> for f32 {
            const TOP_IS_EXACT: bool = false;
            #[inline(always)]
            fn convert<R: Round, L: Token>(self) -> $t {
                f64::from(self).convert::<R, L>()
            }
            #[inline(always)]
            fn wrap(self) -> $t {
                f64::from(self).wrap()
            }
        }
    )*};
}

f32_to_long! { i64 u64 }

/// Integer or f32 to a float that holds each of its values.
#[derive(Clone, Copy)]
pub(crate) struct ExactToFloat<S, F>(pub(crate) PhantomData<(S, F)>);

impl<S: Pod + AsPrimitive<F> + Send + Sync, F: Real> PerElement for ExactToFloat<S, F> {
    type Source = S;
    type Target = F;
    type Flags = ();

    #[inline(always)]
    fn convert<L: Token>(&self, x: S) -> (F, ()) {
        (x.as_(), ())
    }
}

/// Integer of 32 or 64 bits to a float of less precision. Nothing is out of range.
#[derive(Clone, Copy)]
pub(crate) struct IntToFloat<S, F, R>(pub(crate) PhantomData<(S, F, R)>);

impl<S: RoundTo<F>, F: Real, R: Round> PerElement for IntToFloat<S, F, R> {
    type Source = S;
    type Target = F;
    type Flags = ();

    #[inline(always)]
    fn convert<L: Token>(&self, x: S) -> (F, ()) {
        (x.round_to::<R, L>(), ())
    }
}

/// Integer of 32 or 64 bits on the way to `float16`: beyond ±2^17 it makes no difference by how much
/// it is out of range, and within f32 is exact.
#[derive(Clone, Copy)]
pub(crate) struct IntForF16<S>(pub(crate) PhantomData<S>);

impl<S: Int + AsPrimitive<i32>> PerElement for IntForF16<S> {
    type Source = S;
    type Target = f32;
    type Flags = ();

    #[inline(always)]
    fn convert<L: Token>(&self, x: S) -> (f32, ()) {
        const BEYOND: i32 = 1 << 17;
        let held = x.min(S::from(BEYOND).unwrap_or(S::zero()));
        let held = held.max(S::from(-BEYOND).unwrap_or(S::zero()));
        (AsPrimitive::<i32>::as_(held) as f32, ())
    }
}

/// An integer that rounds to a float type.
pub(crate) trait RoundTo<F>: Int {
    /// Rounds once.
    fn round_to<R: Round, L: Token>(self) -> F;
}

impl RoundTo<f64> for i64 {
    #[inline(always)]
    fn round_to<R: Round, L: Token>(self) -> f64 {
        round_halves::<R, L>(high_half_i64(self), low_half(self as u64), self as f64)
    }
}

impl RoundTo<f64> for u64 {
    #[inline(always)]
    fn round_to<R: Round, L: Token>(self) -> f64 {
        round_halves::<R, L>(high_half_u64(self), low_half(self), self as f64)
    }
}

/// Rounds `high + low`, which has the same value as `converted` before that was rounded to nearest;
/// `converted` is only used where it is one instruction.
#[inline(always)]
fn round_halves<R: Round, L: Token>(high: f64, low: f64, converted: f64) -> f64 {
    let nearest = if L::CONVERTS_I64 { converted } else { high + low };
    if R::ROUNDING == Some(Rounding::NearestEven) {
        return nearest;
    }
    // The error of the sum, exactly (Knuth's TwoSum needs no order of magnitudes; here |high| is 0
    // or the greater, which Dekker's shorter form asks for).
    let error = low - (nearest - high);
    round_f64::<R>(nearest, error)
}

/// The direction of `R` for a value that is `nearest + error`, rounded to nearest-even in `nearest`.
#[inline(always)]
fn round_f64<R: Round>(nearest: f64, error: f64) -> f64 {
    let bits = nearest.to_bits();
    let inexact = all_ones_if_negative((error.to_bits() & !SIGN_F64).wrapping_neg());
    let inwards = all_ones_if_negative(error.to_bits() ^ bits) & inexact;
    let outwards = inexact & !inwards;
    let tie = || {
        // The error is half the distance to the outer neighbour: a tie that went inwards.
        let outer = f64::from_bits(bits.wrapping_add(1));
        error + error == outer - nearest
    };
    f64::from_bits(bits.wrapping_add(step::<R>(
        bits,
        all_ones_if_negative(bits),
        inwards,
        outwards,
        tie,
    )))
}

const SIGN_F64: u64 = 1 << 63;

#[inline(always)]
fn all_ones_if_negative(bits: u64) -> u64 {
    (bits as i64 >> 63) as u64
}

/// What to add to the bits of a number that was rounded to nearest-even, to have rounded it in the
/// direction of `R` instead: one away from zero, one back, or nothing. `inwards` (`outwards`) is all
/// ones if the exact value is nearer to (further from) zero than the number, `negative` if it is
/// negative. Masks rather than conditions, so that 32-bit and 64-bit lanes mix well.
#[inline(always)]
fn step<R: Round>(
    bits: u64,
    negative: u64,
    inwards: u64,
    outwards: u64,
    tie: impl FnOnce() -> bool,
) -> u64 {
    // All ones is −1: adding `inwards` steps back, subtracting `outwards` steps on.
    match R::ROUNDING {
        Some(Rounding::NearestEven) => 0,
        Some(Rounding::TowardsZero) => inwards,
        Some(Rounding::TowardsPositive) => (inwards & negative).wrapping_sub(outwards & !negative),
        Some(Rounding::TowardsNegative) => (inwards & !negative).wrapping_sub(outwards & negative),
        Some(Rounding::NearestAway) => outwards & u64::from(tie()),
        None => inwards.wrapping_sub(outwards) & (bits & 1).wrapping_sub(1),
    }
}

/// Low bits that are only looked at for being zero or not, and the bit above them that keeps the
/// answer: rounds to odd at that place, in two's complement or in a float's magnitude.
macro_rules! fold_low_bits {
    ($name:ident, $t:ty) => {
        #[inline(always)]
        fn $name(x: $t, count: u32) -> $t {
            let mask = (1 << count) - 1;
            (((x & mask) + mask) | x) & !mask
        }
    };
}

fold_low_bits! { fold_low_bits_u32, u32 }
fold_low_bits! { fold_low_bits_u64, u64 }

/// f64 to f32 in the direction of `R`, where the result is known to be a normal number: the bits that
/// f32 does not have are rounded away first.
#[inline(always)]
fn narrow_normal<R: Round>(x: f64) -> f32 {
    const DROPPED: u32 = f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS;
    const MASK: u64 = (1 << DROPPED) - 1;
    let bits = x.to_bits();
    let negative = all_ones_if_negative(bits);
    let carry = match R::ROUNDING {
        Some(Rounding::NearestEven) => return x as f32,
        Some(Rounding::TowardsZero) => 0,
        Some(Rounding::TowardsPositive) => MASK & !negative,
        Some(Rounding::TowardsNegative) => MASK & negative,
        Some(Rounding::NearestAway) => (MASK >> 1) + 1,
        None => return f64::from_bits(fold_low_bits_u64(bits, DROPPED)) as f32,
    };
    f64::from_bits((bits + carry) & !MASK) as f32
}

/// 32 bits: f64 is exact. To odd, on the way to a format of at most 11 bits of precision, what f32 has
/// no place for may be folded at a fixed one.
macro_rules! word_to_f32 {
    ($($t:ty: $magnitude:expr;)*) => {$(
        impl RoundTo<f32> for $t {
            #[inline(always)]
            fn round_to<R: Round, L: Token>(self) -> f32 {
                match R::ROUNDING {
                    Some(Rounding::NearestEven) => self as f32,
                    Some(_) => narrow_normal::<R>(f64::from(self)),
                    None => {
                        let magnitude: fn(Self) -> u32 = $magnitude;
                        let folded = fold_low_bits_u32(self as u32, 8) as Self;
                        (if magnitude(self) < 1 << f32::MANTISSA_DIGITS { self } else { folded }) as f32
                    }
                }
            }
        }
    )*};
}

word_to_f32! {
    i32: i32::unsigned_abs;
    u32: |x| x;
}

/// 64 bits: f64, to odd, then f32.
macro_rules! long_to_f32 {
    ($($t:ty: $high:expr;)*) => {$(
        impl RoundTo<f32> for $t {
            #[inline(always)]
            fn round_to<R: Round, L: Token>(self) -> f32 {
                // Where f64 may not hold all bits, the lowest eleven are far below what f32 has.
                const FOLDED: u32 = u64::BITS - f64::MANTISSA_DIGITS;
                let high: fn(Self) -> f64 = $high;
                let high = high(self);
                let bits = self as u64;
                let is_long = high.abs() >= TWO_P52;
                let bits = if is_long { fold_low_bits_u64(bits, FOLDED) } else { bits };
                let exact = if L::CONVERTS_I64 {
                    bits as Self as f64
                } else {
                    high + low_half(bits)
                };
                narrow_normal::<R>(exact)
            }
        }
    )*};
}

long_to_f32! {
    i64: high_half_i64;
    u64: high_half_u64;
}

/// The high 32 bits, times 2^32, without an instruction for it: put under an exponent at which the
/// mantissa counts in that unit. 2^84 + 2^63 makes the signed half positive.
#[inline(always)]
fn high_half_i64(x: i64) -> f64 {
    let high = f64::from_bits(((x as u64 >> 32) ^ 0x8000_0000) | TWO_P84.to_bits());
    high - (TWO_P84 + TWO_P63)
}

#[inline(always)]
fn high_half_u64(x: u64) -> f64 {
    f64::from_bits((x >> 32) | TWO_P84.to_bits()) - TWO_P84
}

/// The low 32 bits, likewise.
#[inline(always)]
fn low_half(bits: u64) -> f64 {
    f64::from_bits((bits & 0xffff_ffff) | TWO_P52.to_bits()) - TWO_P52
}

/// f64 to f32 in the direction of `R`. What overflows becomes Inf or the greatest finite value, as
/// IEEE 754 has it for `R`; NaNs stay NaN and infinities infinite.
#[inline(always)]
fn narrow<R: Round>(x: f64) -> f32 {
    let nearest = x as f32;
    if R::ROUNDING == Some(Rounding::NearestEven) {
        return nearest;
    }
    // Within a sign the order of the bits is that of the values; a NaN is neither above nor below.
    let back = f64::from(nearest);
    let above = u32::from(back.abs() > x.abs());
    let below = u32::from(back.abs() < x.abs());
    let bits = nearest.to_bits();
    f32::from_bits(match R::ROUNDING {
        Some(Rounding::NearestEven) => bits,
        Some(Rounding::TowardsZero) => bits - above,
        Some(Rounding::TowardsPositive) => {
            if x < 0.0 {
                bits - above
            } else {
                bits + below
            }
        }
        Some(Rounding::TowardsNegative) => {
            if x < 0.0 {
                bits + below
            } else {
                bits - above
            }
        }
        Some(Rounding::NearestAway) => {
            // Exact: both are multiples of the smaller unit, and near each other.
            let error = x - back;
            let outer = f64::from(f32::from_bits(bits.wrapping_add(1)));
            bits + (below & u32::from(error + error == outer - back))
        }
        None => (bits - above) | above | below,
    })
}

/// f64 to f32, with the range of f32 itself or, rounded to odd, of a narrower float behind it.
#[derive(Clone, Copy)]
pub(crate) struct Narrow<R, M> {
    /// The least and greatest finite f64 that round into range.
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// The magnitude that a value out of range becomes.
    pub(crate) beyond: f32,
    pub(crate) policy: PhantomData<(R, M)>,
}

/// Whether `R` rounds a number and its negative to different magnitudes.
const fn is_directed<R: Round>() -> bool {
    matches!(R::ROUNDING, Some(Rounding::TowardsPositive | Rounding::TowardsNegative))
}

/// The bound of the magnitude of `x`.
#[inline(always)]
fn bound<R: Round>(x: f64, min: f64, max: f64) -> f64 {
    if is_directed::<R>() && x < 0.0 { -min } else { max }
}

/// The sign bit if a magnitude, as bits, is above a bound and finite, else without it; a difference
/// rather than a condition, as [`Flags`] are.
#[inline(always)]
fn beyond_and_finite(magnitude: f64, bound: f64) -> u64 {
    let finite = magnitude.to_bits().wrapping_sub(f64::INFINITY.to_bits());
    bound.to_bits().wrapping_sub(magnitude.to_bits()) & finite
}

impl<R: Round, M: Range> PerElement for Narrow<R, M> {
    type Source = f64;
    type Target = f32;
    type Flags = u64;

    #[inline(always)]
    fn convert<L: Token>(&self, x: f64) -> (f32, u64) {
        let magnitude = x.abs();
        let bound = bound::<R>(x, self.min, self.max);
        let wrong =
            if M::MODE == OutOfRange::Error { beyond_and_finite(magnitude, bound) } else { 0 };
        let rounded = narrow::<R>(x);
        if R::ROUNDING == Some(Rounding::NearestEven) {
            // To nearest, what is out of range becomes Inf by itself.
            return (rounded, wrong);
        }
        // NaN and infinities are kept as they are.
        let outside = (magnitude > bound) & (magnitude < f64::INFINITY);
        (if outside { self.beyond.copysign(rounded) } else { rounded }, wrong)
    }

    #[inline(always)]
    fn refuses(flags: u64) -> bool {
        flags & SIGN_F64 != 0
    }
}

/// f64 to f32, rounded to odd, on the way to `float16` in the direction of `R`: what f32 does not
/// reach, the cast behind it need not tell apart.
#[derive(Clone, Copy)]
pub(crate) struct DoubleForF16<R, M> {
    /// The least and greatest finite f64 that round into the range of `float16`.
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) policy: PhantomData<(R, M)>,
}

impl<R: Round, M: Range> PerElement for DoubleForF16<R, M> {
    type Source = f64;
    type Target = f32;
    type Flags = u64;

    #[inline(always)]
    fn convert<L: Token>(&self, x: f64) -> (f32, u64) {
        /// Far below the least `float16`, far above the least normal f32.
        const TINY: f64 = 1.0 / (TWO_P52 * TWO_P52);
        let magnitude = x.abs();
        let wrong = if M::MODE == OutOfRange::Error {
            beyond_and_finite(magnitude, bound::<R>(x, self.min, self.max))
        } else {
            0
        };
        // Only a directed rounding tells a tiny number from zero, which f32 would make of it.
        let vanishes = is_directed::<R>() & (magnitude < TINY) & (magnitude > 0.0);
        (narrow_normal::<Odd>(if vanishes { TINY.copysign(x) } else { x }), wrong)
    }

    #[inline(always)]
    fn refuses(flags: u64) -> bool {
        flags & SIGN_F64 != 0
    }
}

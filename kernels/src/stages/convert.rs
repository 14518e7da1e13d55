//! Casts between the wide types: the ten native integers and floats.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use bytemuck::Pod;
use num_traits::{AsPrimitive, PrimInt, Zero};

use super::{Kernel, for_each};
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
    type Bits: Int;
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
pub(crate) struct IntAs<S, T>(pub(crate) PhantomData<(S, T)>);

// SAFETY: `for_each` initialises the output.
unsafe impl<S: Int + AsPrimitive<T>, T: Int> Kernel for IntAs<S, T> {
    const SIZES: (usize, usize) = (size_of::<S>(), size_of::<T>());

    #[inline(always)]
    fn run<L: Token>(&self, _: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        for_each(input, output, |x: S| x.as_());
        false
    }
}

/// Integer to integer, held to the target's range; with `Error`, leaving it needs the reference.
pub(crate) struct IntClamp<S, T, M> {
    pub(crate) min: S,
    pub(crate) max: S,
    pub(crate) target: PhantomData<(T, M)>,
}

// SAFETY: `for_each` initialises the output.
unsafe impl<S: Int + AsPrimitive<T>, T: Int, M: Range> Kernel for IntClamp<S, T, M> {
    const SIZES: (usize, usize) = (size_of::<S>(), size_of::<T>());

    #[inline(always)]
    fn run<L: Token>(&self, _: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let (min, max) = (self.min, self.max);
        let mut changed = S::zero();
        for_each(input, output, |x: S| {
            let held = x.max(min).min(max);
            if M::MODE == OutOfRange::Error {
                changed = changed | (held ^ x);
            }
            held.as_()
        });
        changed != S::zero()
    }
}

/// Float to integer.
///
/// Rounding is monotonic, so "the rounded value is in range" is "the value is in `min..=max`" for
/// bounds that the plan finds with the reference: the least and greatest float that round into the
/// target's range. A clamp to them before rounding is the clamp after it.
pub(crate) struct FloatToInt<F, T, R, M> {
    pub(crate) min: F,
    pub(crate) max: F,
    /// What values above `max` become with `Clamp`: `max`, rounded, may be less than the target's
    /// greatest value, where that is no float (2^31 − 1 in f32).
    pub(crate) top: T,
    pub(crate) policy: PhantomData<(R, M)>,
}

// SAFETY: `for_each` initialises the output.
unsafe impl<F: ToInt<T>, T: Int, R: Round, M: Range> Kernel for FloatToInt<F, T, R, M> {
    const SIZES: (usize, usize) = (size_of::<F>(), size_of::<T>());

    #[inline(always)]
    fn run<L: Token>(&self, _: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let (min, max, top) = (self.min, self.max, self.top);
        // A difference of floats is ±0 where nothing is wrong: x − x for finite x, and otherwise a
        // NaN or what the clamp took away.
        let mut wrong = F::Bits::zero();
        for_each(input, output, |x: F| {
            if M::MODE == OutOfRange::Wrap {
                wrong = wrong | x.zero_if_finite().to_bits();
                return round_to_integral::<R, F>(x).wrap();
            }
            let held = clamp(x, min, max);
            let rounded = F::convert::<R, L>(held);
            if M::MODE == OutOfRange::Error {
                wrong = wrong | (held - x).to_bits();
                rounded
            } else {
                wrong = wrong | x.zero_if_finite().to_bits();
                if F::TOP_IS_EXACT || x <= max { rounded } else { top }
            }
        });
        // All but the sign: the difference of equal numbers may be −0.
        (wrong << 1) != F::Bits::zero()
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

f32_to_short! { i8 u8 i16 u16 }

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
        f64::from(self).wrap()
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
        f64::from(self).wrap()
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

f64_to_word! { i8 u8 i16 u16 i32 u32 }

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
pub(crate) struct ExactToFloat<S, F>(pub(crate) PhantomData<(S, F)>);

// SAFETY: `for_each` initialises the output.
unsafe impl<S: Pod + AsPrimitive<F> + Send + Sync, F: Real> Kernel for ExactToFloat<S, F> {
    const SIZES: (usize, usize) = (size_of::<S>(), size_of::<F>());

    #[inline(always)]
    fn run<L: Token>(&self, _: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        for_each(input, output, |x: S| x.as_());
        false
    }
}

/// Integer of 32 or 64 bits to a float of less precision. Nothing is out of range.
pub(crate) struct IntToFloat<S, F, R>(pub(crate) PhantomData<(S, F, R)>);

// SAFETY: `for_each` initialises the output.
unsafe impl<S: RoundTo<F>, F: Real, R: Round> Kernel for IntToFloat<S, F, R> {
    const SIZES: (usize, usize) = (size_of::<S>(), size_of::<F>());

    #[inline(always)]
    fn run<L: Token>(&self, _: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        for_each(input, output, |x: S| x.round_to::<R, L>());
        false
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
        // The halves as floats, without an instruction for it: each is put under an exponent at
        // which the mantissa counts in its own unit. 2^84 + 2^63 makes the signed half positive.
        let low = f64::from_bits((self as u64 & 0xffff_ffff) | TWO_P52.to_bits());
        let high = f64::from_bits(((self as u64 >> 32) ^ 0x8000_0000) | TWO_P84.to_bits());
        round_halves::<R, L>(high - (TWO_P84 + TWO_P63), low - TWO_P52, self as f64)
    }
}

impl RoundTo<f64> for u64 {
    #[inline(always)]
    fn round_to<R: Round, L: Token>(self) -> f64 {
        let low = f64::from_bits((self & 0xffff_ffff) | TWO_P52.to_bits());
        let high = f64::from_bits((self >> 32) | TWO_P84.to_bits());
        round_halves::<R, L>(high - TWO_P84, low - TWO_P52, self as f64)
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

/// By way of f64: exactly for 32 bits, rounded to odd for 64.
macro_rules! int_to_f32 {
    ($($t:ty: $widen:expr;)*) => {$(
        impl RoundTo<f32> for $t {
            #[inline(always)]
            fn round_to<R: Round, L: Token>(self) -> f32 {
                if size_of::<Self>() == 4 && R::ROUNDING == Some(Rounding::NearestEven) {
                    return self as f32;
                }
                let widen: fn(Self) -> f64 = $widen;
                narrow::<R>(widen(self))
            }
        }
    )*};
}

int_to_f32! {
    i32: f64::from;
    u32: f64::from;
}

impl RoundTo<f32> for i64 {
    #[inline(always)]
    fn round_to<R: Round, L: Token>(self) -> f32 {
        narrow::<R>(RoundTo::<f64>::round_to::<Odd, L>(self))
    }
}

impl RoundTo<f32> for u64 {
    #[inline(always)]
    fn round_to<R: Round, L: Token>(self) -> f32 {
        narrow::<R>(RoundTo::<f64>::round_to::<Odd, L>(self))
    }
}

/// f64 to f32 in the direction of `R`. What overflows becomes Inf or the greatest finite value, as
/// IEEE 754 has it for `R`; NaNs stay NaN and infinities infinite.
#[inline(always)]
fn narrow<R: Round>(x: f64) -> f32 {
    let nearest = x as f32;
    if R::ROUNDING == Some(Rounding::NearestEven) {
        return nearest;
    }
    // Within a sign the order of the bits is that of the values; a NaN takes no part.
    let magnitude = x.to_bits() & !SIGN_F64;
    let rounded = f64::from(nearest).to_bits() & !SIGN_F64;
    let number = all_ones_if_negative(magnitude.wrapping_sub(f64::INFINITY.to_bits() + 1));
    let inwards = all_ones_if_negative(magnitude.wrapping_sub(rounded)) & number;
    let outwards = all_ones_if_negative(rounded.wrapping_sub(magnitude)) & number;
    let bits = nearest.to_bits();
    let tie = || {
        // Exact: both are multiples of the smaller unit, and near each other.
        let error = x - f64::from(nearest);
        let outer = f64::from(f32::from_bits(bits.wrapping_add(1)));
        error + error == outer - f64::from(nearest)
    };
    let negative = all_ones_if_negative(x.to_bits());
    let step = step::<R>(bits.into(), negative, inwards, outwards, tie);
    f32::from_bits(bits.wrapping_add(step as u32))
}

/// f64 to f32, with the range of f32 itself or, rounded to odd, of a narrower float behind it.
pub(crate) struct Narrow<R, M> {
    /// The least and greatest finite f64 that round into range.
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// The magnitude that a value out of range becomes.
    pub(crate) beyond: f32,
    pub(crate) policy: PhantomData<(R, M)>,
}

// SAFETY: `for_each` initialises the output.
unsafe impl<R: Round, M: Range> Kernel for Narrow<R, M> {
    const SIZES: (usize, usize) = (8, 4);

    #[inline(always)]
    fn run<L: Token>(&self, _: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let (positive, negative) = (self.max, -self.min);
        let beyond = self.beyond;
        // Gathered in the sign, by differences of magnitudes: outside the bounds, and finite.
        let mut wrong = 0_u64;
        for_each(input, output, |x: f64| {
            let magnitude = x.abs();
            let bound = if x > 0.0 { positive } else { negative };
            if M::MODE == OutOfRange::Error {
                let finite = magnitude.to_bits().wrapping_sub(f64::INFINITY.to_bits());
                wrong |= bound.to_bits().wrapping_sub(magnitude.to_bits()) & finite;
            }
            let rounded = narrow::<R>(x);
            if R::ROUNDING == Some(Rounding::NearestEven) {
                // To nearest, what is out of range becomes Inf by itself.
                return rounded;
            }
            // NaN and infinities are kept as they are.
            let outside = (magnitude > bound) & (magnitude < f64::INFINITY);
            if outside { beyond.copysign(rounded) } else { rounded }
        });
        wrong & SIGN_F64 != 0
    }
}

//! Casts between the wide types: the ten native integers and floats.

use core::marker::PhantomData;

use bytemuck::Pod;
use num_traits::{AsPrimitive, One, PrimInt, ToPrimitive, WrappingSub, Zero};

use super::element_op::{ElementOp, Flags};
use crate::{OutOfRange, Rounding};

/// A rounding as a type, so that a kernel is compiled per rounding. `Odd` is the sixth: an inexact
/// value goes to the neighbour whose last bit is set. Rounding the result again, to at least two
/// bits less, is then the same as rounding once (Boldo and Melquiond, 2008).
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

/// An [`OutOfRange`] as a type.
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
pub(crate) trait Int: Pod + PrimInt + WrappingSub + Send + Sync {}

impl<T: Pod + PrimInt + WrappingSub + Send + Sync> Int for T {}

/// f32 or f64.
pub(crate) trait Real: Pod + num_traits::Float + Send + Sync {
    /// The bits, as an integer of the same width.
    type Bits: Int + Flags;
    /// Rounds to the nearest integer, ties to even.
    fn round_ties_even(self) -> Self;
    /// The bits.
    fn to_bits(self) -> Self::Bits;
    /// The number with these bits.
    fn from_bits(bits: Self::Bits) -> Self;
    /// The largest number below one half.
    const BELOW_HALF: Self;
    /// 1.5 · 2^23 for f32, 1.5 · 2^52 for f64. Adding it to a number of less than a third of its
    /// magnitude rounds the number, ties to even, to an integer in the low bits of the sum.
    const MAGIC: Self;
    /// +0 for a finite number, else NaN.
    #[inline(always)]
    #[allow(clippy::eq_op)] // this detects infinities and NaNs
    fn zero_if_finite(self) -> Self {
        self - self
    }
}

macro_rules! reals {
    ($($t:ident: $bits:ident, $rint:ident, $below_half:expr, $magic:expr;)*) => {$(
        impl Real for $t {
            type Bits = $bits;
            const BELOW_HALF: Self = $below_half;
            const MAGIC: Self = $magic;
            #[inline(always)]
            fn round_ties_even(self) -> Self {
                #[cfg(feature = "std")]
                return $t::round_ties_even(self);
                #[cfg(not(feature = "std"))]
                return libm::$rint(self);
            }
            #[inline(always)]
            fn to_bits(self) -> $bits {
                $t::to_bits(self)
            }
            #[inline(always)]
            fn from_bits(bits: $bits) -> Self {
                $t::from_bits(bits)
            }
        }
    )*};
}

reals! {
    f32: u32, rintf, 0.5_f32.next_down(), 12_582_912.0;
    f64: u64, rint, 0.5_f64.next_down(), 6_755_399_441_055_744.0;
}

/// Clamps `x` to `min..=max`, and NaN to `min`: two selects, each one instruction.
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
        // Adding 0.5 itself would round 0.49999997 to 1.
        Some(Rounding::NearestAway) => (x + F::BELOW_HALF.copysign(x)).trunc(),
    }
}

/// Integer to integer; each value is representable or wraps.
#[derive(Clone, Copy)]
pub(crate) struct IntAs<S, T>(pub(crate) PhantomData<(S, T)>);

impl<S: Int + AsPrimitive<T>, T: Int> ElementOp for IntAs<S, T> {
    type Source = S;
    type Target = T;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: S) -> (T, ()) {
        (x.as_(), ())
    }
}

/// Integer to integer, clamped to the target's range; with `Error`, a clamped value needs the reference.
/// `FROM_ZERO` says that `min` is 0.
#[derive(Clone, Copy)]
pub(crate) struct IntClamp<S, T, M, const FROM_ZERO: bool> {
    pub(crate) min: S,
    pub(crate) max: S,
    pub(crate) target: PhantomData<(T, M)>,
}

impl<S, T, M, const FROM_ZERO: bool> ElementOp for IntClamp<S, T, M, FROM_ZERO>
where
    S: Int + Flags + AsPrimitive<T>,
    T: Int,
    M: Range,
{
    type Source = S;
    type Target = T;
    type Flags = S;

    #[inline(always)]
    fn convert(&self, x: S) -> (T, S) {
        if M::MODE == OutOfRange::Error {
            return (x.as_(), if FROM_ZERO { x } else { x.wrapping_sub(&self.min) });
        }
        (x.max(self.min).min(self.max).as_(), S::zero())
    }

    #[inline(always)]
    fn failed(&self, flags: S) -> bool {
        // The range has 2^n values, so a value outside it sets a bit above the lowest n.
        (flags & !(self.max - self.min)) != S::zero()
    }
}

/// Rounds to an integral value.
#[derive(Clone, Copy)]
pub(crate) struct RoundToIntegral<F, R>(pub(crate) PhantomData<(F, R)>);

impl<F: Real, R: Round> ElementOp for RoundToIntegral<F, R> {
    type Source = F;
    type Target = F;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: F) -> (F, ()) {
        (round_to_integral::<R, F>(x), ())
    }
}

/// Float to integer. To a short one it rounds to nearest-even; to others the input is integral.
///
/// Rounding is monotonic. So the rounded value is in range if the value is in `min..=max`, the least
/// and greatest float that round into the target's range; the plan finds them with the reference.
/// Clamping to them before rounding equals clamping after it.
///
/// An integer of 8 or 16 bits (32 for f64) is the low bits of the rounded value, signed or not, so
/// only unsigned types are used here.
#[derive(Clone, Copy)]
pub(crate) struct FloatToInt<F: Real, T, M> {
    pub(crate) bounds: Bounds<F, T>,
    pub(crate) mode: PhantomData<M>,
}

/// The range of an integer type, as floats and integers.
#[derive(Clone, Copy)]
pub(crate) struct Bounds<F: Real, T> {
    /// These round into the range of `T`: [`Bounds::new`] is the only way to set them.
    min: F,
    max: F,
    top: T,
    codes: Codes<F>,
}

impl<F: Real, T> Bounds<F, T> {
    /// The floats from `min` to `max`, and their integers `codes`. `top` is the result for values above `max` with
    /// `Clamp`: `max`, rounded, is less than it if the target's greatest value is not a float (2^31 − 1 in f32).
    ///
    /// # Safety
    /// All values from `min` to `max`, neither of which is NaN, round into the range of `T`.
    pub(crate) const unsafe fn new(min: F, max: F, top: T, codes: Codes<F>) -> Self {
        Self { min, max, top, codes }
    }
}

/// A range of integers, as the bits of their sums with [`Real::MAGIC`].
#[derive(Clone, Copy)]
pub(crate) struct Codes<F: Real> {
    /// The bits for the least integer.
    least: F::Bits,
    /// Bits that the difference from `min` never sets within the range.
    outside: F::Bits,
}

impl<F: Real> Codes<F> {
    /// The range `min..=max` of 2^n integers; meaningful only if they fit [`Real::MAGIC`].
    pub(crate) fn new(min: i128, max: i128) -> Self {
        let bits = |integer: i128| num_traits::cast(integer).unwrap_or(F::Bits::zero());
        let magic = F::MAGIC.to_bits().to_i128().unwrap_or_default();
        Self { least: bits(magic + min), outside: !bits(max - min) }
    }
}

impl<F: ToInt<T>, T: Int, M: Range> FloatToInt<F, T, M> {
    /// Whether the range is checked after rounding, in the low bits.
    const CHECKS_CODES: bool = F::IS_SHORT && matches!(M::MODE, OutOfRange::Error);
}

impl<F: ToInt<T>, T: Int, M: Range> ElementOp for FloatToInt<F, T, M> {
    type Source = F;
    type Target = T;
    type Flags = F::Bits;

    #[inline(always)]
    fn convert(&self, x: F) -> (T, F::Bits) {
        let Bounds { min, max, top, codes } = self.bounds;
        if Self::CHECKS_CODES {
            // The sum is monotonic, so values out of range, and NaN, have other high bits.
            let sum = rounding_sum(x);
            return (sum.as_(), sum.wrapping_sub(&codes.least));
        }
        // The difference is ±0 for a value in range (x − x); else it is NaN, or the amount that
        // was clamped.
        if M::MODE == OutOfRange::Wrap {
            return (x.wrap(), x.zero_if_finite().to_bits());
        }
        let clamped = clamp(x, min, max);
        // SAFETY: the value is from `min` to `max`, NaN too (see `clamp`), which `Bounds::new` asked to round into the range.
        let converted = unsafe { clamped.convert_in_range() };
        if M::MODE == OutOfRange::Error {
            return (converted, (clamped - x).to_bits());
        }
        // The greatest value of a short type is a float.
        let converted = if F::IS_SHORT || x <= max { converted } else { top };
        (converted, x.zero_if_finite().to_bits())
    }

    #[inline(always)]
    fn failed(&self, flags: F::Bits) -> bool {
        if Self::CHECKS_CODES {
            return (flags & self.bounds.codes.outside) != F::Bits::zero();
        }
        // Without the sign: the difference of equal numbers may be −0.
        (flags << 1) != F::Bits::zero()
    }
}

/// Conversion of floats to one integer type.
pub(crate) trait ToInt<T: Int>: Real<Bits: AsPrimitive<T>> {
    /// Whether the integer type, signed or not, fits [`Real::MAGIC`].
    const IS_SHORT: bool;
    /// Rounds to nearest-even to a short type; for others the input is integral.
    ///
    /// # Safety
    /// The value rounds into the range of the integer type.
    unsafe fn convert_in_range(self) -> T;
    /// An integral value modulo 2^N; anything for NaN and infinities.
    fn wrap(self) -> T;
}

/// The sum of the value, rounded to nearest-even by the addition, and [`Real::MAGIC`], as bits.
#[inline(always)]
fn rounding_sum<F: Real>(x: F) -> F::Bits {
    (x + F::MAGIC).to_bits()
}

/// To at most 16 bits.
macro_rules! f32_to_short {
    ($($t:ty)*) => {$(
        impl ToInt<$t> for f32 {
            const IS_SHORT: bool = true;
            #[inline(always)]
            unsafe fn convert_in_range(self) -> $t {
                rounding_sum(self) as $t
            }
            #[inline(always)]
            fn wrap(self) -> $t {
                f32_modulo_low_bits(self) as $t
            }
        }
    )*};
}

f32_to_short! { u8 u16 }

/// An integral value modulo 2^16 in the low 16 bits. Every operation is exact: a float of 2^40 or
/// more is a multiple of 2^16.
#[inline(always)]
fn f32_modulo_low_bits(x: f32) -> u32 {
    let count = num_traits::Float::floor(x * (1.0 / 65_536.0));
    (x - count * 65_536.0 + 8_388_608.0).to_bits()
}

/// An integral value modulo 2 · `half`, a power of two, in `-half..half`; `-half` for NaN and infinities.
/// The remainder to the nearest multiple is exact.
#[inline(always)]
fn signed_modulo<F: Real>(x: F, half: F) -> F {
    let modulus = half + half;
    let count = (x * modulus.recip()).round_ties_even();
    let remainder = x - count * modulus;
    if remainder < half { remainder } else { -half }
}

/// An integral value modulo 2^32, as signed.
#[inline(always)]
fn f32_modulo_32_bits(x: f32) -> i32 {
    // SAFETY: at least −2^31, below 2^31, and no NaN.
    unsafe { signed_modulo(x, 2_147_483_648.0).to_int_unchecked() }
}

/// f32 to 32 bits.
macro_rules! f32_to_word {
    ($($t:ty)*) => {$(
        impl ToInt<$t> for f32 {
            const IS_SHORT: bool = false;
            #[inline(always)]
            unsafe fn convert_in_range(self) -> $t {
                // SAFETY: the caller guarantees the range. To an unsigned type, a negative number is −0.
                unsafe { self.to_int_unchecked() }
            }
            #[inline(always)]
            fn wrap(self) -> $t {
                f32_modulo_32_bits(self) as $t
            }
        }
    )*};
}

f32_to_word! { i32 u32 }

/// f64 to at most 32 bits.
macro_rules! f64_to_word {
    ($($t:ty)*) => {$(
        impl ToInt<$t> for f64 {
            const IS_SHORT: bool = true;
            #[inline(always)]
            unsafe fn convert_in_range(self) -> $t {
                rounding_sum(self) as $t
            }
            #[inline(always)]
            fn wrap(self) -> $t {
                f64_modulo_low_bits(self) as $t
            }
        }
    )*};
}

f64_to_word! { u8 u16 u32 }

/// An integral value modulo 2^32 in the low 32 bits; exact, as [`f32_modulo_low_bits`] is.
#[inline(always)]
fn f64_modulo_low_bits(x: f64) -> u64 {
    let count = num_traits::Float::floor(x * TWO_M32);
    (x - count * TWO_P32 + TWO_P52).to_bits()
}

const TWO_P32: f64 = 4_294_967_296.0;
const TWO_M32: f64 = 1.0 / TWO_P32;
const TWO_P52: f64 = 4_503_599_627_370_496.0;
const TWO_P63: f64 = 0.5 * TWO_P32 * TWO_P32;
const TWO_P84: f64 = TWO_P32 * TWO_P52;

/// To 64 bits, through f64.
macro_rules! to_long {
    ($($float:ty => $t:ty)*) => {$(
        impl ToInt<$t> for $float {
            const IS_SHORT: bool = false;
            #[inline(always)]
            unsafe fn convert_in_range(self) -> $t {
                integral_to_64_bits(self.into()) as $t
            }
            #[inline(always)]
            fn wrap(self) -> $t {
                f64_modulo_64_bits(self.into()) as $t
            }
        }
    )*};
}

to_long! { f32 => i64 f32 => u64 f64 => i64 f64 => u64 }

/// An integral value of magnitude below 2^64 in two's complement, without an instruction for it. The high and
/// the low 32 bits are each read from the mantissa of a sum. Every operation is exact.
#[inline(always)]
fn integral_to_64_bits(x: f64) -> u64 {
    let high = num_traits::Float::floor(x * TWO_M32);
    let low = x - high * TWO_P32;
    ((high + f64::MAGIC).to_bits() << 32) | ((low + TWO_P52).to_bits() & 0xffff_ffff)
}

/// An integral value modulo 2^64.
#[inline(always)]
fn f64_modulo_64_bits(x: f64) -> u64 {
    // Towards zero: a small negative number plus 2^64 would not be exact.
    let count = num_traits::Float::trunc(x * (TWO_M32 * TWO_M32));
    integral_to_64_bits(x - count * (TWO_P32 * TWO_P32))
}

/// Integer or f32 to a float type that holds all its values.
#[derive(Clone, Copy)]
pub(crate) struct ExactToFloat<S, F>(pub(crate) PhantomData<(S, F)>);

impl<S: Pod + AsPrimitive<F> + Send + Sync, F: Real> ElementOp for ExactToFloat<S, F> {
    type Source = S;
    type Target = F;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: S) -> (F, ()) {
        (x.as_(), ())
    }
}

/// Integer of 32 or 64 bits to a less precise float; never out of range.
#[derive(Clone, Copy)]
pub(crate) struct IntToFloat<S, F, R>(pub(crate) PhantomData<(S, F, R)>);

impl<S: RoundTo<F>, F: Real, R: Round> ElementOp for IntToFloat<S, F, R> {
    type Source = S;
    type Target = F;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: S) -> (F, ()) {
        (x.round_to::<R>(), ())
    }
}

/// Integer of 32 or 64 bits to f32, before `float16`. Within ±2^17 f32 is exact; outside, every value is
/// out of range.
#[derive(Clone, Copy)]
pub(crate) struct IntForF16<S>(pub(crate) PhantomData<S>);

impl<S: Int + AsPrimitive<i32>> ElementOp for IntForF16<S> {
    type Source = S;
    type Target = f32;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: S) -> (f32, ()) {
        const BEYOND: i32 = 1 << 17;
        let clamped = x.min(S::from(BEYOND).unwrap_or(S::zero()));
        let clamped = clamped.max(S::from(-BEYOND).unwrap_or(S::zero()));
        (AsPrimitive::<i32>::as_(clamped) as f32, ())
    }
}

/// An integer that rounds to a float type.
pub(crate) trait RoundTo<F>: Int {
    /// Rounds once.
    fn round_to<R: Round>(self) -> F;
}

impl RoundTo<f64> for i64 {
    #[inline(always)]
    fn round_to<R: Round>(self) -> f64 {
        round_halves::<R>(high_half_i64(self), low_half(self as u64))
    }
}

impl RoundTo<f64> for u64 {
    #[inline(always)]
    fn round_to<R: Round>(self) -> f64 {
        round_halves::<R>(high_half_u64(self), low_half(self))
    }
}

/// Rounds `high + low`.
#[inline(always)]
fn round_halves<R: Round>(high: f64, low: f64) -> f64 {
    let nearest = high + low;
    if R::ROUNDING == Some(Rounding::NearestEven) {
        return nearest;
    }
    // The exact error of the sum. Dekker's form suffices: |high| is 0 or the greater. (Knuth's
    // TwoSum would allow any order.)
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
        // An error of half the distance to the outer neighbour: a tie that was rounded inwards.
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

/// Turns a number rounded to nearest-even into one rounded in the direction of `R`: returns 1, −1 or 0,
/// to add to its bits. `inwards` (`outwards`) is all ones if the exact value is nearer to (further from)
/// zero than the number; `negative` is all ones if it is negative. Masks instead of conditions let 32-bit
/// and 64-bit lanes mix well.
#[inline(always)]
fn step<R: Round>(
    bits: u64,
    negative: u64,
    inwards: u64,
    outwards: u64,
    tie: impl FnOnce() -> bool,
) -> u64 {
    // All ones is −1: adding `inwards` moves towards zero, subtracting `outwards` away from it.
    match R::ROUNDING {
        Some(Rounding::NearestEven) => 0,
        Some(Rounding::TowardsZero) => inwards,
        Some(Rounding::TowardsPositive) => (inwards & negative).wrapping_sub(outwards & !negative),
        Some(Rounding::TowardsNegative) => (inwards & !negative).wrapping_sub(outwards & negative),
        Some(Rounding::NearestAway) => outwards & u64::from(tie()),
        None => inwards.wrapping_sub(outwards) & (bits & 1).wrapping_sub(1),
    }
}

/// Rounds to odd at a bit: sets it if any bit below is set, and clears those. Works in two's complement and
/// on a float's magnitude.
#[inline(always)]
fn fold_low_bits<T: PrimInt>(x: T, count: u32) -> T {
    let mask = (T::one() << count as usize) - T::one();
    (((x & mask) + mask) | x) & !mask
}

/// f64 to f32 in the direction of `R`, for results that are normal numbers: first rounds away the bits
/// that f32 lacks.
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
        None => return f64::from_bits(fold_low_bits(bits, DROPPED)) as f32,
    };
    f64::from_bits((bits + carry) & !MASK) as f32
}

impl RoundTo<f32> for i32 {
    #[inline(always)]
    fn round_to<R: Round>(self) -> f32 {
        word_to_f32::<R, i32>(self, self.unsigned_abs())
    }
}

impl RoundTo<f32> for u32 {
    #[inline(always)]
    fn round_to<R: Round>(self) -> f32 {
        word_to_f32::<R, u32>(self, self)
    }
}

impl RoundTo<f32> for i64 {
    #[inline(always)]
    fn round_to<R: Round>(self) -> f32 {
        long_to_f32::<R, i64>(self, high_half_i64(self))
    }
}

impl RoundTo<f32> for u64 {
    #[inline(always)]
    fn round_to<R: Round>(self) -> f32 {
        long_to_f32::<R, u64>(self, high_half_u64(self))
    }
}

/// 32 bits: f64 is exact. Rounding to odd, before a format of at most 11 bits of precision, may fold the
/// bits that f32 lacks at a fixed place.
#[inline(always)]
fn word_to_f32<R: Round, T>(x: T, magnitude: u32) -> f32
where
    T: Int + Into<f64> + AsPrimitive<f32>,
{
    match R::ROUNDING {
        Some(Rounding::NearestEven) => x.as_(),
        Some(_) => narrow_normal::<R>(x.into()),
        None => {
            let folded = fold_low_bits(x, u32::BITS - f32::MANTISSA_DIGITS);
            (if magnitude < 1 << f32::MANTISSA_DIGITS { x } else { folded }).as_()
        }
    }
}

/// 64 bits, with `high` the value of the upper half: to f64, rounding to odd, then to f32.
#[inline(always)]
fn long_to_f32<R: Round, T>(x: T, high: f64) -> f32
where
    T: Int + AsPrimitive<f64> + AsPrimitive<u64>,
{
    // If f64 cannot hold all bits, the lowest eleven are far below the precision of f32.
    let folded = fold_low_bits(x, u64::BITS - f64::MANTISSA_DIGITS);
    let x = if high.abs() >= TWO_P52 { folded } else { x };
    let exact = high + low_half(x.as_());
    narrow_normal::<R>(exact)
}

/// The high 32 bits, times 2^32, without an instruction for it: they become the mantissa under an exponent at
/// which it counts in units of 2^32. 2^84 + 2^63 makes the signed half positive.
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

/// f64 to f32 in the direction of `R`. Overflow gives Inf or the greatest finite value, as IEEE 754 says
/// for `R`; NaNs stay NaN and infinities infinite.
#[inline(always)]
fn narrow<R: Round>(x: f64) -> f32 {
    if R::ROUNDING == Some(Rounding::NearestAway) {
        return away_from_tie(x) as f32;
    }
    let nearest = x as f32;
    // For one sign, bits and values have the same order; a NaN compares neither above nor below.
    let back = f64::from(nearest);
    let bits = nearest.to_bits();
    let upwards = ((bits as i32 >> 31) | 1) as u32;
    f32::from_bits(match R::ROUNDING {
        Some(Rounding::NearestEven | Rounding::NearestAway) => bits,
        Some(Rounding::TowardsZero) => bits - u32::from(back.abs() > x.abs()),
        Some(Rounding::TowardsPositive) => bits.wrapping_add(if back < x { upwards } else { 0 }),
        Some(Rounding::TowardsNegative) => bits.wrapping_sub(if back > x { upwards } else { 0 }),
        None => {
            let above = u32::from(back.abs() > x.abs());
            (bits - above) | above | u32::from(back.abs() < x.abs())
        }
    })
}

/// A number that nearest-even rounds to a shorter format as nearest-away rounds `x`. The format's values and
/// the ties between them have even mantissas here, so the next number lies beyond a tie and changes nothing
/// else.
#[inline(always)]
pub(crate) fn away_from_tie<F: Real>(x: F) -> F {
    F::from_bits(if x.abs() < F::infinity() { x.to_bits() | F::Bits::one() } else { x.to_bits() })
}

/// f64 to f32, with the range of f32, or rounded to odd with the range of a narrower float that follows.
#[derive(Clone, Copy)]
pub(crate) struct Narrow<R, M> {
    /// The least and greatest finite f64 that round into range.
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// The magnitude for values out of range.
    pub(crate) overflow: f32,
    pub(crate) policy: PhantomData<(R, M)>,
}

/// Whether `R` rounds a number and its negative to different magnitudes.
const fn is_directed<R: Round>() -> bool {
    matches!(R::ROUNDING, Some(Rounding::TowardsPositive | Rounding::TowardsNegative))
}

/// The bound of the magnitude of `x`.
#[inline(always)]
fn bound<R: Round>(x: f64, min: f64, max: f64) -> f64 {
    if is_directed::<R>() && x.is_sign_negative() { -min } else { max }
}

/// The sign bit is set if a magnitude is above a bound and below `special`, all as bits. Computed as a
/// difference instead of a condition, like [`Flags`].
#[inline(always)]
fn beyond_and_below(magnitude: u64, bound: u64, special: u64) -> u64 {
    bound.wrapping_sub(magnitude) & magnitude.wrapping_sub(special)
}

impl<R: Round, M: Range> ElementOp for Narrow<R, M> {
    type Source = f64;
    type Target = f32;
    type Flags = u64;

    #[inline(always)]
    fn convert(&self, x: f64) -> (f32, u64) {
        let magnitude = x.abs();
        let bound = bound::<R>(x, self.min, self.max);
        let fail = if M::MODE == OutOfRange::Error {
            let infinity = f64::INFINITY.to_bits();
            beyond_and_below(magnitude.to_bits(), bound.to_bits(), infinity)
        } else {
            0
        };
        let rounded = narrow::<R>(x);
        if M::MODE == OutOfRange::Error || R::ROUNDING == Some(Rounding::NearestEven) {
            // Rounding to nearest already turns values out of range into Inf.
            return (rounded, fail);
        }
        // NaN and infinities are kept as they are.
        let outside = (magnitude > bound) & (magnitude < f64::INFINITY);
        (if outside { self.overflow.copysign(rounded) } else { rounded }, fail)
    }

    #[inline(always)]
    fn failed(&self, flags: u64) -> bool {
        flags & SIGN_F64 != 0
    }
}

/// f64 to f32, rounded to odd, before a float of at most 11 bits of precision in the direction of `R`. The cast
/// that follows need not distinguish values outside the range of f32.
#[derive(Clone, Copy)]
pub(crate) struct NarrowToOdd<R, M> {
    /// The least and greatest finite f64 that are in range.
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// The bits of the least greater magnitude that is not out of range: infinity, or the first NaN.
    pub(crate) special: u64,
    pub(crate) policy: PhantomData<(R, M)>,
}

impl<R: Round, M: Range> ElementOp for NarrowToOdd<R, M> {
    type Source = f64;
    type Target = f32;
    type Flags = u64;

    #[inline(always)]
    fn convert(&self, x: f64) -> (f32, u64) {
        /// Less than half of every format's least subnormal, and a subnormal f32.
        const TINY: f64 = 1.0 / (TWO_P52 * TWO_P52 * TWO_P32 * 16.0);
        /// 14 bits are kept. f32 has them down to 2^−136; smaller values round as [`TINY`] does.
        const DROPPED: u32 = f64::MANTISSA_DIGITS - 14;
        let magnitude = x.abs();
        let fail = if M::MODE == OutOfRange::Error {
            let bound = bound::<R>(x, self.min, self.max);
            beyond_and_below(magnitude.to_bits(), bound.to_bits(), self.special)
        } else {
            0
        };
        // A tiny number would become zero in f32; only a directed rounding treats it otherwise.
        let vanishes = is_directed::<R>() & (magnitude < TINY) & (magnitude > 0.0);
        let x = if vanishes { TINY.copysign(x) } else { x };
        (f64::from_bits(fold_low_bits(x.to_bits(), DROPPED)) as f32, fail)
    }

    #[inline(always)]
    fn failed(&self, flags: u64) -> bool {
        flags & SIGN_F64 != 0
    }
}

//! Casts that the compiler makes vectors of on every CPU: those of the scalar level that need neither the reference nor a
//! table.

use core::marker::PhantomData;

use bytemuck::Pod;
use num_traits::{AsPrimitive, PrimInt, ToPrimitive, WrappingSub, Zero};

use super::element_op::{ElementOp, Flags};
use crate::element::BINARY16;

/// A native integer type.
pub(crate) trait Int: Pod + PrimInt + WrappingSub + Send + Sync {}

impl<T: Pod + PrimInt + WrappingSub + Send + Sync> Int for T {}

/// f32 or f64.
pub(crate) trait Real: Pod + num_traits::Float + Send + Sync {
    /// The bits, as an integer of the same width.
    type Bits: Int + Flags;
    /// The bits.
    fn to_bits(self) -> Self::Bits;
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
    ($($t:ident: $bits:ident, $magic:expr;)*) => {$(
        impl Real for $t {
            type Bits = $bits;
            const MAGIC: Self = $magic;
            #[inline(always)]
            fn to_bits(self) -> $bits {
                $t::to_bits(self)
            }
        }
    )*};
}

reals! {
    f32: u32, 12_582_912.0;
    f64: u64, 6_755_399_441_055_744.0;
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

/// Integer to integer. What is not in `min..=max`, the target's range as far as the source reaches it, is clamped, or needs
/// the reference.
#[derive(Clone, Copy)]
pub(crate) struct IntInRange<S, T, const CLAMPS: bool> {
    pub(crate) min: S,
    pub(crate) max: S,
    pub(crate) target: PhantomData<T>,
}

impl<S, T, const CLAMPS: bool> ElementOp for IntInRange<S, T, CLAMPS>
where
    S: Int + Flags + AsPrimitive<T>,
    T: Int,
{
    type Source = S;
    type Target = T;
    type Flags = S;

    #[inline(always)]
    fn convert(&self, x: S) -> (T, S) {
        if CLAMPS {
            (x.max(self.min).min(self.max).as_(), S::zero())
        } else {
            (x.as_(), x.wrapping_sub(&self.min))
        }
    }

    #[inline(always)]
    fn failed(&self, flags: S) -> bool {
        // The range has 2^n values, so a value outside it sets a bit above the lowest n.
        (flags & !(self.max - self.min)) != S::zero()
    }
}

/// Float to an integer of at most 16 bits, to nearest-even. What is out of range is clamped, or needs the reference, as NaN
/// and infinities do.
///
/// The integer is the low bits of the sum with [`Real::MAGIC`], signed or not, so `T` is unsigned.
#[derive(Clone, Copy)]
pub(crate) struct RoundToInt<F: Real, T, const CLAMPS: bool> {
    /// The target's range.
    min: F,
    max: F,
    /// The bits of the sum for the least integer.
    least: F::Bits,
    /// Bits that the difference from `least` never sets within the range.
    outside: F::Bits,
    target: PhantomData<T>,
}

impl<F: Real, T, const CLAMPS: bool> RoundToInt<F, T, CLAMPS> {
    /// To the range `min..=max` of 2^n integers of at most 16 bits.
    pub(crate) fn new(min: i128, max: i128) -> Self {
        let float = |integer: i128| F::from(integer).unwrap_or(F::zero());
        let bits = |integer: i128| num_traits::cast(integer).unwrap_or(F::Bits::zero());
        let magic = F::MAGIC.to_bits().to_i128().unwrap_or_default();
        Self {
            min: float(min),
            max: float(max),
            least: bits(magic + min),
            outside: !bits(max - min),
            target: PhantomData,
        }
    }
}

impl<F, T, const CLAMPS: bool> ElementOp for RoundToInt<F, T, CLAMPS>
where
    F: Real<Bits: AsPrimitive<T>>,
    T: Int,
{
    type Source = F;
    type Target = T;
    type Flags = F::Bits;

    #[inline(always)]
    fn convert(&self, x: F) -> (T, F::Bits) {
        if CLAMPS {
            // Two selects, each one instruction; NaN becomes the least.
            let clamped = if x > self.min { x } else { self.min };
            let clamped = if clamped < self.max { clamped } else { self.max };
            ((clamped + F::MAGIC).to_bits().as_(), x.zero_if_finite().to_bits())
        } else {
            // The sum is monotonic, so values out of range, and NaN, have other high bits.
            let sum = (x + F::MAGIC).to_bits();
            (sum.as_(), sum.wrapping_sub(&self.least))
        }
    }

    #[inline(always)]
    fn failed(&self, flags: F::Bits) -> bool {
        if CLAMPS { flags != F::Bits::zero() } else { (flags & self.outside) != F::Bits::zero() }
    }
}

/// A number to f32 or f64 as the language converts it: exactly, or an integer of at most 32 bits to nearest-even.
#[derive(Clone, Copy)]
pub(crate) struct AsFloat<S, F>(pub(crate) PhantomData<(S, F)>);

impl<S: Pod + AsPrimitive<F> + Send + Sync, F: Real> ElementOp for AsFloat<S, F> {
    type Source = S;
    type Target = F;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: S) -> (F, ()) {
        (x.as_(), ())
    }
}

/// f64 to f32, to nearest-even. What is out of range becomes infinite, or needs the reference.
#[derive(Clone, Copy)]
pub(crate) struct Narrow<const CLAMPS: bool>;

impl<const CLAMPS: bool> ElementOp for Narrow<CLAMPS> {
    type Source = f64;
    type Target = f32;
    type Flags = u32;

    #[inline(always)]
    fn convert(&self, x: f64) -> (f32, u32) {
        let y = x as f32;
        (y, if CLAMPS { 0 } else { u32::from(y.is_infinite() & x.is_finite()) })
    }
}

const F32_QUIET_NAN: u32 = 0x7fc0_0000;

/// `float16` to f32, NaNs made quiet.
#[derive(Clone, Copy)]
pub(crate) struct DecodeF16;

impl ElementOp for DecodeF16 {
    type Source = u16;
    type Target = f32;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: u16) -> (f32, ()) {
        const SHIFT: u32 = f32::MANTISSA_DIGITS - 1 - BINARY16.mantissa_bits;
        // From one bias to the other.
        const REBIAS: u32 =
            ((f32::MAX_EXP - 1 - BINARY16.bias) as u32) << (f32::MANTISSA_DIGITS - 1);
        let sign = u32::from(x & 0x8000) << 16;
        let magnitude = u32::from(x & 0x7fff);
        let aligned = magnitude << SHIFT;
        // A subnormal is its mantissa in units of 2^−24; a product with a power of two is exact.
        let subnormal = (magnitude as f32 * (1.0 / 16_777_216.0)).to_bits();
        let finite = if magnitude < 0x0400 { subnormal } else { aligned + REBIAS };
        let special = if magnitude > 0x7c00 { F32_QUIET_NAN } else { f32::INFINITY.to_bits() };
        let magnitude = if magnitude >= 0x7c00 { aligned | special } else { finite };
        (f32::from_bits(sign | magnitude), ())
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
        let wide = u32::from(x) << 16;
        let quiet = if f32::from_bits(wide).is_nan() { F32_QUIET_NAN } else { 0 };
        (f32::from_bits(wide | quiet), ())
    }
}

//! Casts that the compiler makes vectors of on every CPU: those of the scalar level that need neither the reference nor a
//! table.

use core::marker::PhantomData;

use bytemuck::Pod;
use num_traits::ops::overflowing::{OverflowingAdd, OverflowingMul, OverflowingSub};
use num_traits::{AsPrimitive, PrimInt, ToPrimitive, WrappingSub, Zero};

use super::element_op::{ElementOp, Flags};
use crate::element::BINARY16;

/// A native integer type.
pub(crate) trait NativeInt:
    Pod + PrimInt + WrappingSub + OverflowingAdd + OverflowingSub + OverflowingMul + Send + Sync
{
}

impl<T> NativeInt for T where
    T: Pod + PrimInt + WrappingSub + OverflowingAdd + OverflowingSub + OverflowingMul + Send + Sync
{
}

/// f32 or f64.
pub(crate) trait NativeFloat: Pod + num_traits::Float + Send + Sync {
    /// The bits, as an integer of the same width.
    type Bits: NativeInt + Flags;
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
        impl NativeFloat for $t {
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

impl<S: NativeInt + AsPrimitive<T>, T: NativeInt> ElementOp for IntAs<S, T> {
    type Source = S;
    type Target = T;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: S) -> (T, ()) {
        (x.as_(), ())
    }
}

/// Integer to integer. A value outside `min..=max`, the target's range as far as the source reaches it, is clamped, or needs
/// the reference.
#[derive(Clone, Copy)]
pub(crate) struct IntInRange<S, T, const CLAMPS: bool> {
    pub(crate) min: S,
    pub(crate) max: S,
    pub(crate) target: PhantomData<T>,
}

impl<S, T, const CLAMPS: bool> ElementOp for IntInRange<S, T, CLAMPS>
where
    S: NativeInt + Flags + AsPrimitive<T>,
    T: NativeInt,
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

/// Float to an integer of at most 16 bits, to nearest-even: with `SCALES` of `(x − offset) · scale`, and with `MAPS` of a
/// value in place of NaN. A value out of range is clamped, or needs the reference, as NaN and infinities do, which may be
/// products of finite elements.
///
/// The integer is the low bits of the sum with [`NativeFloat::MAGIC`], signed or not, so `T` is unsigned.
#[derive(Clone, Copy)]
pub(crate) struct RoundToInt<
    F: NativeFloat,
    T,
    const SCALES: bool,
    const MAPS: bool,
    const CLAMPS: bool,
> {
    pub(crate) offset: F,
    pub(crate) scale: F,
    /// In place of NaN.
    pub(crate) nan: F,
    pub(crate) range: MagicRange<F>,
    pub(crate) target: PhantomData<T>,
}

/// The range of an integer type of at most 16 bits.
#[derive(Clone, Copy)]
pub(crate) struct MagicRange<F: NativeFloat> {
    min: F,
    max: F,
    /// The bits of the sum with [`NativeFloat::MAGIC`] for the least integer.
    least: F::Bits,
    /// Bits that the difference from `least` never sets within the range.
    outside: F::Bits,
}

impl<F: NativeFloat> MagicRange<F> {
    /// Of the 2^n integers from `min` to `max`.
    pub(crate) fn new([min, max]: [i128; 2]) -> Self {
        let float = |integer: i128| F::from(integer).unwrap_or(F::zero());
        let bits = |integer: i128| num_traits::cast(integer).unwrap_or(F::Bits::zero());
        let magic = F::MAGIC.to_bits().to_i128().unwrap_or_default();
        Self {
            min: float(min),
            max: float(max),
            least: bits(magic + min),
            outside: !bits(max - min),
        }
    }
}

impl<F, T, const SCALES: bool, const MAPS: bool, const CLAMPS: bool> ElementOp
    for RoundToInt<F, T, SCALES, MAPS, CLAMPS>
where
    F: NativeFloat<Bits: AsPrimitive<T>>,
    T: NativeInt,
{
    type Source = F;
    type Target = T;
    type Flags = F::Bits;

    #[inline(always)]
    fn convert(&self, x: F) -> (T, F::Bits) {
        let MagicRange { min, max, least, .. } = self.range;
        let x = if SCALES { (x - self.offset) * self.scale } else { x };
        let x = if MAPS & x.is_nan() { self.nan } else { x };
        if CLAMPS {
            // Two selects, each one instruction; NaN becomes the least.
            let clamped = if x > min { x } else { min };
            let clamped = if clamped < max { clamped } else { max };
            ((clamped + F::MAGIC).to_bits().as_(), x.zero_if_finite().to_bits())
        } else {
            // The sum is monotonic, so values out of range, and NaN, have other high bits.
            let sum = (x + F::MAGIC).to_bits();
            (sum.as_(), sum.wrapping_sub(&least))
        }
    }

    #[inline(always)]
    fn failed(&self, flags: F::Bits) -> bool {
        let failing = if CLAMPS { flags } else { flags & self.range.outside };
        failing != F::Bits::zero()
    }
}

/// A number to f32 or f64 as the language converts it: exactly, or an integer of at most 32 bits to nearest-even.
#[derive(Clone, Copy)]
pub(crate) struct AsFloat<S, F>(pub(crate) PhantomData<(S, F)>);

impl<S: Pod + AsPrimitive<F> + Send + Sync, F: NativeFloat> ElementOp for AsFloat<S, F> {
    type Source = S;
    type Target = F;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: S) -> (F, ()) {
        (x.as_(), ())
    }
}

/// The cast of an integer of at most 16 bits to f32 or f64, then `x / scale + offset`; nothing overflows.
#[derive(Clone, Copy)]
pub(crate) struct IntUnscale<S, F, const MAPS: bool> {
    pub(crate) scale: F,
    pub(crate) offset: F,
    /// An element and its replacement.
    pub(crate) entry: (S, F),
}

impl<S: NativeInt + AsPrimitive<F>, F: NativeFloat, const MAPS: bool> ElementOp
    for IntUnscale<S, F, MAPS>
{
    type Source = S;
    type Target = F;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: S) -> (F, ()) {
        let (key, value) = self.entry;
        let decoded = x.as_() / self.scale + self.offset;
        (if MAPS & (x == key) { value } else { decoded }, ())
    }
}

/// f64 to f32, to nearest-even. A value out of range becomes infinite, or needs the reference.
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

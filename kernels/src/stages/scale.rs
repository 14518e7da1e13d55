//! Scale and offset on the wide types, each operation in the type's own arithmetic: with `ENCODES` `(x − offset) · scale`,
//! else `x / scale + offset`.

use core::marker::PhantomData;

use num_traits::{AsPrimitive, PrimInt, Zero};

use super::convert::{NativeFloat, NativeInt};
use super::{Borrowed, Input, Kernel, Output, for_each};

/// On floats. A missing parameter is skipped, not replaced by 0 or 1, so that NaN payloads pass.
#[derive(Clone, Copy)]
pub(crate) struct ScaleFloat<F, const ENCODES: bool> {
    pub(crate) offset: Option<F>,
    pub(crate) scale: Option<F>,
    /// Whether finite input that becomes infinite needs the reference.
    pub(crate) strict: bool,
}

// SAFETY: each branch is one `for_each`, which initialises the output.
unsafe impl<F: NativeFloat, const ENCODES: bool> Kernel for ScaleFloat<F, ENCODES> {
    const SIZES: (usize, usize) = (size_of::<F>(), size_of::<F>());

    #[inline(always)]
    fn run(kernel: Borrowed<'_, Self>, input: Input<'_>, output: Output<'_>) -> bool {
        let Self { offset, scale, strict } = *kernel.get();
        let mut fail = F::Bits::zero();
        // NaN where y is not finite and x is: NaN has bits set besides the sign, +0 has none, and a
        // NaN in x is the same NaN in y.
        let mut watch = |x: F, y: F| {
            fail = fail | (y.zero_if_finite().to_bits() & !x.zero_if_finite().to_bits());
            y
        };
        match (offset, scale, ENCODES) {
            (None, None, _) => for_each(input, output, |x: F| x),
            (Some(o), None, true) => for_each(input, output, |x: F| watch(x, x - o)),
            (Some(o), None, false) => for_each(input, output, |x: F| watch(x, x + o)),
            (None, Some(s), true) => for_each(input, output, |x: F| watch(x, x * s)),
            (None, Some(s), false) => for_each(input, output, |x: F| watch(x, x / s)),
            (Some(o), Some(s), true) => for_each(input, output, |x: F| watch(x, (x - o) * s)),
            (Some(o), Some(s), false) => for_each(input, output, |x: F| watch(x, x / s + o)),
        }
        strict & ((fail << 1) != F::Bits::zero())
    }
}

/// On integers of up to 32 bits, in the wider integer `W`, which holds every sum, difference and
/// product of two of them.
#[derive(Clone, Copy)]
pub(crate) struct ScaleInt<T, W, const ENCODES: bool> {
    pub(crate) offset: W,
    pub(crate) scale: W,
    pub(crate) min: W,
    pub(crate) max: W,
    pub(crate) element: PhantomData<T>,
}

// SAFETY: each branch is one `for_each`, which initialises the output.
unsafe impl<T, W, const ENCODES: bool> Kernel for ScaleInt<T, W, ENCODES>
where
    T: NativeInt + AsPrimitive<W>,
    W: PrimInt + AsPrimitive<T> + AsPrimitive<f64> + Send + Sync,
    f64: AsPrimitive<W>,
{
    const SIZES: (usize, usize) = (size_of::<T>(), size_of::<T>());

    #[inline(always)]
    fn run(kernel: Borrowed<'_, Self>, input: Input<'_>, output: Output<'_>) -> bool {
        let Self { offset, scale, min, max, .. } = *kernel.get();
        let within = |x: W| x.max(min).min(max);
        // The bits in which a result differs from its truncation to the type.
        let mut fail = W::zero();
        if ENCODES {
            for_each(input, output, |x: T| {
                let shifted: W = x.as_() - offset;
                // Clamped to the type's range, so that the product fits W for any offset.
                let clamped = within(shifted);
                let scaled = clamped * scale;
                fail = fail | (clamped ^ shifted) | (within(scaled) ^ scaled);
                AsPrimitive::<T>::as_(scaled)
            });
        } else {
            let divisor: f64 = scale.as_();
            for_each(input, output, |x: T| {
                let x: W = x.as_();
                // Both have at most 32 bits, so in f64 an integer quotient is exact, and any other
                // is not an integer: its fraction is at least 1/|divisor|.
                let quotient = AsPrimitive::<f64>::as_(x) / divisor;
                let whole: W = quotient.as_();
                let shifted = whole + offset;
                fail = fail | ((whole * scale) ^ x) | (within(whole) ^ whole);
                fail = fail | (within(shifted) ^ shifted);
                AsPrimitive::<T>::as_(shifted)
            });
        }
        fail != W::zero()
    }
}

/// On integers whose products may not fit 64 bits, checked operation by operation.
#[derive(Clone, Copy)]
pub(crate) struct ScaleLong<T, const ENCODES: bool> {
    pub(crate) offset: T,
    pub(crate) scale: T,
}

// SAFETY: `for_each` initialises the output.
unsafe impl<T: NativeInt, const ENCODES: bool> Kernel for ScaleLong<T, ENCODES> {
    const SIZES: (usize, usize) = (size_of::<T>(), size_of::<T>());

    #[inline(always)]
    fn run(kernel: Borrowed<'_, Self>, input: Input<'_>, output: Output<'_>) -> bool {
        let Self { offset, scale } = *kernel.get();
        let mut fail = false;
        for_each(input, output, |x: T| {
            let (result, first, second) = if ENCODES {
                let (shifted, first) = x.overflowing_sub(&offset);
                let (scaled, second) = shifted.overflowing_mul(&scale);
                (scaled, first, second)
            } else {
                // Only −2^63 / −1 overflows: building a plan refuses a scale of zero.
                let quotient = x.checked_div(&scale);
                let fails = quotient.is_none();
                let quotient = quotient.unwrap_or(T::zero());
                let (sum, overflows) = quotient.overflowing_add(&offset);
                let inexact = quotient * scale != x;
                (sum, fails | inexact, overflows)
            };
            fail |= first | second;
            result
        });
        fail
    }
}

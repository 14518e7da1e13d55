//! The two chains that packed arrays are made of, each as one loop: scale and offset, and a cast of f32 or
//! f64 to a short integer, and the way back.
//!
//! Each gives the bits of its steps one after another. A missing offset or scale stands here as its
//! neutral element: where NaN does not pass, `x − 0 = x`, `x · 1 = x`, `x / 1 = x` and `x + (−0) = x`
//! for every x.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use num_traits::AsPrimitive;

use super::convert::{HAS_FMA, Int, Real};
use super::per_element::PerElement;
use super::{Kernel, Stage, as_output, for_each, run_all};

/// `(x − offset) · scale` in front of the cast to an integer.
///
/// A finite x whose product overflows is infinite in front of the cast, which flags it.
#[derive(Clone, Copy)]
pub(crate) struct ScaleForInt<F> {
    pub(crate) offset: F,
    pub(crate) scale: F,
}

impl<F: Real> PerElement for ScaleForInt<F> {
    type Source = F;
    type Target = F;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: F) -> (F, ()) {
        ((x - self.offset) * self.scale, ())
    }
}

/// The cast of an integer of at most 16 bits to f32 or f64, then `x / scale + offset`.
///
/// The division by a constant is a multiplication by its reciprocal and a correction (Markstein 1990;
/// Brisebarre, Muller and Raina 2004). A plan takes it only after [`equals_division`] has compared it
/// with the division, on this CPU, for every value that the integer type has.
pub(crate) struct IntUnscale<S, F, const MAPS: bool> {
    pub(crate) scale: F,
    pub(crate) reciprocal: F,
    pub(crate) offset: F,
    /// An element, and what it becomes instead.
    pub(crate) entry: (S, F),
}

/// Whether an [`IntUnscale`] without a map gives the bits of `x / scale + offset` for every element.
pub(crate) fn equals_division<S: Int + AsPrimitive<F>, F: Real>(
    stage: &Stage,
    scale: F,
    offset: F,
) -> bool {
    let every: Vec<S> =
        core::iter::successors(Some(S::min_value()), |x| x.checked_add(&S::one())).collect();
    let mut decoded = vec![F::zero(); every.len()];
    let stage = core::slice::from_ref(stage);
    let refused = run_all(stage, bytemuck::cast_slice(&every), as_output(&mut decoded));
    let divided = |x: &S| x.as_() / scale + offset;
    !refused && every.iter().zip(&decoded).all(|(x, y)| divided(x).to_bits() == y.to_bits())
}

// SAFETY: `for_each` initialises the output.
unsafe impl<S: Int + AsPrimitive<F>, F: Real, const MAPS: bool> Kernel for IntUnscale<S, F, MAPS> {
    const SIZES: (usize, usize) = (size_of::<S>(), size_of::<F>());

    #[inline(always)]
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let Self { scale, reciprocal, offset, entry: (key, value) } = *self;
        for_each(input, output, |element: S| {
            let x: F = element.as_();
            // Without the instruction, a fused multiplication is slower than a division.
            let quotient = if HAS_FMA {
                let product = x * reciprocal;
                let remainder = (-scale).mul_add(product, x);
                remainder.mul_add(reciprocal, product)
            } else {
                x / scale
            };
            let decoded = quotient + offset;
            if MAPS & (element == key) { value } else { decoded }
        });
        false
    }
}

//! The two chains of packed arrays, each as one loop: scale and offset of f32 or f64 with a cast to a short
//! integer, and the way back.
//!
//! Each gives the same bits as its steps one after another. A missing offset or scale becomes its neutral
//! element: without NaN, `x − 0 = x`, `x · 1 = x`, `x / 1 = x` and `x + (−0) = x` for every x.

use num_traits::AsPrimitive;

use super::convert::{Int, Real};
use super::element_op::ElementOp;

/// `(x − offset) · scale`, before the cast to an integer.
///
/// If the product of a finite x overflows, the cast gets an infinity and flags it.
#[derive(Clone, Copy)]
pub(crate) struct ScaleForInt<F> {
    pub(crate) offset: F,
    pub(crate) scale: F,
}

impl<F: Real> ElementOp for ScaleForInt<F> {
    type Source = F;
    type Target = F;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: F) -> (F, ()) {
        ((x - self.offset) * self.scale, ())
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

impl<S: Int + AsPrimitive<F>, F: Real, const MAPS: bool> ElementOp for IntUnscale<S, F, MAPS> {
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

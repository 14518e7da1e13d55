//! Scale and offset in the elements' own arithmetic.

use super::float::{Finite, FloatUnit};
use crate::evidence::NonFinite;
use crate::pipeline::Each;
use crate::simd::{Float, Simd};

/// `(x − offset) · scale` or `x / scale + offset` in the elements' own arithmetic; a missing parameter is a step
/// that is skipped, so that NaN payloads pass. With `STRICT` finite input that becomes infinite fails.
#[derive(Clone, Copy)]
pub(crate) struct ApplyAffine<T, const ENCODES: bool, const SHIFTS: bool, const STRETCHES: bool> {
    pub(crate) offset: T,
    pub(crate) scale: T,
    pub(crate) strict: bool,
}

impl<S, U, const ENCODES: bool, const SHIFTS: bool, const STRETCHES: bool> Each<S, U>
    for ApplyAffine<U::Scalar, ENCODES, SHIFTS, STRETCHES>
where
    S: Simd,
    U: FloatUnit<S>,
{
    type Out = U;
    /// NaN where a finite element became infinite.
    type Fail = NonFinite<U::Register>;

    #[inline(always)]
    fn apply(self, simd: S, x: U, fail: &Self::Fail) -> U {
        let Self { offset, scale, .. } = self;
        let y = x.map(
            #[inline(always)]
            |x| match (ENCODES, SHIFTS, STRETCHES) {
                (_, false, false) => x,
                (true, true, false) => x - offset,
                (true, false, true) => x * scale,
                (true, true, true) => (x - offset) * scale,
                (false, true, false) => x + offset,
                (false, false, true) => x / scale,
                (false, true, true) => x / scale + offset,
            },
        );
        // A NaN or an infinity may stay as it is.
        Finite.apply(simd, y.zip(x, Float::where_finite), fail);
        y
    }
    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        self.strict && fail.get().any_nan()
    }
}

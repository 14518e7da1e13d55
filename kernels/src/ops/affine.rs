//! Scale and offset in the elements' own arithmetic.

use super::float::FloatUnit;
use crate::pipeline::Each;
use crate::simd::Simd;

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
    type Fail = U::Register;

    #[inline(always)]
    fn start(self, simd: S) -> U::Register {
        U::zero(simd)
    }
    #[inline(always)]
    fn apply(self, simd: S, x: U, fail: &mut U::Register) -> U {
        let (offset, scale) = (U::splat(simd, self.offset), U::splat(simd, self.scale));
        let y = match (ENCODES, SHIFTS, STRETCHES) {
            (_, false, false) => x,
            (true, true, false) => x.sub(simd, offset),
            (true, false, true) => x.mul(simd, scale),
            (true, true, true) => x.sub(simd, offset).mul(simd, scale),
            (false, true, false) => x.add(simd, offset),
            (false, false, true) => x.div(simd, scale),
            (false, true, true) => x.div(simd, scale).add(simd, offset),
        };
        // A NaN or an infinity may stay what it is.
        *fail = y.where_finite(simd, x).sum_if_finite(simd, *fail);
        y
    }
    #[inline(always)]
    fn join(self, simd: S, a: U::Register, b: U::Register) -> U::Register {
        U::join_sums(simd, a, b)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: U::Register) -> bool {
        self.strict && U::any_not_finite(simd, fail)
    }
}

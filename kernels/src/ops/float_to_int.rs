//! Floats to integers: rounded into 32-bit lanes, which a store then narrows, checks or holds to the range.
//!
//! Rounding is monotonic, so a value rounds into a range if it lies between the least and the greatest float
//! that do. To at most 16 bits the check is the store's: whatever does not fit 32 bits becomes the least
//! integer there ([`Simd::INVALID_IS_MIN`]), which does not fit 16 either.

use std::marker::PhantomData;

use super::float::{FloatUnit, MAGIC, rounding_sum};
use crate::pipeline::{Each, infallible};
use crate::simd::{F64s, I32s, Round, Simd};

/// Rounds, for targets of at most 16 bits. What does not fit 32 bits, and NaN, becomes a value that does not
/// fit 16; where the level makes NaN 0, NaN fails.
#[derive(Clone, Copy)]
pub(crate) struct ToI32<R>(pub(crate) PhantomData<R>);

impl<S: Simd, U: FloatUnit<S>, R: Round> Each<S, U> for ToI32<R> {
    type Out = I32s<S>;
    type Fail = U::Register;

    #[inline(always)]
    fn start(self, simd: S) -> U::Register {
        U::zero(simd)
    }
    #[inline(always)]
    fn apply(self, simd: S, x: U, fail: &mut U::Register) -> I32s<S> {
        if !S::INVALID_IS_MIN {
            *fail = x.sum_if_finite(simd, *fail);
        }
        x.to_i32::<R>(simd)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: [U::Register; 4]) -> bool {
        !S::INVALID_IS_MIN && U::any_not_finite(simd, fail)
    }
}

/// Rounds; what does not fit 32 bits is held to them, and NaN becomes anything.
#[derive(Clone, Copy)]
pub(crate) struct HeldToI32<R>(pub(crate) PhantomData<R>);

infallible! {
    [U: FloatUnit<S>, R: Round] HeldToI32<R>: U => I32s<S>, |self, simd, x| x.to_i32::<R>(simd);
}

/// Rounds into the low bits of a lane; see [`FloatUnit::low_bits`] for what fails.
#[derive(Clone, Copy)]
pub(crate) struct LowBits<R>(pub(crate) PhantomData<R>);

impl<S: Simd, U: FloatUnit<S>, R: Round> Each<S, U> for LowBits<R> {
    type Out = I32s<S>;
    type Fail = U::Seen;

    #[inline(always)]
    fn start(self, simd: S) -> U::Seen {
        U::unseen(simd)
    }
    #[inline(always)]
    fn apply(self, simd: S, x: U, fail: &mut U::Seen) -> I32s<S> {
        x.low_bits::<R>(simd, fail)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: [U::Seen; 4]) -> bool {
        U::saw_beyond::<R>(simd, fail)
    }
}

/// `float64` to 32 bits, signed or not; what does not round into the range fails.
#[derive(Clone, Copy)]
pub(crate) struct CheckedWord<R> {
    /// The least value of the target.
    pub(crate) least: i64,
    pub(crate) rounding: PhantomData<R>,
}

impl<S: Simd, R: Round> Each<S, F64s<S>> for CheckedWord<R> {
    type Out = I32s<S>;
    /// Differences to the least value's sum, whose upper halves are 0 within the range.
    type Fail = S::I64;

    #[inline(always)]
    fn start(self, simd: S) -> S::I64 {
        simd.splat_i64(0)
    }
    #[inline(always)]
    fn apply(self, simd: S, x: F64s<S>, fail: &mut S::I64) -> I32s<S> {
        let [low, high] = rounding_sum::<S, R>(simd, x);
        let least = simd.splat_i64(MAGIC.to_bits() as i64 + self.least);
        let either = simd.or_i64(simd.sub_i64(low, least), simd.sub_i64(high, least));
        *fail = simd.or_i64(*fail, either);
        I32s(simd.low_i64_to_i32([low, high]))
    }
    #[inline(always)]
    fn failed(self, simd: S, [a, b, c, d]: [S::I64; 4]) -> bool {
        let all = simd.or_i64(simd.or_i64(a, b), simd.or_i64(c, d));
        simd.nonzero_i64(simd.shr_u64::<32>(all))
    }
}

/// As [`LowBits`] of `float64`, for values that are held to ±2^51.
#[derive(Clone, Copy)]
pub(crate) struct HeldLowBits<R>(pub(crate) PhantomData<R>);

infallible! {
    [R: Round] HeldLowBits<R>: F64s<S> => I32s<S>, |self, simd, x| {
        I32s(simd.low_i64_to_i32(rounding_sum::<S, R>(simd, x)))
    };
}

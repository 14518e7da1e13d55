//! Values in place of up to `N` keys, which may include NaN.

use super::float::FloatUnit;
use super::int::IntUnit;
use crate::pipeline::infallible;
use crate::simd::Simd;

/// Floats in place of floats; a NaN `nan` leaves NaN as it is.
#[derive(Clone, Copy)]
pub(crate) struct SubstituteFloats<T, const N: usize> {
    /// Keys, none of them NaN, with their values; unused places repeat another entry.
    pub(crate) entries: [(T, T); N],
    pub(crate) nan: Option<T>,
}

/// Integers in place of integers, in the low bits.
#[derive(Clone, Copy)]
pub(crate) struct SubstituteInts<const N: usize> {
    /// Keys with their values; unused places repeat another entry.
    pub(crate) entries: [(i64, i64); N],
}

infallible! {
    [U: FloatUnit<S>, const N: usize] SubstituteFloats<U::Scalar, N>: U => U, |self, simd, x| {
        let mut y = match self.nan {
            None => x,
            Some(nan) => x.replace_nan(simd, U::splat(simd, nan)),
        };
        for (key, value) in self.entries {
            y = x.select_eq(simd, U::splat(simd, key), U::splat(simd, value), y);
        }
        y
    };
    [U: IntUnit<S>, const N: usize] SubstituteInts<N>: U => U, |self, simd, x| {
        let mut y = x;
        for (key, value) in self.entries {
            y = x.select_eq(simd, U::splat(simd, key), U::splat(simd, value), y);
        }
        y
    };
}

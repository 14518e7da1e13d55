//! What a block shows of elements that need the reference: gathered without a branch, and looked at once, behind the loop.

use num_traits::Zero as _;

use crate::simd::{CompareLanes, Float, Int, IntElement, Mask, MaskLanes, Unit};

/// What is gathered: nothing of what never fails, and both of two operations.
pub(crate) trait Evidence<S>: Copy {
    /// Of no element.
    fn none(simd: S) -> Self;
    /// Of the elements of both.
    fn join(self, other: Self) -> Self;
}

impl<S> Evidence<S> for () {
    #[inline(always)]
    fn none(_: S) {}
    #[inline(always)]
    fn join(self, (): ()) {}
}

impl<S: Copy, A: Evidence<S>, B: Evidence<S>> Evidence<S> for (A, B) {
    #[inline(always)]
    fn none(simd: S) -> Self {
        (A::none(simd), B::none(simd))
    }
    #[inline(always)]
    fn join(self, other: Self) -> Self {
        (self.0.join(other.0), self.1.join(other.1))
    }
}

/// Evidence in a register `R`, zero at first.
macro_rules! in_registers {
    ($($(#[$doc:meta])* $name:ident: $kind:ident, |$all:ident, $x:ident| $join:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name<R>(pub(crate) R);

        impl<R> $name<R> {
            /// Adds each register of a unit.
            #[inline(always)]
            pub(crate) fn add<S, U: Unit<S, Register = R>>(&mut self, unit: U)
            where
                R: $kind<S>,
            {
                self.0 = unit.fold(self.0, #[inline(always)] |$all, $x| $join);
            }
        }

        impl<S, R: $kind<S>> Evidence<S> for $name<R> {
            #[inline(always)]
            fn none(simd: S) -> Self {
                Self(R::zero(simd))
            }
            #[inline(always)]
            fn join(self, other: Self) -> Self {
                let ($all, $x) = (self.0, other.0);
                Self($join)
            }
        }
    )*};
}

in_registers! {
    /// Bits that were set.
    SetBits: Int, |all, x| all | x;
    /// The greatest, as unsigned integers.
    Greatest: Int, |all, x| all.max::<false>(x);
    /// The least, as signed integers.
    Least: Int, |all, x| all.min::<true>(x);
    /// NaN if anything was not finite: 0 times that is NaN, and so is every sum with it.
    NonFinite: Float, |all, x| x.mul_add(<R as Float<S>>::Scalar::zero(), all);
    /// The greatest that is no NaN.
    GreatestNumber: Float, |all, x| x.max_number(all);
    /// The least that is no NaN.
    LeastNumber: Float, |all, x| x.min_number(all);
}

/// Lanes in which an element failed.
#[derive(Clone, Copy)]
pub(crate) struct Failing<S: MaskLanes<T>, T>(pub(crate) Mask<S, T>);

/// Lanes in which no element failed.
#[derive(Clone, Copy)]
pub(crate) struct Passing<S: MaskLanes<T>, T>(pub(crate) Mask<S, T>);

impl<S: CompareLanes<T>, T: IntElement> Evidence<S> for Failing<S, T> {
    #[inline(always)]
    fn none(simd: S) -> Self {
        Self(Mask::none(simd))
    }
    #[inline(always)]
    fn join(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl<S: CompareLanes<T>, T: IntElement> Evidence<S> for Passing<S, T> {
    #[inline(always)]
    fn none(simd: S) -> Self {
        Self(Mask::all(simd))
    }
    #[inline(always)]
    fn join(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl<S: CompareLanes<T>, T: IntElement> Failing<S, T> {
    #[inline(always)]
    pub(crate) fn add(&mut self, failing: Mask<S, T>) {
        self.0 = self.0 | failing;
    }
}

impl<S: CompareLanes<T>, T: IntElement> Passing<S, T> {
    #[inline(always)]
    pub(crate) fn keep(&mut self, passing: Mask<S, T>) {
        self.0 = self.0 & passing;
    }

    /// The other lanes.
    #[inline(always)]
    pub(crate) fn failing(self, simd: S) -> Mask<S, T> {
        Mask::all(simd).and_not(self.0)
    }
}

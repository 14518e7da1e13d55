//! The evidence that a block has elements that need the reference: gathered without a branch, and looked at once, behind the loop.
//!
//! It is gathered in cells, through shared references. For each `&mut` LLVM would note in every instruction that it inlines
//! that nothing else refers to the same; with a dozen functions one inside the other that takes long to compile.

use core::cell::Cell;

use num_traits::Zero as _;

use crate::simd::{CompareLanes, Float, Int, IntElement, Mask, MaskLanes, Unit};

/// Gathered evidence: nothing for operations that never fail, and both for two operations.
pub(crate) trait Evidence<S> {
    /// Of no element.
    fn none(simd: S) -> Self;
    /// Adds that of other elements.
    fn join(&self, other: &Self);
}

impl<S> Evidence<S> for () {
    #[inline(always)]
    fn none(_: S) {}
    #[inline(always)]
    fn join(&self, (): &()) {}
}

impl<S: Copy, A: Evidence<S>, B: Evidence<S>> Evidence<S> for (A, B) {
    #[inline(always)]
    fn none(simd: S) -> Self {
        (A::none(simd), B::none(simd))
    }
    #[inline(always)]
    fn join(&self, other: &Self) {
        self.0.join(&other.0);
        self.1.join(&other.1);
    }
}

/// Evidence in a register `R`, zero at first.
macro_rules! in_registers {
    ($($(#[$doc:meta])* $name:ident: $kind:ident, |$all:ident, $x:ident| $join:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name<R>(Cell<R>);

        impl<R: Copy> $name<R> {
            /// Adds each register of a unit.
            #[inline(always)]
            pub(crate) fn add<S, U: Unit<S, Register = R>>(&self, unit: U)
            where
                R: $kind<S>,
            {
                self.0.set(unit.fold(self.0.get(), #[inline(always)] |$all, $x| $join));
            }

            /// The gathered evidence.
            #[inline(always)]
            pub(crate) fn get(&self) -> R {
                self.0.get()
            }
        }

        impl<S, R: $kind<S>> Evidence<S> for $name<R> {
            #[inline(always)]
            fn none(simd: S) -> Self {
                Self(Cell::new(R::zero(simd)))
            }
            #[inline(always)]
            fn join(&self, other: &Self) {
                let ($all, $x) = (self.get(), other.get());
                self.0.set($join);
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
pub(crate) struct Failing<S: MaskLanes<T>, T>(Cell<Mask<S, T>>);

/// Lanes in which no element failed.
pub(crate) struct Passing<S: MaskLanes<T>, T>(Cell<Mask<S, T>>);

impl<S: CompareLanes<T>, T: IntElement> Evidence<S> for Failing<S, T> {
    #[inline(always)]
    fn none(simd: S) -> Self {
        Self(Cell::new(Mask::none(simd)))
    }
    #[inline(always)]
    fn join(&self, other: &Self) {
        self.add(other.get());
    }
}

impl<S: CompareLanes<T>, T: IntElement> Evidence<S> for Passing<S, T> {
    #[inline(always)]
    fn none(simd: S) -> Self {
        Self(Cell::new(Mask::all(simd)))
    }
    #[inline(always)]
    fn join(&self, other: &Self) {
        self.keep(other.0.get());
    }
}

impl<S: CompareLanes<T>, T: IntElement> Failing<S, T> {
    #[inline(always)]
    pub(crate) fn add(&self, failing: Mask<S, T>) {
        self.0.set(self.0.get() | failing);
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> Mask<S, T> {
        self.0.get()
    }
}

impl<S: CompareLanes<T>, T: IntElement> Passing<S, T> {
    #[inline(always)]
    pub(crate) fn keep(&self, passing: Mask<S, T>) {
        self.0.set(self.0.get() & passing);
    }

    /// The other lanes.
    #[inline(always)]
    pub(crate) fn failing(&self, simd: S) -> Mask<S, T> {
        Mask::all(simd).and_not(self.0.get())
    }
}

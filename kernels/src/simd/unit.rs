//! Units: as many elements as a register has 32-bit lanes.

use super::lanes::{Lanes, SimdElement};
use super::register::Register;

/// One register, or two of 64-bit lanes.
///
/// # Safety
/// `store` initialises as many elements of type `Scalar` as a register has 32-bit lanes, and nothing else.
pub(crate) unsafe trait Unit<S>: Copy + 'static {
    /// An element.
    type Scalar: SimdElement;
    type Register: Copy + 'static;

    /// An element in every lane.
    fn splat(simd: S, x: Self::Scalar) -> Self;
    /// `f` of each register.
    fn map(self, f: impl Fn(Self::Register) -> Self::Register + Copy) -> Self;
    /// `f` of each register and that of `b`.
    fn zip(
        self,
        b: Self,
        f: impl Fn(Self::Register, Self::Register) -> Self::Register + Copy,
    ) -> Self;
    /// `f` of the gathered value, `start` at first, and each register.
    fn fold<A: Copy>(self, start: A, f: impl Fn(A, Self::Register) -> A + Copy) -> A;
    /// # Safety
    /// `p`, of any alignment, is valid for writing a unit.
    unsafe fn store(self, p: *mut u8);
}

// SAFETY: the register is the unit.
unsafe impl<S: Lanes<T>, T: SimdElement> Unit<S> for Register<S, T> {
    type Scalar = T;
    type Register = Self;

    #[inline(always)]
    fn splat(simd: S, x: T) -> Self {
        Self::splat(simd, x)
    }
    #[inline(always)]
    fn map(self, f: impl Fn(Self) -> Self + Copy) -> Self {
        f(self)
    }
    #[inline(always)]
    fn zip(self, b: Self, f: impl Fn(Self, Self) -> Self + Copy) -> Self {
        f(self, b)
    }
    #[inline(always)]
    fn fold<A: Copy>(self, start: A, f: impl Fn(A, Self) -> A + Copy) -> A {
        f(start, self)
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        // SAFETY: the caller vouches for a unit, which is one register.
        unsafe { self.store(p) };
    }
}

/// Two registers.
#[derive(Clone, Copy)]
pub(crate) struct Pair<R>(pub(crate) R, pub(crate) R);

impl<R: Copy> Pair<R> {
    /// `f` of each register.
    #[inline(always)]
    pub(crate) fn map<Q: Copy>(self, f: impl Fn(R) -> Q + Copy) -> Pair<Q> {
        Pair(f(self.0), f(self.1))
    }

    /// `f` of each register and that of `b`.
    #[inline(always)]
    pub(crate) fn zip<B: Copy, Q: Copy>(self, b: Pair<B>, f: impl Fn(R, B) -> Q + Copy) -> Pair<Q> {
        Pair(f(self.0, b.0), f(self.1, b.1))
    }
}

// SAFETY: two registers of 64-bit lanes have as many lanes as one of 32 bits.
unsafe impl<S: Lanes<T>, T: SimdElement> Unit<S> for Pair<Register<S, T>> {
    type Scalar = T;
    type Register = Register<S, T>;

    #[inline(always)]
    fn splat(simd: S, x: T) -> Self {
        let register = Register::splat(simd, x);
        Pair(register, register)
    }
    #[inline(always)]
    fn map(self, f: impl Fn(Register<S, T>) -> Register<S, T> + Copy) -> Self {
        Pair(f(self.0), f(self.1))
    }
    #[inline(always)]
    fn zip(
        self,
        b: Self,
        f: impl Fn(Register<S, T>, Register<S, T>) -> Register<S, T> + Copy,
    ) -> Self {
        Pair(f(self.0, b.0), f(self.1, b.1))
    }
    #[inline(always)]
    fn fold<A: Copy>(self, start: A, f: impl Fn(A, Register<S, T>) -> A + Copy) -> A {
        f(f(start, self.0), self.1)
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        // SAFETY: the caller vouches for a unit, which is two registers.
        unsafe { self.0.store(p) };
        // SAFETY: as above.
        unsafe { self.1.store(p.wrapping_add(size_of::<S::Raw>())) };
    }
}

/// Units of one register.
pub(crate) type I8s<S> = Register<S, i8>;
pub(crate) type I16s<S> = Register<S, i16>;
pub(crate) type I32s<S> = Register<S, i32>;
pub(crate) type F32s<S> = Register<S, f32>;

/// Halves of units of two registers, and those.
pub(crate) type I64<S> = Register<S, i64>;
pub(crate) type F64<S> = Register<S, f64>;
pub(crate) type I64s<S> = Pair<I64<S>>;
pub(crate) type F64s<S> = Pair<F64<S>>;

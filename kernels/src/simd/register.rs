//! Registers with the operations of their level as operators and methods, and units of them.

use core::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Sub};

use num_traits::Zero as _;

use super::lanes::{
    CompareLanes, FloatElement, FloatLanes, IntElement, IntLanes, Lanes, MaskLanes, ShiftLanes,
    SimdElement, TableLanes,
};
use super::round::Round;

/// A register of lanes of type `T`. It has the token of its level, so it exists only where the CPU has the features.
#[derive(Clone, Copy)]
pub(crate) struct Register<S: Lanes<T>, T> {
    simd: S,
    pub(super) raw: S::Raw,
}

/// Which lanes of a register, of the width of the integer `T`, a comparison holds for.
#[derive(Clone, Copy)]
pub(crate) struct Mask<S: MaskLanes<T>, T> {
    simd: S,
    raw: S::Mask,
}

/// The second operand of an operation on a register `R`: another register, or a value for every lane.
pub(crate) trait Operand<R>: Copy {
    fn like(self, register: R) -> R;
}

impl<R: Copy> Operand<R> for R {
    #[inline(always)]
    fn like(self, _: R) -> R {
        self
    }
}

impl<S: Lanes<T>, T: Copy> Operand<Register<S, T>> for T {
    #[inline(always)]
    fn like(self, register: Register<S, T>) -> Register<S, T> {
        Register::splat(register.simd, self)
    }
}

impl<S: Lanes<T>, T> Register<S, T> {
    #[inline(always)]
    pub(super) fn new(simd: S, raw: S::Raw) -> Self {
        Self { simd, raw }
    }

    /// A value in every lane.
    #[inline(always)]
    pub(crate) fn splat(simd: S, x: T) -> Self {
        Self::new(simd, simd.splat(x))
    }

    /// # Safety
    /// `p`, of any alignment, is valid for reading a register.
    #[inline(always)]
    pub(crate) unsafe fn load(simd: S, p: *const u8) -> Self {
        // SAFETY: the caller vouches for the memory.
        Self::new(simd, unsafe { simd.load(p) })
    }

    /// # Safety
    /// `p`, of any alignment, is valid for writing a register.
    #[inline(always)]
    pub(crate) unsafe fn store(self, p: *mut u8) {
        // SAFETY: the caller vouches for the memory.
        unsafe { self.simd.store(p, self.raw) };
    }
}

/// Operators: the trait, its method, and the level's operation.
macro_rules! operators {
    ($($operator:ident $method:ident [$lanes:ident, $element:ident] $operation:expr;)*) => {$(
        impl<S: $lanes<T>, T: $element, B: Operand<Self>> $operator<B> for Register<S, T> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, b: B) -> Self {
                let b = b.like(self);
                Self::new(self.simd, $operation(self.simd, self.raw, b.raw))
            }
        }
    )*};
}

operators! {
    Add add [Lanes, SimdElement] Lanes::<T>::add;
    Sub sub [Lanes, SimdElement] Lanes::<T>::sub;
    Mul mul [FloatLanes, FloatElement] FloatLanes::<T>::mul;
    Div div [FloatLanes, FloatElement] FloatLanes::<T>::div;
    BitAnd bitand [IntLanes, IntElement] IntLanes::<T>::and;
    BitOr bitor [IntLanes, IntElement] IntLanes::<T>::or;
    BitXor bitxor [IntLanes, IntElement] IntLanes::<T>::xor;
}

/// A register of integers.
pub(crate) trait Int<S>:
    Copy
    + 'static
    + Sub<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
{
    fn zero(simd: S) -> Self;
    /// A register with `x`, truncated to the lane, in every lane.
    fn broadcast(self, x: i64) -> Self;
    /// This `& !b`.
    fn and_not(self, b: impl Operand<Self>) -> Self;
    /// The lesser, as signed or unsigned integers.
    fn min<const SIGNED: bool>(self, b: impl Operand<Self>) -> Self;
    /// The greater, as signed or unsigned integers.
    fn max<const SIGNED: bool>(self, b: impl Operand<Self>) -> Self;
    /// `value` where this equals `key`, else `other`.
    fn select_eq(
        self,
        key: impl Operand<Self>,
        value: impl Operand<Self>,
        other: impl Operand<Self>,
    ) -> Self;
    fn is_nonzero(self) -> bool;
}

impl<S: IntLanes<T> + CompareLanes<T>, T: IntElement> Int<S> for Register<S, T> {
    #[inline(always)]
    fn zero(simd: S) -> Self {
        Self::splat(simd, T::truncated(0))
    }
    #[inline(always)]
    fn broadcast(self, x: i64) -> Self {
        Self::splat(self.simd, T::truncated(x))
    }
    #[inline(always)]
    fn and_not(self, b: impl Operand<Self>) -> Self {
        Self::new(self.simd, self.simd.and_not(self.raw, b.like(self).raw))
    }
    #[inline(always)]
    fn min<const SIGNED: bool>(self, b: impl Operand<Self>) -> Self {
        Self::new(self.simd, self.simd.min::<SIGNED>(self.raw, b.like(self).raw))
    }
    #[inline(always)]
    fn max<const SIGNED: bool>(self, b: impl Operand<Self>) -> Self {
        Self::new(self.simd, self.simd.max::<SIGNED>(self.raw, b.like(self).raw))
    }
    #[inline(always)]
    fn select_eq(
        self,
        key: impl Operand<Self>,
        value: impl Operand<Self>,
        other: impl Operand<Self>,
    ) -> Self {
        self.eq(key).select(value.like(self), other)
    }
    #[inline(always)]
    fn is_nonzero(self) -> bool {
        self.simd.is_nonzero(self.raw)
    }
}

impl<S: TableLanes<T>, T: IntElement> Register<S, T> {
    /// The lower halves of the products.
    #[inline(always)]
    pub(crate) fn wrapping_mul(self, b: impl Operand<Self>) -> Self {
        Self::new(self.simd, self.simd.mul(self.raw, b.like(self).raw))
    }

    /// By the same count in every lane, below the bits of one.
    #[inline(always)]
    pub(crate) fn shl_by(self, count: u32) -> Self {
        Self::new(self.simd, self.simd.shl_by(self.raw, count))
    }

    /// As [`shl_by`](Register::shl_by); zeros come in.
    #[inline(always)]
    pub(crate) fn shr_by(self, count: u32) -> Self {
        Self::new(self.simd, self.simd.shr_by(self.raw, count))
    }

    /// The values with these numbers, which are below eight.
    #[inline(always)]
    pub(crate) fn look_up(self, values: [T; 8]) -> Self {
        Self::new(self.simd, self.simd.look_up(self.simd.table(values), self.raw))
    }
}

impl<S: ShiftLanes<T>, T: IntElement> Register<S, T> {
    #[inline(always)]
    pub(crate) fn shl<const N: i32>(self) -> Self {
        Self::new(self.simd, self.simd.shl::<N>(self.raw))
    }

    /// Zeros come in.
    #[inline(always)]
    pub(crate) fn shr<const N: i32>(self) -> Self {
        Self::new(self.simd, self.simd.shr::<N>(self.raw))
    }
}

impl<S: CompareLanes<T>, T: SimdElement> Register<S, T> {
    #[inline(always)]
    pub(crate) fn eq(self, b: impl Operand<Self>) -> Mask<S, T::Bits> {
        let raw = CompareLanes::<T>::eq(self.simd, self.raw, b.like(self).raw);
        Mask { simd: self.simd, raw }
    }

    /// Integers as signed ones.
    #[inline(always)]
    pub(crate) fn lt(self, b: impl Operand<Self>) -> Mask<S, T::Bits> {
        let raw = CompareLanes::<T>::lt(self.simd, self.raw, b.like(self).raw);
        Mask { simd: self.simd, raw }
    }

    /// Integers as signed ones.
    #[inline(always)]
    pub(crate) fn gt(self, b: impl Operand<Self>) -> Mask<S, T::Bits> {
        b.like(self).lt(self)
    }
}

/// A register of floats.
pub(crate) trait Float<S>:
    Copy
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<<Self as Float<S>>::Scalar, Output = Self>
    + Sub<<Self as Float<S>>::Scalar, Output = Self>
    + Mul<<Self as Float<S>>::Scalar, Output = Self>
    + Div<<Self as Float<S>>::Scalar, Output = Self>
{
    type Scalar: FloatElement + Operand<Self>;

    /// A value in every lane.
    fn splat(simd: S, x: Self::Scalar) -> Self;
    #[inline(always)]
    fn zero(simd: S) -> Self {
        Self::splat(simd, Self::Scalar::zero())
    }
    /// This `· b + c`, rounded once where the level [fuses](super::Simd::FUSES).
    fn mul_add(self, b: impl Operand<Self>, c: impl Operand<Self>) -> Self;
    /// `c −` this `· b`, as above.
    fn neg_mul_add(self, b: impl Operand<Self>, c: impl Operand<Self>) -> Self;
    /// The lesser; of NaN and a number either.
    fn min(self, b: impl Operand<Self>) -> Self;
    /// The greater; of NaN and a number either.
    fn max(self, b: impl Operand<Self>) -> Self;
    /// The lesser; `b`, a number, where this is NaN.
    fn min_number(self, b: impl Operand<Self>) -> Self;
    /// The greater; `b`, a number, where this is NaN.
    fn max_number(self, b: impl Operand<Self>) -> Self;
    fn abs(self) -> Self;
    fn round(self, rounding: impl Round) -> Self;
    /// `value` where this is NaN.
    fn replace_nan(self, value: impl Operand<Self>) -> Self;
    /// `value` where this equals `key`, else `other`.
    fn select_eq(
        self,
        key: impl Operand<Self>,
        value: impl Operand<Self>,
        other: impl Operand<Self>,
    ) -> Self;
    /// Less `b` where `x` equals `key`, else as it is.
    fn sub_where_eq(self, x: Self, key: impl Operand<Self>, b: impl Operand<Self>) -> Self;
    /// This where it is below `limit`, else `other`.
    fn where_lt(self, limit: impl Operand<Self>, other: impl Operand<Self>) -> Self;
    /// This where `x` is finite, else zero.
    fn where_finite(self, x: Self) -> Self;
    fn any_lt(self, b: impl Operand<Self>) -> bool;
    fn any_nan(self) -> bool;
}

impl<S: FloatLanes<T>, T: FloatElement<Bits: IntElement>> Float<S> for Register<S, T> {
    type Scalar = T;

    #[inline(always)]
    fn splat(simd: S, x: T) -> Self {
        Self::splat(simd, x)
    }
    #[inline(always)]
    fn mul_add(self, b: impl Operand<Self>, c: impl Operand<Self>) -> Self {
        let (b, c) = (b.like(self), c.like(self));
        Self::new(self.simd, self.simd.mul_add(self.raw, b.raw, c.raw))
    }
    #[inline(always)]
    fn neg_mul_add(self, b: impl Operand<Self>, c: impl Operand<Self>) -> Self {
        let (b, c) = (b.like(self), c.like(self));
        Self::new(self.simd, self.simd.neg_mul_add(self.raw, b.raw, c.raw))
    }
    #[inline(always)]
    fn min(self, b: impl Operand<Self>) -> Self {
        Self::new(self.simd, FloatLanes::min(self.simd, self.raw, b.like(self).raw))
    }
    #[inline(always)]
    fn max(self, b: impl Operand<Self>) -> Self {
        Self::new(self.simd, FloatLanes::max(self.simd, self.raw, b.like(self).raw))
    }
    #[inline(always)]
    fn min_number(self, b: impl Operand<Self>) -> Self {
        Self::new(self.simd, self.simd.min_number(self.raw, b.like(self).raw))
    }
    #[inline(always)]
    fn max_number(self, b: impl Operand<Self>) -> Self {
        Self::new(self.simd, self.simd.max_number(self.raw, b.like(self).raw))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self::new(self.simd, self.simd.abs(self.raw))
    }
    #[inline(always)]
    fn round(self, rounding: impl Round) -> Self {
        Self::new(self.simd, self.simd.round(self.raw, rounding))
    }
    #[inline(always)]
    fn replace_nan(self, value: impl Operand<Self>) -> Self {
        self.is_nan().select(value.like(self), self)
    }
    #[inline(always)]
    fn select_eq(
        self,
        key: impl Operand<Self>,
        value: impl Operand<Self>,
        other: impl Operand<Self>,
    ) -> Self {
        self.eq(key).select(value.like(self), other)
    }
    #[inline(always)]
    fn sub_where_eq(self, x: Self, key: impl Operand<Self>, b: impl Operand<Self>) -> Self {
        self - Self::from_bits(x.eq(key).to_int() & b.like(self).to_bits())
    }
    #[inline(always)]
    fn where_lt(self, limit: impl Operand<Self>, other: impl Operand<Self>) -> Self {
        self.lt(limit).select(self, other)
    }
    #[inline(always)]
    fn where_finite(self, x: Self) -> Self {
        x.abs().lt(T::infinity()).select(self, T::zero())
    }
    #[inline(always)]
    fn any_lt(self, b: impl Operand<Self>) -> bool {
        self.lt(b).any()
    }
    #[inline(always)]
    fn any_nan(self) -> bool {
        self.is_nan().any()
    }
}

impl<S: FloatLanes<T>, T: FloatElement> Register<S, T> {
    #[inline(always)]
    pub(crate) fn le(self, b: impl Operand<Self>) -> Mask<S, T::Bits> {
        Mask { simd: self.simd, raw: self.simd.le(self.raw, b.like(self).raw) }
    }

    #[inline(always)]
    pub(crate) fn ge(self, b: impl Operand<Self>) -> Mask<S, T::Bits> {
        b.like(self).le(self)
    }

    #[inline(always)]
    pub(crate) fn is_nan(self) -> Mask<S, T::Bits> {
        Mask { simd: self.simd, raw: self.simd.is_nan(self.raw) }
    }

    #[inline(always)]
    pub(crate) fn to_bits(self) -> Register<S, T::Bits> {
        Register::new(self.simd, FloatLanes::<T>::to_bits(self.simd, self.raw))
    }

    #[inline(always)]
    pub(crate) fn from_bits(bits: Register<S, T::Bits>) -> Self {
        Self::new(bits.simd, FloatLanes::<T>::with_bits(bits.simd, bits.raw))
    }

    /// A number that rounds to nearest-even, to a shorter format, as this rounds to nearest-away: a tie has an even mantissa, so
    /// the next number is beyond the tie and nothing else.
    #[inline(always)]
    pub(crate) fn beyond_tie(self) -> Self
    where
        T: FloatElement<Bits: IntElement>,
    {
        Self::from_bits(self.to_bits() | T::Bits::truncated(1))
    }
}

impl<S: MaskLanes<T>, T: IntElement> Mask<S, T> {
    /// Every lane.
    #[inline(always)]
    pub(crate) fn all(simd: S) -> Self
    where
        S: CompareLanes<T>,
    {
        let zero = Register::splat(simd, T::truncated(0));
        zero.eq(zero)
    }

    /// No lane.
    #[inline(always)]
    pub(crate) fn none(simd: S) -> Self
    where
        S: CompareLanes<T>,
    {
        Self::all(simd).and_not(Self::all(simd))
    }

    /// `a & !b`.
    #[inline(always)]
    pub(crate) fn and_not(self, b: Self) -> Self {
        Self { raw: self.simd.mask_and_not(self.raw, b.raw), ..self }
    }

    #[inline(always)]
    pub(crate) fn any(self) -> bool {
        self.simd.mask_any(self.raw)
    }

    /// All ones where the mask is set, else 0.
    #[inline(always)]
    pub(crate) fn to_int(self) -> Register<S, T> {
        Register::new(self.simd, self.simd.mask_to_int(self.raw))
    }

    /// `a` where the mask is set, else `b`.
    #[inline(always)]
    pub(crate) fn select<U: SimdElement<Bits = T>>(
        self,
        a: Register<S, U>,
        b: impl Operand<Register<S, U>>,
    ) -> Register<S, U>
    where
        S: CompareLanes<U>,
    {
        let raw = CompareLanes::<U>::select(self.simd, self.raw, a.raw, b.like(a).raw);
        Register::new(self.simd, raw)
    }
}

impl<S: MaskLanes<T>, T> BitAnd for Mask<S, T> {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, b: Self) -> Self {
        Self { raw: self.simd.mask_and(self.raw, b.raw), ..self }
    }
}

impl<S: MaskLanes<T>, T> BitOr for Mask<S, T> {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, b: Self) -> Self {
        Self { raw: self.simd.mask_or(self.raw, b.raw), ..self }
    }
}

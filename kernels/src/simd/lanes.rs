//! The operations of a level on its registers, by the type of a lane: one name for one operation, whatever the lanes.
//!
//! A level implements these on its token for each type, each operation in one to a few instructions, without defaults: a
//! level that lacks one does not compile. Integer lanes are named as signed ones, `i8` to `i64`, whether they stand for
//! signed or unsigned integers; where it matters, the operation tells. Algorithms use [`Register`](super::Register),
//! which has these operations as operators and methods.

use super::round::Round;

/// The element of a lane.
pub(crate) trait SimdElement: Copy + Send + Sync + 'static {
    /// The integer of its width, by which masks are told apart.
    type Bits: SimdElement;
}

/// The element of an integer lane.
pub(crate) trait IntElement: SimdElement<Bits = Self> {
    /// The low bits.
    fn truncated(x: i64) -> Self;
}

macro_rules! int_elements {
    ($($t:ty)*) => {$(
        impl SimdElement for $t {
            type Bits = $t;
        }
        impl IntElement for $t {
            #[inline(always)]
            fn truncated(x: i64) -> $t {
                x as $t
            }
        }
    )*};
}
int_elements! { i8 i16 i32 i64 }

impl SimdElement for f32 {
    type Bits = i32;
}

impl SimdElement for f64 {
    type Bits = i64;
}

/// The element of a float lane.
pub(crate) trait FloatElement: SimdElement + bytemuck::Pod + num_traits::Float {
    /// This value, exactly or to nearest-even.
    fn from_f64(x: f64) -> Self;
    /// The next greater one.
    fn next_up(self) -> Self;
    /// The number before a half.
    fn before_half() -> Self;
}

impl FloatElement for f32 {
    #[inline(always)]
    fn before_half() -> f32 {
        0.5_f32.next_down()
    }
    #[inline(always)]
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
    #[inline(always)]
    fn next_up(self) -> f32 {
        self.next_up()
    }
}

impl FloatElement for f64 {
    #[inline(always)]
    fn before_half() -> f64 {
        0.5_f64.next_down()
    }
    #[inline(always)]
    fn from_f64(x: f64) -> f64 {
        x
    }
    #[inline(always)]
    fn next_up(self) -> f64 {
        self.next_up()
    }
}

/// Registers of lanes of type `T`.
///
/// # Safety
/// `load` reads no more than the size of `Raw`, and `store` initialises as many bytes, and nothing else.
pub(crate) unsafe trait Lanes<T>: Copy + Send + Sync + 'static {
    type Raw: Copy;

    /// # Safety
    /// `p`, of any alignment, is valid for reading a register.
    unsafe fn load(self, p: *const u8) -> Self::Raw;
    /// # Safety
    /// `p`, of any alignment, is valid for writing a register.
    unsafe fn store(self, p: *mut u8, x: Self::Raw);
    /// A value in every lane.
    fn splat(self, x: T) -> Self::Raw;
    fn add(self, a: Self::Raw, b: Self::Raw) -> Self::Raw;
    fn sub(self, a: Self::Raw, b: Self::Raw) -> Self::Raw;
}

/// Integers.
pub(crate) trait IntLanes<T>: Lanes<T> {
    fn and(self, a: Self::Raw, b: Self::Raw) -> Self::Raw;
    fn or(self, a: Self::Raw, b: Self::Raw) -> Self::Raw;
    fn xor(self, a: Self::Raw, b: Self::Raw) -> Self::Raw;
    /// `a & !b`.
    fn and_not(self, a: Self::Raw, b: Self::Raw) -> Self::Raw;
    /// The lesser, as signed or unsigned integers.
    fn min<const SIGNED: bool>(self, a: Self::Raw, b: Self::Raw) -> Self::Raw;
    /// The greater, as signed or unsigned integers.
    fn max<const SIGNED: bool>(self, a: Self::Raw, b: Self::Raw) -> Self::Raw;
    fn is_nonzero(self, a: Self::Raw) -> bool;
}

/// Integers of 16 and 32 bits, which hash and look up.
pub(crate) trait TableLanes<T>: IntLanes<T> {
    /// Eight values that are looked up by their number.
    type Table: Copy;

    /// The lower halves of the products.
    fn mul(self, a: Self::Raw, b: Self::Raw) -> Self::Raw;
    /// By the same count in every lane, below the bits of one.
    fn shl_by(self, a: Self::Raw, count: u32) -> Self::Raw;
    /// As [`shl_by`](TableLanes::shl_by); zeros come in.
    fn shr_by(self, a: Self::Raw, count: u32) -> Self::Raw;
    fn table(self, values: [T; 8]) -> Self::Table;
    /// The values with these numbers, which are below eight.
    fn look_up(self, table: Self::Table, numbers: Self::Raw) -> Self::Raw;
}

/// Integers of 32 and 64 bits, which are shifted by a count that is known when a kernel is compiled.
pub(crate) trait ShiftLanes<T>: IntLanes<T> {
    fn shl<const N: i32>(self, a: Self::Raw) -> Self::Raw;
    /// Zeros come in.
    fn shr<const N: i32>(self, a: Self::Raw) -> Self::Raw;
}

/// The results of comparisons of lanes as wide as the integer `T`.
pub(crate) trait MaskLanes<T>: Lanes<T> {
    type Mask: Copy;

    fn mask_and(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    fn mask_or(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// `a & !b`.
    fn mask_and_not(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    fn mask_any(self, mask: Self::Mask) -> bool;
    /// All ones where the mask is set, else 0.
    fn mask_to_int(self, mask: Self::Mask) -> Self::Raw;
}

/// Lanes that are compared, integers as signed ones.
pub(crate) trait CompareLanes<T: SimdElement>: Lanes<T> + MaskLanes<T::Bits> {
    fn eq(self, a: Raw<Self, T>, b: Raw<Self, T>) -> Self::Mask;
    fn lt(self, a: Raw<Self, T>, b: Raw<Self, T>) -> Self::Mask;
    /// `a` where the mask is set, else `b`.
    fn select(self, mask: Self::Mask, a: Raw<Self, T>, b: Raw<Self, T>) -> Raw<Self, T>;
}

/// A register of lanes of type `T`, as the level has it.
pub(super) type Raw<S, T> = <S as Lanes<T>>::Raw;

/// float32 and float64.
pub(crate) trait FloatLanes<T: FloatElement>: CompareLanes<T> + IntLanes<T::Bits> {
    fn mul(self, a: Raw<Self, T>, b: Raw<Self, T>) -> Raw<Self, T>;
    fn div(self, a: Raw<Self, T>, b: Raw<Self, T>) -> Raw<Self, T>;
    /// `a · b + c`, rounded once where the level [fuses](super::Simd::FUSES).
    fn mul_add(self, a: Raw<Self, T>, b: Raw<Self, T>, c: Raw<Self, T>) -> Raw<Self, T>;
    /// `c − a · b`, as above.
    fn neg_mul_add(self, a: Raw<Self, T>, b: Raw<Self, T>, c: Raw<Self, T>) -> Raw<Self, T>;
    /// The lesser; of NaN and a number either.
    fn min(self, a: Raw<Self, T>, b: Raw<Self, T>) -> Raw<Self, T>;
    /// The greater; of NaN and a number either.
    fn max(self, a: Raw<Self, T>, b: Raw<Self, T>) -> Raw<Self, T>;
    /// The lesser; `b`, a number, where `a` is NaN.
    fn min_number(self, a: Raw<Self, T>, b: Raw<Self, T>) -> Raw<Self, T>;
    /// The greater; `b`, a number, where `a` is NaN.
    fn max_number(self, a: Raw<Self, T>, b: Raw<Self, T>) -> Raw<Self, T>;
    fn abs(self, a: Raw<Self, T>) -> Raw<Self, T>;
    fn le(self, a: Raw<Self, T>, b: Raw<Self, T>) -> Self::Mask;
    fn is_nan(self, a: Raw<Self, T>) -> Self::Mask;
    fn to_bits(self, a: Raw<Self, T>) -> Raw<Self, T::Bits>;
    /// The float with these bits.
    fn with_bits(self, bits: Raw<Self, T::Bits>) -> Raw<Self, T>;
    /// The nearest integral value in the direction of the rounding.
    fn round(self, a: Raw<Self, T>, rounding: impl Round) -> Raw<Self, T>;
}

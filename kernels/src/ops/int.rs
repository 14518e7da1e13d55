//! Operations on integers of every width, once for all, and their way to wider and narrower ones.

use crate::evidence::SetBits;
use crate::pipeline::{Each, LoadShort, StoreShort, infallible, lanewise};
use crate::simd::{I8s, I16s, I32s, I64s, Int, IntElement, Simd, Unit};

/// A unit of integers, or a register of shorter ones.
pub(crate) trait IntUnit<S: Simd>: Unit<S, Register: Int<S>, Scalar: IntElement> {}

impl<S: Simd, U: Unit<S, Register: Int<S>, Scalar: IntElement>> IntUnit<S> for U {}

/// Clamped to a range, as signed integers.
#[derive(Clone, Copy)]
pub(crate) struct ClampedInt {
    pub(crate) min: i64,
    pub(crate) max: i64,
}

/// Clamped to a greatest value, as unsigned integers.
#[derive(Clone, Copy)]
pub(crate) struct AtMost {
    pub(crate) max: i64,
}

/// Zero in place of negative integers.
#[derive(Clone, Copy)]
pub(crate) struct AtLeastZero;

/// Makes the unused upper bits of a sub-byte integer canonical: extends the sign, or clears them.
#[derive(Clone, Copy)]
pub(crate) struct Canonical {
    /// The bits that the type has.
    pub(crate) mask: i64,
    /// The sign bit of a signed type, else 0: flipping and subtracting it extends it (Hacker's Delight, 2-5).
    pub(crate) sign: i64,
}

lanewise! {
    [U: IntUnit<S>] ClampedInt: U, |self, x| {
        x.max::<true>(x.broadcast(self.min)).min::<true>(x.broadcast(self.max))
    };
    [U: IntUnit<S>] AtMost: U, |self, x| x.min::<false>(x.broadcast(self.max));
    [U: IntUnit<S>] AtLeastZero: U, |self, x| x.max::<true>(x.broadcast(0));
    [] Canonical: I8s<S>, |self, x| {
        let sign = x.broadcast(self.sign);
        ((x & x.broadcast(self.mask)) ^ sign) - sign
    };
}

/// A range of a power of two of integers: the difference to its least sets no bits beyond; else it fails.
#[derive(Clone, Copy)]
pub(crate) struct Within<const FROM_ZERO: bool> {
    pub(crate) least: i64,
    pub(crate) outside: i64,
}

impl<S: Simd, U: IntUnit<S>, const FROM_ZERO: bool> Each<S, U> for Within<FROM_ZERO> {
    type Out = U;
    type Fail = SetBits<U::Register>;

    #[inline(always)]
    fn apply(self, _: S, x: U, fail: &Self::Fail) -> U {
        fail.add(x.map(
            #[inline(always)]
            |x| if FROM_ZERO { x } else { x - x.broadcast(self.least) },
        ));
        x
    }
    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        let bits = fail.get();
        (bits & bits.broadcast(self.outside)).is_nonzero()
    }
}

/// The lower halves of 64 bits.
#[derive(Clone, Copy)]
pub(crate) struct Low32;

/// 64 bits to 32, signed or not, clamped to them.
#[derive(Clone, Copy)]
pub(crate) struct Saturated32<const SIGNED: bool>;

infallible! {
    [] Low32: I64s<S> => I32s<S>, |self, simd, x| simd.low_i64_to_i32(x);
    [const SIGNED: bool] Saturated32<SIGNED>: I64s<S> => I32s<S>, |self, simd, x| {
        simd.saturate_i64_to_i32::<SIGNED>(x)
    };
}

/// 16-bit integers as they are.
#[derive(Clone, Copy)]
pub(crate) struct Int16Register;

/// 8-bit integers as 16-bit ones.
#[derive(Clone, Copy)]
pub(crate) struct WidenedByte<const SIGNED: bool>;

// SAFETY: half a group is one register.
unsafe impl<S: Simd> LoadShort<S> for Int16Register {
    const SIZE: usize = 2;
    #[inline(always)]
    unsafe fn load(self, simd: S, p: *const u8) -> I16s<S> {
        // SAFETY: the caller vouches for half a group, which is one register.
        unsafe { I16s::load(simd, p) }
    }
}

// SAFETY: half a group is as many bytes as a register has 16-bit lanes.
unsafe impl<S: Simd, const SIGNED: bool> LoadShort<S> for WidenedByte<SIGNED> {
    const SIZE: usize = 1;
    #[inline(always)]
    unsafe fn load(self, simd: S, p: *const u8) -> I16s<S> {
        // SAFETY: the caller vouches for half a group, which widens to one register.
        unsafe { simd.load_i8_to_i16::<SIGNED>(p) }
    }
}

// SAFETY: a group is two registers, both of which are stored.
unsafe impl<S: Simd> StoreShort<S> for Int16Register {
    const SIZE: usize = 2;
    #[inline(always)]
    unsafe fn store(self, _: S, p: *mut u8, [low, high]: [I16s<S>; 2]) {
        // SAFETY: the caller vouches for a group, which is two registers.
        unsafe { low.store(p) };
        // SAFETY: as above.
        unsafe { high.store(p.wrapping_add(S::BYTES)) };
    }
}

/// Signed 16-bit integers to 8-bit ones, clamped to their range.
#[derive(Clone, Copy)]
pub(crate) struct SaturatedByte<const SIGNED: bool>;

// SAFETY: a group is one register.
unsafe impl<S: Simd, const SIGNED: bool> StoreShort<S> for SaturatedByte<SIGNED> {
    const SIZE: usize = 1;
    #[inline(always)]
    unsafe fn store(self, simd: S, p: *mut u8, [low, high]: [I16s<S>; 2]) {
        let packed = simd.pack_i16_to_i8::<SIGNED>(low, high);
        // SAFETY: the caller vouches for a group, which is one register.
        unsafe { simd.order_i8_packed_once(packed).store(p) };
    }
}

/// The lower halves of 16 bits.
#[derive(Clone, Copy)]
pub(crate) struct LowByte;

// SAFETY: a group is one register.
unsafe impl<S: Simd> StoreShort<S> for LowByte {
    const SIZE: usize = 1;
    #[inline(always)]
    unsafe fn store(self, simd: S, p: *mut u8, [low, high]: [I16s<S>; 2]) {
        // SAFETY: the caller vouches for a group, which is one register.
        unsafe { simd.low_i16_to_i8(low, high).store(p) };
    }
}

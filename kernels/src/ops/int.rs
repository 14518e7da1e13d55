//! Operations on integers of every width, once for all, and their way to wider and narrower ones.

use crate::pipeline::{Each, LoadShort, StoreShort, infallible};
use crate::simd::{I8s, I16s, I32s, I64s, Simd};

/// Registers of integers.
pub(crate) trait IntUnit<S: Simd>: Copy + 'static {
    /// The low bits of `x` in every lane.
    fn splat(simd: S, x: i64) -> Self;
    fn sub(self, simd: S, b: Self) -> Self;
    fn and(self, simd: S, b: Self) -> Self;
    fn or(self, simd: S, b: Self) -> Self;
    fn xor(self, simd: S, b: Self) -> Self;
    /// The lesser, as signed or unsigned integers.
    fn min<const SIGNED: bool>(self, simd: S, b: Self) -> Self;
    /// The greater, as signed or unsigned integers.
    fn max<const SIGNED: bool>(self, simd: S, b: Self) -> Self;
    /// `value` where this equals `key`, else `other`.
    fn select_eq(self, simd: S, key: Self, value: Self, other: Self) -> Self;
    fn nonzero(self, simd: S) -> bool;
}

/// The units of one register, whose operations are the level's own.
macro_rules! int_units {
    ($($unit:ident $splat:ident($t:ty) $sub:ident $and:ident $or:ident $xor:ident
        $min:ident $max:ident $min_u:ident $max_u:ident $nonzero:ident
        |$simd:ident, $x:ident, $key:ident, $value:ident, $other:ident| $select:expr;)*) => {$(
        impl<S: Simd> IntUnit<S> for $unit<S> {
            #[inline(always)]
            fn splat(simd: S, x: i64) -> Self {
                Self(simd.$splat(x as $t))
            }
            #[inline(always)]
            fn sub(self, simd: S, b: Self) -> Self {
                Self(simd.$sub(self.0, b.0))
            }
            #[inline(always)]
            fn and(self, simd: S, b: Self) -> Self {
                Self(simd.$and(self.0, b.0))
            }
            #[inline(always)]
            fn or(self, simd: S, b: Self) -> Self {
                Self(simd.$or(self.0, b.0))
            }
            #[inline(always)]
            fn xor(self, simd: S, b: Self) -> Self {
                Self(simd.$xor(self.0, b.0))
            }
            #[inline(always)]
            fn min<const SIGNED: bool>(self, simd: S, b: Self) -> Self {
                Self(if SIGNED { simd.$min(self.0, b.0) } else { simd.$min_u(self.0, b.0) })
            }
            #[inline(always)]
            fn max<const SIGNED: bool>(self, simd: S, b: Self) -> Self {
                Self(if SIGNED { simd.$max(self.0, b.0) } else { simd.$max_u(self.0, b.0) })
            }
            #[inline(always)]
            fn select_eq(self, $simd: S, key: Self, value: Self, other: Self) -> Self {
                let ($x, $key, $value, $other) = (self.0, key.0, value.0, other.0);
                Self($select)
            }
            #[inline(always)]
            fn nonzero(self, simd: S) -> bool {
                simd.$nonzero(self.0)
            }
        }
    )*};
}

int_units! {
    I8s splat_i8(i8) sub_i8 and_i8 or_i8 xor_i8 min_i8 max_i8 min_u8 max_u8 nonzero_i8
        |simd, x, key, value, other| simd.select_eq_i8(x, key, value, other);
    I16s splat_i16(i16) sub_i16 and_i16 or_i16 xor_i16 min_i16 max_i16 min_u16 max_u16 nonzero_i16
        |simd, x, key, value, other| simd.select_eq_i16(x, key, value, other);
    I32s splat_i32(i32) sub_i32 and_i32 or_i32 xor_i32 min_i32 max_i32 min_u32 max_u32 nonzero_i32
        |simd, x, key, value, other| simd.select_i32(simd.eq_i32(x, key), value, other);
}

impl<S: Simd> I64s<S> {
    #[inline(always)]
    fn with(self, b: Self, f: impl Fn(S::I64, S::I64) -> S::I64) -> Self {
        let ([low, high], [low_b, high_b]) = (self.0, b.0);
        Self([f(low, low_b), f(high, high_b)])
    }
}

/// Where `a` is below `b`, as signed or unsigned integers.
#[inline(always)]
fn lt_64<S: Simd, const SIGNED: bool>(simd: S, a: S::I64, b: S::I64) -> S::M64 {
    if SIGNED {
        simd.lt_i64(a, b)
    } else {
        let sign = simd.splat_i64(i64::MIN);
        simd.lt_i64(simd.xor_i64(a, sign), simd.xor_i64(b, sign))
    }
}

impl<S: Simd> IntUnit<S> for I64s<S> {
    #[inline(always)]
    fn splat(simd: S, x: i64) -> Self {
        Self([simd.splat_i64(x); 2])
    }
    #[inline(always)]
    fn sub(self, simd: S, b: Self) -> Self {
        self.with(
            b,
            #[inline(always)]
            |a, b| simd.sub_i64(a, b),
        )
    }
    #[inline(always)]
    fn and(self, simd: S, b: Self) -> Self {
        self.with(
            b,
            #[inline(always)]
            |a, b| simd.and_i64(a, b),
        )
    }
    #[inline(always)]
    fn or(self, simd: S, b: Self) -> Self {
        self.with(
            b,
            #[inline(always)]
            |a, b| simd.or_i64(a, b),
        )
    }
    #[inline(always)]
    fn xor(self, simd: S, b: Self) -> Self {
        self.with(
            b,
            #[inline(always)]
            |a, b| simd.xor_i64(a, b),
        )
    }
    #[inline(always)]
    fn min<const SIGNED: bool>(self, simd: S, b: Self) -> Self {
        self.with(
            b,
            #[inline(always)]
            |a, b| simd.select_i64(lt_64::<S, SIGNED>(simd, a, b), a, b),
        )
    }
    #[inline(always)]
    fn max<const SIGNED: bool>(self, simd: S, b: Self) -> Self {
        self.with(
            b,
            #[inline(always)]
            |a, b| simd.select_i64(lt_64::<S, SIGNED>(simd, a, b), b, a),
        )
    }
    #[inline(always)]
    fn select_eq(self, simd: S, key: Self, value: Self, other: Self) -> Self {
        let ([a, b], [key, _], [value, _], [other_a, other_b]) = (self.0, key.0, value.0, other.0);
        Self([
            simd.select_i64(simd.eq_i64(a, key), value, other_a),
            simd.select_i64(simd.eq_i64(b, key), value, other_b),
        ])
    }
    #[inline(always)]
    fn nonzero(self, simd: S) -> bool {
        let [low, high] = self.0;
        simd.nonzero_i64(simd.or_i64(low, high))
    }
}

/// Clamped to a range, as signed or unsigned integers.
#[derive(Clone, Copy)]
pub(crate) struct ClampedInt<const SIGNED: bool> {
    pub(crate) min: i64,
    pub(crate) max: i64,
}

/// Clamped to a greatest value, as signed or unsigned integers.
#[derive(Clone, Copy)]
pub(crate) struct AtMost<const SIGNED: bool> {
    pub(crate) max: i64,
}

/// Clamped to a least value, as signed integers.
#[derive(Clone, Copy)]
pub(crate) struct AtLeast {
    pub(crate) min: i64,
}

/// Makes the unused upper bits of a sub-byte integer canonical: extends the sign, or clears them.
#[derive(Clone, Copy)]
pub(crate) struct Canonical {
    /// The bits that the type has.
    pub(crate) mask: i64,
    /// The sign bit of a signed type, else 0: flipping and subtracting it extends it (Hacker's Delight, 2-5).
    pub(crate) sign: i64,
}

infallible! {
    [U: IntUnit<S>, const SIGNED: bool] ClampedInt<SIGNED>: U => U, |self, simd, x| {
        let above = x.max::<SIGNED>(simd, U::splat(simd, self.min));
        above.min::<SIGNED>(simd, U::splat(simd, self.max))
    };
    [U: IntUnit<S>, const SIGNED: bool] AtMost<SIGNED>: U => U, |self, simd, x| {
        x.min::<SIGNED>(simd, U::splat(simd, self.max))
    };
    [U: IntUnit<S>] AtLeast: U => U, |self, simd, x| {
        x.max::<true>(simd, U::splat(simd, self.min))
    };
    [] Canonical: I8s<S> => I8s<S>, |self, simd, x| {
        let sign = I8s::splat(simd, self.sign);
        x.and(simd, I8s::splat(simd, self.mask)).xor(simd, sign).sub(simd, sign)
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
    type Fail = U;

    #[inline(always)]
    fn start(self, simd: S) -> U {
        U::splat(simd, 0)
    }
    #[inline(always)]
    fn apply(self, simd: S, x: U, fail: &mut U) -> U {
        let above = if FROM_ZERO { x } else { x.sub(simd, U::splat(simd, self.least)) };
        *fail = fail.or(simd, above);
        x
    }
    #[inline(always)]
    fn join(self, simd: S, a: U, b: U) -> U {
        a.or(simd, b)
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: U) -> bool {
        fail.and(simd, U::splat(simd, self.outside)).nonzero(simd)
    }
}

/// The lower halves of 64 bits.
#[derive(Clone, Copy)]
pub(crate) struct Low32;

/// Signed 64 bits to 32, clamped to them.
#[derive(Clone, Copy)]
pub(crate) struct Saturated32;

/// Unsigned 64 bits to 32, clamped to them.
#[derive(Clone, Copy)]
pub(crate) struct SaturatedU32;

infallible! {
    [] Low32: I64s<S> => I32s<S>, |self, simd, x| I32s(simd.low_i64_to_i32(x.0));
    [] Saturated32: I64s<S> => I32s<S>, |self, simd, x| I32s(simd.saturate_i64_to_i32(x.0));
    [] SaturatedU32: I64s<S> => I32s<S>, |self, simd, x| I32s(simd.saturate_u64_to_u32(x.0));
}

/// 16-bit integers as they are.
#[derive(Clone, Copy)]
pub(crate) struct Int16Register;

/// 8-bit integers as 16-bit ones.
#[derive(Clone, Copy)]
pub(crate) struct WidenedByte<const SIGNED: bool>;

impl<S: Simd> LoadShort<S> for Int16Register {
    const SIZE: usize = 2;
    #[inline(always)]
    unsafe fn load(self, simd: S, p: *const u8) -> I16s<S> {
        // SAFETY: the caller vouches for half a group, which is one register.
        I16s(unsafe { simd.load_i16(p) })
    }
}

impl<S: Simd, const SIGNED: bool> LoadShort<S> for WidenedByte<SIGNED> {
    const SIZE: usize = 1;
    #[inline(always)]
    unsafe fn load(self, simd: S, p: *const u8) -> I16s<S> {
        if SIGNED {
            // SAFETY: the caller vouches for half a group, which widens to one register.
            I16s(unsafe { simd.load_i8_to_i16(p) })
        } else {
            // SAFETY: as above.
            I16s(unsafe { simd.load_u8_to_i16(p) })
        }
    }
}

impl<S: Simd> StoreShort<S> for Int16Register {
    const SIZE: usize = 2;
    #[inline(always)]
    unsafe fn store(self, simd: S, p: *mut u8, [low, high]: [I16s<S>; 2]) {
        // SAFETY: the caller vouches for a group, which is two registers.
        unsafe { simd.store_i16(p, low.0) };
        // SAFETY: as above.
        unsafe { simd.store_i16(p.wrapping_add(S::BYTES), high.0) };
    }
}

/// Signed 16-bit integers to 8-bit ones, clamped to their range.
#[derive(Clone, Copy)]
pub(crate) struct SaturatedByte<const SIGNED: bool>;

impl<S: Simd, const SIGNED: bool> StoreShort<S> for SaturatedByte<SIGNED> {
    const SIZE: usize = 1;
    #[inline(always)]
    unsafe fn store(self, simd: S, p: *mut u8, [low, high]: [I16s<S>; 2]) {
        let packed = if SIGNED {
            simd.pack_i16_to_i8(low.0, high.0)
        } else {
            simd.pack_i16_to_u8(low.0, high.0)
        };
        // SAFETY: the caller vouches for a group, which is one register.
        unsafe { simd.store_i8(p, simd.order_i8(packed)) };
    }
}

/// The lower halves of 16 bits.
#[derive(Clone, Copy)]
pub(crate) struct LowByte;

impl<S: Simd> StoreShort<S> for LowByte {
    const SIZE: usize = 1;
    #[inline(always)]
    unsafe fn store(self, simd: S, p: *mut u8, [low, high]: [I16s<S>; 2]) {
        // SAFETY: the caller vouches for a group, which is one register.
        unsafe { simd.store_i8(p, simd.low_i16_to_i8(low.0, high.0)) };
    }
}

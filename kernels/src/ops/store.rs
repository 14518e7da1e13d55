//! Narrowing four units and writing them: with a check, saturating, or dropping upper bits.

// The four units of a group have no better names than letters.
#![allow(clippy::many_single_char_names)]

use crate::pipeline::Store;
use crate::simd::{F32s, F64s, I32s, I64s, Simd};

/// To 8-bit integers, where a value that does not fit fails.
#[derive(Clone, Copy)]
pub(crate) struct CheckedI8<const SIGNED: bool> {
    /// The bits that a value of the target, less its least value, does not set.
    pub(crate) outside: i16,
}

impl<S: Simd, const SIGNED: bool> Store<S, I32s<S>> for CheckedI8<SIGNED> {
    const SIZE: usize = 1;
    type Fail = S::I16;

    #[inline(always)]
    fn start(self, simd: S) -> S::I16 {
        simd.splat_i16(0)
    }

    #[inline(always)]
    unsafe fn store(self, simd: S, p: *mut u8, [a, b, c, d]: [I32s<S>; 4], fail: &mut S::I16) {
        // What does not fit 16 bits saturates, and still does not fit 8.
        let low = simd.pack_i32_to_i16(a.0, b.0);
        let high = simd.pack_i32_to_i16(c.0, d.0);
        let packed = if SIGNED {
            let bias = simd.splat_i16(128);
            let either = simd.or_i16(simd.add_i16(low, bias), simd.add_i16(high, bias));
            *fail = simd.or_i16(*fail, either);
            simd.pack_i16_to_i8(low, high)
        } else {
            *fail = simd.or_i16(*fail, simd.or_i16(low, high));
            simd.pack_i16_to_u8(low, high)
        };
        // SAFETY: the caller vouches for a group at `p`, which is one register.
        unsafe { simd.store_i8(p, simd.unscramble_two_packs(packed)) };
    }

    #[inline(always)]
    fn failed(self, simd: S, fail: S::I16) -> bool {
        simd.nonzero_i16(simd.and_i16(fail, simd.splat_i16(self.outside)))
    }
}

/// To 16-bit integers, where a value that does not fit fails.
#[derive(Clone, Copy)]
pub(crate) struct CheckedI16<const SIGNED: bool> {
    /// As in [`CheckedI8`].
    pub(crate) outside: i32,
}

impl<S: Simd, const SIGNED: bool> Store<S, I32s<S>> for CheckedI16<SIGNED> {
    const SIZE: usize = 2;
    type Fail = S::I32;

    #[inline(always)]
    fn start(self, simd: S) -> S::I32 {
        simd.splat_i32(0)
    }

    #[inline(always)]
    unsafe fn store(self, simd: S, p: *mut u8, group: [I32s<S>; 4], fail: &mut S::I32) {
        let [a, b, c, d] = group.map_each(
            #[inline(always)]
            |x| x.0,
        );
        let either =
            simd.or_i32(from_least::<S, SIGNED>(simd, a), from_least::<S, SIGNED>(simd, b));
        let other = simd.or_i32(from_least::<S, SIGNED>(simd, c), from_least::<S, SIGNED>(simd, d));
        *fail = simd.or_i32(*fail, simd.or_i32(either, other));
        let (low, high) = if SIGNED {
            (simd.pack_i32_to_i16(a, b), simd.pack_i32_to_i16(c, d))
        } else {
            (simd.pack_i32_to_u16(a, b), simd.pack_i32_to_u16(c, d))
        };
        // SAFETY: the caller vouches for a group at `p`, which is two registers.
        unsafe { store_i16s(simd, p, low, high) };
    }

    #[inline(always)]
    fn failed(self, simd: S, fail: S::I32) -> bool {
        simd.nonzero_i32(simd.and_i32(fail, simd.splat_i32(self.outside)))
    }
}

/// A 32-bit integer, less the least 16-bit one.
#[inline(always)]
fn from_least<S: Simd, const SIGNED: bool>(simd: S, x: S::I32) -> S::I32 {
    if SIGNED { simd.add_i32(x, simd.splat_i32(1 << 15)) } else { x }
}

/// Stores that do not fail.
macro_rules! infallible_stores {
    ($([$($generics:tt)*] $type:ty: $in:ident $size:literal, |$simd:ident, $p:ident, $group:pat_param| $body:expr;)*) => {$(
        impl<S: Simd, $($generics)*> Store<S, $in<S>> for $type {
            const SIZE: usize = $size;
            type Fail = ();
            #[inline(always)]
            fn start(self, _: S) {}
            #[inline(always)]
            unsafe fn store(self, $simd: S, $p: *mut u8, $group: [$in<S>; 4], (): &mut ()) {
                $body
            }
            #[inline(always)]
            fn failed(self, _: S, (): ()) -> bool {
                false
            }
        }
    )*};
}

/// To 8-bit integers: signed 32-bit ones, clamped to the range.
#[derive(Clone, Copy)]
pub(crate) struct SaturatedI8<const SIGNED: bool>;

/// To 16-bit integers: signed 32-bit ones, clamped to the range.
#[derive(Clone, Copy)]
pub(crate) struct SaturatedI16<const SIGNED: bool>;

/// To the lowest 8 bits.
#[derive(Clone, Copy)]
pub(crate) struct LowI8;

/// To the lowest 16 bits.
#[derive(Clone, Copy)]
pub(crate) struct LowI16;

/// As they are.
#[derive(Clone, Copy)]
pub(crate) struct StoreFull;

infallible_stores! {
    [const SIGNED: bool] SaturatedI8<SIGNED>: I32s 1, |simd, p, [a, b, c, d]| {
        let low = simd.pack_i32_to_i16(a.0, b.0);
        let high = simd.pack_i32_to_i16(c.0, d.0);
        let packed =
            if SIGNED { simd.pack_i16_to_i8(low, high) } else { simd.pack_i16_to_u8(low, high) };
        // SAFETY: the caller vouches for a group at `p`, which is one register.
        unsafe { simd.store_i8(p, simd.unscramble_two_packs(packed)) };
    };
    [const SIGNED: bool] SaturatedI16<SIGNED>: I32s 2, |simd, p, [a, b, c, d]| {
        let (low, high) = if SIGNED {
            (simd.pack_i32_to_i16(a.0, b.0), simd.pack_i32_to_i16(c.0, d.0))
        } else {
            (simd.pack_i32_to_u16(a.0, b.0), simd.pack_i32_to_u16(c.0, d.0))
        };
        // SAFETY: the caller vouches for a group at `p`, which is two registers.
        unsafe { store_i16s(simd, p, low, high) };
    };
    [] LowI8: I32s 1, |simd, p, group| {
        let bytes = simd.low_i32_to_i8(group.map_each(#[inline(always)] |x| x.0));
        // SAFETY: the caller vouches for a group at `p`, which is one register.
        unsafe { simd.store_i8(p, bytes) };
    };
    [] LowI16: I32s 2, |simd, p, [a, b, c, d]| {
        // SAFETY: the caller vouches for a group at `p`, which is two registers.
        unsafe { simd.store_i16(p, simd.low_i32_to_i16(a.0, b.0)) };
        // SAFETY: as above.
        unsafe { simd.store_i16(p.wrapping_add(S::BYTES), simd.low_i32_to_i16(c.0, d.0)) };
    };
    [] StoreFull: I32s 4, |simd, p, group| {
        for_each_place(group, p, S::BYTES, #[inline(always)] |p, x| {
            // SAFETY: the caller vouches for a group at `p`, which is four registers.
            unsafe { simd.store_i32(p, x.0) };
        });
    };
    [] StoreFull: F32s 4, |simd, p, group| {
        for_each_place(group, p, S::BYTES, #[inline(always)] |p, x| {
            // SAFETY: as above.
            unsafe { simd.store_f32(p, x.0) };
        });
    };
    [] StoreFull: I64s 8, |simd, p, group| {
        for_each_place(group, p, 2 * S::BYTES, #[inline(always)] |p, I64s([low, high])| {
            // SAFETY: the caller vouches for a group at `p`, which is eight registers.
            unsafe { simd.store_i64(p, low) };
            // SAFETY: as above.
            unsafe { simd.store_i64(p.wrapping_add(S::BYTES), high) };
        });
    };
    [] StoreFull: F64s 8, |simd, p, group| {
        for_each_place(group, p, 2 * S::BYTES, #[inline(always)] |p, F64s([low, high])| {
            // SAFETY: the caller vouches for a group at `p`, which is eight registers.
            unsafe { simd.store_f64(p, low) };
            // SAFETY: as above.
            unsafe { simd.store_f64(p.wrapping_add(S::BYTES), high) };
        });
    };
}

/// Puts packed registers in order and writes them.
///
/// # Safety
/// `p` is valid for writing two registers.
#[inline(always)]
unsafe fn store_i16s<S: Simd>(simd: S, p: *mut u8, low: S::I16, high: S::I16) {
    // SAFETY: the caller vouches for two registers.
    unsafe { simd.store_i16(p, simd.order_i16(low)) };
    // SAFETY: as above.
    unsafe { simd.store_i16(p.wrapping_add(S::BYTES), simd.order_i16(high)) };
}

/// `f` with each unit and its place, `step` bytes apart.
#[inline(always)]
fn for_each_place<U>([a, b, c, d]: [U; 4], p: *mut u8, step: usize, f: impl Fn(*mut u8, U)) {
    f(p, a);
    f(p.wrapping_add(step), b);
    f(p.wrapping_add(2 * step), c);
    f(p.wrapping_add(3 * step), d);
}

/// `map`, written out: the array's own leaves the registers in memory.
pub(crate) trait MapEach<T> {
    fn map_each<U>(self, f: impl Fn(T) -> U) -> [U; 4];
}

impl<T> MapEach<T> for [T; 4] {
    #[inline(always)]
    fn map_each<U>(self, f: impl Fn(T) -> U) -> [U; 4] {
        let [a, b, c, d] = self;
        [f(a), f(b), f(c), f(d)]
    }
}

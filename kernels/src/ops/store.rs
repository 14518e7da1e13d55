//! Narrowing four units and writing them: with a check, saturating, or dropping upper bits.

// The four units of a group have no better names than letters.
#![allow(clippy::many_single_char_names)]

use crate::evidence::SetBits;
use crate::pipeline::Store;
use crate::simd::{F32s, I8s, I16s, I32s, Int, Round, Simd, Unit};

/// To 8-bit integers, where a value that does not fit fails.
#[derive(Clone, Copy)]
pub(crate) struct CheckedI8<const SIGNED: bool> {
    /// The bits that a value of the target, less its least value, does not set.
    pub(crate) outside: i16,
}

// SAFETY: a group is one register.
unsafe impl<S: Simd, const SIGNED: bool> Store<S, I32s<S>> for CheckedI8<SIGNED> {
    const SIZE: usize = 1;
    const APART: usize = 4;
    type Fail = SetBits<I16s<S>>;

    #[inline(always)]
    unsafe fn store(
        self,
        simd: S,
        p: *mut u8,
        [a, b, c, d]: [I32s<S>; 4],
        apart: usize,
        fail: &Self::Fail,
    ) {
        // A value beyond 16 bits saturates, and still does not fit 8.
        let low = simd.pack_i32_to_i16::<true>(a, b);
        let high = simd.pack_i32_to_i16::<true>(c, d);
        fail.add(if SIGNED { (low + 128) | (high + 128) } else { low | high });
        let packed = simd.pack_i16_to_i8::<SIGNED>(low, high);
        // SAFETY: the caller vouches for a group at `p`, which is one register.
        unsafe { store_i8s(simd, p, packed, apart) };
    }

    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        let bits = fail.get();
        (bits & self.outside).is_nonzero()
    }
}

/// To 16-bit integers, where a value that does not fit fails.
#[derive(Clone, Copy)]
pub(crate) struct CheckedI16<const SIGNED: bool> {
    /// As in [`CheckedI8`].
    pub(crate) outside: i32,
}

// SAFETY: a group is two registers, both of which are stored.
unsafe impl<S: Simd, const SIGNED: bool> Store<S, I32s<S>> for CheckedI16<SIGNED> {
    const SIZE: usize = 2;
    const APART: usize = 2;
    type Fail = SetBits<I32s<S>>;

    #[inline(always)]
    unsafe fn store(
        self,
        simd: S,
        p: *mut u8,
        group: [I32s<S>; 4],
        apart: usize,
        fail: &Self::Fail,
    ) {
        // Less the least value.
        let [e, f, g, h] = group.map_each(
            #[inline(always)]
            |x| if SIGNED { x + (1 << 15) } else { x },
        );
        fail.add((e | f) | (g | h));
        let [a, b, c, d] = group;
        let low = simd.pack_i32_to_i16::<SIGNED>(a, b);
        let high = simd.pack_i32_to_i16::<SIGNED>(c, d);
        // SAFETY: the caller vouches for a group at `p`, which is two registers.
        unsafe { store_i16s(simd, p, low, high, apart) };
    }

    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        let bits = fail.get();
        (bits & self.outside).is_nonzero()
    }
}

/// Stores that do not fail.
macro_rules! infallible_stores {
    ($([$($generics:tt)*] $type:ty: $in:ident $size:literal $(apart $most:literal)?,
        |$self:ident, $simd:ident, $p:ident, $group:pat_param, $apart:pat_param| $body:expr;)*) => {$(
        // SAFETY: a group of elements of one byte is one register, of two bytes two; each body stores as many.
        unsafe impl<S: Simd, $($generics)*> Store<S, $in<S>> for $type {
            const SIZE: usize = $size;
            $(const APART: usize = $most;)?
            type Fail = ();
            #[inline(always)]
            #[allow(unused_variables)] // not each needs the token
            unsafe fn store($self, $simd: S, $p: *mut u8, $group: [$in<S>; 4], $apart: usize, (): &()) {
                $body
            }
            #[inline(always)]
            fn failed(self, _: S, (): &()) -> bool {
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

/// To the upper 16 bits.
#[derive(Clone, Copy)]
pub(crate) struct UpperHalves;

/// To `float16`, in the direction of `R`.
#[derive(Clone, Copy)]
pub(crate) struct AsF16<R>(pub(crate) R);

infallible_stores! {
    [const SIGNED: bool] SaturatedI8<SIGNED>: I32s 1 apart 4, |self, simd, p, [a, b, c, d], apart| {
        let low = simd.pack_i32_to_i16::<true>(a, b);
        let high = simd.pack_i32_to_i16::<true>(c, d);
        let packed = simd.pack_i16_to_i8::<SIGNED>(low, high);
        // SAFETY: the caller vouches for a group at `p`, which is one register.
        unsafe { store_i8s(simd, p, packed, apart) };
    };
    [const SIGNED: bool] SaturatedI16<SIGNED>: I32s 2 apart 2, |self, simd, p, [a, b, c, d], apart| {
        let low = simd.pack_i32_to_i16::<SIGNED>(a, b);
        let high = simd.pack_i32_to_i16::<SIGNED>(c, d);
        // SAFETY: the caller vouches for a group at `p`, which is two registers.
        unsafe { store_i16s(simd, p, low, high, apart) };
    };
    [] LowI8: I32s 1, |self, simd, p, group, _| {
        // SAFETY: the caller vouches for a group at `p`, which is one register.
        unsafe { simd.low_i32_to_i8(group).store(p) };
    };
    [] LowI16: I32s 2, |self, simd, p, [a, b, c, d], _| {
        // SAFETY: the caller vouches for a group at `p`, which is two registers.
        unsafe { simd.low_i32_to_i16(a, b).store(p) };
        // SAFETY: as above.
        unsafe { simd.low_i32_to_i16(c, d).store(p.wrapping_add(S::BYTES)) };
    };
    [] UpperHalves: I32s 2, |self, simd, p, [a, b, c, d], _| {
        // SAFETY: the caller vouches for a group at `p`, which is two registers.
        unsafe { simd.high_i32_to_i16(a, b).store(p) };
        // SAFETY: as above.
        unsafe { simd.high_i32_to_i16(c, d).store(p.wrapping_add(S::BYTES)) };
    };
    [R: Round] AsF16<R>: F32s 2, |self, simd, p, [a, b, c, d], _| {
        // SAFETY: the caller vouches for a group at `p`, which is two registers.
        unsafe { simd.f32_to_f16(a, b, self.0).store(p) };
        // SAFETY: as above.
        unsafe { simd.f32_to_f16(c, d, self.0).store(p.wrapping_add(S::BYTES)) };
    };
}

/// As they are.
#[derive(Clone, Copy)]
pub(crate) struct StoreFull;

// SAFETY: a group is four units, each of which is stored in its place.
unsafe impl<S: Simd, U: Unit<S>> Store<S, U> for StoreFull {
    const SIZE: usize = size_of::<U::Scalar>();
    type Fail = ();

    #[inline(always)]
    unsafe fn store(self, _: S, p: *mut u8, group: [U; 4], _: usize, (): &()) {
        let step = S::BYTES / 4 * size_of::<U::Scalar>();
        for_each_place(
            group,
            p,
            step,
            #[inline(always)]
            |p, unit| {
                // SAFETY: the caller vouches for a group at `p`, which is four units.
                unsafe { unit.store(p) };
            },
        );
    }

    #[inline(always)]
    fn failed(self, _: S, (): &()) -> bool {
        false
    }
}

/// Puts registers that were packed once in order, unless they are, and writes them.
///
/// # Safety
/// `p` is valid for writing two registers.
#[inline(always)]
unsafe fn store_i16s<S: Simd>(simd: S, p: *mut u8, low: I16s<S>, high: I16s<S>, apart: usize) {
    let [low, high] =
        if apart == 1 { [simd.order_i16(low), simd.order_i16(high)] } else { [low, high] };
    // SAFETY: the caller vouches for two registers.
    unsafe { low.store(p) };
    // SAFETY: as above.
    unsafe { high.store(p.wrapping_add(S::BYTES)) };
}

/// Puts a register that was packed twice in order, unless it is, and writes it.
///
/// # Safety
/// `p` is valid for writing a register.
#[inline(always)]
unsafe fn store_i8s<S: Simd>(simd: S, p: *mut u8, packed: I8s<S>, apart: usize) {
    let ordered = if apart == 1 { simd.order_i8_packed_twice(packed) } else { packed };
    // SAFETY: the caller vouches for a register.
    unsafe { ordered.store(p) };
}

/// `f` with each unit and its place, `step` bytes apart.
#[inline(always)]
fn for_each_place<U: Copy>(
    [a, b, c, d]: [U; 4],
    p: *mut u8,
    step: usize,
    f: impl Fn(*mut u8, U) + Copy,
) {
    f(p, a);
    f(p.wrapping_add(step), b);
    f(p.wrapping_add(2 * step), c);
    f(p.wrapping_add(3 * step), d);
}

/// `map`, written out: the array's own leaves the registers in memory.
pub(crate) trait MapEach<T> {
    fn map_each<U: Copy>(self, f: impl Fn(T) -> U + Copy) -> [U; 4];
}

impl<T: Copy> MapEach<T> for [T; 4] {
    #[inline(always)]
    fn map_each<U: Copy>(self, f: impl Fn(T) -> U + Copy) -> [U; 4] {
        let [a, b, c, d] = self;
        [f(a), f(b), f(c), f(d)]
    }
}

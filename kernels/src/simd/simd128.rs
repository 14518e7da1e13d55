//! WebAssembly's `simd128`: registers of 16 bytes. Packing keeps the order.
//!
//! A module that has its instructions loads only where the engine has them, so the intrinsics are safe functions and the
//! token proves nothing. Instructions that compute with NaN may give one of any sign, and of any payload: where the bits
//! of a NaN matter, they come from operations on integers.

use core::arch::wasm32::{
    f32x4_abs, f32x4_add, f32x4_ceil, f32x4_convert_i32x4, f32x4_demote_f64x2_zero, f32x4_div,
    f32x4_eq, f32x4_floor, f32x4_le, f32x4_lt, f32x4_mul, f32x4_ne, f32x4_nearest, f32x4_pmax,
    f32x4_pmin, f32x4_splat, f32x4_sub, f32x4_trunc, f64x2_abs, f64x2_add, f64x2_ceil,
    f64x2_convert_low_i32x4, f64x2_convert_low_u32x4, f64x2_div, f64x2_eq, f64x2_floor, f64x2_le,
    f64x2_lt, f64x2_mul, f64x2_ne, f64x2_nearest, f64x2_pmax, f64x2_pmin, f64x2_promote_low_f32x4,
    f64x2_splat, f64x2_sub, f64x2_trunc, i8x16_eq, i8x16_max, i8x16_min, i8x16_narrow_i16x8,
    i8x16_shuffle, i8x16_splat, i8x16_sub, i8x16_swizzle, i16x8, i16x8_add, i16x8_eq,
    i16x8_extend_high_i8x16, i16x8_extend_low_i8x16, i16x8_load_extend_i8x8,
    i16x8_load_extend_u8x8, i16x8_max, i16x8_min, i16x8_mul, i16x8_narrow_i32x4, i16x8_shl,
    i16x8_shuffle, i16x8_splat, i16x8_sub, i32x4, i32x4_add, i32x4_eq, i32x4_extend_high_i16x8,
    i32x4_extend_low_i16x8, i32x4_gt, i32x4_lt, i32x4_max, i32x4_min, i32x4_mul, i32x4_ne,
    i32x4_shl, i32x4_shr, i32x4_shuffle, i32x4_splat, i32x4_sub, i32x4_trunc_sat_f32x4,
    i32x4_trunc_sat_f64x2_zero, i64x2_add, i64x2_eq, i64x2_extend_high_i32x4,
    i64x2_extend_low_i32x4, i64x2_load_extend_i32x2, i64x2_load_extend_u32x2, i64x2_lt, i64x2_shl,
    i64x2_shuffle, i64x2_splat, i64x2_sub, u8x16_max, u8x16_min, u8x16_narrow_i16x8,
    u16x8_extend_high_u8x16, u16x8_extend_low_u8x16, u16x8_max, u16x8_min, u16x8_narrow_i32x4,
    u16x8_shr, u32x4_extend_high_u16x8, u32x4_extend_low_u16x8, u32x4_max, u32x4_min, u32x4_shr,
    u64x2_extend_low_u32x4, u64x2_shr, v128, v128_and, v128_andnot, v128_any_true, v128_load,
    v128_load16_splat, v128_load32_zero, v128_or, v128_store, v128_xor,
};

use super::{LookUpBytes, Round, Simd};
use crate::Rounding;

/// The token.
#[derive(Clone, Copy)]
pub(crate) struct Simd128;

/// 2^52, and 2^84 and 2^84 + 2^63 for upper halves: their mantissas count in units of 1 and 2^32.
const TWO_P52: i64 = 0x4330_0000_0000_0000;
const TWO_P84: i64 = 0x4530_0000_0000_0000;
const TWO_P84_P63: i64 = 0x4530_0000_8000_0000;
const TWO_P84_P63_P52: f64 = f64::from_bits(0x4530_0000_8010_0000);
const TWO_P84_P52: f64 = f64::from_bits(0x4530_0000_0010_0000);

/// Operations that are one instruction.
macro_rules! instructions {
    ($($name:ident($($a:ident),*) = $instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, $($a: v128),*) -> v128 {
            $instruction($($a),*)
        }
    )*};
    ($($name:ident($a:ident: $t:ty) = $instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, $a: $t) -> v128 {
            $instruction($a)
        }
    )*};
}

/// The same operation on lanes of any width: what leaves the register as it is, whether a bit is set, `!a & b`, and `a` where
/// the mask is set, else `b`.
macro_rules! bitwise {
    (same $($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self, a: v128) -> v128 {
            a
        }
    )*};
    (any $($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self, a: v128) -> bool {
            v128_any_true(a)
        }
    )*};
    (andnot $($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self, a: v128, b: v128) -> v128 {
            v128_andnot(b, a)
        }
    )*};
    (select $($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self, mask: v128, a: v128, b: v128) -> v128 {
            select(mask, a, b)
        }
    )*};
}

/// Loads and stores.
macro_rules! memory {
    ($($load:ident $store:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $load(self, p: *const u8) -> v128 {
            // SAFETY: the caller vouches for the memory, and any alignment will do.
            unsafe { v128_load(p.cast()) }
        }
        #[inline(always)]
        unsafe fn $store(self, p: *mut u8, x: v128) {
            // SAFETY: as above.
            unsafe { v128_store(p.cast(), x) }
        }
    )*};
    ($(widen $name:ident = $load:ident $($instruction:ident)*;)*) => {$(
        #[inline(always)]
        unsafe fn $name(self, p: *const u8) -> v128 {
            // SAFETY: as above.
            let narrow = unsafe { $load(p.cast()) };
            $(let narrow = $instruction(narrow);)*
            narrow
        }
    )*};
}

/// `a` where the mask is set, else `b`; written out, so that the compiler sees what a zero on one side leaves.
#[inline(always)]
fn select(mask: v128, a: v128, b: v128) -> v128 {
    v128_or(v128_and(a, mask), v128_andnot(b, mask))
}

/// The lower halves of 64-bit lanes.
#[inline(always)]
fn low_halves(a: v128, b: v128) -> v128 {
    i32x4_shuffle::<0, 2, 4, 6>(a, b)
}

/// The upper halves of 64-bit lanes.
#[inline(always)]
fn high_halves(a: v128, b: v128) -> v128 {
    i32x4_shuffle::<1, 3, 5, 7>(a, b)
}

/// The upper two of four lanes, in the place of the lower two.
#[inline(always)]
fn upper_two(a: v128) -> v128 {
    i64x2_shuffle::<1, 0>(a, a)
}

/// The half of a group of 16-bit elements that has the unit `UNIT`.
///
/// # Safety
/// `p` is valid for reading a group.
#[inline(always)]
unsafe fn load_half<const UNIT: usize>(p: *const u8) -> v128 {
    // SAFETY: the caller vouches for the group, which is two registers.
    unsafe { v128_load(p.wrapping_add(UNIT / 2 * Simd128::BYTES).cast()) }
}

/// Two of float32, to float64; `bits` are they, with the sign extended.
#[inline(always)]
fn promote(low: v128, bits: v128) -> v128 {
    let number = f64x2_promote_low_f32x4(low);
    // The mantissa in its place, below copies of the sign and an exponent of ones.
    let nan = v128_or(i64x2_shl(bits, 29), i64x2_splat(0x7ff8_0000_0000_0000));
    select(f64x2_ne(number, number), nan, number)
}

/// The `float16` of which `bits` are the lower half of each lane.
#[inline(always)]
fn widen_f16(bits: v128) -> v128 {
    let magnitude = v128_and(bits, i32x4_splat(0x7fff));
    let sign = i32x4_shl(v128_andnot(bits, i32x4_splat(0x7fff)), 16);
    let mantissa = i32x4_shl(magnitude, 13);
    // As a float32 it has the mantissa, and an exponent that is too small by 112; exact for subnormal numbers too.
    let number = f32x4_mul(mantissa, f32x4_splat(f32::from_bits((127 + 112) << 23)));
    let special = v128_or(mantissa, i32x4_splat(0x7f80_0000));
    let quiet = v128_and(i32x4_gt(magnitude, i32x4_splat(0x7c00)), i32x4_splat(0x0040_0000));
    let is_special = i32x4_gt(magnitude, i32x4_splat(0x7bff));
    v128_or(sign, select(is_special, v128_or(special, quiet), number))
}

/// The `float16` next to float32, in the lower half of each lane; the upper half is zero.
#[inline(always)]
fn narrow_to_f16(x: v128) -> v128 {
    let magnitude = f32x4_abs(x);
    let sign = u32x4_shr(v128_xor(x, magnitude), 16);
    // Subnormal numbers of float16 count in units of 2^-24, as do numbers from 1/2 to 1 of float32.
    let half = f32x4_splat(0.5);
    let subnormal = i32x4_sub(f32x4_add(magnitude, half), half);
    // The exponent less 112, and what rounds to nearest-even as the 13 bits are dropped.
    let odd = v128_and(u32x4_shr(magnitude, 13), i32x4_splat(1));
    let rounds = i32x4_add(odd, i32x4_splat(0xfff - (112 << 23)));
    let normal = u32x4_shr(i32x4_add(magnitude, rounds), 13);
    let finite = select(i32x4_lt(magnitude, i32x4_splat(113 << 23)), subnormal, normal);
    let payload = v128_and(u32x4_shr(magnitude, 13), i32x4_splat(0x3ff));
    let nan = v128_or(payload, i32x4_splat(0x7e00));
    let is_nan = i32x4_gt(magnitude, i32x4_splat(0x7f80_0000));
    let special = select(is_nan, nan, i32x4_splat(0x7c00));
    let is_special = i32x4_gt(magnitude, i32x4_splat(65_536_f32.to_bits() as i32 - 1));
    v128_or(sign, select(is_special, special, finite))
}

impl Simd for Simd128 {
    type I8 = v128;
    type I16 = v128;
    type I32 = v128;
    type I64 = v128;
    type F32 = v128;
    type F64 = v128;
    type Table = [v128; 2];
    type M32 = v128;
    type M64 = v128;
    const BYTES: usize = 16;
    const GROUPS: usize = 1;
    const INVALID_IS_MIN: bool = false;
    const ROUNDS_F16: bool = false;
    const FUSES: bool = false;
    // Three on x86, but the logic on masks would subtract NaN for its bits.
    const SELECTS_IN_ONE: bool = true;
    const MAX_NUMBER_IN_ONE: bool = true;

    #[inline(always)]
    fn vectorize<R>(self, f: impl FnOnce() -> R) -> R {
        // The whole program is compiled with the level's features.
        f()
    }

    memory! {
        load_i8 store_i8;
        load_i16 store_i16;
        load_i32 store_i32;
        load_i64 store_i64;
        load_f32 store_f32;
        load_f64 store_f64;
    }
    memory! {
        widen load_i8_to_i16 = i16x8_load_extend_i8x8;
        widen load_u8_to_i16 = i16x8_load_extend_u8x8;
        widen load_i8_to_i64 = v128_load16_splat i16x8_extend_low_i8x16 i32x4_extend_low_i16x8 i64x2_extend_low_i32x4;
        widen load_u8_to_i64 = v128_load16_splat u16x8_extend_low_u8x16 u32x4_extend_low_u16x8 u64x2_extend_low_u32x4;
        widen load_i16_to_i64 = v128_load32_zero i32x4_extend_low_i16x8 i64x2_extend_low_i32x4;
        widen load_u16_to_i64 = v128_load32_zero u32x4_extend_low_u16x8 u64x2_extend_low_u32x4;
        widen load_i32_to_i64 = i64x2_load_extend_i32x2;
        widen load_u32_to_i64 = i64x2_load_extend_u32x2;
    }

    // One load for the units that share a register: the compiler sees that they are the same.

    #[inline(always)]
    unsafe fn load_i8_to_i32<const UNIT: usize>(self, p: *const u8) -> v128 {
        // SAFETY: the caller vouches for the group, which is one register.
        let group = unsafe { self.load_i8(p) };
        let half =
            if UNIT < 2 { i16x8_extend_low_i8x16(group) } else { i16x8_extend_high_i8x16(group) };
        if UNIT.is_multiple_of(2) {
            i32x4_extend_low_i16x8(half)
        } else {
            i32x4_extend_high_i16x8(half)
        }
    }

    #[inline(always)]
    unsafe fn load_u8_to_i32<const UNIT: usize>(self, p: *const u8) -> v128 {
        // SAFETY: as above.
        let group = unsafe { self.load_i8(p) };
        let half =
            if UNIT < 2 { u16x8_extend_low_u8x16(group) } else { u16x8_extend_high_u8x16(group) };
        if UNIT.is_multiple_of(2) {
            u32x4_extend_low_u16x8(half)
        } else {
            u32x4_extend_high_u16x8(half)
        }
    }

    #[inline(always)]
    unsafe fn load_i16_to_i32<const UNIT: usize>(self, p: *const u8) -> v128 {
        // SAFETY: the caller vouches for the group.
        let half = unsafe { load_half::<UNIT>(p) };
        if UNIT.is_multiple_of(2) {
            i32x4_extend_low_i16x8(half)
        } else {
            i32x4_extend_high_i16x8(half)
        }
    }

    #[inline(always)]
    unsafe fn load_u16_to_i32<const UNIT: usize>(self, p: *const u8) -> v128 {
        // SAFETY: as above.
        let half = unsafe { load_half::<UNIT>(p) };
        if UNIT.is_multiple_of(2) {
            u32x4_extend_low_u16x8(half)
        } else {
            u32x4_extend_high_u16x8(half)
        }
    }

    #[inline(always)]
    unsafe fn load_f16_to_f32<const UNIT: usize>(self, p: *const u8) -> v128 {
        // SAFETY: the caller vouches for the group.
        widen_f16(unsafe { self.load_u16_to_i32::<UNIT>(p) })
    }

    instructions! {
        splat_i8(x: i8) = i8x16_splat;
        splat_i16(x: i16) = i16x8_splat;
        splat_i32(x: i32) = i32x4_splat;
        splat_i64(x: i64) = i64x2_splat;
        splat_f32(x: f32) = f32x4_splat;
        splat_f64(x: f64) = f64x2_splat;
    }

    instructions! {
        add_f32(a, b) = f32x4_add;
        sub_f32(a, b) = f32x4_sub;
        mul_f32(a, b) = f32x4_mul;
        div_f32(a, b) = f32x4_div;
        min_f32(a, b) = f32x4_pmin;
        max_f32(a, b) = f32x4_pmax;
        abs_f32(a) = f32x4_abs;
        eq_f32(a, b) = f32x4_eq;
        lt_f32(a, b) = f32x4_lt;
        le_f32(a, b) = f32x4_le;

        add_f64(a, b) = f64x2_add;
        sub_f64(a, b) = f64x2_sub;
        mul_f64(a, b) = f64x2_mul;
        div_f64(a, b) = f64x2_div;
        min_f64(a, b) = f64x2_pmin;
        max_f64(a, b) = f64x2_pmax;
        abs_f64(a) = f64x2_abs;
        eq_f64(a, b) = f64x2_eq;
        lt_f64(a, b) = f64x2_lt;
        le_f64(a, b) = f64x2_le;

        and_m32(a, b) = v128_and;
        or_m32(a, b) = v128_or;
        and_m64(a, b) = v128_and;

        sub_i8(a, b) = i8x16_sub;
        and_i8(a, b) = v128_and;
        or_i8(a, b) = v128_or;
        xor_i8(a, b) = v128_xor;
        min_i8(a, b) = i8x16_min;
        max_i8(a, b) = i8x16_max;
        min_u8(a, b) = u8x16_min;
        max_u8(a, b) = u8x16_max;

        add_i16(a, b) = i16x8_add;
        sub_i16(a, b) = i16x8_sub;
        and_i16(a, b) = v128_and;
        or_i16(a, b) = v128_or;
        xor_i16(a, b) = v128_xor;
        min_i16(a, b) = i16x8_min;
        max_i16(a, b) = i16x8_max;
        min_u16(a, b) = u16x8_min;
        max_u16(a, b) = u16x8_max;
        mul_i16(a, b) = i16x8_mul;

        add_i32(a, b) = i32x4_add;
        sub_i32(a, b) = i32x4_sub;
        mul_i32(a, b) = i32x4_mul;
        and_i32(a, b) = v128_and;
        or_i32(a, b) = v128_or;
        xor_i32(a, b) = v128_xor;
        min_i32(a, b) = i32x4_min;
        max_i32(a, b) = i32x4_max;
        min_u32(a, b) = u32x4_min;
        max_u32(a, b) = u32x4_max;
        eq_i32(a, b) = i32x4_eq;
        lt_i32(a, b) = i32x4_lt;

        add_i64(a, b) = i64x2_add;
        sub_i64(a, b) = i64x2_sub;
        and_i64(a, b) = v128_and;
        or_i64(a, b) = v128_or;
        xor_i64(a, b) = v128_xor;
        eq_i64(a, b) = i64x2_eq;
        lt_i64(a, b) = i64x2_lt;

        i32_to_f32(a) = f32x4_convert_i32x4;

        pack_i32_to_i16(a, b) = i16x8_narrow_i32x4;
        pack_i32_to_u16(a, b) = u16x8_narrow_i32x4;
        pack_i16_to_i8(a, b) = i8x16_narrow_i16x8;
        pack_i16_to_u8(a, b) = u8x16_narrow_i16x8;
    }

    bitwise! { same bits_f32 f32_from_bits bits_f64 f64_from_bits mask_to_i32 mask_to_i64 }
    bitwise! { same order_i16 order_i8 unscramble_two_packs }
    bitwise! { any any_m32 any_m64 nonzero_i8 nonzero_i16 nonzero_i32 nonzero_i64 }
    bitwise! { andnot andnot_m32 andnot_m64 andnot_i32 andnot_i64 }
    bitwise! { select select_f32 select_f64 select_i32 select_i64 }

    #[inline(always)]
    fn fma_f32(self, a: v128, b: v128, c: v128) -> v128 {
        f32x4_add(f32x4_mul(a, b), c)
    }

    #[inline(always)]
    fn nfma_f32(self, a: v128, b: v128, c: v128) -> v128 {
        f32x4_sub(c, f32x4_mul(a, b))
    }

    #[inline(always)]
    fn max_number_f32(self, a: v128, b: v128) -> v128 {
        f32x4_pmax(b, a)
    }

    #[inline(always)]
    fn min_number_f32(self, a: v128, b: v128) -> v128 {
        f32x4_pmin(b, a)
    }

    #[inline(always)]
    fn is_nan_f32(self, a: v128) -> v128 {
        f32x4_ne(a, a)
    }

    #[inline(always)]
    fn round_f32(self, a: v128, rounding: impl Round) -> v128 {
        match rounding.rounding() {
            Rounding::NearestEven => f32x4_nearest(a),
            Rounding::TowardsZero => f32x4_trunc(a),
            Rounding::TowardsPositive => f32x4_ceil(a),
            Rounding::TowardsNegative => f32x4_floor(a),
            Rounding::NearestAway => {
                let sign = v128_and(a, f32x4_splat(-0.0));
                let half = v128_or(sign, f32x4_splat(0.5_f32.next_down()));
                f32x4_trunc(f32x4_add(a, half))
            }
        }
    }

    #[inline(always)]
    fn fma_f64(self, a: v128, b: v128, c: v128) -> v128 {
        f64x2_add(f64x2_mul(a, b), c)
    }

    #[inline(always)]
    fn nfma_f64(self, a: v128, b: v128, c: v128) -> v128 {
        f64x2_sub(c, f64x2_mul(a, b))
    }

    #[inline(always)]
    fn max_number_f64(self, a: v128, b: v128) -> v128 {
        f64x2_pmax(b, a)
    }

    #[inline(always)]
    fn min_number_f64(self, a: v128, b: v128) -> v128 {
        f64x2_pmin(b, a)
    }

    #[inline(always)]
    fn is_nan_f64(self, a: v128) -> v128 {
        f64x2_ne(a, a)
    }

    #[inline(always)]
    fn round_f64(self, a: v128, rounding: impl Round) -> v128 {
        match rounding.rounding() {
            Rounding::NearestEven => f64x2_nearest(a),
            Rounding::TowardsZero => f64x2_trunc(a),
            Rounding::TowardsPositive => f64x2_ceil(a),
            Rounding::TowardsNegative => f64x2_floor(a),
            Rounding::NearestAway => {
                let sign = v128_and(a, f64x2_splat(-0.0));
                let half = v128_or(sign, f64x2_splat(0.5_f64.next_down()));
                f64x2_trunc(f64x2_add(a, half))
            }
        }
    }

    #[inline(always)]
    fn mask_false(self) -> v128 {
        i32x4_splat(0)
    }

    #[inline(always)]
    fn select_eq_i8(self, x: v128, key: v128, a: v128, b: v128) -> v128 {
        select(i8x16_eq(x, key), a, b)
    }

    #[inline(always)]
    fn swap_bytes<const SIZE: usize>(self, a: v128) -> v128 {
        const { assert!(matches!(SIZE, 2 | 4 | 8), "an element of several bytes") };
        match SIZE {
            2 => i8x16_shuffle::<1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14>(a, a),
            4 => i8x16_shuffle::<3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12>(a, a),
            _ => i8x16_shuffle::<7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8>(a, a),
        }
    }

    #[inline(always)]
    fn select_eq_i16(self, x: v128, key: v128, a: v128, b: v128) -> v128 {
        select(i16x8_eq(x, key), a, b)
    }

    #[inline(always)]
    fn shl_i16_by(self, a: v128, count: u32) -> v128 {
        i16x8_shl(a, count)
    }

    #[inline(always)]
    fn shr_u16_by(self, a: v128, count: u32) -> v128 {
        u16x8_shr(a, count)
    }

    #[inline(always)]
    fn table_i16(self, v: [i16; 8]) -> v128 {
        i16x8(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7])
    }

    #[inline(always)]
    fn look_up_i16(self, table: v128, numbers: v128) -> v128 {
        // The numbers of the two bytes of each value.
        let first = i16x8_mul(numbers, i16x8_splat(0x0202));
        i8x16_swizzle(table, i16x8_add(first, i16x8_splat(0x0100)))
    }

    #[inline(always)]
    fn table_i32(self, v: [i32; 8]) -> [v128; 2] {
        [i32x4(v[0], v[1], v[2], v[3]), i32x4(v[4], v[5], v[6], v[7])]
    }

    #[inline(always)]
    fn look_up_i32(self, [low, high]: [v128; 2], numbers: v128) -> v128 {
        // The numbers of the four bytes of each value. What is beyond a register is 0.
        let first = i32x4_mul(numbers, i32x4_splat(0x0404_0404));
        let bytes = i32x4_add(first, i32x4_splat(0x0302_0100));
        let beyond = i8x16_sub(bytes, i8x16_splat(16));
        v128_or(i8x16_swizzle(low, bytes), i8x16_swizzle(high, beyond))
    }

    #[inline(always)]
    fn shl_i32<const N: i32>(self, a: v128) -> v128 {
        i32x4_shl(a, N as u32)
    }

    #[inline(always)]
    fn shr_u32<const N: i32>(self, a: v128) -> v128 {
        u32x4_shr(a, N as u32)
    }

    #[inline(always)]
    fn shr_i32<const N: i32>(self, a: v128) -> v128 {
        i32x4_shr(a, N as u32)
    }

    #[inline(always)]
    fn shl_i32_by(self, a: v128, count: u32) -> v128 {
        i32x4_shl(a, count)
    }

    #[inline(always)]
    fn shr_u32_by(self, a: v128, count: u32) -> v128 {
        u32x4_shr(a, count)
    }

    #[inline(always)]
    fn shr_u64<const N: i32>(self, a: v128) -> v128 {
        u64x2_shr(a, N as u32)
    }

    #[inline(always)]
    fn f32_to_i32(self, a: v128, rounding: impl Round) -> v128 {
        i32x4_trunc_sat_f32x4(match rounding.rounding() {
            Rounding::TowardsZero => a, // as the conversion does
            _ => self.round_f32(a, rounding),
        })
    }

    #[inline(always)]
    fn f64_to_i32(self, [a, b]: [v128; 2], rounding: impl Round) -> v128 {
        let (a, b) = match rounding.rounding() {
            Rounding::TowardsZero => (a, b), // as above
            _ => (self.round_f64(a, rounding), self.round_f64(b, rounding)),
        };
        let (low, high) = (i32x4_trunc_sat_f64x2_zero(a), i32x4_trunc_sat_f64x2_zero(b));
        i64x2_shuffle::<0, 2>(low, high)
    }

    #[inline(always)]
    fn integral_f64_to_i64(self, a: v128) -> v128 {
        self.integral_f64_to_u64(a)
    }

    #[inline(always)]
    fn integral_f64_to_u64(self, a: v128) -> v128 {
        // The high and the low 32 bits are each read from the mantissa of a sum; all is exact.
        let high = f64x2_floor(f64x2_mul(a, f64x2_splat(1.0 / 4_294_967_296.0)));
        let low = f64x2_sub(a, f64x2_mul(high, f64x2_splat(4_294_967_296.0)));
        let high = f64x2_add(high, f64x2_splat(6_755_399_441_055_744.0));
        let low = f64x2_add(low, i64x2_splat(TWO_P52));
        i32x4_shuffle::<0, 4, 2, 6>(low, high)
    }

    #[inline(always)]
    fn i32_to_f64(self, a: v128) -> [v128; 2] {
        [f64x2_convert_low_i32x4(a), f64x2_convert_low_i32x4(upper_two(a))]
    }

    #[inline(always)]
    fn u32_to_f64(self, a: v128) -> [v128; 2] {
        [f64x2_convert_low_u32x4(a), f64x2_convert_low_u32x4(upper_two(a))]
    }

    #[inline(always)]
    fn i64_to_f64(self, a: v128) -> v128 {
        let low = i32x4_shuffle::<0, 5, 2, 7>(a, i64x2_splat(TWO_P52));
        let high = v128_xor(u64x2_shr(a, 32), i64x2_splat(TWO_P84_P63));
        f64x2_add(f64x2_sub(high, f64x2_splat(TWO_P84_P63_P52)), low)
    }

    #[inline(always)]
    fn u64_to_f64(self, a: v128) -> v128 {
        let low = i32x4_shuffle::<0, 5, 2, 7>(a, i64x2_splat(TWO_P52));
        let high = v128_or(u64x2_shr(a, 32), i64x2_splat(TWO_P84));
        f64x2_add(f64x2_sub(high, f64x2_splat(TWO_P84_P52)), low)
    }

    #[inline(always)]
    fn f16_to_f32(self, a: v128) -> [v128; 2] {
        [widen_f16(u32x4_extend_low_u16x8(a)), widen_f16(u32x4_extend_high_u16x8(a))]
    }

    #[inline(always)]
    fn f32_to_f64(self, a: v128) -> [v128; 2] {
        let low = promote(a, i64x2_extend_low_i32x4(a));
        [low, promote(upper_two(a), i64x2_extend_high_i32x4(a))]
    }

    #[inline(always)]
    fn f64_to_f32(self, [a, b]: [v128; 2]) -> v128 {
        let (low, high) = (f32x4_demote_f64x2_zero(a), f32x4_demote_f64x2_zero(b));
        let number = i64x2_shuffle::<0, 2>(low, high);
        // The leading bits of the mantissa below an exponent of ones, and the sign.
        let payload = low_halves(u64x2_shr(a, 29), u64x2_shr(b, 29));
        let magnitude = v128_or(payload, i32x4_splat(0x7fc0_0000));
        let nan = select(i32x4_splat(i32::MIN), high_halves(a, b), magnitude);
        select(f32x4_ne(number, number), nan, number)
    }

    #[inline(always)]
    fn f32_to_f16(self, a: v128, b: v128, _: impl Round) -> v128 {
        u16x8_narrow_i32x4(narrow_to_f16(a), narrow_to_f16(b))
    }

    #[inline(always)]
    fn i32_to_i64(self, a: v128) -> [v128; 2] {
        [i64x2_extend_low_i32x4(a), i64x2_extend_high_i32x4(a)]
    }

    #[inline(always)]
    fn low_i64_to_i32(self, [a, b]: [v128; 2]) -> v128 {
        low_halves(a, b)
    }

    #[inline(always)]
    fn saturate_i64_to_i32(self, [a, b]: [v128; 2]) -> v128 {
        let (low, high) = (low_halves(a, b), high_halves(a, b));
        let fits = i32x4_eq(high, i32x4_shr(low, 31));
        let bound = v128_xor(i32x4_shr(high, 31), i32x4_splat(i32::MAX));
        select(fits, low, bound)
    }

    #[inline(always)]
    fn saturate_u64_to_u32(self, [a, b]: [v128; 2]) -> v128 {
        // All ones where bits of the upper half are set.
        v128_or(low_halves(a, b), i32x4_ne(high_halves(a, b), i32x4_splat(0)))
    }

    #[inline(always)]
    fn low_i32_to_i8(self, [a, b, c, d]: [v128; 4]) -> v128 {
        self.low_i16_to_i8(self.low_i32_to_i16(a, b), self.low_i32_to_i16(c, d))
    }

    #[inline(always)]
    fn low_i32_to_i16(self, a: v128, b: v128) -> v128 {
        i16x8_shuffle::<0, 2, 4, 6, 8, 10, 12, 14>(a, b)
    }

    #[inline(always)]
    fn high_i32_to_i16(self, a: v128, b: v128) -> v128 {
        i16x8_shuffle::<1, 3, 5, 7, 9, 11, 13, 15>(a, b)
    }

    #[inline(always)]
    fn low_i16_to_i8(self, a: v128, b: v128) -> v128 {
        i8x16_shuffle::<0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30>(a, b)
    }
}

impl LookUpBytes for Simd128 {
    type ByteTable = [v128; 16];

    #[inline(always)]
    fn byte_table(self, values: &[u8; 256]) -> [v128; 16] {
        let (rows, _) = values.as_chunks::<16>();
        core::array::from_fn(|row| {
            // SAFETY: a row has the bytes of a register.
            unsafe { self.load_i8(rows[row].as_ptr()) }
        })
    }

    #[inline(always)]
    fn look_up_i8(self, table: [v128; 16], numbers: v128) -> v128 {
        let mut at = numbers;
        let mut found = i8x16_swizzle(table[0], at);
        for row in &table[1..] {
            // 0 where the number is in another row.
            at = i8x16_sub(at, i8x16_splat(16));
            found = v128_or(found, i8x16_swizzle(*row, at));
        }
        found
    }
}

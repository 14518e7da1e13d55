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
    f64x2_splat, f64x2_sub, f64x2_trunc, i8x16_add, i8x16_eq, i8x16_lt, i8x16_max, i8x16_min,
    i8x16_narrow_i16x8, i8x16_shuffle, i8x16_splat, i8x16_sub, i8x16_swizzle, i16x8, i16x8_add,
    i16x8_eq, i16x8_extend_high_i8x16, i16x8_extend_low_i8x16, i16x8_load_extend_i8x8,
    i16x8_load_extend_u8x8, i16x8_lt, i16x8_max, i16x8_min, i16x8_mul, i16x8_narrow_i32x4,
    i16x8_shl, i16x8_shuffle, i16x8_splat, i16x8_sub, i32x4, i32x4_add, i32x4_eq,
    i32x4_extend_high_i16x8, i32x4_extend_low_i16x8, i32x4_gt, i32x4_lt, i32x4_max, i32x4_min,
    i32x4_mul, i32x4_ne, i32x4_shl, i32x4_shr, i32x4_shuffle, i32x4_splat, i32x4_sub,
    i32x4_trunc_sat_f32x4, i32x4_trunc_sat_f64x2_zero, i64x2_add, i64x2_eq,
    i64x2_extend_high_i32x4, i64x2_extend_low_i32x4, i64x2_load_extend_i32x2,
    i64x2_load_extend_u32x2, i64x2_lt, i64x2_shl, i64x2_shuffle, i64x2_splat, i64x2_sub, u8x16_max,
    u8x16_min, u8x16_narrow_i16x8, u16x8_extend_high_u8x16, u16x8_extend_low_u8x16, u16x8_max,
    u16x8_min, u16x8_narrow_i32x4, u16x8_shr, u32x4_extend_high_u16x8, u32x4_extend_low_u16x8,
    u32x4_max, u32x4_min, u32x4_shr, u64x2_extend_high_u32x4, u64x2_extend_low_u32x4, u64x2_shr,
    v128, v128_and, v128_andnot, v128_any_true, v128_load, v128_load16_splat, v128_load32_zero,
    v128_or, v128_store, v128_xor,
};

use super::bytes16::{WidenHalf, widening_by_halves};
use super::lanes::{CompareLanes, FloatLanes, IntLanes, Lanes, MaskLanes, ShiftLanes, TableLanes};
use super::{
    F32s, F64, F64s, Float, I8s, I16s, I32s, I64, I64s, LookUpBytes, Pair, Register, Round, Simd,
    shared,
};
use crate::Rounding;
use crate::stages::{Kernel, RunKernel, run_kernel};

/// The token.
#[derive(Clone, Copy)]
pub(crate) struct Simd128;

/// Operations that are one instruction.
macro_rules! instructions {
    ($($name:ident($($a:ident),*) = $instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, $($a: v128),*) -> v128 {
            $instruction($($a),*)
        }
    )*};
}

/// Lanes of one type: how they are filled, added, subtracted and compared. A mask is lanes of zeros and ones.
macro_rules! lanes {
    ($($t:ident $splat:ident $add:ident $sub:ident $eq:ident $lt:ident;)*) => {$(
        // SAFETY: `Raw` is the register that each instruction loads or stores whole.
        unsafe impl Lanes<$t> for Simd128 {
            type Raw = v128;
            #[inline(always)]
            unsafe fn load(self, p: *const u8) -> v128 {
                // SAFETY: the caller vouches for the memory, and any alignment will do.
                unsafe { v128_load(p.cast()) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut u8, x: v128) {
                // SAFETY: as above.
                unsafe { v128_store(p.cast(), x) }
            }
            #[inline(always)]
            fn splat(self, x: $t) -> v128 {
                $splat(x)
            }
            instructions! {
                add(a, b) = $add;
                sub(a, b) = $sub;
            }
        }

        impl CompareLanes<$t> for Simd128 {
            instructions! {
                eq(a, b) = $eq;
                lt(a, b) = $lt;
                select(mask, a, b) = select;
            }
        }
    )*};
}

lanes! {
    i8 i8x16_splat i8x16_add i8x16_sub i8x16_eq i8x16_lt;
    i16 i16x8_splat i16x8_add i16x8_sub i16x8_eq i16x8_lt;
    i32 i32x4_splat i32x4_add i32x4_sub i32x4_eq i32x4_lt;
    i64 i64x2_splat i64x2_add i64x2_sub i64x2_eq i64x2_lt;
    f32 f32x4_splat f32x4_add f32x4_sub f32x4_eq f32x4_lt;
    f64 f64x2_splat f64x2_add f64x2_sub f64x2_eq f64x2_lt;
}

/// Integers of one width, and masks of it.
macro_rules! int_lanes {
    ($($t:ident $min:path, $min_u:path, $max:path, $max_u:path;)*) => {$(
        impl IntLanes<$t> for Simd128 {
            instructions! {
                and(a, b) = v128_and;
                or(a, b) = v128_or;
                xor(a, b) = v128_xor;
                and_not(a, b) = v128_andnot;
            }
            #[inline(always)]
            fn min<const SIGNED: bool>(self, a: v128, b: v128) -> v128 {
                if SIGNED { $min(a, b) } else { $min_u(a, b) }
            }
            #[inline(always)]
            fn max<const SIGNED: bool>(self, a: v128, b: v128) -> v128 {
                if SIGNED { $max(a, b) } else { $max_u(a, b) }
            }
            #[inline(always)]
            fn is_nonzero(self, a: v128) -> bool {
                v128_any_true(a)
            }
        }

        impl MaskLanes<$t> for Simd128 {
            type Mask = v128;
            instructions! {
                mask_and(a, b) = v128_and;
                mask_or(a, b) = v128_or;
                mask_and_not(a, b) = v128_andnot;
            }
            #[inline(always)]
            fn mask_any(self, mask: v128) -> bool {
                v128_any_true(mask)
            }
            #[inline(always)]
            fn mask_to_int(self, mask: v128) -> v128 {
                mask
            }
        }
    )*};
}

int_lanes! {
    i8 i8x16_min, u8x16_min, i8x16_max, u8x16_max;
    i16 i16x8_min, u16x8_min, i16x8_max, u16x8_max;
    i32 i32x4_min, u32x4_min, i32x4_max, u32x4_max;
    i64 min_i64::<true>, min_i64::<false>, max_i64::<true>, max_i64::<false>;
}

#[inline(always)]
fn min_i64<const SIGNED: bool>(a: v128, b: v128) -> v128 {
    shared::min_i64::<_, SIGNED>(Simd128, a, b)
}

#[inline(always)]
fn max_i64<const SIGNED: bool>(a: v128, b: v128) -> v128 {
    shared::max_i64::<_, SIGNED>(Simd128, a, b)
}

/// Shifts of lanes of one width.
macro_rules! shifts {
    ($($t:ident $shl:ident $shr:ident;)*) => {$(
        impl ShiftLanes<$t> for Simd128 {
            #[inline(always)]
            fn shl<const N: i32>(self, a: v128) -> v128 {
                $shl(a, N as u32)
            }
            #[inline(always)]
            fn shr<const N: i32>(self, a: v128) -> v128 {
                $shr(a, N as u32)
            }
        }
    )*};
}

shifts! {
    i32 i32x4_shl u32x4_shr;
    i64 i64x2_shl u64x2_shr;
}

impl TableLanes<i16> for Simd128 {
    type Table = v128;
    instructions! {
        mul(a, b) = i16x8_mul;
    }
    #[inline(always)]
    fn shl_by(self, a: v128, count: u32) -> v128 {
        i16x8_shl(a, count)
    }
    #[inline(always)]
    fn shr_by(self, a: v128, count: u32) -> v128 {
        u16x8_shr(a, count)
    }
    #[inline(always)]
    fn table(self, v: [i16; 8]) -> v128 {
        i16x8(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7])
    }
    #[inline(always)]
    fn look_up(self, table: v128, numbers: v128) -> v128 {
        // The numbers of the two bytes of each value.
        let first = i16x8_mul(numbers, i16x8_splat(0x0202));
        i8x16_swizzle(table, i16x8_add(first, i16x8_splat(0x0100)))
    }
}

impl TableLanes<i32> for Simd128 {
    type Table = [v128; 2];
    instructions! {
        mul(a, b) = i32x4_mul;
    }
    #[inline(always)]
    fn shl_by(self, a: v128, count: u32) -> v128 {
        i32x4_shl(a, count)
    }
    #[inline(always)]
    fn shr_by(self, a: v128, count: u32) -> v128 {
        u32x4_shr(a, count)
    }
    #[inline(always)]
    fn table(self, v: [i32; 8]) -> [v128; 2] {
        [i32x4(v[0], v[1], v[2], v[3]), i32x4(v[4], v[5], v[6], v[7])]
    }
    #[inline(always)]
    fn look_up(self, [low, high]: [v128; 2], numbers: v128) -> v128 {
        // The numbers of the four bytes of each value. A number beyond a register gives 0.
        let first = i32x4_mul(numbers, i32x4_splat(0x0404_0404));
        let bytes = i32x4_add(first, i32x4_splat(0x0302_0100));
        let beyond = i8x16_sub(bytes, i8x16_splat(16));
        v128_or(i8x16_swizzle(low, bytes), i8x16_swizzle(high, beyond))
    }
}

/// Floats of one width.
macro_rules! floats {
    ($($t:ident $mul:ident $div:ident $add:ident $sub:ident $min:ident $max:ident $abs:ident $le:ident $ne:ident
        $nearest:ident $trunc:ident $ceil:ident $floor:ident;)*) => {$(
        impl FloatLanes<$t> for Simd128 {
            instructions! {
                mul(a, b) = $mul;
                div(a, b) = $div;
                min(a, b) = $min;
                max(a, b) = $max;
                abs(a) = $abs;
                le(a, b) = $le;
            }
            #[inline(always)]
            fn mul_add(self, a: v128, b: v128, c: v128) -> v128 {
                $add($mul(a, b), c)
            }
            #[inline(always)]
            fn neg_mul_add(self, a: v128, b: v128, c: v128) -> v128 {
                $sub(c, $mul(a, b))
            }
            #[inline(always)]
            fn min_number(self, a: v128, b: v128) -> v128 {
                $min(b, a)
            }
            #[inline(always)]
            fn max_number(self, a: v128, b: v128) -> v128 {
                $max(b, a)
            }
            #[inline(always)]
            fn is_nan(self, a: v128) -> v128 {
                $ne(a, a)
            }
            #[inline(always)]
            fn to_bits(self, a: v128) -> v128 {
                a
            }
            #[inline(always)]
            fn with_bits(self, bits: v128) -> v128 {
                bits
            }
            #[inline(always)]
            fn round(self, a: v128, rounding: impl Round) -> v128 {
                match rounding.rounding() {
                    Rounding::NearestEven => $nearest(a),
                    Rounding::TowardsZero => $trunc(a),
                    Rounding::TowardsPositive => $ceil(a),
                    Rounding::TowardsNegative => $floor(a),
                    Rounding::NearestAway => shared::round_away::<_, $t>(self, a),
                }
            }
        }
    )*};
}

floats! {
    f32 f32x4_mul f32x4_div f32x4_add f32x4_sub f32x4_pmin f32x4_pmax f32x4_abs f32x4_le f32x4_ne
        f32x4_nearest f32x4_trunc f32x4_ceil f32x4_floor;
    f64 f64x2_mul f64x2_div f64x2_add f64x2_sub f64x2_pmin f64x2_pmax f64x2_abs f64x2_le f64x2_ne
        f64x2_nearest f64x2_trunc f64x2_ceil f64x2_floor;
}

/// `a` where the mask is set, else `b`; written out, so that the compiler sees the effect of a zero on one side.
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
    // The exponent less 112, and the number that rounds to nearest-even as the 13 bits are dropped.
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

impl WidenHalf for Simd128 {
    #[inline(always)]
    fn widen_i8<const SIGNED: bool, const HIGH: bool>(self, a: v128) -> v128 {
        match (SIGNED, HIGH) {
            (true, false) => i16x8_extend_low_i8x16(a),
            (true, true) => i16x8_extend_high_i8x16(a),
            (false, false) => u16x8_extend_low_u8x16(a),
            (false, true) => u16x8_extend_high_u8x16(a),
        }
    }

    #[inline(always)]
    fn widen_i16<const SIGNED: bool, const HIGH: bool>(self, a: v128) -> v128 {
        match (SIGNED, HIGH) {
            (true, false) => i32x4_extend_low_i16x8(a),
            (true, true) => i32x4_extend_high_i16x8(a),
            (false, false) => u32x4_extend_low_u16x8(a),
            (false, true) => u32x4_extend_high_u16x8(a),
        }
    }

    #[inline(always)]
    fn widen_i32<const SIGNED: bool, const HIGH: bool>(self, a: v128) -> v128 {
        match (SIGNED, HIGH) {
            (true, false) => i64x2_extend_low_i32x4(a),
            (true, true) => i64x2_extend_high_i32x4(a),
            (false, false) => u64x2_extend_low_u32x4(a),
            (false, true) => u64x2_extend_high_u32x4(a),
        }
    }
}

// SAFETY: `Raw` is a register for every type of lanes; the token is proof of the features; loads are of so many elements.
unsafe impl Simd for Simd128 {
    const BYTES: usize = 16;
    const GROUPS: usize = 1;
    const INVALID_IS_MIN: bool = false;
    const ROUNDS_F16: bool = false;
    const FUSES: bool = false;
    // Three on x86, but the logic on masks would subtract NaN for its bits.
    const SELECTS_IN_ONE: bool = true;
    const MAX_NUMBER_IN_ONE: bool = true;
    const PACKS_HALVES: bool = false;

    fn vectorize<K: Kernel>(self) -> RunKernel {
        // The whole program is compiled with the level's features.
        run_kernel::<K>
    }

    widening_by_halves!();

    #[inline(always)]
    unsafe fn load_i8_to_i16<const SIGNED: bool>(self, p: *const u8) -> I16s<Self> {
        let wide = if SIGNED {
            // SAFETY: the caller vouches for the memory, and any alignment will do.
            unsafe { i16x8_load_extend_i8x8(p.cast()) }
        } else {
            // SAFETY: as above.
            unsafe { i16x8_load_extend_u8x8(p) }
        };
        Register::new(self, wide)
    }

    #[inline(always)]
    unsafe fn load_i8_to_i64<const SIGNED: bool>(self, p: *const u8) -> I64<Self> {
        // SAFETY: the caller vouches for the memory, and any alignment will do.
        let narrow = unsafe { v128_load16_splat(p.cast()) };
        let wider = self.widen_i16::<SIGNED, false>(self.widen_i8::<SIGNED, false>(narrow));
        Register::new(self, self.widen_i32::<SIGNED, false>(wider))
    }

    #[inline(always)]
    unsafe fn load_i16_to_i64<const SIGNED: bool>(self, p: *const u8) -> I64<Self> {
        // SAFETY: as above.
        let narrow = unsafe { v128_load32_zero(p.cast()) };
        Register::new(
            self,
            self.widen_i32::<SIGNED, false>(self.widen_i16::<SIGNED, false>(narrow)),
        )
    }

    #[inline(always)]
    unsafe fn load_i32_to_i64<const SIGNED: bool>(self, p: *const u8) -> I64<Self> {
        let wide = if SIGNED {
            // SAFETY: as above.
            unsafe { i64x2_load_extend_i32x2(p.cast()) }
        } else {
            // SAFETY: as above.
            unsafe { i64x2_load_extend_u32x2(p.cast()) }
        };
        Register::new(self, wide)
    }

    #[inline(always)]
    unsafe fn load_f16_to_f32<const UNIT: usize>(self, p: *const u8) -> F32s<Self> {
        // SAFETY: the caller vouches for the group.
        let bits = unsafe { self.load_i16_to_i32::<false, UNIT>(p) };
        Register::new(self, widen_f16(bits.raw))
    }

    #[inline(always)]
    fn swap_bytes<const SIZE: usize>(self, a: I8s<Self>) -> I8s<Self> {
        const { assert!(matches!(SIZE, 2 | 4 | 8), "an element of several bytes") };
        let a = a.raw;
        let swapped = match SIZE {
            2 => i8x16_shuffle::<1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14>(a, a),
            4 => i8x16_shuffle::<3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12>(a, a),
            _ => i8x16_shuffle::<7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8>(a, a),
        };
        Register::new(self, swapped)
    }

    #[inline(always)]
    fn f32_to_i32(self, a: F32s<Self>, rounding: impl Round) -> I32s<Self> {
        let rounded = match rounding.rounding() {
            Rounding::TowardsZero => a, // as the conversion does
            _ => a.round(rounding),
        };
        Register::new(self, i32x4_trunc_sat_f32x4(rounded.raw))
    }

    #[inline(always)]
    fn f64_to_i32(self, a: F64s<Self>, rounding: impl Round) -> I32s<Self> {
        let Pair(low, high) = a.map(
            #[inline(always)]
            |a| {
                let rounded = match rounding.rounding() {
                    Rounding::TowardsZero => a, // as above
                    _ => a.round(rounding),
                };
                i32x4_trunc_sat_f64x2_zero(rounded.raw)
            },
        );
        Register::new(self, i64x2_shuffle::<0, 2>(low, high))
    }

    #[inline(always)]
    fn integral_f64_to_i64<const SIGNED: bool>(self, a: F64<Self>) -> I64<Self> {
        shared::integral_f64_to_i64(
            a,
            #[inline(always)]
            |low, high| Register::new(self, i32x4_shuffle::<0, 4, 2, 6>(low.raw, high.raw)),
        )
    }

    #[inline(always)]
    fn i32_to_f32(self, a: I32s<Self>) -> F32s<Self> {
        Register::new(self, f32x4_convert_i32x4(a.raw))
    }

    #[inline(always)]
    fn i32_to_f64<const SIGNED: bool>(self, a: I32s<Self>) -> F64s<Self> {
        Pair(a.raw, upper_two(a.raw)).map(
            #[inline(always)]
            |half| {
                let wide = if SIGNED {
                    f64x2_convert_low_i32x4(half)
                } else {
                    f64x2_convert_low_u32x4(half)
                };
                Register::new(self, wide)
            },
        )
    }

    #[inline(always)]
    fn i64_to_f64<const SIGNED: bool>(self, a: I64<Self>) -> F64<Self> {
        shared::i64_to_f64::<_, SIGNED>(
            a,
            self,
            #[inline(always)]
            |low, high| Register::new(self, i32x4_shuffle::<0, 5, 2, 7>(low.raw, high.raw)),
        )
    }

    #[inline(always)]
    fn f16_to_f32(self, a: I16s<Self>) -> [F32s<Self>; 2] {
        let low = widen_f16(u32x4_extend_low_u16x8(a.raw));
        let high = widen_f16(u32x4_extend_high_u16x8(a.raw));
        [Register::new(self, low), Register::new(self, high)]
    }

    #[inline(always)]
    fn f32_to_f64(self, a: F32s<Self>) -> F64s<Self> {
        let low = promote(a.raw, i64x2_extend_low_i32x4(a.raw));
        let high = promote(upper_two(a.raw), i64x2_extend_high_i32x4(a.raw));
        Pair(Register::new(self, low), Register::new(self, high))
    }

    #[inline(always)]
    fn f64_to_f32(self, Pair(a, b): F64s<Self>) -> F32s<Self> {
        let (a, b) = (a.raw, b.raw);
        let (low, high) = (f32x4_demote_f64x2_zero(a), f32x4_demote_f64x2_zero(b));
        let number = i64x2_shuffle::<0, 2>(low, high);
        // The leading bits of the mantissa below an exponent of ones, and the sign.
        let payload = low_halves(u64x2_shr(a, 29), u64x2_shr(b, 29));
        let magnitude = v128_or(payload, i32x4_splat(0x7fc0_0000));
        let nan = select(i32x4_splat(i32::MIN), high_halves(a, b), magnitude);
        Register::new(self, select(f32x4_ne(number, number), nan, number))
    }

    #[inline(always)]
    fn f32_to_f16(self, a: F32s<Self>, b: F32s<Self>, _: impl Round) -> I16s<Self> {
        Register::new(self, u16x8_narrow_i32x4(narrow_to_f16(a.raw), narrow_to_f16(b.raw)))
    }

    #[inline(always)]
    fn low_i64_to_i32(self, Pair(a, b): I64s<Self>) -> I32s<Self> {
        Register::new(self, low_halves(a.raw, b.raw))
    }

    #[inline(always)]
    fn saturate_i64_to_i32<const SIGNED: bool>(self, Pair(a, b): I64s<Self>) -> I32s<Self> {
        let (low, high) = (low_halves(a.raw, b.raw), high_halves(a.raw, b.raw));
        let saturated = if SIGNED {
            let fits = i32x4_eq(high, i32x4_shr(low, 31));
            let bound = v128_xor(i32x4_shr(high, 31), i32x4_splat(i32::MAX));
            select(fits, low, bound)
        } else {
            // All ones where bits of the upper half are set.
            v128_or(low, i32x4_ne(high, i32x4_splat(0)))
        };
        Register::new(self, saturated)
    }

    #[inline(always)]
    fn low_i32_to_i8(self, [a, b, c, d]: [I32s<Self>; 4]) -> I8s<Self> {
        self.low_i16_to_i8(self.low_i32_to_i16(a, b), self.low_i32_to_i16(c, d))
    }

    #[inline(always)]
    fn low_i32_to_i16(self, a: I32s<Self>, b: I32s<Self>) -> I16s<Self> {
        Register::new(self, i16x8_shuffle::<0, 2, 4, 6, 8, 10, 12, 14>(a.raw, b.raw))
    }

    #[inline(always)]
    fn high_i32_to_i16(self, a: I32s<Self>, b: I32s<Self>) -> I16s<Self> {
        Register::new(self, i16x8_shuffle::<1, 3, 5, 7, 9, 11, 13, 15>(a.raw, b.raw))
    }

    #[inline(always)]
    fn low_i16_to_i8(self, a: I16s<Self>, b: I16s<Self>) -> I8s<Self> {
        Register::new(
            self,
            i8x16_shuffle::<0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30>(
                a.raw, b.raw,
            ),
        )
    }

    #[inline(always)]
    fn pack_i32_to_i16<const SIGNED: bool>(self, a: I32s<Self>, b: I32s<Self>) -> I16s<Self> {
        let packed = if SIGNED {
            i16x8_narrow_i32x4(a.raw, b.raw)
        } else {
            u16x8_narrow_i32x4(a.raw, b.raw)
        };
        Register::new(self, packed)
    }

    #[inline(always)]
    fn pack_i16_to_i8<const SIGNED: bool>(self, a: I16s<Self>, b: I16s<Self>) -> I8s<Self> {
        let packed = if SIGNED {
            i8x16_narrow_i16x8(a.raw, b.raw)
        } else {
            u8x16_narrow_i16x8(a.raw, b.raw)
        };
        Register::new(self, packed)
    }
}

impl LookUpBytes for Simd128 {
    type ByteTable = [v128; 16];

    #[inline(always)]
    fn byte_table(self, values: &[u8; 256]) -> [v128; 16] {
        let (rows, _) = values.as_chunks::<16>();
        core::array::from_fn(|row| {
            // SAFETY: a row has the bytes of a register.
            unsafe { Lanes::<i8>::load(self, rows[row].as_ptr()) }
        })
    }

    #[inline(always)]
    fn look_up_i8(self, table: [v128; 16], numbers: I8s<Self>) -> I8s<Self> {
        let mut at = numbers.raw;
        let mut found = i8x16_swizzle(table[0], at);
        for row in &table[1..] {
            // 0 where the number is in another row.
            at = i8x16_sub(at, i8x16_splat(16));
            found = v128_or(found, i8x16_swizzle(*row, at));
        }
        Register::new(self, found)
    }
}

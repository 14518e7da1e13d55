//! Advanced SIMD (NEON) of aarch64: registers of 16 bytes. Packing keeps the order.

use core::arch::aarch64::{
    float32x4_t, float64x2_t, uint8x8_t, uint8x16_t, uint8x16x2_t, uint8x16x4_t, uint16x8_t,
    uint32x2_t, uint32x4_t, uint64x2_t, vcvt_f16_f32, vcvt_f32_f16, vcvt_high_f16_f32,
    vcvt_high_f32_f16, vget_low_u16, vreinterpret_f16_u16, vreinterpretq_f16_u16,
    vreinterpretq_u16_f16,
};

/// The token.
pub(crate) use pulp::aarch64::Neon;

use super::bytes16::{WidenHalf, widening_by_halves};
use super::lanes::{
    CompareLanes, FloatLanes, IntLanes, Lanes, MaskLanes, ShiftLanes, SimdElement, TableLanes,
};
use super::shared::vectorize_with;
use super::{
    F32s, F64, F64s, I8s, I16s, I32s, I64, I64s, LookUpBytes, Pair, Register, Round, Simd, shared,
};
use crate::Rounding;
use crate::stages::{Input, Kernel, Output, RunKernel, run_kernel};

type I8 = uint8x16_t;
type I16 = uint16x8_t;
type I32 = uint32x4_t;

/// Operations that are one instruction of pulp's safe ones.
macro_rules! instructions {
    ($($name:ident($($a:ident: $t:ty),*) -> $r:ty = $instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, $($a: $t),*) -> $r {
            self.neon.$instruction($($a),*)
        }
    )*};
}

/// Evaluates to the instruction for a rounding: each is one of its own.
macro_rules! rounded {
    ($rounding:expr, $neon:expr, $even:ident $zero:ident $positive:ident $negative:ident $away:ident, $a:expr) => {
        match $rounding.rounding() {
            Rounding::NearestEven => $neon.$even($a),
            Rounding::TowardsZero => $neon.$zero($a),
            Rounding::TowardsPositive => $neon.$positive($a),
            Rounding::TowardsNegative => $neon.$negative($a),
            Rounding::NearestAway => $neon.$away($a),
        }
    };
}

/// Lanes of one type: their register, and how it is filled, added and subtracted. Integers are unsigned ones here.
macro_rules! lanes {
    ($($t:ident $raw:ident $splat:ident($lane:ident) $add:ident $sub:ident;)*) => {$(
        // SAFETY: `Raw` is the register that each instruction loads or stores whole.
        unsafe impl Lanes<$t> for Neon {
            type Raw = $raw;
            #[inline(always)]
            unsafe fn load(self, p: *const u8) -> $raw {
                // SAFETY: the caller vouches for the memory; any bytes are a register's.
                unsafe { p.cast::<$raw>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut u8, x: $raw) {
                // SAFETY: the caller vouches for the memory.
                unsafe { p.cast::<$raw>().write_unaligned(x) }
            }
            #[inline(always)]
            fn splat(self, x: $t) -> $raw {
                self.neon.$splat(x as $lane)
            }
            instructions! {
                add(a: $raw, b: $raw) -> $raw = $add;
                sub(a: $raw, b: $raw) -> $raw = $sub;
            }
        }
    )*};
}

lanes! {
    i8 uint8x16_t vdupq_n_u8(u8) vaddq_u8 vsubq_u8;
    i16 uint16x8_t vdupq_n_u16(u16) vaddq_u16 vsubq_u16;
    i32 uint32x4_t vdupq_n_u32(u32) vaddq_u32 vsubq_u32;
    i64 uint64x2_t vdupq_n_u64(u64) vaddq_u64 vsubq_u64;
    f32 float32x4_t vdupq_n_f32(f32) vaddq_f32 vsubq_f32;
    f64 float64x2_t vdupq_n_f64(f64) vaddq_f64 vsubq_f64;
}

/// Integers of one width, masks of it, and comparisons: a mask is a register of zeros and ones.
macro_rules! int_lanes {
    ($($t:ident $raw:ident $and:ident $or:ident $xor:ident $bic:ident [$($words:ident)?] $eq:ident $lt:ident $select:ident
        $signed:ident { $($extrema:tt)* })*) => {$(
        impl IntLanes<$t> for Neon {
            instructions! {
                and(a: $raw, b: $raw) -> $raw = $and;
                or(a: $raw, b: $raw) -> $raw = $or;
                xor(a: $raw, b: $raw) -> $raw = $xor;
                and_not(a: $raw, b: $raw) -> $raw = $bic;
            }
            $($extrema)*
            #[inline(always)]
            fn is_nonzero(self, a: $raw) -> bool {
                $(let a = self.neon.$words(a);)?
                self.neon.vmaxvq_u32(a) != 0
            }
        }

        impl MaskLanes<$t> for Neon {
            type Mask = $raw;
            instructions! {
                mask_and(a: $raw, b: $raw) -> $raw = $and;
                mask_or(a: $raw, b: $raw) -> $raw = $or;
                mask_and_not(a: $raw, b: $raw) -> $raw = $bic;
            }
            #[inline(always)]
            fn mask_any(self, mask: $raw) -> bool {
                IntLanes::<$t>::is_nonzero(self, mask)
            }
            #[inline(always)]
            fn mask_to_int(self, mask: $raw) -> $raw {
                mask
            }
        }

        impl CompareLanes<$t> for Neon {
            instructions! {
                eq(a: $raw, b: $raw) -> $raw = $eq;
                select(mask: $raw, a: $raw, b: $raw) -> $raw = $select;
            }
            #[inline(always)]
            fn lt(self, a: $raw, b: $raw) -> $raw {
                self.neon.$lt(self.neon.$signed(a), self.neon.$signed(b))
            }
        }
    )*};
}

/// The lesser and the greater of integers, as signed or unsigned ones.
macro_rules! extrema {
    ($raw:ident $min:ident $max:ident $min_u:ident $max_u:ident $signed:ident $unsigned:ident) => {
        #[inline(always)]
        fn min<const SIGNED: bool>(self, a: $raw, b: $raw) -> $raw {
            if SIGNED {
                let lesser = self.neon.$min(self.neon.$signed(a), self.neon.$signed(b));
                self.neon.$unsigned(lesser)
            } else {
                self.neon.$min_u(a, b)
            }
        }
        #[inline(always)]
        fn max<const SIGNED: bool>(self, a: $raw, b: $raw) -> $raw {
            if SIGNED {
                let greater = self.neon.$max(self.neon.$signed(a), self.neon.$signed(b));
                self.neon.$unsigned(greater)
            } else {
                self.neon.$max_u(a, b)
            }
        }
    };
}

int_lanes! {
    i8 uint8x16_t vandq_u8 vorrq_u8 veorq_u8 vbicq_u8 [vreinterpretq_u32_u8] vceqq_u8 vcltq_s8 vbslq_u8 vreinterpretq_s8_u8 {
        extrema!(I8 vminq_s8 vmaxq_s8 vminq_u8 vmaxq_u8 vreinterpretq_s8_u8 vreinterpretq_u8_s8);
    }
    i16 uint16x8_t vandq_u16 vorrq_u16 veorq_u16 vbicq_u16 [vreinterpretq_u32_u16] vceqq_u16 vcltq_s16 vbslq_u16
        vreinterpretq_s16_u16 {
        extrema!(I16 vminq_s16 vmaxq_s16 vminq_u16 vmaxq_u16 vreinterpretq_s16_u16 vreinterpretq_u16_s16);
    }
    i32 uint32x4_t vandq_u32 vorrq_u32 veorq_u32 vbicq_u32 [] vceqq_u32 vcltq_s32 vbslq_u32
        vreinterpretq_s32_u32 {
        extrema!(I32 vminq_s32 vmaxq_s32 vminq_u32 vmaxq_u32 vreinterpretq_s32_u32 vreinterpretq_u32_s32);
    }
    i64 uint64x2_t vandq_u64 vorrq_u64 veorq_u64 vbicq_u64 [vreinterpretq_u32_u64] vceqq_u64 vcltq_s64 vbslq_u64
        vreinterpretq_s64_u64 {
        #[inline(always)]
        fn min<const SIGNED: bool>(self, a: uint64x2_t, b: uint64x2_t) -> uint64x2_t {
            shared::min_i64::<_, SIGNED>(self, a, b)
        }
        #[inline(always)]
        fn max<const SIGNED: bool>(self, a: uint64x2_t, b: uint64x2_t) -> uint64x2_t {
            shared::max_i64::<_, SIGNED>(self, a, b)
        }
    }
}

impl TableLanes<i16> for Neon {
    type Table = I16;
    instructions! {
        mul(a: I16, b: I16) -> I16 = vmulq_u16;
    }
    #[inline(always)]
    fn shl_by(self, a: I16, count: u32) -> I16 {
        self.neon.vshlq_u16(a, self.neon.vdupq_n_s16(count as i16))
    }
    #[inline(always)]
    fn shr_by(self, a: I16, count: u32) -> I16 {
        // A negative count shifts to the right.
        self.neon.vshlq_u16(a, self.neon.vdupq_n_s16(-(count as i16)))
    }
    #[inline(always)]
    fn table(self, values: [i16; 8]) -> I16 {
        // SAFETY: the array has as many bytes as a register.
        unsafe { Lanes::<i16>::load(self, values.as_ptr().cast()) }
    }
    #[inline(always)]
    fn look_up(self, table: I16, numbers: I16) -> I16 {
        // The numbers of the two bytes of each value.
        let first = self.neon.vmulq_u16(numbers, self.neon.vdupq_n_u16(0x0202));
        let bytes = self.neon.vaddq_u16(first, self.neon.vdupq_n_u16(0x0100));
        let table = self.neon.vreinterpretq_u8_u16(table);
        let found = self.neon.vqtbl1q_u8(table, self.neon.vreinterpretq_u8_u16(bytes));
        self.neon.vreinterpretq_u16_u8(found)
    }
}

impl TableLanes<i32> for Neon {
    type Table = uint8x16x2_t;
    instructions! {
        mul(a: I32, b: I32) -> I32 = vmulq_u32;
    }
    #[inline(always)]
    fn shl_by(self, a: I32, count: u32) -> I32 {
        self.neon.vshlq_u32(a, self.neon.vdupq_n_s32(count as i32))
    }
    #[inline(always)]
    fn shr_by(self, a: I32, count: u32) -> I32 {
        self.neon.vshlq_u32(a, self.neon.vdupq_n_s32(-(count as i32)))
    }
    #[inline(always)]
    fn table(self, values: [i32; 8]) -> uint8x16x2_t {
        let bytes = values.as_ptr().cast::<u8>();
        // SAFETY: the first half of the array.
        let low = unsafe { Lanes::<i8>::load(self, bytes) };
        // SAFETY: the second one.
        uint8x16x2_t(low, unsafe { Lanes::<i8>::load(self, bytes.wrapping_add(16)) })
    }
    #[inline(always)]
    fn look_up(self, table: uint8x16x2_t, numbers: I32) -> I32 {
        // The numbers of the four bytes of each value.
        let first = self.neon.vmulq_u32(numbers, self.neon.vdupq_n_u32(0x0404_0404));
        let bytes = self.neon.vaddq_u32(first, self.neon.vdupq_n_u32(0x0302_0100));
        let bytes = self.neon.vreinterpretq_u8_u32(bytes);
        self.neon.vreinterpretq_u32_u8(self.neon.vqtbl2q_u8(table, bytes))
    }
}

/// Shifts of lanes of one width.
macro_rules! shifts {
    ($($t:ident $raw:ident $shl:ident $shr:ident;)*) => {$(
        impl ShiftLanes<$t> for Neon {
            #[inline(always)]
            fn shl<const N: i32>(self, a: $raw) -> $raw {
                self.neon.$shl::<N>(a)
            }
            #[inline(always)]
            fn shr<const N: i32>(self, a: $raw) -> $raw {
                self.neon.$shr::<N>(a)
            }
        }
    )*};
}

shifts! {
    i32 uint32x4_t vshlq_n_u32 vshrq_n_u32;
    i64 uint64x2_t vshlq_n_u64 vshrq_n_u64;
}

/// Floats of one width.
macro_rules! floats {
    ($($t:ident $raw:ident $bits:ident $mul:ident $div:ident $fma:ident $fms:ident $min:ident $max:ident $abs:ident
        $eq:ident $gt:ident $lt:ident $le:ident $select:ident $to_bits:ident $from_bits:ident
        [$($round:ident)*];)*) => {$(
        impl CompareLanes<$t> for Neon {
            instructions! {
                eq(a: $raw, b: $raw) -> $bits = $eq;
                lt(a: $raw, b: $raw) -> $bits = $lt;
                select(mask: $bits, a: $raw, b: $raw) -> $raw = $select;
            }
        }

        impl FloatLanes<$t> for Neon {
            instructions! {
                mul(a: $raw, b: $raw) -> $raw = $mul;
                div(a: $raw, b: $raw) -> $raw = $div;
                min(a: $raw, b: $raw) -> $raw = $min;
                max(a: $raw, b: $raw) -> $raw = $max;
                abs(a: $raw) -> $raw = $abs;
                le(a: $raw, b: $raw) -> $bits = $le;
                to_bits(a: $raw) -> $bits = $to_bits;
                with_bits(bits: $bits) -> $raw = $from_bits;
            }
            #[inline(always)]
            fn mul_add(self, a: $raw, b: $raw, c: $raw) -> $raw {
                self.neon.$fma(c, a, b)
            }
            #[inline(always)]
            fn neg_mul_add(self, a: $raw, b: $raw, c: $raw) -> $raw {
                self.neon.$fms(c, a, b)
            }
            #[inline(always)]
            fn min_number(self, a: $raw, b: $raw) -> $raw {
                // Not FMINNM: of a signalling NaN it makes a quiet one.
                self.neon.$select(self.neon.$lt(a, b), a, b)
            }
            #[inline(always)]
            fn max_number(self, a: $raw, b: $raw) -> $raw {
                self.neon.$select(self.neon.$gt(a, b), a, b)
            }
            #[inline(always)]
            fn is_nan(self, a: $raw) -> $bits {
                let all = Lanes::<<$t as SimdElement>::Bits>::splat(self, -1);
                IntLanes::<<$t as SimdElement>::Bits>::and_not(self, all, self.neon.$eq(a, a))
            }
            #[inline(always)]
            fn round(self, a: $raw, rounding: impl Round) -> $raw {
                rounded!(rounding, self.neon, $($round)*, a)
            }
        }
    )*};
}

floats! {
    f32 float32x4_t uint32x4_t vmulq_f32 vdivq_f32 vfmaq_f32 vfmsq_f32 vminq_f32 vmaxq_f32 vabsq_f32
        vceqq_f32 vcgtq_f32 vcltq_f32 vcleq_f32 vbslq_f32 vreinterpretq_u32_f32 vreinterpretq_f32_u32
        [vrndnq_f32 vrndq_f32 vrndpq_f32 vrndmq_f32 vrndaq_f32];
    f64 float64x2_t uint64x2_t vmulq_f64 vdivq_f64 vfmaq_f64 vfmsq_f64 vminq_f64 vmaxq_f64 vabsq_f64
        vceqq_f64 vcgtq_f64 vcltq_f64 vcleq_f64 vbslq_f64 vreinterpretq_u64_f64 vreinterpretq_f64_u64
        [vrndnq_f64 vrndq_f64 vrndpq_f64 vrndmq_f64 vrndaq_f64];
}

// Instructions that pulp lacks.

#[inline]
#[target_feature(enable = "neon")]
fn low_f16_to_f32(a: I16) -> float32x4_t {
    vcvt_f32_f16(vreinterpret_f16_u16(vget_low_u16(a)))
}

#[inline]
#[target_feature(enable = "neon")]
fn high_f16_to_f32(a: I16) -> float32x4_t {
    vcvt_high_f32_f16(vreinterpretq_f16_u16(a))
}

#[inline]
#[target_feature(enable = "neon")]
fn f32_to_f16(a: float32x4_t, b: float32x4_t) -> I16 {
    vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(a), b))
}

impl WidenHalf for Neon {
    #[inline(always)]
    fn widen_i8<const SIGNED: bool, const HIGH: bool>(self, a: I8) -> I16 {
        let neon = self.neon;
        if SIGNED {
            let a = neon.vreinterpretq_s8_u8(a);
            let wide =
                if HIGH { neon.vmovl_high_s8(a) } else { neon.vmovl_s8(neon.vget_low_s8(a)) };
            neon.vreinterpretq_u16_s16(wide)
        } else if HIGH {
            neon.vmovl_high_u8(a)
        } else {
            neon.vmovl_u8(neon.vget_low_u8(a))
        }
    }

    #[inline(always)]
    fn widen_i16<const SIGNED: bool, const HIGH: bool>(self, a: I16) -> I32 {
        let neon = self.neon;
        if SIGNED {
            let a = neon.vreinterpretq_s16_u16(a);
            let wide =
                if HIGH { neon.vmovl_high_s16(a) } else { neon.vmovl_s16(neon.vget_low_s16(a)) };
            neon.vreinterpretq_u32_s32(wide)
        } else if HIGH {
            neon.vmovl_high_u16(a)
        } else {
            neon.vmovl_u16(neon.vget_low_u16(a))
        }
    }

    #[inline(always)]
    fn widen_i32<const SIGNED: bool, const HIGH: bool>(self, a: I32) -> uint64x2_t {
        let neon = self.neon;
        if SIGNED {
            let a = neon.vreinterpretq_s32_u32(a);
            let wide =
                if HIGH { neon.vmovl_high_s32(a) } else { neon.vmovl_s32(neon.vget_low_s32(a)) };
            neon.vreinterpretq_u64_s64(wide)
        } else if HIGH {
            neon.vmovl_high_u32(a)
        } else {
            neon.vmovl_u32(neon.vget_low_u32(a))
        }
    }
}

#[inline(always)]
fn round_to_i64(simd: Neon, a: float64x2_t, rounding: impl Round) -> uint64x2_t {
    let rounded = rounded!(
        rounding, simd.neon,
        vcvtnq_s64_f64 vcvtq_s64_f64 vcvtpq_s64_f64 vcvtmq_s64_f64 vcvtaq_s64_f64, a
    );
    simd.neon.vreinterpretq_u64_s64(rounded)
}

// SAFETY: `Raw` is a register for every type of lanes; the token is proof of the features; loads are of so many elements.
unsafe impl Simd for Neon {
    const BYTES: usize = 16;
    const GROUPS: usize = 4;
    const INVALID_IS_MIN: bool = false;
    const ROUNDS_F16: bool = false;
    const FUSES: bool = true;
    const SELECTS_IN_ONE: bool = true;
    const MAX_NUMBER_IN_ONE: bool = false;
    const PACKS_HALVES: bool = false;

    fn vectorize<K: Kernel>(self) -> RunKernel {
        vectorize_with!(K, "neon")
    }

    widening_by_halves!();

    #[inline(always)]
    unsafe fn load_i8_to_i16<const SIGNED: bool>(self, p: *const u8) -> I16s<Self> {
        // SAFETY: the caller vouches for the memory; any bytes are a register's.
        let narrow = unsafe { p.cast::<uint8x8_t>().read_unaligned() };
        let narrow = self.neon.vcombine_u8(narrow, narrow);
        Register::new(self, self.widen_i8::<SIGNED, false>(narrow))
    }

    #[inline(always)]
    unsafe fn load_i8_to_i64<const SIGNED: bool>(self, p: *const u8) -> I64<Self> {
        // SAFETY: the caller vouches for the memory.
        let narrow = unsafe { p.cast::<u16>().read_unaligned() };
        let narrow = self.neon.vreinterpretq_u8_u16(self.neon.vdupq_n_u16(narrow));
        let wider = self.widen_i16::<SIGNED, false>(self.widen_i8::<SIGNED, false>(narrow));
        Register::new(self, self.widen_i32::<SIGNED, false>(wider))
    }

    #[inline(always)]
    unsafe fn load_i16_to_i64<const SIGNED: bool>(self, p: *const u8) -> I64<Self> {
        // SAFETY: the caller vouches for the memory.
        let narrow = unsafe { p.cast::<u32>().read_unaligned() };
        let narrow = self.neon.vreinterpretq_u16_u32(self.neon.vdupq_n_u32(narrow));
        let wider = self.widen_i16::<SIGNED, false>(narrow);
        Register::new(self, self.widen_i32::<SIGNED, false>(wider))
    }

    #[inline(always)]
    unsafe fn load_i32_to_i64<const SIGNED: bool>(self, p: *const u8) -> I64<Self> {
        // SAFETY: the caller vouches for the memory; any bytes are a register's.
        let narrow = unsafe { p.cast::<uint32x2_t>().read_unaligned() };
        let narrow = self.neon.vcombine_u32(narrow, narrow);
        Register::new(self, self.widen_i32::<SIGNED, false>(narrow))
    }

    #[inline(always)]
    unsafe fn load_f16_to_f32<const UNIT: usize>(self, p: *const u8) -> F32s<Self> {
        // SAFETY: the caller vouches for the group, which is two registers.
        let half = unsafe { Lanes::<i16>::load(self, p.wrapping_add(UNIT / 2 * Self::BYTES)) };
        let wide = if UNIT.is_multiple_of(2) {
            // SAFETY: the token is proof of NEON.
            unsafe { low_f16_to_f32(half) }
        } else {
            // SAFETY: as above.
            unsafe { high_f16_to_f32(half) }
        };
        Register::new(self, wide)
    }

    #[inline(always)]
    fn swap_bytes<const SIZE: usize>(self, a: I8s<Self>) -> I8s<Self> {
        const { assert!(matches!(SIZE, 2 | 4 | 8), "an element of several bytes") };
        let swapped = match SIZE {
            2 => self.neon.vrev16q_u8(a.raw),
            4 => self.neon.vrev32q_u8(a.raw),
            _ => self.neon.vrev64q_u8(a.raw),
        };
        Register::new(self, swapped)
    }

    #[inline(always)]
    fn f32_to_i32(self, a: F32s<Self>, rounding: impl Round) -> I32s<Self> {
        let rounded = rounded!(
            rounding, self.neon,
            vcvtnq_s32_f32 vcvtq_s32_f32 vcvtpq_s32_f32 vcvtmq_s32_f32 vcvtaq_s32_f32, a.raw
        );
        Register::new(self, self.neon.vreinterpretq_u32_s32(rounded))
    }

    #[inline(always)]
    fn f64_to_i32(self, a: F64s<Self>, rounding: impl Round) -> I32s<Self> {
        self.saturate_i64_to_i32::<true>(a.map(
            #[inline(always)]
            |a| Register::new(self, round_to_i64(self, a.raw, rounding)),
        ))
    }

    #[inline(always)]
    fn integral_f64_to_i64<const SIGNED: bool>(self, a: F64<Self>) -> I64<Self> {
        let converted = if SIGNED {
            self.neon.vreinterpretq_u64_s64(self.neon.vcvtq_s64_f64(a.raw))
        } else {
            self.neon.vcvtq_u64_f64(a.raw)
        };
        Register::new(self, converted)
    }

    #[inline(always)]
    fn i32_to_f32(self, a: I32s<Self>) -> F32s<Self> {
        Register::new(self, self.neon.vcvtq_f32_s32(self.neon.vreinterpretq_s32_u32(a.raw)))
    }

    #[inline(always)]
    fn i32_to_f64<const SIGNED: bool>(self, a: I32s<Self>) -> F64s<Self> {
        let low = self.widen_i32::<SIGNED, false>(a.raw);
        let high = self.widen_i32::<SIGNED, true>(a.raw);
        Pair(low, high).map(
            #[inline(always)]
            |half| self.i64_to_f64::<SIGNED>(Register::new(self, half)),
        )
    }

    #[inline(always)]
    fn i64_to_f64<const SIGNED: bool>(self, a: I64<Self>) -> F64<Self> {
        let converted = if SIGNED {
            self.neon.vcvtq_f64_s64(self.neon.vreinterpretq_s64_u64(a.raw))
        } else {
            self.neon.vcvtq_f64_u64(a.raw)
        };
        Register::new(self, converted)
    }

    #[inline(always)]
    fn f16_to_f32(self, a: I16s<Self>) -> [F32s<Self>; 2] {
        // SAFETY: the token is proof of NEON.
        let low = unsafe { low_f16_to_f32(a.raw) };
        // SAFETY: as above.
        let high = unsafe { high_f16_to_f32(a.raw) };
        [Register::new(self, low), Register::new(self, high)]
    }

    #[inline(always)]
    fn f32_to_f64(self, a: F32s<Self>) -> F64s<Self> {
        let low = self.neon.vcvt_f64_f32(self.neon.vget_low_f32(a.raw));
        let high = self.neon.vcvt_high_f64_f32(a.raw);
        Pair(Register::new(self, low), Register::new(self, high))
    }

    #[inline(always)]
    fn f64_to_f32(self, a: F64s<Self>) -> F32s<Self> {
        let low = self.neon.vcvt_f32_f64(a.0.raw);
        Register::new(self, self.neon.vcvt_high_f32_f64(low, a.1.raw))
    }

    #[inline(always)]
    fn f32_to_f16(self, a: F32s<Self>, b: F32s<Self>, _: impl Round) -> I16s<Self> {
        // SAFETY: the token is proof of NEON.
        Register::new(self, unsafe { f32_to_f16(a.raw, b.raw) })
    }

    #[inline(always)]
    fn low_i64_to_i32(self, a: I64s<Self>) -> I32s<Self> {
        let Pair(low, high) = a.map(
            #[inline(always)]
            |a| self.neon.vreinterpretq_u32_u64(a.raw),
        );
        Register::new(self, self.neon.vuzp1q_u32(low, high))
    }

    #[inline(always)]
    fn saturate_i64_to_i32<const SIGNED: bool>(self, Pair(a, b): I64s<Self>) -> I32s<Self> {
        let neon = self.neon;
        let saturated = if SIGNED {
            let (a, b) = (neon.vreinterpretq_s64_u64(a.raw), neon.vreinterpretq_s64_u64(b.raw));
            neon.vreinterpretq_u32_s32(neon.vqmovn_high_s64(neon.vqmovn_s64(a), b))
        } else {
            neon.vqmovn_high_u64(neon.vqmovn_u64(a.raw), b.raw)
        };
        Register::new(self, saturated)
    }

    #[inline(always)]
    fn low_i32_to_i8(self, [a, b, c, d]: [I32s<Self>; 4]) -> I8s<Self> {
        let to_bytes = |x: I32s<Self>| self.neon.vreinterpretq_u8_u32(x.raw);
        let group = uint8x16x4_t(to_bytes(a), to_bytes(b), to_bytes(c), to_bytes(d));
        let lowest: [u8; 16] = [0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60];
        // SAFETY: the array is a register's bytes.
        let lowest = unsafe { Lanes::<i8>::load(self, lowest.as_ptr()) };
        Register::new(self, self.neon.vqtbl4q_u8(group, lowest))
    }

    #[inline(always)]
    fn low_i32_to_i16(self, a: I32s<Self>, b: I32s<Self>) -> I16s<Self> {
        let (a, b) =
            (self.neon.vreinterpretq_u16_u32(a.raw), self.neon.vreinterpretq_u16_u32(b.raw));
        Register::new(self, self.neon.vuzp1q_u16(a, b))
    }

    #[inline(always)]
    fn high_i32_to_i16(self, a: I32s<Self>, b: I32s<Self>) -> I16s<Self> {
        let (a, b) =
            (self.neon.vreinterpretq_u16_u32(a.raw), self.neon.vreinterpretq_u16_u32(b.raw));
        Register::new(self, self.neon.vuzp2q_u16(a, b))
    }

    #[inline(always)]
    fn low_i16_to_i8(self, a: I16s<Self>, b: I16s<Self>) -> I8s<Self> {
        let (a, b) = (self.neon.vreinterpretq_u8_u16(a.raw), self.neon.vreinterpretq_u8_u16(b.raw));
        Register::new(self, self.neon.vuzp1q_u8(a, b))
    }

    #[inline(always)]
    fn pack_i32_to_i16<const SIGNED: bool>(self, a: I32s<Self>, b: I32s<Self>) -> I16s<Self> {
        let neon = self.neon;
        let (a, b) = (neon.vreinterpretq_s32_u32(a.raw), neon.vreinterpretq_s32_u32(b.raw));
        let packed = if SIGNED {
            neon.vreinterpretq_u16_s16(neon.vqmovn_high_s32(neon.vqmovn_s32(a), b))
        } else {
            neon.vqmovun_high_s32(neon.vqmovun_s32(a), b)
        };
        Register::new(self, packed)
    }

    #[inline(always)]
    fn pack_i16_to_i8<const SIGNED: bool>(self, a: I16s<Self>, b: I16s<Self>) -> I8s<Self> {
        let neon = self.neon;
        let (a, b) = (neon.vreinterpretq_s16_u16(a.raw), neon.vreinterpretq_s16_u16(b.raw));
        let packed = if SIGNED {
            neon.vreinterpretq_u8_s8(neon.vqmovn_high_s16(neon.vqmovn_s16(a), b))
        } else {
            neon.vqmovun_high_s16(neon.vqmovun_s16(a), b)
        };
        Register::new(self, packed)
    }
}

impl LookUpBytes for Neon {
    type ByteTable = [uint8x16x4_t; 4];

    #[inline(always)]
    fn byte_table(self, values: &[u8; 256]) -> [uint8x16x4_t; 4] {
        let (quarters, _) = values.as_chunks::<64>();
        core::array::from_fn(|quarter| {
            let row = |row: usize| {
                let place = quarters[quarter].as_ptr().wrapping_add(row * 16);
                // SAFETY: one of the four rows of 16 of the quarter.
                unsafe { Lanes::<i8>::load(self, place) }
            };
            uint8x16x4_t(row(0), row(1), row(2), row(3))
        })
    }

    #[inline(always)]
    fn look_up_i8(self, table: [uint8x16x4_t; 4], numbers: I8s<Self>) -> I8s<Self> {
        let [first, rest @ ..] = table;
        let mut at = numbers;
        let mut found = self.neon.vqtbl4q_u8(first, at.raw);
        for quarter in rest {
            at = at - 64;
            // Keeps the earlier result where the number is in another quarter.
            found = self.neon.vqtbx4q_u8(found, quarter, at.raw);
        }
        Register::new(self, found)
    }
}

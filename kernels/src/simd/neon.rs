//! Advanced SIMD (NEON) of aarch64: registers of 16 bytes. Packing keeps the order.

use core::arch::aarch64::{
    float32x4_t, float64x2_t, int8x8_t, int32x2_t, uint8x8_t, uint8x16_t, uint8x16x2_t,
    uint8x16x4_t, uint16x8_t, uint32x2_t, uint32x4_t, uint64x2_t, vcvt_f16_f32, vcvt_f32_f16,
    vcvt_high_f16_f32, vcvt_high_f32_f16, vget_low_u16, vreinterpret_f16_u16,
    vreinterpretq_f16_u16, vreinterpretq_u16_f16,
};

/// The token.
pub(crate) use pulp::aarch64::Neon;

use super::{LookUpBytes, Round, Simd};
use crate::Rounding;

type I8 = uint8x16_t;
type I16 = uint16x8_t;
type I32 = uint32x4_t;
type I64 = uint64x2_t;
type F32 = float32x4_t;
type F64 = float64x2_t;

/// Operations that are one instruction of pulp's safe ones.
macro_rules! instructions {
    ($($name:ident($($a:ident: $t:ty),*) -> $r:ty = $instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, $($a: $t),*) -> $r {
            self.neon.$instruction($($a),*)
        }
    )*};
}

/// The same on lanes that stand for signed integers, and what turns them from and to the unsigned ones.
macro_rules! signed {
    ($($name:ident($($a:ident),*: $t:ty) -> $r:ty = $to:ident $instruction:ident $($from:ident)?;)*) => {$(
        #[inline(always)]
        fn $name(self, $($a: $t),*) -> $r {
            let result = self.neon.$instruction($(self.neon.$to($a)),*);
            $(let result = self.neon.$from(result);)?
            result
        }
    )*};
}

/// Loads and stores of a register.
macro_rules! memory {
    ($($load:ident $store:ident $t:ty;)*) => {$(
        #[inline(always)]
        unsafe fn $load(self, p: *const u8) -> $t {
            // SAFETY: the caller vouches for the memory; any bytes are a register's.
            unsafe { p.cast::<$t>().read_unaligned() }
        }
        #[inline(always)]
        unsafe fn $store(self, p: *mut u8, x: $t) {
            // SAFETY: the caller vouches for the memory.
            unsafe { p.cast::<$t>().write_unaligned(x) }
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

// What pulp lacks.

#[inline]
#[target_feature(enable = "neon")]
fn low_f16_to_f32(a: I16) -> F32 {
    vcvt_f32_f16(vreinterpret_f16_u16(vget_low_u16(a)))
}

#[inline]
#[target_feature(enable = "neon")]
fn high_f16_to_f32(a: I16) -> F32 {
    vcvt_high_f32_f16(vreinterpretq_f16_u16(a))
}

#[inline]
#[target_feature(enable = "neon")]
fn f32_to_f16(a: F32, b: F32) -> I16 {
    vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(a), b))
}

/// The half of a group of 16-bit elements that has the unit `UNIT`.
///
/// # Safety
/// `p` is valid for reading a group.
#[inline(always)]
unsafe fn load_half<const UNIT: usize>(simd: Neon, p: *const u8) -> I16 {
    // SAFETY: the caller vouches for the group, which is two registers.
    unsafe { simd.load_i16(p.wrapping_add(UNIT / 2 * Neon::BYTES)) }
}

#[inline(always)]
fn round_to_i64(simd: Neon, a: F64, rounding: impl Round) -> I64 {
    let rounded = rounded!(
        rounding, simd.neon,
        vcvtnq_s64_f64 vcvtq_s64_f64 vcvtpq_s64_f64 vcvtmq_s64_f64 vcvtaq_s64_f64, a
    );
    simd.neon.vreinterpretq_u64_s64(rounded)
}

impl Simd for Neon {
    type I8 = I8;
    type I16 = I16;
    type I32 = I32;
    type I64 = I64;
    type F32 = F32;
    type F64 = F64;
    type Table = uint8x16x2_t;
    type M32 = uint32x4_t;
    type M64 = uint64x2_t;
    const BYTES: usize = 16;
    const GROUPS: usize = 4;
    const INVALID_IS_MIN: bool = false;
    const ROUNDS_F16: bool = false;
    const FUSES: bool = true;
    const SELECTS_IN_ONE: bool = true;
    const MAX_NUMBER_IN_ONE: bool = false;

    #[inline(always)]
    fn vectorize<R>(self, f: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "neon")]
        fn with_features<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        // SAFETY: the token is proof of the feature.
        unsafe { with_features(f) }
    }

    memory! {
        load_i8 store_i8 I8;
        load_i16 store_i16 I16;
        load_i32 store_i32 I32;
        load_i64 store_i64 I64;
        load_f32 store_f32 F32;
        load_f64 store_f64 F64;
    }

    #[inline(always)]
    unsafe fn load_i8_to_i16(self, p: *const u8) -> I16 {
        // SAFETY: the caller vouches for the memory; any bytes are a register's.
        let narrow = unsafe { p.cast::<int8x8_t>().read_unaligned() };
        self.neon.vreinterpretq_u16_s16(self.neon.vmovl_s8(narrow))
    }

    #[inline(always)]
    unsafe fn load_u8_to_i16(self, p: *const u8) -> I16 {
        // SAFETY: as above.
        let narrow = unsafe { p.cast::<uint8x8_t>().read_unaligned() };
        self.neon.vmovl_u8(narrow)
    }

    // One load for the units that share a register: the compiler sees that they are the same.

    #[inline(always)]
    unsafe fn load_i8_to_i32<const UNIT: usize>(self, p: *const u8) -> I32 {
        // SAFETY: the caller vouches for the group, which is one register.
        let group = self.neon.vreinterpretq_s8_u8(unsafe { self.load_i8(p) });
        let half = if UNIT < 2 {
            self.neon.vmovl_s8(self.neon.vget_low_s8(group))
        } else {
            self.neon.vmovl_high_s8(group)
        };
        self.neon.vreinterpretq_u32_s32(if UNIT.is_multiple_of(2) {
            self.neon.vmovl_s16(self.neon.vget_low_s16(half))
        } else {
            self.neon.vmovl_high_s16(half)
        })
    }

    #[inline(always)]
    unsafe fn load_u8_to_i32<const UNIT: usize>(self, p: *const u8) -> I32 {
        // SAFETY: as above.
        let group = unsafe { self.load_i8(p) };
        let half = if UNIT < 2 {
            self.neon.vmovl_u8(self.neon.vget_low_u8(group))
        } else {
            self.neon.vmovl_high_u8(group)
        };
        if UNIT.is_multiple_of(2) {
            self.neon.vmovl_u16(self.neon.vget_low_u16(half))
        } else {
            self.neon.vmovl_high_u16(half)
        }
    }

    #[inline(always)]
    unsafe fn load_i16_to_i32<const UNIT: usize>(self, p: *const u8) -> I32 {
        // SAFETY: the caller vouches for the group, which is two registers.
        let half = unsafe { load_half::<UNIT>(self, p) };
        let half = self.neon.vreinterpretq_s16_u16(half);
        self.neon.vreinterpretq_u32_s32(if UNIT.is_multiple_of(2) {
            self.neon.vmovl_s16(self.neon.vget_low_s16(half))
        } else {
            self.neon.vmovl_high_s16(half)
        })
    }

    #[inline(always)]
    unsafe fn load_u16_to_i32<const UNIT: usize>(self, p: *const u8) -> I32 {
        // SAFETY: as above.
        let half = unsafe { load_half::<UNIT>(self, p) };
        if UNIT.is_multiple_of(2) {
            self.neon.vmovl_u16(self.neon.vget_low_u16(half))
        } else {
            self.neon.vmovl_high_u16(half)
        }
    }

    #[inline(always)]
    unsafe fn load_f16_to_f32<const UNIT: usize>(self, p: *const u8) -> F32 {
        // SAFETY: as above.
        let half = unsafe { load_half::<UNIT>(self, p) };
        if UNIT.is_multiple_of(2) {
            // SAFETY: the token is proof of NEON.
            unsafe { low_f16_to_f32(half) }
        } else {
            // SAFETY: as above.
            unsafe { high_f16_to_f32(half) }
        }
    }

    #[inline(always)]
    unsafe fn load_i8_to_i64(self, p: *const u8) -> I64 {
        // SAFETY: the caller vouches for the memory.
        let narrow = unsafe { p.cast::<u16>().read_unaligned() };
        let narrow = self.neon.vreinterpret_s8_u16(self.neon.vdup_n_u16(narrow));
        let wider = self.neon.vget_low_s16(self.neon.vmovl_s8(narrow));
        let wider = self.neon.vget_low_s32(self.neon.vmovl_s16(wider));
        self.neon.vreinterpretq_u64_s64(self.neon.vmovl_s32(wider))
    }

    #[inline(always)]
    unsafe fn load_u8_to_i64(self, p: *const u8) -> I64 {
        // SAFETY: as above.
        let narrow = unsafe { p.cast::<u16>().read_unaligned() };
        let narrow = self.neon.vreinterpret_u8_u16(self.neon.vdup_n_u16(narrow));
        let wider = self.neon.vget_low_u16(self.neon.vmovl_u8(narrow));
        self.neon.vmovl_u32(self.neon.vget_low_u32(self.neon.vmovl_u16(wider)))
    }

    #[inline(always)]
    unsafe fn load_i16_to_i64(self, p: *const u8) -> I64 {
        // SAFETY: as above.
        let narrow = unsafe { p.cast::<u32>().read_unaligned() };
        let narrow = self.neon.vreinterpret_s16_u32(self.neon.vdup_n_u32(narrow));
        let wider = self.neon.vget_low_s32(self.neon.vmovl_s16(narrow));
        self.neon.vreinterpretq_u64_s64(self.neon.vmovl_s32(wider))
    }

    #[inline(always)]
    unsafe fn load_u16_to_i64(self, p: *const u8) -> I64 {
        // SAFETY: as above.
        let narrow = unsafe { p.cast::<u32>().read_unaligned() };
        let narrow = self.neon.vreinterpret_u16_u32(self.neon.vdup_n_u32(narrow));
        self.neon.vmovl_u32(self.neon.vget_low_u32(self.neon.vmovl_u16(narrow)))
    }

    #[inline(always)]
    unsafe fn load_i32_to_i64(self, p: *const u8) -> I64 {
        // SAFETY: the caller vouches for the memory; any bytes are a register's.
        let narrow = unsafe { p.cast::<int32x2_t>().read_unaligned() };
        self.neon.vreinterpretq_u64_s64(self.neon.vmovl_s32(narrow))
    }

    #[inline(always)]
    unsafe fn load_u32_to_i64(self, p: *const u8) -> I64 {
        // SAFETY: as above.
        let narrow = unsafe { p.cast::<uint32x2_t>().read_unaligned() };
        self.neon.vmovl_u32(narrow)
    }

    instructions! {
        splat_f32(x: f32) -> F32 = vdupq_n_f32;
        splat_f64(x: f64) -> F64 = vdupq_n_f64;

        add_f32(a: F32, b: F32) -> F32 = vaddq_f32;
        sub_f32(a: F32, b: F32) -> F32 = vsubq_f32;
        mul_f32(a: F32, b: F32) -> F32 = vmulq_f32;
        div_f32(a: F32, b: F32) -> F32 = vdivq_f32;
        min_f32(a: F32, b: F32) -> F32 = vminq_f32;
        max_f32(a: F32, b: F32) -> F32 = vmaxq_f32;
        abs_f32(a: F32) -> F32 = vabsq_f32;
        eq_f32(a: F32, b: F32) -> uint32x4_t = vceqq_f32;
        lt_f32(a: F32, b: F32) -> uint32x4_t = vcltq_f32;
        le_f32(a: F32, b: F32) -> uint32x4_t = vcleq_f32;
        select_f32(mask: uint32x4_t, a: F32, b: F32) -> F32 = vbslq_f32;
        bits_f32(a: F32) -> I32 = vreinterpretq_u32_f32;
        f32_from_bits(a: I32) -> F32 = vreinterpretq_f32_u32;

        add_f64(a: F64, b: F64) -> F64 = vaddq_f64;
        sub_f64(a: F64, b: F64) -> F64 = vsubq_f64;
        mul_f64(a: F64, b: F64) -> F64 = vmulq_f64;
        div_f64(a: F64, b: F64) -> F64 = vdivq_f64;
        min_f64(a: F64, b: F64) -> F64 = vminq_f64;
        max_f64(a: F64, b: F64) -> F64 = vmaxq_f64;
        abs_f64(a: F64) -> F64 = vabsq_f64;
        eq_f64(a: F64, b: F64) -> uint64x2_t = vceqq_f64;
        lt_f64(a: F64, b: F64) -> uint64x2_t = vcltq_f64;
        le_f64(a: F64, b: F64) -> uint64x2_t = vcleq_f64;
        select_f64(mask: uint64x2_t, a: F64, b: F64) -> F64 = vbslq_f64;
        bits_f64(a: F64) -> I64 = vreinterpretq_u64_f64;
        f64_from_bits(a: I64) -> F64 = vreinterpretq_f64_u64;

        and_m32(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t = vandq_u32;
        or_m32(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t = vorrq_u32;
        and_m64(a: uint64x2_t, b: uint64x2_t) -> uint64x2_t = vandq_u64;

        sub_i8(a: I8, b: I8) -> I8 = vsubq_u8;
        and_i8(a: I8, b: I8) -> I8 = vandq_u8;
        or_i8(a: I8, b: I8) -> I8 = vorrq_u8;
        xor_i8(a: I8, b: I8) -> I8 = veorq_u8;
        min_u8(a: I8, b: I8) -> I8 = vminq_u8;
        max_u8(a: I8, b: I8) -> I8 = vmaxq_u8;

        add_i16(a: I16, b: I16) -> I16 = vaddq_u16;
        sub_i16(a: I16, b: I16) -> I16 = vsubq_u16;
        and_i16(a: I16, b: I16) -> I16 = vandq_u16;
        or_i16(a: I16, b: I16) -> I16 = vorrq_u16;
        xor_i16(a: I16, b: I16) -> I16 = veorq_u16;
        min_u16(a: I16, b: I16) -> I16 = vminq_u16;
        max_u16(a: I16, b: I16) -> I16 = vmaxq_u16;
        mul_i16(a: I16, b: I16) -> I16 = vmulq_u16;

        add_i32(a: I32, b: I32) -> I32 = vaddq_u32;
        sub_i32(a: I32, b: I32) -> I32 = vsubq_u32;
        mul_i32(a: I32, b: I32) -> I32 = vmulq_u32;
        and_i32(a: I32, b: I32) -> I32 = vandq_u32;
        or_i32(a: I32, b: I32) -> I32 = vorrq_u32;
        xor_i32(a: I32, b: I32) -> I32 = veorq_u32;
        min_u32(a: I32, b: I32) -> I32 = vminq_u32;
        max_u32(a: I32, b: I32) -> I32 = vmaxq_u32;
        eq_i32(a: I32, b: I32) -> uint32x4_t = vceqq_u32;
        select_i32(mask: uint32x4_t, a: I32, b: I32) -> I32 = vbslq_u32;

        add_i64(a: I64, b: I64) -> I64 = vaddq_u64;
        sub_i64(a: I64, b: I64) -> I64 = vsubq_u64;
        and_i64(a: I64, b: I64) -> I64 = vandq_u64;
        or_i64(a: I64, b: I64) -> I64 = vorrq_u64;
        xor_i64(a: I64, b: I64) -> I64 = veorq_u64;
        eq_i64(a: I64, b: I64) -> uint64x2_t = vceqq_u64;
        select_i64(mask: uint64x2_t, a: I64, b: I64) -> I64 = vbslq_u64;

        integral_f64_to_u64(a: F64) -> I64 = vcvtq_u64_f64;
        u64_to_f64(a: I64) -> F64 = vcvtq_f64_u64;
    }

    signed! {
        min_i8(a, b: I8) -> I8 = vreinterpretq_s8_u8 vminq_s8 vreinterpretq_u8_s8;
        max_i8(a, b: I8) -> I8 = vreinterpretq_s8_u8 vmaxq_s8 vreinterpretq_u8_s8;
        min_i16(a, b: I16) -> I16 = vreinterpretq_s16_u16 vminq_s16 vreinterpretq_u16_s16;
        max_i16(a, b: I16) -> I16 = vreinterpretq_s16_u16 vmaxq_s16 vreinterpretq_u16_s16;
        min_i32(a, b: I32) -> I32 = vreinterpretq_s32_u32 vminq_s32 vreinterpretq_u32_s32;
        max_i32(a, b: I32) -> I32 = vreinterpretq_s32_u32 vmaxq_s32 vreinterpretq_u32_s32;
        lt_i32(a, b: I32) -> uint32x4_t = vreinterpretq_s32_u32 vcltq_s32;
        lt_i64(a, b: I64) -> uint64x2_t = vreinterpretq_s64_u64 vcltq_s64;
        i32_to_f32(a: I32) -> F32 = vreinterpretq_s32_u32 vcvtq_f32_s32;
        i64_to_f64(a: I64) -> F64 = vreinterpretq_s64_u64 vcvtq_f64_s64;
    }

    #[inline(always)]
    fn splat_i8(self, x: i8) -> I8 {
        self.neon.vdupq_n_u8(x as u8)
    }

    #[inline(always)]
    fn splat_i16(self, x: i16) -> I16 {
        self.neon.vdupq_n_u16(x as u16)
    }

    #[inline(always)]
    fn splat_i32(self, x: i32) -> I32 {
        self.neon.vdupq_n_u32(x as u32)
    }

    #[inline(always)]
    fn splat_i64(self, x: i64) -> I64 {
        self.neon.vdupq_n_u64(x as u64)
    }

    #[inline(always)]
    fn fma_f32(self, a: F32, b: F32, c: F32) -> F32 {
        self.neon.vfmaq_f32(c, a, b)
    }

    #[inline(always)]
    fn nfma_f32(self, a: F32, b: F32, c: F32) -> F32 {
        self.neon.vfmsq_f32(c, a, b)
    }

    #[inline(always)]
    fn max_number_f32(self, a: F32, b: F32) -> F32 {
        // Not FMAXNM: of a signalling NaN it makes a quiet one.
        self.neon.vbslq_f32(self.neon.vcgtq_f32(a, b), a, b)
    }

    #[inline(always)]
    fn min_number_f32(self, a: F32, b: F32) -> F32 {
        self.neon.vbslq_f32(self.neon.vcltq_f32(a, b), a, b)
    }

    #[inline(always)]
    fn max_number_f64(self, a: F64, b: F64) -> F64 {
        self.neon.vbslq_f64(self.neon.vcgtq_f64(a, b), a, b)
    }

    #[inline(always)]
    fn min_number_f64(self, a: F64, b: F64) -> F64 {
        self.neon.vbslq_f64(self.neon.vcltq_f64(a, b), a, b)
    }

    #[inline(always)]
    fn is_nan_f32(self, a: F32) -> uint32x4_t {
        self.neon.vmvnq_u32(self.neon.vceqq_f32(a, a))
    }

    #[inline(always)]
    fn round_f32(self, a: F32, rounding: impl Round) -> F32 {
        rounded!(rounding, self.neon, vrndnq_f32 vrndq_f32 vrndpq_f32 vrndmq_f32 vrndaq_f32, a)
    }

    #[inline(always)]
    fn fma_f64(self, a: F64, b: F64, c: F64) -> F64 {
        self.neon.vfmaq_f64(c, a, b)
    }

    #[inline(always)]
    fn nfma_f64(self, a: F64, b: F64, c: F64) -> F64 {
        self.neon.vfmsq_f64(c, a, b)
    }

    #[inline(always)]
    fn is_nan_f64(self, a: F64) -> uint64x2_t {
        self.bits_f64(self.neon.vreinterpretq_f64_u32(
            self.neon.vmvnq_u32(self.neon.vreinterpretq_u32_u64(self.neon.vceqq_f64(a, a))),
        ))
    }

    #[inline(always)]
    fn round_f64(self, a: F64, rounding: impl Round) -> F64 {
        rounded!(rounding, self.neon, vrndnq_f64 vrndq_f64 vrndpq_f64 vrndmq_f64 vrndaq_f64, a)
    }

    #[inline(always)]
    fn andnot_m32(self, a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {
        self.neon.vbicq_u32(b, a)
    }

    #[inline(always)]
    fn mask_to_i32(self, mask: uint32x4_t) -> I32 {
        mask
    }

    #[inline(always)]
    fn any_m32(self, mask: uint32x4_t) -> bool {
        self.nonzero_i32(mask)
    }

    #[inline(always)]
    fn mask_false(self) -> uint32x4_t {
        self.splat_i32(0)
    }

    #[inline(always)]
    fn andnot_m64(self, a: uint64x2_t, b: uint64x2_t) -> uint64x2_t {
        self.neon.vbicq_u64(b, a)
    }

    #[inline(always)]
    fn mask_to_i64(self, mask: uint64x2_t) -> I64 {
        mask
    }

    #[inline(always)]
    fn any_m64(self, mask: uint64x2_t) -> bool {
        self.nonzero_i64(mask)
    }

    #[inline(always)]
    fn select_eq_i8(self, x: I8, key: I8, a: I8, b: I8) -> I8 {
        self.neon.vbslq_u8(self.neon.vceqq_u8(x, key), a, b)
    }

    #[inline(always)]
    fn nonzero_i8(self, a: I8) -> bool {
        self.nonzero_i32(self.neon.vreinterpretq_u32_u8(a))
    }

    #[inline(always)]
    fn swap_bytes<const SIZE: usize>(self, a: I8) -> I8 {
        const { assert!(matches!(SIZE, 2 | 4 | 8), "an element of several bytes") };
        match SIZE {
            2 => self.neon.vrev16q_u8(a),
            4 => self.neon.vrev32q_u8(a),
            _ => self.neon.vrev64q_u8(a),
        }
    }

    #[inline(always)]
    fn select_eq_i16(self, x: I16, key: I16, a: I16, b: I16) -> I16 {
        self.neon.vbslq_u16(self.neon.vceqq_u16(x, key), a, b)
    }

    #[inline(always)]
    fn nonzero_i16(self, a: I16) -> bool {
        self.nonzero_i32(self.neon.vreinterpretq_u32_u16(a))
    }

    #[inline(always)]
    fn andnot_i32(self, a: I32, b: I32) -> I32 {
        self.neon.vbicq_u32(b, a)
    }

    #[inline(always)]
    fn shl_i32<const N: i32>(self, a: I32) -> I32 {
        self.neon.vshlq_n_u32::<N>(a)
    }

    #[inline(always)]
    fn shr_u32<const N: i32>(self, a: I32) -> I32 {
        self.neon.vshrq_n_u32::<N>(a)
    }

    #[inline(always)]
    fn shr_i32<const N: i32>(self, a: I32) -> I32 {
        let shifted = self.neon.vshrq_n_s32::<N>(self.neon.vreinterpretq_s32_u32(a));
        self.neon.vreinterpretq_u32_s32(shifted)
    }

    #[inline(always)]
    fn shl_i16_by(self, a: I16, count: u32) -> I16 {
        self.neon.vshlq_u16(a, self.neon.vdupq_n_s16(count as i16))
    }

    #[inline(always)]
    fn shr_u16_by(self, a: I16, count: u32) -> I16 {
        self.neon.vshlq_u16(a, self.neon.vdupq_n_s16(-(count as i16)))
    }

    #[inline(always)]
    fn shl_i32_by(self, a: I32, count: u32) -> I32 {
        self.neon.vshlq_u32(a, self.neon.vdupq_n_s32(count as i32))
    }

    #[inline(always)]
    fn table_i16(self, values: [i16; 8]) -> I16 {
        // SAFETY: the array has as many bytes as a register.
        unsafe { self.load_i16(values.as_ptr().cast()) }
    }

    #[inline(always)]
    fn look_up_i16(self, table: I16, numbers: I16) -> I16 {
        // The numbers of the two bytes of each value.
        let first = self.mul_i16(numbers, self.splat_i16(0x0202));
        let bytes = self.add_i16(first, self.splat_i16(0x0100));
        let table = self.neon.vreinterpretq_u8_u16(table);
        let found = self.neon.vqtbl1q_u8(table, self.neon.vreinterpretq_u8_u16(bytes));
        self.neon.vreinterpretq_u16_u8(found)
    }

    #[inline(always)]
    fn table_i32(self, values: [i32; 8]) -> uint8x16x2_t {
        let bytes = values.as_ptr().cast::<u8>();
        // SAFETY: the first half of the array.
        let low = unsafe { self.load_i8(bytes) };
        // SAFETY: the second one.
        uint8x16x2_t(low, unsafe { self.load_i8(bytes.wrapping_add(16)) })
    }

    #[inline(always)]
    fn look_up_i32(self, table: uint8x16x2_t, numbers: I32) -> I32 {
        // The numbers of the four bytes of each value.
        let first = self.neon.vmulq_u32(numbers, self.neon.vdupq_n_u32(0x0404_0404));
        let bytes = self.neon.vaddq_u32(first, self.neon.vdupq_n_u32(0x0302_0100));
        let bytes = self.neon.vreinterpretq_u8_u32(bytes);
        self.neon.vreinterpretq_u32_u8(self.neon.vqtbl2q_u8(table, bytes))
    }

    #[inline(always)]
    fn shr_u32_by(self, a: I32, count: u32) -> I32 {
        // A negative count shifts to the right.
        self.neon.vshlq_u32(a, self.neon.vdupq_n_s32(-(count as i32)))
    }

    #[inline(always)]
    fn nonzero_i32(self, a: I32) -> bool {
        self.neon.vmaxvq_u32(a) != 0
    }

    #[inline(always)]
    fn andnot_i64(self, a: I64, b: I64) -> I64 {
        self.neon.vbicq_u64(b, a)
    }

    #[inline(always)]
    fn shr_u64<const N: i32>(self, a: I64) -> I64 {
        self.neon.vshrq_n_u64::<N>(a)
    }

    #[inline(always)]
    fn nonzero_i64(self, a: I64) -> bool {
        self.nonzero_i32(self.neon.vreinterpretq_u32_u64(a))
    }

    #[inline(always)]
    fn f32_to_i32(self, a: F32, rounding: impl Round) -> I32 {
        let rounded = rounded!(
            rounding, self.neon, vcvtnq_s32_f32 vcvtq_s32_f32 vcvtpq_s32_f32 vcvtmq_s32_f32 vcvtaq_s32_f32, a
        );
        self.neon.vreinterpretq_u32_s32(rounded)
    }

    #[inline(always)]
    fn f64_to_i32(self, [a, b]: [F64; 2], rounding: impl Round) -> I32 {
        self.saturate_i64_to_i32([round_to_i64(self, a, rounding), round_to_i64(self, b, rounding)])
    }

    #[inline(always)]
    fn integral_f64_to_i64(self, a: F64) -> I64 {
        self.neon.vreinterpretq_u64_s64(self.neon.vcvtq_s64_f64(a))
    }

    #[inline(always)]
    fn i32_to_f64(self, a: I32) -> [F64; 2] {
        let a = self.neon.vreinterpretq_s32_u32(a);
        let low = self.neon.vmovl_s32(self.neon.vget_low_s32(a));
        let high = self.neon.vmovl_high_s32(a);
        [self.neon.vcvtq_f64_s64(low), self.neon.vcvtq_f64_s64(high)]
    }

    #[inline(always)]
    fn u32_to_f64(self, a: I32) -> [F64; 2] {
        let (low, high) =
            (self.neon.vmovl_u32(self.neon.vget_low_u32(a)), self.neon.vmovl_high_u32(a));
        [self.u64_to_f64(low), self.u64_to_f64(high)]
    }

    #[inline(always)]
    fn f32_to_f64(self, a: F32) -> [F64; 2] {
        [self.neon.vcvt_f64_f32(self.neon.vget_low_f32(a)), self.neon.vcvt_high_f64_f32(a)]
    }

    #[inline(always)]
    fn f64_to_f32(self, [a, b]: [F64; 2]) -> F32 {
        self.neon.vcvt_high_f32_f64(self.neon.vcvt_f32_f64(a), b)
    }

    #[inline(always)]
    fn f16_to_f32(self, a: I16) -> [F32; 2] {
        // SAFETY: the token is proof of NEON.
        let low = unsafe { low_f16_to_f32(a) };
        // SAFETY: as above.
        [low, unsafe { high_f16_to_f32(a) }]
    }

    #[inline(always)]
    fn f32_to_f16(self, a: F32, b: F32, _: impl Round) -> I16 {
        // SAFETY: the token is proof of NEON.
        unsafe { f32_to_f16(a, b) }
    }

    #[inline(always)]
    fn i32_to_i64(self, a: I32) -> [I64; 2] {
        let a = self.neon.vreinterpretq_s32_u32(a);
        let [low, high] =
            [self.neon.vmovl_s32(self.neon.vget_low_s32(a)), self.neon.vmovl_high_s32(a)];
        [self.neon.vreinterpretq_u64_s64(low), self.neon.vreinterpretq_u64_s64(high)]
    }

    #[inline(always)]
    fn low_i64_to_i32(self, [a, b]: [I64; 2]) -> I32 {
        let (a, b) = (self.neon.vreinterpretq_u32_u64(a), self.neon.vreinterpretq_u32_u64(b));
        self.neon.vuzp1q_u32(a, b)
    }

    #[inline(always)]
    fn saturate_i64_to_i32(self, [a, b]: [I64; 2]) -> I32 {
        let (a, b) = (self.neon.vreinterpretq_s64_u64(a), self.neon.vreinterpretq_s64_u64(b));
        let narrow = self.neon.vqmovn_high_s64(self.neon.vqmovn_s64(a), b);
        self.neon.vreinterpretq_u32_s32(narrow)
    }

    #[inline(always)]
    fn saturate_u64_to_u32(self, [a, b]: [I64; 2]) -> I32 {
        self.neon.vqmovn_high_u64(self.neon.vqmovn_u64(a), b)
    }

    #[inline(always)]
    fn pack_i32_to_i16(self, a: I32, b: I32) -> I16 {
        let (a, b) = (self.neon.vreinterpretq_s32_u32(a), self.neon.vreinterpretq_s32_u32(b));
        let packed = self.neon.vqmovn_high_s32(self.neon.vqmovn_s32(a), b);
        self.neon.vreinterpretq_u16_s16(packed)
    }

    #[inline(always)]
    fn pack_i32_to_u16(self, a: I32, b: I32) -> I16 {
        let (a, b) = (self.neon.vreinterpretq_s32_u32(a), self.neon.vreinterpretq_s32_u32(b));
        self.neon.vqmovun_high_s32(self.neon.vqmovun_s32(a), b)
    }

    #[inline(always)]
    fn pack_i16_to_i8(self, a: I16, b: I16) -> I8 {
        let (a, b) = (self.neon.vreinterpretq_s16_u16(a), self.neon.vreinterpretq_s16_u16(b));
        let packed = self.neon.vqmovn_high_s16(self.neon.vqmovn_s16(a), b);
        self.neon.vreinterpretq_u8_s8(packed)
    }

    #[inline(always)]
    fn pack_i16_to_u8(self, a: I16, b: I16) -> I8 {
        let (a, b) = (self.neon.vreinterpretq_s16_u16(a), self.neon.vreinterpretq_s16_u16(b));
        self.neon.vqmovun_high_s16(self.neon.vqmovun_s16(a), b)
    }

    #[inline(always)]
    fn low_i32_to_i8(self, [a, b, c, d]: [I32; 4]) -> I8 {
        let to_bytes = |x| self.neon.vreinterpretq_u8_u32(x);
        let group = uint8x16x4_t(to_bytes(a), to_bytes(b), to_bytes(c), to_bytes(d));
        let lowest: [u8; 16] = [0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60];
        // SAFETY: the array is a register's bytes.
        let lowest = unsafe { self.load_i8(lowest.as_ptr()) };
        self.neon.vqtbl4q_u8(group, lowest)
    }

    #[inline(always)]
    fn low_i32_to_i16(self, a: I32, b: I32) -> I16 {
        let (a, b) = (self.neon.vreinterpretq_u16_u32(a), self.neon.vreinterpretq_u16_u32(b));
        self.neon.vuzp1q_u16(a, b)
    }

    #[inline(always)]
    fn high_i32_to_i16(self, a: I32, b: I32) -> I16 {
        let (a, b) = (self.neon.vreinterpretq_u16_u32(a), self.neon.vreinterpretq_u16_u32(b));
        self.neon.vuzp2q_u16(a, b)
    }

    #[inline(always)]
    fn low_i16_to_i8(self, a: I16, b: I16) -> I8 {
        let (a, b) = (self.neon.vreinterpretq_u8_u16(a), self.neon.vreinterpretq_u8_u16(b));
        self.neon.vuzp1q_u8(a, b)
    }

    #[inline(always)]
    fn order_i16(self, a: I16) -> I16 {
        a
    }

    #[inline(always)]
    fn order_i8(self, a: I8) -> I8 {
        a
    }

    #[inline(always)]
    fn unscramble_two_packs(self, a: I8) -> I8 {
        a
    }
}

impl LookUpBytes for Neon {
    type ByteTable = [uint8x16x4_t; 4];

    #[inline(always)]
    fn byte_table(self, values: &[u8; 256]) -> [uint8x16x4_t; 4] {
        let (quarters, _) = values.as_chunks::<64>();
        core::array::from_fn(|quarter| {
            let row = |row: usize| {
                // SAFETY: one of the four rows of 16 of the quarter.
                unsafe { self.load_i8(quarters[quarter].as_ptr().wrapping_add(row * 16)) }
            };
            uint8x16x4_t(row(0), row(1), row(2), row(3))
        })
    }

    #[inline(always)]
    fn look_up_i8(self, table: [uint8x16x4_t; 4], numbers: I8) -> I8 {
        let [first, rest @ ..] = table;
        let mut at = numbers;
        let mut found = self.neon.vqtbl4q_u8(first, at);
        for quarter in rest {
            at = self.sub_i8(at, self.splat_i8(64));
            // Keeps what was found where the number is in another quarter.
            found = self.neon.vqtbx4q_u8(found, quarter, at);
        }
        found
    }
}

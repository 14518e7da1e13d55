//! AVX2 with FMA and F16C: registers of 32 bytes.

use core::arch::x86_64::{
    __m128i, __m256, __m256d, __m256i, _CMP_EQ_OQ, _CMP_LE_OQ, _CMP_LT_OQ, _CMP_UNORD_Q,
    _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _MM_FROUND_TO_NEG_INF, _MM_FROUND_TO_POS_INF,
    _MM_FROUND_TO_ZERO, _mm_loadl_epi64, _mm_loadu_si32, _mm_loadu_si128, _mm256_cvtph_ps,
    _mm256_cvtps_ph, _mm256_loadu_pd, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_storeu_pd,
    _mm256_storeu_ps, _mm256_storeu_si256,
};

use super::{LookUpBytes, Round, Simd, x86};
use crate::Rounding;

const NEAREST_EVEN: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
const TOWARDS_ZERO: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
const TOWARDS_POSITIVE: i32 = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;
const TOWARDS_NEGATIVE: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;

/// 2^52, and 2^84 and 2^84 + 2^63 for upper halves: their mantissas count in units of 1 and 2^32.
const TWO_P52: i64 = 0x4330_0000_0000_0000;
const TWO_P84: i64 = 0x4530_0000_0000_0000;
const TWO_P84_P63: i64 = 0x4530_0000_8000_0000;
const TWO_P84_P63_P52: i64 = 0x4530_0000_8010_0000;
const TWO_P84_P52: i64 = 0x4530_0000_0010_0000;

// Each feature here brings those before it: AVX2 has SSE to AVX.
pulp::simd_type!({
    /// The proof that the CPU has the level's features.
    #[allow(clippy::struct_field_names)] // the features' own names
    pub(crate) struct Avx2 {
        pub sse2: f!("sse2"),
        pub avx: f!("avx"),
        pub avx2: f!("avx2"),
        pub bmi1: f!("bmi1"),
        pub bmi2: f!("bmi2"),
        pub fma: f!("fma"),
        pub lzcnt: f!("lzcnt"),
        pub f16c: f!("f16c"),
    }
});

type F = __m256;
type D = __m256d;
type I = __m256i;

/// Operations that are one instruction of pulp's safe ones.
macro_rules! instructions {
    ($($name:ident($($a:ident: $t:ty),*) -> $r:ty = $token:ident.$instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, $($a: $t),*) -> $r {
            self.$token.$instruction($($a),*)
        }
    )*};
}

/// Loads and stores.
macro_rules! memory {
    ($(load $load:ident $store:ident $t:ty = $in:ident $out:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $load(self, p: *const u8) -> $t {
            // SAFETY: the caller vouches for the memory, the token for AVX.
            unsafe { $in(p.cast()) }
        }
        #[inline(always)]
        unsafe fn $store(self, p: *mut u8, x: $t) {
            // SAFETY: as above.
            unsafe { $out(p.cast(), x) }
        }
    )*};
    ($(widen $name:ident = $bytes:ident $instruction:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(self, p: *const u8) -> I {
            // SAFETY: the caller vouches for the memory.
            let narrow = unsafe { $bytes(p.cast()) };
            self.avx2.$instruction(narrow)
        }
    )*};
    ($(unit $name:ident $size:literal = $bytes:ident $instruction:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name<const UNIT: usize>(self, p: *const u8) -> I {
            // SAFETY: the caller vouches for the group.
            let narrow = unsafe { $bytes(p.wrapping_add(UNIT * 8 * $size).cast()) };
            self.avx2.$instruction(narrow)
        }
    )*};
}

impl Avx2 {
    /// One register, as [`Simd::f32_to_f16`].
    #[inline(always)]
    #[allow(clippy::unused_self)] // it is the proof
    fn to_f16(self, x: F, rounding: impl Round) -> __m128i {
        match rounding.rounding() {
            Rounding::NearestEven | Rounding::NearestAway => {
                // SAFETY: the token is proof of F16C.
                unsafe { _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x) }
            }
            // SAFETY: as above.
            Rounding::TowardsZero => unsafe { _mm256_cvtps_ph::<_MM_FROUND_TO_ZERO>(x) },
            // SAFETY: as above.
            Rounding::TowardsPositive => unsafe { _mm256_cvtps_ph::<_MM_FROUND_TO_POS_INF>(x) },
            // SAFETY: as above.
            Rounding::TowardsNegative => unsafe { _mm256_cvtps_ph::<_MM_FROUND_TO_NEG_INF>(x) },
        }
    }
}

impl Simd for Avx2 {
    type I8 = I;
    type I16 = I;
    type I32 = I;
    type I64 = I;
    type F32 = F;
    type F64 = D;
    type Table = I;
    type M32 = F;
    type M64 = D;
    const BYTES: usize = 32;
    const GROUPS: usize = 1;
    const INVALID_IS_MIN: bool = true;
    const ROUNDS_F16: bool = true;
    const FUSES: bool = true;
    const SELECTS_IN_ONE: bool = false;
    const MAX_NUMBER_IN_ONE: bool = true;

    #[inline(always)]
    fn vectorize<R>(self, f: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx2,bmi1,bmi2,fma,lzcnt,f16c")]
        fn with_features<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        // SAFETY: the token is proof of the features.
        unsafe { with_features(f) }
    }

    memory! {
        load load_i8 store_i8 I = _mm256_loadu_si256 _mm256_storeu_si256;
        load load_i16 store_i16 I = _mm256_loadu_si256 _mm256_storeu_si256;
        load load_i32 store_i32 I = _mm256_loadu_si256 _mm256_storeu_si256;
        load load_i64 store_i64 I = _mm256_loadu_si256 _mm256_storeu_si256;
        load load_f32 store_f32 F = _mm256_loadu_ps _mm256_storeu_ps;
        load load_f64 store_f64 D = _mm256_loadu_pd _mm256_storeu_pd;
    }
    memory! {
        widen load_i8_to_i16 = _mm_loadu_si128 _mm256_cvtepi8_epi16;
        widen load_u8_to_i16 = _mm_loadu_si128 _mm256_cvtepu8_epi16;
        widen load_i8_to_i64 = _mm_loadu_si32 _mm256_cvtepi8_epi64;
        widen load_u8_to_i64 = _mm_loadu_si32 _mm256_cvtepu8_epi64;
        widen load_i16_to_i64 = _mm_loadl_epi64 _mm256_cvtepi16_epi64;
        widen load_u16_to_i64 = _mm_loadl_epi64 _mm256_cvtepu16_epi64;
        widen load_i32_to_i64 = _mm_loadu_si128 _mm256_cvtepi32_epi64;
        widen load_u32_to_i64 = _mm_loadu_si128 _mm256_cvtepu32_epi64;
    }

    memory! {
        unit load_i8_to_i32 1 = _mm_loadl_epi64 _mm256_cvtepi8_epi32;
        unit load_u8_to_i32 1 = _mm_loadl_epi64 _mm256_cvtepu8_epi32;
        unit load_i16_to_i32 2 = _mm_loadu_si128 _mm256_cvtepi16_epi32;
        unit load_u16_to_i32 2 = _mm_loadu_si128 _mm256_cvtepu16_epi32;
    }

    #[inline(always)]
    unsafe fn load_f16_to_f32<const UNIT: usize>(self, p: *const u8) -> F {
        // SAFETY: the caller vouches for the group.
        let narrow = unsafe { _mm_loadu_si128(p.wrapping_add(UNIT * 16).cast()) };
        // SAFETY: the token is proof of F16C.
        unsafe { _mm256_cvtph_ps(narrow) }
    }

    instructions! {
        splat_i8(x: i8) -> I = avx._mm256_set1_epi8;
        splat_i16(x: i16) -> I = avx._mm256_set1_epi16;
        splat_i32(x: i32) -> I = avx._mm256_set1_epi32;
        splat_i64(x: i64) -> I = avx._mm256_set1_epi64x;
        splat_f32(x: f32) -> F = avx._mm256_set1_ps;
        splat_f64(x: f64) -> D = avx._mm256_set1_pd;

        add_f32(a: F, b: F) -> F = avx._mm256_add_ps;
        sub_f32(a: F, b: F) -> F = avx._mm256_sub_ps;
        mul_f32(a: F, b: F) -> F = avx._mm256_mul_ps;
        div_f32(a: F, b: F) -> F = avx._mm256_div_ps;
        fma_f32(a: F, b: F, c: F) -> F = fma._mm256_fmadd_ps;
        nfma_f32(a: F, b: F, c: F) -> F = fma._mm256_fnmadd_ps;
        min_f32(a: F, b: F) -> F = avx._mm256_min_ps;
        max_f32(a: F, b: F) -> F = avx._mm256_max_ps;
        max_number_f32(a: F, b: F) -> F = avx._mm256_max_ps;
        min_number_f32(a: F, b: F) -> F = avx._mm256_min_ps;
        bits_f32(a: F) -> I = avx._mm256_castps_si256;
        f32_from_bits(a: I) -> F = avx._mm256_castsi256_ps;

        add_f64(a: D, b: D) -> D = avx._mm256_add_pd;
        sub_f64(a: D, b: D) -> D = avx._mm256_sub_pd;
        mul_f64(a: D, b: D) -> D = avx._mm256_mul_pd;
        div_f64(a: D, b: D) -> D = avx._mm256_div_pd;
        fma_f64(a: D, b: D, c: D) -> D = fma._mm256_fmadd_pd;
        nfma_f64(a: D, b: D, c: D) -> D = fma._mm256_fnmadd_pd;
        min_f64(a: D, b: D) -> D = avx._mm256_min_pd;
        max_f64(a: D, b: D) -> D = avx._mm256_max_pd;
        max_number_f64(a: D, b: D) -> D = avx._mm256_max_pd;
        min_number_f64(a: D, b: D) -> D = avx._mm256_min_pd;
        bits_f64(a: D) -> I = avx._mm256_castpd_si256;
        f64_from_bits(a: I) -> D = avx._mm256_castsi256_pd;

        and_m32(a: F, b: F) -> F = avx._mm256_and_ps;
        or_m32(a: F, b: F) -> F = avx._mm256_or_ps;
        andnot_m32(a: F, b: F) -> F = avx._mm256_andnot_ps;
        mask_to_i32(mask: F) -> I = avx._mm256_castps_si256;
        mask_false() -> F = avx._mm256_setzero_ps;
        and_m64(a: D, b: D) -> D = avx._mm256_and_pd;
        andnot_m64(a: D, b: D) -> D = avx._mm256_andnot_pd;
        mask_to_i64(mask: D) -> I = avx._mm256_castpd_si256;

        sub_i8(a: I, b: I) -> I = avx2._mm256_sub_epi8;
        and_i8(a: I, b: I) -> I = avx2._mm256_and_si256;
        or_i8(a: I, b: I) -> I = avx2._mm256_or_si256;
        xor_i8(a: I, b: I) -> I = avx2._mm256_xor_si256;
        min_i8(a: I, b: I) -> I = avx2._mm256_min_epi8;
        max_i8(a: I, b: I) -> I = avx2._mm256_max_epi8;
        min_u8(a: I, b: I) -> I = avx2._mm256_min_epu8;
        max_u8(a: I, b: I) -> I = avx2._mm256_max_epu8;

        add_i16(a: I, b: I) -> I = avx2._mm256_add_epi16;
        sub_i16(a: I, b: I) -> I = avx2._mm256_sub_epi16;
        and_i16(a: I, b: I) -> I = avx2._mm256_and_si256;
        or_i16(a: I, b: I) -> I = avx2._mm256_or_si256;
        xor_i16(a: I, b: I) -> I = avx2._mm256_xor_si256;
        min_i16(a: I, b: I) -> I = avx2._mm256_min_epi16;
        max_i16(a: I, b: I) -> I = avx2._mm256_max_epi16;
        min_u16(a: I, b: I) -> I = avx2._mm256_min_epu16;
        max_u16(a: I, b: I) -> I = avx2._mm256_max_epu16;
        mul_i16(a: I, b: I) -> I = avx2._mm256_mullo_epi16;

        add_i32(a: I, b: I) -> I = avx2._mm256_add_epi32;
        sub_i32(a: I, b: I) -> I = avx2._mm256_sub_epi32;
        mul_i32(a: I, b: I) -> I = avx2._mm256_mullo_epi32;
        look_up_i32(table: I, numbers: I) -> I = avx2._mm256_permutevar8x32_epi32;
        and_i32(a: I, b: I) -> I = avx2._mm256_and_si256;
        andnot_i32(a: I, b: I) -> I = avx2._mm256_andnot_si256;
        or_i32(a: I, b: I) -> I = avx2._mm256_or_si256;
        xor_i32(a: I, b: I) -> I = avx2._mm256_xor_si256;
        min_i32(a: I, b: I) -> I = avx2._mm256_min_epi32;
        max_i32(a: I, b: I) -> I = avx2._mm256_max_epi32;
        min_u32(a: I, b: I) -> I = avx2._mm256_min_epu32;
        max_u32(a: I, b: I) -> I = avx2._mm256_max_epu32;

        add_i64(a: I, b: I) -> I = avx2._mm256_add_epi64;
        sub_i64(a: I, b: I) -> I = avx2._mm256_sub_epi64;
        and_i64(a: I, b: I) -> I = avx2._mm256_and_si256;
        andnot_i64(a: I, b: I) -> I = avx2._mm256_andnot_si256;
        or_i64(a: I, b: I) -> I = avx2._mm256_or_si256;
        xor_i64(a: I, b: I) -> I = avx2._mm256_xor_si256;

        i32_to_f32(a: I) -> F = avx._mm256_cvtepi32_ps;

        pack_i32_to_i16(a: I, b: I) -> I = avx2._mm256_packs_epi32;
        pack_i32_to_u16(a: I, b: I) -> I = avx2._mm256_packus_epi32;
        pack_i16_to_i8(a: I, b: I) -> I = avx2._mm256_packs_epi16;
        pack_i16_to_u8(a: I, b: I) -> I = avx2._mm256_packus_epi16;
    }

    #[inline(always)]
    fn abs_f32(self, a: F) -> F {
        self.avx._mm256_and_ps(a, self.splat_f32(f32::from_bits(0x7fff_ffff)))
    }

    #[inline(always)]
    fn eq_f32(self, a: F, b: F) -> F {
        self.avx._mm256_cmp_ps::<_CMP_EQ_OQ>(a, b)
    }

    #[inline(always)]
    fn lt_f32(self, a: F, b: F) -> F {
        self.avx._mm256_cmp_ps::<_CMP_LT_OQ>(a, b)
    }

    #[inline(always)]
    fn le_f32(self, a: F, b: F) -> F {
        self.avx._mm256_cmp_ps::<_CMP_LE_OQ>(a, b)
    }

    #[inline(always)]
    fn is_nan_f32(self, a: F) -> F {
        self.avx._mm256_cmp_ps::<_CMP_UNORD_Q>(a, a)
    }

    #[inline(always)]
    fn select_f32(self, mask: F, a: F, b: F) -> F {
        self.avx._mm256_blendv_ps(b, a, mask)
    }

    #[inline(always)]
    fn round_f32(self, a: F, rounding: impl Round) -> F {
        match rounding.rounding() {
            Rounding::NearestEven => self.avx._mm256_round_ps::<NEAREST_EVEN>(a),
            Rounding::TowardsZero => self.avx._mm256_round_ps::<TOWARDS_ZERO>(a),
            Rounding::TowardsPositive => self.avx._mm256_round_ps::<TOWARDS_POSITIVE>(a),
            Rounding::TowardsNegative => self.avx._mm256_round_ps::<TOWARDS_NEGATIVE>(a),
            Rounding::NearestAway => {
                let sign = self.avx._mm256_and_ps(a, self.splat_f32(-0.0));
                let half = self.avx._mm256_or_ps(sign, self.splat_f32(0.5_f32.next_down()));
                self.avx._mm256_round_ps::<TOWARDS_ZERO>(self.add_f32(a, half))
            }
        }
    }

    #[inline(always)]
    fn abs_f64(self, a: D) -> D {
        self.avx._mm256_and_pd(a, self.splat_f64(f64::from_bits(u64::MAX >> 1)))
    }

    #[inline(always)]
    fn eq_f64(self, a: D, b: D) -> D {
        self.avx._mm256_cmp_pd::<_CMP_EQ_OQ>(a, b)
    }

    #[inline(always)]
    fn lt_f64(self, a: D, b: D) -> D {
        self.avx._mm256_cmp_pd::<_CMP_LT_OQ>(a, b)
    }

    #[inline(always)]
    fn le_f64(self, a: D, b: D) -> D {
        self.avx._mm256_cmp_pd::<_CMP_LE_OQ>(a, b)
    }

    #[inline(always)]
    fn is_nan_f64(self, a: D) -> D {
        self.avx._mm256_cmp_pd::<_CMP_UNORD_Q>(a, a)
    }

    #[inline(always)]
    fn select_f64(self, mask: D, a: D, b: D) -> D {
        self.avx._mm256_blendv_pd(b, a, mask)
    }

    #[inline(always)]
    fn round_f64(self, a: D, rounding: impl Round) -> D {
        match rounding.rounding() {
            Rounding::NearestEven => self.avx._mm256_round_pd::<NEAREST_EVEN>(a),
            Rounding::TowardsZero => self.avx._mm256_round_pd::<TOWARDS_ZERO>(a),
            Rounding::TowardsPositive => self.avx._mm256_round_pd::<TOWARDS_POSITIVE>(a),
            Rounding::TowardsNegative => self.avx._mm256_round_pd::<TOWARDS_NEGATIVE>(a),
            Rounding::NearestAway => {
                let sign = self.avx._mm256_and_pd(a, self.splat_f64(-0.0));
                let half = self.avx._mm256_or_pd(sign, self.splat_f64(0.5_f64.next_down()));
                self.avx._mm256_round_pd::<TOWARDS_ZERO>(self.add_f64(a, half))
            }
        }
    }

    #[inline(always)]
    fn any_m32(self, mask: F) -> bool {
        self.avx._mm256_movemask_ps(mask) != 0
    }

    #[inline(always)]
    fn any_m64(self, mask: D) -> bool {
        self.avx._mm256_movemask_pd(mask) != 0
    }

    #[inline(always)]
    fn select_eq_i8(self, x: I, key: I, a: I, b: I) -> I {
        self.avx2._mm256_blendv_epi8(b, a, self.avx2._mm256_cmpeq_epi8(x, key))
    }

    #[inline(always)]
    fn nonzero_i8(self, a: I) -> bool {
        self.avx._mm256_testz_si256(a, a) == 0
    }

    #[inline(always)]
    fn swap_bytes<const SIZE: usize>(self, a: I) -> I {
        let mut order = [0_u8; 32];
        for (index, place) in order.iter_mut().enumerate() {
            *place = (index % 16) as u8 ^ (SIZE as u8 - 1);
        }
        self.avx2._mm256_shuffle_epi8(a, bytemuck::cast(order))
    }

    #[inline(always)]
    fn select_eq_i16(self, x: I, key: I, a: I, b: I) -> I {
        self.avx2._mm256_blendv_epi8(b, a, self.avx2._mm256_cmpeq_epi16(x, key))
    }

    #[inline(always)]
    fn nonzero_i16(self, a: I) -> bool {
        self.nonzero_i8(a)
    }

    #[inline(always)]
    fn eq_i32(self, a: I, b: I) -> F {
        self.f32_from_bits(self.avx2._mm256_cmpeq_epi32(a, b))
    }

    #[inline(always)]
    fn lt_i32(self, a: I, b: I) -> F {
        self.f32_from_bits(self.avx2._mm256_cmpgt_epi32(b, a))
    }

    #[inline(always)]
    fn select_i32(self, mask: F, a: I, b: I) -> I {
        self.bits_f32(self.select_f32(mask, self.f32_from_bits(a), self.f32_from_bits(b)))
    }

    #[inline(always)]
    fn shl_i32<const N: i32>(self, a: I) -> I {
        self.avx2._mm256_slli_epi32::<N>(a)
    }

    #[inline(always)]
    fn shr_u32<const N: i32>(self, a: I) -> I {
        self.avx2._mm256_srli_epi32::<N>(a)
    }

    #[inline(always)]
    fn shr_i32<const N: i32>(self, a: I) -> I {
        self.avx2._mm256_srai_epi32::<N>(a)
    }

    #[inline(always)]
    fn shl_i16_by(self, a: I, count: u32) -> I {
        self.avx2._mm256_sll_epi16(a, self.sse2._mm_cvtsi32_si128(count as i32))
    }

    #[inline(always)]
    fn shr_u16_by(self, a: I, count: u32) -> I {
        self.avx2._mm256_srl_epi16(a, self.sse2._mm_cvtsi32_si128(count as i32))
    }

    #[inline(always)]
    fn shl_i32_by(self, a: I, count: u32) -> I {
        self.avx2._mm256_sll_epi32(a, self.sse2._mm_cvtsi32_si128(count as i32))
    }

    #[inline(always)]
    fn table_i16(self, values: [i16; 8]) -> I {
        bytemuck::cast([values; 2])
    }

    #[inline(always)]
    fn look_up_i16(self, table: I, numbers: I) -> I {
        // The numbers of the two bytes of each value.
        let first = self.mul_i16(numbers, self.splat_i16(0x0202));
        let bytes = self.add_i16(first, self.splat_i16(0x0100));
        self.avx2._mm256_shuffle_epi8(table, bytes)
    }

    #[inline(always)]
    fn table_i32(self, v: [i32; 8]) -> I {
        self.avx._mm256_setr_epi32(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7])
    }

    #[inline(always)]
    fn shr_u32_by(self, a: I, count: u32) -> I {
        self.avx2._mm256_srl_epi32(a, self.sse2._mm_cvtsi32_si128(count as i32))
    }

    #[inline(always)]
    fn nonzero_i32(self, a: I) -> bool {
        self.nonzero_i8(a)
    }

    #[inline(always)]
    fn eq_i64(self, a: I, b: I) -> D {
        self.f64_from_bits(self.avx2._mm256_cmpeq_epi64(a, b))
    }

    #[inline(always)]
    fn lt_i64(self, a: I, b: I) -> D {
        self.f64_from_bits(self.avx2._mm256_cmpgt_epi64(b, a))
    }

    #[inline(always)]
    fn select_i64(self, mask: D, a: I, b: I) -> I {
        self.bits_f64(self.select_f64(mask, self.f64_from_bits(a), self.f64_from_bits(b)))
    }

    #[inline(always)]
    fn shr_u64<const N: i32>(self, a: I) -> I {
        self.avx2._mm256_srli_epi64::<N>(a)
    }

    #[inline(always)]
    fn nonzero_i64(self, a: I) -> bool {
        self.nonzero_i8(a)
    }

    #[inline(always)]
    fn f32_to_i32(self, a: F, rounding: impl Round) -> I {
        match rounding.rounding() {
            Rounding::NearestEven => self.avx._mm256_cvtps_epi32(a),
            Rounding::TowardsZero => self.avx._mm256_cvttps_epi32(a),
            Rounding::TowardsPositive | Rounding::TowardsNegative => {
                self.avx._mm256_cvtps_epi32(self.round_f32(a, rounding))
            }
            Rounding::NearestAway => {
                // A tie has an even mantissa, so the next number is beyond the tie and nothing else.
                let one = self.splat_f32(f32::from_bits(1));
                self.avx._mm256_cvtps_epi32(self.avx._mm256_or_ps(a, one))
            }
        }
    }

    #[inline(always)]
    fn f64_to_i32(self, [a, b]: [D; 2], rounding: impl Round) -> I {
        let (low, high) = match rounding.rounding() {
            Rounding::NearestEven => {
                (self.avx._mm256_cvtpd_epi32(a), self.avx._mm256_cvtpd_epi32(b))
            }
            Rounding::TowardsZero => {
                (self.avx._mm256_cvttpd_epi32(a), self.avx._mm256_cvttpd_epi32(b))
            }
            Rounding::TowardsPositive | Rounding::TowardsNegative => {
                let (a, b) = (self.round_f64(a, rounding), self.round_f64(b, rounding));
                (self.avx._mm256_cvtpd_epi32(a), self.avx._mm256_cvtpd_epi32(b))
            }
            Rounding::NearestAway => {
                // As above.
                let one = self.splat_f64(f64::from_bits(1));
                let (a, b) = (self.avx._mm256_or_pd(a, one), self.avx._mm256_or_pd(b, one));
                (self.avx._mm256_cvtpd_epi32(a), self.avx._mm256_cvtpd_epi32(b))
            }
        };
        self.avx2._mm256_inserti128_si256::<1>(self.avx._mm256_castsi128_si256(low), high)
    }

    #[inline(always)]
    fn integral_f64_to_i64(self, a: D) -> I {
        self.integral_f64_to_u64(a)
    }

    #[inline(always)]
    fn integral_f64_to_u64(self, a: D) -> I {
        // The high and the low 32 bits are each read from the mantissa of a sum; all is exact.
        let high = self.mul_f64(a, self.splat_f64(1.0 / 4_294_967_296.0));
        let high = self.avx._mm256_round_pd::<TOWARDS_NEGATIVE>(high);
        let low = self.nfma_f64(high, self.splat_f64(4_294_967_296.0), a);
        let high = self.add_f64(high, self.splat_f64(6_755_399_441_055_744.0));
        let low = self.add_f64(low, self.splat_f64(f64::from_bits(TWO_P52 as u64)));
        let high = self.avx2._mm256_slli_epi64::<32>(self.bits_f64(high));
        self.avx2._mm256_blend_epi32::<0b1010_1010>(self.bits_f64(low), high)
    }

    #[inline(always)]
    fn i32_to_f64(self, a: I) -> [D; 2] {
        let (low, high) =
            (self.avx._mm256_castsi256_si128(a), self.avx2._mm256_extracti128_si256::<1>(a));
        [self.avx._mm256_cvtepi32_pd(low), self.avx._mm256_cvtepi32_pd(high)]
    }

    #[inline(always)]
    fn u32_to_f64(self, a: I) -> [D; 2] {
        let (low, high) =
            (self.avx._mm256_castsi256_si128(a), self.avx2._mm256_extracti128_si256::<1>(a));
        let (low, high) =
            (self.avx2._mm256_cvtepu32_epi64(low), self.avx2._mm256_cvtepu32_epi64(high));
        let two_p52 = self.splat_i64(TWO_P52);
        let low = self.f64_from_bits(self.or_i64(low, two_p52));
        let high = self.f64_from_bits(self.or_i64(high, two_p52));
        let two_p52 = self.f64_from_bits(two_p52);
        [self.sub_f64(low, two_p52), self.sub_f64(high, two_p52)]
    }

    #[inline(always)]
    fn i64_to_f64(self, a: I) -> D {
        let low = self.avx2._mm256_blend_epi32::<0b0101_0101>(self.splat_i64(TWO_P52), a);
        let high = self.xor_i64(self.shr_u64::<32>(a), self.splat_i64(TWO_P84_P63));
        let high = self
            .sub_f64(self.f64_from_bits(high), self.f64_from_bits(self.splat_i64(TWO_P84_P63_P52)));
        self.add_f64(high, self.f64_from_bits(low))
    }

    #[inline(always)]
    fn u64_to_f64(self, a: I) -> D {
        let low = self.avx2._mm256_blend_epi32::<0b0101_0101>(self.splat_i64(TWO_P52), a);
        let high = self.or_i64(self.shr_u64::<32>(a), self.splat_i64(TWO_P84));
        let high =
            self.sub_f64(self.f64_from_bits(high), self.f64_from_bits(self.splat_i64(TWO_P84_P52)));
        self.add_f64(high, self.f64_from_bits(low))
    }

    #[inline(always)]
    fn f32_to_f64(self, a: F) -> [D; 2] {
        let (low, high) =
            (self.avx._mm256_castps256_ps128(a), self.avx._mm256_extractf128_ps::<1>(a));
        [self.avx._mm256_cvtps_pd(low), self.avx._mm256_cvtps_pd(high)]
    }

    #[inline(always)]
    fn f64_to_f32(self, [a, b]: [D; 2]) -> F {
        let (low, high) = (self.avx._mm256_cvtpd_ps(a), self.avx._mm256_cvtpd_ps(b));
        self.avx._mm256_insertf128_ps::<1>(self.avx._mm256_castps128_ps256(low), high)
    }

    #[inline(always)]
    fn f16_to_f32(self, a: I) -> [F; 2] {
        let low = self.avx._mm256_castsi256_si128(a);
        let high = self.avx2._mm256_extracti128_si256::<1>(a);
        // SAFETY: the token is proof of F16C.
        let low = unsafe { _mm256_cvtph_ps(low) };
        // SAFETY: as above.
        [low, unsafe { _mm256_cvtph_ps(high) }]
    }

    #[inline(always)]
    fn f32_to_f16(self, a: F, b: F, rounding: impl Round) -> I {
        let (low, high) = (self.to_f16(a, rounding), self.to_f16(b, rounding));
        self.avx2._mm256_inserti128_si256::<1>(self.avx._mm256_castsi128_si256(low), high)
    }

    #[inline(always)]
    fn i32_to_i64(self, a: I) -> [I; 2] {
        let (low, high) =
            (self.avx._mm256_castsi256_si128(a), self.avx2._mm256_extracti128_si256::<1>(a));
        [self.avx2._mm256_cvtepi32_epi64(low), self.avx2._mm256_cvtepi32_epi64(high)]
    }

    #[inline(always)]
    fn low_i64_to_i32(self, [a, b]: [I; 2]) -> I {
        let (a, b) = (self.f32_from_bits(a), self.f32_from_bits(b));
        let pairs = self.bits_f32(self.avx._mm256_shuffle_ps::<0b10_00_10_00>(a, b));
        self.avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(pairs)
    }

    #[inline(always)]
    fn saturate_i64_to_i32(self, [a, b]: [I; 2]) -> I {
        let (a, b) = (self.f32_from_bits(a), self.f32_from_bits(b));
        let low = self.bits_f32(self.avx._mm256_shuffle_ps::<0b10_00_10_00>(a, b));
        let high = self.bits_f32(self.avx._mm256_shuffle_ps::<0b11_01_11_01>(a, b));
        let fits = self.eq_i32(high, self.shr_i32::<31>(low));
        let bound = self.xor_i32(self.shr_i32::<31>(high), self.splat_i32(i32::MAX));
        let pairs = self.select_i32(fits, low, bound);
        self.avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(pairs)
    }

    #[inline(always)]
    fn saturate_u64_to_u32(self, [a, b]: [I; 2]) -> I {
        let (a, b) = (self.f32_from_bits(a), self.f32_from_bits(b));
        let low = self.bits_f32(self.avx._mm256_shuffle_ps::<0b10_00_10_00>(a, b));
        let high = self.bits_f32(self.avx._mm256_shuffle_ps::<0b11_01_11_01>(a, b));
        let fits = self.eq_i32(high, self.splat_i32(0));
        let pairs = self.select_i32(fits, low, self.splat_i32(-1));
        self.avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(pairs)
    }

    #[inline(always)]
    fn low_i32_to_i8(self, group: [I; 4]) -> I {
        x86::low_i32_to_i8(self, group)
    }

    #[inline(always)]
    fn low_i32_to_i16(self, a: I, b: I) -> I {
        x86::low_i32_to_i16(self, a, b)
    }

    #[inline(always)]
    fn high_i32_to_i16(self, a: I, b: I) -> I {
        x86::high_i32_to_i16(self, a, b)
    }

    #[inline(always)]
    fn low_i16_to_i8(self, a: I, b: I) -> I {
        x86::low_i16_to_i8(self, a, b)
    }

    #[inline(always)]
    fn order_i16(self, a: I) -> I {
        self.avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(a)
    }

    #[inline(always)]
    fn order_i8(self, a: I) -> I {
        self.avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(a)
    }

    #[inline(always)]
    fn unscramble_two_packs(self, a: I) -> I {
        let order = bytemuck::cast([0_u32, 4, 1, 5, 2, 6, 3, 7]);
        self.avx2._mm256_permutevar8x32_epi32(a, order)
    }
}

impl LookUpBytes for Avx2 {
    type ByteTable = [I; 16];

    #[inline(always)]
    fn byte_table(self, values: &[u8; 256]) -> [I; 16] {
        let rows: [[u8; 16]; 16] = bytemuck::cast(x86::byte_rows(values));
        rows.map(|row| bytemuck::cast([row; 2]))
    }

    #[inline(always)]
    fn look_up_i8(self, table: [I; 16], numbers: I) -> I {
        let shuffle = |row, at| self.avx2._mm256_shuffle_epi8(row, at);
        let [low, high] = x86::look_up_i8(self, table, numbers, shuffle);
        self.avx2._mm256_blendv_epi8(low, high, numbers)
    }
}

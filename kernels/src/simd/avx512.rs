//! AVX-512 F, BW, CD, DQ and VL, and VBMI where tables of bytes gain from it: registers of 64 bytes, masks in registers
//! of their own.

use core::arch::x86_64::{
    __m256i, __m512, __m512d, __m512i, __mmask8, __mmask16, _CMP_UNORD_Q, _MM_FROUND_NO_EXC,
    _MM_FROUND_TO_NEAREST_INT, _MM_FROUND_TO_NEG_INF, _MM_FROUND_TO_POS_INF, _MM_FROUND_TO_ZERO,
    _mm_loadl_epi64, _mm_loadu_si128, _mm256_loadu_si256, _mm512_loadu_pd, _mm512_loadu_ps,
    _mm512_loadu_si512, _mm512_permutex2var_epi8, _mm512_storeu_pd, _mm512_storeu_ps,
    _mm512_storeu_si512,
};

use super::{LookUpBytes, Round, Simd, x86};
use crate::Rounding;

const NEAREST_EVEN: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
const TOWARDS_ZERO: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
const TOWARDS_POSITIVE: i32 = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;
const TOWARDS_NEGATIVE: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;

pulp::simd_type!({
    /// The proof that the CPU has the level's features.
    #[allow(clippy::struct_field_names)] // the features' own names
    pub(crate) struct Features {
        pub sse2: f!("sse2"),
        pub avx: f!("avx"),
        pub avx2: f!("avx2"),
        pub fma: f!("fma"),
        pub avx512f: f!("avx512f"),
        pub avx512bw: f!("avx512bw"),
        pub avx512cd: f!("avx512cd"),
        pub avx512dq: f!("avx512dq"),
        pub bmi1: f!("bmi1"),
        pub bmi2: f!("bmi2"),
        pub lzcnt: f!("lzcnt"),
        pub f16c: f!("f16c"),
    }
});

/// The token: [`Features`], VL, which pulp's detection takes F for, and with `VBMI` that: for kernels that look bytes up.
#[derive(Clone, Copy)]
pub(crate) struct Avx512<const VBMI: bool = false>(Features);

/// Whether the CPU has a feature; without the system's word, whether the program is compiled for it.
macro_rules! has {
    ($feature:tt) => {{
        #[cfg(feature = "std")]
        let has = std::arch::is_x86_feature_detected!($feature);
        #[cfg(not(feature = "std"))]
        let has = cfg!(target_feature = $feature);
        has
    }};
}

impl<const VBMI: bool> Avx512<VBMI> {
    /// The token, if the CPU has the features.
    pub(crate) fn try_new() -> Option<Self> {
        let (has_vl, has_vbmi) = (has!("avx512vl"), has!("avx512vbmi"));
        if has_vl && (has_vbmi || !VBMI) { Features::try_new().map(Self) } else { None }
    }
}

type F = __m512;
type D = __m512d;
type I = __m512i;

/// Operations that are one instruction of pulp's safe ones.
macro_rules! instructions {
    ($($name:ident($($a:ident: $t:ty),*) -> $r:ty = $token:ident.$instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, $($a: $t),*) -> $r {
            self.0.$token.$instruction($($a),*)
        }
    )*};
}

/// Loads and stores.
macro_rules! memory {
    ($(load $load:ident $store:ident $t:ty = $in:ident $out:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $load(self, p: *const u8) -> $t {
            // SAFETY: the caller vouches for the memory, the token for AVX-512 F.
            unsafe { $in(p.cast()) }
        }
        #[inline(always)]
        unsafe fn $store(self, p: *mut u8, x: $t) {
            // SAFETY: as above.
            unsafe { $out(p.cast(), x) }
        }
    )*};
    ($(widen $name:ident = $bytes:ident $token:ident.$instruction:ident -> $t:ty;)*) => {$(
        #[inline(always)]
        unsafe fn $name(self, p: *const u8) -> $t {
            // SAFETY: the caller vouches for the memory.
            let narrow = unsafe { $bytes(p.cast()) };
            self.0.$token.$instruction(narrow)
        }
    )*};
    ($(unit $name:ident $size:literal = $bytes:ident $token:ident.$instruction:ident -> $t:ty;)*) => {$(
        #[inline(always)]
        unsafe fn $name<const UNIT: usize>(self, p: *const u8) -> $t {
            // SAFETY: the caller vouches for the group.
            let narrow = unsafe { $bytes(p.wrapping_add(UNIT * 16 * $size).cast()) };
            self.0.$token.$instruction(narrow)
        }
    )*};
}

/// An instruction with its own rounding, for each that the CPU has; `$away` for the fifth.
macro_rules! rounded {
    ($rounding:expr, $token:expr, $instruction:ident, $a:expr, $away:expr) => {
        match $rounding.rounding() {
            Rounding::NearestEven => $token.$instruction::<NEAREST_EVEN>($a),
            Rounding::TowardsZero => $token.$instruction::<TOWARDS_ZERO>($a),
            Rounding::TowardsPositive => $token.$instruction::<TOWARDS_POSITIVE>($a),
            Rounding::TowardsNegative => $token.$instruction::<TOWARDS_NEGATIVE>($a),
            Rounding::NearestAway => $away,
        }
    };
}

impl<const VBMI: bool> Avx512<VBMI> {
    /// One register, as [`Simd::f64_to_i32`].
    #[inline(always)]
    fn f64s_to_i32(self, a: D, rounding: impl Round) -> __m256i {
        let f = self.0.avx512f;
        rounded!(rounding, f, _mm512_cvt_roundpd_epi32, a, {
            // A tie has an even mantissa, so the next number is beyond the tie and nothing else.
            let beyond = self.or_i64(self.bits_f64(a), self.splat_i64(1));
            f._mm512_cvt_roundpd_epi32::<NEAREST_EVEN>(self.f64_from_bits(beyond))
        })
    }

    /// One register, as [`Simd::f32_to_f16`].
    #[inline(always)]
    fn to_f16(self, a: F, rounding: impl Round) -> __m256i {
        let f = self.0.avx512f;
        match rounding.rounding() {
            Rounding::NearestEven | Rounding::NearestAway => {
                f._mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(a)
            }
            Rounding::TowardsZero => f._mm512_cvtps_ph::<_MM_FROUND_TO_ZERO>(a),
            Rounding::TowardsPositive => f._mm512_cvtps_ph::<_MM_FROUND_TO_POS_INF>(a),
            Rounding::TowardsNegative => f._mm512_cvtps_ph::<_MM_FROUND_TO_NEG_INF>(a),
        }
    }

    #[inline(always)]
    fn join(self, low: __m256i, high: __m256i) -> I {
        let f = self.0.avx512f;
        f._mm512_inserti64x4::<1>(f._mm512_castsi256_si512(low), high)
    }

    #[inline(always)]
    fn halves(self, a: I) -> [__m256i; 2] {
        let f = self.0.avx512f;
        [f._mm512_castsi512_si256(a), f._mm512_extracti64x4_epi64::<1>(a)]
    }
}

impl<const VBMI: bool> Simd for Avx512<VBMI> {
    type I8 = I;
    type I16 = I;
    type I32 = I;
    type I64 = I;
    type F32 = F;
    type F64 = D;
    type Table = I;
    type M32 = __mmask16;
    type M64 = __mmask8;
    const BYTES: usize = 64;
    const GROUPS: usize = 1;
    const INVALID_IS_MIN: bool = true;
    const ROUNDS_F16: bool = true;
    const FUSES: bool = true;
    const SELECTS_IN_ONE: bool = true;
    const MAX_NUMBER_IN_ONE: bool = true;

    #[inline(always)]
    fn vectorize<R>(self, f: impl FnOnce() -> R) -> R {
        #[target_feature(
            enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt,f16c"
        )]
        fn with_features<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        #[target_feature(
            enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,bmi1,bmi2,lzcnt,f16c"
        )]
        fn with_vbmi<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        if VBMI {
            // SAFETY: the token is proof of the features, VBMI too.
            unsafe { with_vbmi(f) }
        } else {
            // SAFETY: the token is proof of the features.
            unsafe { with_features(f) }
        }
    }

    memory! {
        load load_i8 store_i8 I = _mm512_loadu_si512 _mm512_storeu_si512;
        load load_i16 store_i16 I = _mm512_loadu_si512 _mm512_storeu_si512;
        load load_i32 store_i32 I = _mm512_loadu_si512 _mm512_storeu_si512;
        load load_i64 store_i64 I = _mm512_loadu_si512 _mm512_storeu_si512;
        load load_f32 store_f32 F = _mm512_loadu_ps _mm512_storeu_ps;
        load load_f64 store_f64 D = _mm512_loadu_pd _mm512_storeu_pd;
    }
    memory! {
        widen load_i8_to_i16 = _mm256_loadu_si256 avx512bw._mm512_cvtepi8_epi16 -> I;
        widen load_u8_to_i16 = _mm256_loadu_si256 avx512bw._mm512_cvtepu8_epi16 -> I;
        widen load_i8_to_i64 = _mm_loadl_epi64 avx512f._mm512_cvtepi8_epi64 -> I;
        widen load_u8_to_i64 = _mm_loadl_epi64 avx512f._mm512_cvtepu8_epi64 -> I;
        widen load_i16_to_i64 = _mm_loadu_si128 avx512f._mm512_cvtepi16_epi64 -> I;
        widen load_u16_to_i64 = _mm_loadu_si128 avx512f._mm512_cvtepu16_epi64 -> I;
        widen load_i32_to_i64 = _mm256_loadu_si256 avx512f._mm512_cvtepi32_epi64 -> I;
        widen load_u32_to_i64 = _mm256_loadu_si256 avx512f._mm512_cvtepu32_epi64 -> I;
    }
    memory! {
        unit load_i8_to_i32 1 = _mm_loadu_si128 avx512f._mm512_cvtepi8_epi32 -> I;
        unit load_u8_to_i32 1 = _mm_loadu_si128 avx512f._mm512_cvtepu8_epi32 -> I;
        unit load_i16_to_i32 2 = _mm256_loadu_si256 avx512f._mm512_cvtepi16_epi32 -> I;
        unit load_u16_to_i32 2 = _mm256_loadu_si256 avx512f._mm512_cvtepu16_epi32 -> I;
        unit load_f16_to_f32 2 = _mm256_loadu_si256 avx512f._mm512_cvtph_ps -> F;
    }

    instructions! {
        splat_i8(x: i8) -> I = avx512f._mm512_set1_epi8;
        splat_i16(x: i16) -> I = avx512f._mm512_set1_epi16;
        splat_i32(x: i32) -> I = avx512f._mm512_set1_epi32;
        splat_i64(x: i64) -> I = avx512f._mm512_set1_epi64;
        splat_f32(x: f32) -> F = avx512f._mm512_set1_ps;
        splat_f64(x: f64) -> D = avx512f._mm512_set1_pd;

        add_f32(a: F, b: F) -> F = avx512f._mm512_add_ps;
        sub_f32(a: F, b: F) -> F = avx512f._mm512_sub_ps;
        mul_f32(a: F, b: F) -> F = avx512f._mm512_mul_ps;
        div_f32(a: F, b: F) -> F = avx512f._mm512_div_ps;
        fma_f32(a: F, b: F, c: F) -> F = avx512f._mm512_fmadd_ps;
        nfma_f32(a: F, b: F, c: F) -> F = avx512f._mm512_fnmadd_ps;
        min_f32(a: F, b: F) -> F = avx512f._mm512_min_ps;
        max_f32(a: F, b: F) -> F = avx512f._mm512_max_ps;
        max_number_f32(a: F, b: F) -> F = avx512f._mm512_max_ps;
        min_number_f32(a: F, b: F) -> F = avx512f._mm512_min_ps;
        abs_f32(a: F) -> F = avx512f._mm512_abs_ps;
        eq_f32(a: F, b: F) -> __mmask16 = avx512f._mm512_cmpeq_ps_mask;
        lt_f32(a: F, b: F) -> __mmask16 = avx512f._mm512_cmplt_ps_mask;
        le_f32(a: F, b: F) -> __mmask16 = avx512f._mm512_cmple_ps_mask;
        bits_f32(a: F) -> I = avx512f._mm512_castps_si512;
        f32_from_bits(a: I) -> F = avx512f._mm512_castsi512_ps;

        add_f64(a: D, b: D) -> D = avx512f._mm512_add_pd;
        sub_f64(a: D, b: D) -> D = avx512f._mm512_sub_pd;
        mul_f64(a: D, b: D) -> D = avx512f._mm512_mul_pd;
        div_f64(a: D, b: D) -> D = avx512f._mm512_div_pd;
        fma_f64(a: D, b: D, c: D) -> D = avx512f._mm512_fmadd_pd;
        nfma_f64(a: D, b: D, c: D) -> D = avx512f._mm512_fnmadd_pd;
        min_f64(a: D, b: D) -> D = avx512f._mm512_min_pd;
        max_f64(a: D, b: D) -> D = avx512f._mm512_max_pd;
        max_number_f64(a: D, b: D) -> D = avx512f._mm512_max_pd;
        min_number_f64(a: D, b: D) -> D = avx512f._mm512_min_pd;
        abs_f64(a: D) -> D = avx512f._mm512_abs_pd;
        eq_f64(a: D, b: D) -> __mmask8 = avx512f._mm512_cmpeq_pd_mask;
        lt_f64(a: D, b: D) -> __mmask8 = avx512f._mm512_cmplt_pd_mask;
        le_f64(a: D, b: D) -> __mmask8 = avx512f._mm512_cmple_pd_mask;
        bits_f64(a: D) -> I = avx512f._mm512_castpd_si512;
        f64_from_bits(a: I) -> D = avx512f._mm512_castsi512_pd;

        sub_i8(a: I, b: I) -> I = avx512bw._mm512_sub_epi8;
        and_i8(a: I, b: I) -> I = avx512f._mm512_and_si512;
        or_i8(a: I, b: I) -> I = avx512f._mm512_or_si512;
        xor_i8(a: I, b: I) -> I = avx512f._mm512_xor_si512;
        min_i8(a: I, b: I) -> I = avx512bw._mm512_min_epi8;
        max_i8(a: I, b: I) -> I = avx512bw._mm512_max_epi8;
        min_u8(a: I, b: I) -> I = avx512bw._mm512_min_epu8;
        max_u8(a: I, b: I) -> I = avx512bw._mm512_max_epu8;

        add_i16(a: I, b: I) -> I = avx512bw._mm512_add_epi16;
        sub_i16(a: I, b: I) -> I = avx512bw._mm512_sub_epi16;
        and_i16(a: I, b: I) -> I = avx512f._mm512_and_si512;
        or_i16(a: I, b: I) -> I = avx512f._mm512_or_si512;
        xor_i16(a: I, b: I) -> I = avx512f._mm512_xor_si512;
        min_i16(a: I, b: I) -> I = avx512bw._mm512_min_epi16;
        max_i16(a: I, b: I) -> I = avx512bw._mm512_max_epi16;
        min_u16(a: I, b: I) -> I = avx512bw._mm512_min_epu16;
        max_u16(a: I, b: I) -> I = avx512bw._mm512_max_epu16;
        mul_i16(a: I, b: I) -> I = avx512bw._mm512_mullo_epi16;

        add_i32(a: I, b: I) -> I = avx512f._mm512_add_epi32;
        sub_i32(a: I, b: I) -> I = avx512f._mm512_sub_epi32;
        mul_i32(a: I, b: I) -> I = avx512f._mm512_mullo_epi32;
        and_i32(a: I, b: I) -> I = avx512f._mm512_and_si512;
        andnot_i32(a: I, b: I) -> I = avx512f._mm512_andnot_si512;
        or_i32(a: I, b: I) -> I = avx512f._mm512_or_si512;
        xor_i32(a: I, b: I) -> I = avx512f._mm512_xor_si512;
        min_i32(a: I, b: I) -> I = avx512f._mm512_min_epi32;
        max_i32(a: I, b: I) -> I = avx512f._mm512_max_epi32;
        min_u32(a: I, b: I) -> I = avx512f._mm512_min_epu32;
        max_u32(a: I, b: I) -> I = avx512f._mm512_max_epu32;
        eq_i32(a: I, b: I) -> __mmask16 = avx512f._mm512_cmpeq_epi32_mask;
        lt_i32(a: I, b: I) -> __mmask16 = avx512f._mm512_cmplt_epi32_mask;

        add_i64(a: I, b: I) -> I = avx512f._mm512_add_epi64;
        sub_i64(a: I, b: I) -> I = avx512f._mm512_sub_epi64;
        and_i64(a: I, b: I) -> I = avx512f._mm512_and_si512;
        andnot_i64(a: I, b: I) -> I = avx512f._mm512_andnot_si512;
        or_i64(a: I, b: I) -> I = avx512f._mm512_or_si512;
        xor_i64(a: I, b: I) -> I = avx512f._mm512_xor_si512;
        eq_i64(a: I, b: I) -> __mmask8 = avx512f._mm512_cmpeq_epi64_mask;
        lt_i64(a: I, b: I) -> __mmask8 = avx512f._mm512_cmplt_epi64_mask;

        integral_f64_to_i64(a: D) -> I = avx512dq._mm512_cvttpd_epi64;
        integral_f64_to_u64(a: D) -> I = avx512dq._mm512_cvttpd_epu64;
        i32_to_f32(a: I) -> F = avx512f._mm512_cvtepi32_ps;
        i64_to_f64(a: I) -> D = avx512dq._mm512_cvtepi64_pd;
        u64_to_f64(a: I) -> D = avx512dq._mm512_cvtepu64_pd;

        pack_i32_to_i16(a: I, b: I) -> I = avx512bw._mm512_packs_epi32;
        pack_i32_to_u16(a: I, b: I) -> I = avx512bw._mm512_packus_epi32;
        pack_i16_to_i8(a: I, b: I) -> I = avx512bw._mm512_packs_epi16;
        pack_i16_to_u8(a: I, b: I) -> I = avx512bw._mm512_packus_epi16;
    }

    #[inline(always)]
    fn is_nan_f32(self, a: F) -> __mmask16 {
        self.0.avx512f._mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, a)
    }

    #[inline(always)]
    fn select_f32(self, mask: __mmask16, a: F, b: F) -> F {
        self.0.avx512f._mm512_mask_blend_ps(mask, b, a)
    }

    #[inline(always)]
    fn round_f32(self, a: F, rounding: impl Round) -> F {
        let f = self.0.avx512f;
        rounded!(rounding, f, _mm512_roundscale_ps, a, {
            let dq = self.0.avx512dq;
            let sign = dq._mm512_and_ps(a, self.splat_f32(-0.0));
            let half = dq._mm512_or_ps(sign, self.splat_f32(0.5_f32.next_down()));
            f._mm512_roundscale_ps::<TOWARDS_ZERO>(self.add_f32(a, half))
        })
    }

    #[inline(always)]
    fn is_nan_f64(self, a: D) -> __mmask8 {
        self.0.avx512f._mm512_cmp_pd_mask::<_CMP_UNORD_Q>(a, a)
    }

    #[inline(always)]
    fn select_f64(self, mask: __mmask8, a: D, b: D) -> D {
        self.0.avx512f._mm512_mask_blend_pd(mask, b, a)
    }

    #[inline(always)]
    fn round_f64(self, a: D, rounding: impl Round) -> D {
        let f = self.0.avx512f;
        rounded!(rounding, f, _mm512_roundscale_pd, a, {
            let dq = self.0.avx512dq;
            let sign = dq._mm512_and_pd(a, self.splat_f64(-0.0));
            let half = dq._mm512_or_pd(sign, self.splat_f64(0.5_f64.next_down()));
            f._mm512_roundscale_pd::<TOWARDS_ZERO>(self.add_f64(a, half))
        })
    }

    #[inline(always)]
    fn and_m32(self, a: __mmask16, b: __mmask16) -> __mmask16 {
        a & b
    }

    #[inline(always)]
    fn or_m32(self, a: __mmask16, b: __mmask16) -> __mmask16 {
        a | b
    }

    #[inline(always)]
    fn andnot_m32(self, a: __mmask16, b: __mmask16) -> __mmask16 {
        !a & b
    }

    #[inline(always)]
    fn mask_to_i32(self, mask: __mmask16) -> I {
        self.0.avx512dq._mm512_movm_epi32(mask)
    }

    #[inline(always)]
    fn any_m32(self, mask: __mmask16) -> bool {
        mask != 0
    }

    #[inline(always)]
    fn mask_false(self) -> __mmask16 {
        0
    }

    #[inline(always)]
    fn and_m64(self, a: __mmask8, b: __mmask8) -> __mmask8 {
        a & b
    }

    #[inline(always)]
    fn andnot_m64(self, a: __mmask8, b: __mmask8) -> __mmask8 {
        !a & b
    }

    #[inline(always)]
    fn mask_to_i64(self, mask: __mmask8) -> I {
        self.0.avx512dq._mm512_movm_epi64(mask)
    }

    #[inline(always)]
    fn any_m64(self, mask: __mmask8) -> bool {
        mask != 0
    }

    #[inline(always)]
    fn select_eq_i8(self, x: I, key: I, a: I, b: I) -> I {
        let bw = self.0.avx512bw;
        bw._mm512_mask_blend_epi8(bw._mm512_cmpeq_epi8_mask(x, key), b, a)
    }

    #[inline(always)]
    fn nonzero_i8(self, a: I) -> bool {
        self.0.avx512f._mm512_test_epi64_mask(a, a) != 0
    }

    #[inline(always)]
    fn swap_bytes<const SIZE: usize>(self, a: I) -> I {
        let mut order = [0_u8; 64];
        for (index, place) in order.iter_mut().enumerate() {
            *place = (index % 16) as u8 ^ (SIZE as u8 - 1);
        }
        self.0.avx512bw._mm512_shuffle_epi8(a, bytemuck::cast(order))
    }

    #[inline(always)]
    fn select_eq_i16(self, x: I, key: I, a: I, b: I) -> I {
        let bw = self.0.avx512bw;
        bw._mm512_mask_blend_epi16(bw._mm512_cmpeq_epi16_mask(x, key), b, a)
    }

    #[inline(always)]
    fn nonzero_i16(self, a: I) -> bool {
        self.nonzero_i8(a)
    }

    #[inline(always)]
    fn select_i32(self, mask: __mmask16, a: I, b: I) -> I {
        self.0.avx512f._mm512_mask_blend_epi32(mask, b, a)
    }

    #[inline(always)]
    fn shl_i32<const N: i32>(self, a: I) -> I {
        self.0.avx512f._mm512_sllv_epi32(a, self.splat_i32(N))
    }

    #[inline(always)]
    fn shr_u32<const N: i32>(self, a: I) -> I {
        self.0.avx512f._mm512_srlv_epi32(a, self.splat_i32(N))
    }

    #[inline(always)]
    fn shr_i32<const N: i32>(self, a: I) -> I {
        self.0.avx512f._mm512_srav_epi32(a, self.splat_i32(N))
    }

    #[inline(always)]
    fn shl_i16_by(self, a: I, count: u32) -> I {
        self.0.avx512bw._mm512_sll_epi16(a, self.0.sse2._mm_cvtsi32_si128(count as i32))
    }

    #[inline(always)]
    fn shr_u16_by(self, a: I, count: u32) -> I {
        self.0.avx512bw._mm512_srl_epi16(a, self.0.sse2._mm_cvtsi32_si128(count as i32))
    }

    #[inline(always)]
    fn shl_i32_by(self, a: I, count: u32) -> I {
        self.0.avx512f._mm512_sll_epi32(a, self.0.sse2._mm_cvtsi32_si128(count as i32))
    }

    #[inline(always)]
    fn table_i16(self, values: [i16; 8]) -> I {
        bytemuck::cast([values; 4])
    }

    #[inline(always)]
    fn look_up_i16(self, table: I, numbers: I) -> I {
        self.0.avx512bw._mm512_permutexvar_epi16(numbers, table)
    }

    #[inline(always)]
    fn table_i32(self, v: [i32; 8]) -> I {
        let f = self.0.avx512f;
        f._mm512_setr_epi32(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], 0, 0, 0, 0, 0, 0, 0, 0)
    }

    #[inline(always)]
    fn look_up_i32(self, table: I, numbers: I) -> I {
        self.0.avx512f._mm512_permutexvar_epi32(numbers, table)
    }

    #[inline(always)]
    fn shr_u32_by(self, a: I, count: u32) -> I {
        self.0.avx512f._mm512_srl_epi32(a, self.0.sse2._mm_cvtsi32_si128(count as i32))
    }

    #[inline(always)]
    fn nonzero_i32(self, a: I) -> bool {
        self.nonzero_i8(a)
    }

    #[inline(always)]
    fn select_i64(self, mask: __mmask8, a: I, b: I) -> I {
        self.0.avx512f._mm512_mask_blend_epi64(mask, b, a)
    }

    #[inline(always)]
    fn shr_u64<const N: i32>(self, a: I) -> I {
        self.0.avx512f._mm512_srlv_epi64(a, self.splat_i64(N.into()))
    }

    #[inline(always)]
    fn nonzero_i64(self, a: I) -> bool {
        self.nonzero_i8(a)
    }

    #[inline(always)]
    fn f32_to_i32(self, a: F, rounding: impl Round) -> I {
        let f = self.0.avx512f;
        rounded!(rounding, f, _mm512_cvt_roundps_epi32, a, {
            // A tie has an even mantissa, so the next number is beyond the tie and nothing else.
            let beyond = self.or_i32(self.bits_f32(a), self.splat_i32(1));
            f._mm512_cvt_roundps_epi32::<NEAREST_EVEN>(self.f32_from_bits(beyond))
        })
    }

    #[inline(always)]
    fn f64_to_i32(self, [a, b]: [D; 2], rounding: impl Round) -> I {
        self.join(self.f64s_to_i32(a, rounding), self.f64s_to_i32(b, rounding))
    }

    #[inline(always)]
    fn i32_to_f64(self, a: I) -> [D; 2] {
        let [low, high] = self.halves(a);
        [self.0.avx512f._mm512_cvtepi32_pd(low), self.0.avx512f._mm512_cvtepi32_pd(high)]
    }

    #[inline(always)]
    fn u32_to_f64(self, a: I) -> [D; 2] {
        let [low, high] = self.halves(a);
        [self.0.avx512f._mm512_cvtepu32_pd(low), self.0.avx512f._mm512_cvtepu32_pd(high)]
    }

    #[inline(always)]
    fn f32_to_f64(self, a: F) -> [D; 2] {
        let (f, dq) = (self.0.avx512f, self.0.avx512dq);
        let (low, high) = (f._mm512_castps512_ps256(a), dq._mm512_extractf32x8_ps::<1>(a));
        [f._mm512_cvtps_pd(low), f._mm512_cvtps_pd(high)]
    }

    #[inline(always)]
    fn f64_to_f32(self, [a, b]: [D; 2]) -> F {
        let (f, dq) = (self.0.avx512f, self.0.avx512dq);
        let (low, high) = (f._mm512_cvtpd_ps(a), f._mm512_cvtpd_ps(b));
        dq._mm512_insertf32x8::<1>(f._mm512_castps256_ps512(low), high)
    }

    #[inline(always)]
    fn f16_to_f32(self, a: I) -> [F; 2] {
        let [low, high] = self.halves(a);
        [self.0.avx512f._mm512_cvtph_ps(low), self.0.avx512f._mm512_cvtph_ps(high)]
    }

    #[inline(always)]
    fn f32_to_f16(self, a: F, b: F, rounding: impl Round) -> I {
        self.join(self.to_f16(a, rounding), self.to_f16(b, rounding))
    }

    #[inline(always)]
    fn i32_to_i64(self, a: I) -> [I; 2] {
        let [low, high] = self.halves(a);
        [self.0.avx512f._mm512_cvtepi32_epi64(low), self.0.avx512f._mm512_cvtepi32_epi64(high)]
    }

    #[inline(always)]
    fn low_i64_to_i32(self, [a, b]: [I; 2]) -> I {
        let even: [u32; 16] = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30];
        self.0.avx512f._mm512_permutex2var_epi32(a, bytemuck::cast(even), b)
    }

    #[inline(always)]
    fn saturate_i64_to_i32(self, [a, b]: [I; 2]) -> I {
        let f = self.0.avx512f;
        self.join(f._mm512_cvtsepi64_epi32(a), f._mm512_cvtsepi64_epi32(b))
    }

    #[inline(always)]
    fn saturate_u64_to_u32(self, [a, b]: [I; 2]) -> I {
        let f = self.0.avx512f;
        self.join(f._mm512_cvtusepi64_epi32(a), f._mm512_cvtusepi64_epi32(b))
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
        let order: [u64; 8] = [0, 2, 4, 6, 1, 3, 5, 7];
        self.0.avx512f._mm512_permutexvar_epi64(bytemuck::cast(order), a)
    }

    #[inline(always)]
    fn order_i8(self, a: I) -> I {
        self.order_i16(a)
    }

    #[inline(always)]
    fn unscramble_two_packs(self, a: I) -> I {
        let order: [u32; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];
        self.0.avx512f._mm512_permutexvar_epi32(bytemuck::cast(order), a)
    }
}

impl LookUpBytes for Avx512<true> {
    type ByteTable = [I; 4];

    #[inline(always)]
    fn byte_table(self, values: &[u8; 256]) -> [I; 4] {
        bytemuck::cast(*values)
    }

    #[inline(always)]
    fn look_up_i8(self, [a, b, c, d]: [I; 4], numbers: I) -> I {
        let bw = self.0.avx512bw;
        // SAFETY: the token is proof of VBMI.
        let low = unsafe { _mm512_permutex2var_epi8(a, numbers, b) };
        // SAFETY: as above.
        let high = unsafe { _mm512_permutex2var_epi8(c, numbers, d) };
        bw._mm512_mask_blend_epi8(bw._mm512_movepi8_mask(numbers), low, high)
    }
}

//! AVX-512 F, BW, CD, DQ and VL, and VBMI where tables of bytes gain from it: registers of 64 bytes, masks in registers
//! of their own.

use core::arch::x86_64::{
    __m256i, __m512, __m512d, __m512i, __mmask8, __mmask16, __mmask32, __mmask64, _CMP_UNORD_Q,
    _MM_FROUND_TO_NEAREST_INT, _MM_FROUND_TO_NEG_INF, _MM_FROUND_TO_POS_INF, _MM_FROUND_TO_ZERO,
    _mm_loadl_epi64, _mm_loadu_si128, _mm256_loadu_si256, _mm512_loadu_pd, _mm512_loadu_ps,
    _mm512_loadu_si512, _mm512_permutex2var_epi8, _mm512_storeu_pd, _mm512_storeu_ps,
    _mm512_storeu_si512,
};
use core::ops::Deref;

use super::lanes::{CompareLanes, FloatLanes, IntLanes, Lanes, MaskLanes, ShiftLanes, TableLanes};
use super::shared::vectorize_with;
use super::x86::{
    NEAREST_EVEN, instructions, int_lanes, lanes, packing, product_and_shifts, rounded,
    widening_loads,
};
use super::{
    F32s, F64, F64s, I8s, I16s, I32s, I64s, LookUpBytes, Pair, Register, Round, Simd, shared,
};
use crate::Rounding;
use crate::stages::{Input, Kernel, Output, RunKernel, run_kernel};

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

impl<const VBMI: bool> Deref for Avx512<VBMI> {
    type Target = Features;
    #[inline(always)]
    fn deref(&self) -> &Features {
        &self.0
    }
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

lanes! {
    ([const VBMI: bool] Avx512<VBMI>):
    i8 I _mm512_loadu_si512 _mm512_storeu_si512 avx512f _mm512_set1_epi8 avx512bw _mm512_add_epi8 _mm512_sub_epi8;
    i16 I _mm512_loadu_si512 _mm512_storeu_si512 avx512f _mm512_set1_epi16 avx512bw _mm512_add_epi16 _mm512_sub_epi16;
    i32 I _mm512_loadu_si512 _mm512_storeu_si512 avx512f _mm512_set1_epi32 avx512f _mm512_add_epi32 _mm512_sub_epi32;
    i64 I _mm512_loadu_si512 _mm512_storeu_si512 avx512f _mm512_set1_epi64 avx512f _mm512_add_epi64 _mm512_sub_epi64;
    f32 F _mm512_loadu_ps _mm512_storeu_ps avx512f _mm512_set1_ps avx512f _mm512_add_ps _mm512_sub_ps;
    f64 D _mm512_loadu_pd _mm512_storeu_pd avx512f _mm512_set1_pd avx512f _mm512_add_pd _mm512_sub_pd;
}

/// The operations of integers that are the same for lanes of any width.
macro_rules! bitwise {
    () => {
        instructions! {
            and(a: I, b: I) -> I = avx512f._mm512_and_si512;
            or(a: I, b: I) -> I = avx512f._mm512_or_si512;
            xor(a: I, b: I) -> I = avx512f._mm512_xor_si512;
        }
        #[inline(always)]
        fn and_not(self, a: I, b: I) -> I {
            self.avx512f._mm512_andnot_si512(b, a)
        }
        #[inline(always)]
        fn is_nonzero(self, a: I) -> bool {
            self.avx512f._mm512_test_epi64_mask(a, a) != 0
        }
    };
}

int_lanes! {
    ([const VBMI: bool] Avx512<VBMI>):
    i8 avx512bw _mm512_min_epi8 _mm512_min_epu8 _mm512_max_epi8 _mm512_max_epu8;
    i16 avx512bw _mm512_min_epi16 _mm512_min_epu16 _mm512_max_epi16 _mm512_max_epu16;
    i32 avx512f _mm512_min_epi32 _mm512_min_epu32 _mm512_max_epi32 _mm512_max_epu32;
    i64 avx512f _mm512_min_epi64 _mm512_min_epu64 _mm512_max_epi64 _mm512_max_epu64;
}

impl<const VBMI: bool> TableLanes<i16> for Avx512<VBMI> {
    type Table = I;
    product_and_shifts!(avx512bw _mm512_mullo_epi16 _mm512_sll_epi16 _mm512_srl_epi16);
    #[inline(always)]
    fn table(self, values: [i16; 8]) -> I {
        bytemuck::cast([values; 4])
    }
    #[inline(always)]
    fn look_up(self, table: I, numbers: I) -> I {
        self.avx512bw._mm512_permutexvar_epi16(numbers, table)
    }
}

impl<const VBMI: bool> TableLanes<i32> for Avx512<VBMI> {
    type Table = I;
    product_and_shifts!(avx512f _mm512_mullo_epi32 _mm512_sll_epi32 _mm512_srl_epi32);
    #[inline(always)]
    fn table(self, v: [i32; 8]) -> I {
        let f = self.avx512f;
        f._mm512_setr_epi32(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], 0, 0, 0, 0, 0, 0, 0, 0)
    }
    #[inline(always)]
    fn look_up(self, table: I, numbers: I) -> I {
        self.avx512f._mm512_permutexvar_epi32(numbers, table)
    }
}

/// Shifts of lanes of one width.
macro_rules! shifts {
    ($($t:ident $shl:ident $shr:ident;)*) => {$(
        impl<const VBMI: bool> ShiftLanes<$t> for Avx512<VBMI> {
            #[inline(always)]
            fn shl<const N: i32>(self, a: I) -> I {
                self.avx512f.$shl(a, Lanes::<$t>::splat(self, N.into()))
            }
            #[inline(always)]
            fn shr<const N: i32>(self, a: I) -> I {
                self.avx512f.$shr(a, Lanes::<$t>::splat(self, N.into()))
            }
        }
    )*};
}

shifts! {
    i32 _mm512_sllv_epi32 _mm512_srlv_epi32;
    i64 _mm512_sllv_epi64 _mm512_srlv_epi64;
}

/// Masks and comparisons of integers of one width: masks are registers of their own, of a bit for each lane.
macro_rules! masks {
    ($($t:ident $mask:ident $token:ident $eq:ident $lt:ident $blend:ident $to_token:ident $to_int:ident;)*) => {$(
        impl<const VBMI: bool> MaskLanes<$t> for Avx512<VBMI> {
            type Mask = $mask;
            #[inline(always)]
            fn mask_and(self, a: $mask, b: $mask) -> $mask {
                a & b
            }
            #[inline(always)]
            fn mask_or(self, a: $mask, b: $mask) -> $mask {
                a | b
            }
            #[inline(always)]
            fn mask_and_not(self, a: $mask, b: $mask) -> $mask {
                a & !b
            }
            #[inline(always)]
            fn mask_any(self, mask: $mask) -> bool {
                mask != 0
            }
            instructions! {
                mask_to_int(mask: $mask) -> I = $to_token.$to_int;
            }
        }

        impl<const VBMI: bool> CompareLanes<$t> for Avx512<VBMI> {
            instructions! {
                eq(a: I, b: I) -> $mask = $token.$eq;
                lt(a: I, b: I) -> $mask = $token.$lt;
            }
            #[inline(always)]
            fn select(self, mask: $mask, a: I, b: I) -> I {
                self.$token.$blend(mask, b, a)
            }
        }
    )*};
}

masks! {
    i8 __mmask64 avx512bw _mm512_cmpeq_epi8_mask _mm512_cmplt_epi8_mask _mm512_mask_blend_epi8 avx512bw _mm512_movm_epi8;
    i16 __mmask32 avx512bw _mm512_cmpeq_epi16_mask _mm512_cmplt_epi16_mask _mm512_mask_blend_epi16 avx512bw _mm512_movm_epi16;
    i32 __mmask16 avx512f _mm512_cmpeq_epi32_mask _mm512_cmplt_epi32_mask _mm512_mask_blend_epi32 avx512dq _mm512_movm_epi32;
    i64 __mmask8 avx512f _mm512_cmpeq_epi64_mask _mm512_cmplt_epi64_mask _mm512_mask_blend_epi64 avx512dq _mm512_movm_epi64;
}

/// Floats of one width.
macro_rules! floats {
    ($($t:ident $raw:ident $mask:ident $mul:ident $div:ident $fma:ident $fnma:ident $min:ident $max:ident $abs:ident
        $eq:ident $lt:ident $le:ident $cmp:ident $blend:ident $round:ident $to_bits:ident $from_bits:ident;)*) => {$(
        impl<const VBMI: bool> CompareLanes<$t> for Avx512<VBMI> {
            instructions! {
                eq(a: $raw, b: $raw) -> $mask = avx512f.$eq;
                lt(a: $raw, b: $raw) -> $mask = avx512f.$lt;
            }
            #[inline(always)]
            fn select(self, mask: $mask, a: $raw, b: $raw) -> $raw {
                self.avx512f.$blend(mask, b, a)
            }
        }

        impl<const VBMI: bool> FloatLanes<$t> for Avx512<VBMI> {
            instructions! {
                mul(a: $raw, b: $raw) -> $raw = avx512f.$mul;
                div(a: $raw, b: $raw) -> $raw = avx512f.$div;
                mul_add(a: $raw, b: $raw, c: $raw) -> $raw = avx512f.$fma;
                neg_mul_add(a: $raw, b: $raw, c: $raw) -> $raw = avx512f.$fnma;
                min(a: $raw, b: $raw) -> $raw = avx512f.$min;
                max(a: $raw, b: $raw) -> $raw = avx512f.$max;
                min_number(a: $raw, b: $raw) -> $raw = avx512f.$min;
                max_number(a: $raw, b: $raw) -> $raw = avx512f.$max;
                abs(a: $raw) -> $raw = avx512f.$abs;
                le(a: $raw, b: $raw) -> $mask = avx512f.$le;
                to_bits(a: $raw) -> I = avx512f.$to_bits;
                with_bits(bits: I) -> $raw = avx512f.$from_bits;
            }
            #[inline(always)]
            fn is_nan(self, a: $raw) -> $mask {
                self.avx512f.$cmp::<_CMP_UNORD_Q>(a, a)
            }
            #[inline(always)]
            fn round(self, a: $raw, rounding: impl Round) -> $raw {
                rounded!(rounding, self.avx512f, $round, a, shared::round_away::<_, $t>(self, a))
            }
        }
    )*};
}

floats! {
    f32 F __mmask16 _mm512_mul_ps _mm512_div_ps _mm512_fmadd_ps _mm512_fnmadd_ps _mm512_min_ps _mm512_max_ps _mm512_abs_ps
        _mm512_cmpeq_ps_mask _mm512_cmplt_ps_mask _mm512_cmple_ps_mask _mm512_cmp_ps_mask _mm512_mask_blend_ps
        _mm512_roundscale_ps _mm512_castps_si512 _mm512_castsi512_ps;
    f64 D __mmask8 _mm512_mul_pd _mm512_div_pd _mm512_fmadd_pd _mm512_fnmadd_pd _mm512_min_pd _mm512_max_pd _mm512_abs_pd
        _mm512_cmpeq_pd_mask _mm512_cmplt_pd_mask _mm512_cmple_pd_mask _mm512_cmp_pd_mask _mm512_mask_blend_pd
        _mm512_roundscale_pd _mm512_castpd_si512 _mm512_castsi512_pd;
}

impl<const VBMI: bool> Avx512<VBMI> {
    /// One register, as [`Simd::f64_to_i32`].
    #[inline(always)]
    fn half_to_i32(self, a: F64<Self>, rounding: impl Round) -> __m256i {
        let f = self.avx512f;
        rounded!(rounding, f, _mm512_cvt_roundpd_epi32, a.raw, {
            f._mm512_cvt_roundpd_epi32::<NEAREST_EVEN>(a.beyond_tie().raw)
        })
    }

    /// One register, as [`Simd::f32_to_f16`].
    #[inline(always)]
    fn half_to_f16(self, a: F, rounding: impl Round) -> __m256i {
        let f = self.avx512f;
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
        let f = self.avx512f;
        f._mm512_inserti64x4::<1>(f._mm512_castsi256_si512(low), high)
    }

    /// Puts a register that was packed once in order.
    #[inline(always)]
    fn order(self, a: I) -> I {
        let order: [u64; 8] = [0, 2, 4, 6, 1, 3, 5, 7];
        self.avx512f._mm512_permutexvar_epi64(bytemuck::cast(order), a)
    }

    #[inline(always)]
    fn halves(self, a: I) -> Pair<__m256i> {
        let f = self.avx512f;
        Pair(f._mm512_castsi512_si256(a), f._mm512_extracti64x4_epi64::<1>(a))
    }
}

/// Conversions of a register, signed or not.
macro_rules! conversions {
    ($($name:ident($a:ident: $t:ident) -> $r:ident = $token:ident $signed:ident $unsigned:ident;)*) => {$(
        #[inline(always)]
        fn $name<const SIGNED: bool>(self, $a: Register<Self, $t>) -> Register<Self, $r> {
            let $a = $a.raw;
            Register::new(self, if SIGNED { self.$token.$signed($a) } else { self.$token.$unsigned($a) })
        }
    )*};
}

// SAFETY: `Raw` is a register for every type of lanes; the token is proof of the features; loads are of so many elements.
unsafe impl<const VBMI: bool> Simd for Avx512<VBMI> {
    const BYTES: usize = 64;
    const GROUPS: usize = 1;
    const INVALID_IS_MIN: bool = true;
    const ROUNDS_F16: bool = true;
    const FUSES: bool = true;
    const SELECTS_IN_ONE: bool = true;
    const MAX_NUMBER_IN_ONE: bool = true;
    const PACKS_HALVES: bool = false;

    fn vectorize<K: Kernel>(self) -> RunKernel {
        if VBMI {
            vectorize_with!(
                K,
                "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,bmi1,bmi2,lzcnt,f16c"
            )
        } else {
            vectorize_with!(K, "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt,f16c")
        }
    }

    widening_loads! {
        load_i8_to_i16 -> i16 = _mm256_loadu_si256 avx512bw _mm512_cvtepi8_epi16 _mm512_cvtepu8_epi16;
        load_i8_to_i64 -> i64 = _mm_loadl_epi64 avx512f _mm512_cvtepi8_epi64 _mm512_cvtepu8_epi64;
        load_i16_to_i64 -> i64 = _mm_loadu_si128 avx512f _mm512_cvtepi16_epi64 _mm512_cvtepu16_epi64;
        load_i32_to_i64 -> i64 = _mm256_loadu_si256 avx512f _mm512_cvtepi32_epi64 _mm512_cvtepu32_epi64;
    }
    widening_loads! {
        unit load_i8_to_i32 1 = _mm_loadu_si128 avx512f _mm512_cvtepi8_epi32 _mm512_cvtepu8_epi32;
        unit load_i16_to_i32 2 = _mm256_loadu_si256 avx512f _mm512_cvtepi16_epi32 _mm512_cvtepu16_epi32;
    }

    #[inline(always)]
    unsafe fn load_f16_to_f32<const UNIT: usize>(self, p: *const u8) -> F32s<Self> {
        // SAFETY: the caller vouches for the group.
        let narrow = unsafe { _mm256_loadu_si256(p.wrapping_add(UNIT * 32).cast()) };
        Register::new(self, self.avx512f._mm512_cvtph_ps(narrow))
    }

    #[inline(always)]
    fn swap_bytes<const SIZE: usize>(self, a: I8s<Self>) -> I8s<Self> {
        let mut order = [0_u8; 64];
        for (index, place) in order.iter_mut().enumerate() {
            *place = (index % 16) as u8 ^ (SIZE as u8 - 1);
        }
        Register::new(self, self.avx512bw._mm512_shuffle_epi8(a.raw, bytemuck::cast(order)))
    }

    #[inline(always)]
    fn f32_to_i32(self, a: F32s<Self>, rounding: impl Round) -> I32s<Self> {
        let f = self.avx512f;
        let converted = rounded!(rounding, f, _mm512_cvt_roundps_epi32, a.raw, {
            f._mm512_cvt_roundps_epi32::<NEAREST_EVEN>(a.beyond_tie().raw)
        });
        Register::new(self, converted)
    }

    #[inline(always)]
    fn f64_to_i32(self, a: F64s<Self>, rounding: impl Round) -> I32s<Self> {
        let low = self.half_to_i32(a.0, rounding);
        Register::new(self, self.join(low, self.half_to_i32(a.1, rounding)))
    }

    #[inline(always)]
    fn i32_to_f32(self, a: I32s<Self>) -> F32s<Self> {
        Register::new(self, self.avx512f._mm512_cvtepi32_ps(a.raw))
    }

    #[inline(always)]
    fn i32_to_f64<const SIGNED: bool>(self, a: I32s<Self>) -> F64s<Self> {
        let f = self.avx512f;
        self.halves(a.raw).map(
            #[inline(always)]
            |half| {
                let wide =
                    if SIGNED { f._mm512_cvtepi32_pd(half) } else { f._mm512_cvtepu32_pd(half) };
                Register::new(self, wide)
            },
        )
    }

    conversions! {
        integral_f64_to_i64(a: f64) -> i64 = avx512dq _mm512_cvttpd_epi64 _mm512_cvttpd_epu64;
        i64_to_f64(a: i64) -> f64 = avx512dq _mm512_cvtepi64_pd _mm512_cvtepu64_pd;
    }

    #[inline(always)]
    fn f16_to_f32(self, a: I16s<Self>) -> [F32s<Self>; 2] {
        let Pair(low, high) = self.halves(a.raw).map(
            #[inline(always)]
            |half| Register::new(self, self.avx512f._mm512_cvtph_ps(half)),
        );
        [low, high]
    }

    #[inline(always)]
    fn f32_to_f64(self, a: F32s<Self>) -> F64s<Self> {
        let (f, dq) = (self.avx512f, self.avx512dq);
        let low = f._mm512_castps512_ps256(a.raw);
        let high = dq._mm512_extractf32x8_ps::<1>(a.raw);
        Pair(low, high).map(
            #[inline(always)]
            |half| Register::new(self, f._mm512_cvtps_pd(half)),
        )
    }

    #[inline(always)]
    fn f64_to_f32(self, a: F64s<Self>) -> F32s<Self> {
        let (f, dq) = (self.avx512f, self.avx512dq);
        let (low, high) = (f._mm512_cvtpd_ps(a.0.raw), f._mm512_cvtpd_ps(a.1.raw));
        Register::new(self, dq._mm512_insertf32x8::<1>(f._mm512_castps256_ps512(low), high))
    }

    #[inline(always)]
    fn i32_to_i64(self, a: I32s<Self>) -> I64s<Self> {
        self.halves(a.raw).map(
            #[inline(always)]
            |half| Register::new(self, self.avx512f._mm512_cvtepi32_epi64(half)),
        )
    }

    #[inline(always)]
    fn low_i64_to_i32(self, a: I64s<Self>) -> I32s<Self> {
        let even: [u32; 16] = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30];
        let f = self.avx512f;
        Register::new(self, f._mm512_permutex2var_epi32(a.0.raw, bytemuck::cast(even), a.1.raw))
    }

    #[inline(always)]
    fn saturate_i64_to_i32<const SIGNED: bool>(self, a: I64s<Self>) -> I32s<Self> {
        let f = self.avx512f;
        let Pair(low, high) = a.map(
            #[inline(always)]
            |half| {
                if SIGNED {
                    f._mm512_cvtsepi64_epi32(half.raw)
                } else {
                    f._mm512_cvtusepi64_epi32(half.raw)
                }
            },
        );
        Register::new(self, self.join(low, high))
    }

    packing!(avx512bw _mm512_packs_epi32 _mm512_packus_epi32 _mm512_packs_epi16 _mm512_packus_epi16);

    #[inline(always)]
    fn order_i8_packed_twice(self, a: I8s<Self>) -> I8s<Self> {
        let order: [u32; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];
        Register::new(self, self.avx512f._mm512_permutexvar_epi32(bytemuck::cast(order), a.raw))
    }
}

impl LookUpBytes for Avx512<true> {
    type ByteTable = [I; 4];

    #[inline(always)]
    fn byte_table(self, values: &[u8; 256]) -> [I; 4] {
        bytemuck::cast(*values)
    }

    #[inline(always)]
    fn look_up_i8(self, [a, b, c, d]: [I; 4], numbers: I8s<Self>) -> I8s<Self> {
        let bw = self.avx512bw;
        let numbers = numbers.raw;
        // SAFETY: the token is proof of VBMI.
        let low = unsafe { _mm512_permutex2var_epi8(a, numbers, b) };
        // SAFETY: as above.
        let high = unsafe { _mm512_permutex2var_epi8(c, numbers, d) };
        let is_upper = bw._mm512_movepi8_mask(numbers);
        Register::new(self, bw._mm512_mask_blend_epi8(is_upper, low, high))
    }
}

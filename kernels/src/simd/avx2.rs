//! AVX2 with FMA and F16C: registers of 32 bytes.

use core::arch::x86_64::{
    __m128i, __m256, __m256d, __m256i, _CMP_EQ_OQ, _CMP_LE_OQ, _CMP_LT_OQ, _CMP_UNORD_Q,
    _MM_FROUND_TO_NEAREST_INT, _MM_FROUND_TO_NEG_INF, _MM_FROUND_TO_POS_INF, _MM_FROUND_TO_ZERO,
    _mm_loadl_epi64, _mm_loadu_si32, _mm_loadu_si128, _mm256_cvtph_ps, _mm256_cvtps_ph,
    _mm256_loadu_pd, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_storeu_pd, _mm256_storeu_ps,
    _mm256_storeu_si256,
};

use super::lanes::{CompareLanes, FloatLanes, IntLanes, Lanes, MaskLanes, ShiftLanes, TableLanes};
use super::shared::{self, TWO_P52, vectorize_with};
use super::x86::{
    instructions, int_lanes, lanes, packing, product_and_shifts, rounded, widening_loads,
};
use super::{
    F32s, F64, F64s, Float, I8s, I16s, I32s, I64, I64s, LookUpBytes, Pair, Register, Round, Simd,
};
use crate::Rounding;
use crate::stages::{Input, Kernel, Output, RunKernel, run_kernel};

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

lanes! {
    ([] Avx2):
    i8 I _mm256_loadu_si256 _mm256_storeu_si256 avx _mm256_set1_epi8 avx2 _mm256_add_epi8 _mm256_sub_epi8;
    i16 I _mm256_loadu_si256 _mm256_storeu_si256 avx _mm256_set1_epi16 avx2 _mm256_add_epi16 _mm256_sub_epi16;
    i32 I _mm256_loadu_si256 _mm256_storeu_si256 avx _mm256_set1_epi32 avx2 _mm256_add_epi32 _mm256_sub_epi32;
    i64 I _mm256_loadu_si256 _mm256_storeu_si256 avx _mm256_set1_epi64x avx2 _mm256_add_epi64 _mm256_sub_epi64;
    f32 F _mm256_loadu_ps _mm256_storeu_ps avx _mm256_set1_ps avx _mm256_add_ps _mm256_sub_ps;
    f64 D _mm256_loadu_pd _mm256_storeu_pd avx _mm256_set1_pd avx _mm256_add_pd _mm256_sub_pd;
}

/// The operations of integers that are the same for lanes of any width.
macro_rules! bitwise {
    () => {
        instructions! {
            and(a: I, b: I) -> I = avx2._mm256_and_si256;
            or(a: I, b: I) -> I = avx2._mm256_or_si256;
            xor(a: I, b: I) -> I = avx2._mm256_xor_si256;
        }
        #[inline(always)]
        fn and_not(self, a: I, b: I) -> I {
            self.avx2._mm256_andnot_si256(b, a)
        }
        #[inline(always)]
        fn is_nonzero(self, a: I) -> bool {
            self.avx._mm256_testz_si256(a, a) == 0
        }
    };
}

int_lanes! {
    ([] Avx2):
    i8 avx2 _mm256_min_epi8 _mm256_min_epu8 _mm256_max_epi8 _mm256_max_epu8;
    i16 avx2 _mm256_min_epi16 _mm256_min_epu16 _mm256_max_epi16 _mm256_max_epu16;
    i32 avx2 _mm256_min_epi32 _mm256_min_epu32 _mm256_max_epi32 _mm256_max_epu32;
}

impl IntLanes<i64> for Avx2 {
    bitwise!();
    #[inline(always)]
    fn min<const SIGNED: bool>(self, a: I, b: I) -> I {
        shared::min_i64::<_, SIGNED>(self, a, b)
    }
    #[inline(always)]
    fn max<const SIGNED: bool>(self, a: I, b: I) -> I {
        shared::max_i64::<_, SIGNED>(self, a, b)
    }
}

impl TableLanes<i16> for Avx2 {
    type Table = I;
    product_and_shifts!(avx2 _mm256_mullo_epi16 _mm256_sll_epi16 _mm256_srl_epi16);
    #[inline(always)]
    fn table(self, values: [i16; 8]) -> I {
        bytemuck::cast([values; 2])
    }
    #[inline(always)]
    fn look_up(self, table: I, numbers: I) -> I {
        // The numbers of the two bytes of each value.
        let first = self.avx2._mm256_mullo_epi16(numbers, self.avx._mm256_set1_epi16(0x0202));
        let bytes = self.avx2._mm256_add_epi16(first, self.avx._mm256_set1_epi16(0x0100));
        self.avx2._mm256_shuffle_epi8(table, bytes)
    }
}

impl TableLanes<i32> for Avx2 {
    type Table = I;
    product_and_shifts!(avx2 _mm256_mullo_epi32 _mm256_sll_epi32 _mm256_srl_epi32);
    instructions! {
        look_up(table: I, numbers: I) -> I = avx2._mm256_permutevar8x32_epi32;
    }
    #[inline(always)]
    fn table(self, v: [i32; 8]) -> I {
        self.avx._mm256_setr_epi32(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7])
    }
}

/// Shifts of lanes of one width.
macro_rules! shifts {
    ($($t:ident $shl:ident $shr:ident;)*) => {$(
        impl ShiftLanes<$t> for Avx2 {
            #[inline(always)]
            fn shl<const N: i32>(self, a: I) -> I {
                self.avx2.$shl::<N>(a)
            }
            #[inline(always)]
            fn shr<const N: i32>(self, a: I) -> I {
                self.avx2.$shr::<N>(a)
            }
        }
    )*};
}

shifts! {
    i32 _mm256_slli_epi32 _mm256_srli_epi32;
    i64 _mm256_slli_epi64 _mm256_srli_epi64;
}

/// Masks of lanes of one width: lanes of zeros and ones, as floats where `$as_int` makes them integers.
macro_rules! masks {
    ($($t:ident $raw:ident $token:ident $and:ident $or:ident $and_not:ident $bits:ident $($as_int:ident)?;)*) => {$(
        impl MaskLanes<$t> for Avx2 {
            type Mask = $raw;
            instructions! {
                mask_and(a: $raw, b: $raw) -> $raw = $token.$and;
                mask_or(a: $raw, b: $raw) -> $raw = $token.$or;
            }
            #[inline(always)]
            fn mask_and_not(self, a: $raw, b: $raw) -> $raw {
                self.$token.$and_not(b, a)
            }
            #[inline(always)]
            fn mask_any(self, mask: $raw) -> bool {
                self.$token.$bits(mask) != 0
            }
            #[inline(always)]
            fn mask_to_int(self, mask: $raw) -> I {
                $(self.avx.$as_int)?(mask)
            }
        }
    )*};
}

masks! {
    i8 I avx2 _mm256_and_si256 _mm256_or_si256 _mm256_andnot_si256 _mm256_movemask_epi8;
    i16 I avx2 _mm256_and_si256 _mm256_or_si256 _mm256_andnot_si256 _mm256_movemask_epi8;
    i32 F avx _mm256_and_ps _mm256_or_ps _mm256_andnot_ps _mm256_movemask_ps _mm256_castps_si256;
    i64 D avx _mm256_and_pd _mm256_or_pd _mm256_andnot_pd _mm256_movemask_pd _mm256_castpd_si256;
}

/// Comparisons of integers of one width. `$as_mask` and `$as_int` are for masks of floats.
macro_rules! int_comparisons {
    ($($t:ident $mask:ident $token:ident $eq:ident $gt:ident $blend:ident $($as_mask:ident $as_int:ident)?;)*) => {$(
        impl CompareLanes<$t> for Avx2 {
            #[inline(always)]
            fn eq(self, a: I, b: I) -> $mask {
                $(self.avx.$as_mask)?(self.avx2.$eq(a, b))
            }
            #[inline(always)]
            fn lt(self, a: I, b: I) -> $mask {
                $(self.avx.$as_mask)?(self.avx2.$gt(b, a))
            }
            #[inline(always)]
            fn select(self, mask: $mask, a: I, b: I) -> I {
                let (a, b) = ($(self.avx.$as_mask)?(a), $(self.avx.$as_mask)?(b));
                $(self.avx.$as_int)?(self.$token.$blend(b, a, mask))
            }
        }
    )*};
}

int_comparisons! {
    i8 I avx2 _mm256_cmpeq_epi8 _mm256_cmpgt_epi8 _mm256_blendv_epi8;
    i16 I avx2 _mm256_cmpeq_epi16 _mm256_cmpgt_epi16 _mm256_blendv_epi8;
    i32 F avx _mm256_cmpeq_epi32 _mm256_cmpgt_epi32 _mm256_blendv_ps _mm256_castsi256_ps _mm256_castps_si256;
    i64 D avx _mm256_cmpeq_epi64 _mm256_cmpgt_epi64 _mm256_blendv_pd _mm256_castsi256_pd _mm256_castpd_si256;
}

/// Floats of one width. `$cmp` compares as its constant says, `$round` rounds as its own does.
macro_rules! floats {
    ($($t:ident $raw:ident $mul:ident $div:ident $fma:ident $fnma:ident $min:ident $max:ident $and_not:ident
        $cmp:ident $blend:ident $round:ident $to_bits:ident $from_bits:ident;)*) => {$(
        impl CompareLanes<$t> for Avx2 {
            #[inline(always)]
            fn eq(self, a: $raw, b: $raw) -> $raw {
                self.avx.$cmp::<_CMP_EQ_OQ>(a, b)
            }
            #[inline(always)]
            fn lt(self, a: $raw, b: $raw) -> $raw {
                self.avx.$cmp::<_CMP_LT_OQ>(a, b)
            }
            #[inline(always)]
            fn select(self, mask: $raw, a: $raw, b: $raw) -> $raw {
                self.avx.$blend(b, a, mask)
            }
        }

        impl FloatLanes<$t> for Avx2 {
            instructions! {
                mul(a: $raw, b: $raw) -> $raw = avx.$mul;
                div(a: $raw, b: $raw) -> $raw = avx.$div;
                mul_add(a: $raw, b: $raw, c: $raw) -> $raw = fma.$fma;
                neg_mul_add(a: $raw, b: $raw, c: $raw) -> $raw = fma.$fnma;
                min(a: $raw, b: $raw) -> $raw = avx.$min;
                max(a: $raw, b: $raw) -> $raw = avx.$max;
                min_number(a: $raw, b: $raw) -> $raw = avx.$min;
                max_number(a: $raw, b: $raw) -> $raw = avx.$max;
                to_bits(a: $raw) -> I = avx.$to_bits;
                with_bits(bits: I) -> $raw = avx.$from_bits;
            }
            #[inline(always)]
            fn abs(self, a: $raw) -> $raw {
                self.avx.$and_not(Lanes::<$t>::splat(self, -0.0), a)
            }
            #[inline(always)]
            fn le(self, a: $raw, b: $raw) -> $raw {
                self.avx.$cmp::<_CMP_LE_OQ>(a, b)
            }
            #[inline(always)]
            fn is_nan(self, a: $raw) -> $raw {
                self.avx.$cmp::<_CMP_UNORD_Q>(a, a)
            }
            #[inline(always)]
            fn round(self, a: $raw, rounding: impl Round) -> $raw {
                rounded!(rounding, self.avx, $round, a, shared::round_away::<_, $t>(self, a))
            }
        }
    )*};
}

floats! {
    f32 F _mm256_mul_ps _mm256_div_ps _mm256_fmadd_ps _mm256_fnmadd_ps _mm256_min_ps _mm256_max_ps _mm256_andnot_ps
        _mm256_cmp_ps _mm256_blendv_ps _mm256_round_ps _mm256_castps_si256 _mm256_castsi256_ps;
    f64 D _mm256_mul_pd _mm256_div_pd _mm256_fmadd_pd _mm256_fnmadd_pd _mm256_min_pd _mm256_max_pd _mm256_andnot_pd
        _mm256_cmp_pd _mm256_blendv_pd _mm256_round_pd _mm256_castpd_si256 _mm256_castsi256_pd;
}

impl Avx2 {
    /// Two halves of a register.
    #[inline(always)]
    fn halves(self, a: I) -> [__m128i; 2] {
        [self.avx._mm256_castsi256_si128(a), self.avx2._mm256_extracti128_si256::<1>(a)]
    }

    #[inline(always)]
    fn join(self, low: __m128i, high: __m128i) -> I {
        self.avx2._mm256_inserti128_si256::<1>(self.avx._mm256_castsi128_si256(low), high)
    }

    /// The lower halves of 64-bit lanes, in the order of one packing.
    #[inline(always)]
    fn low_halves(self, a: I, b: I) -> I {
        let (a, b) = (self.avx._mm256_castsi256_ps(a), self.avx._mm256_castsi256_ps(b));
        self.avx._mm256_castps_si256(self.avx._mm256_shuffle_ps::<0b10_00_10_00>(a, b))
    }

    /// As [`low_halves`](Avx2::low_halves), the upper ones.
    #[inline(always)]
    fn high_halves(self, a: I, b: I) -> I {
        let (a, b) = (self.avx._mm256_castsi256_ps(a), self.avx._mm256_castsi256_ps(b));
        self.avx._mm256_castps_si256(self.avx._mm256_shuffle_ps::<0b11_01_11_01>(a, b))
    }

    /// The lower halves of the 64-bit lanes of `low`, and the upper ones of `high`.
    #[inline(always)]
    fn blend_halves(self, low: I64<Self>, high: I64<Self>) -> I64<Self> {
        Register::new(self, self.avx2._mm256_blend_epi32::<0b1010_1010>(low.raw, high.raw))
    }

    /// Puts a register that was packed once in order.
    #[inline(always)]
    fn order(self, a: I) -> I {
        self.avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(a)
    }

    /// As [`Simd::f64_to_i32`], to nearest-even, in halves.
    #[inline(always)]
    fn to_nearest_i32(self, a: F64s<Self>) -> Pair<__m128i> {
        a.map(
            #[inline(always)]
            |a| self.avx._mm256_cvtpd_epi32(a.raw),
        )
    }

    /// One register, as [`Simd::f32_to_f16`].
    #[inline(always)]
    #[allow(clippy::unused_self)] // it is the proof
    fn half_to_f16(self, x: F, rounding: impl Round) -> __m128i {
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

// SAFETY: `Raw` is a register for every type of lanes; the token is proof of the features; loads are of so many elements.
unsafe impl Simd for Avx2 {
    const BYTES: usize = 32;
    const GROUPS: usize = 1;
    const INVALID_IS_MIN: bool = true;
    const ROUNDS_F16: bool = true;
    const FUSES: bool = true;
    const SELECTS_IN_ONE: bool = false;
    const MAX_NUMBER_IN_ONE: bool = true;
    const PACKS_HALVES: bool = true;

    fn vectorize<K: Kernel>(self) -> RunKernel {
        vectorize_with!(K, "avx2,bmi1,bmi2,fma,lzcnt,f16c")
    }

    widening_loads! {
        load_i8_to_i16 -> i16 = _mm_loadu_si128 avx2 _mm256_cvtepi8_epi16 _mm256_cvtepu8_epi16;
        load_i8_to_i64 -> i64 = _mm_loadu_si32 avx2 _mm256_cvtepi8_epi64 _mm256_cvtepu8_epi64;
        load_i16_to_i64 -> i64 = _mm_loadl_epi64 avx2 _mm256_cvtepi16_epi64 _mm256_cvtepu16_epi64;
        load_i32_to_i64 -> i64 = _mm_loadu_si128 avx2 _mm256_cvtepi32_epi64 _mm256_cvtepu32_epi64;
    }
    widening_loads! {
        unit load_i8_to_i32 1 = _mm_loadl_epi64 avx2 _mm256_cvtepi8_epi32 _mm256_cvtepu8_epi32;
        unit load_i16_to_i32 2 = _mm_loadu_si128 avx2 _mm256_cvtepi16_epi32 _mm256_cvtepu16_epi32;
    }

    #[inline(always)]
    unsafe fn load_f16_to_f32<const UNIT: usize>(self, p: *const u8) -> F32s<Self> {
        // SAFETY: the caller vouches for the group.
        let narrow = unsafe { _mm_loadu_si128(p.wrapping_add(UNIT * 16).cast()) };
        // SAFETY: the token is proof of F16C.
        Register::new(self, unsafe { _mm256_cvtph_ps(narrow) })
    }

    #[inline(always)]
    fn swap_bytes<const SIZE: usize>(self, a: I8s<Self>) -> I8s<Self> {
        let mut order = [0_u8; 32];
        for (index, place) in order.iter_mut().enumerate() {
            *place = (index % 16) as u8 ^ (SIZE as u8 - 1);
        }
        Register::new(self, self.avx2._mm256_shuffle_epi8(a.raw, bytemuck::cast(order)))
    }

    #[inline(always)]
    fn f32_to_i32(self, a: F32s<Self>, rounding: impl Round) -> I32s<Self> {
        let converted = match rounding.rounding() {
            Rounding::NearestEven => self.avx._mm256_cvtps_epi32(a.raw),
            Rounding::TowardsZero => self.avx._mm256_cvttps_epi32(a.raw),
            Rounding::TowardsPositive | Rounding::TowardsNegative => {
                self.avx._mm256_cvtps_epi32(a.round(rounding).raw)
            }
            Rounding::NearestAway => self.avx._mm256_cvtps_epi32(a.beyond_tie().raw),
        };
        Register::new(self, converted)
    }

    #[inline(always)]
    fn f64_to_i32(self, a: F64s<Self>, rounding: impl Round) -> I32s<Self> {
        let Pair(low, high) = match rounding.rounding() {
            Rounding::NearestEven => self.to_nearest_i32(a),
            Rounding::TowardsZero => a.map(
                #[inline(always)]
                |a| self.avx._mm256_cvttpd_epi32(a.raw),
            ),
            Rounding::TowardsPositive | Rounding::TowardsNegative => self.to_nearest_i32(a.map(
                #[inline(always)]
                |a| a.round(rounding),
            )),
            Rounding::NearestAway => self.to_nearest_i32(a.map(Register::beyond_tie)),
        };
        Register::new(self, self.join(low, high))
    }

    #[inline(always)]
    fn integral_f64_to_i64<const SIGNED: bool>(self, a: F64<Self>) -> I64<Self> {
        shared::integral_f64_to_i64(
            a,
            #[inline(always)]
            |low, high| self.blend_halves(low, high.shl::<32>()),
        )
    }

    #[inline(always)]
    fn i32_to_f32(self, a: I32s<Self>) -> F32s<Self> {
        Register::new(self, self.avx._mm256_cvtepi32_ps(a.raw))
    }

    #[inline(always)]
    fn i32_to_f64<const SIGNED: bool>(self, a: I32s<Self>) -> F64s<Self> {
        let [low, high] = self.halves(a.raw);
        if SIGNED {
            let [low, high] = [self.avx._mm256_cvtepi32_pd(low), self.avx._mm256_cvtepi32_pd(high)];
            return Pair(Register::new(self, low), Register::new(self, high));
        }
        // Under the exponent of 2^52 the mantissa counts in ones.
        Pair(self.avx2._mm256_cvtepu32_epi64(low), self.avx2._mm256_cvtepu32_epi64(high)).map(
            #[inline(always)]
            |half| {
                let two_p52 = Register::splat(self, TWO_P52);
                F64::from_bits(I64::new(self, half) | two_p52.to_bits()) - two_p52
            },
        )
    }

    #[inline(always)]
    fn i64_to_f64<const SIGNED: bool>(self, a: I64<Self>) -> F64<Self> {
        shared::i64_to_f64::<_, SIGNED>(
            a,
            self,
            #[inline(always)]
            |low, high| self.blend_halves(low, high),
        )
    }

    #[inline(always)]
    fn f16_to_f32(self, a: I16s<Self>) -> [F32s<Self>; 2] {
        let [low, high] = self.halves(a.raw);
        // SAFETY: the token is proof of F16C.
        let low = unsafe { _mm256_cvtph_ps(low) };
        // SAFETY: as above.
        let high = unsafe { _mm256_cvtph_ps(high) };
        [Register::new(self, low), Register::new(self, high)]
    }

    #[inline(always)]
    fn f32_to_f64(self, a: F32s<Self>) -> F64s<Self> {
        let low = self.avx._mm256_castps256_ps128(a.raw);
        let high = self.avx._mm256_extractf128_ps::<1>(a.raw);
        let [low, high] = [self.avx._mm256_cvtps_pd(low), self.avx._mm256_cvtps_pd(high)];
        Pair(Register::new(self, low), Register::new(self, high))
    }

    #[inline(always)]
    fn f64_to_f32(self, a: F64s<Self>) -> F32s<Self> {
        let low = self.avx._mm256_castps128_ps256(self.avx._mm256_cvtpd_ps(a.0.raw));
        let high = self.avx._mm256_cvtpd_ps(a.1.raw);
        Register::new(self, self.avx._mm256_insertf128_ps::<1>(low, high))
    }

    #[inline(always)]
    fn i32_to_i64(self, a: I32s<Self>) -> I64s<Self> {
        let [low, high] = self.halves(a.raw);
        let (low, high) =
            (self.avx2._mm256_cvtepi32_epi64(low), self.avx2._mm256_cvtepi32_epi64(high));
        Pair(Register::new(self, low), Register::new(self, high))
    }

    #[inline(always)]
    fn low_i64_to_i32(self, a: I64s<Self>) -> I32s<Self> {
        Register::new(self, self.order(self.low_halves(a.0.raw, a.1.raw)))
    }

    #[inline(always)]
    fn saturate_i64_to_i32<const SIGNED: bool>(self, a: I64s<Self>) -> I32s<Self> {
        let low = I32s::new(self, self.low_halves(a.0.raw, a.1.raw));
        let high = I32s::new(self, self.high_halves(a.0.raw, a.1.raw));
        let (extension, bound) = if SIGNED {
            (low.lt(0).to_int(), high.lt(0).to_int() ^ i32::MAX)
        } else {
            (I32s::splat(self, 0), I32s::splat(self, -1))
        };
        let saturated = high.eq(extension).select(low, bound);
        Register::new(self, self.order(saturated.raw))
    }

    packing!(avx2 _mm256_packs_epi32 _mm256_packus_epi32 _mm256_packs_epi16 _mm256_packus_epi16);

    #[inline(always)]
    fn order_i8_packed_twice(self, a: I8s<Self>) -> I8s<Self> {
        let order = bytemuck::cast([0_u32, 4, 1, 5, 2, 6, 3, 7]);
        Register::new(self, self.avx2._mm256_permutevar8x32_epi32(a.raw, order))
    }
}

impl LookUpBytes for Avx2 {
    type ByteTable = [I8s<Self>; 16];

    #[inline(always)]
    fn byte_table(self, values: &[u8; 256]) -> [I8s<Self>; 16] {
        let rows: [[u8; 16]; 16] = bytemuck::cast(shared::byte_rows(values));
        rows.map(|row| Register::new(self, bytemuck::cast([row; 2])))
    }

    #[inline(always)]
    fn look_up_i8(self, table: [I8s<Self>; 16], numbers: I8s<Self>) -> I8s<Self> {
        let [low, high] = shared::look_up_i8::<Self>(
            table,
            numbers,
            #[inline(always)]
            |row, at| Register::new(self, self.avx2._mm256_shuffle_epi8(row.raw, at.raw)),
        );
        Register::new(self, self.avx2._mm256_blendv_epi8(low.raw, high.raw, numbers.raw))
    }
}

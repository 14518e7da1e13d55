//! Which vector instructions the kernels use: the only place that names CPU features.
//!
//! A kernel is written once, in plain loops, and instantiated per level: the `run` of a level's module
//! compiles it with the level's features, where LLVM turns the loops into that level's vectors. A
//! token that exists is the proof that the CPU has the features. What LLVM does not find in a loop
//! is a method of [`Token`] with a portable default. A new level is a module with a token and a `run`,
//! and an arm in the matches below.

use std::fmt;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use crate::BuildError;
use crate::bind::WithSimd;
use crate::simd;
use crate::stages::small_float;
use crate::stages::{CHUNK, Kernel, Run, ShortEncoder, Stage};

/// Bytes that a cache holds together, on most CPUs.
pub(crate) const CACHE_LINE: usize = 64;

/// A set of instructions that the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// What every CPU of the architecture has.
    Scalar,
    /// x86-64 with AVX2, FMA, BMI2 and F16C.
    Avx2,
    /// x86-64 with AVX-512 F, BW, CD, DQ and VL besides.
    Avx512,
    /// aarch64 with Advanced SIMD.
    Neon,
}

impl Level {
    pub(crate) const NAMES: &'static str = "scalar, avx2, avx512, neon";

    const ALL: [Self; 4] = [Self::Scalar, Self::Avx2, Self::Avx512, Self::Neon];

    /// The levels that this CPU has, the fastest last.
    #[must_use]
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|level| level.is_available()).collect()
    }

    /// Whether this CPU has the level.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => avx2::Avx2::is_available(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => avx512::token().is_some(),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => simd::neon::Neon::is_available(),
            #[allow(unreachable_patterns)] // each architecture lacks some
            _ => false,
        }
    }

    /// The level that plans use: `RECAST_LEVEL` if it is set, else the fastest one of this CPU.
    ///
    /// # Errors
    /// `RECAST_LEVEL` names no level, or one that this CPU lacks.
    pub fn selected() -> Result<Self, BuildError> {
        static SELECTED: OnceLock<Result<Level, BuildError>> = OnceLock::new();
        SELECTED
            .get_or_init(|| match std::env::var("RECAST_LEVEL") {
                Err(_) => Ok(Self::available().pop().unwrap_or(Self::Scalar)),
                Ok(name) => match Self::from_name(&name) {
                    None => Err(BuildError::UnknownLevel(name)),
                    Some(level) if level.is_available() => Ok(level),
                    Some(level) => Err(BuildError::Level(level)),
                },
            })
            .clone()
    }

    /// The name, as `RECAST_LEVEL` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }

    /// The level with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Asks for bytes that are read soon. The hardware does so by itself, but not as far ahead as a loop
    /// reads that writes little.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub(crate) fn prefetch(self, bytes: &[u8]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 | Self::Avx512 => avx2::prefetch(bytes),
            _ => {}
        }
    }

    /// The proof that this CPU has the level; that of the scalar one if it has not.
    #[inline(never)] // `bind` is compiled once per kernel
    fn features(self) -> Features {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => avx2::Avx2::try_new().map_or(Features::Baseline, Features::Avx2),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => avx512::token().map_or(Features::Baseline, Features::Avx512),
            // On aarch64 Advanced SIMD is part of what every CPU has.
            _ => Features::Baseline,
        }
    }

    /// What `bind` makes of the level's registers; none if it has no vectors, or the CPU not the level.
    pub(crate) fn dispatch<B: WithSimd>(self, bind: B) -> Option<B::Output> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => Some(bind.with(simd::avx2::Avx2::try_new()?)),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => Some(bind.with(simd::avx512::Avx512::try_new()?)),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => Some(bind.with(simd::neon::Neon::try_new()?)),
            _ => None,
        }
    }

    /// The kernel compiled for this level; for the scalar one if the CPU lacks this.
    pub(crate) fn bind<K: Kernel>(self, kernel: K) -> Stage {
        let work = Box::new(Bound { features: self.features(), kernel });
        Stage { work, sizes: K::SIZES, refuses: K::REFUSES }
    }
}

/// The token of a level.
#[derive(Clone, Copy)]
enum Features {
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512),
}

/// A kernel bound to a level. The compiler shares out generic functions to its threads by modules: with a
/// `run` in one for each level, those are compiled side by side.
struct Bound<K> {
    features: Features,
    kernel: K,
}

// SAFETY: the kernel keeps the promise.
unsafe impl<K: Kernel> Run for Bound<K> {
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let kernel = &self.kernel;
        match self.features {
            Features::Baseline => kernel.run(Baseline, input, output),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the token is proof of the features.
            Features::Avx2(token) => unsafe { avx2::run(token, kernel, input, output) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Features::Avx512(token) => unsafe { avx512::run(token, kernel, input, output) },
        }
    }
}

impl Level {
    /// A stage for what an encoder says, where the level has instructions that do better than a loop.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub(crate) fn short_encoder(self, encoder: ShortEncoder) -> Option<Stage> {
        match self.features() {
            #[cfg(target_arch = "x86_64")]
            Features::Avx512(token) => Some(avx512::short_encoder(token, encoder)),
            _ => None,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The features of a level, and what they do better than LLVM finds by itself.
pub(crate) trait Token: Copy + Send + Sync + 'static {
    /// Whether vectors of 64-bit integers convert to and from f64 in one instruction.
    const CONVERTS_I64: bool = false;

    /// Whether f32 and binary16 convert to each other in one instruction.
    const CONVERTS_F16: bool = false;

    /// Whether chunks narrow eight bytes to two, by way of four, faster than what LLVM makes of a plain
    /// loop.
    const NARROWS_LONGS_IN_CHUNKS: bool = false;

    /// Whether a fused multiplication and addition is one instruction.
    const HAS_FMA: bool = false;

    /// binary16 values to f32, NaNs made quiet.
    #[inline(always)]
    fn f16_to_f32(self, values: [u16; CHUNK]) -> [f32; CHUNK] {
        values.map(small_float::f16_to_f32)
    }

    /// The upper halves of words.
    #[inline(always)]
    fn upper_halves(self, words: [u32; CHUNK]) -> [u16; CHUNK] {
        words.map(|word| (word >> 16) as u16)
    }

    /// f32 values to binary16, rounded in the direction of `DIRECTION` (see [`direction`]), overflow as
    /// IEEE 754 has it. Only for levels with [`Token::CONVERTS_F16`]; zeros elsewhere.
    #[inline(always)]
    fn f32_to_f16<const DIRECTION: i32>(self, _: [f32; CHUNK]) -> [u16; CHUNK] {
        [0; CHUNK]
    }
}

/// The values of `DIRECTION`: the immediate operand of the x86 conversions.
pub(crate) mod direction {
    pub(crate) const NEAREST_EVEN: i32 = 0;
    pub(crate) const NEGATIVE: i32 = 1;
    pub(crate) const POSITIVE: i32 = 2;
    pub(crate) const ZERO: i32 = 3;
}

/// No features beyond those of every CPU.
#[derive(Clone, Copy)]
pub(crate) struct Baseline;

impl Token for Baseline {
    const HAS_FMA: bool = cfg!(target_arch = "aarch64");
}

#[cfg(target_arch = "x86_64")]
#[allow(clippy::struct_field_names)] // the features' own names
mod avx2 {
    use std::arch::x86_64::{
        _MM_HINT_T0, _mm_prefetch, _mm256_cvtph_ps, _mm256_cvtps_ph, _mm256_packus_epi32,
        _mm256_permute4x64_epi64, _mm256_srli_epi32,
    };

    use std::mem::MaybeUninit;

    use super::{CACHE_LINE, CHUNK, Kernel, Token};

    // Each feature here brings those before it: AVX2 has SSE to AVX.
    pulp::simd_type!({
        pub(super) struct Avx2 {
            pub avx2: f!("avx2"),
            pub bmi1: f!("bmi1"),
            pub bmi2: f!("bmi2"),
            pub fma: f!("fma"),
            pub lzcnt: f!("lzcnt"),
            pub f16c: f!("f16c"),
        }
    });

    /// A kernel compiled with the features of [`Avx2`].
    #[target_feature(enable = "avx2,bmi1,bmi2,fma,lzcnt,f16c")]
    pub(super) fn run<K: Kernel>(
        token: Avx2,
        kernel: &K,
        input: &[u8],
        output: &mut [MaybeUninit<u8>],
    ) -> bool {
        kernel.run(token, input, output)
    }

    pub(super) fn prefetch(bytes: &[u8]) {
        for line in bytes.chunks(CACHE_LINE) {
            // SAFETY: every x86-64 CPU has SSE; a prefetch reads nothing, and points into a slice.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn upper_halves(words: [u32; CHUNK]) -> [u16; CHUNK] {
        let [low, high]: [[u32; 8]; 2] = bytemuck::cast(words);
        let low = _mm256_srli_epi32::<16>(bytemuck::cast(low));
        let high = _mm256_srli_epi32::<16>(bytemuck::cast(high));
        // Packed within halves of 128 bits; the quarters are put in order.
        let packed = _mm256_packus_epi32(low, high);
        bytemuck::cast(_mm256_permute4x64_epi64::<0b11_01_10_00>(packed))
    }

    impl Token for Avx2 {
        const HAS_FMA: bool = true;
        const CONVERTS_F16: bool = true;
        const NARROWS_LONGS_IN_CHUNKS: bool = true;

        #[inline(always)]
        fn f16_to_f32(self, values: [u16; CHUNK]) -> [f32; CHUNK] {
            let halves: [[u16; 8]; 2] = bytemuck::cast(values);
            // SAFETY: the token is proof of F16C, which needs AVX.
            bytemuck::cast(halves.map(|half| unsafe { _mm256_cvtph_ps(bytemuck::cast(half)) }))
        }

        #[inline(always)]
        fn upper_halves(self, words: [u32; CHUNK]) -> [u16; CHUNK] {
            // SAFETY: the token is proof of AVX2.
            unsafe { upper_halves(words) }
        }

        #[inline(always)]
        fn f32_to_f16<const DIRECTION: i32>(self, values: [f32; CHUNK]) -> [u16; CHUNK] {
            let halves: [[f32; 8]; 2] = bytemuck::cast(values);
            bytemuck::cast(halves.map(|half| {
                // SAFETY: as above.
                unsafe { _mm256_cvtps_ph::<DIRECTION>(bytemuck::cast(half)) }
            }))
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(clippy::struct_field_names)] // as above
mod avx512 {
    use std::arch::x86_64::{
        __m512, _CMP_ORD_Q, _CMP_UNORD_Q, _mm512_add_ps, _mm512_cmp_ps_mask, _mm512_cvtepi32_epi16,
        _mm512_cvtph_ps, _mm512_cvtps_ph, _mm512_mask_cvtps_epi32, _mm512_mask3_fmadd_ps,
        _mm512_min_ps, _mm512_mul_ps, _mm512_packs_epi16, _mm512_packs_epi32, _mm512_packus_epi16,
        _mm512_packus_epi32, _mm512_permutexvar_epi32, _mm512_permutexvar_epi64, _mm512_set1_epi32,
        _mm512_set1_ps, _mm512_setzero_ps, _mm512_setzero_si512, _mm512_srli_epi32, _mm512_sub_ps,
    };

    use std::mem::MaybeUninit;

    use super::{CHUNK, Kernel, Run, ShortEncoder, Stage, Token};

    // AVX-512 F has AVX2.
    pulp::simd_type!({
        pub(super) struct Avx512 {
            pub avx512f: f!("avx512f"),
            pub avx512bw: f!("avx512bw"),
            pub avx512cd: f!("avx512cd"),
            pub avx512dq: f!("avx512dq"),
            pub avx512vl: f!("avx512vl"),
            pub bmi1: f!("bmi1"),
            pub bmi2: f!("bmi2"),
            pub lzcnt: f!("lzcnt"),
            pub f16c: f!("f16c"),
        }
    });

    /// The token. Its `try_new` takes F for VL, so that is asked for here.
    pub(super) fn token() -> Option<Avx512> {
        if is_x86_feature_detected!("avx512vl") { Avx512::try_new() } else { None }
    }

    /// A kernel compiled with the features of [`Avx512`].
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt,f16c")]
    pub(super) fn run<K: Kernel>(
        token: Avx512,
        kernel: &K,
        input: &[u8],
        output: &mut [MaybeUninit<u8>],
    ) -> bool {
        kernel.run(token, input, output)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn upper_halves(words: [u32; CHUNK]) -> [u16; CHUNK] {
        let halves = _mm512_srli_epi32::<16>(bytemuck::cast(words));
        bytemuck::cast(_mm512_cvtepi32_epi16(halves))
    }

    /// A loop over blocks, compiled with the features of [`Avx512`].
    type EncodeShort = unsafe fn(&ShortEncoder, &[u8], &mut [MaybeUninit<u8>]) -> bool;

    struct BoundEncoder {
        _proof: Avx512,
        encoder: ShortEncoder,
        encode: EncodeShort,
    }

    // SAFETY: `encode_short` initialises the output, if it has as many elements as the input.
    unsafe impl Run for BoundEncoder {
        fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
            // SAFETY: the token is proof of the features.
            unsafe { (self.encode)(&self.encoder, input, output) }
        }
    }

    pub(super) fn short_encoder(token: Avx512, encoder: ShortEncoder) -> Stage {
        let encode: EncodeShort = match (encoder.size, encoder.is_signed, encoder.nan.is_some()) {
            (1, false, false) => encode_short::<1, false, false>,
            (1, false, true) => encode_short::<1, false, true>,
            (1, true, false) => encode_short::<1, true, false>,
            (1, true, true) => encode_short::<1, true, true>,
            (_, false, false) => encode_short::<2, false, false>,
            (_, false, true) => encode_short::<2, false, true>,
            (_, true, false) => encode_short::<2, true, false>,
            (_, true, true) => encode_short::<2, true, true>,
        };
        let work = Box::new(BoundEncoder { _proof: token, encoder, encode });
        Stage { work, sizes: (size_of::<f32>(), encoder.size), refuses: true }
    }

    /// Four vectors at a time: what is beyond the least value saturates when it is narrowed, beyond the
    /// greatest one it is held before, for there the conversion to `i32` would lose it.
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt,f16c")]
    fn encode_short<const SIZE: usize, const SIGNED: bool, const MAPS: bool>(
        encoder: &ShortEncoder,
        input: &[u8],
        output: &mut [MaybeUninit<u8>],
    ) -> bool {
        const VECTORS: usize = 4;
        let ShortEncoder { scaled, max, nan, .. } = *encoder;
        let (offset, scale) = (_mm512_set1_ps(scaled.offset), _mm512_set1_ps(scaled.scale));
        let (max, nan) = (_mm512_set1_ps(max), _mm512_set1_epi32(nan.unwrap_or_default()));
        let mut flags = [_mm512_setzero_ps(); VECTORS];
        let (input, _) = input.as_chunks::<{ VECTORS * size_of::<__m512>() }>();
        let outputs = output.chunks_exact_mut(VECTORS * 16 * SIZE);
        for (elements, output) in input.iter().zip(outputs) {
            let elements: [__m512; VECTORS] = bytemuck::cast(*elements);
            let mut words = [_mm512_setzero_si512(); VECTORS];
            for ((&x, flags), word) in elements.iter().zip(&mut flags).zip(&mut words) {
                let x = _mm512_mul_ps(_mm512_sub_ps(x, offset), scale);
                let is_number = if MAPS { _mm512_cmp_ps_mask::<_CMP_ORD_Q>(x, x) } else { !0 };
                // x · 0 is NaN, from then on, for what is infinite or an unmapped NaN.
                *flags = _mm512_mask3_fmadd_ps(x, _mm512_setzero_ps(), *flags, is_number);
                *word = _mm512_mask_cvtps_epi32(nan, is_number, _mm512_min_ps(x, max));
            }
            // Packed within quarters of a vector, whose parts are then put in order.
            let [first, second, third, fourth] = words;
            if SIZE == 1 {
                let first = _mm512_packs_epi32(first, second);
                let second = _mm512_packs_epi32(third, fourth);
                let packed = if SIGNED {
                    _mm512_packs_epi16(first, second)
                } else {
                    _mm512_packus_epi16(first, second)
                };
                let order = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15_u32];
                let ordered = _mm512_permutexvar_epi32(bytemuck::cast(order), packed);
                output.write_copy_of_slice(&bytemuck::cast::<_, [u8; 64]>(ordered));
            } else {
                for (words, output) in
                    [(first, second), (third, fourth)].into_iter().zip(output.chunks_exact_mut(64))
                {
                    let packed = if SIGNED {
                        _mm512_packs_epi32(words.0, words.1)
                    } else {
                        _mm512_packus_epi32(words.0, words.1)
                    };
                    let order = [0, 2, 4, 6, 1, 3, 5, 7_u64];
                    let ordered = _mm512_permutexvar_epi64(bytemuck::cast(order), packed);
                    output.write_copy_of_slice(&bytemuck::cast::<_, [u8; 64]>(ordered));
                }
            }
        }
        let [first, second, third, fourth] = flags;
        let all = _mm512_add_ps(_mm512_add_ps(first, second), _mm512_add_ps(third, fourth));
        _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(all, all) != 0
    }

    impl Token for Avx512 {
        const HAS_FMA: bool = true;
        const CONVERTS_F16: bool = true;
        const NARROWS_LONGS_IN_CHUNKS: bool = true;
        const CONVERTS_I64: bool = true;

        #[inline(always)]
        fn f16_to_f32(self, values: [u16; CHUNK]) -> [f32; CHUNK] {
            // SAFETY: the token is proof of AVX-512 F.
            bytemuck::cast(unsafe { _mm512_cvtph_ps(bytemuck::cast(values)) })
        }

        #[inline(always)]
        fn upper_halves(self, words: [u32; CHUNK]) -> [u16; CHUNK] {
            // SAFETY: as above.
            unsafe { upper_halves(words) }
        }

        #[inline(always)]
        fn f32_to_f16<const DIRECTION: i32>(self, values: [f32; CHUNK]) -> [u16; CHUNK] {
            // SAFETY: as above. The direction is in the operand's low bits, as in AVX's instruction.
            bytemuck::cast(unsafe { _mm512_cvtps_ph::<DIRECTION>(bytemuck::cast(values)) })
        }
    }
}

//! Which vector instructions the kernels use: the only place that names CPU features.
//!
//! A level with vectors is a file in [`simd`](crate::simd), whose token is the proof that the CPU has its features; an
//! arm of [`with_level`] hands it to the code that binds kernels.

use alloc::vec::Vec;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
#[cfg(feature = "std")]
use std::sync::OnceLock;

use crate::BuildError;
use crate::error::named;
use crate::pipeline::vectorized;
use crate::stages::{self, Kernel, Stage};

/// Bytes that a cache holds together, on most CPUs.
pub(crate) const CACHE_LINE: usize = 64;

/// Whether a level with these features may be looked for. Without `std` there is no system to ask whether it
/// saves the registers, so the program has to be compiled for them.
#[cfg(target_arch = "x86_64")]
macro_rules! may_have {
    ($($feature:literal),*) => {
        cfg!(any(feature = "std", all($(target_feature = $feature),*)))
    };
}

/// Evaluates `$body` with `$simd` standing for the registers of a level: none if it has no vectors, or the CPU not the level.
macro_rules! with_level {
    ($level:expr, $simd:ident => $body:expr) => {
        $crate::level::with_level!(
            $level,
            $simd => $body,
            avx512: $crate::simd::avx512::Avx512::<false>::try_new().map(|$simd| $body)
        )
    };
    ($level:expr, $simd:ident => $body:expr, avx512: $avx512:expr) => {
        match $level {
            $crate::Level::Scalar => None,
            #[cfg(target_arch = "x86_64")]
            $crate::Level::Avx2 => $crate::simd::avx2::Avx2::try_new().map(|$simd| $body),
            #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
            $crate::Level::Avx512 => $avx512,
            #[cfg(target_arch = "aarch64")]
            $crate::Level::Neon => $crate::simd::neon::Neon::try_new().map(|$simd| $body),
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            $crate::Level::Simd128 => Some($crate::simd::simd128::Simd128).map(|$simd| $body),
            #[allow(unreachable_patterns)] // each architecture and build lacks some
            _ => None,
        }
    };
}
pub(crate) use with_level;

/// As [`with_level`], to look bytes up: without VBMI an AVX-512 CPU does so as AVX2 does.
macro_rules! with_look_up_bytes {
    ($level:expr, $simd:ident => $body:expr) => {
        $crate::level::with_level!(
            $level,
            $simd => $body,
            avx512: match $crate::simd::avx512::Avx512::<true>::try_new() {
                Some($simd) => Some($body),
                None => $crate::simd::avx2::Avx2::try_new().map(|$simd| $body),
            }
        )
    };
}
pub(crate) use with_look_up_bytes;

/// Whether this build has the loops of the scalar level. They can be left out where another level is sure to be there: only
/// WebAssembly's is.
pub(crate) const HAS_SCALAR: bool = cfg!(any(feature = "scalar", not(target_feature = "simd128")));

/// A set of instructions that the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Level {
    /// The instructions of every CPU of the architecture. A program for WebAssembly that is compiled for Simd128 has it only with the
    /// feature `scalar`.
    Scalar,
    /// x86-64 with AVX2, FMA, BMI2 and F16C.
    Avx2,
    /// x86-64 with AVX-512 F, BW, CD, DQ and VL besides; in builds with the feature `avx512`.
    Avx512,
    /// aarch64 with Advanced SIMD.
    Neon,
    /// WebAssembly with its vector instructions, in programs compiled with `-C target-feature=+simd128`.
    Simd128,
}

impl Level {
    /// All of them, of every architecture; of those that a CPU has, the fastest last.
    pub const ALL: &'static [Self] =
        &[Self::Scalar, Self::Avx2, Self::Avx512, Self::Neon, Self::Simd128];

    /// The levels that this CPU has, the fastest last.
    #[must_use]
    pub fn available() -> Vec<Self> {
        Self::ALL.iter().copied().filter(|level| level.is_available()).collect()
    }

    /// Whether this CPU has the level, and this build its kernels.
    ///
    /// Without the feature `std`, a CPU has the levels that the program is compiled for: the scalar level and Neon
    /// need nothing, Avx2 `-C target-cpu=x86-64-v3`, Avx512 `-C target-cpu=x86-64-v4`.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar => HAS_SCALAR,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                may_have!("avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt")
                    && crate::simd::avx2::Avx2::is_available()
            }
            #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
            Self::Avx512 => {
                may_have!("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
                    && crate::simd::avx512::Avx512::<false>::try_new().is_some()
            }
            #[cfg(target_arch = "aarch64")]
            Self::Neon => crate::simd::neon::Neon::is_available(),
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Self::Simd128 => true,
            #[allow(unreachable_patterns)] // each architecture and build lacks some
            _ => false,
        }
    }

    /// The level that plans use which are not given one: that of the environment variable `RECAST_LEVEL` if it
    /// names one that this CPU and this build have, else the fastest one. Only this and [`Level::forced`] read the variable,
    /// once in the life of a process; without the feature `std` nothing does.
    #[must_use]
    pub fn selected() -> Self {
        Self::forced().ok().flatten().unwrap_or_else(|| {
            let mut fastest_first = Self::ALL.iter().rev().copied();
            fastest_first.find(|level| level.is_available()).unwrap_or(Self::Scalar)
        })
    }

    /// The level that `RECAST_LEVEL` names, if it is set. A program that wants to tell of a misspelt level asks for this; plans
    /// use the fastest one then.
    ///
    /// # Errors
    /// `RECAST_LEVEL` names no level, or one that this CPU or this build lacks.
    pub fn forced() -> Result<Option<Self>, BuildError> {
        #[cfg(feature = "std")]
        {
            static FORCED: OnceLock<Result<Option<Level>, BuildError>> = OnceLock::new();
            FORCED.get_or_init(read_forced).clone()
        }
        #[cfg(not(feature = "std"))]
        Ok(None)
    }

    /// The level, if it can be used.
    pub(crate) fn checked(self) -> Result<Self, BuildError> {
        if self.is_available() {
            Ok(self)
        } else if self == Self::Scalar || self == Self::Avx512 && cfg!(not(feature = "avx512")) {
            Err(BuildError::LevelLeftOut(self))
        } else {
            Err(BuildError::Level(self))
        }
    }

    /// The name, for instance `avx2`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
            Self::Simd128 => "simd128",
        }
    }

    /// The level with this name.
    ///
    /// ```
    /// use recast_kernels::Level;
    /// assert_eq!(Level::from_name("avx2"), Some(Level::Avx2));
    /// let error = "sse2".parse::<Level>().unwrap_err().to_string();
    /// assert_eq!(error, r#""sse2" is not one of scalar, avx2, avx512, neon, simd128"#);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|level| level.name() == name)
    }

    /// Asks for bytes that are read soon. The hardware does so by itself, but not as far ahead as a loop
    /// reads that writes little.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub(crate) fn prefetch(self, bytes: &[u8]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 | Self::Avx512 => {
                for line in bytes.chunks(CACHE_LINE) {
                    // SAFETY: every x86-64 CPU has SSE; a prefetch reads nothing, and points into a slice.
                    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
                }
            }
            _ => {}
        }
    }

    /// A loop compiled with the level's features, where the compiler makes vectors of it by itself.
    pub(crate) fn bind_vectorized<K: Kernel>(self, kernel: K) -> Stage {
        if cfg!(target_feature = "simd128") {
            // All loops are.
            return stages::bind_loop(kernel);
        }
        with_level!(self, simd => vectorized(simd, kernel))
            .unwrap_or_else(|| stages::bind_loop(kernel))
    }
}

/// The level that the environment variable names.
#[cfg(feature = "std")]
fn read_forced() -> Result<Option<Level>, BuildError> {
    let Some(name) = std::env::var_os("RECAST_LEVEL") else { return Ok(None) };
    let level = name.to_string_lossy().parse::<Level>().map_err(BuildError::UnknownLevel)?;
    level.checked().map(Some)
}

named!(Level);

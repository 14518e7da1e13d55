//! Which vector instructions the kernels use: the only place that names CPU features.
//!
//! A level with vectors is a file in [`simd`], whose token is the proof that the CPU has its features; an
//! arm of [`Level::dispatch`] hands it to what binds kernels.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use std::fmt;
use std::mem::MaybeUninit;
use std::str::FromStr;
use std::sync::OnceLock;

use crate::simd::{self, Simd, WithSimd};
use crate::stages::{self, Kernel, Run, Stage};
use crate::{BuildError, ParseError};

/// Bytes that a cache holds together, on most CPUs.
pub(crate) const CACHE_LINE: usize = 64;

/// A set of instructions that the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// All of them, of every architecture; of those that a CPU has, the fastest last.
    pub const ALL: &'static [Self] = &[Self::Scalar, Self::Avx2, Self::Avx512, Self::Neon];

    /// The levels that this CPU has, the fastest last.
    #[must_use]
    pub fn available() -> Vec<Self> {
        Self::ALL.iter().copied().filter(|level| level.is_available()).collect()
    }

    /// Whether this CPU has the level.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => simd::avx2::Avx2::is_available(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => simd::avx512::Avx512::try_new().is_some(),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => simd::neon::Neon::is_available(),
            #[allow(unreachable_patterns)] // each architecture lacks some
            _ => false,
        }
    }

    /// The level that plans use which are not given one: that of the environment variable `RECAST_LEVEL` if it
    /// is set, else the fastest one of this CPU. Only this reads the variable, once in the life of a process.
    ///
    /// # Errors
    /// `RECAST_LEVEL` names no level, or one that this CPU lacks.
    pub fn selected() -> Result<Self, BuildError> {
        static SELECTED: OnceLock<Result<Level, BuildError>> = OnceLock::new();
        SELECTED
            .get_or_init(|| match std::env::var("RECAST_LEVEL") {
                Err(_) => Ok(Self::available().pop().unwrap_or(Self::Scalar)),
                Ok(name) => match name.parse::<Self>() {
                    Ok(level) if level.is_available() => Ok(level),
                    Ok(level) => Err(BuildError::Level(level)),
                    Err(error) => Err(BuildError::UnknownLevel(error)),
                },
            })
            .clone()
    }

    /// The name, for instance `avx2`.
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

    /// What `bind` makes of the level's registers; none if it has no vectors, or the CPU not the level.
    pub(crate) fn dispatch<B: WithSimd>(self, bind: B) -> Option<B::Output> {
        match self {
            Self::Scalar => None,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => Some(bind.with(simd::avx2::Avx2::try_new()?)),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => Some(bind.with(simd::avx512::Avx512::try_new()?)),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => Some(bind.with(simd::neon::Neon::try_new()?)),
            #[allow(unreachable_patterns)] // each architecture lacks some
            _ => None,
        }
    }

    /// A loop compiled with the level's features, where the compiler makes vectors of it by itself.
    pub(crate) fn bind_vectorized<K: Kernel + Clone>(self, kernel: K) -> Stage {
        self.dispatch(Vectorize(kernel.clone())).unwrap_or_else(|| stages::bind_loop(kernel))
    }
}

/// A loop for a level's features.
struct Vectorize<K>(K);

impl<K: Kernel> WithSimd for Vectorize<K> {
    type Output = Stage;

    fn with<S: Simd>(self, simd: S) -> Stage {
        let work = Box::new(Vectorized { simd, kernel: self.0 });
        Stage { work, sizes: K::SIZES, refuses: K::REFUSES }
    }
}

struct Vectorized<S, K> {
    simd: S,
    kernel: K,
}

// SAFETY: the kernel keeps the promise.
unsafe impl<S: Simd, K: Kernel> Run for Vectorized<S, K> {
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        self.simd.vectorize(
            #[inline(always)]
            || self.kernel.run(input, output),
        )
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Reads the name.
///
/// ```
/// use recast_kernels::Level;
/// assert_eq!("avx2".parse(), Ok(Level::Avx2));
/// let error = "sse2".parse::<Level>().unwrap_err().to_string();
/// assert_eq!(error, r#""sse2" is not one of scalar, avx2, avx512, neon"#);
/// ```
impl FromStr for Level {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let names = Self::ALL.iter().map(|level| level.name());
        Self::from_name(text).ok_or_else(|| ParseError::none_of(text, names))
    }
}

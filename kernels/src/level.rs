//! Which vector instructions the kernels use.

use std::fmt;
use std::sync::OnceLock;

use crate::BuildError;

/// A set of instructions that the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// What every CPU of the architecture has.
    Scalar,
    /// x86-64 with AVX2, FMA, BMI2 and F16C.
    Avx2,
    /// aarch64 with Advanced SIMD.
    Neon,
}

impl Level {
    pub(crate) const NAMES: &'static str = "scalar, avx2, neon";

    const ALL: [Self; 3] = [Self::Scalar, Self::Avx2, Self::Neon];

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
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
            }
            #[cfg(target_arch = "aarch64")]
            Self::Neon => true,
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
            Self::Neon => "neon",
        }
    }

    /// The level with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

//! The 27 element types and their facts.

use crate::error::named;

/// One of the 27 numeric data types that the codecs work on.
///
/// An element takes a whole number of bytes in memory. The sub-byte types take one byte: `int2` and
/// `int4` are kept sign-extended, the unsigned and float ones zero-extended. Unused upper bits are
/// ignored on input and canonical on output. `ml_dtypes` keeps `int4` zero-extended: −1 is 0xff here and 0x0f there,
/// so whoever puts two elements into one byte takes the lower four bits of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the variants are named after the Zarr data types
#[non_exhaustive]
pub enum ElementType {
    Int2,
    Int4,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt2,
    UInt4,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float4E2M1Fn,
    Float6E2M3Fn,
    Float6E3M2Fn,
    Float8E3M4,
    Float8E4M3,
    Float8E4M3B11Fnuz,
    Float8E4M3Fn,
    Float8E4M3Fnuz,
    Float8E5M2,
    Float8E5M2Fnuz,
    Float8E8M0Fnu,
    BFloat16,
    Float16,
    Float32,
    Float64,
}

/// How the bits of an element are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Two's complement or unsigned, in the low `bits` bits.
    Integer {
        /// Width in bits: 2, 4, 8, 16, 32 or 64.
        bits: u32,
        /// Two's complement if true.
        signed: bool,
    },
    /// Sign, exponent, mantissa; see [`FloatFormat`].
    Float(FloatFormat),
}

/// The layout of a binary floating-point type, from the top bit: sign, exponent, mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FloatFormat {
    /// Bits of the exponent field.
    pub exponent_bits: u32,
    /// Bits of the mantissa field, without the implicit one.
    pub mantissa_bits: u32,
    /// A normal number is 1.mantissa · 2^(exponent field − bias).
    pub bias: i32,
    /// The encodings of zero, infinity and NaN.
    pub specials: Specials,
}

/// IEEE 754 binary16, binary32 and binary64, and the upper half of binary32.
pub(crate) const BINARY16: FloatFormat =
    FloatFormat { exponent_bits: 5, mantissa_bits: 10, bias: 15, specials: Specials::Ieee };
pub(crate) const BFLOAT16: FloatFormat =
    FloatFormat { exponent_bits: 8, mantissa_bits: 7, bias: 127, specials: Specials::Ieee };
pub(crate) const BINARY32: FloatFormat =
    FloatFormat { exponent_bits: 8, mantissa_bits: 23, bias: 127, specials: Specials::Ieee };
pub(crate) const BINARY64: FloatFormat =
    FloatFormat { exponent_bits: 11, mantissa_bits: 52, bias: 1023, specials: Specials::Ieee };

/// Which special values a float format has, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Specials {
    /// ±0; the top exponent holds ±Inf and NaNs.
    Ieee,
    /// ±0; every other pattern is finite (`fn` of less than a byte).
    FiniteOnly,
    /// ±0; all ones, with either sign, is NaN; every other pattern is finite (`fn` of a byte).
    FiniteAndNan,
    /// One zero; the pattern of −0 is the only NaN (`fnuz`).
    Fnuz,
    /// Unsigned powers of two: no sign, no zero, no subnormals; all ones is NaN (`e8m0fnu`).
    PowersOfTwo,
}

impl ElementType {
    /// All of them, integers first.
    pub const ALL: &'static [Self] = &[
        Self::Int2,
        Self::Int4,
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::UInt2,
        Self::UInt4,
        Self::UInt8,
        Self::UInt16,
        Self::UInt32,
        Self::UInt64,
        Self::Float4E2M1Fn,
        Self::Float6E2M3Fn,
        Self::Float6E3M2Fn,
        Self::Float8E3M4,
        Self::Float8E4M3,
        Self::Float8E4M3B11Fnuz,
        Self::Float8E4M3Fn,
        Self::Float8E4M3Fnuz,
        Self::Float8E5M2,
        Self::Float8E5M2Fnuz,
        Self::Float8E8M0Fnu,
        Self::BFloat16,
        Self::Float16,
        Self::Float32,
        Self::Float64,
    ];

    /// The Zarr name, the size of an element in bytes, and the format: the one table of facts.
    #[inline]
    const fn facts(self) -> (&'static str, usize, Format) {
        use Specials::{FiniteAndNan, FiniteOnly, Fnuz, Ieee, PowersOfTwo};
        const fn int(bits: u32) -> Format {
            Format::Integer { bits, signed: true }
        }
        const fn uint(bits: u32) -> Format {
            Format::Integer { bits, signed: false }
        }
        const fn float(
            exponent_bits: u32,
            mantissa_bits: u32,
            bias: i32,
            specials: Specials,
        ) -> Format {
            Format::Float(FloatFormat { exponent_bits, mantissa_bits, bias, specials })
        }
        match self {
            Self::Int2 => ("int2", 1, int(2)),
            Self::Int4 => ("int4", 1, int(4)),
            Self::Int8 => ("int8", 1, int(8)),
            Self::Int16 => ("int16", 2, int(16)),
            Self::Int32 => ("int32", 4, int(32)),
            Self::Int64 => ("int64", 8, int(64)),
            Self::UInt2 => ("uint2", 1, uint(2)),
            Self::UInt4 => ("uint4", 1, uint(4)),
            Self::UInt8 => ("uint8", 1, uint(8)),
            Self::UInt16 => ("uint16", 2, uint(16)),
            Self::UInt32 => ("uint32", 4, uint(32)),
            Self::UInt64 => ("uint64", 8, uint(64)),
            Self::Float4E2M1Fn => ("float4_e2m1fn", 1, float(2, 1, 1, FiniteOnly)),
            Self::Float6E2M3Fn => ("float6_e2m3fn", 1, float(2, 3, 1, FiniteOnly)),
            Self::Float6E3M2Fn => ("float6_e3m2fn", 1, float(3, 2, 3, FiniteOnly)),
            Self::Float8E3M4 => ("float8_e3m4", 1, float(3, 4, 3, Ieee)),
            Self::Float8E4M3 => ("float8_e4m3", 1, float(4, 3, 7, Ieee)),
            Self::Float8E4M3B11Fnuz => ("float8_e4m3b11fnuz", 1, float(4, 3, 11, Fnuz)),
            Self::Float8E4M3Fn => ("float8_e4m3fn", 1, float(4, 3, 7, FiniteAndNan)),
            Self::Float8E4M3Fnuz => ("float8_e4m3fnuz", 1, float(4, 3, 8, Fnuz)),
            Self::Float8E5M2 => ("float8_e5m2", 1, float(5, 2, 15, Ieee)),
            Self::Float8E5M2Fnuz => ("float8_e5m2fnuz", 1, float(5, 2, 16, Fnuz)),
            Self::Float8E8M0Fnu => ("float8_e8m0fnu", 1, float(8, 0, 127, PowersOfTwo)),
            Self::BFloat16 => ("bfloat16", 2, Format::Float(BFLOAT16)),
            Self::Float16 => ("float16", 2, Format::Float(BINARY16)),
            Self::Float32 => ("float32", 4, Format::Float(BINARY32)),
            Self::Float64 => ("float64", 8, Format::Float(BINARY64)),
        }
    }

    /// Whether the feature `small-types` is for it: less than a byte, or a float of a byte or less.
    pub(crate) const fn is_small(self) -> bool {
        self.bits() < 8 || self.is_float() && self.size() == 1
    }

    /// The Zarr v3 name of the data type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.facts().0
    }

    /// The type with this Zarr v3 name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|element_type| element_type.name() == name)
    }

    /// Bytes that one element takes in memory: 1, 2, 4 or 8.
    #[inline] // in every run
    #[must_use]
    pub const fn size(self) -> usize {
        self.facts().1
    }

    /// How the bits of an element are read.
    #[must_use]
    pub const fn format(self) -> Format {
        self.facts().2
    }

    /// Bits of an element that carry its value: 2, 4, 6, 8, 16, 32 or 64.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self.format() {
            Format::Integer { bits, .. } => bits,
            Format::Float(format) => format.bits(),
        }
    }

    /// Whether this is one of the 12 integer types.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self.format(), Format::Integer { .. })
    }

    /// Whether this is one of the 15 float types.
    #[must_use]
    pub const fn is_float(self) -> bool {
        !self.is_integer()
    }

    /// Whether the type has negative values.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        match self.format() {
            Format::Integer { signed, .. } => signed,
            Format::Float(format) => format.is_signed(),
        }
    }

    /// Whether the type has ±Inf.
    #[must_use]
    pub const fn has_infinity(self) -> bool {
        matches!(self.format(), Format::Float(format) if format.has_infinity())
    }

    /// Whether the type has a NaN.
    #[must_use]
    pub const fn has_nan(self) -> bool {
        self.nan_bits().is_some()
    }

    /// The bits of the canonical NaN, or `None` where the type has no NaN.
    #[must_use]
    pub const fn nan_bits(self) -> Option<u64> {
        match self.format() {
            Format::Integer { .. } => None,
            Format::Float(format) => format.nan_bits(),
        }
    }

    /// The bits of the largest finite value.
    #[must_use]
    pub const fn max_bits(self) -> u64 {
        match self.format() {
            Format::Integer { bits, signed } => (u64::MAX >> (64 - bits)) >> (signed as u32),
            Format::Float(format) => format.max_bits(),
        }
    }

    /// The bits of the smallest (most negative, or for unsigned types least) finite value, with the
    /// sign extended as elements are kept in memory.
    #[must_use]
    pub const fn min_bits(self) -> u64 {
        match self.format() {
            Format::Integer { bits, signed: true } => {
                // Sign-extended to the width in memory.
                (u64::MAX << (bits - 1)) & (u64::MAX >> (64 - 8 * self.size() as u32))
            }
            Format::Float(format) if format.is_signed() => {
                format.max_bits() | (1 << (format.bits() - 1))
            }
            Format::Integer { .. } | Format::Float(_) => 0,
        }
    }
}

impl FloatFormat {
    /// Bits of sign, exponent and mantissa together.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.is_signed() as u32 + self.exponent_bits + self.mantissa_bits
    }

    /// Whether there is a sign bit.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        !matches!(self.specials, Specials::PowersOfTwo)
    }

    /// Whether there is ±Inf.
    pub(crate) const fn has_infinity(self) -> bool {
        matches!(self.specials, Specials::Ieee)
    }

    /// The exponent of the largest finite value.
    #[must_use]
    pub const fn max_exponent(self) -> i32 {
        let top = (1 << self.exponent_bits) - 1 - self.bias;
        match self.specials {
            Specials::Ieee | Specials::PowersOfTwo => top - 1,
            Specials::FiniteOnly | Specials::FiniteAndNan | Specials::Fnuz => top,
        }
    }

    /// The exponent of the smallest normal number.
    #[must_use]
    pub const fn min_exponent(self) -> i32 {
        match self.specials {
            Specials::PowersOfTwo => -self.bias,
            _ => 1 - self.bias,
        }
    }

    /// The bits of the canonical NaN, or `None`.
    #[must_use]
    pub const fn nan_bits(self) -> Option<u64> {
        match self.specials {
            Specials::Ieee => Some(self.infinity_bits() | (1 << (self.mantissa_bits - 1))),
            Specials::FiniteOnly => None,
            Specials::FiniteAndNan => Some((1 << (self.bits() - 1)) - 1),
            Specials::Fnuz => Some(1 << (self.bits() - 1)),
            Specials::PowersOfTwo => Some(0xff),
        }
    }

    /// The bits of +Inf in an IEEE-like format: the top exponent with an empty mantissa.
    #[must_use]
    pub const fn infinity_bits(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.mantissa_bits
    }

    /// The bits of the largest finite value.
    #[must_use]
    pub const fn max_bits(self) -> u64 {
        let top = ((self.max_exponent() + self.bias) as u64) << self.mantissa_bits
            | ((1 << self.mantissa_bits) - 1);
        match self.specials {
            Specials::FiniteAndNan => top - 1,
            Specials::Ieee | Specials::FiniteOnly | Specials::Fnuz | Specials::PowersOfTwo => top,
        }
    }
}

named!(ElementType);

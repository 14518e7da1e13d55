//! One element together with its type.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use half::{bf16, f16};

use crate::exact::{Exact, Integer};
use crate::float_environment::in_default_environment;
use crate::reference;
use crate::{ElementType, Format, OutOfRange, ParseError, Reason, Rounding, Specials};

/// One value of one of the 27 types: map entries, scale, offset, fill values, and values in errors.
///
/// Two scalars are `==` if they have the same type and the same bits; [`Scalar::equals`] compares
/// by value.
///
/// ```
/// use recast_kernels::{ElementType, Scalar};
/// let x = Scalar::from(300_i16);
/// assert_eq!((x.element_type(), x.bits(), x.to_string()), (ElementType::Int16, 300, "300".into()));
/// assert!(Scalar::from(-0.0_f32).equals(Scalar::from(0.0_f32)));
/// ```
///
/// Packed, for maps may have millions of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C, packed)]
pub struct Scalar {
    element_type: ElementType,
    bits: u64,
}

impl Scalar {
    /// The scalar with these bits. Bits beyond the type's width are dropped, and those of a sub-byte
    /// integer made canonical.
    #[must_use]
    pub const fn from_bits(element_type: ElementType, bits: u64) -> Self {
        let bits = match element_type.format() {
            Format::Integer { bits: width, signed } => {
                Integer { bits: width, signed }.in_memory(bits)
            }
            Format::Float(format) => {
                let unused = 64 - format.bits();
                bits << unused >> unused
            }
        };
        Self { element_type, bits }
    }

    /// Reads one element in native byte order; `None` unless `bytes` is exactly one element long.
    #[must_use]
    pub fn from_ne_bytes(element_type: ElementType, bytes: &[u8]) -> Option<Self> {
        let bits = match element_type.size() {
            1 => u64::from(u8::from_ne_bytes(bytes.try_into().ok()?)),
            2 => u64::from(u16::from_ne_bytes(bytes.try_into().ok()?)),
            4 => u64::from(u32::from_ne_bytes(bytes.try_into().ok()?)),
            _ => u64::from_ne_bytes(bytes.try_into().ok()?),
        };
        Some(Self::from_bits(element_type, bits))
    }

    /// Reads the text that [`Display`](fmt::Display) writes: a whole number for an integer type; for a float type
    /// `NaN`, `Infinity`, `-Infinity`, or a number, which is read as f64 (f32 for `float32`) and rounded to
    /// the type, each time to the nearest.
    ///
    /// ```
    /// use recast_kernels::{ElementType, Scalar};
    /// assert_eq!(Scalar::parse(ElementType::UInt8, "255")?, 255_u8.into());
    /// assert!(Scalar::parse(ElementType::Float16, "NaN")?.is_nan());
    /// let error = Scalar::parse(ElementType::UInt8, "256").unwrap_err();
    /// assert_eq!(error.to_string(), "\"256\" is not a whole number from 0 to 255, as uint8 needs");
    /// # Ok::<(), recast_kernels::ParseError>(())
    /// ```
    ///
    /// # Errors
    /// Other text, and a number beyond the type's range.
    pub fn parse(element_type: ElementType, text: &str) -> Result<Self, ParseError> {
        let read = in_default_environment((element_type, text), |(element_type, text)| {
            Self::read(element_type, text)
        });
        read.ok_or_else(|| {
            let range = Self::range(element_type);
            let number = if element_type.is_integer() { "a whole number" } else { "a number" };
            ParseError::new(text, format!("{number} from {range}, as {element_type} needs"))
        })
    }

    /// As [`Self::parse`], in the default floating-point environment.
    fn read(element_type: ElementType, text: &str) -> Option<Self> {
        let cast =
            |scalar: Self| scalar.cast(element_type, Rounding::NearestEven, OutOfRange::Error).ok();
        // `parse` of Rust takes more than JSON and this do: "inf", "nan" and a sign in front.
        let is_number =
            text.strip_prefix('-').unwrap_or(text).starts_with(|c: char| c.is_ascii_digit());
        match (element_type, text) {
            (_, _) if element_type.is_integer() => {
                let number = text.parse::<i128>().ok().filter(|_| is_number)?;
                let unsigned = u64::try_from(number).map(Self::from);
                unsigned.or_else(|_| i64::try_from(number).map(Self::from)).ok().and_then(cast)
            }
            (_, "NaN") => Self::nan(element_type),
            (_, "Infinity") => Self::infinity(element_type, false),
            (_, "-Infinity") => Self::infinity(element_type, true),
            (_, _) if !is_number => None,
            // Rounded once, where Rust reads the type itself.
            (ElementType::Float32, _) => {
                text.parse::<f32>().ok().filter(|x| x.is_finite()).map(Self::from)
            }
            (_, _) => {
                text.parse::<f64>().ok().filter(|x| x.is_finite()).map(Self::from).and_then(cast)
            }
        }
    }

    /// Writes the element in native byte order into `bytes`, which must be exactly one element long;
    /// otherwise nothing is written and `false` is returned.
    #[must_use = "false says that nothing is written"]
    pub fn write_ne_bytes(self, bytes: &mut [u8]) -> bool {
        if bytes.len() != self.element_type.size() {
            return false;
        }
        match self.element_type.size() {
            1 => bytes.copy_from_slice(&(self.bits as u8).to_ne_bytes()),
            2 => bytes.copy_from_slice(&(self.bits as u16).to_ne_bytes()),
            4 => bytes.copy_from_slice(&(self.bits as u32).to_ne_bytes()),
            _ => bytes.copy_from_slice(&self.bits.to_ne_bytes()),
        }
        true
    }

    /// The element in native byte order.
    #[must_use]
    pub fn to_ne_bytes(self) -> Vec<u8> {
        let mut bytes = vec![0; self.element_type.size()];
        let written = self.write_ne_bytes(&mut bytes);
        debug_assert!(written);
        bytes
    }

    /// Zero; the smallest value of `float8_e8m0fnu`, which has no zero.
    #[must_use]
    pub const fn zero(element_type: ElementType) -> Self {
        Self { element_type, bits: 0 }
    }

    /// The largest finite value of a type.
    #[must_use]
    pub const fn max(element_type: ElementType) -> Self {
        Self { element_type, bits: element_type.max_bits() }
    }

    /// The smallest (most negative) finite value of a type.
    #[must_use]
    pub const fn min(element_type: ElementType) -> Self {
        Self { element_type, bits: element_type.min_bits() }
    }

    /// The least and the greatest finite value of a type, as errors name them.
    ///
    /// ```
    /// use recast_kernels::{ElementType, Scalar};
    /// assert_eq!(Scalar::range(ElementType::Int8).to_string(), "-128 to 127");
    /// // The shortest decimals that read back to these ends are 65500.0 and 57000.0.
    /// assert_eq!(Scalar::range(ElementType::Float16).to_string(), "-65504 to 65504");
    /// assert_eq!(Scalar::range(ElementType::Float8E4M3Fn).to_string(), "-448 to 448");
    /// assert_eq!(Scalar::range(ElementType::Float8E5M2).to_string(), "-57344 to 57344");
    /// ```
    #[must_use]
    pub fn range(element_type: ElementType) -> impl fmt::Display {
        let (min, max) = (Self::min(element_type), Self::max(element_type));
        fmt::from_fn(move |f| match element_type {
            ElementType::Float16
            | ElementType::Float8E4M3Fn
            | ElementType::Float8E5M2
            | ElementType::Float8E5M2Fnuz => {
                write!(f, "{} to {}", min.to_f64(), max.to_f64())
            }
            _ => write!(f, "{min} to {max}"),
        })
    }

    /// The canonical NaN of a type that has one.
    #[must_use]
    pub fn nan(element_type: ElementType) -> Option<Self> {
        element_type.nan_bits().map(|bits| Self { element_type, bits })
    }

    /// ±Inf of a type that has it.
    #[must_use]
    pub fn infinity(element_type: ElementType, negative: bool) -> Option<Self> {
        match element_type.format() {
            Format::Float(format) if format.specials == Specials::Ieee => {
                let sign = u64::from(negative) << (format.bits() - 1);
                Some(Self { element_type, bits: format.infinity_bits() | sign })
            }
            _ => None,
        }
    }

    /// The type.
    #[must_use]
    pub const fn element_type(self) -> ElementType {
        self.element_type
    }

    /// The bits, as kept in memory: sub-byte integers sign- or zero-extended to one byte.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.bits
    }

    /// Whether this is a NaN.
    #[must_use]
    pub fn is_nan(self) -> bool {
        matches!(Exact::of(self), Exact::Nan { .. })
    }

    /// Whether this is neither NaN nor infinite.
    #[must_use]
    pub fn is_finite(self) -> bool {
        matches!(Exact::of(self), Exact::Finite { .. })
    }

    /// Whether the value is 0 or −0.
    #[must_use]
    pub fn is_zero(self) -> bool {
        matches!(Exact::of(self), Exact::Finite { magnitude: 0, .. })
    }

    /// Equality by value, as scalar maps and fill values use it: any NaN equals any NaN, 0 equals −0,
    /// and the types may differ.
    #[must_use]
    pub fn equals(self, other: Self) -> bool {
        Exact::of(self).equals(Exact::of(other))
    }

    /// Bits that two scalars of one type share if, and only if, they are equal by value.
    pub(crate) fn key(self) -> u64 {
        Exact::of(self).key(self.bits)
    }

    /// The value cast to another type; see [`reference::cast`].
    ///
    /// # Errors
    /// The reason why the value cannot be cast.
    pub fn cast(
        self,
        target: ElementType,
        rounding: Rounding,
        out_of_range: OutOfRange,
    ) -> Result<Self, Reason> {
        reference::cast(self, target, rounding, out_of_range)
    }

    /// The nearest f64 (ties to even). Exact for every type but the 64-bit integers.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        match self.cast(ElementType::Float64, Rounding::NearestEven, OutOfRange::Clamp) {
            Ok(value) => f64::from_bits(value.bits),
            // Unreachable: float64 has NaN and infinity, and clamp leaves nothing out of range.
            Err(_) => f64::NAN,
        }
    }

    /// The shortest decimal that reads back (as f64, then rounded to the type) to the same bits, of types of up to 16 bits
    /// one in their range.
    fn shortest_decimal(self) -> String {
        // The standard library compares with zero to choose a notation, and multiplies to read.
        in_default_environment(self, Self::decimal_in_default_environment)
    }

    fn decimal_in_default_environment(self) -> String {
        let value = self.to_f64();
        match self.element_type {
            ElementType::Float64 => return format!("{value:?}"),
            ElementType::Float32 => return format!("{:?}", f32::from_bits(self.bits as u32)),
            _ => {}
        }
        let greatest = Self::max(self.element_type).to_f64();
        let reads_back = |text: &str| {
            text.parse::<f64>().is_ok_and(|read| {
                // Not 450 for 448: a reader may refuse a number beyond the greatest value.
                read.abs() <= greatest
                    && Scalar::from(read).cast(
                        self.element_type,
                        Rounding::NearestEven,
                        OutOfRange::Error,
                    ) == Ok(self)
            })
        };
        (0..17)
            .map(|digits| format!("{value:.digits$e}"))
            .find(|text| reads_back(text))
            .and_then(|text| text.parse::<f64>().ok())
            .map_or_else(|| format!("{value:?}"), |read| format!("{read:?}"))
    }
}

/// The decimal value: integers exactly, floats as the shortest decimal that reads back to the same bits, of types of
/// up to 16 bits one in their range, else `NaN`, `Infinity` or `-Infinity`.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (Exact::of(*self), self.element_type.format()) {
            (Exact::Nan { .. }, _) => f.pad("NaN"),
            (Exact::Infinite { negative: false }, _) => f.pad("Infinity"),
            (Exact::Infinite { negative: true }, _) => f.pad("-Infinity"),
            (Exact::Finite { negative, magnitude, .. }, Format::Integer { .. }) => {
                f.pad_integral(!negative, "", &magnitude.to_string())
            }
            (Exact::Finite { .. }, Format::Float(_)) => f.pad(&self.shortest_decimal()),
        }
    }
}

/// Reads a type and a value, as errors name them: `float32 300.0`, `uint8 255`.
///
/// ```
/// use recast_kernels::Scalar;
/// assert_eq!("uint8 255".parse(), Ok(Scalar::from(255_u8)));
/// ```
impl FromStr for Scalar {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (element_type, value) = text.split_once(' ').ok_or_else(|| {
            ParseError::new(text, "a type and a value, such as float32 300.0".to_owned())
        })?;
        Self::parse(element_type.parse()?, value)
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { element_type, bits } = *self;
        write!(f, "{self} ({element_type} {bits:#0width$x})", width = 2 * element_type.size() + 2)
    }
}

/// A Rust type that holds elements of one of the 27 types.
pub trait Element: bytemuck::Pod + Into<Scalar> + private::Sealed {
    /// The element type.
    const TYPE: ElementType;
}

mod private {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($rust:ty: $variant:ident, $bits:expr;)*) => {$(
        impl private::Sealed for $rust {}
        impl Element for $rust {
            const TYPE: ElementType = ElementType::$variant;
        }
        impl From<$rust> for Scalar {
            fn from(value: $rust) -> Self {
                let bits: fn($rust) -> u64 = $bits;
                Self::from_bits(ElementType::$variant, bits(value))
            }
        }
    )*};
}

elements! {
    i8: Int8, |x| x as u64;
    i16: Int16, |x| x as u64;
    i32: Int32, |x| x as u64;
    i64: Int64, |x| x as u64;
    u8: UInt8, u64::from;
    u16: UInt16, u64::from;
    u32: UInt32, u64::from;
    u64: UInt64, |x| x;
    f16: Float16, |x| x.to_bits().into();
    bf16: BFloat16, |x| x.to_bits().into();
    f32: Float32, |x| x.to_bits().into();
    f64: Float64, f64::to_bits;
}

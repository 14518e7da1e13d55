//! Elements as numbers whose comparison and difference are exact.

use std::cmp::Ordering;

use recast_kernels::{Cast, ElementType, Format, OutOfRange, Plan, Rounding, Scalar, Specials};
use zarr_recast::{Chain, JsonScalar};

use crate::error::Result;

/// How elements are read as numbers: 64-bit integers as i128, all other types as f64, in which they are exact.
pub(crate) trait Number: Copy + PartialOrd + Send + Sync + 'static {
    /// Less and greater than every element: the start of a search for the range.
    const EXTREMES: (Self, Self);

    /// Equal to no element.
    const NONE: Self;

    /// Whether vector instructions compute with such numbers.
    const IN_REGISTERS: bool;

    /// Appends the elements of a reader's type to `numbers`.
    fn read(reader: &NumberReader, bytes: &[u8], numbers: &mut Vec<Self>) -> Result<()>;

    /// The element of a type with this value, if the type has it.
    fn to_scalar(self, element_type: ElementType) -> Option<Scalar>;

    fn is_nan(self) -> bool;
    fn is_infinite(self) -> bool;

    /// Whether it is neither NaN nor infinite.
    fn is_finite(self) -> bool {
        !(self.is_nan() || self.is_infinite())
    }

    /// self − other, rounded to the nearest f64.
    fn minus(self, other: Self) -> f64;

    /// |self − other|, rounded to the nearest f64.
    fn distance(self, other: Self) -> f64 {
        self.minus(other).abs()
    }

    /// |self|, rounded to the nearest f64.
    fn magnitude(self) -> f64 {
        self.to_f64().abs()
    }

    /// Rounded to the nearest.
    fn to_f64(self) -> f64;

    /// Whether |self − other| > bound, exactly.
    fn is_farther(self, other: Self, bound: f64) -> bool;

    /// Whether it is from `least` to `greatest`, exactly.
    fn is_inside(self, least: f64, greatest: f64) -> bool;
}

/// Elements that are converted at once; they fit the first-level cache.
pub(crate) const BLOCK: usize = 2048;

/// Reads elements of a type as numbers.
pub(crate) struct NumberReader {
    element_type: ElementType,
    to_float64: Plan,
}

impl NumberReader {
    pub(crate) fn new(element_type: ElementType) -> Result<Self> {
        let to_float64 = Cast::new(ElementType::Float64);
        let to_float64 = Plan::builder(element_type).cast(to_float64).build()?;
        Ok(Self { element_type, to_float64 })
    }

    /// The type of the elements.
    pub(crate) fn element_type(&self) -> ElementType {
        self.element_type
    }

    pub(crate) fn read<N: Number>(&self, bytes: &[u8]) -> Result<Vec<N>> {
        let mut numbers = Vec::with_capacity(bytes.len() / self.element_type.size());
        self.read_into(bytes, &mut numbers)?;
        Ok(numbers)
    }

    /// As [`NumberReader::read`], replacing the contents of `numbers`.
    pub(crate) fn read_into<N: Number>(&self, bytes: &[u8], numbers: &mut Vec<N>) -> Result<()> {
        numbers.clear();
        N::read(self, bytes, numbers)
    }
}

/// Calls something generic with the numbers as which elements of a type are read.
macro_rules! with_numbers {
    ($element_type:expr, $numbers:ident => $call:expr) => {
        if $crate::scan::number::is_wide($element_type) {
            type $numbers = i128;
            $call
        } else {
            type $numbers = f64;
            $call
        }
    };
}
pub(crate) use with_numbers;

/// Whether elements of a type are read as i128.
pub(crate) fn is_wide(element_type: ElementType) -> bool {
    matches!(element_type, ElementType::Int64 | ElementType::UInt64)
}

impl Number for f64 {
    const EXTREMES: (Self, Self) = (Self::NEG_INFINITY, Self::INFINITY);
    const NONE: Self = Self::NAN;
    const IN_REGISTERS: bool = true;

    fn read(reader: &NumberReader, bytes: &[u8], numbers: &mut Vec<Self>) -> Result<()> {
        match reader.element_type {
            ElementType::Float32 => {
                let (elements, _) = bytes.as_chunks();
                numbers.extend(elements.iter().map(|&bytes| Self::from(f32::from_ne_bytes(bytes))));
            }
            ElementType::Float64 => {
                let (elements, _) = bytes.as_chunks();
                numbers.extend(elements.iter().map(|&bytes| Self::from_ne_bytes(bytes)));
            }
            _ => {
                let count = bytes.len() / reader.element_type.size();
                let mut converted = vec![0; count * size_of::<Self>()];
                reader.to_float64.run(bytes, &mut converted)?;
                let (elements, _) = converted.as_chunks();
                numbers.extend(elements.iter().map(|&bytes| Self::from_ne_bytes(bytes)));
            }
        }
        Ok(())
    }

    fn to_scalar(self, element_type: ElementType) -> Option<Scalar> {
        exactly(self.into(), element_type)
    }

    fn is_nan(self) -> bool {
        self.is_nan()
    }

    fn is_infinite(self) -> bool {
        self.is_infinite()
    }

    fn minus(self, other: Self) -> f64 {
        self - other
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn is_farther(self, other: Self, bound: f64) -> bool {
        let difference = self - other;
        let distance = difference.abs();
        if distance != bound {
            return distance > bound;
        }
        // The rounded difference equals the bound, so its rounding error decides (2Sum).
        let back = difference - self;
        let error = (self - (difference - back)) + (-other - back);
        error != 0.0 && (error > 0.0) == (difference > 0.0)
    }

    fn is_inside(self, least: f64, greatest: f64) -> bool {
        self >= least && self <= greatest
    }
}

impl Number for i128 {
    const EXTREMES: (Self, Self) = (Self::MIN, Self::MAX);
    const NONE: Self = Self::MIN;
    const IN_REGISTERS: bool = false;

    fn read(reader: &NumberReader, bytes: &[u8], numbers: &mut Vec<Self>) -> Result<()> {
        let (elements, _) = bytes.as_chunks();
        if reader.element_type.is_signed() {
            numbers.extend(elements.iter().map(|&bytes| Self::from(i64::from_ne_bytes(bytes))));
        } else {
            numbers.extend(elements.iter().map(|&bytes| Self::from(u64::from_ne_bytes(bytes))));
        }
        Ok(())
    }

    fn to_scalar(self, element_type: ElementType) -> Option<Scalar> {
        scalar(self, element_type)
    }

    fn is_nan(self) -> bool {
        false
    }

    fn is_infinite(self) -> bool {
        false
    }

    fn minus(self, other: Self) -> f64 {
        // Elements have 64 bits, so the difference fits.
        self.saturating_sub(other) as f64
    }

    fn to_f64(self) -> f64 {
        self as f64
    }

    fn is_farther(self, other: Self, bound: f64) -> bool {
        // A bound is not negative; as an integer it saturates far above every difference.
        self.abs_diff(other) > bound.floor() as u128
    }

    fn is_inside(self, least: f64, greatest: f64) -> bool {
        // As integers, limits saturate far beyond every element.
        self >= least.ceil() as Self && self <= greatest.floor() as Self
    }
}

/// A scalar of an integer type.
pub(crate) fn integer(scalar: Scalar) -> Option<i128> {
    let element_type = scalar.element_type();
    if !element_type.is_integer() {
        return None;
    }
    let bits = 64 - 8 * element_type.size() as u32;
    Some(if element_type.is_signed() {
        i128::from((scalar.bits() << bits) as i64 >> bits)
    } else {
        i128::from(scalar.bits())
    })
}

/// The least and the greatest value of an integer type.
pub(crate) fn integer_range(element_type: ElementType) -> Option<(i128, i128)> {
    integer(Scalar::min(element_type)).zip(integer(Scalar::max(element_type)))
}

/// The order of two scalars of one type; NaN is equal to every value.
pub(crate) fn order(a: Scalar, b: Scalar) -> Ordering {
    match integer(a).zip(integer(b)) {
        Some((a, b)) => a.cmp(&b),
        None => a.to_f64().partial_cmp(&b.to_f64()).unwrap_or(Ordering::Equal),
    }
}

/// Whether a scalar is less than another one of its type.
pub(crate) fn is_less(a: Scalar, b: Scalar) -> bool {
    order(a, b).is_lt()
}

/// An integer as a scalar of a type, if the type has it.
pub(crate) fn scalar(value: i128, element_type: ElementType) -> Option<Scalar> {
    let wide = u64::try_from(value)
        .map(Scalar::from)
        .or_else(|_| i64::try_from(value).map(Scalar::from))
        .ok()?;
    exactly(wide, element_type)
}

/// A value in another type, if the type has it.
fn exactly(value: Scalar, element_type: ElementType) -> Option<Scalar> {
    let cast = value.cast(element_type, Rounding::NearestEven, OutOfRange::Error).ok()?;
    cast.equals(value).then_some(cast)
}

/// The largest magnitude in a range.
pub(crate) fn magnitude((least, greatest): (Scalar, Scalar)) -> f64 {
    least.to_f64().abs().max(greatest.to_f64().abs())
}

/// The greatest less the least value of a range; of integers exactly, and then rounded.
pub(crate) fn extent((least, greatest): (Scalar, Scalar)) -> f64 {
    match integer(least).zip(integer(greatest)) {
        Some((least, greatest)) => greatest.minus(least),
        None => greatest.to_f64() - least.to_f64(),
    }
}

/// The stored code of a value; `None` if codecs refuse it.
pub(crate) fn encoded(chain: &Chain, value: Scalar) -> Option<Scalar> {
    let code = chain.encode(&value.to_ne_bytes()).ok()?;
    Scalar::from_ne_bytes(chain.encoded_type(), &code)
}

/// The value of a stored code; `None` if codecs refuse it.
pub(crate) fn decoded(chain: &Chain, code: Scalar) -> Option<Scalar> {
    let value = chain.decode(&code.to_ne_bytes()).ok()?;
    Scalar::from_ne_bytes(chain.decoded_type(), &value)
}

/// Whether codecs return a value bit for bit.
pub(crate) fn comes_back(chain: &Chain, value: Scalar) -> bool {
    encoded(chain, value).and_then(|code| decoded(chain, code)) == Some(value)
}

/// The next greater value of its type, or the next smaller one; none if that is not finite.
pub(crate) fn next_to(value: Scalar, is_greater: bool) -> Option<Scalar> {
    let element_type = value.element_type();
    if let Some(value) = integer(value) {
        return scalar(value + if is_greater { 1 } else { -1 }, element_type);
    }
    let is_away = (value.to_f64() > 0.0) == is_greater;
    let bits = match value.is_zero() {
        // On the other side of 0, the sign is the highest bit.
        true if is_greater => 1,
        true => 1 | 1 << (element_type.bits() - 1),
        false => value.bits().checked_add_signed(if is_away { 1 } else { -1 })?,
    };
    Some(Scalar::from_bits(element_type, bits)).filter(|next| next.is_finite())
}

/// Half a unit in the last place of 1; 0 for integers.
pub(crate) fn unit_roundoff(element_type: ElementType) -> f64 {
    match element_type.format() {
        Format::Float(format) if format.specials == Specials::PowersOfTwo => 0.5,
        Format::Float(format) => 0.5_f64.powi(format.mantissa_bits as i32 + 1),
        _ => 0.0,
    }
}

/// The values of a type next to a number, nearest first, as f64; only finite values other than 0, and none for a number
/// that rounds to infinity.
pub(crate) fn neighbours(number: f64, element_type: ElementType, steps: i64) -> Vec<f64> {
    let nearest = rounded(number, element_type).filter(|nearest| nearest.is_finite());
    let Some(nearest) = nearest else { return Vec::new() };
    let order = (0..=steps).flat_map(|step| [step, -step]).skip(1);
    order
        .filter_map(|step| {
            let bits = nearest.bits().checked_add_signed(step)?;
            let scalar = Scalar::from_bits(element_type, bits);
            (scalar.is_finite() && !scalar.is_zero()).then(|| scalar.to_f64())
        })
        .collect()
}

/// A number in a type, rounded to the nearest value.
pub(crate) fn rounded(number: f64, element_type: ElementType) -> Option<Scalar> {
    JsonScalar::from(Scalar::from(number)).to_scalar(element_type).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_that_rounds_to_the_bound_is_told_from_one_that_is_it() {
        assert!(!1.5_f64.is_farther(1.0, 0.5));
        // 1 + 2^-60 rounds to 1.
        let tiny = 2_f64.powi(-60);
        assert!(1.0_f64.is_farther(-tiny, 1.0));
        assert!((-1.0_f64).is_farther(tiny, 1.0));
        assert!(!1.0_f64.is_farther(tiny, 1.0));
        assert!(!tiny.is_farther(1.0, 1.0));
        assert!((-tiny).is_farther(1.0, 1.0));
    }

    #[test]
    fn integers_of_64_bits_keep_every_bit() {
        let value = i128::from(u64::MAX);
        assert_eq!(scalar(value, ElementType::UInt64).and_then(integer), Some(value));
        assert_eq!(scalar(value, ElementType::Int64), None);
        assert_eq!(scalar(-8, ElementType::Int4).and_then(integer), Some(-8));
        assert_eq!(scalar(16_777_217, ElementType::Float32), None);
    }
}

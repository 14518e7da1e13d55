//! Rounds the elements of an array within a bound; missing markers and the fill value come back bit for bit.

use anyhow::Context;
use num_traits::Float;
use recast_kernels::half::{bf16, f16};
use recast_kernels::{ElementType, Format, Scalar, in_default_environment};
use serde::Serialize;
use serde_json::{Map, Value};

use super::floats::{self, power_of_two};
use super::loops::RoundingPass;
use super::{integers, mantissas};
use crate::error::{Error, Result};
use crate::options::PackOptions;
use crate::scan::missing::Markers;
use crate::scan::number::integer_range;
use crate::scan::valid::Valid;

/// The common form of rounded elements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounded {
    /// Elements are multiples of this power of two.
    MultiplesOf(f64),
    /// At most this many bits of the mantissa are not 0.
    MantissaBits(u32),
}

/// `multiples of 2^-7 = 0.0078125`, `9 bits of the mantissa`.
impl std::fmt::Display for Rounded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::MultiplesOf(step) => {
                write!(f, "multiples of 2^{} = {step:?}", exponent_of(step))
            }
            Self::MantissaBits(bits) => write!(f, "{bits} bits of the mantissa"),
        }
    }
}

/// Rounds elements within a bound to elements of the same type that compress better: for an absolute bound to multiples
/// of the largest power of two that keeps it, for a relative one to the fewest bits of the mantissa. This is what
/// [`crate::Reader::Any`] packs with. Ties go to even.
///
/// NaN, infinities, missing values and the fill value come back bit for bit. No other value becomes a missing one: one that
/// would stays as it is, as does one that would become infinite, or leave the range of valid values.
///
/// ```
/// use recast_pack::{PackOptions, Rounder};
/// let options = PackOptions { max_abs_error: Some(0.01), ..PackOptions::default() };
/// let rounder = Rounder::new(f32::NAN.into(), &[(-9999.5_f32).into()], &options)?;
/// let values = [271.253_f32, -9999.5, f32::NAN];
/// let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
/// let mut rounded = vec![0; bytes.len()];
/// rounder.round(&bytes, &mut rounded);
/// // Multiples of 2^-6, less than 0.01 away.
/// assert_eq!(rounded[..4], 271.25_f32.to_ne_bytes());
/// assert_eq!(rounded[4..], bytes[4..]);
/// # Ok::<(), recast_pack::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rounder {
    element_type: ElementType,
    /// The form that elements are rounded to; `None` if elements stay as they are.
    rounded: Option<Rounded>,
    /// The bytes of values that stay as they are and that no other value becomes, side by side: missing markers, and the
    /// fill value if rounding would move it.
    stay: Vec<u8>,
    /// The ends of the valid range that rounding moves beyond themselves.
    ends: Valid,
}

impl Rounder {
    /// For arrays with a fill value, which gives the type; `missing` are values of the type that mean "missing", besides
    /// NaN and those that the options name.
    ///
    /// # Errors
    /// Options that [`crate::Reader::Any`] does not allow; a bound in units of the range, which is not known here.
    pub fn new(
        fill_value: Scalar,
        missing: &[Scalar],
        options: &PackOptions,
    ) -> std::result::Result<Self, Error> {
        in_default_environment((missing, options), |(missing, options)| {
            let markers = missing.iter().copied().collect();
            Ok(Self::with_markers(fill_value, markers, &Valid::default(), options)?)
        })
    }

    /// The same for an array with these attributes, of which `_FillValue` and `missing_value` name missing values, and
    /// `valid_min`, `valid_max` and `valid_range` valid ones.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn for_array(
        fill_value: Scalar,
        attributes: &Map<String, Value>,
        options: &PackOptions,
    ) -> std::result::Result<Self, Error> {
        in_default_environment((attributes, options), |(attributes, options)| {
            let element_type = fill_value.element_type();
            let markers = Markers::in_attributes(attributes, element_type);
            let valid = Valid::in_attributes(attributes, element_type);
            Ok(Self::with_markers(fill_value, markers, &valid, options)?)
        })
    }

    fn with_markers(
        fill: Scalar,
        markers: Markers,
        valid: &Valid,
        options: &PackOptions,
    ) -> Result<Self> {
        let element_type = fill.element_type();
        options.checked_for_rounding()?;
        let options = options.for_type(element_type)?;
        let markers = markers.and_named(element_type, &options)?;
        let first = Self::candidates(element_type, &options, &markers, &[fill], valid).next();
        first.context("there is no way to round")
    }

    /// The ways to round within a bound, the coarsest first. The options are those for an array.
    pub(crate) fn candidates(
        element_type: ElementType,
        options: &PackOptions,
        markers: &Markers,
        fill_values: &[Scalar],
        valid: &Valid,
    ) -> impl Iterator<Item = Self> + use<> {
        let marked: Vec<u8> =
            markers.values().iter().flat_map(|&marker| patterns(marker)).collect();
        let own = fill_values.iter().filter(|fill| !fill.is_nan() && !markers.contains(**fill));
        let own: Vec<Scalar> = own.copied().collect();
        let valid = valid.clone();
        ways(element_type, options).into_iter().map(move |rounded| {
            let plain =
                Self { element_type, rounded, stay: marked.clone(), ends: Valid::default() };
            let ends = valid.ends_left_by(|end| plain.rounded_value(end));
            // Most fill values, such as 0, stay by themselves, and other values may become them.
            let moved = own.iter().filter(|fill| plain.moves(**fill));
            let stay = marked.iter().copied().chain(moved.flat_map(|fill| fill.to_ne_bytes()));
            Self { stay: stay.collect(), ends, ..plain }
        })
    }

    /// The rounded value.
    fn rounded_value(&self, value: Scalar) -> Option<Scalar> {
        let before = value.to_ne_bytes();
        let mut after = before.clone();
        self.round(&before, &mut after);
        Scalar::from_ne_bytes(self.element_type, &after)
    }

    /// Whether a value becomes another one.
    fn moves(&self, value: Scalar) -> bool {
        self.rounded_value(value) != Some(value)
    }

    /// The type of the elements.
    #[must_use]
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// The common form of rounded elements; `None` if elements stay as they are.
    #[must_use]
    pub fn rounded(&self) -> Option<Rounded> {
        self.rounded
    }

    /// Writes each of `elements` to `rounded`, both in native byte order and of the same length.
    pub fn round(&self, elements: &[u8], rounded: &mut [u8]) {
        in_default_environment((elements, rounded), |(elements, rounded)| {
            self.round_in_default_environment(elements, rounded);
            self.put_back_valid(elements, rounded);
        });
    }

    /// Whether two elements are different numbers: neither NaN or infinite, nor a value that rounding leaves as it is because it is
    /// missing or the fill value.
    #[must_use]
    pub fn tells_apart(&self, elements: &[u8]) -> bool {
        let size = self.element_type.size();
        let is_ordinary =
            |element: &&[u8]| !self.stay.chunks_exact(size).any(|stay| stay == *element);
        let ordinary = elements.chunks_exact(size).filter(is_ordinary);
        let mut numbers = ordinary
            .filter_map(|element| Scalar::from_ne_bytes(self.element_type, element))
            .filter(|number| number.is_finite());
        let first = numbers.next();
        first.is_some_and(|first| numbers.any(|number| !number.equals(first)))
    }

    /// Puts back valid values that were rounded to values beyond the valid range.
    fn put_back_valid(&self, elements: &[u8], rounded: &mut [u8]) {
        if self.ends == Valid::default() {
            return;
        }
        let size = self.element_type.size();
        let value = |bytes: &[u8]| Scalar::from_ne_bytes(self.element_type, bytes);
        let pairs = elements.chunks_exact(size).zip(rounded.chunks_exact_mut(size));
        for (before, after) in pairs {
            let leaves = value(before)
                .zip(value(after))
                .is_some_and(|(x, y)| x.is_finite() && self.ends.is_left(x, y));
            if leaves {
                after.copy_from_slice(before);
            }
        }
    }

    fn round_in_default_environment(&self, elements: &[u8], rounded: &mut [u8]) {
        let pass = RoundingPass { elements, rounded, stay: &self.stay };
        let step = match self.rounded {
            None => return pass.rounded.copy_from_slice(elements),
            Some(Rounded::MantissaBits(bits)) => return self.round_mantissas(bits, pass),
            Some(Rounded::MultiplesOf(step)) => exponent_of(step),
        };
        match self.element_type {
            ElementType::Float16 => floats::to_multiples::<f16, 2>(step, pass),
            ElementType::BFloat16 => floats::to_multiples::<bf16, 2>(step, pass),
            ElementType::Float32 => floats::to_multiples::<f32, 4>(step, pass),
            ElementType::Float64 => floats::to_multiples::<f64, 8>(step, pass),
            _ => self.round_integers(step, pass),
        }
    }

    fn round_integers(&self, exponent: i32, pass: RoundingPass<'_>) {
        let Some(range) = integer_range(self.element_type) else { return };
        match (self.element_type.size(), self.element_type.is_signed()) {
            (1, true) => integers::to_multiples::<i8, 1>(exponent, range, pass),
            (1, false) => integers::to_multiples::<u8, 1>(exponent, range, pass),
            (2, true) => integers::to_multiples::<i16, 2>(exponent, range, pass),
            (2, false) => integers::to_multiples::<u16, 2>(exponent, range, pass),
            (4, true) => integers::to_multiples::<i32, 4>(exponent, range, pass),
            (4, false) => integers::to_multiples::<u32, 4>(exponent, range, pass),
            (_, true) => integers::to_multiples::<i64, 8>(exponent, range, pass),
            (_, false) => integers::to_multiples::<u64, 8>(exponent, range, pass),
        }
    }

    fn round_mantissas(&self, bits: u32, pass: RoundingPass<'_>) {
        let Format::Float(format) = self.element_type.format() else { return };
        match self.element_type.size() {
            2 => mantissas::to_bits::<u16, 2>(format, bits, pass),
            4 => mantissas::to_bits::<u32, 4>(format, bits, pass),
            _ => mantissas::to_bits::<u64, 8>(format, bits, pass),
        }
    }
}

/// The bytes of all elements that equal a value.
fn patterns(value: Scalar) -> Vec<u8> {
    let element_type = value.element_type();
    if element_type.is_float() && value.is_zero() {
        let negative = Scalar::from_bits(element_type, 1 << (element_type.bits() - 1));
        [Scalar::zero(element_type), negative].into_iter().flat_map(Scalar::to_ne_bytes).collect()
    } else {
        value.to_ne_bytes()
    }
}

/// Whether a floating-point type is rounded; smaller ones have few bits to lose.
pub(super) fn is_rounded(element_type: ElementType) -> bool {
    use ElementType::{BFloat16, Float16, Float32, Float64};
    [Float16, BFloat16, Float32, Float64].contains(&element_type)
}

/// The bits of the mantissa of the floating-point types that are rounded.
fn mantissa_bits(element_type: ElementType) -> Option<u32> {
    match element_type.format() {
        Format::Float(format) if is_rounded(element_type) => Some(format.mantissa_bits),
        _ => None,
    }
}

/// The ways to round within a bound, the coarsest first.
fn ways(element_type: ElementType, options: &PackOptions) -> Vec<Option<Rounded>> {
    if let Some(bound) = options.max_rel_error {
        return mantissas_within(element_type, bound);
    }
    // Multiples of a step are at most half of it away.
    let exponent = match (options.precision, options.max_abs_error) {
        (Some(step), _) => exponent_of(step),
        (None, Some(bound)) if bound >= 1.0 && element_type.is_integer() => {
            exponent_of(bound.floor()) + 1
        }
        (None, Some(bound)) if bound > 0.0 && !element_type.is_integer() => exponent_of(bound) + 1,
        (None, _) => return vec![None],
    };
    vec![multiples(element_type, exponent)]
}

/// Multiples of 2^`exponent`, or of a smaller power if the type lacks that one.
fn multiples(element_type: ElementType, exponent: i32) -> Option<Rounded> {
    let (finest, coarsest) = if element_type.is_integer() {
        (0, element_type.bits() as i32 - 1 - i32::from(element_type.is_signed()))
    } else {
        mantissa_bits(element_type)?;
        let least = Scalar::from_bits(element_type, 1).to_f64();
        (exponent_of(least), exponent_of(Scalar::max(element_type).to_f64()))
    };
    let exponent = exponent.min(coarsest);
    (exponent > finest).then(|| Rounded::MultiplesOf(power_of_two(exponent)))
}

/// The fewest bits of the mantissa that keep a relative bound, and one more, for the product of bound and value is rounded.
fn mantissas_within(element_type: ElementType, bound: f64) -> Vec<Option<Rounded>> {
    let all = mantissa_bits(element_type).unwrap_or(0);
    // Just between 1 and its neighbour 1 + 2^-bits, the error is half of their distance, and the value 1 + 2^-(bits + 1).
    let error = |bits: u32| 1.0 / (power_of_two(bits as i32 + 1) + 1.0);
    let enough = (0..all).filter(|&bits| error(bits) <= bound).map(Rounded::MantissaBits);
    enough.take(2).map(Some).chain([None]).collect()
}

/// The greatest exponent whose power of two is not above a positive number.
fn exponent_of(number: f64) -> i32 {
    let (mantissa, exponent, _) = number.integer_decode();
    mantissa.max(1).ilog2() as i32 + i32::from(exponent)
}

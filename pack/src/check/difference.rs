//! Differences between decoded and expected elements, to the last bit.

use anyhow::bail;
use recast_kernels::{ElementType, Format, Scalar};
use serde::Serialize;

use crate::error::Result;
use crate::scan::number::integer;
use crate::text::{count, measured};

/// Elements that differ. NaNs are equal to each other, and 0 differs from −0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Differences {
    /// The number of compared elements.
    #[serde(rename = "compared")]
    pub elements: u64,
    /// The number that differ.
    pub differing: u64,
    /// The number of differences in which only one side is NaN or infinite.
    pub not_finite: u64,
    /// The largest distance in units in the last place, counted in values of the type between.
    pub max_ulps: u64,
    /// The largest |found − expected|.
    #[serde(rename = "max_difference")]
    pub max: f64,
}

impl Differences {
    /// Equal elements.
    pub(crate) fn none(elements: u64) -> Self {
        Self { elements, ..Self::default() }
    }

    /// Compares elements of a type, in native byte order.
    pub(crate) fn between(
        element_type: ElementType,
        expected: &[u8],
        found: &[u8],
    ) -> Result<Self> {
        if expected.len() != found.len() {
            bail!("{} bytes are compared with {}", found.len(), expected.len());
        }
        let size = element_type.size();
        let mut differences = Self::none((expected.len() / size) as u64);
        if expected == found {
            return Ok(differences);
        }
        for (x, y) in expected.chunks_exact(size).zip(found.chunks_exact(size)) {
            if x == y {
                continue;
            }
            let scalar = |bytes| Scalar::from_ne_bytes(element_type, bytes);
            if let Some((x, y)) = scalar(x).zip(scalar(y)) {
                differences.add(x, y);
            }
        }
        Ok(differences)
    }

    fn add(&mut self, x: Scalar, y: Scalar) {
        if x == y || (x.is_nan() && y.is_nan()) {
            return;
        }
        self.differing += 1;
        if !x.is_finite() || !y.is_finite() {
            self.not_finite += 1;
            return;
        }
        let steps = ordinal(x).abs_diff(ordinal(y));
        self.max_ulps = self.max_ulps.max(u64::try_from(steps).unwrap_or(u64::MAX));
        // float64 may round both integers to one number.
        let is_integer = x.element_type().is_integer();
        let apart = if is_integer { steps as f64 } else { (x.to_f64() - y.to_f64()).abs() };
        self.max = self.max.max(apart);
    }

    pub(crate) fn merge(self, other: Self) -> Self {
        Self {
            elements: self.elements + other.elements,
            differing: self.differing + other.differing,
            not_finite: self.not_finite + other.not_finite,
            max_ulps: self.max_ulps.max(other.max_ulps),
            max: self.max.max(other.max),
        }
    }

    /// Whether no element differs.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.differing == 0
    }

    /// Says how many differ, for instance `541 of 65 536 differ, by at most 1 ULP (5.684e-14)`.
    #[must_use]
    pub fn describe(&self, what: &str) -> String {
        let all = count(self.elements);
        if self.is_none() {
            return format!("bit-identical in all {all} {what}");
        }
        let lost = match self.not_finite {
            0 => String::new(),
            lost => format!(", {} of them from or to NaN or infinity", count(lost)),
        };
        format!(
            "{} of {all} {what} differ, by at most {} ULP ({}){lost}",
            count(self.differing),
            count(self.max_ulps),
            measured(self.max)
        )
    }
}

/// Numbers the values of a type in ascending order; 0 and −0 are neighbours.
fn ordinal(scalar: Scalar) -> i128 {
    let bits = scalar.bits();
    match scalar.element_type().format() {
        Format::Float(format) if format.is_signed() => {
            let sign = 1 << (format.bits() - 1);
            if bits & sign == 0 { bits.into() } else { -1 - i128::from(bits & !sign) }
        }
        Format::Float(_) => bits.into(),
        _ => integer(scalar).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32s(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    #[test]
    fn every_bit_counts_but_those_of_nan() {
        let next = f32::from_bits(1.0_f32.to_bits() + 3);
        let other_nan = f32::from_bits(f32::NAN.to_bits() + 1);
        let expected = f32s(&[1.0, f32::NAN, 0.0, 2.0, 5.0]);
        let found = f32s(&[next, other_nan, -0.0, 2.0, f32::NAN]);
        let differences = Differences::between(ElementType::Float32, &expected, &found).unwrap();
        assert_eq!((differences.elements, differences.differing), (5, 3));
        assert_eq!((differences.max_ulps, differences.not_finite), (3, 1));
        assert_eq!(differences.max, f64::from(next) - 1.0);
        // Far above 2^63, where float64 has one number for both.
        let integers = [u64::MAX - 7, u64::MAX - 6].map(u64::to_ne_bytes);
        let found = Differences::between(ElementType::UInt64, &integers[0], &integers[1]).unwrap();
        assert_eq!((found.max_ulps, found.max), (1, 1.0));
        assert!(
            Differences::between(ElementType::Float32, &expected, &expected).unwrap().is_none()
        );
    }
}

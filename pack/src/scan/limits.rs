//! The range to which values are clamped.

use anyhow::Context;
use recast_kernels::Scalar;

use super::missing::Markers;
use super::number::{Number, is_wide};
use super::reader::{BLOCK, Reader};
use crate::error::Result;

/// The ends of the range to which values are clamped.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) least: Scalar,
    pub(crate) greatest: Scalar,
    /// Values that are not clamped: missing markers and the fill value.
    reserved_values: Markers,
}

/// Elements outside the range.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClampStats {
    pub(crate) count: u64,
    /// The largest distance from the range.
    pub(crate) farthest: f64,
}

impl ClampStats {
    pub(crate) fn merge(self, other: Self) -> Self {
        Self { count: self.count + other.count, farthest: self.farthest.max(other.farthest) }
    }
}

impl Limits {
    /// The range from `least` to `greatest`, for arrays with these special values.
    pub(crate) fn new(least: Scalar, greatest: Scalar, reserved_values: &Markers) -> Self {
        Self { least, greatest, reserved_values: reserved_values.clone() }
    }

    /// Clamps the elements outside. NaN, infinities and special values stay.
    pub(crate) fn apply(&self, elements: &mut [u8]) -> Result<ClampStats> {
        if is_wide(self.least.element_type()) {
            self.apply_as::<i128>(elements)
        } else {
            self.apply_as::<f64>(elements)
        }
    }

    fn apply_as<N: Number>(&self, elements: &mut [u8]) -> Result<ClampStats> {
        let (reader, ends) = self.ends::<N>()?;
        let (least, greatest) = (self.least.to_ne_bytes(), self.greatest.to_ne_bytes());
        let size = least.len();
        let mut outside = ClampStats::default();
        let mut numbers = Vec::with_capacity(BLOCK);
        for block in elements.chunks_mut(BLOCK * size) {
            reader.read_into(block, &mut numbers)?;
            if !numbers.iter().any(|&number| ends.is_outside(number)) {
                continue;
            }
            for (&number, element) in numbers.iter().zip(block.chunks_exact_mut(size)) {
                if !ends.is_outside(number) {
                    continue;
                }
                let (end, bytes) = if number < ends.least {
                    (ends.least, &least)
                } else {
                    (ends.greatest, &greatest)
                };
                outside.count += 1;
                outside.farthest = outside.farthest.max(number.distance(end));
                element.copy_from_slice(bytes);
            }
        }
        Ok(outside)
    }

    /// Removes the elements outside.
    pub(crate) fn retain_inside(&self, elements: &mut Vec<u8>) -> Result<()> {
        fn inside<N: Number>(limits: &Limits, elements: &[u8]) -> Result<Vec<u8>> {
            let (reader, ends) = limits.ends::<N>()?;
            let size = limits.least.element_type().size();
            let numbers = reader.read(elements)?.into_iter();
            let pairs = numbers.zip(elements.chunks_exact(size));
            let inside = pairs.filter(|(number, _)| !ends.is_outside(*number));
            Ok(inside.flat_map(|(_, bytes)| bytes.iter().copied()).collect())
        }
        *elements = if is_wide(self.least.element_type()) {
            inside::<i128>(self, elements)?
        } else {
            inside::<f64>(self, elements)?
        };
        elements.extend(self.least.to_ne_bytes());
        elements.extend(self.greatest.to_ne_bytes());
        Ok(())
    }

    fn ends<N: Number>(&self) -> Result<(Reader<N>, Ends<N>)> {
        let reader = Reader::<N>::new(self.least.element_type())?;
        let number = |scalar: Scalar| -> Result<N> {
            reader.read(&scalar.to_ne_bytes())?.first().copied().context("an element has no bytes")
        };
        let (least, greatest) = (number(self.least)?, number(self.greatest)?);
        let reserved = self.reserved_values.numbers(&reader)?;
        Ok((reader, Ends { least, greatest, reserved }))
    }
}

/// [`Limits`] as numbers.
struct Ends<N> {
    least: N,
    greatest: N,
    reserved: Vec<N>,
}

impl<N: Number> Ends<N> {
    #[allow(clippy::needless_bitwise_bool)]
    fn is_outside(&self, number: N) -> bool {
        ((number < self.least) | (number > self.greatest)) & !number.is_infinite()
            && !self.reserved.contains(&number)
    }
}

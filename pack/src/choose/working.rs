//! The type in which scale and offset are computed, and how much its arithmetic rounds.

use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};

use super::placement::refused;
use crate::error::Result;
use crate::scan::grid::round_scales;
use crate::scan::number::{extent, magnitude, unit_roundoff};

/// The type in which scale and offset are computed, with the range of the values to store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Working {
    pub(super) element_type: ElementType,
    /// The type of the array, to which decoded values are rounded.
    source: ElementType,
    /// The smallest and the largest value, in the working type.
    pub(super) least: Scalar,
    pub(super) greatest: Scalar,
}

impl Working {
    /// # Errors
    /// An end of the range that the type has no value for.
    pub(super) fn new(
        element_type: ElementType,
        (least, greatest): (Scalar, Scalar),
    ) -> Result<Self> {
        let source = least.element_type();
        let [least, greatest] =
            [in_working(least, element_type)?, in_working(greatest, element_type)?];
        Ok(Self { element_type, source, least, greatest })
    }

    /// The same range in another type.
    pub(super) fn computed_in(&self, element_type: ElementType) -> Result<Self> {
        let range = Self::new(element_type, (self.least, self.greatest))?;
        Ok(Self { source: self.source, ..range })
    }

    pub(super) fn is_integer(&self) -> bool {
        self.element_type.is_integer()
    }

    /// Half a unit in the last place of 1.
    pub(super) fn unit(&self) -> f64 {
        unit_roundoff(self.element_type)
    }

    /// The same in the type to which decoded values are rounded; 0 for the working type and for integers.
    pub(super) fn unit_of_decoded(&self) -> f64 {
        if self.source == self.element_type { 0.0 } else { unit_roundoff(self.source) }
    }

    pub(super) fn magnitude(&self) -> f64 {
        magnitude((self.least, self.greatest))
    }

    pub(super) fn extent(&self) -> f64 {
        extent((self.least, self.greatest))
    }

    /// The largest total rounding error of a value. Every operation rounds by at most half a unit in the last place
    /// of its result, so the arguments count units at the largest magnitude and at the whole range.
    pub(super) fn rounding(&self, of_magnitude: f64, of_extent: f64) -> f64 {
        self.unit() * (of_magnitude * self.magnitude() + of_extent * self.extent())
    }

    /// How far values of the largest magnitude may be from the numbers that they stand for, because the array's type or
    /// the working type lacks these numbers.
    pub(super) fn rounding_of_values(&self) -> f64 {
        self.unit().max(self.unit_of_decoded()) * self.magnitude()
    }

    /// The round scales with which the values are at least one step and have no more steps than codes can tell apart.
    pub(super) fn round_scales(&self) -> impl Iterator<Item = f64> {
        round_scales(self.extent().max(self.magnitude()))
    }

    /// A value in the working type; `None` if the type lacks the value.
    pub(super) fn of(&self, value: Scalar) -> Option<Scalar> {
        value.cast(self.element_type, Rounding::NearestEven, OutOfRange::Error).ok()
    }

    /// A finite number other than 0 in the working type.
    pub(super) fn number(&self, number: f64, rounding: Rounding) -> Option<Scalar> {
        let scalar = Scalar::from(number).cast(self.element_type, rounding, OutOfRange::Error);
        scalar.ok().filter(|scalar| scalar.is_finite() && !scalar.is_zero())
    }
}

/// A value in the type in which scale and offset are computed.
pub(super) fn in_working(value: Scalar, working: ElementType) -> Result<Scalar> {
    let cast = value.cast(working, Rounding::NearestEven, OutOfRange::Clamp);
    cast.map_err(|reason| refused(value, working, reason))
}

//! A scale, an offset and a stored type: where elements go.

use recast_kernels::{Affine, ElementType, OutOfRange, Reason, Rounding, Scalar, Step, reference};

use crate::error::Result;
use crate::options::PackOptions;
use crate::scan::lattice::Lattice;
use crate::scan::survey::Survey;

/// The values that keep the bound, besides those surveyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    /// None.
    Surveyed,
    /// All in the promised range; without a promised range, all in the range of the surveyed values.
    Range,
    /// All that can be stored.
    Storable,
}

impl Promise {
    /// The promises to try, the widest first.
    pub(super) fn to_try(options: &PackOptions, survey: &Survey) -> &'static [Self] {
        if survey.promised.is_some() {
            &[Self::Range]
        } else if options.is_for_more() {
            &[Self::Storable, Self::Range]
        } else {
            &[Self::Surveyed]
        }
    }
}

/// A scale, and its purpose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// The factor of values; `None` is 1.
    pub(crate) value: Option<Scalar>,
    /// The grid of the surveyed values, if the scale is made for it and not derived from the error bound alone.
    pub(super) grid: Option<Lattice>,
    /// The stored type that the scale fills; by default the types to try are those of the options.
    pub(super) target: Option<ElementType>,
    /// The offset that goes with the scale; by default the offsets to try are those that make the values fit.
    pub(super) offset: Option<Scalar>,
    /// The values, besides those surveyed, that keep the bound.
    pub(super) promise: Promise,
    /// Whether no value may decode to a missing marker, not even a neighbour of the marker.
    pub(super) avoids_markers: bool,
}

impl Scale {
    /// A scale that the arithmetic proves.
    pub(super) fn of(value: Option<Scalar>) -> Self {
        let (promise, avoids_markers) = (Promise::Surveyed, false);
        Self { value, grid: None, target: None, offset: None, promise, avoids_markers }
    }

    /// The scale of a grid, for values on the grid.
    pub(super) fn of_grid(value: Scalar, grid: Lattice) -> Self {
        Self { grid: Some(grid), ..Self::of(Some(value)) }
    }

    /// The factor as a number.
    pub(super) fn factor(&self) -> f64 {
        self.value.map_or(1.0, Scalar::to_f64)
    }
}

/// Where the elements go in the stored type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub(crate) offset: Option<Scalar>,
    pub(crate) scale: Scale,
    /// The type of the stored elements.
    pub(crate) target: ElementType,
    /// Whether NaN and special values get codes next to the codes of the data, and not at the ends of the type.
    pub(super) is_compact: bool,
}

impl Placement {
    fn affine(&self) -> Affine {
        Affine::new(self.offset, self.scale.value)
    }

    /// A value in the working type after offset and scale.
    pub(super) fn scaled(&self, value: Scalar) -> Result<Scalar> {
        let scaled = reference::run(value, &[Step::Scale(self.affine())], 0);
        scaled.map_err(|error| refused(value, value.element_type(), error.reason))
    }

    /// The stored code of a scaled value, if the type has one.
    pub(super) fn code(&self, scaled: Scalar, rounding: Rounding) -> Option<Scalar> {
        scaled.cast(self.target, rounding, OutOfRange::Error).ok()
    }

    /// The value in the working type that becomes a scaled one.
    pub(super) fn unscaled(&self, scaled: Scalar) -> Option<Scalar> {
        reference::run(scaled, &[Step::InverseScale(self.affine())], 0).ok()
    }
}

/// The error for a value without a scaled value, or without a value in the working type.
pub(super) fn refused(value: Scalar, working: ElementType, reason: Reason) -> anyhow::Error {
    let why = match reason {
        Reason::Overflow | Reason::OutOfRange => "leaves the range of",
        Reason::InexactDivision => "is no multiple of the scale in",
        Reason::Nan | Reason::Infinite => "has no counterpart in",
        _ => "cannot be computed in",
    };
    anyhow::anyhow!("{value} {why} {working}; use another --scale or --offset")
}

//! What a plan does to each element: casts and scale-and-offset, with their parameters.

use std::fmt;

use crate::{ElementType, Scalar};

/// How a value between two representable ones is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the nearest; a tie goes to the even neighbour.
    #[default]
    NearestEven,
    /// To the neighbour of smaller magnitude.
    TowardsZero,
    /// To the greater neighbour.
    TowardsPositive,
    /// To the smaller neighbour.
    TowardsNegative,
    /// To the nearest; a tie goes to the neighbour of greater magnitude.
    NearestAway,
}

impl Rounding {
    /// All five, the default first.
    pub const ALL: [Self; 5] = [
        Self::NearestEven,
        Self::TowardsZero,
        Self::TowardsPositive,
        Self::TowardsNegative,
        Self::NearestAway,
    ];

    /// The name in codec metadata, for instance `nearest-even`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NearestEven => "nearest-even",
            Self::TowardsZero => "towards-zero",
            Self::TowardsPositive => "towards-positive",
            Self::TowardsNegative => "towards-negative",
            Self::NearestAway => "nearest-away",
        }
    }

    /// The rounding with this name in codec metadata.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rounding| rounding.name() == name)
    }
}

impl fmt::Display for Rounding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What becomes of a rounded value beyond the target's largest or smallest finite value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OutOfRange {
    /// It is an error (`out_of_range` absent in the metadata).
    #[default]
    Error,
    /// ±Inf where the target has it, else the target's minimum or maximum.
    Clamp,
    /// Modulo 2^N, N being the bits of an integer target.
    Wrap,
}

impl OutOfRange {
    /// All three, the default first.
    pub const ALL: [Self; 3] = [Self::Error, Self::Clamp, Self::Wrap];

    /// The name in codec metadata; `None` for [`OutOfRange::Error`], which is written by absence.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::Error => None,
            Self::Clamp => Some("clamp"),
            Self::Wrap => Some("wrap"),
        }
    }
}

/// What `scale_offset` does when finite input overflows to infinity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FloatOverflow {
    /// An error, as the specification demands.
    #[default]
    Strict,
    /// ±Inf as IEEE 754 says, in types that have it; for data written by implementations that do so.
    Ieee,
}

/// A cast to another element type: `cast_value` in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Cast {
    /// The type to cast to.
    pub target: ElementType,
    /// How inexact values are rounded.
    pub rounding: Rounding,
    /// What becomes of values beyond the target's range.
    pub out_of_range: OutOfRange,
    /// Pairs of input and output. An input equal by value to a key (any NaN to a NaN key, 0 to −0)
    /// gives that pair's output, before anything else; the first match wins.
    pub map: Vec<(Scalar, Scalar)>,
}

impl Cast {
    /// A cast to `target`: nearest-even, out of range is an error, no map.
    #[must_use]
    pub const fn new(target: ElementType) -> Self {
        Self {
            target,
            rounding: Rounding::NearestEven,
            out_of_range: OutOfRange::Error,
            map: Vec::new(),
        }
    }

    /// The same with another rounding.
    #[must_use]
    pub fn rounding(self, rounding: Rounding) -> Self {
        Self { rounding, ..self }
    }

    /// The same with another treatment of values out of range.
    #[must_use]
    pub fn out_of_range(self, out_of_range: OutOfRange) -> Self {
        Self { out_of_range, ..self }
    }

    /// The same with another map.
    #[must_use]
    pub fn map(self, map: impl IntoIterator<Item = (Scalar, Scalar)>) -> Self {
        Self { map: map.into_iter().collect(), ..self }
    }
}

/// The parameters of `scale_offset`, both of the type of the elements.
///
/// A missing parameter is a step that is skipped; a given one is computed, even if it is 0 or 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScaleOffset {
    /// Subtracted when encoding, added when decoding. Must be finite.
    pub offset: Option<Scalar>,
    /// Multiplies when encoding, divides when decoding. Must be finite and not zero.
    pub scale: Option<Scalar>,
    /// What happens when finite float input overflows.
    pub overflow: FloatOverflow,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Cast to another type.
    Cast(Cast),
    /// `(x − offset) · scale`, in the elements' own arithmetic.
    Scale(ScaleOffset),
    /// `x / scale + offset`, in the elements' own arithmetic.
    Unscale(ScaleOffset),
}

//! The steps of a plan for each element: casts and scale-and-offset, with their parameters.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;
use core::slice;

use crate::error::named;
use crate::{ElementType, Scalar};

/// How a value between two representable ones is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
    /// All of them, the default first.
    pub const ALL: &'static [Self] = &[
        Self::NearestEven,
        Self::TowardsZero,
        Self::TowardsPositive,
        Self::TowardsNegative,
        Self::NearestAway,
    ];

    /// The name, for instance `nearest-even`.
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

    /// The rounding with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rounding| rounding.name() == name)
    }
}

named!(Rounding);

/// The treatment of a rounded value beyond the target's largest or smallest finite value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutOfRange {
    /// It is an error.
    #[default]
    Error,
    /// ±Inf where the target has it, else the target's minimum or maximum.
    Clamp,
    /// Modulo 2^N, N being the bits of an integer target.
    Wrap,
}

impl OutOfRange {
    /// All of them, the default first.
    pub const ALL: &'static [Self] = &[Self::Error, Self::Clamp, Self::Wrap];

    /// The name, for instance `clamp`. The metadata of Zarr write [`OutOfRange::Error`] by absence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Clamp => "clamp",
            Self::Wrap => "wrap",
        }
    }

    /// The mode with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| mode.name() == name)
    }
}

named!(OutOfRange);

/// The treatment of finite input that overflows to infinity in an [`Affine`] step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FloatOverflow {
    /// An error.
    #[default]
    Error,
    /// ±Inf as IEEE 754 says, in types that have it; for data written by implementations that do so.
    Infinity,
}

impl FloatOverflow {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Error, Self::Infinity];

    /// The name: `error` or `infinity`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Infinity => "infinity",
        }
    }

    /// The treatment of overflow with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|overflow| overflow.name() == name)
    }
}

named!(FloatOverflow);

/// A cast to another element type.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[non_exhaustive]
pub struct Cast {
    /// The type to cast to.
    pub target: ElementType,
    /// How inexact values are rounded.
    pub rounding: Rounding,
    /// The treatment of values beyond the target's range.
    pub out_of_range: OutOfRange,
    /// Pairs of input and output. An input equal by value to a key (any NaN to a NaN key, 0 to −0)
    /// gives that pair's output, before anything else; the first match wins.
    pub map: Entries,
}

/// The entries of the map of a [`Cast`]: a slice of pairs of input and output, which clones share.
///
/// ```
/// use recast_kernels::{Entries, Scalar};
/// let entries = Entries::from(vec![(f32::NAN.into(), 255_u8.into())]);
/// assert_eq!(entries[0].1, Scalar::from(255_u8));
/// ```
#[derive(Clone, Default)]
pub struct Entries(Option<Arc<Vec<(Scalar, Scalar)>>>);

impl Entries {
    const NONE: Self = Self(None);
}

impl Deref for Entries {
    type Target = [(Scalar, Scalar)];

    fn deref(&self) -> &[(Scalar, Scalar)] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }
}

impl<'a> IntoIterator for &'a Entries {
    type Item = &'a (Scalar, Scalar);
    type IntoIter = slice::Iter<'a, (Scalar, Scalar)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<Vec<(Scalar, Scalar)>> for Entries {
    fn from(entries: Vec<(Scalar, Scalar)>) -> Self {
        Self(Some(Arc::new(entries)))
    }
}

impl FromIterator<(Scalar, Scalar)> for Entries {
    fn from_iter<I: IntoIterator<Item = (Scalar, Scalar)>>(entries: I) -> Self {
        Vec::from_iter(entries).into()
    }
}

impl PartialEq for Entries {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Entries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Entries of a long map that are shown.
        const SHOWN: usize = 8;
        f.debug_list().entries(self.iter().take(SHOWN)).finish()?;
        match self.len() {
            0..=SHOWN => Ok(()),
            len => write!(f, " and {} more", len - SHOWN),
        }
    }
}

impl Cast {
    /// A cast to `target`: nearest-even, out of range is an error, no map.
    #[must_use]
    pub const fn new(target: ElementType) -> Self {
        Self {
            target,
            rounding: Rounding::NearestEven,
            out_of_range: OutOfRange::Error,
            map: Entries::NONE,
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

/// An offset and a scale, which is the inverse of CF's `scale_factor`: [`Step::Scale`] subtracts the offset and multiplies by the
/// scale, [`Step::InverseScale`] divides by the scale and adds the offset.
///
/// Both are of the type of the elements.
/// A missing parameter is a step that is skipped; a given one is computed, even if it is 0 or 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[non_exhaustive]
pub struct Affine {
    /// Subtracted by [`Step::Scale`], added by [`Step::InverseScale`]. Must be finite.
    pub offset: Option<Scalar>,
    /// Multiplies in [`Step::Scale`], divides in [`Step::InverseScale`]. Must be finite and not zero.
    pub scale: Option<Scalar>,
    /// The treatment of finite float input that overflows.
    pub overflow: FloatOverflow,
}

impl Affine {
    /// Parameters with strict overflow; an operation without its parameter is skipped.
    ///
    /// ```
    /// use recast_kernels::{Affine, ElementType, Plan};
    /// # fn main() -> Result<(), recast_kernels::CastSliceError> {
    /// let parameters = Affine::new(Some(5_i16.into()), Some(10_i16.into()));
    /// let plan = Plan::builder(ElementType::Int16).scale(parameters).build()?;
    /// assert_eq!(plan.run_to_vec(&7_i16.to_ne_bytes())?, 20_i16.to_ne_bytes());
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub const fn new(offset: Option<Scalar>, scale: Option<Scalar>) -> Self {
        Self { offset, scale, overflow: FloatOverflow::Error }
    }

    /// The same with another treatment of overflow.
    #[must_use]
    pub const fn overflow(self, overflow: FloatOverflow) -> Self {
        Self { overflow, ..self }
    }
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Step {
    /// Cast to another type.
    Cast(Cast),
    /// `(x − offset) · scale`, in the elements' own arithmetic.
    Scale(Affine),
    /// `x / scale + offset`, in the elements' own arithmetic.
    InverseScale(Affine),
}

impl Step {
    /// The type of the elements behind this step, of type `source` before it.
    pub(crate) fn target(&self, source: ElementType) -> ElementType {
        match self {
            Self::Cast(cast) => cast.target,
            Self::Scale(_) | Self::InverseScale(_) => source,
        }
    }
}

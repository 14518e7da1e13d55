//! The kinds of failure: a plan that cannot be built, a run that met an element it may not convert, and
//! text that cannot be read.

use alloc::string::String;
use alloc::vec::Vec;

use thiserror::Error;

use crate::{ElementType, Level, Scalar};

/// The plan cannot be built.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// `wrap` needs an integer target.
    #[error("wrap needs an integer target, and {0} is a float type; use clamp, or leave it out")]
    WrapToFloat(ElementType),
    /// A scalar of another type than its place asks for.
    #[error("{place} {value} is of type {found}; it must be of type {expected}")]
    ScalarType {
        /// Where it stands, for instance `map key`.
        place: &'static str,
        /// The scalar.
        value: Scalar,
        /// Its type.
        found: ElementType,
        /// The type that the place needs.
        expected: ElementType,
    },
    /// A scale of zero, NaN or infinity.
    #[error("the scale is {0}; it must be finite and not zero")]
    Scale(Scalar),
    /// An offset of NaN or infinity.
    #[error("the offset is {0}; it must be finite")]
    Offset(Scalar),
    /// A typed cast whose target is not the type of the output slice.
    #[error("the cast is to {asked}, and the output slice holds {buffer}")]
    Target {
        /// The cast's target.
        asked: ElementType,
        /// The type of the slice's elements.
        buffer: ElementType,
    },
    /// The forced level is not available on this CPU.
    #[error("level {0} is not available on this CPU")]
    Level(Level),
    /// The forced level is left out of this build of the crate.
    #[error("level {0} is left out of this build; enable the feature {0} of recast-kernels")]
    LevelLeftOut(Level),
    /// A type of elements whose kernels are left out of this build of the crate.
    #[error("{0} is left out of this build; enable the feature small-types of recast-kernels")]
    TypeLeftOut(ElementType),
    /// The environment variable `RECAST_LEVEL` holds something else than a level's name.
    #[error("RECAST_LEVEL: {0}")]
    UnknownLevel(ParseError),
}

/// Why an element cannot be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// NaN, and the target has none.
    Nan,
    /// ±Inf, and the target has none.
    Infinite,
    /// The rounded value is beyond the target's largest or smallest finite value.
    OutOfRange,
    /// Scale or offset give a result that the elements' type cannot represent.
    Overflow,
    /// An integer division by the scale leaves a remainder.
    InexactDivision,
}

/// The first element of a run that cannot be converted.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CastError {
    /// Its index in the slice.
    pub index: usize,
    /// The element as it stands in the input.
    pub input: Scalar,
    /// The value that reached the failing step; the same as `input` if that is the first step. Its
    /// type is the source type of the step.
    pub value: Scalar,
    /// The type that the failing step converts to.
    pub target: ElementType,
    /// Index of the failing step in the plan.
    pub step: usize,
    /// Why it failed.
    pub reason: Reason,
}

/// The element, its value and the reason, then a way out; `{:#}` leaves that to a layer that has a better
/// one.
impl core::fmt::Display for CastError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { index, input, value, target, step, reason } = self;
        write!(f, "element {index}: ")?;
        write!(f, "{} {input}", input.element_type())?;
        if *step > 0 && input != value {
            write!(f, " (by then {} {value})", value.element_type())?;
        }
        let range = Scalar::range(*target);
        let way_out = match reason {
            Reason::Nan => {
                write!(f, " has no counterpart in {target}")?;
                "map it to one of its values"
            }
            Reason::Infinite => {
                write!(
                    f,
                    " has no counterpart in {target}, and clamp does not apply to infinities"
                )?;
                "map it to one of its values"
            }
            Reason::OutOfRange => {
                write!(f, " is out of range for {target} ({range})")?;
                if target.is_integer() { "clamp, wrap or map it" } else { "clamp or map it" }
            }
            Reason::Overflow => {
                write!(f, ": scale and offset lead out of the range of {target} ({range})")?;
                "choose others, or a wider type"
            }
            Reason::InexactDivision => {
                write!(f, " is not a multiple of the scale, and {target} has no fractions")?;
                "the data were not written with this scale"
            }
        };
        if f.alternate() { Ok(()) } else { write!(f, "; {way_out}") }
    }
}

impl core::error::Error for CastError {}

/// A run failed.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RunError {
    /// An element cannot be converted.
    #[error(transparent)]
    Element(#[from] CastError),
    /// The buffers do not hold the same whole number of elements.
    #[error(
        "{input_bytes} bytes of {source_type} and {output_bytes} bytes of {target_type} do not \
         hold the same number of elements ({input_size} and {output_size} bytes each)",
        input_size = source_type.size(), output_size = target_type.size()
    )]
    Length {
        /// Bytes of input.
        input_bytes: usize,
        /// Bytes of output.
        output_bytes: usize,
        /// Type of the input's elements.
        source_type: ElementType,
        /// Type of the output's elements.
        target_type: ElementType,
    },
    /// A run in place between types of different sizes.
    #[error(
        "{source_type} has {source_size} and {target_type} {target_size} bytes; a run in place needs types of one size",
        source_size = source_type.size(), target_size = target_type.size()
    )]
    InPlace {
        /// Type of the elements before the run.
        source_type: ElementType,
        /// Type of the elements after it.
        target_type: ElementType,
    },
    /// A row that is not inside the output.
    #[error(
        "a row of {row} elements from element {start} on is not inside an output of {elements} elements"
    )]
    Row {
        /// The element at which the row begins.
        start: usize,
        /// Elements of the row.
        row: usize,
        /// Elements of the output.
        elements: usize,
    },
    /// A slice of another type than the elements of the run.
    #[error("the slice holds {slice}, and the elements are of type {expected}")]
    SliceType {
        /// The type that the slice holds.
        slice: ElementType,
        /// The type that it must hold.
        expected: ElementType,
    },
}

impl RunError {
    /// The same error, its index counted from so many elements before the run's first one: for callers that run a plan over one
    /// piece after another.
    ///
    /// ```
    /// use recast_kernels::{Cast, ElementType, Plan, RunError};
    /// # fn main() -> Result<(), recast_kernels::BuildError> {
    /// let plan = Plan::builder(ElementType::Int8).cast(Cast::new(ElementType::UInt8)).build()?;
    /// let error = plan.run(&(-1_i8).to_ne_bytes(), &mut [0]).unwrap_err();
    /// assert!(matches!(error.after(64), RunError::Element(error) if error.index == 64));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn after(self, elements: usize) -> Self {
        match self {
            Self::Element(error) => CastError { index: error.index + elements, ..error }.into(),
            other @ (Self::Length { .. }
            | Self::InPlace { .. }
            | Self::Row { .. }
            | Self::SliceType { .. }) => other,
        }
    }
}

/// Invalid text for the name of a type, a rounding, or a scalar.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{text:?} is not {expected}")]
pub struct ParseError {
    text: String,
    expected: String,
}

impl ParseError {
    pub(crate) fn new(text: &str, expected: String) -> Self {
        /// Characters of a long text that an error repeats.
        const SHOWN: usize = 80;
        Self { text: text.chars().take(SHOWN).collect(), expected }
    }

    /// The error for text that is none of `names`.
    pub(crate) fn none_of(text: &str, names: impl Iterator<Item = &'static str>) -> Self {
        let names: Vec<&str> = names.collect();
        Self::new(text, format!("one of {}", names.join(", ")))
    }

    /// The start of the text that was read.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The kind of text that is expected.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.expected
    }
}

/// Shows and reads values of a type by their names.
macro_rules! named {
    ($t:ty) => {
        impl core::fmt::Display for $t {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }

        /// Reads the name.
        impl core::str::FromStr for $t {
            type Err = $crate::ParseError;

            fn from_str(text: &str) -> Result<Self, $crate::ParseError> {
                let names = Self::ALL.iter().map(|each| each.name());
                Self::from_name(text).ok_or_else(|| $crate::ParseError::none_of(text, names))
            }
        }
    };
}
pub(crate) use named;

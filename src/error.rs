//! Errors in metadata.

use recast_kernels::{BuildError, CastError, Reason};
use thiserror::Error;

use crate::Warning;
use crate::json::join;

/// A JSON document, or a part of it, is invalid. The text is one line: the place, for instance
/// `codecs[1].configuration.scalar_map.encode[0][1]`, and the problem there.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path}{colon}{problem}", colon = if path.is_empty() { "" } else { ": " })]
pub struct MetadataError {
    path: String,
    problem: String,
}

impl MetadataError {
    pub(crate) fn new(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { path: path.into(), problem: problem.into() }
    }

    /// The place in the document that was read; empty for its root.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The problem, and a way out.
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// The same error in a larger document, of which this one is the part `parent`: below `codecs[1]`, the
    /// place `configuration.scale` becomes `codecs[1].configuration.scale`.
    #[must_use]
    pub fn below(self, parent: &str) -> Self {
        Self { path: join(parent, &self.path), problem: self.problem }
    }
}

/// A chain of codecs cannot be bound.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BindError {
    /// The metadata are invalid.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// The fill value cannot be encoded, or decodes to another value.
    #[error("fill_value: {0}")]
    FillValue(Warning),
    /// The plan cannot be built: for instance, a level that this CPU lacks.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// Says what to change in the metadata so that an element can be encoded. The error of a [`Chain`] itself
/// names only values and types. One line without a full stop.
///
/// ```
/// use zarr_recast::{BindOptions, CastValue, Chain, ElementType, RunError, advice};
/// # fn main() -> Result<(), zarr_recast::BindError> {
/// let codecs = [CastValue::new(ElementType::UInt8).into()];
/// let chain = Chain::bind(ElementType::Float32, None, &codecs, &BindOptions::default())?;
/// let Err(RunError::Element(error)) = chain.encoder().run_slice::<f32, u8>(&[300.0]) else { panic!() };
/// assert_eq!(advice(&error), "set out_of_range, or name the value in scalar_map");
/// # Ok(()) }
/// ```
///
/// [`Chain`]: crate::Chain
#[must_use]
pub fn advice(error: &CastError) -> &'static str {
    match error.reason {
        Reason::Nan => "name NaN in scalar_map, for instance [\"NaN\", 0]",
        Reason::Infinite => "name the infinity in scalar_map, for instance [\"Infinity\", 0]",
        Reason::OutOfRange if error.target.is_integer() => {
            "set out_of_range, or name the value in scalar_map"
        }
        Reason::OutOfRange => "set out_of_range to clamp, or name the value in scalar_map",
        Reason::InexactDivision => "the data were not written with the scale of this scale_offset",
        // Happens in scale_offset too.
        _ => "choose another scale or offset for scale_offset, or a wider data type",
    }
}

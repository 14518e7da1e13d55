//! What is wrong with metadata.

use recast_kernels::BuildError;
use thiserror::Error;

use crate::Diagnostic;
use crate::json::join;

/// A JSON document, or a part of it, that has no meaning. Its text is one line: the place, for
/// instance `codecs[1].configuration.scalar_map.encode[0][1]`, and what is wrong there.
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

    /// What is wrong there, and a way out.
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// The same error, for a document that is the part `parent` of a greater one: the place
    /// `configuration.scale` becomes `codecs[1].configuration.scale` below `codecs[1]`.
    #[must_use]
    pub fn below(self, parent: &str) -> Self {
        Self { path: join(parent, &self.path), problem: self.problem }
    }
}

/// A chain of codecs cannot be bound.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BindError {
    /// The metadata have no meaning.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// The fill value cannot be encoded, or does not come back from it.
    #[error("fill_value: {0}")]
    FillValue(Diagnostic),
    /// The plan cannot be built: for instance, a level that this CPU lacks.
    #[error(transparent)]
    Build(#[from] BuildError),
}

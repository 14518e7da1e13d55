//! The common part of all codecs: their names, the form around a configuration, and the types that they are bound to.

use recast_kernels::{ElementType, Step};
use serde_json::{Map, Value};

use crate::Warning;

pub(super) const CAST_VALUE: &str = "cast_value";
pub(super) const SCALE_OFFSET: &str = "scale_offset";
pub(super) const FIXED_SCALE_OFFSET: &str = "numcodecs.fixedscaleoffset";
pub(super) const AS_TYPE: &str = "numcodecs.astype";
pub(super) const NAMES: [&str; 4] = [CAST_VALUE, SCALE_OFFSET, FIXED_SCALE_OFFSET, AS_TYPE];

/// The form of a codec around its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Envelope {
    /// Just its name.
    Name,
    /// A Zarr v3 object.
    Object { configuration: bool, must_understand: Option<bool> },
    /// A Zarr v2 filter: the configuration beside its `id`.
    Filter,
}

impl Default for Envelope {
    fn default() -> Self {
        Self::Object { configuration: true, must_understand: None }
    }
}

impl Envelope {
    /// The path of the configuration, relative to the codec.
    pub(super) fn configuration_path(self) -> &'static str {
        match self {
            Self::Filter => "",
            Self::Name | Self::Object { .. } => "configuration",
        }
    }

    pub(super) fn to_json(self, name: &str, configuration: Map<String, Value>) -> Value {
        match self {
            Self::Name if configuration.is_empty() => name.into(),
            Self::Filter => {
                let id = name.strip_prefix("numcodecs.").unwrap_or(name);
                let mut object = Map::from_iter([("id".to_owned(), id.into())]);
                object.extend(configuration);
                object.into()
            }
            Self::Name | Self::Object { .. } => {
                let mut object = Map::from_iter([("name".to_owned(), name.into())]);
                if !matches!(self, Self::Object { configuration: false, .. })
                    || !configuration.is_empty()
                {
                    object.insert("configuration".into(), configuration.into());
                }
                if let Self::Object { must_understand: Some(must_understand), .. } = self {
                    object.insert("must_understand".into(), must_understand.into());
                }
                object.into()
            }
        }
    }
}

/// A codec bound to the type that reaches it.
pub(crate) struct BoundCodec {
    pub(crate) target: ElementType,
    pub(crate) encode: Vec<Step>,
    pub(crate) decode: Vec<Step>,
    /// Warnings for users of this codec.
    pub(crate) warning: Option<Warning>,
}

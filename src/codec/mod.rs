//! The codecs' metadata: configurations that are not yet bound to a data type.

mod cast_value;
mod common;
mod entries;
mod numcodecs;
mod scale_offset;

use recast_kernels::{ElementType, FloatOverflow};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

pub use self::cast_value::{CastValue, ScalarMap};
use self::common::{
    AS_TYPE, BoundCodec, CAST_VALUE, Envelope, FIXED_SCALE_OFFSET, NAMES, SCALE_OFFSET,
};
pub use self::entries::Entries;
pub use self::numcodecs::{AsType, FixedScaleOffset};
pub use self::scale_offset::ScaleOffset;
use crate::MetadataError;
use crate::data_type::ByteOrder;
use crate::json::{Json, Node, join, list};

/// The metadata of one codec. Optional fields stay optional and scalars keep their text, so that metadata are
/// written as they were read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Codec {
    /// `cast_value`.
    CastValue(CastValue),
    /// `scale_offset`.
    ScaleOffset(ScaleOffset),
    /// `numcodecs.fixedscaleoffset`, for existing data.
    FixedScaleOffset(FixedScaleOffset),
    /// `numcodecs.astype`, for existing data.
    AsType(AsType),
}

impl Codec {
    /// Whether a codec of Zarr v3 with this name is one of these.
    #[must_use]
    pub fn is_known(name: &str) -> bool {
        NAMES.contains(&name)
    }

    /// Reads the metadata of one codec of Zarr v3.
    ///
    /// ```
    /// use zarr_recast::Codec;
    /// let json = serde_json::json!({"name": "scale_offset", "configuration": {"scale": 0.1}});
    /// assert_eq!(Codec::from_json(&json)?.to_json(), json);
    /// let error = Codec::from_json(r#"{"name": "cast_value", "configuration": {}}"#).unwrap_err();
    /// assert_eq!(error.path(), "configuration.data_type");
    /// # Ok::<(), zarr_recast::MetadataError>(())
    /// ```
    ///
    /// # Errors
    /// Another codec, an unknown, missing or ill-formed member, or `null`.
    pub fn from_json<'a>(json: impl Into<Json<'a>>) -> Result<Self, MetadataError> {
        Self::read(&Node::root("", json.into().text())?)
    }

    /// Reads a list of codecs; all must be of these kinds.
    ///
    /// # Errors
    /// As [`Codec::from_json`]; the paths start with `codecs[i]`.
    pub fn list_from_json<'a>(json: impl Into<Json<'a>>) -> Result<Vec<Self>, MetadataError> {
        let json = json.into();
        let root = Node::root("codecs", json.text())?;
        root.array("an array of codecs")?.map(|codec| Self::read(&codec)).collect()
    }

    /// Reads a filter of Zarr v2: `{"id": "fixedscaleoffset", …}` or `{"id": "astype", …}`.
    ///
    /// # Errors
    /// Another filter, an unknown, missing or ill-formed member, or `null`.
    pub fn from_v2_filter<'a>(json: impl Into<Json<'a>>) -> Result<Self, MetadataError> {
        let json = json.into();
        let mut object = Node::root("", json.text())?.object("a filter: an object with an id")?;
        let id = object.require("id")?;
        match id.string("the id of a filter")?.as_str() {
            "fixedscaleoffset" => FixedScaleOffset::read(object, Envelope::Filter).map(Self::from),
            "astype" => AsType::read(object, Envelope::Filter).map(Self::from),
            _ => Err(id.unexpected("\"fixedscaleoffset\" or \"astype\", the filters read here")),
        }
    }

    fn read(node: &Node<'_>) -> Result<Self, MetadataError> {
        const EXPECTED: &str = "a codec: an object with a name, or just the name";
        let (name, configuration, envelope) = if node.is_string() {
            (node.clone(), None, Envelope::Name)
        } else {
            let mut object = node.object(EXPECTED)?;
            let name = object.require("name")?;
            let configuration = object.take("configuration");
            let must_understand =
                object.take("must_understand").map(|node| node.boolean()).transpose()?;
            // Checked before the members, so that these rules are not applied to other codecs.
            Self::name_of(&name)?;
            object.finish(&["name", "configuration", "must_understand"])?;
            let envelope =
                Envelope::Object { configuration: configuration.is_some(), must_understand };
            (name, configuration, envelope)
        };
        let configuration = match configuration {
            Some(configuration) => Some(configuration.object("an object")?),
            None => None,
        };
        let required = || {
            let path = join(node.path(), "configuration");
            MetadataError::new(path, "missing; it is required")
        };
        match Self::name_of(&name)?.as_str() {
            CAST_VALUE => {
                CastValue::read(configuration.ok_or_else(required)?, envelope).map(Self::from)
            }
            SCALE_OFFSET => ScaleOffset::read(configuration, envelope).map(Self::from),
            FIXED_SCALE_OFFSET => {
                FixedScaleOffset::read(configuration.ok_or_else(required)?, envelope)
                    .map(Self::from)
            }
            _ => AsType::read(configuration.ok_or_else(required)?, envelope).map(Self::from),
        }
    }

    fn name_of(node: &Node<'_>) -> Result<String, MetadataError> {
        let name = node.string("the name of a codec")?;
        if Self::is_known(&name) {
            Ok(name)
        } else {
            Err(node.unexpected(&format!("one of {}, the codecs read here", list(NAMES))))
        }
    }

    /// The metadata, in the form in which they were read.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::CastValue(codec) => codec.to_json(),
            Self::ScaleOffset(codec) => codec.to_json(),
            Self::FixedScaleOffset(codec) => codec.to_json(),
            Self::AsType(codec) => codec.to_json(),
        }
    }

    /// The name of the codec in Zarr v3.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::CastValue(_) => CAST_VALUE,
            Self::ScaleOffset(_) => SCALE_OFFSET,
            Self::FixedScaleOffset(_) => FIXED_SCALE_OFFSET,
            Self::AsType(_) => AS_TYPE,
        }
    }

    /// Whether the codec exists only for old data.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        matches!(self, Self::FixedScaleOffset(_) | Self::AsType(_))
    }

    /// The byte order of encoded elements in the metadata: that of `astype` and `encode_dtype`.
    pub(crate) fn legacy_byte_order(&self) -> Option<ByteOrder> {
        match self {
            Self::CastValue(_) | Self::ScaleOffset(_) => None,
            Self::FixedScaleOffset(codec) => codec.legacy_byte_order(),
            Self::AsType(codec) => codec.legacy_byte_order(),
        }
    }

    /// Binds the codec to the type that reaches it; paths in errors start below the codec.
    pub(crate) fn bind(
        &self,
        source: ElementType,
        overflow: FloatOverflow,
    ) -> Result<BoundCodec, MetadataError> {
        match self {
            Self::CastValue(codec) => codec.bind(source),
            Self::ScaleOffset(codec) => codec.bind(source, overflow),
            Self::FixedScaleOffset(codec) => codec.bind(source, overflow),
            Self::AsType(codec) => codec.bind(source),
        }
    }
}

/// The metadata of the codec, as [`Codec::to_json`] writes them.
///
/// ```
/// use zarr_recast::{CastValue, Codec, ElementType};
/// let codecs = vec![Codec::from(CastValue::new(ElementType::UInt8).map_both(f32::NAN, 255_u8))];
/// let text = serde_json::to_string(&codecs)?;
/// assert_eq!(serde_json::from_str::<Vec<Codec>>(&text)?, codecs);
/// # Ok::<(), serde_json::Error>(())
/// ```
impl Serialize for Codec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

/// As [`Codec::from_json`], from JSON only: numbers are read from their text.
impl<'de> Deserialize<'de> for Codec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_json(text.get()).map_err(D::Error::custom)
    }
}

impl From<CastValue> for Codec {
    fn from(codec: CastValue) -> Self {
        Self::CastValue(codec)
    }
}

impl From<ScaleOffset> for Codec {
    fn from(codec: ScaleOffset) -> Self {
        Self::ScaleOffset(codec)
    }
}

impl From<FixedScaleOffset> for Codec {
    fn from(codec: FixedScaleOffset) -> Self {
        Self::FixedScaleOffset(codec)
    }
}

impl From<AsType> for Codec {
    fn from(codec: AsType) -> Self {
        Self::AsType(codec)
    }
}

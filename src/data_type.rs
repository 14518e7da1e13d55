//! Names of data types: those of Zarr v3, and the `NumPy` strings of Zarr v2.

use recast_kernels::ElementType;
use serde_json::{Map, Value};

use crate::MetadataError;
use crate::json::{Json, Node, list, shortened};

/// The order of the bytes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The order of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    /// The other order.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Little => Self::Big,
            Self::Big => Self::Little,
        }
    }
}

impl Default for ByteOrder {
    fn default() -> Self {
        Self::NATIVE
    }
}

/// Reads Zarr v3 data type metadata: a name, or an object with a name and nothing to configure.
///
/// ```
/// use zarr_recast::{ElementType, data_type};
/// let json = serde_json::json!({"name": "uint8"});
/// assert_eq!(data_type::from_json(&json)?, ElementType::UInt8);
/// let error = data_type::parse("double").unwrap_err();
/// assert!(error.to_string().contains("did you mean float64?"));
/// # Ok::<(), zarr_recast::MetadataError>(())
/// ```
///
/// # Errors
/// Not a data type, or not one of the 27 that the codecs support.
pub fn from_json(json: &Value) -> Result<ElementType, MetadataError> {
    parse(Json::from(json).text())
}

/// As [`from_json`], from text: a bare name (`uint8`), or JSON (`"uint8"` with its quotes, or an
/// object).
///
/// # Errors
/// As [`from_json`].
pub fn parse(text: &str) -> Result<ElementType, MetadataError> {
    const PATH: &str = "data_type";
    if text.trim_start().starts_with(['{', '[', '"']) {
        read(&Node::root(PATH, text)?).map(|(element_type, _)| element_type)
    } else {
        named(text).map_err(|problem| MetadataError::new(PATH, problem))
    }
}

/// How a data type was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// Its name.
    #[default]
    Name,
    /// An object with a name.
    Object {
        /// Whether it had an empty configuration.
        configuration: bool,
        /// As in the object.
        must_understand: Option<bool>,
    },
}

impl Form {
    /// The data type, written in this form.
    pub(crate) fn to_json(self, element_type: ElementType) -> Value {
        match self {
            Self::Name => element_type.name().into(),
            Self::Object { configuration, must_understand } => {
                let mut object = Map::new();
                object.insert("name".into(), element_type.name().into());
                if configuration {
                    object.insert("configuration".into(), Map::new().into());
                }
                if let Some(must_understand) = must_understand {
                    object.insert("must_understand".into(), must_understand.into());
                }
                object.into()
            }
        }
    }
}

/// Reads a data type, and keeps how it was written.
pub(crate) fn read(node: &Node<'_>) -> Result<(ElementType, Form), MetadataError> {
    const EXPECTED: &str = "the name of a data type, or an object with that name";
    if node.is_string() {
        let element_type = named(&node.string(EXPECTED)?).map_err(|text| node.error(text))?;
        return Ok((element_type, Form::Name));
    }
    let mut object = node.object(EXPECTED)?;
    let name = object.require("name")?;
    let configuration = object.take("configuration");
    let must_understand = object.take("must_understand").map(|node| node.boolean()).transpose()?;
    object.finish(&["name", "configuration", "must_understand"])?;
    let element_type =
        named(&name.string("the name of a data type")?).map_err(|text| name.error(text))?;
    if let Some(configuration) = &configuration {
        configuration.object("an object")?.finish(&[]).map_err(|error| {
            MetadataError::new(error.path(), format!("{element_type} has nothing to configure"))
        })?;
    }
    Ok((element_type, Form::Object { configuration: configuration.is_some(), must_understand }))
}

/// The data type of a name, or the problem with the name.
fn named(name: &str) -> Result<ElementType, String> {
    ElementType::from_name(name).ok_or_else(|| {
        format!(
            "{} is not supported{}; the supported data types are {}",
            shortened(&format!("{name:?}")),
            nearest(name),
            list(ElementType::ALL.iter().map(|element_type| element_type.name()))
        )
    })
}

/// The supported types nearest to an unsupported one, as the end of a sentence.
fn nearest(name: &str) -> String {
    let nearest = match name {
        "bool" => "; the nearest is uint8, with other values",
        "float8_e4m3b11fnu" => "; float8_e4m3b11fnuz is another type with another range",
        "float8_e8m0fn" | "float8_e8m0" => "; the nearest is float8_e8m0fnu",
        "float" | "single" => "; did you mean float32?",
        "double" => "; did you mean float64?",
        "half" => "; did you mean float16?",
        "int" => "; did you mean int32 or int64?",
        "uint" => "; did you mean uint32 or uint64?",
        "float128" | "longdouble" => "; the nearest is float64, with less precision",
        _ if name.starts_with("complex") => {
            "; the codecs work on real numbers, and the parts of a complex number are not separate \
             elements"
        }
        _ if name.contains("datetime64") || name.contains("timedelta64") => {
            "; the nearest is int64, without the unit"
        }
        _ if name.strip_prefix('r').is_some_and(|bits| bits.parse::<u64>().is_ok()) => {
            "; raw bits have no value to cast, the nearest is an unsigned integer of that size"
        }
        _ => return similar(name),
    };
    nearest.to_owned()
}

/// The supported name that differs only in case, or in punctuation.
fn similar(name: &str) -> String {
    let plain = |name: &str| -> String {
        name.chars().take(40).filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
    };
    let wanted = plain(name);
    ElementType::ALL
        .iter()
        .find(|element_type| plain(element_type.name()) == wanted)
        .map_or_else(String::new, |element_type| format!("; did you mean {element_type}?"))
}

/// Reads a `NumPy` data type string, as Zarr v2 has them: `<f4`, `>i2`, `|u1`, `f8`, also `float32`.
///
/// The byte order is `None` for one-byte elements, and if none is given.
///
/// ```
/// use zarr_recast::ElementType;
/// use zarr_recast::data_type::{ByteOrder, from_numpy};
/// assert_eq!(from_numpy(">i2")?, (ElementType::Int16, Some(ByteOrder::Big)));
/// assert_eq!(from_numpy("|u1")?, (ElementType::UInt8, None));
/// # Ok::<(), zarr_recast::MetadataError>(())
/// ```
///
/// # Errors
/// Not the string of a supported data type.
pub fn from_numpy(text: &str) -> Result<(ElementType, Option<ByteOrder>), MetadataError> {
    let (order, kind) = match text.split_at_checked(1) {
        Some(("<", kind)) => (Some(ByteOrder::Little), kind),
        Some((">", kind)) => (Some(ByteOrder::Big), kind),
        Some(("|" | "=", kind)) => (None, kind),
        _ => (None, text),
    };
    let element_type = match kind {
        "i1" => ElementType::Int8,
        "i2" => ElementType::Int16,
        "i4" => ElementType::Int32,
        "i8" => ElementType::Int64,
        "u1" => ElementType::UInt8,
        "u2" => ElementType::UInt16,
        "u4" => ElementType::UInt32,
        "u8" => ElementType::UInt64,
        "f2" => ElementType::Float16,
        "f4" => ElementType::Float32,
        "f8" => ElementType::Float64,
        name => ElementType::from_name(name).ok_or_else(|| {
            MetadataError::new(
                "",
                format!(
                    "the NumPy data type {} is not supported; the supported ones are i1, i2, i4, \
                     i8, u1, u2, u4, u8, f2, f4 and f8 with a byte order (<f4), and {}",
                    shortened(&format!("{text:?}")),
                    list(ElementType::ALL.iter().map(|element_type| element_type.name()))
                ),
            )
        })?,
    };
    Ok((element_type, order.filter(|_| element_type.size() > 1)))
}

//! Option values that are not plain numbers, as text and as TOML or JSON.

use std::fmt;
use std::str::FromStr;

use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use serde::de::value::{Error as Unnamed, StrDeserializer};
use serde::de::{DeserializeOwned, Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use zarr_recast::JsonScalar;

use crate::text::shortened;

/// How chunks are compressed. As text: `none`, `auto`, `smallest`, or `zstd`, `gzip` or `blosc` with a level after a
/// colon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compressor {
    /// Not at all.
    None,
    /// Zstandard with this level, 0 to 22.
    Zstd(i32),
    /// Gzip with this level, 0 to 9.
    Gzip(i32),
    /// Blosc with this level, 0 to 9: Zstandard after a byte shuffle.
    Blosc(i32),
    /// By what makes a sample of the chunks smallest among Zstandard, Gzip and Blosc, which every reader of Zarr v3
    /// has. For packing only, and its default.
    #[default]
    Auto,
    /// By what makes a sample of the chunks smallest, also with the codecs of numcodecs that zarr-python and zarrs
    /// with `zarrs-recast` have, at levels that take long. For packing only.
    Smallest,
}

impl Compressor {
    /// Zstandard with level 5: the default of jobs that try no compressors, such as unpacking.
    pub const ZSTD: Self = Self::Zstd(5);
}

impl FromStr for Compressor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, level) = match text.split_once(':') {
            Some((name, level)) => (name, Some(level)),
            None => (text, None),
        };
        let level = |default: i32, highest: i32| match level.map(str::parse) {
            None => Ok(default),
            Some(Ok(level)) if (0..=highest).contains(&level) => Ok(level),
            Some(_) => Err(format!("the level of {name} is a number from 0 to {highest}")),
        };
        match name {
            "none" if text == "none" => Ok(Self::None),
            "auto" if text == "auto" => Ok(Self::Auto),
            "smallest" if text == "smallest" => Ok(Self::Smallest),
            "zstd" => Ok(Self::Zstd(level(5, 22)?)),
            "gzip" => Ok(Self::Gzip(level(6, 9)?)),
            "blosc" => Ok(Self::Blosc(level(5, 9)?)),
            _ => Err("auto, smallest, none, zstd[:LEVEL], gzip[:LEVEL] or blosc[:LEVEL] is needed"
                .to_owned()),
        }
    }
}

impl fmt::Display for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Zstd(level) => write!(f, "zstd:{level}"),
            Self::Gzip(level) => write!(f, "gzip:{level}"),
            Self::Blosc(level) => write!(f, "blosc:{level}"),
            Self::Auto => f.write_str("auto"),
            Self::Smallest => f.write_str("smallest"),
        }
    }
}

impl Serialize for Compressor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Compressor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// A program that reads Zarr v3. As text: `zarr-python`, `zarrs`, `zarrita`, `gdal` or `any`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reader {
    /// zarr-python 3.4.2 or newer, with zarr-recast or cast-value-rs.
    ZarrPython,
    /// zarrs 0.23 or newer, with zarrs-recast.
    Zarrs,
    /// zarrita 0.7.5 or newer, in browsers and Node.js.
    Zarrita,
    /// GDAL's main branch of September 2026; no release has the value codecs yet. It has no `cast_value` of `float16`,
    /// `bfloat16` and smaller types.
    Gdal,
    /// Any, without value codecs: values stay plain numbers of their type, rounded so that they compress well; see
    /// [`crate::Rounder`].
    Any,
}

impl Reader {
    /// The version of GDAL that is meant.
    pub(crate) const GDAL: &'static str = "main branch, September 2026";

    /// Whether GDAL has `cast_value` from and to a type.
    pub(crate) fn gdal_casts(element_type: ElementType) -> bool {
        use ElementType::{
            Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64,
        };
        [Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64, Float32, Float64]
            .contains(&element_type)
    }
}

impl FromStr for Reader {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let needed = "any, gdal, zarr-python, zarrs or zarrita is needed, or several of them, \
                      separated by commas";
        by_name(text, needed)
    }
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Where value codecs go in an array with shards. As text: `auto`, `inside` or `outside`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ShardCodecs {
    /// Inside, unless that keeps zarr-python from opening the array; then outside.
    #[default]
    Auto,
    /// Among the codecs of a shard's inner chunks, so that readers decode only the inner chunks they need.
    Inside,
    /// Before the shards: zarr-python opens every such array, and decodes whole shards.
    Outside,
}

impl FromStr for ShardCodecs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        by_name(text, "auto, inside or outside is needed")
    }
}

/// Reads a value by the name that it has in TOML and JSON.
fn by_name<T: DeserializeOwned>(name: &str, needed: &str) -> Result<T, String> {
    T::deserialize(StrDeserializer::<Unnamed>::new(name)).map_err(|_| needed.to_owned())
}

/// The nearest f64 of a finite number.
pub(crate) fn finite(number: &JsonScalar) -> Option<f64> {
    number.text().parse::<f64>().ok().filter(|number| number.is_finite())
}

/// Two numbers, the first not above the second. As text: `-40,55`.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueRange {
    /// The lower end.
    pub least: JsonScalar,
    /// The upper end.
    pub greatest: JsonScalar,
}

impl ValueRange {
    fn new(least: JsonScalar, greatest: JsonScalar) -> Result<Self, String> {
        let range = Self { least, greatest };
        range.check().map(|()| range)
    }

    /// Refuses numbers that are not finite, and a second one below the first.
    pub(super) fn check(&self) -> Result<(), String> {
        let Self { least, greatest } = self;
        match finite(least).zip(finite(greatest)) {
            Some((low, high)) if low <= high => Ok(()),
            Some(_) => Err(format!("{least} is above {greatest}; the smaller number comes first")),
            None => Err(format!("from {least} to {greatest}: two finite numbers are needed")),
        }
    }
}

impl FromStr for ValueRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (least, greatest) =
            text.split_once(',').ok_or("two numbers are needed, such as -40,55")?;
        Self::new(scalar(least.trim())?, scalar(greatest.trim())?)
    }
}

impl Serialize for ValueRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.least.to_json(), self.greatest.to_json()].serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ValueRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let range = match Value::deserialize(deserializer)? {
            Value::String(text) => text.parse(),
            Value::Array(ends) => match ends.as_slice() {
                [least, greatest] => scalar_in(least)
                    .and_then(|least| Ok((least, scalar_in(greatest)?)))
                    .and_then(|(least, greatest)| Self::new(least, greatest)),
                _ => Err("two numbers are needed, such as [-40, 55]".to_owned()),
            },
            other => Err(format!("{other}: two numbers are needed, such as [-40, 55]")),
        };
        range.map_err(D::Error::custom)
    }
}

/// Two limits, each of which may be open. As text: `0,none`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// The lower one.
    pub least: Option<f64>,
    /// The upper one.
    pub greatest: Option<f64>,
}

impl Limits {
    /// Refuses limits that are not finite, and a second one below the first.
    pub(super) fn check(self) -> Result<(), String> {
        let Self { least, greatest } = self;
        if let Some(limit) =
            [least, greatest].into_iter().flatten().find(|limit| !limit.is_finite())
        {
            return Err(format!("{limit:?}: a finite number or none is needed"));
        }
        match (least, greatest) {
            (Some(least), Some(greatest)) if least > greatest => {
                Err(format!("{least:?} is above {greatest:?}; the smaller number comes first"))
            }
            (None, None) => Err("both are none; at least one number is needed".to_owned()),
            _ => Ok(()),
        }
    }

    /// The same as values of a floating-point type, as NumPy compares its elements with numbers.
    pub(crate) fn in_type(self, element_type: ElementType) -> Self {
        let rounded = |end: f64| {
            let end = Scalar::from(end);
            let cast = end.cast(element_type, Rounding::NearestEven, OutOfRange::Clamp);
            cast.map_or_else(|_| end.to_f64(), Scalar::to_f64)
        };
        if element_type.is_integer() {
            return self;
        }
        Self { least: self.least.map(rounded), greatest: self.greatest.map(rounded) }
    }

    fn of(ends: &[Value]) -> Result<Self, String> {
        let [least, greatest] = ends else { return Err(TWO_LIMITS.to_owned()) };
        let limits = Self { least: limit_in(least)?, greatest: limit_in(greatest)? };
        limits.check().map(|()| limits)
    }
}

const TWO_LIMITS: &str = "two numbers are needed, each of which may be none, such as 0 none";

/// A limit as text.
pub(super) fn limit(text: &str) -> Result<Option<f64>, String> {
    if text == "none" {
        return Ok(None);
    }
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    let number = number.ok_or_else(|| format!("{text}: a finite number or none is needed"))?;
    if text.parse::<i128>().is_ok_and(|whole| whole != number as i128) {
        return Err(format!("{text}: a limit is a float64, of which the nearest is {number:?}"));
    }
    Ok(Some(number))
}

fn limit_in(value: &Value) -> Result<Option<f64>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => limit(text.trim()),
        other => limit(&other.to_string()),
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, self.greatest) {
            (Some(least), Some(greatest)) => write!(f, "{least:?} to {greatest:?}"),
            (Some(least), None) => write!(f, "{least:?} and more"),
            (None, Some(greatest)) => write!(f, "{greatest:?} and less"),
            (None, None) => f.write_str("any"),
        }
    }
}

impl FromStr for Limits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ends: Vec<Value> = text.split(',').map(|end| end.trim().into()).collect();
        Self::of(&ends)
    }
}

/// TOML has no null, so `none` is for an open end.
impl Serialize for Limits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let end = |end: Option<f64>| end.map_or(Value::from("none"), Value::from);
        [end(self.least), end(self.greatest)].serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Limits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let limits = match Value::deserialize(deserializer)? {
            Value::String(text) => text.parse(),
            Value::Array(ends) => Self::of(&ends),
            other => Err(format!("{other}: {TWO_LIMITS}")),
        };
        limits.map_err(D::Error::custom)
    }
}

/// Where NaN is stored. As text: `auto`, `min`, `max`, or a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum NanTo {
    /// As a free code at an end of the stored type's range.
    #[default]
    Auto,
    /// As the type's smallest value.
    Min,
    /// As the type's largest value.
    Max,
    /// As this value.
    Value(JsonScalar),
}

impl FromStr for NanTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "auto" => Self::Auto,
            "min" => Self::Min,
            "max" => Self::Max,
            _ => Self::Value(scalar(text)?),
        })
    }
}

impl Serialize for NanTo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Min => serializer.serialize_str("min"),
            Self::Max => serializer.serialize_str("max"),
            Self::Value(value) => value.to_json().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for NanTo {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let result = match Value::deserialize(deserializer)? {
            Value::String(text) => text.parse(),
            other => scalar_in(&other).map(Self::Value),
        };
        result.map_err(D::Error::custom)
    }
}

/// Reads a number as JSON has it, or as people write it (`.5`, `+3`, `nan`, `-inf`), or the bits of one (`0x7f800001`).
///
/// # Errors
/// Anything else, and a number out of range for every data type.
pub fn scalar(text: &str) -> Result<JsonScalar, String> {
    if text.starts_with("0x") || text.starts_with("0X") {
        let bits = Value::from(text.to_ascii_lowercase());
        return JsonScalar::from_json(&bits).map_err(|error| error.to_string());
    }
    JsonScalar::from_json(text)
        .or_else(|error| match text.parse::<f64>() {
            Ok(number) if number.is_finite() => JsonScalar::from_json(&Value::from(number)),
            Ok(number) => {
                let name = if number.is_nan() { "NaN" } else { "Infinity" };
                let sign = if number == f64::NEG_INFINITY { "-" } else { "" };
                JsonScalar::from_json(&Value::from(format!("{sign}{name}")))
            }
            Err(_) => Err(error),
        })
        .map_err(|error| match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => error.to_string(),
            // Who writes a number in a flag knows of no JSON.
            Err(_) => format!("{:?}: a number is needed, such as -9999", shortened(text)),
        })
}

/// Reads a number of TOML or JSON, where it may also be text.
pub(super) fn scalar_in(value: &Value) -> Result<JsonScalar, String> {
    match value {
        Value::String(text) => scalar(text),
        other => JsonScalar::from_json(other).map_err(|error| error.to_string()),
    }
}

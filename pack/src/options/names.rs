//! Reads and writes values of other crates in options: numbers, and values that have names. In TOML and JSON they may be
//! text, as in flags.

use recast_kernels::{ElementType, OutOfRange, Rounding};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use zarr_recast::JsonScalar;

use super::values::scalar_in;
use crate::json::ToJson;

/// A value that TOML and JSON may also have as text.
pub(super) trait FromJson: Sized {
    /// The text that stands for no value, if any does.
    const NONE: Option<&'static str> = None;

    fn from_json(value: &Value) -> Result<Self, String>;
}

impl FromJson for f64 {
    fn from_json(value: &Value) -> Result<Self, String> {
        let number = match value {
            Value::String(text) => text.trim().parse().ok(),
            other => other.as_f64(),
        };
        let number = number.filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| format!("{value}: a finite number is needed"))
    }
}

/// A number that keeps its digits.
impl FromJson for JsonScalar {
    fn from_json(value: &Value) -> Result<Self, String> {
        scalar_in(value)
    }
}

impl ToJson for JsonScalar {
    fn to_json(&self) -> Value {
        JsonScalar::to_json(self)
    }
}

/// A value with a name, out of a list.
pub(super) trait Named: Copy + Send + Sync + 'static {
    const ALL: &'static [Self];

    fn name(self) -> &'static str;

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.name() == name)
    }
}

impl<T: Named> FromJson for T {
    const NONE: Option<&'static str> = Some("");

    fn from_json(value: &Value) -> Result<Self, String> {
        let text = Option::<String>::deserialize(value).map_err(|error| error.to_string())?;
        let text = text.unwrap_or_default();
        Self::from_name(&text).ok_or_else(|| {
            let all: Vec<&str> = Self::ALL.iter().map(|one| one.name()).collect();
            format!("{text:?} is none of {}", all.join(", "))
        })
    }
}

impl<T: Named> ToJson for T {
    fn to_json(&self) -> Value {
        self.name().into()
    }
}

impl Named for ElementType {
    const ALL: &'static [Self] = ElementType::ALL;

    fn name(self) -> &'static str {
        ElementType::name(self)
    }
}

impl Named for Rounding {
    const ALL: &'static [Self] = Rounding::ALL;

    fn name(self) -> &'static str {
        Rounding::name(self)
    }
}

impl Named for OutOfRange {
    const ALL: &'static [Self] = OutOfRange::ALL;

    fn name(self) -> &'static str {
        OutOfRange::name(self)
    }
}

/// For serde's attribute `deserialize_with`.
pub(super) fn value<'de, T: FromJson, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    T::from_json(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// The same of a value that need not be given.
pub(super) fn optional<'de, T: FromJson, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::String(text) if Some(text.as_str()) == T::NONE => Ok(None),
        value => T::from_json(&value).map(Some).map_err(D::Error::custom),
    }
}

/// The same of several values, or of one.
pub(super) fn list<'de, T: FromJson, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let values = match Value::deserialize(deserializer)? {
        Value::Null => Ok(Vec::new()),
        Value::Array(values) => values.iter().map(T::from_json).collect(),
        value => T::from_json(&value).map(|one| vec![one]),
    };
    values.map_err(D::Error::custom)
}

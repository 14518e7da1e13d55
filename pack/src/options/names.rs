//! Reads and writes values of other crates in options: numbers, which may be text in TOML and JSON, as in flags.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use zarr_recast::JsonScalar;

use super::values::scalar_in;
use crate::json::ToJson;

/// A value that TOML and JSON may also have as text.
pub(super) trait FromJson: Sized {
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

/// For serde's attribute `deserialize_with`: a value that need not be given.
pub(super) fn optional<'de, T: FromJson, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        value => T::from_json(&value).map(Some).map_err(D::Error::custom),
    }
}

/// Several values, or one.
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

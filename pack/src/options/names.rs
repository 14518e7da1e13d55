//! Reads and writes values of other crates in options: numbers, and values that have names. In TOML and JSON they may be
//! text, as in flags.

use recast_kernels::{ElementType, OutOfRange, Rounding};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use zarr_recast::JsonScalar;

use super::values::scalar_in;

/// A value in TOML and JSON.
pub(super) trait InOptions: Sized {
    /// The text that stands for no value, if any does.
    const NONE: Option<&'static str> = None;

    fn read(value: &Value) -> Result<Self, String>;

    fn write(&self) -> Value;
}

impl InOptions for f64 {
    fn read(value: &Value) -> Result<Self, String> {
        let number = match value {
            Value::String(text) => text.trim().parse().ok(),
            other => other.as_f64(),
        };
        let number = number.filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| format!("{value}: a finite number is needed"))
    }

    fn write(&self) -> Value {
        (*self).into()
    }
}

/// A number that keeps its digits.
impl InOptions for JsonScalar {
    fn read(value: &Value) -> Result<Self, String> {
        scalar_in(value)
    }

    fn write(&self) -> Value {
        self.to_json()
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

impl<T: Named> InOptions for T {
    const NONE: Option<&'static str> = Some("");

    fn read(value: &Value) -> Result<Self, String> {
        let text = Option::<String>::deserialize(value).map_err(|error| error.to_string())?;
        let text = text.unwrap_or_default();
        Self::from_name(&text).ok_or_else(|| {
            let all: Vec<&str> = Self::ALL.iter().map(|one| one.name()).collect();
            format!("{text:?} is none of {}", all.join(", "))
        })
    }

    fn write(&self) -> Value {
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
        OutOfRange::name(self).unwrap_or("error")
    }
}

pub(super) fn serialize<T: InOptions, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    value.write().serialize(serializer)
}

pub(super) fn deserialize<'de, T: InOptions, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    T::read(&Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

/// The same of a value that need not be given.
pub(super) mod optional {
    use super::{Deserialize as _, Deserializer, InOptions, Serialize as _, Serializer, Value};

    // Serde calls it so.
    #[allow(clippy::ref_option)]
    pub(crate) fn serialize<T: InOptions, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().map(T::write).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: InOptions, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(None),
            Value::String(text) if Some(text.as_str()) == T::NONE => Ok(None),
            value => T::read(&value).map(Some).map_err(serde::de::Error::custom),
        }
    }
}

/// The same of several values, or of one.
pub(super) mod list {
    use super::{Deserialize as _, Deserializer, InOptions, Serializer, Value};

    pub(crate) fn serialize<T: InOptions, S: Serializer>(
        values: &[T],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(T::write))
    }

    pub(crate) fn deserialize<'de, T: InOptions, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        let values = match Value::deserialize(deserializer)? {
            Value::Null => Ok(Vec::new()),
            Value::Array(values) => values.iter().map(T::read).collect(),
            value => T::read(&value).map(|one| vec![one]),
        };
        values.map_err(serde::de::Error::custom)
    }
}

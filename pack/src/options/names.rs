//! Reads and writes values of other crates in options: numbers, and values that have names.

use recast_kernels::{ElementType, OutOfRange, Rounding};
use serde::de::{Deserialize, Deserializer};
use serde::ser::Serializer;
use serde_json::Value;
use zarr_recast::JsonScalar;

use super::values::scalar_in;

/// A number; in TOML and JSON also as text, as in flags.
pub(super) mod number {
    use super::{Deserialize as _, Deserializer, Value};
    use serde::de::Error as _;

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<f64>, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let number = match &value {
            Value::Null => return Ok(None),
            Value::String(text) => text.trim().parse().ok(),
            other => other.as_f64(),
        };
        let number = number.filter(|number: &f64| number.is_finite());
        number
            .map(Some)
            .ok_or_else(|| D::Error::custom(format!("{value}: a finite number is needed")))
    }
}

/// A number that keeps its digits.
pub(super) mod scalar {
    use super::{Deserialize as _, Deserializer, JsonScalar, Serializer, Value, scalar_in};
    use serde::de::Error as _;
    use serde::ser::Serialize as _;

    // Serde calls it so.
    #[allow(clippy::ref_option)]
    pub(crate) fn serialize<S: Serializer>(
        scalar: &Option<JsonScalar>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        scalar.as_ref().map(JsonScalar::to_json).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<JsonScalar>, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(None),
            value => scalar_in(&value).map(Some).map_err(D::Error::custom),
        }
    }
}

/// A number that keeps its digits, or several.
pub(super) mod scalars {
    use super::{Deserialize as _, Deserializer, JsonScalar, Serializer, Value, scalar_in};
    use serde::de::Error as _;

    pub(crate) fn serialize<S: Serializer>(
        scalars: &[JsonScalar],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(scalars.iter().map(JsonScalar::to_json))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<JsonScalar>, D::Error> {
        let scalars = match Value::deserialize(deserializer)? {
            Value::Null => Ok(Vec::new()),
            Value::Array(values) => values.iter().map(scalar_in).collect(),
            value => scalar_in(&value).map(|scalar| vec![scalar]),
        };
        scalars.map_err(D::Error::custom)
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

/// A value as its name.
pub(super) mod name {
    use super::{Deserialize as _, Deserializer, Named, Serializer, read};

    pub(crate) fn serialize<T: Named, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(value.name())
    }

    pub(crate) fn deserialize<'de, T: Named, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        read(&Option::<String>::deserialize(deserializer)?.unwrap_or_default())
    }
}

/// The same of an optional value; an empty name is none.
pub(super) mod optional_name {
    use super::{Deserialize as _, Deserializer, Named, Serializer, read};
    use serde::ser::Serialize as _;

    // Serde calls it so.
    #[allow(clippy::ref_option)]
    pub(crate) fn serialize<T: Named, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.map(T::name).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: Named, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        match Option::<String>::deserialize(deserializer)?.as_deref() {
            None | Some("") => Ok(None),
            Some(text) => read(text).map(Some),
        }
    }
}

fn read<T: Named, E: serde::de::Error>(text: &str) -> Result<T, E> {
    T::from_name(text).ok_or_else(|| {
        let all: Vec<&str> = T::ALL.iter().map(|one| one.name()).collect();
        E::custom(format!("{text:?} is none of {}", all.join(", ")))
    })
}

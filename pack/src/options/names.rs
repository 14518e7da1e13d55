//! Reads and writes types of other crates in options, as names and numbers.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::Serializer;
use serde_json::Value;

/// A number; in TOML and JSON also as text, as in flags.
pub(super) mod number {
    use super::{Deserialize, Deserializer, Value};
    use serde::de::Error as _;

    pub(in crate::options) fn deserialize<'de, D: Deserializer<'de>>(
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
    use super::{Deserialize, Deserializer, Serializer, Value};
    use serde::de::Error as _;
    use serde::ser::Serialize;
    use zarr_recast::JsonScalar;

    // Serde calls it so.
    #[allow(clippy::ref_option)]
    pub(in crate::options) fn serialize<S: Serializer>(
        scalar: &Option<JsonScalar>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        scalar.as_ref().map(JsonScalar::to_json).serialize(serializer)
    }

    pub(in crate::options) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<JsonScalar>, D::Error> {
        let scalar = match Value::deserialize(deserializer)? {
            Value::Null => return Ok(None),
            Value::String(text) => crate::options::values::scalar(&text),
            other => JsonScalar::from_json(&other).map_err(|error| error.to_string()),
        };
        scalar.map(Some).map_err(D::Error::custom)
    }
}

/// A number that keeps its digits, or several.
pub(super) mod scalars {
    use super::{Deserialize, Deserializer, Serializer, Value};
    use serde::de::Error as _;
    use zarr_recast::JsonScalar;

    pub(in crate::options) fn serialize<S: Serializer>(
        scalars: &[JsonScalar],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(scalars.iter().map(JsonScalar::to_json))
    }

    pub(in crate::options) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<JsonScalar>, D::Error> {
        let one = |value: Value| match value {
            Value::String(text) => crate::options::values::scalar(&text),
            other => JsonScalar::from_json(&other).map_err(|error| error.to_string()),
        };
        let scalars = match Value::deserialize(deserializer)? {
            Value::Null => Ok(Vec::new()),
            Value::Array(values) => values.into_iter().map(one).collect(),
            other => one(other).map(|scalar| vec![scalar]),
        };
        scalars.map_err(D::Error::custom)
    }
}

/// Implements a serde module for an optional value that has a name.
macro_rules! named {
    ($module:ident, $type:ty, $name:expr, $from_name:expr, $all:expr) => {
        pub(super) mod $module {
            use super::{Deserializer, Serializer};

            // Serde calls it so.
            #[allow(clippy::trivially_copy_pass_by_ref, clippy::ref_option)]
            pub(in crate::options) fn serialize<S: Serializer>(
                value: &$type,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                super::name(serializer, $name(*value))
            }

            pub(in crate::options) fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<$type, D::Error> {
                super::from_name(deserializer, $from_name, $all)
            }
        }
    };
}

fn name<S: Serializer>(serializer: S, name: Option<&str>) -> Result<S::Ok, S::Error> {
    match name {
        Some(name) => serializer.serialize_str(name),
        None => serializer.serialize_none(),
    }
}

fn from_name<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    find: impl Fn(&str) -> Option<T>,
    all: impl Iterator<Item = &'static str>,
) -> Result<T, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
    find(&text).ok_or_else(|| {
        let all: Vec<&str> = all.collect();
        D::Error::custom(format!("{text:?} is none of {}", all.join(", ")))
    })
}

named!(
    element_type,
    Option<recast_kernels::ElementType>,
    |value: Option<recast_kernels::ElementType>| value.map(recast_kernels::ElementType::name),
    |text: &str| {
        let found = recast_kernels::ElementType::from_name(text);
        if text.is_empty() { Some(None) } else { found.map(Some) }
    },
    recast_kernels::ElementType::ALL.iter().map(|one| one.name())
);
named!(
    rounding,
    recast_kernels::Rounding,
    |value: recast_kernels::Rounding| Some(value.name()),
    recast_kernels::Rounding::from_name,
    recast_kernels::Rounding::ALL.iter().map(|one| one.name())
);
named!(
    out_of_range,
    recast_kernels::OutOfRange,
    |value: recast_kernels::OutOfRange| Some(value.name().unwrap_or("error")),
    |text: &str| {
        let name = |one: &recast_kernels::OutOfRange| one.name().unwrap_or("error") == text;
        recast_kernels::OutOfRange::ALL.iter().copied().find(name)
    },
    recast_kernels::OutOfRange::ALL.iter().map(|one| one.name().unwrap_or("error"))
);

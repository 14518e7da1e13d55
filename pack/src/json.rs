//! Writes values in reports and options: scalars like fill values in Zarr metadata, and named values by their names.

use recast_kernels::Scalar;
use serde::{Serialize, Serializer};
use serde_json::Value;
use zarr_recast::fill_value;

/// A value that JSON has no own form for.
pub(crate) trait ToJson {
    fn to_json(&self) -> Value;
}

/// For serde's attribute `serialize_with`.
pub(crate) fn written<T: ToJson, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    value.to_json().serialize(serializer)
}

impl ToJson for Scalar {
    fn to_json(&self) -> Value {
        fill_value::to_json(*self)
    }
}

/// Null without a value.
impl<T: ToJson> ToJson for Option<T> {
    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_json)
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn to_json(&self) -> Value {
        self.iter().map(T::to_json).collect()
    }
}

impl<T: ToJson> ToJson for [T; 2] {
    fn to_json(&self) -> Value {
        self.iter().map(T::to_json).collect()
    }
}

/// Two ends, as an array of two.
impl<T: ToJson> ToJson for (T, T) {
    fn to_json(&self) -> Value {
        [self.0.to_json(), self.1.to_json()].into_iter().collect()
    }
}

//! [`Serialize`] and [`Deserialize`] of the parts of plans, with the feature `serde`. Types, roundings and the like are their
//! names. A scalar is its type and its bits, which keep −0 and a NaN's payload in every format.

use alloc::string::String;
use alloc::vec::Vec;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{ElementType, Entries, FloatOverflow, Level, OutOfRange, Rounding, Scalar};

/// Values as their names.
macro_rules! as_names {
    ($($t:ty)*) => {$(
        impl Serialize for $t {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> Deserialize<'de> for $t {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    )*};
}

as_names! { ElementType FloatOverflow Level OutOfRange Rounding }

/// A [`Scalar`] as it is written.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Scalar", deny_unknown_fields)]
struct TypedBits {
    element_type: ElementType,
    bits: u64,
}

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        TypedBits { element_type: self.element_type(), bits: self.bits() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let TypedBits { element_type, bits } = TypedBits::deserialize(deserializer)?;
        let scalar = Self::from_bits(element_type, bits);
        if scalar.bits() == bits {
            Ok(scalar)
        } else {
            Err(D::Error::custom(format_args!(
                "{bits:#x} is not the bits of an element of {element_type}"
            )))
        }
    }
}

impl Serialize for Entries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

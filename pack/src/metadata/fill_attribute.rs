//! The attribute `_FillValue`, as xarray writes and reads it in Zarr v3.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use recast_kernels::{ElementType, Scalar};
use serde_json::{Map, Value};
use zarr_recast::{JsonScalar, data_type, fill_value};

use super::document::name_of;

/// CF's attribute with the value that readers mask.
pub(crate) const FILL_VALUE: &str = "_FillValue";
/// The attribute with one or more further such values.
pub(crate) const MISSING_VALUE: &str = "missing_value";

/// Names the fill value of a Zarr v2 array in the attributes of a Zarr v3 array with the same values. In Zarr v2,
/// xarray masks the fill value itself, whatever `_FillValue` says; in Zarr v3, only these attributes, and it reads floats
/// in base64 alone. Both the type and the fill value are those of Zarr v3; `None` if the array has no fill value.
pub(crate) fn name_fill_value(
    attributes: &mut Map<String, Value>,
    data_type: &Value,
    fill: Option<&Value>,
) {
    let scalar = |json: &Value| marker(json, data_type::from_json(data_type).ok()?);
    if let Some(given) = attributes.get_mut(FILL_VALUE)
        && let Some(scalar) = scalar(given)
    {
        *given = to_attribute(scalar);
    }
    let Some(fill) = fill else { return };
    let value = match name_of(data_type) {
        "bool" => fill.clone(),
        "complex64" | "complex128" => {
            let part = |json| Some(to_attribute(marker(json, ElementType::Float64)?));
            let parts = fill.as_array().into_iter().flatten().map(part);
            let Some(parts) = parts.collect() else { return };
            Value::Array(parts)
        }
        "string" | "fixed_length_utf32" => {
            // xarray refuses the other attribute.
            if !attributes.contains_key(FILL_VALUE) {
                attributes.entry(MISSING_VALUE).or_insert_with(|| fill.clone());
            }
            return;
        }
        _ => match scalar(fill) {
            Some(scalar) => to_attribute(scalar),
            None => return,
        },
    };
    attributes.insert(FILL_VALUE.into(), value);
}

/// `_FillValue` as xarray writes it for Zarr v3: for floats the bytes of a float64, little-endian, in
/// base64.
pub(crate) fn to_attribute(value: Scalar) -> Value {
    if value.element_type().is_float() {
        BASE64_STANDARD.encode(value.to_f64().to_le_bytes()).into()
    } else {
        fill_value::to_json(value)
    }
}

/// A value of an attribute as an element; `None` if no element can have it.
pub(crate) fn marker(value: &Value, element_type: ElementType) -> Option<Scalar> {
    let encoded = value.as_str().and_then(|text| from_base64(text, element_type));
    encoded.or_else(|| JsonScalar::from_json(value).ok()?.to_scalar(element_type).ok())
}

/// The inverse of [`to_attribute`]; also takes the bytes of an element of the type itself.
fn from_base64(text: &str, element_type: ElementType) -> Option<Scalar> {
    // No name of a number is base64 for this many bytes.
    let mut bytes = BASE64_STANDARD.decode(text).ok()?;
    if element_type.is_float()
        && let Ok(double) = <[u8; 8]>::try_from(bytes.as_slice())
    {
        let double = JsonScalar::from(Scalar::from(f64::from_le_bytes(double)));
        return double.to_scalar(element_type).ok();
    }
    if cfg!(target_endian = "big") {
        bytes.reverse();
    }
    Scalar::from_ne_bytes(element_type, &bytes)
}

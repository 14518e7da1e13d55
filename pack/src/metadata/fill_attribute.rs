//! The attribute `_FillValue`, as xarray writes and reads it in Zarr v3.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use recast_kernels::{ElementType, Scalar};
use serde_json::{Map, Value};
use zarr_recast::{JsonScalar, data_type, fill_value};

use super::document::{name_of, values};

/// CF's attribute with the value that readers mask.
pub(crate) const FILL_VALUE: &str = "_FillValue";
/// The attribute with one or more further such values.
pub(crate) const MISSING_VALUE: &str = "missing_value";

/// Names the fill value of a Zarr v2 array in the attributes of a Zarr v3 array with the same values. In Zarr v2,
/// xarray masks the fill value itself, whatever `_FillValue` says; in Zarr v3, only these attributes. Both the type and the
/// fill value are those of Zarr v3; `None` if the array has no fill value.
pub(crate) fn name_fill_value(
    attributes: &mut Map<String, Value>,
    data_type: &Value,
    fill: Option<&Value>,
) {
    write_for_xarray(attributes, data_type);
    let Some(fill) = fill else { return };
    if matches!(name_of(data_type), "string" | "fixed_length_utf32") {
        // xarray refuses the other attribute.
        if !attributes.contains_key(FILL_VALUE) {
            attributes.entry(MISSING_VALUE).or_insert_with(|| fill.clone());
        }
    } else if let Some(fill) = for_xarray(fill, data_type) {
        attributes.insert(FILL_VALUE.into(), fill);
    }
}

/// Writes `_FillValue` as xarray reads it in Zarr v3: floats in base64 alone, integers as numbers.
pub(crate) fn write_for_xarray(attributes: &mut Map<String, Value>, data_type: &Value) {
    if let Some(given) = attributes.get_mut(FILL_VALUE)
        && let Some(value) = for_xarray(given, data_type)
    {
        *given = value;
    }
}

/// A value of `_FillValue` for elements of a type; `None` if no element can have it, or xarray knows no such type.
fn for_xarray(value: &Value, data_type: &Value) -> Option<Value> {
    let part = |part| Some(to_attribute(marker(part, ElementType::Float64)?));
    match (name_of(data_type), values(Some(value))) {
        ("bool", _) => Some(value.clone()),
        ("complex64" | "complex128", parts @ [_, _]) => parts.iter().map(part).collect(),
        (_, [one]) => Some(to_attribute(marker(one, data_type::from_json(data_type).ok()?)?)),
        _ => None,
    }
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
    encoded.or_else(|| number(value, element_type))
}

/// A number of Zarr v2, or a text that zarr-python takes for one there.
pub(crate) fn number(value: &Value, element_type: ElementType) -> Option<Scalar> {
    let written = fill_value::from_json(element_type, value).ok();
    written.or_else(|| in_text(value.as_str()?.trim(), element_type))
}

/// Reads a number as Python does, which also takes names in any case, a plus, leading zeros, and a point without digits on
/// one side.
fn in_text(text: &str, element_type: ElementType) -> Option<Scalar> {
    let is_negative = text.starts_with('-');
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text).to_ascii_lowercase();
    match digits.as_str() {
        "nan" => return Scalar::nan(element_type),
        "inf" | "infinity" => return Scalar::infinity(element_type, is_negative),
        _ => {}
    }
    let (mantissa, exponent) = digits.split_at(digits.find('e').unwrap_or(digits.len()));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let sign = if is_negative { "-" } else { "" };
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if fraction.is_empty() { "" } else { "." };
    let json = format!("{sign}{whole}{point}{fraction}{exponent}");
    fill_value::from_json_str(element_type, &json).ok()
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

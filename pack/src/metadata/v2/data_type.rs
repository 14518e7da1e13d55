//! Data types of Zarr v2, and their fill values.

use anyhow::{Context, anyhow, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use recast_kernels::{ElementType, Scalar};
use serde_json::{Map, Value, json};
use zarr_recast::data_type::{ByteOrder, from_numpy};
use zarr_recast::fill_value;

use super::invalid::InvalidV2;
use crate::error::Result;
use crate::metadata::document::name_of;
use crate::metadata::fill_attribute;

/// More than any element takes that is worth to be stored.
const LARGEST_ELEMENT: u64 = 1 << 24;

/// "Not a time", in the place of a number.
const NOT_A_TIME: i64 = i64::MIN;

/// A data type that Zarr v2 and Zarr v3 have in common.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DataType {
    Bool,
    Number(ElementType),
    /// Two of these.
    Complex(ElementType),
    /// 64-bit integers, by the name of the type in Zarr v3.
    Time {
        name: &'static str,
        unit: String,
        factor: u64,
    },
    /// Text of so many characters.
    Utf32(u64),
    /// Bytes of this length, filled up with zeros.
    Bytes(u64),
    /// Bytes of this length.
    Raw(u64),
    /// Fields one behind the other.
    Struct(Vec<(String, DataType)>),
    /// Text of any length.
    String,
    /// Bytes of any length.
    Binary,
}

impl DataType {
    /// Reads `dtype`; the order is that of the bytes of an element. An array of objects has the type that its codec
    /// stores.
    pub(super) fn parse(
        dtype: &Value,
        object_codec: Option<&str>,
    ) -> Result<(Self, Option<ByteOrder>)> {
        let text = match dtype {
            Value::String(text) => text.as_str(),
            Value::Array(fields) => return Self::fields(fields),
            other => {
                let text = format!("the dtype {other} is neither a name nor a list of fields");
                return Err(InvalidV2(text).into());
            }
        };
        let unknown = || anyhow!("Zarr v3 has no counterpart of the dtype {text}");
        if text == "|O" {
            let data_type = match object_codec {
                Some("vlen-utf8") => Self::String,
                Some("vlen-bytes") => Self::Binary,
                Some(other) => bail!("Zarr v3 has no counterpart of objects stored by {other}"),
                None => bail!("no codec stores the objects"),
            };
            return Ok((data_type, None));
        }
        if let Ok((element_type, order)) = from_numpy(text) {
            return Ok((Self::Number(element_type), order));
        }
        let (order, kind, rest) = match text.as_bytes() {
            [order, kind, ..] if text.is_ascii() => (*order, *kind, text.get(2..)),
            _ => return Err(unknown()),
        };
        let order = match order {
            b'<' => Some(ByteOrder::Little),
            b'>' => Some(ByteOrder::Big),
            b'|' => None,
            _ => return Err(unknown()),
        };
        let rest = rest.unwrap_or_default();
        let length = || rest.parse().ok().filter(|&length: &u64| length > 0).ok_or_else(unknown);
        Ok(match (kind, rest) {
            (b'b', "1") => (Self::Bool, None),
            (b'c', "8") => (Self::Complex(ElementType::Float32), order),
            (b'c', "16") => (Self::Complex(ElementType::Float64), order),
            (b'M', _) => (Self::time("numpy.datetime64", rest).ok_or_else(unknown)?, order),
            (b'm', _) => (Self::time("numpy.timedelta64", rest).ok_or_else(unknown)?, order),
            (b'U', _) => (Self::Utf32(length()?), order),
            (b'S', _) => (Self::Bytes(length()?), None),
            (b'V', _) => (Self::Raw(length()?), None),
            _ => return Err(unknown()),
        })
    }

    /// Reads `8[ns]`, `8[25s]` or `8`.
    fn time(name: &'static str, text: &str) -> Option<Self> {
        let text = text.strip_prefix('8')?;
        if text.is_empty() {
            return Some(Self::Time { name, unit: "generic".to_owned(), factor: 1 });
        }
        let text = text.strip_prefix('[')?.strip_suffix(']')?;
        let unit = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let factor = text.strip_suffix(unit)?;
        let factor = if factor.is_empty() { 1 } else { factor.parse().ok()? };
        Some(Self::Time { name, unit: unit.to_owned(), factor })
    }

    /// Zarr v3 has one order of bytes for all fields.
    fn fields(list: &[Value]) -> Result<(Self, Option<ByteOrder>)> {
        let mut fields = Vec::new();
        let mut orders = Vec::new();
        for field in list {
            let (name, dtype) = match field.as_array().map(Vec::as_slice) {
                Some([Value::String(name), dtype]) => (name.clone(), dtype),
                _ => bail!("Zarr v3 has no counterpart of the field {field}"),
            };
            let (data_type, order) = Self::parse(dtype, None)?;
            orders.extend(order);
            fields.push((name, data_type));
        }
        orders.dedup();
        match orders.as_slice() {
            _ if fields.is_empty() => bail!("the dtype has no fields"),
            [] => Ok((Self::Struct(fields), None)),
            [order] => Ok((Self::Struct(fields), Some(*order))),
            _ => bail!("Zarr v3 stores all fields in one byte order, and these have two"),
        }
    }

    /// As Zarr v3 has it.
    pub(super) fn to_json(&self) -> Value {
        let of_length = |name: &str, length: u64| json!({"name": name, "configuration": {"length_bytes": length}});
        match self {
            Self::Bool => "bool".into(),
            Self::Number(element_type) => element_type.name().into(),
            Self::Complex(ElementType::Float32) => "complex64".into(),
            Self::Complex(_) => "complex128".into(),
            Self::Time { name, unit, factor } => {
                json!({"name": name, "configuration": {"unit": unit, "scale_factor": factor}})
            }
            Self::Utf32(length) => of_length("fixed_length_utf32", length * 4),
            Self::Bytes(length) => of_length("null_terminated_bytes", *length),
            Self::Raw(length) => of_length("raw_bytes", *length),
            Self::Struct(fields) => {
                let field = |(name, data_type): &(String, Self)| json!({"name": name, "data_type": data_type.to_json()});
                let fields: Vec<Value> = fields.iter().map(field).collect();
                json!({"name": "struct", "configuration": {"fields": fields}})
            }
            Self::String => "string".into(),
            Self::Binary => "variable_length_bytes".into(),
        }
    }

    /// The bytes of an element; `None` if they vary.
    pub(super) fn size(&self) -> Option<u64> {
        Some(match self {
            Self::Bool => 1,
            Self::Number(element_type) => element_type.size() as u64,
            Self::Complex(part) => 2 * part.size() as u64,
            Self::Time { .. } => 8,
            Self::Utf32(length) => length.checked_mul(4)?,
            Self::Bytes(length) | Self::Raw(length) => *length,
            Self::Struct(fields) => {
                let mut sizes = fields.iter().map(|(_, data_type)| data_type.size());
                sizes.try_fold(0_u64, |sum, size| sum.checked_add(size?))?
            }
            Self::String | Self::Binary => return None,
        })
    }

    /// Whether `bytes` has to say in which order the bytes of an element are. zarr-python asks for it for all fields
    /// of several bytes.
    pub(super) fn has_order(&self) -> bool {
        match self {
            Self::Bool | Self::Bytes(_) | Self::Raw(_) | Self::String | Self::Binary => false,
            Self::Number(element_type) => element_type.size() > 1,
            Self::Complex(_) | Self::Time { .. } | Self::Utf32(_) => true,
            Self::Struct(fields) => {
                fields.iter().any(|(_, field)| field.size().is_none_or(|size| size > 1))
            }
        }
    }

    /// The fill value as Zarr v3 has it; without one, the value that readers of Zarr v2 take. `order` is that of the bytes of an
    /// element.
    pub(super) fn fill_value(
        &self,
        json: Option<&Value>,
        order: Option<ByteOrder>,
    ) -> Result<Value> {
        let Some(json) = json else {
            return match self {
                Self::Time { .. } => Ok(NOT_A_TIME.into()),
                Self::Utf32(_) | Self::Bytes(_) | Self::String | Self::Binary => Ok("".into()),
                Self::Bool
                | Self::Number(_)
                | Self::Complex(_)
                | Self::Raw(_)
                | Self::Struct(_) => {
                    let size = self.size().filter(|&size| size <= LARGEST_ELEMENT);
                    let size = size.context("the elements are too large")?;
                    self.element(&vec![0; size as usize], order).context("no zero")
                }
            };
        };
        let bytes = || BASE64_STANDARD.decode(json.as_str()?).ok();
        let value = match self {
            Self::Bool => json.as_bool().or_else(|| Some(json.as_f64()? != 0.0)).map(Value::from),
            Self::Number(element_type) => number(*element_type, json),
            Self::Complex(part) => match json {
                Value::Array(parts) if parts.len() == 2 => {
                    parts.iter().map(|json| number(*part, json)).collect()
                }
                real => [real, &0.into()].into_iter().map(|json| number(*part, json)).collect(),
            },
            Self::Time { .. } if json == "NaT" => Some(NOT_A_TIME.into()),
            Self::Time { .. } => json.as_i64().map(Value::from),
            Self::Utf32(_) => json.as_str().map(Value::from),
            // zarr-python takes the digits of a number.
            Self::String => match json {
                Value::String(text) => Some(text.as_str().into()),
                Value::Number(number) => Some(number.to_string().into()),
                _ => None,
            },
            Self::Bytes(_) | Self::Binary => {
                bytes().map(|bytes| BASE64_STANDARD.encode(bytes).into())
            }
            Self::Raw(_) | Self::Struct(_) => bytes().and_then(|bytes| self.element(&bytes, order)),
        };
        value.with_context(|| format!("the fill value {json} is no {}", name_of(&self.to_json())))
    }

    /// The bytes of an element as a fill value.
    fn element(&self, bytes: &[u8], order: Option<ByteOrder>) -> Option<Value> {
        if self.size()? != bytes.len() as u64 {
            return None;
        }
        let scalar = |element_type, bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            if order.is_some_and(|order| order != ByteOrder::NATIVE) {
                bytes.reverse();
            }
            Scalar::from_ne_bytes(element_type, &bytes).map(fill_value::to_json)
        };
        match self {
            Self::Bool => Some((bytes != [0]).into()),
            Self::Number(element_type) => scalar(*element_type, bytes),
            Self::Complex(part) => {
                bytes.chunks_exact(part.size()).map(|bytes| scalar(*part, bytes)).collect()
            }
            Self::Time { .. } => scalar(ElementType::Int64, bytes),
            Self::Utf32(_) => {
                let character = |bytes: &[u8]| {
                    let code = scalar(ElementType::UInt32, bytes)?.as_u64()?;
                    char::from_u32(u32::try_from(code).ok()?)
                };
                let text: Option<String> = bytes.chunks_exact(4).map(character).collect();
                Some(text?.trim_end_matches('\0').into())
            }
            Self::Bytes(_) => {
                let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                Some(BASE64_STANDARD.encode(bytes.get(..end)?).into())
            }
            Self::Raw(_) => Some(BASE64_STANDARD.encode(bytes).into()),
            Self::Struct(fields) => {
                let mut rest = bytes;
                let mut values = Map::new();
                for (name, data_type) in fields {
                    let (field, behind) = rest.split_at_checked(data_type.size()? as usize)?;
                    values.insert(name.clone(), data_type.element(field, order)?);
                    rest = behind;
                }
                Some(values.into())
            }
            Self::String | Self::Binary => None,
        }
    }
}

fn number(element_type: ElementType, json: &Value) -> Option<Value> {
    // To Python, true is a number.
    let truth = json.as_bool().map(|truth| Value::from(u8::from(truth)));
    let json = truth.as_ref().unwrap_or(json);
    let number = fill_attribute::number(json, element_type);
    number.or_else(|| infinite(json, element_type)).map(fill_value::to_json)
}

/// The infinity that `NumPy` makes of a number beyond a floating-point type.
fn infinite(json: &Value, element_type: ElementType) -> Option<Scalar> {
    let text = json.as_str().map_or_else(|| json.to_string(), str::to_owned);
    let number = Some(text.trim().parse::<f64>().ok()?).filter(|number| !number.is_nan())?;
    let is_beyond = number.abs() > Scalar::max(element_type).to_f64();
    let infinity = Scalar::infinity(element_type, number.is_sign_negative());
    infinity.filter(|_| element_type.is_float() && is_beyond)
}

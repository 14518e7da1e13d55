//! Scalars in JSON: fill values, `offset`, `scale` and the entries of a `scalar_map`, with the same rules
//! for all.

use std::fmt;

use recast_kernels::half::{bf16, f16};
use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar, in_default_environment};
use serde_json::Value;

use crate::MetadataError;
use crate::json::{Json, Node, shortened};

/// Reads a fill value.
///
/// Integers are JSON numbers with a whole value inside the type's range, read exactly. Floats are
/// JSON numbers, rounded to nearest-even into the type, or `"NaN"`, `"Infinity"`, `"-Infinity"`,
/// `"+Infinity"`, or the big-endian bit pattern `"0x…"`.
///
/// A [`Value`] holds a number with a point or an exponent as an f64; [`from_json_str`] reads its
/// text.
///
/// ```
/// use zarr_recast::{ElementType, Scalar, fill_value};
/// let nan = fill_value::from_json(ElementType::Float32, &serde_json::json!("0x7fc01234"))?;
/// assert_eq!(nan, Scalar::from_bits(ElementType::Float32, 0x7fc0_1234));
/// # Ok::<(), zarr_recast::MetadataError>(())
/// ```
///
/// # Errors
/// Not a scalar of this type; the path of the error is `fill_value`.
pub fn from_json(element_type: ElementType, json: &Value) -> Result<Scalar, MetadataError> {
    from_json_str(element_type, Json::from(json).text())
}

/// As [`from_json`], from JSON text: `9007199254740993.0` is exact for an integer.
///
/// ```
/// use zarr_recast::{ElementType, fill_value};
/// let fill = fill_value::from_json_str(ElementType::Int64, "9007199254740993.0")?;
/// assert_eq!(fill, 9_007_199_254_740_993_i64.into());
/// # Ok::<(), zarr_recast::MetadataError>(())
/// ```
///
/// # Errors
/// As [`from_json`], and text that is not JSON.
pub fn from_json_str(element_type: ElementType, text: &str) -> Result<Scalar, MetadataError> {
    read(element_type, &Node::root("fill_value", text)?)
}

/// Writes a scalar so that [`from_json`] reads the same bits: the shortest decimal, of types of up to 16 bits
/// one in their range; a hex string only for a NaN other than the canonical one.
///
/// ```
/// use zarr_recast::fill_value::to_json;
/// assert_eq!(to_json(0.1_f32.into()), serde_json::json!(0.1));
/// assert_eq!(to_json(u64::MAX.into()), serde_json::json!(18_446_744_073_709_551_615_u64));
/// assert_eq!(to_json(f64::NEG_INFINITY.into()), serde_json::json!("-Infinity"));
/// ```
#[must_use]
pub fn to_json(scalar: Scalar) -> Value {
    in_default_environment(scalar, to_json_in_default_environment)
}

fn to_json_in_default_environment(scalar: Scalar) -> Value {
    let element_type = scalar.element_type();
    if element_type.is_integer() {
        let text = scalar.to_string();
        let unsigned = text.parse::<u64>().map(Value::from);
        return unsigned.or_else(|_| text.parse::<i64>().map(Value::from)).unwrap_or(Value::Null);
    }
    if scalar.is_nan() && Some(scalar) != Scalar::nan(element_type) {
        let digits = 2 * element_type.size();
        return format!("0x{:0digits$x}", scalar.bits()).into();
    }
    if !scalar.is_finite() {
        return scalar.to_string().into();
    }
    // A decimal is read through f64, which may round a second time if the shortest decimal is close to the
    // middle between two values. The f64 of the same value is exact.
    let reads_back = |number: &f64| float(element_type, *number) == Some(scalar);
    let shortest = finite(&scalar.to_string()).filter(reads_back);
    shortest.unwrap_or_else(|| scalar.to_f64()).into()
}

/// A scalar in metadata before its type is known: the literal text of a JSON number or string.
///
/// ```
/// use zarr_recast::{ElementType, JsonScalar};
/// let scale = JsonScalar::from_json("1e-9")?;
/// assert!(scale.to_scalar(ElementType::Float16)?.is_zero());
/// assert!(!scale.to_scalar(ElementType::Float32)?.is_zero());
/// # Ok::<(), zarr_recast::MetadataError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct JsonScalar(String);

impl JsonScalar {
    /// Keeps a JSON number or string as it is.
    ///
    /// # Errors
    /// Anything else, and a number out of range for every data type.
    pub fn from_json<'a>(json: impl Into<Json<'a>>) -> Result<Self, MetadataError> {
        Self::read(&Node::root("", json.into().text())?)
    }

    pub(crate) fn read(node: &Node<'_>) -> Result<Self, MetadataError> {
        Self::check(node)?;
        Ok(Self::known(node.text()))
    }

    /// The text of a node that has been checked.
    pub(crate) fn known(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Whether it is a JSON number or string.
    pub(crate) fn check(node: &Node<'_>) -> Result<(), MetadataError> {
        if node.is_number() {
            if finite(node.text()).is_none() {
                let text = shortened(node.text());
                return Err(node.error(format!("{text} is out of range for every data type")));
            }
        } else if node.is_string() {
            node.string(EXPECTED)?;
        } else {
            return Err(node.unexpected(EXPECTED));
        }
        Ok(())
    }

    /// Reads it as a scalar of a type, by the rules of [`from_json`].
    ///
    /// # Errors
    /// Not a scalar of this type.
    pub fn to_scalar(&self, element_type: ElementType) -> Result<Scalar, MetadataError> {
        read(element_type, &Node::known(&self.0))
    }

    /// The JSON text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The JSON value. A whole number that an f64 would round, such as `9007199254740993.0`, is written
    /// without its point. So is a fraction that an f64 rounds to a whole number, because the shortest
    /// decimal of that f64 may be another number.
    #[must_use]
    pub fn to_json(&self) -> Value {
        in_default_environment(self, Self::to_json_in_default_environment)
    }

    fn to_json_in_default_environment(&self) -> Value {
        let value: Value = serde_json::from_str(&self.0).unwrap_or(Value::Null);
        let Some(rounded) = value.as_f64().filter(|_| value.is_f64()) else { return value };
        let whole = match decimal(&self.0) {
            Decimal::Whole(whole) if whole != rounded as i128 => whole,
            Decimal::Fraction if rounded.abs() >= 2_f64.powi(53) => rounded as i128,
            _ => return value,
        };
        u64::try_from(whole)
            .map(Value::from)
            .or_else(|_| i64::try_from(whole).map(Value::from))
            .unwrap_or(value)
    }

    /// Whether `NumPy` reads it as an integer: a number without point and exponent.
    pub(crate) fn is_integer_literal(&self) -> bool {
        self.0.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
    }
}

impl From<Scalar> for JsonScalar {
    fn from(scalar: Scalar) -> Self {
        Self(to_json(scalar).to_string())
    }
}

macro_rules! from_elements {
    ($($element:ty),*) => {$(
        impl From<$element> for JsonScalar {
            fn from(element: $element) -> Self {
                Scalar::from(element).into()
            }
        }
    )*};
}

from_elements!(i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64);

/// The JSON text, shortened if it is long.
impl fmt::Display for JsonScalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&shortened(&self.0))
    }
}

impl fmt::Debug for JsonScalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JsonScalar({self})")
    }
}

const EXPECTED: &str = "a number, or a string such as \"NaN\"";

/// Reads a scalar of a type.
pub(crate) fn read(element_type: ElementType, node: &Node<'_>) -> Result<Scalar, MetadataError> {
    if node.is_number() {
        number(element_type, node.text()).map_err(|problem| node.error(problem))
    } else if node.is_string() {
        let text = node.string(EXPECTED)?;
        constant(element_type, &text).map_err(|problem| node.error(problem))
    } else {
        Err(node.unexpected(EXPECTED))
    }
}

/// A JSON number as a scalar, or the problem with it.
fn number(element_type: ElementType, text: &str) -> Result<Scalar, String> {
    let out_of_range = || {
        format!(
            "{} is out of range for {element_type} ({})",
            shortened(text),
            Scalar::range(element_type)
        )
    };
    if !element_type.is_integer() {
        let number = finite(text).and_then(|number| float(element_type, number));
        return number.ok_or_else(out_of_range);
    }
    let whole = match decimal(text) {
        Decimal::Whole(whole) => whole,
        Decimal::Fraction => {
            let text = shortened(text);
            return Err(format!(
                "{text} is not a whole number, and {element_type} holds only whole \
                                numbers"
            ));
        }
        Decimal::Huge => return Err(out_of_range()),
    };
    let widest = u64::try_from(whole)
        .map(Scalar::from)
        .or_else(|_| i64::try_from(whole).map(Scalar::from))
        .map_err(|_| out_of_range())?;
    widest.cast(element_type, Rounding::NearestEven, OutOfRange::Error).map_err(|_| out_of_range())
}

/// A number rounded to the nearest f64, in whatever direction the calling thread rounds; `None` if it is out of range
/// there. All numbers of metadata are read here.
fn finite(text: &str) -> Option<f64> {
    let read = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    in_default_environment(text, read)
}

/// An f64 rounded into a float type; `None` if it is out of range there.
fn float(element_type: ElementType, number: f64) -> Option<Scalar> {
    Scalar::from(number).cast(element_type, Rounding::NearestEven, OutOfRange::Error).ok()
}

/// The value of a JSON number, for integer types.
enum Decimal {
    Whole(i128),
    Fraction,
    /// Out of range for every integer type.
    Huge,
}

/// Reads a JSON number exactly.
fn decimal(text: &str) -> Decimal {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if fraction.is_empty()
        && exponent == "0"
        && let Ok(whole) = whole.parse::<u64>()
    {
        let whole = i128::from(whole);
        return Decimal::Whole(if negative { -whole } else { whole });
    }
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Decimal::Whole(0);
    }
    let trailing = digits.len() - digits.trim_end_matches('0').len();
    let point = i128::try_from(trailing).unwrap_or(i128::MAX)
        - i128::try_from(fraction.len()).unwrap_or(i128::MAX);
    // Of an exponent out of range for i64, only the sign matters.
    let exponent = exponent.trim_start_matches('+').parse::<i64>().map(i128::from);
    let exponent = match exponent {
        Ok(exponent) => exponent + point,
        Err(_) if text.contains("e-") || text.contains("E-") => return Decimal::Fraction,
        Err(_) => return Decimal::Huge,
    };
    if exponent < 0 {
        return Decimal::Fraction;
    }
    // 2^64 has 20 digits.
    match usize::try_from(exponent) {
        Ok(zeros) if zeros <= 20 && significant.len() + zeros <= 20 => {
            let number = format!("{significant}{}", "0".repeat(zeros)).parse::<i128>();
            number.map_or(Decimal::Huge, |n| Decimal::Whole(if negative { -n } else { n }))
        }
        _ => Decimal::Huge,
    }
}

/// A string as a scalar, or the problem with it.
fn constant(element_type: ElementType, text: &str) -> Result<Scalar, String> {
    let shown = shortened(&format!("{text:?}"));
    if element_type.is_integer() {
        return Err(format!("{shown} is not an integer, as {element_type} needs; write a number"));
    }
    let lacking = || format!("{element_type} has no representation for {shown}");
    match text {
        "NaN" => Scalar::nan(element_type).ok_or_else(lacking),
        "Infinity" | "+Infinity" => Scalar::infinity(element_type, false).ok_or_else(lacking),
        "-Infinity" => Scalar::infinity(element_type, true).ok_or_else(lacking),
        _ => {
            let expected = 2 * element_type.size();
            let Some(digits) = text.strip_prefix("0x") else {
                return Err(format!(
                    "{shown} is none of \"NaN\", \"Infinity\", \"-Infinity\" and \"0x\" with \
                     {expected} hex digits; a number goes without quotes"
                ));
            };
            let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            let bits = u64::from_str_radix(digits, 16).ok().filter(|_| is_hex);
            let Some(bits) = bits.filter(|_| digits.len() == expected) else {
                return Err(format!(
                    "{shown} must have exactly {expected} hex digits after \"0x\" for {element_type}"
                ));
            };
            let scalar = Scalar::from_bits(element_type, bits);
            if scalar.bits() != bits {
                return Err(format!(
                    "{shown} sets bits that {element_type} does not use; only the lowest {} may be \
                     set",
                    element_type.bits()
                ));
            }
            Ok(scalar)
        }
    }
}

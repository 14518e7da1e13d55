//! How codecs in place of CF's attributes decode, in the type of the values that suits them; and such codecs without an array.

use anyhow::{Context, anyhow, bail};
use recast_kernels::{ElementType, Scalar, in_default_environment};
use serde::Serialize;
use serde_json::{Map, Value};
use zarr_recast::Codec;

use super::attributes::{ADD_OFFSET, Arithmetic, Attributes, Codes, SCALE_FACTOR};
use super::invert::{Inversion, encoded_one_by_one, invert, way_out};
use crate::check::difference::Differences;
use crate::error::{Error, Result};
use crate::json;

/// Differences over codes.
#[derive(Clone, Debug, Serialize)]
pub struct CodeDifferences {
    /// The differences.
    #[serde(flatten)]
    pub differences: Differences,
    /// Which codes were compared.
    pub which: String,
}

/// How values of one type are decoded.
pub(super) struct Decoding {
    pub(super) arithmetic: Arithmetic,
    pub(super) inversion: Inversion,
    pub(super) fill_value: Scalar,
    /// Codes that encoding does not reproduce; `None` if it refuses some.
    pub(super) not_encoded: Option<u64>,
}

impl Decoding {
    fn new(rule: &Attributes, decoded: ElementType, codes: &Codes, fill: Scalar) -> Result<Self> {
        let arithmetic = Arithmetic::new(rule, decoded)?;
        let inversion = invert(rule, &arithmetic, codes, fill)?;
        let fill_value = inversion.chain.decode(&fill.to_ne_bytes())?;
        let fill_value = Scalar::from_ne_bytes(decoded, &fill_value).context("no fill value")?;
        let stored = encoded_one_by_one(&inversion.codecs, fill_value).with_context(|| {
            format!("the fill value {fill} decodes to {fill_value}, and that must come back")
        })?;
        if stored != fill {
            bail!(
                "the fill value {fill} decodes to {fill_value}, which is stored as another code; use \
                 --decoded-type float64"
            );
        }
        let not_encoded = not_encoded(&arithmetic, codes, &inversion)?;
        Ok(Self { arithmetic, inversion, fill_value, not_encoded })
    }

    /// Whether every code has CF's value to the last bit, and encoding reproduces it.
    fn is_exact(&self) -> bool {
        self.inversion.differences.is_none() && self.not_encoded == Some(0)
    }

    /// The decoding in the requested type, or else in the type that decodes exactly.
    pub(super) fn choose(
        rule: &Attributes,
        requested: Option<ElementType>,
        codes: &Codes,
        fill: Scalar,
    ) -> Result<Self> {
        let natural = requested.unwrap_or_else(|| rule.natural_type());
        let first = Self::new(rule, natural, codes, fill);
        // float32 cannot distinguish all codes of more than 16 bits.
        let is_decided = requested.is_some() || rule.code_type.bits() > 16;
        if is_decided || first.as_ref().is_ok_and(Self::is_exact) {
            return first;
        }
        let other = match natural {
            ElementType::Float32 => ElementType::Float64,
            _ => ElementType::Float32,
        };
        match Self::new(rule, other, codes, fill) {
            Ok(second) if second.is_exact() => Ok(second),
            _ => first,
        }
    }
}

/// The number of codes, without missing ones, that encoding does not reproduce; `None` if one cannot be
/// encoded.
fn not_encoded(
    arithmetic: &Arithmetic,
    codes: &Codes,
    inversion: &Inversion,
) -> Result<Option<u64>> {
    let decoded = inversion.chain.decode(&codes.bytes)?;
    let Ok(encoded) = inversion.chain.encode(&decoded) else { return Ok(None) };
    let size = inversion.chain.encoded_type().size();
    let pairs = codes.bytes.chunks_exact(size).zip(encoded.chunks_exact(size));
    let changed = pairs.filter(|(code, again)| code != again && !arithmetic.is_missing(code));
    Ok(Some(changed.count() as u64))
}

/// Codecs that decode integers as CF's attributes say, and what else the metadata of such an array need.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CfCodecs {
    /// The value codecs, in front of `bytes` and compressors. The stored integers stay as they are.
    pub codecs: Vec<Codec>,
    /// The type of the values: float32 or float64.
    pub data_type: ElementType,
    /// The value of the code in `_FillValue`, which is NaN; without that attribute, the value of code 0.
    #[serde(serialize_with = "json::written")]
    pub fill_value: Scalar,
    /// The attributes that stay: all but those that readers would apply again. `valid_min`, `valid_max` and
    /// `valid_range` are decoded.
    pub attributes: Map<String, Value>,
    /// The differences from CF's arithmetic in this type.
    pub codes: CodeDifferences,
    /// A sentence about each unusual attribute.
    pub warnings: Vec<String>,
}

/// Chooses codecs for the attributes `scale_factor`, `add_offset`, `_FillValue`, `missing_value` and `_Unsigned` of an
/// array whose stored elements are integers of a type: the codecs of [`crate::PackOptions::from_cf`], for any elements.
///
/// `decoded` is the type of the values. Without it, that is the type in which codecs reproduce CF's arithmetic bit for
/// bit; if both or neither do, float32 for integers of at most 16 bits whose attributes are float32 numbers, else
/// float64. Codes of 8 and 16 bits are all compared with CF's arithmetic, of wider types 65 536 spread over the type.
///
/// # Errors
/// Elements that are not integers; attributes that are no numbers, or that no codecs can replace; none of the five
/// attributes; values that are neither float32 nor float64.
///
/// ```
/// use recast_pack::codecs_from_cf;
/// use serde_json::json;
/// use zarr_recast::ElementType;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let attributes = json!({"scale_factor": 0.01, "add_offset": 273.15, "_FillValue": -32768, "units": "K"});
/// let attributes = attributes.as_object().ok_or("no object")?;
///
/// let cf = codecs_from_cf(ElementType::Int16, attributes, Some(ElementType::Float32))?;
/// assert_eq!(cf.codecs.len(), 4); // offset, cast to float64, scale, cast to int16
/// assert!(cf.fill_value.is_nan());
/// assert_eq!(cf.attributes.keys().collect::<Vec<_>>(), ["units"]);
/// assert_eq!((cf.codes.differences.differing, cf.codes.differences.elements), (0, 65_536));
///
/// // One division in float64 does not have the bits of CF's product for each code.
/// let cf = codecs_from_cf(ElementType::Int16, attributes, Some(ElementType::Float64))?;
/// assert!(cf.codes.differences.differing > 0 && cf.codes.differences.max < 1e-12);
/// # Ok(()) }
/// ```
pub fn codecs_from_cf(
    stored: ElementType,
    attributes: &Map<String, Value>,
    decoded: Option<ElementType>,
) -> std::result::Result<CfCodecs, Error> {
    if let Some(other) =
        decoded.filter(|one| !matches!(one, ElementType::Float32 | ElementType::Float64))
    {
        return Err(anyhow!(
            "the values are {other}, and CF decodes to float32 or float64; choose one of these"
        )
        .into());
    }
    in_default_environment(attributes, |attributes| Ok(codecs(stored, attributes, decoded)?))
}

fn codecs(
    stored: ElementType,
    attributes: &Map<String, Value>,
    decoded: Option<ElementType>,
) -> Result<CfCodecs> {
    let mut rule = Attributes::read(attributes, stored)?;
    let fill = rule.fill(attributes, stored).unwrap_or(Scalar::from_bits(rule.code_type, 0));
    let codes = Codes::new(rule.code_type, None);
    let Decoding { arithmetic, inversion, fill_value, .. } =
        Decoding::choose(&rule, decoded, &codes, fill)?;
    let decoded = arithmetic.decoded_type();
    // An array may never use such codes; here any may follow.
    if inversion.differences.not_finite > 0 {
        bail!(
            "{SCALE_FACTOR} and {ADD_OFFSET} say {}, and codecs do not give all of these values finite in {decoded}; {}",
            rule.formula(),
            way_out(decoded)
        );
    }
    let attributes = rule.of_values(attributes, stored, &arithmetic)?;
    let Inversion { codecs, differences, .. } = inversion;
    Ok(CfCodecs {
        codecs,
        data_type: decoded,
        fill_value,
        attributes,
        codes: CodeDifferences { differences, which: codes.what },
        warnings: rule.warnings,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A number, multiplied by a scale and divided by it, is not always the same: then another scale must do.
    #[test]
    fn the_value_of_any_code_can_be_the_fill_value() {
        for (factor, offset) in [(0.01, 0.0), (0.1, 273.15), (1e-3, -5.0), (1.0 / 3.0, 1e4)] {
            let attributes = json!({SCALE_FACTOR: factor, ADD_OFFSET: offset});
            let rule = Attributes::read(attributes.as_object().unwrap(), ElementType::UInt8);
            let rule = rule.unwrap();
            let codes = Codes::new(ElementType::UInt8, None);
            for decoded in [ElementType::Float32, ElementType::Float64] {
                for code in 0..=255_u8 {
                    let fill = Scalar::from(code);
                    let found = Decoding::new(&rule, decoded, &codes, fill);
                    let found = found.unwrap_or_else(|error| panic!("{factor} {code}: {error:#}"));
                    let stored = encoded_one_by_one(&found.inversion.codecs, found.fill_value);
                    assert_eq!(stored.unwrap(), fill, "{factor} {code} {decoded}");
                }
            }
        }
    }
}

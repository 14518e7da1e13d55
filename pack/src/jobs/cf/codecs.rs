//! CF's attributes as codecs, without an array.

use anyhow::{anyhow, bail};
use recast_kernels::{ElementType, Scalar, in_default_environment};
use serde::Serialize;
use serde_json::{Map, Value};
use zarr_recast::Codec;

use super::attributes::{ADD_OFFSET, Attributes, Codes, SCALE_FACTOR};
use super::decoding::{CodeDifferences, Decoding};
use super::invert::{Inversion, way_out};
use crate::error::{Error, Result};
use crate::json;

/// Codecs that decode integers as CF's attributes say, and what else the metadata of such an array need.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CfCodecs {
    /// The value codecs, in front of `bytes` and compressors. The stored integers stay as they are.
    pub codecs: Vec<Codec>,
    /// The type of the values: float32 or float64.
    #[serde(serialize_with = "json::written")]
    pub data_type: ElementType,
    /// The value of the code in `_FillValue`, which is NaN; without that attribute, the value of code 0.
    #[serde(serialize_with = "json::written")]
    pub fill_value: Scalar,
    /// The attributes that stay: all but those that readers would apply again. `valid_min`, `valid_max` and
    /// `valid_range` are decoded.
    pub attributes: Map<String, Value>,
    /// The differences from CF's arithmetic in this type.
    pub codes: CodeDifferences,
    /// What is unusual in the attributes, a sentence each.
    pub warnings: Vec<String>,
}

/// Chooses codecs for the attributes `scale_factor`, `add_offset`, `_FillValue`, `missing_value` and `_Unsigned` of an
/// array whose stored elements are integers of a type: the codecs of [`crate::FromCfJob`], for any elements.
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

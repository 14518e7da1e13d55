//! How codecs in place of CF's attributes decode, in the type of the values that suits them.

use anyhow::{Context, bail};
use recast_kernels::{ElementType, Scalar};
use serde::Serialize;
use zarr_recast::{BindOptions, Chain};

use super::attributes::{Arithmetic, Attributes, Codes};
use super::invert::{Inversion, invert};
use crate::check::difference::Differences;
use crate::error::Result;

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
        let options = BindOptions::default();
        let bound = Chain::bind(decoded, Some(fill_value), &inversion.codecs, &options);
        let bound = bound.with_context(|| {
            format!("the fill value {fill} decodes to {fill_value}, and that must come back")
        })?;
        if bound.encoded_fill_value().is_none_or(|code| code != fill) {
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

    /// The decoding in the requested type, or else in the exact one.
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

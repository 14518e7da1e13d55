//! The serde form of a survey: scalars as their bits, elements in base64.

use anyhow::{Context, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use recast_kernels::{ElementType, Scalar};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// A serialised survey.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    pub(super) data_type: String,
    pub(super) big_endian: bool,
    pub(super) fill_value: u64,
    pub(super) fill_values: Vec<u64>,
    pub(super) elements: u64,
    pub(super) nan: u64,
    pub(super) markers: Vec<u64>,
    #[serde(rename = "apart")]
    pub(super) reserved_values: Vec<u64>,
    #[serde(rename = "apart_counts")]
    pub(super) reserved_counts: Vec<u64>,
    pub(super) infinite: u64,
    pub(super) first_infinite: Option<String>,
    pub(super) range: Option<(u64, u64)>,
    pub(super) sample: String,
    pub(super) excerpts: Vec<(u64, String)>,
    /// The scales and distances of the grids that are known, as their bits.
    pub(super) grids: Vec<(u64, u64)>,
}

impl Document {
    /// The type of the elements.
    pub(super) fn element_type(&self) -> Result<ElementType> {
        if self.big_endian != cfg!(target_endian = "big") {
            bail!("a survey that was made on a machine of the other byte order");
        }
        let name = &self.data_type;
        ElementType::from_name(name).with_context(|| format!("a survey of {name:?}"))
    }
}

pub(super) fn bits(scalars: &[Scalar]) -> Vec<u64> {
    scalars.iter().map(|scalar| scalar.bits()).collect()
}

pub(super) fn to_base64(elements: &[u8]) -> String {
    BASE64_STANDARD.encode(elements)
}

/// Whole elements of a type.
pub(super) fn from_base64(text: &str, element_type: ElementType) -> Result<Vec<u8>> {
    let elements = BASE64_STANDARD.decode(text).context("the elements of a survey")?;
    if elements.len() % element_type.size() != 0 {
        bail!("{} bytes are not a whole number of elements of {element_type}", elements.len());
    }
    Ok(elements)
}

//! Codecs that may pack an array, bound to its type and fill value.

use anyhow::bail;
use recast_kernels::{ElementType, Scalar};
use zarr_recast::{BindOptions, Chain, Codec};

use crate::error::Result;

/// Codecs that may pack an array, bound.
#[derive(Clone, Debug)]
pub(crate) struct Packing {
    pub(crate) codecs: Vec<Codec>,
    pub(crate) chain: Chain,
    /// The same chain with `out_of_range` as an error, if it is none in `chain`.
    pub(crate) strict: Option<Chain>,
    pub(crate) offset: Option<Scalar>,
    pub(crate) scale: Option<Scalar>,
    /// The stored value of NaN, if a map gives it one.
    pub(crate) nan: Option<Scalar>,
    /// The fill values that the codecs serve; the chain is bound to the first.
    pub(super) fills: Vec<Fill>,
    /// Whether the scale is a guess from the sample rather than from the error bound.
    pub(crate) is_guess: bool,
}

/// How the fill value gets its stored value.
#[derive(Clone, Copy, Debug)]
pub(super) enum FillWay {
    /// As every element does.
    Natural,
    /// By an entry in the map of the last cast: what reaches that cast, and the stored value.
    Mapped(Scalar, Scalar),
    /// By an entry in the map of a first cast to a value that the data leave free, and from there by
    /// an entry in the map of the last one, if there is a stored value.
    Remapped(Scalar, Option<(Scalar, Scalar)>),
}

/// A fill value of one of the arrays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fill {
    pub(super) value: Scalar,
    pub(super) way: FillWay,
    pub(super) is_apart: bool,
}

impl Packing {
    /// The same codecs for an array with another of the fill values.
    pub(crate) fn beside(&self, fill_value: Scalar) -> Result<Self> {
        let mut fills = self.fills.clone();
        fills.sort_by_key(|fill| fill.value != fill_value);
        let chain = bound(self.chain.decoded_type(), fill_value, &self.codecs)?;
        Ok(Self { chain, fills, ..self.clone() })
    }

    /// Whether the fill value goes through a map.
    pub(crate) fn fill_is_mapped(&self) -> bool {
        self.fills.first().is_some_and(|fill| !matches!(fill.way, FillWay::Natural))
    }

    /// Whether the fill value lies outside the data, so that nothing else may decode to it.
    pub(crate) fn fill_is_apart(&self) -> bool {
        self.fills.first().is_some_and(|fill| fill.is_apart)
    }

    /// Whether a first cast replaces a fill value.
    pub(super) fn fill_is_remapped(&self) -> bool {
        self.fills.iter().any(|fill| matches!(fill.way, FillWay::Remapped(..)))
    }
}

/// Codecs bound to an array's type and fill value; what would only be a warning is an error.
pub(super) fn bound(
    element_type: ElementType,
    fill_value: Scalar,
    codecs: &[Codec],
) -> Result<Chain> {
    let chain = Chain::bind(element_type, Some(fill_value), codecs, &BindOptions::default())?;
    match chain.diagnostics().first() {
        Some(diagnostic) => bail!("{diagnostic}"),
        None => Ok(chain),
    }
}

//! Codecs that may pack an array, bound to its type and fill value.

use anyhow::bail;
use recast_kernels::{ElementType, Scalar};
use zarr_recast::{BindOptions, Chain, Codec};

use crate::error::Result;
use crate::scan::lattice::Lattice;
use crate::scan::number::integer;

/// The values that keep the bound, besides those surveyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    /// None.
    Surveyed,
    /// All in the promised range; without one, all in the range of the surveyed ones.
    Range,
    /// All that can be stored.
    Storable,
}

/// Codecs that may pack an array, bound.
#[derive(Clone, Debug)]
pub(crate) struct Packing {
    pub(crate) codecs: Vec<Codec>,
    pub(crate) chain: Chain,
    /// The same chain with `out_of_range` as an error, if `chain` has another mode.
    pub(crate) strict: Option<Chain>,
    pub(crate) offset: Option<Scalar>,
    pub(crate) scale: Option<Scalar>,
    /// The stored value of NaN, if a map gives it one.
    pub(crate) nan: Option<Scalar>,
    /// The missing markers and fill values that the codecs keep.
    pub(super) specials: Vec<Special>,
    /// The lowest and the highest code of the data; none for a floating-point type, or if values wrap.
    pub(super) reached: Option<(i128, i128)>,
    /// The grid of the surveyed values, if the scale is made for it and not derived from the error bound alone.
    pub(super) grid: Option<Lattice>,
    /// The same, if other values than those on it would be off by more than the bound.
    pub(crate) only: Option<Lattice>,
    /// The values, besides those surveyed, that keep the bound.
    pub(super) promise: Promise,
    /// Whether values next to a missing marker would decode to it, if there are any.
    pub(super) is_risky: bool,
    /// Whether it was chosen so that no value decodes to a marker.
    pub(super) avoids_markers: bool,
}

/// A missing marker or fill value that a candidate cannot keep; another bound need not help.
#[derive(Clone, Debug)]
pub(crate) struct SpecialLost(pub(super) String);

impl std::fmt::Display for SpecialLost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecialLost {}

/// How a special value gets its stored code.
#[derive(Clone, Copy, Debug)]
pub(super) enum CodeWay {
    /// Like every element.
    Natural,
    /// By an entry in the map of the last cast: the value that reaches that cast, and the stored code.
    Mapped(Scalar, Scalar),
    /// By an entry in the map of a first cast to a value that no data have, and then by an entry in the map of the
    /// last cast, if there is a stored code.
    Remapped(Scalar, Option<(Scalar, Scalar)>),
}

/// A missing marker or a fill value: it must come back exactly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Special {
    pub(super) value: Scalar,
    pub(super) way: CodeWay,
}

impl Packing {
    /// The same codecs for an array with another of the fill values.
    pub(crate) fn beside(&self, fill_value: Scalar) -> Result<Self> {
        let chain = bound(self.chain.decoded_type(), fill_value, &self.codecs)?;
        Ok(Self { chain, ..self.clone() })
    }

    /// The lowest and the highest code of all elements: data, NaN, special values and the fill value; none for a
    /// floating-point type, or if values wrap.
    pub(super) fn codes(&self) -> Option<(i128, i128)> {
        let encoded = self.chain.encoded_type();
        let special = |special: &Special| {
            let code = self.chain.encode(&special.value.to_ne_bytes()).ok()?;
            integer(Scalar::from_ne_bytes(encoded, &code)?)
        };
        let (lowest, highest) = self.reached?;
        let others = self.nan.into_iter().chain(self.chain.encoded_fill_value()).map(integer);
        let others = others.chain(self.specials.iter().map(special));
        others.collect::<Option<Vec<i128>>>().map(|others| {
            others.into_iter().fold((lowest, highest), |(lowest, highest), code| {
                (lowest.min(code), highest.max(code))
            })
        })
    }

    /// Whether a marker or fill value goes through a map.
    pub(crate) fn is_mapped(&self, value: Scalar) -> bool {
        let is_it = |special: &Special| {
            special.value.equals(value) && !matches!(special.way, CodeWay::Natural)
        };
        self.specials.iter().any(is_it)
    }

    /// Whether a first cast replaces a special value.
    pub(super) fn has_remapped(&self) -> bool {
        self.specials.iter().any(|special| matches!(special.way, CodeWay::Remapped(..)))
    }
}

/// Codecs bound to an array's type and fill value; warnings are errors.
pub(super) fn bound(
    element_type: ElementType,
    fill_value: Scalar,
    codecs: &[Codec],
) -> Result<Chain> {
    let chain = Chain::bind(element_type, Some(fill_value), codecs, &BindOptions::default())?;
    match chain.warnings().first() {
        Some(warning) => bail!("{warning}"),
        None => Ok(chain),
    }
}

//! Codecs that may pack an array, bound to its type and fill value.

use anyhow::bail;
use recast_kernels::{ElementType, RunError, Scalar};
use zarr_recast::{BindOptions, Chain, Codec};

use super::placement::{Placement, Promise, Scale};
use super::room::storable;
use crate::error::Result;
use crate::round::rounder::Rounder;
use crate::scan::lattice::Lattice;
use crate::scan::number::{encoded, integer, integer_range};
use crate::scan::survey::{Survey, union};
use crate::scan::valid::BeyondValid;

/// Codecs that may pack an array, bound.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) placement: Placement,
    pub(crate) codecs: Vec<Codec>,
    pub(crate) chain: Chain,
    /// The rounder of elements that stay plain numbers; then there are no value codecs.
    pub(crate) rounder: Option<Rounder>,
    /// The same chain with `out_of_range` as an error, if `chain` has another mode.
    pub(crate) range_checked: Option<Chain>,
    /// The stored value of NaN, if a map gives NaN a value.
    pub(crate) nan: Option<Scalar>,
    /// The missing markers and fill values that the codecs keep.
    pub(super) specials: Vec<Special>,
    /// The lowest and the highest code of the data; none for a floating-point type, or if values wrap.
    pub(super) code_range: Option<(i128, i128)>,
    /// The grid of the placement, if values beside the grid would be off by more than the bound.
    pub(crate) only: Option<Lattice>,
    /// Whether values next to a missing marker would decode to it, if there are any.
    pub(super) may_decode_to_marker: bool,
    /// The magnitude from which values keep a relative bound, if there may be smaller values.
    pub(crate) relative_from: Option<Scalar>,
}

/// A missing marker or fill value that a candidate cannot keep; another bound need not help.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SpecialLost(pub(super) String);

/// A missing marker or a fill value: it must come back exactly. Without a stand-in and an entry, it is encoded like every
/// element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Special {
    pub(super) value: Scalar,
    /// The value that no data have, to which an entry in the map of a first cast changes it.
    pub(super) stand_in: Option<Scalar>,
    /// The entry in the map of the last cast: the value that reaches that cast, and the stored code.
    pub(super) entry: Option<(Scalar, Scalar)>,
}

impl Candidate {
    /// Plain numbers of a type, rounded.
    pub(super) fn plain(
        rounder: Rounder,
        element_type: ElementType,
        fill_value: Scalar,
    ) -> Result<Self> {
        let placement = Placement {
            offset: None,
            scale: Scale { promise: Promise::Storable, avoids_markers: true, ..Scale::of(None) },
            target: element_type,
            is_compact: false,
        };
        Ok(Self {
            placement,
            codecs: Vec::new(),
            chain: bound(element_type, fill_value, &[])?,
            rounder: Some(rounder),
            range_checked: None,
            nan: None,
            specials: Vec::new(),
            code_range: None,
            only: None,
            may_decode_to_marker: false,
            relative_from: None,
        })
    }

    /// The stored codes of elements.
    pub(crate) fn encode(&self, elements: &[u8]) -> std::result::Result<Vec<u8>, RunError> {
        let Some(rounder) = &self.rounder else { return self.chain.encode(elements) };
        let mut plain = vec![0; elements.len()];
        rounder.round(elements, &mut plain);
        self.chain.encode(&plain)
    }

    /// Elements, encoded and decoded.
    pub(crate) fn decoded(&self, elements: &[u8]) -> std::result::Result<Vec<u8>, RunError> {
        self.chain.decode(&self.encode(elements)?)
    }

    /// Whether all values of a range decode to one of them.
    pub(crate) fn leaves_one_of(&self, (least, greatest): (Scalar, Scalar)) -> bool {
        let decoded = |value: Scalar| self.decoded(&value.to_ne_bytes()).ok();
        !least.equals(greatest) && decoded(least).is_some_and(|one| decoded(greatest) == Some(one))
    }

    /// Whether a value of the range to store has a code, and is not clamped or wrapped.
    pub(crate) fn is_in_range(&self, value: Scalar) -> bool {
        encoded(self.range_checked.as_ref().unwrap_or(&self.chain), value).is_some()
    }

    /// The decoded value of a value that is stored.
    pub(crate) fn decoded_value(&self, value: Scalar) -> Option<Scalar> {
        let bytes = self.decoded(&value.to_ne_bytes()).ok()?;
        Scalar::from_ne_bytes(self.chain.decoded_type(), &bytes)
    }

    /// The last valid values of those to store that decode to values beyond the valid range.
    pub(crate) fn beyond_valid(&self, survey: &Survey) -> Vec<BeyondValid> {
        let beyond = |range| survey.valid.left_by(range, |value| self.decoded_value(value));
        survey.to_store().map(beyond).unwrap_or_default()
    }

    /// The range of values that the codecs can store, with the surveyed values that are rounded to the last code. Without
    /// room, only the surveyed values: beyond them lie the codes of missing values, and differences that do not fit.
    pub(crate) fn storable(&self, survey: &Survey, has_room: bool) -> Option<(Scalar, Scalar)> {
        let all = storable(survey.element_type, &self.codecs)?;
        let ends = survey.to_store().into_iter().flat_map(|(least, greatest)| [least, greatest]);
        let ends = ends.filter(|&end| self.is_in_range(end)).map(|end| Some((end, end)));
        ends.fold(has_room.then_some(all), union)
    }

    /// The codes that the data leave free below and above.
    fn free_codes(&self) -> Option<(i128, i128)> {
        let (lowest, highest) = self.code_range?;
        let (first, last) = integer_range(self.placement.target)?;
        Some((lowest - first, last - highest))
    }

    /// The smaller number of codes that the data leave free on one side; 0 if it is not known.
    pub(super) fn room(&self) -> i128 {
        self.free_codes().map_or(0, |(below, above)| below.min(above))
    }

    /// Whether there is room on both sides: each has at least half of an even share.
    pub(crate) fn is_roomy(&self) -> bool {
        self.free_codes().is_none_or(|(below, above)| 4 * below.min(above) >= below + above - 1)
    }

    /// The same codecs for an array with another of the fill values.
    pub(crate) fn with_fill_value(&self, fill_value: Scalar) -> Result<Self> {
        let chain = bound(self.chain.decoded_type(), fill_value, &self.codecs)?;
        Ok(Self { chain, ..self.clone() })
    }

    /// The lowest and the highest code of all elements: data, NaN, special values and the fill value; none for a
    /// floating-point type, or if values wrap.
    pub(super) fn all_codes(&self) -> Option<(i128, i128)> {
        let special = |special: &Special| integer(encoded(&self.chain, special.value)?);
        let (lowest, highest) = self.code_range?;
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
            let is_natural = special.stand_in.is_none() && special.entry.is_none();
            special.value.equals(value) && !is_natural
        };
        self.specials.iter().any(is_it)
    }

    /// Whether a first cast replaces a special value.
    pub(super) fn has_remapped(&self) -> bool {
        self.specials.iter().any(|special| special.stand_in.is_some())
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

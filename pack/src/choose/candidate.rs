//! Codecs that may pack an array, bound to its type and fill value.

use anyhow::bail;
use recast_kernels::{
    Affine, ElementType, OutOfRange, Reason, Rounding, RunError, Scalar, Step, reference,
};
use zarr_recast::{BindOptions, Chain, Codec};

use crate::error::Result;
use crate::round::rounder::Rounder;
use crate::scan::lattice::Lattice;
use crate::scan::number::{encoded, integer};

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

/// A scale to try.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScaleCandidate {
    pub(super) scale: Option<Scalar>,
    /// The grid for which it was made, if the surveyed values are on one.
    pub(super) grid: Option<Lattice>,
    /// The type to try it with; by default the requested types.
    pub(super) target: Option<ElementType>,
    /// The offset to try it with; by default those that make the values fit.
    pub(super) offset: Option<Scalar>,
    /// As those of a [`Placement`].
    pub(super) promise: Promise,
    pub(super) avoids_markers: bool,
}

impl ScaleCandidate {
    /// A scale that the arithmetic proves.
    pub(super) fn of(scale: Option<Scalar>) -> Self {
        let (promise, avoids_markers) = (Promise::Surveyed, false);
        Self { scale, grid: None, target: None, offset: None, promise, avoids_markers }
    }

    /// The scale of a grid, for values on it.
    pub(super) fn of_grid(scale: Scalar, grid: Lattice) -> Self {
        Self { grid: Some(grid), ..Self::of(Some(scale)) }
    }
}

/// Where the elements go in the stored type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub(crate) offset: Option<Scalar>,
    pub(crate) scale: Option<Scalar>,
    /// The type of the stored elements.
    pub(crate) target: ElementType,
    /// The grid of the surveyed values, if the scale is made for it and not derived from the error bound alone.
    pub(super) grid: Option<Lattice>,
    /// The values, besides those surveyed, that keep the bound.
    pub(super) promise: Promise,
    /// Whether no value may decode to a missing marker, not even one next to it.
    pub(super) avoids_markers: bool,
    /// Whether NaN and special values get codes next to those of the data, and not at the ends of the type.
    pub(super) is_compact: bool,
}

impl Placement {
    fn affine(&self) -> Affine {
        Affine::new(self.offset, self.scale)
    }

    /// A value in the working type after offset and scale.
    pub(super) fn scaled(&self, value: Scalar) -> Result<Scalar> {
        let scaled = reference::run(value, &[Step::Scale(self.affine())], 0);
        scaled.map_err(|error| refused(value, value.element_type(), error.reason))
    }

    /// The stored code of a scaled value, if the type has one.
    pub(super) fn code(&self, scaled: Scalar, rounding: Rounding) -> Option<Scalar> {
        scaled.cast(self.target, rounding, OutOfRange::Error).ok()
    }

    /// The value in the working type that becomes a scaled one.
    pub(super) fn unscaled(&self, scaled: Scalar) -> Option<Scalar> {
        reference::run(scaled, &[Step::InverseScale(self.affine())], 0).ok()
    }
}

/// Codecs that may pack an array, bound.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) placement: Placement,
    pub(crate) codecs: Vec<Codec>,
    pub(crate) chain: Chain,
    /// What rounds elements that stay plain numbers; then there are no value codecs.
    pub(crate) rounder: Option<Rounder>,
    /// The same chain with `out_of_range` as an error, if `chain` has another mode.
    pub(crate) range_checked: Option<Chain>,
    /// The stored value of NaN, if a map gives it one.
    pub(crate) nan: Option<Scalar>,
    /// The missing markers and fill values that the codecs keep.
    pub(super) specials: Vec<Special>,
    /// The lowest and the highest code of the data; none for a floating-point type, or if values wrap.
    pub(super) code_range: Option<(i128, i128)>,
    /// The grid of the placement, if values that are not on it would be off by more than the bound.
    pub(crate) only: Option<Lattice>,
    /// Whether values next to a missing marker would decode to it, if there are any.
    pub(super) may_decode_to_marker: bool,
    /// The magnitude from which values keep a relative bound, if there may be smaller ones.
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
            scale: None,
            target: element_type,
            grid: None,
            promise: Promise::Storable,
            avoids_markers: true,
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

/// A value in the type in which scale and offset are computed.
pub(super) fn in_working(value: Scalar, working: ElementType) -> Result<Scalar> {
    let cast = value.cast(working, Rounding::NearestEven, OutOfRange::Clamp);
    cast.map_err(|reason| refused(value, working, reason))
}

/// What a scale multiplies by; 1 without one.
pub(super) fn factor(scale: Option<Scalar>) -> f64 {
    scale.map_or(1.0, Scalar::to_f64)
}

/// Why a value has no scaled one, or none in the working type.
fn refused(value: Scalar, working: ElementType, reason: Reason) -> anyhow::Error {
    let why = match reason {
        Reason::Overflow | Reason::OutOfRange => "leaves the range of",
        Reason::InexactDivision => "is no multiple of the scale in",
        Reason::Nan | Reason::Infinite => "has no counterpart in",
        _ => "cannot be computed in",
    };
    anyhow::anyhow!("{value} {why} {working}; use another --scale or --offset")
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

//! Whether decoded values stay valid and in the range of the data, and 0 stays 0.

use recast_kernels::{Rounding, Scalar};

use super::candidate::{Candidate, Special};
use super::facts::Facts;
use super::placement::Placement;
use super::sample::keeps_zero;
use crate::scan::number::is_less;
use crate::scan::survey::union;
use crate::scan::valid::{BeyondValid, Valid};

/// One step more among this many steps costs hardly any bytes.
pub(super) const MANY_STEPS: f64 = 32.0;
/// The most finer scales that are considered.
const MOST_WHOLES: u32 = 256;
/// So far from a whole number of steps, an end counts as on it.
const INEXACT: f64 = 1e-6;

/// The harm that codecs do to the ends of the range to store, and to 0. Ordered: less harm is less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Strays {
    /// The ends of the valid range beyond which valid values decode.
    valid: u8,
    /// Whether a fill value that elements have has a code apart, so that CF's attributes could express it only as missing.
    fill: bool,
    /// The ends beyond which decoded values are.
    ends: u8,
    /// Whether 0 is in the range, and becomes another value. If 0 stays 0, no value changes its sign.
    zero: bool,
    /// The ends beyond which multiples of a step are by no more than the arithmetic rounds.
    pub(super) rounded: u8,
}

impl Strays {
    pub(super) fn is_none(self) -> bool {
        self == Self::default()
    }

    /// The harm without that which rounding explains.
    pub(super) fn lost(self) -> Self {
        Self { rounded: 0, ..self }
    }

    /// Whether a valid value becomes invalid.
    pub(super) fn has_invalid(self) -> bool {
        self.valid > 0
    }

    /// The same as if no attribute named a valid range.
    pub(super) fn without_valid(self) -> Self {
        Self { valid: 0, ..self }
    }
}

/// How decoded values leave the range to store.
pub(super) fn strays(facts: &Facts<'_>, candidate: &Candidate) -> Strays {
    let mut strays = Strays::default();
    let Some((least, greatest)) = facts.survey.to_store() else { return strays };
    strays.valid = candidate.beyond_valid(facts.survey).len() as u8;
    // Multiples of a step are away from values on the grid by that alone.
    let is_on_grid = facts.takes_multiples(&candidate.placement);
    let near = 2.0 * facts.working.rounding_of_values();
    let kept = union(facts.survey.kept_range(), facts.survey.promised);
    let kept = kept.unwrap_or((least, greatest));
    for end in [least, greatest] {
        let Some(back) = candidate.decoded_value(end) else { continue };
        if !is_less(back, kept.0) && !is_less(kept.1, back) {
            continue;
        }
        let is_rounded = is_on_grid && (back.to_f64() - end.to_f64()).abs() <= near;
        let count = if is_rounded { &mut strays.rounded } else { &mut strays.ends };
        *count += 1;
    }
    let zero = Scalar::zero(facts.survey.element_type);
    let has_zero = !is_less(zero, least) && !is_less(greatest, zero);
    let is_zero_lost = has_zero && !keeps_zero(facts, candidate);
    strays.zero = is_zero_lost;
    strays.fill = has_fill_apart(facts, candidate);
    strays
}

/// Whether elements have a fill value that marks nothing, and its code lies apart from the codes of the data.
fn has_fill_apart(facts: &Facts<'_>, candidate: &Candidate) -> bool {
    candidate.specials.iter().any(|Special { value, stand_in, entry }| {
        (entry.is_some() || stand_in.is_some())
            && value.is_finite()
            && facts.survey.fill_values.iter().any(|fill| fill.equals(*value))
            && !facts.survey.markers.contains(*value)
            && facts.survey.count(*value) > 0
    })
}

/// The range whose ends decoded values are to stay inside: that of the data, with a fill value of 0 among them, without values that
/// are invalid before.
fn inner_range(facts: &Facts<'_>) -> (f64, f64) {
    let range = union(facts.survey.kept_range(), facts.survey.promised);
    let range = range.unwrap_or((facts.working.least, facts.working.greatest));
    let (least, greatest) = (range.0.to_f64(), range.1.to_f64());
    let Valid { least: lower, greatest: upper } = &facts.survey.valid;
    let inside = |end: &f64| (least..=greatest).contains(end);
    let lower = lower.iter().map(|end| end.to_f64()).filter(inside).fold(least, f64::max);
    let upper = upper.iter().map(|end| end.to_f64()).filter(inside).fold(greatest, f64::min);
    if lower < upper { (lower, upper) } else { (least, greatest) }
}

/// Scales that are finer by a few steps in the range, such that one end of the range is a whole number of steps away from 0, and
/// the other is rounded inwards: each end in turn, and for each a scale that is finer by a little more. They have at most a step
/// more for `steps`.
pub(super) fn scales_to_ends(facts: &Facts<'_>, candidate: &Candidate, steps: f64) -> Vec<Scalar> {
    if !has_free_scale(facts, candidate) {
        return Vec::new();
    }
    let own = candidate.placement.scale.factor();
    let (least, greatest) = inner_range(facts);
    let is_inside = |scale: f64| {
        let [below, above] = [least, greatest].map(|end| end * scale - (end * scale).round());
        below <= INEXACT && above >= -INEXACT
    };
    let scales = [greatest, -least].into_iter().filter(|end| end * own > 1.0).filter_map(|end| {
        let whole = (end * own).ceil();
        let most = end * own * (1.0 + 1.0 / steps);
        let wholes = (0..MOST_WHOLES).map(|more| whole + f64::from(more));
        let scales = wholes.take_while(|whole| *whole <= most).map(|whole| whole / end);
        scales.into_iter().find(|scale| is_inside(*scale))
    });
    let scales = scales.flat_map(|whole| [whole, whole * (1.0 + 8.0 * facts.working.unit())]);
    scales.filter_map(|scale| facts.working.number(scale, Rounding::TowardsPositive)).collect()
}

/// A scale that is finer by so little that the whole range has a few of the units more by which values are rounded: enough to
/// round both ends inwards.
pub(super) fn scale_for_rounding(facts: &Facts<'_>, candidate: &Candidate) -> Option<Scalar> {
    let rounded = facts.working.rounding(8.0, 8.0).max(8.0 * facts.working.rounding_of_values());
    let scale = candidate.placement.scale.factor() * (1.0 + rounded / facts.working.extent());
    let scale = facts.working.number(scale, Rounding::TowardsPositive);
    scale.filter(|_| has_free_scale(facts, candidate))
}

/// Whether any finer scale will do.
fn has_free_scale(facts: &Facts<'_>, candidate: &Candidate) -> bool {
    !facts.takes_multiples(&candidate.placement) && !facts.survey.element_type.is_integer()
}

/// A placement whose offset is moved by less than a step, so that both ends of the range are rounded inwards, equally far.
pub(super) fn moved_inwards(facts: &Facts<'_>, placement: Placement) -> Option<Placement> {
    let (least, greatest) = inner_range(facts);
    let scale = placement.scale.factor();
    let offset = placement.offset.map_or(0.0, Scalar::to_f64);
    let first = (least - offset) * scale;
    let aim = -((greatest - least) * scale).fract() / 2.0;
    // The shift from the present place between two codes to that one.
    let shift = first - aim - (first - aim).round();
    let offset = facts.working.number(offset + shift / scale, Rounding::NearestEven)?;
    let is_whole = facts.survey.element_type.is_integer() || facts.options.precision.is_some();
    (!is_whole).then_some(Placement { offset: Some(offset), ..placement })
}

/// Placements whose offset makes up for the rounding of the arithmetic, if that alone takes valid values beyond the valid range.
pub(super) fn moved_by_rounding(facts: &Facts<'_>, candidate: &Candidate) -> Vec<Placement> {
    let invalid = candidate.beyond_valid(facts.survey);
    let beyond = |one: &BeyondValid| one.decoded.to_f64() - one.limit.to_f64();
    let farthest = invalid.iter().map(beyond).max_by(|a, b| a.abs().total_cmp(&b.abs()));
    let near = 4.0 * facts.working.rounding_of_values();
    let by = farthest.filter(|by| by.abs() <= near).zip(candidate.placement.offset);
    let Some((by, offset)) = by else { return Vec::new() };
    let offsets = [0.5, 1.0, 1.5].map(|share| offset.to_f64() - share * by);
    let offsets =
        offsets.into_iter().filter_map(|one| facts.working.number(one, Rounding::NearestEven));
    offsets.map(|one| Placement { offset: Some(one), ..candidate.placement }).collect()
}

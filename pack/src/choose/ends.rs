//! Whether decoded values stay in the range of the data, and 0 stays 0.

use recast_kernels::{Rounding, Scalar};

use super::candidate::{Candidate, Special};
use super::facts::Facts;
use super::sample::keeps_zero;
use crate::scan::number::is_less;

/// From this many steps on, another step in the range takes no bytes worth mentioning.
const MANY_STEPS: f64 = 32.0;

/// What codecs do to the ends of the range to store, and to 0. In order: less harm is less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Strays {
    pub(super) lost: Lost,
    /// The ends beyond which multiples of a step are by no more than the arithmetic rounds.
    pub(super) rounded: u8,
}

/// What cannot be put down to rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lost {
    /// Whether a fill value that elements have has a code apart, so that CF's attributes could express it only as missing.
    fill: bool,
    /// The ends beyond which decoded values are.
    ends: u8,
    /// Whether 0 is in the range, and becomes another value. If 0 stays 0, no value changes its sign.
    zero: bool,
}

impl Lost {
    pub(super) fn is_none(self) -> bool {
        self == Self::default()
    }
}

impl Strays {
    pub(super) fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// How decoded values leave the range to store.
pub(super) fn strays(facts: &Facts<'_>, candidate: &Candidate) -> Strays {
    let mut strays = Strays::default();
    let Some((least, greatest)) = facts.survey.to_store() else { return strays };
    // Multiples of a step are away from values on the grid by that alone.
    let is_on_grid = facts.takes_multiples(&candidate.placement);
    let near = 2.0 * facts.working.rounding_of_values();
    for end in [least, greatest] {
        let Some(back) = candidate.decoded_value(end) else { continue };
        if facts.is_within(back) {
            continue;
        }
        let is_rounded = is_on_grid && (back.to_f64() - end.to_f64()).abs() <= near;
        let count = if is_rounded { &mut strays.rounded } else { &mut strays.lost.ends };
        *count += 1;
    }
    let zero = Scalar::zero(facts.survey.element_type);
    let has_zero = !is_less(zero, least) && !is_less(greatest, zero);
    let is_zero_lost = has_zero && !keeps_zero(facts, candidate);
    strays.lost.zero = is_zero_lost;
    strays.lost.fill = has_fill_apart(facts, candidate);
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

/// Scales that are finer by less than a step in the range, such that an end of the range is a whole number of steps away from
/// 0: each end in turn, and for each a scale that is finer by a little more.
pub(super) fn scales_to_ends(facts: &Facts<'_>, candidate: &Candidate) -> Vec<Scalar> {
    if facts.takes_multiples(&candidate.placement) || facts.survey.element_type.is_integer() {
        return Vec::new();
    }
    let scale = candidate.placement.scale.factor();
    let ends = [facts.working.greatest.to_f64(), -facts.working.least.to_f64()];
    let ends = ends.into_iter().filter(|end| end * scale >= MANY_STEPS);
    let scales = ends.flat_map(|end| {
        let whole = (end * scale).ceil() / end;
        [whole, whole * (1.0 + 8.0 * facts.working.unit())]
    });
    scales.filter_map(|scale| facts.working.number(scale, Rounding::TowardsPositive)).collect()
}

//! Moves the values inside a type so that they compress best and have room on both sides.

use rayon::prelude::*;
use recast_kernels::{ElementType, Rounding, Scalar};

use super::bind::bind;
use super::candidate::Candidate;
use super::ends::{
    MANY_STEPS, Strays, moved_by_rounding, moved_inwards, scale_for_rounding, scales_to_ends,
    strays,
};
use super::facts::Facts;
use super::placement::{Placement, Scale};
use super::proof::{is_proven, is_proven_for_seen};
use super::sample::{excess, has_background, is_precise, keeps_zero, tried, try_sample};
use super::scales::{safe_scales, scale_within};
use crate::check::comparison::Tolerance;
use crate::error::Result;
use crate::metadata::element_types::with_sign;
use crate::options::Compressor;
use crate::scan::number::integer_range;

/// For a large array, the position is chosen by one excerpt in this many.
const EXCERPT_DIVISOR: usize = 8;
/// A difference of one byte in this many is noise of the compressor.
const COMPRESSOR_NOISE: u64 = 1000;
/// Returning values bit for bit, although the bound allows an error, is worth one byte in this many; and so is staying in the
/// range of the data to the last bit.
const EXACTNESS: u64 = 100;
/// Staying in the valid range, and in that of the data with steps that are much finer, is worth one byte in this many, and
/// in a small array this many bytes.
const STAYING: u64 = 50;
const STAYING_BYTES: u64 = 16;

/// The bytes that staying may come to.
fn most_for_staying(size: u64) -> u64 {
    size + size / STAYING + STAYING_BYTES
}

/// The position of a candidate's values in a type of its size: as near to the middle as shifts by whole units of the
/// highest byte allow. Such shifts make no difference to a compressor.
#[derive(Clone, Copy, Debug)]
struct Position {
    /// The steps from a multiple of that unit up to the stored smallest value.
    steps: f64,
    phase: Phase,
}

/// Where the smallest value is between two codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Where the steps of the position say.
    AsGiven,
    /// Where decoded values are multiples of the step, or on the grid.
    Multiple,
    /// So that both ends of the range are rounded inwards, equally far.
    Inwards,
    /// So that 0 has a code.
    Zero,
}

/// The result for the excerpts with some codecs.
#[derive(Clone)]
struct Trial {
    size: u64,
    error: f64,
    strays: Strays,
    candidate: Candidate,
}

/// The steps between two codes of a type that differ in the highest byte only.
fn unit_of_highest_byte(target: ElementType) -> f64 {
    2_f64.powi(target.bits() as i32 - 8).max(1.0)
}

/// Other positions of the values in a type of the same size. The position decides how often the high byte of
/// neighbouring values changes, and so how well they compress.
fn positions(facts: &Facts<'_>, candidate: &Candidate, is_precise: bool) -> Vec<Position> {
    let count = facts.working.extent() * candidate.placement.scale.factor();
    // At the low end; with a change of the high byte in the middle of the range; and between.
    let centred = (128.0 - count / 2.0).rem_euclid(256.0).round();
    let steps = (0..8).map(|eighth| f64::from(eighth * 32)).chain([centred]);
    let is_multiple = facts.takes_multiples(&candidate.placement);
    let phase = if is_multiple { Phase::Multiple } else { Phase::AsGiven };
    let mut positions: Vec<Position> = steps.map(|steps| Position { steps, phase }).collect();
    if unit_of_highest_byte(candidate.placement.target) <= 1.0 {
        // In one byte, all positions are equivalent.
        positions.truncate(1);
    }
    if is_multiple && !is_precise && facts.options.precision.is_none() {
        positions.push(Position { steps: 0.0, phase: Phase::AsGiven });
    }
    positions
}

/// Positions moved by part of a step: to keep the range, to keep 0, and by eighths, because the best place for step boundaries
/// is not known.
fn fractional_offsets(position: Position) -> Vec<Position> {
    if position.phase == Phase::Multiple {
        return Vec::new();
    }
    let keeping = [Phase::Inwards, Phase::Zero].map(|phase| Position { phase, ..position });
    let eighths = (1..8).map(|eighth| f64::from(eighth) / 8.0);
    let eighths = eighths.map(|shift| Position { steps: position.steps + shift, ..position });
    keeping.into_iter().chain(eighths).collect()
}

/// The scales to try at a position, coarsest first: the candidate's own, and for a small array all coarser ones that
/// keep the bound if the arithmetic rounds less than its worst case.
fn scales_at(
    facts: &Facts<'_>,
    candidate: &Candidate,
    position: Position,
    is_small: bool,
) -> Vec<Scalar> {
    // Of integers, only steps of a whole number keep the bound.
    let may_differ =
        is_small && position.phase != Phase::Multiple && !facts.survey.element_type.is_integer();
    let bound = facts.options.max_abs_error.filter(|_| may_differ);
    let Some(bound) = bound else { return candidate.placement.scale.value.into_iter().collect() };
    let shares = (0..64).map(|share| f64::from(share) / 64.0);
    let mut scales: Vec<Scalar> = shares
        .filter_map(|share| scale_within(facts, bound, facts.working.rounding(share, 2.0 * share)))
        .chain(safe_scales(facts, bound, candidate.placement.scale.promise))
        .collect();
    scales.dedup();
    scales
}

/// The same candidate in the type of the other sign, if that leaves more room.
fn with_other_sign(facts: &Facts<'_>, candidate: &Candidate) -> Option<Candidate> {
    let target = candidate.placement.target;
    let other = with_sign(target, !target.is_signed());
    let target = Some(other).filter(|_| facts.options.data_type.is_none())?;
    let placement = Placement { target, ..candidate.placement };
    let other = bind(facts, placement).ok()?;
    (other.room() > candidate.room() && is_as_simple(&other, candidate)).then_some(other)
}

/// Whether no special value of another candidate needs a first cast, unless one of the candidate does.
fn is_as_simple(other: &Candidate, candidate: &Candidate) -> bool {
    !other.has_remapped() || candidate.has_remapped()
}

/// A candidate with this scale and its values at another position; none if it is less simple.
fn moved(
    facts: &Facts<'_>,
    candidate: &Candidate,
    scale: Scalar,
    position: Position,
) -> Option<Candidate> {
    // With the values in the middle of a signed type, the offset is in the middle of the data, where the arithmetic is
    // most precise.
    let signed = with_sign(candidate.placement.target, true);
    let target = facts.options.data_type.unwrap_or(signed);
    let step = 1.0 / scale.to_f64();
    let (lowest, highest) = integer_range(target)?;
    let middle = (lowest + highest) as f64 / 2.0;
    let unit = unit_of_highest_byte(target);
    let first = middle - facts.working.extent() / step / 2.0;
    let steps = match position.phase {
        Phase::Inwards => {
            position.steps.floor() + 1.0 - (facts.working.extent() / step).fract() / 2.0
        }
        Phase::AsGiven | Phase::Multiple | Phase::Zero => position.steps,
    };
    let first = steps + ((first - steps) / unit).round() * unit;
    let offset = facts.working.least.to_f64() - first * step;
    let offset = match (position.phase, candidate.placement.scale.grid) {
        (Phase::AsGiven | Phase::Inwards, _) => offset,
        // As the arithmetic divides the code of 0.
        (Phase::Zero, _) => (offset / step).round() / scale.to_f64(),
        (Phase::Multiple, Some(grid)) => grid.nearest(offset),
        (Phase::Multiple, None) => (offset / step).round() * step,
    };
    // Half of 1 more would be half a step and a half away from an integer.
    let offset = if facts.survey.element_type.is_integer() { offset.round() } else { offset };
    let offset = match facts.working.number(offset, Rounding::NearestEven) {
        None if offset != 0.0 => return None,
        offset => offset,
    };
    let scale = Scale { value: Some(scale), ..candidate.placement.scale };
    let placement = Placement { offset, scale, target, ..candidate.placement };
    bind(facts, placement).ok().filter(|other| is_as_simple(other, candidate))
}

/// Candidates that may keep the range of the data where no position does. Scales finer by at most one step in `many`, with codes for
/// one end and for 0. Offsets that round both ends inwards, with the candidate's scale and with a scale finer by the rounding of the
/// values. An offset that makes up for that rounding.
fn that_stay(facts: &Facts<'_>, candidate: &Candidate, steps: f64, many: f64) -> Vec<Candidate> {
    let zero = Position { steps, phase: Phase::Zero };
    let to_ends = scales_to_ends(facts, candidate, many).into_iter();
    let to_ends = to_ends.filter_map(|scale| moved(facts, candidate, scale, zero));
    let own = candidate.placement;
    let finer = scale_for_rounding(facts, candidate);
    let finer =
        finer.map(|finer| Placement { scale: Scale { value: Some(finer), ..own.scale }, ..own });
    let inwards = [Some(own), finer].into_iter().flatten();
    let placements = inwards.filter_map(|placement| moved_inwards(facts, placement));
    let placements = placements.chain(moved_by_rounding(facts, candidate));
    let bound = placements.filter_map(|placement| bind(facts, placement).ok());
    to_ends.chain(bound.filter(|other| is_as_simple(other, candidate))).collect()
}

/// A candidate with other offsets, and itself: first the position in the type that compresses the excerpts best, or that
/// leaves room on both sides of the data for the same bytes, then its own position. For a small array, the
/// excerpts cover all of it, and coarser scales are tried too.
pub(super) fn best_offsets_first(
    facts: &Facts<'_>,
    candidate: Candidate,
) -> Result<Vec<Candidate>> {
    if facts.options.auto || !facts.is_free(&candidate.placement) {
        return Ok(vec![candidate]);
    }
    if facts.options.compressor == Compressor::None || facts.excerpts.is_empty() {
        return prefer_headroom(facts, candidate);
    }
    let Ok((size, error)) = tried(facts, &candidate, &facts.excerpts) else {
        return Ok(vec![candidate]);
    };
    let own = Trial { size, error, strays: strays(facts, &candidate), candidate };
    let trials = Trials::new(facts, own);
    let others = trials.others();
    let (size, mut first) = trials.first_of(&others, Strays::without_valid);
    if others.iter().chain([&trials.own]).any(|trial| trial.strays.has_invalid()) {
        let (size_of_valid, valid) = trials.first_of(&others, |strays| strays);
        if size_of_valid <= most_for_staying(size) {
            first = valid;
        }
    }
    let own = trials.own.candidate;
    Ok(first.into_iter().chain([own]).collect())
}

/// A candidate with its own offset, and how others are measured.
struct Trials<'f> {
    facts: &'f Facts<'f>,
    own: Trial,
    is_precise: bool,
    has_background: bool,
    /// Whether the excerpts are the whole array.
    is_small: bool,
    /// For a large array, a few excerpts decide which position is the best.
    few: &'f [Vec<u8>],
}

impl<'f> Trials<'f> {
    fn new(facts: &'f Facts<'_>, own: Trial) -> Self {
        let all = facts.excerpts.as_slice();
        let bytes = all.iter().map(Vec::len).sum::<usize>() as u64;
        let is_small = bytes >= facts.survey.elements * facts.survey.element_type.size() as u64;
        let few = if is_small { all.len() } else { all.len().div_ceil(EXCERPT_DIVISOR) };
        Self {
            is_precise: is_precise(facts, &own.candidate, own.error),
            has_background: has_background(facts, &own.candidate),
            is_small,
            few: all.get(..few).unwrap_or(all),
            facts,
            own,
        }
    }

    /// None if the codecs lose an element of the sample or the excerpts, or are less precise.
    fn measured(&self, other: Candidate, excerpts: &[Vec<u8>]) -> Option<Trial> {
        let facts = self.facts;
        try_sample(facts, &other).ok()?;
        let (size, error) = tried(facts, &other, excerpts).ok()?;
        let allowed = self.own.error.max(facts.working.rounding(4.0, 0.0));
        let is_as_good = (!self.is_precise || error <= allowed)
            && (!self.has_background || keeps_zero(facts, &other));
        let strays = strays(facts, &other);
        is_as_good.then_some(Trial { size, error, strays, candidate: other })
    }

    /// The candidate at a position, with the coarsest scale that keeps the bound there.
    fn at(&self, position: Position) -> Option<(Position, Trial)> {
        let (facts, own) = (self.facts, &self.own.candidate);
        scales_at(facts, own, position, self.is_small).into_iter().find_map(|scale| {
            Some((position, self.measured(moved(facts, own, scale, position)?, self.few)?))
        })
    }

    fn at_all(&self, positions: Vec<Position>) -> Vec<(Position, Trial)> {
        let found = || positions.into_par_iter().filter_map(|position| self.at(position)).collect();
        self.facts.in_threads(found)
    }

    /// The candidate at other positions, measured by a few excerpts: in the type, then at the best of these by part of a step, and
    /// if values then leave their range, the candidates of [`that_stay`].
    fn others(&self) -> Vec<Trial> {
        let best = |found: &[(Position, Trial)]| -> Option<(Position, Trial)> {
            let rank = |(_, trial): &&(Position, Trial)| self.rank(trial, Strays::without_valid);
            found.iter().min_by_key(rank).cloned()
        };
        let mut found = self.at_all(positions(self.facts, &self.own.candidate, self.is_precise));
        if let Some((position, _)) = best(&found) {
            found.extend(self.at_all(fractional_offsets(position)));
        }
        if let Some((position, trial)) = best(&found)
            && !trial.strays.lost().is_none()
        {
            let most = most_for_staying(trial.size);
            let factor = |trial: &Trial| trial.candidate.placement.scale.factor();
            let finest = factor(&trial) * (1.0 + 1.0 / MANY_STEPS);
            let others = that_stay(self.facts, &trial.candidate, position.steps, 1.0).into_iter();
            let others = others.filter_map(|other| self.measured(other, self.few));
            let others = others.filter(|trial| factor(trial) <= finest || trial.size <= most);
            found.extend(others.map(|trial| (position, trial)));
        }
        found.into_iter().map(|(_, trial)| trial).collect()
    }

    /// Values that come back bit for bit keep doing so, unless that takes many more bytes.
    fn cost(&self, trial: &Trial) -> u64 {
        let is_lost = self.is_precise && self.own.error == 0.0 && trial.error > 0.0;
        let prices = u64::from(is_lost) + u64::from(trial.strays.rounded);
        trial.size + prices * trial.size / EXACTNESS
    }

    /// The range of the data and 0 come before the bytes.
    fn rank(&self, trial: &Trial, counted: fn(Strays) -> Strays) -> (Strays, u64) {
        (counted(trial.strays.lost()), self.cost(trial))
    }

    /// The first candidate by the counted part of its strays: the size of its excerpts, and the candidate unless its offset is the
    /// original one.
    fn first_of(
        &self,
        others: &[Trial],
        counted: fn(Strays) -> Strays,
    ) -> (u64, Option<Candidate>) {
        let (facts, own) = (self.facts, &self.own);
        let all = facts.excerpts.as_slice();
        let best = others.iter().min_by_key(|trial| self.rank(trial, counted)).cloned();
        let best = best.and_then(|trial| {
            let has_all = self.few.len() == all.len();
            if has_all { Some(trial) } else { self.measured(trial.candidate, all) }
        });
        let own_strays = counted(own.strays);
        let best = best.filter(|trial| counted(trial.strays.lost()) <= own_strays.lost());
        // No more bytes, except for noise of the compressor, and no less precision.
        let is_as_good = |trial: &Trial| {
            counted(trial.strays) <= own_strays
                && trial.size <= own.size + own.size / COMPRESSOR_NOISE
                && (!self.is_precise || trial.error <= own.error)
        };
        // A proven candidate needs no comparison element by element.
        let is_sure = |candidate: &Candidate| {
            is_proven(facts, candidate) || is_proven_for_seen(facts, candidate)
        };
        let is_surer = |trial: &Trial| is_sure(&trial.candidate) && !is_sure(&own.candidate);
        let is_better = |trial: &Trial| {
            self.rank(trial, counted) < self.rank(own, counted)
                || (is_as_good(trial) && is_surer(trial))
        };
        let first = match best {
            Some(best) if is_better(&best) => Some(best),
            _ if own.candidate.is_roomy() => None,
            best => {
                let twin = with_other_sign(facts, &own.candidate);
                let twin = twin.and_then(|twin| self.measured(twin, all));
                twin.into_iter().chain(best).find(is_as_good)
            }
        };
        match first {
            Some(Trial { size, candidate, .. }) => (size, Some(candidate)),
            None => (own.size, None),
        }
    }
}

/// As [`best_offsets_first`], if all positions take the same bytes, or the bytes are not known: a position as
/// precise with room on both sides of the data, then its own.
fn prefer_headroom(facts: &Facts<'_>, candidate: Candidate) -> Result<Vec<Candidate>> {
    let own_strays = strays(facts, &candidate);
    if candidate.is_roomy() && own_strays.is_none() {
        return Ok(vec![candidate]);
    }
    let exact = Tolerance { absolute: 0.0, relative: 0.0, ..facts.tolerance() };
    let error = |candidate: &Candidate| -> Result<f64> {
        Ok(excess(facts, candidate, exact)?.unwrap_or_default())
    };
    let own_error = error(&candidate)?;
    let is_precise = is_precise(facts, &candidate, own_error);
    let position = positions(facts, &candidate, true).into_iter().next();
    let positions = position
        .into_iter()
        .flat_map(|position| [position].into_iter().chain(fractional_offsets(position)));
    // Values that readers take for missing are worse than more steps.
    let many = if own_strays.has_invalid() { 1.0 } else { MANY_STEPS };
    let own_scale = candidate.placement.scale.value;
    let moved = positions
        .filter_map(|position| moved(facts, &candidate, own_scale?, position))
        .chain(that_stay(facts, &candidate, 0.0, many));
    let has_background = has_background(facts, &candidate);
    let is_as_good = |other: &Candidate| {
        try_sample(facts, other).is_ok()
            && (!is_precise || error(other).is_ok_and(|error| error <= own_error))
            && (!has_background || keeps_zero(facts, other))
    };
    let others = with_other_sign(facts, &candidate).into_iter().chain(moved);
    let ranked = others.filter(is_as_good).map(|other| (strays(facts, &other), other));
    // Of equal candidates, the first.
    let best = ranked.min_by_key(|(strays, _)| *strays);
    let is_better = |(found, _): &(Strays, Candidate)| {
        if candidate.is_roomy() { *found < own_strays } else { *found <= own_strays }
    };
    let first = best.filter(is_better).map(|(_, first)| first);
    Ok(first.into_iter().chain([candidate]).collect())
}

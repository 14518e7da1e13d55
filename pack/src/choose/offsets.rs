//! Moves the values inside a type so that they compress best and have room on both sides.

use rayon::prelude::*;
use recast_kernels::{ElementType, Rounding, Scalar};

use super::bind::bind;
use super::candidate::Candidate;
use super::ends::{Strays, scales_to_ends, strays};
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

/// The result for the excerpts with other codecs.
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
    (other.room() > candidate.room() && !other.has_remapped()).then_some(other)
}

/// A candidate with this scale and its values at another position; none if a special value would need a first cast.
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
    bind(facts, placement).ok().filter(|other| !other.has_remapped())
}

/// A candidate with finer scales, of which both ends of the data and 0 have codes.
fn to_ends(facts: &Facts<'_>, candidate: &Candidate, steps: f64) -> Vec<Candidate> {
    let zero = Position { steps, phase: Phase::Zero };
    let scales = scales_to_ends(facts, candidate).into_iter();
    scales.filter_map(|scale| moved(facts, candidate, scale, zero)).collect()
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
    let all = facts.excerpts.as_slice();
    let Ok((own_size, own_error)) = tried(facts, &candidate, all) else {
        return Ok(vec![candidate]);
    };
    let is_precise = is_precise(facts, &candidate, own_error);
    let allowed = own_error.max(facts.working.rounding(4.0, 0.0));
    let has_background = has_background(facts, &candidate);
    let measured = |other: Candidate, excerpts: &[Vec<u8>]| -> Option<Trial> {
        try_sample(facts, &other).ok()?;
        let (size, error) = tried(facts, &other, excerpts).ok()?;
        let is_as_good =
            (!is_precise || error <= allowed) && (!has_background || keeps_zero(facts, &other));
        let strays = strays(facts, &other);
        is_as_good.then_some(Trial { size, error, strays, candidate: other })
    };
    let excerpts = all.iter().map(Vec::len).sum::<usize>() as u64;
    let is_small = excerpts >= facts.survey.elements * facts.survey.element_type.size() as u64;
    // For a large array, a few excerpts decide which position is the best.
    let few = if is_small { all.len() } else { all.len().div_ceil(EXCERPT_DIVISOR) };
    let few = all.get(..few).unwrap_or(all);
    let at = |position| {
        scales_at(facts, &candidate, position, is_small).into_iter().find_map(|scale| {
            Some((position, measured(moved(facts, &candidate, scale, position)?, few)?))
        })
    };
    // Values that come back bit for bit keep doing so, unless that takes many more bytes.
    let is_lost = |trial: &Trial| is_precise && own_error == 0.0 && trial.error > 0.0;
    let cost = |trial: &Trial| {
        let prices = u64::from(is_lost(trial)) + u64::from(trial.strays.rounded);
        trial.size + prices * trial.size / EXACTNESS
    };
    // The range of the data and 0 come before the bytes.
    let rank = |trial: &Trial| (trial.strays.lost, cost(trial));
    let smallest = |best: Option<(Position, Trial)>, positions: Vec<Position>| {
        let found = || positions.into_par_iter().filter_map(at).collect::<Vec<_>>();
        best.into_iter().chain(facts.in_threads(found)).min_by_key(|(_, trial)| rank(trial))
    };
    let mut best = smallest(None, positions(facts, &candidate, is_precise));
    if let Some((position, _)) = best {
        best = smallest(best, fractional_offsets(position));
        if best.as_ref().is_some_and(|(_, trial)| !trial.strays.lost.is_none()) {
            let found = to_ends(facts, &candidate, position.steps).into_iter();
            let found = found.filter_map(|other| Some((position, measured(other, few)?)));
            best = best.into_iter().chain(found).min_by_key(|(_, trial)| rank(trial));
        }
    }
    let best = best.and_then(|(_, trial)| {
        if few.len() == all.len() { Some(trial) } else { measured(trial.candidate, all) }
    });
    let strays = strays(facts, &candidate);
    let best = best.filter(|trial| trial.strays.lost <= strays.lost);
    // No more bytes, except for noise of the compressor, and no less precision.
    let is_as_good = |trial: &Trial| {
        trial.strays <= strays
            && trial.size <= own_size + own_size / COMPRESSOR_NOISE
            && (!is_precise || trial.error <= own_error)
    };
    // A proven candidate needs no comparison element by element.
    let is_sure =
        |candidate: &Candidate| is_proven(facts, candidate) || is_proven_for_seen(facts, candidate);
    let is_surer = |trial: &Trial| is_sure(&trial.candidate) && !is_sure(&candidate);
    let own_cost = own_size + u64::from(strays.rounded) * own_size / EXACTNESS;
    let is_better = |trial: &Trial| {
        rank(trial) < (strays.lost, own_cost) || (is_as_good(trial) && is_surer(trial))
    };
    let first = match best {
        Some(best) if is_better(&best) => Some(best.candidate),
        _ if candidate.is_roomy() => None,
        best => {
            let twin = with_other_sign(facts, &candidate).and_then(|twin| measured(twin, all));
            let found = twin.into_iter().chain(best).find(is_as_good);
            found.map(|trial| trial.candidate)
        }
    };
    Ok(first.into_iter().chain([candidate]).collect())
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
    let own_scale = candidate.placement.scale.value;
    let moved = positions
        .filter_map(|position| moved(facts, &candidate, own_scale?, position))
        .chain(to_ends(facts, &candidate, 0.0));
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

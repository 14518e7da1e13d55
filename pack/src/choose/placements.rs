//! For each scale the smallest type that holds the values, and an offset.

use std::iter;

use anyhow::{Context, bail};
use recast_kernels::{ElementType, Rounding, Scalar};

use super::bind::bind;
use super::candidate::Candidate;
use super::facts::Facts;
use super::placement::{Placement, Promise, Scale};
use super::scales::{reservations, scales};
use crate::error::Result;
use crate::options::NanTo;
use crate::round::rounder::Rounder;
use crate::scan::lattice::Lattice;
use crate::scan::number::{integer, integer_range, scalar};
use crate::scan::survey::Survey;

/// A scale is made finer by at most this many units in the last place; about every second such scale works.
const FINER_SCALES: u64 = 32;

/// The integer types, smallest first and unsigned before signed.
const INTEGER_TYPES: [[ElementType; 2]; 4] = [
    [ElementType::UInt8, ElementType::Int8],
    [ElementType::UInt16, ElementType::Int16],
    [ElementType::UInt32, ElementType::Int32],
    [ElementType::UInt64, ElementType::Int64],
];

/// The candidates, coarsest first, before any is tried; an item is an error if a scale gives none.
pub(super) fn untried<'f>(
    facts: &'f Facts<'_>,
) -> Box<dyn Iterator<Item = Result<Candidate>> + 'f> {
    if facts.options.is_plain() {
        return Box::new(plain(facts));
    }
    let promises = Promise::to_try(facts.options, facts.survey).iter();
    let coded = promises.flat_map(|&promise| with_promise(facts, promise));
    // Where no codes keep every bit, plain numbers do.
    let may_be_plain = facts.options.lossless && facts.options.data_type.is_none();
    Box::new(coded.chain(may_be_plain.then(|| plain(facts)).into_iter().flatten()))
}

/// The candidates that are plain numbers.
fn plain<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = Result<Candidate>> + 'f {
    let Survey { element_type, markers, fill_values, fill_value, valid, .. } = facts.survey;
    let ways = Rounder::candidates(*element_type, facts.options, markers, fill_values, valid);
    ways.map(|way| Candidate::plain(way, *element_type, *fill_value))
}

/// The candidates that keep a promise; an error if there are no scales.
fn with_promise<'f>(
    facts: &'f Facts<'_>,
    promise: Promise,
) -> Box<dyn Iterator<Item = Result<Candidate>> + 'f> {
    // None of the values to come may decode to a marker.
    let avoids_markers = promise != Promise::Surveyed && !facts.options.is_explicit();
    let with = move |scale| Scale { promise, avoids_markers, ..scale };
    match scales(facts, promise) {
        Ok(scales) => {
            Box::new(scales.into_iter().flat_map(move |scale| with_scale(facts, with(scale))))
        }
        Err(error) => Box::new(iter::once(Err(error))),
    }
}

/// The candidates with a scale: the first, and a second that avoids the markers if the first may decode to a marker.
fn with_scale(facts: &Facts<'_>, scale: Scale) -> Vec<Result<Candidate>> {
    let first = finer_or_own(facts, scale);
    let is_risky = first.as_ref().is_ok_and(|first| first.may_decode_to_marker);
    let again = Scale { avoids_markers: true, ..scale };
    let second = (is_risky && !facts.options.is_explicit()).then(|| finer_or_own(facts, again));
    [first].into_iter().chain(second).collect()
}

/// As [`fitted`]. If the error bound allows it, the scale is made finer by a few units in its last
/// place when the fill value then needs no first cast.
fn finer_or_own(facts: &Facts<'_>, own: Scale) -> Result<Candidate> {
    let candidate = fitted(facts, own)?;
    let may_be_finer =
        facts.is_free(&candidate.placement) && !facts.takes_multiples(&candidate.placement);
    let Some(value) = own.value.filter(|_| may_be_finer && candidate.has_remapped()) else {
        return Ok(candidate);
    };
    let target = candidate.placement.target;
    let mut finer = (1..=FINER_SCALES).filter_map(|units| {
        // A computed scale is positive, so the next bits are the next greater number.
        let finer = Scalar::from_bits(value.element_type(), value.bits() + units);
        fitted(facts, Scale { value: Some(finer), ..own }).ok()
    });
    let spared = |other: &Candidate| !other.has_remapped() && other.placement.target == target;
    Ok(finer.find(spared).unwrap_or(candidate))
}

/// Finds the smallest type, and an offset, for a scale.
fn fitted(facts: &Facts<'_>, scale: Scale) -> Result<Candidate> {
    let targets = match scale.target.or(facts.options.data_type) {
        Some(target) => vec![[target; 2]],
        None => narrower_integers(facts, &scale),
    };
    let mut refusal = None;
    for pair in targets {
        let mut pair = pair.to_vec();
        pair.dedup();
        // The simplest offset of each; doing without an offset is worth more than the sign.
        let (mut simplest, mut others) = (Vec::new(), Vec::new());
        for target in pair {
            let offsets = match scale.offset {
                Some(offset) => vec![Some(offset)],
                None => offsets(facts, &scale, target)?,
            };
            let placement = |offset| Placement { offset, scale, target, is_compact: false };
            let mut placements = offsets.into_iter().map(placement);
            simplest.extend(placements.next());
            others.extend(placements);
        }
        // An offset to the middle of a signed type leaves room on both sides, and keeps intermediate
        // results small.
        others.sort_by_key(|placement| !placement.target.is_signed());
        // The widest type's first refusal is the easiest to understand.
        let mut refused = None;
        let mut bind = |placement: Placement| match bind(facts, placement) {
            Ok(candidate) => Some(candidate),
            Err(error) => {
                refused.get_or_insert(error);
                None
            }
        };
        // Both signs may work; take the sign that leaves more room.
        let roomier = |found: Candidate, other: Candidate| {
            let is_enough = facts.options.is_explicit() || found.is_roomy();
            if is_enough || other.room() <= found.room() { found } else { other }
        };
        let found = simplest.into_iter().filter_map(&mut bind).reduce(roomier);
        if let Some(candidate) = found.or_else(|| others.into_iter().find_map(bind)) {
            return Ok(candidate);
        }
        refusal = refused.or(refusal);
    }
    if let Some(target) = facts.options.data_type {
        refuse_too_many(facts, &scale, target)?;
    }
    Err(refusal.unwrap_or_else(|| anyhow::anyhow!("no offset fits")))
}

/// The types to try, smallest first. For integers that are kept exactly: narrower types, and then their own.
fn narrower_integers(facts: &Facts<'_>, scale: &Scale) -> Vec<[ElementType; 2]> {
    let source = facts.survey.element_type;
    if !facts.is_one_to_one(scale) || facts.options.is_explicit() {
        return INTEGER_TYPES.to_vec();
    }
    let narrower = INTEGER_TYPES.into_iter().filter(|[one, _]| one.size() < source.size());
    narrower.chain([[source; 2]]).collect()
}

/// Refuses a scale that gives the data more steps than a type has.
fn refuse_too_many(facts: &Facts<'_>, scale: &Scale, target: ElementType) -> Result<()> {
    if facts.options.is_explicit() || !target.is_integer() {
        return Ok(());
    }
    let steps = facts.working.extent() * scale.factor().abs();
    let values = 2_f64.powi(target.bits() as i32);
    if steps >= values {
        bail!("it takes {steps:.0} steps, and {target} has {values} values");
    }
    Ok(())
}

/// The offsets to try with a scale and a stored type, the simplest first.
pub(super) fn offsets(
    facts: &Facts<'_>,
    scale: &Scale,
    target: ElementType,
) -> Result<Vec<Option<Scalar>>> {
    let Facts { options, survey, working, .. } = facts;
    if options.is_explicit() {
        let offset = options.offset.as_ref();
        let offset = offset.map(|offset| offset.to_scalar(working.element_type)).transpose();
        return Ok(vec![offset.context("--offset")?]);
    }
    let is_one_value = working.extent() == 0.0 && options.precision.is_none();
    if (options.auto || is_one_value)
        && scale.value.is_none()
        && !working.is_integer()
        && target.is_integer()
    {
        return Ok(vec![Some(working.least).filter(|least| !least.is_zero())]);
    }
    let mut offsets = vec![None];
    let Some((lowest, highest)) = integer_range(target) else { return Ok(offsets) };
    let reserved = survey.reserved_codes();
    let is_value = |fill: &&Scalar| facts.is_within(**fill) && !survey.markers.contains(**fill);
    // With steps that are a fraction of a grid's, or a grid that does not begin at 0, the offset is on the grid.
    let coarse = |grid: &Lattice| grid.origin != 0.0 || grid.step * scale.factor() > 1.5;
    let grid = scale.grid.filter(coarse);
    if grid.is_some_and(|grid| grid.origin != 0.0) {
        offsets.clear();
    }
    for fill in survey.fill_values.iter().filter(is_value).filter(|_| grid.is_none()) {
        offsets.extend(working.of(*fill).map(Some));
    }
    let taken = match &options.nan_to {
        NanTo::Value(value) => value.to_scalar(target).ok().and_then(integer),
        _ => None,
    };
    // The stored values to try for the smallest element: with as much room below as above, at the low end, and above the
    // value for NaN.
    let starts = |count: i128| {
        let middle = if target.is_signed() {
            -(count / 2)
        } else if working.is_integer() {
            (highest - count) / 2
        } else {
            // Far from 0, floating-point arithmetic has larger rounding errors.
            lowest
        };
        let low = reservations(reserved).map(|codes| lowest + codes as i128);
        let above = taken.map(|taken| taken + 1);
        [middle.clamp(lowest, highest)].into_iter().chain(low).chain(above).collect::<Vec<i128>>()
    };
    if let (None, Some((least, greatest))) =
        (scale.value, integer(working.least).zip(integer(working.greatest)))
    {
        let starts = starts(greatest - least + 1);
        let offset = |start| scalar(least - start, working.element_type).map(Some);
        offsets.extend(starts.into_iter().filter_map(offset));
    } else {
        let least = working.least.to_f64();
        let factor = scale.factor();
        // If decoded values must be multiples of a step, so must the offset; and so where 0 must stay between two signs.
        let keeps = facts.tolerance().keeps;
        let has_signs = working.least.to_f64() < 0.0 && working.greatest.to_f64() > 0.0;
        let is_multiple = options.pow2
            || options.precision.is_some()
            || ((keeps.sign || keeps.zero) && has_signs);
        let offset = |number: f64| {
            let number = match grid {
                Some(grid) => grid.below(number),
                None if is_multiple => (number * factor).floor() / factor,
                // From there on in whole steps, decoded values are whole, too.
                None if survey.element_type.is_integer() => number.round(),
                None => number,
            };
            working.number(number, Rounding::NearestEven)
        };
        offsets.push(offset(least.floor()));
        // Limited so that more can be added; no type has this many.
        let steps = (working.extent() * factor).ceil().min(1e30);
        let starts = starts(steps as i128 + 1);
        offsets.extend(starts.iter().map(|&start| offset(least - start as f64 / factor)));
        if scale.avoids_markers && !is_multiple && grid.is_none() {
            let half = |&start: &i128| offset(least - (start as f64 + 0.5) / factor);
            offsets.extend(starts.iter().map(half));
        }
    }
    offsets.dedup();
    Ok(offsets)
}

//! What the arithmetic, and the survey's grids, prove of the errors of a candidate.

use std::iter::successors;

use anyhow::{anyhow, bail};
use recast_kernels::{ElementType, Format, OutOfRange, Rounding, Scalar};

use super::candidate::Candidate;
use super::facts::Facts;
use super::placement::{Placement, Promise, Scale};
use crate::check::comparison::Tolerance;
use crate::error::Result;
use crate::options::is_power_of_two;
use crate::scan::missing::advice_on;
use crate::scan::number::{rounded, unit_roundoff};
use crate::scan::survey::{Survey, Suspects, union};
use crate::text::measured;

/// Refuses a bound that leaves one value of an array with several values, unless the options allow that.
///
/// # Errors
/// Names the values, and the ways out.
pub(crate) fn refuse_constant(
    facts: &Facts<'_>,
    candidate: &Candidate,
    survey: &Survey,
) -> Result<()> {
    let Tolerance { absolute, relative, name, .. } = facts.tolerance();
    let bound = absolute.max(relative);
    // Without a bound, nothing is promised.
    if facts.options.allow_constant || bound.is_infinite() {
        return Ok(());
    }
    // A missing value that nothing names must not hide that all others become one.
    let Suspects { values: suspects, others } = survey.suspects()?;
    let in_type = |number: f64| rounded(number, survey.element_type);
    let others = others.and_then(|(least, greatest)| in_type(least).zip(in_type(greatest)));
    let mut ranges = survey.ranges_to_tell_apart().chain(others);
    let Some((least, greatest)) = ranges.find(|&range| candidate.leaves_one_of(range)) else {
        return Ok(());
    };
    let other =
        if facts.options.error_over_range.is_none() { "such as --error-over-range, " } else { "" };
    let error = anyhow!(
        "the bound {bound:?} of {name} leaves one value: all from {least} to {greatest} become equal; use a \
         finer bound, {other}in a group for this array alone (-e NAME=BOUND, --config) or --exclude; --allow-constant accepts it"
    );
    Err(match advice_on(&suspects) {
        Some(advice) => error.context(advice),
        None => error,
    })
}

/// Refuses codecs that do not keep the bound for all values that the promise covers.
pub(super) fn check_promise(facts: &Facts<'_>, placement: &Placement) -> Result<()> {
    if placement.scale.promise == Promise::Surveyed {
        return Ok(());
    }
    match (excess_anywhere(facts, placement), facts.survey.promised) {
        (None, _) => Ok(()),
        (Some(error), Some((first, last))) => {
            bail!("--range: some values from {first} to {last} would be off by {error}")
        }
        (Some(error), None) => {
            let (first, last) = (facts.working.least, facts.working.greatest);
            bail!("some values to come from {first} to {last} would be off by {error}")
        }
    }
}

/// Whether every value of the range keeps the bound, and none decodes to a missing marker.
pub(super) fn is_proven(facts: &Facts<'_>, candidate: &Candidate) -> bool {
    if candidate.rounder.is_some() {
        return facts.options.max_rel_error.is_none();
    }
    let placement = candidate.placement;
    let scale = Scale { promise: Promise::Range, ..placement.scale };
    let placement = Placement { scale, ..placement };
    candidate.relative_from.is_none()
        && !candidate.may_decode_to_marker
        && excess_anywhere(facts, &placement).is_none()
}

/// Whether every surveyed value keeps the bound, and none decodes to a missing marker.
pub(super) fn is_proven_for_seen(facts: &Facts<'_>, candidate: &Candidate) -> bool {
    let is_kept =
        |(_, most): (f64, f64)| facts.options.max_abs_error.is_some_and(|bound| most <= bound);
    !candidate.may_decode_to_marker && error_of_guess(facts, candidate).is_some_and(is_kept)
}

/// The error of a surveyed value, if this error certainly exceeds the bound.
pub(super) fn certain_excess(facts: &Facts<'_>, candidate: &Candidate) -> Option<f64> {
    let (error, _) = error_of_guess(facts, candidate)?;
    facts.options.max_abs_error.filter(|&bound| error > bound).map(|_| error)
}

/// The largest possible error of a promised value, if it exceeds the bound: half a step and the rounding of the
/// arithmetic.
pub(super) fn excess_anywhere(facts: &Facts<'_>, placement: &Placement) -> Option<String> {
    let Placement { offset, scale, target, .. } = *placement;
    let (factor, promise) = (scale.factor().abs(), scale.promise);
    let unit = facts.working.unit();
    let (mut distance, mut magnitude) = (distance_from(facts, offset), facts.working.magnitude());
    if promise == Promise::Storable && target.is_integer() {
        let most = |element_type| Scalar::max(element_type).to_f64();
        let lowest = Scalar::min(target).to_f64().abs();
        let storable = (lowest.max(most(target)) / factor).min(most(facts.working.element_type));
        let from = offset.map_or(0.0, |offset| offset.to_f64().abs());
        distance = distance.max(storable);
        magnitude = magnitude.max(storable + from);
    }
    let arithmetic = arithmetic(facts, placement, distance, magnitude);
    let share = facts.options.errors_in_a_step();
    let relative = 2.0 * unit_roundoff(target) / share;
    if let Some(bound) = facts.options.max_rel_error {
        let error = relative + 2.0 * unit;
        // From half of 1 on, the nearest integer may be twice as far away.
        let is_rounded = facts.survey.element_type.is_integer() && error * magnitude >= 0.5;
        let error = if is_rounded { 2.0 * error } else { error };
        let is_kept = error <= bound && offset.is_none();
        let is_too_small =
            least_magnitude(facts) > 0.0 && relative_from(facts, placement).is_some();
        let what = || format!("{} of themselves", measured(error));
        return (!is_kept)
            .then(what)
            .or_else(|| is_too_small.then(|| "more than the bound".to_owned()));
    }
    let bound = facts.options.max_abs_error?;
    if promise != Promise::Storable && facts.working.extent() == 0.0 {
        let back = placement.scaled(facts.working.least).ok().and_then(|scaled| {
            placement.unscaled(facts.working.of(placement.code(scaled, facts.options.rounding)?)?)
        });
        if back.is_some_and(|back| back.equals(facts.working.least)) {
            return None;
        }
    }
    let is_integer = facts.survey.element_type.is_integer();
    if is_integer && target.is_integer() {
        // From a whole number on in steps of whole numbers, it suffices that the arithmetic does not round to the next one.
        // Directed rounding takes a value just beside a code a whole step away, unless the arithmetic is exact: powers of
        // two of whole numbers.
        let step = 1.0 / factor;
        let is_exact = share == 2.0 || is_power_of_two(factor);
        let is_whole = offset.is_none_or(|offset| offset.to_f64().fract() == 0.0);
        if is_whole && arithmetic < 0.25 && (is_exact || step <= bound.floor()) {
            return None;
        }
        return Some(measured(arithmetic.max(step)));
    }
    let of_code = match target.format() {
        Format::Float(_) => relative * distance,
        _ => 1.0 / (share * factor),
    };
    let error = rounded_error(facts, of_code + arithmetic);
    (error > bound).then(|| measured(error))
}

/// The largest error of decoded values after they are rounded to their own type, from the largest error before.
pub(super) fn rounded_error(facts: &Facts<'_>, error: f64) -> f64 {
    if facts.survey.element_type.is_integer() {
        return (error + 0.5).floor();
    }
    let unit = facts.working.unit_of_decoded();
    if unit == 0.0 || error == 0.0 {
        return error;
    }
    let greatest = facts.working.magnitude() + error;
    if greatest > Scalar::max(facts.survey.element_type).to_f64() {
        return f64::INFINITY;
    }
    // The value and the decoded value are multiples of one of these spacings. Next to a power of two, the spacing of the
    // decoded value may be twice the spacing of the value.
    let widest = 2.0 * unit * 2_f64.powi(greatest.log2().floor() as i32);
    let spacings = successors(Some(widest), |spacing| Some(spacing / 2.0));
    let relevant = spacings.take_while(|spacing| *spacing > error * 1e-6);
    let rounded = relevant.map(|spacing| {
        let within = spacing * (error / spacing + 0.5).floor();
        let is_across = spacing < widest && error >= spacing;
        let across = spacing * (1.0 + 2.0 * (error / (2.0 * spacing)).floor());
        if is_across { within.max(across) } else { within }
    });
    // Near 0, the spacing of the decoded value may be any number of times the spacing of the value.
    rounded.fold(error * (1.0 + 2.0 * unit), f64::max)
}

/// The least magnitude in the range; 0 if that has 0 or values of both signs.
fn least_magnitude(facts: &Facts<'_>) -> f64 {
    let range = union(facts.survey.to_store(), facts.survey.range_of_values());
    let range = range.map_or((0.0, 0.0), |(least, greatest)| (least.to_f64(), greatest.to_f64()));
    let (least, greatest) = range;
    if least <= 0.0 && greatest >= 0.0 { 0.0 } else { least.abs().min(greatest.abs()) }
}

/// The magnitude from which values keep a relative bound, if there are smaller ones in the range besides 0: near 0 the numbers
/// of a floating-point type are equally far apart.
pub(super) fn relative_from(facts: &Facts<'_>, placement: &Placement) -> Option<Scalar> {
    let Placement { scale, target, .. } = *placement;
    let bound = facts.options.max_rel_error?;
    let factor = scale.factor().abs();
    // The least number other than 0, and the least number of full precision.
    let smallest = |element_type| {
        Some((nth(element_type, 1)?, nth(element_type, 1 << mantissa_bits(element_type)?)?))
    };
    let source = facts.survey.element_type;
    let (spacing, normal) = smallest(target)?;
    let arithmetic = if scale.value.is_some() { 2.0 * facts.working.unit() } else { 0.0 };
    let share = facts.options.errors_in_a_step();
    let of_target = normal.min(spacing / (share * (bound - arithmetic).max(0.0))) / factor;
    let of_working = smallest(facts.working.element_type).filter(|_| scale.value.is_some());
    let of_working = of_working.map_or(0.0, |(_, normal)| normal / factor.min(1.0));
    let from = Scalar::from(of_target.max(of_working));
    let from = from.cast(source, Rounding::TowardsPositive, OutOfRange::Clamp).ok()?;
    let least = nth(source, 1)?.max(least_magnitude(facts));
    (from.to_f64() > least).then_some(from)
}

/// How far the range reaches from an offset.
fn distance_from(facts: &Facts<'_>, offset: Option<Scalar>) -> f64 {
    let from_offset = |end: Scalar| (end.to_f64() - offset.map_or(0.0, Scalar::to_f64)).abs();
    from_offset(facts.working.least).max(from_offset(facts.working.greatest))
}

/// The largest rounding error of a value at most so far from the offset and from 0, encoded and decoded.
fn arithmetic(facts: &Facts<'_>, placement: &Placement, distance: f64, magnitude: f64) -> f64 {
    let Placement { offset, scale, .. } = *placement;
    let factor = scale.factor().abs();
    // Encoding computes a difference and a product, decoding a quotient and a sum.
    let of_offset = if offset.is_some() { distance + magnitude } else { 0.0 };
    let of_scale = if is_power_of_two(factor) { 0.0 } else { 2.0 * distance };
    facts.working.unit() * (of_offset + of_scale)
}

/// Bounds for the largest error of a surveyed value with a guessed scale, from the survey's grids: at least, and at most.
fn error_of_guess(facts: &Facts<'_>, candidate: &Candidate) -> Option<(f64, f64)> {
    let Placement { offset, scale, .. } = candidate.placement;
    let factor = scale.value.filter(|_| scale.grid.is_some())?.to_f64();
    // In the working type, the scale may differ from the round number.
    let is_it = |&round: &f64| facts.working.number(round, Rounding::NearestEven) == scale.value;
    let round = facts.working.round_scales().find(is_it)?;
    let (least, greatest) = facts.survey.grids.distance(round, facts.working.magnitude())?;
    let from_grid = |number: f64| (number - (number * round).round() / round).abs();
    let of_offset = from_grid(offset.map_or(0.0, Scalar::to_f64));
    let computed = 4.0 * f64::EPSILON + (factor - round).abs() / round;
    let distance = distance_from(facts, offset);
    let arithmetic = arithmetic(facts, &candidate.placement, distance, facts.working.magnitude());
    let rounded =
        arithmetic + (computed + facts.working.unit_of_decoded()) * facts.working.magnitude();
    // Clamped values become the ends of the range.
    let ends = facts.survey.clamp.as_ref().map(|clamp| [clamp.least, clamp.greatest]);
    let of_ends = ends.into_iter().flatten().map(|end| from_grid(end.to_f64()));
    let greatest = of_ends.fold(greatest, f64::max) + of_offset + rounded;
    // Directed rounding may move a value to the next point of the grid, a step away.
    let is_to_own_point = facts.options.errors_in_a_step() == 2.0 && greatest * factor < 0.5;
    let least = if ends.is_some() { 0.0 } else { least - of_offset - rounded };
    Some((least, if is_to_own_point { greatest } else { f64::INFINITY }))
}

/// Refuses codecs that cannot store the ends of the promised range, even if values out of range may be clamped
/// or wrapped.
pub(super) fn check_promised_ends(facts: &Facts<'_>, placement: &Placement) -> Result<()> {
    let Some((least, greatest)) = facts.survey.promised else { return Ok(()) };
    let (target, rounding) = (placement.target, facts.options.rounding);
    for end in [least, greatest] {
        let scaled = facts.working.of(end).and_then(|end| placement.scaled(end).ok());
        let code = scaled.and_then(|scaled| placement.code(scaled, rounding));
        if code.is_none() {
            bail!(
                "--range: {end} is out of range for {target}; use a wider --data-type, another \
                 --scale or --offset, or a narrower --range"
            );
        }
    }
    Ok(())
}

/// The number that a few bits stand for.
pub(super) fn nth(element_type: ElementType, bits: u64) -> Option<f64> {
    Some(Scalar::from_bits(element_type, bits).to_f64()).filter(|number| number.is_finite())
}

/// The bits of a mantissa; none for integers.
fn mantissa_bits(element_type: ElementType) -> Option<u32> {
    match element_type.format() {
        Format::Float(format) => Some(format.mantissa_bits),
        _ => None,
    }
}

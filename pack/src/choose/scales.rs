//! The scales to try, coarsest first.

use std::iter::successors;

use anyhow::Context;
use recast_kernels::{ElementType, Rounding, Scalar};

use super::facts::Facts;
use super::grids::{exceeds_bound, grids, round_scale};
use super::placement::{Promise, Scale};
use super::working::Working;
use crate::error::Result;
use crate::scan::lattice::Lattice;

/// The floating-point types for a relative error: smallest first, and of one size the most precise first. `float8_e4m3fn` is
/// not among them, for no registry has it.
const FLOATS: [ElementType; 6] = [
    ElementType::Float8E3M4,
    ElementType::Float8E4M3,
    ElementType::Float8E5M2,
    ElementType::Float16,
    ElementType::BFloat16,
    ElementType::Float32,
];

/// How many powers of two finer than the bound asks for are tried beside markers.
const FINER_POWERS: i32 = 10;

/// Scales up to twice as fine, at this many places, are tried for values at the ends of `--limits`; at most so many of them.
const FINER_LIMITS: u32 = 64;
const MOST_WITHIN_LIMITS: usize = 8;

/// Up to this many reserved codes, every number of codes is tried; beyond, with many missing markers, this many numbers.
const FEW_RESERVED: usize = 64;
const RESERVATIONS: usize = 8;

/// The numbers of codes, up to the largest, that are left free in turn: all if they are few, or else some at even distances.
pub(super) fn reservations(most: usize) -> impl Iterator<Item = usize> {
    let count = if most <= FEW_RESERVED { most } else { RESERVATIONS };
    (0..=count).map(move |index| index * most / count.max(1))
}

/// The scales to try: first the scales of grids, which work if the data are multiples of a step, then the scales that the
/// arithmetic proves.
pub(super) fn scales(facts: &Facts<'_>, promise: Promise) -> Result<Vec<Scale>> {
    let Facts { options, working, .. } = facts;
    if options.is_explicit() {
        let scale = options.scale.as_ref();
        let scale = scale.map(|scale| scale.to_scalar(working.element_type)).transpose();
        let scale = scale.context("--scale")?;
        if options.max_rel_error.is_some() && options.data_type.is_none() {
            return Ok(smaller_floats(facts, |_| vec![scale]));
        }
        return Ok(vec![Scale::of(scale)]);
    }
    if let Some(target) = options.data_type.filter(|target| target.is_float()) {
        return Ok(in_floats(facts, target));
    }
    if options.max_rel_error.is_some() {
        let filling = |target| filling(working, target, working.magnitude());
        return Ok(smaller_floats(facts, |target| vec![None, filling(target)]));
    }
    if let Some(step) = options.precision.filter(|&step| step != 1.0) {
        let scale = working.number(1.0 / step, Rounding::NearestEven);
        let scale = scale.filter(|scale| scale.to_f64().is_normal()).with_context(|| {
            let working = working.element_type;
            format!("--precision {step:?}: its inverse leaves the range of {working}")
        })?;
        return Ok(vec![Scale::of(Some(scale))]);
    }
    if working.is_integer() || options.precision.is_some() {
        return Ok(vec![Scale::of(None)]);
    }
    if let Some(target) = options.data_type.filter(|_| options.auto) {
        return Ok(spread(facts, target));
    }
    within_error(facts, options.max_abs_error.unwrap_or_default(), promise)
}

/// The scales for each floating-point type smaller than that of the elements.
fn smaller_floats(
    facts: &Facts<'_>,
    scales: impl Fn(ElementType) -> Vec<Option<Scalar>>,
) -> Vec<Scale> {
    let size = facts.survey.element_type.size();
    let targets = FLOATS.into_iter().filter(|target| target.size() < size);
    let made_for = |target| {
        let scales = scales(target).into_iter();
        scales.map(move |scale| Scale { target: Some(target), ..Scale::of(scale) })
    };
    targets.flat_map(made_for).collect()
}

/// The scales for a floating-point type: no scale, the scale that uses the whole range, and both with the values centred at 0,
/// where floating-point numbers are denser.
fn in_floats(facts: &Facts<'_>, target: ElementType) -> Vec<Scale> {
    let Facts { options, working, .. } = facts;
    let full = filling(working, target, working.magnitude());
    if options.auto {
        return vec![Scale::of(full)];
    }
    let mut scales = vec![Scale::of(None), Scale::of(full)];
    let (least, greatest) = (working.least.to_f64(), working.greatest.to_f64());
    let middle = working.number(least / 2.0 + greatest / 2.0, Rounding::NearestEven);
    if options.max_abs_error.is_some() && !working.is_integer() && middle.is_some() {
        let around = filling(working, target, greatest / 2.0 - least / 2.0);
        scales.extend([None, around].map(|scale| Scale { offset: middle, ..Scale::of(scale) }));
    }
    scales
}

/// The power of two that scales a magnitude to the largest number of a floating-point type; none if the power is 1. Scaling by
/// a power of two is exact.
fn filling(working: &Working, target: ElementType, magnitude: f64) -> Option<Scalar> {
    let exponent = (Scalar::max(target).to_f64() / magnitude).log2().floor();
    if working.is_integer() || exponent == 0.0 || !exponent.is_finite() {
        return None;
    }
    working.number(2_f64.powi(exponent as i32), Rounding::NearestEven)
}

/// The scales that spread the values over a whole integer type, without the stored values for NaN and the fill
/// value, and without a margin for the arithmetic.
pub(super) fn spread(facts: &Facts<'_>, target: ElementType) -> Vec<Scale> {
    let extent = facts.working.extent();
    let steps = 2_f64.powi(target.bits() as i32) - 1.0;
    let unit = facts.working.unit() * (1.0 + facts.working.magnitude() / extent);
    let most = facts.survey.reserved_codes() + 1;
    let scales = reservations(most).map(|reserved| reserved as f64).flat_map(|reserved| {
        [0.0, 4.0 * unit, 64.0 * unit].map(|less| {
            let scale = (steps - reserved) / extent * (1.0 - less);
            if facts.options.pow2 { 2_f64.powi(scale.log2().floor() as i32) } else { scale }
        })
    });
    let mut scales: Vec<Option<Scalar>> = scales
        .filter_map(|scale| facts.working.number(scale, Rounding::TowardsNegative))
        .map(Some)
        .collect();
    scales.dedup();
    if scales.is_empty() {
        // All values are equal, or so far apart that there is no such scale.
        scales.push(None);
    }
    scales.into_iter().map(Scale::of).collect()
}

/// The scales that keep an absolute error.
fn within_error(facts: &Facts<'_>, bound: f64, promise: Promise) -> Result<Vec<Scale>> {
    if facts.survey.element_type.is_integer() {
        // Steps of a whole number decode to whole numbers. Beyond 2^53 these are rounded to float64 first, and directed
        // rounding may move a value, which the arithmetic has moved, a whole step away.
        let step_within = |bound: f64| facts.options.errors_in_a_step() * bound.floor() + 1.0;
        let coarsest = step_within(bound);
        let is_directed = facts.options.errors_in_a_step() == 1.0;
        let lost = facts.working.rounding(1.0, 1.0) + f64::from(u8::from(is_directed));
        let without_lost = (lost >= 1.0).then(|| step_within((bound - lost).max(0.0)));
        let finer = |step: &f64| (*step > 1.0 && has_markers(facts)).then(|| (step / 2.0).floor());
        let steps = [coarsest].into_iter().chain(without_lost);
        let steps = steps.chain(successors(finer(&coarsest), finer));
        let scales = steps.map(|step| power(facts, 1.0 / step));
        let scales = scales.map(|scale| facts.working.number(scale, Rounding::TowardsPositive));
        return Ok(scales.map(Scale::of).collect());
    }
    let mut computed = safe_scales(facts, bound, promise);
    let finest = computed.first().map_or(f64::INFINITY, |scale| scale.to_f64());
    if let Some(power) = power_of_two_within(facts, bound) {
        computed.push(power);
        sort(&mut computed);
    }
    if facts.options.pow2
        && has_markers(facts)
        && let Some(finest) = computed.last().copied()
    {
        let finer = (1..=FINER_POWERS).map(|power| finest.to_f64() * 2_f64.powi(power));
        let finer = finer.filter_map(|scale| facts.working.number(scale, Rounding::NearestEven));
        computed.extend(finer);
    }
    if !facts.options.pow2 {
        computed.extend(scales_within_limits(facts, finest));
        sort(&mut computed);
    }
    let mut grids = grids(facts.options, facts.survey, &facts.working, bound)?;
    grids.retain(|grid| 1.0 / grid.step < finest);
    let of_grid = |scale: f64, grid: Lattice| {
        let scale = facts.working.number(scale, Rounding::NearestEven)?;
        Some(Scale::of_grid(scale, grid))
    };
    if computed.is_empty() && facts.working.extent() == 0.0 {
        // All values are the same, and need an offset only.
        return Ok(vec![Scale::of(None)]);
    }
    let proven = |scale: &Scalar| Scale::of(Some(*scale));
    Ok(match promise {
        Promise::Surveyed => {
            grids.retain(|grid| !is_off(facts, grid, bound));
            let guesses = grids.into_iter().filter_map(|grid| of_grid(1.0 / grid.step, grid));
            let products = facts.products.into_iter();
            products.chain(guesses).chain(computed.iter().map(proven)).collect()
        }
        Promise::Range | Promise::Storable => {
            grids.retain(|grid| is_on(facts, grid, bound));
            let candidates = computed.iter().flat_map(|scale| {
                let finer = whole_fraction(facts, &grids, scale.to_f64());
                let finer = finer.and_then(|(scale, grid)| of_grid(scale, grid));
                finer.into_iter().chain([proven(scale)])
            });
            candidates.collect()
        }
    })
}

/// Coarsest first, each once.
fn sort(scales: &mut Vec<Scalar>) {
    scales.sort_by(|a, b| a.to_f64().total_cmp(&b.to_f64()));
    scales.dedup();
}

/// Finer scales with which, without an offset, the least and the greatest value are rounded to numbers within `--limits`,
/// coarsest first.
fn scales_within_limits(facts: &Facts<'_>, own: f64) -> Vec<Scalar> {
    let Some(limits) = facts.tolerance().keeps.limits.filter(|_| own.is_finite()) else {
        return Vec::new();
    };
    let (least, greatest) = (facts.working.least.to_f64(), facts.working.greatest.to_f64());
    let lower = limits.least.filter(|end| *end <= least);
    let upper = limits.greatest.filter(|end| *end >= greatest);
    let is_inside = |scale: &f64| {
        let [below, above] = [least, greatest].map(|value| (value * scale).round() / scale);
        lower.is_none_or(|end| below >= end) && upper.is_none_or(|end| above <= end)
    };
    let finer = (0..=FINER_LIMITS).map(|part| own * (1.0 + part as f64 / FINER_LIMITS as f64));
    // An end that is a whole number of steps comes back, and a scale a little finer makes up for the arithmetic.
    let unit = 8.0 * facts.working.unit();
    let to_ends = [lower, upper].into_iter().flatten().filter(|end| end * own != 0.0).map(|end| {
        let end = end.abs();
        (end * own).ceil() / end * (1.0 + unit)
    });
    let mut scales: Vec<f64> = finer.chain(to_ends).filter(is_inside).collect();
    scales.sort_by(f64::total_cmp);
    scales.truncate(MOST_WITHIN_LIMITS);
    let number = |scale| facts.working.number(scale, Rounding::TowardsPositive);
    scales.into_iter().filter_map(number).collect()
}

/// Whether a grid is too coarse for values anywhere, and a surveyed value is certainly away from the grid by more than the
/// value's rounding and half of the bound. Then the surveyed values are not on the grid, and keep the bound by chance.
fn is_off(facts: &Facts<'_>, grid: &Lattice, bound: f64) -> bool {
    let near = (2.0 * facts.working.rounding_of_values()).max(bound / 2.0);
    // Values outside the range to keep are clamped, and say nothing.
    let found = distance_from_grid(facts, grid).filter(|_| facts.survey.clamp.is_none());
    exceeds_bound(facts.options, grid.step) && found.is_some_and(|(least, _)| least > near)
}

/// Whether the surveyed values are on a grid, except for their rounding and a small part of the bound. A grid that is not round
/// is the sample's, and always counts.
fn is_on(facts: &Facts<'_>, grid: &Lattice, bound: f64) -> bool {
    let near = (2.0 * facts.working.rounding_of_values()).max(bound / 16.0);
    let found = distance_from_grid(facts, grid);
    found.is_none_or(|(_, greatest)| greatest <= near)
}

/// The distance of the surveyed values from a grid, as bounds; none if the grid is not round.
fn distance_from_grid(facts: &Facts<'_>, grid: &Lattice) -> Option<(f64, f64)> {
    facts.survey.grids.distance(round_scale(&facts.working, grid)?, facts.working.magnitude())
}

/// The coarsest scale, not coarser than the given scale, whose step is a whole fraction of a grid's step; with the grid. Values
/// on the grid stay as exact as with the grid's own scale.
fn whole_fraction(facts: &Facts<'_>, grids: &[Lattice], scale: f64) -> Option<(f64, Lattice)> {
    let finer = grids.iter().map(|grid| ((scale * grid.step).ceil() / grid.step, *grid));
    let is_inexact = |scale: f64| {
        let working = facts.working.number(scale, Rounding::NearestEven);
        working.is_none_or(|working| working.to_f64() != scale)
    };
    finer
        .filter(|_| !facts.options.pow2)
        .min_by(|(a, _), (b, _)| is_inexact(*a).cmp(&is_inexact(*b)).then(a.total_cmp(b)))
}

/// Scales that keep an absolute error with ever larger rounding errors of the arithmetic.
pub(super) fn safe_scales(facts: &Facts<'_>, bound: f64, promise: Promise) -> Vec<Scalar> {
    let mut budgets = vec![
        facts.working.rounding(1.0, 2.0),
        facts.working.rounding(2.2, 2.2),
        facts.working.rounding(4.5, 4.5),
        facts.working.rounding(16.0, 16.0),
    ];
    if promise == Promise::Storable {
        // Where a type of 8 or 16 bits ends, with the offset in its middle, or at its other end.
        let reaches = [8, 16].into_iter().flat_map(|bits| {
            [1.0, 2.0].map(|half| 4.0 * half * 2_f64.powi(bits) * bound * facts.working.unit())
        });
        budgets.extend(reaches.map(|reach| reach + facts.working.rounding(1.0, 1.0)));
    }
    if facts.working.unit_of_decoded() > 0.0 {
        // One spacing of the values; or so much that less than a power of two is left, to which no value is rounded up.
        let unit = facts.working.unit_of_decoded();
        let power = 2_f64.powi(bound.log2().floor() as i32);
        let lost = [2.0 * unit * facts.working.magnitude(), bound - power * (1.0 - 2.0 * unit)];
        budgets.extend(lost.map(|lost| lost + facts.working.rounding(4.5, 4.5)));
    }
    budgets.sort_by(f64::total_cmp);
    let scales = budgets.into_iter().filter_map(|budget| scale_within(facts, bound, budget));
    let mut scales: Vec<Scalar> = scales.collect();
    scales.dedup();
    scales
}

/// The power of two that keeps an absolute error because scaling by it is exact, without an offset; none if the codes would
/// take more bits than the elements, or more than a whole number has in the type of the arithmetic.
fn power_of_two_within(facts: &Facts<'_>, bound: f64) -> Option<Scalar> {
    let scale = 2_f64.powi((-(facts.options.errors_in_a_step() * bound).log2()).ceil() as i32);
    let codes = 2_f64.powi(8 * facts.survey.element_type.size() as i32 - 1);
    let codes = codes.min(1.0 / facts.working.unit());
    let scale = Some(scale).filter(|scale| facts.working.magnitude() * scale < codes)?;
    facts.working.number(scale, Rounding::NearestEven)
}

/// Whether finer steps may be needed than the bound asks for: a value next to a marker must not decode to it.
fn has_markers(facts: &Facts<'_>) -> bool {
    !facts.survey.markers.values().is_empty()
}

/// The scale that keeps an absolute error if rounding uses at most `budget` of this error.
pub(super) fn scale_within(facts: &Facts<'_>, bound: f64, budget: f64) -> Option<Scalar> {
    let step = facts.options.errors_in_a_step() * (bound - budget);
    let scale = facts.working.number(power(facts, 1.0 / step), Rounding::TowardsPositive);
    scale.filter(|_| bound > budget * 1.001)
}

/// The scale, or with `--pow2` the next power of two that is not coarser.
fn power(facts: &Facts<'_>, scale: f64) -> f64 {
    if facts.options.pow2 { 2_f64.powi(scale.log2().ceil() as i32) } else { scale }
}

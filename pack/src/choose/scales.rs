//! The scales to try, coarsest first.

use std::iter::successors;

use anyhow::Context;
use recast_kernels::{ElementType, Rounding, Scalar};

use super::candidate::{Promise, ScaleCandidate};
use super::chooser::{Chooser, unit_roundoff};
use super::placements::reservations;
use crate::error::Result;
use crate::options::is_power_of_two;
use crate::scan::grid::Distance;
use crate::scan::lattice::Lattice;

/// The floating-point types for a relative error: smallest first, and of one size the most precise
/// first.
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

impl Chooser<'_> {
    /// The scales to try: first those of grids, which work if the data are multiples of a step, then those that
    /// the arithmetic proves.
    pub(super) fn scale_candidates(&self, promise: Promise) -> Result<Vec<ScaleCandidate>> {
        if self.options.is_explicit() {
            let scale = self.options.scale.as_ref();
            let scale = scale.map(|scale| scale.to_scalar(self.working)).transpose();
            let scale = scale.context("--scale")?;
            if self.options.max_rel_error.is_some() && self.options.data_type.is_none() {
                return Ok(self.smaller_floats(|_| vec![scale]));
            }
            return Ok(vec![ScaleCandidate::of(scale)]);
        }
        if let Some(target) = self.options.data_type.filter(|target| target.is_float()) {
            return Ok(self.in_floats(target));
        }
        if self.options.max_rel_error.is_some() {
            return Ok(
                self.smaller_floats(|target| vec![None, self.filling(target, self.magnitude())])
            );
        }
        if let Some(step) = self.options.precision.filter(|&step| step != 1.0) {
            let scale = self.working_scalar(1.0 / step, Rounding::NearestEven);
            let scale = scale.filter(|scale| scale.to_f64().is_normal());
            return Ok(vec![ScaleCandidate::of(Some(scale.with_context(|| {
                format!("--precision {step:?}: its inverse leaves the range of {}", self.working)
            })?))]);
        }
        if self.working.is_integer() || self.options.precision.is_some() {
            return Ok(vec![ScaleCandidate::of(None)]);
        }
        if let Some(target) = self.options.data_type.filter(|_| self.options.auto) {
            return Ok(self.spread(target));
        }
        self.within_error(self.options.max_abs_error.unwrap_or_default(), promise)
    }

    /// The scales for each floating-point type smaller than that of the elements.
    pub(super) fn smaller_floats(
        &self,
        scales: impl Fn(ElementType) -> Vec<Option<Scalar>>,
    ) -> Vec<ScaleCandidate> {
        let size = self.survey.element_type.size();
        let targets = FLOATS.into_iter().filter(|target| target.size() < size);
        let scale_candidates = targets.flat_map(|target| {
            scales(target).into_iter().map(move |scale| ScaleCandidate {
                target: Some(target),
                ..ScaleCandidate::of(scale)
            })
        });
        scale_candidates.collect()
    }

    /// The scales for a floating-point type: none, the one that uses the whole range, and the same with the values
    /// centred at 0, where floating-point numbers are denser.
    pub(super) fn in_floats(&self, target: ElementType) -> Vec<ScaleCandidate> {
        let filling = self.filling(target, self.magnitude());
        if self.options.auto {
            return vec![ScaleCandidate::of(filling)];
        }
        let mut scale_candidates = vec![ScaleCandidate::of(None), ScaleCandidate::of(filling)];
        let (least, greatest) = (self.least.to_f64(), self.greatest.to_f64());
        let middle = self.working_scalar(least / 2.0 + greatest / 2.0, Rounding::NearestEven);
        if self.options.max_abs_error.is_some() && !self.working.is_integer() && middle.is_some() {
            let around = self.filling(target, greatest / 2.0 - least / 2.0);
            scale_candidates.extend(
                [None, around]
                    .map(|scale| ScaleCandidate { offset: middle, ..ScaleCandidate::of(scale) }),
            );
        }
        scale_candidates
    }

    /// The power of two that scales a magnitude to the largest of a floating-point type; none if it is 1. Scaling by a
    /// power of two is exact.
    pub(super) fn filling(&self, target: ElementType, magnitude: f64) -> Option<Scalar> {
        let exponent = (Scalar::max(target).to_f64() / magnitude).log2().floor();
        if self.working.is_integer() || exponent == 0.0 || !exponent.is_finite() {
            return None;
        }
        self.working_scalar(2_f64.powi(exponent as i32), Rounding::NearestEven)
    }

    /// The scales that spread the values over a whole integer type, without the stored values for NaN and the fill
    /// value, and without a margin for the arithmetic.
    pub(super) fn spread(&self, target: ElementType) -> Vec<ScaleCandidate> {
        let extent = self.extent();
        let steps = 2_f64.powi(target.bits() as i32) - 1.0;
        let unit = unit_roundoff(self.working) * (1.0 + self.magnitude() / extent);
        let most = self.survey.reserved_codes() + 1;
        let scales = reservations(most).map(|reserved| reserved as f64).flat_map(|reserved| {
            [0.0, 4.0 * unit, 64.0 * unit].map(|less| {
                let scale = (steps - reserved) / extent * (1.0 - less);
                if self.options.pow2 { 2_f64.powi(scale.log2().floor() as i32) } else { scale }
            })
        });
        let mut scales: Vec<Option<Scalar>> = scales
            .filter_map(|scale| self.working_scalar(scale, Rounding::TowardsNegative))
            .map(Some)
            .collect();
        scales.dedup();
        if scales.is_empty() {
            // All values are equal, or so far apart that there is no such scale.
            scales.push(None);
        }
        scales.into_iter().map(ScaleCandidate::of).collect()
    }

    /// The scales that keep an absolute error.
    fn within_error(&self, bound: f64, promise: Promise) -> Result<Vec<ScaleCandidate>> {
        if self.survey.element_type.is_integer() {
            // Steps of a whole number decode to whole numbers. Beyond 2^53 these are rounded to float64 first, and directed
            // rounding may take what the arithmetic moves a whole step away.
            let step_within = |bound: f64| self.options.errors_in_a_step() * bound.floor() + 1.0;
            let coarsest = step_within(bound);
            let is_directed = self.options.errors_in_a_step() == 1.0;
            let lost = self.rounding(1.0, 1.0) + f64::from(u8::from(is_directed));
            let without_lost = (lost >= 1.0).then(|| step_within((bound - lost).max(0.0)));
            let finer =
                |step: &f64| (*step > 1.0 && self.has_markers()).then(|| (step / 2.0).floor());
            let steps = [coarsest].into_iter().chain(without_lost);
            let steps = steps.chain(successors(finer(&coarsest), finer));
            let scales = steps.map(|step| self.power(1.0 / step));
            let scales = scales.map(|scale| self.working_scalar(scale, Rounding::TowardsPositive));
            return Ok(scales.map(ScaleCandidate::of).collect());
        }
        let mut computed = self.safe_scales(bound, promise);
        let finest = computed.first().map_or(f64::INFINITY, |scale| scale.to_f64());
        if let Some(power) = self.power_of_two_within(bound) {
            computed.push(power);
            computed.sort_by(|a, b| a.to_f64().total_cmp(&b.to_f64()));
            computed.dedup();
        }
        if self.options.pow2
            && self.has_markers()
            && let Some(finest) = computed.last().copied()
        {
            let finer = (1..=FINER_POWERS).map(|power| finest.to_f64() * 2_f64.powi(power));
            let finer = finer.filter_map(|scale| self.working_scalar(scale, Rounding::NearestEven));
            computed.extend(finer);
        }
        let mut grids = self.grids(bound)?;
        grids.retain(|grid| 1.0 / grid.step < finest);
        let of_grid = |scale: f64, grid: Lattice| {
            let scale = self.working_scalar(scale, Rounding::NearestEven)?;
            Some(ScaleCandidate::of_grid(scale, grid))
        };
        if computed.is_empty() && self.extent() == 0.0 {
            // All values are the same, and need an offset only.
            return Ok(vec![ScaleCandidate::of(None)]);
        }
        let proven = |scale: &Scalar| ScaleCandidate::of(Some(*scale));
        Ok(match promise {
            Promise::Surveyed => {
                grids.retain(|grid| !self.is_off(grid, bound));
                let guesses = grids.into_iter().filter_map(|grid| of_grid(1.0 / grid.step, grid));
                let products = self.products.into_iter();
                products.chain(guesses).chain(computed.iter().map(proven)).collect()
            }
            Promise::Range | Promise::Storable => {
                grids.retain(|grid| self.is_on(grid, bound));
                let candidates = computed.iter().flat_map(|scale| {
                    let finer = self.whole_fraction(&grids, scale.to_f64());
                    let finer = finer.and_then(|(scale, grid)| of_grid(scale, grid));
                    finer.into_iter().chain([proven(scale)])
                });
                candidates.collect()
            }
        })
    }

    /// The grids that the surveyed values may be on, coarsest first: round ones, and the one that the sample tells.
    pub(super) fn grids(&self, bound: f64) -> Result<Vec<Lattice>> {
        // Without values, nothing shows a grid.
        if self.survey.data_range.is_none() {
            return Ok(Vec::new());
        }
        let is_allowed = |scale: &f64| !self.options.pow2 || is_power_of_two(*scale);
        let round = self.round_scales().filter(is_allowed);
        let mut grids: Vec<Lattice> =
            round.map(|scale| Lattice::multiples_of(1.0 / scale)).collect();
        let other = Lattice::of(&self.survey.sample_numbers()?, self.rounding_of_values(), bound);
        if let Some(other) = other.filter(|_| !self.options.pow2) {
            let is_it =
                |grid: &Lattice| other.origin == 0.0 && (grid.step / other.step - 1.0).abs() < 1e-6;
            if !grids.iter().any(is_it) {
                let coarser = grids.iter().take_while(|grid| grid.step > other.step).count();
                grids.insert(coarser, other);
            }
        }
        Ok(grids)
    }

    /// Whether codes with this step, without the rounding of the arithmetic, are too coarse for values anywhere.
    pub(super) fn exceeds_bound(&self, step: f64) -> bool {
        let bound = self.options.max_abs_error.unwrap_or(f64::INFINITY);
        step > self.options.errors_in_a_step() * bound * (1.0 + 1e-9)
    }

    /// Whether a grid is too coarse for values anywhere, and a surveyed one is certainly away from it by more than its
    /// rounding and half of the bound. Then the surveyed values are not on it, and keep the bound by chance.
    fn is_off(&self, grid: &Lattice, bound: f64) -> bool {
        let near = (2.0 * self.rounding_of_values()).max(bound / 2.0);
        // Values outside the limits are clamped, and say nothing.
        let found = self.distance_from_grid(grid).filter(|_| self.survey.limits.is_none());
        self.exceeds_bound(grid.step) && found.is_some_and(|Distance { least, .. }| least > near)
    }

    /// Whether the surveyed values are on a grid, except for their rounding and a small part of the bound; of one that is
    /// not round, the sample's.
    fn is_on(&self, grid: &Lattice, bound: f64) -> bool {
        let near = (2.0 * self.rounding_of_values()).max(bound / 16.0);
        let found = self.distance_from_grid(grid);
        found.is_none_or(|Distance { greatest, .. }| greatest <= near)
    }

    /// The distance of the surveyed values from a grid; none if that is not round.
    fn distance_from_grid(&self, grid: &Lattice) -> Option<Distance> {
        self.survey.grids.distance(self.round_scale(grid)?, self.magnitude())
    }

    /// The round scale of a grid.
    pub(super) fn round_scale(&self, grid: &Lattice) -> Option<f64> {
        // The inverse of an inverse need not be the same number.
        let is_it = |scale: &f64| grid.origin == 0.0 && (scale * grid.step - 1.0).abs() < 1e-12;
        self.round_scales().find(is_it)
    }

    /// The coarsest scale that is not coarser than one and whose step is a whole fraction of a grid's, so that values on
    /// the grid stay as exact as with the grid's own scale; with the grid.
    fn whole_fraction(&self, grids: &[Lattice], scale: f64) -> Option<(f64, Lattice)> {
        let finer = grids.iter().map(|grid| ((scale * grid.step).ceil() / grid.step, *grid));
        let is_inexact = |scale: f64| {
            let working = self.working_scalar(scale, Rounding::NearestEven);
            working.is_none_or(|working| working.to_f64() != scale)
        };
        finer
            .filter(|_| !self.options.pow2)
            .min_by(|(a, _), (b, _)| is_inexact(*a).cmp(&is_inexact(*b)).then(a.total_cmp(b)))
    }

    /// Scales that keep an absolute error with ever larger rounding errors of the arithmetic.
    pub(super) fn safe_scales(&self, bound: f64, promise: Promise) -> Vec<Scalar> {
        let mut budgets = vec![
            self.rounding(1.0, 2.0),
            self.rounding(2.2, 2.2),
            self.rounding(4.5, 4.5),
            self.rounding(16.0, 16.0),
        ];
        if promise == Promise::Storable {
            // Where a type of 8 or 16 bits ends, with the offset in its middle, or at its other end.
            let reaches = [8, 16].into_iter().flat_map(|bits| {
                [1.0, 2.0]
                    .map(|half| 4.0 * half * 2_f64.powi(bits) * bound * unit_roundoff(self.working))
            });
            budgets.extend(reaches.map(|reach| reach + self.rounding(1.0, 1.0)));
        }
        if self.unit_of_decoded() > 0.0 {
            // One spacing of the values; or as much as leaves less than a power of two, to which no value is rounded up.
            let unit = self.unit_of_decoded();
            let power = 2_f64.powi(bound.log2().floor() as i32);
            let lost = [2.0 * unit * self.magnitude(), bound - power * (1.0 - 2.0 * unit)];
            budgets.extend(lost.map(|lost| lost + self.rounding(4.5, 4.5)));
        }
        budgets.sort_by(f64::total_cmp);
        let scales = budgets.into_iter().filter_map(|budget| self.scale_within(bound, budget));
        let mut scales: Vec<Scalar> = scales.collect();
        scales.dedup();
        scales
    }

    /// The power of two that keeps an absolute error because scaling by it is exact, without an offset; none if the codes would
    /// take more bits than the elements, or more than a whole number has in the type of the arithmetic.
    fn power_of_two_within(&self, bound: f64) -> Option<Scalar> {
        let scale = 2_f64.powi((-(self.options.errors_in_a_step() * bound).log2()).ceil() as i32);
        let codes = 2_f64.powi(8 * self.survey.element_type.size() as i32 - 1);
        let codes = codes.min(1.0 / unit_roundoff(self.working));
        let scale = Some(scale).filter(|scale| self.magnitude() * scale < codes)?;
        self.working_scalar(scale, Rounding::NearestEven)
    }

    /// Whether finer steps may be needed than the bound asks for: a value next to a marker must not decode to it.
    fn has_markers(&self) -> bool {
        !self.survey.markers.values().is_empty()
    }

    /// The scale that keeps an absolute error if rounding uses at most `budget` of it.
    pub(super) fn scale_within(&self, bound: f64, budget: f64) -> Option<Scalar> {
        let step = self.options.errors_in_a_step() * (bound - budget);
        let scale = self.working_scalar(self.power(1.0 / step), Rounding::TowardsPositive);
        scale.filter(|_| bound > budget * 1.001)
    }

    /// The scale, or with `--pow2` the next power of two that is not coarser.
    pub(super) fn power(&self, scale: f64) -> f64 {
        if self.options.pow2 { 2_f64.powi(scale.log2().ceil() as i32) } else { scale }
    }
}

//! Grids that the surveyed values may be on.

use super::working::Working;
use crate::error::Result;
use crate::options::{PackOptions, is_power_of_two};
use crate::scan::lattice::Lattice;
use crate::scan::survey::Survey;

/// The grids that the surveyed values may be on, coarsest first: round grids, and the grid that the sample shows.
pub(super) fn grids(
    options: &PackOptions,
    survey: &Survey,
    working: &Working,
    bound: f64,
) -> Result<Vec<Lattice>> {
    // Without values, nothing shows a grid.
    if survey.data_range.is_none() {
        return Ok(Vec::new());
    }
    let is_allowed = |scale: &f64| !options.pow2 || is_power_of_two(*scale);
    let round = working.round_scales().filter(is_allowed);
    let mut grids: Vec<Lattice> = round.map(|scale| Lattice::multiples_of(1.0 / scale)).collect();
    let other = Lattice::of(&survey.sample_numbers()?, working.rounding_of_values(), bound);
    if let Some(other) = other.filter(|_| !options.pow2) {
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
pub(super) fn exceeds_bound(options: &PackOptions, step: f64) -> bool {
    let bound = options.max_abs_error.unwrap_or(f64::INFINITY);
    step > options.errors_in_a_step() * bound * (1.0 + 1e-9)
}

/// The round scale of a grid.
pub(super) fn round_scale(working: &Working, grid: &Lattice) -> Option<f64> {
    // The inverse of an inverse need not be the same number.
    let is_it = |scale: &f64| grid.origin == 0.0 && (scale * grid.step - 1.0).abs() < 1e-12;
    working.round_scales().find(is_it)
}

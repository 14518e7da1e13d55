//! The ladder: a dry run for each bound, and the bounds that stand out.

use anyhow::Context;
use recast_kernels::ElementType;

use super::{Advised, Mark, Rung};
use crate::choose::goals::Goals;
use crate::error::{Result, is_of_array};
use crate::jobs::pack::{Encoded, estimate};
use crate::options::PackOptions;
use crate::runtime::Workers;
use crate::scan::lattice::Lattice;
use crate::scan::number::magnitude;
use crate::scan::survey::Survey;
use crate::suggest::bounds::bounds;
use crate::suggest::information::Information;
use crate::suggest::known::{Known, rounding};
use crate::suggest::sample::Sample;
use crate::text::measured;

/// The shares of the information that are worth a mark.
const MOST_INFORMATION: f64 = 0.999;
const INFORMATION: f64 = 0.99;
/// A ladder has at least this many bounds, also below the step of the values.
const LEAST_BOUNDS: usize = 8;
/// Lossless packing that takes this much more than the values' own steps says little.
const LOSSLESS_WORTH: f64 = 1.1;
/// A value is at its point of a grid if it is off by no more than this part of a step.
const NEAR: f64 = 1e-3;

/// The values that every bound is tried on, and the facts about them.
pub(super) struct Tried<'a> {
    pub(super) sample: &'a Sample,
    pub(super) survey: &'a Survey,
    pub(super) known: Known,
    pub(super) information: Option<Information>,
    /// How to pack, without a bound.
    pub(super) options: &'a PackOptions,
    /// The recommendation for the array.
    pub(super) advice: Option<&'a Advised>,
}

impl Tried<'_> {
    /// The bytes of all elements of the array.
    pub(super) fn bytes(&self) -> u64 {
        self.sample.sampled.all.saturating_mul(self.survey.element_type.size() as u64)
    }

    /// The bounds with their dry runs, coarse to fine, and the index of the one that the values suggest. A bound that no
    /// codecs keep is left out. The dry runs have their own threads, which report no progress.
    ///
    /// # Errors
    /// Why no bound can be kept; interruption.
    pub(super) fn ladder(
        &self,
        workers: &Workers,
        quiet: &Workers,
    ) -> Result<(Vec<Rung>, Option<usize>)> {
        let bounds = self.bounds();
        let work = |number: u64| -> Result<(f64, Result<Encoded>)> {
            let bound = *bounds.get(number as usize).context("no such bound")?;
            let options = PackOptions { max_abs_error: Some(bound), ..self.options.clone() };
            Ok((bound, estimate(&self.sample.source, self.survey, &options, quiet)))
        };
        let mut rungs = Vec::new();
        let mut refusal = None;
        workers.run("estimate", bounds.len() as u64, work, |(bound, outcome)| {
            match outcome {
                Ok(estimate) => rungs.push(self.rung(bound, &estimate)),
                Err(error) if is_of_array(&error) => refusal = refusal.take().or(Some(error)),
                Err(error) => return Err(error),
            }
            Ok(())
        })?;
        match refusal {
            // Values that are all equal need no ladder.
            Some(refusal) if rungs.is_empty() && self.known.extent() > 0.0 => Err(refusal),
            _ => {
                let mut recommended = self.mark(&mut rungs);
                let advised = self.advised_bound();
                let is_advised = |rung: &Rung| advised == Some(rung.max_abs_error);
                let index = rungs.iter().position(is_advised);
                if let Some((index, rung)) = index.and_then(|at| Some((at, rungs.get_mut(at)?)))
                    && let Some(Advised { by, requirements, .. }) = self.advice
                {
                    let flags: Vec<String> =
                        requirements.iter().map(|one| one.arguments().join(" ")).collect();
                    rung.mark = Some(Mark::Recommended);
                    rung.reason = Some(format!("by {by}: {}", flags.join(" ")));
                    recommended = Some(index);
                }
                Ok((rungs, recommended))
            }
        }
    }

    /// The bound of every element that the recommendation comes to, if it comes to one.
    fn advised_bound(&self) -> Option<f64> {
        let goals = Goals::new(&self.advice?.options, self.survey).ok()?.options();
        goals.max_abs_error.filter(|_| goals.max_rel_error.is_none())
    }

    /// The bounds to try, coarse to fine; the last one is 0.
    fn bounds(&self) -> Vec<f64> {
        let mut bounds = self.bounds_of_values();
        if let Some(advised) = self.advised_bound().filter(|bound| !bounds.contains(bound)) {
            let coarser = bounds.iter().filter(|&&bound| bound > advised).count();
            bounds.insert(coarser, advised);
        }
        bounds
    }

    fn bounds_of_values(&self) -> Vec<f64> {
        let range = self.known.range_without_outliers;
        let extent = range.map_or(self.known.extent(), |(least, greatest)| greatest - least);
        if extent == 0.0 || self.survey.element_type.is_integer() {
            return vec![0.0];
        }
        let keeps_enough = |bound: f64| {
            self.information.as_ref().is_none_or(|found| found.share(bound) >= MOST_INFORMATION)
        };
        let mut bounds = bounds(extent, keeps_enough);
        if let Some(grid) = self.known.grid {
            let half = grid.step / 2.0;
            let coarse = bounds.iter().filter(|&&bound| bound > half).count();
            bounds.truncate((coarse + 1).max(LEAST_BOUNDS));
            let is_there = |bound: &f64| (bound / half - 1.0).abs() < 1e-9;
            if !bounds.iter().any(is_there) {
                bounds.insert(coarse.min(bounds.len()), half);
            }
        }
        bounds.push(0.0);
        bounds
    }

    fn rung(&self, bound: f64, Encoded { candidate, stats, .. }: &Encoded) -> Rung {
        let (data_type, sums) = (candidate.chain.encoded_type(), &stats.comparison.sums);
        let sampled = &self.sample.sampled;
        let stored =
            stats.stored_bytes as f64 * sampled.all as f64 / sampled.elements.max(1) as f64;
        let extent = self.known.extent();
        let step = candidate.only.map_or(2.0 * bound, |grid| grid.step);
        let snr = 10.0 * (self.known.variance / sums.rmse().powi(2)).log10();
        Rung {
            max_abs_error: bound,
            bits: bits(extent, step, data_type),
            data_type,
            stored_bytes: stored.round() as u64,
            ratio: self.bytes() as f64 / stored.round().max(1.0),
            largest_error: sums.max,
            error_over_range: if extent > 0.0 { sums.max / extent } else { 0.0 },
            snr_db: snr.is_finite().then_some(snr),
            information: self.information.as_ref().map(|found| found.share(bound)),
            mark: None,
            reason: None,
        }
    }

    /// Marks the bounds that stand out. Returns the index of the one that the values suggest: that of their own steps, or
    /// else the one that keeps most of their information.
    fn mark(&self, rungs: &mut [Rung]) -> Option<usize> {
        Self::mark_information(INFORMATION, Mark::Information, rungs);
        let most = Self::mark_information(MOST_INFORMATION, Mark::MostInformation, rungs);
        let steps = self.on_grid(rungs);
        let bytes = |index: usize| rungs.get(index).map(|rung| rung.stored_bytes as f64);
        let is_exact = |rung: &Rung| rung.max_abs_error == 0.0 && rung.largest_error == 0.0;
        let lossless = rungs.iter().position(is_exact);
        // Steps that are kept exactly need no row of their own.
        let same = steps.zip(lossless).is_some_and(|((steps, _), lossless)| {
            let sizes = bytes(steps).zip(bytes(lossless));
            sizes.is_some_and(|(steps, lossless)| lossless <= steps * LOSSLESS_WORTH)
        });
        if let Some(rung) = lossless.and_then(|index| rungs.get_mut(index)) {
            let read = if self.sample.sampled.is_whole() { "" } else { " that was read" };
            let zero = if self.known.has_negative_zero { ", but −0.0 as 0.0" } else { "" };
            rung.mark = Some(Mark::LosesNothing);
            rung.reason = Some(format!("every value{read} comes back bit for bit{zero}"));
        }
        if same || rungs.len() == 1 {
            return lossless;
        }
        if let Some((index, grid)) = steps
            && let Some(rung) = rungs.get_mut(index)
        {
            let off = measured(rung.largest_error);
            rung.mark = Some(Mark::KeepsSteps);
            rung.reason = Some(format!(
                "all values are {grid}, and come back as such; rounding in {} moves them by {off} at most",
                self.survey.element_type
            ));
            return Some(index);
        }
        most
    }

    /// Marks the coarsest bound that keeps a share of the information.
    fn mark_information(share: f64, mark: Mark, rungs: &mut [Rung]) -> Option<usize> {
        let is_enough = |rung: &Rung| rung.information.is_some_and(|kept| kept >= share);
        let index = rungs.iter().position(is_enough)?;
        let rung = rungs.get_mut(index)?;
        let kept = rung.information.unwrap_or_default();
        rung.mark = Some(mark);
        rung.reason = Some(format!(
            "the coarsest bound here that keeps {} of what neighbours tell about each other; it keeps {:.2} %",
            mark.name(),
            100.0 * kept
        ));
        Some(index)
    }

    /// The coarsest bound with which every value comes back as its point of the grid, except for the rounding of its type.
    fn on_grid(&self, rungs: &[Rung]) -> Option<(usize, Lattice)> {
        let grid = self.known.grid?;
        let magnitude = magnitude(self.known.range?);
        let near = rounding(self.survey.element_type, magnitude).max(grid.step * NEAR);
        let half = grid.step / 2.0 * (1.0 + 1e-9);
        let is_it = |rung: &Rung| rung.max_abs_error <= half && rung.largest_error <= near;
        rungs.iter().position(is_it).map(|index| (index, grid))
    }
}

/// The bits of a code for each step of an extent.
fn bits(extent: f64, step: f64, data_type: ElementType) -> u32 {
    if step > 0.0 && extent > 0.0 {
        ((extent / step).round() + 1.0).log2().ceil().clamp(1.0, 64.0) as u32
    } else if extent > 0.0 {
        data_type.bits()
    } else {
        0
    }
}

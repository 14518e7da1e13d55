//! The candidates: for each scale the smallest type that holds the values, and an offset.

use anyhow::{Context, bail};
use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};

use super::bind::Place;
use super::chooser::Chooser;
use super::packing::{Packing, Promise};
use super::scales::ScaleCandidate;
use crate::error::Result;
use crate::options::NanTo;
use crate::scan::lattice::Lattice;
use crate::scan::number::{integer, scalar};

/// A scale is made finer by at most this many units in the last place; about every second one works.
const FINER_SCALES: u64 = 32;

/// The integer types, unsigned before signed.
pub(super) const SMALLEST_FIRST: [[ElementType; 2]; 4] = [
    [ElementType::UInt8, ElementType::Int8],
    [ElementType::UInt16, ElementType::Int16],
    [ElementType::UInt32, ElementType::Int32],
    [ElementType::UInt64, ElementType::Int64],
];

impl Chooser<'_> {
    /// The candidates, best first; an item is an error if a scale gives none.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = Result<Packing>> + '_ {
        self.promises().iter().flat_map(move |&promise| {
            // A list, because a scale that cannot be written gives one candidate, an error.
            let scale_candidates: Vec<Result<ScaleCandidate>> = match self.scale_candidates(promise)
            {
                Ok(scale_candidates) => scale_candidates.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            };
            scale_candidates.into_iter().flat_map(move |one| self.candidates_of(one, promise))
        })
    }

    /// The candidates with a scale: one, or another besides if values lie next to a missing marker.
    fn candidates_of(
        &self,
        candidate: Result<ScaleCandidate>,
        promise: Promise,
    ) -> impl Iterator<Item = Result<Packing>> + '_ {
        // None of the values to come may decode to a marker.
        let avoids_markers = promise != Promise::Surveyed && !self.options.is_explicit();
        let first = candidate.and_then(|candidate| {
            let packing = self.place_without_detour(candidate, promise, avoids_markers)?;
            Ok((candidate, packing))
        });
        let is_risky = |packing: &Packing| packing.is_risky && !self.options.is_explicit();
        let (candidate, packing) = match first {
            Ok((candidate, packing)) => (Some(candidate), Ok(packing)),
            Err(error) => (None, Err(error)),
        };
        let second = candidate
            .filter(|_| packing.as_ref().is_ok_and(is_risky))
            .map(|candidate| self.place_without_detour(candidate, promise, true));
        [packing].into_iter().chain(second)
    }

    /// As [`Self::place`]. If the error bound allows it, the scale is made finer by a few units in its last
    /// place when the fill value then needs no first cast.
    fn place_without_detour(
        &self,
        candidate: ScaleCandidate,
        promise: Promise,
        avoids_markers: bool,
    ) -> Result<Packing> {
        let packing = self.place(candidate, promise, avoids_markers)?;
        let Some(scale) = candidate.scale.filter(|_| !self.options.is_explicit()) else {
            return Ok(packing);
        };
        let is_fixed = candidate.grid.is_some()
            || self.options.pow2
            || self.options.precision.is_some()
            || scale.element_type().is_integer()
            || packing.chain.encoded_type().is_float();
        if is_fixed || !packing.has_remapped() {
            return Ok(packing);
        }
        let finer = (1..=FINER_SCALES).filter_map(|units| {
            // A computed scale is positive, so the next bits are the next greater number.
            let scale = Scalar::from_bits(scale.element_type(), scale.bits() + units);
            let finer = ScaleCandidate { scale: Some(scale), ..candidate };
            self.place(finer, promise, avoids_markers).ok()
        });
        let target = packing.chain.encoded_type();
        let spared =
            |other: &Packing| !other.has_remapped() && other.chain.encoded_type() == target;
        Ok(finer.into_iter().find(spared).unwrap_or(packing))
    }

    /// Finds the smallest type, and an offset, for a scale.
    fn place(
        &self,
        candidate: ScaleCandidate,
        promise: Promise,
        avoids_markers: bool,
    ) -> Result<Packing> {
        let ScaleCandidate { scale, grid, target, offset } = candidate;
        let targets = match target.or(self.options.data_type) {
            Some(target) => vec![[target; 2]],
            None => self.narrower_integers(scale),
        };
        let mut refusal = None;
        for pair in targets {
            // Offsets begin with the simplest; doing without an offset is worth more than the
            // sign.
            let mut places = Vec::new();
            for target in pair {
                let offsets = match offset {
                    Some(offset) => vec![Some(offset)],
                    None => self.offsets(scale, grid, target, avoids_markers)?,
                };
                let offsets = offsets.into_iter().enumerate();
                places.extend(offsets.map(|(number, offset)| {
                    let is_compact = false;
                    let place =
                        Place { offset, scale, target, grid, promise, avoids_markers, is_compact };
                    (number, place)
                }));
            }
            // An offset to the middle of a signed type leaves room on both sides, and keeps intermediate
            // results small.
            places.sort_by_key(|(number, place)| match number {
                0 => 0,
                _ if place.target.is_signed() => 1,
                _ => 2,
            });
            // The widest type's first refusal is the easiest to understand.
            let mut refused = None;
            let mut found: Option<Packing> = None;
            for (number, place) in places {
                // Without an offset, both signs may work; take the one that leaves more room.
                let is_last = number > 0 || self.options.is_explicit();
                if found.is_some() && is_last {
                    break;
                }
                match self.bind(place) {
                    Ok(packing) if is_last => return Ok(packing),
                    Ok(packing) => {
                        let is_roomier =
                            |found: &Packing| !found.is_roomy() && packing.room() > found.room();
                        if found.as_ref().is_none_or(is_roomier) {
                            found = Some(packing);
                        }
                    }
                    Err(error) => refused = refused.or(Some(error)),
                }
            }
            if let Some(packing) = found {
                return Ok(packing);
            }
            refusal = refused.or(refusal);
        }
        if let Some(target) = self.options.data_type {
            self.refuse_too_many(scale, target)?;
        }
        Err(refusal.unwrap_or_else(|| anyhow::anyhow!("no offset fits")))
    }

    /// The types to try, smallest first. For integers that are kept exactly: narrower types, and then their own.
    fn narrower_integers(&self, scale: Option<Scalar>) -> Vec<[ElementType; 2]> {
        let source = self.survey.element_type;
        if !self.is_one_to_one(scale) || self.options.is_explicit() {
            return SMALLEST_FIRST.to_vec();
        }
        let narrower = SMALLEST_FIRST.into_iter().filter(|[one, _]| one.size() < source.size());
        narrower.chain([[source; 2]]).collect()
    }

    /// Refuses a scale that gives the data more steps than a type has.
    fn refuse_too_many(&self, scale: Option<Scalar>, target: ElementType) -> Result<()> {
        if self.options.is_explicit() || !target.is_integer() {
            return Ok(());
        }
        let scale = scale.map_or(1.0, Scalar::to_f64).abs();
        let steps = (self.greatest.to_f64() - self.least.to_f64()) * scale;
        let values = 2_f64.powi(target.bits() as i32);
        if steps >= values {
            bail!("it takes {steps:.0} steps, and {target} has {values} values");
        }
        Ok(())
    }

    /// The offsets to try with a scale and a stored type, the simplest first.
    fn offsets(
        &self,
        scale: Option<Scalar>,
        grid: Option<Lattice>,
        target: ElementType,
        avoids_markers: bool,
    ) -> Result<Vec<Option<Scalar>>> {
        if self.options.is_explicit() {
            let offset = self.options.offset.as_ref();
            let offset = offset.map(|offset| offset.to_scalar(self.working)).transpose();
            return Ok(vec![offset.context("--offset")?]);
        }
        if self.options.auto && scale.is_none() && !self.working.is_integer() && target.is_integer()
        {
            // All values are the same.
            return Ok(vec![Some(self.least)]);
        }
        let mut offsets = vec![None];
        let Some((lowest, highest)) =
            integer(Scalar::min(target)).zip(integer(Scalar::max(target)))
        else {
            return Ok(offsets);
        };
        let reserved = self.reserved_codes() as i128;
        let is_value =
            |fill: &&Scalar| self.is_within(**fill) && !self.survey.markers.contains(**fill);
        // With steps that are a fraction of a grid's, or a grid that does not begin at 0, the offset is on the grid.
        let coarse = |grid: &Lattice| {
            grid.origin != 0.0 || grid.step * scale.map_or(1.0, Scalar::to_f64) > 1.5
        };
        let grid = grid.filter(coarse);
        if grid.is_some_and(|grid| grid.origin != 0.0) {
            offsets.clear();
        }
        for fill in self.survey.fill_values.iter().filter(is_value).filter(|_| grid.is_none()) {
            let fill = fill.cast(self.working, Rounding::NearestEven, OutOfRange::Error).ok();
            offsets.extend(fill.map(Some));
        }
        let taken = match &self.options.nan_to {
            NanTo::Value(value) => value.to_scalar(target).ok().and_then(integer),
            _ => None,
        };
        // The stored values to try for the smallest element: with as much room below as above, at the low end,
        // and next to a value in use.
        let starts = |count: i128| {
            let middle = if target.is_signed() {
                -(count / 2)
            } else if self.working.is_integer() {
                (highest - count) / 2
            } else {
                // Far from 0, floating-point arithmetic has larger rounding errors.
                lowest
            };
            let low = (0..=reserved).map(|code| lowest + code);
            let beside = taken.map(|taken| [taken + 1, taken - count]);
            [middle.clamp(lowest, highest)]
                .into_iter()
                .chain(low)
                .chain(beside.into_iter().flatten())
                .collect::<Vec<i128>>()
        };
        if let (None, Some((least, greatest))) =
            (scale, integer(self.least).zip(integer(self.greatest)))
        {
            let starts = starts(greatest - least + 1);
            let offset = |start| scalar(least - start, self.working).map(Some);
            offsets.extend(starts.into_iter().filter_map(offset));
        } else {
            let (least, greatest) = (self.least.to_f64(), self.greatest.to_f64());
            let scale = scale.map_or(1.0, Scalar::to_f64);
            // If decoded values must be multiples of a step, the offset is one too.
            let is_multiple = self.options.pow2 || self.options.precision.is_some();
            let offset = |number: f64| {
                let number = match grid {
                    Some(grid) => grid.below(number),
                    None if is_multiple => (number * scale).floor() / scale,
                    None => number,
                };
                self.working_scalar(number, Rounding::NearestEven)
            };
            offsets.push(offset(least.floor()));
            // Limited so that more can be added; no type has this many.
            let steps = ((greatest - least) * scale).ceil().min(1e30);
            let starts = starts(steps as i128 + 1);
            offsets.extend(starts.iter().map(|&start| offset(least - start as f64 / scale)));
            if avoids_markers && !is_multiple && grid.is_none() {
                let half = |&start: &i128| offset(least - (start as f64 + 0.5) / scale);
                offsets.extend(starts.iter().map(half));
            }
        }
        offsets.dedup();
        Ok(offsets)
    }
}

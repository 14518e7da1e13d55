//! For each scale the smallest type that holds the values, and an offset.

use std::iter;

use anyhow::{Context, bail};
use recast_kernels::{ElementType, Rounding, Scalar};

use super::candidate::{Candidate, Placement, Promise, ScaleCandidate, factor};
use super::chooser::Chooser;
use crate::error::Result;
use crate::options::NanTo;
use crate::round::rounder::Rounder;
use crate::scan::lattice::Lattice;
use crate::scan::number::{integer, integer_range, scalar};
use crate::scan::survey::Survey;

/// A scale is made finer by at most this many units in the last place; about every second one works.
const FINER_SCALES: u64 = 32;

/// Up to this many reserved codes, every number of them is tried; of more, as many missing markers need, this many.
const FEW_RESERVED: usize = 64;
const RESERVATIONS: usize = 8;

/// The integer types, smallest first and unsigned before signed.
const INTEGER_TYPES: [[ElementType; 2]; 4] = [
    [ElementType::UInt8, ElementType::Int8],
    [ElementType::UInt16, ElementType::Int16],
    [ElementType::UInt32, ElementType::Int32],
    [ElementType::UInt64, ElementType::Int64],
];

/// The numbers of codes, up to the largest, that are left free in turn: all if they are few, or else some at even distances.
pub(super) fn reservations(most: usize) -> impl Iterator<Item = usize> {
    let count = if most <= FEW_RESERVED { most } else { RESERVATIONS };
    (0..=count).map(move |index| index * most / count.max(1))
}

impl Chooser<'_> {
    /// The candidates, coarsest first, before any is tried; an item is an error if a scale gives none.
    pub(super) fn untried(&self) -> Box<dyn Iterator<Item = Result<Candidate>> + '_> {
        if self.options.is_plain() {
            let Survey { element_type, markers, fill_values, fill_value, .. } = self.survey;
            let ways = Rounder::candidates(*element_type, self.options, markers, fill_values);
            return Box::new(ways.map(|way| Candidate::plain(way, *element_type, *fill_value)));
        }
        Box::new(self.promises().iter().flat_map(|&promise| self.with_promise(promise)))
    }

    /// The candidates that keep a promise; one, an error, if there are no scales.
    fn with_promise(&self, promise: Promise) -> Box<dyn Iterator<Item = Result<Candidate>> + '_> {
        // None of the values to come may decode to a marker.
        let avoids_markers = promise != Promise::Surveyed && !self.options.is_explicit();
        let with = move |scale| ScaleCandidate { promise, avoids_markers, ..scale };
        match self.scale_candidates(promise) {
            Ok(scales) => {
                Box::new(scales.into_iter().flat_map(move |one| self.with_scale(with(one))))
            }
            Err(error) => Box::new(iter::once(Err(error))),
        }
    }

    /// The candidates with a scale: one, or another besides if values lie next to a missing marker.
    fn with_scale(&self, scale: ScaleCandidate) -> Vec<Result<Candidate>> {
        let first = self.finer_or_own(scale);
        let is_risky = first.as_ref().is_ok_and(|first| first.may_decode_to_marker);
        let again = ScaleCandidate { avoids_markers: true, ..scale };
        let second = (is_risky && !self.options.is_explicit()).then(|| self.finer_or_own(again));
        [first].into_iter().chain(second).collect()
    }

    /// As [`Self::fitted`]. If the error bound allows it, the scale is made finer by a few units in its last
    /// place when the fill value then needs no first cast.
    fn finer_or_own(&self, own: ScaleCandidate) -> Result<Candidate> {
        let candidate = self.fitted(own)?;
        let may_be_finer = self.is_free(&candidate) && !self.takes_multiples(&candidate);
        let Some(scale) = own.scale.filter(|_| may_be_finer && candidate.has_remapped()) else {
            return Ok(candidate);
        };
        let target = candidate.placement.target;
        let mut finer = (1..=FINER_SCALES).filter_map(|units| {
            // A computed scale is positive, so the next bits are the next greater number.
            let scale = Scalar::from_bits(scale.element_type(), scale.bits() + units);
            self.fitted(ScaleCandidate { scale: Some(scale), ..own }).ok()
        });
        let spared = |other: &Candidate| !other.has_remapped() && other.placement.target == target;
        Ok(finer.find(spared).unwrap_or(candidate))
    }

    /// Finds the smallest type, and an offset, for a scale.
    fn fitted(&self, own: ScaleCandidate) -> Result<Candidate> {
        let ScaleCandidate { scale, grid, target, offset, promise, avoids_markers } = own;
        let targets = match target.or(self.options.data_type) {
            Some(target) => vec![[target; 2]],
            None => self.narrower_integers(scale),
        };
        let mut refusal = None;
        for pair in targets {
            let mut pair = pair.to_vec();
            pair.dedup();
            // The simplest offset of each; doing without an offset is worth more than the sign.
            let (mut simplest, mut others) = (Vec::new(), Vec::new());
            for target in pair {
                let offsets = match offset {
                    Some(offset) => vec![Some(offset)],
                    None => self.offsets(&own, target)?,
                };
                let is_compact = false;
                let mut placements = offsets.into_iter().map(|offset| Placement {
                    offset,
                    scale,
                    target,
                    grid,
                    promise,
                    avoids_markers,
                    is_compact,
                });
                simplest.extend(placements.next());
                others.extend(placements);
            }
            // An offset to the middle of a signed type leaves room on both sides, and keeps intermediate
            // results small.
            others.sort_by_key(|placement| !placement.target.is_signed());
            // The widest type's first refusal is the easiest to understand.
            let mut refused = None;
            let mut bind = |placement: Placement| match self.bind(placement) {
                Ok(candidate) => Some(candidate),
                Err(error) => {
                    refused.get_or_insert(error);
                    None
                }
            };
            // Both signs may work; take the one that leaves more room.
            let roomier = |found: Candidate, other: Candidate| {
                let is_enough = self.options.is_explicit() || found.is_roomy();
                if is_enough || other.room() <= found.room() { found } else { other }
            };
            let found = simplest.into_iter().filter_map(&mut bind).reduce(roomier);
            if let Some(candidate) = found.or_else(|| others.into_iter().find_map(bind)) {
                return Ok(candidate);
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
            return INTEGER_TYPES.to_vec();
        }
        let narrower = INTEGER_TYPES.into_iter().filter(|[one, _]| one.size() < source.size());
        narrower.chain([[source; 2]]).collect()
    }

    /// Refuses a scale that gives the data more steps than a type has.
    fn refuse_too_many(&self, scale: Option<Scalar>, target: ElementType) -> Result<()> {
        if self.options.is_explicit() || !target.is_integer() {
            return Ok(());
        }
        let steps = self.extent() * factor(scale).abs();
        let values = 2_f64.powi(target.bits() as i32);
        if steps >= values {
            bail!("it takes {steps:.0} steps, and {target} has {values} values");
        }
        Ok(())
    }

    /// The offsets to try with a scale and a stored type, the simplest first.
    pub(super) fn offsets(
        &self,
        scale: &ScaleCandidate,
        target: ElementType,
    ) -> Result<Vec<Option<Scalar>>> {
        let ScaleCandidate { scale, grid, avoids_markers, .. } = *scale;
        if self.options.is_explicit() {
            let offset = self.options.offset.as_ref();
            let offset = offset.map(|offset| offset.to_scalar(self.working)).transpose();
            return Ok(vec![offset.context("--offset")?]);
        }
        let is_one_value = self.extent() == 0.0 && self.options.precision.is_none();
        if (self.options.auto || is_one_value)
            && scale.is_none()
            && !self.working.is_integer()
            && target.is_integer()
        {
            return Ok(vec![Some(self.least).filter(|least| !least.is_zero())]);
        }
        let mut offsets = vec![None];
        let Some((lowest, highest)) = integer_range(target) else { return Ok(offsets) };
        let reserved = self.survey.reserved_codes();
        let is_value =
            |fill: &&Scalar| self.is_within(**fill) && !self.survey.markers.contains(**fill);
        // With steps that are a fraction of a grid's, or a grid that does not begin at 0, the offset is on the grid.
        let coarse = |grid: &Lattice| grid.origin != 0.0 || grid.step * factor(scale) > 1.5;
        let grid = grid.filter(coarse);
        if grid.is_some_and(|grid| grid.origin != 0.0) {
            offsets.clear();
        }
        for fill in self.survey.fill_values.iter().filter(is_value).filter(|_| grid.is_none()) {
            offsets.extend(self.working(*fill).map(Some));
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
            let low = reservations(reserved).map(|codes| lowest + codes as i128);
            let next_to = taken.map(|taken| [taken + 1, taken - count]);
            [middle.clamp(lowest, highest)]
                .into_iter()
                .chain(low)
                .chain(next_to.into_iter().flatten())
                .collect::<Vec<i128>>()
        };
        if let (None, Some((least, greatest))) =
            (scale, integer(self.least).zip(integer(self.greatest)))
        {
            let starts = starts(greatest - least + 1);
            let offset = |start| scalar(least - start, self.working).map(Some);
            offsets.extend(starts.into_iter().filter_map(offset));
        } else {
            let least = self.least.to_f64();
            let scale = factor(scale);
            // If decoded values must be multiples of a step, the offset is one too.
            let is_multiple = self.options.pow2 || self.options.precision.is_some();
            let offset = |number: f64| {
                let number = match grid {
                    Some(grid) => grid.below(number),
                    None if is_multiple => (number * scale).floor() / scale,
                    // From there on in whole steps, decoded values are whole, too.
                    None if self.survey.element_type.is_integer() => number.round(),
                    None => number,
                };
                self.working_scalar(number, Rounding::NearestEven)
            };
            offsets.push(offset(least.floor()));
            // Limited so that more can be added; no type has this many.
            let steps = (self.extent() * scale).ceil().min(1e30);
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

//! Moves the values inside a type so that they compress best and have room on both sides.

use recast_kernels::{ElementType, Rounding, Scalar};

use super::bind::Place;
use super::chooser::Chooser;
use super::packing::Packing;
use super::place::SMALLEST_FIRST;
use crate::options::NanTo;
use crate::scan::number::integer;

/// The position of a packing's values in a type of its size: as near to the middle as shifts by whole units of the
/// highest byte allow. Such shifts make no difference to a compressor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    /// The steps from a multiple of that unit up to the stored smallest value.
    steps: f64,
    /// Whether the offset is a whole number of steps, so that decoded values are multiples of one.
    is_multiple: bool,
}

/// The signed type with the size of a packing's. With the values in its middle, the offset is in the middle of the
/// data, where the arithmetic is most precise.
fn signed(packing: &Packing) -> Option<ElementType> {
    let size = packing.chain.encoded_type().size();
    let mut types = SMALLEST_FIRST.into_iter().flatten();
    types.find(|target| target.size() == size && target.is_signed())
}

/// The steps between two codes of a type that differ in the highest byte only.
fn unit_of_highest_byte(target: ElementType) -> f64 {
    2_f64.powi(target.bits() as i32 - 8).max(1.0)
}

impl Chooser<'_> {
    /// Other positions of the values in a type of the same size. The position decides how often the high byte of
    /// neighbouring values changes, and so how well they compress.
    pub(crate) fn positions(&self, packing: &Packing, is_precise: bool) -> Vec<Position> {
        let count = self.extent() * packing.scale.map_or(1.0, Scalar::to_f64);
        // At the low end; with a change of the high byte in the middle of the range; and between.
        let centred = (128.0 - count / 2.0).rem_euclid(256.0).round();
        let steps = (0..8).map(|eighth| f64::from(eighth * 32)).chain([centred]);
        let is_multiple = self.takes_multiples(packing);
        let mut positions: Vec<Position> =
            steps.map(|steps| Position { steps, is_multiple }).collect();
        if unit_of_highest_byte(packing.chain.encoded_type()) <= 1.0 {
            // In one byte, all positions are equivalent.
            positions.truncate(1);
        }
        if is_multiple && !is_precise && self.options.precision.is_none() {
            positions.push(Position { steps: 0.0, is_multiple: false });
        }
        positions
    }

    /// Positions moved by part of a step: the best place for step boundaries is not known.
    pub(crate) fn fractional_offsets(position: Position) -> Vec<Position> {
        let eighths =
            (1..8).filter(|_| !position.is_multiple).map(|eighth| f64::from(eighth) / 8.0);
        eighths.map(|shift| Position { steps: position.steps + shift, ..position }).collect()
    }

    /// The scales to try at a position, coarsest first: the packing's own, and for a small array all coarser ones that
    /// keep the bound if the arithmetic rounds less than its worst case.
    pub(crate) fn scales_at(
        &self,
        packing: &Packing,
        position: Position,
        is_small: bool,
    ) -> Vec<Scalar> {
        // Of integers, only steps of a whole number keep the bound.
        let may_differ =
            is_small && !position.is_multiple && !self.survey.element_type.is_integer();
        let bound = self.options.max_abs_error.filter(|_| may_differ);
        let Some(bound) = bound else { return packing.scale.into_iter().collect() };
        let shares = (0..64).map(|share| f64::from(share) / 64.0);
        let mut scales: Vec<Scalar> = shares
            .filter_map(|share| self.scale_within(bound, self.rounding(share, 2.0 * share)))
            .chain(self.safe_scales(bound, packing.promise))
            .collect();
        scales.dedup();
        scales
    }

    /// The same packing in the type of the other sign, if that leaves more room.
    pub(crate) fn with_other_sign(&self, packing: &Packing) -> Option<Packing> {
        let target = packing.chain.encoded_type();
        let is_other = |other: &ElementType| other.size() == target.size() && *other != target;
        let mut types = SMALLEST_FIRST.into_iter().flatten();
        let target = types.find(is_other).filter(|_| self.options.data_type.is_none())?;
        let place = Place { target, ..Place::of(packing) };
        let other = self.bind(place).ok().filter(|other| !other.has_remapped())?;
        (other.room() > packing.room()).then_some(other)
    }

    /// The same packing with the codes of NaN and special values next to those of the data; none if the options name
    /// codes, or the type has none.
    pub(super) fn compact(&self, packing: &Packing) -> Option<Packing> {
        let target = packing.chain.encoded_type();
        if self.options.is_explicit() || self.options.nan_to != NanTo::Auto || target.is_float() {
            return None;
        }
        let place = Place { is_compact: true, ..Place::of(packing) };
        self.bind(place).ok().filter(|other| other.codecs != packing.codecs)
    }

    /// A packing with this scale and its values at another position; none if it would be more complicated.
    pub(crate) fn moved(
        &self,
        packing: &Packing,
        scale: Scalar,
        position: Position,
    ) -> Option<Packing> {
        let target = self.options.data_type.or_else(|| signed(packing))?;
        let step = 1.0 / scale.to_f64();
        let middle = integer(Scalar::min(target))? + integer(Scalar::max(target))?;
        let (middle, unit) = (middle as f64 / 2.0, unit_of_highest_byte(target));
        let first = middle - self.extent() / step / 2.0;
        let first = position.steps + ((first - position.steps) / unit).round() * unit;
        let offset = self.least.to_f64() - first * step;
        let offset = match packing.grid {
            _ if !position.is_multiple => offset,
            Some(grid) => grid.nearest(offset),
            None => (offset / step).round() * step,
        };
        // Half of 1 more would be half a step and a half away from an integer.
        let offset = if self.survey.element_type.is_integer() { offset.round() } else { offset };
        let offset = match self.working_scalar(offset, Rounding::NearestEven) {
            None if offset != 0.0 => return None,
            offset => offset,
        };
        let place = Place { offset, scale: Some(scale), target, ..Place::of(packing) };
        self.bind(place).ok().filter(|other| !other.has_remapped())
    }

    /// Whether the values of a packing may move inside a type.
    pub(crate) fn may_move(&self, packing: &Packing) -> bool {
        let is_fixed = self.options.is_explicit()
            || self.options.auto
            || self.options.pow2
            || self.working.is_integer()
            || packing.chain.encoded_type().is_float();
        packing.scale.is_some() && !is_fixed
    }

    /// Whether decoded values must be multiples of a step.
    fn takes_multiples(&self, packing: &Packing) -> bool {
        packing.grid.is_some() || self.options.precision.is_some()
    }
}

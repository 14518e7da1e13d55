//! Room for later values: the range that codecs can store, the free codes on both sides of the data, and a promised
//! range.

use std::iter::successors;

use anyhow::bail;
use recast_kernels::{ElementType, Format, OutOfRange, Rounding, Scalar};
use zarr_recast::{BindOptions, Chain, Codec};

use super::candidate::{Candidate, Placement, Promise, factor};
use super::chooser::{Chooser, unit_roundoff};
use crate::error::Result;
use crate::options::is_power_of_two;
use crate::scan::grid::Distance;
use crate::scan::number::{
    comes_back, decoded, encoded, integer, integer_range, neighbours, order, scalar,
};
use crate::scan::survey::{Survey, union};
use crate::text::measured;

/// The range of values that codecs can store: the decoded ends of the stored type, without the codes that maps
/// give to missing values. `None` without codecs, or if the ends do not decode.
pub(crate) fn storable(source: ElementType, codecs: &[Codec]) -> Option<(Scalar, Scalar)> {
    if codecs.is_empty() {
        return None;
    }
    let mut entries = 0;
    let mut without_maps = codecs.to_vec();
    for codec in &mut without_maps {
        if let Codec::CastValue(cast) = codec {
            let map = cast.scalar_map.take();
            entries += map.and_then(|map| map.decode).map_or(0, |decode| decode.len());
        }
    }
    let bind = |codecs: &[Codec]| Chain::bind(source, None, codecs, &BindOptions::default()).ok();
    let (chain, plain) = (bind(codecs)?, bind(&without_maps)?);
    let encoded = chain.encoded_type();
    // A map may use the codes at an end.
    let from_end = |end: Scalar, inward: i128| {
        let inner = (0..=entries as i128)
            .filter_map(|steps| scalar(integer(end)? + steps * inward, encoded));
        let stored = inner.chain([end].into_iter().filter(|end| !end.element_type().is_integer()));
        // Nearest to the end's value, one that codes are found for: that value may be rounded outwards.
        let with_code = |value: Scalar| {
            let near = neighbours(value.to_f64(), source, 4).into_iter().map(Scalar::from);
            let near = near.filter_map(|near| {
                near.cast(source, Rounding::NearestEven, OutOfRange::Error).ok()
            });
            [value].into_iter().chain(near).find(|&value| comes_back(&chain, value))
        };
        let value = |code: Scalar| {
            let value = decoded(&plain, code).filter(|value| value.is_finite())?;
            (decoded(&chain, code) == Some(value)).then(|| with_code(value)).flatten()
        };
        stored.into_iter().find_map(value)
    };
    // If the stored type reaches beyond the array's type, the ends of the array's type count.
    let own_ends = [Scalar::min(source), Scalar::max(source)];
    let own_ends = own_ends.into_iter().filter(|&end| comes_back(&plain, end));
    let ends = [from_end(Scalar::min(encoded), 1), from_end(Scalar::max(encoded), -1)];
    let mut values: Vec<Scalar> = ends.into_iter().flatten().chain(own_ends).collect();
    values.sort_by(|&a, &b| order(a, b));
    // A negative scale reverses the range.
    match *values.as_slice() {
        [least, .., greatest] => Some((least, greatest)),
        _ => None,
    }
}

impl Candidate {
    /// Whether a value of the range to store has a code, and is not clamped or wrapped.
    pub(crate) fn is_in_range(&self, value: Scalar) -> bool {
        encoded(self.range_checked.as_ref().unwrap_or(&self.chain), value).is_some()
    }

    /// What a value decodes to.
    pub(crate) fn decoded_value(&self, value: Scalar) -> Option<Scalar> {
        let bytes = self.decoded(&value.to_ne_bytes()).ok()?;
        Scalar::from_ne_bytes(self.chain.decoded_type(), &bytes)
    }

    /// The range of values that the codecs can store, with those of a survey that they round to their last code. Without
    /// room, there are only these: beyond them lie the codes of missing values, and differences that do not fit.
    pub(crate) fn storable(&self, survey: &Survey, has_room: bool) -> Option<(Scalar, Scalar)> {
        let all = storable(survey.element_type, &self.codecs)?;
        let ends = survey.to_store().into_iter().flat_map(|(least, greatest)| [least, greatest]);
        let ends = ends.filter(|&end| self.is_in_range(end)).map(|end| Some((end, end)));
        ends.fold(has_room.then_some(all), union)
    }

    /// The codes that the data leave free below and above.
    fn free_codes(&self) -> Option<(i128, i128)> {
        let (lowest, highest) = self.code_range?;
        let (first, last) = integer_range(self.placement.target)?;
        Some((lowest - first, last - highest))
    }

    /// The smaller number of codes that the data leave free on one side; 0 if it is not known.
    pub(super) fn room(&self) -> i128 {
        self.free_codes().map_or(0, |(below, above)| below.min(above))
    }

    /// Whether there is room on both sides: each has at least half of an even share.
    pub(crate) fn is_roomy(&self) -> bool {
        self.free_codes().is_none_or(|(below, above)| 4 * below.min(above) >= below + above - 1)
    }
}

impl Chooser<'_> {
    /// The promises to try, the widest first.
    pub(super) fn promises(&self) -> &'static [Promise] {
        if self.survey.promised.is_some() {
            &[Promise::Range]
        } else if self.options.is_for_more() {
            &[Promise::Storable, Promise::Range]
        } else {
            &[Promise::Surveyed]
        }
    }

    /// Refuses codecs that do not keep the bound for all values that are promised it.
    pub(super) fn check_promise(&self, placement: &Placement) -> Result<()> {
        if placement.promise == Promise::Surveyed {
            return Ok(());
        }
        match (self.excess_anywhere(placement), self.survey.promised) {
            (None, _) => Ok(()),
            (Some(error), Some((first, last))) => {
                bail!("--range: some values from {first} to {last} would be off by {error}")
            }
            (Some(error), None) => {
                let (first, last) = (self.least, self.greatest);
                bail!("some values to come from {first} to {last} would be off by {error}")
            }
        }
    }

    /// Whether every value of the range keeps the bound, and none decodes to a missing marker.
    pub(super) fn is_proven(&self, candidate: &Candidate) -> bool {
        if candidate.rounder.is_some() {
            return self.options.max_rel_error.is_none();
        }
        let placement = Placement { promise: Promise::Range, ..candidate.placement };
        candidate.relative_from.is_none()
            && !candidate.may_decode_to_marker
            && self.excess_anywhere(&placement).is_none()
    }

    /// Whether every surveyed value keeps the bound, and none decodes to a missing marker.
    pub(super) fn is_proven_for_seen(&self, candidate: &Candidate) -> bool {
        let is_kept = |error: Distance| {
            self.options.max_abs_error.is_some_and(|bound| error.greatest <= bound)
        };
        !candidate.may_decode_to_marker && self.error_of_guess(candidate).is_some_and(is_kept)
    }

    /// The error of a surveyed value, if it certainly exceeds the bound.
    pub(super) fn certain_excess(&self, candidate: &Candidate) -> Option<f64> {
        let error = self.error_of_guess(candidate)?.least;
        self.options.max_abs_error.filter(|&bound| error > bound).map(|_| error)
    }

    /// The largest possible error of a promised value, if it exceeds the bound: half a step and the rounding of the
    /// arithmetic.
    pub(super) fn excess_anywhere(&self, placement: &Placement) -> Option<String> {
        let Placement { offset, scale, target, promise, .. } = *placement;
        let factor = factor(scale).abs();
        let unit = unit_roundoff(self.working);
        let (mut distance, mut magnitude) = (self.distance_from(offset), self.magnitude());
        if promise == Promise::Storable && target.is_integer() {
            let most = |element_type| Scalar::max(element_type).to_f64();
            let lowest = Scalar::min(target).to_f64().abs();
            let storable = (lowest.max(most(target)) / factor).min(most(self.working));
            let from = offset.map_or(0.0, |offset| offset.to_f64().abs());
            distance = distance.max(storable);
            magnitude = magnitude.max(storable + from);
        }
        let arithmetic = self.arithmetic(placement, distance, magnitude);
        let share = self.options.errors_in_a_step();
        let relative = 2.0 * unit_roundoff(target) / share;
        if let Some(bound) = self.options.max_rel_error {
            let error = relative + 2.0 * unit;
            // From half of 1 on, the nearest integer may be twice as far away.
            let is_rounded = self.survey.element_type.is_integer() && error * magnitude >= 0.5;
            let error = if is_rounded { 2.0 * error } else { error };
            let is_kept = error <= bound && offset.is_none();
            let is_too_small =
                self.least_magnitude() > 0.0 && self.relative_from(placement).is_some();
            let what = || format!("{} of themselves", measured(error));
            return (!is_kept)
                .then(what)
                .or_else(|| is_too_small.then(|| "more than the bound".to_owned()));
        }
        let bound = self.options.max_abs_error?;
        if promise != Promise::Storable && self.extent() == 0.0 {
            let back = placement.scaled(self.least).ok().and_then(|scaled| {
                placement.unscaled(self.working(placement.code(scaled, self.options.rounding)?)?)
            });
            if back.is_some_and(|back| back.equals(self.least)) {
                return None;
            }
        }
        let is_integer = self.survey.element_type.is_integer();
        if is_integer && target.is_integer() {
            // From a whole number on in steps of whole numbers, it suffices that the arithmetic does not round to the next one.
            // Directed rounding takes what is just beside a code a whole step away, unless the arithmetic is exact: powers of
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
        let error = self.rounded_error(of_code + arithmetic);
        (error > bound).then(|| measured(error))
    }

    /// The largest error of decoded values, once they are rounded to their own type, if it is so large before.
    fn rounded_error(&self, error: f64) -> f64 {
        if self.survey.element_type.is_integer() {
            return (error + 0.5).floor();
        }
        let unit = self.unit_of_decoded();
        if unit == 0.0 || error == 0.0 {
            return error;
        }
        let greatest = self.magnitude() + error;
        if greatest > Scalar::max(self.survey.element_type).to_f64() {
            return f64::INFINITY;
        }
        // Both are multiples of one of these spacings. Next to a power of two, that of the decoded value may be twice the other.
        let widest = 2.0 * unit * 2_f64.powi(greatest.log2().floor() as i32);
        let spacings = successors(Some(widest), |spacing| Some(spacing / 2.0));
        let relevant = spacings.take_while(|spacing| *spacing > error * 1e-6);
        let rounded = relevant.map(|spacing| {
            let within = spacing * (error / spacing + 0.5).floor();
            let is_across = spacing < widest && error >= spacing;
            let across = spacing * (1.0 + 2.0 * (error / (2.0 * spacing)).floor());
            if is_across { within.max(across) } else { within }
        });
        // Near 0, the spacing of the decoded value may be any number of times the other.
        rounded.fold(error * (1.0 + 2.0 * unit), f64::max)
    }

    /// The least magnitude in the range; 0 if that has 0 or values of both signs.
    fn least_magnitude(&self) -> f64 {
        let range = union(self.survey.to_store(), self.survey.range_of_values());
        let range =
            range.map_or((0.0, 0.0), |(least, greatest)| (least.to_f64(), greatest.to_f64()));
        let (least, greatest) = range;
        if least <= 0.0 && greatest >= 0.0 { 0.0 } else { least.abs().min(greatest.abs()) }
    }

    /// The magnitude from which values keep a relative bound, if there are smaller ones in the range besides 0: near 0 the numbers
    /// of a floating-point type are equally far apart.
    pub(super) fn relative_from(&self, placement: &Placement) -> Option<Scalar> {
        let Placement { scale, target, .. } = *placement;
        let bound = self.options.max_rel_error?;
        let factor = factor(scale).abs();
        // The least number other than 0, and the least one of full precision.
        let smallest = |element_type| {
            Some((nth(element_type, 1)?, nth(element_type, 1 << mantissa_bits(element_type)?)?))
        };
        let source = self.survey.element_type;
        let (spacing, normal) = smallest(target)?;
        let arithmetic = if scale.is_some() { 2.0 * unit_roundoff(self.working) } else { 0.0 };
        let share = self.options.errors_in_a_step();
        let of_target = normal.min(spacing / (share * (bound - arithmetic).max(0.0))) / factor;
        let of_working = smallest(self.working).filter(|_| scale.is_some());
        let of_working = of_working.map_or(0.0, |(_, normal)| normal / factor.min(1.0));
        let from = Scalar::from(of_target.max(of_working));
        let from = from.cast(source, Rounding::TowardsPositive, OutOfRange::Clamp).ok()?;
        let least = nth(source, 1)?.max(self.least_magnitude());
        (from.to_f64() > least).then_some(from)
    }

    /// How far the range reaches from an offset.
    fn distance_from(&self, offset: Option<Scalar>) -> f64 {
        let from_offset = |end: Scalar| (end.to_f64() - offset.map_or(0.0, Scalar::to_f64)).abs();
        from_offset(self.least).max(from_offset(self.greatest))
    }

    /// The largest rounding error of a value at most so far from the offset and from 0, encoded and decoded.
    fn arithmetic(&self, placement: &Placement, distance: f64, magnitude: f64) -> f64 {
        let Placement { offset, scale, .. } = *placement;
        let factor = factor(scale).abs();
        // Encoding computes a difference and a product, decoding a quotient and a sum.
        let of_offset = if offset.is_some() { distance + magnitude } else { 0.0 };
        let of_scale = if is_power_of_two(factor) { 0.0 } else { 2.0 * distance };
        unit_roundoff(self.working) * (of_offset + of_scale)
    }

    /// Bounds for the largest error of a surveyed value with a guessed scale, from the survey's grids.
    fn error_of_guess(&self, candidate: &Candidate) -> Option<Distance> {
        let Placement { offset, scale, grid, .. } = candidate.placement;
        let factor = scale.filter(|_| grid.is_some())?.to_f64();
        // In the working type, the scale may differ from the round number.
        let is_it = |&round: &f64| self.working_scalar(round, Rounding::NearestEven) == scale;
        let round = self.round_scales().find(is_it)?;
        let Distance { least, greatest } = self.survey.grids.distance(round, self.magnitude())?;
        let from_grid = |number: f64| (number - (number * round).round() / round).abs();
        let of_offset = from_grid(offset.map_or(0.0, Scalar::to_f64));
        let computed = 4.0 * f64::EPSILON + (factor - round).abs() / round;
        let distance = self.distance_from(offset);
        let arithmetic = self.arithmetic(&candidate.placement, distance, self.magnitude());
        let rounded = arithmetic + (computed + self.unit_of_decoded()) * self.magnitude();
        // Clamped values become the ends of the range.
        let ends = self.survey.limits.as_ref().map(|limits| [limits.least, limits.greatest]);
        let of_ends = ends.into_iter().flatten().map(|end| from_grid(end.to_f64()));
        let greatest = of_ends.fold(greatest, f64::max) + of_offset + rounded;
        // Directed rounding may move a value to the next point of the grid, a step away.
        let is_to_own_point = self.options.errors_in_a_step() == 2.0 && greatest * factor < 0.5;
        let least = if ends.is_some() { 0.0 } else { least - of_offset - rounded };
        Some(Distance { least, greatest: if is_to_own_point { greatest } else { f64::INFINITY } })
    }

    /// Refuses codecs that cannot store the ends of the promised range, even if values out of range may be clamped
    /// or wrapped.
    pub(super) fn check_promised_ends(&self, placement: &Placement) -> Result<()> {
        let Some((least, greatest)) = self.survey.promised else { return Ok(()) };
        let (target, rounding) = (placement.target, self.options.rounding);
        for end in [least, greatest] {
            let scaled = self.working(end).and_then(|end| placement.scaled(end).ok());
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
}

/// The number that a few bits stand for.
fn nth(element_type: ElementType, bits: u64) -> Option<f64> {
    Some(Scalar::from_bits(element_type, bits).to_f64()).filter(|number| number.is_finite())
}

/// The bits of a mantissa; none for integers.
fn mantissa_bits(element_type: ElementType) -> Option<u32> {
    match element_type.format() {
        Format::Float(format) => Some(format.mantissa_bits),
        _ => None,
    }
}

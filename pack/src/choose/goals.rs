//! What is asked for, as a bound of the error of every element. A bound of a mean is one of all elements together: it allows
//! a largest error that the sample tells, and that becomes smaller if the elements turn out to exceed the mean.

use recast_kernels::{ElementType, Scalar};

use crate::check::comparison::Comparison;
use crate::check::exact_sum::ExactSum;
use crate::error::{Result, is_of_array};
use crate::options::{PackOptions, Reached, Requirement};
use crate::scan::survey::Survey;

/// A first guess leaves this part of a mean bound for elements outside the sample.
const MARGIN: f64 = 0.985;
/// The sample's errors are computed of so many numbers at most.
const MOST_NUMBERS: usize = 1 << 14;
/// Coarser bounds of the largest error leave too little of the values; in units of their range.
const COARSEST: f64 = 0.25;
/// So many parts of a bound are tried for limits and signs, the last of which is none.
const MOST_PARTS: u32 = 8;
/// A bound that leaves nothing of most values is divided by this.
const MUCH_FINER: f64 = 16.0;
/// So many bounds of the largest error are tried.
const MOST_TRIES: u32 = 24;

/// The goals for some arrays with one survey.
pub(crate) struct Goals<'a> {
    asked: &'a PackOptions,
    /// The unit of errors over the range.
    range: f64,
    /// The bound of every element that is tried.
    way: Way,
    /// Whether the bound of the error keeps that of the relative error, too, because no value is near 0.
    is_relative_kept: bool,
    /// A relative error with which no mean is exceeded, until it is tried.
    relative: Option<f64>,
    /// A finer bound of the error, if that of the relative error is not kept either.
    finer: Option<f64>,
    tries: u32,
    /// Why a bound does not do, which explains more than why parts of that bound do not.
    first: Option<anyhow::Error>,
}

#[derive(Clone, Copy)]
enum Way {
    /// This part of the bounds that are asked for: finer steps may keep limits and signs.
    Asked(f64),
    /// The largest error with which a mean is expected to be kept.
    Absolute(f64),
    /// The largest relative error with which a mean is kept.
    Relative(f64),
}

/// Elements that together exceed a bound of a mean.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct MeanExceeded {
    text: String,
    /// The allowed error over the measured error.
    ratio: f64,
}

impl<'a> Goals<'a> {
    pub(crate) fn new(asked: &'a PackOptions, survey: &Survey) -> Result<Self> {
        let range = survey.extent_of_error();
        let smallest = survey.range_of_values().map_or(0.0, smallest_magnitude);
        let relative = asked.max_rel_error.map(|bound| bound * smallest);
        let both = asked.absolute_bound(range).zip(relative);
        let is_relative_kept = both.is_some_and(|(absolute, relative)| absolute < relative);
        let mut goals = Self {
            asked,
            range,
            way: Way::Asked(1.0),
            is_relative_kept,
            relative: None,
            finer: None,
            tries: 0,
            first: None,
        };
        if !asked.has_mean_goal() || (asked.max_rel_error.is_some() && !is_relative_kept) {
            return Ok(goals);
        }
        let numbers = survey.sample_numbers()?;
        let every = numbers.len().div_ceil(MOST_NUMBERS).max(1);
        let numbers: Vec<f64> =
            numbers.into_iter().step_by(every).filter(|number| number.is_finite()).collect();
        let share = share_of_sample(survey);
        let count = numbers.len().max(1) as f64;
        let magnitude = share * numbers.iter().map(|number| number.abs() / count).sum::<f64>();
        let mean = asked.mean_bound(range, magnitude).unwrap_or_default();
        goals.relative = (magnitude > 0.0).then_some(MARGIN * mean / magnitude);
        goals.way = Way::Absolute(largest_error(&numbers, mean / share, range));
        Ok(goals)
    }

    /// The options with the bounds that follow from range and means.
    pub(crate) fn options(&self) -> PackOptions {
        let absolute = self.asked.absolute_bound(self.range);
        let (absolute, relative) = match self.way {
            // Then values come back as they are.
            Way::Asked(0.0) => (Some(0.0), None),
            Way::Asked(part) => {
                let relative = self.asked.max_rel_error.filter(|_| !self.is_relative_kept);
                (absolute.map(|bound| part * bound), relative.map(|bound| part * bound))
            }
            Way::Absolute(bound) => (Some(absolute.map_or(bound, |own| own.min(bound))), None),
            Way::Relative(bound) => (absolute, Some(bound)),
        };
        PackOptions { max_abs_error: absolute, max_rel_error: relative, ..self.asked.clone() }
    }

    /// Takes the reason why no element was lost and yet the goals are not kept, or why no codecs keep them.
    ///
    /// # Errors
    /// The reason, if there is nothing more to try.
    pub(crate) fn advance(&mut self, why: anyhow::Error) -> Result<()> {
        let Some(next) = self.next_way(&why) else {
            // An interruption and a full disk are no matter of bounds.
            let first = self.first.take().filter(|_| is_of_array(&why));
            return Err(first.unwrap_or(why));
        };
        let explains_more = match (self.way, next) {
            (Way::Asked(_), Way::Asked(_)) => true,
            // A bound that follows from a mean is an estimate, and the next one a better estimate.
            (Way::Absolute(_), Way::Absolute(_)) => !why.is::<MeanExceeded>(),
            _ => false,
        };
        if explains_more {
            self.first.get_or_insert(why);
        }
        self.way = next;
        Ok(())
    }

    /// The next bound to try.
    fn next_way(&mut self, why: &anyhow::Error) -> Option<Way> {
        self.tries += 1;
        match (self.way, why.downcast_ref::<MeanExceeded>()) {
            (Way::Absolute(bound), Some(MeanExceeded { ratio, .. })) if bound > 0.0 => {
                let finer = bound * (MARGIN * ratio).clamp(0.05, 0.95);
                Some(Way::Absolute(if self.tries < MOST_TRIES { finer } else { 0.0 }))
            }
            _ if !is_of_array(why) => None,
            (Way::Absolute(bound), None) if bound > 0.0 && self.keeps_sides() => {
                Some(Way::Absolute(if self.tries < MOST_PARTS { bound / 2.0 } else { 0.0 }))
            }
            // Few values are so large that steps everywhere as fine as the others need are too many.
            (Way::Absolute(bound), _) => {
                let relative = self.relative.take().filter(|relative| self.may_be(*relative))?;
                self.finer = (bound > 0.0).then_some(bound / MUCH_FINER);
                Some(Way::Relative(relative))
            }
            // Or they are so coarse that nothing is left of most values.
            (Way::Relative(_), None) => self.finer.take().map(Way::Absolute),
            (Way::Relative(_), Some(_)) => None,
            (Way::Asked(part), _) => self
                .has_finer(part)
                .then_some(Way::Asked(if self.tries < MOST_PARTS { part / 2.0 } else { 0.0 })),
        }
    }

    /// Whether less than a part of the bounds may keep the other requirements.
    fn has_finer(&self, part: f64) -> bool {
        let bound = self.asked.absolute_bound(self.range).or(self.asked.max_rel_error);
        self.keeps_sides() && bound.is_some_and(|bound| bound * part > 0.0)
    }

    fn keeps_sides(&self) -> bool {
        self.asked.limits.is_some() || self.asked.keep_sign
    }

    /// Whether values may have a bound of the relative error.
    fn may_be(&self, relative: f64) -> bool {
        let allows_floats = self.asked.data_type.is_none_or(ElementType::is_float);
        (f64::MIN_POSITIVE..1.0).contains(&relative) && allows_floats && !self.asked.pow2
    }
}

/// Whether the bounds of means are kept.
///
/// # Errors
/// [`MeanExceeded`].
pub(crate) fn judge(reached: &[Reached]) -> Result<()> {
    let Some(exceeded) = reached.iter().find(|one| !one.is_kept) else { return Ok(()) };
    let ratio = exceeded.requirement.bound().unwrap_or_default() / exceeded.reached;
    Err(MeanExceeded { text: exceeded.to_string(), ratio }.into())
}

/// The measured error of each requirement, from a comparison of all elements that has measured all of them.
pub(crate) fn reached(
    requirements: &[Requirement],
    comparison: &Comparison,
    range: f64,
) -> Vec<Reached> {
    let Comparison { sums, broken, wrong, .. } = comparison;
    // Of each element.
    let keeps = |is_kept: bool| *wrong == 0 || is_kept;
    let count = sums.elements as f64;
    let over = |number: f64, unit: f64| if number == 0.0 { 0.0 } else { number / unit };
    let one = |&requirement: &Requirement| {
        let (reached, is_kept) = match requirement {
            Requirement::MaxAbsError(bound) => (sums.max, keeps(sums.max <= bound)),
            Requirement::MaxRelError(bound) => {
                let is_kept = !broken.relative && (bound > 0.0 || sums.max == 0.0);
                (sums.max_relative, keeps(is_kept))
            }
            Requirement::ErrorOverRange(bound) => {
                (over(sums.max, range), keeps(sums.max <= bound * range))
            }
            Requirement::Limits(_) => (sums.max, keeps(!broken.limits)),
            Requirement::KeepSign => (sums.max, keeps(!broken.sign)),
            Requirement::Lossless => (sums.max, keeps(false)),
            Requirement::MaxMeanError(bound) => {
                (sums.mean(), !sums.distances.is_above_product(count.into(), bound))
            }
            Requirement::MeanErrorOverRange(bound) => {
                let unit = ExactSum::product(count, range);
                (over(sums.mean(), range), !sums.distances.is_above_product(unit, bound))
            }
            Requirement::MaxMeanRelError(bound) => {
                let reached = over(sums.distances.value(), sums.magnitudes.value());
                let is_kept = !sums.distances.is_above_product(sums.magnitudes, bound);
                (reached, is_kept && !broken.zero)
            }
        };
        Reached { requirement, reached, is_kept }
    };
    requirements.iter().map(one).collect()
}

/// The part of the elements for which the sample stands: not a fill value of 0 that marks nothing, which the sample leaves
/// out and which comes back.
fn share_of_sample(survey: &Survey) -> f64 {
    let all = survey.elements() - survey.nan.min(survey.elements());
    let all = all.saturating_sub(survey.infinite + survey.missing());
    let zeros: u64 = survey.zero_fills().map(|zero| survey.count(zero)).sum();
    if all == 0 { 1.0 } else { (all.saturating_sub(zeros).max(1)) as f64 / all as f64 }
}

/// The smallest magnitude of values in a range.
fn smallest_magnitude((least, greatest): (Scalar, Scalar)) -> f64 {
    least.to_f64().max(-greatest.to_f64()).max(0.0)
}

/// The largest error that rounding to equal steps may have so that the mean is kept, by some of the numbers.
fn largest_error(numbers: &[f64], mean: f64, range: f64) -> f64 {
    let most = COARSEST * range;
    let target = MARGIN * mean;
    let count = numbers.len() as f64;
    let error = |bound: f64| {
        let step = 2.0 * bound;
        let distance = |number: &f64| (number - (number / step).round_ties_even() * step).abs();
        numbers.iter().map(distance).sum::<f64>() / count
    };
    // Of errors that are spread evenly, the largest is twice the mean.
    let mut bound = 2.0 * target;
    if numbers.is_empty() || bound == 0.0 {
        return bound.min(most.max(0.0));
    }
    // A subnormal number times a factor may be the number.
    while bound > target && bound * 0.97 < bound && error(bound) > target {
        bound *= 0.97;
    }
    // Many values may be exact, such as zeros.
    for growth in [2.0, 1.2, 1.02] {
        let grows = |bound: f64| bound * growth > bound && bound * growth < most;
        while grows(bound) && error(bound * growth) <= target {
            bound *= growth;
        }
    }
    if range > 0.0 { bound.min(most) } else { bound }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_allows_twice_itself_and_more_where_zeros_are_exact() {
        let spread: Vec<f64> =
            (0..10_000).map(|i| (f64::from(i) * 0.754_877_666).fract()).collect();
        let bound = largest_error(&spread, 0.001, 1.0);
        assert!((0.00190..0.00201).contains(&bound), "{bound}");
        let with_zeros: Vec<f64> = spread.iter().map(|&x| if x < 0.75 { 0.0 } else { x }).collect();
        let bound = largest_error(&with_zeros, 0.001, 1.0);
        assert!((0.0075..0.0081).contains(&bound), "{bound}");
        assert_eq!(largest_error(&spread, 100.0, 1.0), 0.25);
        assert_eq!(largest_error(&[], 0.5, 0.0), 0.0);
        // The least numbers, which a factor near 1 does not change.
        let least = f64::from_bits(1);
        let tiny: Vec<f64> = (0..50_u64).map(f64::from_bits).collect();
        for mean in [least, 2.0 * least, 7.0 * least] {
            assert!(largest_error(&tiny, mean, 50.0 * least) <= 50.0 * least);
        }
    }
}

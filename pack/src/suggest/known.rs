//! What is known of an array's values before any bound is tried.

use recast_kernels::{ElementType, Scalar};
use serde::Serialize;

use super::information::{Information, Neighbours};
use crate::array::source::Source;
use crate::error::Result;
use crate::json;
use crate::runtime::Workers;
use crate::scan::counts::Counts;
use crate::scan::lattice::Lattice;
use crate::scan::number::{NumberReader, extent, magnitude, unit_roundoff};
use crate::scan::survey::Survey;

/// A value is on a grid if it is off by no more than its rounding, or by this part of a step.
const NEAR: f64 = 1e-4;
/// A step is at least this many times as long as the rounding of the values.
const LEAST_STEP: f64 = 32.0;
/// The share of the values that are left out at each end of the range to see whether a few stretch it.
const TAIL: f64 = 0.001;
/// Tails stretch a range if they make the range this many times as long.
const STRETCHED: f64 = 4.0;
/// Fewer values than this have no tails.
const LEAST_VALUES: usize = 2000;

/// The facts about the values of a sample.
#[derive(Clone, Debug, Serialize)]
pub struct Known {
    /// Smallest and largest value, without NaN, infinities, missing values and the fill value.
    #[serde(serialize_with = "json::written")]
    pub range: Option<(Scalar, Scalar)>,
    /// The range without a thousandth of the values at each end, if these make it at least four times as long.
    pub range_without_outliers: Option<(f64, f64)>,
    /// How many elements are special. The fill value counts only if it marks nothing.
    #[serde(flatten)]
    pub counts: Counts,
    /// The step of which all values are multiples, except for the rounding of their type.
    pub grid: Option<Lattice>,
    /// The smallest difference of neighbours along the last axis that are not equal.
    pub smallest_difference: Option<f64>,
    /// Whether there are negative zeros, whose sign integers do not keep.
    pub has_negative_zero: bool,
    /// The variance of the values.
    #[serde(skip)]
    pub(crate) variance: f64,
}

impl Known {
    /// Greatest less smallest value.
    pub(crate) fn extent(&self) -> f64 {
        self.range.map_or(0.0, extent)
    }
}

/// The statistics of the values of some blocks.
#[derive(Default)]
struct Statistics {
    count: u64,
    differences: f64,
    squares: f64,
    smallest_difference: Option<f64>,
    has_negative_zero: bool,
    neighbours: Neighbours,
}

impl Statistics {
    fn merge(self, other: Self) -> Self {
        let smallest = self.smallest_difference.into_iter().chain(other.smallest_difference);
        Self {
            count: self.count + other.count,
            differences: self.differences + other.differences,
            squares: self.squares + other.squares,
            smallest_difference: smallest.reduce(f64::min),
            has_negative_zero: self.has_negative_zero || other.has_negative_zero,
            neighbours: self.neighbours.merge(other.neighbours),
        }
    }

    /// Of a block whose missing values are NaN.
    fn of(values: &[f64], shape: &[u64], middle: f64, range: (f64, f64)) -> Self {
        let mut sums = Self { neighbours: Neighbours::of(values, shape, range), ..Self::default() };
        for value in values.iter().filter(|value| value.is_finite()) {
            sums.count += 1;
            sums.differences += value - middle;
            sums.squares += (value - middle).powi(2);
        }
        let row = shape.last().map_or(1, |&extent| extent.max(1) as usize);
        let differences = values
            .chunks(row)
            .flat_map(|row| row.iter().zip(row.iter().skip(1)).map(|(a, b)| (b - a).abs()));
        sums.smallest_difference =
            differences.filter(|one| *one > 0.0 && one.is_finite()).reduce(f64::min);
        sums
    }
}

/// Reads the values of a sample, and finds the facts that the values show.
///
/// # Errors
/// A chunk that cannot be read.
pub(crate) fn look(
    sample: &Source,
    survey: &Survey,
    workers: &Workers,
) -> Result<(Known, std::result::Result<Information, String>)> {
    let (least, greatest) =
        survey.range().map_or((0.0, 0.0), |(least, greatest)| (least.to_f64(), greatest.to_f64()));
    let reader = NumberReader::new(survey.element_type)?;
    let mut typical = survey.sample_numbers()?;
    typical.sort_by(f64::total_cmp);
    let inner = without_tails(&typical)
        .filter(|inner| (inner.1 - inner.0) * STRETCHED <= greatest - least && inner.1 > inner.0);
    let range = inner.unwrap_or((least, greatest));
    let reserved: Vec<f64> = survey.reserved_values.numbers(&reader)?;
    let middle = least / 2.0 + greatest / 2.0;
    let work = |number: u64| -> Result<Statistics> {
        let region = sample.region(number)?;
        let Some(elements) = sample.read(&region)? else { return Ok(Statistics::default()) };
        let mut values: Vec<f64> = reader.read(&elements)?;
        let has_negative_zero =
            values.iter().any(|value| *value == 0.0 && value.is_sign_negative());
        for value in values.iter_mut().filter(|value| reserved.contains(value)) {
            *value = f64::NAN;
        }
        let of_values = Statistics::of(&values, &region.shape, middle, range);
        Ok(Statistics { has_negative_zero, ..of_values })
    };
    let sums = workers.merge("information", sample.chunks(), work, Statistics::merge)?;
    let count = sums.count.max(1) as f64;
    let variance = (sums.squares / count - (sums.differences / count).powi(2)).max(0.0);
    let fill_is_marker = survey.markers.contains(survey.fill_value) || survey.fill_value.is_nan();
    let counts = survey.counts();
    let known = Known {
        range: survey.range(),
        range_without_outliers: inner,
        counts: Counts { fill: if fill_is_marker { 0 } else { counts.fill }, ..counts },
        grid: grid(survey, &typical),
        smallest_difference: sums.smallest_difference,
        has_negative_zero: sums.has_negative_zero,
        variance,
    };
    let rounding = rounding(survey.element_type, range.0.abs().max(range.1.abs()));
    Ok((known, sums.neighbours.information(range, rounding)))
}

/// The range of sorted values without the outermost ones; none of few values.
fn without_tails(sorted: &[f64]) -> Option<(f64, f64)> {
    let tail = (sorted.len() as f64 * TAIL) as usize;
    let inner = sorted.get(tail..sorted.len() - tail)?;
    inner.first().copied().zip(inner.last().copied()).filter(|_| sorted.len() >= LEAST_VALUES)
}

/// The step of which all values are multiples: a round one if there is any, and else the one that the sample tells.
fn grid(survey: &Survey, typical: &[f64]) -> Option<Lattice> {
    let range = survey.range()?;
    let rounding = rounding(survey.element_type, magnitude(range));
    let is_grid = |step: f64, off: f64| {
        step >= LEAST_STEP * rounding && step <= extent(range) && off <= rounding.max(NEAR * step)
    };
    let round = survey.grids.known().find(|&(scale, off)| is_grid(1.0 / scale, off));
    let round = round.map(|(scale, _)| Lattice::multiples_of(1.0 / scale));
    round.or_else(|| {
        let found = Lattice::of(typical, rounding / 2.0, 0.0)?;
        let off = typical.iter().map(|value| (found.nearest(*value) - value).abs());
        is_grid(found.step, off.fold(0.0, f64::max)).then_some(found)
    })
}

/// How far numbers of this magnitude may be from the exact ones: they were computed, and rounded, in their type.
pub(crate) fn rounding(element_type: ElementType, magnitude: f64) -> f64 {
    2.0 * unit_roundoff(element_type) * magnitude
}

//! Whether a bound leaves anything of the values.

use recast_kernels::ElementType;
use serde::Serialize;

use crate::options::{PackOptions, finite};
use crate::scan::number::{extent, magnitude};
use crate::scan::survey::Survey;
use crate::text::measured;

/// From this part of the range or of the standard deviation on, a bound is coarse.
const COARSE: f64 = 0.1;

/// A bound that exceeds a tenth of the range of the values, or of their standard deviation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CoarseBound {
    /// The bound; of multiples of a step, half of it, as with a scale that was given.
    pub bound: f64,
    /// In units of the range of the values; if all are equal, of their magnitude.
    pub of_range: f64,
    /// In units of the standard deviation of a sample of them; `None` if all of it are equal.
    pub of_deviation: Option<f64>,
}

impl CoarseBound {
    /// `None` if the bound is not coarse.
    pub(crate) fn of(options: &PackOptions, survey: &Survey) -> Option<Self> {
        let step = options.precision.map(|step| step / options.errors_in_a_step());
        let is_integer = options.data_type.is_some_and(ElementType::is_integer);
        let scale = options.scale.as_ref().and_then(finite).filter(|_| is_integer);
        let of_scale = scale.map(|scale| 0.5 / scale.abs());
        let bound = options.max_abs_error.or(step).or(of_scale)?;
        let range = survey.range()?;
        let unit = match extent(range) {
            0.0 => magnitude(range),
            extent => extent,
        };
        // Integers that an error below 1 keeps exactly, and an array of zeros.
        let is_exact = survey.element_type.is_integer() && bound < 1.0;
        if is_exact || unit == 0.0 {
            return None;
        }
        let of_deviation = deviation(survey).map(|deviation| bound / deviation);
        let found = Self { bound, of_range: bound / unit, of_deviation };
        (found.of_range.max(of_deviation.unwrap_or_default()) > COARSE).then_some(found)
    }
}

/// The standard deviation of the sample, if its elements are not all equal.
fn deviation(survey: &Survey) -> Option<f64> {
    let numbers = survey.sample_numbers().ok()?;
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / count;
    Some(variance.sqrt()).filter(|deviation| deviation.is_normal())
}

impl std::fmt::Display for CoarseBound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { bound, of_range, of_deviation } = self;
        write!(f, "the bound {bound:?} is {} the range of the values", share(*of_range))?;
        of_deviation.map_or(Ok(()), |of_deviation| {
            write!(f, ", {} their standard deviation", share(of_deviation))
        })
    }
}

/// As "20 % of" or "1.500 times".
fn share(number: f64) -> String {
    if number < 1.0 {
        format!("{:.0} % of", 100.0 * number)
    } else {
        format!("{} times", measured(number))
    }
}

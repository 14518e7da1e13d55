//! Values that were multiplied in float32, such as hundredths computed as `code * 0.01`.
//!
//! `scale_offset` divides by its scale, and no division in float32 gives the same bits for all of them. One in float64
//! does: the product of a code and a float32 is exact there, and the quotient is so close to it that both round to the
//! same float32, unless the product is halfway between two. A scale some units in the last place away then rounds to the
//! right side.

use recast_kernels::ElementType;

use super::grids::grids;
use super::inverse::beside_inverse;
use super::placement::{Promise, Scale};
use super::working::Working;
use crate::error::Result;
use crate::options::{PackOptions, Reader};
use crate::scan::lattice::Lattice;
use crate::scan::survey::Survey;

/// Scales that are tried, in units in the last place from the inverse of the step.
const UNITS: i64 = 64;
/// All codes of the range are tried, if they fit 16 bits.
const MOST_CODES: f64 = 65_536.0;

/// The scale for the step of which all values of the sample are products, if they are the quotients of none and must come
/// back bit for bit.
pub(super) fn scale(
    options: &PackOptions,
    survey: &Survey,
    working: &Working,
    sample: &[u8],
) -> Result<Option<Scale>> {
    let is_asked = options.max_abs_error == Some(0.0)
        && survey.element_type == ElementType::Float32
        && survey.range().is_some()
        && Promise::to_try(options, survey) == [Promise::Surveyed]
        && options.data_type.is_none_or(ElementType::is_integer)
        && !(options.is_explicit() || options.pow2 || options.is_plain());
    if !is_asked || options.readers.contains(&Reader::Gdal) {
        return Ok(None);
    }
    let values = survey.reserved_values.others(survey.element_type, sample)?;
    let values: Vec<f32> = values.into_iter().map(|number| number as f32).collect();
    for Lattice { step, origin } in grids(options, survey, working, 0.0)? {
        let (step, scale) = (step as f32, (1.0 / step) as f32);
        let count = |value: f32| (value / step).round();
        if origin != 0.0 || !step.is_normal() || !scale.is_normal() {
            continue;
        }
        if values.iter().all(|&value| count(value) / scale == value) {
            return Ok(None);
        }
        if values.iter().all(|&value| count(value) * step == value) {
            let ends = [working.least, working.greatest];
            return Ok(scale_for(step, ends.map(|end| f64::from(count(end.to_f64() as f32)))));
        }
    }
    Ok(None)
}

/// The scale by which a division in float64 gives all products of a step and the whole numbers of a range.
fn scale_for(step: f32, [least, greatest]: [f64; 2]) -> Option<Scale> {
    if greatest - least > MOST_CODES {
        return None;
    }
    let codes = || least as i64..=greatest as i64;
    let is_it =
        |scale: &f64| codes().all(|code| (code as f64 / scale) as f32 == (code as f32) * step);
    let grid = Lattice::multiples_of(f64::from(step));
    let scales = beside_inverse(grid.step, ElementType::Float64, UNITS);
    Some(Scale::of_grid(scales.into_iter().find(is_it)?.into(), grid))
}

//! Checks a written array against the original.

use super::chunk_check::Expected;
use super::comparison::{Comparison, Tolerance};
use crate::array::pairs::{Pairs, Stored};
use crate::array::region::Region;
use crate::array::source::Source;
use crate::error::Result;
use crate::runtime::Workers;
use crate::scan::survey::Survey;

/// Reads two arrays of the same type, shape and chunks, and compares them. The original is clamped to the
/// range to keep of its survey.
///
/// # Errors
/// A chunk that cannot be read; a [`Violation`], the first one, if the tolerance is not met.
pub(crate) fn compare(
    original: &Source,
    decoded: &Source,
    survey: &Survey,
    tolerance: Tolerance,
    workers: &Workers,
) -> Result<Comparison> {
    let checker = Expected::of(survey, tolerance).checker()?;
    let work = |region: &Region, [before, after]: Stored| {
        if before.is_none() && after.is_none() {
            // Both are the fill value, which decoding does not change.
            return Ok(Comparison::default());
        }
        let (mut before, after) =
            (original.or_fill(region, before), decoded.or_fill(region, after));
        survey.clamp_elements(&mut before)?;
        checker.compared(region, &before, &after)
    };
    Pairs::new(original, decoded).merge("verify", workers, work, Comparison::merge)
}

//! Checks a written array against the original.

use super::chunk_check::Expected;
use super::comparison::{Comparison, Tolerance};
use crate::array::source::Source;
use crate::error::Result;
use crate::runtime::Workers;
use crate::scan::survey::Survey;

/// Reads two arrays of the same type, shape and chunks, and compares them. The original is clamped to the
/// limits of its survey.
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
    let work = |number| {
        let region = original.region(number)?;
        let (before, after) = (original.read(&region)?, decoded.read(&region)?);
        if before.is_none() && after.is_none() {
            // Both are the fill value, which decoding does not change.
            return Ok(Comparison::default());
        }
        let (mut before, after) =
            (original.or_fill(&region, before), decoded.or_fill(&region, after));
        survey.clamp_elements(&mut before)?;
        checker.compared(&region, &before, &after)
    };
    workers.merge(original.pass("verify"), original.chunks(), work, Comparison::merge)
}

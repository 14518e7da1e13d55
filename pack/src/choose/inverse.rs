//! Searches for the number beside the inverse of a step that decodes as expected. `scale_offset` divides by its scale, where
//! others multiply by the step: the nearest number to the inverse rarely gives the same bits.

use recast_kernels::ElementType;

use crate::check::difference::Differences;
use crate::error::Result;
use crate::scan::number::neighbours;

/// The numbers of a type beside the inverse of a step, nearest first, up to this many units in the last place away.
pub(crate) fn beside_inverse(step: f64, element_type: ElementType, units: i64) -> Vec<f64> {
    neighbours(1.0 / step, element_type, units)
}

/// The first way to decode that differs nowhere from what is expected, or else the first of those with the lowest rank. Ways
/// behind one without a difference are not tried.
pub(crate) fn closest<T, R: Ord>(
    tried: impl IntoIterator<Item = Result<(Differences, T)>>,
    rank: impl Fn(&Differences) -> R,
) -> Result<Option<(Differences, T)>> {
    let mut best: Option<(Differences, T)> = None;
    for way in tried {
        let way = way?;
        if best.as_ref().is_some_and(|best| rank(&best.0) <= rank(&way.0)) {
            continue;
        }
        let is_perfect = way.0.is_none();
        best = Some(way);
        if is_perfect {
            break;
        }
    }
    Ok(best)
}

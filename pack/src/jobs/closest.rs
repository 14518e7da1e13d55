//! The one of several ways to decode that comes closest to what is expected.

use crate::check::difference::Differences;
use crate::error::Result;

/// The first that differs nowhere, or else the first of those with the lowest rank. Those behind it are not tried.
pub(super) fn closest<T, R: Ord>(
    tried: impl IntoIterator<Item = Result<(Differences, T)>>,
    rank: impl Fn(&Differences) -> R,
) -> Result<Option<(Differences, T)>> {
    let mut best: Option<(Differences, T)> = None;
    for one in tried {
        let one = one?;
        if best.as_ref().is_some_and(|best| rank(&best.0) <= rank(&one.0)) {
            continue;
        }
        let is_perfect = one.0.is_none();
        best = Some(one);
        if is_perfect {
            break;
        }
    }
    Ok(best)
}

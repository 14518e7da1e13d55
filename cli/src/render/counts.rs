//! Numbers of elements, for people.

use recast_pack::text::count;

/// A number of elements, and how many of them are special values.
pub(super) fn elements(all: u64, kinds: &[(u64, &str)]) -> String {
    let kinds = kinds.iter().filter(|(number, _)| *number > 0);
    let kinds: Vec<String> =
        kinds.map(|(number, kind)| format!("{} {kind}", count(*number))).collect();
    let of_which = if kinds.is_empty() { "" } else { ", of which " };
    format!("{}{of_which}{}", count(all), kinds.join(", "))
}

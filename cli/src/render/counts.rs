//! Numbers of elements and bytes, for people.

use recast_pack::text::{bytes, count};

/// A number of elements, and how many of them are special values.
pub(super) fn elements(all: u64, kinds: &[(u64, &str)]) -> String {
    let kinds = kinds.iter().filter(|(number, _)| *number > 0);
    let kinds: Vec<String> =
        kinds.map(|(number, kind)| format!("{} {kind}", count(*number))).collect();
    let of_which = if kinds.is_empty() { "" } else { ", of which " };
    format!("{}{of_which}{}", count(all), kinds.join(", "))
}

/// Stored bytes before and after. A web server does not tell those before.
pub(super) fn stored(before: Option<u64>, after: u64) -> String {
    let before = before.map_or_else(|| "unknown".to_owned(), |before| bytes(before as f64));
    format!("{before} -> {}", bytes(after as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_bytes_that_are_not_known_are_not_zero() {
        assert_eq!(stored(None, 12), "unknown -> 12 B");
        assert_eq!(stored(Some(0), 12), "0 B -> 12 B");
    }
}

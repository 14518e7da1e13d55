//! Reports as text, JSON and HTML.

pub(crate) mod cf;
pub(crate) mod compare;
mod errors;
pub(crate) mod group;
pub(crate) mod info;
pub(crate) mod migrate;
pub(crate) mod pack;
mod packed;
pub(crate) mod page;
pub(crate) mod table;
pub(crate) mod unpack;

pub(crate) use packed::Packed;

use recast_pack::text::count;

/// A number of elements, and how many of them are no common values.
fn elements(all: u64, kinds: &[(u64, &str)]) -> String {
    let kinds = kinds.iter().filter(|(number, _)| *number > 0);
    let kinds: Vec<String> =
        kinds.map(|(number, kind)| format!("{} {kind}", count(*number))).collect();
    let of_which = if kinds.is_empty() { "" } else { ", of which " };
    format!("{}{of_which}{}", count(all), kinds.join(", "))
}

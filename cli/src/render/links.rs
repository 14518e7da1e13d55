//! Links out of an input, as text.

use recast_pack::report::{LinkedFolder, OutsideLink, OutsideLinks};
use recast_pack::text::count;

use super::table::Table;

/// Adds a row, if there are any.
pub(super) fn outside_links(links: &OutsideLinks, table: &mut Table) {
    if links.is_empty() {
        return;
    }
    let folder = |LinkedFolder { folder, count: number, examples }: &LinkedFolder| {
        let examples =
            examples.iter().map(|OutsideLink { link, target }| format!("{link} -> {target}"));
        let more = if *number > examples.len() as u64 { ", …" } else { "" };
        let examples = examples.collect::<Vec<_>>().join(", ");
        format!("{} to {folder}: {examples}{more}", count(*number))
    };
    let named: u64 = links.folders.iter().map(|folder| folder.count).sum();
    let elsewhere =
        (named < links.count).then(|| format!("{} elsewhere", count(links.count - named)));
    let all = format!("{} out of INPUT; what they lead to was read", count(links.count));
    let folders = links.folders.iter().map(folder);
    table.lines("links", [all].into_iter().chain(folders).chain(elsewhere));
}

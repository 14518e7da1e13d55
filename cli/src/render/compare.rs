//! How far two arrays differ, for people.

use recast_pack::CompareReport;
use recast_pack::text::count;

use super::elements;
use super::errors;
use super::table::Table;

pub(crate) fn table(report: &CompareReport) -> Table {
    let mut table = Table::default();
    let [a, b] = report.data_types;
    table.row("shape", format!("{:?}", report.shape));
    table.row("types", if a == b { a.to_string() } else { format!("{a} and {b}") });
    if let Some((least, greatest)) = report.range {
        table.row("range", format!("{least} to {greatest}"));
    }
    let counts = &report.counts;
    let kinds = [
        (counts.nan, "NaN"),
        (counts.missing, "missing"),
        (counts.infinite, "infinite"),
        (counts.fill, "the fill value"),
    ];
    table.row("elements", elements(counts.elements, &kinds));
    let only_in_b =
        [("NaN in B only", counts.became_nan), ("missing in B only", counts.became_missing)];
    for (label, number) in only_in_b.into_iter().filter(|(_, number)| *number > 0) {
        table.row(label, count(number));
    }
    errors::rows(&report.error, &mut table, "");
    if let Some(over) = counts.over {
        table.row("over", count(over));
    }
    table
}

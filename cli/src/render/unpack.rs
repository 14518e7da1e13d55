//! What became of an array that was unpacked, for people.

use recast_pack::UnpackReport;
use recast_pack::text::bytes;

use super::table::Table;

pub(crate) fn table(report: &UnpackReport) -> Table {
    let mut table = Table::default();
    table.row("unpacked", &report.output);
    table.row("type", format!("{}, shape {:?}", report.data_type, report.shape));
    let before = report.source_stored.map(|size| bytes(size as f64));
    let before = before.unwrap_or_else(|| "unknown".to_owned());
    table.row("stored", format!("{before} -> {}", bytes(report.stored as f64)));
    table.row("time", format!("{:.2} s", report.seconds));
    table
}

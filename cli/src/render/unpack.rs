//! Reports of unpacking, as text.

use recast_pack::{UnpackGroupReport, UnpackReport, UnpackedArray};

use super::counts::stored;
use super::table::Table;

pub(crate) fn table(report: &UnpackReport) -> Table {
    let mut table = Table::default();
    table.row("unpacked", &report.output);
    table.row("shape", format!("{:?}", report.shape));
    table.row("type", report.data_type.to_string());
    table.row("stored", stored(report.source_stored, report.stored));
    table
}

pub(crate) fn group(report: &UnpackGroupReport) -> Table {
    let mut table = Table::default();
    let copied = report.arrays.iter().filter(|one| matches!(one, UnpackedArray::Copied { .. }));
    let copied = copied.count();
    table.row("unpacked", &report.output);
    table.row("arrays", format!("{} unpacked, {copied} copied", report.arrays.len() - copied));
    let rows = report.arrays.iter().map(|one| match one {
        UnpackedArray::Unpacked { array, report } => {
            let sizes = stored(report.source_stored, report.stored);
            (array.clone(), format!("{}, {sizes}", report.data_type))
        }
        UnpackedArray::ToCf { array, report } => {
            let decoding = report.differences.describe(&report.which);
            let types = format!("{} in place of {}", report.stored_data_type, report.data_type);
            (array.clone(), format!("{types}, {decoding}"))
        }
        UnpackedArray::Copied { array, caveat } => {
            let reason = caveat.as_deref().unwrap_or("no value codecs");
            (array.clone(), format!("copied: {reason}"))
        }
    });
    table.list(rows.collect());
    table
}

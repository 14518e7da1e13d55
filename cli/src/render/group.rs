//! What became of a group, for people.

use recast_pack::text::{bytes, measured};
use recast_pack::{ArrayReport, GroupEntry, GroupReport};

use super::table::Table;

pub(crate) fn table(report: &GroupReport) -> Table {
    let mut table = Table::default();
    let packed = report.arrays.iter().filter(|one| matches!(one, GroupEntry::Packed { .. }));
    let packed = packed.count();
    let copied = report.arrays.len() - packed;
    if report.dry_run {
        table
            .row("dry run", "nothing written; sizes and errors are from some chunks of each array");
    } else {
        table.row("packed", &report.output);
    }
    table.row("arrays", format!("{packed} packed, {copied} copied"));
    let (mut before, mut after) = (0, 0);
    for entry in &report.arrays {
        let (array, text) = match entry {
            GroupEntry::Copied { array, reason } => (array, format!("copied: {reason}")),
            GroupEntry::Packed { array, report: ArrayReport::FromCf(report) } => {
                let how = if report.bit_identical {
                    "bit-identical to CF".to_owned()
                } else {
                    format!("within {} ULP of CF", report.elements.max_ulps)
                };
                (array, format!("{} -> {}, {how}", report.stored_data_type, report.data_type))
            }
            GroupEntry::Packed { array, report: ArrayReport::Packed(report) } => {
                let source = report.bytes.source_stored.unwrap_or_default();
                before += source;
                after += report.bytes.stored;
                let errors = &report.error.errors;
                let error = match errors.max_relative {
                    Some(relative) => format!("{} of the value", measured(relative)),
                    None => measured(errors.max),
                };
                let text = format!(
                    "{} -> {}, max error {error}, {} -> {}",
                    report.source_data_type,
                    report.data_type,
                    bytes(source as f64),
                    bytes(report.bytes.stored as f64)
                );
                (array, text)
            }
        };
        table.row(array, text);
    }
    if after > 0 {
        table.row("stored", format!("{} -> {}", bytes(before as f64), bytes(after as f64)));
    }
    table
}

/// The codecs of each array that was packed.
pub(crate) fn codecs(report: &GroupReport) -> String {
    let codecs = report.arrays.iter().filter_map(|entry| {
        let GroupEntry::Packed { array, report } = entry else { return None };
        let codecs = match report {
            ArrayReport::Packed(report) => &report.codecs,
            ArrayReport::FromCf(report) => &report.codecs,
        };
        Some(format!("\n{array}: \"codecs\": {codecs:#}\n"))
    });
    codecs.collect()
}

//! Reports of groups, as text.

use recast_pack::text::{bytes, count, measured};
use recast_pack::{ArrayReport, GroupEntry, GroupReport, PackReport};

use super::pack::clamping;
use super::table::Table;

pub(crate) fn table(report: &GroupReport) -> Table {
    let mut table = Table::default();
    let clamped = clamped(report);
    if report.dry_run {
        let of = "sizes and errors are estimated from some chunks of each array";
        table.row("dry run", format!("nothing written; {of}{clamped}"));
    } else {
        table.row("packed", format!("{}{clamped}", report.output));
    }
    let packed = report.arrays.iter().filter(|one| matches!(one, GroupEntry::Packed { .. }));
    let packed = packed.count();
    let copied = report.arrays.len() - packed;
    table.row("arrays", format!("{packed} packed, {copied} copied"));
    table.list(report.arrays.iter().map(entry).collect());
    let (mut before, mut after) = (0, 0);
    for report in reports(report) {
        before += report.bytes.source_stored.unwrap_or_default();
        after += report.bytes.stored;
    }
    if after > 0 {
        table.row("stored", format!("{} -> {}", bytes(before as f64), bytes(after as f64)));
    }
    table
}

/// The reports of arrays whose values were packed.
fn reports(report: &GroupReport) -> impl Iterator<Item = &PackReport> {
    report.arrays.iter().filter_map(|entry| match entry {
        GroupEntry::Packed { report: ArrayReport::Packed(report), .. } => Some(&**report),
        GroupEntry::Packed { report: ArrayReport::FromCf(_), .. } | GroupEntry::Copied { .. } => {
            None
        }
    })
}

/// The part of the headline about clamped elements.
fn clamped(report: &GroupReport) -> String {
    let clamped = || reports(report).filter(|report| report.counts.clamped > 0);
    let elements: u64 = clamped().map(|report| report.counts.clamped).sum();
    if elements == 0 {
        return String::new();
    }
    let by = clamped().map(PackReport::largest_clamping).fold(0.0, f64::max);
    let arrays = count(clamped().count() as u64);
    format!(
        "; {} elements of {arrays} arrays clamped, by {} at most",
        count(elements),
        measured(by)
    )
}

/// An array and its outcome.
fn entry(entry: &GroupEntry) -> (String, String) {
    match entry {
        GroupEntry::Copied { array, reason } => (array.clone(), format!("copied: {reason}")),
        GroupEntry::Packed { array, report: ArrayReport::FromCf(report) } => {
            let how = if report.bit_identical {
                "bit-identical to CF".to_owned()
            } else {
                format!("within {} ULP of CF", report.elements.max_ulps)
            };
            let types = format!("{} -> {}", report.stored_data_type, report.data_type);
            (array.clone(), format!("{types}, {how}"))
        }
        GroupEntry::Packed { array, report: ArrayReport::Packed(report) } => {
            let types = format!("{} -> {}", report.source_data_type, report.data_type);
            let errors = &report.error.errors;
            let error = match errors.max_relative {
                Some(relative) => format!("{} of the value", measured(relative)),
                None => measured(errors.max),
            };
            let source = report.bytes.source_stored.unwrap_or_default();
            let sizes = [source, report.bytes.stored].map(|size| bytes(size as f64)).join(" -> ");
            let clamping = clamping(report);
            (array.clone(), format!("{types}, max error {error}, {sizes}{clamping}"))
        }
    }
}

//! Reports of groups, as text.

use recast_pack::text::{count, measured, visible};
use recast_pack::{ArrayReport, GroupEntry, GroupReport, PackReport};

use super::counts::stored;
use super::links::outside_links;
use super::pack::clamping;
use super::report::Report;
use super::table::Table;

impl Report for GroupReport {
    fn rows(&self, table: &mut Table) {
        let clamped = format!("{}{}", clamped(self), coarse(self));
        if self.dry_run {
            let of = "sizes and errors are estimated from some chunks of each array";
            table.row("dry run", format!("nothing written; {of}{clamped}"));
        } else {
            table.row("packed", format!("{}{clamped}", self.output));
        }
        for (array, report) in reports(self) {
            if let Some(coarse) = report.coarse {
                table.row("coarse", format!("{array}: {coarse}"));
            }
        }
        for warning in &self.warnings {
            table.row("warning", warning);
        }
        outside_links(&self.outside_links, table);
        let (mut packed, mut copied, mut failed) = (0, 0, 0);
        for entry in &self.arrays {
            match entry {
                GroupEntry::Packed { .. } => packed += 1,
                GroupEntry::Copied { .. } => copied += 1,
                GroupEntry::Failed { .. } => failed += 1,
            }
        }
        let failed =
            if failed > 0 { format!(", {failed} failed and copied") } else { String::new() };
        table.row("arrays", format!("{packed} packed, {copied} copied{failed}"));
        table.list(&self.arrays.iter().map(entry).collect::<Vec<_>>());
        let before = reports(self).map(|(_, report)| report.bytes.source_stored).sum();
        let after = reports(self).map(|(_, report)| report.bytes.stored).sum();
        if after > 0 {
            table.row("stored", stored(before, after));
        }
    }

    fn to_copy(&self) -> Option<String> {
        let arrays = self.arrays().into_iter();
        let codecs = arrays.filter_map(|(array, report)| {
            Some(format!("{}: {}", visible(array), report.to_copy()?))
        });
        self.dry_run.then(|| codecs.collect::<Vec<_>>().join("\n"))
    }

    fn arrays(&self) -> Vec<(&str, &dyn Report)> {
        let packed = self.arrays.iter().filter_map(|entry| match entry {
            GroupEntry::Packed { array, report } => Some((array.as_str(), of_array(report))),
            GroupEntry::Copied { .. } | GroupEntry::Failed { .. } => None,
        });
        packed.collect()
    }

    fn failure(&self) -> Option<String> {
        Self::failure(self)
    }
}

fn of_array(report: &ArrayReport) -> &dyn Report {
    match report {
        ArrayReport::Packed(report) => &**report,
        ArrayReport::FromCf(report) => &**report,
    }
}

/// The reports of arrays whose values were packed, each with the path of its array.
fn reports(report: &GroupReport) -> impl Iterator<Item = (&str, &PackReport)> {
    report.arrays.iter().filter_map(|entry| match entry {
        GroupEntry::Packed { array, report: ArrayReport::Packed(report) } => {
            Some((array.as_str(), &**report))
        }
        GroupEntry::Packed { report: ArrayReport::FromCf(_), .. }
        | GroupEntry::Copied { .. }
        | GroupEntry::Failed { .. } => None,
    })
}

/// The part of the headline about clamped elements.
fn clamped(report: &GroupReport) -> String {
    let clamped =
        || reports(report).map(|(_, report)| report).filter(|report| report.counts.clamped > 0);
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

/// The part of the headline about arrays of which a bound leaves little.
fn coarse(report: &GroupReport) -> String {
    match reports(report).filter(|(_, report)| report.coarse.is_some()).count() as u64 {
        0 => String::new(),
        1 => "; the bound is coarse for 1 array".to_owned(),
        number => format!("; the bound is coarse for {} arrays", count(number)),
    }
}

/// An array and its outcome.
fn entry(entry: &GroupEntry) -> (String, String) {
    match entry {
        GroupEntry::Copied { array, reason } => (array.clone(), format!("copied: {reason}")),
        GroupEntry::Failed { array, reason } => {
            (array.clone(), format!("failed, so it is copied: {reason}"))
        }
        GroupEntry::Packed { array, report: ArrayReport::FromCf(report) } => {
            let how = if report.bit_identical {
                format!("bit-identical to CF in {}", report.data_type)
            } else {
                format!("within {} ULP of CF in {}", report.elements.max_ulps, report.data_type)
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
            let sizes = stored(report.bytes.source_stored, report.bytes.stored);
            let clamping = clamping(report);
            (array.clone(), format!("{types}, max error {error}, {sizes}{clamping}"))
        }
    }
}

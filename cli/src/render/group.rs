//! Reports of groups, as text.

use std::collections::BTreeMap;

use recast_pack::report::{Charts, Reached, Recommended};
use recast_pack::text::{count, measured, number_of, visible};
use recast_pack::{ArrayOutcome, ArrayReport, GroupReport, Outcome, PackReport};

use super::counts::stored;
use super::links::outside_links;
use super::pack::{beyond, clamping, keeps, notes, readers};
use super::report::Report;
use super::table::Table;

/// A job's words for the outcomes of the arrays of a group.
pub(super) struct Words {
    pub(super) done: &'static str,
    pub(super) kept: &'static str,
    /// Of an array that the job failed on, before the reason.
    pub(super) failed: &'static str,
}

/// Adds rows about the arrays of a group: one that counts them, and a line for each.
pub(super) fn arrays<R>(
    arrays: &[ArrayOutcome<R>],
    words: &Words,
    line: impl Fn(&R) -> String,
    table: &mut Table,
) {
    let (mut done, mut kept, mut failed) = (0, 0, 0);
    for one in arrays {
        match one.outcome {
            Outcome::Done { .. } => done += 1,
            Outcome::Kept { .. } => kept += 1,
            Outcome::Failed { .. } => failed += 1,
        }
    }
    let failed = if failed > 0 { format!(", {} failed", count(failed)) } else { String::new() };
    let (done, kept) = (count(done), count(kept));
    table.row("arrays", format!("{done} {}, {kept} {}{failed}", words.done, words.kept));
    let line = |one: &ArrayOutcome<R>| match &one.outcome {
        Outcome::Done { report } => line(report),
        Outcome::Kept { reason } => format!("{}: {reason}", words.kept),
        Outcome::Failed { reason } => format!("{}: {reason}", words.failed),
    };
    table.list(arrays.iter().map(|one| (one.array.clone(), line(one))));
}

/// The reports of the arrays of a group, each with the array's path.
pub(super) fn reports<R>(arrays: &[ArrayOutcome<R>]) -> impl Iterator<Item = (&str, &R)> {
    arrays.iter().filter_map(|one| Some((one.array.as_str(), one.report()?)))
}

/// The end of a line about an array: its requirements, and the measured errors.
pub(super) fn required(all: &[Reached]) -> String {
    all.iter().map(|one| format!("; {one}")).collect::<Vec<_>>().concat()
}

/// Adds rows about who recommends the requirements of arrays, and about arrays of which recommendations say nothing.
pub(super) fn recommended<'a>(
    all: impl Iterator<Item = (&'a str, &'a Recommended)>,
    table: &mut Table,
) {
    let all: Vec<_> = all.collect();
    let by: Vec<&str> = all.iter().filter_map(|(_, recommended)| recommended.by()).collect();
    if let Some(source) = by.first() {
        let number = number_of(by.len() as u64, "array");
        table.row("recommended", format!("for {number}, by {source}"));
    }
    let mut others: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (array, recommended) in all {
        match recommended {
            Recommended::By(_) => {}
            Recommended::Not(reason) => others.entry(reason).or_default().push(array),
        }
    }
    for (reason, arrays) in others {
        table.row("recommended", format!("not for {}: {reason}", arrays.join(", ")));
    }
}

/// A row names at most this many arrays.
const MOST_NAMED: usize = 3;

/// Adds rows about the parts that a written group lacks, and about the place of its input.
pub(super) fn warnings<R>(report: &GroupReport<R>, table: &mut Table) {
    for warning in &report.warnings {
        table.row("warning", warning);
    }
    outside_links(&report.outside_links, table);
}

impl Report for GroupReport<ArrayReport> {
    fn rows(&self, table: &mut Table) {
        let remarks = format!("{}{}", clamped(self), coarse(self));
        if self.dry_run {
            let is_estimated = packed(self).next().is_some();
            let of = "; sizes and errors are estimated from some chunks of each array";
            let of = if is_estimated { of } else { "" };
            table.row("dry run", format!("nothing written{of}{remarks}"));
        } else {
            table
                .row("packed", format!("{}{remarks}", self.output.as_ref().unwrap_or(&self.input)));
        }
        for (array, report) in packed(self) {
            if let Some(coarse) = report.coarse {
                table.row("coarse", format!("{array}: {coarse}"));
            }
        }
        for (array, report) in packed(self) {
            for (label, text) in notes(report, true) {
                table.row(label, format!("{array}: {text}"));
            }
        }
        let hints = packed(self).filter_map(|(array, report)| Some((array, report.hint.as_ref()?)));
        let (of, hints): (Vec<&str>, Vec<&String>) = hints.unzip();
        if let Some(hint) = hints.first() {
            table.row("hint", format!("{}: {hint}", of.join(", ")));
        }
        let beyond = packed(self).filter_map(|(array, report)| match beyond(report, true)? {
            (text, true) => Some(format!("{array}: {text}")),
            (_, false) => None,
        });
        let beyond: Vec<String> = beyond.collect();
        match beyond.as_slice() {
            [] => {}
            [one] => {
                table.row("range", one);
            }
            [first, ..] => {
                let number = number_of(beyond.len() as u64, "array");
                table.row("range", format!("{number} decode beyond the data; {first}"));
                table.detailed_lines("", &beyond);
            }
        }
        let each = packed(self);
        recommended(
            each.filter_map(|(array, report)| Some((array, report.recommended.as_ref()?))),
            table,
        );
        warnings(self, table);
        let words = if self.dry_run {
            let failed = "fails, so it would be copied";
            Words { done: "would be packed", kept: "would be copied", failed }
        } else {
            Words { done: "packed", kept: "copied", failed: "failed, so it is copied" }
        };
        arrays(&self.arrays, &words, line, table);
        let before = packed(self).map(|(_, report)| report.bytes.source_stored).sum();
        let after = packed(self).map(|(_, report)| report.bytes.stored).sum();
        if after > 0 {
            table.row("stored", stored(before, after));
        }
        let mut by_readers: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (array, report) in packed(self) {
            if let Some(readers) = readers(report) {
                by_readers.entry(readers).or_default().push(array);
            }
        }
        let is_one = by_readers.len() == 1;
        let lines: Vec<String> = by_readers
            .into_iter()
            .map(|(readers, arrays)| match &arrays[..] {
                _ if is_one => readers,
                some if some.len() <= MOST_NAMED => format!("{}: {readers}", some.join(", ")),
                many => format!("{} arrays: {readers}", many.len()),
            })
            .collect();
        if !lines.is_empty() {
            table.lines("readers", lines);
        }
    }

    fn to_copy(&self) -> Option<String> {
        let codecs = Report::arrays(self).into_iter().filter_map(|(array, report)| {
            Some(format!("{}: {}", visible(array), report.to_copy()?))
        });
        self.dry_run.then(|| codecs.collect::<Vec<_>>().join("\n"))
    }

    fn arrays(&self) -> Vec<(&str, &dyn Report)> {
        reports(&self.arrays).map(|(array, report)| (array, report as &dyn Report)).collect()
    }

    fn failure(&self) -> Option<String> {
        Self::failure(self)
    }
}

/// The report of an array that was packed by its values, or by CF's attributes.
fn own(report: &ArrayReport) -> &dyn Report {
    match report {
        ArrayReport::Packed(report) => report,
        ArrayReport::FromCf(report) => report,
    }
}

impl Report for ArrayReport {
    fn rows(&self, table: &mut Table) {
        own(self).rows(table);
    }

    fn to_copy(&self) -> Option<String> {
        own(self).to_copy()
    }

    fn charts(&self) -> Option<&Charts> {
        own(self).charts()
    }
}

/// The reports of arrays whose values were packed, each with the path of its array.
fn packed(report: &GroupReport<ArrayReport>) -> impl Iterator<Item = (&str, &PackReport)> {
    reports(&report.arrays).filter_map(|(array, report)| match report {
        ArrayReport::Packed(report) => Some((array, report)),
        ArrayReport::FromCf(_) => None,
    })
}

/// The part of the headline about clamped elements.
fn clamped(report: &GroupReport<ArrayReport>) -> String {
    let clamped =
        || packed(report).map(|(_, report)| report).filter(|report| report.counts.clamped > 0);
    let elements: u64 = clamped().map(|report| report.counts.clamped).sum();
    if elements == 0 {
        return String::new();
    }
    let by = clamped().map(PackReport::largest_clamping).fold(0.0, f64::max);
    format!(
        "; {} of {} clamped, by {} at most",
        number_of(elements, "element"),
        number_of(clamped().count() as u64, "array"),
        measured(by)
    )
}

/// The part of the headline about arrays of which a bound leaves little.
fn coarse(report: &GroupReport<ArrayReport>) -> String {
    match packed(report).filter(|(_, report)| report.coarse.is_some()).count() as u64 {
        0 => String::new(),
        number => format!("; the bound is coarse for {}", number_of(number, "array")),
    }
}

/// A packed array on one line.
fn line(report: &ArrayReport) -> String {
    match report {
        ArrayReport::FromCf(report) => {
            let how = if report.bit_identical {
                format!("bit-identical to CF in {}", report.data_type)
            } else {
                format!("within {} ULP of CF in {}", report.elements.max_ulps, report.data_type)
            };
            format!("{} -> {}, {how}", report.stored_data_type, report.data_type)
        }
        ArrayReport::Packed(report) => {
            let errors = &report.error.errors;
            let error = match errors.max_relative {
                Some(relative) => format!("{} of the value", measured(relative)),
                None => measured(errors.max),
            };
            let types = format!("{} -> {}", report.source_data_type, report.data_type);
            let sizes = stored(report.bytes.source_stored, report.bytes.stored);
            let kept = required(keeps(report));
            format!("{types}, max error {error}, {sizes}{}{kept}", clamping(report))
        }
    }
}

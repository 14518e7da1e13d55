//! Suggestions of a bound, for people.

use anyhow::{Context, Result};
use recast_pack::report::{Advised, Counts, Information, Rung, Sampled, Suggestion};
use recast_pack::text::{bytes, count, measured, times_smaller, visible};
use recast_pack::{SuggestGroupReport, SuggestReport};

use super::counts::elements;
use super::group::{Words, arrays, reports};
use super::page::Section;
use super::plots::{bars_of_information, curve_of_sizes};
use super::report::Report;
use super::table::Table;

/// The columns of a ladder.
const COLUMNS: [&str; 9] =
    ["bound", "bits", "type", "stored", "ratio", "error/range", "SNR", "information", ""];

impl Report for SuggestReport {
    fn rows(&self, table: &mut Table) {
        what_is_known(self, table);
        if !self.ladder.is_empty() {
            table.lines("bounds", aligned(&self.ladder));
        }
        for rung in &self.ladder {
            if let Some((mark, reason)) = rung.mark.zip(rung.reason.as_ref()) {
                table.row(mark.name(), reason);
            }
        }
    }

    fn to_copy(&self) -> Option<String> {
        (!self.suggestions.is_empty()).then(|| commands(&self.suggestions))
    }

    fn sections(&self) -> Result<Vec<Section>> {
        let mut table = Table::default();
        what_is_known(self, &mut table);
        for suggestion in &self.suggestions {
            table.row("command", commands(std::slice::from_ref(suggestion)).trim_end());
        }
        Ok(vec![with_ladder(&table, self)?])
    }
}

/// A suggestion without its commands, as text and as a part of a page, for callers whose arrays have no path.
///
/// # Errors
/// A curve that cannot be drawn.
pub fn suggestion_text_and_html(report: &SuggestReport) -> Result<(String, String)> {
    let mut table = Table::default();
    what_is_known(report, &mut table);
    let section = with_ladder(&table, report)?;
    Ok((report.table().text(false), section.markup().into_string()))
}

/// A table, the ladder below it, the curve of its sizes, and the information of each bit.
fn with_ladder(table: &Table, report: &SuggestReport) -> Result<Section> {
    let rows = report.ladder.iter().map(|rung| cells(rung).to_vec()).collect();
    let points: Vec<(f64, f64, bool)> = report
        .ladder
        .iter()
        .filter(|rung| rung.max_abs_error > 0.0)
        .map(|rung| (rung.max_abs_error, rung.stored_bytes as f64, rung.mark.is_some()))
        .collect();
    let curve = (points.len() > 1).then(|| curve_of_sizes(&points));
    let informed = report
        .information
        .as_ref()
        .map(|Information { bits, end, .. }| bars_of_information(bits, *end));
    let figures = [curve, informed].into_iter().flatten().collect::<Result<_>>();
    Ok(Section::new(table, Some((COLUMNS.to_vec(), rows)), figures.context("drawing a plot")?))
}

/// Adds the rows above the ladder.
fn what_is_known(report: &SuggestReport, table: &mut Table) {
    table.row("array", format!("{}, {} {:?}", report.input, report.data_type, report.shape));
    table.row("read", read(&report.sampled));
    let known = &report.known;
    let Counts { nan, missing, fill, .. } = known.counts;
    let kinds = [(nan, "NaN"), (missing, "missing"), (fill, "the fill value")];
    table.row("elements", elements(report.sampled.elements, &kinds));
    if let Some((least, greatest)) = known.range {
        table.row("range", format!("{least} to {greatest}"));
    }
    if let Some(grid) = known.grid {
        table.row("steps", format!("all values are {grid}"));
    }
    if let Some(difference) = known.smallest_difference {
        table.detail(
            "neighbours",
            format!("differ by {} at least, or not at all", measured(difference)),
        );
    }
    if let Some(information) = &report.information {
        table.row("information", informed(information));
    }
    if let Some(why) = &report.no_information {
        table.row("information", format!("not known: {why}"));
    }
    for note in &report.notes {
        table.row("note", note);
    }
}

/// How much was read.
fn read(sampled: &Sampled) -> String {
    if sampled.is_whole() {
        return "all elements".to_owned();
    }
    let share = 100.0 * sampled.elements as f64 / sampled.all as f64;
    let (elements, all) = (count(sampled.elements), count(sampled.all));
    let blocks = count(sampled.blocks);
    format!(
        "{elements} of {all} elements ({}%), in {blocks} blocks; all figures are theirs",
        measured(share)
    )
}

fn informed(information: &Information) -> String {
    let bits = information.end.unwrap_or(information.bits.len());
    format!(
        "the highest {bits} of 24 bits tell {} bits about neighbours along axis {} ({} pairs)",
        measured(information.total),
        information.axis,
        count(information.pairs)
    )
}

/// A bound with its figures, in the order of [`COLUMNS`].
fn cells(rung: &Rung) -> [String; 9] {
    let none = || "–".to_owned();
    [
        format!("{:?}", rung.max_abs_error),
        rung.bits.to_string(),
        rung.data_type.to_string(),
        bytes(rung.stored_bytes as f64),
        format!("{:.2}", rung.ratio),
        measured(rung.error_over_range),
        rung.snr_db.map_or_else(none, |snr| format!("{snr:.1} dB")),
        rung.information.map_or_else(none, |share| format!("{:.2} %", 100.0 * share)),
        rung.mark.map_or_else(String::new, |mark| mark.name().to_owned()),
    ]
}

/// A ladder as lines in columns.
fn aligned(ladder: &[Rung]) -> Vec<String> {
    let mut lines = vec![COLUMNS.map(str::to_owned)];
    lines.extend(ladder.iter().map(cells));
    let widths: Vec<usize> = (0..COLUMNS.len())
        .map(|column| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: &[String; 9]| {
        let cells = cells.iter().zip(&widths).enumerate();
        let padded = cells.map(|(column, (cell, &width))| match column {
            0 | 2 | 8 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    lines.iter().map(line).collect()
}

/// Commands to copy, a line each.
fn commands(suggestions: &[Suggestion]) -> String {
    let line = |suggestion: &Suggestion| {
        let words = suggestion.arguments.iter().map(String::as_str);
        // No argument holds a NUL, which a shell could not pass.
        let command = shlex::try_join(words).unwrap_or_else(|_| suggestion.arguments.join(" "));
        let is_cut =
            suggestion.arguments.iter().any(|one| one.contains("://") && one.contains('…'));
        let note = if is_cut { "; put what is secret in the URL in place of …" } else { "" };
        visible(&format!("recast {command}  # {}{note}", suggestion.reason)) + "\n"
    };
    suggestions.iter().map(line).collect()
}

/// The arrays of a group: a line for each.
impl Report for SuggestGroupReport {
    fn rows(&self, table: &mut Table) {
        table.row("group", &self.group);
        let words = Words { done: "looked at", kept: "not packed", failed: "nothing to suggest" };
        arrays(&self.arrays, &words, one_line, table);
    }

    fn to_copy(&self) -> Option<String> {
        (!self.suggestions.is_empty()).then(|| commands(&self.suggestions))
    }

    fn arrays(&self) -> Vec<(&str, &dyn Report)> {
        reports(&self.arrays).map(|(array, report)| (array, report as _)).collect()
    }

    fn failure(&self) -> Option<String> {
        Self::failure(self)
    }
}

fn one_line(report: &SuggestReport) -> String {
    if let Some(Advised { requirements, .. }) = &report.advice {
        let arguments: Vec<String> = requirements.iter().flat_map(|one| one.arguments()).collect();
        return format!("{}: recommended", arguments.join(" "));
    }
    let Some(rung) = report.recommended() else {
        let why = report.no_information.as_ref().or(report.notes.first());
        let why = why.map_or_else(|| "the ladder says more".to_owned(), String::clone);
        return format!("no bound stands out: {why}");
    };
    let mark = rung.mark.map_or("", |mark| mark.name());
    let bound = rung.max_abs_error;
    format!(
        "-e {bound:?}: {mark}, {}, {}",
        bytes(rung.stored_bytes as f64),
        times_smaller(rung.ratio)
    )
}

//! Reports as people see them: on a terminal, and as a page.

use std::io::Write as _;

use anyhow::{Context, Result, bail};
use recast_pack::PathReport;
use recast_pack::report::Charts;
use recast_pack::text::{escaped, without_secrets};
use serde::Serialize;
use serde_json::Value;

use super::page::{PagePlace, Section};
use super::plots::figures;
use super::table::Table;
use crate::args::Show;
use crate::standard_output::standard_output;

/// A report of a job.
pub(crate) trait Report {
    /// Adds its rows to a table.
    fn rows(&self, table: &mut Table);

    fn table(&self) -> Table {
        let mut table = Table::default();
        self.rows(&mut table);
        table
    }

    /// Text to copy: codecs from a dry run, or commands.
    fn to_copy(&self) -> Option<String> {
        None
    }

    fn charts(&self) -> Option<&Charts> {
        None
    }

    /// The reports of the arrays of a group, each with the array's path.
    fn arrays(&self) -> Vec<(&str, &dyn Report)> {
        Vec::new()
    }

    /// The sections of a page: one for all, and one for each array.
    fn sections(&self) -> Result<Vec<Section>> {
        let figures = self.charts().map_or_else(|| Ok(Vec::new()), figures);
        let figures = figures.context("drawing a plot")?;
        let mut sections = vec![Section::new(&self.table(), None, figures)];
        for (array, report) in self.arrays() {
            sections.extend(report.sections()?.into_iter().map(|section| section.named(array)));
        }
        Ok(sections)
    }

    /// The failed check, if there is a report all the same.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// The report of the array or the group.
fn either<A: Report, G: Report>(report: &PathReport<A, G>) -> &dyn Report {
    match report {
        PathReport::Array(report) => &**report,
        PathReport::Group(report) => report,
    }
}

impl<A: Report, G: Report> Report for PathReport<A, G> {
    fn rows(&self, table: &mut Table) {
        either(self).rows(table);
    }

    fn to_copy(&self) -> Option<String> {
        either(self).to_copy()
    }

    fn charts(&self) -> Option<&Charts> {
        either(self).charts()
    }

    fn arrays(&self) -> Vec<(&str, &dyn Report)> {
        either(self).arrays()
    }

    fn sections(&self) -> Result<Vec<Section>> {
        either(self).sections()
    }

    fn failure(&self) -> Option<String> {
        either(self).failure()
    }
}

/// A report as other programs show it.
pub trait Shown {
    /// Its short text, and all of it as a part of a page.
    fn text_and_html(&self) -> (String, String);

    /// The short texts of the arrays of a group, by path.
    fn texts_of_arrays(&self) -> Vec<(String, String)>;
}

impl<R: Report> Shown for R {
    fn text_and_html(&self) -> (String, String) {
        let table = self.table();
        let html = Section::new(&table, None, Vec::new()).markup().into_string();
        (table.text(false), html)
    }

    fn texts_of_arrays(&self) -> Vec<(String, String)> {
        let text =
            |(array, report): (&str, &dyn Report)| (array.to_owned(), report.table().text(false));
        self.arrays().into_iter().map(text).collect()
    }
}

/// Writes the page of a report, if it has a place, and prints the report, which a full disk does not prevent.
pub(crate) fn finish(
    place: Option<PagePlace>,
    title: &str,
    report: &(impl Report + Serialize),
    show: Show,
) -> Result<()> {
    let write = |mut place: PagePlace| {
        place.write(title, report.sections()?)?;
        place.commit()
    };
    let written = place.map_or(Ok(()), write);
    both(print(report, show), written)
}

/// Two results as one, with both errors.
pub(crate) fn both(one: Result<()>, other: Result<()>) -> Result<()> {
    match (one, other) {
        (Err(one), Err(other)) => bail!("{one:#}; {other:#}"),
        (one, other) => one.and(other),
    }
}

/// Prints a report: as JSON with `--json`, else as text unless `--quiet` is given. What failed is an error, whether or
/// not the report can be printed.
pub(crate) fn print(report: &(impl Report + Serialize), show: Show) -> Result<()> {
    let text = if show.json {
        format!("{}\n", json(report)?)
    } else if show.quiet {
        String::new()
    } else {
        let to_copy = report.to_copy().map(|text| format!("\n{text}"));
        report.table().text(show.verbose) + &to_copy.unwrap_or_default()
    };
    let mut stdout = standard_output();
    let printed = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    match report.failure() {
        None => printed.context("standard output"),
        Some(failure) => bail!(failure),
    }
}

/// JSON in lines, in which characters that a terminal would obey are escapes, and URLs are without secrets.
fn json(value: &impl Serialize) -> Result<String> {
    Ok(escaped(&without_secrets(&serde_json::to_string_pretty(value)?)))
}

/// Codecs as a member of zarr.json.
pub(super) fn member(codecs: &Value) -> Option<String> {
    Some(format!("\"codecs\": {}\n", json(codecs).ok()?))
}

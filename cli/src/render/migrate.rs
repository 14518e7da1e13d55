//! Reports of migrating, as text.

use recast_pack::{ArrayMigration, GroupReport, MigrateReport};
use serde_json::Value;

use super::group::{Words, arrays, warnings};
use super::links::outside_links;
use super::report::Report;
use super::table::Table;

impl Report for MigrateReport {
    fn rows(&self, table: &mut Table) {
        match self {
            Self::Array(report) => array(report, table),
            Self::Group(report) => group(report, table),
        }
    }
}

fn array(report: &ArrayMigration, table: &mut Table) {
    table.row("migrated", &report.place);
    table.row("how", &report.how);
    let names = |codecs: &[Value]| {
        let names = codecs.iter().filter_map(|codec| codec.get("name")?.as_str());
        let names: Vec<&str> = names.collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    table.row("codecs", format!("{} -> {}", names(&report.source_codecs), names(&report.codecs)));
    for (label, codecs) in [("before", &report.source_codecs), ("after", &report.codecs)] {
        if !codecs.is_empty() {
            table.detailed_lines(label, codecs.iter().map(Value::to_string));
        }
    }
    table.row("decoding", report.elements.describe("elements"));
    if let Some(hint) = &report.hint {
        table.row("hint", hint);
    }
    outside_links(&report.outside_links, table);
}

fn group(report: &GroupReport<ArrayMigration>, table: &mut Table) {
    table.row("migrated", report.output.as_ref().unwrap_or(&report.input));
    warnings(report, table);
    let words = Words { done: "migrated", kept: "kept", failed: "failed, so it is copied" };
    arrays(&report.arrays, &words, line, table);
}

/// A migrated array on one line.
fn line(report: &ArrayMigration) -> String {
    let hint = report.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{}; {}{hint}", report.how, report.elements.describe("elements"))
}

//! Reports of migrating, as text.

use recast_pack::{ArrayMigration, GroupMigration, MigrateReport, MigratedArray};
use serde_json::Value;

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

fn group(report: &GroupMigration, table: &mut Table) {
    let migrated =
        report.arrays.iter().filter(|one| matches!(one, MigratedArray::Migrated { .. })).count();
    table.row("migrated", report.output.as_ref().unwrap_or(&report.input));
    for warning in &report.warnings {
        table.row("warning", warning);
    }
    outside_links(&report.outside_links, table);
    table.row("arrays", format!("{migrated} migrated, {} kept", report.arrays.len() - migrated));
    let rows = report.arrays.iter().map(|one| match one {
        MigratedArray::Migrated { array, report } => {
            let hint = report.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            let decoding = report.elements.describe("elements");
            (array.clone(), format!("{}; {decoding}{hint}", report.how))
        }
        MigratedArray::Kept { array, reason } => (array.clone(), reason.clone()),
    });
    table.list(&rows.collect::<Vec<_>>());
}

//! What became of an array or a group that was migrated, for people.

use recast_pack::{ArrayMigration, GroupMigration, MigrateReport, MigratedArray};
use serde_json::Value;

use super::table::Table;

pub(crate) fn table(report: &MigrateReport) -> Table {
    match report {
        MigrateReport::Array(report) => array(report),
        MigrateReport::Group(report) => group(report),
    }
}

fn array(report: &ArrayMigration) -> Table {
    let mut table = Table::default();
    table.row("migrated", &report.place);
    table.row("how", &report.how);
    let value_codecs = |list: &[Value]| {
        let names: Vec<String> = list.iter().map(Value::to_string).collect();
        if names.is_empty() { "none".to_owned() } else { names.join("\n") }
    };
    table.row("codecs", value_codecs(&report.source_codecs));
    table.row("become", value_codecs(&report.codecs));
    table.row("decoding", &report.compared);
    table
}

fn group(report: &GroupMigration) -> Table {
    let mut table = Table::default();
    let migrated =
        report.arrays.iter().filter(|one| matches!(one, MigratedArray::Migrated { .. })).count();
    table.row("migrated", report.output.as_ref().unwrap_or(&report.input));
    table.row("arrays", format!("{migrated} migrated, {} kept", report.arrays.len() - migrated));
    for one in &report.arrays {
        match one {
            MigratedArray::Migrated { array, report } => {
                table.row(array, format!("{}; {}", report.how, report.compared))
            }
            MigratedArray::Kept { array, reason } => table.row(array, reason),
        };
    }
    table
}

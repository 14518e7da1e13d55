//! Reports of migrating, as text.

use recast_pack::{ArrayMigration, GroupReport};
use serde_json::Value;

use super::group::{Words, arrays, warnings};
use super::links::outside_links;
use super::readers;
use super::report::Report;
use super::table::Table;

impl Report for ArrayMigration {
    fn rows(&self, table: &mut Table) {
        table.row("migrated", &self.place);
        table.row("how", &self.how);
        let names = |codecs: &[Value]| {
            let names = codecs.iter().filter_map(|codec| codec.get("name")?.as_str());
            let names: Vec<&str> = names.collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        if !(self.source_codecs.is_empty() && self.codecs.is_empty()) {
            let [before, after] = [&self.source_codecs, &self.codecs].map(|codecs| names(codecs));
            table.row("codecs", format!("{before} -> {after}"));
        }
        for (label, codecs) in [("before", &self.source_codecs), ("after", &self.codecs)] {
            if !codecs.is_empty() {
                table.detailed_lines(label, codecs.iter().map(Value::to_string));
            }
        }
        table.row("decoding", self.elements.describe("elements"));
        if let Some(readers) = self.readers {
            table.row("readers", readers::text(readers));
        }
        if let Some(hint) = &self.hint {
            table.row("hint", hint);
        }
        outside_links(&self.outside_links, table);
    }
}

impl Report for GroupReport<ArrayMigration> {
    fn rows(&self, table: &mut Table) {
        table.row("migrated", self.output.as_ref().unwrap_or(&self.input));
        warnings(self, table);
        let words = Words { done: "migrated", kept: "kept", failed: "failed, so it is copied" };
        arrays(&self.arrays, &words, line, table);
    }
}

/// A migrated array on one line.
fn line(report: &ArrayMigration) -> String {
    let hint = report.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{}; {}{hint}", report.how, report.elements.describe("elements"))
}

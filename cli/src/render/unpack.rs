//! Reports of unpacking, as text.

use recast_pack::text::number_of;
use recast_pack::{GroupReport, UnpackReport, UnpackedArray};

use super::cf::MASKED;
use super::counts::stored;
use super::group::{Words, arrays, reports, warnings};
use super::links::outside_links;
use super::report::Report;
use super::table::Table;

impl Report for UnpackReport {
    fn rows(&self, table: &mut Table) {
        table.row("unpacked", &self.output);
        table.row("shape", format!("{:?}", self.shape));
        table.row("type", self.data_type.to_string());
        table.row("stored", stored(self.source_stored, self.stored));
        outside_links(&self.outside_links, table);
    }
}

impl Report for UnpackedArray {
    fn rows(&self, table: &mut Table) {
        match self {
            Self::Values(report) => report.rows(table),
            Self::ToCf(report) => report.rows(table),
        }
    }
}

impl Report for GroupReport<UnpackedArray> {
    fn rows(&self, table: &mut Table) {
        table.row("unpacked", self.output.as_ref().unwrap_or(&self.input));
        warnings(self, table);
        for (array, report) in reports(&self.arrays) {
            match report {
                UnpackedArray::Values(report) => {
                    if let Some(reason) = &report.not_for_cf {
                        table.row("warning", format!("{array} has plain values: {reason}"));
                    }
                }
                UnpackedArray::ToCf(report) => {
                    if report.masked_fill_values > 0 {
                        let masked = number_of(report.masked_fill_values, "element");
                        table.row("warning", format!("{array}: {masked} {MASKED}"));
                    }
                }
            }
        }
        let words = Words { done: "unpacked", kept: "copied", failed: "failed, so it is copied" };
        arrays(&self.arrays, &words, line, table);
    }
}

/// An unpacked array on one line.
fn line(report: &UnpackedArray) -> String {
    match report {
        UnpackedArray::Values(report) => {
            format!("{}, {}", report.data_type, stored(report.source_stored, report.stored))
        }
        UnpackedArray::ToCf(report) => {
            let decoding = report.differences.describe(&report.which);
            format!("{} in place of {}, {decoding}", report.stored_data_type, report.data_type)
        }
    }
}

//! Reports of unpacking, as text.

use recast_pack::text::count;
use recast_pack::{UnpackGroupReport, UnpackReport, UnpackedArray};

use super::counts::stored;
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

impl Report for UnpackGroupReport {
    fn rows(&self, table: &mut Table) {
        let copied = self.arrays.iter().filter(|one| matches!(one, UnpackedArray::Copied { .. }));
        let copied = copied.count();
        table.row("unpacked", &self.output);
        for warning in &self.warnings {
            table.row("warning", warning);
        }
        outside_links(&self.outside_links, table);
        table.row("arrays", format!("{} unpacked, {copied} copied", self.arrays.len() - copied));
        for one in &self.arrays {
            match one {
                UnpackedArray::Unpacked { array, caveat: Some(reason), .. } => {
                    table.row("warning", format!("{array} has plain values: {reason}"));
                }
                UnpackedArray::ToCf { array, report } if report.masked_fill_values > 0 => {
                    let masked = count(report.masked_fill_values);
                    table.row(
                        "warning",
                        format!("{array}: {masked} elements with the fill value become missing"),
                    );
                }
                UnpackedArray::Unpacked { .. }
                | UnpackedArray::ToCf { .. }
                | UnpackedArray::Copied { .. } => {}
            }
        }
        let rows = self.arrays.iter().map(|one| match one {
            UnpackedArray::Unpacked { array, report, .. } => {
                let sizes = stored(report.source_stored, report.stored);
                (array.clone(), format!("{}, {sizes}", report.data_type))
            }
            UnpackedArray::ToCf { array, report } => {
                let decoding = report.differences.describe(&report.which);
                let types = format!("{} in place of {}", report.stored_data_type, report.data_type);
                (array.clone(), format!("{types}, {decoding}"))
            }
            UnpackedArray::Copied { array, caveat } => {
                let reason = caveat.as_deref().unwrap_or("no value codecs");
                (array.clone(), format!("copied: {reason}"))
            }
        });
        table.list(&rows.collect::<Vec<_>>());
    }
}

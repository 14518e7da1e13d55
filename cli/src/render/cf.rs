//! Reports of arrays packed by the CF conventions, as text.

use recast_kernels::ElementType;
use recast_pack::report::Charts;
use recast_pack::text::{bytes, count, number_of};
use recast_pack::{FromCfReport, ToCfReport};

use super::links::outside_links;
use super::readers;
use super::report::{Report, member};
use super::table::Table;

/// Codecs in place of attributes.
impl Report for FromCfReport {
    fn rows(&self, table: &mut Table) {
        let decoded = self.data_type;
        if self.dry_run {
            let would =
                "these codecs would be, over copies of the chunks; every element decodes as below";
            table.row("dry run", format!("nothing written; {would}"));
        } else {
            table.row("packed", &self.output);
        }
        table.row("type", format!("{decoded}, stored as {}", self.stored_data_type));
        let by_xarray = match self.xarray_data_type {
            same if same == decoded => String::new(),
            other => format!("; xarray reads the input as {other}, and --decoded-type chooses"),
        };
        table.row("CF", format!("{}, in {decoded}{by_xarray}", self.formula));
        for codec in &self.value_codecs {
            let json = codec.to_json();
            let mut configuration = json.get("configuration").cloned().unwrap_or_default();
            if self.patched_codes > 0
                && let Some(object) = configuration.as_object_mut()
                && object.remove("scalar_map").is_some()
            {
                let entries = self.patched_codes + self.missing_codes.len();
                object.insert("scalar_map".into(), format!("{entries} entries").into());
            }
            table.detail(codec.name(), configuration.to_string());
        }
        table.row("decoding", self.codes.differences.describe(&self.codes.which));
        table.row("", self.elements.describe("elements"));
        if self.patched_codes > 0 {
            table.detail("", format!("{} of them by the decode map", self.patched_codes));
        }
        table.row(
            "encoding",
            match self.codes_not_encoded_back {
                Some(0) => "gives every code back".to_owned(),
                Some(changed) => format!(
                    "does not give {} back: {decoded} is too coarse for new data",
                    number_of(changed, "code")
                ),
                None => "is refused for some codes".to_owned(),
            },
        );
        let codes: Vec<String> = self.missing_codes.iter().map(ToString::to_string).collect();
        if !codes.is_empty() {
            let missing = count(self.missing);
            table.row("missing", format!("{missing}, stored as {}, are NaN", codes.join(", ")));
        }
        if let Some((chunks, size)) = self.chunks.zip(self.bytes) {
            let size = bytes(size as f64);
            table.row("chunks", format!("{} copied, {size}", number_of(chunks, "chunk")));
        }
        if !self.dry_run {
            table.detail("readers", readers::text(self.readers));
        }
        if let [only] = self.warnings.as_slice() {
            table.row("warning", only);
        } else if !self.warnings.is_empty() {
            table.row("warnings", format!("{}; -v shows them", self.warnings.len()));
            for warning in &self.warnings {
                table.detail("warning", warning);
            }
        }
        outside_links(&self.outside_links, table);
    }

    fn to_copy(&self) -> Option<String> {
        if self.dry_run { member(&self.codecs) } else { None }
    }

    fn charts(&self) -> Option<&Charts> {
        self.charts.as_ref()
    }
}

/// The fate of elements that CF cannot tell from missing ones, in words.
pub(super) const MASKED: &str = "with the fill value will be missing";

/// Attributes in place of codecs.
impl Report for ToCfReport {
    fn rows(&self, table: &mut Table) {
        table.row("unpacked", &self.output);
        table.row("type", format!("{} in place of {}", self.stored_data_type, self.data_type));
        for (name, value) in &self.attributes {
            table.row(name, value.to_string());
        }
        let decoding = self.differences.describe(&self.which);
        let type_in_xarray = ElementType::Float64;
        let by_xarray = match self.data_type {
            same if same == type_in_xarray => String::new(),
            _ => format!("; xarray reads {type_in_xarray}"),
        };
        table.row("decoding", format!("{decoding}, with CF in {}{by_xarray}", self.data_type));
        if self.masked_fill_values > 0 {
            let masked = number_of(self.masked_fill_values, "element");
            table.row("warning", format!("{masked} {MASKED}, as CF can only mask that number"));
        }
        table.row("chunks", format!("{} copied", number_of(self.chunks, "chunk")));
        outside_links(&self.outside_links, table);
    }
}

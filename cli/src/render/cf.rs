//! Reports of arrays packed by the CF conventions, as text.

use recast_pack::text::{bytes, count, measured};
use recast_pack::{FromCfReport, ToCfReport};

use super::readers;
use super::table::Table;

/// Codecs in place of attributes.
pub(crate) fn from_cf(report: &FromCfReport) -> Table {
    let mut table = Table::default();
    let decoded = report.data_type;
    if report.dry_run {
        table.row("dry run", "nothing written; every element was decoded");
    } else {
        table.row("packed", &report.output);
    }
    table.row("type", format!("{decoded}, stored as {}", report.stored_data_type));
    table.row("CF", format!("{}, in {decoded}", report.formula));
    for codec in &report.value_codecs {
        let json = codec.to_json();
        let mut configuration = json.get("configuration").cloned().unwrap_or_default();
        if report.patched_codes > 0
            && let Some(object) = configuration.as_object_mut()
            && object.remove("scalar_map").is_some()
        {
            let entries = report.patched_codes + report.missing_codes.len();
            object.insert("scalar_map".into(), format!("{entries} entries").into());
        }
        table.detail(codec.name(), configuration.to_string());
    }
    table.row("decoding", report.codes.differences.describe(&report.codes.which));
    table.row("", report.elements.describe("elements"));
    if report.patched_codes > 0 {
        table.detail("", format!("{} of them by the decode map", report.patched_codes));
    }
    table.row(
        "encoding",
        match report.codes_not_encoded_back {
            Some(0) => "gives every code back".to_owned(),
            Some(changed) => format!(
                "does not give {} codes back: {decoded} is too coarse for new data",
                count(changed)
            ),
            None => "is refused for some codes".to_owned(),
        },
    );
    let codes: Vec<String> = report.missing_codes.iter().map(ToString::to_string).collect();
    if !codes.is_empty() {
        let missing = count(report.missing);
        table.row("missing", format!("{missing}, stored as {}, are NaN", codes.join(", ")));
    }
    if let Some((chunks, size)) = report.chunks.zip(report.bytes) {
        let size = bytes(size as f64);
        table.row("chunks", format!("{} copied as they are, {size}", count(chunks)));
    }
    if !report.dry_run {
        table.detail("readers", readers::text(report.readers));
    }
    if let Some(other) = &report.alternative {
        let sizes = [other.decoded_bytes, report.decoded_bytes].map(|size| bytes(size as f64));
        table.row(
            "instead",
            format!(
                "{}: {}; values up to {} away, {} decoded rather than {}",
                other.data_type,
                other.codes.differences.describe(&other.codes.which),
                measured(other.largest_distance),
                sizes[0],
                sizes[1]
            ),
        );
    }
    if let [only] = report.warnings.as_slice() {
        table.row("warning", only);
    } else if !report.warnings.is_empty() {
        table.row("warnings", format!("{}; -v shows them", report.warnings.len()));
        for warning in &report.warnings {
            table.detail("warning", warning);
        }
    }
    table
}

/// Attributes in place of codecs.
pub(crate) fn to_cf(report: &ToCfReport) -> Table {
    let mut table = Table::default();
    table.row("unpacked", &report.output);
    table.row("type", format!("{} in place of {}", report.stored_data_type, report.data_type));
    for (name, value) in &report.attributes {
        table.row(name, value.to_string());
    }
    let decoding = report.differences.describe(&report.which);
    table.row("decoding", format!("{decoding}, with CF in {}", report.data_type));
    table.row("chunks", format!("{} copied as they are", count(report.chunks)));
    table
}

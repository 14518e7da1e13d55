//! The report of packing an array, for people.

use recast_kernels::{OutOfRange, Scalar};
use recast_pack::text::{bytes, count, measured, scalar_text};
use recast_pack::{PackOptions, PackReport};

use super::errors;
use super::readers;
use super::table::Table;

pub(crate) fn table(report: &PackReport) -> Table {
    let mut table = Table::default();
    rows_of_choice(report, &mut table);
    rows_of_counts(report, &mut table);
    rows_of_sizes(report, &mut table);
    rows_of_errors(report, &mut table);
    let rate = bytes(report.bytes.source as f64 / report.seconds.max(1e-9));
    table.row("time", format!("{:.2} s, {rate}/s", report.seconds));
    if let Some(readers) = report.readers.filter(|_| !report.dry_run) {
        table.row("readers", readers::text(readers));
    }
    table
}

/// What the headline says of clamped elements: they are off by more than any bound.
fn clamping(report: &PackReport) -> String {
    let counts = &report.counts;
    if counts.clamped == 0 {
        return String::new();
    }
    let by = report.error.largest_clamping.max(report.error.errors.max);
    let (clamped, elements) = (count(counts.clamped), count(counts.elements));
    format!("; {clamped} of {elements} elements clamped, by {} at most", measured(by))
}

fn rows_of_choice(report: &PackReport, table: &mut Table) {
    match report.sampled_chunks {
        None => table.row("packed", format!("{}{}", report.output, clamping(report))),
        Some(sampled) => table.row(
            "dry run",
            format!(
                "nothing written; sizes and errors are from {} of {} chunks",
                count(sampled),
                count(report.chunks)
            ),
        ),
    };
    table.row("type", format!("{} -> {}", report.source_data_type, report.data_type));
    if report.offset.is_some() || report.scale.is_some() {
        let parts = [("offset", report.offset), ("scale", report.scale)];
        let parts = parts.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let parts: Vec<String> =
            parts.map(|(name, value)| format!("{name} {}", scalar_text(Some(value)))).collect();
        table.row("scale_offset", parts.join(", "));
    }
    match report.range {
        Some((least, greatest)) => table.row("range", format!("{least} to {greatest}")),
        None => table.row("range", "no values"),
    };
    if let Some(scale_from) = &report.scale_from
        && let Some((least, greatest)) = scale_from.range
    {
        let arrays = count(scale_from.arrays.len() as u64);
        table.row("scale from", format!("{arrays} arrays, {least} to {greatest}"));
    }
    if let Some((least, greatest)) = report.kept_range.filter(|_| report.is_clamped_to_range()) {
        table.row("kept", format!("{least} to {greatest}"));
    }
}

fn rows_of_counts(report: &PackReport, table: &mut Table) {
    let counts = &report.counts;
    let stored_as =
        |code: Option<Scalar>| code.map(|code| format!(", stored as {code}")).unwrap_or_default();
    table.row("elements", count(counts.elements));
    if counts.nan > 0 || report.nan.is_some() {
        table.row("NaN", format!("{}{}", count(counts.nan), stored_as(report.nan)));
    }
    for missing in &report.missing {
        let code = stored_as(missing.code);
        table.row(format!("missing {}", missing.value), format!("{}{code}", count(missing.count)));
    }
    let is_marker = report.missing.iter().any(|one| one.value.equals(report.fill_value));
    if !report.fill_value.is_nan() && !is_marker {
        let code = stored_as(report.encoded_fill_value);
        table.row(format!("fill {}", report.fill_value), format!("{}{code}", count(counts.fill)));
    }
    if counts.infinite > 0 {
        table.row("infinite", count(counts.infinite));
    }
    table.row("mapped", count(counts.mapped));
    if report.is_clamped_to_range() || report.options.out_of_range == OutOfRange::Clamp {
        let by = report.error.largest_clamping;
        let by = if by > 0.0 { format!(", by {} at most", measured(by)) } else { String::new() };
        table.row("clamped", format!("{}{by}", count(counts.clamped)));
    }
    if report.options.out_of_range == OutOfRange::Wrap {
        table.row("wrapped", count(counts.wrapped));
    }
    if report.options.allow_collisions {
        let (nan, missing) = (count(counts.became_nan), count(counts.became_missing));
        table.row("collisions", format!("{nan} became NaN, {missing} a missing value"));
    }
    if let Some(codes) = counts.distinct {
        let all = 1 << report.data_type.bits();
        table.row("codes", format!("{} of {} used", count(codes), count(all)));
    }
}

fn rows_of_sizes(report: &PackReport, table: &mut Table) {
    let sizes = &report.bytes;
    let (source, stored_bytes) = (sizes.source as f64, sizes.stored as f64);
    table.row("in memory", format!("{} -> {}", bytes(source), bytes(sizes.packed as f64)));
    let before = sizes.source_stored.map(|bytes| bytes as f64);
    let stored = before.map_or_else(|| "unknown".to_owned(), bytes);
    table.row("stored", format!("{stored} -> {}", bytes(stored_bytes)));
    if report.ratio.is_none() {
        table.row("ratio", "none, as all values are the same");
        return;
    }
    let ratio = |before: f64| format!("{:.2}", before / stored_bytes.max(1.0));
    let memory = format!("{} to memory", ratio(source));
    let stored = before.map(|before| format!(", {} to what was stored", ratio(before)));
    table.row("ratio", memory + stored.as_deref().unwrap_or_default());
}

fn rows_of_errors(report: &PackReport, table: &mut Table) {
    let PackOptions { max_abs_error, max_rel_error, precision, .. } = report.options;
    let bound = if let Some(bound) = max_abs_error {
        format!(" (bound {bound:?})")
    } else if let Some(bound) = max_rel_error {
        format!(" (bound {bound:?} of each value)")
    } else if let Some(step) = precision {
        format!(" (multiples of {step:?})")
    } else {
        String::new()
    };
    errors::rows(&report.error.errors, table, &bound);
}

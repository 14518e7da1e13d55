//! The report of packing an array, for people.

use recast_kernels::{OutOfRange, Scalar};
use recast_pack::report::{Charts, Counts, Reached, Recommended, Suspect};
use recast_pack::text::{bytes, count, measured, number_of, scalar_text, times_smaller};
use recast_pack::{Compressor, PackOptions, PackReport, Reader, Requirement};

use super::counts::{self, elements};
use super::errors;
use super::links::outside_links;
use super::readers;
use super::report::{Report, member};
use super::table::Table;

impl Report for PackReport {
    fn rows(&self, table: &mut Table) {
        rows_of_choice(self, table);
        rows_of_counts(self, table);
        rows_of_errors(self, table);
        rows_of_sizes(self, table);
        outside_links(&self.outside_links, table);
        let rate = bytes(self.bytes.source as f64 / self.seconds.max(1e-9));
        table.detail("time", format!("{:.2} s, {rate}/s", self.seconds));
        if let Some(readers) = readers(self) {
            table.row("readers", readers);
        }
    }

    fn to_copy(&self) -> Option<String> {
        if self.dry_run { member(&self.codecs) } else { None }
    }

    fn charts(&self) -> Option<&Charts> {
        self.charts.as_ref()
    }
}

/// The part of the headline about what matters more than sizes: clamped elements, whose errors exceed the bound, and a
/// bound that leaves little of the values.
fn remarks(report: &PackReport) -> String {
    let coarse = report.coarse.map(|coarse| format!("; {coarse}")).unwrap_or_default();
    format!("{}{coarse}", clamping(report))
}

/// Who can read the packed array, if that is known.
pub(super) fn readers(report: &PackReport) -> Option<String> {
    match report.readers {
        Some(readers) if !report.dry_run => Some(readers::text(readers)),
        None if report.options.readers.contains(&Reader::Any) || report.options.lossless => {
            Some(readers::of_plain(report.data_type))
        }
        Some(_) | None => None,
    }
}

/// The part about clamped elements.
pub(super) fn clamping(report: &PackReport) -> String {
    let counts = &report.counts;
    if counts.clamped == 0 {
        return String::new();
    }
    let by = report.largest_clamping();
    let (clamped, elements) = (count(counts.clamped), count(counts.elements));
    format!("; {clamped} of {elements} elements clamped, by {} at most", measured(by))
}

fn rows_of_choice(report: &PackReport, table: &mut Table) {
    let remarks = remarks(report);
    match report.sampled_chunks {
        None => table.row("packed", format!("{}{remarks}", report.output)),
        Some(sampled) => {
            let (sampled, chunks) = (count(sampled), count(report.chunks));
            let of = format!("sizes and errors are estimated from {sampled} of {chunks} chunks");
            table.row("dry run", format!("nothing written; {of}{remarks}"))
        }
    };
    let affine = [("offset", report.offset), ("scale", report.scale)];
    let affine = affine.into_iter().filter(|(_, value)| value.is_some());
    let affine = affine.map(|(name, value)| format!(", {name} {}", scalar_text(value)));
    let affine: String = affine.collect();
    let (from, to) = (report.source_data_type, report.data_type);
    let is_plain = from == to && from.is_float() && report.scale.or(report.offset).is_none();
    let note = if report.already_narrowest {
        ", already the narrowest type for these values: no codecs are needed"
    } else if report.options.lossless && is_plain {
        ", plain numbers: no codecs keep every bit"
    } else {
        ""
    };
    let rounded = report.rounded.map(|rounded| format!(", {rounded}")).unwrap_or_default();
    table.row("type", format!("{from} -> {to}{affine}{rounded}{note}"));
    let range = match report.range {
        Some((least, greatest)) => format!("{least} to {greatest}"),
        None => "no values".to_owned(),
    };
    let storable = report.storable_range.map(|(least, greatest)| format!("{least} to {greatest}"));
    let grid = report.grid.map(|grid| format!(", {grid} only")).unwrap_or_default();
    let storable = storable.map(|range| format!("; {range} can be stored{grid}"));
    let beyond = beyond(report, false);
    let shown =
        beyond.as_ref().filter(|(_, is_more)| *is_more).map(|(text, _)| format!("; {text}"));
    table.row("range", [Some(range), storable, shown].into_iter().flatten().collect::<String>());
    if let Some((text, false)) = beyond {
        table.detail("rounding", text);
    }
    if let Some(scale_from) = &report.scale_from
        && let Some((least, greatest)) = scale_from.range
    {
        let arrays = number_of(scale_from.arrays.len() as u64, "array");
        table.detail("scale from", format!("{arrays}, {least} to {greatest}"));
    }
    if let Some((least, greatest)) = report.kept_range.filter(|_| report.is_clamped_to_range()) {
        table.row("kept", format!("{least} to {greatest}"));
    }
}

/// How limits forbid that values leave them: no steps of a size that is asked for do.
fn way_out(report: &PackReport, limits: [Option<Scalar>; 2], is_of_group: bool) -> String {
    if report.options.precision.is_some() {
        return String::new();
    }
    let end = |none: &str, end: Option<Scalar>| end.map_or(none.to_owned(), |end| end.to_string());
    if is_of_group {
        let [least, greatest] = limits.map(|limit| end("\"none\"", limit));
        return format!("; limits = [{least}, {greatest}] in its table of --config forbids that");
    }
    let [least, greatest] = limits.map(|limit| end("none", limit));
    format!("; --limits {least} {greatest} forbids that")
}

/// How far decoded values go beyond the data, and whether that is more than the rounding of float32, which nobody looks for.
pub(super) fn beyond(report: &PackReport, is_of_group: bool) -> Option<(String, bool)> {
    let ((least, greatest), kept) = report.decoded_range.zip(report.kept_range)?;
    let magnitude = kept.0.to_f64().abs().max(kept.1.to_f64().abs());
    let rounding = 2.0 * f64::from(f32::EPSILON) * magnitude;
    let sides = [(kept.0, least, "below"), (greatest, kept.1, "above")];
    let sides = sides.map(|(greater, less, side)| (greater.to_f64() - less.to_f64(), side));
    let beyond = sides.iter().filter(|(by, _)| *by > 0.0);
    let beyond: Vec<String> =
        beyond.map(|(by, side)| format!("{} {side}", measured(*by))).collect();
    let text = format!(
        "decoded {least} to {greatest}, beyond the data by {}{}",
        beyond.join(" and "),
        way_out(report, [Some(kept.0), Some(kept.1)], is_of_group)
    );
    Some((text, sides.iter().any(|(by, _)| *by > rounding)))
}

fn rows_of_counts(report: &PackReport, table: &mut Table) {
    let counts = &report.counts;
    let stored_as =
        |code: Option<Scalar>| code.map(|code| format!(", stored as {code}")).unwrap_or_default();
    let Counts { nan, missing, fill, infinite } = counts.special;
    let kinds = [(nan, "NaN"), (missing, "missing"), (infinite, "infinite")];
    table.row("elements", elements(counts.elements, &kinds));
    if nan > 0 || report.nan.is_some() {
        table.detail("NaN", format!("{}{}", count(nan), stored_as(report.nan)));
    }
    for missing in &report.missing {
        let code = stored_as(missing.code);
        table.detail(
            format!("missing {}", missing.value),
            format!("{}{code}", count(missing.count)),
        );
    }
    let is_marker = report.missing.iter().any(|one| one.value.equals(report.fill_value));
    if !report.fill_value.is_nan() && !is_marker {
        let code = stored_as(report.encoded_fill_value);
        table.detail(format!("fill {}", report.fill_value), format!("{}{code}", count(fill)));
    }
    if let Some(hint) = &report.hint {
        table.row("hint", hint);
    }
    for (label, text) in notes(report, false) {
        table.row(label, text);
    }
    table.detail("mapped", count(counts.mapped));
    if report.is_clamped_to_range() || report.options.out_of_range == OutOfRange::Clamp {
        let by = report.error.largest_clamping;
        let by = if by > 0.0 { format!(", by {} at most", measured(by)) } else { String::new() };
        table.detail("clamped", format!("{}{by}", count(counts.clamped)));
    }
}

/// The rows that each array of a group has in the report, too: values that keep no bound, and advice.
pub(super) fn notes(report: &PackReport, is_of_group: bool) -> Vec<(&'static str, String)> {
    let counts = &report.counts;
    let mut notes = Vec::new();
    for beyond in &report.beyond_valid {
        let limit = Some(beyond.limit);
        let limits = if beyond.is_above { [None, limit] } else { [limit, None] };
        notes.push(("note", format!("{beyond}{}", way_out(report, limits, is_of_group))));
    }
    if let Some(kinds) = &report.nan_kinds {
        notes.push(("kinds of NaN", format!("{kinds}; --readers any keeps them")));
    }
    for Suspect { value, count: number } in &report.suspects {
        let value = scalar_text(Some(*value));
        let elements = number_of(*number, "element");
        let are = if *number == 1 { "is" } else { "are" };
        notes.push((
            "note",
            format!(
                "{elements} {are} {value}, which looks like a missing value that no attribute names; if it is, use \
                 --missing {value}"
            ),
        ));
    }
    if report.options.out_of_range == OutOfRange::Wrap {
        notes.push(("wrapped", count(counts.wrapped)));
    }
    if report.options.allow_collisions {
        let (nan, missing) = (count(counts.became_nan), count(counts.became_missing));
        notes.push(("collisions", format!("{nan} became NaN, {missing} a missing value")));
    }
    notes
}

fn rows_of_sizes(report: &PackReport, table: &mut Table) {
    let sizes = &report.bytes;
    let (source, stored) = (sizes.source as f64, sizes.stored as f64);
    table.detail("in memory", format!("{} -> {}", bytes(source), bytes(sizes.packed as f64)));
    match report.options.compressor {
        Compressor::Auto | Compressor::Smallest => {
            table.row("compression", report.compression.clone())
        }
        Compressor::None | Compressor::Zstd(_) | Compressor::Gzip(_) | Compressor::Blosc(_) => {
            table.detail("compression", report.compression.clone())
        }
    };
    if let Some(advice) = &report.chunk_advice {
        let [other, present] = [&advice.chunk_shape, &advice.present_chunk_shape]
            .map(|shape| shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × "));
        let saved = (100.0 * advice.saved).round();
        let advice = format!(
            "{other} would take {saved} % less than {present}, by an estimate; recast keeps those of \
             the input, so write it anew with these"
        );
        table.row("chunks", advice);
    }
    let before = sizes.source_stored.map(|bytes| bytes as f64);
    let sizes = counts::stored(sizes.source_stored, sizes.stored);
    if report.ratio.is_none() {
        let why = if report.counts.elements == 0 { "" } else { "; all values are the same" };
        table.row("stored", format!("{sizes}{why}"));
        return;
    }
    let than = |before: f64, what: &str| {
        format!("{} than {what}", times_smaller(before / stored.max(1.0)))
    };
    let memory = than(source, "the raw array");
    let disk = before.map(|before| format!(", {}", than(before, "the stored input")));
    table.row("stored", format!("{sizes}; {memory}{}", disk.unwrap_or_default()));
}

/// The requirements and the measured errors, if there is more than a bound of the error of every element, or a recommendation.
pub(super) fn keeps(report: &PackReport) -> &[Reached] {
    let PackReport { requirements, recommended, .. } = report;
    let asked: Vec<Requirement> = requirements.iter().map(|one| one.requirement).collect();
    let is_recommended = recommended.as_ref().and_then(Recommended::by).is_some();
    if is_recommended || Requirement::are_more(&asked) { requirements } else { &[] }
}

fn rows_of_errors(report: &PackReport, table: &mut Table) {
    let PackOptions { max_abs_error, error_over_range, max_rel_error, precision, .. } =
        report.options;
    // The largest error is relative if there is such a bound.
    let bound = if let Some(bound) = max_rel_error {
        let from = report.error.relative_from;
        let from =
            from.map(|from| format!("; values to come keep it from a magnitude of {from} on"));
        format!(" (bound {bound:?} of each value{})", from.unwrap_or_default())
    } else if let Some(bound) = max_abs_error {
        let share = error_over_range.map(|share| format!(", {share:?} of the range"));
        format!(" (bound {bound:?}{})", share.unwrap_or_default())
    } else if let Some(step) = precision {
        format!(" (multiples of {step:?})")
    } else {
        String::new()
    };
    let kept = if report.is_clamped_to_range() { " of the values kept" } else { "" };
    errors::rows(&report.error.errors, table, &format!("{kept}{bound}"), false);
    if !keeps(report).is_empty() {
        table.lines("keeps", keeps(report).iter().map(ToString::to_string));
    }
    if let Some(recommended) = &report.recommended {
        table.row("recommended", recommended.to_string());
    }
}

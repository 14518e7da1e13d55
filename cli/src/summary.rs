//! The report of `recast pack`, for people and for machines.

use std::time::Instant;

use anyhow::Result;
use recast_kernels::{OutOfRange, Scalar};
use serde_json::{Value, json};
use zarr_recast::fill_value::to_json;

use crate::args::Pack;
use crate::choose::Request;
use crate::pack::{Job, Packed};
use crate::report::{Table, bytes, count, measured, print};
use crate::survey::Survey;

/// What `pack` did, and what came of it.
pub(crate) struct Summary<'a> {
    job: Job<'a>,
    survey: &'a Survey,
    packed: &'a Packed,
    seconds: f64,
}

/// Who can read the result; others do not know its codecs.
const READERS: &str = "zarr-python 3.2 or newer with zarr-recast or cast-value-rs, zarrs with \
                       zarrs-recast;\nnot GDAL, netCDF and others without these codecs: give them \
                       the result of `recast unpack`";

impl<'a> Summary<'a> {
    /// The time ends here.
    pub(crate) fn new(job: Job<'a>, packed: &'a Packed, started: Instant) -> Self {
        Self { job, survey: job.survey, packed, seconds: started.elapsed().as_secs_f64() }
    }

    /// Prints it as the arguments say.
    pub(crate) fn show(&self) -> Result<()> {
        let Pack { json, common, .. } = self.job.arguments;
        let to_text = || match self.packed.sampled {
            Some(_) => format!("{}\n\"codecs\": {:#}\n", self.to_table(), self.packed.codecs),
            None => self.to_table().to_string(),
        };
        print(*json, common.quiet, || self.to_json(), to_text)
    }

    fn elements(&self) -> f64 {
        self.job.source.elements() as f64
    }

    fn source_bytes(&self) -> f64 {
        self.elements() * self.survey.element_type.size() as f64
    }

    fn packed_bytes(&self) -> f64 {
        self.elements() * self.packed.packing.chain.encoded_type().size() as f64
    }

    fn mapped(&self) -> u64 {
        let packing = &self.packed.packing;
        let nan = if packing.nan.is_some() { self.survey.nan } else { 0 };
        nan + if packing.fill_is_mapped() { self.survey.fill } else { 0 }
    }

    /// Elements that were clamped, wherever that was asked for, and those that were wrapped.
    fn moved(&self) -> (u64, u64) {
        let part = &self.packed.part;
        match self.job.request.out_of_range {
            OutOfRange::Wrap => (part.outside.count, part.out_of_range),
            _ => (part.outside.count + part.out_of_range, 0),
        }
    }

    fn extent(&self) -> Option<f64> {
        let (least, greatest) = self.survey.range?;
        Some(greatest.to_f64() - least.to_f64())
    }

    pub(crate) fn to_json(&self) -> Value {
        let Self { job, survey, packed, .. } = self;
        let Packed { packing, demand, codecs, part, codes, sampled } = packed;
        let comparison = &part.comparison;
        let (clamped, wrapped) = self.moved();
        let range = |range: Option<(Scalar, Scalar)>| {
            range.map(|(least, greatest)| [to_json(least), to_json(greatest)])
        };
        let mut error = comparison.to_json(self.extent());
        if let Some(error) = error.as_object_mut() {
            error.insert("bound".into(), job.request.max_abs_error.into());
            error.insert("relative_bound".into(), job.request.max_rel_error.into());
            error.insert("precision".into(), job.request.precision.into());
            error.insert("largest_clamping".into(), part.outside.farthest.into());
        }
        json!({
            "input": job.arguments.input.display().to_string(),
            "output": job.arguments.output.display().to_string(),
            "shape": job.source.array().shape(),
            "source_data_type": survey.element_type.name(),
            "data_type": packing.chain.encoded_type().name(),
            "offset": packing.offset.map(to_json),
            "scale": packing.scale.map(to_json),
            "nan": packing.nan.map(to_json),
            "fill_value": to_json(survey.fill_value),
            "encoded_fill_value": packing.chain.encoded_fill_value().map(to_json),
            "codecs": codecs,
            "range": range(survey.data_range),
            "kept_range": range(survey.range),
            "scale_from": job.others.first().map(|_| {
                let others = job.others.iter().map(|other| other.source);
                let arrays = [job.source].into_iter().chain(others);
                let arrays: Vec<String> =
                    arrays.map(|array| array.path().display().to_string()).collect();
                json!({"arrays": arrays, "range": range(job.all.data_range)})
            }),
            "counts": {
                "elements": job.source.elements() as u64,
                "nan": survey.nan,
                "fill": survey.fill,
                "infinite": survey.infinite,
                "mapped": self.mapped(),
                "clamped": clamped,
                "wrapped": wrapped,
                "collisions": comparison.collisions(demand),
                "became_nan": comparison.sums.became_nan,
                "became_fill": comparison.sums.became_fill,
                "distinct": codes,
            },
            "bytes": {
                "source": self.source_bytes(),
                "packed": self.packed_bytes(),
                "source_stored": job.source.location().stored_bytes(),
                "stored": part.stored_bytes,
            },
            "ratio": self.source_bytes() / (part.stored_bytes.max(1) as f64),
            "error": error,
            "dry_run": job.arguments.dry_run,
            "sampled_chunks": sampled,
            "verified": job.arguments.verify,
            "seconds": self.seconds,
            "bytes_per_second": self.source_bytes() / self.seconds,
        })
    }

    pub(crate) fn to_table(&self) -> Table {
        let mut table = Table::default();
        self.rows_of_choice(&mut table);
        self.rows_of_counts(&mut table);
        self.rows_of_sizes(&mut table);
        self.rows_of_errors(&mut table);
        let rate = bytes(self.source_bytes() / self.seconds.max(1e-9));
        table.row("time", format!("{:.2} s, {rate}/s", self.seconds));
        if !self.packed.packing.codecs.is_empty() && self.packed.sampled.is_none() {
            table.row("readers", READERS);
        }
        table
    }

    fn rows_of_choice(&self, table: &mut Table) {
        let Self { job, survey, packed, .. } = self;
        let packing = &packed.packing;
        let target = packing.chain.encoded_type();
        match packed.sampled {
            None => table.row("packed", job.arguments.output.display().to_string()),
            Some(sampled) => table.row(
                "dry run",
                format!(
                    "nothing written; sizes and errors are from {} of {} chunks",
                    count(sampled),
                    count(job.source.chunks())
                ),
            ),
        };
        table.row("type", format!("{} -> {target}", survey.element_type));
        if packing.offset.is_some() || packing.scale.is_some() {
            let parts = [("offset", packing.offset), ("scale", packing.scale)];
            let parts = parts.into_iter().filter_map(|(name, value)| Some((name, value?)));
            let parts: Vec<String> =
                parts.map(|(name, value)| format!("{name} {}", scalar_text(Some(value)))).collect();
            table.row("scale_offset", parts.join(", "));
        }
        match survey.data_range {
            Some((least, greatest)) => table.row("range", format!("{least} to {greatest}")),
            None => table.row("range", "no values"),
        };
        if let Some((least, greatest)) = job.all.data_range.filter(|_| !job.others.is_empty()) {
            let arrays = count(job.others.len() as u64 + 1);
            table.row("scale from", format!("{arrays} arrays, {least} to {greatest}"));
        }
        if let Some(limits) = survey.limits {
            table.row("kept", format!("{} to {}", limits.least, limits.greatest));
        }
    }

    fn rows_of_counts(&self, table: &mut Table) {
        let Self { job, survey, packed, .. } = self;
        let Packed { packing, demand, part, codes, .. } = packed;
        let comparison = &part.comparison;
        let stored_as = |code: Option<Scalar>| {
            code.map(|code| format!(", stored as {code}")).unwrap_or_default()
        };
        table.row("elements", count(job.source.elements() as u64));
        if survey.nan > 0 || packing.nan.is_some() {
            table.row("NaN", format!("{}{}", count(survey.nan), stored_as(packing.nan)));
        }
        if !survey.fill_value.is_nan() {
            let code = stored_as(packing.chain.encoded_fill_value());
            table.row(
                format!("fill {}", survey.fill_value),
                format!("{}{code}", count(survey.fill)),
            );
            if comparison.sums.became_fill > 0 && !demand.fill_is_apart {
                let others = count(comparison.sums.became_fill);
                table.row("", format!("{others} others decode to it within the error"));
            }
        }
        if survey.infinite > 0 {
            table.row("infinite", count(survey.infinite));
        }
        table.row("mapped", count(self.mapped()));
        let (clamped, wrapped) = self.moved();
        if survey.limits.is_some() || job.request.out_of_range == OutOfRange::Clamp {
            let by = part.outside.farthest;
            let by =
                if by > 0.0 { format!(", by {} at most", measured(by)) } else { String::new() };
            table.row("clamped", format!("{}{by}", count(clamped)));
        }
        if job.request.out_of_range == OutOfRange::Wrap {
            table.row("wrapped", count(wrapped));
        }
        if job.request.allow_collisions {
            let (nan, fill) = (
                comparison.sums.became_nan,
                comparison.collisions(demand) - comparison.sums.became_nan,
            );
            table.row(
                "collisions",
                format!("{} became NaN, {} the fill value", count(nan), count(fill)),
            );
        }
        if let Some(codes) = codes {
            let all = 1 << packing.chain.encoded_type().bits();
            table.row("codes", format!("{} of {} used", count(*codes), count(all)));
        }
    }

    fn rows_of_sizes(&self, table: &mut Table) {
        let Self { job, packed, .. } = self;
        table.row(
            "in memory",
            format!("{} -> {}", bytes(self.source_bytes()), bytes(self.packed_bytes())),
        );
        let stored_bytes = packed.part.stored_bytes;
        let before = job.source.location().stored_bytes().map(|bytes| bytes as f64);
        let stored = before.map_or_else(|| "unknown".to_owned(), bytes);
        table.row("stored", format!("{stored} -> {}", bytes(stored_bytes as f64)));
        let ratio = |before: f64| format!("{:.2}", before / stored_bytes.max(1) as f64);
        let memory = format!("{} to memory", ratio(self.source_bytes()));
        let stored = before.map(|before| format!(", {} to what was stored", ratio(before)));
        table.row("ratio", memory + stored.as_deref().unwrap_or_default());
    }

    fn rows_of_errors(&self, table: &mut Table) {
        let comparison = &self.packed.part.comparison;
        let Request { max_abs_error, max_rel_error, precision, .. } = *self.job.request;
        let bound = if let Some(bound) = max_abs_error {
            format!(" (bound {bound:?})")
        } else if let Some(bound) = max_rel_error {
            format!(" (bound {bound:?} of each value)")
        } else if let Some(step) = precision {
            format!(" (multiples of {step:?})")
        } else {
            String::new()
        };
        comparison.rows(table, &bound, self.extent());
    }
}

pub(crate) fn scalar_text(value: Option<Scalar>) -> String {
    value.map_or_else(|| "1".to_owned(), |value| to_json(value).to_string())
}

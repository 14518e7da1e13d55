//! `recast pack`: two passes over the chunks, one to choose and one to write, then a check of every
//! element of what was written.

use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use recast_kernels::{ElementType, Plan, Reason, RunError, Scalar, reference};
use serde_json::{Map, Value, json};
use zarr_recast::FillCheck;
use zarr_recast::fill_value::to_json;

use crate::args::Pack;
use crate::array::{Region, Source};
use crate::choose::{Chooser, Packing, Request};
use crate::output::{Destination, Encoding, Staged, Writer, size_on_disk};
use crate::report::{Table, bytes, count, measured};
use crate::survey::{Survey, survey};
use crate::verify::{Comparison, Demand, Violation, compare, largest_error};
use crate::work::Workers;

/// The attribute with the provenance.
pub(crate) const PROVENANCE: &str = "recast";

pub(crate) fn run(arguments: &Pack) -> Result<()> {
    let started = Instant::now();
    let request = Request {
        max_abs_error: arguments.max_abs_error,
        data_type: arguments.data_type,
        nan_to: arguments.nan_to.clone(),
        rounding: arguments.rounding,
        out_of_range: arguments.out_of_range.into(),
        scale: arguments.scale.clone(),
        offset: arguments.offset.clone(),
    };
    let destination =
        Destination::new(&arguments.input, &arguments.output, arguments.common.overwrite)?;
    let source = Source::open(&arguments.input, arguments.common.fill_check())?;
    let workers = Workers::new(arguments.common.threads, !arguments.common.quiet)?;
    let job = Job { arguments, request: &request, source: &source, workers: &workers };
    let survey = survey(&source, &workers)?;
    let chooser = Chooser::new(&request, &survey).with_context(|| job.input())?;
    let written = job.find(&chooser, &survey, &destination)?;
    let Written { staged, packing, codecs, stored_bytes, clamped, comparison } = written;
    destination.commit(staged)?;

    let seconds = started.elapsed().as_secs_f64();
    let report = Report {
        job,
        survey: &survey,
        packing: &packing,
        codecs,
        stored_bytes,
        clamped,
        comparison,
        seconds,
    };
    let mut output = std::io::stdout().lock();
    if arguments.json {
        writeln!(output, "{:#}", report.to_json())?;
    } else if !arguments.common.quiet {
        write!(output, "{}", report.to_table())?;
    }
    Ok(())
}

/// What stays the same for all candidates.
#[derive(Clone, Copy)]
struct Job<'a> {
    arguments: &'a Pack,
    request: &'a Request,
    source: &'a Source,
    workers: &'a Workers,
}

/// An array that was written and found right, not yet at its place.
struct Written {
    staged: Staged,
    packing: Packing,
    codecs: Value,
    stored_bytes: u64,
    clamped: u64,
    comparison: Comparison,
}

impl Job<'_> {
    fn input(&self) -> String {
        self.source.path().display().to_string()
    }

    /// Writes with one candidate after the other, until every element is right.
    fn find(
        &self,
        chooser: &Chooser<'_>,
        survey: &Survey,
        destination: &Destination,
    ) -> Result<Written> {
        let mut failure = None;
        let mut guesses_failed = false;
        for candidate in chooser.candidates() {
            let packing = match candidate {
                Ok(packing) => packing,
                // The finest scale comes last, and with it what stands in the way of the bound.
                Err(refusal) => {
                    failure = Some(refusal);
                    continue;
                }
            };
            self.refuse_infinity(survey, packing.chain.encoded_type())?;
            if packing.is_guess && guesses_failed {
                continue;
            }
            if !self.request.is_explicit()
                && let Err(violation) = self.try_sample(&packing, survey)
            {
                failure = Some(violation);
                continue;
            }
            guesses_failed = packing.is_guess;
            match self.write(packing, destination) {
                Ok(written) => return Ok(written),
                Err(error) if error.is::<Violation>() => failure = Some(error),
                Err(error) => return Err(error),
            }
        }
        let failure = failure.unwrap_or_else(|| too_fine(survey));
        Err(self.explained(failure, survey))
    }

    /// Adds to the last failure what was asked for.
    fn explained(&self, failure: anyhow::Error, survey: &Survey) -> anyhow::Error {
        if self.request.is_explicit() {
            return failure.context(self.input());
        }
        let bound = self.request.max_abs_error.unwrap_or_default();
        let range = survey.range.map(|(least, greatest)| format!(" from {least} to {greatest}"));
        let target = match self.request.data_type {
            Some(target) => target.to_string(),
            None => "any integer type".to_owned(),
        };
        let hint = if self.request.data_type.is_some() {
            "allow a larger --max-abs-error or a wider --data-type"
        } else {
            "allow a larger --max-abs-error"
        };
        let context = format!(
            "{}: the {} values{} cannot be kept within {bound:?} in {target}, {hint}",
            self.input(),
            survey.element_type,
            range.unwrap_or_default()
        );
        failure.context(context)
    }

    fn refuse_infinity(&self, survey: &Survey, target: ElementType) -> Result<()> {
        match &survey.first_infinite {
            Some(first) if !target.has_infinity() => bail!(
                "{}: {first}, as {} in all, and {target} has no infinity; replace them first, or \
                 use --data-type float16, float32 or float64",
                self.input(),
                count(survey.infinite)
            ),
            _ => Ok(()),
        }
    }

    /// Sends the sample there and back: a candidate that fails on it need not be written.
    fn try_sample(&self, packing: &Packing, survey: &Survey) -> Result<()> {
        let bound = self.request.max_abs_error.unwrap_or(f64::INFINITY);
        let decoded = packing.chain.decode(&packing.chain.encode(&survey.sample)?)?;
        let error = largest_error(self.source, &survey.sample, &decoded)?;
        if error > bound {
            bail!("with the scale {} an element is off by {error:?}", scalar_text(packing.scale));
        }
        Ok(())
    }

    /// Writes the array and compares it with the original.
    fn write(&self, packing: Packing, destination: &Destination) -> Result<Written> {
        let source = self.source;
        let staged = destination.stage()?;
        let fill = packing.chain.encoded_fill_value().context("the fill value was not encoded")?;
        let encoding = Encoding {
            element_type: packing.chain.encoded_type(),
            fill_value: fill,
            codecs: &packing.codecs,
        };
        let writer = Writer::new(staged.path(), source, &encoding, self.attributes()?)?;
        let work = |number| -> Result<(u64, u64)> {
            let region = source.region(number)?;
            // A chunk that is not stored is the fill value, there as here.
            let Some(elements) = source.read(&region)? else { return Ok((0, 0)) };
            let (encoded, clamped) = self.encode(&packing, &region, &elements)?;
            drop(elements);
            Ok((writer.write(&region, encoded)?, clamped))
        };
        let (mut stored_bytes, mut clamped) = (0, 0);
        self.workers.run("write", source.chunks(), work, |(stored, outside)| {
            stored_bytes += stored;
            clamped += outside;
            Ok(())
        })?;
        writer.finish()?;

        let result = Source::open(staged.path(), FillCheck::Enforce)
            .context("reading back what was written")?;
        let demand = Demand {
            max_abs_error: self.request.max_abs_error,
            fill_is_apart: packing.fill_is_apart,
        };
        let comparison = compare(source, &result, demand, self.workers)?;
        let codecs = writer.codecs().clone();
        Ok(Written { staged, packing, codecs, stored_bytes, clamped, comparison })
    }

    fn attributes(&self) -> Result<Map<String, Value>> {
        let mut attributes = self.source.array().attributes().clone();
        attributes.remove(PROVENANCE);
        if !self.arguments.no_provenance {
            let mut provenance = json!({
                "version": env!("CARGO_PKG_VERSION"),
                "source_data_type": self.source.element_type().name(),
            });
            if let (Some(bound), Some(object)) =
                (self.request.max_abs_error, provenance.as_object_mut())
            {
                object.insert("max_abs_error".into(), serde_json::to_value(bound)?);
            }
            attributes.insert(PROVENANCE.into(), provenance);
        }
        Ok(attributes)
    }

    /// Encodes a region; with the number of elements that were out of range.
    fn encode(
        &self,
        packing: &Packing,
        region: &Region,
        elements: &[u8],
    ) -> Result<(Vec<u8>, u64)> {
        let named = |error: RunError| match error {
            RunError::Element(error) => {
                // The element is named by its place in the array instead of in the chunk.
                let text = error.to_string();
                let text = text.split_once(": ").map_or(text.as_str(), |(_, text)| text);
                anyhow::anyhow!("{}: {}: {text}", self.input(), region.element(error.index))
            }
            error => error.into(),
        };
        let Some(strict) = &packing.strict else {
            return Ok((packing.chain.encode(elements).map_err(named)?, 0));
        };
        if let Ok(encoded) = strict.encode(elements) {
            return Ok((encoded, 0));
        }
        let encoded = packing.chain.encode(elements).map_err(named)?;
        Ok((encoded, out_of_range(strict.encode_plan(), elements)))
    }
}

/// The failure where there is not even a scale to try.
fn too_fine(survey: &Survey) -> anyhow::Error {
    anyhow::anyhow!("the arithmetic of {} rounds more away", survey.element_type)
}

/// Counts the elements that are out of range in the last step of a plan.
fn out_of_range(plan: &Plan, elements: &[u8]) -> u64 {
    let source = plan.source();
    let is_outside = |bytes: &[u8]| {
        let Some(value) = Scalar::from_ne_bytes(source, bytes) else { return false };
        let result = reference::run(value, plan.steps(), 0);
        result.is_err_and(|error| error.reason == Reason::OutOfRange)
    };
    elements.chunks_exact(source.size()).filter(|bytes| is_outside(bytes)).count() as u64
}

/// What was done.
struct Report<'a> {
    job: Job<'a>,
    survey: &'a Survey,
    packing: &'a Packing,
    codecs: Value,
    stored_bytes: u64,
    clamped: u64,
    comparison: Comparison,
    seconds: f64,
}

impl Report<'_> {
    fn elements(&self) -> f64 {
        self.job.source.elements() as f64
    }

    fn source_bytes(&self) -> f64 {
        self.elements() * self.survey.element_type.size() as f64
    }

    fn packed_bytes(&self) -> f64 {
        self.elements() * self.packing.chain.encoded_type().size() as f64
    }

    fn mapped(&self) -> u64 {
        let nan = if self.packing.nan.is_some() { self.survey.nan } else { 0 };
        nan + if self.packing.fill_is_mapped() { self.survey.fill } else { 0 }
    }

    fn to_json(&self) -> Value {
        let Self { job, survey, packing, comparison, .. } = self;
        let counted = |mode| if job.request.out_of_range == mode { self.clamped } else { 0 };
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
            "codecs": self.codecs,
            "range": survey.range.map(|(least, greatest)| [to_json(least), to_json(greatest)]),
            "counts": {
                "elements": job.source.elements() as u64,
                "nan": survey.nan,
                "fill": survey.fill,
                "infinite": survey.infinite,
                "mapped": self.mapped(),
                "clamped": counted(recast_kernels::OutOfRange::Clamp),
                "wrapped": counted(recast_kernels::OutOfRange::Wrap),
                "became_fill": comparison.became_fill,
            },
            "bytes": {
                "source": self.source_bytes(),
                "packed": self.packed_bytes(),
                "source_stored": size_on_disk(job.source.path()),
                "stored": self.stored_bytes,
            },
            "ratio": self.source_bytes() / (self.stored_bytes.max(1) as f64),
            "error": {
                "bound": job.request.max_abs_error,
                "max": comparison.max,
                "mean": comparison.mean(),
                "rmse": comparison.rmse(),
            },
            "seconds": self.seconds,
            "bytes_per_second": self.source_bytes() / self.seconds,
        })
    }

    fn to_table(&self) -> Table {
        let Self { job, survey, packing, comparison, .. } = self;
        let mut table = Table::default();
        let target = packing.chain.encoded_type();
        table.row("packed", job.arguments.output.display().to_string());
        table.row("type", format!("{} -> {target}", survey.element_type));
        if packing.offset.is_some() || packing.scale.is_some() {
            let parts = [("offset", packing.offset), ("scale", packing.scale)];
            let parts = parts.into_iter().filter_map(|(name, value)| Some((name, value?)));
            let parts: Vec<String> =
                parts.map(|(name, value)| format!("{name} {}", scalar_text(Some(value)))).collect();
            table.row("scale_offset", parts.join(", "));
        }
        match survey.range {
            Some((least, greatest)) => table.row("range", format!("{least} to {greatest}")),
            None => table.row("range", "no values"),
        };
        let elements = count(job.source.elements() as u64);
        let stored_as = |code: Option<Scalar>| {
            code.map(|code| format!(", stored as {code}")).unwrap_or_default()
        };
        table.row("elements", elements);
        if survey.nan > 0 || packing.nan.is_some() {
            table.row("NaN", format!("{}{}", count(survey.nan), stored_as(packing.nan)));
        }
        if !survey.fill_value.is_nan() {
            let code = stored_as(packing.chain.encoded_fill_value());
            table.row(
                format!("fill {}", survey.fill_value),
                format!("{}{code}", count(survey.fill)),
            );
            if comparison.became_fill > 0 {
                let others = count(comparison.became_fill);
                table.row("", format!("{others} others decode to it within the error"));
            }
        }
        if survey.infinite > 0 {
            table.row("infinite", count(survey.infinite));
        }
        table.row("mapped", count(self.mapped()));
        if let Some(name) = job.request.out_of_range.name() {
            table.row(if name == "clamp" { "clamped" } else { "wrapped" }, count(self.clamped));
        }
        table.row(
            "in memory",
            format!("{} -> {}", bytes(self.source_bytes()), bytes(self.packed_bytes())),
        );
        let stored_before = size_on_disk(job.source.path()) as f64;
        table.row(
            "stored",
            format!("{} -> {}", bytes(stored_before), bytes(self.stored_bytes as f64)),
        );
        let ratio = |before: f64| format!("{:.2}", before / self.stored_bytes.max(1) as f64);
        table.row(
            "ratio",
            format!(
                "{} to memory, {} to what was stored",
                ratio(self.source_bytes()),
                ratio(stored_before)
            ),
        );
        let bound = job.request.max_abs_error;
        let bound = bound.map(|bound| format!(" (bound {bound:?})")).unwrap_or_default();
        table.row("max error", format!("{}{bound}", measured(comparison.max)));
        table.row("mean error", measured(comparison.mean()));
        table.row("RMSE", measured(comparison.rmse()));
        let rate = bytes(self.source_bytes() / self.seconds.max(1e-9));
        table.row("time", format!("{:.2} s, {rate}/s", self.seconds));
        table
    }
}

fn scalar_text(value: Option<Scalar>) -> String {
    value.map_or_else(|| "1".to_owned(), |value| to_json(value).to_string())
}

//! Packs an array: a pass chooses codecs, and another writes, decoding every element and comparing it with the
//! original.

mod chunk_advice;
mod encode;
mod job;
mod report;
mod search;
mod seen_codes;

use std::path::{Path, PathBuf};
use std::slice;
use std::time::Instant;

use anyhow::{Context, bail};
use recast_kernels::Scalar;
use zarr_recast::FillCheck;

use crate::check::arrays::compare;
use crate::check::tolerance::Tolerance;
use crate::choose::packing::Packing;
use crate::choose::search::Search;
use crate::error::{Error, Result};
use crate::io::destination::Destination;
use crate::io::source::Source;
use crate::io::staging::Staged;
use crate::io::storage::Storage;
use crate::jobs::runner;
use crate::options::Percentiles;
use crate::runtime::{Runtime, Workers};
use crate::scan::charts::{Charts, Frame, Labels, Pieces, gather};
use crate::scan::missing::Markers;
use crate::scan::narrow::{Wanted, narrow};
use crate::scan::survey::Survey;
use crate::scan::surveyor::survey;

use encode::{Packed, Scope};
use job::{Excerpt, Job, Member};
use search::DRY_RUN_SAMPLE;

pub use chunk_advice::ChunkAdvice;
pub use job::PackJob;
pub use report::{Bytes, Counts, Missing, PackErrors, PackReport, ScaleFrom, Suspect};

impl runner::Job for PackJob {
    type Report = PackReport;

    fn places(&self) -> (&Path, &Path, bool) {
        (&self.input, &self.output, self.overwrite)
    }

    fn reads(&self) -> Vec<&Path> {
        [&self.input].into_iter().chain(&self.scale_from).map(PathBuf::as_path).collect()
    }

    fn write(&self, destination: &Destination, runtime: &Runtime) -> Result<(PackReport, Staged)> {
        let (report, staged) = self.pack_alone(Some(destination), runtime)?;
        Ok((report, staged.context("nothing was written")?))
    }
}

impl runner::DryRun for PackJob {
    fn preview(&self, runtime: &Runtime) -> std::result::Result<PackReport, Error> {
        Ok(self.pack_alone(None, runtime)?.0)
    }
}

/// Packs arrays with the same options, so that all get the same codecs; other arrays may have their part in the choice.
/// Each is surveyed once. Without destinations, one for each, nothing is written.
pub(crate) fn pack_together(
    jobs: &[PackJob],
    others: &[PathBuf],
    destinations: Option<&[Destination]>,
    runtime: &Runtime,
) -> Result<Vec<(PackReport, Option<Staged>)>> {
    let started = Instant::now();
    let first = jobs.first().context("no array")?;
    first.options.checked()?;
    let mut sources: Vec<Source> = Vec::new();
    for job in jobs {
        // Integers need no goal; an array that cannot be opened has no type.
        let source = Source::open_for(runtime, &job.input)
            .or_else(|error| first.options.check_goal().and(Err(error)))?;
        source.refuse_place(job.options.shard_codecs)?;
        sources.extend(of_same_type(source, sources.first())?);
    }
    add_others(&mut sources, others, runtime)?;
    let workers = Workers::within(runtime, sources.iter().map(Source::chunk_memory))?;
    let element_type = sources.first().context("no array")?.element_type();
    let with_type = |job: &PackJob| -> Result<PackJob> {
        Ok(PackJob { options: job.options.for_type(element_type)?, ..job.clone() })
    };
    let asked = jobs.iter().map(with_type).collect::<Result<Vec<_>>>()?;
    let sources = &sources;
    let (surveys, all) = asked.first().context("no array")?.survey_all(sources, &workers)?;
    let for_range = |job: PackJob| PackJob { options: job.options.for_range(all.range), ..job };
    let asked: Vec<PackJob> = asked.into_iter().map(for_range).collect();
    let first = asked.first().context("no array")?;
    let members = sources.iter().zip(&surveys).enumerate();
    let members = members.map(|(number, (source, survey))| {
        let asked = asked.get(number);
        Member { source, survey, asked }
    });
    let together: Vec<Member<'_>> = members.collect();
    let member = together.first().context("no array")?;
    let job = Job {
        asked: first,
        source: member.source,
        survey: member.survey,
        together: &together,
        all: &all,
        workers: &workers,
        is_dry_run: destinations.is_none(),
    };
    let search = Search::new(job.input(), &first.options, &all, Some(&workers))?;
    let found = job.find(&search, |stored, tolerance| {
        let shared = started.elapsed().as_secs_f64() / jobs.len() as f64;
        let encoded = job.packed().enumerate().map(|(number, member)| {
            let begun = Instant::now();
            let (packing, storage) = &stored;
            let stored = (packing.beside(member.survey.fill_value)?, storage.clone());
            let encoded = match destinations.and_then(|all| all.get(number)) {
                Some(destination) => member.write(stored, tolerance, destination)?,
                None => member.estimate(stored, tolerance)?,
            };
            Ok((encoded, shared + begun.elapsed().as_secs_f64()))
        });
        encoded.collect::<Result<Vec<_>>>()
    })?;
    job.packed().zip(found).map(|(job, (encoded, seconds))| job.done(encoded, seconds)).collect()
}

/// Opens more arrays of the same type, each once.
fn add_others(sources: &mut Vec<Source>, paths: &[PathBuf], runtime: &Runtime) -> Result<()> {
    let is_same = |a: &Path, b: &Path| {
        let real = |path: &Path| path.canonicalize().ok();
        a == b || real(a).zip(real(b)).is_some_and(|(a, b)| a == b)
    };
    for path in paths {
        if !sources.iter().any(|one| is_same(path, one.path())) {
            let other = Source::open_for(runtime, path).context("--scale-from")?;
            sources.extend(of_same_type(other, sources.first())?);
        }
    }
    Ok(())
}

/// An array, if its type is that of the first one.
fn of_same_type(array: Source, first: Option<&Source>) -> Result<Option<Source>> {
    let Some(first) = first else { return Ok(Some(array)) };
    let (theirs, ours) = (array.element_type(), first.element_type());
    if theirs != ours {
        bail!(
            "--scale-from: {} is {theirs}, and {} is {ours}; only arrays of one type can have the \
             same codecs",
            array.path().display(),
            first.path().display()
        );
    }
    Ok(Some(array))
}

impl PackJob {
    fn pack_alone(
        &self,
        destination: Option<&Destination>,
        runtime: &Runtime,
    ) -> Result<(PackReport, Option<Staged>)> {
        let (jobs, destinations) = (slice::from_ref(self), destination.map(slice::from_ref));
        pack_together(jobs, &self.scale_from, destinations, runtime)?.pop().context("no array")
    }

    /// Surveys arrays in one pass, or in more if percentiles are requested. Returns the surveys of each, and of all
    /// together.
    fn survey_all(&self, sources: &[Source], workers: &Workers) -> Result<(Vec<Survey>, Survey)> {
        let mut surveys: Vec<Survey> = Vec::new();
        let mut all: Option<Survey> = None;
        for source in sources {
            let survey = survey(source, &Markers::with(source, &self.options)?, workers)?;
            match &mut all {
                None => all = Some(survey.clone()),
                Some(all) => all.absorb(&survey),
            }
            surveys.push(survey);
        }
        let (mut all, first) = all.zip(sources.first()).context("no array")?;
        let wanted = Wanted {
            least: self.options.src_min,
            greatest: self.options.src_max,
            percentiles: self.options.percentile.map(|Percentiles { low, high }| (low, high)),
        };
        narrow(&mut all, &wanted, sources, workers)
            .with_context(|| first.path().display().to_string())?;
        for survey in &mut surveys {
            survey.keep_to(all.limits.clone());
        }
        if let Some(range) = &self.options.range {
            all.promise(range).with_context(|| first.path().display().to_string())?;
        }
        Ok((surveys, all))
    }
}

/// An array that is checked, and written if this is no dry run, but not yet at its place.
struct Encoded {
    staged: Option<Staged>,
    packed: Packed,
}

impl Job<'_> {
    /// Writes the array, and compares each decoded chunk with the original.
    fn write(
        &self,
        stored: (Packing, Storage),
        tolerance: Tolerance,
        destination: &Destination,
    ) -> Result<Encoded> {
        let staged = destination.stage()?;
        let packed = self.encode_chunks(stored, tolerance, Scope::All(staged.path()))?;
        let result = Source::open(staged.path(), FillCheck::Create)
            .context("reading back what was written")?;
        if self.options().verify {
            compare(self.source, &result, self.survey, tolerance, self.workers)?;
        }
        Ok(Encoded { staged: Some(staged), packed })
    }

    /// Encodes some chunks, and writes nothing.
    fn estimate(&self, stored: (Packing, Storage), tolerance: Tolerance) -> Result<Encoded> {
        let sample = Excerpt::new(self.source, DRY_RUN_SAMPLE)?;
        let packed = self.encode_chunks(stored, tolerance, Scope::Some(&sample))?;
        Ok(Encoded { staged: None, packed })
    }

    /// The report, once the codecs are found.
    fn done(&self, encoded: Encoded, seconds: f64) -> Result<(PackReport, Option<Staged>)> {
        let begun = Instant::now();
        let Encoded { staged, packed } = encoded;
        let has_charts = self.asked.charts && !self.is_dry_run;
        let charts = if has_charts { Some(self.charts(&packed)?) } else { None };
        let suspects = self.suspects()?;
        let chunk_advice = if self.is_dry_run { self.chunk_advice(&packed)? } else { None };
        let seconds = seconds + begun.elapsed().as_secs_f64();
        let report = PackReport::new(self, packed, charts, suspects, seconds);
        Ok((PackReport { chunk_advice, ..report }, staged))
    }

    /// Goes through the array once more for the plots of the report.
    fn charts(&self, packed: &Packed) -> Result<Charts> {
        let survey = self.survey;
        let chain = &packed.packing.chain;
        let values = survey.range.map(|(least, greatest)| (least.to_f64(), greatest.to_f64()));
        let stored = survey.range.and_then(|(least, greatest)| {
            let code = |value: Scalar| {
                let code = chain.encode(&value.to_ne_bytes()).ok()?;
                Some(Scalar::from_ne_bytes(chain.encoded_type(), &code)?.to_f64())
            };
            let (a, b) = (code(least)?, code(greatest)?);
            Some((a.min(b), a.max(b)))
        });
        let frame = Frame {
            element_type: survey.element_type,
            markers: survey.apart.clone(),
            shape: self.source.array().shape().to_vec(),
            labels: Labels::of(self.source),
            values: values.unwrap_or_default(),
            codes: Some((chain.encoded_type(), stored.unwrap_or_default())),
            max_error: packed.part.comparison.sums.max,
        };
        gather(&frame, self.workers, self.source.chunks(), |number| {
            let region = self.source.region(number)?;
            let Some(mut before) = self.source.read(&region)? else { return Ok(None) };
            if let Some(limits) = &survey.limits {
                limits.apply(&mut before)?;
            }
            let codes = chain.encode(&before)?;
            let after = chain.decode(&codes)?;
            Ok(Some((region, Pieces { before, after, codes: Some(codes) })))
        })
    }
}

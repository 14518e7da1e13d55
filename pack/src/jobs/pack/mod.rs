//! Packs an array: a pass chooses codecs, and another writes, decoding every element and comparing it with the
//! original.

mod chunk_advice;
mod context;
mod encode;
mod estimate;
mod report;
mod sample;
mod suspects;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, anyhow, bail};
use zarr_recast::FillCheck;

use crate::array::source::Source;
use crate::check::arrays::compare;
use crate::check::comparison::{Tolerance, Violation};
use crate::choose::candidate::Candidate;
use crate::choose::candidates::Candidates;
use crate::choose::compression::{TrialBlocks, with_storage};
use crate::choose::facts::Facts;
use crate::choose::proof::refuse_constant;
use crate::error::{Result, usage};
use crate::jobs::runner;
use crate::metadata::byte_codecs::{Coder, Storage};
use crate::options::PackOptions;
use crate::runtime::{Runtime, Workers};
use crate::scan::charts::{Charts, Pieces};
use crate::scan::missing::Markers;
use crate::scan::survey::Survey;
use crate::scan::surveyor::survey;
use crate::store::destination::Destination;
use crate::store::staging::Staged;

use context::{Member, PackContext};
use encode::{Encoded, Scope};
use sample::ChunkSample;

pub use chunk_advice::ChunkAdvice;
pub use context::PackJob;
pub(crate) use context::Request;
pub(crate) use estimate::{Estimate, estimate};
pub use report::{Bytes, Counts, MergedNans, Missing, PackErrors, PackReport, ScaleFrom, Suspect};

impl runner::Job for PackJob {
    type Report = PackReport;

    fn places(&self) -> (&Path, &Path, bool) {
        (&self.input, &self.output, self.overwrite)
    }

    fn reads(&self) -> Vec<&Path> {
        [&self.input].into_iter().chain(&self.scale_from).map(PathBuf::as_path).collect()
    }

    fn write(&self, destination: &Destination, runtime: &Runtime) -> Result<(PackReport, Staged)> {
        let (report, staged) = self.pack_to(Some(destination), runtime)?;
        Ok((report, staged.context("nothing was written")?))
    }
}

impl runner::DryRun for PackJob {
    fn dry_report(&self, runtime: &Runtime) -> Result<PackReport> {
        Ok(self.pack_to(None, runtime)?.0)
    }
}

impl PackJob {
    fn pack_to(
        &self,
        destination: Option<&Destination>,
        runtime: &Runtime,
    ) -> Result<(PackReport, Option<Staged>)> {
        if self.options.from_cf {
            return usage("from_cf takes the codecs from attributes: run a FromCfJob of this job");
        }
        let request = Request { job: self, destination };
        pack_together(&[request], &self.scale_from, runtime)?.pop().context("no array")
    }
}

/// Packs arrays with the same options, so that all get the same codecs; other arrays may have their part in the choice.
/// Each is surveyed once. All have destinations, or none has, and nothing is written.
pub(crate) fn pack_together(
    requests: &[Request<'_>],
    others: &[PathBuf],
    runtime: &Runtime,
) -> Result<Vec<(PackReport, Option<Staged>)>> {
    let started = Instant::now();
    let options = &requests.first().context("no array")?.job.options;
    options.checked()?;
    let mut sources: Vec<Source> = Vec::new();
    for Request { job, .. } in requests {
        // Integers need no goal; an array that cannot be opened has no type.
        let source = Source::open_for(runtime, &job.input)
            .or_else(|error| options.check_goal().and(Err(error)))?;
        source.refuse_place(options.shard_codecs)?;
        add(source, &mut sources)?;
    }
    add_others(&mut sources, others, runtime)?;
    let workers = Workers::within(runtime, sources.iter().map(Source::chunk_memory))?;
    let options = options.for_type(sources.first().context("no array")?.element_type())?;
    let (surveys, all) = survey_all(&sources, &options, &workers)?;
    let options = options.for_range(all.extent_of_error());
    let members = sources.iter().zip(&surveys).enumerate();
    let members = members.map(|(number, (source, survey))| {
        let request = requests.get(number).copied();
        Member { source, survey, request }
    });
    let together: Vec<Member<'_>> = members.collect();
    let context = PackContext::of_first(&together, &options, &all, &workers)?;
    let all = context.with_first_candidate(started)?;
    let all = context.packed().zip(all);
    all.map(|(one, (encoded, seconds))| one.done(encoded, seconds)).collect()
}

/// An error about elements that were right when they were encoded: other codecs would not mend it.
fn otherwise_on_disk(error: anyhow::Error) -> anyhow::Error {
    if error.is::<Violation>() {
        anyhow!("what was written reads back otherwise: {error:#}; try another disk")
    } else {
        error
    }
}

/// Opens more arrays of the same type, each once.
fn add_others(sources: &mut Vec<Source>, paths: &[PathBuf], runtime: &Runtime) -> Result<()> {
    let is_same = |a: &Path, b: &Path| {
        let real = |path: &Path| path.canonicalize().ok();
        a == b || real(a).zip(real(b)).is_some_and(|(a, b)| a == b)
    };
    for path in paths {
        if !sources.iter().any(|one| is_same(path, one.path())) {
            add(Source::open_for(runtime, path).context("--scale-from")?, sources)?;
        }
    }
    Ok(())
}

/// Adds an array, if its type is that of the first one.
fn add(array: Source, sources: &mut Vec<Source>) -> Result<()> {
    if let Some(first) = sources.first()
        && let (theirs, ours) = (array.element_type(), first.element_type())
        && theirs != ours
    {
        bail!(
            "--scale-from: {} is {theirs}, and {} is {ours}; only arrays of one type can have the \
             same codecs",
            array.path().display(),
            first.path().display()
        );
    }
    sources.push(array);
    Ok(())
}

/// Surveys arrays. Returns the surveys of each, and of all together.
fn survey_all(
    sources: &[Source],
    options: &PackOptions,
    workers: &Workers,
) -> Result<(Vec<Survey>, Survey)> {
    let mut surveys: Vec<Survey> = Vec::new();
    let mut all: Option<Survey> = None;
    for source in sources {
        let mut survey = survey(source, &Markers::with(source, options)?, workers)?;
        match &mut all {
            None => all = Some(survey.clone()),
            Some(all) => all.absorb(&survey),
        }
        // Codecs are chosen by the excerpts of all together.
        survey.excerpts.clear();
        surveys.push(survey);
    }
    let (mut all, first) = all.zip(sources.first()).context("no array")?;
    all.narrow(options).with_context(|| first.path().display().to_string())?;
    for survey in &mut surveys {
        survey.limits.clone_from(&all.limits);
    }
    Ok((surveys, all))
}

impl PackContext<'_> {
    /// Packs all arrays with the first candidate that loses no element of any. Returns each with the seconds that it took.
    fn with_first_candidate(&self, started: Instant) -> Result<Vec<(Encoded, f64)>> {
        let facts = Facts::new(self.input(), self.options, self.all, Some(self.workers))?;
        let mut candidates = Candidates::new(&facts);
        let mut blocks = None;
        while let Some(candidate) = candidates.next() {
            match self.pack_all(&facts, candidate?, &mut blocks, started) {
                Ok(all) => return Ok(all),
                Err(error) => candidates.reject(error)?,
            }
        }
        Err(self.with_suspects(candidates.explained())?)
    }

    /// Packs all arrays with a candidate. Returns each with the seconds that it took.
    ///
    /// # Errors
    /// A `Violation` if the candidate loses an element of any array.
    fn pack_all(
        &self,
        facts: &Facts<'_>,
        candidate: Candidate,
        blocks: &mut Option<TrialBlocks>,
        started: Instant,
    ) -> Result<Vec<(Encoded, f64)>> {
        for member in self.packed() {
            let is_left = refuse_constant(facts, &candidate, member.survey);
            is_left.with_context(|| member.input())?;
        }
        let tolerance = facts.tolerance();
        for other in self.check_only() {
            other.check_elements(&candidate, tolerance)?;
        }
        // Read once, for the first candidate that needs them.
        let blocks = match blocks {
            Some(blocks) => blocks,
            unread => unread.insert(self.trial_blocks()?),
        };
        let (candidate, storage) = with_storage(facts, candidate, blocks)?;
        let shared = started.elapsed().as_secs_f64() / self.packed().count() as f64;
        let encoded = self.packed().map(|member| {
            let begun = Instant::now();
            let candidate = candidate.with_fill_value(member.survey.fill_value)?;
            let encoded = match member.request.destination {
                Some(place) => member.write(candidate, storage.clone(), tolerance, place)?,
                None => member.estimate(candidate, storage.clone(), tolerance)?,
            };
            Ok((encoded, shared + begun.elapsed().as_secs_f64()))
        });
        encoded.collect()
    }

    /// Encodes an array that is not written, decodes it and compares: the codecs fit all arrays only if every element of
    /// each is right.
    fn check_elements(&self, candidate: &Candidate, tolerance: Tolerance) -> Result<()> {
        let candidate = candidate.with_fill_value(self.survey.fill_value)?;
        let storage = Storage::plain(Coder::None);
        if self.is_dry_run() {
            self.estimate(candidate, storage, tolerance)?;
        } else {
            self.encode_chunks(candidate, storage, tolerance, Scope::CheckOnly)?;
        }
        Ok(())
    }

    /// Writes the array, and compares each decoded chunk with the original.
    fn write(
        &self,
        candidate: Candidate,
        storage: Storage,
        tolerance: Tolerance,
        destination: &Destination,
    ) -> Result<Encoded> {
        let staged = destination.stage()?;
        let encoded =
            self.encode_chunks(candidate, storage, tolerance, Scope::All(staged.path()))?;
        let result = Source::written(staged.path(), FillCheck::Create)?;
        if self.options.verify {
            let compared = compare(self.source, &result, self.survey, tolerance, self.workers);
            compared.map_err(otherwise_on_disk)?;
        }
        Ok(Encoded { staged: Some(staged), ..encoded })
    }

    /// Encodes some chunks, and writes nothing.
    fn estimate(
        &self,
        candidate: Candidate,
        storage: Storage,
        tolerance: Tolerance,
    ) -> Result<Encoded> {
        let sample = ChunkSample::new(self.source)?;
        self.encode_chunks(candidate, storage, tolerance, Scope::Estimate(&sample))
    }

    /// The report, once the codecs are found.
    fn done(&self, mut encoded: Encoded, seconds: f64) -> Result<(PackReport, Option<Staged>)> {
        let begun = Instant::now();
        let staged = encoded.staged.take();
        let has_charts = self.request.job.charts && !self.is_dry_run();
        let charts = if has_charts { Some(self.charts(&encoded)?) } else { None };
        let suspects = self.suspects()?;
        let chunk_advice = if self.is_dry_run() { self.chunk_advice(&encoded)? } else { None };
        let seconds = seconds + begun.elapsed().as_secs_f64();
        let report = PackReport::new(self, encoded, charts, suspects, seconds);
        Ok((PackReport { chunk_advice, ..report }, staged))
    }

    /// Goes through the array once more for the plots of the report.
    fn charts(&self, encoded: &Encoded) -> Result<Charts> {
        let survey = self.survey;
        let chain = &encoded.candidate.chain;
        let (range, markers) = (survey.range(), &survey.reserved_values);
        let max_error = encoded.stats.comparison.sums.max;
        let charts = Charts::new(self.source, survey.element_type, range, markers, max_error);
        let charts = charts.with_codes(chain, range);
        charts.gather(self.workers, self.source.chunks(), |number| {
            let region = self.source.region(number)?;
            let Some(mut before) = self.source.read(&region)? else { return Ok(None) };
            survey.clamp_elements(&mut before)?;
            let codes = encoded.candidate.encode(&before)?;
            let after = chain.decode(&codes)?;
            Ok(Some((region, Pieces { before, after, codes: Some(codes) })))
        })
    }
}

//! Packs an array: a pass chooses codecs, and another writes, decoding every element and comparing it with the
//! original.

mod batch;
mod encode;
mod report;
mod sample;

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
use crate::choose::goals::{Goals, MeanExceeded};
use crate::choose::proof::refuse_constant;
use crate::error::{Result, usage};
use crate::jobs::job;
use crate::metadata::byte_codecs::{Coder, Storage};
use crate::options::PackOptions;
use crate::runtime::{Runtime, Workers};
use crate::scan::charts::{Charts, Pieces};
use crate::scan::missing::Markers;
use crate::scan::survey::Survey;
use crate::scan::surveyor::survey;
use crate::store::destination::Destination;
use crate::store::staging::Staged;

use batch::{Batch, Member};
use encode::Scope;
use sample::ChunkSample;

pub(crate) use batch::Place;
pub use batch::{PackJob, Suspect};
pub use encode::ChunkAdvice;
pub(crate) use encode::Encoded;
pub use report::{Bytes, MergedNans, Missing, PackCounts, PackErrors, PackReport, ScaleFrom};

impl job::Job for PackJob {
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

impl job::DryRun for PackJob {
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
            return usage("from_cf takes the codecs from attributes: make a GroupJob of this job");
        }
        let place = Place { job: self, destination };
        pack_together(&[place], &self.scale_from, runtime)?.pop().context("no array")
    }
}

/// Packs arrays with the same options, so that all get the same codecs; other arrays may have their part in the choice.
/// Each is surveyed once. All have destinations, or none has, and nothing is written.
pub(crate) fn pack_together(
    places: &[Place<'_>],
    others: &[PathBuf],
    runtime: &Runtime,
) -> Result<Vec<(PackReport, Option<Staged>)>> {
    let started = Instant::now();
    let job = places.first().context("no array")?.job;
    let options = &job.options;
    options.checked()?;
    let provenance = job.provenance;
    let mut sources: Vec<Source> = Vec::new();
    for Place { job, .. } in places {
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
    let members = sources.iter().zip(&surveys).enumerate();
    let members = members.map(|(number, (source, survey))| {
        let place = places.get(number).copied();
        Member { source, survey, place }
    });
    let members = members.collect();
    let (asked, options) = (&options, &options);
    let batch = Batch { members, asked, options, survey: &all, workers: &workers, provenance };
    let (options, encoded) = batch.with_first_candidate(started)?;
    let batch = batch.with_bound(&options);
    let packed = batch.packed().zip(encoded);
    packed.map(|(packed, (encoded, seconds))| batch.done(packed, encoded, seconds)).collect()
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

/// Adds an array, if its type is the type of the first array.
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
        survey.clamp.clone_from(&all.clamp);
    }
    Ok((surveys, all))
}

impl Batch<'_> {
    /// Packs all arrays with the first candidate that loses no element of any and keeps the bounds of means. Returns the
    /// options with the bound of every element that follows, and each array with the seconds that it took.
    fn with_first_candidate(&self, started: Instant) -> Result<(PackOptions, Vec<(Encoded, f64)>)> {
        let mut goals = Goals::new(self.asked, self.survey)?;
        loop {
            let options = goals.options();
            match self.with_bound(&options).with_first_in_bound(started) {
                Ok(all) => return Ok((options, all)),
                Err(why) => goals.advance(why)?,
            }
        }
    }

    /// The same with the bound of every element.
    fn with_first_in_bound(&self, started: Instant) -> Result<Vec<(Encoded, f64)>> {
        let name = self.members.first().map(Member::name).unwrap_or_default();
        let facts = Facts::new(name, self.options, self.survey, Some(self.workers))?;
        let mut candidates = Candidates::new(&facts);
        let mut blocks = None;
        while let Some(candidate) = candidates.next() {
            match self.pack_all(&facts, candidate?, &mut blocks, started) {
                Ok(all) => return Ok(all),
                // A finer type of floating-point numbers has a smaller mean error, too.
                Err(error)
                    if self.options.max_rel_error.is_some() && error.is::<MeanExceeded>() =>
                {
                    candidates.reject(Violation::elsewhere(&error.to_string()).into())?;
                }
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
        for (member, _) in self.packed() {
            let is_left = refuse_constant(facts, &candidate, member.survey);
            is_left.with_context(|| member.name())?;
        }
        let tolerance = self.tolerance(facts);
        for other in self.members.iter().filter(|member| member.place.is_none()) {
            self.check_elements(other, &candidate, tolerance)?;
        }
        // The blocks are read once, for the first candidate that needs blocks.
        let blocks = match blocks {
            Some(blocks) => blocks,
            unread => unread.insert(self.trial_blocks()?),
        };
        let (candidate, storage) = with_storage(facts, candidate, blocks)?;
        let shared = started.elapsed().as_secs_f64() / self.packed().count() as f64;
        let encoded = self.packed().map(|(member, place)| {
            let begun = Instant::now();
            let candidate = candidate.with_fill_value(member.survey.fill_value)?;
            let storage = storage.clone();
            let encoded = match place.destination {
                Some(place) => self.write(member, candidate, storage, tolerance, place)?,
                None => self.estimate(member, candidate, storage, tolerance)?,
            };
            Ok((encoded, shared + begun.elapsed().as_secs_f64()))
        });
        encoded.collect()
    }

    /// The tolerance for every element, with that of its relative error, which the bound of the error may keep by itself.
    fn tolerance(&self, facts: &Facts<'_>) -> Tolerance {
        let tolerance = facts.tolerance();
        match self.asked.max_rel_error.filter(|_| self.options.max_rel_error.is_none()) {
            Some(relative) => tolerance.with_both(tolerance.absolute, relative),
            None => tolerance,
        }
    }

    /// Encodes an array that is not written, decodes it and compares: the codecs fit all arrays only if every element of
    /// each is right.
    fn check_elements(
        &self,
        member: &Member<'_>,
        candidate: &Candidate,
        tolerance: Tolerance,
    ) -> Result<()> {
        let candidate = candidate.with_fill_value(member.survey.fill_value)?;
        let storage = Storage::plain(Coder::None);
        if self.is_dry_run() {
            self.estimate(member, candidate, storage, tolerance)?;
        } else {
            self.encode_chunks(member, candidate, storage, tolerance, Scope::CheckOnly)?;
        }
        Ok(())
    }

    /// Writes the array, and compares each decoded chunk with the original.
    fn write(
        &self,
        member: &Member<'_>,
        candidate: Candidate,
        storage: Storage,
        tolerance: Tolerance,
        destination: &Destination,
    ) -> Result<Encoded> {
        let staged = destination.stage()?;
        let encoded =
            self.encode_chunks(member, candidate, storage, tolerance, Scope::All(staged.path()))?;
        let result = Source::written(staged.path(), FillCheck::Create)?;
        if self.options.verify {
            let compared = compare(member.source, &result, member.survey, tolerance, self.workers);
            compared.map_err(otherwise_on_disk)?;
        }
        Ok(Encoded { staged: Some(staged), ..encoded })
    }

    /// Encodes some chunks, and writes nothing.
    fn estimate(
        &self,
        member: &Member<'_>,
        candidate: Candidate,
        storage: Storage,
        tolerance: Tolerance,
    ) -> Result<Encoded> {
        let sample = ChunkSample::new(member.source)?;
        self.encode_chunks(member, candidate, storage, tolerance, Scope::Estimate(&sample))
    }

    /// The report, once the codecs are found.
    fn done(
        &self,
        (member, place): (&Member<'_>, Place<'_>),
        mut encoded: Encoded,
        seconds: f64,
    ) -> Result<(PackReport, Option<Staged>)> {
        let begun = Instant::now();
        let staged = encoded.staged.take();
        let is_dry_run = self.is_dry_run();
        let has_charts = place.job.charts && !is_dry_run;
        let charts = has_charts.then(|| self.charts(member, &encoded)).transpose()?;
        let suspects = member.suspects(self.workers)?;
        let advice = is_dry_run.then(|| member.chunk_advice(&encoded, self.workers));
        let chunk_advice = advice.transpose()?.flatten();
        let seconds = seconds + begun.elapsed().as_secs_f64();
        let report = PackReport::new(self, (member, place), encoded, charts, suspects, seconds);
        Ok((PackReport { chunk_advice, ..report }, staged))
    }

    /// Goes through the array once more for the plots of the report.
    fn charts(&self, member: &Member<'_>, encoded: &Encoded) -> Result<Charts> {
        let Member { source, survey, .. } = *member;
        let chain = &encoded.candidate.chain;
        let (range, markers) = (survey.range(), &survey.reserved_values);
        let max_error = encoded.stats.comparison.sums.max;
        let charts = Charts::new(
            source,
            self.workers.runtime(),
            survey.element_type,
            range,
            markers,
            max_error,
        );
        let charts = charts.with_codes(chain, range);
        charts.gather(self.workers, source.chunks(), |number| {
            let region = source.region(number)?;
            let Some(mut before) = source.read(&region)? else { return Ok(None) };
            survey.clamp_elements(&mut before)?;
            let codes = encoded.candidate.encode(&before)?;
            let after = chain.decode(&codes)?;
            Ok(Some((region, Pieces { before, after, codes: Some(codes) })))
        })
    }
}

/// A dry run for an array with its survey, without a report.
///
/// # Errors
/// As a dry run.
pub(crate) fn estimate(
    source: &Source,
    survey: &Survey,
    options: &PackOptions,
    workers: &Workers,
) -> Result<Encoded> {
    let options = options.for_type(survey.element_type)?;
    let job = PackJob::new(source.path(), "", options);
    let place = Place { job: &job, destination: None };
    let members = vec![Member { source, survey, place: Some(place) }];
    let batch = Batch {
        members,
        asked: &job.options,
        options: &job.options,
        survey,
        workers,
        provenance: true,
    };
    let (_, mut encoded) = batch.with_first_candidate(Instant::now())?;
    let (encoded, _) = encoded.pop().context("no array")?;
    Ok(encoded)
}

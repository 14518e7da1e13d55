//! Packs an array: a pass chooses codecs, and another writes, decoding every element and comparing it with the
//! original.

mod chunk_advice;
mod encode;
mod job;
mod report;
mod search;
mod seen_codes;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use recast_kernels::Scalar;
use zarr_recast::FillCheck;

use crate::check::arrays::compare;
use crate::check::tolerance::Tolerance;
use crate::choose::packing::Packing;
use crate::choose::search::Search;
use crate::error::Result;
use crate::io::destination::Destination;
use crate::io::source::Source;
use crate::io::staging::Staged;
use crate::io::storage::Storage;
use crate::jobs::pending::Work;
use crate::options::Percentiles;
use crate::runtime::{Runtime, Workers};
use crate::scan::charts::{Charts, Frame, Labels, Pieces, gather};
use crate::scan::missing::Markers;
use crate::scan::narrow::{Wanted, narrow};
use crate::scan::survey::Survey;
use crate::scan::surveyor::survey;

use encode::{Packed, Scope};
use job::{Job, Other, sample};
use search::DRY_RUN_SAMPLE;

pub use chunk_advice::ChunkAdvice;
pub use job::PackJob;
pub use report::{Bytes, Counts, Missing, PackErrors, PackReport, ScaleFrom, Suspect};

impl Work for PackJob {
    type Report = PackReport;

    fn places(&self) -> (&Path, &Path, bool) {
        (&self.input, &self.output, self.overwrite)
    }

    fn reads(&self) -> Vec<&Path> {
        [&self.input].into_iter().chain(&self.scale_from).map(PathBuf::as_path).collect()
    }

    fn work(
        &self,
        destination: Option<&Destination>,
        runtime: &Runtime,
    ) -> Result<(PackReport, Option<Staged>)> {
        let started = Instant::now();
        self.options.checked()?;
        // Integers need no goal; an array that cannot be opened has no type.
        let source = Source::open_for(runtime, &self.input)
            .or_else(|error| self.options.check_goal().and(Err(error)))?;
        source.refuse_place(self.options.shard_codecs)?;
        let options = self.options.for_type(source.element_type())?;
        let asked = &Self { options, ..self.clone() };
        let others = self.others(&source, runtime)?;
        let sources: Vec<&Source> = [&source].into_iter().chain(&others).collect();
        let workers = Workers::within(runtime, sources.iter().map(|source| source.chunk_memory()))?;
        let (survey, other_surveys, all) = self.survey_all(&sources, &workers)?;
        let others: Vec<Other> = others
            .iter()
            .zip(&other_surveys)
            .map(|(source, survey)| Other { source, survey })
            .collect();
        let job = Job {
            asked,
            source: &source,
            survey: &survey,
            others: &others,
            all: &all,
            workers: &workers,
            is_dry_run: destination.is_none(),
        };
        let search = Search::new(job.input(), &asked.options, &all, Some(&workers))?;
        let Some(destination) = destination else {
            let sample = sample(&source, DRY_RUN_SAMPLE)?;
            let packed = job.find(&search, |stored, tolerance| {
                job.encode_chunks(stored, tolerance, Scope::Some(&sample))
            })?;
            let suspects = job.suspects()?;
            let chunk_advice = job.chunk_advice(&packed)?;
            let report = PackReport::new(&job, packed, None, suspects, started);
            return Ok((PackReport { chunk_advice, ..report }, None));
        };
        let Written { staged, packed } =
            job.find(&search, |stored, tolerance| job.write(stored, tolerance, destination))?;
        let charts = if self.charts { Some(job.charts(&packed)?) } else { None };
        let suspects = job.suspects()?;
        Ok((PackReport::new(&job, packed, charts, suspects, started), Some(staged)))
    }
}

impl PackJob {
    /// The arrays that `scale_from` names besides the input.
    fn others(&self, source: &Source, runtime: &Runtime) -> Result<Vec<Source>> {
        let is_same = |a: &Path, b: &Path| {
            let real = |path: &Path| path.canonicalize().ok();
            a == b || real(a).zip(real(b)).is_some_and(|(a, b)| a == b)
        };
        let mut others: Vec<Source> = Vec::new();
        for path in &self.scale_from {
            let is_known = [source].into_iter().chain(&others).any(|one| is_same(path, one.path()));
            if is_known {
                continue;
            }
            let other = Source::open_for(runtime, path).context("--scale-from")?;
            let (theirs, ours) = (other.element_type(), source.element_type());
            if theirs != ours {
                bail!(
                    "--scale-from: {} is {theirs}, and {} is {ours}; only arrays of one type can \
                     have the same codecs",
                    path.display(),
                    source.path().display()
                );
            }
            others.push(other);
        }
        Ok(others)
    }

    /// Surveys arrays in one pass, or in more if percentiles are requested. Returns the surveys of the first, of each of the
    /// others, and of all together.
    fn survey_all(
        &self,
        sources: &[&Source],
        workers: &Workers,
    ) -> Result<(Survey, Vec<Survey>, Survey)> {
        let (first, others) = sources.split_first().context("no array")?;
        let markers = |source| Markers::with(source, &self.options);
        let mut own = survey(first, &markers(first)?, workers)?;
        let mut all = own.clone();
        let mut surveys = Vec::new();
        for other in others {
            let survey = survey(other, &markers(other)?, workers)?;
            all.absorb(&survey);
            surveys.push(survey);
        }
        let wanted = Wanted {
            least: self.options.src_min,
            greatest: self.options.src_max,
            percentiles: self.options.percentile.map(|Percentiles { low, high }| (low, high)),
        };
        narrow(&mut all, &wanted, sources, workers)
            .with_context(|| first.path().display().to_string())?;
        for survey in surveys.iter_mut().chain([&mut own]) {
            survey.keep_to(all.limits.clone());
        }
        if let Some(range) = &self.options.range {
            all.promise(range).with_context(|| first.path().display().to_string())?;
        }
        Ok((own, surveys, all))
    }
}

/// An array that is written and checked, but not yet at its place.
struct Written {
    staged: Staged,
    packed: Packed,
}

impl Job<'_> {
    /// Writes the array, and compares each decoded chunk with the original.
    fn write(
        &self,
        stored: (Packing, Storage),
        tolerance: Tolerance,
        destination: &Destination,
    ) -> Result<Written> {
        let staged = destination.stage()?;
        let packed = self.encode_chunks(stored, tolerance, Scope::All(staged.path()))?;
        let result = Source::open(staged.path(), FillCheck::Create)
            .context("reading back what was written")?;
        if self.options().verify {
            compare(self.source, &result, self.survey, tolerance, self.workers)?;
        }
        Ok(Written { staged, packed })
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

//! `recast pack`: two passes over the chunks, one to choose, and one to write, in which every element is
//! decoded again and compared with the original.

use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use recast_kernels::{ElementType, Plan, Reason, RunError, Scalar, reference};
use serde_json::{Map, Value, json};
use zarr_recast::{Chain, FillCheck};

use crate::args::{Compressor, Pack, Percentiles};
use crate::array::{Region, Source};
use crate::charts::{Charts, Frame, Pieces, gather};
use crate::choose::{Chooser, Packing, Position, Request};
use crate::limits::{Outside, Wanted, narrow};
use crate::number::{Number, is_wide};
use crate::output::{Destination, Encoding, Staged, Writer};
use crate::page::{PagePlace, page, section};
use crate::report::count;
use crate::summary::{Summary, scalar_text};
use crate::survey::{Survey, survey};
use crate::verify::{Comparison, Demand, Judge, Trial, Violation, compare, largest_excess};
use crate::work::Workers;

/// The attribute with the provenance.
pub(crate) const PROVENANCE: &str = "recast";

pub(crate) fn run(arguments: &Pack) -> Result<()> {
    let overwrite = arguments.common.overwrite;
    let destination = Destination::new(&arguments.input, &arguments.output, overwrite)?;
    let place = PagePlace::of(arguments.report.as_deref(), overwrite)?;
    pack(arguments, Some(&destination), place, |summary, _| summary.show())
}

/// Packs an array of a group into a directory, or none in a dry run; returns the report, and what a page
/// says of it if one is asked for.
pub(crate) fn array(arguments: &Pack, place: Option<&Path>) -> Result<(Value, Option<String>)> {
    let destination = place.map(|place| Destination::new(&arguments.input, place, false));
    let destination = destination.transpose()?;
    pack(arguments, destination.as_ref(), None, |summary, section| Ok((summary.to_json(), section)))
}

fn pack<T>(
    arguments: &Pack,
    destination: Option<&Destination>,
    place: Option<PagePlace>,
    show: impl FnOnce(&Summary<'_>, Option<String>) -> Result<T>,
) -> Result<T> {
    let started = Instant::now();
    let request = Request::new(arguments)?;
    let source = Source::open(&arguments.input, arguments.common.fill_check())?;
    let others = others(arguments, &source)?;
    let sources: Vec<&Source> = [&source].into_iter().chain(&others).collect();
    let workers = Workers::within(&arguments.common, &sources)?;
    let (survey, other_surveys, all) = survey_all(arguments, &sources, &workers)?;
    let others: Vec<Other> = others
        .iter()
        .zip(&other_surveys)
        .map(|(source, survey)| Other { source, survey })
        .collect();
    let job = Job {
        arguments,
        request: &request,
        source: &source,
        survey: &survey,
        others: &others,
        all: &all,
        workers: &workers,
    };
    let chooser = Chooser::new(&request, &all).with_context(|| job.input())?;
    let Some(destination) = destination.filter(|_| !arguments.dry_run) else {
        let sample = sample(&source, DRY_RUN_SAMPLE)?;
        let packed =
            job.find(&chooser, |packing, demand| job.press(packing, demand, Scope::Some(&sample)))?;
        return show(&Summary::new(job, &packed, started), None);
    };
    let Written { staged, packed } =
        job.find(&chooser, |packing, demand| job.write(packing, demand, destination))?;
    let summary = Summary::new(job, &packed, started);
    let section = match arguments.report {
        Some(_) => Some(section(&summary.to_table(), &job.charts(&packed)?)?),
        None => None,
    };
    commit(arguments, destination, staged, place, section.as_deref())?;
    show(&summary, section)
}

/// Brings an array to its place, and a page about it to its own.
pub(crate) fn commit(
    arguments: &Pack,
    destination: &Destination,
    staged: Staged,
    mut place: Option<PagePlace>,
    parts: Option<&str>,
) -> Result<()> {
    if let (Some(place), Some(parts)) = (&mut place, parts) {
        let (input, output) = (arguments.input.display(), arguments.output.display());
        place.write(&page(&format!("{input} packed as {output}"), parts))?;
    }
    destination.commit(staged)?;
    place.map_or(Ok(()), PagePlace::commit)
}

/// The arrays that `--scale-from` names besides INPUT.
fn others(arguments: &Pack, source: &Source) -> Result<Vec<Source>> {
    let is_same = |a: &Path, b: &Path| {
        let real = |path: &Path| path.canonicalize().ok();
        a == b || real(a).zip(real(b)).is_some_and(|(a, b)| a == b)
    };
    let mut others: Vec<Source> = Vec::new();
    for path in &arguments.scale_from {
        let is_known = [source].into_iter().chain(&others).any(|one| is_same(path, one.path()));
        if is_known {
            continue;
        }
        let fill_check = arguments.common.fill_check();
        let other = Source::open(path, fill_check).context("--scale-from")?;
        let (theirs, ours) = (other.element_type(), source.element_type());
        if theirs != ours {
            bail!(
                "--scale-from: {} is {theirs}, and {} is {ours}; only arrays of one type can have \
                 the same codecs",
                path.display(),
                source.path().display()
            );
        }
        others.push(other);
    }
    Ok(others)
}

/// Goes through arrays once, or more often if percentiles of them are asked for. Returns what the first
/// holds, what each of the others does, and what all of them together do.
fn survey_all(
    arguments: &Pack,
    sources: &[&Source],
    workers: &Workers,
) -> Result<(Survey, Vec<Survey>, Survey)> {
    let (first, others) = sources.split_first().context("no array")?;
    let mut own = survey(first, workers)?;
    let mut all = own.clone();
    let mut surveys = Vec::new();
    for other in others {
        let survey = survey(other, workers)?;
        all = all.merge(&survey);
        surveys.push(survey);
    }
    let wanted = Wanted {
        least: arguments.src_min,
        greatest: arguments.src_max,
        percentiles: arguments.percentile.map(|Percentiles(low, high)| (low, high)),
    };
    narrow(&mut all, &wanted, sources, workers)
        .with_context(|| first.path().display().to_string())?;
    for survey in surveys.iter_mut().chain([&mut own]) {
        survey.keep_to(all.limits);
    }
    Ok((own, surveys, all))
}

/// Bytes of decoded chunks that a dry run tries, more or less.
const DRY_RUN_SAMPLE: u64 = 64 << 20;
/// Bytes of decoded chunks that the place in the type is chosen by, more or less, and at most: it costs
/// the time of compressing them a few times.
const COMPRESSION_SAMPLE: u64 = 4 << 20;
const COMPRESSION_MOST: u64 = 20 << 20;
/// Bytes of an array that is compressed as a whole to choose.
const SMALL: u64 = 16 << 20;
/// One zero in so many elements is a background.
const BACKGROUND: usize = 10;
/// Chunks of a sample at most.
const SAMPLE_CHUNKS: u64 = 256;

/// The numbers of some chunks, spread evenly, which decoded take so many bytes, more or less.
fn sample(source: &Source, most: u64) -> Result<Vec<u64>> {
    let chunks = source.chunks();
    if chunks == 0 {
        return Ok(Vec::new());
    }
    let bytes = source.region(0)?.elements() * source.element_type().size() as u64;
    let count = (most / bytes.max(1)).clamp(1, SAMPLE_CHUNKS).min(chunks);
    let middle = |number| u128::from(2 * number + 1) * u128::from(chunks) / u128::from(2 * count);
    Ok((0..count).map(|number| middle(number) as u64).collect())
}

/// What stays the same for all candidates.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) arguments: &'a Pack,
    pub(crate) request: &'a Request,
    pub(crate) source: &'a Source,
    /// What is in it.
    pub(crate) survey: &'a Survey,
    /// The arrays that are to have the same codecs.
    pub(crate) others: &'a [Other<'a>],
    /// What is in all of them.
    pub(crate) all: &'a Survey,
    pub(crate) workers: &'a Workers,
}

/// Another array that is to have the same codecs.
pub(crate) struct Other<'a> {
    pub(crate) source: &'a Source,
    pub(crate) survey: &'a Survey,
}

/// An array that was written and found right, not yet at its place.
struct Written {
    staged: Staged,
    packed: Packed,
}

/// Which chunks are pressed, and what for.
#[derive(Clone, Copy)]
enum Scope<'a> {
    /// All, and they are written to a directory.
    All(&'a Path),
    /// These, to see what would become of them; nothing is written.
    Some(&'a [u64]),
    /// All, to see whether every element is right; nothing is compressed or written.
    Judged,
}

/// What was written.
pub(crate) struct Packed {
    pub(crate) packing: Packing,
    pub(crate) demand: Demand,
    /// All codecs, as in zarr.json.
    pub(crate) codecs: Value,
    pub(crate) part: Part,
    /// The number of different stored values, for types of at most 16 bits.
    pub(crate) codes: Option<u64>,
    /// The number of chunks that a dry run has tried instead of all.
    pub(crate) sampled: Option<u64>,
}

/// What became of some chunks.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) elements: u64,
    pub(crate) stored_bytes: u64,
    /// Elements that were out of range for the stored type, and were clamped or wrapped.
    pub(crate) out_of_range: u64,
    /// Elements that were outside the range that is kept.
    pub(crate) outside: Outside,
    pub(crate) comparison: Comparison,
}

impl Part {
    fn merge(self, other: Self) -> Self {
        Self {
            elements: self.elements + other.elements,
            stored_bytes: self.stored_bytes + other.stored_bytes,
            out_of_range: self.out_of_range + other.out_of_range,
            outside: self.outside.merge(other.outside),
            comparison: self.comparison.merge(other.comparison),
        }
    }
}

/// Elements that are encoded, decoded and judged at once; they stay in the cache meanwhile.
const PIECE: usize = 8192;

/// Some elements of a region on their way.
struct Piece<'a> {
    /// The index of the first in the region.
    first: usize,
    elements: &'a [u8],
    /// Where their codes go.
    codes: &'a mut [u8],
    /// For what some of them decode to.
    decoded: &'a mut Vec<u8>,
}

/// Memory that a thread uses for one chunk after the other.
#[derive(Default)]
struct Buffers {
    encoded: Vec<u8>,
    decoded: Vec<u8>,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

/// Which stored values occur, for types of at most 16 bits.
struct Codes {
    seen: Vec<AtomicBool>,
    /// Two codes, between which all have been seen: the smaller one, and above 16 bits the other one.
    /// Most codes lie there, and need not be looked up.
    all_between: AtomicU32,
}

impl Codes {
    fn new(element_type: ElementType) -> Option<Self> {
        let bits = 8 * element_type.size();
        let seen = || (0..1 << bits).map(|_| AtomicBool::new(false)).collect();
        (bits <= 16)
            .then(|| Self { seen: seen(), all_between: AtomicU32::new(u32::from(u16::MAX)) })
    }

    fn add(&self, codes: &[u8]) {
        for codes in codes.chunks(PIECE) {
            if self.seen.len() > 1 << 8 {
                let (codes, _) = codes.as_chunks();
                self.mark(codes.iter().map(|&code| u16::from_ne_bytes(code)));
            } else {
                self.mark(codes.iter().map(|&code| u16::from(code)));
            }
        }
    }

    fn mark(&self, codes: impl Iterator<Item = u16> + Clone) {
        let ends = (u16::MAX, 0);
        let (least, greatest) = codes.clone().fold(ends, |(a, b), code| (a.min(code), b.max(code)));
        let between = self.all_between.load(Ordering::Relaxed);
        let (mut low, mut high) = (between as u16, (between >> 16) as u16);
        if low <= least && greatest <= high {
            return;
        }
        let is_seen = |code: u16| {
            self.seen.get(usize::from(code)).is_some_and(|seen| seen.load(Ordering::Relaxed))
        };
        let mut latest = None;
        for code in codes {
            latest = Some(code);
            if let Some(seen) = self.seen.get(usize::from(code)).filter(|_| !is_seen(code)) {
                seen.store(true, Ordering::Relaxed);
            }
        }
        let widened = |(mut low, mut high): (u16, u16)| {
            while low.checked_sub(1).is_some_and(is_seen) {
                low -= 1;
            }
            while high.checked_add(1).is_some_and(is_seen) {
                high += 1;
            }
            (low, high)
        };
        if low <= high {
            (low, high) = widened((low, high));
        }
        // The first may have been the code of NaN, which has no neighbours.
        if let Some(latest) = latest.filter(|latest| !(low..=high).contains(latest)) {
            let other = widened((latest, latest));
            if low > high || other.1 - other.0 > high - low {
                (low, high) = other;
            }
        }
        let between = u32::from(high) << 16 | u32::from(low);
        self.all_between.store(between, Ordering::Relaxed);
    }

    fn count(&self) -> u64 {
        self.seen.iter().filter(|seen| seen.load(Ordering::Relaxed)).count() as u64
    }
}

impl Job<'_> {
    pub(crate) fn input(&self) -> String {
        self.source.path().display().to_string()
    }

    /// The same job for each array that is to have the same codecs, this one first.
    fn members(&self) -> impl Iterator<Item = Self> {
        let others = self.others.iter();
        let others = others.map(|&Other { source, survey }| Self { source, survey, ..*self });
        [*self].into_iter().chain(others)
    }

    /// Tries one candidate after the other, until every element is right.
    fn find<T>(
        &self,
        chooser: &Chooser<'_>,
        attempt: impl Fn(Packing, Demand) -> Result<T>,
    ) -> Result<T> {
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
            self.refuse_infinity(packing.chain.encoded_type())?;
            if packing.is_guess && guesses_failed {
                continue;
            }
            if !self.request.is_explicit()
                && let Err(violation) = self.try_sample(&packing, chooser.demand(&packing))
            {
                failure = Some(violation);
                continue;
            }
            guesses_failed = packing.is_guess;
            for packing in self.smallest_first(chooser, packing)? {
                let demand = chooser.demand(&packing);
                let serves_others = self.try_others(chooser, &packing);
                match serves_others.and_then(|()| attempt(packing, demand)) {
                    Ok(done) => return Ok(done),
                    Err(error) if error.is::<Violation>() => failure = Some(error),
                    Err(error) => return Err(error),
                }
            }
        }
        let failure = failure.unwrap_or_else(|| too_fine(self.all));
        Err(self.explained(failure))
    }

    /// Encodes the other arrays, decodes them again and compares: the codecs are those of all of them
    /// only if every element of each is right.
    fn try_others(&self, chooser: &Chooser<'_>, packing: &Packing) -> Result<()> {
        for member in self.members().skip(1) {
            let packing = packing.beside(member.survey.fill_value)?;
            let demand = chooser.demand(&packing);
            if self.arguments.dry_run {
                let sample = sample(member.source, DRY_RUN_SAMPLE)?;
                member.press(packing, demand, Scope::Some(&sample))?;
            } else {
                member.press(packing, demand, Scope::Judged)?;
            }
        }
        Ok(())
    }

    /// What is to be tried for a candidate: first the position in the type that compresses some chunks
    /// best, if that is another than its own, and its own. Of a small array those are all (of 256 at most),
    /// and coarser scales are tried, too.
    fn smallest_first(&self, chooser: &Chooser<'_>, packing: Packing) -> Result<Vec<Packing>> {
        let elements: u128 = self.members().map(|member| member.source.elements()).sum();
        let is_small = elements * self.source.element_type().size() as u128 <= SMALL.into();
        let most = if is_small { SMALL } else { COMPRESSION_SAMPLE };
        let mut samples = Vec::new();
        let mut bytes = 0;
        for member in self.members() {
            let source = member.source;
            let numbers = sample(source, most / (self.others.len() as u64 + 1))?;
            if let Some(&first) = numbers.first() {
                bytes += source.region(first)?.elements() * source.element_type().size() as u64;
                samples.push((member, numbers));
            }
        }
        if self.arguments.common.compressor == Compressor::None
            || !chooser.may_move(&packing)
            || samples.is_empty()
            || bytes > COMPRESSION_MOST
        {
            return Ok(vec![packing]);
        }
        let tried = |packing: &Packing| -> Option<(u64, f64)> {
            let (mut size, mut error) = (0, 0.0_f64);
            for (member, numbers) in &samples {
                let packing = packing.beside(member.survey.fill_value).ok()?;
                let demand = chooser.demand(&packing);
                let part = member.press(packing, demand, Scope::Some(numbers)).ok()?.part;
                size += part.stored_bytes;
                error = error.max(part.comparison.sums.max);
            }
            Some((size, error))
        };
        let Some((own_size, own_error)) = tried(&packing) else { return Ok(vec![packing]) };
        // What a scale that suits the data has gained in precision is worth more than a few bytes.
        let is_precise = packing.is_guess
            && self.request.max_abs_error.is_some_and(|bound| own_error < bound / 2.0);
        let allowed = own_error.max(chooser.rounding(4.0, 0.0));
        let keeps_zero = self.keeps_zero(&packing);
        let at = |position| {
            chooser.scales_at(&packing, position, is_small).into_iter().find_map(|scale| {
                let other = chooser.moved(&packing, scale, position)?;
                let is_right = self.try_sample(&other, chooser.demand(&other)).is_ok();
                let (size, error) = is_right.then(|| tried(&other))??;
                let is_as_good =
                    (!is_precise || error <= allowed) && (!keeps_zero || self.keeps_zero(&other));
                is_as_good.then_some((size, position, other))
            })
        };
        let smallest = |best: Option<(u64, Position, Packing)>, positions: Vec<Position>| {
            let found = positions.into_iter().filter_map(at);
            best.into_iter().chain(found).min_by_key(|(size, ..)| *size)
        };
        let mut best = smallest(None, chooser.positions(&packing, is_precise));
        if let Some((_, position, _)) = best {
            best = smallest(best, Chooser::between(position));
        }
        let best = best.filter(|(size, ..)| *size < own_size).map(|(.., other)| other);
        Ok(best.into_iter().chain([packing]).collect())
    }

    /// Whether zeros, which are a background if there are many, come back as zeros.
    fn keeps_zero(&self, packing: &Packing) -> bool {
        let zero = Scalar::zero(self.all.element_type).to_ne_bytes();
        let size = zero.len();
        let zeros = self.all.sample.chunks_exact(size).filter(|element| *element == zero).count();
        if zeros * BACKGROUND < self.all.sample.len() / size {
            return true;
        }
        let decoded = packing.chain.encode(&zero).and_then(|code| packing.chain.decode(&code));
        decoded.is_ok_and(|decoded| decoded == zero)
    }

    /// Adds to the last failure what was asked for.
    fn explained(&self, failure: anyhow::Error) -> anyhow::Error {
        if self.request.is_explicit() {
            return failure.context(self.input());
        }
        let range = self.all.range.map(|(least, greatest)| format!(" from {least} to {greatest}"));
        let Request { max_abs_error, max_rel_error, precision, .. } = *self.request;
        let (how, hint) = if let Some(bound) = max_abs_error {
            (format!("within {bound:?} "), "allow a larger --max-abs-error")
        } else if let Some(bound) = max_rel_error {
            (format!("within {bound:?} of each "), "allow a larger --max-rel-error")
        } else if let Some(step) = precision {
            (format!("as multiples of {step:?} "), "allow a larger --precision")
        } else {
            (String::new(), "use --max-abs-error")
        };
        let target = match self.request.data_type {
            Some(target) => target.to_string(),
            None if max_rel_error.is_some() => "any smaller floating-point type".to_owned(),
            None => "any integer type".to_owned(),
        };
        let wider = if self.request.data_type.is_some() { " or a wider --data-type" } else { "" };
        let context = format!(
            "{}: the {} values{} cannot be kept {how}in {target}, {hint}{wider}",
            self.input(),
            self.all.element_type,
            range.unwrap_or_default()
        );
        failure.context(context)
    }

    fn refuse_infinity(&self, target: ElementType) -> Result<()> {
        match &self.survey.first_infinite {
            Some(first) if !target.has_infinity() => bail!(
                "{}: {first}, as {} in all, and {target} has no infinity; replace them first, or \
                 use --data-type float16, float32 or float64",
                self.input(),
                count(self.survey.infinite)
            ),
            _ => Ok(()),
        }
    }

    /// Sends the sample there and back: a candidate that fails on it need not be written.
    fn try_sample(&self, packing: &Packing, demand: Demand) -> Result<()> {
        let sample = &self.all.sample;
        let decoded = packing.chain.decode(&packing.chain.encode(sample)?)?;
        let excess = largest_excess(self.source, demand, sample, &decoded)?;
        if let Some(error) = excess {
            bail!("with the scale {} an element is off by {error:?}", scalar_text(packing.scale));
        }
        Ok(())
    }

    /// Writes the array, and compares what each chunk decodes to with the original.
    fn write(
        &self,
        packing: Packing,
        demand: Demand,
        destination: &Destination,
    ) -> Result<Written> {
        let staged = destination.stage()?;
        let packed = self.press(packing, demand, Scope::All(staged.path()))?;
        let result = Source::open(staged.path(), FillCheck::Enforce)
            .context("reading back what was written")?;
        if self.arguments.verify {
            compare(self.source, &result, self.survey.limits.as_ref(), demand, self.workers)?;
        }
        Ok(Written { staged, packed })
    }

    /// Encodes chunks, decodes them again and compares, and writes them if they are all.
    fn press(&self, packing: Packing, demand: Demand, scope: Scope<'_>) -> Result<Packed> {
        if is_wide(self.source.element_type()) {
            self.press_as::<i128>(packing, demand, scope)
        } else {
            self.press_as::<f64>(packing, demand, scope)
        }
    }

    fn press_as<N: Number>(
        &self,
        packing: Packing,
        demand: Demand,
        scope: Scope<'_>,
    ) -> Result<Packed> {
        let source = self.source;
        let fill = packing.chain.encoded_fill_value().context("the fill value was not encoded")?;
        let encoding = Encoding {
            element_type: packing.chain.encoded_type(),
            fill_value: fill,
            codecs: &packing.codecs,
            compressor: self.arguments.common.compressor,
        };
        let sample = match scope {
            Scope::Some(numbers) => Some(numbers),
            Scope::All(_) | Scope::Judged => None,
        };
        let writer = Writer::new(source, &encoding, self.attributes()?)?;
        let judge = Judge::<N>::new(source.fill_value(), demand)?;
        let codes = Codes::new(packing.chain.encoded_type());
        let work = |number: u64| -> Result<Part> {
            let number =
                sample.and_then(|sample| sample.get(number as usize)).map_or(number, |&n| n);
            let region = source.region(number)?;
            let mut part = Part { elements: region.elements(), ..Part::default() };
            let mut trial = judge.trial(&region);
            let (from, to) = (source.element_type().size(), encoding.element_type.size());
            let mut buffers = BUFFERS.take();
            buffers.encoded.resize(region.elements() as usize * to, 0);
            let is_stored = source.pieces(&region, |first, elements| {
                if let Some(limits) = &self.survey.limits {
                    part.outside = part.outside.merge(limits.apply(elements)?);
                }
                let end = first + elements.len() / from;
                let codes_of_piece = buffers.encoded.get_mut(first * to..end * to);
                let piece = Piece {
                    first,
                    elements,
                    codes: codes_of_piece.context("elements beyond their chunk")?,
                    decoded: &mut buffers.decoded,
                };
                let encoded = self.encode(&packing, &region, piece, &mut part, &mut trial)?;
                if let Some(codes) = &codes {
                    codes.add(encoded);
                }
                Ok(())
            })?;
            // A chunk that is not stored is the fill value, there as here.
            if !is_stored {
                return Ok(part);
            }
            part.comparison = trial.done();
            part.stored_bytes = match scope {
                Scope::All(directory) => writer.write(directory, &region, &buffers.encoded)?,
                Scope::Some(_) => writer.size(&region, &buffers.encoded)?,
                Scope::Judged => 0,
            };
            BUFFERS.set(buffers);
            Ok(part)
        };
        let (what, count) = match scope {
            Scope::All(_) => (source.pass("write"), source.chunks()),
            Scope::Some(numbers) => ("sample".into(), numbers.len() as u64),
            Scope::Judged => (source.pass("try"), source.chunks()),
        };
        let mut total = Part::default();
        self.workers.run(what, count, work, |part| {
            total = std::mem::take(&mut total).merge(part);
            Ok(())
        })?;
        match scope {
            Scope::All(directory) => writer.finish(directory)?,
            Scope::Some(_) => {
                let all = source.elements() as f64 / total.elements.max(1) as f64;
                total.stored_bytes = (total.stored_bytes as f64 * all).round() as u64;
            }
            Scope::Judged => {}
        }
        Ok(Packed {
            codecs: writer.codecs().clone(),
            packing,
            demand,
            part: total,
            codes: codes.as_ref().map(Codes::count),
            sampled: sample.map(|sample| sample.len() as u64),
        })
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
            fill_value: survey.fill_value,
            shape: self.source.array().shape().to_vec(),
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

    /// Encodes elements of a region, and has what they decode to judged. Returns the codes.
    fn encode<'a, N: Number>(
        &self,
        packing: &Packing,
        region: &Region,
        piece: Piece<'a>,
        part: &mut Part,
        trial: &mut Trial<'_, N>,
    ) -> Result<&'a [u8]> {
        let Piece { first, elements, codes: all_codes, decoded } = piece;
        let chain = &packing.chain;
        let (from, to) = (chain.decoded_type().size(), chain.encoded_type().size());
        decoded.resize(PIECE * from, 0);
        let pieces = elements.chunks(PIECE * from).zip(all_codes.chunks_mut(PIECE * to));
        for (number, (piece, codes)) in pieces.enumerate() {
            let named = |error: RunError| match error {
                RunError::Element(error) => {
                    // The element is named by its place in the array instead of in the piece.
                    let text = error.to_string();
                    let text = text.split_once(": ").map_or(text.as_str(), |(_, text)| text);
                    let element = region.element(first + number * PIECE + error.index);
                    anyhow::anyhow!("{}: {element}: {text}", self.input())
                }
                error => error.into(),
            };
            let strict = packing.strict.as_ref();
            if strict.is_none_or(|strict| strict.encode_into(piece, codes).is_err()) {
                chain.encode_into(piece, codes).map_err(named)?;
                let plan = strict.map(Chain::encode_plan);
                part.out_of_range += plan.map_or(0, |plan| out_of_range(plan, piece));
            }
            let decoded = decoded.get_mut(..piece.len()).unwrap_or_default();
            chain.decode_into(codes, decoded).map_err(named)?;
            trial.add(piece, decoded)?;
        }
        Ok(all_codes)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_counted_once_in_whatever_order_they_come() {
        let codes = Codes::new(ElementType::UInt16).unwrap();
        let mut expected = std::collections::BTreeSet::new();
        let mut add = |numbers: Vec<u16>| {
            expected.extend(numbers.iter().copied());
            let bytes: Vec<u8> = numbers.into_iter().flat_map(u16::to_ne_bytes).collect();
            codes.add(&bytes);
            assert_eq!(codes.count(), expected.len() as u64);
        };
        add(vec![]);
        add(vec![300, 302, 65535]);
        add((301..20_000).step_by(3).collect());
        add((0..20_000).rev().collect());
        add(vec![20_001]);
        add(vec![500, 20_000, 0]);
        add((0..=u16::MAX).collect());
        let codes = Codes::new(ElementType::Int8).unwrap();
        codes.add(&[1, 2, 3, 255, 1]);
        codes.add(&[2, 0, 128]);
        assert_eq!(codes.count(), 6);
        assert!(Codes::new(ElementType::Int32).is_none());
    }
}

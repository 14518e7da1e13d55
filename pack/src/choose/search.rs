//! Searches for codecs with a survey: tries candidates from coarse to fine on the survey's sample, and moves their
//! values inside the type to where the excerpts compress best.

use anyhow::{Context, bail};
use rayon::prelude::*;
use recast_kernels::{ElementType, Scalar};

use super::chooser::Chooser;
use super::packing::{Packing, SpecialLost};
use super::positions::Position;
use crate::check::chunk_check::{Judge, largest_excess};
use crate::check::comparison::Violation;
use crate::check::tolerance::Tolerance;
use crate::error::Result;
use crate::io::byte_encoder::ByteEncoder;
use crate::io::region::Region;
use crate::io::storage::{Coder, Storage};
use crate::options::{Compressor, PackOptions};
use crate::runtime::Workers;
use crate::scan::number::{Number, is_wide};
use crate::scan::survey::Survey;
use crate::text::{count, scalar_text};

/// For a large array, one excerpt in this many decides which position is the best.
const FEW: usize = 8;
/// A difference of one byte in this many is noise of the compressor.
const LUCK: u64 = 1000;
/// Returning values bit for bit, although the bound allows an error, is worth one byte in this many.
const EXACTNESS: u64 = 100;
/// With one zero in this many elements, zero is a background.
const BACKGROUND: usize = 10;

/// A search for codecs.
pub(crate) struct Search<'a> {
    /// The array, for errors.
    name: String,
    pub(super) options: &'a PackOptions,
    survey: &'a Survey,
    chooser: Chooser<'a>,
    /// The survey's sample, with the ends of the range.
    sample: Vec<u8>,
    /// The survey's excerpts, within its limits.
    excerpts: Vec<Vec<u8>>,
    /// The threads that try excerpts; by default rayon's global ones.
    workers: Option<&'a Workers>,
}

/// The result for the excerpts with other codecs.
struct Trial {
    size: u64,
    error: f64,
    packing: Packing,
}

impl<'a> Search<'a> {
    /// # Errors
    /// A request that no codecs can meet for any elements.
    pub(crate) fn new(
        name: String,
        options: &'a PackOptions,
        survey: &'a Survey,
        workers: Option<&'a Workers>,
    ) -> Result<Self> {
        let chooser = Chooser::new(options, survey).with_context(|| name.clone())?;
        let mut sample = survey.sample.clone();
        if let Some((least, greatest)) = survey.range {
            sample.extend(least.to_ne_bytes());
            sample.extend(greatest.to_ne_bytes());
        }
        let mut excerpts: Vec<Vec<u8>> = survey.excerpts.values().cloned().collect();
        if let Some(limits) = &survey.limits {
            for excerpt in &mut excerpts {
                limits.apply(excerpt)?;
            }
        }
        Ok(Self { name, options, survey, chooser, sample, excerpts, workers })
    }

    /// The tolerance for every element.
    pub(crate) fn tolerance(&self) -> Tolerance {
        self.chooser.tolerance()
    }

    /// Tries one candidate after the other until `attempt` finds every element right, or fails for another reason
    /// than a [`Violation`]. The inner `Err` is the last failure, if there was one.
    ///
    /// # Errors
    /// Those of `attempt`, and infinities if the stored type has none.
    pub(crate) fn find<T>(
        &self,
        mut attempt: impl FnMut(Packing) -> Result<T>,
    ) -> Result<std::result::Result<T, Option<anyhow::Error>>> {
        let chooser = &self.chooser;
        let mut failure = None;
        let mut guesses_failed = false;
        for candidate in self.chooser.candidates() {
            let packing = match candidate {
                Ok(packing) => packing,
                // The finest scale comes last, and its failure explains why the bound cannot be kept.
                Err(refusal) => {
                    failure = Some(refusal);
                    continue;
                }
            };
            self.refuse_infinity(packing.chain.encoded_type())?;
            if packing.grid.is_some() && guesses_failed {
                continue;
            }
            if !self.options.is_explicit()
                && let Err(violation) = self.try_sample(&packing)
            {
                failure = Some(violation);
                continue;
            }
            if let Some(error) = self.chooser.certain_excess(&packing) {
                failure = Some(Self::off(&packing, error));
                continue;
            }
            // One that is not round comes from the sample, and says nothing about round ones.
            guesses_failed = packing.grid.is_some_and(|grid| chooser.round_scale(&grid).is_some());
            for packing in self.smallest_first(packing)? {
                if let Some(error) = self.chooser.certain_excess(&packing) {
                    failure = Some(Self::off(&packing, error));
                    continue;
                }
                match attempt(packing) {
                    Ok(done) => return Ok(Ok(done)),
                    Err(error) if error.is::<Violation>() => failure = Some(error),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(Err(failure))
    }

    /// Whether every value of the range keeps the bound, and none decodes to a missing marker.
    pub(crate) fn is_proven(&self, packing: &Packing) -> bool {
        self.chooser.is_proven(packing)
    }

    /// Whether every surveyed value does.
    pub(crate) fn is_proven_for_seen(&self, packing: &Packing) -> bool {
        self.chooser.is_proven_for_seen(packing)
    }

    /// The last failure, if there was one, with the request.
    pub(crate) fn explained(&self, failure: Option<anyhow::Error>) -> anyhow::Error {
        let failure = failure.unwrap_or_else(|| self.too_fine());
        if self.options.is_explicit() {
            return failure.context(self.name.clone());
        }
        let range = self.survey.to_store();
        let range = range.map(|(least, greatest)| format!(" from {least} to {greatest}"));
        let PackOptions { max_abs_error, max_rel_error, precision, .. } = *self.options;
        // Finer steps separate values from a missing marker with the same code.
        let is_collision =
            failure.downcast_ref::<Violation>().is_some_and(|violation| violation.is_collision)
                || failure.is::<SpecialLost>();
        let way = if is_collision { "try a smaller" } else { "allow a larger" };
        let (how, hint) = if let Some(bound) = max_abs_error {
            (format!("within {bound:?} "), format!("{way} {}", self.options.flag_of_bound()))
        } else if let Some(bound) = max_rel_error {
            (format!("within {bound:?} of each "), format!("{way} --max-rel-error"))
        } else if let Some(step) = precision {
            (format!("as multiples of {step:?} "), format!("{way} --precision"))
        } else {
            (String::new(), "use --max-abs-error".to_owned())
        };
        let target = match self.options.data_type {
            Some(target) => target.to_string(),
            None if max_rel_error.is_some() => "any smaller floating-point type".to_owned(),
            None => "any integer type".to_owned(),
        };
        let wider = if self.options.data_type.is_some() { " or a wider --data-type" } else { "" };
        let narrower = if self.survey.promised.is_some() { " or a narrower --range" } else { "" };
        // Values between those surveyed take finer steps.
        let is_for_more = self.chooser.is_for_more() && self.survey.promised.is_none();
        let grid = if is_for_more && max_abs_error.is_some() {
            "; if all values to come are on the grid of these, see --no-grid"
        } else {
            ""
        };
        let context = format!(
            "{}: the {} values{} cannot be kept {how}in {target}, {hint}{wider}{narrower}{grid}",
            self.name,
            self.survey.element_type,
            range.unwrap_or_default()
        );
        failure.context(context)
    }

    /// The failure if there is no scale to try.
    fn too_fine(&self) -> anyhow::Error {
        anyhow::anyhow!("the arithmetic of {} rounds by more than that", self.survey.element_type)
    }

    /// The packings to try for a candidate: first the position in the type that compresses the excerpts best, or that
    /// leaves room on both sides of the data for the same bytes, then its own position. For a small array, the
    /// excerpts cover all of it, and coarser scales are tried too.
    fn smallest_first(&self, packing: Packing) -> Result<Vec<Packing>> {
        let chooser = &self.chooser;
        if !chooser.may_move(&packing) {
            return Ok(vec![packing]);
        }
        if self.options.compressor == Compressor::None || self.excerpts.is_empty() {
            return self.roomy_first(packing);
        }
        let all = self.excerpts.as_slice();
        let Some((own_size, own_error)) = self.tried(&packing, all) else {
            return Ok(vec![packing]);
        };
        let is_precise = self.is_precise(&packing, own_error);
        let allowed = own_error.max(chooser.rounding(4.0, 0.0));
        let keeps_zero = self.keeps_zero(&packing);
        let judged = |other: Packing, excerpts: &[Vec<u8>]| -> Option<Trial> {
            self.try_sample(&other).ok()?;
            let (size, error) = self.tried(&other, excerpts)?;
            let is_as_good =
                (!is_precise || error <= allowed) && (!keeps_zero || self.keeps_zero(&other));
            is_as_good.then_some(Trial { size, error, packing: other })
        };
        let excerpts = all.iter().map(Vec::len).sum::<usize>() as u64;
        let is_small = excerpts >= self.survey.elements * self.survey.element_type.size() as u64;
        // For a large array, a few excerpts decide which position is the best.
        let few = if is_small { all.len() } else { all.len().div_ceil(FEW) };
        let few = all.get(..few).unwrap_or(all);
        let at = |position| {
            chooser.scales_at(&packing, position, is_small).into_iter().find_map(|scale| {
                Some((position, judged(chooser.moved(&packing, scale, position)?, few)?))
            })
        };
        // Values that come back bit for bit keep doing so, unless that takes many more bytes.
        let is_lost = |trial: &Trial| is_precise && own_error == 0.0 && trial.error > 0.0;
        let cost =
            |trial: &Trial| trial.size + if is_lost(trial) { trial.size / EXACTNESS } else { 0 };
        let smallest = |best: Option<(Position, Trial)>, positions: Vec<Position>| {
            let found = || positions.into_par_iter().filter_map(at).collect::<Vec<_>>();
            best.into_iter().chain(self.in_threads(found)).min_by_key(|(_, trial)| cost(trial))
        };
        let mut best = smallest(None, chooser.positions(&packing, is_precise));
        if let Some((position, _)) = best {
            best = smallest(best, Chooser::fractional_offsets(position));
        }
        let best = best.and_then(|(_, trial)| {
            if few.len() == all.len() { Some(trial) } else { judged(trial.packing, all) }
        });
        // No more bytes, except for noise of the compressor, and no less precision.
        let is_as_good = |trial: &Trial| {
            trial.size <= own_size + own_size / LUCK && (!is_precise || trial.error <= own_error)
        };
        // A proven packing needs no comparison element by element.
        let is_sure =
            |packing: &Packing| self.is_proven(packing) || self.is_proven_for_seen(packing);
        let is_surer = |trial: &Trial| is_sure(&trial.packing) && !is_sure(&packing);
        let first = match best {
            Some(best) if cost(&best) < own_size || (is_as_good(&best) && is_surer(&best)) => {
                Some(best.packing)
            }
            _ if packing.is_roomy() => None,
            best => {
                let twin = chooser.with_other_sign(&packing).and_then(|twin| judged(twin, all));
                let found = twin.into_iter().chain(best).find(is_as_good);
                found.map(|trial| trial.packing)
            }
        };
        Ok(first.into_iter().chain([packing]).collect())
    }

    /// As [`Self::smallest_first`], if all positions take the same bytes, or the bytes are not known: a position as
    /// precise with room on both sides of the data, then its own.
    fn roomy_first(&self, packing: Packing) -> Result<Vec<Packing>> {
        if packing.is_roomy() {
            return Ok(vec![packing]);
        }
        let chooser = &self.chooser;
        let exact = Tolerance { absolute: 0.0, relative: 0.0, ..chooser.tolerance() };
        let error = |packing: &Packing| -> Result<f64> {
            Ok(self.excess(packing, exact)?.unwrap_or_default())
        };
        let own_error = error(&packing)?;
        let is_precise = self.is_precise(&packing, own_error);
        let position = chooser.positions(&packing, true).into_iter().next();
        let moved = position.and_then(|position| {
            packing.scale.and_then(|scale| chooser.moved(&packing, scale, position))
        });
        let is_as_good = |other: &Packing| {
            self.try_sample(other).is_ok()
                && (!is_precise || error(other).is_ok_and(|error| error <= own_error))
                && (!self.keeps_zero(&packing) || self.keeps_zero(other))
        };
        let first = chooser.with_other_sign(&packing).into_iter().chain(moved).find(is_as_good);
        Ok(first.into_iter().chain([packing]).collect())
    }

    /// The bytes of the excerpts with some codecs, compressed one by one, and their largest error; none if an element
    /// is wrong.
    fn tried(&self, packing: &Packing, excerpts: &[Vec<u8>]) -> Option<(u64, f64)> {
        if is_wide(self.survey.element_type) {
            self.tried_as::<i128>(packing, excerpts).ok()
        } else {
            self.tried_as::<f64>(packing, excerpts).ok()
        }
    }

    fn tried_as<N: Number>(&self, packing: &Packing, excerpts: &[Vec<u8>]) -> Result<(u64, f64)> {
        let Survey { element_type, markers, apart, .. } = self.survey;
        let judge = Judge::<N>::new(*element_type, markers, self.tolerance())?.apart_from(apart)?;
        let chain = &packing.chain;
        // Positions are compared as Zstandard compresses them, if the compressor is chosen afterwards.
        let storage = Storage::named(self.options.compressor);
        let storage = storage.unwrap_or(Storage::plain(Coder::Zstd(5)));
        let compression = ByteEncoder::for_blocks(chain.encoded_type(), &storage, 1)?;
        let tried = |excerpt: &Vec<u8>| -> Result<(u64, f64)> {
            let codes = chain.encode(excerpt)?;
            let region = Region::line((excerpt.len() / element_type.size()) as u64);
            let mut check = judge.check(&region);
            check.add(excerpt, &chain.decode(&codes)?)?;
            Ok((compression.size(&codes, &region.shape)?, check.done().sums.max))
        };
        let all = self.in_threads(|| excerpts.par_iter().map(tried).collect::<Result<Vec<_>>>())?;
        let sum =
            |(size, error): (u64, f64), (more, other): (u64, f64)| (size + more, error.max(other));
        Ok(all.into_iter().fold((0, 0.0), sum))
    }

    /// The same packing with codes without a gap, if it is another one.
    pub(super) fn compact(&self, packing: &Packing) -> Option<Packing> {
        self.chooser.compact(packing)
    }

    pub(super) fn in_threads<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match self.workers {
            Some(workers) => workers.install(work),
            None => work(),
        }
    }

    /// Whether a scale suits the data, so that its gain in precision is worth more than a few bytes.
    fn is_precise(&self, packing: &Packing, error: f64) -> bool {
        packing.grid.is_some()
            && self.options.max_abs_error.is_some_and(|bound| error < bound / 2.0)
    }

    /// Whether zeros come back as zeros; many zeros are a background.
    fn keeps_zero(&self, packing: &Packing) -> bool {
        let zero = Scalar::zero(self.survey.element_type).to_ne_bytes();
        let size = zero.len();
        let zeros = self.sample.chunks_exact(size).filter(|element| *element == zero).count();
        if zeros * BACKGROUND < self.sample.len() / size {
            return true;
        }
        let decoded = packing.chain.encode(&zero).and_then(|code| packing.chain.decode(&code));
        decoded.is_ok_and(|decoded| decoded == zero)
    }

    fn refuse_infinity(&self, target: ElementType) -> Result<()> {
        match &self.survey.first_infinite {
            Some(first) if !target.has_infinity() => bail!(
                "{}: {first}, as {} in all, and {target} has no infinity; --infinity gives infinities \
                 stored values of their own; or replace them first, or use --data-type float16, \
                 float32 or float64",
                self.name,
                count(self.survey.infinite)
            ),
            _ => Ok(()),
        }
    }

    /// Encodes and decodes the sample: a candidate that fails on it need not be written.
    fn try_sample(&self, packing: &Packing) -> Result<()> {
        let excess = self.excess(packing, self.tolerance())?;
        if excess == Some(f64::INFINITY) {
            return Err(Violation::collision(&scalar_text(packing.scale)).into());
        }
        if let Some(error) = excess {
            return Err(Self::off(packing, error));
        }
        Ok(())
    }

    fn off(packing: &Packing, error: f64) -> anyhow::Error {
        let scale = scalar_text(packing.scale);
        anyhow::anyhow!("with the scale {scale} an element is off by {error:?}")
    }

    /// The largest error in the sample, if it exceeds a tolerance.
    fn excess(&self, packing: &Packing, tolerance: Tolerance) -> Result<Option<f64>> {
        let Survey { element_type, markers, .. } = self.survey;
        let decoded = packing.chain.decode(&packing.chain.encode(&self.sample)?)?;
        largest_excess(*element_type, markers, tolerance, &self.sample, &decoded)
    }
}

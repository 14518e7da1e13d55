//! The search for codecs: candidates from coarse to fine, until every element of the array is right.

use anyhow::bail;
use recast_kernels::{ElementType, Scalar};

use super::encode::Scope;
use super::job::{Job, sample};
use super::report::Suspect;
use crate::check::chunk_check::largest_excess;
use crate::check::comparison::Violation;
use crate::check::tolerance::Tolerance;
use crate::choose::chooser::Chooser;
use crate::choose::packing::{Packing, SpecialLost};
use crate::choose::positions::Position;
use crate::error::Result;
use crate::options::{Compressor, PackOptions};
use crate::scan::missing::{Markers, customary_markers};
use crate::scan::survey::{Survey, survey};
use crate::text::{count, scalar_text};

/// Bytes of decoded chunks that a dry run tries, more or less.
pub(super) const DRY_RUN_SAMPLE: u64 = 64 << 20;
/// Bytes of decoded chunks that the place in the type is chosen by, more or less, and at most: it costs
/// the time of compressing them a few times.
const COMPRESSION_SAMPLE: u64 = 4 << 20;
const COMPRESSION_MOST: u64 = 20 << 20;
/// Bytes of an array that is compressed as a whole to choose.
const SMALL: u64 = 16 << 20;
/// One byte in so many, more or less, is the luck of a compressor.
const LUCK: u64 = 1000;
/// One zero in so many elements is a background.
const BACKGROUND: usize = 10;

impl Job<'_> {
    /// Tries one candidate after the other, until every element is right.
    pub(super) fn find<T>(
        &self,
        chooser: &Chooser<'_>,
        attempt: impl Fn(Packing, Tolerance) -> Result<T>,
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
            if !self.options().is_explicit()
                && let Err(violation) = self.try_sample(&packing, chooser.tolerance())
            {
                failure = Some(violation);
                continue;
            }
            guesses_failed = packing.is_guess;
            for packing in self.smallest_first(chooser, packing)? {
                let tolerance = chooser.tolerance();
                let serves_others = self.try_others(chooser, &packing);
                match serves_others.and_then(|()| attempt(packing, tolerance)) {
                    Ok(done) => return Ok(done),
                    Err(error) if error.is::<Violation>() => failure = Some(error),
                    Err(error) => return Err(error),
                }
            }
        }
        let failure = failure.unwrap_or_else(|| too_fine(self.all));
        Err(self.with_suspects(self.explained(failure))?)
    }

    /// Encodes the other arrays, decodes them again and compares: the codecs are those of all of them
    /// only if every element of each is right.
    pub(super) fn try_others(&self, chooser: &Chooser<'_>, packing: &Packing) -> Result<()> {
        for member in self.members().skip(1) {
            let packing = packing.beside(member.survey.fill_value)?;
            let tolerance = chooser.tolerance();
            if self.is_dry_run {
                let sample = sample(member.source, DRY_RUN_SAMPLE)?;
                member.encode_chunks(packing, tolerance, Scope::Some(&sample))?;
            } else {
                member.encode_chunks(packing, tolerance, Scope::Judged)?;
            }
        }
        Ok(())
    }

    /// What is to be tried for a candidate: first the position in the type that compresses some chunks
    /// best, or that leaves room on both sides of the data without taking more bytes, and then its own. Of a
    /// small array those are all (of 256 at most), and coarser scales are tried, too.
    pub(super) fn smallest_first(
        &self,
        chooser: &Chooser<'_>,
        packing: Packing,
    ) -> Result<Vec<Packing>> {
        if !chooser.may_move(&packing) {
            return Ok(vec![packing]);
        }
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
        if self.asked.options.compressor == Compressor::None
            || samples.is_empty()
            || bytes > COMPRESSION_MOST
        {
            return self.roomy_first(chooser, packing);
        }
        let tried = |packing: &Packing| -> Option<(u64, f64)> {
            let (mut size, mut error) = (0, 0.0_f64);
            for (member, numbers) in &samples {
                let packing = packing.beside(member.survey.fill_value).ok()?;
                let tolerance = chooser.tolerance();
                let part =
                    member.encode_chunks(packing, tolerance, Scope::Some(numbers)).ok()?.part;
                size += part.stored_bytes;
                error = error.max(part.comparison.sums.max);
            }
            Some((size, error))
        };
        let Some((own_size, own_error)) = tried(&packing) else { return Ok(vec![packing]) };
        let is_precise = self.is_precise(&packing, own_error);
        let allowed = own_error.max(chooser.rounding(4.0, 0.0));
        let keeps_zero = self.keeps_zero(&packing);
        let judged = |other: Packing| -> Option<Trial> {
            let is_right = self.try_sample(&other, chooser.tolerance()).is_ok();
            let (size, error) = is_right.then(|| tried(&other))??;
            let is_as_good =
                (!is_precise || error <= allowed) && (!keeps_zero || self.keeps_zero(&other));
            is_as_good.then_some(Trial { size, error, packing: other })
        };
        let at = |position| {
            chooser.scales_at(&packing, position, is_small).into_iter().find_map(|scale| {
                Some((position, judged(chooser.moved(&packing, scale, position)?)?))
            })
        };
        let smallest = |best: Option<(Position, Trial)>, positions: Vec<Position>| {
            let found = positions.into_iter().filter_map(at);
            best.into_iter().chain(found).min_by_key(|(_, trial)| trial.size)
        };
        let mut best = smallest(None, chooser.positions(&packing, is_precise));
        if let Some((position, _)) = best {
            best = smallest(best, Chooser::fractional_offsets(position));
        }
        let best = best.map(|(_, trial)| trial);
        let first = match best {
            Some(best) if best.size < own_size => Some(best.packing),
            _ if packing.is_roomy() => None,
            best => {
                // No more bytes, but for the luck of the compressor, and no less precision.
                let is_as_good = |trial: &Trial| {
                    trial.size <= own_size + own_size / LUCK
                        && (!is_precise || trial.error <= own_error)
                };
                let twin = chooser.with_other_sign(&packing).and_then(judged);
                let found = twin.into_iter().chain(best).find(is_as_good);
                found.map(|trial| trial.packing)
            }
        };
        Ok(first.into_iter().chain([packing]).collect())
    }

    /// As [`Self::smallest_first`], where every place takes as many bytes, or nothing tells how many: one with
    /// room on both sides of the data that is as precise, and its own.
    fn roomy_first(&self, chooser: &Chooser<'_>, packing: Packing) -> Result<Vec<Packing>> {
        if packing.is_roomy() {
            return Ok(vec![packing]);
        }
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
            self.try_sample(other, chooser.tolerance()).is_ok()
                && (!is_precise || error(other).is_ok_and(|error| error <= own_error))
                && (!self.keeps_zero(&packing) || self.keeps_zero(other))
        };
        let first = chooser.with_other_sign(&packing).into_iter().chain(moved).find(is_as_good);
        Ok(first.into_iter().chain([packing]).collect())
    }

    /// Whether a scale suits the data: what that has gained in precision is worth more than a few bytes.
    fn is_precise(&self, packing: &Packing, error: f64) -> bool {
        packing.is_guess && self.options().max_abs_error.is_some_and(|bound| error < bound / 2.0)
    }

    /// Whether zeros, which are a background if there are many, come back as zeros.
    pub(super) fn keeps_zero(&self, packing: &Packing) -> bool {
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
    pub(super) fn explained(&self, failure: anyhow::Error) -> anyhow::Error {
        if self.options().is_explicit() {
            return failure.context(self.input());
        }
        let range = self.all.to_store();
        let range = range.map(|(least, greatest)| format!(" from {least} to {greatest}"));
        let PackOptions { max_abs_error, max_rel_error, precision, .. } = *self.options();
        // Where values fall together with a missing one, finer steps part them.
        let is_collision =
            failure.downcast_ref::<Violation>().is_some_and(|violation| violation.is_collision)
                || failure.is::<SpecialLost>();
        let way = if is_collision { "try a smaller" } else { "allow a larger" };
        let (how, hint) = if let Some(bound) = max_abs_error {
            (format!("within {bound:?} "), format!("{way} --max-abs-error"))
        } else if let Some(bound) = max_rel_error {
            (format!("within {bound:?} of each "), format!("{way} --max-rel-error"))
        } else if let Some(step) = precision {
            (format!("as multiples of {step:?} "), format!("{way} --precision"))
        } else {
            (String::new(), "use --max-abs-error".to_owned())
        };
        let target = match self.options().data_type {
            Some(target) => target.to_string(),
            None if max_rel_error.is_some() => "any smaller floating-point type".to_owned(),
            None => "any integer type".to_owned(),
        };
        let wider = if self.options().data_type.is_some() { " or a wider --data-type" } else { "" };
        let narrower = if self.all.promised.is_some() { " or a narrower --range" } else { "" };
        let context = format!(
            "{}: the {} values{} cannot be kept {how}in {target}, {hint}{wider}{narrower}",
            self.input(),
            self.all.element_type,
            range.unwrap_or_default()
        );
        failure.context(context)
    }

    /// Adds to a failure which values look like missing ones that nothing names, and how many there are.
    fn with_suspects(&self, failure: anyhow::Error) -> Result<anyhow::Error> {
        let suspects = customary_markers(self.all.data_range);
        if suspects.is_empty() {
            return Ok(failure);
        }
        let members = self.members();
        let suspects = Self::counted(members, &suspects)?;
        let named = suspects.iter().map(|Suspect { value, count: number }| {
            format!("{} ({} elements)", scalar_text(Some(*value)), count(*number))
        });
        let named: Vec<String> = named.collect();
        let values: Vec<String> =
            suspects.iter().map(|suspect| scalar_text(Some(suspect.value))).collect();
        Ok(failure.context(format!(
            "{} {} like missing values, which nothing names; if that is so, use --missing {}",
            named.join(" and "),
            if values.len() == 1 { "looks" } else { "look" },
            values.join(" ")
        )))
    }

    /// The values of this array that were packed as data although they look like missing ones, which stand far
    /// from all others.
    pub(super) fn suspects(&self) -> Result<Vec<Suspect>> {
        let ends = customary_markers(self.survey.data_range);
        let mut markers = Markers::default();
        markers.extend(ends.iter().copied());
        let sample = markers.range_of_others(self.survey.element_type, &self.survey.sample)?;
        let is_far = |suspect: &Scalar| {
            let Some((least, greatest)) = sample else { return true };
            let value = suspect.to_f64();
            let gap = (least - value).max(value - greatest);
            gap > greatest - least
        };
        let far: Vec<Scalar> = ends.into_iter().filter(is_far).collect();
        Self::counted([*self].into_iter(), &far)
    }

    /// Counts some values in arrays, in a pass over each if there are any to count.
    fn counted(arrays: impl Iterator<Item = Self>, values: &[Scalar]) -> Result<Vec<Suspect>> {
        let mut suspects: Vec<Suspect> =
            values.iter().map(|&value| Suspect { value, count: 0 }).collect();
        for array in arrays.filter(|_| !values.is_empty()) {
            let mut markers = array.survey.markers.clone();
            markers.extend(values.iter().copied());
            let found = survey(array.source, &markers, array.workers)?;
            for suspect in &mut suspects {
                suspect.count += found.count(suspect.value);
            }
        }
        Ok(suspects)
    }

    pub(super) fn refuse_infinity(&self, target: ElementType) -> Result<()> {
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
    pub(super) fn try_sample(&self, packing: &Packing, tolerance: Tolerance) -> Result<()> {
        let excess = self.excess(packing, tolerance)?;
        if excess == Some(f64::INFINITY) {
            return Err(Violation::collision(&scalar_text(packing.scale)).into());
        }
        if let Some(error) = excess {
            bail!("with the scale {} an element is off by {error:?}", scalar_text(packing.scale));
        }
        Ok(())
    }

    /// The largest error in the sample beyond a tolerance.
    fn excess(&self, packing: &Packing, tolerance: Tolerance) -> Result<Option<f64>> {
        let sample = &self.all.sample;
        let decoded = packing.chain.decode(&packing.chain.encode(sample)?)?;
        let element_type = self.source.element_type();
        largest_excess(element_type, &self.all.markers, tolerance, sample, &decoded)
    }
}

/// What became of some chunks with other codecs.
struct Trial {
    size: u64,
    error: f64,
    packing: Packing,
}

/// The failure where there is not even a scale to try.
fn too_fine(survey: &Survey) -> anyhow::Error {
    anyhow::anyhow!("the arithmetic of {} rounds more away", survey.element_type)
}

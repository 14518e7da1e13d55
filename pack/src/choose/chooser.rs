//! Chooses codecs for some arrays: the values, and the type in which scale and offset are computed.

use anyhow::{Context, bail};
use recast_kernels::{ElementType, Format, OutOfRange, Rounding, Scalar, Specials};

use super::candidate::{Candidate, ScaleCandidate, in_working};
use crate::check::comparison::Tolerance;
use crate::error::Result;
use crate::options::{NanTo, PackOptions};
use crate::runtime::Workers;
use crate::scan::grid::round_scales;
use crate::scan::missing::Markers;
use crate::scan::number::{extent, integer, is_less, magnitude, scalar};
use crate::scan::survey::Survey;
use crate::text::{count, nan_pattern};

/// Chooses codecs for an array, or for several that share a survey.
pub(crate) struct Chooser<'a> {
    /// The array, for errors.
    pub(super) name: String,
    pub(super) options: &'a PackOptions,
    pub(super) survey: &'a Survey,
    /// The kind of NaN that options name, which comes back bit for bit.
    pub(super) named_nan: Option<Scalar>,
    /// The type in which scale and offset are computed.
    pub(super) working: ElementType,
    /// Smallest and largest value, in that type.
    pub(super) least: Scalar,
    pub(super) greatest: Scalar,
    /// The survey's sample, with the ends of the range.
    pub(super) sample: Vec<u8>,
    /// The survey's excerpts, within its limits.
    pub(super) excerpts: Vec<Vec<u8>>,
    /// The scale by which a division in float64 gives the values bit for bit, if they must come back so and are products of
    /// whole numbers and a step, rounded to their type.
    pub(super) products: Option<ScaleCandidate>,
    /// The threads that try excerpts; by default rayon's global ones.
    pub(super) workers: Option<&'a Workers>,
}

impl<'a> Chooser<'a> {
    /// # Errors
    /// A request that no codecs can meet for any elements.
    pub(crate) fn new(
        name: String,
        options: &'a PackOptions,
        survey: &'a Survey,
        workers: Option<&'a Workers>,
    ) -> Result<Self> {
        let (working, least, greatest) =
            Self::working_range(options, survey).with_context(|| name.clone())?;
        let mut sample = survey.sample.clone();
        if let Some((least, greatest)) = survey.range() {
            sample.extend(least.to_ne_bytes());
            sample.extend(greatest.to_ne_bytes());
        }
        let mut excerpts: Vec<Vec<u8>> = survey.excerpts.values().cloned().collect();
        for excerpt in &mut excerpts {
            survey.clamp_elements(excerpt)?;
        }
        let products = None;
        let named_nan = Self::named_nan(options, survey).with_context(|| name.clone())?;
        Ok(Self {
            name,
            options,
            survey,
            named_nan,
            working,
            least,
            greatest,
            sample,
            excerpts,
            products,
            workers,
        })
    }

    /// The type in which scale and offset are computed, and the smallest and largest value in it.
    fn working_range(
        options: &PackOptions,
        survey: &Survey,
    ) -> Result<(ElementType, Scalar, Scalar)> {
        let source = survey.element_type;
        if source.is_integer()
            && let Some(step) = options.precision.filter(|step| step.fract() != 0.0)
        {
            bail!("--precision {step:?} is not a whole number, but all values of {source} are");
        }
        if options.nan_to != NanTo::Auto && !source.has_nan() {
            bail!("--nan-to names a stored value for NaN, and {source} has no NaN; leave it out");
        }
        // With an error below 1, integers stay unchanged; a larger error needs fractions of a
        // code.
        let coarse =
            options.max_abs_error.is_some_and(|bound| bound >= Self::least_of_float64(survey))
                || options.precision.is_some_and(|step| step > 1.0)
                || Self::spreads_integers(options, survey);
        // Floats of 16 bits and fewer would round away what the bound allows, and are computed with in float32.
        let is_small = source.is_float() && source.size() < ElementType::Float32.size();
        let has_steps = options.max_rel_error.is_none()
            && options.data_type.is_none_or(ElementType::is_integer);
        let working = match options.is_explicit() {
            false if source.is_integer() && coarse => ElementType::Float64,
            false if is_small && has_steps => ElementType::Float32,
            _ => source,
        };
        // In an array without values, any value that is not a marker; not the fill value, which says nothing about others.
        let mut small = (0..100).filter_map(|number| scalar(number, source));
        let nothing = small.find(|&value| !survey.markers.contains(value));
        let nothing = nothing.unwrap_or_else(|| Scalar::zero(source));
        let (least, greatest) = survey.to_store().unwrap_or((nothing, nothing));
        Ok((working, in_working(least, working)?, in_working(greatest, working)?))
    }

    /// The kind of NaN that options name.
    ///
    /// # Errors
    /// Elements of other kinds, which codecs cannot tell from it. Plain values keep all bits.
    fn named_nan(options: &PackOptions, survey: &Survey) -> Result<Option<Scalar>> {
        if options.is_plain() {
            return Ok(None);
        }
        let Some(named) = Markers::named_nan(survey.element_type, options)? else {
            return Ok(None);
        };
        let counts = survey.nan_kinds.counts();
        if let Some((other, elements)) = counts.iter().find(|(kind, _)| *kind != named) {
            bail!(
                "--missing names the NaN {}, and the array has the NaN {} ({} times) too, from which the codecs cannot tell it; \
                 keep all kinds with --readers any, or let them become one without --missing",
                nan_pattern(named),
                nan_pattern(*other),
                count(*elements)
            );
        }
        Ok(Some(named))
    }

    /// Runs work in the threads of the job.
    pub(super) fn in_threads<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match self.workers {
            Some(workers) => workers.install(work),
            None => work(),
        }
    }

    /// An error once the caller has asked the job to stop: for many missing markers and thorough compressors, a choice takes long.
    pub(super) fn check_interrupt(&self) -> Result<()> {
        self.workers.map_or(Ok(()), |workers| workers.runtime().check_interrupt())
    }

    /// Refuses a bound that leaves one value of an array that has several, unless the options allow that.
    ///
    /// # Errors
    /// Names the values, and the ways out.
    pub(crate) fn refuse_constant(&self, candidate: &Candidate, survey: &Survey) -> Result<()> {
        let mut ranges = survey.ranges_to_tell_apart();
        let lost = ranges.find(|&range| candidate.leaves_one_of(range));
        let Some((least, greatest)) = lost.filter(|_| !self.options.allow_constant) else {
            return Ok(());
        };
        let Tolerance { absolute, relative, name, .. } = self.tolerance();
        let bound = absolute.max(relative);
        // Without a bound, nothing is promised.
        if bound.is_infinite() {
            return Ok(());
        }
        let other = if self.options.error_over_range.is_none() {
            "such as --error-over-range, "
        } else {
            ""
        };
        bail!(
            "the bound {bound:?} of {name} leaves one value: all from {least} to {greatest} become equal; use a \
             finer bound, {other}for a group a table of --config or --exclude; --allow-constant accepts it"
        )
    }

    /// The tolerance for every element.
    pub(crate) fn tolerance(&self) -> Tolerance {
        let PackOptions { max_abs_error, max_rel_error, precision, .. } = *self.options;
        let (absolute, relative, name) = if let Some(bound) = max_abs_error {
            (bound, 0.0, self.options.flag_of_bound())
        } else if let Some(bound) = max_rel_error {
            (0.0, bound, "--max-rel-error")
        } else if let Some(step) = precision {
            let half = step / self.options.errors_in_a_step();
            let allowed = if self.survey.element_type.is_integer() {
                half.floor()
            } else {
                let unit = 32.0 * unit_roundoff(self.working) + self.unit_of_decoded();
                half + unit * self.magnitude()
            };
            (allowed, 0.0, "--precision")
        } else {
            (f64::INFINITY, 0.0, "")
        };
        Tolerance { absolute, relative, name, allow_collisions: self.options.allow_collisions }
    }

    /// Whether every integer has a code of its own for any data.
    pub(super) fn is_one_to_one(&self, scale: Option<Scalar>) -> bool {
        self.working.is_integer()
            && scale.is_none()
            && self.options.out_of_range == OutOfRange::Error
    }

    /// From this bound on, integers are rounded in float64. For smaller bounds, float64's own rounding is too large,
    /// so integers are kept exactly.
    fn least_of_float64(survey: &Survey) -> f64 {
        let magnitude = survey.to_store().map_or(0.0, magnitude);
        (magnitude * 1024.0 * unit_roundoff(ElementType::Float64)).max(1.0)
    }

    /// Whether there is NaN, or a code is named for it; otherwise NaN gets a code for later writes.
    pub(super) fn has_nan(&self) -> bool {
        let Survey { fill_values, nan, .. } = self.survey;
        self.options.nan_to != NanTo::Auto
            || *nan > 0
            || fill_values.iter().any(|fill| fill.is_nan())
    }

    /// Whether `--auto` compresses the range of integers; integers that fit are kept.
    fn spreads_integers(options: &PackOptions, survey: &Survey) -> bool {
        let range = survey
            .to_store()
            .and_then(|(least, greatest)| Some(integer(greatest)?.abs_diff(integer(least)?)));
        let codes = options.data_type.filter(|target| target.is_integer()).map(|target| {
            (1_u128 << target.bits()).saturating_sub(1 + survey.reserved_codes() as u128)
        });
        options.auto && range.zip(codes).is_some_and(|(range, codes)| range > codes)
    }

    pub(super) fn magnitude(&self) -> f64 {
        magnitude((self.least, self.greatest))
    }

    /// The largest total rounding error of a value. Every operation rounds by at most half a unit in the last place
    /// of its result, so the arguments count units at the largest magnitude and at the whole range.
    pub(crate) fn rounding(&self, of_magnitude: f64, of_extent: f64) -> f64 {
        let unit = unit_roundoff(self.working);
        unit * (of_magnitude * self.magnitude() + of_extent * self.extent())
    }

    /// How far values of this magnitude may be from those that they stand for, because their type or the working type has no
    /// such numbers.
    pub(super) fn rounding_of_values(&self) -> f64 {
        unit_roundoff(self.working).max(self.unit_of_decoded()) * self.magnitude()
    }

    /// Half a unit in the last place of 1 in the type to which decoded values are rounded; 0 if that is the working type, or
    /// integers.
    pub(super) fn unit_of_decoded(&self) -> f64 {
        let source = self.survey.element_type;
        if source == self.working { 0.0 } else { unit_roundoff(source) }
    }

    pub(super) fn extent(&self) -> f64 {
        extent((self.least, self.greatest))
    }

    /// The round scales with which the values are at least one step and have no more steps than codes can tell apart.
    pub(super) fn round_scales(&self) -> impl Iterator<Item = f64> {
        round_scales(self.extent().max(self.magnitude()))
    }

    /// A value in the working type; none if that lacks it.
    pub(super) fn working(&self, value: Scalar) -> Option<Scalar> {
        value.cast(self.working, Rounding::NearestEven, OutOfRange::Error).ok()
    }

    /// A finite number other than 0 in the working type.
    pub(super) fn working_scalar(&self, number: f64, rounding: Rounding) -> Option<Scalar> {
        let scalar = Scalar::from(number).cast(self.working, rounding, OutOfRange::Error).ok()?;
        (scalar.is_finite() && !scalar.is_zero()).then_some(scalar)
    }

    /// Whether a value is in the range of the data.
    pub(super) fn is_within(&self, value: Scalar) -> bool {
        let Some((least, greatest)) = self.survey.to_store() else { return false };
        value.is_finite() && !is_less(value, least) && !is_less(greatest, value)
    }
}

/// Half a unit in the last place of 1.
pub(crate) fn unit_roundoff(element_type: ElementType) -> f64 {
    match element_type.format() {
        Format::Float(format) if format.specials == Specials::PowersOfTwo => 0.5,
        Format::Float(format) => 0.5_f64.powi(format.mantissa_bits as i32 + 1),
        _ => 0.0,
    }
}

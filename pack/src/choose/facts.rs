//! The facts on which a choice of codecs rests: options, survey, and the type in which scale and offset are computed.

use anyhow::{Context, bail};
use recast_kernels::{ElementType, OutOfRange, Scalar};

use super::placement::{Placement, Scale};
use super::products;
use super::working::Working;
use crate::check::comparison::{Keeps, Tolerance};
use crate::error::Result;
use crate::options::{NanTo, PackOptions};
use crate::runtime::Workers;
use crate::scan::missing::Markers;
use crate::scan::number::{integer, is_less, magnitude, scalar, unit_roundoff};
use crate::scan::survey::Survey;
use crate::text::{count, nan_pattern};

/// The facts about an array, or about several arrays of one survey, before codecs are chosen.
pub(crate) struct Facts<'a> {
    /// The array, for errors.
    pub(super) name: String,
    pub(super) options: &'a PackOptions,
    pub(super) survey: &'a Survey,
    /// The kind of NaN that options name, which comes back bit for bit.
    pub(super) named_nan: Option<Scalar>,
    pub(super) working: Working,
    /// The survey's sample, with the ends of the range.
    pub(super) sample: Vec<u8>,
    /// The survey's excerpts, clamped.
    pub(super) excerpts: Vec<Vec<u8>>,
    /// The scale by which a division in float64 gives the values bit for bit, if they must come back so and are products of
    /// whole numbers and a step, rounded to their type.
    pub(super) products: Option<Scale>,
    /// The threads that try excerpts; by default rayon's global ones.
    workers: Option<&'a Workers>,
}

impl<'a> Facts<'a> {
    /// # Errors
    /// A request that no codecs can meet for any elements.
    pub(crate) fn new(
        name: String,
        options: &'a PackOptions,
        survey: &'a Survey,
        workers: Option<&'a Workers>,
    ) -> Result<Self> {
        let working = working(options, survey).with_context(|| name.clone())?;
        let mut sample = survey.sample.clone();
        if let Some((least, greatest)) = survey.range() {
            sample.extend(least.to_ne_bytes());
            sample.extend(greatest.to_ne_bytes());
        }
        let mut excerpts: Vec<Vec<u8>> = survey.excerpts.values().cloned().collect();
        for excerpt in &mut excerpts {
            survey.clamp_elements(excerpt)?;
        }
        let named_nan = named_nan(options, survey).with_context(|| name.clone())?;
        let products = products::scale(options, survey, &working, &sample)?;
        // Only a division in float64 gives products.
        let working = match products {
            Some(_) => working.computed_in(ElementType::Float64)?,
            None => working,
        };
        Ok(Self { name, options, survey, named_nan, working, sample, excerpts, products, workers })
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

    /// The tolerance for every element.
    pub(crate) fn tolerance(&self) -> Tolerance {
        let PackOptions { max_abs_error, max_rel_error, precision, .. } = *self.options;
        let is_each = max_abs_error.is_some() && max_rel_error.is_some();
        let (absolute, relative, name) = if let Some(relative) = max_rel_error {
            (max_abs_error.unwrap_or_default(), relative, self.options.flag_of_relative_bound())
        } else if let Some(bound) = max_abs_error {
            (bound, 0.0, self.options.flag_of_bound())
        } else if let Some(step) = precision {
            let half = step / self.options.errors_in_a_step();
            let allowed = if self.survey.element_type.is_integer() {
                half.floor()
            } else {
                let unit = 32.0 * self.working.unit() + self.working.unit_of_decoded();
                half + unit * self.working.magnitude()
            };
            (allowed, 0.0, "--precision")
        } else {
            (f64::INFINITY, 0.0, "")
        };
        let allow_collisions = self.options.allow_collisions;
        let keeps = Keeps::of(self.options, self.survey.element_type);
        Tolerance { absolute, relative, is_each, name, allow_collisions, keeps }
    }

    /// Whether every integer has a code of its own for any data.
    pub(super) fn is_one_to_one(&self, scale: &Scale) -> bool {
        self.working.is_integer()
            && scale.value.is_none()
            && self.options.out_of_range == OutOfRange::Error
    }

    /// Whether a placement has a scale, and any number may be the scale and the offset.
    pub(super) fn is_free(&self, placement: &Placement) -> bool {
        let is_fixed = self.options.is_explicit()
            || self.options.pow2
            || self.working.is_integer()
            || placement.target.is_float();
        placement.scale.value.is_some() && !is_fixed
    }

    /// Whether decoded values must be multiples of a step.
    pub(super) fn takes_multiples(&self, placement: &Placement) -> bool {
        placement.scale.grid.is_some() || self.options.precision.is_some()
    }

    /// Whether there is NaN, or a code is named for it; otherwise NaN gets a code for later writes.
    pub(super) fn has_nan(&self) -> bool {
        let Survey { fill_values, nan, .. } = self.survey;
        self.options.nan_to != NanTo::Auto
            || *nan > 0
            || fill_values.iter().any(|fill| fill.is_nan())
    }

    /// Whether a value is in the range of the data.
    pub(super) fn is_within(&self, value: Scalar) -> bool {
        let Some((least, greatest)) = self.survey.to_store() else { return false };
        value.is_finite() && !is_less(value, least) && !is_less(greatest, value)
    }
}

/// The type in which scale and offset are computed, unless the values are products.
fn working(options: &PackOptions, survey: &Survey) -> Result<Working> {
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
    let coarse = options.max_abs_error.is_some_and(|bound| bound >= least_of_float64(survey))
        || options.precision.is_some_and(|step| step > 1.0)
        || spreads_integers(options, survey);
    // The arithmetic of 16-bit and smaller floats would use up the bound, so float32 computes for them.
    let is_small = source.is_float() && source.size() < ElementType::Float32.size();
    let has_steps =
        options.max_rel_error.is_none() && options.data_type.is_none_or(ElementType::is_integer);
    let element_type = match options.is_explicit() {
        false if source.is_integer() && coarse => ElementType::Float64,
        false if is_small && has_steps => ElementType::Float32,
        _ => source,
    };
    // An array without values has the range of any value that is no marker. The fill value would say nothing about values to come.
    let mut small = (0..100).filter_map(|number| scalar(number, source));
    let nothing = small.find(|&value| !survey.markers.contains(value));
    let nothing = nothing.unwrap_or_else(|| Scalar::zero(source));
    Working::new(element_type, survey.to_store().unwrap_or((nothing, nothing)))
}

/// From this bound on, integers are rounded in float64. For smaller bounds, float64's own rounding is too large,
/// so integers are kept exactly.
fn least_of_float64(survey: &Survey) -> f64 {
    let magnitude = survey.to_store().map_or(0.0, magnitude);
    (magnitude * 1024.0 * unit_roundoff(ElementType::Float64)).max(1.0)
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

/// The kind of NaN that options name.
///
/// # Errors
/// Elements of another kind of NaN, which codecs cannot tell from the named kind. Plain values keep all bits, and `lossless`
/// comes to them.
fn named_nan(options: &PackOptions, survey: &Survey) -> Result<Option<Scalar>> {
    if options.is_plain() {
        return Ok(None);
    }
    let Some(named) = Markers::named_nan(survey.element_type, options)? else {
        return Ok(None);
    };
    let counts = survey.nan_kinds.counts();
    if let Some((other, elements)) = counts.iter().find(|(kind, _)| *kind != named) {
        if options.lossless {
            return Ok(None);
        }
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

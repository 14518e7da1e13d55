//! The report of packing an array.

use recast_kernels::{ElementType, OutOfRange, Scalar};
use serde::Serialize;
use serde_json::Value;

use super::batch::{Batch, Member, Place, Suspect};
use super::encode::{ChunkAdvice, Encoded};
use crate::check::coarse::CoarseBound;
use crate::check::comparison::Errors;
use crate::check::recorded::RecordedBound;
use crate::choose::candidate::Candidate;
use crate::jobs::cf::attributes::{PACKED_BY_CF, is_packed_by_cf};
use crate::json;
use crate::metadata::shard_codecs::{Readers, readers};
use crate::options::{AllClose, PackOptions, Reached};
use crate::recommend::Recommended;
use crate::round::rounder::{Rounded, Rounder};
use crate::scan::charts::Charts;
use crate::scan::counts::Counts;
use crate::scan::lattice::Lattice;
use crate::scan::missing::Markers;
use crate::scan::number::{self, extent, is_less};
use crate::scan::survey::Survey;
use crate::scan::valid::BeyondValid;
use crate::store::links::OutsideLinks;
use crate::text::{as_shown, nan_pattern};

/// The report of packing an array.
#[derive(Debug, Serialize)]
pub struct PackReport {
    /// The array that was read.
    pub input: String,
    /// The array that was written.
    pub output: String,
    /// Extents of the array.
    pub shape: Vec<u64>,
    /// The type of the values.
    pub source_data_type: ElementType,
    /// The type of the stored elements.
    pub data_type: ElementType,
    /// The offset, which `scale_offset` subtracts.
    #[serde(serialize_with = "json::written")]
    pub offset: Option<Scalar>,
    /// The scale, by which `scale_offset` multiplies.
    #[serde(serialize_with = "json::written")]
    pub scale: Option<Scalar>,
    /// The stored code of NaN, if a map gives NaN a code.
    #[serde(serialize_with = "json::written")]
    pub nan: Option<Scalar>,
    /// The fill value.
    #[serde(serialize_with = "json::written")]
    pub fill_value: Scalar,
    /// The stored code of the fill value.
    #[serde(serialize_with = "json::written")]
    pub encoded_fill_value: Option<Scalar>,
    /// The missing markers besides NaN.
    pub missing: Vec<Missing>,
    /// The kinds of NaN in the array, if the codecs make fewer kinds of several.
    pub nan_kinds: Option<MergedNans>,
    /// Values that were packed as data but look like missing values that no attribute names: an end of the range, far from
    /// all other values and customary in archives.
    pub suspects: Vec<Suspect>,
    /// How the stored codes are compressed, for people: `zstd:5`, `delta + 128, blosc:9 (shuffle)`.
    pub compression: String,
    /// All codecs, as in zarr.json.
    pub codecs: Value,
    /// Smallest and largest value, without NaN, infinities and missing values.
    #[serde(serialize_with = "json::written")]
    pub range: Option<(Scalar, Scalar)>,
    /// The same, or the range that values were clamped to.
    #[serde(serialize_with = "json::written")]
    pub kept_range: Option<(Scalar, Scalar)>,
    /// Smallest and largest decoded value, if one of them is outside of `kept_range`, by no more than the bound.
    #[serde(serialize_with = "json::written")]
    pub decoded_range: Option<(Scalar, Scalar)>,
    /// The last valid values, where they decode to values beyond the valid range of the array's attributes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beyond_valid: Vec<BeyondValid>,
    /// The range of values that the codecs can store, seen or not; `None` without value codecs. With differences of
    /// neighbours this is the range of the data, or the promised range.
    #[serde(serialize_with = "json::written")]
    pub storable_range: Option<(Scalar, Scalar)>,
    /// The bound of the error, in a sentence, and on which grid of values it holds, if not for all.
    pub bound: Option<String>,
    /// The grid on which values must be to keep the bound, if other values would be off by more; those of this array are
    /// on it. See [`PackOptions::grid`].
    pub grid: Option<Lattice>,
    /// How the bound compares with the values, if it is so coarse that it leaves little of them.
    pub coarse: Option<CoarseBound>,
    /// The way to other values, if attributes of CF pack the array's integers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The arrays whose ranges were combined, if there are several.
    pub scale_from: Option<ScaleFrom>,
    /// Counts of elements.
    pub counts: PackCounts,
    /// Sizes.
    pub bytes: Bytes,
    /// The bytes of all elements divided by those of the stored chunks; `None` if all values are equal or there are none,
    /// because such a ratio says nothing about the codecs.
    pub ratio: Option<f64>,
    /// The errors of decoded elements.
    pub error: PackErrors,
    /// Whether somebody recommends requirements of the array, if that was asked.
    #[serde(flatten)]
    pub recommended: Option<Recommended>,
    /// The measured error of each requirement.
    pub requirements: Vec<Reached>,
    /// Whether the values are already integers of the narrowest type, so that no value codecs are needed.
    pub already_narrowest: bool,
    /// The common form of all stored values, if they are plain numbers that were rounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounded: Option<Rounded>,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The number of chunks in the sample of a dry run.
    pub sampled_chunks: Option<u64>,
    /// The saving with another shape of the chunks, if it is more than a tenth; of a dry run only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_advice: Option<ChunkAdvice>,
    /// Whether the output was read from disk again, and compared.
    pub verified: bool,
    /// The time it took.
    pub seconds: f64,
    /// The bytes of all elements divided by that time.
    pub bytes_per_second: u64,
    /// The links that lead out of the input; their targets were read.
    #[serde(skip_serializing_if = "OutsideLinks::is_empty")]
    pub outside_links: OutsideLinks,
    /// The chunks of the array.
    #[serde(skip)]
    pub chunks: u64,
    /// Which readers can open the output; `None` without value codecs, when every reader of Zarr v3 can
    /// that has the data type.
    pub readers: Option<Readers>,
    /// How the array was packed.
    #[serde(skip)]
    pub options: PackOptions,
    /// The data of the plots, if requested.
    #[serde(skip)]
    pub charts: Option<Charts>,
}

/// Arrays whose ranges were combined.
#[derive(Clone, Debug, Serialize)]
pub struct ScaleFrom {
    /// The arrays, the packed array first.
    pub arrays: Vec<String>,
    /// Smallest and largest value in all of them.
    #[serde(serialize_with = "json::written")]
    pub range: Option<(Scalar, Scalar)>,
}

/// A value that means "missing".
#[derive(Clone, Debug, Serialize)]
pub struct Missing {
    /// The value.
    #[serde(serialize_with = "json::written")]
    pub value: Scalar,
    /// The number of elements with it.
    pub count: u64,
    /// Its stored code.
    #[serde(serialize_with = "json::written")]
    pub code: Option<Scalar>,
}

impl Missing {
    fn all(survey: &Survey, candidate: &Candidate) -> Vec<Self> {
        let one = |&value: &Scalar| {
            let code = number::encoded(&candidate.chain, value);
            Self { value, count: survey.count(value), code }
        };
        survey.markers.values().iter().map(one).collect()
    }
}

/// The decoded ends of a range, if an end lies outside of the range. All elements decode to values between these ends, unless
/// elements wrap.
fn decoded_range(
    range: Option<(Scalar, Scalar)>,
    candidate: &Candidate,
    out_of_range: OutOfRange,
) -> Option<(Scalar, Scalar)> {
    let (least, greatest) = range.filter(|_| out_of_range != OutOfRange::Wrap)?;
    let (low, high) = candidate.decoded_value(least).zip(candidate.decoded_value(greatest))?;
    (is_less(low, least) || is_less(greatest, high)).then_some((low, high))
}

/// Kinds of NaN, bit patterns, of which the codecs make fewer.
#[derive(Clone, Debug, Serialize)]
pub struct MergedNans {
    /// The number of kinds in the array; of many, at least so many.
    pub kinds: usize,
    /// The first of them, in hexadecimal digits.
    pub patterns: Vec<String>,
    /// The kinds of NaN that these decode to.
    pub decoded: Vec<String>,
}

impl MergedNans {
    fn of(survey: &Survey, candidate: &Candidate) -> Option<Self> {
        const NAMED: usize = 4;
        let kinds = &survey.nan_kinds;
        let patterns = kinds.counts().iter().map(|(kind, _)| *kind);
        let mut decoded = Vec::new();
        for kind in patterns.clone() {
            let back = candidate.decoded(&kind.to_ne_bytes()).ok();
            let back = back.and_then(|back| Scalar::from_ne_bytes(survey.element_type, &back));
            let back = back.map(nan_pattern);
            decoded.extend(back.filter(|back| !decoded.contains(back)));
        }
        let number = kinds.counts().len() + usize::from(kinds.others() > 0);
        (decoded.len() < number && number > 1).then(|| Self {
            kinds: number,
            patterns: patterns.take(NAMED).map(nan_pattern).collect(),
            decoded: decoded.into_iter().take(NAMED).collect(),
        })
    }
}

impl std::fmt::Display for MergedNans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kinds, patterns, decoded } = self;
        let more = if *kinds > patterns.len() { ", …" } else { "" };
        write!(f, "{kinds} ({}{more}) become {}", patterns.join(", "), decoded.join(", "))
    }
}

/// Counts of elements.
#[derive(Clone, Debug, Serialize)]
pub struct PackCounts {
    /// All.
    pub elements: u64,
    /// Special elements.
    #[serde(flatten)]
    pub special: Counts,
    /// Stored by an entry of a `scalar_map`.
    pub mapped: u64,
    /// Clamped to a requested range.
    pub clamped: u64,
    /// Stored modulo 2^N.
    pub wrapped: u64,
    /// Valid values that decode to NaN or to a missing marker.
    pub collisions: u64,
    /// Of those, NaN.
    pub became_nan: u64,
    /// Of those, a missing marker.
    pub became_missing: u64,
}

/// Sizes in bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Bytes {
    /// All decoded elements.
    pub source: u64,
    /// All stored elements, before compression.
    pub packed: u64,
    /// The stored chunks of the input, if they can be counted.
    pub source_stored: Option<u64>,
    /// The stored chunks of the output.
    pub stored: u64,
}

/// Errors, and the requested bounds.
#[derive(Clone, Debug, Serialize)]
pub struct PackErrors {
    /// The errors.
    #[serde(flatten)]
    pub errors: Errors,
    /// [`PackOptions::max_abs_error`].
    pub bound: Option<f64>,
    /// [`PackOptions::error_over_range`].
    pub over_range: Option<f64>,
    /// [`PackOptions::max_rel_error`].
    pub relative_bound: Option<f64>,
    /// The magnitude from which values to come keep that bound; `None` if all do. Those of a smaller magnitude may be off
    /// by more, unless they are 0; the values of this array are not.
    #[serde(serialize_with = "json::written")]
    pub relative_from: Option<Scalar>,
    /// [`PackOptions::precision`].
    pub precision: Option<f64>,
    /// The largest distance of a value from [`PackOptions::src_min`] or [`PackOptions::src_max`], to which it was clamped; where
    /// the stored type clamps these, from what they decode to. The other errors are those of the values so clamped.
    pub largest_clamping: f64,
}

/// Of the elements below and above the range to keep, how many have an end of it that is not clamped to the stored type once
/// more; and the largest distance from the end that a value was clamped to, or from that of the stored type.
fn clamping(survey: &Survey, candidate: &Candidate, [below, above]: [u64; 2]) -> (u64, f64) {
    let (mut alone, mut largest) = (0, 0.0_f64);
    let Some((clamp, (least, greatest))) = survey.clamp.as_ref().zip(survey.data_range) else {
        return (alone, largest);
    };
    for (count, end, farthest) in [(below, clamp.least, least), (above, clamp.greatest, greatest)] {
        let is_in_range = candidate.is_in_range(end);
        alone += if is_in_range { count } else { 0 };
        let clamped = if is_in_range { Some(end) } else { candidate.decoded_value(end) };
        if let Some(clamped) = clamped.filter(|_| count > 0) {
            largest = largest.max(extent((farthest, clamped)).abs());
        }
    }
    (alone, largest)
}

/// The special elements. Infinities that the option gives codes are markers for the codecs; here they count as infinite.
fn special(member: &Member<'_>, options: &PackOptions) -> Counts {
    let (survey, named) = (member.survey, Markers::of(member.source));
    let is_one =
        |value: &&Scalar| options.infinity && !value.is_finite() && !named.contains(**value);
    let with_codes = survey.markers.values().iter().filter(is_one);
    let with_codes = with_codes.map(|&value| survey.count(value)).sum::<u64>();
    let counts = survey.counts();
    let (missing, infinite) = (counts.missing - with_codes, counts.infinite + with_codes);
    Counts { missing, infinite, ..counts }
}

/// The way out for integers that attributes of CF pack.
fn hint(member: &Member<'_>) -> Option<String> {
    let is_packed = is_packed_by_cf(member.source);
    is_packed.then(|| format!("the bound is one of the stored integers, which are {PACKED_BY_CF}"))
}

/// The bound that is asked for, if there is one for all elements.
fn bound(options: &PackOptions, grid: Option<Lattice>) -> Option<String> {
    let PackOptions { max_abs_error, max_rel_error, .. } = *options;
    max_abs_error.or(max_rel_error)?;
    let (atol, rtol) = (max_abs_error.unwrap_or(0.0), max_rel_error.unwrap_or(0.0));
    RecordedBound::new(options, AllClose { atol, rtol }, grid).map(|bound| bound.to_string())
}

impl PackReport {
    pub(super) fn new(
        batch: &Batch<'_>,
        (member, place): (&Member<'_>, Place<'_>),
        encoded: Encoded,
        charts: Option<Charts>,
        suspects: Vec<Suspect>,
        seconds: f64,
    ) -> Self {
        let Encoded { candidate, storage, codecs, stats, reached, sampled, .. } = encoded;
        let (survey, options) = (member.survey, batch.options);
        let elements = member.source.elements() as u64;
        let source_bytes = elements.saturating_mul(survey.element_type.size() as u64);
        let packed_bytes = elements.saturating_mul(candidate.chain.encoded_type().size() as u64);
        let extent = survey.range().map(extent);
        let (clamped_once, largest_clamping) = clamping(survey, &candidate, stats.clamped);
        let (clamped, wrapped) = match options.out_of_range {
            OutOfRange::Wrap => (stats.clamped.iter().sum(), stats.out_of_range),
            _ => (clamped_once + stats.out_of_range, 0),
        };
        let missing = Missing::all(survey, &candidate);
        let mapped_missing = missing.iter().filter(|one| candidate.is_mapped(one.value));
        let mapped_missing = mapped_missing.map(|one| one.count).sum::<u64>();
        let fill_is_marker = survey.markers.contains(survey.fill_value);
        let fill_is_mapped = !fill_is_marker && candidate.is_mapped(survey.fill_value);
        let special = special(member, options);
        let mapped_fill = if fill_is_mapped { special.fill } else { 0 };
        let range = survey.range_of_values();
        let kept_range = survey.kept_range();
        let is_ordered = options.out_of_range != OutOfRange::Wrap;
        let varies = range.is_some_and(|(least, greatest)| !least.equals(greatest));
        let scale_from = (batch.members.len() > 1).then(|| {
            let arrays = batch.members.iter().map(Member::name).collect();
            ScaleFrom { arrays, range: batch.survey.range_of_values() }
        });
        Self {
            input: as_shown(&place.job.input),
            output: as_shown(&place.job.output),
            shape: member.source.array().shape().to_vec(),
            source_data_type: survey.element_type,
            data_type: candidate.chain.encoded_type(),
            offset: candidate.placement.offset,
            scale: candidate.placement.scale.value,
            nan: candidate.nan,
            fill_value: survey.fill_value,
            encoded_fill_value: candidate.chain.encoded_fill_value(),
            missing,
            readers: (!candidate.codecs.is_empty())
                .then(|| readers(&codecs, &candidate.codecs, survey.element_type)),
            nan_kinds: MergedNans::of(survey, &candidate),
            suspects,
            compression: storage.to_string(),
            codecs,
            outside_links: OutsideLinks::default(),
            range,
            kept_range,
            decoded_range: decoded_range(kept_range, &candidate, options.out_of_range),
            beyond_valid: if is_ordered { candidate.beyond_valid(survey) } else { Vec::new() },
            storable_range: candidate.storable(batch.survey, storage.keeps_room()),
            bound: bound(options, candidate.only),
            grid: candidate.only,
            coarse: CoarseBound::of(options, survey),
            hint: hint(member),
            scale_from,
            counts: PackCounts {
                elements,
                special,
                mapped: candidate.nan.map_or(0, |_| special.nan) + mapped_missing + mapped_fill,
                clamped,
                wrapped,
                collisions: stats.comparison.collisions(),
                became_nan: stats.comparison.sums.became_nan,
                became_missing: stats.comparison.sums.became_missing,
            },
            bytes: Bytes {
                source: source_bytes,
                packed: packed_bytes,
                source_stored: member.source.location().chunk_bytes(),
                stored: stats.stored_bytes,
            },
            ratio: varies.then(|| source_bytes as f64 / stats.stored_bytes.max(1) as f64),
            error: PackErrors {
                errors: stats.comparison.errors(extent, options.max_rel_error.is_some()),
                bound: options.max_abs_error,
                over_range: options.error_over_range,
                relative_bound: options.max_rel_error,
                relative_from: candidate.relative_from,
                precision: options.precision,
                largest_clamping,
            },
            recommended: place.job.recommended.clone(),
            requirements: reached,
            already_narrowest: survey.element_type.is_integer()
                && candidate.codecs.is_empty()
                && !options.is_plain(),
            rounded: candidate.rounder.as_ref().and_then(Rounder::rounded),
            dry_run: batch.is_dry_run(),
            sampled_chunks: sampled,
            chunk_advice: None,
            verified: options.verify,
            seconds,
            bytes_per_second: (source_bytes as f64 / seconds.max(1e-9)) as u64,
            chunks: member.source.chunks(),
            options: options.clone(),
            charts,
        }
    }

    /// The largest error of a clamped element.
    #[must_use]
    pub fn largest_clamping(&self) -> f64 {
        // Values that the stored type cannot hold are clamped during encoding, and their errors count like others.
        self.error.largest_clamping.max(self.error.errors.max)
    }

    /// Whether the requested range is narrower than that of the data.
    #[must_use]
    pub fn is_clamped_to_range(&self) -> bool {
        let PackOptions { src_min, src_max, .. } = &self.options;
        self.kept_range.is_some() && (src_min.is_some() || src_max.is_some())
    }
}

//! The survey of an array: its range, the values excluded from it, and a sample; made block by block and added up.

use std::collections::BTreeMap;

use anyhow::{Context, anyhow, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use serde::{Deserialize, Serialize};
use zarr_recast::JsonScalar;

use super::clamp::Clamp;
use super::counts::Counts;
use super::grid::Grids;
use super::missing::{Markers, customary_markers};
use super::nan_kinds::NanKinds;
use super::number::{NumberReader, extent, is_less};
use super::valid::Valid;
use crate::error::{Error, Result};
use crate::options::{PackOptions, ValueRange, finite};

/// The approximate number of elements in the sample.
pub(super) const SAMPLE: u64 = 1 << 16;
/// The approximate bytes of the excerpts; a smaller array is included whole.
const EXCERPTS: u64 = 4 << 20;

/// The survey of some blocks of an array, from which codecs are chosen.
///
/// A survey has the range of the values, the counts of NaN, infinities and missing values, a sample of some 65,000
/// elements spread over the array, and excerpts of 128 KiB, about 4 MiB together, which are compressed to find the
/// place in the stored type that packs smallest. For floating-point numbers it has the largest distance from
/// multiples of round steps, such as 0.01. Surveys of blocks add up in any order, but for the order of the sample and
/// the infinity that an error names; so threads, chunks and workers of a cluster can each make their own with
/// [`crate::Surveyor`]. Serde writes a survey for machines of the same byte
/// order.
///
/// ```
/// use recast_pack::{PackOptions, Surveyor, choose};
/// let values: Vec<f32> = (0..2000).map(|step| 273.15 + (step % 700) as f32 / 20.0).collect();
/// let surveyor = Surveyor::new(f32::NAN.into(), &[(-9999.0_f32).into()], 2000)?;
/// let bytes = |block: &[f32]| -> Vec<u8> { block.iter().flat_map(|x| x.to_ne_bytes()).collect() };
///
/// let (first, second) = values.split_at(1000);
/// let survey = surveyor.survey(&bytes(first))?.merge(&surveyor.survey(&bytes(second))?)?;
/// assert_eq!((survey.elements(), survey.missing()), (2000, 0));
///
/// let options = PackOptions { max_abs_error: Some(0.01), ..PackOptions::default() };
/// let choice = choose(&survey, &options)?;
/// assert_eq!(choice.data_type.size(), 2);
/// assert!(choice.check(&bytes(&values)).is_ok());
/// # Ok::<(), recast_pack::Error>(())
/// ```
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(into = "SurveyDocument", try_from = "SurveyDocument")]
pub struct Survey {
    pub(crate) element_type: ElementType,
    /// The array's fill value.
    pub(crate) fill_value: Scalar,
    /// The fill values of all arrays, sorted by their bits.
    pub(crate) fill_values: Vec<Scalar>,
    pub(crate) elements: u64,
    /// The number of NaNs.
    pub(crate) nan: u64,
    /// Their bit patterns.
    pub(crate) nan_kinds: NanKinds,
    /// The missing markers.
    pub(crate) markers: Markers,
    /// What the attributes call the range of valid values.
    pub(crate) valid: Valid,
    /// The special values, which count in no range because the codecs keep them exactly: markers and fill values, each
    /// with its number of elements.
    pub(crate) reserved_values: Markers,
    pub(crate) reserved_counts: Vec<u64>,
    /// The number of infinities that are not special values, and the first of them.
    pub(crate) infinite: u64,
    pub(crate) first_infinite: Option<String>,
    /// Smallest and largest of all other elements.
    pub(crate) data_range: Option<(Scalar, Scalar)>,
    /// The range to keep, if one was requested.
    pub(crate) clamp: Option<Clamp>,
    /// The promised range, with or without values in it.
    pub(crate) promised: Option<(Scalar, Scalar)>,
    /// Some of those elements, in native byte order.
    pub(crate) sample: Vec<u8>,
    /// Excerpts of neighbouring elements, each once, by a number that depends only on the elements.
    pub(crate) excerpts: BTreeMap<u64, Vec<u8>>,
    /// The distances of the elements in the range from multiples of round steps.
    pub(crate) grids: Grids,
}

/// The greatest key of the excerpts that are kept of so many bytes: keys are spread evenly, so they come to [`EXCERPTS`].
pub(super) fn greatest_key(bytes: u64) -> u64 {
    u64::MAX.checked_div(bytes.div_ceil(EXCERPTS)).unwrap_or(u64::MAX)
}

/// Values that look like missing ones that nothing names.
pub(crate) struct Suspects {
    pub(crate) values: Vec<Scalar>,
    /// The range of all others, as the sample shows it; `None` without suspects.
    pub(crate) others: Option<(f64, f64)>,
}

impl Survey {
    /// Without elements.
    pub(crate) fn empty(fill_value: Scalar, markers: Markers) -> Self {
        let mut reserved_values = markers.clone();
        reserved_values.extend([fill_value]);
        Self {
            element_type: fill_value.element_type(),
            fill_value,
            fill_values: vec![fill_value],
            elements: 0,
            nan: 0,
            nan_kinds: NanKinds::default(),
            markers,
            valid: Valid::default(),
            reserved_counts: vec![0; reserved_values.values().len()],
            reserved_values,
            infinite: 0,
            first_infinite: None,
            data_range: None,
            clamp: None,
            promised: None,
            sample: Vec::new(),
            excerpts: BTreeMap::new(),
            grids: Grids::new(fill_value.element_type()),
        }
    }

    /// The sum of both surveys. Different fill values and markers of both are kept.
    ///
    /// # Errors
    /// Surveys of different types.
    pub fn merge(mut self, other: &Self) -> std::result::Result<Self, Error> {
        if self.element_type != other.element_type {
            let (ours, theirs) = (self.element_type, other.element_type);
            return Err(anyhow!("a survey of {ours} cannot be merged with one of {theirs}").into());
        }
        self.absorb(other);
        Ok(self)
    }

    /// Adds another survey of the same type; the array's own fill value stays.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.fill_values.extend(&other.fill_values);
        self.fill_values.sort_by_key(|fill| fill.bits());
        self.fill_values.dedup();
        self.elements += other.elements;
        self.nan += other.nan;
        self.nan_kinds.absorb(&other.nan_kinds);
        let mut reserved_values = self.reserved_values.clone();
        reserved_values.extend(other.reserved_values.values().iter().copied());
        let both = |&value: &Scalar| self.count(value) + other.count(value);
        self.reserved_counts = reserved_values.values().iter().map(both).collect();
        self.reserved_values = reserved_values;
        self.markers.extend(other.markers.values().iter().copied());
        self.valid.absorb(&other.valid);
        self.infinite += other.infinite;
        if self.first_infinite.is_none() {
            self.first_infinite.clone_from(&other.first_infinite);
        }
        self.data_range = union(self.data_range, other.data_range);
        self.grids.absorb(&other.grids);
        self.sample.extend(&other.sample);
        for (&key, elements) in &other.excerpts {
            self.keep_excerpt(key, elements);
        }
        let bytes = self.elements.saturating_mul(self.element_type.size() as u64);
        let greatest = greatest_key(bytes);
        self.excerpts.retain(|&key, _| key <= greatest);
    }

    /// Keeps an excerpt. Of two with one key, the survey has the lesser, in whatever order they come.
    pub(super) fn keep_excerpt(&mut self, key: u64, elements: &[u8]) {
        let kept = self.excerpts.entry(key).or_insert_with(|| elements.to_vec());
        if elements < kept.as_slice() {
            *kept = elements.to_vec();
        }
    }

    /// The type of the elements.
    #[must_use]
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// The number of elements.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// The number of NaNs.
    #[must_use]
    pub fn nan(&self) -> u64 {
        self.nan
    }

    /// The number of infinities, without missing markers.
    #[must_use]
    pub fn infinite(&self) -> u64 {
        self.infinite
    }

    /// The number of elements that are missing markers besides NaN.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.markers.values().iter().map(|&marker| self.count(marker)).sum()
    }

    /// How many elements are special. The survey keeps a count for each value: which values are markers may change as
    /// surveys are added.
    pub(crate) fn counts(&self) -> Counts {
        let (nan, missing, infinite) = (self.nan, self.missing(), self.infinite);
        Counts { nan, missing, infinite, fill: self.count(self.fill_value) }
    }

    /// Smallest and largest value, without NaN, infinities, missing markers and the fill value.
    #[must_use]
    pub fn data_range(&self) -> Option<(Scalar, Scalar)> {
        self.data_range
    }

    /// The least of all values, as the nearest float64; fill values that mark nothing are among them.
    pub(crate) fn least(&self) -> Option<f64> {
        let fills = self.fills_that_are_values().filter(|fill| fill.is_finite());
        let range = fills.fold(self.range(), |range, fill| union(range, Some((fill, fill))));
        range.map(|(least, _)| least.to_f64())
    }

    /// The same with a fill value of 0 that elements have and that marks nothing: a number like any other, although the
    /// codecs keep it whatever the range.
    pub(crate) fn range_of_values(&self) -> Option<(Scalar, Scalar)> {
        self.with_zero(self.data_range)
    }

    /// A range with the fill value, if that is a 0 like any other.
    fn with_zero(&self, range: Option<(Scalar, Scalar)>) -> Option<(Scalar, Scalar)> {
        self.zero_fills().fold(range, |range, fill| union(range, Some((fill, fill))))
    }

    /// The fill values of 0 that are values like any other.
    pub(crate) fn zero_fills(&self) -> impl Iterator<Item = Scalar> {
        self.fills_that_are_values().filter(|fill| fill.is_zero())
    }

    /// The fill values that elements have and that mark nothing.
    fn fills_that_are_values(&self) -> impl Iterator<Item = Scalar> {
        let is_value = |fill: &Scalar| self.count(*fill) > 0 && !self.markers.contains(*fill);
        self.fill_values.iter().copied().filter(is_value)
    }

    /// The ranges of each of which codecs must leave two values, if it has two: that of the values, and that with each fill
    /// value that elements have and that marks nothing.
    pub(crate) fn ranges_to_tell_apart(&self) -> impl Iterator<Item = (Scalar, Scalar)> {
        let values = self.with_zero(self.range());
        let fills = self.fills_that_are_values().filter(|fill| fill.is_finite());
        let with_fills = fills.map(move |fill| union(values, Some((fill, fill))));
        std::iter::once(values).chain(with_fills).flatten()
    }

    /// The ends of the data that look like missing values, because they are customary and far from all others.
    pub(crate) fn suspects(&self) -> Result<Suspects> {
        let ends = customary_markers(self.data_range);
        if ends.is_empty() {
            return Ok(Suspects { values: ends, others: None });
        }
        let markers: Markers = ends.iter().copied().collect();
        let others = markers.range_of_others(self.element_type, &self.sample)?;
        let is_far = |suspect: &Scalar| {
            let Some((least, greatest)) = others else { return true };
            let value = suspect.to_f64();
            let gap = (least - value).max(value - greatest);
            gap > greatest - least
        };
        let far: Vec<Scalar> = ends.into_iter().filter(is_far).collect();
        let others = others.filter(|_| !far.is_empty());
        Ok(Suspects { values: far, others })
    }

    /// The unit in which an error may be given: the greatest less the least value, after they are clamped.
    pub(crate) fn extent_of_error(&self) -> f64 {
        let clamped = |value| self.clamp.as_ref().map_or(value, |clamp| clamp.clamped(value));
        let range = self.data_range.map(|(least, greatest)| (clamped(least), clamped(greatest)));
        self.with_zero(range).map_or(0.0, extent).min(f64::MAX)
    }

    /// The numbers of the sample, as the nearest f64.
    pub(crate) fn sample_numbers(&self) -> Result<Vec<f64>> {
        NumberReader::new(self.element_type)?.read(&self.sample)
    }

    /// The number of elements with special values.
    pub(crate) fn count(&self, value: Scalar) -> u64 {
        let index = self.reserved_values.index(value);
        index.and_then(|index| self.reserved_counts.get(index)).copied().unwrap_or_default()
    }

    /// Codes that NaN, missing markers and fill values may need.
    pub(crate) fn reserved_codes(&self) -> usize {
        1 + self.markers.values().len() + self.fill_values.len()
    }

    /// Smallest and largest of all elements but special ones, or the range to keep.
    pub(crate) fn range(&self) -> Option<(Scalar, Scalar)> {
        let kept = self.clamp.as_ref().map(|clamp| (clamp.least, clamp.greatest));
        kept.or(self.data_range)
    }

    /// The range that decoded values are to stay in: that of all values, or the range to keep.
    pub(crate) fn kept_range(&self) -> Option<(Scalar, Scalar)> {
        if self.clamp.is_some() { self.range() } else { self.range_of_values() }
    }

    /// The range of all values that codecs must be able to store.
    pub(crate) fn to_store(&self) -> Option<(Scalar, Scalar)> {
        union(self.range(), self.promised)
    }

    /// Narrows the range to the ends that options name, with the sample, and promises room for the range that they name.
    pub(crate) fn narrow(&mut self, options: &PackOptions) -> Result<()> {
        if options.is_for_more() {
            // Values to come may lie between the others and a 0.
            self.data_range = self.range_of_values();
        }
        self.clamp(options.src_min.as_ref(), options.src_max.as_ref())?;
        options.range.as_ref().map_or(Ok(()), |range| self.promise(range))
    }

    fn clamp(&mut self, src_min: Option<&JsonScalar>, src_max: Option<&JsonScalar>) -> Result<()> {
        let Some((mut least, mut greatest)) = self.data_range else { return Ok(()) };
        if src_min.or(src_max).is_none() {
            return Ok(());
        }
        let end = |number: &JsonScalar, inward, flag: &str| {
            self.limit(number, inward, OutOfRange::Clamp).with_context(|| {
                format!("{flag} {number} has no counterpart in {}", self.element_type)
            })
        };
        if let Some(number) = src_min {
            least = end(number, Rounding::TowardsPositive, "--src-min")?;
        }
        if let Some(number) = src_max {
            greatest = end(number, Rounding::TowardsNegative, "--src-max")?;
        }
        if is_less(greatest, least) {
            bail!("the range to keep (--src-min, --src-max), from {least} to {greatest}, is empty");
        }
        let reserved_values = self.reserved_values.clone();
        let clamp = Clamp { least, greatest, reserved_values };
        self.sample = clamp.inside(&self.sample);
        self.clamp = Some(clamp);
        Ok(())
    }

    /// A number in the type of the elements; the next value inside the limit, if the type lacks the number itself.
    fn limit(&self, number: &JsonScalar, inward: Rounding, mode: OutOfRange) -> Option<Scalar> {
        let exact = number.to_scalar(self.element_type).ok();
        let near = || Scalar::from(finite(number)?).cast(self.element_type, inward, mode).ok();
        exact.or_else(near).filter(|limit| limit.is_finite())
    }

    /// Promises room for a range.
    fn promise(&mut self, range: &ValueRange) -> Result<()> {
        let end = |number: &JsonScalar, inward| {
            let element_type = self.element_type;
            self.limit(number, inward, OutOfRange::Error).with_context(|| {
                format!(
                    "--range: {number} is outside {element_type} ({}), the type of the values",
                    Scalar::range(element_type)
                )
            })
        };
        let least = end(&range.least, Rounding::TowardsPositive)?;
        let greatest = end(&range.greatest, Rounding::TowardsNegative)?;
        if is_less(greatest, least) {
            bail!("--range: no value of {} lies in it", self.element_type);
        }
        self.promised = Some((least, greatest));
        Ok(())
    }

    /// Clamps elements to the range to keep, if one was requested. The numbers of elements below and above the range.
    pub(crate) fn clamp_elements(&self, elements: &mut [u8]) -> Result<[u64; 2]> {
        self.clamp.as_ref().map_or(Ok([0; 2]), |clamp| clamp.apply(elements))
    }
}

/// The range that holds two.
pub(crate) fn union(
    a: Option<(Scalar, Scalar)>,
    b: Option<(Scalar, Scalar)>,
) -> Option<(Scalar, Scalar)> {
    let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
    let least = if is_less(b.0, a.0) { b.0 } else { a.0 };
    let greatest = if is_less(a.1, b.1) { b.1 } else { a.1 };
    Some((least, greatest))
}

/// The serde form of a survey: scalars as their bits, elements in base64.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct SurveyDocument {
    data_type: String,
    big_endian: bool,
    fill_value: u64,
    fill_values: Vec<u64>,
    elements: u64,
    nan: u64,
    /// The bits of each kind of NaN, with its number of elements; and the elements of other kinds.
    #[serde(default)]
    nan_kinds: (Vec<(u64, u64)>, u64),
    markers: Vec<u64>,
    /// The ends of the valid ranges.
    #[serde(default)]
    valid: (Vec<u64>, Vec<u64>),
    #[serde(rename = "apart")]
    reserved_values: Vec<u64>,
    #[serde(rename = "apart_counts")]
    reserved_counts: Vec<u64>,
    infinite: u64,
    first_infinite: Option<String>,
    range: Option<(u64, u64)>,
    sample: String,
    excerpts: Vec<(u64, String)>,
    /// The scales and distances of the grids that are known, as their bits.
    grids: Vec<(u64, u64)>,
}

fn bits(scalars: &[Scalar]) -> Vec<u64> {
    scalars.iter().map(|scalar| scalar.bits()).collect()
}

/// Whole elements of a type.
fn from_base64(text: &str, element_type: ElementType) -> Result<Vec<u8>> {
    let elements = BASE64_STANDARD.decode(text).context("the elements of a survey")?;
    if elements.len() % element_type.size() != 0 {
        bail!("{} bytes are not a whole number of elements of {element_type}", elements.len());
    }
    Ok(elements)
}

impl From<Survey> for SurveyDocument {
    fn from(survey: Survey) -> Self {
        let excerpt = |(&key, elements): (&u64, &Vec<u8>)| (key, BASE64_STANDARD.encode(elements));
        let kinds = survey.nan_kinds.counts().iter().map(|(kind, count)| (kind.bits(), *count));
        Self {
            data_type: survey.element_type.name().to_owned(),
            big_endian: cfg!(target_endian = "big"),
            fill_value: survey.fill_value.bits(),
            fill_values: bits(&survey.fill_values),
            elements: survey.elements,
            nan: survey.nan,
            nan_kinds: (kinds.collect(), survey.nan_kinds.others()),
            markers: bits(survey.markers.values()),
            valid: (bits(&survey.valid.least), bits(&survey.valid.greatest)),
            reserved_values: bits(survey.reserved_values.values()),
            reserved_counts: survey.reserved_counts,
            infinite: survey.infinite,
            first_infinite: survey.first_infinite,
            range: survey.data_range.map(|(least, greatest)| (least.bits(), greatest.bits())),
            sample: BASE64_STANDARD.encode(&survey.sample),
            excerpts: survey.excerpts.iter().map(excerpt).collect(),
            grids: survey.grids.known().map(|(a, b)| (a.to_bits(), b.to_bits())).collect(),
        }
    }
}

impl TryFrom<SurveyDocument> for Survey {
    type Error = Error;

    fn try_from(document: SurveyDocument) -> std::result::Result<Self, Error> {
        if document.big_endian != cfg!(target_endian = "big") {
            return Err(
                anyhow!("a survey that was made on a machine of the other byte order").into()
            );
        }
        let name = &document.data_type;
        let element_type =
            ElementType::from_name(name).with_context(|| format!("a survey of {name:?}"))?;
        let scalar = |bits: u64| Scalar::from_bits(element_type, bits);
        let scalars = |bits: &[u64]| bits.iter().map(|&bits| scalar(bits)).collect();
        let markers = |bits: &[u64]| bits.iter().map(|&bits| scalar(bits)).collect::<Markers>();
        let (least, greatest) = &document.valid;
        let valid = Valid { least: scalars(least), greatest: scalars(greatest) };
        let reserved_values = markers(&document.reserved_values);
        if reserved_values.values().len() != document.reserved_counts.len() {
            return Err(anyhow!("a survey has one count for each value that stands apart").into());
        }
        let range = document.range.map(|(least, greatest)| (scalar(least), scalar(greatest)));
        let excerpt = |(key, text): &(u64, String)| Ok((*key, from_base64(text, element_type)?));
        let excerpts: Result<BTreeMap<_, _>> = document.excerpts.iter().map(excerpt).collect();
        let sample = from_base64(&document.sample, element_type)?;
        let pair = |&(a, b): &(u64, u64)| (f64::from_bits(a), f64::from_bits(b));
        let kinds = document.nan_kinds.0.iter().map(|&(bits, count)| (scalar(bits), count));
        let grids: Vec<(f64, f64)> = document.grids.iter().map(pair).collect();
        Ok(Self {
            fill_values: document.fill_values.iter().map(|&bits| scalar(bits)).collect(),
            elements: document.elements,
            nan: document.nan,
            valid,
            nan_kinds: NanKinds::of(kinds, document.nan_kinds.1),
            reserved_values,
            reserved_counts: document.reserved_counts,
            infinite: document.infinite,
            first_infinite: document.first_infinite,
            data_range: range,
            sample,
            excerpts: excerpts?,
            grids: Grids::of(element_type, &grids),
            ..Self::empty(scalar(document.fill_value), markers(&document.markers))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::surveyor::Surveyor;

    #[test]
    fn excerpts_of_any_number_of_arrays_come_to_a_few_mebibytes_in_any_order() {
        const ELEMENTS: u64 = 1 << 20;
        let survey = |array: u32| {
            let values = (0..ELEMENTS as u32).map(|index| (index ^ (array << 20)) as f32);
            let bytes: Vec<u8> = values.flat_map(f32::to_ne_bytes).collect();
            let surveyor = Surveyor::new(f32::NAN.into(), &[], ELEMENTS).unwrap();
            surveyor.survey(&bytes).unwrap()
        };
        let surveys: Vec<Survey> = (0..12).map(survey).collect();
        let sum = |order: &mut dyn Iterator<Item = &Survey>| {
            let mut all = Survey::empty(f32::NAN.into(), Markers::default());
            order.for_each(|one| all.absorb(one));
            all
        };
        let [all, reversed] = [sum(&mut surveys.iter()), sum(&mut surveys.iter().rev())];
        assert_eq!(all.excerpts, reversed.excerpts);
        let bytes: usize = all.excerpts.values().map(Vec::len).sum();
        assert!((EXCERPTS / 4..3 * EXCERPTS).contains(&(bytes as u64)), "{bytes}");
        // Two that differ and have one key.
        let mut once = Survey::empty(f32::NAN.into(), Markers::default());
        let mut other = once.clone();
        for (first, second) in [(&[1; 8], &[2; 8]), (&[2; 8], &[1; 8])] {
            std::mem::swap(&mut once, &mut other);
            once.keep_excerpt(3, first);
            once.keep_excerpt(3, second);
        }
        assert_eq!(once.excerpts, other.excerpts);
    }
}

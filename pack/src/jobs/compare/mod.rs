//! Compares arrays, and groups array by array.

mod group;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, bail};
use recast_kernels::{
    Cast, ElementType, OutOfRange, Plan, Rounding, RunError, Scalar, in_default_environment,
};
use serde::Serialize;
use serde_json::{Map, Value};
use zarr_recast::JsonScalar;

use crate::array::pairs::{Pairs, Stored};
use crate::array::region::Region;
use crate::array::source::Source;
use crate::check::chunk_check::Expected;
use crate::check::comparison::{Comparison, Errors, Found, Keeps, Tolerance};
use crate::check::metrics::{Metrics, Patterns};
use crate::check::recorded::{RecordedBound, recorded_requirements};
use crate::check::times::refuse_other_times;
use crate::choose::goals::reached;
use crate::error::{Error, Result, usage};
use crate::jobs::cf::attributes::is_packed_by_cf;
use crate::jobs::rules::ArrayRule;
use crate::json;
use crate::options::{AllClose, OwnOptions, PackOptions, Reached, Requirement};
use crate::recommend::labels::Labels;
use crate::recommend::nearby::labels_alone;
use crate::recommend::{Advice, Recommendations, Recommended};
use crate::runtime::{Runtime, Workers};
use crate::scan::axes::dimension_names;
use crate::scan::charts::{Charts, Pieces};
use crate::scan::counts::Counts;
use crate::scan::missing::Markers;
use crate::scan::number::{extent, is_wide};
use crate::scan::surveyor::survey;
use crate::text::{as_shown, count};

pub use group::{GroupComparison, GroupTotal};

/// Compares two arrays of the same shape, or the arrays of two groups, each with the one of the same path.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct CompareJob {
    /// The array or group to compare with: the original.
    pub a: PathBuf,
    /// The array or group that is compared.
    pub b: PathBuf,
    /// Checks each element against this tolerance, if given.
    pub tolerance: Option<AllClose>,
    /// Without a tolerance, checks each element against the bound that the attribute `recast` of `b` records; if it
    /// records none, elements must be equal.
    pub recorded: bool,
    /// The requirements to check, if there are any, in place of the recorded ones.
    pub requirements: Vec<Requirement>,
    /// Values that mean "missing", besides those that attributes name.
    pub missing: Vec<JsonScalar>,
    /// Checks what these recommend for each array of `a`, as [`crate::GroupJob::recommendations`] packs it; arrays for which they
    /// recommend nothing as without them.
    pub recommendations: Option<Recommendations>,
    /// Whether somebody recommends the requirements, if that was asked.
    pub recommended: Option<Recommended>,
    /// The requirements on single arrays of groups, as [`crate::GroupJob::rules`].
    pub rules: Vec<ArrayRule>,
    /// Requirements are measured, and a requirement that is not kept is no failure.
    pub measures_only: bool,
    /// Gathers [`Charts`] for the reports, in a pass of their own.
    pub charts: bool,
    /// Measures [`Metrics`], too, in passes of their own.
    pub metrics: bool,
}

/// How far two arrays differ.
#[derive(Debug, Serialize)]
pub struct CompareReport {
    /// The array to compare with.
    pub a: String,
    /// The array that was compared.
    pub b: String,
    /// Extents of both arrays.
    pub shape: Vec<u64>,
    /// Their types.
    pub data_types: [ElementType; 2],
    /// The tolerance for each element.
    pub tolerance: Option<AllClose>,
    /// The bound that the attribute `recast` of `b` records, if the tolerance is from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedBound>,
    /// Whether such a bound was looked for.
    #[serde(skip)]
    looked_for_bound: bool,
    /// Whether nothing that is not kept is a failure.
    #[serde(skip)]
    measures_only: bool,
    /// Whether somebody recommends requirements of the array, if that was asked.
    #[serde(flatten)]
    pub recommended: Option<Recommended>,
    /// The measured error of each requirement, if there are requirements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Reached>,
    /// Counts of elements.
    pub counts: CompareCounts,
    /// The errors of `b` against `a`.
    pub error: Errors,
    /// How well `b` keeps the pattern of `a`, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    /// The array whose integers stand for other values by CF's attributes, if only one of the two is such an array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_packed_by_cf: Option<String>,
    /// Missing markers of `a` in the data that no attribute of `b` names: readers would take them for data.
    #[serde(serialize_with = "json::written")]
    pub unnamed: Vec<Scalar>,
    /// The first element that is NaN in both, but with other bits.
    pub first_other_nan: Option<Found>,
    /// The first element over the tolerance.
    pub first_over: Option<Found>,
    /// The reason.
    #[serde(skip)]
    pub why: Option<String>,
    /// Smallest and largest value of `a`.
    #[serde(skip)]
    pub range: Option<(Scalar, Scalar)>,
    /// The data of the plots, if requested.
    #[serde(skip)]
    pub charts: Option<Charts>,
}

/// Counts of elements.
#[derive(Clone, Debug, Serialize)]
pub struct CompareCounts {
    /// All.
    pub elements: u64,
    /// Elements whose difference counts.
    pub compared: u64,
    /// Special elements in `a`; the fill value in both, where it marks nothing.
    #[serde(flatten)]
    pub special: Counts,
    /// NaN in `b` only.
    pub became_nan: u64,
    /// Missing markers in `b` only.
    pub became_missing: u64,
    /// NaN in both, with other bits: another kind of NaN.
    pub other_nan: u64,
    /// Over the tolerance, if there is one.
    pub over: Option<u64>,
}

impl CompareJob {
    /// Compares `b` with `a` without a tolerance.
    #[must_use]
    pub fn new(a: impl Into<PathBuf>, b: impl Into<PathBuf>) -> Self {
        Self {
            a: a.into(),
            b: b.into(),
            tolerance: None,
            recorded: false,
            requirements: Vec::new(),
            missing: Vec::new(),
            recommendations: None,
            recommended: None,
            rules: Vec::new(),
            measures_only: false,
            charts: false,
            metrics: false,
        }
    }

    /// Reads both arrays; [`Self::run_path`] is for groups, too. Elements over the tolerance are in the report and not an error.
    ///
    /// # Errors
    /// An array that cannot be read; shapes that differ.
    pub fn run(&self, runtime: &Runtime) -> std::result::Result<CompareReport, Error> {
        in_default_environment((self, runtime), |(job, runtime)| Ok(job.compared(runtime)?))
    }

    /// The only one of two arrays whose integers stand for other values by CF's attributes.
    fn only_packed_by_cf(&self, both: [&Source; 2]) -> Option<String> {
        match both.map(is_packed_by_cf) {
            [true, false] => Some(as_shown(&self.a)),
            [false, true] => Some(as_shown(&self.b)),
            [true, true] | [false, false] => None,
        }
    }

    /// The requirements on an array, and its missing values: those of its own options, of its recommendation, and of all arrays; and
    /// whether there is a recommendation.
    fn required(
        &self,
        labels: impl FnOnce() -> Labels,
        own: Option<&OwnOptions>,
    ) -> Result<(PackOptions, Option<Recommended>)> {
        let mut options = Requirement::options(&self.requirements)?;
        options.checked_beside_others()?;
        options.missing.clone_from(&self.missing);
        let is_own = own.is_some_and(|own| own.options().says_how());
        let mut recommended = self.recommended.clone();
        if let Some(by) = self.recommendations.as_ref().filter(|_| !is_own) {
            let advice = by.advice(&labels(), &options);
            recommended = Some(advice.recommended(by));
            if let Advice::Pack(advice) = advice {
                options = *advice;
            }
        }
        if let Some(own) = own {
            options = options.beside(own).map_err(Error::into_inner)?;
        }
        Ok((options, recommended))
    }

    fn compared(&self, runtime: &Runtime) -> Result<CompareReport> {
        let (a, b) = (Source::open_for(runtime, &self.a)?, Source::open_for(runtime, &self.b)?);
        if let Some(rule) = self.rules.first() {
            let (a, name) = (self.a.display(), &rule.name);
            return usage(format!("{a} is not a group, and a table for {name} is for groups"));
        }
        if a.array().shape() != b.array().shape() {
            bail!(
                "{}: the shape is {:?}, that of {} is {:?}; only arrays of one shape can be compared",
                self.b.display(),
                b.array().shape(),
                self.a.display(),
                a.array().shape()
            );
        }
        let types = [a.element_type(), b.element_type()];
        let common = common(types);
        // Metrics are computed in float64.
        let computed = if self.metrics { ElementType::Float64 } else { common };
        let memory = [a.chunk_memory_as(computed), b.chunk_memory_as(computed)];
        let workers = Workers::within(runtime, memory)?;
        let (options, recommended) = self.required(|| labels_alone(&a, runtime), None)?;
        let [of_a, of_b] = [&a, &b].map(|source| source.array().attributes());
        let masked = in_type_of(&options.missing, b.element_type());
        let masked = markers(&b, masked, [of_a, of_b])?;
        let markers = markers(&a, options.missing.clone(), [of_a, of_b])?;
        let survey = survey(&a, &markers, &workers)?;
        let name = || self.b.display().to_string();
        refuse_other_times(of_a, of_b, survey.least()).with_context(name)?;
        let is_free = self.tolerance.is_none() && Requirement::of(&options).is_empty();
        let of_record = self.recorded && is_free;
        let recorded = of_record.then(|| RecordedBound::of(of_b, of_a));
        let options = if of_record {
            let recorded = recorded_requirements(of_b, of_a);
            recorded.and_then(|all| Requirement::options(&all)).with_context(name)?
        } else {
            options
        };
        let required = Requirement::of(&options);
        let equal = AllClose { atol: 0.0, rtol: 0.0 };
        let of_record = recorded.map(|bound| bound.map_or(equal, |bound| bound.tolerance));
        let is_each = self.tolerance.is_none() && recorded.flatten().is_some_and(|one| one.is_each);
        let asked = self.tolerance.or(of_record);
        let bound = asked.unwrap_or(AllClose { atol: f64::INFINITY, rtol: 0.0 });
        let range = survey.extent_of_error();
        let other = (recorded.is_some() || required.is_empty()).then_some((bound, is_each));
        let tolerance = tolerance(&options, other, range, common);
        let is_relative = tolerance.relative > 0.0;
        let is_judged = asked.is_some() || !required.is_empty();
        let expected = Expected {
            element_type: common,
            markers: in_type(&markers, common)?,
            reserved_values: in_type(&survey.reserved_values, common)?,
            masked: in_type(&masked, common)?,
            tolerance,
            counts: true,
            sums_exactly: options.has_mean_goal(),
        };
        let pair = Pair { a: Side::new(&a, common)?, b: Side::new(&b, common)?, expected };
        let is_unnamed = |marker: &&Scalar| {
            let there = marker.cast(common, Rounding::NearestEven, OutOfRange::Error);
            let masked = &pair.expected.masked;
            survey.count(**marker) > 0 && !there.is_ok_and(|there| masked.contains(there))
        };
        let unnamed = markers.values().iter().filter(is_unnamed).copied().collect();
        let comparison = pair.compare(&workers)?;
        let charts = || pair.charts(survey.range(), comparison.sums.max, &workers);
        let charts = self.charts.then(charts).transpose()?;
        let metrics = self.metrics.then(|| pair.metrics(survey.range(), &workers)).transpose()?;
        let extent = survey.range().map(extent);
        let sums = comparison.sums;
        let (first_over, why) = comparison.first_wrong.clone().unzip();
        Ok(CompareReport {
            a: as_shown(&self.a),
            b: as_shown(&self.b),
            shape: a.array().shape().to_vec(),
            data_types: types,
            tolerance: asked,
            recorded: recorded.flatten(),
            looked_for_bound: recorded.is_some(),
            measures_only: self.measures_only,
            recommended,
            requirements: reached(&required, &comparison, range),
            counts: CompareCounts {
                elements: a.elements() as u64,
                compared: sums.elements,
                special: sums.counts,
                became_nan: sums.became_nan,
                became_missing: sums.became_missing,
                other_nan: comparison.other_nan,
                over: is_judged.then_some(comparison.wrong),
            },
            error: comparison.errors(extent, is_relative),
            metrics,
            only_packed_by_cf: self.only_packed_by_cf([&a, &b]),
            unnamed,
            first_other_nan: comparison.first_other_nan.clone(),
            first_over,
            why,
            range: survey.range_of_values(),
            charts,
        })
    }
}

impl CompareReport {
    /// A sentence about arrays of which attributes of CF pack only one, with the way to compare the values.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        self.only_packed_by_cf.as_ref().map(|packed| {
            format!(
                "scale_factor or add_offset give the integers of {packed} other values, which are not compared here; to compare \
                 these, give Python's zarr_recast.compare or verify two groups, and xarray.open_zarr(GROUP) in place of the packed one"
            )
        })
    }

    /// Why `b` is not within the tolerance, with the first and the worst element; `None` if it is, or if that was not the
    /// question.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        if self.measures_only || (self.tolerance.is_none() && self.requirements.is_empty()) {
            return None;
        }
        let Some((first, why)) = self.first_over.as_ref().zip(self.why.as_ref()) else {
            if let Some(broken) = self.requirements.iter().find(|one| !one.is_kept) {
                return Some(format!("{}: {broken}", self.b));
            }
            let unnamed = self.unnamed.first()?;
            return Some(format!(
                "{}: {unnamed} marks missing values in {}, but no attribute _FillValue or \
                 missing_value names it here, so readers take it for data",
                self.b, self.a
            ));
        };
        let Errors { max, worst, max_relative, worst_relative, .. } = &self.error;
        // The worst by the kind of the tolerance, if it has only one kind.
        let is_absolute = self.tolerance.is_some_and(|tolerance| tolerance.atol > 0.0);
        let worst = match max_relative.zip(worst_relative.as_ref()).filter(|_| !is_absolute) {
            Some((max, worst)) => Some(format!("; worst {worst}: off by {max:?} of the value")),
            None => worst.as_ref().map(|worst| format!("; worst {worst}: off by {max:?}")),
        };
        let allowed = match &self.recorded {
            Some(recorded) => format!("the attribute recast of it allows ({recorded})"),
            None if self.looked_for_bound => {
                "0 (no attribute recast of it records a bound against A; --atol gives one)"
                    .to_owned()
            }
            None => match self.tolerance {
                Some(AllClose { atol, rtol }) => {
                    format!("--atol {atol:?} and --rtol {rtol:?} allow")
                }
                None => "the requirements allow".to_owned(),
            },
        };
        Some(format!(
            "{}: {} of {} elements differ by more than {allowed}; first {first}: {why}{}{}",
            self.b,
            count(self.counts.over.unwrap_or_default()),
            count(self.counts.elements),
            worst.unwrap_or_default(),
            self.hint().map(|hint| format!("; {hint}")).unwrap_or_default(),
        ))
    }
}

/// The tolerance of requirements for each element of arrays with a range, compared in a type. `other`, if given, takes the place of
/// the bound among the requirements; its two parts are a sum, or a bound each.
fn tolerance(
    options: &PackOptions,
    other: Option<(AllClose, bool)>,
    range: f64,
    common: ElementType,
) -> Tolerance {
    let keeps = Keeps::of(options, common);
    let none = Tolerance {
        absolute: f64::INFINITY,
        relative: 0.0,
        is_each: false,
        name: "the tolerance",
        allow_collisions: false,
        keeps,
    };
    match other {
        Some((AllClose { atol, rtol }, true)) => return none.with_both(atol, rtol),
        Some((AllClose { atol: absolute, rtol: relative }, false)) => {
            return Tolerance { absolute, relative, ..none };
        }
        None => {}
    }
    match (options.absolute_bound(range), options.max_rel_error) {
        (None, None) => none,
        (Some(absolute), None) => Tolerance { absolute, ..none },
        (None, Some(relative)) => Tolerance { absolute: 0.0, relative, ..none },
        // Beside a bound of 0, the relative error is measured, too.
        (Some(absolute), Some(relative)) if relative > 0.0 => {
            Tolerance { absolute, relative, is_each: true, ..none }
        }
        (Some(absolute), Some(relative)) => none.with_both(absolute, relative),
    }
}

/// The type in which elements of two types are compared. Elements that it does not have are an error: of uint64 beside
/// signed integers, and of 64-bit integers beside floats.
fn common([a, b]: [ElementType; 2]) -> ElementType {
    if a == b {
        return a;
    }
    if !a.is_integer() || !b.is_integer() || !(is_wide(a) || is_wide(b)) {
        return ElementType::Float64;
    }
    let is_signed = a.is_signed() || b.is_signed();
    if is_signed { ElementType::Int64 } else { ElementType::UInt64 }
}

/// One of two arrays whose elements are compared in a common type.
struct Side<'a> {
    source: &'a Source,
    /// Casts to that type, if the array has another type.
    cast: Option<Plan>,
}

impl<'a> Side<'a> {
    fn new(source: &'a Source, common: ElementType) -> Result<Self> {
        let own = source.element_type();
        let cast = (own != common).then(|| Plan::builder(own).cast(Cast::new(common)).build());
        Ok(Self { source, cast: cast.transpose()? })
    }

    /// The elements of a region; if none are stored, fill values.
    ///
    /// # Errors
    /// An integer that the common type does not have, so that its difference would be wrong.
    fn elements(&self, region: &Region, stored: Option<Vec<u8>>) -> Result<Vec<u8>> {
        let elements = self.source.or_fill(region, stored);
        let Some(cast) = &self.cast else { return Ok(elements) };
        let (own, common) = (cast.source(), cast.target());
        let mut converted = vec![0; elements.len() / own.size() * common.size()];
        match cast.run(&elements, &mut converted) {
            Err(RunError::Element(error)) => {
                return self.incomparable(region, error.index, error.input, common);
            }
            ran => ran?,
        }
        if !is_wide(own) || common != ElementType::Float64 {
            return Ok(converted);
        }
        // A clamped value would come back as the greatest integer, which float64 does not have.
        let back = Cast::new(own).out_of_range(OutOfRange::Wrap);
        let mut again = vec![0; elements.len()];
        Plan::builder(common).cast(back).build()?.run(&converted, &mut again)?;
        let mut pairs = elements.chunks_exact(own.size()).zip(again.chunks_exact(own.size()));
        if let Some(index) = pairs.position(|(element, again)| element != again) {
            let bytes = elements.get(index * own.size()..).unwrap_or_default();
            let value = Scalar::from_ne_bytes(own, bytes.get(..own.size()).unwrap_or_default());
            return self.incomparable(region, index, value.context("no element")?, common);
        }
        Ok(converted)
    }

    /// The error of an element that the common type does not have.
    fn incomparable(
        &self,
        region: &Region,
        index: usize,
        value: Scalar,
        common: ElementType,
    ) -> Result<Vec<u8>> {
        let place = region.place(index);
        let (path, chunk) = (self.source.path().display(), self.source.chunk_of(&place)?);
        let (own, other) =
            (value.element_type(), if common.is_float() { "a float" } else { "signed integers" });
        bail!(
            "{path}: element {place:?} (chunk {chunk:?}) is {value}, which {common} does not have, so its difference from \
             {other} cannot be told; compare it with an array of {own}"
        )
    }
}

/// The values that mean "missing" in one of two arrays: those that its attributes name, and those that are named for both or
/// that packing recorded.
fn markers(
    source: &Source,
    missing: Vec<JsonScalar>,
    of_both: [&Map<String, Value>; 2],
) -> Result<Markers> {
    let named = PackOptions { missing, ..PackOptions::default() };
    let markers = Markers::with(source, &named)?;
    let with_recorded =
        |markers: Markers, attributes| markers.and_recorded(attributes, source.element_type());
    Ok(of_both.into_iter().fold(markers, with_recorded))
}

/// The missing values that a type has; of others, it has no elements.
fn in_type_of(missing: &[JsonScalar], element_type: ElementType) -> Vec<JsonScalar> {
    let is_of_type = |one: &&JsonScalar| one.to_scalar(element_type).is_ok();
    missing.iter().filter(is_of_type).cloned().collect()
}

/// The values in a type that has them all.
fn in_type(values: &Markers, element_type: ElementType) -> Result<Markers> {
    let cast = |&value: &Scalar| {
        value
            .cast(element_type, Rounding::NearestEven, OutOfRange::Error)
            .ok()
            .with_context(|| format!("{value} has no counterpart in the type of both"))
    };
    values.values().iter().map(cast).collect()
}

/// Two arrays whose elements are read in a common type.
struct Pair<'a> {
    a: Side<'a>,
    b: Side<'a>,
    /// The expected elements in that type: special values of the first array, and `masked` values of the second.
    expected: Expected,
}

impl Pair<'_> {
    fn pairs(&self) -> Pairs<'_> {
        Pairs::new(self.a.source, self.b.source)
    }

    fn compare(&self, workers: &Workers) -> Result<Comparison> {
        let checker = self.expected.checker()?;
        // Cache: the comparison of two missing chunks, by their number of elements.
        let of_fill: Mutex<BTreeMap<u64, Comparison>> = Mutex::default();
        let known = || of_fill.lock().unwrap_or_else(PoisonError::into_inner);
        let work = |region: &Region, [before, after]: Stored| {
            let is_fill = before.is_none() && after.is_none();
            if is_fill && let Some(comparison) = known().get(&region.elements()) {
                return Ok(comparison.clone());
            }
            let before = self.a.elements(region, before)?;
            let after = self.b.elements(region, after)?;
            let comparison = checker.compared(region, &before, &after)?;
            // A place that it names is in this chunk only.
            if is_fill && !comparison.names_an_element() {
                known().insert(region.elements(), comparison.clone());
            }
            Ok(comparison)
        };
        let mut comparison = self.pairs().merge("compare", workers, work, Comparison::merge)?;
        // Chunks are named that are the first array's.
        for found in comparison.found_mut() {
            found.chunk = self.a.source.chunk_of(&found.element)?;
        }
        Ok(comparison)
    }

    fn charts(
        &self,
        range: Option<(Scalar, Scalar)>,
        max_error: f64,
        workers: &Workers,
    ) -> Result<Charts> {
        let a = self.a.source;
        let Expected { element_type, reserved_values, .. } = &self.expected;
        let charts =
            Charts::new(a, workers.runtime(), *element_type, range, reserved_values, max_error);
        charts.gather(workers, self.pairs().regions(), |number| {
            let (region, [before, after]) = self.pairs().stored(number)?;
            let before = self.a.elements(&region, before)?;
            let after = self.b.elements(&region, after)?;
            Ok(Some((region, Pieces { before, after, codes: None })))
        })
    }

    fn metrics(&self, range: Option<(Scalar, Scalar)>, workers: &Workers) -> Result<Metrics> {
        let Expected { element_type, markers, masked, reserved_values, .. } = &self.expected;
        let read = |region: &Region| -> Result<[Vec<u8>; 2]> {
            let [before, after] = self.pairs().stored_at(region)?;
            Ok([self.a.elements(region, before)?, self.b.elements(region, after)?])
        };
        let patterns = Patterns {
            pairs: self.pairs(),
            shape: self.a.source.array().shape(),
            names: &dimension_names(self.a.source),
            range,
            element_type: *element_type,
            missing: [markers, masked],
            fill: &reserved_values.without_zeros(),
            read,
        };
        patterns.metrics(workers)
    }
}

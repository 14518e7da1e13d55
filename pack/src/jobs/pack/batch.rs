//! The job that packs an array, and the arrays that get the same codecs, while candidates are tried.

use std::path::PathBuf;
use std::slice;

use anyhow::{Context, bail};
use recast_kernels::Scalar;
use serde::Serialize;
use serde_json::{Map, Value, json};
use zarr_recast::fill_value::to_json;

use crate::array::source::Source;
use crate::check::comparison::Tolerance;
use crate::check::recorded::{
    ABSOLUTE, CLAMPED, RECOMMENDED_BY, RELATIVE, REQUIREMENTS, RecordedBound, SOURCE,
    earlier_packings,
};
use crate::error::{Error, Result};
use crate::json;
use crate::metadata::document::{GRID, MISSING, PROVENANCE};
use crate::options::{AllClose, PackOptions, Requirement};
use crate::recommend::nearby::labels_alone;
use crate::recommend::{Advice, Recommendations, Recommended};
use crate::runtime::{Runtime, Workers};
use crate::scan::lattice::Lattice;
use crate::scan::missing::{Markers, advice_on_suspects, customary_markers};
use crate::scan::survey::Survey;
use crate::scan::surveyor::survey;
use crate::store::destination::Destination;
use crate::text::{as_shown, count};

/// Packs an array into a small type, in two passes over its chunks. The first chooses codecs. The second writes, and
/// decodes every element and compares it with the original.
#[derive(Clone, Debug)]
pub struct PackJob {
    /// The array to read: Zarr v1, v2 or v3, with any codecs. A directory, a zip file or a URL.
    pub input: PathBuf,
    /// The Zarr v3 array to write.
    pub output: PathBuf,
    /// How to pack it.
    pub options: PackOptions,
    /// Whether somebody recommends the goals in the options, if that was asked.
    pub recommended: Option<Recommended>,
    /// Combines the ranges of these arrays and `input`, so that packing each with this list gives all the same
    /// codecs.
    pub scale_from: Vec<PathBuf>,
    /// Replaces an array at `output`, once the new one is whole.
    pub overwrite: bool,
    /// Writes the attribute `recast`, which says where the values come from.
    pub provenance: bool,
    /// Gathers [`crate::report::Charts`] for the report, in a pass of their own.
    pub charts: bool,
}

impl PackJob {
    /// Packs `input` as `output`, with the command's default settings.
    #[must_use]
    pub fn new(
        input: impl Into<PathBuf>,
        output: impl Into<PathBuf>,
        options: PackOptions,
    ) -> Self {
        Self {
            input: input.into(),
            output: output.into(),
            options,
            recommended: None,
            scale_from: Vec::new(),
            overwrite: false,
            provenance: true,
            charts: false,
        }
    }

    /// The same with the recommendation for the array beside its own goals.
    ///
    /// # Errors
    /// Something is recommended that is not known here or cannot be kept beside the options; without a goal, nothing is
    /// recommended; an array that cannot be opened.
    pub fn recommended(
        self,
        by: &Recommendations,
        runtime: &Runtime,
    ) -> std::result::Result<Self, Error> {
        Ok(self.with_advice(by, runtime)?)
    }

    fn with_advice(self, by: &Recommendations, runtime: &Runtime) -> Result<Self> {
        let source = Source::open_for(runtime, &self.input)?;
        let advice = by.advice(&labels_alone(&source, runtime), &self.options);
        let recommended = Some(advice.recommended(by));
        let options = match advice {
            Advice::Pack(options) => *options,
            Advice::None if self.options.says_how() => self.options,
            Advice::None => {
                bail!("{}: nothing is recommended for it; give a bound", self.input.display())
            }
            Advice::NotKnown(reason) => {
                bail!(
                    "{}: {reason}; give a bound in place of --recommendations",
                    self.input.display()
                )
            }
        };
        Ok(Self { options, recommended, ..self })
    }
}

/// Arrays that get the same codecs.
pub(super) struct Batch<'a> {
    /// The arrays, of which at least one is packed.
    pub(super) members: Vec<Member<'a>>,
    /// How all are packed, with what follows from their type.
    pub(super) asked: &'a PackOptions,
    /// The same with the bound of every element that follows from their range, and from bounds of means.
    pub(super) options: &'a PackOptions,
    /// The survey of all members together.
    pub(super) survey: &'a Survey,
    pub(super) workers: &'a Workers,
    /// Whether the attribute `recast` says where the values come from.
    pub(super) provenance: bool,
}

/// An array of a batch.
#[derive(Clone, Copy)]
pub(super) struct Member<'a> {
    pub(super) source: &'a Source,
    pub(super) survey: &'a Survey,
    /// Where the array is packed to. `None`: the array only has its part in the choice of codecs.
    pub(super) place: Option<Place<'a>>,
}

/// Where an array is packed to.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) job: &'a PackJob,
    /// `None` in a dry run, which writes nothing.
    pub(crate) destination: Option<&'a Destination>,
}

/// A value that looks like a missing value.
#[derive(Clone, Debug, Serialize)]
pub struct Suspect {
    /// The value.
    #[serde(serialize_with = "json::written")]
    pub value: Scalar,
    /// The number of elements with it.
    pub count: u64,
}

impl<'a> Batch<'a> {
    /// The same with options that have a bound of every element.
    pub(super) fn with_bound<'b>(&'b self, options: &'b PackOptions) -> Batch<'b> {
        Batch { members: self.members.clone(), options, ..*self }
    }

    pub(super) fn is_dry_run(&self) -> bool {
        self.packed().all(|(_, place)| place.destination.is_none())
    }

    /// The members to be packed.
    pub(super) fn packed(&self) -> impl Iterator<Item = (&Member<'a>, Place<'a>)> {
        self.members.iter().filter_map(|member| Some((member, member.place?)))
    }

    /// The attributes of the output, if it keeps the tolerance for these values only.
    pub(super) fn attributes(
        &self,
        member: &Member<'_>,
        tolerance: Tolerance,
        only: Option<Lattice>,
    ) -> Result<Map<String, Value>> {
        let mut attributes = member.source.array().attributes().clone();
        let of_source = attributes.remove(PROVENANCE);
        if self.provenance {
            let mut provenance = json!({
                "version": env!("CARGO_PKG_VERSION"),
                "source_data_type": member.source.element_type().name(),
            });
            let object = provenance.as_object_mut().context("provenance is an object")?;
            let Tolerance { absolute, relative, is_each, .. } = tolerance;
            let bounds = [
                (ABSOLUTE, Some(absolute).filter(|_| relative == 0.0 || is_each)),
                (RELATIVE, Some(relative).filter(|_| relative > 0.0)),
                ("error_over_range", self.options.error_over_range),
                ("precision", self.options.precision),
            ];
            for (name, bound) in bounds {
                if let Some(bound) = bound.filter(|bound| bound.is_finite()) {
                    object.insert(name.into(), serde_json::to_value(bound)?);
                }
            }
            let recommended = member.place.and_then(|place| place.job.recommended.as_ref());
            let by = recommended.and_then(Recommended::by);
            if by.is_some() || Requirement::are_more(&Requirement::of(self.asked)) {
                // Known once all elements are compared.
                object.insert(REQUIREMENTS.into(), Value::Null);
            }
            if let Some(by) = by {
                object.insert(RECOMMENDED_BY.into(), by.into());
            }
            let PackOptions { src_min, src_max, .. } = self.options;
            for (name, end) in CLAMPED.into_iter().zip([src_min, src_max]) {
                if let Some(end) = end {
                    object.insert(name.into(), end.to_json());
                }
            }
            let known = Markers::of(member.source);
            let named = Markers::named(member.source.element_type(), self.options)?;
            let named: Vec<Value> = named
                .values()
                .iter()
                .filter(|value| value.is_finite() && !known.contains(**value))
                .map(|value| to_json(*value))
                .collect();
            if !named.is_empty() {
                object.insert(MISSING.into(), named.into());
            }
            // An array that is packed again has both errors.
            if let Some(of_source) = of_source {
                object.insert(SOURCE.into(), earlier_packings(&of_source));
            }
            if let Some(grid) = only {
                object.insert(GRID.into(), serde_json::to_value(grid)?);
                let tolerance = AllClose { atol: absolute, rtol: relative };
                if let Some(bound) = RecordedBound::new(self.options, tolerance, only) {
                    object.insert("note".into(), bound.to_string().into());
                }
            }
            attributes.insert(PROVENANCE.into(), provenance);
        }
        Ok(attributes)
    }

    /// Adds to a failure the values that look like missing values and that no attribute names, with their counts.
    pub(super) fn with_suspects(&self, failure: anyhow::Error) -> Result<anyhow::Error> {
        let suspects = customary_markers(self.survey.data_range);
        if suspects.is_empty() {
            return Ok(failure);
        }
        let suspects = counted(&self.members, &suspects, self.workers)?;
        let with_count = |&Suspect { value, count: number }: &Suspect| {
            let elements = if number == 1 { "element" } else { "elements" };
            (value, format!(" ({} {elements})", count(number)))
        };
        let suspects: Vec<_> = suspects.iter().map(with_count).collect();
        Ok(failure.context(advice_on_suspects(&suspects)))
    }
}

impl Member<'_> {
    /// The array, for errors.
    pub(super) fn name(&self) -> String {
        as_shown(self.source.path())
    }

    /// The values of this array that were packed as data but look like missing values: they are far from all other values.
    pub(super) fn suspects(&self, workers: &Workers) -> Result<Vec<Suspect>> {
        counted(slice::from_ref(self), &self.survey.suspects()?.values, workers)
    }
}

/// Counts some values in arrays, in a pass over each if there are any to count.
fn counted(members: &[Member<'_>], values: &[Scalar], workers: &Workers) -> Result<Vec<Suspect>> {
    let mut suspects: Vec<Suspect> =
        values.iter().map(|&value| Suspect { value, count: 0 }).collect();
    for member in members.iter().filter(|_| !values.is_empty()) {
        let mut markers = member.survey.markers.clone();
        markers.extend(values.iter().copied());
        let found = survey(member.source, &markers, workers)?;
        for suspect in &mut suspects {
            suspect.count += found.count(suspect.value);
        }
    }
    Ok(suspects)
}

//! The job that packs an array, and what its parts need while candidates are tried.

use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Map, Value, json};

use crate::array::source::Source;
use crate::check::comparison::Tolerance;
use crate::check::recorded::{
    ABSOLUTE, CLAMPED, RELATIVE, RecordedBound, SOURCE, earlier_packings,
};
use crate::error::Result;
use crate::metadata::document::{GRID, PROVENANCE};
use crate::options::{AllClose, PackOptions};
use crate::runtime::Workers;
use crate::scan::lattice::Lattice;
use crate::scan::survey::Survey;
use crate::store::destination::Destination;
use crate::text::as_shown;

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
    /// Combines the ranges of these arrays and `input`, so that packing each with this list gives all the same
    /// codecs.
    pub scale_from: Vec<PathBuf>,
    /// Replaces an array at `output`, once the new one is whole.
    pub overwrite: bool,
    /// Writes the attribute `recast`, which says where the values come from.
    pub provenance: bool,
    /// Gathers [`crate::Charts`] for the report, in a pass of their own.
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
            scale_from: Vec::new(),
            overwrite: false,
            provenance: true,
            charts: false,
        }
    }
}

/// An array to be packed.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) job: &'a PackJob,
    /// Where the output goes; nowhere in a dry run.
    pub(crate) destination: Option<&'a Destination>,
}

/// An array with all that gets the same codecs; the same for all candidates.
#[derive(Clone, Copy)]
pub(super) struct PackContext<'a> {
    /// What packs it; if it only has its part in the choice of codecs, what packs the first array.
    pub(super) request: Request<'a>,
    pub(super) source: &'a Source,
    /// Its survey.
    pub(super) survey: &'a Survey,
    /// How all arrays are packed, with what follows from their type and range.
    pub(super) options: &'a PackOptions,
    /// All arrays that get the same codecs, this one too.
    pub(super) together: &'a [Member<'a>],
    /// The survey of all of them.
    pub(super) all: &'a Survey,
    pub(super) workers: &'a Workers,
}

/// An array that gets the same codecs as others.
pub(super) struct Member<'a> {
    pub(super) source: &'a Source,
    pub(super) survey: &'a Survey,
    /// What packs it; none if it only has its part in the choice of codecs.
    pub(super) request: Option<Request<'a>>,
}

impl<'a> PackContext<'a> {
    /// The context of the first of some arrays, which is to be packed.
    pub(super) fn of_first(
        together: &'a [Member<'a>],
        options: &'a PackOptions,
        all: &'a Survey,
        workers: &'a Workers,
    ) -> Result<Self> {
        let Member { source, survey, request } = together.first().context("no array")?;
        let request = request.context("no array to be packed")?;
        Ok(Self { request, source, survey, options, together, all, workers })
    }

    pub(super) fn is_dry_run(&self) -> bool {
        self.request.destination.is_none()
    }

    pub(crate) fn input(&self) -> String {
        as_shown(self.source.path())
    }

    /// The same context for each array that gets the same codecs.
    pub(super) fn members(&self) -> impl Iterator<Item = Self> {
        self.together.iter().map(|member| self.of(member, member.request.unwrap_or(self.request)))
    }

    /// The same context for each array that is packed.
    pub(super) fn packed(&self) -> impl Iterator<Item = Self> {
        self.together.iter().filter_map(|member| Some(self.of(member, member.request?)))
    }

    /// The same context for each array that only has its part in the choice of codecs.
    pub(super) fn check_only(&self) -> impl Iterator<Item = Self> {
        let others = self.together.iter().filter(|member| member.request.is_none());
        others.map(|member| self.of(member, self.request))
    }

    fn of(&self, member: &Member<'a>, request: Request<'a>) -> Self {
        Self { request, source: member.source, survey: member.survey, ..*self }
    }

    /// The attributes of the output, if it keeps the tolerance for these values only.
    pub(super) fn attributes(
        &self,
        tolerance: Tolerance,
        only: Option<Lattice>,
    ) -> Result<Map<String, Value>> {
        let mut attributes = self.source.array().attributes().clone();
        let of_source = attributes.remove(PROVENANCE);
        if self.request.job.provenance {
            let mut provenance = json!({
                "version": env!("CARGO_PKG_VERSION"),
                "source_data_type": self.source.element_type().name(),
            });
            let object = provenance.as_object_mut().context("provenance is an object")?;
            let Tolerance { absolute, relative, .. } = tolerance;
            let bounds = [
                (ABSOLUTE, Some(absolute).filter(|_| relative == 0.0)),
                (RELATIVE, Some(relative).filter(|_| relative > 0.0)),
                ("error_over_range", self.options.error_over_range),
                ("precision", self.options.precision),
            ];
            for (name, bound) in bounds {
                if let Some(bound) = bound.filter(|bound| bound.is_finite()) {
                    object.insert(name.into(), serde_json::to_value(bound)?);
                }
            }
            let PackOptions { src_min, src_max, .. } = self.options;
            for (name, end) in CLAMPED.into_iter().zip([src_min, src_max]) {
                if let Some(end) = end {
                    object.insert(name.into(), end.to_json());
                }
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
}

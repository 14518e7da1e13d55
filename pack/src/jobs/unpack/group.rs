//! Unpacking a group: arrays with value codecs are unpacked, everything else is copied.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;

use super::array::{UnpackJob, UnpackReport};
use crate::array::source::array_of;
use crate::error::Result;
use crate::jobs::cf::{NotForCf, ToCfJob, ToCfReport};
use crate::jobs::runner::{Job, run_inside};
use crate::metadata::tree::{self, Node};
use crate::runtime::Runtime;
use crate::store::destination::Destination;
use crate::store::links::OutsideLinks;
use crate::store::location::below;
use crate::store::staging::Staged;
use crate::store::transfer::Transfer;
use crate::text::as_shown;

/// Unpacks every array of a group that has value codecs. Everything else is copied, and consolidated metadata are
/// renewed.
#[derive(Clone, Debug)]
pub struct UnpackGroupJob {
    /// As for an array, with groups as input and output.
    pub unpack: UnpackJob,
    /// Writes the stored integers with CF's attributes, instead of the decoded values. An array that these cannot express
    /// gets plain values; if none can be expressed, that is an error.
    pub to_cf: bool,
}

/// The report of an unpacked group.
#[derive(Debug, Serialize)]
pub struct UnpackGroupReport {
    /// The group that was read.
    pub input: String,
    /// The group that was written.
    pub output: String,
    /// What the output lacks.
    pub warnings: Vec<String>,
    /// The links that lead out of the input: what they lead to was read.
    #[serde(skip_serializing_if = "OutsideLinks::is_empty")]
    pub outside_links: OutsideLinks,
    /// Its arrays.
    pub arrays: Vec<UnpackedArray>,
}

/// The outcome for an array of a group.
#[derive(Debug, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum UnpackedArray {
    /// Its decoded values were written.
    Unpacked {
        /// Its path in the group.
        array: String,
        /// Its report.
        report: Box<UnpackReport>,
        /// Why CF's attributes cannot express it, if they were asked for.
        caveat: Option<String>,
    },
    /// Its stored integers were written with CF's attributes.
    ToCf {
        /// Its path in the group.
        array: String,
        /// Its report.
        report: Box<ToCfReport>,
    },
    /// It has no value codecs, and was copied.
    Copied {
        /// Its path in the group.
        array: String,
        /// What its readers must know, if anything.
        caveat: Option<String>,
    },
}

impl UnpackGroupJob {
    /// Unpacks `input` as `output`.
    #[must_use]
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self { unpack: UnpackJob::new(input, output), to_cf: false }
    }
}

impl Job for UnpackGroupJob {
    type Report = UnpackGroupReport;

    fn places(&self) -> (&Path, &Path, bool) {
        self.unpack.places()
    }

    fn write(
        &self,
        destination: &Destination,
        runtime: &Runtime,
    ) -> Result<(UnpackGroupReport, Staged)> {
        let UnpackJob { input, output, .. } = &self.unpack;
        let nodes = tree::nodes_at(input)?;
        let staged = destination.stage()?;
        let arrays = tree::each_array(&nodes, Some(staged.path()), runtime, |node| {
            let place = node.path.inside(staged.path())?;
            let undecoded = match node.has_value_codecs().then(|| array_of(node)) {
                Some(Ok(_)) => return self.unpack(node, &place, runtime),
                Some(Err(error)) => Some(format!("it keeps its codecs, because {error:#}")),
                None => None,
            };
            let array = node.path.to_string();
            let copied = node.copy(&place, Transfer::Copy, runtime);
            copied.with_context(|| format!("{}: {array}", input.display()))?;
            Ok(UnpackedArray::Copied { array, caveat: node.caveat().or(undecoded) })
        })?;
        if self.to_cf {
            refuse_if_none(&arrays).with_context(|| input.display().to_string())?;
        }
        let warnings = tree::copy_files(&nodes, destination, staged.path(), runtime)?;
        let (input, output) = (as_shown(input), as_shown(output));
        let outside_links = OutsideLinks::default();
        Ok((UnpackGroupReport { input, output, warnings, outside_links, arrays }, staged))
    }
}

impl UnpackGroupJob {
    /// Unpacks an array of the group to its place.
    fn unpack(&self, node: &Node, place: &Path, runtime: &Runtime) -> Result<UnpackedArray> {
        let array = node.path.to_string();
        let UnpackJob { input, output, .. } = &self.unpack;
        let (input, output) = (below(input, &array), output.join(&array));
        let mut caveat = None;
        if self.to_cf {
            let job = ToCfJob::new(&input, &output);
            match run_inside(&job, place, runtime) {
                Ok(report) => return Ok(UnpackedArray::ToCf { array, report: Box::new(report) }),
                Err(error) => match error.downcast_ref::<NotForCf>() {
                    Some(NotForCf(reason)) => caveat = Some(reason.clone()),
                    None => return Err(error),
                },
            }
        }
        let job = UnpackJob { input, output, ..self.unpack.clone() };
        let report = run_inside(&job, place, runtime)?;
        Ok(UnpackedArray::Unpacked { array, report: Box::new(report), caveat })
    }
}

/// Refuses a group with arrays to convert of which CF's attributes can express none.
fn refuse_if_none(arrays: &[UnpackedArray]) -> Result<()> {
    if arrays.iter().any(|one| matches!(one, UnpackedArray::ToCf { .. })) {
        return Ok(());
    }
    let refused = arrays.iter().find_map(|one| match one {
        UnpackedArray::Unpacked { array, caveat: Some(reason), .. } => Some((array, reason)),
        UnpackedArray::Unpacked { .. }
        | UnpackedArray::ToCf { .. }
        | UnpackedArray::Copied { .. } => None,
    });
    match refused {
        Some((array, reason)) => bail!(
            "{array}: {reason}; without --to-cf the group is unpacked to plain values, in which CF has no part"
        ),
        None => Ok(()),
    }
}

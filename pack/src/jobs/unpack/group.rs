//! Unpacking a group: arrays with value codecs are unpacked, everything else is copied.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;

use super::array::{UnpackJob, UnpackReport};
use crate::array::source::array_of;
use crate::error::Result;
use crate::jobs::cf::{NotForCf, ToCfJob, ToCfReport};
use crate::jobs::runner::{Job, run_inside};
use crate::jobs::tree::{ArrayOutcome, GroupReport, Outcome, Output, each_array};
use crate::metadata::tree::{self, Node};
use crate::runtime::Runtime;
use crate::store::destination::Destination;
use crate::store::location::below;
use crate::store::staging::Staged;
use crate::store::transfer::Transfer;

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

/// The report of an array of an unpacked group.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum UnpackedArray {
    /// Its decoded values were written.
    Values(UnpackReport),
    /// Its stored integers were written with CF's attributes.
    ToCf(ToCfReport),
}

impl UnpackGroupJob {
    /// Unpacks `input` as `output`.
    #[must_use]
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self { unpack: UnpackJob::new(input, output), to_cf: false }
    }
}

impl Job for UnpackGroupJob {
    type Report = GroupReport<UnpackedArray>;

    fn places(&self) -> (&Path, &Path, bool) {
        self.unpack.places()
    }

    fn write(
        &self,
        destination: &Destination,
        runtime: &Runtime,
    ) -> Result<(Self::Report, Staged)> {
        let UnpackJob { input, output, .. } = &self.unpack;
        let nodes = tree::nodes_at(input)?;
        let staged = destination.stage()?;
        let arrays = each_array(&nodes, Some(staged.path()), runtime, |node| {
            let undecoded = match node.has_value_codecs().then(|| array_of(node)) {
                Some(Ok(_)) => {
                    let report = self.unpack(node, staged.path(), runtime)?;
                    return Ok(Outcome::Done { report: Box::new(report) });
                }
                Some(Err(error)) => Some(format!("it keeps its codecs, because {error:#}")),
                None => None,
            };
            let reason = node.caveat().or(undecoded);
            Ok(Outcome::Kept { reason: reason.unwrap_or_else(|| "no value codecs".to_owned()) })
        })?;
        if self.to_cf {
            refuse_if_none(&arrays).with_context(|| input.display().to_string())?;
        }
        let written = Output { destination, directory: staged.path(), transfer: Transfer::Copy };
        let warnings = written.complete(&nodes, &arrays, runtime)?;
        Ok((GroupReport { warnings, ..GroupReport::new(input, Some(output), arrays) }, staged))
    }
}

impl UnpackGroupJob {
    /// Unpacks an array of the group to its place in a directory.
    fn unpack(&self, node: &Node, directory: &Path, runtime: &Runtime) -> Result<UnpackedArray> {
        let (array, place) = (&*node.path, node.path.inside(directory)?);
        let UnpackJob { input, output, .. } = &self.unpack;
        let (input, output) = (below(input, array), output.join(array));
        let mut not_for_cf = None;
        if self.to_cf {
            let job = ToCfJob::new(&input, &output);
            match run_inside(&job, &place, runtime) {
                Ok(report) => return Ok(UnpackedArray::ToCf(report)),
                Err(error) => match error.downcast_ref::<NotForCf>() {
                    Some(NotForCf(reason)) => not_for_cf = Some(reason.clone()),
                    None => return Err(error),
                },
            }
        }
        let job = UnpackJob { input, output, ..self.unpack.clone() };
        let report = run_inside(&job, &place, runtime)?;
        Ok(UnpackedArray::Values(UnpackReport { not_for_cf, ..report }))
    }
}

/// Refuses a group with arrays to convert of which CF's attributes can express none.
fn refuse_if_none(arrays: &[ArrayOutcome<UnpackedArray>]) -> Result<()> {
    let mut refused = None;
    for one in arrays {
        match one.report() {
            Some(UnpackedArray::ToCf(_)) => return Ok(()),
            Some(UnpackedArray::Values(report)) => {
                let reason = report.not_for_cf.as_ref().map(|reason| (&one.array, reason));
                refused = refused.or(reason);
            }
            None => {}
        }
    }
    match refused {
        Some((array, reason)) => bail!(
            "{array}: {reason}; without --to-cf the group is unpacked to plain values, in which CF has no part"
        ),
        None => Ok(()),
    }
}

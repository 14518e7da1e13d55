//! Unpacking a group: arrays with value codecs are unpacked, everything else is copied.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;

use crate::array::source::array_at;
use crate::error::Result;
use crate::jobs::cf::{ToCfJob, ToCfReport};
use crate::jobs::runner::{Job, run_inside};
use crate::jobs::unpack::{UnpackJob, UnpackReport};
use crate::metadata::tree::{self, Node};
use crate::options::Compressor;
use crate::runtime::Runtime;
use crate::store::destination::Destination;
use crate::store::location::below;
use crate::store::staging::Staged;
use crate::store::transfer::Transfer;

/// Unpacks every array of a group that has value codecs. Everything else is copied, and consolidated metadata are
/// renewed.
#[derive(Clone, Debug)]
pub struct UnpackGroupJob {
    /// The group to read.
    pub input: PathBuf,
    /// The group to write.
    pub output: PathBuf,
    /// Writes the stored integers with CF's attributes, instead of the decoded values.
    pub to_cf: bool,
    /// Replaces a group at `output`, once the new one is whole.
    pub overwrite: bool,
    /// How the chunks of unpacked arrays are compressed.
    pub compressor: Compressor,
}

/// The report of an unpacked group.
#[derive(Debug, Serialize)]
pub struct UnpackGroupReport {
    /// The group that was read.
    pub input: String,
    /// The group that was written.
    pub output: String,
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
        let (input, output) = (input.into(), output.into());
        Self { input, output, to_cf: false, overwrite: false, compressor: Compressor::ZSTD }
    }
}

impl Job for UnpackGroupJob {
    type Report = UnpackGroupReport;

    fn places(&self) -> (&Path, &Path, bool) {
        (&self.input, &self.output, self.overwrite)
    }

    fn write(
        &self,
        destination: &Destination,
        runtime: &Runtime,
    ) -> Result<(UnpackGroupReport, Staged)> {
        let nodes = tree::nodes_at(&self.input)?;
        let staged = destination.stage()?;
        let arrays = tree::each_array(&nodes, Some(staged.path()), runtime, |node| {
            let place = staged.path().join(&node.path);
            let undecoded = array_at(&node.location).err().filter(|_| node.has_value_codecs());
            if node.has_value_codecs() && undecoded.is_none() {
                return self.unpack(node, &place, runtime);
            }
            let (array, input) = (node.path.clone(), self.input.display());
            let copied = node.copy(&place, Transfer::Copy, runtime);
            copied.with_context(|| format!("{input}: {array}"))?;
            let undecoded =
                undecoded.map(|error| format!("it keeps its codecs, because {error:#}"));
            Ok(UnpackedArray::Copied { array, caveat: node.caveat().or(undecoded) })
        })?;
        let (input, output) = (self.input.display().to_string(), self.output.display().to_string());
        Ok((UnpackGroupReport { input, output, arrays }, staged))
    }
}

impl UnpackGroupJob {
    /// Unpacks an array of the group to its place.
    fn unpack(&self, node: &Node, place: &Path, runtime: &Runtime) -> Result<UnpackedArray> {
        let array = node.path.clone();
        let (input, output) = (below(&self.input, &array), self.output.join(&array));
        if self.to_cf {
            let job = ToCfJob::new(input, output);
            let report = run_inside(&job, place, runtime).context(
                "without --to-cf the group is unpacked to plain values, in which CF has no part",
            )?;
            return Ok(UnpackedArray::ToCf { array, report: Box::new(report) });
        }
        let job = UnpackJob { compressor: self.compressor, ..UnpackJob::new(input, output) };
        let report = run_inside(&job, place, runtime)?;
        Ok(UnpackedArray::Unpacked { array, report: Box::new(report) })
    }
}

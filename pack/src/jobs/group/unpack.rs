//! Unpacking a group: arrays with value codecs are unpacked, everything else is copied.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::io::destination::{Destination, unwritten};
use crate::io::source::{Source, array_at, fill_check};
use crate::io::store::{Kind, Location, below};
use crate::io::transfer::Transfer;
use crate::io::tree::{self, Node};
use crate::io::unchanged::while_unchanged;
use crate::jobs::cf::{ToCfJob, ToCfReport};
use crate::jobs::pending::Pending;
use crate::jobs::unpack::{UnpackJob, UnpackReport};
use crate::options::Compressor;
use crate::runtime::Runtime;

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

    /// Unpacks the group.
    ///
    /// # Errors
    /// An array that cannot be read, or that CF's attributes cannot express; an output that cannot be written. Nothing
    /// is left behind.
    pub fn run(&self, runtime: &Runtime) -> std::result::Result<UnpackGroupReport, Error> {
        while_unchanged(&[&self.input], || self.prepare(runtime))?.commit()
    }

    fn prepare(&self, runtime: &Runtime) -> Result<Pending<UnpackGroupReport>> {
        let destination = Destination::new(&self.input, &self.output, self.overwrite)?;
        let shown = || self.input.display().to_string();
        let nodes = Location::new(&self.input).and_then(tree::nodes).with_context(shown)?;
        let staged = destination.stage()?;
        let count = nodes.iter().filter(|node| node.kind == Kind::Array).count();
        let progress = runtime.arrays(count);
        let mut arrays = Vec::new();
        for node in &nodes {
            if node.kind == Kind::Array {
                progress.next(&node.path);
            }
            let place = staged.path().join(&node.path);
            let undecoded = array_at(&node.location).err().filter(|_| node.has_value_codecs());
            let undecoded =
                undecoded.map(|error| format!("it keeps its codecs, because {error:#}"));
            if node.kind == Kind::Group {
                fs::create_dir_all(&place).map_err(|error| unwritten(error.into(), &node.path))?;
            } else if node.has_value_codecs() && undecoded.is_none() {
                fs::create_dir_all(&place).map_err(|error| unwritten(error.into(), &node.path))?;
                arrays.push(self.unpack(node, &place, runtime)?);
            } else {
                node.copy(&place, Transfer::Copy, runtime)
                    .with_context(|| format!("{}: {}", shown(), node.path))?;
                arrays.push(UnpackedArray::Copied {
                    array: node.path.clone(),
                    caveat: node.caveat().or(undecoded),
                });
            }
        }
        drop(progress);
        tree::write_groups(&nodes, staged.path())?;
        let report =
            UnpackGroupReport { input: shown(), output: self.output.display().to_string(), arrays };
        Ok(Pending::new(report, Some((destination, staged)), runtime))
    }

    /// Unpacks an array of the group into a directory.
    fn unpack(
        &self,
        node: &Node,
        place: &std::path::Path,
        runtime: &Runtime,
    ) -> Result<UnpackedArray> {
        let array = node.path.clone();
        let (input, output) = (below(&self.input, &array), self.output.join(&array));
        let source = Source::open_at(&input, node.location.clone(), fill_check(runtime))
            .with_context(|| input.display().to_string())?;
        if self.to_cf {
            let job = ToCfJob::new(input, output);
            let report = job.convert_into(&source, place, runtime).context(
                "without --to-cf the group is unpacked to plain values, in which CF has no part",
            )?;
            return Ok(UnpackedArray::ToCf { array, report: Box::new(report) });
        }
        let job = UnpackJob { compressor: self.compressor, ..UnpackJob::new(input, output) };
        let report = job.unpack_into(&source, place, runtime)?;
        Ok(UnpackedArray::Unpacked { array, report: Box::new(report) })
    }
}

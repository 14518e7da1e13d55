//! Unpacks arrays and groups: writes decoded values without value codecs.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use recast_kernels::ElementType;
use serde::Serialize;

use crate::array::region::Region;
use crate::array::source::{Source, array_of};
use crate::array::writer::{Encoding, Writer};
use crate::error::Result;
use crate::jobs::cf::{NotForCf, ToCfJob, ToCfReport};
use crate::jobs::job::{Job, run_inside};
use crate::jobs::tree::{ArrayOutcome, GroupReport, Outcome, Output, each_array};
use crate::json;
use crate::metadata::byte_codecs::Storage;
use crate::metadata::document::PROVENANCE;
use crate::metadata::tree::{self, Node};
use crate::options::{Compressor, ShardCodecs};
use crate::runtime::{Runtime, Workers};
use crate::store::destination::Destination;
use crate::store::links::OutsideLinks;
use crate::store::location::below;
use crate::store::staging::Staged;
use crate::store::transfer::Transfer;
use crate::text::as_shown;

/// Writes the decoded values of an array without value codecs, for readers that do not support them.
#[derive(Clone, Debug)]
pub struct UnpackJob {
    /// The array to read: Zarr v1, v2 or v3, with any codecs.
    pub input: PathBuf,
    /// The Zarr v3 array to write.
    pub output: PathBuf,
    /// Replaces an array at `output`, once the new one is complete.
    pub overwrite: bool,
    /// How the chunks of the output are compressed.
    pub compressor: Compressor,
}

/// The report of unpacking an array.
#[derive(Clone, Debug, Serialize)]
pub struct UnpackReport {
    /// The array that was read.
    pub input: String,
    /// The array that was written.
    pub output: String,
    /// Extents of the array.
    pub shape: Vec<u64>,
    /// The type of the values.
    #[serde(serialize_with = "json::written")]
    pub data_type: ElementType,
    /// The stored chunks of the input, if they can be counted.
    pub source_stored: Option<u64>,
    /// The stored chunks of the output.
    pub stored: u64,
    /// The time it took.
    pub seconds: f64,
    /// Why CF's attributes cannot express the array of a group, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_for_cf: Option<String>,
    /// The links that lead out of the input: what they lead to was read.
    #[serde(skip_serializing_if = "OutsideLinks::is_empty")]
    pub outside_links: OutsideLinks,
}

impl UnpackJob {
    /// Unpacks `input` as `output`.
    #[must_use]
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        let (input, output) = (input.into(), output.into());
        Self { input, output, overwrite: false, compressor: Compressor::ZSTD }
    }
}

impl Job for UnpackJob {
    type Report = UnpackReport;

    fn places(&self) -> (&Path, &Path, bool) {
        (&self.input, &self.output, self.overwrite)
    }

    fn write(
        &self,
        destination: &Destination,
        runtime: &Runtime,
    ) -> Result<(UnpackReport, Staged)> {
        let source = Source::open_for(runtime, &self.input)?;
        let staged = destination.stage()?;
        let started = Instant::now();
        let workers = Workers::within(runtime, [source.chunk_memory()])?;
        let mut attributes = source.array().attributes().clone();
        attributes.remove(PROVENANCE);
        let encoding = Encoding {
            element_type: source.element_type(),
            fill_value: source.fill_value(),
            codecs: &[],
            storage: Storage::named(self.compressor)?,
            shard_codecs: ShardCodecs::Auto,
        };
        let writer = Writer::new(&source, &encoding, attributes)?;
        let as_it_is = |_: &Region, elements| Ok(elements);
        let stored = writer.write_all(&source, staged.path(), "unpack", &workers, as_it_is)?;
        let report = UnpackReport {
            input: as_shown(&self.input),
            output: as_shown(&self.output),
            shape: source.array().shape().to_vec(),
            data_type: source.element_type(),
            source_stored: source.location().chunk_bytes(),
            stored,
            seconds: started.elapsed().as_secs_f64(),
            not_for_cf: None,
            outside_links: OutsideLinks::default(),
        };
        Ok((report, staged))
    }
}

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

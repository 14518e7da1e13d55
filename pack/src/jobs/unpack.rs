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
use crate::jobs::cf::{NotForCf, ToCfReport, to_cf};
use crate::jobs::job::{Job, write_inside};
use crate::jobs::tree::{ArrayOutcome, GroupReport, Outcome, Output, PathReport, each_array};
use crate::metadata::byte_codecs::Storage;
use crate::metadata::document::PROVENANCE;
use crate::metadata::tree::{self, Node};
use crate::options::{Compressor, ShardCodecs};
use crate::runtime::{Runtime, Workers};
use crate::store::destination::Destination;
use crate::store::links::OutsideLinks;
use crate::store::location::{below, is_group};
use crate::store::staging::Staged;
use crate::store::transfer::Transfer;
use crate::text::as_shown;

/// Unpacks the array or group at a path: writes the decoded values of an array without value codecs, for readers that do not support
/// them. Of a group, every array that has value codecs is unpacked, everything else is copied, and consolidated metadata are
/// renewed.
#[derive(Clone, Debug)]
pub struct UnpackJob {
    /// The array or group to read: Zarr v1, v2 or v3, with any codecs.
    pub input: PathBuf,
    /// The Zarr v3 array or group to write.
    pub output: PathBuf,
    /// Replaces an array or group at `output`, once the new one is complete.
    pub overwrite: bool,
    /// How the chunks of the output are compressed.
    pub compressor: Compressor,
    /// Writes the stored integers with CF's attributes `scale_factor`, `add_offset` and `_FillValue`, in place of the value
    /// codecs. An array of a group that these cannot express gets plain values; if none can be expressed, that is an error.
    pub to_cf: bool,
}

/// The report of an unpacked array.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum UnpackedArray {
    /// Its decoded values were written.
    Values(UnpackReport),
    /// Its stored integers were written with CF's attributes.
    ToCf(ToCfReport),
}

impl AsMut<OutsideLinks> for UnpackedArray {
    fn as_mut(&mut self) -> &mut OutsideLinks {
        match self {
            Self::Values(report) => report.as_mut(),
            Self::ToCf(report) => report.as_mut(),
        }
    }
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
    /// The links that lead out of the input; their targets were read.
    #[serde(skip_serializing_if = "OutsideLinks::is_empty")]
    pub outside_links: OutsideLinks,
}

impl UnpackJob {
    /// Unpacks `input` as `output`.
    #[must_use]
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        let (input, output) = (input.into(), output.into());
        Self { input, output, overwrite: false, compressor: Compressor::ZSTD, to_cf: false }
    }

    fn unpack_array(
        &self,
        destination: &Destination,
        runtime: &Runtime,
    ) -> Result<(UnpackedArray, Staged)> {
        if self.to_cf {
            let (report, staged) = to_cf(&self.input, &self.output, destination, runtime)?;
            return Ok((UnpackedArray::ToCf(report), staged));
        }
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
        Ok((UnpackedArray::Values(report), staged))
    }

    fn unpack_group(
        &self,
        destination: &Destination,
        runtime: &Runtime,
    ) -> Result<(GroupReport<UnpackedArray>, Staged)> {
        let Self { input, output, .. } = self;
        let nodes = tree::nodes_at(input)?;
        let staged = destination.stage()?;
        let arrays = each_array(&nodes, Some(staged.path()), runtime, |node| {
            let undecoded = match node.has_value_codecs().then(|| array_of(node)) {
                Some(Ok(_)) => {
                    let report = self.unpack_node(node, staged.path(), runtime)?;
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

    /// Unpacks an array of the group to its place in a directory.
    fn unpack_node(
        &self,
        node: &Node,
        directory: &Path,
        runtime: &Runtime,
    ) -> Result<UnpackedArray> {
        let (array, place) = (&*node.path, node.path.inside(directory)?);
        let (input, output) = (below(&self.input, array), self.output.join(array));
        let job = Self { input, output, ..self.clone() };
        let unpack = |job: &Self| {
            write_inside(&place, &job.output, |place| job.unpack_array(place, runtime))
        };
        let error = match unpack(&job) {
            Ok(report) => return Ok(report),
            Err(error) => error,
        };
        let Some(NotForCf(reason)) = error.downcast_ref() else { return Err(error) };
        let mut report = unpack(&Self { to_cf: false, ..job })?;
        if let UnpackedArray::Values(report) = &mut report {
            report.not_for_cf = Some(reason.clone());
        }
        Ok(report)
    }
}

impl Job for UnpackJob {
    type Report = PathReport<UnpackedArray>;

    fn places(&self) -> (&Path, &Path, bool) {
        (&self.input, &self.output, self.overwrite)
    }

    fn write(
        &self,
        destination: &Destination,
        runtime: &Runtime,
    ) -> Result<(Self::Report, Staged)> {
        if is_group(&self.input) {
            let (report, staged) = self.unpack_group(destination, runtime)?;
            return Ok((PathReport::Group(report), staged));
        }
        let (report, staged) = self.unpack_array(destination, runtime)?;
        Ok((PathReport::Array(Box::new(report)), staged))
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

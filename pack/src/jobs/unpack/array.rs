//! Unpacks an array: writes its decoded values without value codecs.

use std::path::{Path, PathBuf};
use std::time::Instant;

use recast_kernels::ElementType;
use serde::Serialize;

use crate::array::region::Region;
use crate::array::source::Source;
use crate::array::writer::{Encoding, Writer};
use crate::error::Result;
use crate::jobs::runner::Job;
use crate::json;
use crate::metadata::byte_codecs::Storage;
use crate::metadata::document::PROVENANCE;
use crate::options::{Compressor, ShardCodecs};
use crate::runtime::{Runtime, Workers};
use crate::store::destination::Destination;
use crate::store::links::OutsideLinks;
use crate::store::staging::Staged;
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

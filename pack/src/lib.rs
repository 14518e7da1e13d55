//! Packs Zarr arrays into small integers within an error bound, checks and unpacks them.
//!
//! This is the library behind the `recast` command. It leaves progress bars, rendering and exit codes to its caller. It
//! prints nothing, and never ends the process. With the feature `clap`, options are arguments of a command.
//!
//! ```
//! # use recast_pack::{AllClose, CompareJob, Job, PackJob, PackOptions, Runtime};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let input = folder.path().join("t2m.zarr");
//! # std::fs::create_dir_all(input.join("c"))?;
//! # std::fs::write(input.join("zarr.json"), r#"{"zarr_format": 3, "node_type": "array",
//! #     "shape": [4], "data_type": "float32", "fill_value": "NaN",
//! #     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
//! #     "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
//! #     "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}"#)?;
//! # let values = [271.25_f32, 280.5, f32::NAN, 301.75].map(f32::to_le_bytes);
//! # std::fs::write(input.join("c/0"), values.concat())?;
//! # let output = folder.path().join("packed.zarr");
//! let options = PackOptions { max_abs_error: Some(0.01), ..PackOptions::default() };
//! let runtime = Runtime::default();
//!
//! let report = PackJob::new(&input, &output, options).run(&runtime)?;
//! assert_eq!(report.counts.special.nan, 1);
//! assert!(report.error.errors.max <= 0.01);
//!
//! let tolerance = Some(AllClose { atol: 0.01, rtol: 0.0 });
//! let compared = CompareJob { tolerance, ..CompareJob::new(&input, &output) }.run(&runtime)?;
//! assert_eq!(compared.failure(), None);
//! # Ok(()) }
//! ```
//!
//! # Where things are
//! Jobs and their reports are at the root of the crate, the parts of reports in [`report`]. Inside, each folder uses only those before it:
//! `options` (how to pack), `store` (places: keys, bytes, staged output), `metadata` (codecs, types, groups), `recommend`
//! (recommendations of others), `array` (chunks of elements), `scan` (range and statistics of an array), `round` (rounds elements
//! that keep their type), `check` (checks decoded elements), `choose` (candidates for codecs), `suggest` (bounds that values
//! suggest), `jobs`.

#![forbid(unsafe_code)]

mod array;
mod check;
mod choose;
mod error;
mod jobs;
mod json;
mod metadata;
mod options;
mod recommend;
mod round;
mod runtime;
mod scan;
mod store;
mod suggest;
pub mod text;

pub use choose::choice::{Choice, Compared, choose, choose_checked};
pub use error::{Error, ErrorKind};
pub use jobs::cat::{CatFormat, cat};
pub use jobs::cf::{CfCodecs, FromCfReport, ToCfReport, codecs_from_cf};
pub use jobs::compare::{CompareJob, CompareReport, GroupComparison};
pub use jobs::group::ArrayReport;
pub use jobs::info::{ArrayInfo, GroupInfo, info};
pub use jobs::job::{DryRun, Job, Pending};
pub use jobs::migrate::{ArrayMigration, MigrateJob};
pub use jobs::pack::{PackJob, PackReport};
pub use jobs::rules::{ArrayRule, GroupJob};
pub use jobs::suggest::{SuggestFromBlocks, SuggestGroupReport, SuggestJob, SuggestReport};
pub use jobs::tree::{ArrayOutcome, GroupReport, Outcome, PathReport};
pub use jobs::unpack::{UnpackJob, UnpackReport, UnpackedArray};
pub use metadata::coordinates::{Described, coordinates};
#[cfg(feature = "clap")]
pub use options::Required;
#[cfg(feature = "clap")]
pub use options::arguments::data_types;
pub use options::{
    AllClose, Compressor, Limits, NanTo, OwnOptions, PackOptions, Reader, Requirement, ShardCodecs,
    ValueRange, scalar,
};
pub use recommend::Recommendations;
pub use round::rounder::Rounder;
pub use runtime::{Pass, Progress, Runtime};
pub use scan::survey::Survey;
pub use scan::surveyor::Surveyor;
pub use store::location::array_in;
pub use store::mount::{Mount, Visibility};
pub use store::staged_file::StagedFile;

/// The traits of storages that [`Mount`] takes, and some storages.
pub use zarrs::storage;

/// The parts of reports: counts, errors, the data of plots, and facts about values and readers.
pub mod report {
    pub use crate::check::coarse::CoarseBound;
    pub use crate::check::comparison::{Errors, Found};
    pub use crate::check::difference::Differences;
    pub use crate::check::dssim::Similarity;
    pub use crate::check::metrics::{GradientError, Metrics};
    pub use crate::check::recorded::RecordedBound;
    pub use crate::jobs::cf::CodeDifferences;
    pub use crate::jobs::compare::{CompareCounts, GroupTotal};
    pub use crate::jobs::info::CodecInfo;
    pub use crate::jobs::pack::{
        Bytes, ChunkAdvice, MergedNans, Missing, PackCounts, PackErrors, ScaleFrom, Suspect,
    };
    pub use crate::jobs::suggest::{Advised, Mark, Rung, Suggestion};
    pub use crate::metadata::shard_codecs::{Readers, Reading};
    pub use crate::options::Reached;
    pub use crate::recommend::Recommended;
    pub use crate::round::rounder::Rounded;
    pub use crate::round::seen::SeenRounding;
    pub use crate::scan::axes::Axis;
    pub use crate::scan::charts::{CellMap, Charts, Histogram, Plane};
    pub use crate::scan::counts::Counts;
    pub use crate::scan::lattice::Lattice;
    pub use crate::scan::valid::BeyondValid;
    pub use crate::store::links::{LinkedFolder, OutsideLink, OutsideLinks};
    pub use crate::suggest::information::Information;
    pub use crate::suggest::known::Known;
    pub use crate::suggest::sample::Sampled;
}

/// The README's example, compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

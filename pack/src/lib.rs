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
//! Jobs and their reports are at the root of the crate. Inside, each folder uses only those before it:
//! `options` (how to pack), `store` (places: keys, bytes, staged output), `metadata` (codecs, types, groups),
//! `array` (chunks of elements), `scan` (range and statistics of an array), `round` (rounds elements that stay of their
//! type), `check` (checks decoded elements), `choose` (candidates for codecs), `suggest` (what values say about bounds),
//! `jobs`.

#![forbid(unsafe_code)]

mod array;
mod check;
mod choose;
mod error;
mod jobs;
mod json;
mod metadata;
mod options;
mod round;
mod runtime;
mod scan;
mod store;
mod suggest;
pub mod text;

pub use check::coarse::CoarseBound;
pub use check::comparison::{Errors, Found};
pub use check::difference::Differences;
pub use check::dssim::Similarity;
pub use check::metrics::{GradientError, Metrics};
pub use check::recorded::RecordedBound;
pub use choose::choice::{Choice, choose, choose_checked};
pub use error::{Error, ErrorKind};
pub use jobs::cat::{CatFormat, cat};
pub use jobs::cf::{
    CfCodecs, CodeDifferences, FromCfJob, FromCfReport, ToCfJob, ToCfReport, codecs_from_cf,
};
pub use jobs::compare::{CompareCounts, CompareJob, CompareReport, GroupComparison, GroupTotal};
pub use jobs::group::ArrayReport;
pub use jobs::info::{ArrayInfo, CodecInfo, GroupInfo};
pub use jobs::job::{DryRun, Job, Pending};
pub use jobs::migrate::{ArrayMigration, MigrateJob, MigrateReport};
pub use jobs::pack::{
    Bytes, ChunkAdvice, MergedNans, Missing, PackCounts, PackErrors, PackJob, PackReport,
    ScaleFrom, Suspect,
};
pub use jobs::rules::{ArrayRule, GroupJob};
pub use jobs::suggest::{
    Mark, Rung, SuggestFromBlocks, SuggestGroupReport, SuggestJob, SuggestReport, Suggestion,
};
pub use jobs::tree::{ArrayOutcome, GroupReport, Outcome};
pub use jobs::unpack::{UnpackGroupJob, UnpackJob, UnpackReport, UnpackedArray};
pub use metadata::coordinates::{Described, companions, coordinates};
pub use metadata::shard_codecs::{Readers, Reading};
#[cfg(feature = "clap")]
pub use options::arguments::data_types;
pub use options::{
    AllClose, Compressor, NanTo, OwnOptions, PackOptions, Reader, ShardCodecs, ValueRange, scalar,
};
pub use round::rounder::{Rounded, Rounder};
pub use round::seen::SeenRounding;
pub use runtime::{Pass, Progress, Runtime};
pub use scan::charts::{CellMap, Charts, Grid, Histogram, Labels};
pub use scan::counts::Counts;
pub use scan::lattice::Lattice;
pub use scan::survey::Survey;
pub use scan::surveyor::Surveyor;
pub use store::links::{LinkedFolder, OutsideLink, OutsideLinks};
pub use store::location::{array_in, is_group};
pub use store::mount::{Mount, Visibility};
pub use store::staged_file::StagedFile;
pub use suggest::information::Information;
pub use suggest::known::Known;
pub use suggest::sample::Sampled;
/// The traits of storages that [`Mount`] takes, and some storages.
pub use zarrs::storage;

/// The README's example, compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

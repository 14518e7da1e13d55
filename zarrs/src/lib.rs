//! The Zarr codecs `cast_value` and `scale_offset` for [`zarrs`]: exact, fused, whole chunks and parts.
//!
//! ```
//! use std::sync::Arc;
//! use zarrs::array::{ArrayBuilder, ArraySubset, data_type};
//! use zarrs::storage::store::MemoryStore;
//! use zarrs_recast::{CastValue, ElementType, RecastCodec, ScaleOffset};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Temperatures in steps of 0.01, as int16; NaN becomes -32768 and comes back.
//! let mut builder = ArrayBuilder::new([4, 6], [2, 3], data_type::float32(), f32::NAN);
//! builder.array_to_array_codecs(vec![
//!     RecastCodec::from(ScaleOffset::default().offset(10).scale(100)).into(),
//!     RecastCodec::from(CastValue::new(ElementType::Int16).map(f32::NAN, i16::MIN)).into(),
//! ]);
//! let array = zarrs_recast::build(&builder, Arc::new(MemoryStore::new()), "/sst")?;
//! let array = zarrs_recast::fused(array); // both codecs in one pass
//! array.store_metadata()?;
//! let part = ArraySubset::from([0..2, 1..3]);
//! zarrs_recast::write(&array, &part, &[12.5_f32, f32::NAN, 13.0, 9.75])?;
//!
//! let read: Vec<f32> = array.retrieve_array_subset(&ArraySubset::from([0..2, 0..3]))?;
//! assert_eq!(read[1], 12.5);
//! assert!(read[0].is_nan() && read[2].is_nan());
//! # Ok(()) }
//! ```
//!
//! Arrays that exist need no code but [`register`]; their metadata name the codecs:
//!
//! ```
//! use zarrs::array::Array;
//! use zarrs::filesystem::FilesystemStore;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! zarrs_recast::register();
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goldens/so_cv_f32_to_i16_clamp/array.zarr");
//! let array = Array::open(FilesystemStore::new(folder)?.into(), "/")?;
//! let elements: Vec<f32> = zarrs_recast::read(&array, &array.subset_all())?;
//! # assert!(!elements.is_empty());
//! # Ok(()) }
//! ```
//!
//! # Features
//! The first two are on unless they are left out with `default-features = false`:
//! - `avx512`: kernels for AVX-512.
//! - `small-types`: arrays and encoded types `int2`, `int4`, `uint2`, `uint4` and the floats of 4, 6 and 8 bits.
//! - `async`: arrays on asynchronous stores read and write parts of chunks (it turns on zarrs' feature of
//!   that name). Without it, a program that turns on zarrs' own `async` gets whole chunks decoded for
//!   every part.
//!
//! zarrs' `microfloat`, `sharding` and `crc32c` are turned on always: without the first, zarrs reads the
//! fill value 1 of a `float8` array as the bits 0x01.
//!
//! # Registration
//! zarrs finds linked codecs by itself, so `use zarrs_recast as _;` is enough for `cast_value`,
//! `scale_offset` and `numcodecs.astype` (without any mention the linker drops the crate). Call
//! [`register`] to be independent of the linker, to win over other codecs of the same names, and to
//! read `numcodecs.fixedscaleoffset`, a name that zarrs has itself, exactly.
//!
//! # Fill values
//! zarrs does not tell codecs whether an array is created or opened, nor what stands before and after
//! them, so each codec judges the fill value that reaches it:
//!
//! - one that cannot be encoded is an error whenever elements are read or written (opening an array
//!   and reading chunks that are missing is not noticed by any codec);
//! - one that comes back from `cast_value` as another value is refused for writing, and ignored for
//!   reading, so that such arrays, which zarr-python writes, can be read;
//! - one that comes back from `scale_offset` with a rounding error is accepted.
//!
//! [`build`] and [`check`] refuse before anything is written what the first write would refuse.
//!
//! A missing chunk always reads as the array's fill value to the bit. To choose otherwise, give
//! [`BindOptions`] to an array; zarrs does not hand them on to the codecs inside a shard:
//!
//! ```
//! use zarrs::array::codec::api::CodecSpecificOptions;
//! use zarrs_recast::{BindOptions, FillCheck};
//! # fn f<T>(array: zarrs::array::Array<T>) -> zarrs::array::Array<T> {
//! let report = BindOptions::default().fill_check(FillCheck::Report);
//! let options = CodecSpecificOptions::default().with_option(report);
//! array.with_codec_specific_options(&options)
//! # }
//! ```
//!
//! # Parts of chunks
//! Both codecs work element by element, so reading a part of a chunk touches only its elements as far
//! as the codecs behind them can (`bytes`, `sharding_indexed`), and decodes only them in any case.
//! Writing a part does so too where zarrs is asked to (`CodecOptions::experimental_partial_encoding`);
//! otherwise zarrs reads, changes and writes the whole chunk, which for a lossy chain encodes the
//! elements around the part again. Codecs next to each other run as one when parts are read; [`fused`]
//! makes them do so for whole chunks, inside shards and outside.
//!
//! # Large arrays as a whole
//! Reading a large array spends less time on decoding than on new memory for the result.
//! [`read`] asks for memory of huge pages, as `NumPy` does, and is up to three times as fast as
//! `Array::retrieve_array_subset`.
//!
//! # Zarr v1
//! [`open_v1`] opens arrays of Zarr v1, which zarrs does not know.
//!
//! # Errors
//! name the codec, the element's index in what was read or written, its indices in the chunk, its
//! value, the reason and a way out. [`ElementError`] has them as data. zarrs does not tell codecs which
//! chunk they work on; [`read`] and [`write()`] add it. What zarrs says of an array that it does not open at
//! all, [`explain`] completes with what to enable.
//!
//! # Dependencies in signatures
//! [`zarrs`] is re-exported. A new minor version of it (0.24) is a new breaking version of this crate.

#![forbid(unsafe_code)]

mod bound;
mod check;
mod codec;
mod element_error;
mod explain;
mod fuse;
mod partial;
mod plugin;
mod read;
mod v1;
mod whole_shards;
mod write;

pub use check::{build, check};
pub use codec::RecastCodec;
pub use element_error::{ElementError, Operation};
pub use explain::explain;
pub use fuse::fused;
pub use plugin::register;
pub use read::read;
pub use v1::{V1Error, metadata_v2_from_v1, open_v1};
pub use write::write;
pub use zarr_recast::{
    AsType, BindOptions, CastError, CastValue, Codec, ElementType, FillCheck, FixedScaleOffset,
    FloatOverflow, JsonScalar, OutOfRange, Pairs, Reason, Rounding, Scalar, ScalarMap, ScaleOffset,
};
// Their types and traits are in signatures here.
pub use zarrs;

/// The README's example, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

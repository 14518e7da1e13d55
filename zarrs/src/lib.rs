//! The Zarr codecs `cast_value` and `scale_offset` for [`zarrs`]: exact, in one pass, for whole chunks and parts.
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
//!     RecastCodec::from(CastValue::new(ElementType::Int16).map_both(f32::NAN, i16::MIN)).into(),
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
//! Existing arrays need only [`register`], because their metadata name the codecs:
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
//! The first two are on by default:
//! - `avx512`: kernels for AVX-512.
//! - `small-types`: arrays and encoded types `int2`, `int4`, `uint2`, `uint4` and the floats of 4, 6 and 8 bits.
//! - `async`: arrays on asynchronous stores read and write parts of chunks (it turns on zarrs' feature `async`).
//!   If only zarrs' own `async` is on, whole chunks are decoded for every part.
//! - `transpose`: [`register`] replaces zarrs' codec `transpose`, which copies a byte at a time, by a faster one.
//!
//! zarrs' `microfloat`, `sharding` and `crc32c` are always on: without the first, zarrs reads the fill value 1
//! of a `float8` array as the bits 0x01.
//!
//! # Registration
//! zarrs finds linked codecs by itself, so `use zarrs_recast as _;` is enough for `cast_value`,
//! `scale_offset`, `numcodecs.astype`, `numcodecs.delta` and the data type `float8_e4m3fn`, which zarrs lacks (without any
//! mention the linker drops the crate). zarrs reads and writes elements of this type as `ArrayBytes`. Call
//! [`register`] to be independent of the linker, to replace other codecs with the same names, and to read
//! `numcodecs.fixedscaleoffset` exactly, which zarrs has too.
//!
//! In Zarr v2, elements are stored in the byte order that the last filter names. A filter whose `dtype` has another
//! order than the elements of the filter before is an error, because zarr-python takes their bytes for other numbers.
//! zarrs does not tell filters the array's order, so the first one's `dtype` must have it. A codec of zarrs
//! (`bitround`) behind a filter that changes the order is an error too: convert the array to Zarr v3 with
//! `recast migrate`.
//!
//! # Fill values
//! zarrs does not tell codecs whether an array is created or opened, or which codecs surround them. So each codec
//! checks the fill value that reaches it:
//!
//! - one that cannot be encoded is an error whenever elements are read or written (no codec runs when an array is
//!   opened or a whole missing chunk is read);
//! - one that `cast_value` changes is refused for writing and accepted for reading, because zarr-python writes such
//!   arrays;
//! - one that `scale_offset` changes by a rounding error is accepted, because the array may exist.
//!
//! [`build`] and [`check`] return the error of the first write before anything is written. [`build`], which is for new
//! arrays, also refuses a rounding error.
//!
//! A missing chunk always reads as the array's fill value, bit for bit. To change the checks, give [`BindOptions`]
//! to an array; zarrs does not pass them to the codecs inside a shard:
//!
//! ```
//! use zarrs::array::codec::api::CodecSpecificOptions;
//! use zarrs_recast::{BindOptions, FillCheck};
//! # fn f<T>(array: zarrs::array::Array<T>) -> zarrs::array::Array<T> {
//! let report = BindOptions::default().fill_check(FillCheck::ReportOnly);
//! let options = CodecSpecificOptions::default().with_option(report);
//! array.with_codec_specific_options(&options)
//! # }
//! ```
//!
//! # Parts of chunks
//! Both codecs work element by element. Reading a part of a chunk decodes only its elements, and reads only their
//! bytes if the codecs that follow can do so (`bytes`, `sharding_indexed`). Writing a part does the same with
//! `CodecOptions::experimental_partial_encoding`; otherwise zarrs reads, changes and writes the whole chunk, so a
//! lossy chain encodes the elements around the part again. (In shards with the index at the end, zarrs 0.23 then writes
//! a wrong checksum of the index if it overwrites inner chunks with fill values, also without codecs of this crate.)
//! Neighbouring codecs run in one pass when parts are
//! read; [`fused`] does the same for whole chunks, inside shards and outside.
//!
//! `numcodecs.delta` stores differences, so a part of a chunk needs all of it: the whole chunk is decoded.
//!
//! # Untrusted arrays
//! Whatever the elements and the metadata are, these codecs return values or an error: no panic, and memory in
//! proportion to the bytes that reach them. zarrs itself reads a stored chunk whole and decodes it to the size that the
//! compressor claims: a few bytes may ask for more memory than there is, which ends the process. The jobs of
//! `recast-pack` bound every decoder; other programs should limit the memory of the process.
//!
//! # Large arrays as a whole
//! Reading a large array takes more time for new memory than for decoding. [`read`] asks for huge pages, as `NumPy`
//! does, and is up to three times as fast as `Array::retrieve_array_subset`.
//!
//! # Zarr v1
//! [`open_v1`] opens arrays of Zarr v1, which zarrs does not support.
//!
//! # Errors
//! An error names the codec, the element's index, its value and indices, the reason and a way out. [`ElementError`] has them
//! as data. zarrs does not tell codecs which chunk they work on, or which codecs come before them. So an error of zarrs
//! has the value and the place that reach the codec: another place inside a shard, another value behind a codec
//! that runs on its own. [`write()`] names the element as it was given, its place in the array, and the chunk; [`read`] the
//! chunk, and the place in the array where it can. If zarrs cannot open an array, [`explain`] says what to enable.
//!
//! # Dependencies in signatures
//! [`zarrs`] is re-exported. A new minor version of it (0.24) is a breaking change of this crate.

#![forbid(unsafe_code)]

mod bound;
mod byte_order;
mod check;
mod codec;
mod delta;
mod element_error;
mod explain;
mod float8_e4m3fn;
mod fuse;
mod partial;
mod plugin;
mod read;
#[cfg(feature = "transpose")]
mod transpose;
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
    AsType, BindOptions, CastError, CastValue, Codec, ElementType, Entries, FillCheck,
    FixedScaleOffset, FloatOverflow, JsonScalar, OutOfRange, Reason, Rounding, Scalar, ScalarMap,
    ScaleOffset,
};
// Their types and traits are in this crate's signatures.
pub use zarrs;

/// The README's example, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

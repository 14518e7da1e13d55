//! The Zarr codecs `cast_value` and `scale_offset`: metadata in, a bound [`Chain`] out.
//!
//! Codecs are built from Rust values, or read from JSON, and bound once to a data type and a fill value.
//! Invalid metadata are refused there. The bound [`Plan`] of `recast-kernels` then runs over any number
//! of chunks or parts of chunks:
//!
//! ```
//! use zarr_recast::{BindOptions, CastValue, Chain, ElementType, OutOfRange, ScaleOffset};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Tenths of degrees from 5 on, as bytes; NaN becomes 255 and comes back.
//! let codecs = [
//!     ScaleOffset::default().offset(5).scale(10).into(),
//!     CastValue::new(ElementType::UInt8).out_of_range(OutOfRange::Clamp).map_both(f32::NAN, 255_u8).into(),
//! ];
//! let fill_value = f32::NAN.into();
//! let chain = Chain::bind(ElementType::Float32, Some(fill_value), &codecs, &BindOptions::default())?;
//! let encoded: Vec<u8> = chain.encoder().run_slice(&[6.5_f32, f32::NAN, 99.0])?;
//! assert_eq!(encoded, [15, 255, 255]);
//! assert_eq!(chain.decoder().run_slice::<u8, f32>(&[15])?, [6.5]);
//! # Ok(()) }
//! ```
//!
//! From the metadata of an array, with bytes for elements:
//!
//! ```
//! use zarr_recast::{BindOptions, Chain};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let chain = Chain::from_json(
//!     "float32",
//!     r#""NaN""#,
//!     r#"[{"name": "scale_offset", "configuration": {"offset": 5, "scale": 10}},
//!         {"name": "cast_value", "configuration": {
//!             "data_type": "uint8",
//!             "scalar_map": {"encode": [["NaN", 255]], "decode": [[255, "NaN"]]}}}]"#,
//!     &BindOptions::default(),
//! )?;
//! let decoded: Vec<u8> = [6.5_f32, f32::NAN].iter().flat_map(|x| x.to_ne_bytes()).collect();
//! let encoded = chain.encode(&decoded)?;
//! assert_eq!(encoded, [15, 255]);
//! assert_eq!(chain.decode(&encoded)?[..4], 6.5_f32.to_ne_bytes());
//! # Ok(()) }
//! ```
//!
//! [`semantics`] lists every decision where the Zarr specifications are silent, and the differences
//! from other implementations.
//!
//! # Features
//! The first two are on by default; `std` is required.
//! - `avx512`: kernels for AVX-512.
//! - `small-types`: chains with `int2`, `int4`, `uint2`, `uint4` and the floats of 4, 6 and 8 bits. Without it,
//!   binding such a chain is an error.
//! - `rayon`: `chain.encoder().par_run(…)` spreads elements over threads.
//!
//! # Dependencies in signatures
//! [`half`] (`f16` and `bf16` as elements) and [`bytemuck`] (the bound of [`Element`]) are re-exported;
//! `serde_json::Value` is used for parsed JSON. A new major version of one of them is a breaking change of
//! this crate.

#![forbid(unsafe_code)]

mod chain;
mod codec;
pub mod data_type;
mod error;
mod fill_check;
pub mod fill_value;
mod json;

pub use chain::{BindOptions, Chain, CodecPlace};
pub use codec::{AsType, CastValue, Codec, Entries, FixedScaleOffset, ScalarMap, ScaleOffset};
pub use error::{BindError, MetadataError, advice};
pub use fill_check::{FillCheck, Warning, WarningKind};
pub use fill_value::JsonScalar;
pub use json::Json;
pub use recast_kernels::{
    BuildError, CastError, Element, ElementType, FloatOverflow, Level, OutOfRange, ParseError,
    Plan, Reason, Rounding, RunError, Scalar,
};
// Their types and traits are in this crate's signatures: `f16`, `bf16` and `Pod`.
pub use recast_kernels::{bytemuck, half};

/// Other crates cannot write out structs that may grow:
///
/// ```compile_fail,E0639
/// let _ = recast_kernels::Affine { offset: None, scale: None, overflow: Default::default() };
/// ```
/// ```compile_fail,E0639
/// use recast_kernels::{ElementType, OutOfRange, Rounding};
/// let (rounding, out_of_range) = (Rounding::NearestEven, OutOfRange::Error);
/// let map = Default::default();
/// let _ = recast_kernels::Cast { target: ElementType::Int8, rounding, out_of_range, map };
/// ```
/// ```compile_fail,E0639
/// use recast_kernels::{ElementType, Reason, Scalar};
/// let x = Scalar::from(1_u8);
/// let (target, reason) = (ElementType::Int8, Reason::Nan);
/// let _ = recast_kernels::CastError { index: 0, input: x, value: x, target, step: 0, reason };
/// ```
/// ```compile_fail,E0639
/// let specials = recast_kernels::Specials::Ieee;
/// let _ = recast_kernels::FloatFormat { exponent_bits: 4, mantissa_bits: 3, bias: 7, specials };
/// ```
/// ```compile_fail,E0639
/// let (fill_check, float_overflow) = Default::default();
/// let (level, encoded_byte_order, place) = Default::default();
/// let _ = zarr_recast::BindOptions { fill_check, float_overflow, level, encoded_byte_order, place };
/// ```
/// ```compile_fail,E0639
/// let (kind, message) = (zarr_recast::WarningKind::FillChanged, String::new());
/// let _ = zarr_recast::Warning { kind, message, round_trip: None, suggestion: None };
/// ```
///
/// Levels have no order, and an ignored result of a write is reported:
///
/// ```compile_fail,E0277
/// fn ordered<T: PartialOrd>(_: T) {}
/// ordered(zarr_recast::Level::Scalar);
/// ```
/// ```compile_fail
/// #![deny(unused_must_use)]
/// zarr_recast::Scalar::from(1_u8).write_ne_bytes(&mut [0]);
/// ```
#[cfg(doctest)]
struct StabilityDoctests;

#[doc = include_str!("../docs/semantics.md")]
#[allow(clippy::doc_markdown)] // names of projects
pub mod semantics {}

/// The README's examples, run as doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;

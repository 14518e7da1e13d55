//! The Zarr codecs `cast_value` and `scale_offset`: metadata in, a bound [`Chain`] out.
//!
//! This crate reads data types, fill values and codec configurations from JSON and binds them once;
//! every refusal happens there. What runs afterwards is a [`Plan`] of `recast-kernels`, over any
//! number of chunks or parts of chunks:
//!
//! ```
//! use zarr_recast::Chain;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let chain = Chain::from_json(
//!     "float32",
//!     r#""NaN""#,
//!     r#"[{"name": "scale_offset", "configuration": {"offset": 5, "scale": 10}},
//!         {"name": "cast_value", "configuration": {
//!             "data_type": "uint8",
//!             "scalar_map": {"encode": [["NaN", 255]], "decode": [[255, "NaN"]]}}}]"#,
//! )?;
//! let decoded: Vec<u8> = [6.5_f32, f32::NAN].iter().flat_map(|x| x.to_ne_bytes()).collect();
//! let encoded = chain.encode(&decoded)?;
//! assert_eq!(encoded, [15, 255]);
//! assert_eq!(chain.decode(&encoded)?[..4], 6.5_f32.to_ne_bytes());
//! # Ok(()) }
//! ```
//!
//! `docs/semantics.md` has every decision where the Zarr specifications are silent, and the
//! differences from other implementations.

#![forbid(unsafe_code)]

mod chain;
mod codec;
pub mod data_type;
mod error;
mod fill_check;
pub mod fill_value;
mod json;

pub use chain::{BindOptions, Chain};
pub use codec::{AsType, CastValue, Codec, FixedScaleOffset, ScalarMap, ScaleOffset};
pub use error::{BindError, MetadataError};
pub use fill_check::{Diagnostic, DiagnosticKind, FillCheck};
pub use fill_value::JsonScalar;
pub use json::Json;
pub use recast_kernels::{
    BuildError, CastError, ElementType, FloatOverflow, Level, OutOfRange, Plan, Reason, Rounding,
    RunError, Scalar,
};

/// The README's examples, run as doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;

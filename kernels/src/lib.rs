//! Exact casts between the 27 numeric Zarr data types, with scalar maps, scale and offset.
//!
//! This crate turns bytes into bytes: it knows no JSON, no Zarr and no I/O. A [`Plan`] is built once
//! from [`Step`]s and then run over any number of slices:
//!
//! ```
//! use recast_kernels::{Cast, ElementType, OutOfRange, Plan};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let cast = Cast::new(ElementType::UInt8)
//!     .out_of_range(OutOfRange::Clamp)
//!     .map([(f32::NAN.into(), 0_u8.into())]);
//! let plan = Plan::builder(ElementType::Float32).cast(cast).build()?;
//!
//! let input: Vec<u8> = [1.5_f32, f32::NAN, 300.0].iter().flat_map(|x| x.to_ne_bytes()).collect();
//! let mut output = [0; 3];
//! plan.run(&input, &mut output)?;
//! assert_eq!(output, [2, 0, 255]);
//! # Ok(()) }
//! ```
//!
//! Typed slices go through [`cast`]. The result is the same to the bit on every [`Level`], and the
//! same as that of [`mod@reference`], which does one element at a time.
//!
//! # Features
//! All are on unless they are left out with `default-features = false`:
//! - `std`: the levels of the CPU are found when the program runs, and the environment is read. Without it, the
//!   crate needs `alloc` alone, and [`Level::is_available`] says which levels there are.
//! - `rayon`: `Plan::par_run`, which spreads a run over threads. Needs `std`.
//! - `avx512`: the kernels of [`Level::Avx512`].
//! - `scalar`: the kernels of [`Level::Scalar`] in programs for WebAssembly that are compiled for [`Level::Simd128`]; all others
//!   have them anyway.
//! - `small-types`: plans with `int2`, `int4`, `uint2`, `uint4` and the floats of 4, 6 and 8 bits. Without it
//!   these types are refused when a plan is built; [`Scalar`]s have them all the same.
//!
//! # Environment
//! `RECAST_LEVEL=scalar|avx2|avx512|neon|simd128` forces the level of plans that are not given one; other values are ignored.
//! See [`Level::selected`] and [`Level::forced`].
//!
//! # Dependencies in signatures
//! [`half`] (`f16` and `bf16` are elements) and [`bytemuck`] (the bound of [`Element`]) are re-exported. A
//! new major version of one of them is a new breaking version of this crate.

#![no_std]
// `ops`, `pipeline`, `simd` and much of `bind` are for registers that other architectures have not.
#![cfg_attr(
    not(any(target_arch = "aarch64", target_arch = "x86_64", target_feature = "simd128")),
    allow(dead_code, unused_imports, unused_variables)
)]

#[macro_use]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod bind;
mod element;
mod error;
mod evidence;
mod exact;
mod float_environment;
#[cfg(feature = "std")]
mod huge_pages;
mod infallible;
mod key_table;
mod level;
mod non_temporal;
mod ops;
mod pipeline;
mod plan;
pub mod reference;
mod scalar;
mod simd;
mod stages;
mod step;
#[cfg(feature = "serde")]
mod with_serde;

pub use element::{ElementType, FloatFormat, Format, Specials};
pub use error::{BuildError, CastError, ParseError, Reason, RunError};
pub use float_environment::in_default_environment;
#[cfg(feature = "std")]
pub use huge_pages::zeroed_in_huge_pages;
pub use level::Level;
pub use plan::{CastSliceError, Plan, PlanBuilder, cast};
pub use scalar::{Element, Scalar};
pub use step::{Affine, Cast, Entries, FloatOverflow, OutOfRange, Rounding, Step};
// Their types and traits are in signatures here: `f16`, `bf16` and `Pod`.
pub use {bytemuck, half};

#[cfg(recast_poison)]
std::thread_local! {
    /// The bytes of a thread's buffers before a stage fills them, in builds that test that no plan shows them
    /// (`.ci/asan.sh`).
    pub static POISON: core::cell::Cell<u8> = const { core::cell::Cell::new(0) };
}

/// The README's example, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

//! Arrays of the `zarrs` crate with both codecs: one program, for each links zarrs and the kernels.

mod asynchronous;
mod codecs;
mod common;
mod delta;
mod goldens;
mod matrix;
#[cfg(target_os = "linux")]
mod memory;
mod read;
mod transpose;
mod typed;
mod v1;
mod v2_filters;

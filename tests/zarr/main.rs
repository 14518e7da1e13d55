//! The tests of the Zarr layer: one program, for each links the kernels.

mod codec_metadata;
mod documentation;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[path = "../../kernels/tests/environments/mod.rs"]
mod environments;
mod fill_check;
mod float_environment;
mod half_and_arrow;
mod legacy_codecs;
mod metadata_documents;
mod peer_differences;
mod scalar_json;
mod specification_examples;
mod typed_chains;
mod zarr_cast_value;

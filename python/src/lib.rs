//! The extension module `zarr_recast._core`: `NumPy` arrays in, plans of `recast-kernels` over them,
//! `NumPy` arrays out. Everything numeric is in those plans.

// Doc comments of Python objects use Python's conventions.
#![allow(clippy::doc_markdown)]

mod arrays;
mod chain;
mod choosing;
mod dtypes;
mod errors;
mod functions;
mod jobs;
mod mounts;
mod plans;
mod progress;
mod rounding;
mod suggesting;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::arrays::as_array;
    #[pymodule_export]
    use crate::chain::{Chain, check_codec, scalar_from_json, scalar_to_json};
    #[pymodule_export]
    use crate::choosing::{Choice, Survey, Surveyor, choose, codecs_from_cf, coordinates};
    #[pymodule_export]
    use crate::functions::{
        cast_array, cast_array_into, scale_offset_decode, scale_offset_decode_into,
        scale_offset_encode, scale_offset_encode_into,
    };
    #[pymodule_export]
    use crate::jobs::{command, run_job};
    #[pymodule_export]
    use crate::mounts::Mounts;
    #[pymodule_export]
    use crate::rounding::Rounder;
    #[pymodule_export]
    use crate::suggesting::{Advisor, SuggestFromBlocks, check_options, displaced};
    use pyo3::exceptions::PyUserWarning;
    use pyo3::prelude::*;
    use std::ffi::CString;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        if let Err(error) = recast_kernels::Level::forced() {
            let message = CString::new(format!("{error}; the fastest level is used"))?;
            let category = module.py().get_type::<PyUserWarning>();
            PyErr::warn(module.py(), &category, &message, 1)?;
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("DATA_TYPES", crate::dtypes::names(module.py())?)
    }
}

//! The `recast` command: packs Zarr arrays within an error bound, explains them and unpacks them.

#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    zarr_recast_cli::run(&arguments).into()
}

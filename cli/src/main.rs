//! The `recast` command: packs Zarr arrays within an error bound, explains them and unpacks them.

#![forbid(unsafe_code)]

mod args;
mod failure;
mod raw;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

// Registers `scale_offset` and `cast_value` with zarrs.
use zarrs_recast as _;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return failure::usage(&error),
    };
    let result = match &cli.command {
        Command::Raw(arguments) => raw::run(arguments),
        _ => Err(anyhow::anyhow!("not built yet")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}

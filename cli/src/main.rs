//! The `recast` command: packs Zarr arrays within an error bound, explains them and unpacks them.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod failure;
mod groups;
mod manual;
mod progress;
mod raw;
mod render;
mod stream;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return failure::usage(&error),
    };
    failure::quiet_panics();
    let result = failure::guarded(|| match &cli.command {
        Command::Pack(arguments) => commands::pack(arguments),
        Command::Unpack(arguments) => commands::unpack(arguments),
        Command::Migrate(arguments) => commands::migrate(arguments),
        Command::Verify(arguments) => commands::verify(arguments),
        Command::Compare(arguments) => commands::compare(arguments),
        Command::Info(arguments) => commands::info(arguments),
        Command::Cat(arguments) => commands::cat(arguments),
        Command::Raw(arguments) => raw::run(arguments),
        Command::Completions(arguments) => manual::completions(arguments),
        Command::Man(arguments) => manual::page(arguments),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}

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
mod standard_output;
mod stream;

use std::process::ExitCode;

use clap::FromArgMatches;

use args::{Cli, Command};

fn main() -> ExitCode {
    let mut command = args::command();
    let matches = match command.try_get_matches_from_mut(std::env::args_os()) {
        Ok(matches) => matches,
        Err(error) => return failure::usage(&error),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return failure::usage(&error.format(&mut command)),
    };
    let name = matches.subcommand_name().unwrap_or_default();
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
        Err(error) => failure::report(&error, &command, name),
    }
}

//! The `recast` command as a function, for the program and for the Python package.

#![forbid(unsafe_code)]

mod args;
mod command_line;
mod commands;
mod failure;
mod manual;
mod progress;
mod raw;
mod render;
mod standard_output;
mod stream;

use std::ffi::OsString;

use clap::FromArgMatches;

use args::{Cli, Command};

pub use render::suggestion_text_and_html;

/// Runs the command with its name and its arguments; returns the exit status.
///
/// It replaces the signal handlers and the panic hook of the process.
#[must_use]
pub fn run(arguments: &[OsString]) -> u8 {
    command_line::keep(arguments);
    let mut command = args::command();
    let matches = match command.try_get_matches_from_mut(arguments.iter().map(negative_number)) {
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
        Command::Suggest(arguments) => commands::suggest(arguments),
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
        Ok(()) => 0,
        Err(error) => failure::report(&error, &command, name),
    }
}

/// An argument; a negative number such as `-1e+20` without the plus sign, behind which clap looks for a flag.
fn negative_number(argument: &OsString) -> OsString {
    match argument.to_str() {
        Some(text) if text.starts_with('-') && text.parse::<f64>().is_ok() => {
            text.replace('E', "e").replace("e+", "e").into()
        }
        _ => argument.clone(),
    }
}

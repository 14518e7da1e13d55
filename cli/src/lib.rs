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

/// An argument; a negative number such as `-1e+20` or `-1e-5` without a sign behind the `e`, where clap takes it for a flag.
fn negative_number(argument: &OsString) -> OsString {
    let text =
        argument.to_str().filter(|text| text.starts_with('-') && text.parse::<f64>().is_ok());
    let Some(text) = text else { return argument.clone() };
    let text = text.replace('E', "e").replace("e+", "e");
    text.split_once("e-")
        .map_or(text.clone(), |(mantissa, places)| divided(mantissa, places))
        .into()
}

/// A decimal fraction with its point so many places further left, digit by digit.
fn divided(number: &str, places: &str) -> String {
    let places: usize = places.parse().unwrap_or_default();
    let (sign, number) = number.split_at(usize::from(number.starts_with('-')));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole = format!("{}{whole}", "0".repeat((places + 1).saturating_sub(whole.len())));
    let (whole, moved) = whole.split_at(whole.len() - places);
    format!("{sign}{whole}.{moved}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_numbers_keep_their_value_and_have_no_second_sign() {
        for text in
            ["-1e-5", "-2E-05", "-4.9e-310", "-12345.678e-2", "-.5e-1", "-5.e-3", "-1e-0", "-1E+20"]
        {
            let number = negative_number(&text.into()).into_string().unwrap();
            assert_eq!(number.parse(), text.parse::<f64>(), "{text} as {number}");
            assert!(!number.get(1..).unwrap().contains(['-', '+', 'E']), "{text} as {number}");
        }
        for text in ["--missing", "-e", "-", "-1e-", "1e-5", "-e-5"] {
            assert_eq!(negative_number(&text.into()), text);
        }
    }
}

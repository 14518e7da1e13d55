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
use recast_kernels::Level;

use args::{Cli, Command};
use failure::UsageError;

pub use render::{Shown, suggestion_text_and_html};

/// Runs the command with its name and its arguments; returns the exit status.
///
/// It replaces the signal handlers and the panic hook of the process.
#[must_use]
pub fn run(arguments: &[OsString]) -> u8 {
    command_line::keep(arguments);
    let mut command = args::command();
    let matches = match command.try_get_matches_from_mut(attached(arguments)) {
        Ok(matches) => matches,
        Err(error) => return failure::usage(&error),
    };
    let mut cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return failure::usage(&error.format(&mut command)),
    };
    let name = matches.subcommand_name().unwrap_or_default();
    if let (Command::Pack(pack), Some((_, matches))) = (&mut cli.command, matches.subcommand()) {
        match pack.clone().separate(matches) {
            Ok(separate) => **pack = separate,
            Err(text) => return failure::report(&UsageError(text).into(), &command, name),
        }
    }
    failure::quiet_panics();
    #[cfg(unix)]
    failure::survive_large_files();
    let result = failure::guarded(|| {
        // A library goes on with the fastest level; who runs the command would believe in the other.
        Level::forced()?;
        run_command(&cli.command)
    });
    match result {
        Ok(()) => 0,
        Err(error) => failure::report(&error, &command, name),
    }
}

fn run_command(command: &Command) -> anyhow::Result<()> {
    match command {
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
    }
}

/// The option that takes a list of numbers.
const LIST: &str = "--missing";

/// The arguments, each number of a list attached to the option. Else clap takes `-1e-5` for a flag, or flags for values.
fn attached(arguments: &[OsString]) -> Vec<OsString> {
    let mut all = Vec::new();
    let mut rest = arguments.iter().peekable();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            all.push(argument.clone());
            all.extend(rest.cloned());
            break;
        }
        let first = all.len();
        while argument == LIST
            && let Some(value) = rest.next_if(|value| is_value(value))
        {
            let mut attached = OsString::from(format!("{LIST}="));
            attached.push(value);
            all.push(attached);
        }
        if all.len() == first {
            all.push(argument.clone());
        }
    }
    all
}

/// Whether an argument is no flag: it has no dash, or is a negative number.
fn is_value(argument: &OsString) -> bool {
    let bytes = argument.as_encoded_bytes();
    !bytes.starts_with(b"-") || argument.to_str().is_some_and(|text| text.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use recast_kernels::ElementType;
    use zarr_recast::JsonScalar;

    use super::*;

    fn parsed(options: &[&str]) -> args::Pack {
        let arguments = [&["recast", "pack", "in", "out"], options].concat();
        let arguments: Vec<OsString> = arguments.into_iter().map(OsString::from).collect();
        let cli = Cli::try_parse_from(attached(&arguments));
        let Ok(Cli { command: Command::Pack(pack) }) = cli else { panic!("{options:?}: {cli:?}") };
        *pack
    }

    /// Whatever the spelling, each option gets the number that the standard library reads in it.
    #[test]
    fn numbers_are_what_their_text_says() {
        let mantissas = ["0", "7", "12345.678", "4.9", ".5", "5.", "00.1", "9007199254740993"];
        let exponents = [
            "",
            "e0",
            "e5",
            "E5",
            "e+20",
            "E+20",
            "e-5",
            "E-05",
            "e-0",
            "e-324",
            "e-3000000000",
            "e-18446744073709551615",
            "e-18446744073709551616",
            "e-99999999999999999999",
        ];
        for (sign, mantissa, exponent) in ["", "-", "+"].into_iter().flat_map(|sign| {
            mantissas.into_iter().flat_map(move |mantissa| {
                exponents.into_iter().map(move |exponent| (sign, mantissa, exponent))
            })
        }) {
            let text = format!("{sign}{mantissa}{exponent}");
            let expected: f64 = text.parse().unwrap();
            let bits = |found: &JsonScalar| {
                let found = found.to_scalar(ElementType::Float64).unwrap();
                assert_eq!(found.to_f64().to_bits(), expected.to_bits(), "{text} as {found}");
            };
            for option in ["--offset", "--scale", "--src-min", "--src-max"] {
                let options = parsed(&[option, &text]).options;
                let found = [options.offset, options.scale, options.src_min, options.src_max];
                bits(found.iter().flatten().next().unwrap());
                let joined = format!("{option}={text}");
                assert_eq!(parsed(&[&joined]).options, parsed(&[option, &text]).options);
            }
            let options =
                parsed(&["--missing", &text, "-inf", &text, "--infinity", "-e", "1"]).options;
            assert!(options.infinity);
            assert_eq!(options.missing.len(), 3);
            bits(&options.missing[0]);
            bits(&options.missing[2]);
            let range = parsed(&["--range", &text, &text]).options.range.unwrap();
            bits(&range.least);
            if expected.is_sign_positive() {
                let options = parsed(&["-e", &text]).options;
                assert_eq!(options.max_abs_error, Some(expected), "{text}");
            }
        }
    }

    #[test]
    fn lists_end_at_flags_and_two_dashes() {
        let given =
            ["recast", "--missing", "-1e-5", "2", "-q", "-1", "--missing", "--", "--missing", "-1"];
        let given: Vec<OsString> = given.map(OsString::from).into();
        let expected = [
            "recast",
            "--missing=-1e-5",
            "--missing=2",
            "-q",
            "-1",
            "--missing",
            "--",
            "--missing",
            "-1",
        ];
        assert_eq!(attached(&given), expected);
    }
}

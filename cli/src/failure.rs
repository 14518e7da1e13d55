//! What the command says when it fails: one line on standard error, and its exit status.

use std::io;
use std::process::ExitCode;

use clap::error::ErrorKind;

/// Failed, or over the bound.
const FAILED: u8 = 1;
/// Wrong usage.
const USAGE: u8 = 2;

/// Arguments that make no sense together, as only the command itself can tell.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Prints what clap has to say: help as it is, an error on one line.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let asked_for = [
        ErrorKind::DisplayHelp,
        ErrorKind::DisplayVersion,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
    ];
    if asked_for.contains(&error.kind()) {
        // A reader of the help that has gone away needs no telling.
        let _ = error.print();
        return if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
    }
    let text = error.render().to_string();
    let problem = text.split("\nUsage:").next().unwrap_or_default();
    let problem = problem.split("\nFor more information").next().unwrap_or_default();
    eprintln!("recast: {}; see --help", one_line(problem.trim_start_matches("error: ")));
    ExitCode::from(USAGE)
}

/// Prints an error on one line; a reader of standard output that has gone away is none.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    eprintln!("recast: {}", one_line(&format!("{error:#}")));
    ExitCode::from(if error.is::<UsageError>() { USAGE } else { FAILED })
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Most characters of an error; what others write can repeat a whole document.
const LONGEST: usize = 1500;

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

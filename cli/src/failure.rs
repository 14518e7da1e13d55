//! What the command says when it fails: one line on standard error, and its exit status.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::error::ErrorKind as ClapErrorKind;
use recast_pack::ErrorKind;

use crate::stream::ReaderGone;

/// Failed, or over the bound.
const FAILED: u8 = 1;
/// Wrong usage.
const USAGE: u8 = 2;
/// Ended by Ctrl-C, as shells number it.
const INTERRUPTED: u8 = 130;

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
        ClapErrorKind::DisplayHelp,
        ClapErrorKind::DisplayVersion,
        ClapErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
    ];
    if asked_for.contains(&error.kind()) {
        // A reader of the help that has gone away needs no telling.
        let _ = error.print();
        return if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
    }
    eprintln!("recast: {}; see --help", clap_problem(error));
    ExitCode::from(USAGE)
}

/// What clap has to say of arguments that are wrong, on one line.
fn clap_problem(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let problem = text.split("\nUsage:").next().unwrap_or_default();
    let problem = problem.split("\nFor more information").next().unwrap_or_default();
    one_line(problem.trim_start_matches("error: "))
}

/// Leaves it to [`guarded`], here and in the library, to tell of a panic, unless a developer asks for its backtrace.
pub(crate) fn quiet_panics() {
    if std::env::var_os("RUST_BACKTRACE").is_none_or(|value| value == "0") {
        panic::set_hook(Box::new(|_| {}));
    }
}

/// Turns a panic, which is a mistake of this program, into an error.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Err(anyhow!("a mistake in recast: {}", text.unwrap_or("without a reason")))
    })
}

/// Prints an error on one line; a reader of standard output that has gone away is none.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if is_reader_gone(error) {
        return ExitCode::SUCCESS;
    }
    eprintln!("recast: {}", one_line(&format!("{error:#}")));
    ExitCode::from(status(error))
}

fn status(error: &anyhow::Error) -> u8 {
    let of_library = error.chain().find_map(|cause| cause.downcast_ref::<recast_pack::Error>());
    match of_library.map(recast_pack::Error::kind) {
        Some(ErrorKind::Options) => USAGE,
        Some(ErrorKind::Interrupted) => INTERRUPTED,
        None if error.is::<UsageError>() => USAGE,
        Some(ErrorKind::Failed) | None => FAILED,
    }
}

fn is_reader_gone(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inner.is_some_and(<dyn std::error::Error + Send + Sync>::is::<ReaderGone>)
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

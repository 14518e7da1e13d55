//! Failures: the text on standard error, and the exit status.

use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe};
#[cfg(unix)]
use std::sync::Arc;

use anyhow::{Result, anyhow};
use clap::error::ErrorKind as ClapErrorKind;
use recast_pack::ErrorKind;
use recast_pack::text::{shown, without_secrets};

use crate::standard_output::ReaderGone;

/// Failed, or over the bound.
const FAILED: u8 = 1;
/// Wrong usage.
const USAGE: u8 = 2;
/// Ended by Ctrl-C, as shells number it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Arguments that make no sense together; only the command itself can detect that.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// Prints the help, or an error with the usage, from clap.
pub(crate) fn usage(error: &clap::Error) -> u8 {
    let text = error.to_string();
    let public = without_secrets(&text);
    let printed = if public == text { error.print() } else { write!(io::stderr(), "{public}") };
    if error.use_stderr() {
        return USAGE;
    }
    match printed {
        // If the reader of the help has gone away, that is not an error.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => FAILED,
        _ => 0,
    }
}

/// Silences panics, which [`guarded`] reports, here and in the library, unless a developer asks for backtraces.
pub(crate) fn quiet_panics() {
    if std::env::var_os("RUST_BACKTRACE").is_none_or(|value| value == "0") {
        panic::set_hook(Box::new(|_| {}));
    }
}

/// Lets a write beyond the limit on the size of files fail, where the system would end the process.
#[cfg(unix)]
pub(crate) fn survive_large_files() {
    // Without a handler the signal still ends the process, as everywhere.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Turns a panic, which is a bug in this program, into an error.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Err(anyhow!("a bug in recast: {}", text.unwrap_or("without a reason")))
    })
}

/// Prints an error: a usage error as clap does, with the usage of the command, any other on one line, because line breaks are
/// shown as escapes. It is not an error if the reader of standard output has gone away.
pub(crate) fn report(error: &anyhow::Error, recast: &clap::Command, name: &str) -> u8 {
    if is_reader_gone(error) {
        return 0;
    }
    // It may quote a document, a name or a server.
    let text = shown(&shortened(&format!("{error:#}")));
    match status(error) {
        USAGE => {
            let mut command = recast.find_subcommand(name).unwrap_or(recast).clone();
            usage(&command.error(ClapErrorKind::ArgumentConflict, text))
        }
        status => {
            // If nothing can be written, the exit status still shows the failure.
            let _ = writeln!(io::stderr(), "recast: {text}");
            status
        }
    }
}

fn status(error: &anyhow::Error) -> u8 {
    let of_library = error.chain().find_map(|cause| cause.downcast_ref::<recast_pack::Error>());
    match of_library.map(recast_pack::Error::kind) {
        Some(ErrorKind::Options) => USAGE,
        Some(ErrorKind::Interrupted) => INTERRUPTED,
        None if error.is::<UsageError>() => USAGE,
        Some(ErrorKind::NotFound | ErrorKind::Exists | ErrorKind::Failed) | None => FAILED,
    }
}

fn is_reader_gone(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inner.is_some_and(<dyn std::error::Error + Send + Sync>::is::<ReaderGone>)
    })
}

/// An error has at most this many characters; messages of other crates can repeat a whole document.
const LONGEST: usize = 1500;

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

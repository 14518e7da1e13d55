//! Errors: one type for callers of the library, and the kinds that its modules distinguish.

use std::fmt;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

use anyhow::anyhow;

/// The result inside the library, before a job returns an error to its caller.
pub(crate) use anyhow::Result;

/// Why a job failed.
///
/// Its text names the value, the place and a way out. Causes follow by [`std::error::Error::source`].
#[derive(thiserror::Error)]
#[error(transparent)]
pub struct Error(#[from] anyhow::Error);

/// The kinds of an [`Error`], by what a caller can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The options make no sense, alone or together: no array can be packed with them.
    Options,
    /// [`crate::Runtime::interrupt`] was set.
    Interrupted,
    /// There is no array, group or file at a place that is read.
    NotFound,
    /// There is something at the place of the output.
    Exists,
    /// Everything else: the array, the place, the bound.
    Failed,
}

impl Error {
    /// The error inside the library.
    pub(crate) fn into_inner(self) -> anyhow::Error {
        self.0
    }

    /// The kind of the error, which says what a caller can do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::of(&self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// An error whose kind callers are told.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct OfKind {
    kind: ErrorKind,
    text: String,
}

impl ErrorKind {
    /// An error of this kind inside the library.
    pub(crate) fn error(self, text: impl Into<String>) -> anyhow::Error {
        OfKind { kind: self, text: text.into() }.into()
    }

    /// The kind of an error inside the library.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        error.downcast_ref::<OfKind>().map_or(Self::Failed, |error| error.kind)
    }
}

/// Refuses options.
pub(crate) fn usage<T>(text: impl Into<String>) -> Result<T> {
    Err(ErrorKind::Options.error(text))
}

/// Whether the caller asked the job to stop.
pub(crate) fn is_interrupted(error: &anyhow::Error) -> bool {
    ErrorKind::of(error) == ErrorKind::Interrupted
}

/// Whether an error is about the array at hand, so that others may be worked on: not the options', nor an interruption, nor a
/// full disk.
pub(crate) fn is_of_array(error: &anyhow::Error) -> bool {
    !matches!(ErrorKind::of(error), ErrorKind::Options | ErrorKind::Interrupted)
        && !is_disk_full(error)
}

/// Says what could not be written; if the disk is full, the place is closed, or the name is taken, also the way out.
pub(crate) fn unwritten(error: anyhow::Error, what: &dyn fmt::Display) -> anyhow::Error {
    use io::ErrorKind::{
        AlreadyExists, FileTooLarge, IsADirectory, NotADirectory, PermissionDenied, QuotaExceeded,
        ReadOnlyFilesystem, StorageFull,
    };
    let hint = kinds(&error).find_map(|kind| match kind {
        FileTooLarge => Some(
            " (make room, or name an OUTPUT elsewhere; ulimit -f shows the limit on the size of files)",
        ),
        QuotaExceeded | StorageFull => Some(" (make room, or name an OUTPUT elsewhere)"),
        PermissionDenied | ReadOnlyFilesystem => Some(" (name an OUTPUT elsewhere)"),
        AlreadyExists | IsADirectory | NotADirectory => Some(
            " (INPUT has a file and a folder of this name, or two names that are one where OUTPUT is; rename one)",
        ),
        _ => None,
    });
    let hint = hint.unwrap_or_default();
    error.context(format!("writing {what}{hint}"))
}

/// Whether nothing more can be written where the output is.
pub(crate) fn is_disk_full(error: &anyhow::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    kinds(error).any(|kind| matches!(kind, FileTooLarge | QuotaExceeded | StorageFull))
}

/// The array or group that could not be written to the end.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unwritten(String);

/// Names the array or group that was being written when the disk became full; the innermost only.
pub(crate) fn unless_room(error: anyhow::Error, output: &Path) -> anyhow::Error {
    if !is_disk_full(&error) || error.is::<Unwritten>() {
        return error;
    }
    error.context(Unwritten(output.display().to_string()))
}

/// The kinds of the system's errors in a chain of causes.
fn kinds(error: &anyhow::Error) -> impl Iterator<Item = io::ErrorKind> {
    error.chain().filter_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind()))
}

/// Whether the process has as many files open as it may.
pub(crate) fn is_out_of_files(error: &anyhow::Error) -> bool {
    // Errors of other crates hold the system's in ways of their own.
    let text = format!("{error:#}");
    text.contains("(os error 24)") || text.contains("(os error 23)")
}

/// Turns a panic into an error. Decoders of other crates panic on some broken chunks, for instance a shard
/// whose index points beyond the file.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Err(anyhow!("a codec failed: {}", text.unwrap_or("without a reason")))
    })
}

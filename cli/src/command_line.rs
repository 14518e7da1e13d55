//! The command line, for reports that show it. Inside Python, the process has another one.

use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;

use recast_pack::text::as_shown;

static ARGUMENTS: OnceLock<Vec<String>> = OnceLock::new();

/// Keeps the command's name and arguments, without secrets; those of the first call stay.
pub(crate) fn keep(arguments: &[OsString]) {
    let text = |argument: &OsString| as_shown(Path::new(argument));
    ARGUMENTS.get_or_init(|| arguments.iter().map(text).collect());
}

/// The command's name and arguments.
pub(crate) fn arguments() -> &'static [String] {
    ARGUMENTS.get().map_or(&[], Vec::as_slice)
}

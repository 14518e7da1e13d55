//! The job that migrates an array or a group.

use std::path::PathBuf;

use crate::options::Compressor;
use crate::store::location::url;
use crate::store::transfer::Transfer;

/// Turns an array of Zarr v1 or v2, or with `numcodecs.fixedscaleoffset` or `numcodecs.astype`, into Zarr v3 with
/// `scale_offset` and `cast_value`; or a group with everything in it.
///
/// Writes new metadata over the same chunks if that gives the same values. Every bit of every element is compared
/// before and after.
#[derive(Clone, Debug)]
pub struct MigrateJob {
    /// The array or group: Zarr v1, v2 or v3.
    pub input: PathBuf,
    /// The Zarr v3 array or group to write. `None` replaces the metadata of `input`, and keeps the old files as
    /// `NAME.bak`.
    pub output: Option<PathBuf>,
    /// Copies chunks instead of linking them.
    pub copy: bool,
    /// Decodes everything and encodes it again.
    pub reencode: bool,
    /// Replaces an array or group at `output`, once the new one is whole.
    pub overwrite: bool,
    /// How chunks that are encoded again are compressed.
    pub compressor: Compressor,
}

impl MigrateJob {
    /// Migrates `input` to `output`, or in place.
    #[must_use]
    pub fn new(input: impl Into<PathBuf>, output: Option<PathBuf>) -> Self {
        Self {
            input: input.into(),
            output,
            copy: false,
            reencode: false,
            overwrite: false,
            compressor: Compressor::ZSTD,
        }
    }

    /// How unchanged files get there.
    pub(super) fn transfer(&self) -> Transfer {
        let is_remote = self.output.as_deref().is_some_and(|output| url(output).is_some());
        if self.copy || is_remote { Transfer::Copy } else { Transfer::Link }
    }
}

//! An output at a URL: uploads the files of a directory, chunks first and metadata last, so that an unfinished array
//! does not open.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, anyhow, bail};

use super::local::Local;
use super::location::{
    EXISTS, Kind, Location, OUTSIDE, kind, refuse_outdated_copy, refuse_overlap, url,
};
use super::names::{DOCUMENTS, ZARR_JSON};
use super::remote::Remote;
use crate::error::Result;
use crate::runtime::{Runtime, Workers};

/// The object beside the chunks of an unfinished output.
const MARK: &str = ".recast-unfinished";

/// A checked place at a URL for an array or a group.
pub(super) struct Upload {
    remote: Remote,
    url: String,
    overwrite: bool,
}

impl std::fmt::Debug for Upload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upload").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Upload {
    /// Checks that an output may be written to a URL while `input` is read.
    pub(super) fn new(input: &Path, output: &str, overwrite: bool) -> Result<Self> {
        let place = output.trim_end_matches('/');
        if !place.starts_with("s3://") {
            bail!("cannot be written to; write to a directory, or to s3://BUCKET/PATH");
        }
        let (_, path) = place.trim_start_matches("s3://").split_once('/').unwrap_or_default();
        if path.is_empty() {
            bail!("OUTPUT must end in a name in the bucket; write s3://BUCKET/PATH");
        }
        if url(input).is_some() {
            refuse_overlap(input, Path::new(place))?;
        }
        let remote = Remote::new(place)?;
        let upload = Self { remote, url: place.to_owned(), overwrite };
        upload.refuse_present(|| kind(input))?;
        refuse_outdated_copy(Path::new(place), OUTSIDE)?;
        Ok(upload)
    }

    /// Refuses what is there, unless `--overwrite` replaces it by what is written. Whether anything is there.
    fn refuse_present(&self, written: impl FnOnce() -> Kind) -> Result<bool> {
        let keys = self.remote.keys()?;
        if keys.is_empty() {
            return Ok(false);
        }
        match (keys.iter().any(|key| key == MARK), self.overwrite) {
            (true, true) => {}
            (true, false) => bail!(
                "holds the objects of an unfinished run; if that run has ended, --overwrite \
                 removes them"
            ),
            (false, false) => bail!(EXISTS),
            (false, true) => {
                Location::new(Path::new(&self.url))?.kind()?.refuse_replacing(written())?;
            }
        }
        Ok(true)
    }

    /// The last part of the URL.
    pub(super) fn name(&self) -> &str {
        self.url.rsplit('/').next().unwrap_or_default()
    }

    /// Tests whether objects can be stored and removed there, before the work begins.
    pub(super) fn probe(&self) -> Result<()> {
        let probe = || {
            // That one could be stored is known then, and only it says what the objects beside it are.
            if self.remote.keys()?.iter().any(|key| key == MARK) {
                return Ok(());
            }
            let text = b"recast writes here soon\n".to_vec();
            self.remote.put(MARK, text, &AtomicBool::new(false))?;
            let removed = self.remote.remove(&[MARK.to_owned()]);
            removed.with_context(|| format!("nothing can be removed there; {MARK} is left"))
        };
        probe().with_context(|| format!("{}: cannot be written to", self.url))
    }

    /// Uploads all files of a directory. After a failure nothing is left, or the error says what is left.
    pub(super) fn commit(&self, directory: &Path, runtime: &Runtime) -> Result<()> {
        let replaces = self.refuse_present(|| kind(directory)).with_context(|| self.url.clone())?;
        // The name of the directory is that of this run.
        let mark = format!(
            "recast {} has not finished writing here: {}\n",
            env!("CARGO_PKG_VERSION"),
            directory.file_name().unwrap_or_default().display()
        );
        if let Err(error) = self.remote.put(MARK, mark.clone().into_bytes(), &runtime.interrupt) {
            // Nothing else has changed; readers ignore a mark that cannot be removed.
            let _ = self.remote.remove(&[MARK.to_owned()]);
            return Err(error.context(format!("{}: not written", self.url)));
        }
        let Err(error) = self.upload(directory, &mark, replaces, runtime) else { return Ok(()) };
        if !self.is_marked(&mark).unwrap_or(true) {
            let text = "not written: another run has begun to write there, and its objects stay";
            return Err(error.context(format!("{}: {text}", self.url)));
        }
        let lost = if replaces { "; what was there is already removed" } else { "" };
        let removed = self.remove_objects().and_then(|()| self.remote.remove(&[MARK.to_owned()]));
        Err(match removed {
            Ok(()) => error.context(format!("{}: not written{lost}", self.url)),
            Err(reason) => error.context(format!(
                "{}: not written{lost}; objects that could not be removed are left there; no \
                 reader takes them for an array ({reason:#})",
                self.url
            )),
        })
    }

    /// Whether the mark there is this one.
    fn is_marked(&self, mark: &str) -> Result<bool> {
        let found = Location::new(Path::new(&self.url))?.bytes(MARK)?;
        Ok(found.as_deref() == Some(mark.as_bytes()))
    }

    fn upload(
        &self,
        directory: &Path,
        mark: &str,
        replaces: bool,
        runtime: &Runtime,
    ) -> Result<()> {
        let files = Local::new(directory)?.files()?;
        let is_metadata = |key: &str| key.rsplit('/').next() == Some(ZARR_JSON);
        let (mut metadata, chunks): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|(key, _)| is_metadata(key));
        // Lower nodes come first, so that a group opens only when everything in it does.
        metadata.sort_by_key(|(key, _)| Reverse(key.matches('/').count()));
        if replaces {
            self.remove_objects()?;
        }
        let put = |(key, file): &(String, PathBuf)| -> Result<()> {
            let bytes = fs::read(file).with_context(|| file.display().to_string())?;
            self.remote.put(key, bytes, &runtime.interrupt)
        };
        let work = |number: u64| {
            let chunk = chunks.get(number as usize);
            put(chunk.ok_or_else(|| anyhow!("there is no file {number}"))?)
        };
        Workers::new(runtime)?.run("upload", chunks.len() as u64, work, |()| Ok(()))?;
        // Otherwise another run may have removed or replaced chunks of this one.
        if !self.is_marked(mark)? {
            bail!("the mark of this run has gone");
        }
        metadata.iter().try_for_each(put)?;
        self.remote.remove(&[MARK.to_owned()])
    }

    /// Removes everything there except the mark, metadata first.
    fn remove_objects(&self) -> Result<()> {
        let is_metadata = |key: &String| {
            let name = key.rsplit('/').next().unwrap_or_default();
            DOCUMENTS.contains(&name)
        };
        let mut keys = self.remote.keys()?;
        keys.retain(|key| key != MARK);
        let (metadata, others): (Vec<_>, Vec<_>) = keys.into_iter().partition(is_metadata);
        for keys in [metadata, others] {
            if !keys.is_empty() {
                self.remote.remove(&keys)?;
            }
        }
        Ok(())
    }
}

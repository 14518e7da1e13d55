//! An output in a store: uploads the files of a directory, in an order in which an unfinished array does not open.

use std::cmp::Reverse;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use zarrs::storage::WritableStorageTraits;

use super::location::{
    EXISTS, Kind, Location, OUTSIDE, kind, refuse_in_array, refuse_into_group,
    refuse_outdated_copy, refuse_overlap, url,
};
use super::mount::{Visibility, mounted};
use super::names::{DOCUMENTS, UNFINISHED, ZARR_JSON};
use super::schemes::{Scheme, WRITABLE};
use crate::error::{ErrorKind, Result};
use crate::runtime::{Runtime, Workers};

/// A checked place at a URL for an array or a group.
pub(super) struct Upload {
    location: Location,
    /// The storage of the location.
    writable: Arc<dyn WritableStorageTraits>,
    visibility: Visibility,
    overwrite: bool,
    runtime: Runtime,
}

impl std::fmt::Debug for Upload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upload").field("place", &self.location.path()).finish_non_exhaustive()
    }
}

impl Upload {
    /// Checks that an output may be written to a URL while `input` is read.
    pub(super) fn new(
        input: &Path,
        output: &str,
        overwrite: bool,
        runtime: &Runtime,
    ) -> Result<Self> {
        let place = output.trim_end_matches('/');
        let (writable, visibility) = match mounted(place)? {
            Some((mounted, _)) => {
                mounted.writable.context("this store can only be read; write to another one")?
            }
            None => (remote(place, runtime)?, Visibility::AtOnce),
        };
        let location = Location::new(Path::new(place))?;
        if url(input).is_some() {
            refuse_overlap(input, Path::new(place))?;
        }
        let upload = Self { location, writable, visibility, overwrite, runtime: runtime.clone() };
        let replaces = upload.refuse_present(|| kind(input))?;
        if !replaces && !runtime.into_group && url(input).is_some() {
            refuse_into_group(input, Path::new(place))?;
        }
        refuse_in_array(Path::new(place))?;
        refuse_outdated_copy(Path::new(place), OUTSIDE)?;
        Ok(upload)
    }

    /// Refuses a place that is taken, unless `--overwrite` replaces its content. Returns whether the place is taken.
    fn refuse_present(&self, written: impl FnOnce() -> Kind) -> Result<bool> {
        let keys = self.keys()?;
        if keys.is_empty() {
            return Ok(false);
        }
        if self.visibility == Visibility::Forever {
            let text = "exists, and this store can remove nothing; name another OUTPUT";
            return Err(ErrorKind::Exists.error(text));
        }
        match (keys.iter().any(|key| key == UNFINISHED), self.overwrite) {
            (true, true) => {}
            (true, false) => bail!(
                "holds the objects of an unfinished run; if that run has ended, --overwrite \
                 removes them"
            ),
            (false, false) => return Err(ErrorKind::Exists.error(EXISTS)),
            (false, true) => {
                self.location.kind()?.refuse_replacing(written())?;
            }
        }
        Ok(true)
    }

    /// Whether it takes keys that are no part of an array or a group.
    pub(super) fn takes_files(&self) -> bool {
        self.visibility != Visibility::OnCommit
    }

    /// The keys of all objects there, relative to it.
    fn keys(&self) -> Result<Vec<String>> {
        let keys = self.location.keys()?.context("it cannot be listed")?;
        Ok(keys.iter().map(ToString::to_string).collect())
    }

    /// Stores an object. An interruption ends the wait for the storage.
    fn put(&self, key: &str, bytes: Vec<u8>) -> Result<()> {
        self.runtime.check_interrupt()?;
        let stored = self.writable.set(&self.location.key(key)?, bytes.into());
        stored.or_else(|error| self.runtime.check_interrupt().and(Err(error.into())))
    }

    /// Removes objects; one that is missing is not an error.
    fn remove(&self, keys: &[String]) -> Result<()> {
        let keys = keys.iter().map(|key| self.location.key(key)).collect::<Result<Vec<_>>>()?;
        Ok(self.writable.erase_many(&keys)?)
    }

    /// Whether an object tells other runs that the output is unfinished.
    fn has_mark(&self) -> bool {
        match self.visibility {
            Visibility::AtOnce => true,
            Visibility::Forever | Visibility::OnCommit => false,
        }
    }

    /// Tests whether objects can be stored and removed there, before the work begins.
    pub(super) fn probe(&self) -> Result<()> {
        if !self.has_mark() {
            return Ok(());
        }
        let probe = || {
            // A mark is already there: storing works, and the mark must stay, because it shows that the rest is unfinished.
            if self.keys()?.iter().any(|key| key == UNFINISHED) {
                return Ok(());
            }
            let text = b"recast writes here soon\n".to_vec();
            let stored = self.put(UNFINISHED, text);
            let removed = self.unmark();
            stored?;
            removed.with_context(|| format!("nothing can be removed there; {UNFINISHED} is left"))
        };
        probe().context("cannot be written to")
    }

    /// Uploads all files of a directory. After a failure nothing is left, or the error names the objects that are left.
    pub(super) fn commit(&self, directory: &Path) -> Result<()> {
        let replaces = self.refuse_present(|| kind(directory))?;
        let keys = Location::new(directory)?.keys()?.unwrap_or_default();
        let mut keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        keys.sort_unstable();
        let workers = self.workers(directory, &keys).context("not written")?;
        // The name of the directory is that of this run.
        let mark = format!(
            "recast {} has not finished writing here: {}\n",
            env!("CARGO_PKG_VERSION"),
            directory.file_name().unwrap_or_default().display()
        );
        if let Err(error) = self.mark(&mark) {
            // Nothing else has changed; readers ignore a mark that cannot be removed.
            let _ = self.unmark();
            return Err(error.context("not written"));
        }
        let Err(error) = self.upload(directory, keys, &workers, &mark, replaces) else {
            return self.unmark().with_context(|| {
                format!("written, but {UNFINISHED} could not be removed there; remove it")
            });
        };
        if !self.is_marked(&mark).unwrap_or(true) {
            let text = "not written: another run has begun to write there, and its objects stay";
            return Err(error.context(text));
        }
        let lost = if replaces { "; what was there is already removed" } else { "" };
        let left = match self.visibility {
            // Chunks come before their metadata.
            Visibility::AtOnce => "are left there; what opens of them is complete",
            Visibility::Forever => {
                "are left there, as in every such store; what opens of them is complete"
            }
            Visibility::OnCommit => "are left in the transaction; do not commit it",
        };
        let removed = self.remove_objects().and_then(|()| self.unmark());
        Err(match removed {
            Ok(()) => error.context(format!("not written{lost}")),
            Err(reason) => error.context(format!(
                "not written{lost}; objects that could not be removed {left} ({reason:#})"
            )),
        })
    }

    fn mark(&self, mark: &str) -> Result<()> {
        if !self.has_mark() {
            return Ok(());
        }
        self.put(UNFINISHED, mark.to_owned().into_bytes())
    }

    fn unmark(&self) -> Result<()> {
        if !self.has_mark() {
            return Ok(());
        }
        self.remove(&[UNFINISHED.to_owned()])
    }

    /// Whether the mark there is this one.
    fn is_marked(&self, mark: &str) -> Result<bool> {
        if !self.has_mark() {
            return Ok(true);
        }
        Ok(self.location.bytes(UNFINISHED)?.as_deref() == Some(mark.as_bytes()))
    }

    /// The threads, each of which holds a file of the directory.
    fn workers(&self, directory: &Path, keys: &[String]) -> Result<Workers> {
        let mut largest = (0, "");
        for key in keys {
            largest = largest.max((fs::metadata(directory.join(key))?.len(), key));
        }
        Workers::holding(&self.runtime, largest.1, largest.0)
    }

    /// Uploads files of a directory.
    fn upload(
        &self,
        directory: &Path,
        keys: Vec<String>,
        workers: &Workers,
        mark: &str,
        replaces: bool,
    ) -> Result<()> {
        let (metadata, chunks) = split(keys, &[ZARR_JSON]);
        if replaces {
            self.remove_objects()?;
        }
        let put = |key: &String| -> Result<()> {
            let file = directory.join(key);
            let bytes = fs::read(&file).with_context(|| file.display().to_string())?;
            self.put(key, bytes)
        };
        let is_transaction = self.visibility == Visibility::OnCommit;
        if is_transaction {
            metadata.iter().rev().try_for_each(put)?;
        }
        let work = |number: u64| {
            let chunk = chunks.get(number as usize);
            put(chunk.ok_or_else(|| anyhow!("there is no file {number}"))?)
        };
        workers.run("upload", chunks.len() as u64, work, |()| Ok(()))?;
        if is_transaction {
            return Ok(());
        }
        // Otherwise another run may have removed or replaced chunks of this one.
        if !self.is_marked(mark)? {
            bail!("the mark of this run has gone");
        }
        metadata.iter().try_for_each(put)
    }

    /// Removes everything there except the mark: metadata first, or in a transaction last.
    fn remove_objects(&self) -> Result<()> {
        let mut keys = self.keys()?;
        keys.retain(|key| key != UNFINISHED);
        let (metadata, others) = split(keys, &DOCUMENTS);
        let both = match self.visibility {
            Visibility::OnCommit => [others, metadata],
            Visibility::AtOnce | Visibility::Forever => [metadata, others],
        };
        for keys in both {
            if !keys.is_empty() {
                self.remove(&keys)?;
            }
        }
        Ok(())
    }
}

/// The keys of metadata with these names, and all others. Lower nodes come first, so that a group opens only when everything
/// in it does.
fn split(keys: Vec<String>, documents: &[&str]) -> (Vec<String>, Vec<String>) {
    let is_metadata =
        |key: &String| documents.contains(&key.rsplit('/').next().unwrap_or_default());
    let (mut metadata, others): (Vec<_>, Vec<_>) = keys.into_iter().partition(is_metadata);
    metadata.sort_by_key(|key| Reverse(key.matches('/').count()));
    (metadata, others)
}

/// The storage of a URL of an object store.
fn remote(place: &str, runtime: &Runtime) -> Result<Arc<dyn WritableStorageTraits>> {
    let (scheme, rest) = Scheme::of(place)?;
    if !scheme.is_object_store() {
        bail!("cannot be written to; write to a directory, or to {WRITABLE}");
    }
    let (_, path) = rest.split_once('/').unwrap_or_default();
    if path.is_empty() {
        let (holder, form) = (scheme.holder(), scheme.form());
        bail!("OUTPUT must end in a name in the {holder}; write {form}");
    }
    connected(place, runtime)
}

#[cfg(feature = "object-store")]
fn connected(place: &str, runtime: &Runtime) -> Result<Arc<dyn WritableStorageTraits>> {
    Ok(Arc::new(super::remote::Remote::new(place)?.interrupted_by(&runtime.interrupt)))
}

#[cfg(not(feature = "object-store"))]
fn connected(_: &str, _: &Runtime) -> Result<Arc<dyn WritableStorageTraits>> {
    bail!(
        "this recast cannot write to URLs; build it with --features object-store, or write to \
         a directory"
    );
}

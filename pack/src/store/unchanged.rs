//! Whether inputs stay as they are while a job reads them.

use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use anyhow::anyhow;

use super::local::visit_below;
use super::location::{archive, url};
use crate::error::{Result, is_interrupted};

/// Does work that reads some inputs. If one of them changes meanwhile, that is the error, whatever else it leads to: the
/// first values read may not be those of a later pass.
pub(crate) fn while_unchanged<T>(inputs: &[&Path], work: impl FnOnce() -> Result<T>) -> Result<T> {
    let before: Vec<_> = inputs.iter().map(|input| state(input)).collect();
    let result = work();
    if result.as_ref().is_err_and(is_interrupted) {
        return result;
    }
    let changed = inputs.iter().zip(before).find(|(input, before)| state(input) != *before);
    let Some((changed, _)) = changed else { return result };
    Err(anyhow!(
        "{}: it has changed during the run (sizes or times of its files differ), so old and new \
         values would be mixed; nothing was written; run again when nothing writes to it",
        changed.display()
    ))
}

/// A number from the names, sizes and times of all files of an input. None if they are not known: a web server need not
/// tell them.
fn state(path: &Path) -> Option<u64> {
    if let Some(url) = url(path) {
        return state_of_url(url);
    }
    if let Some((archive, _)) = archive(path) {
        return Some(state_of_file("", &fs::metadata(archive).ok()?));
    }
    let mut state = 0_u64;
    // Their order does not matter.
    let add = |path: &Path, name: &str, _| {
        if let Ok(metadata) = fs::metadata(path)
            && !metadata.is_dir()
        {
            state = state.wrapping_add(state_of_file(name, &metadata));
        }
        Ok(())
    };
    visit_below(path, add).ok()?;
    Some(state)
}

#[cfg(feature = "object-store")]
fn state_of_url(url: &str) -> Option<u64> {
    let remote = super::remote::Remote::new(url).ok()?;
    let objects = remote.objects(&zarrs::storage::StorePrefix::root()).ok()?;
    let states =
        objects.iter().map(|one| hash((one.location.as_ref(), one.size, one.last_modified)));
    Some(states.fold(0, u64::wrapping_add))
}

#[cfg(not(feature = "object-store"))]
fn state_of_url(_: &str) -> Option<u64> {
    None
}

fn state_of_file(name: &str, metadata: &Metadata) -> u64 {
    hash((name, metadata.len(), metadata.modified().ok()))
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

//! New metadata beside chunks that stay where they are. At every moment there are metadata that fit the
//! chunks, the old ones or the new ones.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::array::Source;

/// The documents of an array, in all versions.
const DOCUMENTS: [&str; 5] = ["zarr.json", ".zarray", ".zattrs", "meta", "attrs"];
const NEW: &str = "zarr.json";

/// Writes a new `zarr.json`, and gives the old documents, which are returned, names that no reader
/// looks for.
pub(super) fn replace(source: &Source, text: &str) -> Result<Vec<String>> {
    let Some(folder) = source.location().directory() else {
        bail!("not a directory, so it cannot be changed in place; name an OUTPUT");
    };
    refuse_copies(&folder)?;
    let old: Vec<&str> = DOCUMENTS.into_iter().filter(|name| folder.join(name).is_file()).collect();
    let backup = |name: &str| folder.join(format!("{name}.bak"));
    for name in &old {
        if backup(name).symlink_metadata().is_ok() {
            bail!("{name}.bak exists, from another migration; move it away first");
        }
    }
    for name in &old {
        fs::copy(folder.join(name), backup(name)).with_context(|| format!("writing {name}.bak"))?;
        File::open(backup(name))?.sync_all()?;
    }
    let mut new = tempfile::Builder::new().prefix(".zarr.json.").tempfile_in(&folder)?;
    new.write_all(text.as_bytes())?;
    new.as_file().sync_all()?;
    #[cfg(unix)]
    {
        let permissions = old.first().map(|name| fs::metadata(folder.join(name)));
        if let Some(Ok(metadata)) = permissions {
            new.as_file().set_permissions(metadata.permissions())?;
        }
    }
    new.persist(folder.join(NEW)).context("writing zarr.json")?;
    for name in old.iter().filter(|name| **name != NEW) {
        fs::remove_file(folder.join(name)).with_context(|| format!("removing {name}"))?;
    }
    Ok(old.iter().map(|name| format!("{name}.bak")).collect())
}

/// Consolidated metadata of a group above would still be the old ones.
fn refuse_copies(folder: &Path) -> Result<()> {
    let folder = folder.canonicalize()?;
    let holds = |document: PathBuf| -> Option<PathBuf> {
        let json: Value = serde_json::from_slice(&fs::read(&document).ok()?).ok()?;
        let above = document.parent()?;
        let inside = folder.strip_prefix(above).ok()?.to_str()?.replace('\\', "/");
        let v3 = json.pointer("/consolidated_metadata/metadata").and_then(|list| list.get(&inside));
        let v2 = json.get("metadata").and_then(|list| list.get(format!("{inside}/.zarray")));
        v3.or(v2).map(|_| document.clone())
    };
    for above in folder.ancestors().skip(1) {
        let found = [".zmetadata", NEW].into_iter().find_map(|name| holds(above.join(name)));
        if let Some(document) = found {
            bail!(
                "{} has a copy of the metadata, which would no longer be true; migrate the whole group \
                 to an OUTPUT",
                document.display()
            );
        }
    }
    Ok(())
}

//! The names of metadata files and of files that are no content of a group, and paths that stay inside a store.

use std::fmt;
use std::ops::Deref;
use std::path::{Component, Path, PathBuf};

use anyhow::bail;

use super::staging::is_beside;
use crate::error::Result;

/// The metadata of a node of Zarr v3.
pub(crate) const ZARR_JSON: &str = "zarr.json";
/// Those of an array, of a group, their attributes, and a copy of all in a group, in Zarr v2.
pub(crate) const ZARRAY: &str = ".zarray";
pub(crate) const ZGROUP: &str = ".zgroup";
pub(crate) const ZATTRS: &str = ".zattrs";
pub(crate) const ZMETADATA: &str = ".zmetadata";
/// Those of an array and its attributes, in Zarr v1.
pub(crate) const META: &str = "meta";
pub(crate) const ATTRS: &str = "attrs";

/// The metadata files of a node, in all versions.
pub(crate) const DOCUMENTS: [&str; 7] = [ZARR_JSON, ZARRAY, ZGROUP, ZATTRS, ZMETADATA, META, ATTRS];

/// Those in the folder of a group: Zarr v1 has none.
pub(crate) const GROUP_DOCUMENTS: [&str; 5] = [ZARR_JSON, ZARRAY, ZGROUP, ZATTRS, ZMETADATA];

/// The object beside the chunks of an unfinished output.
pub(crate) const UNFINISHED: &str = ".recast-unfinished";

/// Whether a path in a group is of its content: not of what runs leave, nor of the repository of a dataset under version
/// control, which may hold all files once more.
pub(crate) fn is_content(path: &str) -> bool {
    let is_other = |name: &str| is_beside(name) || [UNFINISHED, ".git"].contains(&name);
    !path.split('/').any(is_other)
}

/// The folder that a path is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Deeper paths are no data, and going through them takes a stack for each folder.
const MOST_FOLDERS: usize = 256;

/// The path of a node or a file, relative to a place in a store; empty for the place itself. Names in zip files, on servers and
/// in consolidated metadata are those of strangers: none of these parts leads elsewhere, on any system.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SafePath(String);

impl SafePath {
    /// Checks a path without slashes at its ends.
    ///
    /// # Errors
    /// A part that is empty, consists of periods (as Zarr says), has a backslash, a colon behind a drive's letter or NUL.
    pub(crate) fn new(path: &str) -> Result<Self> {
        if path.is_empty() {
            return Ok(Self::default());
        }
        let mut folders = 0;
        for part in path.split('/') {
            let reason = match part.as_bytes() {
                [] => "it has an empty part",
                all if all.iter().all(|byte| *byte == b'.') => "a part of it is only periods",
                all if all.contains(&b'\\') => {
                    "it has a backslash, which separates folders on Windows"
                }
                all if all.contains(&0) => "it has a NUL character",
                [letter, b':', ..] if letter.is_ascii_alphabetic() => "it names a drive",
                _ if folders == MOST_FOLDERS => "it has more than 256 folders",
                _ => {
                    folders += 1;
                    continue;
                }
            };
            bail!(
                "{path:?} cannot be the path of a file or a node in a store, because {reason}; rename it, or remove it"
            );
        }
        Ok(Self(path.to_owned()))
    }

    /// A path below this one.
    pub(crate) fn join(&self, below: &Self) -> Self {
        match (self.is_empty(), below.is_empty()) {
            (true, _) => below.clone(),
            (_, true) => self.clone(),
            (false, false) => Self(format!("{self}/{below}")),
        }
    }

    /// The place of this path in a folder that is written to. It is checked once more, as it is the system that reads it now.
    pub(crate) fn inside(&self, folder: &Path) -> Result<PathBuf> {
        let is_inside = |part| matches!(part, Component::Normal(_));
        if !Path::new(&self.0).components().all(is_inside) {
            bail!("{:?} leads out of {}", self.0, folder.display());
        }
        Ok(if self.is_empty() { folder.to_owned() } else { folder.join(&self.0) })
    }
}

impl Deref for SafePath {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SafePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out_of_its_folder_on_any_system() {
        let deep = vec!["a"; MOST_FOLDERS + 1].join("/");
        let unsafe_paths = [
            "/",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "...",
            "../a",
            "a/..",
            "a/../../b",
            "a/./b",
            "\\",
            "a\\b",
            "..\\a",
            "\\\\host\\a",
            "C:",
            "C:a",
            "c:/a",
            "a/C:\\b",
            "a\0b",
            &deep,
        ];
        for path in unsafe_paths {
            let error = SafePath::new(path).unwrap_err().to_string();
            assert!(error.contains(&format!("{path:?}")) && error.contains("rename it"), "{error}");
        }
        let safe_paths = [
            "",
            "a",
            "a/b",
            "..a",
            "a..",
            ".zarray",
            "c/0/1",
            "0.0",
            "ä b",
            "2020-01-01T00:00",
            "10:30",
            "co:2",
        ];
        for path in safe_paths {
            let safe = SafePath::new(path).unwrap();
            let place = safe.inside(Path::new("out")).unwrap();
            assert_eq!(place, Path::new("out").join(path));
            assert_eq!(&*SafePath::default().join(&safe), path);
        }
        let [a, b] = ["a/b", "c"].map(|path| SafePath::new(path).unwrap());
        assert_eq!(&*a.join(&b), "a/b/c");
    }
}

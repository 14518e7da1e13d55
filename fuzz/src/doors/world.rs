//! A temporary folder with the input, a place for outputs, and files around that no job may touch.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::stores::{Entry, Store};

/// Stands for the folder's absolute path in names of entries and in links.
pub(super) const ROOT: &str = "%ROOT%";

/// Files up to this size are compared byte by byte, larger ones by their length.
const COMPARED: u64 = 1 << 20;

pub(super) struct World {
    root: TempDir,
    /// Far below the root, so that names with `..` stay in it.
    home: PathBuf,
}

/// An entry of a folder, as it was seen.
#[derive(PartialEq)]
pub(super) enum Seen {
    Folder,
    Link(PathBuf),
    File(u64, Vec<u8>),
    Other,
}

impl World {
    pub(super) fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let root = tempfile::Builder::new().prefix("recast-doors-").tempdir_in(parent).unwrap();
        let home = root.path().join("1/2/home");
        fs::create_dir_all(home.join("out")).unwrap();
        for folder in [root.path(), &root.path().join("1"), &root.path().join("1/2"), &home] {
            fs::create_dir(folder.join("canary")).unwrap();
            for name in ["canary/note", "zarr.json", ".zgroup", "note"] {
                fs::write(folder.join(name), "mine").unwrap();
            }
        }
        Self { root, home }
    }

    /// Where outputs go.
    pub(super) fn outputs(&self) -> PathBuf {
        self.home.join("out")
    }

    fn real(&self, name: &str) -> String {
        name.replace(ROOT, self.root.path().to_str().unwrap())
    }

    pub(super) fn place_file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.home.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Entries whose names lead out, or that cannot stand beside others, are left out.
    pub(super) fn place_folder(&self, name: &str, store: &Store) -> PathBuf {
        let folder = self.home.join(name);
        fs::create_dir(&folder).unwrap();
        for (name, entry) in store {
            if name.starts_with(['/', '%']) || name.split('/').any(|part| part == "..") {
                continue;
            }
            let path = folder.join(name);
            // Through a link that a trap set, it would lie elsewhere.
            let is_inside = path.ancestors().skip(1).take_while(|above| above.starts_with(&folder));
            if is_inside.into_iter().any(Path::is_symlink) {
                continue;
            }
            let parent = path.parent().unwrap_or(&folder);
            if fs::create_dir_all(parent).is_err() || fs::symlink_metadata(&path).is_ok() {
                continue;
            }
            let _exists = match entry {
                Entry::File(bytes) => fs::write(&path, bytes),
                Entry::Sparse(size) => fs::File::create(&path).and_then(|file| file.set_len(*size)),
                Entry::Fifo => mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).map_err(Into::into),
                Entry::Link(target) => symlink(self.real(target), &path),
                Entry::Folder => fs::create_dir(&path),
            };
        }
        folder
    }

    /// A zip file with the entries that such a file can hold.
    pub(super) fn zip(&self, store: &Store) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (number, (name, entry)) in store.iter().enumerate() {
            let name = self.real(name);
            let method = [CompressionMethod::Stored, CompressionMethod::Deflated][number % 2];
            let options = SimpleFileOptions::default().compression_method(method);
            let _refused = match entry {
                Entry::File(bytes) => {
                    zip.start_file(name, options).and_then(|()| Ok(zip.write_all(bytes)?))
                }
                Entry::Link(target) => zip.add_symlink(name, self.real(target), options),
                Entry::Folder => zip.add_directory(name, options),
                Entry::Sparse(_) | Entry::Fifo => Ok(()),
            };
        }
        zip.finish().unwrap().into_inner()
    }

    /// All that is there, but for the folder of outputs.
    pub(super) fn snapshot(&self) -> BTreeMap<PathBuf, Seen> {
        let mut seen = snapshot(self.root.path());
        let outputs = self.outputs();
        seen.retain(|path, _| !path.starts_with(&outputs));
        seen
    }
}

/// All that is below a path, and the path itself if it exists. Links are not followed.
pub(super) fn snapshot(path: &Path) -> BTreeMap<PathBuf, Seen> {
    let mut all = BTreeMap::new();
    let Ok(metadata) = fs::symlink_metadata(path) else { return all };
    let kind = metadata.file_type();
    let seen = if kind.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            all.extend(snapshot(&entry.unwrap().path()));
        }
        Seen::Folder
    } else if kind.is_symlink() {
        Seen::Link(fs::read_link(path).unwrap())
    } else if kind.is_file() {
        let size = metadata.len();
        Seen::File(size, if size > COMPARED { Vec::new() } else { fs::read(path).unwrap() })
    } else {
        Seen::Other
    };
    all.insert(path.to_owned(), seen);
    all
}

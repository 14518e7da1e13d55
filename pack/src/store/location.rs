//! Where arrays and groups are.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, anyhow, bail};
use serde_json::Value;
use zarrs::array::{Array, ArrayMetadata, ArraySubset};
use zarrs::storage::byte_range::ByteRange;
use zarrs::storage::{ReadableListableStorageTraits, ReadableStorageTraits, StoreKey, StorePrefix};

use super::limited::Limited;
use super::local::{Local, not_utf8};
use super::mount::mounted;
use super::names::{
    ATTRS, META, SafePath, ZARR_JSON, ZARRAY, ZATTRS, ZGROUP, ZMETADATA, is_content,
};
use super::nearest::{
    file_above, has_no, is_readable, no_directory, no_directory_in_zip, not_found,
};
use super::parse::{Document, parse};
#[cfg(feature = "object-store")]
use super::remote::Remote;
#[cfg(not(feature = "object-store"))]
use super::schemes::Scheme;
use super::zip::Zip;
use crate::error::{Error, ErrorKind, Result};

/// The kind of node at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Array,
    Group,
    Other,
}

/// The most bytes of a metadata document.
const LARGEST_DOCUMENT: u64 = 64 << 20;

/// So many folders are looked at for a node that may be meant.
const MOST_FOLDERS: usize = 100;

/// The bytes of a large value that are copied at once, if memory is limited.
pub(crate) const PIECE: u64 = 16 << 20;

/// Where the sizes of a storage's values are known before the values take memory.
#[derive(Clone)]
enum Sizes {
    /// The storage can be asked.
    Asked,
    /// The server answers a request with them first.
    #[cfg(feature = "object-store")]
    Answered(Arc<Remote>),
    /// Nowhere: the storage is of the program that uses this library.
    Unknown,
}

/// The error for an output that exists, without `--overwrite`.
pub(crate) const EXISTS: &str = "exists; --overwrite replaces it, if it is an array or a group";

/// For an output in a group whose consolidated metadata would become outdated.
pub(crate) const OUTSIDE: &str = "write that group as a whole, or to a place outside it";

impl Kind {
    /// Refuses to replace what is no node, and a group by an array or the other way round: that would be a slip of the
    /// path.
    pub(crate) fn refuse_replacing(self, written: Self) -> Result<()> {
        let text = match self {
            Self::Other => "exists and is not an array or a group; --overwrite replaces these only",
            Self::Group if written == Self::Array => {
                "is a group, and an array would replace everything in it; name a place in it, or \
                 remove it first"
            }
            Self::Array if written == Self::Group => {
                "is an array, and a group would replace it; name another place, or remove it first"
            }
            Self::Array | Self::Group => return Ok(()),
        };
        Err(ErrorKind::Exists.error(text))
    }
}

/// The place of an array or a group.
#[derive(Clone)]
pub(crate) struct Location {
    /// As errors and reports show it.
    path: PathBuf,
    storage: Arc<dyn ReadableListableStorageTraits>,
    sizes: Sizes,
    /// The directory of the storage, if it is one.
    root: Option<PathBuf>,
    /// The zip file of the storage, if it is one.
    zip: Option<Arc<Zip>>,
    /// The place inside the storage.
    node: SafePath,
    /// Whether the storage can list its keys.
    is_listable: bool,
    /// The paths of all nodes in a storage that cannot list its keys, once they are read.
    nodes: Arc<OnceLock<Vec<SafePath>>>,
}

impl Location {
    /// The place of a path: a directory, a `.zip` file, a path in one, or a URL, which may be of a mounted storage.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        if let Some(url) = url(path) {
            let Some((mounted, inside)) = mounted(url)? else { return Self::remote(url) };
            let location = Self::of(path, mounted.readable, mounted.is_listable).inside(inside)?;
            return Ok(Self { sizes: Sizes::Unknown, ..location });
        }
        if let Some((archive, inside)) = archive(path) {
            return Self::zip(path, &archive, &inside);
        }
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(not_found(path)),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                let file = file_above(path);
                Err(anyhow!(no_directory(file)).context(file.display().to_string()))
            }
            Err(error) => Err(error.into()),
            Ok(metadata) if !metadata.is_dir() => match array_above(path) {
                Some(array) => bail!("a file of the array {}; name the array", array.display()),
                None => bail!(no_directory(path)),
            },
            Ok(_) if path.to_str().is_none() => bail!("{}", not_utf8(path)),
            Ok(_) => {
                let storage = Arc::new(Local::new(path));
                Ok(Self { root: Some(path.to_owned()), ..Self::of(path, storage, true) })
            }
        }
    }

    /// The root of a storage.
    pub(crate) fn of(
        path: &Path,
        storage: Arc<dyn ReadableListableStorageTraits>,
        is_listable: bool,
    ) -> Self {
        let nodes = Arc::default();
        Self {
            path: path.to_owned(),
            storage,
            sizes: Sizes::Asked,
            root: None,
            zip: None,
            node: SafePath::default(),
            is_listable,
            nodes,
        }
    }

    /// A place in the storage of this one, under the same path.
    fn inside(self, node: &str) -> Result<Self> {
        Ok(Self { node: SafePath::new(node.trim_matches('/'))?, ..self })
    }

    /// A place at a URL.
    #[cfg(feature = "object-store")]
    fn remote(url: &str) -> Result<Self> {
        let remote = Arc::new(Remote::new(url)?);
        let location = Self::of(Path::new(url), remote.clone(), remote.is_listable());
        Ok(Self { sizes: Sizes::Answered(remote), ..location })
    }

    #[cfg(not(feature = "object-store"))]
    fn remote(url: &str) -> Result<Self> {
        Scheme::of(url)?;
        bail!(
            "this recast cannot read URLs; build it with --features object-store, or copy the \
             data to a directory or a zip file"
        );
    }

    /// A place in a zip file.
    fn zip(path: &Path, archive: &Path, inside: &str) -> Result<Self> {
        let zip = Arc::new(Zip::open(archive)?);
        let storage = Arc::clone(&zip) as Arc<dyn ReadableListableStorageTraits>;
        Self { zip: Some(zip), ..Self::of(path, storage, true) }.inside(inside)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn storage(&self) -> &Arc<dyn ReadableListableStorageTraits> {
        &self.storage
    }

    /// The same storage, which refuses to read a value of more bytes.
    pub(crate) fn limited(&self, most: u64) -> Arc<dyn ReadableListableStorageTraits> {
        let storage = Arc::clone(&self.storage);
        match &self.sizes {
            Sizes::Asked => Arc::new(Limited { storage, most }),
            #[cfg(feature = "object-store")]
            Sizes::Answered(remote) => Arc::new(remote.limited(most)),
            Sizes::Unknown => storage,
        }
    }

    /// The path of the node in the storage, as zarrs has it.
    pub(crate) fn node(&self) -> String {
        format!("/{}", self.node)
    }

    /// The file of a key, on the filesystem.
    pub(crate) fn file(&self, key: &StoreKey) -> Option<PathBuf> {
        Some(self.root.as_ref()?.join(&*SafePath::new(key.as_str()).ok()?))
    }

    /// Whether a link in the directory of the storage leads to the file of a key.
    pub(crate) fn is_behind_link(&self, key: &StoreKey) -> bool {
        let Some(mut place) = self.root.clone() else { return false };
        key.as_str().split('/').any(|part| {
            place.push(part);
            place.is_symlink()
        })
    }

    /// The directory, on the filesystem.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        self.node.inside(self.root.as_ref()?).ok()
    }

    /// The key of a name below this place.
    pub(crate) fn key(&self, name: &str) -> Result<StoreKey> {
        Ok(StoreKey::new(&*self.node.join(&SafePath::new(name)?))?)
    }

    /// Copies a key of a storage without files to what `make` opens. Returns its bytes; `None` if it is not there. With
    /// `in_pieces`, no value that is large is in memory as a whole.
    pub(crate) fn copy<W: Write>(
        &self,
        key: &StoreKey,
        in_pieces: bool,
        make: impl FnOnce() -> Result<W>,
    ) -> Result<Option<u64>> {
        if let Some(zip) = &self.zip {
            let Some(_) = zip.size_key(key)? else { return Ok(None) };
            return zip.copy(key, &mut make()?);
        }
        #[cfg(feature = "object-store")]
        if let Sizes::Answered(remote) = &self.sizes {
            return remote.copy(key, make);
        }
        // The size is another request to most storages.
        if in_pieces && self.storage.supports_get_partial() {
            let Some(size) = self.storage.size_key(key)? else { return Ok(None) };
            let mut copy = make()?;
            for start in (0..size).step_by(PIECE as usize) {
                let piece = ByteRange::FromStart(start, Some(PIECE.min(size - start)));
                let piece = self.storage.get_partial(key, piece)?;
                copy.write_all(&piece.context("it has gone while it was copied")?)?;
            }
            return Ok(Some(size));
        }
        let Some(bytes) = self.storage.get(key)? else { return Ok(None) };
        make()?.write_all(&bytes)?;
        Ok(Some(bytes.len() as u64))
    }

    /// A document at this place, as [`parse`] reads it; `None` if there is none.
    pub(crate) fn document(&self, name: &str) -> Result<Option<Document>> {
        let key = self.key(name)?;
        // Other folders may have its name.
        if self.file(&key).is_some_and(|file| file.is_dir()) {
            return Ok(None);
        }
        let text = self.limited(LARGEST_DOCUMENT).get(&key)?;
        text.map(|text| parse(&text, name == ZATTRS)).transpose().with_context(|| name.to_owned())
    }

    /// A place inside this one.
    pub(crate) fn child(&self, name: &SafePath) -> Self {
        Self { node: self.node.join(name), path: below(&self.path, name), ..self.clone() }
    }

    fn prefix(&self) -> Result<StorePrefix> {
        let slash = if self.node.is_empty() { "" } else { "/" };
        Ok(StorePrefix::new(format!("{}{slash}", self.node))?)
    }

    /// The names of the folders and of the files directly below, in order. Of a storage that cannot list them, the folders that
    /// lead to nodes.
    pub(crate) fn below(&self) -> Result<[Vec<SafePath>; 2]> {
        let prefix = self.prefix()?;
        let direct = |path: &str| -> Option<Result<SafePath>> {
            let name = path.strip_prefix(prefix.as_str())?;
            let name = name.split('/').next().filter(|name| !name.is_empty())?;
            is_content(name).then(|| SafePath::new(name))
        };
        if !self.is_listable {
            let folders = self.all_nodes()?.iter().filter_map(|path| direct(path));
            let folders = folders.collect::<Result<BTreeSet<_>>>()?;
            return Ok([folders.into_iter().collect(), Vec::new()]);
        }
        let below = self.storage.list_dir(&prefix)?;
        let folders = below.prefixes().iter().filter_map(|folder| direct(folder.as_str()));
        let files = below.keys().iter().filter_map(|file| direct(file.as_str()));
        let mut below: [Vec<SafePath>; 2] =
            [folders.collect::<Result<_>>()?, files.collect::<Result<_>>()?];
        for names in &mut below {
            names.sort_unstable();
        }
        Ok(below)
    }

    /// The paths of all nodes in a storage that cannot list its keys. They are read once, also for places inside this one.
    fn all_nodes(&self) -> Result<&[SafePath]> {
        if let Some(all) = self.nodes.get() {
            return Ok(all);
        }
        let all = self.consolidated()?.context(
            "a web server or a store without listing does not say what is in a group, and the group has no \
             consolidated metadata; name one of its arrays",
        )?;
        Ok(self.nodes.get_or_init(|| all))
    }

    /// The paths of the nodes that consolidated metadata at the root of the storage list, if this is that root.
    pub(crate) fn listed(&self) -> Vec<SafePath> {
        let is_root = self.node.is_empty();
        is_root.then(|| self.consolidated().ok()).flatten().flatten().unwrap_or_default()
    }

    /// The paths of all nodes in the storage, from the consolidated metadata at its root.
    fn consolidated(&self) -> Result<Option<Vec<SafePath>>> {
        let root = Self { node: SafePath::default(), ..self.clone() };
        let json = |name| -> Result<Value> {
            Ok(root.document(name)?.and_then(Document::ok).unwrap_or_default())
        };
        let document = json(ZARR_JSON)?;
        let copy = document.pointer("/consolidated_metadata/metadata").and_then(Value::as_object);
        if let Some(copy) = copy {
            return Ok(Some(copy.keys().map(|path| SafePath::new(path)).collect::<Result<_>>()?));
        }
        let document = json(ZMETADATA)?;
        let copy = document.get("metadata").and_then(Value::as_object);
        let is_node = |name: &str| [ZARRAY, ZGROUP].contains(&name);
        let node = |key: &String| {
            let (path, name) = key.rsplit_once('/')?;
            is_node(name).then(|| SafePath::new(path))
        };
        copy.map(|copy| copy.keys().filter_map(node).collect()).transpose()
    }

    /// The keys of everything below, relative to this place; `None` if the storage cannot list them.
    pub(crate) fn keys(&self) -> Result<Option<Vec<SafePath>>> {
        if !self.is_listable {
            return Ok(None);
        }
        let keys = self.storage.list_prefix(&self.prefix()?)?;
        Ok(Some(self.relative(&keys)?))
    }

    /// The keys of all chunks that an array of this place can have, relative to it.
    pub(crate) fn chunk_keys(&self, metadata: ArrayMetadata) -> Result<Vec<SafePath>> {
        let array = Array::new_with_metadata(Arc::clone(&self.storage), &self.node(), metadata)?;
        let chunks = ArraySubset::new_with_shape(array.chunk_grid_shape().to_vec());
        let chunks = chunks.indices();
        let keys: Vec<_> = chunks.iter().map(|chunk| array.chunk_key(&chunk)).collect();
        self.relative(&keys)
    }

    fn relative(&self, keys: &[StoreKey]) -> Result<Vec<SafePath>> {
        let prefix = self.prefix()?;
        let names = keys.iter().filter_map(|key| key.as_str().strip_prefix(prefix.as_str()));
        // What a server has for a folder itself is no file.
        let names = names.filter(|name| !name.is_empty());
        names.map(SafePath::new).collect()
    }

    /// The bytes of the array's chunks, without its metadata, if they can be counted.
    pub(crate) fn chunk_bytes(&self) -> Option<u64> {
        let mut bytes = self.storage.size_prefix(&self.prefix().ok()?).ok()?;
        for name in [ZARR_JSON, ZARRAY, ZATTRS, META, ATTRS] {
            let document = self.bytes(name).ok()?;
            bytes = bytes.saturating_sub(document.map_or(0, |bytes| bytes.len() as u64));
        }
        Some(bytes)
    }

    /// The stored bytes of a key, relative to this place.
    pub(crate) fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.storage.get(&self.key(name)?)?.map(Vec::from))
    }

    /// The kind of node here, without checking whether it is valid.
    pub(crate) fn kind(&self) -> Result<Kind> {
        Ok(self.node_document()?.map_or(Kind::Other, |(kind, ..)| kind))
    }

    /// That there is no node here, with the nearest names in a zip file, or what a path may mean that leads too high or too low.
    pub(crate) fn no_node(&self, text: &str) -> anyhow::Error {
        if let Some(missing) = self.missing_in_zip() {
            return ErrorKind::NotFound.error(missing);
        }
        let meant = self.node_below().or_else(|| self.file_below()).or_else(|| self.array_above());
        let meant = meant.map(|meant| format!("; {meant}")).unwrap_or_default();
        ErrorKind::NotFound.error(format!("{text}{meant}"))
    }

    /// The first part of a path in a zip file that is not there, with the nearest names, or is a file.
    fn missing_in_zip(&self) -> Option<String> {
        let zip = self.zip.as_ref()?;
        let mut folder = Self { node: SafePath::default(), ..self.clone() };
        let parts: Vec<&str> = self.node.split('/').filter(|part| !part.is_empty()).collect();
        for (number, part) in parts.iter().enumerate() {
            let [folders, _] = folder.below().ok()?;
            let names: Vec<String> = folders.iter().map(ToString::to_string).collect();
            if !names.iter().any(|name| name == part) {
                let mut places = self.path.ancestors().skip(parts.len() - number - 1);
                let place = places.next()?;
                let is_file = zip.size_key(&folder.key(part).ok()?).ok()?.is_some();
                return Some(if is_file {
                    format!("{} is {}", place.display(), no_directory_in_zip(place))
                } else {
                    has_no(&places.next()?.display().to_string(), part, &names)
                });
            }
            folder = folder.child(&SafePath::new(part).ok()?);
        }
        None
    }

    /// Whether looking around costs little.
    pub(crate) fn is_near(&self) -> bool {
        self.zip.is_some() || self.root.is_some()
    }

    /// The first node in the nearest folders below.
    fn node_below(&self) -> Option<String> {
        if !self.is_near() {
            return None;
        }
        let mut places = VecDeque::from([self.clone()]);
        let mut looked_at = 0;
        while let Some(place) = places.pop_front() {
            let [folders, _] = place.below().unwrap_or_default();
            for folder in folders {
                if looked_at == MOST_FOLDERS {
                    return None;
                }
                looked_at += 1;
                let child = place.child(&folder);
                match child.kind() {
                    Ok(Kind::Array) => {
                        return Some(format!("{} is an array", child.path.display()));
                    }
                    Ok(Kind::Group) => return Some(format!("{} is a group", child.path.display())),
                    Ok(Kind::Other) => places.push_back(child),
                    Err(_) => {}
                }
            }
        }
        None
    }

    /// The first file below, in a zip file, that a program can write as Zarr.
    fn file_below(&self) -> Option<String> {
        self.zip.as_ref()?;
        let keys = self.keys().ok()??;
        let path = keys.iter().map(|key| below(&self.path, key)).find(|path| is_readable(path))?;
        Some(format!("{} is {}", path.display(), no_directory_in_zip(&path)))
    }

    /// The array that the folder is a part of.
    fn array_above(&self) -> Option<String> {
        let array = self.is_near().then(|| array_above(&self.path)).flatten()?;
        Some(format!("{} is an array, and this is a part of it", array.display()))
    }

    /// The same with the document that makes it one, and the name of that; `None` if there is no node.
    pub(crate) fn node_document(&self) -> Result<Option<(Kind, &'static str, Document)>> {
        let has = |document: &Document, name: &str, value: Value| {
            document.as_ref().is_ok_and(|document| document.get(name) == Some(&value))
        };
        for name in [ZARR_JSON, ZARRAY, META, ZGROUP] {
            let Some(document) = self.document(name)? else { continue };
            let kind = match name {
                ZARR_JSON if has(&document, "node_type", "group".into()) => Kind::Group,
                ZGROUP => Kind::Group,
                // Other files may be called `meta`, too.
                META if !has(&document, "zarr_format", 1.into()) => continue,
                _ => Kind::Array,
            };
            return Ok(Some((kind, name, document)));
        }
        Ok(None)
    }
}

/// A path that is a URL.
pub(crate) fn url(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let (scheme, _) = text.split_once("://")?;
    let is_scheme = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_scheme.then_some(text)
}

/// A path below a path, which may be a URL.
pub(crate) fn below(path: &Path, name: &str) -> PathBuf {
    let Some((place, query)) = url(path).and_then(|url| url.split_once('?')) else {
        return path.join(name);
    };
    format!("{}/{name}?{query}", place.trim_end_matches('/')).into()
}

/// The path of an array in a group: `array` below `store`, which may be a directory, a zip file or a URL.
/// The query of a URL stays after the path.
///
/// ```
/// let path = recast_pack::array_in("https://host/data.zarr?key=1", "deep/t2m")?;
/// assert_eq!(path.to_str(), Some("https://host/data.zarr/deep/t2m?key=1"));
/// # Ok::<(), recast_pack::Error>(())
/// ```
///
/// # Errors
/// A path that leads out of the group, or is invalid.
pub fn array_in(store: impl AsRef<Path>, array: &str) -> std::result::Result<PathBuf, Error> {
    let inside = array.trim_matches('/');
    if inside.is_empty() || SafePath::new(inside).is_err() {
        return Err(
            anyhow!("{array:?} is not the path of an array in a group, such as deep/t2m").into()
        );
    }
    Ok(below(store.as_ref(), inside))
}

/// The group in which the array at a path lies, and another array of that group. None if there is no such path.
pub(crate) fn beside(path: &Path, array: &str) -> Option<(PathBuf, PathBuf)> {
    let group = match url(path) {
        Some(url) => {
            let (place, query) = url.split_once('?').map_or((url, None), |(a, b)| (a, Some(b)));
            let (group, _) = place.trim_end_matches('/').rsplit_once('/')?;
            query.map_or_else(|| group.to_owned(), |query| format!("{group}?{query}")).into()
        }
        None => match path.parent()? {
            folder if folder.as_os_str().is_empty() => PathBuf::from("."),
            folder => folder.to_owned(),
        },
    };
    let other = array_in(&group, array).ok()?;
    Some((group, other))
}

/// The zip file of a path, and the path in it.
pub(crate) fn archive(path: &Path) -> Option<(PathBuf, String)> {
    let is_zip = |path: &&Path| {
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"))
            && path.is_file()
    };
    let archive = path.ancestors().find(is_zip)?;
    let inside = path.strip_prefix(archive).ok()?;
    let parts = inside.components().map(|part| part.as_os_str().to_str());
    Some((archive.to_owned(), parts.collect::<Option<Vec<_>>>()?.join("/")))
}

/// The kind of node in a directory.
pub(crate) fn kind(path: &Path) -> Kind {
    Location::new(path).and_then(|location| location.kind()).unwrap_or(Kind::Other)
}

/// Refuses an output that is the input, or lies inside it or around it.
pub(crate) fn refuse_overlap(input: &Path, output: &Path) -> Result<()> {
    if output == input {
        bail!("OUTPUT is INPUT; write to another place");
    }
    if output.starts_with(input) {
        bail!("OUTPUT lies inside INPUT; write to another place");
    }
    if input.starts_with(output) {
        bail!("INPUT lies inside OUTPUT; write to another place");
    }
    Ok(())
}

/// Refuses to replace a place that the consolidated metadata of a group above name: readers believe this copy, which would
/// become outdated.
pub(crate) fn refuse_outdated_copy(place: &Path, way_out: &str) -> Result<()> {
    // A URL is none of a file system's paths, nor is a place that is free.
    let place = &place.canonicalize().unwrap_or_else(|_| place.to_owned());
    let holds = |above: &&Path| {
        let inside = place.strip_prefix(above).ok().and_then(Path::to_str);
        let inside = inside.unwrap_or_default().replace('\\', "/");
        // What cannot be read is no group for readers either.
        let copy = Location::new(above).and_then(|above| above.consolidated());
        copy.ok().flatten().is_some_and(|paths| paths.iter().any(|path| **path == *inside))
    };
    if let Some(group) = folders_above(place).find(|above| holds(above)) {
        bail!(
            "the group {} has consolidated metadata with a copy of the metadata here, which would \
             become outdated; {way_out}",
            group.display()
        );
    }
    Ok(())
}

/// Refuses to add a node to a group that the input is in, whose readers may lack the codecs of the node.
pub(crate) fn refuse_into_group(input: &Path, place: &Path) -> Result<()> {
    let holds_input = |above: &Path| input.starts_with(above);
    let Some(group) = outermost_group(place, holds_input) else { return Ok(()) };
    bail!(
        "lies in the group {}, which INPUT is in, and readers of that group may lack the codecs; name a place outside it, \
         or accept that with --into-group",
        group.display()
    );
}

/// The outermost group that a place is in, among the folders above it for which `is_asked` holds.
pub(crate) fn outermost_group(place: &Path, is_asked: impl Fn(&Path) -> bool) -> Option<&Path> {
    folders_above(place).filter(|above| is_asked(above) && kind(above) == Kind::Group).last()
}

/// Refuses a place in an array, where no reader looks for a node.
pub(crate) fn refuse_in_array(place: &Path) -> Result<()> {
    let Some(array) = array_above(place) else { return Ok(()) };
    bail!(
        "lies in the array {}, where no reader looks for an array or a group; name a place beside it",
        array.display()
    );
}

/// The array in whose folder a place is.
fn array_above(place: &Path) -> Option<&Path> {
    folders_above(place).find(|above| kind(above) == Kind::Array)
}

/// The folders above a place, the nearest first; of a URL, those that are URLs.
fn folders_above(place: &Path) -> impl Iterator<Item = &Path> {
    let is_url = url(place).is_some();
    place.ancestors().skip(1).take_while(move |above| !is_url || url(above).is_some())
}

/// Refuses to give Zarr v3 to an older node in a folder that is an older group: readers see nodes of the group's own version
/// only.
pub(crate) fn refuse_hidden(place: &Path, way_out: &str) -> Result<()> {
    let has = |folder: &Path, name: &str| folder.join(name).is_file();
    if has(place, ZARR_JSON) {
        return Ok(());
    }
    // A link may lead from one group to another.
    for place in [std::path::absolute(place)?, place.canonicalize()?] {
        if let Some(group) =
            place.parent().filter(|above| has(above, ZGROUP) && !has(above, ZARR_JSON))
        {
            bail!(
                "the group {} is Zarr v2, and its readers would not see a node of Zarr v3; {way_out}",
                group.display()
            );
        }
    }
    Ok(())
}

/// Whether there is a group at a path; false if that cannot be determined.
pub(crate) fn is_group(path: &Path) -> bool {
    kind(path) == Kind::Group
}

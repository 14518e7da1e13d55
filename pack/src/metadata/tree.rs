//! The nodes of a group, with their metadata as Zarr v3.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, FileType};
use std::path::Path;

use anyhow::{Context, Error};
use recast_kernels::ElementType;
use serde_json::{Map, Value, json};
use zarr_recast::data_type;

use super::chunk_names::ChunkNames;
use super::codecs::{CodecList, SHARDING};
use super::document::{name_dimensions, object, refuse_no_node, with_members};
use super::v2::{InvalidV2, document_of_v2, older_array, older_attributes};
use crate::error::{Result, unwritten};
use crate::runtime::Runtime;
use crate::store::local::visit_below;
use crate::store::location::{Kind, Location};
use crate::store::names::{
    ATTRS, DOCUMENTS, GROUP_DOCUMENTS, META, SafePath, ZARR_JSON, ZATTRS, ZMETADATA, is_content,
};
use crate::store::transfer::{Transfer, transferred};

/// The version of a node's metadata.
pub(crate) enum NodeFormat {
    V3,
    /// A folder without a document, with nodes in it. As a group of an output it has one, because readers of consolidated
    /// metadata look for it.
    Implicit,
    /// Zarr v1 or v2, as Zarr v3 in the node's document.
    Older,
    /// Zarr v1 or v2 that Zarr v3 cannot express, with the reason. The array is only copied.
    Inexpressible(Error),
}

/// A node of a group.
pub(crate) struct Node {
    /// The path below the group, without slashes at its ends; empty for the group itself.
    pub(crate) path: SafePath,
    pub(crate) location: Location,
    pub(crate) kind: Kind,
    /// The metadata as Zarr v3; of an array that Zarr v3 cannot express, those of Zarr v2, with the names that Zarr v3 has
    /// for types and attributes.
    pub(crate) document: Map<String, Value>,
    pub(crate) format: NodeFormat,
    /// Whether the group has consolidated metadata.
    pub(crate) is_consolidated: bool,
    /// The paths of a group's files that belong to no node, relative to it.
    pub(crate) files: Vec<SafePath>,
}

impl Node {
    /// Whether its metadata are of no older version.
    pub(crate) fn is_v3(&self) -> bool {
        matches!(self.format, NodeFormat::V3 | NodeFormat::Implicit)
    }

    /// The sentence that a report must have about an array that stays Zarr v2.
    pub(crate) fn caveat(&self) -> Option<String> {
        match &self.format {
            NodeFormat::V3 | NodeFormat::Implicit | NodeFormat::Older => None,
            NodeFormat::Inexpressible(reason) => Some(format!(
                "it stays Zarr v2, so readers of the group do not see it and it must be opened by itself: {reason:#}"
            )),
        }
    }

    /// The fault in the metadata of an array of an older version, if there is one.
    pub(crate) fn invalid(&self) -> Option<&InvalidV2> {
        match &self.format {
            NodeFormat::Inexpressible(reason) => reason.downcast_ref(),
            NodeFormat::V3 | NodeFormat::Implicit | NodeFormat::Older => None,
        }
    }

    /// Whether an array has value codecs, also inside shards.
    pub(crate) fn has_value_codecs(&self) -> bool {
        CodecList::of(&self.document).has_value_codecs()
    }

    /// The type of an array's elements, if it is numeric.
    pub(crate) fn element_type(&self) -> Option<ElementType> {
        data_type::from_json(self.document.get("data_type")?).ok()
    }

    /// The name of an array's type, if it is not numeric.
    pub(crate) fn type_without_numbers(&self) -> Option<String> {
        let data_type = self.document.get("data_type").unwrap_or(&Value::Null);
        let name = data_type.get("name").unwrap_or(data_type);
        let text = || name.as_str().map_or_else(|| name.to_string(), str::to_owned);
        self.element_type().is_none().then(text)
    }

    /// Whether an array has shards.
    pub(crate) fn has_shards(&self) -> bool {
        CodecList::of(&self.document).contains(SHARDING)
    }

    /// The keys of an array's documents and chunks, relative to it; if the storage cannot list them, those that it may
    /// have.
    fn keys(&self) -> Result<Vec<SafePath>> {
        if let Some(keys) = self.location.keys()? {
            return Ok(keys);
        }
        // An array of bytes on the same grid has the same keys, and a type and codecs that zarrs knows.
        let mut stand_in = match self.format {
            NodeFormat::V3 | NodeFormat::Implicit | NodeFormat::Older => self.document.clone(),
            NodeFormat::Inexpressible(_) => {
                let mut array = Value::from(self.document.clone());
                array["dtype"] = "|u1".into();
                array["fill_value"] = 0.into();
                array["filters"] = Value::Null;
                array["compressor"] = Value::Null;
                document_of_v2(&array, Map::new())?
            }
        };
        stand_in.insert("data_type".into(), "uint8".into());
        stand_in.insert("fill_value".into(), 0.into());
        stand_in.insert("codecs".into(), json!(["bytes"]));
        stand_in.remove("storage_transformers");
        let metadata = serde_json::from_value(stand_in.into())?;
        let mut keys = self.location.chunk_keys(metadata)?;
        for name in DOCUMENTS {
            keys.push(SafePath::new(name)?);
        }
        Ok(keys)
    }

    /// The keys of an array's chunks, relative to it, in order.
    pub(crate) fn chunk_keys(&self) -> Result<Vec<SafePath>> {
        let mut keys = self.keys()?;
        keys.retain(|key| !DOCUMENTS.contains(&without_bak(key)));
        keys.sort_unstable();
        Ok(keys)
    }

    /// The keys of an array that a copy has: all, unless the copy has metadata as Zarr v3 in place of older ones.
    pub(crate) fn keys_to_copy(&self) -> Result<Vec<SafePath>> {
        let mut keys = self.keys()?;
        if matches!(self.format, NodeFormat::Older) {
            keys.retain(|key| !is_document(key));
        }
        Ok(keys)
    }

    /// Transfers one of its files to a directory. Whether it is one: not a socket, a pipe or a device.
    pub(crate) fn transfer(
        &self,
        name: &SafePath,
        directory: &Path,
        transfer: Transfer,
        runtime: &Runtime,
    ) -> Result<bool> {
        runtime.check_interrupt()?;
        let key = self.location.key(name)?;
        // Nothing comes out of a socket or a pipe. In the place of a chunk it is an error, for a chunk that is missing has
        // the fill value.
        let is_chunk = || self.kind == Kind::Array && is_like_chunk(name);
        let is_file = self.location.file(&key).is_none_or(|file| file.is_file() || is_chunk());
        if is_file {
            // A document of the copy may be written to.
            let transfer = if is_document(name) { Transfer::Copy } else { transfer };
            transferred(&self.location, &key, directory, name, transfer, runtime)
                .map_err(|error| unwritten(error, name))?;
        }
        Ok(is_file)
    }

    /// What is in an array's folder and does not belong there.
    pub(crate) fn stray(&self) -> Result<Stray> {
        let names = ChunkNames::new(&self.document);
        let is_own = |name: &str| {
            DOCUMENTS.contains(&without_bak(name))
                || names.as_ref().is_none_or(|names| names.contain(name))
        };
        let mut stray = Stray::default();
        let mut see = |name: String, is_special: bool| {
            let node = name.rsplit_once('/').filter(|(_, last)| DOCUMENTS.contains(last));
            if is_special {
                stray.special.insert(name);
            } else if let Some((node, _)) = node {
                stray.nodes.insert(node.to_owned());
            } else if !is_own(&name) && is_content(&name) {
                stray.files.insert(name);
            }
        };
        if let Some(folder) = self.location.directory() {
            visit_below(&folder, |path, _, kind| {
                let is_special = |kind: FileType| !kind.is_file() && !kind.is_dir();
                let is_special = if kind.is_symlink() {
                    fs::metadata(path).is_ok_and(|target| is_special(target.file_type()))
                } else {
                    is_special(kind)
                };
                let name = path.strip_prefix(&folder).unwrap_or(path).display().to_string();
                see(name.replace(std::path::MAIN_SEPARATOR, "/"), is_special);
                Ok(())
            })?;
        } else if self.location.is_near() {
            for key in self.location.keys()?.unwrap_or_default() {
                see(key.to_string(), false);
            }
        }
        let Stray { nodes, files, .. } = &mut stray;
        let is_in_node =
            |name: &str| name.match_indices('/').any(|(end, _)| nodes.contains(&name[..end]));
        files.retain(|name| !is_in_node(name));
        Ok(stray)
    }
}

/// Entries of an array's folder that do not belong there, by their paths in it. On servers nobody looks for them.
#[derive(Default)]
pub(crate) struct Stray {
    /// Pipes, sockets and devices, which no job reads or copies.
    pub(crate) special: BTreeSet<String>,
    /// Folders with the metadata of a node. Zarr has no nodes below an array, so no reader of the group sees such a node.
    pub(crate) nodes: BTreeSet<String>,
    /// Files that are neither chunks of the array nor metadata, nor in such a node.
    pub(crate) files: BTreeSet<String>,
}

/// The nodes of the group at a path.
pub(crate) fn nodes_at(path: &Path) -> Result<Vec<Node>> {
    Location::new(path).and_then(|root| nodes(&root)).with_context(|| path.display().to_string())
}

/// The group itself and everything below it; each group comes before its contents.
pub(crate) fn nodes(root: &Location) -> Result<Vec<Node>> {
    let mut nodes = Vec::new();
    add(&SafePath::default(), root, &mut nodes)?;
    Ok(nodes)
}

/// Adds the nodes at a place and below it. If there are none, returns the paths of all files there.
fn add(path: &SafePath, location: &Location, nodes: &mut Vec<Node>) -> Result<Vec<SafePath>> {
    let shown = || if path.is_empty() { "/".to_owned() } else { path.to_string() };
    let node = node(path.clone(), location.clone()).with_context(shown)?;
    let (kind, is_implicit) = (node.kind, matches!(node.format, NodeFormat::Implicit));
    let keys = if is_implicit { location.keys()? } else { None };
    let is_listed = keys.is_some();
    let content: Vec<_> = keys.into_iter().flatten().filter(|key| is_content(key)).collect();
    let is_document_below = |key: &SafePath| {
        let name = key.rsplit('/').next().unwrap_or(key);
        DOCUMENTS.contains(&name)
    };
    if is_listed && !content.iter().any(is_document_below) {
        return Ok(content);
    }
    let index = nodes.len();
    nodes.push(node);
    if kind == Kind::Array {
        return Ok(Vec::new());
    }
    let [folders, mut files] = location.below()?;
    files.retain(|name| !GROUP_DOCUMENTS.contains(&without_bak(name)));
    for name in folders {
        let below = add(&path.join(&name), &location.child(&name), nodes)?;
        files.extend(below.iter().map(|file| name.join(file)));
    }
    if is_implicit && nodes.len() == index + 1 {
        nodes.pop();
        return Ok(content);
    }
    if let Some(group) = nodes.get_mut(index) {
        group.files = files;
    }
    Ok(Vec::new())
}

/// The path of an entry of a group.
pub(crate) fn path_in(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") }
}

/// Whether a key of an array is that of its metadata.
fn is_document(key: &str) -> bool {
    DOCUMENTS.contains(&key)
}

/// Whether the name of an array's file may be that of a chunk, such as `c/0/1` or `0.1`.
fn is_like_chunk(name: &str) -> bool {
    let indices = name.strip_prefix('c').unwrap_or(name);
    indices.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'/' | b'.'))
}

/// The name of a file before `migrate --in-place` kept it.
fn without_bak(name: &str) -> &str {
    name.strip_suffix(".bak").unwrap_or(name)
}

/// A node by itself; a group of a folder without a document.
pub(crate) fn node(path: SafePath, location: Location) -> Result<Node> {
    const COPY: &str = "consolidated_metadata";
    let found = location.node_document()?;
    let kind = found.as_ref().map_or(Kind::Group, |(kind, ..)| *kind);
    let mut format = if found.is_some() { NodeFormat::Older } else { NodeFormat::Implicit };
    let mut is_consolidated = false;
    let document = match found {
        Some((_, ZARR_JSON, document)) => {
            format = NodeFormat::V3;
            let mut document = object(document, ZARR_JSON)?;
            refuse_no_node(&document).context(ZARR_JSON)?;
            is_consolidated = document.remove(COPY).is_some_and(|copy| !copy.is_null());
            document
        }
        Some((Kind::Array, name, document)) => {
            let array = older_array(name, document)?;
            let attributes =
                older_attributes(&location, if name == META { ATTRS } else { ZATTRS })?;
            document_of_v2(&array, attributes.clone()).unwrap_or_else(|error| {
                format = NodeFormat::Inexpressible(error);
                inexpressible(&array, attributes)
            })
        }
        _ => {
            let attributes = older_attributes(&location, ZATTRS)?;
            is_consolidated = location.document(ZMETADATA)?.is_some();
            with_members([
                ("zarr_format", 3.into()),
                ("node_type", "group".into()),
                ("attributes", attributes.into()),
            ])
        }
    };
    Ok(Node { path, location, kind, document, format, is_consolidated, files: Vec::new() })
}

/// The document of an array that Zarr v3 cannot express.
fn inexpressible(array: &Value, attributes: Map<String, Value>) -> Map<String, Value> {
    let mut document = array.as_object().cloned().unwrap_or_default();
    let dtype = document.remove("dtype").unwrap_or_default();
    // Its type may be no reason.
    let number = dtype.as_str().and_then(|name| data_type::from_numpy(name).ok());
    let data_type = number.map_or(dtype, |(element_type, _)| element_type.name().into());
    document.insert("data_type".into(), data_type);
    document.insert("attributes".into(), attributes.into());
    name_dimensions(&mut document);
    document
}

/// The metadata of all groups by their paths, for arrays with these metadata. Consolidated metadata are
/// renewed.
pub(crate) fn group_documents(
    nodes: &[Node],
    mut array: impl FnMut(&Node) -> Result<Value>,
) -> Result<Vec<(&Node, Map<String, Value>)>> {
    let mut documents: BTreeMap<&str, Value> = BTreeMap::new();
    // Only consolidated metadata need those of arrays.
    let is_needed = nodes.iter().any(|node| node.is_consolidated);
    let expressed = |node: &&Node| !matches!(node.format, NodeFormat::Inexpressible(_));
    for node in nodes.iter().filter(|_| is_needed).filter(expressed) {
        let document = match node.kind {
            Kind::Group => node.document.clone().into(),
            _ => array(node)?,
        };
        documents.insert(&node.path, document);
    }
    let mut groups = Vec::new();
    for node in nodes.iter().filter(|node| node.kind == Kind::Group) {
        let path = &node.path;
        let mut document = node.document.clone();
        if node.is_consolidated {
            let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
            let below = documents.iter().filter(|(path, _)| !path.is_empty());
            let below = below.filter_map(|(path, document)| {
                Some((path.strip_prefix(&prefix)?.to_owned(), document.clone()))
            });
            let metadata: Map<String, Value> = below.collect();
            let copy = json!({"kind": "inline", "must_understand": false, "metadata": metadata});
            document.insert("consolidated_metadata".into(), copy);
        }
        groups.push((node, document));
    }
    Ok(groups)
}

//! The nodes of a group, with their metadata as Zarr v3.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use serde_json::{Map, Value, json};
use zarr_recast::{Codec, data_type};
use zarrs::array::{ArrayMetadata, ArrayMetadataV2};

use super::destination::unwritten;
use super::metadata::{document_of_v2, write_document};
use super::shard_codecs::has_shards;
use super::store::{Kind, Location};
use super::transfer::{Transfer, transferred};
use crate::error::Result;
use crate::runtime::Runtime;

/// A node of a group.
pub(crate) struct Node {
    /// The path below the group, without slashes at its ends; empty for the group itself.
    pub(crate) path: String,
    pub(crate) location: Location,
    pub(crate) kind: Kind,
    /// The metadata as Zarr v3.
    pub(crate) document: Map<String, Value>,
    /// Whether the documents are already Zarr v3.
    pub(crate) is_v3: bool,
    /// Whether the group has consolidated metadata.
    pub(crate) is_consolidated: bool,
}

/// The metadata files of versions before Zarr v3.
const OLD: [&str; 6] = [".zarray", ".zattrs", ".zgroup", ".zmetadata", "meta", "attrs"];

impl Node {
    /// Whether an array has value codecs, also inside shards.
    pub(crate) fn has_value_codecs(&self) -> bool {
        self.document.get("codecs").is_some_and(has_value_codecs)
    }

    /// The name of an array's type, if it is not numeric.
    pub(crate) fn type_without_numbers(&self) -> Option<String> {
        let data_type = self.document.get("data_type").unwrap_or(&Value::Null);
        let name = data_type.get("name").unwrap_or(data_type);
        let text = || name.as_str().map_or_else(|| name.to_string(), str::to_owned);
        data_type::from_json(data_type).is_err().then(text)
    }

    /// Whether an array has shards.
    pub(crate) fn has_shards(&self) -> bool {
        self.document.get("codecs").is_some_and(has_shards)
    }

    /// The keys of an array's chunks, relative to it, in order.
    pub(crate) fn chunk_keys(&self) -> Result<Vec<String>> {
        let mut keys = self.location.keys()?;
        keys.retain(|key| key != "zarr.json" && !OLD.contains(&key.as_str()));
        keys.sort_unstable();
        Ok(keys)
    }

    /// Transfers an array to a place: its files unchanged, and its metadata as Zarr v3.
    pub(crate) fn copy(&self, place: &Path, transfer: Transfer, runtime: &Runtime) -> Result<()> {
        // Old versions of the metadata are not transferred; the new one may be written to.
        fs::create_dir_all(place)?;
        for name in self.location.keys()? {
            runtime.check_interrupt()?;
            if OLD.contains(&name.as_str()) {
                continue;
            }
            let transfer = if name == "zarr.json" { Transfer::Copy } else { transfer };
            let file = self.location.directory().map(|directory| directory.join(&name));
            transferred(file, || self.location.bytes(&name), &place.join(&name), transfer)
                .map_err(|error| unwritten(error, &name))?;
        }
        if !self.is_v3 {
            write_document(place, &self.document)?;
        }
        Ok(())
    }
}

fn has_value_codecs(codecs: &Value) -> bool {
    codecs.as_array().into_iter().flatten().any(|codec| {
        let name = codec.get("name").unwrap_or(codec).as_str();
        let inner = codec.pointer("/configuration/codecs");
        name.is_some_and(Codec::is_known) || inner.is_some_and(has_value_codecs)
    })
}

/// The group itself and everything below it; each group comes before its contents.
pub(crate) fn nodes(root: Location) -> Result<Vec<Node>> {
    let mut nodes = Vec::new();
    let mut todo = vec![(String::new(), root)];
    while let Some((path, location)) = todo.pop() {
        let kind = location.kind().with_context(|| path.clone())?;
        if kind == Kind::Other {
            continue;
        }
        let node = node(path.clone(), location.clone(), kind).with_context(|| path.clone())?;
        if kind == Kind::Group {
            let mut below: Vec<String> = location.children()?;
            below.sort_unstable_by(|a, b| b.cmp(a));
            let inside = |name: &str| {
                if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
            };
            todo.extend(below.iter().map(|name| (inside(name), location.child(name))));
        }
        nodes.push(node);
    }
    Ok(nodes)
}

fn node(path: String, location: Location, kind: Kind) -> Result<Node> {
    const COPY: &str = "consolidated_metadata";
    let object = |value: Value, name: &str| match value {
        Value::Object(object) => Ok(object),
        _ => Err(anyhow!("{name} is not a JSON object")),
    };
    let (mut is_v3, mut is_consolidated) = (true, false);
    let document = if let Some(document) = location.document("zarr.json")? {
        let mut document = object(document, "zarr.json")?;
        is_consolidated = document.remove(COPY).is_some_and(|copy| !copy.is_null());
        document
    } else {
        is_v3 = false;
        let attributes = location.document(".zattrs")?.unwrap_or_else(|| json!({}));
        let attributes = object(attributes, ".zattrs")?;
        if kind == Kind::Group {
            is_consolidated = location.document(".zmetadata")?.is_some();
            let mut group = object(json!({"zarr_format": 3, "node_type": "group"}), "")?;
            group.insert("attributes".into(), attributes.into());
            group
        } else if location.is_v1()? {
            let array = zarrs_recast::open_v1(Arc::clone(location.storage()), location.node())?;
            match array.metadata() {
                ArrayMetadata::V2(metadata) => document_of_v2(metadata)?,
                ArrayMetadata::V3(_) => bail!("metadata of Zarr v1 and Zarr v3"),
            }
        } else {
            let array = location.document(".zarray")?.context("no metadata")?;
            let mut array: ArrayMetadataV2 = serde_json::from_value(array)?;
            array.attributes = attributes;
            document_of_v2(&array)?
        }
    };
    Ok(Node { path, location, kind, document, is_v3, is_consolidated })
}

/// The metadata of all groups by their paths, for arrays with these metadata. Consolidated metadata are
/// renewed.
pub(crate) fn group_documents(
    nodes: &[Node],
    mut array: impl FnMut(&Node) -> Result<Value>,
) -> Result<Vec<(&Node, Map<String, Value>)>> {
    let mut documents: BTreeMap<&str, Value> = BTreeMap::new();
    for node in nodes {
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

/// Writes the metadata of all groups over arrays that have been written.
pub(crate) fn write_groups(nodes: &[Node], root: &Path) -> Result<()> {
    let documents = group_documents(nodes, |node| {
        Ok(serde_json::from_slice(&fs::read(root.join(&node.path).join("zarr.json"))?)?)
    })?;
    for (node, document) in documents {
        write_document(&root.join(&node.path), &document)?;
    }
    Ok(())
}

//! Lists the arrays of a group and their codecs.

use std::path::Path;

use anyhow::{Context, bail};
use recast_kernels::in_default_environment;
use serde::Serialize;
use serde_json::{Map, Value};
use zarr_recast::FillCheck;

use super::array::ArrayInfo;
use crate::array::source::Source;
use crate::error::{Error, Result};
use crate::metadata::tree::{Node, nodes};
use crate::store::location::{Kind, Location};
use crate::text::as_shown;

/// A group and its contents.
#[derive(Clone, Debug, Serialize)]
pub struct GroupInfo {
    /// Its path.
    pub group: String,
    /// Its attributes.
    pub attributes: Map<String, Value>,
    /// Whether it has consolidated metadata.
    pub consolidated: bool,
    /// The paths of the groups below it.
    pub groups: Vec<String>,
    /// All arrays below it.
    pub arrays: Vec<ListedArray>,
}

/// An array of a group.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum ListedArray {
    /// A numeric array.
    Known {
        /// Its path in the group.
        path: String,
        /// Its stored chunks in bytes, if they can be counted.
        stored: Option<u64>,
        /// Its description.
        #[serde(flatten)]
        info: Box<ArrayInfo>,
    },
    /// An array that cannot be read here.
    Unknown {
        /// Its path in the group.
        path: String,
        /// Why.
        error: String,
    },
}

impl GroupInfo {
    /// Reads the metadata of a group and of all that is in it.
    ///
    /// # Errors
    /// No group; metadata that are not JSON objects. An array that cannot be read is listed with the reason.
    pub fn read(path: impl AsRef<Path>) -> std::result::Result<Self, Error> {
        in_default_environment(path.as_ref(), |path| {
            Ok(Self::of(path).with_context(|| path.display().to_string())?)
        })
    }

    fn of(path: &Path) -> Result<Self> {
        let location = Location::new(path)?;
        if location.kind()? != Kind::Group {
            bail!("no group here: neither a zarr.json that says so nor .zgroup");
        }
        let nodes = nodes(&location)?;
        let (root, below) = nodes.split_first().context("no group here")?;
        let attributes = root.document.get("attributes").and_then(Value::as_object);
        let groups = below.iter().filter(|node| node.kind == Kind::Group);
        let arrays = below.iter().filter(|node| node.kind == Kind::Array);
        Ok(Self {
            group: as_shown(path),
            attributes: attributes.cloned().unwrap_or_default(),
            consolidated: root.is_consolidated,
            groups: groups.map(|node| node.path.to_string()).collect(),
            arrays: arrays.map(listed).collect(),
        })
    }
}

fn listed(node: &Node) -> ListedArray {
    let path = node.path.to_string();
    if let Some(name) = node.type_without_numbers() {
        return ListedArray::Unknown { path, error: format!("{name} has no numbers to show") };
    }
    match Source::of_node(node, FillCheck::ReportOnly) {
        Ok(source) => {
            let (stored, info) = (node.location.chunk_bytes(), ArrayInfo::of(&source));
            ListedArray::Known { path, stored, info: Box::new(info) }
        }
        Err(error) => ListedArray::Unknown { path, error: format!("{error:#}") },
    }
}

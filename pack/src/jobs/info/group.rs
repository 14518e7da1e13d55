//! Lists the arrays of a group and their codecs.

use std::path::Path;

use anyhow::{Context, bail};
use recast_kernels::in_default_environment;
use serde::Serialize;
use serde_json::{Map, Value};
use zarr_recast::FillCheck;

use super::array::ArrayInfo;
use crate::array::source::Source;
use crate::error::{Error, NotFound, Result};
use crate::jobs::tree::{ArrayOutcome, Outcome, arrays_of};
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
    /// All arrays below it; those that have no numbers or cannot be read here, with the reason.
    pub arrays: Vec<ArrayOutcome<ArrayInfo>>,
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
            let text = "no group here: neither a zarr.json that says so nor .zgroup";
            bail!(NotFound(text.to_owned()));
        }
        let nodes = nodes(&location)?;
        let (root, below) = nodes.split_first().context("no group here")?;
        let attributes = root.document.get("attributes").and_then(Value::as_object);
        let groups = below.iter().filter(|node| node.kind == Kind::Group);
        Ok(Self {
            group: as_shown(path),
            attributes: attributes.cloned().unwrap_or_default(),
            consolidated: root.is_consolidated,
            groups: groups.map(|node| node.path.to_string()).collect(),
            arrays: arrays_of(below).map(listed).collect(),
        })
    }
}

fn listed(node: &Node) -> ArrayOutcome<ArrayInfo> {
    let info = || match node.type_without_numbers() {
        Some(name) => Outcome::Kept { reason: format!("{name} has no numbers to show") },
        None => match Source::of_node(node, FillCheck::ReportOnly) {
            Ok(source) => {
                let stored = node.location.chunk_bytes();
                Outcome::Done { report: Box::new(ArrayInfo { stored, ..ArrayInfo::of(&source) }) }
            }
            Err(error) => Outcome::Failed { reason: format!("{error:#}") },
        },
    };
    ArrayOutcome { array: node.path.to_string(), outcome: info() }
}

//! One way through a group for all jobs: a job says what becomes of each array; this file walks, copies what has no result,
//! and writes the groups around the arrays.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

use crate::error::{Result, unwritten};
use crate::metadata::document::write_document;
use crate::metadata::tree::{Node, NodeFormat, group_documents, path_in};
use crate::runtime::{Runtime, Workers};
use crate::store::destination::Destination;
use crate::store::links::OutsideLinks;
use crate::store::location::{Kind, Location, PIECE};
use crate::store::names::{SafePath, ZARR_JSON};
use crate::store::transfer::Transfer;
use crate::text::{as_shown, first_of, number_of};

/// The report of a job that wrote a group.
#[derive(Clone, Debug, Serialize)]
pub struct GroupReport<R> {
    /// The group that was read.
    pub input: String,
    /// The group that was written; `None` if the input itself was changed.
    pub output: Option<String>,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Patterns that match no array, and files that the output lacks.
    pub warnings: Vec<String>,
    /// The links that lead out of the input; their targets were read.
    #[serde(skip_serializing_if = "OutsideLinks::is_empty")]
    pub outside_links: OutsideLinks,
    /// Its arrays.
    pub arrays: Vec<ArrayOutcome<R>>,
}

impl<R> GroupReport<R> {
    /// A report without warnings.
    pub(crate) fn new(input: &Path, output: Option<&Path>, arrays: Vec<ArrayOutcome<R>>) -> Self {
        Self {
            input: as_shown(input),
            output: output.map(as_shown),
            dry_run: false,
            warnings: Vec::new(),
            outside_links: OutsideLinks::default(),
            arrays,
        }
    }

    /// Which arrays the job failed on, and why; `None` if there are none.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let failed: Vec<_> = self.arrays.iter().filter_map(ArrayOutcome::failed).collect();
        if failed.is_empty() {
            return None;
        }
        Some(format!(
            "{}: {} of {} failed and are copied as they are: {}",
            self.output.as_ref().unwrap_or(&self.input),
            failed.len(),
            number_of(self.arrays.len() as u64, "array"),
            failed.join("; ")
        ))
    }
}

impl<R> AsMut<OutsideLinks> for GroupReport<R> {
    fn as_mut(&mut self) -> &mut OutsideLinks {
        &mut self.outside_links
    }
}

/// The report of a job on a path, which may lead to an array or to a group.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum PathReport<A, G = GroupReport<A>> {
    /// The path leads to an array.
    Array(Box<A>),
    /// The path leads to a group.
    Group(G),
}

impl<A, G> PathReport<A, G> {
    /// The report of the array; `None` of a group.
    #[must_use]
    pub fn array(self) -> Option<A> {
        match self {
            Self::Array(report) => Some(*report),
            Self::Group(_) => None,
        }
    }

    /// The report of the group; `None` of an array.
    #[must_use]
    pub fn group(self) -> Option<G> {
        match self {
            Self::Array(_) => None,
            Self::Group(report) => Some(report),
        }
    }
}

impl<A: AsMut<OutsideLinks>, G: AsMut<OutsideLinks>> AsMut<OutsideLinks> for PathReport<A, G> {
    fn as_mut(&mut self) -> &mut OutsideLinks {
        match self {
            Self::Array(report) => (**report).as_mut(),
            Self::Group(report) => report.as_mut(),
        }
    }
}

/// An array of a group, and the outcome of a job for it.
#[derive(Clone, Debug, Serialize)]
pub struct ArrayOutcome<R> {
    /// Its path in the group.
    pub array: String,
    /// The outcome of the job for the array.
    #[serde(flatten)]
    pub outcome: Outcome<R>,
}

/// The outcome of a job for an array.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Outcome<R> {
    /// The job did its work on the array.
    Done {
        /// The report for the array.
        report: Box<R>,
    },
    /// The job is not for this array: the values of the array are the same in the output.
    Kept {
        /// Why.
        reason: String,
    },
    /// The job was to do its work on the array and could not. In an output, the array is a copy of the input's.
    Failed {
        /// Why.
        reason: String,
    },
}

impl<R> ArrayOutcome<R> {
    /// The report for the array, if the job did its work on it.
    #[must_use]
    pub fn report(&self) -> Option<&R> {
        match &self.outcome {
            Outcome::Done { report } => Some(report),
            Outcome::Kept { .. } | Outcome::Failed { .. } => None,
        }
    }

    /// Why there is no report.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Done { .. } => None,
            Outcome::Kept { reason } | Outcome::Failed { reason } => Some(reason),
        }
    }

    /// The path and the reason of an array that the job failed on.
    pub(crate) fn failed(&self) -> Option<String> {
        let reason = self.reason().filter(|_| matches!(self.outcome, Outcome::Failed { .. }))?;
        Some(format!("{} ({reason})", self.array))
    }
}

impl<R> Outcome<R> {
    /// The same outcome with another report, if the job did its work.
    pub(crate) fn and_then<S>(self, work: impl FnOnce(R) -> Result<S>) -> Result<Outcome<S>> {
        Ok(match self {
            Self::Done { report } => Outcome::Done { report: Box::new(work(*report)?) },
            Self::Kept { reason } => Outcome::Kept { reason },
            Self::Failed { reason } => Outcome::Failed { reason },
        })
    }
}

/// Does `work` for each array of a group, in order. In a directory the groups around the arrays are made before.
pub(crate) fn each_array<R>(
    nodes: &[Node],
    directory: Option<&Path>,
    runtime: &Runtime,
    mut work: impl FnMut(&Node) -> Result<Outcome<R>>,
) -> Result<Vec<ArrayOutcome<R>>> {
    if let Some(directory) = directory {
        for node in nodes.iter().filter(|node| node.kind == Kind::Group) {
            let made = fs::create_dir_all(node.path.inside(directory)?);
            made.map_err(|error| unwritten(error.into(), &node.path))?;
        }
    }
    let arrays: Vec<_> = arrays_of(nodes).map(|node| (&*node.path, node)).collect();
    runtime.each_array(arrays.into_iter(), |path, node| {
        Ok(ArrayOutcome { array: path.to_owned(), outcome: work(node)? })
    })
}

/// The arrays of a group, in the order of [`each_array`].
pub(crate) fn arrays_of(nodes: &[Node]) -> impl Iterator<Item = &Node> {
    nodes.iter().filter(|node| node.kind == Kind::Array)
}

/// The most names of what an output lacks.
const NAMED: usize = 20;

/// A group that is being written.
pub(crate) struct Output<'a> {
    pub(crate) destination: &'a Destination,
    pub(crate) directory: &'a Path,
    /// How arrays without a report get there.
    pub(crate) transfer: Transfer,
}

impl Output<'_> {
    /// Completes a group whose arrays with a report are written: copies the other arrays, writes the metadata of the groups,
    /// and copies the files that belong to no array and no group. Returns what the output lacks.
    pub(crate) fn complete<R>(
        &self,
        nodes: &[Node],
        outcomes: &[ArrayOutcome<R>],
        runtime: &Runtime,
    ) -> Result<Vec<String>> {
        let others = arrays_of(nodes).zip(outcomes).filter(|(_, one)| one.report().is_none());
        self.copy_arrays(others.map(|(node, _)| node), runtime)?;
        self.write_groups(nodes)?;
        self.copy_files(nodes, outcomes, runtime)
    }

    /// Copies arrays: the files unchanged, and the metadata as Zarr v3, if Zarr v3 can express the metadata.
    fn copy_arrays<'a>(
        &self,
        arrays: impl Iterator<Item = &'a Node>,
        runtime: &Runtime,
    ) -> Result<()> {
        /// Files that are listed before they are copied.
        const BATCH: usize = 1 << 16;
        let mut files = Vec::new();
        for node in arrays {
            let place = node.path.inside(self.directory)?;
            let shown = || node.location.path().display().to_string();
            // An array need not have a file.
            let made = fs::create_dir_all(&place);
            made.map_err(|error| unwritten(error.into(), &node.path)).with_context(shown)?;
            if matches!(node.format, NodeFormat::Older) {
                write_document(&place, &node.document).with_context(shown)?;
            }
            let keys = node.keys_to_copy().with_context(shown)?;
            files.extend(keys.into_iter().map(|key| (node, key)));
            if files.len() >= BATCH {
                self.copy_all(&files, runtime)?;
                files.clear();
            }
        }
        self.copy_all(&files, runtime)
    }

    fn copy_all(&self, files: &[(&Node, SafePath)], runtime: &Runtime) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        let copy = |index: u64| {
            let Some((node, key)) = files.get(index as usize) else { return Ok(true) };
            node.transfer(key, &node.path.inside(self.directory)?, self.transfer, runtime)
                .with_context(|| node.location.path().display().to_string())
        };
        let workers = Workers::copying(runtime, PIECE)?;
        workers.run("copy", files.len() as u64, copy, |_| Ok(()))
    }

    /// Writes the metadata of all groups over arrays that have been written.
    fn write_groups(&self, nodes: &[Node]) -> Result<()> {
        let documents = group_documents(nodes, |node| {
            let place = Location::new(&node.path.inside(self.directory)?)?;
            let written = place.document(ZARR_JSON)?;
            Ok(written.with_context(|| format!("{} has no {ZARR_JSON}", node.path))??)
        })?;
        for (node, document) in documents {
            write_document(&node.path.inside(self.directory)?, &document)?;
        }
        Ok(())
    }

    /// Copies the files that belong to no node. Warns of what the output lacks: all of them, if the place takes none; what is
    /// no file, also in the folders of arrays; nodes and other files below arrays with a report, of which only chunks are written;
    /// and nodes that readers of the input find in its consolidated metadata only.
    fn copy_files<R>(
        &self,
        nodes: &[Node],
        outcomes: &[ArrayOutcome<R>],
        runtime: &Runtime,
    ) -> Result<Vec<String>> {
        let (mut refused, mut special) = (Vec::new(), Vec::new());
        let (mut nested, mut others) = (Vec::new(), Vec::new());
        for node in nodes {
            let place = node.path.inside(self.directory)?;
            for name in &node.files {
                if !self.destination.takes_files() {
                    refused.push(path_in(&node.path, name));
                    continue;
                }
                let is_file = node
                    .transfer(name, &place, Transfer::Copy, runtime)
                    .with_context(|| node.location.path().display().to_string())?;
                if !is_file {
                    special.push(path_in(&node.path, name));
                }
            }
        }
        for (node, outcome) in arrays_of(nodes).zip(outcomes) {
            let stray = node.stray()?;
            let named = |names: BTreeSet<String>| -> Vec<String> {
                names.iter().map(|name| path_in(&node.path, name)).collect()
            };
            special.extend(named(stray.special));
            if outcome.report().is_some() {
                nested.extend(named(stray.nodes));
                others.extend(named(stray.files));
            }
        }
        let present: BTreeSet<&SafePath> = nodes.iter().map(|node| &node.path).collect();
        let listed = nodes.first().map(|root| root.location.listed()).unwrap_or_default();
        let only_listed = listed.iter().filter(|path| !path.is_empty() && !present.contains(path));
        let only_listed = only_listed.map(ToString::to_string).collect();
        let lacks = [
            ("this store takes arrays and groups only", refused),
            ("they are devices, pipes or sockets", special),
            ("nothing lies below an array in Zarr", nested),
            ("they are neither chunks nor metadata of their arrays", others),
            (
                "they have no metadata of their own, and only the consolidated metadata of INPUT list them",
                only_listed,
            ),
        ];
        let lacks = lacks.into_iter().filter(|(_, names)| !names.is_empty());
        Ok(lacks
            .map(|(why, names)| {
                let count = names.len();
                let count =
                    if count > NAMED { format!(" ({count} in all)") } else { String::new() };
                format!("not copied, because {why}: {}{count}", first_of(&names, NAMED))
            })
            .collect())
    }
}

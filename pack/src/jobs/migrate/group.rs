//! Migrates a group: every array as it would be migrated alone. Unless all succeed, nothing is changed or left behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use serde::Serialize;
use serde_json::{Map, Value};

use super::array::{ArrayMigration, Migration, nothing_to_migrate};
use super::in_place;
use super::migrate_job::MigrateJob;
use crate::array::source::{Source, array_of, fill_check};
use crate::check::nodes::{self, Same};
use crate::error::{Result, unwritten};
use crate::metadata::document::text;
use crate::metadata::tree::{self, Format, Node};
use crate::runtime::{Runtime, Workers};
use crate::store::destination::Destination;
use crate::store::links::OutsideLinks;
use crate::store::location::{Kind, Location};
use crate::store::transfer::Transfer;
use crate::store::unchanged::while_unchanged;
use crate::text::{arrays, as_shown};

/// The report of a migrated group.
#[derive(Clone, Debug, Serialize)]
pub struct GroupMigration {
    /// The group that was read.
    pub input: String,
    /// The group that was written; `None` if in place.
    pub output: Option<String>,
    /// What the output lacks.
    pub warnings: Vec<String>,
    /// The links that lead out of the input: what they lead to was read.
    #[serde(skip_serializing_if = "OutsideLinks::is_empty")]
    pub outside_links: OutsideLinks,
    /// Its arrays.
    pub arrays: Vec<MigratedArray>,
}

/// The outcome for an array of a group.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum MigratedArray {
    /// It has new codecs or metadata.
    Migrated {
        /// Its path in the group.
        array: String,
        /// Its report.
        report: Box<ArrayMigration>,
    },
    /// Its files are unchanged, except for metadata of Zarr v3.
    Kept {
        /// Its path in the group.
        array: String,
        /// Why.
        reason: String,
    },
}

impl GroupMigration {
    fn new(job: &MigrateJob, arrays: Vec<MigratedArray>) -> Self {
        let output = job.output.as_deref().map(as_shown);
        let (warnings, outside_links) = (Vec::new(), OutsideLinks::default());
        Self { input: as_shown(&job.input), output, warnings, outside_links, arrays }
    }
}

/// The plan for an array of a group.
enum Task<T> {
    Migrate(Box<T>),
    /// Its files stay unchanged, and it gets metadata of Zarr v3 if it has none; with the reason.
    Keep(String),
}

fn task(node: &Node, runtime: &Runtime) -> Result<Task<Source>> {
    if let Some(caveat) = node.caveat() {
        return Ok(Task::Keep(caveat));
    }
    if node.type_without_numbers().is_some() {
        return Ok(Task::Keep("its type is not numeric".to_owned()));
    }
    if let Err(reason) = array_of(node) {
        return Ok(Task::Keep(format!("{reason:#}")));
    }
    let source = Source::of_node(node, fill_check(runtime));
    let source = source.with_context(|| node.location.path().display().to_string())?;
    Ok(nothing_to_migrate(&source).map_or_else(|| Task::Migrate(Box::new(source)), Task::Keep))
}

/// What to say of an array that stays as it is, except for metadata of Zarr v3, with which `read` is read.
fn kept(node: &Node, read: &Node, reason: &str, place: &str, runtime: &Runtime) -> Result<String> {
    let metadata = match node.format {
        Format::V3 | Format::Implicit | Format::Inexpressible(_) => "",
        Format::Older => match nodes::compare(node, read, runtime)? {
            Same::Values => "; new metadata, the same values",
            Same::StoredBytes => "; new metadata over the same bytes, not decoded",
        },
    };
    Ok(format!("{place}: {reason}{metadata}"))
}

/// Writes the whole group into a directory of the destination.
pub(super) fn write(
    job: &MigrateJob,
    nodes: &[Node],
    destination: &Destination,
    directory: &Path,
    runtime: &Runtime,
) -> Result<GroupMigration> {
    let transfer = job.transfer();
    let done = tree::each_array(nodes, Some(directory), runtime, |node| {
        let (array, place) = (node.path.to_string(), node.path.inside(directory)?);
        let shown = || node.location.path().display().to_string();
        match task(node, runtime)? {
            Task::Keep(reason) => {
                node.copy(&place, transfer, runtime).with_context(shown)?;
                let how = match transfer {
                    Transfer::Copy => "copied",
                    Transfer::Link => "the same files",
                };
                let copy = || tree::node(node.path.clone(), Location::new(&place)?);
                let kept = || kept(node, &copy()?, &reason, how, runtime);
                let reason = kept().with_context(shown)?;
                Ok(MigratedArray::Kept { array, reason })
            }
            Task::Migrate(source) => {
                // The array may have no chunks.
                let made = fs::create_dir_all(&place);
                made.map_err(|error| unwritten(error.into(), &node.path))?;
                let migrate = || {
                    let workers = Workers::within(runtime, [source.chunk_memory()])?;
                    let migration = Migration::new(job, *source, &workers)?;
                    migration.write(&place, node.location.path(), &workers)
                };
                let report = Box::new(migrate().with_context(shown)?);
                Ok(MigratedArray::Migrated { array, report })
            }
        }
    })?;
    let has_new = done.iter().any(|one| matches!(one, MigratedArray::Migrated { .. }));
    if nodes.iter().all(Node::is_v3) && !has_new {
        return Err(nothing(job, done.len()));
    }
    let warnings = tree::copy_files(nodes, destination, directory, runtime)?;
    Ok(GroupMigration { warnings, ..GroupMigration::new(job, done) })
}

/// Replaces the metadata of all nodes that need new ones.
pub(super) fn in_place(job: &MigrateJob, runtime: &Runtime) -> Result<GroupMigration> {
    let nodes = &tree::nodes_at(&job.input)?;
    let shown = || job.input.display().to_string();
    let root = nodes.first().context("no group here").with_context(shown)?;
    let root = in_place::folder(&root.location).with_context(shown)?;
    let real = root.canonicalize().with_context(shown)?;
    for node in nodes {
        let place = node.path.inside(&root)?;
        if !place.canonicalize().is_ok_and(|place| place.starts_with(&real)) {
            bail!(
                "{}: a link leads out of INPUT, and --in-place writes to INPUT only; name an OUTPUT, or migrate what the \
                 link leads to by itself",
                place.display()
            );
        }
    }

    for node in nodes {
        if let Some(invalid) = node.invalid() {
            bail!(
                "{}: {invalid}; no reader takes such an array, and none would see it in the new group: correct it or \
                 remove it first, or name an OUTPUT",
                node.location.path().display()
            );
        }
    }

    let planned = while_unchanged(&[&job.input], || {
        tree::each_array(nodes, None, runtime, |node| {
            Ok(match task(node, runtime)? {
                Task::Keep(reason) => {
                    let kept = kept(node, node, &reason, "as it was", runtime);
                    Task::Keep(kept.with_context(|| node.path.to_string())?)
                }
                Task::Migrate(source) => {
                    let shown = source.path().display().to_string();
                    let workers = Workers::within(runtime, [source.chunk_memory()])?;
                    let migration = Migration::new(job, *source, &workers).context(shown)?;
                    Task::Migrate(Box::new(migration))
                }
            })
        })
    })?;
    // In the order of their paths.
    let arrays = nodes.iter().filter(|node| node.kind == Kind::Array);
    let planned = arrays.zip(planned).map(|(node, one)| (&*node.path, (node, one)));
    let planned: BTreeMap<&str, (&Node, Task<Migration<'_>>)> = planned.collect();

    let document = |node: &Node| -> Result<Map<String, Value>> {
        Ok(match planned.get(&*node.path) {
            Some((_, Task::Migrate(new))) => new.rewritten_or_refusal()?.document().clone(),
            Some((_, Task::Keep(_))) | None => node.document.clone(),
        })
    };
    let mut documents = tree::group_documents(nodes, |node| Ok(document(node)?.into()))?;
    documents.retain(|(node, _)| !matches!(node.format, Format::V3) || node.is_consolidated);
    for (node, one) in planned.values() {
        if matches!((&node.format, one), (Format::Older, _) | (_, Task::Migrate(_))) {
            documents.push((node, document(node)?));
        }
    }
    let has_new = planned.values().any(|(_, one)| matches!(one, Task::Migrate(_)));
    let is_migrated = nodes.iter().all(Node::is_v3) && !has_new;
    if is_migrated {
        documents.clear();
    }
    let folder = |(node, document): &(&Node, Map<String, Value>)| {
        Ok((node.path.inside(&root)?, text(document)?))
    };
    let folders = documents.iter().map(folder).collect::<Result<Vec<_>>>()?;
    let kept = in_place::replace(&folders).with_context(shown)?;
    // What a killed run has not yet removed: readers of the group may have needed it until now.
    let mut is_finished = false;
    for node in nodes.iter().filter(|node| matches!(node.format, Format::V3)) {
        let kept = in_place::finish(&node.path.inside(&root)?).with_context(shown)?;
        is_finished |= !kept.is_empty();
    }
    if is_migrated && !is_finished {
        return Err(nothing(job, planned.len()));
    }

    let mut kept: BTreeMap<&str, Vec<String>> =
        documents.iter().map(|(node, _)| &*node.path).zip(kept).collect();
    let done = planned.into_iter().map(|(path, (_, one))| {
        let array = path.to_owned();
        match one {
            Task::Keep(reason) => MigratedArray::Kept { array, reason },
            Task::Migrate(migration) => {
                let report = migration.replaced(&kept.remove(path).unwrap_or_default());
                MigratedArray::Migrated { array, report: Box::new(report) }
            }
        }
    });
    Ok(GroupMigration::new(job, done.collect()))
}

/// The error for a group with nothing to migrate.
fn nothing(job: &MigrateJob, number: usize) -> anyhow::Error {
    anyhow!(
        "{}: a group of Zarr v3 in which none of {} has numcodecs.fixedscaleoffset or \
         numcodecs.astype, so there is nothing to migrate",
        job.input.display(),
        arrays(number)
    )
}

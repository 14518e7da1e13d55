//! Migrates a group: every array as it would be migrated alone. Unless all succeed, nothing is changed or left behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use serde_json::{Map, Value};

use super::array::{ArrayMigration, MigrateJob, Migration, nothing_to_migrate};
use super::in_place;
use crate::array::source::{Source, array_of, fill_check};
use crate::check::nodes::{self, Same};
use crate::error::{Result, unwritten};
use crate::jobs::tree::{ArrayOutcome, GroupReport, Outcome, Output, arrays_of, each_array};
use crate::metadata::document::text;
use crate::metadata::tree::{self, Node, NodeFormat};
use crate::runtime::{Runtime, Workers};
use crate::store::destination::Destination;
use crate::store::location::Location;
use crate::store::transfer::Transfer;
use crate::store::unchanged::while_unchanged;
use crate::text::number_of;

/// The plan for an array: a source to migrate, or the reason why the array stays as it is. Then its files stay unchanged, and
/// the array gets metadata of Zarr v3 if it has none.
fn plan(node: &Node, runtime: &Runtime) -> Result<Outcome<Source>> {
    if let Some(reason) = node.caveat() {
        return Ok(Outcome::Kept { reason });
    }
    if node.type_without_numbers().is_some() {
        return Ok(Outcome::Kept { reason: "its type is not numeric".to_owned() });
    }
    if let Err(error) = array_of(node) {
        return Ok(Outcome::Kept { reason: format!("{error:#}") });
    }
    let source = Source::of_node(node, fill_check(runtime));
    let source = source.with_context(|| node.location.path().display().to_string())?;
    Ok(match nothing_to_migrate(&source) {
        Some(reason) => Outcome::Kept { reason },
        None => Outcome::Done { report: Box::new(source) },
    })
}

/// The sentence about an array that stays as it is, except for metadata of Zarr v3, with which `read` is read.
fn kept(node: &Node, read: &Node, reason: &str, place: &str, runtime: &Runtime) -> Result<String> {
    let metadata = match node.format {
        NodeFormat::V3 | NodeFormat::Implicit | NodeFormat::Inexpressible(_) => "",
        NodeFormat::Older => match nodes::compare(node, read, runtime)? {
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
) -> Result<GroupReport<ArrayMigration>> {
    let mut outcomes = each_array(nodes, Some(directory), runtime, |node| {
        plan(node, runtime)?.and_then(|source| {
            let place = node.path.inside(directory)?;
            // The array may have no chunks.
            let made = fs::create_dir_all(&place);
            made.map_err(|error| unwritten(error.into(), &node.path))?;
            let migrate = || {
                let workers = Workers::within(runtime, [source.chunk_memory()])?;
                let migration = Migration::new(job, source, &workers)?;
                migration.write(&place, node.location.path(), &workers)
            };
            migrate().with_context(|| node.location.path().display().to_string())
        })
    })?;
    let has_new = outcomes.iter().any(|one| one.report().is_some());
    if nodes.iter().all(Node::is_v3) && !has_new {
        return Err(nothing(job, outcomes.len()));
    }
    let output = Output { destination, directory, transfer: job.transfer() };
    let warnings = output.complete(nodes, &outcomes, runtime)?;
    let how = match output.transfer {
        Transfer::Copy => "copied",
        Transfer::Link => "the same files",
    };
    for (node, one) in arrays_of(nodes).zip(&mut outcomes) {
        if let Outcome::Kept { reason } = &mut one.outcome {
            let copy = Location::new(&node.path.inside(directory)?);
            let copy = copy.and_then(|place| tree::node(node.path.clone(), place));
            let said = copy.and_then(|copy| kept(node, &copy, reason, how, runtime));
            *reason = said.with_context(|| node.location.path().display().to_string())?;
        }
    }
    Ok(GroupReport { warnings, ..GroupReport::new(&job.input, job.output.as_deref(), outcomes) })
}

/// Replaces the metadata of all nodes that need new ones.
pub(super) fn in_place(job: &MigrateJob, runtime: &Runtime) -> Result<GroupReport<ArrayMigration>> {
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
        each_array(nodes, None, runtime, |node| {
            let mut planned = plan(node, runtime)?;
            if let Outcome::Kept { reason } = &mut planned {
                let kept = kept(node, node, reason, "as it was", runtime);
                *reason = kept.with_context(|| node.path.to_string())?;
            }
            planned.and_then(|source| {
                let shown = source.path().display().to_string();
                let workers = Workers::within(runtime, [source.chunk_memory()])?;
                Migration::new(job, source, &workers).context(shown)
            })
        })
    })?;
    let migrations = planned.iter().filter_map(|one| Some((&*one.array, one.report()?)));
    let migrations: BTreeMap<&str, &Migration<'_>> = migrations.collect();

    let document = |node: &Node| -> Result<Map<String, Value>> {
        Ok(match migrations.get(&*node.path) {
            Some(new) => new.rewritten_or_refusal()?.document().clone(),
            None => node.document.clone(),
        })
    };
    let mut documents = tree::group_documents(nodes, |node| Ok(document(node)?.into()))?;
    documents.retain(|(node, _)| !matches!(node.format, NodeFormat::V3) || node.is_consolidated);
    for node in arrays_of(nodes) {
        if matches!(node.format, NodeFormat::Older) || migrations.contains_key(&*node.path) {
            documents.push((node, document(node)?));
        }
    }
    let is_migrated = nodes.iter().all(Node::is_v3) && migrations.is_empty();
    if is_migrated {
        documents.clear();
    }
    let folder = |(node, document): &(&Node, Map<String, Value>)| {
        Ok((node.path.inside(&root)?, text(document)?))
    };
    let folders = documents.iter().map(folder).collect::<Result<Vec<_>>>()?;
    let kept = in_place::replace(&folders).with_context(shown)?;
    // A killed run may have left files that readers of the group needed until now.
    let mut is_finished = false;
    for node in nodes.iter().filter(|node| matches!(node.format, NodeFormat::V3)) {
        let kept = in_place::finish(&node.path.inside(&root)?).with_context(shown)?;
        is_finished |= !kept.is_empty();
    }
    if is_migrated && !is_finished {
        return Err(nothing(job, planned.len()));
    }

    let mut kept: BTreeMap<&str, Vec<String>> =
        documents.iter().map(|(node, _)| &*node.path).zip(kept).collect();
    let done = planned.into_iter().map(|ArrayOutcome { array, outcome }| {
        let kept = kept.remove(&*array).unwrap_or_default();
        let outcome = outcome.and_then(|migration| Ok(migration.replaced(&kept)))?;
        Ok(ArrayOutcome { array, outcome })
    });
    Ok(GroupReport::new(&job.input, None, done.collect::<Result<_>>()?))
}

/// The error for a group with nothing to migrate.
fn nothing(job: &MigrateJob, number: usize) -> anyhow::Error {
    anyhow!(
        "{}: a group of Zarr v3 in which none of {} has numcodecs.fixedscaleoffset or \
         numcodecs.astype, so there is nothing to migrate",
        job.input.display(),
        number_of(number as u64, "array")
    )
}

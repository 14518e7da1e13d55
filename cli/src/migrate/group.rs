//! `recast migrate` of a group: every array becomes what it would alone, and nothing is changed or left
//! behind unless all of them do.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Map, Value, json};
use zarr_recast::data_type;

use crate::args::Migrate;
use crate::array::Source;
use crate::group::arrays;
use crate::group::tree::{self, Node};
use crate::output::unwritten;
use crate::report::{Table, print};
use crate::store::{Kind, Location, below};
use crate::work::Workers;

use super::{Migration, NO_DIRECTORY, Outcome, in_place};

/// What became of an array.
struct Done {
    path: String,
    /// For people.
    how: String,
    /// The report of an array that was migrated.
    report: Option<Value>,
}

pub(crate) fn run(arguments: &Migrate) -> Result<()> {
    let Migrate { input, common, .. } = arguments;
    let destination = super::destination(arguments)?;
    let shown = || input.display().to_string();
    let nodes = Location::new(input).and_then(tree::nodes).with_context(shown)?;
    let workers = Workers::new(common.threads, !common.quiet)?;
    let done = match destination {
        None => in_place(arguments, &nodes, &workers)?,
        Some(destination) => {
            let staged = destination.stage()?;
            let done = write(arguments, &nodes, staged.path(), &workers)?;
            destination.commit(staged)?;
            done
        }
    };
    let (as_json, as_table) = (|| to_json(arguments, &done), || to_table(arguments, &done));
    print(arguments.json, common.quiet, as_json, as_table)
}

/// What is to be done with an array of a group.
enum Task {
    Migrate(Box<Source>),
    /// Its files stay what they are, and it gets metadata of Zarr v3 if it has none; for the reason.
    Keep(&'static str),
}

fn task(arguments: &Migrate, node: &Node) -> Result<Task> {
    let path = below(&arguments.input, &node.path);
    let data_type = node.document.get("data_type").unwrap_or(&Value::Null);
    if data_type::from_json(data_type).is_err() {
        return Ok(Task::Keep("its type is not numeric"));
    }
    let open = || Source::open_at(&path, node.location.clone(), arguments.common.fill_check());
    let source = open().with_context(|| path.display().to_string())?;
    Ok(if super::is_modern(&source) {
        Task::Keep("nothing to migrate")
    } else {
        Task::Migrate(Box::new(source))
    })
}

impl Done {
    fn kept(node: &Node, reason: &str, place: &str) -> Self {
        let metadata = if node.is_v3 { "" } else { "; new metadata, not compared" };
        let how = format!("{place}: {reason}{metadata}");
        Self { path: node.path.clone(), how, report: None }
    }

    fn migrated(node: &Node, migration: &Migration<'_>, outcome: &Outcome) -> Self {
        let how = format!("{}; {}", migration.how(outcome), migration.compared(outcome));
        let report = Some(migration.to_json(outcome, migration.source.path()));
        Self { path: node.path.clone(), how, report }
    }
}

/// Writes the whole group into a directory.
fn write(
    arguments: &Migrate,
    nodes: &[Node],
    directory: &Path,
    workers: &Workers,
) -> Result<Vec<Done>> {
    let transfer = super::transfer(arguments);
    let mut done = Vec::new();
    for node in nodes {
        let place = directory.join(&node.path);
        if node.kind == Kind::Group {
            fs::create_dir_all(&place).map_err(|error| unwritten(error.into(), &node.path))?;
            continue;
        }
        let path = below(&arguments.input, &node.path);
        let shown = || path.display().to_string();
        done.push(match task(arguments, node)? {
            Task::Keep(reason) => {
                node.copy(&place, transfer).with_context(shown)?;
                let how = if arguments.copy { "copied" } else { "the same files" };
                Done::kept(node, reason, how)
            }
            Task::Migrate(source) => {
                let migration = Migration::asked(arguments, &source, workers);
                let migration = migration.with_context(shown)?;
                let compressor = arguments.common.compressor;
                let outcome =
                    migration.write(&place, transfer, compressor, workers).with_context(shown)?;
                Done::migrated(node, &migration, &outcome)
            }
        });
    }
    if nodes.iter().all(|node| node.is_v3) && done.iter().all(|one| one.report.is_none()) {
        return Err(nothing(arguments, done.len()));
    }
    tree::write_groups(nodes, directory)?;
    Ok(done)
}

/// Replaces the metadata of all that needs new ones.
fn in_place(arguments: &Migrate, nodes: &[Node], workers: &Workers) -> Result<Vec<Done>> {
    let shown = || arguments.input.display().to_string();
    let root = nodes.first().and_then(|root| root.location.directory());
    let root = root.context(NO_DIRECTORY).with_context(shown)?;
    in_place::refuse_copies(&root).with_context(shown)?;

    let arrays = nodes.iter().filter(|node| node.kind == Kind::Array);
    let tasks = arrays
        .map(|node| Ok((node.path.as_str(), (node, task(arguments, node)?))))
        .collect::<Result<BTreeMap<&str, _>>>()?;
    let mut migrations: BTreeMap<&str, Migration<'_>> = BTreeMap::new();
    for (path, (_, task)) in &tasks {
        let Task::Migrate(source) = task else { continue };
        let migration = Migration::new(source, workers);
        migrations.insert(path, migration.with_context(|| source.path().display().to_string())?);
    }

    let document = |node: &Node| -> Result<Map<String, Value>> {
        Ok(match migrations.get(node.path.as_str()) {
            Some(migration) => migration.carried_or_refusal()?.document().clone(),
            None => node.document.clone(),
        })
    };
    let mut documents = tree::group_documents(nodes, |node| Ok(document(node)?.into()))?;
    documents.retain(|(node, _)| !node.is_v3 || node.is_consolidated);
    for (node, _) in tasks.values() {
        if !node.is_v3 || migrations.contains_key(node.path.as_str()) {
            documents.push((node, document(node)?));
        }
    }
    if nodes.iter().all(|node| node.is_v3) && migrations.is_empty() {
        return Err(nothing(arguments, tasks.len()));
    }
    let folder = |(node, document): &(&Node, Map<String, Value>)| {
        Ok((root.join(&node.path), tree::text(document)?))
    };
    let folders = documents.iter().map(folder).collect::<Result<Vec<_>>>()?;
    let mut kept = in_place::replace(&folders).with_context(shown)?;

    let mut done = Vec::new();
    for (path, (node, task)) in &tasks {
        let index = documents.iter().position(|(one, _)| one.path == *path);
        let kept = index.and_then(|index| kept.get_mut(index)).map(std::mem::take);
        done.push(match (task, migrations.get(path)) {
            (_, Some(migration)) => {
                let outcome = Outcome::InPlace(kept.unwrap_or_default());
                Done::migrated(node, migration, &outcome)
            }
            (Task::Keep(reason), _) => Done::kept(node, reason, "as it was"),
            (Task::Migrate(_), None) => bail!("{path}: not migrated"),
        });
    }
    Ok(done)
}

/// The error for a group that as a whole is what it would become.
fn nothing(arguments: &Migrate, number: usize) -> anyhow::Error {
    anyhow!(
        "{}: a group of Zarr v3 in which none of {} has numcodecs.fixedscaleoffset or \
         numcodecs.astype, so there is nothing to migrate",
        arguments.input.display(),
        arrays(number)
    )
}

fn to_json(arguments: &Migrate, done: &[Done]) -> Value {
    let list = done.iter().map(|Done { path, how, report }| match report {
        Some(report) => json!({"array": path, "action": "migrated", "report": report}),
        None => json!({"array": path, "action": "kept", "reason": how}),
    });
    json!({
        "input": arguments.input.display().to_string(),
        "output": arguments.output.as_ref().map(|output| output.display().to_string()),
        "arrays": list.collect::<Vec<_>>(),
    })
}

fn to_table(arguments: &Migrate, done: &[Done]) -> Table {
    let mut table = Table::default();
    let place = arguments.output.as_ref().unwrap_or(&arguments.input);
    let migrated = done.iter().filter(|one| one.report.is_some()).count();
    table.row("migrated", place.display().to_string());
    table.row("arrays", format!("{migrated} migrated, {} kept", done.len() - migrated));
    for Done { path, how, .. } in done {
        table.row(path.clone(), how.clone());
    }
    table
}

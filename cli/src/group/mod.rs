//! `recast pack` of a group: every array that a rule picks is packed, all else is copied, and the copies
//! of metadata that groups have say what is there then.

mod rules;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Map, Value, json};
use zarr_recast::data_type;
use zarrs::array::ArrayMetadataV2;

use crate::args::Pack;
use crate::carry::document_of_v2;
use crate::failure::UsageError;
use crate::output::{Destination, unwritten};
use crate::report::{Table, bytes, count, measured};
use crate::store::{Kind, Location};
use crate::{cf, pack};

use rules::{Rules, Treatment};

/// What lies at a place in a group.
struct Node {
    /// The place below the group, without a slash at its ends; empty for the group itself.
    path: String,
    location: Location,
    kind: Kind,
    /// Zarr v3 metadata, whatever they were.
    document: Map<String, Value>,
    /// Whether the documents are those of Zarr v3 already.
    is_v3: bool,
    /// Whether the group holds a copy of what is below it.
    is_consolidated: bool,
}

/// What became of an array.
struct Done {
    path: String,
    /// The report of packing it; without one it was copied, for the reason.
    report: Result<Value, String>,
}

pub(crate) fn run(arguments: &Pack) -> Result<()> {
    let Pack { input, output, common, .. } = arguments;
    let rules = Rules::new(arguments)?;
    let destination = Destination::new(input, output, common.overwrite)?;
    let shown = input.display();
    let nodes = nodes(Location::new(input)?).with_context(|| shown.to_string())?;
    let coordinates = coordinates(&nodes);
    let staged = destination.stage()?;

    let mut done = Vec::new();
    for node in &nodes {
        let place = staged.path().join(&node.path);
        if node.kind == Kind::Group {
            fs::create_dir_all(&place).map_err(|error| unwritten(error.into(), &node.path))?;
            continue;
        }
        let is_coordinate = coordinates.contains(&node.path);
        let treatment =
            rules.treatment(&node.path, &candidate(node, arguments.from_cf, is_coordinate));
        let report = match treatment? {
            Treatment::Pack(mut one) => {
                one.input = input.join(&node.path);
                one.output = place;
                one.common.overwrite = false;
                let report = if one.from_cf { cf::array(&one) } else { pack::array(&one) };
                let hint = format!("--exclude {:?} leaves it as it is", node.path);
                let mut report =
                    report.with_context(|| format!("{shown}: {}: {hint}", node.path))?;
                set(&mut report, "input", input.join(&node.path).display().to_string().into());
                set(&mut report, "output", output.join(&node.path).display().to_string().into());
                Ok(report)
            }
            Treatment::Copy(reason) => {
                copy(node, &place).with_context(|| format!("{shown}: {}", node.path))?;
                Err(reason)
            }
        };
        done.push(Done { path: node.path.clone(), report });
    }
    write_groups(&nodes, staged.path())?;
    if done.iter().all(|one| one.report.is_err()) {
        let arrays = arrays(done.len());
        bail!("{shown}: a group in which none of {arrays} is to be packed: {}", reasons(&done));
    }
    destination.commit(staged)?;

    let mut stdout = std::io::stdout().lock();
    if arguments.json {
        writeln!(stdout, "{:#}", to_json(arguments, &done))?;
    } else if !common.quiet {
        write!(stdout, "{}", to_table(arguments, &done))?;
    }
    Ok(())
}

/// Whether a group lies at a path; false where nothing can be found out.
pub(crate) fn is_group(path: &Path) -> bool {
    Location::new(path).and_then(|location| location.kind()).is_ok_and(|kind| kind == Kind::Group)
}

/// The error for arguments that are for groups.
pub(crate) fn is_no_group(arguments: &Pack) -> anyhow::Error {
    let text = "is no group, and --include, --exclude, --all and --config are for groups";
    UsageError(format!("{} {text}", arguments.input.display())).into()
}

/// The group itself, and all that is below it, groups before what is in them.
fn nodes(root: Location) -> Result<Vec<Node>> {
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
        _ => Err(anyhow!("{name} is no JSON object")),
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
            bail!("an array of Zarr v1 in a group; recast migrate it first");
        } else {
            let array = location.document(".zarray")?.context("no metadata")?;
            let mut array: ArrayMetadataV2 = serde_json::from_value(array)?;
            array.attributes = attributes;
            document_of_v2(&array)?
        }
    };
    Ok(Node { path, location, kind, document, is_v3, is_consolidated })
}

/// Coordinates: arrays of one dimension named like it, and what attributes of others call
/// coordinates or bounds.
fn coordinates(nodes: &[Node]) -> Vec<String> {
    let mut coordinates = Vec::new();
    for node in nodes {
        let (folder, name) = match node.path.rsplit_once('/') {
            Some((folder, name)) => (folder, name),
            None => ("", node.path.as_str()),
        };
        let dimensions = node.document.get("dimension_names").and_then(Value::as_array);
        if dimensions.is_some_and(|names| names.len() == 1 && names.iter().all(|n| n == name)) {
            coordinates.push(node.path.clone());
        }
        let folder = if node.kind == Kind::Group { &node.path } else { folder };
        for attribute in ["coordinates", "bounds"] {
            let attributes = node.document.get("attributes");
            let names = attributes.and_then(|all| all.get(attribute)?.as_str()).unwrap_or_default();
            for name in names.split_whitespace() {
                let is_root = folder.is_empty();
                coordinates.push(if is_root {
                    name.to_owned()
                } else {
                    format!("{folder}/{name}")
                });
            }
        }
    }
    coordinates
}

/// Whether an array can be packed at all, and if not, why.
fn candidate(node: &Node, from_cf: bool, is_coordinate: bool) -> rules::Candidate {
    let codecs = node.document.get("codecs").map(Value::to_string).unwrap_or_default();
    let packed = ["cast_value", "scale_offset", "numcodecs.fixedscaleoffset", "numcodecs.astype"];
    let name = node.document.get("data_type").cloned().unwrap_or_default();
    let unfit = match data_type::from_json(&name) {
        Err(_) => Some(format!("{} is no type to pack", name.as_str().unwrap_or("its type"))),
        Ok(element_type) if from_cf => {
            let attributes = node.document.get("attributes");
            let has = |name: &str| attributes.is_some_and(|all| all.get(name).is_some());
            let is_packed = has("scale_factor") || has("add_offset");
            (!element_type.is_integer() || !is_packed)
                .then(|| "no integers with scale_factor or add_offset".to_owned())
        }
        Ok(element_type) if !element_type.is_float() => Some(format!("{element_type}")),
        Ok(_) if packed.iter().any(|name| codecs.contains(name)) => {
            Some("has value codecs already".to_owned())
        }
        Ok(_) => None,
    };
    rules::Candidate { unfit, is_coordinate: is_coordinate && !from_cf }
}

/// Copies an array: the files as they are, and the metadata as Zarr v3.
fn copy(node: &Node, place: &Path) -> Result<()> {
    const METADATA: [&str; 4] = [".zarray", ".zattrs", ".zgroup", ".zmetadata"];
    fs::create_dir_all(place)?;
    for name in node.location.keys()? {
        let file = place.join(&name);
        if METADATA.contains(&name.as_str()) {
            continue;
        }
        let bytes = node.location.bytes(&name)?.with_context(|| format!("{name} is gone"))?;
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&file, bytes).map_err(|error| unwritten(error.into(), &name))?;
    }
    if !node.is_v3 {
        write_document(place, &node.document)?;
    }
    Ok(())
}

/// Writes the metadata of all groups; where there was a copy of what is below, there is one again.
fn write_groups(nodes: &[Node], root: &Path) -> Result<()> {
    let mut documents: BTreeMap<&str, Value> = BTreeMap::new();
    for node in nodes {
        let document = if node.kind == Kind::Group {
            node.document.clone().into()
        } else {
            let text = fs::read(root.join(&node.path).join("zarr.json"))?;
            serde_json::from_slice(&text)?
        };
        documents.insert(&node.path, document);
    }
    for node in nodes.iter().filter(|node| node.kind == Kind::Group) {
        let mut document = node.document.clone();
        if node.is_consolidated {
            let prefix =
                if node.path.is_empty() { String::new() } else { format!("{}/", node.path) };
            let below = documents.iter().filter(|(path, _)| !path.is_empty());
            let below = below.filter_map(|(path, document)| {
                Some((path.strip_prefix(&prefix)?.to_owned(), document.clone()))
            });
            let metadata: Map<String, Value> = below.collect();
            let copy = json!({"kind": "inline", "must_understand": false, "metadata": metadata});
            document.insert("consolidated_metadata".into(), copy);
        }
        write_document(&root.join(&node.path), &document)?;
    }
    Ok(())
}

fn write_document(place: &Path, document: &Map<String, Value>) -> Result<()> {
    let mut text = serde_json::to_string_pretty(document)?;
    text.push('\n');
    fs::write(place.join("zarr.json"), text).map_err(|error| unwritten(error.into(), &"zarr.json"))
}

fn set(document: &mut Value, member: &str, value: Value) {
    if let Some(object) = document.as_object_mut() {
        object.insert(member.to_owned(), value);
    }
}

fn arrays(number: usize) -> String {
    format!("{} array{}", count(number as u64), if number == 1 { "" } else { "s" })
}

fn reasons(done: &[Done]) -> String {
    let reasons = done
        .iter()
        .filter_map(|one| Some(format!("{} ({})", one.path, one.report.as_ref().err()?)));
    let reasons: Vec<String> = reasons.collect();
    if reasons.is_empty() { "there are none".to_owned() } else { reasons.join(", ") }
}

fn to_json(arguments: &Pack, done: &[Done]) -> Value {
    let list: Vec<Value> = done
        .iter()
        .map(|Done { path, report }| match report {
            Ok(report) => json!({"array": path, "action": "packed", "report": report}),
            Err(reason) => json!({"array": path, "action": "copied", "reason": reason}),
        })
        .collect();
    json!({
        "input": arguments.input.display().to_string(),
        "output": arguments.output.display().to_string(),
        "arrays": list,
    })
}

fn to_table(arguments: &Pack, done: &[Done]) -> Table {
    let mut table = Table::default();
    let packed = done.iter().filter(|one| one.report.is_ok()).count();
    let copied = done.len() - packed;
    table.row("packed", arguments.output.display().to_string());
    table.row("arrays", format!("{packed} packed, {copied} copied"));
    let (mut before, mut after) = (0.0, 0.0);
    for Done { path, report } in done {
        let text = match report {
            Err(reason) => format!("copied: {reason}"),
            Ok(report) => {
                let text = |pointer: &str| {
                    report.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
                };
                let number = |pointer: &str| report.pointer(pointer).and_then(Value::as_f64);
                if report.get("bit_identical").is_some() {
                    let is_same = report["bit_identical"] == true;
                    let ulps = number("/elements/max_ulps").unwrap_or_default();
                    let same = "bit-identical to CF".to_owned();
                    let how = if is_same { same } else { format!("within {ulps} ULP of CF") };
                    format!("{} -> {}, {how}", text("/stored_data_type"), text("/data_type"))
                } else {
                    let (source, stored) =
                        (number("/bytes/source_stored"), number("/bytes/stored"));
                    let (source, stored) = (source.unwrap_or(0.0), stored.unwrap_or(0.0));
                    before += source;
                    after += stored;
                    format!(
                        "{} -> {}, max error {}, {} -> {}",
                        text("/source_data_type"),
                        text("/data_type"),
                        measured(number("/error/max").unwrap_or_default()),
                        bytes(source),
                        bytes(stored)
                    )
                }
            }
        };
        table.row(path.clone(), text);
    }
    if after > 0.0 {
        table.row("stored", format!("{} -> {}", bytes(before), bytes(after)));
    }
    table
}

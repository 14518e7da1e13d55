//! `recast pack` of a group: every array that a rule picks is packed, all else is copied, and the copies
//! of metadata that groups have say what is there then.

mod rules;
pub(crate) mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use zarr_recast::data_type;

use crate::args::Pack;
use crate::carry::Transfer;
use crate::failure::UsageError;
use crate::output::{Destination, unwritten};
use crate::page::{PagePlace, html, named_section};
use crate::report::{Table, bytes, count, measured, print};
use crate::store::{Kind, Location, below};
use crate::{cf, pack};

use rules::{Rules, Treatment};
use tree::Node;

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
    let nodes = tree::nodes(Location::new(input)?).with_context(|| shown.to_string())?;
    let coordinates = coordinates(&nodes);
    let mut treatments = BTreeMap::new();
    for node in nodes.iter().filter(|node| node.kind == Kind::Array) {
        let is_coordinate = coordinates.contains(&node.path);
        let candidate = candidate(node, arguments.from_cf, is_coordinate);
        let treatment = rules.treatment(&node.path, &candidate);
        let treatment = treatment.with_context(|| shown.to_string())?;
        treatments.insert(node.path.as_str(), treatment);
    }
    let packed = treatments.iter().filter(|(_, one)| matches!(one, Treatment::Pack(_)));
    let packed: Vec<&str> = packed.map(|(path, _)| *path).collect();
    let of_one_scale = rules.of_one_scale(&packed).with_context(|| shown.to_string())?;
    let page_place = PagePlace::of(arguments.report.as_deref(), common.overwrite)?;
    let staged = if arguments.dry_run { None } else { Some(destination.stage()?) };

    let (mut done, mut sections) = (Vec::new(), String::new());
    for node in &nodes {
        let place = staged.as_ref().map(|staged| staged.path().join(&node.path));
        if node.kind == Kind::Group {
            if let Some(place) = &place {
                fs::create_dir_all(place).map_err(|error| unwritten(error.into(), &node.path))?;
            }
            continue;
        }
        let Some(treatment) = treatments.remove(node.path.as_str()) else { continue };
        let report = match treatment {
            Treatment::Pack(mut one) => {
                let is_one = of_one_scale.contains(&node.path.as_str());
                let together = of_one_scale.iter().filter(|_| is_one);
                one.scale_from = together.map(|path| below(input, path)).collect();
                one.input = below(input, &node.path);
                one.output = output.join(&node.path);
                let place = place.as_deref();
                let packed =
                    if one.from_cf { cf::array(&one, place) } else { pack::array(&one, place) };
                let hint = format!("--exclude {:?} leaves it as it is", node.path);
                let (report, section) =
                    packed.with_context(|| format!("{shown}: {}: {hint}", node.path))?;
                let section = section.map(|section| named_section(&node.path, &section));
                sections.push_str(&section.unwrap_or_default());
                Ok(report)
            }
            Treatment::Copy(reason) => {
                if let Some(place) = &place {
                    node.copy(place, Transfer::Copy)
                        .with_context(|| format!("{shown}: {}", node.path))?;
                }
                Err(reason)
            }
        };
        done.push(Done { path: node.path.clone(), report });
    }
    if done.iter().all(|one| one.report.is_err()) {
        let arrays = arrays(done.len());
        bail!("{shown}: a group in which none of {arrays} is to be packed: {}", reasons(&done));
    }
    if let Some(staged) = staged {
        tree::write_groups(&nodes, staged.path())?;
        let parts = format!("{}{sections}", html(&to_table(arguments, &done))?);
        pack::commit(arguments, &destination, staged, page_place, Some(&parts))?;
    }

    let to_text = || {
        let codecs = done.iter().filter(|_| arguments.dry_run).filter_map(|one| {
            let codecs = one.report.as_ref().ok()?.get("codecs")?;
            Some(format!("\n{}: \"codecs\": {codecs:#}\n", one.path))
        });
        format!("{}{}", to_table(arguments, &done), codecs.collect::<String>())
    };
    print(arguments.json, common.quiet, || to_json(arguments, &done), to_text)
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

pub(crate) fn arrays(number: usize) -> String {
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
        "dry_run": arguments.dry_run,
        "arrays": list,
    })
}

fn to_table(arguments: &Pack, done: &[Done]) -> Table {
    let mut table = Table::default();
    let packed = done.iter().filter(|one| one.report.is_ok()).count();
    let copied = done.len() - packed;
    if arguments.dry_run {
        table
            .row("dry run", "nothing written; sizes and errors are from some chunks of each array");
    } else {
        table.row("packed", arguments.output.display().to_string());
    }
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

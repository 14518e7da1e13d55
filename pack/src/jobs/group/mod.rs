//! Packs a group: every array that a rule picks is packed, everything else is copied.

mod group_job;
mod multiscales;
pub(crate) mod properties;
mod rules;
mod sets;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use serde::Serialize;

use crate::error::Result;
use crate::jobs::pack::PackJob;
use crate::jobs::runner::{DryRun, Job};
use crate::metadata::coordinates::{companions, coordinates};
use crate::metadata::tree;
use crate::runtime::Runtime;
use crate::store::destination::Destination;
use crate::store::links::OutsideLinks;
use crate::store::location::Kind;
use crate::store::staging::Staged;
use crate::store::transfer::Transfer;
use crate::text::{arrays, as_shown, with_reasons};

use multiscales::pyramids;
use properties::{described, properties};
use rules::{Rules, Treatment};
use sets::Sets;

pub use group_job::{ArrayRule, GroupJob};
pub use sets::ArrayReport;

/// The report of a packed group.
#[derive(Debug, Serialize)]
pub struct GroupReport {
    /// The group that was read.
    pub input: String,
    /// The group that was written.
    pub output: String,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Patterns that match no array, and what the output lacks.
    pub warnings: Vec<String>,
    /// The links that lead out of the input: what they lead to was read.
    #[serde(skip_serializing_if = "OutsideLinks::is_empty")]
    pub outside_links: OutsideLinks,
    /// Its arrays.
    pub arrays: Vec<GroupEntry>,
}

/// The outcome for an array of a group.
#[derive(Debug, Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum GroupEntry {
    /// It was packed.
    Packed {
        /// Its path in the group.
        array: String,
        /// Its report.
        report: ArrayReport,
    },
    /// It was copied.
    Copied {
        /// Its path in the group.
        array: String,
        /// Why it was not packed.
        reason: String,
    },
    /// It was to be packed and could not be, so it was copied.
    Failed {
        /// Its path in the group.
        array: String,
        /// Why.
        reason: String,
    },
}

impl Job for GroupJob {
    type Report = GroupReport;

    fn places(&self) -> (&Path, &Path, bool) {
        self.pack.places()
    }

    fn write(&self, destination: &Destination, runtime: &Runtime) -> Result<(GroupReport, Staged)> {
        let (report, staged) = self.pack_to(Some(destination), runtime)?;
        Ok((report, staged.context("nothing was written")?))
    }
}

impl DryRun for GroupJob {
    fn dry_report(&self, runtime: &Runtime) -> Result<GroupReport> {
        Ok(self.pack_to(None, runtime)?.0)
    }
}

impl GroupJob {
    /// Packs the group; without a destination nothing is written.
    fn pack_to(
        &self,
        destination: Option<&Destination>,
        runtime: &Runtime,
    ) -> Result<(GroupReport, Option<Staged>)> {
        let PackJob { input, output, options, .. } = &self.pack;
        options.checked()?;
        let rules = Rules::new(self)?;
        let shown = input.display();
        let nodes = tree::nodes_at(input)?;
        let mut warnings = rules.check_names(&nodes).with_context(|| shown.to_string())?;
        let described = described(&nodes);
        let coordinates = coordinates(&described);
        let mut treatments = BTreeMap::new();
        for node in nodes.iter().filter(|node| node.kind == Kind::Array) {
            let own = rules.options_of(&node.path)?;
            let properties = properties(node, &coordinates, own.from_cf, self.repack);
            let treatment = rules.treatment(&node.path, &properties, own);
            let treatment = treatment.with_context(|| shown.to_string())?;
            treatments.insert(&*node.path, treatment);
        }
        let packed = treatments.iter().filter(|(_, one)| one.packs_values());
        let packed: Vec<&str> = packed.map(|(path, _)| *path).collect();
        let companions = companions(&described);
        let companions = packed.iter().filter_map(|path| Some((path, companions.get(*path)?)));
        warnings.extend(companions.map(|(path, reason)| {
            format!("{path} is packed like data, though it is {reason}; --exclude {path} keeps it as it is")
        }));
        let named = rules.of_one_scale(&packed).with_context(|| shown.to_string())?;
        let staged = destination.map(Destination::stage).transpose()?;
        let directory = staged.as_ref().map(Staged::path);
        let mut sets = Sets::new(self, directory);
        for node in &nodes {
            if let Some(Treatment::Pack(options)) = treatments.get(&*node.path) {
                sets.add(node, options);
            }
        }
        sets.give_one_scale(named);
        for mut levels in pyramids(&nodes) {
            levels.retain(|level| treatments.get(level).is_some_and(Treatment::chooses_scale));
            sets.give_one_scale(levels);
        }
        let entries = tree::each_array(&nodes, directory, runtime, |node| {
            let array = node.path.to_string();
            let copy = || -> Result<()> {
                let Some(directory) = directory else { return Ok(()) };
                let copied = node.copy(&node.path.inside(directory)?, Transfer::Copy, runtime);
                copied.with_context(|| format!("{shown}: {array}"))
            };
            let treatment = treatments.remove(array.as_str());
            Ok(match treatment.context("an array without a treatment")? {
                Treatment::Pack(_) => match sets.pack(&array, runtime)? {
                    Ok(report) => GroupEntry::Packed { array, report },
                    Err(reason) => {
                        copy()?;
                        GroupEntry::Failed { array, reason }
                    }
                },
                Treatment::Copy(reason) => {
                    copy()?;
                    let caveat = node.caveat().map(|caveat| format!("; {caveat}"));
                    let reason = format!("{reason}{}", caveat.unwrap_or_default());
                    GroupEntry::Copied { array, reason }
                }
            })
        })?;
        if !entries.iter().any(|one| matches!(one, GroupEntry::Packed { .. })) {
            let (arrays, reasons) = (arrays(entries.len()), reasons(&entries));
            let has_failed = entries.iter().any(|one| matches!(one, GroupEntry::Failed { .. }));
            let is = if has_failed { "could be" } else { "is to be" };
            bail!("{shown}: a group in which none of {arrays} {is} packed: {reasons}");
        }
        if let Some((destination, directory)) = destination.zip(directory) {
            warnings.extend(tree::copy_files(&nodes, destination, directory, runtime)?);
        }
        let report = GroupReport {
            input: as_shown(input),
            output: as_shown(output),
            dry_run: destination.is_none(),
            warnings,
            outside_links: OutsideLinks::default(),
            arrays: entries,
        };
        Ok((report, staged))
    }
}

impl GroupReport {
    /// Which arrays could not be packed, with [`GroupJob::keep_going`], and why; `None` if all could.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let failed = self.arrays.iter().filter_map(|entry| match entry {
            GroupEntry::Failed { array, reason } => Some((array, reason)),
            GroupEntry::Packed { .. } | GroupEntry::Copied { .. } => None,
        });
        let failed = with_reasons(failed);
        if failed.is_empty() {
            return None;
        }
        Some(format!(
            "{}: {} of {} could not be packed and are copied as they are: {}",
            self.output,
            failed.len(),
            arrays(self.arrays.len()),
            failed.join("; ")
        ))
    }
}

fn reasons(entries: &[GroupEntry]) -> String {
    let reasons = entries.iter().filter_map(|entry| match entry {
        GroupEntry::Copied { array, reason } | GroupEntry::Failed { array, reason } => {
            Some((array, reason))
        }
        GroupEntry::Packed { .. } => None,
    });
    let reasons = with_reasons(reasons);
    if reasons.is_empty() { "there are none".to_owned() } else { reasons.join(", ") }
}

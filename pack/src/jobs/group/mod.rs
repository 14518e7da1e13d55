//! Packs a group: every array that a rule picks is packed, everything else is copied.

mod group_job;
mod multiscales;
pub(crate) mod properties;
mod rules;
mod sets;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};

use crate::error::Result;
use crate::jobs::pack::PackJob;
use crate::jobs::runner::{DryRun, Job};
use crate::jobs::tree::{ArrayOutcome, GroupReport, Outcome, Output, arrays_of, each_array};
use crate::metadata::coordinates::{companions, coordinates};
use crate::metadata::tree;
use crate::runtime::Runtime;
use crate::store::destination::Destination;
use crate::store::staging::Staged;
use crate::store::transfer::Transfer;
use crate::text::number_of_arrays;

use multiscales::pyramids;
use properties::{described, properties};
use rules::{Rules, Treatment};
use sets::Sets;

pub use group_job::{ArrayRule, GroupJob};
pub use sets::ArrayReport;

impl Job for GroupJob {
    type Report = GroupReport<ArrayReport>;

    fn places(&self) -> (&Path, &Path, bool) {
        self.pack.places()
    }

    fn write(
        &self,
        destination: &Destination,
        runtime: &Runtime,
    ) -> Result<(Self::Report, Staged)> {
        let (report, staged) = self.pack_to(Some(destination), runtime)?;
        Ok((report, staged.context("nothing was written")?))
    }
}

impl DryRun for GroupJob {
    fn dry_report(&self, runtime: &Runtime) -> Result<Self::Report> {
        Ok(self.pack_to(None, runtime)?.0)
    }
}

impl GroupJob {
    /// Packs the group; without a destination nothing is written.
    fn pack_to(
        &self,
        destination: Option<&Destination>,
        runtime: &Runtime,
    ) -> Result<(GroupReport<ArrayReport>, Option<Staged>)> {
        let PackJob { input, output, options, .. } = &self.pack;
        options.checked()?;
        let rules = Rules::new(self)?;
        let shown = input.display();
        let nodes = tree::nodes_at(input)?;
        let mut warnings = rules.check_names(&nodes).with_context(|| shown.to_string())?;
        let described = described(&nodes);
        let coordinates = coordinates(&described);
        let mut treatments = BTreeMap::new();
        for node in arrays_of(&nodes) {
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
        let outcomes = each_array(&nodes, directory, runtime, |node| {
            let treatment = treatments.remove(&*node.path);
            Ok(match treatment.context("an array without a treatment")? {
                Treatment::Pack(_) => sets.pack(&node.path, runtime)?,
                Treatment::Copy(reason) => {
                    let caveat = node.caveat().map(|caveat| format!("; {caveat}"));
                    let reason = format!("{reason}{}", caveat.unwrap_or_default());
                    Outcome::Kept { reason }
                }
            })
        })?;
        if !outcomes.iter().any(|one| one.report().is_some()) {
            let has_failed = outcomes.iter().any(|one| one.failed().is_some());
            let is = if has_failed { "could be" } else { "is to be" };
            let reasons: Vec<_> = outcomes.iter().filter_map(ArrayOutcome::with_reason).collect();
            let reasons =
                if reasons.is_empty() { "there are none".to_owned() } else { reasons.join(", ") };
            let arrays = number_of_arrays(outcomes.len() as u64);
            bail!("{shown}: a group in which none of {arrays} {is} packed: {reasons}");
        }
        if let Some((destination, directory)) = destination.zip(directory) {
            let output = Output { destination, directory, transfer: Transfer::Copy };
            warnings.extend(output.complete(&nodes, &outcomes, runtime)?);
        }
        let report = GroupReport {
            dry_run: destination.is_none(),
            warnings,
            ..GroupReport::new(input, Some(output), outcomes)
        };
        Ok((report, staged))
    }
}

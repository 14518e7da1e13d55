//! Packs the arrays of a group: those with one scale together, each of the others alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context;
use serde::Serialize;

use super::group_job::GroupJob;
use crate::error::{Interrupted, Result, is_disk_full, is_of_array, unless_room};
use crate::jobs::cf::{FromCfJob, FromCfReport};
use crate::jobs::pack::{PackJob, PackReport, Request, pack_together};
use crate::jobs::runner::{DryRun, run_inside};
use crate::jobs::tree::Outcome;
use crate::metadata::tree::Node;
use crate::options::{PackOptions, ShardCodecs};
use crate::runtime::Runtime;
use crate::store::destination::Destination;
use crate::store::location::below;

/// The report of an array of a group.
#[derive(Debug, Serialize)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "Outcome has it in a box")]
pub enum ArrayReport {
    /// Its values were packed.
    Packed(PackReport),
    /// CF's attributes were turned into codecs.
    FromCf(FromCfReport),
}

/// The arrays of a group that are to be packed.
pub(super) struct Sets<'a> {
    group: &'a GroupJob,
    /// Where the group is written, unless this is a dry run.
    directory: Option<&'a Path>,
    /// For each array that shares its scale, all with that scale.
    of_one_scale: BTreeMap<&'a str, Rc<[&'a str]>>,
    jobs: BTreeMap<&'a str, PackJob>,
    /// What came of arrays that were packed together with another one.
    done: BTreeMap<&'a str, Outcome<ArrayReport>>,
}

impl<'a> Sets<'a> {
    pub(super) fn new(group: &'a GroupJob, directory: Option<&'a Path>) -> Self {
        Self {
            group,
            directory,
            of_one_scale: BTreeMap::new(),
            jobs: BTreeMap::new(),
            done: BTreeMap::new(),
        }
    }

    /// Adds an array.
    pub(super) fn add(&mut self, node: &'a Node, options: &PackOptions) {
        let (group, array) = (self.group, &*node.path);
        let mut options = options.clone();
        if !node.has_shards() {
            options.shard_codecs = ShardCodecs::Auto;
        }
        let PackJob { input, output, .. } = &group.pack;
        let (input, output) = (below(input, array), output.join(array));
        // Those of one scale are packed together.
        let scale_from = Vec::new();
        let job = PackJob { input, output, options, scale_from, ..group.pack.clone() };
        self.jobs.insert(array, job);
    }

    /// Gives one scale to those of some arrays that have none with others.
    pub(super) fn give_one_scale(&mut self, mut arrays: Vec<&'a str>) {
        arrays.retain(|array| !self.of_one_scale.contains_key(array));
        let all: Rc<[&str]> = arrays.into();
        self.of_one_scale.extend(all.iter().map(|&array| (array, Rc::clone(&all))));
    }

    /// All arrays that have one scale with an array, which is among them; none if it has its own.
    fn with_one_scale(&self, array: &str) -> &[&'a str] {
        self.of_one_scale.get(array).map_or(&[], |all| &**all)
    }

    /// Packs an array, and all others that get its codecs.
    ///
    /// # Errors
    /// If the group job does not keep going, also what the array fails with.
    pub(super) fn pack(&mut self, array: &str, runtime: &Runtime) -> Result<Outcome<ArrayReport>> {
        if let Some(done) = self.done.remove(array) {
            return Ok(done);
        }
        let set = self.set_of(array)?;
        let outcomes: Vec<Outcome<ArrayReport>> = match self.pack_set(&set, runtime) {
            Ok(reports) => {
                let done = |report| Outcome::Done { report: Box::new(report) };
                reports.into_iter().map(done).collect()
            }
            Err(failure) if failure.is::<Interrupted>() => return Err(failure),
            Err(failure) if self.group.keep_going && is_of_array(&failure) => {
                let failed = || Outcome::Failed { reason: format!("{failure:#}") };
                set.iter().map(|_| failed()).collect()
            }
            Err(failure) if is_disk_full(&failure) => {
                return Err(unless_room(failure, &self.group.pack.output.join(array)));
            }
            // An error that is not about the arrays would come back with the next one.
            Err(failure) => {
                let hint = format!(
                    "--exclude {array:?} leaves it as it is, and --keep-going every array that fails"
                );
                let others = match set.len() {
                    1 => String::new(),
                    more => format!(" (with {} more of one scale)", more - 1),
                };
                let shown = self.group.pack.input.display();
                return Err(failure.context(format!("{shown}: {array}{others}: {hint}")));
            }
        };
        self.done.extend(set.into_iter().zip(outcomes));
        self.done.remove(array).context("an array was not packed")
    }

    /// An array, and those of one scale with it that have the same options.
    fn set_of(&self, array: &str) -> Result<Vec<&'a str>> {
        let (&path, job) = self.jobs.get_key_value(array).context("no array to be packed")?;
        let is_same = |other: &&&str| {
            self.jobs.get(**other).is_some_and(|other| other.options == job.options)
        };
        let set: Vec<&str> = self.with_one_scale(path).iter().filter(is_same).copied().collect();
        Ok(if set.is_empty() { vec![path] } else { set })
    }

    fn pack_set(&self, set: &[&str], runtime: &Runtime) -> Result<Vec<ArrayReport>> {
        let job = |array: &str| self.jobs.get(array).with_context(|| array.to_owned());
        let place = |array: &str| self.directory.map(|directory| directory.join(array));
        if let [array] = set
            && job(array)?.options.from_cf
        {
            let job = FromCfJob { pack: job(array)?.clone() };
            let report = match place(array) {
                Some(place) => run_inside(&job, &place, runtime)?,
                None => job.dry_report(runtime)?,
            };
            return Ok(vec![ArrayReport::FromCf(report)]);
        }
        // Those of one scale with other options have their part in the range.
        let all = set.first().map_or(&[][..], |array| self.with_one_scale(array));
        let others = all.iter().filter(|other| !set.contains(other));
        let others: Vec<PathBuf> =
            others.map(|other| below(&self.group.pack.input, other)).collect();
        let mut tasks: Vec<(&PackJob, Option<Destination>)> = Vec::new();
        for array in set {
            let destination = place(array).map(|place| Destination::free(&place));
            tasks.push((job(array)?, destination.transpose()?));
        }
        let requests = tasks.iter().map(|(job, destination)| {
            let destination = destination.as_ref();
            Request { job, destination }
        });
        let packed = pack_together(&requests.collect::<Vec<_>>(), &others, runtime)?;
        let mut reports = Vec::new();
        for ((_, destination), (report, staged)) in tasks.iter().zip(packed) {
            if let Some((destination, staged)) = destination.as_ref().zip(staged) {
                destination.commit(staged)?;
            }
            reports.push(ArrayReport::Packed(report));
        }
        Ok(reports)
    }
}

//! Packs a group: every array that a rule picks is packed, those with one scale together; everything else is copied.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, bail};
use serde::Serialize;
use serde_json::{Map, Value};

use super::rules::{GroupJob, Rules, Treatment, labels_of, properties};
use crate::error::{Error, Result, is_disk_full, is_interrupted, is_of_array, unless_room};
use crate::jobs::cf::{FromCfReport, dry_from_cf, from_cf};
use crate::jobs::job::{DryRun, Job, write_inside};
use crate::jobs::pack::{PackJob, PackReport, Place, pack_together};
use crate::jobs::tree::{GroupReport, Outcome, Output, PathReport, arrays_of, each_array};
use crate::metadata::coordinates::{companions, coordinates, described};
use crate::metadata::document::values;
use crate::metadata::tree::{self, Node};
use crate::options::{PackOptions, ShardCodecs};
use crate::recommend::{Advice, Recommended};
use crate::runtime::Runtime;
use crate::store::destination::Destination;
use crate::store::links::OutsideLinks;
use crate::store::location::{Kind, below, is_group};
use crate::store::staging::Staged;
use crate::store::transfer::Transfer;
use crate::text::number_of;

impl Job for GroupJob {
    type Report = PathReport<ArrayReport>;

    fn places(&self) -> (&Path, &Path, bool) {
        self.pack.places()
    }

    fn reads(&self) -> Vec<&Path> {
        // Names in a group are no paths.
        let PackJob { input, options, scale_from, .. } = &self.pack;
        let is_of_paths = !scale_from.is_empty() && !options.from_cf && !is_group(input);
        if is_of_paths { self.pack.reads() } else { vec![input] }
    }

    fn write(
        &self,
        destination: &Destination,
        runtime: &Runtime,
    ) -> Result<(Self::Report, Staged)> {
        if is_group(&self.pack.input) {
            let (report, staged) = self.pack_group(Some(destination), runtime)?;
            return Ok((PathReport::Group(report), staged.context("nothing was written")?));
        }
        self.refuse_rules(runtime)?;
        let (report, staged) = pack_array(&self.of_array(runtime)?, destination, runtime)?;
        Ok((PathReport::Array(Box::new(report)), staged))
    }
}

impl DryRun for GroupJob {
    fn dry_report(&self, runtime: &Runtime) -> Result<Self::Report> {
        if is_group(&self.pack.input) {
            return Ok(PathReport::Group(self.pack_group(None, runtime)?.0));
        }
        self.refuse_rules(runtime)?;
        Ok(PathReport::Array(Box::new(dry_pack_array(&self.of_array(runtime)?, runtime)?)))
    }
}

impl GroupJob {
    /// The job for a single array.
    fn of_array(&self, runtime: &Runtime) -> Result<PackJob> {
        let job = self.pack.clone();
        match &self.recommendations {
            Some(by) => job.recommended(by, runtime).map_err(Error::into_inner),
            None => Ok(job),
        }
    }

    /// Packs the group; without a destination nothing is written.
    fn pack_group(
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
        let mut recommended = BTreeMap::new();
        for node in arrays_of(&nodes) {
            let advice = self.recommendations.as_ref().filter(|_| !rules.says_how(&node.path));
            let advice = advice.map(|all| {
                let advice = all.advice(&labels_of(node, &described), options);
                recommended.insert(&*node.path, advice.recommended(all));
                advice
            });
            let for_all = match &advice {
                Some(Advice::Pack(options)) => options,
                Some(Advice::None | Advice::NotKnown(_)) | None => options,
            };
            let own = rules.options_of(&node.path, for_all)?;
            let mut properties = properties(node, &coordinates, own.from_cf, self.repack);
            properties.unadvised = match &advice {
                Some(Advice::None) if own.says_how() => None,
                advice => advice.as_ref().and_then(Advice::reason),
            };
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
                sets.add(node, options, recommended.remove(&*node.path));
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
            let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for outcome in &outcomes {
                by_reason
                    .entry(outcome.reason().unwrap_or_default())
                    .or_default()
                    .push(&outcome.array);
            }
            let reasons = by_reason
                .iter()
                .map(|(reason, arrays)| format!("{} ({reason})", arrays.join(", ")));
            let all = reasons.chain(warnings).collect::<Vec<_>>().join("; ");
            let all = if all.is_empty() { "there are none" } else { &*all };
            let arrays = number_of(outcomes.len() as u64, "array");
            bail!("{shown}: a group in which none of {arrays} {is} packed: {all}");
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

impl AsMut<OutsideLinks> for ArrayReport {
    fn as_mut(&mut self) -> &mut OutsideLinks {
        match self {
            Self::Packed(report) => report.as_mut(),
            Self::FromCf(report) => report.as_mut(),
        }
    }
}

/// Packs an array, by its values or by CF's attributes.
fn pack_array(
    job: &PackJob,
    destination: &Destination,
    runtime: &Runtime,
) -> Result<(ArrayReport, Staged)> {
    if job.options.from_cf {
        let (report, staged) = from_cf(job, destination, runtime)?;
        return Ok((ArrayReport::FromCf(report), staged));
    }
    let (report, staged) = job.write(destination, runtime)?;
    Ok((ArrayReport::Packed(report), staged))
}

/// As [`pack_array`], but writes nothing.
fn dry_pack_array(job: &PackJob, runtime: &Runtime) -> Result<ArrayReport> {
    Ok(if job.options.from_cf {
        ArrayReport::FromCf(dry_from_cf(job, runtime)?)
    } else {
        ArrayReport::Packed(job.dry_report(runtime)?)
    })
}

/// The arrays of a group that are to be packed.
pub(super) struct Sets<'a> {
    group: &'a GroupJob,
    /// Where the group is written, unless this is a dry run.
    directory: Option<&'a Path>,
    /// For each array that shares its scale, all with that scale.
    of_one_scale: BTreeMap<&'a str, Rc<[&'a str]>>,
    jobs: BTreeMap<&'a str, PackJob>,
    /// The outcomes of arrays that were packed together with an earlier array.
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
    pub(super) fn add(
        &mut self,
        node: &'a Node,
        options: &PackOptions,
        recommended: Option<Recommended>,
    ) {
        let (group, array) = (self.group, &*node.path);
        let mut options = options.clone();
        if !node.has_shards() {
            options.shard_codecs = ShardCodecs::Auto;
        }
        let PackJob { input, output, .. } = &group.pack;
        let (input, output) = (below(input, array), output.join(array));
        // Arrays of one scale are packed together.
        let scale_from = Vec::new();
        let job = PackJob { input, output, options, recommended, scale_from, ..group.pack.clone() };
        self.jobs.insert(array, job);
    }

    /// Makes a set with a common scale of these arrays, except those already in a set.
    pub(super) fn give_one_scale(&mut self, mut arrays: Vec<&'a str>) {
        arrays.retain(|array| !self.of_one_scale.contains_key(array));
        let all: Rc<[&str]> = arrays.into();
        self.of_one_scale.extend(all.iter().map(|&array| (array, Rc::clone(&all))));
    }

    /// The set of arrays with a common scale that an array is in, the array itself too; empty if the array has its own scale.
    fn with_one_scale(&self, array: &str) -> &[&'a str] {
        self.of_one_scale.get(array).map_or(&[], |all| &**all)
    }

    /// Packs an array, and all arrays that get the same codecs.
    ///
    /// # Errors
    /// A failure that is not about the array; without `keep_going`, any failure.
    pub(super) fn pack(&mut self, array: &str, runtime: &Runtime) -> Result<Outcome<ArrayReport>> {
        if let Some(done) = self.done.remove(array) {
            return Ok(done);
        }
        let set = self.set_of(array)?;
        let recommended = self.jobs.get(array).and_then(|job| job.recommended.as_ref());
        let is_advised = recommended.and_then(Recommended::by).is_some();
        let outcomes: Vec<Outcome<ArrayReport>> = match self.pack_set(&set, runtime) {
            Ok(reports) => {
                let done = |report| Outcome::Done { report: Box::new(report) };
                reports.into_iter().map(done).collect()
            }
            Err(failure) if is_interrupted(&failure) => return Err(failure),
            // As it is, an array keeps whatever is recommended.
            Err(failure) if is_of_array(&failure) && is_advised => {
                let reason = || format!("cannot be packed as recommended: {failure:#}");
                set.iter().map(|_| Outcome::Kept { reason: reason() }).collect()
            }
            Err(failure) if self.group.keep_going && is_of_array(&failure) => {
                let failed = || Outcome::Failed { reason: format!("{failure:#}") };
                set.iter().map(|_| failed()).collect()
            }
            Err(failure) if is_disk_full(&failure) => {
                return Err(unless_room(failure, &self.group.pack.output.join(array)));
            }
            // An error that is not about these arrays would come back with the next array.
            Err(failure) => {
                let others = match set.len() {
                    1 => String::new(),
                    more => format!(", with {} more of one scale", more - 1),
                };
                let shown = self.group.pack.input.display();
                let hint = format!("--exclude {array:?} or --keep-going leaves it as it is");
                return Err(failure.context(format!("{shown}: {array}{others} ({hint})")));
            }
        };
        self.done.extend(set.into_iter().zip(outcomes));
        self.done.remove(array).context("an array was not packed")
    }

    /// An array, and the arrays of its set that have the same options.
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
            let job = job(array)?;
            let write = |place: PathBuf| {
                write_inside(&place, &job.output, |place| pack_array(job, place, runtime))
            };
            return Ok(vec![place(array).map_or_else(|| dry_pack_array(job, runtime), write)?]);
        }
        // Arrays of the set with other options have their part in the range.
        let all = set.first().map_or(&[][..], |array| self.with_one_scale(array));
        let others = all.iter().filter(|other| !set.contains(other));
        let others: Vec<PathBuf> =
            others.map(|other| below(&self.group.pack.input, other)).collect();
        let destination = |array: &&str| place(array).map(|place| Destination::free(&place));
        let destinations = set.iter().map(|array| destination(array).transpose());
        let destinations: Vec<Option<Destination>> = destinations.collect::<Result<_>>()?;
        let places = set.iter().zip(&destinations).map(|(array, destination)| {
            Ok(Place { job: job(array)?, destination: destination.as_ref() })
        });
        let places = places.collect::<Result<Vec<_>>>()?;
        let packed = pack_together(&places, &others, runtime)?;
        let mut reports = Vec::new();
        for (place, (report, staged)) in places.iter().zip(packed) {
            if let Some((destination, staged)) = place.destination.zip(staged) {
                destination.commit(staged)?;
            }
            reports.push(ArrayReport::Packed(report));
        }
        Ok(reports)
    }
}

/// The arrays of each pyramid, finest first, if several arrays have one type.
///
/// Levels are arrays, as in [OME-Zarr], or groups with an array of each variable, as in [GeoZarr] and ndpyramid.
///
/// [OME-Zarr]: https://ngff.openmicroscopy.org/0.5/#multiscale-md
/// [GeoZarr]: https://github.com/zarr-conventions/multiscales
pub(super) fn pyramids(nodes: &[Node]) -> Vec<Vec<&str>> {
    let arrays: BTreeMap<&str, &Node> = arrays_of(nodes).map(|node| (&*node.path, node)).collect();
    let mut pyramids = Vec::new();
    for group in nodes.iter().filter(|node| node.kind == Kind::Group) {
        for levels in levels_of_images(&group.document) {
            // Arrays with the same name in each level, and of one type: only arrays of one type can have the same codecs.
            let mut images: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
            for level in levels {
                let level = format!("{}/{level}", group.path);
                let level = level.trim_matches('/');
                let below = arrays.range(level..).take_while(|(path, _)| path.starts_with(level));
                for (_, array) in below {
                    let Some(rest) = array.path.strip_prefix(level) else { continue };
                    if rest.is_empty() || rest.starts_with('/') {
                        let data_type = array.document.get("data_type").map(Value::to_string);
                        let of_image = images.entry((rest, data_type.unwrap_or_default()));
                        of_image.or_default().push(&array.path);
                    }
                }
            }
            pyramids.extend(images.into_values().filter(|arrays| arrays.len() > 1));
        }
    }
    pyramids
}

/// The paths of the levels of each image of a group, below it.
fn levels_of_images(document: &Map<String, Value>) -> Vec<Vec<String>> {
    let Some(attributes) = document.get("attributes") else { return Vec::new() };
    // OME-Zarr 0.5 has a member of its own for it.
    let images = attributes.pointer("/ome/multiscales").or_else(|| attributes.get("multiscales"));
    values(images).iter().map(levels).collect()
}

fn levels(image: &Value) -> Vec<String> {
    let listed = |list: &str, name: &str| -> Option<Vec<String>> {
        let levels = image.get(list)?.as_array()?.iter();
        Some(levels.filter_map(|level| Some(level.get(name)?.as_str()?.to_owned())).collect())
    };
    let of_tiles = || Some(image.get("tile_matrix_limits")?.as_object()?.keys().cloned().collect());
    let levels = listed("datasets", "path").or_else(|| listed("layout", "asset")).or_else(of_tiles);
    levels.unwrap_or_default()
}

//! Compares two groups: each array with the one of the same path.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use recast_kernels::in_default_environment;
use serde::Serialize;

use super::{CompareJob, CompareReport, in_type_of};
use crate::array::source::array_of;
use crate::check::nodes::{self, Same};
use crate::error::{Error, Result, is_interrupted};
use crate::jobs::rules::{Rule, labels_of};
use crate::jobs::tree::{ArrayOutcome, Outcome, PathReport, arrays_of};
use crate::metadata::coordinates::{Described, described};
use crate::metadata::tree::{self, Node};
use crate::options::{AllClose, Requirement};
use crate::runtime::Runtime;
use crate::store::location::{Kind, Location, below, is_group};
use crate::text::{as_shown, number_of};

/// How far the arrays of two groups differ.
#[derive(Debug, Serialize)]
pub struct GroupComparison {
    /// The group to compare with.
    pub a: String,
    /// The group that was compared.
    pub b: String,
    /// The tolerance for each element.
    pub tolerance: Option<AllClose>,
    /// Whether each array of which nothing else is required was checked against the bound that its attribute `recast` records.
    pub recorded: bool,
    /// The arrays of both groups, by path. An array is kept if its type has no numbers to subtract, or if it is not decoded
    /// here, and readers get the same of both groups.
    pub arrays: Vec<ArrayOutcome<CompareReport>>,
    /// The paths of arrays that only the first group has.
    pub only_in_a: Vec<String>,
    /// The paths of arrays that only the second group has.
    pub only_in_b: Vec<String>,
    /// All arrays together.
    pub total: GroupTotal,
    /// Whether anything that is not kept is a failure.
    #[serde(skip)]
    is_judged: bool,
}

/// All arrays of two groups together.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GroupTotal {
    /// Arrays whose elements were compared, and arrays with the same bytes.
    pub compared: u64,
    /// Arrays that could not be compared.
    pub failed: u64,
    /// Elements of the arrays whose elements were compared.
    pub elements: u64,
    /// Elements over the tolerance, if there is one.
    pub over: Option<u64>,
    /// Arrays with such elements, if there is a tolerance.
    pub arrays_over: Option<u64>,
}

impl CompareJob {
    /// Reads two arrays, or two groups: an array of groups that cannot be compared is in the report and not an error.
    ///
    /// # Errors
    /// As [`Self::run`]; a group and an array; groups without arrays.
    pub fn run_path(
        &self,
        runtime: &Runtime,
    ) -> std::result::Result<PathReport<CompareReport, GroupComparison>, Error> {
        if !is_group(&self.a) && !is_group(&self.b) {
            return Ok(PathReport::Array(Box::new(self.run(runtime)?)));
        }
        in_default_environment((self, runtime), |(job, runtime)| {
            Ok(PathReport::Group(job.compared_group(runtime)?))
        })
    }

    fn compared_group(&self, runtime: &Runtime) -> Result<GroupComparison> {
        let (a, b) = (group(&self.a, &self.b)?, group(&self.b, &self.a)?);
        let [of_a, of_b] = [&a, &b].map(|nodes| -> BTreeMap<&str, &Node> {
            arrays_of(nodes).map(|node| (&*node.path, node)).collect()
        });
        if of_a.is_empty() && of_b.is_empty() {
            let (a, b) = (self.a.display(), self.b.display());
            bail!("{a} and {b}: groups without arrays");
        }
        let without = |own: &BTreeMap<&str, &Node>, other: &BTreeMap<&str, &Node>| {
            let only = own.keys().filter(|path| !other.contains_key(**path));
            only.map(|path| (*path).to_owned()).collect()
        };
        let pairs: Vec<_> =
            of_a.iter().filter_map(|(path, a)| Some((*path, (*a, *of_b.get(path)?)))).collect();
        let described = described(&a);
        let rules = Rule::all(&self.rules)?;
        Rule::check_names(&rules, &a).with_context(|| self.a.display().to_string())?;
        let counts = self.recorded
            || self.tolerance.is_some()
            || !self.requirements.is_empty()
            || !rules.is_empty()
            || self.recommendations.is_some();
        let compared = runtime.each_array(pairs.into_iter(), |path, (a, b)| {
            Ok(ArrayOutcome {
                array: path.to_owned(),
                outcome: self.pair(a, b, &described, &rules, runtime)?,
            })
        })?;
        Ok(GroupComparison {
            a: as_shown(&self.a),
            b: as_shown(&self.b),
            tolerance: self.tolerance,
            recorded: self.recorded && self.tolerance.is_none() && self.requirements.is_empty(),
            total: GroupTotal::of(&compared, counts),
            is_judged: counts && !self.measures_only,
            arrays: compared,
            only_in_a: without(&of_a, &of_b),
            only_in_b: without(&of_b, &of_a),
        })
    }

    /// Compares an array that both groups have. Only an interruption is an error.
    fn pair(
        &self,
        a: &Node,
        b: &Node,
        described: &[Described<'_>],
        rules: &[Rule<'_>],
        runtime: &Runtime,
    ) -> Result<Outcome<CompareReport>> {
        let is_number = |node: &Node| node.type_without_numbers().is_none();
        let is_decoded = |node: &Node| is_number(node) && array_of(node).is_ok();
        let compare = || -> Result<Outcome<CompareReport>> {
            if !is_decoded(a) || !is_decoded(b) {
                let reason = match nodes::compare(a, b, runtime)? {
                    Same::Values => "no numbers; the same values",
                    Same::StoredBytes => {
                        "not decoded; the same stored bytes, type, fill value and codecs"
                    }
                };
                return Ok(Outcome::Kept { reason: reason.to_owned() });
            }
            let own = Rule::first(rules, &a.path).and_then(|rule| rule.options);
            let (options, recommended) = self.required(|| labels_of(a, described), own)?;
            let element_type = a.element_type();
            let (a, b) = (below(&self.a, &a.path), below(&self.b, &b.path));
            let job = Self {
                a,
                b,
                requirements: Requirement::of(&options),
                missing: element_type
                    .map_or_else(Vec::new, |one| in_type_of(&options.missing, one)),
                recommended,
                recommendations: None,
                rules: Vec::new(),
                ..self.clone()
            };
            let report = job.run(runtime).map_err(Error::into_inner)?;
            Ok(Outcome::Done { report: Box::new(report) })
        };
        match compare() {
            Err(error) if !is_interrupted(&error) => {
                Ok(Outcome::Failed { reason: format!("{error:#}") })
            }
            compared => compared,
        }
    }
}

/// All nodes of a group, which is compared with another one.
fn group(path: &Path, other: &Path) -> Result<Vec<Node>> {
    let all = || -> Result<Vec<Node>> {
        let location = Location::new(path)?;
        match location.kind()? {
            Kind::Group => tree::nodes(&location),
            Kind::Array => {
                let other = other.display();
                bail!(
                    "an array, and {other} is a group: compare two arrays or two groups; name an array of {other}, \
                     or a group here"
                )
            }
            Kind::Other => Err(location.no_node("no group here: neither zarr.json nor .zgroup")),
        }
    };
    all().with_context(|| path.display().to_string())
}

impl GroupTotal {
    fn of(all: &[ArrayOutcome<CompareReport>], counts: bool) -> Self {
        let mut total =
            Self { over: counts.then_some(0), arrays_over: counts.then_some(0), ..Self::default() };
        for one in all {
            match &one.outcome {
                Outcome::Done { report } => {
                    total.compared += 1;
                    total.elements += report.counts.elements;
                    let over = report.counts.over.unwrap_or_default();
                    total.over = total.over.map(|sum| sum + over);
                    total.arrays_over = total.arrays_over.map(|sum| sum + u64::from(over > 0));
                }
                Outcome::Kept { .. } => total.compared += 1,
                Outcome::Failed { .. } => total.failed += 1,
            }
        }
        total
    }
}

impl GroupComparison {
    /// Why the groups do not agree: arrays that cannot be compared; with a tolerance, also arrays over it and arrays that
    /// only one group has. `None` if there are none.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let mut failures: BTreeMap<&str, String> = BTreeMap::new();
        for ArrayOutcome { array, outcome } in &self.arrays {
            let failure = match outcome {
                Outcome::Done { report } => report.failure(),
                Outcome::Kept { .. } => None,
                Outcome::Failed { reason } => Some(reason.clone()),
            };
            failures.extend(failure.map(|failure| (array.as_str(), failure)));
        }
        if self.is_judged {
            for (group, only) in [("A", &self.only_in_a), ("B", &self.only_in_b)] {
                let failure = |array: &String| format!("{array} is only in {group}");
                failures.extend(only.iter().map(|array| (array.as_str(), failure(array))));
            }
        }
        let (_, first) = failures.first_key_value()?;
        let names: Vec<&str> = failures.keys().copied().collect();
        let all = self.arrays.len() + self.only_in_a.len() + self.only_in_b.len();
        Some(format!(
            "{}: {} of {} fail: {}; {first}",
            self.b,
            failures.len(),
            number_of(all as u64, "array"),
            names.join(", ")
        ))
    }
}

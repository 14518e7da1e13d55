//! Compares two groups: each array with the one of the same path.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, bail};
use recast_kernels::in_default_environment;
use serde::Serialize;

use super::array::{CompareJob, CompareReport};
use crate::array::source::array_of;
use crate::check::nodes::{self, Same};
use crate::error::{Error, Interrupted, Result};
use crate::metadata::tree::{self, Node};
use crate::options::AllClose;
use crate::runtime::Runtime;
use crate::store::location::{Kind, Location, below};
use crate::text::{arrays, as_shown};

/// How far the arrays of two groups differ.
#[derive(Debug, Serialize)]
pub struct GroupComparison {
    /// The group to compare with.
    pub a: String,
    /// The group that was compared.
    pub b: String,
    /// The tolerance for each element.
    pub tolerance: Option<AllClose>,
    /// Whether each array was checked against the bound that its attribute `recast` records.
    pub recorded: bool,
    /// All arrays of both groups, by path.
    pub arrays: Vec<ComparedArray>,
    /// All arrays together.
    pub total: GroupTotal,
}

/// The outcome for an array of one group or of both.
#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ComparedArray {
    /// Its elements were compared.
    Compared {
        /// Its path in both groups.
        array: String,
        /// How far they differ.
        report: Box<CompareReport>,
    },
    /// Its type has no numbers to subtract, or is not decoded here, and readers get the same of both groups.
    Identical {
        /// Its path in both groups.
        array: String,
        /// Whether all values were decoded and compared; if not, the stored bytes, types, fill values and codecs.
        decoded: bool,
    },
    /// It could not be compared.
    Failed {
        /// Its path in both groups.
        array: String,
        /// Why.
        reason: String,
    },
    /// Only the first group has it.
    OnlyInA {
        /// Its path there.
        array: String,
    },
    /// Only the second group has it.
    OnlyInB {
        /// Its path there.
        array: String,
    },
}

/// All arrays of two groups together.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GroupTotal {
    /// Arrays whose elements were compared, and arrays with the same bytes.
    pub compared: u64,
    /// Arrays that could not be compared.
    pub failed: u64,
    /// Arrays that only the first group has.
    pub only_in_a: u64,
    /// Arrays that only the second group has.
    pub only_in_b: u64,
    /// Elements of the arrays whose elements were compared.
    pub elements: u64,
    /// Elements over the tolerance, if there is one.
    pub over: Option<u64>,
    /// Arrays with such elements, if there is a tolerance.
    pub arrays_over: Option<u64>,
}

impl CompareJob {
    /// Reads both groups. An array that cannot be compared is in the report and not an error.
    ///
    /// # Errors
    /// A path that is not a group; groups without arrays.
    pub fn run_group(&self, runtime: &Runtime) -> std::result::Result<GroupComparison, Error> {
        in_default_environment((self, runtime), |(job, runtime)| Ok(job.compared_group(runtime)?))
    }

    fn compared_group(&self, runtime: &Runtime) -> Result<GroupComparison> {
        let (a, b) = (group(&self.a)?, group(&self.b)?);
        let [of_a, of_b] = [&a, &b].map(|nodes| -> BTreeMap<&str, &Node> {
            let arrays = nodes.iter().filter(|node| node.kind == Kind::Array);
            arrays.map(|node| (&*node.path, node)).collect()
        });
        let paths: BTreeSet<&str> = of_a.keys().chain(of_b.keys()).copied().collect();
        if paths.is_empty() {
            let (a, b) = (self.a.display(), self.b.display());
            bail!("{a} and {b}: groups without arrays");
        }
        let pairs = paths.into_iter().map(|path| (path, (of_a.get(path), of_b.get(path))));
        let compared = runtime.each_array(pairs, |path, pair| {
            let array = path.to_owned();
            match pair {
                (Some(a), Some(b)) => self.pair(a, b, runtime),
                (Some(_), None) => Ok(ComparedArray::OnlyInA { array }),
                (None, _) => Ok(ComparedArray::OnlyInB { array }),
            }
        })?;
        Ok(GroupComparison {
            a: as_shown(&self.a),
            b: as_shown(&self.b),
            tolerance: self.tolerance,
            recorded: self.recorded && self.tolerance.is_none(),
            total: GroupTotal::of(&compared, self.recorded || self.tolerance.is_some()),
            arrays: compared,
        })
    }

    /// Compares an array that both groups have. Only an interruption is an error.
    fn pair(&self, a: &Node, b: &Node, runtime: &Runtime) -> Result<ComparedArray> {
        let is_number = |node: &Node| node.type_without_numbers().is_none();
        let is_decoded = |node: &Node| is_number(node) && array_of(node).is_ok();
        let compare = || -> Result<ComparedArray> {
            let array = a.path.to_string();
            if !is_decoded(a) || !is_decoded(b) {
                let decoded = nodes::compare(a, b, runtime)? == Same::Values;
                return Ok(ComparedArray::Identical { array, decoded });
            }
            let (a, b) = (below(&self.a, &array), below(&self.b, &array));
            let report = Self { a, b, ..self.clone() }.run(runtime).map_err(Error::into_inner)?;
            Ok(ComparedArray::Compared { array, report: Box::new(report) })
        };
        match compare() {
            Err(error) if !error.is::<Interrupted>() => {
                let (array, reason) = (a.path.to_string(), format!("{error:#}"));
                Ok(ComparedArray::Failed { array, reason })
            }
            compared => compared,
        }
    }
}

/// All nodes of a group.
fn group(path: &Path) -> Result<Vec<Node>> {
    let all = || -> Result<Vec<Node>> {
        let location = Location::new(path)?;
        match location.kind()? {
            Kind::Group => tree::nodes(&location),
            Kind::Array => bail!(
                "an array, and the other is a group; name an array in it, or another group here"
            ),
            Kind::Other => bail!("no group here: neither zarr.json nor .zgroup"),
        }
    };
    all().with_context(|| path.display().to_string())
}

impl ComparedArray {
    /// Its path.
    #[must_use]
    pub fn array(&self) -> &str {
        match self {
            Self::Compared { array, .. }
            | Self::Identical { array, .. }
            | Self::Failed { array, .. }
            | Self::OnlyInA { array }
            | Self::OnlyInB { array } => array,
        }
    }

    /// Why it fails; `is_judged` says whether an array in only one group fails.
    fn failure(&self, is_judged: bool) -> Option<String> {
        match self {
            Self::Compared { report, .. } => report.failure(),
            Self::Identical { .. } => None,
            Self::Failed { reason, .. } => Some(reason.clone()),
            Self::OnlyInA { array } => is_judged.then(|| format!("{array} is only in A")),
            Self::OnlyInB { array } => is_judged.then(|| format!("{array} is only in B")),
        }
    }
}

impl GroupTotal {
    fn of(all: &[ComparedArray], is_judged: bool) -> Self {
        let mut total = Self {
            over: is_judged.then_some(0),
            arrays_over: is_judged.then_some(0),
            ..Self::default()
        };
        for one in all {
            match one {
                ComparedArray::Compared { report, .. } => {
                    total.compared += 1;
                    total.elements += report.counts.elements;
                    let over = report.counts.over.unwrap_or_default();
                    total.over = total.over.map(|sum| sum + over);
                    total.arrays_over = total.arrays_over.map(|sum| sum + u64::from(over > 0));
                }
                ComparedArray::Identical { .. } => total.compared += 1,
                ComparedArray::Failed { .. } => total.failed += 1,
                ComparedArray::OnlyInA { .. } => total.only_in_a += 1,
                ComparedArray::OnlyInB { .. } => total.only_in_b += 1,
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
        let is_judged = self.recorded || self.tolerance.is_some();
        let failures = self.arrays.iter().filter_map(|one| Some((one, one.failure(is_judged)?)));
        let failures: Vec<_> = failures.collect();
        let (_, first) = failures.first()?;
        let names: Vec<&str> = failures.iter().map(|(one, _)| one.array()).collect();
        Some(format!(
            "{}: {} of {} fail: {}; {first}",
            self.b,
            failures.len(),
            arrays(self.arrays.len()),
            names.join(", ")
        ))
    }
}

//! Jobs of `recast-pack` and the command: requests and reports are JSON, to and from `zarr_recast._jobs`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use recast_pack::text::shown;
use recast_pack::{
    AllClose, ArrayRule, CompareJob, DryRun, Error, GroupJob, Job, PackJob, PathReport,
    Recommendations, Requirement, Runtime,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zarr_recast_cli::Shown;

use crate::errors::{Options, in_pythons_words, pack_error, read_json};
use crate::mounts::Mounts;
use crate::progress::{Bar, Seen};

/// How often a job checks whether Python has been interrupted.
const PATIENCE: Duration = Duration::from_millis(10);

/// The job to do.
#[derive(Deserialize)]
#[serde(tag = "job", rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    Pack(Box<Pack>),
    Compare(Box<Compare>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Compare {
    a: PathBuf,
    b: PathBuf,
    tolerance: Option<[f64; 2]>,
    /// Whether to judge, and by the requirements that `b` records if none are given.
    judges: bool,
    /// The requirements on all arrays, and on single arrays of a group.
    options: Options,
    rules: BTreeMap<String, Options>,
    recommendations: Option<Recommended>,
    metrics: bool,
    threads: Option<u16>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "arguments of Python's pack")]
struct Pack {
    source: PathBuf,
    target: PathBuf,
    /// For all arrays, and those of single ones of a group.
    options: Options,
    rules: BTreeMap<String, Options>,
    recommendations: Option<Recommended>,
    repack: bool,
    overwrite: bool,
    dry_run: bool,
    threads: Option<u16>,
    max_memory: Option<u64>,
    no_outside_links: bool,
    into_group: bool,
    sync: bool,
}

/// Run a job given as JSON, over paths, URLs and mounted stores; returns its report as JSON. `progress` is called with the
/// name of a pass, the units that are done, and their number.
#[pyfunction]
pub(crate) fn run_job(
    py: Python<'_>,
    request: &str,
    mounts: &Bound<'_, Mounts>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let request: Value = read_json(request)?;
    let request: Request = serde_json::from_value(request)
        .map_err(|error| in_pythons_words(py, &error.to_string()))?;
    let mounts = mounts.get();
    let seen = Arc::new(Seen::default());
    let shown = Arc::clone(&seen);
    let mut bar = progress.map(|progress| Bar::new(progress, seen));
    let poll = || bar.as_mut().map_or(Ok(()), Bar::show);
    let report =
        until_done(py, &mounts.interrupt, poll, move |interrupt| run(&request, interrupt, shown));
    Ok(report.map_err(|error| mounts.with_cause(py, error))?.to_string())
}

/// Runs a job on a thread of its own; an interruption of Python, or an error of `poll`, ends it.
pub(crate) fn until_done<T: Send + 'static>(
    py: Python<'_>,
    interrupt: &Arc<AtomicBool>,
    mut poll: impl FnMut() -> PyResult<()>,
    work: impl FnOnce(Arc<AtomicBool>) -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let flag = Arc::clone(interrupt);
    let job = std::thread::spawn(move || work(flag));
    let mut interrupted = None;
    while !job.is_finished() {
        py.detach(|| std::thread::sleep(PATIENCE));
        if interrupted.is_none() {
            interrupted = py.check_signals().and_then(|()| poll()).err();
            interrupt.store(interrupted.is_some(), Ordering::Relaxed);
        }
    }
    let result = py.detach(|| job.join());
    if let Some(error) = interrupted {
        return Err(error);
    }
    match result {
        Ok(outcome) => outcome.map_err(|error| pack_error(py, &error)),
        Err(_) => Err(PyValueError::new_err("a bug in zarr_recast: the job panicked")),
    }
}

fn run(request: &Request, interrupt: Arc<AtomicBool>, progress: Arc<Seen>) -> Result<Value, Error> {
    let runtime = Runtime { interrupt, progress: Some(progress), ..Runtime::default() };
    match request {
        Request::Pack(pack) => {
            let Pack { threads, max_memory, no_outside_links, into_group, sync, .. } = **pack;
            let runtime = Runtime { no_outside_links, into_group, sync, ..runtime };
            pack.run(&Runtime { threads, max_memory, ..runtime })
        }
        Request::Compare(compare) => compare.run(&Runtime { threads: compare.threads, ..runtime }),
    }
}

/// A report as JSON, with the texts that Python shows.
fn answer(report: &(impl Serialize + Shown), failure: Option<&str>) -> Value {
    let (text, html) = report.text_and_html();
    let failure = failure.map(shown);
    let arrays: BTreeMap<String, String> = report.texts_of_arrays().into_iter().collect();
    json!({ "report": report, "failure": failure, "text": text, "html": html, "texts": arrays })
}

/// Recommendations in YAML, and where they come from, if the text does not say that.
#[derive(Deserialize)]
pub(crate) struct Recommended(String, Option<String>);

impl Recommended {
    pub(crate) fn read(&self) -> Result<Recommendations, Error> {
        let Self(text, source) = self;
        let mut read = Recommendations::from_yaml(text)?;
        if let Some(source) = source {
            read.source.clone_from(source);
        }
        Ok(read)
    }
}

/// The options of single arrays by their paths.
fn array_rules(by_path: &BTreeMap<String, Options>) -> Vec<ArrayRule> {
    let rule = |(name, Options(options)): (&String, &Options)| ArrayRule {
        name: name.clone(),
        is_path: true,
        options: Some(options.clone().into()),
    };
    by_path.iter().map(rule).collect()
}

impl Compare {
    fn run(&self, runtime: &Runtime) -> Result<Value, Error> {
        let Self { a, b, tolerance, options: Options(options), .. } = self;
        options.check()?;
        self.rules.values().try_for_each(|Options(own)| own.check())?;
        let job = CompareJob {
            tolerance: tolerance.map(|[atol, rtol]| AllClose { atol, rtol }),
            recorded: self.judges,
            measures_only: !self.judges,
            requirements: Requirement::of(options),
            missing: options.missing.clone(),
            rules: array_rules(&self.rules),
            recommendations: self.recommendations.as_ref().map(Recommended::read).transpose()?,
            metrics: self.metrics,
            ..CompareJob::new(a, b)
        };
        let report = job.run_path(runtime)?;
        let failure = match &report {
            PathReport::Array(report) => report.failure(),
            PathReport::Group(report) => report.failure(),
        };
        Ok(answer(&report, failure.as_deref()))
    }
}

impl Pack {
    fn run(&self, runtime: &Runtime) -> Result<Value, Error> {
        let Self { source, target, options: Options(options), rules, overwrite, .. } = self;
        let job = PackJob::new(source, target, options.clone());
        let job = PackJob { overwrite: *overwrite, ..job };
        let rules = array_rules(rules);
        let recommendations = self.recommendations.as_ref().map(Recommended::read).transpose()?;
        let repack = self.repack;
        let job = GroupJob { rules, repack, recommendations, ..GroupJob::from(job) };
        let report = if self.dry_run { job.preview(runtime)? } else { job.run(runtime)? };
        Ok(answer(&report, None))
    }
}

/// Run the `recast` command; returns its exit status.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // converted from a Python list
pub(crate) fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| zarr_recast_cli::run(&arguments))
}

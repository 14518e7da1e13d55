//! All jobs on one input: each ends with an error and nothing written, or with an output that opens.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arbitrary::{Result, Unstructured};
use recast_pack::{
    AllClose, ArrayReport, CatFormat, CompareJob, GroupJob, Job, MigrateJob, PackJob,
    PackOptions, Pass, PathReport, Progress, Runtime, SuggestJob, UnpackJob, array_in, cat, info,
};

use super::world::{World, snapshot};

/// Chunks that a job may go through: more of them are only more of the same.
const MOST_CHUNKS: u64 = 2000;

/// Bytes that the chunks being worked on may take.
const MEMORY: u64 = 32 << 20;

const BOUND: f64 = 0.01;

pub(super) fn run_all(u: &mut Unstructured, world: &World, input: &Path) -> Result<()> {
    looks(input);
    let has_old = u.arbitrary()?;
    let place = |name: &str| Place::new(world, name, has_old);
    let overwrite = has_old;
    let options = options(u)?;

    let output = place("pack");
    let bound = options.max_abs_error;
    let pack = PackJob { overwrite, ..PackJob::new(input, &output.path, options) };
    let job = GroupJob { keep_going: u.arbitrary()?, all: u.arbitrary()?, ..pack.clone().into() };
    output.check(job.run(&runtime()), |report| {
        for one in report.group().map(|report| report.arrays).unwrap_or_default() {
            if let Some(ArrayReport::Packed(_)) = one.report() {
                let [a, b] = [input, &output.path].map(|root| array_in(root, &one.array).unwrap());
                within(&a, &b, bound);
            }
        }
    });
    let output = place("pack array");
    let pack = PackJob { output: output.path.clone(), ..pack };
    output.check(pack.run(&runtime()), |_| within(input, &output.path, bound));
    let output = place("from-cf");
    let options = PackOptions { from_cf: true, ..PackOptions::default() };
    let pack = PackJob { overwrite, ..PackJob::new(input, &output.path, options) };
    output.check(GroupJob::from(pack).run(&runtime()), |_| ());

    for to_cf in [false, true] {
        let output = place("unpack");
        let job = UnpackJob { overwrite, to_cf, ..UnpackJob::new(input, &output.path) };
        output.check(job.run(&runtime()), |report| {
            if !to_cf && report.array().is_some() {
                within(input, &output.path, Some(0.0));
            }
        });
    }

    let output = place("migrate");
    let (copy, reencode) = (u.arbitrary()?, u.arbitrary()?);
    let job = MigrateJob {
        overwrite,
        copy,
        reencode,
        ..MigrateJob::new(input, Some(output.path.clone()))
    };
    output.check(job.run(&runtime()), |_| ());
    Ok(())
}

fn options(u: &mut Unstructured) -> Result<PackOptions> {
    let mut options = PackOptions::default();
    match u.int_in_range(0..=4)? {
        0 | 1 => options.max_abs_error = Some(BOUND),
        2 => options.max_rel_error = Some(0.1),
        3 => options.error_over_range = Some(1e-3),
        _ => {}
    }
    options.no_nan = u.ratio(1, 8)?;
    options.infinity = u.ratio(1, 8)?;
    Ok(options)
}

/// The jobs that only read.
fn looks(input: &Path) {
    let tolerance = Some(AllClose { atol: 0.0, rtol: 0.0 });
    let same = CompareJob { tolerance, ..CompareJob::new(input, input) };
    said(info(input));
    match said(same.run_path(&runtime())) {
        Some(PathReport::Array(report)) => assert_eq!(report.failure(), None),
        Some(PathReport::Group(report)) => {
            assert_eq!(report.total.over, Some(0), "{}", report.a);
        }
        None => {}
    }
    said(CompareJob::new(input, input).run_path(&runtime()));
    if let Some(PathReport::Group(report)) = said(SuggestJob::new(input).run_path(&runtime())) {
        said(report.to_toml());
    }
    said(cat(input, CatFormat::Npy, &runtime(), &mut io::sink()));
}

/// What came of a job; an error must have a text.
fn said<T>(outcome: std::result::Result<T, recast_pack::Error>) -> Option<T> {
    outcome.map_err(|error| assert!(!format!("{:#}", anyhow::Error::from(error)).is_empty())).ok()
}

/// The output decodes to the input, within the bound if there is one.
fn within(input: &Path, output: &Path, bound: Option<f64>) {
    let tolerance = bound.map(|atol| AllClose { atol, rtol: 0.0 });
    let compared = CompareJob { tolerance, ..CompareJob::new(input, output) }.run(&runtime());
    match compared {
        Ok(report) => assert_eq!(report.failure(), None),
        Err(error) => panic!("{:#}", anyhow::Error::from(error)),
    }
}

/// Where a job writes: nothing is there, or an array that it may replace.
struct Place {
    folder: PathBuf,
    path: PathBuf,
}

impl Place {
    fn new(world: &World, name: &str, has_old: bool) -> Self {
        let folder = world.outputs();
        let path = folder.join(format!("{name}.zarr"));
        if has_old {
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join("zarr.json"), OLD).unwrap();
        }
        Self { folder, path }
    }

    /// After an error all is as before; an output opens, and nothing lies beside it.
    fn check<T>(&self, outcome: std::result::Result<T, recast_pack::Error>, whole: impl FnOnce(T)) {
        let mut seen = snapshot(&self.folder);
        match outcome.map_err(|error| format!("{:#}", anyhow::Error::from(error))) {
            Ok(report) => {
                let opened = info(&self.path);
                opened.unwrap_or_else(|error| panic!("{:#}", anyhow::Error::from(error)));
                whole(report);
                seen.retain(|path, _| !path.starts_with(&self.path));
                std::fs::remove_dir_all(&self.path).unwrap();
            }
            Err(error) => {
                let old = self.path.join("zarr.json");
                if let Ok(old) = std::fs::read_to_string(old) {
                    assert_eq!(old, OLD, "{error}");
                    std::fs::remove_dir_all(&self.path).unwrap();
                    assert!(seen.remove(&self.path.join("zarr.json")).is_some());
                    assert!(seen.remove(&self.path).is_some());
                }
            }
        }
        let left: Vec<_> = seen.keys().filter(|&path| *path != self.folder).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

const OLD: &str = r#"{"zarr_format": 3, "node_type": "group", "attributes": {"old": true}}"#;

/// One thread and little memory, for no more than [`MOST_CHUNKS`].
fn runtime() -> Runtime {
    let interrupt = Arc::new(AtomicBool::new(false));
    let progress = Arc::new(Few { interrupt: Arc::clone(&interrupt), seen: AtomicU64::new(0) });
    Runtime {
        threads: Some(1),
        max_memory: Some(MEMORY),
        progress: Some(progress),
        interrupt,
        ..Runtime::default()
    }
}

/// Ends a job after some chunks.
struct Few {
    interrupt: Arc<AtomicBool>,
    seen: AtomicU64,
}

impl Progress for Few {
    fn begin(&self, _: &Pass) {}

    fn advance(&self, _: u64) {
        if self.seen.fetch_add(1, Ordering::Relaxed) > MOST_CHUNKS {
            self.interrupt.store(true, Ordering::Relaxed);
        }
    }

    fn end(&self) {}
}

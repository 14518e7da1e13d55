//! Work on all chunks of an array: in parallel, with a progress bar, until done, failed or
//! interrupted.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::prelude::*;

use crate::args::Common;
use crate::array::Source;
use crate::report::bytes;

/// Chunks that are worked on between two foldings, for each thread.
const BATCH: u64 = 64;

/// Work to be done, as its progress names it.
pub(crate) struct Task {
    what: &'static str,
    /// The bytes that are gone through; 0 if there is no use in telling.
    bytes: u64,
}

impl Task {
    pub(crate) fn new(what: &'static str, bytes: u64) -> Self {
        Self { what, bytes }
    }
}

impl From<&'static str> for Task {
    fn from(what: &'static str) -> Self {
        Self { what, bytes: 0 }
    }
}

/// The threads, and where progress is shown.
pub(crate) struct Workers {
    pool: rayon::ThreadPool,
    show_progress: bool,
    interrupted: Arc<AtomicBool>,
}

impl Workers {
    /// Starts `threads` threads, or one for each processor. Progress is shown if standard error is a
    /// terminal.
    pub(crate) fn new(threads: Option<u16>, show_progress: bool) -> Result<Self> {
        let threads = threads.map_or(0, usize::from);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .context("the threads cannot be started; try --threads 1")?;
        Ok(Self { pool, show_progress, interrupted: interruption()? })
    }

    /// As [`Self::new`], with no more threads than have a chunk of any of `sources` each within the
    /// memory that the arguments allow.
    pub(crate) fn within(common: &Common, sources: &[&Source]) -> Result<Self> {
        let mut threads = common.threads;
        if let Some(most) = common.max_memory {
            for source in sources {
                threads = Some(affordable(most, threads, source)?);
            }
        }
        Self::new(threads, !common.quiet)
    }

    /// Runs something inside the thread pool.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(work)
    }

    /// Does `work` for each number below `count`, in parallel, and folds the results in order; so the
    /// outcome, also a failure, does not depend on the threads.
    pub(crate) fn run<T: Send>(
        &self,
        task: impl Into<Task>,
        count: u64,
        work: impl Fn(u64) -> Result<T> + Sync,
        mut fold: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let task = task.into();
        // Without bytes the chunks themselves are what is counted.
        let total = if task.bytes > 0 { task.bytes } else { count };
        let bar = self.bar(&task, total);
        let done = |chunks: u64| {
            (u128::from(total) * u128::from(chunks) / u128::from(count.max(1))) as u64
        };
        let batch = BATCH * self.pool.current_num_threads() as u64;
        let failed = AtomicU64::new(u64::MAX);
        let mut start = 0;
        while start < count {
            let end = count.min(start.saturating_add(batch));
            let one = |number| {
                if self.interrupted.load(Ordering::Relaxed) {
                    bail!("interrupted");
                }
                // After a failure only what comes before it still matters.
                if failed.load(Ordering::Relaxed) < number {
                    bail!("not reached");
                }
                let result = work(number);
                if result.is_err() {
                    failed.fetch_min(number, Ordering::Relaxed);
                }
                bar.inc(done(number + 1) - done(number));
                result
            };
            let results: Vec<Result<T>> =
                self.pool.install(|| (start..end).into_par_iter().map(one).collect());
            for result in results {
                fold(result?)?;
            }
            start = end;
        }
        bar.finish_and_clear();
        Ok(())
    }

    fn bar(&self, task: &Task, total: u64) -> ProgressBar {
        if !self.show_progress {
            return ProgressBar::hidden();
        }
        // Draws on a terminal only.
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        let template = if task.bytes > 0 {
            "{msg:10} {wide_bar} {percent}%, {binary_bytes_per_sec}, {eta} left"
        } else {
            "{msg:10} {wide_bar} {pos}/{len} chunks, {per_sec}, {eta} left"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.with_message(task.what)
    }
}

/// A chunk is held as it is stored, decoded, encoded, and as it will be stored, none of which is larger
/// than decoded by much.
const COPIES: u64 = 4;

/// The number of threads that memory suffices for.
fn affordable(most: u64, threads: Option<u16>, source: &Source) -> Result<u16> {
    let threads = threads.map_or_else(
        || std::thread::available_parallelism().map_or(1, |count| count.get() as u64),
        u64::from,
    );
    if source.chunks() == 0 {
        return Ok(1);
    }
    let shape = source.region(0)?.chunk_shape;
    let decoded = shape.iter().product::<u64>() * source.element_type().size() as u64;
    let needed = COPIES * decoded.max(1);
    if needed > most {
        bail!(
            "{}: a chunk of shape {shape:?} takes {} to work on, more than --max-memory {}; allow \
             more, or use smaller chunks",
            source.path().display(),
            bytes(needed as f64),
            bytes(most as f64)
        );
    }
    Ok((most / needed).min(threads).min(1024) as u16)
}

/// The flag that a signal to end sets, so that the command can clean up after itself.
fn interruption() -> Result<Arc<AtomicBool>> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(flag) = FLAG.get() {
        return Ok(Arc::clone(flag));
    }
    let flag = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&flag);
    ctrlc::set_handler(move || handler.store(true, Ordering::Relaxed))
        .context("signals cannot be handled")?;
    Ok(Arc::clone(FLAG.get_or_init(|| flag)))
}

//! Work on all chunks of an array: in parallel, with a progress bar, until done, failed or
//! interrupted.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::prelude::*;

/// Chunks that are worked on between two foldings, for each thread.
const BATCH: u64 = 64;

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

    /// Runs something inside the thread pool.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(work)
    }

    /// Does `work` for each number below `count`, in parallel, and folds the results in order; so the
    /// outcome, also a failure, does not depend on the threads.
    pub(crate) fn run<T: Send>(
        &self,
        what: &'static str,
        count: u64,
        work: impl Fn(u64) -> Result<T> + Sync,
        mut fold: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let bar = self.bar(what, count);
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
                bar.inc(1);
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

    fn bar(&self, what: &'static str, count: u64) -> ProgressBar {
        if !self.show_progress {
            return ProgressBar::hidden();
        }
        // Draws on a terminal only.
        let bar = ProgressBar::with_draw_target(Some(count), ProgressDrawTarget::stderr());
        let template = "{msg:9} {wide_bar} {pos}/{len} chunks, {per_sec}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.with_message(what)
    }
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

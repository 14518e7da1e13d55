//! Progress bars, and the signal that ends a job.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use recast_pack::{Pass, Progress, Runtime};

use crate::args::{Cat, Common, Compare};

/// Draws a bar on standard error if that is a terminal.
#[derive(Default)]
struct Bars(Mutex<Option<ProgressBar>>);

impl Bars {
    fn with(&self, work: impl FnOnce(&mut Option<ProgressBar>)) {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Progress for Bars {
    fn begin(&self, pass: &Pass) {
        let bar = ProgressBar::with_draw_target(Some(pass.total), ProgressDrawTarget::stderr());
        let template = if pass.is_in_bytes {
            "{msg:10} {wide_bar} {percent}%, {binary_bytes_per_sec}, {eta} left"
        } else {
            "{msg:10} {wide_bar} {pos}/{len} chunks, {per_sec}, {eta} left"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        self.with(|place| *place = Some(bar.with_message(pass.name)));
    }

    fn advance(&self, units: u64) {
        self.with(|bar| {
            if let Some(bar) = bar {
                bar.inc(units);
            }
        });
    }

    fn end(&self) {
        self.with(|bar| {
            if let Some(bar) = bar.take() {
                bar.finish_and_clear();
            }
        });
    }
}

fn runtime(threads: Option<u16>, is_quiet: bool) -> Result<Runtime> {
    let progress: Option<Arc<dyn Progress>> =
        if is_quiet { None } else { Some(Arc::new(Bars::default())) };
    Ok(Runtime { threads, progress, interrupt: interruption()?, ..Runtime::default() })
}

impl Common {
    pub(crate) fn runtime(&self) -> Result<Runtime> {
        Ok(Runtime {
            max_memory: self.max_memory,
            accept_fill_value: self.accept_fill_value,
            ..runtime(self.threads, self.quiet)?
        })
    }
}

impl Compare {
    pub(crate) fn runtime(&self) -> Result<Runtime> {
        let accept_fill_value = self.accept_fill_value;
        Ok(Runtime { accept_fill_value, ..runtime(self.threads, self.quiet)? })
    }
}

impl Cat {
    pub(crate) fn runtime(&self) -> Result<Runtime> {
        let accept_fill_value = self.accept_fill_value;
        Ok(Runtime { accept_fill_value, ..runtime(self.threads, true)? })
    }
}

/// The flag that a signal to end sets, so that a job can clean up after itself.
fn interruption() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&flag);
    ctrlc::set_handler(move || handler.store(true, Ordering::Relaxed))
        .context("signals cannot be handled")?;
    Ok(flag)
}

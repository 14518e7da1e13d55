//! Progress bars, and the signal that ends a job.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use recast_pack::{Pass, Progress, Runtime};

use crate::args::{Cat, Common, Compare, Show};
use crate::failure::INTERRUPTED;

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

/// For jobs that clean up after themselves.
fn runtime(threads: Option<u16>, show: Show) -> Result<Runtime> {
    let progress: Option<Arc<dyn Progress>> =
        if show.quiet { None } else { Some(Arc::new(Bars::default())) };
    Ok(Runtime { threads, progress, interrupt: interruption()?, ..Runtime::default() })
}

impl Common {
    pub(crate) fn runtime(&self, show: Show) -> Result<Runtime> {
        Ok(Runtime {
            max_memory: self.max_memory,
            accept_fill_value: self.accept_fill_value,
            ..runtime(self.threads, show)?
        })
    }
}

impl Compare {
    pub(crate) fn runtime(&self) -> Result<Runtime> {
        let accept_fill_value = self.accept_fill_value;
        Ok(Runtime { accept_fill_value, ..runtime(self.threads, self.show)? })
    }
}

impl Cat {
    pub(crate) fn runtime(&self) -> Result<Runtime> {
        let (threads, accept_fill_value) = (self.threads, self.accept_fill_value);
        exit_when_interrupted()?;
        Ok(Runtime { threads, accept_fill_value, ..Runtime::default() })
    }
}

/// The flag that Ctrl-C sets, so that a job can clean up. A second Ctrl-C ends the process at once.
fn interruption() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&flag);
    let handle = move || {
        if handler.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
    };
    ctrlc::set_handler(handle).context("signals cannot be handled")?;
    Ok(flag)
}

/// Ends the process on Ctrl-C, for commands with nothing to clean up.
pub(crate) fn exit_when_interrupted() -> Result<()> {
    let handle = || std::process::exit(INTERRUPTED.into());
    ctrlc::set_handler(handle).context("signals cannot be handled")
}

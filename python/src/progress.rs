//! The progress of a job, shown by Python. Threads of the job only count.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use recast_pack::{Pass, Progress};

/// How often Python is called.
const INTERVAL: Duration = Duration::from_millis(100);

/// The progress that a job has told.
#[derive(Default)]
pub(crate) struct Seen {
    pass: Mutex<Option<Running>>,
    /// The path of an array in a group; empty for a single array.
    array: Mutex<String>,
    done: AtomicU64,
}

#[derive(Clone)]
struct Running {
    name: String,
    total: u64,
}

impl Progress for Seen {
    fn begin(&self, pass: &Pass) {
        let array = self.array.lock().unwrap_or_else(PoisonError::into_inner);
        let colon = if array.is_empty() { "" } else { ": " };
        let name = format!("{array}{colon}{}", pass.name);
        let running = Some(Running { name, total: pass.total });
        self.done.store(0, Ordering::Relaxed);
        *self.pass.lock().unwrap_or_else(PoisonError::into_inner) = running;
    }

    fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }

    fn end(&self) {}

    fn next_array(&self, path: &str) {
        path.clone_into(&mut self.array.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Calls a function of Python with the progress, now and then.
pub(crate) struct Bar<'py> {
    show: Bound<'py, PyAny>,
    seen: Arc<Seen>,
    last: Option<Instant>,
}

impl<'py> Bar<'py> {
    pub(crate) fn new(show: Bound<'py, PyAny>, seen: Arc<Seen>) -> Self {
        Self { show, seen, last: None }
    }

    pub(crate) fn show(&mut self) -> PyResult<()> {
        if self.last.is_some_and(|last| last.elapsed() < INTERVAL) {
            return Ok(());
        }
        let pass = self.seen.pass.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(Running { name, total }) = pass else { return Ok(()) };
        self.last = Some(Instant::now());
        let done = self.seen.done.load(Ordering::Relaxed).min(total);
        self.show.call1((name, done, total)).map(drop)
    }
}

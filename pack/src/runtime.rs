//! How jobs run: threads, memory, progress and interruption; and work on all chunks of an array.

use std::fmt;
use std::mem;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::{Context, bail};
use rayon::prelude::*;

use crate::error::{ErrorKind, Result};
use crate::text::bytes;

/// How any job runs. `Runtime::default()` uses every processor, does not limit memory and reports no
/// progress.
#[derive(Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a promise of its own")]
pub struct Runtime {
    /// Threads to work with; one for each processor if `None`.
    pub threads: Option<u16>,
    /// Bytes that the chunks being processed may take. If they are few, fewer threads run.
    pub max_memory: Option<u64>,
    /// Reads arrays even if their fill value does not survive the codecs; zarr-python writes such arrays.
    pub accept_fill_value: bool,
    /// Refuses an input if a link in it leads out of it; else the reports of jobs that write name such links.
    pub no_outside_links: bool,
    /// Adds an output to a group that the input is in; else that is an error.
    pub into_group: bool,
    /// Waits until a disk has an output before the output replaces anything, so that no power cut loses both.
    pub sync: bool,
    /// Gets the progress of a job.
    pub progress: Option<Arc<dyn Progress>>,
    /// A job ends with an error soon after this becomes true, and removes its unfinished output.
    pub interrupt: Arc<AtomicBool>,
}

impl Runtime {
    /// An error once the caller has asked the job to stop.
    pub(crate) fn check_interrupt(&self) -> Result<()> {
        if self.interrupt.load(Ordering::Relaxed) {
            Err(ErrorKind::Interrupted.error("interrupted"))
        } else {
            Ok(())
        }
    }

    /// Does `work` for each array of a group, with its path, in order.
    pub(crate) fn each_array<'a, A, T>(
        &self,
        arrays: impl ExactSizeIterator<Item = (&'a str, A)>,
        mut work: impl FnMut(&'a str, A) -> Result<T>,
    ) -> Result<Vec<T>> {
        let progress = self.progress();
        progress.begin_group(arrays.len() as u64);
        let one = |(path, array)| {
            progress.next_array(path);
            work(path, array)
        };
        let done = arrays.map(one).collect();
        progress.end_group();
        done
    }

    fn progress(&self) -> &dyn Progress {
        self.progress.as_deref().unwrap_or(&())
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("threads", &self.threads)
            .field("max_memory", &self.max_memory)
            .field("accept_fill_value", &self.accept_fill_value)
            .field("no_outside_links", &self.no_outside_links)
            .field("into_group", &self.into_group)
            .field("sync", &self.sync)
            .finish_non_exhaustive()
    }
}

/// Gets the progress of a job. Passes follow one another; they do not overlap.
pub trait Progress: Send + Sync {
    /// A pass over chunks begins.
    fn begin(&self, pass: &Pass);
    /// This many more units are done. Called from any thread.
    fn advance(&self, units: u64);
    /// The pass has ended, also if it failed.
    fn end(&self);
    /// A job begins to go through so many arrays of a group. It has passes over chunks for most of them.
    fn begin_group(&self, _arrays: u64) {}
    /// The next array of the group is the one with this path.
    fn next_array(&self, _path: &str) {}
    /// All arrays of the group are done, or the job has failed.
    fn end_group(&self) {}
}

/// Progress that nobody gets.
impl Progress for () {
    fn begin(&self, _: &Pass) {}
    fn advance(&self, _: u64) {}
    fn end(&self) {}
}

/// A pass over chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The verb: "range", "write", "verify".
    pub name: &'static str,
    /// Whether units are bytes of decoded elements; otherwise they are chunks.
    pub is_in_bytes: bool,
    /// The total number of units.
    pub total: u64,
}

impl Pass {
    /// A pass over this many bytes.
    pub(crate) fn over_bytes(name: &'static str, bytes: u64) -> Self {
        Self { name, is_in_bytes: bytes > 0, total: bytes }
    }
}

/// A pass whose units are chunks; their number is known when it begins.
impl From<&'static str> for Pass {
    fn from(name: &'static str) -> Self {
        Self { name, is_in_bytes: false, total: 0 }
    }
}

/// The memory that a chunk takes while it is processed.
#[derive(Clone, Debug)]
pub(crate) struct ChunkMemory {
    /// The array, for errors.
    pub(crate) array: PathBuf,
    pub(crate) shape: Vec<u64>,
    /// Bytes of its decoded elements.
    pub(crate) decoded: u64,
}

/// Chunks per thread that are processed before their results are folded.
const BATCH: u64 = 64;

/// More threads than this are of no use.
const MOST_THREADS: u16 = 1024;

const FEW_THREADS: &str = "the threads cannot be started (limits: ulimit -u for processes, ulimit -v for memory); \
                           --threads 1 with RAYON_NUM_THREADS=1 in the environment starts the fewest";

/// As many threads as the variable of rayon says, else one for each processor.
fn usual_threads() -> u16 {
    let wanted = std::env::var("RAYON_NUM_THREADS").ok();
    let wanted = wanted.and_then(|text| text.parse::<usize>().ok()).filter(|&threads| threads > 0);
    let threads = wanted.or_else(|| Some(std::thread::available_parallelism().ok()?.get()));
    threads.map_or(1, |threads| threads.min(usize::from(MOST_THREADS)) as u16)
}

/// Starts the threads that zarrs uses, once. zarrs panics where they cannot be started, and starts any number of them.
pub(crate) fn start_threads() -> Result<()> {
    static STARTED: OnceLock<()> = OnceLock::new();
    if STARTED.get().is_some() {
        return Ok(());
    }
    let threads = rayon::ThreadPoolBuilder::new().num_threads(usize::from(usual_threads()));
    match threads.build_global() {
        Err(error) if std::error::Error::source(&error).is_some() => {
            Err(error).context(FEW_THREADS)
        }
        // Another call may have started the threads.
        Ok(()) | Err(_) => {
            STARTED.get_or_init(|| ());
            Ok(())
        }
    }
}

/// The threads of a job.
pub(crate) struct Workers {
    pool: rayon::ThreadPool,
    runtime: Runtime,
}

impl Workers {
    /// Starts the threads.
    pub(crate) fn new(runtime: &Runtime) -> Result<Self> {
        Self::within(runtime, [])
    }

    /// As [`Self::new`], with at most as many threads as can each hold a chunk of any of these arrays in the
    /// allowed memory.
    pub(crate) fn within(
        runtime: &Runtime,
        chunks: impl IntoIterator<Item = Result<Option<ChunkMemory>>>,
    ) -> Result<Self> {
        let mut threads = runtime.threads;
        if let Some(most) = runtime.max_memory {
            for chunk in chunks {
                threads = Some(chunk?.map_or(Ok(1), |chunk| affordable(most, threads, &chunk))?);
            }
        }
        Self::with_threads(runtime, threads)
    }

    /// As [`Self::new`], with at most as many threads as can each hold a file in the allowed memory; with the name and the
    /// bytes of the largest.
    pub(crate) fn holding(runtime: &Runtime, name: &str, size: u64) -> Result<Self> {
        let mut threads = runtime.threads;
        if let Some(most) = runtime.max_memory {
            if size > most {
                let (size, most) = (bytes(size as f64), bytes(most as f64));
                bail!(
                    "{name} has {size} and is uploaded as a whole, more than --max-memory {most}; allow more, or write \
                     to a directory"
                );
            }
            threads = Some(at_most(most / size.max(1), threads));
        }
        Self::with_threads(runtime, threads)
    }

    /// As [`Self::new`], with at most as many threads as can each hold a piece of so many bytes in the allowed memory.
    pub(crate) fn copying(runtime: &Runtime, piece: u64) -> Result<Self> {
        let most = runtime.max_memory.map_or(u64::MAX, |most| (most / piece).max(1));
        Self::with_threads(runtime, Some(at_most(most, runtime.threads)))
    }

    fn with_threads(runtime: &Runtime, threads: Option<u16>) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(usize::from(threads.unwrap_or_else(usual_threads)))
            .build()
            .context(FEW_THREADS)?;
        Ok(Self { pool, runtime: runtime.clone() })
    }

    /// How the job runs.
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Runs something inside the thread pool.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(work)
    }

    /// Does `work` for each number below `count`, in parallel, and folds the results in order. So the
    /// result, also a failure, does not depend on the threads.
    pub(crate) fn run<T: Send>(
        &self,
        pass: impl Into<Pass>,
        count: u64,
        work: impl Fn(u64) -> Result<T> + Sync,
        fold: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let mut pass = pass.into();
        if !pass.is_in_bytes {
            pass.total = count;
        }
        let progress = self.runtime.progress();
        progress.begin(&pass);
        let result = self.in_batches(&pass, count, work, fold);
        progress.end();
        result
    }

    fn in_batches<T: Send>(
        &self,
        pass: &Pass,
        count: u64,
        work: impl Fn(u64) -> Result<T> + Sync,
        mut fold: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let progress = self.runtime.progress();
        let done = |chunks: u64| {
            (u128::from(pass.total) * u128::from(chunks) / u128::from(count.max(1))) as u64
        };
        let batch = BATCH * self.pool.current_num_threads() as u64;
        let failed = AtomicU64::new(u64::MAX);
        let mut start = 0;
        while start < count {
            let end = count.min(start.saturating_add(batch));
            let one = |number| -> Result<T> {
                self.runtime.check_interrupt()?;
                // After a failure only chunks before it still matter.
                if failed.load(Ordering::Relaxed) < number {
                    bail!("not reached");
                }
                let result = work(number);
                if result.is_err() {
                    failed.fetch_min(number, Ordering::Relaxed);
                }
                progress.advance(done(number + 1) - done(number));
                result
            };
            let results: Vec<_> = (start..end).map(|_| Mutex::new(None)).collect();
            self.each(results.len(), &|index| {
                let result = one(start + index as u64);
                if let Some(slot) = results.get(index) {
                    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                }
            });
            for result in results {
                let result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
                fold(result.context("a chunk was not worked on")??)?;
            }
            start = end;
        }
        Ok(())
    }

    /// As [`Self::run`], for results that become one: the first merged with the second, and so on.
    pub(crate) fn merge<T: Send + Default>(
        &self,
        pass: impl Into<Pass>,
        count: u64,
        work: impl Fn(u64) -> Result<T> + Sync,
        merge: impl Fn(T, T) -> T,
    ) -> Result<T> {
        let mut all = T::default();
        self.run(pass, count, work, |one| {
            all = merge(mem::take(&mut all), one);
            Ok(())
        })?;
        Ok(all)
    }

    /// Does `work` for each number below `count`, in parallel. Not generic: rayon's code for a parallel
    /// loop is large, and would be compiled anew for each closure.
    fn each(&self, count: usize, work: &(dyn Fn(usize) + Sync)) {
        self.pool.install(|| (0..count).into_par_iter().for_each(work));
    }
}

/// Four forms of a chunk are in memory: stored, decoded, encoded, and stored again. None is much larger than
/// the decoded one.
const COPIES: u64 = 4;

/// The number of threads for which there is enough memory.
fn affordable(most: u64, threads: Option<u16>, chunk: &ChunkMemory) -> Result<u16> {
    let needed = COPIES * chunk.decoded.max(1);
    if needed > most {
        bail!(
            "{}: a chunk of shape {:?} takes {} to work on, more than --max-memory {}; allow more, \
             or use smaller chunks",
            chunk.array.display(),
            chunk.shape,
            bytes(needed as f64),
            bytes(most as f64)
        );
    }
    Ok(at_most(most / needed, threads))
}

/// As many threads as are asked for, or fewer.
fn at_most(most: u64, threads: Option<u16>) -> u16 {
    u64::from(threads.unwrap_or_else(usual_threads)).min(most) as u16
}

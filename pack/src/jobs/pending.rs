//! Runs jobs that write an array or a group. They write beside the place of the output, which appears there when it
//! is complete.

use std::path::Path;

use crate::error::{Error, Result};
use crate::io::destination::Destination;
use crate::io::staging::Staged;
use crate::io::unchanged::while_unchanged;
use crate::runtime::Runtime;

/// A complete output that is not yet in place. If dropped, it leaves nothing behind.
#[derive(Debug)]
pub struct Pending<R> {
    report: R,
    output: Option<(Destination, Staged)>,
    runtime: Runtime,
}

impl<R> Pending<R> {
    pub(crate) fn new(report: R, output: Option<(Destination, Staged)>, runtime: &Runtime) -> Self {
        Self { report, output, runtime: runtime.clone() }
    }

    /// The report of the job.
    pub fn report(&self) -> &R {
        &self.report
    }

    /// Puts the output in place. At every moment, a directory holds either the complete array or the old content. At a
    /// URL, chunks come first and metadata last, so that only a complete array opens.
    ///
    /// # Errors
    /// The place cannot be written to, or something has appeared there meanwhile; [`Runtime::interrupt`] was set
    /// while chunks were uploaded. Uploaded chunks are then removed.
    pub fn commit(self) -> std::result::Result<R, Error> {
        Ok(self.committed()?)
    }

    fn committed(self) -> Result<R> {
        if let Some((destination, staged)) = self.output {
            destination.commit(staged, &self.runtime)?;
        }
        Ok(self.report)
    }
}

/// A job that writes an array or a group, or says what it would write.
pub trait Job: Work {
    /// Runs the job.
    ///
    /// # Errors
    /// Invalid options; an input that cannot be read; values that cannot be kept as requested; an output that cannot
    /// be written; an input that changes meanwhile. Nothing is left behind.
    fn run(&self, runtime: &Runtime) -> std::result::Result<Self::Report, Error> {
        self.prepare(runtime)?.commit()
    }

    /// Runs the job, and leaves it to the caller to put the output in place.
    ///
    /// # Errors
    /// As [`Self::run`].
    fn prepare(&self, runtime: &Runtime) -> std::result::Result<Pending<Self::Report>, Error> {
        let work = || staged(self, destination(self)?, runtime);
        Ok(while_unchanged(&self.reads(), work)?)
    }

    /// Writes nothing, and reports what the job would do. Sizes and errors of packed values are estimated from a
    /// sample of the chunks.
    ///
    /// # Errors
    /// As [`Self::run`], as far as the sample shows them.
    fn dry_run(&self, runtime: &Runtime) -> std::result::Result<Self::Report, Error> {
        destination(self)?;
        self.preview(runtime)
    }

    /// As [`Self::dry_run`], whatever is at the output.
    ///
    /// # Errors
    /// As [`Self::run`], as far as the sample and the input show them.
    fn preview(&self, runtime: &Runtime) -> std::result::Result<Self::Report, Error> {
        Ok(self.work(None, runtime)?.0)
    }
}

impl<T: Work> Job for T {}

/// The work of a job; all jobs run the same way.
pub trait Work {
    /// Its report.
    type Report;

    /// The input, the output, and whether an array at the output is replaced.
    fn places(&self) -> (&Path, &Path, bool);

    /// All that it reads.
    fn reads(&self) -> Vec<&Path> {
        vec![self.places().0]
    }

    /// Does the work; without a destination it writes nothing, and reports what it would do.
    fn work(
        &self,
        destination: Option<&Destination>,
        runtime: &Runtime,
    ) -> Result<(Self::Report, Option<Staged>)>;
}

/// Does the work of a job for a directory of a group, or without one in a dry run.
pub(crate) fn work_inside<W: Work>(
    job: &W,
    place: Option<&Path>,
    runtime: &Runtime,
) -> Result<W::Report> {
    let Some(place) = place else { return Ok(job.work(None, runtime)?.0) };
    let (input, ..) = job.places();
    staged(job, Destination::new(input, place, false)?, runtime)?.committed()
}

fn destination<W: Work + ?Sized>(job: &W) -> Result<Destination> {
    let (input, output, overwrite) = job.places();
    Destination::new(input, output, overwrite)
}

fn staged<W: Work + ?Sized>(
    job: &W,
    destination: Destination,
    runtime: &Runtime,
) -> Result<Pending<W::Report>> {
    let (report, staged) = job.work(Some(&destination), runtime)?;
    Ok(Pending::new(report, staged.map(|staged| (destination, staged)), runtime))
}

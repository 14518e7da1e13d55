//! Runs jobs that write an array or a group. They write beside the place of the output, which appears there when it
//! is complete.

use std::path::Path;

use recast_kernels::in_default_environment;

use crate::error::{Error, Result, unless_room};
use crate::runtime::Runtime;
use crate::store::destination::Destination;
use crate::store::links::OutsideLinks;
use crate::store::staging::Staged;
use crate::store::unchanged::while_unchanged;

/// A complete output that is not yet in place. If dropped, it leaves nothing behind.
#[derive(Debug)]
pub struct Pending<R> {
    report: R,
    destination: Destination,
    staged: Staged,
}

impl<R> Pending<R> {
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
        in_default_environment(self, |pending| {
            pending.destination.commit(pending.staged)?;
            Ok(pending.report)
        })
    }
}

/// A job that writes an array or a group. All run the same way.
pub trait Job {
    /// Its report.
    type Report: AsMut<OutsideLinks>;

    /// The input, the output, and whether an array or a group at the output is replaced.
    fn places(&self) -> (&Path, &Path, bool);

    /// All that it reads.
    fn reads(&self) -> Vec<&Path> {
        vec![self.places().0]
    }

    /// Writes the output beside its place.
    #[doc(hidden)]
    fn write(&self, destination: &Destination, runtime: &Runtime)
    -> Result<(Self::Report, Staged)>;

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
        // Threads that a job starts have its environment.
        in_default_environment((self, runtime), |(job, runtime)| {
            let work = || pending(job, destination(job, runtime)?, runtime);
            Ok(while_unchanged(&job.reads(), work)?)
        })
    }
}

/// A job that can also report its result without writing it.
pub trait DryRun: Job {
    /// Reads the input for the report.
    #[doc(hidden)]
    fn dry_report(&self, runtime: &Runtime) -> Result<Self::Report>;

    /// As [`Self::dry_run`], whatever is at the output.
    ///
    /// # Errors
    /// As [`Job::run`], as far as the sample and the input show them.
    fn preview(&self, runtime: &Runtime) -> std::result::Result<Self::Report, Error> {
        in_default_environment((self, runtime), |(job, runtime)| {
            let links = outside_links(job.places().0, runtime)?;
            refuse_outside_links_of_others(job, runtime)?;
            let mut report = job.dry_report(runtime)?;
            *report.as_mut() = links;
            Ok(report)
        })
    }

    /// Writes nothing, and reports the result that the job would have. Sizes and errors of packed values are estimated from a
    /// sample of the chunks.
    ///
    /// # Errors
    /// As [`Job::run`], as far as the sample shows them.
    fn dry_run(&self, runtime: &Runtime) -> std::result::Result<Self::Report, Error> {
        in_default_environment((self, runtime), |(job, runtime)| {
            let destination = destination(job, runtime)?;
            let mut report = job.dry_report(runtime)?;
            report.as_mut().clone_from(destination.outside_links());
            Ok(report)
        })
    }
}

/// Writes an array of a group that is being written, to `place`; errors call the place `output`.
pub(crate) fn write_inside<R>(
    place: &Path,
    output: &Path,
    write: impl FnOnce(&Destination) -> Result<(R, Staged)>,
) -> Result<R> {
    let destination = Destination::free(place)?;
    let (report, staged) = write(&destination).map_err(|error| unless_room(error, output))?;
    destination.commit(staged)?;
    Ok(report)
}

fn destination<J: Job + ?Sized>(job: &J, runtime: &Runtime) -> Result<Destination> {
    let (input, output, overwrite) = job.places();
    let destination = Destination::new(input, output, overwrite, runtime)?;
    destination.outside_links().refuse_unwanted(input, runtime)?;
    refuse_outside_links_of_others(job, runtime)?;
    Ok(destination)
}

/// As for the input, for all else that a job reads.
fn refuse_outside_links_of_others<J: Job + ?Sized>(job: &J, runtime: &Runtime) -> Result<()> {
    let input = job.places().0;
    for other in job.reads().into_iter().filter(|&other| runtime.no_outside_links && other != input)
    {
        outside_links(other, runtime)?;
    }
    Ok(())
}

/// The links that lead out of an input, which may have some.
pub(crate) fn outside_links(input: &Path, runtime: &Runtime) -> Result<OutsideLinks> {
    let links = OutsideLinks::of(input, |_| Ok(()))?;
    links.refuse_unwanted(input, runtime)?;
    Ok(links)
}

fn pending<J: Job + ?Sized>(
    job: &J,
    destination: Destination,
    runtime: &Runtime,
) -> Result<Pending<J::Report>> {
    let written = job.write(&destination, runtime);
    let (mut report, staged) = written.map_err(|error| unless_room(error, job.places().1))?;
    report.as_mut().clone_from(destination.outside_links());
    Ok(Pending { report, destination, staged })
}

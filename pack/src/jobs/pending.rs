//! How jobs that write an array or a group run: beside the place of the output, which appears there when it is
//! whole.

use std::path::Path;

use crate::error::{Error, Result};
use crate::io::destination::{Destination, Staged};
use crate::runtime::Runtime;

/// An output that is whole, and waits to be put in place. Dropped, it leaves nothing behind.
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

    /// What the job has done.
    pub fn report(&self) -> &R {
        &self.report
    }

    /// Puts the output in place. In a directory, at any moment the whole array is there, or what was there
    /// before. Behind a URL, chunks come first and metadata last, so that only the whole array opens.
    ///
    /// # Errors
    /// The place cannot be written to, or something has appeared there meanwhile;
    /// [`Runtime::interrupt`] was set while chunks were uploaded. What was uploaded is removed then.
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
    /// Options that make no sense; an input that cannot be read; values that cannot be kept as they are asked
    /// to be; an output that cannot be written. Nothing is left behind then.
    fn run(&self, runtime: &Runtime) -> std::result::Result<Self::Report, Error> {
        self.prepare(runtime)?.commit()
    }

    /// Runs the job, and leaves it to the caller to put the output in place.
    ///
    /// # Errors
    /// As [`Self::run`].
    fn prepare(&self, runtime: &Runtime) -> std::result::Result<Pending<Self::Report>, Error> {
        Ok(staged(self, destination(self)?, runtime)?)
    }

    /// Writes nothing, and says what the job would do. What becomes of packed values is estimated from a
    /// sample of the chunks.
    ///
    /// # Errors
    /// As [`Self::run`], as far as the sample shows them.
    fn dry_run(&self, runtime: &Runtime) -> std::result::Result<Self::Report, Error> {
        destination(self)?;
        Ok(self.work(None, runtime)?.0)
    }
}

impl<T: Work> Job for T {}

/// What a job does; how it runs is the same for all.
pub trait Work {
    /// What it reports.
    type Report;

    /// The input, the output, and whether an array at the output is replaced.
    fn places(&self) -> (&Path, &Path, bool);

    /// Does the work; without a destination it writes nothing, and reports what it would do.
    fn work(
        &self,
        destination: Option<&Destination>,
        runtime: &Runtime,
    ) -> Result<(Self::Report, Option<Staged>)>;
}

/// Does the work of a job for a directory of a group that is being written, or for none in a dry run.
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

//! An output that is whole, and waits to be put in place.

use crate::error::{Error, Result};
use crate::io::destination::{Destination, Staged};
use crate::runtime::Runtime;

/// A job that is done but for putting its output in place. Dropped, it leaves nothing behind.
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

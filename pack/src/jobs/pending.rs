//! An output that is whole, and waits to be put in place.

use crate::error::{Error, Result};
use crate::io::destination::{Destination, Staged};

/// A job that is done but for putting its output in place. Dropped, it leaves nothing behind.
#[derive(Debug)]
pub struct Pending<R> {
    report: R,
    output: Option<(Destination, Staged)>,
}

impl<R> Pending<R> {
    pub(crate) fn new(report: R, output: Option<(Destination, Staged)>) -> Self {
        Self { report, output }
    }

    /// What the job has done.
    pub fn report(&self) -> &R {
        &self.report
    }

    /// Puts the output in place. At any moment the whole array is there, or what was there before.
    ///
    /// # Errors
    /// The place cannot be written to, or something has appeared there meanwhile.
    pub fn commit(self) -> std::result::Result<R, Error> {
        Ok(self.committed()?)
    }

    fn committed(self) -> Result<R> {
        if let Some((destination, staged)) = self.output {
            destination.commit(staged)?;
        }
        Ok(self.report)
    }
}

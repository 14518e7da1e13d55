//! What packing would store, for jobs that compare several ways of packing one array.

use std::slice;
use std::time::Instant;

use anyhow::Context;
use recast_kernels::ElementType;

use super::context::{Member, PackContext, PackJob, Request};
use crate::array::source::Source;
use crate::check::sums::Sums;
use crate::error::Result;
use crate::options::PackOptions;
use crate::runtime::Workers;
use crate::scan::lattice::Lattice;
use crate::scan::survey::Survey;

/// What a dry run finds.
#[derive(Clone, Debug)]
pub(crate) struct Estimate {
    /// The type of the stored elements.
    pub(crate) data_type: ElementType,
    /// The bytes of all stored chunks.
    pub(crate) stored_bytes: u64,
    /// The errors of the elements that it tried.
    pub(crate) sums: Sums,
    /// The grid on which values must be to keep the bound, if other values would be off by more.
    pub(crate) grid: Option<Lattice>,
}

/// A dry run for an array with its survey, without a report.
///
/// # Errors
/// As a dry run.
pub(crate) fn estimate(
    source: &Source,
    survey: &Survey,
    options: &PackOptions,
    workers: &Workers,
) -> Result<Estimate> {
    let options = options.for_type(survey.element_type)?.for_range(survey.extent_of_error());
    let job = PackJob::new(source.path(), "", options);
    let request = Request { job: &job, destination: None };
    let member = Member { source, survey, request: Some(request) };
    let together = slice::from_ref(&member);
    let context = PackContext::of_first(together, &job.options, survey, workers)?;
    let mut encoded = context.with_first_candidate(Instant::now())?;
    let (encoded, _) = encoded.pop().context("no array")?;
    Ok(Estimate {
        data_type: encoded.candidate.chain.encoded_type(),
        stored_bytes: encoded.stats.stored_bytes,
        sums: encoded.stats.comparison.sums,
        grid: encoded.candidate.only,
    })
}

//! Tries candidates on the survey's sample and excerpts.

use rayon::prelude::*;
use recast_kernels::Scalar;

use super::candidate::Candidate;
use super::facts::Facts;
use crate::array::byte_encoder::ByteEncoder;
use crate::array::region::Region;
use crate::check::chunk_check::Expected;
use crate::check::comparison::{Tolerance, Violation};
use crate::error::Result;
use crate::metadata::byte_codecs::{Coder, Storage};
use crate::scan::number::comes_back;
use crate::text::scalar_text;

/// Zero is a background if one element in this many is zero.
const BACKGROUND: usize = 10;

/// Encodes and decodes the sample: a candidate that fails on it need not be written.
pub(super) fn try_sample(facts: &Facts<'_>, candidate: &Candidate) -> Result<()> {
    let excess = excess(facts, candidate, facts.tolerance())?;
    if excess == Some(f64::INFINITY) {
        return Err(Violation::collision(&scalar_text(candidate.placement.scale.value)).into());
    }
    let Some(error) = excess else { return Ok(()) };
    let error = off(candidate, error);
    Err(if facts.tolerance().is_relative() {
        anyhow::anyhow!("{error} of its value")
    } else {
        error
    })
}

pub(super) fn off(candidate: &Candidate, error: f64) -> anyhow::Error {
    let scale = scalar_text(candidate.placement.scale.value);
    anyhow::anyhow!("with the scale {scale} an element is off by {error:?}")
}

/// The largest error in the sample, if this error exceeds a tolerance.
pub(super) fn excess(
    facts: &Facts<'_>,
    candidate: &Candidate,
    tolerance: Tolerance,
) -> Result<Option<f64>> {
    let decoded = candidate.decoded(&facts.sample)?;
    Expected::of(facts.survey, tolerance).checker()?.largest_excess(&facts.sample, &decoded)
}

/// The bytes of the excerpts with some codecs, compressed one by one, and their largest error.
///
/// # Errors
/// An element that is wrong.
pub(super) fn tried(
    facts: &Facts<'_>,
    candidate: &Candidate,
    excerpts: &[Vec<u8>],
) -> Result<(u64, f64)> {
    let size = facts.survey.element_type.size();
    let checker = Expected::of(facts.survey, facts.tolerance()).checker()?;
    let chain = &candidate.chain;
    // A compressor that is chosen afterwards is not known yet: Zstandard compares the positions.
    let storage = Storage::named(facts.options.compressor);
    let storage = storage.unwrap_or(Storage::plain(Coder::Zstd(5)));
    let compression = ByteEncoder::for_blocks(chain.encoded_type(), &storage, 1)?;
    let tried = |excerpt: &Vec<u8>| -> Result<(u64, f64)> {
        facts.check_interrupt()?;
        let codes = candidate.encode(excerpt)?;
        let region = Region::line((excerpt.len() / size) as u64);
        let found = checker.compared(&region, excerpt, &chain.decode(&codes)?)?;
        Ok((compression.size(&codes, &region.shape)?, found.sums.max))
    };
    let all = facts.in_threads(|| excerpts.par_iter().map(tried).collect::<Result<Vec<_>>>())?;
    let sum =
        |(size, error): (u64, f64), (more, other): (u64, f64)| (size + more, error.max(other));
    Ok(all.into_iter().fold((0, 0.0), sum))
}

/// Whether a scale suits the data, so that its gain in precision is worth more than a few bytes.
pub(super) fn is_precise(facts: &Facts<'_>, candidate: &Candidate, error: f64) -> bool {
    candidate.placement.scale.grid.is_some()
        && facts.options.max_abs_error.is_some_and(|bound| error < bound / 2.0)
}

/// Whether zeros are a background, which comes back as zeros, and must do so with other offsets too.
pub(super) fn has_background(facts: &Facts<'_>, candidate: &Candidate) -> bool {
    let zero = Scalar::zero(facts.survey.element_type).to_ne_bytes();
    let size = zero.len();
    let zeros = facts.sample.chunks_exact(size).filter(|element| *element == zero).count();
    zeros * BACKGROUND >= facts.sample.len() / size && keeps_zero(facts, candidate)
}

/// Whether zero comes back as zero.
pub(super) fn keeps_zero(facts: &Facts<'_>, candidate: &Candidate) -> bool {
    comes_back(&candidate.chain, Scalar::zero(facts.survey.element_type))
}

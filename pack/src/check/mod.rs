//! The errors of decoded elements, and whether they are within a tolerance.

pub(crate) mod arrays;
pub(crate) mod block_sums;
pub(crate) mod chunk_check;
pub(crate) mod coarse;
pub(crate) mod comparison;
pub(crate) mod difference;
pub(crate) mod dssim;
pub(crate) mod exact_sum;
pub(crate) mod metrics;
pub(crate) mod nodes;
pub(crate) mod recorded;
pub(crate) mod sums;
pub(crate) mod times;

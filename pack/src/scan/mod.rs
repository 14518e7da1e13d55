//! Surveys arrays: range, missing values, counts and charts.

pub(crate) mod axes;
pub(crate) mod charts;
pub(crate) mod clamp;
pub(crate) mod counts;
pub(crate) mod grid;
pub(crate) mod kinds;
pub(crate) mod lanes;
pub(crate) mod lattice;
pub(crate) mod missing;
pub(crate) mod nan_kinds;
pub(crate) mod number;
pub(crate) mod survey;
pub(crate) mod surveyor;
pub(crate) mod valid;

//! How far decoded elements lie from the original ones, and whether that is within a tolerance.

pub(crate) mod arrays;
pub(crate) mod chunk_check;
pub(crate) mod comparison;
pub(crate) mod difference;
pub(crate) mod tolerance;

//! Compares arrays, and groups array by array.

mod array;
mod group;

pub use array::{CompareCounts, CompareJob, CompareReport};
pub use group::{GroupComparison, GroupTotal};

//! Suggests error bounds: looks at a sample of an array, or of those of a group, and lists what bounds from coarse to fine
//! would cost and lose.

mod array;
mod group;
mod ladder;
mod report;

pub use array::{SuggestFromBlocks, SuggestJob};
pub use group::SuggestGroupReport;
pub use report::{Mark, Rung, SuggestReport, Suggestion};

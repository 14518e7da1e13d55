//! Suggests an error bound: looks at a sample of an array, and lists what bounds from coarse to fine would cost and lose.

mod array;
mod ladder;
mod report;

pub use array::{SuggestFromBlocks, SuggestJob};
pub(crate) use array::{check, packed_beside, suggest_for};
pub use report::{Mark, Rung, SuggestReport, Suggestion};

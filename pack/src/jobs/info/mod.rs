//! Describes arrays and their codecs, and lists the arrays of groups.

mod array;
mod group;

pub use array::{ArrayInfo, CodecInfo};
pub use group::GroupInfo;

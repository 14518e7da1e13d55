//! Unpacks arrays and groups: writes decoded values without value codecs.

mod array;
mod group;

pub use array::{UnpackJob, UnpackReport};
pub use group::{UnpackGroupJob, UnpackedArray};

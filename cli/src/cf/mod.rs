//! Arrays that are packed by the CF conventions: their attributes as codecs, and back.

mod attributes;
mod from_cf;
mod search;
mod to_cf;

pub(crate) use from_cf::{array, pack};
pub(crate) use to_cf::unpack;

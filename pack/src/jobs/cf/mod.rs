//! Arrays packed by the CF conventions: turns their attributes into codecs, and back.

pub(crate) mod attributes;
mod decoding;
mod from_cf;
mod invert;
mod to_cf;

pub use decoding::{CfCodecs, CodeDifferences};
pub use from_cf::{FromCfJob, FromCfReport};
pub use to_cf::{ToCfJob, ToCfReport};

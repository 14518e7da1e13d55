//! Arrays packed by the CF conventions: turns their attributes into codecs, and back.

pub(crate) mod attributes;
mod decoding;
mod from_cf;
mod invert;
mod to_cf;

pub use decoding::{CfCodecs, CodeDifferences, codecs_from_cf};
pub use from_cf::FromCfReport;
pub(crate) use from_cf::{dry_from_cf, from_cf};
pub use to_cf::ToCfReport;
pub(crate) use to_cf::{NotForCf, to_cf};

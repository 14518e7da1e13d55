//! The jobs: each reads its settings, works through chunks, and returns a typed report.

pub(crate) mod cat;
pub(crate) mod cf;
pub(crate) mod compare;
pub(crate) mod group;
pub(crate) mod info;
pub(crate) mod job;
pub(crate) mod migrate;
pub(crate) mod pack;
pub(crate) mod rules;
pub(crate) mod suggest;
pub(crate) mod tree;
pub(crate) mod unpack;

use crate::store::links::OutsideLinks;

/// Gives a job's reports the links that lead out of its input.
macro_rules! have_outside_links {
    ($($report:ty),*) => {
        $(impl AsMut<OutsideLinks> for $report {
            fn as_mut(&mut self) -> &mut OutsideLinks {
                &mut self.outside_links
            }
        })*
    };
}

have_outside_links!(
    cf::FromCfReport,
    cf::ToCfReport,
    migrate::ArrayMigration,
    pack::PackReport,
    unpack::UnpackReport
);

//! Migrates older formats and codecs of numcodecs to Zarr v3 with `scale_offset` and `cast_value`.

mod array;
mod group;
mod in_place;
mod job;
mod metadata;
mod modern;

use anyhow::{Context, bail};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::io::source::Source;
use crate::io::store::is_group;
use crate::io::unchanged::while_unchanged;
use crate::runtime::{Runtime, Workers};

use array::{Migration, cf_hint, is_modern};

pub use array::ArrayMigration;
pub use group::{GroupMigration, MigratedArray};
pub use job::MigrateJob;

/// The report of a migration.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum MigrateReport {
    /// An array.
    Array(Box<ArrayMigration>),
    /// A group.
    Group(GroupMigration),
}

impl MigrateJob {
    /// Migrates the array or group.
    ///
    /// # Errors
    /// Nothing to migrate; chunks that change; an output that cannot be written. Everything stays as it was.
    pub fn run(&self, runtime: &Runtime) -> std::result::Result<MigrateReport, Error> {
        if is_group(&self.input) {
            return Ok(MigrateReport::Group(group::migrate(self, runtime)?));
        }
        Ok(MigrateReport::Array(Box::new(self.migrate_array(runtime)?)))
    }

    fn migrate_array(&self, runtime: &Runtime) -> Result<ArrayMigration> {
        let destination = self.destination()?;
        // Legacy codecs only report anyway; existing arrays are read as they are.
        let source = Source::open_for(runtime, &self.input)?;
        let workers = Workers::within(runtime, [source.chunk_memory()])?;
        let input = self.input.display();
        if is_modern(&source) {
            let hint = cf_hint(&source).map(|hint| format!("; {hint}")).unwrap_or_default();
            bail!(
                "{input}: already Zarr v3 without numcodecs.fixedscaleoffset and numcodecs.astype, \
                 so there is nothing to migrate{hint}"
            );
        }
        let asked = || Migration::new(self, &source, &workers).with_context(|| input.to_string());
        let (migration, outcome) = match destination {
            None => {
                let migration = while_unchanged(&[&self.input], asked)?;
                let outcome = migration.in_place()?;
                (migration, outcome)
            }
            Some(destination) => {
                let staged = destination.stage()?;
                let (migration, outcome) = while_unchanged(&[&self.input], || {
                    let (mut migration, transfer) = (asked()?, self.transfer());
                    let place = staged.path();
                    let outcome = migration.write(place, transfer, self.compressor, &workers)?;
                    Ok((migration, outcome))
                })?;
                destination.commit(staged, runtime)?;
                (migration, outcome)
            }
        };
        Ok(migration.report(&outcome, self.output.as_ref().unwrap_or(&self.input)))
    }
}

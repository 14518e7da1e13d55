//! Migrates older formats and codecs of numcodecs to Zarr v3 with `scale_offset` and `cast_value`.

mod array;
mod group;
mod in_place;
mod metadata;

use std::path::Path;

use anyhow::{Context, bail};
use recast_kernels::in_default_environment;

use crate::array::source::Source;
use crate::error::{Error, Result};
use crate::jobs::job::{Job, outside_links};
use crate::jobs::tree::PathReport;
use crate::metadata::tree;
use crate::runtime::{Runtime, Workers};
use crate::store::destination::Destination;
use crate::store::location::{Location, is_group};
use crate::store::staging::Staged;
use crate::store::unchanged::while_unchanged;

use array::{Migration, nothing_to_migrate};

pub use array::{ArrayMigration, MigrateJob};

impl MigrateJob {
    /// Migrates the array or group.
    ///
    /// # Errors
    /// Nothing to migrate; chunks that change; an output that cannot be written. Everything stays as it was.
    pub fn run(&self, runtime: &Runtime) -> std::result::Result<PathReport<ArrayMigration>, Error> {
        if let Some(output) = &self.output {
            return ToOutput { job: self, output }.run(runtime);
        }
        in_default_environment((self, runtime), |(job, runtime)| {
            let links = outside_links(&job.input, runtime)?;
            let mut report = job.in_place(runtime)?;
            *report.as_mut() = links;
            Ok(report)
        })
    }

    fn in_place(&self, runtime: &Runtime) -> Result<PathReport<ArrayMigration>> {
        if is_group(&self.input) {
            return Ok(PathReport::Group(group::in_place(self, runtime)?));
        }
        let folder = Location::new(&self.input).ok().and_then(|array| array.directory());
        let kept = folder.map_or(Ok(Vec::new()), |folder| in_place::finish(&folder))?;
        if !kept.is_empty() {
            let source = Source::open_for(runtime, &self.input)?;
            if nothing_to_migrate(&source).is_some() {
                return Ok(PathReport::Array(Box::new(ArrayMigration::finished(&source, &kept)?)));
            }
        }
        let (source, workers) = self.open(runtime)?;
        let migration = while_unchanged(&[&self.input], || self.migration(source, &workers))?;
        Ok(PathReport::Array(Box::new(migration.in_place()?)))
    }

    /// Opens the array, which has something to migrate.
    fn open(&self, runtime: &Runtime) -> Result<(Source, Workers)> {
        // Legacy codecs only report anyway; existing arrays are read as they are.
        let source = Source::open_for(runtime, &self.input)?;
        let workers = Workers::within(runtime, [source.chunk_memory()])?;
        if let Some(nothing) = nothing_to_migrate(&source) {
            bail!(
                "{}: already Zarr v3 without numcodecs.fixedscaleoffset and numcodecs.astype, so \
                 there is {nothing}",
                self.input.display()
            );
        }
        Ok((source, workers))
    }

    fn migration(&self, source: Source, workers: &Workers) -> Result<Migration<'_>> {
        Migration::new(self, source, workers).with_context(|| self.input.display().to_string())
    }
}

/// A migration that writes another array or group.
struct ToOutput<'a> {
    job: &'a MigrateJob,
    output: &'a Path,
}

impl Job for ToOutput<'_> {
    type Report = PathReport<ArrayMigration>;

    fn places(&self) -> (&Path, &Path, bool) {
        (&self.job.input, self.output, self.job.overwrite)
    }

    fn write(
        &self,
        destination: &Destination,
        runtime: &Runtime,
    ) -> Result<(Self::Report, Staged)> {
        let Self { job, output } = *self;
        if is_group(&job.input) {
            let nodes = tree::nodes_at(&job.input)?;
            let staged = destination.stage()?;
            let report = group::write(job, &nodes, destination, staged.path(), runtime)?;
            return Ok((PathReport::Group(report), staged));
        }
        let (source, workers) = job.open(runtime)?;
        let staged = destination.stage()?;
        let report = job.migration(source, &workers)?.write(staged.path(), output, &workers);
        let report = report.with_context(|| job.input.display().to_string())?;
        Ok((PathReport::Array(Box::new(report)), staged))
    }
}

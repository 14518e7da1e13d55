//! The commands: each makes a job of its arguments, runs it, and shows its report.

use std::fs;
use std::io::{IsTerminal, stdout};
use std::path::Path;

use anyhow::{Context, Result, bail};
use recast_pack::{
    AllClose, ArrayInfo, ArrayRule, CatFormat, CompareJob, CompareReport, DryRun, Job, ToCfJob,
    UnpackJob, array_in, is_group,
};
use serde::Serialize;

use crate::args::{Cat, Compare, Info, Migrate, Pack, Unpack, Verify};
use crate::failure::UsageError;
use crate::groups;
use crate::render;
use crate::render::packed::Packed;
use crate::render::page::{PagePlace, Section};
use crate::render::table::{Described, print};
use crate::standard_output::standard_output;

pub(crate) fn pack(arguments: &Pack) -> Result<()> {
    if is_group(&arguments.input) {
        return pack_with(arguments, &arguments.group_job(rules(arguments)?));
    }
    if arguments.group.is_used() {
        let text = "is not a group, and --include, --exclude, --all, --keep-going and --config are for groups";
        return Err(UsageError(format!("{} {text}", arguments.input.display())).into());
    }
    if arguments.options.from_cf {
        return pack_with(arguments, &arguments.cf_job());
    }
    pack_with(arguments, &arguments.job())
}

/// Runs a job of `recast pack`. The page of `--report` appears together with the output.
fn pack_with<J: DryRun>(arguments: &Pack, job: &J) -> Result<()>
where
    J::Report: Serialize + Packed,
{
    let runtime = arguments.common.runtime(arguments.show)?;
    let mut place = PagePlace::of(arguments.report.as_deref(), arguments.common.overwrite)?;
    if arguments.dry_run {
        let report = job.dry_run(&runtime)?;
        let codecs = report.codecs();
        let describe = || Described { table: report.table(), codecs };
        return unless_failed(&report, print(&report, arguments.show, describe));
    }
    let pending = job.prepare(&runtime)?;
    if let Some(place) = &mut place {
        let (input, output) = (arguments.input.display(), arguments.output.display());
        let title = format!("{input} packed as {output}");
        place.write(&title, pending.report().sections()?)?;
    }
    let report = pending.commit()?;
    place.map_or(Ok(()), PagePlace::commit)?;
    unless_failed(&report, print(&report, arguments.show, || report.table().into()))
}

/// What failed is an error, whether or not the report can be printed.
fn unless_failed(report: &impl Packed, printed: Result<()>) -> Result<()> {
    report.failure().map_or(printed, |failure| bail!(failure))
}

/// The rules of `--config`.
fn rules(arguments: &Pack) -> Result<Vec<ArrayRule>> {
    let Some(path) = &arguments.group.config else { return Ok(Vec::new()) };
    let read =
        |path: &Path| -> Result<_> { Ok(ArrayRule::list_from_toml(&fs::read_to_string(path)?)?) };
    read(path).with_context(|| format!("--config {}", path.display()))
}

pub(crate) fn unpack(arguments: &Unpack) -> Result<()> {
    if is_group(&arguments.input) {
        return groups::unpack(arguments);
    }
    let Unpack { input, output, to_cf, show, common, compression } = arguments;
    let runtime = common.runtime(*show)?;
    let overwrite = common.overwrite;
    if *to_cf {
        let report = ToCfJob { overwrite, ..ToCfJob::new(input, output) }.run(&runtime)?;
        return print(&report, *show, || render::cf::to_cf(&report).into());
    }
    let compressor = compression.compressor;
    let job = UnpackJob { overwrite, compressor, ..UnpackJob::new(input, output) };
    let report = job.run(&runtime)?;
    print(&report, *show, || render::unpack::table(&report).into())
}

pub(crate) fn migrate(arguments: &Migrate) -> Result<()> {
    let report = arguments.job().run(&arguments.common.runtime(arguments.show)?)?;
    print(&report, arguments.show, || render::migrate::table(&report).into())
}

pub(crate) fn compare(arguments: &Compare) -> Result<()> {
    if are_groups(arguments) {
        return groups::compare(arguments, None);
    }
    print_comparison(arguments, &run_comparison(arguments, None)?)
}

pub(crate) fn verify(arguments: &Verify) -> Result<()> {
    let Verify { tolerance, arrays } = arguments;
    let tolerance = Some(*tolerance);
    if are_groups(arrays) {
        return groups::compare(arrays, tolerance);
    }
    let report = run_comparison(arrays, tolerance)?;
    let printed = print_comparison(arrays, &report);
    match report.failure() {
        None => printed,
        // The result does not depend on whether the table can be printed.
        Some(failure) => bail!(failure),
    }
}

/// Whether to compare groups; comparing a group with an array is an error that names both.
fn are_groups(arguments: &Compare) -> bool {
    is_group(&arguments.a) || is_group(&arguments.b)
}

fn print_comparison(arguments: &Compare, report: &CompareReport) -> Result<()> {
    print(report, arguments.show, || render::compare::table(report).into())
}

/// Compares two arrays, and writes the page of `--report`.
fn run_comparison(arguments: &Compare, tolerance: Option<AllClose>) -> Result<CompareReport> {
    let place = PagePlace::of(arguments.report.as_deref(), arguments.overwrite)?;
    let charts = place.is_some();
    let job = CompareJob { tolerance, charts, ..CompareJob::new(&arguments.a, &arguments.b) };
    let report = job.run(&arguments.runtime()?)?;
    if let Some(mut place) = place {
        let title = format!("{} compared with {}", report.b, report.a);
        let section = Section::new(&render::compare::table(&report), report.charts.as_ref())?;
        place.write(&title, vec![section])?;
        place.commit()?;
    }
    Ok(report)
}

pub(crate) fn info(arguments: &Info) -> Result<()> {
    if is_group(&arguments.array) {
        return groups::info(arguments);
    }
    let info = ArrayInfo::read(&arguments.array)?;
    print(&info, arguments.show(), || render::info::table(&info).into())
}

pub(crate) fn cat(arguments: &Cat) -> Result<()> {
    let array = match &arguments.array {
        Some(array) => array_in(&arguments.store, array)?,
        None => arguments.store.clone(),
    };
    if stdout().is_terminal() {
        bail!(
            "{}: a terminal cannot show raw elements; write them to a file (> FILE) or to another \
             program (| PROGRAM)",
            array.display()
        );
    }
    let format = if arguments.npy { CatFormat::Npy } else { CatFormat::Raw };
    Ok(recast_pack::cat(array, format, &arguments.runtime()?, &mut standard_output())?)
}

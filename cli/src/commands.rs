//! The commands: each makes a job of its arguments, runs it, and shows its report.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use recast_pack::{
    AllClose, ArrayInfo, ArrayReport, ArrayRule, CompareJob, CompareReport, GroupEntry,
    GroupReport, Pending, ToCfJob, UnpackJob, array_in, is_group,
};

use crate::args::{Cat, Compare, Info, Migrate, Pack, Unpack, Verify};
use crate::failure::UsageError;
use crate::groups;
use crate::render;
use crate::render::page::{PagePlace, html, named_section, page, section};
use crate::render::table::print;
use crate::stream::standard_output;

pub(crate) fn pack(arguments: &Pack) -> Result<()> {
    if is_group(&arguments.input) {
        return pack_group(arguments);
    }
    if arguments.group.is_used() {
        let text = "is no group, and --include, --exclude, --all and --config are for groups";
        return Err(UsageError(format!("{} {text}", arguments.input.display())).into());
    }
    if arguments.from_cf { from_cf(arguments) } else { pack_array(arguments) }
}

fn pack_array(arguments: &Pack) -> Result<()> {
    let (job, runtime) = (arguments.job(), arguments.common.runtime()?);
    let place = place(arguments)?;
    let report = if arguments.dry_run {
        job.dry_run(&runtime)?
    } else {
        finish(arguments, job.prepare(&runtime)?, place, |report| {
            let charts = report.charts.as_ref().context("no charts")?;
            section(&render::pack::table(report), charts)
        })?
    };
    print(&report, arguments.json, arguments.common.quiet, || {
        let table = render::pack::table(&report);
        if arguments.dry_run {
            format!("{table}\n\"codecs\": {:#}\n", report.codecs)
        } else {
            table.to_string()
        }
    })
}

fn from_cf(arguments: &Pack) -> Result<()> {
    let (job, runtime) = (arguments.cf_job(), arguments.common.runtime()?);
    let place = place(arguments)?;
    let report = if arguments.dry_run {
        job.dry_run(&runtime)?
    } else {
        finish(arguments, job.prepare(&runtime)?, place, |report| {
            let charts = report.charts.as_ref().context("no charts")?;
            section(&render::cf::from_cf(report), charts)
        })?
    };
    print(&report, arguments.json, arguments.common.quiet, || {
        let table = render::cf::from_cf(&report);
        if arguments.dry_run {
            format!("{table}\n\"codecs\": {:#}\n", report.codecs)
        } else {
            table.to_string()
        }
    })
}

fn pack_group(arguments: &Pack) -> Result<()> {
    let rules = match &arguments.group.config {
        Some(path) => rules(path).with_context(|| format!("--config {}", path.display()))?,
        None => Vec::new(),
    };
    let (job, runtime) = (arguments.group_job(rules), arguments.common.runtime()?);
    let place = place(arguments)?;
    let report = if arguments.dry_run {
        job.dry_run(&runtime)?
    } else {
        finish(arguments, job.prepare(&runtime)?, place, group_parts)?
    };
    print(&report, arguments.json, arguments.common.quiet, || {
        let codecs = if arguments.dry_run { render::group::codecs(&report) } else { String::new() };
        format!("{}{codecs}", render::group::table(&report))
    })
}

fn rules(path: &Path) -> Result<Vec<ArrayRule>> {
    Ok(ArrayRule::list_from_toml(&fs::read_to_string(path)?)?)
}

/// The parts of a page about a group: a table, and a section for each array.
fn group_parts(report: &GroupReport) -> Result<String> {
    let mut parts = html(&render::group::table(report))?;
    for entry in &report.arrays {
        let GroupEntry::Packed { array, report } = entry else { continue };
        let (table, charts) = match report {
            ArrayReport::Packed(report) => (render::pack::table(report), &report.charts),
            ArrayReport::FromCf(report) => (render::cf::from_cf(report), &report.charts),
        };
        let charts = charts.as_ref().context("no charts")?;
        parts.push_str(&named_section(array, &section(&table, charts)?));
    }
    Ok(parts)
}

/// The place of the page that `--report` names.
fn place(arguments: &Pack) -> Result<Option<PagePlace>> {
    PagePlace::of(arguments.report.as_deref(), arguments.common.overwrite)
}

/// Puts an output in its place, and a page about it in its own.
fn finish<R>(
    arguments: &Pack,
    pending: Pending<R>,
    mut place: Option<PagePlace>,
    parts: impl FnOnce(&R) -> Result<String>,
) -> Result<R> {
    if let Some(place) = &mut place {
        let (input, output) = (arguments.input.display(), arguments.output.display());
        let parts = parts(pending.report())?;
        place.write(&page(&format!("{input} packed as {output}"), &parts))?;
    }
    let report = pending.commit()?;
    place.map_or(Ok(()), PagePlace::commit)?;
    Ok(report)
}

pub(crate) fn unpack(arguments: &Unpack) -> Result<()> {
    if is_group(&arguments.input) {
        return groups::unpack(arguments);
    }
    let Unpack { input, output, to_cf, json, common } = arguments;
    let runtime = common.runtime()?;
    let overwrite = common.overwrite;
    if *to_cf {
        let report = ToCfJob { overwrite, ..ToCfJob::new(input, output) }.run(&runtime)?;
        return print(&report, *json, common.quiet, || render::cf::to_cf(&report));
    }
    let compressor = common.compressor;
    let job = UnpackJob { overwrite, compressor, ..UnpackJob::new(input, output) };
    let report = job.run(&runtime)?;
    print(&report, *json, common.quiet, || render::unpack::table(&report))
}

pub(crate) fn migrate(arguments: &Migrate) -> Result<()> {
    let report = arguments.job().run(&arguments.common.runtime()?)?;
    print(&report, arguments.json, arguments.common.quiet, || render::migrate::table(&report))
}

pub(crate) fn compare(arguments: &Compare) -> Result<()> {
    if are_groups(arguments) {
        return groups::compare(arguments, None);
    }
    print_comparison(arguments, &run_comparison(arguments, None)?)
}

pub(crate) fn verify(arguments: &Verify) -> Result<()> {
    let Verify { atol, rtol, arrays } = arguments;
    let tolerance = Some(AllClose { atol: *atol, rtol: *rtol });
    if are_groups(arrays) {
        return groups::compare(arrays, tolerance);
    }
    let report = run_comparison(arrays, tolerance)?;
    let printed = print_comparison(arrays, &report);
    match report.failure() {
        None => printed,
        // The judgement stands whether anybody reads the table or not.
        Some(failure) => bail!(failure),
    }
}

/// Whether groups are to be compared; one beside an array is an error that names both.
fn are_groups(arguments: &Compare) -> bool {
    is_group(&arguments.a) || is_group(&arguments.b)
}

fn print_comparison(arguments: &Compare, report: &CompareReport) -> Result<()> {
    print(report, arguments.json, arguments.quiet, || render::compare::table(report))
}

/// Compares two arrays, and writes the page that is asked for.
fn run_comparison(arguments: &Compare, tolerance: Option<AllClose>) -> Result<CompareReport> {
    let place = PagePlace::of(arguments.report.as_deref(), arguments.overwrite)?;
    let charts = place.is_some();
    let job = CompareJob { tolerance, charts, ..CompareJob::new(&arguments.a, &arguments.b) };
    let report = job.run(&arguments.runtime()?)?;
    if let Some(mut place) = place {
        let charts = report.charts.as_ref().context("no charts")?;
        let title = format!("{} compared with {}", report.b, report.a);
        place.write(&page(&title, &section(&render::compare::table(&report), charts)?))?;
        place.commit()?;
    }
    Ok(report)
}

pub(crate) fn info(arguments: &Info) -> Result<()> {
    if is_group(&arguments.array) {
        return groups::info(arguments);
    }
    let info = ArrayInfo::read(&arguments.array)?;
    print(&info, arguments.json, false, || render::info::table(&info))
}

pub(crate) fn cat(arguments: &Cat) -> Result<()> {
    let array = match &arguments.array {
        Some(array) => array_in(&arguments.store, array)?,
        None => arguments.store.clone(),
    };
    Ok(recast_pack::cat(array, &arguments.runtime()?, &mut standard_output())?)
}

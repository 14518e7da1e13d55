//! The commands that read arrays, for whole groups.

use anyhow::{Result, bail};
use recast_pack::{
    AllClose, CompareGroupJob, ComparedArray, GroupComparison, GroupInfo, Job, UnpackGroupJob,
};

use crate::args::{Compare, Info, Unpack};
use crate::render;
use crate::render::page::{PagePlace, Section};
use crate::render::table::print;

pub(crate) fn unpack(arguments: &Unpack) -> Result<()> {
    let Unpack { input, output, to_cf, show, common, compression } = arguments;
    let job = UnpackGroupJob {
        to_cf: *to_cf,
        overwrite: common.overwrite,
        compressor: compression.compressor,
        ..UnpackGroupJob::new(input, output)
    };
    let report = job.run(&common.runtime(*show)?)?;
    print(&report, *show, || render::unpack::group(&report).into())
}

pub(crate) fn info(arguments: &Info) -> Result<()> {
    let info = GroupInfo::read(&arguments.array)?;
    print(&info, arguments.show(), || render::info::group(&info).into())
}

/// Compares two groups. Arrays that cannot be compared are an error, and so are arrays over the tolerance.
pub(crate) fn compare(arguments: &Compare, tolerance: Option<AllClose>) -> Result<()> {
    let place = PagePlace::of(arguments.report.as_deref(), arguments.overwrite)?;
    let charts = place.is_some();
    let job =
        CompareGroupJob { tolerance, charts, ..CompareGroupJob::new(&arguments.a, &arguments.b) };
    let report = job.run(&arguments.runtime()?)?;
    if let Some(mut place) = place {
        let title = format!("{} compared with {}", report.b, report.a);
        place.write(&title, sections(&report)?)?;
        place.commit()?;
    }
    let printed = print(&report, arguments.show, || render::compare::group(&report).into());
    match report.failure() {
        None => printed,
        // The result does not depend on whether the table can be printed.
        Some(failure) => bail!(failure),
    }
}

/// The sections of a page about two groups: one for all, and one for each array that was compared.
fn sections(report: &GroupComparison) -> Result<Vec<Section>> {
    let mut sections = vec![Section::new(&render::compare::group(report), None)?];
    for one in &report.arrays {
        let ComparedArray::Compared { array, report } = one else { continue };
        let section = Section::new(&render::compare::table(report), report.charts.as_ref())?;
        sections.push(section.named(array));
    }
    Ok(sections)
}

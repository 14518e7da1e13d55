//! The commands: each makes a job of its arguments, runs it, and shows its report.

use std::fs;
use std::io::{IsTerminal, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, bail};
use recast_pack::text::as_shown;
use recast_pack::{
    ArrayRule, CatFormat, CompareJob, DryRun, Job, Outcome, PathReport, Recommendations,
    StagedFile, SuggestJob, UnpackJob, array_in,
};

use crate::args::{Cat, Compare, Info, Migrate, Pack, Suggest, Unpack, Verify};
use crate::failure::UsageError;
use crate::render::page::PagePlace;
use crate::render::report::{Report, both, finish, print};
use crate::standard_output::standard_output;

/// Packs an array or a group. The page of `--report` appears together with the output.
pub(crate) fn pack(arguments: &Pack) -> Result<()> {
    let recommendations = recommendations(arguments.recommendations.as_deref())?;
    let job = arguments.job(rules(arguments)?, recommendations);
    let runtime = arguments.common.runtime(arguments.show)?;
    let places = [("INPUT", &arguments.input), ("OUTPUT", &arguments.output)];
    refuse_inside("--report", arguments.report.as_deref(), &places)?;
    let mut place = PagePlace::of(arguments.report.as_deref(), arguments.common.overwrite)?;
    if arguments.dry_run {
        return print(&job.dry_run(&runtime)?, arguments.show);
    }
    let pending = job.prepare(&runtime)?;
    if let Some(place) = &mut place {
        let (input, output) = (as_shown(&arguments.input), as_shown(&arguments.output));
        let title = format!("{input} packed as {output}");
        place.write(&title, pending.report().sections()?)?;
    }
    let report = pending.commit()?;
    let written = place.map_or(Ok(()), PagePlace::commit);
    both(print(&report, arguments.show), written.context("OUTPUT is complete, but has no page"))
}

/// Refuses a file at or in one of the arrays and groups of a command, which it would damage.
fn refuse_inside(flag: &str, file: Option<&Path>, places: &[(&str, &PathBuf)]) -> Result<()> {
    let Some(file) = file.and_then(real) else { return Ok(()) };
    for (name, place) in places {
        if real(place).is_some_and(|place| file.starts_with(place)) {
            let text = format!("{flag} {} lies in {name}; name a file beside it", file.display());
            return Err(UsageError(text).into());
        }
    }
    Ok(())
}

/// The file of `--recommendations`.
fn recommendations(path: Option<&Path>) -> Result<Option<Recommendations>> {
    let read = path.map(|path| Recommendations::read(path).context("--recommendations"));
    read.transpose()
}

/// The rules of `--config`.
fn rules(arguments: &Pack) -> Result<Vec<ArrayRule>> {
    let Some(path) = &arguments.group.config else { return Ok(Vec::new()) };
    let read =
        |path: &Path| -> Result<_> { Ok(ArrayRule::list_from_toml(&fs::read_to_string(path)?)?) };
    read(path).with_context(|| format!("--config {}", path.display()))
}

pub(crate) fn suggest(arguments: &Suggest) -> Result<()> {
    let Suggest { input, write, report: page, overwrite, show, .. } = arguments;
    let (runtime, options) = (arguments.resources.runtime(*show)?, arguments.options());
    refuse_inside("--report", page.as_deref(), &[("INPUT", input)])?;
    refuse_inside("--write", write.as_deref(), &[("INPUT", input)])?;
    let place = PagePlace::of(page.as_deref(), *overwrite)?;
    let title = format!("Bounds for {}", as_shown(input));
    let recommendations = recommendations(arguments.recommendations.as_deref())?;
    let job = SuggestJob { recommendations, config: write.clone(), ..SuggestJob::new(input) };
    let job = SuggestJob { options, ..job };
    if write.as_deref().zip(page.as_deref()).is_some_and(|(write, page)| is_same(write, page)) {
        let text = "--write and --report name one file; name two";
        return Err(UsageError(text.to_owned()).into());
    }
    let named = |path: &Path| format!("--write {}", path.display());
    let staged = write.as_deref().map(|path| {
        Ok::<_, Error>((path, StagedFile::new(path, *overwrite).with_context(|| named(path))?))
    });
    let staged = staged.transpose()?;
    let report = job.run_path(&runtime)?;
    let write = |(path, mut file): (&Path, StagedFile), toml: String| -> Result<()> {
        file.write(&toml).with_context(|| named(path))?;
        file.commit().with_context(|| named(path))
    };
    let written = match (staged, &report) {
        (Some(staged), PathReport::Group(report)) => write(staged, report.to_toml()?),
        (_, PathReport::Array(_)) | (None, PathReport::Group(_)) => Ok(()),
    };
    both(finish(place, &title, &report, *show), written)
}

/// Whether two paths lead to one file, which need not be there yet.
fn is_same(one: &Path, other: &Path) -> bool {
    real(one).is_some_and(|one| real(other) == Some(one))
}

/// A path without links, which need not be there yet.
fn real(path: &Path) -> Option<PathBuf> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let free =
        || Some(parent.unwrap_or(Path::new(".")).canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(free)
}

pub(crate) fn unpack(arguments: &Unpack) -> Result<()> {
    let Unpack { input, output, to_cf, show, common, compression } = arguments;
    let runtime = common.runtime(*show)?;
    let (overwrite, compressor) = (common.overwrite, compression.compressor);
    let job = UnpackJob { overwrite, compressor, to_cf: *to_cf, ..UnpackJob::new(input, output) };
    print(&job.run(&runtime)?, *show)
}

pub(crate) fn migrate(arguments: &Migrate) -> Result<()> {
    let runtime = arguments.common.runtime(arguments.show)?;
    let report = arguments.job().run(&runtime)?;
    print(&report, arguments.show)
}

pub(crate) fn verify(arguments: &Verify) -> Result<()> {
    let Verify { tolerance, arrays } = arguments;
    if tolerance.is_some() && arrays.requires() {
        let text =
            "--atol and --rtol are one bound, and cannot be used with others; use --max-abs-error";
        return Err(UsageError(text.to_owned()).into());
    }
    compare_as(arrays, |job| CompareJob { tolerance: *tolerance, recorded: true, ..job })
}

pub(crate) fn compare(arguments: &Compare) -> Result<()> {
    compare_as(arguments, |job| CompareJob { measures_only: true, ..job })
}

/// Compares two arrays or groups, and writes the page of `--report`.
fn compare_as(arguments: &Compare, judged: impl Fn(CompareJob) -> CompareJob) -> Result<()> {
    let Compare { a, b, metrics, required, show, report, overwrite, resources, .. } = arguments;
    refuse_inside("--report", report.as_deref(), &[("A", a), ("B", b)])?;
    let place = PagePlace::of(report.as_deref(), *overwrite)?;
    let charts = place.is_some();
    let runtime = resources.runtime(*show)?;
    let recommendations = recommendations(arguments.recommendations.as_deref())?;
    let (requirements, missing) = (required.all(), required.missing.clone());
    let job = CompareJob { requirements, missing, recommendations, ..CompareJob::new(a, b) };
    let job = judged(CompareJob { charts, metrics: *metrics, ..job });
    let title = format!("{} compared with {}", as_shown(b), as_shown(a));
    finish(place, &title, &job.run_path(&runtime)?, *show)
}

pub(crate) fn info(arguments: &Info) -> Result<()> {
    let Info { array, json, verbose } = arguments;
    let mut info = recast_pack::info(array)?;
    if !*json && !*verbose {
        match &mut info {
            PathReport::Array(info) => info.attributes.clear(),
            PathReport::Group(info) => {
                info.attributes.clear();
                for one in &mut info.arrays {
                    if let Outcome::Done { report } = &mut one.outcome {
                        report.attributes.clear();
                    }
                }
            }
        }
    }
    print(&info, arguments.show())
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

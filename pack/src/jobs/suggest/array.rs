//! Suggests a bound for one array.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use recast_kernels::{Scalar, in_default_environment};
use serde_json::{Map, Value};

use super::ladder::Tried;
use super::{Advised, Mark, Rung, SuggestReport, Suggestion};
use crate::array::source::Source;
use crate::error::{Error, Result, usage};
use crate::jobs::cf::attributes::{PACKED_BY_CF, is_packed_by_cf};
use crate::metadata::coordinates::Described;
use crate::options::{Compressor, PackOptions, Requirement};
use crate::recommend::labels::Labels;
use crate::recommend::nearby::labels_alone;
use crate::recommend::{Advice, Recommendations};
use crate::runtime::{Runtime, Workers};
use crate::scan::missing::{Markers, advice_on, customary_markers};
use crate::scan::surveyor::survey;
use crate::store::location::{archive, outermost_group, url};
use crate::store::names::folder_of;
use crate::suggest::known::look;
use crate::suggest::sample::{Layout, Sample, without_chunks};
use crate::text::{as_shown, measured};

/// Looks at a sample of an array (the whole array up to 16 MiB, else some 8 MiB), and lists bounds from coarse to fine with their cost
/// and loss: the sizes of dry runs, errors, and the share of the information that the bits of neighbours have of each other. Of a
/// group, every array that packing the group would pack is looked at.
///
/// ```
/// # use recast_pack::report::Mark;
/// # use recast_pack::{Runtime, SuggestJob};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let input = folder.path().join("t2m.zarr");
/// # std::fs::create_dir_all(input.join("c"))?;
/// # std::fs::write(input.join("zarr.json"), r#"{"zarr_format": 3, "node_type": "array",
/// #     "shape": [500], "data_type": "float32", "fill_value": "NaN",
/// #     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [500]}},
/// #     "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
/// #     "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}"#)?;
/// # let values = (0..500).flat_map(|step| (step as f32 / 4.0).to_le_bytes());
/// # std::fs::write(input.join("c/0"), values.collect::<Vec<u8>>())?;
/// let report = SuggestJob::new(&input).run(&Runtime::default())?;
/// let lossless = report.recommended().unwrap(); // multiples of 0.25
/// assert_eq!((lossless.mark, lossless.max_abs_error), (Some(Mark::LosesNothing), 0.0));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct SuggestJob {
    /// The array or group to read: Zarr v1, v2 or v3, with any codecs. A directory, a zip file or a URL.
    pub input: PathBuf,
    /// How it would be packed, without a bound.
    pub options: PackOptions,
    /// Recommendations; the report has the one for the array.
    pub recommendations: Option<Recommendations>,
    /// For a group: the `recast.toml` that commands in the report name; the job does not write it.
    pub config: Option<PathBuf>,
}

impl SuggestJob {
    /// For an array or a group, packed with the command's default settings.
    #[must_use]
    pub fn new(input: impl Into<PathBuf>) -> Self {
        Self {
            input: input.into(),
            options: PackOptions::default(),
            recommendations: None,
            config: None,
        }
    }

    /// Looks at an array; [`Self::run_path`] is for groups, too.
    ///
    /// # Errors
    /// Options with a requirement, because the bound is the question; an array that cannot be read, or packed with no bound, such
    /// as one with infinities.
    pub fn run(&self, runtime: &Runtime) -> std::result::Result<SuggestReport, Error> {
        check(&self.options)?;
        in_default_environment((self, runtime), |(job, runtime)| {
            let source = Source::open_for(runtime, &job.input)?;
            let by = job.recommendations.as_ref();
            let advice = by.map(|by| Advised::by(by, &labels_alone(&source, runtime)));
            Ok(suggest_for(&source, &job.options, advice, runtime)?)
        })
    }
}

impl Advised {
    /// The recommendation for an array.
    ///
    /// # Errors
    /// The reason if nothing is recommended.
    pub(super) fn by(by: &Recommendations, labels: &Labels) -> Result<Self, String> {
        match by.advice(labels, &PackOptions::default()) {
            Advice::Pack(options) => Ok(Self {
                by: by.source.clone(),
                requirements: Requirement::of(&options),
                missing: options.missing.clone(),
                options: *options,
            }),
            other => Err(other.reason().unwrap_or_default()),
        }
    }
}

/// Refuses options that answer the question.
pub(super) fn check(options: &PackOptions) -> Result<()> {
    options.checked()?;
    if options.says_how() {
        return usage(
            "a suggestion is for arrays whose bound is not known; leave the bound, the step or the scale out",
        );
    }
    Ok(())
}

/// A suggestion for an open array.
pub(super) fn suggest_for(
    source: &Source,
    options: &PackOptions,
    advice: Option<Result<Advised, String>>,
    runtime: &Runtime,
) -> Result<SuggestReport> {
    let workers = Workers::within(runtime, [source.chunk_memory()])?;
    let sample = Sample::read(source, &workers)?;
    suggest(&sample, source.array().shape(), options, advice, &workers, runtime)
}

/// Suggests a bound for elements that the caller reads, such as an array of another library: this says which parts of it to
/// read.
///
/// ```
/// use recast_pack::{PackOptions, Runtime, SuggestFromBlocks};
/// let values: Vec<f32> = (0..3000).map(|step| (step % 700) as f32 / 20.0).collect();
/// let attributes = serde_json::Map::new();
/// let suggest =
///     SuggestFromBlocks::new(&[3000], None, f32::NAN.into(), &attributes, PackOptions::default())?;
/// let blocks = suggest.blocks().map(|(origin, shape)| {
///     let part = &values[origin[0] as usize..(origin[0] + shape[0]) as usize];
///     part.iter().flat_map(|value| value.to_ne_bytes()).collect()
/// });
/// let report = suggest.run("speeds", blocks.collect(), &Runtime::default())?;
/// assert_eq!(report.known.grid.unwrap().step, 0.05);
/// # Ok::<(), recast_pack::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SuggestFromBlocks {
    shape: Vec<u64>,
    fill_value: Scalar,
    attributes: Map<String, Value>,
    options: PackOptions,
    layout: Layout,
    /// The recommendation for the array, or the reason if nothing is recommended.
    advice: Option<Result<Advised, String>>,
}

impl SuggestFromBlocks {
    /// For an array of this shape, in chunks of that shape if it has any. The type of the elements is that of the fill value.
    ///
    /// # Errors
    /// As [`SuggestJob::run`]; extents of chunks that are 0, or are not those of an array with this shape.
    pub fn new(
        shape: &[u64],
        chunk: Option<&[u64]>,
        fill_value: Scalar,
        attributes: &Map<String, Value>,
        options: PackOptions,
    ) -> std::result::Result<Self, Error> {
        check(&options)?;
        let chunk =
            chunk.map_or_else(|| without_chunks(shape, fill_value.element_type()), <[u64]>::to_vec);
        if chunk.len() != shape.len() || chunk.contains(&0) {
            return Err(anyhow!(
                "chunks of shape {chunk:?} do not fit an array of shape {shape:?}"
            )
            .into());
        }
        let size = fill_value.element_type().size();
        let layout = Layout::new(shape, &chunk, None, size)?;
        Ok(Self {
            shape: shape.to_vec(),
            fill_value,
            attributes: attributes.clone(),
            options,
            layout,
            advice: None,
        })
    }

    /// The same with the recommendation for the array, found by its own metadata and by the coordinates among the nodes of its
    /// group.
    #[must_use]
    pub fn recommended(
        self,
        by: &Recommendations,
        array: &Described<'_>,
        nodes: &[Described<'_>],
    ) -> Self {
        Self { advice: Some(Advised::by(by, &Labels::of(array, nodes))), ..self }
    }

    /// The blocks to read: where each begins, and its extents.
    pub fn blocks(&self) -> impl Iterator<Item = (&[u64], &[u64])> {
        let regions = self.layout.regions.iter();
        regions.map(|region| (region.origin.as_slice(), region.shape.as_slice()))
    }

    /// Suggests a bound, given the elements of each block in C order and native byte order. Errors call the array `name`.
    ///
    /// # Errors
    /// As [`SuggestJob::run`]; a block that is missing, or has another number of elements.
    // The caller has no use for the blocks afterwards.
    #[allow(clippy::needless_pass_by_value)]
    pub fn run(
        &self,
        name: &str,
        blocks: Vec<Vec<u8>>,
        runtime: &Runtime,
    ) -> std::result::Result<SuggestReport, Error> {
        in_default_environment((self, blocks), |(request, blocks)| {
            let Self { shape, fill_value, attributes, options, layout, advice } = request;
            let name = Path::new(name);
            let sample = Sample::of_blocks(name, layout, *fill_value, attributes, &blocks)?;
            let workers = Workers::new(runtime)?;
            Ok(suggest(&sample, shape, options, advice.clone(), &workers, runtime)?)
        })
    }
}

/// The bytes of the excerpts on which the offsets of each bound are tried.
const EXCERPTS: usize = 512 << 10;

/// Suggests a bound for the array of this shape that a sample stands for.
fn suggest(
    sample: &Sample,
    shape: &[u64],
    options: &PackOptions,
    advice: Option<Result<Advised, String>>,
    workers: &Workers,
    runtime: &Runtime,
) -> Result<SuggestReport> {
    let (advice, unadvised) = match advice {
        Some(Ok(advice)) => (Some(advice), None),
        Some(Err(reason)) => (None, Some(reason)),
        None => (None, None),
    };
    let input = as_shown(sample.source.path());
    let markers = Markers::with(&sample.source, options)?;
    let mut survey = survey(&sample.source, &markers, workers)?;
    if let Some(first) = &survey.first_infinite {
        bail!(
            "{input}: {first}, and an error bound says nothing about infinities; replace them, or use --infinity, which \
             keeps them as they are"
        );
    }
    let (known, information) = look(&sample.source, &survey, workers)?;
    // An integer's own step is 1, and it is kept.
    let (information, no_information) = match information {
        _ if survey.element_type.is_integer() => (None, None),
        Ok(found) => (Some(found), None),
        Err(why) => (None, Some(why)),
    };
    // Most of a dry run's time goes into offsets, which a few excerpts choose nearly as well.
    let mut bytes = 0;
    survey.excerpts.retain(|_, elements| {
        bytes += elements.len();
        bytes <= EXCERPTS
    });
    let tried =
        Tried { sample, survey: &survey, known, information, options, advice: advice.as_ref() };
    let (mut ladder, mut recommended, mut suggestions) = (Vec::new(), None, Vec::new());
    if tried.known.range.is_some() {
        let quiet = Workers::new(&Runtime { progress: None, ..runtime.clone() })?;
        (ladder, recommended) = tried.ladder(workers, &quiet)?;
        suggestions = tried.suggestions(&ladder);
    }
    Ok(SuggestReport {
        input,
        shape: shape.to_vec(),
        data_type: survey.element_type,
        bytes: tried.bytes(),
        sampled: sample.sampled.clone(),
        notes: unadvised.into_iter().chain(tried.notes()).collect(),
        known: tried.known,
        information: tried.information,
        no_information,
        ladder,
        recommended,
        advice: advice.clone(),
        suggestions,
    })
}

impl Tried<'_> {
    /// The sentences before the ladder.
    fn notes(&self) -> Vec<String> {
        let Self { survey, known, .. } = self;
        let information = self.information.as_ref();
        let mut notes = Vec::new();
        let mut note = |text: String| notes.push(text);
        let element_type = survey.element_type;
        if survey.elements == 0 {
            note("the array has no elements, so there is nothing to choose".to_owned());
        } else if known.range.is_none() {
            note(
                "all elements are missing or the fill value, so there is nothing to choose"
                    .to_owned(),
            );
        } else if known.extent() == 0.0 {
            note("all values are equal, and every bound keeps them as they are".to_owned());
        } else if self.is_cf() {
            note(format!("the integers are {PACKED_BY_CF}"));
        } else if element_type.is_integer() {
            note(format!(
                "{element_type} needs no bound: integers are kept exactly, in the narrowest type that holds them"
            ));
        }
        if let Some((least, greatest)) = known.range_without_outliers {
            note(format!(
                "a few values stretch the range: 99.8 % of them are from {} to {}, and the information is that of \
                 these; --src-min and --src-max clamp the others",
                measured(least),
                measured(greatest)
            ));
        }
        let suspects = advice_on(&customary_markers(survey.data_range));
        if let Some(advice) = suspects.filter(|_| !element_type.is_integer()) {
            note(advice);
        }
        if let Some((found, bit)) = information.and_then(|found| Some((found, found.artificial?))) {
            let step = (found.range.1 - found.range.0) / 2_f64.powi(bit as i32 + 1);
            note(format!(
                "digits near {} are correlated again, probably from earlier rounding",
                measured(step)
            ));
        }
        if information.is_some_and(|found| found.only_unequal) {
            note(
                "pairs of equal neighbours (constant areas) are left out of the information, because they would make every bit \
                 look informative"
                    .to_owned(),
            );
        }
        notes
    }

    fn is_cf(&self) -> bool {
        is_packed_by_cf(&self.sample.source)
    }

    /// Commands for the marked bounds; without any, one for a thousandth of the range.
    fn suggestions(&self, ladder: &[Rung]) -> Vec<Suggestion> {
        let with = |more: &[&str], reason: String| {
            let arguments = self.arguments(more);
            Suggestion { arguments, reason }
        };
        if self.is_cf() {
            let reason =
                "keeps the stored integers and what they stand for, bit for bit".to_owned();
            return vec![with(&["--from-cf"], reason)];
        }
        let is_integer = self.survey.element_type.is_integer();
        let mut suggestions = Vec::new();
        if let Some(Advised { by, requirements, missing, .. }) = self.advice {
            let mut arguments: Vec<String> =
                requirements.iter().flat_map(|one| one.arguments()).collect();
            if !missing.is_empty() {
                arguments.push("--missing".to_owned());
                arguments.extend(missing.iter().map(ToString::to_string));
            }
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            suggestions.push(with(&arguments, format!("recommended by {by}")));
        }
        for rung in ladder {
            let Some(mark) = rung.mark else { continue };
            let bound = format!("{:?}", rung.max_abs_error);
            let arguments: &[&str] = if is_integer { &[] } else { &["-e", &bound] };
            let reason = match mark {
                Mark::Recommended => continue,
                Mark::LosesNothing | Mark::KeepsSteps => mark.name().to_owned(),
                Mark::MostInformation | Mark::Information => {
                    format!("keeps {} of the information", mark.name())
                }
            };
            suggestions.push(with(arguments, reason));
        }
        let has_evidence =
            ladder.iter().any(|rung| rung.mark.is_some_and(|mark| mark != Mark::LosesNothing));
        if !has_evidence && self.known.extent() > 0.0 && !is_integer && ladder.len() > 1 {
            let share = ["--error-over-range", "0.001"];
            suggestions
                .push(with(&share, "no evidence, but a common choice for pictures".to_owned()));
        }
        suggestions
    }

    /// The arguments of `recast pack`, with the options of the suggestion.
    fn arguments(&self, more: &[&str]) -> Vec<String> {
        let PackOptions { compressor, missing, infinity, readers, .. } = self.options;
        let input = argument(self.sample.source.path());
        let output = packed_beside(self.sample.source.path());
        let mut arguments = vec!["pack".to_owned(), input, output];
        arguments.extend(more.iter().map(|&one| one.to_owned()));
        if *compressor != Compressor::default() {
            arguments.extend(["--compressor".to_owned(), compressor.to_string()]);
        }
        if !missing.is_empty() {
            arguments.push("--missing".to_owned());
            arguments.extend(missing.iter().map(ToString::to_string));
        }
        if *infinity {
            arguments.push("--infinity".to_owned());
        }
        if !readers.is_empty() {
            let names: Vec<String> = readers.iter().map(ToString::to_string).collect();
            arguments.extend(["--readers".to_owned(), names.join(",")]);
        }
        arguments
    }
}

/// A path as an argument of a command, which takes no dash at its beginning for that of a flag.
pub(super) fn argument(path: &Path) -> String {
    let shown = as_shown(path);
    if shown.starts_with('-') { format!("./{shown}") } else { shown }
}

/// The place of a packed array or group, as an argument: next to its input, but in no group that the input is in. What is behind
/// a URL or in a zip file is packed in the present folder.
pub(super) fn packed_beside(input: &Path) -> String {
    let name = match url(input) {
        Some(url) => url.split(['?', '#']).next().map(Path::new),
        None => Some(input),
    };
    let name = name.and_then(Path::file_name).map(OsStr::to_owned);
    // Of `.` and `..`, the name of the folder.
    let name = name.or_else(|| Some(input.canonicalize().ok()?.file_name()?.to_owned()));
    let name = name.unwrap_or_default().to_string_lossy().into_owned();
    let stem = name.strip_suffix(".zarr").or_else(|| name.strip_suffix(".zip"));
    let name = stem.unwrap_or(&name);
    let is_elsewhere = url(input).is_some() || archive(input).is_some();
    let folder = if is_elsewhere { PathBuf::new() } else { folder_outside_groups(input) };
    argument(&folder.join(format!("{name}_packed.zarr")))
}

/// The folder that holds an input or, if the input is in groups, the outermost of these.
pub(super) fn folder_outside_groups(input: &Path) -> PathBuf {
    let folder = input.parent().unwrap_or(input);
    let real = match input.file_name() {
        Some(name) => folder_of(input).canonicalize().map(|folder| folder.join(name)),
        // Of `.` and `..`.
        None => input.canonicalize(),
    };
    let outside = real.ok().and_then(|real| {
        let outside = outermost_group(&real, |_| true).unwrap_or(&real).parent()?;
        let levels = real.parent()?.strip_prefix(outside).ok()?.components().count();
        // The user's own words, if they lead there.
        let words = folder.ancestors().nth(levels).filter(|words| {
            let place = words.join("input");
            folder_of(&place).canonicalize().is_ok_and(|place| place == outside)
        });
        Some(words.unwrap_or(outside).to_owned())
    });
    outside.unwrap_or_else(|| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_is_taken_for_a_flag() {
        for (path, input, output) in [
            ("-a.zarr", "./-a.zarr", "./-a_packed.zarr"),
            ("deep/-a", "deep/-a", "deep/-a_packed.zarr"),
            ("https://host/-a.zarr?k=1", "https://host/-a.zarr?…", "./-a_packed.zarr"),
        ] {
            assert_eq!(argument(Path::new(path)), input);
            assert_eq!(packed_beside(Path::new(path)), output);
        }
    }
}

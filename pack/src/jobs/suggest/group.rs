//! Suggests bounds for the arrays of a group, and writes them as the `recast.toml` that packing takes.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::bail;
use recast_kernels::in_default_environment;
use serde::Serialize;
use serde_json::Value;

use super::array::{
    SuggestJob, argument, check, folder_outside_groups, packed_beside, suggest_for,
};
use super::{Advised, SuggestReport, Suggestion};
use crate::array::source::{Source, fill_check};
use crate::error::{Error, Result, is_of_array, usage};
use crate::jobs::cf::attributes::PACKED_BY_CF;
use crate::jobs::rules::{labels_of, properties};
use crate::jobs::tree::{ArrayOutcome, Outcome, PathReport, each_array};
use crate::metadata::coordinates::{coordinates, described};
use crate::metadata::tree;
use crate::options::PackOptions;
use crate::runtime::Runtime;
use crate::store::location::is_group;
use crate::text::{as_shown, bytes, escaped, number_of, times_smaller};

/// The suggestions for a group.
#[derive(Clone, Debug, Serialize)]
pub struct SuggestGroupReport {
    /// The group.
    pub group: String,
    /// Its arrays.
    pub arrays: Vec<ArrayOutcome<SuggestReport>>,
    /// Commands that write the `recast.toml`, and pack the group by it.
    pub suggestions: Vec<Suggestion>,
    /// How the arrays would be packed.
    #[serde(skip)]
    pub options: PackOptions,
    /// Whether recommendations were looked for.
    #[serde(skip)]
    follows_recommendations: bool,
}

impl SuggestJob {
    /// Looks at an array, or at the arrays of a group. An array of a group for which nothing can be suggested is in the report,
    /// with the reason.
    ///
    /// # Errors
    /// As [`Self::run`]; a group that cannot be read; a file for the bounds of a group, and an array.
    pub fn run_path(
        &self,
        runtime: &Runtime,
    ) -> std::result::Result<PathReport<SuggestReport, SuggestGroupReport>, Error> {
        if is_group(&self.input) {
            check(&self.options)?;
            return in_default_environment((self, runtime), |(job, runtime)| {
                Ok(PathReport::Group(job.suggest_group(runtime)?))
            });
        }
        if self.config.is_some() {
            // What is no array either has an error of its own.
            Source::open_for(runtime, &self.input)?;
            let text =
                "is not a group, and --write is for groups; copy a command from the last lines";
            usage(format!("{} {text}", self.input.display()))?;
        }
        Ok(PathReport::Array(Box::new(self.run(runtime)?)))
    }

    fn suggest_group(&self, runtime: &Runtime) -> Result<SuggestGroupReport> {
        let nodes = tree::nodes_at(&self.input)?;
        let described = described(&nodes);
        let coordinates = coordinates(&described);
        let arrays = each_array(&nodes, None, runtime, |node| {
            let known = properties(node, &coordinates, self.options.from_cf, false);
            let by_cf = known.is_packed_by_cf && !self.options.from_cf;
            let by_cf = by_cf.then(|| PACKED_BY_CF.to_owned());
            let integers = known
                .integers
                .map(|integers| format!("{integers}: integers are kept exactly, without a bound"));
            if let Some(reason) = known.unfit.or(known.coordinate).or(by_cf).or(integers) {
                return Ok(Outcome::Kept { reason });
            }
            let source = Source::of_node(node, fill_check(runtime));
            let by = self.recommendations.as_ref();
            let advice = by.map(|by| Advised::by(by, &labels_of(node, &described)));
            match source.and_then(|source| suggest_for(&source, &self.options, advice, runtime)) {
                Ok(report) => Ok(Outcome::Done { report: Box::new(report) }),
                Err(error) if is_of_array(&error) => {
                    Ok(Outcome::Failed { reason: format!("{error:#}") })
                }
                Err(error) => Err(error),
            }
        })?;
        if arrays.is_empty() {
            bail!("{}: a group without arrays", self.input.display());
        }
        let group = as_shown(&self.input);
        let mut report = SuggestGroupReport {
            group,
            arrays,
            suggestions: Vec::new(),
            options: self.options.clone(),
            follows_recommendations: self.recommendations.is_some(),
        };
        // Otherwise, there is nothing to pack.
        if report.arrays.iter().filter_map(ArrayOutcome::report).any(|one| !report.skips(one)) {
            report.suggestions = self.suggestions();
        }
        Ok(report)
    }

    fn suggestions(&self) -> Vec<Suggestion> {
        let name = Path::new("recast.toml");
        let is_in_input = || {
            let real = |path: &Path| path.canonicalize().ok();
            real(Path::new("."))
                .zip(real(&self.input))
                .is_some_and(|(here, input)| here.starts_with(input))
        };
        let config = match &self.config {
            Some(config) => config.clone(),
            // A file in the input would be part of it.
            None if is_in_input() => folder_outside_groups(&self.input).join(name),
            None => name.to_owned(),
        };
        let config = argument(&config);
        let input = argument(&self.input);
        let suggestion = |arguments: &[&str], reason: &str| Suggestion {
            arguments: arguments.iter().map(|&one| one.to_owned()).collect(),
            reason: reason.to_owned(),
        };
        let packed = packed_beside(&self.input);
        let pack = suggestion(
            &["pack", &input, &packed, "--config", &config],
            "packs the group by that file",
        );
        if self.config.is_some() {
            return vec![pack];
        }
        let by = self.recommendations.as_ref().and_then(|by| by.file.as_deref()).map(argument);
        let mut write = vec!["suggest", input.as_str()];
        if let Some(by) = &by {
            write.extend(["--recommendations", by]);
        }
        write.extend(["--write", config.as_str()]);
        vec![suggestion(&write, "writes the bounds to a file to edit"), pack]
    }
}

impl SuggestGroupReport {
    /// A `recast.toml` with a table for each array, for [`crate::ArrayRule::list_from_toml`] and `recast pack --config`.
    /// Comments tell the cost of the bound and of other bounds.
    ///
    /// # Errors
    /// Options that cannot be written as TOML.
    pub fn to_toml(&self) -> std::result::Result<String, Error> {
        Ok(escaped(&self.written()?))
    }

    fn written(&self) -> Result<String> {
        let mut text = String::from(
            "# Bounds that recast suggest found; edit them. Arrays without a table are copied.\n",
        );
        for ArrayOutcome { array, outcome } in &self.arrays {
            match outcome {
                Outcome::Done { report } => text.push_str(&self.table(array, report)?),
                Outcome::Kept { .. } => {}
                Outcome::Failed { reason } => {
                    // A comment is one line.
                    write!(text, "\n# {array}: {}\n", reason.replace('\n', " "))?;
                }
            }
        }
        Ok(text)
    }

    /// Whether an array's table leaves it out.
    fn skips(&self, report: &SuggestReport) -> bool {
        // Any bound might be less strict than a recommendation.
        let has_no_bound = report.ladder.is_empty() || self.follows_recommendations;
        report.advice.is_none() && report.recommended().is_none() && has_no_bound
    }

    fn table(&self, array: &str, report: &SuggestReport) -> Result<String> {
        let mut text = format!("\n[[array]]\nname = {}\n", Value::from(pattern_of(array)));
        for note in &report.notes {
            writeln!(text, "# {note}")?;
        }
        if self.skips(report) {
            text.push_str("skip = true\n");
            if !report.ladder.is_empty() {
                text.push_str("# error-over-range = 0.001\n");
            }
            return Ok(text);
        }
        let goal = match (report.recommended(), &report.advice) {
            (_, Some(advice)) => {
                writeln!(text, "# recommended by {}", advice.by)?;
                advice.options.beside(&self.options.clone().into()).map_err(Error::into_inner)?
            }
            (Some(rung), None) => {
                let mark = rung.mark.map_or("", |mark| mark.name());
                let size = bytes(rung.stored_bytes as f64);
                writeln!(text, "# {mark}: {size}, {}", times_smaller(rung.ratio))?;
                PackOptions { max_abs_error: Some(rung.max_abs_error), ..self.options.clone() }
            }
            (None, None) => {
                text.push_str("# Nothing says which bound; this is a thousandth of the range.\n");
                PackOptions { error_over_range: Some(0.001), ..self.options.clone() }
            }
        };
        // Their names, numbers, texts and lists are written the same in JSON and in TOML.
        for (name, value) in goal.given()? {
            writeln!(text, "{name} = {value}")?;
        }
        for (index, rung) in report.ladder.iter().enumerate() {
            let mark = rung.mark.map(|mark| format!(", {}", mark.name())).unwrap_or_default();
            if Some(index) != report.recommended {
                let size = bytes(rung.stored_bytes as f64);
                writeln!(text, "# max-abs-error = {:?}  # {size}{mark}", rung.max_abs_error)?;
            }
        }
        Ok(text)
    }

    /// Which arrays nothing can be suggested for, and why; `None` if there are none.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let failed: Vec<_> = self.arrays.iter().filter_map(ArrayOutcome::failed).collect();
        let of = number_of(self.arrays.len() as u64, "array");
        let text = || {
            format!(
                "{}: nothing to suggest for {} of {of}: {}",
                self.group,
                failed.len(),
                failed.join("; ")
            )
        };
        (!failed.is_empty()).then(text)
    }
}

/// A pattern that matches this path only.
fn pattern_of(path: &str) -> String {
    if path.contains(['*', '?', '[']) { glob::Pattern::escape(path) } else { path.to_owned() }
}

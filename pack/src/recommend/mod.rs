//! Recommendations of what arrays must keep, as the Python package compression-recommendations publishes them: by the names
//! of variables and the kind of their levels.

mod filter;
pub(crate) mod labels;
pub(crate) mod nearby;
mod yaml;

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use recast_kernels::in_default_environment;
use serde::Serialize;
use zarr_recast::JsonScalar;

use crate::error::{Error, Result};
use crate::options::{Limits, OwnOptions, PackOptions, Requirement};

use filter::{Filter, Match};
use labels::Labels;
use yaml::Yaml;

/// The package whose file format this is, and where to cite it.
const PACKAGE: &str = "compression-recommendations";

/// Recommendations for arrays.
#[derive(Clone, Debug, PartialEq)]
pub struct Recommendations {
    /// Where they come from, for reports.
    pub source: String,
    /// The file that has them.
    pub file: Option<PathBuf>,
    list: Vec<Recommendation>,
}

/// The needs of arrays that all filters match.
#[derive(Clone, Debug, PartialEq)]
struct Recommendation {
    filters: Vec<Filter>,
    needs: Vec<Need>,
}

/// A requirement as the file has it.
#[derive(Clone, Debug, PartialEq)]
enum Need {
    Keep(Requirement),
    /// A value that marks missing data.
    Missing(f64),
    /// Values stay on their side of this one.
    Isovalue(f64),
    /// A kind that is not known here.
    Unknown(String),
}

/// The recommendation for an array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Advice {
    /// Nothing.
    None,
    /// How to pack it.
    Pack(Box<PackOptions>),
    /// Something that cannot be followed; why.
    NotKnown(String),
}

impl Advice {
    /// Why there is nothing to follow; `None` if there is.
    pub(crate) fn reason(&self) -> Option<String> {
        match self {
            Self::None => Some("nothing is recommended for it".to_owned()),
            Self::NotKnown(reason) => Some(reason.clone()),
            Self::Pack(_) => None,
        }
    }

    /// The advice as a report tells it, with the source of the recommendations.
    pub(crate) fn recommended(&self, by: &Recommendations) -> Recommended {
        self.reason().map_or_else(|| Recommended::By(by.source.clone()), Recommended::Not)
    }
}

/// Whether there is a recommendation for an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Recommended {
    /// Who recommends it.
    #[serde(rename = "recommended_by")]
    By(String),
    /// Why recommendations say nothing.
    #[serde(rename = "not_recommended")]
    Not(String),
}

impl Recommended {
    /// Who recommends it, if somebody does.
    #[must_use]
    pub fn by(&self) -> Option<&str> {
        match self {
            Self::By(source) => Some(source),
            Self::Not(_) => None,
        }
    }
}

impl fmt::Display for Recommended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::By(source) => write!(f, "by {source}"),
            Self::Not(reason) => f.write_str(reason),
        }
    }
}

impl Recommendations {
    /// Reads a file in YAML.
    ///
    /// # Errors
    /// Names the file, and where it is wrong.
    pub fn read(path: impl AsRef<Path>) -> std::result::Result<Self, Error> {
        let path = path.as_ref();
        let read = || -> Result<Self> {
            let mut text = String::new();
            File::open(path)?.take(yaml::MOST_BYTES as u64 + 1).read_to_string(&mut text)?;
            Ok(Self { file: Some(path.to_owned()), ..Self::parse(&text)? })
        };
        Ok(read().with_context(|| path.display().to_string())?)
    }

    /// The same of a text.
    ///
    /// ```
    /// let text = "
    /// recommendations:
    /// - filters:
    ///   - {kind: cf-short-name, value: t2m}
    ///   requirements:
    ///   - {kind: mean-absolute-error-bound, value: 0.01}
    /// version: 1.0.0
    /// ";
    /// assert_eq!(recast_pack::Recommendations::from_yaml(text)?.len(), 1);
    /// # Ok::<(), recast_pack::Error>(())
    /// ```
    ///
    /// # Errors
    /// Names where it is wrong.
    pub fn from_yaml(text: &str) -> std::result::Result<Self, Error> {
        Ok(Self::parse(text)?)
    }

    fn parse(text: &str) -> Result<Self> {
        in_default_environment(text, Self::parse_in_default_environment)
    }

    fn parse_in_default_environment(text: &str) -> Result<Self> {
        let yaml = Yaml::read(text)?;
        if let Some(key) = yaml.keys().find(|key| !MEMBERS.contains(key)) {
            bail!("unknown member {key}; the members are {}", MEMBERS.join(", "));
        }
        let list = yaml.get(MEMBERS[0]).and_then(Yaml::list);
        let list = list.context("no list of recommendations")?.iter().enumerate();
        let one = |(index, one): (usize, &Yaml)| {
            Recommendation::read(one).with_context(|| format!("recommendation {}", index + 1))
        };
        let of = |yaml: Option<&Yaml>| yaml.and_then(Yaml::text).map(str::to_owned);
        let version = of(yaml.get(MEMBERS[1])).map(|version| format!(" {version}"));
        let doi = of(yaml.get(MEMBERS[2]).and_then(|metadata| metadata.get("doi")));
        let doi = doi.map(|doi| format!(", doi {doi}"));
        Ok(Self {
            source: [Some(PACKAGE.to_owned()), version, doi].into_iter().flatten().collect(),
            file: None,
            list: list.map(one).collect::<Result<_>>()?,
        })
    }

    /// The number of recommendations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The recommendation for an array: the needs of all recommendations that match, and the requirements among the options for all
    /// arrays. Other options for all arrays, such as a step, are for arrays without a recommendation.
    pub(crate) fn advice(&self, labels: &Labels, for_all: &PackOptions) -> Advice {
        let advice = match self.advice_alone(labels) {
            Advice::Pack(advice) => advice,
            other => return other,
        };
        let together = || -> Result<PackOptions> {
            let mut options =
                for_all.beside(&OwnOptions::from(*advice)).map_err(Error::into_inner)?;
            Requirement::of(for_all).iter().try_for_each(|goal| goal.ask(&mut options))?;
            options.checked_beside_others()?;
            Ok(options)
        };
        match together() {
            Ok(options) if options.says_how() => Advice::Pack(Box::new(options)),
            Ok(_) => Advice::NotKnown("what is recommended for it bounds no error".to_owned()),
            Err(error) => Advice::NotKnown(format!("what is recommended for it: {error:#}")),
        }
    }

    fn advice_alone(&self, labels: &Labels) -> Advice {
        let mut options: Option<PackOptions> = None;
        for one in &self.list {
            let filters = one.filters.iter().map(|filter| filter.matches(labels));
            match Match::all(filters) {
                Match::No => {}
                Match::Yes => {
                    let asked = options.get_or_insert_default();
                    if let Err(reason) = one.ask(asked) {
                        return Advice::NotKnown(reason);
                    }
                }
                Match::NeedsKind(kind) => {
                    return Advice::NotKnown(format!(
                        "its recommendation has the filter {kind}, which is not known here"
                    ));
                }
                Match::NeedsLevel => {
                    return Advice::NotKnown(
                        "its recommendation depends on the kind of its levels, which nothing tells; the attribute \
                         GRIB_typeOfLevel would, or names of its dimensions and standard_name: air_pressure of their coordinate"
                            .to_owned(),
                    );
                }
            }
        }
        options.map_or(Advice::None, |options| Advice::Pack(Box::new(options)))
    }
}

/// The members of a file.
const MEMBERS: [&str; 3] = ["recommendations", "version", "metadata"];

impl Recommendation {
    fn read(yaml: &Yaml) -> Result<Self> {
        let mut needs = Vec::new();
        add_needs(yaml, &mut needs)?;
        Ok(Self { filters: Filter::list(yaml)?, needs })
    }

    /// Adds the needs to options. Of two bounds of one kind, the smaller holds.
    ///
    /// # Errors
    /// The need that options cannot express.
    fn ask(&self, options: &mut PackOptions) -> std::result::Result<(), String> {
        let is_lossless = self.needs.contains(&Need::Keep(Requirement::Lossless));
        for need in &self.needs {
            match need {
                Need::Keep(requirement) => {
                    requirement.ask(options).map_err(|error| format!("{error:#}"))?;
                }
                Need::Missing(value) => {
                    let marker = match *value {
                        whole if whole.fract() == 0.0 && whole.abs() < 1e15 => {
                            JsonScalar::from(whole as i64)
                        }
                        value => JsonScalar::from(value),
                    };
                    if !options.missing.contains(&marker) {
                        options.missing.push(marker);
                    }
                }
                // Nothing changes sides if nothing changes.
                Need::Isovalue(_) if is_lossless => {}
                Need::Isovalue(value) => {
                    return Err(format!("isovalue {value:?} is not known here, but with lossless"));
                }
                Need::Unknown(kind) => {
                    return Err(format!("the requirement {kind} is not known here"));
                }
            }
        }
        Ok(())
    }
}

/// Adds the requirements in a member of a map; those that all of a list asks for, as if they stood alone.
fn add_needs(yaml: &Yaml, needs: &mut Vec<Need>) -> Result<()> {
    let Some(list) = yaml.get("requirements").and_then(Yaml::list) else {
        bail!("requirements is no list")
    };
    for one in list {
        let kind = one.get("kind").and_then(Yaml::text).context("a requirement has no kind")?;
        let number = |member: &str| -> Result<Option<f64>> {
            let Some(value) = one.get(member) else { return Ok(None) };
            let text = value.text().unwrap_or_default();
            let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
            number.map(Some).with_context(|| format!("{kind}: {member} {text} is no finite number"))
        };
        let value = || number("value")?.with_context(|| format!("{kind} has no value"));
        let bound = || -> Result<f64> {
            let bound = value()?;
            if bound < 0.0 {
                bail!("{kind}: {bound:?} is negative");
            }
            Ok(bound)
        };
        let known = ["value", "minimum", "maximum", "kind", "requirements"];
        if let Some(key) = one.keys().find(|key| !known.contains(key)) {
            needs.push(Need::Unknown(format!("{kind} with {key}")));
            continue;
        }
        needs.push(match kind {
            "all" => {
                add_needs(one, needs)?;
                continue;
            }
            "max-pointwise-absolute-error-bound" => Need::Keep(Requirement::MaxAbsError(bound()?)),
            "max-pointwise-relative-error-bound" => Need::Keep(Requirement::MaxRelError(bound()?)),
            "max-pointwise-range-relative-error-bound" => {
                Need::Keep(Requirement::ErrorOverRange(bound()?))
            }
            "mean-absolute-error-bound" => Need::Keep(Requirement::MaxMeanError(bound()?)),
            "mean-relative-error-bound" => Need::Keep(Requirement::MaxMeanRelError(bound()?)),
            "mean-range-relative-error-bound" => {
                Need::Keep(Requirement::MeanErrorOverRange(bound()?))
            }
            "data-limits" => {
                let (least, greatest) = (number("minimum")?, number("maximum")?);
                if least.or(greatest).is_none() {
                    continue;
                }
                Need::Keep(Requirement::Limits(Limits { least, greatest }))
            }
            "lossless" => Need::Keep(Requirement::Lossless),
            "missing-value" => Need::Missing(value()?),
            "isovalue" => Need::Isovalue(value()?),
            _ => Need::Unknown(kind.to_owned()),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recommend::labels::LevelKind;

    fn labels(name: &str, level: Option<LevelKind>) -> Labels {
        Labels { short_names: vec![name.to_owned()], level, ..Labels::default() }
    }

    const TEXT: &str = "
recommendations:
- filters:
  - kind: any
    filters:
    - {kind: cf-short-name, value: tcc}
    - {kind: grib-short-name, value: tcc}
  - {kind: level-kind, value: single}
  requirements:
  - kind: all
    requirements:
    - kind: all
      requirements:
      - {kind: mean-absolute-error-bound, value: '5e-02'}
    - {kind: mean-relative-error-bound, value: 0.01}
  - {kind: data-limits, minimum: 0, maximum: 1}
- filters: [{kind: cf-short-name, value: tcc}]
  requirements: [{kind: mean-absolute-error-bound, value: 1e-3}]
- filters: [{kind: cf-short-name, value: slt}, {kind: not, filter: {kind: level-kind, value: pressure}}]
  requirements: [{kind: lossless}, {kind: missing-value, value: 255}, {kind: isovalue, value: 0.5}]
- filters: [{kind: cf-short-name, value: new}]
  requirements: [{kind: spectral-bound, value: 1}]
- filters: [{kind: cf-short-name, value: any}]
  requirements: [{kind: any, requirements: []}]
- filters: [{kind: cf-short-name, value: tagged}, {kind: tag, value: x}]
  requirements: []
version: 1.2.3
metadata: {doi: 10.1/x}
";

    #[test]
    fn what_bounds_no_error_or_is_not_kept_here_is_named() {
        for (requirements, reason) in [
            ("[{kind: missing-value, value: 255}]", "bounds no error"),
            ("[{kind: data-limits, minimum: 0}]", "bounds no error"),
            ("[]", "bounds no error"),
            // x > v stays so; a sign that may become 0 is less.
            (
                "[{kind: isovalue, value: 0}, {kind: mean-absolute-error-bound, value: 1}]",
                "isovalue",
            ),
        ] {
            let filters = "filters: [{kind: cf-short-name, value: tcc}]";
            let text = format!(
                "recommendations:\n- {filters}\n  requirements: {requirements}\nversion: 1.0.0\nmetadata: {{}}\n"
            );
            let read = Recommendations::from_yaml(&text).unwrap();
            match read.advice(&labels("tcc", None), &PackOptions::default()) {
                Advice::NotKnown(why) => assert!(why.contains(reason), "{requirements}: {why}"),
                other => panic!("{requirements}: {other:?}"),
            }
        }
    }

    #[test]
    fn an_array_gets_what_all_recommendations_that_match_it_ask_for() {
        let read = Recommendations::from_yaml(TEXT).unwrap();
        assert_eq!(
            (read.len(), &*read.source),
            (6, "compression-recommendations 1.2.3, doi 10.1/x")
        );
        let tcc = read.advice_alone(&labels("tcc", Some(LevelKind::Single)));
        let limits = Limits { least: Some(0.0), greatest: Some(1.0) };
        assert_eq!(
            tcc,
            Advice::Pack(Box::new(PackOptions {
                max_mean_error: Some(1e-3),
                max_mean_rel_error: Some(0.01),
                limits: Some(limits),
                ..PackOptions::default()
            }))
        );
        let slt = read.advice_alone(&labels("slt", Some(LevelKind::Single)));
        assert_eq!(
            slt,
            Advice::Pack(Box::new(PackOptions {
                lossless: true,
                missing: vec![JsonScalar::from(255_i64)],
                ..PackOptions::default()
            }))
        );
        assert_eq!(read.advice_alone(&labels("other", None)), Advice::None);
    }

    #[test]
    fn what_is_not_known_is_named() {
        let read = Recommendations::from_yaml(TEXT).unwrap();
        for (name, level, expected) in [
            ("new", None, "spectral-bound"),
            ("any", None, "requirement any"),
            ("tagged", None, "filter tag"),
            ("tcc", None, "GRIB_typeOfLevel"),
            ("slt", None, "GRIB_typeOfLevel"),
        ] {
            let Advice::NotKnown(reason) = read.advice_alone(&labels(name, level)) else {
                panic!("{name}");
            };
            assert!(reason.contains(expected), "{reason}");
        }
    }

    #[test]
    fn wrong_files_are_refused_with_the_place() {
        for (text, expected) in [
            ("recommendations: 1", "no list"),
            ("extra: 1", "unknown member extra"),
            ("recommendations: [{filters: []}]", "recommendation 1: requirements"),
            ("recommendations: [{requirements: []}]", "recommendation 1: filters"),
            (
                "recommendations: [{filters: [], requirements: [{kind: mean-absolute-error-bound, value: -1}]}]",
                "negative",
            ),
            (
                "recommendations: [{filters: [], requirements: [{kind: mean-absolute-error-bound, value: nan}]}]",
                "no finite number",
            ),
            ("recommendations: [{filters: [{value: x}], requirements: []}]", "no kind"),
        ] {
            let error = Recommendations::from_yaml(text).unwrap_err();
            let text = format!("{:#}", error.into_inner());
            assert!(text.contains(expected), "{text}");
        }
    }
}

//! Filters of recommendations: whether a filter is true of an array, false, or not known.

use anyhow::{Context, bail};

use super::labels::{Labels, LevelKind};
use super::yaml::Yaml;
use crate::error::Result;

/// The arrays that a recommendation is for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Filter {
    Any(Vec<Self>),
    All(Vec<Self>),
    Not(Box<Self>),
    StandardName(String),
    ShortName(String),
    GribShortName(String),
    Level(LevelKind),
    /// A kind that is not known here.
    Unknown(String),
}

/// Whether a filter matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match<'a> {
    Yes,
    No,
    /// The match depends on the kind of levels of the array, which is not known.
    NeedsLevel,
    /// The match depends on a filter of this kind.
    NeedsKind(&'a str),
}

impl Match<'_> {
    fn of(matches: bool) -> Self {
        if matches { Self::Yes } else { Self::No }
    }

    fn not(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            unknown => unknown,
        }
    }

    /// Of several: the first that decides, else what is not known, else the other one.
    fn first(decides: Self, all: impl Iterator<Item = Self>) -> Self {
        let mut found = decides.not();
        for one in all {
            if one == decides {
                return one;
            }
            if one != decides.not() {
                found = one;
            }
        }
        found
    }

    pub(super) fn all(all: impl Iterator<Item = Self>) -> Self {
        Self::first(Self::No, all)
    }
}

impl Filter {
    pub(super) fn read(yaml: &Yaml) -> Result<Self> {
        let kind = yaml.get("kind").and_then(Yaml::text).context("a filter has no kind")?;
        let value = || {
            let value = yaml.get("value").and_then(Yaml::text);
            value.map(str::to_owned).with_context(|| format!("the filter {kind} has no value"))
        };
        Ok(match kind {
            "any" => Self::Any(Self::list(yaml)?),
            "all" => Self::All(Self::list(yaml)?),
            "not" => {
                Self::Not(Box::new(Self::read(yaml.get("filter").context("not: no filter")?)?))
            }
            "cf-standard-name" => Self::StandardName(value()?),
            "cf-short-name" => Self::ShortName(value()?),
            "grib-short-name" => Self::GribShortName(value()?),
            "level-kind" => {
                let name = value()?;
                match LevelKind::from_name(&name) {
                    Some(kind) => Self::Level(kind),
                    None => Self::Unknown(format!("level-kind {name}")),
                }
            }
            _ => Self::Unknown(kind.to_owned()),
        })
    }

    /// The filters in a member of a map.
    pub(super) fn list(yaml: &Yaml) -> Result<Vec<Self>> {
        let Some(list) = yaml.get("filters").and_then(Yaml::list) else {
            bail!("filters is no list")
        };
        list.iter().map(Self::read).collect()
    }

    pub(super) fn matches(&self, labels: &Labels) -> Match<'_> {
        match self {
            Self::Any(filters) => {
                Match::first(Match::Yes, filters.iter().map(|filter| filter.matches(labels)))
            }
            Self::All(filters) => Match::all(filters.iter().map(|filter| filter.matches(labels))),
            Self::Not(filter) => filter.matches(labels).not(),
            Self::StandardName(name) => Match::of(labels.standard.as_ref() == Some(name)),
            Self::ShortName(name) => Match::of(labels.short_names.contains(name)),
            Self::GribShortName(name) => Match::of(labels.grib.as_ref() == Some(name)),
            Self::Level(kind) => {
                labels.level.map_or(Match::NeedsLevel, |level| Match::of(level == *kind))
            }
            Self::Unknown(kind) => Match::NeedsKind(kind),
        }
    }
}

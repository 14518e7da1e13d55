//! Which arrays of a group are packed, and how.

use anyhow::{Context, anyhow, bail};
use glob::{MatchOptions, Pattern};
use recast_kernels::ElementType;

use super::job::GroupJob;
use crate::error::Result;
use crate::options::PackOptions;

/// The properties of an array before any rule applies.
pub(super) struct Candidate {
    /// Why it cannot be packed, if it cannot.
    pub(super) unfit: Option<String>,
    /// Its type, if it is an integer type: flags, classes and counts, for which an error bound is not meant.
    pub(super) integers: Option<ElementType>,
    pub(super) is_coordinate: bool,
}

/// What to do with an array.
pub(super) enum Treatment {
    Pack(Box<PackOptions>),
    /// Why it is not packed.
    Copy(String),
}

/// The rules for a group.
pub(super) struct Rules<'a> {
    job: &'a GroupJob,
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
    scale_from: Vec<Pattern>,
    tables: Vec<Table<'a>>,
}

/// A rule for single arrays.
struct Table<'a> {
    name: Pattern,
    /// `None` leaves the array as it is.
    options: Option<&'a PackOptions>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(job: &'a GroupJob) -> Result<Self> {
        let patterns = |flag: &str, texts: &[String]| -> Result<Vec<Pattern>> {
            let pattern = |text: &String| pattern(text).with_context(|| format!("{flag} {text}"));
            texts.iter().map(pattern).collect()
        };
        let table = |rule: &'a super::job::ArrayRule| -> Result<Table<'a>> {
            let name = pattern(&rule.name).with_context(|| format!("name {}", rule.name))?;
            Ok(Table { name, options: rule.options.as_ref() })
        };
        Ok(Self {
            job,
            include: patterns("--include", &job.include)?,
            exclude: patterns("--exclude", &job.exclude)?,
            scale_from: patterns("--scale-from", &job.scale_from)?,
            tables: job.rules.iter().map(table).collect::<Result<_>>()?,
        })
    }

    /// The arrays to be packed that get one scale.
    pub(super) fn of_one_scale<'b>(&self, packed: &[&'b str]) -> Result<Vec<&'b str>> {
        for pattern in &self.scale_from {
            if !packed.iter().any(|path| matches(pattern, path)) {
                bail!("--scale-from {pattern} matches no array to be packed");
            }
        }
        let is_one = |path: &&str| self.scale_from.iter().any(|pattern| matches(pattern, path));
        Ok(packed.iter().copied().filter(is_one).collect())
    }

    pub(super) fn treatment(&self, path: &str, candidate: &Candidate) -> Result<Treatment> {
        let copy = |reason: &str| Ok(Treatment::Copy(reason.to_owned()));
        let table = self.tables.iter().find(|table| matches(&table.name, path));
        // A named array is packed even if it is a coordinate.
        let is_named = self.include.iter().any(|pattern| matches(pattern, path));
        if self.exclude.iter().any(|pattern| matches(pattern, path)) {
            return copy("--exclude");
        }
        if let Some(Table { options: None, .. }) = table {
            return copy("skip in --config");
        }
        if let Some(reason) = &candidate.unfit {
            return match table {
                Some(_) => bail!("{path}: {reason}, and --config has a table for it"),
                None => copy(reason),
            };
        }
        if let Some(Table { options: Some(options), .. }) = table {
            if candidate.integers.is_none() {
                // The file is wrong, not the usage.
                options.check_goal().map_err(|error| anyhow!("--config: {path}: {error}"))?;
            }
            return Ok(Treatment::Pack(Box::new((*options).clone())));
        }
        if !self.include.is_empty() && !is_named {
            return copy("not in --include");
        }
        if candidate.is_coordinate && !is_named && !self.job.all {
            return copy("a coordinate");
        }
        match candidate.integers {
            Some(integers) if !is_named => {
                return copy(&format!("{integers}: --include packs integers, exactly"));
            }
            None if !self.job.options.says_how() && !self.tables.is_empty() => {
                return copy("no table in --config");
            }
            // Integers need no bound.
            Some(_) | None => {}
        }
        Ok(Treatment::Pack(Box::new(self.job.options.clone())))
    }
}

/// A pattern without a slash matches names at any depth.
fn matches(pattern: &Pattern, path: &str) -> bool {
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
    let is_name = !pattern.as_str().contains('/');
    let name = path.rsplit('/').next().unwrap_or(path);
    pattern.matches_with(if is_name { name } else { path }, options)
}

fn pattern(text: &str) -> Result<Pattern> {
    Ok(Pattern::new(text.trim_matches('/'))?)
}

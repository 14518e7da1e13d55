//! Which arrays of a group are packed, and how.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Context, anyhow, bail};
use glob::{MatchOptions, Pattern};

use super::group_job::{ArrayRule, GroupJob};
use super::properties::Properties;
use crate::error::Result;
use crate::metadata::tree::Node;
use crate::options::{OwnOptions, PackOptions};
use crate::store::location::Kind;
use crate::store::nearest::nearest;

/// How errors name the rules.
const RULE: &str = "the rule for";
const BOUND: &str = "the bound for";

/// Why integers that CF's attributes pack are copied.
const PACKED_BY_CF: &str = "packed by scale_factor or add_offset; --from-cf turns these attributes into codecs over the same integers";

/// What to do with an array.
pub(super) enum Treatment {
    Pack(Box<PackOptions>),
    /// Why it is not packed.
    Copy(String),
}

impl Treatment {
    /// Whether the codecs follow from values and options, and not from CF's attributes.
    pub(super) fn packs_values(&self) -> bool {
        matches!(self, Self::Pack(options) if !options.from_cf)
    }

    /// Whether a scale is chosen from the values.
    pub(super) fn chooses_scale(&self) -> bool {
        matches!(self, Self::Pack(options) if !options.from_cf && !options.is_explicit())
    }
}

/// The rules for a group.
pub(super) struct Rules<'a> {
    job: &'a GroupJob,
    include: Vec<Name>,
    exclude: Vec<Name>,
    scale_from: Vec<Name>,
    tables: Vec<Rule<'a>>,
    bounds: Vec<Rule<'a>>,
}

/// The path of an array, or a pattern for paths.
enum Name {
    Path(String),
    Pattern(Pattern),
}

/// A rule for single arrays.
struct Rule<'a> {
    name: Name,
    /// `None` leaves the array as it is.
    options: Option<&'a OwnOptions>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(job: &'a GroupJob) -> Result<Self> {
        let name =
            |flag: &str, text: &str| Name::new(text).with_context(|| format!("{flag} {text}"));
        let names = |flag: &str, texts: &[String]| -> Result<Vec<Name>> {
            texts.iter().map(|text| name(flag, text)).collect()
        };
        let scale_from = job.pack.scale_from.iter();
        let scale_from = scale_from.map(|path| name("--scale-from", &path.display().to_string()));
        let rule = |what: &str, rule: &'a ArrayRule| -> Result<Rule<'a>> {
            let name = if rule.is_path {
                Name::Path(rule.name.trim_matches('/').to_owned())
            } else {
                name(what, &rule.name)?
            };
            Ok(Rule { name, options: rule.options.as_ref() })
        };
        let mut given = BTreeSet::new();
        let name = |bound: &&'a ArrayRule| !given.insert(bound.name.trim_matches('/'));
        if let Some(twice) = job.bounds.iter().find(name) {
            bail!("{BOUND} {}: this name has two bounds", twice.name);
        }
        let tables = job.rules.iter().map(|table| rule(RULE, table));
        let bounds = job.bounds.iter().map(|bound| rule(BOUND, bound));
        Ok(Self {
            job,
            include: names("--include", &job.include)?,
            exclude: names("--exclude", &job.exclude)?,
            scale_from: scale_from.collect::<Result<_>>()?,
            tables: tables.collect::<Result<_>>()?,
            bounds: bounds.collect::<Result<_>>()?,
        })
    }

    /// Refuses names of arrays that a group does not have. Returns warnings of patterns that match none.
    pub(super) fn check_names(&self, nodes: &[Node]) -> Result<Vec<String>> {
        let of_kind = |kind| {
            let nodes = nodes.iter().filter(move |node| node.kind == kind);
            nodes.map(|node| &*node.path).collect::<Vec<&str>>()
        };
        let (arrays, groups) = (of_kind(Kind::Array), of_kind(Kind::Group));
        let tables = self.tables.iter().map(|table| (RULE, &table.name));
        let bounds = self.bounds.iter().map(|bound| (BOUND, &bound.name));
        let names = self.include.iter().map(|name| ("--include", name));
        let names = names.chain(self.exclude.iter().map(|name| ("--exclude", name)));
        let mut warnings = Vec::new();
        for (what, name) in names.chain(tables).chain(bounds) {
            match name {
                _ if arrays.iter().any(|path| name.matches(path)) => {}
                Name::Pattern(pattern) => {
                    warnings.push(format!("{what} {pattern} matches no array"));
                }
                Name::Path(path) if groups.contains(&path.as_str()) => {
                    bail!("{what} {path}: a group, and no array; {path}/** is for all arrays in it")
                }
                Name::Path(path) => bail!("{what} {path}: {}", no_array(path, &arrays)),
            }
        }
        Ok(warnings)
    }

    /// The arrays to be packed that get one scale.
    pub(super) fn of_one_scale<'b>(&self, packed: &[&'b str]) -> Result<Vec<&'b str>> {
        for name in &self.scale_from {
            if !packed.iter().any(|path| name.matches(path)) {
                match name {
                    Name::Pattern(pattern) => {
                        bail!("--scale-from {pattern} matches no array to be packed")
                    }
                    Name::Path(path) => {
                        bail!(
                            "--scale-from {path}: not to be packed, or {}",
                            no_array(path, packed)
                        )
                    }
                }
            }
        }
        let is_one = |path: &&str| self.scale_from.iter().any(|name| name.matches(path));
        Ok(packed.iter().copied().filter(is_one).collect())
    }

    fn table(&self, path: &str) -> Option<&Rule<'a>> {
        self.tables.iter().find(|table| table.name.matches(path))
    }

    fn bound(&self, path: &str) -> Option<&Rule<'a>> {
        self.bounds.iter().find(|bound| bound.name.matches(path))
    }

    /// The rules that an array's options come from, beside those for all.
    fn rules_of(&self, path: &str) -> impl Iterator<Item = (&'static str, &Rule<'a>)> {
        let table = self.table(path).map(|table| (RULE, table));
        let bound = self.bound(path).map(|bound| (BOUND, bound));
        table.into_iter().chain(bound)
    }

    /// The options of an array, if it is packed.
    pub(super) fn options_of(&self, path: &str) -> Result<PackOptions> {
        let mut options = self.job.pack.options.clone();
        for own in self.rules_of(path).filter_map(|(_, rule)| rule.options) {
            options = options.beside(own)?;
        }
        Ok(options)
    }

    /// Packs an array, if its options say how. A rule may need another one, or a flag, so only all of them can be wrong.
    fn packed(
        &self,
        path: &str,
        properties: &Properties,
        options: PackOptions,
    ) -> Result<Treatment> {
        let checked = match properties.integers {
            None => options.checked().and_then(|()| options.check_goal()),
            Some(_) => options.checked(),
        };
        // The rules are wrong, not the usage.
        checked.map_err(|error| {
            let rules = self.rules_of(path).map(|(what, rule)| format!("{what} {}", rule.name));
            let rules = rules.collect::<Vec<_>>().join(" and ");
            match rules.as_str() {
                "" => error,
                rules => anyhow!("{path}: {rules}: {error:#}"),
            }
        })?;
        Ok(Treatment::Pack(Box::new(options)))
    }

    pub(super) fn treatment(
        &self,
        path: &str,
        properties: &Properties,
        options: PackOptions,
    ) -> Result<Treatment> {
        let copy = |reason: &str| Ok(Treatment::Copy(reason.to_owned()));
        let (table, bound) = (self.table(path), self.bound(path));
        // A named array is packed even if it is a coordinate.
        let is_named = self.include.iter().any(|name| name.matches(path));
        let by_path = bound.filter(|bound| matches!(bound.name, Name::Path(_)));
        if self.exclude.iter().any(|name| name.matches(path)) {
            return match by_path {
                Some(_) => bail!("{path}: a bound names it, and --exclude"),
                None => copy("--exclude"),
            };
        }
        if let Some(Rule { options: None, .. }) = table {
            return match by_path {
                Some(_) => bail!("{path}: a bound names it, and --config has skip for it"),
                None => copy("skip in --config"),
            };
        }
        // A pattern is for all arrays that it does not have to know.
        let is_pattern = table.is_some_and(|table| matches!(table.name, Name::Pattern(_)));
        if let Some(reason) = &properties.unfit {
            return match (table.filter(|_| !is_pattern), by_path) {
                (Some(_), _) => bail!("{path}: {reason}, and --config has a table for it"),
                (None, Some(_)) => bail!("{path}: {reason}, and a bound names it"),
                (None, None) => copy(reason),
            };
        }
        // Coordinates are no data.
        if let Some(reason) = &properties.coordinate
            && is_pattern
            && by_path.is_none()
            && !is_named
            && !self.job.all
        {
            return copy(reason);
        }
        if table.is_some() || by_path.is_some() {
            let may_stay = is_pattern && by_path.is_none() && properties.integers.is_none();
            if may_stay && !options.says_how() && !self.bounds.is_empty() {
                return copy("no bound is for it");
            }
            return self.packed(path, properties, options);
        }
        if !self.include.is_empty() && !is_named {
            return copy("not in --include");
        }
        if let Some(reason) = &properties.coordinate
            && !is_named
            && !self.job.all
        {
            return copy(reason);
        }
        match properties.integers {
            Some(_) if !is_named && properties.is_packed_by_cf => return copy(PACKED_BY_CF),
            Some(integers) if !is_named => {
                return copy(&format!("{integers}: --include packs integers, exactly"));
            }
            None if !options.says_how() && !self.tables.is_empty() => {
                return copy("no table in --config");
            }
            None if !options.says_how() && !self.bounds.is_empty() => {
                if is_named {
                    bail!("{path}: --include names it, and no bound is for it");
                }
                return copy("no bound is for it");
            }
            // Integers need no bound.
            Some(_) | None => {}
        }
        self.packed(path, properties, options)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.write_str(path),
            Self::Pattern(pattern) => pattern.fmt(f),
        }
    }
}

impl Name {
    fn new(text: &str) -> Result<Self> {
        let text = text.trim_matches('/');
        Ok(if text.contains(['*', '?', '[']) {
            Self::Pattern(Pattern::new(text)?)
        } else {
            Self::Path(text.to_owned())
        })
    }

    fn matches(&self, path: &str) -> bool {
        let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
        match self {
            Self::Path(one) => one == path,
            Self::Pattern(pattern) => pattern.matches_with(path, options),
        }
    }
}

/// That there is no array of a name, with the nearest names.
fn no_array(name: &str, arrays: &[&str]) -> String {
    match nearest(name, arrays) {
        Some(nearest) => format!("no such array; {nearest}"),
        None => "there are no arrays".to_owned(),
    }
}

//! The job that packs a group, and its rules: which arrays are packed, and how.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};
use glob::{MatchOptions, Pattern};
use recast_kernels::ElementType;
use serde_json::Value;

use crate::array::source::Source;
use crate::error::{Error, Result, usage};
use crate::jobs::cf::attributes::{PACKED_BY_CF, is_packed};
use crate::jobs::pack::PackJob;
use crate::metadata::coordinates::Described;
use crate::metadata::tree::Node;
use crate::options::{OwnOptions, PackOptions, option_names};
use crate::recommend::Recommendations;
use crate::recommend::labels::Labels;
use crate::runtime::Runtime;
use crate::store::location::Kind;
use crate::store::nearest::nearest;

/// Packs the node at a path: an array, or all floating-point arrays of a group except coordinates. Everything else in the group
/// is copied, and consolidated metadata are renewed.
///
/// Arrays are named by their paths in the group. Patterns are paths with `*` and `?`, and `**` for any folders. A path
/// without an array is an error, and a pattern that matches none is a warning of the report.
#[derive(Clone, Debug)]
pub struct GroupJob {
    /// As for an array. In a group, `options` hold for all arrays, unless a rule says otherwise, and if
    /// they do not say how to pack, arrays without a rule are copied; `scale_from` names arrays of the group, which get the
    /// same codecs.
    pub pack: PackJob,
    /// Packs only arrays that match one of these, if there are any.
    pub include: Vec<String>,
    /// Copies arrays that match.
    pub exclude: Vec<String>,
    /// Packs coordinates too, as [`crate::coordinates`] finds them.
    pub all: bool,
    /// Packs the decoded values of packed arrays, too. Their new errors come on top of the old ones.
    pub repack: bool,
    /// Recommendations for the arrays. Goals for all arrays hold beside them, and options for single arrays that say how in their
    /// place; arrays without one are packed as the options for all say, or copied.
    pub recommendations: Option<Recommendations>,
    /// Options for single arrays.
    pub rules: Vec<ArrayRule>,
    /// Bounds for single arrays, which hold in place of those of `options` and `rules`, as `-e NAME=E` of the command. A
    /// path picks its array; a pattern is for arrays that are picked without it.
    pub bounds: Vec<ArrayRule>,
    /// Copies an array that cannot be packed, as it is, and goes on with the others. [`crate::GroupReport::failure`] names
    /// such arrays.
    pub keep_going: bool,
}

impl GroupJob {
    /// Packs `input` as `output`, with the command's default settings.
    #[must_use]
    pub fn new(
        input: impl Into<PathBuf>,
        output: impl Into<PathBuf>,
        options: PackOptions,
    ) -> Self {
        PackJob::new(input, output, options).into()
    }
}

impl GroupJob {
    /// Refuses options that only a group has, for a job on an array.
    pub(super) fn refuse_rules(&self, runtime: &Runtime) -> Result<()> {
        let own = |rules: &[ArrayRule], what: &str| {
            rules.first().map(|rule| format!("{what} for {} is", rule.name))
        };
        let flags = [
            ("--include", !self.include.is_empty()),
            ("--exclude", !self.exclude.is_empty()),
            ("--all", self.all),
            ("--keep-going", self.keep_going),
        ];
        let flag = flags.into_iter().find(|(_, is_given)| *is_given);
        let flag = flag.map(|(flag, _)| format!("{flag} is"));
        let given = flag.or_else(|| own(&self.rules, "a table"));
        let given = given.or_else(|| own(&self.bounds, "a bound"));
        let Some(what) = given else { return Ok(()) };
        // What is no array either has an error of its own.
        let input = &self.pack.input;
        Source::open_for(runtime, input)?;
        usage(format!("{} is not a group, and {what} for groups", input.display()))
    }
}

impl From<PackJob> for GroupJob {
    fn from(pack: PackJob) -> Self {
        Self {
            pack,
            include: Vec::new(),
            exclude: Vec::new(),
            all: false,
            repack: false,
            recommendations: None,
            rules: Vec::new(),
            bounds: Vec::new(),
            keep_going: false,
        }
    }
}

/// Options for arrays of a group; the first rule that matches counts.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayRule {
    /// The path of an array, or a pattern.
    pub name: String,
    /// Whether the name is a path even if it looks like a pattern.
    pub is_path: bool,
    /// How such arrays are packed, beside the options for all; `None` leaves such arrays as they are.
    pub options: Option<OwnOptions>,
}

impl ArrayRule {
    /// Reads the `[[array]]` tables of a `recast.toml`: `name`, and the members of [`PackOptions`], or
    /// `skip = true`.
    ///
    /// ```
    /// let rules = recast_pack::ArrayRule::list_from_toml("
    ///     [[array]]
    ///     name = 't2m'
    ///     max-abs-error = 0.01
    /// ")?;
    /// assert_eq!(rules[0].options.as_ref().unwrap().options().max_abs_error, Some(0.01));
    /// # Ok::<(), recast_pack::Error>(())
    /// ```
    ///
    /// # Errors
    /// Names the table and the problem.
    pub fn list_from_toml(text: &str) -> std::result::Result<Vec<Self>, Error> {
        Ok(Self::read(text)?)
    }

    fn read(text: &str) -> Result<Vec<Self>> {
        let document: toml::Table = text
            .parse()
            .map_err(on_one_line)
            .context("it is not TOML, in which texts stand in quotes")?;
        if let Some(key) = document.keys().find(|&key| key != "array") {
            bail!("unknown key {key}; only [[array]] tables are known");
        }
        let tables = document.get("array").context("no [[array]] in it")?;
        let toml::Value::Array(tables) = tables else { bail!("array must be written [[array]]") };
        let one = |(index, table): (usize, &toml::Value)| {
            let name = table.get("name").and_then(toml::Value::as_str);
            let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
            Self::of(table.clone()).with_context(|| format!("array {}{name}", index + 1))
        };
        let rules: Vec<Self> = tables.iter().enumerate().map(one).collect::<Result<_>>()?;
        if let Some(twice) = Self::twice(&rules) {
            bail!("two tables have the name {}; the second would be ignored", twice.name);
        }
        Ok(rules)
    }

    /// The first rule whose name an earlier rule has.
    fn twice(rules: &[Self]) -> Option<&Self> {
        let mut given = BTreeSet::new();
        rules.iter().find(|rule| !given.insert(rule.name.trim_matches('/')))
    }

    fn of(table: toml::Value) -> Result<Self> {
        let toml::Value::Table(mut table) = table else { bail!("not a table") };
        let name = table
            .remove("name")
            .context("name is missing; it is the path of an array, or a pattern")?;
        let name = name.as_str().context("name must be a string")?.to_owned();
        if name.is_empty() {
            bail!(
                "name is empty; it is the path of an array, or a pattern, such as /** for all arrays"
            );
        }
        let skip = table.remove("skip").unwrap_or(false.into());
        let Some(skip) = skip.as_bool() else {
            let skip = serde_json::to_value(&skip).unwrap_or_default();
            bail!("skip is {skip}; it must be true or false");
        };
        if skip {
            if let Some(key) = table.keys().next() {
                bail!("{key} and skip exclude each other");
            }
            return Ok(Self { name, is_path: false, options: None });
        }
        let known = option_names()?;
        let known: Vec<&str> =
            ["name", "skip"].into_iter().chain(known.iter().map(String::as_str)).collect();
        if let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) {
            let nearest = nearest(key, &known).unwrap_or_default();
            bail!("unknown key {key}; {nearest}, and recast pack --help lists all, as flags");
        }
        let table: toml::Table =
            table.into_iter().map(|(key, value)| (key, as_in_flags(value))).collect();
        // The error of the whole table would not name the key.
        for (key, value) in table.clone() {
            let alone = toml::Table::from_iter([(key.clone(), value)]);
            alone.try_into::<OwnOptions>().map_err(on_one_line).context(key)?;
        }
        let options: OwnOptions = table.try_into().map_err(on_one_line)?;
        // The file is wrong, not the usage.
        options.options().checked_beside_others().map_err(|error| anyhow!("{error}"))?;
        Ok(Self { name, is_path: false, options: Some(options) })
    }
}

/// An error of the TOML reader, without the line of the file, which may be long.
#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn on_one_line(error: toml::de::Error) -> anyhow::Error {
    let (text, message) = (error.to_string(), error.message());
    let place = text.lines().next().filter(|_| error.span().is_some());
    let told = message.split_whitespace().collect::<Vec<_>>().join(" ");
    place.map_or_else(|| anyhow!("{told}"), |place| anyhow!("{place}: {told}"))
}

/// TOML has numbers for NaN and infinities. In options they are text, as in flags and in JSON.
fn as_in_flags(value: toml::Value) -> toml::Value {
    match value {
        toml::Value::Float(number) if !number.is_finite() => number.to_string().into(),
        toml::Value::Array(values) => {
            toml::Value::Array(values.into_iter().map(as_in_flags).collect())
        }
        other => other,
    }
}

/// How errors name the rules.
const RULE: &str = "the rule for";
const BOUND: &str = "the bound for";

/// The treatment of an array.
pub(super) enum Treatment {
    Pack(Box<PackOptions>),
    /// The reason why the array is not packed.
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
pub(super) struct Rule<'a> {
    name: Name,
    /// `None` leaves the array as it is.
    pub(super) options: Option<&'a OwnOptions>,
}

impl<'a> Rule<'a> {
    fn new(what: &str, rule: &'a ArrayRule) -> Result<Self> {
        let name = if rule.is_path {
            Name::Path(rule.name.trim_matches('/').to_owned())
        } else {
            Name::new(&rule.name).with_context(|| format!("{what} {}", rule.name))?
        };
        Ok(Self { name, options: rule.options.as_ref() })
    }

    pub(super) fn all(rules: &'a [ArrayRule]) -> Result<Vec<Self>> {
        rules.iter().map(|rule| Self::new(RULE, rule)).collect()
    }

    /// The first rule for an array.
    pub(super) fn first<'b>(rules: &'b [Self], path: &str) -> Option<&'b Self> {
        rules.iter().find(|rule| rule.name.matches(path))
    }

    /// Refuses names of arrays that a group does not have.
    pub(super) fn check_names(rules: &[Self], nodes: &[Node]) -> Result<()> {
        check_names(rules.iter().map(|rule| (RULE, &rule.name)), nodes).map(drop)
    }
}

/// Refuses names of arrays that a group does not have. Returns warnings of patterns that match none.
fn check_names<'a>(
    names: impl Iterator<Item = (&'a str, &'a Name)>,
    nodes: &[Node],
) -> Result<Vec<String>> {
    let of_kind = |kind| {
        let nodes = nodes.iter().filter(move |node| node.kind == kind);
        nodes.map(|node| &*node.path).collect::<Vec<&str>>()
    };
    let (arrays, groups) = (of_kind(Kind::Array), of_kind(Kind::Group));
    let mut warnings = Vec::new();
    for (what, name) in names {
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

impl<'a> Rules<'a> {
    pub(super) fn new(job: &'a GroupJob) -> Result<Self> {
        let name =
            |flag: &str, text: &str| Name::new(text).with_context(|| format!("{flag} {text}"));
        let names = |flag: &str, texts: &[String]| -> Result<Vec<Name>> {
            texts.iter().map(|text| name(flag, text)).collect()
        };
        let scale_from = job.pack.scale_from.iter();
        let scale_from = scale_from.map(|path| name("--scale-from", &path.display().to_string()));
        if let Some(twice) = ArrayRule::twice(&job.bounds) {
            bail!("{BOUND} {}: this name has two bounds", twice.name);
        }
        let bounds = job.bounds.iter().map(|bound| Rule::new(BOUND, bound));
        Ok(Self {
            job,
            include: names("--include", &job.include)?,
            exclude: names("--exclude", &job.exclude)?,
            scale_from: scale_from.collect::<Result<_>>()?,
            tables: Rule::all(&job.rules)?,
            bounds: bounds.collect::<Result<_>>()?,
        })
    }

    /// Refuses names of arrays that a group does not have. Returns warnings of patterns that match none.
    pub(super) fn check_names(&self, nodes: &[Node]) -> Result<Vec<String>> {
        let tables = self.tables.iter().map(|table| (RULE, &table.name));
        let bounds = self.bounds.iter().map(|bound| (BOUND, &bound.name));
        let names = self.include.iter().map(|name| ("--include", name));
        let names = names.chain(self.exclude.iter().map(|name| ("--exclude", name)));
        check_names(names.chain(tables).chain(bounds), nodes)
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
        Rule::first(&self.tables, path)
    }

    fn bound(&self, path: &str) -> Option<&Rule<'a>> {
        Rule::first(&self.bounds, path)
    }

    /// The rules that an array's options come from, beside those for all.
    fn rules_of(&self, path: &str) -> impl Iterator<Item = (&'static str, &Rule<'a>)> {
        let table = self.table(path).map(|table| (RULE, table));
        let bound = self.bound(path).map(|bound| (BOUND, bound));
        table.into_iter().chain(bound)
    }

    /// Whether options for this array, by a table or a bound, say how it is packed.
    pub(super) fn says_how(&self, path: &str) -> bool {
        let mut own = self.rules_of(path).filter_map(|(_, rule)| rule.options);
        own.any(|own| own.options().says_how())
    }

    /// The options of an array, if it is packed: its own beside others.
    pub(super) fn options_of(&self, path: &str, others: &PackOptions) -> Result<PackOptions> {
        let mut options = others.clone();
        for own in self.rules_of(path).filter_map(|(_, rule)| rule.options) {
            options = options.beside(own)?;
        }
        Ok(options)
    }

    /// Packs an array, if its options say how. A rule may need another rule, or a flag, so the rules are checked together.
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
                (Some(_), _) => bail!("{path}: {reason}, and options are given for it"),
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
        let is_named_elsewhere = by_path.is_some() || table.is_some_and(|_| !is_pattern);
        if !self.include.is_empty() && !is_named && !is_named_elsewhere {
            return copy("not in --include");
        }
        if table.is_some() || by_path.is_some() {
            let may_stay = is_pattern && by_path.is_none() && properties.integers.is_none();
            if may_stay && !options.says_how() && !self.bounds.is_empty() {
                return copy("no bound is for it");
            }
            return self.packed(path, properties, options);
        }
        if let Some(reason) = &properties.coordinate
            && !is_named
            && !self.job.all
        {
            return copy(reason);
        }
        if let Some(reason) = &properties.unadvised {
            return copy(reason);
        }
        match properties.integers {
            Some(_) if !is_named && properties.is_packed_by_cf => return copy(PACKED_BY_CF),
            Some(integers) if !is_named => {
                return copy(&format!("{integers}: --include packs integers, exactly"));
            }
            None if !options.says_how() && !self.tables.is_empty() => {
                return copy("no options are given for it");
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

/// The error for a name that no array has, with the nearest names.
fn no_array(name: &str, arrays: &[&str]) -> String {
    match nearest(name, arrays) {
        Some(nearest) => format!("no such array; {nearest}"),
        None => "there are no arrays".to_owned(),
    }
}

/// The properties of an array before any rule applies.
pub(crate) struct Properties {
    /// Why the array cannot be packed; `None` if it can.
    pub(crate) unfit: Option<String>,
    /// The type of an array of integers: flags, classes and counts, for which an error bound is not meant.
    pub(crate) integers: Option<ElementType>,
    /// Whether CF's attributes pack it.
    pub(crate) is_packed_by_cf: bool,
    /// Why the array is a coordinate; `None` if it is data.
    pub(crate) coordinate: Option<String>,
    /// Why recommendations do not say how to pack it, if there are any.
    pub(crate) unadvised: Option<String>,
}

/// The labels of an array, for recommendations.
pub(crate) fn labels_of(node: &Node, all: &[Described<'_>]) -> Labels {
    Labels::of(&Described::of(node), all)
}

/// The properties of an array. An array with value codecs can be packed only with `repack`.
pub(crate) fn properties(
    node: &Node,
    coordinates: &BTreeMap<String, String>,
    from_cf: bool,
    repack: bool,
) -> Properties {
    let element_type = node.element_type();
    let attributes = node.document.get("attributes").and_then(Value::as_object);
    let is_packed_by_cf =
        element_type.zip(attributes).is_some_and(|(one, attributes)| is_packed(one, attributes));
    let unfit = match element_type {
        None => {
            let name = node.type_without_numbers();
            name.map(|name| format!("{name} is not a type that can be packed"))
        }
        Some(_) if from_cf => {
            (!is_packed_by_cf).then(|| "no integers with scale_factor or add_offset".to_owned())
        }
        Some(_) if node.has_value_codecs() && !repack => {
            Some("has value codecs already; pack it again with --repack".to_owned())
        }
        Some(_) => None,
    };
    let integers = element_type.filter(|one| one.is_integer() && !from_cf);
    let coordinate = coordinates.get(&*node.path).filter(|_| !from_cf).cloned();
    Properties { unfit, integers, is_packed_by_cf, coordinate, unadvised: None }
}

//! Which arrays of a group are packed, and how: flags, and the tables of `--config`.

use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Parser;
use glob::{MatchOptions, Pattern};
use serde_json::Value;

use crate::args::{Cli, Command, Pack};
use crate::failure::clap_problem;

/// What is known of an array before a rule is asked.
pub(super) struct Candidate {
    /// Why it cannot be packed, if so.
    pub(super) unfit: Option<String>,
    pub(super) is_coordinate: bool,
}

/// What to do with an array.
pub(super) enum Treatment {
    Pack(Box<Pack>),
    /// Why it is not packed.
    Copy(String),
}

/// The rules for a group.
pub(super) struct Rules<'a> {
    arguments: &'a Pack,
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
    scale_from: Vec<Pattern>,
    tables: Vec<ConfigTable>,
}

/// A table `[[array]]` of the configuration.
struct ConfigTable {
    name: Pattern,
    /// The flags in it; `None` leaves the array as it is.
    arguments: Option<Box<Pack>>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(arguments: &'a Pack) -> Result<Self> {
        let patterns = |flag: &str, texts: &[String]| -> Result<Vec<Pattern>> {
            let pattern = |text: &String| pattern(text).with_context(|| format!("{flag} {text}"));
            texts.iter().map(pattern).collect()
        };
        let group = &arguments.group;
        let tables = match &group.config {
            Some(path) => {
                read(path, arguments).with_context(|| format!("--config {}", path.display()))?
            }
            None => Vec::new(),
        };
        let include = patterns("--include", &group.include)?;
        let exclude = patterns("--exclude", &group.exclude)?;
        let names: Option<Vec<String>> =
            arguments.scale_from.iter().map(|path| Some(path.to_str()?.to_owned())).collect();
        let scale_from = patterns("--scale-from", &names.context("--scale-from is not UTF-8")?)?;
        Ok(Self { arguments, include, exclude, scale_from, tables })
    }

    /// Of the arrays to be packed those that are to have one scale.
    pub(super) fn of_one_scale<'b>(&self, packed: &[&'b str]) -> Result<Vec<&'b str>> {
        for pattern in &self.scale_from {
            if !packed.iter().any(|path| matches(pattern, path)) {
                bail!("--scale-from {pattern} is the name of no array that is to be packed");
            }
        }
        let is_one = |path: &&str| self.scale_from.iter().any(|pattern| matches(pattern, path));
        Ok(packed.iter().copied().filter(is_one).collect())
    }

    pub(super) fn treatment(&self, path: &str, candidate: &Candidate) -> Result<Treatment> {
        let copy = |reason: &str| Ok(Treatment::Copy(reason.to_owned()));
        let table = self.tables.iter().find(|table| matches(&table.name, path));
        // What is named is meant, also a coordinate.
        let is_named = self.include.iter().any(|pattern| matches(pattern, path));
        if self.exclude.iter().any(|pattern| matches(pattern, path)) {
            return copy("--exclude");
        }
        if let Some(ConfigTable { arguments: None, .. }) = table {
            return copy("skip in --config");
        }
        if let Some(reason) = &candidate.unfit {
            return match table {
                Some(_) => bail!("{path}: {reason}, and --config has a table for it"),
                None => copy(reason),
            };
        }
        if let Some(ConfigTable { arguments: Some(arguments), .. }) = table {
            return Ok(Treatment::Pack(arguments.clone()));
        }
        if !self.include.is_empty() && !is_named {
            return copy("not in --include");
        }
        if candidate.is_coordinate && !is_named && !self.arguments.group.all {
            return copy("a coordinate");
        }
        if !self.arguments.says_how() {
            return copy("no table in --config");
        }
        Ok(Treatment::Pack(Box::new(self.arguments.clone())))
    }
}

/// A pattern without a slash is one for names, wherever they are.
fn matches(pattern: &Pattern, path: &str) -> bool {
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
    let is_name = !pattern.as_str().contains('/');
    let name = path.rsplit('/').next().unwrap_or(path);
    pattern.matches_with(if is_name { name } else { path }, options)
}

fn pattern(text: &str) -> Result<Pattern> {
    Ok(Pattern::new(text.trim_matches('/'))?)
}

/// Reads `[[array]]` tables: `name`, a pattern, and flags of `recast pack` without their dashes.
fn read(path: &Path, arguments: &Pack) -> Result<Vec<ConfigTable>> {
    let text = std::fs::read_to_string(path)?;
    let mut document: toml::Table = text.parse()?;
    let tables = document.remove("array").context("no [[array]] in it")?;
    if let Some(key) = document.keys().next() {
        bail!("unknown key {key}; only [[array]] tables are known");
    }
    let toml::Value::Array(tables) = tables else { bail!("array must be written [[array]]") };
    let mut result = Vec::new();
    for (index, table) in tables.into_iter().enumerate() {
        let table = serde_json::to_value(table)?;
        result.push(one(&table, arguments).with_context(|| format!("array {}", index + 1))?);
    }
    Ok(result)
}

fn one(table: &Value, arguments: &Pack) -> Result<ConfigTable> {
    let mut table = table.as_object().cloned().context("not a table")?;
    let name = table.remove("name").context("name is missing; it is a pattern for arrays")?;
    let name = pattern(name.as_str().context("name must be a string")?)?;
    let skip = table.remove("skip").is_some_and(|skip| skip == true);
    if skip {
        if let Some(key) = table.keys().next() {
            bail!("{key} beside skip");
        }
        return Ok(ConfigTable { name, arguments: None });
    }
    let mut line = vec!["recast".to_owned(), "pack".into(), "INPUT".into(), "OUTPUT".into()];
    for (key, value) in table {
        let flag = format!("--{key}");
        if !FLAGS.contains(&key.as_str()) {
            bail!("unknown key {key}; the keys are name, skip, {}", FLAGS.join(", "));
        }
        match value {
            Value::Bool(true) => line.push(flag),
            Value::Bool(false) => {}
            Value::String(text) => line.push(format!("{flag}={text}")),
            other => line.push(format!("{flag}={other}")),
        }
    }
    let parsed =
        Cli::try_parse_from(line).map_err(|error| anyhow::anyhow!(clap_problem(&error)))?;
    let Command::Pack(mut parsed) = parsed.command else { bail!("not the flags of recast pack") };
    parsed.common.threads = arguments.common.threads;
    parsed.common.max_memory = arguments.common.max_memory;
    parsed.common.quiet = arguments.common.quiet;
    parsed.common.accept_fill_value = arguments.common.accept_fill_value;
    parsed.common.overwrite = arguments.common.overwrite;
    parsed.no_provenance = arguments.no_provenance;
    parsed.dry_run = arguments.dry_run;
    parsed.report.clone_from(&arguments.report);
    Ok(ConfigTable { name, arguments: Some(parsed) })
}

/// The flags that a table may have.
const FLAGS: [&str; 19] = [
    "max-abs-error",
    "max-rel-error",
    "precision",
    "auto",
    "pow2",
    "data-type",
    "nan-to",
    "allow-collisions",
    "src-min",
    "src-max",
    "percentile",
    "rounding",
    "out-of-range",
    "scale",
    "offset",
    "verify",
    "compressor",
    "from-cf",
    "decoded-type",
];

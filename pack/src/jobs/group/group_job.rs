//! The job that packs a group, and the rules for its arrays.

use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};

use crate::error::{Error, Result};
use crate::jobs::pack::PackJob;
use crate::options::{OwnOptions, PackOptions};

/// Packs all floating-point arrays of a group except coordinates. Everything else is copied, and consolidated metadata
/// are renewed.
///
/// Arrays are named by their paths in the group. Patterns are paths with `*` and `?`, and `**` for any folders. A path
/// without an array is an error, and a pattern that matches none is a warning of the report.
#[derive(Clone, Debug)]
pub struct GroupJob {
    /// As for an array. Input and output are groups; `options` hold for all arrays, unless a rule says otherwise, and if
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

impl From<PackJob> for GroupJob {
    fn from(pack: PackJob) -> Self {
        Self {
            pack,
            include: Vec::new(),
            exclude: Vec::new(),
            all: false,
            repack: false,
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
    /// How such arrays are packed, beside the options for all; `None` leaves them as they are.
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
        let mut document: toml::Table = text.parse()?;
        let tables = document.remove("array").context("no [[array]] in it")?;
        if let Some(key) = document.keys().next() {
            bail!("unknown key {key}; only [[array]] tables are known");
        }
        let toml::Value::Array(tables) = tables else { bail!("array must be written [[array]]") };
        let one = |(index, table)| Self::of(table).with_context(|| format!("array {}", index + 1));
        tables.into_iter().enumerate().map(one).collect()
    }

    fn of(table: toml::Value) -> Result<Self> {
        let toml::Value::Table(mut table) = table else { bail!("not a table") };
        let name = table
            .remove("name")
            .context("name is missing; it is the path of an array, or a pattern")?;
        let name = name.as_str().context("name must be a string")?.to_owned();
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
        let table: toml::Table =
            table.into_iter().map(|(key, value)| (key, as_in_flags(value))).collect();
        let options: OwnOptions = table.try_into()?;
        // The file is wrong, not the usage.
        options.options().checked_beside_others().map_err(|error| anyhow!("{error}"))?;
        Ok(Self { name, is_path: false, options: Some(options) })
    }
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

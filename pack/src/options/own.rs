//! Options for single arrays, beside those for all.

use std::collections::BTreeSet;
use std::result;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::{GRID_EXCLUDES, PackOptions, fields};
use crate::error::{Error, Result};

/// The ways to say how an array is packed; options in one row go together.
const WAYS: [&[&str]; 11] = [
    &["max_abs_error"],
    &["error_over_range"],
    &["max_rel_error"],
    &["max_mean_error"],
    &["mean_error_over_range"],
    &["max_mean_rel_error"],
    &["lossless"],
    &["precision"],
    &["auto"],
    &["scale", "offset"],
    &["from_cf"],
];

/// Options for single arrays. Those that are given hold in place of the ones for all; in TOML and JSON, the defaults are
/// given, too, such as `compressor = "auto"`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnOptions {
    options: PackOptions,
    /// The names of options that are given even if they are the defaults.
    named: BTreeSet<String>,
}

impl OwnOptions {
    /// The options, with defaults for those that are not given.
    #[must_use]
    pub fn options(&self) -> &PackOptions {
        &self.options
    }

    /// The options that are given.
    fn given(&self) -> Result<Map<String, Value>> {
        let mut given = self.options.given()?;
        let all = fields(&self.options)?;
        given.extend(all.into_iter().filter(|(name, _)| self.named.contains(name)));
        Ok(given)
    }
}

impl From<PackOptions> for OwnOptions {
    fn from(options: PackOptions) -> Self {
        Self { options, named: BTreeSet::new() }
    }
}

impl<'de> Deserialize<'de> for OwnOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> result::Result<Self, D::Error> {
        let members = Map::deserialize(deserializer)?;
        let named = members.keys().cloned().collect();
        let options = serde_json::from_value(members.into()).map_err(D::Error::custom)?;
        Ok(Self { options, named })
    }
}

impl PackOptions {
    /// These options, with those of single arrays in their place. An array's own way to say how it is packed replaces the
    /// one for all, of whatever kind that is; and options that contradict its own do not hold for it.
    ///
    /// ```
    /// use recast_pack::{OwnOptions, PackOptions, Reader};
    /// let for_all: PackOptions = serde_json::from_str(r#"{"max-abs-error": 0.01, "readers": ["any"]}"#)?;
    /// let own: OwnOptions = serde_json::from_str(r#"{"error-over-range": 0.001}"#)?;
    /// let both = for_all.beside(&own)?;
    /// assert_eq!((both.max_abs_error, both.error_over_range), (None, Some(0.001)));
    /// assert_eq!(both.readers, [Reader::Any]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Options that JSON cannot express.
    pub fn beside(&self, own: &OwnOptions) -> result::Result<Self, Error> {
        Ok(self.merged(own)?)
    }

    fn merged(&self, own: &OwnOptions) -> Result<Self> {
        let displaced = self.displaced_by(own)?;
        let mut members = self.given()?;
        members.retain(|name, _| !displaced.contains(&name.replace('-', "_").as_str()));
        members.extend(own.given()?);
        Ok(serde_json::from_value(members.into())?)
    }

    /// The names of the options that do not hold beside those of single arrays.
    fn displaced_by(&self, own: &OwnOptions) -> Result<Vec<&'static str>> {
        let (given, own) = (self.given()?, own.options.given()?);
        let is_own = |option: &&str| own.contains_key(&option.replace('_', "-"));
        let mut displaced: Vec<&str> = Vec::new();
        if WAYS.iter().any(|way| way.iter().any(is_own)) {
            let others = WAYS.iter().filter(|way| !way.iter().any(is_own));
            displaced.extend(others.copied().flatten());
        }
        for (option, others) in Self::CONFLICTS {
            if is_own(option) {
                displaced.extend(*others);
            } else if others.iter().any(is_own) && *option != "from_cf" {
                // Without from_cf, and without a bound, integers would be packed as they are.
                displaced.push(option);
            }
        }
        if given.get("grid") == Some(&true.into()) && GRID_EXCLUDES.iter().any(is_own) {
            displaced.push("grid");
        }
        displaced.retain(|option| !is_own(option));
        Ok(displaced)
    }
}

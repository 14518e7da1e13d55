//! What decoded values must keep of the original ones.

use std::fmt;

use anyhow::bail;
use serde::{Deserialize, Serialize};
#[cfg(feature = "clap")]
use zarr_recast::JsonScalar;

#[cfg(feature = "clap")]
use super::arguments::{marker, number};
#[cfg(feature = "clap")]
use super::numbers::Numbers::{Fraction, NotNegative};
use super::{Limits, PackOptions};
use crate::error::Result;
use crate::text::measured;

/// Requirements as arguments of a command that judges arrays; the same as those of [`PackOptions`].
#[cfg(feature = "clap")]
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Required {
    /// The largest allowed |B − A| of any element.
    #[arg(long, short = 'e', value_name = "E", value_parser = number(NotNegative), allow_hyphen_values = true)]
    max_abs_error: Option<f64>,
    /// The same in units of the range of A.
    #[arg(long, value_name = "S", value_parser = number(Fraction), allow_hyphen_values = true)]
    error_over_range: Option<f64>,
    /// The largest allowed |B − A| / |A|.
    #[arg(long, value_name = "R", value_parser = number(Fraction), allow_hyphen_values = true)]
    max_rel_error: Option<f64>,
    /// The largest allowed mean of |B − A|.
    #[arg(long, value_name = "M", value_parser = number(NotNegative), allow_hyphen_values = true)]
    max_mean_error: Option<f64>,
    /// The same in units of the range of A.
    #[arg(long, value_name = "S", value_parser = number(Fraction), allow_hyphen_values = true)]
    mean_error_over_range: Option<f64>,
    /// The same in units of the mean of |A|; and 0 stays 0.
    #[arg(long, value_name = "R", value_parser = number(NotNegative), allow_hyphen_values = true)]
    max_mean_rel_error: Option<f64>,
    #[command(flatten)]
    limits: Option<Limits>,
    /// 0 stays 0, no positive value is negative in B, and no negative one positive.
    #[arg(long)]
    keep_sign: bool,
    /// Every bit is the same.
    #[arg(long)]
    lossless: bool,
    /// Values that mean "missing" in A and B, besides NaN and those that the attributes _FillValue and missing_value name.
    #[arg(long, value_name = "V", num_args = 1.., value_parser = marker, allow_negative_numbers = true)]
    pub missing: Vec<JsonScalar>,
}

#[cfg(feature = "clap")]
impl Required {
    /// All that are given.
    #[must_use]
    pub fn all(&self) -> Vec<Requirement> {
        Requirement::of(&PackOptions {
            max_abs_error: self.max_abs_error,
            error_over_range: self.error_over_range,
            max_rel_error: self.max_rel_error,
            max_mean_error: self.max_mean_error,
            mean_error_over_range: self.mean_error_over_range,
            max_mean_rel_error: self.max_mean_rel_error,
            limits: self.limits,
            keep_sign: self.keep_sign,
            lossless: self.lossless,
            ..PackOptions::default()
        })
    }
}

/// A property of the original values that decoded values must keep. x is an original value, y its decoded value; n values are
/// neither NaN nor infinite nor missing.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", content = "value", rename_all = "kebab-case")]
pub enum Requirement {
    /// |y − x| is at most this.
    MaxAbsError(f64),
    /// |y − x| is at most this times |x|; so 0 stays 0, and signs stay.
    MaxRelError(f64),
    /// |y − x| is at most this times the range.
    ErrorOverRange(f64),
    /// Σ|y − x| is at most n times this.
    MaxMeanError(f64),
    /// Σ|y − x| is at most this times Σ|x|, and 0 stays 0.
    MaxMeanRelError(f64),
    /// Σ|y − x| is at most n times this times the range.
    MeanErrorOverRange(f64),
    /// Where x lies within them, y does, too.
    Limits(Limits),
    /// 0 stays 0, and no positive value becomes negative, nor a negative one positive.
    KeepSign,
    /// Every bit.
    Lossless,
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, unit) = self.words();
        match (*self, self.bound()) {
            (_, Some(bound)) => write!(f, "{what} of at most {bound:?}{unit}"),
            (Self::Limits(limits), None) => write!(f, "within {limits} where the original is"),
            (Self::KeepSign, None) => write!(f, "{what} and zeros"),
            (_, None) => f.write_str(what),
        }
    }
}

impl Requirement {
    /// The requirements that the options state.
    #[must_use]
    pub fn of(options: &PackOptions) -> Vec<Self> {
        let mut all = Vec::new();
        all.extend(options.max_abs_error.map(Self::MaxAbsError));
        all.extend(options.error_over_range.map(Self::ErrorOverRange));
        all.extend(options.max_rel_error.map(Self::MaxRelError));
        all.extend(options.max_mean_error.map(Self::MaxMeanError));
        all.extend(options.mean_error_over_range.map(Self::MeanErrorOverRange));
        all.extend(options.max_mean_rel_error.map(Self::MaxMeanRelError));
        all.extend(options.limits.map(Self::Limits));
        all.extend(options.keep_sign.then_some(Self::KeepSign));
        all.extend(options.lossless.then_some(Self::Lossless));
        all
    }

    /// Options that ask for all of these.
    ///
    /// # Errors
    /// Several limits.
    pub(crate) fn options(all: &[Self]) -> Result<PackOptions> {
        let mut options = PackOptions::default();
        all.iter().try_for_each(|one| one.ask(&mut options))?;
        Ok(options)
    }

    /// The name of the measured error, and the words behind a number in the units of the requirement.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::MaxAbsError(_) => ("max error", ""),
            Self::MaxRelError(_) => ("max error", " of the value"),
            Self::ErrorOverRange(_) => ("max error", " of the range"),
            Self::MaxMeanError(_) => ("mean error", ""),
            Self::MaxMeanRelError(_) => ("mean error", " of the mean magnitude"),
            Self::MeanErrorOverRange(_) => ("mean error", " of the range"),
            Self::Limits(_) => ("limits", ""),
            Self::KeepSign => ("signs", ""),
            Self::Lossless => ("lossless", ""),
        }
    }

    /// The requirement as arguments of `recast pack`.
    #[must_use]
    pub fn arguments(self) -> Vec<String> {
        let flag = |name: &str, values: &[String]| {
            let name = std::iter::once(name.to_owned());
            name.chain(values.iter().cloned()).collect()
        };
        let bound = |name: &str, bound: f64| flag(name, &[format!("{bound:?}")]);
        match self {
            Self::MaxAbsError(error) => bound("-e", error),
            Self::MaxRelError(error) => bound("--max-rel-error", error),
            Self::ErrorOverRange(error) => bound("--error-over-range", error),
            Self::MaxMeanError(error) => bound("--max-mean-error", error),
            Self::MaxMeanRelError(error) => bound("--max-mean-rel-error", error),
            Self::MeanErrorOverRange(error) => bound("--mean-error-over-range", error),
            Self::Limits(Limits { least, greatest }) => {
                let end =
                    |end: Option<f64>| end.map_or("none".to_owned(), |end| format!("{end:?}"));
                flag("--limits", &[end(least), end(greatest)])
            }
            Self::KeepSign => flag("--keep-sign", &[]),
            Self::Lossless => flag("--lossless", &[]),
        }
    }

    /// Adds it to options; of two bounds of one kind, the smaller one.
    ///
    /// # Errors
    /// Limits beside others: values beyond one of them must keep the other, which no limits say.
    pub(crate) fn ask(self, options: &mut PackOptions) -> Result<()> {
        let least = |own: &mut Option<f64>, bound: f64| {
            *own = Some(own.map_or(bound, |own| own.min(bound)));
        };
        match self {
            Self::MaxAbsError(bound) => least(&mut options.max_abs_error, bound),
            Self::MaxRelError(bound) => least(&mut options.max_rel_error, bound),
            Self::ErrorOverRange(bound) => least(&mut options.error_over_range, bound),
            Self::MaxMeanError(bound) => least(&mut options.max_mean_error, bound),
            Self::MaxMeanRelError(bound) => least(&mut options.max_mean_rel_error, bound),
            Self::MeanErrorOverRange(bound) => least(&mut options.mean_error_over_range, bound),
            Self::Limits(limits) => match options.limits.replace(limits) {
                Some(other) if other != limits => {
                    bail!(
                        "the limits ({other}) and ({limits}) cannot be kept together: values beyond one pair must keep \
                         the other, which no one pair says; leave one of them out"
                    );
                }
                Some(_) | None => {}
            },
            Self::KeepSign => options.keep_sign = true,
            Self::Lossless => options.lossless = true,
        }
        Ok(())
    }

    /// Whether it is more than a bound of the error of every element.
    #[must_use]
    pub fn is_more(self) -> bool {
        match self {
            Self::MaxAbsError(_) | Self::MaxRelError(_) | Self::ErrorOverRange(_) => false,
            Self::MaxMeanError(_)
            | Self::MaxMeanRelError(_)
            | Self::MeanErrorOverRange(_)
            | Self::Limits(_)
            | Self::KeepSign
            | Self::Lossless => true,
        }
    }

    /// Whether these are more than one bound of the error of every element.
    #[must_use]
    pub fn are_more(all: &[Self]) -> bool {
        all.len() > 1 || all.iter().any(|one| one.is_more())
    }

    /// A mean error over the range as one in the units of the values.
    pub(crate) fn in_units(self, range: f64) -> Self {
        match self {
            // Rounded up, so that an error kept over the range is kept as a number.
            Self::MeanErrorOverRange(share) => Self::MaxMeanError((share * range).next_up()),
            other => other,
        }
    }

    /// The bound of an error.
    pub(crate) fn bound(self) -> Option<f64> {
        match self {
            Self::MaxAbsError(bound)
            | Self::MaxRelError(bound)
            | Self::ErrorOverRange(bound)
            | Self::MaxMeanError(bound)
            | Self::MaxMeanRelError(bound)
            | Self::MeanErrorOverRange(bound) => Some(bound),
            Self::Limits(_) | Self::KeepSign | Self::Lossless => None,
        }
    }
}

/// A requirement, and the measured error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reached {
    /// The requirement.
    #[serde(flatten)]
    pub requirement: Requirement,
    /// The error, in the units of the requirement; of limits, signs and lossless, the largest.
    pub reached: f64,
    /// Whether it is kept.
    pub is_kept: bool,
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, unit) = self.requirement.words();
        let reached = measured(self.reached);
        match self.requirement {
            Requirement::MaxAbsError(bound)
            | Requirement::MaxRelError(bound)
            | Requirement::ErrorOverRange(bound)
            | Requirement::MaxMeanError(bound)
            | Requirement::MaxMeanRelError(bound)
            | Requirement::MeanErrorOverRange(bound) => {
                write!(f, "{what} {reached}{unit}, of {bound:?}")?;
            }
            Requirement::Limits(_) => write!(f, "{}", self.requirement)?,
            Requirement::KeepSign => write!(f, "{what} and zeros")?,
            Requirement::Lossless => write!(f, "{what}")?,
        }
        if self.is_kept { Ok(()) } else { f.write_str(": not kept") }
    }
}

//! Options as arguments of a command.

use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches, Id};
use recast_kernels::{ElementType, OutOfRange, Rounding};
use zarr_recast::JsonScalar;

use super::numbers::Numbers;
use super::values::{Compressor, Limits, ValueRange, limit, scalar};

impl Compressor {
    /// The long help of `--compressor`, where it may be chosen by a sample.
    pub const LONG_HELP: &'static str = "How the chunks are compressed: none, zstd, gzip, or blosc (zstd with a byte shuffle), with \
         a level after a colon (5, or 6 of gzip, without it). auto takes the one of these that makes a sample of the chunks \
         smallest. smallest takes longer, and also tries differences of neighbours and shuffles: codecs of numcodecs, which \
         zarr-python and zarrs with zarrs-recast read.";
}

pub(super) fn number(
    numbers: Numbers,
) -> impl Fn(&str) -> Result<f64, &'static str> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|&number| numbers.contain(number));
        number.ok_or(numbers.needed())
    }
}

/// A number of a list. A path after the list would be read as another number.
pub(super) fn marker(text: &str) -> Result<JsonScalar, String> {
    scalar(text).map_err(|_| "a number is needed; INPUT and OUTPUT come before the list".to_owned())
}

/// Parses the name of a data type.
#[must_use]
pub fn data_types() -> impl TypedValueParser<Value = ElementType> {
    named(ElementType::ALL, ElementType::name, |_| None)
}

pub(super) fn decoded_types() -> impl TypedValueParser<Value = ElementType> {
    named(&[ElementType::Float32, ElementType::Float64], ElementType::name, |_| None)
}

pub(super) fn roundings() -> impl TypedValueParser<Value = Rounding> {
    named(Rounding::ALL, Rounding::name, |_| None)
}

pub(super) fn out_of_range_modes() -> impl TypedValueParser<Value = OutOfRange> {
    named(OutOfRange::ALL, OutOfRange::name, |mode| match mode {
        OutOfRange::Error => Some("Refuses them"),
        OutOfRange::Clamp => Some("The nearest value of the type"),
        OutOfRange::Wrap => Some("Modulo 2^N"),
        _ => None,
    })
}

/// Parses the name of one of these values, each with its help.
fn named<T: Copy + FromStr + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
    help: fn(T) -> Option<&'static str>,
) -> impl TypedValueParser<Value = T> {
    let names = all.iter().map(|&one| PossibleValue::new(name(one)).help(help(one)));
    PossibleValuesParser::new(names).try_map(|name| name.parse().map_err(|_| "an unknown name"))
}

/// `--limits MIN MAX`.
impl Args for Limits {
    fn group_id() -> Option<Id> {
        Some("limits".into())
    }

    fn augment_args(command: Command) -> Command {
        let limits = Arg::new("limits")
            .long("limits")
            .num_args(2)
            .value_names(["MIN", "MAX"])
            .value_parser(limit)
            .allow_hyphen_values(true)
            .help(
                "Decoded values lie from MIN to MAX where the original ones do; none for an open end: 0 none",
            );
        command.arg(limits)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Limits {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut ends = matches.get_many::<Option<f64>>("limits").into_iter().flatten();
        match (ends.next(), ends.next()) {
            (Some(&least), Some(&greatest)) => Ok(Self { least, greatest }),
            _ => Err(Error::new(ErrorKind::WrongNumberOfValues)),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// `--range MIN MAX`.
impl Args for ValueRange {
    fn group_id() -> Option<Id> {
        Some("range".into())
    }

    fn augment_args(command: Command) -> Command {
        let range = Arg::new("range")
            .long("range")
            .num_args(2)
            .value_names(["MIN", "MAX"])
            .value_parser(scalar)
            .allow_hyphen_values(true)
            .help(
                "Reserves room for data to be appended later: every value from MIN to MAX can be stored within the \
                 bound. By default, spare codes are split between both sides of the data",
            );
        command.arg(range)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ValueRange {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut ends = matches.get_many::<JsonScalar>("range").into_iter().flatten().cloned();
        match (ends.next(), ends.next()) {
            (Some(least), Some(greatest)) => Ok(Self { least, greatest }),
            _ => Err(Error::new(ErrorKind::WrongNumberOfValues)),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

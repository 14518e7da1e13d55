//! Options of packing: one struct for flags, `recast.toml` and Python.

// With the feature `clap`, the documentation of a field is the help of its flag.
#![allow(clippy::doc_markdown)]

#[cfg(feature = "clap")]
pub(crate) mod arguments;
#[cfg(feature = "clap")]
mod by_name;
mod names;
mod numbers;
mod own;
mod requirement;
mod values;

use recast_kernels::{ElementType, OutOfRange, Rounding};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use zarr_recast::JsonScalar;

use crate::error::{Error, Result, usage};
use crate::json;

#[cfg(feature = "clap")]
use arguments::{data_types, decoded_types, marker, number, out_of_range_modes, roundings};
use numbers::Numbers;
#[cfg(feature = "clap")]
use numbers::Numbers::{Fraction, NotNegative, Positive};
pub use own::OwnOptions;
#[cfg(feature = "clap")]
pub use requirement::Required;
pub use requirement::{Reached, Requirement};
pub(crate) use values::finite;
pub use values::{Compressor, Limits, NanTo, Reader, ShardCodecs, ValueRange, scalar};

/// How an array is packed. Say what to keep with `max_abs_error`, `error_over_range`, `max_rel_error`, `max_mean_error`,
/// `mean_error_over_range` and `max_mean_rel_error`, of which all that are given hold, or with `lossless`, `precision` or
/// `auto`; or give `scale` and `offset`; a `scale` of 1 with `data_type` casts the values as they are.
/// Integers need none of these: they are kept exactly, in the narrowest type.
///
/// An array's range is the difference of its largest and its smallest value, after values are clamped; if all are equal, it
/// is 0, and they are kept exactly. Missing values count in no range and no error.
///
/// In TOML and JSON, names have hyphens, like flags. With the feature `clap`, the options are arguments of a command.
///
/// ```
/// use recast_pack::PackOptions;
/// let options: PackOptions = serde_json::from_str(r#"{"max-abs-error": 0.01}"#)?;
/// assert_eq!(options, PackOptions { max_abs_error: Some(0.01), ..PackOptions::default() });
/// assert!(serde_json::from_str::<PackOptions>(r#"{"max-error": 0.01}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[allow(clippy::struct_excessive_bools)] // each is a flag
pub struct PackOptions {
    /// The largest allowed |decoded − original| of any element.
    #[serde(deserialize_with = "names::optional")]
    #[cfg_attr(feature = "clap", arg(long, short = 'e', value_name = "E"))]
    #[cfg_attr(feature = "clap", arg(value_parser = number(NotNegative), allow_hyphen_values = true))]
    pub max_abs_error: Option<f64>,
    /// The same in units of each array's range, its largest less its smallest value: 1e-4 is a ten-thousandth
    /// of it. Values that are all equal are kept exactly. For groups whose arrays have different units.
    #[serde(deserialize_with = "names::optional")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "S"))]
    #[cfg_attr(feature = "clap", arg(value_parser = number(Fraction), allow_hyphen_values = true))]
    pub error_over_range: Option<f64>,
    /// The largest allowed |decoded − original| / |original|; for floating-point types only.
    #[serde(deserialize_with = "names::optional")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "R"))]
    #[cfg_attr(feature = "clap", arg(value_parser = number(Fraction), allow_hyphen_values = true))]
    pub max_rel_error: Option<f64>,
    /// The largest allowed mean of |decoded − original|, over all values but NaN, infinities and missing ones.
    #[serde(deserialize_with = "names::optional")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "M"))]
    #[cfg_attr(feature = "clap", arg(value_parser = number(NotNegative), allow_hyphen_values = true))]
    pub max_mean_error: Option<f64>,
    /// The same in units of each array's range.
    #[serde(deserialize_with = "names::optional")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "S"))]
    #[cfg_attr(feature = "clap", arg(value_parser = number(Fraction), allow_hyphen_values = true))]
    pub mean_error_over_range: Option<f64>,
    /// The same in units of the mean of |original|; and 0 stays 0.
    #[serde(deserialize_with = "names::optional")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "R"))]
    #[cfg_attr(feature = "clap", arg(value_parser = number(NotNegative), allow_hyphen_values = true))]
    pub max_mean_rel_error: Option<f64>,
    /// Keeps every bit: of floating-point values −0.0 and the kinds of NaN, too. Where no codes keep them, values stay plain
    /// numbers.
    #[cfg_attr(feature = "clap", arg(long))]
    pub lossless: bool,
    /// Decoded values lie within these limits where the original ones do.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub limits: Option<Limits>,
    /// 0 stays 0, no positive value becomes negative, and no negative one positive. Without it that is so where it
    /// takes no larger type.
    #[cfg_attr(feature = "clap", arg(long))]
    pub keep_sign: bool,
    /// Rounds to multiples of this, for example 0.01; the scale is its inverse.
    #[serde(deserialize_with = "names::optional")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "Q"))]
    #[cfg_attr(feature = "clap", arg(value_parser = number(Positive), allow_hyphen_values = true))]
    pub precision: Option<f64>,
    /// Spreads the values over the whole range of --data-type.
    #[cfg_attr(feature = "clap", arg(long, requires = "data_type"))]
    pub auto: bool,
    /// Use a power-of-two scale, so that dividing by it is exact.
    #[cfg_attr(feature = "clap", arg(long))]
    pub pow2: bool,
    /// Whether only values on the grid of those at hand will ever be written, if they are multiples of a step. Then
    /// codes for such multiples suffice, and a value between them would be off by more than `max_abs_error`. By
    /// default, jobs rely on it, for they pack whole arrays, and [`crate::choose`] does not, for it chooses for values
    /// to come: its steps are fractions of the grid's that keep the bound for every value.
    #[cfg_attr(
        feature = "clap",
        arg(
            long = "no-grid",
            num_args = 0,
            default_missing_value = "false",
            conflicts_with = "from_cf",
            help = "For arrays that will grow: keeps the bound for values between those of INPUT too. By \
            default, values that are all multiples of a step get codes for such multiples only"
        )
    )]
    pub grid: Option<bool>,
    /// The type of the stored elements; by default the smallest that keeps the bound.
    #[cfg_attr(feature = "clap", arg(long, short = 't', value_name = "T", value_parser = data_types()))]
    pub data_type: Option<ElementType>,
    /// The stored value that stands for NaN: a number, min or max of the type, or auto.
    #[cfg_attr(feature = "clap", arg(long, value_name = "V|min|max|auto", default_value = "auto"))]
    #[cfg_attr(feature = "clap", arg(allow_hyphen_values = true))]
    pub nan_to: NanTo,
    /// Values that mean "missing", besides NaN and those that the attributes _FillValue and missing_value
    /// name. Each gets a stored code of its own and comes back bit for bit, as does a NaN that is named by its bits
    /// (0x7f800001), if the array has no other.
    #[serde(serialize_with = "json::written", deserialize_with = "names::list")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "V", num_args = 1..))]
    #[cfg_attr(feature = "clap", arg(value_parser = marker, allow_negative_numbers = true))]
    pub missing: Vec<JsonScalar>,
    /// Reserve no stored code for NaN in an array without NaN.
    #[cfg_attr(feature = "clap", arg(long))]
    pub no_nan: bool,
    /// Give infinities stored codes of their own.
    #[cfg_attr(feature = "clap", arg(long))]
    pub infinity: bool,
    /// Allow valid values to share a stored code with NaN, or with a missing value within the bound; they are counted.
    #[cfg_attr(feature = "clap", arg(long))]
    pub allow_collisions: bool,
    /// Allow a bound that leaves one value of an array that has several.
    #[cfg_attr(feature = "clap", arg(long))]
    pub allow_constant: bool,
    /// Clamps smaller values to MIN and counts them. NaN, infinities, missing values and the fill value stay.
    #[serde(serialize_with = "json::written", deserialize_with = "names::optional")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "MIN"))]
    #[cfg_attr(feature = "clap", arg(value_parser = scalar, allow_hyphen_values = true))]
    pub src_min: Option<JsonScalar>,
    /// Clamps larger values to MAX and counts them. NaN, infinities, missing values and the fill value stay.
    #[serde(serialize_with = "json::written", deserialize_with = "names::optional")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "MAX"))]
    #[cfg_attr(feature = "clap", arg(value_parser = scalar, allow_hyphen_values = true))]
    pub src_max: Option<JsonScalar>,
    /// Reserves room for data to be appended later: every value from MIN to MAX can be stored within the
    /// bound. By default, spare codes are split between both sides of the data.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub range: Option<ValueRange>,
    /// How values between two stored ones are rounded.
    #[cfg_attr(feature = "clap", arg(long, value_name = "R", default_value = "nearest-even"))]
    #[cfg_attr(feature = "clap", arg(value_parser = roundings()))]
    pub rounding: Rounding,
    /// What to do with values outside the range of the stored type.
    #[cfg_attr(feature = "clap", arg(long, value_name = "MODE", default_value = "error"))]
    #[cfg_attr(feature = "clap", arg(value_parser = out_of_range_modes()))]
    pub out_of_range: OutOfRange,
    /// Multiplies (value − offset) by this, the inverse of CF's scale_factor; by default one that keeps the bound.
    #[serde(serialize_with = "json::written", deserialize_with = "names::optional")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "S"))]
    #[cfg_attr(feature = "clap", arg(value_parser = scalar, allow_hyphen_values = true))]
    pub scale: Option<JsonScalar>,
    /// Subtracts this from every value, CF's add_offset; by default one that fits the scale.
    #[serde(serialize_with = "json::written", deserialize_with = "names::optional")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "O"))]
    #[cfg_attr(feature = "clap", arg(value_parser = scalar, allow_hyphen_values = true))]
    pub offset: Option<JsonScalar>,
    /// Also reads OUTPUT from disk again at the end, and compares every element.
    ///
    /// Without it every element is checked too, but in memory, before its chunk is compressed and written.
    #[cfg_attr(feature = "clap", arg(long))]
    pub verify: bool,
    /// How the chunks of OUTPUT are compressed.
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME[:LEVEL]", default_value = "auto"))]
    #[cfg_attr(feature = "clap", arg(long_help = Compressor::LONG_HELP))]
    pub compressor: Compressor,
    /// Programs that must be able to read the output; zarr-python and zarrs with the value codecs always are. any:
    /// every reader of Zarr v3, for values stay plain numbers, rounded within the bound so that they compress.
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "any|gdal|zarr-python|zarrs|zarrita", value_delimiter = ',')
    )]
    pub readers: Vec<Reader>,
    /// Where the codecs go in an array with shards. inside: readers decode only the parts they need. auto:
    /// inside, unless that keeps zarr-python from opening the array.
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "auto|inside|outside", default_value = "auto")
    )]
    pub shard_codecs: ShardCodecs,
    /// The input holds integers packed by the CF conventions: its attributes become codecs over the same
    /// stored bytes.
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            help = "INPUT holds integers packed by the CF conventions. Turns scale_factor, add_offset, _FillValue, \
            missing_value, valid_* and _Unsigned into codecs over the same stored bytes"
        )
    )]
    pub from_cf: bool,
    /// The type of the values with --from-cf, float32 or float64; by default the one that reproduces CF's
    /// values bit for bit.
    #[cfg_attr(feature = "clap", arg(long, value_name = "T", requires = "from_cf"))]
    #[cfg_attr(feature = "clap", arg(value_parser = decoded_types()))]
    pub decoded_type: Option<ElementType>,
}

/// An option that bounds the error.
#[derive(Clone, Copy)]
struct Bound {
    option: &'static str,
    numbers: Numbers,
    #[cfg(feature = "clap")]
    field: fn(&mut PackOptions) -> &mut Option<f64>,
}

/// The options that bound the error.
const BOUNDS: [Bound; 7] = [
    Bound {
        option: "max_abs_error",
        numbers: Numbers::NotNegative,
        #[cfg(feature = "clap")]
        field: |options| &mut options.max_abs_error,
    },
    Bound {
        option: "error_over_range",
        numbers: Numbers::Fraction,
        #[cfg(feature = "clap")]
        field: |options| &mut options.error_over_range,
    },
    Bound {
        option: "max_rel_error",
        numbers: Numbers::Fraction,
        #[cfg(feature = "clap")]
        field: |options| &mut options.max_rel_error,
    },
    Bound {
        option: "max_mean_error",
        numbers: Numbers::NotNegative,
        #[cfg(feature = "clap")]
        field: |options| &mut options.max_mean_error,
    },
    Bound {
        option: "mean_error_over_range",
        numbers: Numbers::Fraction,
        #[cfg(feature = "clap")]
        field: |options| &mut options.mean_error_over_range,
    },
    Bound {
        option: "max_mean_rel_error",
        numbers: Numbers::NotNegative,
        #[cfg(feature = "clap")]
        field: |options| &mut options.max_mean_rel_error,
    },
    Bound {
        option: "precision",
        numbers: Numbers::Positive,
        #[cfg(feature = "clap")]
        field: |options| &mut options.precision,
    },
];

/// Options without a bound, or with room for any value: with them, nothing depends on whether values are on a grid.
const GRID_EXCLUDES: &[&str] =
    &["max_rel_error", "precision", "auto", "scale", "offset", "range", "from_cf"];

/// |B − A| may be `atol` + `rtol` · |A| at most; NaN must be NaN, and infinities the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct AllClose {
    /// The absolute tolerance.
    #[cfg_attr(feature = "clap", arg(long, value_name = "T", default_value = "0"))]
    #[cfg_attr(feature = "clap", arg(value_parser = number(NotNegative), allow_hyphen_values = true))]
    pub atol: f64,
    /// The relative tolerance, times |A|.
    #[cfg_attr(feature = "clap", arg(long, value_name = "T", default_value = "0"))]
    #[cfg_attr(feature = "clap", arg(value_parser = number(NotNegative), allow_hyphen_values = true))]
    pub rtol: f64,
}

impl PackOptions {
    /// Options, each with those that it excludes, because they contradict each other or one would be ignored.
    pub const CONFLICTS: &'static [(&'static str, &'static [&'static str])] = &[
        ("max_abs_error", &["precision", "auto"]),
        ("error_over_range", &["precision", "auto", "scale", "offset"]),
        ("max_rel_error", &["precision", "auto"]),
        ("max_mean_error", &["precision", "auto", "scale", "offset"]),
        ("mean_error_over_range", &["precision", "auto", "scale", "offset"]),
        ("max_mean_rel_error", &["precision", "auto", "scale", "offset"]),
        ("lossless", &["precision", "auto", "scale", "offset", "src_min", "src_max"]),
        ("precision", &["auto", "scale", "offset"]),
        ("auto", &["scale", "offset"]),
        ("pow2", &["scale", "offset", "max_rel_error"]),
        ("no_nan", &["nan_to"]),
        ("range", &["src_min", "src_max"]),
        (
            "from_cf",
            &[
                "max_abs_error",
                "error_over_range",
                "max_rel_error",
                "max_mean_error",
                "mean_error_over_range",
                "max_mean_rel_error",
                "lossless",
                "limits",
                "keep_sign",
                "precision",
                "auto",
                "pow2",
                "data_type",
                "nan_to",
                "missing",
                "no_nan",
                "infinity",
                "allow_collisions",
                "allow_constant",
                "src_min",
                "src_max",
                "range",
                "rounding",
                "out_of_range",
                "scale",
                "offset",
                "verify",
                "compressor",
                "readers",
            ],
        ),
    ];

    /// Refuses options that are invalid for every array.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Options`], naming the option and a way out.
    pub fn check(&self) -> std::result::Result<(), Error> {
        Ok(self.checked()?)
    }

    pub(crate) fn checked(&self) -> Result<()> {
        self.checked_beside_others()?;
        self.check_needs()
    }

    /// As [`Self::checked`], for options beside which others hold.
    pub(crate) fn checked_beside_others(&self) -> Result<()> {
        self.check_numbers()?;
        self.check_conflicts()?;
        self.check_types()?;
        self.check_readers()
    }

    /// As [`Self::checked`], for a rounder, which does not know the range of an array.
    pub(crate) fn checked_for_rounding(&self) -> Result<()> {
        self.checked()?;
        self.check_plain()?;
        if let Some(share) = self.error_over_range {
            return usage(format!(
                "--error-over-range {share:?} is a part of the range, which is not known before all \
                 values are read; use --max-abs-error"
            ));
        }
        if self.limits.is_some() || self.lossless {
            return usage(
                "--limits and --lossless are for packing, which compares every element; a rounder does not",
            );
        }
        if let Some(flag) = self.flag_of_mean() {
            return usage(format!(
                "{flag} bounds a mean, which is not known before all values are read; use --max-abs-error, which no mean \
                 exceeds"
            ));
        }
        Ok(())
    }

    /// Whether values stay plain numbers of their type.
    pub(crate) fn is_plain(&self) -> bool {
        self.readers.contains(&Reader::Any)
    }

    fn check_numbers(&self) -> Result<()> {
        let bounds = [
            self.max_abs_error,
            self.error_over_range,
            self.max_rel_error,
            self.max_mean_error,
            self.mean_error_over_range,
            self.max_mean_rel_error,
            self.precision,
        ];
        for (Bound { option, numbers, .. }, number) in BOUNDS.iter().zip(bounds) {
            if let Some(number) = number.filter(|&number| !numbers.contain(number)) {
                let flag = self.flag(option);
                return usage(format!("{flag} is {number:?}, and {}", numbers.needed()));
            }
        }
        for (flag, end) in [("--src-min", &self.src_min), ("--src-max", &self.src_max)] {
            if let Some(end) = end.as_ref().filter(|end| finite(end).is_none()) {
                return usage(format!("{flag} is {end}, and a finite number is needed"));
            }
        }
        if let Some(Err(wrong)) = self.range.as_ref().map(ValueRange::check) {
            return usage(format!("--range: {wrong}"));
        }
        if let Some(Err(wrong)) = self.limits.map(Limits::check) {
            return usage(format!("--limits: {wrong}"));
        }
        Ok(())
    }

    fn check_conflicts(&self) -> Result<()> {
        let given = self.given()?;
        let is_given = |option: &str| given.contains_key(&option.replace('_', "-"));
        let of_grid = [("grid", GRID_EXCLUDES)];
        let of_grid = of_grid.iter().filter(|_| self.grid == Some(true));
        for (option, others) in Self::CONFLICTS.iter().chain(of_grid) {
            if let Some(other) = others.iter().find(|other| is_given(option) && is_given(other)) {
                let (one, other) = (self.flag(option), self.flag(other));
                return usage(format!("{one} cannot be used with {other}; leave one of them out"));
            }
        }
        Ok(())
    }

    /// Refuses options without others that they need.
    fn check_needs(&self) -> Result<()> {
        if self.auto && self.data_type.is_none() {
            return usage("--auto needs --data-type, whose whole range it uses");
        }
        if self.decoded_type.is_some() && !self.from_cf {
            return usage("--decoded-type is for --from-cf");
        }
        Ok(())
    }

    /// Refuses options without a requirement.
    pub(crate) fn check_goal(&self) -> Result<()> {
        if self.says_how() {
            return Ok(());
        }
        let given = self.given()?;
        let alone = given.keys().next();
        let alone = alone.map(|option| format!("{} alone does not say", self.flag(option)));
        let alone = alone.unwrap_or_else(|| "nothing says".to_owned());
        usage(format!(
            "{alone} what to keep; give --max-abs-error, --error-over-range, --max-rel-error, \
             --max-mean-error, --mean-error-over-range, --max-mean-rel-error, --lossless, --precision or --auto, or --scale and --offset (--scale 1 casts values as they are)"
        ))
    }

    /// The options that differ from the default, in the order of [`PackOptions`], as in TOML and JSON.
    pub(crate) fn given(&self) -> Result<Map<String, Value>> {
        let (defaults, mut given) = (fields(&Self::default())?, fields(self)?);
        given.retain(|name, value| defaults.get(name) != Some(value));
        Ok(given)
    }

    fn check_types(&self) -> Result<()> {
        let target = self.data_type;
        if let (Some(bound), Some(target)) =
            (self.max_rel_error, target.filter(|target| target.is_integer()))
        {
            return usage(format!(
                "--max-rel-error {bound:?} is impossible with {target}: integers are equally far \
                 apart, so the smallest values have the largest relative error; use \
                 --max-abs-error, or a floating-point --data-type"
            ));
        }
        if let (Some(step), Some(target)) =
            (self.precision, target.filter(|target| target.is_float()))
        {
            return usage(format!(
                "--precision {step:?} takes an integer type, because the values of {target} are \
                 not equally far apart; leave --data-type out or name an integer type"
            ));
        }
        if let Some((step, near)) = self.step_beside_power_of_two().filter(|_| self.pow2) {
            return usage(format!(
                "--precision {step:?} is not a power of two, which --pow2 needs; {near:?} is"
            ));
        }
        let is_float = |decoded| matches!(decoded, ElementType::Float32 | ElementType::Float64);
        if let Some(decoded) = self.decoded_type.filter(|&decoded| !is_float(decoded)) {
            return usage(format!("--decoded-type is {decoded}; it must be float32 or float64"));
        }
        Ok(())
    }

    fn check_readers(&self) -> Result<()> {
        if self.is_plain() {
            return self.check_plain();
        }
        if let Some(target) = self.data_type.filter(|_| self.readers.contains(&Reader::Gdal))
            && !Reader::gdal_casts(target)
        {
            return usage(format!(
                "--readers gdal cannot be used with --data-type {target}: GDAL ({}) has cast_value for \
                 integers of 8 to 64 bits, float32 and float64 only; use one of these, or leave \
                 --readers out",
                Reader::GDAL
            ));
        }
        Ok(())
    }

    /// Refuses options that ask for stored codes, or that would be ignored because there are none.
    fn check_plain(&self) -> Result<()> {
        const OF_CODES: [&str; 12] = [
            "data-type",
            "auto",
            "pow2",
            "nan-to",
            "no-nan",
            "infinity",
            "allow-collisions",
            "rounding",
            "out-of-range",
            "scale",
            "offset",
            "shard-codecs",
        ];
        let given = self.given()?;
        if let Some(option) = given.keys().find(|one| OF_CODES.contains(&one.as_str())) {
            return usage(format!(
                "--{option} is for stored codes, but --readers any stores plain numbers, rounded to nearest-even; \
                 leave one of them out"
            ));
        }
        if let Some((step, near)) = self.step_beside_power_of_two() {
            return usage(format!(
                "--precision {step:?} is not a power of two, but plain numbers are exact multiples of \
                 such steps only; with --readers any use --precision {near:?}, or --max-abs-error {:?}",
                step / 2.0
            ));
        }
        Ok(())
    }

    /// A step that is no power of two, and the next one below it.
    fn step_beside_power_of_two(&self) -> Option<(f64, f64)> {
        let step = self.precision.filter(|&step| !is_power_of_two(step))?;
        Some((step, 2_f64.powi(step.log2().floor() as i32)))
    }

    /// The options for an array of a type: integers are kept exactly unless the options say otherwise.
    ///
    /// # Errors
    /// Options without a requirement on floating-point numbers.
    pub(crate) fn for_type(&self, element_type: ElementType) -> Result<Self> {
        if !element_type.is_integer() {
            return self.check_goal().map(|()| self.clone());
        }
        let is_exact = self.is_explicit() && self.scale.is_none() && self.offset.is_none();
        let max_abs_error = if is_exact { Some(0.0) } else { self.max_abs_error };
        // Codes of a float have no steps that a report could name, so the bound is for all integers of the range.
        let is_float = self.data_type.is_some_and(ElementType::is_float);
        let grid = if is_float { Some(false) } else { self.grid };
        Ok(Self { max_abs_error, grid, ..self.clone() })
    }

    /// The largest error of any value that they allow, of values with this range.
    pub(crate) fn absolute_bound(&self, range: f64) -> Option<f64> {
        let of_range = self.error_over_range.map(|share| share * range);
        let bounds = [self.max_abs_error, of_range, self.lossless.then_some(0.0)];
        bounds.into_iter().flatten().reduce(f64::min)
    }

    /// The largest mean error that they allow, of values with this range and this mean magnitude.
    pub(crate) fn mean_bound(&self, range: f64, magnitude: f64) -> Option<f64> {
        let of_range = self.mean_error_over_range.map(|share| share * range);
        let of_magnitude = self.max_mean_rel_error.map(|share| share * magnitude);
        [self.max_mean_error, of_range, of_magnitude].into_iter().flatten().reduce(f64::min)
    }

    /// The flag of an option. There is none for `grid: true`, which TOML, JSON and Python have.
    fn flag(&self, option: &str) -> String {
        match option {
            "grid" if self.grid == Some(false) => "--no-grid".to_owned(),
            "grid" => "grid = true".to_owned(),
            other => format!("--{}", other.replace('_', "-")),
        }
    }

    /// The flag that bounds the absolute error.
    pub(crate) fn flag_of_bound(&self) -> &'static str {
        match self.flag_of_mean() {
            Some(flag) => flag,
            None if self.lossless => "--lossless",
            None if self.error_over_range.is_some() => "--error-over-range",
            None => "--max-abs-error",
        }
    }

    /// The flag that bounds the relative error, alone or beside an absolute one.
    pub(crate) fn flag_of_relative_bound(&self) -> &'static str {
        self.flag_of_mean().unwrap_or("--max-rel-error")
    }

    /// The flag that bounds a mean, if one does.
    pub(crate) fn flag_of_mean(&self) -> Option<&'static str> {
        let flags = [
            ("--max-mean-error", self.max_mean_error),
            ("--mean-error-over-range", self.mean_error_over_range),
            ("--max-mean-rel-error", self.max_mean_rel_error),
        ];
        flags.into_iter().find_map(|(flag, bound)| bound.map(|_| flag))
    }

    /// Whether any option says how to pack an array.
    #[must_use]
    pub fn says_how(&self) -> bool {
        self.has_goal() || self.scale.is_some() || self.offset.is_some() || self.from_cf
    }

    /// Whether scale and offset are given instead of chosen.
    pub(crate) fn is_explicit(&self) -> bool {
        self.scale.is_some() || self.offset.is_some() || !self.has_goal()
    }

    /// Whether values to come are promised the bound, wherever they are.
    pub(crate) fn is_for_more(&self) -> bool {
        self.grid == Some(false) && !self.is_explicit()
    }

    fn has_goal(&self) -> bool {
        self.max_abs_error.is_some()
            || self.error_over_range.is_some()
            || self.max_rel_error.is_some()
            || self.has_mean_goal()
            || self.lossless
            || self.precision.is_some()
            || self.auto
    }

    /// Whether a mean is bounded.
    pub(crate) fn has_mean_goal(&self) -> bool {
        self.max_mean_error.is_some()
            || self.mean_error_over_range.is_some()
            || self.max_mean_rel_error.is_some()
    }

    /// The distance of two neighbouring stored values, in units of the largest rounding error.
    pub(crate) fn errors_in_a_step(&self) -> f64 {
        if matches!(self.rounding, Rounding::NearestEven | Rounding::NearestAway) {
            2.0
        } else {
            1.0
        }
    }
}

/// The names of all options, as in TOML and JSON.
pub(crate) fn option_names() -> Result<Vec<String>> {
    Ok(fields(&PackOptions::default())?.into_iter().map(|(name, _)| name).collect())
}

/// All options, as in TOML and JSON.
fn fields(options: &PackOptions) -> Result<Map<String, Value>> {
    Ok(serde_json::from_value(serde_json::to_value(options)?)?)
}

/// Whether a number is a power of two.
pub(crate) fn is_power_of_two(number: f64) -> bool {
    number == 2_f64.powi(number.log2().round() as i32)
}

//! The arguments of each command.

// The documentation of arguments is the help text, and each flag is a bool.
#![allow(clippy::doc_markdown, clippy::struct_excessive_bools)]

use std::path::PathBuf;

use anyhow::Result;
use clap::{ArgMatches, Args, CommandFactory, Parser, Subcommand, ValueEnum};
use recast_kernels::ElementType;
use recast_pack::{
    AllClose, ArrayRule, Compressor, GroupJob, MigrateJob, PackJob, PackOptions, Reader,
    Recommendations, Required, Runtime, data_types, scalar,
};
use zarr_recast::JsonScalar;

/// Packs Zarr arrays into small integers within an error bound, and checks, explains and unpacks them.
///
/// Exit status: 0 done, 1 failed or over the bound, 2 wrong usage, 130 ended by Ctrl-C.
#[derive(Debug, Parser)]
#[command(name = "recast", version, propagate_version = true)]
#[command(after_help = "NO_COLOR turns colours off. Progress is shown on terminals only.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The command with all its rules. The library knows which options of `pack` exclude each other.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command().mut_subcommand("pack", |pack| {
        let pack = PackOptions::with_names(pack);
        PackOptions::CONFLICTS.iter().fold(pack, |pack, (option, others)| {
            // A bound for single arrays contradicts no other for all.
            let has_name = |option: &&&str| PackOptions::takes_names(option);
            let others = others
                .iter()
                .filter(|other| *option == "from_cf" || !has_name(&option) && !has_name(other));
            pack.mut_arg(option, |flag| flag.conflicts_with_all(others.copied()))
        })
    });
    // Chunks that are not encoded again keep their compressor.
    command.mut_subcommand("migrate", |migrate| {
        migrate.mut_arg("compressor", |flag| flag.requires("reencode"))
    })
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Pack(Box<Pack>),
    Suggest(Box<Suggest>),
    Unpack(Unpack),
    Migrate(Migrate),
    Verify(Verify),
    Compare(Compare),
    Info(Info),
    Cat(Cat),
    Raw(Raw),
    Completions(Completions),
    Man(Man),
}

/// Prints completions for a shell.
#[derive(Args, Debug)]
#[command(
    after_help = "Example: recast completions bash > ~/.local/share/bash-completion/completions/recast"
)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Prints the manual page of recast, or of one of its commands.
#[derive(Args, Debug)]
#[command(after_help = "Example: recast man pack | man -l -")]
pub(crate) struct Man {
    /// The command.
    pub(crate) command: Option<String>,
}

/// Packs an array, or the arrays of a group, within an error bound, and checks every element.
///
/// Reads INPUT once for its range, chooses offset, scale and the smallest integer type, and writes OUTPUT
/// with the codecs scale_offset and cast_value. Every element is decoded and checked before OUTPUT appears.
///
/// Say how exact the result must be with one or more of --max-abs-error, --error-over-range, --max-rel-error,
/// --max-mean-error, --mean-error-over-range and --max-mean-rel-error (all that are given hold), or with --lossless,
/// --precision or --auto. Or give --scale and --offset; --scale 1 with --data-type only casts the values. Integers need
/// no bound: they are kept exactly, in the narrowest type. In a group, integer arrays are copied unless --include or a
/// table of --config names them.
///
/// In a group, bounds may be given several times, also for single arrays: -e t2m=0.01 -e 'precip*=1e-5'. Names are
/// paths or patterns, as for --include. The first name that matches an array counts; its bound replaces a table's bound
/// and the bound for all arrays. An array named by its path is always packed; a pattern changes only the bound of arrays
/// that are packed anyway.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: recast pack sst.zarr sst_packed.zarr --max-abs-error 0.005\n\
                        Of a group: recast pack era5.zarr packed.zarr -e t2m=0.01 -e 'precip*=1e-5' --exclude wind")]
pub(crate) struct Pack {
    /// The array or group to read: Zarr v1, v2 or v3, with any codecs.
    pub(crate) input: PathBuf,
    /// The Zarr v3 array or group to write.
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) options: PackOptions,
    /// Bounds with names; see [`Pack::separate`].
    #[arg(skip)]
    pub(crate) bounds: Vec<ArrayRule>,
    /// Fits the codecs to INPUT and these arrays together. If each array is packed with this list, all get the
    /// same codecs. In a group: the arrays that match (as with --include).
    #[arg(long, value_name = "ARRAY", num_args = 1.., conflicts_with_all = ["scale", "offset", "from_cf"])]
    pub(crate) scale_from: Vec<PathBuf>,
    /// Keeps the recommendations of a file, such as recommendations.yaml of the Python package
    /// compression-recommendations, for each array by its names and levels. Goals for all arrays hold, too. Arrays without
    /// a recommendation are copied, unless a bound is given, and the report names them. Tables of --config and bounds with
    /// names replace the recommendation.
    #[arg(long, value_name = "FILE.yaml", conflicts_with = "from_cf")]
    pub(crate) recommendations: Option<PathBuf>,
    /// Writes nothing. Prints the codecs as JSON, and size and error estimated from a sample of the chunks;
    /// with --from-cf, how all elements would decode.
    #[arg(long, conflicts_with_all = ["verify", "report"])]
    pub(crate) dry_run: bool,
    /// Writes an HTML page with the report, the data before and after as maps, and plots of values, stored
    /// values and errors.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Leaves out the attribute `recast`, which records the type of INPUT and the bound.
    #[arg(long)]
    pub(crate) no_provenance: bool,
    #[command(flatten)]
    pub(crate) show: Show,
    #[command(flatten)]
    pub(crate) group: Group,
    #[command(flatten)]
    pub(crate) common: Common,
}

impl Pack {
    /// Separates bounds for single arrays from those for all.
    pub(crate) fn separate(self, matches: &ArgMatches) -> Result<Self, String> {
        let (options, named) = self.options.by_name(matches)?;
        let rule = |(name, own)| ArrayRule { name, is_path: false, options: Some(own) };
        Ok(Self { options, bounds: named.into_iter().map(rule).collect(), ..self })
    }

    /// The job that packs the array or group, with the rules of `--config`.
    pub(crate) fn job(
        &self,
        rules: Vec<ArrayRule>,
        recommendations: Option<Recommendations>,
    ) -> GroupJob {
        let pack = PackJob {
            scale_from: self.scale_from.clone(),
            overwrite: self.common.overwrite,
            provenance: !self.no_provenance,
            charts: self.report.is_some(),
            ..PackJob::new(&self.input, &self.output, self.options.clone())
        };
        GroupJob {
            recommendations,
            include: self.group.include.clone(),
            exclude: self.group.exclude.clone(),
            all: self.group.all,
            repack: self.group.repack,
            keep_going: self.group.keep_going,
            rules,
            bounds: self.bounds.clone(),
            ..GroupJob::from(pack)
        }
    }
}

impl Info {
    /// Shows all rows: only attributes are left out of the short form.
    pub(crate) fn show(&self) -> Show {
        Show { json: self.json, verbose: true, quiet: false }
    }
}

impl Migrate {
    /// The job that migrates the array or group.
    pub(crate) fn job(&self) -> MigrateJob {
        MigrateJob {
            copy: self.copy,
            reencode: self.reencode,
            overwrite: self.common.overwrite,
            compressor: self.compression.compressor,
            ..MigrateJob::new(&self.input, self.output.clone())
        }
    }
}

/// Which arrays of a group are packed.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Groups")]
pub(crate) struct Group {
    /// Packs only arrays that match, and arrays that a table or a bound names by their paths. GLOB is a path in the group,
    /// such as deep/t2m, or a pattern for paths: *, ? and [ab] stand for characters, ** for folders. May be given several
    /// times.
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,
    /// Copies arrays that match. May be given several times.
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// Packs coordinates too: arrays named like their dimension, arrays that CF attributes such as coordinates, bounds or
    /// formula_terms name, and arrays that are times, latitudes or longitudes by their units, axis or standard_name.
    #[arg(long, conflicts_with = "from_cf")]
    pub(crate) all: bool,
    /// Packs packed arrays, too: their decoded values, so that the new error adds to the old one.
    #[arg(long, conflicts_with = "from_cf")]
    pub(crate) repack: bool,
    /// Copies an array that cannot be packed, and goes on with the others. The run ends with exit status 1 and a list of
    /// the arrays that failed.
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Settings for single arrays: [[array]] tables with a name (as for --include; the first that matches counts)
    /// and flags of this command without their dashes (grid = false for --no-grid), or skip = true. Flags beside --config
    /// apply to all arrays, unless their table says otherwise.
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) config: Option<PathBuf>,
}

/// Helps to choose the error bound: lists bounds from coarse to fine, with the size and the loss of each.
///
/// Reads a sample of INPUT (all of it up to 16 MiB, else some 8 MiB), and writes no array. Shows properties of the values
/// (such as that all are multiples of 0.01), and lists bounds, each with its estimated size and error, and with the share
/// of information that it keeps: how much the bits of neighbours tell about each other. That share is evidence, not the
/// answer: it does not know what the data are for. The last lines are commands to copy. In a group, each array that recast
/// pack would pack gets a line; --write puts a table for each into a file for --config.
#[derive(Args, Debug)]
#[command(after_help = "Example: recast suggest sst.zarr\n\
                        Of a group: recast suggest era5.zarr --write recast.toml")]
pub(crate) struct Suggest {
    /// The array or group to read: Zarr v1, v2 or v3, with any codecs.
    pub(crate) input: PathBuf,
    /// Writes a recast.toml for the arrays of a group, which recast pack --config takes.
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) write: Option<PathBuf>,
    /// Marks the bound that a file recommends for each array by its names and levels, and writes it with --write; see
    /// recast pack.
    #[arg(long, value_name = "FILE.yaml")]
    pub(crate) recommendations: Option<PathBuf>,
    /// Writes an HTML page with the ladder, the size over the bound as a curve, and the information of each bit.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Replaces files at --write and --report.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// How the chunks would be compressed.
    #[arg(long, value_name = "NAME[:LEVEL]", default_value = "auto", long_help = Compressor::LONG_HELP)]
    pub(crate) compressor: Compressor,
    /// Programs that must be able to read the output, as for recast pack.
    #[arg(long, value_name = "any|gdal|zarr-python|zarrs|zarrita", value_delimiter = ',')]
    pub(crate) readers: Vec<Reader>,
    /// Values that mean "missing", besides NaN and those that the attributes _FillValue and missing_value name.
    #[arg(long, value_name = "V", num_args = 1.., value_parser = scalar, allow_negative_numbers = true)]
    pub(crate) missing: Vec<JsonScalar>,
    /// Keeps infinities as they are.
    #[arg(long)]
    pub(crate) infinity: bool,
    #[command(flatten)]
    pub(crate) show: Show,
    #[command(flatten)]
    pub(crate) resources: Resources,
}

impl Suggest {
    /// How the arrays would be packed, without a bound.
    pub(crate) fn options(&self) -> PackOptions {
        PackOptions {
            compressor: self.compressor,
            readers: self.readers.clone(),
            missing: self.missing.clone(),
            infinity: self.infinity,
            ..PackOptions::default()
        }
    }
}

/// Turns a packed array or group back into plain values, or into integers with CF's attributes.
///
/// In a group, arrays without value codecs are copied as they are.
#[derive(Args, Debug)]
#[command(after_help = "Example: recast unpack sst_packed.zarr sst_plain.zarr\n\
                        Of a group, with CF's attributes: recast unpack --to-cf packed.zarr cf.zarr")]
pub(crate) struct Unpack {
    /// The array or group to read: Zarr v1, v2 or v3, with any codecs.
    pub(crate) input: PathBuf,
    /// The Zarr v3 array or group to write.
    pub(crate) output: PathBuf,
    /// Writes the stored integers with the attributes scale_factor, add_offset and _FillValue.
    #[arg(long, conflicts_with = "compressor")]
    pub(crate) to_cf: bool,
    #[command(flatten)]
    pub(crate) show: Show,
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(flatten)]
    pub(crate) compression: Compression,
}

/// Checks that every element of B is within a tolerance of the same element of A.
///
/// |B − A| must not exceed --atol + --rtol · |A|, or B must keep all bounds, limits and signs that are given, as for recast
/// pack. Without any of them, B must keep the bounds that its attribute `recast` records; without that attribute, B must
/// equal A. NaN must be NaN, infinities and missing values of A must be the same in B, and no other value of B may equal a
/// missing value. Exit status 1 if an element is over; the error names the first and the worst. If A and B are groups,
/// arrays are matched by path, and an array that only one group has fails.
#[derive(Args, Debug)]
#[command(after_help = "Example: recast verify sst.zarr sst_packed.zarr --atol 0.005\n\
                        Of a group, by the bounds that it records: recast verify era5.zarr packed.zarr")]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) tolerance: Option<AllClose>,
    #[command(flatten)]
    pub(crate) arrays: Compare,
}

/// Shows how far two arrays of one shape, or two groups, differ, whatever their types, chunks and codecs.
///
/// With bounds, limits or signs, as for recast pack, it shows the value reached for each, and the number of elements that
/// break it. recast verify judges, by its exit status, too.
#[derive(Args, Debug)]
#[command(
    after_help = "Example: recast compare sst.zarr sst_packed.zarr --report differences.html\n\
                        Of a group: recast compare era5.zarr packed.zarr --metrics"
)]
pub(crate) struct Compare {
    /// The array or group to compare with: the original.
    pub(crate) a: PathBuf,
    /// The array or group that is compared.
    pub(crate) b: PathBuf,
    /// Also measures how well B keeps the pattern of A: Pearson's correlation, the largest error of the gradient along
    /// each dimension, and DSSIM, the similarity of two-dimensional fields. Reads the arrays again.
    #[arg(long)]
    pub(crate) metrics: bool,
    #[command(flatten)]
    pub(crate) required: Required,
    /// Checks the recommendations of a file for each array of A, as recast pack keeps them. Arrays without a
    /// recommendation, which the report names, are checked as without this flag.
    #[arg(long, value_name = "FILE.yaml")]
    pub(crate) recommendations: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) show: Show,
    /// Writes an HTML page with the table, both arrays as maps, and plots of values and errors.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Replaces a file at --report.
    #[arg(long, requires = "report")]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) resources: Resources,
}

impl Compare {
    /// Whether anything is required.
    pub(crate) fn requires(&self) -> bool {
        !self.required.all().is_empty() || self.recommendations.is_some()
    }
}

/// Turns arrays of Zarr v1 and v2, and codecs of numcodecs, into Zarr v3 with scale_offset and cast_value.
///
/// The numcodecs codecs are fixedscaleoffset and astype. Writes new metadata over the same chunks if they decode to the
/// same values, and otherwise says why not. Every bit of every element is compared before and after. A group is migrated
/// with everything in it.
#[derive(Args, Debug)]
#[command(after_help = "Example: recast migrate old.zarr new.zarr\n\
                        Of a group, in its place: recast migrate --in-place old_group.zarr")]
pub(crate) struct Migrate {
    /// The array or group: Zarr v1, v2 or v3.
    pub(crate) input: PathBuf,
    /// The Zarr v3 array or group to write.
    #[arg(required_unless_present = "in_place")]
    pub(crate) output: Option<PathBuf>,
    /// Replaces the metadata of INPUT, and keeps the old files beside the new ones as NAME.bak.
    #[arg(long, conflicts_with_all = ["output", "copy", "overwrite", "compressor"])]
    pub(crate) in_place: bool,
    /// Copies chunks. By default both arrays share the files, as hard links, if the filesystem can.
    #[arg(long)]
    pub(crate) copy: bool,
    /// Decodes everything and encodes it again, with --compressor.
    #[arg(long, conflicts_with_all = ["in_place", "copy"])]
    pub(crate) reencode: bool,
    #[command(flatten)]
    pub(crate) show: Show,
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(flatten)]
    pub(crate) compression: Compression,
}

/// How a report is shown.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Show {
    /// Prints the whole report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Prints the whole report instead of its most important lines.
    #[arg(long, short, conflicts_with_all = ["json", "quiet"])]
    pub(crate) verbose: bool,
    /// Shows no progress and, without --json, no report.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// The resources and places that a job may use.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Resources {
    /// Threads to work with; by default one for each processor.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// The most memory that chunks may take, such as 500MB or 2GiB; with little memory, fewer threads run. By default there
    /// is no limit.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_memory: Option<u64>,
    /// Reads arrays even if their fill value does not survive the codecs; zarr-python writes such arrays.
    #[arg(long)]
    pub(crate) accept_fill_value: bool,
}

/// The arguments of every command that writes an array.
#[derive(Args, Clone, Debug)]
pub(crate) struct Common {
    /// Replaces an array or a group at OUTPUT by another, once the new one is complete.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Waits until the disk has OUTPUT before OUTPUT replaces anything, so that a power cut leaves the new OUTPUT or the
    /// old one.
    #[arg(long)]
    pub(crate) sync: bool,
    /// Refuses INPUT if a link in INPUT leads out of it. Without this flag, such links are followed, and the report names
    /// them.
    #[arg(long)]
    pub(crate) no_outside_links: bool,
    /// Lets OUTPUT be added to a group that contains INPUT. Without this flag that is refused, because readers of the group
    /// may lack the codecs.
    #[arg(long)]
    pub(crate) into_group: bool,
    #[command(flatten)]
    pub(crate) resources: Resources,
}

impl Common {
    /// How the job runs.
    pub(crate) fn runtime(&self, show: Show) -> Result<Runtime> {
        let Self { sync, no_outside_links, into_group, .. } = *self;
        Ok(Runtime { sync, no_outside_links, into_group, ..self.resources.runtime(show)? })
    }
}

/// How commands compress that try no compressors.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Compression {
    /// How the chunks of OUTPUT are compressed: none, zstd, gzip, or blosc (zstd with a byte shuffle), with a level after a colon (5,
    /// or 6 of gzip, without it).
    #[arg(long, value_name = "NAME[:LEVEL]", default_value = "zstd:5")]
    pub(crate) compressor: Compressor,
}

/// Explains the codecs of an array step by step (types, dimensions, unit, ranges, fill value, precision, warnings), or
/// lists the arrays of a group.
#[derive(Args, Debug)]
#[command(after_help = "Example: recast info sst_packed.zarr\n\
                        Of a group: recast info era5.zarr\n\
                        Of an array in a group: recast info era5.zarr/surface/t2m")]
pub(crate) struct Info {
    /// The array or group.
    pub(crate) array: PathBuf,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Shows the attributes, too.
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) verbose: bool,
}

/// Writes the decoded elements to standard output: raw, little-endian, in C order.
///
/// Refuses to write to a terminal, which would read the bytes as commands.
#[derive(Args, Debug)]
#[command(after_help = "Example: recast cat --npy era5.zarr surface/t2m > t2m.npy")]
pub(crate) struct Cat {
    /// The array, or a group if ARRAY is given.
    pub(crate) store: PathBuf,
    /// The path of an array in the group, such as deep/t2m. STORE/ARRAY in one word is the same, except for
    /// a URL with a query.
    pub(crate) array: Option<String>,
    /// Writes a .npy file: NumPy's header with type and shape, and then the elements.
    #[arg(long)]
    pub(crate) npy: bool,
    /// Threads to work with; by default one for each processor.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Reads the array even if its fill value does not survive the codecs; zarr-python writes such arrays.
    #[arg(long)]
    pub(crate) accept_fill_value: bool,
}

/// Runs codecs over raw little-endian elements, from standard input to standard output.
#[derive(Args, Debug)]
#[command(
    after_help = "Example: recast raw encode -t float32 --codecs '[{\"name\": \"cast_value\", \"configuration\": {\"data_type\": \"int16\"}}]' < values.f32 > values.i16"
)]
pub(crate) struct Raw {
    /// From values to stored elements, or back.
    #[arg(value_enum)]
    pub(crate) direction: Direction,
    /// The type of the values (not of the stored elements).
    #[arg(long, short = 't', value_name = "T", value_parser = data_types())]
    pub(crate) data_type: ElementType,
    /// The codecs as in `codecs` of zarr.json: JSON, or @FILE with JSON.
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) codecs: String,
    /// The fill value as in zarr.json; it must survive the codecs. Not checked if absent.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) fill_value: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Direction {
    /// Values to stored elements.
    Encode,
    /// Stored elements to values.
    Decode,
}

/// A number of bytes, with a unit or without.
fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 7] = [
        ("", 1),
        ("K", 1 << 10),
        ("M", 1 << 20),
        ("G", 1 << 30),
        ("KB", 1000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
    ];
    let wrong = || "a size such as 500MB, 2GiB or 1000000 is needed".to_owned();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim().to_ascii_uppercase().replace("IB", "");
    let unit = unit.strip_suffix('B').filter(|rest| rest.is_empty()).unwrap_or(&unit);
    let (_, factor) = UNITS.into_iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    match number.parse::<f64>() {
        Ok(number) if number > 0.0 => Ok((number * factor as f64) as u64),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the words of the command itself, not where a shell takes its output.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (index, part) in line.split('\'').enumerate() {
            if index % 2 == 1 {
                words.push(part.to_owned());
            } else {
                words.extend(part.split_whitespace().map(str::to_owned));
            }
        }
        words.into_iter().take_while(|word| !["<", ">", "|"].contains(&word.as_str())).collect()
    }

    #[test]
    fn the_help_of_every_command_has_an_example_that_is_valid() {
        let recast = command();
        for one in recast.get_subcommands() {
            let name = one.get_name();
            let help = one.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.starts_with("Example: "), "{name}: {help}");
            let takes_groups =
                ["pack", "suggest", "unpack", "verify", "compare", "migrate", "info"];
            assert_eq!(
                help.contains("\nOf a group"),
                takes_groups.contains(&name),
                "{name}: {help}"
            );
            for line in help.lines() {
                let (_, example) = line.split_once(": ").unwrap_or_default();
                let words = words(example);
                assert_eq!(words[..2], ["recast", name], "{help}");
                let parsed = command().try_get_matches_from(words);
                assert!(parsed.is_ok(), "{name}: {parsed:?}");
            }
        }
    }

    #[test]
    fn flags_that_are_not_given_are_the_defaults_of_the_library() {
        command().debug_assert();
        let cli = Cli::try_parse_from(["recast", "pack", "in.zarr", "out.zarr"]);
        let Ok(Cli { command: Command::Pack(pack) }) = cli else { panic!("{cli:?}") };
        assert_eq!(pack.options, PackOptions::default());
    }
}

//! `recast pack --from-cf`: codecs in place of CF's attributes, over the same stored codes.

use std::path::Path;

use anyhow::{Context, Result, bail};
use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use serde_json::{Map, Value, json};
use zarr_recast::fill_value::to_json;
use zarr_recast::{BindOptions, Chain, FillCheck};
use zarrs::array::ArrayMetadata;

use super::attributes::{self, Arithmetic, Attributes, Codes};
use super::search::{Inversion, invert};
use crate::args::Pack;
use crate::array::{Region, Source};
use crate::carry::{Carried, Transfer, Transferred};
use crate::charts::{Charts, Frame, Pieces, gather};
use crate::difference::Differences;
use crate::number::integer;
use crate::output::Destination;
use crate::pack::{PROVENANCE, commit};
use crate::page::{PagePlace, section};
use crate::report::{Table, bytes, count, print};
use crate::survey::survey;
use crate::work::Workers;

/// What an array becomes.
struct Conversion {
    rule: Attributes,
    arithmetic: Arithmetic,
    codes: Codes,
    inversion: Inversion,
    fill_value: Scalar,
    /// Codes that a second encoding does not give back.
    not_encoded: Option<u64>,
    carried: Carried,
}

/// What was found in the data.
#[derive(Clone, Copy, Default)]
struct Found {
    differences: Differences,
    missing: u64,
}

pub(crate) fn pack(arguments: &Pack) -> Result<()> {
    let Pack { input, output, common, .. } = arguments;
    let destination = Destination::new(input, output, common.overwrite)?;
    let place = PagePlace::of(arguments.report.as_deref(), common.overwrite)?;
    convert_array(arguments, Some(&destination), place, |report, _| {
        let to_text = || {
            let codecs = report.conversion.carried.codecs();
            let table = report.to_table();
            if arguments.dry_run {
                format!("{table}\n\"codecs\": {codecs:#}\n")
            } else {
                table.to_string()
            }
        };
        print(arguments.json, arguments.common.quiet, || report.to_json(), to_text)
    })
}

/// Converts an array of a group into a directory, or none in a dry run; returns the report, and what a
/// page says of it if one is asked for.
pub(crate) fn array(arguments: &Pack, place: Option<&Path>) -> Result<(Value, Option<String>)> {
    let destination = place.map(|place| Destination::new(&arguments.input, place, false));
    let destination = destination.transpose()?;
    convert_array(arguments, destination.as_ref(), None, |report, section| {
        Ok((report.to_json(), section))
    })
}

fn convert_array<T>(
    arguments: &Pack,
    destination: Option<&Destination>,
    place: Option<PagePlace>,
    show: impl FnOnce(&Report<'_>, Option<String>) -> Result<T>,
) -> Result<T> {
    let Pack { input, common, .. } = arguments;
    let source = Source::open(input, common.fill_check())?;
    let workers = Workers::new(common.threads, !common.quiet)?;
    let conversion =
        convert(&source, arguments, &workers).with_context(|| input.display().to_string())?;
    let mut report = Report {
        arguments,
        source: &source,
        conversion: &conversion,
        transferred: None,
        found: Found::default(),
    };
    let Some(destination) = destination.filter(|_| !arguments.dry_run) else {
        let chain = &conversion.inversion.chain;
        let decoded = |region: &Region| Ok(chain.decode(&source.read_or_fill(region)?)?);
        report.found = check(&source, decoded, &conversion, &workers)?;
        return show(&report, None);
    };
    let staged = destination.stage()?;
    let transferred = conversion.carried.write(&source, staged.path(), Transfer::Copy, &workers)?;
    report.transferred = Some(transferred);
    let result =
        Source::open(staged.path(), FillCheck::Enforce).context("reading back what was written")?;
    report.found = check(&source, |region| result.read_or_fill(region), &conversion, &workers)?;
    let section = match arguments.report {
        Some(_) => Some(section(&report.to_table(), &report.charts(&result, &workers)?)?),
        None => None,
    };
    commit(arguments, destination, staged, place, section.as_deref())?;
    show(&report, section)
}

fn convert(source: &Source, arguments: &Pack, workers: &Workers) -> Result<Conversion> {
    let stored = source.element_type();
    let mut given = source.array().attributes().clone();
    if let ArrayMetadata::V2(metadata) = source.array().metadata()
        && !serde_json::to_value(&metadata.fill_value)?.is_null()
    {
        // As xarray reads Zarr v2, where `fill_value` is `_FillValue`.
        let fill = to_json(source.fill_value());
        given.entry(attributes::FILL_VALUE).or_insert(fill);
    }
    let mut rule = Attributes::read(&given, stored)?;
    if !source.codecs().value_codecs().is_empty() && rule.code_type != stored {
        bail!("{} beside value codecs; unpack the array first", attributes::UNSIGNED);
    }
    let fill = Scalar::from_bits(rule.code_type, source.fill_value().bits());
    let decoded = arguments.decoded_type.unwrap_or_else(|| rule.natural_type());
    let arithmetic = Arithmetic::new(&rule, decoded)?;
    let range = if rule.code_type.bits() > 16 { range(source, &rule, workers)? } else { None };
    let codes = Codes::new(rule.code_type, range);
    let inversion = invert(&rule, &arithmetic, &codes, fill)?;

    let fill_value = inversion.chain.decode(&fill.to_ne_bytes())?;
    let fill_value = Scalar::from_ne_bytes(decoded, &fill_value).context("no fill value")?;
    let options = BindOptions::default();
    let bound = Chain::bind(decoded, Some(fill_value), &inversion.codecs, &options);
    let bound = bound.with_context(|| {
        format!("the fill value {fill} decodes to {fill_value}, and that must come back")
    })?;
    if bound.encoded_fill_value().is_none_or(|code| code != fill) {
        bail!(
            "the fill value {fill} decodes to {fill_value}, which is stored as another code; use \
             --decoded-type float64"
        );
    }

    let mut kept = given.clone();
    let packing = attributes::packing(&given);
    attributes::decode_valid(&mut kept, stored, &mut rule, &arithmetic)?;
    for name in attributes::APPLIED {
        kept.remove(name);
    }
    kept.remove(PROVENANCE);
    if !arguments.no_provenance {
        kept.insert(
            PROVENANCE.into(),
            json!({
                "version": env!("CARGO_PKG_VERSION"),
                "source_data_type": stored.name(),
                "cf": packing,
            }),
        );
    }
    let mut carried = Carried::new(source)?;
    carried.use_default_keys();
    let mut names = carried.document().clone();
    names.insert("attributes".into(), kept.into());
    crate::carry::name_dimensions(&mut names);
    let kept = names.remove("attributes").and_then(|kept| kept.as_object().cloned());
    carried.set_attributes(kept.unwrap_or_default());
    carried.set_values(decoded, fill_value);
    carried.prepend(&inversion.codecs);
    let not_encoded = not_encoded(&rule, &codes, &inversion)?;
    Ok(Conversion { rule, arithmetic, codes, inversion, fill_value, not_encoded, carried })
}

/// The least and greatest code there is.
fn range(source: &Source, rule: &Attributes, workers: &Workers) -> Result<Option<(i128, i128)>> {
    if rule.code_type != source.element_type() {
        return Ok(None);
    }
    let survey = survey(source, workers)?;
    let fill = integer(source.fill_value());
    let ends = survey.range.map(|(least, greatest)| [integer(least), integer(greatest)]);
    let ends = ends.into_iter().flatten().flatten().chain(fill);
    let ends: Vec<i128> = ends.collect();
    Ok(ends.iter().min().copied().zip(ends.iter().max().copied()))
}

/// How many codes, missing ones left out, another encoding does not give back; `None` if one of them
/// cannot be encoded at all.
fn not_encoded(rule: &Attributes, codes: &Codes, inversion: &Inversion) -> Result<Option<u64>> {
    let decoded = inversion.chain.decode(&codes.bytes)?;
    let Ok(encoded) = inversion.chain.encode(&decoded) else { return Ok(None) };
    let size = rule.code_type.size();
    let missing: Vec<Vec<u8>> = rule.missing.iter().map(|code| code.to_ne_bytes()).collect();
    let pairs = codes.bytes.chunks_exact(size).zip(encoded.chunks_exact(size));
    let changed = pairs.filter(|(before, after)| {
        before != after && !missing.iter().any(|missing| missing == before)
    });
    Ok(Some(changed.count() as u64))
}

/// Compares every element that is decoded with CF's arithmetic on the codes of the input.
fn check(
    source: &Source,
    decode: impl Fn(&Region) -> Result<Vec<u8>> + Sync,
    conversion: &Conversion,
    workers: &Workers,
) -> Result<Found> {
    let Conversion { rule, arithmetic, .. } = conversion;
    let decoded = arithmetic.decoded_type();
    let nan = Scalar::nan(decoded).context("a type without NaN")?.to_ne_bytes();
    let mut total = Found::default();
    let work = |number| -> Result<Found> {
        let region = source.region(number)?;
        let expected = arithmetic.decode(&source.read_or_fill(&region)?)?;
        let found = decode(&region)?;
        let differences = Differences::between(decoded, &expected, &found)?;
        if differences.not_finite > 0 {
            bail!("chunk {:?}: a missing value did not stay one", region.chunk);
        }
        let missing = expected.chunks_exact(decoded.size()).filter(|value| *value == nan);
        let missing = if rule.missing.is_empty() { 0 } else { missing.count() as u64 };
        Ok(Found { differences, missing })
    };
    workers.run("verify", source.chunks(), work, |one| {
        total.differences = total.differences.merge(one.differences);
        total.missing += one.missing;
        Ok(())
    })?;
    Ok(total)
}

struct Report<'a> {
    arguments: &'a Pack,
    source: &'a Source,
    conversion: &'a Conversion,
    /// None in a dry run.
    transferred: Option<Transferred>,
    found: Found,
}

impl Report<'_> {
    fn is_identical(&self) -> bool {
        self.conversion.inversion.differences.is_none() && self.found.differences.is_none()
    }

    fn decoded(&self) -> ElementType {
        self.conversion.arithmetic.decoded_type()
    }

    /// Goes through the array once more for the plots: values, codes, and how far the codecs' decoding is
    /// from CF's.
    fn charts(&self, result: &Source, workers: &Workers) -> Result<Charts> {
        let Conversion { rule, arithmetic, inversion, .. } = self.conversion;
        let survey = survey(result, workers)?;
        // What is missing reads as NaN; the fill value may be a number, and is one of the values then.
        let nan = Scalar::nan(self.decoded()).context("a type without NaN")?;
        let numbers = [survey.fill_value].into_iter().filter(|fill| fill.is_finite());
        let numbers = numbers.filter(|_| survey.fill > 0).map(Scalar::to_f64);
        let range = survey.range.into_iter().flat_map(|(a, b)| [a.to_f64(), b.to_f64()]);
        let ends = range.chain(numbers).fold(None, |ends: Option<(f64, f64)>, number| {
            Some(ends.map_or((number, number), |(a, b)| (a.min(number), b.max(number))))
        });
        let ends = ends.unwrap_or_default();
        let code = |value: f64| {
            let value =
                Scalar::from(value).cast(self.decoded(), Rounding::NearestEven, OutOfRange::Clamp);
            let code = inversion.chain.encode(&value.ok()?.to_ne_bytes()).ok()?;
            Some(Scalar::from_ne_bytes(rule.code_type, &code)?.to_f64())
        };
        let codes = code(ends.0).zip(code(ends.1)).map(|(a, b)| (a.min(b), a.max(b)));
        let frame = Frame {
            fill_value: nan,
            shape: self.source.array().shape().to_vec(),
            values: ends,
            codes: codes.map(|ends| (rule.code_type, ends)),
            max_error: self.found.differences.max,
        };
        gather(&frame, workers, self.source.chunks(), |number| {
            let region = self.source.region(number)?;
            let codes = self.source.read_or_fill(&region)?;
            let before = arithmetic.decode(&codes)?;
            let after = result.read_or_fill(&region)?;
            Ok(Some((region, Pieces { before, after, codes: Some(codes) })))
        })
    }

    fn to_json(&self) -> Value {
        let Conversion { rule, codes, inversion, fill_value, not_encoded, carried, .. } =
            self.conversion;
        let mut over_codes = inversion.differences.to_json();
        if let Some(object) = over_codes.as_object_mut() {
            object.insert("which".into(), codes.what.clone().into());
        }
        json!({
            "input": self.arguments.input.display().to_string(),
            "output": self.arguments.output.display().to_string(),
            "shape": self.source.array().shape(),
            "stored_data_type": rule.code_type.name(),
            "data_type": self.decoded().name(),
            "fill_value": to_json(*fill_value),
            "codecs": carried.codecs(),
            "bit_identical": self.is_identical(),
            "codes": over_codes,
            "elements": self.found.differences.to_json(),
            "missing": self.found.missing,
            "missing_codes": rule.missing.iter().map(|&code| to_json(code)).collect::<Vec<_>>(),
            "patched_codes": inversion.patched,
            "codes_not_encoded_back": not_encoded,
            "chunks": self.transferred.map(|transferred| transferred.copied),
            "bytes": self.transferred.map(|transferred| transferred.bytes),
            "dry_run": self.arguments.dry_run,
            "warnings": rule.warnings,
        })
    }

    fn to_table(&self) -> Table {
        let Conversion { rule, codes, inversion, not_encoded, .. } = self.conversion;
        let mut table = Table::default();
        let decoded = self.decoded();
        if self.arguments.dry_run {
            table.row("dry run", "nothing written; every element was decoded");
        } else {
            table.row("packed", self.arguments.output.display().to_string());
        }
        table.row("type", format!("{decoded}, stored as {}", rule.code_type));
        table.row("CF", format!("{}, in {decoded}", rule.formula()));
        for codec in &inversion.codecs {
            let json = codec.to_json();
            let mut configuration = json.get("configuration").cloned().unwrap_or_default();
            if inversion.patched > 0
                && let Some(object) = configuration.as_object_mut()
                && object.remove("scalar_map").is_some()
            {
                let entries = inversion.patched + rule.missing.len();
                object.insert("scalar_map".into(), format!("{entries} entries").into());
            }
            table.row(codec.name(), configuration.to_string());
        }
        table.row("decoding", inversion.differences.describe(&codes.what));
        table.row("", self.found.differences.describe("elements"));
        if inversion.patched > 0 {
            table.row("", format!("{} of them by the decode map", inversion.patched));
        }
        table.row(
            "encoding",
            match not_encoded {
                Some(0) => "gives every code back".to_owned(),
                Some(changed) => format!(
                    "does not give {} codes back: {decoded} is too coarse for new data",
                    count(*changed)
                ),
                None => "is refused for some codes".to_owned(),
            },
        );
        let codes: Vec<String> = rule.missing.iter().map(ToString::to_string).collect();
        if !codes.is_empty() {
            let missing = count(self.found.missing);
            table.row("missing", format!("{missing}, stored as {}, are NaN", codes.join(", ")));
        }
        if let Some(Transferred { copied, bytes: size, .. }) = self.transferred {
            let size = bytes(size as f64);
            table.row("chunks", format!("{} copied as they are, {size}", count(copied)));
        }
        for warning in &rule.warnings {
            table.row("warning", warning.clone());
        }
        table
    }
}

/// The attributes that say how the array was packed, if it was made from one.
pub(super) fn original(attributes: &Map<String, Value>) -> Option<Map<String, Value>> {
    attributes.get(PROVENANCE)?.get("cf")?.as_object().cloned()
}

//! `recast pack --from-cf`: codecs in place of CF's attributes, over the same stored codes.

use std::io::Write;

use anyhow::{Context, Result, bail};
use recast_kernels::{ElementType, Scalar};
use serde_json::{Map, Value, json};
use zarr_recast::fill_value::to_json;
use zarr_recast::{BindOptions, Chain, FillCheck};
use zarrs::array::ArrayMetadata;

use super::attributes::{self, Arithmetic, Attributes, Codes};
use super::search::{Inversion, invert};
use crate::args::Pack;
use crate::array::Source;
use crate::carry::{Carried, Transfer, Transferred};
use crate::difference::Differences;
use crate::number::integer;
use crate::output::Destination;
use crate::pack::PROVENANCE;
use crate::report::{Table, bytes, count};
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
    convert_array(arguments, |report| {
        let mut stdout = std::io::stdout().lock();
        if arguments.json {
            writeln!(stdout, "{:#}", report.to_json())?;
        } else if !arguments.common.quiet {
            write!(stdout, "{}", report.to_table())?;
        }
        Ok(())
    })
}

/// Converts an array, and returns the report.
pub(crate) fn array(arguments: &Pack) -> Result<Value> {
    convert_array(arguments, |report| Ok(report.to_json()))
}

fn convert_array<T>(arguments: &Pack, show: impl FnOnce(&Report<'_>) -> Result<T>) -> Result<T> {
    let Pack { input, output, common, .. } = arguments;
    let destination = Destination::new(input, output, common.overwrite)?;
    let source = Source::open(input, common.fill_check())?;
    let workers = Workers::new(common.threads, !common.quiet)?;
    let conversion =
        convert(&source, arguments, &workers).with_context(|| input.display().to_string())?;
    let staged = destination.stage()?;
    let transferred = conversion.carried.write(&source, staged.path(), Transfer::Copy, &workers)?;
    let result =
        Source::open(staged.path(), FillCheck::Enforce).context("reading back what was written")?;
    let found = check(&source, &result, &conversion, &workers)?;
    destination.commit(staged)?;

    show(&Report { arguments, source: &source, conversion: &conversion, transferred, found })
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

/// Reads what was written, and compares every element with CF's arithmetic on the codes of the input.
fn check(
    source: &Source,
    result: &Source,
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
        let found = result.read_or_fill(&region)?;
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
    transferred: Transferred,
    found: Found,
}

impl Report<'_> {
    fn is_identical(&self) -> bool {
        self.conversion.inversion.differences.is_none() && self.found.differences.is_none()
    }

    fn decoded(&self) -> ElementType {
        self.conversion.arithmetic.decoded_type()
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
            "chunks": self.transferred.copied,
            "bytes": self.transferred.bytes,
            "warnings": rule.warnings,
        })
    }

    fn to_table(&self) -> Table {
        let Conversion { rule, codes, inversion, not_encoded, .. } = self.conversion;
        let mut table = Table::default();
        let decoded = self.decoded();
        table.row("packed", self.arguments.output.display().to_string());
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
        let Transferred { copied, bytes: size, .. } = self.transferred;
        table
            .row("chunks", format!("{} copied as they are, {}", count(copied), bytes(size as f64)));
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

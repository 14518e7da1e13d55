//! Replaces value codecs by CF's attributes over the same stored codes.

use std::path::Path;

use anyhow::{Context, bail};
use recast_kernels::{ElementType, Scalar};
use serde::Serialize;
use serde_json::{Map, Value, json};
use zarr_recast::fill_value::to_json;
use zarr_recast::{BindOptions, Chain, Codec, FillCheck};

use super::attributes::{self, Arithmetic, Attributes, Codes, mask};
use super::from_cf::original;
use crate::array::pairs::Pairs;
use crate::array::region::Region;
use crate::array::rewrite_metadata::RewrittenMetadata;
use crate::array::source::Source;
use crate::check::difference::Differences;
use crate::choose::inverse::closest;
use crate::error::Result;
use crate::metadata::codecs::configured;
use crate::metadata::document::PROVENANCE;
use crate::metadata::fill_attribute::{FILL_VALUE, MISSING_VALUE};
use crate::runtime::{Runtime, Workers};
use crate::scan::missing::Markers;
use crate::scan::number::{
    NumberReader, decoded, encoded, integer_range, neighbours, unit_roundoff,
};
use crate::store::destination::Destination;
use crate::store::links::OutsideLinks;
use crate::store::staging::Staged;
use crate::store::transfer::Transfer;
use crate::text::as_shown;

/// `scale_factor`s and `add_offset`s that are tried, in units in the last place.
const STEPS: i64 = 8;

/// Why CF's attributes cannot express an array.
#[derive(Debug, thiserror::Error)]
#[error("{0}; to get plain values, use recast unpack without --to-cf")]
pub(crate) struct NotForCf(pub(crate) String);

/// CF attributes for a chain.
struct NewAttributes {
    attributes: Map<String, Value>,
    code_type: ElementType,
    differences: Differences,
    what: String,
    line: Line,
}

/// All scales and offsets combined into one linear function, in f64.
#[derive(Clone, Copy)]
struct Line {
    slope: f64,
    shift: f64,
    /// The relative rounding error of the values' type.
    unit: f64,
}

/// The report of an array written for CF.
#[derive(Clone, Debug, Serialize)]
pub struct ToCfReport {
    /// The array that was read.
    pub input: String,
    /// The array that was written.
    pub output: String,
    /// The type of the values.
    pub data_type: ElementType,
    /// The type of the stored integers.
    pub stored_data_type: ElementType,
    /// The attributes that readers apply.
    pub attributes: Map<String, Value>,
    /// The differences of CF's values from those of the codecs.
    pub differences: Differences,
    /// Which codes were compared.
    pub which: String,
    /// Chunks that were copied as they are.
    pub chunks: u64,
    /// Elements that CF masks, and that have the fill value, a number, before: only a map gives it.
    pub masked_fill_values: u64,
    /// The links that lead out of the input; their targets were read.
    #[serde(skip_serializing_if = "OutsideLinks::is_empty")]
    pub outside_links: OutsideLinks,
}

/// Writes the stored integers of an array with the attributes `scale_factor`, `add_offset` and `_FillValue`, in place of its
/// value codecs.
pub(crate) fn to_cf(
    input: &Path,
    output: &Path,
    destination: &Destination,
    runtime: &Runtime,
) -> Result<(ToCfReport, Staged)> {
    let source = Source::open_for(runtime, input)?;
    let staged = destination.stage()?;
    let workers = Workers::within(runtime, [source.chunk_memory()])?;
    let chain = source.codecs().chain(source.element_type(), source.fill_value())?;
    let conversion = convert(&source, &chain);
    let conversion = conversion.with_context(|| input.display().to_string())?;

    let mut rewritten = RewrittenMetadata::new(&source)?;
    rewritten.replace_value_codecs(|_| Ok(Vec::new()))?;
    let fill = chain.encoded_fill_value().context("the fill value cannot be encoded")?;
    let stored = Scalar::from_bits(conversion.code_type, fill.bits());
    rewritten.set_values(conversion.code_type, stored);
    rewritten.set_attributes(conversion.attributes.clone());
    let transferred = rewritten.write(&source, staged.path(), Transfer::Copy, &workers)?;
    let masked = check(&source, staged.path(), &conversion.line, &workers);
    let masked_fill_values = masked.with_context(|| input.display().to_string())?;
    let report = ToCfReport {
        input: as_shown(input),
        output: as_shown(output),
        data_type: source.element_type(),
        stored_data_type: conversion.code_type,
        attributes: attributes::picked(&conversion.attributes, &attributes::APPLIED),
        differences: conversion.differences,
        which: conversion.what,
        chunks: transferred.copied,
        masked_fill_values,
        outside_links: OutsideLinks::default(),
    };
    Ok((report, staged))
}

/// Finds the attributes with which CF's arithmetic gives the values that the chain gives.
fn convert(source: &Source, chain: &Chain) -> Result<NewAttributes> {
    let (decoded, code_type) = (chain.decoded_type(), chain.encoded_type());
    if source.codecs().value_codecs().is_empty() {
        bail!("no cast_value or scale_offset among the codecs; recast pack puts them there");
    }
    if !code_type.is_integer() {
        return not_for_cf(format!("{code_type} is stored, and CF packs integers only"));
    }
    if !matches!(decoded, ElementType::Float32 | ElementType::Float64) {
        return not_for_cf(format!(
            "the values are {decoded}, and CF decodes to float32 or float64"
        ));
    }
    let codes = given_codes(source, code_type).and(&named_codes(source, chain)?);
    let mut values = chain.decode(&codes.bytes).context("a code that the codecs do not decode")?;
    let line = line(source);
    let missing = missing(source, chain, &codes, &values, line.slope)?;
    let missing_codes: Vec<_> = missing.iter().map(|code| code.to_ne_bytes()).collect();
    mask(&missing_codes, decoded, &codes.bytes, &mut values)?;
    let given = original(source.array().attributes());
    let stored = source_type(source).unwrap_or(code_type);
    let from_given = given.as_ref().and_then(|given| {
        let rule = Attributes::read(given, stored).ok()?;
        (rule.code_type == code_type).then(|| Attributes { missing: missing.clone(), ..rule })
    });
    let computed = neighbours(line.slope, decoded, STEPS).into_iter().map(|factor| Attributes {
        code_type,
        scale_factor: Some(factor),
        add_offset: Some(line.shift),
        missing: missing.clone(),
        warnings: Vec::new(),
    });
    let tried = from_given.into_iter().chain(computed).map(|rule| {
        let found = Arithmetic::new(&rule, decoded)?.decode(&codes.bytes)?;
        Ok((Differences::between(decoded, &values, &found)?, (rule, found)))
    });
    let best = closest(tried, |d| (d.not_finite, d.differing, d.max_ulps))?;
    let Some((differences, (rule, found))) = best else {
        return not_for_cf("no finite scale_factor is the inverse of the scale".to_owned());
    };
    let reader = NumberReader::new(decoded)?;
    let mut pairs = reader.read(&values)?.into_iter().zip(reader.read(&found)?);
    if differences.not_finite > 0 || pairs.any(|(value, found)| line.is_far(value, found)) {
        return not_for_cf(format!(
            "the scalar_map gives some codes values that CF attributes cannot express ({})",
            differences.describe(&codes.what)
        ));
    }
    Ok(NewAttributes {
        attributes: written(source, &rule, given.as_ref())?,
        code_type: match &given {
            Some(given) if given.contains_key(attributes::UNSIGNED) => stored,
            _ => code_type,
        },
        differences,
        what: codes.what,
        line,
    })
}

fn not_for_cf<T>(reason: String) -> Result<T> {
    Err(NotForCf(reason).into())
}

/// The codes that the codecs give: a cast to a wider type, such as the cast in front of pcodec, gives no further codes.
fn given_codes(source: &Source, code_type: ElementType) -> Codes {
    let casts = source.codecs().values().rev();
    let casts = casts.take_while(|values| {
        matches!(values.codec, Codec::CastValue(_)) && values.element_type.is_integer()
    });
    let narrowest = casts.map(|values| values.element_type).min_by_key(|narrow| narrow.bits());
    let narrowest = narrowest.filter(|narrow| narrow.bits() < code_type.bits());
    match narrowest.and_then(integer_range) {
        Some(ends) => Codes::between(code_type, ends),
        None => Codes::new(code_type, None),
    }
}

/// Codes with a meaning of their own, which may lie between those that [`given_codes`] takes: those of NaN, of missing
/// markers and of the fill value, and those that maps name.
fn named_codes(source: &Source, chain: &Chain) -> Result<Vec<Scalar>> {
    let nan = Scalar::nan(chain.decoded_type());
    let markers = markers(source);
    let values =
        nan.into_iter().chain([source.fill_value()]).chain(markers.values().iter().copied());
    let mut codes: Vec<Scalar> = values.filter_map(|value| encoded(chain, value)).collect();
    let mut rest = source.codecs().value_codecs().into_iter();
    while let Some(codec) = rest.next() {
        let Codec::CastValue(cast) = codec else { continue };
        let behind = Chain::bind(cast.data_type, None, rest.as_slice(), &BindOptions::default())?;
        let map = cast.scalar_map.and_then(|map| map.decode).unwrap_or_default();
        let keys = map.iter().filter_map(|(key, _)| key.to_scalar(cast.data_type).ok());
        codes.extend(keys.filter_map(|key| encoded(&behind, key)));
    }
    Ok(codes)
}

/// The missing values that attributes name, and those that `pack --missing` named.
fn markers(source: &Source) -> Markers {
    Markers::of(source).and_recorded(source.array().attributes(), source.element_type())
}

/// The type that the array had before `pack --from-cf`.
fn source_type(source: &Source) -> Option<ElementType> {
    let name = source.array().attributes().get(PROVENANCE)?.get("source_data_type")?;
    ElementType::from_name(name.as_str()?)
}

impl Line {
    /// Whether two values are farther apart than half a step and what rounding explains: where values are large, the
    /// type's own steps are wider than those of the codes.
    fn is_far(&self, x: f64, y: f64) -> bool {
        let Self { slope, shift, unit } = self;
        (x - y).abs() > slope.abs() / 2.0 + 4.0 * unit * (x.abs() + shift.abs())
    }
}

fn line(source: &Source) -> Line {
    let (mut slope, mut shift) = (1.0, 0.0);
    for codec in source.codecs().value_codecs().iter().rev() {
        let number = |name| configured(codec, name)?.as_f64();
        if let Some(scale) = number("scale") {
            slope /= scale;
            shift /= scale;
        }
        if let Some(offset) = number("offset") {
            shift += offset;
        }
    }
    Line { slope, shift, unit: unit_roundoff(source.element_type()) }
}

/// The value codecs without their maps.
fn without_maps(source: &Source) -> Result<Chain> {
    let mut codecs = source.codecs().value_codecs();
    for codec in &mut codecs {
        if let Codec::CastValue(cast) = codec {
            cast.scalar_map = None;
        }
    }
    Ok(Chain::bind(source.element_type(), None, &codecs, &BindOptions::default())?)
}

/// The codes that are missing for CF: those of NaN and of missing markers, and one that a map gives the fill
/// value.
fn missing(
    source: &Source,
    chain: &Chain,
    codes: &Codes,
    values: &[u8],
    slope: f64,
) -> Result<Vec<Scalar>> {
    let (markers, fill, plain) = (markers(source), source.fill_value(), without_maps(source)?);
    let (from, to) = (chain.encoded_type(), chain.decoded_type());
    let pairs = codes.bytes.chunks_exact(from.size()).zip(values.chunks_exact(to.size()));
    let pairs = pairs.filter_map(|(code, value)| {
        Some((Scalar::from_ne_bytes(from, code)?, Scalar::from_ne_bytes(to, value)?))
    });
    // A map may also correct the last bits of a code that has the fill value without it.
    let is_mapped = |code: Scalar, value: Scalar| {
        let is_far = |other: Scalar| (value.to_f64() - other.to_f64()).abs() > slope.abs() / 2.0;
        value.equals(fill) && decoded(&plain, code).is_none_or(is_far)
    };
    let is_missing = |code: Scalar, value: Scalar| {
        value.is_nan() || markers.contains(value) || is_mapped(code, value)
    };
    let mut missing = Vec::new();
    for (code, value) in pairs {
        if is_missing(code, value) && !missing.contains(&code) {
            missing.push(code);
        }
    }
    // The code for new missing values comes first.
    let nan = Scalar::nan(to).and_then(|nan| encoded(chain, nan));
    missing.sort_by_key(|&code| (Some(code) != nan, Some(code) != chain.encoded_fill_value()));
    Ok(missing)
}

/// The attributes of the packed array.
fn written(
    source: &Source,
    rule: &Attributes,
    given: Option<&Map<String, Value>>,
) -> Result<Map<String, Value>> {
    let mut attributes = source.array().attributes().clone();
    attributes.remove(PROVENANCE);
    if let Some(given) = given {
        for name in attributes::VALID {
            attributes.remove(name);
        }
        attributes.extend(given.clone());
        for (name, value) in [
            (attributes::SCALE_FACTOR, rule.scale_factor),
            (attributes::ADD_OFFSET, rule.add_offset),
        ] {
            // The original number, unless another is better.
            if value != given.get(name).and_then(Value::as_f64) {
                attributes.insert(name.into(), json!(value));
            }
        }
        return Ok(attributes);
    }
    if let Some(name) = attributes::VALID.iter().find(|name| attributes.contains_key(**name)) {
        return not_for_cf(format!(
            "attribute {name} is in units of the values, where CF has codes: remove it first, and add it in codes afterwards"
        ));
    }
    let own = [attributes::SCALE_FACTOR, attributes::ADD_OFFSET];
    if let Some(name) = own.iter().find(|name| attributes.contains_key(**name)) {
        return not_for_cf(format!(
            "attribute {name} scales the values already, and CF has no place for a second scale"
        ));
    }
    attributes.insert(attributes::SCALE_FACTOR.into(), json!(rule.scale_factor));
    attributes.insert(attributes::ADD_OFFSET.into(), json!(rule.add_offset));
    // Both attributes named values before, and now name codes.
    attributes.remove(FILL_VALUE);
    attributes.remove(MISSING_VALUE);
    if let Some((&first, others)) = rule.missing.split_first() {
        attributes.insert(FILL_VALUE.into(), to_json(first));
        if !others.is_empty() {
            let others: Vec<Value> = others.iter().map(|&code| to_json(code)).collect();
            attributes.insert(MISSING_VALUE.into(), others.into());
        }
    }
    Ok(attributes)
}

/// Reads the written array as readers of CF do, who mask stored codes and then scale in float64: the missing elements must
/// be those of the input, and all others within half a step. Returns how many are masked because they have the fill value.
fn check(source: &Source, written: &Path, line: &Line, workers: &Workers) -> Result<u64> {
    let result = Source::written(written, FillCheck::Create)?;
    let rule = Attributes::read(result.array().attributes(), result.element_type())?;
    let arithmetic = Arithmetic::new(&rule, ElementType::Float64)?;
    let reader = NumberReader::new(source.element_type())?;
    let markers: Vec<f64> = markers(source).numbers(&reader)?;
    let fill = source.fill_value().to_f64();
    let work = |region: &Region, [values, codes]: [Vec<u8>; 2]| -> Result<u64> {
        let values: Vec<f64> = reader.read(&values)?;
        let found = arithmetic.decode_masked(&codes)?;
        let mut masked = 0;
        for (value, found) in values.into_iter().zip(found) {
            let is_missing = value.is_nan() || markers.contains(&value);
            let is_masked = found.is_nan();
            if !is_missing && is_masked && value == fill {
                masked += 1;
            } else if is_missing != is_masked || !is_masked && line.is_far(value, found) {
                return not_for_cf(format!(
                    "chunk {:?}: the value {value:?} would be {found:?} by CF's attributes",
                    region.chunk
                ));
            }
        }
        Ok(masked)
    };
    Pairs::new(source, &result).merge_elements("verify", workers, work, |all, one| all + one)
}

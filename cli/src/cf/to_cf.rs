//! `recast unpack --to-cf`: CF's attributes in place of value codecs, over the same stored codes.

use std::io::Write;

use anyhow::{Context, Result, bail};
use recast_kernels::{ElementType, Scalar};
use serde_json::{Map, Value, json};
use zarr_recast::fill_value::to_json;
use zarr_recast::{Chain, FillCheck};

use super::attributes::{self, Arithmetic, Attributes, Codes};
use super::from_cf::original;
use super::search::neighbours;
use crate::args::Unpack;
use crate::array::Source;
use crate::carry::{Carried, Transfer};
use crate::difference::Differences;
use crate::output::Destination;
use crate::pack::PROVENANCE;
use crate::report::{Table, count};
use crate::work::Workers;

/// `scale_factor`s and `add_offset`s that are tried, in units in the last place.
const STEPS: i64 = 8;

/// CF attributes for a chain.
struct Conversion {
    attributes: Map<String, Value>,
    code_type: ElementType,
    differences: Differences,
    what: String,
}

pub(crate) fn unpack(arguments: &Unpack) -> Result<()> {
    let Unpack { input, output, common, .. } = arguments;
    let destination = Destination::new(input, output, common.overwrite)?;
    let source = Source::open(input, common.fill_check())?;
    let workers = Workers::new(common.threads, !common.quiet)?;
    let chain = source.codecs().chain(source.element_type(), source.fill_value())?;
    let conversion = convert(&source, &chain).with_context(|| input.display().to_string())?;

    let mut carried = Carried::new(&source)?;
    carried.use_default_keys();
    carried.replace_value_codecs(|_| Ok(Vec::new()))?;
    let fill = chain.encoded_fill_value().context("the fill value cannot be encoded")?;
    let stored = Scalar::from_bits(conversion.code_type, fill.bits());
    carried.set_values(conversion.code_type, stored);
    carried.set_attributes(conversion.attributes.clone());
    let staged = destination.stage()?;
    let transferred = carried.write(&source, staged.path(), Transfer::Copy, &workers)?;
    check(&source, staged.path(), &chain, &workers)?;
    destination.commit(staged)?;

    if !common.quiet {
        let mut table = Table::default();
        table.row("unpacked", output.display().to_string());
        table
            .row("type", format!("{} in place of {}", conversion.code_type, source.element_type()));
        for name in attributes::APPLIED {
            if let Some(value) = conversion.attributes.get(name) {
                table.row(name, value.to_string());
            }
        }
        let decoding = conversion.differences.describe(&conversion.what);
        table.row("decoding", format!("{decoding}, with CF in {}", source.element_type()));
        table.row("chunks", format!("{} copied as they are", count(transferred.copied)));
        write!(std::io::stdout().lock(), "{table}")?;
    }
    Ok(())
}

/// Finds the attributes with which CF's arithmetic gives the values that the chain gives.
fn convert(source: &Source, chain: &Chain) -> Result<Conversion> {
    let (decoded, code_type) = (chain.decoded_type(), chain.encoded_type());
    if source.codecs().value_codecs().is_empty() {
        bail!("no cast_value or scale_offset among the codecs; recast pack puts them there");
    }
    if !code_type.is_integer() {
        bail!(
            "{code_type} is stored, and CF packs integers only; recast unpack writes plain values"
        );
    }
    if !matches!(decoded, ElementType::Float32 | ElementType::Float64) {
        bail!("the values are {decoded}, and CF decodes to float32 or float64; use recast unpack");
    }
    let codes = Codes::new(code_type, None);
    let values = chain.decode(&codes.bytes).context("a code that the codecs do not decode")?;
    let (slope, shift) = line(source);
    let missing = missing(chain, &codes, &values, source.fill_value(), (slope, shift));

    let mut best: Option<(Differences, Attributes)> = None;
    let given = original(source.array().attributes());
    let from_given = given.as_ref().and_then(|given| {
        let stored = source_type(source).unwrap_or(code_type);
        let rule = Attributes::read(given, stored).ok()?;
        (rule.code_type == code_type).then_some(rule)
    });
    let computed = neighbours(slope, decoded, STEPS).into_iter().map(|factor| Attributes {
        code_type,
        scale_factor: Some(factor),
        add_offset: Some(shift),
        missing: missing.clone(),
        warnings: Vec::new(),
    });
    for rule in from_given.into_iter().chain(computed) {
        let arithmetic = Arithmetic::new(&rule, decoded)?;
        let differences =
            Differences::between(decoded, &values, &masked(&arithmetic, &codes, &missing)?)?;
        let rank = |d: &Differences| (d.not_finite, d.differing, d.max_ulps);
        if best.as_ref().is_none_or(|(best, _)| rank(&differences) < rank(best)) {
            let is_perfect = differences.is_none();
            best = Some((differences, rule));
            if is_perfect {
                break;
            }
        }
    }
    let (mut differences, rule) =
        best.context("no finite scale_factor is the inverse of the scale")?;
    // A fill value that is a number becomes missing, and so NaN.
    let lost = missing.iter().filter(|code| !decodes_to_nan(chain, **code)).count() as u64;
    differences.differing -= lost.min(differences.differing);
    differences.not_finite -= lost.min(differences.not_finite);
    if differences.not_finite > 0 || differences.max > slope.abs() / 2.0 {
        bail!(
            "the scalar_map gives some codes values that CF attributes cannot say ({}); use recast \
             unpack",
            differences.describe(&codes.what)
        );
    }
    Ok(Conversion {
        attributes: written(source, &rule, &missing, given.as_ref())?,
        code_type: match &given {
            Some(given) if given.contains_key(attributes::UNSIGNED) => {
                source_type(source).unwrap_or(code_type)
            }
            _ => code_type,
        },
        differences,
        what: codes.what,
    })
}

/// The type that the array had before `pack --from-cf`.
fn source_type(source: &Source) -> Option<ElementType> {
    let name = source.array().attributes().get(PROVENANCE)?.get("source_data_type")?;
    ElementType::from_name(name.as_str()?)
}

/// The straight line that all scales and offsets together are, in f64.
fn line(source: &Source) -> (f64, f64) {
    let (mut slope, mut shift) = (1.0, 0.0);
    for codec in source.codecs().value_codecs().iter().rev() {
        let json = codec.to_json();
        let configuration = json.get("configuration").unwrap_or(&json);
        let number = |name| configuration.get(name).and_then(Value::as_f64);
        if let Some(scale) = number("scale") {
            slope /= scale;
            shift /= scale;
        }
        if let Some(offset) = number("offset") {
            shift += offset;
        }
    }
    (slope, shift)
}

/// The codes that are no numbers to CF: those of NaN, and one that a map gives the fill value.
fn missing(
    chain: &Chain,
    codes: &Codes,
    values: &[u8],
    fill: Scalar,
    (slope, shift): (f64, f64),
) -> Vec<Scalar> {
    let (from, to) = (chain.encoded_type(), chain.decoded_type());
    let pairs = codes.bytes.chunks_exact(from.size()).zip(values.chunks_exact(to.size()));
    let pairs = pairs.filter_map(|(code, value)| {
        Some((Scalar::from_ne_bytes(from, code)?, Scalar::from_ne_bytes(to, value)?))
    });
    let is_mapped = |code: Scalar, value: Scalar| {
        let expected = code.to_f64() * slope + shift;
        value.equals(fill) && (value.to_f64() - expected).abs() > slope.abs() / 2.0
    };
    let mut missing: Vec<Scalar> = pairs
        .filter(|&(code, value)| value.is_nan() || is_mapped(code, value))
        .map(|(code, _)| code)
        .collect();
    // The one that new missing values get comes first.
    let nan = Scalar::nan(to).and_then(|nan| chain.encode(&nan.to_ne_bytes()).ok());
    let nan = nan.and_then(|code| Scalar::from_ne_bytes(from, &code));
    missing.sort_by_key(|&code| (Some(code) != nan, Some(code) != chain.encoded_fill_value()));
    missing
}

fn decodes_to_nan(chain: &Chain, code: Scalar) -> bool {
    let value = chain.decode(&code.to_ne_bytes()).ok();
    let value = value.and_then(|value| Scalar::from_ne_bytes(chain.decoded_type(), &value));
    value.is_some_and(Scalar::is_nan)
}

/// CF's values of the codes, with exactly these codes missing.
fn masked(arithmetic: &Arithmetic, codes: &Codes, missing: &[Scalar]) -> Result<Vec<u8>> {
    arithmetic.clone().with_missing(missing).decode(&codes.bytes)
}

/// The attributes of the packed array.
fn written(
    source: &Source,
    rule: &Attributes,
    missing: &[Scalar],
    given: Option<&Map<String, Value>>,
) -> Result<Map<String, Value>> {
    let mut attributes = source.array().attributes().clone();
    attributes.remove(PROVENANCE);
    let valid: Vec<&str> =
        attributes::VALID.into_iter().filter(|name| attributes.contains_key(*name)).collect();
    if let Some(given) = given {
        for name in valid {
            attributes.remove(name);
        }
        attributes.extend(given.clone());
        for (name, value) in [
            (attributes::SCALE_FACTOR, rule.scale_factor),
            (attributes::ADD_OFFSET, rule.add_offset),
        ] {
            // As it was written, unless another number does better.
            if value != given.get(name).and_then(Value::as_f64) {
                attributes.insert(name.into(), json!(value));
            }
        }
        return Ok(attributes);
    }
    if let [name, ..] = valid.as_slice() {
        bail!(
            "attribute {name} would have to be packed, too; remove it first, and add it afterwards"
        );
    }
    attributes.insert(attributes::SCALE_FACTOR.into(), json!(rule.scale_factor));
    attributes.insert(attributes::ADD_OFFSET.into(), json!(rule.add_offset));
    if let Some((&first, others)) = missing.split_first() {
        attributes.insert(attributes::FILL_VALUE.into(), to_json(first));
        if !others.is_empty() {
            let others: Vec<Value> = others.iter().map(|&code| to_json(code)).collect();
            attributes.insert(attributes::MISSING_VALUE.into(), others.into());
        }
    }
    Ok(attributes)
}

/// Reads what was written: the codes must be those that the input's values have.
fn check(
    source: &Source,
    written: &std::path::Path,
    chain: &Chain,
    workers: &Workers,
) -> Result<()> {
    let result =
        Source::open(written, FillCheck::Enforce).context("reading back what was written")?;
    let work = |number| -> Result<()> {
        let region = source.region(number)?;
        let decoded = chain.decode(&result.read_or_fill(&region)?)?;
        let differences =
            Differences::between(chain.decoded_type(), &source.read_or_fill(&region)?, &decoded)?;
        if !differences.is_none() {
            bail!("chunk {:?}: the stored codes are not those of the values", region.chunk);
        }
        Ok(())
    };
    workers.run("verify", source.chunks(), work, |()| Ok(()))
}

//! New metadata for the chunks of an array, and whether they give the same values. Codecs of numcodecs become `scale_offset` and
//! `cast_value`.

use anyhow::{anyhow, bail};
use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use zarr_recast::{
    BindOptions, CastValue, Chain, Codec, FillCheck, JsonScalar, ScalarMap, ScaleOffset,
};

use crate::array::pairs::Pairs;
use crate::array::region::Region;
use crate::array::rewrite_metadata::RewrittenMetadata;
use crate::array::source::Source;
use crate::check::difference::Differences;
use crate::choose::codes::ends;
use crate::choose::inverse::closest;
use crate::error::Result;
use crate::metadata::codecs::configured;
use crate::runtime::Workers;
use crate::scan::number::encoded;

/// The new codecs, without checking the fill value.
pub(super) fn new_codecs(source: &Source) -> Result<Vec<Codec>> {
    replace_all(&source.codecs().value_codecs(), &mut source.element_type())
}

/// The new codecs for a run of them. `element_type` is the type that reaches them, and becomes that behind them.
fn replace_all(run: &[Codec], element_type: &mut ElementType) -> Result<Vec<Codec>> {
    let mut codecs = Vec::new();
    for codec in run {
        let new = replace_legacy(codec, *element_type)?;
        let bound = Chain::bind(*element_type, None, &new, &BindOptions::default())?;
        *element_type = bound.encoded_type();
        codecs.extend(new);
    }
    Ok(codecs)
}

/// The new metadata, if they can be read over the same chunks; with the array that readers of these metadata get.
pub(super) fn rewritten(source: &Source, workers: &Workers) -> Result<(RewrittenMetadata, Source)> {
    let mut rewritten = RewrittenMetadata::new(source)?;
    let mut element_type = source.element_type();
    let mut fill = source.fill_value();
    rewritten.replace_value_codecs(|run| {
        let codecs = replace_all(run, &mut element_type)?;
        let options = BindOptions::default().fill_check(FillCheck::ReportOnly);
        let bound = Chain::bind(fill.element_type(), Some(fill), &codecs, &options);
        // A fill value that cannot be encoded needs a map, and cannot reach later codecs.
        if let Some(encoded) = bound.ok().and_then(|chain| chain.encoded_fill_value()) {
            fill = encoded;
        }
        Ok(codecs)
    })?;
    let refusal = match rewritten.over(source, FillCheck::Create) {
        Ok(result) => return Ok((rewritten, result)),
        Err(refusal) => refusal,
    };
    let legacy = source.codecs().value_codecs();
    if !legacy.iter().any(Codec::is_legacy) {
        return Err(refusal);
    }
    // The fill value does not survive (numcodecs does not require it), so add an entry to the last map.
    let used = used_codes(source, &rewritten, element_type, workers)?;
    for code in ends(element_type).into_iter().filter(|code| !used.contains(code)) {
        let mut mapped = rewritten.clone();
        let mut is_done = false;
        mapped.replace_value_codecs(|run| {
            let mut codecs = run.to_vec();
            if !is_done && let Some(entry) = fill_entry(&codecs, source.fill_value(), code) {
                is_done = true;
                codecs = entry;
            }
            Ok(codecs)
        })?;
        if is_done && let Ok(result) = mapped.over(source, FillCheck::Create) {
            return Ok((mapped, result));
        }
    }
    Err(refusal.context(format!(
        "the fill value {} does not survive the new codecs, and no code is left for it",
        source.fill_value()
    )))
}

/// Codecs whose last cast maps the fill value to a code and back.
fn fill_entry(codecs: &[Codec], fill: Scalar, code: Scalar) -> Option<Vec<Codec>> {
    let (last, head) = codecs.split_last()?;
    let Codec::CastValue(last) = last else { return None };
    let options = BindOptions::default().fill_check(FillCheck::ReportOnly);
    let head_chain = Chain::bind(fill.element_type(), None, head, &options).ok()?;
    let working = encoded(&head_chain, fill)?;
    let mut last: CastValue = last.clone();
    last.scalar_map = Some(ScalarMap {
        encode: Some([(working, code)].into_iter().collect()),
        decode: Some([(code, working)].into_iter().collect()),
    });
    let mut codecs = head.to_vec();
    codecs.push(last.into());
    Some(codecs)
}

/// Which of the codes at the ends of the stored type are in use.
fn used_codes(
    source: &Source,
    rewritten: &RewrittenMetadata,
    stored: ElementType,
    workers: &Workers,
) -> Result<Vec<Scalar>> {
    let mut plain = rewritten.clone();
    plain.replace_value_codecs(|_| Ok(Vec::new()))?;
    plain.set_values(stored, Scalar::zero(stored));
    let codes = plain.over(source, FillCheck::ReportOnly)?;
    let work = |number| -> Result<Vec<Scalar>> {
        let region = codes.region(number)?;
        let Some(elements) = codes.read(&region)? else { return Ok(Vec::new()) };
        let is_used = |code: &Scalar| {
            let code = code.to_ne_bytes();
            elements.chunks_exact(code.len()).any(|element| element == code)
        };
        Ok(ends(stored).into_iter().filter(is_used).collect())
    };
    workers.merge("codes", codes.chunks(), work, |mut all, mut one| {
        one.retain(|code| !all.contains(code));
        all.extend(one);
        all
    })
}

/// Compares all elements with those that readers of the new metadata get, at the same chunks.
///
/// # Errors
/// Elements that differ, as [`Differences`] says.
pub(super) fn compare(source: &Source, result: &Source, workers: &Workers) -> Result<()> {
    let element_type = source.element_type();
    if result.element_type() != element_type {
        return Err(anyhow!("the elements would be {}", result.element_type()));
    }
    let work = |_: &Region, [before, after]: [Vec<u8>; 2]| {
        Differences::between(element_type, &before, &after)
    };
    let pairs = Pairs::new(source, result);
    let differences = pairs.merge_elements("compare", workers, work, Differences::merge)?;
    if !differences.is_none() {
        bail!(
            "the new codecs decode the chunks to other values: {}",
            differences.describe("elements")
        );
    }
    Ok(())
}

/// The number of bit patterns of a wide type that are tried, spread over all.
const SOME: u64 = 1 << 16;

/// Multiples of this odd number, 2^64 over the golden ratio, are spread over all patterns and vary in every bit.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// The codecs that decode like a legacy codec whose decoded elements have the given type; any other codec is returned
/// unchanged.
pub(super) fn replace_legacy(codec: &Codec, source: ElementType) -> Result<Vec<Codec>> {
    if !codec.is_legacy() {
        return Ok(vec![codec.clone()]);
    }
    let bind = |codecs: &[Codec]| Chain::bind(source, None, codecs, &BindOptions::default());
    let legacy = bind(std::slice::from_ref(codec))?;
    let target = legacy.encoded_type();
    let candidates = match codec {
        Codec::FixedScaleOffset(_) => scaled(codec, source, target)?,
        _ => cast(target),
    };
    let encoded = patterns(target, &legacy);
    let expected = legacy.decode(&encoded)?;
    let decode = |codecs: &[Codec]| -> Result<Vec<u8>> { Ok(bind(codecs)?.decode(&encoded)?) };
    let mut failure = anyhow!("no codecs decode like it");
    let tried = candidates.into_iter().filter_map(|candidate| match decode(&candidate) {
        Ok(found) => {
            let differences = Differences::between(source, &expected, &found);
            Some(differences.map(|differences| (differences, candidate)))
        }
        Err(error) => {
            failure = error;
            None
        }
    });
    match closest(tried, |differences| differences.differing)? {
        Some((_, codecs)) => Ok(codecs),
        None => Err(failure.context(format!(
            "{} between {source} and {target} has no counterpart, so write the array again without it, for instance with \
             zarr-python; decoding all codes that it decodes fails",
            codec.name()
        ))),
    }
}

/// Scale and offset in the array's type (the shortest); in float64, in which numcodecs decodes integers; in the stored
/// type, in which it decodes floats. Numbers that the array's type does not hold are clamped if there are such codes.
fn scaled(codec: &Codec, source: ElementType, target: ElementType) -> Result<Vec<Vec<Codec>>> {
    let number = |name| -> Result<JsonScalar> {
        Ok(JsonScalar::from_json(&configured(codec, name).unwrap_or_default())?)
    };
    let affine: Codec = ScaleOffset::new(Some(number("offset")?), Some(number("scale")?)).into();
    let mut last = CastValue::new(target);
    if target.is_integer() {
        last.out_of_range = OutOfRange::Wrap;
    }
    let last: Codec = last.into();
    let first = |element_type: ElementType, out_of_range: OutOfRange| -> Codec {
        let mut first = CastValue::new(element_type);
        first.out_of_range = out_of_range;
        if source.is_integer() {
            // NumPy drops the fraction when it casts floats to integers.
            first.rounding = Some(Rounding::TowardsZero);
        }
        first.into()
    };
    let mut candidates = Vec::new();
    if source == target {
        candidates.push(vec![affine.clone()]);
    }
    candidates.push(vec![affine.clone(), last.clone()]);
    for out_of_range in [OutOfRange::Error, OutOfRange::Clamp] {
        let wide = first(ElementType::Float64, out_of_range);
        candidates.push(vec![wide, affine.clone(), last.clone()]);
        candidates.push(vec![first(target, out_of_range), affine.clone()]);
    }
    Ok(candidates)
}

/// `NumPy` rounds to nearest for floats and towards zero for integers. `cast_value` has one rounding for both
/// directions, so the one that decodes correctly is chosen.
fn cast(target: ElementType) -> Vec<Vec<Codec>> {
    let (nearest, to_zero) = (None, Some(Rounding::TowardsZero));
    let (modes, roundings) = if target.is_integer() {
        ([OutOfRange::Wrap, OutOfRange::Clamp].as_slice(), [to_zero, nearest])
    } else {
        // Integers out of range for a float array are infinite, and wrap does not apply.
        ([OutOfRange::Clamp].as_slice(), [nearest, to_zero])
    };
    let codec = |(out_of_range, rounding)| -> Vec<Codec> {
        let mut codec = CastValue::new(target);
        codec.rounding = rounding;
        codec.out_of_range = out_of_range;
        vec![codec.into()]
    };
    let all = modes.iter().flat_map(|&mode| roundings.map(|rounding| (mode, rounding)));
    all.map(codec).collect()
}

/// Elements of a type, all of up to 16 bits, that a chain can decode.
fn patterns(element_type: ElementType, chain: &Chain) -> Vec<u8> {
    let bits = element_type.bits();
    let count = if bits <= 16 { 1 << bits } else { SOME };
    let scalar = |number: u64| {
        let spread = number.wrapping_mul(SPREAD) >> (64 - bits);
        Scalar::from_bits(element_type, if bits <= 16 { number } else { spread })
    };
    let all: Vec<u8> = (0..count).flat_map(|number| scalar(number).to_ne_bytes()).collect();
    if chain.decode(&all).is_ok() {
        return all;
    }
    let decodes = |bytes: &&[u8]| chain.decode(bytes).is_ok();
    all.chunks_exact(element_type.size()).filter(decodes).flatten().copied().collect()
}

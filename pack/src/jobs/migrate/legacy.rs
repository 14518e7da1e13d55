//! Replaces codecs of numcodecs by `scale_offset` and `cast_value`.

use anyhow::anyhow;
use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use zarr_recast::{BindOptions, CastValue, Chain, Codec, JsonScalar, ScaleOffset};

use crate::check::difference::Differences;
use crate::choose::inverse::closest;
use crate::error::Result;
use crate::metadata::codecs::configured;

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

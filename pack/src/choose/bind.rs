//! Binds the codecs of a placement, with stored codes for NaN, missing markers and the fill value.

use anyhow::bail;
use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use zarr_recast::{BindOptions, CastValue, Chain, Codec, ScalarMap, ScaleOffset, fill_value};

use super::candidate::{Candidate, Special, SpecialLost, bound};
use super::codes::CodeAllocator;
use super::facts::Facts;
use super::grids::exceeds_bound;
use super::placement::Placement;
use super::proof::{check_promise, check_promised_ends, relative_from};
use crate::error::Result;
use crate::metadata::shard_codecs::unread_by_gdal;
use crate::options::{PackOptions, Reader};
use crate::scan::number::{comes_back, encoded, integer};

/// The lowest and the highest code of the data, none for a floating-point type, and whether elements wrap. Every
/// operation is monotonic, so the ends of the range, each with its scaled value, bound the codes of all elements;
/// if some wrap, only the elements themselves show their codes.
fn code_range(
    facts: &Facts<'_>,
    target: ElementType,
    ends: [(Scalar, Scalar); 2],
) -> Result<(Option<(i128, i128)>, bool)> {
    let PackOptions { rounding, out_of_range, .. } = *facts.options;
    // A requested type may be too small; a chosen type may not.
    let may_leave = facts.options.is_explicit() && facts.options.data_type.is_some();
    let mut codes = Vec::new();
    let mut wraps = false;
    for (value, scaled) in ends {
        match (scaled.cast(target, rounding, OutOfRange::Error), out_of_range) {
            (Ok(code), _) => codes.extend(integer(code)),
            (Err(_), OutOfRange::Clamp) if may_leave => {
                let clamped = scaled.cast(target, rounding, OutOfRange::Clamp);
                codes.extend(clamped.ok().and_then(integer));
            }
            (Err(_), OutOfRange::Wrap) if may_leave => wraps = true,
            (Err(_), mode) => bail!(
                "{value} becomes {scaled}, out of range for {target} ({}); use a wider \
                 --data-type, another --scale or --offset, or {}",
                Scalar::range(target),
                if mode == OutOfRange::Error {
                    "--out-of-range clamp"
                } else {
                    "--scale 1, which casts values as they are"
                }
            ),
        }
    }
    let range = codes.iter().min().copied().zip(codes.iter().max().copied());
    Ok((range.filter(|_| !wraps), wraps))
}

/// Binds the codecs of a placement, with stored codes for NaN, missing markers and the fill value.
pub(super) fn bind(facts: &Facts<'_>, placement: Placement) -> Result<Candidate> {
    facts.check_interrupt()?;
    let scale = placement.scale;
    if let Some(scale) = scale.value.filter(|scale| scale.is_zero() || !scale.is_finite()) {
        let text = fill_value::to_json(scale);
        bail!("--scale is {text} in {}; it must be finite and not 0", facts.working.element_type);
    }
    let scaled_ends =
        [placement.scaled(facts.working.least)?, placement.scaled(facts.working.greatest)?];
    let ends = [(facts.working.least, scaled_ends[0]), (facts.working.greatest, scaled_ends[1])];
    let (code_range, wraps) = code_range(facts, placement.target, ends)?;
    check_promised_ends(facts, &placement)?;
    check_promise(facts, &placement)?;
    let mut allocator = CodeAllocator::new(facts, placement, code_range, scaled_ends);
    match facts.named_nan {
        Some(kind) => allocator.add_named_nan(kind)?,
        None if facts.has_nan() => allocator.add_nan()?,
        None => {}
    }
    let mut may_decode_to_marker = false;
    for &marker in facts.survey.markers.values() {
        let is_hit = !wraps && !facts.is_one_to_one(&scale) && allocator.is_hit(marker);
        if is_hit && scale.avoids_markers {
            let text =
                format!("values next to {marker}, which marks missing ones, would decode to it");
            return Err(SpecialLost(text).into());
        }
        may_decode_to_marker |= is_hit;
        allocator.add(marker, true)?;
    }
    // Fill values in the order of their bits: which of them is the array's own makes no difference to the codecs.
    for &fill in &facts.survey.fill_values {
        if !fill.is_nan() && !facts.survey.markers.contains(fill) {
            allocator.add(fill, false)?;
        }
    }
    // NaN to come; for values that wrap, the free codes are not known.
    if !facts.has_nan() && !facts.options.no_nan && !wraps && facts.named_nan.is_none() {
        allocator.add_nan()?;
    }
    let CodeAllocator { nan, specials, .. } = allocator;
    let codecs = codecs(facts, &placement, nan, &specials);
    check_gdal(facts, &codecs)?;
    let source = facts.survey.element_type;
    for &fill in &facts.survey.fill_values {
        bound(source, fill, &codecs)?;
    }
    let chain = bound(source, facts.survey.fill_value, &codecs)?;
    check_markers(facts, &chain)?;
    check_fill_values(facts, &chain)?;
    let range_checked = range_checked(facts, &codecs)?;
    let step = 1.0 / scale.factor();
    Ok(Candidate {
        placement,
        codecs,
        rounder: None,
        range_checked,
        nan: nan.or_else(|| encoded(&chain, facts.named_nan?)),
        specials,
        code_range,
        only: scale.grid.filter(|_| exceeds_bound(facts.options, step)),
        may_decode_to_marker,
        relative_from: relative_from(facts, &placement),
        chain,
    })
}

/// Refuses codecs that GDAL does not have, if GDAL is among the readers.
fn check_gdal(facts: &Facts<'_>, codecs: &[Codec]) -> Result<()> {
    let source = facts.survey.element_type;
    if facts.options.readers.contains(&Reader::Gdal)
        && let Some(other) = unread_by_gdal(source, codecs)
    {
        bail!(
            "GDAL ({}) has no {other}; use another --data-type, --readers any, or leave \
             --readers out",
            Reader::GDAL
        );
    }
    Ok(())
}

/// Refuses a chain that does not return a marker bit for bit.
fn check_markers(facts: &Facts<'_>, chain: &Chain) -> Result<()> {
    for marker in facts.survey.markers.values().iter().chain(&facts.named_nan) {
        if !comes_back(chain, *marker) {
            let target = chain.encoded_type();
            let text =
                format!("{marker}, which marks missing values, does not come back from {target}");
            return Err(SpecialLost(text).into());
        }
    }
    Ok(())
}

/// Where every bit must stay, refuses a chain that gives a fill value's code to values with other bits, such as 0 beside −0: a chunk
/// of that code is not stored, and reads back as the fill value.
fn check_fill_values(facts: &Facts<'_>, chain: &Chain) -> Result<()> {
    let mut fills = facts.survey.fill_values.iter().filter(|_| facts.options.lossless);
    match fills.find(|fill| !comes_back(chain, **fill)) {
        Some(fill) => {
            let text = format!("the fill value {fill} does not come back bit for bit");
            Err(SpecialLost(text).into())
        }
        None => Ok(()),
    }
}

/// The same codecs with `out_of_range` as an error, if they have another mode.
fn range_checked(facts: &Facts<'_>, codecs: &[Codec]) -> Result<Option<Chain>> {
    let Some((Codec::CastValue(last), rest)) = codecs.split_last() else { return Ok(None) };
    if facts.options.out_of_range == OutOfRange::Error {
        return Ok(None);
    }
    let mut last = last.clone();
    last.out_of_range = OutOfRange::Error;
    let codecs = [rest, &[last.into()]].concat();
    let source = facts.survey.element_type;
    Ok(Some(Chain::bind(source, None, &codecs, &BindOptions::default())?))
}

/// The codecs themselves.
fn codecs(
    facts: &Facts<'_>,
    placement: &Placement,
    nan: Option<Scalar>,
    specials: &[Special],
) -> Vec<Codec> {
    let Placement { offset, scale, target, .. } = *placement;
    let PackOptions { rounding, out_of_range, .. } = *facts.options;
    let mut codecs = Vec::new();
    let stand_ins = specials.iter();
    let stand_ins: Vec<(Scalar, Scalar)> =
        stand_ins.filter_map(|special| Some((special.value, special.stand_in?))).collect();
    if facts.working.element_type != facts.survey.element_type || !stand_ins.is_empty() {
        let mut first = CastValue::new(facts.working.element_type);
        if facts.survey.element_type.is_integer() && facts.working.element_type.is_float() {
            // A decoded value may exceed the type by less than the bound.
            first.out_of_range = OutOfRange::Clamp;
        }
        first.scalar_map = map(&stand_ins);
        codecs.push(first.into());
    }
    if offset.is_some() || scale.value.is_some() {
        codecs.push(ScaleOffset::new(offset.map(Into::into), scale.value.map(Into::into)).into());
    }
    let nan = Scalar::nan(facts.working.element_type).zip(nan);
    let entries = specials.iter().filter_map(|special| special.entry);
    let entries: Vec<(Scalar, Scalar)> = nan.into_iter().chain(entries).collect();
    if target != facts.working.element_type || !entries.is_empty() {
        let mut last = CastValue::new(target);
        last.rounding = (rounding != Rounding::NearestEven).then_some(rounding);
        last.out_of_range = out_of_range;
        last.scalar_map = map(&entries);
        codecs.push(last.into());
    }
    codecs
}

/// A map that encodes and decodes each pair; `None` without pairs.
fn map(pairs: &[(Scalar, Scalar)]) -> Option<ScalarMap> {
    (!pairs.is_empty()).then(|| ScalarMap {
        encode: Some(pairs.iter().copied().collect()),
        decode: Some(pairs.iter().map(|&(value, code)| (code, value)).collect()),
    })
}

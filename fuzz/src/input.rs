//! Types, elements, steps and codecs, as a fuzzer's bytes choose them.

use arbitrary::{Result, Unstructured};
use recast_kernels::{Cast, ElementType, FloatOverflow, OutOfRange, Rounding, Scalar, Affine};

pub(crate) fn element_type(u: &mut Unstructured) -> Result<ElementType> {
    u.choose(ElementType::ALL).copied()
}

/// Any bits, or a usual number, or the neighbour of one of the type's ends and special values, or of a power of two.
pub(crate) fn element(u: &mut Unstructured, element_type: ElementType) -> Result<u64> {
    const USUAL: [f64; 12] =
        [0.0, -0.0, 0.5, 1.0, 1.5, 2.0, 10.0, 0.1, 100.0, 255.5, 32768.0, 65519.99];
    // Powers of two are a part of what was 6 before, so that seeds keep their meaning.
    let choice = u.arbitrary::<u8>()?;
    let special = match choice % 8 {
        0 => Some(Scalar::zero(element_type)),
        1 => Some(Scalar::max(element_type)),
        2 => Some(Scalar::min(element_type)),
        3 => Scalar::nan(element_type),
        4 => Scalar::infinity(element_type, u.arbitrary()?),
        5 => {
            let number = *u.choose(&USUAL)? * if u.arbitrary()? { 1.0 } else { -1.0 };
            nearest(number, element_type)
        }
        6 if choice >= 128 => {
            let power = 1_i128 << u.int_in_range(0..=64)?;
            let integer = power + i128::from(u.int_in_range(-3..=3)?);
            let integer = if u.arbitrary()? { integer } else { -integer };
            exactly(integer, element_type).or_else(|| nearest(integer as f64, element_type))
        }
        6 => {
            let exponent = u.int_in_range(-160..=160)?;
            nearest(f64::from(u.arbitrary::<i16>()?) * 2_f64.powi(exponent), element_type)
        }
        _ => {
            let size = element_type.size();
            return Ok(u.bytes(size)?.iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte)));
        }
    };
    let step = u.int_in_range(-2..=2)?;
    let bits = special.unwrap_or(Scalar::zero(element_type)).bits().wrapping_add_signed(step);
    Ok(bits & (u64::MAX >> (64 - 8 * element_type.size())))
}

/// The element of an integer type; `None` of another type, or out of its range.
fn exactly(integer: i128, element_type: ElementType) -> Option<Scalar> {
    let number = u64::try_from(integer).map(Scalar::from);
    let number = number.or_else(|_| i64::try_from(integer).map(Scalar::from)).ok()?;
    number.cast(element_type, Rounding::NearestEven, OutOfRange::Error).ok()
}

fn nearest(number: f64, element_type: ElementType) -> Option<Scalar> {
    Scalar::from(number).cast(element_type, Rounding::TowardsZero, OutOfRange::Clamp).ok()
}

pub(crate) fn elements(u: &mut Unstructured, element_type: ElementType) -> Result<Vec<u64>> {
    let count = u.int_in_range(1..=40)?;
    (0..count).map(|_| element(u, element_type)).collect()
}

pub(crate) fn scalar(u: &mut Unstructured, element_type: ElementType) -> Result<Scalar> {
    Ok(Scalar::from_bits(element_type, element(u, element_type)?))
}

/// A scalar map: most often a short one.
pub(crate) fn map(
    u: &mut Unstructured,
    source: ElementType,
    target: ElementType,
) -> Result<Vec<(Scalar, Scalar)>> {
    let entries = *u.choose(&[0, 0, 0, 1, 2, 3, 9, 20])?;
    (0..entries).map(|_| Ok((scalar(u, source)?, scalar(u, target)?))).collect()
}

/// What `cast_value` says, but for its map; `wrap` only where it has a meaning.
pub(crate) fn cast_without_map(u: &mut Unstructured) -> Result<Cast> {
    let target = element_type(u)?;
    let modes: &[OutOfRange] = if target.is_integer() {
        OutOfRange::ALL
    } else {
        &[OutOfRange::Error, OutOfRange::Clamp]
    };
    let rounding = *u.choose(Rounding::ALL)?;
    Ok(Cast::new(target).rounding(rounding).out_of_range(*u.choose(modes)?))
}

pub(crate) fn cast(u: &mut Unstructured, source: ElementType) -> Result<Cast> {
    let cast = cast_without_map(u)?;
    let map = map(u, source, cast.target)?;
    Ok(cast.map(map))
}

pub(crate) fn scale_offset(
    u: &mut Unstructured,
    element_type: ElementType,
    overflow: FloatOverflow,
) -> Result<Affine> {
    let mut parameter =
        || if u.arbitrary()? { scalar(u, element_type).map(Some) } else { Ok(None) };
    let offset = parameter()?.filter(|offset| offset.is_finite());
    let scale = parameter()?.filter(|scale| scale.is_finite() && !scale.is_zero());
    Ok(Affine::new(offset, scale).overflow(overflow))
}

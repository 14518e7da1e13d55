//! Casts from floats to integers.

use std::marker::PhantomData;

use super::{preimage, with_rounding};
use crate::ops::float::{Finite, FloatUnit, HeldBelow, Remainder, ReplaceNan, Scale};
use crate::ops::float_to_int::{HeldToI32, LowBits, ToI32};
use crate::ops::load;
use crate::ops::store::{CheckedI8, CheckedI16, LowI8, LowI16, SaturatedI8, SaturatedI16};
use crate::pipeline::{Each, Load, Retry, Same, Then, Units, stage};
use crate::simd::{NearestEven, Round, Simd};
use crate::stages::Stage;
use crate::{Cast, ElementType, OutOfRange, Rounding, Scalar, ScaleOffset, reference};

/// The cast, with an entry whose key is NaN.
pub(super) fn bind<S: Simd>(
    simd: S,
    source: ElementType,
    cast: &Cast,
    entry: Option<(Scalar, Scalar)>,
) -> Option<Stage> {
    if cast.target.bits() < 8 {
        return None;
    }
    let domain = match source {
        ElementType::Float64 => ElementType::Float64,
        _ => ElementType::Float32,
    };
    let nan = match entry {
        None => None,
        Some((key, output)) if key.is_nan() => Some(preimage(output, domain, cast)?.to_f64()),
        Some(_) => return None,
    };
    match source {
        ElementType::Float16 => rounded(simd, load::Float16, cast, nan),
        ElementType::BFloat16 => rounded(simd, load::BFloat16, cast, nan),
        ElementType::Float32 => rounded(simd, load::Float32, cast, nan),
        ElementType::Float64 => rounded(simd, load::Float64, cast, nan),
        _ => None,
    }
}

/// Scale and offset, then the cast to nearest-even.
pub(super) fn bind_scaled<S: Simd>(
    simd: S,
    source: ElementType,
    parameters: &ScaleOffset,
    cast: &Cast,
) -> Option<Stage> {
    fn typed<S: Simd, L: Load<S, Unit: FloatUnit<S>>>(
        simd: S,
        load: L,
        parameters: &ScaleOffset,
        cast: &Cast,
        nan: Option<f64>,
    ) -> Option<Stage> {
        let scalar = <L::Unit as FloatUnit<S>>::scalar;
        // A missing offset or scale stands here as its neutral element.
        let scaled = Scale {
            offset: scalar(parameters.offset.map_or(0.0, |offset| offset.to_f64())),
            scale: scalar(parameters.scale.map_or(1.0, |scale| scale.to_f64())),
        };
        match nan {
            None => to_int::<S, L, _, NearestEven>(simd, load, scaled, cast),
            Some(nan) => {
                let replaced = Then(scaled, ReplaceNan { value: scalar(nan) });
                to_int::<S, L, _, NearestEven>(simd, load, replaced, cast)
            }
        }
    }
    let is_common = cast.rounding == Rounding::NearestEven
        && cast.out_of_range != OutOfRange::Wrap
        && cast.target.is_integer()
        && matches!(cast.target.bits(), 8 | 16);
    if !is_common {
        return None;
    }
    let nan = match cast.map[..] {
        [] => None,
        // With any other key the order of map and overflow would matter.
        [(key, output)] if key.is_nan() => Some(preimage(output, source, cast)?.to_f64()),
        _ => return None,
    };
    match source {
        ElementType::Float32 => typed(simd, load::Float32, parameters, cast, nan),
        ElementType::Float64 => typed(simd, load::Float64, parameters, cast, nan),
        _ => None,
    }
}

/// The cast of what `load` gives, NaN replaced. To nearest-even it has a loop without a replacement; the
/// other roundings replace NaN by itself where there is no entry.
fn rounded<S: Simd, L: Load<S, Unit: FloatUnit<S>>>(
    simd: S,
    load: L,
    cast: &Cast,
    nan: Option<f64>,
) -> Option<Stage> {
    if cast.rounding == Rounding::NearestEven && nan.is_none() {
        return to_int::<S, L, _, NearestEven>(simd, load, Same, cast);
    }
    let value = <L::Unit as FloatUnit<S>>::scalar(nan.unwrap_or(f64::NAN));
    let front = ReplaceNan { value };
    with_rounding!(cast.rounding, R => to_int::<S, L, _, R>(simd, load, front, cast))
}

/// The cast of what `load` and `front` give.
fn to_int<S, L, E, R>(simd: S, load: L, front: E, cast: &Cast) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit: FloatUnit<S>>,
    E: Each<S, L::Unit, Out = L::Unit>,
    R: Round,
{
    let scalar = <L::Unit as FloatUnit<S>>::scalar;
    let max = scalar(reference::integer(Scalar::max(cast.target)) as f64);
    let checked = Then(front, ToI32::<R>(PhantomData));
    let held = Then(front, Then(Finite, Then(HeldBelow { max }, HeldToI32::<R>(PhantomData))));
    let low = Then(front, LowBits::<R>(PhantomData));
    let remainder = Remainder { modulus: scalar(65_536.0), inverse: scalar(1.0 / 65_536.0) };
    let remainder = Then(front, Then(Finite, Then(remainder, HeldToI32::<R>(PhantomData))));
    let signed = cast.target.is_signed();
    Some(match (cast.out_of_range, cast.target.size(), signed) {
        (OutOfRange::Error, 1, false) => {
            stage(simd, Units(load, checked, CheckedI8::<false> { beyond: !0xff }))
        }
        (OutOfRange::Error, 1, true) => {
            stage(simd, Units(load, checked, CheckedI8::<true> { beyond: !0xff }))
        }
        (OutOfRange::Error, 2, false) => {
            stage(simd, Units(load, checked, CheckedI16::<false> { beyond: !0xffff }))
        }
        (OutOfRange::Error, 2, true) => {
            stage(simd, Units(load, checked, CheckedI16::<true> { beyond: !0xffff }))
        }
        (OutOfRange::Clamp, 1, false) => stage(simd, Units(load, held, SaturatedI8::<false>)),
        (OutOfRange::Clamp, 1, true) => stage(simd, Units(load, held, SaturatedI8::<true>)),
        (OutOfRange::Clamp, 2, false) => stage(simd, Units(load, held, SaturatedI16::<false>)),
        (OutOfRange::Clamp, 2, true) => stage(simd, Units(load, held, SaturatedI16::<true>)),
        (OutOfRange::Wrap, 1, _) => {
            let fast = stage(simd, Units(load, low, LowI8));
            Retry { fast, general: stage(simd, Units(load, remainder, LowI8)) }.stage()
        }
        (OutOfRange::Wrap, 2, _) => {
            let fast = stage(simd, Units(load, low, LowI16));
            Retry { fast, general: stage(simd, Units(load, remainder, LowI16)) }.stage()
        }
        _ => return None,
    })
}

//! Casts among `float16`, `bfloat16`, `float32` and `float64`.

use super::class::FloatType;
use super::{nan_entry, with_rounding};
use crate::element::BINARY16;
use crate::ops::float::ReplaceNan;
use crate::ops::float_to_float::{
    AsF16, BeforeF16, Below, BelowInfinity, OddForShort, Quiet, ToBf16, ToF32, UpperHalves,
};
use crate::ops::float_to_int::Widened;
use crate::ops::load;
use crate::ops::small_float::Encode;
use crate::ops::store::{LowI16, Whole};
use crate::pipeline::{Each, Load, Same, Then, Units, stage};
use crate::simd::{F32s, F64s, NearestEven, Round, Simd};
use crate::stages::Stage;
use crate::{Cast, ElementType, OutOfRange, Rounding, Scalar};
use alloc::vec::Vec;

/// The cast, with an entry whose key is NaN. It is replaced where the value that takes its place is exact.
pub(super) fn bind<S: Simd>(
    simd: S,
    source: FloatType,
    target: FloatType,
    cast: &Cast,
    entry: Option<(Scalar, Scalar)>,
) -> Option<Vec<Stage>> {
    let fails = cast.out_of_range != OutOfRange::Clamp;
    match target {
        FloatType::Float64 => {
            let nan = nan_entry(entry, ElementType::Float64, cast)?;
            Some(vec![match source {
                FloatType::Float16 => to_double(simd, load::Float16, nan),
                FloatType::BFloat16 => to_double(simd, load::BFloat16, nan),
                FloatType::Float32 => to_double(simd, load::Float32, nan),
                FloatType::Float64 => {
                    let value = nan?;
                    stage(simd, Units(load::Float64, ReplaceNan { value }, Whole))
                }
            }])
        }
        FloatType::Float32 => {
            let nan = nan_entry(entry, source.domain(), cast)?;
            Some(vec![match (source, nan) {
                (FloatType::Float64, None) => single(simd, Same, cast.rounding, fails),
                (FloatType::Float64, Some(value)) => {
                    single(simd, ReplaceNan { value }, cast.rounding, fails)
                }
                (FloatType::Float16 | FloatType::BFloat16 | FloatType::Float32, _) => {
                    to_single(simd, source, nan)?
                }
            }])
        }
        FloatType::Float16 | FloatType::BFloat16 => {
            let short = Short { is_float16: target == FloatType::Float16, fails };
            let nan = nan_entry(entry, source.domain(), cast)?;
            Some(vec![with_rounding!(cast.rounding, rounding => match (source, nan) {
                (FloatType::Float64, None) => {
                    let odd = OddForShort(rounding);
                    short.bind(simd, load::Float64, odd, rounding)
                }
                (FloatType::Float64, Some(value)) => {
                    let odd = Then(ReplaceNan { value }, OddForShort(rounding));
                    short.bind(simd, load::Float64, odd, rounding)
                }
                (FloatType::Float32, None) => short.bind(simd, load::Float32, Same, rounding),
                (FloatType::Float32, Some(nan)) => {
                    let replaced = ReplaceNan { value: nan as f32 };
                    short.bind(simd, load::Float32, replaced, rounding)
                }
                (FloatType::Float16, None) if cast.rounding == Rounding::NearestEven => {
                    to_bf16(simd, load::Float16, Same, NearestEven, fails)
                }
                (FloatType::BFloat16, None) if cast.rounding == Rounding::NearestEven => {
                    to_f16(simd, load::BFloat16, Same, NearestEven, fails)
                }
                // By way of float32.
                (FloatType::Float16 | FloatType::BFloat16, _) => {
                    let narrow = short.bind(simd, load::Float32, Same, rounding);
                    return Some(vec![to_single(simd, source, nan)?, narrow]);
                }
            })])
        }
    }
}

/// float64 of a narrower float.
fn to_double<S, L>(simd: S, load: L, nan: Option<f64>) -> Stage
where
    S: Simd,
    L: Load<S, Unit = F32s<S>>,
{
    match nan {
        None => stage(simd, Units(load, Widened, Whole)),
        Some(value) => stage(simd, Units(load, Then(Widened, ReplaceNan { value }), Whole)),
    }
}

/// float32 of a float of no more bits; none for a copy.
fn to_single<S: Simd>(simd: S, source: FloatType, nan: Option<f64>) -> Option<Stage> {
    let nan = nan.map(|nan| ReplaceNan { value: nan as f32 });
    Some(match (source, nan) {
        (FloatType::Float16, None) => stage(simd, Units(load::Float16, Same, Whole)),
        (FloatType::Float16, Some(nan)) => stage(simd, Units(load::Float16, nan, Whole)),
        (FloatType::BFloat16, None) => stage(simd, Units(load::BFloat16, Quiet, Whole)),
        (FloatType::BFloat16, Some(nan)) => stage(simd, Units(load::BFloat16, nan, Whole)),
        (FloatType::Float32, Some(nan)) => stage(simd, Units(load::Float32, nan, Whole)),
        (FloatType::Float32, None) | (FloatType::Float64, _) => return None,
    })
}

/// float32 of float64.
fn single<S, E>(simd: S, front: E, rounding: Rounding, fails: bool) -> Stage
where
    S: Simd,
    E: Each<S, F64s<S>, Out = F64s<S>>,
{
    with_rounding!(rounding, rounding => {
        let narrowed = Then(front, ToF32(rounding));
        if fails {
            let below = Below { limit: f32::INFINITY };
            stage(simd, Units(load::Float64, Then(narrowed, below), Whole))
        } else {
            stage(simd, Units(load::Float64, narrowed, Whole))
        }
    })
}

/// A float type of 16 bits as a target.
#[derive(Clone, Copy)]
pub(super) struct Short {
    /// `float16`, or else `bfloat16`.
    pub(super) is_float16: bool,
    /// Whether what is out of range fails.
    pub(super) fails: bool,
}

impl Short {
    /// float32, which `front` gives, rounded.
    pub(super) fn bind<S, L, E>(self, simd: S, load: L, front: E, rounding: impl Round) -> Stage
    where
        S: Simd,
        L: Load<S>,
        E: Each<S, L::Unit, Out = F32s<S>>,
    {
        if self.is_float16 {
            to_f16(simd, load, front, rounding, self.fails)
        } else {
            to_bf16(simd, load, front, rounding, self.fails)
        }
    }
}

/// float32, which `front` gives, to `float16`.
pub(super) fn to_f16<S, L, E>(
    simd: S,
    load: L,
    front: E,
    rounding: impl Round,
    fails: bool,
) -> Stage
where
    S: Simd,
    L: Load<S>,
    E: Each<S, L::Unit, Out = F32s<S>>,
{
    // The least magnitude that may not round into range; the reference lets the others pass.
    let (to_nearest, limit) = match rounding.rounding() {
        Rounding::NearestEven | Rounding::NearestAway => (true, 65_520.0),
        Rounding::TowardsZero => (false, 65_536.0),
        Rounding::TowardsPositive | Rounding::TowardsNegative => (false, 65_504.004),
    };
    if !S::ROUNDS_F16 {
        if !to_nearest && fails {
            // As for `Below`: an infinity may stand for a number beyond float32.
            let encode = Encode::<_, true>::new(BINARY16, rounding, true);
            return stage(simd, Units(load, Then(front, encode), LowI16));
        }
        if !to_nearest {
            let encode = Encode::<_, false>::new(BINARY16, rounding, false);
            return stage(simd, Units(load, Then(front, encode), LowI16));
        }
    }
    let (before, store) = (BeforeF16(rounding), AsF16(rounding));
    if fails {
        let below = Then(front, Below { limit });
        stage(simd, Units(load, Then(below, before), store))
    } else {
        stage(simd, Units(load, Then(front, before), store))
    }
}

fn to_bf16<S, L, E>(simd: S, load: L, front: E, rounding: impl Round, fails: bool) -> Stage
where
    S: Simd,
    L: Load<S>,
    E: Each<S, L::Unit, Out = F32s<S>>,
{
    let rounded = Then(front, ToBf16(rounding));
    if fails {
        stage(simd, Units(load, Then(rounded, BelowInfinity), UpperHalves))
    } else {
        stage(simd, Units(load, rounded, UpperHalves))
    }
}

/// The stage, if one is needed, that makes values on the way to a narrower float than float32 a float32 that
/// rounds as they do.
#[allow(clippy::option_option)] // no stage, and none that can be had
pub(super) fn to_odd_f32<S: Simd>(
    simd: S,
    source: FloatType,
    entry: Option<(Scalar, f64)>,
) -> Option<Option<Stage>> {
    let nan = match entry {
        None => None,
        Some((key, value)) if key.is_nan() => Some(value),
        Some(_) => return None,
    };
    // The direction matters only for tiny numbers, which this one keeps apart from zero.
    let odd = OddForShort(Rounding::TowardsPositive);
    Some(match (source, nan) {
        (FloatType::Float64, None) => Some(stage(simd, Units(load::Float64, odd, Whole))),
        (FloatType::Float64, Some(value)) => {
            Some(stage(simd, Units(load::Float64, Then(ReplaceNan { value }, odd), Whole)))
        }
        (FloatType::Float16 | FloatType::BFloat16 | FloatType::Float32, _) => {
            to_single(simd, source, nan)
        }
    })
}

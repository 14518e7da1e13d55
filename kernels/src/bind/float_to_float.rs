//! Casts among `float16`, `bfloat16`, `float32` and `float64`.

use super::class::FloatType;
use super::front::{Front, with_nan, with_rounding_or_nan};
use super::values::Entry;
use super::variants::retry_infinities;
use crate::element::{BFLOAT16, BINARY16, BINARY32};
use crate::ops::float::{FloatUnit, NumberWithin, ReplaceNan};
use crate::ops::float_to_float::{
    BeforeF16, Below, BelowInfinity, Bf16Carry, ClampedToF32, OddForShort, Quiet, ToBf16, ToF32,
};
use crate::ops::float_to_int::Widened;
use crate::ops::load;
use crate::ops::small_float::EncodeSmallFloat;
use crate::ops::store::{AsF16, LowI16, StoreFull, UpperHalves};
use crate::pipeline::{Each, Load, LoadThen, Same, Then, Units, stage};
use crate::simd::{F32s, F64s, FloatElement, NearestEven, Round, Simd, Unit};
use crate::stages::Stage;
use crate::{Cast, ElementType, FloatFormat, OutOfRange, Rounding};
use alloc::vec::Vec;
use num_traits::Float;

/// The cast, with a map of NaN alone; none for a copy, and for a map with another rounding than nearest-even, which has a pass
/// of its own.
pub(super) fn bind<S: Simd>(
    simd: S,
    source: FloatType,
    target: FloatType,
    cast: &Cast,
    map: &[Entry],
) -> Option<Vec<Stage>> {
    let fails = cast.out_of_range != OutOfRange::Clamp;
    let domain = match target {
        FloatType::Float64 => ElementType::Float64,
        FloatType::Float32 | FloatType::Float16 | FloatType::BFloat16 => source.domain(),
    };
    let front = Front::of(map, domain, cast)?;
    Some(match (source, target) {
        (FloatType::Float16, FloatType::Float64) => {
            with_nan!(front, load = LoadThen(load::Float16, Widened) => vec![kept(simd, load)])
        }
        (FloatType::BFloat16, FloatType::Float64) => {
            with_nan!(front, load = LoadThen(load::BFloat16, Widened) => vec![kept(simd, load)])
        }
        (FloatType::Float32, FloatType::Float64) => {
            with_nan!(front, load = LoadThen(load::Float32, Widened) => vec![kept(simd, load)])
        }
        (FloatType::Float64, FloatType::Float64) => {
            let Front::Nan(value) = front else { return None };
            vec![kept(simd, LoadThen(load::Float64, ReplaceNan { value }))]
        }
        (FloatType::Float64, FloatType::Float32) => {
            vec![with_rounding_or_nan!(cast.rounding, front, rounding, load = load::Float64 => {
                single(simd, load, rounding, fails)
            })]
        }
        (FloatType::Float16 | FloatType::BFloat16 | FloatType::Float32, FloatType::Float32) => {
            vec![to_single(simd, source, front)?]
        }
        (_, FloatType::Float16 | FloatType::BFloat16) => {
            let short = Float16Target { is_float16: target == FloatType::Float16, fails };
            vec![match source {
                FloatType::Float64 => {
                    with_rounding_or_nan!(cast.rounding, front, rounding, load = load::Float64 => {
                        short.bind(simd, load, OddForShort(rounding), rounding)
                    })
                }
                FloatType::Float32 => {
                    with_rounding_or_nan!(cast.rounding, front, rounding, load = load::Float32 => {
                        short.bind(simd, load, Same, rounding)
                    })
                }
                FloatType::Float16 if cast.rounding == Rounding::NearestEven => {
                    with_nan!(front, load = load::Float16 => {
                        to_bf16(simd, load, Same, NearestEven, fails)
                    })
                }
                FloatType::BFloat16 if cast.rounding == Rounding::NearestEven => {
                    with_nan!(front, load = load::BFloat16 => {
                        to_f16(simd, load, Same, NearestEven, fails)
                    })
                }
                // By way of float32.
                FloatType::Float16 | FloatType::BFloat16 => {
                    let narrow = short.bind(simd, load::Float32, Same, cast.rounding);
                    return Some(vec![to_single(simd, source, front)?, narrow]);
                }
            }]
        }
    })
}

/// The result of a load.
pub(super) fn kept<S: Simd, L: Load<S, Unit: Unit<S>>>(simd: S, load: L) -> Stage {
    stage(simd, Units(load, Same, StoreFull))
}

/// The numbers that round into the range of a narrower format.
pub(super) fn numbers_within<S: Simd, U: FloatUnit<S>, R: Round>(
    format: FloatFormat,
    rounding: R,
) -> NumberWithin<U::Scalar, R> {
    let next_down = |x: U::Scalar| -FloatElement::next_up(-x);
    let power = Float::powi(2.0, format.max_exponent() + 1);
    let unit = Float::powi(2.0, format.max_exponent() - format.mantissa_bits as i32);
    let direction = rounding.rounding();
    let max = |outwards| match direction {
        Rounding::TowardsPositive | Rounding::TowardsNegative if outwards => {
            U::scalar(power - unit)
        }
        Rounding::TowardsZero | Rounding::TowardsPositive | Rounding::TowardsNegative => {
            next_down(U::scalar(power))
        }
        // The greatest number is odd, so a tie leaves the range.
        Rounding::NearestEven | Rounding::NearestAway => next_down(U::scalar(power - unit / 2.0)),
    };
    NumberWithin {
        min: -max(direction == Rounding::TowardsNegative),
        max: max(direction == Rounding::TowardsPositive),
        rounding,
    }
}

/// float32 of a float of no more bits; none for a copy.
fn to_single<S: Simd>(simd: S, source: FloatType, front: Front) -> Option<Stage> {
    match source {
        FloatType::Float16 => with_nan!(front, load = load::Float16 => Some(kept(simd, load))),
        FloatType::BFloat16 => match front {
            Front::None => Some(kept(simd, LoadThen(load::BFloat16, Quiet))),
            Front::Nan(value) => Some(kept(simd, LoadThen(load::BFloat16, ReplaceNan { value }))),
            Front::Key { .. } => None,
        },
        FloatType::Float32 => {
            let Front::Nan(value) = front else { return None };
            Some(kept(simd, LoadThen(load::Float32, ReplaceNan { value })))
        }
        FloatType::Float64 => None,
    }
}

/// float32 of float64.
fn single<S, L>(simd: S, load: L, rounding: impl Round, fails: bool) -> Stage
where
    S: Simd,
    L: Load<S, Unit = F64s<S>>,
{
    if !fails {
        return stage(simd, Units(load, ToF32(rounding), StoreFull));
    }
    let below = Then(ToF32(rounding), Below { limit: f32::INFINITY });
    retry_infinities(stage(simd, Units(load, below, StoreFull)), || {
        let within = numbers_within::<S, F64s<S>, _>(BINARY32, rounding);
        stage(simd, Units(load, Then(within, ToF32(rounding)), StoreFull))
    })
}

/// A float type of 16 bits as a target.
#[derive(Clone, Copy)]
pub(super) struct Float16Target {
    /// `float16`, or else `bfloat16`.
    pub(super) is_float16: bool,
    /// Whether a value out of range fails.
    pub(super) fails: bool,
}

impl Float16Target {
    /// The floats that `load` gives, which `narrow` makes float32, rounded.
    pub(super) fn bind<S, L, N>(self, simd: S, load: L, narrow: N, rounding: impl Round) -> Stage
    where
        S: Simd,
        L: Load<S, Unit: FloatUnit<S>>,
        N: Each<S, L::Unit, Out = F32s<S>>,
    {
        if self.is_float16 {
            to_f16(simd, load, narrow, rounding, self.fails)
        } else {
            to_bf16(simd, load, narrow, rounding, self.fails)
        }
    }
}

/// As [`Float16Target::bind`], to `float16`.
pub(super) fn to_f16<S, L, N>(
    simd: S,
    load: L,
    narrow: N,
    rounding: impl Round,
    fails: bool,
) -> Stage
where
    S: Simd,
    L: Load<S, Unit: FloatUnit<S>>,
    N: Each<S, L::Unit, Out = F32s<S>>,
{
    if !fails {
        return as_f16(simd, load, narrow, rounding);
    }
    // The least magnitude that may not round into range.
    let (to_nearest, limit) = match rounding.rounding() {
        Rounding::NearestEven | Rounding::NearestAway => (true, 65_520.0),
        Rounding::TowardsZero => (false, 65_536.0),
        Rounding::TowardsPositive | Rounding::TowardsNegative => (false, 65_504.004),
    };
    let fast = if S::ROUNDS_F16 || to_nearest {
        let below = Then(Then(narrow, Below { limit }), BeforeF16(rounding));
        stage(simd, Units(load, below, AsF16(rounding)))
    } else {
        // As for `Below`: an infinity may stand for a number beyond float32.
        let encode = EncodeSmallFloat::<_, true>::new(BINARY16, rounding, true);
        stage(simd, Units(load, Then(narrow, encode), LowI16))
    };
    retry_infinities(fast, || {
        let within = numbers_within::<S, L::Unit, _>(BINARY16, rounding);
        as_f16(simd, load, Then(within, narrow), rounding)
    })
}

/// float32, which `each` gives, to `float16`; a value out of range becomes infinite.
fn as_f16<S, L, E>(simd: S, load: L, each: E, rounding: impl Round) -> Stage
where
    S: Simd,
    L: Load<S>,
    E: Each<S, L::Unit, Out = F32s<S>>,
{
    match rounding.rounding() {
        Rounding::TowardsZero | Rounding::TowardsPositive | Rounding::TowardsNegative
            if !S::ROUNDS_F16 =>
        {
            let encode = EncodeSmallFloat::<_, false>::new(BINARY16, rounding, false);
            stage(simd, Units(load, Then(each, encode), LowI16))
        }
        Rounding::NearestEven
        | Rounding::NearestAway
        | Rounding::TowardsZero
        | Rounding::TowardsPositive
        | Rounding::TowardsNegative => {
            stage(simd, Units(load, Then(each, BeforeF16(rounding)), AsF16(rounding)))
        }
    }
}

/// As [`Float16Target::bind`], to `bfloat16`.
pub(super) fn to_bf16<S, L, N>(
    simd: S,
    load: L,
    narrow: N,
    rounding: impl Round,
    fails: bool,
) -> Stage
where
    S: Simd,
    L: Load<S, Unit: FloatUnit<S>>,
    N: Each<S, L::Unit, Out = F32s<S>>,
{
    let to_bf16 = ToBf16(Bf16Carry::new(rounding));
    let rounded = Then(narrow, to_bf16);
    if !fails {
        return stage(simd, Units(load, rounded, UpperHalves));
    }
    let fast = stage(simd, Units(load, Then(rounded, BelowInfinity), UpperHalves));
    retry_infinities(fast, || {
        let within = numbers_within::<S, L::Unit, _>(BFLOAT16, rounding);
        stage(simd, Units(load, Then(Then(within, narrow), to_bf16), UpperHalves))
    })
}

/// The treatment of numbers beyond float32, on the way to a narrower float.
#[derive(Clone, Copy)]
pub(super) enum Beyond {
    /// They become infinite.
    Infinite,
    /// The greatest of float32.
    Clamped,
    /// Numbers out of this range fail.
    Fails(NumberWithin<f64, Rounding>),
}

/// The stage, if one is needed, that makes values on the way to a narrower float than float32 a float32 that
/// rounds as they do. `beyond` is of float64.
pub(super) fn to_odd_f32<S: Simd>(simd: S, source: FloatType, beyond: Beyond) -> Option<Stage> {
    // The direction matters only for tiny numbers, which this one keeps apart from zero.
    let odd = OddForShort(Rounding::TowardsPositive);
    match (source, beyond) {
        (FloatType::Float64, Beyond::Infinite) => {
            Some(stage(simd, Units(load::Float64, odd, StoreFull)))
        }
        (FloatType::Float64, Beyond::Clamped) => {
            Some(stage(simd, Units(load::Float64, Then(ClampedToF32, odd), StoreFull)))
        }
        (FloatType::Float64, Beyond::Fails(within)) => {
            Some(stage(simd, Units(load::Float64, Then(within, odd), StoreFull)))
        }
        (FloatType::Float16 | FloatType::BFloat16 | FloatType::Float32, _) => {
            to_single(simd, source, Front::None)
        }
    }
}

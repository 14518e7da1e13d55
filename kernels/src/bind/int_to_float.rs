//! Casts from integers of whole bytes to `float16`, `bfloat16`, `float32` and `float64`.

use super::class::{FloatType, IntType, Width};
use super::float_to_float::{Float16Target, to_f16};
use super::{number_entry, with_rounding};
use crate::ops::float::{FloatUnit, ReplaceFloat};
use crate::ops::float_to_float::{AsF16, Bits, FiniteToBf16, OddF32, UpperHalves};
use crate::ops::int::{AtMost, ClampedInt};
use crate::ops::int_to_float::{
    I32ToF32, I32ToF64, I32ToOddF32, I64ToF64, I64ToOddF64, IntegralToF32, U32ToF32,
};
use crate::ops::load;
use crate::ops::store::StoreFull;
use crate::pipeline::{Each, Load, Same, Store, Then, Units, stage};
use crate::simd::{F32s, I32s, NearestEven, Simd};
use crate::stages::Stage;
use crate::{Cast, OutOfRange, Rounding, Scalar};
use alloc::vec::Vec;

/// A key of a map, and the number that becomes its output.
type Entry = Option<(Scalar, f64)>;

/// The cast, of at most 16 bits to float32 and float64 with an entry.
pub(super) fn bind<S: Simd>(
    simd: S,
    source: IntType,
    target: FloatType,
    cast: &Cast,
    entry: Option<(Scalar, Scalar)>,
) -> Option<Vec<Stage>> {
    let entry = number_entry(entry, cast.target, cast)?;
    Some(match target {
        FloatType::Float64 => vec![to_double(simd, source, cast.rounding, entry)],
        FloatType::Float32 => vec![to_single(simd, source, cast.rounding, entry)],
        FloatType::Float16 | FloatType::BFloat16 => {
            let short = Float16Target {
                is_float16: target == FloatType::Float16,
                fails: cast.out_of_range != OutOfRange::Clamp,
            };
            to_short(simd, source, short, cast.rounding)
        }
    })
}

fn to_double<S: Simd>(simd: S, source: IntType, rounding: Rounding, entry: Entry) -> Stage {
    match (source.width, source.signed) {
        (Width::W8, true) => exact(simd, load::Int8, I32ToF64::<true>, entry),
        (Width::W8, false) => exact(simd, load::UInt8, I32ToF64::<true>, entry),
        (Width::W16, true) => exact(simd, load::Int16, I32ToF64::<true>, entry),
        (Width::W16, false) => exact(simd, load::UInt16, I32ToF64::<true>, entry),
        (Width::W32, true) => stage(simd, Units(load::Int32, I32ToF64::<true>, StoreFull)),
        (Width::W32, false) => stage(simd, Units(load::Int32, I32ToF64::<false>, StoreFull)),
        (Width::W64, true) => with_rounding!(rounding, rounding => {
            stage(simd, Units(load::Int64, I64ToF64::<_, true>(rounding), StoreFull))
        }),
        (Width::W64, false) => with_rounding!(rounding, rounding => {
            stage(simd, Units(load::Int64, I64ToF64::<_, false>(rounding), StoreFull))
        }),
    }
}

fn to_single<S: Simd>(simd: S, source: IntType, rounding: Rounding, entry: Entry) -> Stage {
    match (source.width, source.signed) {
        (Width::W8, true) => exact(simd, load::Int8, I32ToF32, entry),
        (Width::W8, false) => exact(simd, load::UInt8, I32ToF32, entry),
        (Width::W16, true) => exact(simd, load::Int16, I32ToF32, entry),
        (Width::W16, false) => exact(simd, load::UInt16, I32ToF32, entry),
        (Width::W32, signed) => match (rounding, signed) {
            (Rounding::NearestEven, true) => stage(simd, Units(load::Int32, I32ToF32, StoreFull)),
            (Rounding::NearestEven, false) => stage(simd, Units(load::Int32, U32ToF32, StoreFull)),
            // By way of float64, which holds them all.
            (
                Rounding::TowardsZero
                | Rounding::TowardsPositive
                | Rounding::TowardsNegative
                | Rounding::NearestAway,
                true,
            ) => {
                let rounded = Then(I32ToF64::<true>, IntegralToF32(rounding));
                stage(simd, Units(load::Int32, rounded, StoreFull))
            }
            (
                Rounding::TowardsZero
                | Rounding::TowardsPositive
                | Rounding::TowardsNegative
                | Rounding::NearestAway,
                false,
            ) => {
                let rounded = Then(I32ToF64::<false>, IntegralToF32(rounding));
                stage(simd, Units(load::Int32, rounded, StoreFull))
            }
        },
        (Width::W64, true) => with_rounding!(rounding, rounding => {
            stage(simd, Units(load::Int64, Then(I64ToOddF64::<true>, IntegralToF32(rounding)), StoreFull))
        }),
        (Width::W64, false) => with_rounding!(rounding, rounding => {
            stage(simd, Units(load::Int64, Then(I64ToOddF64::<false>, IntegralToF32(rounding)), StoreFull))
        }),
    }
}

/// A float32 that rounds to narrower floats as the integer does.
pub(super) fn to_odd_f32<S: Simd>(simd: S, source: IntType) -> Stage {
    match (source.width, source.signed) {
        (Width::W8, true) => exact(simd, load::Int8, I32ToF32, None),
        (Width::W8, false) => exact(simd, load::UInt8, I32ToF32, None),
        (Width::W16, true) => exact(simd, load::Int16, I32ToF32, None),
        (Width::W16, false) => exact(simd, load::UInt16, I32ToF32, None),
        (Width::W32, true) => stage(simd, Units(load::Int32, I32ToOddF32::<true>, StoreFull)),
        (Width::W32, false) => stage(simd, Units(load::Int32, I32ToOddF32::<false>, StoreFull)),
        (Width::W64, true) => {
            stage(simd, Units(load::Int64, Then(I64ToOddF64::<true>, OddF32), StoreFull))
        }
        (Width::W64, false) => {
            stage(simd, Units(load::Int64, Then(I64ToOddF64::<false>, OddF32), StoreFull))
        }
    }
}

/// To floats of 16 bits; 64 bits by way of float32.
fn to_short<S: Simd>(
    simd: S,
    source: IntType,
    target: Float16Target,
    rounding: Rounding,
) -> Vec<Stage> {
    vec![match (source.width, source.signed) {
        (Width::W8, true) => byte_to_short(simd, load::Int8, target),
        (Width::W8, false) => byte_to_short(simd, load::UInt8, target),
        (Width::W16, true) => exact_to_short(simd, load::Int16, target, rounding),
        (Width::W16, false) => exact_to_short(simd, load::UInt16, target, rounding),
        (Width::W32, signed) => match (target.is_float16, signed) {
            // Beyond 2^17 it makes no difference by how much it is out of range.
            (true, true) => {
                let clamped = ClampedInt::<true> { min: -BEYOND_F16, max: BEYOND_F16 };
                with_rounding!(rounding, rounding => {
                    to_f16(simd, load::Int32, Then(clamped, I32ToF32), Same, rounding, target.fails)
                })
            }
            (true, false) => {
                let clamped = AtMost::<false> { max: BEYOND_F16 };
                with_rounding!(rounding, rounding => {
                    to_f16(simd, load::Int32, Then(clamped, I32ToF32), Same, rounding, target.fails)
                })
            }
            (false, true) => finite_to_bf16(simd, load::Int32, I32ToOddF32::<true>, rounding),
            (false, false) => finite_to_bf16(simd, load::Int32, I32ToOddF32::<false>, rounding),
        },
        (Width::W64, _) => {
            let narrow = with_rounding!(rounding, rounding => {
                target.bind(simd, load::Float32, Same, Same, rounding)
            });
            return vec![to_odd_f32(simd, source), narrow];
        }
    }]
}

/// A magnitude out of the range of `float16`.
const BEYOND_F16: i64 = 1 << 17;

/// Integers of at most 16 bits, which `convert` makes floats that hold them all; a key is compared there.
fn exact<S, L, E>(simd: S, load: L, convert: E, entry: Entry) -> Stage
where
    S: Simd,
    L: Load<S, Unit = I32s<S>>,
    E: Each<S, I32s<S>, Out: FloatUnit<S>>,
    StoreFull: Store<S, E::Out>,
{
    match entry {
        None => stage(simd, Units(load, convert, StoreFull)),
        Some((key, value)) => {
            let scalar = <E::Out as FloatUnit<S>>::scalar;
            let replace = ReplaceFloat { key: scalar(key.to_f64()), value: scalar(value) };
            stage(simd, Units(load, Then(convert, replace), StoreFull))
        }
    }
}

/// 8 bits, which both formats have exactly.
fn byte_to_short<S, L>(simd: S, load: L, target: Float16Target) -> Stage
where
    S: Simd,
    L: Load<S, Unit = I32s<S>>,
{
    if target.is_float16 {
        stage(simd, Units(load, I32ToF32, AsF16(NearestEven)))
    } else {
        stage(simd, Units(load, Then(I32ToF32, Bits), UpperHalves))
    }
}

/// 16 bits, which float32 has exactly.
fn exact_to_short<S, L>(simd: S, load: L, target: Float16Target, rounding: Rounding) -> Stage
where
    S: Simd,
    L: Load<S, Unit = I32s<S>>,
{
    if target.is_float16 {
        with_rounding!(rounding, rounding => {
            to_f16(simd, load, I32ToF32, Same, rounding, target.fails)
        })
    } else {
        finite_to_bf16(simd, load, I32ToF32, rounding)
    }
}

/// Finite float32, of integers, all of which are in the range of `bfloat16`.
fn finite_to_bf16<S, L, E>(simd: S, load: L, each: E, rounding: Rounding) -> Stage
where
    S: Simd,
    L: Load<S>,
    E: Each<S, L::Unit, Out = F32s<S>>,
{
    with_rounding!(rounding, rounding => {
        stage(simd, Units(load, Then(each, FiniteToBf16(rounding)), UpperHalves))
    })
}

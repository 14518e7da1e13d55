//! Casts from integers of whole bytes to `float16`, `bfloat16`, `float32` and `float64`.

use super::class::{FloatType, IntType, Width};
use super::float_to_float::{Float16Target, to_f16};
use super::front::Front;
use super::values::Entry;
use super::variants::{TWO_KERNELS, with_bool, with_rounding};
use crate::exact::integer;
use crate::ops::float_to_float::{Bf16Carry, FiniteToBf16, OddF32, ToBits};
use crate::ops::int::{AtMost, ClampedInt, IntUnit, Low32, Saturated32, Within};
use crate::ops::int_to_float::{
    I32ToF32, I32ToF64, I32ToOddF32, I64ToF64, I64ToOddF64, IntegralToF32, U32ToF32,
};
use crate::ops::load;
use crate::ops::store::{AsF16, StoreFull, UpperHalves};
use crate::ops::substitute::{OfInt, ReplaceKey};
use crate::pipeline::{Each, Load, LoadThen, Retry, Same, Then, Units, stage};
use crate::simd::{F32s, I32s, NearestEven, Simd, Unit};
use crate::stages::Stage;
use crate::{Cast, ElementType, OutOfRange, Rounding};
use alloc::vec::Vec;

/// A key of a map, and the number that becomes its output.
type Replacement = Option<(i64, f64)>;

/// The cast, with a map of one key.
pub(super) fn bind<S: Simd>(
    simd: S,
    source: IntType,
    target: FloatType,
    cast: &Cast,
    map: &[Entry],
) -> Option<Vec<Stage>> {
    let domain = match (target, source.width) {
        (FloatType::Float64, _) | (FloatType::Float32, Width::W32 | Width::W64) => {
            ElementType::Float64
        }
        (FloatType::Float32, Width::W8 | Width::W16)
        | (FloatType::Float16 | FloatType::BFloat16, _) => ElementType::Float32,
    };
    let entry = match Front::of(map, domain, cast)? {
        Front::None => None,
        Front::Key { key, value, .. } => Some((integer(key) as i64, value)),
        Front::Nan(_) => return None,
    };
    Some(match target {
        FloatType::Float64 => vec![to_double(simd, source, cast.rounding, entry)],
        FloatType::Float32 => vec![to_single(simd, source, cast.rounding, entry)],
        FloatType::Float16 | FloatType::BFloat16 => {
            let short = Float16Target {
                is_float16: target == FloatType::Float16,
                fails: cast.out_of_range != OutOfRange::Clamp,
            };
            if let Some(direct) = to_short(simd, source, short, cast.rounding, entry) {
                return Some(vec![direct]);
            }
            let narrow = with_rounding!(cast.rounding, rounding => {
                short.bind(simd, load::Float32, Same, rounding)
            });
            vec![to_odd_f32(simd, source, entry), narrow]
        }
    })
}

fn to_double<S: Simd>(simd: S, source: IntType, rounding: Rounding, entry: Replacement) -> Stage {
    with_bool!(source.signed, SIGNED => match source.width {
        Width::W8 => converted(simd, load::Int8::<SIGNED>, I32ToF64::<true>, Same, entry),
        Width::W16 => converted(simd, load::Int16::<SIGNED>, I32ToF64::<true>, Same, entry),
        Width::W32 => converted(simd, load::Int32, I32ToF64::<SIGNED>, Same, entry),
        Width::W64 => with_rounding!(rounding, rounding => {
            converted(simd, load::Int64, I64ToF64::<_, SIGNED>(rounding), Same, entry)
        }),
    })
}

fn to_single<S: Simd>(simd: S, source: IntType, rounding: Rounding, entry: Replacement) -> Stage {
    let signed = source.signed;
    with_bool!(signed, SIGNED => match source.width {
        Width::W8 => converted(simd, load::Int8::<SIGNED>, I32ToF32, Same, entry),
        Width::W16 => converted(simd, load::Int16::<SIGNED>, I32ToF32, Same, entry),
        Width::W32 => match rounding {
            Rounding::NearestEven if SIGNED => {
                converted(simd, load::Int32, I32ToF32, Same, entry)
            }
            Rounding::NearestEven => converted(simd, load::Int32, U32ToF32, Same, entry),
            // By way of float64, which holds them all.
            Rounding::TowardsZero
            | Rounding::TowardsPositive
            | Rounding::TowardsNegative
            | Rounding::NearestAway => {
                let narrow = IntegralToF32(rounding);
                converted(simd, load::Int32, I32ToF64::<SIGNED>, narrow, entry)
            }
        },
        Width::W64 => {
            let general = with_rounding!(rounding, rounding => {
                converted(simd, load::Int64, I64ToOddF64::<SIGNED>, IntegralToF32(rounding), entry)
            });
            if entry.is_some() || !TWO_KERNELS {
                return general;
            }
            // Small ones first, by way of 32 bits: that conversion rounds to nearest-even; below 2^24 it is exact.
            let bits = if rounding == Rounding::NearestEven { 31 } else { 24 };
            let (least, outside) = if signed { (-1 << bits, -2 << bits) } else { (0, -1 << bits) };
            let small = Then(Then(Within::<false> { least, outside }, Low32), I32ToF32);
            Retry::of_long(stage(simd, Units(load::Int64, small, StoreFull)), general)
        }
    })
}

/// A float32 that rounds to narrower floats as the integer does.
pub(super) fn to_odd_f32<S: Simd>(simd: S, source: IntType, entry: Replacement) -> Stage {
    with_bool!(source.signed, SIGNED => match source.width {
        Width::W8 => converted(simd, load::Int8::<SIGNED>, I32ToF32, Same, entry),
        Width::W16 => converted(simd, load::Int16::<SIGNED>, I32ToF32, Same, entry),
        Width::W32 => converted(simd, load::Int32, I32ToOddF32::<SIGNED>, Same, entry),
        Width::W64 => converted(simd, load::Int64, I64ToOddF64::<SIGNED>, OddF32, entry),
    })
}

/// Integers as `convert` makes them floats, but for the key, and `narrow` narrows those.
fn converted<S, L, E, N>(simd: S, load: L, convert: E, narrow: N, entry: Replacement) -> Stage
where
    S: Simd,
    L: Load<S, Unit: IntUnit<S>>,
    E: Each<S, L::Unit, Out: OfInt<S, L::Unit, Value = f64>>,
    N: Each<S, E::Out, Out: Unit<S>>,
{
    match entry {
        None => stage(simd, Units(load, Then(convert, narrow), StoreFull)),
        Some((key, value)) => {
            let replaced = ReplaceKey { key, value, each: convert };
            stage(simd, Units(load, Then(replaced, narrow), StoreFull))
        }
    }
}

/// To floats of 16 bits. None of 64 bits to `bfloat16`, and of more than a byte with an entry: those go by way of float32.
fn to_short<S: Simd>(
    simd: S,
    source: IntType,
    target: Float16Target,
    rounding: Rounding,
    entry: Replacement,
) -> Option<Stage> {
    with_bool!(source.signed, SIGNED => Some(match (source.width, target.is_float16, entry) {
        (Width::W8, _, _) => byte_to_short(simd, load::Int8::<SIGNED>, target, entry),
        (Width::W16 | Width::W32 | Width::W64, _, Some(_)) | (Width::W64, false, None) => {
            return None;
        }
        (Width::W16, true, None) => {
            let load = LoadThen(load::Int16::<SIGNED>, I32ToF32);
            converted_to_f16(simd, load, target, rounding)
        }
        (Width::W16, false, None) => {
            converted_to_bf16(simd, load::Int16::<SIGNED>, I32ToF32, rounding)
        }
        // Beyond 2^17 it makes no difference by how much it is out of range.
        (Width::W32, true, None) if SIGNED => {
            let clamped = ClampedInt { min: -BEYOND_F16, max: BEYOND_F16 };
            let load = LoadThen(load::Int32, Then(clamped, I32ToF32));
            converted_to_f16(simd, load, target, rounding)
        }
        (Width::W32, true, None) => {
            let clamped = AtMost { max: BEYOND_F16 };
            let load = LoadThen(load::Int32, Then(clamped, I32ToF32));
            converted_to_f16(simd, load, target, rounding)
        }
        (Width::W32, false, None) => {
            converted_to_bf16(simd, load::Int32, I32ToOddF32::<SIGNED>, rounding)
        }
        (Width::W64, true, None) if SIGNED => {
            let clamped = ClampedInt { min: -BEYOND_F16, max: BEYOND_F16 };
            let load = LoadThen(load::Int64, Saturated32::<true>);
            let load = LoadThen(load, Then(clamped, I32ToF32));
            converted_to_f16(simd, load, target, rounding)
        }
        (Width::W64, true, None) => {
            let clamped = AtMost { max: BEYOND_F16 };
            let load = LoadThen(load::Int64, Saturated32::<false>);
            let load = LoadThen(load, Then(clamped, I32ToF32));
            converted_to_f16(simd, load, target, rounding)
        }
    }))
}

/// A magnitude out of the range of `float16`.
const BEYOND_F16: i64 = 1 << 17;

/// 8 bits, which both formats have exactly.
fn byte_to_short<S, L>(simd: S, load: L, target: Float16Target, entry: Replacement) -> Stage
where
    S: Simd,
    L: Load<S, Unit = I32s<S>>,
{
    let replaced = entry.map(|(key, value)| ReplaceKey { key, value, each: I32ToF32 });
    match (replaced, target.is_float16) {
        (None, true) => stage(simd, Units(load, I32ToF32, AsF16(NearestEven))),
        (None, false) => stage(simd, Units(load, Then(I32ToF32, ToBits), UpperHalves)),
        (Some(each), true) => stage(simd, Units(load, each, AsF16(NearestEven))),
        (Some(each), false) => stage(simd, Units(load, Then(each, ToBits), UpperHalves)),
    }
}

/// To `float16`, of integers that are loaded as float32.
fn converted_to_f16<S, L>(simd: S, load: L, target: Float16Target, rounding: Rounding) -> Stage
where
    S: Simd,
    L: Load<S, Unit = F32s<S>>,
{
    with_rounding!(rounding, rounding => to_f16(simd, load, Same, rounding, target.fails))
}

/// To `bfloat16`, in whose range all integers are, by way of the float32 that `convert` gives.
fn converted_to_bf16<S, L, E>(simd: S, load: L, convert: E, rounding: Rounding) -> Stage
where
    S: Simd,
    L: Load<S, Unit = I32s<S>>,
    E: Each<S, I32s<S>, Out = F32s<S>>,
{
    with_rounding!(rounding, rounding => {
        let narrow = FiniteToBf16(Bf16Carry::new(rounding));
        stage(simd, Units(load, Then(convert, narrow), UpperHalves))
    })
}

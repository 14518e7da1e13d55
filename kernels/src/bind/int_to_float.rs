//! Casts from integers of whole bytes to `float16`, `bfloat16`, `float32` and `float64`.

use super::class::{FloatType, IntType, Width};
use super::float_to_float::{Short, to_f16};
use super::{number_entry, with_rounding};
use crate::exact::integer;
use crate::ops::float::ReplaceFloat;
use crate::ops::float_to_float::{AsF16, Bits, FiniteToBf16, OddF32, UpperHalves};
use crate::ops::int::{AtMost, ClampedInt};
use crate::ops::int_to_float::{
    IntegralToF32, LongToDouble, LongToOdd, Patched, ToDouble, ToOddSingle, ToSingle,
    UnsignedToSingle,
};
use crate::ops::load;
use crate::ops::store::Whole;
use crate::pipeline::{Each, Load, Same, Store, Then, Units, stage};
use crate::simd::{F32s, F64s, I32s, I64s, NearestEven, Simd};
use crate::stages::Stage;
use crate::{Cast, ElementType, OutOfRange, Rounding, Scalar};
use alloc::vec::Vec;

/// A key of a map, and the number that becomes its output.
type Entry = Option<(Scalar, f64)>;

/// The cast, with an entry.
pub(super) fn bind<S: Simd>(
    simd: S,
    source: IntType,
    target: FloatType,
    cast: &Cast,
    entry: Option<(Scalar, Scalar)>,
) -> Option<Vec<Stage>> {
    let entry = |domain| number_entry(entry, domain, cast);
    Some(match target {
        FloatType::Float64 => {
            vec![to_double(simd, source, cast.rounding, entry(ElementType::Float64)?)]
        }
        FloatType::Float32 => {
            let domain = match source.width {
                Width::W8 | Width::W16 => ElementType::Float32,
                Width::W32 | Width::W64 => ElementType::Float64,
            };
            vec![to_single(simd, source, cast.rounding, entry(domain)?)]
        }
        FloatType::Float16 | FloatType::BFloat16 => {
            let short = Short {
                is_float16: target == FloatType::Float16,
                fails: cast.out_of_range != OutOfRange::Clamp,
            };
            to_short(simd, source, short, cast.rounding, entry(ElementType::Float32)?)
        }
    })
}

fn to_double<S: Simd>(simd: S, source: IntType, rounding: Rounding, entry: Entry) -> Stage {
    /// Integers of at most 16 bits; a key is compared as a float.
    fn exact<S, L>(simd: S, load: L, entry: Entry) -> Stage
    where
        S: Simd,
        L: Load<S, Unit = I32s<S>>,
    {
        word_to_double(simd, load, ToDouble::<true>, entry, Same)
    }
    match (source.width, source.signed) {
        (Width::W8, true) => exact(simd, load::Int8, entry),
        (Width::W8, false) => exact(simd, load::UInt8, entry),
        (Width::W16, true) => exact(simd, load::Int16, entry),
        (Width::W16, false) => exact(simd, load::UInt16, entry),
        (Width::W32, true) => word_to_double(simd, load::Int32, ToDouble::<true>, entry, Same),
        (Width::W32, false) => word_to_double(simd, load::Int32, ToDouble::<false>, entry, Same),
        (Width::W64, true) => with_rounding!(rounding, rounding => {
            long(simd, LongToDouble::<_, true>(rounding), entry, Same)
        }),
        (Width::W64, false) => with_rounding!(rounding, rounding => {
            long(simd, LongToDouble::<_, false>(rounding), entry, Same)
        }),
    }
}

fn to_single<S: Simd>(simd: S, source: IntType, rounding: Rounding, entry: Entry) -> Stage {
    match (source.width, source.signed) {
        (Width::W8, true) => short_to_single(simd, load::Int8, entry),
        (Width::W8, false) => short_to_single(simd, load::UInt8, entry),
        (Width::W16, true) => short_to_single(simd, load::Int16, entry),
        (Width::W16, false) => short_to_single(simd, load::UInt16, entry),
        (Width::W32, true) => match (rounding, entry) {
            (Rounding::NearestEven, _) => word_to_single(simd, ToSingle, entry),
            (
                Rounding::TowardsZero
                | Rounding::TowardsPositive
                | Rounding::TowardsNegative
                | Rounding::NearestAway,
                _,
            ) => {
                word_to_double(simd, load::Int32, ToDouble::<true>, entry, IntegralToF32(rounding))
            }
        },
        (Width::W32, false) => match (rounding, entry) {
            (Rounding::NearestEven, None) => {
                stage(simd, Units(load::Int32, UnsignedToSingle, Whole))
            }
            (_, _) => {
                word_to_double(simd, load::Int32, ToDouble::<false>, entry, IntegralToF32(rounding))
            }
        },
        (Width::W64, true) => with_rounding!(rounding, rounding => {
            long(simd, LongToOdd::<true>, entry, IntegralToF32(rounding))
        }),
        (Width::W64, false) => with_rounding!(rounding, rounding => {
            long(simd, LongToOdd::<false>, entry, IntegralToF32(rounding))
        }),
    }
}

/// A float32 that rounds to narrower floats as the integer does.
pub(super) fn to_odd_f32<S: Simd>(simd: S, source: IntType, entry: Entry) -> Stage {
    match (source.width, source.signed) {
        (Width::W8, true) => short_to_single(simd, load::Int8, entry),
        (Width::W8, false) => short_to_single(simd, load::UInt8, entry),
        (Width::W16, true) => short_to_single(simd, load::Int16, entry),
        (Width::W16, false) => short_to_single(simd, load::UInt16, entry),
        (Width::W32, true) => word_to_single(simd, ToOddSingle::<true>, entry),
        (Width::W32, false) => word_to_single(simd, ToOddSingle::<false>, entry),
        (Width::W64, true) => long(simd, LongToOdd::<true>, entry, OddF32),
        (Width::W64, false) => long(simd, LongToOdd::<false>, entry, OddF32),
    }
}

/// To floats of 16 bits; 64 bits by way of float32.
fn to_short<S: Simd>(
    simd: S,
    source: IntType,
    target: Short,
    rounding: Rounding,
    entry: Entry,
) -> Vec<Stage> {
    vec![match (source.width, source.signed) {
        (Width::W8, true) => byte_to_short(simd, load::Int8, target, entry),
        (Width::W8, false) => byte_to_short(simd, load::UInt8, target, entry),
        (Width::W16, true) => patched_to_short(simd, load::Int16, target, rounding, entry),
        (Width::W16, false) => patched_to_short(simd, load::UInt16, target, rounding, entry),
        (Width::W32, signed) => match (target.is_float16, signed, entry) {
            // Beyond 2^17 it makes no difference by how much it is out of range.
            (true, true, None) => {
                let clamped = ClampedInt::<true> { min: -BEYOND_F16, max: BEYOND_F16 };
                with_rounding!(rounding, rounding => {
                    to_f16(simd, load::Int32, Then(clamped, ToSingle), Same, rounding, target.fails)
                })
            }
            (true, false, None) => {
                let clamped = AtMost::<false> { max: BEYOND_F16 };
                with_rounding!(rounding, rounding => {
                    to_f16(simd, load::Int32, Then(clamped, ToSingle), Same, rounding, target.fails)
                })
            }
            (false, true, None) => finite_to_bf16(simd, load::Int32, ToOddSingle::<true>, rounding),
            (false, false, None) => {
                finite_to_bf16(simd, load::Int32, ToOddSingle::<false>, rounding)
            }
            (false, signed, Some((key, value))) if value.is_finite() => {
                let (key, value) = (integer(key) as i64, value as f32);
                if signed {
                    let each = Patched { each: ToOddSingle::<true>, key, value };
                    finite_to_bf16(simd, load::Int32, each, rounding)
                } else {
                    let each = Patched { each: ToOddSingle::<false>, key, value };
                    finite_to_bf16(simd, load::Int32, each, rounding)
                }
            }
            (_, _, Some(_)) => return by_single(simd, source, target, rounding, entry),
        },
        (Width::W64, _) => return by_single(simd, source, target, rounding, entry),
    }]
}

/// A magnitude out of the range of `float16`.
const BEYOND_F16: i64 = 1 << 17;

/// By way of float32 that rounds as the integer does, in two passes.
fn by_single<S: Simd>(
    simd: S,
    source: IntType,
    target: Short,
    rounding: Rounding,
    entry: Entry,
) -> Vec<Stage> {
    let narrow = with_rounding!(rounding, rounding => {
        target.bind(simd, load::Float32, Same, Same, rounding)
    });
    vec![to_odd_f32(simd, source, entry), narrow]
}

/// Integers of at most 16 bits; a key is compared as a float.
fn short_to_single<S, L>(simd: S, load: L, entry: Entry) -> Stage
where
    S: Simd,
    L: Load<S, Unit = I32s<S>>,
{
    match entry {
        None => stage(simd, Units(load, ToSingle, Whole)),
        Some((key, value)) => {
            let replace = ReplaceFloat { key: key.to_f64() as f32, value: value as f32 };
            stage(simd, Units(load, Then(ToSingle, replace), Whole))
        }
    }
}

/// 32-bit integers as `each` makes them float32.
fn word_to_single<S, E>(simd: S, each: E, entry: Entry) -> Stage
where
    S: Simd,
    E: Each<S, I32s<S>, Out = F32s<S>>,
{
    match entry {
        None => stage(simd, Units(load::Int32, each, Whole)),
        Some((key, value)) => {
            let (key, value) = (integer(key) as i64, value as f32);
            stage(simd, Units(load::Int32, Patched { each, key, value }, Whole))
        }
    }
}

/// Integers of at most 32 bits by way of float64, which holds them all; a key is compared there.
fn word_to_double<S, L, E, A>(simd: S, load: L, convert: E, entry: Entry, after: A) -> Stage
where
    S: Simd,
    L: Load<S, Unit = I32s<S>>,
    E: Each<S, I32s<S>, Out = F64s<S>>,
    A: Each<S, F64s<S>>,
    Whole: Store<S, A::Out>,
{
    match entry {
        None => stage(simd, Units(load, Then(convert, after), Whole)),
        Some((key, value)) => {
            let replaced = Then(convert, ReplaceFloat { key: key.to_f64(), value });
            stage(simd, Units(load, Then(replaced, after), Whole))
        }
    }
}

/// 64-bit integers by way of float64.
fn long<S, E, A>(simd: S, convert: E, entry: Entry, after: A) -> Stage
where
    S: Simd,
    E: Each<S, I64s<S>, Out = F64s<S>>,
    A: Each<S, F64s<S>>,
    Whole: Store<S, A::Out>,
{
    match entry {
        None => stage(simd, Units(load::Int64, Then(convert, after), Whole)),
        Some((key, value)) => {
            let patched = Patched { each: convert, key: integer(key) as i64, value };
            stage(simd, Units(load::Int64, Then(patched, after), Whole))
        }
    }
}

/// 8 bits, which both formats have exactly.
fn byte_to_short<S, L>(simd: S, load: L, target: Short, entry: Entry) -> Stage
where
    S: Simd,
    L: Load<S, Unit = I32s<S>>,
{
    fn stored<S, L, E>(simd: S, load: L, each: E, target: Short) -> Stage
    where
        S: Simd,
        L: Load<S, Unit = I32s<S>>,
        E: Each<S, I32s<S>, Out = F32s<S>>,
    {
        if target.is_float16 {
            stage(simd, Units(load, each, AsF16(NearestEven)))
        } else {
            stage(simd, Units(load, Then(each, Bits), UpperHalves))
        }
    }
    match entry {
        None => stored(simd, load, ToSingle, target),
        Some((key, value)) => {
            let (key, value) = (integer(key) as i64, value as f32);
            stored(simd, load, Patched { each: ToSingle, key, value }, target)
        }
    }
}

/// 16 bits, which float32 has exactly; a key is compared there.
fn patched_to_short<S, L>(
    simd: S,
    load: L,
    target: Short,
    rounding: Rounding,
    entry: Entry,
) -> Stage
where
    S: Simd,
    L: Load<S, Unit = I32s<S>>,
{
    match entry {
        None if target.is_float16 => with_rounding!(rounding, rounding => {
            to_f16(simd, load, ToSingle, Same, rounding, target.fails)
        }),
        None => finite_to_bf16(simd, load, ToSingle, rounding),
        Some((key, value)) => {
            let replace = ReplaceFloat { key: key.to_f64() as f32, value: value as f32 };
            if value.is_finite() && !target.is_float16 {
                return finite_to_bf16(simd, load, Then(ToSingle, replace), rounding);
            }
            with_rounding!(rounding, rounding => {
                target.bind(simd, load, Then(ToSingle, replace), Same, rounding)
            })
        }
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

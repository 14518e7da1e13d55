//! Casts to `float16`, `bfloat16`, `float32` and `float64`.

use alloc::vec::Vec;
use core::marker::PhantomData;

use super::{number, preimage, with_rounding};
use crate::ops::float::{ReplaceFloat, ReplaceNan, Unscale, UnscaleBut};
use crate::ops::float_to_float::{
    AsF16, BeforeF16, Below, BelowInfinity, Bits, FiniteToBf16, OddF32, OddForShort, Quiet, ToBf16,
    ToF32, UpperHalves,
};
use crate::ops::float_to_int::Widened;
use crate::ops::int::{AtMost, HeldInt, Saturated32, SaturatedU32};
use crate::ops::int_to_float::{
    IntegralToF32, LongToDouble, LongToOdd, Patched, ToDouble, ToOddSingle, ToSingle,
    UnsignedToSingle,
};
use crate::ops::load;
use crate::ops::store::Whole;
use crate::pipeline::{Each, Load, Same, Then, Units, stage};
use crate::simd::{F32s, F64s, I32s, I64s, NearestEven, Round, Simd, TowardsPositive};
use crate::stages::{Stage, as_output, run_all};
use crate::{Affine, Cast, ElementType, OutOfRange, Rounding, Scalar, Step, reference};

/// The cast of floats, with an entry whose key is NaN.
pub(super) fn from_float<S: Simd>(
    simd: S,
    source: ElementType,
    cast: &Cast,
    entry: Option<(Scalar, Scalar)>,
) -> Option<Stage> {
    if entry.is_some_and(|(key, _)| !key.is_nan()) {
        return None;
    }
    // NaN is replaced where the value that takes its place is exact.
    let nan = |domain| match entry {
        None => Some(None),
        Some((_, output)) => Some(Some(number(preimage(output, domain, cast)?)?)),
    };
    match (source, cast.target) {
        (_, ElementType::Float64) => {
            let nan = nan(ElementType::Float64)?;
            match source {
                ElementType::Float16 => Some(widened(simd, load::Float16, nan)),
                ElementType::BFloat16 => Some(widened(simd, load::BFloat16, nan)),
                ElementType::Float32 => Some(widened(simd, load::Float32, nan)),
                _ => None,
            }
        }
        (ElementType::Float64, ElementType::Float32) => {
            let nan = nan(ElementType::Float64)?;
            Some(match nan {
                None => single(simd, Same, cast),
                Some(value) => single(simd, ReplaceNan { value }, cast),
            })
        }
        (ElementType::Float64, ElementType::Float16 | ElementType::BFloat16) => {
            let nan = nan(ElementType::Float64)?;
            Some(with_rounding!(cast.rounding, R => {
                let odd = OddForShort::<R>(PhantomData);
                match nan {
                    None => half::<S, _, _, R>(simd, load::Float64, odd, cast),
                    Some(value) => {
                        half::<S, _, _, R>(simd, load::Float64, Then(ReplaceNan { value }, odd), cast)
                    }
                }
            })?)
        }
        (ElementType::Float16, _) => narrow(simd, load::Float16, cast, nan(ElementType::Float32)?),
        (ElementType::BFloat16, ElementType::Float32) => {
            let nan = nan(ElementType::Float32)?.map(|nan| nan as f32);
            Some(match nan {
                None => stage(simd, Units(load::BFloat16, Quiet, Whole)),
                Some(value) => stage(simd, Units(load::BFloat16, ReplaceNan { value }, Whole)),
            })
        }
        (ElementType::BFloat16, _) => {
            narrow(simd, load::BFloat16, cast, nan(ElementType::Float32)?)
        }
        (ElementType::Float32, _) => narrow(simd, load::Float32, cast, nan(ElementType::Float32)?),
        _ => None,
    }
}

/// float64 of a narrower float.
fn widened<S, L>(simd: S, load: L, nan: Option<f64>) -> Stage
where
    S: Simd,
    L: Load<S, Unit = F32s<S>>,
{
    match nan {
        None => stage(simd, Units(load, Widened, Whole)),
        Some(value) => stage(simd, Units(load, Then(Widened, ReplaceNan { value }), Whole)),
    }
}

/// float32 of float64.
fn single<S, E>(simd: S, front: E, cast: &Cast) -> Stage
where
    S: Simd,
    E: Each<S, F64s<S>, Out = F64s<S>>,
{
    with_rounding!(cast.rounding, R => {
        let narrowed = Then(front, ToF32::<R>(PhantomData));
        match cast.out_of_range {
            OutOfRange::Clamp => stage(simd, Units(load::Float64, narrowed, Whole)),
            OutOfRange::Error | OutOfRange::Wrap => {
                let below = Below { limit: f32::INFINITY };
                stage(simd, Units(load::Float64, Then(narrowed, below), Whole))
            }
        }
    })
}

/// A float of at most 32 bits to one of 16, or to float32.
fn narrow<S, L>(simd: S, load: L, cast: &Cast, nan: Option<f64>) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit = F32s<S>>,
{
    let nan = nan.map(|nan| ReplaceNan { value: nan as f32 });
    if cast.target == ElementType::Float32 {
        return Some(match nan {
            None => stage(simd, Units(load, Same, Whole)),
            Some(replace) => stage(simd, Units(load, replace, Whole)),
        });
    }
    with_rounding!(cast.rounding, R => match nan {
        None => half::<S, L, _, R>(simd, load, Same, cast),
        Some(replace) => half::<S, L, _, R>(simd, load, replace, cast),
    })
}

/// float32, which `front` gives, to a float of 16 bits in the direction of `R`.
fn half<S, L, E, R>(simd: S, load: L, front: E, cast: &Cast) -> Option<Stage>
where
    S: Simd,
    L: Load<S>,
    E: Each<S, L::Unit, Out = F32s<S>>,
    R: Round,
{
    let fails = cast.out_of_range != OutOfRange::Clamp;
    match cast.target {
        ElementType::Float16 => {
            // The least magnitude that may not round into range; the reference lets the others pass.
            let limit = match R::ROUNDING {
                Rounding::NearestEven | Rounding::NearestAway => 65_520.0,
                Rounding::TowardsZero => 65_536.0,
                Rounding::TowardsPositive | Rounding::TowardsNegative => 65_504.004,
            };
            let rounds_to_nearest =
                matches!(R::ROUNDING, Rounding::NearestEven | Rounding::NearestAway);
            if !(S::ROUNDS_F16 || rounds_to_nearest) {
                return None;
            }
            let store = AsF16::<R>(PhantomData);
            let before = BeforeF16::<R>(PhantomData);
            Some(if fails {
                let below = Then(front, Below { limit });
                stage(simd, Units(load, Then(below, before), store))
            } else {
                stage(simd, Units(load, Then(front, before), store))
            })
        }
        ElementType::BFloat16 => {
            let rounded = Then(front, ToBf16::<R>(PhantomData));
            Some(if fails {
                stage(simd, Units(load, Then(rounded, BelowInfinity), UpperHalves))
            } else {
                stage(simd, Units(load, rounded, UpperHalves))
            })
        }
        _ => None,
    }
}

/// A value on the way to a narrower float than float32, as a float32 that rounds as it does.
pub(super) fn to_odd_f32<S: Simd>(
    simd: S,
    source: ElementType,
    entry: Option<(Scalar, f64)>,
) -> Option<Stage> {
    match source {
        ElementType::Float16 => odd_from_f32(simd, load::Float16, entry),
        ElementType::BFloat16 => odd_from_f32(simd, load::BFloat16, entry),
        ElementType::Float32 => odd_from_f32(simd, load::Float32, entry),
        ElementType::Float64 => {
            // The direction matters only for tiny numbers, which this one keeps apart from zero.
            let odd = OddForShort::<TowardsPositive>(PhantomData);
            Some(match entry {
                None => stage(simd, Units(load::Float64, odd, Whole)),
                Some((key, value)) if key.is_nan() => {
                    stage(simd, Units(load::Float64, Then(ReplaceNan { value }, odd), Whole))
                }
                Some(_) => return None,
            })
        }
        ElementType::Int8 => Some(exact(simd, load::Int8, entry)),
        ElementType::UInt8 => Some(exact(simd, load::UInt8, entry)),
        ElementType::Int16 => Some(exact(simd, load::Int16, entry)),
        ElementType::UInt16 => Some(exact(simd, load::UInt16, entry)),
        ElementType::Int32 => Some(odd_single(simd, ToOddSingle::<true>, entry)),
        ElementType::UInt32 => Some(odd_single(simd, ToOddSingle::<false>, entry)),
        ElementType::Int64 => Some(long(simd, LongToOdd::<true>, entry, OddF32)),
        ElementType::UInt64 => Some(long(simd, LongToOdd::<false>, entry, OddF32)),
        _ => None,
    }
}

/// 32-bit integers, with an entry.
fn odd_single<S, E>(simd: S, each: E, entry: Option<(Scalar, f64)>) -> Stage
where
    S: Simd,
    E: Each<S, I32s<S>, Out = F32s<S>>,
{
    match entry {
        None => stage(simd, Units(load::Int32, each, Whole)),
        Some((key, value)) => {
            let (key, value) = (reference::integer(key) as i64, value as f32);
            stage(simd, Units(load::Int32, Patched { each, key, value }, Whole))
        }
    }
}

fn odd_from_f32<S, L>(simd: S, load: L, entry: Option<(Scalar, f64)>) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit = F32s<S>>,
{
    match entry {
        None => Some(stage(simd, Units(load, Same, Whole))),
        Some((key, value)) if key.is_nan() => {
            let value = value as f32;
            Some(stage(simd, Units(load, ReplaceNan { value }, Whole)))
        }
        Some(_) => None,
    }
}

/// The cast of integers to float32 and float64, with an entry.
pub(super) fn from_int<S: Simd>(
    simd: S,
    source: ElementType,
    cast: &Cast,
    entry: Option<(Scalar, Scalar)>,
) -> Option<Stage> {
    let domain = match (source.size(), cast.target) {
        (_, ElementType::Float64) | (4 | 8, _) => ElementType::Float64,
        _ => ElementType::Float32,
    };
    let entry = match entry {
        None => None,
        Some((key, output)) => Some((key, number(preimage(output, domain, cast)?)?)),
    };
    match (source, cast.target) {
        (ElementType::Int8, ElementType::Float32) => Some(exact(simd, load::Int8, entry)),
        (ElementType::UInt8, ElementType::Float32) => Some(exact(simd, load::UInt8, entry)),
        (ElementType::Int16, ElementType::Float32) => Some(exact(simd, load::Int16, entry)),
        (ElementType::UInt16, ElementType::Float32) => Some(exact(simd, load::UInt16, entry)),
        (ElementType::Int32, ElementType::Float32) => Some(match (cast.rounding, entry) {
            (Rounding::NearestEven, None) => stage(simd, Units(load::Int32, ToSingle, Whole)),
            (Rounding::NearestEven, Some((key, value))) => {
                let (key, value) = (reference::integer(key) as i64, value as f32);
                stage(simd, Units(load::Int32, Patched { each: ToSingle, key, value }, Whole))
            }
            _ => with_rounding!(cast.rounding, R => {
                double(simd, ToDouble::<true>, entry, IntegralToF32::<R>(PhantomData))
            }),
        }),
        (ElementType::UInt32, ElementType::Float32) => Some(match (cast.rounding, entry) {
            (Rounding::NearestEven, None) => {
                stage(simd, Units(load::Int32, UnsignedToSingle, Whole))
            }
            _ => with_rounding!(cast.rounding, R => {
                double(simd, ToDouble::<false>, entry, IntegralToF32::<R>(PhantomData))
            }),
        }),
        (ElementType::Int64, ElementType::Float32) => Some(with_rounding!(cast.rounding, R => {
            long(simd, LongToOdd::<true>, entry, IntegralToF32::<R>(PhantomData))
        })),
        (ElementType::UInt64, ElementType::Float32) => Some(with_rounding!(cast.rounding, R => {
            long(simd, LongToOdd::<false>, entry, IntegralToF32::<R>(PhantomData))
        })),
        (ElementType::Int8, ElementType::Float64) => Some(exact_double(simd, load::Int8, entry)),
        (ElementType::UInt8, ElementType::Float64) => Some(exact_double(simd, load::UInt8, entry)),
        (ElementType::Int16, ElementType::Float64) => Some(exact_double(simd, load::Int16, entry)),
        (ElementType::UInt16, ElementType::Float64) => {
            Some(exact_double(simd, load::UInt16, entry))
        }
        (ElementType::Int32, ElementType::Float64) => {
            Some(double(simd, ToDouble::<true>, entry, Same))
        }
        (ElementType::UInt32, ElementType::Float64) => {
            Some(double(simd, ToDouble::<false>, entry, Same))
        }
        (ElementType::Int64, ElementType::Float64) => Some(with_rounding!(cast.rounding, R => {
            long(simd, LongToDouble::<R, true>(PhantomData), entry, Same)
        })),
        (ElementType::UInt64, ElementType::Float64) => Some(with_rounding!(cast.rounding, R => {
            long(simd, LongToDouble::<R, false>(PhantomData), entry, Same)
        })),
        _ => None,
    }
}

/// Integers of at most 16 bits as float32; a key is compared as one.
fn exact<S, L>(simd: S, load: L, entry: Option<(Scalar, f64)>) -> Stage
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

/// As [`exact`], as float64.
fn exact_double<S, L>(simd: S, load: L, entry: Option<(Scalar, f64)>) -> Stage
where
    S: Simd,
    L: Load<S, Unit = I32s<S>>,
{
    match entry {
        None => stage(simd, Units(load, ToDouble::<true>, Whole)),
        Some((key, value)) => {
            let replace = ReplaceFloat { key: key.to_f64(), value };
            stage(simd, Units(load, Then(ToDouble::<true>, replace), Whole))
        }
    }
}

/// 32-bit integers by way of float64, which holds them all; a key is compared there.
fn double<S, E, A, U>(simd: S, convert: E, entry: Option<(Scalar, f64)>, after: A) -> Stage
where
    S: Simd,
    E: Each<S, I32s<S>, Out = F64s<S>>,
    A: Each<S, F64s<S>, Out = U>,
    U: Copy,
    Whole: crate::pipeline::Store<S, U>,
{
    match entry {
        None => stage(simd, Units(load::Int32, Then(convert, after), Whole)),
        Some((key, value)) => {
            let replaced = Then(convert, ReplaceFloat { key: key.to_f64(), value });
            stage(simd, Units(load::Int32, Then(replaced, after), Whole))
        }
    }
}

/// 64-bit integers by way of float64.
fn long<S, E, A, U>(simd: S, convert: E, entry: Option<(Scalar, f64)>, after: A) -> Stage
where
    S: Simd,
    E: Each<S, I64s<S>, Out = F64s<S>>,
    A: Each<S, F64s<S>, Out = U>,
    U: Copy,
    Whole: crate::pipeline::Store<S, U>,
{
    match entry {
        None => stage(simd, Units(load::Int64, Then(convert, after), Whole)),
        Some((key, value)) => {
            let patched = Patched { each: convert, key: reference::integer(key) as i64, value };
            stage(simd, Units(load::Int64, Then(patched, after), Whole))
        }
    }
}

/// The cast of integers to floats of 16 bits; with an entry only of 8 bits, and of the others by way of float32.
pub(super) fn half_from_int<S: Simd>(
    simd: S,
    source: ElementType,
    cast: &Cast,
    entry: Option<(Scalar, Scalar)>,
) -> Option<Stage> {
    let beyond = 1 << 17;
    let to_f16 = cast.target == ElementType::Float16;
    match (source, entry) {
        (ElementType::Int8, _) => half_exactly(simd, load::Int8, cast, entry),
        (ElementType::UInt8, _) => half_exactly(simd, load::UInt8, cast, entry),
        (ElementType::Int16, None) => half_rounded(simd, load::Int16, ToSingle, cast),
        (ElementType::UInt16, None) => half_rounded(simd, load::UInt16, ToSingle, cast),
        // Beyond 2^17 it makes no difference by how much it is out of range.
        (ElementType::Int32, None) if to_f16 => {
            let held = HeldInt::<true> { min: -beyond, max: beyond };
            half_rounded(simd, load::Int32, Then(held, ToSingle), cast)
        }
        (ElementType::UInt32, None) if to_f16 => {
            let held = AtMost::<false> { max: beyond };
            half_rounded(simd, load::Int32, Then(held, ToSingle), cast)
        }
        (ElementType::Int64, None) if to_f16 => {
            let held = Then(Saturated32, HeldInt::<true> { min: -beyond, max: beyond });
            half_rounded(simd, load::Int64, Then(held, ToSingle), cast)
        }
        (ElementType::UInt64, None) if to_f16 => {
            let held = Then(SaturatedU32, AtMost::<false> { max: beyond });
            half_rounded(simd, load::Int64, Then(held, ToSingle), cast)
        }
        (ElementType::Int32, None) => half_rounded(simd, load::Int32, ToOddSingle::<true>, cast),
        (ElementType::UInt32, None) => half_rounded(simd, load::Int32, ToOddSingle::<false>, cast),
        (ElementType::Int64, None) => {
            half_rounded(simd, load::Int64, Then(LongToOdd::<true>, OddF32), cast)
        }
        (ElementType::UInt64, None) => {
            half_rounded(simd, load::Int64, Then(LongToOdd::<false>, OddF32), cast)
        }
        _ => None,
    }
}

/// 8 bits, which both formats have exactly.
fn half_exactly<S, L>(
    simd: S,
    load: L,
    cast: &Cast,
    entry: Option<(Scalar, Scalar)>,
) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit = I32s<S>>,
{
    fn stored<S, L, E>(simd: S, load: L, each: E, cast: &Cast) -> Stage
    where
        S: Simd,
        L: Load<S, Unit = I32s<S>>,
        E: Each<S, I32s<S>, Out = F32s<S>>,
    {
        match cast.target {
            ElementType::Float16 => {
                stage(simd, Units(load, each, AsF16::<NearestEven>(PhantomData)))
            }
            _ => stage(simd, Units(load, Then(each, Bits), UpperHalves)),
        }
    }
    Some(match entry {
        None => stored(simd, load, ToSingle, cast),
        Some((key, output)) => {
            let value = number(preimage(output, ElementType::Float32, cast)?)? as f32;
            let key = reference::integer(key) as i64;
            stored(simd, load, Patched { each: ToSingle, key, value }, cast)
        }
    })
}

/// Finite float32, of integers, to a float of 16 bits.
fn half_rounded<S, L, E>(simd: S, load: L, each: E, cast: &Cast) -> Option<Stage>
where
    S: Simd,
    L: Load<S>,
    E: Each<S, L::Unit, Out = F32s<S>>,
{
    with_rounding!(cast.rounding, R => match cast.target {
        // Every integer is in its range.
        ElementType::BFloat16 => {
            let rounded = Then(each, FiniteToBf16::<R>(PhantomData));
            Some(stage(simd, Units(load, rounded, UpperHalves)))
        }
        _ => half::<S, L, E, R>(simd, load, each, cast),
    })
}

/// Integers of 8 and 16 bits to float32 or float64, then `x / scale + offset`.
pub(super) fn bind_unscaled<S: Simd>(
    simd: S,
    source: ElementType,
    cast: &Cast,
    parameters: &Affine,
) -> Option<Stage> {
    match (source, cast.target) {
        (ElementType::Int8, ElementType::Float32) => {
            unscaled_f32(simd, load::Int8, source, cast, parameters)
        }
        (ElementType::UInt8, ElementType::Float32) => {
            unscaled_f32(simd, load::UInt8, source, cast, parameters)
        }
        (ElementType::Int16, ElementType::Float32) => {
            unscaled_f32(simd, load::Int16, source, cast, parameters)
        }
        (ElementType::UInt16, ElementType::Float32) => {
            unscaled_f32(simd, load::UInt16, source, cast, parameters)
        }
        (ElementType::Int8, ElementType::Float64) => {
            unscaled_f64(simd, load::Int8, source, cast, parameters)
        }
        (ElementType::UInt8, ElementType::Float64) => {
            unscaled_f64(simd, load::UInt8, source, cast, parameters)
        }
        (ElementType::Int16, ElementType::Float64) => {
            unscaled_f64(simd, load::Int16, source, cast, parameters)
        }
        (ElementType::UInt16, ElementType::Float64) => {
            unscaled_f64(simd, load::UInt16, source, cast, parameters)
        }
        _ => None,
    }
}

/// What [`bind_unscaled`] is made of: scale and offset, and the entry of the cast's map, unscaled.
struct Unscaled {
    scale: f64,
    offset: f64,
    entry: Option<(f64, f64)>,
}

impl Unscaled {
    /// None where an element may overflow, or the map has more entries.
    fn new(source: ElementType, cast: &Cast, parameters: &Affine) -> Option<Self> {
        // Every operation is monotonic, so the ends of the range tell whether an element overflows.
        let finite = [Scalar::min(source), Scalar::max(source)].into_iter().all(|end| {
            let steps = [Step::Cast(Cast::new(cast.target)), Step::Unscale(*parameters)];
            reference::run(end, &steps, 0).is_ok_and(Scalar::is_finite)
        });
        let entry = match cast.map[..] {
            [] => None,
            [(key, output)] => {
                let value = reference::unscale(output, parameters).ok()?;
                Some((key.to_f64(), number(value)?))
            }
            _ => return None,
        };
        // A missing offset or scale stands here as its neutral element.
        finite.then(|| Self {
            scale: parameters.scale.map_or(1.0, Scalar::to_f64),
            offset: parameters.offset.map_or(-0.0, Scalar::to_f64),
            entry,
        })
    }
}

/// Every value of an integer type of 8 or 16 bits, as bytes.
fn every_value(source: ElementType) -> Vec<u8> {
    let [min, max] = [Scalar::min(source), Scalar::max(source)].map(reference::integer);
    (min..=max).flat_map(|x| Scalar::from_bits(source, x as u64).to_ne_bytes()).collect()
}

fn unscaled_f32<S, L>(
    simd: S,
    load: L,
    source: ElementType,
    cast: &Cast,
    parameters: &Affine,
) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit = I32s<S>>,
{
    let Unscaled { scale, offset, entry } = Unscaled::new(source, cast, parameters)?;
    let (scale, offset) = (scale as f32, offset as f32);
    let unscale = Unscale { scale, reciprocal: 1.0 / scale, offset };
    let plain = stage(simd, Units(load, Then(ToSingle, unscale), Whole));
    let [min, max] = [Scalar::min(source), Scalar::max(source)].map(reference::integer);
    let mut decoded = vec![0_f32; (max - min + 1) as usize];
    let stages = core::slice::from_ref(&plain);
    let refused = run_all(stages, &every_value(source), as_output(&mut decoded));
    let equal = (min..=max)
        .zip(&decoded)
        .all(|(x, y)| (x as f32 / scale + offset).to_bits() == y.to_bits());
    if refused || !equal {
        return None;
    }
    Some(match entry {
        None => plain,
        Some((key, value)) => {
            let but = UnscaleBut { unscale, key: key as f32, value: value as f32 };
            stage(simd, Units(load, Then(ToSingle, but), Whole))
        }
    })
}

/// As [`unscaled_f32`].
fn unscaled_f64<S, L>(
    simd: S,
    load: L,
    source: ElementType,
    cast: &Cast,
    parameters: &Affine,
) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit = I32s<S>>,
{
    let Unscaled { scale, offset, entry } = Unscaled::new(source, cast, parameters)?;
    let unscale = Unscale { scale, reciprocal: 1.0 / scale, offset };
    let plain = stage(simd, Units(load, Then(ToDouble::<true>, unscale), Whole));
    let [min, max] = [Scalar::min(source), Scalar::max(source)].map(reference::integer);
    let mut decoded = vec![0_f64; (max - min + 1) as usize];
    let stages = core::slice::from_ref(&plain);
    let refused = run_all(stages, &every_value(source), as_output(&mut decoded));
    let equal = (min..=max)
        .zip(&decoded)
        .all(|(x, y)| (x as f64 / scale + offset).to_bits() == y.to_bits());
    if refused || !equal {
        return None;
    }
    Some(match entry {
        None => plain,
        Some((key, value)) => stage(
            simd,
            Units(load, Then(ToDouble::<true>, UnscaleBut { unscale, key, value }), Whole),
        ),
    })
}

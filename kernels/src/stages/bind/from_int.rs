//! Casts from integers of whole bytes.

use core::marker::PhantomData;

use num_traits::AsPrimitive;

use super::from_float::FloatSource;
use super::map::preimage;
use super::{FromScalar, Stages, copy, is_exact, stage, wide, with_rounding};
use crate::stages::Stage;
use crate::stages::bind_loop;
use crate::stages::convert::{
    Clamp, Error, ExactToFloat, Int, IntAs, IntClamp, IntForF16, IntToFloat, NearestAway,
    NearestEven, Odd, RoundTo, TowardsNegative, TowardsPositive, TowardsZero,
};
use crate::stages::map::{Patch, ReplaceKey};
use crate::stages::per_element::{Flags, Loop, PerElement, Same, Then};
use crate::stages::small_float::{EncodeBf16InRange, EncodeF16, EncodeF16InRange, ExactBf16};
use crate::{Cast, ElementType, Level, OutOfRange, Rounding, Scalar, reference};

/// The cast of integer elements of whole bytes.
pub(super) fn from_int<S: IntSource>(
    entry: Option<(Scalar, Scalar)>,
    cast: &Cast,
    level: Level,
) -> Option<Stages> {
    let to = wide(cast.target);
    if to.is_float() {
        return S::to_float(entry, cast, level);
    }
    let converted = match to.size() {
        1 => int_to_int::<S, u8>(entry, cast, level),
        2 => int_to_int::<S, u16>(entry, cast, level),
        4 => int_to_int::<S, u32>(entry, cast, level),
        _ => int_to_int::<S, u64>(entry, cast, level),
    }?;
    let clear = (cast.out_of_range == OutOfRange::Wrap && to != cast.target)
        .then(|| copy(cast.target, level));
    Some(converted.into_iter().chain(clear).collect())
}

/// The integer types of whole bytes, as sources.
pub(super) trait IntSource:
    Int + Flags + FromScalar + AsPrimitive<u8> + AsPrimitive<u16> + AsPrimitive<u32> + AsPrimitive<u64>
{
    fn to_float(entry: Option<(Scalar, Scalar)>, cast: &Cast, level: Level) -> Option<Stages>;
}

macro_rules! int_sources {
    ($($t:ty: $to_float:expr;)*) => {$(
        impl IntSource for $t {
            fn to_float(entry: Option<(Scalar, Scalar)>, cast: &Cast, level: Level) -> Option<Stages> {
                $to_float(entry, cast, level)
            }
        }
    )*};
}

int_sources! {
    i8: short_to_float::<i8>;
    i16: short_to_float::<i16>;
    u8: short_to_float::<u8>;
    u16: short_to_float::<u16>;
    i32: word_to_float::<i32>;
    u32: word_to_float::<u32>;
    i64: double_word_to_float::<i64>;
    u64: double_word_to_float::<u64>;
}

/// Integer to integer; an integer of the target's width stands for both of that width.
fn int_to_int<S, T>(entry: Option<(Scalar, Scalar)>, cast: &Cast, level: Level) -> Option<Stages>
where
    S: Int + Flags + FromScalar + AsPrimitive<T>,
    T: Int + FromScalar,
{
    let Cast { target, out_of_range, .. } = *cast;
    // A source element whose low bits are the output.
    let low_bits = |output: Scalar| {
        (size_of::<T>() <= size_of::<S>())
            .then(|| S::from_scalar(Scalar::from_bits(S::TYPE, output.bits())))
    };
    let is_exact = is_exact(S::TYPE, target);
    if out_of_range == OutOfRange::Wrap || is_exact {
        let Some((key, output)) = entry else {
            let same = size_of::<S>() == size_of::<T>();
            let cast = (!same).then(|| bind_loop(Loop(IntAs::<S, T>(PhantomData))));
            return Some(cast.into_iter().collect());
        };
        let key = S::from_scalar(key);
        let cast = IntAs::<S, T>(PhantomData);
        if let Some(value) = low_bits(output) {
            return Some(vec![bind_loop(Loop(Then(ReplaceKey { key, value }, cast)))]);
        }
        let (key, value) = (key.as_(), T::from_scalar(output));
        // Where a negative element wraps, two may become one only if the target is narrower.
        return Some(vec![bind_loop(Loop(Then(cast, ReplaceKey { key, value })))]);
    }
    // The target's range, as far as the source reaches it.
    let range = |scalar: Scalar| reference::integer(scalar);
    let min = S::from(range(Scalar::min(target)).max(range(Scalar::min(S::TYPE))))?;
    let max = S::from(range(Scalar::max(target)).min(range(Scalar::max(S::TYPE))))?;
    fn held<S, T, const MAPS: bool>(
        [min, max]: [S; 2],
        entry: (S, S),
        out_of_range: OutOfRange,
        _level: Level,
    ) -> Stage
    where
        S: Int + Flags + AsPrimitive<T>,
        T: Int,
    {
        match out_of_range {
            OutOfRange::Error if min.is_zero() => {
                let target = PhantomData;
                bind_loop(Loop(IntClamp::<S, T, Error, MAPS, true> { min, max, entry, target }))
            }
            OutOfRange::Error => {
                let target = PhantomData;
                bind_loop(Loop(IntClamp::<S, T, Error, MAPS, false> { min, max, entry, target }))
            }
            _ => {
                let target = PhantomData;
                bind_loop(Loop(IntClamp::<S, T, Clamp, MAPS, false> { min, max, entry, target }))
            }
        }
    }
    Some(vec![match entry {
        None => held::<S, T, false>([min, max], (min, min), out_of_range, level),
        Some((key, output)) => {
            let entry = (S::from_scalar(key), low_bits(output)?);
            held::<S, T, true>([min, max], entry, out_of_range, level)
        }
    }])
}

/// Integers of 8 and 16 bits to a float type: f32 and f64 have them exactly.
fn short_to_float<S>(entry: Option<(Scalar, Scalar)>, cast: &Cast, level: Level) -> Option<Stages>
where
    S: Int + FromScalar + AsPrimitive<f32> + AsPrimitive<f64>,
{
    let single = ExactToFloat::<S, f32>(PhantomData);
    match cast.target {
        ElementType::Float64 => {
            patched::<_, Nothing>(ExactToFloat::<S, f64>(PhantomData), entry, cast, level)
        }
        ElementType::Float32 => patched::<_, Nothing>(single, entry, cast, level),
        _ => match S::TYPE {
            ElementType::Int8 | ElementType::UInt8 => {
                patched::<_, NarrowByte>(single, entry, cast, level)
            }
            ElementType::Int16 => patched::<_, NarrowInt16>(single, entry, cast, level),
            _ => patched::<_, NarrowInt>(single, entry, cast, level),
        },
    }
}

/// Integers of 32 and 64 bits to f32 or a narrower float; to odd if they are rounded once more.
fn long_to_float<S>(entry: Option<(Scalar, Scalar)>, cast: &Cast, level: Level) -> Option<Stages>
where
    S: RoundTo<f32> + FromScalar + AsPrimitive<i32>,
{
    match cast.target {
        ElementType::Float32 => with_rounding!(cast.rounding, R => {
            patched::<_, Nothing>(IntToFloat::<S, f32, R>(PhantomData), entry, cast, level)
        }),
        ElementType::Float16 => {
            patched::<_, NarrowInt>(IntForF16::<S>(PhantomData), entry, cast, level)
        }
        _ => patched::<_, NarrowInt>(IntToFloat::<S, f32, Odd>(PhantomData), entry, cast, level),
    }
}

/// As [`long_to_float`], for 32 bits, which f64 has exactly.
fn word_to_float<S>(entry: Option<(Scalar, Scalar)>, cast: &Cast, level: Level) -> Option<Stages>
where
    S: RoundTo<f32> + FromScalar + AsPrimitive<i32> + AsPrimitive<f64>,
{
    if cast.target != ElementType::Float64 {
        return long_to_float::<S>(entry, cast, level);
    }
    patched::<_, Nothing>(ExactToFloat::<S, f64>(PhantomData), entry, cast, level)
}

/// As [`long_to_float`], for 64 bits.
fn double_word_to_float<S>(
    entry: Option<(Scalar, Scalar)>,
    cast: &Cast,
    level: Level,
) -> Option<Stages>
where
    S: RoundTo<f32> + RoundTo<f64> + FromScalar + AsPrimitive<i32>,
{
    if cast.target != ElementType::Float64 {
        return long_to_float::<S>(entry, cast, level);
    }
    with_rounding!(cast.rounding, R => {
        patched::<_, Nothing>(IntToFloat::<S, f64, R>(PhantomData), entry, cast, level)
    })
}

/// `convert`, which gives f32 or f64, with the entry of a map, and what `B` puts behind it.
fn patched<P, B>(
    convert: P,
    entry: Option<(Scalar, Scalar)>,
    cast: &Cast,
    level: Level,
) -> Option<Stages>
where
    P: PerElement<Source: Int + FromScalar, Target: FromScalar, Flags = ()>,
    B: BehindInt<P::Target>,
{
    let Some((key, output)) = entry else { return Some(B::join(convert, cast, level)) };
    let key = P::Source::from_scalar(key);
    let value = P::Target::from_scalar(preimage(output, P::Target::TYPE, cast)?);
    Some(B::join(Patch { cast: convert, key, value }, cast, level))
}

/// What follows in the loop that makes integers f32 or f64.
trait BehindInt<F> {
    fn join<P>(work: P, cast: &Cast, level: Level) -> Stages
    where
        P: PerElement<Target = F, Flags = ()>;
}

/// The float is the target.
struct Nothing;

impl<F> BehindInt<F> for Nothing {
    fn join<P>(work: P, _: &Cast, _level: Level) -> Stages
    where
        P: PerElement<Target = F, Flags = ()>,
    {
        vec![bind_loop(Loop(work))]
    }
}

/// A float narrower than f32, from 8 bits, which the two-byte ones have exactly.
struct NarrowByte;

impl BehindInt<f32> for NarrowByte {
    fn join<P>(work: P, cast: &Cast, level: Level) -> Stages
    where
        P: PerElement<Target = f32, Flags = ()>,
    {
        match cast.target {
            ElementType::BFloat16 => vec![bind_loop(Loop(Then(work, ExactBf16)))],
            ElementType::Float16 => {
                vec![bind_loop(Loop(Then(work, EncodeF16InRange::<NearestEven>::new())))]
            }
            _ => NarrowInt::by_minifloat(work, cast, level),
        }
    }
}

/// From `int16`, whose values are in the range of `float16`.
struct NarrowInt16;

impl BehindInt<f32> for NarrowInt16 {
    fn join<P>(work: P, cast: &Cast, level: Level) -> Stages
    where
        P: PerElement<Target = f32, Flags = ()>,
    {
        match cast.target {
            ElementType::Float16 => with_rounding!(cast.rounding, R => {
                vec![bind_loop(Loop(Then(work, EncodeF16InRange::<R>::new())))]
            }),
            _ => NarrowInt::join_others(work, cast, level),
        }
    }
}

/// From the other integers.
struct NarrowInt;

impl BehindInt<f32> for NarrowInt {
    fn join<P>(work: P, cast: &Cast, level: Level) -> Stages
    where
        P: PerElement<Target = f32, Flags = ()>,
    {
        match cast.target {
            ElementType::Float16 => with_rounding!(cast.rounding, R => match cast.out_of_range {
                OutOfRange::Clamp => {
                    vec![bind_loop(Loop(Then(work, EncodeF16::<R, Clamp>::new())))]
                }
                _ => vec![bind_loop(Loop(Then(work, EncodeF16::<R, Error>::new())))],
            }),
            _ => Self::join_others(work, cast, level),
        }
    }
}

impl NarrowInt {
    fn join_others<P>(work: P, cast: &Cast, level: Level) -> Stages
    where
        P: PerElement<Target = f32, Flags = ()>,
    {
        match cast.target {
            // Every integer is in its range.
            ElementType::BFloat16 => with_rounding!(cast.rounding, R => {
                let encode = EncodeBf16InRange::<R>(PhantomData);
                vec![bind_loop(Loop(Then(work, encode)))]
            }),
            _ => Self::by_minifloat(work, cast, level),
        }
    }

    fn by_minifloat<P: PerElement<Target = f32>>(work: P, cast: &Cast, level: Level) -> Stages {
        let encoder = f32::to_float(Same::<f32>(PhantomData), cast, level);
        stage(work, level).into_iter().chain(encoder).collect()
    }
}

//! Casts from floats: decoded where they are narrow, and joined with what follows.

use std::marker::PhantomData;

use num_traits::AsPrimitive;

use super::map::preimage;
use super::{FromScalar, Stages, copy, stage, wide, with_rounding};
use crate::stages::Stage;
use crate::stages::convert::{
    Clamp, DoubleForF16, Error, ExactToFloat, FloatToInt, Int, Narrow, NearestAway, NearestEven,
    Odd, Range, Real, Round, ToInt, TowardsNegative, TowardsPositive, TowardsZero, Wrap,
};
use crate::stages::map::ReplaceNan;
use crate::stages::per_element::{Loop, PerElement, Same, Then};
use crate::stages::small_float::{EncodeBf16, EncodeF16, minifloat_encoder};
use crate::{Cast, ElementType, Format, Level, OutOfRange, Rounding, Scalar, reference};

/// The float types in which the elements of a float type are worked on.
pub(super) trait FloatSource: Real + FromScalar + AsPrimitive<f64> {
    /// The cast of what `before` gives to an integer type.
    fn to_int<P: PerElement<Target = Self>, R: Round>(
        before: P,
        cast: &Cast,
        level: Level,
    ) -> Box<dyn Stage>;

    /// The cast of what `before` gives to a float type.
    fn to_float<P: PerElement<Target = Self>>(before: P, cast: &Cast, level: Level) -> Stages;
}

impl FloatSource for f32 {
    fn to_int<P: PerElement<Target = f32>, R: Round>(
        before: P,
        cast: &Cast,
        level: Level,
    ) -> Box<dyn Stage> {
        match wide(cast.target) {
            ElementType::Int8 | ElementType::UInt8 => {
                float_to_int::<_, u8, P, R>(before, cast, level)
            }
            ElementType::Int16 | ElementType::UInt16 => {
                float_to_int::<_, u16, P, R>(before, cast, level)
            }
            ElementType::Int32 => float_to_int::<_, i32, P, R>(before, cast, level),
            ElementType::UInt32 => float_to_int::<_, u32, P, R>(before, cast, level),
            ElementType::Int64 => float_to_int::<_, i64, P, R>(before, cast, level),
            _ => float_to_int::<_, u64, P, R>(before, cast, level),
        }
    }

    fn to_float<P: PerElement<Target = f32>>(before: P, cast: &Cast, level: Level) -> Stages {
        let Cast { target, rounding, out_of_range, .. } = *cast;
        let Format::Float(format) = target.format() else { return vec![] };
        match target {
            ElementType::Float32 => stage(before, level).into_iter().collect(),
            ElementType::Float64 => {
                vec![level.bind(Loop(Then(before, ExactToFloat::<f32, f64>(PhantomData))))]
            }
            ElementType::BFloat16 => with_rounding!(rounding, R => match out_of_range {
                OutOfRange::Clamp => {
                    vec![level.bind(Loop(Then(before, EncodeBf16::<R, Clamp>(PhantomData))))]
                }
                _ => vec![level.bind(Loop(Then(before, EncodeBf16::<R, Error>(PhantomData))))],
            }),
            ElementType::Float16 => with_rounding!(rounding, R => match out_of_range {
                OutOfRange::Clamp => {
                    vec![level.bind(Loop(Then(before, EncodeF16::<R, Clamp>::new())))]
                }
                _ => vec![level.bind(Loop(Then(before, EncodeF16::<R, Error>::new())))],
            }),
            _ => {
                let encoder = with_rounding!(rounding, R => match out_of_range {
                    OutOfRange::Clamp => minifloat_encoder::<R, Clamp>(target, format, level),
                    _ => minifloat_encoder::<R, Error>(target, format, level),
                });
                stage(before, level).into_iter().chain([encoder]).collect()
            }
        }
    }
}

impl FloatSource for f64 {
    fn to_int<P: PerElement<Target = f64>, R: Round>(
        before: P,
        cast: &Cast,
        level: Level,
    ) -> Box<dyn Stage> {
        match wide(cast.target) {
            ElementType::Int8 | ElementType::UInt8 => {
                float_to_int::<_, u8, P, R>(before, cast, level)
            }
            ElementType::Int16 | ElementType::UInt16 => {
                float_to_int::<_, u16, P, R>(before, cast, level)
            }
            ElementType::Int32 | ElementType::UInt32 => {
                float_to_int::<_, u32, P, R>(before, cast, level)
            }
            ElementType::Int64 => float_to_int::<_, i64, P, R>(before, cast, level),
            _ => float_to_int::<_, u64, P, R>(before, cast, level),
        }
    }

    fn to_float<P: PerElement<Target = f64>>(before: P, cast: &Cast, level: Level) -> Stages {
        let Cast { target, rounding, out_of_range, .. } = *cast;
        // The bounds of a type that f64 narrows to, with its rounding.
        let min = furthest_in_range::<f64>(true, target, rounding);
        let max = furthest_in_range::<f64>(false, target, rounding);
        fn narrowed<P: PerElement<Target = f64>, R: Round, M: Range>(
            before: P,
            [min, max]: [f64; 2],
            level: Level,
        ) -> Stages {
            let beyond = f32::INFINITY;
            let narrow = Narrow::<R, M> { min, max, beyond, policy: PhantomData };
            vec![level.bind(Loop(Then(before, narrow)))]
        }
        fn half<P: PerElement<Target = f64>, R: Round, M: Range>(
            before: P,
            [min, max]: [f64; 2],
            level: Level,
        ) -> Stages {
            let narrow = DoubleForF16::<R, M> { min, max, policy: PhantomData };
            vec![level.bind(Loop(Then(before, Then(narrow, EncodeF16::<R, Clamp>::new()))))]
        }
        match target {
            ElementType::Float64 => stage(before, level).into_iter().collect(),
            ElementType::Float32 => with_rounding!(rounding, R => match out_of_range {
                OutOfRange::Clamp => narrowed::<P, R, Clamp>(before, [min, max], level),
                _ => narrowed::<P, R, Error>(before, [min, max], level),
            }),
            ElementType::Float16 => with_rounding!(rounding, R => match out_of_range {
                OutOfRange::Clamp => half::<P, R, Clamp>(before, [min, max], level),
                _ => half::<P, R, Error>(before, [min, max], level),
            }),
            _ => {
                // From 2^128 on a value is out of every narrower type's range; below, rounding to odd
                // keeps on which side of each boundary it lies.
                let max = f64::from_bits(2.0_f64.powi(128).to_bits() - 1);
                let beyond = if target.has_infinity() { f32::INFINITY } else { f32::MAX };
                match out_of_range {
                    OutOfRange::Clamp => by_odd::<P, Clamp>(before, max, beyond, cast, level),
                    _ => by_odd::<P, Error>(before, max, beyond, cast, level),
                }
            }
        }
    }
}

/// f64 to a float narrower than f32 by way of f32, rounded to odd.
fn by_odd<P: PerElement<Target = f64>, M: Range>(
    before: P,
    max: f64,
    beyond: f32,
    cast: &Cast,
    level: Level,
) -> Stages {
    let narrow = Then(before, Narrow::<Odd, M> { min: -max, max, beyond, policy: PhantomData });
    let encode = f32::to_float(Same::<f32>(PhantomData), cast, level);
    stage(narrow, level).into_iter().chain(encode).collect()
}

/// The cast of float elements, once `decode` has made them wide.
pub(super) fn from_float<P>(
    decode: P,
    entry: Option<(Scalar, Scalar)>,
    cast: &Cast,
    level: Level,
) -> Option<Stages>
where
    P: PerElement<Target: FloatSource>,
{
    fn finish<P: PerElement<Target: FloatSource>>(before: P, cast: &Cast, level: Level) -> Stages {
        if cast.target.is_float() {
            return P::Target::to_float(before, cast, level);
        }
        // Held to the range, an integer is canonical already.
        let clear = (cast.out_of_range == OutOfRange::Wrap && wide(cast.target) != cast.target)
            .then(|| copy(cast.target, level));
        let converted = with_rounding!(cast.rounding, R => {
            P::Target::to_int::<P, R>(before, cast, level)
        });
        std::iter::once(converted).chain(clear).collect()
    }
    match entry {
        None => Some(finish(decode, cast, level)),
        Some((key, output)) if key.is_nan() => {
            if let Some(nan) = preimage(output, P::Target::TYPE, cast) {
                let nan = ReplaceNan(P::Target::from_scalar(nan));
                return Some(finish(Then(decode, nan), cast, level));
            }
            // A number beyond f32 is put behind the cast to f64, which keeps NaN.
            let nan = (cast.target == ElementType::Float64).then(|| f64::from_scalar(output))?;
            let double = ExactToFloat::<P::Target, f64>(PhantomData);
            Some(vec![level.bind(Loop(Then(Then(decode, double), ReplaceNan(nan))))])
        }
        Some(_) => None,
    }
}

fn float_to_int<F, T, P, R>(before: P, cast: &Cast, level: Level) -> Box<dyn Stage>
where
    F: ToInt<T> + FromScalar,
    T: Int + FromScalar,
    P: PerElement<Target = F>,
    R: Round,
{
    let Cast { target, rounding, out_of_range, .. } = *cast;
    let max = furthest_in_range::<F>(false, target, rounding);
    let min = furthest_in_range::<F>(true, target, rounding);
    let top = T::from_scalar(Scalar::max(target));
    match out_of_range {
        OutOfRange::Error => {
            let to_int = FloatToInt::<F, T, R, Error> { min, max, top, policy: PhantomData };
            level.bind(Loop(Then(before, to_int)))
        }
        OutOfRange::Clamp => {
            let to_int = FloatToInt::<F, T, R, Clamp> { min, max, top, policy: PhantomData };
            level.bind(Loop(Then(before, to_int)))
        }
        OutOfRange::Wrap => {
            let to_int = FloatToInt::<F, T, R, Wrap> { min, max, top, policy: PhantomData };
            level.bind(Loop(Then(before, to_int)))
        }
    }
}

/// The float furthest from zero, to one side, that rounds into the target's range; found by halving
/// the interval of bit patterns, whose order is that of the values.
fn furthest_in_range<F: FromScalar>(negative: bool, target: ElementType, rounding: Rounding) -> F {
    let Format::Float(format) = F::TYPE.format() else { return F::zeroed() };
    let sign = u64::from(negative) << (format.bits() - 1);
    let fits = |bits: u64| {
        let value = Scalar::from_bits(F::TYPE, bits | sign);
        reference::cast(value, target, rounding, OutOfRange::Error).is_ok()
    };
    let (mut inside, mut outside) = (0, format.infinity_bits());
    while outside - inside > 1 {
        let middle = inside + (outside - inside) / 2;
        if fits(middle) { inside = middle } else { outside = middle }
    }
    F::from_scalar(Scalar::from_bits(F::TYPE, inside | sign))
}

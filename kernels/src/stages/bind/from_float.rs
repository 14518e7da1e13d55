//! Casts from floats: decoded where they are narrow, and joined with what follows.

use core::marker::PhantomData;

use num_traits::AsPrimitive;

use super::map::preimage;
use super::{FromScalar, Stages, copy, stage, wide, with_rounding};
use crate::stages::Stage;
use crate::stages::bind_loop;
use crate::stages::convert::{
    Bounds, Clamp, Codes, Error, ExactToFloat, FloatToInt, ForShortFloat, InRangeToInt, Int, IntAs,
    Narrow, NearestAway, NearestEven, Odd, Range, Real, Round, ToInt, TowardsNegative,
    TowardsPositive, TowardsZero, Wrap,
};
use crate::stages::map::ReplaceNan;
use crate::stages::per_element::{Loop, PerElement, Same, Then};
use crate::stages::small_float::{
    DecodeBf16, DecodeF16, EncodeBf16, EncodeF16, EncodeF16InRange, NearResidue, WidenBf16,
    minifloat_encoder,
};
use crate::{Cast, ElementType, Format, Level, OutOfRange, Rounding, Scalar, reference};

/// The float types in which the elements of a float type are worked on.
pub(super) trait FloatSource:
    Real
    + FromScalar
    + AsPrimitive<f64>
    + ToInt<u8>
    + ToInt<u16>
    + ToInt<i64>
    + ToInt<u64>
    + ToInt<<Self as FloatSource>::Int32>
    + ToInt<<Self as FloatSource>::UInt32>
{
    /// What a cast to `int32` makes; the same as [`FloatSource::UInt32`] where the low bits serve both.
    type Int32: Int + FromScalar;
    /// What a cast to `uint32` makes.
    type UInt32: Int + FromScalar;

    /// The cast of what `before` gives to a float type.
    fn to_float<P: PerElement<Target = Self>>(before: P, cast: &Cast, level: Level) -> Stages;
}

/// The cast of what `before` gives to an integer type.
pub(super) fn to_int<P, R>(before: P, cast: &Cast, level: Level) -> Stage
where
    P: PerElement<Target: FloatSource>,
    R: Round,
{
    fn alone<T, P, R>(before: P, cast: &Cast, level: Level) -> Stage
    where
        T: Int + FromScalar,
        P: PerElement<Target: ToInt<T> + FromScalar>,
        R: Round,
    {
        let same = Same::<T>(PhantomData);
        let Cast { target, rounding, .. } = *cast;
        match cast.out_of_range {
            OutOfRange::Error => {
                float_to_int::<T, P, _, R, Error>(before, same, target, rounding, level)
            }
            OutOfRange::Clamp => {
                float_to_int::<T, P, _, R, Clamp>(before, same, target, rounding, level)
            }
            OutOfRange::Wrap => {
                float_to_int::<T, P, _, R, Wrap>(before, same, target, rounding, level)
            }
        }
    }
    match wide(cast.target) {
        ElementType::Int8 | ElementType::UInt8 => alone::<u8, P, R>(before, cast, level),
        ElementType::Int16 | ElementType::UInt16 => alone::<u16, P, R>(before, cast, level),
        ElementType::Int32 => alone::<<P::Target as FloatSource>::Int32, P, R>(before, cast, level),
        ElementType::UInt32 => {
            alone::<<P::Target as FloatSource>::UInt32, P, R>(before, cast, level)
        }
        ElementType::Int64 => alone::<i64, P, R>(before, cast, level),
        _ => alone::<u64, P, R>(before, cast, level),
    }
}

impl FloatSource for f32 {
    type Int32 = i32;
    type UInt32 = u32;

    fn to_float<P: PerElement<Target = f32>>(before: P, cast: &Cast, level: Level) -> Stages {
        let Cast { target, rounding, out_of_range, .. } = *cast;
        let Format::Float(format) = target.format() else { return vec![] };
        match target {
            ElementType::Float32 => stage(before, level).into_iter().collect(),
            ElementType::Float64 => {
                vec![bind_loop(Loop(Then(before, ExactToFloat::<f32, f64>(PhantomData))))]
            }
            ElementType::BFloat16 => with_rounding!(rounding, R => match out_of_range {
                OutOfRange::Clamp => {
                    vec![bind_loop(Loop(Then(before, EncodeBf16::<R, Clamp>(PhantomData))))]
                }
                _ => vec![bind_loop(Loop(Then(before, EncodeBf16::<R, Error>(PhantomData))))],
            }),
            ElementType::Float16 => with_rounding!(rounding, R => match out_of_range {
                OutOfRange::Clamp => {
                    vec![bind_loop(Loop(Then(before, EncodeF16::<R, Clamp>::new())))]
                }
                _ => vec![bind_loop(Loop(Then(before, EncodeF16::<R, Error>::new())))],
            }),
            // As in `crate::bind`.
            _ if cfg!(not(feature = "small-types")) => Stages::new(),
            _ => {
                let encoder = with_rounding!(rounding, R => match out_of_range {
                    OutOfRange::Clamp => {
                        minifloat_encoder::<R, Clamp>(target, format, false, level)
                    }
                    _ => minifloat_encoder::<R, Error>(target, format, false, level),
                });
                stage(before, level).into_iter().chain([encoder]).collect()
            }
        }
    }
}

impl FloatSource for f64 {
    type Int32 = u32;
    type UInt32 = u32;

    fn to_float<P: PerElement<Target = f64>>(before: P, cast: &Cast, level: Level) -> Stages {
        let Cast { target, rounding, out_of_range, .. } = *cast;
        // The bounds of a type that f64 narrows to, with its rounding.
        let min = furthest_in_range::<f64>(true, target, rounding);
        let max = furthest_in_range::<f64>(false, target, rounding);
        fn narrowed<P: PerElement<Target = f64>, R: Round, M: Range>(
            before: P,
            [min, max]: [f64; 2],
            beyond: f32,
            _level: Level,
        ) -> Stages {
            let narrow = Narrow::<R, M> { min, max, beyond, policy: PhantomData };
            vec![bind_loop(Loop(Then(before, narrow)))]
        }
        match target {
            ElementType::Float64 => stage(before, level).into_iter().collect(),
            ElementType::Float32 => with_rounding!(rounding, R => match out_of_range {
                OutOfRange::Clamp => narrowed::<P, R, Clamp>(before, [min, max], f32::INFINITY, level),
                _ => narrowed::<P, R, Error>(before, [min, max], f32::INFINITY, level),
            }),
            ElementType::Float8E8M0Fnu if cfg!(feature = "small-types") => {
                // It has f32's exponents: from 2^128 on a value is out of range; below, rounding to
                // odd keeps on which side of each boundary it lies.
                let max = f64::from_bits(((1023 + 128) << 52) - 1);
                let narrow = match out_of_range {
                    OutOfRange::Clamp => {
                        narrowed::<P, Odd, Clamp>(before, [-max, max], f32::MAX, level)
                    }
                    _ => narrowed::<P, Odd, Error>(before, [-max, max], f32::MAX, level),
                };
                let encode = f32::to_float(Same::<f32>(PhantomData), cast, level);
                narrow.into_iter().chain(encode).collect()
            }
            _ => {
                with_rounding!(rounding, R => by_short_float::<P, R>(before, [min, max], cast, level))
            }
        }
    }
}

/// f64 to a float narrower than f32, but `float8_e8m0fnu`.
fn by_short_float<P: PerElement<Target = f64>, R: Round>(
    before: P,
    [min, max]: [f64; 2],
    cast: &Cast,
    level: Level,
) -> Stages {
    fn join<P: PerElement<Target = f64>, R: Round, M: Range>(
        before: P,
        narrow: ForShortFloat<R, M>,
        target: ElementType,
        level: Level,
    ) -> Stages {
        let narrow = Then(before, narrow);
        match target {
            // What was out of range is refused already.
            ElementType::Float16 if M::MODE == OutOfRange::Error => {
                vec![bind_loop(Loop(Then(narrow, EncodeF16InRange::<R>::new())))]
            }
            ElementType::Float16 => {
                vec![bind_loop(Loop(Then(narrow, EncodeF16::<R, Clamp>::new())))]
            }
            ElementType::BFloat16 => {
                let encode = EncodeBf16::<R, Clamp>(PhantomData);
                vec![bind_loop(Loop(Then(narrow, encode)))]
            }
            _ if cfg!(not(feature = "small-types")) => Stages::new(),
            _ => {
                let Format::Float(format) = target.format() else { return vec![] };
                let encode = minifloat_encoder::<R, Clamp>(target, format, true, level);
                stage(narrow, level).into_iter().chain([encode]).collect()
            }
        }
    }
    let Cast { target, out_of_range, .. } = *cast;
    let policy = PhantomData;
    let infinity = f64::INFINITY.to_bits();
    // An infinity that the target has not needs the reference, whatever the range mode.
    let special = if target.has_infinity() { infinity } else { infinity + 1 };
    match out_of_range {
        OutOfRange::Clamp if target.has_infinity() => {
            let narrow = ForShortFloat::<R, Clamp> { min, max, special, policy };
            join(before, narrow, target, level)
        }
        OutOfRange::Clamp => {
            let (min, max) = (f64::MIN, f64::MAX);
            let narrow = ForShortFloat::<R, Error> { min, max, special, policy: PhantomData };
            join(before, narrow, target, level)
        }
        _ => {
            let narrow = ForShortFloat::<R, Error> { min, max, special, policy: PhantomData };
            join(before, narrow, target, level)
        }
    }
}

/// The cast of float elements.
pub(super) fn from_float(
    source: ElementType,
    entry: Option<(Scalar, Scalar)>,
    cast: &Cast,
    level: Level,
) -> Option<Stages> {
    let wraps_to_short = cast.out_of_range == OutOfRange::Wrap && cast.target.size() <= 2;
    let single = Same::<f32>(PhantomData);
    let double = Same::<f64>(PhantomData);
    if cast.target.is_float() {
        return match source {
            ElementType::Float16 => replaced::<_, ToFloat>(DecodeF16, entry, cast, level),
            ElementType::BFloat16 if cast.target == ElementType::Float32 => {
                replaced::<_, Nothing>(DecodeBf16, entry, cast, level)
            }
            // Every other cast makes NaNs quiet by itself.
            ElementType::BFloat16 => replaced::<_, ToFloat>(WidenBf16, entry, cast, level),
            ElementType::Float32 => replaced::<_, ToFloat>(single, entry, cast, level),
            _ => replaced::<_, ToFloat>(double, entry, cast, level),
        };
    }
    match source {
        ElementType::Float16 => {
            // What takes the place of NaN has to be in its range, too.
            let fits = entry.is_none_or(|(_, output)| output.to_f64().abs() <= 65_504.0);
            fits.then(|| replaced::<_, ToInteger<Half>>(DecodeF16, entry, cast, level)).flatten()
        }
        ElementType::BFloat16 if wraps_to_short => {
            replaced::<_, ToInteger<Bf16Wrapped>>(WidenBf16, entry, cast, level)
        }
        ElementType::BFloat16 => replaced::<_, ToInteger<Any>>(WidenBf16, entry, cast, level),
        ElementType::Float32 => replaced::<_, ToInteger<Any>>(single, entry, cast, level),
        _ => replaced::<_, ToInteger<Any>>(double, entry, cast, level),
    }
}

/// What `B` puts behind `decode`, with the entry of a map between them.
fn replaced<P, B>(
    decode: P,
    entry: Option<(Scalar, Scalar)>,
    cast: &Cast,
    level: Level,
) -> Option<Stages>
where
    P: PerElement<Target: FloatSource>,
    B: BehindFloat<P::Target>,
{
    match entry {
        None => Some(B::join(decode, cast, level)),
        Some((key, output)) if key.is_nan() => {
            if let Some(nan) = preimage(output, P::Target::TYPE, cast) {
                let nan = ReplaceNan(P::Target::from_scalar(nan));
                return Some(B::join(Then(decode, nan), cast, level));
            }
            // A number beyond f32 is put behind the cast to f64, which keeps NaN.
            let nan = (cast.target == ElementType::Float64).then(|| f64::from_scalar(output))?;
            let double = ExactToFloat::<P::Target, f64>(PhantomData);
            Some(vec![bind_loop(Loop(Then(Then(decode, double), ReplaceNan(nan))))])
        }
        Some(_) => None,
    }
}

/// What follows in the loop that decodes floats.
trait BehindFloat<F> {
    fn join<P: PerElement<Target = F>>(before: P, cast: &Cast, level: Level) -> Stages;
}

/// The cast to a float type.
struct ToFloat;

impl<F: FloatSource> BehindFloat<F> for ToFloat {
    fn join<P: PerElement<Target = F>>(before: P, cast: &Cast, level: Level) -> Stages {
        F::to_float(before, cast, level)
    }
}

/// The float is the target.
struct Nothing;

impl BehindFloat<f32> for Nothing {
    fn join<P: PerElement<Target = f32>>(before: P, _: &Cast, _level: Level) -> Stages {
        vec![bind_loop(Loop(before))]
    }
}

/// The cast to an integer type, as `B` does it.
struct ToInteger<B>(PhantomData<B>);

impl<F, B: IntBehindFloat<F>> BehindFloat<F> for ToInteger<B> {
    fn join<P: PerElement<Target = F>>(before: P, cast: &Cast, level: Level) -> Stages {
        let converted = with_rounding!(cast.rounding, R => B::bind::<P, R>(before, cast, level));
        // Held to the range, an integer is canonical already; a wrapped one may use too many bits.
        let wraps = cast.out_of_range == OutOfRange::Wrap && wide(cast.target) != cast.target;
        core::iter::once(converted).chain(wraps.then(|| copy(cast.target, level))).collect()
    }
}

/// The stage that makes floats integers.
trait IntBehindFloat<F> {
    fn bind<P: PerElement<Target = F>, R: Round>(before: P, cast: &Cast, level: Level) -> Stage;
}

/// Every value.
struct Any;

impl<F: FloatSource> IntBehindFloat<F> for Any {
    fn bind<P: PerElement<Target = F>, R: Round>(before: P, cast: &Cast, level: Level) -> Stage {
        to_int::<P, R>(before, cast, level)
    }
}

/// Values of `float16`. They are whole numbers of at most 17 bits with the sign, so that neither wrapping
/// nor 64 bits need more than a cast between integers.
struct Half;

impl IntBehindFloat<f32> for Half {
    fn bind<P: PerElement<Target = f32>, R: Round>(before: P, cast: &Cast, level: Level) -> Stage {
        /// To integers of at most 16 bits, and to unsigned ones by way of 16.
        fn held<P: PerElement<Target = f32>, R: Round, M: Range>(
            before: P,
            target: ElementType,
            rounding: Rounding,
            level: Level,
        ) -> Stage {
            let short = ElementType::UInt16;
            match wide(target).size() {
                1 => {
                    let same = Same::<u8>(PhantomData);
                    float_to_int::<u8, _, _, R, M>(before, same, target, rounding, level)
                }
                2 => {
                    let same = Same::<u16>(PhantomData);
                    float_to_int::<u16, _, _, R, M>(before, same, target, rounding, level)
                }
                4 => {
                    let word = IntAs::<u16, u32>(PhantomData);
                    float_to_int::<u16, _, _, R, M>(before, word, short, rounding, level)
                }
                _ => {
                    let long = IntAs::<u16, u64>(PhantomData);
                    float_to_int::<u16, _, _, R, M>(before, long, short, rounding, level)
                }
            }
        }
        /// Whatever is a number is in this range.
        fn low_bits<T: Int, P, R>(before: P, _level: Level) -> Stage
        where
            P: PerElement<Target = f32>,
            R: Round,
            f32: ToInt<T>,
        {
            let codes = Codes::new(-1 << 21, (1 << 21) - 1);
            let bounds = Bounds { min: f32::MIN, max: f32::MAX, top: T::zero(), codes };
            let to_int = FloatToInt::<f32, T, R, Error> { bounds, policy: PhantomData };
            bind_loop(Loop(Then(before, to_int)))
        }
        let Cast { target, rounding, out_of_range, .. } = *cast;
        let size = wide(target).size();
        match out_of_range {
            OutOfRange::Wrap if size == 1 => low_bits::<u8, _, R>(before, level),
            OutOfRange::Wrap if size == 2 => low_bits::<u16, _, R>(before, level),
            // Only NaN and infinities are out of range.
            _ if size >= 4 && (out_of_range == OutOfRange::Wrap || target.is_signed()) => {
                let exact = ElementType::Int32;
                if size == 4 {
                    let same = Same(PhantomData);
                    float_to_int::<i32, _, _, R, Error>(before, same, exact, rounding, level)
                } else {
                    let long = IntAs::<i32, u64>(PhantomData);
                    float_to_int::<i32, _, _, R, Error>(before, long, exact, rounding, level)
                }
            }
            OutOfRange::Clamp => held::<P, R, Clamp>(before, target, rounding, level),
            _ => held::<P, R, Error>(before, target, rounding, level),
        }
    }
}

/// Values of `bfloat16`, wrapped to at most 16 bits.
struct Bf16Wrapped;

impl IntBehindFloat<f32> for Bf16Wrapped {
    fn bind<P: PerElement<Target = f32>, R: Round>(before: P, cast: &Cast, _level: Level) -> Stage {
        if cast.target.size() == 1 {
            let near = Then(before, NearResidue::<8>);
            bind_loop(Loop(Then(near, InRangeToInt::<f32, u8, R>(PhantomData))))
        } else {
            let near = Then(before, NearResidue::<16>);
            let to_int = InRangeToInt::<f32, i32, R>(PhantomData);
            let short = IntAs::<i32, u16>(PhantomData);
            bind_loop(Loop(Then(near, Then(to_int, short))))
        }
    }
}

/// The cast of what `before` gives to an integer type, which `T` stands for, and what is `after` it.
fn float_to_int<T, P, A, R, M>(
    before: P,
    after: A,
    target: ElementType,
    rounding: Rounding,
    _level: Level,
) -> Stage
where
    T: Int + FromScalar,
    P: PerElement<Target: ToInt<T> + FromScalar>,
    A: PerElement<Source = T>,
    R: Round,
    M: Range,
{
    let bounds = bounds::<P::Target, T>(target, rounding);
    let to_int = FloatToInt::<P::Target, T, R, M> { bounds, policy: PhantomData };
    bind_loop(Loop(Then(before, Then(to_int, after))))
}

/// What of a float type rounds into the range of an integer type.
#[inline(never)] // once for all kernels of the two types
fn bounds<F: Real + FromScalar, T: Int + FromScalar>(
    target: ElementType,
    rounding: Rounding,
) -> Bounds<F, T> {
    let [least, greatest] = [Scalar::min(target), Scalar::max(target)].map(reference::integer);
    Bounds {
        min: furthest_in_range(true, target, rounding),
        max: furthest_in_range(false, target, rounding),
        top: T::from_scalar(Scalar::max(target)),
        codes: Codes::new(least, greatest),
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

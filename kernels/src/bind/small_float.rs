//! Casts from and to floats of one byte, decoded to float32 and encoded from it: a stage of its own, but where the other
//! side is a float of 16 bits or, in encoding, of 32, or an integer of 16.

use super::class::{Class, FloatType, IntType, Width};
use super::float_to_float::numbers_within;
use super::variants::{TWO_KERNELS, with_bool, with_rounding};
use crate::element::BINARY16;
use crate::ops::float_to_float::ToBits;
use crate::ops::int::{Int16Register, WidenedByte};
use crate::ops::int_to_float::I32ToF32;
use crate::ops::load;
use crate::ops::small_float::{
    AsSmallFloat, DecodeByF16, DecodeE5m2, DecodeE8m0, DecodeSmallFloat, E5m2ToF16, EncodeE8m0,
    EncodeSmallFloat,
};
use crate::ops::store::{AsF16, SaturatedI8, StoreFull, UpperHalves};
use crate::pipeline::{Each, Retry, Same, Shorts, Store, Then, Units, stage};
use crate::simd::{F32s, NearestEven, Simd};
use crate::stages::Stage;
use crate::{Cast, ElementType, FloatFormat, Format, OutOfRange, Rounding, Specials};

/// The upper half of `float16`.
const E5M2: FloatFormat = FloatFormat { mantissa_bits: 2, ..BINARY16 };

/// The stage with `each` and `store` behind a one-byte float as float32.
fn decoded<S, E, T>(simd: S, format: FloatFormat, each: E, store: T) -> Stage
where
    S: Simd,
    E: Each<S, F32s<S>>,
    T: Store<S, E::Out>,
{
    if format == E5M2 {
        return stage(simd, Units(DecodeE5m2, each, store));
    }
    match (DecodeByF16::new(format), format.specials) {
        (Some(decode), _) => stage(simd, Units(decode, each, store)),
        (None, Specials::PowersOfTwo) => stage(simd, Units(DecodeE8m0, each, store)),
        (None, Specials::Ieee | Specials::FiniteOnly | Specials::FiniteAndNan | Specials::Fnuz) => {
            stage(simd, Units(DecodeSmallFloat::new(format), each, store))
        }
    }
}

/// Whether a type of less than a byte, or a one-byte float, is decoded faster than a table of four bytes is read: all but
/// floats that take the general decoder.
pub(super) fn is_faster_than_table(source: ElementType) -> bool {
    match source.format() {
        Format::Integer { .. } => true,
        Format::Float(format) => {
            DecodeByF16::new(format).is_some() || format.specials == Specials::PowersOfTwo
        }
    }
}

/// float32 of a one-byte float.
pub(super) fn decode<S: Simd>(simd: S, source: ElementType) -> Option<Stage> {
    let Format::Float(format) = source.format() else { return None };
    Some(decoded(simd, format, Same, StoreFull))
}

/// `float16` or `bfloat16` of a one-byte float, whose values they have; none for the others.
pub(super) fn decode_to_short<S: Simd>(
    simd: S,
    source: ElementType,
    target: FloatType,
) -> Option<Stage> {
    let Format::Float(format) = source.format() else { return None };
    match target {
        FloatType::Float16 if format == E5M2 => {
            Some(stage(simd, Shorts(WidenedByte::<false>, E5m2ToF16, Int16Register)))
        }
        FloatType::Float16 if format.specials != Specials::PowersOfTwo => {
            Some(decoded(simd, format, Same, AsF16(NearestEven)))
        }
        FloatType::BFloat16 => Some(decoded(simd, format, ToBits, UpperHalves)),
        FloatType::Float16 | FloatType::Float32 | FloatType::Float64 => None,
    }
}

/// A one-byte float to nearest-even by way of `float16`, in one stage. None where that does not serve. `infinity_fails` says
/// that an infinity may stand for a number beyond float32.
pub(super) fn encode_by_f16<S: Simd>(
    simd: S,
    source: Class,
    cast: &Cast,
    infinity_fails: bool,
) -> Option<Stage> {
    if cast.rounding != Rounding::NearestEven {
        return None;
    }
    let Format::Float(format) = cast.target.format() else { return None };
    let clamped = AsSmallFloat::<false>::new(format)?;
    if cast.out_of_range == OutOfRange::Clamp {
        return encoded(simd, source, Same, clamped);
    }
    let fast = encoded(simd, source, Same, AsSmallFloat::<true>::new(format)?)?;
    if infinity_fails || !format.has_infinity() || !TWO_KERNELS {
        return Some(fast);
    }
    let within = numbers_within::<S, F32s<S>, _>(format, NearestEven);
    Some(Retry::of(fast, encoded(simd, source, within, clamped)?))
}

/// As `check` and `store` have it, of the classes that [`encode_by_f16`] serves.
fn encoded<S: Simd>(
    simd: S,
    source: Class,
    check: impl Each<S, F32s<S>, Out = F32s<S>>,
    store: impl Store<S, F32s<S>>,
) -> Option<Stage> {
    Some(match source {
        Class::Float(FloatType::Float16) => stage(simd, Units(load::Float16, check, store)),
        Class::Float(FloatType::BFloat16) => stage(simd, Units(load::BFloat16, check, store)),
        Class::Float(FloatType::Float32) => stage(simd, Units(load::Float32, check, store)),
        Class::Int(IntType { width: Width::W16, signed }) => with_bool!(signed, SIGNED => {
            stage(simd, Units(load::Int16::<SIGNED>, Then(I32ToF32, check), store))
        }),
        Class::Float(FloatType::Float64)
        | Class::Int(IntType { width: Width::W8 | Width::W32 | Width::W64, .. })
        | Class::SubByte
        | Class::SmallFloat => return None,
    })
}

/// A one-byte float of float32; `infinity_fails` as in [`encode_by_f16`].
pub(super) fn encode<S: Simd>(simd: S, cast: &Cast, infinity_fails: bool) -> Option<Stage> {
    let float32 = Class::Float(FloatType::Float32);
    let by_f16 = encode_by_f16(simd, float32, cast, infinity_fails);
    if by_f16.is_some() {
        return by_f16;
    }
    let Format::Float(format) = cast.target.format() else { return None };
    let fails = cast.out_of_range != OutOfRange::Clamp;
    Some(with_bool!(fails, FAILS => with_rounding!(cast.rounding, rounding => {
        match format.specials {
            Specials::PowersOfTwo => {
                let encode = EncodeE8m0::<_, FAILS>(rounding);
                stage(simd, Units(load::Float32, encode, SaturatedI8::<false>))
            }
            Specials::Ieee
            | Specials::FiniteOnly
            | Specials::FiniteAndNan
            | Specials::Fnuz => {
                let encode = EncodeSmallFloat::<_, FAILS>::new(format, rounding, FAILS && infinity_fails);
                stage(simd, Units(load::Float32, encode, SaturatedI8::<false>))
            }
        }
    })))
}

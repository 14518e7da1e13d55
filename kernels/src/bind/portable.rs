//! The scalar level: a short list of loops that the compiler makes vectors of on every CPU. All else goes through the
//! reference, an element after the other.
//!
//! In the list are casts between integers, casts to float32 and float64 that are exact or that every CPU does, casts of floats
//! to at most 16 bits to nearest-even, also scaled and with a value for NaN, and scale and offset.

use alloc::vec::Vec;
use core::marker::PhantomData;

use num_traits::AsPrimitive;

use super::class::{Class, FloatType, IntType, Width, wide};
use super::front::Front;
use super::scale::bind_int;
use super::tables::{bind_table, copy};
use super::values::{distinct, exactly, native, stay_finite};
use super::variants::with_bool;
use crate::exact::range;
use crate::stages::bytes::ReverseBytes;
use crate::stages::convert::{
    AsFloat, DecodeBf16, DecodeF16, IntAs, IntInRange, IntUnscale, MagicRange, Narrow, NativeFloat,
    NativeInt, RoundToInt,
};
use crate::stages::element_op::{Flags, Loop};
use crate::stages::scale::ScaleFloat;
use crate::stages::{Stage, bind_loop};
use crate::{
    Affine, Cast, Element, ElementType, FloatOverflow, Level, OutOfRange, Rounding, Scalar, Step,
    reference,
};

/// The stages of a step, if it is in the list.
pub(super) fn step(source: ElementType, step: &Step) -> Option<Vec<Stage>> {
    match step {
        Step::Cast(cast) => self::cast(source, cast),
        Step::Scale(parameters) => scale::<true>(source, parameters).map(|stage| vec![stage]),
        Step::InverseScale(parameters) => {
            scale::<false>(source, parameters).map(|stage| vec![stage])
        }
    }
}

/// Several steps in one stage: a scale with the cast to an integer, or a cast with the scale back.
pub(super) fn fused(source: ElementType, steps: &[Step]) -> Option<Stage> {
    match steps {
        [Step::Scale(scale), Step::Cast(cast)] => scale_to_short(source, scale, cast),
        [Step::Cast(cast), Step::InverseScale(scale)] => short_to_unscaled(source, cast, scale),
        _ => None,
    }
}

/// Reverses the bytes of elements of 2, 4 and 8 bytes.
pub(super) fn swap_bytes(size: usize) -> Stage {
    match size {
        2 => bind_loop(Loop(ReverseBytes::<u16>(PhantomData))),
        4 => bind_loop(Loop(ReverseBytes::<u32>(PhantomData))),
        _ => bind_loop(Loop(ReverseBytes::<u64>(PhantomData))),
    }
}

/// The cast, with a map of at most one entry, if it is in the list.
fn cast(source: ElementType, cast: &Cast) -> Option<Vec<Stage>> {
    let has_no_map = cast.map.is_empty();
    if source == cast.target && has_no_map {
        return Some(vec![copy(source, Level::Scalar)]);
    }
    match Class::of(source) {
        Class::Int(IntType { width, signed }) if has_no_map => match (width, signed) {
            (Width::W8, true) => from_int::<i8>(cast),
            (Width::W16, true) => from_int::<i16>(cast),
            (Width::W32, true) => from_int::<i32>(cast),
            (Width::W64, true) => from_int::<i64>(cast),
            (Width::W8, false) => from_int::<u8>(cast),
            (Width::W16, false) => from_int::<u16>(cast),
            (Width::W32, false) => from_int::<u32>(cast),
            (Width::W64, false) => from_int::<u64>(cast),
        },
        Class::Float(FloatType::Float32) => Some(vec![from_f32(cast)?]),
        Class::Float(FloatType::Float64) => Some(vec![from_f64(cast)?]),
        Class::Float(FloatType::Float16) if has_no_map => {
            from_decoded(bind_loop(Loop(DecodeF16)), cast)
        }
        Class::Float(FloatType::BFloat16) if has_no_map => {
            from_decoded(bind_loop(Loop(DecodeBf16)), cast)
        }
        Class::Int(_)
        | Class::Float(FloatType::Float16 | FloatType::BFloat16)
        | Class::SubByte
        | Class::SmallFloat => None,
    }
}

/// The cast of 16-bit floats, after the stage that decodes them.
fn from_decoded(decode: Stage, cast: &Cast) -> Option<Vec<Stage>> {
    if cast.target == ElementType::Float32 {
        return Some(vec![decode]);
    }
    Some(vec![decode, from_f32(cast)?])
}

fn from_f32(cast: &Cast) -> Option<Stage> {
    match Class::of(cast.target) {
        Class::Int(_) | Class::SubByte => float_to_short::<f32>(None, cast),
        Class::Float(FloatType::Float64) if cast.map.is_empty() => {
            Some(bind_loop(Loop(AsFloat::<f32, f64>(PhantomData))))
        }
        Class::Float(_) | Class::SmallFloat => None,
    }
}

fn from_f64(cast: &Cast) -> Option<Stage> {
    match Class::of(cast.target) {
        Class::Int(_) | Class::SubByte => float_to_short::<f64>(None, cast),
        Class::Float(FloatType::Float32)
            if cast.map.is_empty() && cast.rounding == Rounding::NearestEven =>
        {
            Some(match cast.out_of_range {
                OutOfRange::Clamp => bind_loop(Loop(Narrow::<true>)),
                OutOfRange::Error | OutOfRange::Wrap => bind_loop(Loop(Narrow::<false>)),
            })
        }
        Class::Float(_) | Class::SmallFloat => None,
    }
}

/// Perhaps scale and offset, then the cast to an integer of at most 16 bits to nearest-even, checked or clamped to the range.
/// An entry of the cast may give a value for NaN; with any other key the order of map and overflow would matter.
fn float_to_short<F>(parameters: Option<&Affine>, cast: &Cast) -> Option<Stage>
where
    F: NativeFloat<Bits: AsPrimitive<u8> + AsPrimitive<u16>> + Element,
{
    fn to_int<F, T>(scaled: Option<(F, F)>, nan: Option<F>, cast: &Cast) -> Option<Stage>
    where
        F: NativeFloat<Bits: AsPrimitive<T>>,
        T: NativeInt,
    {
        let clamps = match cast.out_of_range {
            OutOfRange::Error => false,
            OutOfRange::Clamp => true,
            OutOfRange::Wrap => return None,
        };
        let (offset, scale) = scaled.unwrap_or((F::zero(), F::one()));
        let range = MagicRange::new(range(cast.target));
        Some(with_bool!(scaled.is_some(), SCALES => with_bool!(nan.is_some(), MAPS => {
            with_bool!(clamps, CLAMPS => bind_loop(Loop(RoundToInt::<F, T, SCALES, MAPS, CLAMPS> {
                offset,
                scale,
                nan: nan.unwrap_or(F::zero()),
                range,
                target: PhantomData,
            })))
        })))
    }
    if cast.rounding != Rounding::NearestEven {
        return None;
    }
    let nan = match Front::of(&distinct(&cast.map), F::TYPE, cast)? {
        Front::None => None,
        Front::Nan(nan) => Some(native::<F>(exactly(nan.into(), F::TYPE)?)),
        Front::Key { .. } => return None,
    };
    // A missing offset or scale stands here as its neutral element: without NaN, x − 0 and x · 1 are x.
    let scaled = parameters.map(|Affine { offset, scale, .. }| {
        (offset.map_or(F::zero(), native), scale.map_or(F::one(), native))
    });
    match Class::of(wide(cast.target)) {
        Class::Int(IntType { width: Width::W8, .. }) => to_int::<F, u8>(scaled, nan, cast),
        Class::Int(IntType { width: Width::W16, .. }) => to_int::<F, u16>(scaled, nan, cast),
        Class::Int(IntType { width: Width::W32 | Width::W64, .. })
        | Class::Float(_)
        | Class::SubByte
        | Class::SmallFloat => None,
    }
}

/// Scale and offset of f32 or f64 in front of a cast to at most 16 bits, in one loop.
fn scale_to_short(source: ElementType, parameters: &Affine, cast: &Cast) -> Option<Stage> {
    match Class::of(source) {
        Class::Float(FloatType::Float32) => float_to_short::<f32>(Some(parameters), cast),
        Class::Float(FloatType::Float64) => float_to_short::<f64>(Some(parameters), cast),
        Class::Float(FloatType::Float16 | FloatType::BFloat16)
        | Class::Int(_)
        | Class::SubByte
        | Class::SmallFloat => None,
    }
}

/// The cast of an integer of at most 16 bits to f32 or f64 and `x / scale + offset`, in one loop.
fn short_to_unscaled(source: ElementType, cast: &Cast, parameters: &Affine) -> Option<Stage> {
    fn of_type<S, F>(cast: &Cast, parameters: &Affine) -> Option<Stage>
    where
        S: NativeInt + Element + AsPrimitive<F>,
        F: NativeFloat + Element,
    {
        let steps = [Step::Cast(Cast::new(F::TYPE)), Step::InverseScale(*parameters)];
        if !stay_finite(S::TYPE, &steps) {
            return None;
        }
        let scale = parameters.scale.map_or(F::one(), native);
        let offset = parameters.offset.map_or(-F::zero(), native);
        let entry = (S::zero(), F::zero());
        Some(match distinct(&cast.map)[..] {
            [] => bind_loop(Loop(IntUnscale::<S, F, false> { scale, offset, entry })),
            [(key, output)] => {
                let entry = (native(key), native(reference::unscale(output, parameters).ok()?));
                bind_loop(Loop(IntUnscale::<S, F, true> { scale, offset, entry }))
            }
            [_, _, ..] => return None,
        })
    }
    fn to_target<S>(cast: &Cast, parameters: &Affine) -> Option<Stage>
    where
        S: NativeInt + Element + AsPrimitive<f32> + AsPrimitive<f64>,
    {
        match Class::of(cast.target) {
            Class::Float(FloatType::Float32) => of_type::<S, f32>(cast, parameters),
            Class::Float(FloatType::Float64) => of_type::<S, f64>(cast, parameters),
            Class::Float(FloatType::Float16 | FloatType::BFloat16)
            | Class::Int(_)
            | Class::SubByte
            | Class::SmallFloat => None,
        }
    }
    let Class::Int(int) = Class::of(source) else { return None };
    match (int.width, int.signed) {
        (Width::W8, true) => to_target::<i8>(cast, parameters),
        (Width::W8, false) => to_target::<u8>(cast, parameters),
        (Width::W16, true) => to_target::<i16>(cast, parameters),
        (Width::W16, false) => to_target::<u16>(cast, parameters),
        (Width::W32 | Width::W64, _) => None,
    }
}

/// Scale and offset, if they are in the list.
fn scale<const ENCODES: bool>(element: ElementType, parameters: &Affine) -> Option<Stage> {
    fn of_type<F: NativeFloat + Element, const ENCODES: bool>(parameters: &Affine) -> Stage {
        bind_loop(ScaleFloat::<F, ENCODES> {
            offset: parameters.offset.map(native),
            scale: parameters.scale.map(native),
            strict: parameters.overflow == FloatOverflow::Error,
        })
    }
    match Class::of(element) {
        Class::Float(FloatType::Float32) => Some(of_type::<f32, ENCODES>(parameters)),
        Class::Float(FloatType::Float64) => Some(of_type::<f64, ENCODES>(parameters)),
        Class::Int(int) => bind_int::<ENCODES>(int, parameters, Level::Scalar),
        Class::Float(FloatType::Float16 | FloatType::BFloat16)
        | Class::SubByte
        | Class::SmallFloat => None,
    }
}

/// The cast of integers, if it is in the list.
fn from_int<S>(cast: &Cast) -> Option<Vec<Stage>>
where
    S: NativeInt + Flags + Element + AsPrimitive<f32> + AsPrimitive<f64>,
    S: AsPrimitive<u8> + AsPrimitive<u16> + AsPrimitive<u32> + AsPrimitive<u64>,
{
    let Cast { target, rounding, out_of_range, .. } = *cast;
    let nearest = rounding == Rounding::NearestEven;
    match (Class::of(target), Class::of(wide(target))) {
        (Class::Int(_) | Class::SubByte, Class::Int(whole)) => {
            let converted = match whole.width {
                Width::W8 => int_to_int::<S, u8>(target, out_of_range),
                Width::W16 => int_to_int::<S, u16>(target, out_of_range),
                Width::W32 => int_to_int::<S, u32>(target, out_of_range),
                Width::W64 => int_to_int::<S, u64>(target, out_of_range),
            };
            // Within the range, an integer is canonical already; a wrapped one may use too many bits.
            let wraps = out_of_range == OutOfRange::Wrap && target.bits() < 8;
            let mut stages: Vec<_> = converted.into_iter().collect();
            stages.extend(wraps.then(|| bind_table(target, &[], Level::Scalar)));
            Some(stages)
        }
        (Class::Float(FloatType::Float32), _)
            if size_of::<S>() <= 2 || size_of::<S>() == 4 && nearest =>
        {
            Some(vec![bind_loop(Loop(AsFloat::<S, f32>(PhantomData)))])
        }
        (Class::Float(FloatType::Float64), _) if size_of::<S>() <= 4 => {
            Some(vec![bind_loop(Loop(AsFloat::<S, f64>(PhantomData)))])
        }
        (Class::Int(_) | Class::Float(_) | Class::SubByte | Class::SmallFloat, _) => None,
    }
}

/// Integer to integer; an integer of the target's width stands for both of that width. None where nothing changes.
fn int_to_int<S, T>(target: ElementType, mode: OutOfRange) -> Option<Stage>
where
    S: NativeInt + Flags + Element + AsPrimitive<T>,
    T: NativeInt,
{
    let ([source_min, source_max], [target_min, target_max]) = (range(S::TYPE), range(target));
    let fits = target_min <= source_min && source_max <= target_max;
    if mode == OutOfRange::Wrap || fits {
        return (size_of::<S>() != size_of::<T>())
            .then(|| bind_loop(Loop(IntAs::<S, T>(PhantomData))));
    }
    let end = |integer: i128| native::<S>(Scalar::from_bits(S::TYPE, integer as u64));
    let (min, max) = (end(target_min.max(source_min)), end(target_max.min(source_max)));
    Some(match mode {
        OutOfRange::Error => {
            bind_loop(Loop(IntInRange::<S, T, false> { min, max, target: PhantomData }))
        }
        OutOfRange::Clamp | OutOfRange::Wrap => {
            bind_loop(Loop(IntInRange::<S, T, true> { min, max, target: PhantomData }))
        }
    })
}

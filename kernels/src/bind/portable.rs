//! The scalar level: loops that the compiler makes what it can of, for every CPU of the architecture.
//!
//! A cast is a pass for each of its parts: 16-bit floats are decoded to float32, floats are rounded to integral
//! values before they become integers, narrow floats are encoded from float32. What is commonest has one loop:
//! float32 and float64 to 8 and 16 bits to nearest-even, also scaled and with a value for NaN.

use alloc::vec::Vec;
use core::marker::PhantomData;

use num_traits::AsPrimitive;

use super::class::{Class, FloatType, IntType, Width};
use super::{exactly, nan_entry, native, wide};
use crate::exact::integer;
use crate::stages::bytes::{ClearUnused, SwapBytes};
use crate::stages::convert::{
    Bounds, Clamp, Codes, Error, ExactToFloat, FloatToInt, Int, IntAs, IntClamp, IntForF16,
    IntToFloat, Narrow, NarrowToOdd, NearestAway, NearestEven, Odd, Range, Real, Round, RoundTo,
    RoundToIntegral, ToInt, TowardsNegative, TowardsPositive, TowardsZero, Wrap,
};
use crate::stages::element_op::{ElementOp, Flags, Loop, Same, Then};
use crate::stages::fused::{IntUnscale, ScaleForInt};
use crate::stages::map::ReplaceNan;
use crate::stages::small_float::{DecodeBf16, DecodeF16, Encode, EncodeBf16, EncodeE8m0};
use crate::stages::{Stage, bind_loop};
use crate::{
    Affine, Cast, Element, ElementType, Format, OutOfRange, Rounding, Scalar, Specials, Step,
    reference,
};

/// Evaluates `$body` with `$T` standing for the native type of an integer type.
macro_rules! with_int {
    ($int:expr, $T:ident => $body:expr) => {
        match ($int.width, $int.signed) {
            (Width::W8, true) => {
                type $T = i8;
                $body
            }
            (Width::W16, true) => {
                type $T = i16;
                $body
            }
            (Width::W32, true) => {
                type $T = i32;
                $body
            }
            (Width::W64, true) => {
                type $T = i64;
                $body
            }
            (Width::W8, false) => {
                type $T = u8;
                $body
            }
            (Width::W16, false) => {
                type $T = u16;
                $body
            }
            (Width::W32, false) => {
                type $T = u32;
                $body
            }
            (Width::W64, false) => {
                type $T = u64;
                $body
            }
        }
    };
}
pub(super) use with_int;

/// Evaluates `$body` with `$R` standing for the type of a rounding.
macro_rules! with_rounding {
    ($rounding:expr, $R:ident => $body:expr) => {
        match $rounding {
            Rounding::NearestEven => {
                type $R = NearestEven;
                $body
            }
            Rounding::TowardsZero => {
                type $R = TowardsZero;
                $body
            }
            Rounding::TowardsPositive => {
                type $R = TowardsPositive;
                $body
            }
            Rounding::TowardsNegative => {
                type $R = TowardsNegative;
                $body
            }
            Rounding::NearestAway => {
                type $R = NearestAway;
                $body
            }
        }
    };
}

/// The cast without a map, or with an entry that joins its loop; none where the entry does not. No stage where
/// nothing changes.
pub(super) fn cast(
    source: ElementType,
    cast: &Cast,
    entry: Option<(Scalar, Scalar)>,
) -> Option<Vec<Stage>> {
    let class = Class::of(source);
    if entry.is_some() {
        let Class::Float(float) = class else { return None };
        return Some(vec![nan_to_short(float, cast, nan_entry(entry, source, cast)??)?]);
    }
    Some(match class {
        Class::Int(int) => with_int!(int, S => from_int::<S>(cast)),
        Class::Float(FloatType::Float64) => from_f64(cast),
        Class::Float(FloatType::Float32) => from_f32(cast),
        Class::Float(FloatType::Float16 | FloatType::BFloat16) => {
            widen(source).into_iter().chain(from_f32(cast)).collect()
        }
        // Tables have the values of one byte.
        Class::SubByte | Class::SmallFloat => return None,
    })
}

/// The stage from a 16-bit float to float32.
pub(super) fn widen(source: ElementType) -> Option<Stage> {
    match Class::of(source) {
        Class::Float(FloatType::Float16) => Some(bind_loop(Loop(DecodeF16))),
        Class::Float(FloatType::BFloat16) => Some(bind_loop(Loop(DecodeBf16))),
        Class::Float(FloatType::Float32 | FloatType::Float64)
        | Class::Int(_)
        | Class::SubByte
        | Class::SmallFloat => None,
    }
}

/// Reverses the bytes of elements of 2, 4 and 8 bytes.
pub(super) fn swap_bytes(size: usize) -> Stage {
    match size {
        2 => bind_loop(Loop(SwapBytes::<u16>(PhantomData))),
        4 => bind_loop(Loop(SwapBytes::<u32>(PhantomData))),
        _ => bind_loop(Loop(SwapBytes::<u64>(PhantomData))),
    }
}

/// Makes the unused bits of an element of less than a byte canonical.
pub(super) fn clear_unused(element: ElementType) -> Stage {
    let signed = element.is_integer() && element.is_signed();
    bind_loop(Loop(ClearUnused { bits: element.bits(), signed }))
}

/// The float types in which the elements of a float type are worked on.
trait WideFloat:
    Real + Element + AsPrimitive<f64> + ToInt<u8> + ToInt<u16> + ToInt<i64> + ToInt<u64>
{
    /// To `int32` and `uint32`.
    fn to_32(target: IntType, mode: OutOfRange) -> Stage;
}

impl WideFloat for f32 {
    fn to_32(target: IntType, mode: OutOfRange) -> Stage {
        if target.signed {
            float_to_int::<i32, Same<f32>>(Same(PhantomData), target.element(), mode)
        } else {
            float_to_int::<u32, Same<f32>>(Same(PhantomData), target.element(), mode)
        }
    }
}

impl WideFloat for f64 {
    /// The low bits serve both.
    fn to_32(target: IntType, mode: OutOfRange) -> Stage {
        float_to_int::<u32, Same<f64>>(Same(PhantomData), target.element(), mode)
    }
}

fn from_f32(cast: &Cast) -> Vec<Stage> {
    let Cast { target, rounding, out_of_range, .. } = *cast;
    let fails = out_of_range != OutOfRange::Clamp;
    match Class::of(target) {
        Class::Int(_) | Class::SubByte => to_int::<f32>(cast),
        Class::Float(FloatType::Float32) => vec![],
        Class::Float(FloatType::Float64) => {
            vec![bind_loop(Loop(ExactToFloat::<f32, f64>(PhantomData)))]
        }
        Class::Float(FloatType::Float16 | FloatType::BFloat16) | Class::SmallFloat => {
            vec![encode(target, rounding, fails, false)]
        }
    }
}

/// f32 to a narrower float. `with_infinities` says that f32's may stand for numbers beyond f32, which are out of
/// range.
fn encode(target: ElementType, rounding: Rounding, fails: bool, with_infinities: bool) -> Stage {
    fn in_mode<R: Round, M: Range>(target: ElementType, with_infinities: bool) -> Stage {
        let Format::Float(format) = target.format() else {
            return bind_loop(Loop(Same::<f32>(PhantomData)));
        };
        if target == ElementType::BFloat16 {
            return bind_loop(Loop(EncodeBf16::<R, M>(PhantomData)));
        }
        match (target.size(), format.specials) {
            (2, _) => bind_loop(Loop(Encode::<u16, R, M>::new(format))),
            // As in `vector`; such a plan is not built.
            _ if cfg!(not(feature = "small-types")) => bind_loop(Loop(Same::<f32>(PhantomData))),
            (_, Specials::PowersOfTwo) => bind_loop(Loop(EncodeE8m0::<R, M>(PhantomData))),
            (_, Specials::Ieee | Specials::FiniteOnly | Specials::Fnuz) => {
                let encode = Encode::<u8, R, M>::new(format);
                bind_loop(Loop(if with_infinities { encode.with_infinities() } else { encode }))
            }
        }
    }
    with_rounding!(rounding, R => if fails {
        in_mode::<R, Error>(target, with_infinities)
    } else {
        in_mode::<R, Clamp>(target, with_infinities)
    })
}

fn from_f64(cast: &Cast) -> Vec<Stage> {
    let Cast { target, rounding, out_of_range, .. } = *cast;
    let fails = out_of_range != OutOfRange::Clamp;
    let range =
        || [true, false].map(|negative| furthest_in_range::<f64>(negative, target, rounding));
    match Class::of(target) {
        Class::Int(_) | Class::SubByte => to_int::<f64>(cast),
        Class::Float(FloatType::Float64) => vec![],
        Class::Float(FloatType::Float32) => with_rounding!(rounding, R => {
            vec![narrow::<R>(range(), f32::INFINITY, fails)]
        }),
        Class::SmallFloat
            if cfg!(feature = "small-types") && target == ElementType::Float8E8M0Fnu =>
        {
            // It has f32's exponents: from 2^128 on a value is out of range; below, rounding to
            // odd keeps on which side of each boundary it lies.
            let max = f64::from_bits(((1023 + 128) << 52) - 1);
            vec![
                narrow::<Odd>([-max, max], f32::MAX, fails),
                encode(target, rounding, fails, false),
            ]
        }
        Class::Float(FloatType::Float16 | FloatType::BFloat16) | Class::SmallFloat => {
            let narrow = with_rounding!(rounding, R => {
                for_short_float::<R>(target, range(), out_of_range)
            });
            // What was out of range is refused already.
            vec![narrow, encode(target, rounding, false, Class::of(target) == Class::SmallFloat)]
        }
    }
}

/// f64 to f32, or to odd on the way to `float8_e8m0fnu`.
fn narrow<R: Round>([min, max]: [f64; 2], overflow: f32, fails: bool) -> Stage {
    if fails {
        bind_loop(Loop(Narrow::<R, Error> { min, max, overflow, policy: PhantomData }))
    } else {
        bind_loop(Loop(Narrow::<R, Clamp> { min, max, overflow, policy: PhantomData }))
    }
}

/// f64 to odd f32 on the way to a narrower float.
fn for_short_float<R: Round>(
    target: ElementType,
    [min, max]: [f64; 2],
    out_of_range: OutOfRange,
) -> Stage {
    let policy = PhantomData;
    let infinity = f64::INFINITY.to_bits();
    // An infinity that the target has not needs the reference, whatever the range mode.
    let special = if target.has_infinity() { infinity } else { infinity + 1 };
    match out_of_range {
        OutOfRange::Clamp if target.has_infinity() => {
            bind_loop(Loop(NarrowToOdd::<R, Clamp> { min, max, special, policy }))
        }
        OutOfRange::Clamp => {
            let (min, max) = (f64::MIN, f64::MAX);
            bind_loop(Loop(NarrowToOdd::<R, Error> { min, max, special, policy: PhantomData }))
        }
        OutOfRange::Error | OutOfRange::Wrap => {
            bind_loop(Loop(NarrowToOdd::<R, Error> { min, max, special, policy: PhantomData }))
        }
    }
}

/// The type of whole bytes that an integer target is computed in.
fn whole(target: ElementType) -> IntType {
    match Class::of(wide(target)) {
        Class::Int(int) => int,
        // No integer.
        Class::Float(_) | Class::SubByte | Class::SmallFloat => {
            IntType { width: Width::W64, signed: true }
        }
    }
}

fn to_int<F: WideFloat>(cast: &Cast) -> Vec<Stage> {
    let Cast { target, rounding, out_of_range, .. } = *cast;
    let same = Same::<F>(PhantomData);
    if rounding == Rounding::NearestEven
        && let Some(stage) = to_short(same, target, out_of_range)
    {
        return vec![stage];
    }
    let integral = with_rounding!(rounding, R => {
        bind_loop(Loop(RoundToIntegral::<F, R>(PhantomData)))
    });
    let int = whole(target);
    let converted = match int.width {
        Width::W8 => float_to_int::<u8, _>(same, target, out_of_range),
        Width::W16 => float_to_int::<u16, _>(same, target, out_of_range),
        Width::W32 => F::to_32(int, out_of_range),
        Width::W64 if int.signed => float_to_int::<i64, _>(same, target, out_of_range),
        Width::W64 => float_to_int::<u64, _>(same, target, out_of_range),
    };
    // Clamped to the range, an integer is canonical already; a wrapped one may use too many bits.
    let wraps = out_of_range == OutOfRange::Wrap && Class::of(target) == Class::SubByte;
    let clear = wraps.then(|| clear_unused(target));
    [integral, converted].into_iter().chain(clear).collect()
}

/// To at most 16 bits to nearest-even, checked or clamped to the range.
fn to_short<P>(before: P, target: ElementType, mode: OutOfRange) -> Option<Stage>
where
    P: ElementOp<Target: WideFloat>,
{
    match (mode, whole(target).width) {
        (OutOfRange::Error | OutOfRange::Clamp, Width::W8) => {
            Some(checked_or_clamped::<u8, P>(before, target, mode))
        }
        (OutOfRange::Error | OutOfRange::Clamp, Width::W16) => {
            Some(checked_or_clamped::<u16, P>(before, target, mode))
        }
        (OutOfRange::Wrap, _) | (_, Width::W32 | Width::W64) => None,
    }
}

/// The cast of floats to at most 16 bits to nearest-even, with a value for NaN.
fn nan_to_short(source: FloatType, cast: &Cast, nan: f64) -> Option<Stage> {
    if !cast.target.is_integer() || cast.rounding != Rounding::NearestEven {
        return None;
    }
    let (target, mode) = (cast.target, cast.out_of_range);
    match source {
        FloatType::Float32 => to_short(ReplaceNan(nan as f32), target, mode),
        FloatType::Float64 => to_short(ReplaceNan(nan), target, mode),
        FloatType::Float16 | FloatType::BFloat16 => None,
    }
}

/// Scale and offset of f32 or f64 in front of a cast to at most 16 bits, in one loop.
pub(super) fn scale_to_short(
    source: ElementType,
    parameters: &Affine,
    cast: &Cast,
) -> Option<Stage> {
    fn of_type<F: WideFloat>(
        parameters: &Affine,
        cast: &Cast,
        entry: Option<(Scalar, Scalar)>,
    ) -> Option<Stage> {
        // A missing offset or scale stands here as its neutral element.
        let scaled = ScaleForInt {
            offset: parameters.offset.map_or(F::zero(), native),
            scale: parameters.scale.map_or(F::one(), native),
        };
        let (target, mode) = (cast.target, cast.out_of_range);
        match nan_entry(entry, F::TYPE, cast)? {
            None => to_short(scaled, target, mode),
            Some(nan) => {
                let nan = ReplaceNan(native::<F>(exactly(nan.into(), F::TYPE)?));
                to_short(Then(scaled, nan), target, mode)
            }
        }
    }
    // With any other key than NaN the order of map and overflow would matter.
    let entry = match cast.map[..] {
        [] => None,
        [entry] => Some(entry),
        [_, _, ..] => return None,
    };
    if !cast.target.is_integer() || cast.rounding != Rounding::NearestEven {
        return None;
    }
    match Class::of(source) {
        Class::Float(FloatType::Float32) => of_type::<f32>(parameters, cast, entry),
        Class::Float(FloatType::Float64) => of_type::<f64>(parameters, cast, entry),
        Class::Float(FloatType::Float16 | FloatType::BFloat16)
        | Class::Int(_)
        | Class::SubByte
        | Class::SmallFloat => None,
    }
}

/// The cast of an integer of at most 16 bits to f32 or f64 and `x / scale + offset`, in one loop.
pub(super) fn short_to_unscaled(
    source: ElementType,
    cast: &Cast,
    parameters: &Affine,
) -> Option<Stage> {
    fn of_type<S, F>(cast: &Cast, parameters: &Affine) -> Option<Stage>
    where
        S: Int + Element + AsPrimitive<F>,
        F: Real + Element,
    {
        // Every operation is monotonic, so the ends of the range tell whether an element overflows.
        let finite = [Scalar::min(S::TYPE), Scalar::max(S::TYPE)].into_iter().all(|end| {
            let steps = [Step::Cast(Cast::new(F::TYPE)), Step::InverseScale(*parameters)];
            reference::run(end, &steps, 0).is_ok_and(Scalar::is_finite)
        });
        if !finite {
            return None;
        }
        let scale = parameters.scale.map_or(F::one(), native);
        let offset = parameters.offset.map_or(-F::zero(), native);
        let entry = (S::zero(), F::zero());
        match cast.map[..] {
            [] => Some(bind_loop(Loop(IntUnscale::<S, F, false> { scale, offset, entry }))),
            [(key, output)] => {
                let entry = (native(key), native(reference::unscale(output, parameters).ok()?));
                Some(bind_loop(Loop(IntUnscale::<S, F, true> { scale, offset, entry })))
            }
            [_, _, ..] => None,
        }
    }
    fn to_target<S>(cast: &Cast, parameters: &Affine) -> Option<Stage>
    where
        S: Int + Element + AsPrimitive<f32> + AsPrimitive<f64>,
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

/// The loops of [`to_short`].
fn checked_or_clamped<T, P>(before: P, target: ElementType, mode: OutOfRange) -> Stage
where
    T: Int + Element,
    P: ElementOp<Target: ToInt<T> + Element>,
{
    let bounds = bounds::<P::Target, T>(target);
    match mode {
        OutOfRange::Error => {
            let to_int = FloatToInt::<P::Target, T, Error> { bounds, mode: PhantomData };
            bind_loop(Loop(Then(before, to_int)))
        }
        OutOfRange::Clamp | OutOfRange::Wrap => {
            let to_int = FloatToInt::<P::Target, T, Clamp> { bounds, mode: PhantomData };
            bind_loop(Loop(Then(before, to_int)))
        }
    }
}

/// Every mode, of what `before` gives to an integer type, which `T` stands for.
fn float_to_int<T, P>(before: P, target: ElementType, mode: OutOfRange) -> Stage
where
    T: Int + Element,
    P: ElementOp<Target: ToInt<T> + Element>,
{
    match mode {
        OutOfRange::Error | OutOfRange::Clamp => checked_or_clamped::<T, P>(before, target, mode),
        OutOfRange::Wrap => {
            let bounds = bounds::<P::Target, T>(target);
            let to_int = FloatToInt::<P::Target, T, Wrap> { bounds, mode: PhantomData };
            bind_loop(Loop(Then(before, to_int)))
        }
    }
}

/// The integral values of a float type furthest from zero that are in the range of an integer type.
#[inline(never)] // once for all kernels of the two types
fn bounds<F: Real + Element, T: Int + Element>(target: ElementType) -> Bounds<F, T> {
    let [least, greatest] = [Scalar::min(target), Scalar::max(target)].map(integer);
    // What is not integral, −0.5 or 255.4, rounds to it.
    let bound = |negative| {
        Real::round_ties_even(furthest_in_range::<F>(negative, target, Rounding::NearestEven))
    };
    let (top, codes) = (native(Scalar::max(target)), Codes::new(least, greatest));
    // SAFETY: the bounds are the floats furthest from zero that round into the target's range, which is within that of
    // `T`, the integer that holds the target's elements.
    unsafe { Bounds::new(bound(true), bound(false), top, codes) }
}

/// The float furthest from zero, to one side, that rounds into the target's range; found by halving
/// the interval of bit patterns, whose order is that of the values.
fn furthest_in_range<F: Element>(negative: bool, target: ElementType, rounding: Rounding) -> F {
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
    native(Scalar::from_bits(F::TYPE, inside | sign))
}

/// The integer types of whole bytes, as sources.
trait IntSource:
    Int + Flags + Element + AsPrimitive<u8> + AsPrimitive<u16> + AsPrimitive<u32> + AsPrimitive<u64>
{
    /// To f64.
    fn double(rounding: Rounding) -> Stage;
    /// To f32, or for the rounding `None` to one that rounds to narrower floats as the integer does.
    fn single(rounding: Option<Rounding>) -> Stage;
    /// To an f32 that rounds to `float16` as the integer does.
    fn single_for_f16() -> Stage;
}

macro_rules! short_sources {
    ($($t:ty)*) => {$(
        impl IntSource for $t {
            fn double(_: Rounding) -> Stage {
                bind_loop(Loop(ExactToFloat::<$t, f64>(PhantomData)))
            }
            fn single(_: Option<Rounding>) -> Stage {
                bind_loop(Loop(ExactToFloat::<$t, f32>(PhantomData)))
            }
            fn single_for_f16() -> Stage {
                Self::single(None)
            }
        }
    )*};
}

short_sources! { i8 i16 u8 u16 }

/// f32 of an integer that may not fit it.
fn long_to_f32<S: RoundTo<f32>>(rounding: Option<Rounding>) -> Stage {
    match rounding {
        None => bind_loop(Loop(IntToFloat::<S, f32, Odd>(PhantomData))),
        Some(rounding) => with_rounding!(rounding, R => {
            bind_loop(Loop(IntToFloat::<S, f32, R>(PhantomData)))
        }),
    }
}

macro_rules! long_sources {
    ($($t:ty: |$rounding:ident| $to_f64:expr;)*) => {$(
        impl IntSource for $t {
            fn double($rounding: Rounding) -> Stage {
                $to_f64
            }
            fn single(rounding: Option<Rounding>) -> Stage {
                long_to_f32::<$t>(rounding)
            }
            fn single_for_f16() -> Stage {
                bind_loop(Loop(IntForF16::<$t>(PhantomData)))
            }
        }
    )*};
}

/// f64 of 64 bits.
fn long_to_f64<S: RoundTo<f64>>(rounding: Rounding) -> Stage {
    with_rounding!(rounding, R => bind_loop(Loop(IntToFloat::<S, f64, R>(PhantomData))))
}

long_sources! {
    i32: |_rounding| bind_loop(Loop(ExactToFloat::<i32, f64>(PhantomData)));
    u32: |_rounding| bind_loop(Loop(ExactToFloat::<u32, f64>(PhantomData)));
    i64: |rounding| long_to_f64::<i64>(rounding);
    u64: |rounding| long_to_f64::<u64>(rounding);
}

fn from_int<S: IntSource>(cast: &Cast) -> Vec<Stage> {
    let Cast { target, rounding, out_of_range, .. } = *cast;
    let fails = out_of_range != OutOfRange::Clamp;
    match Class::of(target) {
        Class::Int(_) | Class::SubByte => {
            let converted = match whole(target).width {
                Width::W8 => int_to_int::<S, u8>(target, out_of_range),
                Width::W16 => int_to_int::<S, u16>(target, out_of_range),
                Width::W32 => int_to_int::<S, u32>(target, out_of_range),
                Width::W64 => int_to_int::<S, u64>(target, out_of_range),
            };
            let wraps = out_of_range == OutOfRange::Wrap && Class::of(target) == Class::SubByte;
            let clear = wraps.then(|| clear_unused(target));
            converted.into_iter().chain(clear).collect()
        }
        Class::Float(FloatType::Float64) => vec![S::double(rounding)],
        Class::Float(FloatType::Float32) => vec![S::single(Some(rounding))],
        Class::Float(FloatType::Float16) => {
            vec![S::single_for_f16(), encode(target, rounding, fails, false)]
        }
        Class::Float(FloatType::BFloat16) | Class::SmallFloat => {
            vec![S::single(None), encode(target, rounding, fails, false)]
        }
    }
}

/// Integer to integer; an integer of the target's width stands for both of that width. None where nothing changes.
fn int_to_int<S, T>(target: ElementType, mode: OutOfRange) -> Option<Stage>
where
    S: Int + Flags + Element + AsPrimitive<T>,
    T: Int,
{
    let range = |element| [Scalar::min(element), Scalar::max(element)].map(integer);
    let ([source_min, source_max], [target_min, target_max]) = (range(S::TYPE), range(target));
    let fits = target_min <= source_min && source_max <= target_max;
    if mode == OutOfRange::Wrap || fits {
        return (size_of::<S>() != size_of::<T>())
            .then(|| bind_loop(Loop(IntAs::<S, T>(PhantomData))));
    }
    // The target's range, as far as the source reaches it; its ends are the source's values.
    let end = |integer: i128| native::<S>(Scalar::from_bits(S::TYPE, integer as u64));
    let (min, max) = (end(target_min.max(source_min)), end(target_max.min(source_max)));
    let target = PhantomData;
    Some(match mode {
        OutOfRange::Error if min.is_zero() => {
            bind_loop(Loop(IntClamp::<S, T, Error, true> { min, max, target }))
        }
        OutOfRange::Error => bind_loop(Loop(IntClamp::<S, T, Error, false> { min, max, target })),
        OutOfRange::Clamp | OutOfRange::Wrap => {
            let target = PhantomData;
            bind_loop(Loop(IntClamp::<S, T, Clamp, false> { min, max, target }))
        }
    })
}

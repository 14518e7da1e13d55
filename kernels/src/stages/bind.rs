//! Which stages a step becomes.

// A generic function that is instantiated per element type stands beside the match that picks one.
#![allow(clippy::items_after_statements)]

use std::collections::HashSet;
use std::marker::PhantomData;

use num_traits::{AsPrimitive, PrimInt};

use super::Stage;
use super::bytes::{ClearUnused, Copy, SwapBytes, Table};
use super::convert::{
    Clamp, Error, ExactToFloat, FloatToInt, Int, IntAs, IntClamp, IntToFloat, Narrow, NearestAway,
    NearestEven, Odd, Real, Round, RoundTo, ToInt, TowardsNegative, TowardsPositive, TowardsZero,
    Wrap,
};
use super::fused::{IntUnscale, ScaleToInt, equals_division};
use super::map::{Comparable, Lookup, Substitute};
use super::scale::{Direction, Overflowing, Scale, ScaleFloat, ScaleInt, ScaleLong, Unscale};
use super::small_float::{DecodeBf16, DecodeF16, encoder, encoder_in_range};
use crate::{
    Cast, ElementType, FloatOverflow, Format, Level, OutOfRange, Rounding, Scalar, ScaleOffset,
    Step, reference,
};

type Stages = Vec<Box<dyn Stage>>;

/// Evaluates `$body` with `$T` standing for the native type of an integer element of whole bytes;
/// `$otherwise` for every other element type.
macro_rules! with_int {
    ($element:expr, $T:ident => $body:expr, $otherwise:expr) => {
        match $element {
            ElementType::Int8 => {
                type $T = i8;
                $body
            }
            ElementType::Int16 => {
                type $T = i16;
                $body
            }
            ElementType::Int32 => {
                type $T = i32;
                $body
            }
            ElementType::Int64 => {
                type $T = i64;
                $body
            }
            ElementType::UInt8 => {
                type $T = u8;
                $body
            }
            ElementType::UInt16 => {
                type $T = u16;
                $body
            }
            ElementType::UInt32 => {
                type $T = u32;
                $body
            }
            ElementType::UInt64 => {
                type $T = u64;
                $body
            }
            _ => $otherwise,
        }
    };
}

/// As [`with_int`], for integers of 8 and 16 bits.
macro_rules! with_short_int {
    ($element:expr, $T:ident => $body:expr, $otherwise:expr) => {
        match $element {
            ElementType::Int8 => {
                type $T = i8;
                $body
            }
            ElementType::Int16 => {
                type $T = i16;
                $body
            }
            ElementType::UInt8 => {
                type $T = u8;
                $body
            }
            ElementType::UInt16 => {
                type $T = u16;
                $body
            }
            _ => $otherwise,
        }
    };
}

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

/// The stages of a plan; at least one.
pub(crate) fn bind_steps(source: ElementType, steps: &[Step], level: Level) -> Stages {
    let mut stages = Stages::new();
    let mut current = source;
    let mut rest = steps;
    while let [step, after @ ..] = rest {
        rest = after;
        if let Some(next) = after.first()
            && let Some(fused) = bind_fused(current, step, next, level)
        {
            stages.push(fused);
            current = target_of(target_of(current, step), next);
            rest = &after[1..];
            continue;
        }
        let Some(bound) = bind_step(current, step, level) else {
            // A plan that starts on one byte needs no other stage than a table of all its steps.
            if source.size() == 1 {
                return vec![bind_table(source, steps, level)];
            }
            stages.push(bind_table(current, std::slice::from_ref(step), level));
            current = target_of(current, step);
            continue;
        };
        stages.extend(bound);
        current = target_of(current, step);
    }
    if stages.is_empty() {
        stages.push(copy(source, level));
    }
    stages
}

/// Two steps in one stage, for the chains that [`fused`](super::fused) has.
fn bind_fused(
    source: ElementType,
    first: &Step,
    second: &Step,
    level: Level,
) -> Option<Box<dyn Stage>> {
    match (source, first, second) {
        (ElementType::Float32, Step::Scale(scale), Step::Cast(cast)) => {
            bind_scale_to_int::<f32>(scale, cast, level)
        }
        (ElementType::Float64, Step::Scale(scale), Step::Cast(cast)) => {
            bind_scale_to_int::<f64>(scale, cast, level)
        }
        (_, Step::Cast(cast), Step::Unscale(scale)) => {
            with_short_int!(source, S => match cast.target {
                ElementType::Float32 => bind_int_unscale::<S, f32>(cast, scale, level),
                ElementType::Float64 => bind_int_unscale::<S, f64>(cast, scale, level),
                _ => None,
            }, None)
        }
        _ => None,
    }
}

fn bind_scale_to_int<F>(
    parameters: &ScaleOffset,
    cast: &Cast,
    level: Level,
) -> Option<Box<dyn Stage>>
where
    F: Real + FromScalar + ToInt<u8> + ToInt<i8> + ToInt<u16> + ToInt<i16>,
{
    fn stage<F: ToInt<T>, T: Int, const MAPS_NAN: bool>(
        [offset, scale, min, max, nan]: [F; 5],
        out_of_range: OutOfRange,
        level: Level,
    ) -> Option<Box<dyn Stage>> {
        match out_of_range {
            OutOfRange::Error => Some(level.bind(ScaleToInt::<F, T, Error, MAPS_NAN> {
                offset,
                scale,
                min,
                max,
                nan,
                types: PhantomData,
            })),
            OutOfRange::Clamp => Some(level.bind(ScaleToInt::<F, T, Clamp, MAPS_NAN> {
                offset,
                scale,
                min,
                max,
                nan,
                types: PhantomData,
            })),
            OutOfRange::Wrap => None,
        }
    }
    let Cast { target, rounding, out_of_range, ref map } = *cast;
    // With any other key the order of map and overflow would matter.
    let nan = match map[..] {
        [] => None,
        [(key, value)] if key.is_nan() => Some(F::from_scalar(exactly(value, F::TYPE)?)),
        _ => return None,
    };
    if rounding != Rounding::NearestEven {
        return None;
    }
    let numbers = [
        parameters.offset.map_or(F::zero(), F::from_scalar),
        parameters.scale.map_or(F::one(), F::from_scalar),
        furthest_in_range::<F>(true, target, rounding),
        furthest_in_range::<F>(false, target, rounding),
        nan.unwrap_or(F::zero()),
    ];
    with_short_int!(target, T => match nan {
        None => stage::<F, T, false>(numbers, out_of_range, level),
        Some(_) => stage::<F, T, true>(numbers, out_of_range, level),
    }, None)
}

fn bind_int_unscale<S, F>(
    cast: &Cast,
    parameters: &ScaleOffset,
    level: Level,
) -> Option<Box<dyn Stage>>
where
    S: Int + FromScalar + AsPrimitive<F>,
    F: Real + FromScalar + 'static,
{
    if cast.map.len() > 1 {
        return None;
    }
    let scale = parameters.scale.map_or(F::one(), F::from_scalar);
    let offset = parameters.offset.map_or(-F::zero(), F::from_scalar);
    let reciprocal = F::one() / scale;
    // Every operation is monotonic, so the ends of the range tell whether an element overflows.
    let finite = [Scalar::min(S::TYPE), Scalar::max(S::TYPE)].into_iter().all(|end| {
        let steps = [Step::Cast(Cast::new(F::TYPE)), Step::Unscale(*parameters)];
        reference::run(end, &steps, 0).is_ok_and(Scalar::is_finite)
    });
    let entry = (S::zero(), F::zero());
    let stage = level.bind(IntUnscale::<S, F, false> { scale, reciprocal, offset, entry });
    if !finite || !equals_division::<S, F>(&*stage, scale, offset) {
        return None;
    }
    let Some((key, value)) = cast.map.first() else { return Some(stage) };
    let value = reference::unscale(*value, parameters).ok()?;
    let entry = (S::from_scalar(*key), F::from_scalar(value));
    Some(level.bind(IntUnscale::<S, F, true> { scale, reciprocal, offset, entry }))
}

/// The type of the elements behind a step.
fn target_of(source: ElementType, step: &Step) -> ElementType {
    match step {
        Step::Cast(cast) => cast.target,
        Step::Scale(_) | Step::Unscale(_) => source,
    }
}

/// The stages of a step on elements of type `source`; `None` for those one-byte elements that a table
/// serves better: floats, unused bits, a scale, and what needs a lookup anyhow.
fn bind_step(source: ElementType, step: &Step, level: Level) -> Option<Stages> {
    if source.size() == 1 && (source.is_float() || source.bits() < 8) {
        return None;
    }
    match step {
        Step::Cast(cast) => bind_cast(source, cast, level),
        Step::Scale(parameters) => bind_scale::<Scale>(source, parameters, level),
        Step::Unscale(parameters) => bind_scale::<Unscale>(source, parameters, level),
    }
}

/// One stage for all steps on a one-byte source, filled by the reference.
fn bind_table(source: ElementType, steps: &[Step], level: Level) -> Box<dyn Stage> {
    let results: Vec<Option<Scalar>> = (0..=u8::MAX)
        .map(|byte| reference::run(Scalar::from_bits(source, byte.into()), steps, 0).ok())
        .collect();
    fn table<T: bytemuck::Pod + Send + Sync>(
        results: &[Option<Scalar>],
        level: Level,
    ) -> Box<dyn Stage> {
        let mut outputs = Box::new([T::zeroed(); 256]);
        let mut fails = Box::new([0; 256]);
        for ((output, fails), result) in outputs.iter_mut().zip(fails.iter_mut()).zip(results) {
            match result {
                Some(value) => {
                    value.write_ne_bytes(bytemuck::bytes_of_mut(output));
                }
                None => *fails = 1,
            }
        }
        let fails = fails.contains(&1).then_some(fails);
        level.bind(Table { outputs, fails })
    }
    match steps.iter().fold(source, target_of).size() {
        1 => table::<u8>(&results, level),
        2 => table::<u16>(&results, level),
        4 => table::<u32>(&results, level),
        _ => table::<u64>(&results, level),
    }
}

/// Reverses the bytes of elements; nothing for one byte.
pub(crate) fn swap_bytes(element: ElementType, level: Level) -> Option<Box<dyn Stage>> {
    match element.size() {
        1 => None,
        2 => Some(level.bind(SwapBytes::<u16>(PhantomData))),
        4 => Some(level.bind(SwapBytes::<u32>(PhantomData))),
        _ => Some(level.bind(SwapBytes::<u64>(PhantomData))),
    }
}

/// Elements as they are, but for the unused bits of sub-byte types.
fn copy(element: ElementType, level: Level) -> Box<dyn Stage> {
    match (element.size(), element.bits()) {
        (1, 8) => level.bind(Copy::<u8>(PhantomData)),
        (1, bits) => {
            level.bind(ClearUnused { bits, signed: element.is_integer() && element.is_signed() })
        }
        (2, _) => level.bind(Copy::<u16>(PhantomData)),
        (4, _) => level.bind(Copy::<u32>(PhantomData)),
        _ => level.bind(Copy::<u64>(PhantomData)),
    }
}

/// The wide type in which the elements of a type are worked on. One-byte floats are only targets:
/// as sources they go through tables.
fn wide(element: ElementType) -> ElementType {
    match element {
        ElementType::Int2 | ElementType::Int4 => ElementType::Int8,
        ElementType::UInt2 | ElementType::UInt4 => ElementType::UInt8,
        ElementType::Float64 => ElementType::Float64,
        _ if element.is_float() => ElementType::Float32,
        _ => element,
    }
}

/// The stage from a type to its wide type.
fn widen(source: ElementType, level: Level) -> Option<Box<dyn Stage>> {
    match source {
        ElementType::Float16 => Some(level.bind(DecodeF16)),
        ElementType::BFloat16 => Some(level.bind(DecodeBf16)),
        _ => None,
    }
}

/// Whether the cast is exact for every value, and no two values become one.
fn is_exact(from: ElementType, to: ElementType) -> bool {
    let precision = |element: ElementType| match element.format() {
        Format::Integer { bits, signed } => bits - u32::from(signed),
        Format::Float(format) => format.mantissa_bits + 1,
    };
    match (from.is_integer(), to.is_integer()) {
        (true, true) => precision(from) <= precision(to) && (to.is_signed() || !from.is_signed()),
        (false, true) => false,
        // Only f32 and f64 stand on the right, whose exponents reach every integer.
        (_, false) => precision(from) <= precision(to),
    }
}

fn bind_cast(source: ElementType, cast: &Cast, level: Level) -> Option<Stages> {
    let Cast { target, .. } = *cast;
    let entries = distinct(&cast.map);
    if source == target && entries.is_empty() {
        return Some(vec![copy(source, level)]);
    }
    if source == target && source.size() == 2 && source.is_float() {
        // Copying must keep signalling NaNs, so these two do not go through f32.
        return Some(vec![lookup_bits(source, &entries, level)]);
    }
    if target.size() == 1 && target.is_float() && source.size() == 1 {
        return None;
    }
    let (before, after) = (wide(source), wide(target));
    let widen = widen(source, level);
    let convert = convert(before, cast, level);
    let narrow = narrow(before, cast, level);
    if entries.is_empty() {
        return Some(widen.into_iter().chain(convert).chain(narrow).collect());
    }
    if let Some(substitute) = substitute(&entries, before, cast, level) {
        return Some(widen.into_iter().chain([substitute]).chain(convert).chain(narrow).collect());
    }
    if is_exact(before, if target.is_integer() { target } else { after })
        && let Some(substitute) = substitute(&entries, after, cast, level)
    {
        return Some(widen.into_iter().chain(convert).chain([substitute]).chain(narrow).collect());
    }
    if source.size() == 1 {
        return None;
    }
    let mut inner: Stages = convert.into_iter().chain(narrow).collect();
    if inner.is_empty() {
        inner.push(copy(before, level));
    }
    Some(widen.into_iter().chain(lookup(&entries, before, target, inner)).collect())
}

/// The entries that can match: of equal keys the first.
fn distinct(map: &[(Scalar, Scalar)]) -> Vec<(Scalar, Scalar)> {
    let mut seen = HashSet::new();
    map.iter()
        .filter(|(key, _)| {
            let canonical = if key.is_nan() { Scalar::nan(key.element_type()) } else { None };
            let positive = if key.is_zero() { Scalar::zero(key.element_type()) } else { *key };
            seen.insert(canonical.unwrap_or(positive))
        })
        .copied()
        .collect()
}

/// A value in another type, exactly, or none.
fn exactly(value: Scalar, element: ElementType) -> Option<Scalar> {
    let cast = value.cast(element, Rounding::NearestEven, OutOfRange::Error).ok()?;
    cast.equals(value).then_some(cast)
}

/// The map of `cast` as a substitution among elements of the wide type `domain`, if each output is
/// what some value there casts to.
fn substitute(
    entries: &[(Scalar, Scalar)],
    domain: ElementType,
    cast: &Cast,
    level: Level,
) -> Option<Box<dyn Stage>> {
    let entries: Vec<(Scalar, Scalar)> = entries
        .iter()
        .map(|(key, output)| {
            let value = exactly(*output, domain)?;
            let back = value.cast(cast.target, cast.rounding, cast.out_of_range);
            (back == Ok(*output)).then_some((exactly(*key, domain)?, value))
        })
        .collect::<Option<_>>()?;
    fn of_type<T: Comparable + FromScalar>(
        entries: &[(Scalar, Scalar)],
        level: Level,
    ) -> Option<Box<dyn Stage>> {
        let typed =
            |(key, value): &(Scalar, Scalar)| (T::from_scalar(*key), T::from_scalar(*value));
        let nan = entries.iter().find(|(key, _)| key.is_nan()).map(|entry| typed(entry).1);
        let plain: Vec<(T, T)> =
            entries.iter().filter(|(key, _)| !key.is_nan()).map(typed).collect();
        substitution(&plain, nan, level)
    }
    with_int!(domain, T => of_type::<T>(&entries, level), match domain {
        ElementType::Float32 => of_type::<f32>(&entries, level),
        ElementType::Float64 => of_type::<f64>(&entries, level),
        _ => None,
    })
}

/// The stage of a substitution, for up to eight keys besides NaN.
fn substitution<T: Comparable>(
    plain: &[(T, T)],
    nan: Option<T>,
    level: Level,
) -> Option<Box<dyn Stage>> {
    fn padded<T: Comparable, const N: usize>(
        plain: &[(T, T)],
        nan: Option<T>,
        level: Level,
    ) -> Option<Box<dyn Stage>> {
        let mut entries = [*plain.first()?; N];
        entries.iter_mut().zip(plain).for_each(|(place, entry)| *place = *entry);
        Some(level.bind(Substitute { entries, nan }))
    }
    match plain.len() {
        0 => Some(level.bind(Substitute::<T, 0> { entries: [], nan })),
        1 => padded::<T, 1>(plain, nan, level),
        2 => padded::<T, 2>(plain, nan, level),
        3..=4 => padded::<T, 4>(plain, nan, level),
        5..=8 => padded::<T, 8>(plain, nan, level),
        _ => None,
    }
}

/// The map around a cast from the wide type `domain`.
fn lookup(
    entries: &[(Scalar, Scalar)],
    domain: ElementType,
    target: ElementType,
    cast: Stages,
) -> Option<Box<dyn Stage>> {
    fn of_type<T: Comparable + FromScalar>(
        entries: &[(Scalar, Scalar)],
        target: ElementType,
        cast: Stages,
    ) -> Option<Box<dyn Stage>> {
        // One is a value of every type.
        let harmless = T::from_scalar(exactly(Scalar::from(1_u8), T::TYPE)?);
        let keys = entries.iter().map(|(key, _)| {
            let key = exactly(*key, T::TYPE)?;
            Some((!key.is_nan()).then(|| T::from_scalar(key).key()))
        });
        let outputs = entries.iter().map(|(_, output)| *output);
        Some(Box::new(Lookup::new(
            &keys.collect::<Option<Vec<_>>>()?,
            outputs,
            harmless,
            cast,
            target,
        )))
    }
    with_int!(domain, T => of_type::<T>(entries, target, cast), match domain {
        ElementType::Float32 => of_type::<f32>(entries, target, cast),
        ElementType::Float64 => of_type::<f64>(entries, target, cast),
        _ => None,
    })
}

/// The map around a copy of `float16` or `bfloat16`: by bits, with every pattern that equals a key.
fn lookup_bits(element: ElementType, entries: &[(Scalar, Scalar)], level: Level) -> Box<dyn Stage> {
    let (keys, outputs): (Vec<Option<u64>>, Vec<Scalar>) = entries
        .iter()
        .flat_map(|(key, output)| {
            (0..=u64::from(u16::MAX))
                .filter(|bits| Scalar::from_bits(element, *bits).equals(*key))
                .map(|bits| (Some(bits), *output))
        })
        .unzip();
    let pairs: Vec<(u16, u16)> = keys
        .iter()
        .zip(&outputs)
        .map(|(bits, output)| (bits.unwrap_or_default() as u16, output.bits() as u16))
        .collect();
    substitution(&pairs, None, level).unwrap_or_else(|| {
        Box::new(Lookup::new(
            &keys,
            outputs.into_iter(),
            0_u16,
            vec![copy(element, level)],
            element,
        ))
    })
}

/// The conversion between the wide types of a cast; none where they are the same.
fn convert(from: ElementType, cast: &Cast, level: Level) -> Option<Box<dyn Stage>> {
    let Cast { target, rounding, out_of_range, .. } = *cast;
    let to = wide(target);
    match (from, to) {
        (ElementType::Float32, ElementType::Float32)
        | (ElementType::Float64, ElementType::Float64) => None,
        (ElementType::Float32, ElementType::Float64) => {
            Some(level.bind(ExactToFloat::<f32, f64>(PhantomData)))
        }
        (ElementType::Float64, ElementType::Float32) => {
            Some(float_to_float(target, rounding, out_of_range, level))
        }
        (ElementType::Float32, _) => with_int!(to, T => {
            Some(with_rounding!(rounding, R => float_to_int::<f32, T, R>(target, rounding, out_of_range, level)))
        }, None),
        (ElementType::Float64, _) => with_int!(to, T => {
            Some(with_rounding!(rounding, R => float_to_int::<f64, T, R>(target, rounding, out_of_range, level)))
        }, None),
        (_, ElementType::Float32 | ElementType::Float64) => {
            int_to_float(from, to, target, rounding, level)
        }
        _ => {
            with_int!(from, S => with_int!(to, T => int_to_int::<S, T>(from, target, out_of_range, level), None), None)
        }
    }
}

fn int_to_int<S: Int + AsPrimitive<T>, T: Int>(
    from: ElementType,
    target: ElementType,
    out_of_range: OutOfRange,
    level: Level,
) -> Option<Box<dyn Stage>> {
    if from == target {
        return None;
    }
    if out_of_range == OutOfRange::Wrap || is_exact(from, target) {
        return Some(level.bind(IntAs::<S, T>(PhantomData)));
    }
    // The target's range, as far as the source reaches it.
    let range = |scalar: Scalar| reference::integer(scalar);
    let min = S::from(range(Scalar::min(target)).max(range(Scalar::min(from))))?;
    let max = S::from(range(Scalar::max(target)).min(range(Scalar::max(from))))?;
    Some(match out_of_range {
        OutOfRange::Error => level.bind(IntClamp::<S, T, Error> { min, max, target: PhantomData }),
        _ => level.bind(IntClamp::<S, T, Clamp> { min, max, target: PhantomData }),
    })
}

fn float_to_int<F: ToInt<T> + FromScalar, T: Int + FromScalar, R: Round>(
    target: ElementType,
    rounding: Rounding,
    out_of_range: OutOfRange,
    level: Level,
) -> Box<dyn Stage> {
    let max = furthest_in_range::<F>(false, target, rounding);
    let min = furthest_in_range::<F>(true, target, rounding);
    let top = T::from_scalar(Scalar::max(target));
    match out_of_range {
        OutOfRange::Error => {
            level.bind(FloatToInt::<F, T, R, Error> { min, max, top, policy: PhantomData })
        }
        OutOfRange::Clamp => {
            level.bind(FloatToInt::<F, T, R, Clamp> { min, max, top, policy: PhantomData })
        }
        OutOfRange::Wrap => {
            level.bind(FloatToInt::<F, T, R, Wrap> { min, max, top, policy: PhantomData })
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

/// The stage to f32: f32 itself with its rounding and range, or on the way to a narrower float.
fn float_to_float(
    target: ElementType,
    rounding: Rounding,
    out_of_range: OutOfRange,
    level: Level,
) -> Box<dyn Stage> {
    fn narrow<R: Round>(
        min: f64,
        max: f64,
        beyond: f32,
        error: bool,
        level: Level,
    ) -> Box<dyn Stage> {
        if error {
            level.bind(Narrow::<R, Error> { min, max, beyond, policy: PhantomData })
        } else {
            level.bind(Narrow::<R, Clamp> { min, max, beyond, policy: PhantomData })
        }
    }
    let error = out_of_range != OutOfRange::Clamp;
    if target == ElementType::Float32 {
        let max = furthest_in_range::<f64>(false, target, rounding);
        let min = furthest_in_range::<f64>(true, target, rounding);
        return with_rounding!(rounding, R => narrow::<R>(min, max, f32::INFINITY, error, level));
    }
    // From 2^128 on a value is out of every narrower type's range; below, rounding to odd keeps on
    // which side of each boundary it lies.
    let max = f64::from_bits(2.0_f64.powi(128).to_bits() - 1);
    let beyond = if target.has_infinity() { f32::INFINITY } else { f32::MAX };
    narrow::<Odd>(-max, max, beyond, error, level)
}

fn int_to_float(
    from: ElementType,
    to: ElementType,
    target: ElementType,
    rounding: Rounding,
    level: Level,
) -> Option<Box<dyn Stage>> {
    use ElementType::{Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    fn rounded<S: RoundTo<F>, F: Real>(
        odd: bool,
        rounding: Rounding,
        level: Level,
    ) -> Box<dyn Stage> {
        if odd {
            return level.bind(IntToFloat::<S, F, Odd>(PhantomData));
        }
        with_rounding!(rounding, R => level.bind(IntToFloat::<S, F, R>(PhantomData)))
    }
    fn exact<S: Int + AsPrimitive<F>, F: Real>(level: Level) -> Box<dyn Stage> {
        level.bind(ExactToFloat::<S, F>(PhantomData))
    }
    // A narrower float rounds once more behind f32.
    let odd = target != to;
    Some(match (from, to) {
        (Int8, Float32) => exact::<i8, f32>(level),
        (Int16, Float32) => exact::<i16, f32>(level),
        (UInt8, Float32) => exact::<u8, f32>(level),
        (UInt16, Float32) => exact::<u16, f32>(level),
        (Int32, Float32) => rounded::<i32, f32>(odd, rounding, level),
        (UInt32, Float32) => rounded::<u32, f32>(odd, rounding, level),
        (Int64, Float32) => rounded::<i64, f32>(odd, rounding, level),
        (UInt64, Float32) => rounded::<u64, f32>(odd, rounding, level),
        (Int8, Float64) => exact::<i8, f64>(level),
        (Int16, Float64) => exact::<i16, f64>(level),
        (UInt8, Float64) => exact::<u8, f64>(level),
        (UInt16, Float64) => exact::<u16, f64>(level),
        (Int32, Float64) => exact::<i32, f64>(level),
        (UInt32, Float64) => exact::<u32, f64>(level),
        (Int64, Float64) => rounded::<i64, f64>(false, rounding, level),
        (UInt64, Float64) => rounded::<u64, f64>(false, rounding, level),
        _ => return None,
    })
}

/// The stages from the wide type of a cast's target to the target, for elements that were of type
/// `before`.
fn narrow(before: ElementType, cast: &Cast, level: Level) -> Stages {
    let Cast { target, rounding, out_of_range, .. } = *cast;
    match target.format() {
        _ if wide(target) == target => vec![],
        Format::Integer { .. } if out_of_range == OutOfRange::Wrap => vec![copy(target, level)],
        // Held to the range, an integer is canonical already.
        Format::Integer { .. } => vec![],
        Format::Float(format) => {
            let fits = before.is_integer() && fits_range(before, target);
            with_rounding!(rounding, R => match out_of_range {
                _ if fits => encoder_in_range::<R>(target, format, level),
                OutOfRange::Clamp => encoder::<R, Clamp>(target, format, level),
                _ => encoder::<R, Error>(target, format, level),
            })
        }
    }
}

/// Whether every value of an integer type rounds into the range of a float type.
fn fits_range(from: ElementType, target: ElementType) -> bool {
    [Scalar::min(from), Scalar::max(from), Scalar::zero(from)].into_iter().all(|value| {
        Rounding::ALL
            .into_iter()
            .all(|rounding| value.cast(target, rounding, OutOfRange::Error).is_ok())
    })
}

/// A native type whose elements come from scalars.
trait FromScalar: bytemuck::Pod {
    const TYPE: ElementType;
    fn from_scalar(scalar: Scalar) -> Self;
}

impl<T: crate::Element> FromScalar for T {
    const TYPE: ElementType = T::TYPE;
    /// The scalar's bits; the scalar is of this type, or a narrower integer kept in it.
    fn from_scalar(scalar: Scalar) -> Self {
        let mut value = Self::zeroed();
        scalar.write_ne_bytes(bytemuck::bytes_of_mut(&mut value));
        value
    }
}

fn bind_scale<D: Direction>(
    element: ElementType,
    parameters: &ScaleOffset,
    level: Level,
) -> Option<Stages> {
    let ScaleOffset { offset, scale, overflow } = *parameters;
    if offset.is_none() && scale.is_none() {
        return Some(vec![]);
    }
    let strict = overflow == FloatOverflow::Strict;
    fn float<F: Real + FromScalar, D: Direction>(
        offset: Option<Scalar>,
        scale: Option<Scalar>,
        strict: bool,
        level: Level,
    ) -> Box<dyn Stage> {
        level.bind(ScaleFloat::<F, D> {
            // Exact: `F` is the elements' type, or f32 for a narrower one.
            offset: offset.and_then(|offset| exactly(offset, F::TYPE)).map(F::from_scalar),
            scale: scale.and_then(|scale| exactly(scale, F::TYPE)).map(F::from_scalar),
            strict,
            direction: PhantomData,
        })
    }
    fn int<T: Int + AsPrimitive<W>, W, D: Direction>(
        element: ElementType,
        offset: Option<Scalar>,
        scale: Option<Scalar>,
        level: Level,
    ) -> Option<Box<dyn Stage>>
    where
        W: PrimInt + AsPrimitive<T> + AsPrimitive<f64> + Send + Sync,
        f64: AsPrimitive<W>,
    {
        let value = |scalar: Scalar| W::from(reference::integer(scalar));
        Some(level.bind(ScaleInt::<T, W, D> {
            offset: offset.map_or(Some(W::zero()), value)?,
            scale: scale.map_or(Some(W::one()), value)?,
            min: value(Scalar::min(element))?,
            max: value(Scalar::max(element))?,
            types: PhantomData,
        }))
    }
    fn long<T: Int + FromScalar + Overflowing, D: Direction>(
        offset: Option<Scalar>,
        scale: Option<Scalar>,
        level: Level,
    ) -> Box<dyn Stage> {
        let offset = offset.map_or(T::zero(), T::from_scalar);
        let scale = scale.map_or(T::one(), T::from_scalar);
        level.bind(ScaleLong::<T, D> { offset, scale, direction: PhantomData })
    }
    Some(match element {
        ElementType::Float32 => vec![float::<f32, D>(offset, scale, strict, level)],
        ElementType::Float64 => vec![float::<f64, D>(offset, scale, strict, level)],
        ElementType::Float16 | ElementType::BFloat16 => {
            // Each operation in f32, rounded to the type.
            let operation = |offset, scale| {
                let rounded = Cast::new(element).out_of_range(if strict {
                    OutOfRange::Error
                } else {
                    OutOfRange::Clamp
                });
                widen(element, level)
                    .into_iter()
                    .chain([float::<f32, D>(offset, scale, strict, level)])
                    .chain(narrow(ElementType::Float32, &rounded, level))
            };
            let shift = offset.map(|offset| operation(Some(offset), None));
            let stretch = scale.map(|scale| operation(None, Some(scale)));
            let (first, second) = if D::ENCODES { (shift, stretch) } else { (stretch, shift) };
            first.into_iter().chain(second).flatten().collect()
        }
        ElementType::Int16 => {
            int::<i16, i32, D>(element, offset, scale, level).into_iter().collect()
        }
        ElementType::UInt16 => {
            int::<u16, i64, D>(element, offset, scale, level).into_iter().collect()
        }
        ElementType::Int32 => {
            int::<i32, i64, D>(element, offset, scale, level).into_iter().collect()
        }
        ElementType::UInt32 => vec![long::<u32, D>(offset, scale, level)],
        ElementType::Int64 => vec![long::<i64, D>(offset, scale, level)],
        ElementType::UInt64 => vec![long::<u64, D>(offset, scale, level)],
        _ => return None,
    })
}

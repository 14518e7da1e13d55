//! Which stages a step becomes.

// A generic function that is instantiated per element type stands beside the match that picks one.
#![allow(clippy::items_after_statements)]

use std::collections::HashSet;
use std::marker::PhantomData;

use num_traits::{AsPrimitive, PrimInt};

use super::Stage;
use super::bytes::{ClearUnused, SwapBytes, Table};
use super::convert::{
    Clamp, DoubleForF16, Error, ExactToFloat, FloatToInt, Int, IntAs, IntClamp, IntForF16,
    IntToFloat, Narrow, NearestAway, NearestEven, Odd, Range, Real, Round, RoundTo, ToInt,
    TowardsNegative, TowardsPositive, TowardsZero, Wrap,
};
use super::fused::{IntUnscale, ScaleForInt, equals_division};
use super::map::{
    Comparable, Find, Finder, Lookup, Patch, ReplaceBits, ReplaceKey, ReplaceNan, Substitute,
};
use super::per_element::{Flags, LongInChunks, Loop, PerElement, Same, Then};
use super::scale::{Direction, Overflowing, Scale, ScaleFloat, ScaleInt, ScaleLong, Unscale};
use super::small_float::{
    DecodeBf16, DecodeF16, EncodeBf16, EncodeF16, EncodeF16InRange, ExactBf16, minifloat_encoder,
};
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

fn bind_scale_to_int<F: FloatSource>(
    parameters: &ScaleOffset,
    cast: &Cast,
    level: Level,
) -> Option<Box<dyn Stage>> {
    let is_default =
        cast.rounding == Rounding::NearestEven && cast.out_of_range != OutOfRange::Wrap;
    if !(cast.target.is_integer() && is_default) {
        return None;
    }
    // A missing offset or scale stands here as its neutral element.
    let offset = parameters.offset.map_or(F::zero(), F::from_scalar);
    let scale = parameters.scale.map_or(F::one(), F::from_scalar);
    let scaled = ScaleForInt { offset, scale };
    match cast.map[..] {
        [] => Some(F::to_int::<_, NearestEven>(scaled, cast, level)),
        // With any other key the order of map and overflow would matter.
        [(key, value)] if key.is_nan() => {
            let nan = ReplaceNan(F::from_scalar(preimage(value, F::TYPE, cast)?));
            Some(F::to_int::<_, NearestEven>(Then(scaled, nan), cast, level))
        }
        _ => None,
    }
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
        2 => Some(level.bind(Loop(SwapBytes::<u16>(PhantomData)))),
        4 => Some(level.bind(Loop(SwapBytes::<u32>(PhantomData)))),
        _ => Some(level.bind(Loop(SwapBytes::<u64>(PhantomData)))),
    }
}

/// Elements as they are, but for the unused bits of sub-byte types.
fn copy(element: ElementType, level: Level) -> Box<dyn Stage> {
    match (element.size(), element.bits()) {
        (1, 8) => level.bind(Loop(Same::<u8>(PhantomData))),
        (1, bits) => {
            let signed = element.is_integer() && element.is_signed();
            level.bind(Loop(ClearUnused { bits, signed }))
        }
        (2, _) => level.bind(Loop(Same::<u16>(PhantomData))),
        (4, _) => level.bind(Loop(Same::<u32>(PhantomData))),
        _ => level.bind(Loop(Same::<u64>(PhantomData))),
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
        ElementType::Float16 => Some(level.bind(Loop(DecodeF16))),
        ElementType::BFloat16 => Some(level.bind(Loop(DecodeBf16))),
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
        return Some(vec![replace_bits(source, &entries, level)]);
    }
    if target.size() == 1 && target.is_float() && source.size() == 1 {
        return None;
    }
    if let Some(stages) = bind_joined(source, &entries, cast, level) {
        return Some(stages);
    }
    // The map is a stage of its own, among elements of a wide type.
    let (before, after) = (wide(source), wide(target));
    let widen = widen(source, level);
    let convert = || bind_joined(before, &[], cast, level).unwrap_or_default();
    if let Some(substitute) = substitute(&entries, before, cast, level) {
        return Some(widen.into_iter().chain([substitute]).chain(convert()).collect());
    }
    if is_exact(before, if target.is_integer() { target } else { after })
        && let Some(substitute) = substitute(&entries, after, cast, level)
    {
        let there = bind_joined(before, &[], &Cast::new(after), level).unwrap_or_default();
        let back = bind_joined(after, &[], cast, level).unwrap_or_default();
        return Some(widen.into_iter().chain(there).chain([substitute]).chain(back).collect());
    }
    if source.size() == 1 {
        return None;
    }
    let mut inner = convert();
    if inner.is_empty() {
        inner.push(copy(before, level));
    }
    Some(widen.into_iter().chain(lookup(&entries, before, target, inner, level)).collect())
}

/// A cast without a map, or with a single entry where that joins the loop of the cast. Nothing to do is
/// no stage.
fn bind_joined(
    source: ElementType,
    entries: &[(Scalar, Scalar)],
    cast: &Cast,
    level: Level,
) -> Option<Stages> {
    let entry = match entries {
        [] => None,
        [entry] => Some(*entry),
        _ => return None,
    };
    match source {
        ElementType::Float16 => from_float(DecodeF16, entry, cast, level),
        ElementType::BFloat16 => from_float(DecodeBf16, entry, cast, level),
        ElementType::Float32 => from_float(Same::<f32>(PhantomData), entry, cast, level),
        ElementType::Float64 => from_float(Same::<f64>(PhantomData), entry, cast, level),
        _ => with_int!(source, S => from_int::<S>(entry, cast, level), None),
    }
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
    level: Level,
) -> Option<Box<dyn Stage>> {
    fn of_type<T: Comparable + FromScalar>(
        entries: &[(Scalar, Scalar)],
        target: ElementType,
        cast: Stages,
        level: Level,
    ) -> Option<Box<dyn Stage>> {
        // One is a value of every type.
        let harmless = T::from_scalar(exactly(Scalar::from(1_u8), T::TYPE)?);
        let keys: Vec<(Scalar, u32)> = entries
            .iter()
            .zip(1..)
            .map(|((key, _), index)| Some((exactly(*key, T::TYPE)?, index)))
            .collect::<Option<_>>()?;
        let nan = keys.iter().find(|(key, _)| key.is_nan()).map_or(0, |(_, index)| *index);
        let plain: Vec<(T, u32)> = keys
            .iter()
            .filter(|(key, _)| !key.is_nan())
            .map(|(key, index)| (T::from_scalar(*key), *index))
            .collect();
        Some(Box::new(Lookup {
            finder: finder(&plain, nan, level),
            outputs: entries.iter().flat_map(|(_, output)| output.to_ne_bytes()).collect(),
            harmless,
            cast,
            output_size: target.size(),
        }))
    }
    with_int!(domain, T => of_type::<T>(entries, target, cast, level), match domain {
        ElementType::Float32 => of_type::<f32>(entries, target, cast, level),
        ElementType::Float64 => of_type::<f64>(entries, target, cast, level),
        _ => None,
    })
}

/// Up to eight keys besides NaN are compared with, more are searched.
fn finder<T: Comparable>(plain: &[(T, u32)], nan: u32, level: Level) -> Finder<T> {
    fn compare<T: Comparable, const N: usize>(
        plain: &[(T, u32)],
        nan: u32,
        level: Level,
    ) -> Finder<T> {
        let first = plain.first().copied().unwrap_or((T::zeroed(), 0));
        let mut keys = [first; N];
        keys.iter_mut().zip(plain).for_each(|(place, key)| *place = *key);
        Finder::Compare(level.bind(Find { keys, nan }))
    }
    match plain.len() {
        0 => compare::<T, 0>(plain, nan, level),
        1 => compare::<T, 1>(plain, nan, level),
        2 => compare::<T, 2>(plain, nan, level),
        3..=4 => compare::<T, 4>(plain, nan, level),
        5..=8 => compare::<T, 8>(plain, nan, level),
        _ => {
            let mut sorted: Vec<(u64, u32)> =
                plain.iter().map(|(key, index)| (key.key(), *index)).collect();
            sorted.sort_unstable();
            Finder::Search(sorted, nan, PhantomData)
        }
    }
}

/// The map around a copy of `float16` or `bfloat16`: by bits, which a zero has two of and NaN many.
fn replace_bits(
    element: ElementType,
    entries: &[(Scalar, Scalar)],
    level: Level,
) -> Box<dyn Stage> {
    fn of_length<const N: usize>(
        patterns: &[(u16, u16)],
        nan: (u16, u16),
        level: Level,
    ) -> Box<dyn Stage> {
        let mut entries = [patterns.first().copied().unwrap_or_default(); N];
        entries.iter_mut().zip(patterns).for_each(|(place, entry)| *place = *entry);
        level.bind(Loop(ReplaceBits { entries, nan }))
    }
    let bits = |scalar: Scalar| scalar.bits() as u16;
    let patterns: Vec<(u16, u16)> = entries
        .iter()
        .filter(|(key, _)| !key.is_nan())
        .flat_map(|(key, output)| {
            let other = if key.is_zero() { bits(*key) ^ 0x8000 } else { bits(*key) };
            [(bits(*key), bits(*output)), (other, bits(*output))]
        })
        .collect();
    let infinity = match element.format() {
        Format::Float(format) => format.infinity_bits() as u16,
        Format::Integer { .. } => 0x7fff,
    };
    // No magnitude is above 0x7fff.
    let nan = entries.iter().find(|(key, _)| key.is_nan());
    let nan = nan.map_or((0x7fff, 0), |(_, output)| (infinity, bits(*output)));
    match patterns.len() {
        0 => of_length::<0>(&patterns, nan, level),
        1..=2 => of_length::<2>(&patterns, nan, level),
        3..=16 => of_length::<16>(&patterns, nan, level),
        _ => {
            // Bits as integers, each NaN a key of its own.
            let nans = (nan.0..0x7fff).map(|below| below + 1);
            let nans = nans.flat_map(|bits| [(bits, nan.1), (bits | 0x8000, nan.1)]);
            let all: Vec<(u16, u16)> = patterns.iter().copied().chain(nans).collect();
            let keys: Vec<(u16, u32)> =
                all.iter().zip(1..).map(|((key, _), i)| (*key, i)).collect();
            Box::new(Lookup {
                finder: finder(&keys, 0, level),
                outputs: all.iter().flat_map(|(_, output)| output.to_ne_bytes()).collect(),
                harmless: 0_u16,
                cast: vec![copy(element, level)],
                output_size: 2,
            })
        }
    }
}

/// A stage for what is more than its input.
fn stage<P: PerElement>(work: P, level: Level) -> Option<Box<dyn Stage>> {
    (!P::IS_IDENTITY).then(|| level.bind(Loop(work)))
}

/// A value of type `domain` that casts to `output`, as far as it is seen without a search.
fn preimage(output: Scalar, domain: ElementType, cast: &Cast) -> Option<Scalar> {
    let value = exactly(output, domain)?;
    let back = value.cast(cast.target, cast.rounding, cast.out_of_range);
    (back == Ok(output)).then_some(value)
}

/// The float types in which the elements of a float type are worked on.
trait FloatSource: Real + FromScalar + AsPrimitive<f64> {
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
fn from_float<P>(
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

/// The cast of integer elements of whole bytes.
fn from_int<S: IntSource>(
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
trait IntSource:
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
            let cast = (!same).then(|| level.bind(Loop(IntAs::<S, T>(PhantomData))));
            return Some(cast.into_iter().collect());
        };
        let key = S::from_scalar(key);
        let cast = IntAs::<S, T>(PhantomData);
        if let Some(value) = low_bits(output) {
            return Some(vec![level.bind(Loop(Then(ReplaceKey { key, value }, cast)))]);
        }
        let (key, value) = (key.as_(), T::from_scalar(output));
        // Where a negative element wraps, two may become one only if the target is narrower.
        return Some(vec![level.bind(Loop(Then(cast, ReplaceKey { key, value })))]);
    }
    // The target's range, as far as the source reaches it.
    let range = |scalar: Scalar| reference::integer(scalar);
    let min = S::from(range(Scalar::min(target)).max(range(Scalar::min(S::TYPE))))?;
    let max = S::from(range(Scalar::max(target)).min(range(Scalar::max(S::TYPE))))?;
    fn held<S, T, const MAPS: bool>(
        [min, max]: [S; 2],
        entry: (S, S),
        out_of_range: OutOfRange,
        level: Level,
    ) -> Box<dyn Stage>
    where
        S: Int + Flags + AsPrimitive<T>,
        T: Int,
    {
        if out_of_range == OutOfRange::Error {
            let target = PhantomData;
            level.bind(Loop(IntClamp::<S, T, Error, MAPS> { min, max, entry, target }))
        } else {
            let target = PhantomData;
            level.bind(Loop(IntClamp::<S, T, Clamp, MAPS> { min, max, entry, target }))
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
    fn join<P>(work: P, _: &Cast, level: Level) -> Stages
    where
        P: PerElement<Target = F, Flags = ()>,
    {
        vec![level.bind(Loop(work))]
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
            ElementType::BFloat16 => vec![level.bind(Loop(Then(work, ExactBf16)))],
            ElementType::Float16 => {
                vec![level.bind(Loop(Then(work, EncodeF16InRange::<NearestEven>::new())))]
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
        fn f16<P, R: Round>(work: P, level: Level) -> Stages
        where
            P: PerElement<Target = f32, Flags = ()>,
        {
            if R::ROUNDING == Some(Rounding::NearestAway) {
                vec![level.bind(Loop(Then(work, EncodeF16::<R, Clamp>::new())))]
            } else {
                vec![level.bind(Loop(Then(work, EncodeF16InRange::<R>::new())))]
            }
        }
        match cast.target {
            ElementType::Float16 => with_rounding!(cast.rounding, R => f16::<P, R>(work, level)),
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
                    vec![level.bind(Loop(Then(work, EncodeF16::<R, Clamp>::new())))]
                }
                _ => vec![level.bind(Loop(Then(work, EncodeF16::<R, Error>::new())))],
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
                let encode = EncodeBf16::<R, Clamp>(PhantomData);
                vec![level.bind(Loop(LongInChunks(Then(work, encode))))]
            }),
            _ => Self::by_minifloat(work, cast, level),
        }
    }

    fn by_minifloat<P: PerElement<Target = f32>>(work: P, cast: &Cast, level: Level) -> Stages {
        let encoder = f32::to_float(Same::<f32>(PhantomData), cast, level);
        stage(work, level).into_iter().chain(encoder).collect()
    }
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
                let narrow = f32::to_float(Same::<f32>(PhantomData), &rounded, level);
                widen(element, level)
                    .into_iter()
                    .chain([float::<f32, D>(offset, scale, strict, level)])
                    .chain(narrow)
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

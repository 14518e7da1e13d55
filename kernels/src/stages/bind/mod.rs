//! Which stages a step becomes.

// A generic function that is instantiated per element type stands beside the match that picks one.
#![allow(clippy::items_after_statements)]

mod from_float;
mod from_int;
mod map;
mod scale;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;

use super::Stage;
use super::bytes::{ClearUnused, Copy, SwapBytes, Table};
use super::per_element::{Loop, PerElement};
use super::scale::{Scale, Unscale};
use super::small_float::{DecodeBf16, DecodeF16};
use crate::map_index::MapIndex;
use crate::stages::bind_loop;
use crate::{Cast, ElementType, Format, Level, OutOfRange, Rounding, Scalar, Step};
use from_float::from_float;
use from_int::from_int;
use map::{distinct, lookup, replace_bits, substitute};
use scale::{bind_fused, bind_scale};

type Stages = Vec<Stage>;

/// Evaluates `$body` with `$T` standing for the native type of an integer element of 8 or 16 bits;
/// `$otherwise` for every other element type.
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
use with_short_int;

/// As [`with_short_int`], for integers of all whole bytes.
macro_rules! with_int {
    ($element:expr, $T:ident => $body:expr, $otherwise:expr) => {
        match $element {
            ElementType::Int32 => {
                type $T = i32;
                $body
            }
            ElementType::Int64 => {
                type $T = i64;
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
            _ => $crate::stages::bind::with_short_int!($element, $T => $body, $otherwise),
        }
    };
}
use with_int;

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
use with_rounding;

/// The stages of a plan; at least one.
pub(crate) fn bind_steps(source: ElementType, steps: &[Step], level: Level) -> Stages {
    let mut stages = Stages::new();
    let mut current = source;
    let mut rest = steps;
    while let [step, after @ ..] = rest {
        rest = after;
        if let Some(next) = after.first()
            && let Some(fused) = crate::bind::fused(current, step, next, level)
                .or_else(|| bind_fused(current, step, next, level))
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
            stages.push(bind_table(current, core::slice::from_ref(step), level));
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
    let is_narrow = source.size() == 1 && (source.is_float() || source.bits() < 8);
    if let Step::Cast(cast) = step
        && is_narrow
        && cast.map.len() < 2
    {
        return crate::bind::cast(source, cast.map.first().copied(), cast, level);
    }
    if is_narrow {
        return None;
    }
    match step {
        Step::Cast(cast) => bind_cast(source, cast, level),
        Step::Scale(parameters) => bind_scale::<Scale>(source, parameters, level),
        Step::Unscale(parameters) => bind_scale::<Unscale>(source, parameters, level),
    }
}

/// One stage for all steps on a one-byte source, filled by the reference.
fn bind_table(source: ElementType, steps: &[Step], level: Level) -> Stage {
    let index = MapIndex::new(steps);
    let results: Vec<Option<Scalar>> = (0..=u8::MAX)
        .map(|byte| index.run(Scalar::from_bits(source, byte.into()), steps, 0).ok())
        .collect();
    fn table<T: bytemuck::Pod + Send + Sync>(results: &[Option<Scalar>], level: Level) -> Stage {
        let mut outputs = Box::new([T::zeroed(); 256]);
        let mut fails = Box::new([0; 256]);
        for ((output, fails), result) in outputs.iter_mut().zip(fails.iter_mut()).zip(results) {
            match result {
                Some(value) => {
                    let written = value.write_ne_bytes(bytemuck::bytes_of_mut(output));
                    debug_assert!(written);
                }
                None => *fails = 1,
            }
        }
        let fails = fails.contains(&1).then_some(fails);
        level.bind_vectorized(Table { outputs, fails })
    }
    match steps.iter().fold(source, target_of).size() {
        1 => table::<u8>(&results, level),
        2 => table::<u16>(&results, level),
        4 => table::<u32>(&results, level),
        _ => table::<u64>(&results, level),
    }
}

/// Reverses the bytes of elements; nothing for one byte.
pub(crate) fn swap_bytes(element: ElementType, level: Level) -> Option<Stage> {
    if element.size() > 1
        && let Some(stage) = crate::bind::swap_bytes(element.size(), level)
    {
        return Some(stage);
    }
    match element.size() {
        1 => None,
        2 => Some(bind_loop(Loop(SwapBytes::<u16>(PhantomData)))),
        4 => Some(bind_loop(Loop(SwapBytes::<u32>(PhantomData)))),
        _ => Some(bind_loop(Loop(SwapBytes::<u64>(PhantomData)))),
    }
}

/// Elements as they are, but for the unused bits of sub-byte types.
fn copy(element: ElementType, level: Level) -> Stage {
    match (element.size(), element.bits()) {
        (1, 8) => level.bind_vectorized(Copy::<1>),
        (1, bits) => {
            let signed = element.is_integer() && element.is_signed();
            level.bind_vectorized(Loop(ClearUnused { bits, signed }))
        }
        (2, _) => level.bind_vectorized(Copy::<2>),
        (4, _) => level.bind_vectorized(Copy::<4>),
        _ => level.bind_vectorized(Copy::<8>),
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
fn widen(source: ElementType, _level: Level) -> Option<Stage> {
    match source {
        ElementType::Float16 => Some(bind_loop(Loop(DecodeF16))),
        ElementType::BFloat16 => Some(bind_loop(Loop(DecodeBf16))),
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
    if let Some(stages) = crate::bind::cast(source, entry, cast, level) {
        return Some(stages);
    }
    match source {
        ElementType::Float16
        | ElementType::BFloat16
        | ElementType::Float32
        | ElementType::Float64 => from_float(source, entry, cast, level),
        _ => with_int!(source, S => from_int::<S>(entry, cast, level), None),
    }
}

/// A stage for what is more than its input.
fn stage<P: PerElement>(work: P, _level: Level) -> Option<Stage> {
    (!P::IS_IDENTITY).then(|| bind_loop(Loop(work)))
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
        let written = scalar.write_ne_bytes(bytemuck::bytes_of_mut(&mut value));
        debug_assert!(written);
        value
    }
}

/// A value in another type, exactly, or none.
fn exactly(value: Scalar, element: ElementType) -> Option<Scalar> {
    let cast = value.cast(element, Rounding::NearestEven, OutOfRange::Error).ok()?;
    cast.equals(value).then_some(cast)
}

//! Which loops serve the steps of a plan.
//!
//! [`bind_steps`] goes through the steps and picks the stages of each. [`vector`] has the pipelines of the levels
//! with vector registers, a file for each kind of cast, and [`maps`] and [`scale`] what stands around a cast and between
//! casts there; [`portable`] has the loops of the scalar level, [`tables`] what serves one byte on every level. [`class`]
//! sorts the element types: no match on it has an arm for all others, so the compiler asks wherever a new type has to be
//! thought of. [`variants`] says which loops there are of one kind, [`values`] what maps and parameters are bound with.

mod affine;
mod class;
mod float_to_float;
mod float_to_int;
mod front;
mod int_to_float;
mod int_to_int;
mod maps;
mod narrow;
mod portable;
mod scale;
mod small_float;
mod substitute;
mod tables;
mod unscaled;
mod values;
mod variants;
mod vector;

use alloc::vec::Vec;

use class::{Class, FloatType, IntType, Width, wide};
use maps::{lookup, preimages, replace_bits};
use scale::bind_scale;
use tables::{bind_table, copy};
use values::{Entry, distinct, exactly};
use vector::{MOST_FUSED, without_map};

use crate::level::{HAS_SCALAR, with_level};
use crate::stages::Stage;
use crate::stages::by_reference::ByReference;
use crate::{Cast, ElementType, Format, Level, Step};

/// The stages of a plan; at least one.
pub(crate) fn bind_steps(source: ElementType, steps: &[Step], level: Level) -> Vec<Stage> {
    let mut stages = Vec::new();
    let mut current = source;
    let mut rest = steps;
    while !rest.is_empty() {
        let (bound, taken) = match bind_span(current, rest, level) {
            Some(span) => span,
            // A plan that starts on one byte needs no other stage than a table of all its steps.
            None if source.size() == 1 => return vec![bind_table(source, steps, level)],
            None if current.size() == 1 => (vec![bind_table(current, &rest[..1], level)], 1),
            None => {
                debug_assert!(is_scalar(level), "every other cast has loops");
                (vec![ByReference::stage(current, &rest[0])], 1)
            }
        };
        stages.extend(bound);
        current = rest[..taken].iter().fold(current, |element, step| step.target(element));
        rest = &rest[taken..];
    }
    if stages.is_empty() {
        stages.push(copy(source, level));
    }
    stages
}

/// The stages of the first steps, as many as one loop serves, and how many steps these are; `None` as [`bind_step`] of the first.
fn bind_span(source: ElementType, steps: &[Step], level: Level) -> Option<(Vec<Stage>, usize)> {
    let fused = (2..=steps.len().min(MOST_FUSED)).rev().find_map(|count| {
        let steps = &steps[..count];
        let stage = if is_scalar(level) {
            portable::fused(source, steps)?
        } else {
            vector::fused(source, steps, level)?
        };
        Some((vec![stage], count))
    });
    fused.or_else(|| Some((bind_step(source, &steps[0], level)?, 1)))
}

/// Whether the level has no vectors, in a build that has its loops.
fn is_scalar(level: Level) -> bool {
    HAS_SCALAR && level == Level::Scalar
}

/// The stages of a step on elements of type `source`; `None` for those one-byte elements that a table
/// serves better: floats, unused bits, a scale, and what needs a lookup anyhow.
fn bind_step(source: ElementType, step: &Step, level: Level) -> Option<Vec<Stage>> {
    if let Step::Scale(parameters) | Step::InverseScale(parameters) = step
        && parameters.offset.is_none()
        && parameters.scale.is_none()
    {
        return Some(vec![]);
    }
    if is_scalar(level) {
        return portable::step(source, step);
    }
    let is_narrow = match Class::of(source) {
        Class::SubByte | Class::SmallFloat => true,
        Class::Int(_) | Class::Float(_) => false,
    };
    match step {
        Step::Cast(cast) if is_narrow && cast.map.len() > 1 => None,
        Step::Cast(cast) if is_narrow => vector::cast(source, &cast.map, cast, level),
        Step::Scale(_) | Step::InverseScale(_) if is_narrow => None,
        Step::Cast(cast) => bind_cast(source, cast, level),
        Step::Scale(parameters) => bind_scale::<true>(source, parameters, level),
        Step::InverseScale(parameters) => bind_scale::<false>(source, parameters, level),
    }
}

/// Reverses the bytes of elements; nothing for one byte.
pub(crate) fn swap_bytes(element: ElementType, level: Level) -> Option<Stage> {
    let size = element.size();
    (size > 1).then(|| {
        with_level!(level, simd => vector::move_bytes::<_, true>(simd, size))
            .unwrap_or_else(|| portable::swap_bytes(size))
    })
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

/// A cast of elements of two bytes and more, and of whole integers, with any map.
fn bind_cast(source: ElementType, cast: &Cast, level: Level) -> Option<Vec<Stage>> {
    let Cast { target, .. } = *cast;
    let entries = distinct(&cast.map);
    if source == target && entries.is_empty() {
        return Some(vec![copy(source, level)]);
    }
    if source == target && source.size() == 2 && source.is_float() {
        // Copying must keep signalling NaNs, so these two do not go through f32.
        return Some(vec![replace_bits(source, &entries, level)?]);
    }
    if target.size() == 1 && target.is_float() && source.size() == 1 {
        return None;
    }
    let joined = vector::cast(source, &entries, cast, level);
    if joined.is_some() || entries.is_empty() {
        return joined;
    }
    // The map is a stage of its own, among elements of a wide type.
    let (before, after) = (wide(source), wide(target));
    let mut stages = without_map(source, &Cast::new(before), level)?;
    if source != before {
        let key = |&(key, output): &Entry| Some((exactly(key, before)?, output));
        let map: Option<Vec<Entry>> = entries.iter().map(key).collect();
        if let Some(joined) = map.and_then(|map| vector::cast(before, &map, cast, level)) {
            stages.extend(joined);
            return Some(stages);
        }
    }
    if let Some(map) = preimages(&entries, before, cast)
        && let Some(substitute) = vector::substitution(before, &map, level)
    {
        stages.push(substitute);
        stages.extend(without_map(before, cast, level)?);
        return Some(stages);
    }
    let behind = if is_exact(before, if target.is_integer() { target } else { after }) {
        Some(after)
    } else if source.size() == 1 {
        None // a table takes less time
    } else {
        wider(before, target)
    };
    if let Some(domain) = behind
        && let Some(map) = preimages(&entries, domain, cast)
        && let Some(substitute) = vector::substitution(domain, &map, level)
    {
        stages.extend(without_map(before, &Cast::new(domain), level)?);
        stages.push(substitute);
        stages.extend(without_map(domain, cast, level)?);
        return Some(stages);
    }
    if source.size() == 1 {
        return None;
    }
    let mut inner = without_map(before, cast, level)?;
    if inner.is_empty() {
        inner.push(copy(before, level));
    }
    stages.push(lookup(&entries, before, target, inner, level)?);
    Some(stages)
}

/// A type of whole bytes with all values of `element`, a wide type, and more that casts to `target` may need; none where
/// there is none.
fn wider(element: ElementType, target: ElementType) -> Option<ElementType> {
    match (Class::of(element), target.is_integer()) {
        (Class::Int(IntType { width: Width::W8 | Width::W16, .. }), true) => {
            Some(ElementType::Int32)
        }
        (Class::Int(IntType { width: Width::W32, .. }), true) => Some(ElementType::Int64),
        (Class::Int(IntType { width: Width::W8 | Width::W16 | Width::W32, .. }), false)
        | (Class::Float(FloatType::Float32), _) => Some(ElementType::Float64),
        // The widest; those of 16 bits and less are no wide types.
        (
            Class::Int(IntType { width: Width::W64, .. })
            | Class::Float(FloatType::Float64 | FloatType::Float16 | FloatType::BFloat16)
            | Class::SubByte
            | Class::SmallFloat,
            _,
        ) => None,
    }
}

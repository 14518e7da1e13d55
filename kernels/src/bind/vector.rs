//! Which pipelines serve a source, a target and a policy, for the levels that have vector registers.

use super::class::{Class, FloatType, IntType, Width, wide};
use super::float_to_float::{Beyond, numbers_within};
use super::values::{Entry, exactly};
use super::variants::TWO_KERNELS;
use super::{
    affine, float_to_float, float_to_int, int_to_float, int_to_int, small_float, substitute,
    unscaled,
};
use crate::level::with_level;
use crate::ops::bytes::{FailsOn, LookUp, MoveBytes};
use crate::pipeline::{Bytes, Retry, Same, Then, stage};
use crate::simd::{F64s, LookUpBytes, Simd};
use crate::stages::Stage;
use crate::{Affine, Cast, ElementType, Entries, Format, Level, OutOfRange, Step};
use alloc::vec::Vec;

/// Returns if this build leaves out the small types: behind a constant condition their kernels are not compiled.
macro_rules! left_out_small_types {
    () => {
        if cfg!(not(feature = "small-types")) {
            return None;
        }
    };
}

/// The stages of a cast; none where a table of all bytes serves better, or the map joins no loop.
fn bind_cast<S: Simd>(
    simd: S,
    source: ElementType,
    cast: &Cast,
    map: &[Entry],
) -> Option<Vec<Stage>> {
    match (Class::of(source), Class::of(cast.target)) {
        (Class::Int(from), Class::Int(to)) => int_to_int::bind(simd, from, to, cast, map),
        (Class::Float(from), Class::Int(to)) => float_to_int::bind(simd, from, to, cast, map),
        (Class::Int(from), Class::Float(to)) => int_to_float::bind(simd, from, to, cast, map),
        (Class::Float(from), Class::Float(to)) => float_to_float::bind(simd, from, to, cast, map),
        (Class::Int(IntType { width: Width::W8, .. }) | Class::SubByte, Class::SmallFloat)
        | (
            Class::SmallFloat,
            Class::Int(IntType { width: Width::W8, .. }) | Class::SubByte | Class::SmallFloat,
        ) => None,
        (Class::SubByte | Class::SmallFloat, Class::Int(_) | Class::Float(_))
        | (Class::SubByte, Class::SubByte) => {
            left_out_small_types!();
            if let (Class::SmallFloat, Class::Float(to), []) =
                (Class::of(source), Class::of(cast.target), map)
                && let Some(stage) = small_float::decode_to_short(simd, source, to)
            {
                return Some(vec![stage]);
            }
            // Its values as the wider type's, first.
            let (widen, wide) = widen(simd, source)?;
            let mut stages = vec![widen];
            if wide == cast.target && map.is_empty() {
                return small_float::is_faster_than_table(source).then_some(stages);
            }
            let key = |&(key, output): &Entry| Some((exactly(key, wide)?, output));
            let map: Vec<Entry> = map.iter().map(key).collect::<Option<_>>()?;
            stages.extend(bind_cast(simd, wide, cast, &map)?);
            Some(stages)
        }
        (Class::Int(_) | Class::Float(_), Class::SubByte) => {
            left_out_small_types!();
            let wide = wide(cast.target);
            let output = |&(key, output): &Entry| Some((key, exactly(output, wide)?));
            let map: Vec<Entry> = map.iter().map(output).collect::<Option<_>>()?;
            let to_byte = Cast { target: wide, map: Entries::default(), ..cast.clone() };
            let mut stages = bind_cast(simd, source, &to_byte, &map)?;
            stages.push(int_to_int::to_sub_byte(simd, cast));
            Some(stages)
        }
        (Class::Int(_) | Class::Float(_), Class::SmallFloat) if !map.is_empty() => None,
        (Class::Int(from), Class::SmallFloat) => {
            left_out_small_types!();
            let by_f16 = small_float::encode_by_f16(simd, Class::Int(from), cast, false);
            if let Some(stage) = by_f16 {
                return Some(vec![stage]);
            }
            let odd = int_to_float::to_odd_f32(simd, from, None);
            Some(vec![odd, small_float::encode(simd, cast, false)?])
        }
        (Class::Float(from), Class::SmallFloat) => {
            left_out_small_types!();
            let by_f16 = small_float::encode_by_f16(simd, Class::Float(from), cast, false);
            if let Some(stage) = by_f16 {
                return Some(vec![stage]);
            }
            let stages = |cast, beyond| {
                let mut stages: Vec<_> =
                    float_to_float::to_odd_f32(simd, from, beyond).into_iter().collect();
                let infinity_fails =
                    from == FloatType::Float64 && matches!(beyond, Beyond::Infinite);
                stages.push(small_float::encode(simd, cast, infinity_fails)?);
                Some(stages)
            };
            let fast = stages(cast, Beyond::Infinite)?;
            if from != FloatType::Float64 || !TWO_KERNELS {
                return Some(fast);
            }
            let Format::Float(format) = cast.target.format() else { return None };
            // The infinities that fail above stand for numbers, too.
            let general = match (cast.out_of_range, format.has_infinity()) {
                (OutOfRange::Clamp, false) => stages(cast, Beyond::Clamped)?,
                (OutOfRange::Error | OutOfRange::Wrap, true) => {
                    let within = numbers_within::<S, F64s<S>, _>(format, cast.rounding);
                    let clamped = cast.clone().out_of_range(OutOfRange::Clamp);
                    stages(&clamped, Beyond::Fails(within))?
                }
                (OutOfRange::Clamp, true) | (OutOfRange::Error | OutOfRange::Wrap, false) => {
                    return Some(fast);
                }
            };
            Some(vec![Retry { fast, general, only_long: false }.stage()])
        }
    }
}

/// The values of a sub-byte integer or a one-byte float in their [`wide`] type.
fn widen<S: Simd>(simd: S, source: ElementType) -> Option<(Stage, ElementType)> {
    let wide = wide(source);
    let stage = if wide.is_float() {
        small_float::decode(simd, source)?
    } else {
        int_to_int::canonical(simd, source)
    };
    Some((stage, wide))
}

/// The most steps that share a loop.
pub(super) const MOST_FUSED: usize = 3;

/// Several steps in one loop: the table of the shapes that have one.
///
/// | elements | steps |
/// |---|---|
/// | float32, float64 | scale, cast to an integer |
/// | float32 | cast to float64, scale, cast to an integer |
/// | integers of at most 32 bits | cast to a float, scale back |
/// | integers of at most 32 bits | cast to float64, scale back, cast to float32 |
fn bind_fused<S: Simd>(simd: S, source: ElementType, steps: &[Step]) -> Option<Stage> {
    let plain = |cast: &Cast, target| cast.target == target && cast.map.is_empty();
    match (Class::of(source), steps) {
        (Class::Float(from), [Step::Scale(scale), Step::Cast(cast)]) => {
            let Class::Int(to) = Class::of(cast.target) else { return None };
            float_to_int::bind_scaled(simd, from, false, scale, to, cast)
        }
        (Class::Float(from), [Step::Cast(widen), Step::Scale(scale), Step::Cast(cast)])
            if from == FloatType::Float32 && plain(widen, ElementType::Float64) =>
        {
            let Class::Int(to) = Class::of(cast.target) else { return None };
            float_to_int::bind_scaled(simd, from, true, scale, to, cast)
        }
        (Class::Int(from), [Step::Cast(cast), Step::InverseScale(scale)]) => {
            let Class::Float(to) = Class::of(cast.target) else { return None };
            unscaled::bind(simd, from, to, cast, scale, None)
        }
        (Class::Int(from), [Step::Cast(cast), Step::InverseScale(scale), Step::Cast(narrow)])
            if cast.target == ElementType::Float64 && plain(narrow, ElementType::Float32) =>
        {
            unscaled::bind(simd, from, FloatType::Float64, cast, scale, Some(narrow))
        }
        // Nothing is gained from one loop for other steps.
        (Class::Int(_) | Class::Float(_) | Class::SubByte | Class::SmallFloat, _) => None,
    }
}

/// Elements of 1, 2, 4 or 8 bytes as they are, or with their bytes in reverse.
pub(super) fn move_bytes<S: Simd, const REVERSED: bool>(simd: S, size: usize) -> Stage {
    match size {
        1 => stage(simd, Bytes(Same)),
        2 => stage(simd, MoveBytes::<2, REVERSED>),
        4 => stage(simd, MoveBytes::<4, REVERSED>),
        _ => stage(simd, MoveBytes::<8, REVERSED>),
    }
}

/// A table of bytes, in which one byte stands for those that fail.
pub(super) fn byte_table<S: LookUpBytes>(
    simd: S,
    values: &[u8; 256],
    fails_on: Option<u8>,
) -> Stage {
    let look_up = LookUp::new(simd, values);
    match fails_on {
        None => stage(simd, Bytes(look_up)),
        Some(byte) => stage(simd, Bytes(Then(look_up, FailsOn(byte)))),
    }
}

/// The stages of a cast whose map, of distinct keys, joins its loop, as [`bind_cast`]; none if the level has no vectors.
pub(super) fn cast(
    source: ElementType,
    map: &[Entry],
    cast: &Cast,
    level: Level,
) -> Option<Vec<Stage>> {
    with_level!(level, simd => bind_cast(simd, source, cast, map))?
}

/// The stage of several steps, as [`bind_fused`]; none if the level has no vectors.
pub(super) fn fused(source: ElementType, steps: &[Step], level: Level) -> Option<Stage> {
    with_level!(level, simd => bind_fused(simd, source, steps))?
}

/// The stage of scale and offset of float32 or float64, if the level has vectors; `encodes` says in which direction.
pub(super) fn affine(
    element: ElementType,
    parameters: &Affine,
    encodes: bool,
    level: Level,
) -> Option<Stage> {
    with_level!(level, simd => affine::bind(simd, element, parameters, encodes))?
}

/// The stage that puts values in place of keys, among elements of one type, if the level has vectors for it.
pub(super) fn substitution(domain: ElementType, entries: &[Entry], level: Level) -> Option<Stage> {
    with_level!(level, simd => substitute::bind(simd, domain, entries))?
}

/// A cast, its map left out; no stage where nothing changes.
pub(super) fn without_map(source: ElementType, cast: &Cast, level: Level) -> Option<Vec<Stage>> {
    if source == cast.target {
        return Some(vec![]);
    }
    self::cast(source, &[], cast, level)
}

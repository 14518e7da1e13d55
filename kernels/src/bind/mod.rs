//! Which loops serve the steps of a plan.
//!
//! [`bind_steps`] goes through the steps and picks the stages of each. [`vector`] has the pipelines of the levels
//! with vector registers, a file for each kind of cast, and [`maps`] and [`scale`] what stands around a cast and between
//! casts there; [`portable`] has the loops of the scalar level. [`class`] sorts the element types: no
//! match on it has an arm for all others, so the compiler asks wherever a new type has to be thought of.

mod affine;
mod class;
mod float_to_float;
mod float_to_int;
mod int_to_float;
mod int_to_int;
mod maps;
mod narrow;
mod portable;
mod scale;
mod small_float;
mod substitute;
mod unscaled;
mod vector;

use alloc::vec::Vec;

use bytemuck::Pod;
use class::{Class, FloatType, IntType, Width};
use maps::{distinct, lookup, preimages, replace_bits};
use scale::bind_scale;

use crate::level::{HAS_SCALAR, with_level, with_look_up_bytes};
use crate::pipeline::Retry;
use crate::reference::{self, Reference};
use crate::stages::by_reference::ByReference;
use crate::stages::bytes::{CopyBytes, Table};
use crate::stages::{Stage, bind_loop};
use crate::{Affine, Cast, ElementType, Format, Level, OutOfRange, Rounding, Scalar, Step};

type Stages = Vec<Stage>;

/// An entry of a map: a key and its output.
type Entry = (Scalar, Scalar);

/// Evaluates `$body` with `$name` standing for a rounding: the default as a type of its own, and the others
/// together, so that two kernels serve five roundings.
macro_rules! with_rounding {
    ($rounding:expr, $name:ident => $body:expr) => {
        match $rounding {
            $crate::Rounding::NearestEven => {
                let $name = $crate::simd::NearestEven;
                $body
            }
            directed @ ($crate::Rounding::TowardsZero
            | $crate::Rounding::TowardsPositive
            | $crate::Rounding::TowardsNegative
            | $crate::Rounding::NearestAway) => {
                let $name = directed;
                $body
            }
        }
    };
}
use with_rounding;

/// The body with a constant that is what `$value` is, for kernels that differ by it.
macro_rules! with_bool {
    ($value:expr, $name:ident => $body:expr) => {
        if $value {
            const $name: bool = true;
            $body
        } else {
            const $name: bool = false;
            $body
        }
    };
}
use with_bool;

/// Evaluates `$body` with `$name` standing for a load of floats: `$load`, or that with a value in place of NaN.
macro_rules! with_nan {
    ($nan:expr, $name:ident = $load:expr => $body:expr) => {
        match $nan {
            None => {
                let $name = $load;
                $body
            }
            Some(value) => {
                let $name =
                    $crate::pipeline::LoadThen($load, $crate::ops::float::ReplaceNan { value });
                $body
            }
        }
    };
}
use with_nan;

/// As [`with_rounding`] and [`with_nan`]; returns none for other roundings than nearest-even with a value, which is rare.
macro_rules! with_rounding_or_nan {
    ($rounding:expr, $nan:expr, $name:ident, $front:ident = $load:expr => $body:expr) => {
        match $nan {
            None => {
                let $front = $load;
                $crate::bind::with_rounding!($rounding, $name => $body)
            }
            Some(value) if $rounding == $crate::Rounding::NearestEven => {
                let $name = $crate::simd::NearestEven;
                let $front =
                    $crate::pipeline::LoadThen($load, $crate::ops::float::ReplaceNan { value });
                $body
            }
            Some(_) => return None,
        }
    };
}
use with_rounding_or_nan;

/// The stages of a plan; at least one.
pub(crate) fn bind_steps(source: ElementType, steps: &[Step], level: Level) -> Stages {
    let mut stages = Stages::new();
    let mut current = source;
    let mut rest = steps;
    while let [step, after @ ..] = rest {
        rest = after;
        if let Some(next) = after.first()
            && let Some(fused) = bind_fused(current, [step, next], level)
        {
            stages.push(fused);
            current = next.target(step.target(current));
            rest = &after[1..];
            continue;
        }
        let Some(bound) = bind_step(current, step, level) else {
            // A plan that starts on one byte needs no other stage than a table of all its steps.
            if source.size() == 1 {
                return vec![bind_table(source, steps, level)];
            }
            stages.push(if current.size() == 1 {
                bind_table(current, core::slice::from_ref(step), level)
            } else {
                debug_assert!(is_scalar(level), "every other cast has loops");
                ByReference::stage(current, step)
            });
            current = step.target(current);
            continue;
        };
        stages.extend(bound);
        current = step.target(current);
    }
    if stages.is_empty() {
        stages.push(copy(source, level));
    }
    stages
}

/// Whether the level has no vectors, in a build that has its loops.
fn is_scalar(level: Level) -> bool {
    HAS_SCALAR && level == Level::Scalar
}

/// The stages of a step on elements of type `source`; `None` for those one-byte elements that a table
/// serves better: floats, unused bits, a scale, and what needs a lookup anyhow.
fn bind_step(source: ElementType, step: &Step, level: Level) -> Option<Stages> {
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
        Step::Cast(cast) if is_narrow => vector::cast(source, only_entry(cast)?, cast, level),
        Step::Scale(_) | Step::InverseScale(_) if is_narrow => None,
        Step::Cast(cast) => bind_cast(source, cast, level),
        Step::Scale(parameters) => bind_scale::<true>(source, parameters, level),
        Step::InverseScale(parameters) => bind_scale::<false>(source, parameters, level),
    }
}

/// One stage for all steps on a one-byte source, filled by the reference; without steps, elements with canonical unused bits.
fn bind_table(source: ElementType, steps: &[Step], level: Level) -> Stage {
    fn table<T: Pod + Send + Sync>(results: &[Option<Scalar>]) -> Stage {
        let mut outputs = [T::zeroed(); 256];
        let mut fails = [0; 256];
        for ((output, fails), result) in outputs.iter_mut().zip(fails.iter_mut()).zip(results) {
            match result {
                Some(value) => *output = native(*value),
                None => *fails = 1,
            }
        }
        let fails = fails.contains(&1).then_some(fails);
        bind_loop(Table { outputs, fails })
    }
    let target = steps.iter().fold(source, |source, step| step.target(source));
    let reference = Reference::new(source, steps);
    let results: Vec<Option<Scalar>> = (0..=u8::MAX)
        .map(|byte| {
            let mut bits = [0];
            reference.run(&[Scalar::from_bits(source, byte.into()).bits()], &mut bits, 0).ok()?;
            Some(Scalar::from_bits(target, bits[0]))
        })
        .collect();
    match target.size() {
        1 => byte_table(&results, level).unwrap_or_else(|| table::<u8>(&results)),
        2 => table::<u16>(&results),
        4 => table::<u32>(&results),
        _ => table::<u64>(&results),
    }
}

/// The stage of a table of bytes, if the level has vectors: where an element fails, stands a byte that is no output. There
/// is one, for what fails leaves fewer than 256 outputs.
fn byte_table(results: &[Option<Scalar>], level: Level) -> Option<Stage> {
    let outputs: Vec<Option<u8>> = results.iter().map(|result| result.map(native)).collect();
    let unused = (0..=u8::MAX).find(|byte| !outputs.contains(&Some(*byte)));
    let fails_on = if outputs.contains(&None) { Some(unused?) } else { None };
    let values: [_; 256] =
        core::array::from_fn(|byte| outputs[byte].or(fails_on).unwrap_or_default());
    with_look_up_bytes!(level, simd => vector::byte_table(simd, &values, fails_on))
}

/// Reverses the bytes of elements; nothing for one byte.
pub(crate) fn swap_bytes(element: ElementType, level: Level) -> Option<Stage> {
    let size = element.size();
    (size > 1).then(|| {
        with_level!(level, simd => vector::swap_bytes(simd, size))
            .unwrap_or_else(|| portable::swap_bytes(size))
    })
}

/// Elements as they are, but for the unused bits of sub-byte types.
fn copy(element: ElementType, level: Level) -> Stage {
    match (element.size(), element.bits()) {
        (1, 8) => bind_loop(CopyBytes::<1>),
        (1, _) => with_level!(level, simd => int_to_int::canonical(simd, element))
            .unwrap_or_else(|| bind_table(element, &[], level)),
        (2, _) => bind_loop(CopyBytes::<2>),
        (4, _) => bind_loop(CopyBytes::<4>),
        _ => bind_loop(CopyBytes::<8>),
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

/// A cast of elements of two bytes and more, and of whole integers, with any map.
fn bind_cast(source: ElementType, cast: &Cast, level: Level) -> Option<Stages> {
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
    match entries[..] {
        [] => return without_map(source, cast, level),
        [entry] => {
            let joined = vector::cast(source, Some(entry), cast, level);
            if joined.is_some() {
                return joined;
            }
        }
        [_, _, ..] => {}
    }
    // The map is a stage of its own, among elements of a wide type.
    let (before, after) = (wide(source), wide(target));
    let mut stages = without_map(source, &Cast::new(before), level)?;
    if let Some(map) = preimages(&entries, before, cast) {
        if let Some(joined) = vector::cast_but(before, &map, cast, level) {
            stages.push(joined);
            return Some(stages);
        }
        if let Some(substitute) = vector::substitution(before, &map, level) {
            stages.push(substitute);
            stages.extend(without_map(before, cast, level)?);
            return Some(stages);
        }
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

/// A cast, its map left out; no stage where nothing changes.
fn without_map(source: ElementType, cast: &Cast, level: Level) -> Option<Stages> {
    if source == cast.target {
        return Some(vec![]);
    }
    vector::cast(source, None, cast, level)
}

/// Two steps in one stage: a scale with the cast to an integer, or a cast with the scale back.
fn bind_fused(source: ElementType, steps: [&Step; 2], level: Level) -> Option<Stage> {
    if is_scalar(level) {
        return portable::fused(source, steps);
    }
    with_level!(level, simd => vector::fused(simd, source, steps))?
}

/// The type of whole bytes in which a narrow type's values are worked on.
fn wide(element: ElementType) -> ElementType {
    match Class::of(element) {
        Class::SubByte if element.is_signed() => ElementType::Int8,
        Class::SubByte => ElementType::UInt8,
        Class::SmallFloat => ElementType::Float32,
        Class::Float(float) => float.domain(),
        Class::Int(_) => element,
    }
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

/// Whether an entry of a cast's map joins its loop. On WebAssembly it is a pass of its own: a module that is downloaded is a
/// fifth smaller without these kernels.
const FUSES_MAP_ENTRY: bool = cfg!(not(target_feature = "simd128"));

/// Whether a cast has a second kernel for speed, where one does with the reference behind it. Not on WebAssembly, for the
/// same reason.
const TWO_KERNELS: bool = cfg!(not(target_feature = "simd128"));

/// A kernel that flags legal infinities, and the one behind it.
fn retry_infinities(fast: Stage, general: impl FnOnce() -> Stage) -> Stage {
    if TWO_KERNELS { Retry::of(fast, general()) } else { fast }
}

/// The entry of a cast's map, if it has one; none of a longer map.
#[allow(clippy::option_option)] // as it says
fn only_entry(cast: &Cast) -> Option<Option<Entry>> {
    match cast.map[..] {
        [] => Some(None),
        [entry] => Some(Some(entry)),
        [_, _, ..] => None,
    }
}

/// Whether every integer of a type is finite as a float of another, unscaled.
fn stays_finite(from: ElementType, to: ElementType, parameters: &Affine) -> bool {
    // Every operation is monotonic, so the ends of the range tell.
    [Scalar::min(from), Scalar::max(from)].into_iter().all(|end| {
        let steps = [Step::Cast(Cast::new(to)), Step::InverseScale(*parameters)];
        reference::run(end, &steps, 0).is_ok_and(Scalar::is_finite)
    })
}

/// An entry of a cast: the key, and the number of type `domain` that becomes the output. None where there is no such
/// number.
#[allow(clippy::option_option)] // no entry, and none that can be had
#[cfg_attr(target_feature = "simd128", inline(always))] // shows that there never is one where none joins
fn number_entry(
    entry: Option<Entry>,
    domain: ElementType,
    cast: &Cast,
) -> Option<Option<(Scalar, f64)>> {
    match entry {
        None => Some(None),
        Some(_) if !FUSES_MAP_ENTRY => None,
        Some((key, output)) => Some(Some((key, number(preimage(output, domain, cast)?)?))),
    }
}

/// As [`number_entry`], of which NaN is the only key.
#[allow(clippy::option_option)] // as above
#[cfg_attr(target_feature = "simd128", inline(always))]
fn nan_entry(entry: Option<Entry>, domain: ElementType, cast: &Cast) -> Option<Option<f64>> {
    match number_entry(entry, domain, cast)? {
        None => Some(None),
        Some((key, value)) => key.is_nan().then_some(Some(value)),
    }
}

/// A value of type `domain` that casts to `output`, as far as it is seen without a search: the same value, or, where a
/// value out of range is clamped, one beyond it, or, where it wraps, its low bits.
fn preimage(output: Scalar, domain: ElementType, cast: &Cast) -> Option<Scalar> {
    let casts = |value: Scalar| {
        let back = value.cast(cast.target, cast.rounding, cast.out_of_range);
        (back == Ok(output)).then_some(value)
    };
    let candidates = [
        (Rounding::NearestEven, OutOfRange::Error),
        (Rounding::TowardsPositive, OutOfRange::Error),
        (Rounding::NearestEven, OutOfRange::Wrap),
    ];
    candidates.into_iter().find_map(|(rounding, out_of_range)| {
        casts(output.cast(domain, rounding, out_of_range).ok()?)
    })
}

/// A value in another type, exactly, or none.
fn exactly(value: Scalar, element: ElementType) -> Option<Scalar> {
    let cast = value.cast(element, Rounding::NearestEven, OutOfRange::Error).ok()?;
    cast.equals(value).then_some(cast)
}

/// A float as float64; none for a NaN that is not the canonical one, whose bits arithmetic may change.
fn number(value: Scalar) -> Option<f64> {
    (!value.is_nan() || Scalar::nan(value.element_type()) == Some(value)).then(|| value.to_f64())
}

/// So many entries, and the filler in the places that are left.
fn filled_up<T: Clone, const N: usize>(entries: &[T], filler: T) -> [T; N] {
    core::array::from_fn(|index| entries.get(index).unwrap_or(&filler).clone())
}

/// The bits of a scalar as a native value of its size.
fn native<T: Pod>(scalar: Scalar) -> T {
    let mut value = T::zeroed();
    let written = scalar.write_ne_bytes(bytemuck::bytes_of_mut(&mut value));
    debug_assert!(written, "{} has another size", scalar.element_type());
    value
}

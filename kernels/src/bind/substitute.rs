//! Maps as a stage among elements of one type: values in place of keys.

use super::class::{Class, FloatType, Width};
use super::int_to_int::same_width;
use super::values::{Entry, filled_up, number};
use crate::exact::integer;
use crate::ops::float::FloatUnit;
use crate::ops::int::Int16Register;
use crate::ops::load;
use crate::ops::store::StoreFull;
use crate::ops::substitute::{
    HashedFloats, HashedInts, PerfectHash, SubstituteFloats, SubstituteInts, SubstituteShorts,
};
use crate::pipeline::{Load, Shorts, Units, stage};
use crate::simd::Simd;
use crate::stages::Stage;
use crate::{ElementType, Scalar};
use alloc::vec::Vec;

/// The stage, for up to eight keys besides NaN; keys and values are of type `domain`.
pub(super) fn bind<S: Simd>(simd: S, domain: ElementType, entries: &[Entry]) -> Option<Stage> {
    match Class::of(domain) {
        Class::Float(FloatType::Float32) => floats(simd, load::Float32, entries, |numbers, nan| {
            let bits = |x: f64| ((x as f32) + 0.0).to_bits() as i32;
            let value = |x: f64| (x as f32).to_bits() as i32;
            let entries: Vec<_> =
                numbers.iter().map(|(key, output)| (bits(*key), value(*output))).collect();
            let hashed =
                HashedFloats { table: PerfectHash::new(&entries)?, nan: nan.map(|nan| nan as f32) };
            Some(stage(simd, Units(load::Float32, hashed, StoreFull)))
        }),
        Class::Float(FloatType::Float64) => floats(simd, load::Float64, entries, |_, _| None),
        Class::Int(int) => ints(simd, int.width, entries),
        Class::Float(FloatType::Float16 | FloatType::BFloat16)
        | Class::SubByte
        | Class::SmallFloat => None,
    }
}

/// `hashed` serves from three keys on, where it can.
fn floats<S, L>(
    simd: S,
    load: L,
    entries: &[Entry],
    hashed: impl FnOnce(&[(f64, f64)], Option<f64>) -> Option<Stage>,
) -> Option<Stage>
where
    S: Simd,
    L: Load<S, Unit: FloatUnit<S>>,
{
    fn padded<S, L, const N: usize>(
        simd: S,
        load: L,
        numbers: &[(f64, f64)],
        nan: Option<f64>,
    ) -> Option<Stage>
    where
        S: Simd,
        L: Load<S, Unit: FloatUnit<S>>,
    {
        let scalar = <L::Unit as FloatUnit<S>>::scalar;
        let typed = |(key, value): (f64, f64)| (scalar(key), scalar(value));
        let entries: [_; N] = filled_up(numbers, *numbers.first()?);
        let each = SubstituteFloats { entries: entries.map(typed), nan: nan.map(scalar) };
        Some(stage(simd, Units(load, each, StoreFull)))
    }
    let entries: Vec<(f64, f64)> = entries
        .iter()
        .map(|(key, value)| Some((key.to_f64(), number(*value)?)))
        .collect::<Option<_>>()?;
    let nan = entries.iter().find(|(key, _)| key.is_nan()).map(|(_, value)| *value);
    let numbers: Vec<(f64, f64)> = entries.into_iter().filter(|(key, _)| !key.is_nan()).collect();
    match numbers.len() {
        0 => {
            let nan = nan.map(<L::Unit as FloatUnit<S>>::scalar);
            Some(stage(simd, Units(load, SubstituteFloats { entries: [], nan }, StoreFull)))
        }
        1..=2 => padded::<S, L, 2>(simd, load, &numbers, nan),
        3..=8 => hashed(&numbers, nan).or_else(|| padded::<S, L, 8>(simd, load, &numbers, nan)),
        _ => None,
    }
}

fn ints<S: Simd>(simd: S, width: Width, entries: &[Entry]) -> Option<Stage> {
    fn padded<S: Simd, const N: usize>(
        simd: S,
        width: Width,
        entries: &[(i64, i64)],
    ) -> Option<Stage> {
        // In front of the others stands a key as itself, which the entry of that key then replaces.
        let (itself, _) = *entries.first()?;
        let unused = N - entries.len();
        let entry = |place: usize| entries.get(place.wrapping_sub(unused)).copied();
        let entries = core::array::from_fn(|place| entry(place).unwrap_or((itself, itself)));
        Some(same_width(simd, width, SubstituteInts::<N> { entries }))
    }
    /// By a hash, where there is one.
    fn hashed<S: Simd>(simd: S, width: Width, entries: &[(i64, i64)]) -> Option<Stage> {
        match width {
            Width::W16 => {
                let bits: Vec<_> = entries.iter().map(|(k, v)| (*k as i16, *v as i16)).collect();
                Some(stage(
                    simd,
                    Shorts(Int16Register, HashedInts(PerfectHash::new(&bits)?), Int16Register),
                ))
            }
            Width::W32 => {
                let bits: Vec<_> = entries.iter().map(|(k, v)| (*k as i32, *v as i32)).collect();
                let each = HashedInts(PerfectHash::new(&bits)?);
                Some(stage(simd, Units(load::Int32, each, StoreFull)))
            }
            Width::W8 | Width::W64 => None,
        }
    }
    let integer = |x: Scalar| integer(x) as i64;
    let entries: Vec<(i64, i64)> =
        entries.iter().map(|(key, value)| (integer(*key), integer(*value))).collect();
    match entries.len() {
        1..=2 => padded::<S, 2>(simd, width, &entries),
        3..=8 => hashed(simd, width, &entries).or_else(|| padded::<S, 8>(simd, width, &entries)),
        _ => None,
    }
}

/// Bit patterns of 16-bit floats that elements are compared with one after the other: eight keys, each of
/// which may be a zero with its two.
pub(super) const REPLACED: usize = 16;

/// The stage of bit patterns of a 16-bit float, at most [`REPLACED`]; `nan` is the greatest magnitude that is none, and what
/// takes its place.
pub(super) fn bind_bits<S: Simd>(simd: S, patterns: &[(u16, u16)], nan: (u16, u16)) -> Stage {
    fn padded<S: Simd, const N: usize>(simd: S, patterns: &[(u16, u16)], nan: (u16, u16)) -> Stage {
        // Zero as itself, where there is no key but NaN.
        let entries: [_; N] = filled_up(patterns, patterns.first().copied().unwrap_or_default());
        stage(simd, Shorts(Int16Register, SubstituteShorts { entries, nan }, Int16Register))
    }
    match patterns.len() {
        0 => padded::<S, 0>(simd, patterns, nan),
        1..=2 => padded::<S, 2>(simd, patterns, nan),
        _ => padded::<S, REPLACED>(simd, patterns, nan),
    }
}

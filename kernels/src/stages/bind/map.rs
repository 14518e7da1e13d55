//! Which stages the map of a cast becomes.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::marker::PhantomData;

use super::{FromScalar, Stages, copy, exactly, with_int};
use crate::key_table::KeyTable;
use crate::stages::Stage;
use crate::stages::bind_loop;
use crate::stages::map::{Comparable, Find, Finder, Lookup, ReplaceBits, Substitute};
use crate::stages::per_element::Loop;
use crate::{Cast, ElementType, Format, Level, Scalar};

/// Keys besides NaN that elements are compared with one after the other; more are looked up.
const COMPARED: usize = 8;

/// The entries that can match: of equal keys the first.
pub(super) fn distinct(map: &[(Scalar, Scalar)]) -> Cow<'_, [(Scalar, Scalar)]> {
    if map.len() < 2 {
        return Cow::Borrowed(map);
    }
    let table = KeyTable::new(map.iter().zip(1..).map(|((key, _), number)| (key.key(), number)));
    if table.len() == map.len() {
        return Cow::Borrowed(map);
    }
    let mut numbers: Vec<u32> = table.numbers().collect();
    numbers.sort_unstable();
    numbers.into_iter().map(|number| map[number as usize - 1]).collect()
}

/// The map of `cast` as a substitution among elements of the wide type `domain`, if each output is
/// what some value there casts to.
pub(super) fn substitute(
    entries: &[(Scalar, Scalar)],
    domain: ElementType,
    cast: &Cast,
    level: Level,
) -> Option<Stage> {
    if entries.len() > COMPARED + 1 {
        return None;
    }
    let entries: Vec<(Scalar, Scalar)> = entries
        .iter()
        .map(|(key, output)| {
            let value = exactly(*output, domain)?;
            let back = value.cast(cast.target, cast.rounding, cast.out_of_range);
            (back == Ok(*output)).then_some((exactly(*key, domain)?, value))
        })
        .collect::<Option<_>>()?;
    if let Some(stage) = crate::bind::substitution(domain, &entries, level) {
        return Some(stage);
    }
    fn of_type<T: Comparable + FromScalar>(
        entries: &[(Scalar, Scalar)],
        level: Level,
    ) -> Option<Stage> {
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
fn substitution<T: Comparable>(plain: &[(T, T)], nan: Option<T>, level: Level) -> Option<Stage> {
    fn padded<T: Comparable, const N: usize>(
        plain: &[(T, T)],
        nan: Option<T>,
        _level: Level,
    ) -> Option<Stage> {
        let mut entries = [*plain.first()?; N];
        entries.iter_mut().zip(plain).for_each(|(place, entry)| *place = *entry);
        Some(bind_loop(Substitute { entries, nan }))
    }
    match plain.len() {
        0 => Some(bind_loop(Substitute::<T, 0> { entries: [], nan })),
        1 => padded::<T, 1>(plain, nan, level),
        2 => padded::<T, 2>(plain, nan, level),
        3..=4 => padded::<T, 4>(plain, nan, level),
        5..=8 => padded::<T, 8>(plain, nan, level),
        _ => None,
    }
}

/// The map around a cast from the wide type `domain`.
pub(super) fn lookup(
    entries: &[(Scalar, Scalar)],
    domain: ElementType,
    target: ElementType,
    cast: Stages,
    level: Level,
) -> Option<Stage> {
    fn of_type<T: Comparable + FromScalar>(
        entries: &[(Scalar, Scalar)],
        target: ElementType,
        cast: Stages,
        level: Level,
    ) -> Option<Stage> {
        // One is a value of every type.
        let harmless = T::from_scalar(exactly(Scalar::from(1_u8), T::TYPE)?);
        let nan = entries.iter().position(|entry| entry.0.is_nan()).map_or(0, |at| at as u32 + 1);
        let typed = |key: Scalar| exactly(key, T::TYPE).map(T::from_scalar);
        if entries.iter().any(|(key, _)| typed(*key).is_none()) {
            return None;
        }
        let plain = entries.iter().zip(1..).filter(|((key, _), _)| !key.is_nan());
        let plain = plain.filter_map(|((key, _), number)| Some((typed(*key)?, number)));
        let mut outputs = vec![0; entries.len() * target.size()];
        for ((_, output), bytes) in entries.iter().zip(outputs.chunks_exact_mut(target.size())) {
            let written = output.write_ne_bytes(bytes);
            debug_assert!(written);
        }
        let lookup = Lookup {
            finder: finder(plain, nan, level),
            outputs,
            harmless,
            cast,
            output_size: target.size(),
        };
        Some(lookup.stage())
    }
    with_int!(domain, T => of_type::<T>(entries, target, cast, level), match domain {
        ElementType::Float32 => of_type::<f32>(entries, target, cast, level),
        ElementType::Float64 => of_type::<f64>(entries, target, cast, level),
        _ => None,
    })
}

/// Up to [`COMPARED`] keys besides NaN are compared with, more are looked up. They may be many, so they
/// are not gathered first.
fn finder<T: Comparable>(
    plain: impl Iterator<Item = (T, u32)> + Clone,
    nan: u32,
    level: Level,
) -> Finder<T> {
    fn compare<T: Comparable, const N: usize>(
        plain: &[(T, u32)],
        nan: u32,
        level: Level,
    ) -> Finder<T> {
        let first = plain.first().copied().unwrap_or((T::zeroed(), 0));
        let mut keys = [first; N];
        keys.iter_mut().zip(plain).for_each(|(place, key)| *place = *key);
        Finder::Compare(level.bind_vectorized(Find { keys, nan }))
    }
    let few: Vec<(T, u32)> = plain.clone().take(COMPARED + 1).collect();
    match few.len() {
        0 => compare::<T, 0>(&few, nan, level),
        1 => compare::<T, 1>(&few, nan, level),
        2 => compare::<T, 2>(&few, nan, level),
        3..=4 => compare::<T, 4>(&few, nan, level),
        5..=COMPARED => compare::<T, COMPARED>(&few, nan, level),
        _ => {
            let keys = plain.map(|(key, number)| (key.key(), number));
            Finder::Table(KeyTable::new(keys), nan, PhantomData)
        }
    }
}

/// The map around a copy of `float16` or `bfloat16`: by bits, which a zero has two of and NaN many.
pub(super) fn replace_bits(
    element: ElementType,
    entries: &[(Scalar, Scalar)],
    level: Level,
) -> Stage {
    fn of_length<const N: usize>(patterns: &[(u16, u16)], nan: (u16, u16), level: Level) -> Stage {
        let mut entries = [patterns.first().copied().unwrap_or_default(); N];
        entries.iter_mut().zip(patterns).for_each(|(place, entry)| *place = *entry);
        level.bind_vectorized(Loop(ReplaceBits { entries, nan }))
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
            let keys = all.iter().zip(1..).map(|((key, _), number)| (*key, number));
            let lookup = Lookup {
                finder: finder(keys, 0, level),
                outputs: all.iter().flat_map(|(_, output)| output.to_ne_bytes()).collect(),
                harmless: 0_u16,
                cast: vec![copy(element, level)],
                output_size: 2,
            };
            lookup.stage()
        }
    }
}

/// A value of type `domain` that casts to `output`, as far as it is seen without a search.
pub(super) fn preimage(output: Scalar, domain: ElementType, cast: &Cast) -> Option<Scalar> {
    let value = exactly(output, domain)?;
    let back = value.cast(cast.target, cast.rounding, cast.out_of_range);
    (back == Ok(output)).then_some(value)
}

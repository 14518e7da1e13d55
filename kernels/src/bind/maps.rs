//! Which stages the map of a cast becomes.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::marker::PhantomData;

use super::class::{Class, FloatType, Width};
use super::substitute::{self, REPLACED};
use super::{Entry, Stages, copy, exactly, filled_up, native, preimage};
use crate::key_table::{DenseTable, KeyTable};
use crate::level::with_level;
use crate::stages::Stage;
use crate::stages::map::{Comparable, Find, Finder, Lookup};
use crate::{Cast, ElementType, Format, Level, Scalar};

/// Keys besides NaN that elements are compared with one after the other; more are looked up.
const COMPARED: usize = 8;

/// The entries that can match: of equal keys the first.
pub(super) fn distinct(map: &[Entry]) -> Cow<'_, [Entry]> {
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

/// The map of `cast` as one among elements of the wide type `domain`, if each output is what some value there casts to.
pub(super) fn preimages(entries: &[Entry], domain: ElementType, cast: &Cast) -> Option<Vec<Entry>> {
    if entries.len() > COMPARED + 1 {
        return None;
    }
    let preimage =
        |(key, output): &Entry| Some((exactly(*key, domain)?, preimage(*output, domain, cast)?));
    entries.iter().map(preimage).collect()
}

/// The map around a cast from the wide type `domain`.
pub(super) fn lookup(
    entries: &[Entry],
    domain: ElementType,
    target: ElementType,
    cast: Stages,
    level: Level,
) -> Option<Stage> {
    /// Elements as words of their size: floats, for which 0 equals −0, or the bits of integers.
    fn of_type<T: Comparable>(
        entries: &[Entry],
        domain: ElementType,
        target: ElementType,
        cast: Stages,
        level: Level,
    ) -> Option<Stage> {
        let typed = |key: Scalar| exactly(key, domain).map(native::<T>);
        // One is a value of every type.
        let placeholder = typed(Scalar::from(1_u8))?;
        let nan = entries.iter().position(|entry| entry.0.is_nan()).map_or(0, |at| at as u32 + 1);
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
            placeholder,
            cast,
            output_size: target.size(),
        };
        Some(lookup.stage())
    }
    match Class::of(domain) {
        Class::Float(FloatType::Float32) => of_type::<f32>(entries, domain, target, cast, level),
        Class::Float(FloatType::Float64) => of_type::<f64>(entries, domain, target, cast, level),
        Class::Int(int) => match int.width {
            Width::W8 => of_type::<u8>(entries, domain, target, cast, level),
            Width::W16 => of_type::<u16>(entries, domain, target, cast, level),
            Width::W32 => of_type::<u32>(entries, domain, target, cast, level),
            Width::W64 => of_type::<u64>(entries, domain, target, cast, level),
        },
        Class::Float(FloatType::Float16 | FloatType::BFloat16)
        | Class::SubByte
        | Class::SmallFloat => None,
    }
}

/// Up to [`COMPARED`] keys besides NaN are compared with, more are looked up. They may be many, so they
/// are not gathered first.
fn finder<T: Comparable>(
    plain: impl Iterator<Item = (T, u32)> + Clone,
    nan: u32,
    level: Level,
) -> Finder<T> {
    let few: Vec<(T, u32)> = plain.clone().take(COMPARED + 1).collect();
    if few.len() > COMPARED {
        let keys = plain.map(|(key, number)| (key.key(), number));
        return match DenseTable::new(keys.clone()) {
            Some(table) => Finder::Dense(table, nan),
            None => Finder::Table(KeyTable::new(keys), nan, PhantomData),
        };
    }
    // Without a key but NaN, zero is one that gives what no key does.
    let keys: [_; COMPARED] = filled_up(&few, few.first().copied().unwrap_or((T::zeroed(), 0)));
    Finder::Compare(level.bind_vectorized(Find { keys, nan }))
}

/// The map around a copy of `float16` or `bfloat16`: by bits, which a zero has two of and NaN many.
pub(super) fn replace_bits(element: ElementType, entries: &[Entry], level: Level) -> Option<Stage> {
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
    if patterns.len() <= REPLACED {
        return with_level!(level, simd => substitute::bind_bits(simd, &patterns, nan));
    }
    // Bits as integers, each NaN a key of its own.
    let nans = (nan.0..0x7fff).map(|below| below + 1);
    let nans = nans.flat_map(|bits| [(bits, nan.1), (bits | 0x8000, nan.1)]);
    let all: Vec<(u16, u16)> = patterns.iter().copied().chain(nans).collect();
    let keys = all.iter().zip(1..).map(|((key, _), number)| (*key, number));
    let lookup = Lookup {
        finder: finder(keys, 0, level),
        outputs: all.iter().flat_map(|(_, output)| output.to_ne_bytes()).collect(),
        placeholder: 0_u16,
        cast: vec![copy(element, level)],
        output_size: 2,
    };
    Some(lookup.stage())
}

//! Which stages the map of a cast becomes.

use alloc::vec::Vec;

use super::class::{Class, FloatType, Width};
use super::substitute::{self, REPLACED};
use super::tables::copy;
use super::values::{Entry, exactly, filled_up, preimage};
use crate::key_table::{DenseTable, KeyTable};
use crate::level::with_level;
use crate::stages::Stage;
use crate::stages::map::{Comparable, CompareKeys, KeySearch, MappedCast, find_dense, read_keys};
use crate::{Cast, ElementType, Format, Level, Scalar};

/// Keys besides NaN that elements are compared with one after the other; more are looked up.
const COMPARED: usize = 8;

/// The map of `cast` as one among elements of the wide type `domain`, if some value there casts to each output.
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
    cast: Vec<Stage>,
    level: Level,
) -> Option<Stage> {
    let typed = |place: usize| exactly(entries[place].0, domain);
    if (0..entries.len()).any(|place| typed(place).is_none()) {
        return None;
    }
    let key = |place| typed(place).map_or(0, Scalar::key);
    let mut outputs = vec![0; entries.len() * target.size()];
    for ((_, output), bytes) in entries.iter().zip(outputs.chunks_exact_mut(target.size())) {
        let written = output.write_ne_bytes(bytes);
        debug_assert!(written);
    }
    let lookup = MappedCast {
        search: search(entries.len(), &key, domain, level)?,
        outputs,
        // One is a value of every type.
        placeholder: exactly(Scalar::from(1_u8), domain)?.bits(),
        cast,
        sizes: (domain.size(), target.size()),
    };
    Some(lookup.stage())
}

/// The search for elements of a wide type among so many keys, which `key` gives by their places. Up to [`COMPARED`] besides NaN are
/// compared with, more are looked up.
fn search(
    len: usize,
    key: &dyn Fn(usize) -> u64,
    domain: ElementType,
    level: Level,
) -> Option<KeySearch> {
    fn of_type<T: Comparable>(len: usize, key: &dyn Fn(usize) -> u64, level: Level) -> KeySearch {
        let (mut nan, mut few) = (0, Vec::new());
        for (place, number) in (0..len.min(COMPARED + 2)).zip(1..) {
            match T::from_key(key(place)) {
                Some(x) => few.push((x, number)),
                None => nan = number,
            }
        }
        if few.len() > COMPARED {
            return match DenseTable::new(len, key) {
                Some(table) => KeySearch::Dense(table, find_dense::<T>),
                None => KeySearch::Hashed(KeyTable::new(len, key), read_keys::<T>),
            };
        }
        // Without a key but NaN, zero is a key with the number of no key.
        let keys: [_; COMPARED] = filled_up(&few, few.first().copied().unwrap_or((T::zeroed(), 0)));
        KeySearch::Compare(level.bind_vectorized(CompareKeys { keys, nan }))
    }
    Some(match Class::of(domain) {
        Class::Float(FloatType::Float32) => of_type::<f32>(len, key, level),
        Class::Float(FloatType::Float64) => of_type::<f64>(len, key, level),
        Class::Int(int) => match int.width {
            Width::W8 => of_type::<u8>(len, key, level),
            Width::W16 => of_type::<u16>(len, key, level),
            Width::W32 => of_type::<u32>(len, key, level),
            Width::W64 => of_type::<u64>(len, key, level),
        },
        Class::Float(FloatType::Float16 | FloatType::BFloat16)
        | Class::SubByte
        | Class::SmallFloat => return None,
    })
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
    let key = |place: usize| all[place].0.into();
    let lookup = MappedCast {
        search: search(all.len(), &key, ElementType::UInt16, level)?,
        outputs: all.iter().flat_map(|(_, output)| output.to_ne_bytes()).collect(),
        placeholder: 0,
        cast: vec![copy(element, level)],
        sizes: (2, 2),
    };
    Some(lookup.stage())
}

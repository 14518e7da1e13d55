//! Scalar maps.
//!
//! If some value casts to each mapped output, the map becomes a substitution before the cast: NaN → 0 to
//! `uint8` is NaN → 0.0. If the cast is exact, the substitution can follow it: 0 → NaN from `uint8` to
//! `float32` is 0.0 → NaN. One entry joins the loop of most casts; other maps are a pass of their own
//! (`ops/substitute.rs`). `bind` picks the place; if there is none, or for many entries, [`MappedCast`] wraps the cast.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use bytemuck::Pod;

use super::{Borrowed, Input, Kernel, Output, Run, Stage, Unaligned, elements, for_each};
use crate::exact::NAN_KEY;
use crate::key_table::{DenseTable, KeyTable};

/// Words of a map's source: floats, for which 0 equals −0, or the bits of integers.
pub(crate) trait Comparable: Pod + PartialOrd + Send + Sync {
    /// As [`Exact::key`](crate::exact::Exact::key).
    fn key(self) -> u64;

    /// The element with a key; none for NaN, which equals nothing.
    fn from_key(key: u64) -> Option<Self>;
}

macro_rules! comparable_ints {
    ($($t:ty)*) => {$(
        impl Comparable for $t {
            #[inline(always)]
            fn key(self) -> u64 {
                self.into()
            }
            fn from_key(key: u64) -> Option<Self> {
                Some(key as $t)
            }
        }
    )*};
}

comparable_ints! { u8 u16 u32 u64 }

macro_rules! comparable_floats {
    ($($t:ident: $bits:ident)*) => {$(
        impl Comparable for $t {
            #[inline(always)]
            fn key(self) -> u64 {
                let key = if self == 0.0 { 0 } else { self.to_bits().into() };
                if self.is_nan() { NAN_KEY } else { key }
            }
            fn from_key(key: u64) -> Option<Self> {
                (key != NAN_KEY).then(|| Self::from_bits(key as $bits))
            }
        }
    )*};
}

comparable_floats! { f32: u32 f64: u64 }

/// Which of `N` keys an element equals: 0 for none, or one more than the index of the key.
#[derive(Clone, Copy)]
pub(crate) struct CompareKeys<T, const N: usize> {
    /// Keys, none of them NaN, and their results; unused places repeat another entry.
    pub(crate) keys: [(T, u32); N],
    /// The result for NaN.
    pub(crate) nan: u32,
}

// SAFETY: `for_each` initialises the output.
unsafe impl<T: Comparable, const N: usize> Kernel for CompareKeys<T, N> {
    const SIZES: (usize, usize) = (size_of::<T>(), 4);

    #[inline(always)]
    fn run(kernel: Borrowed<'_, Self>, input: Input<'_>, output: Output<'_>) -> bool {
        let Self { keys, nan } = *kernel.get();
        for_each(input, output, |x: T| {
            #[allow(clippy::eq_op)] // only a NaN differs from itself
            let mut found = if x == x { 0 } else { nan };
            for (key, index) in keys {
                found = if x == key { index } else { found };
            }
            found
        });
        false
    }
}

/// A cast with a map of any length: finds the elements that are keys, replaces them by a placeholder element for
/// the cast, and overwrites their outputs.
pub(crate) struct MappedCast {
    pub(crate) search: KeySearch,
    /// Outputs in native byte order, one after another.
    pub(crate) outputs: Vec<u8>,
    /// The bits of an element that the cast accepts.
    pub(crate) placeholder: u64,
    /// The cast without the map.
    pub(crate) cast: Vec<Stage>,
    /// Bytes of an input and of an output element.
    pub(crate) sizes: (usize, usize),
}

/// How the numbers of elements' entries are found.
pub(crate) enum KeySearch {
    /// By a [`CompareKeys`].
    Compare(Stage),
    /// In a table, by [`read_keys`] of their type.
    Hashed(KeyTable, fn(&[u8], &mut [u64])),
    /// In a table, by [`find_dense`] of their type.
    Dense(DenseTable, fn(&DenseTable, &[u8], &mut [u32])),
}

/// Elements that [`MappedCast`] processes at a time.
const BLOCK: usize = 512;

/// The keys of elements, as many as there are places.
pub(crate) fn read_keys<T: Comparable>(input: &[u8], keys: &mut [u64]) {
    for (x, key) in elements::<T>(input).iter().zip(keys) {
        *key = x.0.key();
    }
}

/// The numbers of elements' entries.
pub(crate) fn find_dense<T: Comparable>(table: &DenseTable, input: &[u8], found: &mut [u32]) {
    for (x, found) in elements::<T>(input).iter().zip(found) {
        *found = table.find(x.0.key());
    }
}

impl KeySearch {
    /// Elements' keys are written to `keys` on the way.
    fn find(&self, input: &[u8], keys: &mut [u64], found: &mut [u32]) {
        match self {
            Self::Compare(stage) => {
                // SAFETY: the stage initialises its output.
                stage.run(input, unsafe { super::as_output(found) });
            }
            Self::Hashed(table, read_keys) => {
                read_keys(input, keys);
                for (key, found) in keys.iter().zip(&mut *found) {
                    *found = table.start(*key);
                }
                for (key, found) in keys.iter().zip(found) {
                    *found = table.find_from(*found, *key);
                }
            }
            Self::Dense(table, find_dense) => find_dense(table, input, found),
        }
    }
}

// SAFETY: the cast's stages initialise the output, block by block.
unsafe impl Run for MappedCast {
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let (from_size, to_size) = self.sizes;
        let mut fail = false;
        let (mut keys, mut found) = ([0; BLOCK], [0; BLOCK]);
        let mut cleared = [MaybeUninit::uninit(); 8 * BLOCK];
        let blocks = input.chunks(BLOCK * from_size);
        for (input, output) in blocks.zip(output.chunks_mut(BLOCK * to_size)) {
            let found = &mut found[..input.len() / from_size];
            self.search.find(input, &mut keys, found);
            let mut places = [0; FEW + 8];
            let few = few_places(found, &mut places);
            if few == Some(&[]) {
                fail |= super::run_all(&self.cast, input, output);
                continue;
            }
            let cleared = cleared[..input.len()].write_copy_of_slice(input);
            let placeholder = self.placeholder;
            match from_size {
                1 => overwrite(cleared, found, few, |_| placeholder as u8),
                2 => overwrite(cleared, found, few, |_| placeholder as u16),
                4 => overwrite(cleared, found, few, |_| placeholder as u32),
                _ => overwrite(cleared, found, few, |_| placeholder),
            }
            fail |= super::run_all(&self.cast, cleared, output);
            // SAFETY: the stages have initialised it.
            let output = unsafe { output.assume_init_mut() };
            match to_size {
                1 => overwrite(output, found, few, self.output::<u8>()),
                2 => overwrite(output, found, few, self.output::<u16>()),
                4 => overwrite(output, found, few, self.output::<u32>()),
                _ => overwrite(output, found, few, self.output::<u64>()),
            }
        }
        fail
    }
}

/// Keys in a block up to which each is dealt with alone.
const FEW: usize = 32;

/// The places of the keys found, if there are few.
fn few_places<'a>(found: &[u32], places: &'a mut [usize; FEW + 8]) -> Option<&'a [usize]> {
    let mut len = 0;
    for (start, eight) in (0..).step_by(8).zip(found.chunks(8)) {
        if eight.iter().fold(0, |any, index| any | index) == 0 {
            continue;
        }
        if len > FEW {
            return None;
        }
        for (at, index) in (start..).zip(eight) {
            // Without a branch, which would be mispredicted.
            places[len] = at;
            len += usize::from(*index != 0);
        }
    }
    places.get(..len).filter(|_| len <= FEW)
}

impl MappedCast {
    /// The stage of this lookup.
    pub(crate) fn stage(self) -> Stage {
        let sizes = self.sizes;
        let granule = match &self.search {
            KeySearch::Compare(stage) => stage.granule,
            KeySearch::Hashed(..) | KeySearch::Dense(..) => 1,
        };
        Stage::new(self, sizes, true, granule)
    }

    /// The outputs of entries by their numbers.
    fn output<W: Pod>(&self) -> impl Fn(usize) -> W {
        let outputs = elements::<W>(&self.outputs);
        |number| outputs[number - 1].0
    }
}

/// Overwrites the words of the keys found, which are at `few` places or at any, with those of their numbers.
fn overwrite<W: Pod>(
    words: &mut [u8],
    found: &[u32],
    few: Option<&[usize]>,
    word: impl Fn(usize) -> W,
) {
    let words: &mut [Unaligned<W>] = bytemuck::cast_slice_mut(words);
    if let Some(few) = few {
        for at in few {
            words[*at] = Unaligned(word(found[*at] as usize));
        }
        return;
    }
    for (number, place) in found.iter().zip(words) {
        // A select: a branch would be mispredicted if keys are frequent.
        let new = Unaligned(word((*number).max(1) as usize));
        *place = core::hint::select_unpredictable(*number == 0, *place, new);
    }
}

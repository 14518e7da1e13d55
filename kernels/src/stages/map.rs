//! Scalar maps.
//!
//! Where every mapped output is what some value of the elements' type casts to, the map becomes a
//! substitution in front of the cast: NaN → 0 on the way to `uint8` is NaN → 0.0. Where the cast is
//! exact, it can stand behind it instead: 0 → NaN after `uint8` to `float32` is 0.0 → NaN. A value
//! for NaN joins the loops of the commonest casts ([`ReplaceNan`]); other maps are a pass of their own
//! ([`Substitute`]). `bind` looks for such a place; where there is none, or with many entries, [`Lookup`] wraps
//! the cast.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::MaybeUninit;

use bytemuck::Pod;

use super::convert::Real;
use super::per_element::PerElement;
use super::{Kernel, Run, Stage, Unaligned, elements, for_each, output_elements};
use crate::key_table::KeyTable;

/// Replaces NaNs.
#[derive(Clone, Copy)]
pub(crate) struct ReplaceNan<F>(pub(crate) F);

impl<F: Real> PerElement for ReplaceNan<F> {
    type Source = F;
    type Target = F;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: F) -> (F, ()) {
        (if x.is_nan() { self.0 } else { x }, ())
    }
}

/// Replaces elements of a 16-bit float, as bits: up to `N` patterns, and NaNs.
#[derive(Clone, Copy)]
pub(crate) struct ReplaceBits<const N: usize> {
    /// Patterns with what they become; unused places repeat another entry.
    pub(crate) entries: [(u16, u16); N],
    /// The greatest magnitude that is no NaN, and what NaN becomes.
    pub(crate) nan: (u16, u16),
}

impl<const N: usize> PerElement for ReplaceBits<N> {
    type Source = u16;
    type Target = u16;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: u16) -> (u16, ()) {
        let mut y = x;
        for (pattern, value) in self.entries {
            y = if x == pattern { value } else { y };
        }
        let (infinity, nan) = self.nan;
        (if x & 0x7fff > infinity { nan } else { y }, ())
    }
}

/// Elements that are compared with keys: by value, so that 0 equals −0.
pub(crate) trait Comparable: Pod + PartialOrd + Send + Sync {
    /// Bits such that equal values have equal bits, NaN apart.
    fn key(self) -> u64;
}

macro_rules! comparable_ints {
    ($($t:ty)*) => {$(
        impl Comparable for $t {
            #[inline(always)]
            fn key(self) -> u64 {
                self as u64
            }
        }
    )*};
}

comparable_ints! { i8 i16 i32 i64 u8 u16 u32 u64 }

impl Comparable for f32 {
    #[inline(always)]
    fn key(self) -> u64 {
        if self == 0.0 { 0 } else { self.to_bits().into() }
    }
}

impl Comparable for f64 {
    #[inline(always)]
    fn key(self) -> u64 {
        if self == 0.0 { 0 } else { self.to_bits() }
    }
}

/// Replaces elements equal to one of `N` keys, and NaNs.
pub(crate) struct Substitute<T, const N: usize> {
    /// Keys, none of them NaN, with what they become; unused places repeat another entry.
    pub(crate) entries: [(T, T); N],
    /// What NaN becomes, if it is a key.
    pub(crate) nan: Option<T>,
}

// SAFETY: both branches are one `for_each`, which initialises the output.
unsafe impl<T: Comparable, const N: usize> Kernel for Substitute<T, N> {
    const SIZES: (usize, usize) = (size_of::<T>(), size_of::<T>());

    #[inline(always)]
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let entries = self.entries;
        let substitute = |x: T| {
            let mut y = x;
            for (key, value) in entries {
                y = if x == key { value } else { y };
            }
            y
        };
        match self.nan {
            None => for_each(input, output, substitute),
            #[allow(clippy::eq_op)] // only a NaN differs from itself
            Some(nan) => for_each(input, output, |x: T| if x == x { substitute(x) } else { nan }),
        }
        false
    }
}

/// Which of `N` keys an element equals: 0 for none, or one more than the index of the key.
#[derive(Clone)]
pub(crate) struct Find<T, const N: usize> {
    /// Keys, none of them NaN, with what they give; unused places repeat another entry.
    pub(crate) keys: [(T, u32); N],
    /// What NaN gives.
    pub(crate) nan: u32,
}

// SAFETY: `for_each` initialises the output.
unsafe impl<T: Comparable, const N: usize> Kernel for Find<T, N> {
    const SIZES: (usize, usize) = (size_of::<T>(), 4);

    #[inline(always)]
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let (keys, nan) = (self.keys, self.nan);
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

/// A cast with a map around it, for any number of entries: finds the elements that are keys, casts with
/// a harmless element in their place, and overwrites them in the output.
pub(crate) struct Lookup<T> {
    pub(crate) finder: Finder<T>,
    /// Outputs in native byte order, one after another.
    pub(crate) outputs: Vec<u8>,
    /// An element that the cast takes without complaint.
    pub(crate) harmless: T,
    /// The cast without the map.
    pub(crate) cast: Vec<Stage>,
    /// Bytes of an output element.
    pub(crate) output_size: usize,
}

/// How keys are found.
pub(crate) enum Finder<T> {
    /// By a [`Find`].
    Compare(Stage),
    /// In a table of keys, as [`Comparable::key`] gives them, with what [`Find`] gives. NaN has its own.
    Table(KeyTable, u32, core::marker::PhantomData<T>),
}

/// Elements that [`Lookup`] takes at a time.
const BLOCK: usize = 512;

impl<T: Comparable> Finder<T> {
    fn find(&self, input: &[u8], found: &mut [u32]) {
        match self {
            Self::Compare(stage) => {
                stage.work.run(input, super::as_output(found));
            }
            Self::Table(table, nan, _) => {
                let elements = elements::<T>(input);
                for (x, found) in elements.iter().zip(&mut *found) {
                    *found = table.start(x.0.key());
                }
                for (x, found) in elements.iter().zip(found) {
                    let x = x.0;
                    #[allow(clippy::eq_op)] // only a NaN differs from itself
                    let is_nan = x != x;
                    *found = if is_nan { *nan } else { table.find_from(*found, x.key()) };
                }
            }
        }
    }
}

// SAFETY: the cast's stages initialise the output, block by block.
unsafe impl<T: Comparable> Run for Lookup<T> {
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let mut wrong = false;
        let mut found = [0; BLOCK];
        let mut cleared = [MaybeUninit::uninit(); 8 * BLOCK];
        let blocks = input.chunks(BLOCK * size_of::<T>());
        for (input, output) in blocks.zip(output.chunks_mut(BLOCK * self.output_size)) {
            let from = elements::<T>(input);
            let found = &mut found[..from.len()];
            self.finder.find(input, found);
            if found.iter().fold(0, |any, index| any | index) == 0 {
                wrong |= super::run_all(&self.cast, input, output);
                continue;
            }
            let cleared = &mut cleared[..size_of_val(from)];
            let places = output_elements::<T>(cleared);
            for ((from, index), to) in from.iter().zip(&*found).zip(places) {
                to.write(Unaligned(if *index == 0 { from.0 } else { self.harmless }));
            }
            // SAFETY: the loop above has written an element of `cleared` for each of `input`, and
            // `cleared` is as long as those.
            let cleared = unsafe { super::assume_init(cleared) };
            wrong |= super::run_all(&self.cast, cleared, output);
            // SAFETY: the stages have initialised it.
            self.overwrite(found, unsafe { output.assume_init_mut() });
        }
        wrong
    }
}

impl<T: Comparable> Lookup<T> {
    /// The stage of it.
    pub(crate) fn stage(self) -> Stage {
        let sizes = (size_of::<T>(), self.output_size);
        Stage { work: Box::new(self), sizes, refuses: true }
    }

    /// Writes the outputs of what was found.
    fn overwrite(&self, found: &[u32], output: &mut [u8]) {
        match self.output_size {
            1 => self.overwrite_words::<u8>(found, output),
            2 => self.overwrite_words::<u16>(found, output),
            4 => self.overwrite_words::<u32>(found, output),
            _ => self.overwrite_words::<u64>(found, output),
        }
    }

    fn overwrite_words<U: Pod>(&self, found: &[u32], output: &mut [u8]) {
        let outputs = elements::<U>(&self.outputs);
        let words: &mut [Unaligned<U>] = bytemuck::cast_slice_mut(output);
        for (found, words) in found.chunks(8).zip(words.chunks_mut(8)) {
            if found.iter().fold(0, |any, index| any | index) == 0 {
                continue;
            }
            for (index, word) in found.iter().zip(words) {
                // Selected, for a branch on data is guessed wrong where keys are frequent.
                let output = outputs.get((*index as usize).saturating_sub(1)).unwrap_or(word);
                *word = core::hint::select_unpredictable(*index == 0, *word, *output);
            }
        }
    }
}

//! Scalar maps.
//!
//! If some value casts to each mapped output, the map becomes a substitution before the cast: NaN → 0 to
//! `uint8` is NaN → 0.0. If the cast is exact, the substitution can follow it: 0 → NaN from `uint8` to
//! `float32` is 0.0 → NaN. One entry joins the loop of the cast; other maps are a pass of their own
//! (`ops/substitute.rs`). `bind` picks the place; if there is none, or for many entries, [`Lookup`] wraps the cast.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use bytemuck::Pod;

use super::convert::Real;
use super::element_op::ElementOp;
use super::{
    Borrowed, Input, Kernel, Output, Run, Stage, Unaligned, elements, for_each, output_elements,
};
use crate::key_table::{DenseTable, KeyTable};

/// Replaces NaNs.
#[derive(Clone, Copy)]
pub(crate) struct ReplaceNan<F>(pub(crate) F);

impl<F: Real> ElementOp for ReplaceNan<F> {
    type Source = F;
    type Target = F;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: F) -> (F, ()) {
        (if x.is_nan() { self.0 } else { x }, ())
    }
}

/// Elements that are compared with keys by value: 0 equals −0.
pub(crate) trait Comparable: Pod + PartialOrd + Send + Sync {
    /// Equal values have equal keys, except NaN.
    fn key(self) -> u64;

    /// `nan` if this is NaN, else what `find` gives for the key.
    #[inline(always)]
    fn unless_nan(self, nan: u32, find: impl FnOnce(u64) -> u32) -> u32 {
        #[allow(clippy::eq_op)] // only a NaN differs from itself
        let is_nan = self != self;
        if is_nan { nan } else { find(self.key()) }
    }
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

/// Which of `N` keys an element equals: 0 for none, or one more than the index of the key.
#[derive(Clone, Copy)]
pub(crate) struct Find<T, const N: usize> {
    /// Keys, none of them NaN, and their results; unused places repeat another entry.
    pub(crate) keys: [(T, u32); N],
    /// The result for NaN.
    pub(crate) nan: u32,
}

// SAFETY: `for_each` initialises the output.
unsafe impl<T: Comparable, const N: usize> Kernel for Find<T, N> {
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
pub(crate) struct Lookup<T> {
    pub(crate) finder: Finder<T>,
    /// Outputs in native byte order, one after another.
    pub(crate) outputs: Vec<u8>,
    /// An element that the cast accepts.
    pub(crate) placeholder: T,
    /// The cast without the map.
    pub(crate) cast: Vec<Stage>,
    /// Bytes of an output element.
    pub(crate) output_size: usize,
}

/// How keys are found.
pub(crate) enum Finder<T> {
    /// By a [`Find`].
    Compare(Stage),
    /// In a table from [`Comparable::key`] to the results of [`Find`], with an own entry for NaN.
    Table(KeyTable, u32, core::marker::PhantomData<T>),
    /// As above.
    Dense(DenseTable, u32),
}

/// Elements that [`Lookup`] processes at a time.
const BLOCK: usize = 512;

impl<T: Comparable> Finder<T> {
    fn find(&self, input: &[u8], found: &mut [u32]) {
        match self {
            Self::Compare(stage) => {
                // SAFETY: the stage initialises its output.
                stage.run(input, unsafe { super::as_output(found) });
            }
            Self::Table(table, nan, _) => {
                let elements = elements::<T>(input);
                for (x, found) in elements.iter().zip(&mut *found) {
                    *found = table.start(x.0.key());
                }
                for (x, found) in elements.iter().zip(found) {
                    *found = x.0.unless_nan(*nan, |key| table.find_from(*found, key));
                }
            }
            Self::Dense(table, nan) => {
                for (x, found) in elements::<T>(input).iter().zip(found) {
                    *found = x.0.unless_nan(*nan, |key| table.find(key));
                }
            }
        }
    }
}

// SAFETY: the cast's stages initialise the output, block by block.
unsafe impl<T: Comparable> Run for Lookup<T> {
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let mut fail = false;
        let mut found = [0; BLOCK];
        let mut cleared = [MaybeUninit::uninit(); 8 * BLOCK];
        let blocks = input.chunks(BLOCK * size_of::<T>());
        for (input, output) in blocks.zip(output.chunks_mut(BLOCK * self.output_size)) {
            let from = elements::<T>(input);
            let found = &mut found[..from.len()];
            self.finder.find(input, found);
            let mut places = [0; FEW + 8];
            let few = few_places(found, &mut places);
            if few == Some(&[]) {
                fail |= super::run_all(&self.cast, input, output);
                continue;
            }
            let cleared = &mut cleared[..size_of_val(from)];
            if let Some(few) = few {
                cleared.write_copy_of_slice(input);
                let cleared = output_elements::<T>(cleared);
                for at in few {
                    cleared[*at].write(Unaligned(self.placeholder));
                }
            } else {
                let cleared = output_elements::<T>(cleared);
                for ((from, index), to) in from.iter().zip(&*found).zip(cleared) {
                    to.write(Unaligned(if *index == 0 { from.0 } else { self.placeholder }));
                }
            }
            // SAFETY: both branches above have written an element of `cleared` for each of `input`, and
            // `cleared` is as long as those.
            let cleared = unsafe { super::assume_init(cleared) };
            fail |= super::run_all(&self.cast, cleared, output);
            // SAFETY: the stages have initialised it.
            self.overwrite(found, few, unsafe { output.assume_init_mut() });
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

impl<T: Comparable> Lookup<T> {
    /// The stage of this lookup.
    pub(crate) fn stage(self) -> Stage {
        let sizes = (size_of::<T>(), self.output_size);
        Stage::new(self, sizes, true)
    }

    /// Writes the outputs of the keys found, which are at `few` places or at any.
    fn overwrite(&self, found: &[u32], few: Option<&[usize]>, output: &mut [u8]) {
        match self.output_size {
            1 => self.overwrite_words::<u8>(found, few, output),
            2 => self.overwrite_words::<u16>(found, few, output),
            4 => self.overwrite_words::<u32>(found, few, output),
            _ => self.overwrite_words::<u64>(found, few, output),
        }
    }

    fn overwrite_words<U: Pod>(&self, found: &[u32], few: Option<&[usize]>, output: &mut [u8]) {
        let outputs = elements::<U>(&self.outputs);
        let words: &mut [Unaligned<U>] = bytemuck::cast_slice_mut(output);
        if let Some(few) = few {
            for at in few {
                words[*at] = outputs[found[*at] as usize - 1];
            }
            return;
        }
        for (index, word) in found.iter().zip(words) {
            // A select: a branch would be mispredicted if keys are frequent.
            let output = outputs.get((*index as usize).saturating_sub(1)).unwrap_or(word);
            *word = core::hint::select_unpredictable(*index == 0, *word, *output);
        }
    }
}

//! Scalar maps.
//!
//! Where every mapped output is what some value of the elements' type casts to, the map becomes a
//! substitution in front of the cast ([`Substitute`]): NaN → 0 on the way to `uint8` is NaN → 0.0.
//! Where the cast is exact, it can stand behind it instead: 0 → NaN after `uint8` to `float32` is
//! 0.0 → NaN. Either is one pass of compare-and-select. `bind` looks for
//! such a place; where there is none, or with many entries, [`Lookup`] wraps the cast.

use std::mem::MaybeUninit;

use bytemuck::Pod;

use super::{Kernel, Stage, Unaligned, elements, for_each, output_elements};
use crate::level::Token;
use crate::{ElementType, Scalar};

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
    fn run<L: Token>(&self, _: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
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

/// A cast with a map around it, for any number of entries: looks up which elements are keys, casts
/// with a harmless element in their place, and overwrites them in the output.
pub(crate) struct Lookup<T> {
    /// Keys as [`Comparable::key`] gives them, sorted, with the index of their output.
    keys: Vec<(u64, u32)>,
    /// The index of NaN's output.
    nan: Option<u32>,
    /// Outputs in native byte order, one after another.
    outputs: Vec<u8>,
    /// An element that the cast takes without complaint.
    harmless: T,
    /// The cast without the map.
    cast: Vec<Box<dyn Stage>>,
    /// Bytes of an output element.
    output_size: usize,
}

/// Marks an element that is no key.
const NO_KEY: u32 = u32::MAX;

/// Elements that [`Lookup`] takes at a time.
const BLOCK: usize = 256;

impl<T: Comparable> Lookup<T> {
    /// Binds distinct keys (`None` for NaN) and their outputs to a cast to `target`.
    pub(crate) fn new(
        keys: &[Option<u64>],
        outputs: impl Iterator<Item = Scalar>,
        harmless: T,
        cast: Vec<Box<dyn Stage>>,
        target: ElementType,
    ) -> Self {
        let indexed = || keys.iter().zip(0_u32..);
        let nan = indexed().find_map(|(key, index)| key.is_none().then_some(index));
        let mut sorted: Vec<(u64, u32)> =
            indexed().filter_map(|(key, index)| Some(((*key)?, index))).collect();
        sorted.sort_unstable();
        let outputs = outputs.flat_map(Scalar::to_ne_bytes).collect();
        Self { keys: sorted, nan, outputs, harmless, cast, output_size: target.size() }
    }

    #[inline(always)]
    fn index(&self, x: T) -> u32 {
        #[allow(clippy::eq_op)] // only a NaN differs from itself
        if x != x {
            return self.nan.unwrap_or(NO_KEY);
        }
        let key = x.key();
        if self.keys.len() <= 8 {
            return self
                .keys
                .iter()
                .fold(NO_KEY, |found, (k, index)| if *k == key { *index } else { found });
        }
        match self.keys.binary_search_by_key(&key, |(k, _)| *k) {
            Ok(place) => self.keys.get(place).map_or(NO_KEY, |(_, index)| *index),
            Err(_) => NO_KEY,
        }
    }
}

// SAFETY: the cast's stages initialise the output, block by block.
unsafe impl<T: Comparable> Stage for Lookup<T> {
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let mut wrong = false;
        let mut found = [NO_KEY; BLOCK];
        let mut cleared = [MaybeUninit::uninit(); 8 * BLOCK];
        let blocks = input.chunks(BLOCK * size_of::<T>());
        for (input, output) in blocks.zip(output.chunks_mut(BLOCK * self.output_size)) {
            let input = elements::<T>(input);
            let cleared = &mut cleared[..size_of_val(input)];
            let mut any = false;
            for ((from, index), to) in
                input.iter().zip(&mut found).zip(output_elements::<T>(cleared))
            {
                *index = self.index(from.0);
                any |= *index != NO_KEY;
                to.write(Unaligned(if *index == NO_KEY { from.0 } else { self.harmless }));
            }
            // SAFETY: the loop above has written an element of `cleared` for each of `input`, and
            // `cleared` is as long as those.
            let cleared = unsafe { super::assume_init(cleared) };
            wrong |= super::run_all(&self.cast, cleared, output);
            if !any {
                continue;
            }
            for (to, index) in output.chunks_exact_mut(self.output_size).zip(&found) {
                let start = (*index as usize).saturating_mul(self.output_size);
                if let Some(bytes) =
                    self.outputs.get(start..).and_then(|rest| rest.get(..self.output_size))
                {
                    to.write_copy_of_slice(bytes);
                }
            }
        }
        wrong
    }

    fn output_size(&self) -> usize {
        self.output_size
    }
}

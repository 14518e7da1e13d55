//! Stages that move bytes: copies, byte order, unused bits, and tables for one-byte elements.

use std::mem::MaybeUninit;

use bytemuck::Pod;

use super::{Kernel, for_each};
use crate::level::Token;

/// Copies elements of one type to themselves.
pub(crate) struct Copy<T>(pub(crate) std::marker::PhantomData<T>);

// SAFETY: `for_each` initialises the output.
unsafe impl<T: Pod + Send + Sync> Kernel for Copy<T> {
    const SIZES: (usize, usize) = (size_of::<T>(), size_of::<T>());

    #[inline(always)]
    fn run<L: Token>(&self, _: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        for_each(input, output, |x: T| x);
        false
    }
}

/// Reverses the bytes of each element.
pub(crate) struct SwapBytes<T>(pub(crate) std::marker::PhantomData<T>);

// SAFETY: `for_each` initialises the output.
unsafe impl<T: Pod + num_traits::PrimInt + Send + Sync> Kernel for SwapBytes<T> {
    const SIZES: (usize, usize) = (size_of::<T>(), size_of::<T>());

    #[inline(always)]
    fn run<L: Token>(&self, _: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        for_each(input, output, |x: T| x.swap_bytes());
        false
    }
}

/// Makes the unused upper bits of sub-byte elements canonical: extends the sign, or clears them.
pub(crate) struct ClearUnused {
    pub(crate) bits: u32,
    pub(crate) signed: bool,
}

// SAFETY: `for_each` initialises the output in both branches.
unsafe impl Kernel for ClearUnused {
    const SIZES: (usize, usize) = (1, 1);

    #[inline(always)]
    fn run<L: Token>(&self, _: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let mask = u8::MAX >> (8 - self.bits);
        // Adding and subtracting the sign bit extends it (Hacker's Delight, 2-5).
        let sign = if self.signed { 1 << (self.bits - 1) } else { 0 };
        for_each(input, output, |x: u8| ((x & mask) ^ sign).wrapping_sub(sign));
        false
    }
}

/// All steps of a plan on a one-byte source, filled by the reference when the plan is built.
pub(crate) struct Table<T> {
    pub(crate) outputs: Box<[T; 256]>,
    /// Not zero for the elements that fail; `None` if none does.
    pub(crate) fails: Option<Box<[u8; 256]>>,
}

// SAFETY: `for_each` initialises the output.
unsafe impl<T: Pod + Send + Sync> Kernel for Table<T> {
    const SIZES: (usize, usize) = (1, size_of::<T>());

    #[inline(always)]
    fn run<L: Token>(&self, _: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        for_each(input, output, |x: u8| self.outputs[usize::from(x)]);
        // Eight at a time, which keeps LLVM from gathering flags into vectors one by one.
        self.fails.as_ref().is_some_and(|fails| {
            let (chunks, rest) = input.as_chunks::<8>();
            let any = |failed, chunk: &[u8]| {
                chunk.iter().fold(failed, |failed, x| failed | fails[usize::from(*x)])
            };
            chunks.iter().fold(any(0, rest), |failed, chunk| any(failed, chunk)) != 0
        })
    }
}

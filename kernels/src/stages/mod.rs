//! The loops. A plan is a list of stages; a stage turns a block of elements of one type into a block
//! of another, and says whether something in the block needs the reference.
//!
//! Between the stages of a cast stand *wide* types: integers as they are, `float64`, and `float32`
//! for itself and every narrower float. [`bind`] picks the stages for a step.
//!
//! Each kernel is a plain loop over unaligned elements, without branches on data, so that LLVM
//! vectorises it at every [`Level`]. Three things keep it doing so: conditions are combined with `&`
//! and `|`, never `&&`; a clamp is written as two selects; and what was wrong is gathered in a word
//! of the lanes' own width, by arithmetic rather than by selecting.

// See above: a lazy operator is a branch, which a vector has not.
#![allow(clippy::needless_bitwise_bool)]

mod bind;
mod bytes;
mod convert;
mod fused;
mod map;
mod per_element;
mod scale;
pub(crate) mod small_float;

use std::mem::MaybeUninit;

use bytemuck::{Pod, Zeroable};

pub(crate) use bind::{bind_steps, swap_bytes};
pub(crate) use per_element::CHUNK;

#[cfg(doc)]
use crate::Level;
use crate::level::Token;

/// A loop over a block, compiled once per level.
///
/// # Safety
/// `run` initialises all of `output` if it holds as many elements as `input`.
pub(crate) unsafe trait Kernel: Send + Sync + 'static {
    /// Size in bytes of an input and of an output element.
    const SIZES: (usize, usize);

    /// Whether `run` may return true.
    const REFUSES: bool = true;

    /// Converts a block. Returns true if the block needs the reference: then an element in it may
    /// have failed, and the output is not to be trusted.
    fn run<T: Token>(&self, token: T, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool;
}

/// A kernel bound to its parameters and its level.
///
/// # Safety
/// As [`Kernel`].
pub(crate) unsafe trait Stage: Send + Sync {
    /// As [`Kernel::run`].
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool;

    /// Size in bytes of an output element.
    fn output_size(&self) -> usize;

    /// Whether `run` may return true.
    fn refuses(&self) -> bool {
        true
    }
}

/// A kernel bound to its level: what [`Level::bind`] makes. A tuple, because the compiler shares out
/// generic code to its threads by the module of a type, and of a tuple takes the first: with a module
/// for each level, they are compiled side by side.
// SAFETY: the kernel keeps the promise.
unsafe impl<T: Token, K: Kernel> Stage for (T, K) {
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let (token, kernel) = self;
        token.vectorize(
            #[inline(always)]
            || kernel.run(*token, input, output),
        )
    }

    fn output_size(&self) -> usize {
        K::SIZES.1
    }

    fn refuses(&self) -> bool {
        K::REFUSES
    }
}

/// An element at any address.
#[derive(Clone, Copy)]
#[repr(C, packed)]
pub(crate) struct Unaligned<T>(pub(crate) T);

// SAFETY: a packed struct of one field has that field's bytes and no padding.
unsafe impl<T: Zeroable> Zeroable for Unaligned<T> {}
// SAFETY: as above; every bit pattern of a `Pod` field is a value.
unsafe impl<T: Pod> Pod for Unaligned<T> {}

/// Bytes as elements; a remainder shorter than an element is left out.
#[inline(always)]
pub(crate) fn elements<T: Pod>(bytes: &[u8]) -> &[Unaligned<T>] {
    let whole = bytes.len() / size_of::<T>() * size_of::<T>();
    bytemuck::cast_slice(&bytes[..whole])
}

/// As [`elements`], for output.
#[inline(always)]
pub(crate) fn output_elements<T: Pod>(
    bytes: &mut [MaybeUninit<u8>],
) -> &mut [MaybeUninit<Unaligned<T>>] {
    let len = bytes.len() / size_of::<T>();
    // SAFETY: `Unaligned` has alignment 1 and `len` of them fit into `bytes`, which the result
    // borrows; uninitialised bytes make uninitialised elements.
    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), len) }
}

/// Applies `f` to every element. Initialises all of `output` if it holds as many elements as
/// `input`.
#[inline(always)]
pub(crate) fn for_each<S: Pod, T: Pod>(
    input: &[u8],
    output: &mut [MaybeUninit<u8>],
    mut f: impl FnMut(S) -> T,
) {
    for (to, from) in output_elements::<T>(output).iter_mut().zip(elements::<S>(input)) {
        to.write(Unaligned(f(from.0)));
    }
}

/// Bytes of a block between two stages. Two of them, with the input and output that belong to them,
/// stay in the first-level cache; a call per stage and block weighs little against its work.
const BLOCK_BYTES: usize = 8192;

/// Elements per block of a stage without buffers, where a block only bounds the work of finding a failed
/// element.
const UNBUFFERED_BLOCK: usize = 32_768;

/// Elements per block of a plan, none of which takes more than `size` bytes of it. What runs in one stage
/// needs no buffer.
pub(crate) fn block_len(stages: &[Box<dyn Stage>], size: usize) -> usize {
    match stages {
        [only] if size == 1 && !only.refuses() => usize::MAX,
        [_] if size == 1 => UNBUFFERED_BLOCK,
        [before @ .., _] => {
            let widest = before.iter().map(|stage| stage.output_size()).max().unwrap_or(1);
            BLOCK_BYTES / widest.max(size)
        }
        [] => BLOCK_BYTES,
    }
}

/// Runs stages one after another over a block of at most [`block_len`] elements (any number for a
/// single stage), through buffers on the stack. Initialises all of `output` if it holds as many elements as
/// `input` and there is a stage.
pub(crate) fn run_all(
    stages: &[Box<dyn Stage>],
    input: &[u8],
    output: &mut [MaybeUninit<u8>],
) -> bool {
    let Some((last, before)) = stages.split_last() else { return true };
    let elements = output.len() / last.output_size();
    let mut buffers = [[MaybeUninit::<u8>::uninit(); BLOCK_BYTES]; 2];
    let [mut to, mut from] = {
        let [first, second] = &mut buffers;
        [first.as_mut_slice(), second.as_mut_slice()]
    };
    let mut wrong = false;
    let mut ready = 0;
    for stage in before {
        // SAFETY: `ready` bytes of `from` were initialised by the stage before.
        let current = if ready == 0 { input } else { unsafe { assume_init(&from[..ready]) } };
        let len = elements * stage.output_size();
        wrong |= stage.run(current, &mut to[..len]);
        ready = len;
        std::mem::swap(&mut to, &mut from);
    }
    // SAFETY: as above.
    let current = if ready == 0 { input } else { unsafe { assume_init(&from[..ready]) } };
    wrong | last.run(current, output)
}

/// Elements as a place for output.
pub(crate) fn as_output<T: Pod>(elements: &mut [T]) -> &mut [MaybeUninit<u8>] {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(elements);
    // SAFETY: `MaybeUninit<u8>` has the layout of `u8`, and a stage only writes initialised bytes.
    unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [MaybeUninit<u8>]) }
}

/// Bytes that have been initialised.
///
/// # Safety
/// All of `bytes` is initialised.
unsafe fn assume_init(bytes: &[MaybeUninit<u8>]) -> &[u8] {
    // SAFETY: `MaybeUninit<u8>` has the layout of `u8`, and the caller vouches for the contents.
    unsafe { &*(std::ptr::from_ref(bytes) as *const [u8]) }
}

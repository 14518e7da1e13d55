//! The loops. A plan is a list of stages; a stage turns a block of elements of one type into a block
//! of another, and says whether something in the block needs the reference.
//!
//! Between the stages of a cast stand *wide* types: integers as they are, `float64`, and `float32`
//! for itself and every narrower float. [`bind`](crate::bind) picks the stages for a step.
//!
//! Each kernel is a plain loop over unaligned elements, without branches on data, so that LLVM
//! vectorises it at every [`Level`]. Three things keep it doing so: conditions are combined with `&`
//! and `|`, never `&&`; a clamp is written as two selects; and what was wrong is gathered in a word
//! of the lanes' own width, by arithmetic rather than by selecting.

// See above: a lazy operator is a branch, which a vector has not.
#![allow(clippy::needless_bitwise_bool)]

pub(crate) mod bytes;
pub(crate) mod convert;
pub(crate) mod fused;
pub(crate) mod map;
pub(crate) mod per_element;
pub(crate) mod scale;
pub(crate) mod small_float;

use alloc::boxed::Box;
use core::mem::MaybeUninit;

use bytemuck::{Pod, Zeroable};

/// Kernels take elements by so many at a time: as many as the vectors of a loop hold together, so that
/// loops for a remainder are neither compiled nor run. [`run_all`] fills up what is less.
pub(crate) const LANES: usize = 64;

/// A loop over a block, compiled once per level.
///
/// # Safety
/// `run` initialises all of `output` if it holds as many elements as `input`, a multiple of [`LANES`].
pub(crate) unsafe trait Kernel: Send + Sync + 'static {
    /// Size in bytes of an input and of an output element.
    const SIZES: (usize, usize);

    /// Whether `run` may return true.
    const REFUSES: bool = true;

    /// Converts a block. Returns true if the block needs the reference: then an element in it may
    /// have failed, and the output is not to be trusted.
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool;
}

/// What a [`Stage`] does: a kernel at a level, or what needs none.
///
/// # Safety
/// As [`Kernel`].
pub(crate) unsafe trait Run: Send + Sync {
    /// As [`Kernel::run`].
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool;
}

/// A loop with its parameters.
pub(crate) struct Stage {
    pub(crate) work: Box<dyn Run>,
    /// As [`Kernel::SIZES`].
    pub(crate) sizes: (usize, usize),
    /// As [`Kernel::REFUSES`].
    pub(crate) refuses: bool,
}

/// The stage of a loop as it is compiled for every CPU of the architecture.
pub(crate) fn bind_loop<K: Kernel>(kernel: K) -> Stage {
    Stage { work: Box::new(Baseline(kernel)), sizes: K::SIZES, refuses: K::REFUSES }
}

struct Baseline<K>(K);

// SAFETY: the kernel keeps the promise.
unsafe impl<K: Kernel> Run for Baseline<K> {
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        self.0.run(input, output)
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
    unsafe { core::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), len) }
}

/// Applies `f` to every element. Initialises all of `output` if it holds as many elements as
/// `input`, a multiple of [`LANES`].
#[inline(always)]
pub(crate) fn for_each<S: Pod, T: Pod>(
    input: &[u8],
    output: &mut [MaybeUninit<u8>],
    mut f: impl FnMut(S) -> T,
) {
    let (input, _) = elements::<S>(input).as_chunks::<LANES>();
    let (output, _) = output_elements::<T>(output).as_chunks_mut::<LANES>();
    // In this form LLVM sees that nothing remains.
    let len = input.len().min(output.len());
    let (input, output) = (input[..len].as_flattened(), output[..len].as_flattened_mut());
    for (to, from) in output.iter_mut().zip(input) {
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
pub(crate) fn block_len(stages: &[Stage], size: usize) -> usize {
    match stages {
        [only] if size == 1 && !only.refuses => usize::MAX,
        [_] if size == 1 => UNBUFFERED_BLOCK,
        [before @ .., _] => {
            let widest = before.iter().map(|stage| stage.sizes.1).max().unwrap_or(1);
            BLOCK_BYTES / widest.max(size)
        }
        [] => BLOCK_BYTES,
    }
}

/// Runs stages one after another over a block of at most [`block_len`] elements (any number for a
/// single stage). Initialises all of `output` if it holds as many elements as `input` and there is a
/// stage. Returns true if the block needs the reference.
pub(crate) fn run_all(stages: &[Stage], input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
    let (Some(first), Some(last)) = (stages.first(), stages.last()) else { return true };
    let (from, to) = (first.sizes.0, last.sizes.1);
    let len = output.len() / to;
    let whole = len / LANES * LANES;
    let mut refused = false;
    if whole > 0 {
        refused = run_whole(stages, &input[..whole * from], &mut output[..whole * to]);
        if whole < len {
            // The last ones once more, with those that remain.
            let last = len - LANES;
            refused |= run_whole(stages, &input[last * from..], &mut output[last * to..]);
        }
    } else if len > 0 {
        // Filled up with copies of themselves, few elements fail only if they would by themselves.
        let mut filled = [MaybeUninit::uninit(); LANES * 8];
        let filled = &mut filled[..LANES * from];
        let mut ready = len * from;
        filled[..ready].write_copy_of_slice(&input[..ready]);
        while ready < filled.len() {
            let copied = ready.min(filled.len() - ready);
            filled.copy_within(..copied, ready);
            ready += copied;
        }
        let mut converted = [MaybeUninit::uninit(); LANES * 8];
        let converted = &mut converted[..LANES * to];
        // SAFETY: all of `filled` was written above, `ready` bytes of it.
        refused = run_whole(stages, unsafe { assume_init(filled) }, converted);
        output.copy_from_slice(&converted[..len * to]);
    }
    refused
}

/// As [`run_all`], for a multiple of [`LANES`] elements, through buffers on the stack.
fn run_whole(stages: &[Stage], input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
    let Some((last, before)) = stages.split_last() else { return true };
    if before.is_empty() {
        return last.work.run(input, output);
    }
    let elements = output.len() / last.sizes.1;
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
        let len = elements * stage.sizes.1;
        wrong |= stage.work.run(current, &mut to[..len]);
        ready = len;
        core::mem::swap(&mut to, &mut from);
    }
    // SAFETY: as above.
    let current = if ready == 0 { input } else { unsafe { assume_init(&from[..ready]) } };
    wrong | last.work.run(current, output)
}

/// Elements as a place for output.
pub(crate) fn as_output<T: Pod>(elements: &mut [T]) -> &mut [MaybeUninit<u8>] {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(elements);
    // SAFETY: `MaybeUninit<u8>` has the layout of `u8`, and a stage only writes initialised bytes.
    unsafe { &mut *(core::ptr::from_mut(bytes) as *mut [MaybeUninit<u8>]) }
}

/// Bytes that have been initialised.
///
/// # Safety
/// All of `bytes` is initialised.
pub(crate) unsafe fn assume_init(bytes: &[MaybeUninit<u8>]) -> &[u8] {
    // SAFETY: `MaybeUninit<u8>` has the layout of `u8`, and the caller vouches for the contents.
    unsafe { &*(core::ptr::from_ref(bytes) as *const [u8]) }
}

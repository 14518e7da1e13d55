//! The loops. A plan is a list of stages; a stage turns a block of elements of one type into a block
//! of another, and says whether something in the block needs the reference.
//!
//! Stages exchange elements of *wide* types: all integers, `float64`, and `float32` also for every narrower
//! float. [`bind`](crate::bind) picks the stages for a step.
//!
//! Each kernel here is a plain loop over unaligned elements, without branches on data, so that LLVM
//! vectorises it at every [`Level`]. This depends on three things: conditions are combined with `&` and
//! `|`, never `&&`; a clamp is two selects; failures are gathered in a word of the lanes' width, by
//! arithmetic instead of selects.

// See above: a lazy operator is a branch, and vectors cannot branch.
#![allow(clippy::needless_bitwise_bool)]

pub(crate) mod by_reference;
pub(crate) mod bytes;
pub(crate) mod convert;
pub(crate) mod element_op;
pub(crate) mod fused;
pub(crate) mod map;
pub(crate) mod scale;

use alloc::boxed::Box;
use core::mem::MaybeUninit;

use bytemuck::{Pod, Zeroable};

/// Kernels take a multiple of this many elements, as the vectors of a loop hold together, so no loop for a
/// remainder is compiled or run. [`run_all`] pads shorter runs.
pub(crate) const GRANULE: usize = 64;

/// A loop over a block, compiled once per level.
///
/// # Safety
/// `run` initialises all of `output` if it holds as many elements as `input`, a multiple of [`GRANULE`].
pub(crate) unsafe trait Kernel: Send + Sync + 'static {
    /// Size in bytes of an input and of an output element.
    const SIZES: (usize, usize);

    /// Whether `run` may return true.
    const CAN_FAIL: bool = true;

    /// Converts a block. Returns true if the block needs the reference: an element may have failed, and
    /// the output must not be used.
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool;
}

/// The work of a [`Stage`]: a kernel at a level, or work that needs none.
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
    /// As [`Kernel::CAN_FAIL`].
    pub(crate) can_fail: bool,
}

/// The stage of a loop that is compiled for the baseline CPU of the architecture.
pub(crate) fn bind_loop<K: Kernel>(kernel: K) -> Stage {
    Stage { work: Box::new(Baseline(kernel)), sizes: K::SIZES, can_fail: K::CAN_FAIL }
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

/// Bytes as elements, without a remainder shorter than an element.
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
/// `input`, a multiple of [`GRANULE`].
#[inline(always)]
pub(crate) fn for_each<S: Pod, T: Pod>(
    input: &[u8],
    output: &mut [MaybeUninit<u8>],
    mut f: impl FnMut(S) -> T,
) {
    let (input, _) = elements::<S>(input).as_chunks::<GRANULE>();
    let (output, _) = output_elements::<T>(output).as_chunks_mut::<GRANULE>();
    // Written so that LLVM sees that there is no remainder.
    let len = input.len().min(output.len());
    let (input, output) = (input[..len].as_flattened(), output[..len].as_flattened_mut());
    for (to, from) in output.iter_mut().zip(input) {
        to.write(Unaligned(f(from.0)));
    }
}

/// A buffer on the stack that begins a cache line. Elsewhere, vectors in it would straddle two lines or not, as the stack
/// happens to lie.
#[repr(align(64))]
struct Aligned<T>(T);

/// Bytes of a block between two stages. Two blocks, with their input and output, fit the first-level cache; a
/// call per stage and block costs little.
const BLOCK_BYTES: usize = 8192;

/// Elements per block of a stage without buffers; it only limits the work of finding a failed element.
const UNBUFFERED_BLOCK: usize = 32_768;

/// Elements per block of a plan whose elements take at most `size` bytes. A plan of one stage needs no
/// buffer.
#[inline]
pub(crate) fn block_len(stages: &[Stage], size: usize) -> usize {
    match stages {
        [only] if size == 1 && !only.can_fail => usize::MAX,
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
    // A power of two, which the compiler does not know.
    let len = output.len() >> to.trailing_zeros();
    let whole = len / GRANULE * GRANULE;
    let mut refused = false;
    if whole > 0 {
        refused = run_whole(stages, &input[..whole * from], &mut output[..whole * to]);
        if whole < len {
            // The remainder, together with elements before it.
            let last = len - GRANULE;
            refused |= run_whole(stages, &input[last * from..], &mut output[last * to..]);
        }
    } else if len > 0 {
        refused = run_padded(stages, &input[..len * from], &mut output[..len * to]);
    }
    refused
}

/// As [`run_all`], of one to [`GRANULE`] elements. Not inlined: to align the stack takes time, and longer runs need no
/// buffers.
#[inline(never)]
fn run_padded(stages: &[Stage], input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
    let (Some(first), Some(last)) = (stages.first(), stages.last()) else { return true };
    // The padding repeats real elements, so it fails only if they do.
    let mut filled = Aligned([MaybeUninit::uninit(); GRANULE * 8]);
    let filled = &mut filled.0[..GRANULE * first.sizes.0];
    let mut ready = input.len();
    filled[..ready].write_copy_of_slice(input);
    while ready < filled.len() {
        let copied = ready.min(filled.len() - ready);
        filled.copy_within(..copied, ready);
        ready += copied;
    }
    let mut converted = Aligned([MaybeUninit::uninit(); GRANULE * 8]);
    let converted = &mut converted.0[..GRANULE * last.sizes.1];
    // SAFETY: all of `filled` was written above, `ready` bytes of it.
    let refused = run_whole(stages, unsafe { assume_init(filled) }, converted);
    output.copy_from_slice(&converted[..output.len()]);
    refused
}

/// As [`run_all`], for a multiple of [`GRANULE`] elements.
pub(crate) fn run_whole(stages: &[Stage], input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
    match stages {
        [] => true,
        [only] => only.work.run(input, output),
        [before @ .., last] => run_buffered(before, last, input, output),
    }
}

/// As [`run_whole`], of several stages, through buffers on the stack. Not inlined: to make room for the buffers takes
/// longer than a call of one stage.
#[inline(never)]
fn run_buffered(
    before: &[Stage],
    last: &Stage,
    input: &[u8],
    output: &mut [MaybeUninit<u8>],
) -> bool {
    let elements = output.len() / last.sizes.1;
    let mut buffers = Aligned([[MaybeUninit::<u8>::uninit(); BLOCK_BYTES]; 2]);
    let [to, from] = &mut buffers.0;
    let (mut to, mut from) = (to.as_mut_slice(), from.as_mut_slice());
    let mut fail = false;
    let mut ready = 0;
    for stage in before {
        // SAFETY: `ready` bytes of `from` were initialised by the stage before.
        let current = if ready == 0 { input } else { unsafe { assume_init(&from[..ready]) } };
        let len = elements * stage.sizes.1;
        fail |= stage.work.run(current, &mut to[..len]);
        ready = len;
        core::mem::swap(&mut to, &mut from);
    }
    // SAFETY: as above.
    let current = if ready == 0 { input } else { unsafe { assume_init(&from[..ready]) } };
    fail | last.work.run(current, output)
}

/// The bytes of elements, as output of [`Run::run`].
///
/// # Safety
/// Only initialised bytes are written through the result. Whatever initialises all of its output, as [`Run::run`] does,
/// keeps this.
pub(crate) unsafe fn as_output<T: Pod>(elements: &mut [T]) -> &mut [MaybeUninit<u8>] {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(elements);
    // SAFETY: `MaybeUninit<u8>` has the layout of `u8`, and the caller leaves all bytes initialised.
    unsafe { &mut *(core::ptr::from_mut(bytes) as *mut [MaybeUninit<u8>]) }
}

/// The bytes of elements that need not be initialised.
pub(crate) fn uninit_bytes<T: Pod>(elements: &mut [MaybeUninit<T>]) -> &mut [MaybeUninit<u8>] {
    let len = size_of_val(elements);
    // SAFETY: the elements take `len` bytes, which the result borrows; a byte may be uninitialised, and a `Pod` has
    // every bit pattern, so whatever is written here leaves each element valid or uninitialised.
    unsafe { core::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), len) }
}

/// The bytes, which are initialised.
///
/// # Safety
/// All of `bytes` is initialised.
pub(crate) unsafe fn assume_init(bytes: &[MaybeUninit<u8>]) -> &[u8] {
    // SAFETY: `MaybeUninit<u8>` has the layout of `u8`, and the caller vouches for the contents.
    unsafe { &*(core::ptr::from_ref(bytes) as *const [u8]) }
}

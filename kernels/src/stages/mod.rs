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

mod block;
pub(crate) mod by_reference;
pub(crate) mod bytes;
pub(crate) mod convert;
pub(crate) mod element_op;
pub(crate) mod map;
pub(crate) mod scale;

use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::slice;

pub(crate) use block::{
    Borrowed, BorrowedMut, GRANULE, Input, Output, Unaligned, elements, for_each, output_elements,
};
use bytemuck::Pod;

/// A loop over a block, compiled once per level.
///
/// # Safety
/// If `output` holds as many elements as `input`, a multiple of `Self::GRANULE`, `run` initialises all of `output`, also where it
/// returns true: the next stage reads it, and a caller's slice may be it.
pub(crate) unsafe trait Kernel: Copy + Send + Sync + 'static {
    /// Size in bytes of an input and of an output element.
    const SIZES: (usize, usize);

    /// Whether `run` may return true.
    const CAN_FAIL: bool = true;

    /// `run` takes a multiple of this many elements: a power of two, at most [`GRANULE`].
    const GRANULE: usize = GRANULE;

    /// Converts a block. Returns true if the block needs the reference: an element may have failed, and
    /// the output must not be used.
    fn run(kernel: Borrowed<'_, Self>, input: Input<'_>, output: Output<'_>) -> bool;
}

/// The work of a [`Stage`] that is more than a kernel.
///
/// # Safety
/// As [`Kernel`], with the granule of the stage.
pub(crate) unsafe trait Run: Send + Sync + 'static {
    /// As [`Kernel::run`].
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool;
}

/// [`run_kernel`] of a kernel, compiled for a level.
pub(crate) type RunKernel = unsafe fn(kernel: *const u8, Input<'_>, Output<'_>) -> bool;

/// [`Kernel::run`].
///
/// # Safety
/// `kernel` points to a `K`.
#[inline(always)]
pub(crate) unsafe fn run_kernel<K: Kernel>(
    kernel: *const u8,
    input: Input<'_>,
    output: Output<'_>,
) -> bool {
    // SAFETY: the caller vouches for it.
    let kernel = unsafe { &*kernel.cast::<K>() };
    K::run(Borrowed::new(kernel), input, output)
}

/// A loop with its parameters.
pub(crate) struct Stage {
    work: Work,
    /// As [`Kernel::SIZES`].
    pub(crate) sizes: (usize, usize),
    /// As [`Kernel::CAN_FAIL`].
    pub(crate) can_fail: bool,
    /// As [`Kernel::GRANULE`].
    pub(crate) granule: usize,
}

/// A kernel and its loop, their type forgotten: there are thousands, and a boxed type of its own would take each more bytes than
/// many loops have.
enum Work {
    /// `run` may be called with the kernel whose bytes these are.
    Kernel {
        bytes: Box<[Line]>,
        run: RunKernel,
    },
    Other(Box<dyn Run>),
}

/// Bytes of a kernel, which may have registers in it.
type Line = Aligned<[MaybeUninit<u8>; size_of::<Aligned<u8>>()]>;

impl Stage {
    /// The stage of a kernel with its loop.
    ///
    /// # Safety
    /// `run` is [`run_kernel`] of `K`, compiled with features that the CPU has.
    pub(crate) unsafe fn of_kernel<K: Kernel>(kernel: K, run: RunKernel) -> Self {
        const {
            assert!(align_of::<K>() <= align_of::<Line>(), "the lines hold a kernel");
            assert!(
                K::GRANULE.is_power_of_two() && K::GRANULE <= GRANULE,
                "buffers of short runs hold a granule"
            );
        };
        // SAFETY: the kernel's bytes, each of which may be uninitialised, borrowed as long as the kernel.
        let bytes = unsafe { slice::from_raw_parts((&raw const kernel).cast(), size_of::<K>()) };
        // SAFETY: the bytes are the kernel's, which the lines are aligned for; the caller vouches for `run`.
        unsafe { Self::of_bytes(bytes, run, const { &(K::SIZES, K::CAN_FAIL, K::GRANULE) }) }
    }

    /// The stage of a kernel's bytes with its loop, sizes, whether it may fail, and granule. Out of line and not generic: so it takes
    /// some bytes of each of the many places that bind a kernel.
    ///
    /// # Safety
    /// `run` may be called with a kernel of these bytes, at the alignment of a [`Line`], and it has these sizes and this granule.
    #[inline(never)]
    unsafe fn of_bytes(
        bytes: &[MaybeUninit<u8>],
        run: RunKernel,
        &(sizes, can_fail, granule): &((usize, usize), bool, usize),
    ) -> Self {
        let line = |bytes: &[MaybeUninit<u8>]| {
            let mut line = Aligned([MaybeUninit::uninit(); size_of::<Line>()]);
            line.0[..bytes.len()].copy_from_slice(bytes);
            line
        };
        let bytes = bytes.chunks(size_of::<Line>()).map(line).collect();
        Self { work: Work::Kernel { bytes, run }, sizes, can_fail, granule }
    }

    /// The stage of other work, with the sizes of its elements, whether it may fail, and its granule.
    pub(crate) fn new(
        work: impl Run,
        sizes: (usize, usize),
        can_fail: bool,
        granule: usize,
    ) -> Self {
        Self { work: Work::Other(Box::new(work)), sizes, can_fail, granule }
    }

    /// As [`Kernel::run`].
    #[inline]
    pub(crate) fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        match &self.work {
            Work::Kernel { bytes, run } => {
                let (input, output) = (Borrowed::new(input), BorrowedMut::new(output));
                // SAFETY: the bytes are those of the kernel that `run` is for, at an address aligned for any; `of_kernel`'s
                // caller vouched for the features.
                unsafe { run(bytes.as_ptr().cast(), input, output) }
            }
            Work::Other(work) => work.run(input, output),
        }
    }
}

/// The stage of a loop that is compiled for the baseline CPU of the architecture.
pub(crate) fn bind_loop<K: Kernel>(kernel: K) -> Stage {
    // SAFETY: the kernel's own, without features.
    unsafe { Stage::of_kernel(kernel, run_kernel::<K>) }
}

/// A byte of a buffer that a stage has yet to fill.
#[inline(always)]
pub(crate) fn unwritten() -> MaybeUninit<u8> {
    #[cfg(recast_poison)]
    return MaybeUninit::new(crate::POISON.get());
    #[cfg(not(recast_poison))]
    MaybeUninit::uninit()
}

/// Aligned to a cache line. Elsewhere, vectors in a buffer would straddle two lines or not, as the stack happens to lie.
#[repr(align(64))]
struct Aligned<T>(T);

/// Bytes of a block between two stages. Two blocks, with their input and output, fit the first-level cache; a
/// call per stage and block costs little.
const BLOCK_BYTES: usize = 8192;

/// Elements per block of a stage without buffers; it only limits the work of finding a failed element.
const UNBUFFERED_BLOCK: usize = 32_768;

/// The widest element, in bytes.
const WIDEST: usize = 8;

const _: () = assert!(
    (BLOCK_BYTES / WIDEST).is_multiple_of(GRANULE) && UNBUFFERED_BLOCK.is_multiple_of(GRANULE),
    "a block is a whole number of granules"
);

/// Whether each of these stages takes the elements that the one before it leaves, from elements of `source` bytes to elements
/// of `target` bytes: their buffers are as long as that.
pub(crate) fn fit_together(stages: &[Stage], source: usize, target: usize) -> bool {
    let reached = stages
        .iter()
        .try_fold(source, |size, stage| (stage.sizes.0 == size).then_some(stage.sizes.1));
    reached == Some(target)
}

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

/// The number of elements of which all of these stages take a multiple.
pub(crate) fn granule(stages: &[Stage]) -> usize {
    match stages {
        // Nearly all plans, without the loop, which is unrolled: to enter it takes a twentieth of a short run.
        [only] => only.granule,
        [first, last] => first.granule.max(last.granule),
        _ => stages.iter().map(|stage| stage.granule).fold(1, usize::max),
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
    // A multiple of the greatest granule is one of any.
    let granule = if len.is_multiple_of(GRANULE) { GRANULE } else { granule(stages) };
    let whole = len & !(granule - 1);
    // All but one kernel take longer for a remainder than to pad all of a short run.
    let is_kernel = || matches!(stages, [Stage { work: Work::Kernel { .. }, .. }]);
    if whole == 0 || whole < len && len < GRANULE && !is_kernel() {
        let (input, output) = (&input[..len * from], &mut output[..len * to]);
        return len > 0 && run_padded(stages, whole + granule, input, output);
    }
    let mut refused = run_whole(stages, &input[..whole * from], &mut output[..whole * to]);
    if whole < len {
        // The remainder, together with elements before it.
        let last = len - granule;
        refused |= run_whole(stages, &input[last * from..], &mut output[last * to..]);
    }
    refused
}

/// As [`run_all`], of fewer elements than `padded`, a multiple of the granule of these stages and at most [`GRANULE`]. Not inlined:
/// to align the stack takes time, and longer runs need no buffers.
#[inline(never)]
fn run_padded(
    stages: &[Stage],
    padded: usize,
    input: &[u8],
    output: &mut [MaybeUninit<u8>],
) -> bool {
    let (Some(first), Some(last)) = (stages.first(), stages.last()) else { return true };
    // The padding repeats real elements, so it fails only if they do.
    let mut filled = Aligned([unwritten(); GRANULE * WIDEST]);
    let filled = &mut filled.0[..padded * first.sizes.0];
    let mut ready = input.len();
    filled[..ready].write_copy_of_slice(input);
    while ready < filled.len() {
        let copied = ready.min(filled.len() - ready);
        filled.copy_within(..copied, ready);
        ready += copied;
    }
    let mut converted = Aligned([unwritten(); GRANULE * WIDEST]);
    let converted = &mut converted.0[..padded * last.sizes.1];
    // SAFETY: all of `filled` was written above, `ready` bytes of it.
    let refused = run_whole(stages, unsafe { assume_init(filled) }, converted);
    output.copy_from_slice(&converted[..output.len()]);
    refused
}

/// As [`run_all`], for a multiple of the stages' [`granule`].
pub(crate) fn run_whole(stages: &[Stage], input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
    match stages {
        [] => true,
        [only] => only.run(input, output),
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
    let mut buffers = Aligned([[unwritten(); BLOCK_BYTES]; 2]);
    let [to, from] = &mut buffers.0;
    let (mut to, mut from) = (to.as_mut_slice(), from.as_mut_slice());
    let mut fail = false;
    let mut ready = 0;
    for stage in before {
        // SAFETY: `ready` bytes of `from` were initialised by the stage before.
        let current = if ready == 0 { input } else { unsafe { assume_init(&from[..ready]) } };
        let len = elements * stage.sizes.1;
        fail |= stage.run(current, &mut to[..len]);
        ready = len;
        core::mem::swap(&mut to, &mut from);
    }
    // SAFETY: as above.
    let current = if ready == 0 { input } else { unsafe { assume_init(&from[..ready]) } };
    fail | last.run(current, output)
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
    unsafe { slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), len) }
}

/// The bytes, which are initialised.
///
/// # Safety
/// All of `bytes` is initialised.
pub(crate) unsafe fn assume_init(bytes: &[MaybeUninit<u8>]) -> &[u8] {
    // SAFETY: `MaybeUninit<u8>` has the layout of `u8`, and the caller vouches for the contents.
    unsafe { &*(core::ptr::from_ref(bytes) as *const [u8]) }
}

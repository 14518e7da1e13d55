//! The bytes of a block, as kernels take them, and the elements in them.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::slice;

use bytemuck::{Pod, Zeroable};

/// Kernels take a multiple of this many elements, as the vectors of a loop hold together, so no loop for a
/// remainder is compiled or run. [`run_all`](super::run_all) pads shorter runs.
pub(crate) const GRANULE: usize = 64;

/// A borrowed slice that passes as a pointer and a length. A reference would promise LLVM that nothing else is written there,
/// which it notes in every instruction that it inlines into a kernel, and that takes time to compile; where a loop copies
/// what it checks, it would also make a copy and a second loop of it.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    start: *const u8,
    len: usize,
    borrowed: PhantomData<&'a [u8]>,
}

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { start: bytes.as_ptr(), len: bytes.len(), borrowed: PhantomData }
    }

    pub(crate) fn start(self) -> *const u8 {
        self.start
    }

    pub(crate) fn len(self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(crate) fn bytes(self) -> &'a [u8] {
        // SAFETY: the parts of a slice that is borrowed as long as the result.
        unsafe { slice::from_raw_parts(self.start, self.len) }
    }
}

/// As [`Input`], to write to.
pub(crate) struct Output<'a> {
    start: *mut MaybeUninit<u8>,
    len: usize,
    borrowed: PhantomData<&'a mut [MaybeUninit<u8>]>,
}

impl<'a> Output<'a> {
    pub(crate) fn new(bytes: &'a mut [MaybeUninit<u8>]) -> Self {
        Self { start: bytes.as_mut_ptr(), len: bytes.len(), borrowed: PhantomData }
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start.cast()
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(crate) fn bytes(self) -> &'a mut [MaybeUninit<u8>] {
        // SAFETY: the parts of a slice that is borrowed exclusively as long as the result, and used up here.
        unsafe { slice::from_raw_parts_mut(self.start, self.len) }
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
    unsafe { slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), len) }
}

/// Applies `f` to every element. Initialises all of `output` if it holds as many elements as
/// `input`, a multiple of [`GRANULE`].
#[inline(always)]
pub(crate) fn for_each<S: Pod, T: Pod>(
    input: Input<'_>,
    output: Output<'_>,
    mut f: impl FnMut(S) -> T,
) {
    let (input, _) = elements::<S>(input.bytes()).as_chunks::<GRANULE>();
    let (output, _) = output_elements::<T>(output.bytes()).as_chunks_mut::<GRANULE>();
    // Written so that LLVM sees that there is no remainder.
    let len = input.len().min(output.len());
    let (input, output) = (input[..len].as_flattened(), output[..len].as_flattened_mut());
    for (to, from) in output.iter_mut().zip(input) {
        to.write(Unaligned(f(from.0)));
    }
}

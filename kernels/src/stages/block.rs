//! The bytes of a block, as kernels take them, and the elements in them.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::slice;

use bytemuck::{Pod, Zeroable};

/// Each kernel takes a multiple of some number of elements, as the vectors of its loop hold together, so no loop for a remainder
/// is compiled or run. [`run_all`](super::run_all) pads shorter runs. This is the greatest number, a multiple of all others.
pub(crate) const GRANULE: usize = 64;

/// What is borrowed, passed as a pointer. A reference would promise LLVM that nothing else is written there, which it notes
/// in every instruction that it inlines into a kernel, and that takes time to compile; where a loop copies what it checks, it
/// would also make a copy and a second loop of it.
pub(crate) struct Borrowed<'a, T: ?Sized>(*const T, PhantomData<&'a T>);

impl<T: ?Sized> Clone for Borrowed<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Borrowed<'_, T> {}

impl<'a, T: ?Sized> Borrowed<'a, T> {
    pub(crate) fn new(value: &'a T) -> Self {
        Self(value, PhantomData)
    }

    #[inline(always)]
    pub(crate) fn get(self) -> &'a T {
        // SAFETY: it was made of a reference that lives as long.
        unsafe { &*self.0 }
    }
}

/// As [`Borrowed`], to write to.
pub(crate) struct BorrowedMut<'a, T: ?Sized>(*mut T, PhantomData<&'a mut T>);

impl<'a, T: ?Sized> BorrowedMut<'a, T> {
    pub(crate) fn new(value: &'a mut T) -> Self {
        Self(value, PhantomData)
    }

    #[inline(always)]
    pub(crate) fn get(self) -> &'a mut T {
        // SAFETY: it was made of an exclusive reference that lives as long, and is used up here.
        unsafe { &mut *self.0 }
    }
}

/// Elements to convert.
pub(crate) type Input<'a> = Borrowed<'a, [u8]>;

/// Room for as many elements.
pub(crate) type Output<'a> = BorrowedMut<'a, [MaybeUninit<u8>]>;

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
    let (input, _) = elements::<S>(input.get()).as_chunks::<GRANULE>();
    let (output, _) = output_elements::<T>(output.get()).as_chunks_mut::<GRANULE>();
    // Written so that LLVM sees that there is no remainder.
    let len = input.len().min(output.len());
    let (input, output) = (input[..len].as_flattened(), output[..len].as_flattened_mut());
    for (to, from) in output.iter_mut().zip(input) {
        to.write(Unaligned(f(from.0)));
    }
}

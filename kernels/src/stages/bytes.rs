//! Stages that move bytes: copies, byte order, and tables for one-byte elements.

use core::marker::PhantomData;

use bytemuck::Pod;

use super::convert::NativeInt;
use super::element_op::ElementOp;
use super::{Borrowed, Input, Kernel, Output, Unaligned, for_each, output_elements};

/// Copies elements of `SIZE` bytes.
#[derive(Clone, Copy)]
pub(crate) struct CopyBytes<const SIZE: usize>;

// SAFETY: with as many elements, output and input are of one length.
unsafe impl<const SIZE: usize> Kernel for CopyBytes<SIZE> {
    const SIZES: (usize, usize) = (SIZE, SIZE);
    const CAN_FAIL: bool = false;
    const GRANULE: usize = 1;

    #[inline(always)]
    fn run(_: Borrowed<'_, Self>, input: Input<'_>, output: Output<'_>) -> bool {
        let (input, output) = (input.get(), output.get());
        let len = input.len().min(output.len());
        output[..len].write_copy_of_slice(&input[..len]);
        false
    }
}

/// Reverses the bytes of each element.
#[derive(Clone, Copy)]
pub(crate) struct ReverseBytes<T>(pub(crate) PhantomData<T>);

impl<T: NativeInt> ElementOp for ReverseBytes<T> {
    type Source = T;
    type Target = T;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: T) -> (T, ()) {
        (x.swap_bytes(), ())
    }
}

/// All steps of a plan on a one-byte source, filled by the reference when the plan is built.
#[derive(Clone, Copy)]
pub(crate) struct Table<T> {
    pub(crate) outputs: [T; 256],
    /// Not zero for the elements that fail; `None` if none does.
    pub(crate) fails: Option<[u8; 256]>,
}

// SAFETY: `for_each` initialises the output, and so does `look_up_each`.
unsafe impl<T: Pod + Send + Sync> Kernel for Table<T> {
    const SIZES: (usize, usize) = (1, size_of::<T>());

    #[inline(always)]
    fn run(kernel: Borrowed<'_, Self>, input: Input<'_>, output: Output<'_>) -> bool {
        let Self { outputs, fails } = kernel.get();
        if size_of::<T>() > 1 {
            for_each(input, output, |x: u8| outputs[usize::from(x)]);
        } else {
            look_up_each(outputs, input, output);
        }
        // Eight at a time: else LLVM builds vectors of flags one element at a time.
        fails.as_ref().is_some_and(|fails| {
            let (chunks, _) = input.get().as_chunks::<8>();
            let any = |failed, chunk: &[u8; 8]| {
                chunk.iter().fold(failed, |failed, x| failed | fails[usize::from(*x)])
            };
            chunks.iter().fold(0, any) != 0
        })
    }
}

/// As [`for_each`], one element at a time: the CPU has no gather for bytes, and vectors built from single lookups are
/// three times as slow.
#[inline(always)]
fn look_up_each<T: Pod>(outputs: &[T; 256], input: Input<'_>, output: Output<'_>) {
    let (input, _) = input.get().as_chunks::<8>();
    let (output, _) = output_elements::<T>(output.get()).as_chunks_mut::<8>();
    for (from, to) in input.iter().zip(output) {
        for (to, x) in to.iter_mut().zip(from) {
            to.write(Unaligned(outputs[usize::from(*x)]));
            // Does nothing, but LLVM cannot see that, so it does not vectorise the loop.
            core::hint::black_box(());
        }
    }
}

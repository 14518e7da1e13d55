//! Loops over independent elements.

use bytemuck::Pod;

use super::{Borrowed, Input, Kernel, Output, for_each};

/// Converts one element, without branches on data.
pub(crate) trait ElementOp: Copy + Send + Sync + 'static {
    type Source: Pod + Send + Sync;
    type Target: Pod + Send + Sync;
    /// Flags, gathered over a block, that show whether an element in it needs the reference.
    type Flags: Flags;

    /// Converts one element.
    fn convert(&self, x: Self::Source) -> (Self::Target, Self::Flags);

    /// Whether gathered flags say that an element needs the reference.
    #[inline(always)]
    fn failed(&self, flags: Self::Flags) -> bool {
        flags != Self::Flags::NONE
    }
}

/// A word whose bits are gathered, or none.
pub(crate) trait Flags: Copy + PartialEq {
    /// Nothing gathered.
    const NONE: Self;
    /// The bits of both.
    fn join(self, other: Self) -> Self;
}

macro_rules! flags {
    ($($t:ty)*) => {$(
        impl Flags for $t {
            const NONE: Self = 0;
            #[inline(always)]
            fn join(self, other: Self) -> Self {
                self | other
            }
        }
    )*};
}

flags! { u8 u16 u32 u64 i8 i16 i32 i64 }

impl Flags for () {
    const NONE: Self = ();
    #[inline(always)]
    fn join(self, (): Self) {}
}

/// The loop over a block.
#[derive(Clone, Copy)]
pub(crate) struct Loop<P>(pub(crate) P);

// SAFETY: `for_each` initialises the output, whole or in chunks.
unsafe impl<P: ElementOp> Kernel for Loop<P> {
    const SIZES: (usize, usize) = (size_of::<P::Source>(), size_of::<P::Target>());
    const CAN_FAIL: bool = size_of::<P::Flags>() > 0;

    #[inline(always)]
    fn run(kernel: Borrowed<'_, Self>, input: Input<'_>, output: Output<'_>) -> bool {
        // The local copy cannot alias the output, so it stays in registers.
        let work = kernel.get().0;
        let mut flags = P::Flags::NONE;
        for_each(input, output, |x: P::Source| {
            let (y, flag) = work.convert(x);
            flags = flags.join(flag);
            y
        });
        work.failed(flags)
    }
}

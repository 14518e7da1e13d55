//! Loops over independent elements, and joining two such loops into one.

use core::marker::PhantomData;

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

/// One or several words whose bits are gathered.
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

impl<A: Flags, B: Flags> Flags for (A, B) {
    const NONE: Self = (A::NONE, B::NONE);
    #[inline(always)]
    fn join(self, other: Self) -> Self {
        (self.0.join(other.0), self.1.join(other.1))
    }
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

/// Passes elements through unchanged.
#[derive(Clone, Copy)]
pub(crate) struct Same<T>(pub(crate) PhantomData<T>);

impl<T: Pod + Send + Sync> ElementOp for Same<T> {
    type Source = T;
    type Target = T;
    type Flags = ();

    #[inline(always)]
    fn convert(&self, x: T) -> (T, ()) {
        (x, ())
    }
}

/// Two operations, one after the other in one loop.
#[derive(Clone, Copy)]
pub(crate) struct Then<A, B>(pub(crate) A, pub(crate) B);

impl<A: ElementOp, B: ElementOp<Source = A::Target>> ElementOp for Then<A, B> {
    type Source = A::Source;
    type Target = B::Target;
    type Flags = (A::Flags, B::Flags);

    #[inline(always)]
    fn convert(&self, x: A::Source) -> (B::Target, Self::Flags) {
        let (between, first) = self.0.convert(x);
        let (y, second) = self.1.convert(between);
        (y, (first, second))
    }

    #[inline(always)]
    fn failed(&self, flags: Self::Flags) -> bool {
        self.0.failed(flags.0) | self.1.failed(flags.1)
    }
}

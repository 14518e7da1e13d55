//! Loops over elements that do not depend on each other, and joining two of them into one.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use bytemuck::{Pod, Zeroable};

use super::{Kernel, Unaligned, elements, for_each, output_elements};
use crate::level::Token;

/// Elements that a loop takes at a time where an instruction converts several ([`Token::f16_to_f32`]).
/// LLVM makes vectors of what surrounds it, which it does well up to this length.
pub(crate) const CHUNK: usize = 16;

/// What becomes of one element, without branches on data.
pub(crate) trait PerElement: Copy + Send + Sync + 'static {
    type Source: Pod + Send + Sync;
    type Target: Pod + Send + Sync;
    /// What shows, gathered over a block, that an element in it needs the reference.
    type Flags: Flags;

    /// Whether the target is the source.
    const IS_IDENTITY: bool = false;

    /// Whether the level has an instruction that makes whole chunks the better way.
    fn takes_chunks<L: Token>() -> bool {
        false
    }

    /// Converts one element.
    fn convert<L: Token>(&self, x: Self::Source) -> (Self::Target, Self::Flags);

    /// Converts a chunk; each lane gathers its own flags. Loops over indices, which LLVM unrolls, are
    /// what it makes vectors of here.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // see above
    fn convert_chunk<L: Token>(
        &self,
        _: L,
        chunk: &[Self::Source; CHUNK],
        flags: &mut [Self::Flags; CHUNK],
    ) -> [Self::Target; CHUNK] {
        let mut targets = [Self::Target::zeroed(); CHUNK];
        for lane in 0..CHUNK {
            let (y, flag) = self.convert::<L>(chunk[lane]);
            targets[lane] = y;
            flags[lane] = flags[lane].join(flag);
        }
        targets
    }

    /// Whether gathered flags say that an element needs the reference.
    #[inline(always)]
    fn refuses(&self, flags: Self::Flags) -> bool {
        flags != Self::Flags::NONE
    }
}

/// A word whose bits are gathered, or several.
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
pub(crate) struct Loop<P>(pub(crate) P);

// SAFETY: `for_each` initialises the output, and so do chunks.
unsafe impl<P: PerElement> Kernel for Loop<P> {
    const SIZES: (usize, usize) = (size_of::<P::Source>(), size_of::<P::Target>());
    const REFUSES: bool = size_of::<P::Flags>() > 0;

    #[inline(always)]
    fn run<L: Token>(&self, token: L, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        // A copy: what the output's bytes may not alias stays in registers.
        let work = self.0;
        if P::takes_chunks::<L>() {
            return run_chunks(work, token, input, output);
        }
        let mut flags = P::Flags::NONE;
        for_each(input, output, |x: P::Source| {
            let (y, flag) = work.convert::<L>(x);
            flags = flags.join(flag);
            y
        });
        work.refuses(flags)
    }
}

/// As [`Loop`], by chunks, of which [`LANES`](super::LANES) are several.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // as in `PerElement::convert_chunk`
fn run_chunks<P: PerElement, L: Token>(
    work: P,
    token: L,
    input: &[u8],
    output: &mut [MaybeUninit<u8>],
) -> bool {
    let (input, _) = elements::<P::Source>(input).as_chunks::<CHUNK>();
    let (output, _) = output_elements::<P::Target>(output).as_chunks_mut::<CHUNK>();
    let mut flags = [P::Flags::NONE; CHUNK];
    for (from, to) in input.iter().zip(output) {
        let mut chunk = [P::Source::zeroed(); CHUNK];
        for lane in 0..CHUNK {
            chunk[lane] = from[lane].0;
        }
        let converted = work.convert_chunk(token, &chunk, &mut flags);
        for lane in 0..CHUNK {
            to[lane].write(Unaligned(converted[lane]));
        }
    }
    let mut all = P::Flags::NONE;
    for lane in 0..CHUNK {
        all = all.join(flags[lane]);
    }
    work.refuses(all)
}

/// The same, by chunks if the source has eight bytes: for a target of two, LLVM makes better vectors of
/// those.
#[derive(Clone, Copy)]
pub(crate) struct LongInChunks<P>(pub(crate) P);

impl<P: PerElement> PerElement for LongInChunks<P> {
    type Source = P::Source;
    type Target = P::Target;
    type Flags = P::Flags;

    fn takes_chunks<L: Token>() -> bool {
        L::NARROWS_LONGS_IN_CHUNKS && size_of::<P::Source>() == 8
    }

    #[inline(always)]
    fn convert<L: Token>(&self, x: P::Source) -> (P::Target, P::Flags) {
        self.0.convert::<L>(x)
    }

    #[inline(always)]
    fn convert_chunk<L: Token>(
        &self,
        token: L,
        chunk: &[P::Source; CHUNK],
        flags: &mut [P::Flags; CHUNK],
    ) -> [P::Target; CHUNK] {
        self.0.convert_chunk(token, chunk, flags)
    }

    #[inline(always)]
    fn refuses(&self, flags: P::Flags) -> bool {
        self.0.refuses(flags)
    }
}

/// Elements as they are: nothing in front of another.
#[derive(Clone, Copy)]
pub(crate) struct Same<T>(pub(crate) PhantomData<T>);

impl<T: Pod + Send + Sync> PerElement for Same<T> {
    type Source = T;
    type Target = T;
    type Flags = ();
    const IS_IDENTITY: bool = true;

    #[inline(always)]
    fn convert<L: Token>(&self, x: T) -> (T, ()) {
        (x, ())
    }
}

/// One after the other, in one loop.
#[derive(Clone, Copy)]
pub(crate) struct Then<A, B>(pub(crate) A, pub(crate) B);

impl<A: PerElement, B: PerElement<Source = A::Target>> PerElement for Then<A, B> {
    type Source = A::Source;
    type Target = B::Target;
    type Flags = (A::Flags, B::Flags);
    const IS_IDENTITY: bool = A::IS_IDENTITY && B::IS_IDENTITY;

    fn takes_chunks<L: Token>() -> bool {
        A::takes_chunks::<L>() || B::takes_chunks::<L>()
    }

    #[inline(always)]
    fn convert<L: Token>(&self, x: A::Source) -> (B::Target, Self::Flags) {
        let (between, first) = self.0.convert::<L>(x);
        let (y, second) = self.1.convert::<L>(between);
        (y, (first, second))
    }

    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // as in `PerElement::convert_chunk`
    fn convert_chunk<L: Token>(
        &self,
        token: L,
        chunk: &[A::Source; CHUNK],
        flags: &mut [Self::Flags; CHUNK],
    ) -> [B::Target; CHUNK] {
        let mut first = [A::Flags::NONE; CHUNK];
        let mut second = [B::Flags::NONE; CHUNK];
        let between = self.0.convert_chunk(token, chunk, &mut first);
        let targets = self.1.convert_chunk(token, &between, &mut second);
        for lane in 0..CHUNK {
            flags[lane] = flags[lane].join((first[lane], second[lane]));
        }
        targets
    }

    #[inline(always)]
    fn refuses(&self, flags: Self::Flags) -> bool {
        self.0.refuses(flags.0) | self.1.refuses(flags.1)
    }
}

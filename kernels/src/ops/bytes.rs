//! The order of bytes, and bytes that are looked up.

use crate::evidence::Failing;
use crate::pipeline::{Body, Each, infallible};
use crate::simd::{I8s, LookUpBytes, Simd};

/// The bytes of each element of `SIZE` bytes, in reverse or as they are.
#[derive(Clone, Copy)]
pub(crate) struct MoveBytes<const SIZE: usize, const REVERSED: bool>;

// SAFETY: a group of elements of `SIZE` bytes is `SIZE` registers, each of which is loaded and stored.
unsafe impl<S: Simd, const SIZE: usize, const REVERSED: bool> Body<S>
    for MoveBytes<SIZE, REVERSED>
{
    const SIZES: (usize, usize) = (SIZE, SIZE);
    type Fail = ();

    #[inline(always)]
    unsafe fn group(self, simd: S, from: *const u8, to: *mut u8, (): &()) {
        for register in 0..SIZE {
            let place = register * S::BYTES;
            // SAFETY: the caller vouches for a group, which is `SIZE` registers.
            let x = unsafe { I8s::load(simd, from.wrapping_add(place)) };
            let y = if REVERSED { simd.swap_bytes::<SIZE>(x) } else { x };
            // SAFETY: as above.
            unsafe { y.store(to.wrapping_add(place)) };
        }
    }

    #[inline(always)]
    fn failed(self, _: S, (): &()) -> bool {
        false
    }
}

/// Bytes out of a table.
#[derive(Clone, Copy)]
pub(crate) struct LookUp<S: LookUpBytes> {
    table: S::ByteTable,
}

impl<S: LookUpBytes> LookUp<S> {
    pub(crate) fn new(simd: S, values: &[u8; 256]) -> Self {
        Self { table: simd.byte_table(values) }
    }
}

infallible! {
    [] LookUp<S>: I8s<S> => I8s<S> where S: LookUpBytes, |self, simd, x| {
        simd.look_up_i8(self.table, x)
    };
}

/// Bytes as they are, of which one fails.
#[derive(Clone, Copy)]
pub(crate) struct FailsOn(pub(crate) u8);

impl<S: Simd> Each<S, I8s<S>> for FailsOn {
    type Out = I8s<S>;
    type Fail = Failing<S, i8>;

    #[inline(always)]
    fn apply(self, _: S, x: I8s<S>, fail: &Self::Fail) -> I8s<S> {
        fail.add(x.eq(self.0 as i8));
        x
    }
    #[inline(always)]
    fn failed(self, _: S, fail: &Self::Fail) -> bool {
        fail.get().any()
    }
}

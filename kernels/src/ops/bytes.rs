//! The order of bytes, and bytes that are looked up.

use crate::pipeline::{Body, Each, infallible};
use crate::simd::{I8s, LookUpBytes, Simd};

/// The bytes of each element of `SIZE` bytes in reverse.
#[derive(Clone, Copy)]
pub(crate) struct SwapBytes<const SIZE: usize>;

impl<S: Simd, const SIZE: usize> Body<S> for SwapBytes<SIZE> {
    const SIZES: (usize, usize) = (SIZE, SIZE);
    type Fail = ();

    #[inline(always)]
    fn start(self, _: S) {}

    #[inline(always)]
    unsafe fn group(self, simd: S, from: *const u8, to: *mut u8, (): &mut ()) {
        for register in 0..SIZE {
            let place = register * S::BYTES;
            // SAFETY: the caller vouches for a group, which is `SIZE` registers.
            let x = unsafe { simd.load_i8(from.wrapping_add(place)) };
            // SAFETY: as above.
            unsafe { simd.store_i8(to.wrapping_add(place), simd.swap_bytes::<SIZE>(x)) };
        }
    }

    #[inline(always)]
    fn failed(self, _: S, (): ()) -> bool {
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
        I8s(simd.look_up_i8(self.table, x.0))
    };
}

/// Bytes as they are, of which one fails.
#[derive(Clone, Copy)]
pub(crate) struct FailsOn(pub(crate) u8);

impl<S: Simd> Each<S, I8s<S>> for FailsOn {
    type Out = I8s<S>;
    /// The least difference from the byte that fails.
    type Fail = I8s<S>;

    #[inline(always)]
    fn start(self, simd: S) -> I8s<S> {
        I8s(simd.splat_i8(-1))
    }
    #[inline(always)]
    fn apply(self, simd: S, x: I8s<S>, fail: &mut I8s<S>) -> I8s<S> {
        let difference = simd.xor_i8(x.0, simd.splat_i8(self.0 as i8));
        *fail = self.join(simd, *fail, I8s(difference));
        x
    }
    #[inline(always)]
    fn join(self, simd: S, a: I8s<S>, b: I8s<S>) -> I8s<S> {
        I8s(simd.min_u8(a.0, b.0))
    }
    #[inline(always)]
    fn failed(self, simd: S, fail: I8s<S>) -> bool {
        let [none, all] = [0, -1].map(|x| simd.splat_i8(x));
        simd.nonzero_i8(simd.select_eq_i8(fail.0, none, all, none))
    }
}

//! The order of bytes.

use crate::pipeline::Body;
use crate::simd::Simd;

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

//! Non-temporal stores, for output that is larger than the caches.

use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// Writes past the caches, where the CPU can: main memory need not be read before it is written.
///
/// Before a fence, nothing may access memory that was written so, not even this thread. So the memory stays borrowed for
/// `'a`, which is longer than [`NonTemporalStores::scope`], and that ends with a fence. As in `std::thread::scope`, `'a` is
/// invariant: it cannot become shorter inside.
pub(crate) struct NonTemporalStores<'a>(PhantomData<Cell<&'a mut ()>>);

impl<'a> NonTemporalStores<'a> {
    /// Does `work`, which may write, and completes the writes.
    pub(crate) fn scope<R>(work: impl FnOnce(&Self) -> R) -> R {
        // Dropped after `work`, also when that panics.
        let stores = Self(PhantomData);
        work(&stores)
    }

    /// Copies as many bytes as both slices have, fast if `to` begins a cache line.
    #[allow(clippy::unused_self)] // whose end completes the writes
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn write(&self, from: &[u8], to: &'a mut [MaybeUninit<u8>]) {
        use core::arch::x86_64::{__m128i, _mm_stream_si128};
        const SIZE: usize = size_of::<__m128i>();
        if !to.as_ptr().addr().is_multiple_of(align_of::<__m128i>()) {
            to.write_copy_of_slice(from);
            return;
        }
        let (from, from_rest) = from.as_chunks::<SIZE>();
        let (to, to_rest) = to.as_chunks_mut::<SIZE>();
        for (from, to) in from.iter().zip(to) {
            let vector: __m128i = bytemuck::cast(*from);
            // SAFETY: every x86-64 CPU has SSE2. `to` is as long as a vector and, like all of these
            // chunks, aligned as one, for the first is. Nothing else accesses it before the fence of `drop`.
            unsafe { _mm_stream_si128(to.as_mut_ptr().cast(), vector) };
        }
        to_rest.write_copy_of_slice(from_rest);
    }

    /// Copies as many bytes as both slices have.
    #[allow(clippy::unused_self)] // as above
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn write(&self, from: &[u8], to: &'a mut [MaybeUninit<u8>]) {
        to.write_copy_of_slice(from);
    }
}

#[cfg(target_arch = "x86_64")]
impl Drop for NonTemporalStores<'_> {
    fn drop(&mut self) {
        // SAFETY: every x86-64 CPU has SSE.
        unsafe { core::arch::x86_64::_mm_sfence() };
    }
}

//! Memory for large results.

use alloc::vec::Vec;

use bytemuck::{Pod, zeroed_vec};

/// From so many bytes on pages of the usual size are a burden; the threshold of `NumPy`.
const LARGE: usize = 4 << 20;

/// Zeros, for which Linux is asked to use huge pages if they take 4 MiB or more.
///
/// New memory is handed out by the system page by page, when it is first written; with pages of 4 KiB
/// that takes longer than to decode into it. Where there are no huge pages, this is `vec![0; len]`.
///
/// Hidden, for it is not about casts: it is here for `zarrs-recast`, which has no `unsafe` code.
///
/// ```
/// let zeros: Vec<f32> = recast_kernels::zeroed_in_huge_pages(2_000_000);
/// assert_eq!(zeros, vec![0.0; 2_000_000]);
/// ```
#[doc(hidden)]
#[must_use]
pub fn zeroed_in_huge_pages<T: Pod>(len: usize) -> Vec<T> {
    let mut zeros: Vec<T> = zeroed_vec(len);
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut zeros);
    if bytes.len() >= LARGE {
        ask_for_huge_pages(bytes);
    }
    zeros
}

#[cfg(target_os = "linux")]
fn ask_for_huge_pages(bytes: &mut [u8]) {
    /// A multiple of the size of a page, wherever Linux runs.
    const PAGE: usize = 1 << 16;
    let start = bytes.as_ptr().align_offset(PAGE).min(bytes.len());
    let whole = &mut bytes[start..];
    let len = whole.len() / PAGE * PAGE;
    // SAFETY: the range is whole pages of `bytes`, which is borrowed exclusively. MADV_HUGEPAGE changes
    // what they are made of, not what they contain. That it may fail (a system without huge pages) does
    // not matter.
    unsafe { libc::madvise(whole.as_mut_ptr().cast(), len, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_: &mut [u8]) {}

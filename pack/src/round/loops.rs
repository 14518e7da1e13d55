//! Goes over elements with the widest registers of the CPU.

use pulp::{Arch, Simd, WithSimd};

/// Replaces each element by `round` of it.
#[inline]
pub(super) fn each<const SIZE: usize>(
    elements: &[u8],
    rounded: &mut [u8],
    round: impl Fn([u8; SIZE]) -> [u8; SIZE],
) {
    let from = elements.as_chunks().0;
    let to = rounded.as_chunks_mut().0;
    Arch::new().dispatch(Each { from, to, round });
}

struct Each<'a, const SIZE: usize, F> {
    from: &'a [[u8; SIZE]],
    to: &'a mut [[u8; SIZE]],
    round: F,
}

impl<const SIZE: usize, F: Fn([u8; SIZE]) -> [u8; SIZE]> WithSimd for Each<'_, SIZE, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (from, to) in self.from.iter().zip(self.to) {
            *to = (self.round)(*from);
        }
    }
}

/// Puts an element back where it was one of these, or has become one of `shunned`. Both are few.
pub(super) fn put_back<const SIZE: usize>(
    elements: &[u8],
    rounded: &mut [u8],
    kept: &[[u8; SIZE]],
    shunned: &[[u8; SIZE]],
) {
    let from: &[[u8; SIZE]] = elements.as_chunks().0;
    let to = rounded.as_chunks_mut::<SIZE>().0;
    for &value in kept {
        Arch::new().dispatch(PutBack { from, to, is_other: |x, _| x != value });
    }
    for &value in shunned {
        Arch::new().dispatch(PutBack { from, to, is_other: |x, y| x != value && y != value });
    }
}

struct PutBack<'a, const SIZE: usize, F> {
    from: &'a [[u8; SIZE]],
    to: &'a mut [[u8; SIZE]],
    is_other: F,
}

impl<const SIZE: usize, F: Fn([u8; SIZE], [u8; SIZE]) -> bool> WithSimd for PutBack<'_, SIZE, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (from, to) in self.from.iter().zip(self.to) {
            *to = if (self.is_other)(*from, *to) { *to } else { *from };
        }
    }
}

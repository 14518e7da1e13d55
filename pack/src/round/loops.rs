//! Goes over elements with the widest registers of the CPU.

use pulp::{Arch, Simd, WithSimd};

/// Bytes that are rounded, and gone over again for each value that stays, while they are in the first-level cache.
const BLOCK: usize = 8 << 10;

/// Elements and where they go, rounded; both have the same length in bytes.
pub(super) struct RoundingPass<'a> {
    pub(super) elements: &'a [u8],
    pub(super) rounded: &'a mut [u8],
    /// The bytes of values, side by side: elements that are one of them stay, and no other element becomes one.
    pub(super) stay: &'a [u8],
}

/// Replaces each element by `round` of it, or not if it stays.
pub(super) fn each<const SIZE: usize>(
    pass: RoundingPass<'_>,
    round: impl Fn([u8; SIZE]) -> [u8; SIZE] + Copy,
) {
    let RoundingPass { elements, rounded, stay } = pass;
    let from = elements.as_chunks().0.chunks(BLOCK / SIZE);
    let to = rounded.as_chunks_mut().0.chunks_mut(BLOCK / SIZE);
    for (from, to) in from.zip(to) {
        Arch::new().dispatch(Each { from, to, round });
        for &value in stay.as_chunks().0 {
            Arch::new().dispatch(PutBack { from, to, value });
        }
    }
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
        for (&x, to) in self.from.iter().zip(self.to) {
            *to = (self.round)(x);
        }
    }
}

/// Puts elements back that were a value, or have become it.
struct PutBack<'a, const SIZE: usize> {
    from: &'a [[u8; SIZE]],
    to: &'a mut [[u8; SIZE]],
    value: [u8; SIZE],
}

impl<const SIZE: usize> WithSimd for PutBack<'_, SIZE> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::needless_bitwise_bool)] // both are compared, without a branch
    fn with_simd<S: Simd>(self, _: S) {
        for (&x, to) in self.from.iter().zip(self.to) {
            let stays = (x == self.value) | (*to == self.value);
            *to = if stays { x } else { *to };
        }
    }
}

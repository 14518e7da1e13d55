//! Goes over elements with the widest registers of the CPU.

use pulp::{Arch, Simd, WithSimd};

/// Bytes that are rounded, and gone over again for further values that stay, while they are in the first-level cache.
const BLOCK: usize = 8 << 10;

/// Elements and where they go, rounded; both have the same length in bytes.
pub(super) struct Pass<'a> {
    pub(super) elements: &'a [u8],
    pub(super) rounded: &'a mut [u8],
    /// The bytes of values, side by side: elements that are one of them stay, and no other element becomes one.
    pub(super) stay: &'a [u8],
}

/// Replaces each element by `round` of it, or not if it stays.
pub(super) fn each<const SIZE: usize>(
    pass: Pass<'_>,
    round: impl Fn([u8; SIZE]) -> [u8; SIZE] + Copy,
) {
    let Pass { elements, rounded, stay } = pass;
    let from = elements.as_chunks().0;
    let to = rounded.as_chunks_mut().0;
    match *stay.as_chunks().0 {
        [] => Arch::new().dispatch(Each { from, to, stay: [], round }),
        [one] => Arch::new().dispatch(Each { from, to, stay: [one], round }),
        [one, ref more @ ..] => {
            for (from, to) in from.chunks(BLOCK / SIZE).zip(to.chunks_mut(BLOCK / SIZE)) {
                Arch::new().dispatch(Each { from, to, stay: [one], round });
                for &value in more {
                    Arch::new().dispatch(PutBack { from, to, value });
                }
            }
        }
    }
}

struct Each<'a, const SIZE: usize, const COUNT: usize, F> {
    from: &'a [[u8; SIZE]],
    to: &'a mut [[u8; SIZE]],
    stay: [[u8; SIZE]; COUNT],
    round: F,
}

impl<const SIZE: usize, const COUNT: usize, F: Fn([u8; SIZE]) -> [u8; SIZE]> WithSimd
    for Each<'_, SIZE, COUNT, F>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (&x, to) in self.from.iter().zip(self.to) {
            let y = (self.round)(x);
            let stays = self.stay.iter().fold(false, |stays, value| stays | is_one(x, y, value));
            *to = if stays { x } else { y };
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
    fn with_simd<S: Simd>(self, _: S) {
        for (&x, to) in self.from.iter().zip(self.to) {
            *to = if is_one(x, *to, &self.value) { x } else { *to };
        }
    }
}

/// Whether an element is a value before or after it is rounded.
#[inline(always)]
#[allow(clippy::needless_bitwise_bool)] // both are compared, without a branch
fn is_one<const SIZE: usize>(x: [u8; SIZE], y: [u8; SIZE], value: &[u8; SIZE]) -> bool {
    (x == *value) | (y == *value)
}

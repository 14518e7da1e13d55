//! Goes over elements with the widest registers of the CPU.

use pulp::Arch;

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
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for (&x, to) in from.iter().zip(&mut *to) {
                    *to = round(x);
                }
            },
        );
        for &value in stay.as_chunks().0 {
            put_back(value, from, to);
        }
    }
}

/// Puts elements back that were a value, or have become it.
#[allow(clippy::needless_bitwise_bool)] // both are compared, without a branch
fn put_back<const SIZE: usize>(value: [u8; SIZE], from: &[[u8; SIZE]], to: &mut [[u8; SIZE]]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (&x, to) in from.iter().zip(to) {
                let stays = (x == value) | (*to == value);
                *to = if stays { x } else { *to };
            }
        },
    );
}

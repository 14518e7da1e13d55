//! Rounds floating-point numbers to a number of bits of their mantissa, ties to even.

use num_traits::{PrimInt, WrappingAdd};

use super::loops::{Pass, each};

/// A floating-point type by its bits.
#[derive(Clone, Copy)]
pub(super) struct Layout<T> {
    pub(super) sign: T,
    /// Infinity, below which are all finite magnitudes.
    pub(super) infinity: T,
    /// The least magnitude that is not subnormal.
    pub(super) normal: T,
}

/// Clears the last `dropped` bits of the mantissa, at least one. Numbers that would become infinite stay, as do NaN,
/// infinities, and subnormal numbers, which have fewer bits.
pub(super) fn to_bits<T: PrimInt + WrappingAdd, const SIZE: usize>(
    layout: Layout<T>,
    dropped: usize,
    pass: Pass<'_>,
    load: impl Fn([u8; SIZE]) -> T + Copy,
    store: impl Fn(T) -> [u8; SIZE] + Copy,
) {
    let Layout { sign, infinity, normal } = layout;
    let one = T::one();
    let below_half = (one << (dropped - 1)) - one;
    let kept = !((one << dropped) - one);
    each(pass, |bytes| {
        let x = load(bytes);
        let magnitude = x & !sign;
        let odd = (x >> dropped) & one;
        let y = magnitude.wrapping_add(&below_half).wrapping_add(&odd) & kept;
        let may_round = magnitude >= normal && magnitude < infinity && y < infinity;
        store(if may_round { y | (x & sign) } else { x })
    });
}

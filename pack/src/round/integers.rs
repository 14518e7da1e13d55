//! Rounds integers to multiples of a power of two, ties to even.

use num_traits::{PrimInt, WrappingAdd, WrappingSub};

use super::loops::{Pass, each};

/// Rounds elements to multiples of 2^`exponent`, at least 2, which the type has. Those that would leave the range stay.
pub(super) fn to_multiples<T: PrimInt + WrappingAdd + WrappingSub, const SIZE: usize>(
    exponent: usize,
    (least, greatest): (T, T),
    pass: Pass<'_>,
    load: impl Fn([u8; SIZE]) -> T + Copy,
    store: impl Fn(T) -> [u8; SIZE] + Copy,
) {
    let one = T::one();
    let below_half = (one << (exponent - 1)) - one;
    let fraction = (one << exponent) - one;
    each(pass, |bytes| {
        let x = load(bytes);
        let odd = (x >> exponent) & one;
        let raised = x.wrapping_add(&below_half).wrapping_add(&odd);
        let y = raised & !fraction;
        // A sum that wraps is less than what it was made of.
        store(if raised >= x && y >= least && y <= greatest { y } else { x })
    });
}

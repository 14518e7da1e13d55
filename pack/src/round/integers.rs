//! Rounds integers to multiples of a power of two, ties to even.

use num_traits::{FromBytes, PrimInt, ToBytes, WrappingAdd};

use super::loops::{RoundingPass, each};

/// Rounds elements to multiples of 2^`exponent`, at least 2, which the type has. Those that would leave the range stay.
pub(super) fn to_multiples<T, const SIZE: usize>(
    exponent: i32,
    (least, greatest): (i128, i128),
    pass: RoundingPass<'_>,
) where
    T: PrimInt + WrappingAdd + FromBytes<Bytes = [u8; SIZE]> + ToBytes<Bytes = [u8; SIZE]>,
{
    let least = T::from(least).unwrap_or(T::min_value());
    let greatest = T::from(greatest).unwrap_or(T::max_value());
    let (one, exponent) = (T::one(), exponent as usize);
    let below_half = (one << (exponent - 1)) - one;
    let fraction = (one << exponent) - one;
    each(pass, |bytes| {
        let x = T::from_ne_bytes(&bytes);
        let odd = (x >> exponent) & one;
        let raised = x.wrapping_add(&below_half).wrapping_add(&odd);
        let y = raised & !fraction;
        // A sum that wraps is less than its summands.
        (if raised >= x && y >= least && y <= greatest { y } else { x }).to_ne_bytes()
    });
}

//! Rounds floating-point numbers to a number of bits of their mantissa, ties to even.

use num_traits::{FromBytes, PrimInt, ToBytes, WrappingAdd};
use recast_kernels::FloatFormat;

use super::loops::{RoundingPass, each};

/// Leaves `bits` bits of the mantissa, fewer than the format has. Numbers that would become infinite stay, as do NaN,
/// infinities, and subnormal numbers, which have fewer bits. `T` are the bits of a number.
pub(super) fn to_bits<T, const SIZE: usize>(format: FloatFormat, bits: u32, pass: RoundingPass<'_>)
where
    T: PrimInt + WrappingAdd + FromBytes<Bytes = [u8; SIZE]> + ToBytes<Bytes = [u8; SIZE]>,
{
    let one = T::one();
    let sign = one << (format.bits() as usize - 1);
    // All finite magnitudes are below infinity, and those from `normal` on are not subnormal.
    let infinity = T::from(format.infinity_bits()).unwrap_or(sign);
    let normal = one << format.mantissa_bits as usize;
    let dropped = (format.mantissa_bits - bits) as usize;
    let below_half = (one << (dropped - 1)) - one;
    let kept = !((one << dropped) - one);
    each(pass, |bytes| {
        let x = T::from_ne_bytes(&bytes);
        let magnitude = x & !sign;
        let odd = (x >> dropped) & one;
        let y = magnitude.wrapping_add(&below_half).wrapping_add(&odd) & kept;
        let may_round = magnitude >= normal && magnitude < infinity && y < infinity;
        (if may_round { y | (x & sign) } else { x }).to_ne_bytes()
    });
}

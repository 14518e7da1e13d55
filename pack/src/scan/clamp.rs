//! The range to which values are clamped.

use anyhow::bail;
use recast_kernels::Scalar;

use super::missing::Markers;
use super::number::{BLOCK, Number, NumberReader, is_less, with_numbers};
use crate::error::Result;

/// The ends of the range to which values are clamped.
#[derive(Clone, Debug)]
pub(crate) struct Clamp {
    pub(crate) least: Scalar,
    pub(crate) greatest: Scalar,
    /// Values that are not clamped: missing markers and the fill value.
    pub(super) reserved_values: Markers,
}

impl Clamp {
    /// A value, or the end of the range that is nearest to it.
    pub(crate) fn clamped(&self, value: Scalar) -> Scalar {
        if is_less(value, self.least) {
            self.least
        } else if is_less(self.greatest, value) {
            self.greatest
        } else {
            value
        }
    }

    /// Clamps the elements outside. NaN, infinities and special values stay. The numbers of elements below and above.
    pub(crate) fn apply(&self, elements: &mut [u8]) -> Result<[u64; 2]> {
        with_numbers!(self.least.element_type(), N => self.apply_as::<N>(elements))
    }

    fn apply_as<N: Number>(&self, elements: &mut [u8]) -> Result<[u64; 2]> {
        let reader = NumberReader::new(self.least.element_type())?;
        let ends = [self.least, self.greatest].map(Scalar::to_ne_bytes);
        let &[least, greatest] = reader.read(&ends.concat())?.as_slice() else {
            bail!("an element has no bytes");
        };
        let reserved = self.reserved_values.numbers(&reader)?;
        let is_outside = |number: N| {
            (number < least || number > greatest)
                && !number.is_infinite()
                && !reserved.contains(&number)
        };
        let size = reader.element_type().size();
        let [mut below, mut above] = [0; 2];
        let mut numbers = Vec::with_capacity(BLOCK);
        for block in elements.chunks_mut(BLOCK * size) {
            reader.read_into(block, &mut numbers)?;
            for (&number, element) in numbers.iter().zip(block.chunks_exact_mut(size)) {
                if is_outside(number) {
                    let is_below = number < least;
                    let (count, end) =
                        if is_below { (&mut below, &ends[0]) } else { (&mut above, &ends[1]) };
                    *count += 1;
                    element.copy_from_slice(end);
                }
            }
        }
        Ok([below, above])
    }

    /// The elements inside, and the ends. None of the elements is NaN or infinite.
    pub(crate) fn inside(&self, elements: &[u8]) -> Vec<u8> {
        let element_type = self.least.element_type();
        let is_inside = |value: Scalar| {
            !(is_less(value, self.least) || is_less(self.greatest, value))
                || self.reserved_values.contains(value)
        };
        let elements = elements.chunks_exact(element_type.size());
        let values = elements.filter_map(|bytes| Scalar::from_ne_bytes(element_type, bytes));
        let ends = [self.least, self.greatest];
        values.filter(|&value| is_inside(value)).chain(ends).flat_map(Scalar::to_ne_bytes).collect()
    }
}

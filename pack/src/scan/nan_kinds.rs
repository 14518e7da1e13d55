//! The kinds of NaN: the bit patterns of elements that are NaN. Some formats tell missing values apart by them.

use recast_kernels::{ElementType, Scalar};

/// So many kinds are told apart.
const MOST: usize = 64;

/// The kinds of NaN among some elements, each with its number of elements, in the order in which they were met.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NanKinds {
    counts: Vec<(Scalar, u64)>,
    /// Elements of further kinds.
    others: u64,
}

impl NanKinds {
    pub(crate) fn of(counts: impl IntoIterator<Item = (Scalar, u64)>, others: u64) -> Self {
        Self { counts: counts.into_iter().collect(), others }
    }

    /// Each kind, with its number of elements.
    pub(crate) fn counts(&self) -> &[(Scalar, u64)] {
        &self.counts
    }

    /// The number of elements of kinds that are not told apart.
    pub(crate) fn others(&self) -> u64 {
        self.others
    }

    /// Adds elements of one kind.
    pub(crate) fn add(&mut self, kind: Scalar, elements: u64) {
        let has_room = self.counts.len() < MOST;
        match self.counts.iter_mut().find(|(known, _)| known.bits() == kind.bits()) {
            Some((_, count)) => *count += elements,
            None if has_room => self.counts.push((kind, elements)),
            None => self.others += elements,
        }
    }

    /// Adds those of some elements that are NaN, given how many are.
    pub(crate) fn add_all(&mut self, element_type: ElementType, elements: &[u8], nan: u64) {
        // Nearly always all are of one kind, and a loop over integers counts them.
        if let Some((kind, count)) = self.counts.first_mut()
            && times(elements, *kind) == nan
        {
            *count += nan;
            return;
        }
        for element in elements.chunks_exact(element_type.size()) {
            let scalar = Scalar::from_ne_bytes(element_type, element);
            if let Some(kind) = scalar.filter(|scalar| scalar.is_nan()) {
                self.add(kind, 1);
            }
        }
    }

    pub(crate) fn absorb(&mut self, other: &Self) {
        for &(kind, count) in &other.counts {
            self.add(kind, count);
        }
        self.others += other.others;
    }
}

/// How many elements have the bits of one.
fn times(elements: &[u8], one: Scalar) -> u64 {
    fn of<const N: usize>(elements: &[u8], one: &[u8]) -> usize {
        let Ok(one) = <[u8; N]>::try_from(one) else { return 0 };
        elements.as_chunks::<N>().0.iter().filter(|&&element| element == one).count()
    }
    let bytes = one.to_ne_bytes();
    let count = match bytes.len() {
        1 => of::<1>(elements, &bytes),
        2 => of::<2>(elements, &bytes),
        4 => of::<4>(elements, &bytes),
        _ => of::<8>(elements, &bytes),
    };
    count as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::nan_pattern;

    #[test]
    fn kinds_of_nan_are_counted_by_their_bits() {
        let kind = |bits: u32| Scalar::from(f32::from_bits(bits));
        let elements =
            |bits: &[u32]| -> Vec<u8> { bits.iter().flat_map(|bits| bits.to_ne_bytes()).collect() };
        let mut kinds = NanKinds::default();
        let float32 = ElementType::Float32;
        kinds.add_all(float32, &elements(&[0x7f80_0001, 0x3f80_0000, 0x7f80_0001]), 2);
        kinds.add_all(float32, &elements(&[0x7f80_0001, 0xffc0_0000, 0x7f80_0002]), 3);
        kinds.add(kind(0x7f80_0001), 10);
        let expected = [(0x7f80_0001, 13), (0xffc0_0000, 1), (0x7f80_0002, 1)];
        let expected = expected.map(|(bits, count)| (kind(bits), count));
        assert_eq!(kinds, NanKinds::of(expected, 0));
        let many = (1..=100).map(|bits| 0x7f80_0000 + bits).collect::<Vec<u32>>();
        kinds.add_all(float32, &elements(&many), 100);
        assert_eq!((kinds.counts().len(), kinds.others()), (64, 37));
        assert_eq!(nan_pattern(kind(0x7f80_0001)), "0x7f800001");
    }
}

//! Counts which stored codes occur.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use recast_kernels::ElementType;

/// Codes that are tested together: most pieces have no new ones.
const PIECE: usize = 8192;

/// Which stored values occur, for types of at most 16 bits.
pub(super) struct SeenCodes {
    seen: Vec<AtomicBool>,
    /// Two codes between which all have been seen: the smaller one, and in the bits above 16 the other. Most codes are
    /// in this range and need no lookup.
    all_between: AtomicU32,
}

impl SeenCodes {
    pub(super) fn new(element_type: ElementType) -> Option<Self> {
        let bits = 8 * element_type.size();
        let seen = || (0..1 << bits).map(|_| AtomicBool::new(false)).collect();
        (bits <= 16)
            .then(|| Self { seen: seen(), all_between: AtomicU32::new(u32::from(u16::MAX)) })
    }

    pub(super) fn add(&self, codes: &[u8]) {
        for codes in codes.chunks(PIECE) {
            if self.seen.len() > 1 << 8 {
                let (codes, _) = codes.as_chunks();
                self.mark(codes.iter().map(|&code| u16::from_ne_bytes(code)));
            } else {
                self.mark(codes.iter().map(|&code| u16::from(code)));
            }
        }
    }

    fn mark(&self, codes: impl Iterator<Item = u16> + Clone) {
        let ends = (u16::MAX, 0);
        let (least, greatest) = codes.clone().fold(ends, |(a, b), code| (a.min(code), b.max(code)));
        let between = self.all_between.load(Ordering::Relaxed);
        let (mut low, mut high) = (between as u16, (between >> 16) as u16);
        if low <= least && greatest <= high {
            return;
        }
        let is_seen = |code: u16| {
            self.seen.get(usize::from(code)).is_some_and(|seen| seen.load(Ordering::Relaxed))
        };
        let mut latest = None;
        for code in codes {
            latest = Some(code);
            if let Some(seen) = self.seen.get(usize::from(code)).filter(|_| !is_seen(code)) {
                seen.store(true, Ordering::Relaxed);
            }
        }
        let widened = |(mut low, mut high): (u16, u16)| {
            while low.checked_sub(1).is_some_and(is_seen) {
                low -= 1;
            }
            while high.checked_add(1).is_some_and(is_seen) {
                high += 1;
            }
            (low, high)
        };
        if low <= high {
            (low, high) = widened((low, high));
        }
        // The first may have been the code of NaN, which has no neighbours.
        if let Some(latest) = latest.filter(|latest| !(low..=high).contains(latest)) {
            let other = widened((latest, latest));
            if low > high || other.1 - other.0 > high - low {
                (low, high) = other;
            }
        }
        let between = u32::from(high) << 16 | u32::from(low);
        self.all_between.store(between, Ordering::Relaxed);
    }

    pub(super) fn count(&self) -> u64 {
        self.seen.iter().filter(|seen| seen.load(Ordering::Relaxed)).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_counted_once_in_whatever_order_they_come() {
        let codes = SeenCodes::new(ElementType::UInt16).unwrap();
        let mut expected = std::collections::BTreeSet::new();
        let mut add = |numbers: Vec<u16>| {
            expected.extend(numbers.iter().copied());
            let bytes: Vec<u8> = numbers.into_iter().flat_map(u16::to_ne_bytes).collect();
            codes.add(&bytes);
            assert_eq!(codes.count(), expected.len() as u64);
        };
        add(vec![]);
        add(vec![300, 302, 65535]);
        add((301..20_000).step_by(3).collect());
        add((0..20_000).rev().collect());
        add(vec![20_001]);
        add(vec![500, 20_000, 0]);
        add((0..=u16::MAX).collect());
        let codes = SeenCodes::new(ElementType::Int8).unwrap();
        codes.add(&[1, 2, 3, 255, 1]);
        codes.add(&[2, 0, 128]);
        assert_eq!(codes.count(), 6);
        assert!(SeenCodes::new(ElementType::Int32).is_none());
    }
}

//! A hash table from the keys of a scalar map to the numbers of its entries.
//!
//! Maps come from the metadata of strangers, so chosen keys must not make it slow:
//!
//! - The hash is *multiply-shift* (Dietzfelbinger 1996; Thorup 2015, "High speed hashing for integers and
//!   strings", section 3.3): the upper bits of `a · key + b` modulo 2^128, with random `a` and `b`. For any
//!   two keys, however they were chosen, the hashes are independent: no bucket is expected to be long.
//! - Each bucket is sorted. If one is long after all, it is searched by halving: a search among n keys
//!   compares at most log2(n) + 4 of them, or [`ALWAYS_COMPARED`] + [`SCANNED`] if that is more.
//!
//! The buckets lie one behind the other in one slice. An entry takes 12 bytes, and its share of the
//! buckets' starts 4 to 32. There may be 2^31 − 1 entries, whose map would take 64 GiB.
//!
//! Keys that are near each other, as codes are, need no hash: [`DenseTable`].

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::hint::select_unpredictable;

/// Entries from the start of a bucket on that are compared in any case.
const ALWAYS_COMPARED: usize = 2;

/// Entries behind those up to which all are compared, in order.
const SCANNED: usize = 8;

/// Number of keys up to which there are at least four buckets for each, rather than one: the starts stay
/// in the second-level cache.
const SPARSE: usize = 1 << 15;

/// The number added to the start of a bucket of more than [`ALWAYS_COMPARED`] entries.
const IS_LONG: u32 = 1 << 31;

/// Entries whose keys are near each other, by key.
pub(crate) struct DenseTable {
    least: u64,
    /// The numbers of the entries of `least` and the keys after it, and 0, which stands for none.
    numbers: Vec<u32>,
}

/// The greatest difference of two keys: the numbers stay in the second-level cache.
const DENSE: u64 = 1 << 16;

impl DenseTable {
    /// As [`KeyTable::new`]; none where the keys are not near each other.
    pub(crate) fn new(len: usize, key: &dyn Fn(usize) -> u64) -> Option<Self> {
        let least = (0..len).map(|place| key(place) as i64).min()? as u64;
        let range = (0..len).map(|place| key(place).wrapping_sub(least)).max()?;
        if range > DENSE {
            return None;
        }
        let mut numbers = vec![0; range as usize + 2];
        for (place, number) in (0..len).zip(1..) {
            let first = &mut numbers[key(place).wrapping_sub(least) as usize];
            *first = if *first == 0 { number } else { *first };
        }
        Some(Self { least, numbers })
    }

    /// The number of a key's entry; 0 for none.
    #[inline(always)]
    pub(crate) fn find(&self, key: u64) -> u32 {
        let end = self.numbers.len() - 1;
        self.numbers[key.wrapping_sub(self.least).min(end as u64) as usize]
    }
}

/// A number that no choice of keys can know.
#[cfg(feature = "std")]
fn seed() -> [u64; 4] {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new();
    [0, 1, 2, 3].map(|word: u8| random.hash_one(word))
}

/// Without a system there is nothing random. Keys that are chosen for this seed may fill one bucket, which is
/// sorted and halved like any: a search among n keys takes log2(n) comparisons then, rather than a few.
#[cfg(not(feature = "std"))]
fn seed() -> [u64; 4] {
    // The fraction of π.
    [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344, 0xa409_3822_299f_31d0, 0x082e_fa98_ec4e_6c89]
}

/// A key and the number of its entry. Packed: tables may be large.
#[derive(Clone, Copy, Default)]
#[repr(C, packed(4))]
struct Slot {
    key: u64,
    number: u32,
}

pub(crate) struct KeyTable {
    multiplier: u128,
    increment: u128,
    /// Bits of a hash less those of the number of buckets.
    shift: u32,
    /// Where each bucket starts in `slots`, perhaps with [`IS_LONG`], and where the last one ends.
    starts: Vec<u32>,
    /// The buckets, and behind them [`ALWAYS_COMPARED`] slots of number 0, which stands for none.
    slots: Vec<Slot>,
}

impl KeyTable {
    /// A table of so many keys, which `key` gives by their places, and the numbers of their entries, which start at one: 0
    /// stands for none. Of equal keys, the lowest number counts. Takes time in proportion to the number of keys. They may be
    /// many, so they are asked for twice rather than gathered.
    pub(crate) fn new(len: usize, key: &dyn Fn(usize) -> u64) -> Self {
        Self::with_seed(len, key, seed())
    }

    /// As [`KeyTable::new`], with a known seed.
    pub(crate) fn with_seed(
        len: usize,
        key: &dyn Fn(usize) -> u64,
        [a, b, c, d]: [u64; 4],
    ) -> Self {
        let words = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
        let buckets = if len > SPARSE { len } else { 4 * len }.next_power_of_two().max(2);
        let mut table = Self {
            multiplier: words(a, b),
            increment: words(c, d),
            shift: u64::BITS - buckets.ilog2(),
            starts: vec![0; buckets + 1],
            slots: vec![Slot::default(); len + ALWAYS_COMPARED],
        };
        // A counting sort: lengths of buckets, then their ends, from which each entry steps back.
        for place in 0..len {
            let bucket = table.bucket(key(place));
            table.starts[bucket] += 1;
        }
        let mut end = 0;
        for start in &mut table.starts {
            end += *start;
            *start = end;
        }
        for (place, number) in (0..len).zip(1..) {
            let key = key(place);
            let bucket = table.bucket(key);
            table.starts[bucket] -= 1;
            table.slots[table.starts[bucket] as usize] = Slot { key, number };
        }
        table.sort_buckets();
        table
    }

    /// Sorts each bucket, drops keys that it holds already, and marks it if it is long.
    fn sort_buckets(&mut self) {
        let mut kept = 0;
        for bucket in 0..self.starts.len() - 1 {
            let range = self.starts[bucket] as usize..self.starts[bucket + 1] as usize;
            self.slots[range.clone()].sort_unstable_by_key(|slot| (slot.key, slot.number));
            let start = kept;
            for index in range {
                let slot = self.slots[index];
                if kept == start || self.slots[kept - 1].key != slot.key {
                    self.slots[kept] = slot;
                    kept += 1;
                }
            }
            let is_long = if kept - start > ALWAYS_COMPARED { IS_LONG } else { 0 };
            self.starts[bucket] = start as u32 | is_long;
        }
        if let Some(end) = self.starts.last_mut() {
            *end = kept as u32;
        }
        self.slots.truncate(kept);
        self.slots.extend([Slot::default(); ALWAYS_COMPARED]);
    }

    /// The number of different keys.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - ALWAYS_COMPARED
    }

    #[inline(always)]
    fn bucket(&self, key: u64) -> usize {
        let hash = self.multiplier.wrapping_mul(u128::from(key)).wrapping_add(self.increment);
        ((hash >> 64) as u64 >> self.shift) as usize
    }

    /// The number of a key's entry; 0 for none.
    pub(crate) fn find(&self, key: u64) -> u32 {
        self.find_from(self.start(key), key)
    }

    /// The first half of [`KeyTable::find`]. For many keys, all first halves are done before all second
    /// ones: the CPU then waits for several places of a large table at a time.
    #[inline(always)]
    pub(crate) fn start(&self, key: u64) -> u32 {
        self.starts[self.bucket(key)]
    }

    /// The second half of [`KeyTable::find`].
    #[inline(always)]
    pub(crate) fn find_from(&self, start: u32, key: u64) -> u32 {
        self.find_by(start, key, |other| other.cmp(&key))
    }

    /// As [`KeyTable::find_from`], with the comparison of a key of the table with the one that is sought.
    #[inline(always)]
    pub(crate) fn find_by(
        &self,
        start: u32,
        key: u64,
        mut compare: impl FnMut(u64) -> Ordering,
    ) -> u32 {
        // Hardly a bucket has more entries than these, so this is nearly always all, and without a branch
        // that depends on whether the key is there. Behind a shorter bucket lies an entry of another one,
        // whose key is therefore another; or one of number 0, whose key may be any: it comes first.
        let first = (start & !IS_LONG) as usize;
        let mut number = 0;
        for entry in self.slots[first..first + ALWAYS_COMPARED].iter().rev() {
            number = select_unpredictable(compare(entry.key).is_eq(), entry.number, number);
        }
        if start & IS_LONG != 0 && number == 0 {
            number = self.find_in_long_bucket(key, compare);
        }
        number
    }

    /// The rest of a search, behind the entries that are compared in any case.
    #[cold]
    fn find_in_long_bucket(&self, key: u64, mut compare: impl FnMut(u64) -> Ordering) -> u32 {
        let bucket = self.bucket(key);
        let [start, end] = [bucket, bucket + 1].map(|at| (self.starts[at] & !IS_LONG) as usize);
        let slots = &self.slots[start + ALWAYS_COMPARED..end];
        let found = if slots.len() > SCANNED {
            slots.binary_search_by(|entry| compare(entry.key)).ok()
        } else {
            slots.iter().position(|entry| compare(entry.key).is_eq())
        };
        found.map_or(0, |index| slots[index].number)
    }
}

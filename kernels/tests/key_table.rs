//! The hash table of long scalar maps finds what is in it, and no choice of keys makes it slow: the number
//! of keys that a search compares is counted, so nothing here depends on time.

extern crate alloc;

#[path = "../src/key_table.rs"]
mod key_table;

use std::cell::Cell;
use std::collections::HashMap;

use key_table::{DenseTable, KeyTable};

const SEED: [u64; 4] =
    [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344, 0xa409_3822_299f_31d0, 0x082e_fa98_ec4e_6c89];

/// A table of keys, numbered from one in their order.
fn table(keys: &[u64], seed: [u64; 4]) -> KeyTable {
    KeyTable::with_seed(keys.len(), &|place| keys[place], seed)
}

/// What a search finds, and how many keys it compares.
fn search(table: &KeyTable, key: u64) -> (u32, u32) {
    let compared = Cell::new(0);
    let found = table.find_by(table.start(key), key, |other| {
        compared.set(compared.get() + 1);
        other.cmp(&key)
    });
    assert_eq!(found, table.find(key));
    (found, compared.get())
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration.
fn inverse(odd: u64) -> u64 {
    (0..6)
        .fold(odd, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse))))
}

/// Keys that are alike, or that were chosen for another hash: multiplied by the golden ratio, they have the
/// same upper bits.
fn families(len: u64) -> Vec<(&'static str, Vec<u64>)> {
    let family = |name, key: &dyn Fn(u64) -> u64| (name, (0..len).map(key).collect());
    let float = |x: f64| x.to_bits();
    vec![
        family("a sequence", &|i| i),
        family("a sequence from the end", &|i| u64::MAX - i),
        family("the same lower half", &|i| i << 32 | 0x1234),
        family("the same lower 40 bits", &|i| i << 40),
        family("multiples of 2^16 + 1", &|i| i * 0x1_0001),
        family("whole floats", &|i| float(i as f64)),
        family("decimal floats", &|i| float(i as f64 / 10.0)),
        family("powers of two and their neighbours", &|i| (1 << (i % 64)) ^ (i / 64)),
        family("chosen for the golden ratio", &|i| i.wrapping_mul(inverse(0x9e37_79b9_7f4a_7c15))),
        family("any bits", &|i| i.wrapping_mul(0xd134_2543_de82_ef95) ^ i << 7 ^ i >> 3),
    ]
}

#[test]
fn a_search_compares_few_keys_whatever_they_are() {
    for len in [9, 100, 5000, 200_000] {
        for (name, keys) in families(len) {
            let table = table(&keys, SEED);
            let mut compared = 0;
            for (&key, number) in keys.iter().zip(1..) {
                let (found, count) = search(&table, key);
                assert!(found <= number && keys[found as usize - 1] == key, "{name}, {len}");
                assert!(count <= 20, "{name}, {len} keys: {count} compared");
                compared += u64::from(count);
            }
            assert!(compared <= 4 * len, "{name}, {len} keys: {compared} compared");
            // Keys that are not there cost no more.
            let mut compared = 0;
            for &key in &keys {
                let (found, count) = search(&table, !key ^ 0x5555);
                assert!(found == 0 || keys[found as usize - 1] == !key ^ 0x5555);
                compared += u64::from(count);
            }
            assert!(compared <= 4 * len, "{name}, {len} keys: {compared} compared");
        }
    }
}

#[test]
fn keys_that_share_a_bucket_are_searched_by_halving() {
    // The logarithm of 100,000 is 16.6.
    const MOST: u32 = 20;
    // Without a multiplier all keys have one hash; with a known one, keys can be chosen that do.
    let upper = inverse(SEED[0] | 1);
    let known = [SEED[0] | 1, 0, 7, 7];
    for (seed, factor) in [([0, 0, 7, 7], 3), (known, upper)] {
        let keys: Vec<u64> = (0..100_000_u64).map(|i| i.wrapping_mul(factor)).collect();
        let table = table(&keys, seed);
        for (&key, number) in keys.iter().zip(1..) {
            let (found, compared) = search(&table, key);
            assert_eq!(found, number);
            assert!(compared <= MOST, "{compared}");
            assert!(search(&table, key ^ 1 << 63).1 <= MOST);
        }
        assert!(keys.iter().any(|&key| search(&table, key).1 > 10), "they share a bucket");
    }
}

#[test]
fn of_equal_keys_the_first_counts() {
    for seed in [SEED, [0; 4]] {
        let keys: Vec<u64> = (0..30_000).map(|i| i * i % 7919).collect();
        let table = table(&keys, seed);
        let mut first = HashMap::new();
        for (key, number) in keys.iter().zip(1..) {
            first.entry(*key).or_insert(number);
        }
        assert_eq!(table.len(), first.len());
        for key in 0..7919 {
            assert_eq!(table.find(key), first.get(&key).copied().unwrap_or(0));
        }
    }
}

#[test]
fn equal_keys_alone_and_no_keys_make_a_table() {
    let all_equal = table(&vec![5; 100_000], SEED);
    assert_eq!((all_equal.len(), all_equal.find(5), all_equal.find(6)), (1, 1, 0));
    let empty = KeyTable::new(0, &|_| 0);
    assert_eq!((empty.len(), empty.find(0)), (0, 0));
}

#[test]
fn the_key_0_is_found_in_every_bucket() {
    for word in 0..1000 {
        let seed = SEED.map(|seed| seed.wrapping_mul(2 * word + 1));
        let table = table(&[0, 8, 9, 0, 11], seed);
        assert_eq!([0, 8, 9, 10, 11].map(|key| table.find(key)), [1, 2, 3, 0, 5]);
    }
}

#[test]
fn each_table_has_a_seed_of_its_own() {
    let keys: Vec<u64> = (0..1000).collect();
    let [one, other] = [(); 2].map(|()| KeyTable::new(keys.len(), &|place| keys[place]));
    assert!(keys.iter().any(|&key| one.start(key) != other.start(key)));
}

#[test]
fn keys_near_each_other_are_found_without_a_hash() {
    for least in [0, 7, (-40_000_i64) as u64, i64::MIN as u64, i64::MAX as u64 - 65_536] {
        let keys: Vec<u64> =
            (0..2000).map(|i| least.wrapping_add(i * 97 % 65_537)).chain([least; 2]).collect();
        let table = DenseTable::new(keys.len(), &|place| keys[place]).expect("near each other");
        let mut numbers: HashMap<u64, u32> = HashMap::new();
        for (key, number) in keys.iter().zip(1..) {
            numbers.entry(*key).or_insert(number);
        }
        for step in 0..70_000 {
            let key = least.wrapping_sub(2000).wrapping_add(step);
            assert_eq!(table.find(key), numbers.get(&key).copied().unwrap_or(0), "{key}");
        }
    }
    let pair = |difference| DenseTable::new(2, &|place| [5, 5 + difference][place]);
    assert!(pair(65_536).is_some());
    assert!(pair(65_537).is_none());
    assert!(pair(u64::MAX - 5).is_some(), "-1, of signed keys, is near 5");
    assert!(DenseTable::new(0, &|_| 0).is_none());
}

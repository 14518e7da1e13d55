//! How much the bits of values tell about those of their neighbours: the bitwise real information of Klöwer et al. (Nature
//! Computational Science 1, 713, 2021), of linear codes in place of floating-point numbers, because packing is linear too.

use serde::Serialize;

use crate::text::{count, number_of};

/// The bits of a code. Its values are the 2^24 equal parts of the range.
pub(crate) const BITS: usize = 24;
const CODES: f64 = (1 << BITS) as f64;
/// In place of the code of a missing value, or of one outside the range.
const NONE: u32 = u32::MAX;
/// Fewer pairs than this tell little.
const LEAST_PAIRS: u64 = 10_000;
/// The probability that chance makes any bit of an array without information look informed.
const FALSE_ALARM: f64 = 0.01;
/// Pairs that are counted at once.
const BATCH: usize = 4096;

/// Counts of pairs of neighbours along one axis, by each of their bits, the highest first.
#[derive(Clone, Debug, Default)]
struct NeighbourPairs {
    count: u64,
    bits: [PairsOfBit; BITS],
}

/// Pairs by a bit of the first code, and then by that of the second.
type PairsOfBit = [[u64; 2]; 2];

impl NeighbourPairs {
    fn add(&mut self, first: &[u32], second: &[u32]) {
        let count = first.len() as u64;
        self.count += count;
        for (shift, total) in (0..BITS as u32).rev().zip(&mut self.bits) {
            let (mut sums, mut product) = ((0_u32, 0_u32), 0_u32);
            for (a, b) in first.iter().zip(second) {
                let (a, b) = (a >> shift & 1, b >> shift & 1);
                sums = (sums.0 + a, sums.1 + b);
                product += a & b;
            }
            let [first, second, both] = [sums.0, sums.1, product].map(u64::from);
            merge(total, &[[count + both - first - second, second - both], [first - both, both]]);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        for (total, more) in self.bits.iter_mut().zip(&other.bits) {
            merge(total, more);
        }
    }

    /// The mutual information of each bit, in bits; 0 where it is not significant among so many axes.
    fn information(&self, axes: usize) -> Vec<f64> {
        let chance = chance(self.count as f64, axes);
        let found = self.bits.iter().map(|pairs| mutual_information(pairs, self.count as f64));
        found.map(|found| if found < chance { 0.0 } else { found }).collect()
    }
}

fn merge(total: &mut PairsOfBit, more: &PairsOfBit) {
    for (total, more) in total.iter_mut().flatten().zip(more.iter().flatten()) {
        *total += more;
    }
}

/// The sum of p · log2(p / expected p) over the four kinds of pairs.
fn mutual_information(pairs: &PairsOfBit, all: f64) -> f64 {
    let [[neither, only_second], [only_first, both]] = *pairs;
    let second = [neither + only_first, only_second + both];
    let mut sum = 0.0;
    for row in pairs {
        let first: u64 = row.iter().sum();
        for (&both, second) in row.iter().zip(second) {
            if both > 0 {
                let expected = first as f64 / all * (second as f64 / all);
                let found = both as f64 / all;
                sum += found * (found / expected).log2();
            }
        }
    }
    sum
}

/// The information that chance gives none of the bits along any of these axes, but for the probability of a false alarm: by
/// Chernoff's bound, independent bits have `m` bits of it or more with a probability of at most 2 · 2^(−m · pairs). Pairs are
/// counted twice, all of them and those that differ.
fn chance(pairs: f64, axes: usize) -> f64 {
    let tests = (2 * BITS * axes) as f64;
    (2.0 * tests / FALSE_ALARM).log2() / pairs
}

/// Fewer pairs than this are no sign that values keep a distance.
const LEAST_NEAR: u64 = 32;
/// Values keep a distance if this many times fewer pairs than expected are nearer.
const RARE: u64 = 16;

/// The counts of pairs by the bits that the difference of their codes needs. Of the diagonal neighbours in the last two axes: along
/// one axis, a sum of functions of each axis has few differences.
fn distances(codes: &[u32], shape: &[u64]) -> [u64; BITS + 1] {
    let row = if shape.len() > 1 { shape.last().map_or(0, |&extent| extent as usize) } else { 0 };
    let mut counts = [0; BITS + 1];
    for (&first, &second) in codes.iter().zip(codes.iter().skip(row + 1)) {
        let needed = (u32::BITS - first.abs_diff(second).leading_zeros()) as usize;
        if let Some(count) = counts.get_mut(needed)
            && first != NONE
            && second != NONE
        {
            *count += 1;
        }
    }
    counts
}

/// The counts of pairs along all axes, of all pairs and of those whose codes differ; and how far neighbours are apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Neighbours {
    all: Vec<NeighbourPairs>,
    unequal: Vec<NeighbourPairs>,
    /// The counts of pairs by their distance.
    distances: [u64; BITS + 1],
}

impl Neighbours {
    /// Counts the neighbours in a block of values, which are NaN where they are missing. Values outside the range, from its
    /// least to its greatest, have no code.
    pub(crate) fn of(values: &[f64], shape: &[u64], (least, greatest): (f64, f64)) -> Self {
        let code = |&value: &f64| {
            if !(least..=greatest).contains(&value) {
                return NONE;
            }
            ((value - least) / (greatest - least) * CODES).floor().min(CODES - 1.0) as u32
        };
        let codes: Vec<u32> = values.iter().map(code).collect();
        let counts = |only_unequal: bool| {
            let axis = |(axis, &extent): (usize, &u64)| {
                let stride = shape.iter().skip(axis + 1).product::<u64>() as usize;
                along(&codes, stride, extent as usize, only_unequal)
            };
            shape.iter().enumerate().map(axis).collect()
        };
        Self { all: counts(false), unequal: counts(true), distances: distances(&codes, shape) }
    }

    /// The counts of both.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        if self.all.is_empty() {
            return other;
        }
        let ours = self.all.iter_mut().chain(&mut self.unequal);
        for (ours, theirs) in ours.zip(other.all.iter().chain(&other.unequal)) {
            ours.merge(theirs);
        }
        for (count, more) in self.distances.iter_mut().zip(other.distances) {
            *count += more;
        }
        self
    }

    /// The information along the axis that has most of it. The type of the values rounds them by up to `rounding`.
    ///
    /// # Errors
    /// Why the pairs tell nothing, as a sentence for people.
    pub(crate) fn information(
        &self,
        range: (f64, f64),
        rounding: f64,
    ) -> Result<Information, String> {
        let all = self.best(&self.all, range, rounding)?;
        if all.end.is_some() {
            return Ok(all);
        }
        // Where fills and plateaus make every bit tell its neighbour, changes say more.
        match self.best(&self.unequal, range, rounding) {
            Ok(found) if found.end.is_some() => Ok(Information { only_unequal: true, ..found }),
            Ok(_) | Err(_) => {
                Err("every bit tells about its neighbour, down to the last of 24: the \
                 values are smoother than any bound here, or were rounded before"
                    .to_owned())
            }
        }
    }

    /// Whether values differ by more than a unit of this bit or are equal, as on a grid, though many differ by less than one
    /// of the higher bit `end`. Neighbours that nothing has rounded come as near as any.
    fn keep_apart(&self, bit: usize, end: usize) -> bool {
        let below = |bit: usize| self.distances.get(..BITS - bit).unwrap_or_default();
        let within: u64 = below(end).iter().sum();
        // Codes that differ by one may be those of equal values.
        let near: u64 = below(bit).iter().skip(2).sum();
        let expected = within >> (bit - end);
        bit + 2 < BITS && expected >= LEAST_NEAR && near * RARE < expected
    }

    /// The information along the axis that has most of it, of either count.
    fn best(
        &self,
        axes: &[NeighbourPairs],
        range: (f64, f64),
        rounding: f64,
    ) -> Result<Information, String> {
        let most = axes.iter().map(|pairs| pairs.count).max().unwrap_or_default();
        if most < LEAST_PAIRS {
            return Err(format!(
                "{} of neighbours {} too few to tell; {} are needed",
                number_of(most, "pair"),
                if most == 1 { "is" } else { "are" },
                count(LEAST_PAIRS)
            ));
        }
        let is_grid = |bit: usize, end: usize| {
            let unit = (range.1 - range.0) / 2_f64.powi(bit as i32 + 1);
            unit > rounding && self.keep_apart(bit, end)
        };
        let known = axes.iter().enumerate().filter(|(_, pairs)| pairs.count >= LEAST_PAIRS);
        let found = known.map(|(number, pairs)| {
            let bits = pairs.information(axes.len());
            Information::new(number, pairs.count, bits, range, is_grid)
        });
        let best = found.max_by(|a, b| a.total.total_cmp(&b.total));
        best.filter(|best| best.total > 0.0).ok_or_else(|| {
            "no bit tells anything about its neighbour, as in noise or in values without an order"
                .to_owned()
        })
    }
}

/// The pairs of codes that are a stride apart, in rows of some extent.
fn along(codes: &[u32], stride: usize, extent: usize, only_unequal: bool) -> NeighbourPairs {
    let mut counts = NeighbourPairs::default();
    // Without codes, the stride may be 0.
    if codes.is_empty() || extent < 2 {
        return counts;
    }
    let rows = codes.chunks_exact(stride * extent);
    let pairs = rows.flat_map(|rows| rows.iter().copied().zip(rows.iter().copied().skip(stride)));
    let is_told = |&(first, second): &(u32, u32)| {
        first != NONE && second != NONE && !(only_unequal && first == second)
    };
    let (first, second): (Vec<u32>, Vec<u32>) = pairs.filter(is_told).unzip();
    for (first, second) in first.chunks(BATCH).zip(second.chunks(BATCH)) {
        counts.add(first, second);
    }
    counts
}

/// The information in the bits of an array's values. Each value is one of 2^24 equal parts of the range, and a bit has as
/// much information as it tells about the same bit of the next value along an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Information {
    /// The axis of the neighbours: the one along which they tell most.
    pub axis: usize,
    /// The number of pairs of neighbours.
    pub pairs: u64,
    /// The smallest and the largest value that has a code.
    pub range: (f64, f64),
    /// The information of each of 24 bits, the highest first, in bits; 0 where it is not significant.
    pub bits: Vec<f64>,
    /// Their sum up to the first bit without information.
    pub total: f64,
    /// The number of bits up to there; `None` if the last one has information.
    pub end: Option<usize>,
    /// The first bit after those that has information again because neighbours differ by more than a unit of it, or not at
    /// all. It is artificial: the values were rounded before.
    pub artificial: Option<usize>,
    /// Whether pairs of equal values are left out, because with them every bit tells about its neighbour.
    pub only_unequal: bool,
}

impl Information {
    /// `is_grid` says whether values are a unit of a bit apart, though they may differ by less than one of a higher bit.
    fn new(
        axis: usize,
        pairs: u64,
        bits: Vec<f64>,
        range: (f64, f64),
        is_grid: impl Fn(usize, usize) -> bool,
    ) -> Self {
        let informed = |bit: &f64| *bit > 0.0;
        // The highest bits say nothing if few values have them.
        let start = bits.iter().position(informed).unwrap_or(bits.len());
        let rest = bits.iter().skip(start);
        let end = rest.clone().position(|bit| !informed(bit)).map(|bit| start + bit);
        let total = rest.take(end.unwrap_or(bits.len()) - start).sum();
        let again = |end: usize| {
            let mut rest = bits.iter().enumerate().skip(end);
            rest.find(|&(bit, found)| informed(found) && is_grid(bit, end)).map(|(bit, _)| bit)
        };
        let artificial = end.and_then(again);
        Self { axis, pairs, range, bits, total, end, artificial, only_unequal: false }
    }

    /// The share of the information that packing with an error bound keeps: that of the bits above a step of twice the bound.
    #[must_use]
    pub fn share(&self, max_abs_error: f64) -> f64 {
        let (least, greatest) = self.range;
        let kept = ((greatest - least) / (2.0 * max_abs_error)).log2() + 1e-9;
        let kept = if kept.is_nan() { 0 } else { kept.max(0.0) as usize };
        let kept = kept.min(self.end.unwrap_or(BITS));
        if self.total > 0.0 { self.bits.iter().take(kept).sum::<f64>() / self.total } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(index: u64) -> f64 {
        let mixed = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The information of each bit along an axis of a plane, computed from the definition.
    fn plain(
        values: &[f64],
        columns: usize,
        axis: usize,
        (least, greatest): (f64, f64),
    ) -> Vec<f64> {
        let rows = values.len() / columns;
        let code = |value: f64| ((value - least) / (greatest - least) * 16_777_216.0).floor();
        let code = |value: f64| code(value).min(16_777_215.0) as u64;
        let mut found = Vec::new();
        for bit in (0..24).rev() {
            let mut counts = [[0.0_f64; 2]; 2];
            for row in 0..rows {
                for column in 0..columns {
                    let next = if axis == 0 { (row + 1, column) } else { (row, column + 1) };
                    if next.0 == rows || next.1 == columns {
                        continue;
                    }
                    let (a, b) =
                        (values[row * columns + column], values[next.0 * columns + next.1]);
                    if a.is_nan() || b.is_nan() {
                        continue;
                    }
                    counts[(code(a) >> bit & 1) as usize][(code(b) >> bit & 1) as usize] += 1.0;
                }
            }
            let all: f64 = counts.iter().flatten().sum();
            let mut sum = 0.0;
            for row in &counts {
                for (j, count) in row.iter().enumerate() {
                    let (of_i, of_j) = (row[0] + row[1], counts[0][j] + counts[1][j]);
                    if *count > 0.0 {
                        sum += count / all * (count * all / (of_i * of_j)).log2();
                    }
                }
            }
            let chance = (2.0 * 2.0 * 24.0 * 2.0 / 0.01_f64).log2() / all;
            found.push(if sum < chance { 0.0 } else { sum });
        }
        found
    }

    /// A smooth field with noise of this size, 300 × 200, with a missing value in every 31.
    fn field(noise_size: f64) -> Vec<f64> {
        let value = |index: u64| {
            let (row, column) = ((index / 200) as f64, (index % 200) as f64);
            (row / 40.0).sin() * 5.0 + (column / 15.0).cos() * 3.0 + noise_size * noise(index)
        };
        let missing = |index: u64| if index % 31 == 7 { f64::NAN } else { value(index) };
        (0..60_000).map(missing).collect()
    }

    fn range(values: &[f64]) -> (f64, f64) {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max))
    }

    #[test]
    fn the_information_of_each_bit_is_that_of_the_definition() {
        for noise_size in [0.5, 0.02] {
            let values = field(noise_size);
            let range = range(&values);
            let found =
                Neighbours::of(&values, &[300, 200], range).information(range, 0.0).unwrap();
            let axes = [0, 1].map(|axis| plain(&values, 200, axis, range));
            for (bit, expected) in found.bits.iter().zip(&axes[found.axis]) {
                assert!((bit - expected).abs() < 1e-9, "{bit} {expected}");
            }
            assert!(found.bits[0] > 0.5 && !found.only_unequal);
        }
    }

    #[test]
    fn blocks_add_up_to_the_whole_without_the_pairs_between_them() {
        let values = field(0.1);
        let range = range(&values);
        let halves = values.split_at(30_000);
        let of = |values: &[f64]| Neighbours::of(values, &[150, 200], range);
        let merged = Neighbours::default().merge(of(halves.0)).merge(of(halves.1));
        let whole = Neighbours::of(&values, &[300, 200], range);
        let [merged, whole] = [merged, whole].map(|one| one.all[1].clone());
        assert_eq!((merged.count, merged.bits), (whole.count, whole.bits));
    }

    /// Noise of 0.5 makes bits below it worthless.
    #[test]
    fn a_bound_below_the_noise_keeps_all_information() {
        let values = field(0.5);
        let range = range(&values);
        let found = Neighbours::of(&values, &[300, 200], range).information(range, 0.0).unwrap();
        assert!(found.share(1e-3) == 1.0 && found.share(0.0) == 1.0, "{found:?}");
        assert!(found.share(2.0) < 0.9 && found.share(f64::INFINITY) == 0.0);
        let shares = [4.0, 2.0, 1.0, 0.5, 0.25, 0.1].map(|bound| found.share(bound));
        assert!(shares.is_sorted(), "{shares:?}");
    }

    #[test]
    fn information_after_a_bit_without_it_is_artificial() {
        let of = |bits: &[f64]| {
            Information::new(0, 20_000, bits.to_vec(), (0.0, 16.0), |bit, _| bit > 3)
        };
        // The highest bit is the same for all values; that does not end the information.
        let found = of(&[0.0, 0.5, 0.25, 0.0, 0.0, 0.125]);
        assert_eq!((found.total, found.end, found.artificial), (0.75, Some(3), Some(5)));
        // A step of 4 keeps two bits, and one of 2 all three.
        let shares = [2.0, 1.0, 0.1].map(|bound| found.share(bound));
        assert_eq!(shares, [0.5 / 0.75, 1.0, 1.0]);
        let found = of(&[0.5, 0.25]);
        assert_eq!((found.total, found.end, found.artificial), (0.75, None, None));
        assert_eq!(of(&[0.0, 0.0]).total, 0.0);
    }

    #[test]
    fn where_the_method_fails_it_says_why() {
        let told = |values: &[f64], shape: &[u64]| {
            let range = range(values);
            Neighbours::of(values, shape, range).information(range, 0.0)
        };
        let few = told(&[1.0, 2.0, 3.0], &[3]).unwrap_err();
        assert!(few.starts_with("2 pairs of neighbours are too few"), "{few}");
        let few = told(&[1.0, 2.0], &[2]).unwrap_err();
        assert!(few.starts_with("1 pair of neighbours is too few"), "{few}");
        assert!(told(&[], &[0]).is_err() && told(&[1.0], &[]).is_err());
        assert!(told(&[], &[3, 0]).is_err() && told(&[], &[0, 3]).is_err());
        let random: Vec<f64> = (0..20_000).map(noise).collect();
        let random = told(&random, &[20_000]).unwrap_err();
        assert!(random.starts_with("no bit tells anything"), "{random}");
        // Four fifths are equal, so every bit tells its neighbour; the other values decide.
        let inside = |index: usize| (100..300).contains(&(index / 1000)) && index % 1000 < 500;
        let brain = |index: usize| {
            let wave = (index as f64 / 90.0).sin() * 100.0;
            if inside(index) { 200.0 + wave + 30.0 * noise(index as u64) } else { 0.0 }
        };
        let mostly_zero: Vec<f64> = (0..500_000).map(brain).collect();
        let found = told(&mostly_zero, &[500, 1000]).unwrap();
        assert!(found.only_unequal && found.end.is_some(), "{found:?}");
    }

    /// Noise of three distributions: uniform, nearly normal, exponential.
    fn noise_of(kind: u64, seed: u64, index: u64) -> f64 {
        let index = (seed << 32) + 8 * index;
        match kind % 3 {
            0 => noise(index),
            1 => (0..8).map(|part| noise(index + part)).sum(),
            _ => -(1.0 - noise(index)).ln(),
        }
    }

    #[test]
    fn chance_is_hardly_ever_taken_for_information() {
        let shapes: [&[u64]; 4] = [&[20, 30, 40], &[24_000], &[120, 200], &[3, 5, 40, 40]];
        let mut alarms = Vec::new();
        for seed in 0..400 {
            let shape = shapes[seed as usize % 4];
            let values: Vec<f64> = (0..24_000).map(|i| noise_of(seed / 4, seed, i)).collect();
            let range = range(&values);
            alarms.extend(Neighbours::of(&values, shape, range).information(range, 0.0).ok());
        }
        assert!(alarms.len() <= 4, "{alarms:?}");
    }

    /// Fields of several kinds that nothing has rounded, 150 × 200.
    fn smooth_or_rough(seed: u64) -> Vec<f64> {
        let parameter = |number: u64| noise((1 << 60) + 16 * seed + number);
        let lengths = [0, 1, 2].map(|number| 3.0 + 150.0 * parameter(number).powi(2));
        let sizes = [3, 4, 5].map(|number| 0.1 + parameter(number));
        let rough = 10_f64.powf(-4.0 * parameter(6));
        let mut walk = 0.0;
        let values = (0..30_000_u64).map(|index| {
            let (row, column) = ((index / 200) as f64, (index % 200) as f64);
            let random = noise_of(seed / 7, seed, index) - 0.5;
            match seed % 6 {
                0 => sizes[0] * (row / lengths[0]).sin() + sizes[1] * (column / lengths[1]).cos(),
                1 => (row / lengths[0]).sin() * (column / lengths[1]).cos() + rough * random,
                2 => (index as f64 / lengths[0]).sin() + (index as f64 / lengths[1]).sin(),
                3 => sizes[0] * (index as f64 / lengths[0]).sin() + rough * random,
                4 => {
                    walk = (1.0 - sizes[1] * rough) * walk + random;
                    walk
                }
                _ => {
                    ((row / lengths[0]).sin() + (column / lengths[1]).sin() + rough * random).exp()
                }
            }
        });
        values.collect()
    }

    /// In float32 every other time, with its rounding, and far from zero every third time.
    fn told(values: &[f64], seed: u64) -> Result<Information, String> {
        let offset = if seed.is_multiple_of(3) { 280.0 } else { 0.0 };
        let moved = values.iter().map(|value| value + offset);
        let (values, unit): (Vec<f64>, f64) = if seed.is_multiple_of(2) {
            (moved.map(|value| f64::from(value as f32)).collect(), f64::from(f32::EPSILON))
        } else {
            (moved.collect(), f64::EPSILON)
        };
        let range = range(&values);
        let rounding = unit * range.0.abs().max(range.1.abs());
        Neighbours::of(&values, &[150, 200], range).information(range, rounding)
    }

    #[test]
    fn what_was_never_rounded_is_hardly_ever_said_to_be() {
        let mut alarms = Vec::new();
        for seed in 0..240 {
            let values = smooth_or_rough(seed);
            // Each kind in both types, and near and far from zero.
            let found = told(&values, seed / 6).ok().filter(|found| found.artificial.is_some());
            alarms.extend(found.map(|found| (seed, found)));
        }
        assert!(alarms.len() <= 2, "{alarms:?}");
    }

    #[test]
    fn steps_are_seen_where_neighbours_share_them() {
        let mut seen = 0;
        for seed in 0..60_u64 {
            let step = [0.1, 0.13, 0.25][seed as usize % 3];
            let value = |index: u64| {
                let (row, column) = ((index / 200) as f64, (index % 200) as f64);
                let smooth = 9.0 * (row / 31.0).sin() + 7.0 * (column / 23.0).cos();
                ((smooth + 0.3 * noise_of(1, seed, index)) / step).round() * step
            };
            let values: Vec<f64> = (0..30_000).map(value).collect();
            let found = told(&values, seed);
            seen += u64::from(found.is_ok_and(|found| found.artificial.is_some()));
        }
        assert!(seen >= 20, "{seen}");
    }
}

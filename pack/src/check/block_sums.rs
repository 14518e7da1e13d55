//! The sums of the errors of a block. NaN, infinities and markers are counted, for whole continents and cloud covers
//! consist of them; only a block in which something may be wrong needs individual checks.

// Lanes are indexed, conditions are joined without a branch.
#![allow(clippy::needless_range_loop, clippy::needless_bitwise_bool)]

use super::comparison::Tolerance;
use super::exact_sum::{ExactSum, two_sum};
use super::sums::{Sums, relative_error};
use crate::scan::counts::Counts;
use crate::scan::lanes::{FewValues, LANES, padded, vectorized, with_values};
use crate::scan::number::Number;

/// Values that no error counts, of an array and of what it has become.
#[derive(Clone, Debug)]
pub(crate) struct SpecialNumbers<N> {
    /// The missing markers.
    markers: Vec<N>,
    /// Missing markers among decoded elements only.
    masked_after: Vec<N>,
    /// Other values that no statistic counts if they come back.
    fill: Vec<N>,
    /// All of these.
    all: Vec<N>,
}

impl<N: Number> SpecialNumbers<N> {
    /// A value that is several of these is the first of them.
    pub(crate) fn new(markers: Vec<N>, mut masked_after: Vec<N>, mut fill: Vec<N>) -> Self {
        masked_after.retain(|number| !markers.contains(number));
        fill.retain(|number| !markers.contains(number) && !masked_after.contains(number));
        let all = [markers.as_slice(), &fill, &masked_after].concat();
        Self { markers, masked_after, fill, all }
    }

    pub(crate) fn is_marker(&self, number: N) -> bool {
        self.markers.contains(&number)
    }

    pub(crate) fn is_fill(&self, number: N) -> bool {
        self.fill.contains(&number)
    }

    /// Whether a decoded element is treated as missing.
    pub(crate) fn is_masked(&self, number: N) -> bool {
        self.is_marker(number) || self.masked_after.contains(&number)
    }
}

/// The sums of two blocks in which every NaN, infinity and marker comes back, no other element becomes one, and no error
/// exceeds the tolerance. `None` for other blocks.
pub(crate) fn block_sums<N: Number>(
    before: &[N],
    after: &[N],
    special: &SpecialNumbers<N>,
    tolerance: Tolerance,
) -> Option<Sums> {
    let SpecialNumbers { markers, fill, masked_after, all } = special;
    let [markers, fill, masked_after, all] = [markers, fill, masked_after, all].map(Vec::as_slice);
    // Most blocks need no second look.
    let plain = with_values!(N, all, |special| sums_of(before, after, &Absent(special), tolerance));
    if plain.is_some() {
        return plain;
    }
    let few = |values: &[N]| match *values {
        [] => Some([N::NONE]),
        [one] => Some([one]),
        _ => None,
    };
    if let Some((fill, masked_after)) = few(fill).zip(few(masked_after)) {
        with_values!(N, markers, |markers| {
            sums_of(before, after, &Returning { markers, fill, masked_after }, tolerance)
        })
    } else {
        sums_of(before, after, &Returning { markers, fill, masked_after }, tolerance)
    }
}

fn sums_of<N: Number>(
    before: &[N],
    after: &[N],
    special: &impl Specials<N>,
    tolerance: Tolerance,
) -> Option<Sums> {
    if tolerance.relative == 0.0 {
        vectorized::<N, _>(
            #[inline(always)]
            || errors_of::<_, _, false>(before, after, special, tolerance),
        )
    } else {
        vectorized::<N, _>(
            #[inline(always)]
            || errors_of::<_, _, true>(before, after, special, tolerance),
        )
    }
}

/// Σ|after − before| and Σ|before| of two blocks that have sums, exact but for the last of 106 bits.
pub(crate) fn exact_sums<N: Number>(
    before: &[N],
    after: &[N],
    special: &SpecialNumbers<N>,
) -> [ExactSum; 2] {
    let all = special.all.as_slice();
    with_values!(N, all, |special| vectorized::<N, _>(
        #[inline(always)]
        || exact_sums_of(before, after, special)
    ))
}

#[inline(always)]
fn exact_sums_of<N: Number>(
    before: &[N],
    after: &[N],
    special: impl FewValues<N>,
) -> [ExactSum; 2] {
    let terms = |x: N, y: N| {
        // What is special and comes back is not counted; a fill value that does not is a value like any other.
        let comes_back = special.has(x) & (x == y);
        let counts = x.is_finite() & !comes_back;
        let (distance, magnitude) = (y.distance(x), x.magnitude());
        if counts { [distance, magnitude] } else { [0.0; 2] }
    };
    let mut highs = [[0.0; LANES]; 2];
    let mut lows = [[0.0; LANES]; 2];
    let (before_rows, before_rest) = before.as_chunks::<LANES>();
    let (after_rows, after_rest) = after.as_chunks::<LANES>();
    for (xs, ys) in before_rows.iter().zip(after_rows) {
        for lane in 0..LANES {
            let terms = terms(xs[lane], ys[lane]);
            for which in 0..2 {
                let (sum, rest) = two_sum(highs[which][lane], terms[which]);
                highs[which][lane] = sum;
                lows[which][lane] += rest;
            }
        }
    }
    let mut sums = [ExactSum::default(); 2];
    for which in 0..2 {
        sums[which].extend(highs[which]);
        sums[which].extend(lows[which]);
    }
    for (&x, &y) in before_rest.iter().zip(after_rest) {
        let [distance, magnitude] = terms(x, y);
        sums[0].add(distance);
        sums[1].add(magnitude);
    }
    sums
}

/// Which elements are special.
trait Specials<N> {
    /// Whether an element is special before and after, and comes back.
    fn comes_back(&self, x: N, y: N) -> bool;

    /// Whether an element that does not come back is or becomes special, other than NaN and infinite.
    fn is_wrong(&self, x: N, y: N) -> bool;

    /// Counts the elements in `sums`, of which so many come back.
    fn count(&self, before: &[N], back: u64, sums: &mut Sums);
}

/// No element is special; blocks with others have no sums.
struct Absent<V>(V);

impl<N: Number, V: FewValues<N>> Specials<N> for Absent<V> {
    #[inline(always)]
    fn comes_back(&self, _: N, _: N) -> bool {
        false
    }

    #[inline(always)]
    fn is_wrong(&self, x: N, y: N) -> bool {
        self.0.has(x) | self.0.has(y)
    }

    #[inline(always)]
    fn count(&self, _: &[N], _: u64, _: &mut Sums) {}
}

/// Special elements come back.
struct Returning<M, V> {
    markers: M,
    fill: V,
    masked_after: V,
}

impl<N: Number, M: FewValues<N>, V: FewValues<N>> Specials<N> for Returning<M, V> {
    #[inline(always)]
    fn comes_back(&self, x: N, y: N) -> bool {
        let is_special = self.markers.has(x) | self.fill.has(x) | x.is_infinite();
        (x.is_nan() & y.is_nan()) | ((x == y) & is_special)
    }

    #[inline(always)]
    fn is_wrong(&self, x: N, y: N) -> bool {
        self.markers.has(x) | self.markers.has(y) | self.masked_after.has(y)
    }

    #[inline(always)]
    fn count(&self, before: &[N], back: u64, sums: &mut Sums) {
        let count = |is_it: &dyn Fn(N) -> bool| -> u64 {
            before.iter().map(|&x| u64::from(is_it(x))).sum()
        };
        let is_marker = |x| self.markers.has(x);
        let (nan, missing) = (count(&|x| x.is_nan()), count(&is_marker));
        let infinite = count(&|x| x.is_infinite() & !is_marker(x) & !self.fill.has(x));
        let fill = back - nan - missing - infinite;
        sums.counts = Counts { nan, missing, fill, infinite };
    }
}

/// `RELATIVE`: whether the bound has a relative part.
#[inline(always)]
fn errors_of<N: Number, P: Specials<N>, const RELATIVE: bool>(
    before: &[N],
    after: &[N],
    special: &P,
    tolerance: Tolerance,
) -> Option<Sums> {
    let Tolerance { absolute, .. } = tolerance;
    let mut max = [0.0; LANES];
    let mut max_relative = [0.0; LANES];
    let mut distances = [0.0; LANES];
    let mut signed = [0.0; LANES];
    let mut squares = [0.0; LANES];
    let mut back = [0; LANES];
    let mut add = |xs: &[N; LANES], ys: &[N; LANES]| {
        for lane in 0..LANES {
            let (x, y) = (xs[lane], ys[lane]);
            let comes_back = special.comes_back(x, y);
            // NaN or infinite if it is wrong; then the sum is that too.
            let difference = if special.is_wrong(x, y) { f64::NAN } else { y.minus(x) };
            let difference = if comes_back { 0.0 } else { difference };
            let mut distance = difference.abs();
            if RELATIVE {
                let magnitude = x.magnitude();
                let error = relative_error(distance, magnitude);
                let is_above = error > max_relative[lane];
                max_relative[lane] = if is_above { error } else { max_relative[lane] };
                // At the bound, only the exact test decides.
                let limit = tolerance.bound(magnitude);
                let reaches = (distance >= limit) & (distance > 0.0);
                distance = if reaches { f64::NAN } else { distance };
            }
            max[lane] = if distance > max[lane] { distance } else { max[lane] };
            distances[lane] += distance;
            signed[lane] += difference;
            squares[lane] += distance * distance;
            back[lane] += u64::from(comes_back);
        }
    };
    let (before_rows, before_rest) = before.as_chunks::<LANES>();
    let (after_rows, after_rest) = after.as_chunks::<LANES>();
    for (xs, ys) in before_rows.iter().zip(after_rows) {
        add(xs, ys);
    }
    let mut repeated = 0;
    if let Some(&x) = before_rest.first() {
        // Copies of an original add no error.
        add(&padded(before_rest, x), &padded(after_rest, x));
        let copies = (LANES - before_rest.len()) as u64;
        repeated = if special.comes_back(x, x) { copies } else { 0 };
    }
    let distances: f64 = distances.into_iter().sum();
    let max = max.into_iter().fold(0.0, f64::max);
    if !distances.is_finite() {
        return None;
    }
    // A distance that rounds to the bound may exceed it.
    let is_within = |(&x, &y): (&N, &N)| !x.is_farther(y, absolute);
    let at_bound = || max == absolute && before.iter().zip(after).all(is_within);
    if !(RELATIVE || max < absolute || max == 0.0 || at_bound()) {
        return None;
    }
    let back = back.into_iter().sum::<u64>() - repeated;
    let mut total = Sums {
        elements: before.len() as u64 - back,
        max,
        max_relative: max_relative.into_iter().fold(0.0, f64::max),
        distances: distances.into(),
        differences: signed.into_iter().sum::<f64>().into(),
        squares: squares.into_iter().sum::<f64>().into(),
        ..Sums::default()
    };
    if back > 0 {
        special.count(before, back, &mut total);
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::super::comparison::Keeps;
    use super::*;

    const WIDE: Tolerance = Tolerance {
        absolute: 10.0,
        relative: 0.0,
        is_each: false,
        name: "",
        allow_collisions: false,
        keeps: Keeps { limits: None, zero: false, sign: false, bits: false },
    };

    #[test]
    fn exact_sums_are_those_of_each_element() {
        let special = SpecialNumbers::new(vec![77.0], vec![], vec![-1e30]);
        let mut before: Vec<f64> = (0..517).map(|i| f64::from(i) / 7.0 - 20.0).collect();
        let mut after: Vec<f64> = before.iter().map(|x| (x * 4.0).round() / 4.0).collect();
        for (index, value) in [(3, f64::NAN), (40, 77.0), (64, f64::INFINITY), (516, -1e30)] {
            (before[index], after[index]) = (value, value);
        }
        let counts = |x: &f64| x.is_finite() && *x != 77.0 && *x > -1e29;
        let mut expected = [ExactSum::default(); 2];
        for (x, y) in before.iter().zip(&after).filter(|(x, _)| counts(x)) {
            expected[0].add((y - x).abs());
            expected[1].add(x.abs());
        }
        let found = exact_sums(&before, &after, &special);
        assert_eq!(found.map(ExactSum::value), expected.map(ExactSum::value));
    }

    #[test]
    fn the_sums_of_a_block_are_those_of_all_its_elements() {
        let values: Vec<f64> = (0..37).map(|i| 5.0 - f64::from(i)).collect();
        let shifted: Vec<f64> = values.iter().map(|value| value - 0.5).collect();
        let expected = Sums {
            elements: 37,
            max: 0.5,
            distances: 18.5.into(),
            differences: (-18.5).into(),
            squares: 9.25.into(),
            ..Sums::default()
        };
        let special = SpecialNumbers::new(vec![], vec![], vec![]);
        assert_eq!(block_sums(&values, &shifted, &special, WIDE), Some(expected));
    }

    /// Each value, what it becomes, and whether a block with it has sums.
    #[test]
    fn blocks_have_sums_if_what_is_no_number_comes_back_and_nothing_else_becomes_it() {
        let special = SpecialNumbers::new(vec![77.0], vec![99.0], vec![-1e30]);
        let nan = f64::NAN;
        let infinity = f64::INFINITY;
        let plain = Sums { elements: 37, ..Sums::default() };
        let none = Counts::default();
        let returned = |counts| Sums { elements: 36, counts, ..Sums::default() };
        for (x, y, added) in [
            (
                2.0,
                2.5,
                Some(Sums {
                    max: 0.5,
                    distances: 0.5.into(),
                    differences: 0.5.into(),
                    squares: 0.25.into(),
                    ..plain
                }),
            ),
            (nan, nan, Some(returned(Counts { nan: 1, ..none }))),
            (77.0, 77.0, Some(returned(Counts { missing: 1, ..none }))),
            (-1e30, -1e30, Some(returned(Counts { fill: 1, ..none }))),
            (infinity, infinity, Some(returned(Counts { infinite: 1, ..none }))),
            (-infinity, -infinity, Some(returned(Counts { infinite: 1, ..none }))),
            (nan, 1.0, None),
            (1.0, nan, None),
            (77.0, 78.0, None),
            (78.0, 77.0, None),
            (nan, 77.0, None),
            (77.0, nan, None),
            (1.0, 99.0, None),
            (99.0, 99.0, None),
            (infinity, 1.0, None),
            (1.0, infinity, None),
            (infinity, -infinity, None),
        ] {
            for index in [0, 8, 32, 36] {
                let mut before = [1.0; 37];
                let mut after = before;
                (before[index], after[index]) = (x, y);
                let found = block_sums(&before, &after, &special, WIDE);
                assert_eq!(found, added, "{x} to {y} at {index}");
            }
        }
    }

    /// 1 + 2^-60 rounds to 1.
    #[test]
    fn a_block_at_the_bound_has_sums_unless_an_error_only_rounds_to_it() {
        let tolerance = Tolerance { absolute: 1.0, ..WIDE };
        let special = SpecialNumbers::new(vec![], vec![], vec![]);
        let tiny = 2_f64.powi(-60);
        for (x, y, has_sums) in
            [(0.0, 1.0, true), (tiny, 1.0, true), (-tiny, 1.0, false), (0.0, 1.5, false)]
        {
            let found = block_sums(&[0.0, x], &[0.5, y], &special, tolerance);
            assert_eq!(found.is_some(), has_sums, "{x} to {y}");
        }
    }
}

//! What the elements of a block are: NaN, markers and infinities, which are counted, and others, whose range is found.

// Lanes are indexed, conditions are joined without a branch.
#![allow(clippy::needless_range_loop, clippy::needless_bitwise_bool)]

use super::counts::Counts;
use super::lanes::{FewValues, LANES, padded, vectorized, with_values};
use super::number::Number;

/// How many elements are special, and the range of the others. Every value that is named as special counts as missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Kinds<N> {
    /// Of ordinary elements; without any, the ends are reversed.
    pub(crate) range: (N, N),
    pub(crate) counts: Counts,
}

impl<N: Number> Kinds<N> {
    /// Of no elements.
    pub(crate) fn none() -> Self {
        let (below, above) = N::EXTREMES;
        Self { range: (above, below), counts: Counts::default() }
    }

    /// Of elements, of which these are markers.
    pub(crate) fn of(numbers: &[N], markers: &[N]) -> Self {
        with_values!(N, markers, |markers| {
            // Most blocks need no second look.
            let kinds = vectorized::<N, _>(
                #[inline(always)]
                || of_each::<_, _, false>(numbers, markers),
            );
            let (below, above) = N::EXTREMES;
            let is_settled =
                kinds.counts.missing == 0 && kinds.range.0 != below && kinds.range.1 != above;
            if is_settled {
                kinds
            } else {
                vectorized::<N, _>(
                    #[inline(always)]
                    || of_each::<_, _, true>(numbers, markers),
                )
            }
        })
    }

    pub(crate) fn add(&mut self, other: Self) {
        let ((least, greatest), (a, b)) = (self.range, other.range);
        self.range = (if a < least { a } else { least }, if b > greatest { b } else { greatest });
        self.counts += other.counts;
    }
}

/// Whether an element is NaN, a marker, an infinity that is none.
#[inline(always)]
fn kind<N: Number, V: FewValues<N>, const OTHERS: bool>(x: N, markers: V) -> [bool; 3] {
    let is_marker = markers.has(x);
    [x.is_nan(), is_marker, OTHERS & x.is_infinite() & !is_marker]
}

/// `OTHERS`: whether elements may be markers and infinities. Otherwise, they are in the range.
#[inline(always)]
fn of_each<N: Number, V: FewValues<N>, const OTHERS: bool>(numbers: &[N], markers: V) -> Kinds<N> {
    let (below, above) = N::EXTREMES;
    let mut least = [above; LANES];
    let mut greatest = [below; LANES];
    let mut counts = [[0; LANES]; 3];
    // Only loops over all lanes: others would keep them out of registers.
    let mut add = |row: &[N; LANES]| {
        for lane in 0..LANES {
            let x = row[lane];
            let kind = kind::<_, _, OTHERS>(x, markers);
            for (count, is_it) in counts.iter_mut().zip(kind) {
                count[lane] += u64::from(is_it);
            }
            let counts = !(OTHERS & (kind[1] | kind[2]));
            least[lane] = if counts & (x < least[lane]) { x } else { least[lane] };
            greatest[lane] = if counts & (x > greatest[lane]) { x } else { greatest[lane] };
        }
    };
    let (rows, rest) = numbers.as_chunks::<LANES>();
    for row in rows {
        add(row);
    }
    let mut repeated = [0; 3];
    if let Some(&one) = rest.first() {
        add(&padded(rest, one));
        let copies = (LANES - rest.len()) as u64;
        repeated = kind::<_, _, OTHERS>(one, markers).map(|is_it| if is_it { copies } else { 0 });
    }
    let sums = counts.map(|count| count.into_iter().sum::<u64>());
    Kinds {
        range: (
            least.into_iter().fold(above, |a, b| if b < a { b } else { a }),
            greatest.into_iter().fold(below, |a, b| if b > a { b } else { a }),
        ),
        counts: Counts {
            nan: sums[0] - repeated[0],
            missing: sums[1] - repeated[1],
            infinite: sums[2] - repeated[2],
            fill: 0,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_counts_once_as_what_it_is_wherever_it_stands() {
        let mut values = [2.0; 75];
        for (count, index) in [74, 64, 5, 33, 70].into_iter().enumerate() {
            values[index] = f64::NAN;
            let nan = count as u64 + 1;
            let counts = Counts { nan, ..Counts::default() };
            let expected = Kinds { range: (2.0, 2.0), counts };
            assert_eq!(Kinds::of(&values, &[]), expected);
        }
        let range = (f64::INFINITY, f64::NEG_INFINITY);
        for (value, marker, nan, missing, infinite) in [
            (f64::NAN, 7.0, 33, 0, 0),
            (7.0, 7.0, 0, 33, 0),
            (f64::INFINITY, 7.0, 0, 0, 33),
            (f64::NEG_INFINITY, f64::NEG_INFINITY, 0, 33, 0),
        ] {
            let found = Kinds::of(&[value; 33], &[marker]);
            let counts = Counts { nan, missing, infinite, fill: 0 };
            assert_eq!(found, Kinds { range, counts }, "{value}");
        }
    }

    #[test]
    fn a_range_is_that_of_the_elements_that_are_no_markers() {
        let integers: Vec<i128> = (0..37).map(|i| 5 - i).collect();
        let floats: Vec<f64> = integers.iter().map(|&value| value as f64).collect();
        let all = [7, 5, 9, -31, 10, 4];
        for (count, range, missing) in [
            (0, (-31, 5), 0),
            (1, (-31, 5), 0),
            (3, (-31, 4), 1),
            (4, (-30, 4), 2),
            (6, (-30, 3), 3),
        ] {
            let markers = &all[..count];
            let counts = Counts { missing, ..Counts::default() };
            let expected = Kinds { range, counts };
            assert_eq!(Kinds::of(&integers, markers), expected, "{markers:?}");
            let markers: Vec<f64> = markers.iter().map(|&marker| marker as f64).collect();
            let range = (range.0 as f64, range.1 as f64);
            let expected = Kinds { range, counts };
            assert_eq!(Kinds::of(&floats, &markers), expected, "{markers:?}");
        }
        let mut with_nan = floats;
        with_nan[0] = f64::NAN;
        let counts = Counts { nan: 1, ..Counts::default() };
        let expected = Kinds { range: (-31.0, 4.0), counts };
        assert_eq!(Kinds::of(&with_nan, &[77.0]), expected);
    }
}

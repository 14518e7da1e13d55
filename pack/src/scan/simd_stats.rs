//! Sums over blocks of `float32` and `float64` elements without NaN, infinities and markers. Most blocks of most arrays
//! are like that, and their elements need no individual checks.
//!
//! The lanes make the order of the additions the same on every CPU.

// Lanes are indexed, conditions are joined without a branch, and x − x is NaN if x is not finite.
#![allow(clippy::needless_range_loop, clippy::needless_bitwise_bool, clippy::eq_op)]

use num_traits::Float;
use pulp::{Arch, Simd, WithSimd};
use recast_kernels::ElementType;

use super::number::Number;
use super::sums::Sums;

/// Elements side by side. The compiler vectorises a loop over this many, but unrolls one over fewer into single
/// instructions.
const LANES: usize = 32;

/// Some elements, padded with copies of one of them.
#[inline(always)]
fn padded<T: Copy>(elements: &[T], one: T) -> [T; LANES] {
    let mut row = [one; LANES];
    for (place, &element) in row.iter_mut().zip(elements) {
        *place = element;
    }
    row
}

/// Calls a function for each number of markers with the markers as an array, each converted; `None` if there are too many.
macro_rules! with_markers {
    ($markers:expr, $convert:expr, $call:expr) => {
        match *$markers {
            [] => $call([]),
            [one] => $call([one].map($convert)),
            [one, two] => $call([one, two].map($convert)),
            [one, two, three] => $call([one, two, three, three].map($convert)),
            [one, two, three, four] => $call([one, two, three, four].map($convert)),
            _ => None,
        }
    };
}

/// Elements of the types supported here, from their bytes.
#[derive(Clone, Copy)]
pub(crate) enum Elements<'a> {
    Float32(&'a [[u8; 4]]),
    Float64(&'a [[u8; 8]]),
}

impl<'a> Elements<'a> {
    /// `None` for another type.
    pub(crate) fn of(element_type: ElementType, bytes: &'a [u8]) -> Option<Self> {
        match element_type {
            ElementType::Float32 => Some(Self::Float32(bytes.as_chunks().0)),
            ElementType::Float64 => Some(Self::Float64(bytes.as_chunks().0)),
            _ => None,
        }
    }

    /// The range of elements without markers and infinities.
    pub(crate) fn range<N: Number>(self, markers: &[N]) -> Option<Plain> {
        match self {
            Self::Float32(elements) => range(elements, markers),
            Self::Float64(elements) => range(elements, markers),
        }
    }
}

fn range<T: Value, N: Number>(elements: &[T], markers: &[N]) -> Option<Plain> {
    // In the type of the elements, whose values the markers are.
    let marker = |marker: N| num_traits::cast(marker.to_f64()).unwrap_or_else(T::Number::nan);
    with_markers!(markers, marker, |markers| Arch::new().dispatch(Range { elements, markers }))
}

/// Statistics of elements without markers and infinities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plain {
    /// The range of the numbers among them; without any, the ends are reversed.
    pub(crate) range: (f64, f64),
    pub(crate) nan: u64,
}

struct Range<'a, T, R, const M: usize> {
    elements: &'a [T],
    markers: [R; M],
}

impl<T, R, const M: usize> WithSimd for Range<'_, T, R, M>
where
    T: Value<Number = R>,
    R: Float + Into<f64>,
{
    type Output = Option<Plain>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let mut least = [R::infinity(); LANES];
        let mut greatest = [R::neg_infinity(); LANES];
        let mut nan = [R::zero(); LANES];
        let mut marked = [R::zero(); LANES];
        // Only loops over all lanes: others would keep them out of registers.
        let mut add = |row: &[T; LANES]| {
            for lane in 0..LANES {
                let x = row[lane].number();
                let mut is_marker = false;
                for marker in self.markers {
                    is_marker |= x == marker;
                }
                marked[lane] = if is_marker { R::one() } else { marked[lane] };
                nan[lane] = nan[lane] + if x == x { R::zero() } else { R::one() };
                least[lane] = if x < least[lane] { x } else { least[lane] };
                greatest[lane] = if x > greatest[lane] { x } else { greatest[lane] };
            }
        };
        let (rows, rest) = self.elements.as_chunks::<LANES>();
        for row in rows {
            add(row);
        }
        let mut repeated = 0;
        if let Some(&one) = rest.first() {
            add(&padded(rest, one));
            let is_nan = one.number().is_nan();
            repeated = if is_nan { LANES - rest.len() } else { 0 };
        }
        let is_marked = marked.into_iter().any(|marked| marked > R::zero());
        let least = least.into_iter().map(Into::into).fold(f64::INFINITY, f64::min);
        let greatest = greatest.into_iter().map(Into::into).fold(f64::NEG_INFINITY, f64::max);
        let is_infinite = least == f64::NEG_INFINITY || greatest == f64::INFINITY;
        let nan = nan.into_iter().map(Into::into).sum::<f64>() as u64 - repeated as u64;
        (!is_marked && !is_infinite).then_some(Plain { range: (least, greatest), nan })
    }
}

/// A number, or its bytes; the default is 0.
pub(crate) trait Value: Copy + Default {
    type Number: Float + Into<f64>;

    fn number(self) -> Self::Number;
}

impl Value for f64 {
    type Number = Self;

    #[inline(always)]
    fn number(self) -> Self {
        self
    }
}

/// The bytes of a `float32`.
impl Value for [u8; 4] {
    type Number = f32;

    #[inline(always)]
    fn number(self) -> f32 {
        f32::from_ne_bytes(self)
    }
}

/// The bytes of a `float64`.
impl Value for [u8; 8] {
    type Number = f64;

    #[inline(always)]
    fn number(self) -> f64 {
        f64::from_ne_bytes(self)
    }
}

/// The largest distance of some numbers, multiplied by a factor, from a whole number. The products are below 2^50.
/// NaN and infinities are ignored.
pub(crate) fn farthest_from_whole<T: Value>(numbers: &[T], factor: f64) -> f64 {
    Arch::new().dispatch(FromWhole { numbers, factor })
}

struct FromWhole<'a, T> {
    numbers: &'a [T],
    factor: f64,
}

impl<T: Value> WithSimd for FromWhole<'_, T> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        /// Adding it to a number leaves no bits for a fraction.
        const ROUNDS: f64 = 6_755_399_441_055_744.0;
        let mut most = [0.0_f64; LANES];
        let (rows, rest) = self.numbers.as_chunks::<LANES>();
        let mut add = |row: &[T; LANES]| {
            for lane in 0..LANES {
                let product = row[lane].number().into() * self.factor;
                let distance = (product - ((product + ROUNDS) - ROUNDS)).abs();
                most[lane] = if distance > most[lane] { distance } else { most[lane] };
            }
        };
        for row in rows {
            add(row);
        }
        add(&padded(rest, T::default()));
        most.into_iter().fold(0.0, f64::max)
    }
}

/// The differences of two blocks of plain elements; `None` for another type, or if an element is a marker, NaN or
/// infinite.
pub(crate) fn differences<N: Number>(
    element_type: ElementType,
    before: &[u8],
    after: &[u8],
    markers: &[N],
) -> Option<Sums> {
    match Elements::of(element_type, before)? {
        Elements::Float32(before) => differences_of(before, after.as_chunks().0, markers),
        Elements::Float64(before) => differences_of(before, after.as_chunks().0, markers),
    }
}

fn differences_of<T: Value, N: Number>(before: &[T], after: &[T], markers: &[N]) -> Option<Sums> {
    with_markers!(markers, Number::to_f64, |markers| {
        Arch::new().dispatch(Pairs { before, after, markers })
    })
}

struct Pairs<'a, T, const M: usize> {
    before: &'a [T],
    after: &'a [T],
    markers: [f64; M],
}

impl<T: Value, const M: usize> WithSimd for Pairs<'_, T, M> {
    type Output = Option<Sums>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let mut max = [0.0; LANES];
        let mut distances = [0.0; LANES];
        let mut signed = [0.0; LANES];
        let mut squares = [0.0; LANES];
        let mut add = |xs: &[T; LANES], ys: &[T; LANES]| {
            for lane in 0..LANES {
                let (x, y): (f64, f64) = (xs[lane].number().into(), ys[lane].number().into());
                let mut is_marker = false;
                for marker in self.markers {
                    is_marker |= (x == marker) | (y == marker);
                }
                // NaN if one is NaN, infinite or a marker; then the sum is NaN too.
                let difference = if is_marker { f64::NAN } else { y - x };
                let distance = difference.abs();
                max[lane] = if distance > max[lane] { distance } else { max[lane] };
                distances[lane] += distance;
                signed[lane] += difference;
                squares[lane] += distance * distance;
            }
        };
        let (before, before_rest) = self.before.as_chunks::<LANES>();
        let (after, after_rest) = self.after.as_chunks::<LANES>();
        for (xs, ys) in before.iter().zip(after) {
            add(xs, ys);
        }
        if let Some(&one) = before_rest.first() {
            add(&padded(before_rest, one), &padded(after_rest, one));
        }
        let total = Sums {
            elements: self.before.len() as u64,
            max: max.into_iter().fold(0.0, f64::max),
            distances: distances.into_iter().sum(),
            differences: signed.into_iter().sum(),
            squares: squares.into_iter().sum(),
            ..Sums::default()
        };
        total.distances.is_finite().then_some(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nan_counts_once_wherever_it_stands() {
        let mut values = [2.0_f32; 75];
        for (count, index) in [74, 64, 5, 33, 70].into_iter().enumerate() {
            values[index] = f32::NAN;
            let bytes = bytes(&values);
            let found = Elements::of(ElementType::Float32, &bytes).unwrap().range::<f64>(&[]);
            assert_eq!(found, Some(Plain { range: (2.0, 2.0), nan: count as u64 + 1 }));
        }
        let none = Plain { range: (f64::INFINITY, f64::NEG_INFINITY), nan: 33 };
        let found = Elements::of(ElementType::Float64, &f64::NAN.to_ne_bytes().repeat(33))
            .unwrap()
            .range::<f64>(&[]);
        assert_eq!(found, Some(none));
    }

    #[test]
    fn the_number_that_is_farthest_from_a_whole_one_counts_and_what_is_not_finite_does_not() {
        let mut numbers = [3.0_f32; 70];
        numbers[7] = f32::NAN;
        numbers[40] = f32::NEG_INFINITY;
        for (place, number, expected) in [(0, 2.25, 0.25), (33, -1.75, 0.25), (69, 0.125, 0.125)] {
            numbers[place] = number;
            assert_eq!(farthest_from_whole(&numbers.map(f32::to_ne_bytes), 1.0), expected);
            let wide = numbers.map(f64::from);
            assert_eq!(farthest_from_whole(&wide, 1.0), expected);
            assert_eq!(farthest_from_whole(&wide.map(f64::to_ne_bytes), 1.0), expected);
            assert_eq!(farthest_from_whole(&wide, 16.0), 0.0);
            numbers[place] = 3.0;
        }
    }

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    #[test]
    fn only_plain_blocks_have_differences_and_with_nan_a_range() {
        let plain: Vec<f32> = (0..37).map(|i| 5.0 - i as f32).collect();
        let float32 = ElementType::Float32;
        let range = |bytes: &[u8], markers: &[f64]| Elements::of(float32, bytes)?.range(markers);
        let expected = Some(Plain { range: (-31.0, 5.0), nan: 0 });
        assert_eq!(range(&bytes(&plain), &[]), expected);
        assert_eq!(range(&bytes(&plain), &[7.0, 8.0]), expected);
        assert_eq!(range(&bytes(&plain), &[7.0, 8.0, 9.0]), expected);
        assert_eq!(range(&bytes(&plain), &[7.0, 8.0, 9.0, 10.0]), expected);
        assert_eq!(range(&bytes(&plain), &[7.0, 8.0, 9.0, -31.0]), None);
        assert_eq!(range(&bytes(&plain), &[7.0, 8.0, 9.0, 10.0, 11.0]), None);
        let shifted: Vec<f32> = plain.iter().map(|value| value - 0.5).collect();
        let expected = Sums {
            elements: 37,
            max: 0.5,
            distances: 18.5,
            differences: -18.5,
            squares: 9.25,
            ..Sums::default()
        };
        let found = differences::<f64>(float32, &bytes(&plain), &bytes(&shifted), &[]);
        assert_eq!(found, Some(expected));
        for (index, odd) in [(0, f32::NAN), (8, f32::INFINITY), (36, f32::NEG_INFINITY), (9, 77.0)]
        {
            let mut values = plain.clone();
            values[index] = odd;
            let (values, plain) = (bytes(&values), bytes(&plain));
            let with_nan = Plain { range: (-31.0, 4.0), nan: 1 };
            assert_eq!(range(&values, &[77.0]), odd.is_nan().then_some(with_nan), "{odd}");
            assert_eq!(differences(float32, &values, &plain, &[77.0]), None, "{odd}");
            assert_eq!(differences(float32, &plain, &values, &[5.5, 77.0]), None, "{odd}");
        }
    }
}

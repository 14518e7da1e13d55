//! Sums over blocks of `float32` and `float64` elements, in vector registers. NaN, infinities and markers are counted,
//! for whole continents and cloud covers consist of them; only what may be wrong needs individual checks.
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

    /// What the elements are, and the range of the numbers among them; `None` if there are too many markers.
    pub(crate) fn kinds<N: Number>(self, markers: &[N]) -> Option<Kinds> {
        match self {
            Self::Float32(elements) => kinds(elements, markers),
            Self::Float64(elements) => kinds(elements, markers),
        }
    }
}

fn kinds<T: Value, N: Number>(elements: &[T], markers: &[N]) -> Option<Kinds> {
    // In the type of the elements, whose values the markers are.
    let marker = |marker: N| num_traits::cast(marker.to_f64()).unwrap_or_else(T::Number::nan);
    with_markers!(markers, marker, |markers| {
        let arch = Arch::new();
        // Most blocks need no second look.
        let numbers = arch.dispatch(OfEach::<_, _, _, false> { elements, markers });
        let (least, greatest) = numbers.range;
        let is_settled =
            numbers.marked == 0 && least != f64::NEG_INFINITY && greatest != f64::INFINITY;
        Some(if is_settled {
            numbers
        } else {
            arch.dispatch(OfEach::<_, _, _, true> { elements, markers })
        })
    })
}

/// How many elements are of each kind, and the range of the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Kinds {
    /// Of elements that are none of the below; without any, the ends are reversed.
    pub(crate) range: (f64, f64),
    pub(crate) nan: u64,
    pub(crate) marked: u64,
    /// Infinities that are no markers.
    pub(crate) infinite: u64,
}

/// `OTHERS`: whether elements may be markers and infinities. Otherwise, they are in the range.
struct OfEach<'a, T, R, const M: usize, const OTHERS: bool> {
    elements: &'a [T],
    markers: [R; M],
}

impl<T, R, const M: usize, const OTHERS: bool> OfEach<'_, T, R, M, OTHERS>
where
    T: Value<Number = R>,
    R: Float + Into<f64>,
{
    /// Whether an element is NaN, a marker, an infinity that is none.
    #[inline(always)]
    fn kind(&self, x: R) -> [bool; 3] {
        let is_marker = is_one_of(x, self.markers);
        [x != x, is_marker, OTHERS & (x.abs() == R::infinity()) & !is_marker]
    }
}

impl<T, R, const M: usize, const OTHERS: bool> WithSimd for OfEach<'_, T, R, M, OTHERS>
where
    T: Value<Number = R>,
    R: Float + Into<f64>,
{
    type Output = Kinds;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let mut least = [R::infinity(); LANES];
        let mut greatest = [R::neg_infinity(); LANES];
        let mut counts = [[R::zero(); LANES]; 3];
        // Only loops over all lanes: others would keep them out of registers.
        let mut add = |row: &[T; LANES]| {
            for lane in 0..LANES {
                let x = row[lane].number();
                let kind = self.kind(x);
                for (count, is_it) in counts.iter_mut().zip(kind) {
                    count[lane] = count[lane] + if is_it { R::one() } else { R::zero() };
                }
                let x = if OTHERS & (kind[1] | kind[2]) { R::nan() } else { x };
                least[lane] = if x < least[lane] { x } else { least[lane] };
                greatest[lane] = if x > greatest[lane] { x } else { greatest[lane] };
            }
        };
        let (rows, rest) = self.elements.as_chunks::<LANES>();
        for row in rows {
            add(row);
        }
        let mut repeated = [0; 3];
        if let Some(&one) = rest.first() {
            add(&padded(rest, one));
            let copies = (LANES - rest.len()) as u64;
            repeated = self.kind(one.number()).map(|is_it| if is_it { copies } else { 0 });
        }
        let sums = counts.map(|count| count.into_iter().map(Into::into).sum::<f64>() as u64);
        Kinds {
            range: (
                least.into_iter().map(Into::into).fold(f64::INFINITY, f64::min),
                greatest.into_iter().map(Into::into).fold(f64::NEG_INFINITY, f64::max),
            ),
            nan: sums[0] - repeated[0],
            marked: sums[1] - repeated[1],
            infinite: sums[2] - repeated[2],
        }
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

/// Values that no error counts, of an array and of what it has become.
#[derive(Clone, Debug)]
pub(crate) struct Special<N> {
    /// The missing markers.
    pub(crate) markers: Vec<N>,
    /// Other values that no statistic counts if they come back.
    pub(crate) fill: Vec<N>,
    /// Missing markers among decoded elements only.
    pub(crate) masked_after: Vec<N>,
}

/// The sums of two blocks in which every NaN, infinity and marker comes back, and no other element becomes one. `None`
/// for other blocks, another type, and more special values than fit registers.
pub(crate) fn differences<N: Number>(
    element_type: ElementType,
    before: &[u8],
    after: &[u8],
    special: &Special<N>,
) -> Option<Sums> {
    match Elements::of(element_type, before)? {
        Elements::Float32(before) => differences_of(before, after.as_chunks().0, special),
        Elements::Float64(before) => differences_of(before, after.as_chunks().0, special),
    }
}

fn differences_of<T: Value, N: Number>(
    before: &[T],
    after: &[T],
    special: &Special<N>,
) -> Option<Sums> {
    let arch = Arch::new();
    let Special { markers, fill, masked_after } = special;
    // Most blocks need no second look.
    let all = [markers.as_slice(), fill, masked_after].concat();
    let numbers = with_markers!(all.as_slice(), Number::to_f64, |special| {
        arch.dispatch(Pairs { before, after, special: Absent(special) })
    });
    numbers.or_else(|| {
        // NaN equals no element.
        let only = |values: &[N]| match *values {
            [] => Some(f64::NAN),
            [one] => Some(one.to_f64()),
            _ => None,
        };
        let (fill, masked_after) = (only(fill)?, only(masked_after)?);
        with_markers!(markers.as_slice(), Number::to_f64, |markers| {
            let special = Returning { markers, fill, masked_after };
            arch.dispatch(Pairs { before, after, special })
        })
    })
}

/// Which elements are special.
trait Specials {
    /// Whether an element is special before and after, and comes back.
    fn comes_back(&self, x: f64, y: f64) -> bool;

    /// Whether an element that does not come back is or becomes special, other than NaN and infinite.
    fn is_wrong(&self, x: f64, y: f64) -> bool;

    /// Counts the elements in `sums`, of which so many come back.
    fn count(&self, before: &[impl Value], back: u64, sums: &mut Sums);
}

/// No element is special; blocks with others have no sums.
struct Absent<const M: usize>([f64; M]);

impl<const M: usize> Specials for Absent<M> {
    #[inline(always)]
    fn comes_back(&self, _: f64, _: f64) -> bool {
        false
    }

    #[inline(always)]
    fn is_wrong(&self, x: f64, y: f64) -> bool {
        is_one_of(x, self.0) | is_one_of(y, self.0)
    }

    #[inline(always)]
    fn count(&self, _: &[impl Value], _: u64, _: &mut Sums) {}
}

/// Special elements come back.
struct Returning<const M: usize> {
    markers: [f64; M],
    fill: f64,
    masked_after: f64,
}

impl<const M: usize> Specials for Returning<M> {
    #[inline(always)]
    fn comes_back(&self, x: f64, y: f64) -> bool {
        let is_special = is_one_of(x, self.markers) | (x == self.fill) | (x.abs() == f64::INFINITY);
        ((x != x) & (y != y)) | ((x == y) & is_special)
    }

    #[inline(always)]
    fn is_wrong(&self, x: f64, y: f64) -> bool {
        is_one_of(x, self.markers) | is_one_of(y, self.markers) | (y == self.masked_after)
    }

    #[inline(always)]
    fn count(&self, before: &[impl Value], back: u64, sums: &mut Sums) {
        let count = |is_it: &dyn Fn(f64) -> bool| -> u64 {
            before.iter().map(|x| u64::from(is_it(x.number().into()))).sum()
        };
        let is_marker = |x| is_one_of(x, self.markers);
        sums.nan = count(&|x| x != x);
        sums.missing = count(&is_marker);
        sums.infinite = count(&|x| (x.abs() == f64::INFINITY) & !is_marker(x) & (x != self.fill));
        sums.fill = back - sums.nan - sums.missing - sums.infinite;
    }
}

#[inline(always)]
fn is_one_of<R: Copy + PartialEq, const M: usize>(x: R, values: [R; M]) -> bool {
    let mut is_one = false;
    for value in values {
        is_one |= x == value;
    }
    is_one
}

struct Pairs<'a, T, S> {
    before: &'a [T],
    after: &'a [T],
    special: S,
}

impl<T: Value, P: Specials> WithSimd for Pairs<'_, T, P> {
    type Output = Option<Sums>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let Self { before, after, special } = self;
        let mut max = [0.0; LANES];
        let mut distances = [0.0; LANES];
        let mut signed = [0.0; LANES];
        let mut squares = [0.0; LANES];
        let mut back = [0.0; LANES];
        let mut add = |xs: &[T; LANES], ys: &[T; LANES]| {
            for lane in 0..LANES {
                let (x, y): (f64, f64) = (xs[lane].number().into(), ys[lane].number().into());
                let comes_back = special.comes_back(x, y);
                // NaN or infinite if it is wrong; then the sum is that too.
                let difference = if special.is_wrong(x, y) { f64::NAN } else { y - x };
                let difference = if comes_back { 0.0 } else { difference };
                let distance = difference.abs();
                max[lane] = if distance > max[lane] { distance } else { max[lane] };
                distances[lane] += distance;
                signed[lane] += difference;
                squares[lane] += distance * distance;
                back[lane] += if comes_back { 1.0 } else { 0.0 };
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
            let x = x.number().into();
            repeated =
                if special.comes_back(x, x) { (LANES - before_rest.len()) as u64 } else { 0 };
        }
        let distances: f64 = distances.into_iter().sum();
        if !distances.is_finite() {
            return None;
        }
        let back = back.into_iter().sum::<f64>() as u64 - repeated;
        let mut total = Sums {
            elements: before.len() as u64 - back,
            max: max.into_iter().fold(0.0, f64::max),
            distances,
            differences: signed.into_iter().sum(),
            squares: squares.into_iter().sum(),
            ..Sums::default()
        };
        if back > 0 {
            special.count(before, back, &mut total);
        }
        Some(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_counts_once_as_what_it_is_wherever_it_stands() {
        let mut values = [2.0_f32; 75];
        for (count, index) in [74, 64, 5, 33, 70].into_iter().enumerate() {
            values[index] = f32::NAN;
            let bytes = bytes(&values);
            let found = Elements::of(ElementType::Float32, &bytes).unwrap().kinds::<f64>(&[]);
            let nan = count as u64 + 1;
            assert_eq!(found, Some(Kinds { range: (2.0, 2.0), nan, marked: 0, infinite: 0 }));
        }
        let range = (f64::INFINITY, f64::NEG_INFINITY);
        for (value, marker, nan, marked, infinite) in [
            (f64::NAN, 7.0, 33, 0, 0),
            (7.0, 7.0, 0, 33, 0),
            (f64::INFINITY, 7.0, 0, 0, 33),
            (f64::NEG_INFINITY, f64::NEG_INFINITY, 0, 33, 0),
        ] {
            let bytes = value.to_ne_bytes().repeat(33);
            let found = Elements::of(ElementType::Float64, &bytes).unwrap().kinds(&[marker]);
            assert_eq!(found, Some(Kinds { range, nan, marked, infinite }), "{value}");
        }
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
    fn a_range_is_that_of_the_elements_that_are_no_markers() {
        let values: Vec<f32> = (0..37).map(|i| 5.0 - i as f32).collect();
        let bytes = bytes(&values);
        let kinds = |markers: &[f64]| Elements::of(ElementType::Float32, &bytes)?.kinds(markers);
        let expected = Kinds { range: (-31.0, 5.0), nan: 0, marked: 0, infinite: 0 };
        for markers in [&[][..], &[7.0, 8.0], &[7.0, 8.0, 9.0], &[7.0, 8.0, 9.0, 10.0]] {
            assert_eq!(kinds(markers), Some(expected), "{markers:?}");
        }
        let expected = Kinds { range: (-30.0, 4.0), marked: 2, ..expected };
        assert_eq!(kinds(&[7.0, 5.0, 9.0, -31.0]), Some(expected));
        assert_eq!(kinds(&[7.0, 8.0, 9.0, 10.0, 11.0]), None);
        let mut with_nan = values.clone();
        with_nan[0] = f32::NAN;
        let with_nan = with_nan.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<_>>();
        let found = Elements::of(ElementType::Float32, &with_nan).unwrap().kinds(&[77.0]);
        let expected = Kinds { range: (-31.0, 4.0), nan: 1, marked: 0, infinite: 0 };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn the_sums_of_a_block_are_those_of_all_its_elements() {
        let values: Vec<f32> = (0..37).map(|i| 5.0 - i as f32).collect();
        let shifted: Vec<f32> = values.iter().map(|value| value - 0.5).collect();
        let expected = Sums {
            elements: 37,
            max: 0.5,
            distances: 18.5,
            differences: -18.5,
            squares: 9.25,
            ..Sums::default()
        };
        let special = Special::<f64> { markers: vec![], fill: vec![], masked_after: vec![] };
        let found = differences(ElementType::Float32, &bytes(&values), &bytes(&shifted), &special);
        assert_eq!(found, Some(expected));
    }

    /// Each value, what it becomes, and whether a block with it has sums.
    #[test]
    fn blocks_have_sums_if_what_is_no_number_comes_back_and_nothing_else_becomes_it() {
        let special = Special {
            markers: vec![77.0],
            fill: vec![f64::from(-1e30_f32)],
            masked_after: vec![99.0],
        };
        let nan = f32::NAN;
        let infinity = f32::INFINITY;
        let plain = Sums { elements: 37, ..Sums::default() };
        let other = Sums { elements: 36, ..Sums::default() };
        for (x, y, added) in [
            (
                2.0,
                2.5,
                Some(Sums { max: 0.5, distances: 0.5, differences: 0.5, squares: 0.25, ..plain }),
            ),
            (nan, nan, Some(Sums { nan: 1, ..other })),
            (77.0, 77.0, Some(Sums { missing: 1, ..other })),
            (-1e30, -1e30, Some(Sums { fill: 1, ..other })),
            (infinity, infinity, Some(Sums { infinite: 1, ..other })),
            (-infinity, -infinity, Some(Sums { infinite: 1, ..other })),
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
                let mut before = [1.0_f32; 37];
                let mut after = before;
                (before[index], after[index]) = (x, y);
                let [narrow_before, narrow_after] = [before, after].map(|values| bytes(&values));
                let wide = |values: [f32; 37]| values.map(|value| f64::from(value).to_ne_bytes());
                let found =
                    differences(ElementType::Float32, &narrow_before, &narrow_after, &special);
                assert_eq!(found, added, "{x} to {y} at {index}");
                let [before, after] = [before, after].map(|values| wide(values).concat());
                let found = differences(ElementType::Float64, &before, &after, &special);
                assert_eq!(found, added, "{x} to {y} at {index}");
            }
        }
        let many = Special { fill: vec![1.0, 2.0], ..special };
        let with_nan = bytes(&[1.0, nan]);
        assert_eq!(differences(ElementType::Float32, &with_nan, &with_nan, &many), None);
    }
}

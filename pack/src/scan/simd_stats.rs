//! Sums over blocks of `float32` and `float64` elements without NaN, infinities and markers: most
//! blocks of most arrays are such, and their elements need no care one by one.
//!
//! The lanes make the order of the additions the same on every CPU.

// Lanes are indexed, conditions are joined without a branch, and x − x is NaN where x is not finite.
#![allow(clippy::needless_range_loop, clippy::needless_bitwise_bool, clippy::eq_op)]

use num_traits::Float;
use pulp::{Arch, Simd, WithSimd};
use recast_kernels::ElementType;

use super::sums::Sums;

/// Elements side by side. Of a loop over so many the compiler makes vectors; of one over few it makes
/// single instructions for each.
const LANES: usize = 32;

/// Some elements, and one of them as often as there is place.
#[inline(always)]
fn padded<const SIZE: usize>(elements: &[[u8; SIZE]], one: [u8; SIZE]) -> [[u8; SIZE]; LANES] {
    let mut row = [one; LANES];
    for (place, &element) in row.iter_mut().zip(elements) {
        *place = element;
    }
    row
}

/// Calls a generic function with so many markers as an array; `None` if there are too many.
macro_rules! with_markers {
    ($markers:expr, $real:ty, $call:expr) => {
        match *$markers {
            [] => $call([]),
            [one] => $call([one as $real]),
            [one, two] => $call([one as $real, two as $real]),
            _ => None,
        }
    };
}

/// The range of a block of plain elements; `None` if one of them is a marker, NaN or infinite, or of
/// another type.
pub(crate) fn range(
    element_type: ElementType,
    bytes: &[u8],
    markers: &[f64],
) -> Option<(f64, f64)> {
    fn of_float32<const M: usize>(bytes: &[u8], markers: [f32; M]) -> Option<(f64, f64)> {
        let elements = bytes.as_chunks().0;
        Arch::new().dispatch(Range { elements, markers, decode: f32::from_ne_bytes })
    }
    fn of_float64<const M: usize>(bytes: &[u8], markers: [f64; M]) -> Option<(f64, f64)> {
        let elements = bytes.as_chunks().0;
        Arch::new().dispatch(Range { elements, markers, decode: f64::from_ne_bytes })
    }
    match element_type {
        ElementType::Float32 => {
            with_markers!(markers, f32, |markers| of_float32(bytes, markers))
        }
        ElementType::Float64 => {
            with_markers!(markers, f64, |markers| of_float64(bytes, markers))
        }
        _ => None,
    }
}

struct Range<'a, R, const SIZE: usize, const M: usize, F> {
    elements: &'a [[u8; SIZE]],
    markers: [R; M],
    decode: F,
}

impl<R, const SIZE: usize, const M: usize, F> WithSimd for Range<'_, R, SIZE, M, F>
where
    R: Float + Into<f64>,
    F: Fn([u8; SIZE]) -> R,
{
    type Output = Option<(f64, f64)>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let mut least = [R::infinity(); LANES];
        let mut greatest = [R::neg_infinity(); LANES];
        // NaN after an element that is not plain.
        let mut odd = [R::zero(); LANES];
        // Only loops over all lanes, as others would keep them out of registers.
        let mut add = |row: &[[u8; SIZE]; LANES]| {
            for lane in 0..LANES {
                let x = (self.decode)(row[lane]);
                let mut is_marker = false;
                for marker in self.markers {
                    is_marker |= x == marker;
                }
                odd[lane] = odd[lane] + if is_marker { R::nan() } else { x - x };
                least[lane] = if x < least[lane] { x } else { least[lane] };
                greatest[lane] = if x > greatest[lane] { x } else { greatest[lane] };
            }
        };
        let (rows, rest) = self.elements.as_chunks::<LANES>();
        for row in rows {
            add(row);
        }
        if let Some(&one) = rest.first() {
            add(&padded(rest, one));
        }
        let is_plain = !odd.into_iter().any(|odd| odd.into().is_nan());
        let least = least.into_iter().map(Into::into).fold(f64::INFINITY, f64::min);
        let greatest = greatest.into_iter().map(Into::into).fold(f64::NEG_INFINITY, f64::max);
        is_plain.then_some((least, greatest))
    }
}

/// How far the farthest of some finite numbers is from a whole one, once they are multiplied by a factor; below
/// 2^50 then.
pub(crate) fn farthest_from_whole(numbers: &[f64], factor: f64) -> f64 {
    Arch::new().dispatch(FromWhole { numbers, factor })
}

struct FromWhole<'a> {
    numbers: &'a [f64],
    factor: f64,
}

impl WithSimd for FromWhole<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        /// Added to a number, it leaves no place for a fraction.
        const ROUNDS: f64 = 6_755_399_441_055_744.0;
        let mut most = [0.0_f64; LANES];
        let (rows, rest) = self.numbers.as_chunks::<LANES>();
        let mut last = [0.0; LANES];
        for (place, &number) in last.iter_mut().zip(rest) {
            *place = number;
        }
        for row in rows.iter().chain([&last]) {
            for lane in 0..LANES {
                let product = row[lane] * self.factor;
                let distance = (product - ((product + ROUNDS) - ROUNDS)).abs();
                most[lane] = if distance > most[lane] { distance } else { most[lane] };
            }
        }
        most.into_iter().fold(0.0, f64::max)
    }
}

/// The differences of two blocks of plain elements; `None` if one of them is a marker, NaN or infinite, or
/// of another type.
pub(crate) fn differences(
    element_type: ElementType,
    before: &[u8],
    after: &[u8],
    markers: &[f64],
) -> Option<Sums> {
    fn of_float32<const M: usize>(before: &[u8], after: &[u8], markers: [f64; M]) -> Option<Sums> {
        let (before, after) = (before.as_chunks().0, after.as_chunks().0);
        let decode = |bytes: [u8; 4]| f64::from(f32::from_ne_bytes(bytes));
        Arch::new().dispatch(Pairs { before, after, markers, decode })
    }
    fn of_float64<const M: usize>(before: &[u8], after: &[u8], markers: [f64; M]) -> Option<Sums> {
        let (before, after) = (before.as_chunks().0, after.as_chunks().0);
        Arch::new().dispatch(Pairs { before, after, markers, decode: f64::from_ne_bytes })
    }
    match element_type {
        ElementType::Float32 => {
            with_markers!(markers, f64, |markers| of_float32(before, after, markers))
        }
        ElementType::Float64 => {
            with_markers!(markers, f64, |markers| of_float64(before, after, markers))
        }
        _ => None,
    }
}

struct Pairs<'a, const SIZE: usize, const M: usize, F> {
    before: &'a [[u8; SIZE]],
    after: &'a [[u8; SIZE]],
    markers: [f64; M],
    decode: F,
}

impl<const SIZE: usize, const M: usize, F> WithSimd for Pairs<'_, SIZE, M, F>
where
    F: Fn([u8; SIZE]) -> f64,
{
    type Output = Option<Sums>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let mut max = [0.0; LANES];
        let mut distances = [0.0; LANES];
        let mut signed = [0.0; LANES];
        let mut squares = [0.0; LANES];
        let mut add = |xs: &[[u8; SIZE]; LANES], ys: &[[u8; SIZE]; LANES]| {
            for lane in 0..LANES {
                let (x, y) = ((self.decode)(xs[lane]), (self.decode)(ys[lane]));
                let mut is_marker = false;
                for marker in self.markers {
                    is_marker |= (x == marker) | (y == marker);
                }
                // NaN if one is NaN, infinite or a marker; and then so is a sum.
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

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    #[test]
    fn only_plain_blocks_have_a_range_and_differences() {
        let plain: Vec<f32> = (0..37).map(|i| 5.0 - i as f32).collect();
        let float32 = ElementType::Float32;
        assert_eq!(range(float32, &bytes(&plain), &[]), Some((-31.0, 5.0)));
        assert_eq!(range(float32, &bytes(&plain), &[7.0, 8.0]), Some((-31.0, 5.0)));
        assert_eq!(range(float32, &bytes(&plain), &[7.0, 8.0, 9.0]), None);
        let shifted: Vec<f32> = plain.iter().map(|value| value - 0.5).collect();
        let expected = Sums {
            elements: 37,
            max: 0.5,
            distances: 18.5,
            differences: -18.5,
            squares: 9.25,
            ..Sums::default()
        };
        let found = differences(float32, &bytes(&plain), &bytes(&shifted), &[]);
        assert_eq!(found, Some(expected));
        for (index, odd) in [(0, f32::NAN), (8, f32::INFINITY), (36, f32::NEG_INFINITY), (9, 77.0)]
        {
            let mut values = plain.clone();
            values[index] = odd;
            let (values, plain) = (bytes(&values), bytes(&plain));
            assert_eq!(range(float32, &values, &[77.0]), None, "{odd}");
            assert_eq!(differences(float32, &values, &plain, &[77.0]), None, "{odd}");
            assert_eq!(differences(float32, &plain, &values, &[5.5, 77.0]), None, "{odd}");
        }
    }
}

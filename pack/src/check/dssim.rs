//! The structural similarity of fields of numbers: DSSIM of Baker, Pinard and Hammerling (2024,
//! doi:10.1109/TVCG.2023.3332843), as their program ldcpy computes it.

use serde::Serialize;

/// Each value is compared with those at most this far away.
const REACH: usize = 5;
/// The width of the Gaussian that weights them.
const SIGMA: f64 = 1.5;
/// Values are rounded to so many steps between the least and the greatest.
const STEPS: f64 = 255.0;
/// Keeps constant fields from being 0/0.
const SMALL: f64 = 1e-8;

/// The DSSIM of fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Similarity {
    /// The least of all fields: 1 for equal ones.
    pub least: f64,
    /// The mean of all fields.
    pub mean: f64,
    /// How many fields there are.
    pub fields: u64,
    /// Where the field with the least begins.
    pub at: Vec<u64>,
}

/// The fewest rows and columns of a field that has a DSSIM.
pub(crate) const LEAST_EXTENT: u64 = 2 * REACH as u64 + 1;

/// The DSSIM of two fields with rows of a length; NaN are left out. `None` if nothing is left.
pub(crate) fn dssim(a: &[f64], b: &[f64], columns: usize) -> Option<f64> {
    let is_value = |(x, y): &(&f64, &f64)| !(x.is_nan() || y.is_nan());
    let (least, greatest) = a
        .iter()
        .zip(b)
        .filter(is_value)
        .flat_map(|(x, y)| [*x, *y])
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, greatest), x| {
            (least.min(x), greatest.max(x))
        });
    let extent = greatest - least;
    if !extent.is_finite() {
        return None;
    }
    let scaled = |x: f64| {
        let part = match (extent == 0.0, greatest == 0.0) {
            (true, true) => x,
            (true, false) => x / greatest,
            (false, _) => (x - least) / extent,
        };
        (part * STEPS).round_ties_even() / STEPS
    };
    let pairs: Vec<[f64; 2]> = a
        .iter()
        .zip(b)
        .map(
            |pair| if is_value(&pair) { [scaled(*pair.0), scaled(*pair.1)] } else { [f64::NAN; 2] },
        )
        .collect();
    let blurred = |number: fn([f64; 2]) -> f64| {
        let numbers = pairs.iter().map(|pair| if pair[0].is_nan() { 0.0 } else { number(*pair) });
        blur(&numbers.collect::<Vec<_>>(), columns)
    };
    let weights = blurred(|_| 1.0);
    let sums = [
        blurred(|[x, _]| x),
        blurred(|[_, y]| y),
        blurred(|[x, _]| x * x),
        blurred(|[_, y]| y * y),
        blurred(|[x, y]| x * y),
    ];
    let (mut total, mut count) = (0.0, 0_u64);
    let inner_columns = columns.saturating_sub(2 * REACH);
    let rows = (pairs.len() / columns.max(1)).saturating_sub(2 * REACH);
    let centres = pairs.chunks(columns.max(1)).skip(REACH).take(rows);
    let centres = centres.flat_map(|row| row.iter().skip(REACH).take(inner_columns));
    for (index, pair) in centres.enumerate() {
        let (weight, sums) = (weights.get(index), sums.each_ref().map(|sum| sum.get(index)));
        let (Some(weight), [Some(x), Some(y), Some(xx), Some(yy), Some(xy)]) = (weight, sums)
        else {
            continue;
        };
        if pair[0].is_nan() {
            continue;
        }
        let [x, y, xx, yy, xy] = [x, y, xx, yy, xy].map(|sum| sum / weight);
        let level = (2.0 * x * y + SMALL) / (x * x + y * y + SMALL);
        let structure = (2.0 * (xy - x * y) + SMALL) / ((xx - x * x) + (yy - y * y) + SMALL);
        total += level * structure;
        count += 1;
    }
    (count > 0).then(|| total / count as f64)
}

/// Sums of a field weighted by a Gaussian, at the places that are farther than [`REACH`] from its edges.
fn blur(numbers: &[f64], columns: usize) -> Vec<f64> {
    let weights: [f64; 2 * REACH + 1] = std::array::from_fn(|place| {
        let distance = place as f64 - REACH as f64;
        (-0.5 * (distance / SIGMA).powi(2)).exp()
    });
    let columns = columns.max(1);
    let along_rows: Vec<f64> = numbers
        .chunks(columns)
        .flat_map(|row| row.windows(weights.len()))
        .map(|window| window.iter().zip(&weights).map(|(number, weight)| number * weight).sum())
        .collect();
    let inner = (columns + 1).saturating_sub(weights.len());
    let rows = numbers.len() / columns;
    let mut both = Vec::with_capacity(along_rows.len());
    for row in 0..(rows + 1).saturating_sub(weights.len()) {
        let start = both.len();
        both.resize(start + inner, 0.0);
        for (place, weight) in weights.iter().enumerate() {
            let from = along_rows.iter().skip((row + place) * inner);
            for (sum, number) in both.iter_mut().skip(start).zip(from) {
                *sum += number * weight;
            }
        }
    }
    both
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(rows: usize, columns: usize) -> Vec<f64> {
        let place = |index: usize| ((index / columns) as f64, (index % columns) as f64);
        (0..rows * columns)
            .map(place)
            .map(|(row, column)| (row / 3.0).sin() + (column / 4.0).cos())
            .collect()
    }

    #[test]
    fn equal_fields_have_1_and_others_less() {
        let a = field(16, 20);
        assert!((dssim(&a, &a, 20).unwrap() - 1.0).abs() < 1e-12);
        let noisy: Vec<f64> = a
            .iter()
            .enumerate()
            .map(|(index, x)| x + 0.1 * ((index * 7919 % 13) as f64 / 6.5 - 1.0))
            .collect();
        let worse = dssim(&a, &noisy, 20).unwrap();
        assert!((0.1..0.999).contains(&worse), "{worse}");
        // Constant fields.
        assert_eq!(dssim(&[3.0; 121], &[3.0; 121], 11), Some(1.0));
        assert_eq!(dssim(&[0.0; 121], &[0.0; 121], 11), Some(1.0));
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        let a = field(16, 20);
        let mut with_nan = a.clone();
        with_nan[7 * 20 + 9] = f64::NAN;
        assert!((dssim(&with_nan, &a, 20).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(dssim(&[f64::NAN; 121], &[1.0; 121], 11), None);
        assert_eq!(dssim(&field(10, 20), &field(10, 20), 20), None);
    }
}

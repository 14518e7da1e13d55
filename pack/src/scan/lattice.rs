//! Finds the step of values that are multiples of one which is not round, such as whole metres given in feet: an
//! approximate greatest common divisor of their differences.

use serde::{Deserialize, Serialize};

/// Fewer different values than this may be multiples of a step by chance.
const LEAST_VALUES: usize = 16;
/// A step is at least this many times as long as values may be away from its multiples.
const STEP_IN_TOLERANCES: f64 = 16.0;
/// Each new divisor is at most half as long, so there are not many before one is too short.
const MOST_DIVISORS: usize = 128;

/// Points at equal distances: `origin` and all that are a whole number of steps away from it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Lattice {
    /// The distance of two neighbours.
    pub step: f64,
    /// The point nearest to 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub origin: f64,
}

// Serde passes a reference to the field.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl std::fmt::Display for Lattice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { step, origin } = self;
        if *origin == 0.0 {
            return write!(f, "multiples of {step:?}");
        }
        write!(f, "{origin:?} and multiples of {step:?} from it")
    }
}

impl Lattice {
    /// The multiples of a step.
    pub(crate) fn multiples_of(step: f64) -> Self {
        Self { step, origin: 0.0 }
    }

    /// The nearest point.
    pub(crate) fn nearest(&self, number: f64) -> f64 {
        self.origin + ((number - self.origin) / self.step).round() * self.step
    }

    /// The nearest point that is not above a number, except by a rounding error.
    pub(crate) fn below(&self, number: f64) -> f64 {
        self.origin + ((number - self.origin) / self.step + 1e-6).floor() * self.step
    }

    /// The longest step of which all values are multiples, from the nearest of them to 0, if it is longer than a bound
    /// for the error requires. Values may be away from the multiples by their rounding, and by a small part of the bound.
    pub(crate) fn of(values: &[f64], rounding: f64, bound: f64) -> Option<Self> {
        let tolerance = (2.0 * rounding).max(bound / STEP_IN_TOLERANCES);
        let least = (2.0 * bound).max(STEP_IN_TOLERANCES * tolerance);
        let mut values: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        values.dedup_by(|value, last| *value - *last <= 2.0 * tolerance);
        let (&first, &end) = values.first().zip(values.last())?;
        if values.len() < LEAST_VALUES || !(end - first).is_finite() {
            return None;
        }
        let gaps = || values.iter().zip(values.iter().skip(1)).map(|(one, next)| next - one);
        let mut sorted: Vec<f64> = gaps().collect();
        sorted.sort_by(f64::total_cmp);
        let step = common_divisor(&sorted, tolerance, least)?;
        // Each value's number of steps from the first one; neighbours are near enough to count them.
        let mut count = 0.0;
        let counts = gaps().map(|gap| {
            count += (gap / step).round();
            count
        });
        let counts: Vec<f64> = std::iter::once(0.0).chain(counts).collect();
        let points: Vec<(f64, f64)> = counts.into_iter().zip(values).collect();
        let found = through_zero(&points, step, tolerance, rounding);
        let found = found.or_else(|| fitted(&points, tolerance, rounding))?;
        (found.step >= least).then_some(found)
    }
}

/// The longest step of which all gaps, sorted, are multiples.
fn common_divisor(gaps: &[f64], tolerance: f64, least: f64) -> Option<f64> {
    let mut divisor = *gaps.first()?;
    for _ in 0..MOST_DIVISORS {
        if divisor < least {
            return None;
        }
        // The sums of the gaps and of their steps so far; together they say the step ever better.
        let (mut length, mut steps) = (divisor, 1.0);
        let rest = gaps.iter().find_map(|gap| {
            let step = length / steps;
            let count = (gap / step).round();
            let rest = (gap - count * step).abs();
            if rest > 2.0 * tolerance * (1.0 + count / steps) {
                return Some((step, rest));
            }
            length += gap;
            steps += count;
            None
        });
        let Some((step, rest)) = rest else { return Some(length / steps) };
        divisor = euclid(step, rest, 4.0 * tolerance);
    }
    None
}

fn euclid(mut a: f64, mut b: f64, zero: f64) -> f64 {
    while b > zero {
        (a, b) = (b, (a - (a / b).round() * b).abs());
    }
    a
}

/// The largest distance of a value from its point.
fn farthest(points: &[(f64, f64)], point: impl Fn(f64) -> f64) -> f64 {
    points.iter().fold(0.0, |most: f64, (count, value)| most.max((point(*count) - value).abs()))
}

/// The slope of the line that is nearest to the points, by least squares, of all through one point.
fn slope(points: &[(f64, f64)], (count, value): (f64, f64)) -> f64 {
    let sums = points.iter().fold((0.0, 0.0), |(products, squares), point| {
        let steps = point.0 - count;
        (products + steps * (point.1 - value), squares + steps * steps)
    });
    sums.0 / sums.1
}

/// The step whose multiples are within the tolerance of the values, if there is one. Values may be farther by `rounding` from
/// the multiples of a step with fewer digits.
fn through_zero(
    points: &[(f64, f64)],
    step: f64,
    tolerance: f64,
    rounding: f64,
) -> Option<Lattice> {
    let (_, first) = *points.first()?;
    let start = (first / step).round();
    let step = slope(points, (-start, 0.0));
    let off = |step: f64| farthest(points, |count| (count + start) * step);
    let most = off(step) + rounding;
    let step = Some(step).filter(|step| step.is_finite() && off(*step) <= 2.0 * tolerance)?;
    Some(Lattice::multiples_of(shortest(step, |step| off(step) <= most)))
}

/// As [`through_zero`], but from any origin: the line through the values.
fn fitted(points: &[(f64, f64)], tolerance: f64, rounding: f64) -> Option<Lattice> {
    let number = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / number;
    let (count, value) = (mean(|point| point.0), mean(|point| point.1));
    let start = |step: f64| value - step * count;
    let off = |step: f64, start: f64| farthest(points, |count| count * step + start);
    let step = slope(points, (count, value));
    let most = off(step, start(step)) + rounding;
    if !step.is_finite() || most > 2.0 * tolerance + rounding {
        return None;
    }
    let step = shortest(step, |step| off(step, start(step)) <= most);
    let shift = (start(step) / step).round() * step;
    let will_do = |origin: f64| off(step, origin + shift) <= most + rounding;
    Some(Lattice { step, origin: shortest(start(step) - shift, will_do) })
}

/// The number with the fewest digits that will do in place of one, or whose inverse has the fewest.
fn shortest(number: f64, will_do: impl Fn(f64) -> bool) -> f64 {
    let digits = |number: f64, digits: usize| format!("{number:.digits$e}").parse::<f64>().ok();
    let candidates = (0..16).flat_map(|count| {
        let inverse = digits(1.0 / number, count).map(|inverse| 1.0 / inverse);
        [digits(number, count), inverse]
    });
    candidates.flatten().find(|&one| one.is_finite() && will_do(one)).unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some of the points of a lattice, as float32 holds them.
    fn rounded(step: f64, origin: f64, counts: impl Iterator<Item = i32>) -> Vec<f64> {
        counts.map(|count| f64::from((origin + step * f64::from(count)) as f32)).collect()
    }

    fn rounding(values: &[f64]) -> f64 {
        values.iter().fold(0.0_f64, |most, value| most.max(value.abs())) / f64::from(1 << 24)
    }

    #[test]
    fn the_step_and_the_origin_of_rounded_points_are_found() {
        let counts = || (0..900).map(|index| (index * 7919) % 4321 - 700);
        for (step, origin) in
            [(3.28, 0.0), (0.3048, 0.0), (1.0 / 3.0, 0.0), (0.7, 0.0), (12.5, 0.1), (1.8, 0.37)]
        {
            let values = rounded(step, origin, counts());
            for bound in [0.0, step / 100.0, step / 3.0] {
                let found = Lattice::of(&values, rounding(&values), bound).unwrap();
                let off = (found.nearest(origin) - origin).abs().max((found.step - step).abs());
                assert!(
                    off <= rounding(&values) + bound / 8.0,
                    "{step} {origin} {bound} {found:?}"
                );
                if bound == 0.0 {
                    assert_eq!(found.origin == 0.0, origin == 0.0, "{found:?}");
                    assert!((found.step - step).abs() <= 1e-15, "{found:?}");
                }
            }
        }
        // No two neighbours are one step apart, and no gap is a multiple of another.
        let sparse = rounded(
            3.28,
            0.0,
            (0..64).map(|index| index * 60 + [0, 6, 16, 31][index as usize % 4]),
        );
        assert_eq!(Lattice::of(&sparse, rounding(&sparse), 0.5), Some(Lattice::multiples_of(3.28)));
    }

    #[test]
    fn what_is_on_no_coarse_grid_has_none() {
        let noise = |index: i32| (f64::from(index) * 0.754_877_666).fract() * 100.0;
        let values: Vec<f64> = (0..2000).map(|index| f64::from(noise(index) as f32)).collect();
        for bound in [0.0, 1e-4, 0.01, 0.3] {
            assert_eq!(Lattice::of(&values, rounding(&values), bound), None, "{bound}");
        }
        let mut steps = rounded(3.28, 0.0, 0..500);
        assert!(Lattice::of(&steps, rounding(&steps), 0.5).is_some());
        assert_eq!(Lattice::of(&steps, rounding(&steps), 2.0), None);
        steps.push(1.0);
        assert_eq!(Lattice::of(&steps, rounding(&steps), 0.5), None);
        // Any few values would be on some.
        assert_eq!(Lattice::of(&[271.0, 310.0, 311.5], 1e-5, 0.01), None);
        assert_eq!(Lattice::of(&[], 0.0, 0.01), None);
        let wide: Vec<f64> = (0..20).map(|index| f64::from(index - 10) * 1.7e307).collect();
        let found = Lattice::of(&wide, 1e291, 1.0);
        assert!(found.is_none_or(|found| found.step.is_finite()));
    }

    #[test]
    fn a_lattice_says_its_points() {
        assert_eq!(Lattice::multiples_of(0.01).to_string(), "multiples of 0.01");
        let from = Lattice { step: 1.8, origin: 0.37 };
        assert_eq!(from.to_string(), "0.37 and multiples of 1.8 from it");
        assert_eq!(serde_json::to_string(&Lattice::multiples_of(3.0)).unwrap(), r#"{"step":3.0}"#);
        assert_eq!(from.below(3.9), 2.17);
        assert_eq!(from.nearest(3.9), 3.97);
    }
}

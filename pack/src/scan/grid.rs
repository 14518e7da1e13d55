//! Grids of round steps, and the distances of values from them. Measured and published numbers are often multiples of
//! 0.01 or the like, and then need fewer codes than the error bound alone requires.

use std::sync::LazyLock;

use recast_kernels::{ElementType, Format};

use super::lanes::{LANES, padded, vectorized};
use super::number::Number;

/// A grid is given up if a value is farther from it than this part of a step.
const FARTHEST: f64 = 0.45;
/// A value at most this part of a step from a coarser grid is equally far from a finer grid with all points of the
/// coarser one.
const CLOSE: f64 = 0.25;
/// The most steps between 0 and a value with a round scale; no code type has more.
const MOST_STEPS: f64 = 4_294_967_296.0;
/// Values that are tested before a grid may be given up.
const BATCH: usize = 64;

/// The inverse of a step that people choose: 2^twos · 5^fives.
struct RoundScale {
    value: f64,
    twos: i32,
    fives: i32,
}

impl RoundScale {
    /// Whether the grid has all points of another one.
    fn refines(&self, coarser: &Self) -> bool {
        self.twos >= coarser.twos && self.fives >= coarser.fives
    }
}

/// All of them, coarsest first: powers of ten with 2 and 5 times them, and powers of two.
static ROUND_SCALES: LazyLock<Vec<RoundScale>> = LazyLock::new(|| {
    let decimal = (-12..=15).flat_map(|exponent: i32| {
        // 10^-k as a quotient is the f64 nearest to it; a product of tenths is not.
        let power = 10_f64.powi(exponent.abs());
        let power = if exponent < 0 { 1.0 / power } else { power };
        [(1.0, 0, 0), (2.0, 1, 0), (5.0, 0, 1)].map(|(factor, twos, fives)| RoundScale {
            value: factor * power,
            twos: exponent + twos,
            fives: exponent + fives,
        })
    });
    let binary = (-40..=40).map(|twos| RoundScale { value: 2_f64.powi(twos), twos, fives: 0 });
    let mut scales: Vec<RoundScale> = decimal.chain(binary).collect();
    scales.sort_by(|a, b| a.value.total_cmp(&b.value));
    scales.dedup_by(|a, b| a.value.total_cmp(&b.value).is_eq());
    scales
});

/// The round scales with which a magnitude is at least one step and has no more steps than codes can tell apart,
/// coarsest first.
pub(crate) fn round_scales(magnitude: f64) -> impl Iterator<Item = f64> {
    let scales = ROUND_SCALES.iter().map(|scale| scale.value);
    scales.filter(move |scale| (1.0..=MOST_STEPS).contains(&(scale * magnitude)))
}

/// For each round scale, the largest distance of some values from the nearest multiple of its step; infinite for a
/// grid that was given up.
#[derive(Clone, Debug)]
pub(crate) struct Grids {
    distances: Vec<f64>,
    /// The most steps between 0 and a value; every number of a type is on a grid almost as fine as the type.
    most_steps: f64,
    /// The range of the values, if there are any.
    range: Option<(f64, f64)>,
    /// Whether, on each remaining grid, one point is the nearest to the whole range, so that more values in it change
    /// nothing.
    is_settled: bool,
}

impl Grids {
    /// Without values. Grids are known only for floating-point numbers.
    pub(crate) fn new(element_type: ElementType) -> Self {
        let distances = vec![0.0; ROUND_SCALES.len()];
        let none = Self { distances, most_steps: 0.0, range: None, is_settled: false };
        match element_type.format() {
            Format::Float(format) => {
                let most_steps = 2_f64.powi(format.mantissa_bits as i32 - 3).min(MOST_STEPS);
                Self { most_steps, ..none }
            }
            _ => Self {
                distances: vec![f64::INFINITY; ROUND_SCALES.len()],
                is_settled: true,
                ..none
            },
        }
    }

    /// From scales and distances of [`Self::known`].
    pub(crate) fn of(element_type: ElementType, known: &[(f64, f64)]) -> Self {
        let of_scale = |scale: &RoundScale| {
            let is_it = |(one, _): &&(f64, f64)| one.total_cmp(&scale.value).is_eq();
            known.iter().find(is_it).map_or(f64::INFINITY, |&(_, distance)| distance)
        };
        let distances = ROUND_SCALES.iter().map(of_scale).collect();
        Self { distances, ..Self::new(element_type) }
    }

    /// The scales of the grids that are not given up, each with its distance.
    pub(crate) fn known(&self) -> impl DoubleEndedIterator<Item = (f64, f64)> {
        let scales = ROUND_SCALES.iter().map(|scale| scale.value);
        let pairs = scales.zip(self.distances.iter().copied());
        pairs.filter(|(_, distance)| distance.is_finite())
    }

    /// Whether values in this range can change anything; without values, its ends are reversed.
    pub(crate) fn may_change(&self, least: f64, greatest: f64) -> bool {
        let is_inside = |(a, b): (f64, f64)| a <= least && greatest <= b;
        let has_all =
            self.range.map_or(self.distances.iter().all(|one| one.is_infinite()), is_inside);
        least <= greatest && !(self.is_settled && has_all)
    }

    /// Adds values, with the smallest and the largest of them; values that are not finite are ignored.
    pub(crate) fn add<N: Number>(&mut self, values: &[N], (least, greatest): (f64, f64)) {
        if least > greatest {
            return;
        }
        let magnitude = least.abs().max(greatest.abs());
        // The distances from the grids that these values were compared with.
        let mut compared: Vec<(&RoundScale, f64)> = Vec::new();
        for (scale, total) in ROUND_SCALES.iter().zip(&mut self.distances) {
            if total.is_infinite() {
                continue;
            }
            let RoundScale { value: factor, .. } = *scale;
            let coarser = || {
                let is_coarser = |(coarser, distance): &&(&RoundScale, f64)| {
                    distance * factor <= CLOSE && scale.refines(coarser)
                };
                compared.iter().find(is_coarser).map(|&(_, distance)| distance)
            };
            let distance = if magnitude * factor > self.most_steps {
                f64::INFINITY
            } else if let Some(point) = one_point(least, greatest, factor) {
                (least - point).abs().max((greatest - point).abs())
            } else if let Some(distance) = coarser() {
                distance
            } else {
                let distance = farthest(values, factor) / factor;
                compared.push((scale, distance));
                distance
            };
            let is_given_up = distance * factor > FARTHEST;
            *total = if is_given_up { f64::INFINITY } else { total.max(distance) };
        }
        self.extend_range((least, greatest));
    }

    fn extend_range(&mut self, (least, greatest): (f64, f64)) {
        let (a, b) = self.range.unwrap_or((least, greatest));
        let (least, greatest) = (a.min(least), b.max(greatest));
        self.range = Some((least, greatest));
        // The finest first, because most ranges are wider than its steps.
        let has_one = |(scale, _)| one_point(least, greatest, scale).is_some();
        let is_settled = self.known().rev().all(has_one);
        self.is_settled = is_settled;
    }

    /// Adds the distances of other values.
    pub(crate) fn absorb(&mut self, other: &Self) {
        for (distance, &more) in self.distances.iter_mut().zip(&other.distances) {
            *distance = distance.max(more);
        }
        if let Some(range) = other.range {
            self.extend_range(range);
        }
    }

    /// Bounds for the largest distance of a value from the grid with this scale: at least, and at most. None if the scale is not
    /// round. The magnitude is at least that of the values.
    pub(crate) fn distance(&self, scale: f64, magnitude: f64) -> Option<(f64, f64)> {
        let index = ROUND_SCALES.binary_search_by(|one| one.value.total_cmp(&scale)).ok()?;
        let &greatest = self.distances.get(index)?;
        let least = match greatest {
            _ if greatest.is_finite() => greatest,
            _ if scale * magnitude <= self.most_steps => FARTHEST / scale,
            _ => 0.0,
        };
        Some((least, greatest))
    }
}

/// The multiple of a step that is nearest to both ends of a range, and so to everything between.
fn one_point(least: f64, greatest: f64, scale: f64) -> Option<f64> {
    if (greatest - least) * scale > 2.0 {
        return None;
    }
    let [low, high] = [least, greatest].map(|end| (end * scale).round());
    (low == high).then_some(low / scale)
}

/// How many steps the farthest value is from the nearest whole number of them, or more than [`FARTHEST`].
fn farthest<N: Number>(values: &[N], scale: f64) -> f64 {
    let (first, rest) = values.split_at(BATCH.min(values.len()));
    let most = farthest_from_whole(first, scale);
    if most > FARTHEST { most } else { most.max(farthest_from_whole(rest, scale)) }
}

/// The largest distance of some numbers, multiplied by a factor, from a whole number. The products are below 2^50.
/// NaN and infinities are ignored.
fn farthest_from_whole<N: Number>(numbers: &[N], factor: f64) -> f64 {
    /// Adding it to a number leaves no bits for a fraction.
    const ROUNDS: f64 = 6_755_399_441_055_744.0;
    vectorized::<N, _>(
        #[inline(always)]
        || {
            let mut most = [0.0_f64; LANES];
            let (rows, rest) = numbers.as_chunks::<LANES>();
            let mut add = |row: &[N; LANES]| {
                for lane in 0..LANES {
                    let product = row[lane].to_f64() * factor;
                    let distance = (product - ((product + ROUNDS) - ROUNDS)).abs();
                    most[lane] = if distance > most[lane] { distance } else { most[lane] };
                }
            };
            for row in rows {
                add(row);
            }
            if let Some(&one) = rest.first() {
                add(&padded(rest, one));
            }
            most.into_iter().fold(0.0, f64::max)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grids(values: &[f64]) -> Grids {
        let mut grids = Grids::new(ElementType::Float64);
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        grids.add(values, (least, greatest));
        grids
    }

    #[test]
    fn a_grid_is_known_by_the_value_that_is_farthest_from_it() {
        let of = |scale| grids(&[0.25, -3.5, 100.1875]).distance(scale, 101.0).unwrap();
        assert_eq!(of(16.0), (0.0, 0.0));
        assert_eq!(of(1024.0), (0.0, 0.0));
        assert_eq!(of(4.0), (0.0625, 0.0625));
        assert_eq!(of(8.0), (0.45 / 8.0, f64::INFINITY));
        assert_eq!(grids(&[]).distance(3.0, 1.0), None);
        // Values that are all near one multiple need no comparison one by one.
        let (_, near) = grids(&[7.28, 7.31]).distance(10.0, 8.0).unwrap();
        assert!((near - 0.02).abs() < 1e-12, "{near}");
        // Distances from a grid finer than the codes are not measured.
        let fine = grids(&[1e12 + 0.3]).distance(1.0, 1e13);
        assert_eq!(fine, Some((0.0, f64::INFINITY)));
    }

    /// A grid that is skipped, because a coarser one decides, has the distance that a comparison would give.
    #[test]
    fn what_a_coarser_grid_tells_is_what_comparing_finds() {
        let known = [
            (0.01, 0.0, 100.0),
            (0.01, 1e-5, 100.0),
            (0.1, 3e-3, 10.0),
            (256.0, 1.0, 0.003_906_25),
        ];
        for (step, noise, scale) in known {
            let values: Vec<f64> = (0..1000)
                .map(|index| f64::from(index - 300) * step + noise * f64::from(index % 7) / 6.0)
                .collect();
            for (other, distance) in grids(&values).known() {
                let compared = farthest(&values, other) / other;
                let tiny = 1e-12 * values[999].abs();
                assert!(
                    (compared - distance).abs() <= tiny,
                    "{step} {other} {compared} {distance}"
                );
            }
            assert!(grids(&values).distance(scale, 1e6).unwrap().1.is_finite());
        }
    }

    #[test]
    fn parts_add_up_in_any_order() {
        let (a, b) = (grids(&[1.25, 7.0]), grids(&[0.3, 1e9]));
        let (mut ab, mut ba) = (a.clone(), b.clone());
        ab.absorb(&b);
        ba.absorb(&a);
        let known = |grids: &Grids| grids.known().collect::<Vec<_>>();
        assert_eq!(known(&ab), known(&ba));
        assert_eq!(known(&ab), known(&grids(&[1.25, 7.0, 0.3, 1e9])));
        assert_eq!(known(&Grids::of(ElementType::Float64, &known(&ab))), known(&ab));
        assert!(!Grids::new(ElementType::Int16).may_change(0.0, 1.0));
    }

    /// Most values are on no grid, and few of them are tested.
    #[test]
    fn values_tell_nothing_new_where_only_coarse_grids_are_left() {
        let part = |index: i32| (f64::from(index) * 0.754_877_666).fract();
        // All of them are multiples of 2^-15, as all numbers of float32 from 256 to 512 are.
        let values: Vec<f64> =
            (0..2000).map(|index| f64::from((280.3 + part(index)) as f32)).collect();
        let mut found = Grids::new(ElementType::Float32);
        found.add(&values, (280.3, 281.3));
        let (least, greatest) = found.range.unwrap();
        assert!(!found.may_change(least, greatest) && !found.may_change(280.5, 280.6));
        assert!(!found.may_change(f64::INFINITY, f64::NEG_INFINITY));
        let before: Vec<(f64, f64)> = found.known().collect();
        assert!(before.len() > 20);
        found.add(&[280.5, 280.6, 281.1], (280.5, 281.1));
        assert_eq!(found.known().collect::<Vec<_>>(), before);
        assert!(found.may_change(least, 300.0) && found.may_change(-1.0, greatest));
        // On the grid of 1, another value between these would change the distance.
        assert!(grids(&[1.0, 3.0]).may_change(1.5, 1.5));
    }

    #[test]
    fn the_number_that_is_farthest_from_a_whole_one_counts_and_what_is_not_finite_does_not() {
        let mut numbers = [3.0_f64; 70];
        numbers[7] = f64::NAN;
        numbers[40] = f64::NEG_INFINITY;
        for (place, number, expected) in [(0, 2.25, 0.25), (33, -1.75, 0.25), (69, 0.125, 0.125)] {
            numbers[place] = number;
            assert_eq!(farthest_from_whole(&numbers, 1.0), expected);
            assert_eq!(farthest_from_whole(&numbers, 16.0), 0.0);
            numbers[place] = 3.0;
        }
    }
}

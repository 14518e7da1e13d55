//! Grids of round steps, and how far values are from them: measured and published numbers are often multiples of
//! 0.01 or the like, which take fewer codes than the error bound alone would have it.

use std::sync::LazyLock;

use recast_kernels::ElementType;

use super::simd_stats;

/// A grid is given up where a value is farther than this part of a step from it.
const FARTHEST: f64 = 0.45;
/// Where a value is at most this part of a step from a coarser grid, it is as far from a finer one that has all
/// points of the coarser one.
const CLOSE: f64 = 0.25;
/// Steps between 0 and a value, at most: no codes have more.
const MOST_STEPS: f64 = 4_294_967_296.0;
/// Values that are looked at before a grid may be given up.
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

/// How far the farthest of some values is from the nearest multiple of a step: it lies between these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Distance {
    pub(crate) least: f64,
    pub(crate) greatest: f64,
}

/// For each round scale, how far the farthest of some values is from the nearest multiple of its step; infinite
/// where that is not known, as it is more than a part of the step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grids(Vec<f64>);

impl Grids {
    /// Of no values. Only of floating-point numbers are grids known.
    pub(crate) fn new(element_type: ElementType) -> Self {
        let distance = if element_type.is_float() { 0.0 } else { f64::INFINITY };
        Self(vec![distance; ROUND_SCALES.len()])
    }

    /// Of scales and distances that [`Self::known`] gave.
    pub(crate) fn of(known: &[(f64, f64)]) -> Self {
        let of_scale = |scale: &RoundScale| {
            let is_it = |(one, _): &&(f64, f64)| one.total_cmp(&scale.value).is_eq();
            known.iter().find(is_it).map_or(f64::INFINITY, |&(_, distance)| distance)
        };
        Self(ROUND_SCALES.iter().map(of_scale).collect())
    }

    /// The scales of the grids that are not given up, each with the distance.
    pub(crate) fn known(&self) -> impl Iterator<Item = (f64, f64)> {
        let pairs = ROUND_SCALES.iter().map(|scale| scale.value).zip(self.0.iter().copied());
        pairs.filter(|(_, distance)| distance.is_finite())
    }

    /// Whether all grids are given up, so that more values tell nothing.
    pub(crate) fn are_given_up(&self) -> bool {
        self.0.iter().all(|distance| distance.is_infinite())
    }

    /// Adds values, which are finite.
    pub(crate) fn add(&mut self, values: &[f64]) {
        let magnitude = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        // What was found of the grids that these values were compared with.
        let mut compared: Vec<(&RoundScale, f64)> = Vec::new();
        for (scale, total) in ROUND_SCALES.iter().zip(&mut self.0) {
            if total.is_infinite() {
                continue;
            }
            let RoundScale { value: factor, .. } = *scale;
            let steps = magnitude * factor;
            let coarser = || {
                let is_coarser = |(coarser, distance): &&(&RoundScale, f64)| {
                    distance * factor <= CLOSE && scale.refines(coarser)
                };
                compared.iter().find(is_coarser).map(|&(_, distance)| distance)
            };
            let distance = if steps > MOST_STEPS {
                f64::INFINITY
            } else if steps <= FARTHEST {
                // All are nearest to 0.
                magnitude
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
    }

    /// Adds what other values are.
    pub(crate) fn absorb(&mut self, other: &Self) {
        for (distance, &more) in self.0.iter_mut().zip(&other.0) {
            *distance = distance.max(more);
        }
    }

    /// Of the grid with this scale; none if it is no round one.
    pub(crate) fn distance(&self, scale: f64) -> Option<Distance> {
        let index = ROUND_SCALES.binary_search_by(|one| one.value.total_cmp(&scale)).ok()?;
        let &greatest = self.0.get(index)?;
        let least = if greatest.is_finite() { greatest } else { FARTHEST / scale };
        Some(Distance { least, greatest })
    }
}

/// How many steps the farthest value is from the nearest whole number of them, or more than [`FARTHEST`].
fn farthest(values: &[f64], scale: f64) -> f64 {
    let (first, rest) = values.split_at(BATCH.min(values.len()));
    let most = simd_stats::farthest_from_whole(first, scale);
    if most > FARTHEST { most } else { most.max(simd_stats::farthest_from_whole(rest, scale)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grids(values: &[f64]) -> Grids {
        let mut grids = Grids::new(ElementType::Float64);
        grids.add(values);
        grids
    }

    #[test]
    fn a_grid_is_known_by_the_value_that_is_farthest_from_it() {
        let of = |scale| grids(&[0.25, -3.5, 100.1875]).distance(scale).unwrap();
        assert_eq!(of(16.0), Distance { least: 0.0, greatest: 0.0 });
        assert_eq!(of(1024.0), Distance { least: 0.0, greatest: 0.0 });
        assert_eq!(of(4.0), Distance { least: 0.0625, greatest: 0.0625 });
        assert_eq!(of(8.0).greatest, f64::INFINITY);
        assert_eq!(of(8.0).least, 0.45 / 8.0);
        assert_eq!(grids(&[]).distance(3.0), None);
    }

    /// A grid that is not compared with, because a coarser one tells, is as far as if it were.
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
            assert!(grids(&values).distance(scale).unwrap().greatest.is_finite());
        }
    }

    #[test]
    fn parts_add_up_in_any_order() {
        let (a, b) = (grids(&[1.25, 7.0]), grids(&[0.3, 1e9]));
        let (mut ab, mut ba) = (a.clone(), b.clone());
        ab.absorb(&b);
        ba.absorb(&a);
        assert_eq!(ab, ba);
        assert_eq!(ab, grids(&[1.25, 7.0, 0.3, 1e9]));
        assert_eq!(Grids::of(&ab.known().collect::<Vec<_>>()), ab);
        assert!(!ab.are_given_up());
        assert!(Grids::new(ElementType::Int16).are_given_up());
    }
}

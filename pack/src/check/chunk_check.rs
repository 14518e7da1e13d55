//! Checks the decoded elements of a chunk against the originals: how large the errors are, and which exceed the tolerance.

use recast_kernels::{ElementType, Scalar};

use super::comparison::{Comparison, Found, Tolerance, Violation};
use crate::array::region::Region;
use crate::error::Result;
use crate::scan::missing::Markers;
use crate::scan::number::{BLOCK, Number, Reader, with_numbers};
use crate::scan::simd_stats::{self, Special};
use crate::scan::sums::Sums;
use crate::scan::survey::Survey;

/// Independent sums, so that the compiler can compute them side by side.
const LANES: usize = 8;

/// What a check must know of an array.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) element_type: ElementType,
    /// The missing markers.
    pub(crate) markers: Markers,
    /// Values that no statistic counts if they come back: markers and the fill value.
    pub(crate) reserved_values: Markers,
    /// Further values that readers mask among the decoded elements.
    pub(crate) masked: Markers,
    pub(crate) tolerance: Tolerance,
    /// Whether wrong elements are counted instead of being an error.
    pub(crate) counts: bool,
}

/// Checks decoded elements against the original ones.
pub(crate) trait ElementChecker: Send + Sync {
    /// Checks elements of a region, the first of which has this index in it, and adds their sums to `total`, which has
    /// those of the elements before them.
    ///
    /// # Errors
    /// A [`Violation`], the first one.
    fn add(
        &self,
        region: &Region,
        first: usize,
        before: &[u8],
        after: &[u8],
        total: &mut Comparison,
    ) -> Result<()>;

    /// Checks all elements of a region.
    ///
    /// # Errors
    /// As [`Self::add`].
    fn compared(&self, region: &Region, before: &[u8], after: &[u8]) -> Result<Comparison> {
        let mut total = Comparison::default();
        self.add(region, 0, before, after, &mut total)?;
        Ok(total)
    }

    /// The largest |decoded − original| of some valid elements, if it exceeds the tolerance; infinity if one decodes
    /// to NaN or to a marker.
    fn largest_excess(&self, before: &[u8], after: &[u8]) -> Result<Option<f64>>;
}

impl Expected {
    /// For a surveyed array.
    pub(crate) fn of(survey: &Survey, tolerance: Tolerance) -> Self {
        Self {
            element_type: survey.element_type,
            markers: survey.markers.clone(),
            reserved_values: survey.reserved_values.clone(),
            masked: Markers::default(),
            tolerance,
            counts: false,
        }
    }

    /// What checks the elements, read as numbers in which they are exact.
    pub(crate) fn checker(&self) -> Result<Box<dyn ElementChecker>> {
        with_numbers!(self.element_type, N => Ok(Box::new(Checker::<N>::new(self)?)))
    }
}

/// An error relative to the value; 0 has none.
fn relative_error(distance: f64, magnitude: f64) -> f64 {
    if magnitude > 0.0 { distance / magnitude } else { 0.0 }
}

/// Checks elements that are read as one kind of numbers.
struct Checker<N> {
    expected: Expected,
    reader: Reader,
    special: Special<N>,
}

/// Sums over some elements, and whether one of them may be wrong. If so, a second look finds out which one is.
#[derive(Clone, Copy, Default)]
struct Lane {
    sums: Sums,
    is_suspicious: bool,
}

impl<N: Number> ElementChecker for Checker<N> {
    fn add(
        &self,
        region: &Region,
        first: usize,
        before: &[u8],
        after: &[u8],
        total: &mut Comparison,
    ) -> Result<()> {
        let size = self.expected.element_type.size();
        let (mut xs, mut ys) = (Vec::new(), Vec::new());
        let pairs = before.chunks(BLOCK * size).zip(after.chunks(BLOCK * size));
        for (number, (before, after)) in pairs.enumerate() {
            let sums = self.plain_sums(before, after);
            if let Some(sums) = sums.filter(|sums| sums.max <= total.sums.max) {
                total.sums = total.sums.merge(sums);
                continue;
            }
            self.reader.read_into(before, &mut xs)?;
            self.reader.read_into(after, &mut ys)?;
            let found = |index: usize| {
                let element = |bytes: &[u8]| {
                    let mut elements = bytes.chunks_exact(size);
                    let bytes = elements.nth(index).unwrap_or_default();
                    Scalar::from_ne_bytes(self.expected.element_type, bytes)
                        .unwrap_or_else(|| Scalar::zero(self.expected.element_type))
                };
                Found {
                    chunk: region.chunk.clone(),
                    element: region.place(first + number * BLOCK + index),
                    before: element(before),
                    after: element(after),
                }
            };
            let sums = match sums {
                Some(sums) => sums,
                None => self.sums(&xs, &ys, found, total)?,
            };
            let pairs = || xs.iter().copied().zip(ys.iter().copied()).enumerate();
            let counts = |x: N, y: N| {
                !(x.is_nan() | x.is_infinite() | y.is_nan())
                    && !self.is_marker(x)
                    && !self.is_masked(y)
            };
            let first = |is_worst: &dyn Fn(N, N) -> bool| {
                let is_it = |&(_, (x, y)): &(usize, (N, N))| counts(x, y) && is_worst(x, y);
                pairs().find(is_it).map(|(index, _)| found(index))
            };
            let error = |x: N, y: N| relative_error(x.distance(y), x.magnitude());
            if sums.max > total.sums.max {
                total.worst = first(&|x, y| x.distance(y) == sums.max);
            }
            if sums.max_relative > total.sums.max_relative {
                total.worst_relative = first(&|x, y| error(x, y) == sums.max_relative);
            }
            total.sums = total.sums.merge(sums);
        }
        Ok(())
    }

    fn largest_excess(&self, before: &[u8], after: &[u8]) -> Result<Option<f64>> {
        let (xs, ys): (Vec<N>, Vec<N>) = (self.reader.read(before)?, self.reader.read(after)?);
        let distances = xs.into_iter().zip(ys).filter_map(|(x, y)| {
            if y.is_nan() || self.is_marker(y) {
                return (!self.expected.tolerance.allow_collisions).then_some(f64::INFINITY);
            }
            self.is_far(x, y).then(|| x.distance(y))
        });
        Ok(distances.reduce(f64::max))
    }
}

impl<N: Number> Checker<N> {
    fn new(expected: &Expected) -> Result<Self> {
        let reader = Reader::new(expected.element_type)?;
        let markers = expected.markers.numbers(&reader)?;
        let mut masked_after = expected.masked.numbers(&reader)?;
        masked_after.retain(|number| !markers.contains(number));
        let mut fill = expected.reserved_values.numbers(&reader)?;
        fill.retain(|number| !markers.contains(number) && !masked_after.contains(number));
        let special = Special { markers, fill, masked_after };
        Ok(Self { expected: expected.clone(), reader, special })
    }

    fn is_marker(&self, number: N) -> bool {
        self.special.markers.contains(&number)
    }

    /// Whether a decoded element is treated as missing.
    fn is_masked(&self, number: N) -> bool {
        self.is_marker(number) || self.special.masked_after.contains(&number)
    }

    /// Adds an element to a sum.
    #[allow(clippy::needless_bitwise_bool)]
    fn add_to(&self, lane: &mut Lane, x: N, y: N) {
        let (is_nan, is_marker) = (x.is_nan(), self.is_marker(x));
        let is_fill = (x == y) & self.special.fill.contains(&x);
        let is_infinite = x.is_infinite() & !is_marker & !is_fill;
        let counts = !(is_nan | is_infinite | is_marker | is_fill);
        let became_missing = counts & self.is_masked(y);
        let became_nan = counts & y.is_nan();
        let difference = if counts & !became_nan & !became_missing { y.minus(x) } else { 0.0 };
        let distance = difference.abs();
        let bound =
            self.expected.tolerance.absolute + self.expected.tolerance.relative * x.magnitude();
        // Exactly at the bound, the rounding error of the distance decides.
        let is_far =
            counts & !became_missing & ((distance > bound) | ((distance == bound) & (bound > 0.0)));
        lane.is_suspicious |= (!counts & !((x == y) | (is_nan & y.is_nan())))
            | ((became_nan | became_missing) & !self.expected.tolerance.allow_collisions)
            | is_far;
        let sums = &mut lane.sums;
        sums.elements += u64::from(counts);
        sums.max = if distance > sums.max { distance } else { sums.max };
        if self.expected.tolerance.relative > 0.0 {
            sums.max_relative = sums.max_relative.max(relative_error(distance, x.magnitude()));
        }
        sums.distances += distance;
        sums.differences += difference;
        sums.squares += distance * distance;
        sums.became_missing += u64::from(became_missing);
        sums.became_nan += u64::from(became_nan);
        sums.nan += u64::from(is_nan);
        sums.infinite += u64::from(is_infinite);
        sums.missing += u64::from(is_marker);
        sums.fill += u64::from(is_fill);
    }

    /// The sums of a block; `found` names an element by its index. Wrong elements are counted in `total`.
    fn sums(
        &self,
        xs: &[N],
        ys: &[N],
        found: impl Fn(usize) -> Found,
        total: &mut Comparison,
    ) -> Result<Sums> {
        let mut lanes = [Lane::default(); LANES];
        let (x_rows, x_rest) = xs.as_chunks::<LANES>();
        let (y_rows, y_rest) = ys.as_chunks::<LANES>();
        for (x_row, y_row) in x_rows.iter().zip(y_rows) {
            for (lane, (&x, &y)) in lanes.iter_mut().zip(x_row.iter().zip(y_row)) {
                self.add_to(lane, x, y);
            }
        }
        for (lane, (&x, &y)) in lanes.iter_mut().zip(x_rest.iter().zip(y_rest)) {
            self.add_to(lane, x, y);
        }
        let is_suspicious = lanes.iter().any(|lane| lane.is_suspicious);
        let sums = lanes.map(|lane| lane.sums).into_iter().fold(Sums::default(), Sums::merge);
        if is_suspicious {
            let pairs = xs.iter().copied().zip(ys.iter().copied()).enumerate();
            let wrong = pairs.filter_map(|(index, (x, y))| Some((index, self.wrong(x, y)?)));
            for (index, wrong) in wrong {
                let found = found(index);
                if !self.expected.counts {
                    let text = format!("{found}: {}", self.why(&wrong));
                    let is_collision = matches!(wrong, Wrong::BecameNan | Wrong::BecameMissing);
                    return Err(Violation { text, is_collision }.into());
                }
                total.wrong += 1;
                total.first_wrong.get_or_insert_with(|| (found, self.why(&wrong)));
            }
        }
        Ok(sums)
    }

    /// The sums of a block in which no element is wrong; `None` for other blocks, and where single elements must be
    /// looked at to know.
    fn plain_sums(&self, before: &[u8], after: &[u8]) -> Option<Sums> {
        let Tolerance { absolute, relative, .. } = self.expected.tolerance;
        if relative != 0.0 {
            return None;
        }
        let element_type = self.expected.element_type;
        let sums = simd_stats::differences(element_type, before, after, &self.special)?;
        // Exactly at the bound, only the exact test decides.
        (sums.max < absolute || sums.max == 0.0).then_some(sums)
    }

    /// Whether |x − y| is more than allowed, exactly if the bound is absolute or relative alone.
    fn is_far(&self, x: N, y: N) -> bool {
        let Tolerance { absolute, relative, .. } = self.expected.tolerance;
        if relative == 0.0 {
            return x.is_farther(y, absolute);
        }
        let magnitude = x.magnitude();
        let (distance, product) = (x.distance(y), relative * magnitude);
        let bound = absolute + product;
        if distance != bound {
            return distance > bound;
        }
        absolute == 0.0 && relative.mul_add(magnitude, -product) < 0.0
    }

    /// The problem with an element, if there is one.
    fn wrong(&self, x: N, y: N) -> Option<Wrong> {
        if x.is_nan() {
            return (!y.is_nan()).then_some(Wrong::Nan);
        }
        if self.is_marker(x) {
            return (x != y).then_some(Wrong::Missing);
        }
        if x.is_infinite() {
            return (x != y).then_some(Wrong::Infinite);
        }
        let allowed = self.expected.tolerance.allow_collisions;
        if y.is_nan() {
            return (!allowed).then_some(Wrong::BecameNan);
        }
        if self.is_masked(y) {
            return (!allowed).then_some(Wrong::BecameMissing);
        }
        let Tolerance { absolute, relative, .. } = self.expected.tolerance;
        let bound = absolute + relative * x.magnitude();
        self.is_far(x, y).then(|| Wrong::Far(x.distance(y), bound))
    }

    /// Describes the problem with an element.
    fn why(&self, wrong: &Wrong) -> String {
        match wrong {
            Wrong::BecameNan | Wrong::Nan if self.expected.counts => "only one is NaN".to_owned(),
            Wrong::Infinite if self.expected.counts => "only one is this infinity".to_owned(),
            Wrong::Far(distance, bound) => {
                format!(
                    "an error of {distance:?}, {} allows {bound:?}",
                    self.expected.tolerance.name
                )
            }
            Wrong::BecameNan => {
                "its stored value is that of NaN; choose another with --nan-to, or \
                                 accept it with --allow-collisions"
                    .to_owned()
            }
            Wrong::Missing if self.expected.counts => {
                "a missing value has become another value".to_owned()
            }
            Wrong::BecameMissing if self.expected.counts => {
                "it has become a missing value".to_owned()
            }
            Wrong::BecameMissing => "its stored value is that of a missing value; use a wider \
                                     --data-type or another --scale or --offset, or accept it \
                                     with --allow-collisions"
                .to_owned(),
            Wrong::Nan => "NaN is lost; use --nan-to".to_owned(),
            Wrong::Missing => "a missing value does not come back".to_owned(),
            Wrong::Infinite => "it does not come back".to_owned(),
        }
    }
}

/// The possible problems with an element.
enum Wrong {
    Nan,
    Missing,
    Infinite,
    BecameNan,
    BecameMissing,
    Far(f64, f64),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In each block, another share of the elements is special, and another share becomes so.
    #[test]
    fn whole_blocks_have_the_sums_of_their_elements() {
        let tolerance =
            Tolerance { absolute: 10.0, relative: 0.0, name: "", allow_collisions: false };
        let float64 = |values: &[f64]| values.iter().copied().map(Scalar::from).collect();
        let (markers, reserved_values): (Markers, Markers) =
            (float64(&[-9999.0]), float64(&[-9999.0, 0.0]));
        let expected = Expected {
            element_type: ElementType::Float64,
            markers,
            reserved_values,
            masked: float64(&[77.0]),
            tolerance,
            counts: true,
        };
        let checker = Checker::<f64>::new(&expected).unwrap();
        let kinds = [f64::NAN, -9999.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, 77.0];
        let mut state = 1_u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let (mut whole, mut single) = (0, 0);
        for _ in 0..3000 {
            let count = 1 + random(100);
            let (special, changed) = (1 + random(40), [3, 60, 2000][random(3) as usize]);
            let mut element = || {
                let kind = kinds[random(6) as usize];
                let quarters = random(4000) as f64 / 4.0 + 100.0;
                let x = if random(special) == 0 { kind } else { quarters };
                let error = random(60) as f64 / 4.0 - 7.5;
                let other = kinds[random(6) as usize];
                let y = if x == quarters { x + error } else { x };
                (x, if random(changed) == 0 { other } else { y })
            };
            let (xs, ys): (Vec<f64>, Vec<f64>) = (0..count).map(|_| element()).unzip();
            let bytes = |values: &[f64]| -> Vec<u8> {
                values.iter().flat_map(|value| value.to_ne_bytes()).collect()
            };
            let mut total = Comparison::default();
            let found = |index: usize| Found {
                chunk: Vec::new(),
                element: Vec::new(),
                before: Scalar::from(xs[index]),
                after: Scalar::from(ys[index]),
            };
            let sums = checker.sums(&xs, &ys, found, &mut total).unwrap();
            match checker.plain_sums(&bytes(&xs), &bytes(&ys)) {
                // Sums of quarters are exact in any order.
                Some(whole_sums) => {
                    assert_eq!((whole_sums, total.wrong), (sums, 0), "{xs:?} {ys:?}");
                    whole += 1;
                }
                None => single += 1,
            }
        }
        assert!(whole > 500 && single > 500, "{whole} {single}");
    }
}

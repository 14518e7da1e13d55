//! Checks the decoded elements of a chunk against the originals: how large the errors are, and which exceed the tolerance.

use recast_kernels::{ElementType, Scalar};

use super::comparison::{Comparison, Found, Tolerance, Violation};
use crate::array::region::Region;
use crate::error::Result;
use crate::scan::missing::Markers;
use crate::scan::number::{BLOCK, Number, Reader, with_numbers};
use crate::scan::simd_stats;
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
    /// The missing markers.
    markers: Vec<N>,
    /// Missing markers among decoded elements only.
    masked_after: Vec<N>,
    /// Values that no statistic counts if they come back: markers and the fill value.
    reserved: Vec<N>,
    /// Those and `masked_after`: blocks without them need no check of each element.
    special: Vec<N>,
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
            if self.simd_block(before, after, total) {
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
            self.block(&xs, &ys, found, total)?;
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
        let reserved = expected.reserved_values.numbers(&reader)?;
        let mut masked_after = expected.masked.numbers(&reader)?;
        masked_after.retain(|number| !markers.contains(number));
        let special = [reserved.as_slice(), &masked_after].concat();
        let expected = expected.clone();
        Ok(Self { expected, reader, markers, masked_after, reserved, special })
    }

    fn is_marker(&self, number: N) -> bool {
        self.markers.contains(&number)
    }

    /// Whether a decoded element is treated as missing.
    fn is_masked(&self, number: N) -> bool {
        self.is_marker(number) || self.masked_after.contains(&number)
    }

    /// Adds an element to a sum.
    #[allow(clippy::needless_bitwise_bool)]
    fn add_to(&self, lane: &mut Lane, x: N, y: N) {
        let (is_nan, is_marker) = (x.is_nan(), self.is_marker(x));
        let is_infinite = x.is_infinite() & !is_marker;
        let is_reserved = (x == y) & self.reserved.contains(&x) & !self.masked_after.contains(&y);
        let counts = !(is_nan | is_infinite | is_marker | is_reserved);
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
        sums.fill += u64::from(is_reserved & !is_marker);
    }

    /// Adds the elements of a block; `found` names one by its index.
    fn block(
        &self,
        xs: &[N],
        ys: &[N],
        found: impl Fn(usize) -> Found,
        total: &mut Comparison,
    ) -> Result<()> {
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
        let pairs = || xs.iter().copied().zip(ys.iter().copied()).enumerate();
        if is_suspicious {
            let wrong = pairs().filter_map(|(index, (x, y))| Some((index, self.wrong(x, y)?)));
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
        let counts = |x: N, y: N| {
            !(x.is_nan() | x.is_infinite() | y.is_nan()) && !self.is_marker(x) && !self.is_masked(y)
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
        Ok(())
    }

    /// Adds a block of plain elements that does not contain a new worst one; false for other blocks.
    fn simd_block(&self, before: &[u8], after: &[u8], total: &mut Comparison) -> bool {
        let Tolerance { absolute, relative, .. } = self.expected.tolerance;
        if relative != 0.0 {
            return false;
        }
        let sums =
            simd_stats::differences(self.expected.element_type, before, after, &self.special);
        let Some(sums) = sums else { return false };
        // Exactly at the bound, only the exact test decides.
        if sums.max > total.sums.max
            || sums.max > absolute
            || (sums.max == absolute && absolute > 0.0)
        {
            return false;
        }
        total.sums = total.sums.merge(sums);
        true
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

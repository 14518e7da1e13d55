//! Checks the decoded elements of a chunk against the originals: how large the errors are, and which exceed the tolerance.

use recast_kernels::{ElementType, Scalar};

use super::block_sums::{SpecialNumbers, block_sums, exact_sums};
use super::comparison::{Broken, Comparison, Found, Tolerance, Violation};
use super::sums::{Sums, relative_error};
use crate::array::region::Region;
use crate::error::Result;
use crate::scan::missing::Markers;
use crate::scan::number::{BLOCK, Number, NumberReader, with_numbers};
use crate::scan::survey::Survey;

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
    /// Whether sums are exact, for a mean.
    pub(crate) sums_exactly: bool,
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

    /// The largest |decoded − original| of some valid elements, if it exceeds the tolerance; divided by |original| if that
    /// tolerance is relative; infinity if one decodes to NaN or to a marker.
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
            sums_exactly: false,
        }
    }

    /// The same with exact sums, if a mean is bounded.
    pub(crate) fn with_exact_sums(self, sums_exactly: bool) -> Self {
        Self { sums_exactly, ..self }
    }

    /// What checks the elements, read as numbers in which they are exact.
    pub(crate) fn checker(&self) -> Result<Box<dyn ElementChecker>> {
        with_numbers!(self.element_type, N => Ok(Box::new(Checker::<N>::new(self)?)))
    }
}

/// Checks elements that are read as one kind of numbers.
struct Checker<N> {
    expected: Expected,
    reader: NumberReader,
    special: SpecialNumbers<N>,
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
            if self.expected.tolerance.keeps.bits && before != after {
                let pairs = before.chunks_exact(size).zip(after.chunks_exact(size));
                let differing = pairs.enumerate().filter(|(_, (x, y))| x != y);
                for (index, _) in differing {
                    self.take_wrong(found(index), &Wrong::Bits, total)?;
                }
            }
            let nan_before = total.sums.counts.nan;
            self.add_block(&xs, &ys, found, total)?;
            if self.expected.counts && total.sums.counts.nan > nan_before {
                let pairs = before.chunks_exact(size).zip(after.chunks_exact(size));
                let numbers = xs.iter().zip(&ys);
                let pairs = pairs.zip(numbers).enumerate();
                for (index, ((x_bits, y_bits), (x, y))) in pairs {
                    if x.is_nan() && y.is_nan() && x_bits != y_bits {
                        total.other_nan += 1;
                        total.first_other_nan.get_or_insert_with(|| found(index));
                    }
                }
            }
        }
        Ok(())
    }

    fn largest_excess(&self, before: &[u8], after: &[u8]) -> Result<Option<f64>> {
        let keeps = self.expected.tolerance.keeps;
        if keeps.bits && before != after {
            return Ok(Some(0.0));
        }
        let (xs, ys): (Vec<N>, Vec<N>) = (self.reader.read(before)?, self.reader.read(after)?);
        // Most blocks need no second look.
        let is_within = |(xs, ys): &(&[N], &[N])| {
            keeps.is_nothing()
                && block_sums(xs, ys, &self.special, self.expected.tolerance).is_some()
        };
        let blocks = xs.chunks(BLOCK).zip(ys.chunks(BLOCK)).filter(|pair| !is_within(pair));
        let pairs = blocks.flat_map(|(xs, ys)| xs.iter().zip(ys));
        let distances = pairs.filter_map(|(&x, &y)| {
            let allowed = self.expected.tolerance.allow_collisions;
            if !allowed && (y.is_nan() || self.special.is_marker(y)) {
                return Some(f64::INFINITY);
            }
            let is_wrong = self.is_far(x, y) || !keeps.holds(x, y);
            let unit = if self.expected.tolerance.is_relative() { x.magnitude() } else { 1.0 };
            let unit = if unit > 0.0 { unit } else { 1.0 };
            (!y.is_nan() && is_wrong).then(|| x.distance(y) / unit)
        });
        Ok(distances.reduce(f64::max))
    }
}

impl<N: Number> Checker<N> {
    fn new(expected: &Expected) -> Result<Self> {
        let reader = NumberReader::new(expected.element_type)?;
        let special = SpecialNumbers::new(
            expected.markers.numbers(&reader)?,
            expected.masked.numbers(&reader)?,
            expected.reserved_values.without_zeros().numbers(&reader)?,
        );
        Ok(Self { expected: expected.clone(), reader, special })
    }

    /// Adds a block to `total`; `found` names an element by its index.
    fn add_block(
        &self,
        xs: &[N],
        ys: &[N],
        found: impl Fn(usize) -> Found,
        total: &mut Comparison,
    ) -> Result<()> {
        let Tolerance { keeps, .. } = self.expected.tolerance;
        let holds = |(&x, &y): (&N, &N)| keeps.holds(x, y);
        let sums = block_sums(xs, ys, &self.special, self.expected.tolerance)
            .filter(|_| keeps.is_nothing() || xs.iter().zip(ys).all(holds));
        let sums = match sums {
            Some(sums) if self.expected.sums_exactly => {
                let [distances, magnitudes] = exact_sums(xs, ys, &self.special);
                Sums { distances, magnitudes, ..sums }
            }
            Some(sums) => sums,
            None => self.sums_of_each(xs, ys, &found, total)?,
        };
        let first = |is_worst: &dyn Fn(N, N) -> bool| {
            let mut pairs = xs.iter().zip(ys);
            pairs.position(|(&x, &y)| self.has_error(x, y) && is_worst(x, y)).map(&found)
        };
        if sums.max > total.sums.max {
            total.worst = first(&|x, y| x.distance(y) == sums.max);
        }
        if sums.max_relative > total.sums.max_relative {
            let error = |x: N, y: N| relative_error(x.distance(y), x.magnitude());
            total.worst_relative = first(&|x, y| error(x, y) == sums.max_relative);
        }
        total.sums.add(sums);
        Ok(())
    }

    /// The sums of a block, one element after the other. Wrong elements are counted in `total`.
    fn sums_of_each(
        &self,
        xs: &[N],
        ys: &[N],
        found: impl Fn(usize) -> Found,
        total: &mut Comparison,
    ) -> Result<Sums> {
        let mut sums = Sums::default();
        // Those that must have the same bits are counted where their bits are compared.
        let is_counted = |x: N, y: N| self.expected.tolerance.keeps.bits && x != y;
        for (index, (&x, &y)) in xs.iter().zip(ys).enumerate() {
            self.count(x, y, &mut sums);
            if let Some(wrong) = self.wrong(x, y).filter(|_| !is_counted(x, y)) {
                self.take_wrong(found(index), &wrong, total)?;
            }
            if self.expected.counts && self.has_error(x, y) {
                total.broken = total.broken.or(self.broken(x, y));
            }
        }
        Ok(sums)
    }

    /// Counts a wrong element.
    ///
    /// # Errors
    /// A [`Violation`], if they are not counted.
    fn take_wrong(&self, found: Found, wrong: &Wrong, total: &mut Comparison) -> Result<()> {
        if !self.expected.counts {
            let text = format!("{found}: {}", self.why(wrong));
            let is_collision = matches!(wrong, Wrong::BecameNan | Wrong::BecameMissing);
            return Err(Violation { text, is_collision }.into());
        }
        total.wrong += 1;
        total.first_wrong.get_or_insert_with(|| (found, self.why(wrong)));
        Ok(())
    }

    /// Counts an element before and after.
    fn count(&self, x: N, y: N, sums: &mut Sums) {
        if x.is_nan() {
            sums.counts.nan += 1;
        } else if self.special.is_marker(x) {
            sums.counts.missing += 1;
        } else if x == y && self.special.is_fill(x) {
            sums.counts.fill += 1;
        } else if x.is_infinite() {
            sums.counts.infinite += 1;
        } else {
            sums.elements += 1;
            if y.is_nan() {
                sums.became_nan += 1;
            } else if self.special.is_masked(y) {
                sums.became_missing += 1;
            } else {
                let is_relative = self.expected.tolerance.relative > 0.0;
                sums.add_error(y.minus(x), is_relative.then(|| x.magnitude()));
                sums.magnitudes.add(if self.expected.sums_exactly { x.magnitude() } else { 0.0 });
            }
        }
    }

    /// Whether the difference of an element counts as an error.
    fn has_error(&self, x: N, y: N) -> bool {
        x.is_finite() && !y.is_nan() && !self.special.is_marker(x) && !self.special.is_masked(y)
    }

    /// Whether |x − y| is more than allowed, exactly if the bound is absolute or relative alone.
    fn is_far(&self, x: N, y: N) -> bool {
        let Tolerance { absolute, relative, is_each, .. } = self.expected.tolerance;
        if is_each {
            return x.is_farther(y, absolute) || Self::is_farther(x, y, 0.0, relative);
        }
        Self::is_farther(x, y, absolute, relative)
    }

    /// What an element breaks.
    fn broken(&self, x: N, y: N) -> Broken {
        let Tolerance { relative, keeps, .. } = self.expected.tolerance;
        let is_far = relative > 0.0 && Self::is_farther(x, y, 0.0, relative);
        Broken { relative: is_far, ..keeps.broken(x, y) }
    }

    /// Whether |x − y| is more than the sum of both bounds.
    fn is_farther(x: N, y: N, absolute: f64, relative: f64) -> bool {
        if relative == 0.0 {
            return x.is_farther(y, absolute);
        }
        let magnitude = x.magnitude();
        let (distance, product) = (x.distance(y), relative * magnitude);
        let bound = absolute + product;
        if distance != bound {
            return distance > bound;
        }
        if bound.is_infinite() {
            // Both are beyond the largest f64. A quarter of them is not, or the product allows every number.
            let (x, y) = (x.to_f64() / 4.0, y.to_f64() / 4.0);
            return !y.is_finite() || (x - y).abs() > absolute / 4.0 + relative * x.abs();
        }
        absolute == 0.0 && relative.mul_add(magnitude, -product) < 0.0
    }

    /// The problem with an element, if there is one.
    fn wrong(&self, x: N, y: N) -> Option<Wrong> {
        if x.is_nan() {
            return (!y.is_nan()).then_some(Wrong::Nan);
        }
        if self.special.is_marker(x) {
            return (x != y).then_some(Wrong::Missing);
        }
        if x.is_infinite() {
            return (x != y).then_some(Wrong::Infinite);
        }
        let allowed = self.expected.tolerance.allow_collisions;
        if y.is_nan() {
            return (!allowed).then_some(Wrong::BecameNan);
        }
        // A marker is a number, too, and no number may be farther away than the tolerance.
        if !allowed && self.special.is_masked(y) {
            return Some(Wrong::BecameMissing);
        }
        if y.is_infinite() {
            return Some(Wrong::Infinite);
        }
        let Tolerance { keeps, .. } = self.expected.tolerance;
        if self.is_far(x, y) {
            return Some(Wrong::Far(x.distance(y), self.expected.tolerance.bound(x.magnitude())));
        }
        (!keeps.holds(x, y)).then_some(Wrong::Side)
    }

    /// Describes the problem with an element.
    fn why(&self, wrong: &Wrong) -> String {
        match wrong {
            Wrong::BecameNan | Wrong::Nan if self.expected.counts => "only one is NaN".to_owned(),
            Wrong::Infinite if self.expected.counts => "only one is this infinity".to_owned(),
            Wrong::Far(distance, bound) if distance.is_infinite() => {
                let allows = if bound.is_infinite() {
                    "and so is what is allowed".to_owned()
                } else {
                    format!("and {} allows {bound:?}", self.expected.tolerance.name)
                };
                let way_out = if self.expected.counts {
                    ""
                } else {
                    "; divide the values by a number first, or clamp them with --src-min and --src-max"
                };
                format!("an error beyond the largest float64, {allows}{way_out}")
            }
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
            Wrong::Bits => "its bits do not come back".to_owned(),
            Wrong::Side => self.expected.tolerance.keeps.to_string(),
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
    /// Beyond the limits, of another sign, or no longer 0.
    Side,
    Bits,
}

#[cfg(test)]
mod tests {
    use super::super::comparison::Keeps;
    use super::*;

    /// In each block, another share of the elements is special, and another share becomes so.
    fn whole_blocks_have_the_sums_of_their_elements<N: Number + std::fmt::Debug>(
        element_type: ElementType,
        quarter: impl Fn(i32) -> N,
        special: &[N],
    ) {
        let mut state = 1_u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let scalars = |values: &[N]| -> Markers {
            values.iter().filter_map(|value| value.to_scalar(element_type)).collect()
        };
        let (mut whole, mut single) = (0, 0);
        for _ in 0..6000 {
            // Of the special values, some are markers, some fill values, and some masked after.
            let mut rest = special;
            let mut some = |most: u64| {
                let (some, others) = rest.split_at(random(most + 1) as usize);
                rest = others;
                scalars(some)
            };
            let (markers, mut reserved_values, masked) = (some(6), some(2), some(2));
            reserved_values.extend(markers.values().iter().copied());
            let relative = [0.0, 0.125][random(2) as usize];
            let absolute = [8.0, 0.0][usize::from(relative > 0.0 && random(2) == 0)];
            let tolerance = Tolerance {
                absolute,
                relative,
                is_each: random(2) == 0 && relative > 0.0 && absolute > 0.0,
                name: "",
                allow_collisions: false,
                keeps: Keeps::default(),
            };
            let expected = Expected {
                element_type,
                markers,
                reserved_values,
                masked,
                tolerance,
                counts: true,
                sums_exactly: false,
            };
            let checker = Checker::<N>::new(&expected).unwrap();
            let count = 1 + random(100);
            let (specials, changed) = (1 + random(40), [3, 60, 2000][random(3) as usize]);
            let mut element = || {
                let one = special[random(special.len() as u64) as usize];
                let other = special[random(special.len() as u64) as usize];
                let place = random(4000) as i32 + 400;
                let is_special = random(specials) == 0;
                let x = if is_special { one } else { quarter(place) };
                let y = if is_special { one } else { quarter(place + random(65) as i32 - 32) };
                (x, if random(changed) == 0 { other } else { y })
            };
            let (xs, ys): (Vec<N>, Vec<N>) = (0..count).map(|_| element()).unzip();
            let found = |_| Found {
                chunk: Vec::new(),
                element: Vec::new(),
                before: Scalar::zero(element_type),
                after: Scalar::zero(element_type),
            };
            let mut total = Comparison::default();
            let sums = checker.sums_of_each(&xs, &ys, found, &mut total).unwrap();
            match block_sums(&xs, &ys, &checker.special, tolerance) {
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

    #[test]
    fn whole_blocks_of_floats_have_the_sums_of_their_elements() {
        let special = [
            -9999.0,
            f64::INFINITY,
            0.0,
            77.0,
            88.0,
            99.0,
            -1e30,
            5.0,
            6.0,
            7.0,
            f64::NAN,
            f64::NEG_INFINITY,
        ];
        let quarter = |place| f64::from(place) / 4.0;
        whole_blocks_have_the_sums_of_their_elements(ElementType::Float64, quarter, &special);
    }

    #[test]
    fn whole_blocks_of_integers_have_the_sums_of_their_elements() {
        let special = [i128::from(i64::MIN), -1, 0, 77, 88, 99, i128::from(i64::MAX), 5, 6, 7];
        let integer = |place: i32| i128::from(place / 4);
        whole_blocks_have_the_sums_of_their_elements(ElementType::Int64, integer, &special);
    }
}

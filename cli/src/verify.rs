//! Comparing two arrays element by element.

use anyhow::Result;
use recast_kernels::Scalar;

use crate::array::{Region, Source};
use crate::number::{Number, is_wide};
use crate::survey::{BLOCK, Reader};
use crate::work::Workers;

/// Independent sums that the compiler can do side by side.
const LANES: usize = 8;

/// What is demanded of the decoded elements, beyond that NaN, infinities and the fill value come back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// The largest allowed |decoded − original|.
    pub(crate) max_abs_error: Option<f64>,
    /// Whether no other value may decode to the fill value.
    pub(crate) fill_is_apart: bool,
}

/// How far decoded elements lie from the original ones; NaN, infinities and the fill value left out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) elements: u64,
    pub(crate) max: f64,
    sum: f64,
    sum_of_squares: f64,
    /// Elements other than the fill value that decode to it.
    pub(crate) became_fill: u64,
}

impl Comparison {
    /// The mean of |decoded − original|.
    pub(crate) fn mean(&self) -> f64 {
        self.sum / self.elements.max(1) as f64
    }

    /// The root of the mean of (decoded − original)².
    pub(crate) fn rmse(&self) -> f64 {
        (self.sum_of_squares / self.elements.max(1) as f64).sqrt()
    }

    fn merge(self, other: Self) -> Self {
        Self {
            elements: self.elements + other.elements,
            max: self.max.max(other.max),
            sum: self.sum + other.sum,
            sum_of_squares: self.sum_of_squares + other.sum_of_squares,
            became_fill: self.became_fill + other.became_fill,
        }
    }
}

/// An element that does not come back as it must.
#[derive(Clone, Debug)]
pub(crate) struct Violation(String);

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Violation {}

/// Compares two arrays of the same type and shape.
///
/// # Errors
/// A chunk that cannot be read; a [`Violation`], the first one, if the demand is not met.
pub(crate) fn compare(
    original: &Source,
    decoded: &Source,
    demand: Demand,
    workers: &Workers,
) -> Result<Comparison> {
    if is_wide(original.element_type()) {
        compare_as::<i128>(original, decoded, demand, workers)
    } else {
        compare_as::<f64>(original, decoded, demand, workers)
    }
}

fn compare_as<N: Number>(
    original: &Source,
    decoded: &Source,
    demand: Demand,
    workers: &Workers,
) -> Result<Comparison> {
    let judge = Judge::<N>::new(original.element_type(), original.fill_value(), demand)?;
    let work = |number| {
        let region = original.region(number)?;
        let (before, after) = (original.read(&region)?, decoded.read(&region)?);
        if before.is_none() && after.is_none() {
            // Both are the fill value, which decoding does not touch.
            return Ok(Comparison::default());
        }
        let filled = |elements: Option<Vec<u8>>, source: &Source| {
            elements.map_or_else(|| source.read_or_fill(&region), Ok)
        };
        let (before, after) = (filled(before, original)?, filled(after, decoded)?);
        match judge.compare(&before, &after)? {
            Ok(comparison) => Ok(comparison),
            Err(index) => Err(judge.violation(&region, index, &before, &after).into()),
        }
    };
    let mut total = Comparison::default();
    workers.run("verify", original.chunks(), work, |comparison| {
        total = total.merge(comparison);
        Ok(())
    })?;
    Ok(total)
}

/// The largest |decoded − original| in some elements, none of them NaN, infinite or the fill value;
/// infinity if one does not come back at all.
pub(crate) fn largest_error(original: &Source, before: &[u8], after: &[u8]) -> Result<f64> {
    fn largest<N: Number>(original: &Source, before: &[u8], after: &[u8]) -> Result<f64> {
        let reader = Reader::<N>::new(original.element_type())?;
        let pairs = reader.read(before)?.into_iter().zip(reader.read(after)?);
        Ok(pairs.fold(0.0, |largest: f64, (x, y)| {
            largest.max(if y.is_nan() { f64::INFINITY } else { x.distance(y) })
        }))
    }
    if is_wide(original.element_type()) {
        largest::<i128>(original, before, after)
    } else {
        largest::<f64>(original, before, after)
    }
}

/// Judges decoded elements by the original ones.
struct Judge<N> {
    reader: Reader<N>,
    fill_value: Scalar,
    /// The fill value, if it is not NaN.
    fill: Option<N>,
    demand: Demand,
}

/// A sum over elements, and whether one of them may be wrong.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    comparison: Comparison,
    is_suspicious: bool,
}

impl<N: Number> Judge<N> {
    fn new(
        element_type: recast_kernels::ElementType,
        fill_value: Scalar,
        demand: Demand,
    ) -> Result<Self> {
        let reader = Reader::new(element_type)?;
        let fill = reader.read(&fill_value.to_ne_bytes())?.first().copied();
        Ok(Self { reader, fill_value, fill: fill.filter(|fill: &N| !fill.is_nan()), demand })
    }

    /// The comparison, or the index of the first element that is wrong.
    fn compare(&self, before: &[u8], after: &[u8]) -> Result<Result<Comparison, usize>> {
        let mut total = Comparison::default();
        let bytes = BLOCK * self.fill_value.element_type().size();
        let (mut xs, mut ys) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK));
        for (block, (before, after)) in before.chunks(bytes).zip(after.chunks(bytes)).enumerate() {
            self.reader.read_into(before, &mut xs)?;
            self.reader.read_into(after, &mut ys)?;
            let mut lanes = [Lane::default(); LANES];
            let (x_rows, x_rest) = xs.as_chunks::<LANES>();
            let (y_rows, y_rest) = ys.as_chunks::<LANES>();
            for (x_row, y_row) in x_rows.iter().zip(y_rows) {
                for (lane, (&x, &y)) in lanes.iter_mut().zip(x_row.iter().zip(y_row)) {
                    self.add(lane, x, y);
                }
            }
            for (lane, (&x, &y)) in lanes.iter_mut().zip(x_rest.iter().zip(y_rest)) {
                self.add(lane, x, y);
            }
            if lanes.iter().any(|lane| lane.is_suspicious) {
                let mut pairs = xs.iter().zip(&ys);
                if let Some(index) = pairs.position(|(&x, &y)| self.wrong(x, y).is_some()) {
                    return Ok(Err(block * BLOCK + index));
                }
            }
            let sum = lanes.into_iter().map(|lane| lane.comparison);
            total = total.merge(sum.fold(Comparison::default(), Comparison::merge));
        }
        Ok(Ok(total))
    }

    /// Adds an element to a sum, without a branch.
    #[allow(clippy::needless_bitwise_bool)]
    fn add(&self, lane: &mut Lane, x: N, y: N) {
        let is_fill = self.fill == Some(x);
        let counts = !(x.is_nan() | x.is_infinite() | is_fill);
        let became_fill = counts & (self.fill == Some(y));
        let distance = if counts { x.distance(y) } else { 0.0 };
        // At the bound itself what rounding took from the distance decides; no distance is exact.
        let is_far = self
            .demand
            .max_abs_error
            .is_some_and(|bound| distance > bound || (distance == bound && bound > 0.0));
        lane.is_suspicious |= (!counts & !((x == y) | (x.is_nan() & y.is_nan())))
            | (counts & y.is_nan())
            | (became_fill & self.demand.fill_is_apart)
            | is_far;
        let Comparison { elements, max, sum, sum_of_squares, became_fill: count } =
            &mut lane.comparison;
        *elements += u64::from(counts);
        *max = if distance > *max { distance } else { *max };
        *sum += distance;
        *sum_of_squares += distance * distance;
        *count += u64::from(became_fill);
    }

    /// What is wrong with an element, if anything is.
    fn wrong(&self, x: N, y: N) -> Option<Wrong> {
        let is_fill = |number| self.fill == Some(number);
        if x.is_nan() {
            return (!y.is_nan()).then_some(Wrong::Nan);
        }
        if is_fill(x) {
            return (x != y).then_some(Wrong::Fill);
        }
        if x.is_infinite() {
            return (x != y).then_some(Wrong::Infinite);
        }
        if y.is_nan() {
            return Some(Wrong::BecameNan);
        }
        if is_fill(y) && self.demand.fill_is_apart {
            return Some(Wrong::BecameFill);
        }
        let bound = self.demand.max_abs_error?;
        x.is_farther(y, bound).then(|| Wrong::Far(x.distance(y), bound))
    }

    /// Describes the wrong element at an index.
    fn violation(&self, region: &Region, index: usize, before: &[u8], after: &[u8]) -> Violation {
        let element_type = self.fill_value.element_type();
        let size = element_type.size();
        let element = |bytes: &[u8]| {
            bytes
                .get(index * size..(index + 1) * size)
                .and_then(|bytes| Scalar::from_ne_bytes(element_type, bytes))
                .unwrap_or(self.fill_value)
        };
        let (x, y) = (element(before), element(after));
        let number =
            |scalar: Scalar| self.reader.read(&scalar.to_ne_bytes()).ok()?.first().copied();
        let wrong = number(x).zip(number(y)).and_then(|(x, y)| self.wrong(x, y));
        let why = match wrong {
            Some(Wrong::Far(distance, bound)) => {
                format!("an error of {distance:?}, more than --max-abs-error {bound:?}")
            }
            Some(Wrong::BecameNan) => {
                "its stored value is that of NaN; choose another with --nan-to".to_owned()
            }
            Some(Wrong::BecameFill) => {
                "its stored value is that of the fill value; use a wider --data-type or another \
                 --scale or --offset"
                    .to_owned()
            }
            Some(Wrong::Nan) => "NaN is lost; use --nan-to".to_owned(),
            Some(Wrong::Fill) => "the fill value is lost".to_owned(),
            Some(Wrong::Infinite) | None => "it does not come back".to_owned(),
        };
        Violation(format!("{} is {x} and decodes to {y}: {why}", region.element(index)))
    }
}

/// What can be wrong with an element.
enum Wrong {
    Nan,
    Fill,
    Infinite,
    BecameNan,
    BecameFill,
    Far(f64, f64),
}

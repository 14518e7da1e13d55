//! What `--metrics` tells of two arrays beside their errors: how well one keeps the other's pattern.

use anyhow::Context;
use recast_kernels::{ElementType, Scalar};
use serde::Serialize;

use super::dssim::{LEAST_EXTENT, Similarity, dssim};
use super::exact_sum::ExactSum;
use crate::array::pairs::Pairs;
use crate::array::region::Region;
use crate::error::Result;
use crate::runtime::{ChunkMemory, Workers};
use crate::scan::missing::Markers;
use crate::scan::number::{Number, NumberReader, with_numbers};

/// How well one array keeps the pattern of another. Elements count that are finite and not missing in both.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Metrics {
    /// Pearson's correlation of both; none if all values of one are equal.
    pub correlation: Option<f64>,
    /// For each dimension longer than 1, the largest error of the difference of two neighbours along it.
    pub gradients: Vec<GradientError>,
    /// The DSSIM of the fields over the last two dimensions longer than 1.
    pub dssim: Option<Similarity>,
    /// Why there is no DSSIM.
    pub no_dssim: Option<String>,
}

/// The largest |(b₂ − b₁) − (a₂ − a₁)| of neighbours along a dimension.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GradientError {
    /// The number of the dimension.
    pub dimension: usize,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The largest error.
    pub max: f64,
}

/// Fields of more elements have no DSSIM: one of them takes 16 GiB of memory.
const MOST_IN_FIELD: u64 = 1 << 27;
/// Fields are read together up to this many elements.
const READ_TOGETHER: u64 = 1 << 22;

/// Two arrays whose pattern is compared.
pub(crate) struct Patterns<'a, R> {
    pub(crate) pairs: Pairs<'a>,
    pub(crate) shape: &'a [u64],
    /// The names of the dimensions, if they have any.
    pub(crate) names: &'a [Option<String>],
    /// The range of the first array.
    pub(crate) range: Option<(Scalar, Scalar)>,
    /// The type in which elements are read.
    pub(crate) element_type: ElementType,
    /// Values that are missing among the first and among the second elements.
    pub(crate) missing: [&'a Markers; 2],
    /// Values that do not count if they are the same in both.
    pub(crate) fill: &'a Markers,
    /// Reads the elements of both arrays in a region.
    pub(crate) read: R,
}

impl<R: Fn(&Region) -> Result<[Vec<u8>; 2]> + Sync> Patterns<'_, R> {
    /// Reads both arrays, most chunks several times.
    pub(crate) fn metrics(&self, workers: &Workers) -> Result<Metrics> {
        let in_unit = in_unit(self.range);
        let one = |number| self.sums(&self.pairs.region(number)?, in_unit);
        let pass = self.pairs.pass("metrics");
        let sums = workers.merge(pass, self.pairs.regions(), one, PatternSums::merge)?;
        let found = Metrics {
            correlation: sums.correlation(),
            gradients: self.gradients(&sums),
            ..Metrics::default()
        };
        Ok(match self.similarity(workers)? {
            Ok(dssim) => Metrics { dssim: Some(dssim), ..found },
            Err(reason) => Metrics { no_dssim: Some(reason), ..found },
        })
    }

    /// The DSSIM, or why there is none.
    fn similarity(&self, workers: &Workers) -> Result<std::result::Result<Similarity, String>> {
        let long = self.shape.iter().enumerate().rev().filter(|(_, extent)| **extent > 1);
        let long: Vec<(usize, u64)> = long.take(2).map(|(at, extent)| (at, *extent)).collect();
        let [(_, columns), (first, rows)] = *long.as_slice() else {
            return Ok(Err("for fields of two dimensions".to_owned()));
        };
        if rows.min(columns) < LEAST_EXTENT {
            let text = format!("for fields of {LEAST_EXTENT} and more rows and columns");
            return Ok(Err(text));
        }
        let field = rows.saturating_mul(columns);
        if field > MOST_IN_FIELD {
            return Ok(Err(format!("for fields of up to {MOST_IN_FIELD} elements")));
        }
        if self.pairs.regions() == 0 {
            return Ok(Err("there are no elements".to_owned()));
        }
        // As many fields at once as a chunk has.
        let mut together = self.shape.to_vec();
        let chunk = self.pairs.region(0)?.chunk_shape;
        for (extent, of_chunk) in together.iter_mut().zip(chunk).take(first) {
            *extent = of_chunk.min(*extent);
        }
        if together.iter().product::<u64>() > READ_TOGETHER {
            together.iter_mut().take(first).for_each(|extent| *extent = 1);
        }
        let decoded = 10 * together.iter().product::<u64>() + 32 * field;
        let memory =
            ChunkMemory { array: self.pairs.path().to_owned(), shape: together.clone(), decoded };
        let workers = Workers::within(workers.runtime(), [Ok(Some(memory))])?;
        let regions = Region::tiles(self.shape, &together)?;
        let one = |number: u64| -> Result<Fields> {
            let region = regions.get(number as usize).context("no such fields")?;
            let [a, b, _] = self.numbers(region)?;
            let mut found = Fields::default();
            let fields = a.chunks(field as usize).zip(b.chunks(field as usize));
            for (index, (a, b)) in fields.enumerate() {
                found.add(dssim(a, b, columns as usize), region.place(index * field as usize));
            }
            Ok(found)
        };
        let found = workers.merge("similarity", regions.len() as u64, one, Fields::merge)?;
        Ok(found.similarity().ok_or_else(|| "no field has values in both".to_owned()))
    }

    /// The elements of both arrays as numbers, and the second less the first; NaN for those that do not count.
    fn numbers(&self, region: &Region) -> Result<[Vec<f64>; 3]> {
        with_numbers!(self.element_type, N => self.read_as::<N>(region))
    }

    fn read_as<N: Number>(&self, region: &Region) -> Result<[Vec<f64>; 3]> {
        let [a, b] = (self.read)(region)?;
        let reader = NumberReader::new(self.element_type)?;
        let (xs, ys): (Vec<N>, Vec<N>) = (reader.read(&a)?, reader.read(&b)?);
        let [of_a, of_b] = self.missing;
        let (of_a, of_b): (Vec<N>, Vec<N>) = (of_a.numbers(&reader)?, of_b.numbers(&reader)?);
        let fill: Vec<N> = self.fill.numbers(&reader)?;
        let is_missing = |y: &N| of_a.contains(y) || of_b.contains(y);
        let counts = |x: &N, y: &N| {
            let are_finite = x.is_finite() && y.is_finite();
            are_finite && !(of_a.contains(x) || is_missing(y) || (x == y && fill.contains(x)))
        };
        let pairs = || xs.iter().zip(&ys);
        let each = |number: fn(N, N) -> f64| {
            pairs().map(|(&x, &y)| if counts(&x, &y) { number(x, y) } else { f64::NAN }).collect()
        };
        Ok([each(|x, _| x.to_f64()), each(|_, y| y.to_f64()), each(|x, y| y.minus(x))])
    }

    /// The sums of a region, with the differences to the elements behind it.
    fn sums(&self, region: &Region, in_unit: impl Fn(f64) -> f64) -> Result<PatternSums> {
        let [a, b, errors] = self.numbers(region)?;
        let mut found =
            PatternSums { gradients: vec![0.0; self.shape.len()], ..PatternSums::default() };
        for (&x, &y) in a.iter().zip(&b).filter(|(x, _)| !x.is_nan()) {
            let (u, v) = (in_unit(x), in_unit(y));
            found.count += 1;
            for (sum, term) in found.sums.iter_mut().zip([u, v, u * u, v * v, u * v]) {
                sum.add(term);
            }
        }
        for (dimension, largest) in found.gradients.iter_mut().enumerate() {
            *largest = largest_step(&errors, &region.shape, dimension);
            if let Some(next) = behind(region, self.shape, dimension) {
                let [_, _, next] = self.numbers(&next)?;
                let pairs = face(&errors, &region.shape, dimension).zip(next);
                *largest = pairs.map(|(x, y)| (y - x).abs()).fold(*largest, f64::max);
            }
        }
        Ok(found)
    }

    /// The largest errors of gradients along the dimensions longer than 1.
    fn gradients(&self, sums: &PatternSums) -> Vec<GradientError> {
        let all = self.shape.iter().zip(&sums.gradients).enumerate();
        all.filter(|(_, (extent, _))| **extent > 1)
            .map(|(dimension, (_, &max))| {
                let name = self.names.get(dimension).cloned().flatten();
                GradientError { dimension, name, max }
            })
            .collect()
    }
}

/// Sums for a correlation, and the largest errors of gradients, of some regions.
#[derive(Clone, Debug, Default)]
struct PatternSums {
    count: u64,
    /// Σu, Σv, Σu², Σv², Σuv
    sums: [ExactSum; 5],
    /// By dimension.
    gradients: Vec<f64>,
}

/// Takes values of a range less its middle, divided by a power of two, so that the squares of what is left are neither large nor
/// small.
fn in_unit(range: Option<(Scalar, Scalar)>) -> impl Fn(f64) -> f64 + Copy {
    let (least, greatest) =
        range.map_or((0.0, 0.0), |(least, greatest)| (least.to_f64(), greatest.to_f64()));
    let (middle, half) = (least / 2.0 + greatest / 2.0, greatest / 2.0 - least / 2.0);
    let size = 2_f64.powi(half.log2().ceil().clamp(-1000.0, 1000.0) as i32);
    let size = if half > 0.0 { size } else { 1.0 };
    move |number| number / size - middle / size
}

impl PatternSums {
    fn merge(mut self, other: Self) -> Self {
        self.count += other.count;
        for (sum, more) in self.sums.iter_mut().zip(other.sums) {
            *sum = sum.plus(more);
        }
        self.gradients.resize(self.gradients.len().max(other.gradients.len()), 0.0);
        for (largest, more) in self.gradients.iter_mut().zip(other.gradients) {
            *largest = largest.max(more);
        }
        self
    }

    fn correlation(&self) -> Option<f64> {
        let count = self.count as f64;
        let [u, v, uu, vv, uv] = self.sums.map(ExactSum::value);
        // A smaller part of the squares is what rounding leaves.
        let variation = |squares: f64, sum: f64| {
            let left = count * squares - sum * sum;
            (left > 1e-14 * count * squares).then_some(left)
        };
        let (of_u, of_v) = (variation(uu, u)?, variation(vv, v)?);
        let correlation = (count * uv - u * v) / of_u.sqrt() / of_v.sqrt();
        correlation.is_finite().then(|| correlation.clamp(-1.0, 1.0))
    }
}

/// The DSSIM of some fields.
#[derive(Clone, Debug, Default)]
struct Fields {
    sum: ExactSum,
    count: u64,
    least: Option<(f64, Vec<u64>)>,
}

impl Fields {
    /// Adds the DSSIM of a field that begins at a place, if it has one.
    fn add(&mut self, dssim: Option<f64>, at: Vec<u64>) {
        let Some(dssim) = dssim else { return };
        self.sum.add(dssim);
        self.count += 1;
        if self.least.as_ref().is_none_or(|(least, _)| dssim < *least) {
            self.least = Some((dssim, at));
        }
    }

    fn merge(self, other: Self) -> Self {
        let is_less = match (&self.least, &other.least) {
            (Some((least, _)), Some((more, _))) => more < least,
            (None, _) => true,
            (Some(_), None) => false,
        };
        Self {
            sum: self.sum.plus(other.sum),
            count: self.count + other.count,
            least: if is_less { other.least } else { self.least },
        }
    }

    fn similarity(self) -> Option<Similarity> {
        let (least, at) = self.least?;
        let mean = self.sum.value() / self.count as f64;
        Some(Similarity { least, mean, fields: self.count, at })
    }
}

/// The largest difference of neighbours along a dimension.
fn largest_step(numbers: &[f64], shape: &[u64], dimension: usize) -> f64 {
    let stride = stride(shape, dimension);
    let row = stride * shape.get(dimension).map_or(1, |&extent| extent as usize);
    let steps = numbers.chunks(row.max(1)).flat_map(|row| {
        let next = row.iter().skip(stride);
        row.iter().zip(next).map(|(x, y)| (y - x).abs())
    });
    // NaN is no number to be larger than.
    steps.fold(0.0, f64::max)
}

/// The last elements along a dimension.
fn face<'a>(numbers: &'a [f64], shape: &[u64], dimension: usize) -> impl Iterator<Item = f64> + 'a {
    let stride = stride(shape, dimension);
    let row = stride * shape.get(dimension).map_or(1, |&extent| extent as usize);
    numbers.chunks(row.max(1)).flat_map(move |row| row.iter().skip(row.len() - stride)).copied()
}

fn stride(shape: &[u64], dimension: usize) -> usize {
    shape.iter().skip(dimension + 1).product::<u64>() as usize
}

/// The first elements behind a region along a dimension of an array; none at its end.
fn behind(region: &Region, shape: &[u64], dimension: usize) -> Option<Region> {
    let mut next = region.clone();
    let (start, extent) = (next.origin.get_mut(dimension)?, next.shape.get_mut(dimension)?);
    *start += std::mem::replace(extent, 1);
    let is_inside = *start < *shape.get(dimension)?;
    next.chunk_shape.clone_from(&next.shape);
    is_inside.then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_faces_are_those_of_each_dimension() {
        let numbers: Vec<f64> = [0.0, 1.0, 3.0, 10.0, 11.0, 30.0].into();
        let shape = [2, 3];
        assert_eq!([0, 1].map(|dimension| largest_step(&numbers, &shape, dimension)), [27.0, 19.0]);
        assert_eq!(face(&numbers, &shape, 0).collect::<Vec<_>>(), [10.0, 11.0, 30.0]);
        assert_eq!(face(&numbers, &shape, 1).collect::<Vec<_>>(), [3.0, 30.0]);
        let with_nan = [0.0, f64::NAN, 3.0, 5.0];
        assert_eq!(largest_step(&with_nan, &[4], 0), 2.0);
    }
}

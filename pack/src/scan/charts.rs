//! Gathers the data for the page of a report from all elements: histograms, and maps of the errors.

use std::sync::atomic::{AtomicU64, Ordering};

use recast_kernels::{ElementType, Format, Scalar};
use zarr_recast::Chain;

use super::axes::{Axis, axes, units};
use super::missing::Markers;
use super::number::{Number, NumberReader, encoded, magnitude, with_numbers};
use crate::array::region::Region;
use crate::array::source::Source;
use crate::error::Result;
use crate::runtime::{Runtime, Workers};

/// Elements that are read as numbers at once; they fit the cache.
const AT_ONCE: usize = 8192;

/// A histogram has at most this many bars.
const BARS: usize = 120;
/// A map has at most this many rows and columns.
const MAP: [u64; 2] = [120, 200];

/// The elements of a chunk: original, decoded and stored.
pub(crate) struct Pieces {
    pub(crate) before: Vec<u8>,
    pub(crate) after: Vec<u8>,
    pub(crate) codes: Option<Vec<u8>>,
}

/// Histograms and maps.
#[derive(Debug)]
pub struct Charts {
    /// The array's attribute `units`.
    pub units: Option<String>,
    /// The array's dimensions.
    pub axes: Vec<Axis>,
    /// The cells of the maps.
    pub plane: Plane,
    /// One original value in each cell.
    pub before: CellMap,
    /// The same elements, decoded.
    pub after: CellMap,
    /// The largest |error| in each cell, over all other dimensions.
    pub largest_errors: CellMap,
    /// The histogram of the original values.
    pub values: Histogram,
    /// The histogram of the stored codes.
    pub codes: Option<Histogram>,
    /// The histogram of decoded − original.
    pub errors: Histogram,
    /// The type in which elements are compared, and that of the codes.
    element_type: ElementType,
    code_type: Option<ElementType>,
    /// Values that are left out if both elements have them.
    markers: Markers,
}

/// Counts of numbers in bins of equal width.
#[derive(Debug)]
pub struct Histogram {
    /// Where the first bin begins.
    pub least: f64,
    /// Where the last bin ends.
    pub greatest: f64,
    bins: Vec<AtomicU64>,
}

impl Histogram {
    fn new((least, greatest): (f64, f64), bins: usize) -> Self {
        let bins = (0..bins.max(1)).map(|_| AtomicU64::new(0)).collect();
        Self { least, greatest, bins }
    }

    /// For whole numbers: each bin has the same number of them.
    fn of_integers((least, greatest): (f64, f64)) -> Self {
        let count = greatest - least + 1.0;
        let per_bin = (count / BARS as f64).ceil().max(1.0);
        let bins = (count / per_bin).ceil();
        let ends = (least - 0.5, least - 0.5 + bins * per_bin);
        Self::new(ends, bins as usize)
    }

    /// For errors of elements with this largest magnitude. Each bin covers the same number of possible
    /// differences, so none is higher for that reason. 0 is in the middle of a bin.
    fn of_errors(largest: f64, element_type: ElementType, magnitude: f64) -> Self {
        let spacing = match element_type.format() {
            Format::Float(format) => {
                2_f64.powi((magnitude.log2().floor() - format.mantissa_bits as f64) as i32)
            }
            _ => 1.0,
        };
        let width = (2.0 * largest / BARS as f64 / spacing).ceil() * spacing;
        if !(width.is_normal() && largest > 0.0) {
            return Self::new((-largest, largest), BARS + 1);
        }
        let each_side = (largest / width - 0.5).ceil().max(0.0);
        let end = (each_side + 0.5) * width;
        Self::new((-end, end), 2 * each_side as usize + 1)
    }

    fn add(&self, number: f64) {
        // Halves, for a range of f64 may be twice as long as its largest number.
        let extent = self.greatest / 2.0 - self.least / 2.0;
        let place = (number / 2.0 - self.least / 2.0) / extent * self.bins.len() as f64;
        // The cast saturates; an extent of 0 gives NaN, which becomes 0.
        let bin = self.bins.get((place as usize).min(self.bins.len() - 1));
        if let Some(bin) = bin {
            bin.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The bins: where each begins and ends, and its count.
    pub fn bins(&self) -> impl Iterator<Item = (f64, f64, u64)> {
        let bins = self.bins.len() as f64;
        let width = self.greatest / bins - self.least / bins;
        self.bins.iter().enumerate().map(move |(number, bin)| {
            let start = self.least + number as f64 * width;
            (start, start + width, bin.load(Ordering::Relaxed))
        })
    }
}

/// Cells over the last two dimensions longer than 1.
#[derive(Debug)]
pub struct Plane {
    /// These dimensions.
    pub dimensions: Vec<usize>,
    /// Their extents in the array, rows before columns; 1 for a missing dimension.
    pub extents: [u64; 2],
    /// Rows and columns of cells.
    pub cells: [u64; 2],
    /// Where maps of values cut through the array: the middle of each other dimension.
    pub at: Vec<u64>,
}

impl Plane {
    fn new(shape: &[u64]) -> Self {
        let extending = shape.iter().enumerate().filter(|(_, extent)| **extent > 1);
        let mut dimensions: Vec<usize> = extending.map(|(dimension, _)| dimension).collect();
        dimensions = dimensions.split_off(dimensions.len().saturating_sub(2));
        let extents = rows_and_columns(&dimensions, shape, 1);
        let cells = [extents[0].min(MAP[0]), extents[1].min(MAP[1])];
        let at = shape.iter().map(|extent| extent / 2).collect();
        Self { dimensions, extents, cells, at }
    }

    /// Row and column of an element in the array.
    fn coordinates(&self, place: &[u64]) -> [u64; 2] {
        rows_and_columns(&self.dimensions, place, 0)
    }

    /// The cell of an element.
    fn cell(&self, [row, column]: [u64; 2]) -> usize {
        let scaled = |coordinate: u64, side: usize| {
            u128::from(coordinate) * u128::from(self.cells[side]) / u128::from(self.extents[side])
        };
        (scaled(row, 0) * u128::from(self.cells[1]) + scaled(column, 1)) as usize
    }

    /// The cell that shows an element: the first element of a cell, in the cut that is shown.
    fn sampled_cell(&self, place: &[u64]) -> Option<usize> {
        let others = place.iter().zip(&self.at).enumerate();
        let mut others = others.filter(|(dimension, _)| !self.dimensions.contains(dimension));
        if others.any(|(_, (coordinate, at))| coordinate != at) {
            return None;
        }
        let [row, column] = self.coordinates(place);
        let cell = self.cell([row, column]);
        let is_first = (row == 0 || self.cell([row - 1, column]) != cell)
            && (column == 0 || self.cell([row, column - 1]) != cell);
        is_first.then_some(cell)
    }
}

/// The numbers of the last two of some dimensions, or another one for a missing dimension.
fn rows_and_columns(dimensions: &[usize], numbers: &[u64], missing: u64) -> [u64; 2] {
    [1, 0].map(|from_last| {
        let dimension = dimensions.iter().rev().nth(from_last);
        dimension.and_then(|&dimension| numbers.get(dimension)).copied().unwrap_or(missing)
    })
}

/// A number for each cell of a [`Plane`] that has one.
#[derive(Debug)]
pub struct CellMap {
    columns: u64,
    numbers: Vec<AtomicU64>,
}

/// The value of a cell without a number: a NaN that no element has.
const EMPTY: u64 = u64::MAX;

impl CellMap {
    fn new(plane: &Plane) -> Self {
        let count = plane.cells[0] * plane.cells[1];
        let numbers = (0..count).map(|_| AtomicU64::new(EMPTY)).collect();
        Self { columns: plane.cells[1], numbers }
    }

    fn set(&self, cell: usize, number: f64) {
        if let Some(place) = self.numbers.get(cell) {
            place.store(number.to_bits(), Ordering::Relaxed);
        }
    }

    /// Keeps the larger of a non-negative number and the present one.
    fn raise(&self, cell: usize, number: f64) {
        if let Some(place) = self.numbers.get(cell) {
            // Non-negative numbers have the order of their bits.
            let larger =
                |bits| (bits == EMPTY || f64::from_bits(bits) < number).then(|| number.to_bits());
            let _ = place.fetch_update(Ordering::Relaxed, Ordering::Relaxed, larger);
        }
    }

    /// The cells that have a number: row, column and number.
    pub fn cells(&self) -> impl Iterator<Item = (u64, u64, f64)> {
        self.numbers.iter().enumerate().filter_map(|(index, cell)| {
            let bits = cell.load(Ordering::Relaxed);
            let index = index as u64;
            (bits != EMPTY)
                .then(|| (index / self.columns, index % self.columns, f64::from_bits(bits)))
        })
    }
}

impl Charts {
    /// For the elements of an array, compared in a type. Those with values in `markers` are left out; no other is off by
    /// more than `max_error`.
    pub(crate) fn new(
        source: &Source,
        runtime: &Runtime,
        element_type: ElementType,
        range: Option<(Scalar, Scalar)>,
        markers: &Markers,
        max_error: f64,
    ) -> Self {
        let plane = Plane::new(source.array().shape());
        let [before, after, largest_errors] = [(); 3].map(|()| CellMap::new(&plane));
        let ends = range.map(|(least, greatest)| (least.to_f64(), greatest.to_f64()));
        let ends = ends.unwrap_or_default();
        let magnitude = range.map_or(0.0, magnitude);
        Self {
            units: units(source),
            axes: axes(source, &plane.dimensions, runtime),
            plane,
            before,
            after,
            largest_errors,
            values: Histogram::new(ends, BARS),
            codes: None,
            errors: Histogram::of_errors(max_error, element_type, magnitude),
            element_type,
            code_type: None,
            markers: markers.clone(),
        }
    }

    /// The same with the codes that a chain gives elements of a range.
    pub(crate) fn with_codes(self, chain: &Chain, range: Option<(Scalar, Scalar)>) -> Self {
        let element_type = chain.encoded_type();
        let code = |value: Scalar| encoded(chain, value).map(Scalar::to_f64);
        let ends = range.and_then(|(least, greatest)| code(least).zip(code(greatest)));
        let ends = ends.map(|(a, b)| (a.min(b), a.max(b))).unwrap_or_default();
        let codes = if element_type.is_integer() {
            Histogram::of_integers(ends)
        } else {
            Histogram::new(ends, BARS)
        };
        Self { codes: Some(codes), code_type: Some(element_type), ..self }
    }

    /// Goes through chunks. `read` returns their elements; `None` for a chunk of fill values.
    pub(crate) fn gather(
        self,
        workers: &Workers,
        chunks: u64,
        read: impl Fn(u64) -> Result<Option<(Region, Pieces)>> + Sync,
    ) -> Result<Self> {
        let one = |number| -> Result<()> {
            let Some((region, pieces)) = read(number)? else { return Ok(()) };
            with_numbers!(self.element_type, N => self.add::<N>(&region, &pieces))
        };
        workers.run("report", chunks, one, Ok)?;
        Ok(self)
    }

    fn add<'a, N: Number>(&self, region: &Region, pieces: &'a Pieces) -> Result<()> {
        let reader = NumberReader::new(self.element_type)?;
        let markers = self.markers.numbers(&reader)?;
        let mut place = region.origin.clone();
        let blocks = |bytes: &'a [u8], size: usize| bytes.chunks(AT_ONCE * size);
        let size = self.element_type.size();
        let mut codes = self
            .code_type
            .zip(pieces.codes.as_ref())
            .map(|(code_type, codes)| (code_type, blocks(codes, code_type.size())));
        for (before, after) in blocks(&pieces.before, size).zip(blocks(&pieces.after, size)) {
            let codes = match &mut codes {
                Some((code_type, codes)) => {
                    NumberReader::new(*code_type)?.read::<f64>(codes.next().unwrap_or_default())?
                }
                None => Vec::new(),
            };
            let (before, after) = (reader.read(before)?, reader.read(after)?);
            self.add_block::<N>(region, &mut place, &markers, [&before, &after], &codes);
        }
        Ok(())
    }

    /// Adds some elements, the first of which is at a place; moves the place behind the last.
    fn add_block<N: Number>(
        &self,
        region: &Region,
        place: &mut [u64],
        markers: &[N],
        [before, after]: [&[N]; 2],
        codes: &[f64],
    ) {
        for (index, (&x, &y)) in before.iter().zip(after).enumerate() {
            let cell = self.plane.cell(self.plane.coordinates(place));
            let sampled = self.plane.sampled_cell(place);
            for (map, number) in [(&self.before, x), (&self.after, y)] {
                let is_value = number.is_finite() && !markers.contains(&number);
                if let Some(cell) = sampled.filter(|_| is_value) {
                    map.set(cell, number.to_f64());
                }
            }
            let is_marker = markers.contains(&x) && x == y;
            if x.is_finite() && y.is_finite() && !is_marker {
                let error = y.minus(x);
                self.values.add(x.to_f64());
                self.errors.add(error);
                self.largest_errors.raise(cell, error.abs());
                if let Some((histogram, code)) = self.codes.as_ref().zip(codes.get(index)) {
                    histogram.add(*code);
                }
            }
            step(place, region);
        }
    }
}

/// Moves to the next element in C order.
fn step(place: &mut [u64], region: &Region) {
    let extents = region.origin.iter().zip(&region.shape).rev();
    for (coordinate, (origin, extent)) in place.iter_mut().rev().zip(extents) {
        *coordinate += 1;
        if *coordinate < origin + extent {
            return;
        }
        *coordinate = *origin;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counted_where_they_belong() {
        let histogram = Histogram::new((0.0, 10.0), 5);
        for number in [0.0, 1.9, 2.0, 9.9, 10.0] {
            histogram.add(number);
        }
        let counts: Vec<u64> = histogram.bins().map(|(_, _, count)| count).collect();
        assert_eq!(counts, [2, 1, 0, 0, 2]);
        let codes = Histogram::of_integers((-5.0, 5.0));
        codes.add(-5.0);
        codes.add(5.0);
        let counts: Vec<u64> = codes.bins().map(|(_, _, count)| count).collect();
        assert_eq!((counts.len(), counts[0], counts[10]), (11, 1, 1));
        // All numbers are the same.
        let constant = Histogram::new((3.0, 3.0), 5);
        constant.add(3.0);
        assert_eq!(constant.bins().map(|(_, _, count)| count).sum::<u64>(), 1);
    }

    #[test]
    fn bins_of_errors_have_equally_many_possible_errors() {
        // Between 256 and 512 values of float32 are 2^-15 apart.
        let spacing = 2_f64.powi(-15);
        let histogram = Histogram::of_errors(163.0 * spacing, ElementType::Float32, 304.0);
        for multiple in -163..=163 {
            histogram.add(f64::from(multiple) * spacing);
        }
        let counts: Vec<u64> = histogram.bins().map(|(_, _, count)| count).collect();
        let (first, rest) = counts.split_first().unwrap();
        let (last, between) = rest.split_last().unwrap();
        assert!(
            between.iter().all(|&count| count == 3) && *first <= 3 && first == last,
            "{counts:?}"
        );
        let whole = Histogram::of_errors(2.0, ElementType::Int16, 1000.0);
        assert_eq!(
            whole.bins().map(|(start, _, _)| start).collect::<Vec<_>>(),
            [-2.5, -1.5, -0.5, 0.5, 1.5]
        );
        assert_eq!(Histogram::of_errors(0.0, ElementType::Float32, 1.0).bins().count(), BARS + 1);
    }

    #[test]
    fn errors_are_mapped_to_their_place() {
        let plane = Plane::new(&[1, 3, 1, 400]);
        assert_eq!((plane.extents, plane.cells), ([3, 400], [3, 200]));
        let map = CellMap::new(&plane);
        for (place, error) in [([0, 2, 0, 399], 0.5), ([0, 2, 0, 398], 0.25)] {
            map.raise(plane.cell(plane.coordinates(&place)), error);
        }
        assert_eq!(map.cells().collect::<Vec<_>>(), [(2, 199, 0.5)]);
        assert_eq!(Plane::new(&[]).cells, [1, 1]);
    }

    #[test]
    fn each_cell_of_a_cut_shows_exactly_one_element() {
        for shape in [[5, 7, 9], [1, 130, 201], [4, 121, 1000], [3, 1, 450], [1, 1, 2]] {
            let plane = Plane::new(&shape);
            let mut shown = vec![0; (plane.cells[0] * plane.cells[1]) as usize];
            for place in (0..shape[0]).flat_map(|a| {
                (0..shape[1]).flat_map(move |b| (0..shape[2]).map(move |c| [a, b, c]))
            }) {
                if let Some(cell) = plane.sampled_cell(&place) {
                    shown[cell] += 1;
                }
            }
            assert!(shown.iter().all(|&count| count == 1), "{shape:?}: {shown:?}");
        }
    }
}

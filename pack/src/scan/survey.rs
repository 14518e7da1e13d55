//! The first pass over an array: its range, what is excluded from it, and a sample.

use anyhow::anyhow;
use recast_kernels::{ElementType, Scalar};

use super::limits::Limits;
use super::number::{Number, is_less, is_wide};
use super::reader::{BLOCK, Reader};
use super::simd_stats;
use crate::error::Result;
use crate::io::source::Source;
use crate::runtime::Workers;

/// Elements of the sample, more or less.
const SAMPLE: u64 = 1 << 16;
/// Independent searches that the compiler can do side by side.
const LANES: usize = 8;

/// What an array holds.
#[derive(Clone, Debug)]
pub(crate) struct Survey {
    pub(crate) element_type: ElementType,
    /// The array's fill value.
    pub(crate) fill_value: Scalar,
    /// The fill values of all arrays, sorted by their bits.
    pub(crate) fill_values: Vec<Scalar>,
    pub(crate) elements: u64,
    /// NaNs.
    pub(crate) nan: u64,
    /// Elements equal to the fill value, if that is not NaN.
    pub(crate) fill: u64,
    /// Infinities other than the fill value, and the first of them.
    pub(crate) infinite: u64,
    pub(crate) first_infinite: Option<String>,
    /// Smallest and largest of all other elements.
    pub(crate) data_range: Option<(Scalar, Scalar)>,
    /// The same, or the range that is to be kept, if that was asked for.
    pub(crate) range: Option<(Scalar, Scalar)>,
    pub(crate) limits: Option<Limits>,
    /// Some of those elements, in native byte order, with the smallest and the largest.
    pub(crate) sample: Vec<u8>,
}

impl Survey {
    /// Of this array and another one; what names a single one stays.
    pub(crate) fn merge(mut self, other: &Self) -> Self {
        self.fill_values.extend(&other.fill_values);
        self.fill_values.sort_by_key(|fill| fill.bits());
        self.fill_values.dedup();
        self.elements += other.elements;
        self.nan += other.nan;
        self.fill += other.fill;
        self.infinite += other.infinite;
        self.data_range = union(self.data_range, other.data_range);
        self.range = self.data_range;
        self.sample.extend(&other.sample);
        self
    }

    /// Keeps the values to a range.
    pub(crate) fn keep_to(&mut self, limits: Option<Limits>) {
        if let Some(limits) = limits {
            self.range = Some((limits.least, limits.greatest));
            self.limits = Some(limits.beside(self.fill_value));
        }
    }
}

/// The range that holds two.
fn union(a: Option<(Scalar, Scalar)>, b: Option<(Scalar, Scalar)>) -> Option<(Scalar, Scalar)> {
    let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
    let least = if is_less(b.0, a.0) { b.0 } else { a.0 };
    let greatest = if is_less(a.1, b.1) { b.1 } else { a.1 };
    Some((least, greatest))
}

/// The counts and the range of some elements.
#[derive(Clone, Copy, Debug)]
struct Tally<N> {
    nan: u64,
    fill: u64,
    infinite: u64,
    least: N,
    greatest: N,
}

impl<N: Number> Tally<N> {
    fn new() -> Self {
        let (below, above) = N::EXTREMES;
        Self { nan: 0, fill: 0, infinite: 0, least: above, greatest: below }
    }

    /// Counts a number, without a branch.
    #[allow(clippy::needless_bitwise_bool)]
    fn add(&mut self, number: N, fill: Option<N>) {
        let is_nan = number.is_nan();
        let is_fill = fill == Some(number);
        let is_infinite = number.is_infinite() & !is_fill;
        self.nan += u64::from(is_nan);
        self.fill += u64::from(is_fill);
        self.infinite += u64::from(is_infinite);
        let counts = !(is_nan | is_fill | is_infinite);
        self.least = if counts & (number < self.least) { number } else { self.least };
        self.greatest = if counts & (number > self.greatest) { number } else { self.greatest };
    }

    fn merge(self, other: Self) -> Self {
        Self {
            nan: self.nan + other.nan,
            fill: self.fill + other.fill,
            infinite: self.infinite + other.infinite,
            least: if other.least < self.least { other.least } else { self.least },
            greatest: if other.greatest > self.greatest { other.greatest } else { self.greatest },
        }
    }
}

/// The index of an infinity, and its name.
type Infinite = (usize, &'static str);

/// Goes through all elements of an array.
pub(crate) fn survey(source: &Source, workers: &Workers) -> Result<Survey> {
    if is_wide(source.element_type()) {
        survey_as::<i128>(source, workers)
    } else {
        survey_as::<f64>(source, workers)
    }
}

fn survey_as<N: Number>(source: &Source, workers: &Workers) -> Result<Survey> {
    let element_type = source.element_type();
    let size = element_type.size();
    let fill_value = source.fill_value();
    let reader = Reader::<N>::new(element_type)?;
    let fill = reader.read(&fill_value.to_ne_bytes())?.first().copied();
    let fill = fill.filter(|fill| !fill.is_nan());
    let chunks = source.chunks();
    let per_chunk = SAMPLE.div_ceil(chunks.max(1));
    let every = (chunks / SAMPLE).max(1);

    let work = |number| -> Result<(Tally<N>, Option<String>, Vec<u8>)> {
        let region = source.region(number)?;
        let mut total = Tally::new();
        let (mut infinite, mut sample) = (None, Vec::new());
        let step = region.elements().div_ceil(per_chunk).max(1) as usize;
        let is_stored = source.pieces(&region, |first, elements| {
            let (of_piece, found) = tally(&reader, elements, fill)?;
            total = total.merge(of_piece);
            if let Some((index, text)) = found.filter(|_| infinite.is_none()) {
                infinite = Some(format!("{} is {text}", region.element(first + index)));
            }
            if number % every == 0 {
                let before = (step - first % step) % step;
                sample.extend(elements.chunks_exact(size).skip(before).step_by(step).flatten());
            }
            Ok(())
        })?;
        if !is_stored {
            let counter = if fill.is_some() { &mut total.fill } else { &mut total.nan };
            *counter = region.elements();
        }
        Ok((total, infinite, sample))
    };
    let mut total = Tally::new();
    let mut first_infinite = None;
    let mut taken = Vec::new();
    workers.run(source.pass("range"), chunks, work, |(tally, infinite, sample)| {
        total = total.merge(tally);
        first_infinite = first_infinite.take().or(infinite);
        taken.extend(sample);
        Ok(())
    })?;

    let range = if total.least <= total.greatest {
        let scalar = |number: N| {
            let scalar = number.to_scalar(element_type);
            scalar.ok_or_else(|| anyhow!("an element is not of type {element_type}"))
        };
        Some((scalar(total.least)?, scalar(total.greatest)?))
    } else {
        None
    };
    let mut sample = Vec::new();
    for (number, element) in reader.read(&taken)?.into_iter().zip(taken.chunks_exact(size)) {
        if !number.is_nan() && !number.is_infinite() && fill != Some(number) {
            sample.extend_from_slice(element);
        }
    }
    if let Some((least, greatest)) = range {
        sample.extend(least.to_ne_bytes());
        sample.extend(greatest.to_ne_bytes());
    }
    Ok(Survey {
        element_type,
        fill_value,
        fill_values: vec![fill_value],
        elements: source.elements() as u64,
        nan: total.nan,
        fill: total.fill,
        infinite: total.infinite,
        first_infinite,
        data_range: range,
        range,
        limits: None,
        sample,
    })
}

/// Tallies elements; with the first infinity's index and value.
fn tally<N: Number>(
    reader: &Reader<N>,
    elements: &[u8],
    fill: Option<N>,
) -> Result<(Tally<N>, Option<Infinite>)> {
    let element_type = reader.element_type();
    let mut total = Tally::new();
    let mut infinite = None;
    let mut numbers = Vec::with_capacity(BLOCK);
    let fill_as_float = fill.map(Number::to_f64);
    for (block, bytes) in elements.chunks(BLOCK * element_type.size()).enumerate() {
        if let Some(range) = simd_stats::range(element_type, bytes, fill_as_float)
            && let Some((least, greatest)) = N::from_floats(range)
        {
            total = total.merge(Tally { least, greatest, ..Tally::new() });
            continue;
        }
        reader.read_into(bytes, &mut numbers)?;
        let mut lanes = [Tally::new(); LANES];
        let (rows, rest) = numbers.as_chunks::<LANES>();
        for row in rows {
            for (lane, &number) in lanes.iter_mut().zip(row) {
                lane.add(number, fill);
            }
        }
        for (lane, &number) in lanes.iter_mut().zip(rest) {
            lane.add(number, fill);
        }
        let tally = lanes.into_iter().fold(Tally::new(), Tally::merge);
        if tally.infinite > 0 && infinite.is_none() {
            let is_infinite = |number: &N| number.is_infinite() && fill != Some(*number);
            let index = numbers.iter().position(is_infinite);
            infinite = index.and_then(|index| {
                let negative = *numbers.get(index)? < N::EXTREMES.1;
                let text = if negative { "-Infinity" } else { "Infinity" };
                Some((block * BLOCK + index, text))
            });
        }
        total = total.merge(tally);
    }
    Ok((total, infinite))
}

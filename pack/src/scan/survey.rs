//! The first pass over an array: its range, what is excluded from it, and a sample.

use anyhow::{Context, anyhow, bail};
use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use zarr_recast::JsonScalar;

use super::limits::Limits;
use super::missing::Markers;
use super::number::{Number, is_less, is_wide};
use super::reader::{BLOCK, Reader};
use super::simd_stats;
use crate::error::Result;
use crate::io::source::Source;
use crate::options::ValueRange;
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
    /// The missing markers.
    pub(crate) markers: Markers,
    /// The values that take part in no range, as the codecs keep them exactly: markers and fill values;
    /// and how many elements each of them is.
    pub(crate) apart: Markers,
    pub(crate) apart_counts: Vec<u64>,
    /// Infinities that are not apart, and the first of them.
    pub(crate) infinite: u64,
    pub(crate) first_infinite: Option<String>,
    /// Smallest and largest of all other elements.
    pub(crate) data_range: Option<(Scalar, Scalar)>,
    /// The same, or the range that is to be kept, if that was asked for.
    pub(crate) range: Option<(Scalar, Scalar)>,
    pub(crate) limits: Option<Limits>,
    /// The range that was promised room for, whether values were seen there or not.
    pub(crate) promised: Option<(Scalar, Scalar)>,
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
        self.markers.extend(other.markers.values().iter().copied());
        let own = self.clone();
        self.apart.extend(other.apart.values().iter().copied());
        let both = |&value: &Scalar| own.count(value) + other.count(value);
        self.apart_counts = self.apart.values().iter().map(both).collect();
        self.infinite += other.infinite;
        self.data_range = union(self.data_range, other.data_range);
        self.range = self.data_range;
        self.sample.extend(&other.sample);
        self
    }

    /// Elements that are a value that stands apart.
    pub(crate) fn count(&self, value: Scalar) -> u64 {
        let mut counts = self.apart.values().iter().zip(&self.apart_counts);
        counts.find(|(one, _)| one.equals(value)).map_or(0, |(_, &count)| count)
    }

    /// Elements that are missing markers.
    pub(crate) fn missing(&self) -> u64 {
        self.markers.values().iter().map(|&marker| self.count(marker)).sum()
    }

    /// Elements that the range is of.
    pub(crate) fn ranged(&self) -> u64 {
        self.elements - self.nan - self.apart_counts.iter().sum::<u64>() - self.infinite
    }

    /// The range of all values that codecs must be able to store.
    pub(crate) fn to_store(&self) -> Option<(Scalar, Scalar)> {
        union(self.range, self.promised)
    }

    /// Promises room for a range.
    pub(crate) fn promise(&mut self, range: &ValueRange) -> Result<()> {
        let end = |number: &JsonScalar, inward| {
            let element_type = self.element_type;
            let exact = number.to_scalar(element_type).ok();
            // Inside what was named, where the type has no such value.
            let near = || {
                let number = Scalar::from(number.text().parse::<f64>().ok()?);
                number.cast(element_type, inward, OutOfRange::Error).ok()
            };
            let end = exact.or_else(near).filter(|end| end.is_finite());
            end.with_context(|| {
                format!(
                    "--range: {number} is outside {element_type} ({} to {}), the type of the values",
                    Scalar::min(element_type),
                    Scalar::max(element_type)
                )
            })
        };
        let least = end(&range.least, Rounding::TowardsPositive)?;
        let greatest = end(&range.greatest, Rounding::TowardsNegative)?;
        if is_less(greatest, least) {
            bail!("--range: no value of {} lies in it", self.element_type);
        }
        self.promised = Some((least, greatest));
        Ok(())
    }

    /// Keeps the values to a range.
    pub(crate) fn keep_to(&mut self, limits: Option<Limits>) {
        if let Some(limits) = limits {
            self.range = Some((limits.least, limits.greatest));
            self.limits = Some(limits);
        }
    }
}

/// The range that holds two.
pub(crate) fn union(
    a: Option<(Scalar, Scalar)>,
    b: Option<(Scalar, Scalar)>,
) -> Option<(Scalar, Scalar)> {
    let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
    let least = if is_less(b.0, a.0) { b.0 } else { a.0 };
    let greatest = if is_less(a.1, b.1) { b.1 } else { a.1 };
    Some((least, greatest))
}

/// The counts and the range of some elements.
#[derive(Clone, Copy, Debug)]
struct Tally<N> {
    nan: u64,
    apart: u64,
    infinite: u64,
    least: N,
    greatest: N,
}

/// The values that take part in no range, as numbers and as f64.
struct Apart<N> {
    numbers: Vec<N>,
    rounded: Vec<f64>,
}

impl<N: Number> Apart<N> {
    fn contains(&self, number: N) -> bool {
        self.numbers.contains(&number)
    }
}

impl<N: Number> Tally<N> {
    fn new() -> Self {
        let (below, above) = N::EXTREMES;
        Self { nan: 0, apart: 0, infinite: 0, least: above, greatest: below }
    }

    /// Counts a number.
    #[allow(clippy::needless_bitwise_bool)]
    fn add(&mut self, number: N, apart: &Apart<N>) {
        let is_nan = number.is_nan();
        let is_apart = apart.contains(number);
        let is_infinite = number.is_infinite() & !is_apart;
        self.nan += u64::from(is_nan);
        self.apart += u64::from(is_apart);
        self.infinite += u64::from(is_infinite);
        let counts = !(is_nan | is_apart | is_infinite);
        self.least = if counts & (number < self.least) { number } else { self.least };
        self.greatest = if counts & (number > self.greatest) { number } else { self.greatest };
    }

    fn merge(self, other: Self) -> Self {
        Self {
            nan: self.nan + other.nan,
            apart: self.apart + other.apart,
            infinite: self.infinite + other.infinite,
            least: if other.least < self.least { other.least } else { self.least },
            greatest: if other.greatest > self.greatest { other.greatest } else { self.greatest },
        }
    }
}

/// The index of an infinity, and its name.
type Infinite = (usize, &'static str);

/// Goes through all elements of an array. Markers and the fill value take part in no range.
pub(crate) fn survey(source: &Source, markers: &Markers, workers: &Workers) -> Result<Survey> {
    if is_wide(source.element_type()) {
        survey_as::<i128>(source, markers, workers)
    } else {
        survey_as::<f64>(source, markers, workers)
    }
}

/// What a chunk holds.
struct OfChunk<N> {
    tally: Tally<N>,
    apart_counts: Vec<u64>,
    first_infinite: Option<String>,
    sample: Vec<u8>,
}

fn survey_as<N: Number>(source: &Source, markers: &Markers, workers: &Workers) -> Result<Survey> {
    let element_type = source.element_type();
    let size = element_type.size();
    let fill_value = source.fill_value();
    let reader = Reader::<N>::new(element_type)?;
    let mut apart_values = markers.clone();
    apart_values.extend([fill_value]);
    let numbers = apart_values.numbers(&reader)?;
    let rounded = numbers.iter().map(|number| number.to_f64()).collect();
    let apart = Apart { numbers, rounded };
    let chunks = source.chunks();
    let per_chunk = SAMPLE.div_ceil(chunks.max(1));
    let every = (chunks / SAMPLE).max(1);

    let work = |number| -> Result<OfChunk<N>> {
        let region = source.region(number)?;
        let mut found = OfChunk {
            tally: Tally::new(),
            apart_counts: vec![0; apart.numbers.len()],
            first_infinite: None,
            sample: Vec::new(),
        };
        let step = region.elements().div_ceil(per_chunk).max(1) as usize;
        let is_stored = source.pieces(&region, |first, elements| {
            let (of_piece, infinite) = tally(&reader, elements, &apart, &mut found.apart_counts)?;
            found.tally = found.tally.merge(of_piece);
            if let Some((index, text)) = infinite.filter(|_| found.first_infinite.is_none()) {
                found.first_infinite = Some(format!("{} is {text}", region.element(first + index)));
            }
            if number % every == 0 {
                let before = (step - first % step) % step;
                let some = elements.chunks_exact(size).skip(before).step_by(step);
                found.sample.extend(some.flatten());
            }
            Ok(())
        })?;
        if !is_stored {
            let index = apart_values.values().iter().position(|value| value.equals(fill_value));
            let count = index.and_then(|index| found.apart_counts.get_mut(index));
            *count.unwrap_or(&mut found.tally.nan) = region.elements();
        }
        Ok(found)
    };
    let mut total = Tally::new();
    let mut apart_counts = vec![0; apart.numbers.len()];
    let mut first_infinite = None;
    let mut taken = Vec::new();
    workers.run(source.pass("range"), chunks, work, |found| {
        total = total.merge(found.tally);
        for (count, more) in apart_counts.iter_mut().zip(found.apart_counts) {
            *count += more;
        }
        first_infinite = first_infinite.take().or(found.first_infinite);
        taken.extend(found.sample);
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
        if !number.is_nan() && !number.is_infinite() && !apart.contains(number) {
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
        markers: markers.clone(),
        apart: apart_values,
        apart_counts,
        infinite: total.infinite,
        first_infinite,
        data_range: range,
        range,
        limits: None,
        promised: None,
        sample,
    })
}

/// Tallies elements, and how many are each value that stands apart; with the first infinity's index and value.
fn tally<N: Number>(
    reader: &Reader<N>,
    elements: &[u8],
    apart: &Apart<N>,
    apart_counts: &mut [u64],
) -> Result<(Tally<N>, Option<Infinite>)> {
    let element_type = reader.element_type();
    let mut total = Tally::new();
    let mut infinite = None;
    let mut numbers = Vec::with_capacity(BLOCK);
    for (block, bytes) in elements.chunks(BLOCK * element_type.size()).enumerate() {
        if let Some(range) = simd_stats::range(element_type, bytes, &apart.rounded)
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
                lane.add(number, apart);
            }
        }
        for (lane, &number) in lanes.iter_mut().zip(rest) {
            lane.add(number, apart);
        }
        let tally = lanes.into_iter().fold(Tally::new(), Tally::merge);
        if tally.apart > 0 {
            for (count, &value) in apart_counts.iter_mut().zip(&apart.numbers) {
                *count += numbers.iter().filter(|&&number| number == value).count() as u64;
            }
        }
        if tally.infinite > 0 && infinite.is_none() {
            let is_infinite = |number: &N| number.is_infinite() && !apart.contains(*number);
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

//! Narrows the range of a survey to given ends, or to percentiles of all values.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, bail};
use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};

use super::limits::Limits;
use super::number::{Number, is_wide};
use super::reader::{BLOCK, Reader};
use super::survey::Survey;
use crate::error::Result;
use crate::io::source::Source;
use crate::runtime::Workers;

/// The requested limits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) least: Option<f64>,
    pub(crate) greatest: Option<f64>,
    /// In percent.
    pub(crate) percentiles: Option<(f64, f64)>,
}

/// Narrows the range of a survey of some arrays to the requested limits, and removes elements outside from its
/// sample.
pub(crate) fn narrow(
    survey: &mut Survey,
    wanted: &Wanted,
    sources: &[Source],
    workers: &Workers,
) -> Result<()> {
    let percentiles = wanted.percentiles.filter(|_| survey.range.is_some());
    let between = percentiles.map(|percentiles| {
        if is_wide(survey.element_type) {
            at_percentiles::<i128>(survey, percentiles, sources, workers)
        } else {
            at_percentiles::<f64>(survey, percentiles, sources, workers)
        }
    });
    keep_within(survey, wanted, between.transpose()?)
}

/// As [`narrow`], with the values at the requested percentiles, if any.
pub(crate) fn keep_within(
    survey: &mut Survey,
    wanted: &Wanted,
    between: Option<(Scalar, Scalar)>,
) -> Result<()> {
    let Some(range) = survey.range.filter(|_| *wanted != Wanted::default()) else { return Ok(()) };
    let element_type = survey.element_type;
    let (mut least, mut greatest) = between.unwrap_or(range);
    // The next value inside the limit, if the type lacks the value itself.
    let end = |number: f64, rounding, flag: &str| {
        let end = Scalar::from(number).cast(element_type, rounding, OutOfRange::Clamp).ok();
        end.filter(|end| end.is_finite())
            .with_context(|| format!("{flag} {number:?} has no counterpart in {element_type}"))
    };
    if let Some(number) = wanted.least {
        least = end(number, Rounding::TowardsPositive, "--src-min")?;
    }
    if let Some(number) = wanted.greatest {
        greatest = end(number, Rounding::TowardsNegative, "--src-max")?;
    }
    if least.to_f64() > greatest.to_f64() {
        bail!("the range to keep, from {least} to {greatest}, is empty");
    }
    let limits = Limits::new(least, greatest, &survey.apart);
    limits.shorten(&mut survey.sample)?;
    survey.range = Some((least, greatest));
    survey.limits = Some(limits);
    Ok(())
}

/// Bins of one pass, as a power of two.
const BIN_BITS: u32 = 16;

/// The rank of the wanted element, and the keys between which it is.
#[derive(Clone, Copy, Debug)]
struct Search {
    /// Elements below `low` are not counted.
    rank: u64,
    low: u128,
    high: u128,
}

impl Search {
    /// The number of low bits of a key that do not affect its bin.
    fn shift(&self) -> u32 {
        (u128::BITS - (self.high - self.low).leading_zeros()).saturating_sub(BIN_BITS)
    }

    fn bin(&self, key: u128) -> Option<usize> {
        (self.low..=self.high).contains(&key).then(|| ((key - self.low) >> self.shift()) as usize)
    }

    /// Continues in the bin with the element.
    fn step(&mut self, bins: &[AtomicU64]) -> Result<()> {
        let shift = self.shift();
        for (number, bin) in bins.iter().enumerate() {
            let count = bin.load(Ordering::Relaxed);
            if self.rank < count {
                self.low += (number as u128) << shift;
                self.high = self.high.min(self.low + (1 << shift) - 1);
                return Ok(());
            }
            self.rank -= count;
        }
        bail!("the array has changed while it was read")
    }
}

/// The exact elements at two percentiles (nearest rank). Each pass over the array finds 16 more bits of them.
fn at_percentiles<N: Number>(
    survey: &Survey,
    (low, high): (f64, f64),
    sources: &[Source],
    workers: &Workers,
) -> Result<(Scalar, Scalar)> {
    let element_type = survey.element_type;
    let reader = Reader::<N>::new(element_type)?;
    let unused = unused_bits(element_type);
    let key = |number: N| number.key() >> unused;
    let number = |scalar: Scalar| -> Result<N> {
        reader.read(&scalar.to_ne_bytes())?.first().copied().context("an element has no bytes")
    };
    let apart = survey.apart.numbers(&reader)?;
    let (least, greatest) = survey.range.context("an array without values")?;
    let (least, greatest) = (key(number(least)?), key(number(greatest)?));
    let counted = survey.ranged();
    let search = |percent: f64| {
        let rank = (percent / 100.0 * counted as f64).ceil() as u64;
        Search { rank: rank.clamp(1, counted) - 1, low: least, high: greatest }
    };
    let mut searches = [search(low), search(high)];
    while searches.iter().any(|search| search.low < search.high) {
        let bins = searches.map(|_| (0..1 << BIN_BITS).map(|_| AtomicU64::new(0)).collect());
        let bins: [Vec<AtomicU64>; 2] = bins;
        for source in sources {
            let work = |chunk| -> Result<()> {
                let region = source.region(chunk)?;
                let Some(elements) = source.read(&region)? else { return Ok(()) };
                let mut numbers = Vec::with_capacity(BLOCK);
                for block in elements.chunks(BLOCK * element_type.size()) {
                    reader.read_into(block, &mut numbers)?;
                    for &number in &numbers {
                        if number.is_nan() || number.is_infinite() || apart.contains(&number) {
                            continue;
                        }
                        let key = key(number);
                        for (search, bins) in searches.iter().zip(&bins) {
                            if let Some(bin) = search.bin(key).and_then(|bin| bins.get(bin)) {
                                bin.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                }
                Ok(())
            };
            workers.run(source.pass("percentile"), source.chunks(), work, Ok)?;
        }
        for (search, bins) in searches.iter_mut().zip(&bins) {
            search.step(bins)?;
        }
    }
    let scalar = |search: Search| {
        let number = N::from_key(search.low, unused);
        number.to_scalar(element_type).context("an element is not of its type")
    };
    Ok((scalar(searches[0])?, scalar(searches[1])?))
}

/// Low bits of the keys that are the same for all numbers of a type with the same sign.
fn unused_bits(element_type: ElementType) -> u32 {
    match element_type {
        ElementType::Float64 | ElementType::Int64 | ElementType::UInt64 => 0,
        // 53 bits of an f64's significand, less those of the type.
        ElementType::Int32 | ElementType::UInt32 => 53 - 32,
        _ => 53 - 24,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_the_numbers_and_lead_back_to_them() {
        let numbers: [f64; 7] = [-3e38, -1.5, -0.0, 0.0, 1e-40_f32.into(), 1.5, 3e38];
        for unused in [0, 29] {
            let floats = numbers.map(|number| f64::from(number as f32));
            let keys = floats.map(|number| number.key() >> unused);
            assert!(keys.is_sorted_by(|a, b| a < b));
            assert_eq!(keys.map(|key| f64::from_key(key, unused)), floats);
        }
        let integers = [i128::from(i64::MIN), -1, 0, 1, i128::from(u64::MAX)];
        let keys = integers.map(Number::key);
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert_eq!(keys.map(|key| i128::from_key(key, 0)), integers);
    }
}

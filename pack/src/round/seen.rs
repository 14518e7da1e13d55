//! Finds out from elements how they were rounded.

use num_traits::Float;
use recast_kernels::{ElementType, Format};
use serde::Serialize;

use super::floats::power_of_two;
use super::rounder::{Rounded, is_rounded};
use crate::array::region::{Region, spread};
use crate::array::source::Source;
use crate::error::Result;
use crate::scan::missing::Markers;

/// The approximate bytes that are looked at.
const SAMPLE: u64 = 4 << 20;
/// The most chunks that are looked at: each is a file to look for.
const MOST_CHUNKS: u64 = 1000;

/// The common form of floating-point values without value codecs, as far as some chunks show it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SeenRounding {
    /// The common form.
    #[serde(flatten)]
    pub rounded: Rounded,
    /// The number of chunks that were read, and of all chunks.
    pub chunks: (u64, u64),
    /// Whether only the first elements of these chunks were looked at.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
}

/// `multiples of 2^-7 = 0.0078125, in all chunks`.
impl std::fmt::Display for SeenRounding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (seen, all) = self.chunks;
        let part = if self.is_partial { "the first elements of " } else { "" };
        write!(f, "{}, in {part}", self.rounded)?;
        if seen == all { f.write_str("all chunks") } else { write!(f, "{seen} of {all} chunks") }
    }
}

impl SeenRounding {
    /// Looks at some chunks. None for a type that is not rounded, or values that are not.
    pub(crate) fn of(source: &Source) -> Result<Option<Self>> {
        let (element_type, all) = (source.element_type(), source.chunks());
        if all == 0 || !is_rounded(element_type) {
            return Ok(None);
        }
        let chunk = source.region(0)?.elements() * element_type.size() as u64;
        let numbers = spread(all, (SAMPLE / chunk.max(1)).clamp(1, MOST_CHUNKS));
        let seen = numbers.len() as u64;
        let (mut elements, mut is_partial) = (Vec::new(), false);
        for number in numbers {
            let region = source.region(number)?;
            let read = match part(&region, element_type) {
                None => source.read(&region)?,
                Some(part) if source.reads_parts() => {
                    is_partial = true;
                    source.read_at(&part)?
                }
                // Nobody waits for a large chunk to be decoded that asks for information.
                Some(_) => return Ok(None),
            };
            elements.extend(read.unwrap_or_default());
        }
        let rounded = rounded(element_type, &elements, &Markers::of(source))?;
        Ok(rounded.map(|rounded| Self { rounded, chunks: (seen, all), is_partial }))
    }
}

/// The first elements of a chunk, if the chunk is much larger than the part that is looked at.
fn part(chunk: &Region, element_type: ElementType) -> Option<Region> {
    let most = SAMPLE / element_type.size() as u64;
    if chunk.elements() / 16 <= most {
        return None;
    }
    let mut shape = chunk.shape.clone();
    for axis in 0..shape.len() {
        let elements: u64 = shape.iter().product();
        if let Some(extent) = shape.get_mut(axis).filter(|_| elements > most) {
            *extent = (most / (elements / *extent)).clamp(1, *extent);
        }
    }
    Some(Region { shape, ..chunk.clone() })
}

/// The exponents of the first bit of a number, which is finite and not 0, and of its last one that is not 0.
fn ends(number: f64) -> (i32, i32) {
    let (mantissa, exponent, _) = number.integer_decode();
    let exponent_of = |bit: u32| bit as i32 + i32::from(exponent);
    (exponent_of(mantissa.ilog2()), exponent_of(mantissa.trailing_zeros()))
}

/// The common form of elements of a floating-point type.
fn rounded(
    element_type: ElementType,
    elements: &[u8],
    markers: &Markers,
) -> Result<Option<Rounded>> {
    let Format::Float(format) = element_type.format() else { return Ok(None) };
    let numbers = markers.others(element_type, elements)?.into_iter();
    let ends: Vec<(i32, i32)> = numbers.filter(|x| *x != 0.0).map(ends).collect();
    let Some(step) = ends.iter().map(|(_, last)| *last).min() else { return Ok(None) };
    let mantissa = format.mantissa_bits as i32;
    // Of numbers that were not rounded, about half use the last bit of their mantissa.
    let coarser = ends.iter().filter(|(first, _)| first - mantissa < step).count();
    if 2 * coarser > ends.len() {
        return Ok(Some(Rounded::MultiplesOf(power_of_two(step))));
    }
    let most = ends.iter().map(|(first, last)| first - last).max().unwrap_or(mantissa);
    Ok((most < mantissa).then_some(Rounded::MantissaBits(most.unsigned_abs())))
}

//! What another shape of the chunks would save, for a dry run.

use rayon::prelude::*;
use serde::Serialize;

use super::context::PackContext;
use super::encode::Encoded;
use crate::array::byte_encoder::ByteEncoder;
use crate::array::region::{Block, Region, spread};
use crate::choose::compression::Level;
use crate::error::Result;

/// Advice is worth reading from this part of the bytes on.
const WORTH: f64 = 0.1;
/// How much longer or shorter another chunk may be along an axis.
const FACTOR: u64 = 4;
/// The approximate bytes that are read for each shape, and those that a single area may have; both are at most this part of
/// the array, so that a dry run of a short one does less than a run.
const SAMPLE: u64 = 4 << 20;
const PART: u64 = 8;
const MOST: u64 = 16 << 20;

/// A shape of the chunks with which the packed array would be smaller; in shards, of their inner chunks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChunkAdvice {
    /// The shape.
    pub chunk_shape: Vec<u64>,
    /// The shape that the input has, and the output gets.
    pub present_chunk_shape: Vec<u64>,
    /// The part of the stored bytes that it would save, from 0.1 to 1; estimated from some areas of the array.
    pub saved: f64,
}

impl PackContext<'_> {
    /// The best of some other shapes, if it saves a tenth: longer along one axis, or along all, and longer along one and
    /// shorter along another.
    pub(super) fn chunk_advice(&self, encoded: &Encoded) -> Result<Option<ChunkAdvice>> {
        let Some(present) = self.source.encoded_chunk_shape()? else { return Ok(None) };
        let saved = |shape: Vec<u64>| -> Result<Option<ChunkAdvice>> {
            let saved = self.saved(encoded, &present, &shape)?;
            let advice = |saved| ChunkAdvice {
                chunk_shape: shape.clone(),
                present_chunk_shape: present.clone(),
                saved,
            };
            Ok(saved.filter(|saved| *saved >= WORTH).map(advice))
        };
        let shapes = other_shapes(&present, self.source.array().shape());
        let found: Vec<Option<ChunkAdvice>> =
            self.workers.install(|| shapes.into_par_iter().map(saved).collect::<Result<_>>())?;
        Ok(found.into_iter().flatten().max_by(|a, b| a.saved.total_cmp(&b.saved)))
    }

    /// The part of the bytes that chunks of another shape would save in some areas; none if an area is too large, or
    /// holds an element that cannot be encoded.
    fn saved(&self, encoded: &Encoded, present: &[u64], other: &[u64]) -> Result<Option<f64>> {
        let (all, size) = (self.source.array().shape(), self.source.element_type().size());
        let longer = present.iter().zip(other).map(|(a, b)| a.max(b));
        let area: Vec<u64> = longer.zip(all).map(|(longer, all)| *longer.min(all)).collect();
        let bytes = area.iter().product::<u64>() * size as u64;
        let part = self.source.bytes() / PART;
        if bytes == 0 || bytes > MOST.min(part) {
            return Ok(None);
        }
        let chain = &encoded.candidate.chain;
        let code_size = chain.encoded_type().size();
        // A fast level compares shapes as well as a slow one.
        let storage = Level::FAST.of(&encoded.storage);
        let compression = ByteEncoder::for_blocks(chain.encoded_type(), &storage, area.len())?;
        let stored = |codes: &[u8], shape: &[u64]| -> Result<u64> {
            let chunks = Block::tiles(codes, code_size, &area, shape)?;
            chunks.iter().map(|chunk| compression.size(&chunk.elements, &chunk.shape)).sum()
        };
        let grid: Vec<u64> = all.iter().zip(&area).map(|(all, area)| all / area).collect();
        let (mut before, mut after) = (0, 0);
        for number in spread(grid.iter().product(), SAMPLE.min(part).div_ceil(bytes)) {
            let region = Region::within(number, &grid, &area)?;
            let mut elements = self.source.or_fill(&region, self.source.read_at(&region)?);
            self.survey.clamp_elements(&mut elements)?;
            let Ok(codes) = encoded.candidate.encode(&elements) else { return Ok(None) };
            before += stored(&codes, present)?;
            after += stored(&codes, other)?;
        }
        Ok((before > 0).then(|| 1.0 - after as f64 / before as f64))
    }
}

/// Other shapes of chunks for an array.
fn other_shapes(present: &[u64], all: &[u64]) -> Vec<Vec<u64>> {
    let axes = || 0..present.len();
    let longer = |extent: u64, axis: usize, factor: u64| {
        extent.saturating_mul(factor).min(all.get(axis).copied().unwrap_or(extent)).max(extent)
    };
    let changed = |change: &dyn Fn(usize, u64) -> u64| -> Vec<u64> {
        present.iter().enumerate().map(|(axis, &extent)| change(axis, extent)).collect()
    };
    let mut shapes = vec![changed(&|axis, extent| longer(extent, axis, 2))];
    for long in axes() {
        shapes.push(changed(&|axis, extent| {
            if axis == long { longer(extent, axis, FACTOR) } else { extent }
        }));
        for short in axes().filter(|short| *short != long) {
            shapes.push(changed(&|axis, extent| {
                if axis == long {
                    longer(extent, axis, FACTOR)
                } else if axis == short {
                    (extent / FACTOR).max(1)
                } else {
                    extent
                }
            }));
        }
    }
    let is_longer = |shape: &Vec<u64>| shape.iter().zip(present).any(|(new, old)| new > old);
    shapes.retain(is_longer);
    // Where a shape is cut to the array, several are one.
    shapes.sort();
    shapes.dedup();
    shapes
}

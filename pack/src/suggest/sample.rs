//! A sample of an array, as an array in memory: blocks of neighbouring elements, spread over all of it. A short array is its
//! own sample.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use recast_kernels::{ElementType, Scalar};
use serde::Serialize;
use serde_json::{Map, Value, json};
use zarr_recast::FillCheck;
use zarr_recast::data_type::ByteOrder;
use zarrs::array::{Array, ArrayBytes, ArrayMetadata};
use zarrs::storage::store::MemoryStore;

use crate::array::region::{Block, Region, spread};
use crate::array::source::Source;
use crate::error::Result;
use crate::metadata::codecs::{SHARDING, bytes_codec};
use crate::metadata::document::array_document;
use crate::runtime::Workers;
use crate::store::location::Location;

/// An array of at most so many bytes is read whole.
const WHOLE: u64 = 16 << 20;
/// Of a longer one about so many bytes are read.
const SAMPLE: u64 = 8 << 20;
/// The most bytes of a block; a chunk, or a part of one.
const BLOCK: u64 = 1 << 20;
/// The golden ratio's fraction: its multiples fall evenly between 0 and 1, however many there are.
const SPREAD: f64 = 0.618_033_988_749_894_9;

/// How much of an array a suggestion is made from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sampled {
    /// The number of elements that were read.
    pub elements: u64,
    /// The number of elements of the array.
    pub all: u64,
    /// The number of blocks.
    pub blocks: u64,
}

impl Sampled {
    /// Whether every element was read.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.elements == self.all
    }
}

/// Where the blocks of a sample are, and the array that they make.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    shape: Vec<u64>,
    block: Vec<u64>,
    inner: Option<Vec<u64>>,
    all: u64,
    /// For each block its place in the array, with its chunk in the sample.
    pub(crate) regions: Vec<Region>,
}

impl Layout {
    /// For an array of this shape in chunks, or in shards with inner chunks, with elements of a size.
    pub(crate) fn new(
        shape: &[u64],
        chunk: &[u64],
        inner: Option<&[u64]>,
        size: usize,
    ) -> Result<Self> {
        let count = |shape: &[u64]| shape.iter().try_fold(1_u64, |all, one| all.checked_mul(*one));
        let all = count(shape).context("the array has more elements than can be counted")?;
        if all.saturating_mul(size as u64) <= WHOLE {
            let (regions, inner) = (Region::tiles(shape, chunk)?, inner.map(<[u64]>::to_vec));
            return Ok(Self { shape: shape.to_vec(), block: chunk.to_vec(), inner, all, regions });
        }
        let (block, inner) = block(shape, chunk, inner, size);
        let bytes = block.iter().product::<u64>() * size as u64;
        let regions = scattered(shape, chunk, &block, (SAMPLE / bytes).max(1))?;
        let mut sample = block.clone();
        if let Some(first) = sample.first_mut() {
            *first *= regions.len() as u64;
        }
        Ok(Self { shape: sample, block, inner, all, regions })
    }

    fn elements(&self) -> u64 {
        self.regions.iter().map(Region::elements).sum()
    }
}

/// The extents of a block: of a chunk, or of a part of one whose rows are whole, so that it compresses like the chunk; and of
/// the chunks inside it, if it is a part of a shard.
fn block(
    shape: &[u64],
    chunk: &[u64],
    inner: Option<&[u64]>,
    size: usize,
) -> (Vec<u64>, Option<Vec<u64>>) {
    let bytes = |shape: &[u64]| shape.iter().product::<u64>().saturating_mul(size as u64);
    let mut block = within(chunk, shape);
    if bytes(&block) <= BLOCK {
        return (block, inner.map(<[u64]>::to_vec));
    }
    if let Some(inner) =
        inner.filter(|inner| bytes(inner) <= BLOCK && **inner == *within(inner, shape))
    {
        let mut block = inner.to_vec();
        for axis in (0..block.len()).rev() {
            let room = BLOCK / bytes(&block);
            if let (Some(extent), Some(most)) = (block.get_mut(axis), chunk.get(axis)) {
                *extent *= (most / *extent).clamp(1, room);
            }
        }
        return (block, Some(inner.to_vec()));
    }
    for axis in 0..block.len() {
        if bytes(&block) <= BLOCK {
            break;
        }
        let others = bytes(&block) / block.get(axis).copied().unwrap_or(1).max(1);
        if let Some(extent) = block.get_mut(axis) {
            // Two rows are neighbours.
            *extent = (BLOCK / others).max(2).min(*extent);
        }
    }
    (block, None)
}

/// The extents of a chunk that are inside the array, if it is the first one.
fn within(chunk: &[u64], shape: &[u64]) -> Vec<u64> {
    chunk.iter().zip(shape).map(|(chunk, all)| *chunk.min(all)).collect()
}

/// Blocks in chunks that are spread evenly, each at another place of its chunk.
fn scattered(shape: &[u64], chunk: &[u64], block: &[u64], count: u64) -> Result<Vec<Region>> {
    let pairs = |a: &[u64], b: &[u64]| -> Vec<u64> {
        a.iter().zip(b).map(|(a, b)| (a / b).max(1)).collect()
    };
    // Chunks that reach beyond the array have no room for all blocks.
    let (chunks, parts) = (pairs(shape, chunk), pairs(&within(chunk, shape), block));
    let numbers = spread(chunks.iter().product(), count);
    let all_parts: u64 = parts.iter().product();
    let mut places: Vec<(u64, u64)> = Vec::new();
    for (index, &number) in (0..count).zip(numbers.iter().cycle()) {
        let part = ((index as f64 + 0.5) * SPREAD).fract() * all_parts as f64;
        places.push((number, (part as u64).min(all_parts - 1)));
    }
    places.sort_unstable();
    places.dedup();
    let region = |(index, (number, part)): (usize, (u64, u64))| -> Result<Region> {
        let chunk = Region::within(number, &chunks, chunk)?;
        let part = Region::within(part, &parts, block)?;
        let origin = chunk.origin.iter().zip(&part.origin).map(|(a, b)| a + b).collect();
        let mut place = vec![0; block.len()];
        if let Some(first) = place.first_mut() {
            *first = index as u64;
        }
        Ok(Region { chunk: place, origin, ..part })
    };
    places.into_iter().enumerate().map(region).collect()
}

/// A sample in memory.
pub(crate) struct Sample {
    pub(crate) source: Source,
    pub(crate) sampled: Sampled,
    /// The array of [`Self::source`], to be written to.
    array: Array<MemoryStore>,
}

impl Sample {
    /// Reads a sample of an array.
    pub(crate) fn read(source: &Source, workers: &Workers) -> Result<Self> {
        let array = source.array();
        let inner = source.inner_chunk_shape();
        // Without chunks, an array of any extents has none.
        let chunk = if source.chunks() == 0 {
            array.shape().iter().map(|&extent| extent.max(1)).collect()
        } else {
            source.region(0)?.chunk_shape
        };
        let size = source.element_type().size();
        let layout = Layout::new(array.shape(), &chunk, inner.as_deref(), size)?;
        let sample = Self::empty(source.path(), &layout, source.fill_value(), array.attributes())?;
        let number = |region: &Region| -> Vec<u64> {
            region.origin.iter().zip(&chunk).map(|(start, extent)| start / extent).collect()
        };
        let groups = layout.regions.chunk_by(|one, next| number(one) == number(next));
        let groups: Vec<&[Region]> = groups.collect();
        let work = |group: u64| -> Result<()> {
            let Some(regions) = groups.get(group as usize) else { bail!("beyond the sample") };
            // A chunk that cannot be read in parts is decoded once for all of them.
            let whole = regions.first().filter(|_| regions.len() > 1 && !source.reads_parts());
            let grid = array.chunk_grid_shape();
            let whole = whole.map(|first| zarrs::array::ravel_indices(&number(first), grid));
            let whole = whole.flatten().map(|number| source.region(number)).transpose()?;
            let stored = whole.as_ref().map(|whole| source.read(whole)).transpose()?.flatten();
            for region in *regions {
                let elements = match (&whole, &stored) {
                    (None, _) => source.read_at(region)?,
                    (Some(_), None) => None,
                    (Some(whole), Some(stored)) => {
                        let start = region.origin.iter().zip(&whole.origin).map(|(a, b)| a - b);
                        let (start, shape) = (start.collect(), region.shape.clone());
                        Some(Block::part(stored, size, &whole.shape, start, shape)?.elements)
                    }
                };
                if let Some(elements) = elements {
                    sample.write(region, &elements)?;
                }
            }
            Ok(())
        };
        workers.run("read", groups.len() as u64, work, Ok)?;
        Ok(sample)
    }

    /// A sample of elements that the caller has read, a block for each region of the layout.
    pub(crate) fn of_blocks(
        path: &Path,
        layout: &Layout,
        fill: Scalar,
        attributes: &Map<String, Value>,
        blocks: &[Vec<u8>],
    ) -> Result<Self> {
        let sample = Self::empty(path, layout, fill, attributes)?;
        let mut blocks = blocks.iter();
        for region in &layout.regions {
            let elements = blocks.next().context("fewer blocks than the sample has places")?;
            sample.write(region, elements)?;
        }
        Ok(sample)
    }

    /// A sample before its blocks are written.
    fn empty(
        path: &Path,
        layout: &Layout,
        fill: Scalar,
        attributes: &Map<String, Value>,
    ) -> Result<Self> {
        let bytes = bytes_codec(Some(ByteOrder::NATIVE));
        let codecs = match &layout.inner {
            None => json!([bytes]),
            Some(inner) => json!([{"name": SHARDING, "configuration": {
                "chunk_shape": inner,
                "codecs": [bytes],
                "index_codecs": [bytes_codec(Some(ByteOrder::Little))],
            }}]),
        };
        let grid = json!({"name": "regular", "configuration": {"chunk_shape": layout.block}});
        let element_type = fill.element_type();
        let mut document = array_document(&layout.shape, element_type, grid, fill, codecs);
        document.insert("attributes".into(), attributes.clone().into());
        let metadata: ArrayMetadata = serde_json::from_value(document.into())?;
        zarrs_recast::register();
        let store = Arc::new(MemoryStore::new());
        let array = Array::new_with_metadata(Arc::clone(&store), "/", metadata.clone())?;
        let (elements, all) = (layout.elements(), layout.all);
        let sampled = Sampled { elements, all, blocks: layout.regions.len() as u64 };
        let location = Location::of(path, store, true);
        // The fill value of the input was checked when it was opened.
        let source = Source::in_memory(location, metadata, FillCheck::ReportOnly)?;
        Ok(Self { source, sampled, array })
    }

    fn write(&self, region: &Region, elements: &[u8]) -> Result<()> {
        let expected = region.elements() as usize * self.source.element_type().size();
        if elements.len() != expected {
            bail!(
                "a block of shape {:?} has {} bytes, not {expected}",
                region.shape,
                elements.len()
            );
        }
        let whole = region.pad(elements, self.source.fill_value())?;
        Ok(self.array.store_chunk(&region.chunk, ArrayBytes::new_flen(whole))?)
    }
}

/// The extents of blocks for elements of a type that are not in chunks.
pub(crate) fn without_chunks(shape: &[u64], element_type: ElementType) -> Vec<u64> {
    let chunk: Vec<u64> = shape.iter().map(|&extent| extent.max(1)).collect();
    let size = element_type.size();
    let all = chunk.iter().fold(size as u64, |all, one| all.saturating_mul(*one));
    if all <= WHOLE { chunk } else { block(&chunk, &chunk, None, size).0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(shape: &[u64], chunk: &[u64], inner: Option<&[u64]>) -> Layout {
        Layout::new(shape, chunk, inner, 4).unwrap()
    }

    #[test]
    fn a_short_array_is_its_own_sample() {
        let layout = layout(&[5, 700], &[2, 300], None);
        assert_eq!(
            (layout.shape.as_slice(), layout.block.as_slice()),
            (&[5, 700][..], &[2, 300][..])
        );
        assert_eq!(layout.regions.len(), 9);
        assert_eq!((layout.elements(), layout.all), (3500, 3500));
        assert_eq!(layout.regions[8].shape, [1, 100]);
        for (shape, elements) in [(&[][..], 1), (&[0][..], 0), (&[3, 0, 2][..], 0)] {
            let chunk: Vec<u64> = shape.iter().map(|&extent: &u64| extent.max(1)).collect();
            assert_eq!(super::tests::layout(shape, &chunk, None).elements(), elements, "{shape:?}");
        }
    }

    #[test]
    fn blocks_lie_inside_the_array_and_are_different() {
        type Case<'a> = (&'a [u64], &'a [u64], Option<&'a [u64]>);
        let cases: [Case<'_>; 8] = [
            (&[100, 1000, 1000], &[10, 100, 100], None),
            (&[1 << 28], &[1 << 28], None),
            (&[365, 721, 1440], &[1, 721, 1440], None),
            (&[7, 5000, 5001], &[7, 5000, 5001], None),
            (&[1000, 1000, 100], &[999, 1001, 1], None),
            (&[4096, 4096, 2], &[2048, 2048, 2], Some(&[64, 64, 2])),
            (&[4096, 4096, 2], &[4096, 4096, 2], Some(&[4096, 2048, 1])),
            (&[1, 3, 1 << 27], &[5, 7, 1 << 20], None),
        ];
        for (shape, chunk, inner) in cases {
            let layout = layout(shape, chunk, inner);
            let bytes = 4 * layout.elements();
            assert!((SAMPLE / 4..=SAMPLE).contains(&bytes), "{shape:?} {bytes}");
            assert!(4 * layout.block.iter().product::<u64>() <= BLOCK, "{:?}", layout.block);
            let mut origins = Vec::new();
            for (index, region) in layout.regions.iter().enumerate() {
                assert_eq!((&region.shape, region.chunk[0]), (&layout.block, index as u64));
                let ends = region.origin.iter().zip(&region.shape).map(|(start, one)| start + one);
                assert!(ends.zip(shape).all(|(end, all)| end <= *all), "{shape:?} {region:?}");
                origins.push(region.origin.clone());
            }
            origins.dedup();
            assert_eq!(origins.len(), layout.regions.len(), "{shape:?}");
            if let Some(inner) = &layout.inner {
                let fits = layout.block.iter().zip(inner).all(|(block, inner)| block % inner == 0);
                assert!(fits, "{:?} {inner:?}", layout.block);
            }
        }
    }
}

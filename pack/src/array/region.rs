//! The part of a chunk that is inside an array.

use std::borrow::Cow;

use anyhow::Context;
use recast_kernels::Scalar;
use zarrs::array::ArraySubset;

use crate::error::Result;

/// The part of a chunk that is inside the array.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// The chunk's place in the grid.
    pub(crate) chunk: Vec<u64>,
    /// Where it begins in the array.
    pub(crate) origin: Vec<u64>,
    /// Its extent inside the array.
    pub(crate) shape: Vec<u64>,
    /// Its stored extent.
    pub(crate) chunk_shape: Vec<u64>,
}

/// Some elements of an array, with their extent.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) shape: Vec<u64>,
    pub(crate) elements: Vec<u8>,
}

impl Block {
    /// The part of some elements, which have this extent, that begins at a place.
    pub(crate) fn part(
        elements: &[u8],
        size: usize,
        all: &[u64],
        start: Vec<u64>,
        shape: Vec<u64>,
    ) -> Result<Self> {
        let mut part = Vec::with_capacity(shape.iter().product::<u64>() as usize * size);
        for (start, length) in runs(start, &shape, all)? {
            let run = elements.get(start * size..(start + length) * size);
            part.extend_from_slice(run.context("a part outside its elements")?);
        }
        Ok(Self { shape, elements: part })
    }

    /// Some elements, which have this extent, cut into parts of a shape; those at the ends are smaller.
    pub(crate) fn tiles(
        elements: &[u8],
        size: usize,
        all: &[u64],
        shape: &[u64],
    ) -> Result<Vec<Self>> {
        let tiles = Region::tiles(all, shape)?.into_iter();
        tiles.map(|tile| Self::part(elements, size, all, tile.origin, tile.shape)).collect()
    }
}

impl Region {
    /// A place in a grid of regions of one shape, which need not be the chunks.
    pub(crate) fn within(number: u64, grid: &[u64], shape: &[u64]) -> Result<Self> {
        let place = zarrs::array::unravel_index(number, grid);
        let place = place.with_context(|| format!("there is no place {number}"))?;
        let origin = place.iter().zip(shape).map(|(index, extent)| index * extent).collect();
        let (chunk, shape) = (Vec::from(place.as_slice()), shape.to_vec());
        Ok(Self { chunk, origin, chunk_shape: shape.clone(), shape })
    }

    /// All regions of one shape in an array; those at the ends are smaller.
    pub(crate) fn tiles(all: &[u64], shape: &[u64]) -> Result<Vec<Self>> {
        let grid: Vec<u64> = all.iter().zip(shape).map(|(all, one)| all.div_ceil(*one)).collect();
        let tile = |number| -> Result<Self> {
            let region = Self::within(number, &grid, shape)?;
            let rest = region.origin.iter().zip(all).zip(shape);
            let shape = rest.map(|((start, all), one)| *one.min(&(all - start))).collect();
            Ok(Self { shape, ..region })
        };
        (0..grid.iter().product()).map(tile).collect()
    }

    /// All of an array of one dimension.
    pub(crate) fn line(elements: u64) -> Self {
        let shape = vec![elements];
        Self { chunk: vec![0], origin: vec![0], chunk_shape: shape.clone(), shape }
    }

    /// Elements inside the array.
    pub(crate) fn elements(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Whether the whole chunk is inside the array.
    pub(crate) fn is_whole(&self) -> bool {
        self.shape == self.chunk_shape
    }

    /// Names an element by its place in the array, for an error.
    pub(crate) fn element(&self, index: usize) -> String {
        format!("element {:?} (chunk {:?})", self.place(index), self.chunk)
    }

    /// Where in the array an element is.
    pub(crate) fn place(&self, index: usize) -> Vec<u64> {
        let mut rest = index as u64;
        let mut place = self.origin.clone();
        for (coordinate, extent) in place.iter_mut().zip(&self.shape).rev() {
            *coordinate += rest % extent.max(&1);
            rest /= extent.max(&1);
        }
        place
    }

    /// Some parts of this shape of the region's elements, spread evenly; without those that reach beyond its end.
    pub(crate) fn parts(
        &self,
        elements: &[u8],
        size: usize,
        shape: &[u64],
        count: u64,
    ) -> Result<Vec<Block>> {
        let grid: Vec<u64> = self.shape.iter().zip(shape).map(|(all, one)| all / one).collect();
        let part = |number: u64| -> Result<Block> {
            let start = Self::within(number, &grid, shape)?.origin;
            Block::part(elements, size, &self.shape, start, shape.to_vec())
        };
        spread(grid.iter().product(), count).into_iter().map(part).collect()
    }

    /// The region's elements out of a whole chunk.
    pub(crate) fn crop(&self, chunk: Vec<u8>, size: usize) -> Result<Vec<u8>> {
        if self.is_whole() {
            return Ok(chunk);
        }
        let start = vec![0; self.shape.len()];
        let part = Block::part(&chunk, size, &self.chunk_shape, start, self.shape.clone())?;
        Ok(part.elements)
    }

    /// A whole chunk with the region's elements, and the fill value around them.
    pub(crate) fn pad<'a>(&self, elements: &'a [u8], fill: Scalar) -> Result<Cow<'a, [u8]>> {
        if self.is_whole() {
            return Ok(elements.into());
        }
        let fill = fill.to_ne_bytes();
        let size = fill.len();
        let count = self.chunk_shape.iter().product::<u64>() as usize;
        let mut chunk = fill.repeat(count);
        let mut rest = elements;
        let start = vec![0; self.shape.len()];
        for (start, length) in runs(start, &self.shape, &self.chunk_shape)? {
            let (run, after) =
                rest.split_at_checked(length * size).context("too few elements for a region")?;
            let place = chunk.get_mut(start * size..(start + length) * size);
            place.context("a region beyond its chunk")?.copy_from_slice(run);
            rest = after;
        }
        Ok(chunk.into())
    }
}

/// The runs of elements that a part has in all, which have an extent, as (start, length).
fn runs(start: Vec<u64>, shape: &[u64], all: &[u64]) -> Result<Vec<(usize, usize)>> {
    let subset = ArraySubset::new_with_start_shape(start, shape.to_vec())?;
    let runs = subset.contiguous_linearised_indices(all)?;
    Ok(runs.iter().map(|(start, length)| (start as usize, length as usize)).collect())
}

/// At most this many numbers below `all`, spread evenly.
pub(crate) fn spread(all: u64, count: u64) -> Vec<u64> {
    let count = count.min(all);
    let middle = |number| u128::from(2 * number + 1) * u128::from(all) / u128::from(2 * count);
    (0..count).map(|number| middle(number) as u64).collect()
}

//! The parts of an array that stand for all of it: for the sizes of a dry run, and for comparing compressors.

use super::batch::{Batch, Member};
use crate::array::region::{Block, Region, spread};
use crate::array::source::Source;
use crate::choose::compression::TrialBlocks;
use crate::error::Result;
use crate::options::Compressor;

/// The approximate bytes of decoded chunks that a dry run tries.
const DRY_RUN_SAMPLE: u64 = 64 << 20;

/// A sample has at most this many chunks.
const SAMPLE_CHUNKS: u64 = 256;

/// Of long chunks several are sampled, because one chunk says little about other chunks.
const LEAST_CHUNKS: u64 = 8;

/// The bytes with which compressors are compared: one in this many, within these limits.
const SHARE: u64 = 96;
const LEAST: u64 = 2 << 20;
const MOST: u64 = 16 << 20;
/// A thorough search takes more of an array shorter than `SHORT`, and less of longer arrays, for the search tries more.
const SHORT: u64 = 64 << 20;
const THOROUGH_OF_SHORT: u64 = 8 << 20;
const THOROUGH: u64 = 1 << 20;
const FINALISTS: usize = 3;
/// A chunk longer than all of these bytes counts by this many blocks.
const BLOCKS: u64 = 2;

impl Batch<'_> {
    /// Some chunks of all members; none if the compressor is named, and not chosen by the chunks.
    pub(super) fn trial_blocks(&self) -> Result<TrialBlocks> {
        let mut blocks = Vec::new();
        match self.options.compressor {
            Compressor::Auto | Compressor::Smallest => {
                for member in &self.members {
                    blocks.extend(self.blocks_of(member)?);
                }
            }
            Compressor::None | Compressor::Zstd(_) | Compressor::Gzip(_) | Compressor::Blosc(_) => {
            }
        }
        // Arrays that share a scale share all codes.
        let may_recode = self.members.len() == 1;
        let is_short = self.members.iter().all(|member| member.source.bytes() < SHORT);
        Ok(TrialBlocks { blocks, may_recode, finalists: if is_short { FINALISTS } else { 1 } })
    }

    /// Some chunks, or inner chunks of shards, as they are encoded; of long ones some blocks. Of several arrays, each
    /// gives its part.
    fn blocks_of(&self, member: &Member<'_>) -> Result<Vec<Block>> {
        let (source, arrays) = (member.source, self.members.len() as u64);
        let size = source.element_type().size();
        let Some(mut block) = source.encoded_chunk_shape()? else { return Ok(Vec::new()) };
        let bytes = |shape: &[u64]| shape.iter().product::<u64>() * size as u64;
        let all = source.bytes();
        let is_thorough = self.options.compressor == Compressor::Smallest;
        let least = match is_thorough {
            true if all < SHORT => THOROUGH_OF_SHORT,
            true => THOROUGH,
            false => LEAST,
        };
        let most = (all / SHARE).clamp(least, MOST) / arrays;
        if bytes(&block) > most {
            // Still with neighbours along each axis, and in multiples of 8, for else Blosc shuffles no bits.
            while bytes(&block) > most / BLOCKS
                && let Some(longest) = block.iter_mut().max()
                && *longest > 8
            {
                *longest = longest.div_ceil(2).next_multiple_of(8);
            }
        }
        let numbers = spread(source.chunks(), (most / bytes(&block)).clamp(1, SAMPLE_CHUNKS));
        let of_each = most.div_ceil(bytes(&block) * numbers.len() as u64);
        let mut blocks = Vec::new();
        for number in numbers {
            let region = source.region(number)?;
            let Some(mut elements) = source.read(&region)? else { continue };
            member.survey.clamp_elements(&mut elements)?;
            let inside = region.shape.iter().zip(&block);
            let shape: Vec<u64> = inside.map(|(all, one)| *all.min(one)).collect();
            blocks.extend(region.parts(&elements, size, &shape, of_each)?);
        }
        Ok(blocks)
    }
}

/// Some chunks, spread evenly, or the beginning of each: about [`DRY_RUN_SAMPLE`].
#[derive(Clone, Debug)]
pub(super) struct ChunkSample {
    pub(super) numbers: Vec<u64>,
    /// The most elements of each.
    most: u64,
}

impl ChunkSample {
    pub(super) fn new(source: &Source) -> Result<Self> {
        let chunks = source.chunks();
        if chunks == 0 {
            return Ok(Self { numbers: Vec::new(), most: 0 });
        }
        let size = source.element_type().size() as u64;
        let of_chunk = source.region(0)?.elements() * size;
        let count =
            (DRY_RUN_SAMPLE / of_chunk.max(1)).clamp(LEAST_CHUNKS, SAMPLE_CHUNKS).min(chunks);
        // A chunk is not cut for a few bytes more.
        let is_cut = of_chunk * count > 2 * DRY_RUN_SAMPLE;
        let most = if is_cut { DRY_RUN_SAMPLE / count / size } else { u64::MAX };
        Ok(Self { numbers: spread(chunks, count), most })
    }

    /// The part of a chunk that is sampled: all of it, or its beginning along the first axis that has one.
    pub(super) fn part(&self, region: Region) -> Region {
        let (elements, mut shape) = (region.elements(), region.shape.clone());
        if elements > self.most
            && let Some(longest) = shape.iter_mut().find(|extent| **extent > 1)
        {
            *longest = (*longest * self.most / elements).max(1);
        }
        Region { shape, ..region }
    }
}

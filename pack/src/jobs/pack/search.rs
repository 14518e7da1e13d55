//! Searches for codecs: tries candidates from coarse to fine until every element of the array is right.

use recast_kernels::Scalar;
use zarrs::array::ArrayShardedExt;

use super::encode::Scope;
use super::job::{Excerpt, Job, SAMPLE_CHUNKS};
use super::report::Suspect;
use crate::check::tolerance::Tolerance;
use crate::choose::compression::Sample;
use crate::choose::packing::Packing;
use crate::choose::search::Search;
use crate::error::Result;
use crate::io::region::{Block, spread};
use crate::io::storage::{Coder, Storage};
use crate::options::Compressor;
use crate::scan::missing::{Markers, advice_on_suspects, customary_markers};
use crate::scan::surveyor::survey;
use crate::text::{count, scalar_text};

/// The approximate bytes of decoded chunks that a dry run tries.
pub(super) const DRY_RUN_SAMPLE: u64 = 64 << 20;

/// The elements with which compressors are compared: of one byte in this many, within these limits.
const SHARE: u64 = 96;
const LEAST: u64 = 2 << 20;
const MOST: u64 = 16 << 20;
/// A thorough search takes more of an array shorter than this, and less of others, for it tries more.
const SHORT: u64 = 64 << 20;
const THOROUGH_OF_SHORT: u64 = 8 << 20;
const THOROUGH: u64 = 1 << 20;
const FINALISTS: usize = 3;
/// A chunk longer than all of them counts by this many blocks of it.
const BLOCKS: u64 = 2;

impl Job<'_> {
    /// Tries one candidate after the other, until every element is right.
    pub(super) fn find<T>(
        &self,
        search: &Search<'_>,
        attempt: impl Fn((Packing, Storage), Tolerance) -> Result<T>,
    ) -> Result<T> {
        let tolerance = search.tolerance();
        // Read once, for the first candidate that needs them.
        let mut sample = None;
        let found = search.find(|packing| {
            self.try_judged(tolerance, &packing)?;
            let sample = match &mut sample {
                Some(sample) => sample,
                unread => unread.insert(self.sample()?),
            };
            attempt(search.stored(packing, sample)?, tolerance)
        });
        let failure = match found? {
            Ok(done) => return Ok(done),
            Err(failure) => search.explained(failure),
        };
        Err(self.with_suspects(failure)?)
    }

    /// Some chunks of all arrays that get the same codecs; none if the compressor is named, and not chosen with them.
    fn sample(&self) -> Result<Sample> {
        let mut blocks = Vec::new();
        match self.options().compressor {
            Compressor::Auto | Compressor::Smallest => {
                for member in self.members() {
                    blocks.extend(member.own_blocks(self.together.len() as u64)?);
                }
            }
            Compressor::None | Compressor::Zstd(_) | Compressor::Gzip(_) | Compressor::Blosc(_) => {
            }
        }
        // Arrays that share a scale share all codes.
        let may_recode = self.together.len() == 1;
        let is_short = self.members().all(|member| member.source.bytes() < SHORT);
        Ok(Sample { blocks, may_recode, finalists: if is_short { FINALISTS } else { 1 } })
    }

    /// The shape in which elements are encoded: of the chunks, or of the inner chunks of shards; none without chunks.
    pub(super) fn encoded_chunk_shape(&self) -> Result<Option<Vec<u64>>> {
        if self.source.chunks() == 0 {
            return Ok(None);
        }
        let array = self.source.array();
        let inner = array.is_sharded().then(|| array.effective_subchunk_shape()).flatten();
        if let Some(shape) = inner {
            return Ok(Some(shape.iter().map(|extent| extent.get()).collect()));
        }
        Ok(Some(self.source.region(0)?.chunk_shape))
    }

    /// Some chunks, or inner chunks of shards, as they are encoded; of long ones some blocks. Of several arrays, each
    /// gives its part.
    fn own_blocks(&self, arrays: u64) -> Result<Vec<Block>> {
        let (source, size) = (self.source, self.source.element_type().size());
        let Some(mut block) = self.encoded_chunk_shape()? else { return Ok(Vec::new()) };
        let bytes = |shape: &[u64]| shape.iter().product::<u64>() * size as u64;
        let all = source.bytes();
        let is_thorough = self.options().compressor == Compressor::Smallest;
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
            if let Some(limits) = &self.survey.limits {
                limits.apply(&mut elements)?;
            }
            let inside = region.shape.iter().zip(&block);
            let shape: Vec<u64> = inside.map(|(all, one)| *all.min(one)).collect();
            blocks.extend(region.parts(&elements, size, &shape, of_each)?);
        }
        Ok(blocks)
    }

    /// Encodes the arrays that are not written, decodes them and compares: the codecs fit all arrays only if every element
    /// of each is right.
    fn try_judged(&self, tolerance: Tolerance, packing: &Packing) -> Result<()> {
        for member in self.judged() {
            let packing = packing.beside(member.survey.fill_value)?;
            let storage = Storage::plain(Coder::None);
            if self.is_dry_run {
                let sample = Excerpt::new(member.source, DRY_RUN_SAMPLE)?;
                member.encode_chunks((packing, storage), tolerance, Scope::Some(&sample))?;
            } else {
                member.encode_chunks((packing, storage), tolerance, Scope::Judged)?;
            }
        }
        Ok(())
    }

    /// Adds to a failure the values that look like missing ones that no attribute names, and their counts.
    fn with_suspects(&self, failure: anyhow::Error) -> Result<anyhow::Error> {
        let suspects = customary_markers(self.all.data_range);
        if suspects.is_empty() {
            return Ok(failure);
        }
        let members = self.members();
        let suspects = Self::counted(members, &suspects)?;
        let named = suspects.iter().map(|Suspect { value, count: number }| {
            let elements = if *number == 1 { "element" } else { "elements" };
            format!("{} ({} {elements})", scalar_text(Some(*value)), count(*number))
        });
        let named: Vec<String> = named.collect();
        let values: Vec<Scalar> = suspects.iter().map(|suspect| suspect.value).collect();
        Ok(failure.context(advice_on_suspects(&named, &values)))
    }

    /// The values of this array that were packed as data but look like missing ones, because they are far from all
    /// others.
    pub(super) fn suspects(&self) -> Result<Vec<Suspect>> {
        let ends = customary_markers(self.survey.data_range);
        let mut markers = Markers::default();
        markers.extend(ends.iter().copied());
        let sample = markers.range_of_others(self.survey.element_type, &self.survey.sample)?;
        let is_far = |suspect: &Scalar| {
            let Some((least, greatest)) = sample else { return true };
            let value = suspect.to_f64();
            let gap = (least - value).max(value - greatest);
            gap > greatest - least
        };
        let far: Vec<Scalar> = ends.into_iter().filter(is_far).collect();
        Self::counted([*self].into_iter(), &far)
    }

    /// Counts some values in arrays, in a pass over each if there are any to count.
    fn counted(arrays: impl Iterator<Item = Self>, values: &[Scalar]) -> Result<Vec<Suspect>> {
        let mut suspects: Vec<Suspect> =
            values.iter().map(|&value| Suspect { value, count: 0 }).collect();
        for array in arrays.filter(|_| !values.is_empty()) {
            let mut markers = array.survey.markers.clone();
            markers.extend(values.iter().copied());
            let found = survey(array.source, &markers, array.workers)?;
            for suspect in &mut suspects {
                suspect.count += found.count(suspect.value);
            }
        }
        Ok(suspects)
    }
}

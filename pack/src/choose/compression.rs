//! Chooses the codecs after the value codecs, by encoding blocks of elements with each that may be the smallest.

use rayon::prelude::*;
use recast_kernels::ElementType;

use super::bind::bind;
use super::candidate::Candidate;
use super::facts::Facts;
use super::placement::Placement;
use crate::array::byte_encoder::ByteEncoder;
use crate::array::region::Block;
use crate::error::Result;
use crate::metadata::byte_codecs::{BIAS, Coder, Shuffle, Storage};
use crate::options::{Compressor, NanTo, Reader};
use crate::scan::number::scalar;

/// The default compressor, which stays unless another chain saves one byte in `WORTH`: a smaller gain may be luck, for a
/// block shows less than its chunk of repetitions at a long distance.
const PLAIN: Coder = Coder::Zstd(5);
const WORTH: u64 = 50;
/// pcodec's highest level, which is as fast as Zstandard's fast one.
const PCODEC_LEVEL: i32 = 12;
/// Differences are taken at most this often, and of all that were tried, as many are compressed in several ways.
const PASSES: u32 = 3;
const BEST_DIFFERENCES: usize = 2;

/// The blocks on which chains are tried.
pub(crate) struct TrialBlocks {
    /// Elements; each block is a chunk, or a part of one.
    pub(crate) blocks: Vec<Block>,
    /// Whether the stored codes may change.
    pub(crate) may_recode: bool,
    /// The most chains that are tried at the slow level, of those tried at the fast level.
    pub(crate) finalists: usize,
}

/// A chain with the bytes of the blocks.
struct Measured<'a> {
    size: u64,
    coded: &'a Coded,
    storage: Storage,
}

/// A candidate, with the codes of the blocks.
struct Coded {
    candidate: Candidate,
    blocks: Vec<Block>,
}

impl Coded {
    fn element_type(&self) -> ElementType {
        self.candidate.chain.encoded_type()
    }

    fn dimensions(&self) -> usize {
        self.blocks.first().map_or(0, |block| block.shape.len())
    }

    /// The axes that have neighbours; none if arrays have different dimensions.
    fn axes(&self) -> Vec<usize> {
        let dimensions = self.dimensions();
        if self.blocks.iter().any(|block| block.shape.len() != dimensions) {
            return Vec::new();
        }
        let has_neighbours = |&axis: &usize| {
            self.blocks.iter().any(|block| block.shape.get(axis).is_some_and(|extent| *extent > 1))
        };
        (0..dimensions).filter(has_neighbours).collect()
    }
}

/// The value codecs, and the codecs after them, with which the blocks are smallest.
pub(crate) fn with_storage(
    facts: &Facts<'_>,
    candidate: Candidate,
    trial: &TrialBlocks,
) -> Result<(Candidate, Storage)> {
    let coded = |candidate: Candidate| -> Option<Coded> {
        let codes = |block: &Block| {
            let elements = candidate.encode(&block.elements).ok()?;
            Some(Block { shape: block.shape.clone(), elements })
        };
        let blocks = trial.blocks.iter().map(codes).collect::<Option<_>>()?;
        Some(Coded { candidate, blocks })
    };
    let is_thorough = match facts.options.compressor {
        Compressor::Auto => false,
        Compressor::Smallest => true,
        named @ (Compressor::None
        | Compressor::Zstd(_)
        | Compressor::Gzip(_)
        | Compressor::Blosc(_)) => return Ok((candidate, Storage::named(named)?)),
    };
    // Whoever writes the chunks finds the element that cannot be encoded, and names its place.
    let Some(own) = coded(candidate.clone()) else {
        return Ok((candidate, Storage::plain(PLAIN)));
    };
    // Codes without a gap have smaller differences.
    let may_recode = is_thorough && trial.may_recode;
    let compact = may_recode.then(|| compact(facts, &candidate)).flatten().and_then(coded);
    let chains = if is_thorough {
        thorough(facts, &own, compact.as_ref().unwrap_or(&own), trial.finalists)?
    } else {
        let coders = common_coders(own.element_type()).into_iter();
        sizes(facts, coders.map(|coder| (&own, Storage::plain(coder))).collect())?
    };
    Ok(match first(&chains) {
        Some(best) => (best.coded.candidate.clone(), best.storage.clone()),
        None => (candidate, Storage::plain(PLAIN)),
    })
}

/// The same candidate with the codes of NaN and special values next to the codes of the data; none if the options name
/// codes, or the type has none.
fn compact(facts: &Facts<'_>, candidate: &Candidate) -> Option<Candidate> {
    let target = candidate.placement.target;
    let is_fixed = facts.options.is_explicit() || facts.options.nan_to != NanTo::Auto;
    if is_fixed || target.is_float() || candidate.rounder.is_some() {
        return None;
    }
    let placement = Placement { is_compact: true, ..candidate.placement };
    bind(facts, placement).ok().filter(|other| other.codecs != candidate.codecs)
}

/// All chains at the fast level, for the codes themselves and for differences of codes without a gap; and at the slow
/// level those that may become the smallest by it.
fn thorough<'c>(
    facts: &Facts<'_>,
    own: &'c Coded,
    compact: &'c Coded,
    finalists: usize,
) -> Result<Vec<Measured<'c>>> {
    let coders = Level::FAST.coders(own.element_type());
    let plain = coders.iter().map(|&coder| (own, Storage::plain(coder)));
    let mut all = sizes(facts, plain.collect())?;
    let tried = differences(facts, compact)?;
    let best = tried.iter().take(BEST_DIFFERENCES).map(|chain| &chain.storage);
    let chains = best.flat_map(|differences| {
        let storage = |&coder: &Coder| {
            let is_biased = differences.is_biased && sees_high_bytes(coder);
            (compact, Storage { is_biased, coder, ..differences.clone() })
        };
        coders.iter().map(storage)
    });
    let untried =
        |(_, storage): &(&Coded, Storage)| tried.iter().all(|chain| chain.storage != *storage);
    let chains = sizes(facts, chains.filter(untried).collect())?;
    all.extend(tried.into_iter().chain(chains));
    all.sort_by_key(|chain| chain.size);
    let least = all.first().map_or(0, |chain| chain.size);
    let may_win = |chain: &&Measured<'_>| {
        let storage = &chain.storage;
        *storage != Storage::plain(PLAIN)
            && Level::SLOW.of(storage) != *storage
            && least_at_slow_level(chain) < least
    };
    let slow = all.iter().filter(may_win).take(finalists);
    let slow = slow.map(|chain| (chain.coded, Level::SLOW.of(&chain.storage)));
    let slow = sizes(facts, slow.collect())?;
    all.extend(slow);
    Ok(all)
}

/// Differences, the smallest first, as Blosc compresses them: along one axis, and then, as long as that helps, along
/// another or the same once more.
fn differences<'c>(facts: &Facts<'_>, coded: &'c Coded) -> Result<Vec<Measured<'c>>> {
    let mut tried: Vec<Measured<'c>> = Vec::new();
    let mut least: Option<(u64, Vec<usize>)> = None;
    let shuffle = if coded.element_type().size() > 1 { Shuffle::Bytes } else { Shuffle::None };
    let blosc = Coder::Blosc(Level::FAST.blosc, shuffle);
    if !takes_differences(coded.element_type()) {
        return Ok(tried);
    }
    for passes in 1..=PASSES {
        let before = least.as_ref().map(|(_, axes)| axes.clone()).unwrap_or_default();
        let is_biased = takes_bias(&coded.candidate, passes);
        let longer = coded.axes().into_iter().map(|axis| {
            let axes = [before.as_slice(), &[axis]].concat();
            (coded, Storage { axes, is_biased, coder: blosc })
        });
        let sizes = sizes(facts, longer.collect())?;
        let best = sizes.iter().min_by_key(|chain| chain.size);
        let best = best.map(|best| (best.size, best.storage.axes.clone()));
        tried.extend(sizes);
        match (&least, best) {
            (Some((least, _)), Some((size, _))) if size >= *least => break,
            (_, best) => least = best,
        }
    }
    tried.sort_by_key(|chain| chain.size);
    Ok(tried)
}

/// The bytes of the blocks with each chain that all readers have.
fn sizes<'c>(facts: &Facts<'_>, chains: Vec<(&'c Coded, Storage)>) -> Result<Vec<Measured<'c>>> {
    let readers = &facts.options.readers;
    let is_readable = |(coded, storage): &(&Coded, Storage)| {
        readers.iter().all(|&reader| reads(reader, storage, coded.dimensions()))
    };
    let chains: Vec<(&'c Coded, Storage)> = chains.into_iter().filter(is_readable).collect();
    facts.in_threads(|| {
        let size = |(coded, storage): (&'c Coded, Storage)| -> Result<Measured<'c>> {
            let (element_type, dimensions) = (coded.element_type(), coded.dimensions());
            let encoder = ByteEncoder::for_blocks(element_type, &storage, dimensions)?;
            let size = |block: &Block| {
                facts.check_interrupt()?;
                encoder.size(&block.elements, &block.shape)
            };
            let size = coded.blocks.par_iter().map(size).sum::<Result<u64>>()?;
            Ok(Measured { size, coded, storage })
        };
        chains.into_par_iter().map(size).collect()
    })
}

/// The smallest chain, unless it gains too little.
fn first<'s, 'c>(chains: &'s [Measured<'c>]) -> Option<&'s Measured<'c>> {
    let plain = chains.iter().find(|chain| chain.storage == Storage::plain(PLAIN));
    let smallest = chains.iter().min_by_key(|chain| chain.size)?;
    let is_worth_it = plain.is_none_or(|plain| smallest.size + plain.size / WORTH < plain.size);
    is_worth_it.then_some(smallest)
}

/// The least bytes of a chain at the slow level, which finds more repeats, and longer ones. On normal noise and on the
/// arrays of docs/compression.md it saved at most a third where the fast level needs fewer than two bits per element, a
/// fifth below four, and an eighth of others.
fn least_at_slow_level(chain: &Measured<'_>) -> u64 {
    let elements = chain.coded.blocks.iter().map(|block| block.shape.iter().product::<u64>());
    let part = match 8 * chain.size / elements.sum::<u64>().max(1) {
        0 | 1 => 3,
        2 | 3 => 5,
        _ => 8,
    };
    chain.size - chain.size / part
}

/// Whether a coder sees the high bytes of neighbours together, which the bias makes the same.
fn sees_high_bytes(coder: Coder) -> bool {
    match coder {
        Coder::Blosc(_, shuffle) => shuffle == Shuffle::Bytes,
        Coder::ShuffledZstd(_) => true,
        Coder::None | Coder::Zstd(_) | Coder::Gzip(_) | Coder::Pcodec(_) => false,
    }
}

/// Compressors that every reader of Zarr v3 has, at levels that do not slow down packing much.
fn common_coders(element_type: ElementType) -> Vec<Coder> {
    let mut coders = vec![Coder::Zstd(5), Coder::Gzip(6), Coder::Blosc(5, Shuffle::None)];
    coders.push(Coder::Blosc(5, Shuffle::Bits));
    if element_type.size() > 1 {
        coders.push(Coder::Blosc(5, Shuffle::Bytes));
    }
    coders
}

/// How thoroughly Zstandard searches: its level, and that of Blosc with it.
pub(crate) struct Level {
    zstd: i32,
    blosc: i32,
}

impl Level {
    pub(crate) const FAST: Self = Self { zstd: 5, blosc: 5 };
    pub(crate) const SLOW: Self = Self { zstd: 19, blosc: 9 };

    /// The same chain at this level; Gzip and pcodec stay as they are.
    pub(crate) fn of(&self, storage: &Storage) -> Storage {
        let coder = match storage.coder {
            Coder::Zstd(_) => Coder::Zstd(self.zstd),
            Coder::Blosc(_, shuffle) => Coder::Blosc(self.blosc, shuffle),
            Coder::ShuffledZstd(_) => Coder::ShuffledZstd(self.zstd),
            coder @ (Coder::None | Coder::Gzip(_) | Coder::Pcodec(_)) => coder,
        };
        Storage { coder, ..storage.clone() }
    }

    fn coders(&self, element_type: ElementType) -> Vec<Coder> {
        let Self { zstd, blosc } = *self;
        let mut coders = vec![Coder::Zstd(zstd), Coder::Blosc(blosc, Shuffle::Bits)];
        if element_type.size() > 1 {
            coders.extend([Coder::Blosc(blosc, Shuffle::Bytes), Coder::ShuffledZstd(zstd)]);
        } else {
            coders.push(Coder::Blosc(blosc, Shuffle::None));
        }
        if cfg!(feature = "pcodec") && element_type.is_integer() {
            coders.push(Coder::Pcodec(PCODEC_LEVEL));
        }
        coders
    }
}

/// Whether a reader has all codecs of a chain, for chunks of this many dimensions.
fn reads(reader: Reader, storage: &Storage, dimensions: usize) -> bool {
    match reader {
        Reader::ZarrPython | Reader::Zarrs => true,
        // Only codecs of the core, and those that Zarr v3 has had from the beginning.
        Reader::Gdal | Reader::Any => {
            let is_core = match storage.coder {
                Coder::None | Coder::Zstd(_) | Coder::Gzip(_) | Coder::Blosc(..) => true,
                Coder::ShuffledZstd(_) | Coder::Pcodec(_) => false,
            };
            is_core && storage.axes.is_empty()
        }
        // Its delta sums a transposed chunk up in the order of its memory, and it has no pcodec.
        Reader::Zarrita => {
            storage.is_of_last_axis(dimensions) && !matches!(storage.coder, Coder::Pcodec(_))
        }
    }
}

/// Whether numcodecs has differences of a type.
fn takes_differences(element_type: ElementType) -> bool {
    use ElementType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32};
    [Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32].contains(&element_type)
}

/// Whether every difference stays in the signed type of the same size with the bias added, after so many passes: the
/// first leaves a chunk's first code as it is, and each further one at most doubles. One byte needs no bias.
/// zarr-python also asks that the bias be a value of the array's own type.
pub(super) fn takes_bias(candidate: &Candidate, passes: u32) -> bool {
    let encoded = candidate.chain.encoded_type();
    if encoded.size() == 1 || scalar(-BIAS, candidate.chain.decoded_type()).is_none() {
        return false;
    }
    let greatest = (1_i128 << (encoded.bits() - 1)) - 1 - BIAS;
    candidate.all_codes().is_some_and(|(lowest, highest)| {
        let first_pass = highest.max(-lowest).max(highest - lowest);
        first_pass << (passes - 1) <= greatest
    })
}

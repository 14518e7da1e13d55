//! Chooses the codecs after the value codecs, by encoding runs of elements with each that may be the smallest.

use rayon::prelude::*;
use recast_kernels::ElementType;

use super::packing::Packing;
use super::search::Search;
use crate::error::Result;
use crate::io::storage::{BIAS, Coder, Compression, Differences, Shuffle, Storage};
use crate::options::Compressor;
use crate::scan::number::scalar;

/// The compressor that others are compared with, and which stays if none is smaller by one byte in this many: less may
/// be luck, for a run shows less than its chunk of what repeats after a long distance.
const PLAIN: Storage = Storage { differences: Differences::None, coder: Coder::Zstd(5) };
const WORTH: u64 = 50;
/// Of the chains tried at a fast level, as many are tried at the slow one.
const FINALISTS: usize = 3;

/// A chain with the bytes of the runs.
type Sized<'a> = (u64, &'a Coded, Storage);

/// A packing, with the codes of the runs.
struct Coded {
    packing: Packing,
    runs: Vec<Vec<u8>>,
}

impl Search<'_> {
    /// The codecs for the values and those after them that make some runs of elements the smallest. Each run is a
    /// chunk, or the first elements of one. The stored codes may change only if `may_recode`.
    pub(crate) fn stored(
        &self,
        packing: Packing,
        runs: &[Vec<u8>],
        may_recode: bool,
    ) -> Result<(Packing, Storage)> {
        let coded = |packing: Packing| -> Option<Coded> {
            let codes = |run: &Vec<u8>| packing.chain.encode(run).ok();
            let runs = runs.iter().map(codes).collect::<Option<_>>()?;
            Some(Coded { packing, runs })
        };
        let is_thorough = match self.options.compressor {
            Compressor::Auto => false,
            Compressor::Smallest => true,
            named @ (Compressor::None
            | Compressor::Zstd(_)
            | Compressor::Gzip(_)
            | Compressor::Blosc(_)) => return Ok((packing, Storage::named(named)?)),
        };
        // Whoever writes the chunks finds the element that cannot be encoded, and names its place.
        let Some(own) = coded(packing.clone()) else { return Ok((packing, PLAIN)) };
        if is_thorough {
            // Codes without a gap have smaller differences.
            let compact = may_recode.then(|| self.compact(&packing)).flatten().and_then(coded);
            return self.smallest(&own, compact.as_ref().unwrap_or(&own));
        }
        let coders = common_coders(packing.chain.encoded_type());
        let all = coders.into_iter().map(|coder| (&own, Storage::plain(coder)));
        let storage = first(&self.sizes(all.collect())?).map_or(PLAIN, |(_, storage)| storage);
        Ok((packing, storage))
    }

    /// The smallest of all chains: those that are small at the fast level are tried at the slow one.
    fn smallest(&self, own: &Coded, compact: &Coded) -> Result<(Packing, Storage)> {
        let mut fast = self.sizes(chains(own, compact))?;
        fast.sort_by_key(|(size, ..)| *size);
        let slow = fast.iter().filter(|(_, _, storage)| *storage != PLAIN).take(FINALISTS);
        let slow = slow.map(|&(_, coded, storage)| (coded, slower(storage)));
        let all: Vec<Sized<'_>> = [fast.clone(), self.sizes(slow.collect())?].concat();
        let (coded, storage) = first(&all).unwrap_or((own, PLAIN));
        Ok((coded.packing.clone(), storage))
    }

    /// The bytes of the runs with each chain.
    fn sizes<'c>(&self, chains: Vec<(&'c Coded, Storage)>) -> Result<Vec<Sized<'c>>> {
        self.in_threads(|| {
            let size = |(coded, storage): (&'c Coded, Storage)| -> Result<Sized<'c>> {
                let compression = Compression::new(coded.packing.chain.encoded_type(), storage)?;
                let sizes = coded.runs.par_iter().map(|run| compression.size(run));
                Ok((sizes.sum::<Result<u64>>()?, coded, storage))
            };
            chains.into_par_iter().map(size).collect()
        })
    }
}

/// The smallest chain, unless it gains too little.
fn first<'a>(chains: &[Sized<'a>]) -> Option<(&'a Coded, Storage)> {
    let plain = chains.iter().find(|(_, _, storage)| *storage == PLAIN).map(|(size, ..)| *size);
    let &(size, coded, storage) = chains.iter().min_by_key(|(size, ..)| *size)?;
    let is_worth_it = plain.is_none_or(|plain| size + plain / WORTH < plain);
    is_worth_it.then_some((coded, storage))
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

/// How thoroughly Zstandard searches.
#[derive(Clone, Copy)]
enum Level {
    Fast,
    Slow,
}

impl Level {
    fn zstd(self) -> i32 {
        match self {
            Self::Fast => 5,
            Self::Slow => 19,
        }
    }

    fn blosc(self) -> i32 {
        match self {
            Self::Fast => 5,
            Self::Slow => 9,
        }
    }
}

/// All chains at the fast level: for some codes themselves, and for the differences of codes without a gap.
fn chains<'a>(own: &'a Coded, compact: &'a Coded) -> Vec<(&'a Coded, Storage)> {
    let element_type = own.packing.chain.encoded_type();
    let mut differences = vec![(own, Differences::None)];
    if takes_differences(element_type) {
        differences.push((compact, Differences::Plain));
        if element_type.size() > 1 && takes_bias(&compact.packing) {
            differences.push((compact, Differences::Biased));
        }
    }
    let (zstd, blosc) = (Level::Fast.zstd(), Level::Fast.blosc());
    let mut coders = vec![Coder::Zstd(zstd), Coder::Blosc(blosc, Shuffle::Bits)];
    if element_type.size() > 1 {
        coders.extend([Coder::Blosc(blosc, Shuffle::Bytes), Coder::ShuffledZstd(zstd)]);
    }
    let pairs = differences.into_iter().flat_map(|(coded, differences)| {
        coders.iter().map(move |&coder| (coded, Storage { differences, coder }))
    });
    pairs.collect()
}

/// The same chain at the slow level.
fn slower(storage: Storage) -> Storage {
    let level = Level::Slow;
    let coder = match storage.coder {
        Coder::Zstd(_) => Coder::Zstd(level.zstd()),
        Coder::Blosc(_, shuffle) => Coder::Blosc(level.blosc(), shuffle),
        Coder::ShuffledZstd(_) => Coder::ShuffledZstd(level.zstd()),
        coder @ (Coder::None | Coder::Gzip(_)) => coder,
    };
    Storage { coder, ..storage }
}

/// Whether numcodecs has differences of a type.
fn takes_differences(element_type: ElementType) -> bool {
    use ElementType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32};
    [Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32].contains(&element_type)
}

/// Whether every code, with which a chunk may begin, and every difference of two stay in the signed type of the same
/// size with the bias added. zarr-python also asks that the bias be a value of the array's own type.
fn takes_bias(packing: &Packing) -> bool {
    if scalar(-BIAS, packing.chain.decoded_type()).is_none() {
        return false;
    }
    let bits = packing.chain.encoded_type().bits();
    let greatest = (1_i128 << (bits - 1)) - 1 - BIAS;
    packing
        .codes()
        .is_some_and(|(lowest, highest)| highest <= greatest && highest - lowest <= greatest)
}

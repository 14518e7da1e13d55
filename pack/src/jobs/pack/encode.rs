//! Encodes chunks. Each element is decoded as soon as it is encoded, and checked against the original. A dry run also says what
//! another shape of the chunks would save.

use std::cell::RefCell;
use std::path::Path;

use anyhow::Context;
use rayon::prelude::*;
use recast_kernels::{Plan, Reason, RunError, Scalar, reference};
use serde::Serialize;
use serde_json::Value;
use zarr_recast::Chain;

use super::batch::{Batch, Member};
use super::sample::ChunkSample;
use crate::array::byte_encoder::ByteEncoder;
use crate::array::region::{Block, Region, spread};
use crate::array::writer::{Encoding, Writer};
use crate::check::chunk_check::{ElementChecker, Expected};
use crate::check::comparison::{Comparison, Tolerance};
use crate::check::recorded::{ABSOLUTE, REQUIREMENTS};
use crate::choose::candidate::Candidate;
use crate::choose::compression::Level;
use crate::choose::goals::{judge, reached};
use crate::error::Result;
use crate::metadata::byte_codecs::Storage;
use crate::metadata::document::PROVENANCE;
use crate::options::{Reached, Requirement};
use crate::runtime::Workers;
use crate::store::staging::Staged;

/// Which chunks are encoded, and why.
#[derive(Clone, Copy)]
pub(super) enum Scope<'a> {
    /// All, written to a directory.
    All(&'a Path),
    /// Only these, for an estimate; nothing is written.
    Estimate(&'a ChunkSample),
    /// All, to check every element; nothing is compressed or written.
    CheckOnly,
}

/// An array that is encoded and checked. If it is written, it is not yet at its place.
pub(crate) struct Encoded {
    pub(super) staged: Option<Staged>,
    pub(crate) candidate: Candidate,
    pub(super) storage: Storage,
    /// All codecs, as in zarr.json.
    pub(super) codecs: Value,
    pub(crate) stats: ChunkStats,
    /// The measured error of each requirement.
    pub(super) reached: Vec<Reached>,
    /// The number of chunks in the sample of a dry run.
    pub(super) sampled: Option<u64>,
}

/// The results for some chunks.
#[derive(Default)]
pub(crate) struct ChunkStats {
    pub(super) elements: u64,
    pub(crate) stored_bytes: u64,
    /// Elements that were out of range for the stored type, and were clamped or wrapped.
    pub(super) out_of_range: u64,
    /// Elements below and above the range to keep.
    pub(super) clamped: [u64; 2],
    pub(crate) comparison: Comparison,
}

impl ChunkStats {
    fn merge(self, other: Self) -> Self {
        Self {
            elements: self.elements + other.elements,
            stored_bytes: self.stored_bytes + other.stored_bytes,
            out_of_range: self.out_of_range + other.out_of_range,
            clamped: sum(self.clamped, other.clamped),
            comparison: self.comparison.merge(other.comparison),
        }
    }
}

/// Elements that are encoded, decoded and checked at once; they fit the cache.
const AT_ONCE: usize = 8192;

thread_local! {
    /// Encoded and decoded elements of a thread: memory that is used again for each chunk.
    static BUFFERS: RefCell<[Vec<u8>; 2]> = RefCell::default();
}

fn sum(a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

impl Batch<'_> {
    /// Encodes, decodes and compares chunks; with [`Scope::All`], also writes the chunks.
    pub(super) fn encode_chunks(
        &self,
        member: &Member<'_>,
        candidate: Candidate,
        storage: Storage,
        tolerance: Tolerance,
        scope: Scope<'_>,
    ) -> Result<Encoded> {
        let source = member.source;
        let mut encoder = ChunkEncoder::new(self, member, &candidate, &storage, tolerance, scope)?;
        let (pass, count) = match scope {
            Scope::All(_) => (source.pass("write"), source.chunks()),
            Scope::Estimate(sample) => ("sample".into(), sample.numbers.len() as u64),
            Scope::CheckOnly => (source.pass("try"), source.chunks()),
        };
        let chunk = |number| encoder.chunk(number);
        let mut stats = self.workers.merge(pass, count, chunk, ChunkStats::merge)?;
        let range = self.survey.extent_of_error();
        let mut asked = Requirement::of(self.asked);
        if self.members.len() > 1 {
            // The range is that of all of them, of which others know nothing.
            asked = asked.into_iter().map(|one| one.in_units(range)).collect();
        }
        let reached = reached(&asked, &stats.comparison, range);
        judge(&reached)?;
        let mut sampled = None;
        match scope {
            Scope::All(directory) => {
                if let Some(step) = self.options.precision {
                    // The check allows for the worst rounding; all elements have been compared.
                    let half = step / self.options.errors_in_a_step();
                    let kept = half.max(stats.comparison.sums.max).min(tolerance.absolute);
                    encoder.writer.record(PROVENANCE, ABSOLUTE, kept.into());
                }
                let reached = serde_json::to_value(&reached)?;
                encoder.writer.record(PROVENANCE, REQUIREMENTS, reached);
                encoder.writer.finish(directory)?;
            }
            Scope::Estimate(_) => {
                let all = source.elements() as f64 / stats.elements.max(1) as f64;
                stats.stored_bytes = (stats.stored_bytes as f64 * all).round() as u64;
                sampled = Some(count);
            }
            Scope::CheckOnly => {}
        }
        let codecs = encoder.writer.codecs().clone();
        Ok(Encoded { staged: None, candidate, storage, codecs, stats, reached, sampled })
    }
}

/// Encodes the chunks of an array with one candidate.
struct ChunkEncoder<'a> {
    member: &'a Member<'a>,
    candidate: &'a Candidate,
    scope: Scope<'a>,
    checker: Box<dyn ElementChecker>,
    writer: Writer,
    /// Compresses a part of a chunk: whole, or as inner chunks of a shard, which have the shape `inner`.
    of_part: ByteEncoder,
    inner: Option<Vec<u64>>,
}

impl<'a> ChunkEncoder<'a> {
    fn new(
        batch: &Batch<'_>,
        member: &'a Member<'_>,
        candidate: &'a Candidate,
        storage: &Storage,
        tolerance: Tolerance,
        scope: Scope<'a>,
    ) -> Result<Self> {
        let source = member.source;
        let fill =
            candidate.chain.encoded_fill_value().context("the fill value was not encoded")?;
        let encoding = Encoding {
            element_type: candidate.chain.encoded_type(),
            fill_value: fill,
            codecs: &candidate.codecs,
            storage: storage.clone(),
            shard_codecs: batch.options.shard_codecs,
        };
        let writer =
            Writer::new(source, &encoding, batch.attributes(member, tolerance, candidate.only)?)?;
        let expected = Expected::of(member.survey, tolerance);
        let checker = expected.with_exact_sums(batch.asked.has_mean_goal()).checker()?;
        let dimensions = source.array().dimensionality();
        let of_part = ByteEncoder::for_blocks(encoding.element_type, storage, dimensions)?;
        let inner = source.encoded_chunk_shape()?;
        Ok(Self { member, candidate, scope, checker, writer, of_part, inner })
    }

    /// Encodes a chunk, or the part of it that is sampled.
    fn chunk(&self, number: u64) -> Result<ChunkStats> {
        let Member { source, survey, .. } = *self.member;
        let (chunk, region) = match self.scope {
            Scope::All(_) | Scope::CheckOnly => {
                let chunk = source.region(number)?;
                (chunk.clone(), chunk)
            }
            Scope::Estimate(sample) => {
                let number = sample.numbers.get(number as usize);
                let chunk = source.region(*number.context("beyond the sample")?)?;
                (chunk.clone(), sample.part(chunk))
            }
        };
        let Candidate { chain, rounder, .. } = self.candidate;
        let (from, to) = (chain.decoded_type().size(), chain.encoded_type().size());
        let mut stats = ChunkStats { elements: region.elements(), ..ChunkStats::default() };
        let [mut encoded, mut decoded] = BUFFERS.take();
        encoded.resize(region.elements() as usize * to, 0);
        decoded.resize(AT_ONCE * from, 0);
        let is_stored = source.pieces(&region, |first, elements| {
            stats.clamped = sum(stats.clamped, survey.clamp_elements(elements)?);
            let end = first + elements.len() / from;
            let codes = encoded.get_mut(first * to..end * to);
            let codes = codes.context("elements beyond their chunk")?;
            let pieces = elements.chunks(AT_ONCE * from).zip(codes.chunks_mut(AT_ONCE * to));
            for (number, (piece, codes)) in pieces.enumerate() {
                let first = first + number * AT_ONCE;
                let element = |index| region.element(first + index);
                stats.out_of_range += self.encode(piece, codes, element)?;
                if rounder.is_some() {
                    // Plain numbers are their own codes.
                    self.checker.add(&region, first, piece, codes, &mut stats.comparison)?;
                    continue;
                }
                let decoded = decoded.get_mut(..piece.len()).unwrap_or_default();
                chain.decoder().run(codes, decoded).map_err(|error| self.named(error, element))?;
                self.checker.add(&region, first, piece, decoded, &mut stats.comparison)?;
            }
            Ok(())
        })?;
        // A chunk that is not stored holds the fill value, in the output too. A 0 is a value like others.
        if is_stored {
            stats.stored_bytes = self.store(&region, &encoded, region.shape == chunk.shape)?;
        } else if survey.zero_fills().next().is_some() {
            stats.comparison.sums.elements += region.elements();
        }
        BUFFERS.set([encoded, decoded]);
        Ok(stats)
    }

    /// Encodes elements; `element` names an element by its index. Returns the number of elements out of range.
    fn encode(
        &self,
        elements: &[u8],
        codes: &mut [u8],
        element: impl Fn(usize) -> String,
    ) -> Result<u64> {
        let Candidate { chain, rounder, range_checked, .. } = self.candidate;
        if let Some(rounder) = rounder {
            rounder.round(elements, codes);
            return Ok(0);
        }
        let plan = range_checked.as_ref().map(Chain::encoder);
        if plan.is_some_and(|plan| plan.run(elements, codes).is_ok()) {
            return Ok(0);
        }
        chain.encoder().run(elements, codes).map_err(|error| self.named(error, element))?;
        Ok(plan.map_or(0, |plan| out_of_range(plan, elements)))
    }

    /// An error with the place of its element in the array, not in the piece.
    fn named(&self, error: RunError, element: impl Fn(usize) -> String) -> anyhow::Error {
        let RunError::Element(error) = error else { return error.into() };
        let text = error.to_string();
        let text = text.split_once(": ").map_or(text.as_str(), |(_, text)| text);
        anyhow::anyhow!("{}: {}: {text}", self.member.name(), element(error.index))
    }

    /// Writes the codes of a region, or estimates their bytes. Returns these.
    fn store(&self, region: &Region, codes: &[u8], is_whole: bool) -> Result<u64> {
        match self.scope {
            Scope::All(directory) => self.writer.write(directory, region, codes),
            Scope::Estimate(_) if is_whole => self.writer.size(region, codes),
            Scope::Estimate(_) => {
                let inner = self.inner.as_ref().unwrap_or(&region.shape);
                let size = self.candidate.chain.encoded_type().size();
                let tiles = Block::tiles(codes, size, &region.shape, inner)?;
                tiles.iter().map(|tile| self.of_part.size(&tile.elements, &tile.shape)).sum()
            }
            Scope::CheckOnly => Ok(0),
        }
    }
}

/// Counts the elements that are out of range in the last step of a plan. Most pieces have none, and take no reference.
fn out_of_range(plan: &Plan, elements: &[u8]) -> u64 {
    const PIECE: usize = 64;
    let source = plan.source();
    let mut output = [0; PIECE * size_of::<f64>()];
    let is_outside = |bytes: &[u8]| {
        let Some(value) = Scalar::from_ne_bytes(source, bytes) else { return false };
        let result = reference::run(value, plan.steps(), 0);
        result.is_err_and(|error| error.reason == Reason::OutOfRange)
    };
    let mut count = 0;
    for piece in elements.chunks(PIECE * source.size()) {
        let output = output.get_mut(..piece.len() / source.size() * plan.target().size());
        if output.is_none_or(|output| plan.run(piece, output).is_err()) {
            count += piece.chunks_exact(source.size()).filter(|bytes| is_outside(bytes)).count();
        }
    }
    count as u64
}

/// Advice is worth reading from this part of the bytes on.
const LEAST_SAVING: f64 = 0.1;
/// How much longer or shorter another chunk may be along an axis.
const STRETCH: u64 = 4;
/// The approximate bytes of the areas that are read for each shape, and the most bytes of one area; both are at most an eighth
/// of the array, so that a dry run of a short array does less than a run.
const AREAS: u64 = 4 << 20;
const PART_OF_ARRAY: u64 = 8;
const LARGEST_AREA: u64 = 16 << 20;

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

impl Member<'_> {
    /// The best of some other shapes, if it saves a tenth: longer along one axis, or along all, and longer along one and
    /// shorter along another.
    pub(super) fn chunk_advice(
        &self,
        encoded: &Encoded,
        workers: &Workers,
    ) -> Result<Option<ChunkAdvice>> {
        let Some(present) = self.source.encoded_chunk_shape()? else { return Ok(None) };
        let saved = |shape: Vec<u64>| -> Result<Option<ChunkAdvice>> {
            let saved = self.saved(encoded, &present, &shape)?;
            let advice = |saved| ChunkAdvice {
                chunk_shape: shape.clone(),
                present_chunk_shape: present.clone(),
                saved,
            };
            Ok(saved.filter(|saved| *saved >= LEAST_SAVING).map(advice))
        };
        let shapes = other_shapes(&present, self.source.array().shape());
        let found: Vec<Option<ChunkAdvice>> =
            workers.install(|| shapes.into_par_iter().map(saved).collect::<Result<_>>())?;
        Ok(found.into_iter().flatten().max_by(|a, b| a.saved.total_cmp(&b.saved)))
    }

    /// The part of the bytes that chunks of another shape would save in some areas; none if an area is too large, or
    /// holds an element that cannot be encoded.
    fn saved(&self, encoded: &Encoded, present: &[u64], other: &[u64]) -> Result<Option<f64>> {
        let (all, size) = (self.source.array().shape(), self.source.element_type().size());
        let longer = present.iter().zip(other).map(|(a, b)| a.max(b));
        let area: Vec<u64> = longer.zip(all).map(|(longer, all)| *longer.min(all)).collect();
        let bytes = area.iter().product::<u64>() * size as u64;
        let part = self.source.bytes() / PART_OF_ARRAY;
        if bytes == 0 || bytes > LARGEST_AREA.min(part) {
            return Ok(None);
        }
        let chain = &encoded.candidate.chain;
        let code_size = chain.encoded_type().size();
        // A fast level compares shapes as well as a slow level.
        let storage = Level::FAST.of(&encoded.storage);
        let compression = ByteEncoder::for_blocks(chain.encoded_type(), &storage, area.len())?;
        let stored = |codes: &[u8], shape: &[u64]| -> Result<u64> {
            let chunks = Block::tiles(codes, code_size, &area, shape)?;
            chunks.iter().map(|chunk| compression.size(&chunk.elements, &chunk.shape)).sum()
        };
        let grid: Vec<u64> = all.iter().zip(&area).map(|(all, area)| all / area).collect();
        let (mut before, mut after) = (0, 0);
        for number in spread(grid.iter().product(), AREAS.min(part).div_ceil(bytes)) {
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
            if axis == long { longer(extent, axis, STRETCH) } else { extent }
        }));
        for short in axes().filter(|short| *short != long) {
            shapes.push(changed(&|axis, extent| {
                if axis == long {
                    longer(extent, axis, STRETCH)
                } else if axis == short {
                    (extent / STRETCH).max(1)
                } else {
                    extent
                }
            }));
        }
    }
    let is_longer = |shape: &Vec<u64>| shape.iter().zip(present).any(|(new, old)| new > old);
    shapes.retain(is_longer);
    // Shapes that are cut to the array may be equal.
    shapes.sort();
    shapes.dedup();
    shapes
}

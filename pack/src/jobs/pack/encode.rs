//! Encodes chunks. Each element is decoded as soon as it is encoded, and checked against the original.

use std::cell::RefCell;
use std::path::Path;

use anyhow::Context;
use recast_kernels::{Plan, Reason, RunError, Scalar, reference};
use serde_json::Value;
use zarr_recast::Chain;

use super::job::{Excerpt, Job};
use super::seen_codes::SeenCodes;
use crate::check::chunk_check::{ChunkCheck, Judge};
use crate::check::comparison::Comparison;
use crate::check::tolerance::Tolerance;
use crate::choose::packing::Packing;
use crate::error::Result;
use crate::io::byte_encoder::ByteEncoder;
use crate::io::region::{Block, Region};
use crate::io::storage::Storage;
use crate::io::writer::{Encoding, Writer};
use crate::scan::limits::Outside;
use crate::scan::number::{Number, is_wide};

/// Which chunks are encoded, and why.
#[derive(Clone, Copy)]
pub(super) enum Scope<'a> {
    /// All, written to a directory.
    All(&'a Path),
    /// Only these, for an estimate; nothing is written.
    Some(&'a Excerpt),
    /// All, to check every element; nothing is compressed or written.
    Judged,
}

/// The written output.
pub(super) struct Packed {
    pub(super) packing: Packing,
    pub(super) storage: Storage,
    /// All codecs, as in zarr.json.
    pub(super) codecs: Value,
    pub(super) part: Part,
    /// The number of different stored values, for types of at most 16 bits.
    pub(super) codes: Option<u64>,
    /// The number of chunks in the sample of a dry run.
    pub(super) sampled: Option<u64>,
}

/// The results for some chunks.
#[derive(Default)]
pub(super) struct Part {
    pub(super) elements: u64,
    pub(super) stored_bytes: u64,
    /// Elements that were out of range for the stored type, and were clamped or wrapped.
    pub(super) out_of_range: u64,
    /// Elements outside the range to keep.
    pub(super) outside: Outside,
    pub(super) comparison: Comparison,
}

impl Part {
    fn merge(self, other: Self) -> Self {
        Self {
            elements: self.elements + other.elements,
            stored_bytes: self.stored_bytes + other.stored_bytes,
            out_of_range: self.out_of_range + other.out_of_range,
            outside: self.outside.merge(other.outside),
            comparison: self.comparison.merge(other.comparison),
        }
    }
}

/// Elements that are encoded, decoded and checked at once; they fit the cache.
const PIECE: usize = 8192;

/// Some elements of a region in progress.
struct Piece<'a> {
    /// The index of the first in the region.
    first: usize,
    elements: &'a [u8],
    /// The output for their codes.
    codes: &'a mut [u8],
    /// Memory for decoded elements.
    decoded: &'a mut Vec<u8>,
}

/// Memory of a thread, used again for each chunk.
#[derive(Default)]
struct Buffers {
    encoded: Vec<u8>,
    decoded: Vec<u8>,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

impl Job<'_> {
    /// Encodes chunks, decodes them and compares; writes them if all are encoded.
    pub(super) fn encode_chunks(
        &self,
        (packing, storage): (Packing, Storage),
        tolerance: Tolerance,
        scope: Scope<'_>,
    ) -> Result<Packed> {
        if is_wide(self.source.element_type()) {
            self.encode_chunks_as::<i128>((packing, storage), tolerance, scope)
        } else {
            self.encode_chunks_as::<f64>((packing, storage), tolerance, scope)
        }
    }

    pub(super) fn encode_chunks_as<N: Number>(
        &self,
        (packing, storage): (Packing, Storage),
        tolerance: Tolerance,
        scope: Scope<'_>,
    ) -> Result<Packed> {
        let source = self.source;
        let fill = packing.chain.encoded_fill_value().context("the fill value was not encoded")?;
        let encoding = Encoding {
            element_type: packing.chain.encoded_type(),
            fill_value: fill,
            codecs: &packing.codecs,
            storage: storage.clone(),
            shard_codecs: self.asked.options.shard_codecs,
        };
        let sample = match scope {
            Scope::Some(sample) => Some(sample),
            Scope::All(_) | Scope::Judged => None,
        };
        let writer = Writer::new(source, &encoding, self.attributes(packing.only)?)?;
        let judge = Judge::<N>::new(source.element_type(), &self.survey.markers, tolerance)?
            .apart_from(&self.survey.apart)?;
        // A part of a chunk is compressed as one, or as the inner chunks of a shard.
        let dimensions = source.array().dimensionality();
        let of_part = ByteEncoder::for_blocks(encoding.element_type, &storage, dimensions)?;
        let inner = self.encoded_chunk_shape()?;
        let codes = SeenCodes::new(packing.chain.encoded_type());
        let work = |number: u64| -> Result<Part> {
            let numbers = sample.map(|sample| &sample.numbers);
            let number = numbers.and_then(|all| all.get(number as usize)).map_or(number, |&n| n);
            let chunk = source.region(number)?;
            let region = sample.map_or(chunk.clone(), |sample| sample.part(chunk.clone()));
            let mut part = Part { elements: region.elements(), ..Part::default() };
            let mut check = judge.check(&region);
            let (from, to) = (source.element_type().size(), encoding.element_type.size());
            let mut buffers = BUFFERS.take();
            buffers.encoded.resize(region.elements() as usize * to, 0);
            let is_stored = source.pieces(&region, |first, elements| {
                if let Some(limits) = &self.survey.limits {
                    part.outside = part.outside.merge(limits.apply(elements)?);
                }
                let end = first + elements.len() / from;
                let codes_of_piece = buffers.encoded.get_mut(first * to..end * to);
                let piece = Piece {
                    first,
                    elements,
                    codes: codes_of_piece.context("elements beyond their chunk")?,
                    decoded: &mut buffers.decoded,
                };
                let encoded = self.encode(&packing, &region, piece, &mut part, &mut check)?;
                if let Some(codes) = &codes {
                    codes.add(encoded);
                }
                Ok(())
            })?;
            // A chunk that is not stored holds the fill value, in the output too.
            if !is_stored {
                return Ok(part);
            }
            part.comparison = check.done();
            part.stored_bytes = match scope {
                Scope::All(directory) => writer.write(directory, &region, &buffers.encoded)?,
                Scope::Some(_) if region.shape == chunk.shape => {
                    writer.size(&region, &buffers.encoded)?
                }
                Scope::Some(_) => {
                    let inner = inner.as_ref().unwrap_or(&region.shape);
                    let tiles = Block::tiles(&buffers.encoded, to, &region.shape, inner)?;
                    let sizes = tiles.iter().map(|tile| of_part.size(&tile.elements, &tile.shape));
                    sizes.sum::<Result<u64>>()?
                }
                Scope::Judged => 0,
            };
            BUFFERS.set(buffers);
            Ok(part)
        };
        let (what, count) = match scope {
            Scope::All(_) => (source.pass("write"), source.chunks()),
            Scope::Some(sample) => ("sample".into(), sample.numbers.len() as u64),
            Scope::Judged => (source.pass("try"), source.chunks()),
        };
        let mut total = Part::default();
        self.workers.run(what, count, work, |part| {
            total = std::mem::take(&mut total).merge(part);
            Ok(())
        })?;
        match scope {
            Scope::All(directory) => writer.finish(directory)?,
            Scope::Some(_) => {
                let all = source.elements() as f64 / total.elements.max(1) as f64;
                total.stored_bytes = (total.stored_bytes as f64 * all).round() as u64;
            }
            Scope::Judged => {}
        }
        Ok(Packed {
            codecs: writer.codecs().clone(),
            packing,
            storage,
            part: total,
            codes: codes.as_ref().map(SeenCodes::count),
            sampled: sample.map(|sample| sample.numbers.len() as u64),
        })
    }

    /// Encodes elements of a region, decodes them and checks the result. Returns the codes.
    fn encode<'a, N: Number>(
        &self,
        packing: &Packing,
        region: &Region,
        piece: Piece<'a>,
        part: &mut Part,
        check: &mut ChunkCheck<'_, N>,
    ) -> Result<&'a [u8]> {
        let Piece { first, elements, codes: all_codes, decoded } = piece;
        let chain = &packing.chain;
        let (from, to) = (chain.decoded_type().size(), chain.encoded_type().size());
        decoded.resize(PIECE * from, 0);
        let pieces = elements.chunks(PIECE * from).zip(all_codes.chunks_mut(PIECE * to));
        for (number, (piece, codes)) in pieces.enumerate() {
            let named = |error: RunError| match error {
                RunError::Element(error) => {
                    // Name the element by its place in the array, not in the piece.
                    let text = error.to_string();
                    let text = text.split_once(": ").map_or(text.as_str(), |(_, text)| text);
                    let element = region.element(first + number * PIECE + error.index);
                    anyhow::anyhow!("{}: {element}: {text}", self.input())
                }
                error => error.into(),
            };
            let strict = packing.strict.as_ref();
            if strict.is_none_or(|strict| strict.encoder().run(piece, codes).is_err()) {
                chain.encoder().run(piece, codes).map_err(named)?;
                let plan = strict.map(Chain::encoder);
                part.out_of_range += plan.map_or(0, |plan| out_of_range(plan, piece));
            }
            let decoded = decoded.get_mut(..piece.len()).unwrap_or_default();
            chain.decoder().run(codes, decoded).map_err(named)?;
            check.add(piece, decoded)?;
        }
        Ok(all_codes)
    }
}

/// Counts the elements that are out of range in the last step of a plan.
fn out_of_range(plan: &Plan, elements: &[u8]) -> u64 {
    let source = plan.source();
    let is_outside = |bytes: &[u8]| {
        let Some(value) = Scalar::from_ne_bytes(source, bytes) else { return false };
        let result = reference::run(value, plan.steps(), 0);
        result.is_err_and(|error| error.reason == Reason::OutOfRange)
    };
    elements.chunks_exact(source.size()).filter(|bytes| is_outside(bytes)).count() as u64
}

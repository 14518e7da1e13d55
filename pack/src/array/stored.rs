//! How much an array's metadata may ask for: codecs, edges of chunks, and the bytes of a stored chunk.

use std::num::NonZeroU64;

use anyhow::bail;
use serde_json::Value;
use zarrs::array::codec::api::{
    ArrayToBytesCodecTraits, BytesRepresentation, CodecMetadataOptions, CodecTraits,
};
use zarrs::array::codec::{ShardingCodec, ShardingCodecConfiguration};
use zarrs::array::{Array, ArrayMetadata, CodecChain, DataType, FillValue, data_type};
use zarrs::metadata::ConfigurationSerialize;
use zarrs::plugin::ZarrVersion;

use super::decoders::{LARGEST_UNKNOWN, generous};
use crate::error::{Result, guarded};

/// More codecs than anyone uses, inside shards and outside.
const MOST_CODECS: usize = 256;
/// More chunks than this along one dimension, each with an extent of its own, would take hundreds of megabytes.
const MOST_EDGES: u64 = 1 << 22;

/// Refuses metadata that would take time or memory without measure to open.
pub(super) fn refuse_long(metadata: &ArrayMetadata) -> Result<()> {
    let ArrayMetadata::V3(metadata) = metadata else { return Ok(()) };
    let inner = metadata.codecs.iter().filter_map(|codec| codec.configuration()?.get("codecs"));
    let codecs = metadata.codecs.len() + inner.map(codecs_in).sum::<usize>();
    if codecs > MOST_CODECS {
        bail!(
            "{codecs} codecs are more than the {MOST_CODECS} that an array can have; leave some out"
        );
    }
    let grid = metadata.chunk_grid.configuration();
    let edges = grid.and_then(|grid| grid.get("chunk_shapes")).and_then(Value::as_array);
    for (dimension, edges) in edges.into_iter().flatten().enumerate() {
        let Some(edges) = edges.as_array() else { continue };
        let number = |run: &Value, place| run.get(place).and_then(Value::as_u64);
        let count = |run| number(run, 1).unwrap_or(1);
        let extent = |run| number(run, 0).or_else(|| run.as_u64()).unwrap_or_default();
        let all = edges.iter().fold(0_u64, |all, run| all.saturating_add(count(run)));
        let end = edges
            .iter()
            .try_fold(0_u64, |end, run| end.checked_add(extent(run).checked_mul(count(run))?));
        if all > MOST_EDGES || end.is_none() {
            bail!(
                "the chunk_grid has {all} chunks along dimension {dimension}, more than {MOST_EDGES}, or they end beyond \
                 2^64; use larger chunks, or chunks of one shape"
            );
        }
    }
    Ok(())
}

/// The codecs of a list, with those inside shards.
fn codecs_in(list: &Value) -> usize {
    let codecs = list.as_array().into_iter().flatten();
    let inner = codecs.filter_map(|codec| codec.pointer("/configuration/codecs"));
    list.as_array().map_or(0, Vec::len) + inner.map(codecs_in).sum::<usize>()
}

/// The most bytes that a chunk of an array is taken to be stored in. Encoders differ, and shards may have room between their
/// chunks.
pub(super) fn largest_stored<S: ?Sized>(array: &Array<S>) -> u64 {
    let (codecs, fill_value) = (array.codecs(), array.fill_value());
    let stored = || -> Result<Option<u64>> {
        let Some(shape) = largest_shape(array)? else { return Ok(None) };
        largest(&codecs, &shape, array.data_type(), fill_value)
    };
    // Where the codecs refuse the chunk, nothing of it is decoded.
    guarded(stored).ok().flatten().map_or(LARGEST_UNKNOWN, generous)
}

/// The greatest extents that chunks have; `None` without chunks.
fn largest_shape<S: ?Sized>(array: &Array<S>) -> Result<Option<Vec<NonZeroU64>>> {
    let grid = array.chunk_grid_shape();
    if grid.contains(&0) {
        return Ok(None);
    }
    let first = vec![0; grid.len()];
    let mut shape = array.chunk_shape(&first)?;
    if array.chunk_grid().name(ZarrVersion::V3).as_deref() == Some("regular") {
        return Ok(Some(shape));
    }
    for (dimension, &count) in grid.iter().enumerate() {
        let mut place = first.clone();
        for number in 0..count {
            if let Some(place) = place.get_mut(dimension) {
                *place = number;
            }
            let here = array.chunk_shape(&place)?;
            for (extent, here) in shape.iter_mut().zip(here) {
                *extent = here.max(*extent);
            }
        }
    }
    Ok(Some(shape))
}

/// The most bytes in which these codecs store a chunk; `None` if that depends on the values. zarrs takes each chunk of a shard for
/// as large as the shard.
fn largest(
    codecs: &CodecChain,
    shape: &[NonZeroU64],
    data_type: &DataType,
    fill_value: &FillValue,
) -> Result<Option<u64>> {
    let mut elements = (shape.to_vec(), data_type.clone(), fill_value.clone());
    for codec in codecs.array_to_array_codecs() {
        elements = codec.encoded_representation(&elements.0, &elements.1, &elements.2)?;
    }
    let (shape, data_type, fill_value) = elements;
    let codec = codecs.array_to_bytes_codec();
    let mut bytes = match codec.as_any().downcast_ref() {
        Some(shards) => largest_shard(shards, &shape, &data_type, &fill_value)?
            .map_or(BytesRepresentation::UnboundedSize, BytesRepresentation::BoundedSize),
        None => codec.encoded_representation(&shape, &data_type, &fill_value)?,
    };
    for codec in codecs.bytes_to_bytes_codecs() {
        bytes = codec.encoded_representation(&bytes);
    }
    Ok(bytes.size())
}

fn largest_shard(
    codec: &ShardingCodec,
    shape: &[NonZeroU64],
    data_type: &DataType,
    fill_value: &FillValue,
) -> Result<Option<u64>> {
    let configuration = codec.configuration(ZarrVersion::V3, &CodecMetadataOptions::default());
    let configuration = configuration.map(ShardingCodecConfiguration::try_from_configuration);
    let Some(Ok(ShardingCodecConfiguration::V1(shards))) = configuration else { return Ok(None) };
    let inner = CodecChain::from_metadata(&shards.codecs)?;
    let index = CodecChain::from_metadata(&shards.index_codecs)?;
    let counts =
        shape.iter().zip(&shards.chunk_shape).map(|(all, one)| all.get().div_ceil(one.get()));
    let mut index_shape: Vec<_> = counts.clone().filter_map(NonZeroU64::new).collect();
    index_shape.extend(NonZeroU64::new(2));
    let (offsets, none) = (data_type::uint64(), FillValue::from(u64::MAX));
    let index = index.encoded_representation(&index_shape, &offsets, &none)?.size();
    let chunk = largest(&inner, &shards.chunk_shape, data_type, fill_value)?;
    let all = |chunk: u64| chunk.checked_mul(counts.product())?.checked_add(index?);
    Ok(chunk.and_then(all))
}

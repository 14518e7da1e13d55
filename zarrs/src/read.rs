//! Reading large parts of arrays.

use std::sync::Arc;

use bytemuck::Pod;
use rayon::prelude::*;
use recast_kernels::zeroed_in_huge_pages;
use zarrs::array::codec::api::{ArrayToArrayCodecTraits, ArrayToBytesCodecTraits, CodecError};
use zarrs::array::{
    Array, ArrayBytes, ArrayError, ArraySubset, CodecChain, CodecOptions, DataType, ElementOwned,
};
use zarrs::storage::ReadableStorageTraits;

use crate::bound::Bound;
use crate::codec::RecastCodec;
use crate::element_error::ElementError;
use crate::fuse::fused_sharding;

/// Reads elements as `Array::retrieve_array_subset` does, large results two to three times as fast.
///
/// This helps arrays whose codecs begin with those of this crate, outside of shards or inside, and results of many
/// megabytes. Whole chunks are decoded directly into the result in one pass, whether or not the array is
/// [`fused`](crate::fused). The new memory has huge pages, because the system takes longer to provide memory in
/// pages of 4 KiB than codecs take to fill it.
///
/// Each row of chunks (those with the same first index) is read by one of rayon's threads, and each chunk is read
/// once. Other arrays, and parts with fewer rows than threads, are read by zarrs alone.
///
/// ```
/// use zarrs::array::Array;
/// use zarrs::filesystem::FilesystemStore;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # zarrs_recast::register();
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goldens/so_cv_f32_to_i16_clamp/array.zarr");
/// let array = Array::open(FilesystemStore::new(folder)?.into(), "/")?;
/// let elements: Vec<f32> = zarrs_recast::read(&array, &array.subset_all())?;
/// # assert!(!elements.is_empty());
/// # Ok(()) }
/// ```
///
/// # Errors
/// Those of `Array::retrieve_array_subset`: a subset of other dimensions than the array's, elements of
/// another type, a chunk that cannot be read or decoded. An [`ElementError`] names the chunk, and the element where it
/// can.
pub fn read<T, TStorage>(
    array: &Array<TStorage>,
    subset: &ArraySubset,
) -> Result<Vec<T>, ArrayError>
where
    T: ElementOwned + Pod + Send + Sync,
    TStorage: ReadableStorageTraits + ?Sized + 'static,
{
    T::validate_data_type(array.data_type())?;
    let rows = rows(array, subset).filter(|rows| rows.len() >= rayon::current_num_threads());
    let (Some(rows), Some(codecs)) = (rows, Codecs::of(array)) else {
        return array.retrieve_array_subset(subset);
    };
    let mut elements: Vec<T> = zeroed_in_huge_pages(subset.num_elements_usize());
    let mut rest = elements.as_mut_slice();
    let split = |row| Some((row, rest.split_off_mut(..ArraySubset::num_elements_usize(row))?));
    let parts: Option<Vec<_>> = rows.iter().map(split).collect();
    let Some(parts) = parts else { return array.retrieve_array_subset(subset) };
    // Return the first row that fails, and stop reading the rows after it.
    let failure = |(row, part)| read_row(array, &codecs, row, part).err();
    match parts.into_par_iter().find_map_first(failure) {
        Some(error) => Err(error),
        None => Ok(elements),
    }
}

/// The subset in parts that follow each other in memory, one for each row of chunks; `None` if the subset is
/// invalid, so that zarrs reports the error.
fn rows<TStorage: ?Sized>(
    array: &Array<TStorage>,
    subset: &ArraySubset,
) -> Option<Vec<ArraySubset>> {
    let chunks = array.chunks_in_array_subset(subset).ok()??;
    if !subset.inbounds_shape(array.shape()) {
        return None;
    }
    let mut chunk = chunks.start().to_vec();
    let indices = chunks.to_ranges().first()?.clone();
    indices
        .map(|index| {
            chunk[0] = index;
            let row = array.chunk_subset(&chunk).ok()?.to_ranges()[0].clone();
            let mut ranges = subset.to_ranges();
            ranges[0] = row.start.max(ranges[0].start)..row.end.min(ranges[0].end);
            Some(ArraySubset::from(ranges))
        })
        .collect()
}

/// Reads `row`, which is inside one row of chunks.
fn read_row<T, TStorage>(
    array: &Array<TStorage>,
    codecs: &Codecs,
    row: &ArraySubset,
    elements: &mut [T],
) -> Result<(), ArrayError>
where
    T: ElementOwned + Pod,
    TStorage: ReadableStorageTraits + ?Sized + 'static,
{
    let options = CodecOptions::default().with_concurrent_target(1);
    let fill_value: T = bytemuck::pod_read_unaligned(array.fill_value().as_ne_bytes());
    let Some(chunks) = array.chunks_in_array_subset(row)? else { return Ok(()) };
    for chunk in &chunks.indices() {
        let whole = array.chunk_subset(&chunk)?;
        let in_chunk = |error| ElementError::in_chunk(error, &chunk);
        let overlap = whole.overlap(row)?;
        let place = overlap.relative_to(row.start())?;
        // The chunk's elements, in order, are runs of `len` in memory.
        let runs = place.contiguous_linearised_indices(row.shape()).map_err(CodecError::from)?;
        let len = runs.contiguous_elements_usize();
        let starts = || runs.iter().map(|(start, _)| start as usize);
        if whole != overlap {
            let decoded: Result<ArrayBytes, _> =
                array.retrieve_array_subset_opt(&overlap, &options);
            let decoded = decoded.map_err(in_chunk)?.into_fixed().map_err(CodecError::from)?;
            let decoded = decoded.chunks_exact(len * size_of::<T>());
            for (start, decoded) in starts().zip(decoded) {
                bytemuck::cast_slice_mut(&mut elements[start..][..len]).copy_from_slice(decoded);
            }
        } else if let Some(encoded) = codecs.encoded(array, &chunk, &options).map_err(in_chunk)? {
            if let Some(bound) = &codecs.bound {
                let (shape, starts) = (array.chunk_shape(&chunk)?, starts().collect::<Vec<_>>());
                let elements = bytemuck::cast_slice_mut(elements);
                let decoded = bound.decode_rows(&encoded, elements, len, &starts, &shape);
                let in_array = |error| ElementError::in_array(error, &chunk, whole.start());
                decoded.map_err(|error| in_array(error.into()))?;
                continue;
            }
            for (start, encoded) in starts().zip(encoded.chunks_exact(len * codecs.size)) {
                bytemuck::cast_slice_mut(&mut elements[start..][..len]).copy_from_slice(encoded);
            }
        } else {
            for start in starts() {
                elements[start..][..len].fill(fill_value);
            }
        }
    }
    Ok(())
}

/// The codecs of an array: first those of this crate, as one, then the others.
struct Codecs {
    /// `None` if this crate's codecs are only inside shards.
    bound: Option<Arc<Bound>>,
    others: CodecChain,
    /// The data type between the two.
    encoded: DataType,
    /// Its size in bytes.
    size: usize,
}

impl Codecs {
    /// `None` if the first codec is of another crate, and no codecs of this crate are neighbours in shards.
    fn of<TStorage: ?Sized>(array: &Array<TStorage>) -> Option<Self> {
        let chain = array.codecs();
        let codecs = chain.array_to_array_codecs();
        let (mut bound, mut number) = (None::<Arc<Bound>>, 0);
        let mut encoded = array.data_type().clone();
        let mut fill_value = array.fill_value().clone();
        for codec in codecs {
            let Some(codec) = codec.as_any().downcast_ref::<RecastCodec>() else { break };
            number += 1;
            if codec.codecs().is_empty() {
                continue; // its predecessor in a fused array does its work
            }
            let next = codec.bound(&encoded, &fill_value).ok()?;
            (encoded, fill_value) =
                (codec.encoded_data_type(&encoded).ok()?, next.encoded_fill_value().clone());
            bound = Some(match bound {
                Some(bound) => bound.followed_by(&next)?,
                None => next,
            });
        }
        let sharding = fused_sharding(chain.array_to_bytes_codec());
        if bound.is_none() && sharding.is_none() {
            return None;
        }
        let others = CodecChain::new(
            codecs[number..].to_vec(),
            sharding.unwrap_or_else(|| chain.array_to_bytes_codec().clone()),
            chain.bytes_to_bytes_codecs().to_vec(),
        );
        Some(Self { bound, others, size: encoded.fixed_size()?, encoded })
    }

    /// A whole chunk as the other codecs encode it; `None` if it is missing.
    fn encoded<TStorage: ReadableStorageTraits + ?Sized + 'static>(
        &self,
        array: &Array<TStorage>,
        chunk: &[u64],
        options: &CodecOptions,
    ) -> Result<Option<Vec<u8>>, ArrayError> {
        let Some(bytes) = array.retrieve_encoded_chunk(chunk)? else { return Ok(None) };
        let shape = array.chunk_shape(chunk)?;
        let bound = self.bound.as_ref();
        let fill_value = bound.map_or(array.fill_value(), |bound| bound.encoded_fill_value());
        let encoded =
            self.others.decode(bytes.into(), &shape, &self.encoded, fill_value, options)?;
        let elements = shape.iter().map(|n| n.get()).product::<u64>();
        encoded.validate(elements, &self.encoded)?;
        Ok(Some(encoded.into_fixed().map_err(CodecError::from)?.into_owned()))
    }
}

//! Writes elements, with errors that name the chunk.

use zarrs::array::codec::api::{ArrayToBytesCodecTraits, CodecError};
use zarrs::array::{Array, ArrayBytes, ArrayError, ArraySubset, Element};
use zarrs::storage::ReadableWritableStorageTraits;

use crate::element_error::ElementError;

/// Writes elements as `Array::store_array_subset` does. If one cannot be encoded, the [`ElementError`] names its
/// chunk; chunks before it may already be written.
///
/// ```
/// # use zarrs::array::{ArrayBuilder, data_type};
/// # use zarrs::storage::store::MemoryStore;
/// # use zarrs_recast::{CastValue, ElementType, RecastCodec};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let array = ArrayBuilder::new([4, 6], [2, 3], data_type::float32(), 0.0_f32)
/// #     .array_to_array_codecs(vec![RecastCodec::from(CastValue::new(ElementType::UInt8)).into()])
/// #     .build(MemoryStore::new().into(), "/")?;
/// zarrs_recast::write(&array, &array.subset_all(), &[7.0_f32; 24])?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// Those of `Array::store_array_subset`.
pub fn write<T, TStorage>(
    array: &Array<TStorage>,
    subset: &ArraySubset,
    elements: &[T],
) -> Result<(), ArrayError>
where
    T: Element,
    TStorage: ReadableWritableStorageTraits + ?Sized + 'static,
{
    array
        .store_array_subset(subset, elements)
        .map_err(|error| located(array, subset, elements, error))
}

/// The error with its chunk. All chunks of the write are searched for it, because zarrs does not tell codecs which
/// chunk they work on, and encodes several at a time.
fn located<T: Element, TStorage: ?Sized>(
    array: &Array<TStorage>,
    subset: &ArraySubset,
    elements: &[T],
    error: ArrayError,
) -> ArrayError {
    if ElementError::of(&error).is_none() {
        return error;
    }
    let first = || {
        let elements = T::to_array_bytes(array.data_type(), elements).ok()?;
        let chunks = array.chunks_in_array_subset(subset).ok()??;
        chunks.indices().into_iter().find_map(|chunk| {
            let failure = encode_chunk(array, &chunk, subset, &elements).err()?;
            Some(ElementError::in_chunk(failure, &chunk))
        })
    };
    match first() {
        Some(found) if ElementError::of(&found).is_some() => found,
        _ => error,
    }
}

/// Encodes the elements of `subset` that are in `chunk`, and returns only the error.
fn encode_chunk<TStorage: ?Sized>(
    array: &Array<TStorage>,
    chunk: &[u64],
    subset: &ArraySubset,
    elements: &ArrayBytes<'_>,
) -> Result<(), ArrayError> {
    let (data_type, fill_value) = (array.data_type(), array.fill_value());
    let whole = array.chunk_subset(chunk)?;
    let overlap = whole.overlap(subset)?;
    let part = elements.extract_array_subset(
        &overlap.relative_to(subset.start())?,
        subset.shape(),
        data_type,
    )?;
    let around = ArrayBytes::new_fill_value(data_type, whole.num_elements(), fill_value)
        .map_err(CodecError::from)?;
    let bytes = zarrs::array::update_array_bytes(
        around,
        whole.shape(),
        &overlap.relative_to(whole.start())?,
        &part,
        data_type.size(),
    )?;
    let shape = array.chunk_shape(chunk)?;
    array.codecs().encode(bytes, &shape, data_type, fill_value, &<_>::default())?;
    Ok(())
}

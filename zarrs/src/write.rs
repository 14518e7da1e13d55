//! Writes elements, with errors that name the element.

use std::num::NonZeroU64;
use std::sync::Arc;

use zarrs::array::codec::api::{ArrayToArrayCodecTraits, CodecError, CodecOptions};
use zarrs::array::{
    Array, ArrayBytes, ArrayError, ArraySubset, CodecChain, DataType, Element, FillValue,
};
use zarrs::storage::ReadableWritableStorageTraits;

use crate::bound::{Bound, Place};
use crate::codec::RecastCodec;
use crate::element_error::ElementError;
use crate::fuse::inner_chain;

/// Writes elements as `Array::store_array_subset` does. If one cannot be encoded, the [`ElementError`] names it as it
/// was given, its place in the array and its chunk; chunks before it may already be written.
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

/// The error with the place of its element. zarrs does not tell codecs which chunk they work on, and encodes several
/// at a time. So the codecs run again, on the elements given, chunk by chunk.
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
        let encoder = ElementEncoder::of(array).ok()?;
        let chunks = array.chunks_in_array_subset(subset).ok()??;
        chunks.indices().into_iter().find_map(|chunk| {
            let whole = array.chunk_subset(&chunk).ok()?;
            let part = whole.overlap(subset).ok()?;
            let bytes = encoder.part(&elements, subset, &part).ok()?;
            let (element, mut failure) = encoder.first_failure(bytes, part).ok()??;
            let index = element.iter().zip(subset.start()).zip(subset.shape());
            let index = index.fold(0, |index, ((at, start), len)| index * len + (at - start));
            let at = element.iter().zip(whole.start()).map(|(at, start)| at - start).collect();
            failure.source.index = usize::try_from(index).ok()?;
            Some(ElementError {
                chunk: Some(chunk.to_vec()),
                element: Some(element),
                at: Some(at),
                ..failure
            })
        })
    };
    first().map_or(error, |found| ArrayError::CodecError(found.into()))
}

/// One of the codecs before the bytes.
enum Stage {
    /// Neighbouring codecs of this crate, as one.
    Own(Arc<Bound>),
    /// A codec of another crate, with the data type and fill value that reach it.
    Other(Arc<dyn ArrayToArrayCodecTraits>, DataType, FillValue),
}

/// All codecs of an array before the bytes, also those inside shards. They encode elements one by one, so that they also
/// encode a part of a chunk, as if the part were a chunk.
struct ElementEncoder {
    data_type: DataType,
    stages: Vec<Stage>,
}

impl ElementEncoder {
    fn of<TStorage: ?Sized>(array: &Array<TStorage>) -> Result<Self, CodecError> {
        let (data_type, fill_value) = (array.data_type().clone(), array.fill_value().clone());
        let mut encoder = Self { data_type: data_type.clone(), stages: Vec::new() };
        encoder.extend(&array.codecs(), data_type, fill_value)?;
        Ok(encoder)
    }

    /// Appends the codecs of `chain`, to which elements of this type and fill value come.
    fn extend(
        &mut self,
        chain: &CodecChain,
        mut data_type: DataType,
        mut fill_value: FillValue,
    ) -> Result<(), CodecError> {
        for codec in chain.array_to_array_codecs() {
            let encoded_type = codec.encoded_data_type(&data_type)?;
            let encoded_fill_value = codec.encoded_fill_value(&data_type, &fill_value)?;
            match codec.as_any().downcast_ref::<RecastCodec>() {
                Some(own) if own.codecs().is_empty() => {} // its predecessor does its work
                Some(own) => {
                    let next = own.bound(&data_type, &fill_value)?;
                    let both = match self.stages.last() {
                        Some(Stage::Own(before)) => before.followed_by(&next),
                        Some(Stage::Other(..)) | None => None,
                    };
                    if both.is_some() {
                        self.stages.pop();
                    }
                    self.stages.push(Stage::Own(both.unwrap_or(next)));
                }
                None => self.stages.push(Stage::Other(codec.clone(), data_type, fill_value)),
            }
            (data_type, fill_value) = (encoded_type, encoded_fill_value);
        }
        match inner_chain(chain.array_to_bytes_codec()) {
            Some(inner) => self.extend(&inner, data_type, fill_value),
            None => Ok(()),
        }
    }

    /// The elements of `part`, of those of `all`.
    fn part(
        &self,
        elements: &ArrayBytes<'_>,
        all: &ArraySubset,
        part: &ArraySubset,
    ) -> Result<ArrayBytes<'static>, CodecError> {
        let indexer =
            part.relative_to(all.start()).map_err(|error| CodecError::Other(error.to_string()))?;
        let part = elements.extract_array_subset(&indexer, all.shape(), &self.data_type)?;
        Ok(part.into_owned())
    }

    /// Encodes the elements of `part`. An element that cannot be encoded is not an error, but returned.
    fn failure(
        &self,
        mut bytes: ArrayBytes<'_>,
        part: &ArraySubset,
    ) -> Result<Option<ElementError>, CodecError> {
        let shape = part.shape().iter().map(|len| NonZeroU64::new(*len));
        let Some(mut shape) = shape.collect::<Option<Vec<_>>>() else { return Ok(None) };
        for stage in &self.stages {
            match stage {
                Stage::Own(bound) => {
                    match bound.encode(bytes.into_fixed()?, Place::Chunk(&shape)) {
                        Ok(encoded) => bytes = encoded.into(),
                        Err(error) => {
                            let element = ElementError::of(&error).cloned();
                            return element.map(Some).ok_or(error);
                        }
                    }
                }
                Stage::Other(codec, data_type, fill_value) => {
                    let options = CodecOptions::default();
                    bytes = codec.encode(bytes, &shape, data_type, fill_value, &options)?;
                    shape = codec.encoded_shape(&shape)?;
                }
            }
        }
        Ok(None)
    }

    /// The first element of `part`, in the order of memory, that cannot be encoded, and its indices in the array. Found by
    /// halves, for a codec such as `transpose` changes the order.
    fn first_failure(
        &self,
        mut bytes: ArrayBytes<'static>,
        mut part: ArraySubset,
    ) -> Result<Option<(Vec<u64>, ElementError)>, CodecError> {
        if self.failure(bytes.clone(), &part)?.is_none() {
            return Ok(None);
        }
        for axis in 0..part.dimensionality() {
            while part.shape()[axis] > 1 {
                let middle = part.start()[axis] + part.shape()[axis] / 2;
                let (mut first, mut second) = (part.to_ranges(), part.to_ranges());
                (first[axis].end, second[axis].start) = (middle, middle);
                let (first, second) = (ArraySubset::from(first), ArraySubset::from(second));
                let elements = self.part(&bytes, &part, &first)?;
                (bytes, part) = match self.failure(elements.clone(), &first)? {
                    Some(_) => (elements, first),
                    None => (self.part(&bytes, &part, &second)?, second),
                };
            }
        }
        let failure = self.failure(bytes, &part)?;
        Ok(failure.map(|failure| (part.start().to_vec(), failure)))
    }
}

//! Finds, when an array is built, the errors of the first write.

use std::sync::Arc;

use zarr_recast::CodecPlace;
use zarrs::array::codec::api::CodecError;
use zarrs::array::{Array, ArrayBuilder, ArrayCreateError, CodecChain, DataType, FillValue};
use zarrs::metadata::ArrayMetadata;
use zarrs::plugin::PluginCreateError;

use crate::bound::Bound;
use crate::codec::RecastCodec;
use crate::fuse::inner_chain;

/// Builds an array as `ArrayBuilder::build` does, and checks it as [`check`] does. A fill value that `scale_offset`,
/// together with the codecs next to it, returns with a rounding error is refused too: elements that were never written
/// would read differently in a stored chunk and in a missing one.
///
/// ```
/// use zarrs::array::{ArrayBuilder, data_type};
/// use zarrs::storage::store::MemoryStore;
/// use zarr_recast::{CastValue, ElementType};
/// use zarrs_recast::RecastCodec;
/// let error = zarrs_recast::build(
///     ArrayBuilder::new([4, 6], [2, 3], data_type::float32(), f32::NAN)
///         .array_to_array_codecs(vec![RecastCodec::from(CastValue::new(ElementType::UInt8)).into()]),
///     MemoryStore::new().into(),
///     "/",
/// );
/// let error = error.unwrap_err().to_string();
/// assert!(error.contains("fill_value: float32 NaN cannot be encoded"), "{error}");
/// ```
///
/// # Errors
/// Those of `ArrayBuilder::build` and of [`check`], and a fill value that does not come back exactly.
pub fn build<TStorage: ?Sized>(
    builder: &ArrayBuilder,
    storage: Arc<TStorage>,
    path: &str,
) -> Result<Array<TStorage>, ArrayCreateError> {
    let array = builder.build(storage, path)?;
    check_codecs(&array, Bound::check_for_creation)?;
    Ok(array)
}

/// Checks an array that is about to be written: whether the codecs, also those inside shards, accept its data
/// type and fill value. zarrs asks codecs only when elements are read or written.
///
/// # Errors
/// The error of the first write: a data type that a codec does not accept, a parameter that is not a value of
/// the type that reaches its codec, a fill value that cannot be encoded or that a cast changes.
pub fn check<TStorage: ?Sized>(array: &Array<TStorage>) -> Result<(), ArrayCreateError> {
    check_codecs(array, |_| Ok(()))
}

/// A check of neighbouring codecs that are bound together.
type CheckNeighbours = fn(&Bound) -> Result<(), CodecError>;

fn check_codecs<TStorage: ?Sized>(
    array: &Array<TStorage>,
    check: CheckNeighbours,
) -> Result<(), ArrayCreateError> {
    let refused = |error: CodecError| {
        ArrayCreateError::CodecsCreateError(PluginCreateError::Other(error.to_string()))
    };
    let list = match array.metadata() {
        ArrayMetadata::V2(_) => "filters",
        ArrayMetadata::V3(_) => "codecs",
    };
    check_chain(list, &array.codecs(), array.data_type(), array.fill_value(), check)
        .map_err(refused)
}

/// Checks the codecs of `chain`, which stand in the metadata at the path `list`.
fn check_chain(
    list: &str,
    chain: &CodecChain,
    data_type: &DataType,
    fill_value: &FillValue,
    check: CheckNeighbours,
) -> Result<(), CodecError> {
    let (mut data_type, mut fill_value) = (data_type.clone(), fill_value.clone());
    let mut neighbours: Option<Arc<Bound>> = None;
    for (first, codec) in chain.array_to_array_codecs().iter().enumerate() {
        let mut joined = None;
        if let Some(codec) = codec.as_any().downcast_ref::<RecastCodec>()
            && !codec.codecs().is_empty()
        {
            let place = CodecPlace::List { path: list.into(), first };
            let bound = codec.at(place).bound(&data_type, &fill_value)?;
            bound.check_for_writing()?;
            let both = neighbours.as_ref().and_then(|before| before.followed_by(&bound));
            if both.is_some() {
                neighbours = None;
            }
            joined = Some(both.unwrap_or(bound));
        }
        if let Some(before) = std::mem::replace(&mut neighbours, joined) {
            check(&before)?;
        }
        fill_value = codec.encoded_fill_value(&data_type, &fill_value)?;
        data_type = codec.encoded_data_type(&data_type)?;
    }
    if let Some(neighbours) = neighbours {
        check(&neighbours)?;
    }
    let Some(inner) = inner_chain(chain.array_to_bytes_codec()) else { return Ok(()) };
    let list = format!("{list}[{}].configuration.codecs", chain.array_to_array_codecs().len());
    check_chain(&list, &inner, &data_type, &fill_value, check)
}

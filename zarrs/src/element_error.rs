//! An element that cannot be encoded or decoded, as data.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use zarr_recast::{CastError, advice};
use zarrs::array::ArrayError;
use zarrs::array::codec::api::CodecError;

/// The operation that failed on an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// From the array's elements to stored ones.
    Encoding,
    /// From stored elements to the array's.
    Decoding,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Encoding => "encoding",
            Self::Decoding => "decoding",
        })
    }
}

/// The first element that codecs cannot encode or decode, and its place.
///
/// zarrs passes it on inside its own errors, whose `source()` is the [`CastError`];
/// [`ElementError::of`] takes it out:
///
/// ```
/// use zarrs::array::{ArrayBuilder, data_type};
/// use zarrs::storage::store::MemoryStore;
/// use zarr_recast::{CastValue, ElementType, Reason};
/// use zarrs_recast::{ElementError, RecastCodec};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let array = ArrayBuilder::new([4, 6], [2, 3], data_type::float32(), 0.0_f32)
///     .array_to_array_codecs(vec![RecastCodec::from(CastValue::new(ElementType::UInt8)).into()])
///     .build(MemoryStore::new().into(), "/")?;
///
/// let elements = [1.0_f32, 2.0, 3.0, 4.0, 300.0, 6.0];
/// let error = zarrs_recast::write(&array, &array.chunk_subset(&[1, 0])?, &elements).unwrap_err();
/// let error = ElementError::of(&error).expect("an element");
/// assert_eq!(error.chunk, Some(vec![1, 0]));
/// assert_eq!(error.at, Some(vec![1, 1])); // within the chunk
/// assert_eq!(error.element, Some(vec![3, 1])); // in the array
/// assert_eq!((error.source.value.to_f64(), error.source.reason), (300.0, Reason::OutOfRange));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ElementError {
    /// The names of the codecs, for instance `scale_offset + cast_value` if they are fused.
    pub codecs: String,
    /// The operation.
    pub operation: Operation,
    /// The indices of the chunk in the array's grid, from [`read`](crate::read) and
    /// [`write`](crate::write); zarrs does not tell codecs.
    pub chunk: Option<Vec<u64>>,
    /// The indices of the element in the array, from [`write`](crate::write), and from [`read`](crate::read) where the
    /// first codec fails on a whole chunk.
    pub element: Option<Vec<u64>>,
    /// If `element` is known, the indices of the element in its chunk. Otherwise its indices in the elements that reach
    /// the codec: of an inner chunk if the codec is inside a shard, of a transposed one behind `transpose`.
    pub at: Option<Vec<u64>>,
    /// The element, and why it cannot be converted. From [`write`](crate::write), its index counts the elements given;
    /// otherwise those of one call of the codec: a chunk, or the requested part of it.
    pub source: CastError,
}

impl ElementError {
    /// The element that an error of zarrs, an `ArrayError` or a `CodecError`, is about; `None` if it is
    /// about something else.
    #[must_use]
    pub fn of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        let error = match error.downcast_ref() {
            Some(ArrayError::CodecError(error)) => error,
            Some(_) => return None,
            None => error.downcast_ref()?,
        };
        match error {
            CodecError::IOError(error) => error.get_ref()?.downcast_ref(),
            _ => None,
        }
    }

    /// The same error, naming the chunk if it is about an element.
    pub(crate) fn in_chunk(error: ArrayError, chunk: &[u64]) -> ArrayError {
        Self::changed(error, |element| Self { chunk: Some(chunk.to_vec()), ..element })
    }

    /// The same error of an element whose indices in the chunk are known. The chunk begins at the element `start` of
    /// the array.
    pub(crate) fn in_array(error: ArrayError, chunk: &[u64], start: &[u64]) -> ArrayError {
        Self::changed(error, |element| {
            let at = element.at.iter().flatten();
            let place = at.zip(start).map(|(at, start)| start + at).collect();
            Self { chunk: Some(chunk.to_vec()), element: Some(place), ..element }
        })
    }

    /// The error with `change`, if it is about an element.
    fn changed(error: ArrayError, change: impl FnOnce(Self) -> Self) -> ArrayError {
        match Self::of(&error) {
            Some(element) => ArrayError::CodecError(change(element.clone()).into()),
            None => error,
        }
    }
}

impl fmt::Display for ElementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { codecs, operation, chunk, element, at, source } = self;
        write!(f, "{codecs}, {operation}: {source:#}; {}", advice(source))?;
        match (element, at) {
            (Some(element), _) => write!(f, " (at {element:?} of the array")?,
            (None, Some(at)) => write!(f, " (at {at:?} of the elements that reach {codecs}")?,
            (None, None) => write!(f, " (in the elements that reach {codecs}")?,
        }
        match chunk {
            Some(chunk) => write!(f, ", in chunk {chunk:?})"),
            None => f.write_str(")"),
        }
    }
}

impl Error for ElementError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// As an I/O error of invalid data: the variant of `CodecError` that holds an error of another crate and
/// passes on its `source()`.
impl From<ElementError> for CodecError {
    fn from(error: ElementError) -> Self {
        Self::IOError(Arc::new(io::Error::new(io::ErrorKind::InvalidData, error)))
    }
}

//! Reading and writing a part of a chunk. Both codecs work element by element, so a part of a chunk
//! is the same part of the encoded chunk: the indexer is passed on as it is.

use std::any::Any;
use std::sync::Arc;

use zarrs::array::codec::api::{
    ArrayBytes, ArrayPartialDecoderTraits, ArrayPartialEncoderTraits, CodecError, CodecOptions,
};
use zarrs::array::{DataType, Indexer};
use zarrs::storage::StorageError;

use crate::bound::{Bound, Place};

/// A codec bound to the handle that reads (or reads and writes) its encoded elements.
pub(crate) struct Partial<T: ?Sized> {
    inner: Arc<T>,
    bound: Arc<Bound>,
}

impl<T: ?Sized> Partial<T> {
    pub(crate) fn new(inner: Arc<T>, bound: Arc<Bound>) -> Self {
        Self { inner, bound }
    }
}

impl Partial<dyn ArrayPartialDecoderTraits> {
    /// A decoder of `bound` on top of `inner`. Where `inner` is a decoder of this crate too, the two
    /// become one that runs both codecs in one pass.
    pub(crate) fn on_top_of(inner: Arc<dyn ArrayPartialDecoderTraits>, bound: Arc<Bound>) -> Self {
        let next = (&*inner as &dyn Any).downcast_ref::<Self>();
        let fused = next.and_then(|next| {
            let both = bound.followed_by(&next.bound)?;
            Some(Self::new(next.inner.clone(), both))
        });
        fused.unwrap_or_else(|| Self::new(inner, bound))
    }
}

impl<T: ArrayPartialDecoderTraits + ?Sized> ArrayPartialDecoderTraits for Partial<T> {
    fn data_type(&self) -> &DataType {
        self.bound.data_type()
    }

    fn exists(&self) -> Result<bool, StorageError> {
        self.inner.exists()
    }

    fn size_held(&self) -> usize {
        self.inner.size_held()
    }

    fn partial_decode(
        &self,
        indexer: &dyn Indexer,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'_>, CodecError> {
        // A missing chunk reads as the array's fill value, as it does when it is read whole, and not
        // as what is left of it after encoding and decoding.
        if !self.bound.fill_value_survives_bitwise() && !self.inner.exists()? {
            let fill_value = self.bound.fill_value();
            return Ok(ArrayBytes::new_fill_value(self.data_type(), indexer.len(), fill_value)?);
        }
        let encoded = self.inner.partial_decode(indexer, options)?.into_fixed()?;
        Ok(self.bound.decode(encoded, Place::Part(indexer))?.into())
    }

    fn supports_partial_decode(&self) -> bool {
        self.inner.supports_partial_decode()
    }
}

impl<T: ArrayPartialEncoderTraits + ?Sized> ArrayPartialEncoderTraits for Partial<T> {
    fn into_dyn_decoder(self: Arc<Self>) -> Arc<dyn ArrayPartialDecoderTraits> {
        self
    }

    fn erase(&self) -> Result<(), CodecError> {
        self.inner.erase()
    }

    fn partial_encode(
        &self,
        indexer: &dyn Indexer,
        bytes: &ArrayBytes<'_>,
        options: &CodecOptions,
    ) -> Result<(), CodecError> {
        bytes.validate(indexer.len(), self.data_type())?;
        let decoded = bytes.clone().into_fixed()?;
        let encoded = self.bound.encode(decoded, Place::Part(indexer))?.into();
        self.inner.partial_encode(indexer, &encoded, options)
    }

    fn supports_partial_encode(&self) -> bool {
        self.inner.supports_partial_encode()
    }
}

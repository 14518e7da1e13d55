//! Reads and writes a part of a chunk. Both codecs work element by element, so a part of a chunk is the same part
//! of the encoded chunk, and the indexer is passed on unchanged.

use std::any::Any;
use std::sync::Arc;

use zarrs::array::codec::api::{
    ArrayBytes, ArrayPartialDecoderTraits, ArrayPartialEncoderTraits, CodecError, CodecOptions,
};
#[cfg(feature = "async")]
use zarrs::array::codec::api::{AsyncArrayPartialDecoderTraits, AsyncArrayPartialEncoderTraits};
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
    /// A decoder of `bound` on top of `inner`. If `inner` is a decoder of this crate too, both become one
    /// decoder that runs both codecs in one pass.
    pub(crate) fn on_top_of(inner: Arc<dyn ArrayPartialDecoderTraits>, bound: Arc<Bound>) -> Self {
        let next = (&*inner as &dyn Any).downcast_ref::<Self>();
        let fused = next.and_then(|next| {
            let both = bound.followed_by(&next.bound)?;
            Some(Self::new(next.inner.clone(), both))
        });
        fused.unwrap_or_else(|| Self::new(inner, bound))
    }
}

#[cfg(feature = "async")]
impl Partial<dyn AsyncArrayPartialDecoderTraits> {
    /// As `on_top_of`, for asynchronous stores.
    pub(crate) fn on_top_of_async(
        inner: Arc<dyn AsyncArrayPartialDecoderTraits>,
        bound: Arc<Bound>,
    ) -> Self {
        let next = (&*inner as &dyn Any).downcast_ref::<Self>();
        let fused = next.and_then(|next| {
            let both = bound.followed_by(&next.bound)?;
            Some(Self::new(next.inner.clone(), both))
        });
        fused.unwrap_or_else(|| Self::new(inner, bound))
    }
}

impl<T: ?Sized> Partial<T> {
    fn missing(&self, indexer: &dyn Indexer) -> Result<ArrayBytes<'static>, CodecError> {
        let (data_type, fill_value) = (self.bound.data_type(), self.bound.fill_value());
        Ok(ArrayBytes::new_fill_value(data_type, indexer.len(), fill_value)?)
    }

    fn encoded(
        &self,
        indexer: &dyn Indexer,
        bytes: &ArrayBytes<'_>,
    ) -> Result<ArrayBytes<'static>, CodecError> {
        bytes.validate(indexer.len(), self.bound.data_type())?;
        let decoded = bytes.clone().into_fixed()?;
        Ok(self.bound.encode(decoded, Place::Part(indexer))?.into())
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
        // A missing chunk reads as the array's fill value, as it does when read whole, and not as the
        // encoded and decoded fill value.
        if !self.bound.fill_value_survives_bitwise() && !self.inner.exists()? {
            return self.missing(indexer);
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
        self.inner.partial_encode(indexer, &self.encoded(indexer, bytes)?, options)
    }

    fn supports_partial_encode(&self) -> bool {
        self.inner.supports_partial_encode()
    }
}

#[cfg(feature = "async")]
#[cfg_attr(target_arch = "wasm32", async_trait::async_trait(?Send))]
#[cfg_attr(not(target_arch = "wasm32"), async_trait::async_trait)]
impl<T: AsyncArrayPartialDecoderTraits + ?Sized> AsyncArrayPartialDecoderTraits for Partial<T> {
    fn data_type(&self) -> &DataType {
        self.bound.data_type()
    }

    async fn exists(&self) -> Result<bool, StorageError> {
        self.inner.exists().await
    }

    fn size_held(&self) -> usize {
        self.inner.size_held()
    }

    async fn partial_decode<'a>(
        &'a self,
        indexer: &dyn Indexer,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        if !self.bound.fill_value_survives_bitwise() && !self.inner.exists().await? {
            return self.missing(indexer);
        }
        let encoded = self.inner.partial_decode(indexer, options).await?.into_fixed()?;
        Ok(self.bound.decode(encoded, Place::Part(indexer))?.into())
    }

    fn supports_partial_decode(&self) -> bool {
        self.inner.supports_partial_decode()
    }
}

#[cfg(feature = "async")]
#[cfg_attr(target_arch = "wasm32", async_trait::async_trait(?Send))]
#[cfg_attr(not(target_arch = "wasm32"), async_trait::async_trait)]
impl<T: AsyncArrayPartialEncoderTraits + ?Sized> AsyncArrayPartialEncoderTraits for Partial<T> {
    fn into_dyn_decoder(self: Arc<Self>) -> Arc<dyn AsyncArrayPartialDecoderTraits> {
        self
    }

    async fn erase(&self) -> Result<(), CodecError> {
        self.inner.erase().await
    }

    async fn partial_encode(
        &self,
        indexer: &dyn Indexer,
        bytes: &ArrayBytes<'_>,
        options: &CodecOptions,
    ) -> Result<(), CodecError> {
        let encoded = self.encoded(indexer, bytes)?;
        self.inner.partial_encode(indexer, &encoded, options).await
    }

    fn supports_partial_encode(&self) -> bool {
        self.inner.supports_partial_encode()
    }
}

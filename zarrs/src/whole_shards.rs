//! Whole shards, decoded in one pass.

use std::any::Any;
use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::Arc;

use zarrs::array::codec::api::{
    ArrayBytes, ArrayBytesDecodeIntoTarget, ArrayBytesRaw, ArrayCodecTraits,
    ArrayPartialDecoderTraits, ArrayPartialEncoderTraits, ArrayToArrayCodecTraits,
    ArrayToBytesCodecTraits, BytesPartialDecoderTraits, BytesPartialEncoderTraits,
    BytesRepresentation, CodecError, CodecMetadataOptions, CodecOptions, CodecSpecificOptions,
    CodecTraits, PartialDecoderCapability, PartialEncoderCapability, RecommendedConcurrency,
};
#[cfg(feature = "async")]
use zarrs::array::codec::api::{
    AsyncArrayPartialDecoderTraits, AsyncArrayPartialEncoderTraits, AsyncBytesPartialDecoderTraits,
    AsyncBytesPartialEncoderTraits,
};
use zarrs::array::{ChunkShape, DataType, FillValue};
use zarrs::metadata::Configuration;
use zarrs::plugin::{ExtensionName, ZarrVersion};

use crate::codec::RecastCodec;

/// A sharding codec whose chunks are encoded by a codec of this crate. It differs from zarrs' only when one thread
/// decodes a whole shard. zarrs decodes each chunk into memory of its own and then copies it. Here the encoded
/// elements, which are shorter, are put together first, and then decoded at once.
#[derive(Debug)]
pub(crate) struct WholeShards {
    sharding: Arc<dyn ArrayToBytesCodecTraits>,
    /// The same shards as arrays of encoded elements.
    encoded: Arc<dyn ArrayToBytesCodecTraits>,
    /// All codecs inside the shards before the bytes.
    codec: Arc<dyn ArrayToArrayCodecTraits>,
}

impl WholeShards {
    pub(crate) fn new(
        sharding: Arc<dyn ArrayToBytesCodecTraits>,
        encoded: Arc<dyn ArrayToBytesCodecTraits>,
        codec: Arc<RecastCodec>,
    ) -> Self {
        Self { sharding, encoded, codec }
    }

    /// The elements of a shard. Errors say less than those of the sharding codec, which name the chunk.
    fn decode_at_once(
        &self,
        bytes: &[u8],
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'static>, CodecError> {
        let encoded_type = self.codec.encoded_data_type(data_type)?;
        let encoded_fill = self.codec.encoded_fill_value(data_type, fill_value)?;
        let bytes = Cow::Borrowed(bytes);
        let encoded = self.encoded.decode(bytes, shape, &encoded_type, &encoded_fill, options)?;
        let decoded = self.codec.decode(encoded, shape, data_type, fill_value, options)?;
        Ok(decoded.into_owned())
    }

    /// Whether a missing chunk reads the same before and after encoding.
    fn keeps_fill_value(&self, data_type: &DataType, fill_value: &FillValue) -> bool {
        let codec = self.codec.as_any().downcast_ref::<RecastCodec>();
        let bound = codec.and_then(|codec| codec.bound(data_type, fill_value).ok());
        bound.is_some_and(|bound| bound.fill_value_survives_bitwise())
    }
}

impl ExtensionName for WholeShards {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        self.sharding.name(version)
    }
}

impl CodecTraits for WholeShards {
    /// The sharding codec, for which zarrs asks.
    fn as_any(&self) -> &dyn Any {
        self.sharding.as_any()
    }

    fn configuration(
        &self,
        version: ZarrVersion,
        options: &CodecMetadataOptions,
    ) -> Option<Configuration> {
        self.sharding.configuration(version, options)
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        self.sharding.partial_decoder_capability()
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        self.sharding.partial_encoder_capability()
    }
}

impl ArrayCodecTraits for WholeShards {
    fn recommended_concurrency(
        &self,
        shape: &[NonZeroU64],
        data_type: &DataType,
    ) -> Result<RecommendedConcurrency, CodecError> {
        self.sharding.recommended_concurrency(shape, data_type)
    }

    fn partial_decode_granularity(&self, shape: &[NonZeroU64]) -> ChunkShape {
        self.sharding.partial_decode_granularity(shape)
    }
}

#[cfg_attr(all(feature = "async", not(target_arch = "wasm32")), async_trait::async_trait)]
#[cfg_attr(all(feature = "async", target_arch = "wasm32"), async_trait::async_trait(?Send))]
impl ArrayToBytesCodecTraits for WholeShards {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn ArrayToBytesCodecTraits> {
        self
    }

    fn with_codec_specific_options(
        self: Arc<Self>,
        options: &CodecSpecificOptions,
    ) -> Arc<dyn ArrayToBytesCodecTraits> {
        Arc::new(Self {
            sharding: self.sharding.clone().with_codec_specific_options(options),
            encoded: self.encoded.clone().with_codec_specific_options(options),
            codec: self.codec.clone().with_codec_specific_options(options),
        })
    }

    fn encoded_representation(
        &self,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
    ) -> Result<BytesRepresentation, CodecError> {
        self.sharding.encoded_representation(shape, data_type, fill_value)
    }

    fn encode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        self.sharding.encode(bytes, shape, data_type, fill_value, options)
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytesRaw<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        // With several threads, the chunks of a shard and their casts are shared between them.
        if options.concurrent_target() == 1
            && self.keeps_fill_value(data_type, fill_value)
            && let Ok(decoded) = self.decode_at_once(&bytes, shape, data_type, fill_value, options)
        {
            return Ok(decoded);
        }
        self.sharding.decode(bytes, shape, data_type, fill_value, options)
    }

    fn compact<'a>(
        &self,
        bytes: ArrayBytesRaw<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Option<ArrayBytesRaw<'a>>, CodecError> {
        self.sharding.compact(bytes, shape, data_type, fill_value, options)
    }

    fn decode_into(
        &self,
        bytes: ArrayBytesRaw<'_>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        output_target: ArrayBytesDecodeIntoTarget<'_>,
        options: &CodecOptions,
    ) -> Result<(), CodecError> {
        self.sharding.decode_into(bytes, shape, data_type, fill_value, output_target, options)
    }

    fn partial_decoder(
        self: Arc<Self>,
        input_handle: Arc<dyn BytesPartialDecoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialDecoderTraits>, CodecError> {
        let sharding = self.sharding.clone();
        sharding.partial_decoder(input_handle, shape, data_type, fill_value, options)
    }

    fn partial_encoder(
        self: Arc<Self>,
        input_output_handle: Arc<dyn BytesPartialEncoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialEncoderTraits>, CodecError> {
        let sharding = self.sharding.clone();
        sharding.partial_encoder(input_output_handle, shape, data_type, fill_value, options)
    }

    #[cfg(feature = "async")]
    async fn async_partial_decoder(
        self: Arc<Self>,
        input_handle: Arc<dyn AsyncBytesPartialDecoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn AsyncArrayPartialDecoderTraits>, CodecError> {
        let sharding = self.sharding.clone();
        sharding.async_partial_decoder(input_handle, shape, data_type, fill_value, options).await
    }

    #[cfg(feature = "async")]
    async fn async_partial_encoder(
        self: Arc<Self>,
        input_output_handle: Arc<dyn AsyncBytesPartialEncoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn AsyncArrayPartialEncoderTraits>, CodecError> {
        let sharding = self.sharding.clone();
        sharding
            .async_partial_encoder(input_output_handle, shape, data_type, fill_value, options)
            .await
    }
}

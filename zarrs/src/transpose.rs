//! zarrs' codec `transpose`, with whole chunks transposed in blocks that stay in the CPU's cache: zarrs copies a byte at
//! a time.

use std::any::Any;
use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::Arc;

use bytemuck::Pod;
use zarrs::array::codec::api::{
    ArrayBytes, ArrayCodecTraits, ArrayPartialDecoderTraits, ArrayPartialEncoderTraits,
    ArrayToArrayCodecTraits, CodecError, CodecMetadataOptions, CodecOptions, CodecTraits,
    PartialDecoderCapability, PartialEncoderCapability, RecommendedConcurrency,
};
#[cfg(feature = "async")]
use zarrs::array::codec::api::{AsyncArrayPartialDecoderTraits, AsyncArrayPartialEncoderTraits};
use zarrs::array::codec::{TransposeCodec, TransposeOrder};
use zarrs::array::{ChunkShape, DataType, FillValue};
use zarrs::metadata::Configuration;
use zarrs::plugin::{ExtensionName, ZarrVersion};

/// The codec's name in Zarr v3.
pub(crate) const NAME: &str = "transpose";

/// zarrs' codec, which does everything but whole chunks.
#[derive(Debug)]
pub(crate) struct Transpose {
    theirs: Arc<TransposeCodec>,
    /// For each axis of an encoded chunk, the axis of the decoded one.
    encoding: Vec<usize>,
    /// The inverse.
    decoding: Vec<usize>,
}

impl Transpose {
    pub(crate) fn new(order: TransposeOrder) -> Self {
        let encoding = order.0.clone();
        let mut decoding: Vec<usize> = (0..encoding.len()).collect();
        decoding.sort_by_key(|&axis| encoding.get(axis).copied());
        Self { theirs: Arc::new(TransposeCodec::new(order)), encoding, decoding }
    }
}

/// The elements of a chunk with its axes in another order; `None` if they have no fixed size, or if zarrs refuses them.
fn permuted(
    chunk: &ArrayBytes<'_>,
    shape: &[u64],
    order: &[usize],
    data_type: &DataType,
) -> Option<Vec<u8>> {
    let (ArrayBytes::Fixed(bytes), Some(size)) = (chunk, data_type.fixed_size()) else {
        return None;
    };
    let elements = shape.iter().product::<u64>();
    if shape.len() != order.len() || elements.checked_mul(size as u64)? != bytes.len() as u64 {
        return None;
    }
    match size {
        1 => Some(moved::<[u8; 1]>(bytes, shape, order)),
        2 => Some(moved::<[u8; 2]>(bytes, shape, order)),
        4 => Some(moved::<[u8; 4]>(bytes, shape, order)),
        8 => Some(moved::<[u8; 8]>(bytes, shape, order)),
        16 => Some(moved::<[u8; 16]>(bytes, shape, order)),
        _ => None,
    }
}

/// Moves axes to the end, one after the other, until all are in order: each move is a row of transposed matrices.
fn moved<T: Pod>(bytes: &[u8], shape: &[u64], order: &[usize]) -> Vec<u8> {
    let extent =
        |axes: &[usize]| axes.iter().filter_map(|&axis| shape.get(axis)).product::<u64>() as usize;
    let mut elements = Cow::Borrowed(bytes);
    let mut layout: Vec<usize> = (0..order.len()).collect();
    let in_place = order.windows(2).take_while(|pair| pair[0] < pair[1]).count() + 1;
    let mut rest = order.get(in_place..).unwrap_or_default();
    while let Some(first) = rest.first() {
        let start = layout.iter().position(|axis| axis == first).unwrap_or_default();
        let (before, from) = layout.split_at(start);
        let run = rest.iter().zip(from).take_while(|(wanted, axis)| wanted == axis).count();
        let (axes, behind) = from.split_at(run);
        let (rows, columns) = (extent(axes), extent(behind));
        if rows > 1 && columns > 1 {
            let mut transposed = vec![0; elements.len()];
            let matrix = rows * columns * size_of::<T>();
            let matrices = elements.chunks_exact(matrix).zip(transposed.chunks_exact_mut(matrix));
            for (input, output) in matrices {
                let (input, output) =
                    (bytemuck::cast_slice::<u8, T>(input), bytemuck::cast_slice_mut(output));
                ::transpose::transpose(input, output, columns, rows);
            }
            elements = Cow::Owned(transposed);
        }
        layout = [before, behind, axes].concat();
        rest = rest.get(run..).unwrap_or_default();
    }
    elements.into_owned()
}

impl ExtensionName for Transpose {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        self.theirs.name(version)
    }
}

impl CodecTraits for Transpose {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(
        &self,
        version: ZarrVersion,
        options: &CodecMetadataOptions,
    ) -> Option<Configuration> {
        self.theirs.configuration(version, options)
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        self.theirs.partial_decoder_capability()
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        self.theirs.partial_encoder_capability()
    }
}

impl ArrayCodecTraits for Transpose {
    fn recommended_concurrency(
        &self,
        shape: &[NonZeroU64],
        data_type: &DataType,
    ) -> Result<RecommendedConcurrency, CodecError> {
        self.theirs.recommended_concurrency(shape, data_type)
    }
}

#[cfg_attr(all(feature = "async", not(target_arch = "wasm32")), async_trait::async_trait)]
#[cfg_attr(all(feature = "async", target_arch = "wasm32"), async_trait::async_trait(?Send))]
impl ArrayToArrayCodecTraits for Transpose {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn ArrayToArrayCodecTraits> {
        self
    }

    fn encoded_data_type(&self, decoded_data_type: &DataType) -> Result<DataType, CodecError> {
        self.theirs.encoded_data_type(decoded_data_type)
    }

    fn encoded_fill_value(
        &self,
        decoded_data_type: &DataType,
        decoded_fill_value: &FillValue,
    ) -> Result<FillValue, CodecError> {
        self.theirs.encoded_fill_value(decoded_data_type, decoded_fill_value)
    }

    fn encoded_shape(&self, decoded_shape: &[NonZeroU64]) -> Result<ChunkShape, CodecError> {
        self.theirs.encoded_shape(decoded_shape)
    }

    fn decoded_shape(
        &self,
        encoded_shape: &[NonZeroU64],
    ) -> Result<Option<ChunkShape>, CodecError> {
        self.theirs.decoded_shape(encoded_shape)
    }

    fn encode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        let extents: Vec<u64> = shape.iter().map(|extent| extent.get()).collect();
        match permuted(&bytes, &extents, &self.encoding, data_type) {
            Some(elements) => Ok(elements.into()),
            None => self.theirs.encode(bytes, shape, data_type, fill_value, options),
        }
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        let encoded = self.encoding.iter().filter_map(|&axis| shape.get(axis));
        let encoded: Vec<u64> = encoded.map(|extent| extent.get()).collect();
        match permuted(&bytes, &encoded, &self.decoding, data_type) {
            Some(elements) => Ok(elements.into()),
            None => self.theirs.decode(bytes, shape, data_type, fill_value, options),
        }
    }

    fn partial_decoder(
        self: Arc<Self>,
        input_handle: Arc<dyn ArrayPartialDecoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialDecoderTraits>, CodecError> {
        self.theirs.clone().partial_decoder(input_handle, shape, data_type, fill_value, options)
    }

    fn partial_encoder(
        self: Arc<Self>,
        input_output_handle: Arc<dyn ArrayPartialEncoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialEncoderTraits>, CodecError> {
        let theirs = self.theirs.clone();
        theirs.partial_encoder(input_output_handle, shape, data_type, fill_value, options)
    }

    #[cfg(feature = "async")]
    async fn async_partial_decoder(
        self: Arc<Self>,
        input_handle: Arc<dyn AsyncArrayPartialDecoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn AsyncArrayPartialDecoderTraits>, CodecError> {
        let theirs = self.theirs.clone();
        theirs.async_partial_decoder(input_handle, shape, data_type, fill_value, options).await
    }

    #[cfg(feature = "async")]
    async fn async_partial_encoder(
        self: Arc<Self>,
        input_output_handle: Arc<dyn AsyncArrayPartialEncoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn AsyncArrayPartialEncoderTraits>, CodecError> {
        let theirs = self.theirs.clone();
        theirs
            .async_partial_encoder(input_output_handle, shape, data_type, fill_value, options)
            .await
    }
}

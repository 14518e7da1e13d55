//! `numcodecs.pcodec`, decoded up to the size of its chunk. zarrs' own decodes whatever a stored chunk unfolds to.

use std::any::Any;
use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::Arc;

use bytemuck::Pod;
use half::f16;
use pco::data_types::Number;
use pco::standalone::simple_decompress_into;
use zarrs::array::codec::api::{
    ArrayBytes, ArrayBytesRaw, ArrayCodecTraits, ArrayToBytesCodecTraits, BytesRepresentation,
    Codec, CodecError, CodecMetadataOptions, CodecOptions, CodecRuntimePluginV3, CodecTraits,
    CodecTraitsV3, PartialDecoderCapability, PartialEncoderCapability, RecommendedConcurrency,
    register_codec_v3,
};
use zarrs::array::codec::{PcodecCodec, PcodecDataTypeExt, PcodecElementType};
use zarrs::array::{DataType, FillValue, transmute_to_bytes_vec};
use zarrs::metadata::Configuration;
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::{ExtensionAliasesV3, ExtensionName, PluginCreateError, ZarrVersion};

/// Makes zarrs decode with a limit, in all arrays of this process.
pub(super) fn register() {
    let create = |metadata: &MetadataV3| -> Result<Codec, PluginCreateError> {
        Ok(match PcodecCodec::create(metadata)? {
            Codec::ArrayToBytes(codec) => Codec::ArrayToBytes(Arc::new(LimitedPcodec(codec))),
            other => other,
        })
    };
    register_codec_v3(CodecRuntimePluginV3::new(PcodecCodec::matches_name_v3, create));
}

/// The codec of zarrs with a limit.
#[derive(Debug)]
struct LimitedPcodec(Arc<dyn ArrayToBytesCodecTraits>);

/// Exactly this many elements.
fn decoded<T: Number + Pod>(bytes: &[u8], elements: usize) -> Result<Vec<u8>, CodecError> {
    let mut decoded = vec![T::zeroed(); elements];
    let progress = simple_decompress_into(bytes, &mut decoded);
    let progress = progress.map_err(|error| CodecError::Other(error.to_string()))?;
    if progress.n_processed != elements || !progress.finished {
        let relation = if progress.finished { "fewer" } else { "more" };
        let text = format!("it unfolds to {relation} than the {elements} elements of its chunk");
        return Err(CodecError::Other(text));
    }
    Ok(transmute_to_bytes_vec(decoded))
}

impl ExtensionName for LimitedPcodec {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        self.0.name(version)
    }
}

impl CodecTraits for LimitedPcodec {
    fn as_any(&self) -> &dyn Any {
        self.0.as_any()
    }

    fn configuration(
        &self,
        version: ZarrVersion,
        options: &CodecMetadataOptions,
    ) -> Option<Configuration> {
        self.0.configuration(version, options)
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        self.0.partial_decoder_capability()
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        self.0.partial_encoder_capability()
    }
}

impl ArrayCodecTraits for LimitedPcodec {
    fn recommended_concurrency(
        &self,
        shape: &[NonZeroU64],
        data_type: &DataType,
    ) -> Result<RecommendedConcurrency, CodecError> {
        self.0.recommended_concurrency(shape, data_type)
    }
}

impl ArrayToBytesCodecTraits for LimitedPcodec {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn ArrayToBytesCodecTraits> {
        self
    }

    fn encoded_representation(
        &self,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
    ) -> Result<BytesRepresentation, CodecError> {
        self.0.encoded_representation(shape, data_type, fill_value)
    }

    fn encode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        self.0.encode(bytes, shape, data_type, fill_value, options)
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytesRaw<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        _: &FillValue,
        _: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        let pcodec = data_type.codec_pcodec()?;
        let elements: u64 = shape.iter().map(|extent| extent.get()).product();
        let elements = elements as usize * pcodec.pcodec_elements_per_element();
        let decode = match pcodec.pcodec_element_type() {
            PcodecElementType::U16 => decoded::<u16>,
            PcodecElementType::U32 => decoded::<u32>,
            PcodecElementType::U64 => decoded::<u64>,
            PcodecElementType::I16 => decoded::<i16>,
            PcodecElementType::I32 => decoded::<i32>,
            PcodecElementType::I64 => decoded::<i64>,
            PcodecElementType::F16 => decoded::<f16>,
            PcodecElementType::F32 => decoded::<f32>,
            PcodecElementType::F64 => decoded::<f64>,
        };
        Ok(ArrayBytes::from(decode(&bytes, elements)?))
    }
}

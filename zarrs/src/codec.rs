//! The codec as zarrs sees it.

use std::any::Any;
use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::{Arc, PoisonError, RwLock};

use zarr_recast::{BindOptions, Codec};
use zarrs::array::codec::api::{
    ArrayBytes, ArrayCodecTraits, ArrayPartialDecoderTraits, ArrayPartialEncoderTraits,
    ArrayToArrayCodecTraits, CodecError, CodecMetadataOptions, CodecOptions, CodecSpecificOptions,
    CodecTraits, PartialDecoderCapability, PartialEncoderCapability, RecommendedConcurrency,
};
use zarrs::array::{DataType, FillValue};
use zarrs::metadata::Configuration;
use zarrs::plugin::{ExtensionName, ZarrVersion};

use crate::bound::{self, Bound, Place, Settings};
use crate::fuse::Groups;
use crate::partial::Partial;

/// Bound codecs are kept for this many pairs of data type and fill value. One array needs two: its own,
/// and the zero that zarrs puts in the fill value's place when it only asks for the concurrency.
const CACHED: usize = 4;

/// How a codec is called in the metadata of the two Zarr versions; empty where it has no name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    pub(crate) v3: &'static str,
    pub(crate) v2: &'static str,
}

/// One of the codecs of this crate, as it stands in an array's metadata.
///
/// zarrs hands data type and fill value to every call; the codec is bound to them once.
#[derive(Debug)]
pub struct RecastCodec {
    /// What it runs: itself, or in a fused array its successors too, or nothing after such a codec.
    codecs: Vec<Codec>,
    names: Names,
    configuration: Configuration,
    settings: Settings,
    bound: RwLock<Vec<Arc<Bound>>>,
    /// The last data type, and what it becomes.
    encoded_data_type: RwLock<Option<(DataType, DataType)>>,
}

impl RecastCodec {
    pub(crate) fn new(
        codecs: Vec<Codec>,
        names: Names,
        configuration: Configuration,
        settings: Settings,
    ) -> Self {
        let (bound, encoded_data_type) = <_>::default();
        Self { codecs, names, configuration, settings, bound, encoded_data_type }
    }

    pub(crate) fn codecs(&self) -> &[Codec] {
        &self.codecs
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The codec bound to a data type and a fill value.
    pub(crate) fn bound(
        &self,
        data_type: &DataType,
        fill_value: &FillValue,
    ) -> Result<Arc<Bound>, CodecError> {
        {
            let cache = self.bound.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(bound) = cache.iter().find(|bound| bound.is_of(data_type, fill_value)) {
                return Ok(bound.clone());
            }
        }
        let (codecs, settings) = (self.codecs.clone(), self.settings.clone());
        let bound = Arc::new(Bound::new(codecs, data_type, fill_value, settings)?);
        let mut cache = self.bound.write().unwrap_or_else(PoisonError::into_inner);
        if cache.len() == CACHED {
            cache.remove(0);
        }
        cache.push(bound.clone());
        Ok(bound)
    }
}

impl ExtensionName for RecastCodec {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        let name = match version {
            ZarrVersion::V3 => self.names.v3,
            ZarrVersion::V2 => self.names.v2,
        };
        (!name.is_empty()).then_some(Cow::Borrowed(name))
    }
}

impl CodecTraits for RecastCodec {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(
        &self,
        _version: ZarrVersion,
        _options: &CodecMetadataOptions,
    ) -> Option<Configuration> {
        Some(self.configuration.clone())
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        PartialDecoderCapability { partial_read: true, partial_decode: true }
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        PartialEncoderCapability { partial_encode: true }
    }
}

impl ArrayCodecTraits for RecastCodec {
    /// One thread: a chunk takes less time than starting another would.
    fn recommended_concurrency(
        &self,
        _shape: &[NonZeroU64],
        _data_type: &DataType,
    ) -> Result<RecommendedConcurrency, CodecError> {
        Ok(RecommendedConcurrency::new_maximum(1))
    }
}

impl ArrayToArrayCodecTraits for RecastCodec {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn ArrayToArrayCodecTraits> {
        self
    }

    fn with_codec_specific_options(
        self: Arc<Self>,
        options: &CodecSpecificOptions,
    ) -> Arc<dyn ArrayToArrayCodecTraits> {
        let fused = options.get_option::<Groups>().and_then(|groups| groups.of(&self));
        let asked_for = options.get_option::<BindOptions>();
        if fused.is_none() && asked_for.is_none() {
            return self;
        }
        let (codecs, mut settings) =
            fused.unwrap_or_else(|| (self.codecs.clone(), self.settings.clone()));
        if let Some(options) = asked_for {
            settings.options = Some(options.clone());
        }
        Arc::new(Self::new(codecs, self.names, self.configuration.clone(), settings))
    }

    fn encoded_data_type(&self, decoded_data_type: &DataType) -> Result<DataType, CodecError> {
        let known = self.encoded_data_type.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((decoded, encoded)) = known
            && decoded == *decoded_data_type
        {
            return Ok(encoded);
        }
        let encoded = bound::encoded_data_type(&self.codecs, decoded_data_type)?;
        let mut known = self.encoded_data_type.write().unwrap_or_else(PoisonError::into_inner);
        *known = Some((decoded_data_type.clone(), encoded.clone()));
        Ok(encoded)
    }

    /// The encoded fill value; zero where the fill value cannot be encoded.
    ///
    /// That is no error here, because zarrs also asks for a fill value that is not the array's (always
    /// zero bytes, when it plans its concurrency). Every call that touches elements has the array's own
    /// fill value and refuses it.
    fn encoded_fill_value(
        &self,
        decoded_data_type: &DataType,
        decoded_fill_value: &FillValue,
    ) -> Result<FillValue, CodecError> {
        if let Ok(bound) = self.bound(decoded_data_type, decoded_fill_value) {
            return Ok(bound.encoded_fill_value().clone());
        }
        let size = self.encoded_data_type(decoded_data_type)?.fixed_size().unwrap_or_default();
        Ok(FillValue::new(vec![0; size]))
    }

    fn encode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        _options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        if self.codecs.is_empty() {
            return Ok(bytes);
        }
        let bound = self.bound(data_type, fill_value)?;
        bound.check_for_writing()?;
        bound.encode(bytes.into_fixed()?, Place::Chunk(shape)).map(ArrayBytes::from)
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        _options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        if self.codecs.is_empty() {
            return Ok(bytes);
        }
        let bound = self.bound(data_type, fill_value)?;
        bound.decode(bytes.into_fixed()?, Place::Chunk(shape)).map(ArrayBytes::from)
    }

    fn partial_decoder(
        self: Arc<Self>,
        input_handle: Arc<dyn ArrayPartialDecoderTraits>,
        _shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        _options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialDecoderTraits>, CodecError> {
        if self.codecs.is_empty() {
            return Ok(input_handle);
        }
        let bound = self.bound(data_type, fill_value)?;
        Ok(Arc::new(Partial::on_top_of(input_handle, bound)))
    }

    fn partial_encoder(
        self: Arc<Self>,
        input_output_handle: Arc<dyn ArrayPartialEncoderTraits>,
        _shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        _options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialEncoderTraits>, CodecError> {
        if self.codecs.is_empty() {
            return Ok(input_output_handle);
        }
        let bound = self.bound(data_type, fill_value)?;
        bound.check_for_writing()?;
        Ok(Arc::new(Partial::new(input_output_handle, bound)))
    }
}

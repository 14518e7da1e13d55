//! The codec as zarrs sees it.

use std::any::Any;
use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;
use zarr_recast::{
    AsType, BindOptions, CastValue, Codec, CodecPlace, FixedScaleOffset, ScaleOffset,
};
use zarrs::array::codec::api::{
    ArrayBytes, ArrayCodecTraits, ArrayPartialDecoderTraits, ArrayPartialEncoderTraits,
    ArrayToArrayCodecTraits, CodecError, CodecMetadataOptions, CodecOptions, CodecSpecificOptions,
    CodecTraits, PartialDecoderCapability, PartialEncoderCapability, RecommendedConcurrency,
};
#[cfg(feature = "async")]
use zarrs::array::codec::api::{AsyncArrayPartialDecoderTraits, AsyncArrayPartialEncoderTraits};
use zarrs::array::{DataType, FillValue};
use zarrs::metadata::Configuration;
use zarrs::plugin::{ExtensionName, ZarrVersion};

use crate::bound::{self, Bound, Place, Settings};
use crate::partial::Partial;

/// Bound codecs are cached for this many pairs of data type and fill value. One array needs two: its own, and
/// a fill value of zero, which zarrs uses when it asks only for the concurrency.
const CACHED: usize = 4;

/// The names of a codec in the metadata of the two Zarr versions; empty if it has none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    pub(crate) v3: &'static str,
    pub(crate) v2: &'static str,
}

impl Names {
    pub(crate) const CAST_VALUE: Self = Self { v3: "cast_value", v2: "" };
    pub(crate) const SCALE_OFFSET: Self = Self { v3: "scale_offset", v2: "" };
    pub(crate) const FIXED_SCALE_OFFSET: Self =
        Self { v3: "numcodecs.fixedscaleoffset", v2: "fixedscaleoffset" };
    pub(crate) const AS_TYPE: Self = Self { v3: "numcodecs.astype", v2: "astype" };

    fn of(codec: &Codec) -> Self {
        let names = [Self::CAST_VALUE, Self::SCALE_OFFSET, Self::FIXED_SCALE_OFFSET, Self::AS_TYPE];
        let known = names.into_iter().find(|names| names.v3 == codec.name());
        known.unwrap_or(Self { v3: codec.name(), v2: "" })
    }
}

/// Identifies a codec of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CodecId(u64);

impl CodecId {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The codecs that replace others, passed to them through zarrs.
pub(crate) struct Replacements(Vec<(CodecId, Arc<RecastCodec>)>);

impl Replacements {
    /// None if there is nothing to replace, or if two replace one: a builder may be given the same codec twice, and then
    /// the codec does not identify its place.
    pub(crate) fn new(replacements: Vec<(CodecId, Arc<RecastCodec>)>) -> Option<Self> {
        let mut ids: Vec<CodecId> = replacements.iter().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        let is_told = ids.windows(2).all(|pair| pair[0] != pair[1]);
        (is_told && !replacements.is_empty()).then_some(Self(replacements))
    }

    /// The codec that does the work of all `count` codecs of an array, if there is one.
    pub(crate) fn of_all(&self, count: usize) -> Option<Arc<RecastCodec>> {
        let (_, first) = self.0.first()?;
        let rest_is_idle = self.0[1..].iter().all(|(_, codec)| codec.codecs().is_empty());
        (rest_is_idle && self.0.len() == count).then(|| first.clone())
    }

    /// The codec that runs in the place of another.
    fn get(&self, codec: &RecastCodec) -> Option<Arc<RecastCodec>> {
        let (_, replacement) = self.0.iter().find(|(id, _)| *id == codec.id())?;
        Some(replacement.clone())
    }
}

/// One of the codecs of this crate, as in an array's metadata.
///
/// zarrs creates it from metadata. For an `ArrayBuilder`, convert a codec of `zarr-recast`:
///
/// ```
/// use zarrs::array::{ArrayBuilder, data_type};
/// use zarrs::storage::store::MemoryStore;
/// use zarr_recast::{CastValue, ElementType, ScaleOffset};
/// use zarrs_recast::RecastCodec;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut builder = ArrayBuilder::new([4, 6], [2, 3], data_type::float32(), f32::NAN);
/// builder.array_to_array_codecs(vec![
///     RecastCodec::from(ScaleOffset::default().offset(10).scale(100)).into(),
///     RecastCodec::from(CastValue::new(ElementType::Int16).map_both(f32::NAN, i16::MIN)).into(),
/// ]);
/// let array = zarrs_recast::build(&builder, MemoryStore::new().into(), "/sst")?;
/// array.store_metadata()?;
/// array.store_chunk(&[0, 0], vec![12.5_f32, 13.0, f32::NAN, 9.75, 10.0, 11.0])?;
/// assert_eq!(array.retrieve_chunk::<Vec<f32>>(&[0, 0])?[3], 9.75);
/// # Ok(()) }
/// ```
///
/// zarrs passes data type and fill value to every call; the codec is bound to them once.
#[derive(Debug)]
pub struct RecastCodec {
    id: CodecId,
    /// The codecs that it runs: itself; in a fused array its successors too; none after such a codec.
    codecs: Vec<Codec>,
    names: Names,
    configuration: Configuration,
    settings: Settings,
    bound: RwLock<Vec<Arc<Bound>>>,
    /// The last data type and its encoded type.
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
        let id = CodecId::new();
        Self { id, codecs, names, configuration, settings, bound, encoded_data_type }
    }

    /// A codec with the metadata of this one that runs `codecs`.
    pub(crate) fn running(&self, codecs: Vec<Codec>, settings: Settings) -> Self {
        Self::new(codecs, self.names, self.configuration.clone(), settings)
    }

    /// The same codec, whose errors name its place in the metadata.
    pub(crate) fn at(&self, place: CodecPlace) -> Self {
        let settings = Settings { place: Some(place), ..self.settings.clone() };
        self.running(self.codecs.clone(), settings)
    }

    pub(crate) fn id(&self) -> CodecId {
        self.id
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

impl From<Codec> for RecastCodec {
    fn from(codec: Codec) -> Self {
        let configuration = match codec.to_json() {
            Value::Object(mut object) => object.remove("configuration"),
            _ => None,
        };
        let configuration = match configuration {
            Some(Value::Object(configuration)) => configuration.into(),
            _ => Configuration::default(),
        };
        let names = Names::of(&codec);
        Self::new(vec![codec], names, configuration, Settings::default())
    }
}

impl From<CastValue> for RecastCodec {
    fn from(codec: CastValue) -> Self {
        Codec::from(codec).into()
    }
}

impl From<ScaleOffset> for RecastCodec {
    fn from(codec: ScaleOffset) -> Self {
        Codec::from(codec).into()
    }
}

impl From<FixedScaleOffset> for RecastCodec {
    fn from(codec: FixedScaleOffset) -> Self {
        Codec::from(codec).into()
    }
}

impl From<AsType> for RecastCodec {
    fn from(codec: AsType) -> Self {
        Codec::from(codec).into()
    }
}

impl From<RecastCodec> for Arc<dyn ArrayToArrayCodecTraits> {
    fn from(codec: RecastCodec) -> Self {
        Arc::new(codec)
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
    /// One thread: a chunk takes less time than starting another thread.
    fn recommended_concurrency(
        &self,
        _shape: &[NonZeroU64],
        _data_type: &DataType,
    ) -> Result<RecommendedConcurrency, CodecError> {
        Ok(RecommendedConcurrency::new_maximum(1))
    }
}

#[cfg_attr(all(feature = "async", not(target_arch = "wasm32")), async_trait::async_trait)]
#[cfg_attr(all(feature = "async", target_arch = "wasm32"), async_trait::async_trait(?Send))]
impl ArrayToArrayCodecTraits for RecastCodec {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn ArrayToArrayCodecTraits> {
        self
    }

    fn with_codec_specific_options(
        self: Arc<Self>,
        options: &CodecSpecificOptions,
    ) -> Arc<dyn ArrayToArrayCodecTraits> {
        let fused = options.get_option::<Replacements>();
        let codec = fused.and_then(|replacements| replacements.get(&self)).unwrap_or(self);
        match options.get_option::<BindOptions>() {
            Some(options) => {
                let settings =
                    Settings { options: Some(options.clone()), ..codec.settings.clone() };
                Arc::new(codec.running(codec.codecs.clone(), settings))
            }
            None => codec,
        }
    }

    fn encoded_data_type(&self, decoded_data_type: &DataType) -> Result<DataType, CodecError> {
        if self.codecs.is_empty() {
            return Ok(decoded_data_type.clone());
        }
        let known = self.encoded_data_type.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((decoded, encoded)) = known
            && decoded == *decoded_data_type
        {
            return Ok(encoded);
        }
        let encoded =
            bound::encoded_data_type(&self.codecs, decoded_data_type, self.settings.orders)?;
        let mut known = self.encoded_data_type.write().unwrap_or_else(PoisonError::into_inner);
        *known = Some((decoded_data_type.clone(), encoded.clone()));
        Ok(encoded)
    }

    /// The encoded fill value; zero if the fill value cannot be encoded.
    ///
    /// That is not an error here, because zarrs also asks with a fill value that is not the array's (zero
    /// bytes, when it plans its concurrency). Every call that touches elements has the array's own fill
    /// value and refuses it.
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

    #[cfg(feature = "async")]
    async fn async_partial_decoder(
        self: Arc<Self>,
        input_handle: Arc<dyn AsyncArrayPartialDecoderTraits>,
        _shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        _options: &CodecOptions,
    ) -> Result<Arc<dyn AsyncArrayPartialDecoderTraits>, CodecError> {
        if self.codecs.is_empty() {
            return Ok(input_handle);
        }
        let bound = self.bound(data_type, fill_value)?;
        Ok(Arc::new(Partial::on_top_of_async(input_handle, bound)))
    }

    #[cfg(feature = "async")]
    async fn async_partial_encoder(
        self: Arc<Self>,
        input_output_handle: Arc<dyn AsyncArrayPartialEncoderTraits>,
        _shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        _options: &CodecOptions,
    ) -> Result<Arc<dyn AsyncArrayPartialEncoderTraits>, CodecError> {
        if self.codecs.is_empty() {
            return Ok(input_output_handle);
        }
        let bound = self.bound(data_type, fill_value)?;
        bound.check_for_writing()?;
        Ok(Arc::new(Partial::new(input_output_handle, bound)))
    }
}

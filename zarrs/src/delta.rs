//! The codec `numcodecs.delta`: each element as its difference from the one before.

use std::any::Any;
use std::borrow::Cow;
use std::num::NonZeroU64;
use std::ops::{Add, Sub};
use std::sync::Arc;

use bytemuck::{Pod, bytes_of, pod_read_unaligned};
use recast_kernels::{ElementType, Scalar};
use zarr_recast::data_type::{self, ByteOrder};
#[cfg(feature = "async")]
use zarrs::array::codec::api::AsyncArrayPartialDecoderTraits;
use zarrs::array::codec::api::{
    ArrayBytes, ArrayCodecTraits, ArrayPartialDecoderTraits, ArrayToArrayCodecTraits, CodecError,
    CodecMetadataOptions, CodecOptions, CodecTraits, PartialDecoderCapability,
    PartialEncoderCapability, RecommendedConcurrency,
};
use zarrs::array::{ArraySubset, DataType, FillValue, Indexer, unravel_index};
use zarrs::metadata::Configuration;
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::{ExtensionName, PluginCreateError, ZarrVersion};
use zarrs::storage::StorageError;

use crate::bound::element_type;
use crate::byte_order::FilterOrders;

/// The codec's name in Zarr v3.
pub(crate) const NAME: &str = "numcodecs.delta";
/// And in Zarr v2.
pub(crate) const NAME_V2: &str = "delta";

/// The differences of neighbouring elements of a chunk in C order, as numcodecs computes them: the first element is
/// kept, integers wrap, and the sums wrap back.
///
/// A loss of numcodecs is an error: a difference that is out of range for a narrower `astype`, and
/// floating-point numbers whose differences do not add up to them again.
#[derive(Debug)]
pub(crate) struct Delta {
    decoded: ElementType,
    encoded: ElementType,
    /// In Zarr v2 only.
    orders: Option<FilterOrders>,
    configuration: Configuration,
}

impl Delta {
    /// Reads the configuration: `dtype`, and `astype` if the differences have another type.
    pub(crate) fn new(
        configuration: Configuration,
        version: ZarrVersion,
    ) -> Result<Self, PluginCreateError> {
        let refused = |text: String| PluginCreateError::Other(format!("{NAME}: {text}"));
        let known = ["dtype", "astype", "id"];
        if let Some(key) = configuration.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(refused(format!("the key {key:?} is unknown; dtype and astype are known")));
        }
        let read = |key: &str| {
            let text = configuration.get(key).filter(|value| !value.is_null());
            let text = text.map(|value| {
                let wrong = || {
                    refused(format!("{key} is {value}, and a data type such as \"<i2\" is needed"))
                };
                value.as_str().ok_or_else(wrong)
            });
            let found = text.transpose()?.map(data_type::from_numpy).transpose();
            found.map_err(|error| refused(format!("{key}: {error}")))
        };
        let decoded = read("dtype")?.ok_or_else(|| {
            refused("dtype is missing; it is the type of the elements".to_owned())
        })?;
        let encoded = read("astype")?.unwrap_or(decoded);
        let orders = (version == ZarrVersion::V2).then(|| FilterOrders::of(&configuration));
        let is_foreign =
            [decoded.1, encoded.1].into_iter().flatten().any(|order| order != ByteOrder::NATIVE);
        if orders.is_none() && is_foreign {
            return Err(refused(
                "dtype or astype has another byte order than the elements; leave the order to the \
                 codec bytes"
                    .to_owned(),
            ));
        }
        let (decoded, encoded) = (decoded.0, encoded.0);
        if !is_supported(decoded, encoded) {
            return Err(refused(format!(
                "differences of {decoded} as {encoded} are not supported; integers may become integers \
                 (uint64 only unsigned ones), and float32 and float64 stay what they are"
            )));
        }
        Ok(Self { decoded, encoded, orders, configuration })
    }

    /// Refuses elements of another type than `dtype`.
    fn check(&self, data_type: &DataType) -> Result<(), CodecError> {
        let found = element_type(data_type)?;
        if found == self.decoded {
            return Ok(());
        }
        Err(CodecError::Other(format!(
            "{NAME}: its dtype is {}, but the elements that reach it are {found}",
            self.decoded
        )))
    }

    fn differences(&self, elements: Vec<u8>, shape: &[NonZeroU64]) -> Result<Vec<u8>, CodecError> {
        let lost = |index: usize, elements: &[u8]| {
            let size = self.decoded.size();
            let element = elements.get(index * size..(index + 1) * size).unwrap_or_default();
            let element = Scalar::from_ne_bytes(self.decoded, element);
            let element = element.map(|element| element.to_string()).unwrap_or_default();
            let shape: Vec<u64> = shape.iter().map(|extent| extent.get()).collect();
            let at = unravel_index(index as u64, &shape).unwrap_or_default();
            let what =
                if index == 0 { "the element" } else { "its difference from the one before" };
            let why = if self.decoded.is_float() {
                "does not add up to it again; floating-point numbers are rounded, so cast them to integers \
                 first"
            } else {
                "is out of range for astype; use a wider astype"
            };
            CodecError::Other(format!(
                "{NAME}, encoding: element {index}: {} {element} as {}: {what} {why} (at {at:?} of the \
                 chunk)",
                self.decoded, self.encoded
            ))
        };
        if self.decoded.is_float() {
            let differences = in_place(self.decoded, elements.clone(), Direction::Encode);
            let sums = in_place(self.decoded, differences.clone(), Direction::Decode);
            let size = self.decoded.size();
            let pairs = sums.chunks(size).zip(elements.chunks(size));
            return match pairs.enumerate().find(|(_, (sum, element))| sum != element) {
                Some((index, _)) => Err(lost(index, &elements)),
                None => Ok(differences),
            };
        }
        if self.decoded.size() == self.encoded.size() {
            return Ok(in_place(self.decoded, elements, Direction::Encode));
        }
        let mut previous = 0;
        let mut differences =
            Vec::with_capacity(elements.len() / self.decoded.size() * self.encoded.size());
        for (index, element) in elements.chunks_exact(self.decoded.size()).enumerate() {
            let element = integer(self.decoded, element);
            let difference = wrapped(self.decoded, element.wrapping_sub(previous));
            let stored = wrapped(self.encoded, difference);
            if wrapped(self.decoded, stored) != difference {
                return Err(lost(index, &elements));
            }
            differences.extend(low_bytes(self.encoded, stored));
            previous = element;
        }
        Ok(differences)
    }

    fn sums(&self, differences: Vec<u8>) -> Vec<u8> {
        if self.decoded.size() == self.encoded.size() {
            return in_place(self.decoded, differences, Direction::Decode);
        }
        let mut sum = 0_i64;
        let sums = differences.chunks_exact(self.encoded.size()).flat_map(|difference| {
            sum = sum.wrapping_add(integer(self.encoded, difference));
            low_bytes(self.decoded, sum)
        });
        sums.collect()
    }
}

/// Whether numcodecs decodes what it encodes with these types, but for values out of range. It computes uint64 with
/// signed integers, and floats with other types, in floating-point numbers that round.
fn is_supported(decoded: ElementType, encoded: ElementType) -> bool {
    use ElementType::{Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    const INTEGERS: [ElementType; 8] = [Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64];
    let is_mixed =
        [decoded, encoded].contains(&UInt64) && (decoded.is_signed() || encoded.is_signed());
    let are_integers = INTEGERS.contains(&decoded) && INTEGERS.contains(&encoded);
    (are_integers && !is_mixed) || ([Float32, Float64].contains(&decoded) && decoded == encoded)
}

#[derive(Clone, Copy)]
enum Direction {
    Encode,
    Decode,
}

/// Elements as differences of their own size, or back. Of integers, the sign does not matter.
fn in_place(element_type: ElementType, mut elements: Vec<u8>, direction: Direction) -> Vec<u8> {
    let all = elements.as_mut_slice();
    match (element_type.is_float(), element_type.size()) {
        (false, 1) => run(all, direction, u8::wrapping_sub, u8::wrapping_add),
        (false, 2) => run(all, direction, u16::wrapping_sub, u16::wrapping_add),
        (false, 4) => run(all, direction, u32::wrapping_sub, u32::wrapping_add),
        (false, _) => run(all, direction, u64::wrapping_sub, u64::wrapping_add),
        (true, 4) => run(all, direction, <f32 as Sub>::sub, <f32 as Add>::add),
        (true, _) => run(all, direction, <f64 as Sub>::sub, <f64 as Add>::add),
    }
    elements
}

fn run<T: Pod>(
    elements: &mut [u8],
    direction: Direction,
    minus: impl Fn(T, T) -> T,
    plus: impl Fn(T, T) -> T,
) {
    let mut elements = elements.chunks_exact_mut(size_of::<T>());
    let Some(first) = elements.next() else { return };
    let mut previous: T = pod_read_unaligned(first);
    for bytes in elements {
        let element = pod_read_unaligned(bytes);
        match direction {
            Direction::Encode => {
                bytes.copy_from_slice(bytes_of(&minus(element, previous)));
                previous = element;
            }
            Direction::Decode => {
                previous = plus(previous, element);
                bytes.copy_from_slice(bytes_of(&previous));
            }
        }
    }
}

/// An integer; of uint64, the same bits.
fn integer(element_type: ElementType, element: &[u8]) -> i64 {
    let mut bytes = [0; 8];
    let start = if cfg!(target_endian = "big") { 8 - element.len() } else { 0 };
    for (to, &from) in bytes.iter_mut().skip(start).zip(element) {
        *to = from;
    }
    wrapped(element_type, i64::from_ne_bytes(bytes))
}

/// The integer of a type with the same low bits.
fn wrapped(element_type: ElementType, integer: i64) -> i64 {
    let unused = 64 - 8 * element_type.size() as u32;
    if element_type.is_signed() {
        integer << unused >> unused
    } else {
        ((integer as u64) << unused >> unused) as i64
    }
}

/// The bytes of an integer as an element of a type.
fn low_bytes(element_type: ElementType, integer: i64) -> impl Iterator<Item = u8> {
    let size = element_type.size();
    let start = if cfg!(target_endian = "big") { 8 - size } else { 0 };
    integer.to_ne_bytes().into_iter().skip(start).take(size)
}

impl ExtensionName for Delta {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        Some(Cow::Borrowed(match version {
            ZarrVersion::V3 => NAME,
            ZarrVersion::V2 => NAME_V2,
        }))
    }
}

impl CodecTraits for Delta {
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

    /// An element needs all before it, so whole chunks are decoded. Yet the answer is yes: for no, zarrs 0.23 puts a
    /// cache beside this codec that takes its input for elements of the output's type.
    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        PartialDecoderCapability { partial_read: true, partial_decode: true }
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        PartialEncoderCapability { partial_encode: false }
    }
}

impl ArrayCodecTraits for Delta {
    /// One thread: each sum needs the one before.
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
impl ArrayToArrayCodecTraits for Delta {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn ArrayToArrayCodecTraits> {
        self
    }

    fn encoded_data_type(&self, decoded_data_type: &DataType) -> Result<DataType, CodecError> {
        self.check(decoded_data_type)?;
        let encoded = DataType::from_metadata(&MetadataV3::new(self.encoded.name()))
            .map_err(|error| CodecError::Other(format!("{NAME}: {error}")))?;
        match self.orders {
            Some(orders) => orders.stored(NAME, decoded_data_type, encoded),
            None => Ok(encoded),
        }
    }

    /// The fill value itself, as in zarr-python; zero if it is out of range for `astype`, for no chunk is made of it.
    fn encoded_fill_value(
        &self,
        _decoded_data_type: &DataType,
        decoded_fill_value: &FillValue,
    ) -> Result<FillValue, CodecError> {
        let fill_value = self.differences(decoded_fill_value.as_ne_bytes().to_vec(), &[]);
        Ok(FillValue::new(fill_value.unwrap_or_else(|_| vec![0; self.encoded.size()])))
    }

    fn encode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        _fill_value: &FillValue,
        _options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        self.check(data_type)?;
        self.differences(bytes.into_fixed()?.into_owned(), shape).map(ArrayBytes::from)
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        _shape: &[NonZeroU64],
        data_type: &DataType,
        _fill_value: &FillValue,
        _options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        self.check(data_type)?;
        Ok(ArrayBytes::from(self.sums(bytes.into_fixed()?.into_owned())))
    }

    fn partial_decoder(
        self: Arc<Self>,
        input_handle: Arc<dyn ArrayPartialDecoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        _options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialDecoderTraits>, CodecError> {
        self.check(data_type)?;
        Ok(Arc::new(Whole::new(input_handle, self, shape, data_type, fill_value)))
    }

    #[cfg(feature = "async")]
    async fn async_partial_decoder(
        self: Arc<Self>,
        input_handle: Arc<dyn AsyncArrayPartialDecoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        _options: &CodecOptions,
    ) -> Result<Arc<dyn AsyncArrayPartialDecoderTraits>, CodecError> {
        self.check(data_type)?;
        Ok(Arc::new(Whole::new(input_handle, self, shape, data_type, fill_value)))
    }
}

/// Decodes a whole chunk for any part of it.
struct Whole<T: ?Sized> {
    inner: Arc<T>,
    codec: Arc<Delta>,
    shape: Vec<u64>,
    data_type: DataType,
    fill_value: FillValue,
}

impl<T: ?Sized> Whole<T> {
    fn new(
        inner: Arc<T>,
        codec: Arc<Delta>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
    ) -> Self {
        let shape = shape.iter().map(|extent| extent.get()).collect();
        Self { inner, codec, shape, data_type: data_type.clone(), fill_value: fill_value.clone() }
    }

    fn all(&self) -> ArraySubset {
        ArraySubset::new_with_shape(self.shape.clone())
    }

    /// A part of the chunk with these differences.
    fn part(
        &self,
        indexer: &dyn Indexer,
        differences: ArrayBytes<'_>,
    ) -> Result<ArrayBytes<'static>, CodecError> {
        let chunk = ArrayBytes::from(self.codec.sums(differences.into_fixed()?.into_owned()));
        Ok(chunk.extract_array_subset(indexer, &self.shape, &self.data_type)?.into_owned())
    }

    /// A missing chunk has no differences.
    fn missing(&self, indexer: &dyn Indexer) -> Result<ArrayBytes<'static>, CodecError> {
        Ok(ArrayBytes::new_fill_value(&self.data_type, indexer.len(), &self.fill_value)?)
    }
}

impl<T: ArrayPartialDecoderTraits + ?Sized> ArrayPartialDecoderTraits for Whole<T> {
    fn data_type(&self) -> &DataType {
        &self.data_type
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
        if !self.inner.exists()? {
            return self.missing(indexer);
        }
        self.part(indexer, self.inner.partial_decode(&self.all(), options)?)
    }

    fn supports_partial_decode(&self) -> bool {
        false
    }
}

#[cfg(feature = "async")]
#[cfg_attr(target_arch = "wasm32", async_trait::async_trait(?Send))]
#[cfg_attr(not(target_arch = "wasm32"), async_trait::async_trait)]
impl<T: AsyncArrayPartialDecoderTraits + ?Sized> AsyncArrayPartialDecoderTraits for Whole<T> {
    fn data_type(&self) -> &DataType {
        &self.data_type
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
        if !self.inner.exists().await? {
            return self.missing(indexer);
        }
        self.part(indexer, self.inner.partial_decode(&self.all(), options).await?)
    }

    fn supports_partial_decode(&self) -> bool {
        false
    }
}

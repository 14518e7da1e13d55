//! The byte orders of filters of Zarr v2.
//!
//! In Zarr v2 the array's data type and those of every filter have byte orders, and the stored one is the last
//! filter's. zarrs' codec `bytes` stores the array's, and no codec is told of the others. So elements stay in this
//! machine's order between filters, and the data type that goes from filter to filter and to `bytes` has the order.

use std::any::{Any, TypeId};
use std::borrow::Cow;

use zarr_recast::data_type::{self, ByteOrder};
use zarrs::array::codec::api::CodecError;
use zarrs::array::data_type::api::codec_traits::bytes::{
    BytesCodecEndiannessMissingError, BytesDataTypeExt, BytesDataTypePlugin, BytesDataTypeTraits,
};
use zarrs::array::data_type::api::{
    DataTypeFillValueError, DataTypeFillValueMetadataError, DataTypeTraits,
    register_data_type_extension_codec,
};
use zarrs::array::{DataType, DataTypeSize, Endianness, FillValue, FillValueMetadata};
use zarrs::metadata::Configuration;
use zarrs::plugin::{ExtensionName, ZarrVersion};

/// The byte orders that a filter of Zarr v2 names; none for types of one byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FilterOrders {
    decoded: Option<ByteOrder>,
    encoded: Option<ByteOrder>,
}

impl FilterOrders {
    /// The orders in a configuration. Without a type of the encoded elements, they keep theirs.
    pub(crate) fn of(configuration: &Configuration) -> Self {
        let order = |names: [&str; 2]| {
            let text = names.iter().find_map(|name| configuration.get(*name)?.as_str())?;
            let (element_type, order) = data_type::from_numpy(text).ok()?;
            Some((element_type.size() > 1).then_some(order.unwrap_or(ByteOrder::NATIVE)))
        };
        let decoded = order(["dtype", "decode_dtype"]).flatten();
        let encoded = order(["astype", "encode_dtype"]).unwrap_or(decoded);
        Self { decoded, encoded }
    }

    /// The orders of this filter and the next as one; `None` if the next takes another order than this one gives.
    pub(crate) fn followed_by(self, next: Self) -> Option<Self> {
        (self.encoded == next.decoded)
            .then_some(Self { decoded: self.decoded, encoded: next.encoded })
    }

    /// `encoded`, the type of the elements behind the filter, with their order if it is not that of the array.
    ///
    /// Refuses elements in another order than the filter's: numcodecs would take their bytes for other numbers.
    pub(crate) fn stored(
        self,
        codec: &str,
        decoded: &DataType,
        encoded: DataType,
    ) -> Result<DataType, CodecError> {
        // Elements that no filter has changed are in the array's order. Those of one byte do not tell it.
        let (found, array) = match decoded.downcast_ref::<Ordered>() {
            Some(ordered) => (Some(ordered.order), ordered.array),
            None => (self.decoded, self.decoded),
        };
        if let (Some(found), Some(own)) = (found, self.decoded)
            && found != own
        {
            let (own, found) = (name(own), name(found));
            return Err(CodecError::Other(format!(
                "{codec}: its dtype is {own}, but the filter before it stores {found} elements, which zarr-python \
                 would take for other numbers; write the array anew with the same byte order in both"
            )));
        }
        Ok(match self.encoded {
            Some(order) if Some(order) != array => {
                DataType::new(Ordered { plain: encoded, order, array })
            }
            _ => encoded,
        })
    }
}

fn name(order: ByteOrder) -> &'static str {
    match order {
        ByteOrder::Little => "little-endian",
        ByteOrder::Big => "big-endian",
    }
}

/// The data type of elements that are stored in another byte order than the array's data type has.
#[derive(Debug)]
struct Ordered {
    plain: DataType,
    order: ByteOrder,
    /// The array's order, if it is known.
    array: Option<ByteOrder>,
}

/// The data type without the order in which its elements are stored.
pub(crate) fn plain(data_type: &DataType) -> &DataType {
    data_type.downcast_ref::<Ordered>().map_or(data_type, |ordered| &ordered.plain)
}

register_data_type_extension_codec!(Ordered, BytesDataTypePlugin, BytesDataTypeTraits);

impl Ordered {
    fn endianness(&self) -> Endianness {
        match self.order {
            ByteOrder::Little => Endianness::Little,
            ByteOrder::Big => Endianness::Big,
        }
    }
}

/// The codec `bytes` stores this order, whatever its own.
impl BytesDataTypeTraits for Ordered {
    fn encode<'a>(
        &self,
        bytes: Cow<'a, [u8]>,
        _endianness: Option<Endianness>,
    ) -> Result<Cow<'a, [u8]>, BytesCodecEndiannessMissingError> {
        // Every type of the filters can be stored by `bytes`.
        let plain = self.plain.codec_bytes().map_err(|_| BytesCodecEndiannessMissingError)?;
        plain.encode(bytes, Some(self.endianness()))
    }

    fn decode<'a>(
        &self,
        bytes: Cow<'a, [u8]>,
        _endianness: Option<Endianness>,
    ) -> Result<Cow<'a, [u8]>, BytesCodecEndiannessMissingError> {
        let plain = self.plain.codec_bytes().map_err(|_| BytesCodecEndiannessMissingError)?;
        plain.decode(bytes, Some(self.endianness()))
    }
}

/// Another name than the plain type's, so that codecs of other crates refuse it rather than lose the order.
impl ExtensionName for Ordered {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        Some(format!("{} {}", name(self.order), self.plain.name(version)?).into())
    }
}

impl DataTypeTraits for Ordered {
    fn configuration(&self, version: ZarrVersion) -> Configuration {
        self.plain.configuration(version)
    }

    fn size(&self) -> DataTypeSize {
        self.plain.size()
    }

    fn fill_value(
        &self,
        fill_value_metadata: &FillValueMetadata,
        version: ZarrVersion,
    ) -> Result<FillValue, DataTypeFillValueMetadataError> {
        self.plain.fill_value(fill_value_metadata, version)
    }

    fn metadata_fill_value(
        &self,
        fill_value: &FillValue,
    ) -> Result<FillValueMetadata, DataTypeFillValueError> {
        self.plain.metadata_fill_value(fill_value)
    }

    fn eq(&self, other: &dyn DataTypeTraits) -> bool {
        other.as_any().downcast_ref::<Self>().is_some_and(|other| {
            (&self.plain, self.order, self.array) == (&other.plain, other.order, other.array)
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn compatible_element_types(&self) -> &'static [TypeId] {
        self.plain.compatible_element_types()
    }
}

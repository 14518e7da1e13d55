//! The data type `float8_e4m3fn`, which zarrs 0.23 lacks.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use recast_kernels::{ElementType, Scalar};
use serde_json::Value;
use zarr_recast::fill_value;
use zarrs::array::data_type::api::codec_traits::bytes::{
    BytesCodecEndiannessMissingError, BytesDataTypePlugin, BytesDataTypeTraits,
};
use zarrs::array::data_type::api::codec_traits::packbits::{
    PackBitsDataTypePlugin, PackBitsDataTypeTraits,
};
use zarrs::array::data_type::api::{
    DataTypeFillValueError, DataTypeFillValueMetadataError, DataTypePluginV2, DataTypePluginV3,
    DataTypeTraits, DataTypeTraitsV2, DataTypeTraitsV3, register_data_type_extension_codec,
};
use zarrs::array::{DataType, DataTypeSize, Endianness, FillValue, FillValueMetadata};
use zarrs::metadata::v2::DataTypeMetadataV2;
use zarrs::metadata::v3::MetadataV3;
use zarrs::metadata::{Configuration, EmptyConfiguration};
use zarrs::plugin::{PluginCreateError, ZarrVersion, impl_extension_aliases};

/// The data type `float8_e4m3fn` in zarrs' registry.
#[derive(Debug)]
pub(crate) struct Float8E4M3Fn;

const ELEMENT_TYPE: ElementType = ElementType::Float8E4M3Fn;
pub(crate) const NAME: &str = ELEMENT_TYPE.name();

impl_extension_aliases!(Float8E4M3Fn, v3: "float8_e4m3fn");

inventory::submit! { DataTypePluginV3::new::<Float8E4M3Fn>() }
inventory::submit! { DataTypePluginV2::new::<Float8E4M3Fn>() }
register_data_type_extension_codec!(Float8E4M3Fn, BytesDataTypePlugin, BytesDataTypeTraits);
register_data_type_extension_codec!(Float8E4M3Fn, PackBitsDataTypePlugin, PackBitsDataTypeTraits);

impl DataTypeTraitsV3 for Float8E4M3Fn {
    fn create(metadata: &MetadataV3) -> Result<DataType, PluginCreateError> {
        metadata.to_typed_configuration::<EmptyConfiguration>()?;
        Ok(Arc::new(Self).into())
    }
}

impl DataTypeTraitsV2 for Float8E4M3Fn {
    fn create(_metadata: &DataTypeMetadataV2) -> Result<DataType, PluginCreateError> {
        Ok(Arc::new(Self).into())
    }
}

impl DataTypeTraits for Float8E4M3Fn {
    fn configuration(&self, _version: ZarrVersion) -> Configuration {
        Configuration::default()
    }

    fn size(&self) -> DataTypeSize {
        DataTypeSize::Fixed(ELEMENT_TYPE.size())
    }

    fn fill_value(
        &self,
        fill_value_metadata: &FillValueMetadata,
        _version: ZarrVersion,
    ) -> Result<FillValue, DataTypeFillValueMetadataError> {
        let json = serde_json::to_value(fill_value_metadata).ok();
        let scalar = json.and_then(|json: Value| fill_value::from_json(ELEMENT_TYPE, &json).ok());
        Ok(FillValue::new(scalar.ok_or(DataTypeFillValueMetadataError)?.to_ne_bytes()))
    }

    fn metadata_fill_value(
        &self,
        fill_value: &FillValue,
    ) -> Result<FillValueMetadata, DataTypeFillValueError> {
        let scalar = Scalar::from_ne_bytes(ELEMENT_TYPE, fill_value.as_ne_bytes());
        let json = scalar.map(fill_value::to_json);
        json.and_then(|json| serde_json::from_value(json).ok()).ok_or(DataTypeFillValueError)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// One byte has no order.
impl BytesDataTypeTraits for Float8E4M3Fn {
    fn encode<'a>(
        &self,
        bytes: Cow<'a, [u8]>,
        _endianness: Option<Endianness>,
    ) -> Result<Cow<'a, [u8]>, BytesCodecEndiannessMissingError> {
        Ok(bytes)
    }

    fn decode<'a>(
        &self,
        bytes: Cow<'a, [u8]>,
        _endianness: Option<Endianness>,
    ) -> Result<Cow<'a, [u8]>, BytesCodecEndiannessMissingError> {
        Ok(bytes)
    }
}

impl PackBitsDataTypeTraits for Float8E4M3Fn {
    fn component_size_bits(&self) -> u64 {
        ELEMENT_TYPE.bits().into()
    }

    fn num_components(&self) -> u64 {
        1
    }

    fn sign_extension(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fill_values_are_read_and_written_as_those_of_other_floats() {
        let read = |json| {
            let metadata: FillValueMetadata = serde_json::from_value(json).unwrap();
            Float8E4M3Fn.fill_value_v3(&metadata)
        };
        for (json, byte) in [
            (json!(0), 0),
            (json!(-0.0), 0x80),
            (json!(-448), 0xfe),
            (json!("NaN"), 0x7f),
            (json!("0xff"), 0xff),
        ] {
            let fill_value = read(json).unwrap();
            assert_eq!(fill_value.as_ne_bytes(), [byte]);
            let written = Float8E4M3Fn.metadata_fill_value(&fill_value).unwrap();
            assert_eq!(Float8E4M3Fn.fill_value_v3(&written).unwrap(), fill_value);
        }
        for json in [json!(480), json!("Infinity"), json!("0x7fc0"), json!(null), json!(true)] {
            assert!(read(json.clone()).is_err(), "{json}");
        }
    }
}

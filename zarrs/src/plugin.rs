//! The names under which zarrs finds the codecs.

use std::sync::{Arc, Once};

use serde_json::{Value, json};
#[cfg(feature = "transpose")]
use zarrs::array::codec::TransposeCodecConfiguration;
use zarrs::array::codec::api::{
    self, CodecPluginV2, CodecPluginV3, CodecRuntimePluginV2, CodecRuntimePluginV3, CodecTraitsV2,
    CodecTraitsV3,
};
use zarrs::array::data_type::api::{
    DataTypeRuntimePluginV3, DataTypeTraitsV3, register_data_type_v3,
};
use zarrs::metadata::Configuration;
use zarrs::metadata::v2::MetadataV2;
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::{PluginCreateError, ZarrVersion, impl_extension_aliases};

use crate::bound::Settings;
use crate::byte_order::FilterOrders;
use crate::codec::{Names, RecastCodec};
use crate::delta::{self, Delta};
use crate::float8_e4m3fn::{self, Float8E4M3Fn};
#[cfg(feature = "transpose")]
use crate::transpose::{self, Transpose};

/// The codec `cast_value` in zarrs' registry.
enum CastValue {}

/// The codec `scale_offset` in zarrs' registry.
enum ScaleOffset {}

/// The legacy codec `numcodecs.astype` (`astype` in Zarr v2) in zarrs' registry.
enum AsType {}

/// The codec `numcodecs.delta` (`delta` in Zarr v2) in zarrs' registry.
enum DeltaPlugin {}

impl_extension_aliases!(DeltaPlugin, v3: "numcodecs.delta", v2: "delta");
impl_extension_aliases!(CastValue, v3: "cast_value");
impl_extension_aliases!(ScaleOffset, v3: "scale_offset");
impl_extension_aliases!(AsType, v3: "numcodecs.astype", v2: "astype");

inventory::submit! { CodecPluginV3::new::<CastValue>() }
inventory::submit! { CodecPluginV3::new::<ScaleOffset>() }
inventory::submit! { CodecPluginV3::new::<AsType>() }
inventory::submit! { CodecPluginV2::new::<AsType>() }
inventory::submit! { CodecPluginV3::new::<DeltaPlugin>() }
inventory::submit! { CodecPluginV2::new::<DeltaPlugin>() }

impl CodecTraitsV3 for CastValue {
    fn create(metadata: &MetadataV3) -> Result<api::Codec, PluginCreateError> {
        from_v3(Names::CAST_VALUE, metadata)
    }
}

impl CodecTraitsV3 for ScaleOffset {
    fn create(metadata: &MetadataV3) -> Result<api::Codec, PluginCreateError> {
        from_v3(Names::SCALE_OFFSET, metadata)
    }
}

impl CodecTraitsV3 for AsType {
    fn create(metadata: &MetadataV3) -> Result<api::Codec, PluginCreateError> {
        from_v3(Names::AS_TYPE, metadata)
    }
}

impl CodecTraitsV2 for AsType {
    fn create(metadata: &MetadataV2) -> Result<api::Codec, PluginCreateError> {
        from_v2(Names::AS_TYPE, metadata)
    }
}

impl CodecTraitsV3 for DeltaPlugin {
    fn create(metadata: &MetadataV3) -> Result<api::Codec, PluginCreateError> {
        delta_v3(metadata)
    }
}

impl CodecTraitsV2 for DeltaPlugin {
    fn create(metadata: &MetadataV2) -> Result<api::Codec, PluginCreateError> {
        delta_v2(metadata)
    }
}

/// Makes zarrs use this crate's codecs, whatever else is linked.
///
/// Linking this crate is enough for `cast_value`, `scale_offset`, `numcodecs.astype`, `numcodecs.delta` and the data type
/// `float8_e4m3fn`, which zarrs 0.23 does not have. Calling this function once, before an array is opened or created,
///
/// - makes sure that the linker keeps the crate;
/// - gives these codecs precedence over others of the same name in the program: registered codecs come first, and
///   linked ones follow in the linker's order;
/// - replaces zarrs' own `numcodecs.fixedscaleoffset` (Zarr v2: `fixedscaleoffset`), which computes in
///   float32, rounds ties away from zero and does not transform the fill value;
/// - with the feature `transpose`, replaces zarrs' own, which takes several times as long for a whole chunk.
///
/// Further calls do nothing.
pub fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for names in
            [Names::CAST_VALUE, Names::SCALE_OFFSET, Names::FIXED_SCALE_OFFSET, Names::AS_TYPE]
        {
            api::register_codec_v3(CodecRuntimePluginV3::new(
                move |name| name == names.v3,
                move |metadata: &MetadataV3| from_v3(names, metadata),
            ));
        }
        register_data_type_v3(DataTypeRuntimePluginV3::new(
            |name| name == float8_e4m3fn::NAME,
            <Float8E4M3Fn as DataTypeTraitsV3>::create,
        ));
        for names in [Names::FIXED_SCALE_OFFSET, Names::AS_TYPE] {
            api::register_codec_v2(CodecRuntimePluginV2::new(
                move |name| name == names.v2,
                move |metadata: &MetadataV2| from_v2(names, metadata),
            ));
        }
        api::register_codec_v3(CodecRuntimePluginV3::new(|name| name == delta::NAME, delta_v3));
        #[cfg(feature = "transpose")]
        api::register_codec_v3(CodecRuntimePluginV3::new(
            |name| name == transpose::NAME,
            transpose_v3,
        ));
        api::register_codec_v2(CodecRuntimePluginV2::new(|name| name == delta::NAME_V2, delta_v2));
    });
}

fn from_v3(names: Names, metadata: &MetadataV3) -> Result<api::Codec, PluginCreateError> {
    create(names, metadata.configuration().cloned(), ZarrVersion::V3)
}

fn from_v2(names: Names, metadata: &MetadataV2) -> Result<api::Codec, PluginCreateError> {
    create(names, Some(metadata.configuration().clone()), ZarrVersion::V2)
}

fn delta_v3(metadata: &MetadataV3) -> Result<api::Codec, PluginCreateError> {
    let configuration = metadata.configuration().cloned().unwrap_or_default();
    Ok(api::Codec::ArrayToArray(Arc::new(Delta::new(configuration, ZarrVersion::V3)?)))
}

fn delta_v2(metadata: &MetadataV2) -> Result<api::Codec, PluginCreateError> {
    let configuration = metadata.configuration().clone();
    Ok(api::Codec::ArrayToArray(Arc::new(Delta::new(configuration, ZarrVersion::V2)?)))
}

#[cfg(feature = "transpose")]
fn transpose_v3(metadata: &MetadataV3) -> Result<api::Codec, PluginCreateError> {
    let TransposeCodecConfiguration::V1(configuration) = metadata.to_typed_configuration()? else {
        return Err(PluginCreateError::Other(format!("{metadata} is not supported")));
    };
    Ok(api::Codec::ArrayToArray(Arc::new(Transpose::new(configuration.order))))
}

/// Reads the configuration of the codec that is called `names`.
fn create(
    names: Names,
    configuration: Option<Configuration>,
    version: ZarrVersion,
) -> Result<api::Codec, PluginCreateError> {
    let mut json = json!({"name": names.v3});
    if let Some(configuration) = &configuration {
        json["configuration"] = Value::Object((**configuration).clone());
    }
    let codec = zarr_recast::Codec::from_json(&json)
        .map_err(|error| PluginCreateError::Other(format!("{}: {error}", names.v3)))?;
    let configuration = configuration.unwrap_or_default();
    let orders = (version == ZarrVersion::V2).then(|| FilterOrders::of(&configuration));
    let settings = Settings { orders, ..Settings::default() };
    let codec = RecastCodec::new(vec![codec], names, configuration, settings);
    Ok(api::Codec::ArrayToArray(Arc::new(codec)))
}

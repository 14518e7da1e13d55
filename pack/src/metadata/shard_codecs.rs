//! Where value codecs go in an array with shards, and who can then read the array.
//!
//! Inside the shards, among the codecs of the inner chunks, readers decode only the inner chunks they need. Before the
//! shards, zarr-python decodes whole shards for any part. But zarr-python 3.4.2 tests the codecs inside a shard with
//! the number 0 instead of the array's fill value, and does not open the array if they cannot encode it.

use recast_kernels::{ElementType, Scalar};
use serde::Serialize;
use serde_json::Value;
use zarr_recast::{BindOptions, Chain, Codec, Entries};

use super::byte_codecs::PCODEC;
use super::codecs::{CodecEntry, CodecKind, CodecList};
use super::element_types::numpy_name;
use crate::options::{Reader, ShardCodecs};

/// Who can read an array with value codecs, and the unit that each decodes for a part of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Readers {
    /// zarr-python 3.4.2 or newer with its own classes, and zarr-recast or cast-value-rs for the casts.
    pub zarr_python: Reading,
    /// zarrs with zarrs-recast.
    pub zarrs: Reading,
    /// Whether zarr-python needs zarr-recast, and cannot do with cast-value-rs: for such a type, for a map that names a kind
    /// of NaN by its bits, or for integers whose scale or offset is none of their type.
    pub needs_zarr_recast: bool,
    /// Whether zarr-python needs `ml_dtypes` for one of the types.
    pub needs_ml_dtypes: bool,
    /// Whether zarr-python needs the package `pcodec`, and zarrs its feature of that name.
    pub needs_pcodec: bool,
    /// The version of GDAL that has all codecs, by its sources; `None` if it lacks one.
    pub gdal: Option<&'static str>,
}

/// The unit that a reader decodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// Chunks; the array has no shards.
    Chunks,
    /// Only the inner chunks of a shard that are needed.
    PartsOfShards,
    /// Whole shards.
    WholeShards,
    /// Nothing: it does not open the array.
    Nothing,
}

/// All codecs of an array: value codecs, and `rest` after them or around them.
pub(crate) fn with_value_codecs(
    value_codecs: &[Codec],
    mut rest: CodecList,
    element_type: ElementType,
    place: ShardCodecs,
) -> CodecList {
    let entries = value_codecs.iter().map(CodecEntry::from);
    let is_inside = match place {
        ShardCodecs::Auto => encode_zero(value_codecs, element_type),
        ShardCodecs::Inside => true,
        ShardCodecs::Outside => false,
    };
    if let Some(inner) = rest.inner_chunks().filter(|_| is_inside) {
        inner.0.splice(0..0, entries);
        return rest;
    }
    CodecList(entries.chain(rest.0).collect())
}

/// Who can read an array with these codecs.
pub(crate) fn readers(
    codecs: &Value,
    value_codecs: &[Codec],
    element_type: ElementType,
) -> Readers {
    let mut all = CodecList::from(codecs.clone());
    let needs_pcodec = all.contains(PCODEC);
    let has_some = |list: &CodecList| list.0.iter().any(|entry| entry.kind() == CodecKind::Value);
    let is_outside = has_some(&all);
    let (zarr_python, zarrs) = match all.inner_chunks() {
        None => (Reading::Chunks, Reading::Chunks),
        Some(_) if is_outside => (Reading::WholeShards, Reading::PartsOfShards),
        Some(inner) if has_some(inner) && !encode_zero(value_codecs, element_type) => {
            (Reading::Nothing, Reading::PartsOfShards)
        }
        Some(_) => (Reading::PartsOfShards, Reading::PartsOfShards),
    };
    let encoded = Chain::bind(element_type, None, value_codecs, &BindOptions::default());
    let encoded = encoded.map_or(element_type, |chain| chain.encoded_type());
    let needs_ml_dtypes = [element_type, encoded].into_iter().any(|one| numpy_name(one).is_none());
    let is_beyond = |codec: &Codec| is_beyond_type(codec, element_type);
    let needs_zarr_recast =
        needs_ml_dtypes || value_codecs.iter().any(|one| names_nan_by_bits(one) || is_beyond(one));
    let has_numcodecs = all.all().any(|entry| entry.name.starts_with("numcodecs."));
    let is_unread = has_numcodecs || unread_by_gdal(element_type, value_codecs).is_some();
    let gdal = (!is_unread).then_some(Reader::GDAL);
    Readers { zarr_python, zarrs, needs_zarr_recast, needs_ml_dtypes, needs_pcodec, gdal }
}

/// Whether a map has a NaN by its bits, which no number in JSON is.
fn names_nan_by_bits(codec: &Codec) -> bool {
    let Codec::CastValue(cast) = codec else { return false };
    let maps = cast.scalar_map.iter().flat_map(|map| [&map.encode, &map.decode]);
    let mut numbers = maps.flatten().flat_map(Entries::iter).flat_map(|(key, to)| [key, to]);
    numbers.any(|number| number.text().starts_with("\"0x"))
}

/// Whether a scale or an offset is no value of the array's type, which zarr-python's own `scale_offset` wants of an array of
/// integers, whatever the codecs before it cast to.
fn is_beyond_type(codec: &Codec, element_type: ElementType) -> bool {
    let Codec::ScaleOffset(affine) = codec else { return false };
    let numbers = [&affine.offset, &affine.scale].into_iter().flatten();
    let mut numbers = numbers.map(|number| number.to_scalar(element_type));
    element_type.is_integer() && numbers.any(|number| number.is_err())
}

/// The part of value codecs that GDAL lacks, if there is one.
pub(crate) fn unread_by_gdal(element_type: ElementType, value_codecs: &[Codec]) -> Option<String> {
    let mut before = element_type;
    value_codecs.iter().find_map(|codec| match codec {
        Codec::CastValue(cast) => {
            let mut types = [before, cast.data_type].into_iter();
            before = cast.data_type;
            let unread = types.find(|&one| !Reader::gdal_casts(one))?;
            Some(format!("cast_value of {unread}"))
        }
        Codec::ScaleOffset(_) => {
            let is_known = before == ElementType::Float16 || Reader::gdal_casts(before);
            (!is_known).then(|| format!("scale_offset of {before}"))
        }
        _ => Some("codecs of numcodecs".to_owned()),
    })
}

/// Whether value codecs can encode 0, with which zarr-python tests them inside shards.
fn encode_zero(value_codecs: &[Codec], element_type: ElementType) -> bool {
    let chain = Chain::bind(element_type, None, value_codecs, &BindOptions::default());
    chain.is_ok_and(|chain| chain.encode(&Scalar::zero(element_type).to_ne_bytes()).is_ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn integers_whose_scale_is_none_of_their_type_need_zarr_recast() {
        let chain = |scale: f64, offset: i32| {
            let list = json!([
                {"name": "cast_value", "configuration": {"data_type": "float64"}},
                {"name": "scale_offset", "configuration": {"scale": scale, "offset": offset}},
                {"name": "cast_value", "configuration": {"data_type": "uint8"}},
                {"name": "bytes"},
            ]);
            let codecs = Codec::list_from_json(&json!(list.as_array().unwrap()[..3]).to_string());
            (list, codecs.unwrap())
        };
        for (scale, offset, element_type, needs) in [
            (1.0 / 3.0, 0, ElementType::UInt8, true),
            (2.0, 0, ElementType::UInt8, false),
            (2.0, -1, ElementType::UInt16, true),
            (2.0, -1, ElementType::Int16, false),
            (1.0 / 3.0, 0, ElementType::Float32, false),
        ] {
            let (list, codecs) = chain(scale, offset);
            let readers = readers(&list, &codecs, element_type);
            let case = format!("{scale} {offset} {element_type}");
            assert_eq!(readers.needs_zarr_recast, needs, "{case}");
        }
    }

    #[test]
    fn value_codecs_pass_a_transposition_and_nothing_else() {
        let transpose = json!({"name": "transpose", "configuration": {"order": [0]}});
        let bitround = json!({"name": "bitround", "configuration": {"keepbits": 3}});
        let shard = json!({"name": "sharding_indexed", "configuration": {
            "chunk_shape": [2], "codecs": [{"name": "bytes"}], "index_codecs": [{"name": "bytes"}],
        }});
        let cast = json!([{"name": "cast_value", "configuration": {"data_type": "uint16"}}]);
        let cast = Codec::list_from_json(&cast.to_string()).unwrap();
        for (before, expected) in [
            (transpose, ["transpose", "sharding_indexed"].as_slice()),
            (bitround, &["cast_value", "bitround", "sharding_indexed"]),
        ] {
            let rest = json!([before, shard]).into();
            let all = with_value_codecs(&cast, rest, ElementType::Float32, ShardCodecs::Inside);
            let names: Vec<String> = all.0.into_iter().map(|entry| entry.name).collect();
            assert_eq!(names, expected);
        }
    }
}

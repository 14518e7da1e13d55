//! Explains why zarrs does not open an array.

use recast_kernels::ElementType;
use zarrs::array::ArrayCreateError;
use zarrs::plugin::{PluginCreateError, PluginUnsupportedError};

/// Codecs of zarrs 0.23 that need a cargo feature: their names without a prefix, and the feature.
const FEATURES: [(&str, &str); 15] = [
    ("adler32", "adler32"),
    ("bitround", "bitround"),
    ("blosc", "blosc"),
    ("bz2", "bz2"),
    ("crc32c", "crc32c"),
    ("fletcher32", "fletcher32"),
    ("gdeflate", "gdeflate"),
    ("gzip", "gzip"),
    ("pcodec", "pcodec"),
    ("sharding_indexed", "sharding"),
    ("transpose", "transpose"),
    ("zfp", "zfp"),
    ("zfpy", "zfp"),
    ("zlib", "zlib"),
    ("zstd", "zstd"),
];

/// Explains why zarrs does not open an array, and names the feature to enable or the metadata to change.
///
/// ```
/// use zarrs::array::ArrayMetadata;
/// use zarrs::storage::store::MemoryStore;
///
/// let metadata: ArrayMetadata = serde_json::from_str(
///     r#"{
///     "zarr_format": 3, "node_type": "array", "attributes": {},
///     "shape": [4], "data_type": "float32", "fill_value": 0,
///     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
///     "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
///     "codecs": [{"name": "zfp", "configuration": {}}]}"#,
/// )
/// .unwrap();
/// let error = zarrs::array::Array::new_with_metadata(MemoryStore::new().into(), "/", metadata).unwrap_err();
/// assert_eq!(
///     zarrs_recast::explain(&error),
///     "codec zfp is not supported; build zarrs with its feature `zfp`"
/// );
/// ```
#[must_use]
pub fn explain(error: &ArrayCreateError) -> String {
    let text = error.to_string();
    if let ArrayCreateError::AdditionalFieldUnsupportedError(field) = error {
        let name = field.name();
        return format!(
            "{text}; a reader must understand it, unless {name} is an object with \"must_understand\": false"
        );
    }
    let way_out = match error {
        ArrayCreateError::CodecsCreateError(PluginCreateError::Unsupported(error)) => {
            let prefixes = ["", "numcodecs.", "zarrs."];
            let is_named = |codec| {
                prefixes.iter().any(|prefix| is_about(error, &format!("{prefix}{codec}"), "codec"))
            };
            match FEATURES.iter().find(|(codec, _)| is_named(*codec)) {
                Some((_, feature)) => format!("build zarrs with its feature `{feature}`"),
                None => "link a crate that registers this codec, or correct its name".to_owned(),
            }
        }
        ArrayCreateError::DataTypeCreateError(PluginCreateError::Unsupported(error)) => {
            let is_named = |known: &&ElementType| is_about(error, known.name(), "data type");
            match ElementType::ALL.iter().find(is_named) {
                Some(_) => "link a newer zarrs, which has this data type".to_owned(),
                None => {
                    "link a crate that registers this data type, or correct its name".to_owned()
                }
            }
        }
        _ => return text,
    };
    format!("{text}; {way_out}")
}

/// Whether an error is about this name. zarrs gives the name only in its text, so an error with the name is
/// created and compared; this works for any wording.
fn is_about(error: &PluginUnsupportedError, name: &str, kind: &str) -> bool {
    PluginUnsupportedError::new(name.to_owned(), kind.to_owned()).to_string() == error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsupported(kind: &str, name: &str) -> PluginCreateError {
        PluginUnsupportedError::new(name.to_owned(), kind.to_owned()).into()
    }

    #[test]
    fn a_data_type_of_the_specification_that_zarrs_lacks_asks_for_a_newer_zarrs() {
        let error = ArrayCreateError::DataTypeCreateError(unsupported("data type", "int2"));
        assert_eq!(
            explain(&error),
            "data type int2 is not supported; link a newer zarrs, which has this data type"
        );
    }

    #[test]
    fn a_codec_behind_a_feature_names_the_feature() {
        let error = ArrayCreateError::CodecsCreateError(unsupported("codec", "numcodecs.bz2"));
        assert!(explain(&error).ends_with("; build zarrs with its feature `bz2`"));
    }
}

//! How stored codes become bytes: the codecs after the value codecs, and the bytes that they give.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;

use recast_kernels::{ElementType, Scalar};
use serde_json::{Value, json};
use zarr_recast::fill_value;
use zarrs::array::{Array, ArrayBytes, ArrayMetadata, ArrayToBytesCodecTraits, CodecOptions};

use crate::error::{OptionsError, Result};
use crate::options::Compressor;

/// What is added to differences, so that small negative ones have the same high byte as small positive ones.
pub(crate) const BIAS: i128 = 128;

/// The codec for differences of neighbours.
pub(crate) const DELTA: &str = "numcodecs.delta";

/// The codecs after the value codecs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Storage {
    pub(crate) differences: Differences,
    pub(crate) coder: Coder,
}

/// Whether neighbouring codes are stored as their difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Differences {
    /// The codes themselves.
    None,
    /// `numcodecs.delta`, in a signed type of the same size.
    Plain,
    /// The same, and then `scale_offset`, which adds [`BIAS`]; only for codes whose differences leave room for it.
    Biased,
}

/// What compresses the bytes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coder {
    None,
    Zstd(i32),
    Gzip(i32),
    /// Zstandard in blocks.
    Blosc(i32, Shuffle),
    /// `numcodecs.shuffle`, and Zstandard over the whole chunk.
    ShuffledZstd(i32),
}

/// What Blosc does with the bytes of a block before it compresses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    None,
    Bytes,
    Bits,
}

impl Storage {
    /// The codes themselves, compressed.
    pub(crate) fn plain(coder: Coder) -> Self {
        Self { differences: Differences::None, coder }
    }

    /// What a compressor stands for.
    ///
    /// # Errors
    /// One that is chosen by trying several.
    pub(crate) fn named(compressor: Compressor) -> Result<Self> {
        Ok(Self::plain(match compressor {
            Compressor::None => Coder::None,
            Compressor::Zstd(level) => Coder::Zstd(level),
            Compressor::Gzip(level) => Coder::Gzip(level),
            Compressor::Blosc(level) => Coder::Blosc(level, Shuffle::Bytes),
            Compressor::Auto | Compressor::Smallest => {
                let text = format!(
                    "--compressor {compressor} is for recast pack, which tries several on a sample; name \
                     none, zstd[:LEVEL], gzip[:LEVEL] or blosc[:LEVEL]"
                );
                return Err(OptionsError(text).into());
            }
        }))
    }

    /// Whether codes that the data leave free can be stored, next to any others.
    pub(crate) fn keeps_room(self) -> bool {
        match self.differences {
            Differences::None => true,
            Differences::Plain | Differences::Biased => false,
        }
    }

    /// The codecs, for elements of a type.
    pub(crate) fn codecs(self, element_type: ElementType) -> Vec<Value> {
        let size = element_type.size();
        let mut codecs = Vec::new();
        if self.differences != Differences::None {
            let sign = if element_type.is_signed() { 'i' } else { 'u' };
            let order = if size == 1 { '|' } else { '<' };
            codecs.push(json!({"name": DELTA, "configuration": {
                "dtype": format!("{order}{sign}{size}"), "astype": format!("{order}i{size}"),
            }}));
        }
        if self.differences == Differences::Biased {
            codecs.push(json!({"name": "scale_offset", "configuration": {"offset": -BIAS}}));
        }
        codecs.push(if size == 1 {
            json!({"name": "bytes"})
        } else {
            json!({"name": "bytes", "configuration": {"endian": "little"}})
        });
        let zstd =
            |level| json!({"name": "zstd", "configuration": {"level": level, "checksum": false}});
        match self.coder {
            Coder::None => {}
            Coder::Zstd(level) => codecs.push(zstd(level)),
            Coder::Gzip(level) => {
                codecs.push(json!({"name": "gzip", "configuration": {"level": level}}));
            }
            Coder::Blosc(level, shuffle) => {
                codecs.push(json!({"name": "blosc", "configuration": {
                    "cname": "zstd", "clevel": level, "shuffle": shuffle.name(), "typesize": size,
                    "blocksize": 0,
                }}));
            }
            Coder::ShuffledZstd(level) => {
                let shuffle = json!({"elementsize": size});
                codecs.push(json!({"name": "numcodecs.shuffle", "configuration": shuffle}));
                codecs.push(zstd(level));
            }
        }
        codecs
    }
}

impl Shuffle {
    fn name(self) -> &'static str {
        match self {
            Self::None => "noshuffle",
            Self::Bytes => "shuffle",
            Self::Bits => "bitshuffle",
        }
    }
}

/// As people read it: `delta + 128, blosc:9 (shuffle)`.
impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.differences {
            Differences::None => "",
            Differences::Plain => "delta, ",
            Differences::Biased => "delta + 128, ",
        })?;
        match self.coder {
            Coder::None => f.write_str("none"),
            Coder::Zstd(level) => write!(f, "zstd:{level}"),
            Coder::Gzip(level) => write!(f, "gzip:{level}"),
            Coder::Blosc(level, shuffle) => write!(f, "blosc:{level} ({})", shuffle.name()),
            Coder::ShuffledZstd(level) => write!(f, "shuffle, zstd:{level}"),
        }
    }
}

/// Encodes runs of codes with the codecs after the value codecs.
pub(crate) struct Compression {
    array: Array<()>,
    options: CodecOptions,
}

impl Compression {
    pub(crate) fn new(element_type: ElementType, storage: Storage) -> Result<Self> {
        let metadata: ArrayMetadata = serde_json::from_value(json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": [1],
            "data_type": element_type.name(),
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": fill_value::to_json(Scalar::zero(element_type)),
            "codecs": storage.codecs(element_type),
        }))?;
        let array = Array::new_with_metadata(Arc::new(()), "/", metadata)?;
        Ok(Self { array, options: CodecOptions::default().with_concurrent_target(1) })
    }

    /// The bytes that some codes take.
    pub(crate) fn size(&self, codes: &[u8]) -> Result<u64> {
        let (data_type, fill) = (self.array.data_type(), self.array.fill_value());
        let size = data_type.fixed_size().unwrap_or(1);
        let Some(count) = NonZeroU64::new((codes.len() / size) as u64) else { return Ok(0) };
        let codes: ArrayBytes<'_> = ArrayBytes::new_flen(codes);
        let encoded =
            self.array.codecs().encode(codes, &[count], data_type, fill, &self.options)?;
        Ok(encoded.len() as u64)
    }
}

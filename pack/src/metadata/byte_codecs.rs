//! How stored codes become bytes: the codecs after the value codecs.

use std::fmt;
use std::iter::repeat_n;

use recast_kernels::ElementType;
use serde_json::{Value, json};
use zarr_recast::data_type::ByteOrder;

use super::codecs::{bytes_codec, codec};
use super::element_types::{numpy_name, with_sign};
use crate::error::{Result, usage};
use crate::options::Compressor;

/// A number added to every difference, so that small negative differences have the high byte of small positive ones.
pub(crate) const BIAS: i128 = 128;

/// The codec for differences of neighbours.
pub(crate) const DELTA: &str = "numcodecs.delta";

/// The codec that stores integers as differences, and these by their entropy.
pub(crate) const PCODEC: &str = "numcodecs.pcodec";

/// The codecs after the value codecs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Storage {
    /// The axes of a chunk along which codes become differences of neighbours, by number, in the order of the passes; none for the
    /// codes themselves. Each pass is `numcodecs.delta`, in a signed type of the codes' size, after a `transpose` that makes its
    /// axis the last.
    pub(crate) axes: Vec<usize>,
    /// Whether `scale_offset` adds [`BIAS`] to the differences; only for codes whose differences leave room for it.
    pub(crate) is_biased: bool,
    pub(crate) coder: Coder,
}

/// The compressor of a chunk's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coder {
    None,
    Zstd(i32),
    Gzip(i32),
    /// Zstandard in blocks.
    Blosc(i32, Shuffle),
    /// `numcodecs.shuffle`, and Zstandard over the whole chunk.
    ShuffledZstd(i32),
    /// `numcodecs.pcodec`, in place of `bytes`.
    Pcodec(i32),
}

/// How Blosc orders the bytes of a block before compressing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    None,
    Bytes,
    Bits,
}

impl Storage {
    /// The codes themselves, compressed.
    pub(crate) fn plain(coder: Coder) -> Self {
        Self { axes: Vec::new(), is_biased: false, coder }
    }

    /// The codecs of a named compressor.
    ///
    /// # Errors
    /// A name for a compressor that is found by trying several.
    pub(crate) fn named(compressor: Compressor) -> Result<Self> {
        Ok(Self::plain(match compressor {
            Compressor::None => Coder::None,
            Compressor::Zstd(level) => Coder::Zstd(level),
            Compressor::Gzip(level) => Coder::Gzip(level),
            Compressor::Blosc(level) => Coder::Blosc(level, Shuffle::Bytes),
            Compressor::Auto | Compressor::Smallest => {
                return usage(format!(
                    "--compressor {compressor} is for recast pack, which tries several on a sample; name \
                     none, zstd[:LEVEL], gzip[:LEVEL] or blosc[:LEVEL]"
                ));
            }
        }))
    }

    /// Whether codes that the data leave free can be stored, next to any others.
    pub(crate) fn keeps_room(&self) -> bool {
        self.axes.is_empty()
    }

    /// The codecs, for chunks with elements of a type and this many dimensions.
    pub(crate) fn codecs(&self, element_type: ElementType, dimensions: usize) -> Vec<Value> {
        let size = element_type.size();
        let bytes = bytes_codec((size > 1).then_some(ByteOrder::Little));
        let zstd = |level| codec("zstd", json!({"level": level, "checksum": false}));
        let coder = match self.coder {
            Coder::None => vec![bytes],
            Coder::Zstd(level) => vec![bytes, zstd(level)],
            Coder::Gzip(level) => vec![bytes, codec("gzip", json!({"level": level}))],
            Coder::Blosc(level, shuffle) => {
                let blosc = json!({
                    "cname": "zstd", "clevel": level, "shuffle": shuffle.name(), "typesize": size,
                    "blocksize": 0,
                });
                vec![bytes, codec("blosc", blosc)]
            }
            Coder::ShuffledZstd(level) => {
                vec![bytes, codec("numcodecs.shuffle", json!({"elementsize": size})), zstd(level)]
            }
            Coder::Pcodec(level) => self.pcodec(element_type, level),
        };
        [self.differences(element_type, dimensions), coder].concat()
    }

    /// pcodec, and the casts in front of it. It knows no bytes, so these become 16 bits. zarrs 0.23 caches what it decodes
    /// as elements of the type in front of the codec before it, so that codec is differences, or a cast to the same type.
    fn pcodec(&self, element_type: ElementType, level: i32) -> Vec<Value> {
        let has_differences = !self.axes.is_empty();
        let stored = if has_differences { with_sign(element_type, true) } else { element_type };
        let (casts, data_type) = match stored.size() {
            1 if stored.is_signed() => (2, ElementType::Int16),
            1 => (2, ElementType::UInt16),
            _ => (usize::from(!has_differences), stored),
        };
        let cast = codec("cast_value", json!({"data_type": data_type.name()}));
        let pcodec = json!({
            "level": level, "mode_spec": "auto", "delta_spec": "auto",
            "delta_encoding_order": null, "paging_spec": "equal_pages_up_to",
            "equal_pages_up_to": 1 << 18,
        });
        let pcodec = codec(PCODEC, pcodec);
        repeat_n(cast, casts).chain([pcodec]).collect()
    }

    /// Whether all differences are of the last axis, which needs no transposed chunk.
    pub(crate) fn is_of_last_axis(&self, dimensions: usize) -> bool {
        self.axes.iter().all(|axis| axis + 1 == dimensions)
    }

    /// The codecs of the differences.
    fn differences(&self, element_type: ElementType, dimensions: usize) -> Vec<Value> {
        let signed = with_sign(element_type, true);
        let mut codecs = Vec::new();
        let mut layout: Vec<usize> = (0..dimensions).collect();
        for (pass, axis) in self.axes.iter().enumerate() {
            let (others, last): (Vec<usize>, Vec<usize>) =
                (0..dimensions).partition(|&place| layout.get(place) != Some(axis));
            let order = [others, last].concat();
            if !order.is_sorted() {
                if pass > 0 {
                    // zarr-python 3.4.2 sums a transposed view up in the order of its memory; a cast gives it a copy
                    // in C order.
                    codecs.push(codec("cast_value", json!({"data_type": signed.name()})));
                }
                layout = order.iter().filter_map(|&place| layout.get(place).copied()).collect();
                codecs.push(codec("transpose", json!({"order": order})));
            }
            let before = if pass == 0 { element_type } else { signed };
            let types = json!({"dtype": numpy_name(before), "astype": numpy_name(signed)});
            codecs.push(codec(DELTA, types));
        }
        if self.is_biased {
            codecs.push(codec("scale_offset", json!({"offset": -BIAS})));
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

/// As people read it: `delta (axes 2, 1) + 128, blosc:9 (shuffle)`.
impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axes: Vec<String> = self.axes.iter().map(ToString::to_string).collect();
        match axes.as_slice() {
            [] => {}
            [one] => write!(f, "delta (axis {one})")?,
            several => write!(f, "delta (axes {})", several.join(", "))?,
        }
        if !axes.is_empty() {
            f.write_str(if self.is_biased { " + 128, " } else { ", " })?;
        }
        match self.coder {
            Coder::None => f.write_str("none"),
            Coder::Zstd(level) => write!(f, "zstd:{level}"),
            Coder::Gzip(level) => write!(f, "gzip:{level}"),
            Coder::Blosc(level, shuffle) => write!(f, "blosc:{level} ({})", shuffle.name()),
            Coder::ShuffledZstd(level) => write!(f, "shuffle, zstd:{level}"),
            Coder::Pcodec(level) => write!(f, "pcodec:{level}"),
        }
    }
}

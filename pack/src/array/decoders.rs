//! Decompressors that stop at the size of their chunk. zarrs' own allocate whatever a stored chunk claims or unfolds to.

use std::any::Any;
use std::borrow::Cow;
use std::io::{self, Read};
use std::sync::{Arc, Once};

use bzip2::read::BzDecoder;
use flate2::read::{GzDecoder, ZlibDecoder};
use zarrs::array::codec::api::{
    ArrayBytesRaw, BytesRepresentation, BytesToBytesCodecTraits, Codec, CodecError,
    CodecMetadataOptions, CodecOptions, CodecRuntimePluginV3, CodecTraits, CodecTraitsV3,
    PartialDecoderCapability, PartialEncoderCapability, RecommendedConcurrency, register_codec_v3,
};
use zarrs::array::codec::{BloscCodec, Bz2Codec, GzipCodec, ZlibCodec, ZstdCodec};
use zarrs::metadata::Configuration;
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::{ExtensionAliasesV3, ExtensionName, PluginCreateError, ZarrVersion};

/// The most bytes of a chunk whose size does not follow from its shape, such as one of texts.
pub(super) const LARGEST_UNKNOWN: u64 = 1 << 30;

/// Decodes at most this many bytes and one more; `None` if zarrs does it, which is then sure to decode no more.
type Decode = fn(&[u8], u64) -> io::Result<Option<Vec<u8>>>;

/// Makes zarrs decode with a limit, in all arrays of this process.
pub(super) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        register_one::<ZstdCodec>(zstd);
        register_one::<BloscCodec>(blosc);
        register_one::<GzipCodec>(|bytes, most| streamed(GzDecoder::new(bytes), most));
        register_one::<ZlibCodec>(|bytes, most| streamed(ZlibDecoder::new(bytes), most));
        register_one::<Bz2Codec>(|bytes, most| streamed(BzDecoder::new(bytes), most));
        #[cfg(feature = "pcodec")]
        super::pcodec::register();
    });
}

fn register_one<C: ExtensionAliasesV3 + CodecTraitsV3 + 'static>(decode: Decode) {
    let create = move |metadata: &MetadataV3| -> Result<Codec, PluginCreateError> {
        Ok(match C::create(metadata)? {
            Codec::BytesToBytes(codec) => {
                Codec::BytesToBytes(Arc::new(LimitedDecompressor { codec, decode }))
            }
            other => other,
        })
    };
    register_codec_v3(CodecRuntimePluginV3::new(C::matches_name_v3, create));
}

fn streamed(decoder: impl Read, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    decoder.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// The frames' own size is believed only if it is within the limit.
fn zstd(bytes: &[u8], most: u64) -> io::Result<Option<Vec<u8>>> {
    match ::zstd::bulk::Decompressor::upper_bound(bytes) {
        Some(claimed) if claimed as u64 <= most => Ok(None),
        _ => streamed(::zstd::Decoder::with_buffer(bytes)?, most),
    }
}

/// The header has the size, and blosc decodes no more than that.
fn blosc(bytes: &[u8], most: u64) -> io::Result<Option<Vec<u8>>> {
    let size = bytes.get(4..8).and_then(|size| size.try_into().ok()).map(u32::from_le_bytes);
    match size {
        Some(size) if u64::from(size) > most => Err(io::Error::other(too_large(most))),
        _ => Ok(None),
    }
}

fn too_large(most: u64) -> String {
    format!("it unfolds to more than {most} bytes, which its chunk has room for")
}

/// A decompressor with a limit.
#[derive(Debug)]
struct LimitedDecompressor {
    codec: Arc<dyn BytesToBytesCodecTraits>,
    decode: Decode,
}

impl ExtensionName for LimitedDecompressor {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        self.codec.name(version)
    }
}

impl CodecTraits for LimitedDecompressor {
    fn as_any(&self) -> &dyn Any {
        self.codec.as_any()
    }

    fn configuration(
        &self,
        version: ZarrVersion,
        options: &CodecMetadataOptions,
    ) -> Option<Configuration> {
        self.codec.configuration(version, options)
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        self.codec.partial_decoder_capability()
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        self.codec.partial_encoder_capability()
    }
}

impl BytesToBytesCodecTraits for LimitedDecompressor {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn BytesToBytesCodecTraits> {
        self
    }

    fn recommended_concurrency(
        &self,
        decoded: &BytesRepresentation,
    ) -> Result<RecommendedConcurrency, CodecError> {
        self.codec.recommended_concurrency(decoded)
    }

    fn encoded_representation(&self, decoded: &BytesRepresentation) -> BytesRepresentation {
        self.codec.encoded_representation(decoded)
    }

    fn encode<'a>(
        &self,
        decoded: ArrayBytesRaw<'a>,
        options: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        self.codec.encode(decoded, options)
    }

    fn decode<'a>(
        &self,
        encoded: ArrayBytesRaw<'a>,
        decoded: &BytesRepresentation,
        options: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let most = match *decoded {
            BytesRepresentation::FixedSize(size) => size,
            // The bound is that of zarrs' encoder, and others may need more.
            BytesRepresentation::BoundedSize(size) => generous(size),
            BytesRepresentation::UnboundedSize => LARGEST_UNKNOWN,
        };
        let Some(bytes) = (self.decode)(&encoded, most)? else {
            return self.codec.decode(encoded, decoded, options);
        };
        if bytes.len() as u64 > most {
            return Err(CodecError::Other(too_large(most)));
        }
        Ok(bytes.into())
    }
}

/// The bytes that are accepted where an encoder like zarrs' would write at most so many.
pub(super) fn generous(size: u64) -> u64 {
    size.saturating_mul(4).saturating_add(1 << 20)
}

//! Runs neighbouring codecs in one pass.

use std::cell::RefCell;
use std::sync::{Arc, Once};

use zarrs::array::codec::api::{
    self, ArrayToArrayCodecTraits, ArrayToBytesCodecTraits, CodecMetadataOptions,
    CodecRuntimePluginV3, CodecSpecificOptions, CodecTraits, register_codec_v3,
};
use zarrs::array::codec::{
    ShardingCodec, ShardingCodecConfiguration, ShardingCodecConfigurationV1, ShardingCodecOptions,
    SubchunkWriteOrder,
};
use zarrs::array::{Array, CodecChain};
use zarrs::metadata::ConfigurationSerialize;
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::{ExtensionAliasesV3, PluginCreateError, ZarrVersion};

use crate::codec::{RecastCodec, Replacements};
use crate::whole_shards::WholeShards;

/// The same array, with neighbouring codecs of this crate fused: `scale_offset` and `cast_value` run in one
/// pass over a chunk, without intermediate elements in memory. Codecs inside shards are fused too.
///
/// Elements, chunks and metadata do not change. The first codec of each group does the work of all; the others
/// pass elements on.
///
/// The fill value must survive the group as a whole, so a value that a cast rounds and `scale_offset` restores
/// can be written.
///
/// Set options (`CodecOptions`, `ArrayMetadataOptions`, those of other crates' codecs) on the fused array. zarrs
/// does not expose an array's options, so if codecs inside shards are fused, the array has the global ones
/// again. `docs/zarrs_proposal.patch` in this project's repository proposes a change to zarrs.
///
/// ```
/// use zarrs::array::Array;
/// use zarrs::filesystem::FilesystemStore;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # zarrs_recast::register();
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goldens/so_cv_f32_to_i16_clamp/array.zarr");
/// let store = FilesystemStore::new(folder)?;
/// let array = zarrs_recast::fused(Array::open(store.into(), "/")?);
/// let elements: Vec<f32> = array.retrieve_array_subset(&array.subset_all())?;
/// # assert!(!elements.is_empty());
/// # Ok(()) }
/// ```
#[must_use]
pub fn fused<TStorage: ?Sized>(array: Array<TStorage>) -> Array<TStorage> {
    let array = with_fused_shards(&array).unwrap_or(array);
    match replacements(array.codecs().array_to_array_codecs()) {
        Some(replacements) => {
            let options = CodecSpecificOptions::default().with_option(replacements);
            array.with_codec_specific_options(&options)
        }
        None => array,
    }
}

/// The codec that runs each group of neighbouring codecs in one pass; none if no codecs of this crate are neighbours.
fn replacements(codecs: &[Arc<dyn ArrayToArrayCodecTraits>]) -> Option<Replacements> {
    let ours: Vec<Option<&RecastCodec>> =
        codecs.iter().map(|codec| codec.as_any().downcast_ref()).collect();
    let mut replacements = Vec::new();
    let mut rest = ours.into_iter().peekable();
    while let Some(first) = rest.next() {
        let Some(first) = first else { continue };
        let (mut group, mut settings) = (vec![first], first.settings().clone());
        while let Some(Some(next)) = rest.peek()
            && let Some(both) = settings.followed_by(next.settings())
        {
            settings = both;
            group.extend(rest.next().flatten());
        }
        if let [first, others @ ..] = group.as_slice()
            && !others.is_empty()
        {
            let codecs = group.iter().flat_map(|codec| codec.codecs()).cloned().collect();
            let all = first.running(codecs, settings);
            replacements.push((first.id(), Arc::new(all)));
            let nothing = |codec: &&RecastCodec| {
                (codec.id(), Arc::new(codec.running(Vec::new(), <_>::default())))
            };
            replacements.extend(others.iter().map(nothing));
        }
    }
    Replacements::new(replacements)
}

thread_local! {
    /// The codec for the array that `with_fused_shards` creates.
    static PREPARED: RefCell<Option<Arc<dyn ArrayToBytesCodecTraits>>> = const { RefCell::new(None) };
}

/// Makes zarrs ask `PREPARED` for a sharding codec first. It is empty except while `with_fused_shards` creates
/// an array, in its thread.
fn register_prepared() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let take = |_: &MetadataV3| match PREPARED.take() {
            Some(codec) => Ok(api::Codec::ArrayToBytes(codec)),
            None => Err(PluginCreateError::from("no codec was prepared")),
        };
        let is_wanted = |name: &str| {
            ShardingCodec::matches_name_v3(name) && PREPARED.with_borrow(Option::is_some)
        };
        register_codec_v3(CodecRuntimePluginV3::new(is_wanted, take));
    });
}

/// The array with neighbouring codecs inside shards fused; `None` if there are none. It is created from the
/// metadata, because zarrs cannot replace a codec of an array.
fn with_fused_shards<TStorage: ?Sized>(array: &Array<TStorage>) -> Option<Array<TStorage>> {
    let codecs = array.codecs();
    let sharding = fused_sharding(codecs.array_to_bytes_codec())?;
    register_prepared();
    PREPARED.set(Some(sharding));
    let metadata = array.metadata().clone();
    let fused = Array::new_with_metadata(array.storage(), array.path().as_str(), metadata);
    if PREPARED.take().is_some() {
        return None; // it is not in the new array
    }
    let ours = codecs.array_to_array_codecs().iter();
    let mut ours = ours.filter_map(|codec| codec.as_any().downcast_ref::<RecastCodec>());
    let options = ours.find_map(|codec| codec.settings().options.clone());
    let fused = fused.ok()?;
    Some(match options {
        Some(options) => {
            fused.with_codec_specific_options(&CodecSpecificOptions::default().with_option(options))
        }
        None => fused,
    })
}

/// A sharding codec with neighbouring inner codecs fused, created from its metadata: zarrs gives no access to the
/// codecs inside a shard.
pub(crate) fn fused_sharding(
    codec: &Arc<dyn ArrayToBytesCodecTraits>,
) -> Option<Arc<dyn ArrayToBytesCodecTraits>> {
    let sharding: &ShardingCodec = codec.as_any().downcast_ref()?;
    let ShardingCodecConfigurationV1 { chunk_shape, codecs, index_codecs, index_location } =
        configuration(sharding)?;
    let inner = CodecChain::from_metadata(&codecs).ok()?;
    let replacements = replacements(inner.array_to_array_codecs());
    let nested = fused_sharding(inner.array_to_bytes_codec());
    if replacements.is_none() && nested.is_none() {
        return None;
    }
    let all = replacements
        .as_ref()
        .and_then(|replacements| replacements.of_all(inner.array_to_array_codecs().len()));
    let options = CodecSpecificOptions::default();
    let options = match replacements {
        Some(replacements) => options.with_option(replacements),
        None => options,
    };
    let array_to_bytes = nested.unwrap_or_else(|| inner.array_to_bytes_codec().clone());
    let index = Arc::new(CodecChain::from_metadata(&index_codecs).ok()?);
    let sharding_options = options_of(sharding)?;
    let with_codecs = |array_to_array: Vec<Arc<dyn ArrayToArrayCodecTraits>>| {
        let compressors = inner.bytes_to_bytes_codecs().to_vec();
        let inner = CodecChain::new(array_to_array, array_to_bytes.clone(), compressors);
        let inner = Arc::new(inner.with_codec_specific_options(&options));
        let sharding =
            ShardingCodec::new(chunk_shape.clone(), inner, index.clone(), index_location);
        Arc::new(sharding.with_options(sharding_options.clone()))
    };
    let fused = with_codecs(inner.array_to_array_codecs().to_vec());
    Some(match all {
        Some(codec) => Arc::new(WholeShards::new(fused, with_codecs(Vec::new()), codec)),
        None => fused,
    })
}

/// The codecs inside the shards of a sharding codec, created from their metadata.
pub(crate) fn inner_chain(codec: &Arc<dyn ArrayToBytesCodecTraits>) -> Option<CodecChain> {
    let sharding: &ShardingCodec = codec.as_any().downcast_ref()?;
    CodecChain::from_metadata(&configuration(sharding)?.codecs).ok()
}

/// The configuration of a sharding codec.
fn configuration(sharding: &ShardingCodec) -> Option<ShardingCodecConfigurationV1> {
    let options = CodecMetadataOptions::default();
    let configuration = sharding.configuration(ZarrVersion::V3, &options)?;
    match ShardingCodecConfiguration::try_from_configuration(configuration).ok()? {
        ShardingCodecConfiguration::V1(configuration) => Some(configuration),
        _ => None,
    }
}

/// The options of a sharding codec. zarrs gives them only in its `Debug` output, which is searched for the options
/// of each order. `None` if none is found; the shard then stays as it is.
fn options_of(sharding: &ShardingCodec) -> Option<ShardingCodecOptions> {
    let text = format!("{sharding:?}");
    [SubchunkWriteOrder::Unordered, SubchunkWriteOrder::C, SubchunkWriteOrder::Random]
        .map(|order| ShardingCodecOptions::default().with_subchunk_write_order(order))
        .into_iter()
        .find(|options| text.ends_with(&format!("options: {options:?} }}")))
}

//! Codecs next to each other, run as one.

use zarrs::array::Array;
use zarrs::array::codec::api::CodecSpecificOptions;

use zarr_recast::Codec;

use crate::bound::Settings;
use crate::codec::RecastCodec;

/// The same array, whose neighbouring codecs of this crate run as one: `scale_offset` and
/// `cast_value` in one pass over a chunk, without the elements between them in memory.
///
/// Elements, chunks and metadata are the same as without. The first codec of each group does the work
/// of all, the others pass on what they get. Codecs inside a shard are left as they are: zarrs offers
/// no way to them.
///
/// Whether the fill value survives is asked of the group as a whole, so one that a cast rounds and
/// `scale_offset` restores is no obstacle to writing.
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
    let mut groups: Vec<Vec<&RecastCodec>> = Vec::new();
    let chain = array.codecs();
    let mut previous: Option<&RecastCodec> = None;
    for codec in chain.array_to_array_codecs() {
        let codec = codec.as_any().downcast_ref::<RecastCodec>();
        match (previous, codec, groups.last_mut()) {
            (Some(previous), Some(codec), Some(group))
                if previous.settings().can_precede(codec.settings()) =>
            {
                group.push(codec);
            }
            (_, Some(codec), _) => groups.push(vec![codec]),
            (_, None, _) => {}
        }
        previous = codec;
    }
    let groups: Vec<Group> = groups.iter().map(|group| Group::new(group)).collect();
    let mut addresses: Vec<usize> = groups.iter().flat_map(|group| group.members.clone()).collect();
    addresses.sort_unstable();
    if addresses.windows(2).any(|pair| pair[0] == pair[1]) {
        // A builder was given one codec twice, so its address does not tell its place.
        drop(chain);
        return array;
    }
    let groups = Groups(groups);
    drop(chain);
    array.with_codec_specific_options(&CodecSpecificOptions::default().with_option(groups))
}

/// Groups of neighbours, on their way through zarrs to the codecs that are in them.
pub(crate) struct Groups(Vec<Group>);

struct Group {
    /// Addresses of the codecs, which live as long as the array whose codecs are replaced.
    members: Vec<usize>,
    codecs: Vec<Codec>,
    settings: Settings,
}

impl Group {
    fn new(members: &[&RecastCodec]) -> Self {
        Self {
            members: members.iter().map(|member| address(member)).collect(),
            codecs: members.iter().flat_map(|member| member.codecs()).cloned().collect(),
            settings: members.last().map_or_else(<_>::default, |last| last.settings().clone()),
        }
    }
}

impl Groups {
    /// What a codec has to run, and how it is to be bound, if it is in a group.
    pub(crate) fn of(&self, codec: &RecastCodec) -> Option<(Vec<Codec>, Settings)> {
        let address = address(codec);
        self.0.iter().find_map(|group| {
            match group.members.iter().position(|&member| member == address)? {
                0 => Some((group.codecs.clone(), group.settings.clone())),
                _ => Some((Vec::new(), Settings::default())),
            }
        })
    }
}

fn address(codec: &RecastCodec) -> usize {
    std::ptr::from_ref(codec).addr()
}

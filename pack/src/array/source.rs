//! Reads arrays chunk by chunk.

use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use recast_kernels::{ElementType, Scalar};
use serde_json::Value;
use zarr_recast::{FillCheck, data_type};
use zarrs::array::{
    Array, ArrayBytes, ArrayCreateError, ArrayMetadata, ArrayShardedExt, ArraySubset, CodecOptions,
};
use zarrs::plugin::{PluginCreateError, ZarrVersion};
use zarrs::storage::ReadableListableStorageTraits;

use super::decoders;
use super::region::Region;
use super::stored::{largest_stored, refuse_long};
use crate::error::{Result, guarded, is_out_of_files};
use crate::metadata::bound_codecs::BoundCodecs;
use crate::metadata::byte_codecs::PCODEC;
use crate::metadata::codecs::CodecList;
use crate::metadata::document::array_metadata;
use crate::metadata::tree::{Node, NodeFormat, node};
use crate::options::ShardCodecs;
use crate::runtime::{ChunkMemory, Pass, Runtime, start_threads};
use crate::store::files::open_regular;
use crate::store::limited::is_affordable;
use crate::store::location::{Kind, Location};
use crate::store::names::SafePath;
use crate::text::first_of;

/// More chunks than this would take hours even if none were stored.
const MOST_CHUNKS: u64 = 100_000_000;
/// A whole chunk is decoded at once, so it must fit into memory a few times.
const LARGEST_CHUNK: u64 = 4 << 30;

/// Bytes that are read at once if possible, so that they are processed while still in a cache.
pub(crate) const READ_SIZE: usize = 128 << 10;

thread_local! {
    /// Memory for a piece, used again for each piece.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// An array of any type.
pub(crate) type AnyArray = Array<dyn ReadableListableStorageTraits>;

/// An array opened for reading.
pub(crate) struct Source {
    array: AnyArray,
    location: Location,
    element_type: ElementType,
    fill_value: Scalar,
    codecs: BoundCodecs,
    /// Whether the stored bytes of a chunk are its elements in this machine's byte order.
    is_plain: bool,
    /// Whether the stored metadata are Zarr v1 or v2; those in use are always Zarr v3.
    is_older: bool,
    chunks: u64,
    options: CodecOptions,
}

impl Source {
    /// Opens the array at a path, as strictly as the job's caller requests.
    pub(crate) fn open_for(runtime: &Runtime, path: &Path) -> Result<Self> {
        Self::open(path, fill_check(runtime))
    }

    /// Opens the array at a path. Fill values that `fill_check` allows beyond the specification are read as they are.
    pub(crate) fn open(path: &Path, fill_check: FillCheck) -> Result<Self> {
        let open = |location| Self::open_at(location, fill_check);
        Location::new(path).and_then(open).with_context(|| path.display().to_string())
    }

    /// Opens an array that this job has written.
    pub(crate) fn written(directory: &Path, fill_check: FillCheck) -> Result<Self> {
        Self::open(directory, fill_check).context("reading back what was written")
    }

    /// Opens the array at a place.
    pub(crate) fn open_at(location: Location, fill_check: FillCheck) -> Result<Self> {
        let node = node(SafePath::default(), location)?;
        match (node.kind, &node.format) {
            (Kind::Array, _) => Self::of_node(&node, fill_check),
            (_, NodeFormat::Implicit) => {
                Err(node.location.no_node("no array here: none of zarr.json, .zarray and meta"))
            }
            _ => {
                let some = named(&node.location);
                bail!("a group, not an array; name one of the arrays in it{some}")
            }
        }
    }

    /// Opens an array of a group.
    pub(crate) fn of_node(node: &Node, fill_check: FillCheck) -> Result<Self> {
        let source = Self::of(node.location.clone(), array_of(node)?, fill_check)?;
        Ok(Self { is_older: !node.is_v3(), ..source })
    }

    /// An array with metadata that are not stored.
    pub(crate) fn in_memory(
        location: Location,
        metadata: ArrayMetadata,
        fill_check: FillCheck,
    ) -> Result<Self> {
        let array = array_with(&location, metadata)?;
        Self::of(location, array, fill_check)
    }

    fn of(location: Location, array: AnyArray, fill_check: FillCheck) -> Result<Self> {
        let name = array
            .data_type()
            .name_v3()
            .map_or_else(|| format!("{:?}", array.data_type()), std::borrow::Cow::into_owned);
        let element_type = data_type::parse(&name)?;
        let fill_value = Scalar::from_ne_bytes(element_type, array.fill_value().as_ne_bytes())
            .ok_or_else(|| anyhow!("the fill value is not one element of {element_type}"))?;
        let metadata = serde_json::to_value(array.metadata())?;
        let codecs = CodecList::from(metadata.get("codecs").cloned().unwrap_or_default());
        let codecs = BoundCodecs::read(&codecs, element_type, fill_value, fill_check)?;
        let grid = array.chunk_grid_shape();
        let chunks = if grid.contains(&0) {
            Some(0)
        } else {
            grid.iter().try_fold(1_u64, |product, &extent| product.checked_mul(extent))
        };
        let chunks = chunks.filter(|&chunks| chunks <= MOST_CHUNKS).with_context(|| {
            format!(
                "shape {:?} has more than {MOST_CHUNKS} chunks, which is too many to go through; \
                 use larger chunks",
                array.shape()
            )
        })?;
        let is_plain = is_plain(&metadata, &codecs, element_type);
        let options = CodecOptions::default().with_concurrent_target(1);
        let array = zarrs_recast::fused(array);
        let source = Self {
            array,
            location,
            element_type,
            fill_value,
            codecs,
            is_plain,
            is_older: false,
            chunks,
            options,
        };
        if chunks > 0 {
            source.region(0)?;
        }
        Ok(source)
    }

    /// Refuses a place for value codecs in shards if there are none.
    pub(crate) fn refuse_place(&self, place: ShardCodecs) -> Result<()> {
        if place != ShardCodecs::Auto && !self.array.is_sharded() {
            bail!(
                "{}: --shard-codecs is for arrays with shards, and this has none; leave it out",
                self.path().display()
            );
        }
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        self.location.path()
    }

    /// An attribute that is text.
    pub(crate) fn text_attribute(&self, name: &str) -> Option<&str> {
        self.array.attributes().get(name)?.as_str()
    }

    pub(crate) fn array(&self) -> &AnyArray {
        &self.array
    }

    /// Whether the array is stored as Zarr v1 or v2.
    pub(crate) fn is_older(&self) -> bool {
        self.is_older
    }

    /// The path of the array.
    pub(crate) fn location(&self) -> &Location {
        &self.location
    }

    pub(crate) fn element_type(&self) -> ElementType {
        self.element_type
    }

    pub(crate) fn fill_value(&self) -> Scalar {
        self.fill_value
    }

    /// Whether a part of a chunk can be read without decoding all of it.
    pub(crate) fn reads_parts(&self) -> bool {
        self.is_plain || self.array.is_sharded()
    }

    /// The shape of the chunks inside shards; none without shards.
    pub(crate) fn inner_chunk_shape(&self) -> Option<Vec<u64>> {
        let inner = self.array.is_sharded().then(|| self.array.effective_subchunk_shape());
        inner.flatten().map(|shape| shape.iter().map(|extent| extent.get()).collect())
    }

    /// The shape in which elements are encoded: of the chunks, or of those inside shards; none without chunks.
    pub(crate) fn encoded_chunk_shape(&self) -> Result<Option<Vec<u64>>> {
        let first = self.first_chunk_shape()?;
        Ok(first.map(|whole| self.inner_chunk_shape().unwrap_or(whole)))
    }

    fn first_chunk_shape(&self) -> Result<Option<Vec<u64>>> {
        if self.chunks == 0 {
            return Ok(None);
        }
        Ok(Some(self.region(0)?.chunk_shape))
    }

    /// The number of chunks.
    pub(crate) fn chunks(&self) -> u64 {
        self.chunks
    }

    /// A pass over all chunks, as progress shows it.
    pub(crate) fn pass(&self, name: &'static str) -> Pass {
        Pass::over_bytes(name, self.bytes())
    }

    /// The bytes of all decoded elements.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = self.elements() * self.element_type.size() as u128;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// The memory for its first chunk; `None` without chunks.
    pub(crate) fn chunk_memory(&self) -> Result<Option<ChunkMemory>> {
        self.chunk_memory_as(self.element_type)
    }

    /// As [`Self::chunk_memory`], if the elements are read in another type, too.
    pub(crate) fn chunk_memory_as(&self, other: ElementType) -> Result<Option<ChunkMemory>> {
        let Some(shape) = self.first_chunk_shape()? else { return Ok(None) };
        let size = self.element_type.size().max(other.size());
        let decoded = shape.iter().product::<u64>() * size as u64;
        Ok(Some(ChunkMemory { array: self.path().to_owned(), shape, decoded }))
    }

    /// The number of elements.
    pub(crate) fn elements(&self) -> u128 {
        self.array.shape().iter().map(|&extent| u128::from(extent)).product()
    }

    /// The codecs.
    pub(crate) fn codecs(&self) -> &BoundCodecs {
        &self.codecs
    }

    /// The chunk with this number, counted in C order.
    pub(crate) fn region(&self, number: u64) -> Result<Region> {
        if number >= self.chunks {
            bail!("there is no chunk {number}");
        }
        let chunk = zarrs::array::unravel_index(number, self.array.chunk_grid_shape())
            .with_context(|| format!("there is no chunk {number}"))?;
        let chunk = Vec::from(chunk.as_slice());
        let chunk_shape: Vec<u64> =
            self.array.chunk_shape(&chunk)?.iter().map(|extent| extent.get()).collect();
        let size = self.element_type.size() as u64;
        let bytes =
            chunk_shape.iter().try_fold(size, |product, &extent| product.checked_mul(extent));
        let bytes = bytes.filter(|&bytes| bytes <= LARGEST_CHUNK);
        let Some(bytes) = bytes else {
            bail!(
                "chunk {chunk:?} of shape {chunk_shape:?} takes more than {} GiB decoded, which is \
                 too much to hold; use smaller chunks",
                LARGEST_CHUNK >> 30
            );
        };
        if !is_affordable(bytes.saturating_mul(2)) {
            bail!(
                "memory has no room for chunk {chunk:?} of shape {chunk_shape:?}; use smaller chunks"
            );
        }
        let bounded = self.array.chunk_subset_bounded(&chunk)?;
        let (origin, shape) = (bounded.start().to_vec(), bounded.shape().to_vec());
        Ok(Region { chunk, origin, shape, chunk_shape })
    }

    /// The chunk with an element, by its place in the grid.
    pub(crate) fn chunk_of(&self, element: &[u64]) -> Result<Vec<u64>> {
        let chunk = self.array.chunk_grid().chunk_indices(element)?;
        chunk.with_context(|| format!("{}: no chunk has {element:?}", self.path().display()))
    }

    /// The elements of a region in C order and native byte order; `None` if its chunk is not stored.
    pub(crate) fn read(&self, region: &Region) -> Result<Option<Vec<u8>>> {
        let read = || -> Result<Option<Vec<u8>>> {
            let bytes = self.array.retrieve_chunk_if_exists_opt::<ArrayBytes<'static>>(
                &region.chunk,
                &self.options,
            )?;
            let Some(bytes) = bytes else { return Ok(None) };
            let bytes = bytes.into_fixed()?.into_owned();
            let expected = region.chunk_shape.iter().product::<u64>() as usize;
            if bytes.len() != expected * self.element_type.size() {
                bail!("{} bytes decoded, {expected} elements expected", bytes.len());
            }
            Ok(Some(region.crop(bytes, self.element_type.size())?))
        };
        guarded(read).map_err(|error| self.of_chunk(error, region))
    }

    /// Goes through the elements of a region in C order and native byte order. `work` gets some elements and the
    /// index of the first of them. False if the chunk is not stored.
    pub(crate) fn pieces(
        &self,
        region: &Region,
        mut work: impl FnMut(usize, &mut [u8]) -> Result<()>,
    ) -> Result<bool> {
        let size = self.element_type.size();
        if let Some((mut file, mut rest)) = self.plain_file(region) {
            let mut buffer = BUFFER.take();
            let mut first = 0;
            while rest > 0 {
                buffer.resize(rest.min(READ_SIZE), 0);
                file.read_exact(&mut buffer)
                    .map_err(|error| self.of_chunk(error.into(), region))?;
                work(first, &mut buffer)?;
                first += buffer.len() / size;
                rest -= buffer.len();
            }
            BUFFER.set(buffer);
            return Ok(true);
        }
        let Some(mut elements) = self.read(region)? else { return Ok(false) };
        for (number, piece) in elements.chunks_mut(READ_SIZE).enumerate() {
            work(number * (READ_SIZE / size), piece)?;
        }
        Ok(true)
    }

    /// The file of a chunk that consists of its elements only, with its length; none if the chunk must be read
    /// through zarrs.
    fn plain_file(&self, region: &Region) -> Option<(File, usize)> {
        let size = self.element_type.size();
        let length = region.elements() as usize * size;
        if !self.is_plain || !region.is_whole() {
            return None;
        }
        let path = self.location.file(&self.array.chunk_key(&region.chunk))?;
        let (file, stored) = open_regular(&path).ok()?;
        (stored == length as u64).then_some((file, length))
    }

    /// Names a chunk, for an error.
    fn name(&self, region: &Region, way_out: &str) -> String {
        let key = self.array.chunk_key(&region.chunk);
        let path = self.path().display();
        format!("{path}: chunk {:?} ({key}; {way_out})", region.chunk)
    }

    /// An error of a chunk.
    fn of_chunk(&self, error: anyhow::Error, region: &Region) -> anyhow::Error {
        let way_out = if is_out_of_files(&error) {
            "use fewer --threads, or let the process open more files (ulimit -n)"
        } else {
            "restore it if it is damaged"
        };
        error.context(self.name(region, way_out))
    }

    /// The elements of a region of another array of the same shape; `None` if it is a chunk here, too, and not stored.
    pub(crate) fn read_at(&self, region: &Region) -> Result<Option<Vec<u8>>> {
        let same = self
            .array
            .chunk_subset_bounded(&region.chunk)
            .is_ok_and(|subset| subset.start() == region.origin && subset.shape() == region.shape);
        let is_inside = |(number, extent): (&u64, &u64)| number < extent;
        let grid = self.array.chunk_grid_shape();
        if same && region.chunk.iter().zip(grid).all(is_inside) {
            let chunk_shape = self.array.chunk_shape(&region.chunk)?;
            let chunk_shape = chunk_shape.iter().map(|extent| extent.get()).collect();
            return self.read(&Region { chunk_shape, ..region.clone() });
        }
        let read = || -> Result<Vec<u8>> {
            let subset =
                ArraySubset::new_with_start_shape(region.origin.clone(), region.shape.clone())?;
            self.part(&subset, &self.options)
        };
        let elements = guarded(read).with_context(|| {
            format!("{}: elements from {:?}", self.path().display(), region.origin)
        });
        Ok(Some(elements?))
    }

    /// The elements of a part of the array, in C order and native byte order.
    pub(crate) fn part(&self, part: &ArraySubset, options: &CodecOptions) -> Result<Vec<u8>> {
        let codecs = self.array.codecs();
        let mut names = codecs.array_to_array_codecs().iter().map(|one| one.name(ZarrVersion::V3));
        // Where zarrs decodes a part of a chunk that is not stored, it rounds the fill value, too.
        if !names.any(|name| name.is_some_and(|name| name.ends_with("bitround"))) {
            let bytes =
                self.array.retrieve_array_subset_opt::<ArrayBytes<'static>>(part, options)?;
            return Ok(bytes.into_fixed()?.into_owned());
        }
        let chunks = self.array.chunks_in_array_subset(part)?.context("chunks without shapes")?;
        let around = self.array.chunks_subset(&chunks)?;
        let bytes = self.array.retrieve_chunks_opt::<ArrayBytes<'static>>(&chunks, options)?;
        let (start, data_type) = (around.start(), self.array.data_type());
        let bytes =
            bytes.extract_array_subset(&part.relative_to(start)?, around.shape(), data_type)?;
        Ok(bytes.into_fixed()?.into_owned())
    }

    /// As [`Source::read`], with the fill value in place of a chunk that is not stored.
    pub(crate) fn read_or_fill(&self, region: &Region) -> Result<Vec<u8>> {
        Ok(self.or_fill(region, self.read(region)?))
    }

    /// The elements of a region: those read, or the fill value for each if the region is not stored.
    pub(crate) fn or_fill(&self, region: &Region, elements: Option<Vec<u8>>) -> Vec<u8> {
        let fill = || self.fill_value.to_ne_bytes().repeat(region.elements() as usize);
        elements.unwrap_or_else(fill)
    }
}

/// Opens an array, whatever its type is.
///
/// # Errors
/// A type or a codec that is not decoded here; invalid metadata.
pub(crate) fn array_of(node: &Node) -> Result<AnyArray> {
    if let NodeFormat::Inexpressible(reason) = &node.format {
        bail!("{reason:#}");
    }
    array_with(&node.location, array_metadata(&node.document)?)
}

/// The array at a place, with these metadata.
fn array_with(location: &Location, metadata: ArrayMetadata) -> Result<AnyArray> {
    zarrs_recast::register();
    start_threads()?;
    decoders::register();
    refuse_long(&metadata)?;
    let (storage, node) = (Arc::clone(location.storage()), location.node());
    let array = Array::new_with_metadata(storage, &node, metadata).map_err(explained)?;
    // Some encodings of keys add any text to all of them.
    let first = array.chunk_key(&vec![0; array.dimensionality()]);
    SafePath::new(first.as_str()).context("chunk_key_encoding")?;
    let storage = location.limited(largest_stored(&array));
    Ok(array.with_storage(storage))
}

/// Some of the arrays in a group, for an error.
fn named(group: &Location) -> String {
    const MOST: usize = 8;
    let [names, _] = group.below().unwrap_or_default();
    if names.is_empty() {
        return String::new();
    }
    format!(": {}", first_of(&names, MOST))
}

/// How strict to be about the fill value of an existing array.
pub(crate) fn fill_check(runtime: &Runtime) -> FillCheck {
    if runtime.accept_fill_value { FillCheck::ReportOnly } else { FillCheck::Open }
}

/// Whether the codecs of Zarr v3 metadata leave elements unchanged.
fn is_plain(metadata: &Value, codecs: &BoundCodecs, element_type: ElementType) -> bool {
    let [only] = codecs.codecs.as_slice() else { return false };
    let endian = only.configuration.get("endian").and_then(Value::as_str);
    let is_native = element_type.size() == 1
        || endian == Some(if cfg!(target_endian = "little") { "little" } else { "big" });
    let transformers = metadata.get("storage_transformers").and_then(Value::as_array);
    transformers.is_none_or(Vec::is_empty)
        && only.name == "bytes"
        && is_native
        // Smaller types have unused bits in a byte.
        && element_type.bits() >= 8
}

/// The error of zarrs, and the feature to enable.
fn explained(error: ArrayCreateError) -> anyhow::Error {
    if matches!(error, ArrayCreateError::StorageError(_)) {
        return error.into(); // its source says more
    }
    let text = zarrs_recast::explain(&error);
    if cfg!(not(feature = "pcodec")) && text.contains(PCODEC) {
        return anyhow!(
            "this recast has no codec {PCODEC}; build it with --features pcodec, or pack the array with another \
             --compressor"
        );
    }
    match error {
        ArrayCreateError::CodecsCreateError(PluginCreateError::Unsupported(error)) => anyhow!(
            "{error}; write the array again with another compressor or filter, for instance with zarr-python, or \
             correct the name; a program that links recast-pack can register the codec"
        ),
        ArrayCreateError::DataTypeCreateError(PluginCreateError::Unsupported(error)) => {
            anyhow!("{error}; only arrays of numbers can be read, so leave this one as it is")
        }
        _ => anyhow!("{text}"),
    }
}

//! New metadata over chunks that stay the bytes they are: nothing is decoded, so nothing can change
//! but what the bytes stand for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use recast_kernels::{ElementType, Scalar};
use serde_json::{Map, Value, json};
use zarr_recast::data_type::ByteOrder;
use zarr_recast::{Codec, fill_value};
use zarrs::array::{Array, ArrayMetadata, ArrayMetadataV2};
use zarrs::convert::array_metadata_v2_to_v3;
use zarrs::filesystem::FilesystemStore;

use crate::array::Source;
use crate::group::tree;
use crate::output::unwritten;
use crate::work::Workers;

/// How a chunk gets from one array to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// As a second file of its own.
    Copy,
    /// As another name of the same file, where the filesystem can do that.
    Link,
}

/// What was transferred.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transferred {
    pub(crate) copied: u64,
    pub(crate) linked: u64,
    pub(crate) bytes: u64,
}

/// The metadata of an array as Zarr v3, to be changed and written over the same chunks.
#[derive(Clone, Debug)]
pub(crate) struct Carried {
    document: Map<String, Value>,
}

impl Carried {
    /// The array's own metadata; those of Zarr v1 and v2 are translated. The chunks keep their keys.
    pub(crate) fn new(source: &Source) -> Result<Self> {
        let document = match source.array().metadata() {
            ArrayMetadata::V3(metadata) => serde_json::to_value(metadata)?,
            ArrayMetadata::V2(metadata) => {
                let mut document = translated(metadata)?;
                let fill = fill_value::to_json(source.fill_value());
                set(&mut document, "fill_value", fill);
                let legacy = source.codecs().chain(source.element_type(), source.fill_value())?;
                if let Some(order) = legacy.encoded_byte_order() {
                    set_byte_order(&mut document, order);
                }
                document
            }
        };
        let Value::Object(mut document) = document else {
            return Err(anyhow!("the metadata are not a JSON object"));
        };
        name_dimensions(&mut document);
        if let Some(codecs) = document.get_mut("codecs") {
            as_objects(codecs);
        }
        Ok(Self { document })
    }

    pub(crate) fn document(&self) -> &Map<String, Value> {
        &self.document
    }

    /// The codecs of the array, all of them.
    pub(crate) fn codecs(&self) -> &Value {
        self.document.get("codecs").unwrap_or(&Value::Null)
    }

    /// Sets the type and the fill value of the array's elements.
    pub(crate) fn set_values(&mut self, element_type: ElementType, fill: Scalar) {
        self.document.insert("data_type".into(), element_type.name().into());
        self.document.insert("fill_value".into(), fill_value::to_json(fill));
    }

    pub(crate) fn set_attributes(&mut self, attributes: Map<String, Value>) {
        if attributes.is_empty() {
            self.document.remove("attributes");
        } else {
            self.document.insert("attributes".into(), attributes.into());
        }
    }

    /// Puts value codecs before all others.
    pub(crate) fn prepend(&mut self, codecs: &[Codec]) {
        let before = codecs.iter().map(Codec::to_json);
        let behind = self.document.get("codecs").and_then(Value::as_array).cloned();
        let all = before.chain(behind.unwrap_or_default()).collect();
        self.document.insert("codecs".into(), Value::Array(all));
    }

    /// Replaces each run of neighbouring value codecs, also inside shards, by what `replace` makes of
    /// it; it is asked in the order in which elements pass the codecs.
    pub(crate) fn replace_value_codecs(
        &mut self,
        mut replace: impl FnMut(&[Codec]) -> Result<Vec<Codec>>,
    ) -> Result<()> {
        if let Some(codecs) = self.document.get_mut("codecs").and_then(Value::as_array_mut) {
            replace_in(codecs, &mut replace)?;
        }
        Ok(())
    }

    /// The value codecs, in the order in which elements pass them.
    pub(crate) fn value_codecs(&self) -> Result<Vec<Codec>> {
        let mut all = Vec::new();
        self.clone().replace_value_codecs(|run| {
            all.extend_from_slice(run);
            Ok(run.to_vec())
        })?;
        Ok(all)
    }

    /// Gives the chunks the keys that Zarr v3 has by default.
    pub(crate) fn use_default_keys(&mut self) {
        let keys = json!({"name": "default", "configuration": {"separator": "/"}});
        self.document.insert("chunk_key_encoding".into(), keys);
    }

    /// The metadata as text.
    pub(crate) fn text(&self) -> Result<String> {
        tree::text(&self.document)
    }

    /// Writes the array into a directory: the chunks of `source`, then the metadata.
    pub(crate) fn write(
        &self,
        source: &Source,
        directory: &Path,
        transfer: Transfer,
        workers: &Workers,
    ) -> Result<Transferred> {
        let metadata: ArrayMetadata = serde_json::from_value(self.document.clone().into())?;
        let store = Arc::new(FilesystemStore::new(directory)?);
        let target = Array::new_with_metadata(Arc::clone(&store), "/", metadata)?;
        let work = |number| -> Result<Transferred> {
            let chunk = source.region(number)?.chunk;
            let path = store.key_to_fspath(&target.chunk_key(&chunk));
            let bytes = || source.chunk_bytes(&chunk);
            transferred(source.chunk_file(&chunk), bytes, &path, transfer)
                .map_err(|error| unwritten(error, &format_args!("chunk {chunk:?}")))
        };
        let mut total = Transferred::default();
        workers.run("chunks", source.chunks(), work, |one| {
            total.copied += one.copied;
            total.linked += one.linked;
            total.bytes += one.bytes;
            Ok(())
        })?;
        fs::write(directory.join("zarr.json"), self.text()?)
            .map_err(|error| unwritten(error.into(), &"zarr.json"))?;
        Ok(total)
    }
}

/// Codecs without a configuration as objects, which every reader takes; zarrs writes bare names.
fn as_objects(codecs: &mut Value) {
    for codec in codecs.as_array_mut().into_iter().flatten() {
        if codec.is_string() {
            *codec = json!({"name": codec.take()});
        }
        for inner in ["/configuration/codecs", "/configuration/index_codecs"] {
            if let Some(inner) = codec.pointer_mut(inner) {
                as_objects(inner);
            }
        }
    }
}

/// The metadata of Zarr v2 as Zarr v3. zarrs would round the numbers of value codecs, so these go
/// another way.
fn translated(metadata: &ArrayMetadataV2) -> Result<Value> {
    let mut others = metadata.clone();
    let filters = others.filters.take().unwrap_or_default();
    let is_value = |id: &str| Codec::is_known(&format!("numcodecs.{id}"));
    let rest: Vec<_> = filters.iter().filter(|filter| !is_value(filter.id())).cloned().collect();
    let count = rest.len();
    others.filters = (!rest.is_empty()).then_some(rest);
    let translated =
        array_metadata_v2_to_v3(&others).context("the metadata cannot be said in Zarr v3")?;
    let mut document = serde_json::to_value(translated)?;
    let Some(codecs) = document.get_mut("codecs").and_then(Value::as_array_mut) else {
        return Ok(document);
    };
    // Before the filters zarrs puts what stands for `order`, behind them bytes and the compressor.
    let behind = 1 + usize::from(metadata.compressor.is_some());
    let before = codecs.len().saturating_sub(count + behind);
    for (index, filter) in filters.iter().enumerate().filter(|(_, filter)| is_value(filter.id())) {
        let codec = json!({
            "name": format!("numcodecs.{}", filter.id()),
            "configuration": filter.configuration(),
        });
        codecs.insert((before + index).min(codecs.len()), codec);
    }
    Ok(document)
}

/// The metadata of an array of Zarr v2 as those of Zarr v3 over the same files, whatever its type.
pub(crate) fn document_of_v2(metadata: &ArrayMetadataV2) -> Result<Map<String, Value>> {
    let Value::Object(mut document) = translated(metadata)? else {
        return Err(anyhow!("the metadata are not a JSON object"));
    };
    name_dimensions(&mut document);
    if let Some(codecs) = document.get_mut("codecs") {
        as_objects(codecs);
    }
    Ok(document)
}

/// Brings what is stored to another place, if there is anything: from its file, if it has one, or the
/// bytes.
pub(crate) fn transferred(
    file: Option<PathBuf>,
    bytes: impl FnOnce() -> Result<Option<Vec<u8>>>,
    place: &Path,
    transfer: Transfer,
) -> Result<Transferred> {
    let none = Transferred::default();
    let make_parent = || place.parent().map_or(Ok(()), fs::create_dir_all);
    let Some(file) = file else {
        let Some(bytes) = bytes()? else { return Ok(none) };
        make_parent()?;
        fs::write(place, &bytes)?;
        return Ok(Transferred { copied: 1, bytes: bytes.len() as u64, ..none });
    };
    let bytes = match fs::metadata(&file) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(none),
        Err(error) => return Err(error.into()),
    };
    make_parent()?;
    // A filesystem without links, or the border of one, is no reason to fail.
    if transfer == Transfer::Link && fs::hard_link(&file, place).is_ok() {
        return Ok(Transferred { linked: 1, bytes, ..none });
    }
    fs::copy(&file, place)?;
    Ok(Transferred { copied: 1, bytes, ..none })
}

fn replace_in(
    codecs: &mut Vec<Value>,
    replace: &mut impl FnMut(&[Codec]) -> Result<Vec<Codec>>,
) -> Result<()> {
    let is_value = |codec: &Value| {
        let name = codec.get("name").unwrap_or(codec).as_str();
        name.is_some_and(Codec::is_known)
    };
    let mut result = Vec::with_capacity(codecs.len());
    let mut rest = std::mem::take(codecs).into_iter().peekable();
    while let Some(mut codec) = rest.next() {
        if !is_value(&codec) {
            let inner = codec.pointer_mut("/configuration/codecs").and_then(Value::as_array_mut);
            if let Some(inner) = inner {
                replace_in(inner, replace)?;
            }
            result.push(codec);
            continue;
        }
        let mut run = vec![Codec::from_json(&codec)?];
        while let Some(next) = rest.next_if(|next| is_value(next)) {
            run.push(Codec::from_json(&next)?);
        }
        result.extend(replace(&run)?.iter().map(Codec::to_json));
    }
    *codecs = result;
    Ok(())
}

fn set(document: &mut Value, member: &str, value: Value) {
    if let Some(object) = document.as_object_mut() {
        object.insert(member.to_owned(), value);
    }
}

/// In Zarr v2 elements are stored in the byte order of what the last filter gives, not of the array.
fn set_byte_order(document: &mut Value, order: ByteOrder) {
    let name = match order {
        ByteOrder::Little => "little",
        ByteOrder::Big => "big",
    };
    let codecs = document.get_mut("codecs").and_then(Value::as_array_mut);
    for codec in codecs.into_iter().flatten() {
        if codec.get("name").is_some_and(|name| name == "bytes") {
            set(codec, "configuration", json!({"endian": name}));
        }
    }
}

/// What xarray keeps in an attribute in Zarr v2 has a member of its own in Zarr v3.
pub(crate) fn name_dimensions(document: &mut Map<String, Value>) {
    const ATTRIBUTE: &str = "_ARRAY_DIMENSIONS";
    let names = |value: &Value| -> Option<Vec<Value>> {
        let names = value.as_array()?;
        names.iter().all(Value::is_string).then(|| names.clone())
    };
    let rank = document.get("shape").and_then(Value::as_array).map(Vec::len);
    let Some(attributes) = document.get_mut("attributes").and_then(Value::as_object_mut) else {
        return;
    };
    let Some(names) = attributes.get(ATTRIBUTE).and_then(names) else { return };
    if Some(names.len()) != rank {
        return;
    }
    attributes.remove(ATTRIBUTE);
    if document.get("dimension_names").is_none_or(Value::is_null) {
        document.insert("dimension_names".into(), names.into());
    }
}

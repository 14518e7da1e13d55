//! The codecs of an array as its metadata list them, and those inside shards.

use std::iter::once;

use serde_json::{Map, Value, json};
use zarr_recast::data_type::ByteOrder;
use zarr_recast::{Codec, MetadataError};

use super::document::name_of;
use crate::error::Result;

pub(crate) const SHARDING: &str = "sharding_indexed";

/// Where a shard has the codecs of its inner chunks, and those of its index.
const INNER: &str = "/configuration/codecs";
const INDEX: &str = "/configuration/index_codecs";

/// A list of codecs of Zarr v3, in the order in which elements pass them.
#[derive(Clone, Debug, Default)]
pub(crate) struct CodecList(pub(crate) Vec<CodecEntry>);

/// A codec of a list.
#[derive(Clone, Debug)]
pub(crate) struct CodecEntry {
    pub(crate) name: String,
    /// As it was read; null stands for the codecs of inner chunks.
    json: Value,
    /// The codecs of the inner chunks of a shard.
    pub(crate) inner: Option<CodecList>,
}

/// The effect of a codec on its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodecKind {
    /// A value codec, which gives them another type or other values.
    Value,
    /// Elements keep their type, and their values, exactly or almost.
    KeepsValues,
    /// Elements become bytes. Value codecs stand before such a codec.
    ToBytes,
    /// Anything else, such as differences. Behind it, elements are unknown, or bytes already.
    Other,
}

impl CodecEntry {
    pub(crate) fn kind(&self) -> CodecKind {
        let name = self.name.as_str();
        if Codec::is_known(name) {
            return CodecKind::Value;
        }
        match name.trim_start_matches("numcodecs.") {
            "transpose" | "reshape" | "squeeze" | "bitround" => CodecKind::KeepsValues,
            _ if ["bytes", "packbits", SHARDING].contains(&name) => CodecKind::ToBytes,
            _ => CodecKind::Other,
        }
    }

    /// A value codec.
    pub(crate) fn value_codec(&self) -> std::result::Result<Codec, MetadataError> {
        Codec::from_json(&self.json)
    }

    /// Its configuration, without the codecs of inner chunks.
    pub(crate) fn configuration(&self) -> Value {
        let mut configuration = self.json.get("configuration").cloned().unwrap_or_default();
        if let Some(object) = configuration.as_object_mut() {
            object.remove("codecs");
        }
        configuration
    }

    fn into_json(mut self) -> Value {
        if let Some((inner, place)) = self.inner.zip(self.json.pointer_mut(INNER)) {
            *place = inner.into_json();
        }
        self.json
    }
}

impl From<Value> for CodecEntry {
    fn from(mut json: Value) -> Self {
        let name = name_of(&json).to_owned();
        let inner = json.pointer_mut(INNER).filter(|inner| inner.is_array());
        let inner = inner.map(|inner| CodecList::from(inner.take()));
        Self { name, json, inner }
    }
}

impl From<&Codec> for CodecEntry {
    fn from(codec: &Codec) -> Self {
        codec.to_json().into()
    }
}

impl From<Value> for CodecList {
    fn from(json: Value) -> Self {
        let Value::Array(codecs) = json else { return Self::default() };
        Self(codecs.into_iter().map(CodecEntry::from).collect())
    }
}

impl CodecList {
    /// The codecs of an array with these metadata.
    pub(crate) fn of(document: &Map<String, Value>) -> Self {
        document.get("codecs").cloned().unwrap_or_default().into()
    }

    /// The list as it was read, with later changes.
    pub(crate) fn into_json(self) -> Value {
        self.0.into_iter().map(CodecEntry::into_json).collect()
    }

    /// All codecs. Behind a shard come those of its inner chunks.
    pub(crate) fn all(&self) -> Box<dyn Iterator<Item = &CodecEntry> + '_> {
        Box::new(
            self.0
                .iter()
                .flat_map(|entry| once(entry).chain(entry.inner.iter().flat_map(Self::all))),
        )
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.all().any(|entry| entry.name == name)
    }

    pub(crate) fn has_value_codecs(&self) -> bool {
        self.all().any(|entry| entry.kind() == CodecKind::Value)
    }

    /// The codecs of the inner chunks of a shard, unless codecs before the shard prevent that value codecs move inside.
    pub(crate) fn inner_chunks(&mut self) -> Option<&mut Self> {
        let may_pass =
            |entry: &CodecEntry| entry.name == "transpose" || entry.kind() == CodecKind::Value;
        let shard = self.0.iter_mut().find(|entry| !may_pass(entry))?;
        if shard.name == SHARDING { shard.inner.as_mut() } else { None }
    }

    /// Replaces each run of neighbouring value codecs, also inside shards, by the result of `replace`, which is
    /// called in the order in which elements pass the codecs. Those behind a codec that changes values otherwise, such as
    /// differences, belong to it and stay.
    pub(crate) fn replace_value_codecs(
        &mut self,
        replace: &mut impl FnMut(&[Codec]) -> Result<Vec<Codec>>,
    ) -> Result<()> {
        let mut rest = std::mem::take(&mut self.0).into_iter().peekable();
        while let Some(mut entry) = rest.next() {
            match entry.kind() {
                CodecKind::Value => {
                    let mut run = vec![entry.value_codec()?];
                    while let Some(next) = rest.next_if(|next| next.kind() == CodecKind::Value) {
                        run.push(next.value_codec()?);
                    }
                    self.0.extend(replace(&run)?.iter().map(CodecEntry::from));
                }
                CodecKind::KeepsValues | CodecKind::ToBytes => {
                    if let Some(inner) = &mut entry.inner {
                        inner.replace_value_codecs(replace)?;
                    }
                    self.0.push(entry);
                }
                CodecKind::Other => {
                    self.0.push(entry);
                    self.0.extend(rest);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Makes objects of bare names, which zarrs writes and not every reader accepts. zarr-python wants a configuration of
    /// the codecs of numcodecs, even an empty one.
    pub(crate) fn make_objects(&mut self) {
        for CodecEntry { name, json, inner } in &mut self.0 {
            if json.is_string() {
                *json = json!({"name": name});
            }
            if name.starts_with("numcodecs.")
                && let Some(object) = json.as_object_mut()
            {
                object.entry("configuration").or_insert_with(|| json!({}));
            }
            if let Some(inner) = inner {
                inner.make_objects();
            }
            if let Some(index) = json.pointer_mut(INDEX) {
                let mut codecs = Self::from(index.take());
                codecs.make_objects();
                *index = codecs.into_json();
            }
        }
    }
}

/// A codec with a configuration.
#[allow(clippy::needless_pass_by_value)] // what callers write with json!
pub(crate) fn codec(name: &str, configuration: Value) -> Value {
    json!({"name": name, "configuration": configuration})
}

/// The codec that stores elements as they are. `order` is that of their bytes; `None` if they have one each.
pub(crate) fn bytes_codec(order: Option<ByteOrder>) -> Value {
    match order {
        None => json!({"name": "bytes"}),
        Some(ByteOrder::Little) => codec("bytes", json!({"endian": "little"})),
        Some(ByteOrder::Big) => codec("bytes", json!({"endian": "big"})),
    }
}

/// A member of the configuration of a value codec, such as its scale.
pub(crate) fn configured(codec: &Codec, name: &str) -> Option<Value> {
    let json = codec.to_json();
    // Filters of Zarr v2 have none around it.
    json.get("configuration").unwrap_or(&json).get(name).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested() -> CodecList {
        CodecList::from(json!([
            "transpose",
            {"name": "sharding_indexed", "configuration": {
                "chunk_shape": [2],
                "codecs": [
                    {"name": "cast_value", "configuration": {"data_type": "uint8"}},
                    {"name": "scale_offset"},
                    "bytes",
                    "numcodecs.zlib",
                    {"name": "scale_offset"},
                ],
                "index_codecs": ["crc32c"],
                "index_location": "end",
            }},
        ]))
    }

    #[test]
    fn codecs_come_behind_their_shard_and_are_written_where_they_were() {
        let names: Vec<String> = nested().all().map(|entry| entry.name.clone()).collect();
        let inner = ["cast_value", "scale_offset", "bytes", "numcodecs.zlib", "scale_offset"];
        assert_eq!(names, [["transpose", "sharding_indexed"].as_slice(), &inner].concat());
        let text = nested().into_json().to_string();
        let expected = concat!(
            r#"["transpose",{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":["#,
            r#"{"name":"cast_value","configuration":{"data_type":"uint8"}},{"name":"scale_offset"},"bytes","#,
            r#""numcodecs.zlib",{"name":"scale_offset"}],"index_codecs":["crc32c"],"index_location":"end"}}]"#,
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn names_become_objects_at_every_depth() {
        let mut list = nested();
        list.make_objects();
        let text = list.into_json().to_string();
        for name in ["transpose", "bytes", "crc32c"] {
            assert!(text.contains(&format!(r#"{{"name":"{name}"}}"#)), "{text}");
        }
        assert!(text.contains(r#"{"name":"numcodecs.zlib","configuration":{}}"#), "{text}");
    }

    #[test]
    fn runs_of_value_codecs_are_replaced_up_to_a_codec_that_changes_values_otherwise() {
        let (mut list, mut runs) = (nested(), Vec::new());
        let mut replace = |run: &[Codec]| {
            runs.push(run.iter().map(Codec::name).collect::<Vec<_>>());
            Ok(Vec::new())
        };
        list.replace_value_codecs(&mut replace).unwrap();
        let names: Vec<&str> = list.all().map(|entry| entry.name.as_str()).collect();
        let rest = ["transpose", "sharding_indexed", "bytes", "numcodecs.zlib", "scale_offset"];
        assert_eq!(names, rest);
        assert_eq!(runs, [["cast_value", "scale_offset"]]);
    }
}

//! Filters and compressors of Zarr v2 as codecs of Zarr v3, each as zarr-python has it.

use anyhow::{Context, anyhow, bail};
use serde_json::{Map, Value, json};
use zarr_recast::data_type::{ByteOrder, from_numpy};

use super::data_type::DataType;
use crate::error::Result;
use crate::metadata::codecs::{bytes_codec, codec};

/// The kinds of codecs of Zarr v3, in the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CodecStage {
    ArrayToArray,
    /// In place of `bytes`.
    ArrayToBytes,
    BytesToBytes,
}

/// The codec that stores the elements of an array of objects.
pub(super) fn object_codec<'a>(steps: &[&'a Value]) -> Option<&'a str> {
    const OBJECT_CODECS: [&str; 8] = [
        "vlen-utf8",
        "vlen-bytes",
        "vlen-array",
        "json2",
        "msgpack2",
        "pickle",
        "categorize",
        "json",
    ];
    steps.iter().filter_map(|step| id(step)).find(|id| OBJECT_CODECS.contains(id))
}

/// The codecs for filters and a compressor, in the order in which they encode; `order` is that of the bytes of the
/// array's elements.
pub(super) fn codecs(
    steps: &[&Value],
    data_type: &DataType,
    mut order: Option<ByteOrder>,
) -> Result<Vec<Value>> {
    let mut codecs = Vec::new();
    let mut last = CodecStage::ArrayToArray;
    let mut has_order = data_type.has_order();
    let bytes = |has_order: bool, order: Option<ByteOrder>| {
        bytes_codec(has_order.then_some(order.unwrap_or(ByteOrder::Little)))
    };
    for step in steps {
        let id = id(step).with_context(|| format!("{step} is not a codec"))?;
        let mut configuration = step.as_object().cloned().unwrap_or_default();
        configuration.remove("id");
        let kind = kind(id)?;
        if kind < last || (kind, last) == (CodecStage::ArrayToBytes, CodecStage::ArrayToBytes) {
            bail!("Zarr v3 has no counterpart of {id} behind a codec that stores bytes");
        }
        if kind == CodecStage::BytesToBytes && last == CodecStage::ArrayToArray {
            codecs.push(bytes(has_order, order));
        }
        if has_order {
            check_order(id, &configuration, order)?;
        }
        if kind == CodecStage::ArrayToArray
            && let Some(stored) = stored(id, &configuration, data_type, has_order)?
        {
            (has_order, order) = stored;
        }
        last = kind;
        codecs.push(counterpart(id, configuration, data_type)?);
    }
    if last == CodecStage::ArrayToArray {
        codecs.push(bytes(has_order, order));
    }
    Ok(codecs)
}

fn id(step: &Value) -> Option<&str> {
    step.get("id")?.as_str()
}

fn kind(id: &str) -> Result<CodecStage> {
    Ok(match id {
        "astype" | "bitround" | "delta" | "fixedscaleoffset" | "packbits" | "quantize" => {
            CodecStage::ArrayToArray
        }
        "pcodec" | "vlen-bytes" | "vlen-utf8" | "zfpy" => CodecStage::ArrayToBytes,
        "adler32" | "blosc" | "bz2" | "crc32" | "crc32c" | "fletcher32" | "gzip"
        | "jenkins_lookup3" | "lz4" | "lzma" | "shuffle" | "zlib" | "zstd" => {
            CodecStage::BytesToBytes
        }
        other => bail!("Zarr v3 has no counterpart of the codec {other}"),
    })
}

/// Refuses a filter whose elements are in another byte order than it names: numcodecs takes their bytes for other
/// numbers, and no codec of Zarr v3 does.
fn check_order(
    id: &str,
    configuration: &Map<String, Value>,
    order: Option<ByteOrder>,
) -> Result<()> {
    let names = ["dtype", "decode_dtype"];
    let Some(name) = names.iter().find_map(|name| configuration.get(*name)?.as_str()) else {
        return Ok(());
    };
    let (_, own) = from_numpy(name).map_err(|error| anyhow!("{id}: {error}"))?;
    if own.zip(order).is_some_and(|(own, order)| own != order) {
        bail!(
            "Zarr v3 has no counterpart of {id} with the dtype {name}, because the elements that reach it have the \
             other byte order; write the array anew with one byte order"
        );
    }
    Ok(())
}

/// Whether the elements behind a filter have an order of bytes, and which; `None` if it keeps their type.
fn stored(
    id: &str,
    configuration: &Map<String, Value>,
    data_type: &DataType,
    has_order: bool,
) -> Result<Option<(bool, Option<ByteOrder>)>> {
    let names: &[&str] = match id {
        "astype" => &["encode_dtype"],
        "delta" | "fixedscaleoffset" | "quantize" => &["astype", "dtype"],
        "packbits" => return Ok(Some((false, None))),
        _ => return Ok(None),
    };
    let Some(name) = names.iter().find_map(|name| configuration.get(*name)?.as_str()) else {
        return Ok(None);
    };
    let (element_type, order) = from_numpy(name).map_err(|error| anyhow!("{id}: {error}"))?;
    if id == "quantize" && *data_type != DataType::Number(element_type) {
        bail!("Zarr v3 has no counterpart of quantize to {name}");
    }
    let is_named = order.is_some() || !has_order;
    Ok(is_named.then_some((element_type.size() > 1, order)))
}

/// The codec of Zarr v3 for a filter or a compressor.
fn counterpart(
    id: &str,
    mut configuration: Map<String, Value>,
    data_type: &DataType,
) -> Result<Value> {
    // Elements are in this machine's order when they reach a filter; `bytes` says how they are stored.
    for name in ["dtype", "astype", "encode_dtype", "decode_dtype"] {
        if let Some(Value::String(text)) = configuration.get_mut(name)
            && let Some(rest) = text.strip_prefix('>')
        {
            *text = format!("<{rest}");
        }
    }
    let number = |name: &str, or: i64| {
        configuration.get(name).filter(|value| !value.is_null()).cloned().unwrap_or(or.into())
    };
    Ok(match id {
        "blosc" => {
            let (size, wide) = (data_type.size(), data_type.size() != Some(1));
            let shuffle = match number("shuffle", 1).as_i64() {
                Some(0) => "noshuffle",
                Some(2) => "bitshuffle",
                Some(-1) if !wide => "bitshuffle",
                Some(1 | -1) => "shuffle",
                _ => bail!("blosc: shuffle is {}", number("shuffle", 1)),
            };
            let cname = configuration.get("cname").cloned().unwrap_or_else(|| "lz4".into());
            let configuration = json!({
                // zarr-python takes no 0, and only what encodes asks for it.
                "typesize": size.filter(|size| (1..=255).contains(size)).unwrap_or(1),
                "cname": cname, "clevel": number("clevel", 5), "shuffle": shuffle,
                "blocksize": number("blocksize", 0),
            });
            codec("blosc", configuration)
        }
        "zstd" => {
            let checksum = configuration.get("checksum").is_some_and(|value| value == true);
            codec("zstd", json!({"level": number("level", 0), "checksum": checksum}))
        }
        "gzip" => codec("gzip", json!({"level": number("level", 1)})),
        "crc32c" if configuration.get("location").is_none_or(|place| place == "end") => {
            json!({"name": "crc32c"})
        }
        "vlen-utf8" | "vlen-bytes" => codec(id, json!({})),
        other => {
            // The defaults of numcodecs for members that are left out in Zarr v2.
            let default = match other {
                // In Zarr v3, zarr-python would take the size of the array's elements.
                "shuffle" => Some(("elementsize", 4)),
                "zlib" | "bz2" => Some(("level", 1)),
                _ => None,
            };
            if let Some((name, default)) = default {
                let value = number(name, default);
                configuration.insert(name.into(), value);
            }
            codec(&format!("numcodecs.{other}"), configuration.into())
        }
    })
}

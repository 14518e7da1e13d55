//! What may be wrong with a store.

use std::sync::OnceLock;

use arbitrary::{Result, Unstructured};
use serde_json::{Value, json};

use super::documents::{self, HOSTILE, MEMBERS};
use super::stores::{Entry, Store};
use super::world::ROOT;

/// Text that stands for hostile JSON until the document is written.
const HERE: &str = "@hostile@";

/// The deepest nesting of JSON.
const DEPTH: usize = 3000;

/// Changes one thing of a store.
pub(super) fn set(u: &mut Unstructured, store: &mut Store) -> Result<()> {
    let names: Vec<String> = store.keys().cloned().collect();
    if names.is_empty() {
        return Ok(());
    }
    let (documents, chunks): (Vec<String>, Vec<String>) =
        names.iter().cloned().partition(|name| documents::is_document(name));
    let either = |list: Vec<String>| if list.is_empty() { names.clone() } else { list };
    let trap = u.int_in_range(0..=12)?;
    let of = if matches!(trap, 0..=4) { either(documents) } else { either(chunks) };
    let name = u.choose(&of)?.clone();
    let Some(entry) = store.get(&name).cloned() else { return Ok(()) };
    let bytes = match &entry {
        Entry::File(bytes) => bytes.clone(),
        _ => Vec::new(),
    };
    let changed = match trap {
        0..=2 => match documents::parsed(&name, &entry) {
            Some(document) => Entry::File(change(u, document)?.into()),
            None => entry,
        },
        3 => match documents::parsed(&name, &entry) {
            Some(document) => Entry::File(consolidate(u, document)?.into()),
            None => entry,
        },
        4 => Entry::File(text(u, bytes)?),
        5 => {
            let length = u.int_in_range(0..=bytes.len())?;
            Entry::File(bytes.get(..length).unwrap_or_default().to_vec())
        }
        6 => {
            let mut bytes = bytes;
            damage(u, &mut bytes)?;
            Entry::File(bytes)
        }
        7 => Entry::File(bomb(u)?),
        8 => Entry::Sparse(1 << *u.choose(&[20, 27, 34, 40])?),
        9 => {
            // The bytes stay under another name, too.
            store.insert(trap_name(u)?, entry.clone());
            return Ok(());
        }
        10 => special(u)?,
        11 => {
            // Something else than a document or a chunk.
            store.insert(name.clone() + "/below", special(u)?);
            return Ok(());
        }
        _ => {
            store.remove(&name);
            return Ok(());
        }
    };
    store.insert(name, changed);
    Ok(())
}

/// One or a few bytes that are others.
pub(super) fn damage(u: &mut Unstructured, bytes: &mut [u8]) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    // The end has the directory of a zip file, and the index of a shard.
    let from = if u.arbitrary()? { bytes.len().saturating_sub(100) } else { 0 };
    let start = u.int_in_range(from..=bytes.len() - 1)?;
    let new: u8 = u.arbitrary()?;
    let count = *u.choose(&[1, 1, 2, 4, 8])?;
    bytes.iter_mut().skip(start).take(count).for_each(|byte| *byte = new);
    Ok(())
}

fn special(u: &mut Unstructured) -> Result<Entry> {
    Ok(match u.int_in_range(0..=2)? {
        0 => Entry::Fifo,
        1 => Entry::Folder,
        _ => {
            let targets = [".", "..", "../..", "c", "zarr.json", "gone", ROOT, "/dev/null"];
            Entry::Link((*u.choose(&targets)?).to_owned())
        }
    })
}

/// A name as no store should have it.
fn trap_name(u: &mut Unstructured) -> Result<String> {
    const PARTS: [&str; 20] = [
        "..",
        "a",
        "c",
        "0",
        "zarr.json",
        ".zarray",
        ".zgroup",
        ".zattrs",
        ".zmetadata",
        "deep",
        "",
        ".",
        ROOT,
        "..\\note",
        "C:",
        "note",
        "x\u{1b}[2J\n",
        "\u{e9}",
        "canary",
        "meta",
    ];
    let mut parts = Vec::new();
    for _ in 0..u.int_in_range(1..=4)? {
        parts.push(*u.choose(&PARTS)?);
    }
    if u.ratio(1, 16)? {
        parts.push(LONG);
    }
    Ok(parts.join("/"))
}

const LONG: &str = match std::str::from_utf8(&[b'l'; 300]) {
    Ok(text) => text,
    Err(_) => "",
};

/// A document with something hostile in some place.
fn change(u: &mut Unstructured, mut document: Value) -> Result<String> {
    let mut place = String::new();
    for _ in 0..u.int_in_range(0..=5)? {
        let inside = match document.pointer(&place) {
            Some(Value::Object(members)) if !members.is_empty() => {
                let names: Vec<&String> = members.keys().collect();
                u.choose(&names)?.replace('~', "~0").replace('/', "~1")
            }
            Some(Value::Array(items)) if !items.is_empty() => {
                u.choose_index(items.len())?.to_string()
            }
            _ => break,
        };
        place = format!("{place}/{inside}");
    }
    let Some(node) = document.pointer_mut(&place) else { return Ok(document.to_string()) };
    match (u.int_in_range(0..=3)?, node) {
        (0, Value::Object(members)) => {
            members.insert((*u.choose(&MEMBERS)?).to_owned(), HERE.into());
        }
        (0, Value::Array(items)) => items.push(HERE.into()),
        (1, Value::Object(members)) if !members.is_empty() => {
            let names: Vec<String> = members.keys().cloned().collect();
            members.remove(u.choose(&names)?);
        }
        (2, Value::Array(items)) if !items.is_empty() => {
            let copy = u.choose(items)?.clone();
            let count = *u.choose(&[1, 1, 40, 3000])?;
            items.extend(std::iter::repeat_n(copy, count));
        }
        (_, node) => *node = HERE.into(),
    }
    let hostile = match u.int_in_range(0..=9)? {
        0 => "[".repeat(DEPTH) + &"]".repeat(DEPTH),
        1 => {
            let bytes: [u8; 12] = u.arbitrary()?;
            json!(String::from_utf8_lossy(&bytes)).to_string()
        }
        2 => u.arbitrary::<f64>()?.to_string(),
        3 => u.arbitrary::<i64>()?.to_string(),
        _ => (*u.choose(&HOSTILE)?).to_owned(),
    };
    Ok(document.to_string().replace(&format!("\"{HERE}\""), &hostile))
}

/// A copy of a node under a name that leads elsewhere, in consolidated metadata.
fn consolidate(u: &mut Unstructured, mut document: Value) -> Result<String> {
    let name = trap_name(u)?;
    let of_v2 = document.get("zarr_consolidated_format").is_some();
    let place = if of_v2 { "/metadata" } else { "/consolidated_metadata/metadata" };
    if document.pointer(place).is_none() {
        document["consolidated_metadata"] =
            json!({"kind": "inline", "must_understand": false, "metadata": {}});
    }
    if let Some(Value::Object(copies)) = document.pointer_mut(place) {
        let copy = copies.values().next().cloned().unwrap_or(json!({
            "zarr_format": 3, "node_type": "group", "attributes": {}}));
        copies.insert(name, copy);
    }
    Ok(document.to_string())
}

/// A document as text: cut, or with other bytes in it.
fn text(u: &mut Unstructured, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
    let start = u.int_in_range(0..=bytes.len())?;
    let end = start + u.int_in_range(0..=bytes.len() - start)?.min(9);
    let count = u.int_in_range(0..=8)?;
    let new = u.bytes(count.min(u.len()))?.to_vec();
    bytes.splice(start..end, new);
    Ok(bytes)
}

/// A few bytes that claim to be many, or unfold to 256 MiB.
fn bomb(u: &mut Unstructured) -> Result<Vec<u8>> {
    static ZSTD: OnceLock<Vec<u8>> = OnceLock::new();
    let unfolds = || {
        let zeros = std::io::Read::take(std::io::repeat(0), 256 << 20);
        zstd::encode_all(zeros, 1).unwrap()
    };
    // A frame of 8 bytes of size, and an empty last block.
    let claims = |size: u64| {
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0];
        frame.extend(size.to_le_bytes());
        frame.extend([1, 0, 0]);
        frame
    };
    Ok(match u.int_in_range(0..=3)? {
        0 => ZSTD.get_or_init(unfolds).clone(),
        1 => claims(1 << 41),
        2 => claims(1 << 62),
        // blosc: 2 GiB of zeros in one block.
        _ => vec![2, 1, 0x21, 4, 0, 0, 0, 0x7f, 0, 0, 0, 0x7f, 20, 0, 0, 0, 0, 0, 0, 0],
    })
}

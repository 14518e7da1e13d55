//! Metadata documents of arrays, and what is put into them.

use arbitrary::{Result, Unstructured};
use recast_kernels::ElementType;
use serde_json::{Map, Value, json};

use super::stores::Entry;

/// Whether a name is that of a document.
pub(super) fn is_document(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    let names = ["zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata", "meta", "attrs"];
    names.contains(&last)
}

/// A document of a store.
pub(super) fn parsed(name: &str, entry: &Entry) -> Option<Value> {
    match entry {
        Entry::File(bytes) if is_document(name) => serde_json::from_slice(bytes).ok(),
        _ => None,
    }
}

fn json_of(u: &mut Unstructured, texts: &[&str]) -> Result<Value> {
    Ok(serde_json::from_str(u.choose(texts)?).unwrap())
}

fn fill_value(u: &mut Unstructured) -> Result<Value> {
    json_of(u, &["0", "\"NaN\"", "1", "-9999.0", "\"Infinity\"", "255", "\"0x7fc00001\"", "null"])
}

/// Attributes as CF, xarray, OME and recast write them.
pub(super) fn attributes(u: &mut Unstructured) -> Result<Value> {
    const NAMES: [&str; 17] = [
        "scale_factor",
        "add_offset",
        "_FillValue",
        "missing_value",
        "valid_range",
        "valid_min",
        "units",
        "coordinates",
        "bounds",
        "_Unsigned",
        "standard_name",
        "_ARRAY_DIMENSIONS",
        "flag_values",
        "grid_mapping",
        "recast",
        "multiscales",
        "x\u{1b}]0;y\u{7}\n",
    ];
    const VALUES: [&str; 16] = [
        "0.01",
        "10",
        "-9999",
        "\"NaN\"",
        "[0, 100]",
        "\"K\"",
        "\"a b\"",
        "\"true\"",
        "-32768",
        "\"AAAAAADAXkA=\"",
        "[\"x\", \"y\"]",
        "{}",
        "null",
        "\"days since 2000-01-01\"",
        "[{\"datasets\": [{\"path\": \"../a\"}]}]",
        "1e308",
    ];
    let mut attributes = Map::new();
    for _ in 0..u.int_in_range(0..=4)? {
        attributes.insert((*u.choose(&NAMES)?).to_owned(), json_of(u, &VALUES)?);
    }
    Ok(attributes.into())
}

pub(super) fn v1(u: &mut Unstructured, shape: &[u64], chunks: &[u64]) -> Result<Value> {
    Ok(json!({
        "zarr_format": 1, "shape": shape, "chunks": chunks,
        "dtype": u.choose(&["<f4", "<f8", "|i1", ">i2", "<u4", "|b1"])?,
        "compression": u.choose(&["none", "blosc", "zlib", "bz2", "lzma"])?,
        "compression_opts": null, "fill_value": fill_value(u)?, "order": u.choose(&["C", "F"])?,
    }))
}

pub(super) fn v2(
    u: &mut Unstructured,
    element_type: ElementType,
    shape: &[u64],
    chunks: &[u64],
) -> Result<Value> {
    let kind = match element_type.name() {
        name if name.starts_with("float") => 'f',
        name if name.starts_with('u') => 'u',
        _ => 'i',
    };
    let order = if u.arbitrary()? { '<' } else { '>' };
    let compressors = [
        "null",
        r#"{"id": "zlib", "level": 1}"#,
        r#"{"id": "zstd", "level": 1}"#,
        r#"{"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}"#,
        r#"{"id": "bz2", "level": 1}"#,
        r#"{"id": "gzip", "level": 1}"#,
        r#"{"id": "lz4"}"#,
    ];
    let filters = [
        "null",
        "[]",
        r#"[{"id": "fixedscaleoffset", "scale": 4, "offset": 0, "dtype": "<f4", "astype": "|i1"}]"#,
        r#"[{"id": "astype", "encode_dtype": "<i2", "decode_dtype": "<f4"}]"#,
        r#"[{"id": "delta", "dtype": "<i4"}]"#,
        r#"[{"id": "shuffle", "elementsize": 4}]"#,
        r#"[{"id": "quantize", "digits": 2, "dtype": "<f4"}]"#,
    ];
    Ok(json!({
        "zarr_format": 2, "shape": shape, "chunks": chunks,
        "dtype": format!("{order}{kind}{}", element_type.size()),
        "compressor": json_of(u, &compressors)?, "filters": json_of(u, &filters)?,
        "fill_value": fill_value(u)?, "order": u.choose(&["C", "F"])?,
    }))
}

pub(super) fn v3(
    u: &mut Unstructured,
    element_type: ElementType,
    shape: &[u64],
    chunks: &[u64],
) -> Result<Value> {
    Ok(json!({
        "zarr_format": 3, "node_type": "array", "shape": shape,
        "data_type": element_type.name(),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": *u.choose(&["default", "v2"])?},
        "codecs": codecs(u, chunks, true)?,
        "fill_value": fill_value(u)?,
        "attributes": attributes(u)?,
    }))
}

fn codecs(u: &mut Unstructured, chunk: &[u64], may_shard: bool) -> Result<Vec<Value>> {
    let order: Vec<usize> = (0..chunk.len()).rev().collect();
    let mut codecs = Vec::new();
    for _ in 0..u.int_in_range(0..=2)? {
        codecs.push(match u.int_in_range(0..=4)? {
            0 => json!({"name": "scale_offset", "configuration": {"offset": 1, "scale": 4}}),
            1 => json!({"name": "cast_value", "configuration": {
                "data_type": u.choose(ElementType::ALL)?.name(), "rounding": "nearest-even",
                "out_of_range": "clamp", "scalar_map": {"encode": [["NaN", 0]], "decode": [[0, "NaN"]]}}}),
            2 => json!({"name": "transpose", "configuration": {"order": order}}),
            3 => json!({"name": "bitround", "configuration": {"keepbits": 3}}),
            _ => json!({"name": "cast_value", "configuration": {
                "data_type": u.choose(ElementType::ALL)?.name(), "out_of_range": "clamp"}}),
        });
    }
    if may_shard && u.arbitrary()? {
        let inner: Vec<u64> = chunk.iter().map(|extent| extent.min(&2) + 0).collect();
        codecs.push(json!({"name": "sharding_indexed", "configuration": {
            "chunk_shape": inner, "codecs": codecs_inside(u, &inner)?,
            "index_codecs": [bytes("little"), {"name": "crc32c"}],
            "index_location": u.choose(&["end", "start"])?}}));
    } else {
        codecs.push(bytes(u.choose(&["little", "big"])?));
    }
    for _ in 0..u.int_in_range(0..=2)? {
        codecs.push(json_of(u, &[
            r#"{"name": "zstd", "configuration": {"level": 1, "checksum": false}}"#,
            r#"{"name": "gzip", "configuration": {"level": 1}}"#,
            r#"{"name": "crc32c"}"#,
            r#"{"name": "blosc", "configuration": {"cname": "lz4", "clevel": 1, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}}"#,
            r#"{"name": "numcodecs.zlib", "configuration": {"level": 1}}"#,
            r#"{"name": "numcodecs.bz2", "configuration": {"level": 1}}"#,
            r#"{"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}"#,
            r#"{"name": "numcodecs.adler32"}"#,
            r#"{"name": "numcodecs.fletcher32"}"#,
        ])?);
    }
    Ok(codecs)
}

fn codecs_inside(u: &mut Unstructured, chunk: &[u64]) -> Result<Vec<Value>> {
    codecs(u, chunk, false)
}

fn bytes(endian: &str) -> Value {
    json!({"name": "bytes", "configuration": {"endian": endian}})
}

/// JSON that no document should have where it is put.
pub(super) const HOSTILE: [&str; 34] = [
    "null",
    "true",
    "-1",
    "0",
    "1",
    "2",
    "255",
    "1000000",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "1e400",
    "-0.0",
    "0.1",
    "1e-320",
    "\"NaN\"",
    "\"\"",
    "\"..\"",
    "\"../a\"",
    "\"%ROOT%/canary\"",
    "[]",
    "{}",
    "[0]",
    "[1, 1000000000000]",
    "[[1, 1000000000000]]",
    "\"\\u001b]0;x\\u0007\\n\\u202e\"",
    "\"float32\"",
    "\"int4\"",
    "\"string\"",
    "\"r128\"",
    "[3000000000, 3000000000]",
    "{\"name\": \"sharding_indexed\"}",
    "{\"name\": \"rectilinear\", \"configuration\": {\"kind\": \"inline\", \"chunk_shapes\": [[1, 1000000000000]]}}",
];

/// Members that may be put beside others.
pub(super) const MEMBERS: [&str; 14] = [
    "consolidated_metadata",
    "storage_transformers",
    "dimension_names",
    "attributes",
    "fill_value",
    "codecs",
    "filters",
    "compressor",
    "dimension_separator",
    "must_understand",
    "recast",
    "data_type",
    "shape",
    "../x",
];

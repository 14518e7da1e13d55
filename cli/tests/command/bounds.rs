//! Inputs of strangers that ask for much more than they have: an error that names the place, in the memory that there is.

use std::fs::{self, File};
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{
    Recast, Sample, Trial, bytes, little_endian, metadata, path, recast, recast_within,
};

/// Address space in KiB: 2 GiB.
const MEMORY: u64 = 2 << 20;

/// The command in little memory.
fn bounded(arguments: &[&str]) -> Recast {
    recast_within(MEMORY, &[arguments, &["--threads", "2"]].concat())
}

/// Jobs refuse an array, and say why; its metadata can be shown.
fn is_refused(trial: &Trial, reasons: &[&str]) {
    let [input, output] = trial.places();
    recast_within(MEMORY, &["info", &input]).succeeds();
    for arguments in [&["pack", "-e", "0.1", &input, &output][..], &["verify", &input, &input]] {
        let error = bounded(arguments).fails(1);
        for reason in reasons {
            assert!(error.contains(reason), "{arguments:?}: {error}");
        }
        assert!(!trial.output().exists());
    }
}

fn compressors() -> Vec<(&'static str, Value)> {
    let bytes = little_endian();
    let zstd = json!({"name": "zstd", "configuration": {"level": 1, "checksum": false}});
    let gzip = json!({"name": "gzip", "configuration": {"level": 9}});
    let blosc = json!({"name": "blosc", "configuration": {
        "cname": "lz4", "clevel": 9, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}});
    let bz2 = json!({"name": "numcodecs.bz2", "configuration": {"level": 9}});
    let zlib = json!({"name": "numcodecs.zlib", "configuration": {"level": 9}});
    let pcodec = json!({"name": "numcodecs.pcodec", "configuration": {
        "level": 8, "mode_spec": "auto", "delta_spec": "auto", "paging_spec": "equal_pages_up_to",
        "delta_encoding_order": null, "equal_pages_up_to": 262_144}});
    vec![
        ("zstd", json!([bytes, zstd])),
        ("gzip", json!([bytes, gzip])),
        ("zlib", json!([bytes, zlib])),
        ("bz2", json!([bytes, bz2])),
        ("blosc", json!([bytes, blosc])),
        ("pcodec", json!([pcodec])),
        ("zstd before crc32c", json!([bytes, zstd, {"name": "crc32c"}])),
        ("gzip of zstd", json!([bytes, zstd, gzip])),
    ]
}

fn sharded(codecs: &Value, chunk: u64) -> Value {
    json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [chunk], "codecs": codecs, "index_location": "end",
        "index_codecs": [little_endian(), {"name": "crc32c"}]}}])
}

#[test]
fn a_chunk_is_decoded_to_its_own_size_and_no_further() {
    const LARGE: u64 = 1 << 18;
    let array = |elements: u64, codecs: Value| {
        let sample =
            Sample::new("float32", &[elements], &[elements], json!(0)).with("codecs", codecs);
        Trial::of(&sample, &bytes(&vec![1.5_f32; elements as usize]))
    };
    for (name, codecs) in compressors() {
        let in_shards = |elements| sharded(&codecs, elements);
        let places: [&dyn Fn(u64) -> Value; 2] = [&|_| codecs.clone(), &in_shards];
        for place in places {
            let large = array(LARGE, place(LARGE));
            let small = array(4, place(4));
            fs::copy(large.input().join("c/0"), small.input().join("c/0")).unwrap();
            println!("{name}");
            is_refused(&small, &["c/0", "it unfolds to more than"]);
        }
    }
}

#[test]
fn what_a_zstd_frame_claims_is_not_believed() {
    let [(_, zstd), ..] = &compressors()[..] else { unreachable!() };
    let with_chunk = |chunk: &[u8]| {
        let sample = Sample::new("float32", &[4], &[4], json!(0)).with("codecs", zstd.clone());
        let trial = Trial::of(&sample, &bytes(&[1.0_f32, 2.0, 3.0, 4.0]));
        fs::write(trial.input().join("c/0"), chunk).unwrap();
        trial
    };
    for claimed in [1_u64 << 33, 1 << 41, 1 << 62, u64::MAX] {
        // One segment, a content size of eight bytes, and a last block of 16 bytes as they are.
        let header = [0x28, 0xb5, 0x2f, 0xfd, 0xe0];
        let block = [0x81, 0, 0];
        let chunk = [&header[..], &claimed.to_le_bytes(), &block, &[0; 16]].concat();
        is_refused(&with_chunk(&chunk), &["c/0"]);
    }
    // No content size, a window of 128 KiB, and blocks of one repeated byte: 1 MiB of these are 32 GiB.
    let header = [0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];
    let block = [2, 0, 16, 0];
    let mut bomb = [&header[..], &block.repeat(81_920)].concat();
    let last = bomb.len() - 4;
    bomb[last] |= 1;
    is_refused(&with_chunk(&bomb), &["c/0", "it unfolds to more than 16 bytes"]);
}

/// Gives a file a size that no disk needs.
fn grow(file: &Path, size: u64) {
    File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(file)
        .unwrap()
        .set_len(size)
        .unwrap();
}

#[test]
fn a_chunk_is_not_read_if_it_is_larger_than_it_can_be() {
    for codecs in
        [json!([little_endian()]), compressors()[1].1.clone(), sharded(&compressors()[0].1, 2)]
    {
        let sample = Sample::new("float32", &[8], &[4], json!(0)).with("codecs", codecs);
        let trial = Trial::of(&sample, &bytes(&[1.0_f32; 8]));
        grow(&trial.input().join("c/1"), 1 << 40);
        is_refused(&trial, &["c/1", "has 1.0 TiB", "the most that it can need"]);
    }
}

#[test]
fn an_index_of_a_shard_that_leads_anywhere_is_refused() {
    let codecs = sharded(&json!([little_endian()]), 4);
    let codecs = {
        let mut codecs = codecs;
        codecs[0]["configuration"]["index_codecs"] = json!([little_endian()]);
        codecs
    };
    for (offset, length) in [
        (0, 1_u64 << 40),
        (1 << 40, 16),
        (u64::MAX - 7, 16),
        (1 << 63, 1 << 63),
        (16, u64::MAX - 15),
        (0, 15),
        (0, u64::MAX),
    ] {
        let sample = Sample::new("float32", &[4], &[4], json!(0)).with("codecs", codecs.clone());
        let trial = Trial::of(&sample, &bytes(&[1.0_f32; 4]));
        let index = [offset.to_le_bytes(), length.to_le_bytes()].concat();
        fs::write(trial.input().join("c/0"), [&[0; 16][..], &index].concat()).unwrap();
        is_refused(&trial, &["c/0"]);
    }
}

#[test]
fn a_document_is_not_read_if_it_is_larger_than_documents_are() {
    for name in ["zarr.json", ".zattrs"] {
        let trial = Trial::empty();
        fs::create_dir(trial.input()).unwrap();
        if name == ".zattrs" {
            let array = json!({"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<f4", "order": "C",
                "compressor": null, "filters": null, "fill_value": 0});
            fs::write(trial.input().join(".zarray"), array.to_string()).unwrap();
        }
        grow(&trial.input().join(name), 50 << 30);
        let error =
            bounded(&["pack", "-e", "1", &path(&trial.input()), &path(&trial.output())]).fails(1);
        assert!(error.contains(name) && error.contains("50.0 GiB"), "{error}");
        let error = recast_within(MEMORY, &["info", &path(&trial.input())]).fails(1);
        assert!(error.contains(name) && error.contains("50.0 GiB"), "{error}");
    }
}

#[test]
fn grids_and_lists_of_codecs_without_measure_are_refused() {
    let trial = Trial::new(&[1.0_f32; 4], 4, json!({}));
    let with = |member: &str, value: Value| {
        let mut document = metadata(&trial.input());
        document[member] = value;
        let refused = Trial::empty();
        fs::create_dir(refused.input()).unwrap();
        fs::write(refused.input().join("zarr.json"), document.to_string()).unwrap();
        let error = recast_within(MEMORY, &["info", &path(&refused.input())]).fails(1);
        let packed =
            bounded(&["pack", "-e", "1", &path(&refused.input()), &path(&refused.output())]);
        assert_eq!(packed.fails(1), error);
        error
    };
    for edges in
        [json!([[1, 1_000_000_000_000_u64]]), json!([[1_u64 << 62, 4]]), json!([[u64::MAX, 1], 1])]
    {
        let grid = json!({"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [edges]}});
        let error = with("chunk_grid", grid);
        assert!(error.contains("chunk_grid") && error.contains("dimension 0"), "{error}");
    }
    let codec = json!({"name": "scale_offset", "configuration": {"offset": 0, "scale": 1}});
    let mut codecs = vec![codec; 20_000];
    codecs.push(little_endian());
    let error = with("codecs", Value::from(codecs.clone()));
    assert!(error.contains("20001 codecs"), "{error}");
    let error = with("codecs", sharded(&Value::from(codecs), 4));
    assert!(error.contains("20002 codecs"), "{error}");
    let error = with(
        "chunk_grid",
        json!({"name": "regular", "configuration": {"chunk_shape": [1_u64 << 40]}}),
    );
    assert!(error.contains("too much to hold"), "{error}");
}

#[test]
fn the_metadata_of_many_empty_chunks_are_shown_without_looking_for_each() {
    let sample = Sample::new("float32", &[4_000_000], &[1], json!(0));
    let trial = Trial::empty();
    sample.create(&trial.input());
    let info = recast(&["info", "--json", &path(&trial.input())]).reports();
    assert_eq!(info["shape"], json!([4_000_000]));
    // One chunk of those that are looked at: their number is in what is said of its rounding.
    let array = sample.create(&trial.input());
    array.store_chunk(&[2_000], &[0.5_f32]).unwrap();
    let info = recast(&["info", "--json", &path(&trial.input())]).reports();
    assert_eq!(info["rounded"]["chunks"], json!([1_000, 4_000_000]), "{info}");
}

#[test]
fn a_document_of_any_content_is_read_in_little_memory() {
    const SIZE: usize = 64 << 20;
    let trial = Trial::new(&[1.0_f32; 4], 4, json!({}));
    let document = metadata(&trial.input()).to_string();
    let document = document.strip_suffix('}').unwrap();
    let write = |item: &str, count: usize| {
        let items = item.repeat(count);
        let text = format!("{document}, \"attributes\": {{\"missing_value\": [{items}0]}}}}");
        fs::write(trial.input().join("zarr.json"), text).unwrap();
    };
    for item in ["[],", "0,", "{\"a\":{}},", "\"\","] {
        write(item, (SIZE - 2000) / item.len());
        let error = recast_within(MEMORY, &["info", &path(&trial.input())]).fails(1);
        assert!(error.contains("zarr.json") && error.contains("names and values"), "{error}");
    }
    // The most that is read, of what takes most memory.
    write("{\"a\":{}},", 2_097_000 / 3);
    recast_within(MEMORY, &["info", &path(&trial.input())]).succeeds();
}

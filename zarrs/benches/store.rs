//! Whole arrays through zarrs, with and without the codecs: `cargo bench -p zarrs-recast --bench store`.
//!
//! 256 MiB of float32 (64 Mi elements) in chunks of 1 MiB in a store in memory; the best of five runs, in
//! G elements/s: written and read as a whole by all cores; read by one, chunk after chunk, each dropped
//! before the next; read as a whole by `zarrs_recast::read`. The last column is the share of the time by
//! chunks that the codecs take by themselves.
//! `RECAST_BENCH_MIB` sets another size; `RECAST_BENCH_PYTHON` names a Python with zarr-python and
//! cast-value-rs, which then does the same work (`store.py`).

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zarr_recast::{BindOptions, Chain, Codec, ElementType};
use zarrs::array::{Array, ArrayBytes, CodecOptions};
use zarrs::storage::store::MemoryStore;

const CHUNK: u64 = 1 << 18;
const RUNS: u32 = 5;

fn array(data_type: &str, elements: u64, codecs: &Value) -> Array<MemoryStore> {
    let metadata = json!({
        "zarr_format": 3, "node_type": "array", "attributes": {}, "fill_value": 5,
        "shape": [elements], "data_type": data_type, "codecs": codecs,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [CHUNK]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    });
    let metadata = serde_json::from_value(metadata).expect("metadata");
    Array::new_with_metadata(Arc::new(MemoryStore::new()), "/", metadata).expect("an array")
}

fn best(mut run: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..RUNS).map(time).min().unwrap_or(Duration::ZERO).as_secs_f64()
}

/// The time of `zarrs_recast::read`, which must read what was written.
fn recast_read(array: &Array<MemoryStore>, written: &[u8]) -> f64 {
    let all = array.subset_all();
    let read = || zarrs_recast::read::<f32, _>(array, &all).expect("read");
    assert!(bytemuck::cast_slice::<_, u8>(&read()) == written, "other elements came back");
    best(|| {
        std::hint::black_box(read());
    })
}

/// The time of the codecs alone: so many encoded elements of one chunk, decoded again and again into the
/// same memory.
fn codecs_alone(codecs: &[&Value], elements: u64) -> f64 {
    let codecs: Vec<Codec> =
        codecs.iter().map(|&codec| Codec::from_json(codec).expect("a codec")).collect();
    let chain = Chain::bind(ElementType::Float32, None, &codecs, &BindOptions::default());
    let chain = chain.expect("a chain");
    let encoded: Vec<u8> = (0..CHUNK).map(|i| (i % 251) as u8).collect();
    let mut decoded = vec![0; 4 * CHUNK as usize];
    best(|| {
        for _ in 0..elements / CHUNK {
            chain.decoder().run(std::hint::black_box(&encoded), &mut decoded).expect("decoded");
        }
    })
}

fn main() {
    zarrs_recast::register();
    let mib =
        std::env::var("RECAST_BENCH_MIB").ok().and_then(|mib| mib.parse().ok()).unwrap_or(256);
    let elements = mib * CHUNK;
    let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let scale = json!({"name": "scale_offset", "configuration": {"offset": 5, "scale": 2}});
    let cast = json!({"name": "cast_value", "configuration": {"data_type": "uint8", "out_of_range": "clamp"}});
    let blosc = json!({"name": "blosc", "configuration": {
        "cname": "lz4", "clevel": 5, "shuffle": "noshuffle", "typesize": 1, "blocksize": 0}});
    let shards = |codecs: Value| {
        json!({"name": "sharding_indexed", "configuration": {
            "chunk_shape": [CHUNK / 8], "codecs": codecs, "index_codecs": [little]}})
    };
    let sharding = shards(json!([little, blosc]));
    let inside = shards(json!([scale, cast, little, blosc]));

    println!(
        "{:<48} {:>8} {:>8} {:>8} {:>8} {:>7}",
        format!("{mib} MiB of float32, G elements/s"),
        "write",
        "read",
        "chunks",
        "recast",
        "codecs"
    );
    for (name, data_type, codecs, fused) in [
        ("float32, bytes", "float32", json!([little]), false),
        ("uint8, bytes", "uint8", json!([little]), false),
        ("scale_offset, cast_value uint8, bytes", "float32", json!([scale, cast, little]), false),
        ("the same, fused", "float32", json!([scale, cast, little]), true),
        ("uint8, sharding(bytes, blosc)", "uint8", json!([sharding]), false),
        (
            "scale_offset, cast_value, sharding(…), fused",
            "float32",
            json!([scale, cast, sharding]),
            true,
        ),
        ("sharding(scale_offset, cast_value, …)", "float32", json!([inside]), false),
        ("the same, fused", "float32", json!([inside]), true),
    ] {
        let mut array = array(data_type, elements, &codecs);
        if fused {
            array = zarrs_recast::fused(array);
        }
        let floats = (0..elements).map(|i| 5.0 + (i % 251) as f32 / 2.0);
        let bytes: Vec<u8> = match data_type {
            "uint8" => (0..elements).map(|i| (i % 251) as u8).collect(),
            _ => floats.flat_map(f32::to_ne_bytes).collect(),
        };
        let all = array.subset_all();
        let write = best(|| {
            array.store_array_subset(&all, ArrayBytes::new_flen(&bytes)).expect("written");
        });
        let read = best(|| {
            let bytes: ArrayBytes = array.retrieve_array_subset(&all).expect("read");
            std::hint::black_box(bytes);
        });
        let options = CodecOptions::default().with_concurrent_target(1);
        let chunks = best(|| {
            for chunk in 0..mib {
                let bytes: ArrayBytes = array.retrieve_chunk_opt(&[chunk], &options).expect("read");
                std::hint::black_box(bytes);
            }
        });
        let rate = |seconds: f64| elements as f64 / seconds / 1e9;
        print!("{name:<48} {:>8.3} {:>8.3} {:>8.3}", rate(write), rate(read), rate(chunks));
        if data_type == "float32" && name != "float32, bytes" {
            let share = 100.0 * codecs_alone(&[&scale, &cast], elements) / chunks;
            print!(" {:>8.3} {share:>6.0}%", rate(recast_read(&array, &bytes)));
        }
        println!();
    }
    if let Some(python) = std::env::var_os("RECAST_BENCH_PYTHON") {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/store.py");
        let arguments = [script, &mib.to_string(), &RUNS.to_string()];
        let status = Command::new(python).args(arguments).status();
        assert!(status.is_ok_and(|status| status.success()), "store.py failed");
    }
}

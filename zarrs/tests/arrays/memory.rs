//! How much memory a read takes.

use std::process::Command;

use serde_json::{Value, json};
use zarrs::array::{ArraySubset, CodecOptions};

use crate::common::{Store, create, empty_store, metadata, open};

const MIB: u64 = 1 << 20;
/// 64 of these chunks are an array of 1 GiB.
const CHUNK: u64 = 16 * MIB;
/// Set in the child process: the array to read, and whether it is fused.
const ARRAY: &str = "RECAST_TEST_ARRAY";
const FUSED: &str = "RECAST_TEST_FUSED";

/// A number of bytes from `/proc/self/status`.
fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the status of this process");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("the line");
    let number = line.trim_start_matches(':').trim().trim_end_matches(" kB");
    1024 * number.parse::<u64>().expect("a number")
}

/// Not a test by itself: what the child process does.
#[test]
#[ignore = "run by the test below"]
fn child() {
    zarrs_recast::register();
    let path = std::env::var_os(ARRAY).expect("an array");
    let mut array: zarrs::array::Array<Store> = open(path.as_ref()).expect("an array");
    if std::env::var_os(FUSED).is_some() {
        array = zarrs_recast::fused(array);
    }
    let chunk =
        ArraySubset::new_with_start_shape(vec![33 * CHUNK / 4], vec![CHUNK / 4]).expect("a subset");
    let before = status("VmRSS");
    let options = CodecOptions::default();
    let elements: Vec<f32> = array.retrieve_array_subset_opt(&chunk, &options).expect("read");
    println!("took {} bytes", status("VmHWM") - before);
    assert_eq!(elements.len() as u64, CHUNK / 4);
    assert!(elements.iter().enumerate().all(|(i, &x)| x == 5.0 + (i % 251) as f32 / 2.0));
}

#[test]
fn reading_one_chunk_of_an_array_of_a_gibibyte_takes_less_than_three_chunks() {
    zarrs_recast::register();
    let values: [Value; 2] = [
        json!({"name": "scale_offset", "configuration": {"offset": 5, "scale": 2}}),
        json!({"name": "cast_value", "configuration": {"data_type": "uint8"}}),
    ];
    let bytes = json!({"name": "bytes"});
    let zstd = json!({"name": "zstd", "configuration": {"level": 1, "checksum": false}});
    let shard = json!({"name": "sharding_indexed", "configuration": {
        "chunk_shape": [CHUNK / 64], "codecs": [bytes, zstd], "index_location": "end",
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
    }});
    let [scale, cast] = values;
    for (what, codecs) in [
        ("bytes", json!([scale, cast, bytes])),
        ("zstd", json!([scale, cast, bytes, zstd])),
        ("shard", json!([scale, cast, shard])),
    ] {
        let (folder, store) = empty_store();
        let document = metadata("float32", 5, &[256 * MIB], &[CHUNK / 4], &codecs);
        let array = create(&store, &document).expect("an array");
        let elements: Vec<f32> = (0..CHUNK / 4).map(|i| 5.0 + (i % 251) as f32 / 2.0).collect();
        array.store_chunk(&[33], elements).expect("written");
        for fused in [false, true] {
            let mut child = Command::new(std::env::current_exe().expect("this program"));
            child
                .args(["--exact", "memory::child", "--ignored", "--nocapture"])
                .env(ARRAY, folder.path());
            if fused {
                child.env(FUSED, "1");
            }
            let output = child.output().expect("a child process");
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
            let took = text.split("took ").nth(1).and_then(|text| text.split(' ').next());
            let took: u64 = took.expect("a number").parse().expect("a number");
            println!(
                "{what}, fused: {fused}: {took} bytes, {:.2} chunks",
                took as f64 / CHUNK as f64
            );
            assert!(took < 3 * CHUNK, "{what}, fused: {fused}: {took} bytes");
        }
    }
}

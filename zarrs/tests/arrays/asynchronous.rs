//! Arrays on asynchronous stores: the same elements, and no more bytes than synchronous ones touch.

use crate::common;
use std::sync::Arc;

use serde_json::{Value, json};
use zarrs::array::{Array, ArrayBytes, ArrayMetadata, ArraySubset, CodecOptions};
use zarrs::storage::storage_adapter::performance_metrics::PerformanceMetricsStorageAdapter;
use zarrs::storage::store::AsyncMemoryStore;
use zarrs_recast::{ElementError, Reason};

type Store = PerformanceMetricsStorageAdapter<AsyncMemoryStore>;

fn create(document: &Value) -> Array<Store> {
    zarrs_recast::register();
    let metadata: ArrayMetadata = serde_json::from_value(document.clone()).expect("metadata");
    let store = Arc::new(PerformanceMetricsStorageAdapter::new(Arc::new(AsyncMemoryStore::new())));
    Array::new_with_metadata(store, "/", metadata).expect("an array")
}

fn codecs() -> [Value; 3] {
    let scale = json!({"name": "scale_offset", "configuration": {"offset": -3, "scale": 4}});
    let cast = json!({"name": "cast_value", "configuration": {
        "data_type": "int16", "scalar_map": {"encode": [["NaN", -1]], "decode": [[-1, "NaN"]]}}});
    [scale, cast, json!({"name": "bytes", "configuration": {"endian": "big"}})]
}

/// Numbers that survive the codecs, with NaNs among them.
fn elements(count: u64) -> Vec<f32> {
    (0..count).map(|i| if i % 97 == 5 { f32::NAN } else { (i % 3001) as f32 / 4.0 }).collect()
}

fn bits(elements: &[f32]) -> Vec<u32> {
    elements.iter().map(|element| element.to_bits()).collect()
}

async fn read(array: &Array<Store>, subset: &ArraySubset) -> Vec<f32> {
    array.async_retrieve_array_subset(subset).await.expect("read")
}

#[tokio::test]
async fn what_is_written_is_read_whole_and_in_part_behind_every_kind_of_codec() {
    let [scale, cast, bytes] = codecs();
    let transpose = json!({"name": "transpose", "configuration": {"order": [1, 0]}});
    let zstd = json!({"name": "zstd", "configuration": {"level": 1, "checksum": false}});
    let index =
        json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
    let shards = |codecs: Value| {
        json!({"name": "sharding_indexed", "configuration": {
            "chunk_shape": [5, 10], "codecs": codecs, "index_codecs": index, "index_location": "end"}})
    };
    let delta = json!({"name": "numcodecs.delta", "configuration": {"dtype": "<i2"}});
    let shape = [60, 40];
    for codecs in [
        json!([scale, cast, bytes]),
        json!([scale, cast, delta, bytes]),
        json!([scale, cast, transpose, bytes, zstd]),
        json!([transpose, scale, cast, bytes]),
        json!([scale, transpose, cast, bytes]),
        json!([scale, cast, shards(json!([bytes, zstd]))]),
        json!([shards(json!([scale, cast, bytes]))]),
        json!([shards(json!([scale, cast, bytes, zstd]))]),
    ] {
        // The second fill value does not survive the codecs, which return another NaN.
        for (is_fused, fill) in [(false, "NaN"), (true, "NaN"), (false, "0x7fc01234")] {
            let array = create(&common::metadata("float32", fill, &shape, &[10, 20], &codecs));
            let fill = if fill == "NaN" { f32::NAN } else { f32::from_bits(0x7fc0_1234) };
            let array = if is_fused { zarrs_recast::fused(array) } else { array };
            // The last rows stay missing.
            let written = ArraySubset::from([0..37, 0..40]);
            let all = elements(37 * 40);
            // zarrs 0.23 has no asynchronous partial encoder for shards, and asserts that it has.
            let is_sharded = codecs.to_string().contains("sharding");
            for partial in [false, !is_sharded] {
                let options = CodecOptions::default().with_experimental_partial_encoding(partial);
                array
                    .async_store_array_subset_opt(&written, all.clone(), &options)
                    .await
                    .expect("written");
                let mut expected = all.clone();
                // Of the last chunks that are written, the rest is written, too.
                expected.resize(40 * 40, f32::NAN);
                expected.resize(60 * 40, fill);
                let found = read(&array, &array.subset_all()).await;
                assert_eq!(bits(&found), bits(&expected), "{codecs}");
                for part in [[3..57, 1..33], [9..10, 19..21], [50..60, 0..40]] {
                    let part = ArraySubset::from(part);
                    let indices = part.linearised_indices(&shape).expect("a part");
                    let expected: Vec<f32> =
                        indices.iter().map(|index| expected[index as usize]).collect();
                    let found = read(&array, &part).await;
                    assert_eq!(bits(&found), bits(&expected), "{codecs}: {part}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_part_of_a_chunk_touches_only_its_bytes() {
    let [scale, cast, bytes] = codecs();
    let document =
        common::metadata("float32", 0, &[1000, 1000], &[1000, 1000], &json!([scale, cast, bytes]));
    let array = create(&document);
    let store = array.storage();
    array.async_store_chunk(&[0, 0], vec![1.5_f32; 1_000_000]).await.expect("written");
    store.reset();
    let subset = ArraySubset::from([10..20, 30..35]);
    assert_eq!(read(&array, &subset).await, [1.5; 50]);
    assert_eq!(store.bytes_read(), 100);
}

/// Of a shard with codecs in front of it, only the chunks are read that a part is in, and the index.
#[tokio::test]
async fn a_part_of_a_shard_behind_the_codecs_touches_only_its_chunks() {
    let [scale, cast, bytes] = codecs();
    let index = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    let shards = json!({"name": "sharding_indexed", "configuration": {
        "chunk_shape": [100, 100], "codecs": [bytes], "index_codecs": index, "index_location": "end"}});
    let document =
        common::metadata("float32", 0, &[1000, 1000], &[1000, 1000], &json!([scale, cast, shards]));
    let array = create(&document);
    let store = array.storage();
    array.async_store_chunk(&[0, 0], vec![1.5_f32; 1_000_000]).await.expect("written");
    store.reset();
    assert_eq!(read(&array, &ArraySubset::from([110..120, 30..35])).await, [1.5; 50]);
    let index_bytes = 100 * 16;
    assert!(store.bytes_read() <= index_bytes + 2 * 100 * 100, "{}", store.bytes_read());
}

#[tokio::test]
async fn errors_name_the_element() {
    let cast = json!({"name": "cast_value", "configuration": {"data_type": "uint8"}});
    let document = common::metadata("float32", 0, &[4], &[4], &json!([cast, {"name": "bytes"}]));
    let array = create(&document);
    let bytes = ArrayBytes::new_flen([1.0_f32, 2.0, -7.0, 4.0].map(f32::to_ne_bytes).concat());
    let error = array.async_store_chunk(&[0], bytes).await.expect_err("-7");
    let error = ElementError::of(&error).expect("an element");
    assert_eq!((&error.at, error.source.reason), (&Some(vec![2]), Reason::OutOfRange));
}

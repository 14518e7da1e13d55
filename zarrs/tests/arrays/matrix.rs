//! Every part of Zarr behind the codecs, on a filesystem store.
//!
//! The elements are ones that come back from the codecs as they were, so what is read must be what
//! was written, whatever stands behind.

use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use serde_json::{Value, json};
use zarrs::array::{Array, ArrayBytes, ArraySubset, CodecOptions};

use crate::common::{
    Store, assert_same, create, empty_store, metadata, part, read, read_all, write, write_all,
};

/// Codecs of this crate, and elements that survive them.
struct Front {
    name: &'static str,
    data_type: ElementType,
    fill_value: Value,
    codecs: Value,
    /// The type of the encoded elements.
    encoded: ElementType,
    /// Repeated over the array.
    elements: Vec<Scalar>,
}

fn scalars(data_type: ElementType, values: &[f64]) -> Vec<Scalar> {
    let cast =
        |value: &f64| Scalar::from(*value).cast(data_type, Rounding::default(), OutOfRange::Error);
    values.iter().map(|value| cast(value).expect("representable")).collect()
}

#[allow(clippy::too_many_lines)] // a table
fn fronts() -> Vec<Front> {
    use ElementType as E;
    let front = |name, data_type, fill_value: Value, codecs, encoded, elements: &[f64]| Front {
        name,
        data_type,
        fill_value,
        codecs,
        encoded,
        elements: scalars(data_type, elements),
    };
    let cast =
        |data_type: &str| json!({"name": "cast_value", "configuration": {"data_type": data_type}});
    vec![
        front(
            "float32, scaled to uint8, NaN mapped",
            E::Float32,
            json!("NaN"),
            json!([
                {"name": "scale_offset", "configuration": {"offset": -10, "scale": 2}},
                {"name": "cast_value", "configuration": {
                    "data_type": "uint8", "out_of_range": "clamp",
                    "scalar_map": {"encode": [["NaN", 255]], "decode": [[255, "NaN"]]},
                }},
            ]),
            E::UInt8,
            &[-9.5, 0.0, 1.5, f64::NAN, 100.0, 117.0, -10.0],
        ),
        front(
            "float64 to int16",
            E::Float64,
            json!(7),
            json!([{"name": "cast_value", "configuration": {
                "data_type": "int16", "rounding": "towards-zero", "out_of_range": "wrap",
            }}]),
            E::Int16,
            &[-32768.0, 7.0, 0.0, 255.0, 32767.0],
        ),
        front(
            "int32, shifted to uint16",
            E::Int32,
            json!(-5),
            json!([{"name": "scale_offset", "configuration": {"offset": -5}}, cast("uint16")]),
            E::UInt16,
            &[-5.0, 0.0, 65530.0, 300.0],
        ),
        front(
            "int64, shifted",
            E::Int64,
            json!(1),
            json!([{"name": "scale_offset", "configuration": {"offset": 1, "scale": -3}}]),
            E::Int64,
            &[1.0, -4e15, 12.0, 9_007_199_254_740_991.0],
        ),
        front(
            "float32 to bfloat16",
            E::Float32,
            json!("-Infinity"),
            json!([cast("bfloat16")]),
            E::BFloat16,
            &[1.0, -0.0, f64::INFINITY, 3.125, f64::NAN, 0.007_812_5],
        ),
        front(
            "uint16 to float8 and on to float16",
            E::UInt16,
            json!(2),
            json!([cast("float8_e5m2"), cast("float16")]),
            E::Float16,
            &[0.0, 1.0, 2.0, 48.0, 57344.0],
        ),
        front(
            "int32 to int2",
            E::Int32,
            json!(-2),
            json!([cast("int2")]),
            E::Int2,
            &[-2.0, 0.0, 1.0],
        ),
        front(
            "uint8 to uint4",
            E::UInt8,
            json!(15),
            json!([cast("uint4")]),
            E::UInt4,
            &[0.0, 9.0, 15.0],
        ),
        front(
            "float32 to float4_e2m1fn",
            E::Float32,
            json!(-1.5),
            json!([cast("float4_e2m1fn")]),
            E::Float4E2M1Fn,
            &[-6.0, -0.0, 0.5, 4.0, 1.5],
        ),
        front(
            "float64 to float6_e3m2fn",
            E::Float64,
            json!(0),
            json!([cast("float6_e3m2fn")]),
            E::Float6E3M2Fn,
            &[28.0, -0.0625, 1.25],
        ),
    ]
}

fn bytes(endian: &str) -> Value {
    json!({"name": "bytes", "configuration": {"endian": endian}})
}

fn named(name: &str) -> Value {
    json!({"name": name})
}

fn sharding(chunks: &[u64], codecs: &[Value], index_location: &str) -> Value {
    json!({"name": "sharding_indexed", "configuration": {
        "chunk_shape": chunks,
        "codecs": codecs,
        "index_codecs": [bytes("little"), named("crc32c")],
        "index_location": index_location,
    }})
}

/// All that can stand behind the codecs of `front`, with them in place.
fn chains(front: &Front, inner_chunks: &[u64]) -> Vec<(String, Vec<Value>)> {
    let ours = front.codecs.as_array().expect("codecs").clone();
    let gzip = json!({"name": "gzip", "configuration": {"level": 5}});
    let zstd = json!({"name": "zstd", "configuration": {"level": 3, "checksum": true}});
    let reversed: Vec<usize> = (0..inner_chunks.len()).rev().collect();
    let transpose = json!({"name": "transpose", "configuration": {"order": reversed}});
    let mut chains = Vec::new();
    let mut add = |name: &str, before: &[Value], after: &[Value]| {
        chains.push((name.to_owned(), [before, &ours, after].concat()));
    };
    add("bytes little", &[], &[bytes("little")]);
    add("bytes big", &[], &[bytes("big")]);
    add("gzip", &[], &[bytes("little"), gzip.clone()]);
    add("zstd", &[], &[bytes("big"), zstd.clone()]);
    add("crc32c", &[], &[bytes("little"), named("crc32c")]);
    add("zstd and crc32c", &[], &[bytes("little"), zstd.clone(), named("crc32c")]);
    for compressor in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"] {
        for shuffle in ["noshuffle", "shuffle", "bitshuffle"] {
            let blosc = json!({"name": "blosc", "configuration": {
                "cname": compressor, "clevel": 5, "shuffle": shuffle,
                "typesize": front.encoded.size(), "blocksize": 0,
            }});
            add(&format!("blosc {compressor} {shuffle}"), &[], &[bytes("little"), blosc]);
        }
    }
    if !inner_chunks.is_empty() {
        add("transpose before", std::slice::from_ref(&transpose), &[bytes("big"), gzip.clone()]);
        add("transpose after", &[], &[transpose.clone(), bytes("little")]);
        for index in ["start", "end"] {
            let inner = [bytes("big"), gzip.clone()];
            let outside = sharding(inner_chunks, &inner, index);
            add(&format!("outside a shard, index at {index}"), &[], &[outside]);
        }
    }
    if front.encoded.bits() < 8 {
        add("packbits", &[], &[named("packbits")]);
        add("packbits and zstd", &[], &[named("packbits"), zstd]);
    }
    if !inner_chunks.is_empty() {
        for index in ["start", "end"] {
            let inner = [ours.clone(), vec![bytes("little")]].concat();
            chains.push((
                format!("inside a shard, index at {index}"),
                vec![sharding(inner_chunks, &inner, index)],
            ));
        }
        let inner = [ours.clone(), vec![transpose, bytes("big"), gzip]].concat();
        chains.push((
            "inside a shard, transposed and compressed".to_owned(),
            vec![sharding(inner_chunks, &inner, "end"), named("crc32c")],
        ));
    }
    chains
}

/// Shape of the array, of its chunks, and of the chunks in a shard.
const SHAPES: [(&[u64], &[u64], &[u64]); 5] = [
    (&[], &[], &[]),
    (&[23], &[6], &[3]),
    (&[9, 10], &[4, 6], &[2, 3]),
    (&[3, 2, 5, 3], &[2, 2, 4, 2], &[1, 2, 2, 1]),
    (&[0, 4], &[2, 4], &[1, 2]),
];

fn elements(front: &Front, shape: &[u64]) -> Vec<u8> {
    let count = usize::try_from(shape.iter().product::<u64>()).expect("small");
    front.elements.iter().cycle().take(count).flat_map(|element| element.to_ne_bytes()).collect()
}

/// Subsets that cut through chunks, and one element.
fn parts(shape: &[u64]) -> Vec<ArraySubset> {
    if shape.is_empty() || shape.contains(&0) {
        return Vec::new();
    }
    let middle: Vec<_> = shape.iter().map(|&n| n / 3..n - n / 4).collect();
    let element: Vec<_> = shape.iter().map(|&n| n - 1..n).collect();
    [middle, element].map(ArraySubset::from).to_vec()
}

fn for_every_array(mut test: impl FnMut(&str, &Front, &Value)) {
    zarrs_recast::register();
    for front in fronts() {
        for (shape, chunks, inner_chunks) in SHAPES {
            for (behind, codecs) in chains(&front, inner_chunks) {
                let name = format!("{}, {behind}, {shape:?}", front.name);
                let fill_value = front.fill_value.clone();
                let document =
                    metadata(front.data_type.name(), fill_value, shape, chunks, &codecs.into());
                test(&name, &front, &document);
            }
        }
    }
}

#[track_caller]
fn assert_reads(name: &str, front: &Front, array: &Array<Store>, expected: &[u8]) {
    let t = front.data_type;
    let found = read_all(array).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_same(name, t, &found, expected);
    for subset in parts(array.shape()) {
        let found = read(array, &subset).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = part(expected, t.size(), array.shape(), &subset);
        assert_same(&format!("{name}, {subset}"), t, &found, &expected);
    }
}

#[test]
fn what_is_written_whole_is_read_whole_and_in_part() {
    let mut arrays = 0;
    for_every_array(|name, front, document| {
        let (_folder, store) = empty_store();
        let array = create(&store, document).unwrap_or_else(|error| panic!("{name}: {error}"));
        let elements = elements(front, array.shape());
        write_all(&array, &elements).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_reads(name, front, &array, &elements);
        arrays += 1;
    });
    assert!(arrays > 1000, "only {arrays} arrays");
}

#[test]
fn what_is_written_in_part_is_read_and_the_rest_is_the_fill_value() {
    for_every_array(|name, front, document| {
        let (_folder, store) = empty_store();
        let array = create(&store, document).unwrap_or_else(|error| panic!("{name}: {error}"));
        let shape = array.shape();
        let Some(subset) = parts(shape).into_iter().next() else { return };
        let t = front.data_type;
        let all = elements(front, shape);
        let written = part(&all, t.size(), shape, &subset);
        let options = [false, true]
            .map(|partial| CodecOptions::default().with_experimental_partial_encoding(partial));
        for options in options {
            let bytes = ArrayBytes::new_flen(written.clone());
            array
                .store_array_subset_opt(&subset, bytes, &options)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut expected = Vec::new();
            let fill_value = array.fill_value().as_ne_bytes();
            for at in &ArraySubset::new_with_shape(shape.to_vec()).indices() {
                let index = expected.len();
                let inside = subset.contains(&at);
                let element = &all[index..index + t.size()];
                expected.extend_from_slice(if inside { element } else { fill_value });
            }
            assert_reads(name, front, &array, &expected);
            array
                .erase_chunks(&ArraySubset::new_with_shape(array.chunk_grid_shape().to_vec()))
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    });
}

#[test]
fn chunks_written_by_many_threads_are_all_read() {
    zarrs_recast::register();
    for front in fronts() {
        let (_folder, store) = empty_store();
        let codecs =
            [front.codecs.as_array().expect("codecs").clone(), vec![bytes("little")]].concat();
        let fill_value = front.fill_value.clone();
        let document =
            metadata(front.data_type.name(), fill_value, &[64, 48], &[8, 8], &codecs.into());
        let array = create(&store, &document).expect("an array");
        let all = elements(&front, array.shape());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (array, all, front) = (&array, &all, &front);
                scope.spawn(move || {
                    for row in (0..8).filter(|row| row % 4 == thread) {
                        for column in 0..6 {
                            let chunk = array.chunk_subset(&[row, column]).expect("a chunk");
                            let bytes = part(all, front.data_type.size(), array.shape(), &chunk);
                            write(array, &chunk, &bytes).expect("written");
                        }
                    }
                });
            }
        });
        assert_reads(front.name, &front, &array, &all);
    }
}

#[test]
fn chunk_keys_of_both_kinds_and_separators_work() {
    zarrs_recast::register();
    let front = &fronts()[0];
    let keys = [
        ("default", "/", "c/1/0"),
        ("default", ".", "c.1.0"),
        ("v2", "/", "1/0"),
        ("v2", ".", "1.0"),
    ];
    for (kind, separator, key) in keys {
        let (folder, store) = empty_store();
        let codecs =
            [front.codecs.as_array().expect("codecs").clone(), vec![bytes("little")]].concat();
        let fill_value = front.fill_value.clone();
        let mut document = metadata("float32", fill_value, &[4, 3], &[2, 2], &codecs.into());
        document["chunk_key_encoding"] =
            json!({"name": kind, "configuration": {"separator": separator}});
        let array = create(&store, &document).expect("an array");
        let all = elements(front, array.shape());
        write_all(&array, &all).expect("written");
        assert!(folder.path().join(key).is_file(), "{kind} {separator}: no {key}");
        assert_reads(key, front, &array, &all);
    }
}

fn files(folder: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            let bytes = std::fs::read(&path).expect("a file");
            files.push((path, bytes));
        }
    }
    files.sort();
    files
}

#[test]
fn fused_arrays_store_the_same_files_and_read_the_same_elements() {
    for_every_array(|name, front, document| {
        if front.codecs.as_array().is_some_and(|codecs| codecs.len() < 2) {
            return;
        }
        let (folder, store) = empty_store();
        let array = create(&store, document).unwrap_or_else(|error| panic!("{name}: {error}"));
        let elements = elements(front, array.shape());
        write_all(&array, &elements).unwrap_or_else(|error| panic!("{name}: {error}"));
        let unfused = files(folder.path());

        let array = zarrs_recast::fused(array);
        assert_reads(name, front, &array, &elements);
        array.store_metadata().expect("written");
        write_all(&array, &elements).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(files(folder.path()) == unfused, "{name}");
        if let Some(subset) = parts(array.shape()).first() {
            let options = CodecOptions::default().with_experimental_partial_encoding(true);
            let size = front.data_type.size();
            let bytes = ArrayBytes::new_flen(part(&elements, size, array.shape(), subset));
            array
                .store_array_subset_opt(subset, bytes, &options)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_reads(name, front, &array, &elements);
        }
    });
}

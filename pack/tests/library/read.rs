//! Reading: `cat` and `info` of arrays that others wrote, and of our own; unpacking.

use std::fs;
use std::path::Path;

use crate::common::{
    Sample, Trial, bytes, codec_names, little_endian, metadata, names, npy, one_thread, read,
    repository, sharding, told, within,
};
use recast_pack::{CatFormat, Job, Runtime, UnpackJob, cat};
use serde_json::json;

/// What `cat` writes of an array, whatever its fill value.
fn cat_any(array: &Path, format: CatFormat) -> Result<Vec<u8>, String> {
    let runtime = Runtime { accept_fill_value: true, ..one_thread() };
    let mut written = Vec::new();
    told(cat(array, format, &runtime, &mut written)).map(|()| written)
}

#[test]
fn npy_files_are_those_that_numpy_writes() {
    let goldens = repository().join("zarrs/tests/goldens");
    let mut compared = [0, 0];
    for case in names(&goldens) {
        let expected = goldens.join(&case).join("decoded.npy");
        if !expected.exists() {
            continue;
        }
        let array = goldens.join(&case).join("array.zarr");
        let raw = cat_any(&array, CatFormat::Raw).unwrap();
        // NumPy's own files may be in Fortran's order, and hold the bits of types that it lacks.
        let (elements, header) = npy(&expected);
        if header.contains("'fortran_order': True") {
            continue;
        }
        assert!(raw == elements, "{case}");
        compared[0] += 1;
        match cat_any(&array, CatFormat::Npy) {
            Ok(file) => {
                assert!(file == fs::read(expected).unwrap(), "{case}");
                compared[1] += 1;
            }
            Err(error) => assert!(error.contains("which NumPy lacks"), "{case}: {error}"),
        }
    }
    assert!(compared[0] >= 50 && compared[1] >= 20, "{compared:?} files compared");
}

#[test]
fn cat_writes_c_order_whatever_the_chunks() {
    let values = bytes(&(0..7 * 11 * 5).map(|i| i as f32).collect::<Vec<f32>>());
    for chunks in [[7, 11, 5], [2, 3, 4], [1, 1, 1], [8, 2, 9]] {
        let trial = Trial::of(&Sample::new("float32", &[7, 11, 5], &chunks, json!(0.0)), &values);
        for threads in [1, 3] {
            let runtime = Runtime { threads: Some(threads), ..Runtime::default() };
            let mut found = Vec::new();
            told(cat(trial.input(), CatFormat::Raw, &runtime, &mut found)).unwrap();
            assert!(found == values, "{chunks:?}");
        }
    }
}

/// zarrs rounds the fill value where it decodes a part of a chunk.
#[test]
fn chunks_that_are_not_stored_have_the_fill_value_to_the_last_bit() {
    let bitround = json!({"name": "bitround", "configuration": {"keepbits": 5}});
    let transpose = json!({"name": "transpose", "configuration": {"order": [1, 0]}});
    let scale = json!({"name": "scale_offset", "configuration": {"scale": 4}});
    let inner = sharding(&[1, 3], json!([bitround, little_endian()]));
    let all = [
        json!([little_endian()]),
        json!([bitround, little_endian()]),
        json!([transpose, bitround, little_endian()]),
        json!([bitround, transpose, little_endian()]),
        json!([scale, little_endian()]),
        json!([inner]),
    ];
    for (codecs, shape) in all.iter().flat_map(|codecs| [(codecs, [5, 7]), (codecs, [4, 6])]) {
        let trial = Trial::empty();
        let sample = Sample::new("float32", &shape, &[2, 3], json!(0.1));
        let sample = sample.with("codecs", codecs.clone());
        let [rows, columns] = shape.map(|extent| extent as usize);
        let is_first = |index: usize| index / columns < 2 && index % columns < 3;
        let values: Vec<f32> =
            (0..rows * columns).map(|index| if is_first(index) { 2.5 } else { 0.1 }).collect();
        // zarrs does not store chunks of nothing but the fill value.
        sample.write(&trial.input(), &bytes(&values));
        let chunks = names(&trial.input().join("c"));
        assert_eq!(chunks, ["0"], "{codecs}");
        assert!(read(&trial.input()) == bytes(&values), "{codecs} {shape:?}");
    }
}

#[test]
fn cat_of_nothing_and_of_one_element() {
    let trial = Trial::empty();
    Sample::new("int16", &[0, 4], &[1, 4], json!(3)).create(&trial.input());
    assert!(read(&trial.input()).is_empty());
    Sample::new("int16", &[], &[], json!(300)).create(&trial.input());
    assert_eq!(read(&trial.input()), bytes(&[300_i16]));
}

#[test]
fn unpack_gives_plain_values_back() {
    let values: Vec<f32> =
        (0..500).map(|i| if i % 9 == 0 { f32::NAN } else { i as f32 * 0.3 }).collect();
    let sample = Sample::new("float32", &[20, 25], &[6, 7], json!("NaN"))
        .with("attributes", json!({"units": "m"}))
        .with("dimension_names", json!(["a", "b"]));
    let trial = Trial::of(&sample, &bytes(&values));
    trial.pack(within(0.01)).unwrap();
    let plain = trial.place("plain.zarr");
    told(UnpackJob::new(trial.output(), &plain).run(&one_thread())).unwrap();
    let (document, original) = (metadata(&plain), metadata(&trial.input()));
    for member in
        ["shape", "data_type", "fill_value", "chunk_grid", "attributes", "dimension_names"]
    {
        assert_eq!(document[member], original[member], "{member}");
    }
    assert_eq!(codec_names(&document["codecs"]), ["bytes", "zstd"]);
    assert_eq!(read(&plain), trial.decoded());
}

#[test]
fn a_shard_whose_index_points_nowhere_is_an_error() {
    let codecs = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2], "codecs": [little_endian()], "index_codecs": [little_endian()],
        "index_location": "end",
    }}]);
    let elements = (0..8).collect::<Vec<i16>>();
    let trial = Trial::new(&elements, 8, json!({"fill_value": -1, "codecs": codecs}));
    let shard = trial.input().join("c/0");
    let whole = fs::read(&shard).unwrap();
    for offset in [u64::MAX - 1, 1 << 63, 1 << 40, 1 << 20] {
        for at in [0, 8] {
            let mut broken = whole.clone();
            let index = broken.len() - 64 + at;
            broken[index..index + 8].copy_from_slice(&offset.to_le_bytes());
            fs::write(&shard, broken).unwrap();
            let job = UnpackJob::new(trial.input(), trial.output());
            for outcome in [
                told(cat(trial.input(), CatFormat::Raw, &one_thread(), &mut Vec::new())),
                told(job.run(&one_thread())).map(|_| ()),
            ] {
                let error = outcome.unwrap_err();
                assert!(error.contains("in.zarr"), "{error}");
            }
            assert_eq!(names(trial.path()), ["in.zarr"]);
        }
    }
}

//! Zarr v1 arrays: the documents of its specification, with chunks as Zarr v2 stores them.

use recast_kernels::ElementType;
use serde_json::{Value, json};
use zarrs_recast::{metadata_v2_from_v1, open_v1};

use crate::common::{assert_same, create, empty_store, read_all, write_all};

fn meta(compression: &Value, options: &Value) -> Value {
    json!({
        "zarr_format": 1, "shape": [7, 5], "chunks": [3, 2], "dtype": ">f4", "fill_value": 42,
        "order": "F", "compression": compression, "compression_opts": options,
    })
}

#[test]
fn arrays_with_every_compression_are_read() {
    for (compression, options) in [
        (json!("blosc"), json!({"cname": "lz4", "clevel": 5, "shuffle": 1})),
        (json!("blosc"), json!({"cname": "zstd", "clevel": 3, "shuffle": 2})),
        (json!("zlib"), json!(1)),
        (Value::Null, Value::Null),
    ] {
        let (folder, store) = empty_store();
        let meta = meta(&compression, &options);
        let v2 = metadata_v2_from_v1(&meta).expect("metadata");
        let array = create(&store, &serde_json::to_value(&v2).expect("JSON")).expect("an array");
        let elements: Vec<u8> = (0..35_u8).flat_map(|i| f32::from(i).to_ne_bytes()).collect();
        write_all(&array, &elements).expect("written");
        std::fs::remove_file(folder.path().join(".zarray")).expect("removed");
        std::fs::write(folder.path().join("meta"), meta.to_string()).expect("written");
        std::fs::write(folder.path().join("attrs"), r#"{"units": "K"}"#).expect("written");
        std::fs::remove_file(folder.path().join("2.2")).expect("a chunk that goes missing");

        let array = open_v1(store, "/").unwrap_or_else(|error| panic!("{compression}: {error}"));
        assert_eq!(array.attributes()["units"], "K");
        let mut expected = elements;
        expected[34 * 4..].copy_from_slice(&42_f32.to_ne_bytes());
        let found = read_all(&array).expect("read");
        assert_same("v1", ElementType::Float32, &found, &expected);
    }
}

#[test]
fn an_error_names_the_field() {
    let right = meta(&json!("zlib"), &json!(1));
    assert!(metadata_v2_from_v1(&right).is_ok());
    for (name, wrong) in [
        ("zarr_format", json!(2)),
        ("shape", json!([-1])),
        ("chunks", json!("3")),
        ("order", json!("K")),
        ("compression", json!("lzma")),
        ("compression_opts", json!({"level": 1})),
    ] {
        let mut document = right.clone();
        document[name] = wrong;
        let error = metadata_v2_from_v1(&document).expect_err(name).to_string();
        assert!(error.starts_with(&format!("meta: {name}: ")), "{error}");
    }
    for name in ["shape", "chunks", "dtype", "fill_value", "order", "compression"] {
        let mut document = right.clone();
        document.as_object_mut().expect("an object").remove(name);
        let error = metadata_v2_from_v1(&document).expect_err(name).to_string();
        assert_eq!(error, format!("meta: {name}: missing"));
    }
    let (_folder, store) = empty_store();
    let error = open_v1(store, "/").expect_err("no array").to_string();
    assert_eq!(error, "meta: no such key; this is not a Zarr v1 array");
}

/// zarrs makes an order of dimensions that it does not check, and of none there is none.
#[test]
fn an_array_without_dimensions_in_the_order_of_fortran_is_read() {
    let (folder, store) = empty_store();
    let meta = json!({
        "zarr_format": 1, "shape": [], "chunks": [], "dtype": "<f4", "fill_value": 42,
        "order": "F", "compression": null, "compression_opts": null,
    });
    let v2 = metadata_v2_from_v1(&meta).expect("metadata");
    assert_eq!(serde_json::to_value(v2.order).expect("JSON"), "C");
    std::fs::write(folder.path().join("meta"), meta.to_string()).expect("written");
    std::fs::write(folder.path().join("0"), 1.5_f32.to_le_bytes()).expect("written");
    let array = open_v1(store, "/").expect("an array");
    assert_eq!(read_all(&array).expect("read"), 1.5_f32.to_ne_bytes());
}

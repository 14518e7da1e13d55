//! `numcodecs.delta` against numcodecs 0.17.1, and what it refuses.

// One range is the subset of an array with one dimension.
#![allow(clippy::single_range_in_vec_init)]

use serde_json::{Value, json};
use zarr_recast::data_type::from_numpy;
use zarrs::array::ArraySubset;

use crate::common::{
    bytes, create, empty_store, goldens, json_file, metadata, native, read, read_all, write_all,
};

fn delta(configuration: &Value) -> Value {
    json!([
        {"name": "numcodecs.delta", "configuration": configuration},
        {"name": "bytes", "configuration": {"endian": "little"}},
    ])
}

/// The error of writing elements of a data type with a configuration.
fn refused(data_type: &str, configuration: &Value, elements: &[u8], count: u64) -> String {
    let (_folder, store) = empty_store();
    match create(&store, &metadata(data_type, 0, &[count], &[count], &delta(configuration))) {
        Ok(array) => write_all(&array, elements).expect_err("refused").to_string(),
        Err(error) => error,
    }
}

#[test]
fn differences_and_sums_are_those_of_numcodecs() {
    zarrs_recast::register();
    let cases = json_file(&goldens().join("delta.json"));
    let mut lossy = 0;
    for case in cases.as_array().expect("cases") {
        let (dtype, astype) = (case["dtype"].as_str().unwrap(), case["astype"].as_str().unwrap());
        let what = format!("{dtype} as {astype}");
        let (decoded, _) = from_numpy(dtype).expect(dtype);
        let elements = native(&bytes(&case["elements"]), decoded.size());
        let count = (elements.len() / decoded.size()) as u64;
        let (folder, store) = empty_store();
        let codecs = delta(&json!({"dtype": dtype, "astype": astype}));
        let document = metadata(decoded.name(), 0, &[count], &[count], &codecs);
        let array = create(&store, &document).unwrap_or_else(|e| panic!("{what}: {e}"));
        let chunk = folder.path().join("c/0");
        let differences = bytes(&case["differences"]);
        if case["sums"] == case["elements"] {
            write_all(&array, &elements).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!(std::fs::read(&chunk).expect("a chunk"), differences, "{what}");
        } else {
            // What numcodecs loses is not written; what it has written is read as it reads it.
            let error = write_all(&array, &elements).expect_err(&what).to_string();
            assert!(error.contains("does not add up to it again"), "{error}");
            std::fs::create_dir_all(folder.path().join("c")).expect("a folder");
            std::fs::write(&chunk, &differences).expect("a chunk");
            lossy += 1;
        }
        let sums = native(&bytes(&case["sums"]), decoded.size());
        assert_eq!(read_all(&array).expect("read"), sums, "{what}");
        let part = read(&array, &ArraySubset::from([7..9])).expect("a part");
        let size = decoded.size();
        assert_eq!(part, sums[7 * size..9 * size], "{what}");
    }
    assert_eq!((cases.as_array().expect("cases").len(), lossy), (61, 1));
}

#[test]
fn a_difference_out_of_range_for_astype_is_an_error_that_names_the_element() {
    let elements: Vec<u8> = [5_i16, 6, 135, 7].iter().flat_map(|x| x.to_ne_bytes()).collect();
    let error = refused("int16", &json!({"dtype": "<i2", "astype": "|i1"}), &elements, 4);
    assert!(
        error.contains(
            "numcodecs.delta, encoding: element 2: int16 135 as int8: its difference from the one before is \
             out of range for astype; use a wider astype (at [2] of the chunk)"
        ),
        "{error}"
    );
    let elements: Vec<u8> = [300_i16, 301].iter().flat_map(|x| x.to_ne_bytes()).collect();
    let error = refused("int16", &json!({"dtype": "<i2", "astype": "|i1"}), &elements, 2);
    assert!(error.contains("element 0: int16 300 as int8: the element is out of range"), "{error}");
}

#[test]
fn configurations_without_meaning_are_refused() {
    zarrs_recast::register();
    for (configuration, reason) in [
        (json!({}), "dtype is missing"),
        (json!({"dtype": 3}), "dtype is 3, and a data type such as \"<i2\" is needed"),
        (json!({"dtype": "<i2", "as_type": "<i2"}), "the key \"as_type\" is unknown"),
        (json!({"dtype": ">i2"}), "another byte order"),
        (json!({"dtype": "<i2", "astype": ">i2"}), "another byte order"),
        (json!({"dtype": "<f4", "astype": "<f8"}), "differences of float32 as float64"),
        (json!({"dtype": "<i8", "astype": "<u8"}), "differences of int64 as uint64"),
        (json!({"dtype": "<f2"}), "differences of float16"),
        (json!({"dtype": "<i4"}), "its dtype is int32, but the elements that reach it are int16"),
    ] {
        if cfg!(target_endian = "big") && reason == "another byte order" {
            continue;
        }
        let error = refused("int16", &configuration, &[0, 1], 1);
        assert!(error.contains(reason), "{configuration}: {error}");
    }
}

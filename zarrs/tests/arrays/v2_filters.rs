//! Filters of Zarr v2 in every byte order, alone and behind one another, against zarr-python.

// One range is the subset of an array with one dimension.
#![allow(clippy::single_range_in_vec_init)]

use serde_json::{Value, json};
use zarr_recast::data_type::from_numpy;
use zarrs::array::ArraySubset;

use crate::common::{
    bytes, create, empty_store, goldens, json_file, native, read, read_all, write_all,
};

fn document(dtype: &Value, filters: &Value) -> Value {
    json!({
        "zarr_format": 2, "shape": [6], "chunks": [6], "dtype": dtype, "fill_value": 0,
        "order": "C", "compressor": null, "filters": filters,
    })
}

#[test]
fn filters_of_every_byte_order_read_and_write_what_zarr_python_does() {
    zarrs_recast::register();
    let cases = json_file(&goldens().join("v2_filters.json"));
    for case in cases.as_array().expect("cases") {
        let what = format!("{}, {}", case["dtype"], case["filters"]);
        let (element_type, _) = from_numpy(case["dtype"].as_str().expect("a type")).expect("known");
        let size = element_type.size();
        let elements = native(&bytes(&case["elements"]), size);
        let stored = bytes(&case["stored"]);
        let (folder, store) = empty_store();
        let array = create(&store, &document(&case["dtype"], &case["filters"])).expect(&what);
        std::fs::write(folder.path().join("0"), &stored).expect("a chunk");
        let reopened = create(&store, &document(&case["dtype"], &case["filters"])).expect(&what);
        for array in [array, zarrs_recast::fused(reopened)] {
            assert_eq!(read_all(&array).expect(&what), elements, "{what}");
            let part = read(&array, &ArraySubset::from([2..5])).expect(&what);
            assert_eq!(part, elements[2 * size..5 * size], "{what}");
            zarrs_recast::check(&array).expect(&what);
            write_all(&array, &elements).expect(&what);
            let written = std::fs::read(folder.path().join("0")).expect("a chunk");
            assert_eq!(written, stored, "{what}");
        }
    }
    assert_eq!(cases.as_array().map(Vec::len), Some(40));
}

/// numcodecs takes the bytes of one order for numbers in the other, which no codec here does.
#[test]
fn a_filter_whose_dtype_has_another_byte_order_than_the_filter_before_is_refused() {
    zarrs_recast::register();
    for second in [
        json!({"id": "delta", "dtype": "<i2"}),
        json!({"id": "astype", "encode_dtype": "<i4", "decode_dtype": "<i2"}),
    ] {
        let filters =
            json!([{"id": "astype", "encode_dtype": ">i2", "decode_dtype": "<i4"}, second]);
        let (folder, store) = empty_store();
        let array = create(&store, &document(&"<i4".into(), &filters)).expect("an array");
        std::fs::write(folder.path().join("0"), [0; 24]).expect("a chunk");
        let reopened = create(&store, &document(&"<i4".into(), &filters)).expect("an array");
        for array in [array, zarrs_recast::fused(reopened)] {
            let errors = [
                read_all(&array).expect_err("read").to_string(),
                read(&array, &ArraySubset::from([2..5])).expect_err("read").to_string(),
                write_all(&array, &[1; 24]).expect_err("written").to_string(),
                zarrs_recast::check(&array).expect_err("checked").to_string(),
            ];
            for error in errors {
                assert!(error.contains("its dtype is little-endian, but"), "{error}");
            }
        }
    }
}

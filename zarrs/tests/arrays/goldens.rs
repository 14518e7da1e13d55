//! Stores that zarr-python 3.4.2 wrote (see `../goldens/README.md`), read and written through zarrs.

use std::path::Path;

use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use serde_json::Value;
use zarrs::array::{Array, ArrayBytes, ArraySubset, CodecOptions};
use zarrs::plugin::ExtensionName;

use crate::common::{
    Store, assert_same, cases, create, element_type, empty_store, goldens, json_file, npy, open,
    part, read, read_all, write_all,
};

/// Its fill value 2 is scaled to 0, which the map decodes to NaN: read, but refused for writing.
const FILL_DOES_NOT_SURVIVE: &str = "transpose_so_cv_big_gzip";

/// zarrs sorts codecs by kind instead of refusing an order that has no meaning.
const ACCEPTED_BY_ZARRS: [&str; 1] = ["cv_after_bytes.json"];

fn name(case: &Path) -> String {
    case.file_name().expect("a name").to_string_lossy().into_owned()
}

/// Reads the array whole, element by element along a diagonal, and in halves; all must agree with `expected`.
fn assert_reads(what: &str, array: &Array<Store>, expected: &Path) {
    let (shape, expected) = npy(expected);
    assert_eq!(array.shape(), shape, "{what}");
    let t = element_type(array);
    assert_same(what, t, &read_all(array).unwrap_or_else(|e| panic!("{what}: {e}")), &expected);
    for subset in parts(&shape) {
        let found = read(array, &subset).unwrap_or_else(|e| panic!("{what}, {subset}: {e}"));
        assert_same(
            &format!("{what}, {subset}"),
            t,
            &found,
            &part(&expected, t.size(), &shape, &subset),
        );
    }
}

/// Some subsets that cut through chunks.
fn parts(shape: &[u64]) -> Vec<ArraySubset> {
    if shape.is_empty() {
        return Vec::new();
    }
    let middle: Vec<_> = shape.iter().map(|&n| n / 3..n - n / 4).collect();
    let end: Vec<_> = shape.iter().map(|&n| n.saturating_sub(2)..n).collect();
    let element: Vec<_> = shape.iter().map(|&n| n / 2..n / 2 + 1).collect();
    [middle, end, element].map(ArraySubset::from).to_vec()
}

#[test]
fn every_store_reads_back_exactly_whole_and_in_part() {
    zarrs_recast::register();
    let mut read = [0, 0];
    for case in cases(&goldens()) {
        let what = name(&case);
        let array = open(&case.join("array.zarr")).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_reads(&what, &array, &case.join("decoded.npy"));
        let format = json_file(&case.join("case.json"))["zarr_format"].as_u64().expect("a format");
        read[usize::from(format == 2)] += 1;
    }
    assert_eq!(read, [61, 5], "stores of Zarr v3 and v2 read");
}

#[test]
fn every_store_of_the_conformance_vectors_reads_back_exactly() {
    zarrs_recast::register();
    let stores = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/stores");
    let mut read = 0;
    for case in std::fs::read_dir(stores).expect("stores") {
        let case = case.expect("a store").path();
        let what = name(&case);
        let array = open(&case.join("array.zarr")).unwrap_or_else(|e| panic!("{what}: {e}"));
        let mut expected = std::fs::read(case.join("expected.bin")).expect("the elements");
        if cfg!(target_endian = "big") {
            expected.chunks_mut(element_type(&array).size()).for_each(<[u8]>::reverse);
        }
        let found = read_all(&array).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(found, expected, "{what}");
        read += 1;
    }
    assert!(read >= 90, "{read} stores");
}

/// The metadata document of a store, with the attributes of Zarr v2 left out.
fn document(case: &Path) -> Value {
    let store = case.join("array.zarr");
    let v3 = store.join("zarr.json");
    json_file(&if v3.is_file() { v3 } else { store.join(".zarray") })
}

#[test]
fn every_store_is_written_to_the_same_elements_and_uncompressed_ones_to_the_same_bytes() {
    zarrs_recast::register();
    let mut same_bytes = 0;
    for case in cases(&goldens()) {
        let what = name(&case);
        let (folder, store) = empty_store();
        let array = create(&store, &document(&case)).unwrap_or_else(|e| panic!("{what}: {e}"));
        let (_, original) = npy(&case.join("original.npy"));
        if what == FILL_DOES_NOT_SURVIVE {
            let error = write_all(&array, &original).expect_err(&what).to_string();
            assert!(error.contains("comes back as NaN"), "{error}");
            continue;
        }
        write_all(&array, &original).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_reads(&what, &array, &case.join("decoded.npy"));

        let facts = json_file(&case.join("case.json"));
        if facts["chunk_bytes_comparable"] == true {
            for key in facts["chunk_keys_stored"].as_array().expect("keys") {
                let key = key.as_str().expect("a key");
                let ours = std::fs::read(folder.path().join(key)).expect("a chunk");
                let theirs = std::fs::read(case.join("array.zarr").join(key)).expect("a chunk");
                assert_eq!(ours, theirs, "{what}: chunk {key}");
            }
            same_bytes += 1;
        }
    }
    assert!(same_bytes > 20, "only {same_bytes} stores compared byte for byte");
}

#[test]
fn writing_a_store_in_parts_is_the_same_as_writing_it_whole() {
    zarrs_recast::register();
    let mut compared = 0;
    for case in cases(&goldens()).into_iter().filter(|case| name(case) != FILL_DOES_NOT_SURVIVE) {
        let what = name(&case);
        let (shape, elements) = npy(&case.join("decoded.npy"));
        let (_folder, store) = empty_store();
        let array = create(&store, &document(&case)).unwrap_or_else(|e| panic!("{what}: {e}"));
        let size = element_type(&array).size();
        // A part of a compressed chunk is written by decoding and encoding all of it. That changes
        // the other elements where decoded ones do not encode to what they were: 1e300 clamped to
        // Infinity, which the map then sends to 2.
        let written = write_all(&array, &elements).and_then(|()| read_all(&array));
        if shape.is_empty() || written.is_ok_and(|written| written != elements) {
            continue;
        }
        array
            .erase_chunks(&ArraySubset::new_with_shape(array.chunk_grid_shape().to_vec()))
            .unwrap_or_else(|e| panic!("{what}: {e}"));
        let options = CodecOptions::default().with_experimental_partial_encoding(true);
        for row in 0..shape[0] {
            let mut ranges: Vec<_> = shape.iter().map(|&n| 0..n).collect();
            ranges[0] = row..row + 1;
            let subset = ArraySubset::from(ranges);
            let bytes = ArrayBytes::new_flen(part(&elements, size, &shape, &subset));
            array
                .store_array_subset_opt(&subset, bytes, &options)
                .unwrap_or_else(|e| panic!("{what}: {e}"));
        }
        assert_reads(&what, &array, &case.join("decoded.npy"));
        compared += 1;
    }
    assert!(compared > 40, "only {compared} stores compared");
}

#[test]
fn where_zarr_python_deviates_the_specification_is_followed() {
    zarrs_recast::register();
    let mut found = Vec::new();
    for case in cases(&goldens().join("deviations")) {
        let what = name(&case);
        let array = open(&case.join("array.zarr")).unwrap_or_else(|e| panic!("{what}: {e}"));
        let (_, original) = npy(&case.join("original.npy"));
        let (_folder, store) = empty_store();
        let copy = create(&store, &document(&case)).unwrap_or_else(|e| panic!("{what}: {e}"));
        let written = write_all(&copy, &original);
        let facts = json_file(&case.join("case.json"));
        if facts["spec_check"]["status"] == "spec-says-error" {
            let error = written.expect_err(&what).to_string();
            assert!(!error.contains('\n') && !error.is_empty(), "{what}: {error}");
        } else {
            written.unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_reads(&what, &copy, &case.join("decoded_spec.npy"));
        }
        found.push(what);
        drop(array);
    }
    assert_eq!(found.len(), 7, "{found:?}");
}

/// Opens an array with this metadata, writes `element` everywhere and reads it back.
fn use_array(document: &Value, element: u8) -> Result<(), String> {
    let (_folder, store) = empty_store();
    let array = create(&store, document)?;
    let size = array.data_type().fixed_size().expect("elements of fixed size");
    let elements: u64 = array.shape().iter().product();
    let data_type = array.data_type().name_v3().expect("a name");
    let element = ElementType::from_name(&data_type).map_or_else(
        || vec![element; size],
        |data_type| {
            let element = Scalar::from(element);
            let cast = element.cast(data_type, Rounding::default(), OutOfRange::Error);
            cast.expect("a small number").to_ne_bytes()
        },
    );
    let bytes = element.repeat(usize::try_from(elements).expect("small"));
    write_all(&array, &bytes).map_err(|error| error.to_string())?;
    read_all(&array).map_err(|error| error.to_string())?;
    Ok(())
}

#[test]
fn invalid_metadata_are_refused_and_unusual_ones_accepted() {
    zarrs_recast::register();
    let documents = |folder: &str| {
        let folder = goldens().join(folder);
        let expected = json_file(&folder.join("expected.json"));
        let names = expected["documents"].as_object().expect("documents").clone();
        names.into_iter().map(move |(name, _)| {
            let document = json_file(&folder.join(&name));
            (name, document)
        })
    };
    let mut refused = 0;
    for (name, document) in documents("invalid") {
        if ACCEPTED_BY_ZARRS.contains(&name.as_str()) {
            continue;
        }
        let error = use_array(&document, 0).expect_err(&name);
        assert!(!error.contains('\n'), "{name}: {error}");
        refused += 1;
    }
    assert_eq!(refused, 38);
    for (name, document) in documents("valid") {
        use_array(&document, 101).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

//! Every document in `tests/metadata` is refused, or accepted, as its folder says; a refusal names
//! the field.
//!
//! Codecs other than ours are judged by `zarrs`. Here a document stands for what this crate gets to
//! see of it: its data type, its fill value, and the array-to-array codecs at the start of its list,
//! or of the inner list of `sharding_indexed`.

use std::path::Path;

use serde_json::Value;
use zarr_recast::{BindOptions, Chain, Codec, data_type, fill_value};

/// The place that a refusal must name, and a word of the reason.
const REFUSALS: [(&str, &str, &str); 37] = [
    ("cv_bad_out_of_range_saturate", "codecs[0].configuration.out_of_range", "saturate"),
    ("cv_bad_rounding_case", "codecs[0].configuration.rounding", "Nearest-Even"),
    ("cv_bad_rounding_up", "codecs[0].configuration.rounding", "up"),
    ("cv_fill_out_of_range", "fill_value", "-1 cannot be encoded by codecs[0] (cast_value)"),
    ("cv_infinity_fill_to_int", "fill_value", "clamp does not apply to infinities"),
    ("cv_map_decode_value_range", "codecs[0].configuration.scalar_map.decode[0][1]", "256"),
    ("cv_map_key_range", "codecs[0].configuration.scalar_map.encode[0][0]", "300"),
    ("cv_map_triple", "codecs[0].configuration.scalar_map.encode[0]", "[1,2,3]"),
    ("cv_map_unknown_direction", "codecs[0].configuration.scalar_map.both", "unknown key"),
    ("cv_map_value_fraction", "codecs[0].configuration.scalar_map.encode[0][1]", "1.5"),
    ("cv_map_value_nan_int", "codecs[0].configuration.scalar_map.encode[0][1]", "NaN"),
    ("cv_map_value_range", "codecs[0].configuration.scalar_map.encode[0][1]", "256"),
    ("cv_missing_configuration", "codecs[0].configuration", "missing"),
    ("cv_missing_data_type", "codecs[0].configuration.data_type", "missing"),
    ("cv_nan_fill_to_int", "fill_value", "\"encode\": [[\"NaN\", 255]]"),
    ("cv_source_bool", "data_type", "bool"),
    ("cv_source_complex", "data_type", "complex64"),
    ("cv_target_bool", "codecs[0].configuration.data_type", "bool"),
    ("cv_unknown_key", "codecs[0].configuration.clip", "unknown key"),
    ("cv_wrap_float_target", "codecs[0].configuration.out_of_range", "wrap"),
    ("fill_no_round_trip_clamp", "fill_value", "nearest fill value that survives is 0"),
    ("fill_no_round_trip_encode_only_nan", "fill_value", "\"decode\": [[0, \"NaN\"]]"),
    ("fill_no_round_trip_fraction", "fill_value", "comes back as 0.0"),
    ("fso_missing_scale", "codecs[0].configuration.scale", "missing"),
    ("shard_inner_bad_rounding", "codecs[0].configuration.rounding", "nearest"),
    ("shard_inner_nan_fill", "fill_value", "uint8 has no NaN"),
    ("so_after_cv_type", "codecs[1].configuration.scale", "0.5"),
    ("so_fill_overflow", "fill_value", "range of int8"),
    ("so_fill_underflow_unsigned", "fill_value", "range of uint8"),
    ("so_offset_fraction", "codecs[0].configuration.offset", "0.5"),
    ("so_offset_range", "codecs[0].configuration.offset", "300"),
    ("so_scale_fraction_int", "codecs[0].configuration.scale", "0.1"),
    ("so_scale_zero_float", "codecs[0].configuration.scale", "0.0"),
    ("so_scale_zero_int", "codecs[0].configuration.scale", "must not be 0"),
    ("so_source_bool", "data_type", "bool"),
    ("so_source_complex", "data_type", "complex128"),
    ("so_unknown_key", "codecs[0].configuration.dtype", "unknown key"),
];

/// Documents whose only fault is the order or the lack of codecs that are not ours.
const FOREIGN: [&str; 2] = ["cv_after_bytes", "no_bytes_codec"];

fn documents(folder: &str) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/metadata").join(folder);
    let mut documents: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap())
        })
        .collect();
    documents.sort_by(|(a, _), (b, _)| a.cmp(b));
    assert!(!documents.is_empty(), "no documents were read");
    documents
}

fn name(codec: &Value) -> &str {
    codec.as_str().or(codec["name"].as_str()).unwrap()
}

/// Our codecs at the start of a list; those at the start of a shard's inner list.
fn ours(codecs: &Value) -> Value {
    let codecs = codecs.as_array().unwrap();
    match codecs.first() {
        Some(shard) if name(shard) == "sharding_indexed" => ours(&shard["configuration"]["codecs"]),
        _ => codecs.iter().take_while(|codec| Codec::is_known(name(codec))).cloned().collect(),
    }
}

fn bind(document: &Value) -> Result<Chain, String> {
    let codecs = ours(&document["codecs"]);
    let options = BindOptions::default();
    Chain::from_json(&document["data_type"], &document["fill_value"], &codecs, &options)
        .map_err(|error| error.to_string())
}

#[test]
fn every_invalid_document_is_refused_by_the_name_of_its_field() {
    let mut refused = 0;
    for (name, document) in documents("invalid") {
        if FOREIGN.contains(&name.as_str()) {
            continue;
        }
        let (_, path, reason) =
            REFUSALS.iter().find(|(known, ..)| *known == name).expect("a row for the document");
        let error = bind(&document).expect_err(&name);
        assert!(error.starts_with(&format!("{path}: ")), "{name}: {error}");
        assert!(error.contains(reason), "{name}: {error}");
        assert!(!error.contains('\n'), "{name}: {error}");
        refused += 1;
    }
    assert_eq!(refused, REFUSALS.len(), "every row has its document");
}

#[test]
fn our_codecs_are_accepted_in_documents_that_only_other_codecs_spoil() {
    for (name, document) in documents("invalid") {
        if FOREIGN.contains(&name.as_str()) {
            assert!(bind(&document).is_ok(), "{name}");
        }
    }
}

#[test]
fn every_valid_document_is_accepted() {
    for (name, document) in documents("valid") {
        if let Err(error) = bind(&document) {
            panic!("{name}: {error}");
        }
    }
}

#[test]
fn every_codec_that_can_be_read_is_written_as_it_was() {
    let mut compared = 0;
    for (_, document) in documents("valid").into_iter().chain(documents("invalid")) {
        for json in ours(&document["codecs"]).as_array().unwrap() {
            if let Ok(codec) = Codec::from_json(json) {
                assert_eq!(codec.to_json(), *json);
                compared += 1;
            }
        }
    }
    assert!(compared > 25);
}

#[test]
fn arrays_that_exist_open_although_their_fill_value_does_not_survive() {
    let options = BindOptions::default().fill_check(zarr_recast::FillCheck::ReportOnly);
    let mut opened = 0;
    for (name, document) in documents("invalid") {
        if name.starts_with("fill_no_round_trip") {
            let data_type = data_type::from_json(&document["data_type"]).unwrap();
            let fill = fill_value::from_json(data_type, &document["fill_value"]).unwrap();
            let codecs = Codec::list_from_json(&ours(&document["codecs"])).unwrap();
            let chain = Chain::bind(data_type, Some(fill), &codecs, &options).unwrap();
            assert_eq!(chain.warnings().len(), 1, "{name}");
            opened += 1;
        }
    }
    assert_eq!(opened, 3);
}

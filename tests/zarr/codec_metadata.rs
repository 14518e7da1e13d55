//! Codec configurations: what is read is written again, and everything else is refused by its place.

use serde_json::{Value, json};
use zarr_recast::data_type::{self, ByteOrder, from_numpy};
use zarr_recast::{
    BindOptions, CastValue, Chain, Codec, ElementType, Entries, JsonScalar, OutOfRange, Rounding,
    Scalar, ScalarMap, ScaleOffset,
};

#[test]
fn what_is_read_is_written_again() {
    let configurations = [
        json!("scale_offset"),
        json!({"name": "scale_offset"}),
        json!({"name": "scale_offset", "configuration": {}}),
        json!({"name": "scale_offset", "must_understand": true}),
        json!({"name": "scale_offset", "configuration": {"offset": 0, "scale": 1.0}}),
        json!({"name": "scale_offset", "configuration": {"scale": "0x40000000"}}),
        json!({"name": "scale_offset", "configuration": {"offset": u64::MAX, "scale": -0.0}}),
        json!({"name": "cast_value", "configuration": {"data_type": "uint8"}}),
        json!({"name": "cast_value", "configuration": {"data_type": {"name": "uint8"}}}),
        json!({"name": "cast_value", "configuration": {
            "data_type": {"name": "uint8", "configuration": {}, "must_understand": false}}}),
        json!({"name": "cast_value", "must_understand": false, "configuration": {
            "data_type": "float8_e8m0fnu", "rounding": "nearest-even", "out_of_range": "clamp",
            "scalar_map": {}}}),
        json!({"name": "cast_value", "configuration": {
            "data_type": "int64", "rounding": "towards-zero", "out_of_range": "wrap",
            "scalar_map": {
                "encode": [["NaN", i64::MIN], ["+Infinity", 1e2], ["0x7ff8000000000001", -1.0]],
                "decode": []}}}),
        json!({"name": "numcodecs.fixedscaleoffset", "configuration": {
            "dtype": "<f8", "astype": "|u1", "scale": 10, "offset": 1000.0}}),
        json!({"name": "numcodecs.fixedscaleoffset", "configuration": {"scale": 10, "offset": 0}}),
        json!({"name": "numcodecs.astype", "configuration": {
            "encode_dtype": ">i2", "decode_dtype": "float32"}}),
        json!({"name": "numcodecs.astype", "configuration": {"encode_dtype": "<f4"}}),
    ];
    for json in configurations {
        assert_eq!(Codec::from_json(&json).unwrap().to_json(), json);
        assert_eq!(Codec::from_json(&json.to_string()).unwrap().to_json(), json);
    }
    let filters = [
        json!({"id": "fixedscaleoffset", "scale": 100, "offset": 273.15, "dtype": ">f4", "astype": "<i2"}),
        json!({"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<f8"}),
    ];
    for json in filters {
        assert_eq!(Codec::from_v2_filter(&json).unwrap().to_json(), json);
    }
}

fn scalar(value: impl Into<Scalar>) -> JsonScalar {
    JsonScalar::from(value.into())
}

#[test]
fn codecs_are_also_built_without_json() {
    let mut cast = CastValue::new(ElementType::Int16);
    cast.rounding = Some(Rounding::NearestAway);
    cast.out_of_range = OutOfRange::Clamp;
    cast.scalar_map = Some(ScalarMap {
        encode: Some([(f32::NAN, i16::MIN)].into_iter().collect()),
        decode: None,
    });
    let scale = ScaleOffset::default().scale(scalar(0.1_f32));
    assert_eq!(
        Codec::from(cast).to_json(),
        json!({"name": "cast_value", "configuration": {
            "data_type": "int16", "rounding": "nearest-away", "out_of_range": "clamp",
            "scalar_map": {"encode": [["NaN", -32768]]}}})
    );
    assert_eq!(
        Codec::from(scale).to_json(),
        json!({"name": "scale_offset", "configuration": {"scale": 0.1}})
    );
}

/// Metadata that is refused when it is read: its text, the place, and a word of the reason.
#[rustfmt::skip]
const UNREADABLE: &[(&str, &str, &str)] = &[
    ("5", "codecs[0]", "found a number"),
    ("null", "codecs[0]", "found null"),
    (r#"{"configuration": {}}"#, "codecs[0].name", "missing"),
    (r#"{"name": null}"#, "codecs[0].name", "found null"),
    (r#"{"name": "bytes"}"#, "codecs[0].name", "\"bytes\""),
    (r#""bytes""#, "codecs[0]", "\"bytes\""),
    (r#"{"name": "scale_offset", "configuration": null}"#, "codecs[0].configuration", "found null"),
    (r#"{"name": "scale_offset", "configuration": []}"#, "codecs[0].configuration", "found an array"),
    (r#"{"name": "scale_offset", "scale": 2}"#, "codecs[0].scale", "unknown key"),
    (r#"{"name": "scale_offset", "must_understand": 1}"#, "codecs[0].must_understand", "true or false"),
    (r#"{"name": "scale_offset", "configuration": {"scale": 1, "scale": 2}}"#, "codecs[0].configuration.scale", "given twice"),
    (r#"{"name": "scale_offset", "configuration": {"scale": null}}"#, "codecs[0].configuration.scale", "found null"),
    (r#"{"name": "scale_offset", "configuration": {"scale": true}}"#, "codecs[0].configuration.scale", "found a boolean"),
    (r#"{"name": "scale_offset", "configuration": {"scale": [2]}}"#, "codecs[0].configuration.scale", "found an array"),
    (r#"{"name": "scale_offset", "configuration": {"scale": 1e999}}"#, "codecs[0].configuration.scale", "every data type"),
    (r#"{"name": "scale_offset", "configuration": {"add_offset": 1}}"#, "codecs[0].configuration.add_offset", "offset, scale"),
    (r#""cast_value""#, "codecs[0].configuration", "missing"),
    (r#"{"name": "cast_value", "configuration": {"data_type": null}}"#, "codecs[0].configuration.data_type", "found null"),
    (r#"{"name": "cast_value", "configuration": {"data_type": "float8_e4m3b11fnu"}}"#, "codecs[0].configuration.data_type", "float8_e4m3b11fnuz is another type"),
    (r#"{"name": "cast_value", "configuration": {"data_type": {}}}"#, "codecs[0].configuration.data_type.name", "missing"),
    (r#"{"name": "cast_value", "configuration": {"data_type": {"name": "uint8", "size": 1}}}"#, "codecs[0].configuration.data_type.size", "unknown key"),
    (r#"{"name": "cast_value", "configuration": {"data_type": {"name": "uint8", "configuration": {"a": 1}}}}"#, "codecs[0].configuration.data_type.configuration.a", "nothing to configure"),
    (r#"{"name": "cast_value", "configuration": {"data_type": "uint8", "rounding": null}}"#, "codecs[0].configuration.rounding", "nearest-even"),
    (r#"{"name": "cast_value", "configuration": {"data_type": "uint8", "out_of_range": null}}"#, "codecs[0].configuration.out_of_range", "found null"),
    (r#"{"name": "cast_value", "configuration": {"data_type": "uint8", "out_of_range": "error"}}"#, "codecs[0].configuration.out_of_range", "leave the key out"),
    (r#"{"name": "cast_value", "configuration": {"data_type": "uint8", "scalar_map": null}}"#, "codecs[0].configuration.scalar_map", "found null"),
    (r#"{"name": "cast_value", "configuration": {"data_type": "uint8", "scalar_map": [[1, 2]]}}"#, "codecs[0].configuration.scalar_map", "found an array"),
    (r#"{"name": "cast_value", "configuration": {"data_type": "uint8", "scalar_map": {"encode": null}}}"#, "codecs[0].configuration.scalar_map.encode", "found null"),
    (r#"{"name": "cast_value", "configuration": {"data_type": "uint8", "scalar_map": {"encode": {"3": 7}}}}"#, "codecs[0].configuration.scalar_map.encode", "found an object"),
    (r#"{"name": "cast_value", "configuration": {"data_type": "uint8", "scalar_map": {"decode": [[1, 2], 3]}}}"#, "codecs[0].configuration.scalar_map.decode[1]", "a pair"),
    (r#"{"name": "cast_value", "configuration": {"data_type": "uint8", "scalar_map": {"decode": [[1]]}}}"#, "codecs[0].configuration.scalar_map.decode[0]", "a pair"),
    (r#"{"name": "cast_value", "configuration": {"data_type": "uint8", "scalar_map": {"decode": [[1, false]]}}}"#, "codecs[0].configuration.scalar_map.decode[0][1]", "found a boolean"),
    (r#"{"name": "numcodecs.fixedscaleoffset"}"#, "codecs[0].configuration", "missing"),
    (r#"{"name": "numcodecs.fixedscaleoffset", "configuration": {"scale": "2", "offset": 0}}"#, "codecs[0].configuration.scale", "a number"),
    (r#"{"name": "numcodecs.fixedscaleoffset", "configuration": {"scale": 2, "offset": 0, "dtype": "<c8"}}"#, "codecs[0].configuration.dtype", "<c8"),
    (r#"{"name": "numcodecs.astype", "configuration": {}}"#, "codecs[0].configuration.encode_dtype", "missing"),
    (r#"{"name": "numcodecs.astype", "configuration": {"encode_dtype": [["a", "<f4"]]}}"#, "codecs[0].configuration.encode_dtype", "found an array"),
];

#[test]
fn ill_formed_metadata_is_refused_by_its_place() {
    for &(codec, path, reason) in UNREADABLE {
        let error = Codec::list_from_json(&format!("[{codec}]")).expect_err(codec);
        assert_eq!(error.path(), path, "{codec}: {error}");
        assert!(error.problem().contains(reason), "{codec}: {error}");
        let alone = Codec::from_json(codec).unwrap_err();
        assert_eq!(alone.below("codecs[0]"), error);
    }
    assert_eq!(Codec::list_from_json("{}").unwrap_err().path(), "codecs");
    assert!(Codec::list_from_json("[").unwrap_err().problem().contains("not valid JSON"));
}

/// Metadata that has no meaning for the type that reaches it.
#[rustfmt::skip]
const UNBINDABLE: &[(&str, &str, &str, &str)] = &[
    ("int8", r#"{"name": "scale_offset", "configuration": {"offset": 300}}"#, "offset", "300 is out of range for int8"),
    ("int16", r#"{"name": "scale_offset", "configuration": {"scale": 0.5}}"#, "scale", "0.5 is not a whole number"),
    ("float16", r#"{"name": "scale_offset", "configuration": {"scale": 1e-9}}"#, "scale", "1e-9 becomes 0 in float16"),
    ("float32", r#"{"name": "scale_offset", "configuration": {"scale": -0.0}}"#, "scale", "must not be 0"),
    ("float32", r#"{"name": "scale_offset", "configuration": {"scale": "0x00000000"}}"#, "scale", "must not be 0"),
    ("float32", r#"{"name": "scale_offset", "configuration": {"scale": "NaN"}}"#, "scale", "not finite"),
    ("float32", r#"{"name": "scale_offset", "configuration": {"offset": "Infinity"}}"#, "offset", "not finite"),
    ("float32", r#"{"name": "scale_offset", "configuration": {"scale": 1e39}}"#, "scale", "1e39 is out of range for float32"),
    ("float32", r#"{"name": "scale_offset", "configuration": {"scale": "2.5"}}"#, "scale", "without quotes"),
    ("float32", r#"{"name": "scale_offset", "configuration": {"scale": "0x4000"}}"#, "scale", "8 hex digits"),
    ("uint8", r#"{"name": "cast_value", "configuration": {"data_type": "float32", "out_of_range": "wrap"}}"#, "out_of_range", "float32"),
    ("float32", r#"{"name": "cast_value", "configuration": {"data_type": "uint8", "scalar_map": {"encode": [[1e39, 0]]}}}"#, "scalar_map.encode[0][0]", "1e39"),
    ("int64", r#"{"name": "cast_value", "configuration": {"data_type": "uint8", "scalar_map": {"encode": [[1, 1], [2, 256]]}}}"#, "scalar_map.encode[1][1]", "256"),
    ("int8", r#"{"name": "cast_value", "configuration": {"data_type": "uint8", "scalar_map": {"decode": [[255, 128]]}}}"#, "scalar_map.decode[0][1]", "128"),
    ("int8", r#"{"name": "cast_value", "configuration": {"data_type": "uint8", "scalar_map": {"decode": [[-1, 0]]}}}"#, "scalar_map.decode[0][0]", "-1"),
    ("float32", r#"{"name": "numcodecs.fixedscaleoffset", "configuration": {"scale": 0, "offset": 0}}"#, "scale", "must not be 0"),
    ("float32", r#"{"name": "numcodecs.fixedscaleoffset", "configuration": {"scale": 1, "offset": 0, "dtype": "<f8"}}"#, "dtype", "<f8 is not float32"),
    ("float32", r#"{"name": "numcodecs.astype", "configuration": {"encode_dtype": "i2", "decode_dtype": "<i4"}}"#, "decode_dtype", "<i4 is not float32"),
];

#[test]
fn metadata_without_meaning_for_its_type_is_refused_by_its_place() {
    for &(data_type, codec, field, reason) in UNBINDABLE {
        // Behind another codec, so that the index in the path is the codec's.
        let codecs = format!(r#"["scale_offset", {codec}]"#);
        let error = Chain::from_json(data_type, "0", &codecs, &BindOptions::default())
            .expect_err(codec)
            .to_string();
        let path = format!("codecs[1].configuration.{field}: ");
        assert!(error.starts_with(&path), "{codec}: {error}");
        assert!(error.contains(reason) && !error.contains('\n'), "{codec}: {error}");
    }
}

#[test]
fn filters_of_zarr_v2_are_refused_by_their_own_places() {
    let place = |filter: &Value| Codec::from_v2_filter(filter).unwrap_err().path().to_owned();
    assert_eq!(place(&json!({"scale": 1})), "id");
    assert_eq!(place(&json!({"id": "delta", "dtype": "<f4"})), "id");
    assert_eq!(place(&json!({"id": "fixedscaleoffset", "offset": 1})), "scale");
    assert_eq!(place(&json!({"id": "astype", "encode_dtype": "<f4", "extra": 1})), "extra");
}

#[test]
fn each_codec_is_read_in_the_type_that_reaches_it() {
    let codecs = r#"[{"name": "cast_value", "configuration": {"data_type": "float32"}},
        {"name": "scale_offset", "configuration": {"offset": 0.5, "scale": 10}},
        {"name": "cast_value", "configuration": {"data_type": "uint8"}}]"#;
    let chain = Chain::from_json("int16", "20", codecs, &BindOptions::default()).unwrap();
    assert_eq!(
        (chain.decoded_type(), chain.encoded_type()),
        (ElementType::Int16, ElementType::UInt8)
    );
    assert_eq!(chain.encoded_fill_value(), Some(195_u8.into()));
    assert_eq!(chain.decode(&[195]).unwrap(), 20_i16.to_ne_bytes());
    let as_int16 = r#"[{"name": "scale_offset", "configuration": {"scale": 0.5}}]"#;
    assert!(Chain::from_json("int16", "0", as_int16, &BindOptions::default()).is_err());
}

#[test]
fn wrap_decodes_towards_floats_as_an_error() {
    let codecs = r#"[{"name": "cast_value", "configuration": {"data_type": "uint32", "out_of_range": "wrap"}}]"#;
    let chain = Chain::from_json("float16", "0", codecs, &BindOptions::default()).unwrap();
    assert_eq!(chain.encode(&0xbc00_u16.to_ne_bytes()).unwrap(), u32::MAX.to_ne_bytes());
    assert!(chain.decode(&u32::MAX.to_ne_bytes()).unwrap_err().to_string().contains("4294967295"));
}

#[test]
fn part_of_a_chunk_is_part_of_a_slice_and_buffers_must_fit() {
    let codecs = r#"[{"name": "cast_value", "configuration": {"data_type": "int16"}}]"#;
    let chain = Chain::from_json("float32", "0", codecs, &BindOptions::default()).unwrap();
    let decoded: Vec<u8> = (0..100_u8).flat_map(|x| f32::from(x).to_ne_bytes()).collect();
    let whole = chain.encode(&decoded).unwrap();
    let mut part = [0; 20];
    chain.encoder().run(&decoded[40..80], &mut part).unwrap();
    assert_eq!(part, whole[20..40]);
    let mut back = [0; 40];
    chain.clone().decoder().run(&part, &mut back).unwrap();
    assert_eq!(back, decoded[40..80]);
    assert!(chain.encode(&decoded[..5]).is_err());
    assert!(chain.encoder().run(&decoded[..8], &mut part).is_err());
    assert!(chain.encode(&[]).unwrap().is_empty());
}

#[test]
fn encoded_bytes_are_swapped_on_request() {
    let codecs = Codec::list_from_json(
        r#"[{"name": "cast_value", "configuration": {"data_type": "int16"}}]"#,
    );
    let options = BindOptions::default().encoded_byte_order(ByteOrder::NATIVE.reversed());
    let fill = Some(1.0_f32.into());
    let chain = Chain::bind(ElementType::Float32, fill, &codecs.unwrap(), &options).unwrap();
    let encoded = chain.encode(&258.0_f32.to_ne_bytes()).unwrap();
    assert_eq!(encoded, 258_i16.swap_bytes().to_ne_bytes());
    assert_eq!(chain.decode(&encoded).unwrap(), 258.0_f32.to_ne_bytes());
    assert_eq!(chain.encoded_fill_value(), Some(1_i16.into()));
}

#[test]
fn numpy_data_types_have_a_byte_order_where_it_matters() {
    let table = [
        ("<f4", ElementType::Float32, Some(ByteOrder::Little)),
        (">i2", ElementType::Int16, Some(ByteOrder::Big)),
        ("|u1", ElementType::UInt8, None),
        (">u1", ElementType::UInt8, None),
        ("f8", ElementType::Float64, None),
        ("=u8", ElementType::UInt64, None),
        ("<f2", ElementType::Float16, Some(ByteOrder::Little)),
        ("int32", ElementType::Int32, None),
        ("bfloat16", ElementType::BFloat16, None),
    ];
    for (text, element_type, byte_order) in table {
        assert_eq!(from_numpy(text), Ok((element_type, byte_order)), "{text}");
    }
    for text in ["", "<", "|b1", "<c8", "<M8[ns]", "|S3", "<U4", "|V2", "|O", "<f16", "é"] {
        assert!(from_numpy(text).unwrap_err().to_string().contains("not supported"), "{text}");
    }
}

#[test]
fn legacy_codecs_name_the_byte_order_of_what_they_store() {
    let filter =
        json!({"id": "fixedscaleoffset", "scale": 2, "offset": 0, "dtype": "<f4", "astype": ">i2"});
    let codec = Codec::from_v2_filter(&filter).unwrap();
    let chain = Chain::bind(ElementType::Float32, None, &[codec], &BindOptions::default()).unwrap();
    assert_eq!(chain.legacy_byte_order(), Some(ByteOrder::Big));
}

#[test]
fn all_27_data_types_have_their_names_and_others_are_refused_with_the_list() {
    for &element_type in ElementType::ALL {
        assert_eq!(data_type::parse(element_type.name()), Ok(element_type));
        assert_eq!(data_type::from_json(&json!({"name": element_type.name()})), Ok(element_type));
    }
    for name in
        ["bool", "complex64", "float8_e4m3b11fnu", "r16", "string", "numpy.datetime64", "unit8", ""]
    {
        let error = data_type::from_json(&json!(name)).unwrap_err().to_string();
        assert!(
            error.starts_with("data_type: ") && error.contains(&format!("{name:?}")),
            "{error}"
        );
        assert!(error.contains("float8_e8m0fnu") && error.contains("int2, "), "{error}");
    }
}

#[test]
fn an_unsupported_data_type_is_refused_with_the_nearest_one_if_there_is_any() {
    for (name, nearest) in [
        ("bool", "; the nearest is uint8, with other values"),
        ("float8_e4m3b11fnu", "; float8_e4m3b11fnuz is another type"),
        ("float8_e8m0fn", "; the nearest is float8_e8m0fnu;"),
        ("float8_e8m0", "; the nearest is float8_e8m0fnu;"),
        ("float", "; did you mean float32?"),
        ("single", "; did you mean float32?"),
        ("double", "; did you mean float64?"),
        ("half", "; did you mean float16?"),
        ("int", "; did you mean int32 or int64?"),
        ("uint", "; did you mean uint32 or uint64?"),
        ("float128", "; the nearest is float64, with less precision"),
        ("longdouble", "; the nearest is float64, with less precision"),
        ("complex64", "; the codecs work on real numbers"),
        ("numpy.datetime64", "; the nearest is int64, without the unit"),
        ("timedelta64[s]", "; the nearest is int64, without the unit"),
        ("r16", "; raw bits have no value to cast"),
        ("Float-32", "; did you mean float32?"),
        ("UINT8", "; did you mean uint8?"),
        ("rest", "; the supported data types are"),
        ("unit8", "; the supported data types are"),
    ] {
        let error = data_type::parse(name).unwrap_err().to_string();
        let expected = format!("{name:?} is not supported{nearest}");
        assert!(error.contains(&expected), "{error}");
    }
}

#[test]
fn a_hostile_document_is_an_error_of_one_short_line() {
    const SIZE: usize = 1 << 20;
    let nested = format!("{}{}", "[".repeat(SIZE / 2), "]".repeat(SIZE / 2));
    let objects = r#"{"a":"#.repeat(SIZE / 5);
    let wrapped = |member: &str| {
        format!(
            r#"[{{"name": "cast_value", "configuration": {{"data_type": "uint8", {member}}}}}]"#
        )
    };
    let documents = [
        nested.clone(),
        "[".repeat(SIZE),
        objects,
        format!("[{nested}]"),
        wrapped(&format!(r#""scalar_map": {nested}"#)),
        wrapped(&format!(r#""scalar_map": {{"encode": {nested}}}"#)),
        wrapped(&format!(r#""rounding": "{}""#, "x".repeat(SIZE))),
        wrapped(&format!(r#""{}": 1"#, "k\\n".repeat(SIZE / 4))),
        wrapped(&format!(r#""scalar_map": {{"encode": [[{}, 0]]}}"#, "9".repeat(SIZE))),
        format!("[{}5]", "5,".repeat(SIZE / 2)),
    ];
    for document in documents {
        let error = Chain::from_json("float32", "0", &document, &BindOptions::default())
            .unwrap_err()
            .to_string();
        assert!(error.len() < 400 && !error.contains('\n'), "{error}");
    }
    let error = data_type::parse(&"x".repeat(SIZE)).unwrap_err().to_string();
    assert!(error.len() < 1000, "{error}");
    assert!(data_type::parse(&nested).is_err());
}

#[test]
fn json_of_another_kind_is_named() {
    for (found, shown) in [
        (r#"{"a": 1}"#, r#"an object, {"a": 1}"#),
        ("[1]", "an array, [1]"),
        (r#""down""#, r#"a string, "down""#),
        ("null", "null"),
        ("true", "a boolean, true"),
        ("false", "a boolean, false"),
        ("-1", "a number, -1"),
    ] {
        let codec = json!({"name": "cast_value", "configuration": {"data_type": "uint8"}});
        let with_rounding =
            codec.to_string().replace("\"uint8\"", &format!("\"uint8\", \"rounding\": {found}"));
        let error = Codec::from_json(&with_rounding).unwrap_err().to_string();
        assert!(error.ends_with(&format!("; found {shown}")), "{error}");
    }
}

#[test]
fn entries_say_how_many_they_are() {
    let mut entries = Entries::default();
    assert!(entries.is_empty());
    entries.push(1.5_f32, 2_u8);
    assert_eq!((entries.is_empty(), entries.len()), (false, 1));
}

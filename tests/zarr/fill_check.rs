//! Binding reports a fill value that does not survive encoding and decoding.

use zarr_recast::{
    BindError, BindOptions, Chain, Codec, FillCheck, Scalar, WarningKind, data_type, fill_value,
};

fn bind(data_type: &str, fill: &str, codecs: &str, check: FillCheck) -> Result<Chain, BindError> {
    let data_type = data_type::parse(data_type).unwrap();
    let fill = fill_value::from_json_str(data_type, fill).unwrap();
    let codecs = Codec::list_from_json(codecs).unwrap();
    let options = BindOptions::default().fill_check(check);
    Chain::bind(data_type, Some(fill), &codecs, &options)
}

fn cast(configuration: &str) -> String {
    format!(r#"[{{"name": "cast_value", "configuration": {{{configuration}}}}}]"#)
}

fn refusal(data_type: &str, fill: &str, codecs: &str, check: FillCheck) -> String {
    bind(data_type, fill, codecs, check).unwrap_err().to_string()
}

#[test]
fn one_that_survives_is_encoded_by_the_kernels() {
    let map = r#""data_type": "int16", "scalar_map": {"encode": [["NaN", -32768]], "decode": [[-32768, "NaN"]]}"#;
    let chain = bind("float32", "\"0xffc01234\"", &cast(map), FillCheck::Create).unwrap();
    assert_eq!(chain.decoded_fill_value(), Some(f32::from_bits(0xffc0_1234).into()));
    assert_eq!(chain.encoded_fill_value(), Some(i16::MIN.into()));
    assert!(chain.warnings().is_empty(), "any NaN is as good as another");
    let chain = bind("float32", "-0.0", &cast(r#""data_type": "uint8""#), FillCheck::Create);
    assert_eq!(chain.unwrap().encoded_fill_value(), Some(0_u8.into()), "-0 equals 0");
}

#[test]
fn one_that_cannot_be_encoded_is_an_error_always() {
    let rows = [
        (
            "float32",
            "\"NaN\"",
            r#""data_type": "uint8""#,
            r#"{"encode": [["NaN", 255]], "decode": [[255, "NaN"]]}"#,
        ),
        (
            "float64",
            "\"-Infinity\"",
            r#""data_type": "int16", "out_of_range": "clamp""#,
            r#"{"encode": [["-Infinity", -32768]]"#,
        ),
        (
            "int16",
            "-1",
            r#""data_type": "uint8""#,
            r#"{"encode": [[-1, 255]], "decode": [[255, -1]]}"#,
        ),
        ("float32", "0", r#""data_type": "float8_e8m0fnu""#, "out of range for float8_e8m0fnu"),
    ];
    for (data_type, fill, configuration, expected) in rows {
        for check in [FillCheck::Create, FillCheck::Open, FillCheck::ReportOnly] {
            let error = refusal(data_type, fill, &cast(configuration), check);
            assert!(error.starts_with("fill_value: ") && error.contains(expected), "{error}");
        }
    }
    let codecs = r#"[{"name": "scale_offset", "configuration": {"offset": 10}}]"#;
    let error = refusal("uint8", "9", codecs, FillCheck::ReportOnly);
    assert!(error.contains("choose another fill value, scale or offset"), "{error}");
}

#[test]
fn the_map_that_is_suggested_has_a_value_that_no_other_entry_uses() {
    let rows = [
        ("uint8", "", r#"[["NaN", 255]]"#),
        ("uint8", r#""encode": [[-9999, 255]], "decode": [[254, 7]]"#, r#"[["NaN", 253]]"#),
        ("int8", r#""encode": [[-9999, -128], [1, -127]]"#, r#"[["NaN", -126]]"#),
        ("int16", r#""decode": [[-32768, 7]]"#, r#"[["NaN", -32767]]"#),
        (
            "uint64",
            r#""encode": [[1, 18446744073709551615]]"#,
            r#"[["NaN", 18446744073709551614]]"#,
        ),
        ("uint2", r#""encode": [[1, 3]]"#, r#"[["NaN", 2]]"#),
        // None is left, or the type is no list of codes.
        ("uint2", r#""encode": [[1, 3], [2, 0], [3, 1], [4, 2]]"#, r#"[["NaN", 3]]"#),
        ("float6_e2m3fn", r#""encode": [[1, -7.5]]"#, r#"[["NaN", -7.5]]"#),
    ];
    for (target, map, expected) in rows {
        let configuration = format!(r#""data_type": "{target}", "scalar_map": {{{map}}}"#);
        let error = refusal("float32", "\"NaN\"", &cast(&configuration), FillCheck::ReportOnly);
        assert!(error.contains(&format!("\"encode\": {expected}")), "{error}");
    }
}

#[test]
fn one_that_a_cast_changes_is_an_error_unless_it_is_only_reported() {
    // Data type, fill value, configuration, and what the message says of it.
    let rows = [
        ("float32", "0.5", r#""data_type": "int32""#, ["comes back as 0.0", "survives is 0.0"]),
        (
            "float32",
            "0.9",
            r#""data_type": "int32", "rounding": "towards-zero""#,
            ["comes back as 0.0", "survives is 1.0"],
        ),
        (
            "float64",
            "0.1",
            r#""data_type": "float32""#,
            ["comes back as 0.10000000149011612", "survives is 0.10000000149011612"],
        ),
        (
            "int16",
            "-1",
            r#""data_type": "uint8", "out_of_range": "clamp""#,
            ["comes back as 0", "survives is 0"],
        ),
        (
            "int16",
            "300",
            r#""data_type": "uint8", "out_of_range": "wrap""#,
            ["comes back as 44", "survives is 255"],
        ),
        (
            "int64",
            "9007199254740993",
            r#""data_type": "float64""#,
            ["comes back as 9007199254740992", "survives is 9007199254740992"],
        ),
        (
            "int64",
            "9223372036854775807",
            r#""data_type": "float64""#,
            ["cannot be decoded to int64", "survives is 9223372036854774784"],
        ),
        (
            "float32",
            "-9998",
            r#""data_type": "uint8", "out_of_range": "clamp", "scalar_map": {"encode": [[-9999, 255]], "decode": [[255, -9999]]}"#,
            ["comes back as 0.0", "survives is -9999.0"],
        ),
        (
            "float32",
            "\"NaN\"",
            r#""data_type": "uint8", "scalar_map": {"encode": [["NaN", 0]]}"#,
            ["comes back as 0.0", r#""decode": [[0, "NaN"]]"#],
        ),
        (
            "float32",
            "7",
            r#""data_type": "uint8", "scalar_map": {"decode": [[7, "NaN"]]}"#,
            ["comes back as NaN", "decodes 7 to NaN"],
        ),
    ];
    for (data_type, fill, configuration, expected) in rows {
        let codecs = cast(configuration);
        for check in [FillCheck::Create, FillCheck::Open] {
            let error = refusal(data_type, fill, &codecs, check);
            for text in expected {
                assert!(error.contains(text), "{text}: {error}");
            }
        }
        let chain = bind(data_type, fill, &codecs, FillCheck::ReportOnly).unwrap();
        let [warning] = chain.warnings() else { panic!("one warning") };
        assert_eq!(warning.kind, WarningKind::FillChanged);
        assert!(chain.encoded_fill_value().is_some());
        // What the message offers does survive.
        if let Some(suggestion) = warning.suggestion {
            let suggestion = fill_value::to_json(suggestion).to_string();
            assert!(
                bind(data_type, &suggestion, &codecs, FillCheck::Create).is_ok(),
                "{suggestion}"
            );
        }
    }
}

#[test]
fn one_that_scale_offset_rounds_is_an_error_only_for_a_new_array() {
    let codecs = r#"[{"name": "scale_offset", "configuration": {"offset": 1000.1}}]"#;
    let error = refusal("float32", "0.1", codecs, FillCheck::Create);
    assert!(error.contains("comes back from scale_offset as 0.099975586"), "{error}");
    assert!(error.contains("a difference of 2.44"), "{error}");
    for check in [FillCheck::Open, FillCheck::ReportOnly] {
        let chain = bind("float32", "0.1", codecs, check).unwrap();
        assert_eq!(chain.warnings()[0].kind, WarningKind::FillInexact);
        assert_eq!(chain.encoded_fill_value(), Some(Scalar::from(0.1_f32 - 1000.1)));
    }
}

#[test]
fn one_that_the_whole_chain_gives_back_is_accepted_with_a_word_on_the_cast_inside() {
    // 20.1 * 100 is 2010.0000000000002, which the cast rounds; 2010 / 100 is 20.1 again.
    let codecs = r#"[{"name": "scale_offset", "configuration": {"scale": 100}},
                     {"name": "cast_value", "configuration": {"data_type": "int16"}}]"#;
    let chain = bind("float64", "20.1", codecs, FillCheck::Create).unwrap();
    assert_eq!(chain.encoded_fill_value(), Some(2010_i16.into()));
    assert_eq!(chain.warnings()[0].kind, WarningKind::FillChangedWithin);
    let error = refusal("float64", "20.104", codecs, FillCheck::Open);
    assert!(
        error.contains("comes back as 20.1; the nearest fill value that survives is 20.1"),
        "{error}"
    );
}

#[test]
fn legacy_codecs_only_report() {
    let codecs = r#"[{"name": "numcodecs.fixedscaleoffset", "configuration":
        {"dtype": "<f8", "astype": "<i2", "scale": 10, "offset": 0}}]"#;
    let chain = bind("float64", "0.12", codecs, FillCheck::Create).unwrap();
    assert_eq!(chain.warnings()[0].kind, WarningKind::FillChanged);
    // Zarr v2 does not encode fill values, so one that cannot be encoded is common.
    let chain = bind("float64", "\"NaN\"", codecs, FillCheck::Create).unwrap();
    assert_eq!(chain.warnings()[0].kind, WarningKind::FillNotEncodable);
    assert_eq!(chain.encoded_fill_value(), None);
}

#[test]
fn without_a_fill_value_none_is_checked() {
    let codecs = Codec::list_from_json(&cast(r#""data_type": "uint8""#)).unwrap();
    let data_type = data_type::parse("float32").unwrap();
    let chain = Chain::bind(data_type, None, &codecs, &BindOptions::default()).unwrap();
    assert_eq!((chain.decoded_fill_value(), chain.encoded_fill_value()), (None, None));
    let other = Chain::bind(data_type, Some(1_u8.into()), &codecs, &BindOptions::default());
    assert!(other.unwrap_err().to_string().contains("must be of type float32"));
}

#[test]
fn metadata_of_an_array_that_exists_bind_with_a_warning() {
    let codecs = cast(r#""data_type": "int16""#);
    let create = Chain::from_json("float32", "0.5", &codecs, &BindOptions::default());
    assert!(create.is_err());
    let options = BindOptions::default().fill_check(FillCheck::ReportOnly);
    let chain = Chain::from_json("float32", "0.5", &codecs, &options).unwrap();
    assert_eq!(chain.warnings()[0].round_trip, Some(0_f32.into()));
}

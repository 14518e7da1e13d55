//! The JSON form of scalars: fill values, offsets, scales and the entries of scalar maps.

use serde_json::{Value, json};
use zarr_recast::ElementType::{
    BFloat16, Float4E2M1Fn, Float6E2M3Fn, Float8E4M3, Float8E4M3Fn, Float8E4M3Fnuz, Float8E5M2,
    Float8E8M0Fnu, Float16, Float32, Float64, Int2, Int4, Int8, Int16, Int64, UInt4, UInt8, UInt64,
};
use zarr_recast::{ElementType, JsonScalar, Scalar, fill_value};

#[test]
fn json_reads_as_bits() {
    #[rustfmt::skip]
    let table: &[(ElementType, &str, u64)] = &[
        // Integers: exactly, however they are written.
        (Int64, "9007199254740993", 9_007_199_254_740_993),
        (Int64, "9007199254740993.0", 9_007_199_254_740_993),
        (Int64, "-9223372036854775808", 1 << 63),
        (Int64, "-9.223372036854775808e18", 1 << 63),
        (Int64, "922337203685477580700e-2", i64::MAX as u64),
        (UInt64, "18446744073709551615", u64::MAX),
        (UInt64, "18446744073709551615.000", u64::MAX),
        (UInt64, "1844674407370955161500E-2", u64::MAX),
        (UInt8, "3.0", 3), (UInt8, "1e2", 100), (UInt8, "1E+2", 100), (UInt8, "2550e-1", 255),
        (UInt8, "-0", 0), (UInt8, "-0.0", 0), (UInt8, "0e99999999999999999999", 0),
        (UInt8, "0.00e-99999999999999999999", 0), (Int16, "0.0001e4", 1), (Int16, " 7 ", 7),
        (Int2, "-2", 0xfe), (Int4, "-1", 0xff), (Int4, "7", 7), (UInt4, "15", 15), (Int8, "-128", 0x80),
        // Floats: to the nearest, ties to even, through f64.
        (Float32, "0.1", 0x3dcc_cccd), (Float32, "16777217", 0x4b80_0000),
        (Float32, "1e-46", 0), (Float32, "-1e-46", 0x8000_0000), (Float32, "1e-45", 1),
        (Float64, "0.1", 0x3fb9_9999_9999_999a), (Float64, "5e-324", 1), (Float64, "2e-324", 0),
        (Float64, "1.7976931348623157e308", 0x7fef_ffff_ffff_ffff),
        (Float16, "65519.99", 0x7bff), (Float16, "5", 0x4500), (BFloat16, "0.1", 0x3dcd),
        (Float8E4M3, "240", 0x77), (Float8E4M3Fn, "-448", 0xfe), (Float8E4M3Fn, "464", 0x7e),
        (Float4E2M1Fn, "-6", 0xf), (Float6E2M3Fn, "7.5", 0x1f),
        (Float8E8M0Fnu, "1", 127), (Float8E8M0Fnu, "1.5", 128), (Float8E8M0Fnu, "3.0", 128),
        // Zero keeps its sign where there is one.
        (Float32, "-0", 0x8000_0000), (Float32, "-0.0", 0x8000_0000), (Float8E4M3Fnuz, "-0.0", 0),
        (Float4E2M1Fn, "-0", 0x8),
        // Constants.
        (Float64, "\"NaN\"", 0x7ff8_0000_0000_0000), (BFloat16, "\"NaN\"", 0x7fc0),
        (Float8E4M3, "\"NaN\"", 0x7c), (Float8E4M3Fn, "\"NaN\"", 0x7f), (Float8E5M2, "\"NaN\"", 0x7e),
        (Float8E4M3Fn, "\"0xff\"", 0xff), (Float8E4M3Fnuz, "\"NaN\"", 0x80),
        (Float8E8M0Fnu, "\"NaN\"", 0xff), (Float16, "\"Infinity\"", 0x7c00),
        (Float16, "\"+Infinity\"", 0x7c00), (Float16, "\"-Infinity\"", 0xfc00),
        (Float32, "\"\\u004eaN\"", 0x7fc0_0000),
        // Bit patterns.
        (Float32, "\"0x7fc01234\"", 0x7fc0_1234), (Float32, "\"0xFF800001\"", 0xff80_0001),
        (Float16, "\"0x0001\"", 1), (Float64, "\"0x8000000000000000\"", 1 << 63),
        (Float8E8M0Fnu, "\"0xff\"", 0xff), (Float4E2M1Fn, "\"0x0f\"", 0xf), (Float6E2M3Fn, "\"0x3f\"", 0x3f),
    ];
    for &(element_type, text, bits) in table {
        let read = fill_value::from_json_str(element_type, text);
        assert_eq!(read, Ok(Scalar::from_bits(element_type, bits)), "{element_type} {text}");
    }
}

#[test]
fn json_that_is_no_scalar_of_its_type_is_refused_by_value_and_reason() {
    #[rustfmt::skip]
    let table: &[(ElementType, &str, &str)] = &[
        (UInt8, "256", "256 is out of range for uint8 (0 to 255)"),
        (UInt8, "-1", "-1 is out of range"), (Int2, "2", "out of range for int2 (-2 to 1)"),
        (Int64, "9223372036854775808", "out of range"), (Int64, "-9223372036854775809", "out of range"),
        (UInt64, "18446744073709551616", "out of range"), (UInt8, "1e400", "out of range"),
        (UInt8, "1e99999999999999999999", "out of range"),
        (UInt8, "3.5", "3.5 is not a whole number"), (UInt8, "1e-400", "not a whole number"),
        (Int64, "9007199254740993.5", "not a whole number"),
        (UInt8, "1e-99999999999999999999", "not a whole number"),
        (UInt8, "\"NaN\"", "not an integer"), (UInt8, "\"5\"", "not an integer"), (UInt8, "\"0x05\"", "not an integer"),
        (Float32, "1e39", "1e39 is out of range for float32"),
        (Float16, "65520", "out of range for float16 (-65504 to 65504)"),
        (Float64, "1e309", "out of range"), (Float8E4M3, "-1e3", "out of range"), (Float4E2M1Fn, "7", "out of range"),
        (Float8E8M0Fnu, "0", "out of range for float8_e8m0fnu"), (Float8E8M0Fnu, "-1", "out of range"),
        (Float8E8M0Fnu, "-0.0", "out of range"),
        (Float4E2M1Fn, "\"NaN\"", "float4_e2m1fn has no representation for \"NaN\""),
        (Float8E4M3Fn, "480", "out of range"), (Float8E4M3Fn, "\"-Infinity\"", "no representation"),
        (Float8E4M3Fnuz, "\"Infinity\"", "no representation"), (Float8E8M0Fnu, "\"-Infinity\"", "no representation"),
        (Float32, "\"0x7fc0\"", "exactly 8 hex digits"), (Float32, "\"0x07fc00000\"", "exactly 8"),
        (Float32, "\"0x+fc00000\"", "exactly 8"), (Float32, "\"0x7fc0000g\"", "exactly 8"),
        (Float32, "\"0x\"", "exactly 8"), (Float32, "\"0X7fc00000\"", "is none of"),
        (Float4E2M1Fn, "\"0x1f\"", "bits that float4_e2m1fn does not use"), (Float6E2M3Fn, "\"0x40\"", "lowest 6"),
        (Float32, "\"1.5\"", "a number goes without quotes"), (Float32, "\"inf\"", "is none of"),
        (Float32, "\"nan\"", "is none of"), (Float32, "\"\"", "is none of"),
        (Float32, "true", "found a boolean, true"), (Float32, "null", "found null"),
        (Float32, "[1]", "found an array, [1]"), (Float32, "{\"a\": 1}", "found an object"),
        (Float32, "NaN", "NaN; write it in quotes"), (Float32, "+1", "not valid JSON"), (Float32, "01", "not valid JSON"),
        (Float32, "1 2", "not valid JSON"), (Float32, "", "not valid JSON"), (Float32, "\"\\ud800\"", "not valid"),
    ];
    for &(element_type, text, reason) in table {
        let error = fill_value::from_json_str(element_type, text).expect_err(text);
        assert_eq!(error.path(), "fill_value");
        assert!(error.problem().contains(reason), "{element_type} {text}: {error}");
        assert!(!error.problem().contains("null, null"), "{error}");
    }
}

#[test]
fn every_value_of_up_to_16_bits_is_written_so_that_it_reads_back() {
    for element_type in ElementType::ALL.iter().copied().filter(|t| t.bits() <= 16) {
        for bits in 0..1_u64 << element_type.bits() {
            let scalar = Scalar::from_bits(element_type, bits);
            let json = fill_value::to_json(scalar);
            assert_eq!(fill_value::from_json(element_type, &json), Ok(scalar), "{json}");
            assert_eq!(fill_value::from_json_str(element_type, &json.to_string()), Ok(scalar));
            let is_hex = json.as_str().is_some_and(|text| text.starts_with("0x"));
            assert_eq!(is_hex, scalar.is_nan() && Some(scalar) != Scalar::nan(element_type));
        }
    }
}

#[test]
fn a_sample_of_wider_values_is_written_so_that_it_reads_back() {
    for element_type in ElementType::ALL.iter().copied().filter(|t| t.bits() > 16) {
        // Multiples of an odd number reach all exponents and mantissas.
        for step in 0..200_000_u64 {
            let scalar = Scalar::from_bits(element_type, step.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let json = fill_value::to_json(scalar);
            let read = fill_value::from_json_str(element_type, &json.to_string());
            assert_eq!(read, Ok(scalar), "{json}");
        }
    }
}

#[test]
fn scalars_are_written_as_the_shortest_decimal() {
    let written = |scalar: Scalar| fill_value::to_json(scalar).to_string();
    assert_eq!(written(0.1_f32.into()), "0.1");
    assert_eq!(written(Scalar::from_bits(Float16, 0x2e66)), "0.1");
    assert_eq!(written((-0.0_f64).into()), "-0.0");
    assert_eq!(written(1e300_f64.into()), "1e+300");
    assert_eq!(written(u64::MAX.into()), "18446744073709551615");
    assert_eq!(written(i64::MIN.into()), "-9223372036854775808");
    assert_eq!(written(f32::NAN.into()), "\"NaN\"");
    assert_eq!(written(f32::INFINITY.into()), "\"Infinity\"");
    assert_eq!(written(f32::from_bits(0xffc0_0000).into()), "\"0xffc00000\"");
}

#[test]
fn parsed_values_read_as_text_does_wherever_an_f64_holds_them() {
    // The second needs correct rounding: a fast float parser is off by one there.
    for text in
        ["0.1", "9007199254740993.1e-3", "2.2250738585072011e-308", "1e23", "-0", "5", "1e2"]
    {
        let value: Value = serde_json::from_str(text).unwrap();
        let expected = Scalar::from(text.parse::<f64>().unwrap());
        assert_eq!(fill_value::from_json(Float64, &value), Ok(expected), "{text}");
        assert_eq!(fill_value::from_json_str(Float64, text), Ok(expected), "{text}");
    }
    assert_eq!(fill_value::from_json(UInt64, &json!(u64::MAX)), Ok(u64::MAX.into()));
}

#[test]
fn an_untyped_scalar_keeps_its_text() {
    for text in ["5", "5.0", "1e2", "-0", "\"NaN\"", "\"0x7fc00000\"", "9007199254740993.0"] {
        assert_eq!(JsonScalar::from_json(text).unwrap().text(), text);
    }
    let scalar = JsonScalar::from_json("9007199254740993.0").unwrap();
    assert_eq!(scalar.to_json(), json!(9_007_199_254_740_993_i64));
    // Rounded by f64 to a whole number, the shortest decimal of which, …222300, is another one.
    let scalar = JsonScalar::from_json("1999999999222222220.222222222222").unwrap();
    let written = scalar.to_json();
    assert_eq!(written, json!(1_999_999_999_222_222_336_i64));
    assert_eq!(JsonScalar::from_json(&written).unwrap().to_json(), written);
    assert!(JsonScalar::from_json("1e999").is_err());
    for text in ["null", "true", "[1]", "{}"] {
        assert!(JsonScalar::from_json(text).is_err());
    }
}

#[test]
fn long_values_are_shortened_in_errors() {
    for text in [
        "1".repeat(1 << 20),
        format!("\"{}\"", "x".repeat(1 << 20)),
        format!("\"0x{}\"", "0".repeat(1 << 20)),
        format!("0.{}1", "0".repeat(1 << 20)),
        "[".repeat(1 << 20),
        format!("{}{}", "[".repeat(1 << 19), "]".repeat(1 << 19)),
    ] {
        let error = fill_value::from_json_str(UInt8, &text).unwrap_err().to_string();
        assert!(error.len() < 400 && !error.contains('\n'), "{error}");
        if let Err(error) = fill_value::from_json_str(Float32, &text) {
            assert!(error.to_string().len() < 400);
        }
    }
}

//! `recast raw`: the chain over raw little-endian bytes, as a stream.

use crate::common::{Recast, Run, recast};

const CHUNK: usize = 1 << 20;

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A cast to uint8.
const UINT8: &str = r#"[{"name":"cast_value","configuration":{"data_type":"uint8"}}]"#;

/// `recast raw` over some bytes.
fn raw(way: &str, data_type: &str, codecs: &str, input: &[u8]) -> Recast {
    recast(&["raw", way, "--data-type", data_type, "--codecs", codecs]).stdin(input)
}

#[test]
fn encodes_and_decodes_the_example_of_the_issue() {
    let codecs =
        r#"[{"name":"cast_value","configuration":{"data_type":"uint8","out_of_range":"clamp"}}]"#;
    let input = f32s(&[-3.0, 0.5, 1.5, 254.6, 300.0]);
    let encoded = raw("encode", "float32", codecs, &input).succeeds();
    assert_eq!(encoded, [0, 0, 2, 255, 255]);
    let decoded = raw("decode", "float32", codecs, &encoded).succeeds();
    assert_eq!(decoded, f32s(&[0.0, 0.0, 2.0, 255.0, 255.0]));
}

#[test]
fn the_way_the_input_is_split_makes_no_difference() {
    let codecs = r#"[{"name":"cast_value","configuration":{"data_type":"int16"}}]"#;
    let values: Vec<f64> = (0..300_000_u32).map(|i| f64::from(i % 60_000) - 30_000.0).collect();
    let input: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    assert!(input.len() > 2 * CHUNK);
    let expected: Vec<u8> = values.iter().flat_map(|&value| (value as i16).to_le_bytes()).collect();
    for piece in [13, 4099, CHUNK + 3] {
        let run = raw("encode", "float64", codecs, &[]).stdin_in_pieces(&input, piece);
        assert!(run.succeeds() == expected, "pieces of {piece} bytes");
    }
}

#[test]
fn what_is_wrong_is_said_by_the_element_or_the_field() {
    let mut values = vec![1.0_f32; 700_000];
    // Elements are counted over the whole input.
    (values[600_001], values[650_000]) = (256.5, f32::NAN);
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| format!("@{}", folder.path().join(name).display());
    std::fs::write(folder.path().join("deep.json"), "[".repeat(1 << 20)).unwrap();
    let (values, partial) = (f32s(&values), [0; 4 * 3 + 2]);
    for (codecs, input, expected) in [
        (UINT8, &values[..], "element 600001: float32 256.5 is out of range for uint8"),
        (UINT8, &partial, "ends within element 3: 2 of the 4 bytes of float32"),
        (r#"[{"name":"scale_offset","configuration":{"scale":0}}]"#, &[], "scale"),
        ("[", &[], "codecs"),
        (&at("none.json"), &[], "none.json"),
        (&at("deep.json"), &[], "codecs"),
    ] {
        let error = raw("encode", "float32", codecs, input).fails(1);
        assert!(error.contains(expected) && error.len() < 2000, "{error}");
    }
}

#[test]
fn a_level_in_the_environment_that_does_not_exist_is_named_with_those_that_do() {
    let at = |level| raw("encode", "float32", UINT8, &f32s(&[7.0])).with("RECAST_LEVEL", level);
    let error = at("sse9").fails(1);
    let expected = r#"RECAST_LEVEL: "sse9" is not one of scalar, avx2, avx512, neon, simd128"#;
    assert!(error.contains(expected), "{error}");
    assert_eq!(at("scalar").succeeds(), [7]);
}

#[test]
fn no_input_is_no_output() {
    assert!(raw("decode", "int64", "[]", &[]).succeeds().is_empty());
}

#[test]
fn the_fill_value_is_checked_only_if_it_is_given() {
    let arguments = ["raw", "encode", "--data-type", "float32", "--codecs", UINT8];
    let seven = f32s(&[7.0]);
    assert_eq!(recast(&arguments).stdin(&seven).succeeds(), [7]);
    let with = |fill| recast(&[&arguments[..], &["--fill-value", fill]].concat());
    assert_eq!(with("9").stdin(&seven).succeeds(), [7]);
    let error = with("-1.5").fails(1);
    assert!(error.contains("fill_value") && error.contains("-1.5"), "{error}");
    let error = with("\"NaN\"").fails(1);
    assert!(error.contains("NaN"), "{error}");
}

#[test]
fn codecs_can_be_read_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("codecs.json");
    std::fs::write(&path, r#"[{"name":"scale_offset","configuration":{"scale":2}}]"#).unwrap();
    let at = format!("@{}", path.display());
    let run = raw("encode", "float32", &at, &f32s(&[1.5]));
    assert_eq!(run.succeeds(), f32s(&[3.0]));
}

#[test]
fn wrong_usage_has_status_2_and_one_line() {
    for arguments in [
        &["raw", "encode", "--codecs", "[]"][..],
        &["raw", "both", "--data-type", "float32", "--codecs", "[]"],
        &["raw", "encode", "--data-type", "float33", "--codecs", "[]"],
        &["nonsense"],
    ] {
        recast(arguments).stdin(&[]).fails(2);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let run = raw("encode", "uint8", "[]", &vec![1; 8 * CHUNK]);
    let Run { status, stderr, .. } = run.reading(10);
    assert!(status.success(), "{status}");
    assert_eq!(stderr, "");
}

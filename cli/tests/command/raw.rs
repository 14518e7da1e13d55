//! `recast raw`: the chain over raw little-endian bytes, as a stream.

use crate::common::{Run, recast};

const CHUNK: usize = 1 << 20;

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn encodes_and_decodes_the_example_of_the_issue() {
    let codecs =
        r#"[{"name":"cast_value","configuration":{"data_type":"uint8","out_of_range":"clamp"}}]"#;
    let arguments = ["raw", "encode", "--data-type", "float32", "--codecs", codecs];
    let encoded = recast(&arguments).stdin(&f32s(&[-3.0, 0.5, 1.5, 254.6, 300.0])).succeeds();
    assert_eq!(encoded, [0, 0, 2, 255, 255]);
    let arguments = ["raw", "decode", "--data-type", "float32", "--codecs", codecs];
    assert_eq!(recast(&arguments).stdin(&encoded).succeeds(), f32s(&[0.0, 0.0, 2.0, 255.0, 255.0]));
}

#[test]
fn the_way_the_input_is_split_makes_no_difference() {
    let codecs = r#"[{"name":"cast_value","configuration":{"data_type":"int16"}}]"#;
    let values: Vec<f64> = (0..300_000_u32).map(|i| f64::from(i % 60_000) - 30_000.0).collect();
    let input: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    assert!(input.len() > 2 * CHUNK);
    let expected: Vec<u8> = values.iter().flat_map(|&value| (value as i16).to_le_bytes()).collect();
    for piece in [13, 4099, CHUNK + 3] {
        let arguments = ["raw", "encode", "--data-type", "float64", "--codecs", codecs];
        let output = recast(&arguments).stdin_in_pieces(&input, piece).succeeds();
        assert!(output == expected, "pieces of {piece} bytes");
    }
}

#[test]
fn a_failing_element_is_counted_over_the_whole_input() {
    let codecs = r#"[{"name":"cast_value","configuration":{"data_type":"uint8"}}]"#;
    let mut values = vec![1.0; 700_000];
    values[600_001] = 256.5;
    values[650_000] = f32::NAN;
    let arguments = ["raw", "encode", "--data-type", "float32", "--codecs", codecs];
    let error = recast(&arguments).stdin(&f32s(&values)).fails(1);
    assert!(error.contains("element 600001: float32 256.5 is out of range for uint8"), "{error}");
}

#[test]
fn a_partial_element_at_the_end_is_an_error() {
    let codecs = r#"[{"name":"cast_value","configuration":{"data_type":"uint8"}}]"#;
    let arguments = ["raw", "encode", "--data-type", "float32", "--codecs", codecs];
    let error = recast(&arguments).stdin(&[0; 4 * 3 + 2]).fails(1);
    assert!(error.contains("ends within element 3: 2 of the 4 bytes of float32"), "{error}");
}

#[test]
fn a_level_in_the_environment_that_does_not_exist_is_named_with_those_that_do() {
    let codecs = r#"[{"name":"cast_value","configuration":{"data_type":"uint8"}}]"#;
    let arguments = ["raw", "encode", "--data-type", "float32", "--codecs", codecs];
    let error = recast(&arguments).with("RECAST_LEVEL", "sse9").fails(1);
    let expected = r#"RECAST_LEVEL: "sse9" is not one of scalar, avx2, avx512, neon, simd128"#;
    assert!(error.contains(expected), "{error}");
    let scalar = recast(&arguments).with("RECAST_LEVEL", "scalar").stdin(&f32s(&[7.0]));
    assert_eq!(scalar.succeeds(), [7]);
}

#[test]
fn no_input_is_no_output() {
    let arguments = ["raw", "decode", "--data-type", "int64", "--codecs", "[]"];
    assert!(recast(&arguments).stdin(&[]).succeeds().is_empty());
}

#[test]
fn the_fill_value_is_checked_only_if_it_is_given() {
    let codecs = r#"[{"name":"cast_value","configuration":{"data_type":"uint8"}}]"#;
    let arguments = ["raw", "encode", "--data-type", "float32", "--codecs", codecs];
    assert_eq!(recast(&arguments).stdin(&f32s(&[7.0])).succeeds(), [7]);
    let with = |fill| [&arguments[..], &["--fill-value", fill]].concat();
    assert_eq!(recast(&with("9")).stdin(&f32s(&[7.0])).succeeds(), [7]);
    let error = recast(&with("-1.5")).stdin(&[]).fails(1);
    assert!(error.contains("fill_value") && error.contains("-1.5"), "{error}");
    let error = recast(&with("\"NaN\"")).stdin(&[]).fails(1);
    assert!(error.contains("NaN"), "{error}");
}

#[test]
fn codecs_can_be_read_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("codecs.json");
    std::fs::write(&path, r#"[{"name":"scale_offset","configuration":{"scale":2}}]"#).unwrap();
    let at = format!("@{}", path.display());
    let arguments = ["raw", "encode", "--data-type", "float32", "--codecs", &at];
    assert_eq!(recast(&arguments).stdin(&f32s(&[1.5])).succeeds(), f32s(&[3.0]));
    let missing = format!("@{}", folder.path().join("none.json").display());
    let error = recast(&["raw", "encode", "--data-type", "float32", "--codecs", &missing])
        .stdin(&[])
        .fails(1);
    assert!(error.contains("none.json"), "{error}");
}

#[test]
fn bad_codecs_are_refused_with_the_field() {
    for (codecs, field) in
        [(r#"[{"name":"scale_offset","configuration":{"scale":0}}]"#, "scale"), ("[", "codecs")]
    {
        let arguments = ["raw", "encode", "--data-type", "float32", "--codecs", codecs];
        let error = recast(&arguments).stdin(&[]).fails(1);
        assert!(error.contains(field), "{error}");
    }
    let deep = format!("@{}", {
        let folder = tempfile::tempdir().unwrap().keep();
        let path = folder.join("deep.json");
        std::fs::write(&path, "[".repeat(1 << 20)).unwrap();
        path.display().to_string()
    });
    let error =
        recast(&["raw", "encode", "--data-type", "float32", "--codecs", &deep]).stdin(&[]).fails(1);
    assert!(error.len() < 2000, "{error}");
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
    let codecs = "[]";
    let arguments = ["raw", "encode", "--data-type", "uint8", "--codecs", codecs];
    let Run { status, stderr, .. } = recast(&arguments).stdin(&vec![1; 8 * CHUNK]).reading(10);
    assert!(status.success(), "{status}");
    assert_eq!(stderr, "");
}

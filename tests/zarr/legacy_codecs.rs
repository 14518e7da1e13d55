//! `numcodecs.fixedscaleoffset` and `numcodecs.astype` do to data what numcodecs does.

use serde_json::{Value, json};
use zarr_recast::{BindOptions, Chain, Codec, ElementType, Scalar, WarningKind};

fn bytes<T: Into<Scalar> + Copy>(elements: &[T]) -> Vec<u8> {
    elements.iter().flat_map(|&element| element.into().to_ne_bytes()).collect()
}

fn bind(data_type: ElementType, filter: &Value) -> Chain {
    let codec = Codec::from_v2_filter(filter).unwrap();
    Chain::bind(data_type, None, &[codec], &BindOptions::default()).unwrap()
}

/// numcodecs divides integers as float64 and casts the sum; in float32 arithmetic the last bit would
/// differ. The bits are those that zarr-python 3.4.2 with numcodecs 0.17.1 reads.
#[test]
fn fixedscaleoffset_decodes_integers_through_float64() {
    let chain = bind(
        ElementType::Float32,
        &json!({"id": "fixedscaleoffset", "scale": 100, "offset": 273.15, "dtype": "<f4", "astype": "<i2"}),
    );
    let stored: Vec<i16> = (-500..500).collect();
    let expected: Vec<f32> =
        stored.iter().map(|&q| (f64::from(q) / 100.0 + 273.15) as f32).collect();
    assert_eq!(chain.decode(&bytes(&stored)).unwrap(), bytes(&expected));
    let in_float32: Vec<f32> = stored.iter().map(|&q| f32::from(q) / 100.0 + 273.15_f32).collect();
    assert_ne!(expected, in_float32, "the data tell the two ways apart");
    // Encoding is float32 arithmetic there too.
    let encoded = chain.encode(&bytes(&[273.155_f32, 273.16, 274.0, 0.0])).unwrap();
    let expected =
        [273.155_f32, 273.16, 274.0, 0.0].map(|x| ((x - 273.15) * 100.0).round_ties_even() as i16);
    assert_eq!(encoded, bytes(&expected));
}

#[test]
fn fixedscaleoffset_rounds_to_even_and_wraps() {
    let chain = bind(
        ElementType::Float64,
        &json!({"id": "fixedscaleoffset", "scale": 1, "offset": 0, "dtype": "<f8", "astype": "|u1"}),
    );
    let decoded = [0.5_f64, 1.5, 2.5, 256.0, -1.0, 1000.4];
    assert_eq!(chain.encode(&bytes(&decoded)).unwrap(), [0, 2, 2, 0, 255, 232]);
    assert!(chain.encode(&bytes(&[f64::NAN])).is_err());
}

#[test]
fn fixedscaleoffset_of_integers_is_integer_arithmetic_or_float64_as_its_numbers_are_written() {
    let filter = |scale: &Value, offset: &Value| json!({"id": "fixedscaleoffset", "scale": scale, "offset": offset, "dtype": "<i4", "astype": "<i2"});
    let whole = bind(ElementType::Int32, &filter(&json!(2), &json!(5000)));
    assert_eq!(whole.encode(&bytes(&[5003_i32])).unwrap(), bytes(&[6_i16]));
    assert_eq!(whole.decode(&bytes(&[6_i16, 7])).unwrap(), bytes(&[5003_i32, 5003]));
    let fraction = bind(ElementType::Int32, &filter(&json!(0.5), &json!(0)));
    assert_eq!(fraction.encode(&bytes(&[7_i32, -3])).unwrap(), bytes(&[4_i16, -2]));
    assert_eq!(fraction.decode(&bytes(&[4_i16])).unwrap(), bytes(&[8_i32]));
}

#[test]
fn fixedscaleoffset_to_a_float_reads_the_same_and_says_that_it_does_not_round() {
    // Without `astype` the stored type is that of the array.
    let chain = bind(
        ElementType::Float64,
        &json!({"id": "fixedscaleoffset", "scale": 10, "offset": 1, "dtype": "<f8"}),
    );
    assert_eq!(chain.decode(&bytes(&[5.0_f64])).unwrap(), bytes(&[1.5_f64]));
    assert_eq!(chain.encode(&bytes(&[1.56_f64])).unwrap(), bytes(&[(1.56_f64 - 1.0) * 10.0]));
    assert_eq!(chain.warnings()[0].kind, WarningKind::LegacyRounding);
}

/// Within int32, `NumPy` on x86-64 wraps into 8 and 16 bits. Beyond, and for wider types, platforms have other results.
#[test]
fn floats_out_of_range_are_not_read_as_any_integer() {
    let as_type =
        |dtype: &str| json!({"id": "astype", "encode_dtype": "<f8", "decode_dtype": dtype});
    let scaled = |dtype: &str| json!({"id": "fixedscaleoffset", "scale": 1, "offset": 0, "dtype": dtype, "astype": "<f8"});
    for filter in [as_type, scaled] {
        for (dtype, source) in [("|i1", ElementType::Int8), ("<i2", ElementType::Int16)] {
            let chain = bind(source, &filter(dtype));
            let stored = [1.9_f64, -1.9, 70_000.0, -2_147_483_648.0];
            let wrapped = stored.map(|x| x as i32);
            let expected = match source {
                ElementType::Int8 => bytes(&wrapped.map(|x| x as i8)),
                _ => bytes(&wrapped.map(|x| x as i16)),
            };
            assert_eq!(chain.decode(&bytes(&stored)).unwrap(), expected, "{dtype}");
            for beyond in [3e9_f64, -3e9, 1e300, f64::INFINITY, f64::NAN] {
                assert!(chain.decode(&bytes(&[beyond])).is_err(), "{dtype} {beyond}");
            }
        }
        let chain = bind(ElementType::Int32, &filter("<i4"));
        let stored = bytes(&[2_147_483_647.9_f64, -2_147_483_648.9]);
        assert_eq!(chain.decode(&stored).unwrap(), bytes(&[i32::MAX, i32::MIN]));
        let error = chain.decode(&bytes(&[1.0, 3e9_f64])).unwrap_err();
        assert!(error.to_string().starts_with("element 1"), "{error}");
        for (dtype, source) in [("<u4", ElementType::UInt32), ("<u8", ElementType::UInt64)] {
            let chain = bind(source, &filter(dtype));
            assert!(chain.decode(&bytes(&[4e9_f64])).is_ok(), "{dtype}");
            assert!(chain.decode(&bytes(&[-1.0_f64])).is_err(), "{dtype}");
        }
    }
}

#[test]
fn astype_truncates_and_wraps_to_integers_and_rounds_to_floats() {
    let to_integer = bind(
        ElementType::Float64,
        &json!({"id": "astype", "encode_dtype": "|i1", "decode_dtype": "<f8"}),
    );
    assert_eq!(
        to_integer.encode(&bytes(&[1.9_f64, -1.9, 130.5])).unwrap(),
        bytes(&[1_i8, -1, -126])
    );
    assert_eq!(to_integer.decode(&bytes(&[-126_i8])).unwrap(), bytes(&[-126.0_f64]));
    let to_float = bind(ElementType::Float64, &json!({"id": "astype", "encode_dtype": ">f4"}));
    assert_eq!(
        to_float.encode(&bytes(&[0.1_f64, 1e300, -1e300])).unwrap(),
        bytes(&[0.1_f32, f32::INFINITY, f32::NEG_INFINITY])
    );
}

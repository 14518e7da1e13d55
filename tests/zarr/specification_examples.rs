//! Every example of the two extension specifications: zarr-extensions `codecs/cast_value` and
//! `codecs/scale_offset`.

use serde_json::{Value, json};
use zarr_recast::{BindOptions, Chain, Codec, ElementType, FillCheck, Scalar, data_type};

fn bytes<T: Into<Scalar> + Copy>(elements: &[T]) -> Vec<u8> {
    elements.iter().flat_map(|&element| element.into().to_ne_bytes()).collect()
}

/// Binds the codecs of an example; the pages' examples have no fill value.
fn bind(data_type: &str, codecs: &Value) -> Chain {
    let codecs = Codec::list_from_json(codecs).unwrap();
    let data_type = data_type::parse(data_type).unwrap();
    Chain::bind(data_type, None, &codecs, &BindOptions::default()).unwrap()
}

#[test]
fn scale_offset_with_offset_5_and_scale_0_1() {
    let codec = json!({"name": "scale_offset", "configuration": {"offset": 5, "scale": 0.1}});
    assert_eq!(Codec::from_json(&codec).unwrap().to_json(), codec);
    let chain = bind("float32", &json!([codec]));
    // Each operation is rounded to float32: (x - 5) * 0.1, and x / 0.1 + 5.
    let encoded = bytes(&[(7.0_f32 - 5.0) * 0.1, (5.0_f32 - 5.0) * 0.1, (-3.25_f32 - 5.0) * 0.1]);
    assert_eq!(chain.encode(&bytes(&[7.0_f32, 5.0, -3.25])).unwrap(), encoded);
    let decoded = bytes(&[0.2_f32 / 0.1 + 5.0, 0.3_f32 / 0.1 + 5.0]);
    assert_eq!(chain.decode(&bytes(&[0.2_f32, 0.3])).unwrap(), decoded);
    assert_eq!(chain.encoded_type(), ElementType::Float32);
}

#[test]
fn cast_value_as_numpy_does_it() {
    let codec = json!({
        "name": "cast_value",
        "configuration": {
            "data_type": "uint8",
            "rounding": "towards-zero",
            "out_of_range": "wrap",
            "scalar_map": {"encode": [["NaN", 0], ["+Infinity", 0], ["-Infinity", 0]]}
        }
    });
    assert_eq!(Codec::from_json(&codec).unwrap().to_json(), codec);
    let chain = bind("float64", &json!([codec]));
    let decoded = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.9, -1.9, 256.0, 300.7, -300.0];
    assert_eq!(chain.encode(&bytes(&decoded)).unwrap(), [0, 0, 0, 1, 255, 0, 44, 212]);
    assert_eq!(chain.decode(&[7, 255]).unwrap(), bytes(&[7.0, 255.0]));
}

#[test]
fn zero_of_uint16_is_zero_of_uint8() {
    let codecs = json!([{"name": "cast_value", "configuration": {"data_type": "uint8"}}]);
    assert_eq!(bind("uint16", &codecs).encode(&bytes(&[0_u16])).unwrap(), [0]);
}

fn cast(source: &str, target: &str, out_of_range: Option<&str>) -> Chain {
    let mut configuration = json!({ "data_type": target });
    if let Some(mode) = out_of_range {
        configuration["out_of_range"] = mode.into();
    }
    bind(source, &json!([{"name": "cast_value", "configuration": configuration}]))
}

#[test]
fn the_float_128_as_int8_fails_clamps_or_wraps() {
    let input = bytes(&[128.0_f64]);
    assert!(cast("float64", "int8", None).encode(&input).is_err());
    assert_eq!(cast("float64", "int8", Some("clamp")).encode(&input).unwrap(), bytes(&[127_i8]));
    assert_eq!(cast("float64", "int8", Some("wrap")).encode(&input).unwrap(), bytes(&[-128_i8]));
}

#[test]
fn int16_wraps_in_twos_complement() {
    let encoded = cast("int32", "int16", Some("wrap")).encode(&bytes(&[32768_i32, 32769, -32769]));
    assert_eq!(encoded.unwrap(), bytes(&[-32768_i16, -32767, 32767]));
}

#[test]
fn clamp_goes_to_infinity_where_there_is_one() {
    let encoded = cast("float64", "float32", Some("clamp")).encode(&bytes(&[1e39_f64, -1e39]));
    assert_eq!(encoded.unwrap(), bytes(&[f32::INFINITY, f32::NEG_INFINITY]));
}

#[test]
fn nan_and_signed_zero_pass_between_floats() {
    let chain = cast("float64", "float32", None);
    let back = chain.decode(&chain.encode(&bytes(&[f64::NAN, -0.0])).unwrap()).unwrap();
    assert!(f64::from_ne_bytes(back[..8].try_into().unwrap()).is_nan());
    assert_eq!(back[8..], bytes(&[-0.0_f64]));
}

#[test]
fn the_first_of_two_equal_keys_is_used() {
    let chain = bind(
        "float32",
        &json!([{"name": "cast_value", "configuration": {
            "data_type": "uint8",
            "scalar_map": {"encode": [[1, 7], [1.0, 9], [4, 40], ["NaN", 1], ["0xffc00000", 2]]}
        }}]),
    );
    let encoded = chain.encode(&bytes(&[1.0_f32, 4.0, f32::from_bits(0xffc0_0000)])).unwrap();
    assert_eq!(encoded, [7, 40, 1]);
}

#[test]
fn a_key_of_zero_is_negative_zero_too() {
    let chain = bind(
        "float32",
        &json!([{"name": "cast_value", "configuration": {
            "data_type": "uint8", "scalar_map": {"encode": [[0, 9]]}
        }}]),
    );
    assert_eq!(chain.encode(&bytes(&[0.0_f32, -0.0])).unwrap(), [9, 9]);
}

#[test]
fn fixedscaleoffset_is_scale_offset_and_cast_value() {
    let legacy = bind(
        "float32",
        &json!([{
            "name": "numcodecs.fixedscaleoffset",
            "configuration": {"astype": "uint8", "dtype": "float32", "scale": 0.1, "offset": 10}
        }]),
    );
    let modern = bind(
        "float32",
        &json!([
            {"name": "scale_offset", "configuration": {"scale": 0.1, "offset": 10}},
            {"name": "cast_value", "configuration": {"data_type": "uint8", "out_of_range": "wrap"}}
        ]),
    );
    let input: Vec<f32> = (-4000_i16..4000).map(|x| f32::from(x) * 0.75).collect();
    let encoded = modern.encode(&bytes(&input)).unwrap();
    assert_eq!(legacy.encode(&bytes(&input)).unwrap(), encoded);
    // Decoding divides float64 as numcodecs does, so it may be off by the last bits of a float32.
    let (a, b) = (legacy.decode(&encoded).unwrap(), modern.decode(&encoded).unwrap());
    let floats = |bytes: &[u8]| -> Vec<f32> {
        bytes.chunks_exact(4).map(|x| f32::from_ne_bytes(x.try_into().unwrap())).collect()
    };
    for (a, b) in floats(&a).into_iter().zip(floats(&b)) {
        assert!((a - b).abs() <= 4.0 * f32::EPSILON * a.abs(), "{a} {b}");
    }
}

/// The numbers of the `numcodecs.FixedScaleOffset` documentation.
#[test]
fn fixedscaleoffset_of_the_numcodecs_documentation() {
    let input: Vec<f64> = (0..10).map(|i| 1000.0 + f64::from(i) / 9.0).collect();
    let cases = [
        (10, "u1", vec![0, 1, 2, 3, 4, 6, 7, 8, 9, 10]),
        (100, "u1", vec![0, 11, 22, 33, 44, 56, 67, 78, 89, 100]),
        (1000, "<u2", vec![0, 111, 222, 333, 444, 556, 667, 778, 889, 1000]),
    ];
    for (scale, astype, expected) in cases {
        let codec = Codec::from_v2_filter(&json!({
            "id": "fixedscaleoffset", "offset": 1000, "scale": scale, "dtype": "<f8",
            "astype": astype
        }));
        let chain =
            Chain::bind(ElementType::Float64, None, &[codec.unwrap()], &BindOptions::default())
                .unwrap();
        let encoded = chain.encode(&bytes(&input)).unwrap();
        let plain: Vec<u16> = expected;
        let stored = match chain.encoded_type() {
            ElementType::UInt8 => plain.iter().map(|&x| x as u8).collect(),
            _ => bytes(&plain),
        };
        assert_eq!(encoded, stored, "scale {scale}");
        let decoded: Vec<f64> =
            plain.iter().map(|&x| f64::from(x) / f64::from(scale) + 1000.0).collect();
        assert_eq!(chain.decode(&encoded).unwrap(), bytes(&decoded), "scale {scale}");
    }
}

/// The example's codec loses NaN on the way back, so an array filled with NaN cannot have it.
#[test]
fn the_numpy_example_does_not_suit_a_fill_value_of_nan() {
    let codecs = json!([{"name": "cast_value", "configuration": {
        "data_type": "uint8", "out_of_range": "wrap", "scalar_map": {"encode": [["NaN", 0]]}
    }}]);
    let codecs = Codec::list_from_json(&codecs).unwrap();
    let bind = |fill_check| {
        let options = BindOptions::default().fill_check(fill_check);
        Chain::bind(ElementType::Float64, Some(f64::NAN.into()), &codecs, &options)
    };
    assert!(bind(FillCheck::Create).is_err());
    assert!(bind(FillCheck::Open).is_err());
    assert_eq!(bind(FillCheck::ReportOnly).unwrap().encoded_fill_value(), Some(0_u8.into()));
}

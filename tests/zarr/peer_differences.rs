//! Where zarr-python, zarrs and cast-value-rs do otherwise (`docs/semantics.md`): what is done here,
//! for the inputs that show it.

use recast_kernels::FloatOverflow;
use serde_json::{Value, json};
use zarr_recast::{
    BindOptions, Chain, Codec, Reason, RunError, Scalar, advice, data_type, fill_value,
};

fn bytes<T: Into<Scalar> + Copy>(elements: &[T]) -> Vec<u8> {
    elements.iter().flat_map(|&element| element.into().to_ne_bytes()).collect()
}

fn bind_with(options: &BindOptions, data_type: &str, codecs: &Value) -> Chain {
    let codecs = Codec::list_from_json(codecs).unwrap();
    Chain::bind(data_type::parse(data_type).unwrap(), None, &codecs, options).unwrap()
}

fn bind(data_type: &str, codecs: &Value) -> Chain {
    bind_with(&BindOptions::default(), data_type, codecs)
}

#[allow(clippy::needless_pass_by_value)] // takes a literal
fn scale_offset(configuration: Value) -> Value {
    json!([{"name": "scale_offset", "configuration": configuration}])
}

#[allow(clippy::needless_pass_by_value)] // takes a literal
fn cast_value(configuration: Value) -> Value {
    json!([{"name": "cast_value", "configuration": configuration}])
}

/// The index of the element at which encoding fails, and why.
fn failure(chain: &Chain, elements: &[u8]) -> (usize, Reason) {
    match chain.encode(elements) {
        Err(RunError::Element(error)) => (error.index, error.reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn int64_does_not_wrap_silently() {
    let chain = bind("int64", &scale_offset(json!({"offset": 1})));
    assert_eq!(failure(&chain, &bytes(&[5, i64::MIN])), (1, Reason::Overflow));
    let chain = bind("int64", &scale_offset(json!({"scale": 4})));
    assert_eq!(failure(&chain, &bytes(&[1_i64 << 62])), (0, Reason::Overflow));
}

#[test]
fn an_integer_beyond_the_type_is_an_error_though_the_next_step_would_come_back() {
    let chain = bind("int8", &scale_offset(json!({"offset": -100, "scale": -1})));
    assert_eq!(failure(&chain, &bytes(&[27_i8, 28])), (1, Reason::Overflow));
    assert_eq!(chain.encode(&bytes(&[27_i8])).unwrap(), bytes(&[-127_i8]));
    assert!(chain.decode(&bytes(&[-128_i8])).is_err());
}

#[test]
fn a_finite_float_overflows_only_where_that_is_asked_for() {
    let codecs = scale_offset(json!({"scale": 10}));
    let input = bytes(&[1.0_f32, 1e38]);
    assert_eq!(failure(&bind("float32", &codecs), &input), (1, Reason::Overflow));
    let ieee = BindOptions::default().float_overflow(FloatOverflow::Infinity);
    let encoded = bind_with(&ieee, "float32", &codecs).encode(&input).unwrap();
    assert_eq!(encoded, bytes(&[10.0, f32::INFINITY]));
}

#[test]
fn scale_offset_with_nothing_set_keeps_every_bit() {
    for codec in
        [json!({"name": "scale_offset"}), json!({"name": "scale_offset", "configuration": {}})]
    {
        let chain = bind("float32", &json!([codec]));
        let input = bytes(&[-0.0, f32::from_bits(0xff80_1234)]);
        assert_eq!(chain.encode(&input).unwrap(), input);
        assert_eq!(chain.decode(&input).unwrap(), input);
    }
}

#[test]
fn float64_is_rounded_to_float16_once() {
    // Through float32 the first is 2046.5, a tie; the second, as with the crate half, the tie above 1.
    let input = bytes(&[2_046.500_000_000_000_2, 1.0 + 2_f64.powi(-11) + 2_f64.powi(-40)]);
    let encoded = bind("float64", &cast_value(json!({"data_type": "float16"}))).encode(&input);
    assert_eq!(encoded.unwrap(), [0x67ff_u16, 0x3c01].map(u16::to_ne_bytes).concat());
}

#[test]
fn the_first_of_two_equal_keys_wins_and_a_nan_key_is_every_nan() {
    let map = json!({"encode": [[1, 7], [1, 9], ["NaN", 3]]});
    let chain = bind("float32", &cast_value(json!({"data_type": "uint8", "scalar_map": map})));
    let nan = f32::from_bits(0xffc0_1234);
    assert_eq!(chain.encode(&bytes(&[1.0, f32::NAN, nan])).unwrap(), [7, 3, 3]);
}

#[test]
fn a_codec_is_checked_against_the_type_that_reaches_it() {
    let codecs = json!([
        {"name": "cast_value", "configuration": {"data_type": "float32"}},
        {"name": "scale_offset", "configuration": {"scale": 0.5}},
    ]);
    let chain = bind("int16", &codecs);
    assert_eq!(chain.encode(&bytes(&[3_i16])).unwrap(), bytes(&[1.5_f32]));
    assert_eq!(chain.decode(&bytes(&[1.5_f32])).unwrap(), bytes(&[3_i16]));
}

#[test]
fn every_bit_of_a_nan_fill_value_is_read() {
    let read = |data_type, json: &str| {
        let json: Value = serde_json::from_str(json).unwrap();
        fill_value::from_json(data_type::parse(data_type).unwrap(), &json).unwrap().bits()
    };
    assert_eq!(read("float16", "\"0x7e01\""), 0x7e01);
    assert_eq!(read("float32", "\"0x7f800001\""), 0x7f80_0001);
}

#[test]
fn legacy_integers_of_64_bits_do_not_go_through_a_float() {
    let filter =
        json!({"id": "fixedscaleoffset", "scale": 1, "offset": 1, "dtype": "<i8", "astype": "<i8"});
    let codec = Codec::from_v2_filter(&filter).unwrap();
    let int64 = data_type::parse("int64").unwrap();
    let chain = Chain::bind(int64, None, &[codec], &BindOptions::default()).unwrap();
    let encoded = chain.encode(&bytes(&[(1_i64 << 53) + 2])).unwrap();
    assert_eq!(encoded, bytes(&[(1_i64 << 53) + 1]));
}

#[test]
fn an_element_that_cannot_be_cast_is_named() {
    let chain = bind("float64", &cast_value(json!({"data_type": "int8"})));
    let error = chain.encode(&bytes(&[1.0, 2.0, 300.5])).unwrap_err();
    for part in ["element 2", "float64 300.5", "int8", "-128 to 127"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let RunError::Element(error) = error else { panic!("{error}") };
    assert!(advice(&error).contains("out_of_range"));
}

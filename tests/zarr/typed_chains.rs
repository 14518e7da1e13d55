//! Chains from Rust values over slices of Rust values.

use recast_kernels::half::{bf16, f16};
use zarr_recast::{
    AsType, BindOptions, CastValue, Chain, Codec, Element, ElementType, FixedScaleOffset,
    JsonScalar, OutOfRange, Reason, Rounding, RunError, ScaleOffset, advice,
};

fn bind(source: ElementType, codecs: &[Codec]) -> Chain {
    Chain::bind(source, None, codecs, &BindOptions::default()).unwrap()
}

/// Casts 1 to `T` and back.
fn one<T: Element + PartialEq + std::fmt::Debug>(expected: T) {
    let chain = bind(ElementType::Float64, &[CastValue::new(T::TYPE).into()]);
    let encoded: Vec<T> = chain.encoder().run_slice(&[1.0_f64, 1.0]).unwrap();
    assert_eq!(encoded, [expected, expected]);
    assert_eq!(chain.decoder().run_slice::<T, f64>(&encoded).unwrap(), [1.0, 1.0]);
    let mut decoded = [0.0_f64; 2];
    chain.decoder().run_slice_into(&encoded, &mut decoded).unwrap();
    let mut again = [T::zeroed(); 2];
    chain.encoder().run_slice_into(&decoded, &mut again).unwrap();
    assert_eq!(again, [expected, expected]);
}

#[test]
fn slices_of_every_rust_type_are_encoded_and_decoded() {
    one(1_i8);
    one(1_i16);
    one(1_i32);
    one(1_i64);
    one(1_u8);
    one(1_u16);
    one(1_u32);
    one(1_u64);
    one(f16::ONE);
    one(bf16::ONE);
    one(1.0_f32);
    one(1.0_f64);
}

#[test]
fn slices_of_other_types_and_lengths_are_refused() {
    let chain = bind(ElementType::Float32, &[CastValue::new(ElementType::UInt8).into()]);
    let (f32s, u8s) = (ElementType::Float32, ElementType::UInt8);
    let wrong = |slice, expected| RunError::SliceType { slice, expected };
    let error = chain.encoder().run_slice::<u8, u8>(&[1]).unwrap_err();
    assert_eq!(error, wrong(u8s, f32s));
    assert_eq!(error.to_string(), "the slice holds uint8, and the elements are of type float32");
    assert_eq!(chain.encoder().run_slice::<f32, f32>(&[1.0]), Err(wrong(f32s, u8s)));
    assert_eq!(chain.decoder().run_slice::<f32, f32>(&[1.0]), Err(wrong(f32s, u8s)));
    let error = chain.encoder().run_slice_into(&[1.0_f32, 2.0], &mut [0_u8]).unwrap_err();
    assert!(matches!(error, RunError::Length { .. }));
    assert_eq!(chain.encoder().run_slice::<f32, u8>(&[]), Ok(Vec::new()));
}

#[test]
fn a_builder_makes_what_json_says() {
    let cast = CastValue::new(ElementType::Int16)
        .rounding(Rounding::TowardsNegative)
        .out_of_range(OutOfRange::Wrap)
        .map_both(f64::NEG_INFINITY, i16::MIN)
        .map_decode(7_i16, 0.5_f64);
    let codecs: [Codec; 2] = [ScaleOffset::default().offset(0.1_f32).scale(-3).into(), cast.into()];
    let json = r#"[
        {"name": "scale_offset", "configuration": {"offset": 0.1, "scale": -3}},
        {"name": "cast_value", "configuration": {
            "data_type": "int16", "rounding": "towards-negative", "out_of_range": "wrap",
            "scalar_map": {"encode": [["-Infinity", -32768]],
                "decode": [[-32768, "-Infinity"], [7, 0.5]]}}}]"#;
    assert_eq!(Codec::list_from_json(json).unwrap(), codecs);

    let fixed = FixedScaleOffset::new(JsonScalar::from(1.5), 10, "<f8", None).unwrap();
    let json = r#"[{"name": "numcodecs.fixedscaleoffset", "configuration": {
            "offset": 1.5, "scale": 10, "dtype": "<f8"}},
        {"name": "numcodecs.astype", "configuration": {"encode_dtype": "<i2", "decode_dtype": "<f8"}}]"#;
    let codecs: [Codec; 2] = [fixed.into(), AsType::new("<i2", "<f8").unwrap().into()];
    assert_eq!(Codec::list_from_json(json).unwrap(), codecs);
    assert_eq!(AsType::new("<c8", "<f8").unwrap_err().path(), "encode_dtype");
}

/// Errors of chains name values and types, and `advice` the members of the metadata.
#[test]
fn advice_names_what_to_change_in_the_metadata() {
    let to_byte = || bind(ElementType::Float32, &[CastValue::new(ElementType::UInt8).into()]);
    let scaled = bind(ElementType::Int8, &[ScaleOffset::default().scale(100).into()]);
    let failure = |result: Result<Vec<u8>, RunError>| match result.unwrap_err() {
        RunError::Element(error) => error,
        other => panic!("{other}"),
    };
    for (error, reason, named) in [
        (failure(to_byte().encode(&f32::NAN.to_ne_bytes())), Reason::Nan, "scalar_map"),
        (failure(to_byte().encode(&f32::INFINITY.to_ne_bytes())), Reason::Infinite, "scalar_map"),
        (failure(to_byte().encode(&300_f32.to_ne_bytes())), Reason::OutOfRange, "out_of_range"),
        (failure(scaled.encode(&[2])), Reason::Overflow, "scale_offset"),
        (failure(scaled.decode(&[7])), Reason::InexactDivision, "scale_offset"),
    ] {
        assert_eq!(error.reason, reason);
        assert!(advice(&error).contains(named), "{}", advice(&error));
        assert!(!error.to_string().contains(named), "{error}");
    }
}

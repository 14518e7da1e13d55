//! With the feature `serde`: steps are written and read back as they are.
#![cfg(feature = "serde")]

use recast_kernels::{
    Affine, Cast, ElementType, FloatOverflow, OutOfRange, Rounding, Scalar, Step,
};

#[test]
fn steps_are_read_back_as_they_are_written() {
    let cast = Cast::new(ElementType::UInt8)
        .rounding(Rounding::NearestAway)
        .out_of_range(OutOfRange::Clamp)
        .map([(Scalar::from_bits(ElementType::Float32, 0xffc0_0001), 255_u8.into())]);
    let affine = Affine::new(None, Some((-0.5_f32).into())).overflow(FloatOverflow::Infinity);
    let steps = [Step::Scale(affine), Step::Cast(cast), Step::InverseScale(Affine::default())];
    let json = serde_json::to_value(&steps).unwrap();
    let scalar = |element_type: &str, bits: u64| serde_json::json!({"element_type": element_type, "bits": bits});
    let expected = serde_json::json!([
        {"scale": {"offset": null, "scale": scalar("float32", 0xbf00_0000), "overflow": "infinity"}},
        {"cast": {
            "target": "uint8", "rounding": "nearest-away", "out_of_range": "clamp",
            "map": [[scalar("float32", 0xffc0_0001), scalar("uint8", 255)]],
        }},
        {"inverse_scale": {"offset": null, "scale": null, "overflow": "error"}},
    ]);
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_value::<Vec<Step>>(json).unwrap(), steps);
}

#[test]
fn what_is_no_step_says_why() {
    let error = |json: &str| serde_json::from_str::<Scalar>(json).unwrap_err().to_string();
    let bits = error(r#"{"element_type": "uint8", "bits": 256}"#);
    assert!(bits.starts_with("0x100 is not the bits of an element of uint8"), "{bits}");
    let name = error(r#"{"element_type": "uint9", "bits": 0}"#);
    assert!(name.starts_with("\"uint9\" is not one of int2, int4, int8"), "{name}");
}

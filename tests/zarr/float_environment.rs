//! The floating-point environment of the calling thread does not change what numbers in metadata mean.

#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

use serde_json::json;
use zarr_recast::{BindOptions, Chain, ElementType as E, JsonScalar, fill_value};

use crate::environments::{register::ENVIRONMENTS, within};

/// Few digits, which are read by dividing floats; many; a tie; the ends of the ranges of float64 and float32.
const NUMBERS: [&str; 9] = [
    "0.1",
    "0.3",
    "-7e22",
    "123456.789e-3",
    "0.1234567890123456789012345",
    "9007199254740993.5",
    "1.7976931348623157e308",
    "5e-324",
    "1e-45",
];

#[test]
fn scalars_are_read_and_written_the_same_in_every_environment() {
    for number in NUMBERS {
        let all = || {
            let scalar = JsonScalar::from_json(number).expect("a number");
            let types = E::ALL.iter().filter(|one| one.is_float());
            let read = types.map(|&one| fill_value::from_json_str(one, number).map_err(drop));
            let read: Vec<_> = read.collect();
            let written: Vec<_> =
                read.iter().flatten().map(|&one| fill_value::to_json(one).to_string()).collect();
            (read, written, scalar.to_json().to_string())
        };
        let expected = all();
        for environment in ENVIRONMENTS {
            assert_eq!(within(environment, all), Ok(expected.clone()), "{number}, {environment:?}");
        }
    }
}

/// Downwards, 0.1 was `0x3fb9999999999999`, and every element another.
#[test]
fn chains_have_the_same_scale_offset_and_map_in_every_environment() {
    let codecs = json!([
        {"name": "scale_offset", "configuration": {"offset": 0.3, "scale": 0.1}},
        {"name": "cast_value", "configuration": {"data_type": "float32", "scalar_map": {"encode": [[-0.03, 0.9]]}}},
    ])
    .to_string();
    let elements: Vec<u8> = (0..1000).flat_map(|x| (f64::from(x) * 0.37).to_ne_bytes()).collect();
    let encode = || {
        let chain = Chain::from_json("\"float64\"", "0.3", &codecs, &BindOptions::default());
        chain.map(|chain| chain.encoder().run_to_vec(&elements).expect("all pass"))
    };
    let expected = encode().expect("a chain");
    for environment in ENVIRONMENTS {
        let encoded = within(environment, encode).expect("the environment is restored");
        assert!(encoded.expect("a chain") == expected, "{environment:?}");
    }
}

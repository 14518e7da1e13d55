//! Casts, maps, scale and offset without Zarr: a sensor's packets of big-endian `int16` become degrees
//! as `float32`, and degrees become one byte each for a display.
//! `cargo run -p zarr-recast --example custom_chain`

use std::error::Error;

use recast_kernels::{Affine, Cast, ElementType, OutOfRange, Plan};

/// The sensor sends this where it measured nothing.
const NOTHING: i16 = -999;

fn main() -> Result<(), Box<dyn Error>> {
    // Plans are checked and compiled once, and run over any number of slices, by any number of threads.
    let decode = Plan::builder(ElementType::Int16)
        .swap_input_bytes(cfg!(target_endian = "little")) // the packets are big-endian
        .cast(Cast::new(ElementType::Float32).map([(NOTHING.into(), f32::NAN.into())]))
        .inverse_scale(Affine::new(Some((-40.0_f32).into()), Some(16.0_f32.into())))
        .build()?;
    let display = Plan::builder(ElementType::Float32)
        .scale(Affine::new(Some((-20.0_f32).into()), Some(4.0_f32.into())))
        .cast(
            Cast::new(ElementType::UInt8)
                .out_of_range(OutOfRange::Clamp)
                .map([(f32::NAN.into(), 0_u8.into())]),
        )
        .build()?;

    let packet: Vec<u8> =
        [960, NOTHING, 1000, 0].iter().flat_map(|x: &i16| x.to_be_bytes()).collect();
    let degrees = decode.run_to_vec(&packet)?;
    let (elements, _) = degrees.as_chunks();
    let elements: Vec<f32> = elements.iter().map(|&bytes| f32::from_ne_bytes(bytes)).collect();
    println!("degrees: {elements:?}");
    assert_eq!(elements[0], 20.0);
    assert!(elements[1].is_nan());

    let pixels = display.run_to_vec(&degrees)?;
    println!("pixels: {pixels:?}");
    assert_eq!(pixels, [160, 0, 170, 0]);

    // An element that cannot be converted is an error that names it.
    let strict = Plan::builder(ElementType::Float32).cast(Cast::new(ElementType::UInt8)).build()?;
    let error = strict.run_to_vec(&degrees).expect_err("a NaN");
    println!("without a map: {error}");
    Ok(())
}

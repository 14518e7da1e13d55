//! How fast elements are rounded for readers without value codecs, in proportion to `memcpy` of the same bytes.
//!
//!     cargo run --release -p recast-pack --example rounding

use std::hint::black_box;
use std::time::Instant;

use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use recast_pack::{PackOptions, Rounder};

const RUNS: usize = 15;

/// The bytes per second of the fastest of some runs.
fn rate(bytes: usize, mut run: impl FnMut()) -> f64 {
    let seconds = (0..RUNS).map(|_| {
        let begun = Instant::now();
        run();
        begun.elapsed().as_secs_f64()
    });
    bytes as f64 / seconds.fold(f64::INFINITY, f64::min)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let absolute = PackOptions { max_abs_error: Some(0.01), ..PackOptions::default() };
    let relative = PackOptions { max_rel_error: Some(0.001), ..PackOptions::default() };
    println!("| type | bytes | bound | memcpy, GB/s | rounded, GB/s | rounded / memcpy |");
    println!("|---|---|---|---|---|---|");
    for element_type in
        [ElementType::Float16, ElementType::BFloat16, ElementType::Float32, ElementType::Float64]
    {
        let fill = Scalar::zero(element_type);
        let value = |index: u32| -> Vec<u8> {
            let number = 280.0 + f64::from(index).sin() * 30.0;
            let value =
                Scalar::from(number).cast(element_type, Rounding::NearestEven, OutOfRange::Clamp);
            value.unwrap_or(fill).to_ne_bytes()
        };
        let some: Vec<u8> = (0..4096).flat_map(value).collect();
        for length in [64 << 10, 64 << 20] {
            let elements: Vec<u8> = some.iter().copied().cycle().take(length).collect();
            let mut output = vec![0; length];
            let copied =
                rate(length, || black_box(&mut output).copy_from_slice(black_box(&elements)));
            for (name, options) in [("absolute", &absolute), ("relative", &relative)] {
                let rounder = Rounder::new(fill, &[], options)?;
                let rate =
                    rate(length, || rounder.round(black_box(&elements), black_box(&mut output)));
                let (copied, rate) = (copied / 1e9, rate / 1e9);
                let part = rate / copied;
                println!(
                    "| {element_type} | {length} | {name} | {copied:.1} | {rate:.1} | {part:.2} |"
                );
            }
        }
    }
    Ok(())
}

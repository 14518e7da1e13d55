//! Runs one kernel over 65,536 elements, for tools that count instructions (`.ci/codegen.sh`):
//! `run_kernel KERNEL TIMES`; without arguments it lists the kernels.

use recast_kernels::{
    Affine, Cast, ElementType as E, OutOfRange, Plan, PlanBuilder, Rounding, Scalar,
};

const ELEMENTS: usize = 65_536;

fn kernels() -> Vec<(&'static str, PlanBuilder)> {
    let cast = |source, cast| Plan::builder(source).cast(cast);
    let clamp = |target| Cast::new(target).out_of_range(OutOfRange::Clamp);
    let affine = Affine::new(Some((-1.35_f32).into()), Some(2.3_f32.into()));
    let nan_to_0 = [(Scalar::from(f32::NAN), Scalar::from(0_u8))];
    let sentinels = (0..8_u8).map(|i| (Scalar::from(-9999.0 - f32::from(i)), Scalar::from(i)));
    let codes = (0..8_u8).map(|i| (Scalar::from(-9999 - i16::from(i)), Scalar::from(i)));
    let upwards = |target| Cast::new(target).rounding(Rounding::TowardsPositive);
    vec![
        ("int16-uint8", cast(E::Int16, Cast::new(E::UInt8))),
        ("int16-uint8-8-entries", cast(E::Int16, Cast::new(E::UInt8).map(codes))),
        ("int64-uint8", cast(E::Int64, Cast::new(E::UInt8))),
        ("uint8-float32", cast(E::UInt8, Cast::new(E::Float32))),
        ("int64-float32-towards-positive", cast(E::Int64, upwards(E::Float32))),
        ("float64-float32-towards-positive", cast(E::Float64, upwards(E::Float32))),
        ("float32-uint8", cast(E::Float32, Cast::new(E::UInt8))),
        ("float32-uint8-nan-to-0", cast(E::Float32, Cast::new(E::UInt8).map(nan_to_0))),
        ("float32-uint8-8-entries", cast(E::Float32, Cast::new(E::UInt8).map(sentinels))),
        ("float32-int16-clamp", cast(E::Float32, clamp(E::Int16))),
        ("float64-int64", cast(E::Float64, Cast::new(E::Int64))),
        ("float32-float16", cast(E::Float32, Cast::new(E::Float16))),
        ("float16-float32", cast(E::Float16, Cast::new(E::Float32))),
        ("float16-uint8", cast(E::Float16, Cast::new(E::UInt8))),
        ("float32-bfloat16", cast(E::Float32, Cast::new(E::BFloat16))),
        ("float32-bfloat16-towards-positive", cast(E::Float32, upwards(E::BFloat16))),
        ("float64-bfloat16", cast(E::Float64, Cast::new(E::BFloat16))),
        ("int64-bfloat16", cast(E::Int64, Cast::new(E::BFloat16))),
        ("bfloat16-int8", cast(E::BFloat16, Cast::new(E::Int8))),
        ("bfloat16-int64", cast(E::BFloat16, Cast::new(E::Int64))),
        ("float32-float8_e4m3", cast(E::Float32, clamp(E::Float8E4M3))),
        ("float8_e4m3-uint8", cast(E::Float8E4M3, Cast::new(E::UInt8))),
        ("encode-float32-uint8", Plan::builder(E::Float32).scale(affine).cast(Cast::new(E::UInt8))),
        (
            "encode-float32-uint8-clamp-nan-to-0",
            Plan::builder(E::Float32).scale(affine).cast(clamp(E::UInt8).map(nan_to_0)),
        ),
        (
            "decode-uint8-float32",
            Plan::builder(E::UInt8).cast(Cast::new(E::Float32)).inverse_scale(affine),
        ),
    ]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        for (name, _) in kernels() {
            println!("{name}");
        }
        return Ok(());
    };
    let times: usize = arguments.next().ok_or("how many times is missing")?.parse()?;
    let (_, plan) =
        kernels().into_iter().find(|(kernel, _)| *kernel == name).ok_or("no such kernel")?;
    let plan = plan.build()?;
    // Zeros: in range everywhere.
    let input = vec![0; ELEMENTS * plan.source().size()];
    let mut output = vec![0; ELEMENTS * plan.target().size()];
    for _ in 0..times {
        plan.run(&input, &mut output)?;
    }
    Ok(())
}

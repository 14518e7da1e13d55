//! A readable set of kernels on 65,536 elements: `cargo bench --bench kernels`.
//!
//! Throughput is that of the input and the output together, as in `compare`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use recast_kernels::{
    Affine, BuildError, Cast, Element, ElementType as E, OutOfRange, Plan, PlanBuilder, Rounding,
    Scalar,
};

const N: usize = 65_536;

/// From 0 up to 100, in every type: inside every target's range, before and after the scaling.
fn input(source: E) -> Vec<u8> {
    let cast = Cast::new(source).rounding(Rounding::TowardsZero).out_of_range(OutOfRange::Clamp);
    let numbers: Vec<u8> =
        (0..N).flat_map(|i| ((i * 7919 % 10_000) as f64 / 100.0).to_ne_bytes()).collect();
    let mut elements = vec![0; N * source.size()];
    let plan = Plan::builder(E::Float64).cast(cast).build();
    plan.map(|plan| plan.run(&numbers, &mut elements))
        .expect("a cast without a map can be built")
        .expect("numbers up to 100 fit or are clamped");
    elements
}

fn bench(criterion: &mut Criterion, name: &str, plan: PlanBuilder) {
    let plan: Result<Plan, BuildError> = plan.build();
    let plan = plan.expect("the plans of this file can be built");
    let input = input(plan.source());
    let mut output = vec![0; N * plan.target().size()];
    let mut group = criterion.benchmark_group("kernels");
    group.throughput(Throughput::Bytes((input.len() + output.len()) as u64));
    group.bench_function(name, |bencher| {
        bencher.iter(|| plan.run(&input, &mut output).expect("the elements are in range"));
    });
    group.finish();
}

fn affine<T: Element>(offset: T, scale: T) -> Affine {
    Affine::new(Some(offset.into()), Some(scale.into()))
}

fn kernels(criterion: &mut Criterion) {
    let mut cast = |name: &str, source: E, cast: Cast| {
        bench(criterion, name, Plan::builder(source).cast(cast));
    };
    let clamp = |target| Cast::new(target).out_of_range(OutOfRange::Clamp);
    let nan_to_0 = [(Scalar::from(f32::NAN), Scalar::from(0_u8))];

    cast("int16 to uint8", E::Int16, Cast::new(E::UInt8));
    cast("int16 to uint8, clamp", E::Int16, clamp(E::UInt8));
    cast("int16 to uint8, wrap", E::Int16, Cast::new(E::UInt8).out_of_range(OutOfRange::Wrap));
    cast("float32 to uint8", E::Float32, Cast::new(E::UInt8));
    cast("float32 to uint8, clamp", E::Float32, clamp(E::UInt8));
    cast("float32 to uint8, clamp, NaN to 0", E::Float32, clamp(E::UInt8).map(nan_to_0));
    cast(
        "float32 to int16, nearest-away",
        E::Float32,
        Cast::new(E::Int16).rounding(Rounding::NearestAway),
    );
    cast("float64 to int64", E::Float64, Cast::new(E::Int64));
    cast("uint64 to float64", E::UInt64, Cast::new(E::Float64));
    cast("float64 to float32", E::Float64, Cast::new(E::Float32));
    cast("float32 to float16", E::Float32, Cast::new(E::Float16));
    cast("float16 to float32", E::Float16, Cast::new(E::Float32));
    cast("float32 to bfloat16", E::Float32, Cast::new(E::BFloat16));
    cast("float32 to float8_e4m3", E::Float32, clamp(E::Float8E4M3));
    cast("float8_e4m3 to float32", E::Float8E4M3, Cast::new(E::Float32));
    cast("int4 to float32", E::Int4, Cast::new(E::Float32));

    bench(
        criterion,
        "float32 to uint8, scale and offset",
        Plan::builder(E::Float32).scale(affine(-1.35_f32, 2.3)).cast(Cast::new(E::UInt8)),
    );
    bench(
        criterion,
        "uint8 to float32, scale and offset",
        Plan::builder(E::UInt8).cast(Cast::new(E::Float32)).inverse_scale(affine(-1.35_f32, 2.3)),
    );
}

/// One run on one thread, and on as many as the machine has.
fn threads(criterion: &mut Criterion) {
    let plan = Plan::builder(E::Float32).cast(Cast::new(E::UInt8)).build();
    let plan = plan.expect("the plans of this file can be built");
    // For each thread as much as the second-level cache of one core holds.
    let copies = 4 * rayon::current_num_threads();
    let input = input(E::Float32).repeat(copies);
    let mut output = vec![0; N * copies];
    let mut group = criterion.benchmark_group("threads, float32 to uint8");
    group.throughput(Throughput::Bytes((input.len() + output.len()) as u64));
    group.bench_function("one", |bencher| {
        bencher.iter(|| plan.run(&input, &mut output).expect("the elements are in range"));
    });
    group.bench_function("all", |bencher| {
        bencher.iter(|| plan.par_run(&input, &mut output).expect("the elements are in range"));
    });
    group.finish();
}

criterion_group!(benches, kernels, threads);
criterion_main!(benches);

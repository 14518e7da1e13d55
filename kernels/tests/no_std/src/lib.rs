//! What the kernels do without `std`, and without the types that are left out.

#![no_std]
#![cfg(target_arch = "wasm32")]

extern crate alloc;

use alloc::string::ToString;
use alloc::vec::Vec;
use core::panic::PanicInfo;

use recast_kernels::{
    Affine, Cast, ElementType as E, Level, OutOfRange, Plan, Rounding, RunError, Scalar, cast,
};

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

#[link(wasm_import_module = "host")]
unsafe extern "C" {
    /// Takes a line of text.
    safe fn line(text: *const u8, len: usize);
}

fn print(text: &str) {
    line(text.as_ptr(), text.len());
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    print(&info.to_string());
    core::arch::wasm32::unreachable()
}

/// Runs all checks; returns how many there are.
#[unsafe(no_mangle)]
pub extern "C" fn run() -> u32 {
    const CHECKS: [fn(); 5] =
        [level, floats_to_integers, integers_to_floats, left_out_types, long_maps];
    CHECKS.iter().map(|check| check()).count() as u32
}

fn level() {
    assert_eq!(Level::selected(), Level::Scalar);
    assert_eq!(Level::available(), [Level::Scalar]);
    let refused = Plan::builder(E::Int8).level(Level::Avx512).build().unwrap_err();
    let expected =
        "level avx512 is left out of this build; enable the feature avx512 of recast-kernels";
    assert_eq!(refused.to_string(), expected);
}

/// The roundings, of which `core` has none.
fn floats_to_integers() {
    use recast_kernels::Rounding::{
        NearestAway, NearestEven, TowardsNegative, TowardsPositive, TowardsZero,
    };
    let input = [-2.5, -0.75, 0.499_999_97, 1.5, 2.5, 7.0];
    for (rounding, expected) in [
        (NearestEven, [-2, -1, 0, 2, 2, 7]),
        (TowardsZero, [-2, 0, 0, 1, 2, 7]),
        (TowardsPositive, [-2, 0, 1, 2, 3, 7]),
        (TowardsNegative, [-3, -1, 0, 1, 2, 7]),
        (NearestAway, [-3, -1, 0, 2, 3, 7]),
    ] {
        let mut output = [0_i64; 6];
        cast(&input, &mut output, &Cast::new(E::Int64).rounding(rounding)).unwrap();
        assert_eq!(output, expected, "{rounding}");
        let single = input.map(|x| x as f32);
        let mut output = [0_i16; 6];
        cast(&single, &mut output, &Cast::new(E::Int16).rounding(rounding)).unwrap();
        assert_eq!(output.map(i64::from), expected, "{rounding}");
    }
    let error = Plan::builder(E::Float32).cast(Cast::new(E::UInt8)).build().unwrap();
    let error = error.run_to_vec(&300_f32.to_ne_bytes()).unwrap_err();
    let expected =
        "element 0: float32 300.0 is out of range for uint8 (0 to 255); clamp, wrap or map it";
    assert_eq!(error.to_string(), expected);
    let wrapped = Cast::new(E::UInt8).out_of_range(OutOfRange::Wrap);
    let mut output = [0_u8; 2];
    cast(&[-1.0_f64, 1e6], &mut output, &wrapped).unwrap();
    assert_eq!(output, [255, 64]);
}

fn integers_to_floats() {
    let scale = Affine::new(Some((-5.0_f32).into()), Some(10_f32.into()));
    let plan = Plan::builder(E::Int16).cast(Cast::new(E::Float32)).inverse_scale(scale).build().unwrap();
    let decoded = plan.run_to_vec(&15_i16.to_ne_bytes()).unwrap();
    assert_eq!(decoded, (-3.5_f32).to_ne_bytes());
    assert_eq!(Scalar::parse(E::BFloat16, "0.1").unwrap().to_string(), "0.1");
}

fn left_out_types() {
    for (source, target) in [(E::Float8E4M3, E::Float32), (E::Float32, E::Int4)] {
        let refused =
            Plan::builder(source).cast(Cast::new(target)).build().unwrap_err().to_string();
        assert!(refused.contains("enable the feature small-types of recast-kernels"), "{refused}");
    }
    assert_eq!(
        Scalar::from(7.3_f32)
            .cast(E::Int4, Rounding::NearestEven, OutOfRange::Error)
            .unwrap()
            .to_string(),
        "7"
    );
}

/// Whose table has no random seed here.
fn long_maps() {
    let keys: Vec<i64> = (0..20_000_i64).map(|index| index * 0x1_0000_0001).collect();
    let map = keys.iter().map(|&key| (key.into(), ((key % 100) as u8).into()));
    let plan = Plan::builder(E::Int64).cast(Cast::new(E::UInt8).map(map)).build().unwrap();
    let input: Vec<u8> = keys.iter().flat_map(|key| key.to_ne_bytes()).collect();
    let output = plan.run_to_vec(&input).unwrap();
    assert!(output.iter().zip(&keys).all(|(&output, key)| i64::from(output) == key % 100));
    let unknown = plan.run_to_vec(&(-1_i64).to_ne_bytes());
    assert!(matches!(unknown, Err(RunError::Element(_))));
}

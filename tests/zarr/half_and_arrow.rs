//! The statements of `docs/coming_from.md` about the crates `half` and `arrow-cast`.

use recast_kernels::half::f16;
use recast_kernels::half::slice::HalfFloatSliceExt;
use recast_kernels::{Cast, ElementType, OutOfRange, Rounding, cast};

/// Every binary16, what lies halfway to its neighbour, and the float32 on both sides of that.
fn floats() -> Vec<f32> {
    let halves = (0..=u16::MAX).map(f16::from_bits).filter(|x| !x.is_nan());
    let near = |x: f16| {
        let (x, next) = (x.to_f32(), f16::from_bits(x.to_bits() ^ 1).to_f32());
        let middle = f32::midpoint(x, next);
        [x, middle, middle.next_up(), middle.next_down()]
    };
    halves.flat_map(near).filter(|x| !x.is_nan()).collect()
}

#[test]
fn halves_convert_as_half_does_where_it_rounds_once() {
    let floats = floats();
    let (mut ours, mut theirs) = (vec![f16::ZERO; floats.len()], vec![f16::ZERO; floats.len()]);
    let clamp = Cast::new(ElementType::Float16).out_of_range(OutOfRange::Clamp);
    cast(&floats, &mut ours, &clamp).unwrap();
    theirs.convert_from_f32_slice(&floats);
    for ((x, ours), theirs) in floats.iter().zip(&ours).zip(&theirs) {
        assert_eq!(ours.to_bits(), theirs.to_bits(), "{x}");
    }
    let (mut wide, mut their_wide) = (vec![0.0; ours.len()], vec![0.0; ours.len()]);
    cast(&ours, &mut wide, &Cast::new(ElementType::Float32)).unwrap();
    ours.convert_to_f32_slice(&mut their_wide);
    assert_eq!(wide, their_wide);
    assert!(cast(&[65_520.0_f32], &mut [f16::ZERO], &Cast::new(ElementType::Float16)).is_err());
}

#[test]
fn arrow_drops_fractions_which_is_towards_zero() {
    let (input, mut output) = ([2.7_f64, -2.7, 255.9, 0.5], [0_i16; 4]);
    let cast_to = Cast::new(ElementType::Int16);
    cast(&input, &mut output, &cast_to.clone().rounding(Rounding::TowardsZero)).unwrap();
    assert_eq!(output, input.map(|x| x as i16));
    cast(&input, &mut output, &cast_to).unwrap();
    assert_eq!(output, [3, -3, 256, 0]);
}

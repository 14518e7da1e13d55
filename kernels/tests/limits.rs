//! Floats next to the limits of integers, on every level. The expected result is computed here, from the values alone.

use recast_kernels::{Cast, ElementType, Level, OutOfRange, Plan, Rounding, Scalar};

/// `x` as a whole number.
fn rounded(x: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::NearestEven => x.round_ties_even(),
        Rounding::NearestAway => x.round(),
        Rounding::TowardsZero => x.trunc(),
        Rounding::TowardsPositive => x.ceil(),
        Rounding::TowardsNegative => x.floor(),
        _ => unreachable!("another rounding"),
    }
}

/// Finite elements of `source` next to where a rounding leaves the range of `target`.
fn next_to_limits(source: ElementType, target: ElementType) -> Vec<Scalar> {
    let (min, max) = (Scalar::min(target).to_f64(), Scalar::max(target).to_f64());
    let mut elements = Vec::new();
    for limit in [min - 1.0, min - 0.5, min, max, max + 0.5, max + 1.0] {
        let nearest = Scalar::from(limit).cast(source, Rounding::TowardsZero, OutOfRange::Clamp);
        let Ok(nearest) = nearest else { continue };
        let every = u64::MAX >> (64 - source.bits());
        elements.extend((-2..=2).map(|step| {
            Scalar::from_bits(source, nearest.bits().wrapping_add_signed(step) & every)
        }));
    }
    elements.retain(|element| element.to_f64().is_finite());
    elements
}

/// Casts so many copies of an element that vectors and what is left over both see it.
fn is_accepted(plan: &Plan, element: Scalar) -> bool {
    const ELEMENTS: usize = 65;
    plan.run_to_vec(&element.to_ne_bytes().repeat(ELEMENTS)).is_ok()
}

#[test]
fn the_last_float_within_the_limits_of_an_integer_is_cast_and_the_next_is_an_error_in_every_rounding()
 {
    let is_float = |element_type: &&ElementType| element_type.is_float();
    for &source in ElementType::ALL.iter().filter(is_float) {
        for &target in ElementType::ALL.iter().filter(|target| target.is_integer()) {
            let (min, max) = (Scalar::min(target).to_f64(), Scalar::max(target).to_f64());
            // The greatest of 64 bits are no float64; they round to a power of two, which is out of range.
            let is_in_range =
                |x: f64| min <= x && if target.size() == 8 { x < max } else { x <= max };
            let elements = next_to_limits(source, target);
            for &rounding in Rounding::ALL {
                for level in Level::ALL.iter().copied().filter(|level| level.is_available()) {
                    let cast = Cast::new(target).rounding(rounding);
                    let plan = Plan::builder(source).cast(cast).level(level).build();
                    let plan = plan.expect("a plan");
                    for &element in &elements {
                        let expected = is_in_range(rounded(element.to_f64(), rounding));
                        assert_eq!(
                            is_accepted(&plan, element),
                            expected,
                            "{source} {element} to {target}, {rounding}, level {level}"
                        );
                    }
                }
            }
        }
    }
}

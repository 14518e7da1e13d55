//! Every output of a map comes out as it stands in the map: outputs of every magnitude, whose substitute in the loop of a
//! cast passes through conversions that are made for the source's own values.

mod differential;
mod oracle;

use recast_kernels::{Cast, ElementType, Level, OutOfRange, Plan, Rounding, Scalar};

use differential::{casts, in_parallel, pairs};
use oracle::edges::Random;

/// Numbers around the powers of two, the ends of the type, and its special values.
fn outputs(target: ElementType) -> Vec<Scalar> {
    let near = |value: Scalar| {
        value.cast(target, Rounding::TowardsZero, OutOfRange::Clamp).unwrap_or(Scalar::max(target))
    };
    let integers = (0..64).flat_map(|power| (-3..=3).map(move |step| (1_i128 << power) + step));
    let mut outputs: Vec<Scalar> = integers
        .flat_map(|x| [x, -x])
        .filter_map(|x| {
            u64::try_from(x).map(Scalar::from).or(i64::try_from(x).map(Scalar::from)).ok()
        })
        .map(near)
        .collect();
    outputs.extend(
        (-3..=3)
            .map(|step| Scalar::max(target).bits().wrapping_add_signed(step))
            .map(|bits| Scalar::from_bits(target, bits)),
    );
    if target.is_float() {
        let powers = (-140..130).map(|power| 2_f64.powi(power));
        outputs.extend(powers.flat_map(|x| [x, -x]).map(|x| near(x.into())));
        outputs.extend([Scalar::nan(target), Scalar::infinity(target, true)].into_iter().flatten());
    }
    outputs.sort_unstable_by_key(|output| output.bits());
    outputs.dedup();
    outputs
}

/// A key of each kind that loops have a place for.
fn keys(source: ElementType) -> Vec<Scalar> {
    let near = |value: f64| {
        Scalar::from(value).cast(source, Rounding::TowardsZero, OutOfRange::Clamp).ok()
    };
    [Scalar::nan(source), near(3.0), Some(Scalar::min(source))].into_iter().flatten().collect()
}

/// Maps one key to `output`, and compares.
fn check(level: Level, key: Scalar, cast: &Cast, output: Scalar) -> Result<u64, String> {
    const ELEMENTS: usize = 65;
    let source = key.element_type();
    let cast = cast.clone().map([(key, output)]);
    let plan = Plan::builder(source).cast(cast.clone()).level(level).build();
    let plan = plan.map_err(|error| error.to_string())?;
    let mut found = vec![0; ELEMENTS * cast.target.size()];
    let result = plan.run(&key.to_ne_bytes().repeat(ELEMENTS), &mut found);
    let expected = output.to_ne_bytes().repeat(ELEMENTS);
    if result.is_ok() && found == expected {
        return Ok(ELEMENTS as u64);
    }
    let found = Scalar::from_ne_bytes(cast.target, &found[..cast.target.size()]);
    Err(format!("{level}, {source}, {cast:?}: {result:?}, found {found:?}"))
}

#[test]
fn every_output_of_a_map_comes_out_as_it_is() {
    let all: Vec<Vec<Scalar>> = ElementType::ALL.iter().copied().map(outputs).collect();
    in_parallel(&pairs(), |&(source, target)| {
        let mut random = Random::new(source as u64 * 100 + target as u64);
        let outputs = &all[target as usize];
        // All outputs where a key joins the loops of wide types; else so many that each meets most casts.
        let is_wide = source.size() > 1 && source.is_float() && target.is_integer();
        let mut count = 0;
        for level in Level::available() {
            for cast in casts(target) {
                for key in keys(source) {
                    let step = if is_wide && key.is_nan() { 1 } else { outputs.len().div_ceil(16) };
                    let outputs = outputs.iter().skip(random.below(step)).step_by(step);
                    for output in outputs {
                        count += check(level, key, &cast, *output)?;
                    }
                }
            }
        }
        Ok(count)
    });
}

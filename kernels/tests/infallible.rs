//! `Plan::is_infallible` is a promise that the reference keeps for every element.

mod oracle;

use recast_kernels::{
    Affine, Cast, ElementType, FloatOverflow, OutOfRange, Plan, PlanBuilder, Rounding, Scalar,
    Step, reference,
};

use oracle::edges::Random;

/// Whether the steps can be built, and if so whether they claim that no element fails.
fn claims(source: ElementType, steps: &[Step]) -> Option<bool> {
    let builder = steps.iter().cloned().fold(Plan::builder(source), PlanBuilder::step);
    builder.build().ok().map(|plan| plan.is_infallible())
}

/// Every value of a type of up to 16 bits; each `stride`th.
fn values(element_type: ElementType, stride: usize) -> impl Iterator<Item = Scalar> {
    let last = (1_u64 << element_type.bits()) - 1;
    let all = (0..=last).step_by(stride).chain([last]);
    all.map(move |bits| Scalar::from_bits(element_type, bits))
}

fn succeeds(value: Scalar, steps: &[Step]) -> bool {
    reference::run(value, steps, 0).is_ok()
}

#[test]
fn a_cast_without_a_map_is_infallible_if_and_only_if_no_value_fails() {
    let sources = ElementType::ALL.iter().copied().filter(|source| source.bits() <= 8);
    for (source, target) in
        sources.flat_map(|source| ElementType::ALL.iter().map(move |target| (source, *target)))
    {
        for rounding in Rounding::ALL.iter().copied() {
            for mode in OutOfRange::ALL.iter().copied() {
                let steps = [Step::Cast(Cast::new(target).rounding(rounding).out_of_range(mode))];
                let Some(claimed) = claims(source, &steps) else { continue };
                let kept = values(source, 1).all(|value| succeeds(value, &steps));
                // Nothing is promised of a type without zero and signs.
                let known = target != ElementType::Float8E8M0Fnu || source == target;
                assert_eq!(claimed, kept && known, "{source} {steps:?}");
            }
        }
    }
}

#[test]
fn chains_that_are_called_infallible_never_fail() {
    let mut random = Random::new(7);
    let mut claimed = 0;
    for _ in 0..20_000 {
        let source = *random.pick(ElementType::ALL);
        if source.bits() > 16 {
            continue;
        }
        let mut reached = source;
        let steps: Vec<Step> =
            (0..=random.below(3)).map(|_| step(&mut random, &mut reached)).collect();
        if claims(source, &steps) == Some(true) {
            claimed += 1;
            let stride = if source.bits() == 16 { 17 } else { 1 };
            for value in values(source, stride) {
                let result = reference::run(value, &steps, 0);
                assert!(result.is_ok(), "{result:?} of {source} {steps:?}");
            }
        }
    }
    assert!(claimed > 1_000, "only {claimed} chains were called infallible");
}

/// A step whose parameters are likely to fit, with its map.
fn step(random: &mut Random, reached: &mut ElementType) -> Step {
    let source = *reached;
    let any = |random: &mut Random, element_type: ElementType| match random.below(4) {
        0 => Scalar::min(element_type),
        1 => Scalar::max(element_type),
        2 => Scalar::nan(element_type).unwrap_or(Scalar::from_bits(element_type, 1)),
        _ => Scalar::from_bits(element_type, random.bits()),
    };
    if random.below(3) == 0 {
        let one = Scalar::from(1_u8).cast(source, Rounding::NearestEven, OutOfRange::Error).ok();
        let scale = if random.below(2) == 0 { one } else { Some(any(random, source)) };
        let offset = (random.below(2) == 0).then(|| any(random, source));
        let overflow = *random.pick(FloatOverflow::ALL);
        let parameters = Affine::new(offset, scale).overflow(overflow);
        return if random.below(2) == 0 {
            Step::Scale(parameters)
        } else {
            Step::InverseScale(parameters)
        };
    }
    let target = *random.pick(ElementType::ALL);
    *reached = target;
    let specials =
        [Scalar::nan(source), Scalar::infinity(source, false), Scalar::infinity(source, true)];
    let keys = specials.into_iter().flatten().chain([any(random, source)]);
    let mut map = Vec::new();
    for key in keys.collect::<Vec<_>>() {
        if random.below(4) > 0 {
            map.push((key, any(random, target)));
        }
    }
    Step::Cast(
        Cast::new(target)
            .rounding(*random.pick(Rounding::ALL))
            .out_of_range(*random.pick(&[OutOfRange::Clamp, OutOfRange::Wrap, OutOfRange::Error]))
            .map(map),
    )
}

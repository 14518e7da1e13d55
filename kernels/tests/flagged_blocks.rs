//! A block in which kernels leave a few elements to the reference is what the reference makes of each of
//! its elements, and of several failing elements the first is named, wherever they are.

mod differential;
mod oracle;

use recast_kernels::{
    Affine, Cast, CastError, ElementType as E, Level, OutOfRange, Plan, PlanBuilder, Rounding,
    RunError, Scalar, Step, reference,
};

use differential::push;
use oracle::edges::Random;

/// Several blocks, and no multiple of any piece of one.
const ELEMENTS: usize = 150_007;

/// On both sides of the ends of blocks and of their pieces, and elsewhere.
fn positions(random: &mut Random) -> Vec<usize> {
    let ends = [64, 128, 512, 1024, 2048, 4096, 8192, 32_768, 65_536, 98_304, ELEMENTS];
    let mut positions: Vec<usize> = ends.into_iter().flat_map(|end| [end - 1, end]).collect();
    positions.extend((0..20).map(|_| random.below(ELEMENTS)));
    positions.push(0);
    positions.retain(|&position| position < ELEMENTS);
    positions.sort_unstable();
    positions.dedup();
    positions
}

/// Steps in which a finite element may overflow, an error, and infinite ones pass: a kernel that does not
/// tell them apart leaves both to a second one, or to the reference.
fn chains() -> Vec<(E, Vec<Step>)> {
    let chain = |source: E, casts: &[Cast]| {
        let scale = Scalar::from(4_u8).cast(source, <_>::default(), OutOfRange::Error).ok();
        let scale = Step::Scale(Affine::new(None, scale));
        (source, [scale].into_iter().chain(casts.iter().cloned().map(Step::Cast)).collect())
    };
    let clamp = |target| Cast::new(target).out_of_range(OutOfRange::Clamp);
    let narrower = [
        (E::Float64, E::Float32),
        (E::Float64, E::Float16),
        (E::Float64, E::BFloat16),
        (E::Float64, E::Float8E5M2),
        (E::Float32, E::Float16),
        (E::Float32, E::BFloat16),
        (E::Float32, E::Float8E4M3),
        (E::BFloat16, E::Float16),
        (E::Float16, E::Float8E5M2),
    ];
    let narrowing = narrower.into_iter().flat_map(|(source, target)| {
        [Rounding::NearestEven, Rounding::TowardsZero, Rounding::TowardsPositive]
            .map(|rounding| (source, vec![Step::Cast(Cast::new(target).rounding(rounding))]))
    });
    let scaled = vec![
        chain(E::Float32, &[]),
        chain(E::Float64, &[]),
        chain(E::Float16, &[]),
        chain(E::Float32, &[Cast::new(E::Float64)]),
        chain(E::Float64, &[clamp(E::Float32), clamp(E::Float16)]),
        chain(E::Float32, &[clamp(E::Float8E5M2)]),
    ];
    scaled.into_iter().chain(narrowing).collect()
}

/// Elements of few bits that all types of the chains have, and that stay in range.
const ORDINARY: usize = 100;

/// The reference's results, up to the first error.
fn expected(source: E, steps: &[Step], elements: &[u64]) -> Result<Vec<u8>, CastError> {
    let mut bytes = Vec::new();
    for (index, &bits) in elements.iter().enumerate() {
        let result = reference::run(Scalar::from_bits(source, bits), steps, index)?;
        push(&mut bytes, result.element_type(), result.bits(), false);
    }
    Ok(bytes)
}

fn run(level: Level, source: E, steps: &[Step], elements: &[u64]) -> Result<Vec<u8>, CastError> {
    let builder = steps.iter().cloned().fold(Plan::builder(source), PlanBuilder::step);
    let plan = builder.level(level).build().expect("a plan");
    let mut input = Vec::new();
    for &bits in elements {
        push(&mut input, source, bits, false);
    }
    plan.run_to_vec(&input).map_err(|error| match error {
        RunError::Element(error) => error,
        other => panic!("{other}"),
    })
}

fn ordinary(source: E) -> Vec<u64> {
    let element = |index: usize| Scalar::from((index % ORDINARY) as f32 / 8.0);
    (0..ELEMENTS)
        .map(|index| element(index).cast(source, <_>::default(), OutOfRange::Clamp))
        .map(|element| element.map_or(0, Scalar::bits))
        .collect()
}

fn infinity(source: E) -> u64 {
    Scalar::infinity(source, true).map_or(0, Scalar::bits)
}

#[test]
fn sparse_infinite_elements_pass_among_others() {
    for (source, steps) in chains() {
        let mut elements = ordinary(source);
        for position in positions(&mut Random::new(1)) {
            elements[position] = infinity(source);
        }
        let expected = expected(source, &steps, &elements);
        assert!(expected.is_ok(), "{steps:?}");
        for level in Level::available() {
            assert!(run(level, source, &steps, &elements) == expected, "{level}, {steps:?}");
        }
    }
}

#[test]
fn sparse_great_elements_are_clamped_and_wrapped_among_others() {
    let great: [f64; 8] = [3e9, -3e9, 2_147_483_648.0, -2_147_483_648.0, 5e14, -5e14, 1e19, -1e30];
    let floats = [E::Float32, E::Float64];
    let integers = [E::UInt8, E::Int16, E::UInt32, E::Int32, E::UInt64, E::Int64];
    let modes = [OutOfRange::Clamp, OutOfRange::Wrap];
    let to_integers = floats.map(|source| (source, &integers[..], &modes[..]));
    let narrower = [E::Float16, E::BFloat16, E::Float32];
    let from_integers = [E::Int64, E::UInt64].map(|source| (source, &narrower[..], &modes[..1]));
    for (source, targets, modes) in to_integers.into_iter().chain(from_integers) {
        let mut elements = ordinary(source);
        for (position, great) in
            positions(&mut Random::new(3)).into_iter().zip(great.iter().cycle())
        {
            let great = Scalar::from(*great).cast(source, <_>::default(), OutOfRange::Clamp);
            elements[position] = great.expect("a number").bits();
        }
        for target in targets {
            for out_of_range in modes {
                let steps = [Step::Cast(Cast::new(*target).out_of_range(*out_of_range))];
                let expected = expected(source, &steps, &elements);
                assert!(expected.is_ok(), "{steps:?}");
                for level in Level::available() {
                    assert!(
                        run(level, source, &steps, &elements) == expected,
                        "{level}, {steps:?}"
                    );
                }
            }
        }
    }
}

/// Elements around the greatest value of the target, the next power of two, and halfway between them, of both signs.
fn beside_the_ends(source: E, target: E) -> Vec<u64> {
    let max = Scalar::max(target).to_f64();
    let unit = max - Scalar::from_bits(target, target.max_bits() - 1).to_f64();
    let around = |value: f64| {
        let element = Scalar::from(value).cast(source, <_>::default(), OutOfRange::Clamp);
        let bits = element.map_or(0, Scalar::bits);
        (-2..=2).map(move |step| bits.wrapping_add_signed(step))
    };
    let ends = [max, max + unit / 2.0, max + unit];
    ends.into_iter().flat_map(|end| [end, -end]).flat_map(around).collect()
}

#[test]
fn elements_beside_the_ends_of_the_range_pass_or_fail_among_infinite_ones() {
    let (mut passed, mut failed) = (0, 0);
    for (source, steps) in chains() {
        let [Step::Cast(cast)] = &steps[..] else { continue };
        let mut elements = ordinary(source);
        elements.truncate(5000);
        elements[4321] = infinity(source);
        for element in beside_the_ends(source, cast.target) {
            elements[4444] = element;
            let expected = expected(source, &steps, &elements);
            if expected.is_ok() {
                passed += 1;
            } else {
                failed += 1;
            }
            for level in Level::available() {
                let found = run(level, source, &steps, &elements);
                assert!(found == expected, "{level}, {element:#x}, {steps:?}");
            }
        }
    }
    assert!(passed > 300 && failed > 200, "{passed} and {failed}");
}

#[test]
fn infinite_elements_alone_pass() {
    for (source, steps) in chains() {
        let elements = vec![infinity(source); ELEMENTS];
        let expected = expected(source, &steps, &elements);
        for level in Level::available() {
            assert!(run(level, source, &steps, &elements) == expected, "{level}, {steps:?}");
        }
    }
}

#[test]
fn the_first_of_several_failing_elements_is_named_wherever_it_is() {
    let mut random = Random::new(2);
    for (source, steps) in chains() {
        let overflows = source.max_bits();
        // float32's greatest value, rounded towards zero, is that of bfloat16.
        if reference::run(Scalar::max(source), &steps, 0).is_ok() {
            continue;
        }
        let ordinary = ordinary(source);
        for position in positions(&mut random) {
            let mut elements = ordinary.clone();
            for _ in 0..8 {
                elements[random.below(ELEMENTS)] = infinity(source);
            }
            // A later one that fails, too, and one that fails in the same piece.
            elements[position + random.below(ELEMENTS - position)] = overflows;
            elements[(position + 1).min(ELEMENTS - 1)] = overflows;
            elements[position] = overflows;
            let fails = |bits| reference::run(Scalar::from_bits(source, bits), &steps, position);
            let expected = fails(overflows).expect_err("the greatest value overflows");
            for level in Level::available() {
                let result = run(level, source, &steps, &elements);
                assert_eq!(result.err(), Some(expected), "{level}, {position}, {steps:?}");
            }
        }
    }
}

#[test]
fn a_run_past_the_caches_passes_over_sparse_ones_too() {
    // More than 64 MiB of output.
    const MANY: usize = 8_500_000;
    let steps = &chains()[3].1;
    let builder = steps.iter().cloned().fold(Plan::builder(E::Float32), PlanBuilder::step);
    let plan = builder.build().expect("a plan");
    let value = |index: usize| match index % 70_001 {
        70_000 => f32::INFINITY,
        other => other as f32,
    };
    let input: Vec<f32> = (0..MANY).map(value).collect();
    let output = plan.run_to_vec(bytemuck::cast_slice(&input)).expect("infinity passes");
    let expected = input.iter().flat_map(|x| (f64::from(*x) * 4.0).to_ne_bytes());
    assert!(output.into_iter().eq(expected));
    let mut input = input;
    for index in [8_000_001, 7_000_003] {
        input[index] = f32::MAX;
        match plan.run_to_vec(bytemuck::cast_slice(&input)) {
            Err(RunError::Element(error)) => assert_eq!(error.index, index),
            other => panic!("{:?}", other.map(|output| output.len())),
        }
    }
}

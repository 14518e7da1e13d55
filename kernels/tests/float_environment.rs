//! The floating-point environment of the calling thread changes no result, and is the same afterwards.
//!
//! Libraries compiled with fast-math flush subnormals in the threads that load them, and C programs may
//! round in another direction: a plan that is built and run there gives the bits, and the errors, of the
//! default environment.

#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

mod differential;
mod environments;
mod oracle;

use recast_kernels::{
    Affine, Cast, CastError, ElementType as E, FloatOverflow, Level, OutOfRange, Plan, PlanBuilder,
    Rounding, RunError, Scalar, Step, cast, reference,
};

use differential::{Check, casts, in_parallel, pairs, push};
use environments::{register, within};
use oracle::edges::{Random, edges};

/// Elements that pass, with what they give, and some that fail.
struct Sample {
    source: E,
    target: E,
    input: Vec<u8>,
    output: Vec<u8>,
    failing: Vec<(u64, CastError)>,
}

impl Sample {
    /// What the reference gives in the default environment.
    fn new(source: E, target: E, steps: &[Step], elements: &[u64]) -> Self {
        let (mut input, mut output, mut failing) = (Vec::new(), Vec::new(), Vec::new());
        for &bits in elements {
            match reference::run(Scalar::from_bits(source, bits), steps, 0) {
                Ok(result) => {
                    push(&mut input, source, bits, false);
                    push(&mut output, target, result.bits(), false);
                }
                Err(error) => failing.push((bits, error)),
            }
        }
        failing.dedup_by_key(|(_, error)| (error.step, error.reason));
        Self { source, target, input, output, failing }
    }

    /// Builds and runs the steps in every environment.
    fn check(&self, level: Level, steps: &[Step]) -> Check {
        let mut count = 0;
        for environment in register::ENVIRONMENTS {
            let (plan, result) = within(environment, || {
                let builder =
                    steps.iter().cloned().fold(Plan::builder(self.source), PlanBuilder::step);
                let plan = builder.level(level).build().expect("a plan that can be built");
                let mut output = vec![0; self.output.len()];
                let result = plan.run(&self.input, &mut output).map(|()| output);
                (plan, result)
            })?;
            let wrong = |what: String| {
                Err(format!("{}, {level}, {}, {steps:?}: {what}", environment.0, self.source))
            };
            match result {
                Ok(output) if output == self.output => count += self.input.len(),
                Ok(output) => return wrong(self.difference(&output)),
                Err(error) => return wrong(error.to_string()),
            }
            for (bits, expected) in &self.failing {
                let mut input = self.input.clone();
                let index = input.len() / self.source.size();
                push(&mut input, self.source, *bits, false);
                let mut output = vec![0; self.output.len() + self.target.size()];
                let result = within(environment, || plan.run(&input, &mut output))?;
                let mut expected = *expected;
                expected.index = index;
                if result != Err(RunError::Element(expected)) {
                    return wrong(format!("{result:?} instead of {expected:?}"));
                }
            }
        }
        Ok(count as u64)
    }

    fn difference(&self, output: &[u8]) -> String {
        let size = self.target.size();
        let outputs = output.chunks(size).zip(self.output.chunks(size));
        let inputs = self.input.chunks(self.source.size());
        inputs.zip(outputs).find(|(_, (found, expected))| found != expected).map_or_else(
            String::new,
            |(input, (found, expected))| {
                format!("{input:02x?} gives {found:02x?} instead of {expected:02x?}")
            },
        )
    }
}

fn near(value: impl Into<Scalar>, target: E) -> Scalar {
    let value = value.into().cast(target, Rounding::TowardsZero, OutOfRange::Clamp);
    value.unwrap_or(Scalar::zero(target))
}

/// All elements of a narrow type; of a wide one some edges, and subnormals.
fn elements(source: E) -> Vec<u64> {
    let all = edges(source);
    let mut elements: Vec<u64> = all.iter().step_by(all.len() / 400 + 1).copied().collect();
    if source.size() > 1 && source.is_float() {
        let sign = 1 << (source.bits() - 1);
        let subnormal = source.max_bits().count_ones().min(source.bits()) - 3;
        let subnormals = (0..subnormal).map(|bit| 1_u64 << bit).chain([3, 5, 0x2a, 0]);
        elements.extend(subnormals.flat_map(|bits| [bits, bits | sign]));
        // What is subnormal in the narrower types.
        elements.extend((0..1060).step_by(3).flat_map(|halvings| {
            let value = 1.37 * 2_f64.powi(-halvings);
            [near(value, source).bits(), near(-value, source).bits()]
        }));
        elements.extend((0..100).map(|halves| near(f64::from(halves) / 2.0 - 20.0, source).bits()));
    }
    elements
}

#[test]
fn casts_of_all_pairs_with_and_without_a_map_give_the_same_in_every_environment() {
    let all: Vec<Vec<u64>> = E::ALL.iter().copied().map(elements).collect();
    let count = in_parallel(&pairs(), |&(source, target)| {
        let zero = (Scalar::zero(source), Scalar::max(target));
        let many = (1..12_u8).map(|key| (near(key, source), Scalar::min(target)));
        let maps = [vec![], vec![zero], [zero].into_iter().chain(many).collect()];
        let mut count = 0;
        for cast in casts(target) {
            for map in &maps {
                let steps = [Step::Cast(cast.clone().map(map.iter().copied()))];
                let sample = Sample::new(source, target, &steps, &all[source as usize]);
                for level in Level::available() {
                    count += sample.check(level, &steps)?;
                }
            }
        }
        Ok(count)
    });
    assert!(count > 10_000_000 / differential::stride() as u64);
}

#[test]
fn scale_and_offset_alone_and_before_a_cast_give_the_same_in_every_environment() {
    let floats: Vec<E> = E::ALL.iter().copied().filter(|source| source.is_float()).collect();
    let all: Vec<Vec<u64>> = E::ALL.iter().copied().map(elements).collect();
    let count = in_parallel(&floats, |&source| {
        let parameters = |offset: Option<f64>, scale: Option<f64>| {
            let offset = offset.map(|offset| near(offset, source));
            let scale = scale.map(|scale| near(scale, source)).filter(|scale| !scale.is_zero());
            Affine::new(offset, scale).overflow(FloatOverflow::Infinity)
        };
        let mut count = 0;
        for parameters in [
            parameters(Some(0.3), Some(10.0)),
            parameters(None, Some(3e-39)),
            parameters(Some(1e-40), None),
            parameters(Some(1e-310), Some(0.7)),
        ] {
            for step in [Step::Scale(parameters), Step::InverseScale(parameters)] {
                let targets = [source, E::UInt8, E::Int16, E::Float16, E::Float8E4M3, E::Float64];
                for target in targets {
                    let cast = Cast::new(target).out_of_range(OutOfRange::Clamp);
                    let steps = [step.clone(), Step::Cast(cast)];
                    let steps = &steps[..if target == source { 1 } else { 2 }];
                    let sample = Sample::new(source, target, steps, &all[source as usize]);
                    for level in Level::available() {
                        count += sample.check(level, steps)?;
                    }
                }
            }
        }
        Ok(count)
    });
    assert!(count > 1_000_000 / differential::stride() as u64);
}

#[test]
fn every_way_to_run_gives_the_same_in_every_environment() {
    // A third of the smallest normal number, and what is inexact.
    let input: Vec<f32> = (0..5000_u16).map(|x| f32::from(x) * 0.1 * f32::MIN_POSITIVE).collect();
    let scale = Affine::new(None, Some(0.5_f32.into()));
    let plan = || Plan::builder(E::Float32).scale(scale).build().expect("a plan");
    let bytes: &[u8] = bytemuck::cast_slice(&input);
    let expected: Vec<u8> = input.iter().flat_map(|x| (x * 0.5).to_ne_bytes()).collect();
    let doubles: Vec<f64> = input.iter().map(|&x| f64::from(x)).collect();
    for environment in register::ENVIRONMENTS {
        let result = within(environment, || {
            let to_vec = plan().run_to_vec(bytes);
            let mut in_place = bytes.to_vec();
            let ran = plan().run_in_place(&mut in_place);
            let mut widened = vec![0.0_f64; input.len()];
            let typed = cast(&input, &mut widened, &Cast::new(E::Float64));
            (to_vec, ran.map(|()| in_place), typed, widened)
        });
        let (to_vec, in_place, typed, widened) = result.expect("the environment is restored");
        assert!(to_vec.as_ref() == Ok(&expected), "{environment:?}");
        assert!(in_place.as_ref() == Ok(&expected), "{environment:?}");
        assert_eq!(typed, Ok(()), "{environment:?}");
        // Compared as bits: comparing floats may trap.
        assert!(widened.iter().zip(&doubles).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}

#[cfg(feature = "rayon")]
#[test]
fn threads_with_another_environment_give_the_same() {
    let input: Vec<u8> = (0..200_000_u32).flat_map(u32::to_ne_bytes).collect();
    let cast = Cast::new(E::Float64).map([(0_f32.into(), 7_f64.into())]);
    let plan = Plan::builder(E::Float32).cast(cast).build().expect("a plan");
    let expected = plan.run_to_vec(&input).expect("every element passes");
    for (_, environment) in register::ENVIRONMENTS {
        // SAFETY: the threads run nothing but rayon and this crate.
        let start = move |_| unsafe { register::write(environment) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).start_handler(start);
        let pool = pool.build().expect("threads can be started");
        let mut output = vec![0; expected.len()];
        let result = pool.install(|| plan.par_run(&input, &mut output));
        assert_eq!(result, Ok(()));
        assert!(output == expected, "{environment:#x}");
        let left = pool.broadcast(|_| register::read());
        assert!(left.iter().all(|left| (left ^ environment) & !register::STATUS == 0));
    }
}

#[test]
fn the_reference_gives_the_same_in_every_environment() {
    let mut random = Random::new(7);
    for source in E::ALL.iter().copied().filter(|source| source.is_float()) {
        let (offset, scale) = (near(1e-40, source), near(0.7, source));
        let parameters = Affine::new(Some(offset), Some(scale)).overflow(FloatOverflow::Infinity);
        let target = *random.pick(E::ALL);
        for bits in elements(source) {
            let value = Scalar::from_bits(source, bits);
            let all = || {
                (
                    reference::scale(value, &parameters),
                    reference::unscale(value, &parameters),
                    value.cast(target, Rounding::NearestEven, OutOfRange::Clamp),
                    value.is_zero(),
                    value.to_f64().to_bits(),
                )
            };
            let expected = all();
            for environment in register::ENVIRONMENTS {
                assert_eq!(within(environment, all), Ok(expected), "{value:?}, {environment:?}");
            }
        }
    }
}

#[test]
fn the_text_of_a_value_is_the_same_in_every_environment() {
    for source in E::ALL.iter().copied().filter(|source| source.is_float()) {
        for bits in elements(source) {
            let value = Scalar::from_bits(source, bits);
            let expected = value.to_string();
            for environment in register::ENVIRONMENTS {
                let text = within(environment, || value.to_string());
                assert_eq!(text.as_ref(), Ok(&expected), "{environment:?}");
            }
        }
    }
}

#[test]
fn the_value_of_a_text_is_the_same_in_every_environment() {
    // Few digits, which are read by dividing floats; many; a tie; the least subnormals.
    let texts =
        ["0.3", "1e-5", "-7e22", "0.1234567890123456789012345", "16777217", "5e-324", "1e-45"];
    for target in E::ALL.iter().copied().filter(|target| target.is_float()) {
        for text in texts {
            let expected = Scalar::parse(target, text);
            for environment in register::ENVIRONMENTS {
                let read = within(environment, || Scalar::parse(target, text));
                assert_eq!(read.as_ref(), Ok(&expected), "{text} as {target}, {environment:?}");
            }
        }
    }
}

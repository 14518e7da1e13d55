//! A plan gives, on every level that this CPU has, what the one-element reference gives: the same
//! bits, and the same first error. The level stands in the test's name.

mod differential;
mod oracle;

use std::mem::MaybeUninit;
use std::thread;

use recast_kernels::{
    Affine, BuildError, Cast, CastError, ElementType, FloatOverflow, Level, OutOfRange, Plan,
    Reason, Rounding, RunError, Scalar, Step, reference,
};

use differential::{Check, GUARD, PER_THOUSAND, Subject, casts, in_parallel, pairs, stride};
use oracle::edges::{Random, edges};

/// Around the lengths of vectors, of tails and of likely blocks.
const LENGTHS: [usize; 19] =
    [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 255, 256, 257, 511, 513, 1024, 1100];

/// The tests of one level. A level that this CPU lacks has nothing to test; one that has no line
/// below is found by `every_level_of_this_cpu_is_tested`.
macro_rules! on_levels {
    ($($level:ident)*) => {
        const LEVELS: &[&str] = &[$(stringify!($level)),*];

        $(mod $level {
            fn level() -> Option<super::Level> {
                super::level_of_this_cpu(stringify!($level))
            }

            #[test]
            fn casts_of_all_pairs_equal_the_reference() {
                level().map(super::casts_of_all_pairs);
            }

            #[test]
            fn casts_of_every_length_equal_the_reference() {
                level().map(super::casts_of_every_length);
            }

            #[test]
            fn casts_of_long_slices_equal_the_reference() {
                level().map(super::casts_of_long_slices);
            }

            #[test]
            fn maps_of_all_pairs_equal_the_reference() {
                level().map(super::maps_of_all_pairs);
            }

            #[test]
            fn short_maps_of_all_casts_equal_the_reference() {
                level().map(super::short_maps_of_all_casts);
            }

            #[test]
            fn scale_and_offset_of_all_types_equal_the_reference() {
                level().map(super::scale_and_offset_of_all_types);
            }

            #[test]
            fn scale_and_offset_in_front_of_a_cast_to_a_short_integer_equal_the_reference() {
                level().map(super::scale_and_offset_in_front_of_a_cast_to_a_short_integer);
            }

            #[test]
            fn scale_and_offset_after_a_cast_from_a_short_integer_equal_the_reference() {
                level().map(super::scale_and_offset_after_a_cast_from_a_short_integer);
            }

            #[test]
            fn scale_and_offset_beside_a_cast_of_all_pairs_equal_the_reference() {
                level().map(super::scale_and_offset_beside_a_cast);
            }

            #[test]
            fn packing_plans_and_their_inverses_equal_the_reference() {
                level().map(super::packing_plans_and_their_inverses);
            }

            #[test]
            fn packing_plans_of_float32_in_float64_equal_the_reference() {
                level().map(super::packing_plans_of_float32_in_float64);
            }

            #[test]
            fn scale_and_offset_after_a_cast_from_32_bits_equal_the_reference() {
                level().map(super::scale_and_offset_after_a_cast_from_32_bits);
            }

            #[test]
            fn chains_of_up_to_four_steps_equal_the_reference() {
                level().map(|level| super::chains(level, 0..12_000));
            }

            #[test]
            #[ignore = "minutes: ten times as many chains"]
            fn many_chains_of_up_to_four_steps_equal_the_reference() {
                level().map(|level| super::chains(level, 12_000..132_000));
            }

            #[test]
            fn the_first_failing_element_is_reported_whichever_step_it_fails_in() {
                level().map(super::the_first_failing_element_is_reported);
            }

            #[test]
            fn a_missing_conversion_of_the_hardware_shows() {
                level().map(super::known_traps);
            }

            #[test]
            fn slices_of_different_lengths_are_refused() {
                level().map(super::slices_of_different_lengths_are_refused);
            }
        })*
    };
}

#[cfg(target_arch = "x86_64")]
on_levels! { scalar avx2 avx512 }
#[cfg(target_arch = "aarch64")]
on_levels! { scalar neon }
#[cfg(target_arch = "wasm32")]
on_levels! { scalar simd128 }
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32")))]
on_levels! { scalar }

fn level_of_this_cpu(name: &str) -> Option<Level> {
    let level = Level::available().into_iter().find(|level| level.name() == name);
    if level.is_none() {
        println!("nothing compared: there is no level {name} here");
    }
    level
}

#[test]
fn every_level_of_this_cpu_is_tested() {
    for level in Level::available() {
        assert!(LEVELS.contains(&level.name()), "{level} has no line in on_levels!");
        assert!(level.is_available());
    }
    for level in Level::ALL.iter().copied() {
        assert_eq!(level.name().parse(), Ok(level));
    }
    assert_eq!(Level::available().first().map(|level| level.name()), Some("scalar"));
    let is_here = |name: &&str| Level::available().iter().any(|level| level.name() == *name);
    let (tested, missing): (Vec<&str>, Vec<&str>) = LEVELS.iter().copied().partition(is_here);
    // The tests of a missing level print `ok`, because whether a test is ignored is decided when it is compiled.
    println!(
        "levels tested: {}; levels that this CPU lacks: {}",
        tested.join(", "),
        if missing.is_empty() { "none".into() } else { missing.join(", ") }
    );
}

/// Set in CI where the runner is known to have the level, lest its tests pass by not running.
#[test]
fn the_best_level_is_the_expected_one() {
    if let Ok(expected) = std::env::var("RECAST_EXPECT_LEVEL") {
        assert_eq!(Level::available().last().map(|level| level.name()), Some(expected.as_str()));
    }
}

fn seed(source: ElementType, target: ElementType) -> u64 {
    100 * source as u64 + target as u64
}

/// Casts a scalar as a test needs it: as near as the type comes.
fn near(value: impl Into<Scalar>, target: ElementType) -> Scalar {
    let value = value.into().cast(target, Rounding::TowardsZero, OutOfRange::Clamp);
    value.unwrap_or(Scalar::zero(target))
}

/// Elements of `source` at, beside and halfway between elements of `target`: its ends and random ones.
fn edges_of_pair(source: ElementType, target: ElementType, random: &mut Random) -> Vec<u64> {
    let (min, max) = (target.min_bits(), target.max_bits());
    let mut marks: Vec<u64> = [0, 1, 2, 3, 4].into();
    for end in [min, max] {
        marks.extend((0..4).map(|step| end.wrapping_sub(step)));
        marks.extend((1..4).map(|step| end.wrapping_add(step)));
    }
    marks.extend((0..60).map(|_| random.element(target)));
    let mut elements = Vec::new();
    for mark in marks {
        let (here, next) =
            (Scalar::from_bits(target, mark), Scalar::from_bits(target, mark.wrapping_add(1)));
        let halfway = f64::midpoint(here.to_f64(), next.to_f64());
        // Beyond the last value, where the next pattern is no neighbour.
        let beyond =
            here.to_f64() * 1.5 - Scalar::from_bits(target, mark.wrapping_sub(1)).to_f64() * 0.5;
        for value in [here, halfway.into(), beyond.into()] {
            let element = near(value, source).bits();
            elements.extend((-2..=2).map(|step| element.wrapping_add_signed(step)));
        }
    }
    elements
}

/// All values of a type of up to 16 bits; edges of a wider one.
fn all_or_edges(source: ElementType) -> Vec<u64> {
    if source.bits() == 16 {
        return (0..1 << 16).collect();
    }
    let edges = edges(source);
    let stride = edges.len() / 10_000 + 1;
    edges.into_iter().step_by(stride).collect()
}

/// A few hundred elements: edges, and random ones.
fn some_elements(source: ElementType, random: &mut Random, edges: &[u64]) -> Vec<u64> {
    let element = |at| if at % 2 == 0 { random.element(source) } else { *random.pick(edges) };
    (0..400).map(element).collect()
}

fn any_cast(target: ElementType, random: &mut Random) -> Cast {
    let casts: Vec<Cast> = casts(target).collect();
    random.pick(&casts).clone()
}

fn casts_of_all_pairs(level: Level) {
    let all: Vec<Vec<u64>> = ElementType::ALL.iter().copied().map(all_or_edges).collect();
    let count = in_parallel(&pairs(), |&(source, target)| {
        let mut random = Random::new(seed(source, target));
        let mut elements = all[source as usize].clone();
        elements.extend(edges_of_pair(source, target, &mut random));
        let mut count = 0;
        for cast in casts(target) {
            let subject = Subject::new(source, vec![Step::Cast(cast)], elements.clone());
            count += subject.check(level, &subject.passing, &mut random)?;
            count += subject.check_lengths(level, &LENGTHS, &mut random)?;
        }
        Ok(count)
    });
    assert!(count > 100_000_000 / stride() as u64);
}

fn casts_of_every_length(level: Level) {
    let lengths: Vec<usize> = (0..=1100).collect();
    let pairs = pairs();
    in_parallel(&lengths, |&length| {
        let mut random = Random::new(length as u64);
        let mut count = 0;
        // Eleven of the pairs for sixteen lengths, so that every pair has every remainder modulo 16.
        for turn in 0..11 {
            let (source, target) = pairs[(length / 16 * 11 + turn) % pairs.len()];
            let cast = any_cast(target, &mut random);
            let mut elements = edges_of_pair(source, target, &mut random);
            elements.extend((0..200).map(|_| random.element(source)));
            let subject = Subject::new(source, vec![Step::Cast(cast)], elements);
            count += subject.check_lengths(level, &[length], &mut random)?;
        }
        Ok(count)
    });
}

/// A run for each share of unusual elements, long enough to have blocks and pieces without them.
fn casts_of_long_slices(level: Level) {
    in_parallel(&pairs(), |&(source, target)| {
        let mut random = Random::new(seed(source, target));
        let lengths =
            [34_000 + random.below(8_000), 16_384 + random.below(3), 4099, 2048 + random.below(2)];
        let mut count = 0;
        for (per_thousand, length) in PER_THOUSAND.into_iter().zip(lengths) {
            let mut elements = edges_of_pair(source, target, &mut random);
            elements.extend((0..200).map(|_| random.element(source)));
            let entries = *random.pick(&[0, 0, 1, 2, 9]);
            let map = any_map(source, target, entries, &elements, &mut random);
            elements.extend(elements_for_map(source, &map, &mut random));
            let cast = any_cast(target, &mut random).map(map);
            let subject = Subject::new(source, vec![Step::Cast(cast)], elements);
            let mut slice = subject.mixed(length, per_thousand, &mut random);
            count += subject.check(level, &slice, &mut random)?;
            subject.spoil(&mut slice, &mut random);
            count += subject.check(level, &slice, &mut random)?;
        }
        Ok(count)
    });
}

/// A map of this many entries: keys that would fail, NaNs, zeros, infinities, repeated keys; values
/// with and without a preimage.
fn any_map(
    source: ElementType,
    target: ElementType,
    entries: usize,
    edges: &[u64],
    random: &mut Random,
) -> Vec<(Scalar, Scalar)> {
    let special = |at: usize| match at {
        0 => Scalar::nan(source),
        1 => Scalar::nan(source).map(|nan| Scalar::from_bits(source, nan.bits() | 1)),
        2 => Scalar::infinity(source, false),
        3 => Scalar::infinity(source, true),
        4 => Some(Scalar::zero(source)),
        5 => Some(near(-0.0, source)),
        6 => Some(Scalar::max(source)),
        _ => Some(Scalar::min(source)),
    };
    let mut map: Vec<(Scalar, Scalar)> = Vec::new();
    for _ in 0..entries {
        let key = match random.below(5) {
            // The same key again, or an output as a key.
            4 if !map.is_empty() => {
                let (key, value) = *random.pick(&map);
                if random.below(2) == 0 { key } else { near(value, source) }
            }
            0 => special(random.below(8)).unwrap_or(Scalar::max(source)),
            1 => Scalar::from_bits(source, *random.pick(edges)),
            2 => Scalar::from_bits(source, random.near_power(source)),
            _ => Scalar::from_bits(source, random.element(source)),
        };
        let value = match random.below(6) {
            0 => Scalar::nan(target).unwrap_or(Scalar::min(target)),
            1 => near(key, target),
            2 | 3 => Scalar::from_bits(target, random.near_power(target)),
            _ => Scalar::from_bits(target, random.element(target)),
        };
        map.push((key, value));
    }
    map
}

/// The keys of a map, the elements beside them, and every NaN there is room for.
fn elements_for_map(
    source: ElementType,
    map: &[(Scalar, Scalar)],
    random: &mut Random,
) -> Vec<u64> {
    let mut elements = Vec::new();
    for (key, _) in map {
        elements.extend((-1..=1).map(|step| key.bits().wrapping_add_signed(step)));
        elements.extend([key.bits(); 4]);
    }
    if let Some(nan) = source.nan_bits() {
        elements.extend((0..10).map(|_| nan | random.bits()));
    }
    elements.extend([0, near(-0.0, source).bits()]);
    elements
}

fn maps_of_all_pairs(level: Level) {
    let all: Vec<Vec<u64>> = ElementType::ALL.iter().copied().map(edges).collect();
    in_parallel(&pairs(), |&(source, target)| {
        let mut random = Random::new(seed(source, target));
        let edges = &all[source as usize];
        let mut count = 0;
        for entries in [0, 1, 1, 1, 2, 2, 3, 4, 7, 8, 9, 16, 17, 40] {
            let map = any_map(source, target, entries, edges, &mut random);
            let mut elements = elements_for_map(source, &map, &mut random);
            elements.extend(some_elements(source, &mut random, edges));
            let cast = any_cast(target, &mut random).map(map);
            let subject = Subject::new(source, vec![Step::Cast(cast)], elements);
            count += subject.check(level, &subject.passing, &mut random)?;
            count += subject.check_lengths(level, &[1, 8, 33, 257, 1100], &mut random)?;
        }
        Ok(count)
    });
}

/// Every cast with maps of one or two keys, each of them with few elements: a kernel may go wrong for one type, one rounding
/// and one output together.
fn short_maps_of_all_casts(level: Level) {
    let count = in_parallel(&pairs(), |&(source, target)| {
        let mut random = Random::new(seed(source, target));
        let mut count = 0;
        for cast in casts(target) {
            for turn in 0..6 {
                let scalar = |of, random: &mut Random| Scalar::from_bits(of, random.near_power(of));
                let map: Vec<_> = (0..=turn / 4)
                    .map(|_| {
                        let nan = Scalar::nan(source).filter(|_| turn % 2 == 0);
                        let key = nan.unwrap_or_else(|| scalar(source, &mut random));
                        (key, scalar(target, &mut random))
                    })
                    .collect();
                let mut elements = elements_for_map(source, &map, &mut random);
                elements.extend((0..10).map(|_| random.element(source)));
                let steps = vec![Step::Cast(cast.clone().map(map))];
                let subject = Subject::new(source, steps, elements);
                let mut slice = subject.some_passing(100, &mut random);
                slice.extend(&subject.passing);
                count += subject.check(level, &slice, &mut random)?;
                subject.spoil(&mut slice, &mut random);
                count += subject.check(level, &slice, &mut random)?;
            }
        }
        Ok(count)
    });
    assert!(count > 1_000_000 / stride() as u64);
}

/// An offset or a scale: often a usual one, sometimes any, of any magnitude, or at the ends of the type.
fn any_parameter(element_type: ElementType, random: &mut Random) -> Option<Scalar> {
    const USUAL: [f64; 15] =
        [0.0, -0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 0.5, 0.1, 0.01, -1.0, -4.0, 100.0, 273.15, 1e6];
    let one = near(1.0, element_type).bits();
    let ends = [element_type.max_bits(), element_type.min_bits(), 1, 2, one - 1, one + 1];
    match random.below(8) {
        0 => None,
        1 => Some(Scalar::from_bits(element_type, random.element(element_type))),
        2 => Some(Scalar::from_bits(element_type, random.near_power(element_type))),
        3 => Some(Scalar::from_bits(element_type, *random.pick(&ends))),
        _ => Some(near(*random.pick(&USUAL), element_type)),
    }
}

fn any_scale_offset(element_type: ElementType, random: &mut Random) -> Affine {
    let overflow = *random.pick(&[FloatOverflow::Error, FloatOverflow::Infinity]);
    let offset = any_parameter(element_type, random).filter(|offset| offset.is_finite());
    let scale =
        any_parameter(element_type, random).filter(|scale| scale.is_finite() && !scale.is_zero());
    Affine::new(offset, scale).overflow(overflow)
}

fn any_scale_step(element_type: ElementType, random: &mut Random) -> Step {
    let parameters = any_scale_offset(element_type, random);
    if random.below(2) == 0 { Step::Scale(parameters) } else { Step::InverseScale(parameters) }
}

/// What encoding with the step's parameters makes of some elements: for decoding, input that passes.
fn multiples(step: &Step, elements: &[u64], element_type: ElementType) -> Vec<u64> {
    let (Step::Scale(parameters) | Step::InverseScale(parameters)) = step else {
        return Vec::new();
    };
    elements
        .iter()
        .filter_map(|&bits| {
            reference::scale(Scalar::from_bits(element_type, bits), parameters).ok()
        })
        .map(Scalar::bits)
        .collect()
}

fn scale_and_offset_of_all_types(level: Level) {
    let jobs: Vec<(ElementType, u64)> = ElementType::ALL
        .iter()
        .flat_map(|&element_type| (0..100).map(move |seed| (element_type, seed)))
        .collect();
    let all: Vec<Vec<u64>> = ElementType::ALL.iter().copied().map(all_or_edges).collect();
    let count = in_parallel(&jobs, |&(element_type, seed)| {
        let mut random = Random::new(seed);
        let edges = &all[element_type as usize];
        let mut elements = some_elements(element_type, &mut random, edges);
        elements.extend((0..2000).map(|_| random.element(element_type)));
        let step = any_scale_step(element_type, &mut random);
        elements.extend(multiples(&step, &elements, element_type));
        if seed < 10 {
            elements.extend(edges);
        }
        let subject = Subject::new(element_type, vec![step], elements);
        Ok(subject.check(level, &subject.passing, &mut random)?
            + subject.check_lengths(level, &LENGTHS, &mut random)?)
    });
    assert!(count > 10_000_000 / stride() as u64);
}

fn scale_and_offset_beside_a_cast(level: Level) {
    let all: Vec<Vec<u64>> = ElementType::ALL.iter().copied().map(all_or_edges).collect();
    in_parallel(&pairs(), |&(source, target)| {
        let mut random = Random::new(seed(source, target));
        let edges = &all[source as usize];
        let mut count = 0;
        for turn in 0..24 {
            let entries = *random.pick(&[0, 0, 1, 3]);
            let map = any_map(source, target, entries, edges, &mut random);
            let mut elements = elements_for_map(source, &map, &mut random);
            elements.extend(some_elements(source, &mut random, edges));
            let cast = Step::Cast(any_cast(target, &mut random).map(map));
            let (before, after) =
                (any_scale_step(source, &mut random), any_scale_step(target, &mut random));
            elements.extend(multiples(&before, &elements, source));
            let steps = match turn % 3 {
                0 => vec![before, cast],
                1 => vec![cast, after],
                _ => vec![before, cast, after],
            };
            let subject = Subject::new(source, steps, elements);
            count += subject.check(level, &subject.passing, &mut random)?;
            count += subject.check_lengths(level, &[5, 16, 31, 256, 1025], &mut random)?;
        }
        Ok(count)
    });
}

/// The chain that most packed arrays have: float32 or float64 to an integer of at most 16 bits, with NaN
/// mapped or not.
fn scale_and_offset_in_front_of_a_cast_to_a_short_integer(level: Level) {
    let [f32s, f64s] = [ElementType::Float32, ElementType::Float64];
    let all: Vec<Vec<u64>> = ElementType::ALL.iter().copied().map(all_or_edges).collect();
    let targets = [ElementType::Int8, ElementType::UInt8, ElementType::Int16, ElementType::UInt16];
    let jobs: Vec<_> = [f32s, f64s]
        .into_iter()
        .flat_map(|source| targets.map(|target| (source, target)))
        .collect();
    let count = in_parallel(&jobs, |&(source, target)| {
        let mut random = Random::new(seed(source, target));
        let (least, greatest) = (Scalar::min(target), Scalar::max(target));
        let mut count = 0;
        for (offset, scale) in
            [(0.5, 10.0), (-273.15, -0.1), (0.0, 1.0), (1e30, 1e20), (-3.0, 1e-30)]
        {
            for nan in [None, Some(least), Some(greatest), Some(near(7.0, target))] {
                let parameters = Affine::new(Some(near(offset, source)), Some(near(scale, source)));
                let map = nan.map(|nan| (near(f64::NAN, source), nan));
                let cast = Cast::new(target).out_of_range(OutOfRange::Clamp).map(map);
                // What scales to halves and their neighbours, about the ends of the range and 0.
                let decoded = |half: f64| half / 2.0 / scale + offset;
                let ends = [-65_540.0, -256.0, -130.0, 0.0, 250.0, 508.0, 65_530.0, 131_066.0];
                let elements: Vec<u64> = ends
                    .into_iter()
                    .flat_map(|end| {
                        (-8..9).map(move |half| near(decoded(end + f64::from(half)), source))
                    })
                    .flat_map(|near| [near.bits().saturating_sub(1), near.bits(), near.bits() + 1])
                    .chain(all[source as usize].iter().copied())
                    .collect();
                let steps = vec![Step::Scale(parameters), Step::Cast(cast)];
                let subject = Subject::new(source, steps, elements);
                count += subject.check(level, &subject.passing, &mut random)?;
                count += subject.check_lengths(level, &LENGTHS, &mut random)?;
            }
        }
        Ok(count)
    });
    assert!(count > 1_000_000 / stride() as u64);
}

/// The same chain decoded: every element, one of which stands for NaN, or for a number.
fn scale_and_offset_after_a_cast_from_a_short_integer(level: Level) {
    let short = |element: &ElementType| element.is_integer() && matches!(element.bits(), 8 | 16);
    let sources = ElementType::ALL.iter().copied().filter(short);
    let targets = [ElementType::Float32, ElementType::Float64];
    let pairs = sources.flat_map(|source| targets.map(|target| (source, target)));
    // The last scales have subnormal reciprocals, and quotients that are, in float32.
    let parameters =
        [(0.5, 10.0), (-273.15, -0.1), (-0.0, 1.0), (0.0, 3.0), (0.0, 2.9e38), (-0.0, -2.1e38)];
    // A job for each entry, so that every sample of the jobs has short and long ones.
    let keys: [fn(ElementType) -> Scalar; 3] = [Scalar::min, Scalar::max, Scalar::zero];
    let entries: Vec<_> =
        keys.iter().flat_map(|key| (0..4).map(move |output| (key, output))).collect();
    let jobs: Vec<_> = pairs
        .flat_map(|pair| parameters.map(|parameters| (pair, parameters)))
        .flat_map(|(pair, parameters)| entries.iter().map(move |&entry| (pair, parameters, entry)))
        .collect();
    let count = in_parallel(&jobs, |&((source, target), (offset, scale), (key, output))| {
        let mut random = Random::new(seed(source, target));
        let nan = Scalar::nan(target).unwrap();
        let other_nan = Scalar::from_bits(target, nan.bits() | 1);
        let parameters = Affine::new(Some(near(offset, target)), Some(near(scale, target)));
        let output = [None, Some(nan), Some(other_nan), Some(near(-9.5, target))][output];
        let cast = Cast::new(target).map(output.map(|output| (key(source), output)));
        let steps = vec![Step::Cast(cast), Step::InverseScale(parameters)];
        let elements = (0..1_u64 << source.bits()).collect();
        let subject = Subject::new(source, steps, elements);
        subject.check(level, &subject.passing, &mut random)
    });
    assert!(count > 1_000_000 / stride() as u64);
}

/// Checks a plan and its inverse, each as the type and the steps: the inverse on codes, the plan on what these decode to, on the
/// numbers next to that, on some more, and on random ones.
fn check_both_ways(
    level: Level,
    random: &mut Random,
    (source, encode): (ElementType, Vec<Step>),
    (target, decode): (ElementType, Vec<Step>),
    codes: Vec<u64>,
    more: &[u64],
) -> Check {
    let mut elements: Vec<u64> = codes
        .iter()
        .map(|&code| reference::run(Scalar::from_bits(target, code), &decode, 0))
        .filter_map(|value| value.ok().map(Scalar::bits))
        .flat_map(|value| (-1..=1).map(move |step| value.wrapping_add_signed(step)))
        .collect();
    elements.extend(more);
    elements.extend((0..20).map(|_| random.element(source)));
    let mut count = 0;
    for subject in [Subject::new(source, encode, elements), Subject::new(target, decode, codes)] {
        count += subject.check(level, &subject.passing, random)?;
        count += subject.check_lengths(level, &[7, 64, 1100, 9000], random)?;
    }
    Ok(count)
}

/// The plans that packed arrays have: scale, offset, and a cast with one or two keys, in every rounding, with an error for
/// what is out of range as for what is clamped; and the plans that decode.
fn packing_plans_and_their_inverses(level: Level) {
    let sources = [ElementType::Float32, ElementType::Float64];
    let targets = ElementType::ALL.iter().copied().filter(|target| target.is_integer());
    let jobs: Vec<(ElementType, Cast)> = targets
        .flat_map(casts)
        .filter(|cast| cast.out_of_range != OutOfRange::Wrap)
        .flat_map(|cast| sources.map(|source| (source, cast.clone())))
        .collect();
    let count = in_parallel(&jobs, |(source, cast)| {
        let (source, target) = (*source, cast.target);
        let mut random = Random::new(seed(source, target) + 7 * cast.rounding as u64);
        let mut count = 0;
        for _ in 0..4 {
            let offset = *random.pick(&[0.0, 16.12, 273.15, -1e5]);
            let scale = *random.pick(&[1.0, 100.0, 128.0, 0.3, -10.0]);
            let parameters = Affine::new(Some(near(offset, source)), Some(near(scale, source)));
            let nan = Scalar::from_bits(source, Scalar::nan(source).unwrap().bits() | 1);
            let marker = near(*random.pick(&[-9999.0, 1e20, 0.0, -0.0]), source);
            // The cast meets a marker as the scale leaves it.
            let scaled = reference::scale(marker, &parameters).unwrap_or(marker);
            let code = |random: &mut Random| {
                let ends = [target.min_bits(), target.max_bits(), 0, target.min_bits() + 1];
                let bits = if random.below(3) == 0 { random.bits() } else { *random.pick(&ends) };
                Scalar::from_bits(target, bits)
            };
            let (first, second) = (code(&mut random), code(&mut random));
            let map = match random.below(4) {
                0 => vec![(nan, first)],
                1 => vec![(nan, first), (scaled, second)],
                2 => vec![(scaled, second), (nan, first)],
                _ => vec![(nan, first), (scaled, first)],
            };

            let mut codes: Vec<u64> = (0..200).map(|_| random.element(target)).collect();
            codes.extend(map.iter().flat_map(|(_, code)| [code.bits(); 8]));
            let decode: Vec<_> = map.iter().map(|(value, code)| (*code, *value)).collect();
            let cast_back = Cast::new(source).rounding(cast.rounding).map(decode);
            let decode = vec![Step::Cast(cast_back), Step::InverseScale(parameters)];
            let encode = vec![Step::Scale(parameters), Step::Cast(cast.clone().map(map))];
            let more = [marker.bits(), nan.bits(), nan.bits() ^ 1];
            let (there, back) = ((source, encode), (target, decode));
            count += check_both_ways(level, &mut random, there, back, codes, &more)?;
        }
        Ok(count)
    });
    assert!(count > 1_000_000 / stride() as u64);
}

/// The same of float32 elements whose offset and scale are float64: with a cast to float64 in front of the scale, and back behind
/// it.
fn packing_plans_of_float32_in_float64(level: Level) {
    let [narrow, wide] = [ElementType::Float32, ElementType::Float64];
    let targets = ElementType::ALL.iter().copied().filter(|target| target.is_integer());
    let jobs: Vec<Cast> =
        targets.flat_map(casts).filter(|cast| cast.out_of_range != OutOfRange::Wrap).collect();
    let count = in_parallel(&jobs, |cast| {
        let target = cast.target;
        let mut random = Random::new(seed(narrow, target) + 7 * cast.rounding as u64);
        let mut count = 0;
        for _ in 0..6 {
            let offset = near(*random.pick(&[0.0, 16.12, 273.15, -1e5]), wide);
            let scale = near(*random.pick(&[1.0, 100.0, 128.0, 0.3, -10.0, 1e-40]), wide);
            let parameters = Affine::new(Some(offset), Some(scale));
            let nan = Scalar::nan(wide).unwrap();
            let marker = near(*random.pick(&[-9999.0, 1e20, 0.0, 1e300]), wide);
            let scaled = reference::scale(marker, &parameters).unwrap_or(marker);
            let (first, second) = (Scalar::min(target), Scalar::max(target));
            let map = match random.below(5) {
                0 => vec![],
                1 => vec![(nan, first)],
                2 => vec![(scaled, second)],
                3 => vec![(nan, second), (scaled, first)],
                _ => vec![(scaled, second), (nan, first)],
            };
            let back: Vec<_> = map.iter().map(|(value, code)| (*code, *value)).collect();
            let narrowing = Cast::new(narrow).out_of_range(*random.pick(&OutOfRange::ALL[..2]));
            let rounding = *random.pick(&[Rounding::NearestEven, cast.rounding]);
            let decode = vec![
                Step::Cast(Cast::new(wide).rounding(cast.rounding).map(back)),
                Step::InverseScale(parameters),
                Step::Cast(narrowing.rounding(rounding)),
            ];
            let mut codes: Vec<u64> = (0..200).map(|_| random.element(target)).collect();
            codes.extend([first.bits(), second.bits(), 0, 1]);
            let encode = vec![
                Step::Cast(Cast::new(wide)),
                Step::Scale(parameters),
                Step::Cast(cast.clone().map(map)),
            ];
            let more = [near(-9999.0, narrow).bits(), near(f64::NAN, narrow).bits()];
            let (there, back) = ((narrow, encode), (target, decode));
            count += check_both_ways(level, &mut random, there, back, codes, &more)?;
        }
        Ok(count)
    });
    assert!(count > 1_000_000 / stride() as u64);
}

/// Integers of 32 bits are divided by products that are corrected: with scales whose mantissa or exponent is near an end, which
/// are the hardest to divide by, and integers that fill the mantissa of float32.
fn scale_and_offset_after_a_cast_from_32_bits(level: Level) {
    let sources = [ElementType::Int32, ElementType::UInt32];
    let targets = [ElementType::Float32, ElementType::Float64];
    let exponents = [-140, -126, -81, -80, -1, 0, 1, 79, 80, 126];
    let scales: Vec<f64> = exponents
        .into_iter()
        .flat_map(|exponent| {
            let ulp = f64::from(f32::EPSILON);
            [1.0, 1.0 + ulp, 1.3, 2.0 - ulp, -1.7].map(|mantissa| mantissa * 2_f64.powi(exponent))
        })
        .chain([3.0, 0.1, 9.7, -7.0, 1e300, 1e-300, f64::MIN_POSITIVE])
        .collect();
    let jobs: Vec<_> = sources
        .into_iter()
        .flat_map(|source| targets.map(|target| (source, target)))
        .flat_map(|pair| scales.iter().map(move |&scale| (pair, scale)))
        .collect();
    let count = in_parallel(&jobs, |&((source, target), scale)| {
        let mut random = Random::new(seed(source, target) + scale.to_bits() % 1009);
        let mut count = 0;
        let mut elements: Vec<u64> = (0..3000).map(|_| random.element(source)).collect();
        elements.extend((0..3000).map(|_| (1 << 23) + random.below(1 << 23) as u64));
        elements.extend([0, 1, 2, u64::from(u32::MAX), 1 << 31, (1 << 31) - 1]);
        for (turn, offset) in [None, Some(0.0), Some(-273.15)].into_iter().enumerate() {
            let scale = near(scale, target);
            if scale.is_zero() || !scale.is_finite() {
                continue;
            }
            let parameters = Affine::new(offset.map(|offset| near(offset, target)), Some(scale));
            let map = [(Scalar::min(source), Scalar::nan(target).unwrap())]
                .into_iter()
                .chain([(Scalar::max(source), near(-9.5, target))]);
            let cast = Cast::new(target).map(map.take(turn));
            let steps = vec![Step::Cast(cast), Step::InverseScale(parameters)];
            let subject = Subject::new(source, steps, elements.clone());
            count += subject.check(level, &subject.passing, &mut random)?;
        }
        Ok(count)
    });
    assert!(count > 500_000 / stride() as u64);
}

fn chains(level: Level, seeds: std::ops::Range<u64>) {
    let all: Vec<Vec<u64>> = ElementType::ALL.iter().copied().map(all_or_edges).collect();
    let seeds: Vec<u64> = seeds.collect();
    in_parallel(&seeds, |&seed| {
        let mut random = Random::new(seed);
        let source = *random.pick(ElementType::ALL);
        let mut elements = some_elements(source, &mut random, &all[source as usize]);
        let mut current = source;
        let steps = (0..random.below(5))
            .map(|_| {
                if random.below(2) == 0 {
                    return any_scale_step(current, &mut random);
                }
                let target = *random.pick(ElementType::ALL);
                let entries = *random.pick(&[0, 0, 0, 1, 2, 8, 9, 40]);
                let map = any_map(current, target, entries, &all[current as usize], &mut random);
                elements.extend(map.iter().map(|(key, _)| near(*key, source).bits()));
                current = target;
                Step::Cast(any_cast(target, &mut random).map(map))
            })
            .collect::<Vec<_>>();
        let subject = Subject::new(source, steps, elements);
        let lengths = [random.below(40), random.below(1100), 1 + random.below(5000)];
        Ok(subject.check(level, &subject.passing, &mut random)?
            + subject.check_lengths(level, &lengths, &mut random)?)
    });
}

/// Runs a plan on values given as scalars; gives the bits, or the error.
fn run(level: Level, steps: &[Step], values: &[Scalar]) -> Result<Vec<u64>, CastError> {
    let source = values[0].element_type();
    let elements: Vec<u64> = values.iter().map(|value| value.bits()).collect();
    let subject = Subject::new(source, steps.to_vec(), elements);
    let slice: Vec<usize> = (0..values.len()).collect();
    for seed in 0..8 {
        let mut random = Random::new(seed);
        if let Err(message) = subject.check(level, &slice, &mut random) {
            panic!("{message}");
        }
    }
    let results = values.iter().enumerate();
    results.map(|(index, value)| Ok(reference::run(*value, steps, index)?.bits())).collect()
}

fn the_first_failing_element_is_reported(level: Level) {
    // Element `late` fails in the first step, element `early` only in the second.
    let steps =
        [Step::Cast(Cast::new(ElementType::Int16)), Step::Cast(Cast::new(ElementType::UInt8))];
    for (early, late) in [(0, 1), (3, 4), (7, 8), (30, 900), (255, 256), (1023, 1024), (1024, 2047)]
    {
        let mut values = vec![Scalar::from(1.0_f32); late + 10];
        values[early] = Scalar::from(300.4_f32);
        values[late] = Scalar::from(1e9_f32);
        values[late + 1] = Scalar::from(f32::NAN);
        let error = run(level, &steps, &values).unwrap_err();
        let CastError { index, input, value, target, step, reason, .. } = error;
        assert_eq!((index, input, value), (early, 300.4_f32.into(), 300_i16.into()));
        assert_eq!((target, step, reason), (ElementType::UInt8, 1, Reason::OutOfRange));
        // A map takes the first failure away, so the other one is reported.
        let silenced = [
            steps[0].clone(),
            Step::Cast(Cast::new(ElementType::UInt8).map([(300_i16.into(), 9_u8.into())])),
        ];
        let error = run(level, &silenced, &values).unwrap_err();
        assert_eq!((error.index, error.step, error.value), (late, 0, 1e9_f32.into()));
    }
    // The offset leaves the range although the scale would come back.
    let back = Affine::new(Some(10_u8.into()), Some(1_u8.into()));
    let values = [Scalar::from(200_u8), 10_u8.into(), 9_u8.into(), 0_u8.into()];
    let error = run(level, &[Step::Scale(back)], &values).unwrap_err();
    assert_eq!((error.index, error.reason), (2, Reason::Overflow));
}

/// What vector instructions do otherwise than asked, each with enough neighbours to fill vectors.
fn known_traps(level: Level) {
    let run_cast = |cast: Cast, value: Scalar, harmless: Scalar| {
        let mut values = vec![harmless; 100];
        values[37] = value;
        values[99] = value;
        run(level, &[Step::Cast(cast)], &values).map(|bits| bits[37])
    };
    let clamp = |target| Cast::new(target).out_of_range(OutOfRange::Clamp);
    let one = Scalar::from(1.0_f32);
    // i32::MAX is no f32: clamping in f32 to 2^31 and converting gives i32::MIN.
    let max = |bits: u32| Ok((1_u64 << bits) - 1);
    let power = |exponent: i32| Scalar::from(2_f32.powi(exponent));
    assert_eq!(run_cast(clamp(ElementType::Int32), power(31), one), max(31));
    assert_eq!(run_cast(clamp(ElementType::UInt32), power(32), one), max(32));
    assert_eq!(run_cast(clamp(ElementType::Int64), power(63), one), max(63));
    assert_eq!(run_cast(clamp(ElementType::UInt64), power(64), one), Ok(u64::MAX));
    assert_eq!(run_cast(Cast::new(ElementType::Int32), Scalar::from(-2_f32.powi(31)), one), {
        Ok(u64::from(i32::MIN.cast_unsigned()))
    });
    // Above 2^63 a conversion to u64 is not one to i64.
    assert_eq!(run_cast(Cast::new(ElementType::UInt64), power(63), one), Ok(1 << 63));
    // min and max drop a NaN; clamp must not.
    let nan = Scalar::from(f32::NAN);
    assert_eq!(run_cast(clamp(ElementType::UInt8), nan, one).unwrap_err().reason, Reason::Nan);
    let infinity = Scalar::from(f32::INFINITY);
    let error = run_cast(clamp(ElementType::UInt8), infinity, one).unwrap_err();
    assert_eq!((error.index, error.reason), (37, Reason::Infinite));
    // Through f64, or through f32, these are rounded twice.
    let up = Cast::new(ElementType::Float32).rounding(Rounding::TowardsPositive);
    let odd = Scalar::from((1_u64 << 63) + 1);
    let next = 2_f32.powi(63).to_bits() + 1;
    assert_eq!(run_cast(up.clone(), odd, 1_u64.into()), Ok(next.into()));
    let odd = Scalar::from((1_i64 << 62) + (1 << 38) + 1);
    let next = 2_f32.powi(62).to_bits() + 1;
    assert_eq!(run_cast(Cast::new(ElementType::Float32), odd, 1_i64.into()), Ok(next.into()));
    let just_above_half = Scalar::from(1.0 + 2_f64.powi(-11) + 2_f64.powi(-40));
    assert_eq!(run_cast(Cast::new(ElementType::Float16), just_above_half, 1.0.into()), Ok(0x3c01));
    assert_eq!(
        run_cast(
            Cast::new(ElementType::BFloat16),
            (f64::from(1.0_f32) + 2_f64.powi(-8) + 2_f64.powi(-40)).into(),
            1.0.into()
        ),
        Ok(0x3f81)
    );
    // Far above 65504, and u64::MAX, in float16: out of range towards zero, too.
    let towards_zero = clamp(ElementType::Float16).rounding(Rounding::TowardsZero);
    assert_eq!(run_cast(towards_zero.clone(), u64::MAX.into(), 1_u64.into()), Ok(0x7c00));
    assert_eq!(run_cast(towards_zero, 65535_u64.into(), 1_u64.into()), Ok(0x7bff));
    // Just above the largest f32 towards zero: the largest bfloat16, not Inf; from 2^128 on Inf.
    let towards_zero = clamp(ElementType::BFloat16).rounding(Rounding::TowardsZero);
    let above = Scalar::from(f64::from(f32::MAX) * 1.000_000_01);
    assert_eq!(run_cast(towards_zero.clone(), above, 1.0.into()), Ok(0x7f7f));
    assert_eq!(run_cast(towards_zero, 2_f64.powi(128).into(), 1.0.into()), Ok(0x7f80));
    // Subnormal results survive, and so does the sign of a zero.
    assert_eq!(run_cast(Cast::new(ElementType::Float16), power(-24), one), Ok(1));
    assert_eq!(
        run_cast(Cast::new(ElementType::Float16), (-2_f32.powi(-26)).into(), one),
        Ok(0x8000)
    );
    assert_eq!(
        run_cast(Cast::new(ElementType::BFloat16), 2_f64.powi(-133).into(), 1.0.into()),
        Ok(1)
    );
    // A mapped NaN keeps its payload; the key 0 takes −0.
    let payload = Scalar::from(f32::from_bits(0xff81_2345));
    let map = Cast::new(ElementType::Float32).map([(0.0_f64.into(), payload)]);
    assert_eq!(run_cast(map, (-0.0_f64).into(), 1.0.into()), Ok(0xff81_2345));
    // The same type: a signalling NaN is copied, also past a plan without steps.
    let signalling = Scalar::from(f32::from_bits(0x7f80_0001));
    assert_eq!(run_cast(Cast::new(ElementType::Float32), signalling, one), Ok(0x7f80_0001));
    assert_eq!(run(level, &[], &[signalling; 40]).map(|bits| bits[39]), Ok(0x7f80_0001));
    // Neither a multiplication and an addition in one, nor by the reciprocal.
    let decode = |offset: f64, scale: f64| {
        let parameters = Affine::new(Some(offset.into()), Some(scale.into()));
        run(level, &[Step::InverseScale(parameters)], &[3.0_f64.into(); 33]).map(|bits| bits[32])
    };
    assert_ne!(3.0 * 0.1, 0.3);
    assert_eq!(decode(0.0, 10.0), Ok(0.3_f64.to_bits()));
    assert_eq!(decode(-0.3, 10.0), Ok(0.0_f64.to_bits()));
}

fn slices_of_different_lengths_are_refused(level: Level) {
    let plan = Plan::builder(ElementType::Float32)
        .cast(Cast::new(ElementType::Int16))
        .level(level)
        .build()
        .unwrap();
    assert_eq!(plan.run(&[], &mut []), Ok(()));
    assert_eq!(plan.run(&[0; 8], &mut [0; 4]), Ok(()));
    for (input_bytes, output_bytes) in
        [(8, 2), (8, 6), (8, 8), (0, 2), (4, 0), (7, 4), (8, 3), (9, 5)]
    {
        let (input, mut output) = (vec![0; input_bytes], vec![GUARD; output_bytes]);
        let expected = RunError::Length {
            input_bytes,
            output_bytes,
            source_type: ElementType::Float32,
            target_type: ElementType::Int16,
        };
        assert_eq!(plan.run(&input, &mut output), Err(expected.clone()));
        assert!(output.iter().all(|&byte| byte == GUARD));
        let mut output = vec![MaybeUninit::new(GUARD); output_bytes];
        assert_eq!(plan.run_uninit(&input, &mut output), Err(expected));
    }
}

#[test]
fn a_plan_without_meaning_is_not_built() {
    let build = |source, step| Plan::builder(source).step(step).build().map(|plan| plan.target());
    let (f32s, u8s) = (ElementType::Float32, ElementType::UInt8);
    let wrap = Cast::new(f32s).out_of_range(OutOfRange::Wrap);
    assert_eq!(build(u8s, Step::Cast(wrap)), Err(BuildError::WrapToFloat(f32s)));
    let key = Cast::new(u8s).map([(1.0_f64.into(), 1_u8.into())]);
    assert!(matches!(build(f32s, Step::Cast(key)), Err(BuildError::ScalarType { .. })));
    let value = Cast::new(u8s).map([(1.0_f32.into(), 1_i8.into())]);
    assert!(matches!(build(f32s, Step::Cast(value)), Err(BuildError::ScalarType { .. })));
    for scale in [0.0_f32, -0.0, f32::NAN, f32::INFINITY].map(Scalar::from) {
        let parameters = Affine::new(None, Some(scale));
        assert_eq!(build(f32s, Step::Scale(parameters)), Err(BuildError::Scale(scale)));
        assert_eq!(build(f32s, Step::InverseScale(parameters)), Err(BuildError::Scale(scale)));
    }
    for offset in [f32::NAN, f32::NEG_INFINITY].map(Scalar::from) {
        let parameters = Affine::new(Some(offset), None);
        assert_eq!(build(f32s, Step::Scale(parameters)), Err(BuildError::Offset(offset)));
    }
    assert_eq!(build(f32s, Step::Cast(Cast::new(u8s))), Ok(u8s));
}

#[test]
fn typed_casts_equal_the_reference() {
    let input: Vec<f32> = (0..1000_u16).map(|x| f32::from(x) / 3.0 - 20.0).collect();
    let mut output = [0_i16; 1000];
    let cast = Cast::new(ElementType::Int16).rounding(Rounding::NearestAway);
    recast_kernels::cast(&input, &mut output, &cast).unwrap();
    for (from, to) in input.iter().zip(output) {
        assert_eq!(reference::apply_cast((*from).into(), &cast), Ok(to.into()));
    }
    let error = recast_kernels::cast(&input, &mut [0_u8; 1000], &cast).unwrap_err();
    assert!(matches!(error, recast_kernels::CastSliceError::Build(BuildError::Target { .. })));
    let error = recast_kernels::cast(&input, &mut output[1..], &cast).unwrap_err();
    assert!(matches!(error, recast_kernels::CastSliceError::Run(RunError::Length { .. })));
}

#[test]
#[cfg_attr(target_arch = "wasm32", ignore = "there is one thread")]
fn one_plan_runs_on_many_threads() {
    let plan = Plan::builder(ElementType::Float64)
        .cast(Cast::new(ElementType::Float16).out_of_range(OutOfRange::Clamp))
        .build()
        .unwrap();
    let input: Vec<u8> = (0..5000_u32).flat_map(|x| f64::from(x).sqrt().to_ne_bytes()).collect();
    let run = || {
        let mut output = vec![0; 10_000];
        plan.run(&input, &mut output).map(|()| output)
    };
    let alone = run();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), alone);
        }
    });
}

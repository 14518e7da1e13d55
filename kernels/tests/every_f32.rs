//! Every `float32`, to every other type: a plan gives what the reference gives, on every level.
//!
//! Rounding is monotonic, so where the reference gives the same for two elements of one sign and
//! exponent, it gives that for all between them; this is what makes 2^32 elements affordable. A sample
//! of all elements, in which each is given to the reference, shows that it holds.

mod differential;
mod oracle;

use std::time::Instant;

use recast_kernels::{
    Cast, CastError, ElementType, Level, OutOfRange, Plan, Reason, Rounding, RunError, Scalar,
    reference,
};

use differential::{Check, in_parallel, push};

/// Elements of a job, all of one sign and exponent; a cast has 2^32 / `CHUNK` of them.
const CHUNK: u32 = 1 << 14;

/// Of the elements that fail, so many share one that is run by itself among passing ones.
const FAILING: usize = 4096;

/// The first elements of all chunks.
fn all_chunks() -> Vec<u32> {
    (0..=u32::MAX).step_by(CHUNK as usize).collect()
}

/// One chunk in 2053, a prime, so that every exponent takes part.
fn sampled_chunks() -> Vec<u32> {
    all_chunks().into_iter().step_by(2053).collect()
}

/// The tests of one rounding, each of minutes, so that some of them can be chosen by their names.
macro_rules! in_roundings {
    ($($name:ident $rounding:ident)*) => {
        const ROUNDINGS: &[Rounding] = &[$(Rounding::$rounding),*];

        $(mod $name {
            use recast_kernels::Rounding;

            const ROUNDING: Rounding = Rounding::$rounding;

            #[test]
            #[ignore = "minutes: 2^32 elements in 6 casts"]
            fn every_f32_casts_to_signed_integers() {
                super::every_f32_casts(ROUNDING, |target| target.is_integer() && target.is_signed());
            }

            #[test]
            #[ignore = "minutes: 2^32 elements in 6 casts"]
            fn every_f32_casts_to_unsigned_integers() {
                super::every_f32_casts(ROUNDING, |target| target.is_integer() && !target.is_signed());
            }

            #[test]
            #[ignore = "minutes: 2^32 elements in 14 casts"]
            fn every_f32_casts_to_floats() {
                super::every_f32_casts(ROUNDING, super::ElementType::is_float);
            }

            #[test]
            #[ignore = "minutes: 2^32 elements in 12 casts"]
            fn every_f32_wraps_to_the_lowest_bits_of_the_integer_it_is_rounded_to() {
                super::every_f32_wraps(ROUNDING);
            }
        })*
    };
}

in_roundings! {
    nearest_even NearestEven
    towards_zero TowardsZero
    towards_positive TowardsPositive
    towards_negative TowardsNegative
    nearest_away NearestAway
}

#[test]
fn every_rounding_is_tested() {
    assert_eq!(ROUNDINGS, Rounding::ALL);
}

/// To all other types in every rounding.
fn casts() -> impl Iterator<Item = Cast> {
    let targets = ElementType::ALL.iter().copied().filter(|&target| target != ElementType::Float32);
    targets.flat_map(|target| {
        Rounding::ALL.iter().map(move |&rounding| Cast::new(target).rounding(rounding))
    })
}

/// To all types in the default rounding, and in every rounding to those that are cast to most.
fn sampled_casts() -> Vec<Cast> {
    let many =
        [ElementType::UInt8, ElementType::Int16, ElementType::Float16, ElementType::BFloat16];
    casts()
        .filter(|cast| many.contains(&cast.target) || cast.rounding == Rounding::ALL[0])
        .collect()
}

/// What the reference makes of an element where values out of range are errors, and where they are
/// clamped.
#[derive(Clone, Copy, PartialEq)]
struct Outcome {
    error: Result<Scalar, Reason>,
    clamp: Result<Scalar, Reason>,
}

impl Outcome {
    fn of(bits: u32, cast: &Cast) -> Self {
        let value = Scalar::from_bits(ElementType::Float32, bits.into());
        let cast = |mode| reference::cast(value, cast.target, cast.rounding, mode);
        let error = cast(OutOfRange::Error);
        Self { error, clamp: error.or_else(|_| cast(OutOfRange::Clamp)) }
    }

    fn in_mode(self, mode: OutOfRange) -> Result<Scalar, Reason> {
        if mode == OutOfRange::Error { self.error } else { self.clamp }
    }
}

/// The last of the elements, counted from `first`, that an outcome is of.
type Run = (u32, Outcome);

/// The outcomes of `first` to `last`, whose own are given.
fn runs(cast: &Cast, ends: [(u32, Outcome); 2], found: &mut Vec<Run>) {
    let [(first, outcome), (last, of_last)] = ends;
    if outcome == of_last {
        found.push((last, outcome));
        return;
    }
    let middle = first + (last - first) / 2;
    let (before, after) = (Outcome::of(middle, cast), Outcome::of(middle + 1, cast));
    runs(cast, [(first, outcome), (middle, before)], found);
    runs(cast, [(middle + 1, after), (last, of_last)], found);
}

/// A mode, and its plan for each level.
struct Mode {
    mode: OutOfRange,
    plans: Vec<Plan>,
}

fn modes(cast: &Cast) -> [Mode; 2] {
    [OutOfRange::Error, OutOfRange::Clamp].map(|mode| {
        let plan = |level| {
            let cast = cast.clone().out_of_range(mode);
            Plan::builder(ElementType::Float32).cast(cast).level(level).build().unwrap()
        };
        Mode { mode, plans: Level::available().into_iter().map(plan).collect() }
    })
}

/// Appends the bytes of the elements `first` to `last`.
fn extend(bytes: &mut Vec<u8>, first: u32, last: u32) {
    let start = bytes.len();
    bytes.resize(start + 4 * (last - first + 1) as usize, 0);
    for (element, bits) in bytes[start..].chunks_exact_mut(4).zip(first..=last) {
        element.copy_from_slice(&bits.to_ne_bytes());
    }
}

/// Compares a chunk: what passes, in one run; the whole, for its first error; and of what fails, some
/// by itself among passing elements.
fn compare(cast: &Cast, modes: &[Mode], first: u32, runs: &[Run]) -> Check {
    let size = cast.target.size();
    let mut output = vec![0; CHUNK as usize * size];
    for Mode { mode, plans } in modes {
        let (mut passing, mut expected, mut failing) = (Vec::new(), Vec::new(), Vec::new());
        let mut start = first;
        for &(last, outcome) in runs {
            match outcome.in_mode(*mode) {
                Ok(result) => {
                    extend(&mut passing, start, last);
                    let at = expected.len();
                    push(&mut expected, cast.target, result.bits(), false);
                    if start < last {
                        let others = expected[at..].repeat((last - start) as usize);
                        expected.extend(others);
                    }
                }
                Err(reason) => {
                    failing.extend((start..=last).step_by(FAILING).map(|bits| (bits, reason)));
                    failing.push((last, reason));
                }
            }
            start = last.wrapping_add(1);
        }
        let failed = |index: usize, bits: u32, reason| {
            let value = Scalar::from_bits(ElementType::Float32, bits.into());
            let target = cast.target;
            (index, value, value, target, 0, reason)
        };
        let failure = |result: &Result<(), RunError>| match result {
            Err(RunError::Element(error)) => {
                let CastError { index, input, value, target, step, reason, .. } = *error;
                Some((index, input, value, target, step, reason))
            }
            _ => None,
        };
        for plan in plans {
            let output = &mut output[..expected.len()];
            if plan.run(&passing, output) != Ok(()) || output != expected {
                let at = output.chunks(size).zip(expected.chunks(size));
                let at = at.take_while(|(found, expected)| found == expected).count();
                return Err(format!(
                    "{plan:?}: from {first:#x} on, the passing element {at} differs"
                ));
            }
        }
        let Some(&(bits, reason)) = failing.first() else { continue };
        let mut all = Vec::new();
        extend(&mut all, first, first + (CHUNK - 1));
        let whole = failed((bits - first) as usize, bits, reason);
        for plan in plans {
            let found = plan.run(&all, &mut output);
            if failure(&found) != Some(whole) {
                return Err(format!("{plan:?}: from {first:#x} on, {found:?}, not {whole:?}"));
            }
            // 1 passes everywhere.
            let ones: Vec<u8> = [1.0_f32; 64].iter().flat_map(|one| one.to_ne_bytes()).collect();
            for (count, &(bits, reason)) in failing.iter().enumerate() {
                let index = count % 64;
                let mut input = ones.clone();
                input[4 * index..4 * (index + 1)].copy_from_slice(&bits.to_ne_bytes());
                let found = plan.run(&input, &mut output[..64 * size]);
                if failure(&found) != Some(failed(index, bits, reason)) {
                    return Err(format!("{plan:?}: {bits:#x} at {index} gave {found:?}"));
                }
            }
        }
    }
    Ok(CHUNK.into())
}

fn every_f32_casts(rounding: Rounding, is_chosen: impl Fn(ElementType) -> bool) {
    let chunks = all_chunks();
    let start = Instant::now();
    for cast in casts().filter(|cast| cast.rounding == rounding && is_chosen(cast.target)) {
        let modes = modes(&cast);
        let count = in_parallel(&chunks, |&first| {
            let last = first + (CHUNK - 1);
            let ends = [first, last].map(|bits| (bits, Outcome::of(bits, &cast)));
            let mut found = Vec::new();
            runs(&cast, ends, &mut found);
            compare(&cast, &modes, first, &found)
        });
        let (seconds, levels) = (start.elapsed().as_secs(), Level::available());
        println!("{} {rounding}: {count} elements, on {levels:?}, {seconds} s so far", cast.target);
    }
}

#[test]
fn a_sample_of_all_f32_casts_as_the_reference_says() {
    let chunks = sampled_chunks();
    let casts = sampled_casts();
    assert_eq!(casts.len(), 26 + 4 * 4);
    for cast in &casts {
        let modes = modes(cast);
        in_parallel(&chunks, |&first| {
            let last = first + (CHUNK - 1);
            let each: Vec<Run> =
                (first..=last).map(|bits| (bits, Outcome::of(bits, cast))).collect();
            let mut found = Vec::new();
            runs(cast, [each[0], each[each.len() - 1]], &mut found);
            let mut rest = found.iter();
            let mut run = rest.next();
            for (bits, outcome) in &each {
                if run.is_some_and(|(last, _)| last < bits) {
                    run = rest.next();
                }
                assert!(run.is_some_and(|(_, of_run)| of_run == outcome), "{cast:?}, {bits:#x}");
            }
            compare(cast, &modes, first, &found)
        });
    }
}

/// The lowest 64 bits, in two's complement, of the integer that a finite value is rounded to.
fn integer_bits(value: f32, rounding: Rounding) -> u64 {
    let integer = match rounding {
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::TowardsZero => value.trunc(),
        Rounding::TowardsPositive => value.ceil(),
        Rounding::TowardsNegative => value.floor(),
        Rounding::NearestAway => value.round(),
        other => unreachable!("{other} has no oracle here"),
    };
    // Every float32 is below 2^128.
    let magnitude = integer.abs() as u128 as u64;
    if integer < 0.0 { magnitude.wrapping_neg() } else { magnitude }
}

/// An element of an integer type: the lowest bits of an integer, extended to the bytes it is stored in.
fn wrapped(integer: u64, target: ElementType) -> u64 {
    let unused = 64 - target.bits();
    if target.is_signed() {
        ((integer << unused).cast_signed() >> unused).cast_unsigned()
    } else {
        integer << unused >> unused
    }
}

/// Compares the chunks that begin with `firsts` in `wrap`, on every level, with the lowest bits of exact integers.
fn compare_wrapped(rounding: Rounding, firsts: &[u32]) -> u64 {
    let plan = |target, level| {
        let cast = Cast::new(target).rounding(rounding).out_of_range(OutOfRange::Wrap);
        Plan::builder(ElementType::Float32).cast(cast).level(level).build().unwrap()
    };
    let levels = Level::available();
    let integers = ElementType::ALL.iter().copied().filter(|target| target.is_integer());
    let targets: Vec<(ElementType, Vec<Plan>)> = integers
        .map(|target| (target, levels.iter().map(|&level| plan(target, level)).collect()))
        .collect();
    in_parallel(firsts, |&first| {
        let mut input = Vec::new();
        extend(&mut input, first, first + (CHUNK - 1));
        let is_finite = f32::from_bits(first).is_finite();
        let bits = first..=first + (CHUNK - 1);
        let integers: Vec<u64> =
            bits.map(|bits| integer_bits(f32::from_bits(bits), rounding)).collect();
        for (target, plans) in &targets {
            let mut expected = Vec::new();
            for &integer in &integers {
                push(&mut expected, *target, wrapped(integer, *target), false);
            }
            let mut output = vec![0; expected.len()];
            for plan in plans {
                let found = plan.run(&input, &mut output);
                // Neither infinities nor NaN are congruent to an integer.
                let is_right = match found {
                    Ok(()) => is_finite && output == expected,
                    Err(RunError::Element(ref error)) => !is_finite && error.index == 0,
                    Err(_) => false,
                };
                if !is_right {
                    return Err(format!("{plan:?}: from {first:#x} on, {found:?}"));
                }
            }
        }
        Ok(u64::from(CHUNK) * targets.len() as u64)
    })
}

fn every_f32_wraps(rounding: Rounding) {
    let count = compare_wrapped(rounding, &all_chunks());
    println!("wrap {rounding}: {count} elements, on {:?}", Level::available());
}

#[test]
fn a_sample_of_all_f32_wraps_to_the_lowest_bits_of_the_integer_it_is_rounded_to() {
    let chunks = sampled_chunks();
    for &rounding in Rounding::ALL {
        compare_wrapped(rounding, &chunks);
    }
}

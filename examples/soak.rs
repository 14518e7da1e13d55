//! Random 64-bit elements through random plans on every level, against the one-element reference, and
//! a sample against the oracle: `cargo run --release --example soak -- --minutes 10`.
//!
//! Options: `--minutes N` (1 unless given), `--threads N` (all cores), `--seed N` (the clock). Ends with
//! status 1 at the first difference, which it prints with the seed.

#[path = "../kernels/tests/differential/mod.rs"]
mod differential;
#[path = "../kernels/tests/oracle/mod.rs"]
mod oracle;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use recast_kernels::{
    Affine, Cast, ElementType, FloatOverflow, Level, OutOfRange, Rounding, Scalar, Step,
};

use differential::Subject;
use oracle::edges::Random;

const SOURCES: [ElementType; 3] = [ElementType::Int64, ElementType::UInt64, ElementType::Float64];

/// Elements of a batch, and how many of them go to the oracle, which is slow.
const BATCH: usize = 8192;
const FOR_ORACLE: usize = 4;

struct Options {
    minutes: f64,
    threads: usize,
    seed: u64,
}

fn options() -> Result<Options, String> {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut options = Options {
        minutes: 1.0,
        threads: thread::available_parallelism().map_or(1, usize::from),
        seed: clock.as_nanos() as u64,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        let wrong =
            || format!("{name} {value}: expected --minutes, --threads or --seed and a number");
        match name.as_str() {
            "--minutes" => options.minutes = value.parse().map_err(|_| wrong())?,
            "--threads" => options.threads = value.parse().map_err(|_| wrong())?,
            "--seed" => options.seed = value.parse().map_err(|_| wrong())?,
            _ => return Err(wrong()),
        }
    }
    if !(0.0..1e6).contains(&options.minutes) {
        return Err(format!("--minutes {}: expected a number from 0 to 1000000", options.minutes));
    }
    Ok(options)
}

fn main() -> ExitCode {
    let Options { minutes, threads, seed } = match options() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let levels = Level::available();
    let names: Vec<_> = levels.iter().map(|level| level.name()).collect();
    println!("seed {seed}, {threads} threads, levels {}", names.join(", "));
    let start = Instant::now();
    let end = start + Duration::from_secs_f64(60.0 * minutes);
    let (next, values, for_oracle) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let worker = || {
        while Instant::now() < end {
            let batch = seed.wrapping_add(next.fetch_add(1, Ordering::Relaxed));
            run(batch, &levels).map_err(|error| format!("batch with --seed {batch}: {error}"))?;
            values.fetch_add(BATCH as u64, Ordering::Relaxed);
            for_oracle.fetch_add(FOR_ORACLE as u64, Ordering::Relaxed);
        }
        Ok(())
    };
    let results: Vec<Result<(), String>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(worker)).collect();
        let died = |_| Err("a worker panicked".to_owned());
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(died)).collect()
    });
    let seconds = start.elapsed().as_secs_f64();
    let (values, for_oracle) = (values.into_inner(), for_oracle.into_inner());
    let differences: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    println!(
        "{values} values in {seconds:.1} s ({:.2e} an hour), each on every level against the \
         reference, {for_oracle} of them against the oracle: {} differences",
        values as f64 / seconds * 3600.0,
        differences.len()
    );
    for difference in &differences {
        eprintln!("{difference}");
    }
    if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One batch: some steps, and elements for them.
fn run(seed: u64, levels: &[Level]) -> Result<(), String> {
    let mut random = Random::new(seed);
    let source = *random.pick(&SOURCES);
    let steps = steps(source, &mut random);
    let elements = elements(source, &steps, &mut random);
    let subject = Subject::new(source, steps, elements);
    for (at, &bits) in subject.elements.iter().take(FOR_ORACLE).enumerate() {
        let expected = oracle::run(source, bits, &subject.steps);
        let found = subject.outcomes[at]
            .map(Scalar::bits)
            .map_err(|error| (error.step, error.value.bits(), error.reason));
        if found != expected {
            let steps = &subject.steps;
            return Err(format!("{source} {bits:#x}, {steps:?}: {found:x?}, oracle {expected:x?}"));
        }
    }
    for &level in levels {
        subject.check(level, &subject.passing, &mut random)?;
        for _ in 0..3.min(subject.failing.len()) {
            let length = 1 + random.below(1500);
            let mut slice = subject.some_passing(length, &mut random);
            subject.spoil(&mut slice, &mut random);
            subject.check(level, &slice, &mut random)?;
        }
    }
    Ok(())
}

/// A cast; sometimes with scale and offset in front of it; a second cast behind it.
fn steps(source: ElementType, random: &mut Random) -> Vec<Step> {
    let mut steps = Vec::new();
    if random.below(4) == 0 {
        let mut parameter = || Some(scalar(source, random)).filter(|scalar| scalar.is_finite());
        let (offset, scale) = (parameter(), parameter().filter(|scale| !scale.is_zero()));
        let overflow = *random.pick(&[FloatOverflow::Error, FloatOverflow::Infinity]);
        let parameters = Affine::new(offset, scale).overflow(overflow);
        let encode = random.below(2) == 0;
        steps.push(if encode { Step::Scale(parameters) } else { Step::InverseScale(parameters) });
    }
    steps.push(cast(source, random));
    if random.below(8) == 0
        && let Some(Step::Cast(Cast { target, .. })) = steps.last()
    {
        steps.push(cast(*target, random));
    }
    steps
}

/// A parameter, a key or an output.
fn scalar(element_type: ElementType, random: &mut Random) -> Scalar {
    let bits = match random.below(2) {
        0 => random.element(element_type),
        _ => random.near_power(element_type),
    };
    Scalar::from_bits(element_type, bits)
}

fn cast(source: ElementType, random: &mut Random) -> Step {
    let target = *random.pick(ElementType::ALL);
    let mode = *random.pick(OutOfRange::ALL);
    let mode = if target.is_float() && mode == OutOfRange::Wrap { OutOfRange::Clamp } else { mode };
    let entries = *random.pick(&[0, 0, 0, 0, 1, 3]);
    let map: Vec<_> =
        (0..entries).map(|_| (scalar(source, random), scalar(target, random))).collect();
    let rounding = *random.pick(Rounding::ALL);
    Step::Cast(Cast::new(target).rounding(rounding).out_of_range(mode).map(map))
}

/// Of any bits, of magnitudes near those of the target, and beside and between its values.
fn elements(source: ElementType, steps: &[Step], random: &mut Random) -> Vec<u64> {
    let target = steps.iter().find_map(|step| match step {
        Step::Cast(cast) => Some(cast.target),
        _ => None,
    });
    let target = target.unwrap_or(source);
    let mut marks = Vec::new();
    for _ in 0..64 {
        let bits = random.element(target);
        let (here, next) =
            (Scalar::from_bits(target, bits), Scalar::from_bits(target, bits.wrapping_add(1)));
        let halfway = Scalar::from(f64::midpoint(here.to_f64(), next.to_f64()));
        for value in [here, halfway] {
            let (towards_zero, clamp) = (Rounding::TowardsZero, OutOfRange::Clamp);
            marks.extend(value.cast(source, towards_zero, clamp).ok().map(Scalar::bits));
        }
    }
    marks.push(0);
    let element = |_| match random.below(4) {
        0 => random.bits(),
        1 | 2 => {
            let mark = *random.pick(&marks);
            mark.wrapping_add_signed(random.below(5) as i64 - 2)
        }
        _ if source.is_integer() => random.bits() >> random.below(64),
        _ => {
            // A random significand, with an exponent that the target may have.
            let exponent = 1023 - 150 + random.below(300) as u64;
            (random.bits() & 0x800f_ffff_ffff_ffff) | exponent << 52
        }
    };
    (0..BATCH).map(element).collect()
}

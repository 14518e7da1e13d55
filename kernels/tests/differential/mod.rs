//! A plan compared with the one-element reference: the body that tests, soak and fuzz targets share.
#![allow(dead_code)] // each of them uses a part of it

use std::cell::RefCell;
use std::fmt::Write;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use recast_kernels::{
    Cast, CastError, ElementType, Level, OutOfRange, Plan, Rounding, RunError, Scalar, Step,
    reference,
};

use crate::oracle::edges::Random;

/// What surrounds the output, and must still be there afterwards.
pub(crate) const GUARD: u8 = 0xa5;
const GUARD_LENGTH: usize = 72;

/// Shares of unusual elements among ordinary ones.
pub(crate) const PER_THOUSAND: [usize; 4] = [1, 10, 500, 1000];

/// Steps, elements to run them on, and what the reference makes of each element.
pub(crate) struct Subject {
    pub(crate) source: ElementType,
    pub(crate) steps: Vec<Step>,
    pub(crate) elements: Vec<u64>,
    pub(crate) outcomes: Vec<Result<Scalar, CastError>>,
    /// Positions in `elements` of those that pass, and of those that fail.
    pub(crate) passing: Vec<usize>,
    pub(crate) failing: Vec<usize>,
    /// Positions of those that pass among a few small numbers, behind the elements that were given.
    ordinary: Vec<usize>,
    /// The plans built so far.
    plans: RefCell<Vec<(Build, Plan)>>,
}

/// A level, and whether the bytes of input and of output are swapped.
type Build = (Level, bool, bool);

impl Subject {
    pub(crate) fn new(source: ElementType, steps: Vec<Step>, mut elements: Vec<u64>) -> Self {
        let given = elements.len();
        elements.extend([1_u8, 2, 3, 5, 20, 50, 100].into_iter().filter_map(|number| {
            let (towards_zero, clamp) = (Rounding::TowardsZero, OutOfRange::Clamp);
            Some(Scalar::from(number).cast(source, towards_zero, clamp).ok()?.bits())
        }));
        let outcomes: Vec<_> = elements
            .iter()
            .map(|&bits| reference::run(Scalar::from_bits(source, bits), &steps, 0))
            .collect();
        let (passing, failing): (Vec<usize>, _) =
            (0..elements.len()).partition(|&at| outcomes[at].is_ok());
        let ordinary = passing.iter().copied().filter(|&at| at >= given).collect();
        let plans = RefCell::default();
        Self { source, steps, elements, outcomes, passing, failing, ordinary, plans }
    }

    /// That many of the elements that pass: any of them, or ordinary ones and others, as [`Self::mixed`] has them.
    pub(crate) fn some_passing(&self, length: usize, random: &mut Random) -> Vec<usize> {
        if self.passing.is_empty() {
            return Vec::new();
        }
        if random.below(2) == 0 {
            let per_thousand = *random.pick(&PER_THOUSAND);
            return self.mixed(length, per_thousand, random);
        }
        (0..length).map(|_| *random.pick(&self.passing)).collect()
    }

    /// Ordinary elements, and so many per thousand of one to three others that pass: all over the slice, or
    /// from some place on. Nothing if no element passes.
    pub(crate) fn mixed(
        &self,
        length: usize,
        per_thousand: usize,
        random: &mut Random,
    ) -> Vec<usize> {
        if self.passing.is_empty() {
            return Vec::new();
        }
        let others: Vec<usize> =
            (0..=random.below(3)).map(|_| *random.pick(&self.passing)).collect();
        let ordinary = if self.ordinary.is_empty() { &others } else { &self.ordinary };
        let start = if random.below(2) == 0 { 0 } else { random.below(length + 1) };
        (0..length)
            .map(|at| {
                let is_other = at >= start && random.below(1000) < per_thousand;
                *random.pick(if is_other { &others } else { ordinary })
            })
            .collect()
    }

    /// Replaces one to eight elements by some that fail.
    pub(crate) fn spoil(&self, slice: &mut [usize], random: &mut Random) {
        if self.failing.is_empty() || slice.is_empty() {
            return;
        }
        for _ in 0..*random.pick(&[1, 2, 3, 8]) {
            slice[random.below(slice.len())] = *random.pick(&self.failing);
        }
    }

    /// Slices of all `lengths`: of passing elements, of passing ones with a few failing ones among
    /// them, and of failing ones alone.
    pub(crate) fn check_lengths(
        &self,
        level: Level,
        lengths: &[usize],
        random: &mut Random,
    ) -> Check {
        let mut count = 0;
        for &length in lengths {
            let mut slice = self.some_passing(length, random);
            count += self.check(level, &slice, random)?;
            if !self.failing.is_empty() {
                self.spoil(&mut slice, random);
                count += self.check(level, &slice, random)?;
            }
        }
        for at in self.failing.iter().step_by(self.failing.len() / 8 + 1) {
            count += self.check(level, &[*at, self.failing[0]], random)?;
        }
        Ok(count)
    }

    /// The plan for these steps; built once.
    fn plan(&self, build: Build) -> Result<Plan, String> {
        let mut plans = self.plans.borrow_mut();
        if let Some((_, plan)) = plans.iter().find(|(built, _)| *built == build) {
            return Ok(plan.clone());
        }
        let (level, swap_input, swap_output) = build;
        let plan = self
            .steps
            .iter()
            .fold(Plan::builder(self.source), |builder, step| builder.step(step.clone()))
            .swap_input_bytes(swap_input)
            .swap_output_bytes(swap_output)
            .level(level)
            .build()
            .map_err(|error| format!("{} {:?}: {error}", self.source, self.steps))?;
        plans.push((build, plan.clone()));
        Ok(plan)
    }

    /// Runs a plan on a slice of elements, given by their positions, in buffers of any alignment and
    /// byte order, and compares.
    pub(crate) fn check(&self, level: Level, slice: &[usize], random: &mut Random) -> Check {
        let (swap_input, swap_output) = (random.below(4) == 0, random.below(4) == 0);
        let plan = self.plan((level, swap_input, swap_output))?;
        assert_eq!(plan.level(), level);
        assert_eq!(plan.source(), self.source);

        let mut input = vec![GUARD; random.below(9)];
        let start = input.len();
        for &at in slice {
            push(&mut input, self.source, self.elements[at], swap_input);
        }
        let mut expected = Vec::new();
        let mut error = None;
        for (index, &at) in slice.iter().enumerate() {
            match self.outcomes[at] {
                Ok(result) => push(&mut expected, plan.target(), result.bits(), swap_output),
                Err(mut first) => {
                    first.index = index;
                    error = Some(first);
                    break;
                }
            }
        }

        let before = GUARD_LENGTH + random.below(9);
        let length = slice.len() * plan.target().size();
        let mut bytes = vec![GUARD; before + length + GUARD_LENGTH];
        let entry = random.below(4);
        let in_place = plan.source().size() == plan.target().size();
        let run = |bytes: &mut [u8]| {
            bytes.fill(GUARD);
            let output = &mut bytes[before..before + length];
            match entry {
                0 => {
                    // SAFETY: a `MaybeUninit<u8>` has the layout of a byte, and a plan overwrites bytes by other bytes.
                    let output = unsafe { &mut *(&raw mut *output as *mut [MaybeUninit<u8>]) };
                    plan.run_uninit(&input[start..], output)
                }
                1 if in_place => {
                    output.copy_from_slice(&input[start..]);
                    plan.run_in_place(output)
                }
                #[cfg(feature = "rayon")]
                2 => plan.par_run(&input[start..], output),
                _ => plan.run(&input[start..], output),
            }
        };
        let result = run(&mut bytes);
        let output = bytes.clone();

        let message = |what: &str| {
            Err(format!(
                "{what}\n{level}, {} elements of {}, swapped bytes: {swap_input} and {swap_output}, \
                 steps {:?}",
                slice.len(),
                self.source,
                self.steps
            ))
        };
        #[cfg(recast_poison)]
        {
            // At the same address, because it says where blocks begin.
            recast_kernels::POISON.set(!recast_kernels::POISON.get());
            if run(&mut bytes) != result || bytes != output {
                return message("the output depends on bytes that nothing was written to");
            }
        }
        let guards = output[..before].iter().chain(&output[before + length..]);
        if !guards.copied().all(|byte| byte == GUARD) {
            return message("wrote beyond the output");
        }
        match (result, error) {
            (Ok(()), None) => {}
            (Err(RunError::Element(found)), Some(expected)) if found == expected => {
                return Ok(slice.len() as u64);
            }
            (result, error) => {
                return message(&format!("ended with {result:?}, the reference with {error:?}"));
            }
        }
        if output[before..before + length] != expected {
            let size = plan.target().size();
            let pairs = output[before..].chunks_exact(size).zip(expected.chunks_exact(size));
            let mut what = String::new();
            for (index, (found, expected)) in pairs.enumerate().filter(|(_, (a, b))| a != b).take(3)
            {
                let element = Scalar::from_bits(self.source, self.elements[slice[index]]);
                let wrote = writeln!(
                    what,
                    "element {index}, {element:?}: found {found:02x?}, reference {expected:02x?}"
                );
                assert!(wrote.is_ok());
            }
            return message(&what);
        }
        Ok(slice.len() as u64)
    }
}

/// The number of elements compared, or what differs.
pub(crate) type Check = Result<u64, String>;

/// Appends an element in native byte order, or in the other one.
pub(crate) fn push(bytes: &mut Vec<u8>, element_type: ElementType, element: u64, swap: bool) {
    let start = bytes.len();
    match element_type.size() {
        1 => bytes.push(element as u8),
        2 => bytes.extend((element as u16).to_ne_bytes()),
        4 => bytes.extend((element as u32).to_ne_bytes()),
        _ => bytes.extend(element.to_ne_bytes()),
    }
    if swap {
        bytes[start..].reverse();
    }
}

/// Sampling for slow machines, such as emulated ones: `RECAST_TEST_STRIDE=n` leaves all but every n-th
/// of a test's jobs out. 1 unless it is set.
pub(crate) fn stride() -> usize {
    let stride = std::env::var("RECAST_TEST_STRIDE").ok();
    stride.map_or(1, |n| n.parse().expect("RECAST_TEST_STRIDE is a number")).max(1)
}

/// Runs every [`stride`]-th of the jobs, on all cores; panics with the first failure; prints and
/// returns the sum of their counts.
pub(crate) fn in_parallel<J: Sync>(jobs: &[J], run: impl Fn(&J) -> Check + Sync) -> u64 {
    let (next, total) = (AtomicUsize::new(0), AtomicU64::new(0));
    let stride = stride();
    let worker = || {
        while let Some(job) = jobs.get(next.fetch_add(stride, Ordering::Relaxed)) {
            match run(job) {
                Ok(count) => total.fetch_add(count, Ordering::Relaxed),
                Err(message) => panic!("{message}"),
            };
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        // WebAssembly has only the thread that is here already.
        let workers: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        worker();
        for worker in workers {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    println!("{} comparisons", total.load(Ordering::Relaxed));
    total.into_inner()
}

/// All pairs of types.
pub(crate) fn pairs() -> Vec<(ElementType, ElementType)> {
    let targets = |&source| ElementType::ALL.iter().map(move |&target| (source, target));
    ElementType::ALL.iter().flat_map(targets).collect()
}

/// All casts to a type that can be built: every rounding, every mode.
pub(crate) fn casts(target: ElementType) -> impl Iterator<Item = Cast> {
    let modes = OutOfRange::ALL
        .iter()
        .copied()
        .filter(move |&mode| mode != OutOfRange::Wrap || target.is_integer());
    modes.flat_map(move |mode| {
        let roundings = Rounding::ALL.iter();
        roundings.map(move |&rounding| Cast::new(target).rounding(rounding).out_of_range(mode))
    })
}

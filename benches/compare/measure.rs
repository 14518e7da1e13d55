//! Timing a case beside its peers, and checking what they write.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytemuck::{Pod, Zeroable};
use recast_kernels::{Level, Plan, Scalar, reference};

use crate::cases::Case;
use crate::peers::{Contender, Peer, Verdict};

/// One case with one number of elements, measured.
pub(crate) struct Row {
    pub(crate) case: Case,
    pub(crate) name: String,
    pub(crate) level: &'static str,
    pub(crate) n: usize,
    pub(crate) ours: Outcome,
    pub(crate) memcpy: f64,
    pub(crate) peers: Vec<Outcome>,
}

/// The result of one contender.
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    /// Input plus output, in GB/s.
    pub(crate) gbps: f64,
    /// The first wrong element or the failure, if there was one.
    pub(crate) wrong: Option<String>,
}

impl Row {
    pub(crate) fn ratio(&self) -> f64 {
        self.ours.gbps / self.memcpy
    }

    /// Bytes of input and output of one element.
    pub(crate) fn element_bytes(&self) -> usize {
        self.case.source.size() + self.case.target.size()
    }

    /// Nanoseconds of one of our calls.
    pub(crate) fn nanoseconds(&self) -> f64 {
        (self.n * self.element_bytes()) as f64 / self.ours.gbps
    }

    /// 10^9 elements per second.
    pub(crate) fn giga_elements(&self) -> f64 {
        self.ours.gbps / self.element_bytes() as f64
    }
}

/// A line of cache, so that the buffers start at one.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// The input and the output that all contenders share, so that the caches hold the same for each.
pub(crate) struct Buffers {
    input: Vec<Line>,
    output: Vec<Line>,
}

impl Buffers {
    /// Room for `n` elements of any type.
    pub(crate) fn new(n: usize) -> Self {
        let line = Line([1; 64]);
        Self { input: vec![line; n.div_ceil(8)], output: vec![line; n.div_ceil(8)] }
    }

    /// The input and the output.
    pub(crate) fn bytes(&mut self) -> (&mut [u8], &mut [u8]) {
        (bytemuck::cast_slice_mut(&mut self.input), bytemuck::cast_slice_mut(&mut self.output))
    }
}

/// How long to measure.
pub(crate) struct Budget {
    /// A sample: calls back to back for this long.
    sample: Duration,
    /// A contender gets samples until they would have taken this long if each were like the best
    /// one, so that being interrupted costs none of them; and at least `least`, at most `most`.
    contender: Duration,
    least: u32,
    most: u32,
    /// Elements compared with the reference.
    checked: usize,
}

impl Budget {
    pub(crate) fn new(n: usize, quick: bool) -> Self {
        let (milliseconds, least) = match n {
            _ if quick => (1, 3),
            ..1_000_000 => (4, 4),
            _ => (250, 1),
        };
        Self {
            sample: Duration::from_micros(20),
            contender: Duration::from_millis(milliseconds),
            least,
            most: 40,
            checked: if quick { 512 } else { 4_096 },
        }
    }
}

/// A contender between samples.
struct Run<'a> {
    name: &'static str,
    contender: Box<dyn Contender + 'a>,
    input_bytes: usize,
    output_bytes: usize,
    /// Calls of one sample.
    calls: u32,
    samples: u32,
    /// The least time of a call, in seconds.
    best: f64,
    failure: Option<String>,
}

impl<'a> Run<'a> {
    fn new(name: &'static str, contender: Box<dyn Contender + 'a>, bytes: (usize, usize)) -> Self {
        let (input_bytes, output_bytes) = bytes;
        Self {
            name,
            contender,
            input_bytes,
            output_bytes,
            calls: 1,
            samples: 0,
            best: f64::INFINITY,
            failure: None,
        }
    }

    /// Takes the caches' cold start, and finds how many calls make a sample. A call that is a sample
    /// by itself counts as one.
    fn calibrate(&mut self, input: &[u8], output: &mut [u8], budget: &Budget) {
        for _ in 0..3 {
            self.sample(input, output);
            if self.best > budget.contender.as_secs_f64() {
                break;
            }
        }
        self.calls = (budget.sample.as_secs_f64() / self.best).ceil().max(1.0) as u32;
        if self.calls > 1 {
            (self.samples, self.best) = (0, f64::INFINITY);
        }
    }

    fn sample(&mut self, input: &[u8], output: &mut [u8]) {
        let (input, output) = (&input[..self.input_bytes], &mut output[..self.output_bytes]);
        let started = Instant::now();
        for _ in 0..self.calls {
            if let Err(failure) = self.contender.run(input, black_box(&mut *output)) {
                self.failure.get_or_insert(failure);
            }
        }
        // As a float: a Duration holds no fractions of a nanosecond, which a call of 60 ns would miss.
        let call = started.elapsed().as_secs_f64() / f64::from(self.calls);
        self.best = self.best.min(call.max(1e-10));
        self.samples += 1;
    }

    fn wants_more(&self, budget: &Budget) -> bool {
        let spent = self.best * f64::from(self.calls) * f64::from(self.samples);
        self.samples < budget.least
            || self.samples < budget.most && spent < budget.contender.as_secs_f64()
    }

    /// GB/s of input plus output.
    fn gbps(&self) -> f64 {
        (self.input_bytes + self.output_bytes) as f64 / (self.best * 1e9)
    }
}

/// Measures a case beside memcpy and all peers that do the same.
pub(crate) fn measure(
    case: &Case,
    n: usize,
    buffers: &mut Buffers,
    peers: &[Box<dyn Peer>],
    budget: &Budget,
) -> Result<Row, crate::Error> {
    let name = case.name();
    let plan = Level::forced()
        .and_then(|level| case.plan(level.unwrap_or_else(Level::selected)))
        .map_err(|error| format!("{name}: {error}"))?;
    let (source_bytes, target_bytes) = (n * case.source.size(), n * case.target.size());
    let (all_input, all_output) = buffers.bytes();
    case.fill(&mut all_input[..source_bytes]);

    // Half of the bytes are read and half written, as many as the cast reads and writes together.
    let half = usize::midpoint(source_bytes, target_bytes);
    let memcpy = |from: &[u8], to: &mut [u8]| -> Verdict {
        to.copy_from_slice(from);
        Ok(())
    };
    let ours = |from: &[u8], to: &mut [u8]| plan.run(from, to).map_err(|error| error.to_string());

    let mut runs = vec![
        Run::new("memcpy", Box::new(memcpy), (half, half)),
        Run::new("ours", Box::new(ours), (source_bytes, target_bytes)),
    ];
    for peer in peers {
        if let Some(contender) = peer.bind(case, &all_input[..source_bytes]) {
            let elements = peer.elements(n);
            let bytes = (elements * case.source.size(), elements * case.target.size());
            runs.push(Run::new(peer.name(), contender, bytes));
        }
    }

    for run in &mut runs {
        run.calibrate(all_input, all_output, budget);
    }
    let mut more = true;
    while more {
        more = false;
        for run in &mut runs {
            if run.wants_more(budget) {
                run.sample(all_input, all_output);
                more = true;
            }
        }
    }

    let input = &all_input[..source_bytes];
    let expected = expected(case, n, input, budget.checked);
    let mut results = Vec::with_capacity(runs.len());
    for mut run in runs {
        let gbps = run.gbps();
        let wrong = if run.name == "memcpy" {
            None
        } else {
            let output = &mut all_output[..run.output_bytes];
            // So that what an earlier contender wrote does not count.
            output.fill(0xA5);
            let outcome = run.contender.run(&input[..run.input_bytes], output);
            run.contender.fetch(output);
            let failure = outcome.err().or(run.failure);
            if failure.is_some() && run.name != "ours" {
                // A peer that refuses has done nothing that its time could stand for.
                continue;
            }
            failure.or_else(|| difference(case, &expected, input, output))
        };
        results.push(Outcome { name: run.name, gbps, wrong });
    }
    let mut results = results.into_iter();
    let memcpy = results.next().map_or(f64::NAN, |result| result.gbps);
    let Some(ours) = results.next() else { return Err("nothing was measured".into()) };
    Ok(Row {
        case: case.clone(),
        name,
        level: plan.level().name(),
        n,
        ours,
        memcpy,
        peers: results.collect(),
    })
}

/// The seconds of so many calls of a plan.
pub(crate) fn call(plan: &Plan, input: &[u8], output: &mut [u8], calls: u32) -> f64 {
    let started = Instant::now();
    for _ in 0..calls {
        // A failure shows when the output is checked.
        let _ = black_box(plan.run(input, black_box(&mut *output)));
    }
    started.elapsed().as_secs_f64()
}

/// The least seconds of a call of each of some variants, which take turns: `call` returns the seconds of so many calls of one.
/// Variants that are not settled are measured again, for it may have been the machine.
pub(crate) fn in_turns<const VARIANTS: usize>(
    mut call: impl FnMut(usize, u32) -> f64,
    is_settled: impl Fn(&[f64; VARIANTS]) -> bool,
) -> [f64; VARIANTS] {
    const SAMPLE: f64 = 20e-6;
    /// Seconds for one variant, if all its samples were like the best one: being interrupted costs none of them.
    const ENOUGH: f64 = 2e-3;
    const ROUNDS: u32 = 8;
    let mut best = [f64::INFINITY; VARIANTS];
    let mut spent = [0.0; VARIANTS];
    for turn in 0..5 * ROUNDS {
        if turn >= ROUNDS && is_settled(&best) {
            break;
        }
        let least = turn % ROUNDS < 3 && turn < 2 * ROUNDS;
        for at in 0..VARIANTS {
            if least || spent[at] < ENOUGH {
                // The caches hold this variant's input from here on.
                let first = call(at, 1);
                let calls = (SAMPLE / first).ceil().max(1.0);
                best[at] = best[at].min(call(at, calls as u32) / calls).min(first);
                spent[at] += best[at] * (1.0 + calls);
            }
        }
    }
    best
}

/// Indices and what the reference makes of the elements there: all of a short input, else the two
/// ends and a stride that meets every position within a block.
pub(crate) fn expected(case: &Case, n: usize, input: &[u8], count: usize) -> Vec<(usize, Scalar)> {
    let steps = case.steps();
    let stride = if n <= count { 1 } else { (n / count) | 1 };
    let indices = (0..n).step_by(stride).chain(n.saturating_sub(1)..n);
    indices
        .filter_map(|index| {
            let value = element(case.source, input, index)?;
            Some((index, reference::run(value, &steps, index).ok()?))
        })
        .collect()
}

/// The first of the expected elements that the output does not hold.
pub(crate) fn difference(
    case: &Case,
    expected: &[(usize, Scalar)],
    input: &[u8],
    output: &[u8],
) -> Option<String> {
    expected.iter().find_map(|(index, value)| {
        let found = element(case.target, output, *index)?;
        let stored = &output[index * case.target.size()..][..case.target.size()];
        if stored == value.to_ne_bytes() {
            return None;
        }
        let from = element(case.source, input, *index)?;
        Some(format!("element {index}: {from:?} gives {found:?}, expected {value:?}"))
    })
}

fn element(
    element_type: recast_kernels::ElementType,
    bytes: &[u8],
    index: usize,
) -> Option<Scalar> {
    let size = element_type.size();
    Scalar::from_ne_bytes(element_type, bytes.get(index * size..(index + 1) * size)?)
}

//! What the place of the output in memory costs: the time of a run at several distances from the input, over the least.

use recast_kernels::Level;

use crate::Error;
use crate::cases::{Case, Class};
use crate::measure::{call, difference, expected, in_turns};

/// Output − input modulo a page of 4,096 bytes: some CPUs take a load for one of a store before it where these bits agree.
pub(crate) const DISTANCES: [usize; 6] = [0, 16, 32, 64, 2_048, 4_080];
const PAGE: usize = 4_096;

/// A place this much slower than the best one is measured again.
const SUSPICIOUS: f64 = 1.3;

/// A case at all distances.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) class: Class,
    pub(crate) level: &'static str,
    /// Times of the least, in the order of the distances.
    pub(crate) times: [f64; DISTANCES.len()],
    /// The first wrong element or the failure, if there was one.
    pub(crate) wrong: Option<String>,
}

/// The input, and room for an output at each distance from it.
pub(crate) struct Places {
    input: Vec<u8>,
    output: Vec<u8>,
    n: usize,
}

impl Places {
    /// Room for `n` elements of any type.
    pub(crate) fn new(n: usize) -> Self {
        Self { input: vec![1; 8 * n + PAGE], output: vec![1; 8 * n + 2 * PAGE], n }
    }
}

/// Measures a case on a level.
pub(crate) fn measure(case: &Case, level: Level, places: &mut Places) -> Result<Row, Error> {
    let name = case.name();
    let plan = case.plan(level).map_err(|error| format!("{name}: {error}"))?;
    let Places { input, output, n } = places;
    // The input starts at a line of cache.
    let start = input.as_ptr().align_offset(64);
    let input = &mut input[start..][..*n * case.source.size()];
    case.fill(input);
    let (input, length) = (&*input, *n * case.target.size());
    let first = (input.as_ptr().addr() % PAGE + PAGE - output.as_ptr().addr() % PAGE) % PAGE;
    let at = |distance: usize| first + distance..first + distance + length;

    let is_settled = |best: &[f64; DISTANCES.len()]| slowest(&over_least(*best)) < SUSPICIOUS;
    let best = in_turns(
        |place, calls| call(&plan, input, &mut output[at(DISTANCES[place])], calls),
        is_settled,
    );
    let expected = expected(case, *n, input, 512);
    let wrong = DISTANCES.into_iter().find_map(|distance| {
        let output = &mut output[at(distance)];
        output.fill(0xA5);
        match plan.run(input, output) {
            Err(error) => Some(error.to_string()),
            Ok(()) => difference(case, &expected, input, output),
        }
    });
    let (class, level) = (case.class(), level.name());
    Ok(Row { name, class, level, times: over_least(best), wrong })
}

fn over_least(times: [f64; DISTANCES.len()]) -> [f64; DISTANCES.len()] {
    let least = times.into_iter().fold(f64::INFINITY, f64::min);
    times.map(|time| time / least)
}

/// The greatest of some times.
pub(crate) fn slowest(times: &[f64]) -> f64 {
    times.iter().copied().fold(0.0, f64::max)
}

//! Random cases, the same in each run.

use std::cell::Cell;
use std::fmt::Debug;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestCaseError, TestRng, TestRunner};

/// Checks so many cases. `check` says whether a case came to what is checked, or was refused before. Returns how many came to it.
pub(crate) fn checked<C: Debug>(
    cases: u32,
    case: &impl Strategy<Value = C>,
    check: impl Fn(C) -> Result<bool, TestCaseError>,
) -> u32 {
    let config = ProptestConfig { cases, failure_persistence: None, ..Default::default() };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let count = Cell::new(0);
    let counted = |case| {
        count.set(count.get() + u32::from(check(case)?));
        Ok(())
    };
    runner.run(case, counted).unwrap();
    count.get()
}

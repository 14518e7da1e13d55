//! Runs a plan over a stream of raw elements, piece by piece.

use std::io::{self, Read, Write};

use anyhow::{Context, Result, bail};
use recast_kernels::{Plan, RunError};

/// Runs a plan over all of `input`, in memory of a few times `piece` bytes. A piece must have room for an
/// element.
pub(crate) fn stream(
    plan: &Plan,
    piece: usize,
    input: &mut impl Read,
    output: &mut impl Write,
) -> Result<()> {
    let (from, to) = (plan.source().size(), plan.target().size());
    let mut buffer = vec![0; piece];
    let mut converted = vec![0; piece / from * to];
    // Elements converted so far, and bytes of the buffer with input after them.
    let (mut elements, mut filled) = (0, 0);
    loop {
        let space = buffer.get_mut(filled..).unwrap_or_default();
        let read = match input.read(space) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error).context("standard input"),
        };
        filled += read;
        // Short reads are gathered, so that a slow writer does not cause tiny runs.
        if read > 0 && filled < buffer.len() {
            continue;
        }
        let count = filled / from;
        let (whole, rest) = buffer.split_at(count * from);
        let target = converted.get_mut(..count * to).unwrap_or_default();
        plan.run(whole, target).map_err(|error| shifted(error, elements))?;
        output.write_all(target).context("standard output")?;
        elements += count;
        let partial = filled - count * from;
        if read == 0 {
            if partial > 0 {
                bail!(
                    "standard input ends within element {elements}: {partial} of the {from} bytes \
                     of {}",
                    plan.source()
                );
            }
            return output.flush().context("standard output");
        }
        debug_assert!(rest.len() >= partial);
        buffer.copy_within(count * from..filled, 0);
        filled = partial;
    }
}

/// The error of a run that began at element `first`.
fn shifted(error: RunError, first: usize) -> RunError {
    match error {
        RunError::Element(mut error) => {
            error.index += first;
            error.into()
        }
        other => other,
    }
}

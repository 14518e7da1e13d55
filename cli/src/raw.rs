//! `recast raw`: codecs over raw little-endian elements, from standard input to standard output.

use std::io::{self, Read, Write};

use anyhow::{Context, Result, bail};
use recast_kernels::{Plan, PlanBuilder, RunError};
use zarr_recast::{BindOptions, Chain, Codec, fill_value};

use crate::args::{Direction, Raw};
use crate::progress::exit_when_interrupted;
use crate::standard_output::standard_output;

/// Bytes of input that are processed at once.
const PIECE: usize = 1 << 20;

pub(crate) fn run(arguments: &Raw) -> Result<()> {
    let chain = chain(arguments)?;
    let plan = match arguments.direction {
        Direction::Encode => chain.encoder(),
        Direction::Decode => chain.decoder(),
    };
    exit_when_interrupted()?;
    stream(&little_endian(plan)?, PIECE, &mut io::stdin().lock(), &mut standard_output())
}

/// The same plan over little-endian elements on every machine.
fn little_endian(plan: &Plan) -> Result<Plan> {
    let swap = cfg!(target_endian = "big");
    let steps = plan.steps().iter().cloned();
    let builder = steps.fold(Plan::builder(plan.source()), PlanBuilder::step);
    Ok(builder.swap_input_bytes(swap).swap_output_bytes(swap).build()?)
}

fn chain(arguments: &Raw) -> Result<Chain> {
    let text = match arguments.codecs.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path).with_context(|| format!("--codecs @{path}"))?,
        None => arguments.codecs.clone(),
    };
    let codecs = Codec::list_from_json(&text).context("--codecs")?;
    let fill = arguments
        .fill_value
        .as_deref()
        .map(|text| fill_value::from_json_str(arguments.data_type, text))
        .transpose()
        .context("--fill-value")?;
    Ok(Chain::bind(arguments.data_type, fill, &codecs, &BindOptions::default())?)
}

/// Runs a plan over all of `input`, in memory of a few times `piece` bytes. A piece must have room for an
/// element.
fn stream(plan: &Plan, piece: usize, input: &mut impl Read, output: &mut impl Write) -> Result<()> {
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
